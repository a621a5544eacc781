/* data/source.h: what readers read from, a file or memory, and how they say what is wrong with it.
 *
 * Every message names the source; those about its contents (TN_EFORMAT) also the byte and the field.
 */
#ifndef TENON_DATA_SOURCE_H
#define TENON_DATA_SOURCE_H

#include "core/error.h"

/* at <= size; size is what the system said when the source was opened. */
typedef struct tn__source {
    const char *name;            /* the path, or what the caller calls the memory; borrowed */
    const unsigned char *memory; /* NULL: a file */
    int fd;                      /* -1: memory */
    uint64_t size, at;
} tn__source;

/* Opens a regular file. TN_EIO if there is none such. */
TN_MUST_USE tn_status tn__source_open(tn__source *s, const char *path);
/* Borrows n bytes. */
TN_MUST_USE tn_status tn__source_memory(tn__source *s, const void *data, size_t n, const char *name);
void tn__source_close(tn__source *s);

/* The next n bytes; the caller has checked that n <= size - at. TN_EIO if the file has shrunk since. */
TN_MUST_USE tn_status tn__source_read(tn__source *s, void *to, size_t n);

static inline uint64_t tn__source_left(const tn__source *s)
{
    return s->size - s->at;
}

/* "NAME: FIELD at byte AT: what is wrong". Returns code. */
TN_COLD tn_status tn__bad_field(tn_status code, const char *name, const char *field, uint64_t at, const char *format,
                                ...) TN_PRINTF(5, 6);

/* "what: PATH: what the system says". Returns TN_EIO. */
TN_COLD tn_status tn__system_error(int number, const char *path, const char *doing);

/* What strerror() says, by value: strerror itself is not for threads. */
typedef struct tn__system_text {
    char s[96];
} tn__system_text;
tn__system_text tn__system_say(int number);

/* Adds the source to a message that does not know it, such as that memory is out. Returns the record's code. */
TN_COLD tn_status tn__while_reading(const char *name);

/* Text from a file, fit for a message: in quotes, cut, what is not printable ASCII as \xNN. By value. */
typedef struct tn__quoted {
    char s[80];
} tn__quoted;
tn__quoted tn__quote(const char *text, size_t n);

#endif
