/* Datasets and samplers of the user's: called, and what they say checked. */
#include "data/dataset.h"
#include "autograd/functions.h"
#include "backend/backend.h"
#include "core/alloc.h"
#include "core/callback.h"
#include "core/parallel.h"
#include "core/philox.h"

enum { WORKERS_MAX = 256 };

struct tn__dataset {
    tn_dataset is; /* its name is owned */
    size_t fields, tensors;
    int32_t workers;
};

/* ---- around a callback ---- */

typedef struct visit {
    tn__visit is;
    tn_device default_device;
    bool no_grad;
} visit;

static void enter(visit *v)
{
    tn__visit_begin(&v->is);
    v->default_device = v->is.t->default_device;
    v->is.t->default_device = TN_CPU;
    v->no_grad = tn__set_no_grad(true);
}

static void leave(visit *v)
{
    tn__set_no_grad(v->no_grad);
    v->is.t->default_device = v->default_device;
    tn__visit_end(&v->is);
}

/* Everything of a list that a callback wrote is a tensor on the CPU. */
static tn_status check_list(const visit *v, tn_status e, const char *what, const char *whose, tn_tensor *const *t,
                            size_t n)
{
    e = tn__visit_answer(&v->is, e, what, whose);
    if (e)
        return e;
    for (size_t i = 0; i < n; i++) {
        if (!t[i] && tn_error_code())
            return tn_error_code();
        if (!t[i] || t[i] == TN_NONE)
            return tn__error(t[i] ? TN_ETYPE : TN_EINVAL, "%s of %s gave %s as tensor %zu of %zu", what, whose,
                             t[i] ? "TN_NONE" : "NULL", i, n);
        if (t[i]->device.type != TN_DEVICE_CPU)
            return tn__error(
                TN_EDEVICE,
                "%s of %s gave a tensor on %s, batches are made on the cpu: the loader's .device says where "
                "they go",
                what, whose, tn_device_text(t[i]->device).s);
    }
    return TN_OK;
}

static void release_list(tn_tensor **t, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tn__object_release(t[i]);
}

/* ---- items ---- */

/* One batch in the making. */
typedef struct making {
    const tn__dataset *d;
    const tn__batch *b;
    tn_tensor **item;       /* [count * fields]; NULL: not there (yet) */
    _Atomic int64_t failed; /* the first item that could not be had; count: none */
    tn__error_copy error[]; /* [workers]: each one's first */
} making;

/* A number that depends on seed, epoch and row alone. */
static uint64_t seed_of(const tn__batch *b, int64_t row)
{
    const uint32_t tag = 0x6974656d; /* "item" */
    const uint32_t key[2] = {(uint32_t)b->seed, (uint32_t)(b->seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)row, (uint32_t)((uint64_t)row >> 32), (uint32_t)b->epoch,
                                 tag ^ (uint32_t)((uint64_t)b->epoch >> 32)};
    tn__u32x4 block = tn__philox(key, counter);
    return (uint64_t)block.v[1] << 32 | block.v[0];
}

/* Item i of the batch, with references. */
static tn_status get_item(const making *m, int64_t i)
{
    const tn__dataset *d = m->d;
    const int64_t row = m->b->order ? m->b->order[m->b->begin + i] : m->b->begin + i;
    tn_tensor **item = m->item + (size_t)i * d->fields;
    visit v;
    enter(&v);
    tn_status e = d->is.get(d->is.ctx, row, seed_of(m->b, row), item, d->fields);
    e = check_list(&v, e, "get", d->is.name, item, d->fields);
    if (e)
        tn__error_append("\n  in item %lld of %s", (long long)row, d->is.name);
    for (size_t k = 0; k < d->fields; k++)
        item[k] = e ? NULL : tn__object_retain(item[k]);
    leave(&v);
    return e;
}

/* Notes that item i failed, unless an earlier one did. */
static void note_failure(making *m, int64_t i)
{
    int64_t first = atomic_load(&m->failed);
    while (i < first && !atomic_compare_exchange_weak(&m->failed, &first, i)) {
    }
}

/* Every workers-th item; none behind one that failed, whoever's it was: so the first one that fails is always found. */
static void run_worker(void *ctx, int64_t worker)
{
    making *m = ctx;
    tn__thread *t = tn__self();
    const tn_status before = t->error;
    for (int64_t i = worker; i < m->b->count && i < atomic_load(&m->failed); i += m->d->workers)
        if (get_item(m, i)) {
            tn__error_save(&m->error[worker]);
            note_failure(m, i);
            break;
        }
    t->error = before;
}

static tn_status get_items(making *m)
{
    const int64_t workers = TN_MIN((int64_t)m->d->workers, m->b->count);
    if (workers > 1)
        tn__run_tasks(workers, run_worker, m);
    else
        for (int64_t i = 0; i < m->b->count; i++) {
            tn_status e = get_item(m, i);
            if (e)
                return e;
        }
    const int64_t failed_at = atomic_load(&m->failed);
    if (workers < 2 || failed_at == m->b->count)
        return TN_OK;
    const tn__error_copy *error = &m->error[failed_at % m->d->workers];
    tn__error(error->code, "an item failed"); /* so that there is a record to fill */
    tn__error_restore(error);
    return error->code;
}

/* ---- batches ---- */

/* The items' fields, stacked: "stack expects each tensor to be equal size" where they differ. */
static tn_status stack(const making *m, tn_tensor **out)
{
    const size_t count = (size_t)m->b->count, fields = m->d->fields, bytes = count * sizeof *out;
    tn_tensor **column = tn__block_get(bytes);
    tn_status e = column ? TN_OK : tn__error_memory("a batch", bytes);
    for (size_t k = 0; k < fields && !e; k++) {
        for (size_t i = 0; i < count; i++)
            column[i] = m->item[i * fields + k];
        out[k] = tn_stack(((tn_tensors){column, count}), 0);
        if (!out[k])
            e = tn__error_append("\n  in field %zu of the items of %s: items of different shapes need a collate", k,
                                 m->d->is.name);
    }
    tn__block_put(column, bytes);
    return e;
}

/* t, in memory that nobody else's tensor shows as t does: a reference, in no scope. */
static tn_tensor *own(tn_tensor *t, bool pinned)
{
    if (!pinned) {
        tn_tensor *mine = tn_detach(t);
        return mine ? tn__object_retain(mine) : NULL;
    }
    tn__spec s = {.dtype = t->dtype, .ndim = t->ndim};
    memcpy(s.shape, t->shape, (size_t)t->ndim * sizeof *s.shape);
    tn_tensor *copy = tn__tensor_make_pinned(&s);
    if (copy && tn_copy_(copy, t))
        return copy;
    tn__object_release(copy);
    return NULL;
}

/* out[0 .. tensors) of the items. */
static tn_status collate(const making *m, tn_tensor **out)
{
    const tn__dataset *d = m->d;
    visit v;
    size_t made = 0;
    memset(out, 0, d->tensors * sizeof *out);
    enter(&v);
    tn_status e =
        d->is.collate ? d->is.collate(d->is.ctx, m->item, (size_t)m->b->count, out, d->tensors) : stack(m, out);
    e = check_list(&v, e, "collate", d->is.name, out, d->tensors);
    while (!e && made < d->tensors) {
        tn_tensor *mine = own(out[made], m->b->pinned);
        if (mine)
            out[made++] = mine;
        else
            e = tn_error_code();
    }
    if (e)
        release_list(out, made);
    leave(&v);
    return e;
}

tn_status tn__dataset_batch(const tn__dataset *d, const tn__batch *b, tn_tensor **out)
{
    const size_t n = (size_t)b->count * d->fields, items = n * sizeof(tn_tensor *);
    const size_t bytes = sizeof(making) + (d->workers > 1 ? (size_t)d->workers * sizeof(tn__error_copy) : 0);
    making *m = tn__block_get(bytes);
    tn_tensor **item = tn__block_zero(items);
    tn_status e = m && item ? TN_OK : tn__error_memory("a batch", items + bytes);
    if (!e) {
        m->d = d;
        m->b = b;
        m->item = item;
        atomic_init(&m->failed, b->count);
        e = get_items(m);
        if (!e)
            e = collate(m, out);
    }
    if (item)
        release_list(item, n);
    tn__block_put(item, items);
    tn__block_put(m, bytes);
    return e;
}

/* ---- one dataset ---- */

static tn_status check_callbacks(const tn_dataset *c)
{
    if (!c || c->struct_size < offsetof(tn_dataset, collate) || !c->name || !*c->name)
        return tn__error(TN_EINVAL, "tn_loader_from: a dataset with its size and a name is needed: {.struct_size = "
                                    "sizeof(tn_dataset), .name = \"Points\", .length = ..., .get = ...}");
    if (!c->length || !c->get)
        return tn__error(TN_EINVAL, "tn_loader_from: %s has no %s", c->name, c->length ? "get" : "length");
    return TN_OK;
}

tn__dataset *tn__dataset_new(const tn_dataset *callbacks, int32_t workers)
{
    if (check_callbacks(callbacks))
        return NULL;
    if (workers < 0 || workers > WORKERS_MAX)
        return tn__fail(TN_EVALUE, "workers should be a number of threads, 0 to %d, but got workers=%d",
                        (int)WORKERS_MAX, (int)workers);
    tn__dataset *d = tn__block_zero(sizeof *d);
    char *name = d ? tn__text_get(callbacks->name) : NULL;
    if (!name) {
        tn__block_put(d, sizeof *d);
        return tn__fail(TN_ENOMEM, "out of memory for a dataset");
    }
    memcpy(&d->is, callbacks, TN_MIN(callbacks->struct_size, sizeof d->is));
    d->is.name = name;
    d->fields = d->is.fields ? d->is.fields : 1;
    d->tensors = d->is.collate && d->is.tensors ? d->is.tensors : d->fields;
    d->workers = TN_MAX(workers, 1);
    return d;
}

void tn__dataset_drop(tn__dataset *d)
{
    if (!d)
        return;
    tn__text_put((char *)(uintptr_t)d->is.name);
    tn__block_put(d, sizeof *d);
}

void tn__dataset_free(tn__dataset *d)
{
    visit v;
    if (d && d->is.close) {
        enter(&v);
        d->is.close(d->is.ctx);
        leave(&v);
    }
    tn__dataset_drop(d);
}

int64_t tn__dataset_length(const tn__dataset *d)
{
    visit v;
    enter(&v);
    int64_t n = d->is.length(d->is.ctx);
    v.is.t->site = v.is.site;
    if (n < 0 && tn_error_code())
        tn__error_append("\n  in the length of %s", d->is.name);
    else if (n < 0)
        tn__error(TN_EVALUE, "__len__() should return >= 0\n  the length of %s is %lld", d->is.name, (long long)n);
    leave(&v);
    return n < 0 ? -1 : n;
}

size_t tn__dataset_tensors(const tn__dataset *d)
{
    return d->tensors;
}

/* ---- samplers ---- */

tn_status tn__sampler_order(const tn_sampler *s, uint64_t seed, int64_t epoch, int64_t rows, int64_t *out, int64_t n)
{
    visit v;
    memset(out, 0xff, (size_t)n * sizeof *out); /* -1: what it does not write is noticed */
    enter(&v);
    tn_status e = s->order(s->ctx, seed, epoch, out, n);
    e = tn__visit_answer(&v.is, e, "order", "the sampler");
    for (int64_t i = 0; i < n && !e; i++)
        if (out[i] < 0 || out[i] >= rows)
            e = tn__error(TN_EINDEX, "the sampler gave row %lld at place %lld of epoch %lld: there are %lld rows",
                          (long long)out[i], (long long)i, (long long)epoch, (long long)rows);
    leave(&v);
    return e;
}
