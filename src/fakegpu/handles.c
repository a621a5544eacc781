/* Which handles are alive: an open-addressed set of pointers, so that a stale one is an error and not a crash. */
#include "fakegpu/driver.h"
#include <stdlib.h>

typedef struct entry {
    const void *handle; /* NULL: empty */
    fake_kind kind;     /* 0: a removed one */
} entry;

static struct {
    entry *at;
    size_t capacity, used; /* used: removed ones too */
} set;

static size_t place(const void *handle, size_t capacity)
{
    return (size_t)(((uint64_t)(uintptr_t)handle * 0x9e3779b97f4a7c15U) >> 20) & (capacity - 1);
}

static entry *look(const void *handle)
{
    if (!set.capacity || !handle)
        return NULL;
    for (size_t i = place(handle, set.capacity); set.at[i].handle; i = (i + 1) & (set.capacity - 1))
        if (set.at[i].handle == handle)
            return &set.at[i];
    return NULL;
}

static void put(entry *at, size_t capacity, entry e)
{
    size_t i = place(e.handle, capacity);
    while (at[i].handle)
        i = (i + 1) & (capacity - 1);
    at[i] = e;
}

/* Room for one more; removed ones are left behind. */
static bool grow(void)
{
    if ((set.used + 1) * 2 <= set.capacity)
        return true;
    size_t live = 0, capacity = 256;
    for (size_t i = 0; i < set.capacity; i++)
        live += set.at[i].handle && set.at[i].kind;
    while (capacity < (live + 1) * 4)
        capacity *= 2;
    entry *at = calloc(capacity, sizeof *at);
    if (!at)
        return false;
    for (size_t i = 0; i < set.capacity; i++)
        if (set.at[i].handle && set.at[i].kind)
            put(at, capacity, set.at[i]);
    free(set.at);
    set.at = at;
    set.capacity = capacity;
    set.used = live;
    return true;
}

bool fake_handle_add(const void *handle, fake_kind kind)
{
    entry *e = look(handle);
    if (e) {
        e->kind = kind;
        return true;
    }
    if (!grow())
        return false;
    put(set.at, set.capacity, (entry){handle, kind});
    set.used++;
    return true;
}

void fake_handle_remove(const void *handle)
{
    entry *e = look(handle);
    if (e)
        e->kind = 0;
}

bool fake_handle_is(const void *handle, fake_kind kind)
{
    const entry *e = look(handle);
    return e && e->kind == kind;
}
