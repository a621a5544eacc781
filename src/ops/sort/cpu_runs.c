/* Runs of equal elements: the first of each, and the longest one of each row. */
#include "backend/cpu/cpu.h"
#include "core/error.h"
#include "core/parallel.h"

enum { WORK = 32768, CHUNKS = 64 };

/* Elements as the loops of runs read them, a block at a time where they are of another dtype: the one before is its first. */
typedef struct run_reader {
    const char *x;
    tn_dtype dtype;
    int type;
    size_t size;
    bool dense; /* elements are of the compute type */
} run_reader;

static run_reader reader_of(const tn__view *x)
{
    const tn_dtype compute = tn__dtypes[x->dtype].compute;
    return (run_reader){.x = x->data,
                        .dtype = x->dtype,
                        .type = tn__type_of(compute),
                        .size = tn__dtype_size(x->dtype),
                        .dense = compute == x->dtype};
}

#define PICK(W) \
    for (int64_t i = 0; i < n; i++) \
    ((W *)to)[i] = ((const W *)x)[place[i]]

static void pick(void *to, const void *x, const int64_t *place, int64_t n, size_t size)
{
    if (size == 1)
        PICK(uint8_t);
    else if (size == 2)
        PICK(uint16_t);
    else if (size == 4)
        PICK(uint32_t);
    else
        PICK(uint64_t);
}

/* As the loops, of elements of any dtype: from .. last - 1 of those at r->x. */
static int64_t find_runs(const run_reader *r, char *values, int64_t *first, int64_t from, int64_t last)
{
    double block[TN__BLOCK];
    int64_t place[TN__BLOCK], n = 0;
    if (r->dense)
        return tn__isa()->sort.runs[r->type](values, first, r->x, from, last);
    for (int64_t i = from, some; i < last; i += some) {
        const int64_t before = i > 0;
        some = TN_MIN(last - i, TN__BLOCK - before);
        tn__isa()->load[r->dtype][r->type](block, r->x + (size_t)(i - before) * r->size, 1, some + before);
        const int64_t found = tn__isa()->sort.runs[r->type](NULL, place, block, before, some + before);
        for (int64_t k = 0; k < found; k++)
            place[k] += i - before;
        if (values)
            pick(values + (size_t)n * r->size, r->x, place, found, r->size);
        if (first)
            memcpy(first + n, place, (size_t)found * sizeof *first);
        n += found;
    }
    return n;
}

/* ---- of one row of elements ---- */

typedef struct run_job {
    run_reader reader;
    char *values;
    int64_t *first, *run; /* NULL: not asked for */
    int64_t n, chunk, total;
    int64_t found[CHUNKS]; /* by chunk, written from where that begins */
} run_job;

static void runs_of_chunks(void *ctx, int64_t begin, int64_t end)
{
    run_job *j = ctx;
    for (int64_t c = begin; c < end; c++) {
        const int64_t from = c * j->chunk, last = TN_MIN(from + j->chunk, j->n);
        j->found[c] = find_runs(&j->reader, j->values + (size_t)from * j->reader.size,
                                j->first ? j->first + from : NULL, from, last);
    }
}

static void number_runs(void *ctx, int64_t begin, int64_t end)
{
    const run_job *j = ctx;
    for (int64_t k = begin; k < end; k++) {
        const int64_t last = k + 1 < j->total ? j->first[k + 1] : j->n;
        for (int64_t i = j->first[k]; i < last; i++)
            j->run[i] = k;
    }
}

/* What threads found apart moves together. */
static void join_chunks(run_job *j, int64_t chunks)
{
    const size_t size = j->reader.size;
    j->total = j->found[0];
    for (int64_t c = 1; c < chunks; j->total += j->found[c++]) {
        const size_t from = (size_t)(c * j->chunk), to = (size_t)j->total, n = (size_t)j->found[c];
        if (from == to)
            continue;
        memmove(j->values + to * size, j->values + from * size, n * size);
        if (j->first)
            memmove(j->first + to, j->first + from, n * sizeof *j->first);
    }
}

tn_status tn__cpu_runs(const tn__launch *l)
{
    const tn__runs_params *p = l->params;
    run_job j = {.reader = reader_of(&l->in[0]),
                 .values = l->out[0].data,
                 .first = p->starts || p->numbers ? l->out[1].data : NULL,
                 .run = p->numbers ? l->out[2].data : NULL,
                 .n = l->in[0].numel};
    const int64_t threads = TN_MIN(tn__num_threads(), CHUNKS), chunks = TN_MIN(j.n / WORK + 1, threads);
    j.chunk = tn__div_up(j.n, chunks);
    tn__parallel_for(chunks, 1, runs_of_chunks, &j);
    join_chunks(&j, chunks);
    if (j.run && j.total)
        tn__parallel_for(j.total, tn__div_up(WORK, j.n / j.total), number_runs, &j);
    *(int64_t *)l->out[3].data = j.total;
    return TN_OK;
}

/* ---- of each of several rows ---- */

typedef struct most_job {
    const tn__launch *l;
    run_reader reader;
    int64_t n;
    _Atomic bool no_memory;
} most_job;

/* The last element of the longest run of the row begin .. end - 1, of runs that begin at first[*k] and so on, which may be those
 * of rows behind it, too. */
static int64_t end_of_longest(const int64_t *first, int64_t runs, int64_t *k, int64_t begin, int64_t end)
{
    int64_t most = 0, last = 0, start = begin;
    *k += *k < runs && first[*k] == begin;
    while (start < end) {
        const int64_t next = *k < runs && first[*k] < end ? first[(*k)++] : end;
        last = next - start > most ? next - 1 : last;
        most = TN_MAX(most, next - start);
        start = next;
    }
    return last;
}

/* Short rows several at once. */
static void most_of_rows(void *ctx, int64_t begin, int64_t end)
{
    most_job *j = ctx;
    const int64_t n = j->n, at_once = TN_MAX(TN__BLOCK / n, 1);
    int64_t few[TN__BLOCK], *first = few;
    const size_t bytes = (size_t)n * sizeof *first;
    if (n > TN__BLOCK && !(first = tn__block_get(bytes))) {
        j->no_memory = true;
        return;
    }
    for (int64_t i = begin; i < end; i += at_once) {
        const int64_t rows = TN_MIN(at_once, end - i), *indices = (const int64_t *)j->l->in[1].data + i * n;
        run_reader r = j->reader;
        r.x += (size_t)(i * n) * r.size;
        const int64_t runs = find_runs(&r, NULL, first, 0, rows * n);
        for (int64_t row = 0, k = 0; row < rows; row++)
            ((int64_t *)j->l->out[0].data)[i + row] = indices[end_of_longest(first, runs, &k, row * n, row * n + n)];
    }
    if (first != few)
        tn__block_put(first, bytes);
}

tn_status tn__cpu_most(const tn__launch *l)
{
    const tn__view *x = &l->in[0];
    most_job j = {.l = l, .reader = reader_of(x), .n = x->shape[x->ndim - 1]};
    if (x->numel)
        tn__parallel_for(x->numel / j.n, tn__div_up(WORK, j.n), most_of_rows, &j);
    return j.no_memory ? tn__error_memory("places of runs", (size_t)j.n * sizeof(int64_t)) : TN_OK;
}
