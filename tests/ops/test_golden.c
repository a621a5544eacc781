/* What PyTorch 2.14.1 answered: special values through every elementwise row, and the dtypes that promotion gives. */
#include "ops/digest.h"
#include "ops/golden.h"
#include <string.h>

/* ---- special values ---- */

/* Where Tenon's answer is right by ops/rows.h's reference and PyTorch's is not, or is another of two defensible ones:
 *   sqrt of integers         PyTorch's is one ulp off
 *   div_floor, div_trunc     of 16-bit floats: PyTorch rounds each step to 16 bits, Tenon computes in float32
 *   remainder                PyTorch's vectorised fmod gives NaN where the quotient overflows
 *   pow(x, 0.5), a number    is sqrt in PyTorch: -0 for -0, NaN for -inf; C's pow (and PyTorch's with tensors) says 0, inf
 *   clamp                    of a zero by zeros: PyTorch's vectors take the bound, its last elements and number bounds keep the
 *                            zero and its sign, as Tenon always does */
static int64_t differences;

static bool known_difference(const row *r, tn_dtype from, tn_dtype to, const char *what, real want)
{
    bool narrow = from == TN_F16 || from == TN_BF16;
    return (!strcmp(r->name, "sqrt") && !kit_is_float(from)) ||
           ((!strcmp(r->name, "div_floor") || !strcmp(r->name, "div_trunc")) && narrow) ||
           (!strcmp(r->name, "remainder") && isnan(want)) || (r->rule == R_CLAMP && want == 0) ||
           (!strcmp(r->name, "pow") && kit_is_float(to) && !strcmp(what, "number second 0.5 and"));
}

/* Both have errors: theirs may be as large as the bound again, in ulps of the result. */
static bool agrees(const row *r, tn_dtype d, real got, real want)
{
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want);
    if (got == want)
        return want != 0 || !kit_is_float(d) || !signbit(got) == !signbit(want);
    if (!kit_is_float(d))
        return false;
    row_bound b = row_bound_of(r);
    int64_t k = d == TN_F64 ? b.k64 : b.k32;
    if (kit_ulps(d, got, want) <= (k == 0 ? 0 : kit_digits(d) < 24 ? 1 : k + 1))
        return true;
    return k && fabsl(got - want) <= 2 * (d == TN_F64 ? b.floor64 : b.floor32) && !signbit(got) == !signbit(want);
}

/* One element's operands: of the tensors shown, and the number that 'what' names. */
typedef struct shown {
    const tn_tensor *t[3];
    int number_at; /* -1: none */
    tn_scalar number;
} shown;

static bool reference_agrees(const row *r, const shown *s, int64_t i, tn_dtype to, real got)
{
    row_operand o[3] = {{0}};
    real in[3] = {0, 0, 0};
    for (int k = 0; k < r->arity; k++) {
        bool number = k == s->number_at;
        if (!number && !s->t[k])
            return false;
        o[k] = (row_operand){number ? s->number.kind == TN_SCALAR_FLOAT  ? TN_F64
                                      : s->number.kind == TN_SCALAR_BOOL ? TN_BOOL
                                                                         : TN_I64
                                    : tn_tensor_dtype(s->t[k]),
                             number, false};
        in[k] = !number                             ? kit_item(s->t[k], i)
                : s->number.kind == TN_SCALAR_FLOAT ? (real)s->number.v.f
                                                    : (real)s->number.v.i;
    }
    row_dtypes d = row_infer(r, o);
    return row_accepts(r, o, &d, to, in, got);
}

static void compare(const row *r, const char *what, tn_dtype from, const tn_tensor *got, const cJSON *answer,
                    const shown *in)
{
    kit.cases++;
    if (cJSON_IsNull(answer)) {
        if (got)
            kit_fail("%s %s %s: PyTorch refuses it", r->name, what, tn_dtype_name(from));
        tn_error_clear();
        return;
    }
    const char *name = cJSON_GetArrayItem(answer, 0)->valuestring;
    tn_tensor *want = golden_tensor(cJSON_GetArrayItem(answer, 1)->valuestring, tn_dtype_parse(name));
    if (!got || !want || tn_tensor_dtype(got) != tn_tensor_dtype(want) ||
        tn_tensor_numel(got) != tn_tensor_numel(want)) {
        kit_fail("%s %s %s: %s, not %s; %s", r->name, what, tn_dtype_name(from), tn_dtype_name(tn_tensor_dtype(got)),
                 name, tn_error_message());
        tn_error_clear();
        return;
    }
    digest_note(r->name, what, kit_host(got));
    for (int64_t i = 0; i < tn_tensor_numel(want); i++) {
        real x = kit_item(got, i), y = kit_item(want, i);
        kit.elements++;
        if (agrees(r, tn_tensor_dtype(want), x, y))
            continue;
        if (known_difference(r, from, tn_tensor_dtype(want), what, y) &&
            reference_agrees(r, in, i, tn_tensor_dtype(want), x)) {
            differences++;
            continue;
        }
        real a[3] = {0, 0, 0};
        for (int k = 0; k < 3; k++)
            a[k] = in->t[k] ? kit_item(in->t[k], i) : 0;
        kit_fail("%s %s %s (%.20Lg, %.20Lg, %.20Lg): %.20Lg, PyTorch %.20Lg", r->name, what, tn_dtype_name(from), a[0],
                 a[1], a[2], x, y);
        return;
    }
}

static tn_scalar number_of(const cJSON *j)
{
    if (cJSON_IsBool(j))
        return tn_scalar_b(cJSON_IsTrue(j));
    return j->valuedouble == floor(j->valuedouble) ? tn_scalar_i((int64_t)j->valuedouble) : tn_scalar_f(j->valuedouble);
}

/* a repeated for each of b, and b over and over: every pair. The test's own loops. */
static tn_tensor *repeated(const tn_tensor *t, int64_t each, int64_t times)
{
    tn_dtype d = tn_tensor_dtype(t);
    int64_t n = tn_tensor_numel(t), size = kit_size(d), k = 0;
    char *p = malloc((size_t)(n * each * times * size) + 1);
    for (int64_t j = 0; j < times; j++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t e = 0; e < each; e++)
                memcpy(p + k++ * size, (const char *)tn_data(t) + i * size, (size_t)size);
    return tn_from_data(p, d, TN_SHAPE(k), .release = free, .ctx = p);
}

static const cJSON *entry(const cJSON *j, const char *section, const char *op, const char *dtype)
{
    const cJSON *e = cJSON_GetObjectItem(cJSON_GetObjectItem(j, section), op);
    return dtype && e ? cJSON_GetObjectItem(e, dtype) : e;
}

static void special_unary(const cJSON *j, const row *r, const char *dtype, tn_tensor *v)
{
    const shown in = {{v, NULL, NULL}, -1, tn_scalar_none()};
    const tn_scalar arg[3] = {tn_scalar_t(v), tn_scalar_none(), tn_scalar_none()};
    const cJSON *want = entry(j, "unary", r->name, dtype);
    if (want)
        compare(r, "of", tn_tensor_dtype(v), row_call(r, arg, false), want, &in);
}

static void special_binary(const cJSON *j, const row *r, const char *dtype, tn_tensor *v, tn_tensor *divisors)
{
    const cJSON *want = entry(j, "binary", r->name, dtype), *numbers = cJSON_GetObjectItem(j, "numbers");
    tn_tensor *b = r->rule == R_DIVIDE ? divisors : v;
    if (!want)
        return;
    tn_tensor *x = repeated(v, tn_tensor_numel(b), 1), *y = repeated(b, 1, tn_tensor_numel(v));
    const shown in = {{x, y, NULL}, -1, tn_scalar_none()};
    const tn_scalar arg[3] = {tn_scalar_t(x), tn_scalar_t(y), tn_scalar_none()};
    compare(r, "of", tn_tensor_dtype(v), row_call(r, arg, false), want, &in);
    for (int form = 0; form < 2; form++) {
        const cJSON *list = entry(j, form ? "number_first" : "number_second", r->name, dtype);
        for (int i = 0; i < cJSON_GetArraySize(list); i++) {
            const cJSON *answer = cJSON_GetArrayItem(list, i);
            tn_scalar k = number_of(cJSON_GetArrayItem(numbers, i));
            char what[64];
            snprintf(what, sizeof what, form ? "number %g and" : "number second %g and",
                     cJSON_GetArrayItem(numbers, i)->valuedouble);
            const tn_scalar with[3] = {form ? k : tn_scalar_t(v), form ? tn_scalar_t(b) : k, tn_scalar_none()};
            const shown operands = {{form ? NULL : v, form ? b : NULL, NULL}, form ? 0 : 1, k};
            if (!cJSON_IsString(answer)) /* "skip" */
                compare(r, what, tn_tensor_dtype(v), row_call(r, with, false), answer, &operands);
        }
    }
}

static void special_clamp(const cJSON *j, const row *r, const char *dtype, tn_tensor *v)
{
    tn_tensor *b =
        golden_tensor(cJSON_GetObjectItem(cJSON_GetObjectItem(j, "bounds"), dtype)->valuestring, tn_tensor_dtype(v));
    int64_t n = tn_tensor_numel(b), m = tn_tensor_numel(v);
    tn_tensor *x = repeated(v, n * n, 1), *y = repeated(b, n, m), *z = repeated(b, 1, n * m);
    const shown in = {{x, y, z}, -1, tn_scalar_none()};
    const tn_scalar arg[3] = {tn_scalar_t(x), tn_scalar_t(y), tn_scalar_t(z)};
    compare(r, "of", tn_tensor_dtype(v), row_call(r, arg, false), entry(j, "ternary", r->name, dtype), &in);
}

/* where and masked_fill: every other element; where takes the reversed values for its third operand. */
static void special_masked(const cJSON *j, const row *r, const char *dtype, tn_tensor *v)
{
    int64_t n = tn_tensor_numel(v), size = kit_size(tn_tensor_dtype(v));
    unsigned char *mask = malloc((size_t)n), *back = malloc((size_t)(n * size));
    for (int64_t i = 0; i < n; i++) {
        mask[i] = i % 2 == 0;
        memcpy(back + i * size, (const char *)tn_data(v) + (n - 1 - i) * size, (size_t)size);
    }
    tn_tensor *m = tn_from_data(mask, TN_BOOL, TN_SHAPE(n), .release = free, .ctx = mask);
    tn_tensor *w = tn_from_data(back, tn_tensor_dtype(v), TN_SHAPE(n), .release = free, .ctx = back);
    const cJSON *want = entry(j, "ternary", r->name, dtype), *numbers = cJSON_GetObjectItem(j, "numbers");
    const shown in = {{m, v, w}, -1, tn_scalar_none()};
    if (r->rule == R_WHERE) {
        const tn_scalar arg[3] = {tn_scalar_t(m), tn_scalar_t(v), tn_scalar_t(w)};
        compare(r, "of", tn_tensor_dtype(v), row_call(r, arg, false), want, &in);
        return;
    }
    for (int i = 0; i < cJSON_GetArraySize(want); i++) {
        char what[64];
        const tn_scalar arg[3] = {tn_scalar_t(v), tn_scalar_t(m), number_of(cJSON_GetArrayItem(numbers, i))};
        snprintf(what, sizeof what, "with %g of", cJSON_GetArrayItem(numbers, i)->valuedouble);
        if (!cJSON_IsString(cJSON_GetArrayItem(want, i)))
            compare(r, what, tn_tensor_dtype(v), row_call(r, arg, false), cJSON_GetArrayItem(want, i), &in);
    }
}

static void special(void)
{
    cJSON *j = golden_open("special.json");
    const cJSON *v;
    for (int i = 0; i < n_rows && j; i++) {
        const row *r = &rows[i];
        const char *section = r->arity == 1 ? "unary" : r->arity == 2 ? "binary" : "ternary";
        if (!entry(j, section, r->name, NULL) && r->name[0] != '_')
            printf("no table for %s: run tests/data/make_golden.py\n", r->name);
        cJSON_ArrayForEach(v, cJSON_GetObjectItem(j, "values"))
        {
            tn_scope *scope = tn_scope_open();
            const char *dtype = v->string;
            tn_dtype d = tn_dtype_parse(dtype);
            tn_tensor *t = golden_tensor(v->valuestring, d);
            tn_tensor *divisors =
                golden_tensor(cJSON_GetObjectItem(cJSON_GetObjectItem(j, "divisors"), dtype)->valuestring, d);
            if (r->arity == 1)
                special_unary(j, r, dtype, t);
            else if (r->arity == 2)
                special_binary(j, r, dtype, t, divisors);
            else if (r->rule == R_CLAMP)
                special_clamp(j, r, dtype, t);
            else
                special_masked(j, r, dtype, t);
            tn_scope_close(scope);
        }
    }
    cJSON_Delete(j);
}

/* ---- promotion ---- */

static char letter(const tn_tensor *t)
{
    static const char letters[] = "?bucsilhgfd"; /* by dtype, as in the file */
    tn_dtype d = tn_tensor_dtype(t);
    return t ? letters[d] : '!';
}

/* PyTorch takes pow of bool only with the numbers 0 and 1, clamp_min and clamp_max of bool only with tensors, and its
 * mse_loss lets bool be subtracted from floats; Tenon goes by the rows' rules. */
static bool known_exception(const char *what, const char *kind, int a, int b)
{
    bool number = strstr(kind, "number") != NULL, both = kit_dtypes[a % KIT_DTYPES] == TN_BOOL && b == 0;
    if (!strcmp(what, "pow") || !strcmp(what, "clamp_min") || !strcmp(what, "clamp_max"))
        return number && both;
    return !strcmp(what, "mse_loss two") && (a == 0 || b == 0);
}

static void expect(const char *what, const char *kind, int a, int b, const tn_tensor *got, char want)
{
    char have = letter(got);
    kit.cases += want != '?';
    if (want != '?' && have != want && known_exception(what, kind, a, b))
        differences++;
    else if (want != '?' && have != want)
        kit_fail("%s, %s, %s and %d:%s: %c, PyTorch %c; %s", what, kind, tn_dtype_name(kit_dtypes[a % KIT_DTYPES]), b,
                 tn_dtype_name(kit_dtypes[b % KIT_DTYPES]), have, want, got ? "" : tn_error_message());
    tn_error_clear();
}

typedef struct samples {
    tn_tensor *dims[KIT_ALL_DTYPES], *zero[KIT_ALL_DTYPES];
    tn_scalar number[3];
} samples;

static samples make_samples(void)
{
    samples s;
    for (int i = 0; i < KIT_DTYPES; i++) {
        s.dims[i] = tn_ones(TN_SHAPE(2, 2), .dtype = kit_dtypes[i]);
        s.zero[i] = tn_ones(TN_SHAPE(), .dtype = kit_dtypes[i]);
    }
    s.number[0] = tn_scalar_b(true);
    s.number[1] = tn_scalar_i(2);
    s.number[2] = tn_scalar_f(2.5);
    return s;
}

static tn_scalar pick(const samples *s, const char *kind, int i)
{
    return !strcmp(kind, "dims")   ? tn_scalar_t(s->dims[i])
           : !strcmp(kind, "zero") ? tn_scalar_t(s->zero[i])
                                   : s->number[i];
}

/* One table: "dims zero" and so on; rows are the first operand. "in place x": the first is a copy that is written. */
static void promote_table(const samples *s, const row *r, const cJSON *table)
{
    char first[16] = "dims", second[16] = "dims";
    const char *kind = table->string;
    bool inplace = !strncmp(kind, "in place", 8), where = r->rule == R_WHERE;
    sscanf(inplace ? kind + 8 : kind, inplace ? "%15s" : "%15s %15s", inplace ? second : first, second);
    int na = strcmp(first, "number") ? KIT_DTYPES : 3, nb = strcmp(second, "number") ? KIT_DTYPES : 3;
    for (int a = 0; a < na; a++)
        for (int b = 0; b < nb; b++) {
            tn_scope *scope = tn_scope_open();
            tn_scalar x = inplace ? tn_scalar_t(tn_clone(s->dims[a])) : pick(s, first, a), y = pick(s, second, b);
            const tn_scalar in[3] = {where ? tn_scalar_t(s->zero[0]) : x, where ? x : y, y};
            expect(r->name, kind, a, b, row_call(r, in, inplace), table->valuestring[a * nb + b]);
            tn_scope_close(scope);
        }
}

static void promote_rows(const cJSON *j, const samples *s)
{
    for (int i = 0; i < n_rows; i++) {
        const row *r = &rows[i];
        const cJSON *e = cJSON_GetObjectItem(cJSON_GetObjectItem(j, "binary"), r->name), *table;
        cJSON_ArrayForEach(table, e) promote_table(s, r, table);
        for (int form = 0; form < 2; form++) {
            char name[64];
            snprintf(name, sizeof name, form ? "%s_" : "%s", r->name);
            const cJSON *u = cJSON_GetObjectItem(cJSON_GetObjectItem(j, "unary"), name);
            for (int k = 0; u && k < KIT_DTYPES; k++) {
                const tn_scalar in[3] = {tn_scalar_t(form ? tn_clone(s->dims[k]) : s->dims[k]), tn_scalar_none(),
                                         tn_scalar_none()};
                expect(name, form ? "in place" : "", k, k, row_call(r, in, form), u->valuestring[k]);
            }
        }
    }
}

typedef tn_tensor *(*one_fn)(tn_tensor *x, tn_dtype d);
typedef tn_tensor *(*two_fn)(tn_tensor *a, tn_tensor *b);

#define ALL_AND_DIM(name) \
    static tn_tensor *all_##name(tn_tensor *x, tn_dtype d) \
    { \
        (void)d; \
        return tn_##name(x); \
    } \
    static tn_tensor *dim_##name(tn_tensor *x, tn_dtype d) \
    { \
        (void)d; \
        return tn_##name(x, .dim = 1); \
    }
#define WITH_DTYPE(name) \
    static tn_tensor *dtype_##name(tn_tensor *x, tn_dtype d) \
    { \
        return tn_##name(x, .dtype = d); \
    }
#define ALONG(name) \
    static tn_tensor *along_##name(tn_tensor *x, tn_dtype d) \
    { \
        return tn_##name(x, 1, .dtype = d); \
    }
#define EACH_REDUCTION(X) \
    X(sum) X(mean) X(prod) X(amax) X(amin) X(any) X(all) X(argmax) X(argmin) X(max) X(min) X(var) X(std) X(logsumexp)
/* clang-format off */
EACH_REDUCTION(ALL_AND_DIM)
WITH_DTYPE(sum) WITH_DTYPE(mean) WITH_DTYPE(prod)
ALONG(cumsum) ALONG(softmax) ALONG(log_softmax)
    /* clang-format on */

    static tn_tensor *row_of(tn_tensor *x)
{
    return tn_select(x, 0, 0);
}
static tn_tensor *two_cat(tn_tensor *a, tn_tensor *b)
{
    return tn_cat(TN_TENSORS(a, b), 0);
}
static tn_tensor *two_stack(tn_tensor *a, tn_tensor *b)
{
    return tn_stack(TN_TENSORS(a, b), 0);
}
static tn_tensor *two_dot(tn_tensor *a, tn_tensor *b)
{
    return tn_dot(row_of(a), row_of(b));
}
static tn_tensor *two_mv(tn_tensor *a, tn_tensor *b)
{
    return tn_mv(a, row_of(b));
}
static tn_tensor *two_outer(tn_tensor *a, tn_tensor *b)
{
    return tn_outer(row_of(a), row_of(b));
}
static tn_tensor *two_addmm(tn_tensor *a, tn_tensor *b)
{
    return tn_addmm(a, b, b);
}
static tn_tensor *two_linear(tn_tensor *a, tn_tensor *b)
{
    return tn_linear(a, b, TN_NONE);
}
static tn_tensor *two_mse_loss(tn_tensor *a, tn_tensor *b)
{
    return tn_mse_loss(a, b);
}
static tn_tensor *two_l1_loss(tn_tensor *a, tn_tensor *b)
{
    return tn_l1_loss(a, b);
}
static tn_tensor *two_isclose(tn_tensor *a, tn_tensor *b)
{
    return tn_isclose(a, b);
}
static tn_tensor *two_index_add(tn_tensor *a, tn_tensor *b)
{
    return tn_index_add(a, 0, tn_tensor_from(TN_LIST(0, 1)), b);
}
static tn_tensor *two_scatter(tn_tensor *a, tn_tensor *b)
{
    return tn_scatter(a, 0, tn_zeros(TN_SHAPE(2, 2), .dtype = TN_I64), b);
}
static tn_tensor *two_copy_(tn_tensor *a, tn_tensor *b)
{
    return tn_copy_(tn_clone(a), b);
}

/* index and target dtypes: x is the index, as ones */
static tn_tensor *index_index_select(tn_tensor *x, tn_dtype d)
{
    (void)d;
    return tn_index_select(tn_ones(TN_SHAPE(2, 2)), 0, row_of(x));
}
static tn_tensor *index_gather(tn_tensor *x, tn_dtype d)
{
    (void)d;
    return tn_gather(tn_ones(TN_SHAPE(2, 2)), 0, x);
}
static tn_tensor *index_embedding(tn_tensor *x, tn_dtype d)
{
    (void)d;
    return tn_embedding(tn_ones(TN_SHAPE(2, 2)), row_of(x));
}
static tn_tensor *index_one_hot(tn_tensor *x, tn_dtype d)
{
    (void)d;
    return tn_one_hot(row_of(x), 3);
}
static tn_tensor *target_nll_loss(tn_tensor *x, tn_dtype d)
{
    (void)d;
    return tn_nll_loss(tn_ones(TN_SHAPE(2, 2)), row_of(x));
}

static const struct {
    const char *name;
    one_fn f;
} ones[] =
    {
#define ROW_ALL(name) {#name, all_##name}, {#name " dim", dim_##name},
        EACH_REDUCTION(ROW_ALL){"cumsum", along_cumsum},
        {"softmax", along_softmax},
        {"log_softmax", along_log_softmax},
        {"index_select index", index_index_select},
        {"gather index", index_gather},
        {"embedding index", index_embedding},
        {"one_hot index", index_one_hot},
        {"nll_loss target", target_nll_loss},
},
  with_dtype[] = {
      {"sum dtype", dtype_sum},       {"mean dtype", dtype_mean},       {"prod dtype", dtype_prod},
      {"cumsum dtype", along_cumsum}, {"softmax dtype", along_softmax}, {"log_softmax dtype", along_log_softmax},
};
static const struct {
    const char *name;
    two_fn f;
} twos[] = {
    {"mm two", (tn_mm)},
    {"matmul two", (tn_matmul)},
    {"cat two", two_cat},
    {"stack two", two_stack},
    {"dot two", two_dot},
    {"mv two", two_mv},
    {"outer two", two_outer},
    {"addmm two", two_addmm},
    {"linear two", two_linear},
    {"mse_loss two", two_mse_loss},
    {"l1_loss two", two_l1_loss},
    {"isclose two", two_isclose},
    {"index_add two", two_index_add},
    {"scatter two", two_scatter},
    {"copy_ two", two_copy_},
};

static const char *table_of(const cJSON *j, const char *name)
{
    const cJSON *t = cJSON_GetObjectItem(cJSON_GetObjectItem(j, "reduction"), name);
    if (!t)
        kit_fail("promotion.json has no '%s'", name);
    return t ? t->valuestring : NULL;
}

static void promote_structural(const cJSON *j, const samples *s)
{
    const char *t;
    for (size_t i = 0; i < TN_COUNT(ones); i++)
        for (int a = 0; (t = table_of(j, ones[i].name)) && a < KIT_DTYPES; a++)
            expect(ones[i].name, "", a, a, ones[i].f(s->dims[a], TN_DTYPE_DEFAULT), t[a]);
    for (size_t i = 0; i < TN_COUNT(with_dtype); i++)
        for (int a = 0; (t = table_of(j, with_dtype[i].name)) && a < KIT_DTYPES * KIT_DTYPES; a++)
            expect(with_dtype[i].name, "", a / KIT_DTYPES, a % KIT_DTYPES,
                   with_dtype[i].f(s->dims[a / KIT_DTYPES], kit_dtypes[a % KIT_DTYPES]), t[a]);
    for (size_t i = 0; i < TN_COUNT(twos); i++)
        for (int a = 0; (t = table_of(j, twos[i].name)) && a < KIT_DTYPES * KIT_DTYPES; a++)
            expect(twos[i].name, "", a / KIT_DTYPES, a % KIT_DTYPES,
                   twos[i].f(s->dims[a / KIT_DTYPES], s->dims[a % KIT_DTYPES]), t[a]);
}

static void promotion(void)
{
    cJSON *j = golden_open("promotion.json");
    tn_scope *scope = tn_scope_open();
    samples s = make_samples();
    if (j) {
        promote_rows(j, &s);
        promote_structural(j, &s);
    }
    tn_scope_close(scope);
    cJSON_Delete(j);
}

int main(void)
{
    special();
    printf("count: special values: %lld cases, %lld elements, %lld failures\n", (long long)kit.cases,
           (long long)kit.elements, (long long)kit.failures);
    int64_t cases = kit.cases;
    promotion();
    printf("count: promotion: %lld cases; differences that are meant, of values and dtypes: %lld\n",
           (long long)(kit.cases - cases), (long long)differences);
    return kit_finish("golden");
}
