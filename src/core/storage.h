/* core/storage.h: memory on one device, shared by a tensor, its views and its detached aliases. */
#ifndef TENON_CORE_STORAGE_H
#define TENON_CORE_STORAGE_H

#include "core/base.h"

typedef struct tn__storage tn__storage;

struct tn__storage {
    _Atomic int32_t refs;
    _Atomic uint32_t version; /* counts in-place writes; autograd compares */
    _Atomic uint32_t unseen;  /* counts those through tensors that autograd is not to see (tn_tensor_data) */
    tn_device device;
    _Atomic bool pinned;  /* page-locked host memory of a GPU backend; no longer once its device was reset */
    _Atomic bool exposed; /* its address was given out: it may be written to behind the version's back */
    bool read_only;       /* memory the library must not write: a mapped file */
    void *data;           /* NULL on meta, and where nbytes is 0 */
    size_t nbytes;
    struct tn__stream *stream; /* whose order the memory follows: the one it was allocated on. Kept alive by the backend
                                  that made the storage; NULL where work is not queued, or the memory is the host's */
    void (*release)(tn__storage *); /* gives data back; run once, at the last reference */
    void *ctx;                      /* release's own */
    void (*user_release)(void *);
};

/* A storage struct around memory that 'release' gives back. NULL when memory is out (then release is not called). */
tn__storage *tn__storage_new(tn_device device, void *data, size_t nbytes, void (*release)(tn__storage *));

static inline tn__storage *tn__storage_retain(tn__storage *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

void tn__storage_destroy(tn__storage *s);

static inline void tn__storage_release(tn__storage *s)
{
    if (s && (atomic_load_explicit(&s->refs, memory_order_acquire) == 1 ||
              atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1))
        tn__storage_destroy(s);
}

static inline uint32_t tn__storage_version(const tn__storage *s)
{
    return atomic_load_explicit(&s->version, memory_order_relaxed);
}

static inline void tn__storage_expose(tn__storage *s)
{
    if (s)
        atomic_store_explicit(&s->exposed, true, memory_order_relaxed);
}

#endif
