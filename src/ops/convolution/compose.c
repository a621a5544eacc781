/* Convolutions as users call them: of a batch or a sample, with one number for all dimensions or one for each. */
#include "ops/compose.h"
#include <stdio.h>

/* Of strides, paddings and dilations: sums of them and of sizes are still numbers. */
#define LARGEST (INT64_C(1) << 40)

/* What the functions of one number of dimensions have in common. */
typedef struct kind {
    const char *name;
    int32_t n; /* spatial dimensions */
} kind;

/* A number for each dimension. */
typedef struct list {
    int32_t n;
    int64_t d[TN_MAX_DIMS];
} list;

static tn_dims dims(const list *l)
{
    return tn_dims_of(l->d, l->n);
}

/* "[1, 2, 3]" */
typedef struct list_text {
    char s[TN_MAX_DIMS * 22 + 3];
} list_text;

static list_text text_of(const list *of)
{
    list_text t = {"["};
    size_t at = 1;
    for (int32_t i = 0; i < of->n; i++)
        at += (size_t)snprintf(t.s + at, sizeof t.s - at, "%s%lld", i ? ", " : "", (long long)of->d[i]);
    snprintf(t.s + at, sizeof t.s - at, "]");
    return t;
}

/* The list as 'want' numbers; none or one of them stands for 'n'. */
static bool spread(list *to, const tn_dims *said, int64_t otherwise, const char *what, int32_t n, int32_t want)
{
    list given = {.n = said->ndim};
    memcpy(given.d, said->dim, sizeof given.d);
    if (given.n <= 1) {
        for (int32_t i = 0; i < n; i++)
            given.d[i] = said->ndim ? said->dim[0] : otherwise;
        given.n = n;
    }
    if (given.n != want && given.n != 1) {
        tn__error(
            TN_EINVAL,
            "expected %s to be a single integer value or a list of %d values to match the convolution dimensions, "
            "but got %s=%s",
            what, (int)want, what, text_of(&given).s);
        return false;
    }
    to->n = want;
    for (int32_t i = 0; i < want; i++) {
        to->d[i] = given.d[given.n == 1 ? 0 : i];
        if (to->d[i] > LARGEST) {
            tn__error(TN_EINVAL, "convolution: %s of %lld is more than memory can hold", what, (long long)to->d[i]);
            return false;
        }
    }
    return true;
}

typedef struct numbers {
    list stride, padding, dilation, more;
    int64_t groups;
} numbers;

/* The numbers as they are said; what a function does not take is not. */
typedef struct said {
    const tn_dims *stride, *padding, *dilation, *output_padding;
} said;

/* The numbers of a convolution of w's dimensions; false with an error. */
static bool read_numbers(numbers *r, int32_t n, const tn_tensor *w, said s)
{
    static const tn_dims none;
    const int32_t want = w->ndim - 2;
    const tn_dims *more = s.output_padding ? s.output_padding : &none;
    if (want < 1 || want > 3) {
        tn__error(TN_EINVAL, "weight should have at least three dimensions");
        return false;
    }
    return tn__dims_fit("convolution", s.stride) && tn__dims_fit("convolution", s.padding) &&
           tn__dims_fit("convolution", s.dilation) && tn__dims_fit("convolution", more) &&
           spread(&r->stride, s.stride, 1, "stride", n, want) &&
           spread(&r->padding, s.padding, 0, "padding", n, want) &&
           spread(&r->dilation, s.dilation, 1, "dilation", n, want) &&
           spread(&r->more, more, 0, "output_padding", n, want);
}

/* x as a batch; NULL where it is neither that nor a sample of it. */
static tn_tensor *batched(const kind *k, tn_tensor *x, bool *sample)
{
    *sample = x->ndim == k->n + 1;
    if (*sample)
        return tn_unsqueeze(x, 0);
    if (x->ndim == k->n + 2)
        return x;
    return tn__fail(TN_EINVAL, "Expected %dD (unbatched) or %dD (batched) input to %s, but got input of size: %s",
                    (int)k->n + 1, (int)k->n + 2, k->name, tn__shape_str(x->shape, x->ndim).s);
}

static tn_tensor *unbatched(tn_tensor *y, bool sample)
{
    return y && sample ? tn_squeeze(y, .dim = 0) : y;
}

/* padding='same': as much before as behind, and what is left over behind, where x is padded by itself. */
static tn_tensor *pad_same(tn_tensor *x, const tn_tensor *w, numbers *r)
{
    int64_t more[2 * TN_MAX_DIMS] = {0};
    bool uneven = false;
    const int32_t n = r->stride.n;
    for (int32_t i = 0; i < n; i++) {
        if (r->stride.d[i] != 1)
            return tn__fail(TN_EINVAL, "padding='same' is not supported for strided convolutions");
        if (r->dilation.d[i] < 1 || w->shape[2 + i] < 1 || (double)r->dilation.d[i] * (double)w->shape[2 + i] > 0x1p60)
            return x; /* refused where all convolutions are */
        const int64_t all = r->dilation.d[i] * (w->shape[2 + i] - 1);
        r->padding.d[i] = all / 2;
        more[2 * (n - 1 - i) + 1] = all % 2;
        uneven |= all % 2 != 0;
    }
    return uneven ? tn_constant_pad_nd(x, ((tn_ints){more, 2 * (size_t)n}), 0) : x;
}

typedef struct operands {
    tn_tensor *x, *weight, *bias;
} operands;

static bool are_tensors(const kind *k, const operands *o)
{
    return tn__usable(k->name, o->x) && tn__usable(k->name, o->weight) &&
           (o->bias == TN_NONE || tn__usable(k->name, o->bias));
}

static tn_tensor *forward(const kind *k, operands o, numbers *r, bool same)
{
    bool sample;
    tn_tensor *x = batched(k, o.x, &sample);
    if (x && same)
        x = pad_same(x, o.weight, r);
    if (!x)
        return NULL;
    return unbatched(
        tn__convolution(x, o.weight, o.bias, dims(&r->stride), dims(&r->padding), dims(&r->dilation), r->groups),
        sample);
}

/* "output_padding_height: 1 output_padding_width: 1 ..." */
static tn_tensor *refuse_output_padding(const numbers *r)
{
    static const char *const side[] = {"depth", "height", "width"};
    const struct {
        const char *what;
        const list *d;
    } part[] = {{"output_padding", &r->more}, {"stride", &r->stride}, {"dilation", &r->dilation}};
    char text[512] = "";
    size_t at = 0;
    for (int k = 0; k < 3; k++)
        for (int32_t i = 0; i < r->stride.n && at < sizeof text; i++)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%s_%s: %lld", at ? " " : "", part[k].what,
                                   side[3 - r->stride.n + i], (long long)part[k].d->d[i]);
    return tn__fail(TN_EINVAL, "output padding must be smaller than either stride or dilation, but got %s", text);
}

static tn_tensor *transposed(const kind *k, operands o, const numbers *r)
{
    bool sample;
    tn_tensor *x = batched(k, o.x, &sample);
    list size = {.n = r->stride.n};
    if (!x)
        return NULL;
    for (int32_t i = 0; i < size.n; i++) {
        const int64_t more = r->more.d[i], stride = r->stride.d[i], dilation = r->dilation.d[i];
        if (stride < 1 || dilation < 1 || r->padding.d[i] < 0) { /* refused where all convolutions are */
            size.d[i] = 1;
            continue;
        }
        if (more < 0)
            return tn__fail(TN_EINVAL, "negative output_padding is not supported");
        if (more >= stride && more >= dilation)
            return refuse_output_padding(r);
        if ((double)x->shape[x->ndim - size.n + i] * (double)stride +
                (double)dilation * (double)o.weight->shape[2 + i] >
            0x1p60)
            return tn__fail(TN_EINVAL,
                            "convolution: a stride of %lld and a dilation of %lld give more than memory can hold",
                            (long long)stride, (long long)dilation);
        size.d[i] = x->ndim == o.weight->ndim ? (x->shape[2 + i] - 1) * stride - 2 * r->padding.d[i] +
                                                    dilation * (o.weight->shape[2 + i] - 1) + more + 1
                                              : 0;
    }
    return unbatched(tn__convolution_input(x, o.weight, o.bias, dims(&r->stride), dims(&r->padding), dims(&r->dilation),
                                           r->groups, dims(&size)),
                     sample);
}

static tn_tensor *run(const kind *k, operands o, numbers *r, bool same, bool transposes)
{
    if (r->groups == 0) /* not said */
        r->groups = 1;
    return transposes ? transposed(k, o, r) : forward(k, o, r, same);
}

/* Functions of one number of dimensions each, whose options are structs of their own. */
#define CONVOLUTION(n_) \
    tn_tensor *tn__fn_conv##n_##d(tn_tensor *x, tn_tensor *weight, tn_tensor *bias, const tn_conv##n_##d_options *o) \
    { \
        const kind k = {"conv" #n_ "d", n_}; \
        const operands in = {x, weight, bias}; \
        numbers r = {.groups = o->groups}; \
        return are_tensors(&k, &in) && \
                       read_numbers(&r, n_, weight, (said){&o->stride, &o->padding, &o->dilation, NULL}) \
                   ? run(&k, in, &r, o->same, false) \
                   : NULL; \
    } \
    tn_tensor *tn__fn_conv_transpose##n_##d(tn_tensor *x, tn_tensor *weight, tn_tensor *bias, \
                                            const tn_conv_transpose##n_##d_options *o) \
    { \
        const kind k = {"conv_transpose" #n_ "d", n_}; \
        const operands in = {x, weight, bias}; \
        numbers r = {.groups = o->groups}; \
        return are_tensors(&k, &in) && \
                       read_numbers(&r, n_, weight, (said){&o->stride, &o->padding, &o->dilation, &o->output_padding}) \
                   ? run(&k, in, &r, false, true) \
                   : NULL; \
    }

CONVOLUTION(1)
CONVOLUTION(2)
CONVOLUTION(3)

tn_tensor *tn__fn_convolution(tn_tensor *x, tn_tensor *weight, tn_tensor *bias, const tn_dims *stride,
                              const tn_dims *padding, const tn_dims *dilation, bool transposes,
                              const tn_dims *output_padding, int64_t groups)
{
    const operands in = {x, weight, bias};
    kind k = {"convolution", 0};
    numbers r = {.groups = groups ? groups : -1};
    if (!are_tensors(&k, &in))
        return NULL;
    k.n = weight->ndim - 2;
    return read_numbers(&r, k.n, weight, (said){stride, padding, dilation, output_padding})
               ? run(&k, in, &r, false, transposes)
               : NULL;
}

tn_tensor *tn__fn_conv_tbc(tn_tensor *x, tn_tensor *weight, tn_tensor *bias, int64_t pad)
{
    if (!tn__usable("conv_tbc", x) || !tn__usable("conv_tbc", weight) || !tn__usable("conv_tbc", bias))
        return NULL;
    if (x->ndim != 3 || weight->ndim != 3 || bias->ndim != 1)
        return tn__fail(TN_EINVAL, "%s",
                        x->ndim != 3        ? "Input must have 3 dims: time, batch, in_channel"
                        : weight->ndim != 3 ? "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels."
                                            : "Bias must be 1-D");
    if (x->shape[2] != weight->shape[1] || weight->shape[2] != bias->shape[0])
        return tn__fail(TN_EINVAL, "%s",
                        x->shape[2] != weight->shape[1]
                            ? "Input dim 2 (input channels) is not == dim 1 in the weight tensor"
                            : "Bias size must equal dim 2 in the weight tensor (output channels)");
    return tn_permute(
        tn_conv1d(tn_permute(x, TN_DIMS(1, 2, 0)), tn_permute(weight, TN_DIMS(2, 1, 0)), bias, .padding = TN_DIMS(pad)),
        TN_DIMS(2, 0, 1));
}
