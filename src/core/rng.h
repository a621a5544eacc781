/* core/rng.h: the state of each device's random generator. */
#ifndef TENON_CORE_RNG_H
#define TENON_CORE_RNG_H

#include "core/base.h"
#include <tenon/random.h>

/* Takes 'blocks' Philox blocks from the device's stream: use (seed, offset) .. (seed, offset + blocks - 1). */
tn_rng_state tn__rng_take(tn_device device, uint64_t blocks);

#endif
