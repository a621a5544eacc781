/* Copies, fills, triangles, reversal, and the tests of whole tensors. */
#include "ops/structural.h"
#include <string.h>

static void equals_values(const kit_array *x, const tn_tensor *got, const char *name)
{
    expected e;
    expected_init(&e, x->dtype, x->ndim, x->shape);
    e.bits = true;
    memcpy(e.v, x->v, (size_t)x->numel * sizeof *x->v);
    check_free(&e, got, "%s of %s %s %s", name, tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape),
               kit_layout_names[x->layout]);
}

/* A copy lies as x does where x's elements fill a block of memory, else row-major. Strides of 1-sized dimensions are
 * free. */
static void lies_like(const kit_array *x, const tn_tensor *got, const char *name)
{
    bool dense = x->layout == KIT_TRANSPOSED || x->layout == KIT_ROTATED;
    tn_dims s = tn_tensor_stride(got);
    int64_t step = 1;
    bool same = got != NULL && s.ndim == x->ndim;
    for (int32_t d = x->ndim - 1; same && d >= 0; d--) {
        same = x->shape[d] <= 1 || x->numel == 0 || s.dim[d] == (dense ? x->stride[d] : step);
        step *= x->shape[d];
    }
    kit.cases++;
    if (!same)
        kit_fail("%s of %s %s lies otherwise", name, kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout]);
}

static void clone_each(kit_array *x)
{
    tn_tensor *y = tn_clone(x->t), *z = tn_contiguous(x->t);
    equals_values(x, y, "clone");
    lies_like(x, y, "clone");
    TRUTH(y != x->t && (x->numel == 0 || !tn_tensor_shares_memory(x->t, y)));
    equals_values(x, z, "contiguous");
    TRUTH(tn_tensor_is_contiguous(z) && (z == x->t) == tn_tensor_is_contiguous(x->t));
}

static void run_clone(void)
{
    each_array(clone_each, false);
}

/* x.copy_(src): src of every dtype, converted and broadcast; and the same conversion by tn_to. */
static void copy_into(kit_array *x)
{
    for (int i = 0; i < KIT_DTYPES; i++)
        for (int part = 0; part < 3; part++) {
            kit_array src;
            expected e;
            int32_t n = part == 0 ? x->ndim : part == 1 && x->ndim ? 1 : 0;
            random_array(&src, kit_dtypes[i], n, x->shape + (x->ndim - n), (kit_layout)((i + part) % KIT_LAYOUTS),
                         false);
            expected_init(&e, x->dtype, x->ndim, x->shape);
            e.bits = true;
            for (int64_t k = 0; k < x->numel; k++)
                e.v[k] = kit_convert(src.v[kit_broadcast(&src, x->ndim, x->shape, k)], src.dtype, x->dtype);
            tn_tensor *got = tn_copy_(x->t, src.t);
            if (x->layout == KIT_EXPANDED && x->numel > 1)
                refused(got, TN_EINVAL, "refers to a single memory location", "copy_");
            else if (check(&e, got, "copy_ to %s %s %s from %s", tn_dtype_name(x->dtype),
                           kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout], tn_dtype_name(src.dtype)))
                truth(got == x->t && kit_surroundings_intact(x), "copy_ writes x and nothing else");
            if (part == 0)
                check(&e, tn_to(src.t, .dtype = x->dtype), "%s %s %s to %s", tn_dtype_name(src.dtype),
                      kit_shape_text(n, src.shape), kit_layout_names[src.layout], tn_dtype_name(x->dtype));
            expected_free(&e);
            kit_array_free(&src);
        }
}

static void run_copy_(void)
{
    each_array(copy_into, false);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3));
    REFUSED(tn_copy_(x, tn_ones(TN_SHAPE(2))), TN_EINVAL,
            "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 1");
    REFUSED(tn_copy_(tn_ones(TN_SHAPE(3)), x), TN_EINVAL, "shape");
    TRUTH(tn_to(x, .dtype = TN_F32) == x && tn_to(x, .dtype = TN_F32, .copy = true) != x);
    tn_scope_close(s);
}

static void fill_each(kit_array *x)
{
    const tn_scalar values[] = {tn_scalar_i(0), tn_scalar_i(1), tn_scalar_f(2.5), tn_scalar_b(true),
                                tn_scalar_t(tn_full(TN_SHAPE(), 3.75))};
    static const real as_real[] = {0, 1, 2.5L, 1, 3.75L};
    for (int i = 0; i < 5; i++) {
        expected e;
        expected_init(&e, x->dtype, x->ndim, x->shape);
        for (int64_t k = 0; k < x->numel; k++)
            e.v[k] = kit_convert(as_real[i], i == 4 ? TN_F32 : TN_F64, x->dtype);
        check(&e, tn_fill(x->t, values[i]), "fill of %s %s with %Lg", tn_dtype_name(x->dtype),
              kit_shape_text(x->ndim, x->shape), as_real[i]);
        equals_values(x, x->t, "what fill left");
        tn_tensor *zeroed = NULL, *filled = tn_fill_(x->t, values[i]);
        check(&e, filled, "fill_ of %s %s %s", tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape),
              kit_layout_names[x->layout]);
        memset(e.v, 0, (size_t)x->numel * sizeof *e.v);
        zeroed = tn_zero_(x->t);
        check(&e, zeroed, "zero_ of %s %s %s", tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape),
              kit_layout_names[x->layout]);
        truth(kit_surroundings_intact(x), "fill_ writes x and nothing else");
        expected_free(&e);
        kit_show(x);
    }
}

static void run_fill(void)
{
    each_array(fill_each, false);
    tn_scope *s = tn_scope_open();
    REFUSED(tn_fill_(tn_ones(TN_SHAPE(2)), tn_scalar_t(tn_ones(TN_SHAPE(2)))), TN_EINVAL, "0-dimension");
    tn_scope_close(s);
}

/* ---- tril, triu ---- */

static void triangle(kit_array *x, bool upper)
{
    for (int64_t k = -4; k <= 4; k++) {
        expected e;
        if (x->ndim < 2) {
            refused(upper ? tn_triu(x->t, k) : tn_tril(x->t, k), TN_EINVAL,
                    "input tensor must have at least 2 dimensions", "tril");
            continue;
        }
        int64_t rows = x->shape[x->ndim - 2], cols = x->shape[x->ndim - 1];
        expected_init(&e, x->dtype, x->ndim, x->shape);
        for (int64_t i = 0; i < x->numel; i++) {
            int64_t r = i / cols % rows, c = i % cols;
            e.v[i] = (upper ? c - r >= k : c - r <= k) ? x->v[i] : 0;
        }
        check(&e, upper ? tn_triu(x->t, k) : tn_tril(x->t, k), "%s of %s %s %s, %lld", upper ? "triu" : "tril",
              tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout], (long long)k);
        tn_tensor *y = tn_clone(x->t);
        check_free(&e, upper ? tn_triu_(y, k) : tn_tril_(y, k), "%s_ of %s %s", upper ? "triu" : "tril",
                   tn_dtype_name(x->dtype), kit_layout_names[x->layout]);
    }
}

static void tril_each(kit_array *x)
{
    triangle(x, false);
}

static void triu_each(kit_array *x)
{
    triangle(x, true);
}

static void run_tril(void)
{
    each_array(tril_each, false);
}

static void run_triu(void)
{
    each_array(triu_each, false);
}

/* ---- flip ---- */

static void flip_each(kit_array *x)
{
    for (uint32_t mask = 0; mask<1U << x->ndim; mask += x->ndim> 4 ? 13 : 1) {
        int64_t dims[TN_MAX_DIMS], at[TN_MAX_DIMS];
        int32_t n = 0;
        expected e;
        for (int32_t d = 0; d < x->ndim; d++)
            if (mask >> d & 1)
                dims[n++] = d - (int64_t)(kit_random() & 1) * x->ndim;
        if (x->ndim == 0)
            dims[n++] = -(int64_t)(kit_random() & 1);
        expected_init(&e, x->dtype, x->ndim, x->shape);
        e.bits = true;
        for (int64_t i = 0; i < x->numel; i++) {
            int64_t o = 0;
            kit_unravel(i, x->ndim, x->shape, at);
            for (int32_t d = 0; d < x->ndim; d++)
                o = o * x->shape[d] + (mask >> d & 1 ? x->shape[d] - 1 - at[d] : at[d]);
            e.v[i] = x->v[o];
        }
        tn_tensor *got = tn_flip(x->t, ((tn_dims){n, dims}));
        check_free(&e, got, "flip of %s %s %s, dims %x", tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape),
                   kit_layout_names[x->layout], (unsigned)mask);
        TRUTH(x->numel == 0 || !tn_tensor_shares_memory(got, x->t));
    }
}

static void run_flip(void)
{
    each_array(flip_each, false);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3));
    REFUSED(tn_flip(x, TN_DIMS(2)), TN_EINDEX,
            "Dimension out of range (expected to be in range of [-2, 1], but got 2)");
    REFUSED(tn_flip(x, TN_DIMS(0, 0)), TN_EINVAL, "dim 0 appears multiple times in the list of dims");
    tn_scope_close(s);
}

/* ---- isclose, allclose, equal ---- */

/* PyTorch's definition; *sure: rounding cannot change the answer. */
static bool close_to(real a, real b, real rtol, real atol, bool nan, real eps, bool *sure)
{
    real error = fabsl(a - b), allowed = atol + fabsl(rtol * b);
    *sure = a == b || !isfinite(error) || fabsl(error - allowed) > 8 * eps * (fabsl(a) + fabsl(b) + allowed);
    return a == b || (nan && isnan(a) && isnan(b)) || (isfinite(error) && error <= allowed);
}

static void isclose_each(kit_array *x)
{
    static const struct {
        real rtol, atol;
        bool nan, said;
    } how[] = {{1e-5L, 1e-8L, false, false},
               {0.1L, 1, true, true},
               {0, 0, true, true},
               {0, 0.5L, false, true},
               {0.5L, 0, false, true}};
    kit_array y;
    kit_array_init(&y, x->dtype, x->ndim, x->shape, KIT_TRANSPOSED);
    for (int64_t i = 0; i < x->numel; i++) {
        real near = x->v[i] * (1 + (real)(kit_below(5) - 2) * 0.04L);
        y.v[i] =
            kit_below(3) ? (kit_is_float(x->dtype) ? kit_round(near, x->dtype) : x->v[i]) : kit_any_value(x->dtype);
    }
    kit_show(&y);
    for (size_t h = 0; h < TN_COUNT(how); h++) {
        bool every = true, sure, all_sure = true;
        const tn_scalar rtol = how[h].said ? tn_scalar_f((double)how[h].rtol) : tn_scalar_none();
        const tn_scalar atol = how[h].said ? tn_scalar_f((double)how[h].atol) : tn_scalar_none();
        tn_tensor *got = tn_isclose(x->t, y.t, .rtol = rtol, .atol = atol, .equal_nan = how[h].nan);
        expected e;
        expected_init(&e, TN_BOOL, x->ndim, x->shape);
        for (int64_t i = 0; i < x->numel; i++) {
            tn_dtype d = kit_is_float(x->dtype) ? x->dtype : TN_F32;
            real a = kit_convert(x->v[i], x->dtype, d), b = kit_convert(y.v[i], x->dtype, d);
            bool close = close_to(a, b, how[h].rtol, how[h].atol, how[h].nan, ldexpl(1, -kit_digits(d)), &sure) ||
                         x->v[i] == y.v[i];
            bool overflows = kit_round(a - b, d) != a - b && isinf(kit_round(a - b, d));
            e.v[i] = !sure ? (got ? kit_item(got, i) : 0) : overflows ? a == b : close;
            every &= e.v[i] != 0;
            all_sure &= sure;
        }
        check_free(&e, got, "isclose of %s %s %s, rtol %Lg, atol %Lg", tn_dtype_name(x->dtype),
                   kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout], how[h].rtol, how[h].atol);
        if (all_sure)
            truth(tn_allclose(x->t, y.t, .rtol = rtol, .atol = atol, .equal_nan = how[h].nan) == every,
                  "allclose is isclose everywhere");
    }
    kit_array_free(&y);
}

static void equal_each(kit_array *x)
{
    bool nan = false;
    for (int64_t i = 0; i < x->numel; i++)
        nan |= isnan(x->v[i]);
    kit_array y;
    kit_array_init(&y, x->dtype, x->ndim, x->shape, KIT_ROTATED);
    memcpy(y.v, x->v, (size_t)x->numel * sizeof *x->v);
    kit_show(&y);
    TRUTH(tn_equal(x->t, y.t) == !nan);
    TRUTH(!tn_equal(x->t, tn_unsqueeze(tn_flatten(x->t, 0, -1), 0)) || x->ndim == 2);
    if (x->numel) {
        int64_t at = kit_below(x->numel);
        y.v[at] = y.v[at] == 0;
        kit_show(&y);
        TRUTH(!tn_equal(x->t, y.t));
    }
    kit_array_free(&y);
}

static void run_isclose(void)
{
    each_array(isclose_each, false);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2));
    REFUSED(tn_isclose(x, tn_full(TN_SHAPE(2), 1)), TN_EDTYPE, "Float did not match Long");
    REFUSED(tn_isclose(x, x, .rtol = tn_scalar_f(-1)), TN_EINVAL,
            "rtol must be greater than or equal to zero, but got -1");
    REFUSED(tn_isclose(x, x, .atol = tn_scalar_f(-1)), TN_EINVAL,
            "atol must be greater than or equal to zero, but got -1");
    TRUTH(!tn_allclose(x, tn_full(TN_SHAPE(2), 1)) && tn_error_code() == TN_EDTYPE);
    tn_scope_close(s);
}

static void run_equal(void)
{
    each_array(equal_each, false);
}

/* ---- clamp: its row is walked; here, which row it comes to ---- */

static void clamp_each(kit_array *x)
{
    if (x->dtype == TN_BOOL) {
        REFUSED(tn_clamp(x->t, tn_scalar_b(false), tn_scalar_b(true)), TN_EDTYPE, "not implemented for 'Bool'");
        return;
    }
    for (int way = 0; way < 6; way++) { /* both bounds, lower alone, upper alone; then in place */
        const int form = way % 3;
        const tn_scalar lower = form == 2 ? tn_scalar_none() : tn_scalar_i(x->dtype == TN_U8 ? 2 : -3);
        const tn_scalar upper = form == 1 ? tn_scalar_none() : tn_scalar_i(5);
        expected e;
        int64_t lo = x->dtype == TN_U8 ? 2 : -3;
        expected_init(&e, x->dtype, x->ndim, x->shape);
        for (int64_t i = 0; i < x->numel; i++) {
            e.v[i] = form != 2 && x->v[i] < (real)lo ? (real)lo : x->v[i];
            e.v[i] = form != 1 && e.v[i] > 5 ? 5 : e.v[i];
        }
        check_free(&e, way < 3 ? tn_clamp(x->t, lower, upper) : tn_clamp_(tn_clone(x->t), lower, upper),
                   "clamp of %s %s %s, way %d", tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape),
                   kit_layout_names[x->layout], way);
    }
}

static void run_clamp(void)
{
    each_array(clamp_each, false);
    tn_scope *s = tn_scope_open();
    REFUSED(tn_clamp(tn_ones(TN_SHAPE(2)), TN_NONE, TN_NONE), TN_EINVAL,
            "torch.clamp: At least one of 'min' or 'max' must not be None");
    tn_scope_close(s);
}

const structural_case cases_copy[] = {
    {"clone", run_clone},     {"contiguous", run_clone},
    {"copy_", run_copy_},     {"fill", run_fill},
    {"zero_", run_fill},      {"tril", run_tril},
    {"triu", run_triu},       {"flip", run_flip},
    {"isclose", run_isclose}, {"allclose", run_isclose},
    {"equal", run_equal},     {"clamp", run_clamp},
    {"clamp_", run_clamp},    {NULL, NULL},
};
