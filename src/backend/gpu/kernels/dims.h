/* backend/gpu/kernels/dims.h: how kernels index the dimensions of a tn__gpu_dims. */

/* Variants of 8 and above are for 2^31 elements and more: others divide by multiplication. */
#define TN_LARGE (TN_VARIANT >= 8)
#define TN_KIND  (TN_VARIANT % 8)

#include "dims_layout.h"

typedef struct Offsets {
    i64 a, b, c;
} Offsets;

/* Where the i-th element lies in each operand. */
DEVICE Offsets dims_at(const tn__gpu_dims *w, i64 i)
{
    Offsets p;
    i64 at;
    p.a = p.b = p.c = 0;
    for (int d = 0; d + 1 < w->n; d++) {
#if TN_LARGE
        const i64 next = i / w->shape[d];
        at = i - next * w->shape[d];
#else
        const u32 next = (MULHI_U32((u32)i, w->magic[d]) + (u32)i) >> w->shift[d];
        at = (i64)((u32)i - next * (u32)w->shape[d]);
#endif
        i = (i64)next;
        p.a += at * w->a[d];
        p.b += at * w->b[d];
        p.c += at * w->c[d];
    }
    p.a += i * w->a[w->n - 1];
    p.b += i * w->b[w->n - 1];
    p.c += i * w->c[w->n - 1];
    return p;
}
