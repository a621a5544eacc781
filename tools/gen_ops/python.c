/* tools/gen_ops/python.c: what the Python extension includes: one function of values for each operation, and the tables of
 * functions and methods. python/src/args.h says what a py_value is and how signatures are read. */
#include "rows.h"
#include <stdlib.h>
#include <string.h>

/* ---- the usual forms of elementwise rows ---- */

static entry *new_entry(row *r, const char *where)
{
    entry *e = &r->entry[r->entries++];
    if (r->entries == MAX_ENTRIES)
        fail(r, "too many entries", where);
    snprintf(e->where, sizeof e->where, "%s", where);
    return e;
}

static void add(entry *e, const char *format, const char *name)
{
    char text[256];
    snprintf(text, sizeof text, format, name);
    e->signature[e->signatures++] = text_copy(text, strlen(text));
}

/* out= of rows whose result has the operand's dtype may be of another one: PyTorch's word for it is 'found'. */
static void add_usual(row *r)
{
    const bool same = has_word("same number neg", r->rule), test = !strcmp(r->rule, "test");
    if (r->kind == UNARY_ROW) {
        add(new_entry(r, "TM"),
            test   ? "%s(Tensor input)"
            : same ? "%s(Tensor input, *, Tensor? out@found=None)"
                   : "%s(Tensor input, *, Tensor? out=None)",
            r->name);
        if (!test)
            add(new_entry(r, "I"), "%s_(Tensor input)", r->name);
        return;
    }
    entry *e = new_entry(r, "TM");
    add(e, "%s(Tensor input, Operand other, *, Tensor? out=None)", r->name);
    if (has_word("bits integer", r->rule))
        add(e, "%s(Number self@input, Tensor other)", r->name);
    add(new_entry(r, "I"), "%s_(Tensor input, Operand other)", r->name);
}

/* The entries again under another name: those of the row's own name, and of that with '_'. */
static void add_alias(row *r, const char *alias, size_t length)
{
    const size_t own = strlen(r->name);
    for (int i = 0, n = r->entries; i < n; i++) {
        const entry *e = &r->entry[i];
        const size_t stem = strcspn(e->signature[0], "(");
        const bool writes = stem == own + 1 && e->signature[0][own] == '_';
        if (strncmp(e->signature[0], r->name, own) != 0 || (stem != own && !writes))
            continue;
        entry *copy = new_entry(r, e->where);
        *copy = *e;
        for (int k = 0; k < e->signatures; k++)
            copy->signature[k] = text_format("%.*s%s", (int)length, alias, e->signature[k] + own);
    }
}

/* Slots and docstrings of what is written by hand stand where it is first named. */
static void share(void)
{
    for (int i = 0; i < n_rows; i++)
        for (entry *e = rows[i].entry; e < rows[i].entry + rows[i].entries; e++)
            for (int k = 0; e->by && k < n_rows; k++)
                for (const entry *f = rows[k].entry; f < rows[k].entry + rows[k].entries; f++)
                    if (f->by && !strcmp(f->by, e->by)) {
                        e->slots = e->slots ? e->slots : f->slots;
                        e->says = e->says ? e->says : f->says;
                    }
}

/* What 'torch_' names is a function of torch besides. */
static void add_functions(row *r)
{
    char words[256] = "";
    for (int i = 0; r->torch_ && i < r->entries; i++) {
        entry *e = &r->entry[i];
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(e->signature[0], "("), e->signature[0]);
        if (!strpbrk(e->where, "ISB") || !has_word(r->torch_, name))
            continue;
        strcat(e->where, "T");
        snprintf(words + strlen(words), sizeof words - strlen(words), " %s", name);
    }
    if (r->torch_ && strlen(words) != strlen(r->torch_) + 1)
        fail(r, "torch_ names what is not in place", r->torch_);
}

void python_complete(void)
{
    for (int i = 0; i < n_rows; i++) {
        row *r = &rows[i];
        if (!r->entries && !r->no_python && !is_private(r) && (r->kind == UNARY_ROW || r->kind == BINARY_ROW))
            add_usual(r);
        for (const char *p = r->alias; p && *p; p += strspn(p, " ")) {
            const size_t n = strcspn(p, " ");
            add_alias(r, p, n);
            p += n;
        }
    }
    for (int i = 0; i < n_rows; i++)
        add_functions(&rows[i]);
    share();
}

/* ---- calls ---- */

/* What Python calls a parameter: PyTorch's names for the operands. */
static const char *python_name(const row *r, int i)
{
    if (i == 0 && strchr("TN", r->param[0].type) && r->kind != TERNARY_ROW)
        return "input";
    if (i == 1 && r->kind == BINARY_ROW)
        return "other";
    return r->param[i].name;
}

/* Value i as the C argument of that type. */
static void print_value(char type, int i)
{
    switch (type) {
    case 'T': printf("v[%d].s.v.t", i); break;
    case 'Q': printf("(v[%d].given ? v[%d].s.v.t : TN_NONE)", i, i); break;
    case 'N':
    case 'S': printf("v[%d].s", i); break;
    case 'L': printf("py_list(&v[%d])", i); break;
    case 'D': printf("TN__DIMS(py_dims(&v[%d]))", i); break;
    case 'J': printf("py_ints(&v[%d])", i); break;
    case 'i': printf("v[%d].s.v.i", i); break;
    case 'f': printf("v[%d].s.v.f", i); break;
    case 'b': printf("(v[%d].s.v.i != 0)", i); break;
    case 'd': printf("v[%d].dtype", i); break;
    case 'm': printf("(tn_memory_format)v[%d].s.v.i", i); break;
    case 's': printf("v[%d].u.text", i); break;
    default: printf("v[%d].device", i); break;
    }
}

/* Value i as an option. */
static void print_option(const param *p, int i)
{
    if (p->type == 'D') {
        printf("    o.%s = py_dims(&v[%d]);\n", is_dim(p) ? "dims" : p->name, i);
    } else if (p->type == 'E') {
        printf("    o.dim_given = py_one_dim(&v[%d], &o.dim);\n", i);
    } else {
        printf("    o.%s = ", p->name);
        print_value(p->type, i);
        printf(";\n");
    }
}

static void print_options(const row *r)
{
    char type[64];
    const int n = r->total;
    options_type(r, type, sizeof type);
    printf("    %s o = {.struct_size = sizeof o, .site = \"\"};\n", type);
    for (int i = r->positional; i < r->total; i++) {
        if (r->param[i].type == 'Q')
            printf("    o.%s = v[%d].given ? v[%d].s.v.t : NULL;\n", r->param[i].name, i, i);
        else
            print_option(&r->param[i], i);
    }
    if (r->shared_options)
        printf("    o.device = v[%d].device;\n    o.dtype = v[%d].dtype;\n    o.requires_grad = v[%d].s.v.i != 0;\n"
               "    o.pin_memory = v[%d].s.v.i != 0;\n    o.memory_format = (tn_memory_format)v[%d].s.v.i;\n",
               n, n + 1, n + 2, n + 3, n + 4);
}

static void print_call(const row *r, bool inplace)
{
    const bool options = has_options(r) && !inplace;
    const char *tail = inplace ? "_" : "";
    printf("static tn_tensor *call_%s%s(const py_value *v)\n{\n", r->name, tail);
    if (options)
        print_options(r);
    printf("    return (tn_%s%s%s)(%s", r->name, tail, options ? "_opt" : "_at", options ? "" : "\"\", ");
    for (int i = 0; i < r->positional; i++) {
        printf(i ? ", " : "");
        print_value(inplace && i == 0 ? 'T' : r->param[i].type, i);
    }
    printf(options ? "%s&o);\n}\n\n" : ");\n}\n\n", r->positional ? ", " : "");
}

/* A row with further results gives them all, by name: the first is 'values'. NULL: it has one, or they have no names. */
static const char *result_names(const row *r)
{
    const char *names = "values";
    if (r->results)
        return strcmp(r->results, "-") ? r->results : NULL;
    for (int i = 0; i < r->total; i++)
        if (r->param[i].type == 'X')
            names = text_format("%s %s", names, r->param[i].name);
    return results(r) > 1 ? names : NULL;
}

static void print_results(const row *r)
{
    char type[64];
    const int n = results(r);
    int k = 1;
    options_type(r, type, sizeof type);
    printf("static PyObject *results_%s(PyObject *self, py_value *v, int which)\n{\n"
           "    tn_tensor *t[%d] = {NULL};\n    (void)self, (void)which;\n"
           "    %s o = {.struct_size = sizeof o, .site = \"\"};\n",
           r->name, n, type);
    for (int i = r->positional; i < r->total; i++) {
        if (r->param[i].type == 'X')
            printf("    o.%s = &t[%d];\n", r->param[i].name, k++);
        else
            print_option(&r->param[i], i);
    }
    printf("    Py_BEGIN_ALLOW_THREADS\n    t[0] = (tn_%s_opt)(", r->name);
    for (int i = 0; i < r->positional; i++) {
        print_value(r->param[i].type, i);
        printf(", ");
    }
    printf("&o);\n    Py_END_ALLOW_THREADS\n    return t[0] ? py_named_result(\"%s\", t, %d) : py_raise();\n}\n\n",
           r->name, n);
}

/* Is the row's own function, or its in-place form, what some entry calls? */
static bool is_called(const row *r, bool inplace)
{
    for (int i = 0; i < r->entries; i++) {
        const entry *e = &r->entry[i];
        const bool writes = e->where[0] == 'I' && !writes_first(r);
        if (!e->by && !e->run && writes == inplace)
            return true;
    }
    return false;
}

/* 'bitwise_not_' is the in-place form of the composed bitwise_not: a row of its own. */
static const row *inplace_row(const row *r)
{
    const size_t n = strlen(r->name);
    for (int i = 0; r->kind == FUNC_ROW && i < n_rows; i++)
        if (!strncmp(rows[i].name, r->name, n) && !strcmp(rows[i].name + n, "_"))
            return &rows[i];
    return NULL;
}

static bool needs_call(const row *r)
{
    if (r->kind == PYTHON_ROW || is_private(r))
        return false;
    if (is_called(r, false))
        return true;
    for (int i = 0; i < n_rows; i++)
        if (inplace_row(&rows[i]) == r && is_called(&rows[i], true))
            return true;
    return false;
}

/* ---- entries ---- */

static const char *name_of(const entry *e)
{
    return e->as ? e->as : text_copy(e->signature[0], strcspn(e->signature[0], "("));
}

static void print_slots(const row *r, const entry *e)
{
    printf("\"");
    if (e->slots)
        printf("%s", e->slots);
    for (int i = 0; !e->slots && i < r->total; i++)
        if (r->param[i].type != 'X')
            printf("%s%s", i ? " " : "", python_name(r, i));
    printf("%s\"", !e->slots && r->shared_options ? " device dtype requires_grad pin_memory memory_format" : "");
}

static void print_callee(const row *r, const entry *e)
{
    const char where = e->where[0];
    if (e->run)
        printf("NULL, run_%s", e->run);
    else if (!e->by && results(r) > 1)
        printf("NULL, results_%s", r->name);
    else
        printf("call_%s%s, NULL", e->by ? e->by : r->name, where == 'I' ? "_" : "");
}

/* Are the positional arguments one list (python/src/args.h), and unless what? NULL: they are not. */
static const char *packing(const entry *e)
{
    const char *last = e->signature[e->signatures - 1];
    return strstr(last, "(Tensor* ")      ? "PY_ALWAYS"
           : !strstr(last, "(Tensor[]* ") ? NULL
           : e->signatures > 1            ? "PY_UNLESS_ONE"
                                          : "PY_UNLESS_LIST";
}

static void print_entry(const row *r, const entry *e, int id)
{
    const char where = e->where[0];
    const char *prefix = where == 'P' ? "special_" : ""; /* what PyTorch's errors call those of torch.special */
    printf("static py_function pf_%d = {\"%s%s\", ", id, prefix, name_of(e));
    print_slots(r, e);
    printf(", {");
    for (int k = 0; k < e->signatures; k++)
        printf("%s\"%s%s\"", k ? ",\n    " : "", prefix, e->signature[k]);
    printf("}, ");
    print_callee(r, e);
    printf(", %s, %s, NULL, 0, 0, 0};\n", where == 'I' || where == 'S' ? "true" : "false",
           where == 'B' ? "true" : "false");
    if (packing(e))
        printf("PY_PACKED(%d, %s)\n", id, packing(e));
    else if (strpbrk(e->where, "TFP"))
        printf("PY_FUNCTION(%d)\n", id);
    if (strpbrk(e->where, "MISB"))
        printf("PY_METHOD(%d)\n", id);
}

/* Signatures as users read them, without the names of slots (name@slot). */
static void print_readable(const char *text)
{
    for (; *text; text++) {
        if (*text == '@')
            text += strcspn(text + 1, "=,) ");
        else
            putchar(*text);
    }
}

static const char *says(const row *r, const entry *e)
{
    return e->says ? e->says : r->doc;
}

static bool in_place(const entry *e)
{
    return e->where[0] == 'I' || e->where[0] == 'B';
}

/* One table of methods: of the entries that are found at a door. */
static void print_methods(const char *table, const char *doors, const char *function)
{
    int id = 0;
    printf("\nstatic PyMethodDef %s[] = {\n", table);
    for (int i = 0; i < n_rows; i++)
        for (const entry *e = rows[i].entry; e < rows[i].entry + rows[i].entries; e++, id++) {
            if (!strpbrk(e->where, doors))
                continue;
            printf("    {\"%s\", (PyCFunction)(void (*)(void))%s_%d, METH_FASTCALL | METH_KEYWORDS,\n     \"",
                   name_of(e), function, id);
            for (int k = 0; k < e->signatures; k++) {
                print_readable(e->signature[k]);
                printf("\\n");
            }
            printf("\\n%s%s\"},\n", says(&rows[i], e), in_place(e) ? ", in place" : "");
        }
    printf("    {NULL, NULL, 0, NULL},\n};\n");
}

/* Classes of results with names, which python/tenon/return_types.py makes: each with the names of its items. */
static void print_named_results(void)
{
    puts("\nstatic const char *const named_results[] = {");
    for (int i = 0; i < n_rows; i++)
        if (rows[i].entries && result_names(&rows[i]))
            printf("    \"%s %s\",\n", rows[i].name, result_names(&rows[i]));
    puts("    NULL,\n};");
}

void write_python(void)
{
    int id = 0;
    python_complete();
    puts("/* python_calls.h: one function of values for each operation, and what Python calls by which name. Generated "
         "from\n"
         " * src/ops: change that. */\n");
    for (int i = 0; i < n_rows; i++) {
        const row *r = &rows[i];
        if (needs_call(r) && results(r) > 1)
            print_results(r);
        else if (needs_call(r))
            print_call(r, false);
        if (has_inplace(r) && is_called(r, true))
            print_call(r, true);
    }
    for (int i = 0; i < n_rows; i++)
        for (const entry *e = rows[i].entry; e < rows[i].entry + rows[i].entries; e++)
            print_entry(&rows[i], e, id++);
    print_methods("torch_functions", "T", "fn");
    print_methods("methods", "MISB", "me");
    print_methods("nn_functions", "F", "fn");
    print_methods("special_functions", "P", "fn");
    print_named_results();
}

/* ---- python_hand.h ---- */

static bool seen_before(int row_at, const entry *at, const char *name, bool run, bool inplace)
{
    for (int i = 0; i <= row_at; i++)
        for (const entry *e = rows[i].entry; e < rows[i].entry + rows[i].entries; e++) {
            const char *other = run ? e->run : e->by;
            if (e == at)
                return false;
            if (other && !strcmp(other, name) && (run || (e->where[0] == 'I') == inplace))
                return true;
        }
    return false;
}

void write_hand(void)
{
    python_complete();
    puts("/* python_hand.h: what rows call that is written by hand. Generated from src/ops: change that. */");
    for (int i = 0; i < n_rows; i++)
        for (const entry *e = rows[i].entry; e < rows[i].entry + rows[i].entries; e++) {
            const bool inplace = e->where[0] == 'I';
            if (e->by && !seen_before(i, e, e->by, false, inplace))
                printf("tn_tensor *call_%s%s(const py_value *v);\n", e->by, inplace ? "_" : "");
            if (e->run && !seen_before(i, e, e->run, true, false))
                printf("PyObject *run_%s(PyObject *self, py_value *v, int which);\n", e->run);
        }
}

/* ---- python_signatures.txt: a line an entry, its parts divided by tabs ---- */

void write_stubs(void)
{
    python_complete();
    for (int i = 0; i < n_rows; i++)
        for (const entry *e = rows[i].entry; e < rows[i].entry + rows[i].entries; e++) {
            const char *names = result_names(&rows[i]), *call = e->run ? e->run : e->by ? e->by : rows[i].name;
            printf("%s\t%s\t%s\t%s\t%s%s", e->where, name_of(e), call,
                   names ? text_format("%s %s", rows[i].name, names) : "", says(&rows[i], e),
                   in_place(e) ? ", in place" : "");
            for (int k = 0; k < e->signatures; k++)
                printf("\t%s", e->signature[k]);
            printf("\n");
        }
}

/* ---- python_entries.txt: a line an entry, its parts divided by tabs: the row, its kind, family and dtype rule; then where
 * Python has it, its name, what it calls, and its signatures ---- */

static void print_row(const row *r)
{
    static const char *const kinds[] = {"unary", "binary", "ternary", "op", "view", "comp", "func", "python"};
    const char *end = strrchr(r->file, '/'), *begin = end;
    while (begin && begin > r->file && begin[-1] != '/')
        begin--;
    printf("%s\t%s\t%.*s\t%s", r->name, kinds[r->kind], begin ? (int)(end - begin) : 0, begin ? begin : "",
           r->rule ? r->rule : "");
}

void write_entries(void)
{
    python_complete();
    for (int i = 0; i < n_rows; i++) {
        const row *r = &rows[i];
        for (const entry *e = r->entry; e < r->entry + r->entries; e++) {
            print_row(r);
            printf("\t%s\t%s\t%s", e->where, name_of(e), e->run ? e->run : e->by ? e->by : r->name);
            for (int k = 0; k < e->signatures; k++)
                printf("\t%s", e->signature[k]);
            printf("\n");
        }
    }
}
