/* backend/gpu/kernels/prelude.h: the kernel dialect: one text for every device compiler. This is its OpenCL C side; CUDA
 * and the host (fake GPUs) join with their backends. Rules that were found to matter stand in docs and are kept here:
 * kernel arguments are plain integers and global pointers; no bool, half or size_t arguments; bfloat16 by bit shifts,
 * float16 by conversion; contraction off.
 *
 * Before it, the host defines TN_DT_<dtype> (storage) and TN_CT_<f32|f64|i32|i64> (compute type). After it op/element.h is
 * read: the vocabulary of ops.def's expressions. */
#if defined(__OPENCL_C_VERSION__) || defined(__OPENCL_VERSION__)
#pragma OPENCL FP_CONTRACT OFF
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#define KERNEL(name)   __kernel void name
#define GLOBAL         __global
#define DEVICE         static inline
#define GLOBAL_ID(d)   ((i64)get_global_id(d))
#define GLOBAL_SIZE(d) ((i64)get_global_size(d))
typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
#define AS_F32(x)       as_float(x)
#define AS_U32(x)       as_uint(x)
#define SATURATE_I32(x) convert_int_sat_rtz(x)
#define SATURATE_I64(x) convert_long_sat_rtz(x)
DEVICE f32 half_f32(u16 h)
{
    return vload_half(0, (const half *)&h);
}
DEVICE u16 f32_half(f32 f)
{
    u16 h;
    vstore_half_rte(f, 0, (half *)&h);
    return h;
}
#else
#error "the dialect has no side for this compiler yet"
#endif

DEVICE f32 bf16_f32(u16 h)
{
    return AS_F32((u32)h << 16);
}

DEVICE u16 f32_bf16(f32 f)
{
    u32 u = AS_U32(f);
    return (u16)((u & 0x7fffffffu) > 0x7f800000u ? (u >> 16 | 0x40u) : (u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

/* ---- compute type ---- */
#if defined(TN_CT_f32)
typedef f32 T;
typedef u32 UT;
#define TN_IS_FLOAT 1
#define TN_INFINITY INFINITY
#elif defined(TN_CT_f64)
typedef double T;
typedef u64 UT;
#define TN_IS_FLOAT 1
#define TN_INFINITY ((double)INFINITY)
#elif defined(TN_CT_i32)
typedef i32 T;
typedef u32 UT;
#define TN_IS_FLOAT 0
#elif defined(TN_CT_i64)
typedef i64 T;
typedef u64 UT;
#define TN_IS_FLOAT 0
#endif
#define K(x)    ((T)(x))
#define E(name) name
#define M(f)    m_##f

/* ---- storage: LD gives the compute type, SV takes it ---- */
#if TN_IS_FLOAT
#define TO_SMALL(S, v) ((S)(u32)SATURATE_I32(v))
#define TO_I32(v)      SATURATE_I32(v)
#define TO_I64(v)      SATURATE_I64(v)
#else
#define TO_SMALL(S, v) ((S)(u32)(v))
#define TO_I32(v)      ((i32)(v))
#define TO_I64(v)      ((i64)(v))
#endif
#if defined(TN_DT_bool)
typedef u8 ST;
#define LD(x) ((T)((x) != 0))
#define SV(x) ((u8)((x) != 0))
#elif defined(TN_DT_uint8)
typedef u8 ST;
#define LD(x) ((T)(x))
#define SV(x) TO_SMALL(u8, x)
#elif defined(TN_DT_int8)
typedef i8 ST;
#define LD(x) ((T)(x))
#define SV(x) TO_SMALL(i8, x)
#elif defined(TN_DT_int16)
typedef i16 ST;
#define LD(x) ((T)(x))
#define SV(x) TO_SMALL(i16, x)
#elif defined(TN_DT_int32)
typedef i32 ST;
#define LD(x) ((T)(x))
#define SV(x) TO_I32(x)
#elif defined(TN_DT_int64)
typedef i64 ST;
#define LD(x) ((T)(x))
#define SV(x) TO_I64(x)
#elif defined(TN_DT_float16)
typedef u16 ST;
#define LD(x) ((T)half_f32(x))
#define SV(x) f32_half((f32)(x))
#elif defined(TN_DT_bfloat16)
typedef u16 ST;
#define LD(x) ((T)bf16_f32(x))
#define SV(x) f32_bf16((f32)(x))
#elif defined(TN_DT_float32)
typedef f32 ST;
#define LD(x) ((T)(x))
#define SV(x) ((f32)(x))
#elif defined(TN_DT_float64)
typedef double ST;
#define LD(x) ((T)(x))
#define SV(x) ((double)(x))
#endif

/* ---- math functions of expressions: the device's own, overloaded by type ---- */
#if TN_IS_FLOAT
#define m_fabs      fabs
#define m_exp       exp
#define m_exp2      exp2
#define m_expm1     expm1
#define m_log       log
#define m_log2      log2
#define m_log10     log10
#define m_log1p     log1p
#define m_sqrt      sqrt
#define m_cbrt      cbrt
#define m_sin       sin
#define m_cos       cos
#define m_tan       tan
#define m_asin      asin
#define m_acos      acos
#define m_atan      atan
#define m_atan2     atan2
#define m_sinh      sinh
#define m_cosh      cosh
#define m_tanh      tanh
#define m_asinh     asinh
#define m_acosh     acosh
#define m_atanh     atanh
#define m_erf       erf
#define m_erfc      erfc
#define m_lgamma    lgamma
#define m_tgamma    tgamma
#define m_hypot     hypot
#define m_pow       pow
#define m_fmod      fmod
#define m_floor     floor
#define m_ceil      ceil
#define m_trunc     trunc
#define m_rint      rint
#define m_copysign  copysign
#define m_nextafter nextafter
DEVICE T m_sigmoid(T x)
{
    return K(1) / (K(1) + exp(-x));
}
#endif
