/* core/parallel.h: the one door to threads. One pool for the process; the calling thread works too. */
#ifndef TENON_CORE_PARALLEL_H
#define TENON_CORE_PARALLEL_H

#include "core/base.h"

typedef void (*tn__body)(void *ctx, int64_t begin, int64_t end);

/* Runs body over [0, n) in chunks of 'grain' items (the last may be shorter). Where the chunks begin depends on n and
 * grain alone, never on how many threads there are, so results do not either. Runs serially inside another body, in a
 * second thread while the pool is taken, and where there is one chunk. */
void tn__parallel_for(int64_t n, int64_t grain, tn__body body, void *ctx);

/* Runs task(ctx, 0) here and task(ctx, i), 0 < i < n, each on a thread of its own, which may wait for others and for devices
 * (a body of tn__parallel_for may not). Returns when all have ended. The threads are kept for the next time; where one cannot
 * be had, its task runs here. */
typedef void (*tn__task)(void *ctx, int64_t i);
void tn__run_tasks(int64_t n, tn__task task, void *ctx);

/* No thread of either kind is left; none has work. */
void tn__parallel_end(void);

enum { TN__MAX_THREADS = 256 };

/* Threads that a parallel_for may use, the caller's included. */
int tn__num_threads(void);

#endif
