/* random.c: factories of random tensors, and the in-place methods that the library has. Others: distributions.c. */
#define TN_HERE "" /* errors name no line of this file */
#include "functions.h"
#include "generator.h"

#include <float.h>
#include <math.h>

/* ---- factories ---- */

/* Slots of every factory: its own arguments, then these, then 'out'. */
enum { GENERATOR, DTYPE, DEVICE, PIN_MEMORY, REQUIRES_GRAD, OUT };

static tn_options options_of(const py_value *rest)
{
    tn_options o = {.struct_size = sizeof o,
                    .site = "",
                    .device = rest[DEVICE].device,
                    .dtype = rest[DTYPE].dtype,
                    .requires_grad = rest[REQUIRES_GRAD].s.v.i != 0,
                    .pin_memory = rest[PIN_MEMORY].s.v.i != 0};
    if (rest[OUT].given) { /* the numbers are made as 'out' keeps them */
        o.dtype = o.dtype ? o.dtype : tn_tensor_dtype(rest[OUT].s.v.t);
        o.device = o.device.type ? o.device : tn_tensor_device(rest[OUT].s.v.t);
    }
    return o;
}

static bool out_fits(const py_value *rest)
{
    tn_dtype dtype = rest[DTYPE].dtype;
    if (!rest[OUT].given || !dtype || dtype == tn_tensor_dtype(rest[OUT].s.v.t))
        return true;
    PyErr_Format(PyExc_RuntimeError, "dtype %s does not match dtype of out parameter (%s)", py_scalar_type_name(dtype),
                 py_scalar_type_name(tn_tensor_dtype(rest[OUT].s.v.t)));
    return false;
}

typedef tn_tensor *maker(const py_value *v, const tn_options *o);

/* like: the tensor whose device counts where none is said, or NULL. */
static PyObject *factory(const char *name, maker *f, const py_value *v, const py_value *rest, const tn_tensor *like)
{
    tn_options o = options_of(rest);
    tn_device device = o.device.type ? o.device : like ? tn_tensor_device(like) : tn_get_default_device();
    py_draw draw;
    if (!out_fits(rest) || py_draw_begin(&draw, name, &rest[GENERATOR], device))
        return NULL;
    tn_tensor *r = f(v, &o);
    py_draw_end(&draw);
    return py_into(name, &rest[OUT], r);
}

static tn_tensor *make_rand(const py_value *v, const tn_options *o)
{
    return tn_rand_opt(py_dims(v), o);
}

static tn_tensor *make_randn(const py_value *v, const tn_options *o)
{
    return tn_randn_opt(py_dims(v), o);
}

static tn_tensor *make_rand_like(const py_value *v, const tn_options *o)
{
    return tn_rand_like_opt(v[0].s.v.t, o);
}

static tn_tensor *make_randn_like(const py_value *v, const tn_options *o)
{
    return tn_randn_like_opt(v[0].s.v.t, o);
}

PyObject *run_rand(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    return factory("rand", make_rand, v, v + 1, NULL);
}

PyObject *run_randn(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    return factory("randn", make_randn, v, v + 1, NULL);
}

PyObject *run_rand_like(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    return factory("rand_like", make_rand_like, v, v + 1, v[0].s.v.t);
}

PyObject *run_randn_like(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    return factory("randn_like", make_randn_like, v, v + 1, v[0].s.v.t);
}

/* ---- whole numbers ---- */

/* low .. high - 1 must be numbers of the dtype. An empty range is the library's error. */
static bool fits(tn_dtype dtype, int64_t low, int64_t high)
{
    const py_dtype_row *r = &py_dtypes[dtype];
    if (low >= high || tn_dtype_is_floating_point(dtype))
        return true;
    if (low < r->low || low > r->high)
        PyErr_Format(PyExc_RuntimeError, "from is out of bounds for %s", r->scalar);
    else if (high - 1 > r->high)
        PyErr_Format(PyExc_RuntimeError, "to - 1 is out of bounds for %s", r->scalar);
    else
        return true;
    return false;
}

static tn_tensor *make_randint(const py_value *v, const tn_options *o)
{
    return tn_randint_opt(v[0].given ? v[0].s.v.i : 0, v[1].s.v.i, py_dims(&v[2]), o);
}

PyObject *run_randint(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    tn_dtype dtype = options_of(v + 3).dtype;
    if (!fits(dtype ? dtype : TN_I64, v[0].given ? v[0].s.v.i : 0, v[1].s.v.i))
        return NULL;
    return factory("randint", make_randint, v, v + 3, NULL);
}

static tn_tensor *make_randint_like(const py_value *v, const tn_options *o)
{
    tn_options like = *o;
    like.dtype = o->dtype ? o->dtype : tn_tensor_dtype(v[0].s.v.t);
    like.device = o->device.type ? o->device : tn_tensor_device(v[0].s.v.t);
    tn_tensor *x = v[0].s.v.t, *r;
    const int64_t low = v[1].given ? v[1].s.v.i : 0;
    if (tn_tensor_is_contiguous(x))
        return tn_randint_opt(low, v[2].s.v.i, tn_tensor_shape(x), &like);
    /* what is like x lies in memory as it does; detached, it is no view */
    const bool grad = like.requires_grad;
    like.requires_grad = false;
    tn_tensor *t = tn_randint_opt(low, v[2].s.v.i, tn_tensor_shape(x), &like);
    tn_tensor *bare = t ? tn_empty_like(x, .device = TN_META) : NULL;
    tn_tensor *laid = bare ? (tn_as_strided_at)("", t, tn_tensor_shape(x), tn_tensor_stride(bare), 0) : NULL;
    r = laid ? tn_detach(laid) : NULL;
    tn_release(laid);
    tn_release(bare);
    tn_release(t);
    if (r && grad && !tn_requires_grad_(r, true)) {
        tn_release(r);
        return NULL;
    }
    return r;
}

PyObject *run_randint_like(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    tn_dtype dtype = options_of(v + 3).dtype;
    if (!fits(dtype ? dtype : tn_tensor_dtype(v[0].s.v.t), v[1].given ? v[1].s.v.i : 0, v[2].s.v.i))
        return NULL;
    return factory("randint_like", make_randint_like, v, v + 3, v[0].s.v.t);
}

static tn_tensor *make_randperm(const py_value *v, const tn_options *o)
{
    return tn_randperm_opt(v[0].s.v.i, o);
}

PyObject *run_randperm(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    tn_dtype dtype = options_of(v + 1).dtype;
    if (!v[0].s.v.i) /* nothing is drawn, by no generator */
        v[1 + GENERATOR].given = false;
    if (v[0].s.v.i > 0 && v[0].s.v.i - 1 > py_dtypes[dtype ? dtype : TN_I64].high)
        return PyErr_Format(PyExc_RuntimeError, "n is too large for result tensor type: 'torch.%s'",
                            tn_dtype_name(dtype));
    return factory("randperm", make_randperm, v, v + 1, NULL);
}

/* ---- normal ---- */

static tn_tensor *make_normal_of_numbers(const py_value *v, const tn_options *o)
{
    tn_options plain = *o;
    plain.requires_grad = false;
    tn_tensor *t = tn_empty_opt(py_dims(&v[2]), &plain);
    if (t && (!tn_normal_(t, v[0].s.v.f, v[1].s.v.f) || (o->requires_grad && !tn_requires_grad_(t, true)))) {
        tn_release(t);
        return NULL;
    }
    return t;
}

/* mean + std * z, of the shape that both broadcast to and the first tensor's dtype. As PyTorch's it has a history, by which
 * no gradient but 0 goes. Of integers there is none but nothing. */
static tn_tensor *make_normal_of_tensors(const py_value *v, const tn_options *o)
{
    (void)o;
    const tn_dtype dtype = tn_tensor_dtype(v[0].s.kind == TN_SCALAR_TENSOR ? v[0].s.v.t : v[1].s.v.t);
    tn_scope *scope = tn_scope_open();
    tn_tensor *both = tn_add(v[0].s, v[1].s), *seen = both;
    tn_tensor *z = both ? tn_empty(tn_tensor_shape(both), .dtype = dtype, .device = tn_tensor_device(both)) : NULL;
    if (z && !tn_tensor_numel(z) && !tn_tensor_requires_grad(both))
        return tn_scope_close_keep(scope, z);
    if (z && tn_tensor_numel(z))
        z = tn_normal_(z, 0, 1);
    bool was = tn_set_grad_enabled(false);
    z = z ? tn_to(tn_add(tn_mul(z, v[1].s), v[0].s), .dtype = dtype) : NULL;
    (void)tn_set_grad_enabled(was);
    if (z && tn_tensor_requires_grad(both)) {
        seen = tn_empty(tn_tensor_shape(both), .dtype = dtype, .device = tn_tensor_device(both));
        seen = seen && tn_copy_(seen, both) ? tn_normal_(seen, 0, 1) : NULL;
        (void)tn_set_grad_enabled(false);
        z = seen ? tn_copy_(seen, z) : NULL;
        (void)tn_set_grad_enabled(was);
    }
    return tn_scope_close_keep(scope, z);
}

/* Waits for the device where std is a tensor. */
static bool std_fits(const py_value *std)
{
    if (std->s.kind == TN_SCALAR_TENSOR) {
        tn_tensor *low = tn_tensor_numel(std->s.v.t) ? tn_amin(std->s.v.t) : NULL;
        bool negative = low && tn_tensor_device(low).type != TN_DEVICE_META && tn_item(low) < 0;
        tn_release(low);
        if (negative)
            PyErr_SetString(PyExc_RuntimeError, "normal expects all elements of std >= 0.0");
        return !negative;
    }
    if (std->s.v.f >= 0)
        return true;
    char text[32];
    PyOS_snprintf(text, sizeof text, "%g", std->s.v.f);
    PyErr_Format(PyExc_RuntimeError, "normal expects std >= 0.0, but found std %s", text);
    return false;
}

PyObject *run_normal(PyObject *self, py_value *v, int which)
{
    (void)self;
    if (!std_fits(&v[1]))
        return NULL;
    const tn_tensor *like = which == 3 ? NULL : which == 2 ? v[1].s.v.t : v[0].s.v.t;
    if (like && tn_tensor_numel(like) && !tn_dtype_is_floating_point(tn_tensor_dtype(like)))
        return PyErr_Format(PyExc_NotImplementedError, "\"normal_kernel_%s\" not implemented for '%s'",
                            tn_tensor_device(like).type == TN_DEVICE_CUDA ? "cuda" : "cpu",
                            py_scalar_type_name(tn_tensor_dtype(like)));
    return factory("normal", which == 3 ? make_normal_of_numbers : make_normal_of_tensors, v, v + 3, like);
}

/* ---- in place ---- */

/* Bounds that the dtype does not hold would make infinities of every number. */
static bool bounds_fit(const tn_tensor *x, double from, double to)
{
    tn_dtype dtype = tn_tensor_dtype(x);
    if (!tn_dtype_is_floating_point(dtype))
        return true; /* refused by the operation itself */
    double most = py_dtypes[dtype].most;
    PyObject *low = PyFloat_FromDouble(from), *high = PyFloat_FromDouble(to);
    bool fits = false;
    if (!(fabs(from) <= most) || !(fabs(to) <= most))
        PyErr_Format(PyExc_RuntimeError, "%s is out of bounds for %s", fabs(from) <= most ? "to" : "from",
                     py_dtypes[dtype].scalar);
    else if (!(to - from <= most) && low && high)
        PyErr_Format(PyExc_RuntimeError,
                     "uniform_ expects to-from <= std::numeric_limits<%s>::max(), but found to=%S and from=%S which "
                     "result in to-from to exceed the limit",
                     py_scalar_type_name(dtype), high, low);
    else
        fits = low && high;
    Py_XDECREF(low);
    Py_XDECREF(high);
    return fits;
}

PyObject *run_uniform_(PyObject *self, py_value *v, int which)
{
    (void)which;
    py_draw draw;
    if (!bounds_fit(v[0].s.v.t, v[1].s.v.f, v[2].s.v.f) ||
        py_draw_begin(&draw, "uniform_", &v[3], tn_tensor_device(v[0].s.v.t)))
        return NULL;
    tn_tensor *r = tn_uniform_(v[0].s.v.t, v[1].s.v.f, v[2].s.v.f);
    py_draw_end(&draw);
    return r ? Py_NewRef(self) : py_raise();
}

PyObject *run_normal_(PyObject *self, py_value *v, int which)
{
    (void)which;
    py_draw draw;
    if (py_draw_begin(&draw, "normal_", &v[3], tn_tensor_device(v[0].s.v.t)))
        return NULL;
    tn_tensor *r = tn_normal_(v[0].s.v.t, v[1].s.v.f, v[2].s.v.f);
    py_draw_end(&draw);
    return r ? Py_NewRef(self) : py_raise();
}

/* Of which 0: the dtype's whole numbers from 0; 1: from v[1] to v[2], or to the dtype's last one; 2: from 0 to v[2]. */
PyObject *run_random_(PyObject *self, py_value *v, int which)
{
    tn_tensor *x = v[0].s.v.t;
    const int64_t high = py_dtypes[tn_tensor_dtype(x)].high;
    int64_t from = which == 1 ? v[1].s.v.i : 0, to = v[2].given ? v[2].s.v.i : high < INT64_MAX ? high + 1 : high;
    if (!fits(tn_tensor_dtype(x), from, to))
        return NULL;
    py_draw draw;
    if (py_draw_begin(&draw, "random_", &v[3], tn_tensor_device(x)))
        return NULL;
    tn_tensor *made =
        tn_randint(from, to, tn_tensor_shape(x), .dtype = tn_tensor_dtype(x), .device = tn_tensor_device(x));
    tn_tensor *done = made ? tn_copy_(x, made) : NULL;
    tn_release(made);
    py_draw_end(&draw);
    return done ? Py_NewRef(self) : py_raise();
}
