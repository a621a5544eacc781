/* data/dataset.h: a dataset of the user's: items by callbacks, batches made of them. And samplers, which say which rows come.
 *
 * Callbacks run inside a barrier scope, with recording off and the CPU as default device, in whatever thread makes batches.
 * What they say is checked: nothing that is not a CPU tensor comes out of here.
 */
#ifndef TENON_DATA_DATASET_H
#define TENON_DATA_DATASET_H

#include "core/base.h"
#include <tenon/data.h>

typedef struct tn__dataset tn__dataset;

/* Which items make a batch: place i of the epoch is row order[i], or i where there is no order. */
typedef struct tn__batch {
    const int64_t *order;
    int64_t begin, count;
    uint64_t seed; /* of the loader */
    int64_t epoch;
    bool pinned;
} tn__batch;

/* A copy of the callbacks. NULL with an error set, and then close is not called. */
tn__dataset *tn__dataset_new(const tn_dataset *callbacks, int32_t workers);
/* Calls close, or not: it is still somebody else's. NULL is fine. */
void tn__dataset_free(tn__dataset *d);
void tn__dataset_drop(tn__dataset *d);

/* -1 with an error set. */
int64_t tn__dataset_length(const tn__dataset *d);
/* How many tensors a batch has. */
size_t tn__dataset_tensors(const tn__dataset *d);

/* out[0 .. tensors) are new, in no scope, nobody else's; on error none is left. */
TN_MUST_USE tn_status tn__dataset_batch(const tn__dataset *d, const tn__batch *b, tn_tensor **out);

/* Asks the sampler for the n rows of an epoch, and checks that they are there. */
TN_MUST_USE tn_status tn__sampler_order(const tn_sampler *s, uint64_t seed, int64_t epoch, int64_t rows, int64_t *out,
                                        int64_t n);

#endif
