"""Several devices on one GPU: TENON_VISIBLE_DEVICES."""

from on_gpus import on_gpus


@on_gpus(1, TENON_VISIBLE_DEVICES="0,0,0")
def test_one_gpu_is_three_devices():
    assert cuda.device_count() == 3 and cuda.is_available()
    assert len({cuda.get_device_properties(i).uuid for i in range(3)}) == 1
    x = torch.ones(1000, device="cuda:0")
    y = x.to("cuda:1") + 1
    assert y.device == torch.device("cuda:1") and y.sum().item() == 2000
    assert cuda.memory_allocated(0) and cuda.memory_allocated(1) and not cuda.memory_allocated(2)
    assert cuda.default_stream(0).cuda_stream == 0
    assert cuda.default_stream(1).cuda_stream not in (0, cuda.default_stream(2).cuda_stream)
    with pytest.raises(RuntimeError, match="found at least two devices, cuda:0 and cuda:1!"):
        x + y
    side = cuda.Stream(device=2)
    with cuda.stream(side):
        assert (y.to("cuda:2") * 2).sum().item() == 4000
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.ones(1, device="cuda:3")
    del x, y


@on_gpus(2, TENON_VISIBLE_DEVICES="1,0,1")
def test_other_libraries_see_the_drivers_devices():
    t = [torch.full((3,), float(i), device=f"cuda:{i}") for i in range(3)]
    assert [x.__dlpack_device__() for x in t] == [(2, 1), (2, 0), (2, 1)]
    for i in range(3):
        with cuda.device(i):
            back = torch.from_dlpack(t[i])
            assert back.device == t[i].device and back.data_ptr() == t[i].data_ptr()
            assert torch.from_dlpack(t[1], device="cuda").device.index == i
    assert torch.from_dlpack(t[0], device="cuda:2").device.index == 2  # the same GPU, and yet another device
    assert torch.from_dlpack(t[2], device="cuda:2").device.index == 2
    assert torch.from_dlpack(t[1], device="cuda:2").tolist() == [1.0] * 3


@on_gpus(2, TENON_VISIBLE_DEVICES="1")
def test_a_gpu_that_is_left_out():
    assert cuda.device_count() == 1
    with pytest.raises(BufferError, match="device 0 of CUDA is none of TENON_VISIBLE_DEVICES"):
        torch.ones(1).__dlpack__(dl_device=(2, 0))
    assert torch.ones(1).__dlpack__(dl_device=(2, 1)) is not None


@on_gpus(2, TENON_VISIBLE_DEVICES="0,2")
def test_a_list_that_is_none():
    assert not cuda.is_available() and cuda.device_count() == 0
    with pytest.raises(RuntimeError, match="TENON_VISIBLE_DEVICES is '0,2': it says which of the driver's devices"):
        torch.ones(1, device="cuda")
