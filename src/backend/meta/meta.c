/* The meta backend: shapes without bytes. */
#include "backend/meta/meta.h"
#include "core/error.h"
#include "core/meter.h"
#include "core/thread.h"

static int32_t count(void)
{
    return 1;
}

static void info(int32_t index, tn_device_info *out)
{
    (void)index;
    (void)out;
}

static void release(tn__storage *s)
{
    tn__meter_give(s->ctx, s->nbytes);
}

static tn__storage *allocate(tn_device device, size_t nbytes)
{
    tn__meter *meter = tn__self()->meter;
    tn__storage *s = tn__storage_new(device, NULL, nbytes, meter ? release : NULL);
    if (!s)
        return tn__fail(TN_ENOMEM, "out of memory for a storage's description");
    if (meter) {
        s->ctx = meter;
        tn__meter_take(meter, nbytes);
    }
    return s;
}

static tn_status elementwise(tn_device device, tn__op_id op, const tn__iter *it, tn_dtype compute)
{
    (void)device;
    (void)op;
    (void)it;
    (void)compute;
    return TN_OK;
}

static tn_status copy(tn_device device, const tn__iter *it)
{
    (void)device;
    (void)it;
    return TN_OK;
}

static tn_status nothing(const tn__launch *l)
{
    (void)l;
    return TN_OK;
}

static tn_status synchronize(tn_device device)
{
    (void)device;
    return TN_OK;
}

static tn_memory_statistics memory_stats(tn_device device)
{
    (void)device;
    return (tn_memory_statistics){0};
}

static void no_effect(tn_device device)
{
    (void)device;
}

static const tn__kernel kernels[TN__ROWS] = {
#define KERNEL(op, kernel)     [TN__OP_##op] = nothing,
#define CPU_KERNEL(op, kernel) [TN__OP_##op] = nothing,
#include "op/kernels.def"
};

const tn__backend tn__meta_backend = {
    .name = "meta",
    .word = "cpu", /* its errors are the CPU's */
    .type = TN_DEVICE_META,
    .count = count,
    .info = info,
    .allocate = allocate,
    .elementwise = elementwise,
    .copy = copy,
    .kernels = kernels,
    .synchronize = synchronize,
    .memory_stats = memory_stats,
    .reset_peak = no_effect,
    .empty_cache = no_effect,
};
