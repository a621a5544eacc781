/* Reading PTX and ptxas, and the verdict. */
#include "judge.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REGISTERS = 65536, GIVEN_OUT = 8 /* registers of an item come in steps of so many */ };

/* ---- PTX ---- */

static int count_in(const char *from, const char *to, const char *const *words)
{
    int n = 0;
    for (; *words; words++)
        for (const char *p = from; (p = strstr(p, *words)) != NULL && p < to; p++)
            n++;
    return n;
}

/* .maxntid x, y, z: their product; 0 where it does not stand between from and to. */
static int items_in(const char *from, const char *to)
{
    int x = 0, y = 1, z = 1;
    const char *p = strstr(from, ".maxntid");
    if (!p || p > to || sscanf(p, ".maxntid %d , %d , %d", &x, &y, &z) < 1)
        return 0;
    return x * y * z;
}

int judge_read_ptx(const char *ptx, facts *f, int cap)
{
    static const char *const loads[] = {"ld.global.v4.u32",
                                        "ld.global.v4.b32",
                                        "ld.global.v4.f32",
                                        "ld.global.v2.u64",
                                        "ld.global.v2.b64",
                                        "ld.global.v2.f64",
                                        "ld.global.nc.v4.u32",
                                        "ld.global.nc.v4.b32",
                                        "ld.global.nc.v4.f32",
                                        "ld.global.nc.v2.u64",
                                        "ld.global.nc.v2.b64",
                                        "ld.global.nc.v2.f64",
                                        NULL};
    static const char *const stores[] = {"st.global.v4.u32",
                                         "st.global.v4.b32",
                                         "st.global.v4.f32",
                                         "st.global.v2.u64",
                                         "st.global.v2.b64",
                                         "st.global.v2.f64",
                                         NULL};
    static const char *const structs[] = {".b8 ", NULL};
    int n = 0;
    for (const char *p = ptx; n < cap && (p = strstr(p, ".entry ")) != NULL;) {
        const char *open = strchr(p, '('), *body = open ? strstr(open, "\n{") : NULL;
        const char *end = body ? strstr(body, "\n}") : NULL;
        if (!end || sscanf(p, ".entry %95[^( \n]", f[n].name) != 1)
            break;
        const char *close = strchr(open, ')');
        f[n].items = items_in(close, body);
        f[n].structs = count_in(open, close, structs);
        f[n].loads = count_in(body, end, loads);
        f[n].stores = count_in(body, end, stores);
        n++;
        p = end;
    }
    return n;
}

/* ---- ptxas ---- */

static facts *find(facts *f, int n, const char *name, size_t length)
{
    for (int i = 0; i < n; i++)
        if (strlen(f[i].name) == length && !memcmp(f[i].name, name, length))
            return &f[i];
    return NULL;
}

/* A number before a word, in the stretch up to 'end'; 0 if that word is not there. */
static int number_before(const char *from, const char *end, const char *word)
{
    const char *p = strstr(from, word);
    if (!p || p >= end)
        return 0;
    while (p > from && p[-1] >= '0' && p[-1] <= '9')
        p--;
    return (int)strtol(p, NULL, 10);
}

/* Of each kernel: "Compiling entry function 'x' for 'sm_75'", a frame with what is spilled, for it and for each function that
 * it calls, "Used n registers, ... m bytes cumulative stack size". */
int judge_read_report(const char *report, facts *f, int n)
{
    static const char begin[] = "Compiling entry function '";
    int reported = 0;
    for (const char *p = report; (p = strstr(p, begin)) != NULL;) {
        const char *name = p + strlen(begin), *next = strstr(name, begin), *end = next ? next : name + strlen(name);
        facts *k = find(f, n, name, strcspn(name, "'"));
        p = name;
        if (!k || k->reported)
            continue;
        for (const char *line = name; (line = strstr(line, " bytes stack frame")) != NULL && line < end; line++) {
            const char *start = line;
            while (start > name && start[-1] != '\n')
                start--;
            const char *stop = line + strcspn(line, "\n");
            const int frame = number_before(start, stop, " bytes stack frame");
            k->stack = frame > k->stack ? frame : k->stack;
            k->spilled +=
                number_before(start, stop, " bytes spill stores") + number_before(start, stop, " bytes spill loads");
        }
        const int all = number_before(name, end, " bytes cumulative stack size");
        k->stack = all > k->stack ? all : k->stack;
        k->registers = number_before(strstr(name, "Used ") ? strstr(name, "Used ") : end, end, " registers");
        k->reported = k->registers > 0;
        reported += k->reported;
    }
    return reported;
}

/* ---- the text ---- */

const char *judge_declaration(const char *text, const char *kernel)
{
    static const char *const forms[] = {"\nKERNEL_N(%s,", "\nKERNEL_BN(%s,", "\nKERNEL(%s)", "\nKERNEL_B(%s)"};
    char line[160];
    for (const char *name = kernel; name; name = strchr(name, '_') ? strchr(name, '_') + 1 : NULL)
        for (size_t i = 0; i < TN_COUNT(forms); i++) {
            snprintf(line, sizeof line, forms[i], name);
            const char *found = strstr(text, line);
            if (found)
                return found + 1;
        }
    return NULL;
}

/* FIXED in a kernel's parameters */
static int fixed_in(const char *declaration)
{
    static const char *const fixed[] = {"FIXED ", NULL};
    const char *end = declaration ? strchr(declaration, '{') : NULL;
    return end ? count_in(declaration, end, fixed) : 0;
}

/* Bytes of stack that the text allows a kernel, or a row's kernels by its name. */
static int allowed(const char *text, const char *kernel)
{
    static const char word[] = "\nSTACK(";
    for (const char *p = text; (p = strstr(p, word)) != NULL; p++) {
        const char *name = p + strlen(word);
        const size_t n = strcspn(name, ",)");
        if (!strncmp(kernel, name, n) && (kernel[n] == 0 || kernel[n] == '_'))
            return (int)strtol(name + n + strspn(name + n, ", "), NULL, 10);
    }
    return 0;
}

/* ---- the verdict ---- */

bool judge(const facts *f, const char *text, wide asked, char *why, size_t size)
{
    const int each = (f->registers + GIVEN_OUT - 1) / GIVEN_OUT * GIVEN_OUT, most = allowed(text, f->name);
    const int fixed = fixed_in(judge_declaration(text, f->name));
    *why = 0;
    if (!f->items)
        snprintf(why, size, "no launch bounds: it is to be a KERNEL_N or KERNEL_BN");
    else if (f->structs != fixed)
        snprintf(why, size, "%d of its struct arguments are not FIXED", f->structs - fixed);
    else if (asked.loads && !f->loads)
        snprintf(why, size, "no load of 16 bytes");
    else if (asked.stores && !f->stores)
        snprintf(why, size, "no store of 16 bytes");
    else if (f->spilled)
        snprintf(why, size, "%d bytes are spilled (%d registers for groups of %d items)", f->spilled, f->registers,
                 f->items);
    else if (f->stack > most)
        snprintf(why, size, "a stack of %d bytes (STACK allows it %d)", f->stack, most);
    else if (each * f->items > REGISTERS)
        snprintf(why, size, "%d registers for %d items: more than the %d of a multiprocessor", f->registers, f->items,
                 REGISTERS);
    return !*why;
}
