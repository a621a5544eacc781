/* ops/elementwise/cpu_loops.inc.h: what stands in the table in place of rows' own loops. */

#if TN_IS_FLOAT

/* Powers by one number p throughout, a usual one. (-inf)^0.5 is inf and (-0)^0.5 is 0, as C has it. True: it was one. */
#define USUAL_POWERS \
    POWER(two, 2, a *a) \
    POWER(three, 3, a *a *a) \
    POWER(one, 1, a) \
    POWER(half, 0.5, M(sqrt)(NO_LESS_INFINITY + K(0))) \
    POWER(less_half, -0.5, K(1) / M(sqrt)(NO_LESS_INFINITY + K(0))) \
    POWER(less_one, -1, K(1) / a) \
    POWER(less_two, -2, a *a > K(1e-37) && a * a < K(1e38) ? K(1) / (a * a) : (K(1) / a) * (K(1) / a))
#define POWER(name, number, value) \
    if (p == K(number)) { \
        for (int64_t i = 0; i < n; i++) { \
            const T a = x[i]; \
            o[i] = value; \
        } \
        return true; \
    }

#define NO_LESS_INFINITY (a == -(T)INFINITY ? (T)INFINITY : a)
static __attribute__((noinline)) bool E(usual_pow)(T *o, const T *x, T p, int64_t n)
{
    USUAL_POWERS
    return false;
}
#undef POWER
#undef NO_LESS_INFINITY

static __attribute__((noinline)) void E(row_usual_pow)(void *out, const void *a, const void *b, const void *c,
                                                       int64_t n)
{
    if (!c || !E(usual_pow)(out, a, *(const T *)b, n)) /* n > 0 */
        E(row_pow)(out, a, b, c, n);
}

/* By one number throughout, whose address is given. */
static void E(power_by)(void *out, const void *a, const void *b, const void *c, int64_t n)
{
    enum { MANY = 256 };
    T same[MANY];
    if (E(usual_pow)(out, a, *(const T *)b, n))
        return;
    (void)c;
    for (int64_t i = 0; i < MANY && i < n; i++)
        same[i] = *(const T *)b;
    for (int64_t i = 0; i < n; i += MANY)
        E(row_usual_pow)((T *)out + i, (const T *)a + i, same, NULL, n - i < MANY ? n - i : MANY);
}

/* a c b^(c - 1), where c is one number throughout as fast as that power; n > 0 */
static void E(row_usual_pow_backward)(void *out, const void *a_, const void *b_, const void *c_, int64_t n)
{
    enum { MANY = 256 };
    T power[MANY], less[MANY], *o = out;
    const T *g = a_, *b = b_, *c = c_;
    if (memcmp(c, c + 1, (size_t)(n - 1) * sizeof *c)) {
        E(row__pow_backward)(out, a_, b_, c_, n);
        return;
    }
    for (int64_t i = 0; i < n; i += MANY) {
        const int64_t m = n - i < MANY ? n - i : MANY;
        for (int64_t k = 0; k < m; k++)
            less[k] = c[i + k] - K(1);
        E(row_usual_pow)(power, b + i, less, less, m);
        for (int64_t k = 0; k < m; k++)
            less[k] = c[i + k] == K(0) ? K(0) : g[i + k] * (c[i + k] * power[k]);
        memcpy(o + i, less, (size_t)m * sizeof *o);
    }
}
#if TN_IS_F32
static void row_usual_narrow_pow(void *out, const void *a, const void *b, const void *c, int64_t n)
{
    if (!c || !usual_pow_f32(out, a, *(const float *)b, n))
        row_narrow_pow_f32(out, a, b, c, n);
}

#define TN_ONCE
#define TN_A                       bf16_f32(pa[i])
#define TN_B(p)                    0.0F
#define TN_C(p)                    0.0F
#define NO_LESS_INFINITY           bf16_f32(pa[i] == 0xff80 ? 0x7f80 : pa[i]) /* compared in vectors of 16 bits */
#define POWER(name, number, value) BFLOAT_ROW(power_##name, value, 2, 0, 0)
USUAL_POWERS
#undef POWER
#undef NO_LESS_INFINITY
#undef TN_ONCE
#undef TN_A
#undef TN_B
#undef TN_C

static void bfloat_usual_pow(void *out, const void *a, const void *b_, const void *c, int64_t n)
{
    enum { MANY = 256 };
    const float *b = b_;
#define POWER(name, number, value) \
    if (c && b[0] == K(number)) { \
        bfloat_power_##name(out, a, NULL, NULL, n); \
        return; \
    }
    USUAL_POWERS
#undef POWER
    for (int64_t i = 0; i < n; i += MANY) {
        float some[MANY], of[MANY];
        const int64_t m = n - i < MANY ? n - i : MANY;
        load_bf16_f32(of, (const uint16_t *)a + i, 1, m);
        row_narrow_pow_f32(some, of, b + i, NULL, m);
        floats_to_bfloats((uint16_t *)out + i, 1, some, m);
    }
}
#define row_narrow_pow_f32    row_usual_narrow_pow
#define row_pow_f32           row_usual_pow_f32
#define row__pow_backward_f32 row_usual_pow_backward_f32
#else
#define row_pow_f64           row_usual_pow_f64
#define row__pow_backward_f64 row_usual_pow_backward_f64
#endif
#undef USUAL_POWERS

#endif

#if TN_IS_FLOAT

/* Angles too large for the vectorised reduction go to libm. */
#if TN_IS_F32
#define FAR_ANGLE TRIG_LIMIT
#else
#define FAR_ANGLE TRIG_LIMIT_F64
#endif
#define CHECKED_TRIG(name, libm) \
    static void E(row_checked_##name)(void *out, const void *a, const void *b, const void *c, int64_t n) \
    { \
        T *o = out, in[256]; \
        const T *x = a; \
        for (int64_t i = 0; i < n; i += 256) { \
            int64_t m = n - i < 256 ? n - i : 256; \
            memcpy(in, x + i, (size_t)m * sizeof *in); /* in place, the row would overwrite its operand */ \
            E(row_##name)(o + i, in, b, c, m); \
            int32_t far = 0; \
            for (int64_t j = 0; j < m; j++) \
                far |= !(M(fabs)(in[j]) < FAR_ANGLE); \
            for (int64_t j = 0; far && j < m; j++) \
                if (!(M(fabs)(in[j]) < FAR_ANGLE)) \
                    o[i + j] = libm(in[j]); \
        } \
    }
static T E(far_j0)(T x)
{
    return M(fabs)(x) == TN_INFINITY ? K(0) : (T)(sin((double)x) / (double)x);
}

#if TN_IS_F32
CHECKED_TRIG(sin, sinf)
CHECKED_TRIG(cos, cosf)
CHECKED_TRIG(tan, tanf)
CHECKED_TRIG(spherical_bessel_j0, far_j0_f32)
#define row_sin_f32                 row_checked_sin_f32
#define row_cos_f32                 row_checked_cos_f32
#define row_tan_f32                 row_checked_tan_f32
#define row_spherical_bessel_j0_f32 row_checked_spherical_bessel_j0_f32
#else
CHECKED_TRIG(sin, sin)
CHECKED_TRIG(cos, cos)
CHECKED_TRIG(tan, tan)
CHECKED_TRIG(spherical_bessel_j0, far_j0_f64)
#define row_sin_f64                 row_checked_sin_f64
#define row_cos_f64                 row_checked_cos_f64
#define row_tan_f64                 row_checked_tan_f64
#define row_spherical_bessel_j0_f64 row_checked_spherical_bessel_j0_f64
#endif
#undef CHECKED_TRIG

#endif

#if TN_IS_FLOAT

/* Of two operands: where 'size' is not below the limit the exact value, for quotients that are too large for the vectorised
 * remainder, and for angles whose slope is wanted. */
#if TN_IS_F32
#define FAR_QUOTIENT FMOD_LIMIT
#define LARGE        fmodf(in[j], by[j])
#define FAR_SIN      sinf
#define FAR_COS      cosf
#else
#define FAR_QUOTIENT FMOD_LIMIT_F64
#define LARGE        fmod(in[j], by[j])
#define FAR_SIN      sin
#define FAR_COS      cos
#endif
#define CHECKED_PAIR(name, size, limit, exact) \
    static void E(row_checked_##name)(void *out, const void *a, const void *b, const void *c, int64_t n) \
    { \
        T *o = out, in[256], by[256]; \
        const T *x = a, *y = b; \
        for (int64_t i = 0; i < n; i += 256) { \
            const int64_t m = n - i < 256 ? n - i : 256; \
            int32_t large = 0; \
            memcpy(in, x + i, (size_t)m * sizeof *in); /* in place, the row would overwrite its operands */ \
            memcpy(by, y + i, (size_t)m * sizeof *by); \
            E(row_##name)(o + i, in, by, c, m); \
            for (int64_t j = 0; j < m; j++) \
                large |= !(M(fabs)(size) < limit); \
            for (int64_t j = 0; large && j < m; j++) \
                if (!(M(fabs)(size) < limit)) \
                    o[i + j] = exact; \
        } \
    }
CHECKED_PAIR(fmod, in[j] / by[j], FAR_QUOTIENT, LARGE)
CHECKED_PAIR(remainder, in[j] / by[j], FAR_QUOTIENT, E(tn_remainder_of)(by[j], LARGE))
CHECKED_PAIR(div_floor, in[j] / by[j], FAR_QUOTIENT, E(tn_div_floor_of)(in[j], by[j], LARGE))
CHECKED_PAIR(floor_divide, in[j] / by[j], FAR_QUOTIENT, E(tn_div_floor_of)(in[j], by[j], LARGE))
CHECKED_PAIR(_sin_backward, by[j], FAR_ANGLE, in[j] * FAR_COS(by[j]))
CHECKED_PAIR(_cos_backward, by[j], FAR_ANGLE, -(in[j] * FAR_SIN(by[j])))
#undef FAR_SIN
#undef FAR_COS
#undef LARGE
#undef FAR_QUOTIENT
#undef FAR_ANGLE
#undef CHECKED_PAIR
#if TN_IS_F32
#define row_fmod_f32          row_checked_fmod_f32
#define row_remainder_f32     row_checked_remainder_f32
#define row_div_floor_f32     row_checked_div_floor_f32
#define row_floor_divide_f32  row_checked_floor_divide_f32
#define row__sin_backward_f32 row_checked__sin_backward_f32
#define row__cos_backward_f32 row_checked__cos_backward_f32
#else
#define row_fmod_f64          row_checked_fmod_f64
#define row_remainder_f64     row_checked_remainder_f64
#define row_div_floor_f64     row_checked_div_floor_f64
#define row_floor_divide_f64  row_checked_floor_divide_f64
#define row__sin_backward_f64 row_checked__sin_backward_f64
#define row__cos_backward_f64 row_checked__cos_backward_f64
#endif

#endif

#if TN_IS_FLOAT

/* Mostly all are finite, and stay as they are: in place they are what they were, even where some are not. */
static void E(row_checked_nan_to_num)(void *out, const void *a_, const void *b, const void *c, int64_t n)
{
    enum { MANY = 256 };
    T *o = out;
    const T *a = a_;
    for (int64_t i = 0, m; i < n; i += m) {
        int32_t far = 0;
        m = n - i < MANY ? n - i : MANY;
        TN_IVDEP
        for (int64_t k = i; k < i + m; k++) {
            const T v = a[k];
            far |= !(M(fabs)(v) < TN_INFINITY);
            o[k] = v;
        }
        if (far)
            E(row_bc__nan_to_num)(o + i, a + i, b, c, m);
    }
}
#if TN_IS_F32
#define row_bc__nan_to_num_f32 row_checked_nan_to_num_f32
#else
#define row_bc__nan_to_num_f64 row_checked_nan_to_num_f64
#endif

#endif

#if TN_IS_F32

/* The same of 16 bits. */
static void bfloat_checked_nan_to_num(void *out, const void *a_, const void *b_, const void *c_, int64_t n)
{
    enum { MANY = 64 };
    uint16_t *o = out;
    const uint16_t *a = a_;
    const float *b = b_, *c = c_;
    int64_t i = 0;
    for (; i + MANY <= n; i += MANY) {
        uint16_t most = 0;
        for (int k = 0; k < MANY; k++) {
            const uint16_t size = a[i + k] & 0x7fff;
            most = size > most ? size : most;
        }
        if (most >= 0x7f80)
            bfloat__nan_to_num(o + i, a + i, b + i, c + i, MANY);
        else
            memmove(o + i, a + i, MANY * sizeof *o);
    }
    bfloat__nan_to_num(o + i, a + i, b + i, c + i, n - i);
}
#define bfloat__nan_to_num bfloat_checked_nan_to_num

/* ---- 16-bit floats as they are: the sign bit alone, and copies ---- */

#define SIGN_ROW(name, expr) \
    static void half_##name(void *out, const void *a_, const void *b_, const void *c, int64_t n) \
    { \
        uint16_t *o = out; \
        const uint16_t *a = a_, *b = b_; \
        (void)b, (void)c; \
        for (int64_t i = 0; i < n; i++) \
            o[i] = (uint16_t)(expr); \
    }
SIGN_ROW(neg, a[i] ^ 0x8000)
SIGN_ROW(abs, a[i] & 0x7fff)
SIGN_ROW(copysign, (a[i] & 0x7fff) | (b[i] & 0x8000))
#undef SIGN_ROW

/* What the condition, bytes, chooses. */
static void half_where(void *out, const void *a_, const void *b_, const void *c_, int64_t n)
{
    uint16_t *o = out;
    const uint8_t *a = a_;
    const uint16_t *b = b_, *c = c_;
    for (int64_t i = 0; i < n; i++) {
        const uint16_t yes = b[i], no = c[i];
        o[i] = (uint16_t)(no ^ ((yes ^ no) & -(a[i] != 0)));
    }
}
#define HALF_LOOPS \
    [TN__OP_neg] = half_neg, [TN__OP_abs] = half_abs, [TN__OP_copysign] = half_copysign, [TN__OP_where] = half_where
#define NUMBER_LOOPS {1, TN__OP_pow, {power_by_f32, power_by_f64}},
#define BFLOAT_LOOPS [TN__OP_pow] = {bfloat_usual_pow}

#endif

/* Integers that are no larger than doubles hold exactly, with room to spare, are divided as doubles: a quotient that is rounded
 * to a whole number is at most one off, and the rest says where. Processors divide one pair of integers at a time. */
#if defined(TN_IS_I64)
static bool are_near(const int64_t *a, const int64_t *b, int64_t n)
{
    uint64_t far = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t x = (uint64_t)a[i] + (UINT64_C(1) << 51), y = (uint64_t)b[i] + (UINT64_C(1) << 51);
        far |= (x | y) >> 52 | (b[i] == 0);
    }
    return far == 0;
}

#define QUOTIENT(name, value) \
    static void row_near_##name(void *out, const void *a_, const void *b_, const void *c, int64_t n) \
    { \
        enum { MANY = 64 }; \
        int64_t *o = out; \
        const int64_t *pa = a_, *pb = b_; \
        for (int64_t i = 0, m; i < n; i += m) { \
            m = n - i < MANY ? n - i : MANY; \
            if (!are_near(pa + i, pb + i, m)) { \
                row_##name##_i64(o + i, pa + i, pb + i, c, m); \
                continue; \
            } \
            for (int64_t k = i; k < i + m; k++) { \
                const double a = whole_f64(pa[k]), b = whole_f64(pb[k]); \
                const double q = (a / b + ROUNDER_F64) - ROUNDER_F64, r = a - q * b; \
                o[k] = f64_whole(value); \
            } \
        } \
    }

#define LOWER  (r != 0.0) & ((r < 0.0) != (b < 0.0))
#define BEYOND (r != 0.0) & ((r < 0.0) != (a < 0.0))
QUOTIENT(div_floor, (LOWER) ? q - 1.0 : q)
QUOTIENT(floor_divide, (LOWER) ? q - 1.0 : q)
QUOTIENT(remainder, (LOWER) ? r + b : r)
QUOTIENT(div_trunc, (BEYOND) ? q - copysign(1.0, q) : q)
QUOTIENT(fmod, (BEYOND) ? r + copysign(b, a) : r)
#undef LOWER
#undef BEYOND
#undef QUOTIENT
#define row_div_floor_i64    row_near_div_floor
#define row_floor_divide_i64 row_near_floor_divide
#define row_remainder_i64    row_near_remainder
#define row_div_trunc_i64    row_near_div_trunc
#define row_fmod_i64         row_near_fmod
#endif

/* A power of integers takes as many squares as its exponent has bits: of many, as the largest has. */
#if !TN_IS_FLOAT
static void E(row_many_pow)(void *out, const void *a_, const void *b_, const void *c, int64_t n)
{
    enum { MANY = 64 };
    T *o = out;
    const T *a = a_, *b = b_;
    for (int64_t i = 0, m; i < n; i += m) {
        UT x[MANY], left[MANY], power[MANY], most = 0;
        T least = 0;
        m = n - i < MANY ? n - i : MANY;
        for (int64_t k = 0; k < m; k++) {
            x[k] = (UT)a[i + k], left[k] = (UT)b[i + k], power[k] = 1;
            most |= left[k];
            least = b[i + k] < least ? b[i + k] : least;
        }
        if (least < 0) {
            E(row_pow)(o + i, a + i, b + i, c, m);
            continue;
        }
        for (; most; most >>= 1)
            for (int64_t k = 0; k < m; k++) {
                const UT odd = left[k] & 1;
                power[k] *= (x[k] & -odd) | (odd ^ 1);
                left[k] >>= 1;
                x[k] *= x[k];
            }
        memcpy(o + i, power, (size_t)m * sizeof *o);
    }
}
#if defined(TN_IS_I64)
#define row_pow_i64 row_many_pow_i64
#else
#define row_pow_i32 row_many_pow_i32
#endif
#endif
