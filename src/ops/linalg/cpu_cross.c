/* Cross products on the CPU, in a pass: vectors that lie far from each other are read once, and many of them at a time. */
#include "backend/cpu/cpu.h"
#include "core/parallel.h"

/* PART: vectors that are worth a thread; AHEAD: those behind one that are asked for while it is computed, where each is in a line
 * of memory of its own (the processor itself asks for none in other pages). */
enum { PART = 4096, AHEAD = 16 };

/* n vectors: elements from number to number of one, and from vector to vector; of the result, a and b. */
typedef struct vectors {
    void *out;
    const void *a, *b;
    int64_t number[3], next[3], n;
} vectors;

typedef void cross_loop(const vectors *v);

/* Into the second cache: lines that lie a power of 2 apart would fight for the same places of the nearest. */
static inline void ask_for(const void *base, int64_t next, int64_t at, int64_t n, size_t size)
{
    if (next * (int64_t)size >= 64 && at < n)
        __builtin_prefetch((const char *)base + at * next * (int64_t)size, 0, 2);
}

/* Products are rounded before they are subtracted; those of integers wrap around. */
#define CROSS(name, T) \
    static void name(const vectors *v) \
    { \
        const int64_t o = v->number[0], i = v->number[1], k = v->number[2]; \
        for (int64_t m = 0; m < v->n; m++) { \
            T *out = (T *)v->out + m * v->next[0]; \
            const T *a = (const T *)v->a + m * v->next[1], *b = (const T *)v->b + m * v->next[2]; \
            ask_for(v->a, v->next[1], m + AHEAD, v->n, sizeof(T)); \
            ask_for(v->b, v->next[2], m + AHEAD, v->n, sizeof(T)); \
            const T a0 = a[0], a1 = a[i], a2 = a[2 * i], b0 = b[0], b1 = b[k], b2 = b[2 * k]; \
            out[0] = a1 * b2 - a2 * b1; \
            out[o] = a2 * b0 - a0 * b2; \
            out[2 * o] = a0 * b1 - a1 * b0; \
        } \
    }
CROSS(cross_f32, float)
CROSS(cross_f64, double)
CROSS(cross_i32, uint32_t)
CROSS(cross_i64, uint64_t)
#undef CROSS

/* ---- of 16 bits: as many vectors as lie side by side in BLOCK, widened, each product and difference rounded ---- */

enum { BLOCK = 64 };

static inline float wide(uint16_t h)
{
    const union {
        uint32_t bits;
        float value;
    } u = {.bits = (uint32_t)h << 16};
    return u.value;
}

static inline float rounded(float x)
{
    union {
        float value;
        uint32_t bits;
    } u = {.value = x};
    const uint32_t even = u.bits + 0x7fff + (u.bits >> 16 & 1), nan = u.bits | 0x400000;
    u.bits = ((u.bits & 0x7fffffff) > 0x7f800000 ? nan : even) & 0xffff0000;
    return u.value;
}

static void gather(const uint16_t *from, int64_t number, int64_t next, int64_t n, int64_t all, float x[3][BLOCK])
{
    for (int64_t m = 0; m < n; m++, from += next) {
        ask_for(from, next, AHEAD, all - m, sizeof *from);
        x[0][m] = wide(from[0]);
        x[1][m] = wide(from[number]);
        x[2][m] = wide(from[2 * number]);
    }
}

static void cross_bf16(const vectors *v)
{
    float a[3][BLOCK], b[3][BLOCK], c[BLOCK];
    for (int64_t first = 0, n; first < v->n; first += n) {
        n = TN_MIN(BLOCK, v->n - first);
        gather((const uint16_t *)v->a + first * v->next[1], v->number[1], v->next[1], n, v->n - first, a);
        gather((const uint16_t *)v->b + first * v->next[2], v->number[2], v->next[2], n, v->n - first, b);
        for (int i = 0; i < 3; i++) {
            const float *a1 = a[(i + 1) % 3], *a2 = a[(i + 2) % 3], *b1 = b[(i + 1) % 3], *b2 = b[(i + 2) % 3];
            for (int64_t m = 0; m < n; m++)
                c[m] = rounded(rounded(a1[m] * b2[m]) - rounded(a2[m] * b1[m]));
            uint16_t *out = (uint16_t *)v->out + first * v->next[0] + i * v->number[0];
            for (int64_t m = 0; m < n; m++) {
                const union {
                    float value;
                    uint32_t bits;
                } u = {.value = c[m]};
                out[m * v->next[0]] = (uint16_t)(u.bits >> 16);
            }
        }
    }
}

typedef struct cross_job {
    const tn__view *view[3];
    int32_t dim, along; /* of the numbers, and the longest of the others; -1: there is none */
    int64_t parts;      /* that vectors along the latter are cut into */
    cross_loop *loop;
} cross_job;

static void cross_parts(void *ctx, int64_t begin, int64_t end)
{
    const cross_job *j = ctx;
    const int64_t *shape = j->view[0]->shape, all = j->along < 0 ? 1 : shape[j->along];
    for (int64_t t = begin; t < end; t++) {
        const int64_t first = t % j->parts * PART, size = (int64_t)tn__dtype_size(j->view[0]->dtype);
        int64_t rest = t / j->parts, at[3] = {0};
        vectors v = {.n = TN_MIN(PART, all - first)};
        for (int32_t d = j->view[0]->ndim - 1; d >= 0; d--) {
            const bool counts = d != j->dim && d != j->along;
            const int64_t index = d == j->along ? first : counts ? rest % shape[d] : 0;
            rest = counts ? rest / shape[d] : rest;
            for (int k = 0; k < 3; k++)
                at[k] += index * j->view[k]->stride[d];
        }
        for (int k = 0; k < 3; k++) {
            v.number[k] = j->view[k]->stride[j->dim];
            v.next[k] = j->along < 0 ? 0 : j->view[k]->stride[j->along];
        }
        v.out = (char *)j->view[0]->data + at[0] * size;
        v.a = (const char *)j->view[1]->data + at[1] * size;
        v.b = (const char *)j->view[2]->data + at[2] * size;
        j->loop(&v);
    }
}

/* a and b have the result's shape. */
tn_status tn__cpu_cross(const tn__launch *l)
{
    static cross_loop *const loops[TN__TYPES] = {
        [TN__F32] = cross_f32, [TN__F64] = cross_f64, [TN__I32] = cross_i32, [TN__I64] = cross_i64};
    const tn__cross_params *p = l->params;
    const tn__view *out = &l->out[0];
    cross_job j = {.view = {out, &l->in[0], &l->in[1]}, .dim = (int32_t)p->dim, .along = -1};
    for (int32_t d = 0; d < out->ndim; d++)
        if (d != j.dim && (j.along < 0 || out->shape[d] > out->shape[j.along]))
            j.along = d;
    if (out->numel == 0)
        return TN_OK;
    const int64_t all = j.along < 0 ? 1 : out->shape[j.along];
    j.parts = tn__div_up(all, PART);
    j.loop = out->dtype == TN_BF16 ? cross_bf16 : loops[tn__type_of(out->dtype)];
    tn__parallel_for(out->numel / 3 / all * j.parts, tn__div_up(PART, TN_MIN(all, PART)), cross_parts, &j);
    return TN_OK;
}
