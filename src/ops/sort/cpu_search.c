/* Looking up values in sorted rows. */
#include "backend/cpu/cpu.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/parallel.h"
#include "ops/sort/infer_search.h"

typedef struct search_job {
    const tn__launch *l;
    const char *rows;         /* dense, of the compute type */
    int64_t n, count, blocks; /* elements of a row; values that are looked up in it; blocks of them */
    int type, how;
    bool ascends; /* the only row there is */
} search_job;

static void store_places(const search_job *j, const int64_t *place, const char *row, const char *value, int64_t at,
                         int64_t count)
{
    const tn__view *out = &j->l->out[0];
    const size_t size = tn__type_size(j->type);
    if (out->dtype == TN_I32) {
        for (int64_t i = 0; i < count; i++)
            ((int32_t *)out->data)[at + i] = (int32_t)place[i];
        return;
    }
    if (out->dtype != TN_BOOL) {
        memcpy((int64_t *)out->data + at, place, (size_t)count * sizeof *place);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        bool found = false;
        if (place[i] < j->n && j->type == TN__F32)
            found = ((const float *)row)[place[i]] == ((const float *)value)[i];
        else if (place[i] < j->n && j->type == TN__F64)
            found = ((const double *)row)[place[i]] == ((const double *)value)[i];
        else if (place[i] < j->n)
            found = !memcmp(row + (size_t)place[i] * size, value + (size_t)i * size, size);
        ((uint8_t *)out->data)[at + i] = found != (j->how == TN__SEARCH_MISSING);
    }
}

/* How a row is searched: to know that it ascends, it is read once, which is worth the while for many values. */
static int way_of(const search_job *j, const char *row)
{
    if (j->how >= TN__SEARCH_FOUND)
        return 4;
    const bool one = j->l->in[0].ndim == 1;
    const bool ascends = one ? j->ascends : j->n <= 4 * j->count && tn__isa()->sort.ascends[j->type](row, j->n);
    return (j->how == TN__SEARCH_BEHIND) + 2 * ascends;
}

static void search_blocks(void *ctx, int64_t begin, int64_t end)
{
    const search_job *j = ctx;
    const tn__view *value = &j->l->in[1];
    const size_t size = tn__type_size(j->type);
    double block[TN__BLOCK];
    int64_t place[TN__BLOCK], last = -1;
    int way = 0;
    for (int64_t b = begin; b < end; b++) {
        const int64_t row = b / j->blocks, first = b % j->blocks * TN__BLOCK, at = row * j->count + first;
        const int64_t count = TN_MIN(j->count - first, TN__BLOCK);
        const char *from = (const char *)value->data + (size_t)at * tn__dtype_size(value->dtype);
        const char *keys = j->rows + (size_t)(row * j->n) * size;
        if (tn__dtypes[value->dtype].compute != value->dtype) {
            tn__isa()->load[value->dtype][j->type](block, from, 1, count);
            from = (const char *)block;
        }
        if (j->n && b / j->blocks != last) {
            last = b / j->blocks;
            way = way_of(j, keys);
        }
        if (j->n)
            tn__isa()->sort.places[j->type](place, keys, j->n, from, count, way);
        else
            memset(place, 0, sizeof place);
        store_places(j, place, keys, from, at, count);
    }
}

/* in: rows, values, both row-major and of one dtype; of rows of one dimension there is one, for all values. */
tn_status tn__cpu_search(const tn__launch *l)
{
    const tn__search_params *p = l->params;
    const tn__view *rows = &l->in[0], *value = &l->in[1];
    search_job j = {.l = l, .rows = rows->data, .how = (int)p->how, .n = rows->shape[rows->ndim - 1]};
    j.type = tn__type_of(tn__dtypes[rows->dtype].compute);
    j.count = rows->ndim == 1 ? value->numel : value->shape[value->ndim - 1];
    if (value->numel == 0)
        return TN_OK;
    const bool converts = tn__dtypes[rows->dtype].compute != rows->dtype && rows->numel;
    const size_t bytes = converts ? (size_t)rows->numel * tn__type_size(j.type) : 0;
    void *buffer = NULL;
    if (converts) {
        if (!(buffer = tn__block_get(bytes)))
            return tn__error_memory("rows to search in", bytes);
        tn__isa()->load[rows->dtype][j.type](buffer, rows->data, 1, rows->numel);
        j.rows = buffer;
    }
    if (rows->ndim == 1 && j.how < TN__SEARCH_FOUND && j.n && j.n <= 4 * j.count)
        j.ascends = tn__isa()->sort.ascends[j.type](j.rows, j.n);
    j.blocks = tn__div_up(j.count, TN__BLOCK);
    tn__parallel_for(value->numel / j.count * j.blocks, 4, search_blocks, &j);
    if (buffer)
        tn__block_put(buffer, bytes);
    return TN_OK;
}
