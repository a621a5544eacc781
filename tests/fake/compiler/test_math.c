/* Numbers of the host dialect: float16 conversions over every value and every point where rounding turns, saturation, bits,
 * functions chosen by type. */
#include "fake/compiler/helpers.h"
#include <math.h>
#include <stdlib.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

static double half_value(unsigned h)
{
    const int e = (int)(h >> 10 & 31);
    const double m = (double)(h & 0x3ff);
    const double v = e == 0    ? ldexp(m, -24)
                     : e == 31 ? (m != 0 ? (double)NAN : (double)INFINITY)
                               : ldexp(m + 1024, e - 25);
    return h & 0x8000 ? -v : v;
}

static fake_module *conversions(void)
{
    return kit_module("KERNEL(widen)(GLOBAL const u16 *a, GLOBAL f32 *o, i64 n)\n"
                      "{\n"
                      "    for (i64 i = GLOBAL_ID(0); i < n; i += GLOBAL_SIZE(0))\n"
                      "        o[i] = half_f32(a[i]);\n"
                      "}\n"
                      "KERNEL(narrow)(GLOBAL const f32 *a, GLOBAL u16 *o, i64 n)\n"
                      "{\n"
                      "    for (i64 i = GLOBAL_ID(0); i < n; i += GLOBAL_SIZE(0))\n"
                      "        o[i] = f32_half(a[i]);\n"
                      "}\n");
}

static void every_half_is_exact(void **state)
{
    (void)state;
    fake_module *m = conversions();
    static uint16_t h[65536], back[65536];
    static float f[65536];
    const uint16_t *ph = h;
    const float *in = f;
    float *pf = f;
    uint16_t *pb = back;
    int64_t n = 65536;
    for (int i = 0; i < 65536; i++)
        h[i] = (uint16_t)i;
    KIT_RUN(m, "widen", 16, 256, &ph, &pf, &n);
    KIT_RUN(m, "narrow", 16, 256, &in, &pb, &n);
    for (unsigned i = 0; i < 65536; i++) {
        const double want = half_value(i);
        if (isnan(want)) {
            assert_true(isnan(f[i]));
            assert_int_equal(back[i], i | 0x200); /* quiet */
        } else {
            assert_true((double)f[i] == want && !signbit(f[i]) == !(i & 0x8000));
            assert_int_equal(back[i], i);
        }
    }
    fake_module_unload(m);
}

/* Between two neighbours the middle goes to the even one; the floats beside it go each to its side. */
static void halves_round_to_nearest_even(void **state)
{
    (void)state;
    fake_module *m = conversions();
    enum { N = 0x7c00 };
    static float f[2][N * 3];
    static uint16_t h[2][N * 3];
    for (unsigned i = 0; i < N; i++) {
        const double low = half_value(i), high = i + 1 < N ? half_value(i + 1) : 65536;
        const float middle = (float)((low + high) / 2); /* exact */
        f[0][3 * i] = nextafterf(middle, 0);
        f[0][3 * i + 1] = middle;
        f[0][3 * i + 2] = nextafterf(middle, INFINITY);
    }
    for (int i = 0; i < N * 3; i++)
        f[1][i] = -f[0][i];
    const float *in = f[0];
    uint16_t *out = h[0];
    int64_t n = (int64_t)N * 6;
    KIT_RUN(m, "narrow", 64, 256, &in, &out, &n);
    for (unsigned s = 0; s < 2; s++)
        for (unsigned i = 0; i < N; i++) {
            assert_int_equal(h[s][3 * i], i | s << 15);
            assert_int_equal(h[s][3 * i + 1], (i + (i & 1)) | s << 15);
            assert_int_equal(h[s][3 * i + 2], (i + 1) | s << 15);
        }
    static const struct {
        float f;
        uint16_t h;
    } ends[] = {{65536.0F, 0x7c00}, {3.4e38F, 0x7c00},  {-INFINITY, 0xfc00}, {1e-40F, 0},
                {-1e-40F, 0x8000},  {2.9802322e-8F, 0}, {2.9802326e-8F, 1}};
    for (size_t i = 0; i < COUNT(ends); i++) {
        const float *at = &ends[i].f;
        out = h[0];
        n = 1;
        KIT_RUN(m, "narrow", 1, 1, &at, &out, &n);
        assert_int_equal(h[0][0], ends[i].h);
    }
    fake_module_unload(m);
}

static void floats_saturate(void **state)
{
    (void)state;
    fake_module *m = kit_module("KERNEL(convert)(double d, f32 f, GLOBAL i32 *a, GLOBAL i64 *b)\n"
                                "{\n"
                                "    a[0] = SATURATE_I32(d);\n"
                                "    a[1] = SATURATE_I32(f);\n"
                                "    b[0] = SATURATE_I64(d);\n"
                                "    b[1] = SATURATE_I64(f);\n"
                                "}\n");
    static const struct {
        double d;
        int32_t a;
        int64_t b;
    } cases[] = {{1.9, 1, 1},
                 {-1.9, -1, -1},
                 {(double)NAN, 0, 0},
                 {(double)INFINITY, INT32_MAX, INT64_MAX},
                 {-(double)INFINITY, INT32_MIN, INT64_MIN},
                 {1e10, INT32_MAX, 10000000000},
                 {-1e10, INT32_MIN, -10000000000},
                 {9223372036854775808.0, INT32_MAX, INT64_MAX},
                 {-9223372036854775808.0, INT32_MIN, INT64_MIN},
                 {2147483648.0, INT32_MAX, 2147483648},
                 {-2147483648.0, INT32_MIN, -2147483648}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        double d = cases[i].d;
        float f = (float)d;
        int32_t a[2], *pa = a;
        int64_t b[2], *pb = b;
        KIT_RUN(m, "convert", 1, 1, &d, &f, &pa, &pb);
        assert_int_equal(a[0], cases[i].a);
        assert_int_equal(a[1], cases[i].a);
        assert_true(b[0] == cases[i].b && b[1] == cases[i].b);
    }
    fake_module_unload(m);
}

/* A call with a float is the float function: its result has 24 bits. */
static void functions_follow_the_type(void **state)
{
    (void)state;
#define ONE(X) \
    X(exp) X(log) X(sqrt) X(sin) X(cos) X(tanh) X(erf) X(lgamma) X(cbrt) X(expm1) X(log1p) X(exp2) X(atan) X(floor)
#define TWO(X) X(pow) X(atan2) X(fmod) X(hypot) X(copysign) X(nextafter) X(fmin) X(fmax)
    static const char text[] =
#define X(f) "    d[n] = " #f "(x); f[n] = " #f "((f32)x); same &= sizeof(" #f "((f32)x)) == 4; n++;\n"
        "KERNEL(one)(double x, double y, GLOBAL double *d, GLOBAL double *f)\n{\n    int n = 0, same = 1;\n" ONE(X)
#undef X
#define X(f) "    d[n] = " #f "(x, y); f[n] = " #f "((f32)x, (f32)y); n++;\n"
            TWO(X) "    d[n] = FMA(x, y, -x * y);\n    f[n] = FMA((f32)x, (f32)y, -((f32)x * (f32)y));\n"
                   "    d[n + 1] = same && AS_U64(AS_F64(12345ull)) == 12345ull && AS_U32(AS_F32(77u)) == 77u;\n"
                   "    f[n + 1] = MULHI_U32(0xffffffffu, 0xfffffffeu) == 0xfffffffdu && INFINITY > 1e38f && NAN != "
                   "NAN;\n"
                   "}\n";
#undef X
    fake_module *m = kit_module(text);
    double x = 0.7, y = 1.3, d[64], f[64], *pd = d, *pf = f;
    KIT_RUN(m, "one", 1, 1, &x, &y, &pd, &pf);
    int n = 0;
    const float xf = (float)x, yf = (float)y;
#define X(name) \
    assert_true(d[n] == name(x)); \
    assert_true(f[n] == (double)name##f(xf)); \
    n++;
    ONE(X)
#undef X
#define X(name) \
    assert_true(d[n] == name(x, y)); \
    assert_true(f[n] == (double)name##f(xf, yf)); \
    n++;
    TWO(X)
#undef X
    const float product = xf * yf; /* fused: what rounding left */
    assert_true(f[n] == (double)xf * (double)yf - (double)product);
    assert_true(d[n] == fma(x, y, -x * y));
    assert_true(d[n + 1] == 1 && f[n + 1] == 1);
    fake_module_unload(m);
}

/* No contraction, no shortcuts: the same bits as everywhere. */
static void arithmetic_is_ieee(void **state)
{
    (void)state;
    fake_module *m = kit_module("KERNEL(f)(f32 a, f32 b, f32 c, i32 i, GLOBAL f32 *o, GLOBAL i32 *w)\n"
                                "{\n"
                                "    o[0] = a * b + c;\n"
                                "    o[1] = a / b;\n"
                                "    o[2] = sqrt(a);\n"
                                "    w[0] = i + 1 < i;\n"
                                "    w[1] = i + 1;\n"
                                "}\n");
    float a = 1.0F + 0x1p-12F, b = 1.0F + 0x1p-12F, c = -1.0F, o[3], *po = o;
    int32_t i = INT32_MAX, w[2], *pw = w;
    KIT_RUN(m, "f", 1, 1, &a, &b, &c, &i, &po, &pw);
    volatile float product = a * b;
    assert_true(o[0] == product + c);
    assert_true(o[1] == a / b && o[2] == sqrtf(a));
    assert_int_equal(w[1], INT32_MIN); /* integers wrap around */
    assert_int_equal(w[0], 1);
    fake_module_unload(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_half_is_exact), cmocka_unit_test(halves_round_to_nearest_even),
        cmocka_unit_test(floats_saturate),     cmocka_unit_test(functions_follow_the_type),
        cmocka_unit_test(arithmetic_is_ieee),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
