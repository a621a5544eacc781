/* Is a fault found? Each text has one kernel, 'k', after the dialect's words, and is compiled as the library's are. */
#include "faulty.h"
#include "judge.h"
#include "op/own.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/library.h>

typedef struct one {
    const char *what, *why; /* why: what the verdict says; NULL: nothing is wrong */
    bool needs_ptxas;
    wide asked;
    const char *text;
} one;

#define HOLD_96(kernel) \
    kernel "(GLOBAL f32 *out, GLOBAL const f32 *x, i64 n)\n" \
           "{\n" \
           "    f32 v[96], sum = 0;\n" \
           "    UNROLL\n" \
           "    for (int k = 0; k < 96; k++) {\n" \
           "        v[k] = x[k * n + GLOBAL_ID(0)];\n" \
           "        sum += v[k];\n" \
           "    }\n" \
           "    UNROLL\n" \
           "    for (int k = 0; k < 96; k++)\n" \
           "        out[k * n + GLOBAL_ID(0)] = v[k] * sum;\n" \
           "}\n"

#define LOOK_UP \
    "KERNEL_N(k, 128)(GLOBAL i32 *out, GLOBAL const i32 *x)\n" \
    "{\n" \
    "    i32 table[8];\n" \
    "    for (int i = 0; i < 8; i++)\n" \
    "        table[x[i] & 7] = i;\n" \
    "    out[GLOBAL_ID(0)] = table[x[8] & 7];\n" \
    "}\n"

#define ADDRESS_OF(argument) \
    "typedef struct four { i64 v[4]; } four;\n" \
    "KERNEL_N(k, 128)(GLOBAL u64 *out, " argument " f)\n" \
    "{\n" \
    "    out[GLOBAL_ID(0)] = (u64)&f;\n" \
    "}\n"

#define COPY_OF(alignment) \
    "typedef struct ALIGNED(" alignment ") Four { f32 v[4]; } Four;\n" \
    "KERNEL_N(k, 128)(GLOBAL f32 *out, GLOBAL const f32 *x)\n" \
    "{\n" \
    "    ((GLOBAL Four *)out)[GLOBAL_ID(0)] = ((GLOBAL const Four *)x)[GLOBAL_ID(0)];\n" \
    "}\n"

static const one ones[] = {
    {"registers that groups of 1024 do not have", "bytes are spilled", true, {0}, HOLD_96("KERNEL_N(k, 1024)")},
    {"the same of groups of 128", NULL, true, {0}, HOLD_96("KERNEL_N(k, 128)")},
    {"no launch bounds", "no launch bounds", false, {0}, HOLD_96("KERNEL(k)")},
    {"an array that is indexed", "a stack of 32 bytes (STACK allows it 0)", true, {0}, LOOK_UP},
    {"the same, allowed", NULL, true, {0}, "STACK(k, 32)\n" LOOK_UP},
    {"the same, with less allowed", "a stack of 32 bytes (STACK allows it 16)", true, {0}, "STACK(k, 16)\n" LOOK_UP},
    {"the same, allowed to another", "STACK allows it 0", true, {0}, "STACK(other, 32)\n" LOOK_UP},
    {"a struct that is copied", "1 of its struct arguments are not FIXED", false, {0}, ADDRESS_OF("four")},
    {"the same where it lies", NULL, true, {0}, ADDRESS_OF("FIXED four")},
    {"vectors that are not known to be aligned", "no load of 16 bytes", false, {true, true}, COPY_OF("4")},
    {"the same, stored alone", "no store of 16 bytes", false, {false, true}, COPY_OF("4")},
    {"the same, aligned", NULL, false, {true, true}, COPY_OF("16")},
};

/* The dialect's words before a kernel: of a program's own operation, which is registered for it. NULL: no memory. */
static char *whole_text(const one *o)
{
    char name[32];
    static int made;
    snprintf(name, sizeof name, "faulty::k%d", made++);
    const tn_op_def def = {
        .struct_size = sizeof def, .name = name, .inputs = 1, .dtypes = TN_OP_DTYPE(TN_F32), .kernel = o->text};
    tn__gpu_unit u, last = {0};
    if (!tn_op_register(&def))
        return NULL;
    for (int32_t i = 0; tn__gpu_units_of(TN__FAMILY_own, i, &u); i++)
        last = u;
    const int64_t length = tn__gpu_unit_text(&last, NULL, 0);
    char *text = length < 0 ? NULL : malloc((size_t)length + 1);
    if (text)
        tn__gpu_unit_text(&last, text, (size_t)length + 1);
    return text;
}

/* The verdict's reason, empty for none; false if the text does not compile. */
static bool verdict_of(const nvrtc *n, const one *o, int arch, char *why, size_t size)
{
    facts f[2] = {0};
    size_t bytes;
    char *text = whole_text(o), *ptx = text ? nvrtc_compile(n, text, o->what, arch, PTX, &bytes) : NULL;
    bool ok = ptx && judge_read_ptx(ptx, f, TN_COUNT(f)) == 1;
    if (ok && *n->ptxas) {
        char *report = ptxas_report(n, ptx, o->what, arch);
        ok = report && judge_read_report(report, f, 1) == 1;
        free(report);
    }
    if (ok)
        judge(&f[0], text, o->asked, why, size);
    free(ptx);
    free(text);
    return ok;
}

int faulty_kernels(const nvrtc *with, int arch, int *n)
{
    char why[256];
    int wrong = 0;
    *n = 0;
    for (size_t i = 0; i < TN_COUNT(ones); i++) {
        const one *o = &ones[i];
        if (o->needs_ptxas && !*with->ptxas)
            continue;
        ++*n;
        const bool ok = verdict_of(with, o, arch, why, sizeof why);
        if (ok && (o->why ? strstr(why, o->why) != NULL : !*why))
            continue;
        printf("  %s: %s, not '%s'\n", o->what, ok ? *why ? why : "nothing is found" : "it does not compile",
               o->why ? o->why : "");
        wrong++;
    }
    /* what no compiler makes of these bounds: registers for more items than there are */
    const facts many = {.name = "k", .items = 1024, .registers = 65},
                few = {.name = "k", .items = 1024, .registers = 64};
    ++*n;
    if (judge(&many, "", (wide){0}, why, sizeof why) || !strstr(why, "more than the 65536") ||
        !judge(&few, "", (wide){0}, why, sizeof why)) {
        printf("  65 registers for 1024 items: '%s'\n", why);
        wrong++;
    }
    return wrong;
}
