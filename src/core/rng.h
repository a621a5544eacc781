/* core/rng.h: the state of each device's random generator. */
#ifndef TENON_CORE_RNG_H
#define TENON_CORE_RNG_H

#include "core/base.h"
#include <tenon/random.h>

/* Takes 'blocks' Philox blocks from the device's stream: use (seed, offset) .. (seed, offset + blocks - 1). */
tn_rng_state tn__rng_take(tn_device device, uint64_t blocks);

/* Are the device's numbers MT19937's? */
bool tn__rng_is_mt(tn_device device);

/* The CPU's MT19937, for the caller alone until the unlock. */
tn_mt19937 *tn__mt_lock(void);
void tn__mt_unlock(void);

/* n of c categories; sums: their running sums, of doubles (wide) or floats, which need not end with 1 */
void tn__mt_categories(int64_t *out, int64_t n, const void *sums, int64_t c, bool wide);

#endif
