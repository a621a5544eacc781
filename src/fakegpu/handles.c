/* Which handles are alive: an open-addressed set of pointers, so that a stale one is an error and not a crash. */
#include "fakegpu/driver.h"
#include <stdlib.h>

typedef struct entry {
    const void *handle;          /* NULL: empty */
    fake_kind kind;              /* 0: a removed one */
    const fake_context *context; /* FAKE_LIBRARY: where it was made, in which life of it */
    uint64_t life;
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
    put(set.at, set.capacity, (entry){.handle = handle, .kind = kind});
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

tn__cu_result fake_library_handle_add(const void *handle)
{
    fake_context *c;
    tn__cu_result r = fake_enter_context(&c);
    if (r)
        return r;
    if (!fake_handle_add(handle, FAKE_LIBRARY))
        return fake_leave(TN__CU_OUT_OF_MEMORY);
    entry *e = look(handle);
    e->context = c;
    e->life = c->life;
    return fake_leave(TN__CU_SUCCESS);
}

tn__cu_result fake_library_handle_check(const void *handle)
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    const entry *e = look(handle);
    if (!e || e->kind != FAKE_LIBRARY)
        return fake_leave(TN__CU_INVALID_HANDLE);
    if (e->context->active && e->context->life == e->life)
        return fake_leave(TN__CU_SUCCESS);
    fake_report("a library's handle is used after the context of device %d that it was made in was destroyed",
                e->context->device->ordinal);
    return fake_leave(TN__CU_CONTEXT_IS_DESTROYED);
}

bool fake_library_handle_remove(const void *handle)
{
    if (fake_enter())
        return false;
    const bool is_handle = fake_handle_is(handle, FAKE_LIBRARY);
    if (is_handle)
        fake_handle_remove(handle);
    fake_leave(TN__CU_SUCCESS);
    return is_handle;
}
