/* core/memory_format.h: the orders of dimensions in memory that have names, in shapes and strides. */
#ifndef TENON_CORE_MEMORY_FORMAT_H
#define TENON_CORE_MEMORY_FORMAT_H

#include "core/error.h"

/* The format that a tensor's strides show, which the results of convolution, pooling and normalisation keep:
 * TN_CHANNELS_LAST, TN_CHANNELS_LAST_3D, else TN_CONTIGUOUS_FORMAT. PyTorch's suggest_memory_format: gaps do not count, and the
 * strides of dimensions of one element decide where the others could be either. */
tn_memory_format tn__suggest_format(const int64_t *shape, const int64_t *stride, int32_t ndim);

/* Does it lie in that format, without gaps? Strides of dimensions of one element do not count. False where the format has
 * another rank. */
bool tn__is_in_format(tn_memory_format format, const int64_t *shape, const int64_t *stride, int32_t ndim);

/* How many dimensions it takes; 0: any number. */
static inline int32_t tn__format_rank(tn_memory_format format)
{
    return format == TN_CHANNELS_LAST ? 4 : format == TN_CHANNELS_LAST_3D ? 5 : 0;
}

/* Is there such a format, of that many dimensions? */
TN_MUST_USE tn_status tn__check_format(tn_memory_format format, int32_t ndim);

/* Strides of a new tensor in that format, whose rank is ndim. */
void tn__format_strides(tn_memory_format format, const int64_t *shape, int32_t ndim, int64_t *stride);

#endif
