/* Convolutions against plain loops: of one to three dimensions, any numbers, dtypes and layouts. */
#include "ops/family.h"
#include <tenon/dtype.h>

/* One convolution: sizes of x, y and the kernel. transposed: x and y change places, as far as users see. */
typedef struct conv {
    int32_t n;
    int64_t images, groups, in, out, x[3], y[3], kernel[3], stride[3], pad[3], dilation[3];
} conv;

static bool next(int64_t *at, const int64_t *size, int32_t n)
{
    for (int32_t i = n - 1; i >= 0; i--) {
        if (++at[i] < size[i])
            return true;
        at[i] = 0;
    }
    return false;
}

static int64_t place(const int64_t *at, const int64_t *size, int32_t n)
{
    int64_t r = 0;
    for (int32_t i = 0; i < n; i++)
        r = r * size[i] + at[i];
    return r;
}

/* For each element of y, each of x that it reads and the weight between them: v[y] += x * w, or v[x] += y * w. */
static void multiply(const conv *c, const kit_array *from, const kit_array *w, bool transposed, real *v, real *size)
{
    const int64_t xs = kit_count(c->n, c->x), ys = kit_count(c->n, c->y), ks = kit_count(c->n, c->kernel);
    for (int64_t m = 0; m < c->images; m++)
        for (int64_t o = 0; o < c->groups * c->out; o++)
            for (int64_t i = 0; i < c->in; i++) {
                int64_t t[3] = {0};
                do {
                    int64_t k[3] = {0};
                    do {
                        int64_t at[3];
                        bool inside = true;
                        for (int32_t d = 0; d < c->n; d++) {
                            at[d] = t[d] * c->stride[d] - c->pad[d] + k[d] * c->dilation[d];
                            inside &= at[d] >= 0 && at[d] < c->x[d];
                        }
                        if (!inside)
                            continue;
                        const int64_t y = (m * c->groups * c->out + o) * ys + place(t, c->y, c->n);
                        const int64_t x = ((m * c->groups + o / c->out) * c->in + i) * xs + place(at, c->x, c->n);
                        const real p =
                            from->v[transposed ? y : x] * w->v[(o * c->in + i) * ks + place(k, c->kernel, c->n)];
                        v[transposed ? x : y] += p;
                        size[transposed ? x : y] += fabsl(p);
                    } while (next(k, c->kernel, c->n));
                } while (next(t, c->y, c->n));
            }
}

/* Numbers that fit: y is as large as x, kernel and padding give it. Some are wide (several panels of rows and of places), some
 * deep (several blocks of channels and taps). */
static conv random_conv(int32_t n)
{
    conv c = {.n = n, .images = kit_below(3) + (kit_below(8) > 0), .groups = 1 + kit_below(3)};
    const bool wide = kit_below(4) == 0; /* several panels of rows and of places */
    const bool deep = kit_below(6) == 0;
    c.in = 1 + kit_below(deep ? n == 1 ? 140 : n == 2 ? 60 : 24 : wide ? 9 : 4);
    c.out = 1 + kit_below(wide ? 20 : 4);
    for (int32_t d = 0; d < n; d++) {
        c.kernel[d] = 1 + kit_below(n == 1 ? 6 : 3);
        c.stride[d] = kit_below(2) ? 1 : 1 + kit_below(3);
        c.dilation[d] = kit_below(3) ? 1 : 1 + kit_below(3);
        c.pad[d] = kit_below(2) ? 0 : kit_below(4);
        const int64_t reach = c.dilation[d] * (c.kernel[d] - 1) + 1, least = reach - 2 * c.pad[d];
        c.x[d] = (least > 1 ? least : 1) + kit_below(n == 1 ? 90 : n == 2 ? wide ? 14 : 7 : 4);
        c.y[d] = (c.x[d] + 2 * c.pad[d] - reach) / c.stride[d] + 1;
    }
    return c;
}

static tn_dims list(const int64_t *v, int32_t n)
{
    bool same = true;
    for (int32_t i = 1; i < n; i++)
        same &= v[i] == v[0];
    return tn_dims_of(v, same ? 1 : n);
}

#define CALL(name, ...) \
    (c->n == 1   ? tn_##name##1d(x->t, w->t, bias ? bias->t : TN_NONE, __VA_ARGS__) \
     : c->n == 2 ? tn_##name##2d(x->t, w->t, bias ? bias->t : TN_NONE, __VA_ARGS__) \
                 : tn_##name##3d(x->t, w->t, bias ? bias->t : TN_NONE, __VA_ARGS__))

static tn_tensor *call(const conv *c, const kit_array *x, const kit_array *w, const kit_array *bias, bool transposed,
                       const int64_t *more)
{
    if (transposed)
        return CALL(conv_transpose, .stride = list(c->stride, c->n), .padding = list(c->pad, c->n),
                    .dilation = list(c->dilation, c->n), .output_padding = list(more, c->n), .groups = c->groups);
    return CALL(conv, .stride = list(c->stride, c->n), .padding = list(c->pad, c->n),
                .dilation = list(c->dilation, c->n), .groups = c->groups);
}

static void shape_of(int64_t *to, int64_t first, int64_t second, const int64_t *rest, int32_t n)
{
    to[0] = first;
    to[1] = second;
    for (int32_t i = 0; i < n; i++)
        to[2 + i] = rest[i];
}

static void one(const conv *c, tn_dtype d, bool transposed)
{
    int64_t x_shape[5], y_shape[5], w_shape[5], more[3], biased = kit_below(2),
                                                         ends[2] = {c->groups * c->in, c->groups * c->out};
    kit_array x, w, b;
    expected e;
    tn_scope *s = tn_scope_open();
    shape_of(x_shape, c->images, ends[0], c->x, c->n);
    shape_of(y_shape, c->images, ends[1], c->y, c->n);
    shape_of(w_shape, ends[1], c->in, c->kernel, c->n);
    const bool sample = c->images == 1 && kit_below(2);
    random_array(&x, d, c->n + 2 - sample, (transposed ? y_shape : x_shape) + sample,
                 (kit_layout)kit_below(KIT_LAYOUTS), true);
    random_array(&w, d, c->n + 2, w_shape, (kit_layout)kit_below(KIT_LAYOUTS), true);
    random_array(&b, d, 1, &ends[!transposed], (kit_layout)kit_below(KIT_LAYOUTS), true);
    expected_init(&e, d, c->n + 2 - sample, (transposed ? x_shape : y_shape) + sample);
    expected_tolerate(&e);
    real *size = calloc((size_t)e.numel + 1, sizeof *size);
    for (int64_t i = 0; i < e.numel; i++)
        e.v[i] = 0;
    multiply(c, &x, &w, transposed, e.v, size);
    const int64_t channels = ends[!transposed], places = kit_count(c->n, transposed ? c->x : c->y),
                  terms = (c->in > c->out ? c->in : c->out) * kit_count(c->n, c->kernel) + 2;
    for (int64_t i = 0; i < e.numel; i++) {
        const real by = biased ? b.v[i / places % channels] : 0;
        e.v[i] += by;
        if (kit_is_float(d)) /* each term is rounded once, and each sum */
            e.tol[i] = compute_eps(d) * (real)terms * (size[i] + fabsl(by));
        else
            e.v[i] = kit_round(e.v[i], d);
    }
    e.ulps = kit_digits(d) < 24 ? 1 : 0;
    for (int32_t i = 0; i < c->n; i++)
        more[i] = c->x[i] - ((c->y[i] - 1) * c->stride[i] - 2 * c->pad[i] + c->dilation[i] * (c->kernel[i] - 1) + 1);
    check_free(&e, call(c, &x, &w, biased ? &b : NULL, transposed, more),
               "conv%s%dd of %s %s %s, weight %s %s, %lld groups, stride %lld, pad %lld, dilation %lld",
               transposed ? "_transpose" : "", (int)c->n, tn_dtype_name(d), kit_shape_text(x.ndim, x.shape),
               kit_layout_names[x.layout], kit_shape_text(w.ndim, w.shape), kit_layout_names[w.layout],
               (long long)c->groups, (long long)c->stride[c->n - 1], (long long)c->pad[c->n - 1],
               (long long)c->dilation[c->n - 1]);
    free(size);
    kit_array_free(&x);
    kit_array_free(&w);
    kit_array_free(&b);
    tn_scope_close(s);
}

/* The gradient of the weights, of which the blocks are of places and images. */
static void weights_of(const conv *c, tn_dtype d)
{
    int64_t x_shape[5], y_shape[5], w_shape[5];
    kit_array x, g;
    expected e;
    tn_scope *s = tn_scope_open();
    shape_of(x_shape, c->images, c->groups * c->in, c->x, c->n);
    shape_of(y_shape, c->images, c->groups * c->out, c->y, c->n);
    shape_of(w_shape, c->groups * c->out, c->in, c->kernel, c->n);
    random_array(&x, d, c->n + 2, x_shape, (kit_layout)kit_below(KIT_LAYOUTS), true);
    random_array(&g, d, c->n + 2, y_shape, (kit_layout)kit_below(KIT_LAYOUTS), true);
    expected_init(&e, d, c->n + 2, w_shape);
    expected_tolerate(&e);
    const int64_t xs = kit_count(c->n, c->x), ys = kit_count(c->n, c->y), ks = kit_count(c->n, c->kernel);
    for (int64_t i = 0; i < e.numel; i++) {
        const int64_t o = i / ks / c->in, channel = o / c->out * c->in + i / ks % c->in;
        int64_t k[3], t[3] = {0};
        real size = 0;
        e.v[i] = 0;
        kit_unravel(i % ks, c->n, c->kernel, k);
        do {
            int64_t at[3];
            bool inside = ys > 0;
            for (int32_t n = 0; n < c->n; n++) {
                at[n] = t[n] * c->stride[n] - c->pad[n] + k[n] * c->dilation[n];
                inside &= at[n] >= 0 && at[n] < c->x[n];
            }
            for (int64_t m = 0; m < c->images && inside; m++) {
                const real p = g.v[(m * c->groups * c->out + o) * ys + place(t, c->y, c->n)] *
                               x.v[(m * c->groups * c->in + channel) * xs + place(at, c->x, c->n)];
                e.v[i] += p;
                size += fabsl(p);
            }
        } while (next(t, c->y, c->n));
        e.tol[i] = compute_eps(d) * (real)(ys * c->images + 2) * size;
        if (!kit_is_float(d))
            e.v[i] = kit_round(e.v[i], d);
    }
    e.ulps = kit_digits(d) < 24 ? 1 : 0;
    check_free(&e,
               tn__convolution_weight(g.t, x.t, tn_dims_of(c->stride, c->n), tn_dims_of(c->pad, c->n),
                                      tn_dims_of(c->dilation, c->n), c->groups, tn_dims_of(c->kernel, c->n)),
               "_convolution_weight of %s %s %s and %s %s, %lld groups", tn_dtype_name(d),
               kit_shape_text(g.ndim, g.shape), kit_layout_names[g.layout], kit_shape_text(x.ndim, x.shape),
               kit_layout_names[x.layout], (long long)c->groups);
    kit_array_free(&x);
    kit_array_free(&g);
    tn_scope_close(s);
}

/* Many places and images, more than a block has, beside any. */
static void weights_each(int32_t n)
{
    for (int i = 0; i < KIT_DTYPES; i++)
        for (int k = 0; k < (kit_samples() ? 3 : 12) && kit_dtypes[i] != TN_BOOL; k++) {
            conv c = random_conv(n);
            if (k % 3 == 0) {
                c.images = 1 + kit_below(9);
                c.in = 1 + kit_below(3);
                for (int32_t a = 0; a < n; a++)
                    c.x[a] += n == 1 ? 300 : n == 2 ? 17 : 5;
                for (int32_t a = 0; a < n; a++)
                    c.y[a] = (c.x[a] + 2 * c.pad[a] - c.dilation[a] * (c.kernel[a] - 1) - 1) / c.stride[a] + 1;
            }
            weights_of(&c, kit_dtypes[i]);
        }
}

static void each(int32_t n, bool transposed)
{
    const int cases = kit_samples() ? 6 : 40;
    for (int i = 0; i < KIT_DTYPES; i++)
        for (int k = 0; k < cases && kit_dtypes[i] != TN_BOOL; k++) {
            const conv c = random_conv(n);
            one(&c, kit_dtypes[i], transposed);
        }
    if (!transposed)
        weights_each(n);
}

/* The words of errors, and what has no elements. */
static void refusals(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 4, 8, 8)), *w = tn_ones(TN_SHAPE(6, 4, 3, 3)), *five = tn_ones(TN_SHAPE(5));
    REFUSED(tn_conv2d(x, w, five), TN_EINVAL,
            "Given weight of size [6, 4, 3, 3], expected bias to be 1-dimensional with 6 elements, but got bias of "
            "size [5] instead");
    REFUSED(tn_conv2d(tn_narrow(x, 1, 0, 3), w, TN_NONE), TN_EINVAL,
            "Given groups=1, weight of size [6, 4, 3, 3], expected input[2, 3, 8, 8] to have 4 channels, but got 3 "
            "channels instead");
    REFUSED(tn_conv2d(x, tn_narrow(w, 0, 0, 5), TN_NONE, .groups = 2), TN_EINVAL,
            "Given groups=2, expected weight to be divisible by 2 at dimension 0, but got weight of size [[5, 4, 3, "
            "3]] instead");
    REFUSED(tn_conv2d(x, w, TN_NONE, .groups = -1), TN_EINVAL, "non-positive groups is not supported");
    REFUSED(tn_conv2d(x, w, TN_NONE, .stride = TN_DIMS(0)), TN_EINVAL, "non-positive stride is not supported");
    REFUSED(tn_conv2d(x, w, TN_NONE, .padding = TN_DIMS(-1)), TN_EINVAL, "negative padding is not supported");
    REFUSED(tn_conv2d(x, w, TN_NONE, .dilation = TN_DIMS(0)), TN_EINVAL, "non-positive dilation is not supported");
    REFUSED(tn_conv2d(x, w, TN_NONE, .dilation = TN_DIMS(5)), TN_EINVAL,
            "Calculated padded input size per channel: (8 x 8). Kernel size: (11 x 11). Kernel size can't be greater "
            "than actual input size");
    REFUSED(tn_conv2d(x, tn_select(w, 0, 0), TN_NONE), TN_EINVAL,
            "expected stride to be a single integer value or a list of 1 values to match the convolution dimensions, "
            "but got stride=[1, 1]");
    REFUSED(tn_conv2d(tn_ones(TN_SHAPE(8, 8)), w, TN_NONE), TN_EINVAL,
            "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [8, 8]");
    REFUSED(tn_conv2d(x, w, TN_NONE, .stride = TN_DIMS(2), .same = true), TN_EINVAL,
            "padding='same' is not supported for strided convolutions");
    REFUSED(tn_conv2d(x, tn_to(w, .dtype = TN_F64), TN_NONE), TN_EDTYPE, "and weight type (torch.");
    REFUSED(tn_conv2d(x, w, tn_ones(TN_SHAPE(6), .dtype = TN_F64)), TN_EDTYPE,
            "Input type (float) and bias type (double) should be the same");
    REFUSED(tn_conv2d(tn_ones(TN_SHAPE(2, 4, 0, 8)), w, TN_NONE, .padding = TN_DIMS(2)), TN_EINVAL,
            "Only zero batch or zero channel inputs are supported, but got input shape: [2, 4, 0, 8]");
    REFUSED(tn_conv_transpose2d(x, tn_narrow(w, 0, 0, 4), TN_NONE, .output_padding = TN_DIMS(1)), TN_EINVAL,
            "output padding must be smaller than either stride or dilation, but got output_padding_height: 1 "
            "output_padding_width: 1 stride_height: 1 stride_width: 1 dilation_height: 1 dilation_width: 1");
    REFUSED(tn_conv_transpose2d(x, w, TN_NONE), TN_EINVAL,
            "Given transposed=1, weight of size [6, 4, 3, 3], expected input[2, 4, 8, 8] to have 6 channels, but got 4 "
            "channels instead");
    REFUSED(tn_conv_transpose2d(x, tn_narrow(w, 0, 0, 4), TN_NONE, .stride = TN_DIMS(-(INT64_C(1) << 62))), TN_EINVAL,
            "non-positive stride is not supported");
    REFUSED(tn_conv2d(x, tn_contiguous_in(w, TN_CHANNELS_LAST), TN_NONE, .padding = TN_DIMS(INT64_C(1) << 40)),
            TN_EINVAL, "Storage size calculation overflowed");
    /* a channel with its padding would have 2^62 elements, of which one is read */
    HOLDS(tn_conv3d(tn_ones(TN_SHAPE(1, 1, 2, 2, 2)), tn_ones(TN_SHAPE(1, 1, 2, 2, 2)), TN_NONE,
                    .padding = TN_DIMS((1 << 20) - 1, (1 << 20) - 1, (1 << 19) - 1),
                    .dilation = TN_DIMS((1 << 21) - 1, (1 << 21) - 1, (1 << 20) - 1)),
          TN_SHAPE(1, 1, 1, 1, 1), 0);
    HOLDS(
        tn_conv1d(counted(TN_SHAPE(1, 3), 3), tn_ones(TN_SHAPE(1, 1, 3)), TN_NONE, .stride = TN_DIMS(INT64_C(1) << 40)),
        TN_SHAPE(1, 1), 6);
    TRUTH(tn_tensor_numel(MADE(tn_conv2d(tn_narrow(x, 0, 0, 0), w, TN_NONE))) == 0);
    TRUTH(tn_tensor_memory_format(tn_conv2d(tn_contiguous_in(x, TN_CHANNELS_LAST), w, TN_NONE)) == TN_CHANNELS_LAST);
    TRUTH(tn_tensor_memory_format(tn_conv2d(x, tn_contiguous_in(w, TN_CHANNELS_LAST), TN_NONE)) == TN_CHANNELS_LAST);
    TRUTH(tn_tensor_is_contiguous(tn_conv2d(x, w, TN_NONE)));
    HOLDS(tn_conv2d(tn_ones(TN_SHAPE(1, 0, 2, 1)), tn_ones(TN_SHAPE(1, 0, 1, 1)), tn_full(TN_SHAPE(1), 3.0)),
          TN_SHAPE(1, 1, 2, 1), 3, 3);
    tn_scope_close(s);
}

static void run_conv1d(void)
{
    each(1, false);
    tn_scope *s = tn_scope_open();
    /* 1 2 3 4 with 1 10: an even kernel has its odd place of padding behind */
    HOLDS(tn_conv1d(tn_reshape(counted(TN_SHAPE(4), 4), TN_SHAPE(1, 4)),
                    tn_reshape(tn_add(tn_mul(counted(TN_SHAPE(2), 2), 9), -8), TN_SHAPE(1, 1, 2)), TN_NONE,
                    .same = true),
          TN_SHAPE(1, 4), 21, 32, 43, 4);
    tn_scope_close(s);
}
static void run_conv2d(void)
{
    each(2, false);
    refusals();
}
static void run_conv3d(void)
{
    each(3, false);
}
static void run_conv_transpose1d(void)
{
    each(1, true);
}
static void run_conv_transpose2d(void)
{
    each(2, true);
}
static void run_conv_transpose3d(void)
{
    each(3, true);
}

/* The same by its other names. */
static void run_convolution(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = counted(TN_SHAPE(2, 3, 5, 4), 120), *w = counted(TN_SHAPE(2, 3, 3, 2), 36),
              *b = counted(TN_SHAPE(2), 2);
    tn_tensor *t = counted(TN_SHAPE(3, 2, 3, 2), 36);
    TRUTH(same_within(tn_convolution(x, w, b, TN_DIMS(2, 1), TN_DIMS(1), TN_DIMS(1), false, TN_DIMS(0), 1),
                      tn_conv2d(x, w, b, .stride = TN_DIMS(2, 1), .padding = TN_DIMS(1)), 0));
    TRUTH(same_within(
        tn_convolution(x, t, TN_NONE, TN_DIMS(2), TN_DIMS(1), TN_DIMS(1), true, TN_DIMS(1), 1),
        tn_conv_transpose2d(x, t, TN_NONE, .stride = TN_DIMS(2), .padding = TN_DIMS(1), .output_padding = TN_DIMS(1)),
        0));
    REFUSED(tn_convolution(x, w, b, TN_DIMS(1), TN_DIMS(0), TN_DIMS(1), false, TN_DIMS(0), 0), TN_EINVAL,
            "non-positive groups is not supported");
    tn_scope_close(s);
}

static void run_conv_tbc(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = counted(TN_SHAPE(5, 2, 3), 30), *w = counted(TN_SHAPE(3, 3, 4), 36), *b = counted(TN_SHAPE(4), 4);
    tn_tensor *want =
        tn_conv1d(tn_permute(x, TN_DIMS(1, 2, 0)), tn_permute(w, TN_DIMS(2, 1, 0)), b, .padding = TN_DIMS(1));
    TRUTH(same_within(tn_conv_tbc(x, w, b, 1), tn_permute(want, TN_DIMS(2, 0, 1)), 0));
    REFUSED(tn_conv_tbc(x, tn_narrow(w, 1, 0, 2), b, 1), TN_EINVAL,
            "Input dim 2 (input channels) is not == dim 1 in the weight tensor");
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"conv1d", run_conv1d},
    {"conv2d", run_conv2d},
    {"conv3d", run_conv3d},
    {"conv_transpose1d", run_conv_transpose1d},
    {"conv_transpose2d", run_conv_transpose2d},
    {"conv_transpose3d", run_conv_transpose3d},
    {"convolution", run_convolution},
    {"conv_tbc", run_conv_tbc},
    {NULL, NULL},
};

/* ---- gradients ---- */

F(conv1d, tn_conv1d(x, y, in[2], .stride = TN_DIMS(2), .padding = TN_DIMS(1), .dilation = TN_DIMS(2)))
F(conv2d, tn_conv2d(x, y, in[2], .stride = TN_DIMS(2, 1), .padding = TN_DIMS(1, 0)))
F(conv2d_groups, tn_conv2d(x, y, TN_NONE, .groups = 2, .padding = TN_DIMS(1)))
F(conv3d, tn_conv3d(tn_unsqueeze(x, 0), tn_unsqueeze(y, 0), in[2], .padding = TN_DIMS(1, 0, 1)))
F(conv_transpose2d,
  tn_conv_transpose2d(x, y, in[2], .stride = TN_DIMS(2, 1), .padding = TN_DIMS(1, 0), .output_padding = TN_DIMS(1, 0)))
F(conv_transpose1d, tn_conv_transpose1d(x, y, TN_NONE, .groups = 2, .dilation = TN_DIMS(2), .stride = TN_DIMS(3)))
F(conv_transpose_more, tn_conv_transpose1d(x, y, TN_NONE, .dilation = TN_DIMS(3), .output_padding = TN_DIMS(2)))
F(convolution_weight, tn__convolution_weight(x, y, TN_DIMS(2, 1), TN_DIMS(1, 0), TN_DIMS(1, 1), 1, TN_DIMS(2, 2)))

static const gradient_case gradients[] = {
    {"conv1d", f_conv1d, 3, {{3, {2, 2, 6}}, {3, {3, 2, 2}}, {1, {3}}}, false},
    {"conv2d", f_conv2d, 3, {{4, {2, 2, 4, 3}}, {4, {2, 2, 3, 2}}, {1, {2}}}, false},
    {"conv2d of groups", f_conv2d_groups, 2, {{4, {1, 4, 3, 3}}, {4, {2, 2, 2, 3}}}, false},
    {"conv3d", f_conv3d, 3, {{4, {2, 2, 3, 2}}, {4, {2, 2, 2, 2}}, {1, {1}}}, false},
    {"conv_transpose2d", f_conv_transpose2d, 3, {{4, {2, 2, 2, 2}}, {4, {2, 1, 3, 2}}, {1, {1}}}, false},
    {"conv_transpose1d of groups", f_conv_transpose1d, 2, {{3, {2, 4, 3}}, {3, {4, 1, 2}}}, false},
    {"conv_transpose1d, more than it reaches", f_conv_transpose_more, 2, {{3, {2, 2, 3}}, {3, {2, 1, 2}}}, false},
    {"_convolution_weight", f_convolution_weight, 2, {{4, {2, 2, 3, 2}}, {4, {2, 2, 4, 3}}}, false},
    {NULL, NULL, 0, {{0, {0}}}, false},
};

/* ---- PyTorch's records ---- */

/* The list of that name, or one number. */
static tn_dims numbers(record *r, const char *name)
{
    dims_buffer b;
    return dims_of(record_arg(r, -1, name), &b);
}

static tn_tensor *bias_of(record *r)
{
    const value v = record_arg(r, 1, "bias");
    return v.kind == V_TENSOR ? v.t : TN_NONE;
}

static bool is_same(record *r)
{
    const value v = record_arg(r, -1, "padding");
    return v.kind == V_TEXT && !strcmp(v.text, "same");
}

#define RECORDS(n) \
    static bool record_conv##n##d(record *r, results *out) \
    { \
        return give(out, tn_conv##n##d(r->input.t, TENSOR(0, "weight"), bias_of(r), .stride = numbers(r, "stride"), \
                                       .padding = numbers(r, "padding"), .dilation = numbers(r, "dilation"), \
                                       .groups = int_of(record_arg(r, -1, "groups"), 1), .same = is_same(r))); \
    } \
    static bool record_conv_transpose##n##d(record *r, results *out) \
    { \
        return give(out, tn_conv_transpose##n##d(r->input.t, TENSOR(0, "weight"), bias_of(r), \
                                                 .stride = numbers(r, "stride"), .padding = numbers(r, "padding"), \
                                                 .dilation = numbers(r, "dilation"), \
                                                 .output_padding = numbers(r, "output_padding"), \
                                                 .groups = int_of(record_arg(r, -1, "groups"), 1))); \
    }
RECORDS(1)
RECORDS(2)
RECORDS(3)

static const named_adapter adapters[] = {
    {"nn.functional.conv1d", record_conv1d},
    {"nn.functional.conv2d", record_conv2d},
    {"nn.functional.conv3d", record_conv3d},
    {"nn.functional.conv_transpose1d", record_conv_transpose1d},
    {"nn.functional.conv_transpose2d", record_conv_transpose2d},
    {"nn.functional.conv_transpose3d", record_conv_transpose3d},
    {NULL, NULL},
};

const family_tests convolution_tests = {cases, gradients, adapters};
