/* What the fake NVRTC made, loaded: its kernels, and what may be asked of them. */
#include "fakegpu/compiler.h"
#include "fakegpu/env.h"
#include "fakegpu/kernel.h"
#include <dlfcn.h>
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
    if (info->n_arguments > FAKE_MAX_ARGS || (!info->function && strlen(info->name) >= sizeof k->name))
        return false;
    *k = (fake_kernel){.n_args = info->n_arguments, .barrier = info->barrier, .info = info, .module = m};
    k->max_items = info->items && info->items < FAKE_MAX_ITEMS ? info->items : FAKE_MAX_ITEMS;
    snprintf(k->name, sizeof k->name, "%s", info->name);
    for (int i = 0; i < info->n_locals; i++)
        k->local_bytes += info->local[i].size;
    for (int i = 0; i < k->n_args; i++)
        k->arg[i] = (fake_kernel_arg){.size = info->argument[i].size,
                                      .pointer = info->argument[i].pointer,
                                      .constant = info->argument[i].constant,
                                      .align = info->argument[i].align,
                                      .nested = info->argument[i].nested};
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

/* Code runs where its major number is the device's and its minor one not above the device's. */
static bool runs_on(const fake_image *head, bool ptx, int capability)
{
    const int architecture = (int)head->architecture;
    return architecture <= capability && (ptx || architecture / 10 == capability / 10);
}

tn__cu_result fake_module_load(const void *image, int capability, fake_module **module)
{
    fake_image head;
    memcpy(&head, image, sizeof head.magic);
    const bool ptx = !memcmp(head.magic, FAKE_PTX_MAGIC, sizeof head.magic);
    if (!ptx && memcmp(head.magic, FAKE_IMAGE_MAGIC, sizeof head.magic) != 0)
        return TN__CU_INVALID_IMAGE;
    memcpy(&head, image, sizeof head);
    const bool known = head.identity == fake_cc_identity() || head.identity == fake_cuda_identity();
    if (!known || !runs_on(&head, ptx, capability))
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
    void *const address = dlsym(module->library, name);
    for (int i = 0; i < module->n; i++) {
        const struct tn_kernel_info *info = module->kernel[i].info;
        void *function;
        memcpy(&function, &info->function, sizeof function);
        if (function && !info->expression ? function == address : !strcmp(info->name, name))
            return &module->kernel[i];
    }
    return NULL;
}

void *fake_module_library(const fake_module *module)
{
    return module->library;
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
