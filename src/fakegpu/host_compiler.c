/* The machine's C compiler, run on text in a private folder that is gone afterwards. No shell: arguments are passed as they
 * are, so no path can be misread. */
#include "fakegpu/compiler.h"
#include "fakegpu/host_process.h"
#include "fakegpu/env.h"
#include "fakegpu/fake.h"
#include "fakegpu_dialect.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* They make C behave like device code: wrapping integers, no contraction, no errno. */
static const char *const flags[] = {"-fPIC",
                                    "-Werror=implicit-function-declaration", /* gcc's -w would hide it */
                                    "-fwrapv",
                                    "-fno-strict-aliasing",
                                    "-ffp-contract=off",
                                    "-fno-math-errno",
                                    "-std=gnu11"
#ifdef TN_FAKE_SANITIZE /* kernels are checked as the library is */
                                    ,
                                    "-g1",
                                    TN_FAKE_SANITIZE,
                                    "-fno-omit-frame-pointer",
                                    "-fno-sanitize-recover=all"
#endif
};

/* -Og, and of -O1 what loops want: gcc compiles units in half of -O1's time (55 ms against 108, the mean of 25), and a training
 * epoch on a fake GPU takes 4 % more; bare -Og, 12 % more. Not where sanitizers check kernels that run a few times. */
static const char *const optimised[] = {"-Og",
#ifndef TN_FAKE_SANITIZE
                                        "-fmove-loop-invariants",
                                        "-ftree-sra",
                                        "-ftree-ter",
                                        "-fif-conversion",
                                        "-fssa-phiopt",
                                        "-finline-functions-called-once",
#endif
                                        NULL};
/* clang knows but the first of them. */
static const char *const optimised_by_others[] = {"-Og", NULL};
static const char *const plain[] = {"-O0", NULL};

/* What preprocesses a unit says in its text which one it is: the driver may be called cc. */
typedef enum maker { GCC, TINYCC, ANOTHER } maker;

static const char *const mark[] = {[GCC] = "#pragma tenon gcc", [TINYCC] = "#pragma tenon tinycc"};

#define END_MARK "#pragma tenon end" /* of a unit: TinyCC leaves a part of one that it refuses */

/* What AddressSanitizer checks is not optimised: gcc takes two thirds of -Og's time, tests run as long, and no access is taken
 * away before it is checked. Nor is what runs once a shape, where the environment says so. */
static const char *const *level(maker by)
{
#ifdef __SANITIZE_ADDRESS__
    const bool wanted = false;
#else
    const bool wanted = fake_env_flag("TENON_FAKE_GPU_OPTIMIZE", true);
#endif
    return !wanted ? plain : by == GCC ? optimised : optimised_by_others;
}

enum { FLAGS = sizeof flags / sizeof *flags, MAX_ARGUMENTS = 128, MAX_PATH = FAKE_PATH };

/* ---- finding it ---- */

static bool is_program(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode) && access(path, X_OK) == 0;
}

bool fake_find_program(const char *name, char *path)
{
    if (strchr(name, '/')) {
        snprintf(path, MAX_PATH, "%s", name);
        return is_program(path);
    }
    const char *p = fake_env("PATH");
    for (p = p && *p ? p : "/usr/local/bin:/usr/bin:/bin"; *p;) {
        const size_t n = strcspn(p, ":");
        if (n && snprintf(path, MAX_PATH, "%.*s/%s", (int)n, p, name) < MAX_PATH && is_program(path))
            return true;
        p += n + (p[n] == ':');
    }
    return false;
}

/* The compiler: TENON_FAKE_CC alone if it is set; else CC, cc, gcc, clang. A sanitizer's runtime must be that of the
 * compiler that built the library: there, that one comes first. */
static bool find_compiler(char *path)
{
    const char *only = fake_env("TENON_FAKE_CC"), *cc = fake_env("CC");
    const char *const candidates[] = {
#ifdef TN_FAKE_SANITIZE
        TN_FAKE_BUILD_CC,
#endif
        cc ? cc : "", "cc", "gcc", "clang"};
    if (only && *only)
        return fake_find_program(only, path);
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++)
        if (*candidates[i] && fake_find_program(candidates[i], path))
            return true;
    return false;
}

static void say_no_compiler(fake_text *log)
{
    const char *only = fake_env("TENON_FAKE_CC");
    if (only && *only)
        fake_text_printf(log, "error: fake GPUs need a C compiler at run time, and TENON_FAKE_CC='%s' is no program\n",
                         only);
    else
        fake_text_puts(log,
                       "error: fake GPUs need a C compiler at run time: kernels are compiled for the host. None was "
                       "found (tried $CC, cc, gcc, clang). Install one (Debian, Ubuntu: apt install gcc libc6-dev; "
                       "Fedora: dnf install gcc; Alpine: apk add gcc musl-dev), or name one by TENON_FAKE_CC\n");
}

uint64_t fake_mixed(uint64_t h, const void *bytes, size_t n)
{
    for (const unsigned char *p = bytes; n--; p++)
        h = (h ^ *p) * 0x100000001b3u; /* FNV-1a */
    return h;
}

uint64_t fake_cc_compiler(void)
{
    char path[MAX_PATH];
    struct stat s;
    if (!find_compiler(path) || stat(path, &s))
        return 0;
    const uint64_t facts[] = {(uint64_t)s.st_size, (uint64_t)s.st_mtime};
    return fake_mixed(fake_mixed(0xcbf29ce484222325u, path, strlen(path)), facts, sizeof facts);
}

uint64_t fake_cc_identity(void)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; texts[i].name; i++)
        h = fake_mixed(h, texts[i].text, strlen(texts[i].text));
    for (size_t i = 0; i < FLAGS; i++)
        h = fake_mixed(h, flags[i], strlen(flags[i]) + 1);
    for (const char *const *o = level(GCC); *o; o++)
        h = fake_mixed(h, *o, strlen(*o) + 1);
    return fake_kernel_watches() ? ~h : h;
}

/* ---- the private folder ---- */

typedef fake_workplace workplace;

const char *fake_file_in(workplace *w, const char *name)
{
    snprintf(w->path, sizeof w->path, "%s/%s", w->folder, name);
    return w->path;
}

static bool make_folder(workplace *w, const char *where)
{
    if (!where || where[0] != '/')
        return false;
    const int n = snprintf(w->folder, sizeof w->folder, "%s/tenon-fakegpu-XXXXXX", where);
    return n > 0 && (size_t)n < sizeof w->folder && mkdtemp(w->folder);
}

bool fake_make_folder(workplace *w, fake_text *log)
{
    const char *const places[] = {fake_env("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (make_folder(w, places[i]))
            return true;
    fake_text_printf(log, "error: no folder for temporary files (TMPDIR, /tmp, /var/tmp, /dev/shm): %s\n",
                     strerror(errno));
    return false;
}

void fake_remove_folder(workplace *w)
{
    static const char *const own[] = {"unit.c", "unit.i", "kernels.i", "kernels.so", "log"};
    DIR *d = opendir(w->folder);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    for (size_t i = 0; !d && i < sizeof own / sizeof *own; i++) /* no file can be opened, a folder neither */
        unlink(fake_file_in(w, own[i]));
    rmdir(w->folder);
}

bool fake_write_file(const char *path, const fake_text *t)
{
    FILE *f = fopen(path, "wbe");
    if (!f)
        return false;
    const bool ok = fwrite(t->s, 1, t->n, f) == t->n;
    return !fclose(f) && ok;
}

static void say_errno(fake_text *log, const char *doing, const char *path)
{
    fake_text_printf(log, "error: cannot %s %s: %s\n", doing, path, strerror(errno));
}

/* ---- running it ---- */

/* The child's environment: messages in English, temporary files in the private folder, and nothing preloaded (a preloaded
 * sanitizer would run inside the compiler). */
static char **child_environment(char *temporary, size_t size, const workplace *w)
{
    size_t n = 0, kept = 0;
    while (environ[n])
        n++;
    char **e = malloc((n + 3) * sizeof *e);
    if (!e)
        return NULL;
    for (size_t i = 0; i < n && !fake_env_guarded(); i++)
        if (strncmp(environ[i], "TMPDIR=", 7) != 0 && strncmp(environ[i], "LC_ALL=", 7) != 0 &&
            strncmp(environ[i], "LD_PRELOAD=", 11) != 0)
            e[kept++] = environ[i];
    static char english[] = "LC_ALL=C";
    snprintf(temporary, size, "TMPDIR=%s", w->folder);
    e[kept++] = temporary;
    e[kept++] = english;
    e[kept] = NULL;
    return e;
}

/* Starts the program with its output in the file 'log'. Returns 0 or an errno. */
static int start(pid_t *pid, const char *program, char **argv, char **env, const char *log)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, usual;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGCHLD);
    sigaddset(&usual, SIGPIPE);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const int e = posix_spawn(pid, program, &files, &attributes, argv, env);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return e;
}

/* Runs it to its end. Its success is judged by the file that it was to make as well: where the process ignores SIGCHLD,
 * nobody learns how a child ended. */
bool fake_run_program(workplace *w, const char **argv, const char *made, fake_text *log)
{
    char temporary[MAX_PATH + 16], log_path[MAX_PATH + 32];
    char **env = child_environment(temporary, sizeof temporary, w);
    pid_t pid;
    int status = 0, e = ENOMEM;
    snprintf(log_path, sizeof log_path, "%s/log", w->folder);
    if (env)
        e = start(&pid, argv[0], (char **)(uintptr_t)argv, env, log_path);
    free(env);
    if (e) {
        fake_text_printf(log, "error: cannot run the C compiler %s: %s\n", argv[0], strerror(e));
        return false;
    }
    while ((e = waitpid(pid, &status, 0)) < 0 && errno == EINTR)
        ;
    const bool ended_well = e < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
    if (ended_well && access(made, R_OK) == 0)
        return true; /* warnings are nobody's */
    fake_text_read(log, log_path);
    if (WIFSIGNALED(status))
        fake_text_printf(log, "error: the C compiler %s was ended by signal %d\n", argv[0], WTERMSIG(status));
    else if (!log->n)
        fake_text_printf(log, "error: the C compiler %s failed with status %d and said nothing\n", argv[0],
                         WEXITSTATUS(status));
    return false;
}

/* ---- compiling ---- */

static bool preprocess(workplace *w, const char *cc, const char *const *define, int n_define, fake_text *log)
{
    const char *argv[MAX_ARGUMENTS] = {cc, "-E", "-x", "c"};
    char in[MAX_PATH + 32], out[MAX_PATH + 32];
    int n = 4;
    snprintf(in, sizeof in, "%s/unit.c", w->folder);
    snprintf(out, sizeof out, "%s/unit.i", w->folder);
    for (size_t i = 0; i < FLAGS; i++)
        argv[n++] = flags[i];
    if (fake_kernel_watches())
        argv[n++] = "-DTN_FAKE_RACES";
    for (int i = 0; i < n_define; i++)
        argv[n++] = define[i];
    argv[n++] = in;
    argv[n++] = "-o";
    argv[n++] = out;
    argv[n] = NULL;
    return fake_run_program(w, argv, out, log);
}

static bool make_object(workplace *w, const char *cc, maker by, fake_text *log)
{
    const char *argv[MAX_ARGUMENTS] = {cc, "-shared"};
    char in[MAX_PATH + 32], out[MAX_PATH + 32];
    int n = 2;
    snprintf(in, sizeof in, "%s/kernels.i", w->folder);
    snprintf(out, sizeof out, "%s/kernels.so", w->folder);
    for (size_t i = 0; i < FLAGS; i++)
        argv[n++] = flags[i];
    for (const char *const *o = level(by); *o; o++)
        argv[n++] = *o;
    argv[n++] = "-x";
    argv[n++] = by == TINYCC ? "c" : "cpp-output";
    argv[n++] = in;
    argv[n++] = "-o";
    argv[n++] = out;
    if (fake_kernel_watches()) { /* its calls are answered by the unit (dialect_watch.h), not by its library */
        argv[n++] = "-fsanitize=thread";
        argv[n++] = "-nostdlib";
        argv[n++] = "-lgcc";
        argv[n++] = "-lc";
    }
    argv[n++] = "-lm";
    if (by != TINYCC) { /* nothing begins or ends with a kernel: 3 ms of 48 */
#ifdef TN_FAKE_SANITIZE /* a sanitizer's functions come from the program; not to link its library takes 14 ms less of 50 */
        argv[n++] = "-nostdlib";
        argv[n++] = "-lgcc";
#ifdef __SANITIZE_ADDRESS__ /* but UBSan's, which a program that opens the library at run time does not show */
        if (by == GCC)
            argv[n++] = "-lubsan";
#endif
#else
        argv[n++] = "-Wl,-z,defs";
        argv[n++] = "-nostartfiles";
#endif
    }
    argv[n] = NULL;
    return fake_run_program(w, argv, out, log);
}

static bool write_unit(workplace *w, const char *text, const char *name, fake_text *log)
{
    fake_text unit = {0};
    fake_text_puts(&unit, "#if defined __TINYC__\n#pragma tenon tinycc\n#elif defined __GNUC__ && !defined __clang__\n"
                          "#pragma tenon gcc\n#endif\n");
    for (size_t i = 0; texts[i].name; i++)
        fake_text_printf(&unit, "#line 1 \"%s\"\n%s\n", texts[i].name, texts[i].text);
    fake_text_puts(&unit, "#line 1 \"");
    for (const char *p = name; *p; p++) /* what a string of C may hold */
        fake_text_add(&unit, *p < ' ' || *p == '"' || *p == '\\' ? "_" : p, 1);
    fake_text_puts(&unit, "\"\n");
    fake_text_puts(&unit, text);
    fake_text_puts(&unit, "\n" END_MARK "\n");
    const bool ok = !unit.failed && fake_write_file(fake_file_in(w, "unit.c"), &unit);
    if (!ok)
        say_errno(log, "write", w->path);
    fake_text_free(&unit);
    return ok;
}

/* Says why races cannot be looked for. */
static bool refuses_to_watch(maker by, fake_text *log)
{
    if (!fake_kernel_watches())
        return false;
#ifdef TN_FAKE_SANITIZE
    (void)by;
    fake_text_puts(
        log, "error: TENON_FAKE_GPU_RACES=1 cannot be had in a build with a sanitizer, which watches kernels itself\n");
    return true;
#else
    if (by == TINYCC)
        fake_text_puts(
            log,
            "error: TENON_FAKE_GPU_RACES=1 needs gcc or clang to compile kernels, and the C compiler is TinyCC: name "
            "another by TENON_FAKE_CC\n");
    return by == TINYCC;
#endif
}

/* The preprocessed text, with its kernels translated, goes back to a file. *by: who preprocessed it. */
static bool translate(workplace *w, maker *by, fake_text *log)
{
    fake_text in = {0}, out = {0};
    bool ok = fake_text_read(&in, fake_file_in(w, "unit.i")) && in.s;
    if (!ok)
        say_errno(log, "read", w->path);
    if (ok && !strstr(in.s, END_MARK)) { /* nobody learnt how the compiler ended: see 'run' */
        fake_text_read(log, fake_file_in(w, "log"));
        ok = false;
    }
    for (*by = GCC; ok && *by < ANOTHER && !strstr(in.s, mark[*by]);)
        ++*by;
    ok = ok && !refuses_to_watch(*by, log);
    if (*by == TINYCC) /* what is written from here on was not preprocessed yet */
        fake_text_puts(&out, "#define tn_item (*tn_fake_host->items())\n#define __builtin_classify_type(x) 1\n");
    ok = ok && fake_translate_kernels(in.s, &out, log);
    if (ok && !fake_write_file(fake_file_in(w, "kernels.i"), &out)) {
        say_errno(log, "write", w->path);
        ok = false;
    }
    fake_text_free(&in);
    fake_text_free(&out);
    return ok;
}

bool fake_cc_compile(const char *text, const char *name, const char *const *define, int n_define, fake_text *object,
                     fake_text *log)
{
    char cc[MAX_PATH];
    workplace w;
    if (!find_compiler(cc)) {
        say_no_compiler(log);
        return false;
    }
    if (n_define > MAX_ARGUMENTS - FLAGS - 16) {
        fake_text_puts(log, "error: too many macros among the options\n");
        return false;
    }
    if (!fake_make_folder(&w, log))
        return false;
    maker by;
    bool ok = write_unit(&w, text, name, log) && preprocess(&w, cc, define, n_define, log) && translate(&w, &by, log) &&
              make_object(&w, cc, by, log);
    if (ok && !fake_text_read(object, fake_file_in(&w, "kernels.so"))) {
        say_errno(log, "read", w.path);
        ok = false;
    }
    fake_remove_folder(&w);
    return ok;
}
