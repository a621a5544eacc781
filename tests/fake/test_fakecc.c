/* The fake NVRTC and what runs its kernels: launches, barriers, local memory, shuffles, atomics. */
#include "fake/fakecc_kit.h"
#include <math.h>
#include <stdlib.h>

static void plain_kernels_run(void **state)
{
    (void)state;
    fake_module *m = kit_module("KERNEL(add)(GLOBAL const f32 *a, GLOBAL const f32 *b, GLOBAL f32 *o, i64 n)\n"
                                "{\n"
                                "    for (i64 i = GLOBAL_ID(0); i < n; i += GLOBAL_SIZE(0))\n"
                                "        o[i] = a[i] + b[i];\n"
                                "}\n");
    const fake_kernel *k = kit_kernel(m, "add");
    assert_int_equal(k->n_args, 4);
    assert_true(k->arg[0].pointer && k->arg[0].constant && k->arg[0].size == sizeof(void *));
    assert_true(k->arg[2].pointer && !k->arg[2].constant);
    assert_true(!k->arg[3].pointer && k->arg[3].size == 8);
    assert_false(k->barrier);
    enum { N = 1000 };
    float a[N], b[N], o[N];
    const float *pa = a, *pb = b;
    float *po = o;
    int64_t n = N;
    for (int i = 0; i < N; i++) {
        a[i] = (float)i;
        b[i] = 0.5F;
    }
    for (unsigned groups = 1; groups < 10; groups += 4) {
        memset(o, 0, sizeof o);
        KIT_RUN(m, "add", groups, 128, &pa, &pb, &po, &n);
        for (int i = 0; i < N; i++)
            assert_true(o[i] == (float)i + 0.5F);
    }
    assert_null(fake_module_kernel(m, "none"));
    fake_module_unload(m);
}

static void barriers_meet(void **state)
{
    (void)state;
    fake_module *m = kit_module("KERNEL_B(sum)(GLOBAL const f32 *x, GLOBAL f32 *o)\n"
                                "{\n"
                                "    LOCAL_MEM(f32, s, 256);\n"
                                "    const int t = LOCAL_ID(0);\n"
                                "    s[t] = x[GLOBAL_ID(0)];\n"
                                "    BARRIER();\n"
                                "    for (int k = LOCAL_SIZE(0) / 2; k > 0; k /= 2) {\n"
                                "        if (t < k)\n"
                                "            s[t] += s[t + k];\n"
                                "        BARRIER();\n"
                                "    }\n"
                                "    if (t == 0)\n"
                                "        o[GROUP_ID(0)] = s[0];\n"
                                "}\n");
    enum { GROUPS = 7, LOCAL = 256 };
    static float x[GROUPS * LOCAL], o[GROUPS];
    const float *px = x;
    float *po = o;
    for (int i = 0; i < GROUPS * LOCAL; i++)
        x[i] = (float)(i % 13);
    assert_int_equal(kit_kernel(m, "sum")->local_bytes, 1024);
    KIT_RUN(m, "sum", GROUPS, LOCAL, &px, &po);
    assert_string_equal(kit_report, "");
    for (int g = 0; g < GROUPS; g++) {
        float want = 0;
        for (int i = 0; i < LOCAL; i++)
            want += x[g * LOCAL + i];
        assert_true(o[g] == want);
    }
    fake_module_unload(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(plain_kernels_run), cmocka_unit_test(barriers_meet)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
