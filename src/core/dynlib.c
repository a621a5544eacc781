/* Foreign libraries, by dlopen; and the folder that this one lies in. */
#include "core/dynlib.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <tenon/device.h>
#include <unistd.h>

/* The loader opens whatever has the name, and a FIFO would keep it waiting for a writer. */
static bool would_wait(const char *name)
{
    struct stat s;
    return strchr(name, '/') && stat(name, &s) == 0 && !S_ISREG(s.st_mode);
}

/* Is this what the loader says of a name that it found nowhere? Of a library that this one needs it says the same, under
 * that one's name. */
static bool is_absent(const char *name, const char *words)
{
    const char *at = strstr(words, name);
    return at && at[strlen(name)] == ':' && strstr(at, "No such file or directory");
}

static void note_fault(const char *name, const char *words, tn__dynlib_fault *fault)
{
    if (words && fault && !*fault->s && !is_absent(name, words))
        snprintf(fault->s, sizeof fault->s, "%s is there, but cannot be loaded: %s", name, words);
}

void *tn__dynlib_open(const char *const *names, const char **opened, tn__dynlib_fault *fault)
{
    for (; *names; names++) {
        const bool waits = would_wait(*names);
        void *lib = waits ? NULL : dlopen(*names, RTLD_NOW | RTLD_LOCAL);
        if (!lib)
            note_fault(*names, waits ? "it is no file" : dlerror(), fault);
        if (lib) {
            if (opened)
                *opened = *names;
            return lib;
        }
    }
    return NULL;
}

bool tn__dynlib_exhausted(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd < 0 && (errno == EMFILE || errno == ENFILE);
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
