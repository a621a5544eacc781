/* Addresses without memory, and memory that is mapped behind parts of them: cuMemAddressReserve and what belongs to it. What
 * was reserved is one block of the table of its device (that of the current context), so that a tensor over several pieces of
 * memory is one stretch. Neither ends with a context. */
#include "fakegpu/driver.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 2 << 20 };

/* Memory: cuMemCreate's handle, which is its address. */
struct fake_physical {
    fake_physical *next;
    fake_device *device;
    size_t bytes;
    unsigned maps;
    bool released; /* the handle is gone */
};

static fake_physical *all;

static fake_physical **find(unsigned long long handle)
{
    fake_physical **at = &all;
    while (*at && ((uintptr_t)*at != handle || (*at)->released))
        at = &(*at)->next;
    return at;
}

static void put_if_unused(fake_physical *m)
{
    if (!m->released || m->maps)
        return;
    fake_physical **at = &all;
    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    m->device->used -= m->bytes;
    m->device->count[TN__FAKE_FREES]++;
    m->device->count[TN__FAKE_LIVE]--;
    free(m);
}

static bool is_device(const tn__cu_location *l)
{
    return l->type == TN__CU_MEM_LOCATION_DEVICE && l->id >= 0 && l->id < fake.n_visible;
}

tn__cu_result cuMemGetAllocationGranularity(size_t *bytes, const tn__cu_allocation *properties, unsigned option)
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    if (!bytes || !properties || option > 1 || !is_device(&properties->location))
        return fake_leave(TN__CU_INVALID_VALUE);
    *bytes = PAGE;
    return fake_leave(TN__CU_SUCCESS);
}

/* ---- addresses ---- */

enum { RANGES = 1024 };

/* Asked for every pointer that is no other memory of a device, also by threads that have not the lock. */
static struct {
    pthread_mutex_t lock; /* nothing is called under it */
    _Atomic int n;
    struct {
        const char *from, *to;
        fake_device *device;
    } at[RANGES];
} ranges = {.lock = PTHREAD_MUTEX_INITIALIZER};

fake_device *fake_reserved_device(const char *address)
{
    fake_device *d = NULL;
    if (!atomic_load_explicit(&ranges.n, memory_order_acquire) ||
        fake_forked()) /* the lock may be held for ever there */
        return NULL;
    pthread_mutex_lock(&ranges.lock);
    for (int i = 0; i < ranges.n && !d; i++)
        if (address >= ranges.at[i].from && address < ranges.at[i].to)
            d = ranges.at[i].device;
    pthread_mutex_unlock(&ranges.lock);
    return d;
}

static bool add_range(fake_device *d, const char *from, size_t bytes)
{
    pthread_mutex_lock(&ranges.lock);
    const bool fits = ranges.n < RANGES;
    if (fits) {
        ranges.at[ranges.n].from = from;
        ranges.at[ranges.n].to = from + bytes;
        ranges.at[ranges.n].device = d;
        ranges.n++;
    }
    pthread_mutex_unlock(&ranges.lock);
    return fits;
}

static void remove_range(const char *from)
{
    pthread_mutex_lock(&ranges.lock);
    int i = 0;
    while (i < ranges.n && ranges.at[i].from != from)
        i++;
    if (i < ranges.n)
        ranges.at[i] = ranges.at[--ranges.n];
    pthread_mutex_unlock(&ranges.lock);
}

/* The bytes lie as far behind their addresses as those of the device's other memory. */
static char *find_addresses(const fake_device *d, size_t bytes)
{
    char *p = mmap(NULL, d->span + bytes + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static tn__cu_result reserve(fake_device *d, size_t bytes, tn__cu_ptr *pointer)
{
    fake_block *b = calloc(1, sizeof *b);
    fake_physical **pages = calloc(bytes / PAGE, sizeof *pages);
    char *p = b && pages ? find_addresses(d, bytes) : NULL;
    if (p) {
        char *base = p + (PAGE - (uintptr_t)p % PAGE) % PAGE;
        *b = (fake_block){.base = base, .bytes = bytes, .size = bytes, .device = d, .pages = pages, .mapping = p};
        if (add_range(d, base, bytes) && fake_table_insert(&d->blocks, b)) {
            *pointer = (tn__cu_ptr)(uintptr_t)base;
            return TN__CU_SUCCESS;
        }
        remove_range(base);
        munmap(p, d->span + bytes + PAGE);
    }
    free(b);
    free(pages);
    return TN__CU_OUT_OF_MEMORY;
}

tn__cu_result cuMemAddressReserve(tn__cu_ptr *pointer, size_t bytes, size_t alignment, tn__cu_ptr at,
                                  unsigned long long flags)
{
    fake_context *c;
    tn__cu_result r = fake_enter_context(&c);
    if (r)
        return r;
    (void)at; /* a wish */
    if (!pointer || !bytes || bytes % PAGE || alignment > PAGE || flags)
        return fake_leave(TN__CU_INVALID_VALUE);
    return fake_leave(reserve(c->device, bytes, pointer));
}

static fake_block *reserved(tn__cu_ptr pointer, size_t bytes)
{
    fake_block *b = fake_block_of((const void *)(uintptr_t)pointer);
    const size_t at = b ? (size_t)((char *)(uintptr_t)pointer - b->base) : 0;
    return b && b->pages && bytes && at % PAGE == 0 && bytes % PAGE == 0 && bytes <= b->bytes - at ? b : NULL;
}

/* Is memory behind all of the stretch (or, with 'none', behind no part of it)? */
static bool is_mapped(const fake_block *b, size_t from, size_t to, bool none)
{
    for (size_t i = from / PAGE; i * PAGE < to; i++)
        if (!b->pages[i] != none)
            return false;
    return true;
}

bool fake_is_mapped(const fake_block *b, size_t from, size_t to)
{
    return !b->pages || is_mapped(b, from, to, false);
}

tn__cu_result cuMemAddressFree(tn__cu_ptr pointer, size_t bytes)
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    fake_block *b = reserved(pointer, bytes);
    if (!b || b->base != (char *)(uintptr_t)pointer || b->bytes != bytes || !is_mapped(b, 0, bytes, true))
        return fake_leave(TN__CU_INVALID_VALUE);
    fake_table_remove(&b->device->blocks, b);
    remove_range(b->base);
    munmap(b->mapping, b->device->span + bytes + PAGE);
    fake_history_clear(&b->history);
    free(b->parts);
    free(b->pages);
    free(b);
    return fake_leave(TN__CU_SUCCESS);
}

/* ---- memory ---- */

tn__cu_result cuMemCreate(unsigned long long *handle, size_t bytes, const tn__cu_allocation *properties,
                          unsigned long long flags)
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    if (!handle || !properties || !bytes || bytes % PAGE || flags || !is_device(&properties->location) ||
        properties->type != TN__CU_MEM_ALLOCATION_PINNED)
        return fake_leave(TN__CU_INVALID_VALUE);
    fake_device *d = fake.visible[properties->location.id];
    if (fake_fault(FAKE_FAULT_OOM, d->ordinal) || bytes > d->capacity - d->used)
        return fake_leave(TN__CU_OUT_OF_MEMORY);
    fake_physical *m = calloc(1, sizeof *m);
    if (!m)
        return fake_leave(TN__CU_OUT_OF_MEMORY);
    *m = (fake_physical){.next = all, .device = d, .bytes = bytes};
    all = m;
    d->used += bytes;
    d->count[TN__FAKE_ALLOCATIONS]++;
    d->count[TN__FAKE_LIVE]++;
    *handle = (uintptr_t)m;
    return fake_leave(TN__CU_SUCCESS);
}

tn__cu_result cuMemRelease(unsigned long long handle)
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    fake_physical *m = *find(handle);
    if (!m)
        return fake_leave(TN__CU_INVALID_VALUE);
    m->released = true;
    put_if_unused(m);
    return fake_leave(TN__CU_SUCCESS);
}

/* All of the memory, at one place: what Tenon does. */
tn__cu_result cuMemMap(tn__cu_ptr pointer, size_t bytes, size_t offset, unsigned long long handle,
                       unsigned long long flags)
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    fake_block *b = reserved(pointer, bytes);
    fake_physical *m = *find(handle);
    const size_t from = b ? (size_t)((char *)(uintptr_t)pointer - b->base) : 0;
    if (!b || !m || offset || flags || m->bytes != bytes || m->maps || m->device != b->device ||
        !is_mapped(b, from, from + bytes, true))
        return fake_leave(TN__CU_INVALID_VALUE);
    char *memory = b->base + b->device->span + from;
    if (mprotect(memory, bytes, PROT_READ | PROT_WRITE))
        return fake_leave(TN__CU_OUT_OF_MEMORY);
    fake_poison(memory, bytes);
    for (size_t i = 0; i < bytes / PAGE; i++)
        b->pages[from / PAGE + i] = m;
    m->maps = 1;
    return fake_leave(TN__CU_SUCCESS);
}

/* The devices' access to the memory is checked by their links, as for other memory. */
tn__cu_result cuMemSetAccess(tn__cu_ptr pointer, size_t bytes, const tn__cu_access *access, size_t n)
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    const fake_block *b = reserved(pointer, bytes);
    const size_t from = b ? (size_t)((char *)(uintptr_t)pointer - b->base) : 0;
    bool good = b && access && n && is_mapped(b, from, from + bytes, false);
    for (size_t i = 0; good && i < n; i++)
        good = is_device(&access[i].location) && access[i].flags == TN__CU_MEM_ACCESS_READWRITE;
    return fake_leave(good ? TN__CU_SUCCESS : TN__CU_INVALID_VALUE);
}

/* Exactly what was mapped, whole; work that nobody has waited for must not touch it. */
tn__cu_result cuMemUnmap(tn__cu_ptr pointer, size_t bytes)
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    fake_block *b = reserved(pointer, bytes);
    const size_t from = b ? (size_t)((char *)(uintptr_t)pointer - b->base) : 0;
    if (!b || !is_mapped(b, from, from + bytes, false) || b->pages[from / PAGE]->bytes != bytes ||
        b->pages[from / PAGE] != b->pages[(from + bytes) / PAGE - 1])
        return fake_leave(TN__CU_INVALID_VALUE);
    if (fake.order && fake_order_host("unmaps", &(fake_touch){b, from, from + bytes, true}))
        return fake_leave(TN__CU_ILLEGAL_STATE);
    fake_physical *m = b->pages[from / PAGE];
    char *memory = b->base + b->device->span + from;
    fake_asan_unpoison(memory, bytes);
    mmap(memory, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    memset(b->pages + from / PAGE, 0, bytes / PAGE * sizeof *b->pages);
    fake_history_renew(&b->history, from, from + bytes);
    m->maps = 0;
    put_if_unused(m);
    return fake_leave(TN__CU_SUCCESS);
}
