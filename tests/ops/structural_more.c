/* Repeating, moving, sorting, norms; activations and losses that are composed: each against loops or formulas of its own. */
#include "ops/structural.h"
#include <string.h>

/* ---- activations and losses: element by element ---- */

typedef struct formula {
    const char *name;
    tn_tensor *(*f)(tn_tensor *x, tn_tensor *y);
    real (*reference)(real x, real y);
    bool probabilities; /* both in (0, 1) */
} formula;

#define FORMULA(name, expression, want) \
    static tn_tensor *f_##name(tn_tensor *x, tn_tensor *y) \
    { \
        (void)y; \
        return expression; \
    } \
    static real r_##name(real x, real y) \
    { \
        (void)y; \
        return want; \
    }
#define NONE .reduction = TN_NO_REDUCTION
FORMULA(gelu, tn_gelu(x), x *erfcl(-x / sqrtl(2)) / 2)
FORMULA(gelu_tanh, tn_gelu(x, .tanh = true), x / 2 * (1 + tanhl(sqrtl(2 / acosl(-1)) * (x + 0.044715L * x * x * x))))
FORMULA(silu, tn_silu(x), x / (1 + expl(-x)))
FORMULA(softplus, tn_softplus(x), log1pl(expl(x)))
FORMULA(softplus_linear, tn_softplus(x, .beta = TN_SCALAR(2.0), .threshold = TN_SCALAR(3)),
        2 * x > 3 ? x : log1pl(expl(2 * x)) / 2)
FORMULA(leaky_relu, tn_leaky_relu(x, .negative_slope = TN_SCALAR(0.25)), x > 0 ? x : x / 4)
FORMULA(elu, tn_elu(x, .alpha = TN_SCALAR(1.5)), x > 0 ? x : 1.5L * expm1l(x))
FORMULA(hardtanh, tn_hardtanh(x), x<-1 ? -1 : x> 1 ? 1 : x)
FORMULA(smooth_l1_loss, tn_smooth_l1_loss(x, y, NONE, .beta = TN_SCALAR(2)),
        fabsl(x - y) < 2 ? (x - y) * (x - y) / 4 : fabsl(x - y) - 1)
FORMULA(huber_loss, tn_huber_loss(x, y, NONE, .delta = TN_SCALAR(2)),
        fabsl(x - y) <= 2 ? (x - y) * (x - y) / 2 : 2 * (fabsl(x - y) - 1))
FORMULA(binary_cross_entropy, tn_binary_cross_entropy(x, y, NONE), -y *logl(x) - (1 - y) * log1pl(-x))
FORMULA(kl_div, tn_kl_div(x, y, NONE), y *(logl(y) - x))
FORMULA(kl_div_log, tn_kl_div(x, y, NONE, .log_target = true), expl(y) * (y - x))
FORMULA(add_scaled, tn_add_scaled(x, y, 0.5), x + y / 2)
FORMULA(add_scaled_, tn_add_scaled_(tn_clone(x), y, 0.5), x + y / 2)
FORMULA(sub_scaled, tn_sub_scaled(x, y, -3), x + 3 * y)
FORMULA(sub_scaled_, tn_sub_scaled_(tn_clone(x), y, -3), x + 3 * y)
FORMULA(addcmul, tn_addcmul(x, y, x, .value = TN_SCALAR(0.5)), x + y * x / 2)
FORMULA(addcdiv, tn_addcdiv(x, y, x, .value = TN_SCALAR(2.0)), x + 2 * y / x)
FORMULA(lerp, tn_lerp(x, y, 0.25), x + (y - x) / 4)
FORMULA(lerp_far, tn_lerp(x, y, tn_scalar_t(tn_full_like(x, 0.75))), x + (y - x) * 3 / 4)

#define ROW(name, probabilities) \
    { \
#name, f_##name, r_##name, probabilities \
    }
static const formula formulas[] = {ROW(gelu, false),
                                   ROW(gelu_tanh, false),
                                   ROW(silu, false),
                                   ROW(softplus, false),
                                   ROW(softplus_linear, false),
                                   ROW(leaky_relu, false),
                                   ROW(elu, false),
                                   ROW(hardtanh, false),
                                   ROW(smooth_l1_loss, false),
                                   ROW(huber_loss, false),
                                   ROW(binary_cross_entropy, true),
                                   ROW(kl_div, true),
                                   ROW(kl_div_log, true),
                                   ROW(add_scaled, true),
                                   ROW(add_scaled_, true),
                                   ROW(sub_scaled, true),
                                   ROW(sub_scaled_, true),
                                   ROW(addcmul, true),
                                   ROW(addcdiv, true),
                                   ROW(lerp, false),
                                   ROW(lerp_far, false)};

/* Composed in the dtype itself: a few roundings of the sizes at hand. */
static void formula_each(kit_array *x)
{
    if (!kit_is_float(x->dtype))
        return;
    for (size_t k = 0; k < TN_COUNT(formulas); k++) {
        const formula *f = &formulas[k];
        kit_array a, b;
        expected e;
        kit_array_init(&a, x->dtype, x->ndim, x->shape, x->layout);
        kit_array_init(&b, x->dtype, x->ndim, x->shape, (kit_layout)kit_below(KIT_LAYOUTS));
        for (int64_t i = 0; i < a.numel; i++) {
            a.v[i] = (real)(f->probabilities ? kit_uniform(0.05, 0.95) : kit_uniform(-5, 5));
            b.v[i] = (real)(f->probabilities ? kit_uniform(0.05, 0.95) : kit_uniform(-5, 5));
        }
        kit_show(&a);
        kit_show(&b);
        expected_init(&e, x->dtype, x->ndim, x->shape);
        expected_tolerate(&e);
        for (int64_t i = 0; i < e.numel; i++) {
            e.v[i] = f->reference(a.v[i], b.v[i]);
            e.tol[i] = 8 * kit_ulp(x->dtype, 1) * (1 + fabsl(a.v[i]) + fabsl(b.v[i]) + fabsl(e.v[i]));
        }
        check_free(&e, f->f(a.t, b.t), "%s of %s %s %s", f->name, tn_dtype_name(x->dtype),
                   kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout]);
        kit_array_free(&a);
        kit_array_free(&b);
    }
}

static void run_formulas(void)
{
    each_array(formula_each, true);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(3)), *i = tn_arange(0, 3, 1);
    REFUSED(tn_gelu(i), TN_EDTYPE, "\"GeluKernelImpl\" not implemented for 'Long'");
    REFUSED(tn_elu(i), TN_EDTYPE, "not implemented for 'Long'");
    REFUSED(tn_silu(TN_NONE), TN_ETYPE, "TN_NONE");
    REFUSED(tn_smooth_l1_loss(x, x, .beta = TN_SCALAR(-1)), TN_EINVAL,
            "smooth_l1_loss does not support negative values for beta.");
    REFUSED(tn_huber_loss(x, x, .delta = TN_SCALAR(0)), TN_EINVAL,
            "huber_loss does not support non-positive values for delta.");
    REFUSED(tn_binary_cross_entropy(x, tn_ones(TN_SHAPE(2))), TN_EVALUE,
            "Using a target size (torch.Size([2])) that is");
    REFUSED(tn_kl_div(x, x, .reduction = 7), TN_EVALUE, "not a valid value for reduction");
    /* a logarithm is not below -100, and 0 log 0 is 0 */
    tn_tensor *zero = tn_zeros(TN_SHAPE(1));
    TRUTH(kit_item(tn_binary_cross_entropy(zero, tn_ones(TN_SHAPE(1))), 0) == 100);
    TRUTH(kit_item(tn_binary_cross_entropy(zero, zero), 0) == 0);
    TRUTH(kit_item(tn_kl_div(tn_ones(TN_SHAPE(1)), zero), 0) == 0);
    TRUTH(tn_equal(tn_hardtanh(tn_sub(tn_mul(i, 2), 2)), tn_sub(i, 1)));
    tn_scope_close(s);
}

static void run_baddbmm(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *a = tn_reshape(tn_arange(0, 12, 1, .dtype = TN_F64), TN_SHAPE(2, 2, 3)),
              *b = tn_reshape(tn_arange(0, 12, 1, .dtype = TN_F64), TN_SHAPE(2, 3, 2)),
              *x = tn_ones(TN_SHAPE(2, 1), .dtype = TN_F64);
    expected e;
    const int64_t shape[3] = {2, 2, 2};
    expected_init(&e, TN_F64, 3, shape);
    for (int i = 0; i < 8; i++) {
        e.v[i] = 2;
        for (int k = 0; k < 3; k++)
            e.v[i] += 3 * (real)(i / 2 * 3 + k) * (real)(i / 4 * 6 + k * 2 + i % 2);
    }
    check_free(&e, tn_baddbmm(x, a, b, .beta = TN_SCALAR(2), .alpha = TN_SCALAR(3)), "baddbmm");
    TRUTH(tn_equal(tn_baddbmm(tn_full_like(x, NAN), a, b, .beta = TN_SCALAR(0)), tn_bmm(a, b)));
    REFUSED(tn_baddbmm(x, a, a), TN_EINVAL, "");
    tn_scope_close(s);
}

/* ---- repeating ---- */

static void repeat_each(kit_array *x)
{
    int64_t times[TN_MAX_DIMS], shape[TN_MAX_DIMS], at[TN_MAX_DIMS];
    const int32_t more = x->ndim < TN_MAX_DIMS ? (int32_t)kit_below(2) : 0, n = x->ndim + more;
    expected e;
    for (int32_t d = 0; d < n; d++) {
        times[d] = x->ndim > 4 ? 1 + (kit_below(4) == 0) : kit_below(4);
        shape[d] = times[d] * (d < more ? 1 : x->shape[d - more]);
    }
    for (int tiled = 0; tiled < 2; tiled++) {
        expected_init(&e, x->dtype, n, shape);
        e.bits = true;
        for (int64_t i = 0; i < e.numel; i++) {
            int64_t o = 0;
            kit_unravel(i, n, shape, at);
            for (int32_t d = more; d < n; d++)
                o = o * x->shape[d - more] + at[d] % x->shape[d - more];
            e.v[i] = x->v[o];
        }
        const tn_dims dims = {n, times};
        check_free(&e, tiled ? tn_tile(x->t, dims) : tn_repeat(x->t, dims), "repeat of %s %s %s to %s",
                   tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout],
                   kit_shape_text(n, shape));
    }
}

static void interleave_each(kit_array *x)
{
    for (int32_t d = 0; d < x->ndim; d++) {
        const lane l = lane_of(x, d);
        int64_t shape[TN_MAX_DIMS], total = 0, n = l.n;
        kit_array times;
        index_array(&times, kit_random() & 1 ? TN_I64 : TN_I32, 1, &n, (kit_layout)kit_below(KIT_LAYOUTS), 4);
        const bool number = d % 2;
        for (int64_t i = 0; i < n; i++)
            total += number ? 2 : (int64_t)times.v[i];
        expected e;
        memcpy(shape, x->shape, sizeof shape);
        shape[d] = total;
        expected_init(&e, x->dtype, x->ndim, shape);
        e.bits = true;
        int64_t to = 0;
        for (int64_t o = 0; o < l.outer; o++)
            for (int64_t k = 0; k < n; k++)
                for (int64_t c = 0; c < (number ? 2 : (int64_t)times.v[k]); c++)
                    for (int64_t i = 0; i < l.inner; i++)
                        e.v[to++] = x->v[(o * n + k) * l.inner + i];
        check_free(&e, tn_repeat_interleave(x->t, number ? tn_scalar_i(2) : tn_scalar_t(times.t), .dim = TN_DIMS(d)),
                   "repeat_interleave of %s %s %s, dim %d", tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape),
                   kit_layout_names[x->layout], (int)d);
        kit_array_free(&times);
    }
}

static void run_repeat(void)
{
    each_array(repeat_each, false);
    each_array(interleave_each, false);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_reshape(tn_arange(0, 4, 1), TN_SHAPE(2, 2));
    REFUSED(tn_repeat(x, TN_DIMS(2)), TN_EINVAL, "Number of dimensions of repeat dims can not be smaller");
    REFUSED(tn_repeat(x, TN_DIMS(2, -1)), TN_EINVAL, "negative dimension -1");
    TRUTH(tn_equal(tn_tile(x, TN_DIMS(2)), tn_cat(TN_TENSORS(x, x), 1)));
    TRUTH(tn_equal(tn_repeat_interleave(x, 2), tn_tensor_from(TN_LIST(0, 0, 1, 1, 2, 2, 3, 3))));
    REFUSED(tn_repeat_interleave(x, -1), TN_EINVAL, "Repeats must be non-negative");
    REFUSED(tn_repeat_interleave(x, tn_scalar_t(tn_tensor_from(TN_LIST(1, -1))), .dim = TN_DIMS(0)), TN_EINVAL,
            "repeats can not be negative");
    REFUSED(tn_repeat_interleave(x, tn_scalar_t(tn_ones(TN_SHAPE(2))), .dim = TN_DIMS(0)), TN_EDTYPE,
            "\"repeat_interleave_cpu\" not implemented for 'Float'");
    REFUSED(tn_repeat_interleave(x, tn_scalar_t(tn_arange(0, 3, 1)), .dim = TN_DIMS(0)), TN_EINVAL,
            "repeats must have the same size as input along dim");
    tn_scope_close(s);
}

/* ---- moving ---- */

static void roll_each(kit_array *x)
{
    for (int32_t d = 0; d < x->ndim; d++) {
        const lane l = lane_of(x, d);
        const int64_t by = kit_below(30) - 15;
        expected e;
        expected_init(&e, x->dtype, x->ndim, x->shape);
        e.bits = true;
        for (int64_t i = 0; i < e.numel; i++) {
            const int64_t k = i / l.inner % l.n, from = ((k - by) % l.n + l.n) % l.n;
            e.v[i] = x->v[i + (from - k) * l.inner];
        }
        check_free(&e, tn_roll(x->t, TN_DIMS(by), .dim = TN_DIMS(d)), "roll of %s %s %s by %lld, dim %d",
                   tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout],
                   (long long)by, (int)d);
    }
}

static void run_roll(void)
{
    each_array(roll_each, false);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_reshape(tn_arange(0, 6, 1), TN_SHAPE(2, 3));
    TRUTH(tn_equal(tn_roll(x, TN_DIMS(1)), tn_tensor_from(TN_LIST(5, 0, 1, 2, 3, 4), .shape = TN_SHAPE(2, 3))));
    TRUTH(tn_equal(tn_roll(x, TN_DIMS(1, 1), .dim = TN_DIMS(0, 1)),
                   tn_tensor_from(TN_LIST(5, 3, 4, 2, 0, 1), .shape = TN_SHAPE(2, 3))));
    REFUSED(tn_roll(x, TN_DIMS(1, 2), .dim = TN_DIMS(0)), TN_EINVAL,
            "shifts and dimensions must align. shifts: 2, dims:1");
    REFUSED(tn_roll(x, TN_DIMS(1, 2)), TN_EINVAL, "shifts and dimensions must align. shifts: 2, dims:0");
    /* movedim and unflatten are views */
    tn_tensor *y = tn_reshape(tn_arange(0, 24, 1), TN_SHAPE(2, 3, 4));
    TRUTH(tn_equal(tn_movedim(y, TN_DIMS(0), TN_DIMS(-1)), tn_permute(y, TN_DIMS(1, 2, 0))));
    TRUTH(tn_equal(tn_movedim(y, TN_DIMS(0, 1), TN_DIMS(2, 0)), tn_permute(y, TN_DIMS(1, 2, 0))));
    REFUSED(tn_movedim(y, TN_DIMS(0, 0), TN_DIMS(1, 2)), TN_EINVAL, "movedim: repeated dim in `source`");
    REFUSED(tn_movedim(y, TN_DIMS(0, 1), TN_DIMS(2, 2)), TN_EINVAL, "movedim: repeated dim in `destination`");
    REFUSED(tn_movedim(y, TN_DIMS(0), TN_DIMS(1, 2)), TN_EINVAL, "Invalid source or destination dims");
    TRUTH(tn_equal(tn_unflatten(y, -1, TN_DIMS(2, -1)), tn_view(y, TN_SHAPE(2, 3, 2, 2))));
    TRUTH(tn_data(tn_unflatten(y, 0, TN_DIMS(1, 2))) == tn_data(y));
    REFUSED(tn_unflatten(y, 1, TN_DIMS(2, 2)), TN_EINVAL, "don't multiply up to the size of dim 1 (3)");
    tn_scope_close(s);
}

/* ---- running product, norms ---- */

static void cumprod_each(kit_array *x)
{
    for (int32_t d = 0; d < x->ndim; d++) {
        const lane l = lane_of(x, d);
        const tn_dtype to = kit_is_float(x->dtype) ? x->dtype : TN_I64;
        expected e;
        expected_init(&e, to, x->ndim, x->shape);
        expected_tolerate(&e);
        for (int64_t i = 0; i < e.numel; i++) {
            const bool first = i / l.inner % l.n == 0;
            const real v = kit_convert(x->v[i], x->dtype, to);
            e.v[i] = first ? v : e.v[i - l.inner] * v;
            if (!kit_is_float(to))
                e.v[i] = kit_round(e.v[i], to);
            e.tol[i] = kit_is_float(to) ? 12 * kit_ulp(to, e.v[i]) : 0;
        }
        check_free(&e, tn_cumprod(x->t, d), "cumprod of %s %s %s, dim %d", tn_dtype_name(x->dtype),
                   kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout], (int)d);
    }
}

static void norm_each(kit_array *x)
{
    static const double ps[] = {2, 1, 3, 0, INFINITY, -INFINITY};
    if (!kit_is_float(x->dtype) || x->ndim == 0)
        return;
    for (size_t k = 0; k < TN_COUNT(ps); k++) {
        const int32_t d = (int32_t)kit_below(x->ndim);
        const lane l = lane_of(x, d);
        int64_t shape[TN_MAX_DIMS];
        const int32_t n = without_dim(x, d, k & 1, shape);
        expected e;
        if (l.n == 0)
            continue;
        expected_init(&e, x->dtype, n, shape);
        expected_tolerate(&e);
        for (int64_t i = 0; i < e.numel; i++) {
            real sum = ps[k] == -INFINITY ? KIT_INF : 0;
            for (int64_t j = 0; j < l.n; j++) {
                const real v = fabsl(x->v[(i / l.inner * l.n + j) * l.inner + i % l.inner]);
                sum = ps[k] == INFINITY    ? fmaxl(sum, v)
                      : ps[k] == -INFINITY ? fminl(sum, v)
                      : ps[k] == 0         ? sum + (v != 0)
                                           : sum + powl(v, ps[k]);
            }
            e.v[i] = ps[k] > 0 && ps[k] < INFINITY ? powl(sum, 1 / (real)ps[k]) : sum;
            e.tol[i] = 8 * kit_ulp(x->dtype, e.v[i]);
        }
        check_free(&e, tn_norm(x->t, .p = tn_scalar_f(ps[k]), .dim = TN_DIMS(d), .keepdim = k & 1),
                   "%g-norm of %s %s %s, dim %d", ps[k], tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape),
                   kit_layout_names[x->layout], (int)d);
    }
}

static void run_cumprod(void)
{
    each_array(cumprod_each, true);
    tn_scope *s = tn_scope_open();
    REFUSED(tn_cumprod(tn_ones(TN_SHAPE(2)), 1), TN_EINDEX, "Dimension out of range");
    tn_scope_close(s);
}

static void run_norm(void)
{
    each_array(norm_each, true);
    tn_scope *s = tn_scope_open();
    REFUSED(tn_norm(tn_arange(0, 3, 1)), TN_EDTYPE, "Expected a floating point or complex tensor as input. Got Long");
    tn_tensor *zero = tn_requires_grad_(tn_zeros(TN_SHAPE(2)), true), *n = MADE(tn_norm(zero));
    TRUTH(kit_item(n, 0) == 0 && tn_backward(n) == TN_OK && kit_item(tn_tensor_grad(zero), 1) == 0);
    tn_scope_close(s);
}

/* ---- order ---- */

/* Does a stand before b? NaN is the largest. */
static bool stands_before(real a, real b, bool descending)
{
    if (isnan(a) || isnan(b))
        return descending ? isnan(a) && !isnan(b) : !isnan(a) && isnan(b);
    return descending ? a > b : a < b;
}

static void sort_each(kit_array *x)
{
    for (int32_t d = 0; d < (x->ndim ? x->ndim : 1); d++) {
        const lane l = lane_of(x, d);
        const bool descending = kit_random() & 1;
        const int64_t k = l.n ? kit_below(l.n + 1) : 0;
        int64_t shape[TN_MAX_DIMS] = {0};
        expected v, at, top;
        memcpy(shape, x->shape, sizeof shape);
        expected_init(&v, x->dtype, x->ndim, x->shape);
        expected_init(&at, TN_I64, x->ndim, x->shape);
        shape[d] = x->ndim ? k : 0;
        expected_init(&top, x->dtype, x->ndim, shape);
        v.bits = top.bits = true;
        for (int64_t i = 0; i < x->numel; i++) { /* its place: how many stand before it */
            const int64_t base = i / (l.inner * l.n) * l.inner * l.n + i % l.inner, own = i / l.inner % l.n;
            int64_t place = 0;
            for (int64_t j = 0; j < l.n; j++) {
                const real other = x->v[base + j * l.inner];
                place += stands_before(other, x->v[i], descending) ||
                         (j < own && !stands_before(x->v[i], other, descending));
            }
            v.v[base + place * l.inner] = x->v[i];
            at.v[base + place * l.inner] = (real)own;
            if (x->ndim && place < k)
                top.v[(i / (l.inner * l.n) * k + place) * l.inner + i % l.inner] = x->v[i];
        }
        tn_tensor *indices = NULL, *got = tn_sort(x->t, d, .descending = descending, .indices = &indices);
        check_free(&v, got, "sort of %s %s %s, dim %d", tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape),
                   kit_layout_names[x->layout], (int)d);
        check(&at, indices, "indices of sort");
        check_free(&at, tn_argsort(x->t, d, .descending = descending), "argsort");
        if (x->ndim)
            check(&top, tn_topk(x->t, k, d, .smallest = !descending, .indices = &indices),
                  "topk of %s %s %s, %lld in dim %d", tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape),
                  kit_layout_names[x->layout], (long long)k, (int)d);
        expected_free(&top);
    }
}

/* Rows longer than those that are sorted by insertion. */
static void sort_long(void)
{
    static const int64_t shape[2] = {3, 1000};
    for (int i = 0; i < KIT_DTYPES; i++) {
        kit_array x;
        tn_scope *s = tn_scope_open();
        random_array(&x, kit_dtypes[i], 2, shape, KIT_SLICED, false);
        sort_each(&x);
        kit_array_free(&x);
        tn_scope_close(s);
    }
}

static void run_sort(void)
{
    each_array(sort_each, false);
    sort_long();
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3));
    REFUSED(tn_topk(x, 4, 1), TN_EINVAL, "selected index k out of range");
    REFUSED(tn_topk(x, -1, 1), TN_EINVAL, "selected index k out of range");
    REFUSED(tn_sort(x, 2), TN_EINDEX, "Dimension out of range");
    REFUSED(tn_argsort(TN_NONE, 0), TN_ETYPE, "TN_NONE");
    tn_scope_close(s);
}

const structural_case cases_more[] = {
    {"gelu", run_formulas},
    {"silu", run_formulas},
    {"softplus", run_formulas},
    {"leaky_relu", run_formulas},
    {"elu", run_formulas},
    {"hardtanh", run_formulas},
    {"smooth_l1_loss", run_formulas},
    {"huber_loss", run_formulas},
    {"binary_cross_entropy", run_formulas},
    {"kl_div", run_formulas},
    {"add_scaled", run_formulas},
    {"add_scaled_", run_formulas},
    {"sub_scaled", run_formulas},
    {"sub_scaled_", run_formulas},
    {"addcmul", run_formulas},
    {"addcdiv", run_formulas},
    {"lerp", run_formulas},
    {"baddbmm", run_baddbmm},
    {"repeat", run_repeat},
    {"tile", run_repeat},
    {"repeat_interleave", run_repeat},
    {"roll", run_roll},
    {"movedim", run_roll},
    {"unflatten", run_roll},
    {"cumprod", run_cumprod},
    {"norm", run_norm},
    {"sort", run_sort},
    {"argsort", run_sort},
    {"topk", run_sort},
    {NULL, NULL},
};
