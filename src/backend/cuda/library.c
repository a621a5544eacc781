/* The four libraries of NVIDIA, opened when first needed, by names from CUDA 13 down to 11.8; or the one that stands in for
 * all of them where TENON_FAKE_GPUS says so.
 *
 * The driver's libraries are found where the system finds libraries, those of the toolkit where search.c says. What was looked
 * for and not found is kept as a text, for whoever asks for a device that is not there. */
#include "backend/cuda/cuda.h"
#include "core/dynlib.h"
#include "core/env.h"
#include "core/error.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct entry {
    const char *symbol, *older;
    bool optional;
} entry;

#define FN(name, symbol, older, parameters)       {#symbol, #older, false},
#define OPTIONAL(name, symbol, older, parameters) {#symbol, #older, true},
static const entry cuda_entries[] = {
#include "abi/cuda.def"
};
#define FN(name, symbol, older, parameters)       {#symbol, #older, false},
#define OPTIONAL(name, symbol, older, parameters) {#symbol, #older, true},
static const entry nvrtc_entries[] = {
#include "abi/nvrtc.def"
};
#define FN(name, symbol, older, parameters)       {#symbol, #older, false},
#define OPTIONAL(name, symbol, older, parameters) {#symbol, #older, true},
static const entry cublas_entries[] = {
#include "abi/cublas.def"
};
#define FN(name, symbol, older, parameters)       {#symbol, #older, false},
#define OPTIONAL(name, symbol, older, parameters) {#symbol, #older, true},
static const entry nvml_entries[] = {
#include "abi/nvml.def"
};

tn__cu_functions tn__cu;
static tn__nvrtc_functions nvrtc;
static tn__cublas_functions cublas;
static tn__nvml_functions nvml;

/* One of the four. slots is the struct of functions: as many pointers as there are entries, in their order. */
typedef struct library {
    const char *what, *get;               /* for messages: whose it is, how to get it */
    const char *names[TN__LIBRARY_NAMES]; /* ends with NULL */
    const entry *entries;
    size_t n;
    void *slots;
    bool toolkit; /* comes with the CUDA toolkit, so it may lie in its folder; else with the driver */
    bool there;
    bool exhausted; /* not there, for no file could be opened */
    bool broken;    /* one is there, but does not load */
    pthread_once_t once;
    char missing[1024]; /* why it is not there */
} library;

static library libraries[4] = {
    [TN__LIB_CUDA] = {.what = "the NVIDIA driver",
                      .get = "it comes with NVIDIA's driver",
                      .names = {"libcuda.so.1", "libcuda.so", NULL},
                      .entries = cuda_entries,
                      .n = TN_COUNT(cuda_entries),
                      .slots = &tn__cu,
                      .once = PTHREAD_ONCE_INIT},
    [TN__LIB_NVRTC] = {.what = "NVRTC, which compiles kernels,",
                       .get = "it comes with the CUDA toolkit (11.8 to 13), or pip install nvidia-cuda-nvrtc; "
                              "TENON_CUDA_PATH=<its folder> where it is not found",
                       .names = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so", NULL},
                       .entries = nvrtc_entries,
                       .n = TN_COUNT(nvrtc_entries),
                       .slots = &nvrtc,
                       .toolkit = true,
                       .once = PTHREAD_ONCE_INIT},
    [TN__LIB_CUBLAS] = {.what = "cuBLAS",
                        .get = "it comes with the CUDA toolkit (11.8 to 13), or pip install nvidia-cublas; "
                               "TENON_CUDA_PATH=<its folder> where it is not found",
                        .names = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so", NULL},
                        .entries = cublas_entries,
                        .n = TN_COUNT(cublas_entries),
                        .slots = &cublas,
                        .toolkit = true,
                        .once = PTHREAD_ONCE_INIT},
    [TN__LIB_NVML] = {.what = "NVML",
                      .get = "it comes with NVIDIA's driver",
                      .names = {"libnvidia-ml.so.1", "libnvidia-ml.so", NULL},
                      .entries = nvml_entries,
                      .n = TN_COUNT(nvml_entries),
                      .slots = &nvml,
                      .once = PTHREAD_ONCE_INIT},
};

bool tn__cuda_is_fake(void)
{
    const char *fakes = tn__env_text("TENON_FAKE_GPUS");
    return fakes && *fakes;
}

/* ---- opening ---- */

/* 12 for CUDA 12; 0 if the driver is not there. */
static int driver_major(void)
{
    int version = 0;
    if (tn__cuda_library(TN__LIB_CUDA) || tn__cu.driver_get_version(&version))
        return 0;
    return version / 1000;
}

static void *open_real(const library *l, tn__dynlib_fault *fault)
{
    return l->toolkit ? tn__cuda_search(l->names, driver_major(), fault) : tn__dynlib_open(l->names, NULL, fault);
}

#ifndef TENON_LIBRARY_FOLDER
#define TENON_LIBRARY_FOLDER "lib"
#endif
static const char fake_name[] = "libtenon_fakegpu.so";

/* Beside this library or executable; in the library folder of the prefix it is in; in the build folder around it. */
static void *open_fake(char *missing, size_t size)
{
    static const char *const folders[] = {
        "", ("/../" TENON_LIBRARY_FOLDER), "/../lib", "/../lib64", "/src", "/../src", "/../../src", "/../../../src"};
    const char *given = tn__env_text("TENON_FAKEGPU_LIBRARY");
    const char *const only[] = {given, NULL}, *const bare[] = {fake_name, NULL};
    char here[PATH_MAX] = "";
    tn__dynlib_fault fault = {""};
    if (given && *given) {
        void *lib = tn__dynlib_open(only, NULL, &fault);
        if (!lib)
            snprintf(missing, size, "TENON_FAKE_GPUS is set, but TENON_FAKEGPU_LIBRARY=%s cannot be opened%s%s", given,
                     *fault.s ? ": " : "", fault.s);
        return lib;
    }
    for (size_t i = 0; tn__dynlib_folder(here, sizeof here) && i < TN_COUNT(folders); i++) {
        char folder[PATH_MAX + 32];
        snprintf(folder, sizeof folder, "%s%s", here, folders[i]);
        void *lib = tn__cuda_open_at(folder, strlen(folder), fake_name, NULL);
        if (lib)
            return lib;
    }
    void *lib = tn__dynlib_open(bare, NULL, NULL);
    if (!lib)
        snprintf(missing, size,
                 "TENON_FAKE_GPUS is set, but %s was not found beside %s, in ../" TENON_LIBRARY_FOLDER
                 " or where the loader looks: TENON_FAKEGPU_LIBRARY can name it",
                 fake_name, here);
    return lib;
}

/* What was looked for, or what was found and does not load; and how to get it. */
static void say_missing(library *l, const tn__dynlib_fault *fault)
{
    int n = 0;
    l->broken = *fault->s != '\0';
    if (l->broken)
        n = snprintf(l->missing, sizeof l->missing, "%s; no other was found: %s", fault->s, l->get);
    for (const char *const *name = l->names; !l->broken && *name && n < (int)sizeof l->missing; name++)
        n += snprintf(l->missing + n, sizeof l->missing - (size_t)n, "%s%s", n ? ", " : "no ", *name);
    if (!l->broken && n < (int)sizeof l->missing)
        snprintf(l->missing + n, sizeof l->missing - (size_t)n, " was found: %s", l->get);
}

static void *open_any(library *l)
{
    tn__dynlib_fault fault = {""};
    const bool fake = tn__cuda_is_fake();
    void *lib = fake ? open_fake(l->missing, sizeof l->missing) : open_real(l, &fault);
    l->exhausted = !lib && tn__dynlib_exhausted();
    if (l->exhausted)
        snprintf(l->missing, sizeof l->missing, TN__EXHAUSTED);
    else if (!lib && !fake)
        say_missing(l, &fault);
    return lib;
}

/* ---- symbols ---- */

static bool find_symbols(library *l, void *lib)
{
    char *slots = l->slots;
    for (size_t i = 0; i < l->n; i++) {
        const entry *e = &l->entries[i];
        void *slot = NULL;
        if (!tn__dynlib_symbols(lib, &e->symbol, &slot, 1) && *e->older)
            tn__dynlib_symbols(lib, &e->older, &slot, 1);
        if (!slot && !e->optional) {
            snprintf(l->missing, sizeof l->missing, "%s has no %s: Tenon needs CUDA 11.8 or newer", l->what, e->symbol);
            return false;
        }
        memcpy(slots + i * sizeof slot, &slot, sizeof slot);
    }
    return true;
}

static void load(library *l)
{
    void *lib = open_any(l);
    if (!lib)
        return;
    l->there = find_symbols(l, lib);
    if (!l->there) {
        memset(l->slots, 0, l->n * sizeof(void *));
        tn__dynlib_close(lib);
    }
}

static const void *address_of(tn__cuda_library_id which)
{
    const void *first;
    memcpy(&first, libraries[which].slots, sizeof first);
    return first;
}

/* pthread_once takes no argument. */
#define LOADER(name, which) \
    static void name(void) \
    { \
        load(&libraries[which]); \
    }
LOADER(load_cuda, TN__LIB_CUDA)
LOADER(load_cublas, TN__LIB_CUBLAS)
LOADER(load_nvml, TN__LIB_NVML)

/* NVRTC opens its second half by a bare name, which the loader does not find beside it in a folder of TENON_CUDA_PATH: what
 * is open already, it finds. */
static void load_nvrtc(void)
{
    int major, minor;
    char name[64];
    load(&libraries[TN__LIB_NVRTC]);
    const char *path = libraries[TN__LIB_NVRTC].there ? tn__dynlib_path(address_of(TN__LIB_NVRTC)) : NULL;
    const char *slash = path ? strrchr(path, '/') : NULL;
    if (!slash || tn__cuda_is_fake() || nvrtc.version(&major, &minor))
        return;
    snprintf(name, sizeof name, "libnvrtc-builtins.so.%d.%d", major, minor);
    tn__cuda_open_at(path, (size_t)(slash - path), name, NULL);
}

const char *tn__cuda_library(tn__cuda_library_id which)
{
    static void (*const loaders[])(void) = {load_cuda, load_nvrtc, load_cublas, load_nvml};
    library *l = &libraries[which];
    pthread_once(&l->once, loaders[which]);
    return l->there ? NULL : l->missing;
}

bool tn__cuda_exhausted(tn__cuda_library_id which)
{
    return libraries[which].exhausted;
}

const char *tn__cuda_library_path(tn__cuda_library_id which)
{
    return tn__cuda_library(which) ? NULL : tn__dynlib_path(address_of(which));
}

static bool need(tn__cuda_library_id which)
{
    const char *missing = tn__cuda_library(which);
    if (missing)
        tn__error(TN_EDEVICE, "%s %s\n  %s", libraries[which].what,
                  libraries[which].exhausted ? "could not be opened"
                  : libraries[which].broken  ? "could not be loaded"
                                             : "was not found",
                  missing);
    return !missing;
}

const tn__nvrtc_functions *tn__nvrtc(void)
{
    return need(TN__LIB_NVRTC) ? &nvrtc : NULL;
}

const tn__cublas_functions *tn__cublas(void)
{
    return need(TN__LIB_CUBLAS) ? &cublas : NULL;
}

static bool nvml_ready;

static void start_nvml(void)
{
    nvml_ready = !tn__cuda_library(TN__LIB_NVML) && nvml.init() == TN__NVML_SUCCESS;
}

const tn__nvml_functions *tn__nvml(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_nvml);
    return nvml_ready ? &nvml : NULL;
}
