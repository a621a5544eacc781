/* tenon fake: runs a program that knows nothing of Tenon on fake GPUs. The loader finds NVIDIA's libraries by name in the folders
 * of LD_LIBRARY_PATH: the first of them holds links of these names to the library of the fake GPUs. */
#include "cli.h"
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[] = {"libcuda.so.1",   "libcuda.so",  "libnvrtc.so.11.2",  "libnvrtc.so.12",
                                    "libnvrtc.so.13", "libnvrtc.so", "libnvidia-ml.so.1", "libnvidia-ml.so"};

/* The library lies beside libtenon.so, unless it is named. */
static int find_library(char path[PATH_MAX])
{
    char near[PATH_MAX];
    Dl_info self;
    const char *given = tn_setting_value("TENON_FAKEGPU_LIBRARY");
    const void *in_library = dlsym(RTLD_DEFAULT, "tn_setting_value");
    const char *slash = !given && in_library && dladdr(in_library, &self) ? strrchr(self.dli_fname, '/') : NULL;
    snprintf(near, sizeof near, "%.*s/libtenon_fakegpu.so", slash ? (int)(slash - self.dli_fname) : 1,
             slash ? self.dli_fname : ".");
    if (realpath(given ? given : near, path))
        return 0;
    return cli_error(CLI_FAILED, "%s: %s; TENON_FAKEGPU_LIBRARY can name the library of the fake GPUs",
                     given ? given : near, strerror(errno));
}

/* A folder of this user's alone, by a name that the next run finds again: one for each library. Who else made one by this name
 * must not choose what is loaded. */
static int make_folder(const char *library, char folder[PATH_MAX])
{
    const char *where = tn_setting_value("TMPDIR");
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (const char *p = library; *p; p++)
        hash = (hash ^ (unsigned char)*p) * 0x100000001b3u;
    struct stat st;
    snprintf(folder, PATH_MAX, "%s/tenon-fake-%ld-%016llx", where && *where == '/' ? where : "/tmp", (long)geteuid(),
             (unsigned long long)hash);
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return cli_error(CLI_FAILED, "%s: %s; TMPDIR can name a folder for temporary files", folder, strerror(errno));
    if (lstat(folder, &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 077)
        return cli_error(CLI_FAILED, "%s: it is not a folder that you alone can write to; remove it, or set TMPDIR",
                         folder);
    return 0;
}

/* Replaces what stands there in one step: another process may be looking. */
static int put_link(const char *folder, const char *name, const char *library)
{
    char path[PATH_MAX + 64], other[PATH_MAX + 96], target[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const ssize_t n = readlink(path, target, sizeof target);
    if (n > 0 && (size_t)n == strlen(library) && !memcmp(target, library, (size_t)n))
        return 0;
    snprintf(other, sizeof other, "%s.%ld", path, (long)getpid());
    if (symlink(library, other) == 0 && rename(other, path) == 0)
        return 0;
    return cli_error(CLI_FAILED, "%s: %s", path, strerror(errno));
}

static int set(const char *name, const char *value)
{
    return setenv(name, value, 1) ? cli_error(CLI_FAILED, "%s: %s", name, strerror(errno)) : 0;
}

/* The GPUs of the option, of the environment, or one; what is not understood is said in the library's words. */
static int set_gpus(const char *gpus)
{
    const char *now = tn_setting_value("TENON_FAKE_GPUS");
    int status = set("TENON_FAKE_GPUS", gpus ? gpus : now && *now ? now : "1");
    size_t n;
    tn_setting *s = cli_settings(&n);
    for (size_t i = 0; i < n && !status; i++)
        if (!strcmp(s[i].name, "TENON_FAKE_GPUS") && *s[i].wrong)
            status = cli_error(CLI_USAGE, "%s '%s': %s", gpus ? "--gpus" : "TENON_FAKE_GPUS", s[i].value, s[i].wrong);
    free(s);
    return status;
}

static int set_environment(const char *gpus)
{
    char library[PATH_MAX], folder[PATH_MAX], paths[2 * PATH_MAX];
    int status = set_gpus(gpus);
    if (!status)
        status = find_library(library);
    if (!status)
        status = make_folder(library, folder);
    for (size_t i = 0; i < sizeof names / sizeof *names && !status; i++)
        status = put_link(folder, names[i], library);
    if (status)
        return status;
    const char *old = tn_setting_value("LD_LIBRARY_PATH");
    if (snprintf(paths, sizeof paths, "%s%s%s", folder, old && *old ? ":" : "", old ? old : "") >= (int)sizeof paths)
        return cli_error(CLI_FAILED, "LD_LIBRARY_PATH: it is longer than %d bytes", 2 * PATH_MAX);
    status = set("LD_LIBRARY_PATH", paths);
    return status || tn_setting_value("TENON_FAKE_GPU_REPORT") ? status : set("TENON_FAKE_GPU_REPORT", "1");
}

/* Where the program begins: behind --, or with the first word that is neither an option nor its value. */
static int find_program(int argc, char **argv)
{
    int i = 0;
    while (i < argc && argv[i][0] == '-' && strcmp(argv[i], "--") != 0)
        i += strcmp(argv[i], "--gpus") == 0 ? 2 : 1;
    return i < argc ? i : argc;
}

int cmd_fake(int argc, char **argv)
{
    const char *gpus = NULL;
    const option options[] = {{"gpus", OPT_TEXT, &gpus, 0, 0, "GPUS",
                               "how many, and how much memory each: 2, 4x1GiB (or TENON_FAKE_GPUS; 1 otherwise)"}};
    const command c = {"fake",
                       "[--gpus GPUS] [--] PROGRAM [ARGUMENT ...]",
                       "runs a program on fake GPUs: what it asks of CUDA's driver, NVRTC and NVML they answer; its "
                       "kernels are CUDA C",
                       options,
                       1,
                       0,
                       0};
    int program = find_program(argc, argv);
    int status = cli_parse(&c, program, argv, NULL, NULL);
    if (status >= 0)
        return status;
    program += program < argc && !strcmp(argv[program], "--");
    if (program == argc)
        return cli_error(CLI_USAGE, "which program? (usage: tenon fake %s)", c.arguments);
    status = set_environment(gpus);
    if (status)
        return status;
    fflush(stdout);
    execvp(argv[program], argv + program);
    status = errno == ENOENT ? 127 : 126; /* as shells say it */
    return cli_error(status, "%s: %s", argv[program], strerror(errno));
}
