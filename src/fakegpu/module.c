/* Modules, their functions and variables. */
#include "fakegpu/driver.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- variables: they lie in the host's memory that the module is, where copies may reach them once they were asked for ---- */

bool fake_is_variable(const void *address)
{
    const fake_block *b = fake_table_find(&fake.pinned, address);
    return b && b->module;
}

static void forget_variables(const struct CUmod_st *m)
{
    for (size_t i = fake.pinned.n; i-- > 0;)
        if (fake.pinned.at[i]->module == m)
            fake_memory_release(fake.pinned.at[i]);
}

static fake_block *variable_block(tn__cu_module m, char *at, size_t bytes)
{
    fake_block *b = fake_table_find(&fake.pinned, at);
    if (b)
        return b->module == m ? b : NULL;
    b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    *b = (fake_block){
        .base = at, .bytes = bytes, .size = bytes, .locker = m->context->device, .registered = true, .module = m};
    if (fake_memory_insert(b))
        return b;
    free(b);
    return NULL;
}

tn__cu_result cuModuleGetGlobal_v2(tn__cu_ptr *pointer, size_t *bytes, tn__cu_module module, const char *name)
{
    fake_context *c;
    tn__cu_result r = fake_enter_context(&c);
    if (r)
        return r;
    if (!fake_handle_is(module, FAKE_MODULE))
        return fake_leave(TN__CU_INVALID_HANDLE);
    if (!name)
        return fake_leave(TN__CU_INVALID_VALUE);
    size_t size = 0;
    char *at = fake_module_variable(module->loaded, name, &size);
    if (!at)
        return fake_leave(TN__CU_NOT_FOUND);
    if (!variable_block(module, at, size))
        return fake_leave(TN__CU_OUT_OF_MEMORY);
    if (pointer)
        *pointer = (tn__cu_ptr)(uintptr_t)at;
    if (bytes)
        *bytes = size;
    return fake_leave(TN__CU_SUCCESS);
}

/* ---- modules ---- */

static void take_off(tn__cu_module m)
{
    for (tn__cu_module *at = &m->context->modules; *at; at = &(*at)->next)
        if (*at == m) {
            *at = m->next;
            break;
        }
    m->context->device->count[TN__FAKE_MODULES]--;
    fake_handle_remove(m);
    forget_variables(m);
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
    const uint64_t life = c->life;
    fake_leave(r); /* loading takes long */
    if (foreign)
        return TN__CU_NO_BINARY_FOR_GPU;
    if (!module || !image)
        return TN__CU_INVALID_VALUE;
    tn__cu_module m = calloc(1, sizeof *m);
    if (!m)
        return TN__CU_OUT_OF_MEMORY;
    const char *what;
    r = fake_image_load(image, c->device->capability, &m->loaded, &what);
    if (what)
        fake_report(
            "a module is %s from elsewhere: fake GPUs run what their own NVRTC compiled from CUDA C, and nothing else",
            what);
    if (r) {
        free(m);
        return r;
    }
    pthread_mutex_lock(&fake.lock);
    r = fake_still(c, life); /* else nobody would ever unload it */
    if (!r && !fake_handle_add(m, FAKE_MODULE))
        r = TN__CU_OUT_OF_MEMORY;
    if (r) {
        fake_leave(r);
        destroy(m);
        return r;
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
    r = fake_context_error(c);
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
