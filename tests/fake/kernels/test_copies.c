/* Copies, concatenation and vectorised elementwise kernels on a fake GPU, at sizes where tiles, vectors and batches all have
 * ends, against the CPU: every byte. */
#include "fake/own_process.h"
#include "core/tensor.h"
#include <math.h>

static const tn_dtype all[] = {TN_BOOL, TN_U8, TN_I8, TN_I16, TN_I32, TN_I64, TN_F16, TN_BF16, TN_F32, TN_F64};

/* What a block makes is gone after it. */
#define SCOPED for (tn_scope *scope_ = tn_scope_open(), *open_ = scope_; open_; tn_scope_close(scope_), open_ = NULL)

static tn_dims dims(const int64_t *shape)
{
    return tn_dims_of(shape, 3);
}

static tn_tensors list(tn_tensor *const *x, int n)
{
    return (tn_tensors){x, n};
}

static uint32_t seed = 1;

static uint32_t next(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8;
}

/* Whole numbers, fractions, what saturates, infinities, NaN. */
static double any_value(tn_dtype d)
{
    static const double special[] = {INFINITY, -INFINITY, NAN, 3e9, -3e9, 1e19, -1e19, 300, -129, 0.5, -0.0, 65519};
    const uint32_t r = next();
    if (d == TN_BOOL)
        return r & 1;
    if (r % 8 == 0)
        return special[r / 8 % TN_COUNT(special)];
    return (double)(r % 4001) / 8 - 250;
}

static tn_tensor *numbers(tn_dtype d, tn_dims shape)
{
    tn_tensor *t = MADE(tn_empty(shape, .dtype = d));
    const size_t size = tn__dtype_size(d);
    for (int64_t i = 0; i < t->numel; i++)
        tn__store_double(d, (char *)tn__tensor_data(t) + (size_t)i * size, any_value(d));
    return t;
}

static tn_tensor *on_gpu(tn_tensor *t)
{
    return MADE(tn_to(t, .device = TN_CUDA(0)));
}

/* The same to the bit, but for what a NaN carries. */
static void check_same(tn_tensor *gpu, tn_tensor *cpu, const char *what)
{
    tn_tensor *got = MADE(tn_contiguous(tn_to(gpu, .device = TN_CPU))), *want = MADE(tn_contiguous(cpu));
    const size_t size = tn__dtype_size(want->dtype);
    assert_int_equal(got->dtype, want->dtype);
    assert_int_equal(got->numel, want->numel);
    for (int64_t i = 0; i < want->numel; i++) {
        const char *a = (const char *)tn__tensor_data(got) + (size_t)i * size;
        const char *b = (const char *)tn__tensor_data(want) + (size_t)i * size;
        if (!memcmp(a, b, size) || (isnan(tn__load_double(want->dtype, a)) && isnan(tn__load_double(want->dtype, b))))
            continue;
        print_error("%s: element %lld of %lld is %g, should be %g\n", what, (long long)i, (long long)want->numel,
                    tn__load_double(want->dtype, a), tn__load_double(want->dtype, b));
        fail();
    }
}

static void turned(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{40, 33, 70}, {5, 64, 64}, {8, 9, 200}, {3, 32, 7}, {66, 1, 130}};
    static const int64_t orders[][3] = {{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const tn_dtype dtypes[] = {TN_U8, TN_BF16, TN_F32, TN_I64};
    for (size_t d = 0; d < TN_COUNT(dtypes); d++)
        for (size_t s = 0; s < TN_COUNT(shapes); s++)
            for (size_t o = 0; o < TN_COUNT(orders); o++) {
                SCOPED
                {
                    const tn_dims order = dims(orders[o]);
                    tn_tensor *x = numbers(dtypes[d], dims(shapes[s]));
                    tn_tensor *y = MADE(tn_permute(x, order)), *z = MADE(tn_permute(on_gpu(x), order));
                    check_same(tn_contiguous(z), y, "permuted");
                    check_same(tn_to(z, .dtype = TN_F64), tn_to(y, .dtype = TN_F64), "permuted, converted");
                }
            }
}

static void converted(void **state)
{
    (void)state;
    for (size_t from = 0; from < TN_COUNT(all); from++)
        for (size_t to = 0; to < TN_COUNT(all); to++)
            SCOPED
            {
                tn_tensor *x = numbers(all[from], TN_SHAPE(7, 205)), *y = on_gpu(x);
                check_same(tn_to(y, .dtype = all[to]), tn_to(x, .dtype = all[to]), "dense");
                check_same(tn_to(tn_slice(y, 1, 1, 205, 1), .dtype = all[to]),
                           tn_to(tn_slice(x, 1, 1, 205, 1), .dtype = all[to]), "unaligned rows");
                check_same(tn_to(tn_slice(y, 1, 0, 205, 3), .dtype = all[to]),
                           tn_to(tn_slice(x, 1, 0, 205, 3), .dtype = all[to]), "stepped");
                check_same(tn_to(tn_slice(y, 0, 1, 2, 1), .dtype = all[to]),
                           tn_to(tn_slice(x, 0, 1, 2, 1), .dtype = all[to]), "dense, unaligned");
                tn_tensor *a = MADE(tn_zeros(TN_SHAPE(6, 64), .dtype = all[to])), *b = on_gpu(a);
                tn_tensor *u = numbers(all[from], TN_SHAPE(6, 32)), *v = on_gpu(u);
                MADE(tn_copy_(tn_slice(a, 1, 16, 48, 1), u));
                MADE(tn_copy_(tn_slice(b, 1, 16, 48, 1), v));
                check_same(b, a, "into aligned columns");
                MADE(tn_copy_(a, tn_slice(u, 1, 3, 4, 1)));
                MADE(tn_copy_(b, tn_slice(v, 1, 3, 4, 1)));
                check_same(b, a, "a column spread");
            }
}

/* Pieces of the sizes, along a dimension; one of them of another dtype or strided if asked for. */
static void join(tn_dtype d, int64_t dim, const int64_t *sizes, int32_t n, bool odd)
{
    tn_tensor *x[24], *y[24];
    for (int32_t i = 0; i < n; i++) {
        int64_t shape[3] = {4, 6, 16};
        shape[dim] = sizes[i];
        x[i] = numbers(odd && i == 1 ? TN_I16 : d, dims(shape));
        if (odd && i == 2)
            x[i] = MADE(tn_flip(x[i], TN_DIMS(0)));
        y[i] = on_gpu(x[i]);
        if (odd && i == 3) {
            x[i] = MADE(tn_expand(tn_slice(x[i], (dim + 1) % 3, 0, 1, 1), dims(shape)));
            y[i] = MADE(tn_expand(tn_slice(y[i], (dim + 1) % 3, 0, 1, 1), dims(shape)));
        }
    }
    check_same(tn_cat(list(y, n), dim), tn_cat(list(x, n), dim), "cat");
}

static void joined(void **state)
{
    (void)state;
    static const tn_dtype dtypes[] = {TN_BOOL, TN_F16, TN_F32, TN_F64};
    static const int64_t even[20] = {16, 32, 16, 48, 16, 16, 16, 32, 16, 64, 16, 16, 16, 16, 16, 16, 16, 16, 32, 16};
    static const int64_t ragged[11] = {1, 5, 2, 0, 7, 16, 3, 1, 1, 0, 9};
    for (size_t d = 0; d < TN_COUNT(dtypes); d++)
        for (int64_t dim = 0; dim < 3; dim++)
            for (int odd = 0; odd < 2; odd++)
                SCOPED
                {
                    join(dtypes[d], dim, even, 20, odd);
                    join(dtypes[d], dim, ragged, 11, odd);
                    join(dtypes[d], dim, even, 1, false);
                }
    SCOPED
    {
        tn_tensor *x = numbers(TN_F32, TN_SHAPE(3, 16)), *y = on_gpu(x), *xs[9], *ys[9];
        for (int i = 0; i < 9; i++) {
            xs[i] = x;
            ys[i] = y;
        }
        for (int64_t dim = 0; dim < 3; dim++)
            check_same(tn_stack(list(ys, 9), dim), tn_stack(list(xs, 9), dim), "stack");
    }
}

/* Rows whose vectors are whole, with operands that have one value along them, or throughout. */
static void rows_in_vectors(void **state)
{
    (void)state;
    static const tn_dtype dtypes[] = {TN_U8, TN_I32, TN_I64, TN_F16, TN_F32, TN_F64};
    for (size_t d = 0; d < TN_COUNT(dtypes); d++)
        SCOPED
        {
            tn_tensor *x = numbers(dtypes[d], TN_SHAPE(3, 9, 64)), *row = numbers(dtypes[d], TN_SHAPE(64));
            tn_tensor *column = numbers(dtypes[d], TN_SHAPE(9, 1)), *mask = numbers(TN_BOOL, TN_SHAPE(9, 64));
            tn_tensor *X = on_gpu(x), *R = on_gpu(row), *C = on_gpu(column), *M = on_gpu(mask);
            check_same(tn_add(X, R), tn_add(x, row), "add a row");
            check_same(tn_mul(C, X), tn_mul(column, x), "mul by a column");
            check_same(tn_lt(X, R), tn_lt(x, row), "compare with a row");
            check_same(tn_where(M, X, R), tn_where(mask, x, row), "where, mask spread");
            check_same(tn_where(M, X, 2), tn_where(mask, x, 2), "where, number");
            check_same(tn_where(tn_slice(M, 1, 0, 1, 1), X, R), tn_where(tn_slice(mask, 1, 0, 1, 1), x, row),
                       "where, a column of the mask");
            check_same(tn_masked_fill(X, M, 3), tn_masked_fill(x, mask, 3), "masked_fill");
            check_same(tn_maximum(tn_slice(X, 2, 0, 32, 1), tn_slice(R, 0, 32, 64, 1)),
                       tn_maximum(tn_slice(x, 2, 0, 32, 1), tn_slice(row, 0, 32, 64, 1)), "halves of rows");
            check_same(tn_sub(X, tn_select(C, 0, 4)), tn_sub(x, tn_select(column, 0, 4)), "one value");
            check_same(tn_mul(X, M), tn_mul(x, mask), "by a mask, of another dtype");
            MADE(tn_add_(tn_slice(X, 2, 16, 48, 1), tn_slice(R, 0, 0, 32, 1)));
            MADE(tn_add_(tn_slice(x, 2, 16, 48, 1), tn_slice(row, 0, 0, 32, 1)));
            check_same(X, x, "in place, columns");
        }
}

static void triangles(void **state)
{
    (void)state;
    for (size_t d = 0; d < TN_COUNT(all); d++)
        for (int64_t diagonal = -3; diagonal < 4; diagonal++)
            SCOPED
            {
                tn_tensor *x = numbers(all[d], TN_SHAPE(3, 2, 5, 300)), *y = on_gpu(x);
                tn_tensor *u = MADE(tn_transpose(x, 1, 3)), *v = MADE(tn_transpose(y, 1, 3));
                check_same(tn_tril(y, diagonal), tn_tril(x, diagonal), "tril");
                check_same(tn_triu(v, diagonal), tn_triu(u, diagonal), "triu, transposed");
                check_same(tn_flip(y, TN_DIMS(0, 3)), tn_flip(x, TN_DIMS(0, 3)), "flip");
            }
}

int main(int argc, char **argv)
{
    static const alone tests[] = {
        ALONE(turned, "TENON_FAKE_GPUS=1"),    ALONE(converted, "TENON_FAKE_GPUS=1"),
        ALONE(joined, "TENON_FAKE_GPUS=1"),    ALONE(rows_in_vectors, "TENON_FAKE_GPUS=1"),
        ALONE(triangles, "TENON_FAKE_GPUS=1"),
    };
    return alone_main(tests, (int)TN_COUNT(tests), argc, argv);
}
