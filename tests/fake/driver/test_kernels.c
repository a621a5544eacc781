/* Kernels and products through the whole of libtenon_fakegpu: compiled, loaded, launched on streams, and what becomes of a
 * device whose kernel is wrong. */
#include "fake/driver/helpers.h"
#include <dlfcn.h>
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

static bool compile(void)
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
    if (nvrtc.create_program(&p, text, "kernels", 0, NULL, NULL) || nvrtc.compile_program(p, 1, options) ||
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
    IN_CHILD(divergence_kills_the_device, "TENON_FAKE_GPUS=2");
    IN_CHILD(limits_hold_at_launch, "TENON_FAKE_GPUS=1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_run), cmocka_unit_test(wrong_kernels_are_found)};
    if (kit_open(true) || !compile())
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(image);
    return failed;
}
