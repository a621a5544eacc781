/* tenon/dtype.h: what is known of element types: size, name, kind, promotion. */
#ifndef TENON_DTYPE_H
#define TENON_DTYPE_H

#include <tenon/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "float32" for TN_F32; "invalid" for what is no dtype. */
TN_API const char *tn_dtype_name(tn_dtype dtype);

/* TN_F32 for "float32" or "float"; 0, with TN_EINVAL set, for a name that is none. */
TN_API tn_dtype tn_dtype_parse(const char *name);

/* Bytes of one element; 0 for what is no dtype. */
TN_API size_t tn_dtype_size(tn_dtype dtype);

/* True for float16, bfloat16, float32, float64. */
TN_API bool tn_dtype_is_floating_point(tn_dtype dtype);

/* The dtype of an operation on tensors of both: torch.promote_types. 0, with TN_EDTYPE set, where there is none: uint32 and its
 * like are promoted with floating dtypes alone. */
TN_API tn_dtype tn_promote_types(tn_dtype a, tn_dtype b);

/* May a value of one dtype be written into the other without a change of kind? torch.can_cast. */
TN_API bool tn_can_cast(tn_dtype from, tn_dtype to);

/* The dtype of floating-point literals and of factories that were told none. A floating dtype; float32 at first. */
TN_API tn_status tn_set_default_dtype(tn_dtype dtype) TN_MUST_USE;
TN_API tn_dtype tn_get_default_dtype(void);

#ifdef __cplusplus
}
#endif
#endif
