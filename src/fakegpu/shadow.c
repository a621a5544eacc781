/* Shadow memory: see shadow.h. */
#include "fakegpu/shadow.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- one access: which group's, which item's, and how many meetings its group had had ---- */

typedef uint64_t stamp; /* 0: none */

enum { TICK_BITS = 30, ITEM_BITS = 10, RUN_BITS = 24, WARP = 32, MAX_WARPS = FAKE_MAX_ITEMS / WARP };

/* Groups are told apart by their numbers; among more than 2^24 of them two are now and then taken for one. */
static uint64_t run_of(stamp s)
{
    return s >> (TICK_BITS + ITEM_BITS);
}

static int item_of(stamp s)
{
    return (int)(s >> TICK_BITS & ((1u << ITEM_BITS) - 1));
}

static uint64_t tick_of(stamp s)
{
    return s & ((1u << TICK_BITS) - 1);
}

/* ---- what is kept ---- */

/* Of bytes that were touched alike. All that came before the last plain write is ordered before it. Of atomic accesses and of
 * reads since, two are enough, of items as far apart as there were: whoever is not ordered behind all of them is not behind one
 * of these. */
typedef struct state {
    stamp write, atomic[2], read[2];
} state;

/* A word. Where its bytes were touched one by one, 'write' is SPLIT, and 'atomic[0]' says which four states they have. */
enum { WORD = 4 };
#define SPLIT UINT64_MAX

/* Memory that may be touched. */
typedef struct range {
    const char *from, *to;
    const char *name; /* of the argument or array */
    state *word;
    size_t words;
    bool local;
} range;

enum { MAX_RANGES = FAKE_MAX_ARGS + 1 }; /* the last: local memory */

struct fake_shadow {
    const fake_kernel *kernel;
    const struct tn_items *items;
    range range[MAX_RANGES];
    int n, last; /* ranges; where the last access was */
    bool bounded;
    const char *memory;
    state (*split)[WORD];
    size_t n_split, room_split;
    state *local_words;
    /* the group */
    stamp group; /* with neither item nor tick */
    uint64_t tick, since_any, since_all, since_warp[MAX_WARPS];
};

fake_shadow *fake_shadow_new(void)
{
    fake_shadow *s = calloc(1, sizeof *s);
    return s;
}

void fake_shadow_free(fake_shadow *s)
{
    if (!s)
        return;
    free(s->local_words);
    free(s->split);
    free(s);
}

/* ---- a launch ---- */

static size_t words_of(const range *r)
{
    return (size_t)(r->to - r->from) / WORD + 2;
}

static bool add_range(fake_shadow *s, const char *name, const fake_extent *e)
{
    range *r = &s->range[s->n];
    for (int i = 0; i < s->n; i++)
        if (s->range[i].from == e->from)
            return true;
    *r = (range){.from = e->from, .to = e->to, .name = name};
    r->words = words_of(r);
    r->word = mmap(NULL, r->words * sizeof *r->word, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (r->word == MAP_FAILED)
        return false;
    s->n++;
    return true;
}

static void free_ranges(fake_shadow *s)
{
    for (int i = 0; i < s->n; i++)
        if (!s->range[i].local)
            munmap(s->range[i].word, s->range[i].words * sizeof *s->range[i].word);
    s->n = 0;
}

static bool add_local(fake_shadow *s)
{
    const unsigned bytes = s->kernel->info->local_bytes;
    range *r = &s->range[s->n];
    if (!s->kernel->info->n_locals)
        return true;
    *r = (range){.from = s->memory, .to = s->memory + bytes, .local = true};
    r->words = words_of(r);
    state *words = realloc(s->local_words, r->words * sizeof *words);
    if (!words)
        return false;
    s->local_words = r->word = words;
    s->n++;
    return true;
}

bool fake_shadow_launch(fake_shadow *s, const fake_kernel *kernel, const struct tn_items *items, const char *memory,
                        const fake_extent *extent)
{
    const struct tn_kernel_info *info = kernel->info;
    s->kernel = kernel;
    s->items = items;
    s->memory = memory;
    s->n = s->last = 0;
    s->n_split = 0;
    s->bounded = extent != NULL;
    bool ok = true;
    for (int i = 0; ok && extent && i < kernel->n_args; i++)
        if (extent[i].from)
            ok = add_range(s, info->argument[i].name, &extent[i]);
    ok = ok && add_local(s);
    if (!ok)
        free_ranges(s);
    return ok;
}

void fake_shadow_end(fake_shadow *s)
{
    free_ranges(s);
}

void fake_shadow_group(fake_shadow *s, uint64_t number)
{
    range *r = s->n ? &s->range[s->n - 1] : NULL;
    s->group = (number % ((1u << RUN_BITS) - 2) + 1) << (TICK_BITS + ITEM_BITS);
    s->tick = 1;
    s->since_any = s->since_all = 0;
    memset(s->since_warp, 0, sizeof s->since_warp);
    if (r && r->local)
        memset(r->word, 0, r->words * sizeof *r->word);
}

void fake_shadow_barrier(fake_shadow *s, bool all)
{
    s->since_any = ++s->tick;
    if (all)
        s->since_all = s->tick;
}

void fake_shadow_warp(fake_shadow *s, int warp)
{
    s->since_warp[warp] = ++s->tick;
}

/* ---- texts ---- */

static void place_text(const fake_shadow *s, stamp who, char *text, size_t size)
{
    const int *n = s->items->size, *groups = s->items->groups, i = item_of(who);
    const uint64_t g = run_of(who) - 1;
    snprintf(text, size, "work item (%d, %d, %d) of group (%d, %d, %d)", i % n[0], i / n[0] % n[1], i / n[0] / n[1],
             (int)(g % (unsigned)groups[0]), (int)(g / (unsigned)groups[0] % (unsigned)groups[1]),
             (int)(g / (unsigned)groups[0] / (unsigned)groups[1]));
}

/* "argument 'o'" or "its local array 's'", and which byte of it. */
static long long where_text(const fake_shadow *s, const range *r, const char *at, char *text, size_t size,
                            long long *bytes)
{
    const struct tn_kernel_info *info = s->kernel->info;
    if (!r->local) {
        snprintf(text, size, "argument '%s'", r->name);
        *bytes = r->to - r->from;
        return at - r->from;
    }
    int i = 0;
    while (i + 1 < info->n_locals && at - r->from >= (long long)info->local[i + 1].offset)
        i++;
    snprintf(text, size, "its local array '%s'", info->local[i].name);
    *bytes = info->local[i].size;
    return at - r->from - (long long)info->local[i].offset;
}

static const char *verb(int how)
{
    return how & TN_WRITE ? "writes" : how & TN_ATOMIC ? "changes (atomically)" : "reads";
}

/* ---- one access ---- */

static tn__cu_result outside(const fake_shadow *s, const range *r, stamp me, const char *at, size_t bytes, int how,
                             char *why, size_t size)
{
    char who[128], what[256];
    long long has, offset = where_text(s, r, at, what, sizeof what, &has);
    place_text(s, me, who, sizeof who);
    snprintf(why, size, "kernel '%s': %s %s %zu bytes at byte %lld of %s, which has %lld", s->kernel->name, who,
             verb(how), bytes, offset, what, has);
    return TN__CU_ILLEGAL_ADDRESS;
}

static tn__cu_result misaligned(const fake_shadow *s, const range *r, stamp me, const char *at, size_t bytes, int how,
                                char *why, size_t size)
{
    char who[128], what[256];
    long long has, offset = where_text(s, r, at, what, sizeof what, &has);
    place_text(s, me, who, sizeof who);
    snprintf(why, size, "kernel '%s': %s %s %zu bytes at once at byte %lld of %s: the address is no multiple of %zu",
             s->kernel->name, who, verb(how), bytes, offset, what, bytes);
    return TN__CU_MISALIGNED_ADDRESS;
}

static tn__cu_result race(const fake_shadow *s, const range *r, stamp me, stamp other, int others, const char *at,
                          size_t bytes, int how, char *why, size_t size)
{
    char who[128], whom[128], what[256];
    long long has, offset = where_text(s, r, at, what, sizeof what, &has);
    place_text(s, me, who, sizeof who);
    place_text(s, other, whom, sizeof whom);
    snprintf(why, size, "race in kernel '%s': %s %s byte %lld of %s, and %s %s %zu bytes there: nothing orders them",
             s->kernel->name, whom, verb(others), offset, what, who, verb(how), bytes);
    return TN__CU_LAUNCH_FAILED;
}

static bool is_ordered(const fake_shadow *s, stamp then, stamp me, bool local)
{
    if (!then || run_of(then) != run_of(me))
        return !then;
    const int warp = item_of(me) / WARP;
    return item_of(then) == item_of(me) || tick_of(then) < (local ? s->since_any : s->since_all) ||
           (item_of(then) / WARP == warp && tick_of(then) < s->since_warp[warp]);
}

static int distance(stamp a, stamp b)
{
    return run_of(a) != run_of(b) ? 3 : item_of(a) / WARP != item_of(b) / WARP ? 2 : item_of(a) != item_of(b);
}

/* Keeps two that are as far apart as any two are. */
static void remember(const fake_shadow *s, stamp kept[2], stamp me, bool local)
{
    if (is_ordered(s, kept[0], me, local))
        kept[0] = me;
    else if (is_ordered(s, kept[1], me, local) || distance(kept[0], me) > distance(kept[0], kept[1]))
        kept[1] = me;
}

/* The first of the stamps that is not ordered before this; 0: none. */
static stamp unordered(const fake_shadow *s, const stamp *then, int n, stamp me, bool local)
{
    for (int i = 0; i < n; i++)
        if (!is_ordered(s, then[i], me, local))
            return then[i];
    return 0;
}

/* Holds one state against the access, and notes it there. Gives the access that it races with, and how that was. */
static stamp check_state(const fake_shadow *s, state *t, stamp me, int how, bool local, int *others)
{
    stamp other = unordered(s, &t->write, 1, me, local);
    *others = TN_WRITE;
    if (!other && !(how & TN_ATOMIC)) {
        other = unordered(s, t->atomic, 2, me, local);
        *others = TN_ATOMIC;
    }
    if (!other && !(how & TN_READ)) {
        other = unordered(s, t->read, 2, me, local);
        *others = TN_READ;
    }
    if (other)
        return other;
    if (how & TN_WRITE)
        *t = (state){.write = me};
    else
        remember(s, how & TN_READ ? t->read : t->atomic, me, local);
    return 0;
}

static bool split(fake_shadow *s, state *word)
{
    if (s->n_split == s->room_split) {
        const size_t room = s->room_split ? 2 * s->room_split : 1024;
        void *more = realloc(s->split, room * sizeof *s->split);
        if (!more)
            return false;
        s->split = more;
        s->room_split = room;
    }
    for (int i = 0; i < WORD; i++)
        s->split[s->n_split][i] = *word;
    *word = (state){.write = SPLIT, .atomic = {s->n_split++}};
    return true;
}

/* The bytes [from, to) of one word. */
static stamp check_word(fake_shadow *s, state *word, unsigned from, unsigned to, stamp me, int how, bool local,
                        int *others)
{
    stamp other = 0;
    if (word->write != SPLIT && to - from == WORD)
        return check_state(s, word, me, how, local, others);
    if (word->write != SPLIT && !split(s, word))
        return other; /* no memory: what is not known is no race */
    for (unsigned i = from; i < to && !other; i++)
        other = check_state(s, &s->split[word->atomic[0]][i], me, how, local, others);
    return other;
}

/* The range that holds the address, or where none does, the nearest one: *inside says which. NULL: there is none. */
static range *find_range(fake_shadow *s, const char *at, bool *inside)
{
    range *nearest = NULL;
    size_t least = SIZE_MAX;
    *inside = true;
    if (s->last < s->n && at >= s->range[s->last].from && at < s->range[s->last].to)
        return &s->range[s->last];
    for (int i = 0; i < s->n; i++) {
        range *r = &s->range[i];
        const size_t away = at < r->from ? (size_t)(r->from - at) : at >= r->to ? (size_t)(at - r->to) + 1 : 0;
        if (away < least) {
            least = away;
            nearest = r;
        }
        if (!away) {
            s->last = i;
            return r;
        }
    }
    *inside = false;
    return nearest;
}

/* Whether all bytes lie in the argument, or in one array. Atomics of small dtypes exchange the word that they lie in. */
static bool is_within(const fake_shadow *s, const range *r, const char *at, size_t bytes, int how)
{
    const size_t offset = (size_t)(at - r->from), size = (size_t)(r->to - r->from);
    if (!r->local)
        return bytes <= (how & TN_ATOMIC ? (size + WORD - 1) / WORD * WORD : size) - offset;
    const struct tn_kernel_info *info = s->kernel->info;
    for (int i = 0; i < info->n_locals; i++) {
        const size_t from = info->local[i].offset, to = from + info->local[i].size;
        if (offset >= from && offset < to)
            return bytes <= to - offset;
    }
    return false;
}

tn__cu_result fake_shadow_access(fake_shadow *s, int item, const char *at, size_t bytes, int how, char *why,
                                 size_t size)
{
    bool inside;
    const stamp me = s->group | (stamp)item << TICK_BITS | s->tick;
    range *r = find_range(s, at, &inside);
    if (!inside && !(s->bounded && fake_is_device_memory(at)))
        return TN__CU_SUCCESS; /* a variable of the item, a table of the unit */
    if (!r) {
        snprintf(why, size, "kernel '%s' touches memory of the device, and has no argument that points there",
                 s->kernel->name);
        return TN__CU_ILLEGAL_ADDRESS;
    }
    if (!inside || !is_within(s, r, at, bytes, how))
        return outside(s, r, me, at, bytes, how, why, size);
    if (how & TN_ALIGNED && (uintptr_t)at % bytes)
        return misaligned(s, r, me, at, bytes, how, why, size);
    const uintptr_t base = (uintptr_t)r->from / WORD * WORD;
    for (uintptr_t p = (uintptr_t)at, end = p + bytes; p < end;) {
        const uintptr_t word = p / WORD * WORD, to = word + WORD < end ? word + WORD : end;
        int others;
        const stamp other = check_word(s, &r->word[(word - base) / WORD], (unsigned)(p - word), (unsigned)(to - word),
                                       me, how, r->local, &others);
        if (other)
            return race(s, r, me, other, others, (const char *)p, bytes, how, why, size);
        p = to;
    }
    return TN__CU_SUCCESS;
}
