/* What arranges elements anew, and normalisation: small cases worked out by hand. */
#include "ops/structural.h"

static tn_tensor *counted(tn_dims shape, int64_t n)
{
    return tn_reshape(tn_arange(1, n + 1, 1, .dtype = TN_F32), shape);
}

static void run_pad(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = counted(TN_SHAPE(1, 4), 4), *m = counted(TN_SHAPE(2, 2), 4);
    HOLDS(tn_pad(m, TN_DIMS(1, 0, 0, 1), .value = TN_SCALAR(9)), TN_SHAPE(3, 3), 9, 1, 2, 9, 3, 4, 9, 9, 9);
    HOLDS(tn_pad(m, TN_DIMS(-1, 1)), TN_SHAPE(2, 2), 2, 0, 4, 0);
    HOLDS(tn_pad(x, TN_DIMS(2, 1), .mode = TN_PAD_REFLECT), TN_SHAPE(1, 7), 3, 2, 1, 2, 3, 4, 3);
    HOLDS(tn_pad(x, TN_DIMS(2, 1), .mode = TN_PAD_REPLICATE), TN_SHAPE(1, 7), 1, 1, 1, 2, 3, 4, 4);
    HOLDS(tn_pad(x, TN_DIMS(2, 1), .mode = TN_PAD_CIRCULAR), TN_SHAPE(1, 7), 3, 4, 1, 2, 3, 4, 1);
    HOLDS(tn_pad(x, TN_DIMS(-1, 2), .mode = TN_PAD_CIRCULAR), TN_SHAPE(1, 5), 2, 3, 4, 2, 3);
    TRUTH(tn_tensor_storage(tn_pad(m, TN_DIMS(0, 0)), NULL) != tn_tensor_storage(m, NULL));
    REFUSED(tn_pad(x, TN_DIMS(1)), TN_EINVAL, "Padding length must be divisible by 2");
    REFUSED(tn_pad(x, TN_DIMS(4, 0), .mode = TN_PAD_REFLECT), TN_EINVAL,
            "padding (4, 0) at dimension 1 of input [1, 4]");
    REFUSED(tn_pad(x, TN_DIMS(-5, 0), .mode = TN_PAD_REPLICATE), TN_EINVAL,
            "input (W: 4) is too small. Calculated output W: -1");
    REFUSED(tn_pad(x, TN_DIMS(5, 0), .mode = TN_PAD_CIRCULAR), TN_EINVAL, "wrapping around more than once");
    REFUSED(tn_pad(x, TN_DIMS(1, 1), .mode = 7), TN_EMISSING, "Unrecognised padding mode 7");
    tn_scope_close(s);
}

static void run_diagonals(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *v = counted(TN_SHAPE(2), 2), *m = counted(TN_SHAPE(2, 3), 6);
    HOLDS(tn_diag(v, -1), TN_SHAPE(3, 3), 0, 0, 0, 1, 0, 0, 0, 2, 0);
    HOLDS(tn_diag(m, 1), TN_SHAPE(2), 2, 6);
    HOLDS(tn_diagflat(tn_reshape(v, TN_SHAPE(1, 2)), 0), TN_SHAPE(2, 2), 1, 0, 0, 2);
    HOLDS(tn_diag_embed(m, 0, 0, -1), TN_SHAPE(3, 2, 3), 1, 0, 0, 4, 0, 0, 0, 2, 0, 0, 5, 0, 0, 0, 3, 0, 0, 6);
    HOLDS(tn_trace(m), TN_SHAPE(), 6);
    HOLDS(tn_tril_indices(2, 3, 0), TN_SHAPE(2, 3), 0, 1, 1, 0, 0, 1);
    HOLDS(tn_triu_indices(2, 3, 1, .dtype = TN_I32), TN_SHAPE(2, 3), 0, 0, 1, 1, 2, 2);
    REFUSED(tn_diag(counted(TN_SHAPE(1, 1, 1), 1), 0), TN_EINVAL, "Supports 1D or 2D tensors. Got 3D");
    REFUSED(tn_diag_embed(m, 0, 1, 1), TN_EINVAL, "diagonal dimensions cannot be identical 1, 1");
    REFUSED(tn_trace(v), TN_EINVAL, "expected a matrix");
    REFUSED(tn_tril_indices(-1, 3, 0), TN_EINVAL, "row must be non-negative");
    REFUSED(tn_tril_indices(1, 3, 0, .dtype = TN_F32), TN_EDTYPE, "not implemented for 'Float'");
    tn_scope_close(s);
}

static void run_turns(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *m = counted(TN_SHAPE(2, 3), 6), *b = tn_gt(m, 3), *index;
    HOLDS(tn_fliplr(m), TN_SHAPE(2, 3), 3, 2, 1, 6, 5, 4);
    HOLDS(tn_flipud(m), TN_SHAPE(2, 3), 4, 5, 6, 1, 2, 3);
    HOLDS(tn_rot90(m, 1, TN_DIMS(0, 1)), TN_SHAPE(3, 2), 3, 6, 2, 5, 1, 4);
    HOLDS(tn_rot90(m, -2, TN_DIMS(0, 1)), TN_SHAPE(2, 3), 6, 5, 4, 3, 2, 1);
    HOLDS(tn_rot90(m, 3, TN_DIMS(0, 1)), TN_SHAPE(3, 2), 4, 1, 5, 2, 6, 3);
    REFUSED(tn_rot90(m, 1, TN_DIMS(0, 0)), TN_EINVAL, "expected rotation dims to be different");
    HOLDS(tn_diff(m, 1, -1), TN_SHAPE(2, 2), 1, 1, 1, 1);
    HOLDS(tn_diff(tn_square(m), 2, 1), TN_SHAPE(2, 1), 2, 2);
    HOLDS(tn_diff(m, 1, 0, .prepend = tn_zeros(TN_SHAPE(1, 3))), TN_SHAPE(2, 3), 1, 2, 3, 3, 3, 3);
    HOLDS(tn_diff(b, 1, 0), TN_SHAPE(1, 3), 1, 1, 1);
    REFUSED(tn_diff(m, 1, 0, .append = tn_zeros(TN_SHAPE(1, 2))), TN_EINVAL, "input.size(1) = 3");
    index = tn_sub(tn_arange(0, 3, 1), 1);
    HOLDS(tn_take(m, index), TN_SHAPE(3), 6, 1, 2);
    REFUSED(tn_take(m, tn_add(index, 5)), TN_EINDEX, "tried to access index 6 on a tensor of 6 elements");
    tn_scope_close(s);
}

static void run_strided(void)
{
    tn_scope *s = tn_scope_open();
    const tn_tensor *x = MADE(tn_empty_strided(TN_SHAPE(2, 3), TN_DIMS(1, 4), .dtype = TN_I16)),
                    *y = MADE(tn_empty_permuted(TN_SHAPE(2, 3, 4), TN_DIMS(0, 2, 1)));
    TRUTH(x && tn_tensor_stride(x).dim[1] == 4 && tn_tensor_size(x, 1) == 3 && tn_tensor_dtype(x) == TN_I16);
    TRUTH(y && tn_tensor_stride(y).dim[0] == 12 && tn_tensor_stride(y).dim[1] == 1 && tn_tensor_stride(y).dim[2] == 3);
    REFUSED(tn_empty_strided(TN_SHAPE(2, 3), TN_DIMS(1)), TN_EINVAL, "dimensionality of sizes (2)");
    REFUSED(tn_empty_strided(TN_SHAPE(2), TN_DIMS(-1)), TN_EINVAL, "Storage size calculation overflowed");
    REFUSED(tn_empty_permuted(TN_SHAPE(2, 3), TN_DIMS(0, 0)), TN_EINVAL, "Duplicate dim not allowed");
    tn_scope_close(s);
}

static void run_norms(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_sub(tn_mul(tn_gt(counted(TN_SHAPE(2, 2), 4), 2), 6.0), 3), *t = tn_t(x);
    tn_tensor *mean = tn_zeros(TN_SHAPE(2)), *var = tn_ones(TN_SHAPE(2)), *w = counted(TN_SHAPE(2), 2);
    /* -3, 3: mean 0, variance 9 */
    HOLDS(tn_layer_norm(t, TN_DIMS(2), .eps = TN_SCALAR(7)), TN_SHAPE(2, 2), -0.75, 0.75, -0.75, 0.75);
    HOLDS(tn_layer_norm(t, TN_DIMS(2), .weight = w, .bias = w, .eps = TN_SCALAR(7)), TN_SHAPE(2, 2), 0.25, 3.5, 0.25,
          3.5);
    HOLDS(tn_batch_norm(x, TN_NONE, TN_NONE, .training = true, .eps = TN_SCALAR(7)), TN_SHAPE(2, 2), -0.75, -0.75, 0.75,
          0.75);
    HOLDS(tn_batch_norm(tn_add(x, 1), mean, var, .weight = w, .bias = w, .training = true, .momentum = TN_SCALAR(0.5),
                        .eps = TN_SCALAR(7)),
          TN_SHAPE(2, 2), 0.25, 0.5, 1.75, 3.5);
    HOLDS(mean, TN_SHAPE(2), 0.5, 0.5);
    HOLDS(var, TN_SHAPE(2), 9.5, 9.5); /* half of 1 and of the unbiased 18 */
    HOLDS(tn_batch_norm(x, mean, var, .eps = TN_SCALAR(6.5)), TN_SHAPE(2, 2), -0.875, -0.875, 0.625, 0.625);
    REFUSED(tn_layer_norm(x, TN_DIMS(3)), TN_EINVAL,
            "Given normalized_shape=[3], expected input with shape [*, 3], but got input of size[2, 2]");
    REFUSED(tn_layer_norm(x, TN_DIMS(2), .weight = mean, .bias = tn_ones(TN_SHAPE(2), .dtype = TN_F64)), TN_EDTYPE,
            "expected scalar type Float but found Double");
    REFUSED(tn_batch_norm(x, TN_NONE, TN_NONE), TN_EINVAL, "running_mean must be defined in evaluation mode");
    REFUSED(tn_batch_norm(tn_ones(TN_SHAPE(1, 2)), mean, var, .training = true), TN_EVALUE,
            "Expected more than 1 value per channel");
    tn_scope_close(s);
}

const structural_case cases_arrange[] = {
    {"pad", run_pad},
    {"diag_embed", run_diagonals},
    {"diag", run_diagonals},
    {"diagflat", run_diagonals},
    {"trace", run_diagonals},
    {"tril_indices", run_diagonals},
    {"triu_indices", run_diagonals},
    {"fliplr", run_turns},
    {"flipud", run_turns},
    {"rot90", run_turns},
    {"take", run_turns},
    {"diff", run_turns},
    {"empty_strided", run_strided},
    {"empty_permuted", run_strided},
    {"layer_norm", run_norms},
    {"batch_norm", run_norms},
    {NULL, NULL},
};
