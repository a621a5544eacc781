/* Elementwise functions that are no row of their own: test_elementwise and gradients_rows.c check the rows. */
#include "ops/family.h"
#include <string.h>

/* ---- formulas ---- */

FORMULA(add_scaled, tn_add_scaled(x, y, 0.5), x + y / 2)
FORMULA(add_scaled_, tn_add_scaled_(tn_clone(x), y, 0.5), x + y / 2)
FORMULA(sub_scaled, tn_sub_scaled(x, y, -3), x + 3 * y)
FORMULA(sub_scaled_, tn_sub_scaled_(tn_clone(x), y, -3), x + 3 * y)
FORMULA(addcmul, tn_addcmul(x, y, x, .value = TN_SCALAR(0.5)), x + y * x / 2)
FORMULA(addcdiv, tn_addcdiv(x, y, x, .value = TN_SCALAR(2.0)), x + 2 * y / x)
FORMULA(lerp, tn_lerp(x, y, 0.25), x + (y - x) / 4)
FORMULA(lerp_far, tn_lerp(x, y, tn_scalar_t(tn_full_like(x, 0.75))), x + (y - x) * 3 / 4)

static const formula formulas[] = {
    FORMULA_ROW(add_scaled, 8, true),  FORMULA_ROW(add_scaled_, 8, true), FORMULA_ROW(sub_scaled, 8, true),
    FORMULA_ROW(sub_scaled_, 8, true), FORMULA_ROW(addcmul, 8, true),     FORMULA_ROW(addcdiv, 8, true),
    FORMULA_ROW(lerp, 8, false),       FORMULA_ROW(lerp_far, 8, false),
};

static void run_formulas(void)
{
    formulas_hold(formulas, TN_COUNT(formulas));
}

static void run_numbers(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = four_values(NAN, INFINITY, -INFINITY, -2.5), *i = tn_arange(0, 4, 1), *b = tn_gt(i, 1);
    HOLDS(tn_nan_to_num(x, .nan = TN_SCALAR(7), .posinf = TN_SCALAR(8)), TN_SHAPE(4), 7, 8, -DBL_MAX, -2.5);
    HOLDS(tn_frac(four_values(1.5, -2.25, 3, 0)), TN_SHAPE(4), 0.5, -0.25, 0, 0);
    HOLDS(tn_deg2rad(four_values(180, 0, 0, 0)), TN_SHAPE(4), acos(-1), 0, 0, 0);
    HOLDS(tn_rad2deg(four_values(acos(-1), 0, 0, 0)), TN_SHAPE(4), 180, 0, 0, 0);
    TRUTH(tn_positive(i) == i);
    REFUSED(tn_positive(b), TN_EMISSING, "on a bool tensor is not supported");
    REFUSED(tn_frac(i), TN_EDTYPE,
            kit_on_cpu() ? "\"frac_cpu\" not implemented for 'Long'" : "\"frac_cuda\" not implemented for 'Long'");
    tn_scope_close(s);
}

static void bitwise_not_each(kit_array *x)
{
    if (kit_is_float(x->dtype)) {
        REFUSED(tn_bitwise_not(x->t), TN_EDTYPE,
                kit_on_cpu() ? "\"bitwise_not_cpu\" not implemented for '"
                             : "\"bitwise_not_cuda\" not implemented for '");
        return;
    }
    for (int inplace = 0; inplace < 2; inplace++) {
        expected e;
        expected_init(&e, x->dtype, x->ndim, x->shape);
        for (int64_t i = 0; i < x->numel; i++) /* two's complement: -1 - v */
            e.v[i] = x->dtype == TN_BOOL ? x->v[i] == 0 : x->dtype == TN_U8 ? 255 - x->v[i] : -1 - x->v[i];
        tn_tensor *got = inplace ? tn_bitwise_not_(x->t) : tn_bitwise_not(x->t);
        if (inplace && x->layout == KIT_EXPANDED && x->numel > 1)
            refused(got, TN_EINVAL, "refers to a single memory location", "bitwise_not_");
        else
            check(&e, got, "bitwise_not%s of %s %s %s", inplace ? "_" : "", tn_dtype_name(x->dtype),
                  kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout]);
        expected_free(&e);
    }
}

static void run_bitwise_not(void)
{
    each_array(bitwise_not_each, true);
    tn_scope *s = tn_scope_open();
    const char *where = kit_on_cpu() ? "cpu" : "cuda";
    tn_tensor *x = tn_ones(TN_SHAPE(2)), *b = tn_eq(x, x), *i = tn_full(TN_SHAPE(2), 3);
    static const struct {
        const char *kernel, *dtype;
    } refusals[] = {
        {"bitwise_and", "Float"}, {"bitwise_or", "Float"}, {"bitwise_xor", "Float"},
        {"lshift", "Bool"},       {"rshift", "Float"},
    };
    for (size_t k = 0; k < TN_COUNT(refusals); k++) {
        char text[80];
        snprintf(text, sizeof text, "\"%s_%s\" not implemented for '%s'", refusals[k].kernel, where, refusals[k].dtype);
        tn_tensor *got = k == 0   ? tn_bitwise_and(x, x)
                         : k == 1 ? tn_bitwise_or(i, x)
                         : k == 2 ? tn_bitwise_xor(i, 1.5)
                         : k == 3 ? tn_bitwise_left_shift(b, b)
                                  : tn_bitwise_right_shift(x, i);
        refused(got, TN_EDTYPE, text, refusals[k].kernel);
    }
    REFUSED(tn_bitwise_and_(b, i), TN_EDTYPE, "result type Long can't be cast to the desired output type Bool");
    /* PyTorch's values, of int64 3 and uint8 200 */
    tn_tensor *u = tn_full(TN_SHAPE(2), 200, .dtype = TN_U8);
    TRUTH(tn_equal(tn_bitwise_left_shift(i, 64), tn_full(TN_SHAPE(2), 0)));
    TRUTH(tn_equal(tn_bitwise_left_shift(i, 62), tn_full(TN_SHAPE(2), -((int64_t)1 << 62))));
    TRUTH(tn_equal(tn_bitwise_right_shift(tn_neg(i), -1), tn_full(TN_SHAPE(2), -1)));
    TRUTH(tn_equal(tn_bitwise_right_shift(u, 9), tn_full(TN_SHAPE(2), 0, .dtype = TN_U8)));
    TRUTH(tn_equal(tn_bitwise_and(u, 300), tn_full(TN_SHAPE(2), 8, .dtype = TN_U8)));
    TRUTH(tn_equal(tn_bitwise_left_shift(b, 1), tn_full(TN_SHAPE(2), 2)));
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

/* ---- clamp: its row is checked there; here, which row it comes to ---- */

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

/* Values are PyTorch's. */
static void run_round_decimals(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = four_values(1.255, -2.5, 14.5, 25), *half = tn_to(x, .dtype = TN_F16), *got;
    HOLDS(tn_round_decimals(x, 1), TN_SHAPE(4), 1.3, -2.5, 14.5, 25);
    HOLDS(tn_round_decimals(x, -1), TN_SHAPE(4), 0, 0, 10, 20);
    HOLDS(tn_round_decimals(x, 0), TN_SHAPE(4), 1, -2, 14, 25);
    HOLDS(tn_round_decimals(tn_full(TN_SHAPE(1), 1000, .dtype = TN_F16), 2), TN_SHAPE(1), 1000); /* not infinity */
    HOLDS(tn_round_decimals(tn_full(TN_SHAPE(1), -2.55, .dtype = TN_F16), 2), TN_SHAPE(1), -2.55078125);
    HOLDS(tn_round_decimals(tn_full(TN_SHAPE(1), -2.55, .dtype = TN_BF16), 2), TN_SHAPE(1), -2.546875);
    HOLDS(tn_round_decimals(tn_to(x, .dtype = TN_I64), 0), TN_SHAPE(4), 1, -2, 14, 25);
    REFUSED(tn_round_decimals(tn_to(x, .dtype = TN_I64), 1), TN_EDTYPE, "\"round_c");
    got = tn_round_decimals_(half, -1);
    TRUTH(got == half && tn_tensor_version(half) == 1);
    HOLDS(half, TN_SHAPE(4), 0, 0, 10, 20);
    TRUTH(tn_round_decimals_(x, 0) == x);
    HOLDS(x, TN_SHAPE(4), 1, -2, 14, 25);
    REFUSED(tn_round_decimals_(tn_requires_grad_(x, true), 1), TN_EGRAD, "a leaf Variable that requires grad");
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"round_decimals", run_round_decimals},
    {"round_decimals_", run_round_decimals},
    {"bitwise_not", run_bitwise_not},
    {"bitwise_not_", run_bitwise_not},
    {"deg2rad", run_numbers},
    {"rad2deg", run_numbers},
    {"positive", run_numbers},
    {"frac", run_numbers},
    {"nan_to_num", run_numbers},
    {"isclose", run_isclose},
    {"allclose", run_isclose},
    {"clamp", run_clamp},
    {"clamp_", run_clamp},
    {"add_scaled", run_formulas},
    {"add_scaled_", run_formulas},
    {"sub_scaled", run_formulas},
    {"sub_scaled_", run_formulas},
    {"addcmul", run_formulas},
    {"addcdiv", run_formulas},
    {"lerp", run_formulas},
    {NULL, NULL},
};

/* ---- PyTorch's records ---- */

static bool record_isclose(record *r, results *out)
{
    return give(out, tn_isclose(r->input.t, record_arg(r, 0, "other").t, .rtol = scalar_of(record_arg(r, 1, "rtol")),
                                .atol = scalar_of(record_arg(r, 2, "atol")),
                                .equal_nan = flag_of(record_arg(r, 3, "equal_nan"))));
}

static bool record_clamp(record *r, results *out)
{
    return give(out, tn_clamp(r->input.t, scalar_of(record_arg(r, 0, "min")), scalar_of(record_arg(r, 1, "max"))));
}

/* torch.where(condition, input, other): records put 'input' first */
static bool record_where(record *r, results *out)
{
    return give(out, tn_where(record_arg(r, 0, "condition").t, r->input.t, scalar_of(record_arg(r, 1, "other"))));
}

static bool record_rsub(record *r, results *out)
{
    return give(out, tn_sub(scalar_of(record_arg(r, 0, "other")), r->input.t));
}

static bool record_div(record *r, results *out)
{
    value mode = record_arg(r, -1, "rounding_mode");
    tn_scalar b = scalar_of(record_arg(r, 0, "other"));
    if (mode.kind != V_TEXT)
        return give(out, tn_div(r->input.t, b));
    return give(out, !strcmp(mode.text, "floor") ? tn_div_floor(r->input.t, b) : tn_div_trunc(r->input.t, b));
}

static bool record_floor_divide(record *r, results *out)
{
    return give(out, tn_floor_divide(r->input.t, scalar_of(record_arg(r, 0, "other"))));
}

ADAPTER(round_decimals, tn_round_decimals(x, int_of(record_arg(r, -1, "decimals"), 0)))
ADAPTER(deg2rad, tn_deg2rad(x))
ADAPTER(rad2deg, tn_rad2deg(x))
ADAPTER(frac, tn_frac(x))
ADAPTER(nan_to_num, tn_nan_to_num(x, .nan = AT(0, "nan"), .posinf = AT(1, "posinf"), .neginf = AT(2, "neginf")))

ADAPTER(addcmul, tn_addcmul(x, TENSOR(0, "tensor1"), TENSOR(1, "tensor2"), .value = SCALAR("value")))
ADAPTER(addcdiv, tn_addcdiv(x, TENSOR(0, "tensor1"), TENSOR(1, "tensor2"), .value = SCALAR("value")))
ADAPTER(lerp, tn_lerp(x, TENSOR(0, "end"), scalar_of(record_arg(r, 1, "weight"))))

static bool record_bitwise_not(record *r, results *out)
{
    return give(out, tn_bitwise_not(r->input.t));
}

static const named_adapter adapters[] = {
    {"isclose", record_isclose},
    {"clamp", record_clamp},
    {"where", record_where},
    {"rsub", record_rsub},
    {"__rsub__", record_rsub},
    {"div.floor_rounding", record_div},
    {"div.trunc_rounding", record_div},
    {"div.no_rounding_mode", record_div},
    {"floor_divide", record_floor_divide},
    {"true_divide", record_div},
    {"round.decimals_0", record_round_decimals},
    {"round.decimals_3", record_round_decimals},
    {"round.decimals_neg_3", record_round_decimals},
    {"deg2rad", record_deg2rad},
    {"rad2deg", record_rad2deg},
    {"frac", record_frac},
    {"nan_to_num", record_nan_to_num},
    {"addcmul", record_addcmul},
    {"addcdiv", record_addcdiv},
    {"lerp", record_lerp},
    {"bitwise_not", record_bitwise_not},
    {NULL, NULL},
};

const family_tests elementwise_tests = {cases, NULL, adapters};
