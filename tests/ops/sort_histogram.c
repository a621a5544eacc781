/* Histograms. Values are PyTorch's, or counted here. */
#include "ops/family.h"

/* Against a count of each element, between edges that are all different. */
static void counted_apart(tn_dtype d)
{
    enum { N = 5000, BINS = 7 };
    tn_scope *s = tn_scope_open();
    double edge[BINS + 1], want[BINS] = {0}, weighed[BINS] = {0};
    static double x[N], w[N];
    for (int i = 0; i <= BINS; i++)
        edge[i] = i * i / 8.0 - 2;
    for (int i = 0; i < N; i++) {
        x[i] = (double)kit_below(4096) / 512 - 3;
        w[i] = (double)kit_below(8) / 4;
        for (int b = 0; b < BINS; b++)
            if (x[i] >= edge[b] && (x[i] < edge[b + 1] || (b == BINS - 1 && x[i] == edge[b + 1]))) {
                want[b]++;
                weighed[b] += w[i];
            }
    }
    tn_tensor *t = tn_to(tn_tensor_from(TN_ARRAY(x)), .dtype = d),
              *e = tn_to(tn_tensor_from(TN_ARRAY(edge)), .dtype = d);
    tn_tensor *weight = tn_to(tn_tensor_from(TN_ARRAY(w)), .dtype = d);
    holds(tn_histogram_between(t, e), TN_SHAPE(BINS), want, "histogram between edges");
    holds(tn_histogram_between(t, e, .weight = weight), TN_SHAPE(BINS), weighed, "weighed histogram");
    tn_scope_close(s);
}

static void run_histogram(void)
{
    counted_apart(TN_F32);
    counted_apart(TN_F64);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_reshape(tn_arange(0, 6, 1, .dtype = TN_F32), TN_SHAPE(2, 3)), *edges = NULL;
    HOLDS(tn_histogram(x, 5, .bin_edges = &edges), TN_SHAPE(5), 1, 1, 1, 1, 2);
    HOLDS(edges, TN_SHAPE(6), 0, 1, 2, 3, 4, 5);
    HOLDS(tn_histogram(x, 2, .min = TN_SCALAR(0), .max = TN_SCALAR(2)), TN_SHAPE(2), 1, 2);
    HOLDS(tn_histogram(x, 5, .weight = x), TN_SHAPE(5), 0, 1, 2, 3, 9);
    HOLDS(tn_histogram(x, 1, .min = TN_SCALAR(1), .max = TN_SCALAR(5), .density = true), TN_SHAPE(1), 0.25);
    HOLDS(tn_histogram(tn_full(TN_SHAPE(3), 2.0), 4, .bin_edges = &edges), TN_SHAPE(4), 0, 0, 3, 0);
    HOLDS(edges, TN_SHAPE(5), 1.5, 1.75, 2, 2.25, 2.5);
    HOLDS(tn_histogram(tn_zeros(TN_SHAPE(0)), 2, .bin_edges = &edges), TN_SHAPE(2), 0, 0);
    HOLDS(edges, TN_SHAPE(3), 0, 0.5, 1);
    REFUSED(tn_histogram(x, 0), TN_EINVAL, "torch.histogram(): bins must be > 0, but got 0 for dimension 0");
    REFUSED(tn_histogram(x, 2, .min = TN_SCALAR(2), .max = TN_SCALAR(0)), TN_EINVAL,
            "min should not exceed max, but got min 2 max 0 for");
    REFUSED(tn_histogram(tn_full(TN_SHAPE(3), NAN), 2), TN_EINVAL, "dimension 0's range [nan, nan] is not finite");
    REFUSED(tn_histogram(tn_to(x, .dtype = TN_I64), 2), TN_EDTYPE, "\"histogramdd\" not implemented for 'Long'");
    REFUSED(tn_histogram(x, 2, .weight = tn_ones(TN_SHAPE(1))), TN_EINVAL,
            "but got input with shape [6, 1] and weight with shape [1]");
    REFUSED(tn_histogram_between(x, x), TN_EINVAL, "bins tensor should have one dimension, but got 2 dimensions in");
    REFUSED(tn_histogram_between(x, tn_zeros(TN_SHAPE(2), .dtype = TN_F64)), TN_EINVAL,
            "but got input with dtype float and bins for dimension 0 with dtype double");
    tn_scope_close(s);
}

static void run_histogramdd(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_tensor_from(TN_LIST(0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 5.0, 0.0), .shape = TN_SHAPE(4, 2));
    tn_tensor *edges[] = {tn_tensor_from(TN_LIST(0.0, 0.5, 1.0)), tn_tensor_from(TN_LIST(-1.5, 0.5, 2.5))}, *out[2];
    const tn_tensors both = {edges, 2}, one = {edges, 1};
    HOLDS(tn_histogramdd(x, both), TN_SHAPE(2, 2), 0, 1, 1, 1);
    HOLDS(tn_histogramdd(x, both, .weight = tn_tensor_from(TN_LIST(1.0, 2.0, 4.0, 8.0))), TN_SHAPE(2, 2), 0, 1, 2, 4);
    HOLDS(tn_histogramdd(tn_slice(x, 0, 1, 3, 1), both, .density = true), TN_SHAPE(2, 2), 0, 0, 0.5, 0.5);
    TRUTH(tn_histogramdd_edges(x, TN_INTS(5, 1), TN_NONE, out, 2) == 2);
    HOLDS(out[0], TN_SHAPE(6), 0, 1, 2, 3, 4, 5);
    HOLDS(out[1], TN_SHAPE(2), 0, 1);
    TRUTH(tn_histogramdd_edges(x, TN_INTS(2, 2), tn_tensor_from(TN_LIST(0.0, 2.0, -1.0, 1.0)), out, 2) == 2);
    HOLDS(out[1], TN_SHAPE(3), -1, 0, 1);
    REFUSED(tn_histogramdd(x, one), TN_EINVAL,
            "expected 2 sequences of bin edges for a 2-dimensional histogram but got 1");
    REFUSED(tn_histogramdd(tn_select(x, 0, 0), both), TN_EINVAL, "input tensor should have at least 2 dimensions");
    TRUTH(tn_histogramdd_edges(x, TN_INTS(2), TN_NONE, out, 2) == 0 && tn_error_code() == TN_EINVAL);
    TRUTH(tn_histogramdd_edges(x, TN_INTS(2, 2), edges[0], out, 2) == 0 && tn_error_code() == TN_EINVAL);
    tn_error_clear();
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"histogram", run_histogram},
    {"histogram_between", run_histogram},
    {"histogramdd", run_histogramdd},
    {"histogramdd_edges", run_histogramdd},
    {NULL, NULL},
};

/* ---- PyTorch's records ---- */

static bool record_histogram(record *r, results *out)
{
    const value weight = record_arg(r, -1, "weight");
    out->n = 2;
    out->t[0] = tn_histogram(r->input.t, int_of(record_arg(r, 0, "bins"), 100),
                             .weight = weight.kind == V_TENSOR ? weight.t : NULL,
                             .density = flag_of(record_arg(r, -1, "density")), .bin_edges = &out->t[1]);
    return true;
}

static const named_adapter adapters[] = {{"histogram", record_histogram}, {NULL, NULL}};

const family_tests sort_histogram_tests = {cases, NULL, adapters};
