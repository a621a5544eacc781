/* backend/cpu/math_names.h: what M(f) of the list's expressions is on the CPU. Every C99 math function is here, so that a
 * new row finds its own; those with a vectorisable version in math.inc.h are not mapped to libm for float. */
/* clang-format off */
#define m_fabs_f32     fabsf
#define m_sqrt_f32     sqrtf
#define m_floor_f32    floorf
#define m_ceil_f32     ceilf
#define m_trunc_f32    truncf
#define m_rint_f32     rintf
#define m_copysign_f32 copysignf
#define m_tgamma_f32   tgammaf
#define m_cbrt_f32     cbrtf

#define m_log_f64      log
#define m_log1p_f64    log1p
#define m_sin_f64      sin
#define m_cos_f64      cos
#define m_tanh_f64     tanh
#define m_fabs_f64     fabs
#define m_sqrt_f64     sqrt
#define m_floor_f64    floor
#define m_ceil_f64     ceil
#define m_trunc_f64    trunc
#define m_rint_f64     rint
#define m_fmod_f64     fmod
#define m_copysign_f64 copysign
#define m_exp2_f64     exp2
#define m_expm1_f64    expm1
#define m_log2_f64     log2
#define m_log10_f64    log10
#define m_tan_f64      tan
#define m_asin_f64     asin
#define m_acos_f64     acos
#define m_atan_f64     atan
#define m_atan2_f64    atan2
#define m_sinh_f64     sinh
#define m_cosh_f64     cosh
#define m_asinh_f64    asinh
#define m_acosh_f64    acosh
#define m_atanh_f64    atanh
#define m_erf_f64      erf
#define m_erfc_f64     erfc
#define m_lgamma_f64   lgamma
#define m_tgamma_f64   tgamma
#define m_hypot_f64    hypot
#define m_cbrt_f64     cbrt
#define m_nextafter_f64 nextafter
#define m_logb_f64     logb
#define m_ldexp_f64    ldexp
/* clang-format on */
