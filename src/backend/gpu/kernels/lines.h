/* backend/gpu/kernels/lines.h: dimensions that kernels walk, as the host has ordered and merged them (backend/gpu/lines.h):
 * the fastest first, with the strides of up to three operands. */

typedef struct Walk {
    i32 n, small; /* small: numbers of elements fit 31 bits, so that indices are divided by halves of the price */
    i64 shape[8], a[8], b[8], c[8];
} Walk;

typedef struct Place {
    i64 a, b, c;
} Place;

/* Where the i-th element lies in each operand. */
DEVICE Place walk_at(const Walk *w, i64 i)
{
    Place p;
    i64 at;
    p.a = p.b = p.c = 0;
    for (int d = 0; d + 1 < w->n; d++) {
        if (w->small) {
            const u32 next = (u32)i / (u32)w->shape[d];
            at = (i64)((u32)i - next * (u32)w->shape[d]);
            i = (i64)next;
        } else {
            const i64 next = i / w->shape[d];
            at = i - next * w->shape[d];
            i = next;
        }
        p.a += at * w->a[d];
        p.b += at * w->b[d];
        p.c += at * w->c[d];
    }
    p.a += i * w->a[w->n - 1];
    p.b += i * w->b[w->n - 1];
    p.c += i * w->c[w->n - 1];
    return p;
}
