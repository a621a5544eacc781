/* tests/own_kernels.h: kernels of a program's own, for suites that compile every unit. */
#ifndef TENON_TESTS_OWN_KERNELS_H
#define TENON_TESTS_OWN_KERNELS_H

#include <tenon/library.h>

/* The family of a program's own kernels has those that the program registers. */
static inline bool register_own(void)
{
    static const tn_op_def gated = {.struct_size = sizeof gated,
                                    .name = "test::gated",
                                    .inputs = 2,
                                    .kernel =
                                        "KERNEL(gated)(GLOBAL ST *out, GLOBAL const ST *a, GLOBAL const ST *b, i64 n)\n"
                                        "{\n"
                                        "    for (i64 i = GLOBAL_ID(0); i < n; i += GLOBAL_SIZE(0)) {\n"
                                        "        const T x = LD(a[i]);\n"
                                        "        out[i] = SV(x / (K(1) + m_exp(-x)) * LD(b[i]));\n"
                                        "    }\n"
                                        "}\n"};
    static const tn_op_def totals = {
        .struct_size = sizeof totals,
        .name = "test::totals",
        .inputs = 1,
        .params = "fi",
        .items = TN_OP_ROWS,
        .kernel = "KERNEL_B(totals)(GLOBAL OT *out, GLOBAL const ST *x, i64 rows, i64 width, double scale, i64 times)\n"
                  "{\n"
                  "    LOCAL_MEM(T, part, 128);\n"
                  "    for (i64 r = GROUP_ID(0); r < rows; r += NUM_GROUPS(0)) {\n"
                  "        part[LOCAL_ID(0)] = K(0);\n"
                  "        for (i64 i = LOCAL_ID(0); i < width; i += LOCAL_SIZE(0))\n"
                  "            part[LOCAL_ID(0)] += LD(x[r * width + i]);\n"
                  "        BARRIER();\n"
                  "        for (i64 i = LOCAL_ID(0); i < width; i += LOCAL_SIZE(0))\n"
                  "            out[r * width + i] = SVO(part[i % LOCAL_SIZE(0)] * (T)scale * (T)times);\n"
                  "        BARRIER();\n"
                  "    }\n"
                  "}\n"};
    return tn_op_register(&gated) && tn_op_register(&totals);
}

#endif
