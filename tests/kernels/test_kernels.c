/* Every elementwise row of ops.def x every dtype, compiled as OpenCL C: the expressions must be what every device compiler
 * takes. One unit per storage dtype and compute type holds all rows that compute so. */
#include "op/op.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct row {
    const char *name, *expression;
    int inputs, rule;
} row;

static const row rows[] = {
#define UNARY(name, rule, expr, ...)   {#name, #expr, 1, rule},
#define BINARY(name, rule, expr, ...)  {#name, #expr, 2, rule},
#define TERNARY(name, rule, expr, ...) {#name, #expr, 3, rule},
#define OP(...)
#define VIEW(...)
#define COMP(...)
#define FUNC(...)
#include "op/ops.def"
#include "op/ops_undef.h"
};

/* What a row computes in for operands of one dtype; 0 where it has no such dtype. */
static tn_dtype compute_dtype(const row *r, tn_dtype d)
{
    bool refuses_bool = r->rule == R_NUMBER || r->rule == R_NEG || r->rule == R_RELU || r->rule == R_SUB ||
                        r->rule == R_DIVIDE || r->rule == R_POW || r->rule == R_CLAMP;
    if (d == TN_BOOL && refuses_bool)
        return 0;
    if (r->rule == R_FLOAT && !tn__dtype_is_float(d))
        return TN_F32;
    if (r->rule == R_LONG && d == TN_BOOL)
        return TN_I64;
    return tn__dtypes[d].compute;
}

static bool append_file(FILE *to, const char *path)
{
    FILE *f = fopen(path, "r");
    int c;
    if (!f)
        return false;
    while ((c = fgetc(f)) != EOF)
        fputc(c, to);
    fclose(f);
    return true;
}

static void put_kernel(FILE *f, const row *r, bool test)
{
    static const char *const names = "abc";
    fprintf(f, "KERNEL(row_%s)(", r->name);
    for (int i = 0; i < r->inputs; i++)
        fprintf(f, "GLOBAL const ST *p%c, ", names[i]);
    fprintf(f, "GLOBAL %s *po, i64 n)\n{\n    for (i64 i = GLOBAL_ID(0); i < n; i += GLOBAL_SIZE(0)) {\n",
            test ? "u8" : "ST");
    for (int i = 0; i < r->inputs; i++)
        fprintf(f, "        const T %c = LD(p%c[i]);\n", names[i], names[i]);
    fprintf(f, test ? "        po[i] = (u8)(%s);\n    }\n}\n" : "        po[i] = SV(%s);\n    }\n}\n", r->expression);
}

static int run(char *const argv[])
{
    pid_t pid = fork();
    int status = -1;
    if (pid == 0) {
        execvp(argv[0], argv);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Writes and compiles the unit of one storage dtype and compute type. Returns how many kernels it had; -1 on failure. */
static int compile(tn_dtype d, tn_dtype compute, const char *folder)
{
    static const char *const types[] = {[TN_F32] = "f32", [TN_F64] = "f64", [TN_I32] = "i32", [TN_I64] = "i64"};
    static const char *const tokens[] = {"", "b8", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"};
    char path[256];
    int n = 0;
    snprintf(path, sizeof path, "%s/%s_%s.cl", folder, tn__dtypes[d].name, types[compute]);
    FILE *f = fopen(path, "w");
    if (!f)
        return -1;
    fprintf(f, "#define TN_DT_%s 1\n#define TN_DT %s\n#define TN_CT_%s 1\n", tn__dtypes[d].name, tokens[d],
            types[compute]);
    bool ok = append_file(f, TENON_SOURCE "/src/backend/gpu/kernels/prelude.h") &&
              append_file(f, TENON_SOURCE "/src/op/element.h");
    for (size_t i = 0; i < TN_COUNT(rows); i++)
        if (compute_dtype(&rows[i], d) == compute) {
            put_kernel(f, &rows[i], rows[i].rule == R_TEST);
            n++;
        }
    fclose(f);
    char *argv[] = {"clang",         "-x",    "cl",      "-cl-std=CL1.2",        "-Xclang", "-finclude-default-header",
                    "-fsyntax-only", "-Wall", "-Werror", "-Wno-unused-function", path,      NULL};
    if (!ok || run(argv) != 0) {
        printf("  %s does not compile\n", path);
        return -1;
    }
    unlink(path);
    return n;
}

int main(void)
{
    char folder[] = "/tmp/tenon-kernels-XXXXXX";
    int kernels = 0, units = 0, failed = 0;
    char *probe[] = {"sh", "-c", "command -v clang > /dev/null", NULL};
    if (run(probe) != 0) {
        printf("skipped: no clang\n");
        return 77;
    }
    if (!mkdtemp(folder))
        return 1;
    for (tn_dtype d = TN_BOOL; d <= TN_F64; d++)
        for (tn_dtype c = TN_I32; c <= TN_F64; c++) {
            bool any = false;
            for (size_t i = 0; i < TN_COUNT(rows); i++)
                any |= compute_dtype(&rows[i], d) == c;
            int n = any ? compile(d, c, folder) : 0;
            units += any;
            failed += n < 0;
            kernels += n > 0 ? n : 0;
        }
    if (!failed)
        rmdir(folder);
    printf("count: %d kernels (%zu rows x dtypes) in %d units compile as OpenCL C 1.2, %d units fail\n", kernels,
           TN_COUNT(rows), units, failed);
    return failed ? 1 : 0;
}
