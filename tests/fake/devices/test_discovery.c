/* Devices on fake GPUs: which there are, what they are, how they are refused. */
#include "fake/own_process.h"
#include "backend/cuda/cuda.h"

static void two_are_found(void **state)
{
    (void)state;
    tn_device all[3];
    assert_true(tn_cuda_is_available());
    assert_int_equal(tn_cuda_device_count(), 2);
    assert_int_equal(tn_try_all_gpus(all, 3), 2);
    assert_true(tn_device_equal(all[1], TN_CUDA(1)));
    assert_true(tn_device_equal(tn_try_gpu(1), TN_CUDA(1)));
    assert_true(tn_device_equal(tn_try_gpu(2), TN_CPU));
    FAILS(tn_zeros(TN_SHAPE(2), .device = TN_CUDA(2)), TN_EDEVICE,
          "CUDA error: invalid device ordinal\n"
          "GPU device may be out of range, do you have enough GPUs?\n"
          "  cuda:2 was asked for; there are 2\n"
          "  at ");
    FAILS_STATUS(tn_cuda_set_device(2), TN_EDEVICE, "invalid device ordinal");
    OK(tn_cuda_set_device(-5));
    assert_int_equal(tn_cuda_current_device(), 0);
    OK(tn_cuda_set_device(1));
    assert_int_equal(tn_cuda_current_device(), 1);
    tn_stream *s = tn_cuda_default_stream(TN_CUDA(-1));
    assert_int_equal(tn_stream_device(s).index, 1);
    tn_stream_release(s);
    FAILS_STATUS(tn_synchronize(TN_CUDA(2)), TN_EDEVICE, "invalid device ordinal");
    tn_scope *scope = tn_scope_open();
    MADE(tn_zeros(TN_SHAPE(2)));
    assert_int_equal((tn_synchronize)(TN_CUDA(2)), TN_EDEVICE);
    assert_null(strstr(tn_error_message(), "test_discovery.c")); /* not the place of the call before */
    tn_error_clear();
    tn_scope_close(scope);
    FAILS_STATUS(tn_cuda_reset(TN_CPU), TN_EVALUE, "Expected a cuda device, but got: cpu");
}

static void properties_are_told(void **state)
{
    (void)state;
    tn_cuda_properties p;
    int32_t major = 0, minor = -1;
    OK(tn_cuda_device_properties(TN_CUDA(1), &p));
    assert_string_equal(p.name, "Tenon fake GPU");
    assert_string_equal(tn_cuda_device_name(TN_CUDA(0)), p.name);
    assert_int_equal(p.total_memory, 64 << 20);
    assert_int_equal(p.warp_size, 32);
    assert_int_equal(p.max_threads_per_block, 1024);
    assert_int_equal(p.regs_per_multiprocessor, 65536);
    assert_int_equal(p.L2_cache_size, 4 << 20);
    assert_int_equal(strlen(p.uuid), 36);
    assert_string_equal(p.pci_text, "0000:11:00.0");
    OK(tn_cuda_device_capability(TN_CUDA(0), &major, &minor));
    assert_int_equal(major * 10 + minor, p.major * 10 + p.minor);
    FAILS_STATUS(tn_cuda_device_properties(TN_CUDA(9), &p), TN_EDEVICE, "invalid device ordinal");
    FAILS(tn_cuda_device_name(TN_CUDA(9)), TN_EDEVICE, "invalid device ordinal");
    assert_int_equal(tn_cuda_physical(TN_CUDA(9)), -1);
    tn_error_clear();
}

/* The list of devices, and everything that can be asked of them, leaves no context behind. */
static void listing_makes_no_context(void **state)
{
    (void)state;
    tn_device_info d[4];
    tn_cuda_status s[4];
    tn_cuda_process who[4];
    assert_int_equal(tn_devices(d, 4), 3);
    assert_string_equal(tn_device_text(d[1].device).s, "cuda:0");
    assert_int_equal(d[0].physical, -1);
    assert_int_equal(d[2].physical, 1);
    assert_int_equal(d[2].total_memory, 64 << 20);
    assert_int_equal(d[2].free_memory, 64 << 20);
    assert_int_equal(strncmp(d[2].uuid, "GPU-", 4), 0);
    assert_int_equal(tn_cuda_statuses(s, 4), 2);
    assert_string_equal(s[1].uuid, d[2].uuid);
    assert_true(tn_device_equal(s[1].device, TN_CUDA(1)));
    assert_int_equal(s[1].memory_used, 0);
    assert_int_equal(s[1].memory_total, 64 << 20);
    assert_int_equal(s[1].temperature, 30);
    assert_int_equal(s[1].power, 10000);
    assert_int_equal(s[1].fan, -1);        /* not supported there */
    assert_int_equal(s[1].ecc_errors, -1); /* nor this */
    assert_true(*tn_cuda_driver_version());
    assert_int_equal(tn_cuda_processes(1, who, 4), 0);
    OK(tn_synchronize(TN_CUDA(1)));
    assert_int_equal(tn_cuda_processes(0, who, 4), 0);
    assert_int_equal(tn_cuda_processes(1, who, 4), 1);
    assert_int_equal(who[0].pid, getpid());
    assert_true(who[0].used_memory > 0);
    assert_int_equal(tn_cuda_processes(7, who, 4), 0);
}

static tn__cu_result uuid_of_a_slice(tn__cu_uuid *uuid, tn__cu_device device)
{
    memset(uuid, 0x10 + device, sizeof *uuid);
    return TN__CU_SUCCESS;
}

/* A slice of a GPU (MIG) has a UUID of its own, spelled as CUDA_VISIBLE_DEVICES wants it; NVML, which lists whole GPUs, finds
 * it by the address, and what is free in all of the GPU is not what is free in the slice. */
static void a_slice(void **state)
{
    (void)state;
    tn_device_info d[2];
    assert_int_equal(tn_cuda_device_count(), 1);
    tn__cu.device_get_uuid = uuid_of_a_slice;
    assert_int_equal(tn_devices(d, 2), 2);
    assert_int_equal(d[1].physical, 0);
    assert_string_equal(d[1].uuid, "MIG-10101010-1010-1010-1010-101010101010");
    assert_int_equal(d[1].free_memory, 0);
}

static void visible_devices_are_renumbered(void **state)
{
    (void)state;
    tn_cuda_status s[4];
    assert_int_equal(tn_cuda_device_count(), 2);
    assert_int_equal(tn_cuda_physical(TN_CUDA(0)), 2);
    assert_int_equal(tn_cuda_physical(TN_CUDA(1)), 0);
    assert_int_equal(tn_cuda_statuses(s, 4), 3);
    assert_int_equal(s[0].device.index, 1);
    assert_int_equal(s[1].device.index, -1);
    assert_int_equal(s[2].device.index, 0);
    FAILS(tn_zeros(TN_SHAPE(2), .device = TN_CUDA(2)), TN_EDEVICE,
          "cuda:2 was asked for; there are 2: CUDA_VISIBLE_DEVICES is '2,0', and devices are counted in its order");
}

static void none_visible(void **state)
{
    (void)state;
    tn_cuda_status s[4];
    assert_false(tn_cuda_is_available());
    assert_int_equal(tn_error_code(), TN_OK);
    FAILS(tn_zeros(TN_SHAPE(2), .device = TN_CUDA(0)), TN_EDEVICE,
          "No CUDA GPUs are available\n  CUDA_VISIBLE_DEVICES is '': it hides every GPU that it does not list");
    assert_int_equal(tn_cuda_statuses(s, 4), 2); /* NVML sees them all the same */
    assert_int_equal(s[0].device.index, -1);
}

static void no_driver(void **state)
{
    (void)state;
    tn_cuda_library l[4];
    assert_int_equal(tn_cuda_libraries(l, 4), 4);
    if (l[0].found)
        ALONE_SKIP("a driver is here");
    assert_false(tn_cuda_is_available());
    FAILS(tn_zeros(TN_SHAPE(2), .device = TN_CUDA(0)), TN_EDEVICE,
          "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver from "
          "http://www.nvidia.com/Download/index.aspx\n  no libcuda.so.1, libcuda.so was found: it comes with NVIDIA's "
          "driver\n  no NVIDIA GPU: try TENON_FAKE_GPUS=1 (simulated: correct results, no speed)");
    assert_string_equal(l[0].name, "driver");
    assert_non_null(strstr(l[0].missing, "libcuda.so.1"));
    assert_int_equal(tn_cuda_physical(TN_CUDA(0)), -1);
    tn_error_clear();
}

static void fake_library_missing(void **state)
{
    (void)state;
    assert_int_equal(tn_cuda_device_count(), 0);
    FAILS(
        tn_zeros(TN_SHAPE(2), .device = TN_CUDA(0)), TN_EDEVICE,
        "No CUDA GPUs are available\n  TENON_FAKE_GPUS is set, but TENON_FAKEGPU_LIBRARY=/nowhere.so cannot be opened");
}

static void fake_gpus_misspelt(void **state)
{
    (void)state;
    assert_int_equal(tn_cuda_device_count(), 0);
    for (int i = 0; i < 2; i++) /* whoever hears the first error, the next one says it too */
        FAILS(tn_zeros(TN_SHAPE(2), .device = TN_CUDA(0)), TN_EDEVICE, "TENON_FAKE_GPUS='2by4' is not understood");
}

static void libraries_are_told(void **state)
{
    (void)state;
    char folder[512];
    tn_cuda_library l[4];
    assert_int_equal(tn_cuda_libraries(l, 4), 4);
    for (int i = 0; i < 4; i++) {
        assert_true(l[i].fake);
        if (l[i].found)
            assert_non_null(strstr(l[i].path, "libtenon_fakegpu.so"));
    }
    assert_true(l[0].found && l[1].found && l[3].found);
    assert_int_equal(l[0].version, 13000);
    assert_int_equal(l[1].version, 13000);
    assert_true(tn_kernel_cache_folder(folder, sizeof folder) >= 0);
}

/* ---- fork ---- */

static void answer_of(pid_t child)
{
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void children_compute_on_the_cpu_alone(void **state)
{
    (void)state;
    tn_stream *s = tn_cuda_stream_new(TN_CUDA(0), 0);
    tn_event *e = tn_stream_record_event(s);
    OK(tn_synchronize(TN_CUDA(0)));
    pid_t child = fork();
    if (child == 0) {
        assert_int_equal(tn_cuda_device_count(), 2); /* they are there, but not for this process */
        FAILS_STATUS(
            tn_synchronize(TN_CUDA(0)), TN_EDEVICE,
            "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the "
            "'spawn' start method");
        FAILS_STATUS(tn_synchronize(TN_CUDA(1)), TN_EDEVICE, "exec a program in it");
        FAILS(tn_zeros(TN_SHAPE(4), .device = TN_CUDA(0)), TN_EDEVICE, "Cannot re-initialize CUDA");
        FAILS_STATUS(tn_cuda_reset(TN_CUDA(0)), TN_EDEVICE, "Cannot re-initialize CUDA");
        tn_cuda_properties p; /* a driver in a child answers nothing: rather an error than a GPU of no bytes */
        FAILS_STATUS(tn_cuda_device_properties(TN_CUDA(0), &p), TN_EDEVICE, "Cannot re-initialize CUDA");
        int32_t major, minor;
        FAILS_STATUS(tn_cuda_device_capability(TN_CUDA(0), &major, &minor), TN_EDEVICE, "Cannot re-initialize CUDA");
        FAILS_STATUS(tn_cuda_set_per_process_memory_fraction(0.5, TN_CUDA(0)), TN_EDEVICE, "Cannot re-initialize CUDA");
        FAILS_STATUS(tn_stream_synchronize(s), TN_EDEVICE, "Cannot re-initialize CUDA");
        tn_event_release(e);
        tn_stream_release(s);
        tn_scope *scope = tn_scope_open();
        PRINTS(MADE(tn_add(MADE(tn_ones(TN_SHAPE(2))), 1)), "tensor([2., 2.])");
        tn_scope_close(scope);
        _exit(0);
    }
    answer_of(child);
    OK(tn_synchronize(TN_CUDA(0)));
    tn_event_release(e);
    tn_stream_release(s);
}

/* Who forks before the first use has a GPU in the child. */
static void children_of_a_fresh_process_may(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        OK(tn_synchronize(TN_CUDA(0)));
        _exit(0);
    }
    answer_of(child);
    OK(tn_synchronize(TN_CUDA(0)));
}

static tn_device_info only_device(void)
{
    tn_device_info d[3];
    assert_int_equal(tn_cuda_device_count(), 1);
    assert_int_equal(tn_devices(d, 3), 2);
    return d[1];
}

/* Of two GPUs, each in two halves, the first slice: what is told of it is its own, what is told of GPUs is theirs. */
static void slices(void **state)
{
    (void)state;
    const int64_t half = INT64_C(256) << 20;
    tn_cuda_status s[3];
    tn_device_info d = only_device();
    assert_string_equal(d.name, "Tenon fake GPU MIG");
    assert_int_equal(strncmp(d.uuid, "MIG-", 4), 0);
    assert_int_equal(d.physical, 0);
    assert_int_equal(d.total_memory, half);
    assert_int_equal(d.free_memory, half);
    tn_tensor *x = MADE(tn_zeros(TN_SHAPE(1 << 20), .device = TN_CUDA(0)));
    d = only_device();
    assert_true(d.free_memory < half - (4 << 20));
    assert_int_equal(tn_cuda_statuses(s, 3), 2);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(s[i].name, "Tenon fake GPU");
        assert_int_equal(strncmp(s[i].uuid, "GPU-", 4), 0);
        assert_int_equal(s[i].memory_total, 2 * half);
        assert_int_equal(s[i].memory_used, i ? 0 : half - d.free_memory);
        assert_int_equal(s[i].device.index, i - (i > 0) * 2);
    }
    assert_true(strcmp(s[0].uuid, s[1].uuid) != 0 && strcmp(s[0].uuid + 4, d.uuid + 4) != 0);
    assert_int_equal(tn_cuda_processes(0, NULL, 0), 1);
    assert_int_equal(tn_cuda_processes(1, NULL, 0), 0);
    tn_release(x);
    setenv("CUDA_VISIBLE_DEVICES", "1", 1);
    alone_run("a_named_slice", NULL);
    setenv("CUDA_VISIBLE_DEVICES", d.uuid, 1);
    alone_run("a_named_slice", NULL);
}

/* A number is a GPU's, whose first slice it is; a UUID, which the next process is told, its own. */
static void a_named_slice(void **state)
{
    (void)state;
    const char *asked = getenv("CUDA_VISIBLE_DEVICES");
    const tn_device_info d = only_device();
    if (!strcmp(asked, "1")) {
        assert_int_equal(d.physical, 1);
        setenv("CUDA_VISIBLE_DEVICES", d.uuid, 1);
        alone_run("a_named_slice", NULL);
        return;
    }
    assert_string_equal(d.uuid, asked);
    assert_true(d.free_memory > 0);
}

int main(int argc, char **argv)
{
    static const alone tests[] = {
        ALONE(two_are_found, "TENON_FAKE_GPUS=2x64MiB"),
        ALONE(properties_are_told, "TENON_FAKE_GPUS=2x64MiB"),
        ALONE(listing_makes_no_context, "TENON_FAKE_GPUS=2x64MiB"),
        ALONE(slices, "TENON_FAKE_GPUS=2x512MiB", "TENON_FAKE_GPU_MIG=2"),
        ALONE(a_slice, "TENON_FAKE_GPUS=1x64MiB"),
        ALONE(visible_devices_are_renumbered, "TENON_FAKE_GPUS=3x64MiB", "CUDA_VISIBLE_DEVICES=2,0"),
        ALONE(none_visible, "TENON_FAKE_GPUS=2x64MiB", "CUDA_VISIBLE_DEVICES="),
        ALONE(no_driver, "TENON_FAKE_GPUS="),
        ALONE(fake_library_missing, "TENON_FAKE_GPUS=2", "TENON_FAKEGPU_LIBRARY=/nowhere.so"),
        ALONE(fake_gpus_misspelt, "TENON_FAKE_GPUS=2by4"),
        ALONE(libraries_are_told, "TENON_FAKE_GPUS=1"),
        ALONE(children_compute_on_the_cpu_alone, "TENON_FAKE_GPUS=2x64MiB"),
        ALONE(children_of_a_fresh_process_may, "TENON_FAKE_GPUS=1x64MiB"),
    };
    static const alone parts[] = {ALONE(a_named_slice, NULL)};
    int status = alone_main(tests, TN_COUNT(tests), argc, argv);
    return status == 2 && argc > 1 ? alone_main(parts, TN_COUNT(parts), argc, argv) : status;
}
