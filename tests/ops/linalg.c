/* Norms of vectors and matrices. */
#include "ops/family.h"

/* ---- norms ---- */

static void norm_each(kit_array *x)
{
    static const double ps[] = {2, 1, 3, 0, INFINITY, -INFINITY};
    if (!kit_is_float(x->dtype) || x->ndim == 0)
        return;
    for (size_t k = 0; k < TN_COUNT(ps); k++) {
        const int32_t d = (int32_t)kit_below(x->ndim);
        const lane l = lane_of(x, d);
        int64_t shape[TN_MAX_DIMS];
        const int32_t n = without_dim(x, d, k & 1, shape);
        expected e;
        if (l.n == 0)
            continue;
        expected_init(&e, x->dtype, n, shape);
        expected_tolerate(&e);
        for (int64_t i = 0; i < e.numel; i++) {
            real sum = ps[k] == -INFINITY ? KIT_INF : 0;
            for (int64_t j = 0; j < l.n; j++) {
                const real v = fabsl(x->v[(i / l.inner * l.n + j) * l.inner + i % l.inner]);
                sum = ps[k] == INFINITY    ? fmaxl(sum, v)
                      : ps[k] == -INFINITY ? fminl(sum, v)
                      : ps[k] == 0         ? sum + (v != 0)
                                           : sum + powl(v, ps[k]);
            }
            e.v[i] = ps[k] > 0 && ps[k] < INFINITY ? powl(sum, 1 / (real)ps[k]) : sum;
            e.tol[i] = 8 * kit_ulp(x->dtype, e.v[i]);
        }
        check_free(&e, tn_norm(x->t, .p = tn_scalar_f(ps[k]), .dim = d, .keepdim = k & 1),
                   "%g-norm of %s %s %s, dim %d", ps[k], tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape),
                   kit_layout_names[x->layout], (int)d);
    }
}

static void run_norm(void)
{
    each_array(norm_each, true);
    tn_scope *s = tn_scope_open();
    REFUSED(tn_norm(tn_arange(0, 3, 1)), TN_EDTYPE, "Expected a floating point or complex tensor as input. Got Long");
    tn_tensor *zero = tn_requires_grad_(tn_zeros(TN_SHAPE(2)), true), *n = MADE(tn_norm(zero));
    TRUTH(kit_item(n, 0) == 0 && tn_backward(n) == TN_OK && kit_item(tn_tensor_grad(zero), 1) == 0);
    HOLDS(tn_norm(tn_full(TN_SHAPE(300, 300), 2.0)), TN_SHAPE(), 600); /* in pieces */
    for (double size = 0x1p-100; size < 1e31; size *= 0x1p100)         /* whose squares no float holds, and 1 */
        for (int64_t i = 63; i < 1100; i += 241) {
            tn_tensor *x = tn_full(TN_SHAPE(2, i), size, .dtype = TN_BF16);
            tn_tensor *given = tn_norm(x, .dim = 1), *wide = tn_norm(tn_to(x, .dtype = TN_F64), .dim = 1);
            TRUTH(tn_equal(given, tn_to(wide, .dtype = TN_BF16)));
            TRUTH(tn_equal(tn_norm(tn_full(TN_SHAPE(i, 43), size, .dtype = TN_BF16), .dim = 0),
                           tn_expand(tn_narrow(given, 0, 0, 1), TN_SHAPE(43))));
            tn_tensor *nan = MADE(tn_norm(tn_cat(TN_TENSORS(x, tn_full(TN_SHAPE(2, 1), NAN, .dtype = TN_BF16)), 1)));
            TRUTH(isnan(kit_item(nan, 0)));
        }
    tn_scope_close(s);
}

/* 3, 4 and 6, 8: norms 5 and 10 */
static void run_norms_of_parts(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_tensor_from(TN_LIST(3.0f, 4.0f, 6.0f, 8.0f), .shape = TN_SHAPE(2, 2)));
    HOLDS(tn_frobenius_norm(x, TN_DIMS(1)), TN_SHAPE(2), 5, 10);
    HOLDS(tn_norm_except_dim(x, 2, 0), TN_SHAPE(2, 1), 5, 10);
    HOLDS(tn_norm_except_dim(x, 1, -2), TN_SHAPE(2, 1), 7, 14);
    HOLDS(tn_norm_except_dim(MADE(tn_select(x, 0, 0)), 2, -1), TN_SHAPE(), 5);
    REFUSED(tn_frobenius_norm(MADE(tn_unsqueeze(x, 0)), TN_DIMS(0, 1, 2)), TN_EINVAL,
            "Expected at most 2 dimensions, but got 3 dimensions instead.");
    REFUSED(tn_norm_except_dim(x, 2, 2), TN_EINDEX, "Dimension out of range");
    tn_scope_close(s);
}

enum { SMALL = 6 };

/* ---- the sum of the singular values of a small matrix ---- */

/* How many eigenvalues of the symmetric g are below 'bound': as many as pivots of g - bound I are negative (Sylvester's
 * law of inertia), the largest on the diagonal first. */
static int count_below(const real *g, int n, real bound)
{
    real a[SMALL * SMALL];
    bool used[SMALL] = {false};
    int negative = 0;
    for (int i = 0; i < n * n; i++)
        a[i] = g[i] - (i % (n + 1) == 0 ? bound : 0);
    for (int step = 0; step < n; step++) {
        int p = -1;
        for (int i = 0; i < n; i++)
            if (!used[i] && (p < 0 || fabsl(a[i * n + i]) > fabsl(a[p * n + p])))
                p = i;
        used[p] = true;
        const real pivot = a[p * n + p] != 0 ? a[p * n + p] : 0x1p-4000L;
        negative += pivot < 0;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n && !used[i]; j++)
                if (!used[j])
                    a[i * n + j] -= a[i * n + p] * a[p * n + j] / pivot;
    }
    return negative;
}

/* tol: what the reference itself leaves open: eigenvalues are known to 2^-53 of their sum. */
static real nuclear_reference(const real *a, int rows, int columns, real *tol)
{
    real g[SMALL * SMALL], trace = 0, sum = 0;
    *tol = 0;
    for (int i = 0; i < columns; i++)
        for (int j = 0; j < columns; j++) {
            g[i * columns + j] = 0;
            for (int k = 0; k < rows; k++)
                g[i * columns + j] += a[k * columns + i] * a[k * columns + j];
        }
    for (int i = 0; i < columns; i++)
        trace += g[i * columns + i];
    for (int which = 0; which < columns && trace > 0; which++) {
        real low = 0, high = trace * 1.0001L;
        const real open = trace * 0x1p-53L;
        for (int i = 0; i < 80; i++) {
            const real middle = (low + high) / 2;
            if (count_below(g, columns, middle) > which)
                high = middle;
            else
                low = middle;
        }
        sum += sqrtl(low);
        *tol += sqrtl(low + open) - sqrtl(fmaxl(low - open, 0));
    }
    return sum;
}

/* The matrix in dimensions r and c of x, at index i of the others. */
static void matrix_of(const kit_array *x, int32_t r, int32_t c, int64_t i, real *a)
{
    int64_t at[TN_MAX_DIMS], dense[TN_MAX_DIMS], step = 1;
    for (int32_t d = x->ndim - 1; d >= 0; d--) {
        dense[d] = step;
        step *= x->shape[d];
        at[d] = d == r || d == c ? 0 : i % x->shape[d];
        i /= d == r || d == c ? 1 : x->shape[d];
    }
    for (int64_t k = 0; k < x->shape[r] * x->shape[c]; k++) {
        at[r] = k / x->shape[c];
        at[c] = k % x->shape[c];
        a[k] = x->v[kit_ravel(x->ndim, dense, at)];
    }
}

static void two_dims(const kit_array *x, int32_t r, int32_t c, bool keepdim)
{
    int64_t shape[TN_MAX_DIMS];
    int32_t n = 0;
    expected e;
    for (int32_t d = 0; d < x->ndim; d++)
        if (d != r && d != c)
            shape[n++] = x->shape[d];
        else if (keepdim)
            shape[n++] = 1;
    expected_init(&e, x->dtype, n, shape);
    expected_tolerate(&e);
    for (int64_t i = 0; i < e.numel; i++) {
        real a[SMALL * SMALL];
        matrix_of(x, r, c, i, a);
        e.v[i] = nuclear_reference(a, (int)x->shape[r], (int)x->shape[c], &e.tol[i]);
        e.tol[i] += 8 * kit_ulp(TN_F64, e.v[i]);
    }
    e.ulps = 1;
    const int64_t from_end = kit_random() & 1 ? x->ndim : 0;
    const tn_dims all = {0}, two = TN_DIMS(r - from_end, c);
    check_free(&e, tn_nuclear_norm(x->t, .dims = x->ndim == 2 && r < c ? all : two, .keepdim = keepdim),
               "nuclear norm of %s %s %s, dims %d and %d, keepdim %d", tn_dtype_name(x->dtype),
               kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout], (int)r, (int)c, (int)keepdim);
}

static void small_matrices(tn_dtype dtype)
{
    static const shape_list shapes[] = {{2, {1, 1}}, {2, {5, 2}},    {2, {3, 6}},       {2, {6, 6}},    {2, {1, 6}},
                                        {2, {0, 3}}, {3, {2, 3, 4}}, {4, {2, 3, 2, 5}}, {3, {2, 0, 3}}, {3, {0, 2, 3}}};
    for (size_t k = 0; k < TN_COUNT(shapes); k++)
        for (int layout = 0; layout < KIT_LAYOUTS; layout++) {
            kit_array x;
            tn_scope *scope = tn_scope_open();
            random_array(&x, dtype, shapes[k].ndim, shapes[k].dim, (kit_layout)layout, true);
            for (int32_t r = 0; r < x.ndim; r++)
                for (int32_t c = 0; c < x.ndim; c++)
                    if (r != c)
                        two_dims(&x, r, c, kit_random() & 1);
            kit_array_free(&x);
            tn_scope_close(scope);
        }
}

/* ---- matrices of known singular values: H D K, where H and K are reflections ---- */

/* a (rows x columns) becomes (I - 2 v v^T / v^T v) a for a random v. */
static void reflect_rows(real *a, int64_t rows, int64_t columns)
{
    real *v = malloc((size_t)rows * sizeof *v), square = 0;
    for (int64_t i = 0; i < rows; i++) {
        v[i] = (real)kit_uniform(-1, 1);
        square += v[i] * v[i];
    }
    for (int64_t j = 0; j < columns; j++) {
        real product = 0;
        for (int64_t i = 0; i < rows; i++)
            product += v[i] * a[i * columns + j];
        for (int64_t i = 0; i < rows; i++)
            a[i * columns + j] -= 2 * v[i] * product / square;
    }
    free(v);
}

static void transposed(const real *a, int64_t rows, int64_t columns, real *to)
{
    for (int64_t i = 0; i < rows * columns; i++)
        to[i % columns * rows + i / columns] = a[i];
}

/* The same reflections of D and of the signs of D: the matrix, and U V^T. */
static void known(const real *d, int64_t rows, int64_t columns, bool signs, real *a)
{
    const size_t bytes = (size_t)(rows * columns) * sizeof *a;
    real *b = malloc(bytes);
    for (int64_t i = 0; i < rows * columns; i++) {
        const int64_t k = i / columns;
        a[i] = k != i % columns ? 0 : signs ? (real)(d[k] < 0 ? -1 : 1) : d[k];
    }
    kit_seed(77);
    reflect_rows(a, rows, columns);
    transposed(a, rows, columns, b);
    reflect_rows(b, columns, rows);
    transposed(b, columns, rows, a);
    free(b);
}

/* d[i] at which the sum and the gradient must come out, with no zero among them. */
static void known_values(tn_dtype dtype, const real *d, int64_t rows, int64_t columns)
{
    const int64_t shape[] = {rows, columns};
    const real eps = dtype == TN_F64 ? 0x1p-53L : 0x1p-24L;
    real sum = 0, least = KIT_INF;
    kit_array x;
    expected e, slope;
    tn_scope *scope = tn_scope_open();
    for (int64_t i = 0; i < TN_MIN(rows, columns); i++) {
        sum += fabsl(d[i]);
        least = fminl(least, fabsl(d[i]));
    }
    kit_array_init(&x, dtype, 2, shape, KIT_DENSE);
    known(d, rows, columns, false, x.v);
    kit_show(&x);
    expected_init(&e, dtype, 0, NULL);
    expected_tolerate(&e);
    e.v[0] = sum;
    e.tol[0] = 16 * eps * sum; /* the elements' rounding, beside the result's */
    expected_init(&slope, dtype, 2, shape);
    expected_tolerate(&slope);
    known(d, rows, columns, true, slope.v);
    for (int64_t i = 0; i < slope.numel; i++)
        slope.tol[i] = 64 * eps * (1 + sum / least);
    tn_requires_grad_(x.t, true);
    tn_tensor *norm = MADE(tn_nuclear_norm(x.t));
    TRUTH(norm && tn_backward(norm) == TN_OK);
    check(&slope, tn_tensor_grad(x.t), "gradient of the nuclear norm of a known %lld x %lld matrix of %s",
          (long long)rows, (long long)columns, tn_dtype_name(dtype));
    check_free(&e, norm, "nuclear norm of a known %lld x %lld matrix of %s", (long long)rows, (long long)columns,
               tn_dtype_name(dtype));
    expected_free(&slope);
    kit_array_free(&x);
    tn_scope_close(scope);
}

static void known_matrices(tn_dtype dtype)
{
    real ones[64], many[64], spread[64];
    for (int i = 0; i < 64; i++) {
        ones[i] = 3; /* all alike: an orthogonal matrix, thrice */
        many[i] = (real)(i % 7 + 1) * (i % 3 ? 1 : -1);
        spread[i] = ldexpl(1, -i / 8);
    }
    known_values(dtype, ones, 64, 64);
    known_values(dtype, many, 64, 40);
    known_values(dtype, many, 33, 64);
    known_values(dtype, spread, 50, 50);
    known_values(dtype, many, 1, 9);
    known_values(dtype, many, 200, 1);
}

/* ---- where singular values are zero, or far apart ---- */

/* U V^T is then one of many, but its columns are of length 1 and orthogonal, and its product with x is the norm. */
static void is_subgradient(tn_tensor *x, real norm, const char *what)
{
    tn_requires_grad_(x, true);
    tn_tensor *n = MADE(tn_nuclear_norm(x));
    TRUTH(n && tn_backward(n) == TN_OK);
    tn_tensor *w = tn_tensor_grad(x);
    const int64_t s[2] = {tn_tensor_size(x, 0), tn_tensor_size(x, 1)};
    tn_tensor *square = s[0] >= s[1] ? tn_mm(tn_t(w), w) : tn_mm(w, tn_t(w));
    tn_tensor *off = MADE(tn_amax(tn_abs(tn_sub(square, tn_eye(TN_MIN(s[0], s[1]), -1, .dtype = TN_F64)))));
    truth(fabsl(kit_item(n, 0) - norm) <= 1e-14L * norm, what);
    truth(kit_item(off, 0) < 1e-13L, what);
    truth(fabsl(kit_item(MADE(tn_sum(tn_mul(w, tn_detach(x)))), 0) - norm) <= 1e-13L * norm, what);
}

static void without_full_rank(void)
{
    tn_scope *s = tn_scope_open();
    /* u v^T has the one singular value |u| |v| */
    tn_tensor *u = tn_tensor_from(TN_LIST(1.0, 2.0, 2.0), .dtype = TN_F64);
    tn_tensor *v = tn_tensor_from(TN_LIST(2.0, 3.0, 6.0, 0.0), .dtype = TN_F64);
    is_subgradient(tn_outer(u, v), 21, "u v^T");
    is_subgradient(tn_outer(v, u), 21, "v u^T");
    is_subgradient(tn_ones(TN_SHAPE(30, 20), .dtype = TN_F64), sqrtl(600), "ones");
    is_subgradient(tn_mul(tn_outer(u, v), 1e200), 21e200L, "u v^T, squares of which overflow");
    is_subgradient(tn_mul(tn_outer(u, v), 1e-200), 21e-200L, "u v^T, squares of which underflow");
    tn_tensor *d = tn_mul(tn_eye(3, -1, .dtype = TN_F64), tn_tensor_from(TN_LIST(-2.0, 0.0, 1e-150), .dtype = TN_F64));
    is_subgradient(d, 2, "a diagonal matrix");
    /* PyTorch 2.15's gradient at zeros is ones on the diagonal */
    tn_tensor *zeros = tn_requires_grad_(tn_zeros(TN_SHAPE(2, 3), .dtype = TN_F64), true);
    TRUTH(tn_backward(tn_nuclear_norm(zeros)) == TN_OK);
    TRUTH(tn_equal(tn_tensor_grad(zeros), tn_eye(2, 3, .dtype = TN_F64)));
    tn_scope_close(s);
}

/* ---- what fails ---- */

static void bad_operands(void)
{
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3, 4)), *m = tn_ones(TN_SHAPE(2, 2));
    REFUSED(tn_nuclear_norm(tn_ones(TN_SHAPE(3))), TN_EINVAL, "The input tensor A must have at least 2 dimensions.");
    REFUSED(tn_nuclear_norm(x), TN_EINVAL, "linalg.matrix_norm: dim must be a 2-tuple. Got 0 1 2");
    REFUSED(tn_nuclear_norm(x, .dim = 1), TN_EINVAL, "dim must be a 2-tuple. Got 1");
    REFUSED(tn_nuclear_norm(x, .dims = TN_DIMS(1, -2)), TN_EINVAL, "dims must be different. Got (1, 1)");
    REFUSED(tn_nuclear_norm(x, .dims = TN_DIMS(1, 5)), TN_EINDEX, "Dimension out of range");
    REFUSED(tn_nuclear_norm(tn_to(m, .dtype = TN_F16)), TN_EDTYPE, "Low precision dtypes not supported. Got Half");
    REFUSED(tn_nuclear_norm(tn_to(m, .dtype = TN_I64)), TN_EDTYPE, "Expected a floating point or complex tensor");
    REFUSED(tn_nuclear_norm(m, .dtype = TN_I32), TN_EINVAL, "dtype should be floating point or complex, but got Int");
    REFUSED(tn_nuclear_norm(tn_to(m, .dtype = TN_F64), .dtype = TN_F32), TN_EINVAL,
            "the dtype of the input (Double) should be convertible without narrowing to the specified dtype (Float)");
    REFUSED(tn_nuclear_norm(TN_NONE), TN_ETYPE, "an operand that must be a tensor is TN_NONE");
}

static void bad_values(void)
{
    tn_tensor *nan = tn_tensor_from(TN_LIST(1.0, (double)NAN, 0.0, 1.0), .shape = TN_SHAPE(2, 2));
    tn_tensor *infinite = tn_tensor_from(TN_LIST(1.0, (double)INFINITY, 0.0, 1.0), .shape = TN_SHAPE(2, 2));
    REFUSED(tn_nuclear_norm(nan), TN_EINVAL,
            "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values.");
    REFUSED(tn_nuclear_norm(tn_stack(TN_TENSORS(tn_ones(TN_SHAPE(2, 2)), nan, nan), 0), .dims = TN_DIMS(1, 2)),
            TN_EINVAL, "linalg.svd: (Batch element 1): The algorithm failed to converge");
    TRUTH(isnan(kit_item(tn_nuclear_norm(infinite), 0)));
    tn_requires_grad_(infinite, true);
    TRUTH(tn_backward(tn_nuclear_norm(infinite)) == TN_OK && isnan(kit_item(tn_tensor_grad(infinite), 3)));
    TRUTH(kit_item(tn_nuclear_norm(tn_mul(tn_eye(2, -1), 3e38)), 0) == KIT_INF); /* beyond float32 */
}

/* The gradient may be made part of a graph, but not be differentiated. */
static void second_derivative(void)
{
    tn_tensor *x = tn_requires_grad_(tn_eye(3, -1, .dtype = TN_F64), true), *grad = NULL, *again = NULL;
    tn_tensor *norm = MADE(tn_nuclear_norm(tn_mul(x, 2)));
    TRUTH(tn_grad(TN_TENSORS(norm), TN_TENSORS(x), &grad, .create_graph = true) == TN_OK);
    TRUTH(tn_equal(tn_detach(grad), tn_mul(tn_eye(3, -1, .dtype = TN_F64), 2)) && tn_tensor_requires_grad(grad));
    const tn_status status = tn_grad(TN_TENSORS(tn_sum(grad)), TN_TENSORS(x), &again);
    refused(status ? NULL : grad, TN_EGRAD, "derivative for polar is not implemented", "a second derivative");
}

static void run_nuclear_norm(void)
{
    tn_scope *s = tn_scope_open();
    bad_operands();
    small_matrices(TN_F32);
    small_matrices(TN_F64);
    known_matrices(TN_F32);
    known_matrices(TN_F64);
    without_full_rank();
    bad_values();
    second_derivative();
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"norm", run_norm},
    {"frobenius_norm", run_norms_of_parts},
    {"norm_except_dim", run_norms_of_parts},
    {"nuclear_norm", run_nuclear_norm},
    {NULL, NULL},
};

/* ---- gradients ---- */

F(nuclear_norm, tn_nuclear_norm(x))
F(nuclear_norms, tn_nuclear_norm(x, .dims = TN_DIMS(2, 0), .keepdim = true))

static const gradient_case gradients[] = {
    {"nuclear_norm", f_nuclear_norm, 1, {M34}, true}, /* once: its gradient has no derivative */
    {"nuclear_norms", f_nuclear_norms, 1, {{3, {2, 3, 2}}}, true},
    {NULL, NULL, 0, {{0, {0}}}, false},
};

/* ---- PyTorch's records ---- */

static bool record_norm(record *r, results *out)
{
    dims_buffer b;
    value p = record_arg(r, 0, "p"), order = record_arg(r, 0, "ord");
    tn_dims dim = dims_of(record_arg(r, 1, "dim"), &b);
    return give(out, tn_norm(r->input.t, .p = scalar_of(p.kind ? p : order), .dims = dim,
                             .keepdim = flag_of(record_arg(r, 2, "keepdim")) DTYPE));
}

static bool record_nuclear_norm(record *r, results *out)
{
    dims_buffer b;
    tn_dims dim = dims_of(record_arg(r, 1, "dim"), &b);
    return give(out, tn_nuclear_norm(r->input.t, .dims = dim, .keepdim = flag_of(record_arg(r, 2, "keepdim")) DTYPE));
}

static const named_adapter adapters[] = {
    {"norm", record_norm},
    {"norm.inf", record_norm},
    {"norm.nuc", record_nuclear_norm},
    {"linalg.vector_norm", record_norm},
    {NULL, NULL},
};

const family_tests linalg_tests = {cases, gradients, adapters};
