/* tenon/memory.h: what a device's memory is used for. */
#ifndef TENON_MEMORY_H
#define TENON_MEMORY_H

#include <tenon/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes, counted for GPUs as PyTorch counts. A peak is the most there was at once since the last reset.
 *
 * On GPUs sizes are rounded: a tensor's block to a multiple of 512 bytes (one float has 512); what the driver is asked for
 * is a segment: 2 MiB for blocks up to 1 MiB, 20 MiB for blocks below 10 MiB, else the block rounded up to 2 MiB. */
typedef struct tn_memory_statistics {
    int64_t allocated, allocated_peak; /* in live tensors */
    int64_t reserved, reserved_peak;   /* held from the system: in tensors or in the cache of free blocks */
    int64_t allocations;               /* taken from the system since the process began */
    /* What follows is 0 for devices that are not CUDA's. */
    int64_t requested, requested_peak; /* what active blocks were asked for with, before rounding */
    int64_t active,
        active_peak; /* in blocks in use: of live tensors, and of released ones that another stream still uses */
    int64_t inactive_split, inactive_split_peak; /* free, in segments of which another part is in use: tn_empty_cache
                                                    cannot return it */
    int64_t segments, segments_peak;             /* how many are held */
    int64_t blocks, blocks_peak;                 /* in live tensors: how many */
    int64_t total_blocks;                        /* tensors' blocks since the process began */
    int64_t releases;                            /* segments returned to the driver since the process began */
    int64_t retries; /* times the driver had too little, the cache was returned to it and it was asked again */
    int64_t ooms;    /* times that did not help: TN_ENOMEM */
} tn_memory_statistics;

/* Statistics of one device; all zero for a device that was never used. Here and in the functions below that return nothing
 * or statistics, a device that is not there is an error to ask for with tn_error_code(); but where there is no GPU at all,
 * asking about one is none: there is nothing to tell. */
TN_API tn_memory_statistics tn_memory_stats(tn_device device);

/* Sets the peaks to the present values. */
TN_API void tn_reset_peak_memory_stats(tn_device device);

/* Returns every cached free block of that device to the system. */
TN_API void tn_empty_cache(tn_device device);

/* ---- GPUs: a device argument may be TN_CUDA(-1) or zero, the current one; TN_EVALUE for other types ---- */

/* The table of torch.cuda.memory_summary(), cut to size - 1 characters, and a '\0'. Returns the length of the whole, as
 * snprintf does; negative, with an error set, if there is no such device. Makes no context. */
TN_API int64_t tn_memory_summary(tn_device device, char *out, size_t size);

/* What the driver says, all processes counted. Either pointer may be NULL. Uses the device (makes its context). */
TN_API tn_status tn_cuda_mem_get_info(tn_device device, int64_t *free_bytes, int64_t *total_bytes) TN_MUST_USE;

/* No more than this share (0 to 1) of the device's memory is reserved from now on; what is reserved already stays. The
 * environment variable TENON_CUDA_MEMORY_LIMIT ("2GiB", "512MiB") caps every device alike; the smaller of both counts. */
TN_API tn_status tn_cuda_set_per_process_memory_fraction(double fraction, tn_device device) TN_MUST_USE;

/* ---- page-locked host memory, from which a GPU copies by itself ---- */

/* Bytes. allocated: in tensors and in copies under way; reserved: with the cache of free blocks. */
typedef struct tn_pinned_statistics {
    int64_t allocated, allocated_peak, reserved, reserved_peak;
    int64_t allocations; /* blocks taken from the driver since the process began */
} tn_pinned_statistics;
TN_API tn_pinned_statistics tn_pinned_memory_stats(void);

/* Returns every free block of pinned memory to the driver; waits for copies that still use one. */
TN_API void tn_empty_pinned_cache(void);

/* ---- what crossed between a GPU and elsewhere ---- */

typedef struct tn_transfer_count {
    int64_t copies, bytes;
} tn_transfer_count;

/* Of one device, since the process began or since the last reset. Pageable memory goes through pinned chunks. */
typedef struct tn_transfer_statistics {
    tn_transfer_count upload_pinned, upload_pageable;     /* from the host */
    tn_transfer_count download_pinned, download_pageable; /* to the host */
    tn_transfer_count peer_out, peer_in;                  /* to and from other GPUs */
    int64_t staged;           /* copies to other GPUs that went through the host, for want of a link to trust */
    int64_t synchronizations; /* times the host waited for the device */
    int64_t launches;         /* kernels, and products of a library */
    int64_t
        own_products; /* products of floating types that cuBLAS would compute, by Tenon's own kernels: it is not there */
} tn_transfer_statistics;

/* All zero for a device that is none of CUDA. */
TN_API tn_transfer_statistics tn_transfer_stats(tn_device device);
TN_API void tn_reset_transfer_stats(tn_device device);

/* ---- what a training step will need, before anything is allocated ---- */

/* Bytes. The peaks count everything, parameters and input too. */
typedef struct tn_memory_needs {
    int64_t parameters, buffers; /* of the module; what is shared counts once */
    int64_t input;               /* and the target of the loss */
    int64_t activations;         /* of a training step: what is kept between forward and backward */
    int64_t gradients, optimizer_state;
    int64_t training_peak;  /* of a step: zero_grad, forward, loss, backward, the optimiser's step */
    int64_t inference_peak; /* of a forward with recording off */
} tn_memory_needs;

typedef struct tn_memory_plan_options {
    size_t struct_size;
    const char *site;
    tn_dtype dtype;        /* of the input; the default dtype */
    tn_device device;      /* whose rounding of sizes counts: a GPU's allocator, 512 bytes; the module's own */
    const char *optimizer; /* "sgd", "adam", "adamw"; NULL: none */
    double momentum;       /* of sgd */
    const char *loss; /* "mean" of the output (NULL), "mse_loss" or "cross_entropy" (class indices) with a target */
} tn_memory_plan_options;

/* What the module needs for an input of that shape. It is found by running the module's own forward, backward and optimiser on
 * meta: nothing of that size is allocated, and m is as before afterwards (parameters, gradients, mode). Meanwhile m must not
 * be used by another thread. A forward that reads elements (tn_item, tn_data) fails on meta.
 * What a kernel borrows while it runs (partial sums, a library's workspace), and what the cache of a GPU's allocator loses
 * to splitting, are not in it. */
TN_API tn_status tn_memory_plan_opt(tn_module *m, const tn_dims *input, tn_memory_needs *out,
                                    const tn_memory_plan_options *options) TN_MUST_USE;
TN_API tn_status tn_memory_plan(tn_module *m, tn_dims input, tn_memory_needs *out) TN_MUST_USE;

/* Live tensors in the process, views and gradients included. */
TN_API int64_t tn_live_tensors(void);

#ifdef __cplusplus
}
#else
#define tn_memory_plan(...) TN__X_memory_plan(__VA_ARGS__, )
#define TN__X_memory_plan(m_, input_, out_, ...) \
    TN__OPTIONS(TN__BARE(#input_) && TN__NAMED6(__VA_ARGS__), tn_memory_plan_opt, \
                "tn_memory_plan(m, input, out, .dtype, .device, .optimizer, .momentum, .loss)", \
                ".device = TN_CUDA(0)") \
    ((m_), TN__DIMS(input_), (out_), &(tn_memory_plan_options){TN__SITE(tn_memory_plan_options), __VA_ARGS__})
#endif
#endif
