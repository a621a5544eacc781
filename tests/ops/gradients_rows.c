/* Derivatives of elementwise rows against differences of their own expression in long double: first order over
 * layouts and broadcasts, in place, second order (also with respect to the incoming gradient). Rows and what is
 * differentiable come from the list of operations; where a row is smooth is found by trying.
 *
 * Differences: D(h) = (f(x+h) - f(x-h)) / 2h has the error h^2 f'''/6 + 2^-64 f/h; R = (4 D(h) - D(2h)) / 3 takes the
 * first term away, so |R - D(h)| bounds R's error by far. Allowed beside it: 2^-40 (1 + |R|), for formulas that
 * cancel in float64 (1 - tanh^2) lose up to 13 of 53 bits on the ranges below. Elements where R and D(h) differ by
 * more than a millionth are next to a kink or outside of the domain, those with slopes above 1000 next to a pole:
 * they are left out, and counted. */
#include "ops/gradients.h"
#include "ops/rows.h"
#include <string.h>

typedef struct slope {
    real value, error;
    bool smooth;
} slope;

static slope richardson(real d1, real d2)
{
    slope s = {(4 * d1 - d2) / 3, 0, false};
    s.error = fabsl(s.value - d1);
    s.smooth = fabsl(s.value) < 1000 && s.error <= 1e-6L * (1 + fabsl(s.value));
    return s;
}

/* Stairs look smooth from afar: a step much smaller must say the same. */
static slope confirmed(slope s, real close, real tolerance)
{
    s.smooth &= fabsl(s.value - close) <= tolerance * (1 + fabsl(s.value));
    return s;
}

static slope first(const row *r, const real *x, int k)
{
    static const int steps[3] = {-16, -15, -24};
    real d[3];
    for (int i = 0; i < 3; i++) {
        real h = ldexpl(1, steps[i]), lo[3], hi[3];
        memcpy(lo, x, sizeof lo);
        memcpy(hi, x, sizeof hi);
        lo[k] -= h;
        hi[k] += h;
        d[i] = (r->f(hi[0], hi[1], hi[2]) - r->f(lo[0], lo[1], lo[2])) / (2 * h);
    }
    return confirmed(richardson(d[0], d[1]), d[2], 1e-5L);
}

/* d^2 f / dx_k dx_l */
static slope second(const row *r, const real *x, int k, int l)
{
    static const int steps[3] = {-9, -8, -13};
    real d[3], inexact = 0;
    for (int i = 0; i < 3; i++) {
        real h = ldexpl(1, steps[i]), lo[3], hi[3];
        memcpy(lo, x, sizeof lo);
        memcpy(hi, x, sizeof hi);
        lo[l] -= h;
        hi[l] += h;
        slope a = first(r, lo, k), b = first(r, hi, k);
        if (!a.smooth || !b.smooth)
            return (slope){0, 0, false};
        d[i] = (b.value - a.value) / (2 * h);
        inexact += i < 2 ? (a.error + b.error) / h : 0;
    }
    slope s = richardson(d[0], d[1]);
    s.smooth = fabsl(s.value) < 1e6L && s.error <= 1e-3L * (1 + fabsl(s.value));
    s.error += inexact;
    return confirmed(s, d[2], 1e-2L);
}

/* ---- where a row is smooth ---- */

static const double ranges[][2] = {{-3, 3}, {0.2, 3}, {-0.9, 0.9}, {1.1, 4}, {0.1, 0.9}};
enum { RANGES = 5 };

static bool is_mask(const row *r, int k)
{
    return (r->rule == R_WHERE && k == 0) || (r->rule == R_FILL && k == 1);
}

static real draw(const row *r, int k, int range)
{
    if (is_mask(r, k))
        return (real)kit_below(2);
    static const char *const above_0[] = {"_celu", "_softsign", "_smooth_l1", "_huber"}; /* divisors, bounds */
    for (size_t i = 0; i < TN_COUNT(above_0) && k == r->arity - 1; i++)
        if (!strncmp(r->name, above_0[i], strlen(above_0[i])))
            range = 1;
    if (!strcmp(r->name, "_polygamma") && k == 0) /* an order */
        return (real)(2 + kit_below(3));
    if (!strcmp(r->name, "_nextafter_narrow") && k == 2) /* digits, of which steps are shorter than differences */
        return 50;
    return (real)kit_uniform(ranges[range][0], ranges[range][1]);
}

/* Ranges of the operands in which at least 9 of 10 points are smooth; false if there are none such. */
static bool find_domain(const row *r, int *range)
{
    int tries = r->arity == 1 ? RANGES : r->arity == 2 ? RANGES * RANGES : RANGES * RANGES * RANGES;
    for (int t = 0; t < tries; t++) {
        int good = 0;
        range[0] = t % RANGES;
        range[1] = t / RANGES % RANGES;
        range[2] = t / (RANGES * RANGES);
        for (int n = 0; n < 100; n++) {
            real x[3] = {0, 0, 0};
            bool smooth = true;
            for (int k = 0; k < r->arity; k++)
                x[k] = draw(r, k, range[k]);
            for (int k = 0; k < r->arity; k++)
                smooth &= !r->differentiable[k] || first(r, x, k).smooth;
            good += smooth;
        }
        if (good >= 90)
            return true;
    }
    return false;
}

/* ---- one trial ---- */

enum { NO_SHAPE = -1 }; /* a number */

typedef struct layout_case {
    const char *name;
    int32_t ndim;
    int64_t shape[TN_MAX_DIMS]; /* of the result */
    int32_t dims[3];            /* how many of the last dimensions an operand has; NO_SHAPE */
    uint32_t ones[3];           /* which dimensions are 1 in it */
    kit_layout layout[3];
} layout_case;

static const layout_case cases[] = {
    {"dense", 2, {3, 4}, {2, 2, 2}, {0}, {KIT_DENSE, KIT_DENSE, KIT_DENSE}},
    {"transposed", 3, {2, 3, 2}, {3, 3, 3}, {0}, {KIT_TRANSPOSED, KIT_DENSE, KIT_ROTATED}},
    {"sliced", 2, {3, 4}, {2, 2, 2}, {0}, {KIT_SLICED, KIT_TRANSPOSED, KIT_STEPPED}},
    {"expanded", 2, {3, 4}, {2, 2, 2}, {0}, {KIT_EXPANDED, KIT_EXPANDED, KIT_EXPANDED}},
    {"rows and columns", 2, {3, 4}, {2, 1, 2}, {0, 0, 2}, {KIT_DENSE, KIT_STEPPED, KIT_DENSE}},
    {"columns and rows", 2, {3, 4}, {1, 2, 2}, {0, 2, 1}, {KIT_DENSE, KIT_DENSE, KIT_SLICED}},
    {"first broadcast", 3, {2, 3, 2}, {3, 3, 2}, {5, 2, 1}, {KIT_TRANSPOSED, KIT_SLICED, KIT_DENSE}},
    {"0-dim second", 2, {3, 4}, {2, 0, 0}, {0}, {KIT_DENSE, KIT_DENSE, KIT_DENSE}},
    {"0-dim first", 2, {3, 4}, {0, 2, 2}, {0}, {KIT_DENSE, KIT_SLICED, KIT_DENSE}},
    {"number second", 2, {3, 4}, {2, NO_SHAPE, NO_SHAPE}, {0}, {KIT_DENSE, KIT_DENSE, KIT_DENSE}},
    {"number third", 2, {3, 4}, {2, 2, NO_SHAPE}, {0}, {KIT_SLICED, KIT_DENSE, KIT_DENSE}},
    {"number first", 2, {3, 4}, {NO_SHAPE, 2, 2}, {0}, {KIT_DENSE, KIT_STEPPED, KIT_DENSE}},
    {"all 0-dim", 0, {0}, {0, 0, 0}, {0}, {KIT_DENSE, KIT_DENSE, KIT_DENSE}},
    {"8-d", 8, {1, 2, 1, 2, 1, 1, 2, 1}, {8, 8, 3}, {0, 2, 0}, {KIT_DENSE, KIT_ROTATED, KIT_DENSE}},
    {"empty", 2, {3, 0}, {2, 1, 0}, {0}, {KIT_DENSE, KIT_DENSE, KIT_DENSE}},
};

typedef struct trial {
    const row *r;
    const layout_case *c;
    kit_array op[3], g, v; /* operands; the incoming gradient; what the first derivative is weighted with */
    bool number[3];
    int32_t ndim; /* of the result */
    int64_t shape[TN_MAX_DIMS], numel;
    tn_scalar in[3];
} trial;

static int64_t left_out, compared; /* elements of results, next to kinks and not */

static void operand_shape(const row *r, const layout_case *c, int k, int32_t *ndim, int64_t *shape)
{
    *ndim = c->dims[k] < 0 ? 0 : c->dims[k];
    if (r->rule == R_FILL && k == 2)
        *ndim = 0; /* the value is 0-dim */
    for (int32_t d = 0; d < *ndim; d++) {
        int32_t at = c->ndim - *ndim + d;
        shape[d] = c->ones[k] >> at & 1 ? 1 : c->shape[at];
    }
}

static void random_weights(kit_array *a, int32_t ndim, const int64_t *shape)
{
    kit_array_init(a, TN_F64, ndim, shape, KIT_DENSE);
    for (int64_t i = 0; i < a->numel; i++)
        a->v[i] = (real)kit_uniform(0.5, 2) * (kit_random() & 1 ? 1 : -1);
    kit_show(a);
}

/* False where the case does not fit the row: there must be a tensor, and masks are tensors. */
static bool prepare(trial *t, const row *r, const layout_case *c, const int *range)
{
    *t = (trial){.r = r, .c = c};
    bool any = false;
    int64_t full[TN_MAX_DIMS] = {1, 1, 1, 1, 1, 1, 1, 1};
    for (int k = 0; k < r->arity; k++) {
        t->number[k] = c->dims[k] == NO_SHAPE;
        any |= !t->number[k] && r->differentiable[k];
        if (t->number[k] && (is_mask(r, k) || (r->rule == R_FILL && k == 0) || r->arity == 1))
            return false;
    }
    if (!any)
        return false;
    for (int k = 0; k < r->arity; k++) {
        kit_array *a = &t->op[k];
        int32_t n;
        int64_t shape[TN_MAX_DIMS];
        operand_shape(r, c, k, &n, shape);
        kit_array_init(a, is_mask(r, k) ? TN_BOOL : TN_F64, n, shape, c->layout[k]);
        for (int64_t i = 0; i < a->numel; i++)
            a->v[i] = draw(r, k, range[k]);
        kit_show(a);
        t->in[k] = t->number[k] ? tn_scalar_f((double)a->v[0]) : tn_scalar_t(a->t);
        t->ndim = n > t->ndim ? n : t->ndim;
        for (int32_t d = 0; d < n; d++) /* of the result: what is not 1 */
            full[c->ndim - n + d] = shape[d] != 1 ? shape[d] : full[c->ndim - n + d];
    }
    memcpy(t->shape, full + (c->ndim - t->ndim), (size_t)t->ndim * sizeof *full);
    t->numel = kit_count(t->ndim, t->shape);
    random_weights(&t->g, t->ndim, t->shape);
    return true;
}

static void dispose(trial *t)
{
    for (int k = 0; k < t->r->arity; k++)
        kit_array_free(&t->op[k]);
    kit_array_free(&t->g);
    kit_array_free(&t->v);
}

static void point(const trial *t, int64_t i, real *x)
{
    x[0] = x[1] = x[2] = 0;
    for (int k = 0; k < t->r->arity; k++)
        x[k] = t->op[k].v[kit_broadcast(&t->op[k], t->ndim, t->shape, i)];
}

static void describe(const trial *t, char *words, size_t n, const char *form, int k)
{
    snprintf(words, n, "%s%s, %s, operand %d", t->r->name, form, t->c->name, k);
}

/* Gradient of operand k: the sum over what broadcasting made of each element. Elements of it that a kink reaches: tol
 * inf. */
static void first_order(const trial *t, int k, real *want, real *tol)
{
    const kit_array *a = &t->op[k];
    for (int64_t i = 0; i < t->numel; i++) {
        real x[3];
        int64_t o = kit_broadcast(a, t->ndim, t->shape, i);
        point(t, i, x);
        slope s = first(t->r, x, k);
        left_out += !s.smooth;
        compared += s.smooth;
        want[o] += s.smooth ? t->g.v[i] * s.value : 0;
        tol[o] += s.smooth ? fabsl(t->g.v[i]) * (s.error + 0x1p-40L * (1 + fabsl(s.value))) : KIT_INF;
    }
}

static void check_first(trial *t, tn_tensor *const *grad, const char *form)
{
    for (int k = 0; k < t->r->arity; k++) {
        if (t->number[k] || !t->r->differentiable[k])
            continue;
        char words[160];
        real *want = calloc((size_t)(2 * t->op[k].numel + 1), sizeof *want), *tol = want + t->op[k].numel;
        first_order(t, k, want, tol);
        describe(t, words, sizeof words, form, k);
        gradient_is(&t->op[k], grad[k], want, tol, words);
        free(want);
    }
}

static bool try_backward(trial *t, bool inplace)
{
    tn_tensor *grad[3] = {NULL};
    tn_scalar in[3];
    memcpy(in, t->in, sizeof in);
    for (int k = 0; k < t->r->arity; k++)
        if (!t->number[k] && t->r->differentiable[k])
            leaf(&t->op[k]);
    if (inplace)
        in[0] = tn_scalar_t(tn_clone(t->op[0].t));
    tn_tensor *y = row_call(t->r, in, inplace);
    graph_seen(y);
    kit.cases++;
    if (!y || tn_backward(y, .gradient = t->g.t)) {
        kit_fail("%s%s, %s: %s", t->r->name, inplace ? "_" : "", t->c->name, tn_error_message());
        tn_error_clear();
        return false;
    }
    for (int k = 0; k < t->r->arity; k++)
        grad[k] = t->number[k] ? NULL : tn_tensor_grad(t->op[k].t);
    check_first(t, grad, inplace ? "_" : "");
    return true;
}

/* The first operands of zeta and the incomplete gamma functions have no derivative, as in PyTorch. */
static bool first_is_underived(const row *r)
{
    return !strcmp(r->name, "zeta") || !strcmp(r->name, "igamma") || !strcmp(r->name, "igammac");
}

/* What PyTorch has no derivative of: those, //, the remainder of a number. */
static bool underived(const trial *t)
{
    if (first_is_underived(t->r))
        return !t->number[0];
    return !strcmp(t->r->name, "_heaviside") || !strcmp(t->r->name, "floor_divide") ||
           (!strcmp(t->r->name, "remainder") && t->number[0]);
}

static void refuse_backward(trial *t)
{
    leaf(&t->op[t->number[0] ? 1 : 0]);
    tn_tensor *y = row_call(t->r, t->in, false);
    graph_seen(y);
    kit.cases++;
    if (!y || !tn_backward(y, .gradient = t->g.t) || !strstr(tn_error_message(), "is not implemented"))
        kit_fail("%s, %s: a derivative that PyTorch has not got: %s", t->r->name, t->c->name, tn_error_message());
    tn_error_clear();
}

static void run_first(const row *r, const layout_case *c, const int *range, bool inplace)
{
    trial t;
    tn_scope *scope = tn_scope_open();
    if (prepare(&t, r, c, range)) {
        bool fits = !t.number[0] && t.op[0].ndim == t.ndim && !is_mask(r, 0);
        for (int32_t d = 0; fits && d < t.ndim; d++)
            fits = t.op[0].shape[d] == t.shape[d];
        if (underived(&t) && !t.number[1])
            refuse_backward(&t);
        else if (!underived(&t) && (!inplace || fits))
            try_backward(&t, inplace);
        dispose(&t);
    }
    tn_scope_close(scope);
}

/* ---- second order ---- */

/* S = sum(v * d(sum(g y))/d(op k)): its gradients with respect to every operand and to g. */
static void check_second(trial *t, int k, tn_tensor *gk, tn_tensor *g)
{
    char words[160];
    tn_tensor *in[4] = {g}, *out[4] = {NULL};
    int of[4] = {-1}, n = 1;
    for (int l = 0; l < t->r->arity; l++)
        if (!t->number[l] && t->r->differentiable[l]) {
            of[n] = l;
            in[n++] = t->op[l].t;
        }
    if (tn_tensor_requires_grad(gk) &&
        tn_grad(TN_TENSORS(weighted(gk, t->v.t)), ((tn_tensors){in, (size_t)n}), out, .allow_unused = true)) {
        kit_fail("second order of %s, %s: %s", t->r->name, t->c->name, tn_error_message());
        tn_error_clear();
        return;
    }
    for (int j = 0; j < n; j++) {
        const kit_array *a = of[j] < 0 ? &t->g : &t->op[of[j]];
        real *want = calloc((size_t)(2 * a->numel + 1), sizeof *want), *tol = want + a->numel;
        for (int64_t i = 0; i < t->numel; i++) {
            real x[3], v = t->v.v[kit_broadcast(&t->op[k], t->ndim, t->shape, i)], w = of[j] < 0 ? v : v * t->g.v[i];
            int64_t o = kit_broadcast(a, t->ndim, t->shape, i);
            point(t, i, x);
            slope s = of[j] < 0 ? first(t->r, x, k) : second(t->r, x, k, of[j]);
            left_out += !s.smooth;
            compared += s.smooth;
            want[o] += s.smooth ? w * s.value : 0;
            tol[o] += s.smooth ? fabsl(w) * (s.error + 0x1p-34L * (1 + fabsl(s.value))) : KIT_INF;
        }
        describe(t, words, sizeof words, " (second order)", k);
        snprintf(words + strlen(words), sizeof words - strlen(words), " then %d", of[j]);
        gradient_is(a, out[j], want, tol, words);
        free(want);
    }
}

static void run_second(const row *r, const layout_case *c, const int *range)
{
    for (int k = 0; k < r->arity; k++) {
        trial t;
        tn_scope *scope = tn_scope_open();
        if (r->differentiable[k] && prepare(&t, r, c, range)) {
            if (!t.number[k] && !underived(&t)) {
                for (int l = 0; l < r->arity; l++)
                    if (!t.number[l] && r->differentiable[l])
                        leaf(&t.op[l]);
                random_weights(&t.v, t.op[k].ndim, t.op[k].shape);
                tn_tensor *g = leaf(&t.g), *y = row_call(r, t.in, false), *gk = NULL;
                kit.cases++;
                if (tn_grad(TN_TENSORS(y), TN_TENSORS(t.op[k].t), &gk, .grad_outputs = TN_TENSORS(g),
                            .create_graph = true))
                    kit_fail("gradient of %s, %s, with create_graph: %s", r->name, c->name, tn_error_message());
                else
                    check_second(&t, k, gk, g);
                graph_seen(gk);
                tn_error_clear();
            }
            dispose(&t);
        }
        tn_scope_close(scope);
    }
}

/* ---- dtypes: gradients come back in the operand's ---- */

/* Kernels of fake GPUs take a second each to compile for AddressSanitizer: there a row has an eighth of the pairs. */
static bool is_left_out(const row *r, int i, int j)
{
    return TN_ASAN && kit_samples() && !kit_on_cpu() && (i + j + kit_choice(r->name, 8)) % 8;
}

static void run_dtypes(const row *r, const int *range)
{
    for (int i = 0; i < KIT_DTYPES; i++)
        for (int j = 0; j < KIT_DTYPES && kit_is_float(kit_dtypes[i]); j++) {
            const int64_t n = 5;
            if (!kit_is_float(kit_dtypes[j]) || is_left_out(r, i, j))
                continue;
            kit_array a[3];
            tn_scalar in[3];
            tn_scope *scope = tn_scope_open();
            for (int k = 0; k < r->arity; k++) {
                kit_array_init(&a[k], is_mask(r, k) ? TN_BOOL : kit_dtypes[k == 1 ? j : i],
                               r->rule == R_FILL && k == 2 ? 0 : 1, &n, KIT_DENSE);
                for (int64_t e = 0; e < a[k].numel; e++)
                    a[k].v[e] = draw(r, k, range[k]);
                kit_show(&a[k]);
                if (r->differentiable[k] && (k || !first_is_underived(r)))
                    leaf(&a[k]);
                in[k] = tn_scalar_t(a[k].t);
            }
            tn_tensor *y = row_call(r, in, false);
            kit.cases++;
            if (!y || tn_backward(tn_sum(y)))
                kit_fail("gradient of %s in %s and %s: %s", r->name, tn_dtype_name(kit_dtypes[i]),
                         tn_dtype_name(kit_dtypes[j]), tn_error_message());
            for (int k = 0; k < r->arity && y; k++) {
                if (r->differentiable[k] && (k || !first_is_underived(r)) &&
                    tn_tensor_dtype(tn_tensor_grad(a[k].t)) != a[k].dtype)
                    kit_fail("gradient of %s: operand %d in %s has one in %s", r->name, k, tn_dtype_name(a[k].dtype),
                             tn_dtype_name(tn_tensor_dtype(tn_tensor_grad(a[k].t))));
                kit_array_free(&a[k]);
            }
            tn_error_clear();
            tn_scope_close(scope);
        }
}

void gradients_of_rows(const char *only)
{
    for (int i = 0; i < n_rows; i++) {
        const row *r = &rows[i];
        int range[3];
        if ((only ? strcmp(only, r->name) != 0 : !kit_mine(i)) ||
            !(r->differentiable[0] || r->differentiable[1] || r->differentiable[2]))
            continue;
        kit_seed_by(r->name, 0);
        if (!find_domain(r, range)) {
            kit_fail("%s: no range was found where differences settle: add one to 'ranges'", r->name);
            continue;
        }
        int64_t count = kit.cases, out = left_out, in = compared;
        for (size_t c = 0; c < TN_COUNT(cases); c++) {
            run_first(r, &cases[c], range, false);
            run_first(r, &cases[c], range, true);
            run_second(r, &cases[c], range);
        }
        if (strcmp(r->name, "floor_divide") != 0 && strcmp(r->name, "_heaviside") != 0)
            run_dtypes(r, range);
        printf("%-24s %4lld cases, %6lld elements, %lld next to a kink\n", r->name, (long long)(kit.cases - count),
               (long long)(compared - in), (long long)(left_out - out));
        if (left_out - out > (compared - in) / 4 && strcmp(r->name, "floor_divide") != 0 &&
            strcmp(r->name, "_heaviside") != 0)
            kit_fail("%s: too few elements were compared", r->name);
    }
}
