/* backend/gpu/kernels/prelude.h: the kernel dialect: one text for every device compiler: OpenCL C 1.2, CUDA C (NVRTC),
 * and host C for the fake GPUs, whose compiler puts its own words before this text (TN_HOST_DIALECT).
 *
 * Rules that were found to matter:
 *   - kernel parameters are pointers to element 0, integers, and structs of integers by value; no bool, half or size_t;
 *     a const pointer is only read (who may run beside whom is decided by it); pointers never lie in structs or memory;
 *   - KERNEL_B declares a kernel that has a BARRIER or a shuffle (BARRIER_ALL: what was written to global memory is seen
 *     too); LOCAL_MEM stands at kernel scope, its size is static;
 *   - KERNEL_N and KERNEL_BN say how many items a group has at most, from which compilers know how many registers each may
 *     take: every kernel of the library does (suite nvrtc refuses one that does not, fake GPUs a launch of more); KERNEL and
 *     KERNEL_B are for kernels of programs, whose launches say it;
 *   - a struct argument is FIXED: read where the launch put it, and never copied to a stack;
 *   - a kernel has no stack and spills no register; STACK(kernel, bytes), on a line of its own, allows a stack where there is
 *     no way without;
 *   - bfloat16 by bit shifts, float16 by conversion; contraction off; names and parameters of kernels are spelled out,
 *     never made by macros;
 *   - shuffles of the dialect act on whole warps, atomics on global memory, LOCAL_ADD and LOCAL_MAX on local memory.
 *
 * Before it, the host defines what the unit is for (tn__gpu_unit): TN_DT_<dtype> and TN_DT (storage of the inputs),
 * TN_OT_<dtype> and TN_OT (of the result), TN_CT_<f32|f64|i32|i64> (the compute type), TN_VARIANT, and what dtypes are (made by
 * tools/gen_dtypes.c of core/dtypes.def: storage S_x, its size N_x, conversions L_x and W_x, TN_CODE_x). After it op/element.h is
 * read where there is a compute type: the vocabulary of the list's expressions. */
#if defined(TN_HOST_DIALECT)
/* the host's words stand before this text */
#elif defined(__OPENCL_C_VERSION__) || defined(__OPENCL_VERSION__)
#pragma OPENCL FP_CONTRACT OFF
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifdef cl_khr_int64_base_atomics
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#endif
#define KERNEL(name)                 __kernel void name
#define KERNEL_B(name)               __kernel void name
#define KERNEL_N(name, items)        __kernel void name
#define KERNEL_BN(name, items)       __kernel void name
#define FIXED                        const
#define GLOBAL                       __global
#define LOCAL                        __local
#define CONST_TABLE                  __constant
#define DEVICE                       static inline
#define LOCAL_MEM(T, name, n)        __local T name[n]
#define BARRIER()                    barrier(CLK_LOCAL_MEM_FENCE)
#define BARRIER_ALL()                barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define GROUP_ID(d)                  ((int)get_group_id(d))
#define LOCAL_ID(d)                  ((int)get_local_id(d))
#define LOCAL_SIZE(d)                ((int)get_local_size(d))
#define NUM_GROUPS(d)                ((int)get_num_groups(d))
#define ALIGNED(n)                   __attribute__((aligned(n)))
#define RESTRICT                     restrict
#define UNROLL                       _Pragma("unroll")
#define ROLLED                       _Pragma("unroll 1")
typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
#define MULHI_U32(a, b)              mul_hi((u32)(a), (u32)(b))
#define AS_F32(x)                    as_float((u32)(x))
#define AS_U32(x)                    as_uint((f32)(x))
#define AS_F64(x)                    as_double((u64)(x))
#define AS_U64(x)                    as_ulong((double)(x))
#define FMA(a, b, c)                 fma(a, b, c)
#define SATURATE_I32(x)              convert_int_sat_rtz(x)
#define SATURATE_I64(x)              convert_long_sat_rtz(x)
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
#define ATOMIC_ADD_I32(p, v)         atomic_add((volatile GLOBAL i32 *)(p), v)
#define ATOMIC_MAX_I32(p, v)         atomic_max((volatile GLOBAL i32 *)(p), v)
#define ATOMIC_MIN_I32(p, v)         atomic_min((volatile GLOBAL i32 *)(p), v)
#define ATOMIC_CAS_U32(p, old, now)  atomic_cmpxchg((volatile GLOBAL u32 *)(p), old, now)
#define LOCAL_ADD_I32(p, v)          atomic_add((volatile LOCAL i32 *)(p), v)
#define LOCAL_MAX_I32(p, v)          atomic_max((volatile LOCAL i32 *)(p), v)
#define ATOMIC_ADD_I64(p, v)         atom_add((volatile GLOBAL i64 *)(p), v)
#define ATOMIC_CAS_U64(p, old, now_) atom_cmpxchg((volatile GLOBAL u64 *)(p), old, now_)
DEVICE void ATOMIC_ADD_F32(GLOBAL f32 *p, f32 v)
{
    volatile GLOBAL u32 *word = (volatile GLOBAL u32 *)p;
    u32 seen = *word, old;
    do {
        old = seen;
        seen = ATOMIC_CAS_U32(word, old, AS_U32(AS_F32(old) + v));
    } while (seen != old);
}
DEVICE void ATOMIC_ADD_F64(GLOBAL double *p, double v)
{
    volatile GLOBAL u64 *word = (volatile GLOBAL u64 *)p;
    u64 seen = *word, old;
    do {
        old = seen;
        seen = ATOMIC_CAS_U64(word, old, AS_U64(AS_F64(old) + v));
    } while (seen != old);
}
#define TN_SHUFFLE_THERE             0

#elif defined(__CUDACC__) || defined(__CUDACC_RTC__)
#pragma nv_diag_suppress 177 /* no unit uses every function of the dialect */
#define KERNEL(name)           extern "C" __global__ void name
#define KERNEL_B(name)         extern "C" __global__ void name
#define KERNEL_N(name, items)  extern "C" __global__ void TN_BOUNDS(items) name
#define KERNEL_BN(name, items) extern "C" __global__ void TN_BOUNDS(items) name
#define BOUNDS(items, groups)  __launch_bounds__(items, groups)
#define TN_BOUNDS(items)       __launch_bounds__(items)
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1107 && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700)
#define FIXED const __grid_constant__
#else
#define FIXED const
#endif
#define GLOBAL
#define LOCAL
#define CONST_TABLE           static __constant__ const
#define DEVICE                static __device__ __forceinline__
#define LOCAL_MEM(T, name, n) __shared__ T name[n]
#define BARRIER()             __syncthreads()
#define BARRIER_ALL()         __syncthreads()
#define TN_OF_DIM(v, d)       ((int)((d) == 0 ? (v).x : (d) == 1 ? (v).y : (v).z))
#define GROUP_ID(d)           TN_OF_DIM(blockIdx, d)
#define LOCAL_ID(d)           TN_OF_DIM(threadIdx, d)
#define LOCAL_SIZE(d)         TN_OF_DIM(blockDim, d)
#define NUM_GROUPS(d)         TN_OF_DIM(gridDim, d)
#define ALIGNED(n)            __attribute__((aligned(n)))
#define RESTRICT              __restrict__
#define UNROLL                _Pragma("unroll")
#define ROLLED                _Pragma("unroll 1")
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fc00000)
#endif
#define MULHI_U32(a, b)             __umulhi((u32)(a), (u32)(b))
#define AS_F32(x)                   __uint_as_float((u32)(x))
#define AS_U32(x)                   __float_as_uint((f32)(x))
#define AS_F64(x)                   __longlong_as_double((i64)(x))
#define AS_U64(x)                   ((u64)__double_as_longlong((double)(x)))
#define FMA(a, b, c)                fma(a, b, c)
DEVICE i32 SATURATE_I32(f32 x)
{
    return x != x ? 0 : __float2int_rz(x);
}
DEVICE i32 SATURATE_I32(double x)
{
    return x != x ? 0 : __double2int_rz(x);
}
DEVICE i64 SATURATE_I64(f32 x)
{
    return x != x ? 0 : __float2ll_rz(x);
}
DEVICE i64 SATURATE_I64(double x)
{
    return x != x ? 0 : __double2ll_rz(x);
}
DEVICE f32 half_f32(u16 h)
{
    f32 f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}
DEVICE u16 f32_half(f32 f)
{
    u16 h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}
#define ATOMIC_ADD_I32(p, v)        atomicAdd((i32 *)(p), (i32)(v))
#define ATOMIC_ADD_I64(p, v)        ((i64)atomicAdd((u64 *)(p), (u64)(v)))
#define ATOMIC_ADD_F32(p, v)        atomicAdd((f32 *)(p), (f32)(v))
#define ATOMIC_ADD_F64(p, v)        atomicAdd((double *)(p), (double)(v))
#define ATOMIC_MAX_I32(p, v)        atomicMax((i32 *)(p), (i32)(v))
#define ATOMIC_MIN_I32(p, v)        atomicMin((i32 *)(p), (i32)(v))
#define ATOMIC_CAS_U32(p, old, now) atomicCAS((u32 *)(p), (u32)(old), (u32)(now))
#define ATOMIC_CAS_U64(p, old, now) atomicCAS((u64 *)(p), (u64)(old), (u64)(now))
static __device__ u32 fault_turn; /* of this unit: one item at a time goes to the host's memory */
#define FAULT_TURN()                (atomicExch(&fault_turn, 1u) == 0)
#define FAULT_DONE()                (__threadfence_system(), (void)atomicExch(&fault_turn, 0u))
#define LOCAL_ADD_I32(p, v)         atomicAdd((i32 *)(p), (i32)(v))
#define LOCAL_MAX_I32(p, v)         atomicMax((i32 *)(p), (i32)(v))
#define TN_SHUFFLE_THERE            1
#define SHUFFLE_XOR_U32(v, mask)    __shfl_xor_sync(0xffffffffu, (u32)(v), mask)
#define SHUFFLE_XOR_U64(v, mask)    __shfl_xor_sync(0xffffffffu, (u64)(v), mask)
#define SHUFFLE_DOWN_U32(v, by)     __shfl_down_sync(0xffffffffu, (u32)(v), by)

#else
#error "the dialect has no side for this compiler yet"
#endif

#define STACK(kernel, bytes)

/* A family of whose groups a multiprocessor is to hold so many at least, which limits registers, defines TN_BOUNDS(items) anew as
 * BOUNDS(items, groups). */
#ifndef BOUNDS
#define BOUNDS(items, groups)
#endif
#ifndef WARP
#define WARP 32
#endif
#ifndef TN_SHUFFLE /* 0 from outside: the fallback by local memory */
#define TN_SHUFFLE TN_SHUFFLE_THERE
#endif
#ifndef GLOBAL_ID
#define GLOBAL_ID(d)   ((i64)GROUP_ID(d) * LOCAL_SIZE(d) + LOCAL_ID(d))
#define GLOBAL_SIZE(d) ((i64)NUM_GROUPS(d) * LOCAL_SIZE(d))
#endif
#ifndef FAULT_TURN
#define FAULT_TURN() 1
#define FAULT_DONE() ((void)0)
#endif
#ifndef ATOMIC_LOAD_U64
#define ATOMIC_LOAD_U64(p) (*(volatile GLOBAL const u64 *)(p))
#endif
#ifndef UNROLL /* before a loop: all of it, or nothing */
#define UNROLL
#define ROLLED
#endif
#define TN_PASTE_(a, b) a##b
#define TN_PASTE(a, b)  TN_PASTE_(a, b)

DEVICE f32 bf16_f32(u16 h)
{
    return AS_F32((u32)h << 16);
}

DEVICE u16 f32_bf16(f32 f)
{
    const u32 u = AS_U32(f);
    return (u16)((u & 0x7fffffffu) > 0x7f800000u ? (u >> 16 | 0x40u) : (u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

/* Notes the first index out of range: tn__gpu_fault_words, which the host reads when it has waited. op: the operation's
 * number (TN_OP of the launch), not yet counted from 1. The words are the host's, across the bus, where atomics go one after
 * the other: of a million bad indices one item writes, few ask for the turn, and the rest read that there is nothing to say.
 * Who finds the turn taken may leave: what is being noted is as bad as its own. */
DEVICE void TN_INDEX_FAULT(GLOBAL u64 *fault, i32 op, i64 index, i64 size)
{
    if (ATOMIC_LOAD_U64(fault) != 0)
        return;
    if (!FAULT_TURN())
        return;
    if (ATOMIC_CAS_U64(fault, (u64)0, (u64)op + 1) == 0) {
        fault[1] = (u64)index;
        fault[2] = (u64)size;
    }
    FAULT_DONE();
}

/* ---- compute type ---- */
#if defined(TN_CT_f32)
typedef f32 T;
typedef u32 UT;
#define TN_IS_FLOAT   1
#define TN_INFINITY   INFINITY
#define TN_OF_BITS(u) AS_F32(u)
#elif defined(TN_CT_f64)
typedef double T;
typedef u64 UT;
#define TN_IS_FLOAT   1
#define TN_INFINITY   ((double)INFINITY)
#define TN_OF_BITS(u) AS_F64(u)
#elif defined(TN_CT_i32)
typedef i32 T;
typedef u32 UT;
#define TN_IS_FLOAT   0
#define TN_OF_BITS(u) ((T)(u32)(u))
#elif defined(TN_CT_i64)
typedef i64 T;
typedef u64 UT;
#define TN_IS_FLOAT   0
#define TN_OF_BITS(u) ((T)(u))
#endif
#if defined(TN_CT_f32)
#define TN_NARROW 1
#else
#define TN_NARROW 0
#endif
#define K(x)          ((T)(x))
#define E(name)       name
#define M(f)          m_##f
#define TW            T /* op/special.h */
#define TN_SPARE      0
#define KW(x)         K(x)
#define MW(f)         M(f)
#define FMAW(a, b, c) FMA(a, b, c)

/* ---- how L_x and W_x (made of core/dtypes.def) get from storage to the compute type and back. Floats to integers saturate,
 * NaN is 0; integers are stored by the dtype that they compute in: what it holds too much is cut off. ---- */
#if TN_IS_FLOAT
#define TN_FLOAT(v)        ((T)(v))
#define TN_STORE_I32(S, v) ((S)(u32)SATURATE_I32(v))
#define TN_STORE_I64(S, v) ((S)SATURATE_I64(v))
#define TN_STORE_U64(S, v) \
    ((v) >= K(9223372036854775808.0) ? ((v) >= K(18446744073709551616.0) ? ~(S)0 : (S)(v)) : (S)SATURATE_I64(v))
#else
#if defined(TN_CT_i64)
#define TN_FLOAT(v) SATURATE_I64(v)
#else
#define TN_FLOAT(v) SATURATE_I32(v)
#endif
#define TN_STORE_I32(S, v) ((S)(u32)(v))
#define TN_STORE_I64(S, v) ((S)(v))
#define TN_STORE_U64(S, v) ((S)(v))
#endif
#define TN_LOAD_BOOL(x)       ((T)((x) != 0))
#define TN_LOAD_INT(x)        ((T)(x))
#define TN_LOAD_HALF(x)       TN_FLOAT(half_f32(x))
#define TN_LOAD_BFLOAT(x)     TN_FLOAT(bf16_f32(x))
#define TN_LOAD_FLOAT(x)      TN_FLOAT(x)
#define TN_STORE_BOOL(S, x)   ((S)((x) != 0))
#define TN_STORE_HALF(S, x)   f32_half((f32)(x))
#define TN_STORE_BFLOAT(S, x) f32_bf16((f32)(x))
#define TN_STORE_FLOAT(S, x)  ((S)(x))

/* Inputs: ST their storage type, LD(x) its value computed in, SV(v) back; VEC: VW of them, 16 bytes at once. */
#if defined(TN_DT)
typedef TN_PASTE(S_, TN_DT) ST;
#define LD(x)   TN_PASTE(L_, TN_DT)(x)
#define SV(v)   TN_PASTE(W_, TN_DT)(v)
#define ST_SIZE TN_PASTE(N_, TN_DT)
#define VW      (16 / ST_SIZE)
typedef struct ALIGNED(16) VEC {
    ST v[VW];
} VEC;
#endif
/* The result: the same with an O. */
#if defined(TN_OT)
typedef TN_PASTE(S_, TN_OT) OT;
#define LDO(x)  TN_PASTE(L_, TN_OT)(x)
#define SVO(v)  TN_PASTE(W_, TN_OT)(v)
#define OT_SIZE TN_PASTE(N_, TN_OT)
#define OVW     (16 / OT_SIZE)
typedef struct ALIGNED(16) OVEC {
    OT v[OVW];
} OVEC;
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
#define m_logb      logb
#define m_ldexp     ldexp
DEVICE T m_sigmoid(T x)
{
    return K(1) / (K(1) + m_exp(-x));
}
/* the normal distribution's cumulative probability */
DEVICE T m_normcdf(T x)
{
    return K(0.5) * m_erfc(x * K(-0.70710678118654752440));
}
#endif

/* ---- where element i, counted row-major, of a tensor of any layout lies; backend/gpu/strided_view.h fills it ---- */
typedef struct tn_strided {
    i64 shape[8], stride[8]; /* the last dimension is [7]; those before the first have shape 1 and stride 0 */
    i64 dense;               /* element i lies at i */
} tn_strided;
DEVICE i64 TN_AT(tn_strided w, i64 i)
{
    i64 at = 0;
    if (w.dense)
        return i;
    for (int d = 7; d >= 0 && i > 0; d--) {
        const i64 rest = i / w.shape[d];
        at += (i - rest * w.shape[d]) * w.stride[d];
        i = rest;
    }
    return at;
}
