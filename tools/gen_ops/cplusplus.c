/* tools/gen_ops/cplusplus.c: tenon/ops.hpp: the operations for tenon/tenon.hpp, in three sections: options and what is
 * declared in class tensor, functions, and methods. */
#include "rows.h"
#include <string.h>

/* What C++ leaves out: Python's internal forms, and operations that C++'s own classes offer otherwise. */
static bool has_function(const row *r)
{
    static const char *const without[] = {"scatter_reduced", "scatter_reduced_", "tensor_split_by"};
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        if (!strcmp(r->name, without[i]))
            return false;
    return !is_private(r) && r->kind != PYTHON_ROW;
}

static bool has_own_options(const row *r)
{
    return has_options(r) && !r->shared_options;
}

static bool has_method(const row *r)
{
    const char type = r->positional ? r->param[0].type : 0;
    return has_function(r) && (type == 'T' || type == 'N') && strcmp(r->returns, "count") != 0;
}

static const char *cpp_type(char type)
{
    switch (type) {
    case 'T':
    case 'Q': return "const tensor &";
    case 'N':
    case 'S': return "const operand &";
    case 'L': return "const tensors &";
    case 'D': return "const dims &";
    case 'J': return "const ints &";
    case 'E':
    case 'i': return "std::int64_t ";
    case 'f': return "double ";
    case 'b': return "bool ";
    case 'd': return "dtype ";
    case 'm': return "memory_format ";
    case 'v': return "device ";
    case 's': return "const std::string &";
    default: return "tensor &";
    }
}

static const char *cpp_result(const row *r)
{
    if (writes_first(r) || does(r, "only_inplace"))
        return "const tensor &";
    return !strcmp(r->returns, "T") ? "tensor " : !strcmp(r->returns, "flag") ? "bool " : "std::vector<tensor> ";
}

/* In C++ the class hides a parameter of its name. */
static const char *name_of(const param *p)
{
    return strcmp(p->name, "tensor") ? p->name : "other";
}

/* A parameter as the C function takes it. */
static void print_c(const param *p)
{
    switch (p->type) {
    case 'Q': printf("%s.or_none()", name_of(p)); break;
    case 'T':
    case 'N':
    case 'S':
    case 'L':
    case 'J':
    case 'D': printf("%s.c()", name_of(p)); break;
    case 'd': printf("static_cast<tn_dtype>(%s)", name_of(p)); break;
    case 'm': printf("static_cast<tn_memory_format>(%s)", name_of(p)); break;
    case 's': printf("%s.c_str()", name_of(p)); break;
    default: printf("%s", name_of(p));
    }
}

/* ---- options: sum_options().dim(0).keepdim() ---- */

static void print_option(const row *r, const param *p)
{
    printf("    %s_options &%s(%s%s%s)\n    {\n", r->name, p->name, cpp_type(p->type), p->name,
           p->type == 'b' ? " = true" : "");
    if (p->type == 'X')
        printf("        %s_ = &%s;\n", p->name, p->name);
    else if (strchr("QTDS", p->type)) /* kept here for as long as the call lasts */
        printf("        %s_ = %s;\n", p->name, p->name);
    else {
        printf("        o.%s = ", p->name);
        print_c(p);
        printf(p->type == 'E' ? ";\n        o.dim_given = true;\n" : ";\n");
    }
    printf("        return *this;\n    }\n");
}

static void print_kept(const param *p)
{
    static const char *const kept[] = {"XQTDS", "tensor *", "tensor ", "tensor ", "dims ", "operand "};
    const char *at = strchr(kept[0], p->type);
    if (!at)
        return;
    printf("    %s%s_%s;\n", kept[1 + (at - kept[0])], p->name, p->type == 'X' ? " = nullptr" : "");
    if (p->type == 'X')
        printf("    mutable tn_tensor *raw_%s = nullptr;\n", p->name);
}

static void print_options_class(const row *r)
{
    char type[64];
    options_type(r, type, sizeof type);
    printf("\nclass %s_options {\npublic:\n", r->name);
    for (int i = r->positional; i < r->total; i++)
        print_option(r, &r->param[i]);
    printf("    %s c() const\n    {\n        %s all = o;\n        all.struct_size = sizeof all;\n", type, type);
    for (int i = r->positional; i < r->total; i++) {
        const param *p = &r->param[i];
        if (p->type == 'X')
            printf("        all.%s = %s_ ? &raw_%s : nullptr;\n", p->name, p->name, p->name);
        else if (p->type == 'Q' || p->type == 'T')
            printf("        all.%s = %s_.c();\n", p->name, p->name);
        else if (p->type == 'D')
            printf("        all.%s = *%s_.c();\n", is_dim(p) ? "dims" : p->name, p->name);
        else if (p->type == 'S')
            printf("        all.%s = %s_.c();\n", p->name, p->name);
    }
    printf("        return all;\n    }\n    void take() const\n    {\n");
    for (int i = r->positional; i < r->total; i++)
        if (r->param[i].type == 'X')
            printf("        if (%s_ && raw_%s)\n            *%s_ = tensor::adopt(tn_keep(std::exchange(raw_%s, "
                   "nullptr)));\n",
                   r->param[i].name, r->param[i].name, r->param[i].name, r->param[i].name);
    printf("    }\n\nprivate:\n    %s o{};\n", type);
    for (int i = r->positional; i < r->total; i++)
        print_kept(&r->param[i]);
    printf("};\n");
}

/* ---- functions and methods ---- */

/* from: the first parameter that is written. inside: in a declaration, with values of what may be left out. */
static void print_params(const row *r, int from, bool options, bool inside)
{
    printf("(");
    for (int i = from; i < r->positional; i++)
        printf("%s%s, ", cpp_type(r->param[i].type), name_of(&r->param[i]));
    if (options)
        printf("const %s &options%s, ", r->shared_options ? "tensor_options" : text_format("%s_options", r->name),
               inside && from == 0 ? " = {}" : "");
    printf("site at%s)", inside ? " = site::here()" : "");
}

static void print_call(const row *r)
{
    const char *sep = "";
    printf("tn_%s%s(", r->name, has_options(r) ? "_opt" : "_at");
    if (!has_options(r)) {
        printf("TENON_NO_SITE");
        sep = ", ";
    }
    for (int i = 0; i < r->positional; i++) {
        printf("%s", sep);
        print_c(&r->param[i]);
        sep = ", ";
    }
    if (!strcmp(r->returns, "count"))
        printf("%sout, cap", sep);
    if (has_options(r))
        printf("%s&all", sep);
    printf(")");
}

static void print_function(const row *r)
{
    const bool writes = writes_first(r) || does(r, "only_inplace");
    printf("\n// %s\ninline %s%s", r->doc, cpp_result(r), r->name);
    print_params(r, 0, has_options(r), true);
    printf("\n{\n");
    if (has_options(r))
        printf("    const auto all = options.c();\n");
    if (!strcmp(r->returns, "count")) {
        printf("    return detail::list([&](tn_tensor **out, std::size_t cap) { return ");
        print_call(r);
        printf("; }, at);\n}\n");
        return;
    }
    printf("    %s",
           strcmp(r->returns, "flag") ? "tn_tensor *result = " : "tn_error_clear();\n    const bool result = ");
    print_call(r);
    printf(";\n");
    if (has_own_options(r))
        printf("    options.take();\n");
    if (!strcmp(r->returns, "flag"))
        printf("    detail::check(tn_error_code(), at);\n    return result;\n}\n");
    else if (writes)
        printf("    detail::check(result, at);\n    return %s;\n}\n", name_of(&r->param[0]));
    else
        printf("    return detail::take(result, at);\n}\n");
}

static void print_inplace(const row *r)
{
    printf("inline const tensor &%s_(const tensor &%s, ", r->name, name_of(&r->param[0]));
    for (int i = 1; i < r->positional; i++)
        printf("%s%s, ", cpp_type(r->param[i].type), name_of(&r->param[i]));
    printf("site at = site::here())\n{\n    detail::check(tn_%s__at(TENON_NO_SITE", r->name);
    for (int i = 0; i < r->positional; i++) {
        printf(", ");
        if (i == 0)
            printf("%s.c()", name_of(&r->param[0]));
        else
            print_c(&r->param[i]);
    }
    printf("), at);\n    return %s;\n}\n", name_of(&r->param[0]));
}

/* Of a method: with options or without (their class is not known yet inside of tensor), or in place. */
typedef enum form { PLAIN, OPTIONS, INPLACE } form;

static bool has_form(const row *r, form f)
{
    return f == PLAIN || (f == OPTIONS ? has_options(r) : has_inplace(r));
}

static void print_head(const row *r, form f, bool inside)
{
    printf("%s%s%s%s", f == INPLACE ? "const tensor &" : cpp_result(r), inside ? "" : "tensor::", r->name,
           f == INPLACE ? "_" : "");
    print_params(r, 1, f == OPTIONS, inside);
    printf(" const");
}

static void print_method(const row *r, form f)
{
    printf("inline ");
    print_head(r, f, false);
    printf("\n{\n    return tenon::%s%s(*this", r->name, f == INPLACE ? "_" : "");
    for (int i = 1; i < r->positional; i++)
        printf(", %s", name_of(&r->param[i]));
    if (has_options(r) && f != INPLACE)
        printf(f == OPTIONS ? ", options" : ", {}");
    printf(", at);\n}\n");
}

void write_cplusplus(void)
{
    puts("// tenon/ops.hpp: the operations, for tenon/tenon.hpp, which alone includes this. Generated from src/ops: "
         "change that.\n"
         "\n#if defined(TENON_OPS_NAMES)");
    for (int i = 0; i < n_rows; i++)
        if (has_function(&rows[i]) && has_own_options(&rows[i]))
            printf("class %s_options;\n", rows[i].name);
    puts("\n#elif defined(TENON_OPS_DECLARATIONS)");
    for (int i = 0; i < n_rows; i++)
        for (form f = PLAIN; has_method(&rows[i]) && f <= INPLACE; f++)
            if (has_form(&rows[i], f)) {
                print_head(&rows[i], f, true);
                puts(";");
            }
    puts("\n#elif defined(TENON_OPS_FUNCTIONS)");
    for (int i = 0; i < n_rows; i++) {
        if (!has_function(&rows[i]))
            continue;
        if (has_own_options(&rows[i]))
            print_options_class(&rows[i]);
        print_function(&rows[i]);
        if (has_inplace(&rows[i]))
            print_inplace(&rows[i]);
        for (form f = PLAIN; has_method(&rows[i]) && f <= INPLACE; f++)
            if (has_form(&rows[i], f))
                print_method(&rows[i], f);
    }
    puts("#endif");
}
