/* Compiled kernels on disk. */
#include "backend/gpu/kernel_cache.h"
#include "core/alloc.h"
#include "core/env.h"
#include "core/warning.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- keys ---- */

/* 64 bits of a text, by words: multiply, rotate. Not against an enemy: the folder is the user's own. */
static uint64_t mix(uint64_t h, uint64_t word, uint64_t factor)
{
    h = (h ^ word) * factor;
    return h ^ h >> 29;
}

static const uint64_t factors[3] = {0x9e3779b97f4a7c15U, 0xc2b2ae3d27d4eb4fU, 0xd6e8feb86659fd93U};

static void mix_text(uint64_t h[3], const char *text, size_t n)
{
    for (size_t i = 0; i < n; i += 8) {
        uint64_t word = 0;
        memcpy(&word, text + i, TN_MIN((size_t)8, n - i));
        for (int lane = 0; lane < 3; lane++)
            h[lane] = mix(h[lane], word + (uint64_t)lane, factors[lane]);
    }
    for (int lane = 0; lane < 3; lane++) /* so that ("ab", "c") is not ("a", "bc") */
        h[lane] = mix(h[lane], n, factors[(lane + 1) % 3]);
}

tn__cache_key tn__cache_key_of(const char *const *texts, size_t n)
{
    uint64_t h[3] = {1, 2, 3}, length = 0;
    for (size_t i = 0; i < n; i++) {
        size_t bytes = strlen(texts[i]);
        mix_text(h, texts[i], bytes);
        length += bytes;
    }
    return (tn__cache_key){{h[0], h[1]}, h[2], length};
}

static uint64_t sum_of(const void *data, size_t size)
{
    uint64_t h[3] = {4, 5, 6};
    mix_text(h, data, size);
    return h[0] ^ h[1];
}

/* ---- the folder ---- */

static bool is_folder(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static bool folder_name(char *path, size_t size)
{
    const char *own = tn__env_text("TENON_CACHE_DIR"), *xdg = tn__env_text("XDG_CACHE_HOME"),
               *home = tn__env_text("HOME");
    int n = -1;
    if (own && !strcmp(own, "off"))
        return false;
    if (own && *own)
        n = snprintf(path, size, "%s", own);
    else if (xdg && *xdg == '/') /* a relative one is to be ignored, says its specification */
        n = snprintf(path, size, "%s/tenon", xdg);
    else if (home && *home && is_folder(home)) /* an account without a home must not get one from us */
        n = snprintf(path, size, "%s/.cache/tenon", home);
    return n > 0 && (size_t)n < size;
}

/* Makes every missing folder of the path, for the user alone. 0, or the errno of the first that could not be made. */
static int make_folders(char *path)
{
    int why = 0;
    for (char *slash = strchr(path + 1, '/'); slash && !why; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        why = mkdir(path, 0700) && errno != EEXIST ? errno : 0;
        *slash = '/';
    }
    return why || !mkdir(path, 0700) || errno == EEXIST ? why : errno;
}

static bool is_own(int fd, mode_t kind)
{
    struct stat s;
    return fstat(fd, &s) == 0 && (s.st_mode & S_IFMT) == kind && s.st_uid == geteuid() && !(s.st_mode & 022);
}

/* -1: no cache; errno says why, 0 where nobody wants one. */
static int open_folder(bool make)
{
    char path[PATH_MAX];
    errno = 0;
    if (!folder_name(path, sizeof path))
        return -1;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && make && errno == ENOENT) {
        const int why = make_folders(path);
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 && why)
            errno = why;
    }
    if (fd >= 0 && !is_own(fd, S_IFDIR)) {
        close(fd);
        errno = EPERM;
        return -1;
    }
    return fd;
}

int64_t tn__cache_folder(char *out, size_t size)
{
    char path[PATH_MAX];
    int fd = open_folder(true);
    if (fd < 0 || !folder_name(path, sizeof path))
        return 0;
    close(fd);
    return snprintf(out, size, "%s", path);
}

/* ---- files ---- */

typedef struct header {
    char magic[8];
    tn__cache_key key;
    uint64_t size, sum;
} header;

static const char magic[8] = "tenon k1";

typedef struct file_name {
    char s[80];
} file_name;

static file_name name_of(const tn__cache_key *key)
{
    file_name f;
    snprintf(f.s, sizeof f.s, "%016llx%016llx", (unsigned long long)key->name[0], (unsigned long long)key->name[1]);
    return f;
}

static bool read_all(int fd, void *to, size_t n)
{
    char *p = to;
    while (n) {
        ssize_t got = read(fd, p, n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        p += got;
        n -= (size_t)got;
    }
    return true;
}

static bool write_all(int fd, const void *from, size_t n)
{
    const char *p = from;
    while (n) {
        ssize_t put = write(fd, p, n);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        p += put;
        n -= (size_t)put;
    }
    return true;
}

/* The size a file says it has is believed only if the file has it. */
static bool read_file(int fd, const tn__cache_key *key, void **data, size_t *size)
{
    header h;
    struct stat s;
    if (!is_own(fd, S_IFREG) || fstat(fd, &s) || !read_all(fd, &h, sizeof h))
        return false;
    if (memcmp(h.magic, magic, sizeof magic) != 0 || memcmp(&h.key, key, sizeof *key) != 0 || !h.size ||
        h.size != (uint64_t)s.st_size - sizeof h)
        return false;
    void *bytes = tn__block_get((size_t)h.size);
    if (!bytes)
        return false;
    if (!read_all(fd, bytes, (size_t)h.size) || sum_of(bytes, (size_t)h.size) != h.sum) {
        tn__block_put(bytes, (size_t)h.size);
        return false;
    }
    *data = bytes;
    *size = (size_t)h.size;
    return true;
}

bool tn__cache_load(const tn__cache_key *key, void **data, size_t *size)
{
    int folder = open_folder(false);
    if (folder < 0)
        return false;
    /* O_NONBLOCK: a FIFO in an entry's place must not hang us; it is refused with whatever else is no file */
    int fd = openat(folder, name_of(key).s, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool ok = fd >= 0 && read_file(fd, key, data, size);
    if (fd >= 0)
        close(fd);
    close(folder);
    return ok;
}

static bool write_file(int folder, const char *temporary, const tn__cache_key *key, const void *data, size_t size)
{
    header h = {.key = *key, .size = size, .sum = sum_of(data, size)};
    memcpy(h.magic, magic, sizeof magic);
    int fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    bool ok = write_all(fd, &h, sizeof h) && write_all(fd, data, size);
    if (close(fd))
        ok = false;
    return ok;
}

/* Who has set the cache off, or may not have one, knows that. */
static TN_COLD void warn_of(int why)
{
    static _Atomic bool said;
    char path[PATH_MAX];
    const char *own = tn__env_text("TENON_CACHE_DIR");
    if (tn__env_guarded() || (own && !strcmp(own, "off")))
        return;
    if (folder_name(path, sizeof path))
        tn__warn_once(
            &said,
            "compiled GPU kernels cannot be kept in %s (%s), so every process compiles them anew: TENON_CACHE_DIR can "
            "name a folder that is yours alone, or be 'off'",
            path, why == EPERM ? "it is another user's, or others may write to it" : strerror(why));
    else
        tn__warn_once(&said,
                      "compiled GPU kernels cannot be kept, for there is no home folder, so every process compiles "
                      "them anew: TENON_CACHE_DIR can name a folder that is yours alone, or be 'off'");
}

bool tn__cache_store(const tn__cache_key *key, const void *data, size_t size)
{
    static _Atomic unsigned count;
    file_name name = name_of(key), temporary;
    int folder = open_folder(true), why = errno;
    bool ok = folder >= 0;
    if (ok) {
        snprintf(temporary.s, sizeof temporary.s, "%.40s.%ld.%u", name.s, (long)getpid(), atomic_fetch_add(&count, 1));
        ok = write_file(folder, temporary.s, key, data, size) && !renameat(folder, temporary.s, folder, name.s);
        why = errno;
        if (!ok)
            unlinkat(folder, temporary.s, 0);
        close(folder);
    }
    if (!ok)
        warn_of(why);
    return ok;
}
