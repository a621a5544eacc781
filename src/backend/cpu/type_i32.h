/* backend/cpu/type_f32.h says what this is. */
#define T           int32_t
#define UT          uint32_t
#define TYPE        TN__I32
#define TN_IS_FLOAT 0
#define K(x)        ((int32_t)(x))
#define E(name)     name##_i32
#define DEVICE      static inline
#define TN_IS_F32   0
