/* Element bytes between files and tensors: byte order, bools that are 0 or 1, tensors over storage on the host. */
#include "data/bytes.h"
#include "autograd/functions.h"
#include "backend/backend.h"
#include "backend/host_touch.h"

/* The loops are plain so that compilers make vector shuffles of them. */
static void swap2(void *data, int64_t n)
{
    uint16_t *p = data;
    for (int64_t i = 0; i < n; i++)
        p[i] = __builtin_bswap16(p[i]);
}

static void swap4(void *data, int64_t n)
{
    uint32_t *p = data;
    for (int64_t i = 0; i < n; i++)
        p[i] = __builtin_bswap32(p[i]);
}

static void swap8(void *data, int64_t n)
{
    uint64_t *p = data;
    for (int64_t i = 0; i < n; i++)
        p[i] = __builtin_bswap64(p[i]);
}

void tn__swap_bytes(void *data, int64_t n, size_t item)
{
    if (item == 2)
        swap2(data, n);
    else if (item == 4)
        swap4(data, n);
    else if (item == 8)
        swap8(data, n);
}

void tn__bool_bytes(void *data, int64_t n)
{
    uint8_t *p = data;
    for (int64_t i = 0; i < n; i++)
        p[i] = p[i] != 0;
}

bool tn__is_bool_bytes(const void *data, int64_t n)
{
    const uint8_t *p = data;
    uint8_t all = 0;
    for (int64_t i = 0; i < n; i++)
        all |= p[i];
    return all <= 1;
}

tn__storage *tn__host_storage(size_t nbytes)
{
    return tn__backend_of(TN_CPU)->allocate(TN_CPU, nbytes);
}

tn_tensor *tn__tensor_over(tn__storage *s, tn_dtype dtype, const int64_t *shape, int32_t ndim, const int64_t *stride)
{
    tn_tensor *t = tn__tensor_new(dtype, TN_CPU, shape, ndim, stride);
    if (t)
        t->storage = s;
    else
        tn__storage_release(s);
    return t;
}

const tn_tensor *tn__host_rows(const tn_tensor *t)
{
    bool was = tn__set_no_grad(true);
    const tn_tensor *rows = tn_contiguous(tn_cpu((tn_tensor *)(uintptr_t)t));
    tn__set_no_grad(was);
    return rows && !tn__host_touch(rows, false) ? rows : NULL;
}
