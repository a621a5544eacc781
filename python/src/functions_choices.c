/* functions_choices.c: functions that stand for several of the library's: which of them, alpha, rounding_mode, decimals, reduce,
 * dim or the arguments' types say. */
#include "args_error.h"
#include "functions.h"
#include "generator.h"

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

/* Where decimals are asked for, be it none, PyTorch rounds floats alone. */
static bool lacks_decimals(tn_tensor *x)
{
    if (tn_dtype_is_floating_point(tn_tensor_dtype(x)))
        return false;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyErr_Format(PyExc_NotImplementedError, "\"round_%s\" not implemented for '%s'",
                 tn_tensor_device(x).type == TN_DEVICE_CPU ? "vml_cpu" : "cuda",
                 py_scalar_type_name(tn_tensor_dtype(x)));
    PyGILState_Release(gil);
    return true;
}

tn_tensor *call_round_decimals(const py_value *v)
{
    const int64_t decimals = v[1].s.v.i;
    if (v[1].given && !decimals && lacks_decimals(v[0].s.v.t))
        return NULL;
    return decimals ? tn_round_decimals_at("", v[0].s.v.t, decimals) : tn_round_at("", v[0].s.v.t);
}

tn_tensor *call_round_decimals_(const py_value *v)
{
    const int64_t decimals = v[1].s.v.i;
    if (v[1].given && !decimals && lacks_decimals(v[0].s.v.t))
        return NULL;
    return decimals ? tn_round_decimals__at("", v[0].s.v.t, decimals) : tn_round__at("", v[0].s.v.t);
}

/* What is not complex is its own conjugate; that a leaf is written to is refused none the less. */
tn_tensor *call_conj_physical_in_place(const py_value *v)
{
    tn_tensor *x = v[0].s.v.t;
    return tn_tensor_check_inplace(x, tn_tensor_requires_grad(x) && tn_is_grad_enabled()) ? NULL : x;
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

tn_tensor *call_var_of(const py_value *v)
{
    const tn_var_options o = {.struct_size = sizeof o,
                              .site = "",
                              .dims = py_dims(&v[1]),
                              .keepdim = v[2].s.v.i != 0,
                              .correction = correction(v)};
    return spread_of("var", (tn_var_opt)(v[0].s.v.t, &o), v);
}

tn_tensor *call_std_of(const py_value *v)
{
    const tn_std_options o = {.struct_size = sizeof o,
                              .site = "",
                              .dims = py_dims(&v[1]),
                              .keepdim = v[2].s.v.i != 0,
                              .correction = correction(v)};
    return spread_of("std", (tn_std_opt)(v[0].s.v.t, &o), v);
}

static PyObject *with_mean(tn_tensor *spread, tn_tensor *mean)
{
    tn_tensor *both[2] = {spread, mean};
    if (spread)
        return py_wrap_tuple(both, 2);
    tn_release(mean);
    return py_raise();
}

PyObject *run_var_mean(PyObject *self, py_value *v, int which)
{
    tn_tensor *mean = NULL;
    const tn_var_mean_options o = {.struct_size = sizeof o,
                                   .site = "",
                                   .dims = py_dims(&v[1]),
                                   .keepdim = v[2].s.v.i != 0,
                                   .correction = correction(v),
                                   .mean = &mean};
    (void)self, (void)which;
    tn_tensor *var = spread_of("var_mean", (tn_var_mean_opt)(v[0].s.v.t, &o), v);
    return with_mean(var, mean);
}

PyObject *run_std_mean(PyObject *self, py_value *v, int which)
{
    tn_tensor *mean = NULL;
    const tn_std_mean_options o = {.struct_size = sizeof o,
                                   .site = "",
                                   .dims = py_dims(&v[1]),
                                   .keepdim = v[2].s.v.i != 0,
                                   .correction = correction(v),
                                   .mean = &mean};
    (void)self, (void)which;
    tn_tensor *std = spread_of("std_mean", (tn_std_mean_opt)(v[0].s.v.t, &o), v);
    return with_mean(std, mean);
}

/* ---- others that give one tensor ---- */

tn_tensor *call_index_add_alpha(const py_value *v)
{
    tn_tensor *x = v[0].s.v.t, *index = v[2].s.v.t, *src = v[3].s.v.t;
    return is_one(&v[4]) ? tn_index_add_at("", x, v[1].s.v.i, index, src)
                         : tn_index_add_scaled_at("", x, v[1].s.v.i, index, src, v[4].s);
}

tn_tensor *call_index_add_alpha_(const py_value *v)
{
    tn_tensor *x = v[0].s.v.t, *index = v[2].s.v.t, *src = v[3].s.v.t;
    return is_one(&v[4]) ? tn_index_add__at("", x, v[1].s.v.i, index, src)
                         : tn_index_add_scaled__at("", x, v[1].s.v.i, index, src, v[4].s);
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
                     tn_dims_of(shape, ndim));
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

/* A result that x can take in; PyTorch refuses others in as many ways as there are functions. */
static tn_tensor *fitting(tn_tensor *x, tn_tensor *result, const char *text)
{
    if (!result || py_same_shape(x, result))
        return result;
    PyGILState_STATE gil = PyGILState_Ensure();
    py_shapes_differ(text, tn_tensor_shape(x), tn_tensor_shape(result));
    PyGILState_Release(gil);
    tn_release(result);
    return NULL;
}

tn_tensor *call_addmv_own(const py_value *v)
{
    tn_addmv_options o = {.struct_size = sizeof o, .site = "", .beta = v[3].s, .alpha = v[4].s};
    return fitting(v[0].s.v.t, (tn_addmv_opt)(v[0].s.v.t, v[1].s.v.t, v[2].s.v.t, &o),
                   "Bad in-place call: input tensor size %S and output tensor size %S should match");
}

/* Where PyTorch would give x another size: what it says where x's memory is not its own. */
tn_tensor *call_addbmm_own(const py_value *v)
{
    tn_addbmm_options o = {.struct_size = sizeof o, .site = "", .beta = v[3].s, .alpha = v[4].s};
    return fitting(v[0].s.v.t, (tn_addbmm_opt)(v[0].s.v.t, v[1].s.v.t, v[2].s.v.t, &o),
                   "Trying to resize storage that is not resizable");
}

tn_tensor *call_addr_own(const py_value *v)
{
    tn_tensor *x = v[0].s.v.t, *a = v[1].s.v.t, *b = v[2].s.v.t;
    const tn_dims have = tn_tensor_shape(x), m = tn_tensor_shape(a), n = tn_tensor_shape(b);
    const bool vectors = m.ndim == 1 && n.ndim == 1;
    if (!vectors || (have.ndim == 2 && have.dim[0] == m.dim[0] && have.dim[1] == n.dim[0])) {
        tn_addr_options o = {.struct_size = sizeof o, .site = "", .beta = v[3].s, .alpha = v[4].s};
        return (tn_addr_opt)(x, a, b, &o);
    }
    PyGILState_STATE gil = PyGILState_Ensure();
    if (have.ndim != 2)
        PyErr_Format(PyExc_RuntimeError, "2D tensor expected, got %dD tensor for input", (int)have.ndim);
    else
        PyErr_Format(PyExc_RuntimeError, "size mismatch, input: [%lld, %lld], v1: [%lld], v2: [%lld]",
                     (long long)have.dim[0], (long long)have.dim[1], (long long)m.dim[0], (long long)n.dim[0]);
    PyGILState_Release(gil);
    return NULL;
}

/* ---- scatter ---- */

/* slots: input dim index src reduce */
tn_tensor *call_scatter_reduced(const py_value *v)
{
    tn_tensor *x = v[0].s.v.t, *index = v[2].s.v.t;
    return v[4].given ? tn_scatter_reduced_at("", x, v[1].s.v.i, index, v[3].s, v[4].u.text)
                      : tn_scatter_at("", x, v[1].s.v.i, index, v[3].s);
}

tn_tensor *call_scatter_reduced_(const py_value *v)
{
    tn_tensor *x = v[0].s.v.t, *index = v[2].s.v.t;
    return v[4].given ? tn_scatter_reduced__at("", x, v[1].s.v.i, index, v[3].s, v[4].u.text)
                      : tn_scatter__at("", x, v[1].s.v.i, index, v[3].s);
}

/* slots: input repeats dim output_size; without an input each index of repeats */
tn_tensor *call_repeat_interleave_any(const py_value *v)
{
    const tn_scalar size = v[3].given ? v[3].s : tn_scalar_none();
    const tn_repeat_interleave_options o = {
        .struct_size = sizeof o, .site = "", .dim = v[2].s.v.i, .dim_given = v[2].given, .output_size = size};
    const tn_repeated_places_options all = {.struct_size = sizeof all, .site = "", .output_size = size};
    return v[0].s.kind ? (tn_repeat_interleave_opt)(v[0].s.v.t, v[1].s, &o)
                       : (tn_repeated_places_opt)(v[1].s.v.t, &all);
}

tn_tensor *call_dropout_train(const py_value *v)
{
    return v[2].s.v.i ? (tn_dropout_at)("", v[0].s.v.t, v[1].s.v.f) : tn_retain(v[0].s.v.t);
}

/* ---- values and indices ---- */

typedef tn_tensor *max_of(tn_tensor *x, const tn_max_options *o);

/* Of all of a tensor; along a dimension values and indices. */
static PyObject *chosen(const char *name, py_value *v, bool along, max_of *f)
{
    tn_tensor *both[2] = {NULL, NULL};
    tn_max_options o = {.struct_size = sizeof o, .site = ""};
    if (along) {
        o.dim = v[1].s.v.i;
        o.dim_given = true;
        o.keepdim = v[2].s.v.i != 0;
        o.indices = &both[1];
    }
    PY_BEGIN_OWNING(v[0].s.v.t)
        both[0] = f(v[0].s.v.t, &o);
    PY_END_OWNING
    return along && both[0] ? py_named_result(name, both, 2) : py_wrap(both[0]);
}

static PyObject *extreme(const char *name, py_value *v, int which, max_of *f, binary *elementwise)
{
    return which == 1 ? py_wrap(elementwise("", v[0].s, v[3].s)) : chosen(name, v, which == 2, f);
}

static tn_tensor *min_as_max(tn_tensor *x, const tn_max_options *o)
{
    return (tn_min_opt)(x, &(tn_min_options){.struct_size = sizeof(tn_min_options),
                                             .site = "",
                                             .dim = o->dim,
                                             .dim_given = o->dim_given,
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

/* ---- medians ---- */

static tn_tensor *median_as_max(tn_tensor *x, const tn_max_options *o)
{
    return (tn_median_opt)(x, &(tn_median_options){.struct_size = sizeof(tn_median_options),
                                                   .site = "",
                                                   .dim = o->dim,
                                                   .dim_given = o->dim_given,
                                                   .keepdim = o->keepdim,
                                                   .indices = o->indices});
}

static tn_tensor *nanmedian_as_max(tn_tensor *x, const tn_max_options *o)
{
    return (tn_nanmedian_opt)(x, &(tn_nanmedian_options){.struct_size = sizeof(tn_nanmedian_options),
                                                         .site = "",
                                                         .dim = o->dim,
                                                         .dim_given = o->dim_given,
                                                         .keepdim = o->keepdim,
                                                         .indices = o->indices});
}

PyObject *run_median(PyObject *self, py_value *v, int which)
{
    (void)self;
    return chosen("median", v, which == 1, median_as_max);
}

PyObject *run_nanmedian(PyObject *self, py_value *v, int which)
{
    (void)self;
    return chosen("nanmedian", v, which == 1, nanmedian_as_max);
}

PyObject *run_topk(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    tn_tensor *both[2] = {NULL, NULL};
    tn_topk_options o = {.struct_size = sizeof o, .site = "", .smallest = v[3].s.v.i == 0, .indices = &both[1]};
    PY_BEGIN_OWNING(v[0].s.v.t)
        both[0] = (tn_topk_opt)(v[0].s.v.t, v[1].s.v.i, v[2].s.v.i, &o);
    PY_END_OWNING
    return both[0] ? py_named_result("topk", both, 2) : py_raise();
}

/* ---- views, tests ---- */

PyObject *run_view(PyObject *self, py_value *v, int which)
{
    if (which == 0)
        return py_wrap((tn_view_at)("", v[0].s.v.t, TN__DIMS(py_dims(&v[1]))));
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
