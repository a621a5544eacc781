/* tools/gen_ops/tables.c: what the floors below the functions include: the enum, the parameters' structs, the tables. */
#include "rows.h"
#include <ctype.h>
#include <string.h>

static const char *const kinds[] = {"TN__UNARY",      "TN__BINARY", "TN__TERNARY",
                                    "TN__STRUCTURAL", "TN__VIEW",   "TN__COMPOSITE"};

/* The name in capital letters, by value. */
typedef struct capitals {
    char s[64];
} capitals;

static capitals upper(const char *word, size_t n)
{
    capitals c = {""};
    for (size_t i = 0; i < n && i + 1 < sizeof c.s; i++)
        c.s[i] = (char)toupper((unsigned char)word[i]);
    return c;
}

/* ---- op/list.h ---- */

static const char *field_type(char type)
{
    return type == 'D' || type == 'E' ? "tn__dims " : c_type(type);
}

/* A struct's fields so far, of all the rows that share it. */
typedef struct fields {
    const char *name;
    param field[2 * MAX_PARAMS];
    int n;
} fields;

static void add_field(fields *f, const row *r, const param *p)
{
    for (int i = 0; i < f->n; i++)
        if (!strcmp(f->field[i].name, p->name)) {
            if (strcmp(field_type(f->field[i].type), field_type(p->type)) != 0)
                fail(r, "rows that share parameters disagree about the type of", p->name);
            return;
        }
    if (f->n == (int)(sizeof f->field / sizeof *f->field))
        fail(r, "too many fields", f->name);
    f->field[f->n++] = *p;
}

static void print_struct(const char *name)
{
    fields f = {.name = name};
    for (int i = 0; i < n_rows; i++) {
        const row *r = &rows[i];
        if (!params_of(r) || strcmp(params_of(r), name) != 0)
            continue;
        for (int k = 0; k < r->total; k++)
            if (!is_input(r->param[k].type) && r->param[k].type != 'X')
                add_field(&f, r, &r->param[k]);
        for (int k = 0; k < r->n_also; k++)
            add_field(&f, r, &r->also[k]);
    }
    printf("\ntypedef struct tn__%s_params {\n", name);
    if (!f.n)
        fail(NULL, "a struct of parameters without one", name);
    for (int i = 0; i < f.n; i++)
        printf("    %s%s;\n", field_type(f.field[i].type), f.field[i].name);
    printf("} tn__%s_params;\n", name);
}

/* Is it the first row that says this? */
static bool first(int at, const char *(*get)(const row *))
{
    const char *mine = get(&rows[at]);
    for (int i = 0; i < at; i++)
        if (get(&rows[i]) && !strcmp(get(&rows[i]), mine))
            return false;
    return true;
}

static const char *infer_of(const row *r)
{
    return r->infer;
}

static const char *kernel_of(const row *r)
{
    return r->kernel;
}

static const char *gpu_kernel_of(const row *r)
{
    return r->cpu_only ? NULL : r->kernel;
}

static const char *derivative_of(const row *r)
{
    return is_elementwise(r) || !is_operation(r) ? NULL : r->grad[0] ? r->grad[0] : "none";
}

static void print_prototypes(const char *(*get)(const row *), const char *format)
{
    printf("\n");
    for (int i = 0; i < n_rows; i++)
        if (get(&rows[i]) && first(i, get))
            printf(format, get(&rows[i]));
}

/* One without parameters of its own is given none. */
static void print_composite(const row *r)
{
    const char *params = params_of(r);
    if (params)
        printf("tn_tensor *tn__fn_%s(const tn_scalar *in, tn__%s_params *p);\n", r->name, params);
    else
        printf("tn_tensor *tn__fn_%s(const tn_scalar *in, void *p);\n", r->name);
}

void write_list(void)
{
    int most_in = 0, most_out = 0;
    puts(
        "/* op/list.h: the list of operations: their numbers, parameters, rules. Generated from src/ops: change that.\n"
        " * Included by op/op.h alone. */\n"
        "#ifndef TENON_OP_LIST_H\n#define TENON_OP_LIST_H\n\ntypedef enum tn__op_id {");
    for (int i = 0; i < n_rows; i++) {
        const row *r = &rows[i];
        if (!is_operation(r))
            continue;
        printf("    TN__OP_%s,\n", r->name);
        most_in = inputs(r) > most_in ? inputs(r) : most_in;
        most_out = results(r) > most_out ? results(r) : most_out;
        for (uint32_t s = r->saves[0] >> 16 & 0x3fff, n = 0; s >> n; n++)
            most_out = (int)n + 1 > most_out ? (int)n + 1 : most_out;
    }
    puts("    TN__OPS, /* all rows of the list; of a node: it is no row */\n    /* rows that programs register: "
         "op/own.h */");
    for (int i = 0; i < OWN_ROWS; i++)
        printf("    TN__OP_own_%d,\n", i);
    printf("    TN__ROWS\n} tn__op_id;\n\n/* Of rows without a list of inputs, and of all rows. */\n"
           "enum { TN__MAX_IN = %d, TN__MAX_OUT = %d };\n",
           most_in, most_out);
    printf("\n/* Rows that have a line 'both'. */\ntypedef enum tn__both_id {\n");
    for (int i = 0; i < n_rows; i++)
        if (rows[i].both[0])
            printf("    TN__BOTH_%s,\n", rows[i].name);
    printf("    TN__BOTHS\n} tn__both_id;\n");
    for (int i = 0; i < n_rows; i++)
        if (params_of(&rows[i]) && first(i, params_of))
            print_struct(params_of(&rows[i]));
    printf("\nstruct tn__call;\nstruct tn__launch;\nstruct tn__backward;\n"
           "TN_MUST_USE tn_status tn__cpu_own(const struct tn__launch *l);\n"
           "TN_MUST_USE tn_status tn__gpu_own(const struct tn__launch *l);\n"
           "tn_status tn__d_own(struct tn__backward *b);");
    print_prototypes(infer_of, "TN_MUST_USE tn_status tn__infer_%s(struct tn__call *c);\n");
    print_prototypes(kernel_of, "TN_MUST_USE tn_status tn__cpu_%s(const struct tn__launch *l);\n");
    print_prototypes(gpu_kernel_of, "TN_MUST_USE tn_status tn__gpu_%s(const struct tn__launch *l);\n");
    print_prototypes(derivative_of, "tn_status tn__d_%s(struct tn__backward *b);\n");
    printf("\n");
    for (int i = 0; i < n_rows; i++)
        if (rows[i].kind == COMP_ROW)
            print_composite(&rows[i]);
    puts("\n#endif");
}

/* ---- op/table.c ---- */

static void print_flags(const row *r)
{
    const int last = r->total - 1;
    printf("        .flags = 0");
    for (const char *p = r->does; p && *p; p += strspn(p, " ")) {
        const size_t n = strcspn(p, " ");
        printf(" | F_%s", upper(p, n).s);
        p += n;
    }
    if (is_elementwise(r))
        printf(" | F_INPLACE");
    if (r->kind == OP_ROW && r->param[last].type == 'N')
        printf(" | F_NUMBER");
    if (r->param[0].type == 'L')
        printf(" | F_LISTED");
    for (int i = 0; r->nograd_results >> i; i++)
        if (r->nograd_results >> i & 1)
            printf(" | F_NOGRAD_RESULT(%d)", i);
    printf(",\n");
}

static const char *input_names(const row *r)
{
    const char *names = "";
    for (int i = 0; i < inputs(r); i++)
        names = text_format("%s%s%s", names, i ? " " : "", input(r, i)->name);
    return names;
}

/* "a", "b" of words divided by blanks. */
static void print_words(const char *words)
{
    for (const char *p = words; *p; p += strspn(p, " ")) {
        const int n = (int)strcspn(p, " ");
        printf("%s\"%.*s\"", p == words ? "" : ", ", n, p);
        p += n;
    }
}

/* 1 + where in the parameters it is; it must fit into a byte, as the compiler says. */
static void print_place(const char *what, const char *params, const char *name)
{
    printf("        .%s_at = 1 + offsetof(tn__%s_params, %s),\n", what, params, name);
}

static void print_operation(const row *r)
{
    const char *params = params_of(r);
    printf("    [TN__OP_%s] = {\n        .name = \"%s\",\n        .label = \"%s\",\n        .kind = %s,\n", r->name,
           r->name, r->label ? r->label : "", kinds[r->kind]);
    if (r->rule)
        printf("        .rule = R_%s,\n", upper(r->rule, strlen(r->rule)).s);
    if (is_elementwise(r))
        printf("        .of_u64 = TN__OP_%s,\n", r->unsigned_row ? r->unsigned_row : r->name);
    if (r->mask)
        printf("        .mask = %d,\n", 1 + *r->mask - 'a');
    print_flags(r);
    printf("        .constants = 0x%x,\n", (unsigned)r->constants);
    if (r->infer)
        printf("        .infer = tn__infer_%s,\n", r->infer);
    if (params)
        printf("        .params = sizeof(tn__%s_params),\n", params);
    for (int i = 0; i < r->total; i++)
        if (r->param[i].type == 'd' || r->param[i].type == 'v')
            print_place(r->param[i].type == 'd' ? "dtype" : "device", params, r->param[i].name);
    if (r->piece)
        print_place("piece", params, r->piece);
    if (r->later)
        print_place("later", params, r->later);
    printf("        .saves = {");
    for (int i = 0; i < inputs(r); i++)
        printf("%s0x%x", i ? ", " : "", (unsigned)r->saves[i]);
    printf("},\n        .words = &(const tn__op_words){.argument = {");
    print_words(r->arguments ? r->arguments : input_names(r));
    printf("},\n                                       .wrapper = {");
    print_words(r->wrapper ? r->wrapper : r->name + is_private(r));
    printf("}},\n    },\n");
}

void write_table(void)
{
    puts("/* op/table.c: what each operation is. Generated from src/ops: change that. */\n"
         "#include \"op/op.h\"\n#include <stddef.h>\n\nextern tn__op "
         "TN__OPS_TO_WRITE(tn__ops_to_write[TN__ROWS]);\n_Alignas(64) tn__op tn__ops_to_write[TN__ROWS] = {");
    for (int i = 0; i < n_rows; i++)
        if (is_operation(&rows[i]))
            print_operation(&rows[i]);
    puts("};");
}

/* ---- X-macros ---- */

/* Is the gradient of operand k what came? */
static bool is_same(const row *r, int k)
{
    return !strcmp(r->both[k], "g");
}

void write_elementwise(void)
{
    static const char *const macros[] = {
        "UNARY",         "BINARY",         "TERNARY",  "LIGHT_UNARY", "LIGHT_BINARY", "LIGHT_TERNARY", "NARROW_UNARY",
        "NARROW_BINARY", "NARROW_TERNARY", "NUMBER_B", "NUMBER_C",    "NUMBER_BC",    "BOTH"};
    const int n = sizeof macros / sizeof *macros;
    puts("/* op/elementwise.def: the elementwise rows: UNARY, BINARY, TERNARY(name, rule, expression, has operand a a "
         "gradient,\n"
         " * b, c, is a register's worth of it one step: floating, neither light nor heavy); of those that do 'light' "
         "LIGHT_UNARY, LIGHT_BINARY, LIGHT_TERNARY(name, expression) again; of "
         "those\n"
         " * that have a line 'narrow' NARROW_UNARY, NARROW_BINARY, NARROW_TERNARY(name, that expression); of each "
         "word\n"
         " * of a line 'numbers' NUMBER_B, NUMBER_C or NUMBER_BC(name, rule, expression); of those that\n"
         " * have a line 'both' BOTH(name, gradient of a, gradient of b, is a's what came, b's). Macros that "
         "are not\n "
         "* defined are nothing; "
         "all are forgotten at the end. Generated from src/ops: change that. */");
    for (int k = 0; k < n; k++)
        printf("#ifndef %s\n#define %s(...)\n#endif\n", macros[k], macros[k]);
    for (int i = 0; i < n_rows; i++) {
        const row *r = &rows[i];
        if (!is_elementwise(r))
            continue;
        const capitals rule = upper(r->rule, strlen(r->rule));
        printf("%s(%s, R_%s, %s", macros[r->kind], r->name, rule.s, r->value);
        for (int k = 0; k <= (int)r->kind; k++)
            printf(", %d", r->grad[k] != NULL);
        printf(", %d)\n", !strncmp(r->rule, "float", 5) && !does(r, "light") && !does(r, "heavy"));
        if (does(r, "light"))
            printf("%s(%s, %s)\n", macros[r->kind + 3], r->name, r->value);
        if (r->narrow)
            printf("%s(%s, %s)\n", macros[r->kind + 6], r->name, r->narrow);
        if (r->both[0])
            printf("BOTH(%s, %s, %s, %d, %d)\n", r->name, r->both[0], r->both[1], is_same(r, 0), is_same(r, 1));
        for (const char *w = r->numbers; w && *w; w += strcspn(w, " "), w += strspn(w, " ")) {
            const int n_letters = (int)strcspn(w, " ");
            printf("NUMBER_%s(%s, R_%s, %s)\n", upper(w, (size_t)n_letters).s, r->name, rule.s, r->value);
        }
    }
    for (int k = 0; k < n; k++)
        printf("#undef %s\n", macros[k]);
}

void write_kernels(void)
{
    puts("/* op/kernels.def: KERNEL(operation, kernel) of structural rows; CPU_KERNEL of those that only the CPU has. "
         "Generated\n"
         " * from src/ops: change that. */");
    for (int i = 0; i < n_rows; i++)
        if (rows[i].kind == OP_ROW)
            printf("%s(%s, %s)\n", rows[i].cpu_only ? "CPU_KERNEL" : "KERNEL", rows[i].name, rows[i].kernel);
    for (int i = 0; i < OWN_ROWS; i++)
        printf("KERNEL(own_%d, own)\n", i);
    puts("#undef KERNEL\n#undef CPU_KERNEL");
}

void write_families(void)
{
    puts("/* op/gpu_families.def: families of kernels of operations. Generated from src/ops: change that. */");
    for (int i = 0; i < n_kernel_lines; i++) {
        const char *line = kernel_lines[i], *colon = strchr(line, ':');
        if (!colon)
            fail(NULL, "'kernels name: kernel ...' was expected", line);
        printf("FAMILY(%.*s, ", (int)(colon - line), line);
        print_words(colon + 1 + strspn(colon + 1, " "));
        printf(")\n");
    }
}

void write_units(void)
{
    puts("/* op/gpu_units.def: units of kernels of operations. Generated from src/ops: change that. */");
    for (int i = 0; i < n_unit_lines; i++)
        puts(unit_lines[i]);
}

void write_names(void)
{
    puts("/* op/names.def: NAME(name) of every row that is not elementwise. Generated from src/ops: change that. */");
    for (int i = 0; i < n_rows; i++)
        if (!is_elementwise(&rows[i]) && rows[i].kind != PYTHON_ROW)
            printf("NAME(%s)\n", rows[i].name);
    puts("#undef NAME");
}

/* ---- op/derivatives.c ---- */

static void print_formula(const row *r, int i)
{
    printf("\nstatic tn_tensor *%s_%d(tn_tensor *g, const tn_scalar *s, tn_tensor *out)\n{\n", r->name, i);
    if (r->kind == UNARY_ROW)
        printf("    tn_tensor *a = s[0].v.t;\n    (void)g, (void)a, (void)out;\n");
    else
        printf(
            "    const tn_scalar a = s[0], b = s[1], c = s[2];\n    (void)g, (void)a, (void)b, (void)c, (void)out;\n");
    printf("    return %s;\n}\n", r->grad[i]);
}

/* Includes a header of the row's family, where it has one. */
static void include_beside(const row *r, const char *header)
{
    char path[1024];
    const char *slash = strrchr(r->file, '/'), *family = slash;
    while (family && family > r->file && family[-1] != '/')
        family--;
    snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash - r->file + 1) : 0, r->file, header);
    FILE *there = fopen(path, "r");
    if (!there)
        return;
    fclose(there);
    printf("#include \"ops/%.*s%s\"\n", slash ? (int)(slash - family + 1) : 0, family, header);
}

void write_derivatives(void)
{
    puts("/* op/derivatives.c: gradients of elementwise rows as functions; every row's derivative. Generated from "
         "src/ops: change\n"
         " * that. */\n#include \"autograd/functions.h\"");
    for (int i = 0; i < n_rows; i++)
        if (is_elementwise(&rows[i]) && (i == 0 || rows[i].file != rows[i - 1].file))
            include_beside(&rows[i], "derive.h");
    for (int i = 0; i < n_rows; i++)
        for (int k = 0; is_elementwise(&rows[i]) && k < MAX_GRADS; k++)
            if (rows[i].grad[k])
                print_formula(&rows[i], k);
    puts("\nconst tn__formula tn__formulas[TN__OPS][3] = {");
    for (int i = 0; i < n_rows; i++) {
        if (!is_elementwise(&rows[i]))
            continue;
        printf("    [TN__OP_%s] = {", rows[i].name);
        for (int k = 0; k <= (int)rows[i].kind; k++)
            rows[i].grad[k] ? printf("%s%s_%d", k ? ", " : "", rows[i].name, k) : printf("%sNULL", k ? ", " : "");
        printf("},\n");
    }
    puts("};\n\nconst tn__both tn__boths[TN__OPS] = {");
    for (int i = 0; i < n_rows; i++)
        if (rows[i].both[0])
            printf("    [TN__OP_%s] = {1 + TN__BOTH_%s, {%d, %d}},\n", rows[i].name, rows[i].name, is_same(&rows[i], 0),
                   is_same(&rows[i], 1));
    puts("};\n\nconst tn__derivative tn__derivatives[TN__ROWS] = {");
    for (int i = 0; i < n_rows; i++)
        if (is_elementwise(&rows[i]))
            printf("    [TN__OP_%s] = tn__derive_elementwise,\n", rows[i].name);
        else if (is_operation(&rows[i]))
            printf("    [TN__OP_%s] = tn__d_%s,\n", rows[i].name, derivative_of(&rows[i]));
    for (int i = 0; i < OWN_ROWS; i++)
        printf("    [TN__OP_own_%d] = tn__d_own,\n", i);
    puts("};\n");
    for (int i = 0; i < n_rows; i++)
        if (rows[i].kind == COMP_ROW)
            printf(
                "static tn_tensor *composite_%s(const tn_scalar *in, void *p)\n{\n    return tn__fn_%s(in, p);\n}\n\n",
                rows[i].name, rows[i].name);
    puts("const tn__composite tn__composites[TN__OPS] = {");
    for (int i = 0; i < n_rows; i++)
        if (rows[i].kind == COMP_ROW)
            printf("    [TN__OP_%s] = composite_%s,\n", rows[i].name, rows[i].name);
    puts("};");
}
