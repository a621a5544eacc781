/* args.c: signatures, parsed once, and the arguments that fit them. Errors: args_error.c. */
#include "args.h"
#include "args_error.h"
#include "out.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- reading a signature ---- */

static const struct {
    const char *text;
    py_kind kind;
    bool one;
} kinds[] = {
    {"Tensor", PY_TENSOR, false},
    {"Operand", PY_OPERAND, false},
    {"Number", PY_NUMBER, false},
    {"Tensor[]", PY_TENSORS, false},
    {"Tensor[2]", PY_TENSORS, true},
    {"int", PY_INT, false},
    {"float", PY_FLOAT, false},
    {"bool", PY_BOOL, false},
    {"int[]", PY_INTS, false},
    {"dim", PY_DIM, false},
    {"int[1]", PY_INTS, true},
    {"size", PY_SIZE, false},
    {"dtype", PY_DTYPE, false},
    {"device", PY_DEVICE, false},
    {"str", PY_STR, false},
    {"object", PY_OBJECT, false},
    {"reduction", PY_REDUCTION, false},
    {"nothing", PY_NOTHING, false},
    {"Tensor*", PY_TENSORS, false},
    {"Tensor[]*", PY_TENSORS, false},
    {"Reduction", PY_REDUCTION, true},
    {"memory_format", PY_FORMAT, false},
};

static void read_kind(py_param *p, const char *text, size_t n)
{
    p->optional = n && text[n - 1] == '?';
    n -= p->optional;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i].text) == n && !strncmp(kinds[i].text, text, n)) {
            p->kind = kinds[i].kind;
            p->one = kinds[i].one;
            return;
        }
    Py_FatalError("tenon: a signature names an unknown kind");
}

static void read_default(py_param *p, const char *text, size_t n)
{
    char *word = p->initial_text;
    snprintf(word, sizeof p->initial_text, "%.*s", (int)n, text);
    if (!strcmp(word, "None"))
        return;
    if (p->kind == PY_REDUCTION) {
        p->initial.s = tn_scalar_i(p->one ? TN_NO_REDUCTION : TN_MEAN);
        return;
    }
    if (p->kind == PY_FORMAT) {
        p->initial.s = tn_scalar_i(py_format_named(word));
        return;
    }
    if (p->kind == PY_BOOL)
        p->initial.s = tn_scalar_b(!strcmp(word, "True"));
    else if (p->kind == PY_STR)
        p->initial.u.text = p->initial_text;
    else if (p->kind == PY_FLOAT || strpbrk(word, ".e"))
        p->initial.s = tn_scalar_f(strtod(word, NULL));
    else
        p->initial.s = tn_scalar_i(strtoll(word, NULL, 10));
    p->initial.given = p->kind != PY_BOOL;
    p->initial.n = p->kind == PY_INTS ? -1 : 0; /* not said: a list has no default of its own */
}

/* The place of a name among the function's slots. */
static int slot_of(const py_function *f, const char *name, size_t n)
{
    int i = 0;
    for (const char *s = f->slots; *s; i++) {
        size_t length = strcspn(s, " ");
        if (length == n && !strncmp(s, name, n))
            return i;
        s += length + strspn(s + length, " ");
    }
    return -1;
}

/* "int[1]? dim=None" or "Tensor condition@a" */
static void read_param(py_function *f, py_param *p, int place, const char *text, size_t n)
{
    size_t kind = 0, name, end;
    while (text[kind] != ' ')
        kind++;
    read_kind(p, text, kind);
    for (name = kind + 1, end = name; end < n && text[end] != '=' && text[end] != '@'; end++)
        ;
    snprintf(p->name, sizeof p->name, "%.*s", (int)(end - name), text + name);
    p->key = PyUnicode_InternFromString(p->name);
    const char *slot = text + name;
    size_t length = end - name;
    if (end < n && text[end] == '@') {
        slot = text + ++end;
        for (length = 0; end < n && text[end] != '='; end++)
            length++;
    }
    const bool out = !strcmp(p->name, "out");
    if (out) {
        p->rule = (int8_t)py_out_rule(slot == text + name ? "" : slot, slot == text + name ? 0 : length);
        slot = p->name;
        length = strlen(slot);
    }
    p->place = (int8_t)place;
    p->slot = (int8_t)(f->slots ? slot_of(f, slot, length) : place);
    if (*slot == '-') /* taken for PyTorch's sake, without effect: layout, memory_format */
        p->slot = (int8_t)(f->slot_count + 1);
    if (out)
        p->slot = f->out = p->slot < 0 ? f->slot_count : p->slot;
    if (p->slot < 0 || p->rule < 0)
        Py_FatalError("tenon: a signature names a parameter that its operation has not");
    p->required = end >= n;
    if (!p->required)
        read_default(p, text + end + 1, n - end - 1);
}

static void read_signature(py_function *f, py_signature *s, const char *text)
{
    bool keyword = false;
    text = strchr(text, '(') + 1;
    while (*text && *text != ')') {
        size_t n = strcspn(text, ",)");
        if (*text == '*')
            keyword = true;
        else {
            if (s->params == PY_MAX_PARAMS)
                Py_FatalError("tenon: a signature has more parameters than args.h allows");
            py_param *p = &s->param[s->params++];
            read_param(f, p, s->params - 1, text, n);
            p->keyword = keyword;
            s->positional = (int8_t)(s->positional + !keyword);
        }
        text += n;
        text += strspn(text, ", ");
    }
}

/* What PyTorch calls a function where a signature says it otherwise than the row does. Kept as long as the process. */
static int take_name(py_function *f)
{
    const size_t n = strcspn(f->text[0], "(");
    if (strlen(f->name) == n && !strncmp(f->name, f->text[0], n))
        return 0;
    char *name = PyMem_Calloc(1, n + 1);
    if (!name) {
        PyErr_NoMemory();
        return -1;
    }
    f->name = memcpy(name, f->text[0], n);
    return 0;
}

static int prepare(py_function *f)
{
    int8_t forms;
    int own = 0, older = 0;
    while (f->text[own])
        own++;
    while (py_older_overload(f->name, older, &forms))
        older++;
    py_signature *all = calloc((size_t)(own + older), sizeof *all);
    if (!all) {
        PyErr_NoMemory();
        return -1;
    }
    if (take_name(f)) {
        free(all);
        return -1;
    }
    f->slot_count = f->slots ? 0 : PY_MAX_SLOTS - 1;
    for (const char *s = f->slots; s && *s; f->slot_count++)
        s += strcspn(s, " "), s += strspn(s, " ");
    f->out = -1;
    f->signatures = (int8_t)(own + older);
    for (int i = 0; i < f->signatures; i++)
        read_signature(f, &all[i], i < own ? f->text[i] : py_older_overload(f->name, i - own, &all[i].older));
    f->parsed = all;
    return 0;
}

/* ---- one argument. 0: read; 1: another type; -1: an exception ---- */

static int read_ints(const py_param *p, PyObject *const *item, Py_ssize_t n, py_value *v)
{
    if (n > TN_MAX_DIMS) {
        PyErr_Format(PyExc_RuntimeError, "%s: a list of %zd, but tensors have at most %d dimensions", p->name, n,
                     TN_MAX_DIMS);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        int status = PyBool_Check(item[i]) ? 1 : py_int(item[i], &v->u.dim[i]);
        if (status)
            return status;
    }
    v->n = (int32_t)n;
    v->given = true;
    return 0;
}

static int read_int_list(const py_param *p, PyObject *o, py_value *v)
{
    PyObject *item[TN_MAX_DIMS + 1] = {NULL};
    bool tuple = PyTuple_Check(o);
    if (!tuple && !PyList_Check(o)) {
        return p->one ? read_ints(p, &o, 1, v) : 1;
    }
    Py_ssize_t n = tuple ? PyTuple_Size(o) : PyList_Size(o);
    for (Py_ssize_t i = 0; i < n && i <= TN_MAX_DIMS; i++)
        item[i] = Py_NewRef(tuple ? PyTuple_GetItem(o, i) : PyList_GetItem(o, i));
    int status = read_ints(p, item, n, v); /* runs __index__, which may change a list */
    for (Py_ssize_t i = 0; i < n && i <= TN_MAX_DIMS; i++)
        Py_DECREF(item[i]);
    return status;
}

static void release_list(tn_tensor **list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tn_release(list[i]);
    free(list);
}

static int read_tensors(const py_param *p, PyObject *o, py_value *v)
{
    bool tuple = PyTuple_Check(o);
    if (!tuple && !PyList_Check(o))
        return 1;
    Py_ssize_t n = tuple ? PyTuple_Size(o) : PyList_Size(o);
    if (p->one && n != 2) {
        PyErr_Format(PyExc_TypeError, "expected tuple of 2 elements but got %zd", n);
        return -1;
    }
    tn_tensor **list = malloc((size_t)(n ? n : 1) * sizeof *list);
    if (!list) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = tuple ? PyTuple_GetItem(o, i) : PyList_GetItem(o, i);
        if (!py_is_tensor(item)) {
            char name[64];
            PyErr_Format(PyExc_TypeError, "expected Tensor as element %zd in argument %d, but got %s", i,
                         strcmp(p->name, "indices") ? p->place : 0, /* of a method, whose tensor does not count */
                         py_type_name(item, name, sizeof name));
            release_list(list, (size_t)i);
            return -1;
        }
        list[i] = tn_retain(py_t(item)); /* another thread may change the list while the operation runs */
    }
    v->u.list.item = list;
    v->u.list.n = (size_t)n;
    v->given = true;
    return 0;
}

/* A Python number, or a tensor of one element that holds one. */
static int read_number(PyObject *o, py_value *v)
{
    int status = py_number(o, &v->s);
    v->given = !status;
    return status;
}

static int read_float(PyObject *o, py_value *v)
{
    tn_scalar s = {0};
    if (PyLong_Check(o)) { /* of any size */
        v->s = tn_scalar_f(PyLong_AsDouble(o));
        v->given = true;
        return PyErr_Occurred() ? -1 : 0;
    }
    int status = py_number(o, &s);
    if (status)
        return status;
    double f = s.kind == TN_SCALAR_FLOAT ? s.v.f : s.kind == TN_SCALAR_UINT ? (double)s.v.u : (double)s.v.i;
    v->s = tn_scalar_f(f);
    v->given = true;
    return 0;
}

/* As PyTorch numbers them: 1 is the mean, 2 the sum, all others none. */
static int read_reduction_number(PyObject *o, py_value *v)
{
    int64_t n = 0;
    const int status = PyBool_Check(o) ? 1 : py_int(o, &n);
    v->s = tn_scalar_i(n == 1 ? TN_MEAN : n == 2 ? TN_SUM : TN_NO_REDUCTION);
    v->given = !status;
    return status;
}

static int read_reduction(PyObject *o, py_value *v)
{
    static const char *const names[] = {"mean", "sum", "none"}; /* TN_MEAN, TN_SUM, TN_NO_REDUCTION */
    const char *text = PyUnicode_Check(o) ? PyUnicode_AsUTF8AndSize(o, NULL) : NULL;
    if (!text && PyErr_Occurred())
        return -1;
    for (int i = 0; i < 3 && text; i++)
        if (!strcmp(text, names[i])) {
            v->s = tn_scalar_i(i);
            v->given = true;
            return 0;
        }
    PyErr_Format(PyExc_ValueError, "%S is not a valid value for reduction", o);
    return -1;
}

/* Of tensors, those without dimensions name one; sizes and indices may be others of one element, as in PyTorch. */
static bool is_no_int(const py_param *p, PyObject *o)
{
    return PyBool_Check(o) || (py_is_tensor(o) && tn_tensor_ndim(py_t(o)) > 0 && strstr(p->name, "dim"));
}

static int read_value(const py_param *p, PyObject *o, py_value *v)
{
    switch (p->kind) {
    case PY_TENSOR:
    case PY_OPERAND:
        if (py_is_tensor(o)) {
            v->s = tn_scalar_t(py_t(o));
            v->given = true;
            return 0;
        }
        return p->kind == PY_TENSOR ? 1 : read_number(o, v);
    case PY_NUMBER: return read_number(o, v);
    case PY_TENSORS: return read_tensors(p, o, v);
    case PY_DIM: return is_no_int(p, o) ? 1 : read_ints(p, &o, 1, v);
    case PY_INT: {
        int64_t n = 0;
        int status = is_no_int(p, o) ? 1 : py_int(o, &n);
        v->s = tn_scalar_i(n);
        v->given = !status;
        return status;
    }
    case PY_FLOAT: return read_float(o, v);
    case PY_BOOL:
        v->s = tn_scalar_b(o == Py_True);
        v->given = true;
        return PyBool_Check(o) ? 0 : 1;
    case PY_INTS:
    case PY_SIZE: return read_int_list(p, o, v);
    case PY_DTYPE: v->given = true; return py_dtype_from(o, &v->dtype);
    case PY_DEVICE: v->given = true; return py_device_from(o, &v->device);
    case PY_FORMAT: v->given = true; return py_format_from(o, &v->s);
    case PY_STR:
        v->given = true;
        return !PyUnicode_Check(o) ? 1 : (v->u.text = PyUnicode_AsUTF8AndSize(o, NULL)) ? 0 : -1;
    case PY_REDUCTION: return p->one ? read_reduction_number(o, v) : read_reduction(o, v);
    case PY_NOTHING: return 1;
    case PY_OBJECT: break;
    }
    v->u.object = o;
    v->given = true;
    return 0;
}

static int read_argument(const py_param *p, PyObject *o, py_value *v)
{
    py_value *to = &v[p->slot];
    if (o == Py_None && p->kind != PY_OBJECT && (p->kind != PY_REDUCTION || p->one)) {
        if (!p->optional && p->kind != PY_NOTHING)
            return 1;
        memset(to, 0, offsetof(py_value, u)); /* not said, whatever the default */
        return 0;
    }
    return read_value(p, o, to);
}

/* ---- a call ---- */

/* NumPy's names are taken, as PyTorch takes them. */
static const char *const numpy_names[][2] = {{"axis", "dim"}, {"keepdims", "keepdim"}, {"x", "input"},
                                             {"a", "input"},  {"x1", "input"},         {"x2", "other"}};

static int find_name(const py_signature *s, PyObject *name)
{
    for (int i = 0; i < s->params; i++)
        if (s->param[i].key == name)
            return i;
    for (int i = 0; i < s->params; i++)
        if (PyUnicode_CompareWithASCIIString(name, s->param[i].name) == 0)
            return i;
    for (size_t n = 0; n < sizeof numpy_names / sizeof *numpy_names; n++)
        if (PyUnicode_CompareWithASCIIString(name, numpy_names[n][0]) == 0)
            for (int i = 0; i < s->params; i++)
                if (!strcmp(s->param[i].name, numpy_names[n][1]))
                    return i;
    return -1;
}

/* A number that is too large is refused when the types of all arguments are known to fit, as in PyTorch: until then it is held
 * here. */
typedef struct held {
    PyObject *type, *value, *trace;
} held;

static bool holds_number(py_kind kind)
{
    return kind == PY_NUMBER || kind == PY_OPERAND || kind == PY_INT || kind == PY_DIM || kind == PY_INTS ||
           kind == PY_SIZE;
}

/* Reads an argument, too large a number being held. */
static int read_or_hold(const py_param *p, PyObject *o, py_value *v, held *h)
{
    const int status = read_argument(p, o, v);
    if (status >= 0 || !holds_number(p->kind) ||
        !(PyErr_ExceptionMatches(PyExc_OverflowError) || PyErr_ExceptionMatches(PyExc_ValueError)))
        return status;
    if (h->type)
        PyErr_Clear();
    else
        PyErr_Fetch(&h->type, &h->value, &h->trace);
    return 0;
}

/* What was held is raised if the arguments fit: then -1, else status. */
static int raise_held(held *h, int status)
{
    if (!h->type)
        return status;
    if (status == 0) {
        PyErr_Restore(h->type, h->value, h->trace);
        return -1;
    }
    Py_XDECREF(h->type);
    Py_XDECREF(h->value);
    Py_XDECREF(h->trace);
    return status;
}

/* Tries one signature. 0: read; otherwise what did not fit is in *why, or (-1) an exception is set. */
static int try_holding(const py_signature *s, py_arguments a, py_value *v, py_mismatch *why, held *h)
{
    PyObject *unknown = NULL; /* is said when nothing is missing, as in PyTorch */
    unsigned seen = 0;
    int at = 0;
    memset(why, 0, sizeof *why);
    for (int i = 0; i < s->params; i++) /* lists have no defaults: the rest of a value is left as it is */
        memcpy(&v[s->param[i].slot], &s->param[i].initial, offsetof(py_value, u) + sizeof(const char *));
    if (a.self) {
        int status = read_argument(&s->param[0], a.self, v);
        if (status)
            return status;
        seen = 1;
        at = 1;
    }
    const bool sizes = s->positional - at == 1 && s->param[at].kind == PY_SIZE;
    if (a.nargs > s->positional - at && !sizes) /* before any of them is looked at */
        return py_mismatch_count(why);
    for (Py_ssize_t i = 0; i < a.nargs; i++, at++) {
        if (at >= s->positional)
            return py_mismatch_count(why);
        const py_param *p = &s->param[at];
        const bool alone = at == s->positional - 1 && (a.self || at == 0); /* a list may be given item by item */
        const bool rest = p->kind == PY_SIZE && alone && !PyTuple_Check(a.args[i]) && !PyList_Check(a.args[i]);
        int status = rest ? read_ints(p, a.args + i, a.nargs - i, &v[p->slot]) : read_or_hold(p, a.args[i], v, h);
        if (status > 0 && rest)
            while (i + why->item < a.nargs - 1 && py_is_int(a.args[i + why->item]))
                why->item++;
        if (status)
            return status < 0 ? -1 : py_mismatch_type(why, p, a.args[i + why->item], at);
        seen |= 1U << at;
        if (rest)
            break;
    }
    Py_ssize_t named = a.names ? PyTuple_Size(a.names) : 0;
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *name = PyTuple_GetItem(a.names, i);
        int k = find_name(s, name);
        if (k < 0 || (a.self && !strcmp(s->param[k].name, "out"))) { /* functions take out=, methods do not */
            unknown = unknown ? unknown : name;
            continue;
        }
        if (seen & 1U << k)
            return py_mismatch_twice(why, name);
        int status = read_or_hold(&s->param[k], a.args[a.nargs + i], v, h);
        if (status)
            return status < 0 ? -1 : py_mismatch_type(why, &s->param[k], a.args[a.nargs + i], -1);
        seen |= 1U << k;
    }
    for (int i = 0; i < s->params; i++)
        if (s->param[i].required && !(seen & 1U << i))
            return py_mismatch_missing(why, s, seen);
    return unknown ? py_mismatch_name(why, unknown) : 0;
}

static int try_signature(const py_signature *s, py_arguments a, py_value *v, py_mismatch *why)
{
    held h = {NULL, NULL, NULL};
    return raise_held(&h, try_holding(s, a, v, why, &h));
}

static void free_lists(const py_signature *s, py_value *v)
{
    for (int i = 0; i < s->params; i++)
        if (s->param[i].kind == PY_TENSORS && v[s->param[i].slot].given) {
            release_list(v[s->param[i].slot].u.list.item, v[s->param[i].slot].u.list.n);
            v[s->param[i].slot].given = false;
        }
}

void py_values_free(const py_function *f, int which, py_value *v)
{
    free_lists(&f->parsed[which], v);
}

int py_parse(py_function *f, PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names, py_value *v)
{
    if (!f->parsed && prepare(f))
        return -1;
    py_arguments a = {self, args, nargs, names};
    py_mismatch why, other; /* of those that are not older */
    for (int i = 0; i < f->signatures; i++) {
        for (int k = 0; k <= f->slot_count + 1; k++) {
            memset(&v[k], 0, offsetof(py_value, u));
        }
        const py_signature *s = &f->parsed[i];
        if (s->older && !py_older_fits(s, self != NULL))
            continue;
        int status = try_signature(s, a, v, s->older ? &other : &why);
        if (!status && (!s->older || !py_warn_older(f, i, self != NULL)))
            return i;
        free_lists(s, v);
        if (status < 0 && PyErr_Occurred())
            return -1;
    }
    const int only = py_plausible(f, a);
    if (only >= 0) {
        (void)!try_signature(&f->parsed[only], a, v, &why);
        free_lists(&f->parsed[only], v);
    }
    if (!PyErr_Occurred())
        py_arguments_error(f, a, only, &why);
    return -1;
}

/* ---- running it ---- */

static bool is_large(const py_function *f, int which, const py_value *v)
{
    const py_signature *s = &f->parsed[which];
    for (int i = 0; i < s->params; i++) {
        const py_value *at = &v[s->param[i].slot];
        if (at->s.kind == TN_SCALAR_TENSOR && tn_tensor_numel(at->s.v.t) > PY_UNLOCK)
            return true;
        if (s->param[i].kind == PY_TENSORS && at->given && at->u.list.n)
            return true;
        if (s->param[i].kind == PY_SIZE) {
            int64_t n = 1;
            for (int k = 0; k < at->n && n <= PY_UNLOCK; k++)
                n = at->u.dim[k] < 0 || at->u.dim[k] > PY_UNLOCK ? PY_UNLOCK + 1 : n * at->u.dim[k];
            if (n > PY_UNLOCK)
                return true;
        }
    }
    return false;
}

static bool to_out(const py_function *f, const py_value *v)
{
    return f->out >= 0 && v[f->out].given;
}

/* What a call gave, as Python's object: into 'out' where one was given. */
static PyObject *finish(const py_function *f, int which, tn_tensor *result, const py_value *v)
{
    if (!result)
        return strstr(f->slots, "requires_grad") && strstr(tn_error_message(), "can require gradients")
                   ? py_grad_needs_floating()
                   : py_raise();
    if (f->inplace)
        return py_borrowed(result);
    return to_out(f, v) ? py_out_end(f, which, v, result) : py_wrap(result);
}

static bool wants_grad(const py_signature *s, const py_value *v)
{
    for (int i = 0; i < s->params; i++) {
        const tn_scalar *x = &v[s->param[i].slot].s;
        if (x->kind == TN_SCALAR_TENSOR && tn_tensor_requires_grad(x->v.t))
            return tn_is_grad_enabled();
    }
    return false;
}

/* Makes of shape the one that it and t broadcast to; false where there is none. */
static bool broadcast_with(int64_t *shape, int32_t *ndim, tn_dims t)
{
    const int32_t n = t.ndim > *ndim ? t.ndim : *ndim;
    memmove(shape + (n - *ndim), shape, (size_t)*ndim * sizeof *shape);
    for (int32_t d = 0; d < n; d++) {
        const int64_t have = d < n - *ndim ? 1 : shape[d], want = d < n - t.ndim ? 1 : t.dim[d - (n - t.ndim)];
        if (have != want && have != 1 && want != 1)
            return false;
        shape[d] = have == 1 ? want : have;
    }
    *ndim = n;
    return true;
}

/* Operands that x, of integers, would have to be broadcast to are refused before their kernel refuses the dtype. */
static bool fits_itself(const py_function *f, int which, const py_value *v)
{
    const py_signature *s = &f->parsed[which];
    tn_tensor *x = v[s->param[0].slot].s.v.t;
    const tn_dims have = tn_tensor_shape(x);
    int64_t shape[TN_MAX_DIMS];
    int32_t ndim = have.ndim;
    if (tn_dtype_is_floating_point(tn_tensor_dtype(x)) ||
        (strcmp(f->name, "lerp_") && strcmp(f->name, "addcmul_") && strcmp(f->name, "nextafter_")))
        return true;
    memcpy(shape, have.dim, (size_t)ndim * sizeof *shape);
    for (int i = 1; i < s->params; i++) {
        const tn_scalar *o = &v[s->param[i].slot].s;
        if (o->kind == TN_SCALAR_TENSOR &&
            (tn_tensor_dtype(o->v.t) != tn_tensor_dtype(x) || !broadcast_with(shape, &ndim, tn_tensor_shape(o->v.t))))
            return true;
    }
    if (ndim == have.ndim && !memcmp(have.dim, shape, (size_t)ndim * sizeof *shape))
        return true;
    py_shapes_differ("output with shape %S doesn't match the broadcast shape %S", have, tn_dims_of(shape, ndim));
    return false;
}

/* An in-place form that is computed beside its first operand. Where it is recorded, of a copy: what is kept for backward is
 * not written over then. */
static PyObject *put_beside(const py_function *f, int which, py_value *v)
{
    const int at = f->parsed[which].param[0].slot;
    tn_tensor *x = v[at].s.v.t, *copy = NULL;
    const bool recorded = wants_grad(&f->parsed[which], v);
    if (tn_tensor_check_inplace(x, recorded))
        return py_raise();
    if (!fits_itself(f, which, v) || (!strcmp(f->name, "ldexp_") && !py_can_scale(x)))
        return NULL;
    if (recorded) {
        if (!(copy = (tn_clone_at)("", x)))
            return py_raise();
        v[at].s = tn_scalar_t(copy);
    }
    tn_tensor *result = f->call(v);
    tn_release(copy);
    return result ? py_put_into(x, result) : py_raise();
}

/* Without the GIL; lists own their tensors. */
static tn_tensor *call_unlocked(const py_function *f, const py_value *v)
{
    tn_tensor *own[PY_MAX_SLOTS + 2], *result;
    const size_t n = (size_t)f->slot_count + 2; /* as many as py_parse has cleared */
    for (size_t i = 0; i < n; i++)
        own[i] = py_tensor_in(v[i].s);
    PyThreadState *thread = py_unlock_owning(own, n);
    result = f->call(v);
    py_lock_owning(thread, own, n);
    return result;
}

/* The memory of out=, one tensor, to the call that follows. */
static void offer(const py_function *f, int which, const py_value *v)
{
    if (to_out(f, v) && v[f->out].s.kind == TN_SCALAR_TENSOR)
        tn_into(v[f->out].s.v.t, py_out_is_alone(f, which, v));
}

static void take_back(const py_function *f, const py_value *v)
{
    if (to_out(f, v))
        tn_into(NULL, false);
}

PyObject *py_call(py_function *f, PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    py_value v[PY_MAX_SLOTS + 2];
    int which = py_parse(f, self, args, nargs, names, v);
    if (which < 0)
        return NULL;
    PyObject *out;
    if (to_out(f, v) && !py_out_begin(f, which, v)) {
        out = NULL;
    } else if (f->run) {
        offer(f, which, v);
        out = f->run(self, v, which);
        take_back(f, v);
        if (out && to_out(f, v))
            out = py_write_result(f, which, v, out);
    } else if (f->beside) {
        out = put_beside(f, which, v);
    } else {
        tn_tensor *result;
        offer(f, which, v);
        if (is_large(f, which, v))
            result = call_unlocked(f, v);
        else
            result = f->call(v);
        take_back(f, v);
        out = finish(f, which, result, v);
    }
    py_values_free(f, which, v);
    return out;
}

/* A function of Python's own, as PyTorch's are whose arguments are packed, knows names behind '*' alone. */
static int check_names(const py_function *f, PyObject *names, Py_ssize_t n)
{
    const py_signature *s = &f->parsed[f->signatures - 1];
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *name = PyTuple_GetItem(names, i);
        bool known = false;
        for (int k = 0; k < s->params; k++)
            known |= s->param[k].keyword && !PyUnicode_CompareWithASCIIString(name, s->param[k].name);
        if (!known) {
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", f->name, name);
            return -1;
        }
    }
    return 0;
}

PyObject *py_call_packed(py_function *f, py_unless unless, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    PyObject *all[1 + PY_MAX_PARAMS];
    const Py_ssize_t named = names ? PyTuple_Size(names) : 0;
    const bool list = nargs == 1 && (PyTuple_Check(args[0]) || PyList_Check(args[0]));
    if ((!f->parsed && prepare(f)) || check_names(f, names, named)) /* known names are no more than parameters */
        return NULL;
    if ((unless == PY_UNLESS_ONE && nargs == 1) || (unless == PY_UNLESS_LIST && list))
        return py_call(f, NULL, args, nargs, names);
    PyObject *packed = PyTuple_New(nargs);
    for (Py_ssize_t i = 0; packed && i < nargs; i++)
        if (PyTuple_SetItem(packed, i, Py_NewRef(args[i])))
            Py_CLEAR(packed);
    if (!packed)
        return NULL;
    all[0] = packed;
    for (Py_ssize_t i = 0; i < named; i++)
        all[1 + i] = args[nargs + i];
    PyObject *result = py_call(f, NULL, all, 1, names);
    Py_DECREF(packed);
    return result;
}
