/* Products of matrices and vectors, and distances. */
#include "ops/family.h"
#include <string.h>

static void run_distances(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *a = tn_reshape(four_values(0, 0, 3, 4), TN_SHAPE(2, 2)),
              *b = tn_reshape(four_values(0, 0, 6, 8), TN_SHAPE(2, 2));
    HOLDS(tn_cdist(a, b), TN_SHAPE(2, 2), 0, 10, 5, 5);
    HOLDS(tn_cdist(a, b, .p = TN_SCALAR(1)), TN_SHAPE(2, 2), 0, 14, 7, 7);
    HOLDS(tn_dist(a, b), TN_SHAPE(), 5);
    tn_tensor *wide = tn_expand(tn_zeros(TN_SHAPE(1)), TN_SHAPE(INT64_C(1) << 40));
    REFUSED(tn_kron(wide, wide), TN_EINVAL, "more elements than an index can count");
    tn_tensor *tall = tn_reshape(tn_arange(4 * 520), TN_SHAPE(520, 4)),
              *spread = tn_repeat_interleave(tall, 2, .dim = 0);
    TRUTH(tn_equal(tn_kron(tall, b), tn_mul(tn_repeat_interleave(spread, 2, .dim = 1), tn_repeat(b, TN_DIMS(520, 4)))));
    HOLDS(tn_kron(tn_select(a, 0, 1), b), TN_SHAPE(2, 4), 0, 0, 0, 0, 18, 24, 24, 32);
    REFUSED(tn_cdist(a, tn_ones(TN_SHAPE(2, 3))), TN_EINVAL, "same number of columns. X1: 2 X2: 3");
    REFUSED(tn_cdist(a, b, .p = TN_SCALAR(-1)), TN_EINVAL, "non-negative p values");
    REFUSED(tn_dist(tn_ones(TN_SHAPE(1), .dtype = TN_I64), tn_ones(TN_SHAPE(1), .dtype = TN_I64)), TN_EMISSING,
            "Got Long");
    tn_scope_close(s);
}

/* ---- baddbmm ---- */

static void run_baddbmm(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *a = tn_reshape(tn_arange(0, 12, 1, .dtype = TN_F64), TN_SHAPE(2, 2, 3)),
              *b = tn_reshape(tn_arange(0, 12, 1, .dtype = TN_F64), TN_SHAPE(2, 3, 2)),
              *x = tn_ones(TN_SHAPE(2, 1), .dtype = TN_F64);
    expected e;
    const int64_t shape[3] = {2, 2, 2};
    expected_init(&e, TN_F64, 3, shape);
    for (int i = 0; i < 8; i++) {
        e.v[i] = 2;
        for (int k = 0; k < 3; k++)
            e.v[i] += 3 * (real)(i / 2 * 3 + k) * (real)(i / 4 * 6 + k * 2 + i % 2);
    }
    check_free(&e, tn_baddbmm(x, a, b, .beta = TN_SCALAR(2), .alpha = TN_SCALAR(3)), "baddbmm");
    TRUTH(tn_equal(tn_baddbmm(tn_full_like(x, NAN), a, b, .beta = TN_SCALAR(0)), tn_bmm(a, b)));
    tn_tensor *each = tn_reshape(tn_arange(0, 8, 1, .dtype = TN_F64), TN_SHAPE(2, 2, 2)), *was = tn_clone(each);
    TRUTH(tn_equal(tn_baddbmm(each, a, b), tn_add(tn_bmm(a, b), each)));
    TRUTH(tn_equal(each, was));
    REFUSED(tn_baddbmm(x, a, a), TN_EINVAL, "");
    tn_scope_close(s);
}

/* What a product is of: [batch] x [m, k] x [k, n] at strides of the row-major values. */
typedef struct product {
    int64_t batch, m, k, n;
} product;

/* The numbers of an array of integers; the caller frees them. */
static uint64_t *integers_of(const kit_array *x)
{
    uint64_t *v = malloc((size_t)TN_MAX(x->numel, 1) * sizeof *v);
    if (!v)
        abort();
    for (int64_t i = 0; i < x->numel; i++)
        v[i] = (uint64_t)(int64_t)x->v[i];
    return v;
}

static void multiply_integers(const product *p, const kit_array *a, const kit_array *b, expected *e)
{
    uint64_t *av = integers_of(a), *bv = integers_of(b);
    for (int64_t o = 0; o < p->batch * p->m * p->n; o++) {
        int64_t j = o % p->n, i = o / p->n % p->m, t = o / (p->n * p->m);
        const uint64_t *x = av + (t * p->m + i) * p->k, *y = bv + t * p->k * p->n + j;
        uint64_t sum = 0;
        for (int64_t k = 0; k < p->k; k++, y += p->n)
            sum += x[k] * *y;
        e->v[o] = kit_round((real)(int64_t)sum, e->dtype);
        e->tol[o] = 0;
    }
    free(av);
    free(bv);
}

/* Sum over k of a b, at every (batch, m, n); tol: k roundings of the sum of |a b|, which any order of summation keeps
 * to; bias and alpha included by the caller through 'scale'. Integers wrap. */
static void multiply(const product *p, const kit_array *a, const kit_array *b, expected *e)
{
    e->ulps = kit_digits(e->dtype) < 24 ? 1 : 0;
    if (!kit_is_float(e->dtype)) {
        multiply_integers(p, a, b, e);
        return;
    }
    for (int64_t o = 0; o < p->batch * p->m * p->n; o++) {
        int64_t j = o % p->n, i = o / p->n % p->m, t = o / (p->n * p->m);
        const real *x = a->v + (t * p->m + i) * p->k, *y = b->v + t * p->k * p->n + j;
        real sum = 0, sizes = 0;
        for (int64_t k = 0; k < p->k; k++, y += p->n) {
            const real v = x[k] * *y;
            sum += v;
            sizes += fabsl(v);
        }
        e->v[o] = sum;
        e->tol[o] = compute_eps(e->dtype) * (p->k + 1) * sizes;
    }
}

typedef tn_tensor *(*two_fn)(tn_tensor *a, tn_tensor *b);

/* One product of arrays of the given shapes. */
static void attempt(const char *name, two_fn f, const product *p, tn_dtype d, const shape_list *sa,
                    const shape_list *sb, const shape_list *out, int la, int lb)
{
    kit_array a, b;
    expected e;
    tn_scope *scope = tn_scope_open();
    random_array(&a, d, sa->ndim, sa->dim, (kit_layout)la, kit_is_float(d) || kit_below(2));
    random_array(&b, d, sb->ndim, sb->dim, (kit_layout)lb, kit_is_float(d) || kit_below(2));
    tn_tensor *got = f(a.t, b.t);
    if (d == TN_BOOL && ((a.numel && b.numel) || !strcmp(name, "dot"))) { /* of nothing others take any dtype */
        refused(got, TN_EDTYPE, "not implemented for 'Bool'", name);
    } else {
        expected_init(&e, d, out->ndim, out->dim);
        expected_tolerate(&e);
        multiply(p, &a, &b, &e);
        check_free(&e, got, "%s of %s %s %s and %s %s", name, tn_dtype_name(d), kit_shape_text(a.ndim, a.shape),
                   kit_layout_names[la], kit_shape_text(b.ndim, b.shape), kit_layout_names[lb]);
    }
    kit_array_free(&a);
    kit_array_free(&b);
    tn_scope_close(scope);
}

static const int64_t sizes[][3] = {{1, 1, 1},    {2, 3, 4}, {5, 1, 7}, {1, 9, 3}, {7, 13, 1},
                                   {17, 16, 33}, {3, 0, 2}, {0, 3, 2}, {2, 3, 0}, {1, 6, 1}};

static const int64_t large[][3] = {{65, 130, 70}, {129, 64, 257}, {6, 700, 9},  {1, 513, 300},
                                   {200, 300, 1}, {47, 33, 1030}, {20, 515, 40}};

static void matrices(const char *name, two_fn f)
{
    for (int i = 0; i < KIT_DTYPES; i++) {
        for (size_t s = 0; s < TN_COUNT(sizes); s++)
            for (int l = 0; l < KIT_LAYOUTS * KIT_LAYOUTS; l++) {
                const product p = {1, sizes[s][0], sizes[s][1], sizes[s][2]};
                const shape_list a = {2, {p.m, p.k}}, b = {2, {p.k, p.n}}, out = {2, {p.m, p.n}};
                attempt(name, f, &p, kit_dtypes[i], &a, &b, &out, l % KIT_LAYOUTS, l / KIT_LAYOUTS);
            }
        for (size_t s = 0; s < TN_COUNT(large); s++) {
            const product p = {1, large[s][0], large[s][1], large[s][2]};
            const shape_list a = {2, {p.m, p.k}}, b = {2, {p.k, p.n}}, out = {2, {p.m, p.n}};
            int l = (int)s + i;
            attempt(name, f, &p, kit_dtypes[i], &a, &b, &out, l % KIT_LAYOUTS, (l / 2 + 2) % KIT_LAYOUTS);
        }
        for (int l = 0; l < KIT_LAYOUTS * KIT_LAYOUTS;
             l++) { /* a BLAS, which large products of floats go to, takes some */
            const product p = {1, large[0][0], large[0][1], large[0][2]};
            const shape_list a = {2, {p.m, p.k}}, b = {2, {p.k, p.n}}, out = {2, {p.m, p.n}};
            if (kit_dtypes[i] == TN_F32 || kit_dtypes[i] == TN_F64)
                attempt(name, f, &p, kit_dtypes[i], &a, &b, &out, l % KIT_LAYOUTS, l / KIT_LAYOUTS);
        }
        for (int l = 0; l < 2 * KIT_LAYOUTS * KIT_LAYOUTS && kit_dtypes[i] == TN_BF16;
             l++) { /* pairs along k, one left over */
            const product p = {1, 47, l % 2 ? 131 : 130, 40};
            const shape_list a = {2, {p.m, p.k}}, b = {2, {p.k, p.n}}, out = {2, {p.m, p.n}};
            attempt(name, f, &p, kit_dtypes[i], &a, &b, &out, l / 2 % KIT_LAYOUTS, l / 2 / KIT_LAYOUTS);
        }
    }
}

static void batches(const char *name, two_fn f)
{
    for (int i = 0; i < KIT_DTYPES; i++)
        for (size_t s = 0; s < TN_COUNT(sizes); s++)
            for (int64_t n = 0; n < 6; n += n ? 4 : 1)
                for (int l = 0; l < KIT_LAYOUTS; l++) {
                    const product p = {n, sizes[s][0], sizes[s][1], sizes[s][2]};
                    const shape_list a = {3, {n, p.m, p.k}}, b = {3, {n, p.k, p.n}}, out = {3, {n, p.m, p.n}};
                    attempt(name, f, &p, kit_dtypes[i], &a, &b, &out, l, (l * 3 + (int)s) % KIT_LAYOUTS);
                }
}

static void vectors(const char *name, two_fn f, bool matrix)
{
    static const int64_t shapes[][2] = {{1, 1}, {3, 4}, {17, 33}, {0, 3}, {3, 0}, {65, 300}, {300, 65}, {150, 7}};
    for (int i = 0; i < KIT_DTYPES; i++)
        for (size_t s = 0; s < TN_COUNT(shapes); s++)
            for (int l = 0; l < KIT_LAYOUTS * 2; l++) {
                const product p = {1, matrix ? shapes[s][0] : 1, shapes[s][1], 1};
                const shape_list a = {matrix ? 2 : 1, {matrix ? p.m : p.k, p.k}}, v = {1, {p.k}},
                                 out = {matrix ? 1 : 0, {p.m}};
                attempt(name, f, &p, kit_dtypes[i], &a, &v, &out, l % KIT_LAYOUTS, (l * 3 + 1) % KIT_LAYOUTS);
            }
}

static tn_tensor *call_mm(tn_tensor *a, tn_tensor *b)
{
    return tn_mm(a, b);
}

static tn_tensor *call_bmm(tn_tensor *a, tn_tensor *b)
{
    return tn_bmm(a, b);
}

static tn_tensor *call_mv(tn_tensor *a, tn_tensor *b)
{
    return tn_mv(a, b);
}

static tn_tensor *call_dot(tn_tensor *a, tn_tensor *b)
{
    return tn_dot(a, b);
}

static tn_tensor *call_matmul(tn_tensor *a, tn_tensor *b)
{
    return tn_matmul(a, b);
}

/* The texts are PyTorch's for CPU tensors. */
static void run_mm(void)
{
    matrices("mm", call_mm);
    tn_scope *s = tn_scope_open();
    tn_tensor *a = tn_ones(TN_SHAPE(2, 4)), *b = tn_ones(TN_SHAPE(3, 1));
    REFUSED(tn_mm(a, b), TN_EINVAL, "mm: mat1 and mat2 shapes cannot be multiplied (2x4 and 3x1)");
    REFUSED(tn_mm(tn_ones(TN_SHAPE(3)), b), TN_EINVAL, "self must be a matrix");
    REFUSED(tn_mm(b, tn_ones(TN_SHAPE(3))), TN_EINVAL, "mat2 must be a matrix");
    REFUSED(tn_mm(tn_full(TN_SHAPE(2, 3), 1), b), TN_EDTYPE,
            "expected m1 and m2 to have the same dtype, but got: long int != float");
    /* more rows than a grid has groups */
    tn_tensor *tall = tn_reshape(tn_arange(0, 65536 * 32, 1, .dtype = TN_I32), TN_SHAPE(-1, 1));
    TRUTH(tn_equal(tn_mm(tall, tn_full(TN_SHAPE(1, 1), 3, .dtype = TN_I32)), tn_mul(tall, 3)));
    tn_scope_close(s);
}

/* Many products, each of which is worth threads, are what each is alone. */
static void many_products(tn_dtype d)
{
    tn_scope *s = tn_scope_open();
    const int64_t n = 8 * tn_get_num_threads() + 1;
    tn_tensor *a = tn_to(tn_randn(TN_SHAPE(n, 97, 120)), .dtype = d),
              *b = tn_to(tn_randn(TN_SHAPE(n, 120, 101)), .dtype = d);
    tn_tensor *all = MADE(tn_bmm(a, b));
    for (int64_t i = 0; i < n; i++)
        TRUTH(tn_equal(tn_select(all, 0, i), tn_mm(tn_select(a, 0, i), tn_select(b, 0, i))));
    tn_scope_close(s);
}

static void run_bmm(void)
{
    batches("bmm", call_bmm);
    many_products(TN_F32);
    many_products(TN_BF16);
    tn_scope *s = tn_scope_open();
    REFUSED(tn_bmm(tn_ones(TN_SHAPE(2, 3, 4)), tn_ones(TN_SHAPE(2, 3, 4))), TN_EINVAL,
            "Expected size for first two dimensions of batch2 tensor to be: [2, 4] but got: [2, 3].");
    REFUSED(tn_bmm(tn_full(TN_SHAPE(2, 3, 4), 1), tn_ones(TN_SHAPE(2, 4, 3))), TN_EDTYPE,
            "expected scalar type Long but found Float");
    REFUSED(tn_bmm(tn_ones(TN_SHAPE(3, 4)), tn_ones(TN_SHAPE(2, 4, 3))), TN_EINVAL, "batch1 must be a 3D tensor");
    REFUSED(tn_bmm(tn_ones(TN_SHAPE(2, 3, 4)), tn_ones(TN_SHAPE(4, 3))), TN_EINVAL, "batch2 must be a 3D tensor");
    tn_scope_close(s);
}

/* Sums so long that threads share one: whole numbers, whose sum is exact; of the result's dtype it is rounded once. */
static void long_rows(int64_t rows, int64_t step)
{
    enum { LONG = 200003 };
    static const tn_dtype dtypes[] = {TN_F32, TN_F64, TN_BF16, TN_I32, TN_I64};
    for (size_t k = 0; k < TN_COUNT(dtypes); k++) {
        tn_scope *s = tn_scope_open();
        double sum[2] = {0};
        for (int64_t r = 0; r < rows; r++)
            for (int64_t i = 0; i < LONG; i++)
                sum[r] += (double)(((r * LONG + i) * step % 7 - 2) * (i % 5 - 1));
        tn_tensor *x = tn_sub(tn_remainder(tn_arange(0, rows * LONG * step, 1, .dtype = TN_I64), 7), 2);
        tn_tensor *y = tn_sub(tn_remainder(tn_arange(0, LONG, 1, .dtype = TN_I64), 5), 1);
        x = tn_slice(tn_reshape(tn_to(x, .dtype = dtypes[k]), TN_SHAPE(rows, LONG * step)), 1, 0, LONG * step, step);
        y = tn_to(y, .dtype = dtypes[k]);
        tn_tensor *got = rows == 1 ? tn_reshape(tn_dot(tn_select(x, 0, 0), y), TN_SHAPE(1)) : tn_mv(x, y);
        for (int64_t r = 0; r < rows; r++)
            truth(got && tn_equal(tn_select(got, 0, r), tn_full(TN_SHAPE(), sum[r], .dtype = dtypes[k])), "long rows");
        tn_scope_close(s);
    }
}

static void run_mv(void)
{
    vectors("mv", call_mv, true);
    long_rows(2, 1);
    tn_scope *s = tn_scope_open();
    REFUSED(tn_mv(tn_ones(TN_SHAPE(2, 3)), tn_ones(TN_SHAPE(2))), TN_EINVAL,
            "size mismatch, got input (2), mat (2x3), vec (2)");
    REFUSED(tn_mv(tn_ones(TN_SHAPE(2)), tn_ones(TN_SHAPE(2))), TN_EINVAL,
            "vector + matrix @ vector expected, got 1, 1, 1");
    tn_scope_close(s);
}

static void run_dot(void)
{
    vectors("dot", call_dot, false);
    long_rows(1, 1);
    long_rows(1, 3);
    tn_scope *s = tn_scope_open();
    REFUSED(tn_dot(tn_ones(TN_SHAPE(2)), tn_ones(TN_SHAPE(3))), TN_EINVAL,
            "inconsistent tensor size, expected tensor [2] and src [3] to have the same number of elements, but got 2 "
            "and 3 elements respectively");
    REFUSED(tn_dot(tn_ones(TN_SHAPE(2, 2)), tn_ones(TN_SHAPE(2))), TN_EINVAL,
            "1D tensors expected, but got 2D and 1D tensors");
    REFUSED(tn_dot(tn_ones(TN_SHAPE(2)), tn_full(TN_SHAPE(2), 1)), TN_EDTYPE,
            "dot : expected both vectors to have same dtype, but found Float and Long");
    tn_scope_close(s);
}

/* ---- addmm: beta bias + alpha a b ---- */

/* As a caller writes it: -1.0 is not a uint8, -1 is. */
static tn_scalar factor(double v, tn_dtype d)
{
    return kit_is_float(d) || v != floor(v) ? tn_scalar_f(v) : tn_scalar_i((int64_t)v);
}

static void one_addmm(const product *p, tn_dtype d, const shape_list *bias_shape, double beta, double alpha, int layout,
                      bool inplace)
{
    kit_array a, b, bias;
    expected e;
    tn_scope *scope = tn_scope_open();
    const shape_list sa = {2, {p->m, p->k}}, sb = {2, {p->k, p->n}};
    random_array(&a, d, 2, sa.dim, (kit_layout)layout, true);
    random_array(&b, d, 2, sb.dim, (kit_layout)((layout + 3) % KIT_LAYOUTS), true);
    random_array(&bias, d, bias_shape->ndim, bias_shape->dim,
                 inplace ? KIT_SLICED : (kit_layout)((layout + 1) % KIT_LAYOUTS), true);
    expected_init(&e, d, 2, (int64_t[]){p->m, p->n});
    expected_tolerate(&e);
    multiply(p, &a, &b, &e);
    for (int64_t i = 0; i < e.numel; i++) {
        real c = bias.v[kit_broadcast(&bias, 2, e.shape, i)];
        e.tol[i] = fabsl(alpha) * e.tol[i] + 4 * compute_eps(d) * (fabsl((real)alpha * e.v[i]) + fabsl((real)beta * c));
        e.v[i] = kit_is_float(d) ? (real)beta * c + (real)alpha * e.v[i]
                                 : kit_round((real)(int64_t)((uint64_t)(int64_t)beta * (uint64_t)(int64_t)c +
                                                             (uint64_t)(int64_t)alpha * (uint64_t)(int64_t)e.v[i]),
                                             d);
    }
    tn_tensor *got = inplace ? tn_addmm_(bias.t, a.t, b.t)
                             : tn_addmm(bias.t, a.t, b.t, .beta = factor(beta, d), .alpha = factor(alpha, d));
    check_free(&e, got, "addmm of %s [%lld, %lld, %lld], bias %s, beta %g, alpha %g, layout %d%s", tn_dtype_name(d),
               (long long)p->m, (long long)p->k, (long long)p->n, kit_shape_text(bias.ndim, bias.shape), beta, alpha,
               layout, inplace ? ", in place" : "");
    kit_array_free(&a);
    kit_array_free(&b);
    kit_array_free(&bias);
    tn_scope_close(scope);
}

static void run_addmm(void)
{
    static const double factors[][2] = {{1, 1}, {0, 1}, {2, 3}, {1, 0}, {-1, 2}};
    for (int i = 1; i < KIT_DTYPES; i++)
        for (size_t s = 0; s < TN_COUNT(sizes) + 2; s++)
            for (int shape = 0; shape < 6; shape++) {
                const int64_t *z = s < TN_COUNT(sizes) ? sizes[s] : large[s - TN_COUNT(sizes)];
                const product p = {1, z[0], z[1], z[2]};
                const shape_list bias[] = {{2, {p.m, p.n}}, {1, {p.n}}, {2, {1, p.n}},
                                           {2, {p.m, 1}},   {0, {0}},   {1, {1}}};
                for (size_t f = s < TN_COUNT(sizes) ? 0 : 4; f < TN_COUNT(factors); f++)
                    one_addmm(&p, kit_dtypes[i], &bias[shape], factors[f][0], factors[f][1], (int)(s + f) % KIT_LAYOUTS,
                              false);
                if (shape == 0)
                    one_addmm(&p, kit_dtypes[i], &bias[0], 1, 1, (int)s % KIT_LAYOUTS, true);
            }
    tn_scope *s = tn_scope_open();
    tn_tensor *a = tn_ones(TN_SHAPE(2, 3)), *b = tn_ones(TN_SHAPE(3, 4)), *nan = tn_full(TN_SHAPE(2, 4), (double)NAN);
    for (int i = 0; i < 8; i++) /* beta 0: the bias is not read, NaN or not */
        TRUTH(kit_item(tn_addmm(nan, a, b, .beta = tn_scalar_i(0)), i) == 3);
    REFUSED(tn_addmm(a, a, a), TN_EINVAL, "addmm: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)");
    REFUSED(tn_addmm(a, a, b), TN_EINVAL, "The expanded size of the tensor (4) must match the existing size (3)");
    REFUSED(tn_addmm(tn_ones(TN_SHAPE(4)), a, tn_full(TN_SHAPE(3, 4), 1)), TN_EDTYPE,
            "self and mat2 must have the same dtype, but got Float and Long");
    tn_scope_close(s);
}

/* ---- linear: x w^T + bias over the last dimension ---- */

static void one_linear(tn_dtype d, const shape_list *sx, int64_t out, bool matrix, bool with_bias, int layout)
{
    kit_array x, w, turned, bias;
    int64_t k = sx->dim[sx->ndim - 1], rows = kit_count(sx->ndim - 1, sx->dim), shape[TN_MAX_DIMS];
    const product p = {1, rows, k, matrix ? out : 1};
    expected e;
    tn_scope *scope = tn_scope_open();
    random_array(&x, d, sx->ndim, sx->dim, (kit_layout)layout, true);
    random_array(&w, d, matrix ? 2 : 1, (int64_t[]){matrix ? out : k, k}, (kit_layout)((layout + 2) % KIT_LAYOUTS),
                 true);
    random_array(&bias, d, matrix ? 1 : 0, &out, (kit_layout)((layout + 4) % KIT_LAYOUTS), true);
    kit_array_init(&turned, d, 2, (int64_t[]){k, p.n}, KIT_DENSE);
    for (int64_t i = 0; i < w.numel; i++)
        turned.v[i % k * p.n + i / k] = w.v[i];
    memcpy(shape, sx->dim, sizeof shape);
    shape[sx->ndim - 1] = out;
    expected_init(&e, d, matrix ? sx->ndim : sx->ndim - 1, shape);
    expected_tolerate(&e);
    multiply(&p, &x, &turned, &e);
    for (int64_t i = 0; with_bias && i < e.numel; i++) {
        real c = bias.v[matrix ? i % out : 0];
        e.tol[i] += 2 * compute_eps(d) * (fabsl(c) + fabsl(e.v[i]));
        e.v[i] = kit_round(e.v[i] + c, kit_is_float(d) ? TN_F64 : d);
    }
    check_free(&e, tn_linear(x.t, w.t, with_bias ? bias.t : TN_NONE), "linear of %s %s %s, weight %s%s",
               tn_dtype_name(d), kit_shape_text(x.ndim, x.shape), kit_layout_names[layout],
               kit_shape_text(w.ndim, w.shape), with_bias ? ", bias" : "");
    kit_array_free(&x);
    kit_array_free(&w);
    kit_array_free(&turned);
    kit_array_free(&bias);
    tn_scope_close(scope);
}

static void run_linear(void)
{
    static const shape_list shapes[] = {{1, {5}},
                                        {2, {4, 7}},
                                        {3, {2, 3, 4}},
                                        {4, {2, 1, 3, 5}},
                                        {2, {0, 3}},
                                        {2, {70, 130}},
                                        {8, {2, 1, 2, 1, 2, 1, 2, 3}}};
    for (int i = 1; i < KIT_DTYPES; i++)
        for (size_t s = 0; s < TN_COUNT(shapes); s++)
            for (int layout = 0; layout < KIT_LAYOUTS; layout++)
                for (int form = 0; form < 4; form++)
                    one_linear(kit_dtypes[i], &shapes[s], 1 + (int64_t)s * 11, form & 1, form >> 1, layout);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3)), *w = tn_ones(TN_SHAPE(5, 4));
    REFUSED(tn_linear(x, w, TN_NONE), TN_EINVAL, "mm: mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)");
    tn_tensor *whole = tn_full(TN_SHAPE(2, 4), 1);
    REFUSED(tn_linear(whole, w, TN_NONE), TN_EDTYPE,
            "expected m1 and m2 to have the same dtype, but got: long int != float");
    REFUSED(tn_linear(whole, w, tn_ones(TN_SHAPE(5))), TN_EDTYPE,
            "mat1 and mat2 must have the same dtype, but got Long and Float");
    REFUSED(tn_linear(tn_ones(TN_SHAPE(2, 4)), w, tn_ones(TN_SHAPE(4))), TN_EINVAL,
            "must match the existing size (4) at non-singleton dimension 1.  Target sizes: [2, 5].  Tensor sizes: [4]");
    tn_scope_close(s);
}

/* ---- matmul: every pair of ranks, batches broadcast ---- */

/* Row-major values of t's matrices, broadcast to the batch. */
static void spread(kit_array *out, const kit_array *t, const shape_list *batch, int64_t rows, int64_t cols)
{
    int64_t shape[TN_MAX_DIMS];
    memcpy(shape, batch->dim, sizeof shape);
    shape[batch->ndim] = rows;
    shape[batch->ndim + 1] = cols;
    kit_array_init(out, t->dtype, batch->ndim + 2, shape, KIT_DENSE);
    kit_array view = *t; /* a vector is a matrix of one row or column: same values */
    if (t->ndim == 1) {
        view.ndim = 2;
        view.shape[0] = rows;
        view.shape[1] = cols;
    }
    for (int64_t i = 0; i < out->numel; i++)
        out->v[i] = view.v[kit_broadcast(&view, out->ndim, shape, i)];
}

static void one_matmul(tn_dtype d, const shape_list *sa, const shape_list *sb, const shape_list *batch,
                       const product *p, int layout)
{
    kit_array a, b, xa, xb;
    int64_t shape[TN_MAX_DIMS];
    int32_t n = batch->ndim;
    expected e;
    tn_scope *scope = tn_scope_open();
    random_array(&a, d, sa->ndim, sa->dim, (kit_layout)layout, true);
    random_array(&b, d, sb->ndim, sb->dim, (kit_layout)((layout * 2 + 1) % KIT_LAYOUTS), true);
    spread(&xa, &a, batch, p->m, p->k);
    spread(&xb, &b, batch, p->k, p->n);
    memcpy(shape, batch->dim, sizeof shape);
    if (sa->ndim > 1)
        shape[n++] = p->m;
    if (sb->ndim > 1)
        shape[n++] = p->n;
    expected_init(&e, d, n, shape);
    expected_tolerate(&e);
    multiply(p, &xa, &xb, &e);
    check_free(&e, call_matmul(a.t, b.t), "matmul of %s %s %s and %s", tn_dtype_name(d),
               kit_shape_text(a.ndim, a.shape), kit_layout_names[layout], kit_shape_text(b.ndim, b.shape));
    kit_array_free(&a);
    kit_array_free(&b);
    kit_array_free(&xa);
    kit_array_free(&xb);
    tn_scope_close(scope);
}

static void run_matmul(void)
{
    static const struct {
        shape_list a, b, batch;
        product p;
    } cases[] = {
        {{1, {4}}, {1, {4}}, {0, {0}}, {1, 1, 4, 1}},
        {{1, {4}}, {2, {4, 3}}, {0, {0}}, {1, 1, 4, 3}},
        {{2, {3, 4}}, {1, {4}}, {0, {0}}, {1, 3, 4, 1}},
        {{2, {3, 4}}, {2, {4, 2}}, {0, {0}}, {1, 3, 4, 2}},
        {{3, {5, 3, 4}}, {1, {4}}, {1, {5}}, {5, 3, 4, 1}},
        {{1, {3}}, {3, {5, 3, 4}}, {1, {5}}, {5, 1, 3, 4}},
        {{3, {5, 3, 4}}, {2, {4, 2}}, {1, {5}}, {5, 3, 4, 2}},
        {{2, {2, 3}}, {3, {5, 3, 4}}, {1, {5}}, {5, 2, 3, 4}},
        {{3, {5, 2, 3}}, {3, {5, 3, 4}}, {1, {5}}, {5, 2, 3, 4}},
        {{3, {1, 2, 3}}, {3, {5, 3, 4}}, {1, {5}}, {5, 2, 3, 4}},
        {{4, {2, 1, 2, 3}}, {4, {1, 3, 3, 2}}, {2, {2, 3}}, {6, 2, 3, 2}},
        {{4, {2, 3, 2, 3}}, {3, {3, 3, 2}}, {2, {2, 3}}, {6, 2, 3, 2}},
        {{3, {0, 2, 3}}, {3, {0, 3, 4}}, {1, {0}}, {0, 2, 3, 4}},
        {{3, {5, 2, 0}}, {3, {5, 0, 4}}, {1, {5}}, {5, 2, 0, 4}},
        {{3, {3, 40, 70}}, {3, {3, 70, 33}}, {1, {3}}, {3, 40, 70, 33}},
    };
    for (int i = 1; i < KIT_DTYPES; i++)
        for (size_t c = 0; c < TN_COUNT(cases); c++)
            for (int layout = 0; layout < KIT_LAYOUTS; layout++)
                one_matmul(kit_dtypes[i], &cases[c].a, &cases[c].b, &cases[c].batch, &cases[c].p, layout);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3));
    REFUSED(tn_matmul(tn_ones(TN_SHAPE()), x), TN_EINVAL,
            "both arguments to matmul need to be at least 1D, but they are 0D and 2D");
    REFUSED(tn_matmul(x, x), TN_EINVAL, "mm: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)");
    REFUSED(tn_matmul(tn_ones(TN_SHAPE(2, 2, 3)), tn_ones(TN_SHAPE(3, 3, 2))), TN_EINVAL,
            "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0");
    tn_scope_close(s);
}

static void run_outer(void)
{
    static const int64_t n[] = {1, 7, 300, 0};
    for (int i = 0; i < KIT_DTYPES; i++)
        for (int j = 0; j < KIT_DTYPES; j++)
            for (size_t k = 0; k < 4; k++) {
                kit_array a, b;
                expected e;
                tn_scope *scope = tn_scope_open();
                random_array(&a, kit_dtypes[i], 1, &n[k], (kit_layout)((i + j) % KIT_LAYOUTS), true);
                random_array(&b, kit_dtypes[j], 1, &n[(k + 1) % 4], (kit_layout)(j % KIT_LAYOUTS), true);
                expected_init(&e, kit_promote(a.dtype, b.dtype), 2, (int64_t[]){a.numel, b.numel});
                e.ulps = 1;
                for (int64_t o = 0; o < e.numel; o++)
                    e.v[o] = kit_round(kit_convert(a.v[o / b.numel], a.dtype, e.dtype) *
                                           kit_convert(b.v[o % b.numel], b.dtype, e.dtype),
                                       e.dtype);
                check_free(&e, tn_outer(a.t, b.t), "outer of %s and %s", tn_dtype_name(a.dtype),
                           tn_dtype_name(b.dtype));
                kit_array_free(&a);
                kit_array_free(&b);
                tn_scope_close(scope);
            }
    tn_scope *s = tn_scope_open();
    REFUSED(tn_outer(tn_ones(TN_SHAPE(2, 2)), tn_ones(TN_SHAPE(2))), TN_EINVAL,
            "outer: Expected 1-D argument self, but got 2-D");
    REFUSED(tn_outer(tn_ones(TN_SHAPE(2)), tn_ones(TN_SHAPE())), TN_EINVAL,
            "outer: Expected 1-D argument vec2, but got 0-D");
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"dist", run_distances},
    {"cdist", run_distances},
    {"kron", run_distances},
    {"baddbmm", run_baddbmm},
    {"mm", run_mm},
    {"bmm", run_bmm},
    {"mv", run_mv},
    {"dot", run_dot},
    {"addmm", run_addmm},
    {"linear", run_linear},
    {"matmul", run_matmul},
    {"outer", run_outer},
    {NULL, NULL},
};

/* ---- gradients ---- */

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

static const gradient_case gradients[] = {
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
    {NULL, NULL, 0, {{0, {0}}}, false},
};

/* ---- PyTorch's records ---- */

static bool record_addmm(record *r, results *out)
{
    return give(out,
                tn_addmm(r->input.t, record_arg(r, 0, "mat1").t, record_arg(r, 1, "mat2").t,
                         .beta = scalar_of(record_arg(r, -1, "beta")), .alpha = scalar_of(record_arg(r, -1, "alpha"))));
}

static bool record_linear(record *r, results *out)
{
    value bias = record_arg(r, 1, "bias");
    return give(out, tn_linear(r->input.t, record_arg(r, 0, "weight").t, bias.kind == V_TENSOR ? bias.t : TN_NONE));
}

TWO_TENSORS(mm)
TWO_TENSORS(bmm)
TWO_TENSORS(mv)
TWO_TENSORS(dot)
TWO_TENSORS(outer)
TWO_TENSORS(matmul)

ADAPTER(dist, tn_dist(x, TENSOR(0, "other"), .p = AT(1, "p")))
ADAPTER(cdist, tn_cdist(x, TENSOR(0, "x2"), .p = AT(1, "p")))

ADAPTER(baddbmm,
        tn_baddbmm(x, TENSOR(0, "batch1"), TENSOR(1, "batch2"), .beta = SCALAR("beta"), .alpha = SCALAR("alpha")))

static const named_adapter adapters[] = {
    {"mm", record_mm},
    {"bmm", record_bmm},
    {"mv", record_mv},
    {"dot", record_dot},
    {"outer", record_outer},
    {"ger", record_outer},
    {"matmul", record_matmul},
    {"addmm", record_addmm},
    {"nn.functional.linear", record_linear},
    {"dist", record_dist},
    {"cdist", record_cdist},
    {"baddbmm", record_baddbmm},
    {NULL, NULL},
};

const family_tests product_tests = {cases, gradients, adapters};
