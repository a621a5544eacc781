/* data/gz_reader.h: a source read from front to back, inflated on the way where it is gzip-compressed (RFC 1952). */
#ifndef TENON_DATA_GZ_READER_H
#define TENON_DATA_GZ_READER_H

#include "data/source.h"
#include <zlib.h>

typedef struct tn__gz_reader {
    tn__source *from;
    bool gzip;
    bool ended;  /* gzip: the last member is complete, its checksum right, and nothing follows it */
    uint64_t at; /* bytes given so far */
    z_stream z;
    unsigned char *in; /* gzip: compressed bytes on their way, IN_BYTES of them */
} tn__gz_reader;

/* Looks at the first bytes and begins. The source stays the caller's. On error there is nothing to close. */
TN_MUST_USE tn_status tn__gz_reader_open(tn__gz_reader *s, tn__source *from);

/* Up to n bytes; *got < n only where the data ends. For gzip this reads on to the stream's end mark and checksum before
 * it says so. */
TN_MUST_USE tn_status tn__gz_reader_read(tn__gz_reader *s, void *to, size_t n, size_t *got);

void tn__gz_reader_close(tn__gz_reader *s);

/* No more bytes than this can come out of the source. */
uint64_t tn__gz_reader_limit(const tn__gz_reader *s);

#endif
