/* Counting the memory that tensors on meta would take. */
#include "core/meter.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/thread.h"

static void release(tn__meter *m)
{
    if (atomic_fetch_sub(&m->refs, 1) == 1)
        tn__block_put(m, sizeof *m);
}

tn__meter *tn__meter_begin(size_t unit, tn__meter **before)
{
    tn__thread *t = tn__self();
    tn__meter *m = tn__block_zero(sizeof *m);
    if (!m) {
        tn__error_memory("a memory plan", sizeof *m);
        return NULL;
    }
    atomic_init(&m->refs, 1);
    m->unit = unit;
    *before = t->meter;
    t->meter = m;
    return m;
}

void tn__meter_end(tn__meter *m, tn__meter *before)
{
    tn__self()->meter = before;
    release(m);
}

void tn__meter_take(tn__meter *m, size_t bytes)
{
    atomic_fetch_add(&m->refs, 1);
    int64_t live = atomic_fetch_add(&m->live, tn__meter_rounded(m, bytes)) + tn__meter_rounded(m, bytes);
    int64_t peak = atomic_load(&m->peak);
    while (live > peak && !atomic_compare_exchange_weak(&m->peak, &peak, live))
        ;
}

void tn__meter_give(tn__meter *m, size_t bytes)
{
    atomic_fetch_sub(&m->live, tn__meter_rounded(m, bytes));
    release(m);
}
