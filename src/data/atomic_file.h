/* data/atomic_file.h: a file that is written whole or not at all.
 *
 * The bytes go to a new file in the same folder; commit brings them to the disk (fsync), gives the file its name
 * (rename, which replaces the old file in one step) and brings that to the disk too. Until then, and whatever fails, the
 * old file is as it was. open, then write any number of times, then commit or abandon; after a failed write only abandon.
 */
#ifndef TENON_DATA_ATOMIC_FILE_H
#define TENON_DATA_ATOMIC_FILE_H

#include "core/base.h"
#include <limits.h>

typedef struct tn__atomic_file {
    const char *path;      /* as the caller spells it, for messages; borrowed */
    char target[PATH_MAX]; /* what is replaced: symbolic links are followed */
    const char *name;      /* its last part */
    char temp[64];         /* the new file's name in that folder */
    int folder, fd;
    uint64_t at; /* bytes written */
} tn__atomic_file;

/* TN_EIO, naming path and reason, if the folder cannot be written to, or path is a folder, a device, or write-protected. */
TN_MUST_USE tn_status tn__atomic_open(tn__atomic_file *f, const char *path);
TN_MUST_USE tn_status tn__atomic_write(tn__atomic_file *f, const void *data, size_t n);
/* Ends with f closed, on error too. */
TN_MUST_USE tn_status tn__atomic_commit(tn__atomic_file *f);
/* Removes the new file. */
void tn__atomic_abandon(tn__atomic_file *f);

#endif
