/* Which pieces of a block the library's allocator has handed out: tenonFakeBlockTaken and tenonFakeBlockFreed. */
#include "fakegpu/driver.h"
#include <stdlib.h>
#include <string.h>

/* Index of the first piece that ends above the offset. */
static size_t first_above(const fake_block *b, size_t offset)
{
    size_t low = 0, high = b->n_parts;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (b->parts[middle].to > offset)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

bool fake_suballocation_find(const fake_block *b, size_t offset, fake_suballocation *piece)
{
    if (!b->n_parts || b->uncut) {
        *piece = (fake_suballocation){0, b->bytes, true, false};
        return offset < b->bytes;
    }
    size_t i = first_above(b, offset);
    *piece = i < b->n_parts && b->parts[i].from <= offset ? b->parts[i] : (fake_suballocation){0};
    return piece->live;
}

/* From now on the block is one piece, all of which may be touched. */
static void leave_uncut(fake_block *b)
{
    b->uncut = true;
    if (b->device)
        fake_asan_unpoison(b->base + b->device->span, b->bytes);
}

bool fake_suballocation_take(fake_block *b, size_t from, size_t to, fake_suballocation *piece)
{
    if (b->uncut)
        return true;
    size_t first = first_above(b, from), last = first;
    for (; last < b->n_parts && b->parts[last].from < to; last++)
        if (b->parts[last].live) {
            *piece = b->parts[last];
            return false;
        }
    if (b->n_parts + 1 > b->room_parts) {
        size_t room = b->room_parts ? 2 * b->room_parts : 8;
        fake_suballocation *pieces = fake_analysis_memory(b->parts, room * sizeof *pieces);
        if (!pieces) {
            leave_uncut(b);
            return true;
        }
        b->parts = pieces;
        b->room_parts = room;
    }
    memmove(b->parts + first + 1, b->parts + last, (b->n_parts - last) * sizeof *b->parts);
    b->n_parts = b->n_parts - (last - first) + 1;
    b->parts[first] = (fake_suballocation){from, to, true, false};
    return true;
}

fake_suballocation *fake_suballocation_unfenced(fake_block *b, size_t offset, size_t *end)
{
    const size_t i = first_above(b, offset);
    fake_suballocation *p = i < b->n_parts && b->parts[i].from <= offset ? &b->parts[i] : NULL;
    if (!p || !p->live || p->fenced || b->uncut)
        return NULL;
    const size_t next = i + 1 < b->n_parts ? b->parts[i + 1].from : b->bytes;
    const size_t rounded = (p->to + FAKE_GRAIN - 1) / FAKE_GRAIN * FAKE_GRAIN;
    *end = rounded < next ? rounded : next;
    return p;
}

bool fake_suballocation_free(fake_block *b, size_t from)
{
    size_t i = first_above(b, from);
    if (b->uncut)
        return true;
    if (i == b->n_parts || b->parts[i].from != from || !b->parts[i].live)
        return false;
    b->parts[i].live = false;
    return true;
}
