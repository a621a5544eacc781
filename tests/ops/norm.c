/* Normalisation: small cases worked out by hand. */
#include "ops/family.h"

static void run_norms(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_sub(tn_mul(tn_gt(counted(TN_SHAPE(2, 2), 4), 2), 6.0), 3), *t = tn_t(x);
    tn_tensor *mean = tn_zeros(TN_SHAPE(2)), *var = tn_ones(TN_SHAPE(2)), *w = counted(TN_SHAPE(2), 2);
    /* -3, 3: mean 0, variance 9 */
    HOLDS(tn_layer_norm(t, TN_DIMS(2), .eps = TN_SCALAR(7)), TN_SHAPE(2, 2), -0.75, 0.75, -0.75, 0.75);
    HOLDS(tn_layer_norm(t, TN_DIMS(2), .weight = w, .bias = w, .eps = TN_SCALAR(7)), TN_SHAPE(2, 2), 0.25, 3.5, 0.25,
          3.5);
    HOLDS(tn_batch_norm(x, TN_NONE, TN_NONE, .training = true, .eps = TN_SCALAR(7)), TN_SHAPE(2, 2), -0.75, -0.75, 0.75,
          0.75);
    HOLDS(tn_batch_norm(tn_add(x, 1), mean, var, .weight = w, .bias = w, .training = true, .momentum = TN_SCALAR(0.5),
                        .eps = TN_SCALAR(7)),
          TN_SHAPE(2, 2), 0.25, 0.5, 1.75, 3.5);
    HOLDS(mean, TN_SHAPE(2), 0.5, 0.5);
    HOLDS(var, TN_SHAPE(2), 9.5, 9.5); /* half of 1 and of the unbiased 18 */
    HOLDS(tn_batch_norm(x, mean, var, .eps = TN_SCALAR(6.5)), TN_SHAPE(2, 2), -0.875, -0.875, 0.625, 0.625);
    REFUSED(tn_layer_norm(x, tn_dims_of(NULL, 1)), TN_EINVAL, "a list of 0 to 8 numbers was expected");
    REFUSED(tn_layer_norm(x, TN_DIMS(3)), TN_EINVAL,
            "Given normalized_shape=[3], expected input with shape [*, 3], but got input of size[2, 2]");
    REFUSED(tn_layer_norm(x, TN_DIMS(2), .weight = mean, .bias = tn_ones(TN_SHAPE(2), .dtype = TN_F64)), TN_EDTYPE,
            "expected scalar type Float but found Double");
    tn_tensor *half = tn_to(x, .dtype = TN_BF16);
    HOLDS(tn_batch_norm(half, mean, var, .eps = TN_SCALAR(6.5)), TN_SHAPE(2, 2), -0.875, -0.875, 0.625, 0.625);
    HOLDS(half, TN_SHAPE(2, 2), kit_item(x, 0), kit_item(x, 1), kit_item(x, 2), kit_item(x, 3));
    TRUTH(tn_tensor_dtype(tn_batch_norm(half, mean, var)) == TN_BF16);
    REFUSED(tn_batch_norm(x, TN_NONE, TN_NONE), TN_EINVAL, "running_mean must be defined in evaluation mode");
    REFUSED(tn_batch_norm(tn_ones(TN_SHAPE(1, 2)), mean, var, .training = true), TN_EVALUE,
            "Expected more than 1 value per channel");
    tn_scope_close(s);
}

/* A parameter of n elements, of x's dtype or, beside one of 16 bits, of float32. */
static void parameter(kit_array *p, const kit_array *x, int64_t n)
{
    random_array(p,
                 kit_random() & 1                               ? x->dtype
                 : kit_is_float(x->dtype) && x->dtype != TN_F64 ? TN_F32
                                                                : x->dtype,
                 1, &n, KIT_DENSE, true);
}

/* Of any layout, of 16 bits too, and rows longer than a block; with parameters (1: weight, 2: bias). */
static void layer_norm_of(kit_array *x, int given)
{
    const real small = 0.5L;
    const int64_t n = x->shape[x->ndim - 1];
    kit_array w, b;
    parameter(&w, x, n);
    random_array(&b, w.dtype, 1, &n, KIT_DENSE, true);
    tn_tensor *got = tn_layer_norm(x->t, TN_DIMS(n), .eps = TN_SCALAR(0.5), .weight = given & 1 ? w.t : TN_NONE,
                                   .bias = given & 2 ? b.t : TN_NONE);
    expected e;
    expected_init(&e, x->dtype, x->ndim, x->shape);
    expected_tolerate(&e);
    for (int64_t at = 0; at < x->numel; at += n) {
        real mean = 0, var = 0, most = 0;
        for (int64_t k = at; k < at + n; k++)
            mean += x->v[k] / (real)n;
        for (int64_t k = at; k < at + n; k++) {
            var += (x->v[k] - mean) * (x->v[k] - mean) / (real)n;
            most = fmaxl(most, fabsl(x->v[k]));
        }
        for (int64_t k = at; k < at + n; k++) { /* errors: of the difference, of the mean, of the scale, of two more */
            const real z = (x->v[k] - mean) / sqrtl(var + small), by = given & 1 ? w.v[k - at] : 1;
            e.v[k] = z * by + (given & 2 ? b.v[k - at] : 0);
            e.tol[k] =
                compute_eps(x->dtype) * (fabsl(by) * (9 * fabsl(z) + 4 * most / sqrtl(var + small)) + fabsl(e.v[k]));
        }
    }
    e.ulps = kit_digits(x->dtype) < 24 ? 1 : 0;
    check_free(&e, got, "layer_norm of %s %s %s, parameters %d of %s", tn_dtype_name(x->dtype),
               kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout], given, tn_dtype_name(w.dtype));
    kit_array_free(&w);
    kit_array_free(&b);
}

static void layer_norm_each(kit_array *x)
{
    if (!x->ndim)
        return;
    if (!kit_is_float(x->dtype)) {
        refused(tn_layer_norm(x->t, TN_DIMS(x->shape[x->ndim - 1])), TN_EDTYPE, "not implemented for", "layer_norm");
        return;
    }
    layer_norm_of(x, 0);
    layer_norm_of(x, 1 + (int)kit_below(3));
}

/* The same by one pass, with the gradients of both parameters. */
static void gradients_at_once(const kit_array *x, const kit_array *g, const kit_array *w, int kind, const expected *e,
                              expected of[2])
{
    const bool asked = w && kit_on_cpu();
    static const char *const names[] = {"weight", "bias"};
    tn_tensor *got = NULL;
    if (asked)
        check(e, tn__standardize_gradients(g->t, x->t, w->t, TN_DIMS(1), kind, 0.25, .of_parameters = &got),
              "_standardize_gradients of %s, kind %d", tn_dtype_name(x->dtype), kind);
    for (int i = 0; i < 2; i++)
        if (asked)
            check_free(&of[i], tn_select(got, 0, i), "_standardize_gradients of %s, rows of %lld, kind %d: %s",
                       tn_dtype_name(x->dtype), (long long)x->shape[1], kind, names[i]);
        else
            expected_free(&of[i]);
}

/* The gradient of rows of many lanes: scale * (g - mean(g) - z * mean(g * z)), g times the weight; by norm sums for means. */
static void backward_of(tn_dtype d, int64_t n, int kind, bool weighted)
{
    const int64_t shape[2] = {6, n};
    kit_array x, g, w;
    expected e, of[2];
    tn_scope *s = tn_scope_open();
    random_array(&x, d, 2, shape, KIT_DENSE, true);
    random_array(&g, d, 2, shape, KIT_DENSE, true);
    random_array(&w, d == TN_F64 ? d : TN_F32, 1, &n, KIT_DENSE, true);
    expected_init(&e, d, 2, shape);
    expected_tolerate(&e);
    for (int i = 0; i < 2; i++) {
        expected_init(&of[i], w.dtype, 1, &n);
        expected_tolerate(&of[i]);
    }
    for (int64_t at = 0; at < x.numel; at += n) {
        real mean = 0, squares = 0, sum = 0, dot = 0, most = 0;
        for (int64_t k = 0; k < n && kind == 0; k++)
            mean += x.v[at + k] / (real)n;
        for (int64_t k = 0; k < n; k++)
            squares += (x.v[at + k] - mean) * (x.v[at + k] - mean);
        const real scale = 1 / sqrtl(kind == 2 ? squares : squares / (real)n + 0.25L), by = kind == 2 ? 1 : (real)n;
        for (int64_t k = 0; k < n; k++) {
            const real gw = g.v[at + k] * (weighted ? w.v[k] : 1);
            sum += kind == 0 ? gw / by : 0;
            dot += gw * (x.v[at + k] - mean) * scale / by;
            most = fmaxl(most, fmaxl(fabsl(gw), fabsl(x.v[at + k]) * scale));
        }
        for (int64_t k = 0; k < n; k++) {
            const real z = (x.v[at + k] - mean) * scale;
            e.v[at + k] = scale * (g.v[at + k] * (weighted ? w.v[k] : 1) - sum - z * dot);
            e.tol[at + k] = 16 * compute_eps(d) * scale * (1 + most) * (1 + most) * (1 + fabsl(dot));
            of[0].v[k] += z * g.v[at + k];
            of[1].v[k] += g.v[at + k];
            for (int i = 0; i < 2; i++)
                of[i].tol[k] += 16 * compute_eps(d) * (1 + most) * (1 + fabsl(g.v[at + k]));
        }
    }
    e.ulps = kit_digits(d) < 24 ? 1 : 0;
    gradients_at_once(&x, &g, weighted ? &w : NULL, kind, &e, of);
    check_free(&e, tn__standardize_backward(g.t, x.t, weighted ? w.t : TN_NONE, TN_DIMS(1), kind, 0.25),
               "_standardize_backward of %s, rows of %lld, kind %d%s", tn_dtype_name(d), (long long)n, kind,
               weighted ? ", weighted" : "");
    kit_array_free(&x);
    kit_array_free(&g);
    kit_array_free(&w);
    tn_scope_close(s);
}

/* What training takes, in one pass, and what is recorded for another derivative, give the same. */
static void gradients_of_parameters(tn_dtype d, int64_t rows, int64_t n)
{
    const int64_t shape[2] = {rows, n};
    tn_scope *s = tn_scope_open();
    kit_array x, p[2];
    tn_tensor *got[2][3];
    random_array(&x, d, 2, shape, KIT_DENSE, true);
    for (int i = 0; i < 2; i++)
        random_array(&p[i], d == TN_F64 ? d : TN_F32, 1, &n, KIT_DENSE, true);
    tn_tensor *in[] = {tn_requires_grad_(x.t, true), tn_requires_grad_(p[0].t, true), tn_requires_grad_(p[1].t, true)};
    for (int again = 0; again < 2; again++) {
        tn_tensor *y = tn_layer_norm(in[0], TN_DIMS(n), .weight = in[1], .bias = in[2], .eps = TN_SCALAR(0.25));
        TRUTH(!tn_grad(TN_TENSORS(y), ((tn_tensors){in, 3}), got[again], .create_graph = again,
                       .grad_outputs = TN_TENSORS(MADE(tn_mul(tn_detach(y), 0.5)))));
    }
    const double near = kit_digits(d) < 24 ? 0.02 : 1e-4;
    for (int i = 0; i < 3; i++)
        TRUTH(tn_allclose(got[0][i], tn_detach(got[1][i]), .rtol = tn_scalar_f(near), .atol = tn_scalar_f(near)));
    kit_array_free(&x);
    kit_array_free(&p[0]);
    kit_array_free(&p[1]);
    tn_scope_close(s);
}

/* Rows side by side of 16 bits are those of float32, rounded, and so are their gradients: in a piece and in several. */
static void sides_of(tn_dtype d, int64_t n, int64_t width)
{
    const int64_t shape[2] = {n, width};
    tn_scope *s = tn_scope_open();
    kit_array x, g;
    random_array(&x, d, 2, shape, KIT_DENSE, true);
    random_array(&g, d, 2, shape, KIT_DENSE, true);
    tn_tensor *wide = MADE(tn_to(x.t, .dtype = TN_F32)), *by = MADE(tn_to(g.t, .dtype = TN_F32));
    for (int kind = 0; kind < 3; kind++)
        for (int back = 0; back < 2; back++) {
            tn_tensor *got = MADE(back ? tn__standardize_backward(g.t, x.t, TN_NONE, TN_DIMS(0), kind, 0.25)
                                       : tn__standardize(x.t, TN_NONE, TN_NONE, TN_DIMS(0), kind, 0.25));
            tn_tensor *want = MADE(back ? tn__standardize_backward(by, wide, TN_NONE, TN_DIMS(0), kind, 0.25)
                                        : tn__standardize(wide, TN_NONE, TN_NONE, TN_DIMS(0), kind, 0.25));
            const double most = kit_item(tn_max(tn_abs(want)), 0), unit = ldexp(1, -kit_digits(d));
            TRUTH(tn_allclose(tn_to(got, .dtype = TN_F32), want, .rtol = tn_scalar_f(1.01 * unit),
                              .atol = tn_scalar_f(1e-5 * most)));
        }
    kit_array_free(&x);
    kit_array_free(&g);
    tn_scope_close(s);
}

static void run_layer_norm(void)
{
    for (int64_t n = 1; n < 60; n = 2 * n + 3) {
        sides_of(TN_BF16, n, 1100);
        sides_of(TN_F16, n, 1100);
        sides_of(TN_BF16, n, 37);
    }
    static const tn_dtype floats[] = {TN_F32, TN_F64, TN_BF16};
    for (int i = 0; i < 3; i++) {
        gradients_of_parameters(floats[i], 21, 40);
        gradients_of_parameters(floats[i], 200, 1000); /* in pieces */
    }
    static const shape_list rows[] = {{2, {3, 5000}}, {2, {700, 3}}, {2, {40, 1025}}, {3, {2, 5, 33}}};
    static const int64_t lengths[] = {33, 40, 1000, 4096, 9000, 20000};
    each_array(layer_norm_each, true);
    for (size_t i = 0; i < TN_COUNT(lengths); i++)
        for (int form = 0; form < 18; form++)
            backward_of(form % 3 == 0 ? TN_F32 : form % 3 == 1 ? TN_F64 : TN_BF16, lengths[i], form / 3 % 3, form >= 9);
    for (int i = 6; i < KIT_DTYPES; i++)
        for (size_t k = 0; k < TN_COUNT(rows); k++)
            for (int layout = KIT_DENSE; layout <= KIT_TRANSPOSED; layout++) {
                kit_array x;
                tn_scope *s = tn_scope_open();
                random_array(&x, kit_dtypes[i], rows[k].ndim, rows[k].dim, (kit_layout)layout, true);
                layer_norm_each(&x);
                kit_array_free(&x);
                tn_scope_close(s);
            }
    run_norms();
}

/* Rows of -3, 3 by hand: mean 0, variance and mean of squares 9. */
static void run_groups(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_sub(tn_mul(tn_gt(counted(TN_SHAPE(2, 2), 4), 2), 6.0), 3), *t = MADE(tn_t(x));
    tn_tensor *channels = MADE(tn_reshape(t, TN_SHAPE(1, 4))), *line = MADE(tn_reshape(t, TN_SHAPE(1, 2, 2)));
    tn_tensor *w = counted(TN_SHAPE(4), 4), *pair = counted(TN_SHAPE(2), 2);
    tn_tensor *mean = tn_zeros(TN_SHAPE(2)), *var = tn_ones(TN_SHAPE(2));
    HOLDS(tn_rms_norm(t, TN_DIMS(2), .eps = TN_SCALAR(7)), TN_SHAPE(2, 2), -0.75, 0.75, -0.75, 0.75);
    HOLDS(tn_rms_norm(tn_add(t, 5), TN_DIMS(2), .weight = pair, .eps = TN_SCALAR(30)), TN_SHAPE(2, 2), 0.25, 2, 0.25,
          2);
    HOLDS(tn_group_norm(channels, 2, .eps = TN_SCALAR(7)), TN_SHAPE(1, 4), -0.75, 0.75, -0.75, 0.75);
    HOLDS(tn_group_norm(channels, 2, .weight = w, .bias = w, .eps = TN_SCALAR(7)), TN_SHAPE(1, 4), 0.25, 3.5, 0.75, 7);
    HOLDS(tn_instance_norm(tn_add(line, 1), mean, var, .weight = pair, .use_input_stats = true,
                           .momentum = TN_SCALAR(0.5), .eps = TN_SCALAR(7)),
          TN_SHAPE(1, 2, 2), -0.75, 0.75, -1.5, 1.5);
    HOLDS(mean, TN_SHAPE(2), 0.5, 0.5);
    HOLDS(var, TN_SHAPE(2), 9.5, 9.5); /* half of 1 and of the unbiased 18 */
    HOLDS(tn_instance_norm(line, mean, var, .eps = TN_SCALAR(6.5)), TN_SHAPE(1, 2, 2), -0.875, 0.625, -0.875, 0.625);
    REFUSED(tn_group_norm(channels, 3), TN_EINVAL,
            "Expected number of channels in input to be divisible by num_groups, but got input of shape [1, 4] and "
            "num_groups=3");
    REFUSED(tn_group_norm(channels, 0), TN_EINVAL, "Expected num groups to be greater than 0, got 0");
    REFUSED(tn_group_norm(channels, 2, .weight = pair), TN_EINVAL,
            "Expected weight to be a vector of size equal to the number of channels in input");
    REFUSED(tn_instance_norm(line, TN_NONE, TN_NONE), TN_EINVAL,
            "Expected running_mean and running_var to be defined when use_input_stats is false");
    tn_scope_close(s);
}

/* Squares of channels by hand; 1e-7 beside a norm of 16 is nothing in float32. */
static void run_bounded(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *ones = MADE(tn_ones(TN_SHAPE(1, 3, 1)));
    tn_tensor *x = MADE(tn_mul(counted(TN_SHAPE(2, 2), 4), 2)); /* 2, 4; 6, 8 */
    HOLDS(tn_local_response_norm(ones, 2, .alpha = TN_SCALAR(4), .beta = TN_SCALAR(1), .k = TN_SCALAR(0)),
          TN_SHAPE(1, 3, 1), 0.5, 0.25, 0.25);
    HOLDS(tn_renorm(tn_add(x, 1), tn_scalar_i(1), 0, tn_scalar_i(8)), TN_SHAPE(2, 2), 3, 5, 3.5, 4.5);
    REFUSED(tn_local_response_norm(x, 2), TN_EVALUE, "Expected 3D or higher dimensionality input (got 2 dimensions)");
    REFUSED(tn_renorm(x, tn_scalar_i(0), 0, tn_scalar_i(8)), TN_EINVAL, "renorm: non-positive-norm not supported");
    REFUSED(tn_renorm(x, tn_scalar_i(2), 0, tn_scalar_i(-1)), TN_EINVAL,
            "renorm: expected maxnorm to be >= 0 but got -1");
    REFUSED(tn_renorm(MADE(tn_select(x, 0, 0)), tn_scalar_i(2), 0, tn_scalar_i(1)), TN_EINVAL,
            "renorm: input needs at least 2 dimensions, got 1 dimensions");
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"layer_norm", run_layer_norm}, {"batch_norm", run_norms},
    {"rms_norm", run_groups},       {"group_norm", run_groups},
    {"instance_norm", run_groups},  {"local_response_norm", run_bounded},
    {"renorm", run_bounded},        {NULL, NULL},
};

/* ---- gradients ---- */

F(layer_norm, tn_layer_norm(x, TN_DIMS(tn_tensor_size(x, -1)), .eps = TN_SCALAR(0.25)))
F(layer_norm_scaled, tn_layer_norm(x, TN_DIMS(tn_tensor_size(x, -1)), .weight = tn_select(y, 0, 0),
                                   .bias = tn_select(y, 0, -1), .eps = TN_SCALAR(0.25)))
F(standardize_first, tn__standardize(x, TN_NONE, TN_NONE, TN_DIMS(0), 0, 0.25))
F(standardize_all, tn__standardize(x, TN_NONE, TN_NONE, TN_DIMS(0, 1), 0, 0.25))
F(by_squares, tn__standardize(x, TN_NONE, TN_NONE, TN_DIMS(0), 1, 0.25))
F(by_norm, tn__standardize(x, TN_NONE, TN_NONE, TN_DIMS(0), 2, 0.25))
F(by_a_fixed_norm, tn__standardize(x, TN_NONE, TN_NONE, TN_DIMS(-1), 2, 100))
F(standardize_backward, tn__standardize_backward(x, y, TN_NONE, TN_DIMS(1), 0, 0.25))
F(by_squares_backward, tn__standardize_backward(x, y, TN_NONE, TN_DIMS(1), 1, 0.25))
F(by_norm_backward, tn__standardize_backward(x, y, TN_NONE, TN_DIMS(0), 2, 0.25))
F(rms_norm, tn_rms_norm(x, TN_DIMS(tn_tensor_size(x, -1)), .weight = tn_select(y, 0, 0), .eps = TN_SCALAR(0.25)))
F(batch_norm,
  tn_batch_norm(x, TN_NONE, TN_NONE, .weight = tn_select(y, 0, 0), .training = true, .eps = TN_SCALAR(0.25)))
F(batch_norm_running,
  tn_batch_norm(x, tn_full_like(tn_detach(tn_select(y, 0, 0)), 0.5), tn_full_like(tn_detach(tn_select(y, 0, 0)), 2),
                .weight = tn_select(y, 0, 0), .bias = tn_select(y, 0, -1)))
F(group_norm, tn_group_norm(tn_unsqueeze(x, 0), 1, .eps = TN_SCALAR(0.25)))
F(instance_norm,
  tn_instance_norm(tn_unsqueeze(x, 0), TN_NONE, TN_NONE, .use_input_stats = true, .eps = TN_SCALAR(0.25)))
F(local_response_norm, tn_local_response_norm(tn_unsqueeze(x, 0), 2, .alpha = TN_SCALAR(0.5)))
F(renorm, tn_renorm(x, tn_scalar_i(2), 0, tn_scalar_f(0.5)))

static const gradient_case gradients[] = {
    ONE(layer_norm),
    TWO(layer_norm_scaled),
    ONE(standardize_first),
    ONE(standardize_all),
    ONE(by_squares),
    ONE(by_norm),
    ONE(by_a_fixed_norm),
    TWO(standardize_backward),
    TWO(by_squares_backward),
    TWO(by_norm_backward),
    TWO(rms_norm),
    TWO(batch_norm),
    TWO(batch_norm_running),
    ONE(group_norm),
    ONE(instance_norm),
    ONE(local_response_norm),
    ONE(renorm),
    {NULL, NULL, 0, {{0, {0}}}, false},
};

/* ---- PyTorch's records ---- */

static bool record_layer_norm(record *r, results *out)
{
    dims_buffer b;
    return give(out, tn_layer_norm(r->input.t, dims_of(record_arg(r, 0, "normalized_shape"), &b),
                                   .weight = TENSOR(1, "weight"), .bias = TENSOR(2, "bias"), .eps = AT(3, "eps")));
}

static tn_tensor *or_none(value v)
{
    return v.kind == V_TENSOR ? v.t : TN_NONE;
}

static bool record_batch_norm(record *r, results *out)
{
    return give(out, tn_batch_norm(r->input.t, or_none(record_arg(r, 0, "running_mean")),
                                   or_none(record_arg(r, 1, "running_var")), .weight = TENSOR(2, "weight"),
                                   .bias = TENSOR(3, "bias"), .training = flag_of(record_arg(r, 4, "training")),
                                   .momentum = AT(5, "momentum"), .eps = AT(6, "eps")));
}

static bool record_rms_norm(record *r, results *out)
{
    dims_buffer b;
    return give(out, tn_rms_norm(r->input.t, dims_of(record_arg(r, 0, "normalized_shape"), &b),
                                 .weight = TENSOR(1, "weight"), .eps = AT(2, "eps")));
}

static bool record_group_norm(record *r, results *out)
{
    return give(out, tn_group_norm(r->input.t, DIM(0, "num_groups", 0), .weight = TENSOR(1, "weight"),
                                   .bias = TENSOR(2, "bias"), .eps = AT(3, "eps")));
}

static bool record_instance_norm(record *r, results *out)
{
    const value given = record_arg(r, 4, "use_input_stats");
    return give(out, tn_instance_norm(r->input.t, or_none(record_arg(r, 0, "running_mean")),
                                      or_none(record_arg(r, 1, "running_var")), .weight = TENSOR(2, "weight"),
                                      .bias = TENSOR(3, "bias"), .use_input_stats = given.kind != V_BOOL || given.i,
                                      .momentum = AT(5, "momentum"), .eps = AT(6, "eps")));
}

static bool record_local_response_norm(record *r, results *out)
{
    return give(out, tn_local_response_norm(r->input.t, DIM(0, "size", 0), .alpha = AT(1, "alpha"),
                                            .beta = AT(2, "beta"), .k = AT(3, "k")));
}

static bool record_renorm(record *r, results *out)
{
    return give(out, tn_renorm(r->input.t, AT(0, "p"), DIM(1, "dim", 0), AT(2, "maxnorm")));
}

static const named_adapter adapters[] = {
    {"nn.functional.rms_norm", record_rms_norm},
    {"nn.functional.group_norm", record_group_norm},
    {"nn.functional.instance_norm", record_instance_norm},
    {"nn.functional.local_response_norm", record_local_response_norm},
    {"renorm", record_renorm},
    {"nn.functional.layer_norm", record_layer_norm},
    {"nn.functional.batch_norm", record_batch_norm},
    {NULL, NULL},
};

const family_tests norm_tests = {cases, gradients, adapters};
