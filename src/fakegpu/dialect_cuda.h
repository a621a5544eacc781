/* fakegpu/dialect_cuda.h: CUDA C for the host's C++ compiler. It is embedded as text; the fake NVRTC puts it, after
 * dialect_items.h and dialect_cuda_items.h, before every program that is not Tenon's own. As with NVRTC there are no headers of
 * the host: what device code may call stands here and in dialect_cuda_math.h.
 *
 * __global__ and __shared__ are left for the fake NVRTC (cuda_scan.c). Names that are not CUDA's begin with tn_. */
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;

#define __CUDACC__           1
#define __CUDACC_RTC__       1
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __NVCC__             1

#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __forceinline__ __attribute__((always_inline))
#define __noinline__    __attribute__((noinline))
#define __align__(n)    __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __maxnreg__(n)
#define __builtin_align__(n) __align__(n)

template <typename T> using tn_same = T; /* a type as written, where a name follows */

/* ---- who runs ---- */
static __thread struct tn_cuda *tn_now;
extern "C" struct tn_cuda **tn_cuda_here(void)
{
    return &tn_now;
}

#define TN_AT_MOST_16(n) __attribute__((aligned((n) > 16 ? 16 : (n))))
#define TN_VECTORS(T, name, n) \
    struct name##1 \
    { \
        T x; \
    }; \
    struct TN_AT_MOST_16(2 * n) name##2 \
    { \
        T x, y; \
    }; \
    struct name##3 \
    { \
        T x, y, z; \
    }; \
    struct TN_AT_MOST_16(4 * n) name##4 \
    { \
        T x, y, z, w; \
    }; \
    static inline name##1 make_##name##1(T x) \
    { \
        return {x}; \
    } \
    static inline name##2 make_##name##2(T x, T y) \
    { \
        return {x, y}; \
    } \
    static inline name##3 make_##name##3(T x, T y, T z) \
    { \
        return {x, y, z}; \
    } \
    static inline name##4 make_##name##4(T x, T y, T z, T w) \
    { \
        return {x, y, z, w}; \
    }
struct char1 {
    signed char x;
};
struct __attribute__((aligned(2))) char2 {
    signed char x, y;
};
struct char3 {
    signed char x, y, z;
};
struct __attribute__((aligned(4))) char4 {
    signed char x, y, z, w;
};
static inline char1 make_char1(signed char x)
{
    return {x};
}
static inline char2 make_char2(signed char x, signed char y)
{
    return {x, y};
}
static inline char3 make_char3(signed char x, signed char y, signed char z)
{
    return {x, y, z};
}
static inline char4 make_char4(signed char x, signed char y, signed char z, signed char w)
{
    return {x, y, z, w};
}
TN_VECTORS(unsigned char, uchar, 1)
TN_VECTORS(short, short, 2)
TN_VECTORS(unsigned short, ushort, 2)
TN_VECTORS(int, int, 4)
TN_VECTORS(unsigned int, uint, 4)
TN_VECTORS(long, long, 8)
TN_VECTORS(unsigned long, ulong, 8)
TN_VECTORS(long long, longlong, 8)
TN_VECTORS(unsigned long long, ulonglong, 8)
TN_VECTORS(float, float, 4)
TN_VECTORS(double, double, 8)

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    operator uint3() const { return {x, y, z}; }
};

#define threadIdx (*(const uint3 *)tn_now->thread)
#define blockIdx  (*(const uint3 *)tn_now->block)
#define blockDim  (*(const dim3 *)tn_now->size)
#define gridDim   (*(const dim3 *)tn_now->blocks)
#define warpSize  32

static inline unsigned tn_lane()
{
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31;
}

/* ---- meeting the others ---- */
static inline int tn_barrier(int site, int yes, int *all)
{
    return tn_now->barrier(tn_now->run, site, yes, all);
}
static inline int tn_barrier_count(int site, int yes)
{
    int all;
    return tn_barrier(site, yes, &all);
}
static inline int tn_barrier_all(int site, int yes)
{
    int all;
    tn_barrier(site, yes, &all);
    return all;
}
#define __syncthreads()          ((void)tn_barrier_count(__COUNTER__, 0))
#define __syncthreads_count(yes) tn_barrier_count(__COUNTER__, (yes) != 0)
#define __syncthreads_or(yes)    (tn_barrier_count(__COUNTER__, (yes) != 0) != 0)
#define __syncthreads_and(yes)   tn_barrier_all(__COUNTER__, (yes) != 0)

static inline const unsigned long long *tn_warp(unsigned mask, unsigned long long v)
{
    return tn_now->warp(tn_now->run, mask, v);
}
static inline void __syncwarp(unsigned mask = 0xffffffffu)
{
    tn_warp(mask, 0);
}
static inline unsigned __activemask()
{
    return 1u << tn_lane();
} /* threads go each its own way */
static inline unsigned __ballot_sync(unsigned mask, int yes)
{
    const unsigned long long *v = tn_warp(mask, yes != 0);
    unsigned votes = 0;
    for (int i = 0; i < 32; i++)
        votes |= (unsigned)(v[i] == 1) << i;
    return votes & mask;
}
static inline int __any_sync(unsigned mask, int yes)
{
    return __ballot_sync(mask, yes) != 0;
}
static inline int __all_sync(unsigned mask, int yes)
{
    return __ballot_sync(mask, !yes) == 0;
}

template <typename T> static inline unsigned long long tn_bits(T v)
{
    static_assert(sizeof(T) <= 8, "a warp exchanges values of 8 bytes at most");
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &v, sizeof v);
    return bits;
}
template <typename T> static inline T tn_value(unsigned long long bits)
{
    T v;
    __builtin_memcpy(&v, &bits, sizeof v);
    return v;
}
template <typename T> static inline T tn_shuffle(unsigned mask, T v, int from, bool there)
{
    const unsigned long long *values = tn_warp(mask, tn_bits(v));
    return there ? tn_value<T>(values[from & 31]) : v;
}
template <typename T> static inline T __shfl_sync(unsigned mask, T v, int from, int width = 32)
{
    return tn_shuffle(mask, v, (tn_lane() & ~(width - 1)) + (from & (width - 1)), true);
}
template <typename T> static inline T __shfl_up_sync(unsigned mask, T v, unsigned by, int width = 32)
{
    const int lane = tn_lane();
    return tn_shuffle(mask, v, lane - (int)by, lane - (int)by >= (lane & ~(width - 1)));
}
template <typename T> static inline T __shfl_down_sync(unsigned mask, T v, unsigned by, int width = 32)
{
    const int lane = tn_lane();
    return tn_shuffle(mask, v, lane + (int)by, lane + (int)by < (lane & ~(width - 1)) + width);
}
template <typename T> static inline T __shfl_xor_sync(unsigned mask, T v, int by, int width = 32)
{
    const int lane = tn_lane();
    return tn_shuffle(mask, v, lane ^ by, (lane ^ by) < (lane & ~(width - 1)) + width);
}
template <typename T> static inline unsigned __match_any_sync(unsigned mask, T v)
{
    const unsigned long long mine = tn_bits(v), *values = tn_warp(mask, mine);
    unsigned same = 0;
    for (int i = 0; i < 32; i++)
        same |= (unsigned)(values[i] == mine) << i;
    return same & mask;
}
template <typename T> static inline unsigned __match_all_sync(unsigned mask, T v, int *all)
{
    *all = __match_any_sync(mask, v) == mask;
    return *all ? mask : 0;
}
template <typename T, typename F> static inline T tn_reduce(unsigned mask, T v, F join)
{
    const unsigned long long *values = tn_warp(mask, tn_bits(v));
    T sum = v;
    for (unsigned i = 0, mine = tn_lane(); i < 32; i++)
        if (mask >> i & 1 && i != mine)
            sum = join(sum, tn_value<T>(values[i]));
    return sum;
}
#define TN_REDUCE(T) \
    static inline T __reduce_add_sync(unsigned m, T v) \
    { \
        return tn_reduce(m, v, [](T a, T b) { return (T)(a + b); }); \
    } \
    static inline T __reduce_min_sync(unsigned m, T v) \
    { \
        return tn_reduce(m, v, [](T a, T b) { return a < b ? a : b; }); \
    } \
    static inline T __reduce_max_sync(unsigned m, T v) \
    { \
        return tn_reduce(m, v, [](T a, T b) { return a > b ? a : b; }); \
    }
TN_REDUCE(int)
TN_REDUCE(unsigned)
static inline unsigned __reduce_and_sync(unsigned m, unsigned v)
{
    return tn_reduce(m, v, [](unsigned a, unsigned b) { return a & b; });
}
static inline unsigned __reduce_or_sync(unsigned m, unsigned v)
{
    return tn_reduce(m, v, [](unsigned a, unsigned b) { return a | b; });
}
static inline unsigned __reduce_xor_sync(unsigned m, unsigned v)
{
    return tn_reduce(m, v, [](unsigned a, unsigned b) { return a ^ b; });
}

static inline void __threadfence()
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
static inline void __threadfence_block()
{
    __threadfence();
}
static inline void __threadfence_system()
{
    __threadfence();
}
static inline void __nanosleep(unsigned)
{
    tn_now->pause(tn_now->run);
}
[[noreturn]] static inline void __trap()
{
    tn_now->fail(tn_now->run, 0, "__trap");
    __builtin_unreachable();
}
#define TN_TEXT(x)   #x
#define TN_NUMBER(x) TN_TEXT(x)
#ifdef NDEBUG
#define assert(x) ((void)0)
#else
#define assert(x) \
    ((x) ? (void)0 : tn_now->fail(tn_now->run, 1, "assertion failed: " #x " (" __FILE__ ":" TN_NUMBER(__LINE__) ")"))
#endif

/* ---- the host's C library ---- */
extern "C" int(printf)(const char *format, ...);
extern "C" void *malloc(size_t bytes) noexcept;
extern "C" void free(void *memory) noexcept;
extern "C" void *memcpy(void *to, const void *from, size_t bytes) noexcept;
extern "C" void *memset(void *to, int value, size_t bytes) noexcept;

/* ---- atomics: they return the old value ---- */
template <typename T, typename F> static inline T tn_exchange(T *p, F next)
{
    T seen = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(p, &seen, (T)next(seen), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    return seen;
}
template <typename T, typename U> static inline T tn_add(T *p, T v)
{
    return tn_value<T>(tn_exchange((U *)p, [v](U seen) { return (U)tn_bits(tn_value<T>(seen) + v); }));
}
#define TN_ATOMICS(T) \
    static inline T atomicAdd(T *p, T v) \
    { \
        return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); \
    } \
    static inline T atomicSub(T *p, T v) \
    { \
        return __atomic_fetch_sub(p, v, __ATOMIC_RELAXED); \
    } \
    static inline T atomicExch(T *p, T v) \
    { \
        return __atomic_exchange_n(p, v, __ATOMIC_RELAXED); \
    } \
    static inline T atomicAnd(T *p, T v) \
    { \
        return __atomic_fetch_and(p, v, __ATOMIC_RELAXED); \
    } \
    static inline T atomicOr(T *p, T v) \
    { \
        return __atomic_fetch_or(p, v, __ATOMIC_RELAXED); \
    } \
    static inline T atomicXor(T *p, T v) \
    { \
        return __atomic_fetch_xor(p, v, __ATOMIC_RELAXED); \
    } \
    static inline T atomicMin(T *p, T v) \
    { \
        return tn_exchange(p, [v](T s) { return s < v ? s : v; }); \
    } \
    static inline T atomicMax(T *p, T v) \
    { \
        return tn_exchange(p, [v](T s) { return s > v ? s : v; }); \
    } \
    static inline T atomicCAS(T *p, T expected, T v) \
    { \
        __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED); \
        return expected; \
    }
TN_ATOMICS(int)
TN_ATOMICS(unsigned)
TN_ATOMICS(long long)
TN_ATOMICS(unsigned long long)
static inline unsigned long atomicAdd(unsigned long *p, unsigned long v)
{
    return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}
static inline unsigned short atomicCAS(unsigned short *p, unsigned short expected, unsigned short v)
{
    __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}
static inline unsigned atomicInc(unsigned *p, unsigned most)
{
    return tn_exchange(p, [most](unsigned s) { return s >= most ? 0 : s + 1; });
}
static inline unsigned atomicDec(unsigned *p, unsigned most)
{
    return tn_exchange(p, [most](unsigned s) { return s == 0 || s > most ? most : s - 1; });
}
static inline float atomicAdd(float *p, float v)
{
    return tn_add<float, unsigned>(p, v);
}
static inline double atomicAdd(double *p, double v)
{
    return tn_add<double, unsigned long long>(p, v);
}
static inline float atomicExch(float *p, float v)
{
    return tn_value<float>(atomicExch((unsigned *)p, (unsigned)tn_bits(v)));
}
#define TN_WIDER(name) \
    template <typename T, typename... A> static inline auto name##_block(T *p, A... a) \
    { \
        return name(p, a...); \
    } \
    template <typename T, typename... A> static inline auto name##_system(T *p, A... a) \
    { \
        return name(p, a...); \
    }
TN_WIDER(atomicAdd)
TN_WIDER(atomicSub)
TN_WIDER(atomicExch)
TN_WIDER(atomicMin)
TN_WIDER(atomicMax)
TN_WIDER(atomicCAS)
TN_WIDER(atomicAnd)
TN_WIDER(atomicOr)
TN_WIDER(atomicXor)

/* ---- loads and stores with a cache's name ---- */
template <typename T> static inline T __ldg(const T *p)
{
    return *p;
}
template <typename T> static inline T __ldcg(const T *p)
{
    return *p;
}
template <typename T> static inline T __ldca(const T *p)
{
    return *p;
}
template <typename T> static inline T __ldcs(const T *p)
{
    return *p;
}
template <typename T> static inline void __stcg(T *p, T v)
{
    *p = v;
}
template <typename T> static inline void __stcs(T *p, T v)
{
    *p = v;
}
template <typename T> static inline void __stwt(T *p, T v)
{
    *p = v;
}

/* ---- kernels, as the library calls them ---- */
extern "C" struct tn_kernel_info tn_fake_kernels[];
extern "C" struct tn_cuda_variable tn_fake_variables[];
static int tn_n_kernels, tn_n_variables;

template <typename T> struct tn_parameter {
    static constexpr struct tn_argument is = {sizeof(T), 0, 0, alignof(T), 0};
};
template <typename T> struct tn_parameter<T *> {
    static constexpr struct tn_argument is = {sizeof(T *), 1, 0, alignof(T *), 0};
};
template <typename T> struct tn_parameter<const T *> {
    static constexpr struct tn_argument is = {sizeof(T *), 1, 1, alignof(T *), 0};
};
template <typename T> struct tn_parameter<T **> {
    static constexpr struct tn_argument is = {sizeof(T *), 1, 0, alignof(T *), 1};
};
template <typename T> struct tn_parameter<T *const *> {
    static constexpr struct tn_argument is = {sizeof(T *), 1, 1, alignof(T *), 1};
};
template <typename T> struct tn_bare {
    typedef T type;
};
template <typename T> struct tn_bare<const T> {
    typedef T type;
};

template <int... I> struct tn_numbers {
};
template <int N, int... I> struct tn_count : tn_count<N - 1, N - 1, I...> {
};
template <int... I> struct tn_count<0, I...> {
    typedef tn_numbers<I...> type;
};

template <typename T, T F> struct tn_entry;
template <typename... A, void (*F)(A...)> struct tn_entry<void (*)(A...), F> {
    static_assert(sizeof...(A) <= 64, "fake GPUs take 64 parameters at most");
    static inline const struct tn_argument table[] = {tn_parameter<typename tn_bare<A>::type>::is..., {0, 0, 0, 0, 0}};
    template <int... I> static void call(void **a, tn_numbers<I...>)
    {
        (void)a;
        F(*(typename tn_bare<A>::type *)a[I]...);
    }
    static void run(const struct tn_items *, void **a) { call(a, typename tn_count<sizeof...(A)>::type()); }
    static int add(const char *name, int expression)
    {
        static const struct tn_local none[] = {{0, 0, 0}};
        struct tn_kernel_info *k = &tn_fake_kernels[tn_n_kernels++];
        k->name = name;
        k->barrier = 1;
        k->n_arguments = sizeof...(A);
        k->argument = table;
        k->local = none;
        k->entry = run;
        k->function = (void (*)())F;
        k->expression = expression;
        return 0;
    }
};
template <typename V, V *P> struct tn_entry<V *, P> { /* a variable */
    static int add(const char *name, int)
    {
        tn_fake_variables[tn_n_variables++] = {name, (void *)P, sizeof(V)};
        return 0;
    }
};
