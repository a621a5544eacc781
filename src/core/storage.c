/* Storages: made and destroyed. */
#include "core/storage.h"
#include "core/alloc.h"

tn__storage *tn__storage_new(tn_device device, void *data, size_t nbytes, void (*release)(tn__storage *))
{
    tn__storage *s = tn__block_get(sizeof *s);
    if (!s)
        return NULL;
    atomic_init(&s->refs, 1);
    atomic_init(&s->version, 0);
    atomic_init(&s->unseen, 0);
    s->device = device;
    atomic_init(&s->pinned, false);
    atomic_init(&s->exposed, false);
    s->read_only = false;
    s->data = data;
    s->nbytes = nbytes;
    s->stream = NULL;
    s->release = release;
    s->ctx = NULL;
    s->user_release = NULL;
    return s;
}

void tn__storage_destroy(tn__storage *s)
{
    if (s->release)
        s->release(s);
    tn__block_put(s, sizeof *s);
}
