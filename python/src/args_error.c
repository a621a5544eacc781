/* args_error.c: TypeErrors of calls, in PyTorch's words: "add(): argument 'other' (position 2) must be Tensor, not str". */
#include "args_error.h"

#include <stdio.h>

const char *py_type_name(PyObject *o, char *out, size_t n)
{
    if (py_is_tensor(o) && Py_IS_TYPE(o, py_tensor_type)) {
        snprintf(out, n, "Tensor");
        return out;
    }
    if (Py_IS_TYPE(o, py_dtype_type) || Py_IS_TYPE(o, py_device_type)) {
        snprintf(out, n, Py_IS_TYPE(o, py_dtype_type) ? "torch.dtype" : "torch.device");
        return out;
    }
    PyObject *name = PyType_GetName(Py_TYPE(o));
    const char *text = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    snprintf(out, n, "%s%s", py_is_ndarray(o) || py_is_numpy_scalar(o) ? "numpy." : "", text ? text : "?");
    Py_XDECREF(name);
    PyErr_Clear();
    return out;
}

static const char *kind_text(const py_param *p)
{
    switch (p->kind) {
    case PY_TENSOR:
    case PY_OPERAND: return "Tensor";
    case PY_NUMBER: return "Number";
    case PY_TENSORS: return "tuple of Tensors";
    case PY_DIM:
    case PY_INT: return "int";
    case PY_FLOAT: return "float";
    case PY_BOOL: return "bool";
    case PY_INTS:
    case PY_SIZE: return "tuple of ints";
    case PY_DTYPE: return "torch.dtype";
    case PY_DEVICE: return "torch.device";
    case PY_FORMAT: return "torch.memory_format";
    case PY_STR: return "str";
    case PY_REDUCTION: return p->one ? "int" : "str";
    case PY_NOTHING: return "None";
    case PY_OBJECT: break;
    }
    return "object";
}

/* Text that grows up to a limit; what does not fit is left out. */
typedef struct text {
    char s[3000];
    size_t n;
} text;

static void add(text *t, const char *s)
{
    size_t n = strlen(s);
    if (t->n + n >= sizeof t->s)
        n = sizeof t->s - 1 - t->n;
    memcpy(t->s + t->n, s, n);
    t->s[t->n += n] = '\0';
}

/* "(Tensor input, *, Tensor out = None)" */
static void add_signature(text *t, const py_signature *s, bool method)
{
    bool star = false;
    const char *sep = "";
    add(t, "(");
    for (int i = method; i < s->params; i++) {
        const py_param *p = &s->param[i];
        if (method && !strcmp(p->name, "out"))
            continue;
        add(t, sep);
        if (p->keyword && !star) {
            add(t, "*, ");
            star = true;
        }
        add(t, kind_text(p));
        add(t, " ");
        add(t, p->name);
        if (!p->required) {
            add(t, " = ");
            add(t, p->initial_text);
        }
        sep = ", ";
    }
    add(t, ")");
}

/* "(Tensor, str, out=Tensor, dim=int)", "(dim=int, )": the types of what was given; those with names the last one first */
static void add_given(text *t, py_arguments a)
{
    char name[64];
    Py_ssize_t named = a.names ? PyTuple_Size(a.names) : 0;
    add(t, "(");
    for (Py_ssize_t i = 0; i < a.nargs && i < 20; i++) {
        add(t, i ? ", " : "");
        add(t, py_type_name(a.args[i], name, sizeof name));
    }
    for (Py_ssize_t i = named - 1; i >= 0; i--) {
        const char *key = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(a.names, i), NULL);
        add(t, a.nargs ? ", " : "");
        add(t, key ? key : "?");
        add(t, "=");
        add(t, py_type_name(a.args[a.nargs + i], name, sizeof name));
        add(t, a.nargs ? "" : ", ");
    }
    add(t, ")");
    PyErr_Clear();
}

/* "out, alpha" */
static void add_names(text *t, py_arguments a)
{
    for (Py_ssize_t i = PyTuple_Size(a.names) - 1; i >= 0; i--) {
        const char *key = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(a.names, i), NULL);
        add(t, key ? key : "?");
        add(t, i ? ", " : "");
    }
}

static void say_missing(const py_function *f, const py_mismatch *m)
{
    text t = {"", 0};
    int n = 0;
    for (int i = 0; i < m->signature->params; i++)
        if (m->signature->param[i].required && !(m->seen & 1U << i)) {
            add(&t, n++ ? ", \"" : "\"");
            add(&t, m->signature->param[i].name);
            add(&t, "\"");
        }
    PyErr_Format(PyExc_TypeError, "%s() missing %d required positional arguments: %s", f->name, n, t.s);
}

bool py_is_int(PyObject *o)
{
    int64_t n;
    const bool is = !PyBool_Check(o) && py_int(o, &n) <= 0;
    PyErr_Clear();
    return is;
}

/* What is none of the integers that are wanted, and where it stands among them: PyTorch looks at the first of a list before
 * it takes the list, and at the others afterwards, with other words. A new reference, or NULL. */
static PyObject *wrong_item(const py_mismatch *m, Py_ssize_t *at)
{
    const bool ints = m->param->kind == PY_SIZE || m->param->kind == PY_INTS;
    *at = m->item;
    if (m->item)
        return Py_NewRef(m->object);
    if (!ints || !(PyTuple_Check(m->object) || PyList_Check(m->object)))
        return NULL;
    for (; *at < PySequence_Size(m->object); ++*at) {
        PyObject *item = PySequence_GetItem(m->object, *at);
        if (!item || !py_is_int(item))
            return item;
        Py_DECREF(item);
    }
    return NULL;
}

static void say_type(const py_function *f, const py_mismatch *m, bool method)
{
    char name[64];
    const char *got = py_type_name(m->object, name, sizeof name);
    Py_ssize_t at;
    PyObject *wrong = wrong_item(m, &at);
    if (wrong && at)
        PyErr_Format(PyExc_TypeError,
                     "%s(): argument '%s' failed to unpack the object at pos %zd with error \"type must be tuple of "
                     "ints,but got %s\"",
                     f->name, m->param->name, at + 1, py_type_name(wrong, name, sizeof name));
    else if (wrong && m->position >= 0)
        PyErr_Format(PyExc_TypeError,
                     "%s(): argument '%s' (position %d) must be tuple of ints, but found element of type %s at pos 0",
                     f->name, m->param->name, m->position + 1 - method, py_type_name(wrong, name, sizeof name));
    Py_XDECREF(wrong);
    if (PyErr_Occurred())
        return;
    if (m->position < 0)
        PyErr_Format(PyExc_TypeError, "%s(): argument '%s' must be %s, not %s", f->name, m->param->name,
                     kind_text(m->param), got);
    else
        PyErr_Format(PyExc_TypeError, "%s(): argument '%s' (position %d) must be %s, not %s", f->name, m->param->name,
                     m->position + 1 - method, kind_text(m->param), got);
}

static int own_signatures(const py_function *f)
{
    int n = 0;
    while (n < f->signatures && !f->parsed[n].older)
        n++;
    return n;
}

/* A method of nothing but its tensor: CPython's own errors, in PyTorch. */
static bool takes_none(const py_function *f)
{
    const py_signature *s = &f->parsed[0];
    return own_signatures(f) == f->signatures && f->signatures == 1 &&
           s->params - (s->param[s->params - 1].keyword && !strcmp(s->param[s->params - 1].name, "out")) == 1;
}

/* Is one signature here two in PyTorch, of a tensor and of a number? Those of arithmetic by its shortest names are one,
 * and copy_. */
static bool has_two_kinds(const py_function *f, int which)
{
    static const char *const one[] = {"add", "sub", "mul", "div", "copy"};
    const size_t n = strcspn(f->name, "_") == strlen(f->name) - 1 ? strlen(f->name) - 1 : strlen(f->name);
    for (size_t i = 0; i < sizeof one / sizeof *one; i++)
        if (which == 0 && strlen(one[i]) == n && !strncmp(one[i], f->name, n))
            return false;
    for (int k = 0; k < f->parsed[which].params; k++)
        if (f->parsed[which].param[k].kind == PY_OPERAND)
            return true;
    return false;
}

/* Is there no out= where the second operand is a number? Of the longer names of arithmetic. */
static bool number_has_no_out(const py_function *f)
{
    static const char *const names[] = {"subtract", "multiply", "divide", "true_divide"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], f->name))
            return true;
    return false;
}

/* How many arguments another overload has at least, which is PyTorch's alone, though what it is for is there; 0: none. */
static int other_overload(const py_function *f, bool method)
{
    static const struct {
        const char *name;
        int least;
        bool method;
    } others[] = {{"all", 1, true},
                  {"any", 1, true},
                  {"addmm", 4, false},
                  {"baddbmm", 4, false},
                  {"bmm", 3, false},
                  {"mm", 3, false},
                  {"hann_window", 2, false},
                  {"hamming_window", 2, false},
                  {"bartlett_window", 2, false},
                  {"blackman_window", 2, false},
                  {"kaiser_window", 2, false}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(others[i].name, f->name) && (others[i].method || !method))
            return others[i].least;
    return 0;
}

int py_plausible(const py_function *f, py_arguments a)
{
    const Py_ssize_t given = a.nargs + (a.names ? PyTuple_Size(a.names) : 0) + (a.self != NULL);
    const int own = own_signatures(f), other = other_overload(f, a.self != NULL);
    int found = -1, n = other && given >= other;
    if (own == 1 && own == f->signatures && !has_two_kinds(f, 0) && !n)
        return 0;
    for (int i = 0; i < own; i++) {
        const py_signature *s = &f->parsed[i];
        int least = 0, most = 0;
        for (int k = 0; k < s->params; k++) {
            least += s->param[k].required;
            most += !(a.self && !strcmp(s->param[k].name, "out"));
        }
        if (given < least || given > most)
            continue;
        found = i;
        n += 1 + (has_two_kinds(f, i) && (a.self || given < most || !number_has_no_out(f)));
    }
    return n == 1 ? found : -1;
}

int py_warn_older(const py_function *f, int which, bool method)
{
    static bool warned; /* once, of whatever function, as PyTorch does */
    text t = {"", 0};
    if (!py_warns(&warned))
        return 0;
    add(&t, f->name);
    add_signature(&t, &f->parsed[which], method);
    add(&t, "\nConsider using one of the following signatures instead:");
    for (int i = 0; i < f->signatures; i++)
        if (!f->parsed[i].older) {
            add(&t, "\n\t");
            add(&t, f->name);
            add_signature(&t, &f->parsed[i], method);
        }
    return PyErr_WarnFormat(PyExc_UserWarning, 1, "This overload of %s is deprecated:\n\t%s", f->name, t.s);
}

void py_arguments_error(const py_function *f, py_arguments a, int only, const py_mismatch *why)
{
    bool method = a.self != NULL;
    if (method && takes_none(f)) {
        if (a.names && PyTuple_Size(a.names))
            PyErr_Format(PyExc_TypeError, "TensorBase.%s() takes no keyword arguments", f->name);
        else
            PyErr_Format(PyExc_TypeError, "TensorBase.%s() takes no arguments (%zd given)", f->name, a.nargs);
        return;
    }
    if (only < 0 && why->why != PY_TWICE) {
        text t = {"", 0};
        const bool alone = own_signatures(f) == 1 && !has_two_kinds(f, 0) && !other_overload(f, method);
        if (alone && a.names && PyTuple_Size(a.names)) {
            add_names(&t, a);
            PyErr_Format(PyExc_TypeError,
                         "%s() received an invalid combination of arguments - got unrecognized keyword arguments: %s",
                         f->name, t.s);
            return;
        }
        add_given(&t, a);
        add(&t, alone ? ", but expected " : ", but expected one of:\n");
        if (alone)
            add_signature(&t, &f->parsed[0], method);
        for (int i = 0; i < f->signatures && !alone; i++)
            if (!f->parsed[i].older) {
                add(&t, " * ");
                add_signature(&t, &f->parsed[i], method);
                add(&t, "\n");
            }
        PyErr_Format(PyExc_TypeError, "%s() received an invalid combination of arguments - got %s", f->name, t.s);
        return;
    }
    const py_signature *s = &f->parsed[only < 0 ? 0 : only];
    int takes = s->positional - method, least = -method;
    Py_ssize_t given = a.nargs;
    for (int i = 0; i < s->params; i++)
        least += s->param[i].required;
    switch (why->why) {
    case PY_TOO_MANY:
        if (least != takes)
            PyErr_Format(PyExc_TypeError, "%s() takes from %d to %d positional arguments but %zd were given", f->name,
                         least, takes, given);
        else
            PyErr_Format(PyExc_TypeError, "%s() takes %d positional argument%s but %zd %s given", f->name, takes,
                         takes == 1 ? "" : "s", given, given == 1 ? "was" : "were");
        return;
    case PY_WRONG_TYPE: say_type(f, why, method); return;
    case PY_UNKNOWN_NAME:
        PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", f->name, why->name);
        return;
    case PY_TWICE:
        PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", f->name, why->name);
        return;
    default: say_missing(f, why); return;
    }
}
