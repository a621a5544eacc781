/* tools/gen_ops.c: reads ops.def and writes, at build time, what is made from its rows:
 *
 *     gen_ops header  > include/tenon/ops.h       prototypes, options, macros that note the call site
 *     gen_ops private > op/ops_private.h          the same for rows that begin with '_', and tn__fn_ prototypes
 *     gen_ops source  > ops.c                     the functions: each marshals its arguments to tn__apply
 *     gen_ops table   > operations.md             the documentation table
 *     gen_ops python  > python_calls.h            what the Python extension calls: one function of values a row
 *
 * The grammar of signatures stands at the top of ops.def.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum kind { UNARY_ROW, BINARY_ROW, TERNARY_ROW, OP_ROW, VIEW_ROW, COMP_ROW, FUNC_ROW } kind;

typedef struct row {
    kind kind;
    const char *name, *signature, *returns, *flags, *doc;
} row;

static const row rows[] = {
#define UNARY(name, rule, expr, da, label, doc)                  {UNARY_ROW, #name, "T x", "T", "F_INPLACE", doc},
#define BINARY(name, rule, expr, da, db, label, doc)             {BINARY_ROW, #name, "N a, N b", "T", "F_INPLACE", doc},
#define TERNARY(name, rule, expr, da, db, dc, label, doc)        {TERNARY_ROW, #name, "N a, N b, N c", "T", "F_INPLACE", doc},
#define OP(name, sig, infer, kernel, save, d, flags, label, doc) {OP_ROW, #name, sig, "T", #flags, doc},
#define VIEW(name, sig, infer, d, label, doc)                    {VIEW_ROW, #name, sig, "T", "0", doc},
#define COMP(name, sig, save, d, label, doc)                     {COMP_ROW, #name, sig, "T", "0", doc},
#define FUNC(name, returns, sig, doc)                            {FUNC_ROW, #name, sig, #returns, "0", doc},
#include "op/ops.def"
};

typedef struct param {
    char type, name[32], field[32];
} param;

typedef struct signature {
    param param[20];
    int positional, total;
    bool shared_options; /* '~': tn_options */
} signature;

static bool has(const row *r, const char *flag)
{
    const char *p = strstr(r->flags, flag);
    size_t n = strlen(flag);
    return p && (p[n] == '\0' || p[n] == ' ' || p[n] == '|');
}

static bool is_private(const row *r)
{
    return r->name[0] == '_';
}

/* "i dim0=dim, S x | b keepdim" */
static signature parse(const row *r)
{
    signature s = {0};
    char text[512];
    bool options = false;
    snprintf(text, sizeof text, "%s", r->signature);
    for (char *p = text; *p;) {
        while (*p == ' ' || *p == ',')
            p++;
        if (*p == '|') {
            options = true;
            p++;
            continue;
        }
        if (*p == '~') {
            s.shared_options = true;
            p++;
            continue;
        }
        if (!*p)
            break;
        param *q = &s.param[s.total++];
        q->type = *p++;
        p += *p == ' ';
        size_t n = strcspn(p, " ,|=");
        snprintf(q->name, sizeof q->name, "%.*s", (int)n, p);
        p += n;
        const char *field = q->name;
        if (*p == '=') {
            field = ++p;
            n = strcspn(p, " ,|");
            p += n;
        }
        snprintf(q->field, sizeof q->field, "%.*s", (int)n, field);
        if (!options)
            s.positional = s.total;
    }
    return s;
}

static bool has_options(const signature *s)
{
    return s->shared_options || s->total > s->positional;
}

static void options_type(const row *r, const signature *s, char *out, size_t n)
{
    if (s->shared_options)
        snprintf(out, n, "tn_options");
    else
        snprintf(out, n, "tn_%s_options", r->name);
}

static const char *c_type(char type)
{
    switch (type) {
    case 'T':
    case 'Q': return "tn_tensor *";
    case 'N':
    case 'S': return "tn_scalar ";
    case 'L': return "tn_tensors ";
    case 'D': return "tn_dims ";
    case 'i': return "int64_t ";
    case 'f': return "double ";
    case 'b': return "bool ";
    case 'd': return "tn_dtype ";
    case 'v': return "tn_device ";
    case 'X': return "tn_tensor **";
    default: fprintf(stderr, "gen_ops: unknown parameter type '%c'\n", type); exit(1);
    }
}

static const char *result_type(const row *r)
{
    return !strcmp(r->returns, "T") ? "tn_tensor *" : !strcmp(r->returns, "flag") ? "bool " : "int64_t ";
}

static bool counts(const row *r)
{
    return !strcmp(r->returns, "count");
}

/* A composed function whose name ends in '_'. */
static bool writes_first(const row *r)
{
    size_t n = strlen(r->name);
    return r->kind == FUNC_ROW && n > 0 && r->name[n - 1] == '_';
}

static bool is_binary(const row *r)
{
    return r->kind == BINARY_ROW;
}

/* Parameters after an optional first one. plain: operands of binary rows are tensors. */
static void print_params(const row *r, const signature *s, const char *first, bool plain, bool inplace)
{
    const char *sep = "";
    printf("(");
    if (first) {
        printf("%s", first);
        sep = ", ";
    }
    for (int i = 0; i < s->positional; i++) {
        const char *type = c_type(s->param[i].type);
        if ((plain && is_binary(r)) || (inplace && i == 0))
            type = "tn_tensor *";
        printf("%s%s%s", sep, type, s->param[i].name);
        sep = ", ";
    }
    if (counts(r))
        printf("%stn_tensor **out, size_t cap", sep);
}

static void print_names(const row *r, const signature *s, const char *first, bool wrap_binary, bool inplace)
{
    const char *sep = "";
    printf("(");
    if (first) {
        printf("%s", first);
        sep = ", ";
    }
    for (int i = 0; i < s->positional; i++) {
        bool wrap = wrap_binary && is_binary(r) && !(inplace && i == 0);
        printf(wrap ? "%stn_scalar_t(%s)" : "%s%s", sep, s->param[i].name);
        sep = ", ";
    }
    if (counts(r))
        printf("%sout, cap", sep);
}

/* ---- headers ---- */

static void print_macro(const row *r, const signature *s, bool inplace)
{
    char type[64];
    const char *name = r->name, *tail = inplace ? "_" : "";
    if (has_options(s) && !inplace) {
        options_type(r, s, type, sizeof type);
        printf("#define tn_%s(...) TN__X_%s(__VA_ARGS__, TN__SITE(%s))\n#define TN__X_%s(", name, name, type, name);
        for (int i = 0; i < s->positional; i++)
            printf("%s_, ", s->param[i].name);
        printf("...) tn_%s_opt(", name);
        for (int i = 0; i < s->positional; i++)
            printf(strchr("NS", s->param[i].type) ? "TN_SCALAR(%s_), " : "(%s_), ", s->param[i].name);
        printf("&(%s){__VA_ARGS__})\n", type);
        return;
    }
    printf("#define tn_%s%s(", name, tail);
    for (int i = 0; i < s->positional; i++)
        printf("%s%s_", i ? ", " : "", s->param[i].name);
    printf(counts(r) ? ", out_, cap_) tn_%s%s_at(TN_HERE" : ") tn_%s%s_at(TN_HERE", name, tail);
    for (int i = 0; i < s->positional; i++)
        printf(strchr("NS", s->param[i].type) && !(inplace && i == 0) ? ", TN_SCALAR(%s_)" : ", (%s_)",
               s->param[i].name);
    printf(counts(r) ? ", (out_), (cap_))\n" : ")\n");
}

static void print_options_struct(const row *r, const signature *s)
{
    if (s->shared_options || !has_options(s))
        return;
    printf("typedef struct tn_%s_options {\n    size_t struct_size;\n    const char *site;\n", r->name);
    for (int i = s->positional; i < s->total; i++)
        printf("    %s%s;\n", c_type(s->param[i].type), s->param[i].name);
    printf("} tn_%s_options;\n", r->name);
}

static void print_prototypes(const row *r, const char *api)
{
    signature s = parse(r);
    char type[64];
    bool inplace = has(r, "F_INPLACE"), only = has(r, "F_ONLY_INPLACE");
    if (*r->doc)
        printf("\n/* %s */\n", r->doc);
    print_options_struct(r, &s);
    if (has_options(&s)) {
        options_type(r, &s, type, sizeof type);
        printf("%s%stn_%s_opt", api, result_type(r), r->name);
        print_params(r, &s, NULL, false, false);
        printf(s.positional ? ", const %s *options);\n" : "const %s *options);\n", type);
    } else {
        printf("%s%stn_%s_at", api, result_type(r), r->name);
        print_params(r, &s, "const char *site", false, only);
        printf(");\n");
    }
    printf("%s%stn_%s", api, result_type(r), r->name);
    print_params(r, &s, NULL, true, only);
    printf(");\n");
    if (!inplace)
        return;
    printf("%stn_tensor *tn_%s__at", api, r->name);
    print_params(r, &s, "const char *site", false, true);
    printf(");\n%stn_tensor *tn_%s_", api, r->name);
    print_params(r, &s, NULL, true, true);
    printf(");\n");
}

static void print_macros(const row *r)
{
    signature s = parse(r);
    print_macro(r, &s, false);
    if (has(r, "F_INPLACE"))
        print_macro(r, &s, true);
}

static void header(void)
{
    puts("/* tenon/ops.h: the operations. Generated from ops.def: change that.\n"
         " *\n"
         " * Each function returns a new tensor, owned by the innermost scope (tenon/scope.h), or NULL with the "
         "thread's error\n"
         " * set; a NULL operand gives NULL. Operands that may be numbers or tensors are tn_scalar (TN_SCALAR(x) makes "
         "one; the\n"
         " * macros do it). Names that end in '_' write to their first operand and return it. Shapes, dtypes, "
         "broadcasting and\n"
         " * promotion are those of PyTorch's function of the same name. tn_x_at notes a call site, tn_x_opt takes "
         "options;\n"
         " * the macro tn_x does both.\n"
         " */\n"
         "#ifndef TENON_OPS_H\n#define TENON_OPS_H\n\n#include <tenon/base.h>\n\n"
         "#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!is_private(&rows[i]))
            print_prototypes(&rows[i], "TN_API ");
    puts("\n#ifdef __cplusplus\n}\n#else\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!is_private(&rows[i]))
            print_macros(&rows[i]);
    puts("\n#endif\n#endif");
}

static void private_header(void)
{
    puts("/* op/ops_private.h: rows that only the library calls. Generated from ops.def: change that. */\n"
         "#ifndef TENON_OPS_PRIVATE_H\n#define TENON_OPS_PRIVATE_H\n\n#include <tenon/ops.h>\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row *r = &rows[i];
        if (is_private(r)) {
            print_prototypes(r, "");
            print_macros(r);
        } else if (r->kind == FUNC_ROW) {
            signature s = parse(r);
            char type[64];
            printf("%stn__fn_%s", result_type(r), r->name);
            print_params(r, &s, NULL, false, false);
            if (has_options(&s)) {
                options_type(r, &s, type, sizeof type);
                printf(", const %s *o", type);
            }
            printf(");\n");
        }
    }
    puts("\n#endif");
}

/* ---- functions ---- */

static bool needs_attr(const signature *s)
{
    for (int i = 0; i < s->total; i++)
        if (!strchr("TQNLX", s->param[i].type))
            return true;
    return false;
}

/* Arguments into attr; options are read as o.name. */
static void print_attr(const row *r, const signature *s)
{
    const char *fail = "return NULL";
    if (needs_attr(s))
        printf("    tn__attr attr;\n    memset(&attr, 0, sizeof attr);\n");
    for (int i = 0; i < s->total; i++) {
        const param *p = &s->param[i];
        const char *from = i < s->positional ? "" : "o.";
        if (strchr("TQNLX", p->type))
            continue;
        if (p->type == 'D' && !strcmp(p->field, "dims"))
            printf("    attr.has_dims = %s%s.dim != NULL;\n", from, p->name);
        if (p->type == 'D')
            printf("    if (!tn__attr_dims(attr.%s, &attr.n_%s, %s%s))\n        %s;\n", p->field, p->field, from,
                   p->name, fail);
        else
            printf("    attr.%s = %s%s;\n", p->field, from, p->name);
        if (p->type == 'd')
            printf("    if (tn__dtype_check(\"%s\", attr.%s))\n        %s;\n", r->name, p->field, fail);
    }
}

/* The operands, and which of them must be tensors. Returns the number. */
static int print_operands(const signature *s, bool inplace, unsigned *required)
{
    int n = 0;
    *required = 0;
    printf("    const tn_scalar in[] = {");
    for (int i = 0; i < s->total; i++) {
        const param *p = &s->param[i];
        if (!strchr("TQN", p->type))
            continue;
        if (p->type == 'T')
            *required |= 1U << n;
        if (i >= s->positional)
            printf("%stn__optional(o.%s)", n ? ", " : "", p->name);
        else if (p->type == 'N' && !(inplace && n == 0))
            printf("%s%s", n ? ", " : "", p->name);
        else
            printf("%stn_scalar_t(%s)", n ? ", " : "", p->name);
        n++;
    }
    printf("};\n");
    return n;
}

static void print_row_body(const row *r, const signature *s, bool inplace, const char *site)
{
    unsigned required;
    print_attr(r, s);
    const char *attr = needs_attr(s) || r->kind >= OP_ROW ? "&attr" : "NULL";
    if (r->kind >= OP_ROW && !needs_attr(s))
        printf("    tn__attr attr;\n    memset(&attr, 0, sizeof attr);\n");
    if (s->param[0].type == 'L') {
        printf("    return tn__apply_list(%s, TN__OP_%s, %s, &attr);\n", site, r->name, s->param[0].name);
        return;
    }
    int n = print_operands(s, inplace, &required);
    if (inplace) {
        printf("    return tn__apply_inplace(%s, TN__OP_%s, in, %d, %uU, %s);\n", site, r->name, n, required, attr);
        return;
    }
    const char *second = "NULL";
    char text[64];
    for (int i = 0; i < s->total; i++)
        if (s->param[i].type == 'X') {
            snprintf(text, sizeof text, "o.%s", s->param[i].name);
            second = text;
        }
    printf("    return tn__apply(%s, TN__OP_%s, in, %d, %uU, %s, %s);\n", site, r->name, n, required, attr, second);
}

static void print_func_body(const row *r, const signature *s, const char *site)
{
    char call[512];
    size_t n = (size_t)snprintf(call, sizeof call, "tn__fn_%s(", r->name);
    for (int i = 0; i < s->positional; i++)
        n += (size_t)snprintf(call + n, sizeof call - n, "%s%s", i ? ", " : "", s->param[i].name);
    if (counts(r))
        n += (size_t)snprintf(call + n, sizeof call - n, ", out, cap");
    snprintf(call + n, sizeof call - n, has_options(s) ? ", &o)" : ")");
    printf("    tn__thread *t = tn__enter(%s);\n", site);
    if (counts(r)) {
        printf("    (void)t;\n    return %s;\n", call);
        return;
    }
    printf("    tn_scope scope;\n    tn__scope_push(t, &scope);\n");
    if (writes_first(r)) /* the caller's own tensor, as rows that write in place give it back */
        printf("    bool done = %s != NULL;\n    tn__scope_pop(t, &scope, NULL);\n    return done ? %s : NULL;\n", call,
               s->param[0].name);
    else if (!strcmp(r->returns, "flag"))
        printf("    bool r = %s;\n    tn__scope_pop(t, &scope, NULL);\n    return r;\n", call);
    else
        printf("    return tn__scope_return(t, &scope, %s);\n", call);
}

static void print_function(const row *r, bool inplace)
{
    signature s = parse(r);
    char type[64];
    bool only = has(r, "F_ONLY_INPLACE");
    const char *tail = inplace ? "_" : "", *site = "site";
    if (has_options(&s) && !inplace) {
        options_type(r, &s, type, sizeof type);
        printf("\n%s(tn_%s_opt)", result_type(r), r->name);
        print_params(r, &s, NULL, false, false);
        printf(", const %s *options)\n{\n    %s o;\n    tn__options_in(&o, sizeof o, options);\n", type, type);
        site = "o.site";
    } else {
        printf("\n%s(tn_%s%s_at)", result_type(r), r->name, tail);
        print_params(r, &s, "const char *site", false, inplace || only);
        printf(")\n{\n");
        if (has_options(&s)) { /* in place: options as if none were given */
            printf("    tn_%s_options o;\n    tn__options_in(&o, sizeof o, NULL);\n", r->name);
        }
    }
    if (r->kind == FUNC_ROW)
        print_func_body(r, &s, site);
    else
        print_row_body(r, &s, inplace || only, site);
    printf("}\n\n%s(tn_%s%s)", result_type(r), r->name, tail);
    print_params(r, &s, NULL, true, inplace || only);
    if (has_options(&s) && !inplace) {
        printf(")\n{\n    return (tn_%s_opt)", r->name);
        print_names(r, &s, NULL, true, false);
        printf(", NULL);\n}\n");
        return;
    }
    printf(")\n{\n    return (tn_%s%s_at)", r->name, tail);
    print_names(r, &s, "TN__NOWHERE", true, inplace || only);
    printf(");\n}\n");
}

static void source(void)
{
    puts("/* The functions of tenon/ops.h and op/ops_private.h. Generated from ops.def: change that. */\n"
         "#include \"autograd/apply.h\"\n#include \"autograd/functions.h\"\n#include \"op/ops_private.h\"");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        print_function(&rows[i], false);
        if (has(&rows[i], "F_INPLACE"))
            print_function(&rows[i], true);
    }
}

static void table(void)
{
    puts("# Operations\n\nGenerated from src/op/ops.def.\n\n| C | what it gives |\n|---|---|");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row *r = &rows[i];
        signature s = parse(r);
        if (is_private(r))
            continue;
        printf("| `tn_%s(", r->name);
        for (int k = 0; k < s.positional; k++)
            printf("%s%s", k ? ", " : "", s.param[k].name);
        if (counts(r))
            printf(", out, cap");
        for (int k = s.positional; k < s.total; k++)
            printf(", .%s", s.param[k].name);
        if (s.shared_options)
            printf(", .dtype, .device, .requires_grad");
        printf(")`%s | %s |\n", has(r, "F_INPLACE") ? ", in place with `_`" : "", r->doc);
    }
}

/* ---- calls from Python: python/src/args.h says what a py_value is ---- */

/* What Python calls a parameter: PyTorch's names for the operands. */
static const char *python_name(const row *r, const signature *s, int i)
{
    bool listed = s->param[0].type == 'L';
    if (i == 0 && strchr("TN", s->param[0].type) && !listed && r->kind != TERNARY_ROW)
        return "input";
    if (i == 1 && is_binary(r))
        return "other";
    return s->param[i].name;
}

/* Value i as the C argument of that type. */
static void print_python_value(char type, int i)
{
    switch (type) {
    case 'T': printf("v[%d].s.v.t", i); break;
    case 'Q': printf("(v[%d].given ? v[%d].s.v.t : TN_NONE)", i, i); break;
    case 'N':
    case 'S': printf("v[%d].s", i); break;
    case 'L': printf("py_list(&v[%d])", i); break;
    case 'D': printf("py_dims(&v[%d])", i); break;
    case 'i': printf("v[%d].s.v.i", i); break;
    case 'f': printf("v[%d].s.v.f", i); break;
    case 'b': printf("(v[%d].s.v.i != 0)", i); break;
    case 'd': printf("v[%d].dtype", i); break;
    case 'v': printf("v[%d].device", i); break;
    default: fprintf(stderr, "gen_ops: no Python value of type '%c'\n", type); exit(1);
    }
}

static void print_python_slots(const row *r, const signature *s)
{
    printf("\nPY_UNUSED static const char slots_%s[] = \"", r->name);
    for (int i = 0; i < s->total; i++)
        printf("%s%s", i ? " " : "", python_name(r, s, i));
    printf("%s\";\n", s->shared_options ? " device dtype requires_grad pin_memory" : "");
}

static void print_python_call(const row *r, bool inplace)
{
    signature s = parse(r);
    char type[64];
    bool options = has_options(&s) && !inplace;
    printf("PY_UNUSED static tn_tensor *call_%s%s(const py_value *v)\n{\n", r->name, inplace ? "_" : "");
    if (options) {
        options_type(r, &s, type, sizeof type);
        printf("    %s o = {.struct_size = sizeof o, .site = \"\"};\n", type);
        for (int i = s.positional; i < s.total; i++) {
            if (strchr("Q", s.param[i].type))
                printf("    o.%s = v[%d].given ? v[%d].s.v.t : NULL", s.param[i].name, i, i);
            else
                printf("    o.%s = ", s.param[i].name), print_python_value(s.param[i].type, i);
            printf(";\n");
        }
        if (s.shared_options)
            printf("    o.device = v[%d].device;\n    o.dtype = v[%d].dtype;\n    o.requires_grad = v[%d].s.v.i != 0;\n"
                   "    o.pin_memory = v[%d].s.v.i != 0;\n",
                   s.total, s.total + 1, s.total + 2, s.total + 3);
    }
    printf("    return (tn_%s%s%s)(%s", r->name, inplace ? "_" : "", options ? "_opt" : "_at", options ? "" : "\"\", ");
    for (int i = 0; i < s.positional; i++) {
        printf(i ? ", " : "");
        print_python_value(inplace && i == 0 ? 'T' : s.param[i].type, i);
    }
    printf(options ? "%s&o);\n}\n" : ");\n}\n", s.positional ? ", " : "");
}

/* Rows with a second result, or that return a list or a flag, are called by hand. */
static bool has_python_call(const row *r, const signature *s)
{
    for (int i = 0; i < s->total; i++)
        if (s->param[i].type == 'X')
            return false;
    return !is_private(r) && !strcmp(r->returns, "T");
}

static void python(void)
{
    puts("/* python_calls.h: one function of values for each operation. Generated from ops.def: change that. */");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row *r = &rows[i];
        signature s = parse(r);
        if (is_private(r))
            continue;
        printf("\n#define doc_%s \"%s\"", r->name, r->doc);
        if (!has_python_call(r, &s))
            continue;
        print_python_slots(r, &s);
        print_python_call(r, false);
        if (has(r, "F_INPLACE"))
            print_python_call(r, true);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";
    if (!strcmp(what, "header"))
        header();
    else if (!strcmp(what, "private"))
        private_header();
    else if (!strcmp(what, "source"))
        source();
    else if (!strcmp(what, "table"))
        table();
    else if (!strcmp(what, "python"))
        python();
    else {
        fprintf(stderr, "usage: gen_ops header|private|source|table|python\n");
        return 2;
    }
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
