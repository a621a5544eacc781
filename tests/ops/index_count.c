/* Counting: bincount, histc. Values are PyTorch's. */
#include "ops/family.h"

static void run_bincount(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_to(four_values(1, 3, 1, 0), .dtype = TN_I32), *w = four_values(0.5, 2, 0.25, 4);
    HOLDS(tn_bincount(x), TN_SHAPE(4), 1, 2, 0, 1);
    HOLDS(tn_bincount(tn_slice(x, 0, 0, 4, 2), .minlength = 3), TN_SHAPE(3), 0, 2, 0);
    HOLDS(tn_bincount(x, .weights = w, .minlength = 5), TN_SHAPE(5), 4, 0.75, 0, 2, 0);
    TRUTH(tn_tensor_dtype(tn_bincount(x)) == TN_I64);
    TRUTH(tn_tensor_dtype(tn_bincount(x, .weights = tn_to(w, .dtype = TN_F32))) == TN_F32);
    TRUTH(tn_tensor_dtype(tn_bincount(x, .weights = tn_to(w, .dtype = TN_F16))) == TN_F64);
    TRUTH(tn_tensor_dtype(tn_bincount(x, .weights = x)) == TN_F64);
    HOLDS(tn_bincount(tn_slice(x, 0, 0, 0, 1), .weights = w, .minlength = 2), TN_SHAPE(2), 0, 0);
    HOLDS(tn_bincount(tn_slice(x, 0, 0, 0, 1)), TN_SHAPE(0), 0);
    tn_tensor *many = tn_remainder(tn_arange(0, 140003, 1), 7); /* more than a thread takes at once */
    HOLDS(tn_bincount(many), TN_SHAPE(7), 20001, 20001, 20001, 20000, 20000, 20000, 20000);
    HOLDS(tn_slice(tn_bincount(many, .minlength = 600), 0, 2, 8, 1), TN_SHAPE(6), 20001, 20000, 20000, 20000, 20000, 0);
    REFUSED(tn_bincount(w), TN_EDTYPE, "not implemented for 'Double'");
    REFUSED(tn_bincount(tn_gt(w, 1)), TN_EDTYPE, "not implemented for 'Bool'");
    REFUSED(tn_bincount(tn_sub(x, 1)), TN_EINVAL, "bincount only supports 1-d non-negative integral inputs.");
    REFUSED(tn_bincount(tn_reshape(x, TN_SHAPE(2, 2))), TN_EINVAL, "bincount only supports 1-d non-negative");
    REFUSED(tn_bincount(x, .minlength = -1), TN_EINVAL, "minlength should be >= 0");
    REFUSED(tn_bincount(x, .weights = tn_reshape(w, TN_SHAPE(2, 2))), TN_EINVAL,
            "weights should be 1-d and have the same length as input");
    REFUSED(tn_bincount(tn_full(TN_SHAPE(1), INT64_MAX)), TN_ENOMEM, "more elements than an index can count");
    TRUTH(!tn_bincount(tn_ones(TN_SHAPE(3), .dtype = TN_I64, .device = tn_device_parse("meta"))));
    tn_scope_close(s);
}

static void run_histc(void)
{
    static const tn_dtype dtypes[] = {TN_F16, TN_BF16, TN_F32, TN_F64};
    for (size_t i = 0; i < TN_COUNT(dtypes); i++) {
        tn_scope *s = tn_scope_open();
        tn_tensor *x = tn_to(four_values(1, 2, 4, 2.5), .dtype = dtypes[i]);
        HOLDS(tn_histc(x, 3), TN_SHAPE(3), 1, 2, 1);
        HOLDS(tn_histc(tn_reshape(x, TN_SHAPE(2, 2)), 2, .min = TN_SCALAR(2), .max = TN_SCALAR(4)), TN_SHAPE(2), 2, 1);
        HOLDS(tn_histc(tn_div(x, 0), 2, .min = TN_SCALAR(0), .max = TN_SCALAR(1)), TN_SHAPE(2), 0, 0);
        HOLDS(tn_histc(tn_zeros(TN_SHAPE(0), .dtype = dtypes[i]), 2), TN_SHAPE(2), 0, 0);
        HOLDS(tn_histc(tn_slice(x, 0, 0, 1, 1), 4), TN_SHAPE(4), 0, 0, 1, 0); /* of one number: one less to one more */
        TRUTH(tn_tensor_dtype(tn_histc(x, 3)) == dtypes[i]);
        REFUSED(tn_histc(x, 0), TN_EINVAL, "torch.histogram(): bins must be > 0, but got 0 for dimension 0");
        REFUSED(tn_histc(x, 2, .min = TN_SCALAR(2), .max = TN_SCALAR(1)), TN_EINVAL,
                "torch.histc: max must be larger than min");
        REFUSED(tn_histc(tn_div(x, 0), 2), TN_EINVAL, "torch.histc: range of [inf, inf] is not finite");
        REFUSED(tn_histc(tn_to(x, .dtype = TN_I64), 2), TN_EDTYPE, "\"histogram_cpu\" not implemented for 'Long'");
        tn_scope_close(s);
    }
}

static const structural_case cases[] = {
    {"bincount", run_bincount},
    {"histc", run_histc},
    {NULL, NULL},
};

/* ---- PyTorch's records ---- */

ADAPTER(bincount,
        tn_bincount(x, .weights = TENSOR(-1, "weights"), .minlength = int_of(record_arg(r, -1, "minlength"), 0)))
ADAPTER(histc, tn_histc(x, int_of(record_arg(r, 0, "bins"), 100), .min = AT(1, "min"), .max = AT(2, "max")))

static const named_adapter adapters[] = {
    {"bincount", record_bincount},
    {"histc", record_histc},
    {NULL, NULL},
};

const family_tests index_count_tests = {cases, NULL, adapters};
