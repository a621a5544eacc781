/* Files and memory as readers see them, and the messages about what is wrong in them. */
#include "data/source.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* strerror_r is two functions: GNU's returns the text, POSIX's fills the buffer. */
static inline const char *say_gnu(const char *result, const char *buffer)
{
    (void)buffer;
    return result;
}

static inline const char *say_posix(int result, const char *buffer)
{
    return result == 0 ? buffer : "unknown error";
}

tn__system_text tn__system_say(int number)
{
    tn__system_text t;
    char buffer[sizeof t.s] = "";
    const char *said = _Generic(strerror_r(number, buffer, sizeof buffer), char *: say_gnu, int: say_posix)(
        strerror_r(number, buffer, sizeof buffer), buffer);
    snprintf(t.s, sizeof t.s, "%s", said);
    return t;
}

tn_status tn__system_error(int number, const char *path, const char *doing)
{
    return tn__error(TN_EIO, "%.1024s: %s (%s)", path, tn__system_say(number).s, doing);
}

tn_status tn__bad_field(tn_status code, const char *name, const char *field, uint64_t at, const char *format, ...)
{
    char text[768];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    return tn__error(code, "%.1024s: %s at byte %llu: %s", name, field, (unsigned long long)at, text);
}

tn_status tn__while_reading(const char *name)
{
    return tn__error_append("\n  while reading %.1024s", name);
}

tn__quoted tn__quote(const char *text, size_t n)
{
    tn__quoted q;
    size_t used = 0;
    q.s[used++] = '\'';
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (used > sizeof q.s - 10) { /* room for one more byte, "...'" and the end */
            used += (size_t)snprintf(q.s + used, sizeof q.s - used, "...");
            break;
        }
        used += (size_t)snprintf(q.s + used, sizeof q.s - used, c >= 0x20 && c < 0x7f ? "%c" : "\\x%02x", c);
    }
    q.s[used++] = '\'';
    q.s[used] = '\0';
    return q;
}

static tn_status check_regular(int fd, const char *path, uint64_t *size)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return tn__system_error(errno, path, "asking for its size");
    if (S_ISDIR(st.st_mode))
        return tn__system_error(EISDIR, path, "opening it to read");
    if (!S_ISREG(st.st_mode))
        return tn__error(TN_EIO, "%.1024s: not a regular file", path);
    *size = (uint64_t)st.st_size;
    return TN_OK;
}

tn_status tn__source_open(tn__source *s, const char *path)
{
    *s = (tn__source){.name = path, .fd = -1};
    if (!path || !*path)
        return tn__error(TN_EINVAL, "a path was expected, got %s", path ? "an empty text" : "NULL");
    s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* O_NONBLOCK: a FIFO without a writer must not hang us */
    if (s->fd < 0)
        return tn__system_error(errno, path, "opening it to read");
    tn_status e = check_regular(s->fd, path, &s->size);
    if (e)
        tn__source_close(s);
    return e;
}

tn_status tn__source_memory(tn__source *s, const void *data, size_t n, const char *name)
{
    *s = (tn__source){.name = name ? name : "memory", .memory = data, .fd = -1, .size = n};
    if (!data && n)
        return tn__error(TN_EINVAL, "%.1024s: the data is NULL", s->name);
    return TN_OK;
}

void tn__source_close(tn__source *s)
{
    if (s->fd >= 0)
        close(s->fd); /* nothing was written: nothing can be lost */
    s->fd = -1;
}

static tn_status cut_while_read(const tn__source *s)
{
    struct stat st;
    if (fstat(s->fd, &st) != 0 || st.st_size < 0)
        st.st_size = 0;
    return tn__error(TN_EIO, "%.1024s: the file was cut to %llu bytes while it was read", s->name,
                     (unsigned long long)st.st_size);
}

static tn_status read_file(tn__source *s, char *to, size_t n)
{
    while (n) {
        ssize_t got = pread(s->fd, to, TN_MIN(n, (size_t)1 << 30), (off_t)s->at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return tn__error(TN_EIO, "%.1024s: %s (reading at byte %llu)", s->name, tn__system_say(errno).s,
                             (unsigned long long)s->at);
        if (got == 0)
            return cut_while_read(s);
        to += got;
        n -= (size_t)got;
        s->at += (uint64_t)got;
    }
    return TN_OK;
}

tn_status tn__source_read(tn__source *s, void *to, size_t n)
{
    if (s->fd >= 0)
        return read_file(s, to, n);
    if (n)
        memcpy(to, s->memory + s->at, n);
    s->at += n;
    return TN_OK;
}
