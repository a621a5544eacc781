/* functions_hand.c: the functions of the list of operations that are more than a row of the list. */
#include "args_error.h"
#include "functions.h"
#include "generator.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_one(const py_value *v)
{
    return !v->given || (v->s.kind == TN_SCALAR_INT && v->s.v.i == 1) ||
           (v->s.kind == TN_SCALAR_FLOAT && v->s.v.f == 1);
}

typedef tn_tensor *binary(const char *site, tn_scalar a, tn_scalar b);
typedef tn_tensor *binary_inplace(const char *site, tn_tensor *a, tn_scalar b);

/* ---- a + alpha * b ---- */

tn_tensor *call_add_alpha(const py_value *v)
{
    return is_one(&v[2]) ? tn_add_at("", v[0].s, v[1].s) : (tn_add_scaled_at)("", v[0].s, v[1].s, v[2].s);
}

tn_tensor *call_add_alpha_(const py_value *v)
{
    tn_tensor *x = v[0].s.v.t;
    return is_one(&v[2]) ? tn_add__at("", x, v[1].s) : (tn_add_scaled__at)("", x, v[1].s, v[2].s);
}

tn_tensor *call_sub_alpha(const py_value *v)
{
    return is_one(&v[2]) ? tn_sub_at("", v[0].s, v[1].s) : (tn_sub_scaled_at)("", v[0].s, v[1].s, v[2].s);
}

tn_tensor *call_sub_alpha_(const py_value *v)
{
    tn_tensor *x = v[0].s.v.t;
    return is_one(&v[2]) ? tn_sub__at("", x, v[1].s) : (tn_sub_scaled__at)("", x, v[1].s, v[2].s);
}

tn_tensor *call_rsub_alpha(const py_value *v)
{
    return is_one(&v[2]) ? tn_sub_at("", v[1].s, v[0].s) : (tn_sub_scaled_at)("", v[1].s, v[0].s, v[2].s);
}

/* ---- division ---- */

static int rounding(const py_value *v)
{
    const char *mode = v[2].given ? v[2].u.text : NULL;
    if (!mode)
        return 0;
    if (!strcmp(mode, "floor"))
        return 1;
    if (!strcmp(mode, "trunc"))
        return 2;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyErr_Format(PyExc_RuntimeError, "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '%s'",
                 mode);
    PyGILState_Release(gil);
    return -1;
}

tn_tensor *call_div_rounded(const py_value *v)
{
    static binary *const f[] = {tn_div_at, tn_div_floor_at, tn_div_trunc_at};
    int mode = rounding(v);
    return mode < 0 ? NULL : f[mode]("", v[0].s, v[1].s);
}

tn_tensor *call_div_rounded_(const py_value *v)
{
    static binary_inplace *const f[] = {tn_div__at, tn_div_floor__at, tn_div_trunc__at};
    int mode = rounding(v);
    return mode < 0 ? NULL : f[mode]("", v[0].s.v.t, v[1].s);
}

/* ---- rounding ---- */

static bool decimals_fit(tn_tensor *x)
{
    if (tn_dtype_is_floating_point(tn_tensor_dtype(x)))
        return true;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyErr_Format(PyExc_NotImplementedError, "\"round_%s\" not implemented for '%s'",
                 tn_tensor_device(x).type == TN_CPU.type ? "cpu" : "cuda", py_scalar_type_name(tn_tensor_dtype(x)));
    PyGILState_Release(gil);
    return false;
}

/* x * 10^d rounded, divided again; for d < 0 the other way round, since 10^d is not exact */
static tn_tensor *round_decimals(tn_tensor *x, int64_t d)
{
    tn_scalar ten = tn_scalar_f(pow(10, (double)(d < 0 ? -d : d)));
    tn_tensor *moved = (d < 0 ? tn_div_at : tn_mul_at)("", tn_scalar_t(x), ten),
              *whole = moved ? tn_round_at("", moved) : NULL;
    tn_tensor *r = whole ? (d < 0 ? tn_mul_at : tn_div_at)("", tn_scalar_t(whole), ten) : NULL;
    tn_release(moved);
    tn_release(whole);
    return r;
}

tn_tensor *call_round_decimals(const py_value *v)
{
    tn_tensor *x = v[0].s.v.t;
    int64_t d = v[1].s.v.i;
    const tn_dtype dtype = tn_tensor_dtype(x);
    if (!d)
        return tn_round_at("", x);
    if (!decimals_fit(x))
        return NULL;
    if (dtype != TN_F16 && dtype != TN_BF16)
        return round_decimals(x, d);
    tn_to_options wide = {.struct_size = sizeof wide, .site = "", .dtype = TN_F32}, back = wide; /* x * 10^d needs it */
    back.dtype = dtype;
    tn_tensor *own = (tn_to_opt)(x, &wide), *rounded = own ? round_decimals(own, d) : NULL;
    tn_tensor *r = rounded ? (tn_to_opt)(rounded, &back) : NULL;
    tn_release(own);
    tn_release(rounded);
    return r;
}

tn_tensor *call_round_decimals_(const py_value *v)
{
    if (!v[1].s.v.i)
        return tn_round__at("", v[0].s.v.t);
    tn_copy__options o = {.struct_size = sizeof o, .site = ""};
    tn_tensor *r = call_round_decimals(v), *x = r ? tn_copy__opt(v[0].s.v.t, r, &o) : NULL; /* one write, one version */
    tn_release(r);
    return x;
}

/* ---- variance ---- */

/* unbiased says what correction says in older programs: 1 or 0 */
static tn_scalar correction(const py_value *v)
{
    return v[4].given ? tn_scalar_i(v[4].s.v.i) : v[3].s;
}

/* The spread that was computed; warns where the correction leaves nothing to divide by: of nothing on meta, as in PyTorch.
 * NULL: there is none, or warnings are errors. */
static tn_tensor *spread_of(const char *name, tn_tensor *spread, const py_value *v)
{
    if (!spread || tn_tensor_device(spread).type == TN_META.type)
        return spread;
    const int64_t places = tn_tensor_numel(spread), each = places ? tn_tensor_numel(v[0].s.v.t) / places : 0;
    const tn_scalar c = correction(v);
    if ((double)each - (c.kind == TN_SCALAR_FLOAT ? c.v.f : c.kind == TN_SCALAR_NONE ? 1 : (double)c.v.i) > 0)
        return spread;
    PyGILState_STATE gil = PyGILState_Ensure();
    const int status = PyErr_WarnFormat(PyExc_UserWarning, 1,
                                        "%s(): degrees of freedom is <= 0. Correction should be strictly less than the "
                                        "reduction factor (input numel divided by output numel).",
                                        name);
    PyGILState_Release(gil);
    if (!status)
        return spread;
    tn_release(spread);
    return NULL;
}

static tn_tensor *var_of(const char *name, const py_value *v)
{
    tn_var_options o = {.struct_size = sizeof o,
                        .site = "",
                        .dim = py_dims(&v[1]),
                        .keepdim = v[2].s.v.i != 0,
                        .correction = correction(v)};
    return spread_of(name, (tn_var_opt)(v[0].s.v.t, &o), v);
}

static tn_tensor *std_of(const char *name, const py_value *v)
{
    tn_std_options o = {.struct_size = sizeof o,
                        .site = "",
                        .dim = py_dims(&v[1]),
                        .keepdim = v[2].s.v.i != 0,
                        .correction = correction(v)};
    return spread_of(name, (tn_std_opt)(v[0].s.v.t, &o), v);
}

tn_tensor *call_var_of(const py_value *v)
{
    return var_of("var", v);
}

tn_tensor *call_std_of(const py_value *v)
{
    return std_of("std", v);
}

static PyObject *with_mean(tn_tensor *spread, const py_value *v)
{
    tn_mean_options o = {.struct_size = sizeof o, .site = "", .dim = py_dims(&v[1]), .keepdim = v[2].s.v.i != 0};
    tn_tensor *both[2] = {spread, spread ? (tn_mean_opt)(v[0].s.v.t, &o) : NULL};
    if (both[1])
        return py_wrap_tuple(both, 2);
    tn_release(spread);
    return py_raise();
}

PyObject *run_var_mean(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    return with_mean(var_of("var_mean", v), v);
}

PyObject *run_std_mean(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    return with_mean(std_of("std_mean", v), v);
}

/* any and all over an empty list of dimensions are of each element alone: of a dimension of its own. */
static tn_tensor *truth_of(const py_value *v, bool every)
{
    int64_t last = -1;
    bool none = v[1].given && v[1].n == 0;
    tn_tensor *x = none ? (tn_unsqueeze_at)("", v[0].s.v.t, last) : tn_retain(v[0].s.v.t);
    const tn_dims dim = none ? (tn_dims){1, &last} : py_dims(&v[1]);
    const bool keepdim = !none && v[2].s.v.i != 0;
    const tn_any_options any = {.struct_size = sizeof any, .site = "", .dim = dim, .keepdim = keepdim};
    const tn_all_options all = {.struct_size = sizeof all, .site = "", .dim = dim, .keepdim = keepdim};
    tn_tensor *r = !x ? NULL : every ? (tn_all_opt)(x, &all) : (tn_any_opt)(x, &any);
    tn_release(x);
    return r;
}

tn_tensor *call_any_of(const py_value *v)
{
    return truth_of(v, false);
}

tn_tensor *call_all_of(const py_value *v)
{
    return truth_of(v, true);
}

/* ---- others that give one tensor ---- */

/* x * alpha, alpha being a number of x's dtype: a tensor that the caller releases. */
static tn_tensor *scaled(tn_tensor *x, const py_value *alpha)
{
    if (is_one(alpha))
        return tn_retain(x);
    tn_options o = {.struct_size = sizeof o, .site = "", .dtype = tn_tensor_dtype(x)};
    tn_tensor *by = (tn_full_opt)((tn_dims){0, NULL}, alpha->s, &o);
    tn_tensor *r = by ? (tn_mul_at)("", tn_scalar_t(x), tn_scalar_t(by)) : NULL;
    tn_release(by);
    return r;
}

tn_tensor *call_index_add_alpha(const py_value *v)
{
    tn_tensor *src = scaled(v[3].s.v.t, &v[4]);
    tn_tensor *r = src ? (tn_index_add_at)("", v[0].s.v.t, v[1].s.v.i, v[2].s.v.t, src) : NULL;
    tn_release(src);
    return r;
}

tn_tensor *call_index_add_alpha_(const py_value *v)
{
    tn_tensor *src = scaled(v[3].s.v.t, &v[4]);
    tn_tensor *r = src ? (tn_index_add__at)("", v[0].s.v.t, v[1].s.v.i, v[2].s.v.t, src) : NULL;
    tn_release(src);
    return r;
}

/* The result, written into x only when all of it is there: a call that fails leaves x as it was. */
static tn_tensor *put_into(tn_tensor *x, tn_tensor *result)
{
    tn_copy__options o = {.struct_size = sizeof o, .site = ""};
    tn_tensor *r = result ? (tn_copy__opt)(x, result, &o) : NULL;
    tn_release(result);
    return r;
}

/* The same for products, whose results are not broadcast to. */
static tn_tensor *structured(tn_tensor *x, tn_tensor *result)
{
    if (!result || py_same_shape(x, result))
        return put_into(x, result);
    PyGILState_STATE gil = PyGILState_Ensure();
    py_shapes_differ("Bad in-place call: input tensor size %S and output tensor size %S should match",
                     tn_tensor_shape(x), tn_tensor_shape(result));
    PyGILState_Release(gil);
    tn_release(result);
    return NULL;
}

/* What has not the product's shape, although all else goes together, is said before bools and numbers are judged. */
static bool product_fits(const tn_tensor *x, const tn_tensor *a, const tn_tensor *b, int32_t ndim)
{
    const tn_dims m = tn_tensor_shape(a), n = tn_tensor_shape(b), have = tn_tensor_shape(x);
    const tn_dtype dtype = tn_tensor_dtype(x);
    int64_t shape[3];
    if (m.ndim != ndim || n.ndim != ndim || m.dim[ndim - 1] != n.dim[ndim - 2] || tn_tensor_dtype(a) != dtype ||
        tn_tensor_dtype(b) != dtype || (ndim == 3 && (m.dim[0] != n.dim[0] || have.ndim > 3)))
        return true;
    memcpy(shape, m.dim, (size_t)ndim * sizeof *shape);
    shape[ndim - 1] = n.dim[ndim - 1];
    for (int32_t d = 1; d <= have.ndim && ndim == 3; d++) /* where it cannot be expanded, that is said */
        if (have.dim[have.ndim - d] != 1 && have.dim[have.ndim - d] != shape[3 - d])
            return true;
    if (have.ndim == ndim && !memcmp(have.dim, shape, (size_t)ndim * sizeof *shape))
        return true;
    PyGILState_STATE gil = PyGILState_Ensure();
    py_shapes_differ("Bad in-place call: input tensor size %S and output tensor size %S should match", have,
                     (tn_dims){ndim, shape});
    PyGILState_Release(gil);
    return false;
}

tn_tensor *call_addmm_full_(const py_value *v)
{
    tn_tensor *x = v[0].s.v.t;
    if (is_one(&v[3]) && is_one(&v[4]))
        return (tn_addmm__at)("", x, v[1].s.v.t, v[2].s.v.t);
    if (!product_fits(x, v[1].s.v.t, v[2].s.v.t, 2))
        return NULL;
    tn_addmm_options o = {.struct_size = sizeof o, .site = "", .beta = v[3].s, .alpha = v[4].s};
    return structured(x, (tn_addmm_opt)(x, v[1].s.v.t, v[2].s.v.t, &o));
}

tn_tensor *call_baddbmm_full_(const py_value *v)
{
    tn_tensor *x = v[0].s.v.t;
    if (!product_fits(x, v[1].s.v.t, v[2].s.v.t, 3))
        return NULL;
    tn_baddbmm_options o = {.struct_size = sizeof o, .site = "", .beta = v[3].s, .alpha = v[4].s};
    return structured(x, (tn_baddbmm_opt)(x, v[1].s.v.t, v[2].s.v.t, &o));
}

/* ---- scatter ---- */

static tn_tensor *first_of_each(tn_tensor *t, tn_dims sizes)
{
    t = tn_retain(t);
    for (int32_t d = 0; t && d < sizes.ndim; d++) {
        tn_tensor *less = tn_tensor_size(t, d) == sizes.dim[d] ? tn_retain(t) : tn_narrow_at("", t, d, 0, sizes.dim[d]);
        tn_release(t);
        t = less;
    }
    return t;
}

/* x times src where index says, one index along the dimension after the other: so a place may be meant more than once. */
static tn_tensor *scatter_product(tn_tensor *x, int64_t dim, tn_tensor *index, tn_tensor *src)
{
    int64_t n = tn_tensor_ndim(index) ? tn_tensor_size(index, dim) : 1;
    bool flat = !tn_tensor_ndim(index);
    if (!n) { /* a tensor of its own all the same */
        tn_tensor *copy = tn_clone_at("", x);
        tn_release(x);
        return copy;
    }
    for (int64_t i = 0; x && i < n; i++) {
        tn_tensor *at = flat ? tn_retain(index) : tn_narrow_at("", index, dim, i, 1);
        tn_tensor *by = flat ? tn_retain(src) : tn_narrow_at("", src, dim, i, 1);
        tn_tensor *old = at ? tn_gather_at("", x, dim, at) : NULL;
        tn_tensor *product = old && by ? (tn_mul_at)("", tn_scalar_t(old), tn_scalar_t(by)) : NULL;
        tn_tensor *next = product ? (tn_scatter_at)("", x, dim, at, tn_scalar_t(product)) : NULL;
        tn_release(at);
        tn_release(by);
        tn_release(old);
        tn_release(product);
        tn_release(x);
        x = next;
    }
    return x;
}

/* 'add' or 'multiply'; -1 with an exception for another word */
static int reduction_of(const char *word)
{
    if (!strcmp(word, "add") || !strcmp(word, "multiply"))
        return word[0] == 'm';
    PyGILState_STATE gil = PyGILState_Ensure();
    PyErr_SetString(PyExc_RuntimeError, "reduce argument must be either add or multiply.");
    PyGILState_Release(gil);
    return -1;
}

/* slots: input dim index src reduce */
tn_tensor *call_scatter_reduced(const py_value *v)
{
    tn_tensor *x = v[0].s.v.t, *index = v[2].s.v.t, *checked = NULL, *r = NULL;
    if (!v[4].given)
        return (tn_scatter_at)("", x, v[1].s.v.i, index, v[3].s);
    checked = (tn_scatter_at)("", x, v[1].s.v.i, index, v[3].s);
    if (!checked && strncmp(tn_error_message(), "index ", 6)) /* what is out of bounds is found later */
        return NULL;
    tn_release(checked);
    const int product = reduction_of(v[4].u.text);
    if (product < 0 || !checked)
        return NULL;
    tn_options o = {.struct_size = sizeof o, .site = "", .dtype = tn_tensor_dtype(x), .device = tn_tensor_device(x)};
    tn_tensor *src = v[3].s.kind == TN_SCALAR_TENSOR ? first_of_each(v[3].s.v.t, tn_tensor_shape(index))
                                                     : (tn_full_opt)(tn_tensor_shape(index), v[3].s, &o);
    if (src)
        r = product ? scatter_product(tn_retain(x), v[1].s.v.i, index, src)
                    : tn_scatter_add_at("", x, v[1].s.v.i, index, src);
    tn_release(src);
    return r;
}

tn_tensor *call_scatter_reduced_(const py_value *v)
{
    if (!v[4].given)
        return (tn_scatter__at)("", v[0].s.v.t, v[1].s.v.i, v[2].s.v.t, v[3].s);
    return put_into(v[0].s.v.t, call_scatter_reduced(v));
}

/* An output_size that the repeats do not come to is refused: 0, or -1 with an exception. */
static int check_output_size(const py_value *v, tn_tensor *r, int64_t dim)
{
    const int64_t said = v[3].s.v.i, is = tn_tensor_ndim(r) ? tn_tensor_size(r, dim) : 1;
    if (said == is)
        return 0;
    PyGILState_STATE gil = PyGILState_Ensure();
    if (v[1].s.kind != TN_SCALAR_TENSOR)
        PyErr_Format(PyExc_RuntimeError, "repeat_interleave: Invalid output_size, expected %lld but got %lld",
                     (long long)is, (long long)said);
    else if (said < 0)
        PyErr_Format(PyExc_RuntimeError, "Trying to create tensor with negative dimension %lld: [%lld]",
                     (long long)said, (long long)said);
    else
        PyErr_SetString(PyExc_RuntimeError, "allocated size does not match required size");
    PyGILState_Release(gil);
    return -1;
}

/* 0 .. as many as there are repeats, or NULL with an exception. */
static tn_tensor *places_of(tn_tensor *repeats)
{
    const tn_dtype dtype = tn_tensor_dtype(repeats);
    const tn_options like = {
        .struct_size = sizeof like, .site = "", .dtype = dtype, .device = tn_tensor_device(repeats)};
    const bool whole = dtype != TN_BOOL && !tn_dtype_is_floating_point(dtype);
    if (whole && tn_tensor_ndim(repeats) == 1)
        return (tn_arange_opt)(tn_scalar_i(0), tn_scalar_i(tn_tensor_numel(repeats)), tn_scalar_i(1), &like);
    PyGILState_STATE gil = PyGILState_Ensure();
    if (!whole)
        PyErr_Format(PyExc_NotImplementedError, "\"repeat_interleave_cpu\" not implemented for '%s'",
                     py_scalar_type_name(dtype));
    else
        PyErr_SetString(PyExc_RuntimeError, "repeat_interleave only accept 1D vector as repeat");
    PyGILState_Release(gil);
    return NULL;
}

/* slots: input repeats dim output_size; without an input each index of repeats */
tn_tensor *call_repeat_interleave_any(const py_value *v)
{
    int64_t dim = v[2].given ? v[2].s.v.i : 0;
    tn_repeat_interleave_options o = {.struct_size = sizeof o, .site = "", .dim = {v[2].given, &dim}};
    tn_tensor *x = v[0].s.kind ? tn_retain(v[0].s.v.t) : places_of(v[1].s.v.t);
    tn_tensor *r = x ? (tn_repeat_interleave_opt)(x, v[1].s, &o) : NULL;
    tn_release(x);
    if (r && v[3].given && check_output_size(v, r, dim)) {
        tn_release(r);
        r = NULL;
    }
    return r;
}

tn_tensor *call_dropout_train(const py_value *v)
{
    double p = v[1].s.v.f;
    if (!(p >= 0 && p <= 1)) {
        PyGILState_STATE gil = PyGILState_Ensure();
        PyObject *number = PyFloat_FromDouble(p);
        PyErr_Format(PyExc_ValueError, "dropout probability has to be between 0 and 1, but got %R", number);
        Py_XDECREF(number);
        PyGILState_Release(gil);
        return NULL;
    }
    return v[2].s.v.i ? (tn_dropout_at)("", v[0].s.v.t, p) : tn_retain(v[0].s.v.t);
}

tn_tensor *call_reshape_as(const py_value *v)
{
    return (tn_reshape_at)("", v[0].s.v.t, tn_tensor_shape(v[1].s.v.t));
}

tn_tensor *call_flatten_all(const py_value *v)
{
    tn_tensor *whole = (tn_contiguous_at)("", v[0].s.v.t); /* reshape would keep a view of every second element one */
    tn_tensor *flat = whole ? (tn_reshape_at)("", whole, (tn_dims){1, (const int64_t[]){-1}}) : NULL;
    tn_release(whole);
    return flat;
}

tn_tensor *call_as_strided_at(const py_value *v)
{
    int64_t offset = v[3].given ? v[3].s.v.i : tn_tensor_storage_offset(v[0].s.v.t);
    return (tn_as_strided_at)("", v[0].s.v.t, py_dims(&v[1]), py_dims(&v[2]), offset);
}

/* ---- values and indices ---- */

typedef tn_tensor *max_of(tn_tensor *x, const tn_max_options *o);

static PyObject *extreme(const char *name, py_value *v, int which, max_of *f, binary *elementwise)
{
    if (which == 1)
        return py_wrap(elementwise("", v[0].s, v[3].s));
    tn_tensor *both[2] = {NULL, NULL};
    tn_max_options o = {.struct_size = sizeof o, .site = ""};
    if (which == 2) {
        o.dim = (tn_dims){1, &v[1].s.v.i};
        o.keepdim = v[2].s.v.i != 0;
        o.indices = &both[1];
    }
    Py_BEGIN_ALLOW_THREADS
        both[0] = f(v[0].s.v.t, &o);
    Py_END_ALLOW_THREADS
    return which == 2 && both[0] ? py_named_result(name, both, 2) : py_wrap(both[0]);
}

static tn_tensor *min_as_max(tn_tensor *x, const tn_max_options *o)
{
    return (tn_min_opt)(x, &(tn_min_options){.struct_size = sizeof(tn_min_options),
                                             .site = "",
                                             .dim = o->dim,
                                             .keepdim = o->keepdim,
                                             .indices = o->indices});
}

PyObject *run_max(PyObject *self, py_value *v, int which)
{
    (void)self;
    return extreme("max", v, which, tn_max_opt, tn_maximum_at);
}

PyObject *run_min(PyObject *self, py_value *v, int which)
{
    (void)self;
    return extreme("min", v, which, min_as_max, tn_minimum_at);
}

PyObject *run_topk(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    tn_tensor *both[2] = {NULL, NULL};
    tn_topk_options o = {.struct_size = sizeof o, .site = "", .smallest = v[3].s.v.i == 0, .indices = &both[1]};
    Py_BEGIN_ALLOW_THREADS
        both[0] = (tn_topk_opt)(v[0].s.v.t, v[1].s.v.i, v[2].s.v.i, &o);
    Py_END_ALLOW_THREADS
    return both[0] ? py_named_result("topk", both, 2) : py_raise();
}

PyObject *run_aminmax(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    tn_dims dim = v[1].given ? (tn_dims){1, &v[1].s.v.i} : (tn_dims){0, NULL};
    tn_amin_options low = {.struct_size = sizeof low, .site = "", .dim = dim, .keepdim = v[2].s.v.i != 0};
    tn_amax_options high = {.struct_size = sizeof high, .site = "", .dim = dim, .keepdim = v[2].s.v.i != 0};
    tn_tensor *both[2] = {(tn_amin_opt)(v[0].s.v.t, &low), NULL};
    both[1] = both[0] ? (tn_amax_opt)(v[0].s.v.t, &high) : NULL;
    if (both[1])
        return py_named_result("aminmax", both, 2);
    tn_release(both[0]);
    return py_raise();
}

/* ---- where ---- */

static PyObject *nonzero_tuple(tn_tensor *condition)
{
    tn_error_clear();
    tn_tensor *line = tn_tensor_ndim(condition) ? tn_retain(condition) : tn_unsqueeze_at("", condition, 0);
    tn_tensor *all = line ? tn_nonzero_at("", line) : NULL, *column[TN_MAX_DIMS];
    int64_t n = all ? (tn_unbind_at)("", all, 1, column, TN_MAX_DIMS) : 0;
    tn_release(line);
    tn_release(all);
    return n > 0 || !tn_error_code() ? py_wrap_tuple(column, n > 0 ? n : 0) : py_raise();
}

PyObject *run_nonzero(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    if (v[1].s.v.i && v[2].given) /* 'out', behind the slots */
        return PyErr_Format(PyExc_RuntimeError, "nonzero does not support the out kwarg when as_tuple is True");
    return v[1].s.v.i ? nonzero_tuple(v[0].s.v.t) : py_wrap(tn_nonzero_at("", v[0].s.v.t));
}

PyObject *run_where(PyObject *self, py_value *v, int which)
{
    (void)self;
    return which ? nonzero_tuple(v[0].s.v.t) : py_wrap((tn_where_at)("", v[0].s, v[1].s, v[2].s));
}

PyObject *run_where_method(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    return py_wrap((tn_where_at)("", v[1].s, v[0].s, v[2].s));
}

/* ---- lists of views ---- */

typedef struct pieces {
    tn_tensor *x;
    int64_t n, dim;
    tn_dims sizes;
} pieces;
typedef int64_t cut(const pieces *p, tn_tensor **out, size_t cap);

/* Asks how many there are, then for them. */
static PyObject *tuple_of(cut *f, const pieces *p)
{
    tn_error_clear();
    int64_t n = f(p, NULL, 0);
    if (n <= 0)
        return tn_error_code() ? py_raise() : PyTuple_New(0);
    tn_tensor **out = n < INT32_MAX ? malloc((size_t)n * sizeof *out) : NULL;
    if (!out)
        return PyErr_Format(PyExc_RuntimeError, "%lld pieces are more than memory holds", (long long)n);
    PyObject *tuple = f(p, out, (size_t)n) == n ? py_wrap_tuple(out, (Py_ssize_t)n) : py_raise();
    free(out);
    return tuple;
}

static int64_t cut_split(const pieces *p, tn_tensor **out, size_t cap)
{
    return (tn_split_at)("", p->x, p->n, p->dim, out, cap);
}

static int64_t cut_sizes(const pieces *p, tn_tensor **out, size_t cap)
{
    return (tn_split_sizes_at)("", p->x, p->sizes, p->dim, out, cap);
}

static int64_t cut_chunk(const pieces *p, tn_tensor **out, size_t cap)
{
    return (tn_chunk_at)("", p->x, p->n, p->dim, out, cap);
}

static int64_t cut_unbind(const pieces *p, tn_tensor **out, size_t cap)
{
    return (tn_unbind_at)("", p->x, p->dim, out, cap);
}

PyObject *run_split(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    pieces p = {v[0].s.v.t, v[1].s.v.i, v[3].s.v.i, py_dims(&v[2])};
    return tuple_of(v[2].given ? cut_sizes : cut_split, &p);
}

PyObject *run_chunk(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    pieces p = {v[0].s.v.t, v[1].s.v.i, v[2].s.v.i, {0, NULL}};
    return tuple_of(cut_chunk, &p);
}

PyObject *run_unbind(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    pieces p = {v[0].s.v.t, 0, v[1].s.v.i, {0, NULL}};
    return tuple_of(cut_unbind, &p);
}

/* One piece, start .. end of a dimension, put into the tuple. */
static bool put_slice(PyObject *tuple, Py_ssize_t i, const py_value *v, int64_t start, int64_t end)
{
    PyObject *piece = py_wrap((tn_slice_at)("", v[0].s.v.t, v[3].s.v.i, start, end > start ? end : start, 1));
    return piece && !PyTuple_SetItem(tuple, i, piece);
}

/* A tensor says what an int or a list of them would: it becomes v[1] or v[2]. */
static bool sections_from_tensor(py_value *v)
{
    tn_tensor *t = v[4].s.v.t;
    const char *name = "tensor_split expected tensor_indices_or_sections to";
    if (tn_tensor_device(t).type != TN_CPU.type)
        PyErr_Format(PyExc_RuntimeError, "%s be on cpu, but it's on %s", name, tn_device_text(tn_tensor_device(t)).s);
    else if (tn_tensor_dtype(t) != TN_I64)
        PyErr_Format(PyExc_RuntimeError, "%s have dtype of long, but got %s", name,
                     py_scalar_type_name(tn_tensor_dtype(t)));
    else if (tn_tensor_ndim(t) > 1)
        PyErr_Format(PyExc_RuntimeError,
                     "%s be a zero-dimensional or one-dimensional tensor, but got a tensor with %d dims", name,
                     tn_tensor_ndim(t));
    else if (tn_tensor_numel(t) > TN_MAX_DIMS)
        PyErr_Format(PyExc_RuntimeError, "tensor_split: a list of %lld, but at most %d indices are taken",
                     (long long)tn_tensor_numel(t), TN_MAX_DIMS);
    if (PyErr_Occurred())
        return false;
    tn_tensor *row = tn_contiguous_at("", t);
    const int64_t *data = row ? tn_data(row) : NULL;
    int64_t n = tn_tensor_numel(t);
    if (data && tn_tensor_ndim(t) == 0)
        v[1].s = tn_scalar_i(data[0]);
    else if (data)
        memcpy(v[2].u.dim, data, (size_t)n * sizeof *data);
    v[2].n = (int32_t)n;
    tn_release(row);
    return data || n == 0 || py_raise();
}

/* An index of tensor_split within the dimension: negative ones count from its end. */
static int64_t bound(int64_t i, int64_t size)
{
    if (i < 0)
        i += size;
    return i < 0 ? 0 : i < size ? i : size;
}

PyObject *run_tensor_split(PyObject *self, py_value *v, int which)
{
    (void)self;
    if (!tn_tensor_ndim(v[0].s.v.t))
        return PyErr_Format(PyExc_RuntimeError, "tensor_split expected at least a 1-dimensional tensor, but got a "
                                                "tensor with 0 dims");
    if (which == 1 && !sections_from_tensor(v))
        return NULL;
    bool at_indices = which == 0 || (which == 1 && tn_tensor_ndim(v[4].s.v.t));
    int64_t size = tn_tensor_size(v[0].s.v.t, v[3].s.v.i), n = at_indices ? v[2].n + 1 : v[1].s.v.i;
    if (size < 0)
        return py_raise();
    if (n <= 0)
        return PyErr_Format(PyExc_RuntimeError, "number of sections must be larger than 0, got %lld", (long long)n);
    PyObject *tuple = n < INT32_MAX ? PyTuple_New((Py_ssize_t)n) : NULL;
    if (!tuple)
        return PyErr_Format(PyExc_RuntimeError, "tensor_split(): %lld pieces are more than memory holds", (long long)n);
    int64_t start = 0;
    for (int64_t i = 0; tuple && i < n; i++) {
        int64_t end = at_indices ? (i < v[2].n ? bound(v[2].u.dim[i], size) : size) : start + size / n + (i < size % n);
        if (!put_slice(tuple, (Py_ssize_t)i, v, start, end))
            Py_CLEAR(tuple);
        start = end;
    }
    return tuple;
}

/* ---- views, tests ---- */

PyObject *run_view(PyObject *self, py_value *v, int which)
{
    if (which == 0)
        return py_wrap((tn_view_at)("", v[0].s.v.t, py_dims(&v[1])));
    (void)self;
    return py_wrap((tn_view_dtype_at)("", v[0].s.v.t, v[2].dtype));
}

static PyObject *flag(bool value)
{
    return tn_error_code() ? py_raise() : PyBool_FromLong(value);
}

PyObject *run_allclose(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    tn_error_clear();
    tn_allclose_options o = {
        .struct_size = sizeof o, .site = "", .rtol = v[2].s, .atol = v[3].s, .equal_nan = v[4].s.v.i != 0};
    return flag((tn_allclose_opt)(v[0].s.v.t, v[1].s.v.t, &o));
}

PyObject *run_equal(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    tn_error_clear();
    return flag((tn_equal_at)("", v[0].s.v.t, v[1].s.v.t));
}
