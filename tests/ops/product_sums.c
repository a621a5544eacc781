/* Products that something is added to, chains of products, powers and distances of all rows. */
#include "ops/family.h"
#include <string.h>

static tn_tensor *ramp(int64_t n, tn_dims shape)
{
    return tn_reshape(tn_arange(0, n, 1, .dtype = TN_F32), shape);
}

static void run_sums(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *a = ramp(6, TN_SHAPE(2, 3)), *v = tn_arange(1, 4, 1, .dtype = TN_F32), *one = tn_ones(TN_SHAPE(2)),
              *nan = tn_full(TN_SHAPE(2, 3), (double)NAN), *two = tn_narrow(v, 0, 0, 2);
    HOLDS(tn_addmv(one, a, v), TN_SHAPE(2), 9, 27);
    HOLDS(tn_addmv(one, a, v, .beta = TN_SCALAR(3), .alpha = TN_SCALAR(2)), TN_SHAPE(2), 19, 55);
    HOLDS(tn_addmv(tn_ones(TN_SHAPE()), a, v, .beta = TN_SCALAR(0)), TN_SHAPE(2), 8, 26);
    REFUSED(tn_addmv(one, a, two), TN_EINVAL, "size mismatch, got input (2), mat (2x3), vec (2)");
    REFUSED(tn_addmv(a, a, v), TN_EINVAL, "vector + matrix @ vector expected, got 2, 2, 1");
    REFUSED(tn_addmv(tn_to(one, .dtype = TN_F64), a, v), TN_EDTYPE,
            "addmv input tensors must have the same dtype, but got Double, Float, and Float");
    HOLDS(tn_addr(tn_ones(TN_SHAPE(2, 3)), two, v), TN_SHAPE(2, 3), 2, 3, 4, 3, 5, 7);
    HOLDS(tn_addr(nan, two, v, .beta = TN_SCALAR(0), .alpha = TN_SCALAR(2)), TN_SHAPE(2, 3), 2, 4, 6, 4, 8, 12);
    tn_tensor *yes = tn_gt(v, 1), *no = tn_zeros(TN_SHAPE(3), .dtype = TN_BOOL);
    HOLDS(tn_addr(no, yes, yes), TN_SHAPE(3, 3), 0, 0, 0, 0, 1, 1, 0, 1, 1);
    HOLDS(tn_addr(yes, yes, yes, .alpha = TN_SCALAR(0)), TN_SHAPE(3, 3), 0, 1, 1, 0, 1, 1, 0, 1, 1);
    REFUSED(tn_addr(a, a, v), TN_EINVAL, "addr: Expected 1-D argument vec1, but got 2-D");
    REFUSED(tn_addr(tn_to(a, .dtype = TN_I64), tn_to(two, .dtype = TN_I64), tn_to(v, .dtype = TN_I64),
                    .beta = TN_SCALAR(1.5)),
            TN_EDTYPE, "For integral input tensors, argument beta must not be a floating point number.");
    tn_tensor *batch = ramp(12, TN_SHAPE(2, 2, 3)), *ones = tn_ones(TN_SHAPE(2, 3, 1));
    HOLDS(tn_addbmm(tn_ones(TN_SHAPE(2, 1)), batch, ones), TN_SHAPE(2, 1), 25, 43);
    HOLDS(tn_addbmm(tn_ones(TN_SHAPE(1)), batch, ones, .beta = TN_SCALAR(2), .alpha = TN_SCALAR(-1)), TN_SHAPE(2, 1),
          -22, -40);
    REFUSED(tn_addbmm(a, batch, tn_ones(TN_SHAPE(3, 3, 3))), TN_EINVAL,
            "batch1 and batch2 must have same number of batches, got 2 and 3");
    REFUSED(tn_addbmm(a, batch, tn_ones(TN_SHAPE(2, 4, 3))), TN_EINVAL,
            "Incompatible matrix sizes for bmm (2x3 and 4x3)");
    HOLDS(tn_inner(a, a), TN_SHAPE(2, 2), 5, 14, 14, 50);
    HOLDS(tn_inner(v, v), TN_SHAPE(), 14);
    HOLDS(tn_inner(tn_full(TN_SHAPE(), 2.0), v), TN_SHAPE(3), 2, 4, 6);
    REFUSED(tn_inner(a, two), TN_EINVAL,
            "inner() the last dimension must match on both input tensors but got shapes [2, 3] and [2]");
    tn_scope_close(s);
}

static void run_chains(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *a = ramp(6, TN_SHAPE(2, 3)), *two = tn_arange(1, 3, 1, .dtype = TN_F32);
    HOLDS(tn_multi_dot(TN_TENSORS(a, tn_t(a), a)), TN_SHAPE(2, 3), 42, 61, 80, 150, 214, 278);
    HOLDS(tn_multi_dot(TN_TENSORS(a, tn_t(a), two)), TN_SHAPE(2), 33, 114);
    HOLDS(tn_multi_dot(TN_TENSORS(two, a, tn_t(a), two)), TN_SHAPE(), 261);
    HOLDS(tn_chain_matmul(TN_TENSORS(a, tn_t(a))), TN_SHAPE(2, 2), 5, 14, 14, 50);
    REFUSED(tn_multi_dot(TN_TENSORS(a)), TN_EINVAL, "multi_dot(): expected at least 2 tensors but got 1");
    REFUSED(tn_multi_dot(TN_TENSORS(a, a)), TN_EINVAL,
            "multi_dot(): tensors 0 and 1 with shapes [2, 3] and [2, 3] cannot be multiplied");
    REFUSED(tn_multi_dot(TN_TENSORS(a, two, a)), TN_EINVAL, "multi_dot(): tensor 1 must be 2D but got 1D");
    REFUSED(tn_chain_matmul(TN_TENSORS(a, two)), TN_EINVAL, "Tensor dimension is 1, expected 2 instead.");
    tn_tensor *shear = tn_triu(tn_ones(TN_SHAPE(2, 2)), 0);
    HOLDS(tn_matrix_power(shear, 5), TN_SHAPE(2, 2), 1, 5, 0, 1);
    HOLDS(tn_matrix_power(shear, 1), TN_SHAPE(2, 2), 1, 1, 0, 1);
    HOLDS(tn_matrix_power(tn_full(TN_SHAPE(2, 2), (double)NAN), 0), TN_SHAPE(2, 2), 1, 0, 0, 1);
    REFUSED(tn_matrix_power(a, 2), TN_EINVAL,
            "linalg.matrix_power: A must be batches of square matrices, but they are 2 by 3 matrices");
    REFUSED(tn_matrix_power(two, 2), TN_EINVAL, "The input tensor A must have at least 2 dimensions.");
    REFUSED(tn_matrix_power(shear, -1), TN_EMISSING, "a negative power needs an inverse");
    tn_tensor *w = tn_reshape(tn_eye(2, 3), TN_SHAPE(1, 2, 3)), *v = tn_arange(1, 4, 1, .dtype = TN_F32);
    HOLDS(tn_bilinear(two, v, w, tn_ones(TN_SHAPE(1))), TN_SHAPE(1), 6);
    REFUSED(tn_bilinear(two, two, w, TN_NONE), TN_EINVAL,
            "bilinear(): input2 size does not match weight size: got 2 but expected 3");
    REFUSED(tn_bilinear(a, v, w, TN_NONE), TN_EINVAL, "bilinear(): input dimensions do not match: got 2 and 1");
    tn_scope_close(s);
}

/* Each two rows' distances, and their gradient, beside those of all rows to all: few rows and many, short ones and long. */
static void check_pairs(int64_t n, int64_t m, double p)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_reshape(tn_sin(tn_arange(0, (double)(n * m), 1, .dtype = TN_F64)), TN_SHAPE(n, m)), *own, *other;
    tn_tensor *upper = tn_triu(tn_ones(TN_SHAPE(n, n), .dtype = TN_BOOL), 1);
    tn_requires_grad_(x, true);
    tn_tensor *pairs = tn_pdist(x, .p = tn_scalar_f(p)),
              *all = tn_masked_select(tn_norm(tn_sub(tn_unsqueeze(x, 1), x), .p = tn_scalar_f(p), .dim = -1), upper);
    tn_tensor *g = tn_cos(tn_arange(0, (double)(n * (n - 1) / 2), 1, .dtype = TN_F64));
    TRUTH(tn_allclose(pairs, all, .rtol = tn_scalar_f(1e-12), .atol = tn_scalar_f(1e-12)));
    TRUTH(!tn_grad(TN_TENSORS(pairs), TN_TENSORS(x), &own, .grad_outputs = TN_TENSORS(g)));
    TRUTH(!tn_grad(TN_TENSORS(all), TN_TENSORS(x), &other, .grad_outputs = TN_TENSORS(g)));
    TRUTH(tn_allclose(own, other, .rtol = tn_scalar_f(1e-10), .atol = tn_scalar_f(1e-12)));
    tn_scope_close(s);
}

static void run_pdist(void)
{
    static const int64_t shapes[][2] = {{2, 3}, {7, 5}, {8, 1}, {37, 8}, {40, 64}, {19, 65}};
    for (size_t i = 0; i < TN_COUNT(shapes); i++)
        for (double p = 1; p <= 3; p++)
            check_pairs(shapes[i][0], shapes[i][1], p);
    tn_scope *s = tn_scope_open();
    tn_tensor *rows =
        tn_mul(tn_reshape(tn_arange(0, 3, 1, .dtype = TN_F32), TN_SHAPE(3, 1)), tn_arange(3, 5, 1, .dtype = TN_F32));
    HOLDS(tn_pdist(rows), TN_SHAPE(3), 5, 10, 5);
    HOLDS(tn_pdist(rows, .p = TN_SCALAR(1)), TN_SHAPE(3), 7, 14, 7);
    HOLDS(tn_pdist(rows, .p = TN_SCALAR(0)), TN_SHAPE(3), 2, 2, 2);
    HOLDS(tn_pdist(rows, .p = TN_SCALAR(INFINITY)), TN_SHAPE(3), 4, 8, 4);
    HOLDS(tn_pdist(tn_narrow(rows, 0, 0, 1)), TN_SHAPE(0), 0);
    REFUSED(tn_pdist(tn_arange(0, 3, 1, .dtype = TN_F32)), TN_EINVAL, "pdist only supports 2D tensors, got: 1D");
    REFUSED(tn_pdist(rows, .p = TN_SCALAR(-1)), TN_EINVAL, "pdist only supports non-negative p values");
    REFUSED(tn_pdist(tn_to(rows, .dtype = TN_I32)), TN_EINVAL, "pdist only supports floating-point dtypes");
    REFUSED(tn_pdist(tn_to(rows, .dtype = TN_BF16)), TN_EDTYPE, "\"pdist\" not implemented for 'BFloat16'");
    /* by a product, and row by row: more rows than a tile has, and not a multiple of it */
    tn_tensor *x = tn_reshape(tn_sin(tn_arange(0, 2 * 37 * 5, 1, .dtype = TN_F64)), TN_SHAPE(2, 37, 5)),
              *y = tn_reshape(tn_cos(tn_arange(0, 30 * 5, 1, .dtype = TN_F64)), TN_SHAPE(30, 5));
    tn_tensor *exact = MADE(tn_cdist(x, y, .exact = true));
    tn_tensor *plain = tn_sqrt(tn_sum(tn_square(tn_sub(tn_unsqueeze(x, 2), y)), .dim = -1));
    TRUTH(tn_allclose(exact, plain, .rtol = tn_scalar_f(1e-12)));
    TRUTH(tn_allclose(tn_cdist(x, y), plain, .rtol = tn_scalar_f(1e-12)));
    TRUTH(tn_allclose(tn_cdist(tn_narrow(x, 1, 0, 3), y, .product = true), tn_narrow(plain, 1, 0, 3),
                      .rtol = tn_scalar_f(1e-12)));
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"addmv", run_sums},          {"addr", run_sums},
    {"addbmm", run_sums},         {"inner", run_sums},
    {"multi_dot", run_chains},    {"chain_matmul", run_chains},
    {"matrix_power", run_chains}, {"bilinear", run_chains},
    {"pdist", run_pdist},         {NULL, NULL},
};

/* ---- gradients ---- */

F(addmv, tn_addmv(x, y, in[2], .beta = tn_scalar_f(0.5), .alpha = tn_scalar_f(-2)))
F(addr, tn_addr(x, y, in[2], .beta = tn_scalar_f(0.5), .alpha = tn_scalar_f(-2)))
F(addbmm, tn_addbmm(x, y, in[2], .beta = tn_scalar_f(0.5), .alpha = tn_scalar_f(-2)))
F(inner, tn_inner(x, y))
F(multi_dot, tn_multi_dot(TN_TENSORS(x, y, in[2])))
F(matrix_power, tn_matrix_power(x, 3))
F(matrix_power_none, tn_matrix_power(x, 0))
F(bilinear, tn_bilinear(x, y, in[2], TN_NONE))
F(pdist, tn_pdist(x, .p = tn_scalar_f(3)))
F(cdist, tn_cdist(x, y))
F(cdist_product, tn_cdist(x, y, .product = true))
F(cdist_one, tn_cdist(x, y, .p = tn_scalar_i(1)))
F(cdist_most, tn_cdist(x, y, .p = tn_scalar_f(INFINITY)))

static const gradient_case gradients[] = {
    {"addmv", f_addmv, 3, {{1, {3}}, M34, NINE}, false},
    {"addr", f_addr, 3, {M34, {1, {3}}, NINE}, false},
    {"addbmm", f_addbmm, 3, {{1, {2}}, {3, {2, 3, 4}}, {3, {2, 4, 2}}}, false},
    TWO(inner),
    {"multi_dot", f_multi_dot, 3, {M34, {2, {4, 2}}, {1, {2}}}, false},
    {"matrix_power", f_matrix_power, 1, {{3, {2, 2, 2}}}, false},
    {"matrix_power_none", f_matrix_power_none, 1, {{2, {2, 2}}}, false},
    {"bilinear", f_bilinear, 3, {M34, {2, {3, 2}}, {3, {2, 4, 2}}}, false},
    ONE(pdist),
    TWO(cdist),
    TWO(cdist_product),
    TWO(cdist_one),
    TWO(cdist_most),
    {NULL, NULL, 0, {{0, {0}}}, false},
};

/* ---- PyTorch's records ---- */

#define FACTORS .beta = SCALAR("beta"), .alpha = SCALAR("alpha")

ADAPTER(addmv, tn_addmv(x, TENSOR(0, "mat"), TENSOR(1, "vec"), FACTORS))
ADAPTER(addr, tn_addr(x, TENSOR(0, "vec1"), TENSOR(1, "vec2"), FACTORS))
ADAPTER(addbmm, tn_addbmm(x, TENSOR(0, "batch1"), TENSOR(1, "batch2"), FACTORS))
ADAPTER(pdist, tn_pdist(x, .p = AT(0, "p")))
ADAPTER(matrix_power, tn_matrix_power(x, DIM(0, "n", 1)))
TWO_TENSORS(inner)

static bool record_bilinear(record *r, results *out)
{
    value bias = record_arg(r, 2, "bias");
    return give(out, tn_bilinear(r->input.t, record_arg(r, 0, "input2").t, record_arg(r, 1, "weight").t,
                                 bias.kind == V_TENSOR ? bias.t : TN_NONE));
}

static bool record_multi_dot(record *r, results *out)
{
    tn_tensor *t[16];
    return give(out, tn_multi_dot(tensors_of(&r->input, t)));
}

static const named_adapter adapters[] = {
    {"addmv", record_addmv},
    {"addr", record_addr},
    {"addbmm", record_addbmm},
    {"inner", record_inner},
    {"linalg.matrix_power", record_matrix_power},
    {"linalg.multi_dot", record_multi_dot},
    {"nn.functional.bilinear", record_bilinear},
    {"nn.functional.pdist", record_pdist},
    {NULL, NULL},
};

const family_tests product_sums_tests = {cases, gradients, adapters};
