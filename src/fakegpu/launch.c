/* Functions of modules, and their launches. */
#include "fakegpu/driver.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is asked of a function ---- */

static int attribute_of(const fake_kernel *k, unsigned attribute)
{
    switch (attribute) {
    case TN__CU_FUNC_MAX_THREADS_PER_BLOCK: return k->max_items;
    case TN__CU_FUNC_SHARED_SIZE_BYTES: return (int)k->local_bytes;
    case TN__CU_FUNC_NUM_REGS: return 32;
    case TN__CU_FUNC_PTX_VERSION:
    case TN__CU_FUNC_BINARY_VERSION: return 90;
    case TN__CU_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES: return FAKE_MAX_LOCAL_BYTES - (int)k->local_bytes;
    case TN__CU_FUNC_PREFERRED_SHARED_MEMORY_CARVEOUT: return -1;
    case TN__CU_FUNC_CONST_SIZE_BYTES:
    case TN__CU_FUNC_LOCAL_SIZE_BYTES:
    case TN__CU_FUNC_CACHE_MODE_CA: return 0;
    }
    return -2;
}

static tn__cu_result enter_function(tn__cu_function function)
{
    fake_context *c;
    tn__cu_result r = fake_enter_context(&c);
    if (r)
        return r;
    return fake_handle_is(function, FAKE_FUNCTION) ? TN__CU_SUCCESS : fake_leave(TN__CU_INVALID_HANDLE);
}

tn__cu_result cuFuncGetAttribute(int *value, unsigned attribute, tn__cu_function function)
{
    tn__cu_result r = enter_function(function);
    if (r)
        return r;
    const int v = attribute_of(function->kernel, attribute);
    if (!value || v < -1)
        return fake_leave(TN__CU_INVALID_VALUE);
    *value = v;
    return fake_leave(TN__CU_SUCCESS);
}

/* Dynamic shared memory may be as much as there is without being asked for; the rest is the hardware's. */
tn__cu_result cuFuncSetAttribute(tn__cu_function function, unsigned attribute, int value)
{
    tn__cu_result r = enter_function(function);
    if (r)
        return r;
    const bool shared = attribute == TN__CU_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    if (!shared && attribute != TN__CU_FUNC_PREFERRED_SHARED_MEMORY_CARVEOUT)
        return fake_leave(TN__CU_INVALID_VALUE);
    const bool fits = !shared || (value >= 0 && value <= attribute_of(function->kernel, attribute));
    return fake_leave(fits ? TN__CU_SUCCESS : TN__CU_INVALID_VALUE);
}

tn__cu_result cuFuncSetCacheConfig(tn__cu_function function, unsigned config)
{
    tn__cu_result r = enter_function(function);
    return r ? r : fake_leave(config > 3 ? TN__CU_INVALID_VALUE : TN__CU_SUCCESS);
}

tn__cu_result cuFuncGetModule(tn__cu_module *module, tn__cu_function function)
{
    tn__cu_result r = enter_function(function);
    if (r)
        return r;
    if (!module)
        return fake_leave(TN__CU_INVALID_VALUE);
    *module = function->module;
    return fake_leave(TN__CU_SUCCESS);
}

tn__cu_result cuFuncGetName(const char **name, tn__cu_function function)
{
    tn__cu_result r = enter_function(function);
    if (r)
        return r;
    if (!name)
        return fake_leave(TN__CU_INVALID_VALUE);
    *name = function->kernel->name;
    return fake_leave(TN__CU_SUCCESS);
}

/* ---- occupancy: what fits into a multiprocessor by its threads, its shared memory and its places for blocks ---- */

enum { PLACES = 32, SHARED_OF_ALL = 96 << 10, RESERVED = 1024, WARP = 32, THREADS_OF_ALL = 2048 };

static int blocks_that_fit(const fake_kernel *k, int threads, size_t shared)
{
    const int rounded = (threads + WARP - 1) / WARP * WARP;
    const size_t each = k->local_bytes + shared + RESERVED;
    if (threads <= 0 || threads > k->max_items || k->local_bytes + shared > FAKE_MAX_LOCAL_BYTES)
        return 0;
    int n = THREADS_OF_ALL / rounded < PLACES ? THREADS_OF_ALL / rounded : PLACES;
    if (SHARED_OF_ALL / each < (size_t)n)
        n = (int)(SHARED_OF_ALL / each);
    return n;
}

tn__cu_result cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, tn__cu_function function,
                                                                   int block_size, size_t shared_bytes, unsigned flags)
{
    tn__cu_result r = enter_function(function);
    if (r)
        return r;
    if (!blocks || block_size <= 0 || flags > 1)
        return fake_leave(TN__CU_INVALID_VALUE);
    *blocks = blocks_that_fit(function->kernel, block_size, shared_bytes);
    return fake_leave(TN__CU_SUCCESS);
}

tn__cu_result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, tn__cu_function function, int block_size,
                                                          size_t shared_bytes)
{
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_size, shared_bytes, 0);
}

/* The size with the most threads at once, the largest of several. The caller's function is called without the lock. */
tn__cu_result cuOccupancyMaxPotentialBlockSizeWithFlags(int *min_grid, int *block_size, tn__cu_function function,
                                                        tn__cu_block_to_shared shared_of, size_t shared_bytes,
                                                        int limit, unsigned flags)
{
    tn__cu_result r = enter_function(function);
    if (r)
        return r;
    const fake_kernel *k = function->kernel;
    fake_leave(r);
    if (!min_grid || !block_size || flags > 1 || limit < 0)
        return TN__CU_INVALID_VALUE;
    const int most = limit && limit < k->max_items ? limit : k->max_items;
    int best = 0, blocks = 0, multiprocessors = 0;
    for (int size = most; size > 0; size = (size - 1) / WARP * WARP) {
        const int n = blocks_that_fit(k, size, shared_of ? shared_of(size) : shared_bytes);
        if (n * size <= best * blocks)
            continue;
        best = size;
        blocks = n;
    }
    r = cuDeviceGetAttribute(&multiprocessors, TN__CU_MULTIPROCESSOR_COUNT, 0);
    *block_size = best;
    *min_grid = blocks * multiprocessors;
    return r;
}

tn__cu_result cuOccupancyMaxPotentialBlockSize(int *min_grid, int *block_size, tn__cu_function function,
                                               tn__cu_block_to_shared shared_of, size_t shared_bytes, int limit)
{
    return cuOccupancyMaxPotentialBlockSizeWithFlags(min_grid, block_size, function, shared_of, shared_bytes, limit, 0);
}

tn__cu_result cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, tn__cu_function function, int blocks,
                                                      int block_size)
{
    tn__cu_result r = enter_function(function);
    if (r)
        return r;
    const fake_kernel *k = function->kernel;
    if (!bytes || blocks <= 0 || blocks > blocks_that_fit(k, block_size, 0))
        return fake_leave(TN__CU_INVALID_VALUE);
    const size_t share = SHARED_OF_ALL / (size_t)blocks - RESERVED, most = FAKE_MAX_LOCAL_BYTES;
    *bytes = (share < most ? share : most) - k->local_bytes;
    return fake_leave(TN__CU_SUCCESS);
}

/* ---- arguments ---- */

typedef struct launch {
    const fake_kernel *kernel;
    unsigned groups[3], local[3], shared_bytes;
    void *args[FAKE_MAX_ARGS];
    fake_extent *extent; /* of each argument, from malloc; NULL where they are not watched */
    _Alignas(16) char values[];
} launch;

static void drop_launch(void *arg)
{
    launch *l = arg;
    free(l->extent);
    free(l);
}

static void run_launch(void *arg)
{
    launch *l = arg;
    if (fake_kernel_is_cuda(l->kernel))
        fake_cuda_run(l->kernel, l->groups, l->local, l->shared_bytes, l->args);
    else
        fake_kernel_run(l->kernel, l->groups, l->local, l->args, l->extent);
    drop_launch(l);
}

/* What is given as one buffer is taken apart as a compiler would lay it out. */
static tn__cu_result unpack(const fake_kernel *k, void **extra, void **parameters)
{
    enum { END, BUFFER, SIZE };
    char *buffer = NULL;
    size_t size = 0, at = 0;
    for (; (uintptr_t)extra[0] != END; extra += 2)
        if ((uintptr_t)extra[0] == BUFFER)
            buffer = extra[1];
        else if ((uintptr_t)extra[0] == SIZE)
            memcpy(&size, extra[1], sizeof size);
        else
            return TN__CU_INVALID_VALUE;
    for (int i = 0; i < k->n_args; i++) {
        const size_t align = k->arg[i].align ? k->arg[i].align : k->arg[i].size;
        at = (at + align - 1) / align * align;
        parameters[i] = buffer + at;
        at += k->arg[i].size;
    }
    if (buffer ? at <= size : !at)
        return TN__CU_SUCCESS;
    fake_report("kernel '%s': its parameters take %zu bytes, the buffer has %zu", k->name, at, size);
    return TN__CU_INVALID_VALUE;
}

static size_t room(uint32_t size)
{
    return ((size_t)size + 15) / 16 * 16;
}

bool fake_is_device_memory(const void *host_address)
{
    const char *p = host_address;
    for (int i = 0; i < fake.n_devices; i++)
        if (p >= fake.device[i].base + fake.device[i].span && p < fake.device[i].base + 2 * fake.device[i].span)
            return true;
    return false;
}

/* The live piece, or block, that the pointer lies in: as it is now, when the launch is queued. */
static fake_extent extent_of(const void *pointer)
{
    fake_suballocation piece;
    const fake_block *b = fake_block_of(pointer);
    if (!b || !fake_suballocation_find(b, (size_t)((const char *)pointer - b->base), &piece))
        return (fake_extent){NULL, NULL};
    const char *base = fake_host_address(b->base);
    return (fake_extent){base + piece.from, base + piece.to};
}

/* Device addresses within a structure, or in an integer, become host addresses as pointers do. */
static void translate_words(char *at, uint32_t size, fake_access *access, int *n)
{
    for (uint32_t i = 0; i + sizeof(void *) <= size && *n < FAKE_MAX_ARGS; i += sizeof(void *)) {
        void *p;
        memcpy(&p, at + i, sizeof p);
        if (!fake_device_of(p))
            continue;
        access[(*n)++] = (fake_access){p, 0, true};
        p = fake_host_address(p);
        memcpy(at + i, &p, sizeof p);
    }
}

/* Copies the arguments, pointers as host addresses, and notes the memory they point to. NULL: no memory. */
static launch *pack(const fake_kernel *k, void **parameters, fake_access *access, int *n)
{
    size_t bytes = 0;
    for (int i = 0; i < k->n_args; i++)
        bytes += room(k->arg[i].size);
    launch *l = malloc(sizeof *l + bytes);
    if (!l)
        return NULL;
    const bool cuda = fake_kernel_is_cuda(k);
    l->kernel = k;
    l->extent = fake_kernel_watches() && !cuda ? calloc((size_t)k->n_args + 1, sizeof *l->extent) : NULL;
    *n = 0;
    char *at = l->values;
    for (int i = 0; i < k->n_args; i++) {
        memcpy(at, parameters[i], k->arg[i].size);
        if (k->arg[i].pointer) {
            void *p;
            memcpy(&p, at, sizeof p);
            access[(*n)++] = (fake_access){p, 0, !k->arg[i].constant};
            if (l->extent)
                l->extent[i] = extent_of(p);
            p = fake_host_address(p);
            memcpy(at, &p, sizeof p);
        } else if (cuda) {
            translate_words(at, k->arg[i].size, access, n);
        }
        l->args[i] = at;
        at += room(k->arg[i].size);
    }
    return l;
}

/* ---- launches ---- */

/* Whether a kernel can be launched so; a reason is reported. */
static tn__cu_result check(const fake_kernel *k, const unsigned groups[3], const unsigned local[3], unsigned shared)
{
    char why[256];
    tn__cu_result r = fake_kernel_check(k, groups, local, why, sizeof why);
    if (*why)
        fake_report("%s", why);
    if (!r && shared > FAKE_MAX_LOCAL_BYTES - k->local_bytes) {
        fake_report("kernel '%s': %u bytes of dynamic shared memory beside its own %u: %d are the most", k->name,
                    shared, k->local_bytes, FAKE_MAX_LOCAL_BYTES);
        r = TN__CU_INVALID_VALUE;
    }
    for (int i = 0; !r && i < k->n_args; i++)
        if (k->arg[i].nested) {
            fake_report("kernel '%s': parameter %d is a pointer to pointers: fake GPUs translate addresses that are "
                        "given to a launch, not those that lie in memory",
                        k->name, i);
            r = TN__CU_NOT_SUPPORTED;
        }
    return r;
}

tn__cu_result cuLaunchKernel(tn__cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                             unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                             tn__cu_stream stream, void **parameters, void **extra)
{
    fake_context *c;
    fake_stream *s;
    tn__cu_result r = fake_enter_queue(stream, &c, &s);
    if (r)
        return r;
    if (!fake_handle_is(function, FAKE_FUNCTION) || function->module->context != c || s->context != c)
        return fake_leave(TN__CU_INVALID_HANDLE);
    const fake_kernel *k = function->kernel;
    const unsigned groups[3] = {grid_x, grid_y, grid_z}, local[3] = {block_x, block_y, block_z};
    void *unpacked[FAKE_MAX_ARGS];
    r = check(k, groups, local, shared_bytes);
    if (!r && extra && !parameters)
        r = unpack(k, extra, parameters = unpacked);
    else if (!r && (extra || (k->n_args && !parameters)))
        r = TN__CU_INVALID_VALUE;
    if (r)
        return fake_leave(r);
    fake_access access[2 * FAKE_MAX_ARGS]; /* pointers, and addresses within structures */
    int n;
    launch *l = pack(k, parameters, access, &n);
    if (!l)
        return fake_leave(TN__CU_OUT_OF_MEMORY);
    memcpy(l->groups, groups, sizeof groups);
    memcpy(l->local, local, sizeof local);
    l->shared_bytes = shared_bytes;
    const fake_work work = {.what = function->what, .run = run_launch, .drop = drop_launch, .arg = l};
    r = fake_submit(s, &work, access, n);
    if (r) {
        drop_launch(l);
        return fake_leave(r);
    }
    c->device->count[TN__FAKE_LAUNCHES]++;
    return fake_leave(fake_if_blocking(s));
}

/* Attributes of a launch are about how fast it is, but for those of clusters, which no kernel here can see. */
tn__cu_result cuLaunchKernelEx(const tn__cu_launch_config *config, tn__cu_function function, void **parameters,
                               void **extra)
{
    if (!config || (config->n_attributes && !config->attributes))
        return TN__CU_INVALID_VALUE;
    const unsigned *g = config->grid, *b = config->block;
    return cuLaunchKernel(function, g[0], g[1], g[2], b[0], b[1], b[2], config->shared_bytes, config->stream,
                          parameters, extra);
}

/* Blocks run one after another: they cannot wait for each other. */
tn__cu_result cuLaunchCooperativeKernel(tn__cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                        tn__cu_stream stream, void **parameters)
{
    (void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y, (void)block_z;
    (void)shared_bytes, (void)stream, (void)parameters;
    tn__cu_result r = enter_function(function);
    if (r)
        return r;
    fake_report("kernel '%s': fake GPUs run the blocks of a grid one after another: no cooperative launches",
                function->kernel->name);
    return fake_leave(TN__CU_NOT_SUPPORTED);
}
