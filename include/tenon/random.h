/* tenon/random.h: the random number generators: Philox 4x32-10, one per device.
 *
 * The same seed gives the same numbers on every device, with any number of threads. It does not give PyTorch's numbers.
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

#ifdef __cplusplus
}
#endif
#endif
