/* Every unit of every family of kernels, compiled as OpenCL C: what each device compiler takes, and more strictly than CUDA
 * does: address spaces, no overloading but its own. Elementwise rows of the list are units too. */
#include "backend/gpu/gpu.h"
#include "own_kernels.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 2 };

typedef struct count {
    int units, kernels, failed;
} count;

static int run(char *const argv[])
{
    pid_t pid = fork();
    int status = -1;
    if (pid == 0) {
        execvp(argv[0], argv);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int kernels_in(const char *text)
{
    int n = 0;
    for (const char *p = text; (p = strstr(p, "\nKERNEL")) != NULL; p++)
        n++;
    return n;
}

/* Returns how many kernels the text has; -1 on failure. */
static int write_text(const tn__gpu_unit *u, const char *path)
{
    const int64_t length = tn__gpu_unit_text(u, NULL, 0);
    char *text = length < 0 ? NULL : malloc((size_t)length + 1);
    FILE *f = fopen(path, "w");
    int n = -1;
    if (text && f && tn__gpu_unit_text(u, text, (size_t)length + 1) == length &&
        fwrite(text, 1, (size_t)length, f) == (size_t)length)
        n = kernels_in(text);
    free(text);
    return f && fclose(f) == 0 ? n : -1;
}

static int compile(const tn__gpu_unit *u, const char *folder)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s.cl", folder, tn__gpu_unit_str(u).s);
    const int n = write_text(u, path);
    char *argv[] = {"clang",
                    "-x",
                    "cl",
                    "-cl-std=CL1.2",
                    "-Xclang",
                    "-finclude-default-header",
                    "-fsyntax-only",
                    "-Wall",
                    "-Werror",
                    "-Wno-unused-function",
                    "-ferror-limit=3",
                    path,
                    NULL};
    if (n <= 0 || run(argv) != 0) {
        printf("  %s does not compile\n", path);
        return -1;
    }
    unlink(path);
    return n;
}

/* Takes every PROCESSES-th unit. */
static count work(const char *folder, int share)
{
    count c = {0};
    tn__gpu_unit u;
    for (tn__gpu_family f = 0; f < TN__FAMILIES; f++)
        for (int32_t i = 0; tn__gpu_units_of(f, i, &u); i++) {
            if (i % PROCESSES != share)
                continue;
            const int n = compile(&u, folder);
            c.units++;
            c.failed += n < 0;
            c.kernels += n > 0 ? n : 0;
        }
    fflush(stdout);
    return c;
}

/* Every family has kernels and units: none is forgotten. */
static int check_families(void)
{
    int empty = 0;
    tn__gpu_unit u;
    for (tn__gpu_family f = 0; f < TN__FAMILIES; f++) {
        size_t n;
        tn__gpu_family_kernels(f, &n);
        if (n && tn__gpu_units_of(f, 0, &u))
            continue;
        printf("  family %s has no unit in kernels/units.def\n", tn__gpu_family_name(f));
        empty++;
    }
    return empty;
}

int main(void)
{
    char folder[] = "/tmp/tenon-kernels-XXXXXX";
    char *probe[] = {"sh", "-c", "command -v clang > /dev/null", NULL};
    int pipes[2], lost = 0;
    count total = {0}, one;
    if (run(probe) != 0) {
        printf("skipped: no clang\n");
        return 77;
    }
    const int empty = !register_own() + check_families();
    if (!mkdtemp(folder) || pipe(pipes))
        return 1;
    fflush(stdout);
    pid_t workers[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        workers[i] = fork();
        if (workers[i] == 0) {
            one = work(folder, i);
            _exit(write(pipes[1], &one, sizeof one) == sizeof one ? 0 : 1);
        }
    }
    for (int i = 0, status = 0; i < PROCESSES; i++)
        lost += workers[i] < 0 || waitpid(workers[i], &status, 0) < 0 || status != 0;
    for (int i = lost; i < PROCESSES && read(pipes[0], &one, sizeof one) == sizeof one; i++) {
        total.units += one.units;
        total.kernels += one.kernels;
        total.failed += one.failed;
    }
    if (!total.failed)
        rmdir(folder);
    printf("count: %d kernels in %d units of %d families compile as OpenCL C 1.2, %d units fail%s\n", total.kernels,
           total.units, TN__FAMILIES - empty, total.failed, lost ? ", a process was lost" : "");
    return total.failed || lost || empty ? 1 : 0;
}
