/* The text of a unit: what it is for as macros, the prelude, the vocabulary of expressions, the family's kernels. */
#include "backend/gpu/gpu.h"
#include "core/error.h"
#include "gpu_texts.h"
#include "op/own.h"
#include <stdio.h>

/* ---- names ---- */

#define FAMILY(name, ...) static const char *const kernels_##name[] = {__VA_ARGS__};
#include "backend/gpu/kernels/families.def"

static const struct {
    const char *name;
    const char *const *kernels;
    size_t n;
} families[] = {
#define FAMILY(name, ...) {#name, kernels_##name, TN_COUNT(kernels_##name)},
#include "backend/gpu/kernels/families.def"
};

const char *const *tn__gpu_family_kernels(tn__gpu_family family, size_t *n)
{
    *n = families[family].n;
    return families[family].kernels;
}

const char *tn__gpu_family_name(tn__gpu_family family)
{
    return families[family].name;
}

/* Tokens that types of the dialect are pasted from. */
static const char *const tokens[TN__DTYPES] = {
#define DTYPE(ID, token, ...) [TN_##ID] = #token,
#include "core/dtypes.def"
};

tn__gpu_unit_name tn__gpu_unit_str(const tn__gpu_unit *u)
{
    tn__gpu_unit_name name;
    int at = snprintf(name.s, sizeof name.s, "%s", families[u->family].name);
    if (u->family == TN__FAMILY_elementwise)
        at += snprintf(name.s + at, sizeof name.s - (size_t)at, "_%s", u->op < TN__OPS ? tn__ops[u->op].name : "all");
    if (u->family == TN__FAMILY_own)
        at = snprintf(name.s, sizeof name.s, "%s", tn__own_of(u->op)->name);
    const tn_dtype dtypes[] = {u->in, u->out, u->compute};
    for (size_t i = 0; i < TN_COUNT(dtypes); i++)
        if (dtypes[i])
            at += snprintf(name.s + at, sizeof name.s - (size_t)at, "_%s",
                           i == 2 ? tokens[dtypes[i]] : tn__dtypes[dtypes[i]].name);
    if (u->variant)
        snprintf(name.s + at, sizeof name.s - (size_t)at, "_%u", u->variant);
    return name;
}

/* ---- elementwise rows ---- */

typedef struct row {
    tn__op_id op;
    const char *name, *expression;
    int inputs, rule;
} row;

static const row rows[] = {
#define UNARY(name, rule, expr, ...)   {TN__OP_##name, #name, #expr, 1, rule},
#define BINARY(name, rule, expr, ...)  {TN__OP_##name, #name, #expr, 2, rule},
#define TERNARY(name, rule, expr, ...) {TN__OP_##name, #name, #expr, 3, rule},
#include "op/elementwise.def"
};

/* The gradients of rows that have both in one pass. */
static const struct {
    const char *of_a, *of_b;
} boths[] = {
#define BOTH(name, of_a, of_b, ...) {#of_a, #of_b},
#include "op/elementwise.def"
};

/* The result and compute dtype of a row whose tensors are of dtype d; 0 where it refuses d. */
static tn_dtype result_of(const row *r, tn_dtype d, tn_dtype *compute)
{
    tn_dtype out = d;
    if (!tn__elementwise_takes(r->op, d))
        return 0;
    if (r->rule == R_FLOAT && !tn__dtype_is_float(d))
        out = TN_F32;
    if (r->rule == R_LONG && d == TN_BOOL)
        out = TN_I64;
    *compute = tn__ops[r->op].flags & F_BOOL_IN_DOUBLE && d == TN_BOOL ? TN_F64 : tn__dtypes[out].compute;
    return r->rule == R_TEST ? TN_BOOL : out;
}

/* Does the text of all rows hold this one? Where dtypes are read at run time, all that compute so. */
static bool belongs(const row *r, const tn__gpu_unit *u)
{
    tn_dtype compute = 0;
    if (u->in)
        return result_of(r, u->in, &compute) == u->out && compute == u->compute;
    for (tn_dtype d = TN_BOOL; d < TN__DTYPES; d++)
        if (result_of(r, d, &compute) && compute == u->compute)
            return true;
    return false;
}

bool tn__gpu_unit_has(const tn__gpu_unit *unit, tn__op_id op)
{
    for (size_t i = 0; i < TN_COUNT(rows); i++)
        if (rows[i].op == op)
            return belongs(&rows[i], unit);
    return false;
}

/* ---- writing ---- */

typedef struct writer {
    char *out;
    size_t cap, length;
} writer;

static void put(writer *w, const char *text)
{
    const size_t n = strlen(text);
    if (w->length < w->cap)
        memcpy(w->out + w->length, text, TN_MIN(n, w->cap - w->length));
    w->length += n;
}

static void define(writer *w, const char *name, const char *value)
{
    put(w, "#define ");
    put(w, name);
    put(w, " ");
    put(w, value);
    put(w, "\n");
}

static void define_number(writer *w, const char *name, unsigned value)
{
    char text[16];
    snprintf(text, sizeof text, "%u", value);
    define(w, name, text);
}

/* TN_DT_float32 1 and TN_DT f32 */
static void define_dtype(writer *w, const char *name, tn_dtype d)
{
    char full[32];
    if (!d)
        return;
    snprintf(full, sizeof full, "%s_%s", name, tn__dtypes[d].name);
    define(w, full, "1");
    define(w, name, tokens[d]);
}

static const char *find(const char *name)
{
    for (size_t i = 0; texts[i].name; i++)
        if (!strcmp(texts[i].name, name))
            return texts[i].text;
    return NULL;
}

/* The row as a function, and what its kernels ask about it. */
static void put_row(writer *w, const row *r, const char *kernels)
{
    static const char *const parameters[] = {"T a", "T a, T b", "T a, T b, T c"};
    static const char *const macros[] = {"TN_ARITY", "TN_A_MASK", "TN_B_MASK", "ROW"};
    char name[64];
    snprintf(name, sizeof name, "row_%s", r->name);
    put(w, "DEVICE T ");
    put(w, name);
    put(w, "(");
    put(w, parameters[r->inputs - 1]);
    put(w, ")\n{\n    return (T)(");
    put(w, r->expression);
    put(w, ");\n}\n");
    define_number(w, "TN_ARITY", (unsigned)r->inputs);
    define_number(w, "TN_A_MASK", tn__ops[r->op].mask == 1);
    define_number(w, "TN_B_MASK", tn__ops[r->op].mask == 2);
    define(w, "ROW", name);
    put(w, kernels);
    for (size_t i = 0; i < TN_COUNT(macros); i++) {
        put(w, "#undef ");
        put(w, macros[i]);
        put(w, "\n");
    }
}

/* Kernels of several rows: each name has its row's before it. */
static void put_renamed(writer *w, const row *r, const char *kernels)
{
    char name[64];
    for (size_t i = 0; i < TN_COUNT(kernels_elementwise); i++) {
        snprintf(name, sizeof name, "%s_%s", r->name, kernels_elementwise[i]);
        define(w, kernels_elementwise[i], name);
    }
    put_row(w, r, kernels);
    for (size_t i = 0; i < TN_COUNT(kernels_elementwise); i++) {
        put(w, "#undef ");
        put(w, kernels_elementwise[i]);
        put(w, "\n");
    }
}

/* All rows in one text: of those that differ in their expression alone, the strided kernels are compiled once. */
static void put_rows(writer *w, const tn__gpu_unit *u, const char *kernels)
{
    uint32_t seen = 0;
    const bool all = u->op == TN__OPS || u->op == TN__ALL_ROWS;
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        const row *r = &rows[i];
        const uint32_t shape = 1U << (3 * tn__ops[r->op].mask + r->inputs - 1);
        if (r->op == u->op)
            put_row(w, r, kernels);
        if (!all || !belongs(r, u) || (u->variant && u->op != TN__ALL_ROWS && seen & shape))
            continue;
        put_renamed(w, r, kernels);
        seen |= shape;
    }
}

static void put_line(writer *w, const char *name)
{
    put(w, "\n#line 1 \"");
    put(w, name);
    put(w, "\"\n");
}

/* Does a row of the unit name a function of op/special.h? */
static bool is_special(const tn__gpu_unit *u)
{
    if (u->family != TN__FAMILY_elementwise)
        return false;
    for (size_t i = 0; i < TN_COUNT(rows); i++)
        if (rows[i].op == u->op)
            return strstr(rows[i].expression, "SPECIAL(") != NULL;
    return true;
}

int64_t tn__gpu_unit_text(const tn__gpu_unit *u, char *out, size_t cap)
{
    writer w = {.out = out, .cap = cap};
    const bool own = u->family == TN__FAMILY_own;
    const char *kernels = own ? tn__own_of(u->op)->kernel : find(families[u->family].name);
    if (!kernels) {
        tn__error(TN_EMISSING, "this build has no kernels of the family '%s'", families[u->family].name);
        return -1;
    }
    define_dtype(&w, "TN_DT", u->in);
    define_dtype(&w, "TN_OT", u->out);
    if (u->compute) {
        put(&w, "#define TN_CT_");
        put(&w, tokens[u->compute]);
        put(&w, " 1\n");
    }
    define_number(&w, "TN_VARIANT", u->variant);
    put(&w, find("dtypes"));
    put(&w, find("prelude"));
    put(&w, find("layout"));
    if (u->compute)
        put(&w, find("element"));
    if (u->family == TN__FAMILY_both) {
        define(&w, "TN_OF_A", boths[u->variant].of_a);
        define(&w, "TN_OF_B", boths[u->variant].of_b);
    }
    if (is_special(u))
        put(&w, find("special"));
    if (u->family == TN__FAMILY_elementwise) {
        put_rows(&w, u, kernels);
    } else {
        if (own) /* the compiler's messages count its author's lines */
            put_line(&w, tn__own_of(u->op)->name);
        put(&w, kernels);
    }
    if (cap)
        out[TN_MIN(w.length, cap - 1)] = '\0';
    return (int64_t)w.length;
}

/* ---- lists of units ---- */

typedef struct unit_set {
    tn__gpu_family family;
    bool same;                                    /* in, out: one dtype of the first set; compute: its own */
    uint32_t in, out, compute, variant, variants; /* from variant on */
} unit_set;

static const unit_set sets[] = {
#define UNITS(name, in, out, compute, variants) {TN__FAMILY_##name, false, in, out, compute, 0, variants},
#define SAME(name, dtypes, variants)            {TN__FAMILY_##name, true, dtypes, 0, 0, 0, variants},
#define ONLY(name, in, out, compute, variant)   {TN__FAMILY_##name, false, in, out, compute, variant, 1},
#include "backend/gpu/kernels/units.def"
    {TN__FAMILIES, false, 0, 0, 0, 0, 0},
};

static int32_t count_bits(uint32_t set)
{
    return set ? __builtin_popcount(set) : 1; /* 'none' is one choice */
}

static tn_dtype bit_at(uint32_t set, int32_t i)
{
    for (tn_dtype d = TN_BOOL; d < TN__DTYPES; d++)
        if (set & TN__BIT(d) && i-- == 0)
            return d;
    return 0;
}

/* Takes i-th combination of the set, or its size from i. */
static bool unit_of_set(const unit_set *s, int32_t *i, tn__gpu_unit *u)
{
    const int32_t ins = count_bits(s->in), outs = s->same ? 1 : count_bits(s->out);
    const int32_t computes = s->same ? 1 : count_bits(s->compute);
    const int32_t n = ins * outs * computes * (int32_t)s->variants;
    if (*i >= n) {
        *i -= n;
        return false;
    }
    int32_t rest = *i;
    *u = (tn__gpu_unit){.family = s->family, .op = TN__OPS, .in = bit_at(s->in, rest % ins)};
    rest /= ins;
    u->out = s->same ? u->in : bit_at(s->out, rest % outs);
    rest /= outs;
    u->compute = s->same ? tn__dtypes[u->in].compute : bit_at(s->compute, rest % computes);
    u->variant = s->variant + (uint32_t)(rest / computes);
    return true;
}

static bool has_rows(const tn__gpu_unit *u)
{
    for (size_t k = 0; k < TN_COUNT(rows); k++)
        if (belongs(&rows[k], u))
            return true;
    return false;
}

/* Variants 0 and 1: dense and strided; 2: dtypes are read at run time. */
static bool elementwise_unit(int32_t i, tn__gpu_unit *u)
{
    static const tn_dtype computes[] = {TN_I32, TN_I64, TN_F32, TN_F64};
    for (uint32_t variant = 0; variant < 3; variant++)
        for (tn_dtype in = variant == 2 ? 0 : TN_BOOL; in < (variant == 2 ? 1 : TN__DTYPES); in++)
            for (tn_dtype out = in ? TN_BOOL : 0; out < (in ? TN__DTYPES : 1); out++)
                for (size_t c = 0; c < TN_COUNT(computes); c++) {
                    *u = (tn__gpu_unit){TN__FAMILY_elementwise, TN__OPS, in, out, computes[c], variant};
                    if (has_rows(u) && i-- == 0)
                        return true;
                }
    return false;
}

/* Kernels that the program has registered, in each of their dtypes. */
static bool own_unit(int32_t i, tn__gpu_unit *u)
{
    const tn_op *op;
    for (tn__op_id id = TN__OP_own_0; id < TN__ROWS && (op = tn__own_of(id)) != NULL; id++)
        for (tn_dtype d = TN_BOOL; op->kernel && d < TN__DTYPES; d++)
            if (op->def.dtypes >> d & 1 && i-- == 0) {
                *u = (tn__gpu_unit){TN__FAMILY_own, id, d, d, tn__dtypes[d].compute, 0};
                return true;
            }
    return false;
}

bool tn__gpu_units_of(tn__gpu_family family, int32_t i, tn__gpu_unit *unit)
{
    if (family == TN__FAMILY_own)
        return own_unit(i, unit);
    if (family == TN__FAMILY_elementwise)
        return elementwise_unit(i, unit);
    for (size_t k = 0; k < TN_COUNT(sets); k++)
        if (sets[k].family == family && unit_of_set(&sets[k], &i, unit))
            return true;
    return false;
}
