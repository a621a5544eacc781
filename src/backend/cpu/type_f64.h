/* backend/cpu/type_f32.h says what this is. */
#define T             double
#define UT            uint64_t
#define TYPE          TN__F64
#define TN_IS_FLOAT   1
#define TN_INFINITY   ((double)INFINITY)
#define K(x)          ((double)(x))
#define M(f)          m_##f##_f64
#define E(name)       name##_f64
#define DEVICE        static inline __attribute__((always_inline))
#define DEVICE_LOOP   static __attribute__((noinline)) /* a loop of its own, which no vectors take part in */
#define LOOP_POW      pow /* the C library's: that of vectors takes three times as long for one number */
#define TN_IS_F32     0
#define TN_NARROW     0
#define TN_SPARE      0
#define TW            double
#define KW(x)         ((double)(x))
#define MW(f)         m_##f##_f64
#define FMAW(a, b, c) FMA_F64(a, b, c)
