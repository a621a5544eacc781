/* The groups of a launch, one after another on a thread, or side by side on several. Each thread has fibers and local memory
 * of its own, and keeps them. */
#include "fakegpu/crash.h"
#include "fakegpu/kernel.h"
#include "fakegpu/sanitizers.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POISON = 0xff, CANARY = 0xc5, MEMORY = FAKE_MAX_LOCAL_BYTES + 64 * TN_LOCAL_GAP };

/* What the threads that run a launch share. */
typedef struct launch {
    const fake_kernel *kernel;
    void **args;
    struct tn_items items;     /* what all items have in common */
    int n;                     /* items of a group */
    const fake_extent *extent; /* of the arguments, where they are known */
    bool drawn, watched;
    uint64_t seed;
    fake_group_order order;
    atomic_ullong next; /* the group that nobody has taken yet; relaxed: groups are not ordered by it */
    atomic_bool failed; /* set by who writes the two below */
    tn__cu_result error;
    char report[768];
} launch;

typedef struct worker {
    fake_fibers *fibers; /* for a launch of a kernel with barriers */
    char *memory;
    fake_team *team; /* where several threads run a launch */
    const launch *launch;
    struct tn_items items;
    fake_item_order order;
    fake_meeting meeting;
    uint64_t launches; /* that it ran: each has a seed of its own */
    fake_shadow *shadow;
    int item; /* that runs, of a kernel without barrier */
    jmp_buf outside;
    fake_crash crash;
    /* what is wrong with the group */
    tn__cu_result error;
    char report[768];
} worker;

static pthread_key_t worker_key;
static pthread_once_t worker_once = PTHREAD_ONCE_INIT;
static int worker_key_error;

static void worker_free(void *arg)
{
    worker *w = arg;
    fake_team_free(w->team);
    fake_crash_end(&w->crash);
    fake_shadow_free(w->shadow);
    free(w->memory);
    free(w);
}

static void make_key(void)
{
    worker_key_error = pthread_key_create(&worker_key, worker_free);
}

static void place_item(worker *w, int i)
{
    w->items.local[0] = i % w->items.size[0];
    w->items.local[1] = i / w->items.size[0] % w->items.size[1];
    w->items.local[2] = i / w->items.size[0] / w->items.size[1];
}

/* One work item, on its fiber. */
static void run_item(void *arg, int i)
{
    worker *w = arg;
    place_item(w, i);
    w->launch->kernel->info->entry(&w->items, w->launch->args);
}

static _Noreturn void stop(void *arg);

static worker *worker_here(void)
{
    pthread_once(&worker_once, make_key);
    if (worker_key_error)
        return NULL;
    worker *w = pthread_getspecific(worker_key);
    if (w)
        return w;
    w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->memory = aligned_alloc(64, MEMORY);
    fake_crash_start(&w->crash, stop, w);
    if (!w->memory || pthread_setspecific(worker_key, w) != 0) {
        worker_free(w);
        return NULL;
    }
    return w;
}

/* ---- local memory: poisoned for each group; nobody writes between the arrays ---- */

static void poison_local(worker *w)
{
    const struct tn_kernel_info *info = w->launch->kernel->info;
    if (!info->n_locals)
        return;
#if defined(TN_ASAN)
    __asan_poison_memory_region(w->memory, info->local_bytes);
    for (int i = 0; i < info->n_locals; i++)
        __asan_unpoison_memory_region(w->memory + info->local[i].offset, info->local[i].size);
#else
    memset(w->memory, CANARY, info->local_bytes);
#endif
    for (int i = 0; i < info->n_locals; i++)
        memset(w->memory + info->local[i].offset, POISON, info->local[i].size);
}

/* Whether all bytes in [from, to) are as they were. AddressSanitizer has seen to it. */
static bool is_untouched(const worker *w, unsigned from, unsigned to)
{
#if defined(TN_ASAN)
    (void)w;
    return from <= to;
#else
    while (from < to && (unsigned char)w->memory[from] == CANARY)
        from++;
    return from == to;
#endif
}

/* Says if something was written between the arrays. */
static bool is_overrun(worker *w)
{
    const struct tn_kernel_info *info = w->launch->kernel->info;
    for (int i = 0; i < info->n_locals; i++) {
        const struct tn_local *l = &info->local[i];
        const unsigned end = i + 1 < info->n_locals ? info->local[i + 1].offset : info->local_bytes;
        const bool before = i == 0 && !is_untouched(w, 0, l->offset);
        if (before || !is_untouched(w, l->offset + l->size, end)) {
            w->error = TN__CU_LAUNCH_FAILED;
            snprintf(w->report, sizeof w->report, "kernel '%s' writes %s its array '%s' of local memory",
                     w->launch->kernel->name, before ? "before" : "behind", l->name);
            return true;
        }
    }
    return false;
}

/* ---- a group ---- */

/* The running item goes no further, nor its group: back to who runs it. */
static _Noreturn void stop(void *arg)
{
    worker *w = arg;
    if (w->launch->kernel->barrier)
        fake_meeting_stop(&w->meeting);
    longjmp(w->outside, 1);
}

static void access_memory(void *run, const void *at, unsigned long bytes, int how)
{
    worker *w = (worker *)(void *)((char *)run - offsetof(worker, meeting));
    const int item = w->launch->kernel->barrier ? fake_fibers_current(w->fibers) : w->item;
    w->error = fake_shadow_access(w->shadow, item, at, bytes, how, w->report, sizeof w->report);
    if (w->error)
        stop(w);
}

/* Items that do not wait: the entry runs a row of them, here are the rows; in an order that is drawn, or watched, an item at a
 * time. */
static bool run_rows(worker *w)
{
    const launch *l = w->launch;
    const uint16_t *const item = fake_item_order_all(&w->order);
    w->items.row = l->drawn || l->watched ? 1 : w->items.size[0];
    for (int i = 0; i < l->n; i += w->items.row) {
        w->item = item[i];
        place_item(w, item[i]);
        l->kernel->info->entry(&w->items, l->args);
    }
    if (!w->meeting.stray)
        return true;
    snprintf(w->report, sizeof w->report, "kernel '%s' reaches a barrier or shuffle: it must be declared KERNEL_B",
             l->kernel->name);
    return false;
}

/* False: an item was stopped, or diverged. */
static bool run_items(worker *w)
{
    if (setjmp(w->outside) != 0)
        return false;
    return w->launch->kernel->barrier ? fake_meeting_run(&w->meeting, &w->order, w->report, sizeof w->report)
                                      : run_rows(w);
}

/* False: it fails, w->error and w->report say why. */
static bool run_group(worker *w, uint64_t number)
{
    const launch *l = w->launch;
    const int *groups = l->items.groups;
    w->items.group[0] = (int)(number % (unsigned)groups[0]);
    w->items.group[1] = (int)(number / (unsigned)groups[0] % (unsigned)groups[1]);
    w->items.group[2] = (int)(number / (unsigned)groups[0] / (unsigned)groups[1]);
    w->error = TN__CU_SUCCESS;
    poison_local(w);
    if (l->watched)
        fake_shadow_group(w->shadow, number);
    fake_item_order_group(&w->order, number, l->seed);
    fake_crash_begin(&w->crash);
    const bool ok = run_items(w);
    fake_crash_over(&w->crash);
    if (!ok && w->crash.signal)
        w->error = fake_crash_explain(&w->crash, l->kernel->name, w->items.group, w->report, sizeof w->report);
    else if (!ok && !w->error)
        w->error = TN__CU_LAUNCH_FAILED;
    return ok && !is_overrun(w);
}

/* ---- a launch ---- */

static void fail(launch *l, tn__cu_result error, const char *report)
{
    if (atomic_exchange(&l->failed, true))
        return;
    l->error = error;
    snprintf(l->report, sizeof l->report, "%s", report);
}

/* Gives up what it has for the launch. */
static void end(worker *w)
{
    if (w->fibers)
        fake_fibers_give(w->fibers);
    if (w->launch->watched && w->shadow)
        fake_shadow_end(w->shadow);
    w->fibers = NULL;
}

static bool begin(worker *w, const launch *l)
{
    w->launch = l;
    w->items = l->items;
    w->items.memory = w->memory;
    w->items.run = &w->meeting;
    w->fibers = l->kernel->barrier ? fake_fibers_take(l->n, run_item, w) : NULL;
    w->meeting.fibers = w->fibers;
    w->meeting.kernel = l->kernel->name;
    w->meeting.group = w->items.group;
    w->meeting.n = l->n;
    w->meeting.allowed = l->kernel->barrier;
    w->meeting.stray = false;
    if (l->watched && !w->shadow)
        w->shadow = fake_shadow_new();
    w->meeting.shadow = l->watched ? w->shadow : NULL;
    fake_item_order_launch(&w->order, l->n, l->drawn);
    return (!l->kernel->barrier || w->fibers) &&
           (!l->watched || (w->shadow && fake_shadow_launch(w->shadow, l->kernel, &w->items, w->memory, l->extent)));
}

/* One thread's part: groups, while there are some. Groups that others run are not waited for. */
static void run_groups(void *arg)
{
    launch *l = arg;
    worker *w = worker_here();
    const bool ready = w && begin(w, l);
    if (!ready)
        fail(l, TN__CU_OUT_OF_MEMORY, "no memory for the stacks of work items");
    while (ready && !atomic_load_explicit(&l->failed, memory_order_relaxed)) {
        const uint64_t i = atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed);
        if (i >= l->order.n)
            break;
        if (!run_group(w, fake_group_order_at(&l->order, i)))
            fail(l, w->error, w->report);
    }
    if (w)
        end(w);
}

/* Of each launch its own, the same in each run of a program that launches the same on this thread. */
static uint64_t seed_of(const fake_kernel *kernel, uint64_t seed, uint64_t launches)
{
    for (const char *p = kernel->name; *p; p++)
        seed = (seed ^ (unsigned char)*p) * 0x100000001b3u; /* FNV-1a */
    seed ^= launches * 0x9e3779b97f4a7c15u;
    return fake_draw(&seed);
}

static void set_up(launch *l, const fake_kernel *kernel, const unsigned groups[3], const unsigned local[3], void **args)
{
    l->kernel = kernel;
    l->args = args;
    l->n = (int)(local[0] * local[1] * local[2]);
    l->items.barrier = fake_meeting_barrier;
    l->items.sync_warp = fake_meeting_sync_warp;
    l->items.shuffle = fake_meeting_shuffle;
    l->items.access = l->watched ? access_memory : NULL;
    for (int d = 0; d < 3; d++) {
        l->items.size[d] = (int)local[d];
        l->items.groups[d] = (int)groups[d];
    }
    atomic_init(&l->next, 0);
    atomic_init(&l->failed, false);
}

void fake_kernel_run(const fake_kernel *kernel, const unsigned groups[3], const unsigned local[3], void **args,
                     const fake_extent *extent)
{
    const fake_kernel_rules *rules = fake_kernel_rules_here();
    launch l = {.drawn = rules->drawn, .watched = rules->races, .extent = extent};
    l.error = fake_kernel_check(kernel, groups, local, l.report, sizeof l.report);
    worker *w = l.error ? NULL : worker_here();
    if (w) {
        set_up(&l, kernel, groups, local, args);
        l.seed = seed_of(kernel, rules->seed, w->launches++);
        l.order = fake_group_order_of((uint64_t)groups[0] * groups[1] * groups[2], l.drawn, l.seed);
        if (rules->threads > 1 && l.order.n > 1 && !w->team)
            w->team = fake_team_new(rules->threads - 1);
        if (rules->threads > 1 && l.order.n > 1 && w->team)
            fake_team_run(w->team, run_groups, &l);
        else
            run_groups(&l);
    } else if (!l.error) {
        fail(&l, TN__CU_OUT_OF_MEMORY, "no memory for the stacks of work items");
    }
    if (l.error)
        fake_device_fail(l.error, l.report);
}
