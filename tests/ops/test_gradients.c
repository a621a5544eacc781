/* Every derivative of the list: elementwise rows against their expression (gradients_rows.c), structural ones against
 * differences of the forward (the families' cases, by gradients_structural.c), and at kinks against PyTorch's choice
 * (gradients_kinks.c).
 * Rows are found in the list of operations; which derivatives ran is read off the graphs, and one that did not fails the test. */
#include "ops/gradients.h"
#include "dispatch/apply.h"
#include "autograd/node.h"
#include "backend/backend.h"
#include "ops/digest.h"
#include <string.h>

static bool seen[TN__OPS];

static void visit(const tn__node *n, int depth)
{
    seen[n->op] = true;
    if (n->inner)
        seen[n->inner->op] = true;
    for (int32_t i = 0; i < n->n_in && depth < 30; i++)
        if (n->edge[i].to && n->edge[i].to->cls == &tn__node_class)
            visit((const tn__node *)n->edge[i].to, depth + 1);
}

void graph_seen(tn_tensor *t)
{
    if (t && t->node && t->node->cls == &tn__node_class)
        visit((const tn__node *)t->node, 0);
}

static bool has_no_kernel(tn__op_id op)
{
    return tn__ops[op].kind == TN__STRUCTURAL && !tn__backend_of(kit_device())->kernels[op];
}

int graph_report(void)
{
    int n = 0;
    for (int op = 0; op < TN__OPS; op++) {
        if (tn__derivatives[op] == tn__d_none || tn__derivatives[op] == tn__d_once || has_no_kernel((tn__op_id)op))
            continue;
        bool differentiable = false;
        for (int k = 0; k < 3; k++)
            differentiable |=
                k < (tn__is_elementwise((tn__op_id)op) ? tn__ops[op].kind : 3) && !(tn__ops[op].saves[k] & TN__NODIFF);
        n += differentiable;
        kit.cases += differentiable;
        if (differentiable && !seen[op])
            kit_fail("the derivative of %s was never in a graph: give it a case in tests/ops/<its family>.c",
                     tn__ops[op].name);
    }
    return n;
}

bool gradient_is(const kit_array *a, const tn_tensor *got, const real *want, const real *tol, const char *words)
{
    kit.cases++;
    if (digest_wanted()) {
        char name[100];
        const size_t n = strcspn(words, ",");
        snprintf(name, sizeof name, "gradient:%.*s", (int)n, words);
        digest_note(name, words + n + (words[n] == ','), kit_host(got));
    }
    tn_dims s = tn_tensor_shape(got);
    bool same = !got || (s.ndim == a->ndim && tn_tensor_dtype(got) == a->dtype);
    for (int32_t d = 0; got && same && d < s.ndim; d++)
        same = s.dim[d] == a->shape[d];
    if (!same)
        return kit_fail("%s: gradient is %s %s", words, tn_dtype_name(tn_tensor_dtype(got)),
                        kit_shape_text(s.ndim, s.dim));
    for (int64_t i = 0; i < a->numel; i++) {
        real v = got ? kit_item(got, i) : 0;
        kit.elements++;
        if (isinf(tol[i]))
            continue;
        if (!(fabsl(v - want[i]) <= tol[i]))
            return kit_fail("%s: element %lld of the gradient is %.17Lg%s, by differences %.17Lg (allowed %.2Lg)",
                            words, (long long)i, v, got ? "" : " (none)", want[i], tol[i]);
    }
    return true;
}

tn_tensor *leaf(kit_array *a)
{
    tn_tensor *t = tn_requires_grad_(a->t, true);
    if (!t)
        kit_fail("a leaf: %s", tn_error_message());
    return t;
}

tn_tensor *weighted(tn_tensor *t, tn_tensor *weights)
{
    return tn_sum(tn_mul(t, weights));
}

int main(int argc, char **argv)
{
    const char *only = argc > 1 ? argv[1] : NULL;
    if (!kit_can_run())
        return 0;
    gradients_of_rows(only);
    gradients_of_structural(only);
    if (!only && kit_mine(0))
        gradients_at_kinks();
    if (!only && !getenv("TENON_TEST_PART")) { /* a part has some rows in graphs */
        printf("count: %d rows of the list have a derivative; all were in a graph unless said above; on %s\n",
               graph_report(), kit_where());
    }
    return kit_finish("gradients");
}
