/* backend/cpu/type_*.h: binds op/element.h and the loops to one compute type; each unbinds with op/element_undef.h. */
#define T             float
#define UT            uint32_t
#define TYPE          TN__F32
#define TN_IS_FLOAT   1
#define TN_INFINITY   INFINITY
#define K(x)          ((float)(x))
#define M(f)          m_##f##_f32
#define E(name)       name##_f32
#define DEVICE        static inline __attribute__((always_inline))
#define DEVICE_LOOP   static __attribute__((noinline)) /* a loop of its own, which no vectors take part in */
#define TN_IS_F32     1
#define TN_NARROW     1
#define TN_SPARE      1
#define TW            double
#define KW(x)         ((double)(x))
#define MW(f)         wide_##f
#define FMAW(a, b, c) FMA_F64(a, b, c)
