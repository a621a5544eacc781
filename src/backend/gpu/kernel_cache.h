/* backend/gpu/kernel_cache.h: compiled kernels on disk: small files in one folder that is the user's alone.
 *
 * TENON_CACHE_DIR ('off': none), else $XDG_CACHE_HOME/tenon, else ~/.cache/tenon where there is a home. The folder holds
 * code that is run, so it must belong to the user and be writable by nobody else: another one is not used at all. A cache
 * that cannot be read or written is no error, but users are told: what it would have held is made anew. Files appear whole
 * (written beside, then renamed) and are believed only if they are regular files that carry their own key, length and
 * checksum. */
#ifndef TENON_BACKEND_GPU_KERNEL_CACHE_H
#define TENON_BACKEND_GPU_KERNEL_CACHE_H

#include "core/base.h"

/* What a file is found by: 128 bits for its name, 64 more and the length of the text inside, to be sure. */
typedef struct tn__cache_key {
    uint64_t name[2], check, length;
} tn__cache_key;

/* Of texts that follow each other. */
tn__cache_key tn__cache_key_of(const char *const *texts, size_t n);

/* The file's bytes, from tn__block_get. False if there is none that can be believed. */
bool tn__cache_load(const tn__cache_key *key, void **data, size_t *size);
/* Tries to keep them. False where they could not be: users are warned of it once (no lock is held), but where they want none. */
bool tn__cache_store(const tn__cache_key *key, const void *data, size_t size);

/* The folder's name, as snprintf writes it; 0: there is none that may be used. */
int64_t tn__cache_folder(char *out, size_t size);

#endif
