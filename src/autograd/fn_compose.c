/* Functions composed of operations: products of any rank, losses, reshaping, splitting, comparisons of whole tensors.
 * Each runs in a scope of its own (tools/gen_ops.c), so intermediate results need no release. */
#include "autograd/functions.h"
#include "core/rng.h"
#include "op/infer.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <tenon/dtype.h>
#include <tenon/tensor.h>

/* ---- layout ---- */

tn_tensor *tn__fn_contiguous(tn_tensor *x)
{
    if (!tn__usable("contiguous", x))
        return NULL;
    return tn__contiguous(x) ? x : tn__contiguous_copy(x);
}

tn_tensor *tn__fn_reshape(tn_tensor *x, tn_dims shape)
{
    int64_t dims[TN_MAX_DIMS], stride[TN_MAX_DIMS];
    if (!tn__usable("reshape", x) || tn__shape_check("reshape", shape, x->numel, dims))
        return NULL;
    const tn_dims full = {shape.ndim, dims};
    if (tn__numel(dims, shape.ndim) != x->numel ||
        tn__view_strides(x->shape, x->stride, x->ndim, dims, shape.ndim, stride))
        return tn_view(x, full); /* which says what is wrong with the count */
    return tn__no_view(tn_view(tn__contiguous_copy(x), full));
}

tn_tensor *tn__fn_flatten(tn_tensor *x, int64_t start_dim, int64_t end_dim)
{
    int32_t from, to, n = 0;
    int64_t shape[TN_MAX_DIMS], run = 1;
    if (!tn__usable("flatten", x) || tn__wrap_dim(start_dim, x->ndim, &from) || tn__wrap_dim(end_dim, x->ndim, &to))
        return NULL;
    if (from > to)
        return tn__fail(TN_EINVAL, "flatten() has invalid args: start_dim cannot come after end_dim");
    if (x->ndim == 0)
        return tn_reshape(x, TN_SHAPE(1));
    if (from == to)
        return x;
    for (int32_t d = 0; d < x->ndim; d++) {
        if (d < from || d > to) {
            shape[n++] = x->shape[d];
            continue;
        }
        run *= x->shape[d];
        if (d == to)
            shape[n++] = run;
    }
    return tn_reshape(x, ((tn_dims){n, shape}));
}

tn_tensor *tn__fn_narrow(tn_tensor *x, int64_t dim, int64_t start, int64_t length)
{
    int32_t d;
    if (!tn__usable("narrow", x))
        return NULL;
    if (x->ndim == 0)
        return tn__fail(TN_EINVAL, "narrow() cannot be applied to a 0-dim tensor.");
    if (length < 0)
        return tn__fail(TN_EINVAL, "narrow(): length must be non-negative.");
    if (tn__wrap_dim(dim, x->ndim, &d))
        return NULL;
    int64_t n = x->shape[d];
    if (start < -n || start > n)
        return tn__fail(TN_EINDEX, "start out of range (expected to be in range of [%lld, %lld], but got %lld)",
                        (long long)-n, (long long)n, (long long)start);
    start += start < 0 ? n : 0;
    if (start > n - length)
        return tn__fail(TN_EINVAL, "start (%lld) + length (%lld) exceeds dimension size (%lld).", (long long)start,
                        (long long)length, (long long)n);
    return tn_slice(x, d, start, start + length, 1);
}

tn_tensor *tn__fn_view_as(tn_tensor *x, tn_tensor *other)
{
    return tn__usable("view_as", other) ? tn_view(x, tn__shape_of(other)) : NULL;
}

tn_tensor *tn__fn_expand_as(tn_tensor *x, tn_tensor *other)
{
    return tn__usable("expand_as", other) ? tn_expand(x, tn__shape_of(other)) : NULL;
}

tn_tensor *tn__fn_sum_to_size(tn_tensor *x, tn_dims shape)
{
    int64_t dims[TN_MAX_DIMS];
    int32_t n = 0;
    if (!tn__usable("sum_to_size", x) || !tn__usable_dims("sum_to_size", shape))
        return NULL;
    int32_t lead = x->ndim - shape.ndim;
    bool fits = lead >= 0;
    for (int32_t d = 0; fits && d < x->ndim; d++) {
        int64_t want = d < lead ? 1 : shape.dim[d - lead];
        fits = d < lead || want == 1 || want == x->shape[d];
        if (d < lead || (want == 1 && x->shape[d] != 1))
            dims[n++] = d;
    }
    if (!fits)
        return tn__fail(TN_EINVAL, "size {%s} is not expandable to size {%s}.", tn__shape_str(shape.dim, shape.ndim).s,
                        tn__shape_str(x->shape, x->ndim).s);
    if (x->ndim == 0) /* a sum all the same: integers become int64 */
        return tn_sum(x);
    tn_tensor *sum = n ? tn_sum(x, .dim = {n, dims}, .keepdim = true) : x;
    return lead > 0 ? tn_view(sum, shape) : sum;
}

/* ---- splitting: results go to the scope outside, as those of rows do ---- */

/* Views of the sizes given by size_at. Counts only, where out is NULL. */
static int64_t split_into(const char *what, tn_tensor *x, int64_t dim, int64_t n, const int64_t *sizes, int64_t each,
                          tn_tensor **out, size_t cap)
{
    int64_t at = 0, total = x->shape[dim];
    if (!out)
        return n;
    if ((size_t)n > cap) {
        tn__error(TN_EINVAL, "%s: there are %lld pieces, but room for %zu", what, (long long)n, cap);
        return 0;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t len = sizes ? sizes[i] : TN_MIN(each, total - at);
        out[i] = tn__split(x, dim, at, at + len, 1, i, sizes != NULL);
        if (!out[i]) {
            while (i-- > 0)
                tn_release(out[i]);
            return 0;
        }
        at += len;
    }
    return n;
}

static bool can_split(const char *what, const tn_tensor *x)
{
    if (tn__usable(what, x) && x->ndim == 0)
        tn__error(TN_EINVAL, "%s expects at least a 1-dimensional tensor", what);
    return tn__usable(what, x) && x->ndim > 0;
}

int64_t tn__fn_split(tn_tensor *x, int64_t size, int64_t dim, tn_tensor **out, size_t cap)
{
    int32_t d;
    if (!can_split("split", x))
        return 0;
    if (size < 0) {
        tn__error(TN_EINVAL, "split expects split_size be non-negative, but got split_size=%lld", (long long)size);
        return 0;
    }
    if (tn__wrap_dim(dim, x->ndim, &d))
        return 0;
    if (size == 0 && x->shape[d] != 0) {
        tn__error(TN_EINVAL, "split_size can only be 0 if dimension size is 0, but got dimension size of %lld",
                  (long long)x->shape[d]);
        return 0;
    }
    int64_t n = size ? TN_MAX(tn__div_up(x->shape[d], size), 1) : 1;
    return split_into("split", x, d, n, NULL, size, out, cap);
}

int64_t tn__fn_split_sizes(tn_tensor *x, tn_dims sizes, int64_t dim, tn_tensor **out, size_t cap)
{
    int32_t d;
    int64_t total = 0;
    bool sums = true;
    if (!can_split("split_with_sizes", x) || !tn__usable_dims("split_with_sizes", sizes) || tn__wrap_dim(dim, x->ndim, &d))
        return 0;
    for (int32_t i = 0; i < sizes.ndim; i++) {
        if (sizes.dim[i] < 0) {
            tn__error(TN_EINVAL,
                      "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=%s",
                      tn__shape_str(sizes.dim, sizes.ndim).s);
            return 0;
        }
        if (__builtin_add_overflow(total, sizes.dim[i], &total))
            total = INT64_MAX, sums = false;
    }
    if (!sums || total != x->shape[d]) {
        tn__error(TN_EINVAL,
                  "split_with_sizes expects split_sizes to sum exactly to %lld (input tensor's size at dimension "
                  "%d), but got split_sizes=%s",
                  (long long)x->shape[d], (int)d, tn__shape_str(sizes.dim, sizes.ndim).s);
        return 0;
    }
    return split_into("split_with_sizes", x, d, sizes.ndim, sizes.dim, 0, out, cap);
}

int64_t tn__fn_chunk(tn_tensor *x, int64_t chunks, int64_t dim, tn_tensor **out, size_t cap)
{
    int32_t d;
    if (!can_split("chunk", x))
        return 0;
    if (chunks < 1) {
        tn__error(TN_EINVAL, "chunk expects `chunks` to be greater than 0, got: %lld", (long long)chunks);
        return 0;
    }
    if (tn__wrap_dim(dim, x->ndim, &d))
        return 0;
    int64_t each = tn__div_up(x->shape[d], chunks), n = each ? tn__div_up(x->shape[d], each) : chunks;
    return split_into("chunk", x, d, n, NULL, each, out, cap);
}

int64_t tn__fn_unbind(tn_tensor *x, int64_t dim, tn_tensor **out, size_t cap)
{
    int32_t d;
    if (!tn__usable("unbind", x) || tn__wrap_dim(dim, x->ndim, &d))
        return 0;
    if (x->ndim == 0) {
        tn__error(TN_EINDEX, "Dimension specified as %lld but tensor has no dimensions", (long long)dim);
        return 0;
    }
    int64_t n = x->shape[d];
    if (!out)
        return n;
    if ((size_t)n > cap) {
        tn__error(TN_EINVAL, "unbind: there are %lld pieces, but room for %zu", (long long)n, cap);
        return 0;
    }
    for (int64_t i = 0; i < n; i++)
        if (!(out[i] = tn__unbind(x, d, i))) {
            while (i-- > 0)
                tn_release(out[i]);
            return 0;
        }
    return n;
}

/* ---- products ---- */

/* Leading dimensions of both, broadcast. */
static bool batch_shape(const tn_tensor *a, const tn_tensor *b, int64_t *shape, int32_t *n)
{
    int32_t na = TN_MAX(a->ndim - 2, 0), nb = TN_MAX(b->ndim - 2, 0);
    *n = TN_MAX(na, nb);
    for (int32_t d = 0; d < *n; d++) {
        int64_t x = d < *n - na ? 1 : a->shape[d - (*n - na)], y = d < *n - nb ? 1 : b->shape[d - (*n - nb)];
        if (x != y && x != 1 && y != 1) {
            tn__error(TN_EINVAL,
                      "The size of tensor a (%lld) must match the size of tensor b (%lld) at non-singleton "
                      "dimension %d",
                      (long long)x, (long long)y, (int)d);
            return false;
        }
        shape[d] = x == 1 ? y : x;
    }
    return true;
}

/* t as [batch, rows, cols], expanded to the batch's dimensions. */
static tn_tensor *as_batch(tn_tensor *t, const int64_t *batch, int32_t n, int64_t count)
{
    int64_t shape[TN_MAX_DIMS];
    for (int32_t d = 0; d < n; d++)
        shape[d] = batch[d];
    shape[n] = t->shape[t->ndim - 2];
    shape[n + 1] = t->shape[t->ndim - 1];
    return tn_reshape(tn_expand(t, ((tn_dims){n + 2, shape})), TN_SHAPE(count, shape[n], shape[n + 1]));
}

static tn_tensor *matmul_batched(tn_tensor *a, tn_tensor *b)
{
    int64_t shape[TN_MAX_DIMS];
    int32_t n;
    if (!batch_shape(a, b, shape, &n))
        return NULL;
    int64_t count = tn__numel(shape, n), rows = a->shape[a->ndim - 2], cols = b->shape[b->ndim - 1];
    tn_tensor *c = tn_bmm(as_batch(a, shape, n, count), as_batch(b, shape, n, count));
    shape[n] = rows;
    shape[n + 1] = cols;
    return tn__no_view(tn_view(c, ((tn_dims){n + 2, shape})));
}

tn_tensor *tn__fn_matmul(tn_tensor *a, tn_tensor *b)
{
    if (!tn__usable("matmul", a) || !tn__usable("matmul", b))
        return NULL;
    if (a->ndim == 0 || b->ndim == 0)
        return tn__fail(TN_EINVAL, "both arguments to matmul need to be at least 1D, but they are %dD and %dD",
                        (int)a->ndim, (int)b->ndim);
    if (a->ndim == 1)
        return b->ndim == 1 ? tn_dot(a, b)
                            : tn__no_view(tn_squeeze(tn_matmul(tn_unsqueeze(a, 0), b), .dim = TN_DIMS(b->ndim - 2)));
    const int64_t k = a->shape[a->ndim - 1], rows = tn__numel(a->shape, a->ndim - 1);
    if (a->ndim == 2 && b->ndim <= 2)
        return b->ndim == 1 ? tn_mv(a, b) : tn_mm(a, b);
    if (b->ndim == 1)
        return tn__no_view(tn_view(tn_mv(tn_reshape(a, TN_SHAPE(rows, k)), b), ((tn_dims){a->ndim - 1, a->shape})));
    if (b->ndim == 2) { /* the batch is more rows */
        int64_t shape[TN_MAX_DIMS];
        for (int32_t d = 0; d < a->ndim - 1; d++)
            shape[d] = a->shape[d];
        shape[a->ndim - 1] = b->shape[1];
        return tn__no_view(tn_view(tn_mm(tn_reshape(a, TN_SHAPE(rows, k)), b), ((tn_dims){a->ndim, shape})));
    }
    return matmul_batched(a, b);
}

tn_tensor *tn__fn_outer(tn_tensor *a, tn_tensor *b)
{
    if (!tn__usable("outer", a) || !tn__usable("outer", b))
        return NULL;
    if (a->ndim != 1 || b->ndim != 1)
        return tn__fail(TN_EINVAL, "outer: Expected 1-D argument %s, but got %d-D", a->ndim != 1 ? "self" : "vec2",
                        (int)(a->ndim != 1 ? a->ndim : b->ndim));
    return tn_mul(tn_unsqueeze(a, 1), b);
}

/* ---- losses ---- */

tn_tensor *tn__reduce_loss(tn_tensor *x, int64_t reduction)
{
    switch (reduction) {
    case TN_MEAN: return tn_mean(x);
    case TN_SUM: return tn_sum(x);
    case TN_NO_REDUCTION: return x;
    default:
        return tn__fail(TN_EVALUE, "%lld is not a valid value for reduction: TN_MEAN, TN_SUM, TN_NO_REDUCTION",
                        (long long)reduction);
    }
}

tn_tensor *tn__difference(tn_tensor *x, tn_tensor *target)
{
    if (!x || !target || x == TN_NONE || target == TN_NONE)
        return tn_sub(x, target);                       /* which says so */
    bool apart = x->device.type != target->device.type; /* then one of them stands for a number */
    if (!apart && x->dtype != target->dtype && x->ndim == 0 && target->ndim)
        x = tn_expand(x, tn__shape_of(target));
    else if (!apart && x->dtype != target->dtype && target->ndim == 0 && x->ndim)
        target = tn_expand(target, tn__shape_of(x));
    return tn_sub(x, target);
}

static tn_tensor *unless_bool(tn_tensor *x, tn_dtype common)
{
    return x->dtype == TN_BOOL ? tn_to(x, .dtype = common) : x;
}

tn_tensor *tn__floating_difference(const char *kernel, tn_tensor *x, tn_tensor *target)
{
    char name[32];
    const bool both = x && target && x != TN_NONE && target != TN_NONE;
    const tn_dtype common = both ? tn_promote_types(x->dtype, target->dtype) : TN_F32;
    if (both && common != TN_BOOL) { /* bool has no difference, but is a number here */
        x = unless_bool(x, common);
        target = unless_bool(target, common);
    }
    tn_tensor *d = common == TN_BOOL ? tn_logical_xor(x, target) : tn__difference(x, target);
    if (!d || tn__dtype_is_float(d->dtype))
        return d;
    snprintf(name, sizeof name, "%s_%s", kernel, d->device.type == TN_DEVICE_CUDA ? "cuda" : "cpu");
    tn__no_dtype(name, d->dtype);
    return NULL;
}

tn_tensor *tn__fn_mse_loss(const tn_scalar *in, tn__mse_loss_params *p)
{
    return tn__reduce_loss(tn_square(tn__floating_difference("mse", in[0].v.t, in[1].v.t)), p->reduction);
}

tn_tensor *tn__fn_l1_loss(tn_tensor *x, tn_tensor *target, const tn_l1_loss_options *o)
{
    return tn__reduce_loss(tn_abs(tn__difference(x, target)), o->reduction);
}

/* (1 - y) x + (1 + (p - 1) y) (log(1 + exp(-|x|)) + max(-x, 0)) */
tn_tensor *tn__fn_binary_cross_entropy_with_logits(const tn_scalar *in, tn__bce_with_logits_params *p)
{
    tn_tensor *x = in[0].v.t, *y = in[1].v.t;
    if (!tn__same_shape(x->shape, x->ndim, y->shape, y->ndim))
        return tn__fail(TN_EVALUE, "Target size (torch.Size(%s)) must be the same as input size (torch.Size(%s))",
                        tn__shape_str(y->shape, y->ndim).s, tn__shape_str(x->shape, x->ndim).s);
    if (!tn__dtype_is_float(x->dtype)) {
        tn__no_dtype(x->device.type == TN_DEVICE_CUDA ? "log_sigmoid_forward_cuda" : "log_sigmoid_cpu", x->dtype);
        return NULL;
    }
    if (!tn__dtype_is_float(y->dtype) && y->dtype != TN_BOOL) /* the result has the target's dtype, as in PyTorch */
        return tn__fail(TN_EDTYPE, "result type %s can't be cast to the desired output type %s",
                        tn__dtypes[x->dtype].legacy, tn__dtypes[y->dtype].legacy);
    tn_tensor *soft = tn_add(tn_log1p(tn_exp(tn_neg(tn_abs(x)))), tn_clamp_min(tn_neg(x), 0));
    if (in[3].kind)
        soft = tn_mul(tn_add(tn_mul(tn_sub(in[3], 1), y), 1), soft);
    tn_tensor *loss = tn_add(tn_mul(tn_sub(1, y), x), soft);
    if (in[2].kind)
        loss = tn_mul(loss, in[2]);
    return tn__reduce_loss(loss ? tn_to(loss, .dtype = y->dtype) : NULL, p->reduction);
}

/* Targets are probabilities of x's shape. */
static tn_tensor *cross_entropy_probabilities(tn_tensor *logp, tn_tensor *target, const tn_cross_entropy_options *o,
                                              int64_t dim)
{
    int64_t classes = logp->shape[dim];
    if (o->label_smoothing > 0)
        target = tn_add(tn_mul(target, 1 - o->label_smoothing), o->label_smoothing / (double)classes);
    tn_tensor *loss = tn_mul(logp, target);
    if (o->weight) {
        int64_t shape[TN_MAX_DIMS];
        for (int32_t d = 0; d < logp->ndim; d++)
            shape[d] = d == dim ? classes : 1;
        loss = tn_mul(loss, tn_reshape(o->weight, ((tn_dims){logp->ndim, shape})));
    }
    if (o->reduction == TN_MEAN)
        return tn_div(tn_neg(tn_sum(loss)), (double)logp->numel / (double)classes);
    loss = tn_neg(tn_sum(loss, .dim = TN_DIMS(dim)));
    return o->reduction == TN_SUM ? tn_sum(loss) : loss;
}

/* What label smoothing adds: the mean of -log p over all classes. */
static tn_tensor *smooth_part(tn_tensor *logp, tn_tensor *target, const tn_cross_entropy_options *o, int64_t dim,
                              int64_t ignore)
{
    tn_tensor *weighted = logp;
    if (o->weight) {
        int64_t shape[TN_MAX_DIMS];
        for (int32_t d = 0; d < logp->ndim; d++)
            shape[d] = d == dim ? logp->shape[d] : 1;
        weighted = tn_mul(logp, tn_reshape(o->weight, ((tn_dims){logp->ndim, shape})));
    }
    tn_tensor *ignored = tn_eq(target, ignore);
    tn_tensor *loss = tn_masked_fill(tn_neg(tn_sum(weighted, .dim = TN_DIMS(dim))), ignored, 0);
    if (o->reduction != TN_MEAN)
        return o->reduction == TN_SUM ? tn_sum(loss) : loss;
    tn_tensor *kept = tn_to(tn_logical_not(ignored), .dtype = logp->dtype);
    if (o->weight) {
        tn_tensor *safe = tn_masked_fill(target, ignored, 0);
        kept =
            tn_mul(kept, tn_reshape(tn_index_select(o->weight, 0, tn_reshape(safe, TN_SHAPE(-1))), tn__shape_of(target)));
    }
    return tn_div(tn_sum(loss), tn_sum(kept));
}

tn_tensor *tn__fn_cross_entropy(tn_tensor *x, tn_tensor *target, const tn_cross_entropy_options *options)
{
    tn_cross_entropy_options said = *options, *o = &said;
    if (o->weight == TN_NONE)
        o->weight = NULL;
    if (!tn__usable("cross_entropy", x) || !tn__usable("cross_entropy", target))
        return NULL;
    if (o->label_smoothing > 1)
        return tn__fail(TN_EINVAL, "label_smoothing must be between 0.0 and 1.0. Got: %g", o->label_smoothing);
    const bool alike = tn__same_shape(x->shape, x->ndim, target->shape, target->ndim);
    if (alike && !tn__dtype_is_float(target->dtype))
        return tn__fail(TN_EDTYPE, "Expected floating point type for target with class probabilities, got %s",
                        tn__dtypes[target->dtype].legacy);
    int64_t dim = x->ndim == 1 ? 0 : 1, ignore = o->ignore_index.kind ? tn__scalar_int(&o->ignore_index) : -100;
    tn_tensor *logp = tn_log_softmax(x, dim);
    if (!logp)
        return NULL;
    if (alike)
        return cross_entropy_probabilities(logp, target, o, dim);
    tn_tensor *loss =
        tn_nll_loss(logp, target, .weight = o->weight, .reduction = o->reduction, .ignore_index = tn_scalar_i(ignore));
    if (o->label_smoothing <= 0) /* as in PyTorch: below 0 there is none */
        return loss;
    double eps = o->label_smoothing;
    return tn_add(tn_mul(loss, 1 - eps),
                  tn_mul(smooth_part(logp, target, o, dim, ignore), eps / (double)x->shape[dim]));
}

tn_tensor *tn__fn_dropout(tn_tensor *x, double p)
{
    if (!tn__usable("dropout", x))
        return NULL;
    if (!(p >= 0 && p <= 1))
        return tn__fail(TN_EVALUE, "dropout probability has to be between 0 and 1, but got %g", p);
    if (p == 0 || x->numel == 0)
        return x;
    if (!tn__dtype_is_float(x->dtype))
        return p == 1 ? tn_mul(x, false)
                      : tn__fail(TN_EDTYPE, "result type Float can't be cast to the desired output type %s",
                                 tn__dtypes[x->dtype].legacy);
    tn_rng_state r = tn__rng_take(x->device, (uint64_t)tn__div_up(x->numel, 4));
    return tn__dropout(x, p, (int64_t)r.seed, (int64_t)r.offset);
}

/* ---- reductions made of others ---- */

/* m + log(sum(exp(x - m))), m the largest; where that is infinite it is left out, so that the sum says so itself */
tn_tensor *tn__fn_logsumexp(const tn_scalar *in, tn__logsumexp_params *p)
{
    tn_tensor *x = in[0].v.t;
    /* the node keeps wrapped dimensions, as other reductions' do */
    uint32_t mask;
    if (tn__infer_dims(&p->dim, x->ndim, &mask))
        return NULL;
    if (!tn__dtype_is_float(x->dtype))
        x = tn_to(x, .dtype = tn__default_dtype());
    const tn_dims dims = {p->dim.n, p->dim.d};
    if (x && x->ndim == 0)
        return tn_clone(x);
    if (x && x->numel == 0)
        return tn_log(tn_sum(tn_exp(x), .dim = dims, .keepdim = p->keepdim));
    tn_tensor *m = tn_amax(x, .dim = dims, .keepdim = true);
    m = tn_where(tn_isinf(m), 0, m);
    tn_tensor *sum = tn_sum(tn_exp(tn_sub(x, m)), .dim = dims, .keepdim = p->keepdim);
    return tn_add(tn_log(sum), p->keepdim ? m : tn_squeeze(m, .dim = dims));
}

/* Scales down, in place, the rows that index names and whose norm exceeds max_norm. */
static bool renormalise(tn_tensor *weight, tn_tensor *index, double max_norm, double p)
{
    bool was = tn__set_no_grad(true);
    tn_tensor *flat = tn_reshape(tn_to(index, .dtype = TN_I64), TN_SHAPE(-1)), *rows = tn_index_select(weight, 0, flat);
    if (index->numel == 0 && weight->ndim == 2) { /* of any dtype; it counts as a write all the same */
        tn_tensor *none = rows ? tn_expand(tn_unsqueeze(flat, 1), tn__shape_of(rows)) : NULL;
        const bool written = tn_scatter_(weight, 0, none, rows) != NULL;
        tn__set_no_grad(was);
        return written;
    }
    tn_tensor *norm = tn_norm(rows, .p = tn_scalar_f(p), .dim = TN_DIMS(1), .keepdim = true);
    norm = norm ? tn_to(norm, .dtype = TN_F64) : NULL;
    tn_tensor *scale = tn_where(tn_gt(norm, max_norm), tn_div(max_norm, tn_add(norm, 1e-7)), 1.0);
    scale =
        scale ? tn_to(scale, .dtype = weight->dtype) : NULL; /* as a number is rounded that rows are multiplied by */
    tn_tensor *every = rows ? tn_expand(tn_unsqueeze(flat, 1), tn__shape_of(rows)) : NULL;
    bool done = tn_scatter_(weight, 0, every, tn_to(tn_mul(rows, scale), .dtype = weight->dtype)) != NULL;
    tn__set_no_grad(was);
    return done;
}

tn_tensor *tn__fn_embedding(tn_tensor *weight, tn_tensor *index, const tn_embedding_options *o)
{
    if (!tn__usable("embedding", weight) || !tn__usable("embedding", index))
        return NULL;
    const double most =
        fabs(o->max_norm) < DBL_MIN ? 0 : o->max_norm; /* 0 itself says none: what is next to it says 0 */
    if (o->max_norm != 0 && weight->ndim == 2 &&
        !renormalise(weight, index, most, o->norm_type != 0 ? o->norm_type : 2))
        return NULL;
    return tn__embedding(weight, index, o->padding_idx, o->scale_grad_by_freq);
}

tn_tensor *tn__fn_one_hot(tn_tensor *index, int64_t num_classes)
{
    if (!tn__usable("one_hot", index))
        return NULL;
    if (num_classes == -1 && index->numel > 0 && index->dtype == TN_I64) {
        tn_tensor *largest = tn_max(index);
        if (!largest)
            return NULL;
        const int64_t last = tn_item_int(largest); /* once: a GPU is waited for */
        if (last < 0)
            return tn__fail(TN_EINVAL, "Class values must be non-negative.");
        if (__builtin_add_overflow(last, 1, &num_classes))
            return tn__fail(TN_EINVAL, "one_hot: index %lld leaves no room for a number of classes",
                            (long long)INT64_MAX);
    }
    return tn__one_hot(index, num_classes);
}

/* ---- bounds and comparisons ---- */

tn_tensor *tn__fn_clamp(tn_tensor *x, tn_scalar lower, tn_scalar upper)
{
    if (!lower.kind && !upper.kind)
        return tn__fail(TN_EINVAL, "torch.clamp: At least one of 'min' or 'max' must not be None");
    if (!upper.kind)
        return tn_clamp_min(x, lower);
    if (!lower.kind)
        return tn_clamp_max(x, upper);
    return tn__clamp(x, lower, upper);
}

tn_tensor *tn__fn_clamp_(tn_tensor *x, tn_scalar lower, tn_scalar upper)
{
    if (!lower.kind && !upper.kind)
        return tn__fn_clamp(x, lower, upper);
    if (!upper.kind)
        return tn_clamp_min_(x, lower);
    return lower.kind ? tn__clamp_(x, lower, upper) : tn_clamp_max_(x, upper);
}

tn_tensor *tn__fn_bitwise_not(tn_tensor *x)
{
    if (!tn__usable("bitwise_not", x))
        return NULL;
    return x->dtype == TN_BOOL ? tn_logical_not(x) : tn__bitwise_not(x);
}

tn_tensor *tn__fn_bitwise_not_(tn_tensor *x)
{
    if (!tn__usable("bitwise_not_", x))
        return NULL;
    return x->dtype == TN_BOOL ? tn_logical_not_(x) : tn__bitwise_not_(x);
}

tn_tensor *tn__fn_isclose(tn_tensor *a, tn_tensor *b, const tn_isclose_options *o)
{
    double rtol = o->rtol.kind ? tn__scalar_double(&o->rtol) : 1e-5,
           atol = o->atol.kind ? tn__scalar_double(&o->atol) : 1e-8;
    if (!tn__usable("isclose", a) || !tn__usable("isclose", b))
        return NULL;
    if (a->dtype != b->dtype)
        return tn__fail(TN_EDTYPE, "%s did not match %s", tn__dtypes[a->dtype].legacy, tn__dtypes[b->dtype].legacy);
    if (!(rtol >= 0) || !(atol >= 0)) /* NaN is not */
        return tn__fail(TN_EINVAL, "%s must be greater than or equal to zero, but got %g", rtol >= 0 ? "atol" : "rtol",
                        rtol >= 0 ? atol : rtol);
    tn_tensor *close = tn_eq(a, b);
    if (o->equal_nan && tn__dtype_is_float(a->dtype))
        close = tn_logical_or(close, tn_logical_and(tn_isnan(a), tn_isnan(b)));
    if (rtol == 0 && atol == 0)
        return close;
    if (!tn__dtype_is_float(a->dtype)) {
        a = tn_to(a, .dtype = tn__default_dtype());
        b = tn_to(b, .dtype = tn__default_dtype());
    }
    tn_tensor *error = tn_abs(tn_sub(a, b)), *allowed = tn_add(tn_abs(tn_mul(b, rtol)), atol);
    return tn_logical_or(close, tn_logical_and(tn_isfinite(error), tn_le(error, allowed)));
}

bool tn__fn_allclose(tn_tensor *a, tn_tensor *b, const tn_allclose_options *o)
{
    const tn_isclose_options c = {sizeof c, NULL, o->rtol, o->atol, o->equal_nan};
    tn_tensor *close = tn__fn_isclose(a, b, &c);
    close = tn_all(close);
    return close && tn_item(close) != 0;
}

bool tn__fn_equal(tn_tensor *a, tn_tensor *b)
{
    if (!tn__usable("equal", a) || !tn__usable("equal", b) || !tn__same_shape(a->shape, a->ndim, b->shape, b->ndim))
        return false;
    tn_tensor *all = tn_all(tn_eq(a, b));
    return all && tn_item(all) != 0;
}
