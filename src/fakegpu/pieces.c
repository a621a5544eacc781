/* Which pieces of a block the library's allocator has handed out: tenonFakeBlockTaken and tenonFakeBlockFreed. */
#include "fakegpu/driver.h"
#include <stdlib.h>
#include <string.h>

/* Index of the first piece that ends above the offset. */
static size_t first_above(const fake_block *b, size_t offset)
{
    size_t low = 0, high = b->n_pieces;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (b->pieces[middle].to > offset)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

bool fake_piece_find(const fake_block *b, size_t offset, fake_piece *piece)
{
    if (!b->n_pieces) {
        *piece = (fake_piece){0, b->bytes, true, false};
        return offset < b->bytes;
    }
    size_t i = first_above(b, offset);
    *piece = i < b->n_pieces && b->pieces[i].from <= offset ? b->pieces[i] : (fake_piece){0};
    return piece->live;
}

bool fake_piece_take(fake_block *b, size_t from, size_t to, fake_piece *piece)
{
    size_t first = first_above(b, from), last = first;
    for (; last < b->n_pieces && b->pieces[last].from < to; last++)
        if (b->pieces[last].live) {
            *piece = b->pieces[last];
            return false;
        }
    if (b->n_pieces + 1 > b->room_pieces) {
        size_t room = b->room_pieces ? 2 * b->room_pieces : 8;
        fake_piece *pieces = realloc(b->pieces, room * sizeof *pieces);
        if (!pieces)
            return true; /* it is then not checked */
        b->pieces = pieces;
        b->room_pieces = room;
    }
    memmove(b->pieces + first + 1, b->pieces + last, (b->n_pieces - last) * sizeof *b->pieces);
    b->n_pieces = b->n_pieces - (last - first) + 1;
    b->pieces[first] = (fake_piece){from, to, true, false};
    return true;
}

fake_piece *fake_piece_unfenced(fake_block *b, size_t offset, size_t *end)
{
    const size_t i = first_above(b, offset);
    fake_piece *p = i < b->n_pieces && b->pieces[i].from <= offset ? &b->pieces[i] : NULL;
    if (!p || !p->live || p->fenced)
        return NULL;
    const size_t next = i + 1 < b->n_pieces ? b->pieces[i + 1].from : b->bytes;
    const size_t rounded = (p->to + FAKE_GRAIN - 1) / FAKE_GRAIN * FAKE_GRAIN;
    *end = rounded < next ? rounded : next;
    return p;
}

bool fake_piece_free(fake_block *b, size_t from)
{
    size_t i = first_above(b, from);
    if (i == b->n_pieces || b->pieces[i].from != from || !b->pieces[i].live)
        return false;
    b->pieces[i].live = false;
    return true;
}
