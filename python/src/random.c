/* random.c: what draws random numbers, from the generator that the caller names. */
#define TN_HERE "" /* errors name no line of this file */
#include "functions.h"
#include "generator.h"
#include "out.h"

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
    if (!out_fits(rest) || py_draw_begin(&draw, name, &rest[GENERATOR], device, v, (int)(rest - v)))
        return NULL;
    tn_tensor *r = f(v, &o);
    py_draw_end(&draw);
    return py_into(name, &rest[OUT], r);
}

static tn_tensor *make_rand(const py_value *v, const tn_options *o)
{
    return tn_rand_opt(TN__DIMS(py_dims(v)), o);
}

static tn_tensor *make_randn(const py_value *v, const tn_options *o)
{
    return tn_randn_opt(TN__DIMS(py_dims(v)), o);
}

static tn_options in_format(const tn_options *o, const py_value *format)
{
    tn_options all = *o;
    all.memory_format = (tn_memory_format)format->s.v.i;
    return all;
}

static tn_tensor *make_rand_like(const py_value *v, const tn_options *o)
{
    const tn_options all = in_format(o, &v[1]);
    return tn_rand_like_opt(v[0].s.v.t, &all);
}

static tn_tensor *make_randn_like(const py_value *v, const tn_options *o)
{
    const tn_options all = in_format(o, &v[1]);
    return tn_randn_like_opt(v[0].s.v.t, &all);
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
    return factory("rand_like", make_rand_like, v, v + 2, v[0].s.v.t);
}

PyObject *run_randn_like(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    return factory("randn_like", make_randn_like, v, v + 2, v[0].s.v.t);
}

/* ---- whole numbers ---- */

static tn_tensor *make_randint(const py_value *v, const tn_options *o)
{
    return tn_randint_opt(v[0].given ? v[0].s.v.i : 0, v[1].s.v.i, TN__DIMS(py_dims(&v[2])), o);
}

PyObject *run_randint(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    return factory("randint", make_randint, v, v + 3, NULL);
}

static tn_tensor *make_randint_like(const py_value *v, const tn_options *o)
{
    const tn_options all = in_format(o, &v[3]);
    return tn_randint_like_opt(v[0].s.v.t, v[1].given ? v[1].s.v.i : 0, v[2].s.v.i, &all);
}

PyObject *run_randint_like(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    return factory("randint_like", make_randint_like, v, v + 4, v[0].s.v.t);
}

static tn_tensor *make_randperm(const py_value *v, const tn_options *o)
{
    return tn_randperm_opt(v[0].s.v.i, o);
}

PyObject *run_randperm(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    if (!v[0].s.v.i) /* nothing is drawn, by no generator */
        v[1 + GENERATOR].given = false;
    return factory("randperm", make_randperm, v, v + 1, NULL);
}

/* Of which 3: of two numbers and a shape, else of tensors. */
static tn_tensor *make_normal(const py_value *v, const tn_options *o)
{
    tn_normal_options all = {.struct_size = sizeof all,
                             .site = o->site,
                             .device = o->device,
                             .dtype = o->dtype,
                             .requires_grad = o->requires_grad,
                             .pin_memory = o->pin_memory};
    if (v[2].given)
        all.shape = py_dims(&v[2]);
    return tn_normal_opt(v[0].s, v[1].s, &all);
}

PyObject *run_normal(PyObject *self, py_value *v, int which)
{
    (void)self;
    const tn_tensor *like = which == 3 ? NULL : which == 2 ? v[1].s.v.t : v[0].s.v.t;
    return factory("normal", make_normal, v, v + 3, like);
}

/* ---- from a tensor, and in place ---- */

typedef tn_tensor *drawer(const py_value *v, int which);

/* f(v) draws on the device of v[0]; false: an exception is raised. */
static bool draw(const char *name, drawer *f, const py_value *v, int which, const py_value *generator, tn_tensor **out)
{
    py_draw d;
    if (py_draw_begin(&d, name, generator, tn_tensor_device(v[0].s.v.t), v, (int)(generator - v)))
        return false;
    *out = f(v, which);
    py_draw_end(&d);
    return true;
}

static PyObject *inplace(PyObject *self, const char *name, drawer *f, const py_value *v, int which, int generator)
{
    tn_tensor *r;
    if (!draw(name, f, v, which, &v[generator], &r))
        return NULL;
    return r ? Py_NewRef(self) : py_raise();
}

static tn_tensor *draw_bernoulli(const py_value *v, int which)
{
    return tn_bernoulli(v[0].s.v.t, .p = which ? v[1].s : tn_scalar_none());
}

PyObject *run_bernoulli(PyObject *self, py_value *v, int which)
{
    (void)self;
    tn_tensor *r;
    if (!draw("bernoulli", draw_bernoulli, v, which, &v[2], &r))
        return NULL;
    return which ? py_wrap(r) : py_into("bernoulli", &v[3], r);
}

static tn_tensor *draw_multinomial(const py_value *v, int which)
{
    (void)which;
    return tn_multinomial(v[0].s.v.t, v[1].s.v.i, v[2].s.v.i != 0);
}

PyObject *run_multinomial(PyObject *self, py_value *v, int which)
{
    (void)self;
    tn_tensor *out = v[4].given ? v[4].s.v.t : NULL, *r;
    const tn_device device = tn_tensor_device(v[0].s.v.t);
    if (out && !tn_device_equal(tn_tensor_device(out), device))
        return PyErr_Format(PyExc_RuntimeError,
                            "Expected all tensors to be on the same device, but found at least two devices, %s and %s!",
                            tn_device_text(device).s, tn_device_text(tn_tensor_device(out)).s);
    if (out && tn_tensor_dtype(out) != TN_I64)
        return PyErr_Format(PyExc_RuntimeError, "multinomial expects Long tensor out, got: %s",
                            py_scalar_type_name(tn_tensor_dtype(out)));
    if (!draw("multinomial", draw_multinomial, v, which, &v[3], &r))
        return NULL;
    return py_into("multinomial", &v[4], r);
}

/* Draws v[0], ... by f, of the generator in its slot. */
static PyObject *drawn(const char *name, drawer *f, const py_value *v, int which, int generator)
{
    tn_tensor *r;
    return draw(name, f, v, which, &v[generator], &r) ? py_wrap(r) : NULL;
}

#define DRAWN(name, generator, call) \
    static tn_tensor *draw_##name(const py_value *v, int which) \
    { \
        (void)which; \
        return call; \
    } \
    PyObject *run_##name(PyObject *self, py_value *v, int which) \
    { \
        (void)self; \
        return drawn(#name, draw_##name, v, which, generator); \
    }

DRAWN(poisson, 1, tn_poisson(v[0].s.v.t))
DRAWN(binomial, 2, tn_binomial(v[0].s.v.t, v[1].s.v.t))
DRAWN(standard_gamma, 1, tn_standard_gamma(v[0].s.v.t))
DRAWN(sample_dirichlet, 1, tn_sample_dirichlet(v[0].s.v.t))
DRAWN(rrelu, 4, tn_rrelu(v[0].s.v.t, .lower = v[1].s, .upper = v[2].s, .training = v[3].s.v.i != 0))

/* Not said, it trains. */
PyObject *run_native_dropout(PyObject *self, py_value *v, int which)
{
    tn_tensor *both[2] = {NULL, NULL};
    (void)self, (void)which;
    PY_BEGIN_OWNING(v[0].s.v.t)
        both[0] = tn_native_dropout(v[0].s.v.t, v[1].s.v.f, !v[2].given || v[2].s.v.i, .mask = &both[1]);
    PY_END_OWNING
    return both[0] ? py_wrap_tuple(both, 2) : py_raise();
}

/* A method that writes its tensor by one function of the library. */
#define IN_PLACE(name, generator, call) \
    static tn_tensor *draw_##name(const py_value *v, int which) \
    { \
        (void)which; \
        return call; \
    } \
    PyObject *run_##name(PyObject *self, py_value *v, int which) \
    { \
        return inplace(self, #name, draw_##name, v, which, generator); \
    }

IN_PLACE(uniform_, 3, tn_uniform_(v[0].s.v.t, v[1].s.v.f, v[2].s.v.f))
IN_PLACE(normal_, 3, tn_normal_(v[0].s.v.t, v[1].s.v.f, v[2].s.v.f))
IN_PLACE(bernoulli_, 2, tn_bernoulli_(v[0].s.v.t, v[1].s))
IN_PLACE(exponential_, 2, tn_exponential_(v[0].s.v.t, v[1].s.v.f))
IN_PLACE(log_normal_, 3, tn_log_normal_(v[0].s.v.t, v[1].s.v.f, v[2].s.v.f))
IN_PLACE(cauchy_, 3, tn_cauchy_(v[0].s.v.t, v[1].s.v.f, v[2].s.v.f))
IN_PLACE(geometric_, 2, tn_geometric_(v[0].s.v.t, v[1].s.v.f))
/* Of which 0: neither; 1: from v[1] to v[2], if there is one; 2: to v[2]. */
IN_PLACE(random_, 3,
         tn_random_(v[0].s.v.t, .from = which == 1 ? v[1].s : tn_scalar_none(),
                    .to = v[2].given ? v[2].s : tn_scalar_none()))
