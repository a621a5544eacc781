/* backend/gpu/run.h: what launches share: how much is launched, how the tensor iterator gets into kernels. */
#ifndef TENON_BACKEND_GPU_RUN_H
#define TENON_BACKEND_GPU_RUN_H

#include "backend/gpu/gpu.h"

typedef int32_t i32;
typedef uint32_t u32;
typedef int64_t i64;
typedef uint64_t u64;
#include "backend/gpu/kernels/layout.h"

_Static_assert(TN_RANK == TN_MAX_DIMS && TN_OPERANDS == TN__MAX_OPERANDS,
               "the iterator holds every tensor's dimensions");
enum { TN__GPU_LOCAL = TN_ITEMS };

/* Groups of TN__GPU_LOCAL for so many items: enough to fill the device some times over, not more; kernels loop. So are quicker:
 * what stores little for an item, for a multiprocessor begins 9 groups in a microsecond, and what goes through strided memory,
 * where the places that an item has under way, a grid apart, lie nearer to each other. */
static inline uint32_t tn__gpu_groups(const tn__gpu_limits *limits, int64_t items)
{
    return (uint32_t)TN_MAX(TN_MIN(tn__div_up(items, TN__GPU_LOCAL), (int64_t)limits->multiprocessors * 32), 1);
}

/* The same for so many items all at once, up to what a grid can have: on an H200 items that go on by the size of a grid of 32
 * groups for each multiprocessor read and write 1 GiB at 0.93 of the speed of these (add 776 and 736 us, exp 539 and 502). */
static inline uint32_t tn__gpu_all_groups(int64_t items)
{
    return (uint32_t)TN_MAX(TN_MIN(tn__div_up(items, TN__GPU_LOCAL), INT32_MAX), 1);
}

static inline bool tn__gpu_aligned(const void *p, size_t bytes)
{
    return (uintptr_t)p % bytes == 0;
}

/* Operand k of an iterator is a number, not memory of the device. */
static inline bool tn__gpu_is_number(const tn__iter *it, int32_t k)
{
    const char *p = it->operand[k].data, *from = (const char *)it->number;
    return p >= from && p < from + sizeof it->number;
}

/* Elements and offsets of an iterator that kernels count in 32 bits. */
enum { TN__GPU_INDEX_MAX = INT32_MAX };

typedef tn_status (*tn__gpu_part)(void *ctx, const tn__iter *part);
/* Calls body for the iterator, cut into parts of which elements and offsets count up to 'most'. Numbers of a part still lie
 * in the whole one. */
TN_MUST_USE tn_status tn__gpu_in_parts(const tn__iter *it, int64_t most, tn__gpu_part body, void *ctx);

/* The iterator for kernels. width: elements that a work item takes at once, of which dimension 0 is a multiple. */
void tn__gpu_iter_of(tn_gpu_iter *w, const tn__iter *it, int32_t width);

void tn__gpu_magic(uint32_t divisor, uint32_t *magic, uint32_t *shift);

/* May dimension 0 be taken in vectors of that many elements? Each operand is dense there, or an input with one value; its
 * vectors are aligned to align[k] bytes. */
bool tn__gpu_in_vectors(const tn__iter *it, int32_t width, const size_t *align);

/* out = in, both views, converting; out filled with bits of its dtype; out set to zero. */
TN_MUST_USE tn_status tn__gpu_copy_as(tn_device device, const tn__view *out, const tn__view *in, const char *label);
TN_MUST_USE tn_status tn__gpu_fill_view(tn_device device, const tn__view *out, uint64_t bits, const char *label);
/* Operand 0 of an iterator. */
TN_MUST_USE tn_status tn__gpu_fill_iter(tn_device device, const tn__iter *it, uint64_t bits, const char *label);

#endif
