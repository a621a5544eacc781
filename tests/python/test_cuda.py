"""tenon.cuda and tenon.accelerator: on two fake GPUs, and where there is none. Texts are PyTorch's."""

from on_gpus import on_gpus

# ---- where there is no GPU ----


@on_gpus(0)
def test_none_is_no_error_to_ask_for():
    assert torch.cuda.is_available() is False
    assert torch.cuda.device_count() == 0
    assert torch.cuda.is_initialized() is False
    assert torch.cuda.is_bf16_supported() is False
    assert torch.cuda.memory_allocated() == torch.cuda.max_memory_allocated() == 0
    assert torch.cuda.memory_reserved() == torch.cuda.max_memory_reserved() == 0
    assert dict(torch.cuda.memory_stats()) == {}
    assert torch.cuda.empty_cache() is None
    assert torch.cuda.manual_seed(1) is None and torch.cuda.manual_seed_all(1) is None
    assert torch.cuda.seed() is None and torch.cuda.seed_all() is None
    assert torch.cuda.get_arch_list() == []
    assert torch.cuda.get_rng_state_all() == []
    assert torch.cuda.reset_peak_memory_stats() is None
    assert torch.cuda.ipc_collect() is None


@on_gpus(0)
def test_none_is_an_error_to_use():
    text = "Found no NVIDIA driver on your system|No CUDA GPUs are available"
    for use in (
        cuda.init,
        cuda.current_device,
        cuda.synchronize,
        cuda.get_device_name,
        cuda.get_device_properties,
        cuda.get_device_capability,
        cuda.mem_get_info,
        cuda.memory_summary,
        cuda.current_stream,
        cuda.default_stream,
        cuda.Stream,
        cuda.initial_seed,
        lambda: cuda.set_device(0),
        lambda: cuda.device(0).__enter__(),
        lambda: torch.Generator("cuda"),
        lambda: torch.ones(1, device="cuda"),
    ):
        with pytest.raises(RuntimeError, match=text) as raised:
            use()
        assert "TENON_FAKE_GPUS=1" in str(raised.value)
    assert cuda.set_device(-1) is None
    with pytest.raises(ValueError, match="^Expected a cuda device, but got: cpu$"):
        cuda.set_device("cpu")
    with cuda.device(None), cuda.device(-1), cuda.stream(None):
        pass
    with cuda.device_of(torch.ones(1)):
        pass


@on_gpus(0)
def test_none_as_accelerator():
    a = torch.accelerator
    assert a.is_available() is False and a.device_count() == 0
    assert a.current_accelerator() is None
    assert a.memory_allocated() == 0 and a.memory_stats() == {}
    for use in (a.current_device_index, a.synchronize, a.current_stream, a.get_memory_info, lambda: a.set_device_index(0)):
        with pytest.raises(RuntimeError, match="^Cannot access accelerator device when none is available.$"):
            use()


# ---- devices ----


@on_gpus(2)
def test_devices():
    assert cuda.is_available() and cuda.device_count() == 2
    assert cuda.is_initialized() is False
    assert cuda.current_device() == 0 and cuda.is_initialized()
    cuda.set_device(1)
    assert cuda.current_device() == 1 and torch.ones(1, device="cuda").device == torch.device("cuda:1")
    cuda.set_device("cuda:0")
    with cuda.device(1):
        assert cuda.current_device() == 1
        with cuda.device("cuda:0"):
            assert cuda.current_device() == 0
        assert cuda.current_device() == 1
    assert cuda.current_device() == 0
    x = torch.ones(2, device="cuda:1")
    with cuda.device_of(x):
        assert cuda.current_device() == 1
    with cuda.device_of(torch.ones(2)):
        assert cuda.current_device() == 0
    try:
        with cuda.device(1):
            raise KeyError
    except KeyError:
        assert cuda.current_device() == 0
    with pytest.raises(RuntimeError, match="CUDA error: invalid device ordinal"):
        cuda.set_device(2)
    with pytest.raises(torch.AcceleratorError):
        cuda.set_device(2)
    with pytest.raises(ValueError, match=re.escape("Expected a torch.device with a specified index or an integer, but got:1.5")):
        cuda.set_device(1.5)


@on_gpus(2)
def test_properties():
    p = cuda.get_device_properties(0)
    assert p.name == cuda.get_device_name() == cuda.get_device_name("cuda:0") == cuda.get_device_name(torch.device("cuda", 0))
    assert (p.major, p.minor) == cuda.get_device_capability(0)
    assert p.total_memory == cuda.mem_get_info(0)[1] > 0
    assert p.warp_size == 32 and p.multi_processor_count > 0 and p.max_threads_per_multi_processor > 0
    assert isinstance(p.uuid, str) and len(p.uuid) == 36 and p.uuid != cuda.get_device_properties(1).uuid
    assert repr(p) == (
        f"_CudaDeviceProperties(name='{p.name}', major={p.major}, minor={p.minor}, total_memory={p.total_memory // 2**20}MB, "
        f"multi_processor_count={p.multi_processor_count}, uuid={p.uuid}, L2_cache_size={p.L2_cache_size // 2**20}MB)"
    )
    with pytest.raises(AttributeError):
        p.name = "another"
    with pytest.raises(TypeError):
        type(p)()
    for ask in (cuda.get_device_name, cuda.get_device_properties, cuda.get_device_capability):
        for index in (2, 99, -1):
            with pytest.raises(AssertionError, match="^Invalid device id$"):
                ask(index)
        with pytest.raises(ValueError, match="^Expected a cuda device, but got: cpu$"):
            ask("cpu")
    with pytest.raises(AssertionError, match="^Invalid peer device id$"):
        cuda.can_device_access_peer(0, 2)
    with pytest.raises(AssertionError, match="^Invalid device id$"):
        cuda.can_device_access_peer(2, 0)
    with pytest.raises(ValueError, match="^Expected a torch.device with a specified index or an integer, but got:cuda$"):
        cuda.can_device_access_peer(0, "cuda")
    assert cuda.can_device_access_peer(0, "cuda:1") is cuda.can_device_access_peer(torch.device("cuda", 1), 0) is True
    assert cuda.can_device_access_peer(0, 0) is False
    assert cuda.get_arch_list() == [f"sm_{p.major}{p.minor}"]


# ---- memory: the numbers follow from the rounding that PyTorch documents ----


@on_gpus(2)
def test_memory():
    assert cuda.memory_allocated() == 0
    x = torch.ones(1, device="cuda")
    assert cuda.memory_allocated() == 512 and cuda.memory_reserved() == 2 << 20
    y = torch.ones(1 << 20, device="cuda")
    assert cuda.memory_allocated() == 512 + (4 << 20) and cuda.memory_reserved() == 22 << 20
    assert cuda.memory_allocated("cuda:1") == 0 and cuda.memory_allocated(torch.device("cuda:0")) == 512 + (4 << 20)
    del y
    assert cuda.memory_allocated() == 512 and cuda.max_memory_allocated() == 512 + (4 << 20)
    assert cuda.memory_reserved() == 22 << 20
    cuda.empty_cache()
    assert cuda.memory_reserved() == 2 << 20 and cuda.max_memory_reserved() == 22 << 20
    cuda.reset_peak_memory_stats()
    assert cuda.max_memory_allocated() == 512 and cuda.max_memory_reserved() == 2 << 20
    stats = cuda.memory_stats()
    assert list(stats) == sorted(stats)
    assert stats["allocation.all.current"] == 1 and stats["allocation.all.allocated"] == 2
    assert stats["allocation.all.freed"] == 1 and stats["segment.all.freed"] == 1
    assert stats["requested_bytes.all.current"] == 4 and stats["num_ooms"] == 0
    free, total = cuda.mem_get_info()
    assert 0 < free < total
    assert "CUDA memory summary, device ID 0" in cuda.memory_summary()
    assert x.item() == 1
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        cuda.memory_stats(5)


@on_gpus("3x64MiB")
def test_devices_by_free_memory():
    def order():
        return [str(d) for d in cuda.devices_by_free_memory()]

    assert order() == ["cuda:0", "cuda:1", "cuda:2"]
    first = torch.zeros(4 << 20, device="cuda:0")
    second = torch.zeros(64 << 10, device="cuda:1")
    assert order() == ["cuda:2", "cuda:1", "cuda:0"]
    del first
    cuda.empty_cache()
    assert order()[-1] == "cuda:1"
    assert cuda.devices_by_free_memory()[-1] == second.device
    assert type(cuda.devices_by_free_memory()[0]) is torch.device


@on_gpus(0)
def test_devices_by_free_memory_of_none():
    assert cuda.devices_by_free_memory() == []


@on_gpus(2)
def test_memory_limit():
    total = cuda.mem_get_info()[1]
    for fraction in (1.5, -0.1, float("nan")):
        with pytest.raises(ValueError, match=re.escape(f"Invalid fraction value: {fraction}. Allowed range: 0~1")):
            cuda.set_per_process_memory_fraction(fraction)
    with pytest.raises(TypeError, match="^Invalid type for fraction argument, must be `float`$"):
        cuda.set_per_process_memory_fraction(1)
    cuda.set_per_process_memory_fraction(0.01)
    assert cuda.OutOfMemoryError is torch.OutOfMemoryError and issubclass(torch.OutOfMemoryError, RuntimeError)
    with pytest.raises(cuda.OutOfMemoryError, match="^CUDA out of memory. Tried to allocate "):
        torch.empty(total // 50, dtype=torch.uint8, device="cuda")
    assert cuda.memory_stats()["num_ooms"] == 1
    assert torch.empty(total // 50, dtype=torch.uint8, device="cuda:1").device.index == 1


@on_gpus(2)
def test_transfers_are_counted():
    x = torch.ones(256, device="cuda")
    cuda.reset_transfer_stats()
    x.cpu()
    stats = cuda.transfer_stats()
    assert stats["download_pinned"][1] + stats["download_pageable"][1] == 1024
    assert stats["upload_pinned"] == (0, 0) and stats["synchronizations"] >= 1


# ---- streams and events ----


@on_gpus(2)
def test_streams():
    default, current = cuda.default_stream(), cuda.current_stream()
    assert default == current and hash(default) == hash(current) and default.cuda_stream == 0
    assert type(current) is cuda.Stream
    assert repr(default) == "<torch.cuda.Stream device=cuda:0 cuda_stream=0x0>"
    s, other = cuda.Stream(), cuda.Stream(device="cuda:1", priority=-1)
    assert s != default and s != other and s != 3 and len({s, other, default, current}) == 3
    assert s.device == torch.device("cuda:0") and other.device_index == 1 and other.priority == -1
    assert repr(s) == f"<torch.cuda.Stream device=cuda:0 cuda_stream={s.cuda_stream:#x}>" and s.cuda_stream
    with cuda.stream(s):
        assert cuda.current_stream() == s
        with cuda.stream(other):
            assert cuda.current_device() == 1 and cuda.current_stream() == other
        assert cuda.current_device() == 0 and cuda.current_stream() == s
        x = torch.arange(1000.0, device="cuda") * 2
    assert cuda.current_stream() == default
    default.wait_stream(s)
    x.record_stream(default)
    assert x.sum().item() == 999000
    s.synchronize()
    assert s.query() is True
    with s as entered:
        assert entered is s and cuda.current_stream() == s
        with s:
            pass
        assert cuda.current_stream() == s
    assert cuda.current_stream() == default
    cuda.set_stream(s)
    assert cuda.current_stream() == s
    with pytest.raises(TypeError, match="expected a torch.cuda.Stream, but got int"):
        x.record_stream(3)
    with pytest.raises(TypeError):
        s.wait_stream(None)
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        cuda.Stream(device=7)
    with pytest.raises(ValueError, match="^Expected a cuda device, but got: cpu$"):
        cuda.Stream(device="cpu")


@on_gpus(2)
def test_events():
    assert repr(cuda.Event()) == "<torch.cuda.Event uninitialized>" and cuda.Event().query() is True
    start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    start.record()
    torch.ones(1000, device="cuda").sum()
    end.record(cuda.current_stream())
    end.synchronize()
    assert end.query() is True and start.elapsed_time(end) >= 0 and isinstance(start.elapsed_time(end), float)
    assert start.device == torch.device("cuda:0") and repr(start).startswith("<torch.cuda.Event 0x")
    s = cuda.Stream()
    e = s.record_event()
    assert type(e) is cuda.Event and s.record_event(e) is e
    cuda.current_stream().wait_event(e)
    e.wait(s)
    e.wait()
    with pytest.raises(ValueError, match="enable_timing=True"):
        e.elapsed_time(end)
    with pytest.raises(TypeError, match="expected a torch.cuda.Event, but got int"):
        s.wait_event(1)
    with pytest.raises(NotImplementedError):
        cuda.Event(interprocess=True)


@on_gpus(2)
def test_threads_have_their_own_current_device():
    import threading

    seen = []
    cuda.set_device(1)
    thread = threading.Thread(target=lambda: seen.append(cuda.current_device()))
    thread.start()
    thread.join()
    assert seen == [0] and cuda.current_device() == 1


# ---- seeds ----


@on_gpus(2)
def test_random_numbers():
    cuda.manual_seed(5)
    a = torch.rand(4, device="cuda")
    cuda.manual_seed_all(5)
    assert torch.equal(a, torch.rand(4, device="cuda")) and cuda.initial_seed() == 5
    assert torch.equal(a.cpu(), torch.rand(4, device="cuda:1").cpu())
    torch.manual_seed(5)
    assert torch.equal(a, torch.rand(4, device="cuda"))
    state = cuda.get_rng_state()
    b = torch.rand(4, device="cuda")
    cuda.set_rng_state(state)
    assert torch.equal(b, torch.rand(4, device="cuda"))
    assert len(cuda.get_rng_state_all()) == 2 and len(cuda.default_generators) == 2
    g = torch.Generator("cuda:1").manual_seed(5)
    assert torch.equal(a.cpu(), torch.rand(4, device="cuda:1", generator=g).cpu())
    with pytest.raises(RuntimeError, match="^Expected a 'cuda' device type for generator but found 'cpu'$"):
        torch.rand(4, device="cuda", generator=torch.Generator())
    with pytest.raises(RuntimeError, match="^Expected a 'cpu' device type for generator but found 'cuda'$"):
        torch.rand(4, generator=g)
    with torch.random.fork_rng(devices=[0]):
        c = torch.rand(4, device="cuda")
    assert torch.equal(c, torch.rand(4, device="cuda"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with torch.random.fork_rng():
            pass
    assert "CUDA reports that you have 2 available devices" in str(caught[0].message)
    p = torch.tensor([0.0, 0.25, 0.75], device="cuda")
    drawn = torch.multinomial(p, 4000, replacement=True)
    assert drawn.device == p.device and (drawn == 0).sum().item() == 0
    assert abs((drawn == 2).sum().item() - 3000) < 5 * (4000 * 0.75 * 0.25) ** 0.5
    assert sorted(torch.multinomial(p, 2).tolist()) == [1, 2]


# ---- the rest ----


@on_gpus(2)
def test_accelerator():
    a = torch.accelerator
    assert a.is_available() and a.device_count() == 2
    assert a.current_accelerator() == torch.device("cuda")
    assert a.current_device_index() == 0
    with a.device_index(1):
        assert a.current_device_index() == 1
    a.set_device_index("cuda:1")
    assert a.current_device_index() == 1 and a.current_stream().device_index == 1
    a.set_device_index(0)
    x = torch.ones(1, device="cuda")
    assert a.memory_allocated() == a.memory_allocated(0) == 512 and a.memory_reserved() == 2 << 20
    assert a.max_memory_allocated() == 512 and a.get_memory_info() == cuda.mem_get_info()
    assert torch.float16 in a.get_device_capability()["supported_dtypes"]
    a.synchronize()
    a.synchronize(1)
    with pytest.raises(ValueError, match="^cpu doesn't match the current accelerator cuda.$"):
        a.set_device_index("cpu")
    assert x.item() == 1


@on_gpus(1)
def test_what_nvml_says():
    assert cuda.list_gpu_processes().startswith("GPU:0\n")
    for ask in (cuda.utilization, cuda.memory_usage, cuda.temperature, cuda.power_draw, cuda.device_memory_used):
        try:
            assert ask() >= 0
        except RuntimeError as error:
            assert "NVML does not tell" in str(error)
    assert re.fullmatch(r"\d+\.\d", torch.version.cuda)


@on_gpus(1)
def test_reset():
    x = torch.ones(4, device="cuda")
    cuda.reset()
    with pytest.raises(RuntimeError):
        x.sum().item()
    assert torch.ones(4, device="cuda").sum().item() == 4


@on_gpus(1)
def test_what_is_missing_says_so():
    for name in ("amp", "CUDAGraph", "nccl", "cudart"):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}': Tenon does not have"):
            getattr(cuda, name)
    with pytest.raises(AttributeError, match="^module 'tenon.cuda' has no attribute 'nothing'$"):
        cuda.nothing


@on_gpus(2, PYTORCH_CUDA_ALLOC_CONF="max_split_size_mb:64")
def test_memory_snapshot():
    assert cuda.memory_snapshot() == []
    x = torch.ones(1000, device="cuda:1")
    y = torch.ones(3 << 20, dtype=torch.uint8, device="cuda:0")
    first, second = cuda.memory_snapshot()
    assert (first["device"], first["segment_type"], first["total_size"]) == (0, "large", 20 << 20)
    assert (second["device"], second["segment_type"], second["total_size"]) == (1, "small", 2 << 20)
    assert first["stream"] == 0 and first["is_expandable"] is False and first["segment_pool_id"] == (0, 0)
    assert first["allocated_size"] == first["active_size"] == first["requested_size"] == 3 << 20
    block, rest = second["blocks"]
    assert block["address"] == second["address"] == x.data_ptr() and block["state"] == "active_allocated"
    assert (block["size"], block["requested_size"]) == (4096, 4000) and isinstance(block["frames"], list)
    assert (rest["address"], rest["size"], rest["state"]) == (x.data_ptr() + 4096, (2 << 20) - 4096, "inactive")
    del y
    assert cuda.memory_snapshot()[0]["allocated_size"] == 0
    with pytest.raises(NotImplementedError):
        cuda.memory_snapshot((0, 1))


@on_gpus(1, TENON_CUDA_ALLOC_CONF="max_split:64")
def test_memory_settings_that_are_wrong():
    with pytest.raises(RuntimeError, match="Unrecognized key 'max_split' in CUDA allocator config"):
        torch.ones(1, device="cuda")


@on_gpus(2)
def test_streams_of_others():
    theirs = cuda.Stream(1)  # in another library's place
    s = cuda.ExternalStream(theirs.cuda_stream, "cuda:1")
    assert isinstance(s, cuda.Stream) and s == theirs and s.cuda_stream == theirs.cuda_stream and s.device_index == 1
    with s:
        assert cuda.current_stream(1) == s
        x = torch.ones(3, device="cuda:1") + 1
    s.synchronize()
    assert x.tolist() == [2, 2, 2]
    assert cuda.ExternalStream(0) == cuda.default_stream() == cuda.get_stream_from_external(1, 0)
    assert type(cuda.get_stream_from_external(theirs.cuda_stream, device=1)) is cuda.Stream
    with pytest.raises(TypeError):
        cuda.ExternalStream("theirs")
    with pytest.raises(RuntimeError, match="cuda:0 is in use"):
        cuda.set_wait("block")


@on_gpus(0)
def test_backends():
    b = torch.backends
    assert b.cudnn.is_available() is False and b.cudnn.version() is None and b.mkl.is_available() is False
    assert b.mps.is_available() is False and b.cuda.is_built() is True
    assert b.cudnn.benchmark is False
    b.cudnn.benchmark = b.cudnn.deterministic = True
    with b.cudnn.flags(benchmark=False):
        assert b.cudnn.benchmark is False
    assert b.cudnn.benchmark is True
    assert b.cuda.matmul.allow_tf32 is False
    b.cuda.matmul.allow_tf32 = True
    assert torch.get_float32_matmul_precision() == "high"
    torch.set_float32_matmul_precision("highest")
    assert b.cuda.matmul.allow_tf32 is False
    with pytest.raises(RuntimeError, match="^set_allow_tf32_cublas expects a bool, but got int$"):
        b.cuda.matmul.allow_tf32 = 1
    with pytest.raises(AttributeError, match="^Unknown attribute allow_tf23$"):
        b.cuda.matmul.allow_tf23 = True
    assert b.cpu.get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512")


@on_gpus(1)
def test_weights_of_two_devices_are_refused_not_left_out():
    x, often = torch.tensor([[1.0, 2.0, 4.0], [3.0, 1.0, 0.0]]), torch.tensor([1, 2, 3])
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.cov(x, fweights=often, aweights=torch.ones(3, device="cuda"))


@on_gpus(1)
def test_the_host_waits_for_copies_to_pinned_memory():
    g = torch.arange(4.0, device="cuda")
    back = g.to("cpu", non_blocking=True)
    assert back.is_pinned()
    reads = (back.sum, back.tolist, back.numpy, lambda: memoryview(back), lambda: repr(back), lambda: back[1].item())
    for read in (*reads, back.__dlpack__, lambda: back.add_(1), lambda: g + back[1]):
        with pytest.raises(RuntimeError, match="nothing orders the two") as raised:
            read()
        assert "copy device to host" in str(raised.value)
    cuda.current_stream().synchronize()
    for read in reads:
        read()
    assert back.numpy().tolist() == [0, 1, 2, 3] and (g + back[1]).tolist() == [1, 2, 3, 4]
