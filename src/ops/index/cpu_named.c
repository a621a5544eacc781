/* Sums and products of 16 bits are rounded once, when all that meets at a place is in a float: here only what indices name has
 * one. */
#include "core/alloc.h"
#include "ops/index/cpu_points.h"

/* ---- numbers of keys ---- */

bool tn__numbering_init(tn__numbering *t, int64_t most)
{
    int bits = 4;
    while (((int64_t)1 << bits) < 2 * most)
        bits++;
    const size_t slots = (size_t)1 << bits;
    *t = (tn__numbering){.bits = bits, .bytes = (slots + (size_t)most) * sizeof *t->key};
    t->slot = tn__block_get(t->bytes);
    if (!t->slot)
        return false;
    memset(t->slot, 0, slots * sizeof *t->slot);
    t->key = t->slot + slots;
    return true;
}

int64_t tn__number_of(tn__numbering *t, int64_t key)
{
    const uint64_t mask = ((uint64_t)1 << t->bits) - 1;
    uint64_t at = (uint64_t)key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - t->bits); /* 2^64 by the golden ratio */
    while (t->slot[at] && t->key[t->slot[at] - 1] != key)
        at = (at + 1) & mask;
    if (!t->slot[at]) {
        t->key[t->n] = key;
        t->slot[at] = ++t->n;
    }
    return t->slot[at] - 1;
}

void tn__numbering_release(tn__numbering *t)
{
    tn__block_put(t->slot, t->bytes);
}

/* ---- points ---- */

/* To find a point's float takes as long as to convert so many elements there and back (measured). */
enum { FEW = 64 };

bool tn__are_few(const tn__view *table, const tn__view *index)
{
    return index->numel < table->numel / FEW;
}

static float float_at(const tn__view *v, int64_t offset)
{
    float f;
    tn__isa()->load[v->dtype][TN__F32](&f, (const char *)v->data + offset * (int64_t)tn__dtype_size(v->dtype), 1, 1);
    return f;
}

/* Where the i-th index and its other side are, and the table's element. */
static int64_t offsets_of(const tn__view *table, const tn__view *index, const tn__view *other, int64_t dim, int64_t i,
                          int64_t *at_other)
{
    int64_t at = 0, at_index = 0;
    *at_other = 0;
    for (int32_t d = index->ndim - 1; d >= 0; i /= index->shape[d--]) {
        const int64_t k = i % index->shape[d];
        at_index += k * index->stride[d];
        *at_other += other && other->ndim ? k * other->stride[d] : 0;
        at += table->ndim && d != dim ? k * table->stride[d] : 0;
    }
    return at + index_at(index, at_index) * (table->ndim ? table->stride[dim] : 0);
}

bool tn__put_few(const tn__view *table, const tn__view *index, const tn__view *other, const void *value, int64_t dim,
                 effect what)
{
    const int64_t n = index->numel, size = (int64_t)tn__dtype_size(table->dtype);
    const size_t bytes = (size_t)n * sizeof(float);
    tn__numbering named;
    float *sum = tn__block_get(bytes), number = 0;
    if (!sum || !tn__numbering_init(&named, n)) {
        if (sum)
            tn__block_put(sum, bytes);
        return false;
    }
    if (!other)
        tn__isa()->load[table->dtype][TN__F32](&number, value, 1, 1);
    for (int64_t i = 0; i < n; i++) {
        int64_t at_other;
        const int64_t at = offsets_of(table, index, other, dim, i, &at_other), known = named.n;
        const int64_t k = tn__number_of(&named, at);
        const float with = other ? float_at(other, at_other) : number,
                    so_far = k == known ? float_at(table, at) : sum[k];
        sum[k] = what == ADD ? so_far + with : so_far * with;
    }
    for (int64_t k = 0; k < named.n; k++)
        tn__isa()->store[table->dtype][TN__F32]((char *)table->data + named.key[k] * size, 1, &sum[k], 1);
    tn__numbering_release(&named);
    tn__block_put(sum, bytes);
    return true;
}
