/* functions_nn.c: functions of torch.nn.functional whose arguments are more than those of the library's own: words, and
 * checks that PyTorch makes of the values. */
#include "functions.h"

/* PyTorch's refusal, from where the GIL may not be held. NULL. */
static tn_tensor *refused(PyObject *type, const char *text)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    PyErr_SetString(type, text);
    PyGILState_Release(gil);
    return NULL;
}

tn_tensor *call_gelu_any(const py_value *v)
{
    const char *how = v[1].u.text;
    tn_gelu_options o = {.struct_size = sizeof o, .site = "", .tanh = how && !strcmp(how, "tanh")};
    if (how && !o.tanh && strcmp(how, "none"))
        return refused(PyExc_RuntimeError, "approximate argument must be either none or tanh.");
    return (tn_gelu_opt)(v[0].s.v.t, &o);
}

tn_tensor *call_kl_div_batchmean(const py_value *v)
{
    tn_kl_div_options o = {
        .struct_size = sizeof o, .site = "", .reduction = TN_BATCH_MEAN, .log_target = v[2].s.v.i != 0};
    return (tn_kl_div_opt)(v[0].s.v.t, v[1].s.v.t, &o);
}

tn_tensor *call_pad_any(const py_value *v)
{
    static const char *const modes[] = {"constant", "reflect", "replicate", "circular"};
    const char *mode = v[2].u.text;
    const tn_ints pad = py_ints(&v[1]);
    tn_pad_options o = {.struct_size = sizeof o, .site = "", .value = v[3].s};
    while (mode && o.mode < 4 && strcmp(mode, modes[o.mode]) != 0)
        o.mode++;
    if (o.mode == 4 && pad.n % 2 == 0 && (int32_t)pad.n / 2 <= tn_tensor_ndim(v[0].s.v.t)) {
        char text[128];
        snprintf(text, sizeof text, "Unrecognised padding mode %s", mode);
        return refused(PyExc_NotImplementedError, text);
    }
    return (tn_pad_opt)(v[0].s.v.t, pad, &o);
}

/* PyTorch takes 0 groups for a number, the library for none said. */
static int64_t groups_of(const py_value *v)
{
    return v->s.v.i ? v->s.v.i : -1;
}

static tn_tensor *no_such_padding(const char *mode)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    PyErr_Format(PyExc_RuntimeError, "Invalid padding string: '%s'", mode);
    PyGILState_Release(gil);
    return NULL;
}

static tn_tensor *bias_of(const py_value *v)
{
    return v->given ? v->s.v.t : TN_NONE;
}

/* A list whose default is not the library's business. */
static tn_dims dims_or_none(const py_value *v)
{
    return v->n < 0 ? (tn_dims){0} : py_dims(v);
}

#define CONVOLUTION(n) \
    tn_tensor *call_conv##n##d(const py_value *v) \
    { \
        const char *mode = v[7].given ? v[7].u.text : NULL; \
        tn_conv##n##d_options o = {.struct_size = sizeof o, \
                                   .site = "", \
                                   .stride = dims_or_none(&v[3]), \
                                   .padding = dims_or_none(&v[4]), \
                                   .dilation = dims_or_none(&v[5]), \
                                   .groups = groups_of(&v[6]), \
                                   .same = mode && !strcmp(mode, "same")}; \
        if (mode && !o.same && strcmp(mode, "valid")) \
            return no_such_padding(mode); \
        return (tn_conv##n##d_opt)(v[0].s.v.t, v[1].s.v.t, bias_of(&v[2]), &o); \
    } \
    tn_tensor *call_conv_transpose##n##d(const py_value *v) \
    { \
        tn_conv_transpose##n##d_options o = {.struct_size = sizeof o, \
                                             .site = "", \
                                             .stride = dims_or_none(&v[3]), \
                                             .padding = dims_or_none(&v[4]), \
                                             .output_padding = dims_or_none(&v[5]), \
                                             .groups = groups_of(&v[6]), \
                                             .dilation = dims_or_none(&v[7])}; \
        return (tn_conv_transpose##n##d_opt)(v[0].s.v.t, v[1].s.v.t, bias_of(&v[2]), &o); \
    }

CONVOLUTION(1)
CONVOLUTION(2)
CONVOLUTION(3)

tn_tensor *call_rot90_any(const py_value *v)
{
    static int64_t first_two[] = {0, 1};
    return (tn_rot90_at)("", v[0].s.v.t, v[1].s.v.i, TN__DIMS(v[2].n < 0 ? tn_dims_of(first_two, 2) : py_dims(&v[2])));
}

tn_tensor *call_searchsorted_any(const py_value *v)
{
    tn_searchsorted_options o = {
        .struct_size = sizeof o, .site = "", .out_int32 = v[2].s.v.i != 0, .right = v[3].s.v.i != 0};
    const char *side = v[4].given ? v[4].u.text : NULL;
    o.sorter = v[5].given ? v[5].s.v.t : NULL;
    if (side && strcmp(side, "left") != 0 && strcmp(side, "right") != 0) {
        char text[160];
        snprintf(text, sizeof text, "torch.searchsorted(): side can only be 'left' or 'right' but got %s", side);
        return refused(PyExc_RuntimeError, text);
    }
    if (side && !strcmp(side, "left") && o.right)
        return refused(PyExc_RuntimeError,
                       "torch.searchsorted(): side and right can't be set to opposites, got side of left while "
                       "right was True");
    o.right |= side && !strcmp(side, "right");
    return (tn_searchsorted_opt)(v[0].s.v.t, v[1].s, &o);
}

PyObject *run_clip_to_norm(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    const bool done = tn_clip_to_norm_at("", py_list(&v[0]), v[1].s.v.f, v[2].s.v.t);
    return done ? Py_NewRef(Py_None) : py_raise();
}

PyObject *run_clip_values(PyObject *self, py_value *v, int which)
{
    (void)self, (void)which;
    return tn_clip_values_at("", py_list(&v[0]), v[1].s.v.f) ? Py_NewRef(Py_None) : py_raise();
}

/* slots: input index max_norm norm_type */
PyObject *run_embedding_renorm_(PyObject *self, py_value *v, int which)
{
    tn_tensor *x = v[0].s.v.t;
    (void)self, (void)which;
    return tn_embedding_renorm__at("", x, v[1].s.v.t, v[2].s.v.f, v[3].s.v.f) ? py_borrowed(x) : py_raise();
}
