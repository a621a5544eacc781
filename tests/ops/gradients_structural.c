/* Derivatives of structural rows against differences of the row's own forward in float64 (which test_structural checks
 * against loops), first order; and differences of the first-order gradient for the second. A case is a function of up
 * to four tensors; every input is tried in every layout.
 *
 * Central differences with h = 2^-17 of L = sum(g y): error h^2 L'''/6 < 2^-36 |L'''| and 2 eps |L| / h < 2^-34 |L|, so
 * 2^-26 of the sizes at hand allows for third derivatives of 2^9 times those, and no formula is wrong by as little. */
#include "ops/family.h"
#include <string.h>

typedef struct run {
    const gradient_case *c;
    kit_array in[INPUTS];
    kit_array weights; /* of the result */
} run;

/* The inputs' present bytes as row values changed in place: element i of input k. */
static void set_element(kit_array *a, int64_t i, real v)
{
    kit_poke(a, i, v);
}

static void inputs_of(run *r, tn_tensor **t)
{
    for (int k = 0; k < INPUTS; k++)
        t[k] = k < r->c->n ? r->in[k].t : NULL;
}

/* sum(weights * f), with recording off. */
static bool forward(run *r, real *out)
{
    tn_tensor *t[INPUTS];
    tn_scope *s = tn_scope_open();
    bool was = tn_set_grad_enabled(false);
    inputs_of(r, t);
    tn_tensor *y = r->c->f(t);
    *out = 0;
    for (int64_t i = 0; y && i < r->weights.numel; i++)
        *out += r->weights.v[i] * kit_item(y, i);
    tn_set_grad_enabled(was);
    tn_scope_close(s);
    return y != NULL;
}

/* sum_k sum(v_k * d(sum(weights f))/d(in k)); with create: the tensor, else its value. */
static tn_tensor *slope_sum(run *r, kit_array *v, bool create)
{
    tn_tensor *t[INPUTS], *grad[INPUTS] = {NULL}, *sum = NULL;
    inputs_of(r, t);
    tn_tensor *y = r->c->f(t);
    if (!y || tn_grad(TN_TENSORS(y), ((tn_tensors){t, (size_t)r->c->n}), grad, .grad_outputs = TN_TENSORS(r->weights.t),
                      .create_graph = create, .allow_unused = true))
        return NULL;
    for (int k = 0; k < r->c->n; k++) {
        graph_seen(grad[k]);
        tn_tensor *part = grad[k] ? weighted(grad[k], v[k].t) : NULL;
        sum = part && sum ? tn_add(sum, part) : part ? part : sum;
    }
    return sum ? sum : tn_zeros(TN_SHAPE(), .dtype = TN_F64);
}

static bool slope_value(run *r, kit_array *v, real *out)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *t = slope_sum(r, v, false);
    *out = t ? kit_item(t, 0) : 0;
    tn_scope_close(s);
    return t != NULL;
}

/* Differences with respect to a's elements: of the forward, or (v given) of the first-order slopes. */
static void differences(run *r, kit_array *a, kit_array *v, real *want, real *tol)
{
    real scale = 1;
    for (int64_t i = 0; i < a->numel; i++) {
        real lo = 0, hi = 0, h = 0x1p-17L;
        set_element(a, i, a->v[i] + h);
        bool made = v ? slope_value(r, v, &hi) : forward(r, &hi);
        set_element(a, i, a->v[i] - h);
        made &= v ? slope_value(r, v, &lo) : forward(r, &lo);
        set_element(a, i, a->v[i]);
        if (!made)
            kit_fail("%s: %s", r->c->name, tn_error_message());
        want[i] = (hi - lo) / (2 * h);
        scale = fmaxl(scale, fmaxl(fabsl(want[i]), fabsl(hi)));
    }
    for (int64_t i = 0; i < a->numel; i++)
        tol[i] = 0x1p-26L * scale;
}

static void compare_one(run *r, kit_array *a, const tn_tensor *grad, kit_array *v, const char *which)
{
    char words[160];
    real *want = calloc((size_t)(2 * a->numel + 1), sizeof *want);
    differences(r, a, v, want, want + a->numel);
    snprintf(words, sizeof words, "%s%s, %s", r->c->name, v ? " (second order)" : "", which);
    gradient_is(a, grad, want, want + a->numel, words);
    free(want);
}

static void compare_all(run *r, tn_tensor *const *grad, kit_array *v, int layout)
{
    for (int k = 0; k < r->c->n; k++) {
        char which[60];
        snprintf(which, sizeof which, "input %d %s", k, kit_layout_names[(layout + 2 * k) % KIT_EXPANDED]);
        compare_one(r, &r->in[k], grad[k], v, which);
    }
}

/* Random values at least 0.05 apart, so that no step changes which is larger. */
static void draw_inputs(run *r, int layout)
{
    for (int k = 0; k < r->c->n; k++) {
        kit_array *a = &r->in[k];
        kit_array_init(a, TN_F64, r->c->in[k].ndim, r->c->in[k].dim, (kit_layout)((layout + 2 * k) % KIT_EXPANDED));
        for (int64_t i = 0; i < a->numel; i++) {
            bool apart = false;
            while (!apart) {
                a->v[i] = (real)kit_uniform(0.1, 2) * (kit_random() & 1 ? 1 : -1);
                apart = true;
                for (int j = 0; j <= k; j++)
                    for (int64_t m = 0; m < (j == k ? i : r->in[j].numel); m++)
                        apart &= fabsl(a->v[i] - r->in[j].v[m]) > 0.02L;
            }
        }
        kit_show(a);
        leaf(a);
    }
}

static void random_weights(kit_array *a, int32_t ndim, const int64_t *dim)
{
    kit_array_init(a, TN_F64, ndim, dim, KIT_DENSE);
    for (int64_t i = 0; i < a->numel; i++)
        a->v[i] = (real)kit_uniform(0.5, 2) * (kit_random() & 1 ? 1 : -1);
    kit_show(a);
}

/* The gradients of the first-order slopes, with respect to the inputs and to the incoming gradient (linear:
 * 'weights'). */
static void second_order(run *r, int layout)
{
    kit_array v[INPUTS];
    tn_tensor *t[INPUTS + 1], *grad[INPUTS + 1] = {NULL};
    inputs_of(r, t);
    int n = r->c->n;
    t[n] = leaf(&r->weights);
    for (int k = 0; k < r->c->n; k++)
        random_weights(&v[k], r->in[k].ndim, r->in[k].shape);
    tn_tensor *s = slope_sum(r, v, true);
    kit.cases++;
    if (!s || (tn_tensor_requires_grad(s) &&
               tn_grad(TN_TENSORS(s), ((tn_tensors){t, (size_t)n + 1}), grad, .allow_unused = true)))
        kit_fail("second order of %s: %s", r->c->name, tn_error_message());
    else {
        compare_all(r, grad, v, layout);
        compare_one(r, &r->weights, grad[n], v, "with respect to the incoming gradient");
    }
    tn_error_clear();
    for (int k = 0; k < r->c->n; k++)
        kit_array_free(&v[k]);
}

static void one(const gradient_case *c, int layout)
{
    run r = {.c = c};
    tn_tensor *t[INPUTS], *grad[INPUTS];
    tn_scope *scope = tn_scope_open();
    draw_inputs(&r, layout);
    inputs_of(&r, t);
    tn_tensor *y = c->f(t);
    kit.cases++;
    if (!y) {
        kit_fail("%s: %s", c->name, tn_error_message());
        tn_error_clear();
    } else {
        tn_dims s = tn_tensor_shape(y);
        random_weights(&r.weights, s.ndim, s.dim);
        graph_seen(y);
        if (tn_backward(y, .gradient = r.weights.t))
            kit_fail("gradient of %s: %s", c->name, tn_error_message());
        for (int k = 0; k < c->n; k++)
            grad[k] = tn_tensor_grad(t[k]);
        tn_error_clear();
        compare_all(&r, grad, NULL, layout);
        if (!c->once)
            second_order(&r, layout);
        kit_array_free(&r.weights);
    }
    for (int k = 0; k < c->n; k++)
        kit_array_free(&r.in[k]);
    tn_scope_close(scope);
}

/* Of unique PyTorch has no derivative: its result requires grad, and backward says so. */
static void without_derivative(void)
{
    static const char *const names[] = {"_unique2", "unique_dim", "unique_consecutive", "unique_consecutive"};
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_requires_grad_(tn_ones(TN_SHAPE(2, 2)), true);
    tn_tensor *found[] = {tn_unique(x), tn_unique(x, .dim = 0), tn_unique_consecutive(x),
                          tn_unique_consecutive(x, .dim = 1)};
    for (size_t i = 0; i < TN_COUNT(names); i++) {
        char text[80];
        snprintf(text, sizeof text, "the derivative for '%s' is not implemented.", names[i]);
        graph_seen(found[i]);
        kit.cases++;
        if (tn_backward(tn_sum(found[i])) != TN_EMISSING || strncmp(tn_error_message(), text, strlen(text)) != 0)
            kit_fail("backward of %s: %s", names[i], tn_error_message());
        tn_error_clear();
    }
    tn_scope_close(scope);
}

/* Kernels of fake GPUs take a second each to compile for AddressSanitizer: there a function has one of the layouts. */
static bool is_left_out(const gradient_case *c, int layout)
{
    return TN_ASAN && kit_samples() && !kit_on_cpu() && layout != kit_choice(c->name, KIT_EXPANDED);
}

void gradients_of_structural(const char *only)
{
    int64_t before = kit.cases;
    int n = 0;
    for (int f = 0; f < n_families; f++)
        for (const gradient_case *c = families[f]->gradients; c && c->name; c++, n++)
            for (int layout = 0; layout < KIT_EXPANDED && (only ? !strcmp(only, c->name) : kit_mine(n)); layout++) {
                if (is_left_out(c, layout))
                    continue;
                kit_seed_by(c->name, layout);
                one(c, layout);
            }
    if (!only)
        without_derivative();
    printf("structural rows: %d functions in %d layouts, %lld cases\n", n, (int)KIT_EXPANDED,
           (long long)(kit.cases - before));
}
