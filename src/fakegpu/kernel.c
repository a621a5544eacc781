/* Kernels that the fake NVRTC compiled: loading, and running them group by group on the calling thread. */
#include "fakegpu/compiler.h"
#include "fakegpu/dialect_items.h"
#include "fakegpu/env.h"
#include "fakegpu/fake.h"
#include "fakegpu/fibers.h"
#include "fakegpu/sanitizers.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- loading ---- */

struct fake_module {
    void *library;
    int n;
    fake_kernel kernel[]; /* n of them */
};

static bool write_all(int fd, const char *p, size_t n)
{
    while (n) {
        const ssize_t w = write(fd, p, n);
        if (w < 0)
            return false;
        p += w;
        n -= (size_t)w;
    }
    return true;
}

/* The loader takes two files of one name for one library, and file descriptors come again: so the same file gets another
 * spelling each time. */
static void spell_path(char *path, size_t size, int fd)
{
    static atomic_uint loads;
    size_t n = (size_t)snprintf(path, size, "/proc/self/fd");
    for (unsigned i = atomic_fetch_add(&loads, 1); i && n + 16 < size; i >>= 1)
        n += (size_t)snprintf(path + n, size - n, "%s", i & 1 ? "/." : "/");
    snprintf(path + n, size - n, "/%d", fd);
}

/* Where no file may live in memory, or /proc is missing, a file in a folder for temporary files does. */
static void *open_by_file(const char *bytes, size_t n)
{
    const char *folder = fake_env("TMPDIR");
    char path[4096];
    void *library = NULL;
    snprintf(path, sizeof path, "%s/tenon-kernels-XXXXXX", folder && *folder == '/' ? folder : "/tmp");
    const int fd = mkstemp(path);
    if (fd < 0)
        return NULL;
    if (write_all(fd, bytes, n))
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    close(fd);
    unlink(path);
    return library;
}

static void *open_bytes(const char *bytes, size_t n)
{
    char path[128];
    void *library = NULL;
    const int fd = memfd_create("tenon-kernels", MFD_CLOEXEC);
    if (fd >= 0 && write_all(fd, bytes, n)) {
        spell_path(path, sizeof path, fd);
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    if (fd >= 0)
        close(fd);
    return library ? library : open_by_file(bytes, n);
}

static bool take_kernel(fake_kernel *k, const struct tn_kernel_info *info, fake_module *m)
{
    if (info->n_arguments > FAKE_MAX_ARGS || strlen(info->name) >= sizeof k->name)
        return false;
    *k = (fake_kernel){.n_args = info->n_arguments, .barrier = info->barrier, .info = info, .module = m};
    k->max_items = info->items && info->items < FAKE_MAX_ITEMS ? info->items : FAKE_MAX_ITEMS;
    memcpy(k->name, info->name, strlen(info->name) + 1);
    for (int i = 0; i < info->n_locals; i++)
        k->local_bytes += info->local[i].size;
    for (int i = 0; i < k->n_args; i++)
        k->arg[i] = (fake_kernel_arg){.size = info->argument[i].size,
                                      .pointer = info->argument[i].pointer,
                                      .constant = info->argument[i].constant};
    return true;
}

/* ---- what a unit of TinyCC asks for ---- */

static struct tn_items *items_here(void)
{
    static _Thread_local struct tn_items items;
    return &items;
}

static unsigned swap_32(unsigned *p, unsigned expected, unsigned wanted)
{
    __atomic_compare_exchange_n(p, &expected, wanted, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
}

static unsigned long long swap_64(unsigned long long *p, unsigned long long expected, unsigned long long wanted)
{
    __atomic_compare_exchange_n(p, &expected, wanted, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
}

static const struct tn_host host = {items_here, swap_32, swap_64};

tn__cu_result fake_module_load(const void *image, fake_module **module)
{
    fake_image head;
    memcpy(&head, image, sizeof head.magic);
    if (memcmp(head.magic, FAKE_IMAGE_MAGIC, sizeof head.magic) != 0)
        return TN__CU_INVALID_IMAGE;
    memcpy(&head, image, sizeof head);
    if (head.identity != fake_cc_identity())
        return TN__CU_NO_BINARY_FOR_GPU;
    void *library = open_bytes((const char *)image + sizeof head, head.bytes);
    const struct tn_kernel_info *info = library ? dlsym(library, "tn_fake_kernels") : NULL;
    const struct tn_host **asks = library ? dlsym(library, "tn_fake_host") : NULL;
    if (asks)
        *asks = &host;
    int n = 0;
    while (info && info[n].name)
        n++;
    fake_module *m = info ? calloc(1, sizeof *m + (size_t)n * sizeof *m->kernel) : NULL;
    tn__cu_result result = info && !m ? TN__CU_OUT_OF_MEMORY : TN__CU_INVALID_IMAGE;
    for (; m && m->n < n && take_kernel(&m->kernel[m->n], &info[m->n], m); m->n++)
        ;
    if (m && m->n == n) {
        m->library = library;
        *module = m;
        return TN__CU_SUCCESS;
    }
    free(m);
    if (library)
        dlclose(library);
    return result;
}

void fake_module_unload(fake_module *module)
{
    if (!module)
        return;
    dlclose(module->library);
    free(module);
}

const fake_kernel *fake_module_kernel(fake_module *module, const char *name)
{
    for (int i = 0; i < module->n; i++)
        if (!strcmp(module->kernel[i].name, name))
            return &module->kernel[i];
    return NULL;
}

/* ---- what a launch may ask for ---- */

tn__cu_result fake_kernel_check(const fake_kernel *kernel, const unsigned groups[3], const unsigned local[3], char *why,
                                size_t size)
{
    const uint64_t items = (uint64_t)local[0] * local[1] * local[2];
    *why = 0;
    if (!items || !groups[0] || !groups[1] || !groups[2]) {
        snprintf(why, size, "kernel '%s': a size of 0", kernel->name);
    } else if (local[0] > 1024 || local[1] > 1024 || local[2] > 64 || items > (uint64_t)kernel->max_items) {
        snprintf(why, size, "kernel '%s': a group of %u x %u x %u work items (%d at most)", kernel->name, local[0],
                 local[1], local[2], kernel->max_items);
    } else if (groups[0] > 0x7fffffff || groups[1] > 65535 || groups[2] > 65535) {
        snprintf(why, size, "kernel '%s': %u x %u x %u groups (2147483647 x 65535 x 65535 at most)", kernel->name,
                 groups[0], groups[1], groups[2]);
    } else if (kernel->local_bytes > FAKE_MAX_LOCAL_BYTES) {
        snprintf(why, size, "kernel '%s': %u bytes of local memory (%d at most)", kernel->name, kernel->local_bytes,
                 FAKE_MAX_LOCAL_BYTES);
        return TN__CU_LAUNCH_OUT_OF_RESOURCES;
    }
    return *why ? TN__CU_INVALID_VALUE : TN__CU_SUCCESS;
}

/* ---- running: each thread that runs kernels keeps its fibers and local memory ---- */

enum { POISON = 0xff, CANARY = 0xc5, MEMORY = FAKE_MAX_LOCAL_BYTES + 64 * TN_LOCAL_GAP };

typedef struct worker {
    fake_fibers *fibers;
    char *memory;
    /* the launch */
    const fake_kernel *kernel;
    void **args;
    struct tn_items items;
    int n;
    /* the group */
    int round, site;
    bool sites_differ, stray; /* stray: a barrier in a kernel that was declared without */
    unsigned long long exchange[2][FAKE_MAX_ITEMS];
} worker;

static pthread_key_t worker_key;
static pthread_once_t worker_once = PTHREAD_ONCE_INIT;
static int worker_key_error;

static void worker_free(void *arg)
{
    worker *w = arg;
    fake_fibers_free(w->fibers);
    free(w->memory);
    free(w);
}

static void make_key(void)
{
    worker_key_error = pthread_key_create(&worker_key, worker_free);
}

/* One work item, on its fiber. */
static void run_item(void *arg, int i)
{
    worker *w = arg;
    struct tn_items items = w->items;
    items.local[0] = i % items.size[0];
    items.local[1] = i / items.size[0] % items.size[1];
    items.local[2] = i / items.size[0] / items.size[1];
    w->kernel->info->entry(&items, w->args);
}

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
    w->fibers = fake_fibers_new(run_item, w);
    if (!w->memory || !w->fibers || pthread_setspecific(worker_key, w) != 0) {
        worker_free(w);
        return NULL;
    }
    return w;
}

/* ---- what work items call ---- */

static void meet(worker *w, int site)
{
    if (!w->kernel->barrier) {
        w->stray = true;
        return;
    }
    if (w->site < 0)
        w->site = site;
    w->sites_differ |= w->site != site;
    fake_fibers_wait(w->fibers);
}

static void barrier(void *run, int site)
{
    meet(run, site);
}

/* What round r writes is read in round r + 1, and written over in round r + 2 at the earliest. A lane that is not there
 * gives poison; one beyond the warp the caller's own value, as on the device. */
static unsigned long long shuffle(void *run, int site, unsigned long long v, int by, int down)
{
    worker *w = run;
    if (!w->kernel->barrier) {
        w->stray = true;
        return v;
    }
    const int i = fake_fibers_current(w->fibers), lane = i & 31, from = down ? lane + by : lane ^ by;
    unsigned long long *slot = w->exchange[w->round & 1];
    slot[i] = v;
    meet(w, site);
    if (from < 0 || from > 31)
        return v;
    return i - lane + from < w->n ? slot[i - lane + from] : ~0ull;
}

/* ---- local memory: poisoned for each group; nobody writes between the arrays ---- */

static void poison_local(worker *w)
{
    const struct tn_kernel_info *info = w->kernel->info;
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
static bool is_overrun(const worker *w, char *report, size_t size)
{
    const struct tn_kernel_info *info = w->kernel->info;
    for (int i = 0; i < info->n_locals; i++) {
        const struct tn_local *l = &info->local[i];
        const unsigned end = i + 1 < info->n_locals ? info->local[i + 1].offset : info->local_bytes;
        const bool before = i == 0 && !is_untouched(w, 0, l->offset);
        if (before || !is_untouched(w, l->offset + l->size, end)) {
            snprintf(report, size, "kernel '%s' writes %s its array '%s' of local memory", w->kernel->name,
                     before ? "before" : "behind", l->name);
            return true;
        }
    }
    return false;
}

/* ---- groups ---- */

static bool fail(const char *report)
{
    fake_device_fail(TN__CU_LAUNCH_FAILED, report);
    return false;
}

static bool diverged(worker *w, int waiting)
{
    char report[512];
    const int *g = w->items.group;
    if (waiting == w->n)
        snprintf(report, sizeof report,
                 "divergent barrier in kernel '%s': work items of group (%d, %d, %d) wait at different barriers",
                 w->kernel->name, g[0], g[1], g[2]);
    else
        snprintf(
            report, sizeof report,
            "divergent barrier in kernel '%s': %d of %d work items of group (%d, %d, %d) wait at a barrier that the "
            "others never reach",
            w->kernel->name, waiting, w->n, g[0], g[1], g[2]);
    fake_fibers_abandon(w->fibers, w->n);
    return fail(report);
}

/* Directions alternate, so that a missing barrier meets an item that ran too late in one of them. */
static bool run_fibers(worker *w, unsigned number)
{
    int waiting;
    w->round = 0;
    do {
        w->site = -1;
        w->sites_differ = false;
        waiting = fake_fibers_round(w->fibers, w->n, (number + (unsigned)w->round) & 1);
        if ((waiting && waiting != w->n) || w->sites_differ)
            return diverged(w, waiting);
        w->round++;
    } while (waiting);
    return true;
}

/* The entry runs a row of items; here are the rows. */
static bool run_rows(worker *w)
{
    for (int z = 0; z < w->items.size[2]; z++)
        for (int y = 0; y < w->items.size[1]; y++) {
            w->items.local[1] = y;
            w->items.local[2] = z;
            w->kernel->info->entry(&w->items, w->args);
        }
    char report[256];
    if (!w->stray)
        return true;
    snprintf(report, sizeof report, "kernel '%s' reaches a barrier or shuffle: it must be declared KERNEL_B",
             w->kernel->name);
    return fail(report);
}

static bool run_group(worker *w, unsigned number)
{
    char report[256];
    poison_local(w);
    if (!(w->kernel->barrier ? run_fibers(w, number) : run_rows(w)))
        return false;
    return is_overrun(w, report, sizeof report) ? fail(report) : true;
}

static bool begin(worker *w, const fake_kernel *kernel, const unsigned groups[3], const unsigned local[3], void **args)
{
    w->kernel = kernel;
    w->args = args;
    w->stray = false;
    w->n = (int)(local[0] * local[1] * local[2]);
    w->items = (struct tn_items){.memory = w->memory, .run = w, .barrier = barrier, .shuffle = shuffle};
    for (int d = 0; d < 3; d++) {
        w->items.size[d] = (int)local[d];
        w->items.groups[d] = (int)groups[d];
    }
    return !kernel->barrier || fake_fibers_reserve(w->fibers, w->n);
}

void fake_kernel_run(const fake_kernel *kernel, const unsigned groups[3], const unsigned local[3], void **args)
{
    char why[256];
    tn__cu_result result = fake_kernel_check(kernel, groups, local, why, sizeof why);
    if (result) {
        fake_device_fail(result, why);
        return;
    }
    worker *w = worker_here();
    if (!w || !begin(w, kernel, groups, local, args)) {
        fake_device_fail(TN__CU_OUT_OF_MEMORY, "no memory for the stacks of work items");
        return;
    }
    int *g = w->items.group;
    unsigned number = 0;
    for (g[2] = 0; g[2] < (int)groups[2]; g[2]++)
        for (g[1] = 0; g[1] < (int)groups[1]; g[1]++)
            for (g[0] = 0; g[0] < (int)groups[0]; g[0]++)
                if (!run_group(w, number++))
                    return;
}
