/* backend/cpu/math_names.h: what M(f) of the list's expressions is on the CPU. Every C99 math function is here, so that a
 * new row finds its own; those with a vectorisable version in math.inc.h, of doubles in math_double.inc.h, are not mapped to
 * libm. */
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

#define m_fabs_f64     fabs
#define m_sqrt_f64     sqrt
#define m_floor_f64    floor
#define m_ceil_f64     ceil
#define m_trunc_f64    trunc
#define m_rint_f64     rint
#define m_copysign_f64 copysign
#define m_tgamma_f64   tgamma
#define m_cbrt_f64     cbrt
/* clang-format on */
