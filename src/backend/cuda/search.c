/* Where the libraries of NVIDIA's toolkit (NVRTC, cuBLAS) lie: users have them from pip, from conda, from NVIDIA's installer or
 * from their system.
 *
 * First the folders that TENON_CUDA_PATH and CUDA_HOME list: they are the user's word, so they give whatever they hold. Then
 * those of the Python that runs (TENON_SITE_PACKAGES, which the Python package sets) or of an environment that is active, the
 * loader's own places, and what is installed in /usr/local and /opt; of these a version that the driver runs is taken before
 * one that it does not run. */
#include "backend/cuda/cuda.h"
#include "core/dynlib.h"
#include "core/env.h"
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

const char *const tn__cuda_search_variables[] = {"TENON_CUDA_PATH", "CUDA_HOME",    "TENON_SITE_PACKAGES",
                                                 "VIRTUAL_ENV",     "CONDA_PREFIX", NULL};
enum { EXPLICIT = 2 }; /* of them: the user's word about CUDA */

const char *tn__cuda_installed = "/usr/local:/opt";

/* Below a folder that a variable lists: of a toolkit, itself, of a site-packages, of an environment. A star stands for
 * whatever follows, the highest number first. */
static const char *const below_listed[] = {
    "lib64", "lib", "", "nvidia/*/lib", "lib/python3*/site-packages/nvidia/*/lib", NULL};
/* NVIDIA's installer: 'cuda' is the version that the machine's owner chose. */
static const char *const below_installed[] = {"cuda/lib*", "cuda-*/lib*", NULL};

/* ---- folders that are there ---- */

typedef struct folders {
    size_t used;
    char text[16384]; /* one after the other, each with its NUL; what has no room is left out */
} folders;

enum { SIBLINGS = 64, NAME_BYTES = 64 };

/* Numbers inside count as numbers, so that 12.10 is after 12.9. The highest goes first. */
static int newest_first(const void *left, const void *right)
{
    const char *a = left, *b = right;
    for (; *a && *b; a++, b++) {
        char *end_a, *end_b;
        if (*a >= '0' && *a <= '9' && *b >= '0' && *b <= '9') {
            const unsigned long x = strtoul(a, &end_a, 10), y = strtoul(b, &end_b, 10);
            if (x != y)
                return x < y ? 1 : -1;
            a = end_a - 1;
            b = end_b - 1;
        } else if (*a != *b) {
            return (unsigned char)*a < (unsigned char)*b ? 1 : -1;
        }
    }
    return *a ? -1 : *b != '\0';
}

/* Names in the folder that begin so. */
static size_t list_siblings(const char *folder, const char *head, size_t length, char names[SIBLINGS][NAME_BYTES])
{
    size_t n = 0;
    DIR *d = opendir(folder);
    for (const struct dirent *e; d && n < SIBLINGS && (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.' && !strncmp(e->d_name, head, length) && strlen(e->d_name) < NAME_BYTES)
            memcpy(names[n++], e->d_name, strlen(e->d_name) + 1);
    if (d)
        closedir(d);
    qsort(names, n, NAME_BYTES, newest_first);
    return n;
}

static void add(folders *f, const char *path, size_t length)
{
    struct stat s;
    if (stat(path, &s) || !S_ISDIR(s.st_mode) || f->used + length + 1 > sizeof f->text)
        return;
    memcpy(f->text + f->used, path, length + 1);
    f->used += length + 1;
}

/* Adds what the pattern means below the path, which has 'length' bytes. */
static void walk(folders *f, char path[PATH_MAX], size_t length, const char *pattern) /* NOLINT(misc-no-recursion) */
{
    char names[SIBLINGS][NAME_BYTES];
    const size_t part = strcspn(pattern, "/"), head = strcspn(pattern, "*");
    const char *rest = pattern + part + (pattern[part] == '/');
    if (!part) {
        add(f, path, length);
        return;
    }
    const bool star = head < part;
    const size_t n = star ? list_siblings(path, pattern, head, names) : 1;
    for (size_t i = 0; i < n; i++) {
        const int more = star ? snprintf(path + length, PATH_MAX - length, "/%s", names[i])
                              : snprintf(path + length, PATH_MAX - length, "/%.*s", (int)part, pattern);
        if (more > 0 && (size_t)more < PATH_MAX - length)
            walk(f, path, length + (size_t)more, rest);
        path[length] = '\0';
    }
}

/* Of a list such as PATH is. */
static void collect(folders *f, const char *list, const char *const *patterns)
{
    char path[PATH_MAX];
    for (size_t length; list && *list; list += length + (list[length] == ':')) {
        length = strcspn(list, ":");
        if (!length || length >= sizeof path)
            continue;
        for (const char *const *pattern = patterns; *pattern; pattern++) {
            memcpy(path, list, length);
            path[length] = '\0';
            walk(f, path, length, *pattern);
        }
    }
}

/* ---- opening ---- */

void *tn__cuda_open_at(const char *folder, size_t length, const char *name, tn__dynlib_fault *fault)
{
    char path[PATH_MAX];
    const char *const names[] = {path, NULL};
    int n = snprintf(path, sizeof path, "%.*s/%s", (int)length, folder, name);
    return n > 0 && n < (int)sizeof path ? tn__dynlib_open(names, NULL, fault) : NULL;
}

/* The first name that some folder has, in the first folder that has it. */
static void *open_in(const folders *f, const char *const *names, tn__dynlib_fault *fault)
{
    for (const char *const *name = names; *name; name++)
        for (const char *at = f->text; at < f->text + f->used; at += strlen(at) + 1) {
            void *lib = tn__cuda_open_at(at, strlen(at), *name, fault);
            if (lib)
                return lib;
        }
    return NULL;
}

static void *open_listed(size_t from, size_t to, const char *const *names, tn__dynlib_fault *fault)
{
    void *lib = NULL;
    for (size_t i = from; !lib && i < to; i++) {
        folders f = {.used = 0};
        collect(&f, tn__env_text(tn__cuda_search_variables[i]), below_listed);
        lib = open_in(&f, names, fault);
    }
    return lib;
}

static void *open_installed(const char *const *names, tn__dynlib_fault *fault)
{
    folders f = {.used = 0};
    collect(&f, tn__cuda_installed, below_installed);
    return open_in(&f, names, fault);
}

/* A driver runs nothing that a toolkit of a later major version makes. Unknown ones, of either, suit. */
static bool suits(const char *name, int driver)
{
    const char *version = strstr(name, ".so.");
    return !driver || (version && strtol(version + strlen(".so."), NULL, 10) <= driver);
}

static void names_that(bool suit, const char *const *names, int driver, const char **out)
{
    for (; *names; names++)
        if (suits(*names, driver) == suit)
            *out++ = *names;
    *out = NULL;
}

void *tn__cuda_search(const char *const *names, int driver, tn__dynlib_fault *fault)
{
    const size_t all = TN_COUNT(tn__cuda_search_variables) - 1;
    const char *some[2][TN__LIBRARY_NAMES];
    void *lib = NULL;
    for (int late = 0; late < 2; late++)
        names_that(!late, names, driver, some[late]);
    for (int late = 0; !lib && late < 2; late++)
        lib = open_listed(0, EXPLICIT, some[late], fault);
    for (int late = 0; !lib && late < 2; late++) {
        lib = open_listed(EXPLICIT, all, some[late], fault);
        if (!lib)
            lib = tn__dynlib_open(some[late], NULL, fault);
        if (!lib)
            lib = open_installed(some[late], fault);
    }
    return lib;
}
