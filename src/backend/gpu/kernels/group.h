/* backend/gpu/kernels/group.h: words for work items that share a row; combine.h uses them. A group is LOCAL_SIZE(0) lanes (a
 * power of two) of LOCAL_SIZE(1) rows. */
enum { GROUP_ITEMS = 256 }; /* of a group, at most */

#if TN_IS_FLOAT
#define TN_LOWEST  (-TN_INFINITY)
#define TN_HIGHEST TN_INFINITY
#else
#define TN_LOWEST  ((T)((UT)1 << (8 * sizeof(T) - 1)))
#define TN_HIGHEST ((T) ~((UT)1 << (8 * sizeof(T) - 1)))
#endif

#if TN_SHUFFLE
#define XOR_I32(v, mask) ((i32)SHUFFLE_XOR_U32((u32)(v), mask))
#define XOR_I64(v, mask) ((i64)SHUFFLE_XOR_U64((u64)(v), mask))
#define XOR_F32(v, mask) AS_F32(SHUFFLE_XOR_U32(AS_U32(v), mask))
#define XOR_F64(v, mask) AS_F64(SHUFFLE_XOR_U64(AS_U64(v), mask))
#if defined(TN_CT_f32)
#define XOR_T XOR_F32
#elif defined(TN_CT_f64)
#define XOR_T XOR_F64
#elif defined(TN_CT_i32)
#define XOR_T XOR_I32
#else
#define XOR_T XOR_I64
#endif
#endif
