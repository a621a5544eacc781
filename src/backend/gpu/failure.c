/* From results to errors: the driver's text and PyTorch's first, then what Tenon knows; after some of them the device is
 * dead. And indices out of range, which kernels report on their own. */
#include "backend/cuda/cuda.h"
#include "core/env.h"
#include "core/error.h"
#include "op/infer.h"
#include <stdio.h>

const char *tn__cuda_result_text(tn__cu_result r)
{
    const char *text = NULL;
    return tn__cu.get_error_string && tn__cu.get_error_string(r, &text) == TN__CU_SUCCESS && text ? text
                                                                                                  : "unknown error";
}

void tn__cuda_report(char *text, size_t size)
{
    *text = '\0';
    if (tn__cu.fake_report)
        tn__cu.fake_report(text, size);
}

/* After these the context is lost: every later call in it gives the same. */
static bool is_sticky(tn__cu_result r)
{
    switch (r) {
    case TN__CU_ECC_UNCORRECTABLE:
    case TN__CU_CONTAINED:
    case TN__CU_ILLEGAL_ADDRESS:
    case TN__CU_LAUNCH_TIMEOUT:
    case TN__CU_CONTEXT_IS_DESTROYED:
    case TN__CU_ASSERT:
    case TN__CU_HARDWARE_STACK_ERROR:
    case TN__CU_ILLEGAL_INSTRUCTION:
    case TN__CU_MISALIGNED_ADDRESS:
    case TN__CU_INVALID_ADDRESS_SPACE:
    case TN__CU_INVALID_PC:
    case TN__CU_LAUNCH_FAILED:
    case TN__CU_TENSOR_MEMORY_LEAK:
    case TN__CU_MPS_CLIENT_TERMINATED:
    case TN__CU_EXTERNAL_DEVICE:
    case TN__CU_UNKNOWN: return true;
    default: return false;
    }
}

bool tn__cuda_launches_block(void)
{
    static _Atomic int known; /* 0: not read yet, 1: no, 2: yes */
    int k = atomic_load_explicit(&known, memory_order_relaxed);
    if (TN_UNLIKELY(!k)) {
        k = tn__env_flag("CUDA_LAUNCH_BLOCKING") ? 2 : 1;
        atomic_store(&known, k);
    }
    return k == 2;
}

tn_status tn__cuda_dead(const tn__cuda_device *dev)
{
    char all[128];
    tn__cuda_siblings_str(dev, all, sizeof all);
    return tn__error(
        TN_EDEVICE,
        "%s\n  cuda:%d is out of use since then: tn_cuda_reset(TN_CUDA(%d)) revives it, without its tensors; "
        "other devices and the cpu go on%s%s%s",
        dev->death, (int)dev->index, (int)dev->index, *all ? "\n  " : "", all,
        *all ? " are one GPU: what happens to one of them in this way happens to all" : "");
}

/* What killed it is written once; 'ready' goes first, so that nobody is on the fast path any more. */
static void kill(tn__cuda_device *dev, const char *death)
{
    pthread_mutex_lock(&dev->lock);
    if (!atomic_load(&dev->dead)) {
        atomic_store(&dev->ready, false);
        snprintf(dev->death, sizeof dev->death, "%s", death);
        atomic_store(&dev->dead, true);
    }
    pthread_mutex_unlock(&dev->lock);
}

/* The context is lost, and with it all devices that share it. */
static tn_status die(tn__cuda_device *dev, tn__cu_result r, const char *what, const char *report)
{
    static const char async[] = "\nCUDA kernel errors might be asynchronously reported at some other API call.\n"
                                "For debugging consider passing CUDA_LAUNCH_BLOCKING=1";
    char unfinished[640], death[sizeof dev->death];
    bool blocking = tn__cuda_launches_block();
    tn__cuda_unfinished(dev, unfinished, sizeof unfinished);
    snprintf(death, sizeof death, "CUDA error: %s%s\n  seen by %s on cuda:%d%s%s%s%s", tn__cuda_result_text(r),
             blocking ? "" : async, what, (int)dev->index, *report ? "\n  " : "", report,
             blocking || !*unfinished ? "" : "\n  launched and not known to be done: ", blocking ? "" : unfinished);
    for (tn__cuda_device *s = tn__cuda_slot(dev->first); s; s = tn__cuda_sibling(s))
        kill(s, death);
    pthread_mutex_lock(&dev->lock);
    tn_status e = tn__cuda_dead(dev);
    pthread_mutex_unlock(&dev->lock);
    return e;
}

tn_status tn__cuda_plain_failure(const tn__cuda_device *dev, tn__cu_result r, const char *what, const char *report)
{
    tn_status code = r == TN__CU_OUT_OF_MEMORY ? TN_ENOMEM : TN_EDEVICE;
    return tn__error(code, "CUDA error: %s\n  in %s on cuda:%d%s%s", tn__cuda_result_text(r), what,
                     dev ? (int)dev->index : -1, *report ? "\n  " : "", report);
}

tn_status tn__cuda_failed(tn__cuda_device *dev, tn__cu_result result, const char *what)
{
    char report[1024];
    if (result == TN__CUDA_INTERRUPTED) /* the device is well; wait.c has said what happened */
        return tn_error_code();
    tn__cuda_report(report, sizeof report);
    return dev && is_sticky(result) ? die(dev, result, what, report)
                                    : tn__cuda_plain_failure(dev, result, what, report);
}

tn_status tn__cuda_take_fault(tn__cuda_device *dev)
{
    uint64_t *word = *dev->fault;
    if (TN_LIKELY(!__atomic_load_n(&word[0], __ATOMIC_ACQUIRE)))
        return TN_OK;
    int64_t index = (int64_t)__atomic_load_n(&word[1], __ATOMIC_RELAXED);
    int64_t size = (int64_t)__atomic_load_n(&word[2], __ATOMIC_RELAXED);
    uint64_t op = __atomic_exchange_n(&word[0], 0, __ATOMIC_ACQ_REL);
    if (!op)
        return TN_OK;
    return tn__error(
        TN_EINDEX,
        "index %lld is out of bounds for dimension with size %lld\n  seen by %s on cuda:%d, which left out "
        "that element; the device stays usable",
        (long long)index, (long long)size, op <= TN__OPS ? tn__op_name((tn__op_id)(op - 1)) : "a kernel",
        (int)dev->index);
}
