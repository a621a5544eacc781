/* Kernels in CUDA C: the threads of a block are fibers of one thread of the host, blocks run one after another. Who waits for
 * others looks in every round whether they have come; a round in which nobody got on is the end. */
#include "fakegpu/crash.h"
#include "fakegpu/dialect_cuda_items.h"
#include "fakegpu/kernel.h"
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARP = FAKE_WARP, POISON = 0xff, CANARY = 0xc5, GAP = 64, DYNAMIC = FAKE_MAX_LOCAL_BYTES + 2 * GAP };

typedef enum state { RUNS, AT_BARRIER, IN_WARP, OVER } state;

typedef struct thread {
    state state;
    int site, yes;
    unsigned mask;
    unsigned long long value, got[WARP]; /* got: what a meeting of the warp gave */
} thread;

typedef struct block_runner {
    fake_fibers *fibers;
    char *dynamic; /* with a gap before and behind it */
    struct tn_cuda here;
    /* the launch */
    const fake_kernel *kernel;
    void **args;
    unsigned dynamic_bytes;
    struct tn_cuda **unit; /* of the module, on this thread: who runs */
    char *shared;          /* the module's shared memory on this thread */
    size_t shared_bytes;
    int n;
    fake_item_order order;
    uint64_t seed;
    fake_crash crash;
    /* the block */
    int alive, waiting, yes, all, site;
    bool progress, failed;
    tn__cu_result error; /* what the launch fails with, if it does */
    char report[512];
    uint16_t round[FAKE_MAX_ITEMS]; /* who runs when in it */
    thread thread[FAKE_MAX_ITEMS];
} block_runner;

/* ---- one for each thread that runs kernels ---- */

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int key_error;

static void runner_free(void *arg)
{
    block_runner *w = arg;
    fake_crash_end(&w->crash);
    free(w->dynamic);
    free(w);
}

static void make_key(void)
{
    key_error = pthread_key_create(&key, runner_free);
}

static void run_thread(void *arg, int i);

/* The running thread ends where it stands, and with it the block. */
static _Noreturn void leave(void *arg)
{
    block_runner *w = arg;
    fake_fibers_stop(w->fibers);
}

static block_runner *runner_here(void)
{
    pthread_once(&once, make_key);
    if (key_error)
        return NULL;
    block_runner *w = pthread_getspecific(key);
    if (w)
        return w;
    w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->dynamic = aligned_alloc(GAP, DYNAMIC);
    fake_crash_start(&w->crash, leave, w);
    if (!w->dynamic || pthread_setspecific(key, w) != 0) {
        runner_free(w);
        return NULL;
    }
    return w;
}

/* ---- what threads call ---- */

static void place(block_runner *w, int i)
{
    const unsigned *size = w->here.size, u = (unsigned)i;
    w->here.thread[0] = u % size[0];
    w->here.thread[1] = u / size[0] % size[1];
    w->here.thread[2] = u / size[0] / size[1];
}

static void yield(block_runner *w, int i)
{
    fake_fibers_wait(w->fibers);
    place(w, i);
}

static _Noreturn void fail(void *run, int assertion, const char *report)
{
    block_runner *w = run;
    if (!w->failed)
        snprintf(w->report, sizeof w->report, "kernel '%s', thread (%u, %u, %u) of block (%u, %u, %u): %s",
                 w->kernel->name, w->here.thread[0], w->here.thread[1], w->here.thread[2], w->here.block[0],
                 w->here.block[1], w->here.block[2], report);
    if (!w->failed)
        w->error = assertion ? TN__CU_ASSERT : TN__CU_LAUNCH_FAILED;
    w->failed = true;
    leave(w);
}

static void pause_thread(void *run)
{
    block_runner *w = run;
    w->progress = true;
    yield(w, fake_fibers_current(w->fibers));
}

/* The last to come, or to end, lets the others go. */
static void meet_at_barrier(block_runner *w)
{
    if (!w->waiting || w->waiting < w->alive)
        return;
    w->progress = true;
    w->all = w->yes == w->alive;
    for (int i = 0; i < w->n; i++)
        if (w->thread[i].state == AT_BARRIER) {
            w->thread[i].state = RUNS;
            w->thread[i].got[0] = (unsigned long long)w->yes;
            w->thread[i].got[1] = (unsigned long long)w->all;
        }
    w->waiting = w->yes = 0;
    w->site = -1;
}

static int barrier(void *run, int site, int yes, int *all)
{
    block_runner *w = run;
    const int i = fake_fibers_current(w->fibers);
    thread *t = &w->thread[i];
    if (w->site >= 0 && w->site != site)
        fail(w, false, "divergent barrier: threads of the block wait at different __syncthreads");
    w->site = site;
    t->state = AT_BARRIER;
    w->waiting++;
    w->yes += yes != 0;
    meet_at_barrier(w);
    while (t->state == AT_BARRIER)
        yield(w, i);
    *all = (int)t->got[1];
    return (int)t->got[0];
}

/* Threads that have ended, or were never there, are not waited for: what they would give is poison. */
static void meet_in_warp(block_runner *w, int first, unsigned mask)
{
    thread *t = &w->thread[first];
    const int lanes = w->n - first < WARP ? w->n - first : WARP;
    unsigned long long values[WARP];
    for (int l = 0; l < WARP; l++) {
        const bool there = l < lanes && mask >> l & 1 && t[l].state != OVER;
        if (there && (t[l].state != IN_WARP || t[l].mask != mask))
            return;
        values[l] = there ? t[l].value : ~0ull;
    }
    w->progress = true;
    for (int l = 0; l < lanes; l++)
        if (mask >> l & 1 && t[l].state == IN_WARP) {
            memcpy(t[l].got, values, sizeof values);
            t[l].state = RUNS;
        }
}

static const unsigned long long *warp(void *run, unsigned mask, unsigned long long value)
{
    block_runner *w = run;
    const int i = fake_fibers_current(w->fibers);
    thread *t = &w->thread[i];
    if (!(mask >> i % WARP & 1))
        fail(w, false, "it calls a function of its warp with a mask that does not name it");
    t->state = IN_WARP;
    t->mask = mask;
    t->value = value;
    meet_in_warp(w, i / WARP * WARP, mask);
    while (t->state == IN_WARP)
        yield(w, i);
    return t->got;
}

/* ---- threads ---- */

/* A thread that has ended is begun anew in every round, and has nothing to do. */
static void run_thread(void *arg, int i)
{
    block_runner *w = arg;
    thread *t = &w->thread[i];
    if (t->state == OVER)
        return;
    place(w, i);
    w->progress = true;
    w->kernel->info->entry(NULL, w->args);
    t->state = OVER;
    w->alive--;
    meet_at_barrier(w);
    const int first = i / WARP * WARP;
    for (int l = first; l < w->n && l < first + WARP; l++)
        if (w->thread[l].state == IN_WARP)
            meet_in_warp(w, first, w->thread[l].mask);
}

/* ---- blocks ---- */

static void poison(block_runner *w)
{
    memset(w->shared, POISON, w->shared_bytes);
    *w->unit = &w->here; /* which lies among it */
    memset(w->dynamic, CANARY, DYNAMIC);
    memset(w->dynamic + GAP, POISON, w->dynamic_bytes);
}

static bool is_untouched(const char *from, size_t n)
{
    size_t i = 0;
    while (i < n && (unsigned char)from[i] == CANARY)
        i++;
    return i == n;
}

static bool say(block_runner *w)
{
    fake_device_fail(w->error, w->report);
    return false;
}

static bool stuck(block_runner *w)
{
    const unsigned *b = w->here.block;
    int at_barrier = 0;
    for (int i = 0; i < w->n; i++)
        at_barrier += w->thread[i].state == AT_BARRIER;
    if (w->crash.signal)
        w->error = fake_crash_explain(&w->crash, w->kernel->name, (const int[]){(int)b[0], (int)b[1], (int)b[2]},
                                      w->report, sizeof w->report);
    else if (!w->failed && at_barrier)
        snprintf(
            w->report, sizeof w->report,
            "divergent barrier in kernel '%s': %d of %d threads of block (%u, %u, %u) wait at a __syncthreads that the "
            "others never reach",
            w->kernel->name, at_barrier, w->alive, b[0], b[1], b[2]);
    else if (!w->failed)
        snprintf(
            w->report, sizeof w->report,
            "kernel '%s': threads of block (%u, %u, %u) wait for others of their warp that never come: a mask names "
            "threads that call another function, or none",
            w->kernel->name, b[0], b[1], b[2]);
    fake_fibers_abandon(w->fibers, w->round, w->n);
    return say(w);
}

/* Warp by warp. */
static void order_round(block_runner *w)
{
    const fake_item_order *o = &w->order;
    const int set = fake_item_order_turn(&w->order);
    for (int i = 0, n = 0; n < w->n; i++) {
        const int first = o->warp[set][i] * WARP, lanes = w->n - first < WARP ? w->n - first : WARP;
        memcpy(w->round + n, o->item[set] + first, (size_t)lanes * sizeof *w->round);
        n += lanes;
    }
}

/* Until all threads have ended. False: one was stopped, or nobody gets on. */
static bool run_rounds(block_runner *w)
{
    int waiting;
    fake_crash_begin(&w->crash);
    do {
        w->progress = false;
        order_round(w);
        waiting = fake_fibers_run(w->fibers, w->round, w->n);
    } while (waiting && w->progress && !w->failed && !w->crash.signal);
    fake_crash_over(&w->crash);
    return !waiting && !w->failed && !w->crash.signal;
}

static bool run_block(block_runner *w, unsigned number)
{
    for (int i = 0; i < w->n; i++)
        w->thread[i].state = RUNS;
    w->alive = w->n;
    w->waiting = w->yes = 0;
    w->site = -1;
    w->failed = false;
    w->error = TN__CU_LAUNCH_FAILED;
    poison(w);
    fake_item_order_group(&w->order, number, w->seed);
    if (!run_rounds(w))
        return stuck(w);
    if (is_untouched(w->dynamic, GAP) && is_untouched(w->dynamic + GAP + w->dynamic_bytes, GAP))
        return true;
    snprintf(w->report, sizeof w->report,
             "kernel '%s' writes beside the %u bytes of dynamic shared memory of its launch", w->kernel->name,
             w->dynamic_bytes);
    return say(w);
}

/* ---- the module's shared memory: all that its unit keeps for each thread ---- */

typedef struct seek {
    ElfW(Addr) base;
    char *at;
    size_t bytes;
} seek;

static int seek_storage(struct dl_phdr_info *info, size_t size, void *arg)
{
    seek *s = arg;
    (void)size;
    if (info->dlpi_addr != s->base)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_TLS) {
            s->at = info->dlpi_tls_data;
            s->bytes = info->dlpi_phdr[i].p_memsz;
        }
    return 1;
}

static bool find_shared(block_runner *w)
{
    void *library = fake_module_library(w->kernel->module);
    struct tn_cuda **(*here)(void);
    void *symbol = dlsym(library, "tn_cuda_here");
    struct link_map *map = NULL;
    if (!symbol || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0)
        return false;
    memcpy(&here, &symbol, sizeof here);
    w->unit = here(); /* from now on the thread has its storage */
    seek s = {.base = map->l_addr};
    dl_iterate_phdr(seek_storage, &s);
    w->shared = s.at;
    w->shared_bytes = s.bytes;
    return s.at != NULL;
}

/* ---- launches ---- */

static bool begin(block_runner *w, const fake_kernel *kernel, const unsigned groups[3], const unsigned local[3],
                  unsigned shared_bytes, void **args)
{
    w->kernel = kernel;
    w->args = args;
    w->n = (int)(local[0] * local[1] * local[2]);
    w->dynamic_bytes = shared_bytes;
    const fake_kernel_rules *rules = fake_kernel_rules_here();
    w->seed = rules->seed;
    fake_item_order_launch(&w->order, w->n, rules->drawn);
    w->here = (struct tn_cuda){
        .dynamic = w->dynamic + GAP, .run = w, .barrier = barrier, .warp = warp, .pause = pause_thread, .fail = fail};
    memcpy(w->here.size, local, sizeof w->here.size);
    memcpy(w->here.blocks, groups, sizeof w->here.blocks);
    w->fibers = find_shared(w) ? fake_fibers_take(w->n, run_thread, w) : NULL;
    return w->fibers != NULL;
}

static void run_blocks(block_runner *w, const unsigned blocks[3])
{
    unsigned *b = w->here.block, number = 0;
    for (b[2] = 0; b[2] < blocks[2]; b[2]++)
        for (b[1] = 0; b[1] < blocks[1]; b[1]++)
            for (b[0] = 0; b[0] < blocks[0]; b[0]++)
                if (!run_block(w, number++))
                    return;
}

bool fake_kernel_is_cuda(const fake_kernel *kernel)
{
    return kernel->info->function != NULL;
}

void fake_cuda_run(const fake_kernel *kernel, const unsigned groups[3], const unsigned local[3], unsigned shared_bytes,
                   void **args)
{
    block_runner *w = runner_here();
    if (!w || !begin(w, kernel, groups, local, shared_bytes, args)) {
        fake_device_fail(TN__CU_OUT_OF_MEMORY, "no memory for the stacks of threads");
        return;
    }
    run_blocks(w, groups);
    fake_fibers_give(w->fibers);
    w->fibers = NULL;
}

/* ---- variables ---- */

void *fake_module_variable(fake_module *module, const char *name, size_t *bytes)
{
    void *library = fake_module_library(module), *at = dlsym(library, name);
    const struct tn_cuda_variable *list = dlsym(library, "tn_fake_variables");
    for (; list && list->name; list++)
        if (!strcmp(list->name, name)) {
            *bytes = list->bytes;
            return list->address;
        }
    struct link_map *map = NULL;
    Dl_info info;
    ElfW(Sym) *symbol = NULL;
    if (!at || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || !dladdr1(at, &info, (void **)&symbol, RTLD_DL_SYMENT) ||
        !symbol || info.dli_saddr != at || (ElfW(Addr))info.dli_fbase != map->l_addr ||
        ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT)
        return NULL; /* no variable, or one of a library below */
    *bytes = symbol->st_size;
    return at;
}
