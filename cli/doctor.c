/* tenon doctor: what was found on this machine, what is missing, how to get it; whether what is there computes. */
#include "gpus.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void line(bool good, const char *what, const char *found, const char *advice)
{
    char text[8192]; /* paths and names of devices are others' */
    snprintf(text, sizeof text, "%s", found);
    cli_plain(text);
    printf("[%s] %-10s %s%s%s\n", good ? "ok" : "--", what, text, *advice ? "\n                " : "", advice);
}

/* The library's message as one line. */
static void line_of_error(const char *what, const char *advice)
{
    char text[2048];
    cli_message(text, sizeof text, true);
    line(false, what, text, advice);
}

/* ---- products ---- */

/* A product small enough to be instant, checked against its value. */
static bool computes(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(100, 100), .requires_grad = true);
    tn_tensor *y = tn_sum(tn_mm(x, x));
    bool ok = y && tn_item(y) == 1e6 && !tn_backward(y) && tn_item(tn_sum(tn_tensor_grad(x))) == 2e6;
    tn_scope_close(s);
    return ok;
}

/* Whole numbers so small that every product and sum is exact, whatever computes it: so the bits must be the CPU's.
 * False with an error set, or without one where the numbers differ. */
static bool same_product(tn_device device, int64_t n, tn_dtype dtype)
{
    tn_tensor *a =
        tn_to(tn_sub(tn_remainder(tn_reshape(tn_arange(0, n * n, 1), TN_SHAPE(-1, n)), 7), 3), .dtype = dtype);
    tn_tensor *b = tn_t(a), *there = tn_matmul(tn_to(a, .device = device), tn_to(b, .device = device));
    tn_tensor *apart = tn_sum(tn_ne(tn_cpu(there), tn_matmul(a, b)));
    return apart && tn_item(apart) == 0;
}

static bool computes_on(tn_device device)
{
    tn_scope *s = tn_scope_open();
    bool ok = same_product(device, 5, TN_F32) && same_product(device, 200, TN_F32) && same_product(device, 40, TN_I64);
    tn_scope_close(s);
    return ok;
}

/* ---- GPUs ---- */

static void libraries(void)
{
    tn_cuda_library l[8];
    char text[600];
    size_t n = tn_cuda_libraries(l, 8);
    for (size_t i = 0; i < n && i < 8; i++) {
        int at = snprintf(text, sizeof text, "%s", l[i].fake ? "simulated" : l[i].path);
        if (l[i].version && at < (int)sizeof text)
            at += snprintf(text + at, sizeof text - (size_t)at, "%s%s %d.%d", at ? ", " : "",
                           !strcmp(l[i].name, "driver") ? "for CUDA" : "version", (int)l[i].version / 1000,
                           (int)l[i].version % 1000 / 10);
        if (l[i].fake && at < (int)sizeof text)
            snprintf(text + at, sizeof text - (size_t)at, ": %s", l[i].path);
        line(l[i].found, l[i].name, l[i].found ? text : l[i].missing, "");
    }
}

static void cache(void)
{
    char folder[4096], text[4352];
    int files = 0;
    int64_t n = tn_kernel_cache_folder(folder, sizeof folder);
    if (n <= 0 || n >= (int64_t)sizeof folder) {
        const char *own = tn_setting_value("TENON_CACHE_DIR"), *xdg = tn_setting_value("XDG_CACHE_HOME"),
                   *home = tn_setting_value("HOME");
        bool off = tn_settings_guarded() || (own && !strcmp(own, "off"));
        bool named = (own && *own) || (xdg && *xdg == '/'), homeless = !named && (!home || access(home, X_OK) != 0);
        snprintf(text, sizeof text, "%s: every process compiles its GPU kernels anew",
                 off        ? "off"
                 : homeless ? "off, for there is no home folder (HOME)"
                            : "there is no folder that is yours alone");
        line(off, "cache", text, off ? "" : "TENON_CACHE_DIR names one that nobody else may write to");
        return;
    }
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;)
        files += e->d_name[0] != '.';
    if (d)
        closedir(d);
    bool writable = access(folder, W_OK) == 0;
    snprintf(text, sizeof text, "%s: %d unit%s of compiled GPU kernels%s", folder, files, files == 1 ? "" : "s",
             writable ? "" : ", and no more: it cannot be written to");
    line(writable, "cache", text, "");
}

static bool check_gpus(void)
{
    bool all = !gpus_bad_list();
    if (!all)
        line_of_error("GPUs", "");
    for (int32_t i = 0; i < tn_cuda_device_count(); i++) {
        char name[24];
        tn_error_clear();
        snprintf(name, sizeof name, "cuda:%d", (int)i);
        bool ok = computes_on(TN_CUDA(i));
        if (ok)
            line(true, name, "products are right", "");
        else if (tn_error_code())
            line_of_error(name, "");
        else
            line(false, name, "products differ from the CPU's: this GPU or its driver is faulty", "");
        all = all && ok;
    }
    return all;
}

/* Would fake GPUs work? A child that has one tries; it writes what is missing. Called before anything else uses the
 * library, so that the child is free to. Returns where to read; -1 where nothing needs to be tried. */
static int try_fake_gpus(pid_t *child)
{
    int end[2];
    const char *fakes = tn_setting_value("TENON_FAKE_GPUS");
    if ((fakes && *fakes) || tn_settings_guarded() || pipe(end) != 0)
        return -1;
    *child = fork();
    if (*child == 0) {
        char text[2048] = "a fake GPU computes wrongly";
        setenv("TENON_FAKE_GPUS", "1x256MiB", 1);
        unsetenv("CUDA_VISIBLE_DEVICES");
        unsetenv(gpus_list);
        unsetenv("TENON_FAKE_GPU_FAULTS");
        bool ok = computes_on(TN_CUDA(0));
        if (!ok && tn_error_code())
            cli_message(text, sizeof text, true);
        _exit(!ok && write(end[1], text, strlen(text)) >= 0);
    }
    close(end[1]);
    if (*child < 0)
        close(end[0]);
    return *child < 0 ? -1 : end[0];
}

/* What compiles for fake GPUs: looked for where they look for it. */
static bool find_program(const char *name, char *path, size_t size)
{
    const char *p = tn_setting_value("PATH");
    if (!name || !*name)
        return false;
    if (strchr(name, '/'))
        return snprintf(path, size, "%s", name) < (int)size && access(path, X_OK) == 0;
    for (p = p && *p ? p : "/usr/local/bin:/usr/bin:/bin"; *p;) {
        size_t n = strcspn(p, ":");
        if (n && snprintf(path, size, "%.*s/%s", (int)n, p, name) < (int)size && access(path, X_OK) == 0)
            return true;
        p += n + (p[n] == ':');
    }
    return false;
}

static void compiler(void)
{
    const char *only = tn_setting_value("TENON_FAKE_CC");
    const char *const names[] = {tn_setting_value("CC"), "cc", "gcc", "clang"};
    char path[4096];
    if (only && *only) {
        bool found = find_program(only, path, sizeof path);
        line(found, "C compiler", only, found ? "" : "TENON_FAKE_CC names no program");
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (find_program(names[i], path, sizeof path)) {
            line(true, "C compiler", path, "");
            return;
        }
    line(false, "C compiler", "none of $CC, cc, gcc, clang was found: fake GPUs need one",
         "Debian, Ubuntu: apt install gcc libc6-dev; or TENON_FAKE_CC=<its path>");
}

static void fake_gpus(pid_t child, int from)
{
    char text[2048];
    size_t n = 0;
    int status = 0;
    if (from < 0)
        return;
    for (ssize_t got; n < sizeof text - 1 && (got = read(from, text + n, sizeof text - 1 - n)) > 0;)
        n += (size_t)got;
    text[n] = '\0';
    close(from);
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        line(true, "fake GPUs", "work: TENON_FAKE_GPUS=2 makes two (simulated: correct results, no speed)", "");
    else
        line(false, "fake GPUs", n ? text : "the attempt to use one crashed", "");
}

/* ---- the environment ---- */

/* Each that is set, in one line. */
static void variables(void)
{
    char text[900];
    size_t n;
    tn_setting *set = cli_settings(&n);
    if (tn_settings_guarded())
        line(true, "privilege", "more than whoever started this: what names libraries, programs or places is ignored",
             "");
    for (size_t i = 0; i < n; i++) {
        snprintf(text, sizeof text, "%s=%s%s%s", set[i].name, set[i].value, *set[i].wrong ? ": " : "", set[i].wrong);
        line(!*set[i].wrong, "set", text, "");
    }
    free(set);
}

/* ---- the command ---- */

static void cpu(void)
{
    tn_device_info d;
    char text[400];
    tn_devices(&d, 1);
    line(true, "tenon", tn_version(), "");
    snprintf(text, sizeof text, "%s, %d thread%s, %.1f GiB of memory", d.name, (int)d.units, d.units == 1 ? "" : "s",
             (double)d.total_memory / 1073741824);
    line(true, "cpu", text, "");
    bool none = strstr(d.detail, "no BLAS was found") != NULL;
    line(true, "kernels", d.detail, none ? "a BLAS is optional: apt-get install libopenblas0-pthread" : "");
}

int cmd_doctor(int argc, char **argv)
{
    const command c = {
        "doctor",
        "",
        "Says what was found on this machine, what is missing, and how to get it; checks a product on the\n"
        "CPU and on every GPU by its value.",
        NULL,
        0,
        0,
        0};
    int status = cli_parse(&c, argc, argv, NULL, NULL);
    if (status >= 0)
        return status;
    tn_set_warning_handler(NULL); /* its list says it */
    pid_t child = -1;
    int from = try_fake_gpus(&child);
    cpu();
    bool works = computes();
    line(works, "products", works ? "forward and backward give the right numbers" : tn_error_message(), "");
    libraries();
    cache();
    works = check_gpus() && works;
    compiler();
    fake_gpus(child, from);
    variables();
    return works ? CLI_OK : CLI_FAILED;
}
