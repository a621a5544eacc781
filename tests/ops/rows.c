/* How each elementwise row is called, and its reference in long double and int64. */
#include "ops/rows.h"
#include "op/ops_private.h"
#undef TN_HERE
#define TN_HERE __FILE__ ":" TN__STR(__LINE__)
#include <string.h>

/* ---- the expressions, compiled by the test ---- */

static real sigmoidl(real x)
{
    return 1 / (1 + expl(-x));
}

static real normcdfl(real x)
{
    return erfcl(x * -0.707106781186547524400844362104849039L) / 2;
}

/* glibc's powl for x86 takes y = -2^63 for positive; whole numbers that large are even. */
static real pow_of(real x, real y)
{
    return powl(fabsl(y) >= 0x1p62L ? fabsl(x) : x, y);
}
#define powl pow_of

#define T             real
#define TN_IS_FLOAT   1
#define TN_INFINITY   KIT_INF
#define K(x)          ((real)(x))
#define M(f)          f##l
#define E(name)       name##_ref_f
#define DEVICE        static inline
#define TN_NARROW     0
#define TW            real
#define KW(x)         ((real)(x))
#define MW(f)         f##l
#define FMAW(a, b, c) ((a) * (b) + (c))
#include "op/element.h"
#include "op/special.h"

#define FLOAT_ROW(name, expr) \
    static real name##_f(real a, real b, real c) \
    { \
        (void)a, (void)b, (void)c; \
        return (real)(expr); \
    }
#define NO_FLOAT_ROW(name, expr)       enum { name##_has_no_floats };
#define FLT_R_SAME                     FLOAT_ROW
#define FLT_R_NUMBER                   FLOAT_ROW
#define FLT_R_NEG                      FLOAT_ROW
#define FLT_R_RELU                     FLOAT_ROW
#define FLT_R_LONG                     FLOAT_ROW
#define FLT_R_FLOAT                    FLOAT_ROW
#define FLT_R_FLOATING                 FLOAT_ROW
#define FLT_R_TEST                     FLOAT_ROW
#define FLT_R_PROMOTE                  FLOAT_ROW
#define FLT_R_BITS                     NO_FLOAT_ROW
#define FLT_R_INTEGER                  NO_FLOAT_ROW
#define FLT_R_SUB                      FLOAT_ROW
#define FLT_R_DIVIDE                   FLOAT_ROW
#define FLT_R_POW                      FLOAT_ROW
#define FLT_R_CLAMP                    FLOAT_ROW
#define FLT_R_WHERE                    FLOAT_ROW
#define FLT_R_FILL                     FLOAT_ROW
#define UNARY(name, rule, expr, ...)   FLT_##rule(name, expr)
#define BINARY(name, rule, expr, ...)  FLT_##rule(name, expr)
#define TERNARY(name, rule, expr, ...) FLT_##rule(name, expr)
#include "op/elementwise.def"
#include "op/element_undef.h"

#define T           int64_t
#define UT          uint64_t
#define TN_IS_FLOAT 0
#define K(x)        ((int64_t)(x))
#define E(name)     name##_ref_i
#define DEVICE      static inline
#include "op/element.h"
#include "op/special.h"

#define INT_ROW(name, expr) \
    static int64_t name##_i(int64_t a, int64_t b, int64_t c) \
    { \
        (void)a, (void)b, (void)c; \
        return (int64_t)(expr); \
    }
#define NO_INT_ROW(name, expr)         enum { name##_has_no_integers };
#define INT_R_SAME                     INT_ROW
#define INT_R_NUMBER                   INT_ROW
#define INT_R_NEG                      INT_ROW
#define INT_R_RELU                     INT_ROW
#define INT_R_LONG                     INT_ROW
#define INT_R_FLOAT                    NO_INT_ROW
#define INT_R_FLOATING                 NO_INT_ROW
#define INT_R_TEST                     INT_ROW
#define INT_R_PROMOTE                  INT_ROW
#define INT_R_BITS                     INT_ROW
#define INT_R_INTEGER                  INT_ROW
#define INT_R_SUB                      INT_ROW
#define INT_R_DIVIDE                   INT_ROW
#define INT_R_POW                      INT_ROW
#define INT_R_CLAMP                    INT_ROW
#define INT_R_WHERE                    INT_ROW
#define INT_R_FILL                     INT_ROW
#define UNARY(name, rule, expr, ...)   INT_##rule(name, expr)
#define BINARY(name, rule, expr, ...)  INT_##rule(name, expr)
#define TERNARY(name, rule, expr, ...) INT_##rule(name, expr)
#include "op/elementwise.def"
#include "op/element_undef.h"

/* ---- the table ---- */

#define POINTER(name)   name##_i
#define NOTHING(name)   NULL
#define PTR_R_SAME      POINTER
#define PTR_R_NUMBER    POINTER
#define PTR_R_NEG       POINTER
#define PTR_R_RELU      POINTER
#define PTR_R_LONG      POINTER
#define PTR_R_FLOAT     NOTHING
#define PTR_R_FLOATING  NOTHING
#define PTR_R_TEST      POINTER
#define PTR_R_PROMOTE   POINTER
#define PTR_R_BITS      POINTER
#define PTR_R_INTEGER   POINTER
#define PTR_R_SUB       POINTER
#define PTR_R_DIVIDE    POINTER
#define PTR_R_POW       POINTER
#define PTR_R_CLAMP     POINTER
#define PTR_R_WHERE     POINTER
#define PTR_R_FILL      POINTER
#define FLOATING(name)  name##_f
#define FPTR_R_SAME     FLOATING
#define FPTR_R_NUMBER   FLOATING
#define FPTR_R_NEG      FLOATING
#define FPTR_R_RELU     FLOATING
#define FPTR_R_LONG     FLOATING
#define FPTR_R_FLOAT    FLOATING
#define FPTR_R_FLOATING FLOATING
#define FPTR_R_TEST     FLOATING
#define FPTR_R_PROMOTE  FLOATING
#define FPTR_R_BITS     NOTHING
#define FPTR_R_INTEGER  NOTHING
#define FPTR_R_SUB      FLOATING
#define FPTR_R_DIVIDE   FLOATING
#define FPTR_R_POW      FLOATING
#define FPTR_R_CLAMP    FLOATING
#define FPTR_R_WHERE    FLOATING
#define FPTR_R_FILL     FLOATING

const row rows[] = {
#define UNARY(name_, rule_, expr, da, steps) \
    {.name = #name_, \
     .arity = 1, \
     .rule = rule_, \
     .f = FPTR_##rule_(name_), \
     .i = PTR_##rule_(name_), \
     .differentiable = {da}, \
     .one = tn_##name_##_at, \
     .one_ = tn_##name_##__at},
#define BINARY(name_, rule_, expr, da, db, steps) \
    {.name = #name_, \
     .arity = 2, \
     .rule = rule_, \
     .f = FPTR_##rule_(name_), \
     .i = PTR_##rule_(name_), \
     .differentiable = {da, db}, \
     .two = tn_##name_##_at, \
     .two_ = tn_##name_##__at},
#define TERNARY(name_, rule_, expr, da, db, dc, steps) \
    {.name = #name_, \
     .arity = 3, \
     .rule = rule_, \
     .f = FPTR_##rule_(name_), \
     .i = PTR_##rule_(name_), \
     .differentiable = {da, db, dc}, \
     .three = tn_##name_##_at, \
     .three_ = tn_##name_##__at},
#include "op/elementwise.def"
};
const int n_rows = (int)TN_COUNT(rows);
int64_t row_worst[TN_COUNT(rows)][2];

const row *row_find(const char *name)
{
    for (int i = 0; i < n_rows; i++)
        if (!strcmp(rows[i].name, name))
            return &rows[i];
    return NULL;
}

tn_tensor *row_call(const row *r, const tn_scalar *in, bool inplace)
{
    if (inplace) {
        tn_tensor *x = in[0].v.t;
        return r->arity == 1   ? r->one_(TN_HERE, x)
               : r->arity == 2 ? r->two_(TN_HERE, x, in[1])
                               : r->three_(TN_HERE, x, in[1], in[2]);
    }
    return r->arity == 1   ? r->one(TN_HERE, in[0].v.t)
           : r->arity == 2 ? r->two(TN_HERE, in[0], in[1])
                           : r->three(TN_HERE, in[0], in[1], in[2]);
}

/* ---- dtypes ---- */

/* torch.result_type: tensors with dimensions first, then 0-dim ones, then numbers; each only where of a higher category. */
static tn_dtype result_type(const row_operand *o, int n)
{
    tn_dtype by_rank[3] = {0, 0, 0};
    for (int i = 0; i < n; i++) {
        int rank = o[i].number ? 2 : o[i].zero_dim ? 1 : 0;
        tn_dtype d = o[i].number && o[i].dtype == TN_F64 ? tn_get_default_dtype() : o[i].dtype;
        by_rank[rank] = by_rank[rank] ? kit_promote(by_rank[rank], d) : d;
    }
    tn_dtype d = by_rank[2];
    for (int rank = 1; rank >= 0; rank--)
        if (by_rank[rank])
            d = d && kit_category(d) > kit_category(by_rank[rank]) ? kit_promote(d, by_rank[rank]) : by_rank[rank];
    return d;
}

static tn_dtype compute_of(tn_dtype d)
{
    return d == TN_F64 || d == TN_I64 ? d : kit_is_float(d) ? TN_F32 : TN_I32;
}

row_dtypes row_infer(const row *r, const row_operand *o)
{
    row_dtypes d = {.refused = false};
    int from = r->rule == R_WHERE ? 1 : 0, to = r->rule == R_FILL ? 1 : r->arity;
    d.common = result_type(o + from, to - from);
    d.result = d.common;
    switch (r->rule) {
    case R_SAME: break;
    case R_PROMOTE: /* no bound of bool that is a number */
        d.refused = !strncmp(r->name, "clamp_m", 7) && o[1].number && d.common == TN_BOOL;
        break;
    case R_NUMBER:
    case R_NEG:
    case R_RELU:
    case R_DIVIDE:
    case R_POW:
    case R_CLAMP: d.refused = d.common == TN_BOOL; break;
    case R_BITS: d.refused = kit_is_float(d.common); break;
    case R_FLOATING: d.refused = !kit_is_float(d.common); break;
    case R_INTEGER: d.refused = kit_is_float(d.common) || d.common == TN_BOOL; break;
    case R_SUB:
        for (int i = 0; i < r->arity; i++)
            d.refused |= o[i].dtype == TN_BOOL;
        break;
    case R_LONG: d.common = d.result = d.common == TN_BOOL ? TN_I64 : d.common; break;
    case R_FLOAT: d.common = d.result = kit_is_float(d.common) ? d.common : tn_get_default_dtype(); break;
    case R_TEST: d.result = TN_BOOL; break;
    case R_WHERE: d.refused = o[0].dtype != TN_BOOL && o[0].dtype != TN_U8; break;
    case R_FILL: d.refused = o[0].number || o[1].dtype != TN_BOOL || !(o[2].number || o[2].zero_dim); break;
    }
    d.compute = r->rule == R_FILL && d.common == TN_BOOL ? TN_F64 : compute_of(d.common); /* any fraction is true */
    return d;
}

/* ---- values ---- */

/* What the names of rows say, looked up once a row: the walks ask for each number. */
typedef struct facts {
    bool known;
    bool
        narrows; /* tensors of no dimensions wrap around as numbers do; sums and products come to the same without, comparisons
                   * and bounds take them as they are */
    bool sized; /* the size of what is left of the product */
    bool smooth;
    bool bounded; /* has operands with a domain */
} facts;

static const facts *facts_of(const row *r);

/* An operand as the row computes with it. Whole numbers wrap around in an integer common dtype; comparisons take them
 * as they are. */
static real operand_value(const row *r, const row_operand *o, const row_dtypes *d, real v)
{
    if ((o->number || (o->zero_dim && facts_of(r)->narrows)) && !kit_is_float(d->compute))
        return r->rule == R_TEST ? v : kit_convert(v, o->dtype, d->common);
    return kit_convert(v, o->number && o->dtype == TN_F64 ? TN_F64 : o->dtype, d->compute);
}

static real evaluate(const row *r, const row_dtypes *d, const real *x)
{
    if (kit_is_float(d->compute))
        return r->f(x[0], x[1], x[2]);
    const real v = kit_round((real)r->i((int64_t)x[0], (int64_t)x[1], (int64_t)x[2]), d->compute);
    return v < 0 && -v <= kit_max(d->compute) && facts_of(r)->sized ? -v : v;
}

static void operands(const row *r, const row_operand *o, const row_dtypes *d, const real *in, real *x)
{
    x[0] = x[1] = x[2] = 0;
    for (int i = 0; i < r->arity; i++)
        x[i] = operand_value(r, &o[i], d, in[i]);
}

real row_reference(const row *r, const row_operand *o, const row_dtypes *d, const real *in)
{
    real x[3];
    operands(r, o, d, in, x);
    return evaluate(r, d, x);
}

static bool has_smooth_name(const row *r)
{
    static const char *const begins[] = {
        "_silu",  "_gelu",         "_mish",       "_softplus",  "_logsigmoid",    "_elu",       "_celu",
        "_selu",  "_softsign",     "_tanhshrink", "_gated",     "_gate_",         "_hardswish", "_square_",
        "_sin_",  "_cos_",         "_tan_",       "_sinh",      "_cosh",          "_asin",      "_acos",
        "_atan",  "_exp2",         "_expm1",      "_log1p",     "_log2",          "_log10",     "_sqrt",
        "_rsqrt", "_reciprocal",   "_erf",        "_div_",      "_product_ratio", "_logaddexp", "_pow_",
        "_lerp",  "_add_quotient", "_mse",        "_smooth_l1", "_huber",         "_bce_",      "_kl_div"};
    for (size_t i = 0; i < TN_COUNT(begins); i++)
        if (!strncmp(r->name, begins[i], strlen(begins[i])))
            return true;
    return false;
}

/* ---- values to try ---- */

/* Operands of rows that nothing but a derivative or one function calls, which gives them no others: what a gradient saved, an
 * order, a bound, how many digits. */
static const struct {
    const char *row;
    int first, last; /* operands */
    double least, most;
    bool whole;
} domains[] = {
    {"_polygamma", 0, 0, 2, 9, true},
    {"_logit", 1, 1, -0.1, 0.5, false},
    {"_logit_backward", 2, 2, -0.1, 0.5, false},
    {"_scaled_exp", 1, 2, -9, 9, false},
    {"_scaled_difference", 1, 2, -9, 9, false},
    {"_norm_backward", 1, 2, -9, 9, true},
    {"_nextafter_narrow", 2, 2, 10, 10, true},
    {"_cauchy_of", 0, 0, -0.4, 0.4, false},
    {"_cauchy_of", 1, 2, -9, 9, false},
};

static const facts *facts_of(const row *r)
{
    static facts all[TN_COUNT(rows)];
    facts *f = &all[r - rows];
    if (f->known)
        return f;
    f->narrows = r->rule == R_DIVIDE || r->rule == R_INTEGER || !strcmp(r->name, "maximum") ||
                 !strcmp(r->name, "minimum") || !strcmp(r->name, "fmax") || !strcmp(r->name, "fmin");
    f->sized = !strcmp(r->name, "lcm");
    f->smooth = has_smooth_name(r);
    for (size_t k = 0; k < TN_COUNT(domains); k++)
        f->bounded |= !strcmp(r->name, domains[k].row);
    f->known = true;
    return f;
}

bool row_is_smooth(const row *r)
{
    return facts_of(r)->smooth;
}

bool row_has_domain(const row *r, int i, tn_dtype d, real *v)
{
    for (size_t k = 0; k < TN_COUNT(domains) && facts_of(r)->bounded; k++)
        if (!strcmp(r->name, domains[k].row) && i >= domains[k].first && i <= domains[k].last) {
            const real x = (real)kit_uniform(domains[k].least, domains[k].most);
            *v = !kit_is_float(d) ? truncl(fabsl(x)) : kit_round(domains[k].whole ? roundl(x) : x, d);
            return true;
        }
    return false;
}

/* ---- bounds ---- */

/* The bounds. 0: one operation that IEEE 754 rounds correctly, or none that rounds. The others:
 *   rsqrt       1/sqrt: the root's half ulp is halved, the quotient's added: < 1.5
 *   pow         libm's pow (glibc: < 1 ulp), or a*a*a: two roundings
 *   exp log log1p tanh  float: the polynomials of backend/cpu/math.inc.h; double: glibc's manual gives <= 2
 *   sigmoid     1 / (1 + exp(-x)): exp's error, damped, and two roundings; exp overflows before the result, which is then
 *               smaller than the smallest normal number, is zero
 *   sin cos     absolute 2^-24: the reduction modulo pi/2 has an absolute error (cancellation near multiples of pi)
 *   div_floor div_trunc  whole numbers, but a quotient that rounds up to one counts as it: hence 'backward'
 *   lgamma digamma  zeros: the sums that cancel there have an absolute error
 *   igamma igammac  the part is 1 less the other one, where that is larger; of float32 on GPUs in float32
 *   _polygamma  n! times a sum that may be smaller than the smallest normal number
 *   zeta erfcx modified_bessel_k  sums of ten and more terms; bases of large powers
 *   i1 erfcx    float: two factors exp of CUDA's, 2 ulp each, and 4 of the rest: 7 and 5 were measured on an H200
 *   *_backward  1 - b*b and 1 - b cancel: backward
 * A row that is not named gets 4 ulps and 'backward'. */
static const struct {
    const char *name;
    row_bound bound;
} known[] = {
    {"neg", {0}},
    {"abs", {0}},
    {"sign", {0}},
    {"sqrt", {0}},
    {"reciprocal", {0}},
    {"square", {0}},
    {"relu", {0}},
    {"floor", {0}},
    {"ceil", {0}},
    {"round", {0}},
    {"trunc", {0}},
    {"add", {0}},
    {"sub", {0}},
    {"mul", {0}},
    {"div", {0}},
    {"remainder", {1, 1, false, 0, 0}},
    {"maximum", {0}},
    {"minimum", {0}},
    {"clamp_min", {0}},
    {"clamp_max", {0}},
    {"_threshold_backward", {0}},
    {"where", {0}},
    {"_clamp", {0}},
    {"masked_fill", {0}},
    {"rsqrt", {2, 2, false, 0, 0}},
    {"pow", {2, 2, false, 0, 0}},
    {"exp", {2, 1, false, 0, 0}},
    {"log", {2, 1, false, 0, 0}},
    {"log1p", {3, 2, false, 0, 0}},
    {"tanh", {4, 2, false, 0, 0}},
    {"sigmoid", {4, 3, false, 0x1p-126L, 0x1p-1022L}},
    {"sin", {2, 1, false, 0x1p-24L, 0}},
    {"cos", {2, 1, false, 0x1p-24L, 0}},
    {"lgamma", {4, 4, true, 0x1p-20L, 0x1p-46L}},
    {"digamma", {4, 4, true, 0x1p-20L, 0x1p-46L}},
    {"igamma", {4, 4, true, 0x1p-22L, 0x1p-40L}},
    {"igammac", {4, 4, true, 0x1p-20L, 0x1p-40L}},
    {"logaddexp2", {4, 4, true, 0x1p-23L, 0x1p-52L}},
    {"log_ndtr", {4, 8, true, 0, 0}},
    {"_scaled_exp", {4, 4, true, 0x1p-126L, 0x1p-1022L}},
    {"_logit_backward", {4, 4, true, 0x1p-126L, 0x1p-1022L}},
    {"zeta", {4, 64, true, 0, 0}},
    {"_polygamma", {4, 64, true, 0x1p-130L, 0x1p-1022L}},
    {"erfcx", {8, 16, true, 0, 0}},
    {"i1", {8, 4, true, 0, 0}},
    {"modified_bessel_i1", {8, 4, true, 0, 0}},
    {"modified_bessel_k0", {8, 16, true, 0, 0}},
    {"modified_bessel_k1", {8, 16, true, 0, 0}},
    {"scaled_modified_bessel_k0", {8, 16, true, 0, 0}},
    {"scaled_modified_bessel_k1", {8, 16, true, 0, 0}},
    {"div_floor", {1, 1, true, 0, 0}},
    {"div_trunc", {1, 1, true, 0, 0}},
};

row_bound row_bound_of(const row *r)
{
    if (r->rule == R_TEST)
        return (row_bound){0};
    if (row_is_smooth(r))
        return (row_bound){4, 4, true, 0x1p-15L, 0x1p-44L};
    for (size_t i = 0; i < TN_COUNT(known); i++)
        if (!strcmp(known[i].name, r->name))
            return known[i].bound;
    return (row_bound){4, 4, true, 0, 0};
}

/* The compute dtype's value, as the tensor that holds it has it. */
static real stored(real v, const row_dtypes *d, tn_dtype to)
{
    tn_dtype from = d->result == TN_BOOL ? TN_BOOL : d->compute;
    return kit_convert(kit_round(v, from), from, to);
}

/* Double rounding: x87's 64 bits rounded once more to 53 may fall on the wrong side of a tie. */
static bool nearly_tied(real got, real exact)
{
    return fabsl(got - exact) <= kit_ulp(TN_F64, exact) * (0.5L + 0x1p-9L);
}

/* Between the least and the largest result for operands one ulp off. */
static bool within_backward(const row *r, const row_dtypes *d, tn_dtype to, const real *x, int64_t k, real got)
{
    real lo = KIT_INF, hi = -KIT_INF, y[3];
    for (int n = 0; n < 27; n++) {
        int off[3] = {n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1};
        for (int i = 0; i < 3; i++)
            y[i] = isfinite(x[i]) ? x[i] + off[i] * kit_ulp(d->compute, x[i]) : x[i];
        real v = r->f(y[0], y[1], y[2]);
        if (isnan(v))
            continue;
        lo = v < lo ? v : lo;
        hi = v > hi ? v : hi;
    }
    lo -= k * kit_ulp(d->compute, lo);
    hi += k * kit_ulp(d->compute, hi);
    return stored(lo, d, to) <= got && got <= stored(hi, d, to);
}

bool row_accepts(const row *r, const row_operand *o, const row_dtypes *d, tn_dtype to, const real *in, real got)
{
    real x[3];
    operands(r, o, d, in, x);
    const real exact = evaluate(r, d, x), want = stored(exact, d, to);
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got);
    if (want == got && (want != 0 || !signbit(want) == !signbit(got)))
        return true;
    if (!kit_is_float(d->compute) || !kit_is_float(to) || d->result == TN_BOOL)
        return false;
    const row_bound bound = row_bound_of(r);
    const bool wide = d->compute == TN_F64;
    const real floor = wide ? bound.floor64 : bound.floor32; /* what is smaller has no sign to speak of */
    const bool signless = exact != 0 && fabsl(exact) <= floor;
    if (want == got) /* zeros of two signs */
        return signless;
    const int64_t k = wide ? bound.k64 : bound.k32, ulps = kit_ulps(to, got, want);
    if (to == d->compute && ulps <= (k ? k : 4) && ulps > row_worst[r - rows][wide])
        row_worst[r - rows][wide] = ulps;
    if (ulps <= (to == d->compute ? k : k ? 1 : 0))
        return true;
    if (k == 0 && wide && ulps == 1)
        return nearly_tied(got, exact);
    if (fabsl(got - exact) <= floor && (row_is_smooth(r) || !signbit(got) == !signbit(want) || signless))
        return true;
    return bound.backward && within_backward(r, d, to, x, k, got);
}
