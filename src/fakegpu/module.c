/* Modules, functions, launches. */
#include "fakegpu/driver.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CUfunc_st {
    tn__cu_function next; /* of the module */
    tn__cu_module module;
    const fake_kernel *kernel;
    char what[144]; /* "kernel 'add'" */
};

struct CUmod_st {
    tn__cu_module next; /* of the context */
    fake_context *context;
    fake_module *loaded;
    tn__cu_function functions;
};

static void take_off(tn__cu_module m)
{
    for (tn__cu_module *at = &m->context->modules; *at; at = &(*at)->next)
        if (*at == m) {
            *at = m->next;
            break;
        }
    m->context->device->count[TN__FAKE_MODULES]--;
    fake_handle_remove(m);
    for (tn__cu_function f = m->functions; f; f = f->next)
        fake_handle_remove(f);
}

static void destroy(tn__cu_module m)
{
    while (m->functions) {
        tn__cu_function f = m->functions;
        m->functions = f->next;
        free(f);
    }
    fake_module_unload(m->loaded);
    free(m);
}

void fake_modules_clear(fake_context *c)
{
    while (c->modules) {
        tn__cu_module m = c->modules;
        take_off(m);
        destroy(m);
    }
}

tn__cu_result cuModuleLoadData(tn__cu_module *module, const void *image)
{
    fake_context *c;
    tn__cu_result r = fake_enter_context(&c);
    if (r)
        return r;
    bool foreign = fake_fault(FAKE_FAULT_NOCUBIN, c->device->ordinal);
    fake_leave(r); /* loading takes long */
    if (foreign)
        return TN__CU_NO_BINARY_FOR_GPU;
    if (!module || !image)
        return TN__CU_INVALID_VALUE;
    tn__cu_module m = calloc(1, sizeof *m);
    if (!m)
        return TN__CU_OUT_OF_MEMORY;
    r = fake_module_load(image, &m->loaded);
    if (r) {
        free(m);
        return r;
    }
    pthread_mutex_lock(&fake.lock);
    if (!fake_handle_add(m, FAKE_MODULE)) {
        fake_leave(0);
        destroy(m);
        return TN__CU_OUT_OF_MEMORY;
    }
    m->context = c;
    m->next = c->modules;
    c->modules = m;
    c->device->count[TN__FAKE_MODULES]++;
    *module = m;
    return fake_leave(TN__CU_SUCCESS);
}

/* Also of a dead device: the module goes, the error is said. */
tn__cu_result cuModuleUnload(tn__cu_module module)
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    if (!fake_handle_is(module, FAKE_MODULE))
        return fake_leave(TN__CU_INVALID_HANDLE);
    fake_context *c = module->context;
    take_off(module);
    fake_wait_context(c); /* its kernels may be queued */
    r = c->error;
    fake_leave(r);
    destroy(module);
    return r;
}

tn__cu_result cuModuleGetFunction(tn__cu_function *function, tn__cu_module module, const char *name)
{
    fake_context *c;
    tn__cu_result r = fake_enter_context(&c);
    if (r)
        return r;
    if (!fake_handle_is(module, FAKE_MODULE))
        return fake_leave(TN__CU_INVALID_HANDLE);
    if (!function || !name)
        return fake_leave(TN__CU_INVALID_VALUE);
    for (*function = module->functions; *function; *function = (*function)->next)
        if (strcmp((*function)->kernel->name, name) == 0)
            return fake_leave(TN__CU_SUCCESS);
    const fake_kernel *kernel = fake_module_kernel(module->loaded, name);
    if (!kernel)
        return fake_leave(TN__CU_NOT_FOUND);
    tn__cu_function f = calloc(1, sizeof *f);
    if (!f || !fake_handle_add(f, FAKE_FUNCTION)) {
        free(f);
        return fake_leave(TN__CU_OUT_OF_MEMORY);
    }
    f->module = module;
    f->kernel = kernel;
    snprintf(f->what, sizeof f->what, "kernel '%s'", kernel->name);
    f->next = module->functions;
    module->functions = f;
    *function = f;
    return fake_leave(TN__CU_SUCCESS);
}

tn__cu_result cuFuncGetAttribute(int *value, unsigned attribute, tn__cu_function function)
{
    fake_context *c;
    tn__cu_result r = fake_enter_context(&c);
    if (r)
        return r;
    if (!fake_handle_is(function, FAKE_FUNCTION))
        return fake_leave(TN__CU_INVALID_HANDLE);
    if (!value)
        return fake_leave(TN__CU_INVALID_VALUE);
    switch (attribute) {
    case TN__CU_FUNC_MAX_THREADS_PER_BLOCK: *value = function->kernel->max_items; break;
    case TN__CU_FUNC_SHARED_SIZE_BYTES: *value = (int)function->kernel->local_bytes; break;
    case TN__CU_FUNC_NUM_REGS: *value = 32; break;
    default: return fake_leave(TN__CU_INVALID_VALUE);
    }
    return fake_leave(TN__CU_SUCCESS);
}

/* ---- launches ---- */

typedef struct launch {
    const fake_kernel *kernel;
    unsigned groups[3], local[3];
    void *args[FAKE_MAX_ARGS];
    _Alignas(16) char values[];
} launch;

static void run_launch(void *arg)
{
    launch *l = arg;
    fake_kernel_run(l->kernel, l->groups, l->local, l->args);
    free(l);
}

static size_t room(uint32_t size)
{
    return ((size_t)size + 15) / 16 * 16;
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
    l->kernel = k;
    *n = 0;
    char *at = l->values;
    for (int i = 0; i < k->n_args; i++) {
        memcpy(at, parameters[i], k->arg[i].size);
        if (k->arg[i].pointer) {
            void *p;
            memcpy(&p, at, sizeof p);
            access[(*n)++] = (fake_access){p, 0, !k->arg[i].constant};
            p = fake_host_address(p);
            memcpy(at, &p, sizeof p);
        }
        l->args[i] = at;
        at += room(k->arg[i].size);
    }
    return l;
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
    const unsigned groups[3] = {grid_x, grid_y, grid_z}, local[3] = {block_x, block_y, block_z};
    char why[256];
    r = fake_kernel_check(function->kernel, groups, local, why, sizeof why);
    if (*why)
        fake_report("%s", why);
    if (!r && (shared_bytes > FAKE_MAX_LOCAL_BYTES - function->kernel->local_bytes || extra ||
               (function->kernel->n_args && !parameters)))
        r = TN__CU_INVALID_VALUE;
    if (r)
        return fake_leave(r);
    fake_access access[FAKE_MAX_ARGS];
    int n;
    launch *l = pack(function->kernel, parameters, access, &n);
    if (!l)
        return fake_leave(TN__CU_OUT_OF_MEMORY);
    memcpy(l->groups, groups, sizeof groups);
    memcpy(l->local, local, sizeof local);
    const fake_work work = {.what = function->what, .run = run_launch, .drop = free, .arg = l};
    r = fake_submit(s, &work, access, n);
    if (r) {
        free(l);
        return fake_leave(r);
    }
    c->device->count[TN__FAKE_LAUNCHES]++;
    return fake_leave(fake_if_blocking(s));
}
