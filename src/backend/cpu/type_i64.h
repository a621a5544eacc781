/* backend/cpu/type_f32.h says what this is. */
#define T           int64_t
#define UT          uint64_t
#define TYPE        TN__I64
#define TN_IS_FLOAT 0
#define K(x)        ((int64_t)(x))
#define E(name)     name##_i64
#define DEVICE      static inline
#define TN_IS_F32   0
#define TN_IS_I64   1
