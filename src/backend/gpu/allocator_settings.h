/* backend/gpu/allocator_settings.h: how the caching allocator cuts, keeps and gives back memory: what PyTorch's documentation of
 * PYTORCH_CUDA_ALLOC_CONF says (docs.pytorch.org/docs/stable/notes/cuda.html). */
#ifndef TENON_BACKEND_GPU_ALLOCATOR_SETTINGS_H
#define TENON_BACKEND_GPU_ALLOCATOR_SETTINGS_H

#include "core/base.h"

enum { TN__GPU_INTERVALS = 16 };

typedef struct tn__gpu_settings {
    size_t max_split;    /* bytes: blocks from that size on are not split; SIZE_MAX: all are */
    size_t max_rounding; /* bytes: and they serve requests that are so much smaller at most */
    double gc_threshold; /* the share of what may be held above which old free segments are given back; 0: never */
    bool expandable;     /* segments grow */
    bool rounds;         /* some request is rounded by divisions: */
    /* [i]: of requests of 2^i MiB up to twice that, the first also of smaller ones, the last of larger: so many steps between
     * two powers of two; 0, 1: multiples of 512 bytes as ever */
    uint32_t divisions[TN__GPU_INTERVALS];
} tn__gpu_settings;

/* Reads the text, which is written as PyTorch's variable is. False: 'fault' says why, and out is as where nothing is said. */
bool tn__gpu_settings_parse(const char *text, tn__gpu_settings *out, char *fault, size_t size);
/* Those of the environment; where it is not understood, as where nothing is said. */
const tn__gpu_settings *tn__gpu_settings_now(void);
/* What is not understood of it, as an error: TN_EINVAL. */
tn_status tn__gpu_settings_check(void);
/* A request rounded up by that many divisions. */
size_t tn__gpu_round_to_division(size_t bytes, size_t divisions);

static inline size_t tn__gpu_divisions_of(const tn__gpu_settings *s, size_t bytes)
{
    const int power = 63 - __builtin_clzll((unsigned long long)bytes | 1) - 20;
    return s->divisions[TN_MIN(TN_MAX(power, 0), TN__GPU_INTERVALS - 1)];
}

#endif
