/* op/element.h: the vocabulary of the list's expressions, for one compute type. One text for the CPU's loops and for the
 * GPU dialect (it is embedded there), so it uses only what C, CUDA C and OpenCL C share.
 *
 * Before reading it, define:
 *   T            the compute type: f32, f64, i32 or i64        TN_IS_FLOAT  1 or 0
 *   UT           the unsigned type of T's size (integers)      E(name)      the name a function gets for this T
 *   DEVICE       how a helper function is declared             M(f)         the math function f for T (floats)
 *   K(x)         the literal x as T (never a bare 0.5: a GPU would compute in double)
 * No include guard: the CPU reads it once per type. tn_undef: at the end of op/element_undef.h.
 *
 * Rules stated once, here: integers wrap around (unsigned inside); dividing by zero or by -1 is defined (the CPU refuses
 * zero divisors before it runs a row); NaN wins in maximum and minimum.
 */
/* a where the test holds, else 0, and else b; defined before where a loop does it otherwise. */
#ifndef TN_KEEP
#define TN_KEEP(a, test) ((test) ? (a) : K(0))
#endif
#ifndef TN_WHERE
#define TN_WHERE(test, a, b) ((test) ? (a) : (b))
#endif

#if TN_IS_FLOAT

#define TN_ADD(a, b)       ((a) + (b))
#define TN_SUB(a, b)       ((a) - (b))
#define TN_MUL(a, b)       ((a) * (b))
#define TN_NEG(a)          (-(a))
#define TN_ABS(a)          M(fabs)(a)
#define TN_SIGN(a)         (T)(((a) > K(0)) - ((a) < K(0)))
#define TN_RELU(a)         ((a) < K(0) ? K(0) : (a))
#define TN_ROUNDED(how, a) M(how)(a)
#define TN_ISNAN(a)        ((a) != (a))
#define TN_ISINF(a)        (M(fabs)(a) == TN_INFINITY)
#define TN_ISFINITE(a)     (M(fabs)(a) < TN_INFINITY)
#define TN_NEAR(a, b, c)   (TN_ISFINITE((a) - (b)) & (M(fabs)((a) - (b)) <= (c)))
#define TN_SIGNBIT(a)      (M(copysign)(K(1), a) < K(0))
#define TN_ISPOSINF(a)     ((a) == TN_INFINITY)
#define TN_ISNEGINF(a)     ((a) == -TN_INFINITY)
#define TN_FMAX(a, b)      ((a) >= (b) || (b) != (b) ? (a) : (b))
#define TN_FMIN(a, b)      ((a) <= (b) || (b) != (b) ? (a) : (b))
#define TN_MAXIMUM(a, b)   E(tn_maximum)(a, b)
#define TN_MINIMUM(a, b)   E(tn_minimum)(a, b)
#define TN_CLAMP(a, b, c)  E(tn_clamp)(a, b, c)
#define TN_DIV_TRUNC(a, b) M(trunc)((a) / (b))
#define TN_DIV_FLOOR(a, b) E(tn_div_floor)(a, b)
#define TN_REMAINDER(a, b) E(tn_remainder)(a, b)
#define TN_FMOD(a, b)      M(fmod)(a, b)
#define TN_POW(a, b)       E(tn_pow)(a, b)

DEVICE T E(tn_maximum)(T a, T b)
{
    T m = a > b ? a : b; /* b where it is NaN */
    return a != a ? a : m;
}

DEVICE T E(tn_minimum)(T a, T b)
{
    T m = a < b ? a : b;
    return a != a ? a : m;
}

/* a limited to low .. high, which are numbers; NaN stays. Both are one instruction where vectors have a maximum that is its
 * second operand if either is NaN. */
DEVICE T E(tn_limit)(T a, T low, T high)
{
    T m = low > a ? low : a;
    return high < m ? high : m;
}

/* NaN if any is. Each bound is compared for itself: of numbers that stay in registers gcc makes vectors of no more than that. */
DEVICE T E(tn_clamp)(T a, T low, T high)
{
    T m = E(tn_limit)(a, low, high);
    m = low != low ? low : m;
    return high != high ? high : m;
}

/* floor(a / b) such that it agrees with remainder: CPython's floatobject.c, float_divmod; mod: fmod(a, b) */
DEVICE T E(tn_div_floor_of)(T a, T b, T mod)
{
    T div = (a - mod) / b;
    div = mod != K(0) && (b < K(0)) != (mod < K(0)) ? div - K(1) : div;
    T whole = M(floor)(div);
    whole = div - whole > K(0.5) ? whole + K(1) : whole;
    T zero = M(copysign)(K(0), a / b);
    return b == K(0) ? a / b : div == K(0) ? zero : whole;
}

DEVICE T E(tn_remainder_of)(T b, T mod)
{
    return mod != K(0) && (b < K(0)) != (mod < K(0)) ? mod + b : mod;
}

DEVICE T E(tn_div_floor)(T a, T b)
{
    return E(tn_div_floor_of)(a, b, M(fmod)(a, b));
}

DEVICE T E(tn_remainder)(T a, T b)
{
    return E(tn_remainder_of)(b, M(fmod)(a, b));
}

/* log(1 + e^x), without overflow */
DEVICE T E(tn_softplus)(T x)
{
    return (x > K(0) ? x : K(0)) + M(log1p)(M(exp)(-M(fabs)(x)));
}

/* Slopes of activations: silu, gelu, gelu by tanh (x s(u), u = x (A + B x^2)), mish. */
DEVICE T E(tn_silu_slope)(T x)
{
    const T s = M(sigmoid)(x);
    return s * (K(1) + x * (K(1) - s));
}

DEVICE T E(tn_gelu_slope)(T x)
{
    return M(normcdf)(x) + x * (K(0.39894228040143267794) * M(exp)(K(-0.5) * x * x));
}

#define TN_GELU_A K(1.5957691216057307117)
#define TN_GELU_B K(0.071354816272600249)
DEVICE T E(tn_gelu_tanh)(T x)
{
    return x * M(sigmoid)(x * (TN_GELU_A + TN_GELU_B * x * x));
}

DEVICE T E(tn_gelu_tanh_slope)(T x)
{
    const T u = x * (TN_GELU_A + TN_GELU_B * x * x), s = M(sigmoid)(u); /* 1 - s would be multiplied by much */
    return s + x * s * M(sigmoid)(-u) * (TN_GELU_A + K(3) * TN_GELU_B * x * x);
}

DEVICE T E(tn_mish_slope)(T x)
{
    const T w = M(tanh)(E(tn_softplus)(x));
    return w + x * M(sigmoid)(x) * (K(1) - w * w);
}

/* On the CPU the power of floats is no call: a loop without a branch becomes vectors. */
DEVICE T E(tn_pow)(T a, T b)
{
#if defined(TN_IS_F32)
    const T power = M(pow)(a, b), cube = b == K(3) ? a * a * a : power;
    return b == K(2) ? a * a : cube;
#else
    if (b == K(2))
        return a * a;
    if (b == K(3))
        return a * a * a;
    return M(pow)(a, b);
#endif
}

#else

#define TN_ADD(a, b)       ((T)((UT)(a) + (UT)(b)))
#define TN_SUB(a, b)       ((T)((UT)(a) - (UT)(b)))
#define TN_MUL(a, b)       ((T)((UT)(a) * (UT)(b)))
#define TN_NEG(a)          ((T)(K(0) - (UT)(a)))
#define TN_ABS(a)          ((a) < K(0) ? TN_NEG(a) : (a))
#define TN_SIGN(a)         ((T)((a) > K(0)) - (T)((a) < K(0)))
#define TN_RELU(a)         ((a) > K(0) ? (a) : K(0))
#define TN_ROUNDED(how, a) (a)
#define TN_ISNAN(a)        ((void)(a), 0)
#define TN_ISINF(a)        ((void)(a), 0)
#define TN_ISFINITE(a)     ((void)(a), 1)
#define TN_NEAR(a, b, c)   (((c) >= K(0)) & (((a) > (b) ? (UT)(a) - (UT)(b) : (UT)(b) - (UT)(a)) <= (UT)(c)))
#define TN_SIGNBIT(a)      ((a) < K(0))
#define TN_ISPOSINF(a)     ((void)(a), 0)
#define TN_ISNEGINF(a)     ((void)(a), 0)
#define TN_FMAX(a, b)      TN_MAXIMUM(a, b)
#define TN_FMIN(a, b)      TN_MINIMUM(a, b)
#define TN_MAXIMUM(a, b)   ((a) > (b) ? (a) : (b))
#define TN_MINIMUM(a, b)   ((a) < (b) ? (a) : (b))
#define TN_CLAMP(a, b, c)  TN_MINIMUM(TN_MAXIMUM(a, b), c)
#define TN_DIV_TRUNC(a, b) E(tn_div_trunc)(a, b)
#define TN_DIV_FLOOR(a, b) E(tn_div_floor)(a, b)
#define TN_REMAINDER(a, b) E(tn_remainder)(a, b)
#define TN_FMOD(a, b)      E(tn_fmod)(a, b)
#define TN_POW(a, b)       E(tn_pow)(a, b)

/* Shifts by more than there are bits, or by a negative number, are defined. Compilers shift the sign in. */
#define TN_BITS            ((UT)(8 * sizeof(T)))
#define TN_SHL(a, b)       ((UT)(b) < TN_BITS ? (T)((UT)(a) << (UT)(b)) : K(0))
#define TN_SHR(a, b)       ((a) >> ((UT)(b) < TN_BITS ? (UT)(b) : TN_BITS - 1))

DEVICE T E(tn_div_trunc)(T a, T b)
{
    return b == K(0) ? K(0) : b == K(-1) ? TN_NEG(a) : a / b;
}

DEVICE T E(tn_div_floor)(T a, T b)
{
    if (b == K(0) || b == K(-1))
        return b == K(0) ? K(0) : TN_NEG(a);
    T q = a / b;
    return a % b != K(0) && (a < K(0)) != (b < K(0)) ? q - K(1) : q;
}

DEVICE T E(tn_remainder)(T a, T b)
{
    if (b == K(0) || b == K(-1))
        return K(0);
    T r = a % b;
    return r != K(0) && (r < K(0)) != (b < K(0)) ? r + b : r;
}

DEVICE T E(tn_fmod)(T a, T b)
{
    return b == K(0) || b == K(-1) ? K(0) : a % b;
}

/* A negative exponent leaves 1 for 1, +-1 for -1, 0 for everything else. */
DEVICE T E(tn_pow)(T a, T b)
{
    if (b < K(0))
        return a == K(1) ? K(1) : a == K(-1) ? (b % K(2) == K(0) ? K(1) : K(-1)) : K(0);
    UT r = 1, x = (UT)a, n = (UT)b;
    while (n != 0) {
        if (n & 1)
            r *= x;
        x *= x;
        n >>= 1;
    }
    return (T)r;
}

#endif
