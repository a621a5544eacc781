/* tools/gen_ops/calls.c: every function of tenon/ops.h by its name, with arguments that are read at run time: what
 * tests/ops/calls.c includes. A value v[i] is the row's parameter i; one that was not given is zero, as in C. */
#include "rows.h"
#include <string.h>

/* The reader of tests/ops/calls.c for a parameter of that type. */
static const char *reader(char type)
{
    switch (type) {
    case 'T':
    case 'Q': return "tensor_of";
    case 'N':
    case 'S': return "number_of";
    case 'L': return "list_of";
    case 'D': return "dims_of";
    case 'J': return "ints_of";
    case 'i': return "int_of";
    case 'f': return "float_of";
    case 'b': return "flag_of";
    case 'd': return "dtype_of";
    case 'm': return "format_of";
    case 's': return "text_of";
    case 'X': return "result_of";
    default: return "device_of";
    }
}

static void print_options(const row *r)
{
    char type[64];
    options_type(r, type, sizeof type);
    printf("    %s o = {.struct_size = sizeof o, .site = SITE};\n", type);
    for (int i = r->positional; i < r->total; i++) {
        const param *p = &r->param[i];
        if (p->type == 'E')
            printf("    o.dim_given = one_dim_of(&v[%d], &o.dim);\n", i);
        else
            printf("    if (v[%d].kind)\n        o.%s = %s(&v[%d]);\n", i, is_dim(p) ? "dims" : p->name,
                   reader(p->type), i);
    }
    if (r->shared_options)
        printf("    if (v[%d].kind)\n        o.dtype = dtype_of(&v[%d]);\n    if (v[%d].kind)\n"
               "        o.requires_grad = flag_of(&v[%d]);\n",
               r->total, r->total, r->total + 1, r->total + 1);
}

static void print_function(const row *r, bool inplace)
{
    const bool options = has_options(r) && !inplace, first = inplace || does(r, "only_inplace");
    const char *give = inplace || !strcmp(r->returns, "T") ? "give_tensor" : counts(r) ? "give_several" : "give_flag";
    printf("static void call_%s%s(const value *v, answer *a)\n{\n", r->name, inplace ? "_" : "");
    if (options)
        print_options(r);
    printf("    %s(a, (tn_%s%s)(%s", give, r->name, inplace ? "__at" : options ? "_opt" : "_at", options ? "" : "SITE");
    for (int i = 0; i < r->positional; i++) {
        const char type = first && i == 0 ? 'T' : r->param[i].type;
        printf(type == 'D' ? "%sTN__DIMS(%s(&v[%d]))" : "%s%s(&v[%d])", i || !options ? ", " : "", reader(type), i);
    }
    if (counts(r))
        printf(", a->t, RESULTS");
    printf(options ? "%s&o));\n}\n\n" : "));\n}\n\n", r->positional ? ", " : "");
}

/* One line: the name, what it returns, its parameters (type:name), '|', those that are options. */
static void print_entry(const row *r, bool inplace)
{
    const char *tail = inplace ? "_" : "";
    printf("    {\"%s%s\", call_%s%s,\n     \"%s", r->name, tail, r->name, tail,
           r->kind == BINARY_ROW    ? "binary"
           : r->kind == TERNARY_ROW ? "ternary"
           : r->kind == UNARY_ROW   ? "unary"
                                    : r->returns);
    for (int i = 0; i < (inplace ? r->positional : r->total); i++)
        printf("%s %c:%s", i == r->positional ? " |" : "", r->param[i].type, r->param[i].name);
    printf("%s\"},\n", r->shared_options ? " | d:dtype b:requires_grad" : "");
}

/* One line a name that Python has: the row, where, the name, the signatures. */
static void print_python_names(const row *r)
{
    for (const entry *e = r->entry; e < r->entry + r->entries; e++) {
        const char *const signature = e->signature[0];
        printf("    \"%s\\t%s\\t%s", r->name, e->where, e->as ? e->as : text_copy(signature, strcspn(signature, "(")));
        for (int k = 0; k < e->signatures; k++)
            printf("\\t%s", e->signature[k]);
        printf("\",\n");
    }
}

void write_calls(void)
{
    python_complete();
    puts("/* Every function of tenon/ops.h by its name. Generated from src/ops: change that. */");
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < n_rows; i++) {
            const row *r = &rows[i];
            if (is_private(r) || r->kind == PYTHON_ROW)
                continue;
            (pass ? print_entry : print_function)(r, false);
            if (has_inplace(r))
                (pass ? print_entry : print_function)(r, true);
        }
        puts(pass ? "    {NULL, NULL, NULL},\n};\n" : "static const function functions[] = {");
    }
    puts("static const char *const python_names[] = {");
    for (int i = 0; i < n_rows; i++)
        print_python_names(&rows[i]);
    puts("    NULL,\n};");
}
