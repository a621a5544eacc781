/* tools/gen_ops/c_api.c: the C API of the operations: tenon/ops.h, op/ops_private.h, and the functions. */
#include "rows.h"
#include <string.h>

/* Parameters after an optional first one. plain: operands of binary rows are tensors. */
static void print_params(const row *r, const char *first, bool plain, bool inplace)
{
    const char *sep = "";
    printf("(");
    if (first) {
        printf("%s", first);
        sep = ", ";
    }
    for (int i = 0; i < r->positional; i++) {
        const char *type = r->param[i].type == 'D' && !plain ? "const tn_dims *" : c_type(r->param[i].type);
        if ((plain && r->kind == BINARY_ROW) || (inplace && i == 0))
            type = "tn_tensor *";
        printf("%s%s%s", sep, type, r->param[i].name);
        sep = ", ";
    }
    if (counts(r))
        printf("%stn_tensor **out, size_t cap", sep);
}

/* The same as arguments. Tensors of binary rows become operands. */
static void print_names(const row *r, const char *first, bool inplace)
{
    const char *sep = "";
    printf("(");
    if (first) {
        printf("%s", first);
        sep = ", ";
    }
    for (int i = 0; i < r->positional; i++) {
        const bool wrap = r->kind == BINARY_ROW && !(inplace && i == 0);
        printf(wrap ? "%stn_scalar_t(%s)" : r->param[i].type == 'D' ? "%s&%s" : "%s%s", sep, r->param[i].name);
        sep = ", ";
    }
    if (counts(r))
        printf("%sout, cap", sep);
}

/* ---- headers ---- */

static bool is_number(char type)
{
    return type == 'N' || type == 'S';
}

/* How an option is written: the error of a call that writes it otherwise. */
static void print_example(const row *r)
{
    if (r->shared_options) {
        printf(".dtype = TN_F64");
        return;
    }
    const param *p = &r->param[r->positional];
    for (int i = r->positional; i < r->total; i++) /* rather one that everybody can read */
        if (strchr("ifb", r->param[i].type) && !strchr("ifbDE", p->type))
            p = &r->param[i];
    const char *value = "x";
    switch (p->type) {
    case 'D': value = is_dim(p) ? "1" : "TN_SHAPE(2, 3)"; break;
    case 'E': value = "1"; break;
    case 'S': value = "TN_SCALAR(2)"; break;
    case 'i': value = "1"; break;
    case 'f': value = "0.5"; break;
    case 'b': value = "true"; break;
    case 'd': value = "TN_F64"; break;
    case 'm': value = "TN_CHANNELS_LAST"; break;
    case 'v': value = "TN_CPU"; break;
    case 'X': value = "&x"; break;
    default: break;
    }
    printf(".%s = %s", p->name, value);
}

/* A list of dimensions goes by its address. */
static void print_argument(const param *p, bool as_operand)
{
    printf(as_operand ? "TN_SCALAR(%s_)" : p->type == 'D' ? "TN__DIMS(%s_)" : "(%s_)", p->name);
}

/* What must hold of the texts of arguments: base.h, TN__OPTIONS. */
static void print_conditions(const row *r)
{
    for (int i = 0; i < r->positional; i++)
        if (strchr("DJifbdmv", r->param[i].type) || !strcmp(r->name, "arange"))
            printf("TN__BARE(#%s_) && ", r->param[i].name);
    for (int i = r->positional; i < r->total; i++)
        if (strchr("DS", r->param[i].type))
            printf("!TN__PLAIN(\".%s%s\", __VA_ARGS__) && ", r->param[i].name, is_dim(&r->param[i]) ? "s" : "");
    int options = r->shared_options ? 5 : r->total - r->positional;
    for (int i = r->positional; i < r->total; i++)
        options += r->param[i].type == 'D' && is_dim(&r->param[i]);
    printf("TN__NAMED%d(__VA_ARGS__)", options <= 3 ? 4 : options <= 5 ? 6 : 13);
}

static void print_call(const row *r)
{
    const char *sep = "";
    printf("tn_%s(", r->name);
    for (int i = 0; i < r->total; i++) {
        const param *p = &r->param[i];
        printf("%s%s%s", sep, i < r->positional ? "" : ".", p->name);
        printf(i >= r->positional && is_dim(p) && p->type == 'D' ? ", .dims" : "");
        sep = ", ";
    }
    printf(r->shared_options ? ", .dtype, .device, .requires_grad, .pin_memory, .memory_format)" : ")");
}

/* tn_arange(6), tn_arange(1, 6), tn_arange(1, 6, 2), which is how options follow: one name, told apart by the count. */
static void print_arange(void)
{
    puts("#define tn_arange(...) \\\n"
         "    TN__NINTH(__VA_ARGS__, TN__ARANGE3, TN__ARANGE3, TN__ARANGE3, TN__ARANGE3, TN__ARANGE3, TN__ARANGE3, \\\n"
         "              TN__ARANGE2, TN__ARANGE1, )(__VA_ARGS__, )\n"
         "#define TN__NINTH(a, b, c, d, e, f, g, h, i, ...) i\n"
         "#define TN__ARANGE1(end_, ...) TN__X_arange(0, end_, 1, )\n"
         "#define TN__ARANGE2(start_, end_, ...) TN__X_arange(start_, end_, 1, )\n"
         "#define TN__ARANGE3(...) TN__X_arange(__VA_ARGS__)");
}

static void print_options_macro(const row *r)
{
    char type[64];
    options_type(r, type, sizeof type);
    if (!strcmp(r->name, "arange"))
        print_arange();
    else
        printf("#define tn_%s(...) TN__X_%s(__VA_ARGS__, )\n", r->name, r->name);
    printf("#define TN__X_%s(", r->name);
    for (int i = 0; i < r->positional; i++)
        printf("%s_, ", r->param[i].name);
    printf("...) \\\n    TN__OPTIONS(");
    print_conditions(r);
    printf(", tn_%s_opt, \\\n                \"", r->name);
    print_call(r);
    printf("\", \"");
    print_example(r);
    printf("\") \\\n    (");
    for (int i = 0; i < r->positional; i++) {
        print_argument(&r->param[i], is_number(r->param[i].type));
        printf(", ");
    }
    printf("&(%s){TN__SITE(%s), ", type, type);
    for (int i = r->positional; i < r->total; i++)
        printf(is_dim(&r->param[i]) ? ".dim_given = TN__SAYS(\".dim\", __VA_ARGS__), " : "");
    printf("__VA_ARGS__})\n");
}

static void print_macro(const row *r, bool inplace)
{
    const char *name = r->name, *tail = inplace ? "_" : "";
    if (has_options(r) && !inplace) {
        print_options_macro(r);
        return;
    }
    printf("#define tn_%s%s(", name, tail);
    for (int i = 0; i < r->positional; i++)
        printf("%s%s_", i ? ", " : "", r->param[i].name);
    printf(counts(r) ? ", out_, cap_) tn_%s%s_at(TN_HERE" : ") tn_%s%s_at(TN_HERE", name, tail);
    for (int i = 0; i < r->positional; i++) {
        printf(", ");
        print_argument(&r->param[i], is_number(r->param[i].type) && !(inplace && i == 0));
    }
    printf(counts(r) ? ", (out_), (cap_))\n" : ")\n");
}

static void print_options_struct(const row *r)
{
    if (r->shared_options || !has_options(r))
        return;
    printf("typedef struct tn_%s_options {\n    size_t struct_size;\n    const char *site;\n", r->name);
    for (int i = r->positional; i < r->total; i++) {
        const param *p = &r->param[i];
        if (is_dim(p) && p->type == 'D')
            printf("    tn_dims dims; /* or one: */\n");
        printf("    %s%s;\n", c_type(is_dim(p) ? 'E' : p->type), p->name);
        printf(is_dim(p) ? "    bool dim_given;\n" : "");
    }
    printf("} tn_%s_options;\n", r->name);
}

static void print_prototypes(const row *r, const char *api)
{
    char type[64];
    const bool only = does(r, "only_inplace");
    printf("\n/* %s */\n", r->doc);
    print_options_struct(r);
    if (has_options(r)) {
        options_type(r, type, sizeof type);
        printf("%s%stn_%s_opt", api, result_type(r), r->name);
        print_params(r, NULL, false, false);
        printf(r->positional ? ", const %s *options);\n" : "const %s *options);\n", type);
    } else {
        printf("%s%stn_%s_at", api, result_type(r), r->name);
        print_params(r, "const char *site", false, only);
        printf(");\n");
    }
    printf("%s%stn_%s", api, result_type(r), r->name);
    print_params(r, NULL, true, only);
    printf(");\n");
    if (!has_inplace(r))
        return;
    printf("%stn_tensor *tn_%s__at", api, r->name);
    print_params(r, "const char *site", false, true);
    printf(");\n%stn_tensor *tn_%s_", api, r->name);
    print_params(r, NULL, true, true);
    printf(");\n");
}

static void print_macros(const row *r)
{
    print_macro(r, false);
    if (has_inplace(r))
        print_macro(r, true);
}

static bool is_public(const row *r)
{
    return !is_private(r) && r->kind != PYTHON_ROW;
}

void write_header(void)
{
    puts("/* tenon/ops.h: the operations. Generated from src/ops: change that.\n"
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
         " *\n"
         " * A dimension that a function works along is an argument: tn_cat(ts, 0), tn_softmax(x, -1), tn_topk(x, 3, "
         "-1). It is "
         "an option,\n"
         " * .dim = 1, where leaving it out means what no number says: all of them (tn_sum, tn_argmax, tn_norm, "
         "tn_squeeze), the\n"
         " * tensor as one row (tn_roll, tn_take_along_dim, tn_unique), the first that fits (tn_cross). Where several "
         "may be meant,\n"
         " * .dims = TN_DIMS(0, 1) says them. The macros set dim_given where .dim is written; who fills an options "
         "struct sets it.\n"
         " * tn_x_at and tn_x_opt take shapes and lists of dimensions by their address, and keep none of them.\n"
         " */\n"
         "#ifndef TENON_OPS_H\n#define TENON_OPS_H\n\n#include <tenon/base.h>\n\n"
         "#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    for (int i = 0; i < n_rows; i++)
        if (is_public(&rows[i]))
            print_prototypes(&rows[i], "TN_API ");
    puts("\n#ifdef __cplusplus\n}\n#else\n");
    for (int i = 0; i < n_rows; i++)
        if (is_public(&rows[i]))
            print_macros(&rows[i]);
    puts("\n#endif\n#endif");
}

void write_private(void)
{
    puts("/* op/ops_private.h: rows that only the library calls. Generated from src/ops: change that. */\n"
         "#ifndef TENON_OPS_PRIVATE_H\n#define TENON_OPS_PRIVATE_H\n\n#include <tenon/ops.h>\n");
    for (int i = 0; i < n_rows; i++) {
        const row *r = &rows[i];
        char type[64];
        if (is_private(r) && r->kind != PYTHON_ROW) {
            print_prototypes(r, "");
            print_macros(r);
        } else if (r->kind == FUNC_ROW) {
            printf("%stn__fn_%s", result_type(r), r->name);
            print_params(r, NULL, false, false);
            if (has_options(r)) {
                options_type(r, type, sizeof type);
                printf(", const %s *o", type);
            }
            printf(");\n");
        }
    }
    puts("\n#endif");
}

/* ---- functions ---- */

/* Arguments into the row's struct; options are read as o->name. */
static void print_fields(const row *r, const char *site)
{
    if (!params_of(r))
        return;
    printf("    tn__%s_params params = {0};\n", params_of(r));
    for (int i = 0; i < r->total; i++) {
        const param *p = &r->param[i];
        const bool option = i >= r->positional;
        const char *from = option ? "o->" : "";
        if (is_input(p->type) || p->type == 'X')
            continue;
        if (option && is_dim(p))
            printf("    if (!tn__dims_said(%s, &params.dim, %s, o->dim, o->dim_given))\n        return NULL;\n", site,
                   p->type == 'D' ? "&o->dims" : "NULL");
        else if (p->type == 'D')
            printf("    if (!tn__dims_take(%s, &params.%s, %s%s))\n        return NULL;\n", site, p->name,
                   option ? "&o->" : "", p->name);
        else
            printf("    params.%s = %s%s;\n", p->name, from, p->name);
        if (p->type == 'd')
            printf("    if (!tn__dtype_usable(%s, \"%s\", params.%s))\n        return NULL;\n", site, r->name, p->name);
    }
}

/* The operands, and which of them must be tensors. Returns the number. */
static int print_operands(const row *r, bool inplace, unsigned *required)
{
    int n = 0;
    *required = 0;
    printf("    const tn_scalar in[] = {");
    for (int i = 0; i < r->total; i++) {
        const param *p = &r->param[i];
        if (!is_input(p->type))
            continue;
        if (p->type == 'T')
            *required |= 1U << n;
        if (i >= r->positional)
            printf("%stn__optional(o->%s)", n ? ", " : "", p->name);
        else if (p->type == 'N' && !(inplace && n == 0))
            printf("%s%s", n ? ", " : "", p->name);
        else
            printf("%stn_scalar_t(%s)", n ? ", " : "", p->name);
        n++;
    }
    printf("};\n");
    return n;
}

static void print_row_body(const row *r, bool inplace, const char *site)
{
    unsigned required;
    const char *params = params_of(r) ? "&params" : "NULL", *more = "NULL";
    print_fields(r, site);
    if (r->param[0].type == 'L') {
        printf("    return tn__apply_list(%s, TN__OP_%s, %s, %s);\n", site, r->name, r->param[0].name, params);
        return;
    }
    const int n = print_operands(r, inplace, &required);
    if (inplace) {
        printf("    return tn__apply_inplace(%s, TN__OP_%s, in, %d, %uU, %s);\n", site, r->name, n, required, params);
        return;
    }
    if (results(r) > 1) {
        const char *sep = "";
        printf("    tn_tensor **const more[] = {");
        for (int i = 0; i < r->total; i++)
            if (r->param[i].type == 'X') {
                printf("%s%s%s", sep, i < r->positional ? "" : "o->", r->param[i].name);
                sep = ", ";
            }
        printf("};\n");
        more = "more";
    }
    printf("    return tn__apply(%s, TN__OP_%s, in, %d, %uU, %s, %s);\n", site, r->name, n, required, params, more);
}

static void print_func_body(const row *r, const char *site)
{
    char call[512];
    size_t n = (size_t)snprintf(call, sizeof call, "tn__fn_%s(", r->name);
    for (int i = 0; i < r->positional; i++)
        n += (size_t)snprintf(call + n, sizeof call - n, "%s%s", i ? ", " : "", r->param[i].name);
    if (counts(r))
        n += (size_t)snprintf(call + n, sizeof call - n, ", out, cap");
    snprintf(call + n, sizeof call - n, has_options(r) ? ", o)" : ")");
    printf("    tn__thread *t = tn__enter(%s);\n", site);
    if (counts(r)) {
        printf("    (void)t;\n    return %s;\n", call);
        return;
    }
    printf("    tn_scope scope;\n    tn__scope_push(t, &scope);\n");
    if (writes_first(r)) /* the caller's own tensor, as rows that write in place give it back */
        printf("    bool done = %s != NULL;\n    tn__scope_pop(t, &scope, NULL);\n    return done ? %s : NULL;\n", call,
               r->param[0].name);
    else if (!strcmp(r->returns, "flag"))
        printf("    bool r = %s;\n    tn__scope_pop(t, &scope, NULL);\n    return r;\n", call);
    else
        printf("    return tn__scope_return(t, &scope, %s);\n", call);
}

/* Functions by hand find one dimension as a list of one. */
static void print_options_in(const row *r, const char *type)
{
    bool lists = false, one = false;
    for (int i = r->positional; i < r->total; i++)
        one = one || is_dim(&r->param[i]);
    for (int i = r->positional; i < r->total; i++)
        lists = lists || (is_dim(&r->param[i]) && r->param[i].type == 'D');
    if (r->kind != FUNC_ROW || !lists) {
        printf("    const %s *o = tn__options(&space, sizeof space, options);\n", type);
        if (r->kind == FUNC_ROW && one)
            puts("    if (!tn__dim_meant(o->site, o->dim, o->dim_given))\n        return NULL;");
        return;
    }
    printf("    const %s *o = &space;\n    tn__options_in(&space, sizeof space, options);\n"
           "    if (!tn__one_dim(space.site, &space.dims, space.dim, space.dim_given))\n        return NULL;\n",
           type);
}

static void print_function(const row *r, bool inplace)
{
    char type[64];
    const bool writes = inplace || does(r, "only_inplace");
    const char *tail = inplace ? "_" : "", *site = "site";
    if (has_options(r) && !inplace) {
        options_type(r, type, sizeof type);
        printf("\n%s(tn_%s_opt)", result_type(r), r->name);
        print_params(r, NULL, false, false);
        printf("%sconst %s *options)\n{\n    %s space;\n", r->positional ? ", " : "", type, type);
        print_options_in(r, type);
        site = "o->site";
    } else {
        printf("\n%s(tn_%s%s_at)", result_type(r), r->name, tail);
        print_params(r, "const char *site", false, writes);
        printf(")\n{\n");
        if (has_options(r)) /* in place: options as if none were given */
            printf("    tn_%s_options space;\n    const tn_%s_options *o = tn__options(&space, sizeof space, NULL);\n",
                   r->name, r->name);
    }
    if (r->kind == FUNC_ROW)
        print_func_body(r, site);
    else
        print_row_body(r, writes, site);
    printf("}\n\n%s(tn_%s%s)", result_type(r), r->name, tail);
    print_params(r, NULL, true, writes);
    if (has_options(r) && !inplace) {
        printf(")\n{\n    return (tn_%s_opt)", r->name);
        print_names(r, NULL, false);
        printf("%sNULL);\n}\n", r->positional ? ", " : "");
        return;
    }
    printf(")\n{\n    return (tn_%s%s_at)", r->name, tail);
    print_names(r, "TN__NOWHERE", writes);
    printf(");\n}\n");
}

void write_source(void)
{
    puts("/* The functions of tenon/ops.h and op/ops_private.h. Generated from src/ops: change that. */\n"
         "#include \"dispatch/apply.h\"\n#include \"op/ops_private.h\"");
    for (int i = 0; i < n_rows; i++) {
        if (rows[i].kind == PYTHON_ROW)
            continue;
        print_function(&rows[i], false);
        if (has_inplace(&rows[i]))
            print_function(&rows[i], true);
    }
}

void write_document(void)
{
    puts("# Operations\n\nGenerated from src/ops.\n\n| C | what it gives |\n|---|---|");
    for (int i = 0; i < n_rows; i++) {
        const row *r = &rows[i];
        if (!is_public(r))
            continue;
        printf("| `tn_%s(", r->name);
        for (int k = 0; k < r->positional; k++)
            printf("%s%s", k ? ", " : "", r->param[k].name);
        if (counts(r))
            printf(", out, cap");
        for (int k = r->positional; k < r->total; k++)
            printf(r->param[k].type == 'D' && is_dim(&r->param[k]) ? ", .%s, .dims" : ", .%s", r->param[k].name);
        if (r->shared_options)
            printf(", .dtype, .device, .requires_grad");
        printf(")`%s | %s |\n", has_inplace(r) ? ", in place with `_`" : "", r->doc);
    }
}
