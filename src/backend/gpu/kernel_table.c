/* From a launch to its kernel: a table for each device that is read without a lock; behind it the units that are loaded, and
 * the binaries that these are loaded from (kernel_binary.c).
 *
 * A table is not freed before the library goes, but by growing it leaves its place to one twice as large: a reader may
 * still be in the old one, which stays right. A slot's function is written before its key. */
#include "backend/gpu/kernel_binary.h"
#include "backend/gpu/device.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/thread.h"
#include "op/own.h"
#include <pthread.h>
#include <stdio.h>
#include <tenon/sites.h>

typedef struct slot {
    _Atomic uint64_t key; /* 0: free */
    _Atomic(void *) function;
} slot;

typedef struct table {
    struct table *older;
    uint32_t cap, used; /* cap: a power of two */
    slot slot[];
} table;

/* A unit that is loaded, or being made by one thread while others wait for it. */
typedef struct unit {
    uint64_t key;
    void *module;
    tn__making *making; /* NULL: it is there */
} unit;

typedef struct kernels {
    _Atomic(table *) table;
    unit *units;
    int64_t n_units, cap_units;
} kernels;

enum { FIRST_CAP = 1024 };

static struct {
    pthread_mutex_t lock;        /* of everything but reading the tables */
    kernels device[TN__GPU_MAX]; /* by number */
    atomic_bool rows_together;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static inline const tn__gpu_driver *driver_of(tn_device d)
{
    return tn__backend_of(d)->gpu;
}

static inline kernels *kernels_of(tn_device d)
{
    return &all.device[tn__gpu_number(d) & (TN__GPU_MAX - 1)];
}

/* ---- keys ---- */

_Static_assert(TN__FAMILIES < 32 && TN__ROWS <= 1024, "a field of the key is too narrow");

static inline uint64_t unit_key(const tn__gpu_unit *u)
{
    return (uint64_t)1 << 63 | (uint64_t)u->family << 26 | (uint64_t)u->op << 16 | (uint64_t)u->in << 12 |
           (uint64_t)u->out << 8 | (uint64_t)u->compute << 4 | (uint64_t)u->variant;
}

/* The unit that a launch's kernel is in. */
static tn__gpu_unit home_of(const tn__gpu_launch *l)
{
    tn__gpu_unit u = l->unit;
    if (u.family == TN__FAMILY_elementwise && atomic_load(&all.rows_together) && tn__gpu_unit_has(&u, u.op))
        u.op = TN__ALL_ROWS;
    return u;
}

void tn__gpu_rows_together(bool together)
{
    atomic_store(&all.rows_together, together);
}

static inline uint64_t kernel_key(uint64_t of_unit, uint32_t kernel)
{
    return of_unit | (uint64_t)kernel << 32;
}

static inline uint32_t place_of(uint64_t key)
{
    return (uint32_t)((key * 0x9e3779b97f4a7c15U) >> 32);
}

/* ---- the table ---- */

static inline void *find(const table *t, uint64_t key)
{
    for (uint32_t i = place_of(key);; i++) {
        const slot *s = &t->slot[i & (t->cap - 1)];
        uint64_t k = atomic_load_explicit(&s->key, memory_order_acquire);
        if (TN_LIKELY(k == key))
            return atomic_load_explicit(&s->function, memory_order_acquire);
        if (!k)
            return NULL;
    }
}

static void put(table *t, uint64_t key, void *function)
{
    uint32_t i = place_of(key);
    uint64_t k;
    while ((k = atomic_load(&t->slot[i & (t->cap - 1)].key)) != 0 && k != key)
        i++;
    slot *s = &t->slot[i & (t->cap - 1)];
    atomic_store_explicit(&s->function, function, memory_order_release);
    if (!k) {
        atomic_store_explicit(&s->key, key, memory_order_release);
        t->used++;
    }
}

static size_t table_bytes(uint32_t cap)
{
    return sizeof(table) + (size_t)cap * sizeof(slot);
}

/* Room for one more: NULL when memory is out. At most half of a table is used, so that every search ends soon. */
static table *grown(kernels *k)
{
    table *t = atomic_load(&k->table);
    if (t && t->used < t->cap / 2)
        return t;
    uint32_t cap = t ? t->cap * 2 : FIRST_CAP;
    table *larger = tn__block_zero(table_bytes(cap));
    if (!larger) {
        tn__error_memory("the table of kernels", table_bytes(cap));
        return NULL;
    }
    larger->cap = cap;
    larger->older = t;
    for (uint32_t i = 0; t && i < t->cap; i++)
        if (atomic_load(&t->slot[i].key))
            put(larger, atomic_load(&t->slot[i].key), atomic_load(&t->slot[i].function));
    atomic_store_explicit(&k->table, larger, memory_order_release);
    return larger;
}

/* ---- making a unit ---- */

/* Its text, from tn__block_get; *bytes: of the block. */
static char *text_of(const tn__gpu_unit *u, bool shuffle, size_t *bytes)
{
    static const char none[] = "#define TN_SHUFFLE 0\n";
    size_t before = shuffle ? 0 : sizeof none - 1;
    int64_t n = tn__gpu_unit_text(u, NULL, 0);
    if (n < 0)
        return NULL;
    *bytes = before + (size_t)n + 1;
    char *text = tn__block_get(*bytes);
    if (!text) {
        tn__error_memory("the text of kernels", *bytes);
        return NULL;
    }
    memcpy(text, none, before);
    tn__gpu_unit_text(u, text + before, (size_t)n + 1);
    return text;
}

static tn_status make(const tn__gpu_launch *l, const tn__gpu_unit *u, void **module)
{
    char target[256];
    size_t bytes;
    const tn__gpu_driver *driver = driver_of(l->device);
    const tn__gpu_limits *limits = tn__gpu_limits_of(l->device);
    tn_status e = limits ? driver->target(l->device, target, sizeof target) : tn_error_code();
    char *text = e ? NULL : text_of(u, limits->shuffle, &bytes);
    if (!text)
        return tn_error_code();
    const tn__gpu_unit_name name = tn__gpu_unit_str(u);
    const char *const parts[] = {"kernels", target, name.s, text};
    const tn__binary_source source = {l->device, text, name.s, tn__cache_key_of(parts, TN_COUNT(parts))};
    e = tn__binary_load(&source, module);
    tn__block_put(text, bytes);
    return e;
}

/* ---- a launch whose kernel is not in the table ---- */

static unit *unit_of(kernels *k, uint64_t key)
{
    for (int64_t i = 0; i < k->n_units; i++)
        if (k->units[i].key == key)
            return &k->units[i];
    return NULL;
}

/* Under the lock, which is let go while the unit is made. Returns its module. Where that fails, the error goes to all who
 * wait, each with the place of its own call. */
static void *make_unit(const tn__gpu_launch *l, kernels *k, const tn__gpu_unit *home, uint64_t key)
{
    void *module = NULL;
    tn__making *making = tn__making_begin();
    if (!making || !tn__grow(&k->units, sizeof *k->units, &k->cap_units, k->n_units + 1)) {
        tn__error_memory("the list of loaded kernels", sizeof *k->units);
        if (making)
            tn__making_put(making);
        return NULL;
    }
    k->units[k->n_units++] = (unit){key, NULL, making};
    pthread_mutex_unlock(&all.lock);
    tn_status e = make(l, home, &module);
    pthread_mutex_lock(&all.lock);
    unit *u = unit_of(k, key);
    const bool listed = u && u->making == making;
    if (!listed && !e) /* forgotten meanwhile, and the context it was loaded into with it */
        e = tn__error(TN_EDEVICE, "%s was reset while kernels were made for it", tn_device_text(l->device).s);
    if (listed && e)
        *u = k->units[--k->n_units];
    else if (listed)
        *u = (unit){key, module, NULL};
    tn__making_end(making, e);
    return e ? NULL : module;
}

/* Under the lock, which is let go meanwhile. The unit's module. */
static void *module_of(const tn__gpu_launch *l, kernels *k, const tn__gpu_unit *home)
{
    const uint64_t key = unit_key(home);
    const unit *u;
    while ((u = unit_of(k, key)) && u->making)
        if (tn__making_wait(u->making, &all.lock))
            return NULL;
    return u ? u->module : make_unit(l, k, home, key);
}

static void *function_of(const tn__gpu_launch *l, kernels *k, const tn__gpu_unit *home, void *module, uint64_t key)
{
    void *function;
    size_t n;
    const char *const *names = tn__gpu_family_kernels(l->unit.family, &n);
    if (l->kernel >= n)
        return tn__fail(TN_EMISSING, "%s has no kernel %u", tn__gpu_family_name(l->unit.family), (unsigned)l->kernel);
    const char *name = l->unit.family == TN__FAMILY_own ? tn__own_of(l->unit.op)->entry : names[l->kernel];
    char of_row[96];
    if (home->op != l->unit.op) {
        snprintf(of_row, sizeof of_row, "%s_%s", tn__ops[l->unit.op].name, name);
        name = of_row;
    }
    if (driver_of(l->device)->function(l->device, module, name, &function))
        return NULL;
    table *t = grown(k);
    if (!t)
        return NULL;
    put(t, key, function);
    return function;
}

static TN_COLD void *miss(const tn__gpu_launch *l, uint64_t key)
{
    kernels *k = kernels_of(l->device);
    const tn__gpu_unit home = home_of(l);
    /* a device that cannot be used is refused before the lock: a forked child may find that one taken for ever */
    if (!tn__gpu_limits_of(l->device))
        return NULL;
    tn__thread *self = tn__self();
    const char *site = self->site;
    pthread_mutex_lock(&all.lock);
    self->site = NULL; /* an error may become that of other threads, too: without the place of this call */
    void *module = module_of(l, k, &home);
    self->site = site;
    void *function = module ? function_of(l, k, &home, module, key) : NULL;
    pthread_mutex_unlock(&all.lock);
    if (!module && site)
        tn_error_at(site);
    return function;
}

tn_status tn__gpu_run(const tn__gpu_launch *l)
{
    const uint64_t key = kernel_key(unit_key(&l->unit), l->kernel);
    const table *t = atomic_load_explicit(&kernels_of(l->device)->table, memory_order_acquire);
    void *function = TN_LIKELY(t != NULL) ? find(t, key) : NULL;
    if (TN_UNLIKELY(!function)) {
        function = miss(l, key);
        if (!function)
            return tn_error_code();
    }
    return tn__gpu_launch_function(l, function);
}

/* Slots keep their keys and lose their functions: a reader then goes the slow way. */
void tn__gpu_forget(tn_device device)
{
    kernels *k = kernels_of(device);
    pthread_mutex_lock(&all.lock);
    table *t = atomic_load(&k->table);
    for (uint32_t i = 0; t && i < t->cap; i++)
        atomic_store_explicit(&t->slot[i].function, NULL, memory_order_release);
    k->n_units = 0;
    pthread_mutex_unlock(&all.lock);
}

void tn__gpu_kernels_end(tn_device device)
{
    kernels *k = kernels_of(device);
    for (table *t = atomic_exchange(&k->table, NULL), *older; t; t = older) {
        older = t->older;
        tn__block_put(t, table_bytes(t->cap));
    }
    tn__block_put(k->units, (size_t)k->cap_units * sizeof *k->units);
    k->units = NULL;
    k->n_units = k->cap_units = 0;
    tn__binaries_end();
}
