/* tenon/random.h: the random number generators, one per device: Philox 4x32-10, which gives the same numbers for the same
 * seed on every device; on the CPU MT19937 in its place where tn_use_mt19937 asks for PyTorch's numbers. Neither depends on
 * the number of threads.
 */
#ifndef TENON_RANDOM_H
#define TENON_RANDOM_H

#include <tenon/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Seeds the generators of every device: torch.manual_seed. */
TN_API void tn_manual_seed(uint64_t seed);

/* Seeds the generator of the current GPU, or those of all GPUs. No error where there is none. */
TN_API void tn_cuda_manual_seed(uint64_t seed);
TN_API void tn_cuda_manual_seed_all(uint64_t seed);

/* Seeds the generators of every device from the system's entropy; returns the seed. */
TN_API uint64_t tn_seed(void);

/* The seed of the CPU generator. */
TN_API uint64_t tn_initial_seed(void);

/* All there is to a generator: what it was seeded with, and how many blocks of four 32-bit numbers it has given. */
typedef struct tn_rng_state {
    uint64_t seed, offset;
} tn_rng_state;
TN_API tn_rng_state tn_get_rng_state(tn_device device);
TN_API tn_status tn_set_rng_state(tn_device device, tn_rng_state state) TN_MUST_USE;

/* From now on the CPU's numbers are those of PyTorch's CPU for the same seed (true), or Philox's (false; at first). They are
 * bit-equal where no transcendental function makes them, else as near as the function. The Python package says true. */
TN_API void tn_use_mt19937(bool on);
TN_API bool tn_uses_mt19937(void);

/* All there is to an MT19937, in PyTorch's words: 'left' - 1 of the 624 words are not given yet, the first of them is
 * state[next]. Of normal numbers, which come in pairs, the second may wait. */
typedef struct tn_mt19937 {
    uint64_t seed;
    int32_t left;
    uint32_t next;
    bool has_normal;
    double normal;
    uint32_t state[624];
} tn_mt19937;
TN_API void tn_mt19937_seed(tn_mt19937 *g, uint64_t seed);
TN_API void tn_get_mt19937(tn_mt19937 *g);
TN_API void tn_set_mt19937(const tn_mt19937 *g);

#ifdef __cplusplus
}
#endif
#endif
