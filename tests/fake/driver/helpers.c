/* Opens the driver of the fake GPUs; kernels, memory and checks for its tests. */
#include "fake/driver/helpers.h"
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

kit_driver cu;
kit_management nvml;
int kit_devices;
tn__cu_context kit_context[KIT_DEVICES];

enum { ADD, FILL, SPIN, HOLD, KERNELS };
static tn__cu_function kernel[KIT_DEVICES][KERNELS];
static char *image;

/* ---- opening ---- */

static const char text[] = "KERNEL(add)(GLOBAL f32 *to, GLOBAL const f32 *from, i64 n)\n"
                           "{\n"
                           "    for (i64 i = GLOBAL_ID(0); i < n; i += GLOBAL_SIZE(0))\n"
                           "        to[i] += from[i];\n"
                           "}\n"
                           "KERNEL(fill)(GLOBAL f32 *to, f32 value, i64 n)\n"
                           "{\n"
                           "    for (i64 i = GLOBAL_ID(0); i < n; i += GLOBAL_SIZE(0))\n"
                           "        to[i] = value;\n"
                           "}\n"
                           "KERNEL(spin)(GLOBAL f32 *to, f32 value, i64 n)\n"
                           "{\n"
                           "    f32 x = value;\n"
                           "    for (i64 k = 0; k < 10000000; k++)\n"
                           "        x = x * 0.5f + value * 0.5f;\n"
                           "    for (i64 i = GLOBAL_ID(0); i < n; i += GLOBAL_SIZE(0))\n"
                           "        to[i] = x;\n"
                           "}\n"
                           "KERNEL(hold)(GLOBAL i32 *gate)\n"
                           "{\n"
                           "    while (!ATOMIC_ADD_I32(gate, 0))\n"
                           "        ;\n"
                           "}\n";

typedef struct compiler {
    unsigned (*create)(tn__nvrtc_program *, const char *, const char *, int, const char *const *, const char *const *);
    unsigned (*compile)(tn__nvrtc_program, int, const char *const *);
    unsigned (*size)(tn__nvrtc_program, size_t *), (*binary)(tn__nvrtc_program, char *);
    unsigned (*destroy)(tn__nvrtc_program *);
} compiler;

static bool compile_kernels(void *library)
{
    compiler c;
    *(void **)&c.create = dlsym(library, "nvrtcCreateProgram");
    *(void **)&c.compile = dlsym(library, "nvrtcCompileProgram");
    *(void **)&c.size = dlsym(library, "nvrtcGetCUBINSize");
    *(void **)&c.binary = dlsym(library, "nvrtcGetCUBIN");
    *(void **)&c.destroy = dlsym(library, "nvrtcDestroyProgram");
    const char *options[] = {"--gpu-architecture=sm_90"};
    tn__nvrtc_program p;
    size_t size = 0;
    if (c.create(&p, text, "kit", 0, NULL, NULL) || c.compile(p, 1, options) || c.size(p, &size))
        return false;
    image = malloc(size);
    bool ok = image && !c.binary(p, image);
    c.destroy(&p);
    return ok;
}

int kit_open(bool compile)
{
    void *library = dlopen(TENON_FAKEGPU, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        print_error("%s\n", dlerror());
        return 1;
    }
#define FN(name, symbol, older, parameters) *(void **)&cu.name = dlsym(library, #symbol);
#define OPTIONAL                            FN
#include "abi/cuda.def"
#define FN(name, symbol, older, parameters) *(void **)&nvml.name = dlsym(library, #symbol);
#define OPTIONAL                            FN
#include "abi/nvml.def"
    if (compile && !compile_kernels(library)) {
        print_error("the kernels of this test do not compile\n");
        return 1;
    }
    return 0;
}

void kit_in_child(void (*body)(void), const char *const *variables, const char *what, const char *file, int line)
{
    pid_t child = fork();
    if (child == 0) {
        for (; *variables; variables++)
            putenv((char *)(uintptr_t)*variables);
        alarm(120); /* a deadlock is a failure, not a test that never ends */
        body();
        exit(0);
    }
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        print_error("%s: the child ended with status %#x\n", what, (unsigned)status);
        _fail(file, line);
    }
}

/* ---- checks, in the child ---- */

void kit_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
    _exit(1);
}

void kit_gives(tn__cu_result got, tn__cu_result wanted, const char *what, const char *file, int line)
{
    if (got == wanted)
        return;
    char report[2048] = "";
    cu.fake_report(report, sizeof report);
    fprintf(stderr, "%s:%d: %s gave %u, not %u. %s\n", file, line, what, got, wanted, report);
    _exit(1);
}

void kit_reports(const char *wanted, const char *file, int line)
{
    char report[2048] = "";
    cu.fake_report(report, sizeof report);
    if (strstr(report, wanted) && *report)
        return;
    fprintf(stderr, "%s:%d: the report is '%s', not '%s'\n", file, line, report, wanted);
    _exit(1);
}

/* ---- short words for common things ---- */

void kit_use(int device)
{
    CU(cu.ctx_set_current(kit_context[device]));
}

void kit_start(void)
{
    static const char *const names[KERNELS] = {"add", "fill", "spin", "hold"};
    CU(cu.init(0));
    CU(cu.device_get_count(&kit_devices));
    for (int i = kit_devices; i-- > 0;) {
        tn__cu_module module;
        CU(cu.primary_ctx_retain(&kit_context[i], i));
        kit_use(i);
        if (image)
            CU(cu.module_load_data(&module, image));
        for (int k = 0; image && k < KERNELS; k++)
            CU(cu.module_get_function(&kernel[i][k], module, names[k]));
    }
}

tn__cu_result kit_load(void)
{
    tn__cu_module module;
    return cu.module_load_data(&module, image);
}

tn__cu_stream kit_stream(void)
{
    tn__cu_stream stream;
    CU(cu.stream_create_with_priority(&stream, TN__CU_STREAM_NON_BLOCKING, 0));
    return stream;
}

tn__cu_event kit_event(void)
{
    tn__cu_event event;
    CU(cu.event_create(&event, TN__CU_EVENT_DISABLE_TIMING));
    return event;
}

tn__cu_ptr kit_memory(size_t bytes)
{
    tn__cu_ptr memory;
    CU(cu.mem_alloc(&memory, bytes));
    return memory;
}

float *kit_pinned(size_t bytes)
{
    void *memory;
    CU(cu.mem_host_alloc(&memory, bytes, TN__CU_MEMHOSTALLOC_PORTABLE));
    return memory;
}

static tn__cu_result launch(int which, unsigned groups, unsigned items, void **parameters, tn__cu_stream stream)
{
    tn__cu_context current;
    CU(cu.ctx_get_current(&current));
    int device = 0;
    while (device < kit_devices - 1 && kit_context[device] != current)
        device++;
    return cu.launch_kernel(kernel[device][which], groups, 1, 1, items, 1, 1, 0, stream, parameters, NULL);
}

tn__cu_result kit_add(tn__cu_ptr to, tn__cu_ptr from, int64_t n, tn__cu_stream stream)
{
    return launch(ADD, 2, 64, (void *[]){&to, &from, &n}, stream);
}

tn__cu_result kit_fill(tn__cu_ptr to, float value, int64_t n, tn__cu_stream stream)
{
    return launch(FILL, 2, 64, (void *[]){&to, &value, &n}, stream);
}

tn__cu_result kit_spin(tn__cu_ptr to, float value, int64_t n, tn__cu_stream stream)
{
    return launch(SPIN, 1, 1, (void *[]){&to, &value, &n}, stream);
}

int32_t *kit_hold(tn__cu_stream stream)
{
    void *gate;
    CU(cu.mem_host_alloc(&gate, sizeof(int32_t), 0));
    *(int32_t *)gate = 0;
    CU(launch(HOLD, 1, 1, (void *[]){&gate}, stream));
    return gate;
}

void kit_go(int32_t *gate)
{
    /* ThreadSanitizer does not see the kernel read the gate; the driver's lock, which the stream's thread takes after the
     * kernel, tells it that what the test did until now comes before what the stream does next. */
    kit_count(0, TN__FAKE_H2D);
    __atomic_store_n(gate, 1, __ATOMIC_RELEASE);
}

uint64_t kit_count(int device, int which)
{
    uint64_t counters[16];
    CU(cu.fake_counters(device, counters));
    return counters[which];
}

void kit_expect(tn__cu_ptr memory, float value, int64_t n)
{
    float *got = malloc((size_t)n * sizeof *got);
    CU(cu.ctx_synchronize());
    CU(cu.memcpy_dtoh_async(got, memory, (size_t)n * sizeof *got, NULL));
    for (int64_t i = 0; i < n; i++)
        if (isnan(value) ? !isnan(got[i]) : got[i] != value) {
            fprintf(stderr, "element %lld is %g, not %g\n", (long long)i, (double)got[i], (double)value);
            _exit(1);
        }
    free(got);
}
