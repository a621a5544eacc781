/* Losses: each reduction, with weights and targets of each kind. */
#include "ops/family.h"
#include <string.h>

/* ---- formulas ---- */

FORMULA(weighted_mse_loss, tn_weighted_mse_loss(x, y, tn_full_like(x, 3), NONE), 3 * (x - y) * (x - y))
FORMULA(weighted_l1_loss, tn_weighted_l1_loss(x, y, tn_full_like(x, 3), NONE), 3 * fabsl(x - y))
FORMULA(weighted_huber_loss, tn_weighted_huber_loss(x, y, tn_full_like(x, 3), NONE, .delta = TN_SCALAR(2)),
        3 * (fabsl(x - y) <= 2 ? (x - y) * (x - y) / 2 : 2 * (fabsl(x - y) - 1)))
FORMULA(smooth_l1_loss, tn_smooth_l1_loss(x, y, NONE, .beta = TN_SCALAR(2)),
        fabsl(x - y) < 2 ? (x - y) * (x - y) / 4 : fabsl(x - y) - 1)
FORMULA(huber_loss, tn_huber_loss(x, y, NONE, .delta = TN_SCALAR(2)),
        fabsl(x - y) <= 2 ? (x - y) * (x - y) / 2 : 2 * (fabsl(x - y) - 1))
FORMULA(binary_cross_entropy, tn_binary_cross_entropy(x, y, NONE), -y *logl(x) - (1 - y) * log1pl(-x))
FORMULA(kl_div, tn_kl_div(x, y, NONE), y *(logl(y) - x))
FORMULA(kl_div_log, tn_kl_div(x, y, NONE, .log_target = true), expl(y) * (y - x))

static const formula formulas[] = {
    FORMULA_ROW(weighted_mse_loss, 16, false),
    FORMULA_ROW(weighted_l1_loss, 16, false),
    FORMULA_ROW(weighted_huber_loss, 16, false),
    FORMULA_ROW(smooth_l1_loss, 8, false),
    FORMULA_ROW(huber_loss, 8, false),
    FORMULA_ROW(binary_cross_entropy, 8, true),
    FORMULA_ROW(kl_div, 8, true),
    FORMULA_ROW(kl_div_log, 8, true),
};

static void run_formulas(void)
{
    formulas_hold(formulas, TN_COUNT(formulas));
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(3)), *two = tn_ones(TN_SHAPE(2));
    REFUSED(tn_weighted_mse_loss(x, x, two), TN_EVALUE, "Weights and input must have the same size.");
    REFUSED(tn_smooth_l1_loss(x, x, .beta = TN_SCALAR(-1)), TN_EINVAL,
            "smooth_l1_loss does not support negative values for beta.");
    REFUSED(tn_huber_loss(x, x, .delta = TN_SCALAR(0)), TN_EINVAL,
            "huber_loss does not support non-positive values for delta.");
    REFUSED(tn_binary_cross_entropy(x, two), TN_EVALUE, "Using a target size (torch.Size([2])) that is");
    REFUSED(tn_kl_div(x, x, .reduction = 7), TN_EVALUE, "not a valid value for reduction");
    /* means: over the weights, and over the elements; batchmean: over the first dimension */
    tn_tensor *w = tn_arange(1, 4, 1, .dtype = TN_F32), *zeros = tn_zeros_like(x);
    TRUTH(kit_item(tn_weighted_mse_loss(tn_mul(w, 1), zeros, w), 0) == 6);
    TRUTH(kit_item(tn_weighted_l1_loss(x, zeros, w), 0) == 1);
    TRUTH(kit_item(tn_weighted_huber_loss(x, zeros, w), 0) == 1);
    TRUTH(kit_item(tn_kl_div(zeros, x, .reduction = TN_BATCH_MEAN, .log_target = true), 0) ==
          kit_item(tn_kl_div(zeros, x, .reduction = TN_MEAN, .log_target = true), 0));
    /* a logarithm is not below -100, and 0 log 0 is 0 */
    tn_tensor *zero = tn_zeros(TN_SHAPE(1));
    TRUTH(kit_item(tn_binary_cross_entropy(zero, tn_ones(TN_SHAPE(1))), 0) == 100);
    TRUTH(kit_item(tn_binary_cross_entropy(zero, zero), 0) == 0);
    REFUSED(tn_binary_cross_entropy(tn_full(TN_SHAPE(2), 1.5), tn_ones(TN_SHAPE(2))), TN_EINVAL,
            "all elements of input should be between 0 and 1");
    REFUSED(tn_binary_cross_entropy(tn_full(TN_SHAPE(2), -1.0), tn_ones(TN_SHAPE(2))), TN_EINVAL,
            "all elements of input should be between 0 and 1");
    REFUSED(tn_binary_cross_entropy(tn_full(TN_SHAPE(2), NAN), tn_ones(TN_SHAPE(2))), TN_EINVAL,
            "all elements of input should be between 0 and 1");
    REFUSED(tn_binary_cross_entropy(tn_ones(TN_SHAPE(2)), tn_full(TN_SHAPE(2), 1.5)), TN_EINVAL,
            "all elements of target should be between 0 and 1");
    REFUSED(tn_binary_cross_entropy(tn_tensor_from(TN_LIST(0.5, 2.0)), tn_tensor_from(TN_LIST(2.0, 0.5))), TN_EINVAL,
            "all elements of target should be between 0 and 1");
    TRUTH(kit_item(tn_binary_cross_entropy(zero, zero), 0) == 0);
    MADE(tn_binary_cross_entropy(tn_full(TN_SHAPE(2), 1.5), tn_ones(TN_SHAPE(2)), .unchecked = true));
    TRUTH(isnan(kit_item(tn_binary_cross_entropy(zero, tn_full(TN_SHAPE(1), 1.5), .unchecked = true), 0)));
    tn_tensor *unknown = tn_full(TN_SHAPE(1), NAN); /* a weight: no error */
    TRUTH(isnan(kit_item(tn_binary_cross_entropy(zero, zero, .weight = unknown), 0)));
    REFUSED(tn_binary_cross_entropy(zero, unknown, .weight = zero, .reduction = TN_NO_REDUCTION), TN_EINVAL,
            "all elements of target should be between 0 and 1");
    TRUTH(kit_item(tn_kl_div(tn_ones(TN_SHAPE(1)), zero), 0) == 0);
    /* with beta 0 it is l1_loss, which integers have */
    tn_tensor *whole =
        tn_smooth_l1_loss(tn_arange(0, 3, 1), tn_full(TN_SHAPE(3), 5), .reduction = TN_SUM, .beta = TN_SCALAR(0));
    TRUTH(whole && tn_tensor_dtype(whole) == TN_I64 && kit_item(whole, 0) == 12);
    tn_scope_close(s);
}

/* Of rows: 3, 4 and 0, 1 */
static void run_rows(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *a = tn_reshape(tn_sub(tn_arange(0, 6, 1, .dtype = TN_F64), 2), TN_SHAPE(2, 3));
    tn_tensor *b = tn_add(tn_square(a), 1);
    const int64_t shape[2] = {2, 3};
    expected cosine, distance, unit;
    expected_init(&cosine, TN_F64, 1, shape);
    expected_init(&distance, TN_F64, 1, shape);
    expected_init(&unit, TN_F64, 2, shape);
    cosine.ulps = distance.ulps = unit.ulps = 4;
    for (int i = 0; i < 2; i++) {
        real dot = 0, aa = 0, bb = 0, cubes = 0;
        for (int k = 0; k < 3; k++) {
            const real x = (real)(3 * i + k - 2), y = x * x + 1;
            dot += x * y, aa += x * x, bb += y * y;
            cubes += powl(fabsl(x - y + 1e-6L), 3);
        }
        cosine.v[i] = dot / sqrtl(aa * bb);
        distance.v[i] = cbrtl(cubes);
        for (int k = 0; k < 3; k++)
            unit.v[3 * i + k] = (real)(3 * i + k - 2) / sqrtl(aa);
    }
    check_free(&cosine, tn_cosine_similarity(a, b, 1), "cosine_similarity");
    check_free(&distance, tn_pairwise_distance(a, b, .p = TN_SCALAR(3)), "pairwise_distance");
    check_free(&unit, tn_normalize(a, TN_DIMS(1)), "normalize");
    TRUTH(kit_item(tn_normalize(tn_full_like(a, 0), TN_DIMS(1)), 0) == 0);
    REFUSED(tn_cosine_similarity(a, tn_ones(TN_SHAPE(4)), 1), TN_EINVAL,
            "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1");
    REFUSED(tn_cosine_similarity(a, a, 1, .eps = TN_SCALAR(-1)), TN_EINVAL, "eps must be non-negative");
    tn_scope_close(s);
}

static const tn_dtype floats[] = {TN_F16, TN_BF16, TN_F32, TN_F64};

static const char *const reductions[] = {"mean", "sum", "none"};

/* Half a unit of the dtype itself: losses are composed of operations, each of which rounds to it. */
static real eps_of(tn_dtype d)
{
    return ldexpl(1, -kit_digits(d));
}

/* e holds one loss per element (and its error); reduced as asked. count: what the mean divides by. */
static void reduce_expected(expected *e, int64_t reduction, real count)
{
    real sum = 0, tol = 0, sizes = 0;
    if (reduction == TN_NO_REDUCTION)
        return;
    for (int64_t i = 0; i < e->numel; i++) {
        sum += e->v[i];
        sizes += fabsl(e->v[i]);
        tol += e->tol[i];
    }
    tn_dtype d = e->dtype;
    expected_free(e);
    expected_init(e, d, 0, NULL);
    expected_tolerate(e);
    e->v[0] = reduction == TN_SUM ? sum : sum / count;
    e->tol[0] = (tol + 40 * compute_eps(d) * sizes + eps_of(d) * fabsl(sum)) / (reduction == TN_SUM ? 1 : fabsl(count));
}

/* ---- mse_loss, l1_loss ---- */

static void distances(bool square)
{
    static const shape_list targets[] = {{2, {4, 6}}, {1, {6}}, {0, {0}}, {2, {4, 1}}};
    static const int64_t shape[2] = {4, 6};
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 4; j++)
            for (size_t s = 0; s < 4; s++)
                for (int64_t how = 0; how < 3; how++)
                    for (int layout = 0; layout < KIT_LAYOUTS; layout++) {
                        kit_array x, y;
                        expected e;
                        tn_scope *scope = tn_scope_open();
                        random_array(&x, floats[i], 2, shape, (kit_layout)layout, true);
                        random_array(&y, floats[j], targets[s].ndim, targets[s].dim,
                                     (kit_layout)((layout + 1) % KIT_LAYOUTS), true);
                        expected_init(&e, kit_promote(x.dtype, y.dtype), 2, shape);
                        expected_tolerate(&e);
                        for (int64_t k = 0; k < e.numel; k++) {
                            real d = x.v[k] - kit_round(y.v[kit_broadcast(&y, 2, shape, k)],
                                                        e.dtype == TN_F64 ? TN_F64 : TN_F32);
                            e.v[k] = square ? d * d : fabsl(d);
                            e.tol[k] = 4 * eps_of(e.dtype) * e.v[k];
                        }
                        reduce_expected(&e, how, (real)e.numel);
                        tn_tensor *got =
                            square ? tn_mse_loss(x.t, y.t, .reduction = how) : tn_l1_loss(x.t, y.t, .reduction = how);
                        check_free(&e, got, "%s of %s %s and %s %s, %s", square ? "mse_loss" : "l1_loss",
                                   tn_dtype_name(x.dtype), kit_layout_names[layout], tn_dtype_name(y.dtype),
                                   kit_shape_text(y.ndim, y.shape), reductions[how]);
                        kit_array_free(&x);
                        kit_array_free(&y);
                        tn_scope_close(scope);
                    }
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3)), *empty = tn_ones(TN_SHAPE(0));
    tn_tensor *mean = square ? tn_mse_loss(empty, empty) : tn_l1_loss(empty, empty);
    TRUTH(isnan(kit_item(MADE(mean), 0))); /* the mean of nothing */
    tn_tensor *bad = square ? tn_mse_loss(x, tn_ones(TN_SHAPE(2))) : tn_l1_loss(x, tn_ones(TN_SHAPE(2)));
    REFUSED(bad, TN_EINVAL,
            "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 1");
    tn_tensor *odd = square ? tn_mse_loss(x, x, .reduction = 3) : tn_l1_loss(x, x, .reduction = 3);
    REFUSED(odd, TN_EVALUE, "3 is not a valid value for reduction");
    if (square)
        REFUSED(tn_mse_loss(tn_full(TN_SHAPE(2), 1), tn_full(TN_SHAPE(2), 1)), TN_EDTYPE,
                kit_on_cpu() ? "\"mse_cpu\" not implemented for 'Long'" : "\"mse_cuda\" not implemented for 'Long'");
    tn_scope_close(s);
}

static void run_mse_loss(void)
{
    distances(true);
}

static void run_l1_loss(void)
{
    distances(false);
}

/* ---- binary_cross_entropy_with_logits ---- */

/* log(1 + exp(v)) */
static real softplus(real v)
{
    return v > 0 ? v + log1pl(expl(-v)) : log1pl(expl(v));
}

static void one_bce(tn_dtype d, int64_t how, bool weighted, bool positive, int layout, real span)
{
    static const int64_t shape[2] = {4, 6};
    kit_array x, y, w, p;
    expected e;
    tn_scope *scope = tn_scope_open();
    kit_array_init(&x, d, 2, shape, (kit_layout)layout);
    kit_array_init(&y, d, 2, shape, (kit_layout)((layout + 1) % KIT_LAYOUTS));
    kit_array_init(&w, d, 1, &shape[1], KIT_DENSE);
    kit_array_init(&p, d, 1, &shape[1], KIT_STEPPED);
    for (int64_t k = 0; k < x.numel; k++) {
        x.v[k] = span * (real)kit_uniform(-1, 1);
        y.v[k] = (real)kit_uniform(0, 1);
        w.v[k % 6] = (real)kit_uniform(0, 2);
        p.v[k % 6] = (real)kit_uniform(0.1, 3);
    }
    kit_show(&x);
    kit_show(&y);
    kit_show(&w);
    kit_show(&p);
    expected_init(&e, d, 2, shape);
    expected_tolerate(&e);
    for (int64_t k = 0; k < e.numel; k++) {
        real a = x.v[k], b = y.v[k], pos = positive ? p.v[k % 6] : 1, weight = weighted ? w.v[k % 6] : 1;
        e.v[k] = weight * (pos * b * softplus(-a) + (1 - b) * softplus(a));
        e.tol[k] = 12 * eps_of(d) * weight * (1 + pos) * (fabsl(a) + 1); /* terms of that size are added and cancel */
    }
    reduce_expected(&e, how, (real)e.numel);
    check_free(&e,
               tn_binary_cross_entropy_with_logits(x.t, y.t, .weight = weighted ? w.t : NULL,
                                                   .pos_weight = positive ? p.t : NULL, .reduction = how),
               "binary_cross_entropy_with_logits of %s %s, %s%s%s, |x| <= %Lg", tn_dtype_name(d),
               kit_layout_names[layout], reductions[how], weighted ? ", weight" : "", positive ? ", pos_weight" : "",
               span);
    kit_array_free(&x);
    kit_array_free(&y);
    kit_array_free(&w);
    kit_array_free(&p);
    tn_scope_close(scope);
}

static void run_bce(void)
{
    for (size_t i = 0; i < 4; i++)
        for (int64_t how = 0; how < 3; how++)
            for (int layout = 0; layout < KIT_LAYOUTS; layout++)
                for (int form = 0; form < 8; form++) /* 500: exp overflows, the loss does not */
                    one_bce(floats[i], how, form & 1, form >> 1 & 1, layout, form & 4 ? 500 : 5);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3));
    REFUSED(tn_binary_cross_entropy_with_logits(x, tn_ones(TN_SHAPE(3))), TN_EVALUE,
            "Target size (torch.Size([3])) must be the same as input size (torch.Size([2, 3]))");
    tn_scope_close(s);
}

/* ---- nll_loss and cross_entropy ---- */

typedef struct classes {
    kit_array x, target, weight, logp; /* logp: log probabilities, exact */
    shape_list shape;
    int64_t n; /* classes */
    lane l;    /* of x at the dimension of classes */
} classes;

static void draw_classes(classes *c, tn_dtype d, const shape_list *s, tn_dtype target_dtype, int layout)
{
    int32_t dim = s->ndim == 1 ? 0 : 1;
    int64_t rest[TN_MAX_DIMS];
    c->shape = *s;
    c->n = s->dim[dim];
    random_array(&c->x, d, s->ndim, s->dim, (kit_layout)layout, true);
    c->l = lane_of(&c->x, dim);
    int32_t n = without_dim(&c->x, dim, false, rest);
    index_array(&c->target, target_dtype, n, rest, (kit_layout)((layout + 2) % KIT_EXPANDED), c->n);
    kit_array_init(&c->weight, d, 1, &c->n, KIT_STEPPED);
    for (int64_t k = 0; k < c->n; k++)
        c->weight.v[k] = (real)kit_uniform(0.2, 2);
    kit_show(&c->weight);
    kit_array_init(&c->logp, d, s->ndim, s->dim, KIT_DENSE);
    for (int64_t i = 0; i < c->target.numel; i++) {
        const int64_t first = i / c->l.inner * c->n * c->l.inner + i % c->l.inner;
        real most = -KIT_INF, total = 0;
        for (int64_t k = 0; k < c->n; k++)
            most = fmaxl(most, c->x.v[first + k * c->l.inner]);
        for (int64_t k = 0; k < c->n; k++)
            total += expl(c->x.v[first + k * c->l.inner] - most);
        for (int64_t k = 0; k < c->n; k++)
            c->logp.v[first + k * c->l.inner] = c->x.v[first + k * c->l.inner] - most - logl(total);
    }
}

static void free_classes(classes *c)
{
    kit_array_free(&c->x);
    kit_array_free(&c->target);
    kit_array_free(&c->weight);
    kit_array_free(&c->logp);
}

/* -weight[t] v[t], smoothed: (1 - s) of that and s / n of the sum over all classes; ignored targets count nothing. */
static void class_losses(const classes *c, const real *v, bool weighted, int64_t ignore, real smooth, real each_eps,
                         expected *e, real *count)
{
    *count = 0;
    for (int64_t i = 0; i < c->target.numel; i++) {
        const int64_t first = i / c->l.inner * c->n * c->l.inner + i % c->l.inner, t = (int64_t)c->target.v[i];
        real all = 0, sizes = 0;
        if (t == ignore)
            continue;
        for (int64_t k = 0; k < c->n; k++) {
            real w = weighted ? c->weight.v[k] : 1;
            all -= w * v[first + k * c->l.inner];
            sizes += w * fabsl(v[first + k * c->l.inner]);
        }
        real w = weighted ? c->weight.v[t] : 1, own = -w * v[first + t * c->l.inner];
        *count += w;
        e->v[i] = (1 - smooth) * own + smooth / c->n * all;
        e->tol[i] = each_eps * (fabsl(own) + w + (smooth > 0 ? sizes : 0));
    }
}

static void one_loss(const classes *c, int64_t how, bool entropy, bool weighted, int64_t ignore, double smooth)
{
    expected e;
    real count;
    tn_dtype d = c->x.dtype;
    expected_init(&e, d, c->target.ndim, c->target.shape);
    expected_tolerate(&e);
    class_losses(c, entropy ? c->logp.v : c->x.v, weighted, ignore, (real)smooth, (entropy ? 16 : 2) * eps_of(d), &e,
                 &count);
    reduce_expected(&e, how, count);
    tn_tensor *w = weighted ? c->weight.t : NULL;
    const tn_scalar skip = ignore >= 0 ? tn_scalar_i(ignore) : tn_scalar_none();
    tn_tensor *got = entropy ? tn_cross_entropy(c->x.t, c->target.t, .weight = w, .reduction = how,
                                                .ignore_index = skip, .label_smoothing = smooth)
                             : tn_nll_loss(c->x.t, c->target.t, .weight = w, .reduction = how, .ignore_index = skip);
    if (c->target.dtype == TN_U8 && smooth > 0 && weighted && how == TN_MEAN) { /* as PyTorch: weights are gathered */
        refused(got, TN_EDTYPE, "for index", "cross_entropy with uint8 targets");
        expected_free(&e);
        return;
    }
    check_free(&e, got, "%s of %s %s %s, target %s, %s%s, ignore %lld, smoothing %g",
               entropy ? "cross_entropy" : "nll_loss", tn_dtype_name(d), kit_shape_text(c->shape.ndim, c->shape.dim),
               kit_layout_names[c->x.layout], tn_dtype_name(c->target.dtype), reductions[how],
               weighted ? ", weight" : "", (long long)ignore, smooth);
}

static const shape_list class_shapes[] = {{1, {5}},       {2, {4, 5}},       {2, {1, 3}},
                                          {3, {2, 3, 4}}, {4, {2, 3, 2, 4}}, {2, {300, 10}}};

static void by_class(bool entropy)
{
    for (size_t i = 0; i < 4; i++)
        for (size_t s = 0; s < TN_COUNT(class_shapes); s++)
            for (int layout = 0; layout < KIT_LAYOUTS; layout++) {
                classes c;
                tn_scope *scope = tn_scope_open();
                draw_classes(&c, floats[i], &class_shapes[s], layout % 3 == 2 ? TN_U8 : TN_I64, layout);
                for (int64_t how = 0; how < 3; how++)
                    for (int form = 0; form < 4; form++) {
                        one_loss(&c, how, entropy, form & 1, form & 2 ? 1 : -1, 0);
                        if (entropy)
                            one_loss(&c, how, entropy, form & 1, form & 2 ? 1 : -1, 0.25);
                    }
                free_classes(&c);
                tn_scope_close(scope);
            }
}

static void run_nll_loss(void)
{
    by_class(false);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3)), *y = tn_tensor_from(TN_LIST(0, 3));
    REFUSED_INDEX(tn_nll_loss(x, y), TN_EINDEX, "Target 3 is out of bounds.",
                  "index 3 is out of bounds for dimension with size 3");
    REFUSED_INDEX(tn_nll_loss(x, tn_tensor_from(TN_LIST(0, -1))), TN_EINDEX, "Target -1 is out of bounds.",
                  "index -1 is out of bounds for dimension with size 3");
    MADE(tn_nll_loss(x, tn_tensor_from(TN_LIST(0, -100)))); /* ignored unless told otherwise */
    REFUSED(tn_nll_loss(x, tn_ones(TN_SHAPE(2))), TN_EDTYPE, "expected target dtype to be Long or Byte, but got Float");
    REFUSED(tn_nll_loss(x, tn_tensor_from(TN_LIST(0, 1, 2))), TN_EVALUE,
            "Expected input batch_size (2) to match target batch_size (3).");
    REFUSED(
        tn_nll_loss(x, tn_tensor_from(TN_LIST(0, 1)), .weight = tn_ones(TN_SHAPE(2))), TN_EINVAL,
        "weight tensor should be defined either for all 3 classes or no classes but got weight tensor of shape: [2]");
    REFUSED(tn_nll_loss(tn_full(TN_SHAPE(2, 3), 1), tn_tensor_from(TN_LIST(0, 1))), TN_EDTYPE,
            "not implemented for 'Long'");
    tn_tensor *none = tn_nll_loss(x, tn_tensor_from(TN_LIST(1, 1)), .ignore_index = tn_scalar_i(1));
    TRUTH(isnan(kit_item(MADE(none), 0))); /* the mean over no target at all */
    tn_scope_close(s);
}

/* Targets that are probabilities. */
static void probabilities(void)
{
    for (size_t i = 0; i < 4; i++)
        for (size_t s = 0; s < TN_COUNT(class_shapes) - 1; s++)
            for (int64_t how = 0; how < 3; how++)
                for (int form = 0; form < 4; form++) {
                    classes c;
                    kit_array p;
                    expected e;
                    real smooth = form & 2 ? 0.25L : 0;
                    tn_scope *scope = tn_scope_open();
                    draw_classes(&c, floats[i], &class_shapes[s], TN_I64, form);
                    kit_array_init(&p, floats[i], c.shape.ndim, c.shape.dim, KIT_TRANSPOSED);
                    for (int64_t k = 0; k < p.numel; k++)
                        p.v[k] = (real)kit_uniform(0, 1);
                    kit_show(&p);
                    expected_init(&e, floats[i], c.target.ndim, c.target.shape);
                    expected_tolerate(&e);
                    for (int64_t k = 0; k < p.numel; k++) {
                        int64_t o = k / (c.n * c.l.inner) * c.l.inner + k % c.l.inner;
                        real q = (1 - smooth) * p.v[k] + smooth / c.n,
                             w = form & 1 ? c.weight.v[k / c.l.inner % c.n] : 1;
                        e.v[o] -= w * q * c.logp.v[k];
                        e.tol[o] += 20 * eps_of(floats[i]) * w * q * (fabsl(c.logp.v[k]) + 1);
                    }
                    reduce_expected(&e, how, (real)e.numel);
                    check_free(&e,
                               tn_cross_entropy(c.x.t, p.t, .weight = form & 1 ? c.weight.t : NULL, .reduction = how,
                                                .label_smoothing = (double)smooth),
                               "cross_entropy of %s %s with probabilities, %s, form %d", tn_dtype_name(floats[i]),
                               kit_shape_text(c.shape.ndim, c.shape.dim), reductions[how], form);
                    kit_array_free(&p);
                    free_classes(&c);
                    tn_scope_close(scope);
                }
}

/* One pass gives what a softmax's logarithm and nll_loss give, and their gradient. */
static void as_of_logarithms(tn_dtype d, int64_t rows, int64_t n, int64_t how, bool special)
{
    kit_array x, target;
    tn_tensor *leaves[2], *out[2];
    const double near = d == TN_F64 ? 1e-12 : d == TN_F32 ? 2e-6 : 0.02;
    random_array(&x, d, 2, (const int64_t[]){rows, n}, KIT_DENSE, true);
    index_array(&target, TN_I64, 1, &rows, KIT_DENSE, n);
    for (int64_t i = 0; special && i < 3;
         i++) /* of infinity and NaN all is NaN, of what cannot be its class infinity */
        x.v[(i + 1) * n + (i < 2 ? 0 : (int64_t)target.v[3])] = i == 0 ? KIT_INF : i == 1 ? KIT_NAN : -KIT_INF;
    kit_show(&x);
    for (int i = 0; i < 2; i++) {
        leaves[i] = MADE(tn_requires_grad_(MADE(tn_detach(x.t)), true));
        out[i] =
            i ? tn_nll_loss(tn_log_softmax(leaves[i], 1), target.t, .reduction = how, .ignore_index = tn_scalar_i(2))
              : tn_cross_entropy(leaves[i], target.t, .reduction = how, .ignore_index = tn_scalar_i(2));
        TRUTH(tn_backward(out[i], .gradient = tn_full_like(MADE(tn_detach(out[i])), 0.5)) == TN_OK);
    }
    TRUTH(same_within(out[0], out[1], how == TN_SUM ? 8 * near : near));
    TRUTH(same_within(tn_tensor_grad(leaves[0]), tn_tensor_grad(leaves[1]), near));
    kit_array_free(&x);
    kit_array_free(&target);
}

static void run_one_pass(void)
{
    static const int64_t sizes[][2] = {{1, 32}, {5, 40}, {70, 100}, {300, 33}, {4, 5000}, {20, 2100}, {4100, 32}};
    static const tn_dtype dtypes[] = {TN_F16, TN_BF16, TN_F32, TN_F64};
    for (size_t i = 0; i < TN_COUNT(sizes) * TN_COUNT(dtypes); i++)
        for (int64_t how = TN_MEAN; how <= TN_NO_REDUCTION; how++) {
            tn_scope *s = tn_scope_open();
            const int64_t *size = sizes[i / TN_COUNT(dtypes)];
            as_of_logarithms(dtypes[i % TN_COUNT(dtypes)], size[0], size[1], how, false);
            if (how == TN_NO_REDUCTION && size[0] >= 4)
                as_of_logarithms(dtypes[i % TN_COUNT(dtypes)], size[0], size[1], how, true);
            tn_scope_close(s);
        }
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 40)), *t = tn_tensor_from(TN_LIST(0, 40)), *few = tn_tensor_from(TN_LIST(0));
    REFUSED_INDEX(tn_cross_entropy(x, t), TN_EINDEX, "Target 40 is out of bounds.",
                  "index 40 is out of bounds for dimension with size 40");
    REFUSED(tn__cross_entropy(x, few, TN_MEAN, 0), TN_EINVAL, "do not fit");
    REFUSED(tn__cross_entropy_backward(x, x, tn_tensor_from(TN_LIST(0, 1)), x, TN_MEAN, 0), TN_EINVAL, "does not fit");
    REFUSED(tn_cross_entropy(x, few), TN_EVALUE, "Expected input batch_size (2) to match target batch_size (1).");
    tn_scope_close(s);
}

static void run_cross_entropy(void)
{
    by_class(true);
    run_one_pass();
    probabilities();
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3)), *y = tn_tensor_from(TN_LIST(0, 3));
    REFUSED_INDEX(tn_cross_entropy(x, y), TN_EINDEX, "Target 3 is out of bounds.",
                  "index 3 is out of bounds for dimension with size 3");
    REFUSED(tn_cross_entropy(x, y, .label_smoothing = 1.5), TN_EINVAL,
            "label_smoothing must be between 0.0 and 1.0. Got: 1.5");
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"weighted_mse_loss", run_formulas},
    {"weighted_l1_loss", run_formulas},
    {"weighted_huber_loss", run_formulas},
    {"pairwise_distance", run_rows},
    {"cosine_similarity", run_rows},
    {"normalize", run_rows},
    {"mse_loss", run_mse_loss},
    {"l1_loss", run_l1_loss},
    {"binary_cross_entropy_with_logits", run_bce},
    {"nll_loss", run_nll_loss},
    {"cross_entropy", run_cross_entropy},
    {"smooth_l1_loss", run_formulas},
    {"huber_loss", run_formulas},
    {"binary_cross_entropy", run_formulas},
    {"kl_div", run_formulas},
    {NULL, NULL},
};

/* ---- gradients ---- */

F(nll_loss, tn_nll_loss(x, tn_tensor_from(TN_LIST(1, 3, 0))))
F(nll_loss_none, tn_nll_loss(x, tn_tensor_from(TN_LIST(1, 2, 0)),
                             .weight = tn_tensor_from(TN_LIST(1.0, 2.0, 0.5, 3.0), .dtype = TN_F64),
                             .reduction = TN_NO_REDUCTION, .ignore_index = tn_scalar_i(2)))
F(nll_loss_weighted, tn_nll_loss(x, tn_tensor_from(TN_LIST(1, 2, 0)),
                                 .weight = tn_tensor_from(TN_LIST(1.0, 2.0, 0.5, 3.0), .dtype = TN_F64)))
F(cross_entropy, tn_cross_entropy(x, tn_tensor_from(TN_LIST(1, 3, 0)), .label_smoothing = 0.2))
F(cross_entropy_wide, tn_cross_entropy(x, tn_tensor_from(TN_LIST(5, 39, 0))))
F(cross_entropy_each,
  tn_cross_entropy(x, tn_tensor_from(TN_LIST(5, 39, 0)), .reduction = TN_NO_REDUCTION, .ignore_index = tn_scalar_i(39)))
F(cross_entropy_probabilities, tn_cross_entropy(x, tn_softmax(y, 1), .reduction = TN_SUM))
F(mse_loss, tn_mse_loss(x, y))
F(mse_loss_sum, tn_mse_loss(x, y, .reduction = TN_SUM))
F(mse_loss_none, tn_mse_loss(x, y, .reduction = TN_NO_REDUCTION))
F(l1_loss, tn_l1_loss(x, y))
F(bce, tn_binary_cross_entropy_with_logits(x, y))
F(bce_weighted,
  tn_binary_cross_entropy_with_logits(x, y, .weight = tn_tensor_from(TN_LIST(1.0, 2.0, 0.5, 3.0), .dtype = TN_F64),
                                      .pos_weight = tn_tensor_from(TN_LIST(2.0, 0.5, 1.5, 1.0), .dtype = TN_F64),
                                      .reduction = TN_SUM))
F(huber_loss, tn_huber_loss(x, y, .delta = tn_scalar_f(0.7)))
F(smooth_l1_loss, tn_smooth_l1_loss(x, y, .beta = tn_scalar_f(0.7)))
F(kl_div, tn_kl_div(x, tn_softmax(y, 1)))

static const gradient_case gradients[] = {
    ONE(nll_loss),
    ONE(nll_loss_none),
    ONE(nll_loss_weighted),
    ONE(cross_entropy),
    {"cross_entropy, wide", f_cross_entropy_wide, 1, {{2, {3, 40}}}, false},
    {"cross_entropy, each", f_cross_entropy_each, 1, {{2, {3, 40}}}, false},
    TWO(cross_entropy_probabilities),
    TWO(mse_loss),
    TWO(mse_loss_sum),
    TWO(mse_loss_none),
    {"mse_loss, broadcast", f_mse_loss, 2, {M34, NINE}, false},
    TWO(l1_loss),
    TWO(huber_loss),
    TWO(smooth_l1_loss),
    TWO(kl_div),
    TWO(bce),
    TWO(bce_weighted),
    {NULL, NULL, 0, {{0, {0}}}, false},
};

/* ---- PyTorch's records ---- */

static bool record_nll_loss(record *r, results *out)
{
    return give(out, tn_nll_loss(r->input.t, record_arg(r, 0, "target").t, .weight = record_arg(r, 1, "weight").t,
                                 .ignore_index = scalar_of(record_arg(r, -1, "ignore_index")),
                                 .reduction = reduction_of(r)));
}

static bool record_cross_entropy(record *r, results *out)
{
    value smooth = record_arg(r, -1, "label_smoothing");
    return give(out, tn_cross_entropy(r->input.t, record_arg(r, 0, "target").t, .weight = record_arg(r, 1, "weight").t,
                                      .ignore_index = scalar_of(record_arg(r, -1, "ignore_index")),
                                      .reduction = reduction_of(r), .label_smoothing = smooth.f));
}

static bool record_mse_loss(record *r, results *out)
{
    return give(out, tn_mse_loss(r->input.t, record_arg(r, 0, "target").t, .reduction = reduction_of(r)));
}

static bool record_l1_loss(record *r, results *out)
{
    return give(out, tn_l1_loss(r->input.t, record_arg(r, 0, "target").t, .reduction = reduction_of(r)));
}

static bool record_bce(record *r, results *out)
{
    return give(out, tn_binary_cross_entropy_with_logits(
                         r->input.t, record_arg(r, 0, "target").t, .weight = record_arg(r, -1, "weight").t,
                         .pos_weight = record_arg(r, -1, "pos_weight").t, .reduction = reduction_of(r)));
}

ADAPTER(pairwise_distance, tn_pairwise_distance(x, TENSOR(0, "x2"), .p = AT(1, "p"), .eps = AT(2, "eps"),
                                                .keepdim = flag_of(record_arg(r, 3, "keepdim"))))
ADAPTER(cosine_similarity, tn_cosine_similarity(x, TENSOR(0, "x2"), DIM(1, "dim", 1), .eps = AT(2, "eps")))

static bool record_normalize(record *r, results *out)
{
    dims_buffer b;
    value dim = record_arg(r, 1, "dim");
    return give(out, tn_normalize(r->input.t, dim.kind == V_ABSENT ? TN_DIMS(1) : dims_of(dim, &b), .p = AT(0, "p"),
                                  .eps = AT(2, "eps")));
}

ADAPTER(huber_loss, tn_huber_loss(x, TENSOR(0, "target"), .reduction = reduction_of(r), .delta = SCALAR("delta")))
ADAPTER(smooth_l1_loss, tn_smooth_l1_loss(x, TENSOR(0, "target"), .reduction = reduction_of(r), .beta = SCALAR("beta")))
ADAPTER(binary_cross_entropy,
        tn_binary_cross_entropy(x, TENSOR(0, "target"), .weight = TENSOR(1, "weight"), .reduction = reduction_of(r)))

/* 'batchmean': the sum divided by the first size */
static bool record_kl_div(record *r, results *out)
{
    value how = record_arg(r, -1, "reduction");
    const bool batch = how.kind == V_TEXT && !strcmp(how.text, "batchmean");
    tn_tensor *loss =
        tn_kl_div(r->input.t, record_arg(r, 0, "target").t, .log_target = flag_of(record_arg(r, -1, "log_target")),
                  .reduction = batch ? TN_SUM : reduction_of(r));
    return give(out, batch && tn_tensor_ndim(r->input.t) ? tn_div(loss, tn_tensor_size(r->input.t, 0)) : loss);
}

static const named_adapter adapters[] = {
    {"nn.functional.nll_loss", record_nll_loss},
    {"nn.functional.cross_entropy", record_cross_entropy},
    {"nn.functional.mse_loss", record_mse_loss},
    {"nn.functional.l1_loss", record_l1_loss},
    {"nn.functional.binary_cross_entropy_with_logits", record_bce},
    {"nn.functional.pairwise_distance", record_pairwise_distance},
    {"nn.functional.cosine_similarity", record_cosine_similarity},
    {"nn.functional.normalize", record_normalize},
    {"nn.functional.huber_loss", record_huber_loss},
    {"nn.functional.smooth_l1_loss", record_smooth_l1_loss},
    {"nn.functional.binary_cross_entropy", record_binary_cross_entropy},
    {"nn.functional.kl_div", record_kl_div},
    {NULL, NULL},
};

const family_tests loss_tests = {cases, gradients, adapters};
