/* fakegpu/shadow.h: what each byte that a launch touches has seen of it: who wrote it, who read it, and which barrier was last.
 * So two work items that meet there with nothing between them are found, whether or not it made a difference this time, and so
 * are accesses outside of every argument.
 *
 * Two accesses of different items, one of them a write, one of them not atomic, must be of one group and have a barrier between
 * them: for local memory any, for global memory BARRIER_ALL (OpenCL's barrier orders the memory it names); of one warp,
 * SYNC_WARP.
 * A shuffle orders no memory: CUDA says so of __shfl_sync. */
#ifndef TENON_FAKEGPU_SHADOW_H
#define TENON_FAKEGPU_SHADOW_H

#include "fakegpu/dialect_items.h"
#include "fakegpu/fake.h"

typedef struct fake_shadow fake_shadow;

/* Of one thread, for one launch after another. NULL: no memory. */
fake_shadow *fake_shadow_new(void);
void fake_shadow_free(fake_shadow *s);

/* A launch begins: 'memory' is where its groups' local memory is, extent[i] what its i-th argument may reach (NULL: nothing is
 * known). False: no memory; nothing is to be ended. */
bool fake_shadow_launch(fake_shadow *s, const fake_kernel *kernel, const struct tn_items *items, const char *memory,
                        const fake_extent *extent);
void fake_shadow_end(fake_shadow *s);

/* Its group of this number begins. */
void fake_shadow_group(fake_shadow *s, uint64_t number);
/* All items have met. all: BARRIER_ALL. */
void fake_shadow_barrier(fake_shadow *s, bool all);
void fake_shadow_warp(fake_shadow *s, int warp);

/* An item of the group touches memory; how: TN_READ, TN_WRITE or TN_ATOMIC, and TN_ALIGNED. Gives what is wrong with it, and says
 * so in 'why'. */
tn__cu_result fake_shadow_access(fake_shadow *s, int item, const char *at, size_t bytes, int how, char *why,
                                 size_t size);

#endif
