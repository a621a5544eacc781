/* Rows that lie side by side in memory, as columns of a matrix do: brought into rows, and back. */
#include "backend/cpu/cpu.h"

enum {
    WIDTH = 16,
    LENGTH = 256,
    PITCH = LENGTH + 32
}; /* of a tile; rows a power of two apart would fight for the cache */

static bool as_computed(tn_dtype dtype, int type)
{
    return tn__dtypes[dtype].compute == dtype && tn__type_of(dtype) == type;
}

void tn__load_beside(void *dst, int64_t pitch, int type, tn_dtype dtype, const void *src, int64_t stride, int64_t n,
                     int64_t width)
{
    const tn__cpu_isa *isa = tn__isa();
    const size_t size = tn__dtype_size(dtype), item = tn__type_size(type);
    double tile[WIDTH * PITCH];
    if (as_computed(dtype, type)) {
        isa->transpose(dst, pitch, src, stride, n, width, size);
        return;
    }
    for (int64_t w = 0; w < width; w += WIDTH)
        for (int64_t i = 0; i < n; i += LENGTH) {
            const int64_t rows = TN_MIN(WIDTH, width - w), len = TN_MIN(LENGTH, n - i);
            isa->transpose(tile, PITCH, (const char *)src + (size_t)(i * stride + w) * size, stride, len, rows, size);
            for (int64_t r = 0; r < rows; r++)
                isa->load[dtype][type]((char *)dst + (size_t)((w + r) * pitch + i) * item,
                                       (const char *)tile + (size_t)(r * PITCH) * size, 1, len);
        }
}

void tn__store_beside(void *dst, tn_dtype dtype, int64_t stride, const void *src, int64_t pitch, int type, int64_t n,
                      int64_t width)
{
    const tn__cpu_isa *isa = tn__isa();
    const size_t size = tn__dtype_size(dtype), item = tn__type_size(type);
    double tile[WIDTH * PITCH];
    if (as_computed(dtype, type)) {
        isa->transpose(dst, stride, src, pitch, width, n, size);
        return;
    }
    for (int64_t w = 0; w < width; w += WIDTH)
        for (int64_t i = 0; i < n; i += LENGTH) {
            const int64_t rows = TN_MIN(WIDTH, width - w), len = TN_MIN(LENGTH, n - i);
            for (int64_t r = 0; r < rows; r++)
                isa->store[dtype][type]((char *)tile + (size_t)(r * PITCH) * size, 1,
                                        (const char *)src + (size_t)((w + r) * pitch + i) * item, len);
            isa->transpose((char *)dst + (size_t)(i * stride + w) * size, stride, tile, PITCH, rows, len, size);
        }
}
