/* backend/gpu/kernel_binary.h: binaries of units: from disk or from the compiler, once in a process whatever threads and devices
 * ask for them; and how threads wait for what one of them makes. */
#ifndef TENON_BACKEND_GPU_KERNEL_BINARY_H
#define TENON_BACKEND_GPU_KERNEL_BINARY_H

#include "backend/gpu/gpu.h"
#include "backend/gpu/kernel_cache.h"
#include <pthread.h>

/* ---- what one thread makes while others wait ---- */

/* Its fields belong to the lock that is given with it. */
typedef struct tn__making tn__making;

/* For the thread that makes it, which ends or puts it. NULL with an error set. */
tn__making *tn__making_begin(void);
/* It was not begun after all: nobody waits. */
void tn__making_put(tn__making *m);
/* It is made, or the thread's error says why not. Under the lock, which all that wait for it hold. */
void tn__making_end(tn__making *m, tn_status e);
/* Under the lock, which is let go meanwhile. TN_OK: look again; else the error of who made it is this thread's as well. */
TN_MUST_USE tn_status tn__making_wait(tn__making *m, pthread_mutex_t *lock);

/* ---- binaries ---- */

/* A unit's text, for a device. */
typedef struct tn__binary_source {
    tn_device device;
    const char *text, *name;
    tn__cache_key key;
} tn__binary_source;

/* Loads it on the device: from the disk, else compiled; then it is kept on disk or, where that cannot be, in memory. Where
 * another thread is at it already, this one waits for that. No lock is held. */
TN_MUST_USE tn_status tn__binary_load(const tn__binary_source *source, void **module);
/* The library goes: what is kept in memory is freed. */
void tn__binaries_end(void);

#endif
