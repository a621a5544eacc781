/* Products of floating types, by cuBLAS. Row-major matrices are what cuBLAS calls transposed: c = a @ b is asked for as
 * c^T = b^T @ a^T, which only swaps the operands.
 *
 * One handle for each device, behind a lock: a call only queues work. The handle is told its stream when that changes, which
 * also gives it back its own workspaces; these are not the same in every run where streams run side by side, so with
 * tn_use_deterministic_algorithms each stream gets one that stays its own. */
#include "backend/cuda/cuda.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/settings.h"
#include "core/warning.h"
#include <stdio.h>

enum { WORKSPACE = 8 << 20, NOT_INITIALIZED = 1, ALLOC_FAILED = 3, ARCH_MISMATCH = 8, NOT_SUPPORTED = 15 };

typedef struct workspace {
    struct workspace *next;
    uint32_t stream;
    tn__storage *memory;
} workspace;

typedef struct library {
    pthread_mutex_t lock;
    tn__cublas_handle handle;
    uint32_t stream; /* the one it was told last; UINT32_MAX: none yet */
    bool fixed;      /* with a workspace of ours */
    workspace *workspaces;
} library;

/* ---- the handle ---- */

static tn_status failed(tn__gpu_device *dev, unsigned status, const char *call, const char *label)
{
    char report[1024];
    /* a dead device is the true cause of most of these: it says so itself */
    tn__cu_result r = tn__cu.stream_query(tn__gpu_current(dev)->handle);
    if (r != TN__CU_SUCCESS && r != TN__CU_NOT_READY)
        return tn__gpu_failed(dev, tn__cuda_result(r), label);
    tn__cuda_report(report, sizeof report);
    return tn__error(status == ALLOC_FAILED ? TN_ENOMEM : TN_EDEVICE,
                     "CUDA error: cuBLAS status %u%s when calling `%s`\n  in %s on %s%s%s", status,
                     status == ALLOC_FAILED ? " (too little memory)" : "", call, label, tn_device_text(dev->device).s,
                     *report ? "\n  " : "", report);
}

static tn_status make_handle(tn__gpu_device *dev, library *l, const char *label)
{
    const tn__cublas_functions *cublas = tn__cublas();
    unsigned status = cublas->create(&l->handle);
    if (status == ALLOC_FAILED || status == NOT_INITIALIZED) { /* it needs memory beside the allocator's */
        tn__gpu_empty_cache(dev->device);
        tn__gpu_empty_siblings(dev);
        status = cublas->create(&l->handle);
    }
    if (status)
        return failed(dev, status, "cublasCreate", label);
    status = cublas->set_math_mode(l->handle, TN__CUBLAS_DEFAULT_MATH | TN__CUBLAS_DISALLOW_REDUCED_PRECISION);
    if (!status)
        return TN_OK;
    cublas->destroy(l->handle);
    return failed(dev, status, "cublasSetMathMode", label);
}

static library *make_library(tn__gpu_device *dev, const char *label)
{
    library *l = tn__block_zero(sizeof *l), *other = NULL;
    if (!l) {
        tn__error_memory("a cuBLAS handle", sizeof *l);
        return NULL;
    }
    if (make_handle(dev, l, label)) {
        tn__block_put(l, sizeof *l);
        return NULL;
    }
    pthread_mutex_init(&l->lock, NULL);
    l->stream = UINT32_MAX;
    pthread_mutex_lock(&dev->lock); /* two threads may have made one */
    if (dev->library)
        other = l;
    else
        __atomic_store_n(&dev->library, l, __ATOMIC_RELEASE);
    l = dev->library;
    pthread_mutex_unlock(&dev->lock);
    if (other) {
        tn__cublas()->destroy(other->handle);
        pthread_mutex_destroy(&other->lock);
        tn__block_put(other, sizeof *other);
    }
    return l;
}

static void workspace_put(workspace *w)
{
    tn__storage_release(w->memory);
    tn__block_put(w, sizeof *w);
}

/* Its context is current; nobody uses the device any more. */
void tn__cublas_forget(tn__gpu_device *dev)
{
    library *l = dev->library;
    if (!l)
        return;
    dev->library = NULL;
    tn__cublas()->destroy(l->handle);
    for (workspace *w = l->workspaces, *next; w; w = next) {
        next = w->next;
        workspace_put(w);
    }
    pthread_mutex_destroy(&l->lock);
    tn__block_put(l, sizeof *l);
}

/* ---- workspaces ---- */

/* Those of streams that are gone: the allocator alone still knows these. */
static void drop_unused(library *l)
{
    for (workspace **at = &l->workspaces; *at;) {
        workspace *w = *at;
        if (atomic_load_explicit(&w->memory->stream->refs, memory_order_acquire) > 1) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        workspace_put(w);
    }
}

/* NULL with an error set. */
static workspace *workspace_of(library *l, const tn__gpu_device *dev, uint32_t stream)
{
    for (workspace *w = l->workspaces; w; w = w->next)
        if (w->stream == stream)
            return w;
    drop_unused(l);
    workspace *w = tn__block_zero(sizeof *w);
    tn__storage *memory = w ? tn__gpu_allocate(dev->device, WORKSPACE) : NULL;
    if (!w)
        tn__error_memory("a workspace", sizeof *w);
    if (!memory) {
        tn__block_put(w, sizeof *w);
        tn__error_append("\n  for the workspace of deterministic products");
        return NULL;
    }
    *w = (workspace){l->workspaces, stream, memory};
    l->workspaces = w;
    return w;
}

/* Under the lock. */
static tn_status tell_stream(tn__gpu_device *dev, library *l, const tn__stream *s, const char *label)
{
    const tn__cublas_functions *cublas = tn__cublas();
    bool fix = tn__deterministic();
    if (TN_LIKELY(l->stream == s->id && l->fixed == fix))
        return TN_OK;
    l->stream = UINT32_MAX;
    unsigned status = cublas->set_stream(l->handle, s->handle);
    const workspace *w = fix && !status ? workspace_of(l, dev, s->id) : NULL;
    if (fix && !status && !w)
        return tn_error_code();
    if (w)
        status = cublas->set_workspace(l->handle, w->memory->data, WORKSPACE);
    if (status)
        return failed(dev, status, "cublasSetStream", label);
    l->stream = s->id;
    l->fixed = fix;
    return TN_OK;
}

/* ---- a product ---- */

typedef struct types {
    unsigned data, compute;
} types;

static bool types_of(tn_dtype d, types *t)
{
    switch (d) {
    case TN_F16: *t = (types){TN__CUBLAS_R_16F, TN__CUBLAS_COMPUTE_32F}; return true;
    case TN_BF16: *t = (types){TN__CUBLAS_R_16BF, TN__CUBLAS_COMPUTE_32F}; return true;
    case TN_F32:
        *t = (types){TN__CUBLAS_R_32F, tn__tf32() ? TN__CUBLAS_COMPUTE_32F_FAST_TF32 : TN__CUBLAS_COMPUTE_32F};
        return true;
    case TN_F64: *t = (types){TN__CUBLAS_R_64F, TN__CUBLAS_COMPUTE_64F}; return true;
    default: return false;
    }
}

/* A leading dimension as cuBLAS wants it; of one row alone any is right. False if there is none. */
static bool leading(int64_t rows, int64_t columns, int64_t ld, int *out)
{
    if (rows <= 1)
        ld = TN_MAX(ld, columns);
    *out = (int)TN_MAX(ld, 1);
    return ld >= columns && ld <= INT32_MAX;
}

static unsigned call(tn__cublas_handle handle, const tn__gpu_gemm_call *p, types t, int lda, int ldb, int ldc)
{
    const tn__cublas_functions *cublas = tn__cublas();
    const float alpha32 = (float)p->alpha, beta32 = (float)p->beta;
    const bool wide = p->dtype == TN_F64;
    const void *alpha = wide ? (const void *)&p->alpha : &alpha32, *beta = wide ? (const void *)&p->beta : &beta32;
    const unsigned op_a = p->a_trans ? TN__CUBLAS_OP_T : TN__CUBLAS_OP_N;
    const unsigned op_b = p->b_trans ? TN__CUBLAS_OP_T : TN__CUBLAS_OP_N;
    const int m = (int)p->m, n = (int)p->n, k = (int)p->k;
    if (p->batch == 1)
        return cublas->gemm_ex(handle, op_b, op_a, n, m, k, alpha, p->b, t.data, ldb, p->a, t.data, lda, beta, p->c,
                               t.data, ldc, t.compute, TN__CUBLAS_GEMM_DEFAULT);
    return cublas->gemm_strided_batched_ex(handle, op_b, op_a, n, m, k, alpha, p->b, t.data, ldb, p->stride_b, p->a,
                                           t.data, lda, p->stride_a, beta, p->c, t.data, ldc, p->stride_c,
                                           (int)p->batch, t.compute, TN__CUBLAS_GEMM_DEFAULT);
}

static bool fits(const tn__gpu_gemm_call *p, types *t, int ld[3])
{
    return types_of(p->dtype, t) && p->m > 0 && p->n > 0 && p->k > 0 && p->batch > 0 && p->m <= INT32_MAX &&
           p->n <= INT32_MAX && p->k <= INT32_MAX && p->batch <= INT32_MAX &&
           leading(p->a_trans ? p->k : p->m, p->a_trans ? p->m : p->k, p->lda, &ld[0]) &&
           leading(p->b_trans ? p->n : p->k, p->b_trans ? p->k : p->n, p->ldb, &ld[1]) &&
           leading(p->m, p->n, p->ldc, &ld[2]);
}

static TN_COLD tn_status do_without(tn_device device, const char *missing)
{
    static _Atomic bool said;
    atomic_fetch_add_explicit(&tn__gpu_slot(device)->ledger->own_products, 1, memory_order_relaxed);
    tn__warn_once(&said, "products of matrices on GPUs are Tenon's own, which are slower than cuBLAS's: %s", missing);
    return TN_EMISSING;
}

tn_status tn__cuda_gemm(tn_device device, const tn__gpu_gemm_call *p, const char *label)
{
    types t;
    int ld[3];
    if (!fits(p, &t, ld))
        return TN_EMISSING;
    const char *missing = tn__cuda_library(TN__LIB_CUBLAS);
    if (TN_UNLIKELY(missing != NULL))
        return do_without(device, missing);
    tn__gpu_device *dev = tn__gpu_use(device);
    library *l = dev ? __atomic_load_n((library **)&dev->library, __ATOMIC_ACQUIRE) : NULL;
    if (dev && !l)
        l = make_library(dev, label);
    if (!l)
        return tn_error_code();
    tn__stream *s = tn__gpu_current(dev);
    pthread_mutex_lock(&l->lock);
    tn_status e = tell_stream(dev, l, s, label);
    unsigned status = e ? 0 : call(l->handle, p, t, ld[0], ld[1], ld[2]);
    pthread_mutex_unlock(&l->lock);
    if (e)
        return e;
    if (status == NOT_SUPPORTED || status == ARCH_MISMATCH)
        return TN_EMISSING;
    return status ? failed(dev, status, "cublasGemmEx", label) : tn__gpu_launched(dev, s, TN__GPU_OK, label);
}
