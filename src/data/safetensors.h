/* data/safetensors.h: what reader and writer of safetensors share. */
#ifndef TENON_DATA_SAFETENSORS_H
#define TENON_DATA_SAFETENSORS_H

#include "core/dtype.h"

enum { TN__SAFETENSORS_HEADER_MAX = 100000000 }; /* bytes; the format's own limit */

#define TN__SAFETENSORS_METADATA "__metadata__"

typedef struct tn__safetensors_type {
    const char *name;
    int32_t bits;
} tn__safetensors_type;

/* All that the format knows, in the order of the reference implementation: later ones come first in a file. */
enum { TN__SAFETENSORS_TYPES = 22 };
extern const tn__safetensors_type tn__safetensors_types[TN__SAFETENSORS_TYPES];

/* Tenon's dtype of that name; 0: it has no such tensors. */
tn_dtype tn__safetensors_dtype(const char *name);

/* Heap sort of pointers, so that nothing is allocated (qsort may) and no order of the input is slow. */
void tn__safetensors_sort(void **item, int64_t n, bool (*before)(const void *, const void *));

#endif
