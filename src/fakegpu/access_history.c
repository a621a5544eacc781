/* Who touched which bytes of a block: a sorted array of segments. Operations on the same tensors meet the same segments
 * again and again: the common case changes one in place. When there is no memory, history is forgotten: that only misses
 * an error, and is counted (fake_analysis_memory). */
#include "fakegpu/driver.h"
#include <stdlib.h>
#include <string.h>

/* Index of the first segment that ends above the offset. */
static size_t first_above(const fake_history *h, size_t offset)
{
    size_t low = 0, high = h->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (h->at[middle].to > offset)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

const fake_epoch *fake_history_conflict(const fake_history *h, const fake_touch *t, const fake_clock *clock,
                                        bool *write)
{
    for (size_t i = first_above(h, t->from); i < h->n && h->at[i].from < t->to; i++) {
        const fake_segment *s = &h->at[i];
        *write = true;
        if (s->write.tick && !fake_clock_covers(clock, &s->write))
            return &s->write;
        *write = false;
        for (unsigned k = 0; t->write && k < s->n_reads; k++)
            if (!fake_clock_covers(clock, &s->reads[k]))
                return &s->reads[k];
    }
    return NULL;
}

static bool insert(fake_history *h, size_t i, fake_segment s)
{
    if (h->n == h->room) {
        size_t room = h->room ? 2 * h->room : 4;
        fake_segment *at = fake_analysis_memory(h->at, room * sizeof *at);
        if (!at)
            return false;
        h->at = at;
        h->room = room;
    }
    memmove(h->at + i + 1, h->at + i, (h->n - i) * sizeof *h->at);
    h->at[i] = s;
    h->n++;
    return true;
}

/* Makes the offset a border, if a segment lies across it. */
static bool split(fake_history *h, size_t offset)
{
    size_t i = first_above(h, offset);
    if (i == h->n || h->at[i].from >= offset)
        return true;
    fake_segment right = h->at[i];
    right.from = offset;
    right.room = right.n_reads;
    right.reads = NULL;
    if (right.n_reads) {
        right.reads = fake_analysis_memory(NULL, right.n_reads * sizeof *right.reads);
        if (!right.reads)
            return false;
        memcpy(right.reads, h->at[i].reads, right.n_reads * sizeof *right.reads);
    }
    if (!insert(h, i + 1, right)) {
        free(right.reads);
        return false;
    }
    h->at[i].to = offset;
    return true;
}

/* One read of a stream stands for all its earlier ones. */
static void add_read(fake_segment *s, fake_epoch e)
{
    for (unsigned i = 0; i < s->n_reads; i++)
        if (s->reads[i].slot == e.slot) {
            s->reads[i] = e;
            return;
        }
    if (s->n_reads == s->room) {
        unsigned room = s->room ? 2 * s->room : 2;
        fake_epoch *reads = fake_analysis_memory(s->reads, room * sizeof *reads);
        if (!reads)
            return;
        s->reads = reads;
        s->room = room;
    }
    s->reads[s->n_reads++] = e;
}

static void note_write(fake_history *h, size_t first, const fake_touch *t, fake_epoch e)
{
    size_t last = first;
    while (last < h->n && h->at[last].from < t->to)
        last++;
    if (first == last) {
        insert(h, first, (fake_segment){.from = t->from, .to = t->to, .write = e});
        return;
    }
    for (size_t i = first + 1; i < last; i++)
        free(h->at[i].reads);
    memmove(h->at + first + 1, h->at + last, (h->n - last) * sizeof *h->at);
    h->n -= last - first - 1;
    fake_segment *s = &h->at[first];
    s->from = t->from;
    s->to = t->to;
    s->write = e;
    s->n_reads = 0;
    s->stale = false;
}

static void note_read(fake_history *h, size_t i, const fake_touch *t, fake_epoch e)
{
    for (size_t from = t->from; from < t->to; i++) {
        if (i == h->n || h->at[i].from > from) {
            size_t to = i < h->n && h->at[i].from < t->to ? h->at[i].from : t->to;
            if (!insert(h, i, (fake_segment){.from = from, .to = to}))
                return;
        }
        add_read(&h->at[i], e);
        from = h->at[i].to;
    }
}

void fake_history_note(fake_history *h, const fake_touch *t, fake_epoch epoch)
{
    size_t first = first_above(h, t->from);
    if (first == h->n || h->at[first].from != t->from || h->at[first].to != t->to) {
        if (!split(h, t->from) || !split(h, t->to))
            return;
        first = first_above(h, t->from);
    }
    if (t->write)
        note_write(h, first, t, epoch);
    else
        note_read(h, first, t, epoch);
}

void fake_history_renew(fake_history *h, size_t from, size_t to)
{
    if (!split(h, from) || !split(h, to))
        return;
    for (size_t i = first_above(h, from); i < h->n && h->at[i].from < to; i++)
        h->at[i].stale = h->at[i].write.tick != 0; /* else it holds poison still */
}

bool fake_history_stale(fake_history *h, const fake_touch *t, const fake_clock *clock, fake_touch *stale)
{
    bool wrote;
    if (!split(h, t->from) || !split(h, t->to))
        return false;
    for (size_t i = first_above(h, t->from); i < h->n && h->at[i].from < t->to; i++) {
        *stale = (fake_touch){t->block, h->at[i].from, h->at[i].to, true};
        if (!h->at[i].stale || fake_history_conflict(h, stale, clock, &wrote))
            continue;
        h->at[i].stale = false;
        return true;
    }
    return false;
}

void fake_history_clear(fake_history *h)
{
    for (size_t i = 0; i < h->n; i++)
        free(h->at[i].reads);
    free(h->at);
    *h = (fake_history){0};
}
