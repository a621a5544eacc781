/* tests/fake/kernels/own_kernels.h: kernels of the tests' own, through the CUDA backend's driver. */
#ifndef TENON_TESTS_FAKE_KERNELS_OWN_KERNELS_H
#define TENON_TESTS_FAKE_KERNELS_OWN_KERNELS_H

#include "fake/own_process.h"
#include "backend/cuda/cuda.h"
#include "core/alloc.h"

/* set: p[i] = value. fault: says that index 7 of 3 was met in operation 'op'. */
static const char kit_text[] = "KERNEL(set)(GLOBAL i32 *p, i32 value, i64 n)\n"
                               "{\n"
                               "    for (i64 i = GLOBAL_ID(0); i < n; i += GLOBAL_SIZE(0))\n"
                               "        p[i] = value;\n"
                               "}\n"
                               "KERNEL(fault)(GLOBAL u64 *word, u64 op)\n"
                               "{\n"
                               "    word[1] = 7; word[2] = 3; word[0] = op + 1;\n"
                               "}\n";

/* A kernel of that text, loaded; compiled anew each time. */
static inline void *kit_function(tn_device d, const char *name)
{
    void *binary, *module, *function;
    size_t size;
    OK(tn__cuda_driver.compile(d, kit_text, "kit", &binary, &size));
    OK(tn__cuda_driver.load(d, binary, size, &module));
    tn__block_put(binary, size);
    OK(tn__cuda_driver.function(d, module, name, &function));
    return function;
}

static inline tn_status kit_set(tn_device d, void *function, void *p, int32_t value, int64_t n, const char *label)
{
    const tn__gpu_arg args[] = {TN__GPU_MEMORY(p), TN__GPU_VALUE(value), TN__GPU_VALUE(n)};
    const tn__gpu_launch l = {
        .device = d, .groups = {4}, .local = {64}, .arg = args, .n_arg = TN_COUNT(args), .label = label};
    return tn__gpu_launch_function(&l, function);
}

static inline tn_status kit_fault(tn_device d, void *function, uint64_t op)
{
    void *words = tn__gpu_fault_words(d);
    const tn__gpu_arg args[] = {TN__GPU_MEMORY(words), TN__GPU_VALUE(op)};
    const tn__gpu_launch l = {.device = d, .arg = args, .n_arg = TN_COUNT(args), .label = "fault"};
    return tn__gpu_launch_function(&l, function);
}

#endif
