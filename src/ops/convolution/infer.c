/* Shape rules of convolutions. Texts of errors are PyTorch's. */
#include "op/infer.h"
#include <stdio.h>
#include <tenon/dtype.h>

enum { SPATIAL = 3 };

/* Room for "(3 x 3)". */
typedef struct sizes {
    char s[96];
} sizes;

static sizes sizes_of(const int64_t *size, int32_t n)
{
    sizes r = {""};
    size_t at = 0;
    for (int32_t i = 0; i < n && at < sizeof r.s; i++)
        at += (size_t)snprintf(r.s + at, sizeof r.s - at, "%s%lld", i ? " x " : "", (long long)size[i]);
    return r;
}

static bool any_below(const tn__dims *d, int64_t least)
{
    for (int32_t i = 0; i < d->n; i++)
        if (d->d[i] < least)
            return true;
    return false;
}

static tn_status check_numbers(const tn__convolution_params *p)
{
    const char *wrong = p->groups <= 0               ? "non-positive groups is not supported"
                        : any_below(&p->padding, 0)  ? "negative padding is not supported"
                        : any_below(&p->stride, 1)   ? "non-positive stride is not supported"
                        : any_below(&p->dilation, 0) ? "dilation should be greater than zero"
                        : any_below(&p->dilation, 1) ? "non-positive dilation is not supported"
                                                     : NULL;
    return wrong ? tn__error(TN_EINVAL, "%s", wrong) : TN_OK;
}

/* The sentence begins "Given groups=1", or "Given transposed=1". */
static tn_status check_channels(const tn_tensor *x, const tn_tensor *w, int64_t groups, bool transposed)
{
    const long long n = groups, first = w->shape[0];
    if (first < groups)
        return tn__error(
            TN_EINVAL,
            "Given groups=%lld, expected weight to be at least %lld at dimension 0, but got weight of size "
            "%s instead",
            n, n, tn__shape_str(w->shape, w->ndim).s);
    if (first % groups)
        return tn__error(TN_EINVAL,
                         "Given groups=%lld, expected weight to be divisible by %lld at dimension 0, but got weight of "
                         "size [%s] instead",
                         n, n, tn__shape_str(w->shape, w->ndim).s);
    const long long want = transposed ? first : w->shape[1] * n;
    if (x->shape[1] != want)
        return tn__error(TN_EINVAL,
                         "Given %s=%lld, weight of size %s, expected input%s to have %lld channels, but got %lld "
                         "channels instead",
                         transposed ? "transposed" : "groups", transposed ? 1LL : n, tn__shape_str(w->shape, w->ndim).s,
                         tn__shape_str(x->shape, x->ndim).s, want, (long long)x->shape[1]);
    return TN_OK;
}

static tn_status check_bias(const tn_tensor *bias, const tn_tensor *w, int64_t want, bool transposed)
{
    if (!bias || (bias->ndim == 1 && bias->shape[0] == want))
        return TN_OK;
    return tn__error(TN_EINVAL,
                     "Given %sweight of size %s, expected bias to be 1-dimensional with %lld elements, but got bias of "
                     "size %s instead",
                     transposed ? "transposed=1, " : "", tn__shape_str(w->shape, w->ndim).s, (long long)want,
                     tn__shape_str(bias->shape, bias->ndim).s);
}

static tn_status check_dtypes(const tn__call *c, const tn_tensor *x, const tn_tensor *w, const tn_tensor *bias)
{
    const char *cuda = c->device.type == TN_DEVICE_CPU ? "" : "cuda.";
    if (x->dtype != w->dtype)
        return tn__error(TN_EDTYPE,
                         "Input type (torch.%s%sTensor) and weight type (torch.%s%sTensor) should be the same%s", cuda,
                         tn__dtypes[x->dtype].legacy, cuda, tn__dtypes[w->dtype].legacy,
                         *cuda ? "" : " or input should be a MKLDNN tensor and weight is a dense tensor");
    if (bias && bias->dtype != x->dtype)
        return tn__error(TN_EDTYPE, "Input type (%s) and bias type (%s) should be the same",
                         tn__dtypes[x->dtype].scalar, tn__dtypes[bias->dtype].scalar);
    return x->dtype == TN_BOOL || tn__dtype_is_bare(x->dtype)
               ? tn__no_dtype_on(c->device, "slow_conv2d_cpu", "slow_conv2d_cuda", x->dtype)
               : TN_OK;
}

/* What the rows share: inputs of as many dimensions as there are numbers, whose batch may be empty, as may be its channels. */
static tn_status check(const tn__call *c, const tn_tensor *x, const tn_tensor *w, const tn_tensor *bias,
                       bool transposed)
{
    const tn__convolution_params *p = c->params;
    const int32_t n = p->stride.n;
    tn_status e = check_numbers(p);
    if (e)
        return e;
    if (w->ndim != n + 2 || n < 1 || n > SPATIAL || p->padding.n != n || p->dilation.n != n || x->ndim != w->ndim)
        return tn__error(TN_EINVAL,
                         "Expected %d-dimensional input for %d-dimensional weight %s, but got %d-dimensional input of "
                         "size %s instead",
                         (int)w->ndim, (int)w->ndim, tn__shape_str(w->shape, w->ndim).s, (int)x->ndim,
                         tn__shape_str(x->shape, x->ndim).s);
    e = check_channels(x, w, p->groups, transposed);
    e = e ? e : check_bias(bias, w, transposed ? w->shape[1] * p->groups : w->shape[0], transposed);
    e = e ? e : check_dtypes(c, x, w, bias);
    for (int32_t i = 2; i < x->ndim && !e; i++)
        if (x->shape[i] == 0 && x->shape[0] && x->shape[1])
            e = tn__error(TN_EINVAL, "Only zero batch or zero channel inputs are supported, but got input shape: %s",
                          tn__shape_str(x->shape, x->ndim).s);
    return e;
}

/* The sizes of y; false where the kernel is larger than x with its padding. */
static tn_status set_sizes(tn__spec *s, const tn_tensor *x, const tn_tensor *w, const tn__convolution_params *p)
{
    int64_t padded[SPATIAL], kernel[SPATIAL];
    bool fits = true;
    const int32_t n = p->stride.n;
    for (int32_t i = 0; i < n; i++) {
        padded[i] = x->shape[2 + i] + 2 * p->padding.d[i];
        const bool reaches = (double)p->dilation.d[i] * (double)w->shape[2 + i] < 0x1p60;
        kernel[i] = reaches ? p->dilation.d[i] * (w->shape[2 + i] - 1) + 1 : INT64_MAX;
        fits &= padded[i] >= kernel[i] && w->shape[2 + i] > 0;
        s->shape[2 + i] = fits ? (padded[i] - kernel[i]) / p->stride.d[i] + 1 : 0;
    }
    return fits ? TN_OK
                : tn__error(TN_EINVAL,
                            "Calculated padded input size per channel: (%s). Kernel size: (%s). Kernel size can't be "
                            "greater than actual input size",
                            sizes_of(padded, n).s, sizes_of(kernel, n).s);
}

/* Channels last where x or the weights lie so, as PyTorch's; the spec has its shape, which memory must hold. */
static tn_status set_layout(tn__spec *s, const tn_tensor *x, const tn_tensor *w)
{
    int64_t numel;
    if (!tn__shape_numel(s->shape, s->ndim, tn__dtype_size(s->dtype), &numel))
        return tn__shape_too_large(s->shape, s->ndim);
    tn_memory_format format = tn__suggest_format(x->shape, x->stride, x->ndim);
    if (!tn__format_rank(format))
        format = tn__suggest_format(w->shape, w->stride, w->ndim);
    if (tn__format_rank(format))
        tn__layout_in(s, format);
    return TN_OK;
}

tn_status tn__infer_convolution(tn__call *c)
{
    const tn_tensor *x = tn__in(c, 0), *w = tn__in(c, 1);
    tn__spec *s = &c->spec[0];
    tn_status e = check(c, x, w, tn__in_or_null(c, 2), false);
    if (e)
        return e;
    tn__spec_like(s, x);
    s->shape[1] = w->shape[0];
    e = set_sizes(s, x, w, c->params);
    e = e ? e : set_layout(s, x, w);
    return e ? e : tn__infer_one(c);
}

/* Can y be of x and a kernel of these sizes, in each dimension? It may have fewer elements than they give. */
static bool are_of(const int64_t *y, const int64_t *x, const int64_t *kernel, const tn__convolution_params *p)
{
    for (int32_t i = 0; i < p->stride.n; i++) {
        const int64_t most = x[i] + 2 * p->padding.d[i] - p->dilation.d[i] * (kernel[i] - 1) - 1;
        if (kernel[i] < 1 || most < 0 || y[i] > most / p->stride.d[i] + 1)
            return false;
    }
    return true;
}

tn_status tn__infer_convolution_input(tn__call *c)
{
    const tn__convolution_params *p = c->params;
    const tn_tensor *g = tn__in(c, 0), *w = tn__in(c, 1);
    tn__spec *s = &c->spec[0];
    tn_status e = check(c, g, w, tn__in_or_null(c, 2), true);
    if (e)
        return e;
    tn__spec_like(s, g);
    s->shape[1] = w->shape[1] * p->groups;
    for (int32_t i = 0; i < p->stride.n; i++)
        if ((s->shape[2 + i] = i < p->size.n ? p->size.d[i] : 0) < (g->shape[0] && g->shape[1] ? 1 : 0))
            return tn__error(
                TN_EINVAL, "a transposed convolution of %s by %s has no elements: padding %lld is too large",
                tn__shape_str(g->shape, g->ndim).s, tn__shape_str(w->shape, w->ndim).s, (long long)p->padding.d[i]);
    if (g->numel && !are_of(g->shape + 2, s->shape + 2, w->shape + 2, p))
        return tn__error(TN_EINVAL, "a gradient of %s is of no convolution by %s", tn__shape_str(g->shape, g->ndim).s,
                         tn__shape_str(w->shape, w->ndim).s);
    e = set_layout(s, g, w);
    return e ? e : tn__infer_one(c);
}

tn_status tn__infer_convolution_weight(tn__call *c)
{
    const tn__convolution_params *p = c->params;
    const tn_tensor *g = tn__in(c, 0), *x = tn__in(c, 1);
    tn__spec *s = &c->spec[0];
    tn_status e = check_numbers(p);
    if (e)
        return e;
    const bool fits = g->ndim == x->ndim && g->ndim == p->stride.n + 2 && p->size.n == p->stride.n &&
                      p->padding.n == p->stride.n && p->dilation.n == p->stride.n && g->shape[0] == x->shape[0] &&
                      g->dtype == x->dtype && g->shape[1] % p->groups == 0 && x->shape[1] % p->groups == 0;
    if (!fits || (g->numel && !are_of(g->shape + 2, x->shape + 2, p->size.d, p)))
        return tn__error(TN_EINVAL, "a gradient of %s is of no convolution of %s", tn__shape_str(g->shape, g->ndim).s,
                         tn__shape_str(x->shape, x->ndim).s);
    tn__spec_like(s, g);
    s->shape[0] = g->shape[1];
    s->shape[1] = x->shape[1] / p->groups;
    for (int32_t i = 0; i < p->size.n; i++)
        s->shape[2 + i] = p->size.d[i];
    return tn__infer_one(c);
}
