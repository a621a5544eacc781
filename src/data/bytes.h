/* data/bytes.h: element bytes on their way between files and tensors. */
#ifndef TENON_DATA_BYTES_H
#define TENON_DATA_BYTES_H

#include "core/tensor.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "src/data maps and writes little-endian files as they lie in memory: this machine needs swaps there"
#endif

/* Reverses the bytes of each of n items of 1, 2, 4 or 8 bytes. */
void tn__swap_bytes(void *data, int64_t n, size_t item);

/* Makes every byte 0 or 1, as bool tensors have them: files may say 'true' with any other byte. */
void tn__bool_bytes(void *data, int64_t n);
/* Are they 0 or 1? */
bool tn__is_bool_bytes(const void *data, int64_t n);

/* Uninitialised CPU memory. NULL, with TN_ENOMEM set, where there is too little. */
tn__storage *tn__host_storage(size_t nbytes);

/* A CPU tensor over a storage, whose reference it takes over (also on error); stride NULL: row-major. In no scope. */
tn_tensor *tn__tensor_over(tn__storage *s, tn_dtype dtype, const int64_t *shape, int32_t ndim, const int64_t *stride);

/* t's elements in row-major order on the CPU: t itself, or a copy that the innermost scope owns. NULL on error. */
const tn_tensor *tn__host_rows(const tn_tensor *t);

#endif
