/* Derivatives of structural rows against differences of the row's own forward in float64 (which test_structural checks
 * against loops), first order; and differences of the first-order gradient for the second. A case is a function of up
 * to four tensors; every input is tried in every layout.
 *
 * Central differences with h = 2^-17 of L = sum(g y): error h^2 L'''/6 < 2^-36 |L'''| and 2 eps |L| / h < 2^-34 |L|, so
 * 2^-26 of the sizes at hand allows for third derivatives of 2^9 times those, and no formula is wrong by as little. */
#include "ops/gradients.h"
#include "op/ops_private.h"
#undef TN_HERE
#define TN_HERE __FILE__ ":" TN__STR(__LINE__)
#include <string.h>

enum { INPUTS = 4 };

typedef struct shape {
    int32_t ndim;
    int64_t dim[4];
} shape;

typedef struct gradient_case {
    const char *name;
    tn_tensor *(*f)(tn_tensor **in);
    int n;
    shape in[INPUTS];
    bool once; /* linear, or second order has no derivative: said why */
} gradient_case;

/* Indices and masks that cases share; they belong to the scope that is open. */
static tn_tensor *indices(void)
{
    return tn_tensor_from(TN_LIST(2, 0, 0, 1, 2, 1), .shape = TN_SHAPE(2, 3));
}

#define F(name, expression) \
    static tn_tensor *f_##name(tn_tensor **in) \
    { \
        tn_tensor *x = in[0], *y = in[1]; \
        (void)x, (void)y; \
        return expression; \
    }

/* reductions */
F(sum, tn_sum(x))
F(sum_dim, tn_sum(x, .dim = TN_DIMS(1)))
F(sum_keep, tn_sum(x, .dim = TN_DIMS(0, -1), .keepdim = true))
F(mean, tn_mean(x))
F(sum_0, tn_sum(tn_mul(x, x), .dim = TN_DIMS(0)))
F(mean_0, tn_mean(tn_mul(x, x), .dim = TN_DIMS(-1), .keepdim = true))
F(prod_0, tn_prod(tn_mul(x, x), .dim = TN_DIMS(-1)))
F(amax_0, tn_amax(tn_mul(x, x), .dim = TN_DIMS(0)))
F(var_0, tn_var(tn_mul(x, x), .dim = TN_DIMS(0), .correction = tn_scalar_i(0)))
F(logsumexp_0, tn_logsumexp(tn_mul(x, x), .dim = TN_DIMS(-1)))
F(max_0, tn_max(tn_mul(x, x), .dim = TN_DIMS(-1)))
F(cumsum_0, tn_cumsum(tn_mul(x, x), -1))
F(flip_0, tn_mul(tn_flip(x, TN_DIMS(0)), tn_flip(x, TN_DIMS(-1))))
F(mean_dim, tn_mean(x, .dim = TN_DIMS(-1)))
F(prod, tn_prod(x))
F(prod_dim, tn_prod(x, .dim = TN_DIMS(1)))
F(prod_keep, tn_prod(x, .dim = TN_DIMS(0), .keepdim = true))
F(prod_zero, tn_prod(tn_mul(x, tn_tensor_from(TN_LIST(1.0, 0.0, 2.0, 3.0), .dtype = TN_F64)), .dim = TN_DIMS(1)))
F(prod_zeros, tn_prod(tn_mul(x, tn_tensor_from(TN_LIST(1.0, 0.0, 2.0, 0.0), .dtype = TN_F64)), .dim = TN_DIMS(1)))
F(amax, tn_amax(x, .dim = TN_DIMS(1)))
F(amax_all, tn_amax(x))
F(amin, tn_amin(x, .dim = TN_DIMS(0), .keepdim = true))
F(max, tn_max(x, .dim = TN_DIMS(1)))
F(max_keep, tn_max(x, .dim = TN_DIMS(0), .keepdim = true))
F(max_all, tn_max(x))
F(min, tn_min(x, .dim = TN_DIMS(1)))
F(min_all, tn_min(x))
F(var, tn_var(x))
F(var_dim, tn_var(x, .dim = TN_DIMS(1), .correction = tn_scalar_i(0)))
F(std, tn_std(x))
F(std_dim, tn_std(x, .dim = TN_DIMS(0), .keepdim = true, .correction = tn_scalar_f(0.5)))
F(logsumexp, tn_logsumexp(x, .dim = TN_DIMS(1)))
F(logsumexp_all, tn_logsumexp(x))
F(logsumexp_keep, tn_logsumexp(x, .dim = TN_DIMS(0, 1), .keepdim = true))
F(nuclear_norm, tn_nuclear_norm(x))
F(nuclear_norms, tn_nuclear_norm(x, .dim = TN_DIMS(2, 0), .keepdim = true))
F(cumsum, tn_cumsum(x, 1))
F(cumsum_first, tn_cumsum(x, 0))
F(softmax, tn_softmax(x, 1))
F(softmax_first, tn_softmax(x, 0))
F(log_softmax, tn_log_softmax(x, -1))
F(log_softmax_first, tn_log_softmax(x, 0))
F(softmax_backward, tn__softmax_backward(x, y, 1))
F(log_softmax_backward, tn__log_softmax_backward(x, y, 0))

/* joining and indexing */
F(cat, tn_cat(TN_TENSORS(x, y, x), 1))
F(cat_blank, tn_cat(TN_TENSORS(y, x), 0))
F(stack, tn_stack(TN_TENSORS(x, y), 1))
F(gather, tn_gather(x, 1, tn_tensor_from(TN_LIST(0, 0, 3, 2, 2, 1), .shape = TN_SHAPE(3, 2))))
F(scatter,
  tn_scatter(x, 1, tn_tensor_from(TN_LIST(0, 1, 3, 2, 2, 1), .shape = TN_SHAPE(3, 2)), tn_slice(y, 1, 0, 2, 1)))
F(scatter_number, tn_scatter(x, 0, tn_tensor_from(TN_LIST(0, 1, 2, 0), .shape = TN_SHAPE(1, 4)), 2.5))
F(scatter_add,
  tn_scatter_add(x, 1, tn_tensor_from(TN_LIST(0, 0, 3, 2, 2, 2), .shape = TN_SHAPE(3, 2)), tn_slice(y, 1, 0, 2, 1)))
F(index_select, tn_index_select(x, 1, tn_tensor_from(TN_LIST(3, 0, 3))))
F(index_add, tn_index_add(x, 0, tn_tensor_from(TN_LIST(2, 0, 2)), y))
F(index_copy, tn_index_copy(x, 0, tn_tensor_from(TN_LIST(2, 0)), tn_slice(y, 0, 0, 2, 1)))
F(index, tn_index(x, TN_TENSORS(indices(), tn_tensor_from(TN_LIST(-1, 0, 3)))))
F(index_far, tn_index(x, TN_TENSORS(tn_tensor_from(TN_LIST(1, 0, 1)), TN_NONE, tn_tensor_from(TN_LIST(0, 1, 0)))))
F(index_mask, tn_index(x, TN_TENSORS(TN_NONE, tn_tensor_from(TN_LIST(1, 0, 1, 1), .dtype = TN_BOOL))))
F(index_put, tn_index_put(x, TN_TENSORS(TN_NONE, tn_tensor_from(TN_LIST(3, 0))), tn_scalar_t(tn_slice(y, 1, 0, 2, 1))))
F(index_put_added, tn_index_put(x, TN_TENSORS(indices()), tn_scalar_t(tn_select(y, 0, 1)), .accumulate = true))
F(index_put_mask, tn_index_put(x, TN_TENSORS(tn_eq(tn_arange(0, 3, 1), 1)), tn_scalar_t(tn_sum(y))))
F(index_put_far,
  tn_mul(tn_index_put_(tn_mul(x, 2), TN_TENSORS(tn_tensor_from(TN_LIST(1, 0)), TN_NONE, tn_tensor_from(TN_LIST(0, 1))),
                       tn_scalar_t(y)),
         3))
F(masked_select, tn_masked_select(x, tn_tensor_from(TN_LIST(1, 0, 1, 1), .dtype = TN_BOOL)))
F(masked_scatter, tn_masked_scatter(x, tn_tensor_from(TN_LIST(1, 0, 1, 1), .dtype = TN_BOOL), y))
F(take_along_dim, tn_take_along_dim(x, tn_tensor_from(TN_LIST(3, 0, 3), .shape = TN_SHAPE(1, 3)), .dim = TN_DIMS(1)))
F(embedding, tn_embedding(x, indices()))
/* the padding row is given no gradient, by definition: its elements are made not to count (its zero: test_autograd) */
F(embedding_padded,
  tn_mul(tn_embedding(x, indices(), .padding_idx = tn_scalar_i(-1)), tn_unsqueeze(tn_ne(indices(), 2), -1)))

/* products */
F(mm, tn_mm(x, y))
F(bmm, tn_bmm(x, y))
F(mv, tn_mv(x, y))
F(dot, tn_dot(x, y))
F(addmm, tn_addmm(x, y, in[2]))
F(addmm_scaled, tn_addmm(x, y, in[2], .beta = tn_scalar_f(0.5), .alpha = tn_scalar_f(-2)))
F(linear, tn_linear(x, y, in[2]))
F(linear_plain, tn_linear(x, y, TN_NONE))
F(matmul, tn_matmul(x, y))
F(outer, tn_outer(x, y))

/* losses */
F(nll_loss, tn_nll_loss(x, tn_tensor_from(TN_LIST(1, 3, 0))))
F(nll_loss_none, tn_nll_loss(x, tn_tensor_from(TN_LIST(1, 2, 0)),
                             .weight = tn_tensor_from(TN_LIST(1.0, 2.0, 0.5, 3.0), .dtype = TN_F64),
                             .reduction = TN_NO_REDUCTION, .ignore_index = tn_scalar_i(2)))
F(nll_loss_weighted, tn_nll_loss(x, tn_tensor_from(TN_LIST(1, 2, 0)),
                                 .weight = tn_tensor_from(TN_LIST(1.0, 2.0, 0.5, 3.0), .dtype = TN_F64)))
F(cross_entropy, tn_cross_entropy(x, tn_tensor_from(TN_LIST(1, 3, 0)), .label_smoothing = 0.2))
F(cross_entropy_probabilities, tn_cross_entropy(x, tn_softmax(y, 1), .reduction = TN_SUM))
F(mse_loss, tn_mse_loss(x, y))
F(mse_loss_sum, tn_mse_loss(x, y, .reduction = TN_SUM))
F(mse_loss_none, tn_mse_loss(x, y, .reduction = TN_NO_REDUCTION))
F(l1_loss, tn_l1_loss(x, y))
F(bce, tn_binary_cross_entropy_with_logits(x, y))
F(bce_weighted,
  tn_binary_cross_entropy_with_logits(x, y, .weight = tn_tensor_from(TN_LIST(1.0, 2.0, 0.5, 3.0), .dtype = TN_F64),
                                      .pos_weight = tn_tensor_from(TN_LIST(2.0, 0.5, 1.5, 1.0), .dtype = TN_F64),
                                      .reduction = TN_SUM))
F(silu, tn_silu(x))
F(softplus, tn_softplus(x, .beta = tn_scalar_f(1.5), .threshold = tn_scalar_f(2)))
F(leaky_relu, tn_leaky_relu(x, .negative_slope = tn_scalar_f(0.2)))
F(elu, tn_elu(x, .alpha = tn_scalar_f(1.5)))
F(huber_loss, tn_huber_loss(x, y, .delta = tn_scalar_f(0.7)))
F(smooth_l1_loss, tn_smooth_l1_loss(x, y, .beta = tn_scalar_f(0.7)))
F(kl_div, tn_kl_div(x, tn_softmax(y, 1)))
static tn_tensor *f_dropout(tn_tensor **in)
{
    tn_manual_seed(7);
    return tn_dropout(in[0], 0.4);
}

/* copies; written in place */
F(to, tn_mul(tn_to(tn_to(x, .dtype = TN_F64, .copy = true), .dtype = TN_F64), x))
F(clone, tn_clone(x))
F(contiguous, tn_contiguous(tn_t(x)))
F(restride, tn__restride(x, TN_DIMS(1, 3)))
F(copy_, tn_copy_(tn_clone(x), y))
F(fill, tn_fill(x, tn_scalar_t(tn_select(y, 0, 0))))
F(zero_, tn_mul(tn_zero_(tn_clone(x)), y))
F(uniform_, tn_mul(tn_uniform_(tn_clone(x), 1, 1), y))
F(normal_, tn_mul(tn_normal_(tn_clone(x), 1, 0), y))
F(tril, tn_tril(x, 1))
F(triu, tn_triu(x, -1))
F(flip, tn_flip(x, TN_DIMS(0, 1)))

/* views */
F(view, tn_view(tn_contiguous(tn_mul(x, 2)), TN_SHAPE(2, -1)))
F(permute, tn_permute(x, TN_DIMS(2, 0, 1)))
F(transpose, tn_transpose(x, 0, -1))
F(t, tn_t(x))
F(expand, tn_expand(x, TN_SHAPE(2, 3, 4)))
F(squeeze, tn_squeeze(x))
F(squeeze_dim, tn_squeeze(x, .dim = TN_DIMS(1)))
F(unsqueeze, tn_unsqueeze(x, 1))
F(select, tn_select(x, 1, -1))
F(slice, tn_slice(x, 1, 1, 4, 2))
F(diagonal, tn_diagonal(x, 1, 0, 1))
F(diagonal_low, tn_diagonal(x, -1, 1, 2))
F(as_strided, tn_as_strided(tn_clone(x), TN_DIMS(2, 2), TN_DIMS(5, 1), 1))
/* of elements 4 to 7 of twelve, a view of 1, 2, 6 and 7: the first two are none of its input's, and made not to count */
F(as_strided_beyond,
  tn_mul(tn_as_strided(tn_slice(tn_reshape(tn_mul(x, 2), TN_SHAPE(12)), 0, 4, 8, 1), TN_DIMS(2, 2), TN_DIMS(5, 1), 1),
         tn_tensor_from(TN_LIST(0.0, 0.0, 1.0, 3.0), .shape = TN_SHAPE(2, 2), .dtype = TN_F64)))
F(alias, tn_alias(x))
F(reshape, tn_reshape(tn_t(x), TN_SHAPE(6, 2)))
F(flatten, tn_flatten(x, 0, 1))
F(narrow, tn_narrow(x, 1, 1, 2))
F(view_as, tn_view_as(tn_contiguous(x), y))
F(expand_as, tn_expand_as(x, y))
F(sum_to_size, tn_sum_to_size(x, TN_SHAPE(1, 4)))
static tn_tensor *pieces(int64_t n, tn_tensor **out)
{
    tn_tensor *sum = NULL;
    for (int64_t i = 0; i < n; i++)
        sum = sum ? tn_add(sum, tn_mul(tn_sum(tn_square(out[i])), (double)(i + 1))) : tn_sum(tn_square(out[i]));
    return sum;
}
static tn_tensor *f_split(tn_tensor **in)
{
    tn_tensor *out[3];
    return pieces(tn_split(in[0], 3, 1, out, 3), out);
}
static tn_tensor *f_split_sizes(tn_tensor **in)
{
    tn_tensor *out[3];
    return pieces(tn_split_sizes(in[0], TN_DIMS(1, 0, 3), 1, out, 3), out);
}
static tn_tensor *f_chunk(tn_tensor **in)
{
    tn_tensor *out[3];
    return pieces(tn_chunk(in[0], 2, 0, out, 3), out);
}
static tn_tensor *f_unbind(tn_tensor **in)
{
    tn_tensor *out[3];
    return pieces(tn_unbind(in[0], 0, out, 3), out);
}
/* writing to a view changes the base: CopySlices */
static tn_tensor *f_slices(tn_tensor **in)
{
    tn_tensor *base = tn_mul(in[0], 2), *second = tn_select(base, 0, 1);
    return tn_mul_(second, tn_select(in[1], 0, 0)) ? tn_mul(base, in[1]) : NULL;
}
static tn_tensor *f_slices_deep(tn_tensor **in)
{
    tn_tensor *base = tn_mul(in[0], 2), *part = tn_slice(tn_t(base), 0, 0, 4, 2);
    return tn_copy_(part, tn_t(tn_slice(in[1], 1, 1, 3, 1))) && tn_exp_(tn_select(base, 0, 2)) ? base : NULL;
}

#define M34 \
    { \
        2, \
        { \
            3, 4 \
        } \
    }
#define NINE \
    { \
        1, \
        { \
            4 \
        } \
    }
#define ONE(name) \
    { \
#name, f_##name, 1, {M34 }, false \
    }
#define TWO(name) \
    { \
#name, f_##name, 2, {M34, M34 }, false \
    }
static const gradient_case cases[] = {
    ONE(sum),
    ONE(sum_dim),
    {"sum_keep", f_sum_keep, 1, {{3, {2, 3, 2}}}, false},
    ONE(mean),
    {"sum of 0-dim", f_sum_0, 1, {{0}}, false},
    {"mean of 0-dim", f_mean_0, 1, {{0}}, false},
    {"prod of 0-dim", f_prod_0, 1, {{0}}, false},
    {"amax of 0-dim", f_amax_0, 1, {{0}}, false},
    {"var of 0-dim", f_var_0, 1, {{0}}, false},
    {"logsumexp of 0-dim", f_logsumexp_0, 1, {{0}}, false},
    {"max of 0-dim", f_max_0, 1, {{0}}, false},
    {"cumsum of 0-dim", f_cumsum_0, 1, {{0}}, false},
    {"flip of 0-dim", f_flip_0, 1, {{0}}, false},
    ONE(mean_dim),
    {"mean of a 0-dim", f_mean, 1, {{0, {0}}}, false},
    {"prod", f_prod, 1, {{2, {2, 3}}}, false},
    ONE(prod_dim),
    ONE(prod_keep),
    ONE(prod_zero),
    ONE(prod_zeros),
    ONE(amax),
    ONE(amax_all),
    ONE(amin),
    ONE(max),
    ONE(max_keep),
    ONE(max_all),
    ONE(min),
    ONE(min_all),
    ONE(var),
    ONE(var_dim),
    ONE(std),
    ONE(std_dim),
    ONE(logsumexp),
    ONE(logsumexp_all),
    ONE(logsumexp_keep),
    {"nuclear_norm", f_nuclear_norm, 1, {M34}, true}, /* once: its gradient has no derivative */
    {"nuclear_norms", f_nuclear_norms, 1, {{3, {2, 3, 2}}}, true},
    ONE(cumsum),
    ONE(cumsum_first),
    ONE(softmax),
    ONE(softmax_first),
    ONE(log_softmax),
    ONE(log_softmax_first),
    TWO(softmax_backward),
    TWO(log_softmax_backward),
    TWO(cat),
    {"cat_blank", f_cat_blank, 2, {M34, {1, {0}}}, false},
    TWO(stack),
    ONE(gather),
    TWO(scatter),
    ONE(scatter_number),
    TWO(scatter_add),
    ONE(index_select),
    TWO(index_add),
    TWO(index_copy),
    ONE(index),
    {"index_far", f_index_far, 1, {{3, {2, 2, 2}}}, false},
    ONE(index_mask),
    TWO(index_put),
    TWO(index_put_added),
    TWO(index_put_mask),
    {"index_put_far", f_index_put_far, 2, {{3, {2, 3, 2}}, {2, {2, 3}}}, false},
    ONE(masked_select),
    TWO(masked_scatter),
    ONE(take_along_dim),
    ONE(embedding),
    ONE(embedding_padded),
    {"mm", f_mm, 2, {M34, {2, {4, 2}}}, false},
    {"bmm", f_bmm, 2, {{3, {2, 2, 3}}, {3, {2, 3, 2}}}, false},
    {"mv", f_mv, 2, {M34, {1, {4}}}, false},
    {"dot", f_dot, 2, {{1, {4}}, {1, {4}}}, false},
    {"addmm", f_addmm, 3, {{2, {3, 2}}, M34, {2, {4, 2}}}, false},
    {"addmm, bias of a row", f_addmm, 3, {{1, {2}}, M34, {2, {4, 2}}}, false},
    {"addmm_scaled", f_addmm_scaled, 3, {{2, {3, 1}}, M34, {2, {4, 2}}}, false},
    {"linear", f_linear, 3, {M34, {2, {2, 4}}, {1, {2}}}, false},
    {"linear of a vector", f_linear, 3, {NINE, {2, {2, 4}}, {1, {2}}}, false},
    {"linear of a batch", f_linear, 3, {{3, {2, 2, 4}}, {2, {2, 4}}, {1, {2}}}, false},
    {"linear, plain", f_linear_plain, 2, {M34, {2, {2, 4}}}, false},
    {"linear, 1-D weight", f_linear_plain, 2, {M34, NINE}, false},
    {"matmul", f_matmul, 2, {{3, {2, 2, 3}}, {2, {3, 2}}}, false},
    {"matmul, broadcast", f_matmul, 2, {{3, {2, 2, 3}}, {4, {2, 1, 3, 1}}}, false},
    {"matmul, vector first", f_matmul, 2, {{1, {3}}, {3, {2, 3, 2}}}, false},
    {"matmul, vector last", f_matmul, 2, {{3, {2, 2, 3}}, {1, {3}}}, false},
    {"outer", f_outer, 2, {{1, {3}}, {1, {4}}}, false},
    ONE(nll_loss),
    ONE(nll_loss_none),
    ONE(nll_loss_weighted),
    ONE(cross_entropy),
    TWO(cross_entropy_probabilities),
    TWO(mse_loss),
    TWO(mse_loss_sum),
    TWO(mse_loss_none),
    {"mse_loss, broadcast", f_mse_loss, 2, {M34, NINE}, false},
    TWO(l1_loss),
    ONE(silu),
    ONE(softplus),
    ONE(leaky_relu),
    ONE(elu),
    TWO(huber_loss),
    TWO(smooth_l1_loss),
    TWO(kl_div),
    TWO(bce),
    TWO(bce_weighted),
    ONE(dropout),
    ONE(to),
    ONE(clone),
    ONE(contiguous),
    ONE(restride),
    TWO(copy_),
    {"copy_, broadcast", f_copy_, 2, {M34, NINE}, false},
    {"fill", f_fill, 2, {M34, NINE}, false},
    TWO(zero_),
    TWO(uniform_),
    TWO(normal_),
    ONE(tril),
    ONE(triu),
    ONE(flip),
    ONE(view),
    {"permute", f_permute, 1, {{3, {2, 3, 2}}}, false},
    ONE(transpose),
    ONE(t),
    {"t of a vector", f_t, 1, {NINE}, false},
    {"expand", f_expand, 1, {{2, {3, 1}}}, false},
    {"squeeze", f_squeeze, 1, {{3, {1, 3, 1}}}, false},
    {"squeeze_dim", f_squeeze_dim, 1, {{3, {1, 1, 3}}}, false},
    ONE(unsqueeze),
    ONE(select),
    ONE(slice),
    ONE(diagonal),
    {"diagonal_low", f_diagonal_low, 1, {{3, {2, 3, 2}}}, false},
    ONE(as_strided),
    ONE(as_strided_beyond),
    ONE(alias),
    ONE(reshape),
    ONE(flatten),
    ONE(narrow),
    {"view_as", f_view_as, 2, {M34, {2, {2, 6}}}, false},
    {"expand_as", f_expand_as, 2, {NINE, M34}, false},
    ONE(sum_to_size),
    ONE(split),
    ONE(split_sizes),
    ONE(chunk),
    ONE(unbind),
    TWO(slices),
    TWO(slices_deep),
};

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

static void tensors_of(run *r, tn_tensor **t)
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
    tensors_of(r, t);
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
    tensors_of(r, t);
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
    tensors_of(r, t);
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
    tensors_of(&r, t);
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

void gradients_of_structural(const char *only)
{
    int64_t before = kit.cases;
    for (size_t i = 0; i < TN_COUNT(cases); i++)
        for (int layout = 0; layout < KIT_EXPANDED && (!only || !strcmp(only, cases[i].name)); layout++) {
            kit_seed_by(cases[i].name, layout);
            one(&cases[i], layout);
        }
    printf("structural rows: %d functions in %d layouts, %lld cases\n", (int)TN_COUNT(cases), (int)KIT_EXPANDED,
           (long long)(kit.cases - before));
}
