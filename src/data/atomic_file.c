/* A file written whole or not at all: a new file beside the old one, synced, then renamed over it. */
#include "data/atomic_file.h"
#include "core/thread.h"
#include "data/source.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <tenon/data.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 100, LINKS = 40 };

static tn_status not_saved(const tn__atomic_file *f, int number, const char *doing)
{
    return tn__error(TN_EIO, "%.1024s: %s (%s); nothing was saved, what was there before is as it was", f->path,
                     tn__system_say(number).s, doing);
}

/* Fills f->target. realpath knows no file that is not there yet: links that lead to one are followed one by one. */
static tn_status follow_links(tn__atomic_file *f)
{
    char at[PATH_MAX], link[PATH_MAX];
    size_t n = strlen(f->path);
    if (n >= sizeof at)
        return not_saved(f, ENAMETOOLONG, "opening it to write");
    memcpy(at, f->path, n + 1);
    for (int i = 0; i < LINKS; i++) {
        if (realpath(at, f->target))
            return TN_OK;
        if (errno != ENOENT)
            return not_saved(f, errno, "opening it to write");
        ssize_t k = readlink(at, link, sizeof link - 1);
        if (k <= 0) {
            memcpy(f->target, at, strlen(at) + 1);
            return TN_OK;
        }
        link[k] = '\0';
        char *slash = strrchr(at, '/');
        size_t folder = slash && *link != '/' ? (size_t)(slash - at) + 1 : 0;
        if (folder + (size_t)k >= sizeof at)
            return not_saved(f, ENAMETOOLONG, "opening it to write");
        memcpy(at + folder, link, (size_t)k + 1);
    }
    return not_saved(f, ELOOP, "opening it to write");
}

/* The file that path means, and the folder it is in. */
static tn_status find_target(tn__atomic_file *f)
{
    char folder[PATH_MAX];
    tn_status e = follow_links(f);
    if (e)
        return e;
    char *slash = strrchr(f->target, '/');
    f->name = slash ? slash + 1 : f->target;
    if (!*f->name)
        return not_saved(f, EISDIR, "opening it to write");
    size_t k = slash ? (size_t)(slash - f->target) + 1 : 0;
    memcpy(folder, f->target, k);
    memcpy(folder + k, ".", 2);
    f->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return f->folder >= 0 ? TN_OK : not_saved(f, errno, "opening its folder");
}

/* In a folder as /tmp is (S_ISVTX), a file that everybody may write to can still be replaced by its owner alone. */
static bool is_anothers(const tn__atomic_file *f, const struct stat *file)
{
    struct stat folder;
    uid_t me = geteuid();
    return me != 0 && fstat(f->folder, &folder) == 0 && folder.st_mode & S_ISVTX && folder.st_uid != me &&
           file->st_uid != me;
}

/* What is there may be replaced; *mode is its mode, 0 if there is nothing. */
static tn_status check_target(const tn__atomic_file *f, mode_t *mode)
{
    struct stat st;
    *mode = 0;
    if (fstatat(f->folder, f->name, &st, 0) != 0)
        return errno == ENOENT ? TN_OK : not_saved(f, errno, "opening it to write");
    if (S_ISDIR(st.st_mode))
        return not_saved(f, EISDIR, "opening it to write");
    if (!S_ISREG(st.st_mode))
        return tn__error(TN_EIO, "%.1024s: not a regular file; nothing was saved", f->path);
    if (faccessat(f->folder, f->name, W_OK, AT_EACCESS) != 0)
        return not_saved(f, errno, "opening it to write");
    if (is_anothers(f, &st))
        return not_saved(f, EPERM, "replacing another user's file in a folder that keeps each user's apart");
    *mode = st.st_mode & 0777;
    return TN_OK;
}

/* A new file under a name nobody else uses, with the mode of the old one, or what the umask leaves. */
static tn_status make_temp(tn__atomic_file *f, mode_t mode)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    for (int i = 0; i < TRIES; i++) {
        snprintf(f->temp, sizeof f->temp, ".tenon-%ld-%ld-%d.tmp", (long)getpid(), (long)now.tv_nsec, i);
        f->fd = openat(f->folder, f->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (f->fd >= 0 || errno != EEXIST)
            break;
    }
    if (f->fd < 0)
        return not_saved(f, errno, "making a file in its folder");
    if (mode && fchmod(f->fd, mode) != 0) {
        tn_status e = not_saved(f, errno, "setting the new file's mode");
        unlinkat(f->folder, f->temp, 0);
        return e;
    }
    return TN_OK;
}

static void close_both(tn__atomic_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    if (f->folder >= 0)
        close(f->folder);
    f->fd = f->folder = -1;
}

tn_status tn__atomic_open(tn__atomic_file *f, const char *path)
{
    mode_t mode;
    f->path = path;
    f->fd = f->folder = -1;
    f->at = 0;
    if (!path || !*path)
        return tn__error(TN_EINVAL, "a path was expected, got %s", path ? "an empty text" : "NULL");
    tn_status e = find_target(f);
    if (e || (e = check_target(f, &mode)) || (e = make_temp(f, mode)))
        close_both(f);
    return e;
}

tn_status tn__atomic_write(tn__atomic_file *f, const void *data, size_t n)
{
    const char *p = data;
    while (n) {
        ssize_t put = write(f->fd, p, TN_MIN(n, (size_t)1 << 30));
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0) {
            char doing[48];
            int number = errno;
            snprintf(doing, sizeof doing, "writing at byte %llu", (unsigned long long)f->at);
            return not_saved(f, number, doing);
        }
        p += put;
        n -= (size_t)put;
        f->at += (uint64_t)put;
    }
    return TN_OK;
}

/* fsync that is not given up for a signal. */
static int sync_to_disk(int fd)
{
    int r;
    do
        r = fsync(fd);
    while (r != 0 && errno == EINTR);
    return r;
}

tn_status tn__atomic_commit(tn__atomic_file *f)
{
    tn_status e = TN_OK;
    int fd = f->fd;
    if (sync_to_disk(fd) != 0)
        e = not_saved(f, errno, "bringing it to the disk");
    f->fd = -1;
    if (close(fd) != 0 && !e && errno != EINTR) /* network file systems report a full disk here */
        e = not_saved(f, errno, "closing it");
    if (!e && renameat(f->folder, f->temp, f->folder, f->name) != 0)
        e = not_saved(f, errno, "giving it its name");
    if (e) {
        tn__atomic_abandon(f);
        return e;
    }
    if (sync_to_disk(f->folder) != 0 && errno != EINVAL &&
        errno != ENOTSUP) /* some file systems have none for folders */
        e = tn__error(TN_EIO,
                      "%.1024s: %s (bringing its folder to the disk); it was saved, but may not survive a power "
                      "failure",
                      f->path, tn__system_say(errno).s);
    close_both(f);
    return e;
}

void tn__atomic_abandon(tn__atomic_file *f)
{
    unlinkat(f->folder, f->temp, 0);
    close_both(f);
}

/* ---- public ---- */

tn_status(tn_save_check_at)(const char *site, const char *path)
{
    tn__atomic_file f;
    tn__enter(site);
    tn_status e = tn__atomic_open(&f, path);
    if (!e)
        tn__atomic_abandon(&f);
    return e;
}

tn_status(tn_save_check)(const char *path)
{
    return (tn_save_check_at)(TN__NOWHERE, path);
}
