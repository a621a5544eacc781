/* Runs a structural row in every dtype and layout, and compares with what the case says. */
#include "ops/structural.h"
#include "ops/digest.h"
#include <stdarg.h>
#include <string.h>

const shape_list some_shapes[] = {{0, {0}},       {1, {1}},          {1, {7}},       {2, {5, 7}},
                                  {3, {3, 4, 5}}, {4, {2, 3, 4, 5}}, {3, {4, 1, 6}}, {8, {2, 1, 2, 2, 1, 2, 2, 2}},
                                  {1, {0}},       {2, {3, 0}},       {3, {0, 2, 3}}};

void expected_init(expected *e, tn_dtype dtype, int32_t ndim, const int64_t *shape)
{
    *e = (expected){.dtype = dtype, .ndim = ndim};
    for (int32_t d = 0; d < ndim; d++)
        e->shape[d] = shape[d];
    e->numel = kit_count(ndim, shape);
    e->v = calloc((size_t)(e->numel ? e->numel : 1), sizeof *e->v);
}

void expected_tolerate(expected *e)
{
    e->tol = calloc((size_t)(e->numel ? e->numel : 1), sizeof *e->tol);
}

void expected_free(expected *e)
{
    free(e->v);
    free(e->tol);
    free(e->writes);
    free(e->size);
    e->v = e->tol = e->size = NULL;
    e->writes = NULL;
}

void expected_write(expected *e, int64_t i, real v)
{
    const size_t n = (size_t)(e->numel ? e->numel : 1);
    if (!e->writes) {
        e->writes = calloc(n, sizeof *e->writes);
        e->size = calloc(n, sizeof *e->size);
    }
    e->writes[i]++;
    e->size[i] += fabsl(v);
}

void expected_any_order(expected *e, write_kind kind)
{
    if (kit_on_cpu() || !e->writes)
        return;
    if (!e->tol)
        expected_tolerate(e);
    for (int64_t i = 0; i < e->numel; i++) {
        if (e->writes[i] < 2 || (kind != WRITES && !kit_is_float(e->dtype)))
            continue;
        /* each of n roundings, in both orders, is half an ulp at most of what has been added up; of a product, relative to it */
        const real most = kind == SUMS ? e->size[i] + fabsl(e->v[i]) : fabsl(e->v[i]);
        e->tol[i] = kind == WRITES ? KIT_INF : 2 * e->writes[i] * kit_ulp(e->dtype, most);
    }
}

void expected_in_place(const expected *e, kit_array *x)
{
    for (int64_t i = 0; i < x->numel; i++)
        x->v[i] = e->tol && e->tol[i] > 0 ? kit_item(x->t, i) : e->v[i];
}

static bool close_enough(const expected *e, int64_t i, real got)
{
    real want = kit_is_float(e->dtype) ? kit_round(e->v[i], e->dtype) : e->v[i];
    if (e->tol && isinf(e->tol[i]))
        return true;
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want);
    if (got == want)
        return !e->bits || want != 0 || !signbit(got) == !signbit(want);
    if (!kit_is_float(e->dtype))
        return false;
    if (kit_ulps(e->dtype, got, want) <= e->ulps)
        return true;
    return e->tol && fabsl(got - e->v[i]) <= e->tol[i] + kit_ulp(e->dtype, want);
}

static bool check_words(const expected *e, const tn_tensor *got, const char *words)
{
    kit.cases++;
    if (!got) {
        kit_fail("%s: %s", words, tn_error_message());
        tn_error_clear();
        return false;
    }
    digest_words(words, kit_host(got));
    tn_dims s = tn_tensor_shape(got);
    bool same = s.ndim == e->ndim && tn_tensor_dtype(got) == e->dtype;
    for (int32_t d = 0; same && d < s.ndim; d++)
        same = s.dim[d] == e->shape[d];
    if (!same)
        return kit_fail("%s: %s %s, not %s %s", words, tn_dtype_name(tn_tensor_dtype(got)),
                        kit_shape_text(s.ndim, s.dim), tn_dtype_name(e->dtype), kit_shape_text(e->ndim, e->shape));
    for (int64_t i = 0; i < e->numel; i++) {
        real v = kit_item(got, i);
        kit.elements++;
        if (!close_enough(e, i, v))
            return kit_fail("%s: element %lld is %.20Lg, the reference %.20Lg (allowed %.3Lg)", words, (long long)i, v,
                            e->v[i], e->tol ? e->tol[i] : 0);
    }
    return true;
}

bool check(const expected *e, const tn_tensor *got, const char *format, ...)
{
    char words[300];
    va_list ap;
    va_start(ap, format);
    vsnprintf(words, sizeof words, format, ap);
    va_end(ap);
    return check_words(e, got, words);
}

bool check_free(expected *e, const tn_tensor *got, const char *format, ...)
{
    char words[300];
    va_list ap;
    va_start(ap, format);
    vsnprintf(words, sizeof words, format, ap);
    va_end(ap);
    bool right = check_words(e, got, words);
    expected_free(e);
    return right;
}

bool refused(const void *got, tn_status code, const char *text, const char *what)
{
    bool right = !got && tn_error_code() == code && strstr(tn_error_message(), text);
    kit.cases++;
    if (!right)
        kit_fail("%s: expected %s '%s', got %s '%s'", what, tn_status_name(code), text,
                 got ? "success" : tn_status_name(tn_error_code()), tn_error_message());
    tn_error_clear();
    return right;
}

bool refused_index(const void *got, tn_status code, const char *text, const char *later, const char *what)
{
    if (kit_on_cpu())
        return refused(got, code, text, what);
    if (!got)
        return kit_fail("%s: an index out of range is known too early: %s", what, tn_error_message());
    bool right = refused(tn_synchronize(kit_device()) ? NULL : got, TN_EINDEX, later, what);
    truth(tn_synchronize(kit_device()) == TN_OK, "it is said once, and the device goes on");
    return right;
}

tn_tensor *made(tn_tensor *t, const char *what)
{
    if (!t) {
        kit_fail("%s: %s", what, tn_error_message());
        tn_error_clear();
    }
    return t;
}

void truth(bool holds, const char *what)
{
    kit.cases++;
    if (!holds)
        kit_fail("%s does not hold; %s", what, tn_error_message());
    tn_error_clear();
}

bool same_within(tn_tensor *got, tn_tensor *want, double a)
{
    return got && want && tn_tensor_dtype(got) == tn_tensor_dtype(want) &&
           tn__same_shape(got->shape, got->ndim, want->shape, want->ndim) &&
           tn_allclose(got, want, .rtol = tn_scalar_f(a), .atol = tn_scalar_f(a), .equal_nan = true);
}

void random_array(kit_array *a, tn_dtype dtype, int32_t ndim, const int64_t *shape, kit_layout layout, bool tame)
{
    kit_array_init(a, dtype, ndim, shape, layout);
    for (int64_t i = 0; i < a->numel; i++)
        a->v[i] = tame ? kit_tame_value(dtype) : kit_any_value(dtype);
    kit_show(a);
}

void index_array(kit_array *a, tn_dtype dtype, int32_t ndim, const int64_t *shape, kit_layout layout, int64_t n)
{
    kit_array_init(a, dtype, ndim, shape, layout);
    for (int64_t i = 0; i < a->numel; i++)
        a->v[i] = (real)kit_below(n);
    kit_show(a);
}

void each_array(void (*attempt)(kit_array *x), bool tame)
{
    for (int i = 0; i < KIT_DTYPES; i++)
        for (int k = 0; k < N_SHAPES; k++)
            for (int layout = 0; layout < KIT_LAYOUTS; layout++) {
                kit_array x;
                if (kit_samples() && (i + k + layout) % (TN_ASAN ? 6 : 3))
                    continue;
                tn_scope *scope = tn_scope_open();
                kit_seed_by(tn_dtype_name(kit_dtypes[i]), k * KIT_LAYOUTS + layout);
                tn_manual_seed(1);
                random_array(&x, kit_dtypes[i], some_shapes[k].ndim, some_shapes[k].dim, (kit_layout)layout, tame);
                attempt(&x);
                kit_array_free(&x);
                tn_scope_close(scope);
            }
}

lane lane_of(const kit_array *x, int32_t dim)
{
    lane l = {1, x->ndim ? x->shape[dim] : 1, 1};
    for (int32_t d = 0; d < x->ndim; d++) {
        l.outer *= d < dim ? x->shape[d] : 1;
        l.inner *= d > dim ? x->shape[d] : 1;
    }
    return l;
}

int32_t without_dim(const kit_array *x, int32_t dim, bool keepdim, int64_t *shape)
{
    int32_t n = 0;
    for (int32_t d = 0; d < x->ndim; d++) {
        if (d != dim)
            shape[n++] = x->shape[d];
        else if (keepdim)
            shape[n++] = 1;
    }
    return n;
}

void holds(const tn_tensor *got, tn_dims shape, const double *want, const char *what)
{
    kit.cases++;
    if (!got) {
        kit_fail("%s: %s", what, tn_error_message());
        return;
    }
    const tn_dims have = tn_tensor_shape(got);
    if (have.ndim != shape.ndim ||
        (shape.ndim && memcmp(have.dim, shape.dim, (size_t)shape.ndim * sizeof *shape.dim) != 0))
        kit_fail("%s: shape %s, not %s", what, kit_shape_text(have.ndim, have.dim),
                 kit_shape_text(shape.ndim, shape.dim));
    else
        for (int64_t i = 0; i < tn_tensor_numel(got); i++)
            if (kit_item(got, i) != (real)want[i])
                kit_fail("%s: element %lld is %Lg, not %g", what, (long long)i, kit_item(got, i), want[i]);
}

void equals_values(const kit_array *x, const tn_tensor *got, const char *name)
{
    expected e;
    expected_init(&e, x->dtype, x->ndim, x->shape);
    e.bits = true;
    memcpy(e.v, x->v, (size_t)x->numel * sizeof *x->v);
    check_free(&e, got, "%s of %s %s %s", name, tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape),
               kit_layout_names[x->layout]);
}

tn_tensor *four_values(double a, double b, double c, double d)
{
    const double all[] = {a, b, c, d};
    tn_tensor *t = tn_zeros(TN_SHAPE(4), .dtype = TN_F64);
    for (int i = 0; i < 4; i++)
        (void)tn_fill_(tn_select(t, 0, i), all[i]);
    return t;
}

tn_tensor *counted(tn_dims shape, int64_t n)
{
    return tn_reshape(tn_arange(1, n + 1, 1, .dtype = TN_F32), shape);
}

tn_tensor *few_indices(void)
{
    return tn_tensor_from(TN_LIST(2, 0, 0, 1, 2, 1), .shape = TN_SHAPE(2, 3));
}

/* ---- formulas ---- */

static real drawn(const formula *f)
{
    return (real)(f->probabilities ? kit_uniform(0.05, 0.95) : kit_uniform(-5, 5));
}

/* Composed in the dtype itself: a few roundings of the sizes at hand. */
static void formula_holds(const formula *f, const kit_array *x)
{
    kit_array a, b;
    expected e;
    if (!strcmp(f->name, "glu") && x->ndim == TN_MAX_DIMS)
        return; /* its halves are stacked */
    kit_seed_by(f->name, (x->numel * (KIT_ALL_DTYPES + 1) + x->dtype) * KIT_LAYOUTS + x->layout);
    kit_array_init(&a, x->dtype, x->ndim, x->shape, x->layout);
    kit_array_init(&b, x->dtype, x->ndim, x->shape, (kit_layout)kit_below(KIT_LAYOUTS));
    for (int64_t i = 0; i < a.numel; i++) {
        a.v[i] = drawn(f);
        b.v[i] = drawn(f);
    }
    kit_show(&a);
    kit_show(&b);
    expected_init(&e, x->dtype, x->ndim, x->shape);
    expected_tolerate(&e);
    for (int64_t i = 0; i < e.numel; i++) {
        e.v[i] = f->reference(a.v[i], b.v[i]);
        e.tol[i] = f->roundings * kit_ulp(x->dtype, 1) * (1 + fabsl(a.v[i]) + fabsl(b.v[i]) + fabsl(e.v[i]));
    }
    check_free(&e, f->f(a.t, b.t), "%s of %s %s %s", f->name, tn_dtype_name(x->dtype),
               kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout]);
    kit_array_free(&a);
    kit_array_free(&b);
}

static struct {
    const formula *all;
    size_t n;
} formulas_tried;

static void formulas_each(kit_array *x)
{
    for (size_t k = 0; kit_is_float(x->dtype) && k < formulas_tried.n; k++)
        formula_holds(&formulas_tried.all[k], x);
}

void formulas_hold(const formula *all, size_t n)
{
    formulas_tried.all = all;
    formulas_tried.n = n;
    each_array(formulas_each, true);
}
