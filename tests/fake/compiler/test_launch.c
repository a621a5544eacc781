/* What runs the fake GPUs' kernels: launches, barriers, local memory, shuffles, atomics. */
#include "fake/compiler/helpers.h"
#include <math.h>
#include <stdlib.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- plain kernels ---- */

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

/* Every work item of every group, in three dimensions, is there once and knows where it is. */
static void ids_count_in_three_dimensions(void **state)
{
    (void)state;
    static const char *const kinds[] = {"KERNEL", "KERNEL_B"};
    for (size_t kind = 0; kind < 2; kind++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "DEVICE i64 where(int d) { return GLOBAL_ID(d) + 100 * GLOBAL_SIZE(d); }\n"
                 "%s(ids)(GLOBAL i32 *seen, GLOBAL i64 *w)\n"
                 "{\n"
                 "    i64 g = (GROUP_ID(2) * NUM_GROUPS(1) + GROUP_ID(1)) * NUM_GROUPS(0) + GROUP_ID(0);\n"
                 "    i64 l = (LOCAL_ID(2) * LOCAL_SIZE(1) + LOCAL_ID(1)) * LOCAL_SIZE(0) + LOCAL_ID(0);\n"
                 "    g = g * LOCAL_SIZE(0) * LOCAL_SIZE(1) * LOCAL_SIZE(2) + l;\n"
                 "    seen[g]++;\n"
                 "    for (int d = 0; d < 3; d++)\n"
                 "        w[3 * g + d] = where(d);\n"
                 "}\n",
                 kinds[kind]);
        fake_module *m = kit_module(text);
        const unsigned groups[3] = {3, 2, 5}, local[3] = {7, 4, 2};
        enum { ITEMS = 3 * 2 * 5 * 7 * 4 * 2 };
        static int32_t seen[ITEMS];
        static int64_t where[3 * ITEMS];
        int32_t *ps = seen;
        int64_t *pw = where, sum[3] = {0};
        memset(seen, 0, sizeof seen);
        fake_kernel_run(kit_kernel(m, "ids"), groups, local, (void *[]){&ps, &pw}, NULL);
        for (int i = 0; i < ITEMS; i++) {
            assert_int_equal(seen[i], 1);
            for (int d = 0; d < 3; d++)
                sum[d] += where[3 * i + d];
        }
        for (int d = 0; d < 3; d++) {
            const int64_t n = groups[d] * local[d];
            assert_int_equal(sum[d], ITEMS * 100 * n + ITEMS / n * (n * (n - 1) / 2));
        }
        fake_module_unload(m);
    }
}

static void signatures_are_read(void **state)
{
    (void)state;
    fake_module *m = kit_module("#define TYPE(x) GLOBAL const x *RESTRICT\n"
                                "#ifdef NOT_DEFINED\n"
                                "KERNEL(left_out)(i32 x) {}\n"
                                "#endif\n"
                                "typedef struct { i32 n; i64 stride[3]; } Strides;\n"
                                "/* KERNEL(in_a_comment)(i32 x) */\n"
                                "CONST_TABLE u8 table[] = {'\"', '}', ')', 1};\n"
                                "static const char *const text = \"KERNEL(in_a_string)(i32 x) { }\";\n"
                                "KERNEL(one)(TYPE(f32) a,\n"
                                "            GLOBAL u16\n"
                                "                *b, Strides s, struct tn_items by_value,\n"
                                "            u8 c, double d, i32 const *const e)\n"
                                "{\n"
                                "    b[0] = (u16)(s.stride[2] + s.n + c + (i64)d + table[3]);\n"
                                "    if (text[0] == ')') { b[0] = '}'; }\n"
                                "}\n"
                                "KERNEL(none)(void) {}\n"
                                "KERNEL_B(empty)() {}\n");
    const fake_kernel *k = kit_kernel(m, "one");
    static const struct {
        size_t size;
        bool pointer, constant;
    } want[] = {{8, true, true},   {8, true, false},  {32, false, false}, {0, false, false},
                {1, false, false}, {8, false, false}, {8, true, true}};
    assert_int_equal(k->n_args, COUNT(want));
    for (size_t i = 0; i < COUNT(want); i++) {
        assert_int_equal(k->arg[i].pointer, want[i].pointer);
        assert_int_equal(k->arg[i].constant, want[i].constant);
        assert_true(want[i].size == 0 || k->arg[i].size == want[i].size);
    }
    assert_true(k->arg[3].size > 64);
    assert_int_equal(kit_kernel(m, "none")->n_args, 0);
    assert_true(kit_kernel(m, "empty")->barrier);
    assert_null(fake_module_kernel(m, "left_out"));
    assert_null(fake_module_kernel(m, "in_a_string"));
    struct {
        int32_t n;
        int64_t stride[3];
    } s = {5, {0, 0, 20}};
    char items[256] = {0};
    uint16_t b = 0, *pb = &b;
    void *null = NULL;
    uint8_t c = 100;
    double d = 1000;
    KIT_RUN(m, "one", 1, 1, &null, &pb, &s, items, &c, &d, &null);
    assert_int_equal(b, 1126);
    fake_module_unload(m);
}

/* ---- groups ---- */

static void barriers_meet(void **state)
{
    (void)state;
    fake_module *m = kit_module("DEVICE void halve(LOCAL f32 *s, int k)\n"
                                "{\n"
                                "    if (LOCAL_ID(0) < k)\n"
                                "        s[LOCAL_ID(0)] += s[LOCAL_ID(0) + k];\n"
                                "    BARRIER();\n"
                                "}\n"
                                "KERNEL_B(sum)(GLOBAL const f32 *x, GLOBAL f32 *o)\n"
                                "{\n"
                                "    LOCAL_MEM(f32, s, 256);\n"
                                "    const int t = LOCAL_ID(0);\n"
                                "    s[t] = x[GLOBAL_ID(0)];\n"
                                "    BARRIER();\n"
                                "    for (int k = LOCAL_SIZE(0) / 2; k > 0; k /= 2)\n"
                                "        halve(s, k);\n"
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
    assert_string_equal(kit_report(), "");
    for (int g = 0; g < GROUPS; g++) {
        float want = 0;
        for (int i = 0; i < LOCAL; i++)
            want += x[g * LOCAL + i];
        assert_true(o[g] == want);
    }
    fake_module_unload(m);
}

/* Items keep their own variables across barriers, in groups of every size up to the greatest. */
static void large_groups_run(void **state)
{
    (void)state;
    fake_module *m =
        kit_module("KERNEL_B(turn)(GLOBAL i32 *o)\n"
                   "{\n"
                   "    LOCAL_MEM(i32, s, 1024);\n"
                   "    const int n = LOCAL_SIZE(0) * LOCAL_SIZE(1) * LOCAL_SIZE(2);\n"
                   "    const int t = (LOCAL_ID(2) * LOCAL_SIZE(1) + LOCAL_ID(1)) * LOCAL_SIZE(0) + LOCAL_ID(0);\n"
                   "    double own = t * 0.5;\n"
                   "    for (int r = 0; r < 3; r++) {\n"
                   "        s[t] = t;\n"
                   "        BARRIER();\n"
                   "        own += s[(t + 1) % n];\n"
                   "        BARRIER();\n"
                   "    }\n"
                   "    o[t + GROUP_ID(0) * n] = (i32)(2 * own);\n"
                   "}\n");
    static const unsigned sizes[][3] = {{1, 1, 1}, {31, 1, 1}, {16, 8, 8}, {1024, 1, 1}, {4, 4, 64}, {2, 3, 1}};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        const int n = (int)(sizes[i][0] * sizes[i][1] * sizes[i][2]);
        const unsigned groups[3] = {2, 1, 1};
        int32_t o[2048], *po = o;
        kit_clear();
        fake_kernel_run(kit_kernel(m, "turn"), groups, sizes[i], (void *[]){&po}, NULL);
        assert_string_equal(kit_report(), "");
        for (int t = 0; t < 2 * n; t++)
            assert_int_equal(o[t], t % n + 6 * ((t % n + 1) % n));
    }
    fake_module_unload(m);
}

static void divergence_is_reported(void **state)
{
    (void)state;
    fake_module *m = kit_module("KERNEL_B(some)(i32 n)\n"
                                "{\n"
                                "    if (LOCAL_ID(0) < n)\n"
                                "        BARRIER();\n"
                                "}\n"
                                "KERNEL_B(sites)(i32 n)\n"
                                "{\n"
                                "    if (LOCAL_ID(0) < n)\n"
                                "        BARRIER();\n"
                                "    else\n"
                                "        BARRIER();\n"
                                "}\n"
                                "KERNEL_B(late)(i32 n)\n"
                                "{\n"
                                "    for (int i = 0; i < 10 + (GROUP_ID(0) == 3 && LOCAL_ID(0) == n); i++)\n"
                                "        BARRIER();\n"
                                "}\n"
                                "KERNEL(stray)(i32 n) { if (n) BARRIER(); }\n"
                                "KERNEL_B(good)(GLOBAL i32 *o) { BARRIER(); ATOMIC_ADD_I32(o, 1); }\n");
    int32_t n = 17, zero = 0, o = 0, *po = &o;
    for (int i = 0; i < 3; i++) { /* and whoever comes next finds all in order */
        KIT_RUN(m, "some", 2, 256, &n);
        assert_int_equal(kit_error, TN__CU_LAUNCH_FAILED);
        assert_non_null(strstr(kit_report(), "divergent barrier in kernel 'some': 17 of 256 work items"));
        KIT_RUN(m, "sites", 2, 256, &n);
        assert_non_null(strstr(kit_report(), "divergent barrier in kernel 'sites'"));
        KIT_RUN(m, "late", 5, 64, &n);
        assert_non_null(
            strstr(kit_report(), "divergent barrier in kernel 'late': 1 of 64 work items of group (3, 0, 0)"));
        o = 0;
        KIT_RUN(m, "good", 5, 300, &po);
        assert_string_equal(kit_report(), "");
        assert_int_equal(o, 1500);
    }
    KIT_RUN(m, "stray", 1, 4, &zero);
    assert_string_equal(kit_report(), "");
    KIT_RUN(m, "stray", 1, 4, &n);
    assert_non_null(strstr(kit_report(), "'stray' reaches a barrier or shuffle: it must be declared KERNEL_B"));
    fake_module_unload(m);
}

static void local_memory_is_fresh_and_fenced(void **state)
{
    (void)state;
    fake_module *m = kit_module("KERNEL_B(fresh)(GLOBAL i32 *o)\n"
                                "{\n"
                                "    LOCAL_MEM(f32, a, 33);\n"
                                "    if (LOCAL_ID(0) == 0 && a[0] != a[0] && a[32] != a[32])\n"
                                "        ATOMIC_ADD_I32(o, 1);\n"
                                "    BARRIER();\n"
                                "    LOCAL_MEM(double, b, 3);\n"
                                "    a[LOCAL_ID(0)] = b[1] != b[1] ? 7 : 8;\n"
                                "    BARRIER();\n"
                                "    if (LOCAL_ID(0) == 0 && a[1] == 7)\n"
                                "        ATOMIC_ADD_I32(o, 1);\n"
                                "}\n"
                                "KERNEL_B(over)(i32 at)\n"
                                "{\n"
                                "    LOCAL_MEM(u8, a, 30);\n"
                                "    LOCAL_MEM(u8, b, 1);\n"
                                "    b[0] = 0;\n"
                                "    a[at] = 1;\n"
                                "}\n");
    int32_t o = 0, *po = &o;
    KIT_RUN(m, "fresh", 5, 2, &po);
    assert_string_equal(kit_report(), "");
    assert_int_equal(o, 10);
    assert_int_equal(kit_kernel(m, "fresh")->local_bytes, 33 * 4 + 3 * 8);
#if !defined(__SANITIZE_ADDRESS__) /* which ends the process there */
    for (int32_t at = -1; at <= 30; at += 1) {
        KIT_RUN(m, "over", 1, 1, &at);
        assert_string_equal(kit_report(), at < 0    ? "kernel 'over' writes before its array 'a' of local memory"
                                          : at < 30 ? ""
                                                    : "kernel 'over' writes behind its array 'a' of local memory");
    }
#endif
    fake_module_unload(m);
}

static void limits_are_checked(void **state)
{
    (void)state;
    fake_module *m = kit_module(
        "KERNEL_B(fits)(GLOBAL f32 *o) { LOCAL_MEM(f32, a, 12 * 1024); a[0] = 1; o[0] = a[0]; }\n"
        "KERNEL_B(big)(GLOBAL f32 *o) { LOCAL_MEM(f32, a, 12 * 1024 + 1); o[0] = a[0]; }\n"
        "KERNEL(plain)(i32 x) {}\n"
        "enum { MOST = 32 };\n"
        "KERNEL_N(most, 2 * (MOST + MOST))(i32 x) {}\n"
        "typedef struct pair { i32 a, b; } pair;\n"
        "KERNEL_BN(most_together, MOST)(GLOBAL i32 *o, FIXED pair p) { BARRIER(); o[LOCAL_ID(0)] = p.a - p.b; }\n");
    char why[256];
    float o = 0, *po = &o;
    int differences[32] = {0}, *at = differences, pair[2] = {7, 4};
    const unsigned half[3] = {32, 2, 2}, more[3] = {43, 3, 1};
    const unsigned one[3] = {1, 1, 1}, large[3] = {1025, 1, 1}, many[3] = {32, 32, 2}, zero[3] = {1, 0, 1};
    const unsigned high[3] = {1, 65536, 1};
    const fake_kernel *k = kit_kernel(m, "plain");
    assert_int_equal(fake_kernel_check(k, one, one, why, sizeof why), TN__CU_SUCCESS);
    assert_int_equal(fake_kernel_check(k, one, large, why, sizeof why), TN__CU_INVALID_VALUE);
    assert_non_null(strstr(why, "1025"));
    assert_int_equal(fake_kernel_check(k, one, many, why, sizeof why), TN__CU_INVALID_VALUE);
    assert_int_equal(fake_kernel_check(k, zero, one, why, sizeof why), TN__CU_INVALID_VALUE);
    assert_int_equal(fake_kernel_check(k, high, one, why, sizeof why), TN__CU_INVALID_VALUE);
    const fake_kernel *most = kit_kernel(m, "most");
    assert_int_equal(fake_kernel_check(most, one, half, why, sizeof why), TN__CU_SUCCESS);
    assert_int_equal(fake_kernel_check(most, one, more, why, sizeof why), TN__CU_INVALID_VALUE);
    assert_string_equal(why, "kernel 'most': a group of 43 x 3 x 1 work items (128 at most)");
    assert_int_equal(most->max_items, 128);
    assert_int_equal(k->max_items, 1024);
    KIT_RUN(m, "most_together", 1, 32, &at, pair);
    assert_int_equal(kit_error, 0);
    assert_int_equal(differences[31], 3);
    KIT_RUN(m, "most_together", 1, 33, &at, pair);
    assert_int_equal(kit_error, TN__CU_INVALID_VALUE);
    kit_clear();
    KIT_RUN(m, "fits", 1, 1, &po);
    assert_int_equal(kit_error, 0);
    assert_true(o == 1);
    KIT_RUN(m, "big", 1, 1, &po);
    assert_int_equal(kit_error, TN__CU_LAUNCH_OUT_OF_RESOURCES);
    assert_non_null(strstr(kit_report(), "kernel 'big': 49156 bytes of local memory (49152 at most)"));
    fake_module_unload(m);
}

/* ---- lanes ---- */

static void shuffles_exchange(void **state)
{
    (void)state;
    fake_module *m = kit_module("KERNEL_B(lanes)(GLOBAL u32 *x, GLOBAL u64 *y, GLOBAL u32 *z)\n"
                                "{\n"
                                "    const int t = LOCAL_ID(1) * LOCAL_SIZE(0) + LOCAL_ID(0);\n"
                                "    u32 v = t;\n"
                                "    for (int k = WARP / 2; k > 0; k /= 2)\n"
                                "        v += SHUFFLE_XOR_U32(v, k);\n"
                                "    x[t] = v;\n"
                                "    y[t] = SHUFFLE_XOR_U64((u64)t << 33 | 1, 3);\n"
                                "    z[t] = SHUFFLE_DOWN_U32(t * 10, 5);\n"
                                "}\n"
                                "KERNEL_B(sum)(GLOBAL const f32 *x, GLOBAL f32 *o)\n"
                                "{\n"
                                "    f32 v = x[GLOBAL_ID(0)];\n"
                                "    for (int k = 16; k > 0; k /= 2)\n"
                                "        v += AS_F32(SHUFFLE_DOWN_U32(AS_U32(v), k));\n"
                                "    if (LOCAL_ID(0) % WARP == 0)\n"
                                "        o[GLOBAL_ID(0) / WARP] = v;\n"
                                "}\n");
    const unsigned groups[3] = {1, 1, 1}, local[3] = {16, 6, 1};
    uint32_t x[96], z[96], *px = x, *pz = z;
    uint64_t y[96], *py = y;
    fake_kernel_run(kit_kernel(m, "lanes"), groups, local, (void *[]){&px, &py, &pz}, NULL);
    for (uint32_t t = 0; t < 96; t++) {
        const uint32_t warp = t / 32 * 32;
        assert_int_equal(x[t], warp * 32 + 31 * 32 / 2);
        assert_true(y[t] == ((uint64_t)(t ^ 3) << 33 | 1));
        assert_int_equal(z[t], t % 32 + 5 < 32 ? (t + 5) * 10 : t * 10);
    }
    float in[256], out[8];
    const float *pi = in;
    float *po = out;
    for (int i = 0; i < 256; i++)
        in[i] = (float)i;
    KIT_RUN(m, "sum", 2, 128, &pi, &po);
    for (int i = 0; i < 8; i++)
        assert_true(out[i] == (float)(i * 32 * 32 + 31 * 16));
    KIT_RUN(m, "lanes", 1, 20, &px, &py, &pz); /* lanes that are not there give no number */
    assert_string_equal(kit_report(), "");
    assert_int_equal(z[19], 0xffffffffu);
    fake_module_unload(m);
}

static void atomics_return_the_old_value(void **state)
{
    (void)state;
    fake_module *m = kit_module("KERNEL(all)(GLOBAL i32 *i, GLOBAL i64 *l, GLOBAL f32 *f, GLOBAL double *d,\n"
                                "            GLOBAL u32 *u, GLOBAL u64 *v, GLOBAL i32 *old)\n"
                                "{\n"
                                "    const int t = (int)GLOBAL_ID(0);\n"
                                "    old[t] = ATOMIC_ADD_I32(&i[0], 2);\n"
                                "    ATOMIC_MAX_I32(&i[1], t);\n"
                                "    ATOMIC_MIN_I32(&i[2], -t);\n"
                                "    ATOMIC_ADD_I64(l, (i64)1 << 40);\n"
                                "    ATOMIC_ADD_F32(f, 0.5f);\n"
                                "    ATOMIC_ADD_F64(d, 0.25);\n"
                                "    if (ATOMIC_CAS_U32(u, 0u, (u32)t + 1) == 0u)\n"
                                "        ATOMIC_CAS_U64(v, 9ull, (u64)t);\n"
                                "}\n");
    int32_t i[3] = {0}, old[200], *pi = i, *po = old;
    int64_t l = 0, *pl = &l;
    float f = 0, *pf = &f;
    double d = 0, *pd = &d;
    uint32_t u = 0, *pu = &u;
    uint64_t v = 9, *pv = &v;
    KIT_RUN(m, "all", 2, 100, &pi, &pl, &pf, &pd, &pu, &pv, &po);
    assert_int_equal(i[0], 400);
    assert_int_equal(i[1], 199);
    assert_int_equal(i[2], -199);
    assert_true(l == (int64_t)200 << 40 && f == 100 && d == 50);
    assert_int_equal(u, 1);
    assert_int_equal(v, 0);
    for (int t = 0; t < 200; t++)
        assert_int_equal(old[t], 2 * t);
    fake_module_unload(m);
}

/* ---- modules ---- */

static void modules_live_side_by_side(void **state)
{
    (void)state;
    enum { N = 12 };
    fake_module *m[N];
    for (int i = 0; i < N; i++) {
        char text[128];
        snprintf(text, sizeof text, "KERNEL(me)(GLOBAL i32 *o) { o[0] = %d; }\n", i);
        m[i] = kit_module(text);
    }
    for (int i = 0; i < N; i++) {
        int32_t o = -1, *po = &o;
        KIT_RUN(m[i], "me", 1, 1, &po);
        assert_int_equal(o, i);
    }
    for (int i = 0; i < N; i++)
        fake_module_unload(m[i]);
}

int main(void)
{
    /* Which item is the first to change a number is asserted; test_strict.c draws the order. */
    unsetenv("TENON_FAKE_GPU_SEED");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_kernels_run),
        cmocka_unit_test(ids_count_in_three_dimensions),
        cmocka_unit_test(signatures_are_read),
        cmocka_unit_test(barriers_meet),
        cmocka_unit_test(large_groups_run),
        cmocka_unit_test(divergence_is_reported),
        cmocka_unit_test(local_memory_is_fresh_and_fenced),
        cmocka_unit_test(limits_are_checked),
        cmocka_unit_test(shuffles_exchange),
        cmocka_unit_test(atomics_return_the_old_value),
        cmocka_unit_test(modules_live_side_by_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
