/* Foreign libraries, by dlopen; and the folder that this one lies in. */
#include "core/dynlib.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <tenon/device.h>

void *tn__dynlib_open(const char *const *names, const char **opened)
{
    for (; *names; names++) {
        void *lib = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
        if (lib) {
            if (opened)
                *opened = *names;
            return lib;
        }
    }
    return NULL;
}

bool tn__dynlib_symbols(void *lib, const char *const *names, void **slots, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        slots[i] = dlsym(lib, names[i]);
        if (!slots[i]) {
            memset(slots, 0, n * sizeof *slots);
            return false;
        }
    }
    return true;
}

void tn__dynlib_close(void *lib)
{
    if (lib)
        dlclose(lib);
}

bool tn__dynlib_folder(char *path, size_t size)
{
    Dl_info info;
    char whole[PATH_MAX];
    void *self;
    const char *(*here)(void) = tn_version;
    memcpy(&self, &here, sizeof self);
    /* an executable that was found by PATH has a bare name: the kernel knows where it is */
    if (!dladdr(self, &info) || !info.dli_fname ||
        (!realpath(strchr(info.dli_fname, '/') ? info.dli_fname : "/proc/self/exe", whole)))
        return false;
    char *slash = strrchr(whole, '/');
    if (!slash || (size_t)(slash - whole) >= size)
        return false;
    *slash = '\0';
    snprintf(path, size, "%s", whole);
    return true;
}

const char *tn__dynlib_path(const void *address)
{
    Dl_info info;
    return dladdr(address, &info) ? info.dli_fname : NULL;
}
