/* Vectors: cross, cov and what is like them. Values are PyTorch's. */
#include "ops/family.h"

static void run_cross(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *a = counted(TN_SHAPE(2, 3), 6), *row = tn_narrow(a, 0, 0, 1);
    HOLDS(tn_cross(tn_select(a, 0, 0), tn_select(a, 0, 1)), TN_SHAPE(3), -3, 6, -3);
    HOLDS(tn_cross(a, tn_sub(a, row)), TN_SHAPE(2, 3), 0, 0, 0, -3, 6, -3);
    HOLDS(tn_cross(a, row, .dim = -1), TN_SHAPE(2, 3), 0, 0, 0, 3, -6, 3);
    HOLDS(tn_cross(tn_t(a), tn_t(row)), TN_SHAPE(3, 2), 0, 3, 0, -6, 0, 3);
    tn_tensor *far = tn_narrow(tn_reshape(tn_arange(0, 9000 * 7, 1), TN_SHAPE(3, 3000, 7)), 2, 1, 3);
    tn_tensor *turned = tn_movedim(far, TN_DIMS(2), TN_DIMS(0)), *other = tn_sub(tn_select(far, 1, 0), 5);
    for (int i = 0; i < 5; i++) { /* one pass, and products of parts */
        static const tn_dtype types[] = {TN_F32, TN_F64, TN_I32, TN_I64, TN_BF16};
        tn_tensor *x = tn_to(turned, .dtype = types[i]), *y = tn_unsqueeze(tn_to(tn_t(other), .dtype = types[i]), 2);
        tn_tensor *all = tn_cross(x, y, .dim = 0);
        for (int k = 0; k < 3; k++) {
            tn_tensor *x1 = tn_select(x, 0, (k + 1) % 3), *y1 = tn_select(y, 0, (k + 1) % 3);
            tn_tensor *x2 = tn_select(x, 0, (k + 2) % 3), *y2 = tn_select(y, 0, (k + 2) % 3);
            TRUTH(tn_equal(tn_select(all, 0, k), tn_sub(tn_mul(x1, y2), tn_mul(x2, y1))));
        }
    }
    REFUSED(tn_cross(a, tn_select(a, 0, 0)), TN_EINVAL,
            "linalg.cross: inputs must have the same number of dimensions.");
    REFUSED(tn_cross(a, a, .dim = 0), TN_EINVAL, "linalg.cross: inputs dimension 0 must have length 3. Got 2 and 2");
    REFUSED(tn_cross(tn_narrow(a, 1, 0, 2), tn_narrow(a, 1, 0, 2)), TN_EINVAL, "no dimension of size 3 in input");
    REFUSED(tn_cross(a, a, .dim = 2), TN_EINDEX, "Dimension out of range");
    REFUSED(tn_cross(tn_gt(a, 0), tn_gt(a, 0)), TN_EDTYPE, "\"cross\" not implemented for 'Bool'");
    REFUSED(tn_cross(a, tn_to(a, .dtype = TN_I64)), TN_EINVAL, "expected scalar type Float but found Long");
    REFUSED(tn_cross(a, TN_NONE), TN_ETYPE, "TN_NONE");
    tn_scope_close(s);
}

static void run_cov(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *a = tn_to(counted(TN_SHAPE(2, 3), 6), .dtype = TN_F64), *line = four_values(1, 2, 4, 2.5);
    tn_tensor *n = tn_add(tn_zeros(TN_SHAPE(3), .dtype = TN_I64), 2), *w = tn_ones(TN_SHAPE(3), .dtype = TN_F64);
    HOLDS(tn_cov(a), TN_SHAPE(2, 2), 1, 1, 1, 1);
    HOLDS(tn_cov(line), TN_SHAPE(), 1.5625);
    HOLDS(tn_cov(a, .correction = TN_SCALAR(2)), TN_SHAPE(2, 2), 2, 2, 2, 2);
    HOLDS(tn_cov(a, .correction = TN_SCALAR(5)), TN_SHAPE(2, 2), INFINITY, INFINITY, INFINITY, INFINITY);
    HOLDS(tn_cov(a, .fweights = n, .correction = TN_SCALAR(2)), TN_SHAPE(2, 2), 1, 1, 1, 1);
    HOLDS(tn_cov(a, .aweights = w), TN_SHAPE(2, 2), 1, 1, 1, 1);
    HOLDS(tn_cov(a, .aweights = w, .fweights = n, .correction = TN_SCALAR(2)), TN_SHAPE(2, 2), 1, 1, 1, 1);
    HOLDS(tn_cov(tn_to(a, .dtype = TN_I32)), TN_SHAPE(2, 2), 1, 1, 1, 1);
    REFUSED(tn_cov(tn_unsqueeze(a, 0)), TN_EINVAL, "cov(): expected input to have two or fewer dimensions but got an");
    REFUSED(tn_cov(tn_gt(a, 0)), TN_EMISSING, "cov(): bool dtype is not supported for input");
    REFUSED(tn_cov(a, .fweights = tn_to(n, .device = TN_META)), TN_EMISSING, "on meta have no values");
    REFUSED(tn_cov(a, .fweights = w), TN_EINVAL,
            "cov(): expected fweights to have integral dtype but got fweights with Double dtype");
    REFUSED(tn_cov(a, .aweights = n), TN_EINVAL,
            "cov(): expected aweights to have floating point dtype but got aweights with Long dtype");
    REFUSED(tn_cov(a, .aweights = a), TN_EINVAL,
            "cov(): expected aweights to have one or fewer dimensions but got aweights with 2 dimensions");
    REFUSED(tn_cov(a, .aweights = line), TN_EINVAL,
            "cov(): expected aweights to have the same numel as there are observations in the input but got 4 != 3");
    REFUSED(tn_cov(a, .aweights = tn_neg(w)), TN_EINVAL, "cov(): aweights cannot be negative");
    REFUSED(tn_cov(tn_zeros(TN_SHAPE(1, 0)), .aweights = tn_zeros(TN_SHAPE(0))), TN_EINVAL,
            "cov(): weights sum to zero, can't be normalized");
    tn_scope_close(s);
}

static void run_vectors(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *a = tn_reshape(tn_arange(0, 6, 1, .dtype = TN_F32), TN_SHAPE(2, 3)), *v = tn_select(a, 0, 1);
    HOLDS(tn_corrcoef(tn_stack(TN_TENSORS(v, tn_neg(v)), 0)), TN_SHAPE(2, 2), 1, -1, -1, 1);
    HOLDS(tn_corrcoef(v), TN_SHAPE(), 1);
    REFUSED(tn_corrcoef(tn_unsqueeze(a, 0)), TN_EINVAL, "corrcoef(): expected input to have two or fewer dimensions");
    HOLDS(tn_vecdot(a, v), TN_SHAPE(2), 14, 50);
    HOLDS(tn_vecdot(a, a, .dim = 0), TN_SHAPE(3), 9, 17, 29);
    HOLDS(tn_vecdot(v, v), TN_SHAPE(), 50);
    for (int64_t k = 1; k < 34; k += 4) /* many rows, short ones and others; whole numbers add up exactly */
        for (int wide = 0; wide < 2; wide++) {
            const tn_dtype d = wide ? TN_F64 : TN_F32;
            tn_tensor *x = tn_reshape(tn_remainder(tn_arange(0, (double)(300 * k), 1, .dtype = d), 17),
                                      TN_SHAPE(300, k)),
                      *y = tn_add(tn_flip(x, TN_SHAPE(0)), 1);
            TRUTH(tn_equal(tn_vecdot(x, y), tn_sum(tn_mul(x, y), .dim = 1)));
            tn_requires_grad_(x, true);
            tn_requires_grad_(y = tn_detach(y), true);
            tn_tensor *to[2] = {x, y}, *given[2];
            TRUTH(!tn_grad(TN_TENSORS(tn_sum(tn_vecdot(x, y))), ((tn_tensors){to, 2}), given));
            TRUTH(tn_equal(given[0], tn_detach(y)) && tn_equal(given[1], tn_detach(x)));
        }
    REFUSED(tn_vecdot(a, tn_to(a, .dtype = TN_F64)), TN_EINVAL, "but found x of type Float and y of type Double");
    REFUSED(tn_vecdot(tn_to(a, .dtype = TN_I64), a), TN_EMISSING, "Expected a floating point or complex tensor");
    HOLDS(tn_vander(v), TN_SHAPE(3, 3), 9, 3, 1, 16, 4, 1, 25, 5, 1);
    HOLDS(tn_vander(v, .N = TN_SCALAR(2), .increasing = true), TN_SHAPE(3, 2), 1, 3, 1, 4, 1, 5);
    HOLDS(tn_linalg_vander(tn_unsqueeze(v, 0), .N = TN_SCALAR(2)), TN_SHAPE(1, 3, 2), 1, 3, 1, 4, 1, 5);
    REFUSED(tn_vander(a), TN_EINVAL, "x must be a one-dimensional tensor.");
    REFUSED(tn_vander(v, .N = TN_SCALAR(-1)), TN_EINVAL, "N must be non-negative.");
    REFUSED(tn_linalg_vander(v, .N = TN_SCALAR(1)), TN_EINVAL, "N must be greater than 1.");
    REFUSED(tn_linalg_vander(tn_gt(v, 0)), TN_EMISSING, "linalg.vander supports floating point");
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"cross", run_cross},
    {"cov", run_cov},
    {"corrcoef", run_vectors},
    {"vecdot", run_vectors},
    {"vander", run_vectors},
    {"linalg_vander", run_vectors},
    {NULL, NULL},
};

/* ---- gradients ---- */

F(cross, tn_cross(x, y))
F(cov, tn_cov(x))
F(cov_weights, tn_cov(x, .aweights = tn_add(tn_square(y), 1)))

F(corrcoef, tn_corrcoef(x))
F(vecdot, tn_vecdot(x, y))
F(vander, tn_vander(x))

static const gradient_case gradients[] = {{"cross", f_cross, 2, {{2, {2, 3}}, {2, {2, 3}}}, false},
                                          ONE(cov),
                                          ONE(corrcoef),
                                          TWO(vecdot),
                                          {"vander", f_vander, 1, {NINE}, false},
                                          {"cov_weights", f_cov_weights, 2, {M34, NINE}, false},
                                          {NULL, NULL, 0, {{0, {0}}}, false}};

/* ---- PyTorch's records ---- */

static bool record_cross(record *r, results *out)
{
    dims_buffer b;
    tn_tensor *other = record_arg(r, 0, "other").t;
    const tn_dims dim = dims_of(record_arg(r, 1, "dim"), &b);
    return give(out, dim.ndim ? tn_cross(r->input.t, other, .dim = dim.dim[0]) : tn_cross(r->input.t, other));
}

ADAPTER(cov, tn_cov(x, .correction = SCALAR("correction"), .fweights = TENSOR(-1, "fweights"),
                    .aweights = TENSOR(-1, "aweights")))

ADAPTER(corrcoef, tn_corrcoef(x))
ADAPTER(vander, tn_linalg_vander(x, .N = SCALAR("N")))

static bool record_vecdot(record *r, results *out)
{
    dims_buffer b;
    const tn_dims dim = dims_of(record_arg(r, 1, "dim"), &b);
    tn_tensor *y = record_arg(r, 0, "y").t;
    return give(out, dim.ndim ? tn_vecdot(r->input.t, y, .dim = dim.dim[0]) : tn_vecdot(r->input.t, y));
}

static const named_adapter adapters[] = {
    {"cross", record_cross},          {"cov", record_cov},
    {"corrcoef", record_corrcoef},    {"linalg.vander", record_vander},
    {"linalg.vecdot", record_vecdot}, {NULL, NULL},
};

const family_tests linalg_vectors_tests = {cases, gradients, adapters};
