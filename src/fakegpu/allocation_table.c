/* Allocations by address: a sorted array, since there are few (the library caches) and look-ups are many. */
#include "fakegpu/driver.h"
#include <stdlib.h>
#include <string.h>

size_t fake_table_after(const fake_table *t, const void *address)
{
    size_t low = 0, high = t->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->at[middle]->base > (const char *)address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

fake_block *fake_table_find(const fake_table *t, const void *address)
{
    size_t i = fake_table_after(t, address);
    if (i == 0)
        return NULL;
    fake_block *b = t->at[i - 1];
    return (const char *)address < b->base + b->size ? b : NULL;
}

bool fake_table_insert(fake_table *t, fake_block *b)
{
    if (t->n == t->capacity) {
        size_t more = t->capacity ? t->capacity * 2 : 64;
        fake_block **at = realloc(t->at, more * sizeof *at);
        if (!at)
            return false;
        t->at = at;
        t->capacity = more;
    }
    size_t i = fake_table_after(t, b->base);
    memmove(t->at + i + 1, t->at + i, (t->n - i) * sizeof *t->at);
    t->at[i] = b;
    t->n++;
    return true;
}

void fake_table_remove(fake_table *t, const fake_block *b)
{
    size_t i = fake_table_after(t, b->base) - 1;
    t->n--;
    memmove(t->at + i, t->at + i + 1, (t->n - i) * sizeof *t->at);
}
