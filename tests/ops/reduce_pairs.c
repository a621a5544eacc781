/* Two results of the same elements: aminmax, var_mean, std_mean. Values are PyTorch's. */
#include "ops/family.h"
#include <math.h>

static void run_aminmax(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = counted(TN_SHAPE(2, 3), 6), *max = NULL;
    HOLDS(tn_aminmax(x, .max = &max), TN_SHAPE(), 1);
    HOLDS(max, TN_SHAPE(), 6);
    HOLDS(tn_aminmax(x, .dim = 1, .keepdim = true, .max = &max), TN_SHAPE(2, 1), 1, 4);
    HOLDS(max, TN_SHAPE(2, 1), 3, 6);
    HOLDS(tn_aminmax(x, .dim = 0), TN_SHAPE(3), 1, 2, 3);
    REFUSED(tn_aminmax(tn_zeros(TN_SHAPE(0)), .max = &max), TN_EINVAL, "Expected reduction dim to be specified");
    tn_scope_close(s);
}

/* Of all elements in one pass: whole registers and a rest, of each kind of dtype; NaN wherever it stands. */
static void run_one_pass(void)
{
    static const tn_dtype dtypes[] = {TN_F32, TN_F64, TN_F16, TN_BF16, TN_I64, TN_I32, TN_U8};
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++) {
        tn_scope *s = tn_scope_open();
        tn_tensor *x = tn_to(tn_fmod(tn_arange(2500), 97), .dtype = dtypes[k]), *max = NULL;
        HOLDS(tn_aminmax(x, .max = &max), TN_SHAPE(), 0);
        HOLDS(max, TN_SHAPE(), 96);
        HOLDS(tn_aminmax(tn_narrow(x, 0, 3, 7), .max = &max), TN_SHAPE(), 3);
        HOLDS(max, TN_SHAPE(), 9);
        const bool floats = dtypes[k] == TN_F32 || dtypes[k] == TN_F64 || dtypes[k] == TN_F16 || dtypes[k] == TN_BF16;
        for (int64_t at = 0; floats && at < 2500; at += 833) {
            tn_tensor *y = tn_clone(x);
            tn_fill_(tn_narrow(y, 0, at, 1), NAN);
            TRUTH(isnan(kit_item(MADE(tn_aminmax(y, .max = &max)), 0)) && isnan(kit_item(max, 0)));
            tn_fill_(tn_narrow(y, 0, at, 1), -INFINITY);
            HOLDS(tn_aminmax(tn_neg(y), .max = &max), TN_SHAPE(), -96);
            HOLDS(max, TN_SHAPE(), INFINITY);
        }
        tn_scope_close(s);
    }
}

static void run_spread_mean(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_to(counted(TN_SHAPE(2, 3), 6), .dtype = TN_F64), *mean = NULL;
    HOLDS(tn_var_mean(x, .mean = &mean), TN_SHAPE(), 3.5);
    HOLDS(mean, TN_SHAPE(), 3.5);
    HOLDS(tn_var_mean(x, .dim = 0, .mean = &mean), TN_SHAPE(3), 4.5, 4.5, 4.5);
    HOLDS(mean, TN_SHAPE(3), 2.5, 3.5, 4.5);
    HOLDS(tn_std_mean(x, .dim = 1, .keepdim = true, .mean = &mean), TN_SHAPE(2, 1), 1, 1);
    HOLDS(mean, TN_SHAPE(2, 1), 2, 5);
    HOLDS(tn_std_mean(tn_slice(x, 1, 0, 2, 1), .dim = 1, .correction = TN_SCALAR(0), .mean = &mean), TN_SHAPE(2), 0.5,
          0.5);
    HOLDS(tn_std_mean(tn_slice(x, 0, 0, 1, 1)), TN_SHAPE(), 1);
    REFUSED(tn_var_mean(tn_to(x, .dtype = TN_I64), .mean = &mean), TN_EDTYPE, "floating point");
    REFUSED(tn_std_mean(x, .dim = 2, .mean = &mean), TN_EINDEX, "Dimension out of range");
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"aminmax", run_aminmax},
    {"aminmax", run_one_pass},
    {"var_mean", run_spread_mean},
    {"std_mean", run_spread_mean},
    {NULL, NULL},
};

/* ---- gradients ---- */

static tn_tensor *f_var_mean(tn_tensor **in)
{
    tn_tensor *mean = NULL, *var = tn_var_mean(in[0], .dim = 1, .mean = &mean);
    return tn_add(tn_mul(var, mean), mean);
}

static tn_tensor *f_aminmax(tn_tensor **in)
{
    tn_tensor *max = NULL, *min = tn_aminmax(in[0], .dim = 1, .max = &max);
    return tn_mul(min, max);
}

static const gradient_case gradients[] = {ONE(var_mean), ONE(aminmax), {NULL, NULL, 0, {{0, {0}}}, false}};

/* ---- PyTorch's records ---- */

static bool record_aminmax(record *r, results *out)
{
    dims_buffer b;
    const tn_dims dim = dims_of(record_arg(r, -1, "dim"), &b);
    out->t[0] =
        OPTIONAL(aminmax, r->input.t, ONE_OF(dim), .keepdim = flag_of(record_arg(r, -1, "keepdim")), .max = &out->t[1]);
    out->n = 2;
    return true;
}

static const named_adapter adapters[] = {
    {"aminmax", record_aminmax},
    {NULL, NULL},
};

const family_tests reduce_pairs_tests = {cases, gradients, adapters};
