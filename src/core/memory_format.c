/* Memory formats: PyTorch's rules, to the letter, for programs see strides and formats decide which kernels run. */
#include "core/memory_format.h"
#include "core/shape.h"

/* Dimensions from the fastest: channels, then the picture from its last dimension on, then the batch. */
static int32_t dimension(int32_t i, int32_t ndim)
{
    return i == 0 ? 1 : i == ndim - 1 ? 0 : ndim - i;
}

/* Strides that grow in that order. Of [n, 1, 1, 1] and pictures of one channel whose channel has the stride that the batch
 * counts by, nothing tells the two formats apart: they are row-major. */
static bool grows_from_channels(const int64_t *shape, const int64_t *stride, int32_t ndim)
{
    int64_t least = 0;
    if (stride[1] == 0)
        return false;
    for (int32_t i = 0; i < ndim; i++) {
        const int32_t d = dimension(i, ndim);
        if (shape[d] == 0 || stride[d] < least || (d == 0 && least == stride[1]))
            return false;
        least = stride[d] * TN_MAX(shape[d], 1);
    }
    return true;
}

tn_status tn__check_format(tn_memory_format format, int32_t ndim)
{
    const int32_t rank = tn__format_rank(format);
    if (format < TN_MEMORY_FORMAT_DEFAULT || format > TN_CHANNELS_LAST_3D)
        return tn__error(TN_EINVAL, "%d is no memory format", (int)format);
    if (rank && rank != ndim)
        return tn__error(TN_EINVAL, "required rank %d tensor to use channels_last%s format", (int)rank,
                         rank == 4 ? "" : "_3d");
    return TN_OK;
}

tn_memory_format tn__suggest_format(const int64_t *shape, const int64_t *stride, int32_t ndim)
{
    if ((ndim != 4 && ndim != 5) || !grows_from_channels(shape, stride, ndim))
        return TN_CONTIGUOUS_FORMAT;
    return ndim == 4 ? TN_CHANNELS_LAST : TN_CHANNELS_LAST_3D;
}

bool tn__is_in_format(tn_memory_format format, const int64_t *shape, const int64_t *stride, int32_t ndim)
{
    int64_t expect = 1;
    const int32_t rank = tn__format_rank(format);
    if (!rank)
        return tn__is_contiguous(shape, stride, ndim);
    if (rank != ndim)
        return false;
    for (int32_t i = 0; i < ndim; i++) {
        const int32_t d = dimension(i, ndim);
        if (shape[d] != 1 && stride[d] != expect)
            return false;
        expect *= shape[d];
    }
    return true;
}

void tn__format_strides(tn_memory_format format, const int64_t *shape, int32_t ndim, int64_t *stride)
{
    int64_t step = 1;
    if (!tn__format_rank(format)) {
        tn__contiguous_strides(shape, ndim, stride);
        return;
    }
    for (int32_t i = 0; i < ndim; i++) {
        const int32_t d = dimension(i, ndim);
        stride[d] = step;
        step *= shape[d]; /* 0 beyond a dimension of none, as PyTorch has it */
    }
}
