#include "core/dynlib.h"
#include <dlfcn.h>

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
