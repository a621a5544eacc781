/* The nodes of a backward pass: a heap, latest recorded first, and a hash to find them. */
#include "autograd/engine.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/thread.h"

enum { KEEP = 4096 };

static void scratch_free(void *arg)
{
    tn__scratch *s = arg;
    tn__block_put(s->entries, (size_t)s->entry_cap * sizeof *s->entries);
    tn__block_put(s->heap, (size_t)s->heap_cap * sizeof *s->heap);
    tn__block_put(s->slots, (size_t)s->slot_cap * sizeof *s->slots);
    tn__backward_streams_free(&s->streams);
    tn__block_put(s, sizeof *s);
}

tn__scratch *tn__scratch_get(tn__thread *t)
{
    tn__scratch *s = t->engine;
    if (!s || s->busy) {
        s = tn__block_zero(sizeof *s);
        if (!s) {
            tn__error_memory("a backward pass", sizeof *s);
            return NULL;
        }
        if (!t->engine) {
            t->engine = s;
            t->engine_free = scratch_free;
        }
    }
    s->busy = true;
    return s;
}

void tn__pending_release_many(tn__pending *e)
{
    const int32_t n = e->node->n_out;
    for (int32_t o = 0; o < n; o++)
        tn__object_release(e->many[o]);
    tn__block_put(e->many, 2 * sizeof *e->many * (size_t)n);
}

void tn__scratch_put(tn__thread *t, tn__scratch *s)
{
    for (int64_t i = 0; i < s->entry_n; i++)
        if (s->entries[i].node) { /* a pass that failed leaves some */
            if (!s->entries[i].done)
                tn__pending_release(&s->entries[i]);
            tn__object_release(&s->entries[i].node->obj);
        }
    s->entry_n = s->heap_n = 0;
    if (s->slots)
        memset(s->slots, 0, (size_t)s->slot_cap * sizeof *s->slots);
    s->busy = false;
    if (t->engine != s)
        scratch_free(s);
    else if (s->entry_cap > KEEP) {
        t->engine = NULL;
        scratch_free(s);
    }
}

static void slot_insert(tn__scratch *s, int64_t index)
{
    uint64_t mask = (uint64_t)s->slot_cap - 1, i = tn__pointer_hash(s->entries[index].node) & mask;
    while (s->slots[i])
        i = (i + 1) & mask;
    s->slots[i] = index + 1;
}

static bool grow_slots(tn__scratch *s)
{
    int64_t cap = s->slot_cap ? s->slot_cap * 2 : 64;
    int64_t *slots = tn__block_zero((size_t)cap * sizeof *slots);
    if (!slots)
        return false;
    tn__block_put(s->slots, (size_t)s->slot_cap * sizeof *slots);
    s->slots = slots;
    s->slot_cap = cap;
    for (int64_t i = 0; i < s->entry_n; i++)
        if (s->entries[i].node)
            slot_insert(s, i);
    return true;
}

static bool later(const tn__scratch *s, int64_t a, int64_t b)
{
    return s->entries[a].node->seq > s->entries[b].node->seq;
}

static void heap_push(tn__scratch *s, int64_t index)
{
    int64_t i = s->heap_n++;
    for (; i > 0 && later(s, index, s->heap[(i - 1) / 2]); i = (i - 1) / 2)
        s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = index;
}

static int64_t pop(tn__scratch *s)
{
    int64_t top = s->heap[0], last = s->heap[--s->heap_n], i = 0;
    for (;;) {
        int64_t child = 2 * i + 1;
        if (child >= s->heap_n)
            break;
        if (child + 1 < s->heap_n && later(s, s->heap[child + 1], s->heap[child]))
            child++;
        if (later(s, last, s->heap[child]))
            break;
        s->heap[i] = s->heap[child];
        i = child;
    }
    s->heap[i] = last;
    return top;
}

void tn__scratch_pop(tn__scratch *s, tn__pending *e)
{
    tn__pending *at = &s->entries[pop(s)];
    at->done = true;
    *e = *at;
}

/* Entries are not reused within a pass, so the hash needs no deletion: done entries lose their node's gradients, not
 * their place. */
int64_t tn__scratch_find(tn__scratch *s, tn__node *node)
{
    if (s->slot_cap) {
        uint64_t mask = (uint64_t)s->slot_cap - 1;
        for (uint64_t i = tn__pointer_hash(node) & mask; s->slots[i]; i = (i + 1) & mask)
            if (s->entries[s->slots[i] - 1].node == node)
                return s->slots[i] - 1;
    }
    int64_t index = s->entry_n;
    if (!tn__grow(&s->entries, sizeof *s->entries, &s->entry_cap, index + 1) ||
        !tn__grow(&s->heap, sizeof *s->heap, &s->heap_cap, s->heap_n + 1) ||
        (2 * (index + 1) > s->slot_cap && !grow_slots(s))) {
        tn__error_memory("a backward pass", sizeof(tn__pending) * (size_t)(index + 1));
        return -1;
    }
    tn_tensor **many = NULL;
    if (TN_UNLIKELY(node->n_out > TN__MAX_OUT) && !(many = tn__block_zero(2 * sizeof *many * (size_t)node->n_out))) {
        tn__error_memory("a backward pass", 2 * sizeof *many * (size_t)node->n_out);
        return -1;
    }
    s->entries[index] = (tn__pending){.node = tn__object_retain(&node->obj), .many = many};
    s->entry_n++;
    slot_insert(s, index);
    heap_push(s, index);
    return index;
}
