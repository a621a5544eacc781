/* core/alloc.h: the one allocation door of the library, and the cache of free blocks behind it.
 *
 * tn__block_get/put serve everything: tensor structs, graph nodes, CPU tensor memory. Blocks are 64-byte aligned and
 * freed with the size they were asked for. Small ones (<= 64 KiB) come from per-thread free lists without a lock; large
 * ones from shared lists; only a miss passes the door to the system. Tests can make the n-th passage through the door
 * fail; with TENON_NO_CACHE=1 (and always under AddressSanitizer) every request passes it.
 */
#ifndef TENON_CORE_ALLOC_H
#define TENON_CORE_ALLOC_H

#include "core/base.h"
#include "core/thread.h"
#include <tenon/memory.h>

#define TN__SMALL_MAX 65536

/* A 64-byte aligned block, or NULL when memory is out. Sets no error: the caller knows what it was for. */
void *tn__block_get(size_t bytes) __attribute__((malloc, alloc_size(1)));
void tn__block_put(void *block, size_t bytes);

/* The same, zero-filled. */
void *tn__block_zero(size_t bytes) __attribute__((malloc, alloc_size(1)));

/* Grows an array of items: *cap becomes at least need. False when memory is out; the array is as before. */
TN_MUST_USE bool tn__grow(void *array, size_t item, int64_t *cap, int64_t need);

/* A copy of text, freed with tn__text_put; NULL when memory is out. */
char *tn__text_get(const char *text);
void tn__text_put(char *text);

/* Tests: the nth passage through the door from now on fails, once; 0 switches that off. */
void tn__door_fail(int64_t nth);
/* Passages through the door so far, and blocks out now. */
int64_t tn__door_count(void);
int64_t tn__door_live(void);

void tn__cache_init(tn__thread *t);
void tn__cache_flush(tn__thread *t);
/* All free blocks go back to the system; no thread has any of its own. */
void tn__heap_end(void);

tn_memory_statistics tn__cpu_memory_stats(void);
void tn__cpu_memory_reset_peak(void);
void tn__cpu_empty_cache(void);
/* Tensor memory is counted apart from the library's own structs. */
void tn__cpu_memory_count(int64_t bytes);

#endif
