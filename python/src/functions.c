/* functions.c: torch.def as tables of functions and methods. */
#include "functions.h"

#define PY_UNUSED __attribute__((unused)) /* not every operation has a row in torch.def */
#include "python_calls.h"

#define SLOTS(name, text, doc) static const char slots_##name[] = text;
PY_HAND_CALLS(SLOTS)
#undef SLOTS
static const char slots_addmm_full[] = "input mat1 mat2 beta alpha",
                  slots_baddbmm_full[] = "input batch1 batch2 beta alpha";

#define doc_add_alpha             "a + alpha * b"
#define doc_sub_alpha             "a - alpha * b"
#define doc_rsub_alpha            "b - alpha * a"
#define doc_div_rounded           "a / b, rounded down ('floor') or toward zero ('trunc') where asked"
#define doc_round_decimals        "Nearest whole number, halves to even, or nearest with so many decimals"
#define doc_var_of                "Variance over dimensions, or all"
#define doc_std_of                "Standard deviation over dimensions, or all"
#define doc_scatter_reduced       "x with src written (by reduce: added, or multiplied) at index along a dimension"
#define doc_repeat_interleave_any "Each index of a dimension, or of all of input, so often: one number, or one for each"
#define doc_index_add_alpha       "x with alpha * source added at the 1-D index"
#define doc_dropout_train         "Zeroes elements with probability p and scales the rest, in training"
#define doc_reshape_as            "x in the shape of other"
#define doc_flatten_all           "x as one dimension"
#define doc_as_strided_at         "Any view of x's memory, in elements"
#define doc_copy_any              "Writes a tensor or a number, converted and broadcast, into x, from whatever device"
#define doc_narrow_any            "length entries of a dimension, from start on: a view"
#define doc_linspace_any          "steps numbers from start to end, both included"
#define doc_cumsum_own            "Running sum along a dimension"
#define doc_cumprod_own           "Running product along a dimension"
#define doc_eye_any               "Ones on the diagonal of an n x m matrix"
#define doc_arange_any            "start, start + step ... below end; integers give int64"
#define doc_addmm_full            "beta * x + alpha * (mat1 @ mat2), in place"
#define doc_baddbmm_full          "beta * x + alpha * (batch1 @ batch2) of batches, in place"
#define doc_any_of                "True if one element is non-zero"
#define doc_all_of                "True if every element is non-zero"

/* ---- one C function per row and door ---- */

#define FASTCALL PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names

#define DOORS(name) \
    PY_UNUSED static PyObject *fn_##name(FASTCALL) \
    { \
        (void)self; \
        return py_call(&pf_##name, NULL, args, n, names); \
    } \
    PY_UNUSED static PyObject *me_##name(FASTCALL) \
    { \
        return py_call(&pf_##name, self, args, n, names); \
    }

#define ROW(where, name, op, ...) \
    static py_function pf_##name##_##where = { \
        #name, slots_##op, {__VA_ARGS__}, call_##op, NULL, false, false, NULL, 0, 0, 0}; \
    DOORS(name##_##where)
#define IROW(name, op, ...) \
    static py_function pf_##name##_I = {#name, slots_##op, {__VA_ARGS__}, call_##op##_, NULL, true, false, NULL, 0, \
                                        0,     0}; \
    DOORS(name##_I)
#define SELF(name, op, ...) \
    static py_function pf_##name##_I = { \
        #name, slots_##op, {__VA_ARGS__}, call_##op, NULL, true, false, NULL, 0, 0, 0}; \
    DOORS(name##_I)
#define INTO(name, op, ...) \
    static py_function pf_##name##_I = { \
        #name, slots_##op, {__VA_ARGS__}, call_##op, NULL, false, true, NULL, 0, 0, 0}; \
    DOORS(name##_I)
#define HAND(where, name, hand, slots, doc, ...) \
    static py_function pf_##name##_##where = {#name, slots, {__VA_ARGS__}, NULL, run_##hand, false, false, NULL, 0, \
                                              0,     0}; \
    DOORS(name##_##where)
#include "torch.def"
#undef ROW
#undef IROW
#undef SELF
#undef INTO
#undef HAND

/* ---- the tables ---- */

#define SIGNATURES(...)             PICK(__VA_ARGS__, EACH_4, EACH_3, EACH_2, EACH_1, )(__VA_ARGS__)
#define PICK(a, b, c, d, each, ...) each
#define EACH_1(a)                   a
#define EACH_2(a, b)                a "\n" b
#define EACH_3(a, b, c)             a "\n" b "\n" c
#define EACH_4(a, b, c, d)          a "\n" b "\n" c "\n" d
#define METHOD(door, name, doc, ...) \
    {#name, (PyCFunction)(void (*)(void))door, METH_FASTCALL | METH_KEYWORDS, SIGNATURES(__VA_ARGS__) "\n\n" doc},
#define NOT(...)

#define IN_T_T   METHOD
#define IN_T_M   NOT
#define IN_T_F   NOT
#define IN_T_TM  METHOD
#define IN_T_TF  METHOD
#define IN_T_TMF METHOD
#define IN_M_T   NOT
#define IN_M_M   METHOD
#define IN_M_F   NOT
#define IN_M_TM  METHOD
#define IN_M_TF  NOT
#define IN_M_TMF METHOD
#define IN_F_T   NOT
#define IN_F_M   NOT
#define IN_F_F   METHOD
#define IN_F_TM  NOT
#define IN_F_TF  METHOD
#define IN_F_TMF METHOD

#define ROW(where, name, op, ...) IN_T_##where(fn_##name##_##where, name, doc_##op, __VA_ARGS__)
#define IROW(name, op, ...)
#define SELF(name, op, ...)
#define INTO(name, op, ...)
#define HAND(where, name, hand, slots, doc, ...) IN_T_##where(fn_##name##_##where, name, doc, __VA_ARGS__)
static PyMethodDef torch_functions[] = {
#include "torch.def"
    {NULL, NULL, 0, NULL},
};
#undef ROW
#undef IROW
#undef SELF
#undef INTO
#undef HAND

#define ROW(where, name, op, ...)                IN_M_##where(me_##name##_##where, name, doc_##op, __VA_ARGS__)
#define IROW(name, op, ...)                      METHOD(me_##name##_I, name, doc_##op ", in place", __VA_ARGS__)
#define SELF(name, op, ...)                      METHOD(me_##name##_I, name, doc_##op, __VA_ARGS__)
#define INTO(name, op, ...)                      METHOD(me_##name##_I, name, doc_##op ", in place", __VA_ARGS__)
#define HAND(where, name, hand, slots, doc, ...) IN_M_##where(me_##name##_##where, name, doc, __VA_ARGS__)
static PyMethodDef methods[] = {
#include "torch.def"
    {NULL, NULL, 0, NULL},
};
#undef ROW
#undef IROW
#undef SELF
#undef INTO
#undef HAND

#define ROW(where, name, op, ...) IN_F_##where(fn_##name##_##where, name, doc_##op, __VA_ARGS__)
#define IROW(name, op, ...)
#define SELF(name, op, ...)
#define INTO(name, op, ...)
#define HAND(where, name, hand, slots, doc, ...) IN_F_##where(fn_##name##_##where, name, doc, __VA_ARGS__)
static PyMethodDef nn_functions[] = {
#include "torch.def"
    {NULL, NULL, 0, NULL},
};
#undef ROW
#undef IROW
#undef SELF
#undef INTO
#undef HAND

/* ---- into the module and the type ---- */

/* The documentation, without the names of slots (name@slot) in its signatures. Kept as long as the process. */
static const char *readable(const char *doc)
{
    const char *end = strstr(doc, "\n\n"), *at = strchr(doc, '@');
    if (!end || !at || at > end)
        return doc;
    char *copy = PyMem_Malloc(strlen(doc) + 1), *to = copy;
    if (!copy)
        return doc;
    while (*doc) {
        if (*doc == '@' && doc < end)
            doc += 1 + strcspn(doc + 1, "=,) ");
        else
            *to++ = *doc++;
    }
    *to = '\0';
    return copy;
}

static void document(PyMethodDef *m)
{
    for (; m->ml_name; m++)
        m->ml_doc = readable(m->ml_doc);
}

enum { N_METHODS = sizeof methods / sizeof *methods };

PyMethodDef *py_tensor_all_methods(void)
{
    static PyMethodDef all[N_METHODS + 160];
    size_t n = 0;
    document(methods);
    for (PyMethodDef *m = methods; m->ml_name; m++)
        all[n++] = *m;
    for (PyMethodDef *m = py_tensor_methods; m->ml_name && n + 1 < sizeof all / sizeof *all; m++)
        all[n++] = *m;
    return all;
}

int py_add_functions(PyObject *module)
{
    static struct PyModuleDef nn = {.m_base = PyModuleDef_HEAD_INIT, .m_name = "tenon._C._nn", .m_size = -1};
    nn.m_methods = nn_functions;
    document(nn_functions);
    document(torch_functions);
    PyObject *sub = PyModule_Create(&nn);
    int status =
        !sub || PyModule_AddObjectRef(module, "_nn", sub) || PyModule_AddFunctions(module, torch_functions) ? -1 : 0;
    Py_XDECREF(sub);
    return status;
}
