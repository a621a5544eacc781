/* Elementwise: every row of the list x dtype x layout x form, against ops/rows.h's reference. Rows come from
 * the list itself, so a new row is tested unasked. */
#include "ops/rows.h"
#include "backend/cpu/cpu.h"
#include "backend/cuda/cuda.h"
#include "backend/gpu/gpu.h"
#include "ops/digest.h"
#include <math.h>
#include <string.h>

/* How an operand relates to the result's shape. */
typedef enum part {
    SAME,
    LAST,   /* the last dimension alone */
    COLUMN, /* last dimension 1 */
    MIDDLE, /* second dimension 1 */
    LEAD,   /* first dimension 1 */
    ZERO,   /* 0-dim */
    NUMBER
} part;

typedef struct scenario {
    const char *name;
    int32_t ndim;
    int64_t shape[TN_MAX_DIMS];
    part parts[3];
    kit_layout layouts[3];
} scenario;

#define ALL_(x) \
    { \
        x, x, x \
    }
#define DENSE3 ALL_(KIT_DENSE)

/* clang-format off */
static const scenario small[] = {
    {"dense",            3, {3, 5, 7}, ALL_(SAME), DENSE3},
    {"unaligned",        3, {3, 5, 7}, ALL_(SAME), ALL_(KIT_UNALIGNED)},
    {"transposed",       3, {3, 5, 7}, ALL_(SAME), ALL_(KIT_TRANSPOSED)},
    {"rotated",          3, {3, 5, 7}, ALL_(SAME), ALL_(KIT_ROTATED)},
    {"sliced",           3, {3, 5, 7}, ALL_(SAME), ALL_(KIT_SLICED)},
    {"stepped",          2, {4, 9},    ALL_(SAME), ALL_(KIT_STEPPED)},
    {"expanded",         2, {4, 9},    ALL_(SAME), ALL_(KIT_EXPANDED)},
    {"mixed layouts",    3, {3, 5, 7}, ALL_(SAME), {KIT_DENSE, KIT_TRANSPOSED, KIT_SLICED}},
    {"mixed layouts 2",  3, {3, 5, 7}, ALL_(SAME), {KIT_SLICED, KIT_DENSE, KIT_ROTATED}},
    {"last broadcast",   3, {3, 5, 7}, {SAME, LAST, COLUMN}, DENSE3},
    {"column broadcast", 3, {3, 5, 7}, {SAME, COLUMN, LAST}, DENSE3},
    {"outer",            2, {6, 9},    {COLUMN, LAST, SAME}, DENSE3},
    {"middle broadcast", 3, {3, 5, 7}, {SAME, MIDDLE, LEAD}, {KIT_DENSE, KIT_SLICED, KIT_TRANSPOSED}},
    {"lead broadcast",   3, {3, 5, 7}, {LEAD, SAME, MIDDLE}, {KIT_DENSE, KIT_TRANSPOSED, KIT_DENSE}},
    {"0-dim second",     2, {4, 9},    {SAME, ZERO, ZERO}, DENSE3},
    {"0-dim first",      2, {4, 9},    {ZERO, SAME, SAME}, DENSE3},
    {"number second",    2, {4, 9},    {SAME, NUMBER, NUMBER}, DENSE3},
    {"number third",     2, {4, 9},    {SAME, SAME, NUMBER}, {KIT_SLICED, KIT_DENSE, KIT_DENSE}},
    {"number first",     2, {4, 9},    {NUMBER, SAME, SAME}, {KIT_DENSE, KIT_STEPPED, KIT_DENSE}},
    {"number, 0-dim",    0, {0},       {ZERO, NUMBER, ZERO}, DENSE3},
    {"all 0-dim",        0, {0},       ALL_(ZERO), DENSE3},
    {"one element",      1, {1},       ALL_(SAME), DENSE3},
    {"empty",            1, {0},       ALL_(SAME), DENSE3},
    {"empty 3-d",        3, {3, 0, 2}, {SAME, LAST, ZERO}, DENSE3},
    {"8-d",              8, {2, 1, 2, 3, 1, 2, 2, 2}, ALL_(SAME), {KIT_DENSE, KIT_ROTATED, KIT_SLICED}},
    {"8-d transposed",   8, {2, 1, 2, 3, 1, 2, 2, 2}, {SAME, LAST, ZERO}, ALL_(KIT_TRANSPOSED)},
    {"short rows",       2, {40, 3},   {SAME, LAST, SAME}, {KIT_SLICED, KIT_DENSE, KIT_DENSE}},
    {"rows of 255",      2, {3, 255},  ALL_(SAME), ALL_(KIT_SLICED)},
    {"rows of 257",      2, {3, 257},  {SAME, COLUMN, LAST}, {KIT_SLICED, KIT_DENSE, KIT_DENSE}},
    {"rows of 1025",     2, {2, 1025}, {SAME, LAST, COLUMN}, {KIT_TRANSPOSED, KIT_DENSE, KIT_DENSE}},
};
static const scenario large[] = {
    {"70001",            1, {70001},    ALL_(SAME), DENSE3},
    {"70001 unaligned",  1, {70001},    {SAME, SAME, NUMBER}, ALL_(KIT_UNALIGNED)},
    {"70001 stepped",    1, {70001},    {SAME, ZERO, SAME}, ALL_(KIT_STEPPED)},
    {"251 x 283",        2, {251, 283}, {SAME, LAST, COLUMN}, {KIT_TRANSPOSED, KIT_DENSE, KIT_DENSE}},
    {"283 x 251 sliced", 2, {283, 251}, {COLUMN, SAME, LAST}, {KIT_DENSE, KIT_SLICED, KIT_DENSE}},
    {"9 x 130 columns",  2, {9, 130},   {SAME, COLUMN, SAME}, DENSE3},
    {"9 x 130 third",    2, {9, 130},   {SAME, SAME, COLUMN}, DENSE3},
    {"9 x 130 both",     2, {9, 130},   {SAME, COLUMN, COLUMN}, {KIT_SLICED, KIT_DENSE, KIT_DENSE}},
    {"9 x 130 a number", 2, {9, 130},   {SAME, NUMBER, COLUMN}, DENSE3},
    {"2050 by numbers",  1, {2050},     {SAME, NUMBER, NUMBER}, DENSE3},
    {"283 x 65 across",  2, {283, 65},  ALL_(SAME), {KIT_TRANSPOSED, KIT_DENSE, KIT_SLICED}},
    {"3-d across",       3, {3, 37, 41}, ALL_(SAME), {KIT_DENSE, KIT_TRANSPOSED, KIT_ROTATED}},
    {"few long across",  2, {3, 700},   ALL_(SAME), {KIT_DENSE, KIT_TRANSPOSED, KIT_SLICED}},
    {"long across",      2, {9, 2117},  ALL_(SAME), {KIT_DENSE, KIT_TRANSPOSED, KIT_SLICED}},
    {"two long across",  2, {9, 1100},  ALL_(SAME), {KIT_TRANSPOSED, KIT_DENSE, KIT_DENSE}},
    {"many short",       3, {90, 7, 3}, {SAME, LAST, MIDDLE}, {KIT_DENSE, KIT_DENSE, KIT_TRANSPOSED}},
};
/* lengths at the edges of vectors and blocks */
static const int64_t lengths[] = {2, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 255, 256, 257, 1023, 1024, 1025, 2047, 2049};
/* clang-format on */

/* ---- one case ---- */

typedef struct operand {
    row_operand kind;
    kit_array a; /* numbers: numel 1, no tensor */
} operand;

typedef struct trial {
    const row *r;
    const scenario *s;
    operand op[3];
    row_dtypes d;
    tn_scalar in[3];
} trial;

static part part_of(const row *r, const scenario *s, int i)
{
    if (r->rule == R_FILL && i == 2 && s->parts[2] != NUMBER) /* the value is a number or 0-dim */
        return ZERO;
    return s->parts[i];
}

static void shape_of(const scenario *s, part p, int32_t *ndim, int64_t *shape)
{
    *ndim = p == ZERO || p == NUMBER ? 0 : s->ndim;
    memcpy(shape, s->shape, sizeof s->shape);
    if (p == LAST && s->ndim > 0) {
        shape[0] = s->shape[s->ndim - 1];
        *ndim = 1;
    }
    if (p == COLUMN && s->ndim > 0)
        shape[s->ndim - 1] = 1;
    if (p == MIDDLE && s->ndim > 1)
        shape[1] = 1;
    if (p == LEAD && s->ndim > 0)
        shape[0] = 1;
}

/* Is operand i the number of elu, celu or their gradients? */
static bool is_slope(const row *r, int i)
{
    return (!strncmp(r->name, "_elu", 4) || !strncmp(r->name, "_celu", 5)) && i == r->arity - 1;
}

/* Values that the row is defined for: gradients of tanh and sigmoid are of saved results, in [-1, 1] and [0, 1], targets
 * are probabilities; integers are not divided by zero; number exponents of integers are not negative. */
static real value_for(const row *r, int i, part p, tn_dtype d, bool whole)
{
    real v = kit_any_value(d);
    if (row_is_smooth(r) && d != TN_BOOL)
        v = (real)(is_slope(r, i) ? kit_uniform(0.5, 3) : kit_uniform(-9, 9));
    if (row_is_smooth(r) && d != TN_BOOL)
        v = kit_is_float(d) ? kit_round(v, d) : truncl(fabsl(v));
    if (i == 1 && !strcmp(r->name, "_tanh_backward"))
        v = kit_round((real)kit_uniform(-1, 1), d);
    if (i == 1 && (!strcmp(r->name, "_sigmoid_backward") || !strcmp(r->name, "_bce")))
        v = kit_round((real)kit_uniform(0, 1), d);
    /* the reference's products do not overflow, nor are its differences rounded */
    if (kit_is_float(d) && i > 0 && (strstr(r->name, "_product") || !strcmp(r->name, "_allowance")))
        v = kit_round((real)kit_uniform(-9, 9), d);
    if (kit_is_float(d) && i < 2 && !strcmp(r->name, "_near"))
        v = kit_round((real)kit_uniform(-9, 9), d);
    if (d != TN_BOOL && row_has_domain(r, i, d, &v))
        return v;
    if (!strcmp(r->name, "_round_decimals"))
        v = kit_round((real)kit_uniform(-99, 99), d);
    if (i == 1 && r->rule == R_DIVIDE && whole && v == 0)
        v = d == TN_BOOL ? 1 : 3;
    if (i == 1 && r->rule == R_POW && p == NUMBER && v < 0)
        v = -v > 0 && -v <= (real)kit_max(d) ? -v : 5;
    return v;
}

/* A number as the row may have it: one that the common dtype cannot hold is refused by some rows
 * (tests/unit/test_edge_cases.c) and wraps around in others, where it must not become a divisor of zero. */
static real number_for(const row *r, int i, tn_dtype from, tn_dtype common, real v)
{
    bool bound = !strcmp(r->name, "clamp_min") || !strcmp(r->name, "clamp_max") || r->rule == R_CLAMP;
    bool checked = bound || r->rule == R_FILL || r->rule == R_WHERE || (i == 1 && r->rule == R_POW);
    real held = kit_convert(v, from, common), whole = kit_is_float(common) ? v : truncl(v);
    if (i == 1 && r->rule == R_DIVIDE && !kit_is_float(common) && held == 0)
        return 3;
    if (!checked || common == TN_BOOL || (kit_is_float(common) && (isfinite(held) || !isfinite(v))))
        return v;
    if (whole == held && (v >= 0 || common != TN_U8))
        return v;
    if (r->rule == R_POW || kit_is_float(common) || (from == TN_F64 && (real)(double)held != held))
        return 5; /* the largest int64 is no double */
    return held;
}

/* The number that is computed with: among 16-bit floats one of them, but for factors, divisors and weights. */
static real number_taken(const row *r, int i, tn_dtype common, real v)
{
    bool divides = !strcmp(r->name, "floor_divide") || !strcmp(r->name, "div_floor") || !strcmp(r->name, "div_trunc");
    bool exact = !strcmp(r->name, "mul") || !strcmp(r->name, "div") || !strcmp(r->name, "_lerp") ||
                 !strcmp(r->name, "_round_decimals") || (divides && i > 0);
    return exact || (common != TN_F16 && common != TN_BF16) ? v : kit_round(v, common);
}

static tn_dtype number_dtype(tn_dtype d)
{
    return kit_is_float(d) ? TN_F64 : d == TN_BOOL ? TN_BOOL : TN_I64;
}

static tn_scalar number_of(tn_dtype d, real v)
{
    return d == TN_F64 ? tn_scalar_f((double)v) : d == TN_BOOL ? tn_scalar_b(v != 0) : tn_scalar_i((int64_t)v);
}

/* Operands of the given dtypes in the scenario's shapes. False: the scenario says nothing for this row. */
static bool prepare(trial *t, const row *r, const scenario *s, const tn_dtype *dtype)
{
    bool tensor = false, whole = true;
    row_operand kinds[3];
    memset(t, 0, sizeof *t);
    t->r = r;
    t->s = s;
    for (int i = 0; i < r->arity; i++) {
        part p = part_of(r, s, i);
        bool number = p == NUMBER;
        kinds[i] =
            (row_operand){number ? number_dtype(dtype[i]) : dtype[i], number, !number && (p == ZERO || s->ndim == 0)};
        tensor |= !number;
        whole &= !kit_is_float(dtype[i]);
    }
    if (!tensor || (r->arity == 1 && s->parts[0] != SAME && s->parts[0] != ZERO))
        return false;
    t->d = row_infer(r, kinds);
    for (int i = 0; i < r->arity; i++) {
        operand *o = &t->op[i];
        part p = part_of(r, s, i);
        int32_t ndim;
        int64_t shape[TN_MAX_DIMS];
        shape_of(s, p, &ndim, shape);
        o->kind = kinds[i];
        kit_array_init(&o->a, dtype[i], ndim, shape, s->layouts[i]);
        for (int64_t k = 0; k < o->a.numel; k++)
            o->a.v[k] = value_for(r, i, p, dtype[i], whole);
        if (kinds[i].zero_dim && r->rule == R_FILL && i == 2)
            o->a.v[0] = number_for(r, i, dtype[i], t->d.common, o->a.v[0]) == o->a.v[0] ? o->a.v[0] : 5;
        if (kinds[i].zero_dim && r->rule == R_DIVIDE)
            o->a.v[0] = number_for(r, i, dtype[i], t->d.common, o->a.v[0]);
        if (p == NUMBER) {
            o->a.v[0] = number_for(r, i, dtype[i], t->d.common, o->a.v[0]);
            t->in[i] = number_of(o->kind.dtype, o->a.v[0]);
            o->a.v[0] = number_taken(r, i, t->d.common, o->a.v[0]);
        } else {
            kit_show(&o->a);
            t->in[i] = tn_scalar_t(o->a.t);
        }
    }
    return true;
}

static void dispose(trial *t)
{
    for (int i = 0; i < t->r->arity; i++)
        kit_array_free(&t->op[i].a);
}

static const char *describe(const trial *t, const char *form)
{
    static char text[256];
    size_t n = (size_t)snprintf(text, sizeof text, "%s %s '%s':", t->r->name, form, t->s->name);
    for (int i = 0; i < t->r->arity && n < sizeof text; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, " %s%s", t->op[i].kind.number ? "number " : "",
                              tn_dtype_name(t->op[i].kind.dtype));
    return text;
}

/* The result's shape by the test's own broadcasting: operands never disagree. */
static void broadcast_shape(const trial *t, int32_t *ndim, int64_t *shape)
{
    *ndim = 0;
    for (int i = 0; i < t->r->arity; i++)
        if (!t->op[i].kind.number && t->op[i].a.ndim > *ndim)
            *ndim = t->op[i].a.ndim;
    for (int32_t d = 0; d < *ndim; d++) {
        shape[d] = 1;
        for (int i = 0; i < t->r->arity; i++) {
            int32_t k = d - (*ndim - t->op[i].a.ndim);
            if (!t->op[i].kind.number && k >= 0 && t->op[i].a.shape[k] != 1)
                shape[d] = t->op[i].a.shape[k];
        }
    }
}

static bool right_header(const trial *t, const char *form, const tn_tensor *got, tn_dtype want, int32_t ndim,
                         const int64_t *shape)
{
    tn_dims have = tn_tensor_shape(got);
    bool same = have.ndim == ndim;
    for (int32_t d = 0; same && d < ndim; d++)
        same = have.dim[d] == shape[d];
    if (!same || tn_tensor_dtype(got) != want)
        return kit_fail("%s: got %s %s, not %s %s", describe(t, form), tn_dtype_name(tn_tensor_dtype(got)),
                        kit_shape_text(have.ndim, have.dim), tn_dtype_name(want), kit_shape_text(ndim, shape));
    return true;
}

static void compare(const trial *t, const char *form, const tn_tensor *got, tn_dtype want)
{
    int32_t ndim;
    int64_t shape[TN_MAX_DIMS], n;
    row_operand kinds[3];
    if (digest_wanted()) {
        char name[64];
        snprintf(name, sizeof name, "%s%s", t->r->name, *form ? "_" : "");
        digest_note(name, t->s->name, kit_host(got));
    }
    broadcast_shape(t, &ndim, shape);
    if (!right_header(t, form, got, want, ndim, shape))
        return;
    n = kit_count(ndim, shape);
    for (int i = 0; i < t->r->arity; i++)
        kinds[i] = t->op[i].kind;
    for (int64_t k = 0; k < n; k++) {
        real in[3] = {0, 0, 0}, v = kit_item(got, k);
        for (int i = 0; i < t->r->arity; i++)
            in[i] = t->op[i].a.v[kit_broadcast(&t->op[i].a, ndim, shape, k)];
        kit.elements++;
        if (row_accepts(t->r, kinds, &t->d, want, in, v))
            continue;
        kit_fail("%s: element %lld of (%.20Lg, %.20Lg, %.20Lg) is %.20Lg, the reference %.20Lg", describe(t, form),
                 (long long)k, in[0], in[1], in[2], v, row_reference(t->r, kinds, &t->d, in));
        return;
    }
}

/* What PyTorch refuses must be refused, with nothing but an error. */
static void expect_refusal(const trial *t, const char *form, const tn_tensor *got)
{
    tn_status e = tn_error_code();
    if (got)
        kit_fail("%s: was not refused", describe(t, form));
    else if (e != TN_EDTYPE && e != TN_ETYPE && e != TN_EINVAL)
        kit_fail("%s: refused with %s '%s'", describe(t, form), tn_status_name(e), tn_error_message());
    tn_error_clear();
}

static void run_plain(const trial *t)
{
    kit.cases++;
    tn_tensor *got = row_call(t->r, t->in, false);
    if (t->d.refused)
        expect_refusal(t, "", got);
    else if (!got)
        kit_fail("%s: %s", describe(t, ""), tn_error_message());
    else
        compare(t, "", got, t->d.result);
    tn_error_clear();
}

/* Floats are not written to integers, nothing but bool to bool. */
static bool can_write(tn_dtype from, tn_dtype to)
{
    return kit_category(from) <= kit_category(to);
}

static void run_inplace(trial *t)
{
    const operand *x = &t->op[0];
    int32_t ndim;
    int64_t shape[TN_MAX_DIMS];
    broadcast_shape(t, &ndim, shape);
    bool grows = ndim != x->a.ndim;
    for (int32_t d = 0; !grows && d < ndim; d++)
        grows = shape[d] != x->a.shape[d];
    bool overlapping = x->a.layout == KIT_EXPANDED && x->a.numel > 1;
    bool refused = t->d.refused || !can_write(t->d.result, x->a.dtype) || grows || overlapping;
    kit.cases++;
    uint32_t version = tn_tensor_version(x->a.t);
    tn_tensor *got = row_call(t->r, t->in, true);
    if (refused) {
        expect_refusal(t, "in place", got);
        if (tn_tensor_version(x->a.t) != version)
            kit_fail("%s: was refused, but the version went up", describe(t, "in place"));
        return;
    }
    if (!got) {
        kit_fail("%s: %s", describe(t, "in place"), tn_error_message());
        tn_error_clear();
        return;
    }
    if (got != x->a.t || tn_tensor_version(x->a.t) != version + 1)
        kit_fail("%s: returned another tensor, or the version is not one more", describe(t, "in place"));
    compare(t, "in place", got, x->a.dtype);
    if (!kit_surroundings_intact(&x->a))
        kit_fail("%s: wrote beside the tensor", describe(t, "in place"));
}

/* Out of place, then (the operands are as they were) in place. */
static void run(const row *r, const scenario *s, const tn_dtype *dtype)
{
    trial t;
    tn_scope *scope = tn_scope_open();
    if (prepare(&t, r, s, dtype)) {
        run_plain(&t);
        if (!t.op[0].kind.number)
            run_inplace(&t);
        dispose(&t);
    }
    tn_scope_close(scope);
}

/* ---- what is checked of a row ---- */

/* Operand dtypes that a row with 'd' for its values has. */
static void dtypes_for(const row *r, tn_dtype d, tn_dtype *out)
{
    out[0] = out[1] = out[2] = d;
    if (r->rule == R_WHERE)
        out[0] = TN_BOOL;
    if (r->rule == R_FILL)
        out[1] = TN_BOOL;
}

/* The dtypes that a row is tried with: on the CPU all; internal rows, which public functions call with dtypes that are looked at
 * before, and rows of a run that samples have those that are computed in as they are, and a third of the others, other ones
 * for each row. What a sanitizer looks for, and what loads and stores on a GPU, is in the text that makes loops and kernels of
 * rows, not in a row, and a fake GPU compiles it for each dtype, 50 ms a time: there one row in eight has those dtypes, the
 * others float32 and one more. (Suites kernels and nvrtc compile every row for every dtype.) */
static bool tries(const row *r, tn_dtype d)
{
    static const tn_dtype computed_in[] = {TN_F64, TN_I32, TN_I64};
    if (kit_samples() && (TN_ASAN || !kit_on_cpu()) && kit_choice(r->name, 8))
        return d == TN_F32 || d == computed_in[kit_choice(r->name, TN_COUNT(computed_in))];
    if ((kit_on_cpu() && !kit_samples() && r->name[0] != '_') || d == TN_F32 || d == TN_F64 || d == TN_I32 ||
        d == TN_I64)
        return true;
    return ((int)d + kit_choice(r->name, 3)) % 3 == 0;
}

/* Pairs of dtypes: on a GPU, where each has kernels of its own, internal rows have those of equal dtypes, and with float32. */
static bool tries_pair(const row *r, tn_dtype d, tn_dtype other)
{
    return tries(r, d) && tries(r, other) &&
           (kit_on_cpu() || r->name[0] != '_' || d == other || (d == TN_F32 && kit_is_float(other)));
}

/* Work that is cut into pieces is tried once for floats and once for integers: with 64 bits, or with one of the dtypes that are
 * computed in float32 and in int32, other ones for each row. */
static bool goes_large(const row *r, tn_dtype d)
{
    static const tn_dtype as_f32[] = {TN_F16, TN_BF16, TN_F32}, as_i32[] = {TN_U8, TN_I8, TN_I16, TN_I32};
    const tn_dtype f = kit_choice(r->name, 5) < 2 ? TN_F64 : as_f32[kit_choice(r->name, TN_COUNT(as_f32))];
    const tn_dtype i = kit_choice(r->name, 7) < 3 ? TN_I64 : as_i32[kit_choice(r->name, TN_COUNT(as_i32))];
    return d == (tries(r, f) ? f : TN_F32) || d == (tries(r, i) ? i : TN_I32);
}

static void check_layouts(const row *r, tn_dtype d)
{
    tn_dtype dtype[3];
    dtypes_for(r, d, dtype);
    for (size_t i = 0; i < TN_COUNT(small); i++)
        run(r, &small[i], dtype);
    if (goes_large(r, d) && (!TN_ASAN || !kit_choice(r->name, 8)))
        run(r, &large[((size_t)kit_choice(r->name, TN_COUNT(large)) + (size_t)d) % TN_COUNT(large)],
            dtype); /* another one for each row and dtype */
    for (size_t i = 0; i < TN_COUNT(lengths); i++) {
        const scenario s = {"a length", 1, {lengths[i]}, ALL_(SAME), DENSE3};
        run(r, &s, dtype);
    }
}

/* Every pair of special values: a column against a row. Ternary rows: the third operand is drawn. */
static void check_specials(const row *r, tn_dtype d)
{
    static const scenario s = {"special values", 2, {40, 40}, {COLUMN, LAST, SAME}, DENSE3};
    const real *v;
    int n = kit_specials(d, &v);
    tn_dtype dtype[3];
    trial t;
    tn_scope *scope = tn_scope_open();
    dtypes_for(r, d, dtype);
    scenario mine = s;
    if (r->arity == 1)
        mine.parts[0] = SAME;
    if (prepare(&t, r, &mine, dtype)) {
        for (int i = 0; i < r->arity && i < 2; i++) {
            if (dtype[i] != d || r->name[0] == '_' || (i == 1 && r->rule == R_DIVIDE && !kit_is_float(d)))
                continue;
            for (int64_t k = 0; k < t.op[i].a.numel && k < n; k++)
                t.op[i].a.v[k] = v[k];
            kit_show(&t.op[i].a);
            t.in[i] = tn_scalar_t(t.op[i].a.t);
        }
        run_plain(&t);
        dispose(&t);
    }
    tn_scope_close(scope);
}

/* Operands of two dtypes, with dimensions, 0-dim, and as numbers. */
static void check_pairs(const row *r)
{
    static const scenario pairs[] = {
        {"pair", 2, {5, 9}, ALL_(SAME), {KIT_DENSE, KIT_SLICED, KIT_DENSE}},
        {"pair, 0-dim second", 2, {5, 9}, {SAME, ZERO, SAME}, DENSE3},
        {"pair, 0-dim first", 2, {5, 9}, {ZERO, SAME, SAME}, DENSE3},
        {"pair, number second", 2, {5, 9}, {SAME, NUMBER, SAME}, DENSE3},
        {"pair, number first", 2, {5, 9}, {NUMBER, SAME, SAME}, DENSE3},
        {"pair, both 0-dim", 0, {0}, ALL_(ZERO), DENSE3},
        {"pair, third a number", 2, {5, 9}, {SAME, SAME, NUMBER}, DENSE3},
        {"pair, rows", 2, {3, 1100}, {SAME, LAST, COLUMN}, DENSE3},
    };
    int from = r->rule == R_WHERE ? 1 : 0, other = r->rule == R_FILL ? 2 : from + 1;
    for (int i = 0; i < KIT_DTYPES; i++)
        for (int j = 0; j < KIT_DTYPES; j++) {
            tn_dtype dtype[3];
            if (!tries_pair(r, kit_dtypes[i], kit_dtypes[j]))
                continue;
            dtypes_for(r, kit_dtypes[i], dtype);
            dtype[other] = kit_dtypes[j];
            /* conversion in several blocks: each pair with some rows */
            const bool blocks = (j + kit_choice(r->name, KIT_ALL_DTYPES)) % KIT_ALL_DTYPES == i;
            kit_seed_by(r->name, (i + 1) * 100 + j);
            for (size_t k = 0; k < TN_COUNT(pairs) - !blocks; k++)
                run(r, &pairs[k], dtype);
        }
}

/* Conditions must be bool. */
static void check_masks(const row *r)
{
    static const scenario s = {"a mask", 2, {4, 9}, ALL_(SAME), DENSE3};
    for (int i = 0; i < KIT_DTYPES; i++) {
        tn_dtype dtype[3] = {TN_F32, TN_F32, TN_F32};
        dtype[r->rule == R_WHERE ? 0 : 1] = kit_dtypes[i];
        run(r, &s, dtype);
    }
}

/* A GPU cannot say no in time: there a divisor of zero gives 0. */
static void expect_zeros(const trial *t, const tn_tensor *got)
{
    int32_t ndim;
    int64_t shape[TN_MAX_DIMS];
    const operand *b = &t->op[1];
    broadcast_shape(t, &ndim, shape);
    if (!got)
        kit_fail("%s by zero: %s", describe(t, "on a GPU"), tn_error_message());
    for (int64_t k = 0, n = got ? kit_count(ndim, shape) : 0; k < n; k++)
        if ((b->kind.number || b->a.v[kit_broadcast(&b->a, ndim, shape, k)] == 0) && kit_item(got, k) != 0) {
            kit_fail("%s by zero: element %lld is %.20Lg, not 0", describe(t, "on a GPU"), (long long)k,
                     kit_item(got, k));
            return;
        }
}

/* On the CPU an integer divisor of zero is an error wherever it lies; nothing is written. */
static void expect_zero_division(const trial *t, const tn_tensor *got, bool inplace)
{
    if (got || tn_error_code() != TN_EVALUE || !strstr(tn_error_message(), "ZeroDivisionError"))
        kit_fail("%s by zero: %s", describe(t, inplace ? "in place" : ""), got ? "no error" : tn_error_message());
    for (int64_t k = 0; inplace && k < t->op[0].a.numel; k++)
        if (kit_item(t->op[0].a.t, k) != t->op[0].a.v[k]) {
            kit_fail("%s by zero: element %lld was written", describe(t, "in place"), (long long)k);
            return;
        }
}

static void zero_divisor(const row *r, tn_dtype d, const scenario *s, int64_t at, bool inplace)
{
    trial t;
    tn_dtype dtype[3];
    tn_scope *scope = tn_scope_open();
    dtypes_for(r, d, dtype);
    if (prepare(&t, r, s, dtype)) {
        kit_array *b = &t.op[1].a;
        b->v[at < 0 ? b->numel - 1 : at] = 0;
        if (t.op[1].kind.number)
            t.in[1] = tn_scalar_i(0);
        else {
            kit_show(b);
            t.in[1] = tn_scalar_t(b->t);
        }
        kit.cases++;
        tn_tensor *got = row_call(r, t.in, inplace);
        if (kit_on_cpu())
            expect_zero_division(&t, got, inplace);
        else
            expect_zeros(&t, got);
        tn_error_clear();
        dispose(&t);
    }
    tn_scope_close(scope);
}

static void check_zero_divisors(const row *r)
{
    static const scenario cases[] = {
        {"dense", 1, {9}, ALL_(SAME), DENSE3},
        {"transposed", 2, {5, 7}, ALL_(SAME), ALL_(KIT_TRANSPOSED)},
        {"sliced", 2, {5, 7}, ALL_(SAME), ALL_(KIT_SLICED)},
        {"broadcast", 2, {5, 7}, {SAME, LAST, SAME}, DENSE3},
        {"0-dim", 2, {5, 7}, {SAME, ZERO, SAME}, DENSE3},
        {"number", 2, {5, 7}, {SAME, NUMBER, SAME}, DENSE3},
        {"large", 1, {70001}, ALL_(SAME), DENSE3},
        {"all 0-dim", 0, {0}, ALL_(ZERO), DENSE3},
    };
    for (int i = 1; i < KIT_DTYPES; i++)
        for (size_t k = 0; k < TN_COUNT(cases) && !kit_is_float(kit_dtypes[i]); k++)
            for (int form = 0; form < 2; form++) {
                zero_divisor(r, kit_dtypes[i], &cases[k], 0, form);
                zero_divisor(r, kit_dtypes[i], &cases[k], -1, form);
            }
}

/* Negative integer numbers as exponents of integers are PyTorch's error; -1, 0 and 1 as tensors are not. */
static void negative_exponents(void)
{
    for (int i = 1; i < KIT_DTYPES; i++) {
        if (kit_is_float(kit_dtypes[i]))
            continue;
        tn_scope *scope = tn_scope_open();
        tn_tensor *x = tn_ones(TN_SHAPE(3), .dtype = kit_dtypes[i]);
        kit.cases++;
        if (tn_pow(x, -1) || tn_error_code() != TN_EVALUE ||
            !strstr(tn_error_message(), "Integers to negative integer powers are not allowed."))
            kit_fail("pow(%s, -1): %s", tn_dtype_name(kit_dtypes[i]), tn_error_message());
        tn_error_clear();
        tn_scope_close(scope);
    }
}

/* ---- operands that share memory ---- */

/* x op x, and x.op_(x): the same tensor on both sides. */
static void check_aliases(const row *r, tn_dtype d)
{
    static const scenario s = {"x with itself", 2, {7, 300}, ALL_(SAME), DENSE3};
    trial t;
    tn_dtype dtype[3];
    dtypes_for(r, d, dtype);
    if (r->arity != 2)
        return;
    tn_scope *scope = tn_scope_open();
    if (prepare(&t, r, &s, dtype)) {
        for (int64_t k = 0; k < t.op[0].a.numel; k++)
            if (t.op[0].a.v[k] == 0 && r->rule == R_DIVIDE && !kit_is_float(d))
                t.op[0].a.v[k] = 1;
        kit_show(&t.op[0].a);
        memcpy(t.op[1].a.v, t.op[0].a.v, (size_t)t.op[0].a.numel * sizeof(real));
        t.in[0] = t.in[1] = tn_scalar_t(t.op[0].a.t);
        run_plain(&t);
        run_inplace(&t);
        dispose(&t);
    }
    tn_scope_close(scope);
}

/* Operands that overlap in part are refused: x[1:] op= x[:-1]. */
static void partial_overlap(void)
{
    tn_scope *scope = tn_scope_open();
    for (int i = 0; i < n_rows; i++) {
        const row *r = &rows[i];
        tn_tensor *x = tn_ones(TN_SHAPE(9), .dtype = r->f ? TN_F32 : TN_I32);
        const tn_scalar in[3] = {tn_scalar_t(tn_slice(x, 0, 1, 9, 1)), tn_scalar_t(tn_slice(x, 0, 0, 8, 1)),
                                 tn_scalar_i(1)};
        if (r->arity != 2)
            continue;
        kit.cases++;
        if (row_call(r, in, true) ||
            !strstr(tn_error_message(), "some elements of the input tensor and the written-to tensor "
                                        "refer to a single memory location"))
            kit_fail("%s_ of overlapping operands: %s", r->name, tn_error_message());
        tn_error_clear();
    }
    tn_scope_close(scope);
}

/* All operands numbers: there is nothing to compute on. */
static void only_numbers(void)
{
    for (int i = 0; i < n_rows; i++) {
        const tn_scalar in[3] = {tn_scalar_i(1), tn_scalar_i(2), tn_scalar_i(3)};
        if (rows[i].arity == 1)
            continue;
        kit.cases++;
        if (row_call(&rows[i], in, false) || tn_error_code() != TN_ETYPE)
            kit_fail("%s of numbers: %s", rows[i].name, tn_error_message());
        tn_error_clear();
    }
}

/* Shapes that do not broadcast. */
static void bad_shapes(void)
{
    tn_scope *scope = tn_scope_open();
    for (int i = 0; i < n_rows; i++) {
        const tn_dtype d = rows[i].f ? TN_F32 : TN_I32;
        tn_tensor *a = tn_ones(TN_SHAPE(2, 3), .dtype = d), *b = tn_ones(TN_SHAPE(4), .dtype = d);
        if (rows[i].arity != 2)
            continue;
        const tn_scalar in[3] = {tn_scalar_t(a), tn_scalar_t(b), tn_scalar_none()};
        kit.cases++;
        if (row_call(&rows[i], in, false) ||
            !strstr(tn_error_message(),
                    "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1"))
            kit_fail("%s of [2, 3] and [4]: %s", rows[i].name, tn_error_message());
        tn_error_clear();
    }
    tn_scope_close(scope);
}

/* ---- results larger than the caches: stored past them. The caches are said to be small, so that these are too. ---- */

enum { PERIOD = 91 }; /* of the values below */

/* Small whole numbers, exact in every dtype: x is i % 13, y i % 7. */
static void pattern(unsigned char *out, tn_dtype d, int64_t n, int which)
{
    for (int64_t i = 0; i < n && i < PERIOD; i++) {
        int64_t x = i % 13, y = i % 7;
        kit_store(d, out + i * kit_size(d), (real)(which == 0 ? x : which == 1 ? y : which == 2 ? x + y : x < y));
    }
    size_t have = (size_t)(PERIOD * kit_size(d)), size = (size_t)(n * kit_size(d));
    for (size_t at = have; at < size; at += have, have *= 2)
        memcpy(out + at, out, have < size - at ? have : size - at);
}

static void beyond_the_caches(tn_dtype d, bool test)
{
    tn_dtype to = test ? TN_BOOL : d;
    int64_t n = tn__cpu_stream_bytes() / kit_size(to) + 1003;
    size_t size = (size_t)(n * kit_size(to));
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_empty(TN_SHAPE(n), .dtype = d), *y = tn_empty(TN_SHAPE(n), .dtype = d);
    unsigned char *want = malloc(size);
    if (x && y && want) {
        pattern(tn_data(x), d, n, 0);
        pattern(tn_data(y), d, n, 1);
        pattern(want, to, n, test ? 3 : 2);
    }
    tn_tensor *z = test ? tn_lt(x, y) : tn_add(x, y);
    kit.cases++;
    kit.elements += n;
    if (!want || !z || memcmp(tn_data(z), want, size) != 0)
        kit_fail("%s of %lld %s is wrong; %s", test ? "lt" : "add", (long long)n, tn_dtype_name(d), tn_error_message());
    free(want);
    tn_scope_close(scope);
}

static void check_row(const row *r)
{
    int64_t cases = kit.cases, failures = kit.failures;
    for (int i = 0; i < KIT_DTYPES; i++) {
        if (!tries(r, kit_dtypes[i]))
            continue;
        kit_seed_by(r->name, i);
        check_layouts(r, kit_dtypes[i]);
        check_specials(r, kit_dtypes[i]);
        check_aliases(r, kit_dtypes[i]);
    }
    if (r->arity > 1)
        check_pairs(r);
    if (r->rule == R_WHERE || r->rule == R_FILL)
        check_masks(r);
    if (r->rule == R_DIVIDE)
        check_zero_divisors(r);
    row_bound b = row_bound_of(r);
    printf(
        "%-20s %5lld cases, %3lld failures; largest error %lld ulp (float32, bound %d), %lld ulp (float64, bound %d)\n",
        r->name, (long long)(kit.cases - cases), (long long)(kit.failures - failures),
        (long long)row_worst[r - rows][0], b.k32, (long long)row_worst[r - rows][1], b.k64);
}

int main(int argc, char **argv)
{
    if (!kit_can_run())
        return 0;
    tn__gpu_rows_together(argc < 2 && tn__cuda_is_fake()); /* NVRTC takes minutes for all of a family at once */
    for (int i = 0; i < n_rows; i++)
        if (argc < 2 ? kit_mine(i) : !strcmp(argv[1], rows[i].name))
            check_row(&rows[i]);
    if (argc < 2 && kit_mine(0)) {
        negative_exponents();
        partial_overlap();
        only_numbers();
        bad_shapes();
    }
    if (argc < 2 && kit_on_cpu()) {
        tn__cpu_set_stream_bytes(INT64_C(4) << 20);
        beyond_the_caches(TN_F32, false);
        beyond_the_caches(TN_I8, false);
        beyond_the_caches(TN_F32, true);
    }
    /* integers divide as the default dtype */
    if (argc < 2 && tn_set_default_dtype(TN_F64) == TN_OK) {
        for (int i = 0; i < n_rows; i++)
            for (int k = 0; k < 6; k++) {
                tn_dtype dtype[3] = {kit_dtypes[k], kit_dtypes[k], kit_dtypes[k]};
                kit_seed_by(rows[i].name, 50 + k);
                if (kit_mine(i) && rows[i].rule == R_FLOAT && tries(&rows[i], kit_dtypes[k]))
                    run(&rows[i], &small[0], dtype);
            }
        kit.failures += tn_set_default_dtype(TN_F32) != TN_OK;
    }
    printf("count: %d elementwise rows on %s\n", n_rows, kit_where());
    return kit_finish("elementwise");
}
