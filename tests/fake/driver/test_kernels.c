/* Kernels and products through the whole of libtenon_fakegpu: compiled, loaded, launched on streams, and what becomes of a
 * device whose kernel is wrong. */
#include "fake/driver/helpers.h"
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>

#define FN(name, symbol, older, parameters)       unsigned(*name) parameters;
#define OPTIONAL(name, symbol, older, parameters) unsigned(*name) parameters;
static struct {
#include "abi/nvrtc.def"
} nvrtc;
#define FN(name, symbol, older, parameters)       unsigned(*name) parameters;
#define OPTIONAL(name, symbol, older, parameters) unsigned(*name) parameters;
static struct {
#include "abi/cublas.def"
} blas;

static char *image;

static const char text[] = "KERNEL_B(sums)(GLOBAL const f32 *x, GLOBAL f32 *o)\n"
                           "{\n"
                           "    LOCAL_MEM(f32, s, 128);\n"
                           "    s[LOCAL_ID(0)] = x[GLOBAL_ID(0)];\n"
                           "    BARRIER();\n"
                           "    for (int k = 64; k > 0; k /= 2) {\n"
                           "        if (LOCAL_ID(0) < k)\n"
                           "            s[LOCAL_ID(0)] += s[LOCAL_ID(0) + k];\n"
                           "        BARRIER();\n"
                           "    }\n"
                           "    if (LOCAL_ID(0) == 0)\n"
                           "        o[GROUP_ID(0)] = s[0];\n"
                           "}\n"
                           "KERNEL_B(diverges)(GLOBAL f32 *o, i32 n)\n"
                           "{\n"
                           "    if (LOCAL_ID(0) < n)\n"
                           "        BARRIER();\n"
                           "    o[0] = 1;\n"
                           "}\n"
                           "KERNEL_B(greedy)(GLOBAL f32 *o)\n"
                           "{\n"
                           "    LOCAL_MEM(double, s, 8 * 1024);\n"
                           "    o[0] = s[0];\n"
                           "}\n";

/* What TinyCC does not take. */
static const char deadly[] = "DEVICE i32 deep(i32 n)\n"
                             "{\n"
                             "    volatile i32 a[64];\n"
                             "    a[n & 63] = n;\n"
                             "    return n ? deep(n - 1) + a[n & 63] : 0;\n"
                             "}\n"
                             "typedef f32 four __attribute__((vector_size(16)));\n"
                             "#define DIES \\\n"
                             "    if (how == 1) \\\n"
                             "        o[0] = *(volatile f32 *)0; \\\n"
                             "    if (how == 2) \\\n"
                             "        o[0] = (f32)deep(100000000); \\\n"
                             "    if (how == 3) \\\n"
                             "        *(volatile four *)(o + 1) = (four){1, 1, 1, 1}; \\\n"
                             "    if (how == 4) \\\n"
                             "        o[0] = (f32)(7 / (how - 4)); \\\n"
                             "    if (how == 5) \\\n"
                             "        __builtin_trap();\n"
                             "KERNEL(dies)(GLOBAL f32 *o, i32 how) { DIES o[0] = 5; }\n"
                             "KERNEL_B(dies_later)(GLOBAL f32 *o, i32 how)\n"
                             "{\n"
                             "    BARRIER();\n"
                             "    if (LOCAL_ID(0) == 40) {\n"
                             "        DIES\n"
                             "        o[0] = 5;\n"
                             "    }\n"
                             "    BARRIER();\n"
                             "}\n"
                             "KERNEL(reads)(GLOBAL f32 *o, GLOBAL const f32 *x, i32 at) { o[GROUP_ID(0)] = x[at]; }\n";

static bool compile(const char *units)
{
    void *library = dlopen(TENON_FAKEGPU, RTLD_NOW | RTLD_LOCAL);
    const char *options[] = {"--gpu-architecture=sm_90"};
    tn__nvrtc_program p;
    size_t size = 0;
#define FN(name, symbol, older, parameters) *(void **)&nvrtc.name = dlsym(library, #symbol);
#define OPTIONAL                            FN
#include "abi/nvrtc.def"
#define FN(name, symbol, older, parameters) *(void **)&blas.name = dlsym(library, #symbol);
#define OPTIONAL                            FN
#include "abi/cublas.def"
    if (nvrtc.create_program(&p, units, "kernels", 0, NULL, NULL) || nvrtc.compile_program(p, 1, options) ||
        nvrtc.get_cubin_size(p, &size) || !(image = malloc(size)))
        return false;
    const bool ok = nvrtc.get_cubin(p, image) == 0;
    nvrtc.destroy_program(&p);
    return ok;
}

static tn__cu_function function(const char *name)
{
    tn__cu_module module;
    tn__cu_function f;
    CU(cu.module_load_data(&module, image));
    CU(cu.module_get_function(&f, module, name));
    return f;
}

static tn__cu_result launch(tn__cu_function f, unsigned groups, unsigned local, tn__cu_stream stream, void **args)
{
    return cu.launch_kernel(f, groups, 1, 1, local, 1, 1, 0, stream, args, NULL);
}

/* ---- what works ---- */

/* Two streams of two devices sum at once; each has its own fibers. */
static void groups_run_on_streams(void)
{
    enum { GROUPS = 40, N = GROUPS * 128 };
    kit_start();
    tn__cu_ptr x[2], o[2];
    tn__cu_stream stream[2];
    float *host = kit_pinned(N * sizeof *host), *out[2];
    for (int i = 0; i < N; i++)
        host[i] = (float)(i % 7);
    for (int d = 0; d < 2; d++) {
        kit_use(d);
        stream[d] = kit_stream();
        x[d] = kit_memory(N * sizeof(float));
        o[d] = kit_memory(GROUPS * sizeof(float));
        out[d] = kit_pinned(GROUPS * sizeof(float));
        CU(cu.memcpy_htod_async(x[d], host, N * sizeof(float), stream[d]));
        CU(launch(function("sums"), GROUPS, 128, stream[d], (void *[]){&x[d], &o[d]}));
        CU(cu.memcpy_dtoh_async(out[d], o[d], GROUPS * sizeof(float), stream[d]));
    }
    for (int d = 0; d < 2; d++) {
        kit_use(d);
        CU(cu.stream_synchronize(stream[d]));
        for (int g = 0; g < GROUPS; g++) {
            float want = 0;
            for (int i = 0; i < 128; i++)
                want += host[g * 128 + i];
            CHECK(out[d][g] == want);
        }
    }
}

static void products_run_on_streams(void)
{
    enum { N = 70 };
    kit_start();
    tn__cublas_handle h;
    const float one = 1, zero = 0;
    tn__cu_stream s = kit_stream();
    const size_t bytes = N * N * sizeof(float);
    tn__cu_ptr a = kit_memory(bytes), c = kit_memory(bytes);
    CU(kit_fill(a, 0.5F, N * N, s));
    GIVES(0, blas.create(&h));
    GIVES(0, blas.set_stream(h, s));
    const void *pa = (const void *)(uintptr_t)a;
    GIVES(0, blas.gemm_ex(h, 0, 1, N, N, N, &one, pa, TN__CUBLAS_R_32F, N, pa, TN__CUBLAS_R_32F, N, &zero,
                          (void *)(uintptr_t)c, TN__CUBLAS_R_32F, N, TN__CUBLAS_COMPUTE_32F, TN__CUBLAS_GEMM_DEFAULT));
    kit_expect(c, 0.25F * N, N * N);
    GIVES(0, blas.destroy(h));
}

/* ---- what does not ---- */

/* A handle ends with its context: one that outlives it is an error, and so is one that was destroyed. */
static void handles_end_with_their_context(void)
{
    kit_start();
    tn__cublas_handle gone, stale, h;
    const float one = 1;
    float *x;
    GIVES(0, blas.create(&gone));
    GIVES(0, blas.destroy(gone));
    GIVES(1, blas.set_stream(gone, NULL));
    GIVES(1, blas.destroy(gone));
    GIVES(0, blas.create(&stale));
    CU(cu.primary_ctx_reset(0));
    GIVES(1, blas.create(&h)); /* there is no context */
    kit_start();
    x = (float *)(uintptr_t)kit_memory(64);
    GIVES(1, blas.set_stream(stale, NULL));
    REPORTS("after the context of device 0 that it was made in was destroyed");
    GIVES(1, blas.set_math_mode(stale, TN__CUBLAS_DEFAULT_MATH));
    GIVES(1, blas.gemm_ex(stale, 0, 0, 1, 1, 1, &one, x, TN__CUBLAS_R_32F, 1, x, TN__CUBLAS_R_32F, 1, &one, x + 4,
                          TN__CUBLAS_R_32F, 1, TN__CUBLAS_COMPUTE_32F, TN__CUBLAS_GEMM_DEFAULT));
    CHECK(kit_count(0, TN__FAKE_LAUNCHES) == 0);
    GIVES(0, blas.create(&h)); /* of the new context */
    GIVES(0, blas.set_math_mode(h, TN__CUBLAS_DEFAULT_MATH));
    GIVES(0, blas.destroy(stale)); /* nothing but its own memory is left */
    GIVES(0, blas.destroy(h));
}

static void divergence_kills_the_device(void)
{
    kit_start();
    int32_t n = 5;
    tn__cu_ptr o = kit_memory(4);
    tn__cu_stream s = kit_stream();
    CU(launch(function("diverges"), 3, 96, s, (void *[]){&o, &n}));
    GIVES(TN__CU_LAUNCH_FAILED, cu.stream_synchronize(s));
    REPORTS("divergent barrier in kernel 'diverges': 5 of 96 work items of group (0, 0, 0)");
    GIVES(TN__CU_LAUNCH_FAILED, cu.ctx_synchronize()); /* for good; the other device goes on */
    kit_use(1);
    o = kit_memory(4);
    CU(kit_fill(o, 3, 1, NULL));
    kit_expect(o, 3, 1);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* there signals are the sanitizer's */
static volatile sig_atomic_t passed_on;

static void on_signal(int number)
{
    passed_on = number;
    signal(number, SIG_DFL);
}

/* For kernels that the default compiler makes, by what the environment says now. */
static void start_deadly(void)
{
    CU(cu.init(0));
    CU(cu.primary_ctx_retain(&kit_context[0], 0));
    kit_use(0);
    CHECK(compile(deadly));
}

/* A kernel that dies fails its device, and nothing else. */
static void dying_kernels_fail_their_device(void)
{
    static const struct {
        int how;
        tn__cu_result error;
        const char *what;
    } all[] = {
        {1, TN__CU_ILLEGAL_ADDRESS, "touches an address that has no memory: address (nil), group ("},
        {2, TN__CU_LAUNCH_FAILED, "has used up its stack: address"},
        {4, TN__CU_LAUNCH_FAILED, "divides by 0"},
        {5, TN__CU_ILLEGAL_INSTRUCTION, "reaches an illegal instruction"},
#if defined(__x86_64__)
        {3, TN__CU_MISALIGNED_ADDRESS, "reads or writes more than its address is a multiple of"},
#endif
    };
    signal(SIGSEGV, on_signal);
    start_deadly();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int barrier = 0; barrier < 2; barrier++) {
            const char *name = barrier ? "dies_later" : "dies";
            int32_t how = all[i].how, none = 0;
            tn__cu_ptr o = kit_memory(64);
            CU(launch(function(name), 3, 64, NULL, (void *[]){&o, &none}));
            kit_expect(o, 5, 1);
            CU(launch(function(name), 3, 64, NULL, (void *[]){&o, &how}));
            GIVES(all[i].error, cu.ctx_synchronize());
            char want[200];
            snprintf(want, sizeof want, "kernel '%s' %s", name, all[i].what);
            REPORTS(want);
            CU(cu.primary_ctx_reset(0));
            CU(cu.primary_ctx_retain(&kit_context[0], 0));
            kit_use(0);
        }
    raise(SIGSEGV); /* nobody's kernel */
    CHECK(passed_on == SIGSEGV);
}

/* TENON_FAKE_GPU_RACES: what the allocator cut out of a block ends where the tensor ends, to the byte. */
static void tensors_end_to_the_byte(void)
{
    start_deadly();
    const tn__cu_ptr block = kit_memory(4096);
    tn__cu_ptr o = kit_memory(64), x = block + 512;
    int32_t at = 24;
    CU(cu.fake_block_taken((void *)(uintptr_t)x, 100));
    CU(launch(function("reads"), 2, 1, NULL, (void *[]){&o, &x, &at}));
    CU(cu.ctx_synchronize());
    at = 25;
    CU(launch(function("reads"), 2, 1, NULL, (void *[]){&o, &x, &at}));
    GIVES(TN__CU_ILLEGAL_ADDRESS, cu.ctx_synchronize());
    REPORTS("kernel 'reads': work item (0, 0, 0) of group (0, 0, 0) reads 4 bytes at byte 100 of argument 'x', which "
            "has 100");
}
#endif

static void limits_hold_at_launch(void)
{
    kit_start();
    tn__cu_ptr o = kit_memory(4);
    GIVES(TN__CU_LAUNCH_OUT_OF_RESOURCES, launch(function("greedy"), 1, 1, NULL, (void *[]){&o}));
    REPORTS("kernel 'greedy': 65536 bytes of local memory (49152 at most)");
    GIVES(TN__CU_INVALID_VALUE, launch(function("sums"), 1, 1025, NULL, (void *[]){&o, &o}));
    REPORTS("a group of 1025 x 1 x 1 work items (1024 at most)");
    const unsigned rest = 49152 - 512; /* what is asked for at launch comes on top of what the kernel has */
    void *args[] = {&o, &o};
    GIVES(TN__CU_INVALID_VALUE, cu.launch_kernel(function("sums"), 1, 1, 1, 32, 1, 1, rest + 1, NULL, args, NULL));
    int bytes = 0;
    CU(cu.func_get_attribute(&bytes, TN__CU_FUNC_SHARED_SIZE_BYTES, function("sums")));
    CHECK(bytes == 512);
    CU(cu.ctx_synchronize()); /* nothing is broken by it */
}

/* Where the order of groups is drawn, a report names another one. */
#define IN_ORDER "TENON_FAKE_GPU_SEED="

static void kernels_run(void **state)
{
    (void)state;
    IN_CHILD(groups_run_on_streams, "TENON_FAKE_GPUS=2");
    IN_CHILD(products_run_on_streams, "TENON_FAKE_GPUS=1");
}

static void wrong_kernels_are_found(void **state)
{
    (void)state;
    IN_CHILD(handles_end_with_their_context, "TENON_FAKE_GPUS=1");
    IN_CHILD(divergence_kills_the_device, "TENON_FAKE_GPUS=2", IN_ORDER);
    IN_CHILD(limits_hold_at_launch, "TENON_FAKE_GPUS=1");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    IN_CHILD(dying_kernels_fail_their_device, "TENON_FAKE_GPUS=1", "TENON_FAKE_CC=");
    IN_CHILD(tensors_end_to_the_byte, "TENON_FAKE_GPUS=1", "TENON_FAKE_CC=", "TENON_FAKE_GPU_RACES=1", IN_ORDER);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_run), cmocka_unit_test(wrong_kernels_are_found)};
    if (kit_open(true) || !compile(text))
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(image);
    return failed;
}
