/* Stands in for the driver of the fake GPUs: kernels run when they are launched. */
#include "fake/compiler/helpers.h"
#include "fakegpu/driver.h"
#include <stdlib.h>
#include <time.h>

static _Thread_local char report[1024];
_Thread_local tn__cu_result kit_error;

_Thread_local fake_access kit_access[256];
_Thread_local int kit_accesses;

tn__cu_result fake_enqueue(tn__cu_stream stream, const char *what, const fake_access *access, int n,
                           void (*run)(void *), void (*drop)(void *), void *arg)
{
    (void)stream;
    (void)what;
    (void)drop;
    assert_in_range(n, 0, 256);
    memcpy(kit_access, access, (size_t)n * sizeof *access);
    kit_accesses = n;
    run(arg);
    return TN__CU_SUCCESS;
}

const char *kit_device_memory[2];

bool fake_is_device_memory(const void *host_address)
{
    return (const char *)host_address >= kit_device_memory[0] && (const char *)host_address < kit_device_memory[1];
}

void *fake_host_address(const void *device_pointer)
{
    return (void *)(uintptr_t)device_pointer;
}

void fake_device_fail(tn__cu_result error, const char *why)
{
    kit_error = error;
    snprintf(report, sizeof report, "%s", why);
}

const char *kit_report(void)
{
    return report;
}

void fake_report(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(report, sizeof report, format, args);
    va_end(args);
}

enum { HANDLES = 8 };
static const void *handles[HANDLES];

static size_t place_of(const void *handle)
{
    size_t i = 0;
    while (i < HANDLES && handles[i] != handle)
        i++;
    return i;
}

tn__cu_result fake_library_handle_add(const void *handle)
{
    const size_t i = place_of(NULL);
    assert_in_range(i, 0, HANDLES - 1);
    handles[i] = handle;
    return TN__CU_SUCCESS;
}

tn__cu_result fake_library_handle_check(const void *handle)
{
    return handle && place_of(handle) < HANDLES ? TN__CU_SUCCESS : TN__CU_INVALID_HANDLE;
}

bool fake_library_handle_remove(const void *handle)
{
    const bool is_handle = fake_library_handle_check(handle) == TN__CU_SUCCESS;
    if (is_handle)
        handles[place_of(handle)] = NULL;
    return is_handle;
}

/* The device whose context is current; a test may change it. */
static char some_context;
_Thread_local tn__cu_context kit_context = (tn__cu_context)&some_context;

unsigned cuCtxGetCurrent(tn__cu_context *context)
{
    *context = kit_context;
    return TN__CU_SUCCESS;
}

void kit_clear(void)
{
    kit_error = TN__CU_SUCCESS;
    report[0] = 0;
}

unsigned kit_compile(const char *text, const char *const *options, char *log, size_t size, void **image)
{
    const char *all[32] = {"--gpu-architecture=sm_90"};
    int n = 1;
    size_t bytes = 0;
    tn__nvrtc_program p;
    for (; options && *options; options++)
        all[n++] = *options;
    assert_int_equal(nvrtcCreateProgram(&p, text, "unit", 0, NULL, NULL), 0);
    const unsigned result = nvrtcCompileProgram(p, n, all);
    assert_int_equal(nvrtcGetProgramLogSize(p, &bytes), 0);
    char *whole = malloc(bytes);
    assert_int_equal(nvrtcGetProgramLog(p, whole), 0);
    snprintf(log, size, "%s", whole);
    free(whole);
    assert_int_equal(nvrtcGetCUBINSize(p, &bytes), 0);
    *image = bytes ? malloc(bytes) : NULL;
    if (bytes)
        assert_int_equal(nvrtcGetCUBIN(p, *image), 0);
    assert_int_equal(nvrtcDestroyProgram(&p), 0);
    return result;
}

fake_module *kit_module(const char *text)
{
    char log[4096];
    void *image;
    fake_module *m = NULL;
    if (kit_compile(text, NULL, log, sizeof log, &image) != TN__NVRTC_SUCCESS)
        fail_msg("does not compile: %s", log);
    assert_int_equal(fake_module_load(image, 90, &m), TN__CU_SUCCESS);
    free(image);
    return m;
}

const fake_kernel *kit_kernel(fake_module *m, const char *name)
{
    const fake_kernel *k = fake_module_kernel(m, name);
    if (!k)
        fail_msg("no kernel %s", name);
    return k;
}

void kit_run(const fake_kernel *k, unsigned groups, unsigned local, void **args)
{
    const unsigned g[3] = {groups, 1, 1}, l[3] = {local, 1, 1};
    kit_clear();
    fake_kernel_run(k, g, l, args, NULL);
}

double kit_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
