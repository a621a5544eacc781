/* NVRTC by the loader, ptxas as a process. */
#include "compiler.h"
#include "core/dynlib.h"
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- finding them ---- */

static bool take_ptxas(nvrtc *n, const char *pattern)
{
    glob_t found;
    bool taken = false;
    if (glob(pattern, 0, NULL, &found))
        return false;
    for (size_t i = found.gl_pathc; i-- > 0 && !taken;)
        if ((taken = access(found.gl_pathv[i], X_OK) == 0 && strlen(found.gl_pathv[i]) < sizeof n->ptxas))
            snprintf(n->ptxas, sizeof n->ptxas, "%s", found.gl_pathv[i]);
    globfree(&found);
    return taken;
}

/* In each of the folders of a list, or in what lies beside or below them. */
static bool take_from_list(nvrtc *n, const char *list, const char *const *below)
{
    char folder[512], path[600];
    for (const char *end; list && *list; list = *end ? end + 1 : end) {
        end = list + strcspn(list, ":");
        snprintf(folder, sizeof folder, "%.*s", (int)(end - list), list);
        for (const char *const *b = below; *b; b++) {
            snprintf(path, sizeof path, "%s/%s", folder, *b);
            if (*folder && take_ptxas(n, path))
                return true;
        }
    }
    return false;
}

static void find_ptxas(nvrtc *n)
{
    static const char *const here[] = {"ptxas", NULL}, *const near[] = {"bin/ptxas", "../bin/ptxas", NULL};
    if (!take_from_list(n, getenv("TENON_CUDA_PATH"), near) && !take_from_list(n, getenv("PATH"), here))
        take_ptxas(n, "/usr/local/cuda*/bin/ptxas");
}

bool nvrtc_open(nvrtc *n)
{
    static const char *const libraries[] = {"libnvrtc.so.13",
                                            "libnvrtc.so.12",
                                            "libnvrtc.so.11.2",
                                            "libnvrtc.so",
                                            "/usr/local/cuda/lib64/libnvrtc.so",
                                            NULL};
    static const char *const names[] = {
#define FN(name, symbol, older, parameters)       #symbol,
#define OPTIONAL(name, symbol, older, parameters) #symbol,
#include "abi/nvrtc.def"
    };
    void *slots[TN_COUNT(names)];
    void *lib = tn__dynlib_open(libraries, NULL, NULL);
    *n = (nvrtc){0};
    if (!lib || !tn__dynlib_symbols(lib, names, slots, TN_COUNT(names)))
        return false;
    memcpy(n, slots, sizeof slots);
    if (n->version(&n->major, &n->minor))
        return false;
    find_ptxas(n);
    return true;
}

int nvrtc_archs(const nvrtc *n, int archs[MAX_ARCHS])
{
    int wanted[MAX_ARCHS] = {75, 80, 90}, known[64], n_wanted = 3, n_known = 0, chosen = 0;
    const char *only = getenv("TENON_NVRTC_ARCHS");
    if (only) {
        n_wanted = 0;
        for (char *end; *only && n_wanted < MAX_ARCHS; only = *end ? end + 1 : end)
            wanted[n_wanted++] = (int)strtol(only, &end, 10);
    }
    if (n->get_num_supported_archs(&n_known) || n_known > (int)TN_COUNT(known) || n->get_supported_archs(known))
        return 0;
    for (int i = 0; i < n_wanted; i++)
        for (int k = 0; k < n_known; k++)
            if (wanted[i] == known[k])
                archs[chosen++] = wanted[i];
    return chosen;
}

/* ---- NVRTC ---- */

static char *log_of(const nvrtc *n, tn__nvrtc_program program)
{
    size_t size = 0;
    char *log = n->get_program_log_size(program, &size) ? NULL : calloc(1, size + 1);
    if (log)
        n->get_program_log(program, log);
    return log;
}

static char *result_of(const nvrtc *n, tn__nvrtc_program program, compiled to, size_t *size)
{
    unsigned (*const size_of)(tn__nvrtc_program, size_t *) = to == MACHINE ? n->get_cubin_size : n->get_ptx_size;
    unsigned (*const get)(tn__nvrtc_program, char *) = to == MACHINE ? n->get_cubin : n->get_ptx;
    if (size_of(program, size) || !*size)
        return NULL;
    char *result = malloc(*size + 1);
    if (result && get(program, result)) {
        free(result);
        return NULL;
    }
    if (result)
        result[*size] = 0;
    return result;
}

/* Options as backend/cuda/nvrtc.c has them. */
char *nvrtc_compile(const nvrtc *n, const char *text, const char *name, int arch, compiled to, size_t *size)
{
    tn__nvrtc_program program = NULL;
    char option[40];
    snprintf(option, sizeof option, "--gpu-architecture=%s_%d", to == MACHINE ? "sm" : "compute", arch);
    const char *const fmad = strncmp(name, "gemm", strlen("gemm")) ? "--fmad=false" : "--fmad=true";
    const char *options[] = {option, "-default-device", "--std=c++14", fmad, "--Ofast-compile=max"};
    const bool quick = to == READ_ONLY && n->major >= 13; /* which is since when there is that option */
    if (n->create_program(&program, text, name, 0, NULL, NULL))
        return NULL;
    char *result = NULL, *log = NULL;
    if (n->compile_program(program, (int)TN_COUNT(options) - !quick, options) == 0)
        result = result_of(n, program, to, size);
    if (!result) {
        log = log_of(n, program);
        printf("  %s for sm_%d does not compile:\n%.4000s\n", name, arch, log ? log : "no log");
        free(log);
    }
    n->destroy_program(&program);
    return result;
}

/* ---- ptxas ---- */

/* A file without a name, which a process finds under /proc/self/fd. -1: none. */
static int file_of(const char *name, const char *text)
{
    const int fd = memfd_create(name, 0);
    const ssize_t n = (ssize_t)strlen(text);
    if (fd >= 0 && write(fd, text, (size_t)n) == n)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static char *text_of(int fd)
{
    const off_t size = lseek(fd, 0, SEEK_END);
    char *text = size < 0 ? NULL : calloc(1, (size_t)size + 1);
    if (text && pread(fd, text, (size_t)size, 0) != size) {
        free(text);
        return NULL;
    }
    return text;
}

/* Its status; what it says goes to 'said'. */
static int run(const char *const *argv, int said)
{
    int status = -1;
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(said, STDOUT_FILENO);
        dup2(said, STDERR_FILENO);
        execv(argv[0], (char *const *)argv);
        _exit(127);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

char *ptxas_report(const nvrtc *n, const char *ptx, const char *name, int arch)
{
    char option[32], path[64];
    const int from = file_of("ptx", ptx), said = file_of("said", "");
    const char *const argv[] = {n->ptxas, "-v", option, "-o", "/dev/null", path, NULL};
    snprintf(option, sizeof option, "-arch=sm_%d", arch);
    snprintf(path, sizeof path, "/proc/self/fd/%d", from);
    const int status = from >= 0 && said >= 0 ? run(argv, said) : -1;
    char *report = said >= 0 ? text_of(said) : NULL;
    if (status != 0) {
        printf("  %s for sm_%d: ptxas ends with %d:\n%.2000s\n", name, arch, status, report ? report : "");
        free(report);
        report = NULL;
    }
    if (from >= 0)
        close(from);
    if (said >= 0)
        close(said);
    return report;
}
