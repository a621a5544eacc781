/* Modules as programs beside Tenon load them: from files, with options, as libraries without a context of their own. */
#include "fakegpu/compiler.h"
#include "fakegpu/driver.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where a program wants to read why an image is refused. */
static void put_log(tn__cu_result r, unsigned n, const unsigned *options, void **values)
{
    char *buffer = NULL;
    size_t size = 0;
    for (unsigned i = 0; i < n; i++)
        if (options[i] == TN__CU_JIT_ERROR_LOG_BUFFER)
            buffer = values[i];
        else if (options[i] == TN__CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            size = (size_t)(uintptr_t)values[i];
    if (buffer && size)
        snprintf(buffer, size, "%s",
                 r ? "fake GPUs run what their own NVRTC compiled from CUDA C, and nothing else" : "");
}

tn__cu_result cuModuleLoadDataEx(tn__cu_module *module, const void *image, unsigned n, unsigned *options, void **values)
{
    if (n && (!options || !values))
        return TN__CU_INVALID_VALUE;
    tn__cu_result r = cuModuleLoadData(module, image);
    put_log(r, n, options, values);
    return r;
}

tn__cu_result cuModuleLoadFatBinary(tn__cu_module *module, const void *image)
{
    return cuModuleLoadData(module, image);
}

tn__cu_result cuModuleLoad(tn__cu_module *module, const char *path)
{
    fake_text image = {0};
    if (!path)
        return TN__CU_INVALID_VALUE;
    tn__cu_result r = TN__CU_FILE_NOT_FOUND;
    if (fake_text_read(&image, path) && image.n >= sizeof(fake_image))
        r = cuModuleLoadData(module, image.s);
    else if (image.n)
        r = TN__CU_INVALID_IMAGE;
    fake_text_free(&image);
    return r;
}

tn__cu_result cuModuleGetLoadingMode(unsigned *mode)
{
    enum { EAGER = 1 };
    if (!mode)
        return TN__CU_INVALID_VALUE;
    *mode = EAGER;
    return TN__CU_SUCCESS;
}

/* ---- libraries: a module of the context that is current when it is loaded, by another type; kernels are its functions ---- */

static tn__cu_module module_of(tn__cu_library library)
{
    return (tn__cu_module)(void *)library;
}

static tn__cu_function function_of(tn__cu_kernel kernel)
{
    return (tn__cu_function)(void *)kernel;
}

tn__cu_result cuLibraryLoadData(tn__cu_library *library, const void *image, unsigned *options, void **values,
                                unsigned n, unsigned *library_options, void **library_values, unsigned n_library)
{
    (void)library_options, (void)library_values, (void)n_library; /* how long the image is there: it is read now */
    tn__cu_module m;
    if (!library)
        return TN__CU_INVALID_VALUE;
    tn__cu_result r = cuModuleLoadDataEx(&m, image, n, options, values);
    if (!r)
        *library = (tn__cu_library)(void *)m;
    return r;
}

tn__cu_result cuLibraryUnload(tn__cu_library library)
{
    return cuModuleUnload(module_of(library));
}

tn__cu_result cuLibraryGetKernel(tn__cu_kernel *kernel, tn__cu_library library, const char *name)
{
    tn__cu_function f;
    if (!kernel)
        return TN__CU_INVALID_VALUE;
    tn__cu_result r = cuModuleGetFunction(&f, module_of(library), name);
    if (!r)
        *kernel = (tn__cu_kernel)(void *)f;
    return r;
}

tn__cu_result cuLibraryGetModule(tn__cu_module *module, tn__cu_library library)
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    if (!module || !fake_handle_is(library, FAKE_MODULE))
        return fake_leave(module ? TN__CU_INVALID_HANDLE : TN__CU_INVALID_VALUE);
    *module = module_of(library);
    return fake_leave(TN__CU_SUCCESS);
}

tn__cu_result cuLibraryGetGlobal(tn__cu_ptr *pointer, size_t *bytes, tn__cu_library library, const char *name)
{
    return cuModuleGetGlobal_v2(pointer, bytes, module_of(library), name);
}

tn__cu_result cuKernelGetFunction(tn__cu_function *function, tn__cu_kernel kernel)
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    if (!function || !fake_handle_is(kernel, FAKE_FUNCTION))
        return fake_leave(function ? TN__CU_INVALID_HANDLE : TN__CU_INVALID_VALUE);
    *function = function_of(kernel);
    return fake_leave(TN__CU_SUCCESS);
}

tn__cu_result cuKernelGetAttribute(int *value, unsigned attribute, tn__cu_kernel kernel, tn__cu_device device)
{
    (void)device; /* they are all the same */
    return cuFuncGetAttribute(value, attribute, function_of(kernel));
}

tn__cu_result cuKernelSetAttribute(unsigned attribute, int value, tn__cu_kernel kernel, tn__cu_device device)
{
    (void)device;
    return cuFuncSetAttribute(function_of(kernel), attribute, value);
}
