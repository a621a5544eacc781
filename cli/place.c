/* Where 'tenon train' saves: whether it can, and that a better model which is there is not lost. */
#include "cli.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int place_check(const char *path)
{
    char folder[4352];
    struct stat st;
    bool there = stat(path, &st) == 0;
    if (there && S_ISDIR(st.st_mode))
        return cli_error(CLI_FAILED, "--save %s: this is a folder; name a file in it, such as %s/mnist.safetensors",
                         path, path);
    if (there && !S_ISREG(st.st_mode))
        return cli_error(CLI_FAILED, "--save %s: this is no regular file; name one that can be replaced", path);
    if (there && access(path, W_OK) != 0)
        return cli_error(CLI_FAILED, "--save %s: %s; name a file that can be written", path, strerror(errno));
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    if (access(*folder ? folder : "/", W_OK) != 0)
        return cli_error(CLI_FAILED, "--save %s: %s: %s; name a folder that is there and can be written", path,
                         *folder ? folder : "/", strerror(errno));
    /* the rest is what only a try shows: where a link leads, a name that is too long, a folder such as /proc */
    return tn_save_check(path)
               ? cli_library_error("--save names where the model goes: give a place that can be written")
               : 0;
}

/* ---- the model that was there ---- */

/* In percent, by the file's own words; -1: it does not say. */
static double accuracy_in(const char *path)
{
    tn_safetensors *f = tn_safetensors_open(path);
    const char *text = tn_safetensors_metadata(f, "tenon.test_accuracy");
    double accuracy = text ? strtod(text, NULL) : -1;
    tn_safetensors_close(f);
    tn_error_clear();
    return accuracy >= 0 && accuracy <= 100 ? accuracy : -1;
}

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int place_keep_better(const char *path, const char *resumed, double accuracy, kept_model *kept)
{
    char real[PATH_MAX]; /* saving follows links, so the file that they lead to is the one that is replaced */
    struct stat st;
    kept->accuracy = -1;
    if ((resumed && same_file(path, resumed)) || lstat(path, &st) != 0)
        return 0;
    if (S_ISLNK(st.st_mode) ? !realpath(path, real) : snprintf(real, sizeof real, "%s", path) >= PATH_MAX)
        return 0;
    const double was = accuracy_in(real);
    if (was <= accuracy)
        return 0;
    snprintf(kept->path, sizeof kept->path, "%s", real);
    snprintf(kept->other, sizeof kept->other, "%s.previous", real);
    snprintf(kept->aside, sizeof kept->aside, "%s.%ld.tmp", kept->other, (long)getpid());
    if (lstat(kept->other, &st) == 0) {
        if (!S_ISREG(st.st_mode))
            return cli_error(
                CLI_FAILED,
                "--save %s: it holds a better model (%.2f %%), and %s, where it would be kept, is no regular "
                "file; give another name",
                path, was, kept->other);
        if (accuracy_in(kept->other) >= was)
            return 0; /* the better one of the two is there */
    }
    kept->moved = link(real, kept->aside) != 0;
    if (kept->moved && rename(real, kept->other) != 0)
        return cli_error(CLI_FAILED,
                         "--save %s: it holds a better model (%.2f %%), which cannot be kept as %s: %s; "
                         "give another name",
                         path, was, kept->other, strerror(errno));
    kept->accuracy = was;
    return 0;
}

void place_kept(kept_model *kept, bool saved)
{
    if (kept->accuracy < 0)
        return;
    if (!saved) {
        if (kept->moved)
            rename(kept->other, kept->path);
        else
            unlink(kept->aside);
        return;
    }
    if (!kept->moved && rename(kept->aside, kept->other) != 0) {
        fprintf(stderr, "tenon train: a better model is kept as %s: %s\n", kept->aside, strerror(errno));
        return;
    }
    printf("%s held a model with %.2f %% of the test images right: kept as %s\n", kept->path, kept->accuracy,
           kept->other);
    fflush(stdout);
}
