/* tools/gen_ops: reads the rows of the list of operations once and writes, at build time, what the layers include:
 *
 *     gen_ops WHAT src/ops/.../rows.def ... > file
 *
 * rows.h says how rows are written. */
#include "rows.h"
#include <string.h>

static const struct {
    const char *what;
    void (*write)(void);
} outputs[] = {
    {"header", write_header},       /* tenon/ops.h: prototypes, options, macros that note the call site */
    {"cplusplus", write_cplusplus}, /* tenon/ops.hpp: the same for C++ */
    {"private", write_private}, /* op/ops_private.h: the same for rows that begin with '_', and tn__fn_ prototypes */
    {"source", write_source},   /* ops.c: each function marshals its arguments to tn__apply */
    {"list", write_list},       /* op/list.h: the enum, a struct of parameters a row, the rules' prototypes */
    {"table", write_table},     /* op/table.c: what each operation is */
    {"elementwise",
     write_elementwise}, /* op/elementwise.def: UNARY, BINARY, TERNARY(name, rule, expression, differentiable...) */
    {"kernels", write_kernels},         /* op/kernels.def: KERNEL, CPU_KERNEL(operation, kernel) */
    {"families", write_families},       /* op/gpu_families.def: FAMILY(name, kernels...) of operations */
    {"units", write_units},             /* op/gpu_units.def: for which dtypes they are compiled */
    {"derivatives", write_derivatives}, /* op/derivatives.c: formulas of elementwise rows, and every row's derivative */
    {"names", write_names},             /* op/names.def: NAME(name) of rows that are not elementwise, for tests */
    {"document", write_document},       /* operations.md */
    {"python", write_python},           /* python_calls.h: one function of values a row, and the tables of methods */
    {"hand", write_hand},               /* python_hand.h: prototypes of what is written by hand for Python */
    {"stubs", write_stubs},             /* python_signatures.txt: for tools/gen_stubs.py */
    {"entries", write_entries},         /* python_entries.txt: what Python calls each row, for bench/sweep_calls.py */
    {"calls", write_calls},             /* calls.def: every function by its name, for tests/ops/calls.c */
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 2 && i < sizeof outputs / sizeof *outputs; i++)
        if (!strcmp(argv[1], outputs[i].what)) {
            rows_read(argv + 2, argc - 2);
            outputs[i].write();
            return ferror(stdout) || fflush(stdout) ? 1 : 0;
        }
    fprintf(stderr, "usage: gen_ops WHAT ROWS...\nWHAT is one of");
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
        fprintf(stderr, " %s", outputs[i].what);
    fprintf(stderr, "\n");
    return 2;
}
