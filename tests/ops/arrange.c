/* What joins and arranges elements anew. */
#include "backend/cpu/cpu.h"
#include "ops/family.h"
#include <string.h>

static void run_pad(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = counted(TN_SHAPE(1, 4), 4), *m = counted(TN_SHAPE(2, 2), 4);
    HOLDS(tn_pad(m, TN_INTS(1, 0, 0, 1), .value = TN_SCALAR(9)), TN_SHAPE(3, 3), 9, 1, 2, 9, 3, 4, 9, 9, 9);
    HOLDS(tn_pad(m, TN_INTS(-1, 1)), TN_SHAPE(2, 2), 2, 0, 4, 0);
    HOLDS(tn_pad(x, TN_INTS(2, 1), .mode = TN_PAD_REFLECT), TN_SHAPE(1, 7), 3, 2, 1, 2, 3, 4, 3);
    HOLDS(tn_pad(x, TN_INTS(2, 1), .mode = TN_PAD_REPLICATE), TN_SHAPE(1, 7), 1, 1, 1, 2, 3, 4, 4);
    HOLDS(tn_pad(x, TN_INTS(2, 1), .mode = TN_PAD_CIRCULAR), TN_SHAPE(1, 7), 3, 4, 1, 2, 3, 4, 1);
    HOLDS(tn_pad(x, TN_INTS(-1, 2), .mode = TN_PAD_CIRCULAR), TN_SHAPE(1, 5), 2, 3, 4, 2, 3);
    TRUTH(tn_tensor_storage(tn_pad(m, TN_INTS(0, 0)), NULL) != tn_tensor_storage(m, NULL));
    REFUSED(tn_pad(x, TN_INTS(1)), TN_EINVAL, "Padding length must be divisible by 2");
    REFUSED(tn_pad(x, TN_INTS(4, 0), .mode = TN_PAD_REFLECT), TN_EINVAL,
            "padding (4, 0) at dimension 1 of input [1, 4]");
    REFUSED(tn_pad(x, TN_INTS(-5, 0), .mode = TN_PAD_REPLICATE), TN_EINVAL,
            "input (W: 4) is too small. Calculated output W: -1");
    REFUSED(tn_pad(x, TN_INTS(5, 0), .mode = TN_PAD_CIRCULAR), TN_EINVAL, "wrapping around more than once");
    REFUSED(tn_pad(x, TN_INTS(INT64_MAX, INT64_MAX)), TN_EINVAL, "more than memory can hold");
    REFUSED(tn_pad(x, TN_INTS(INT64_MIN, 0)), TN_EINVAL, "more than memory can hold");
    REFUSED(tn_pad(x, ((tn_ints){NULL, 2})), TN_EINVAL, "is NULL");
    REFUSED(tn_pad(x, TN_INTS(1, 1), .mode = 7), TN_EMISSING, "Unrecognised padding mode 7");
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

static void run_stacks(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *v = counted(TN_SHAPE(2), 2), *m = counted(TN_SHAPE(2, 3), 6), *zero = tn_full(TN_SHAPE(), 7.0);
    tn_tensor *c = tn_reshape(m, TN_SHAPE(2, 3, 1)), *many[20];
    HOLDS(tn_hstack(TN_TENSORS(v, zero, v)), TN_SHAPE(5), 1, 2, 7, 1, 2);
    HOLDS(tn_hstack(TN_TENSORS(m, m)), TN_SHAPE(2, 6), 1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6);
    HOLDS(tn_vstack(TN_TENSORS(v, v, tn_reshape(v, TN_SHAPE(1, 2)))), TN_SHAPE(3, 2), 1, 2, 1, 2, 1, 2);
    HOLDS(tn_vstack(TN_TENSORS(zero, zero)), TN_SHAPE(2, 1), 7, 7);
    HOLDS(tn_dstack(TN_TENSORS(v, v)), TN_SHAPE(1, 2, 2), 1, 1, 2, 2);
    HOLDS(tn_dstack(TN_TENSORS(m, c)), TN_SHAPE(2, 3, 2), 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6);
    HOLDS(tn_column_stack(TN_TENSORS(v, m, v)), TN_SHAPE(2, 5), 1, 1, 2, 3, 1, 2, 4, 5, 6, 2);
    HOLDS(tn_column_stack(TN_TENSORS(zero, zero)), TN_SHAPE(1, 2), 7, 7);
    for (int i = 0; i < 20; i++) /* more than a call has room for on its stack */
        many[i] = zero;
    HOLDS(tn_hstack(((tn_tensors){many, 20})), TN_SHAPE(20), 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
          7);
    REFUSED(tn_hstack(((tn_tensors){NULL, 0})), TN_EINVAL, "hstack expects a non-empty TensorList");
    REFUSED(tn_vstack(((tn_tensors){NULL, 0})), TN_EINVAL, "vstack expects a non-empty TensorList");
    REFUSED(tn_dstack(((tn_tensors){NULL, 0})), TN_EINVAL, "dstack expects a non-empty TensorList");
    REFUSED(tn_column_stack(((tn_tensors){NULL, 0})), TN_EINVAL, "column_stack expects a non-empty TensorList");
    REFUSED(tn_hstack(TN_TENSORS(v, m)), TN_EINVAL, "Tensors must have same number of dimensions: got 1 and 2");
    REFUSED(tn_vstack(TN_TENSORS(v, m)), TN_EINVAL, "Expected size 2 but got size 3 for tensor number 1");
    REFUSED(tn_dstack(TN_TENSORS(v, TN_NONE)), TN_ETYPE, "dstack: an operand that must be a tensor is TN_NONE");
    tn_scope_close(s);
}

static void run_blocks(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *v = counted(TN_SHAPE(2), 2), *m = counted(TN_SHAPE(2, 2), 4), *zero = tn_full(TN_SHAPE(), 7.0);
    tn_tensor *whole = tn_to(v, .dtype = TN_I64);
    HOLDS(tn_block_diag(TN_TENSORS(m, v, zero)), TN_SHAPE(4, 5), 1, 2, 0, 0, 0, 3, 4, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0,
          0, 7);
    TRUTH(tn_tensor_dtype(tn_block_diag(TN_TENSORS(whole, v))) == TN_F32);
    TRUTH(tn_tensor_numel(tn_block_diag(((tn_tensors){NULL, 0}))) == 0);
    TRUTH(tn_tensor_ndim(tn_block_diag(((tn_tensors){NULL, 0}))) == 2);
    REFUSED(tn_block_diag(TN_TENSORS(m, counted(TN_SHAPE(1, 1, 2), 2))), TN_EINVAL,
            "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input 1 has 3 dimensions");
    HOLDS(tn_cartesian_prod(TN_TENSORS(v, tn_mul(v, 10))), TN_SHAPE(4, 2), 1, 10, 1, 20, 2, 10, 2, 20);
    HOLDS(tn_cartesian_prod(TN_TENSORS(v, tn_slice(v, 0, 0, 1, 1), v)), TN_SHAPE(4, 3), 1, 1, 1, 1, 1, 2, 2, 1, 1, 2, 1,
          2);
    TRUTH(tn_cartesian_prod(TN_TENSORS(v)) == v);
    REFUSED(tn_cartesian_prod(TN_TENSORS(v, m)), TN_EINVAL, "Expect a 1D vector, but got shape [2, 2]");
    REFUSED(tn_cartesian_prod(TN_TENSORS(v, whole)), TN_EINVAL, "expects all tensors to have the same dtype");
    REFUSED(tn_cartesian_prod(TN_TENSORS(v, v, v, v, v, v, v, v, v)), TN_EINVAL, "at most 8 dimensions");
    REFUSED(tn_cartesian_prod(((tn_tensors){NULL, 0})), TN_EINVAL, "expects a non-empty TensorList");
    tn_scope_close(s);
}

/* ---- tril, triu ---- */

static void triangle(kit_array *x, bool upper)
{
    for (int64_t k = -4; k <= 4; k++) {
        expected e;
        if (x->ndim < 2) {
            refused(upper ? tn_triu(x->t, k) : tn_tril(x->t, k), TN_EINVAL,
                    "input tensor must have at least 2 dimensions", "tril");
            continue;
        }
        int64_t rows = x->shape[x->ndim - 2], cols = x->shape[x->ndim - 1];
        expected_init(&e, x->dtype, x->ndim, x->shape);
        for (int64_t i = 0; i < x->numel; i++) {
            int64_t r = i / cols % rows, c = i % cols;
            e.v[i] = (upper ? c - r >= k : c - r <= k) ? x->v[i] : 0;
        }
        check(&e, upper ? tn_triu(x->t, k) : tn_tril(x->t, k), "%s of %s %s %s, %lld", upper ? "triu" : "tril",
              tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout], (long long)k);
        tn_tensor *y = tn_clone(x->t);
        check_free(&e, upper ? tn_triu_(y, k) : tn_tril_(y, k), "%s_ of %s %s", upper ? "triu" : "tril",
                   tn_dtype_name(x->dtype), kit_layout_names[x->layout]);
    }
}

static void tril_each(kit_array *x)
{
    triangle(x, false);
}

static void triu_each(kit_array *x)
{
    triangle(x, true);
}

static void run_tril(void)
{
    each_array(tril_each, false);
}

static void run_triu(void)
{
    each_array(triu_each, false);
}

/* ---- flip ---- */

static void flip_each(kit_array *x)
{
    for (uint32_t mask = 0; mask<1U << x->ndim; mask += x->ndim> 4 ? 13 : 1) {
        int64_t dims[TN_MAX_DIMS], at[TN_MAX_DIMS];
        int32_t n = 0;
        expected e;
        for (int32_t d = 0; d < x->ndim; d++)
            if (mask >> d & 1)
                dims[n++] = d - (int64_t)(kit_random() & 1) * x->ndim;
        if (x->ndim == 0)
            dims[n++] = -(int64_t)(kit_random() & 1);
        expected_init(&e, x->dtype, x->ndim, x->shape);
        e.bits = true;
        for (int64_t i = 0; i < x->numel; i++) {
            int64_t o = 0;
            kit_unravel(i, x->ndim, x->shape, at);
            for (int32_t d = 0; d < x->ndim; d++)
                o = o * x->shape[d] + (mask >> d & 1 ? x->shape[d] - 1 - at[d] : at[d]);
            e.v[i] = x->v[o];
        }
        tn_tensor *got = tn_flip(x->t, tn_dims_of(dims, n));
        check_free(&e, got, "flip of %s %s %s, dims %x", tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape),
                   kit_layout_names[x->layout], (unsigned)mask);
        TRUTH(x->numel == 0 || !tn_tensor_shares_memory(got, x->t));
    }
}

static void run_flip(void)
{
    each_array(flip_each, false);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3));
    REFUSED(tn_flip(x, TN_DIMS(2)), TN_EINDEX,
            "Dimension out of range (expected to be in range of [-2, 1], but got 2)");
    REFUSED(tn_flip(x, TN_DIMS(0, 0)), TN_EINVAL, "dim 0 appears multiple times in the list of dims");
    tn_scope_close(s);
}

/* ---- cat and stack ---- */

enum { PARTS = 3 };

/* Parts that agree but along dim; part 1 may be empty there. The value at a place of the result, by looking for its
 * part. */
static real joined(const kit_array *part, int32_t dim, int32_t ndim, const int64_t *shape, int64_t i, tn_dtype to)
{
    int64_t at[TN_MAX_DIMS], stride[TN_MAX_DIMS], step = 1;
    kit_unravel(i, ndim, shape, at);
    while (at[dim] >= part->shape[dim]) {
        at[dim] -= part->shape[dim];
        part++;
    }
    for (int32_t d = ndim - 1; d >= 0; d--) {
        stride[d] = step;
        step *= part->shape[d];
    }
    return kit_convert(part->v[kit_ravel(ndim, stride, at)], part->dtype, to);
}

enum { ALL_DENSE = -1 }; /* in place of a layout for the first part */

static void try_cat(const shape_list *s, int32_t dim, const tn_dtype *dtype, int layout)
{
    kit_array part[PARTS];
    tn_tensor *t[PARTS];
    int64_t shape[TN_MAX_DIMS], total = 0;
    tn_dtype to = kit_promote(kit_promote(dtype[0], dtype[1]), dtype[2]);
    memcpy(shape, s->dim, sizeof shape);
    for (int k = 0; k < PARTS; k++) {
        shape[dim] = k == 1 ? kit_below(3) : s->dim[dim] + k;
        total += shape[dim];
        const kit_layout lies = layout == ALL_DENSE ? KIT_DENSE : (kit_layout)((layout + 2 * k) % KIT_LAYOUTS);
        random_array(&part[k], dtype[k], s->ndim, shape, lies, dtype[k] != to);
        t[k] = part[k].t;
    }
    expected e;
    shape[dim] = total;
    expected_init(&e, to, s->ndim, shape);
    e.bits = true;
    for (int64_t i = 0; i < e.numel; i++)
        e.v[i] = joined(part, dim, s->ndim, shape, i, to);
    check_free(&e, tn_cat(((tn_tensors){t, PARTS}), kit_random() & 1 ? dim : dim - s->ndim),
               "cat of %s %s %s, dim %d, to %s", tn_dtype_name(dtype[0]), tn_dtype_name(dtype[1]),
               kit_shape_text(s->ndim, s->dim), (int)dim, tn_dtype_name(to));
    for (int k = 0; k < PARTS; k++)
        kit_array_free(&part[k]);
}

/* Of channels_last tensors: the elements that row-major ones give, in the format of what came. */
static void keep_the_format(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *a = tn_reshape(tn_arange(0, 120, 1, .dtype = TN_F32), TN_SHAPE(2, 3, 4, 5)),
              *wide = tn_cat(TN_TENSORS(a, a), 1);
    tn_tensor *c = tn_contiguous_in(a, TN_CHANNELS_LAST), *last = tn_contiguous_in(wide, TN_CHANNELS_LAST);
    for (int64_t d = 0; d <= 4; d++) {
        TRUTH(tn_equal(tn_stack(TN_TENSORS(a, a), d), tn_stack(TN_TENSORS(c, c), d)));
        if (d == 4)
            break;
        tn_tensor *kept = tn_cat(TN_TENSORS(c, c), d);
        TRUTH(tn_equal(kept, tn_cat(TN_TENSORS(a, a), d)) && tn_tensor_is_contiguous_in(kept, TN_CHANNELS_LAST));
        TRUTH(tn_tensor_is_contiguous(tn_cat(TN_TENSORS(c, a), d)));
    }
    tn_tensor *shuffled = tn_channel_shuffle(last, 2), *padded = tn_pad(c, TN_INTS(1, 2, 3, 0));
    TRUTH(tn_equal(shuffled, tn_channel_shuffle(wide, 2)) && tn_tensor_is_contiguous_in(shuffled, TN_CHANNELS_LAST));
    TRUTH(tn_equal(padded, tn_pad(a, TN_INTS(1, 2, 3, 0))) && tn_tensor_is_contiguous_in(padded, TN_CHANNELS_LAST));
    tn_tensor *normal = tn_batch_norm(c, TN_NONE, TN_NONE, .training = true);
    TRUTH(tn_allclose(normal, tn_batch_norm(a, TN_NONE, TN_NONE, .training = true), .rtol = TN_SCALAR(1e-4),
                      .atol = TN_SCALAR(1e-4)));
    TRUTH(tn_tensor_is_contiguous_in(normal, TN_CHANNELS_LAST));
    tn_scope_close(s);
}

static void run_cat(void)
{
    keep_the_format();
    for (int i = 0; i < KIT_DTYPES; i++)
        for (int j = 0; j < KIT_DTYPES; j++)
            for (int k = 1; k < N_SHAPES; k++)
                for (int layout = 0; layout < (i == j ? KIT_LAYOUTS : 1); layout++) {
                    tn_scope *scope = tn_scope_open();
                    const tn_dtype dtype[PARTS] = {kit_dtypes[i], kit_dtypes[j], kit_dtypes[i]};
                    for (int32_t d = 0; d < some_shapes[k].ndim; d++)
                        try_cat(&some_shapes[k], d, dtype, layout);
                    tn_scope_close(scope);
                }
    static const shape_list long_pieces[] = {{2, {7, 300}}, {3, {3, 4, 300}}}; /* by turns, row by row */
    for (int i = 0; i < KIT_DTYPES; i++)
        for (int k = 0; k < 6; k++) {
            tn_scope *scope = tn_scope_open();
            const tn_dtype dtype[PARTS] = {kit_dtypes[i], kit_dtypes[i], kit_dtypes[i]};
            try_cat(&long_pieces[k % 2], k % 2, dtype, ALL_DENSE);
            tn_scope_close(scope);
        }
    tn_scope *s = tn_scope_open();
    tn_tensor *a = tn_arange(0, 6, 1), *b = tn_reshape(a, TN_SHAPE(2, 3)),
              *blank = tn_empty(TN_SHAPE(0), .dtype = TN_I64);
    TRUTH(tn_equal(tn_cat(TN_TENSORS(blank, b, blank), 1), b)); /* an empty 1-D tensor joins anything */
    TRUTH(tn_equal(tn_cat(TN_TENSORS(b, b), 0), tn_reshape(tn_cat(TN_TENSORS(a, a), 0), TN_SHAPE(4, 3))));
    TRUTH(tn_equal(tn_cat(TN_TENSORS(blank, blank), 7), blank)); /* nor does the dimension matter then */
    REFUSED(tn_cat(((tn_tensors){NULL, 0}), 0), TN_EVALUE, "expected a non-empty list of Tensors");
    REFUSED(tn_cat(TN_TENSORS(b, a), 0), TN_EINVAL, "Tensors must have same number of dimensions: got 2 and 1");
    REFUSED(tn_cat(TN_TENSORS(b, tn_t(b)), 0), TN_EINVAL,
            "Sizes of tensors must match except in dimension 0. Expected size 3 but got size 2 for tensor number 1 in "
            "the list.");
    REFUSED(tn_cat(TN_TENSORS(b, b), 2), TN_EINDEX,
            "Dimension out of range (expected to be in range of [-2, 1], but got 2)");
    REFUSED(tn_cat(TN_TENSORS(tn_ones(TN_SHAPE())), 0), TN_EINVAL,
            "zero-dimensional tensor (at position 0) cannot be concatenated");
    tn_tensor *many[100];
    for (int i = 0; i < 100; i++)
        many[i] = tn_full(TN_SHAPE(1), i);
    TRUTH(tn_equal(tn_cat(((tn_tensors){many, 100}), 0), tn_arange(0, 100, 1)));
    tn_scope_close(s);
}

static void stack_each(kit_array *x)
{
    if (x->ndim == TN_MAX_DIMS) {
        REFUSED(tn_stack(TN_TENSORS(x->t), 0), TN_EINVAL, "more than 8 dimensions");
        return;
    }
    kit_array y;
    random_array(&y, kit_dtypes[kit_below(KIT_DTYPES)], x->ndim, x->shape, KIT_TRANSPOSED, true);
    for (int32_t d = 0; d <= x->ndim; d++) {
        int64_t shape[TN_MAX_DIMS], inner = 1;
        for (int32_t k = 0; k <= x->ndim; k++)
            shape[k] = k == d ? 3 : x->shape[k - (k > d)];
        for (int32_t k = d; k < x->ndim; k++)
            inner *= x->shape[k];
        expected e;
        expected_init(&e, kit_promote(x->dtype, y.dtype), x->ndim + 1, shape);
        e.bits = true;
        for (int64_t i = 0; i < e.numel; i++) {
            const kit_array *from = i / inner % 3 == 1 ? &y : x;
            e.v[i] = kit_convert(from->v[i / (3 * inner) * inner + i % inner], from->dtype, e.dtype);
        }
        check_free(&e, tn_stack(TN_TENSORS(x->t, y.t, x->t), d - (int64_t)(kit_random() & 1) * (x->ndim + 1)),
                   "stack of %s %s %s, dim %d", tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape),
                   kit_layout_names[x->layout], (int)d);
    }
    kit_array_free(&y);
}

static void run_stack(void)
{
    each_array(stack_each, true);
    tn_scope *s = tn_scope_open();
    for (int i = 0; i < KIT_DTYPES; i++) { /* larger than tiles in which what lies across is turned */
        kit_array x;
        random_array(&x, kit_dtypes[i], 2, (const int64_t[]){150, 70}, KIT_TRANSPOSED, true);
        stack_each(&x);
        kit_array_free(&x);
    }
    REFUSED(tn_stack(TN_TENSORS(tn_ones(TN_SHAPE(2)), tn_ones(TN_SHAPE(3))), 0), TN_EINVAL,
            "stack expects each tensor to be equal size, but got [2] at entry 0 and [3] at entry 1");
    REFUSED(tn_stack(TN_TENSORS(tn_ones(TN_SHAPE(2))), 2), TN_EINDEX,
            "Dimension out of range (expected to be in range of [-2, 1], but got 2)");
    tn_scope_close(s);
}

/* ---- repeating ---- */

static void repeat_each(kit_array *x)
{
    int64_t times[TN_MAX_DIMS], shape[TN_MAX_DIMS], at[TN_MAX_DIMS];
    const int32_t more = x->ndim < TN_MAX_DIMS ? (int32_t)kit_below(2) : 0, n = x->ndim + more;
    expected e;
    for (int32_t d = 0; d < n; d++) {
        times[d] = x->ndim > 4 ? 1 + (kit_below(4) == 0) : kit_below(4);
        shape[d] = times[d] * (d < more ? 1 : x->shape[d - more]);
    }
    for (int tiled = 0; tiled < 2; tiled++) {
        expected_init(&e, x->dtype, n, shape);
        e.bits = true;
        for (int64_t i = 0; i < e.numel; i++) {
            int64_t o = 0;
            kit_unravel(i, n, shape, at);
            for (int32_t d = more; d < n; d++)
                o = o * x->shape[d - more] + at[d] % x->shape[d - more];
            e.v[i] = x->v[o];
        }
        const tn_dims dims = tn_dims_of(times, n);
        check_free(&e, tiled ? tn_tile(x->t, dims) : tn_repeat(x->t, dims), "repeat of %s %s %s to %s",
                   tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout],
                   kit_shape_text(n, shape));
    }
}

static void interleave_each(kit_array *x)
{
    for (int32_t d = 0; d < x->ndim; d++) {
        const lane l = lane_of(x, d);
        int64_t shape[TN_MAX_DIMS], total = 0, n = l.n;
        kit_array times;
        index_array(&times, kit_random() & 1 ? TN_I64 : TN_I32, 1, &n, (kit_layout)kit_below(KIT_LAYOUTS), 4);
        const bool number = d % 2;
        for (int64_t i = 0; i < n; i++)
            total += number ? 2 : (int64_t)times.v[i];
        expected e;
        memcpy(shape, x->shape, sizeof shape);
        shape[d] = total;
        expected_init(&e, x->dtype, x->ndim, shape);
        e.bits = true;
        int64_t to = 0;
        for (int64_t o = 0; o < l.outer; o++)
            for (int64_t k = 0; k < n; k++)
                for (int64_t c = 0; c < (number ? 2 : (int64_t)times.v[k]); c++)
                    for (int64_t i = 0; i < l.inner; i++)
                        e.v[to++] = x->v[(o * n + k) * l.inner + i];
        check_free(&e, tn_repeat_interleave(x->t, number ? tn_scalar_i(2) : tn_scalar_t(times.t), .dim = d),
                   "repeat_interleave of %s %s %s, dim %d", tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape),
                   kit_layout_names[x->layout], (int)d);
        kit_array_free(&times);
    }
}

static void run_repeat(void)
{
    each_array(repeat_each, false);
    each_array(interleave_each, false);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_reshape(tn_arange(0, 4, 1), TN_SHAPE(2, 2));
    REFUSED(tn_repeat(x, TN_DIMS(2)), TN_EINVAL, "Number of dimensions of repeat dims can not be smaller");
    REFUSED(tn_repeat(x, TN_DIMS(2, -1)), TN_EINVAL, "negative dimension -1");
    TRUTH(tn_equal(tn_tile(x, TN_DIMS(2)), tn_cat(TN_TENSORS(x, x), 1)));
    TRUTH(tn_equal(tn_repeat_interleave(x, 2), tn_tensor_from(TN_LIST(0, 0, 1, 1, 2, 2, 3, 3))));
    REFUSED(tn_repeat_interleave(x, -1), TN_EINVAL, "Repeats must be non-negative");
    MADE(tn_repeat_interleave(x, 2, .output_size = TN_SCALAR(8)));
    REFUSED(tn_repeat_interleave(x, 2, .output_size = TN_SCALAR(7)), TN_EINVAL,
            "repeat_interleave: Invalid output_size, expected 8 but got 7");
    REFUSED(tn_repeat_interleave(x, tn_scalar_t(tn_full(TN_SHAPE(1), 2)), .output_size = TN_SCALAR(7)), TN_EINVAL,
            "allocated size does not match required size");
    REFUSED(tn_repeat_interleave(x, tn_scalar_t(tn_full(TN_SHAPE(1), 2)), .output_size = TN_SCALAR(-1)), TN_EINVAL,
            "Trying to create tensor with negative dimension -1: [-1]");
    REFUSED(tn_repeat_interleave(x, tn_scalar_t(tn_tensor_from(TN_LIST(1, -1))), .dim = 0), TN_EINVAL,
            "repeats can not be negative");
    REFUSED(tn_repeat_interleave(x, tn_scalar_t(tn_ones(TN_SHAPE(2))), .dim = 0), TN_EDTYPE,
            "\"repeat_interleave_cpu\" not implemented for 'Float'");
    REFUSED(tn_repeat_interleave(x, tn_scalar_t(tn_arange(0, 3, 1)), .dim = 0), TN_EINVAL,
            "repeats must have the same size as input along dim");
    tn_scope_close(s);
}

/* ---- moving ---- */

static void roll_each(kit_array *x)
{
    for (int32_t d = 0; d < x->ndim; d++) {
        const lane l = lane_of(x, d);
        const int64_t by = kit_below(30) - 15;
        expected e;
        expected_init(&e, x->dtype, x->ndim, x->shape);
        e.bits = true;
        for (int64_t i = 0; i < e.numel; i++) {
            const int64_t k = i / l.inner % l.n, from = ((k - by) % l.n + l.n) % l.n;
            e.v[i] = x->v[i + (from - k) * l.inner];
        }
        check_free(&e, tn_roll(x->t, TN_DIMS(by), .dim = d), "roll of %s %s %s by %lld, dim %d",
                   tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout],
                   (long long)by, (int)d);
    }
}

/* Rows that go past the caches for themselves: of copies, of joined tensors, of a result that an operand is broadcast to. */
static void rows_beyond_the_caches(tn_dtype d)
{
    const int64_t lines = 301, cols = 4099;
    const int64_t was = tn__cpu_stream_bytes();
    tn_scope *scope = tn_scope_open();
    tn__cpu_set_stream_bytes(1 << 20);
    tn_tensor *x = tn_to(tn_randn(TN_SHAPE(lines, cols)), .dtype = d), *e = tn_to(tn_randn(TN_SHAPE(cols)), .dtype = d);
    tn_tensor *joined = tn_cat(TN_TENSORS(x, x), 1), *moved = tn_roll(x, TN_DIMS(3), .dim = 1), *sum = tn_add(x, e);
    bool right = joined && moved && sum;
    for (int64_t i = 0; i < lines && right; i++) {
        tn_tensor *line = tn_select(x, 0, i), *both = tn_select(joined, 0, i);
        right = tn_equal(tn_narrow(both, 0, 0, cols), line) && tn_equal(tn_narrow(both, 0, cols, cols), line) &&
                tn_equal(tn_select(moved, 0, i), tn_roll(line, TN_DIMS(3), .dim = 0)) &&
                tn_equal(tn_select(sum, 0, i), tn_add(line, e));
    }
    TRUTH(right);
    tn__cpu_set_stream_bytes(was);
    tn_scope_close(scope);
}

static void run_roll(void)
{
    rows_beyond_the_caches(TN_F32);
    rows_beyond_the_caches(TN_BF16);
    each_array(roll_each, false);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_reshape(tn_arange(0, 6, 1), TN_SHAPE(2, 3));
    TRUTH(tn_equal(tn_roll(x, TN_DIMS(1)), tn_tensor_from(TN_LIST(5, 0, 1, 2, 3, 4), .shape = TN_SHAPE(2, 3))));
    TRUTH(tn_equal(tn_roll(x, TN_DIMS(1, 1), .dims = TN_DIMS(0, 1)),
                   tn_tensor_from(TN_LIST(5, 3, 4, 2, 0, 1), .shape = TN_SHAPE(2, 3))));
    REFUSED(tn_roll(x, TN_DIMS(1, 2), .dim = 0), TN_EINVAL, "shifts and dimensions must align. shifts: 2, dims:1");
    REFUSED(tn_roll(x, TN_DIMS(1, 2)), TN_EINVAL, "shifts and dimensions must align. shifts: 2, dims:0");
    /* movedim and unflatten are views */
    tn_tensor *y = tn_reshape(tn_arange(0, 24, 1), TN_SHAPE(2, 3, 4));
    TRUTH(tn_equal(tn_movedim(y, TN_DIMS(0), TN_DIMS(-1)), tn_permute(y, TN_DIMS(1, 2, 0))));
    TRUTH(tn_equal(tn_movedim(y, TN_DIMS(0, 1), TN_DIMS(2, 0)), tn_permute(y, TN_DIMS(1, 2, 0))));
    REFUSED(tn_movedim(y, TN_DIMS(0, 0), TN_DIMS(1, 2)), TN_EINVAL, "movedim: repeated dim in `source`");
    REFUSED(tn_movedim(y, TN_DIMS(0, 1), TN_DIMS(2, 2)), TN_EINVAL, "movedim: repeated dim in `destination`");
    REFUSED(tn_movedim(y, TN_DIMS(0), TN_DIMS(1, 2)), TN_EINVAL, "Invalid source or destination dims");
    TRUTH(tn_equal(tn_unflatten(y, -1, TN_DIMS(2, -1)), tn_view(y, TN_SHAPE(2, 3, 2, 2))));
    TRUTH(tn_data(tn_unflatten(y, 0, TN_DIMS(1, 2))) == tn_data(y));
    REFUSED(tn_unflatten(y, 1, TN_DIMS(2, 2)), TN_EINVAL, "don't multiply up to the size of dim 1 (3)");
    tn_scope_close(s);
}

static void run_repeated_places(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_to(tn_tensor_from(TN_LIST(1, 0, 3)), .dtype = TN_I32);
    HOLDS(tn_repeated_places(x, .output_size = TN_SCALAR(4)), TN_SHAPE(4), 0, 2, 2, 2);
    TRUTH(tn_tensor_dtype(tn_repeated_places(x)) == TN_I32);
    HOLDS(tn_repeated_places(tn_slice(x, 0, 0, 0, 1)), TN_SHAPE(0), 0);
    REFUSED(tn_repeated_places(x, .output_size = TN_SCALAR(5)), TN_EINVAL, "allocated size does not match");
    REFUSED(tn_repeated_places(tn_ones(TN_SHAPE(2))), TN_EDTYPE, "\"repeat_interleave_cpu\" not implemented for");
    REFUSED(tn_repeated_places(tn_full(TN_SHAPE(1, 2), 1)), TN_EINVAL, "only accept 1D vector as repeat");
    REFUSED(tn_repeated_places(tn_full(TN_SHAPE(1), -2)), TN_EINVAL, "repeats can not be negative");
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"repeated_places", run_repeated_places},
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
    {"tril", run_tril},
    {"triu", run_triu},
    {"flip", run_flip},
    {"cat", run_cat},
    {"stack", run_stack},
    {"hstack", run_stacks},
    {"vstack", run_stacks},
    {"dstack", run_stacks},
    {"column_stack", run_stacks},
    {"block_diag", run_blocks},
    {"cartesian_prod", run_blocks},
    {"repeat", run_repeat},
    {"tile", run_repeat},
    {"repeat_interleave", run_repeat},
    {"roll", run_roll},
    {"movedim", run_roll},
    {"unflatten", run_roll},
    {NULL, NULL},
};

/* ---- gradients ---- */

F(flip_0, tn_mul(tn_flip(x, TN_DIMS(0)), tn_flip(x, TN_DIMS(-1))))
F(cat, tn_cat(TN_TENSORS(x, y, x), 1))
F(cat_blank, tn_cat(TN_TENSORS(y, x), 0))
F(stack, tn_stack(TN_TENSORS(x, y), 1))
F(hstack, tn_hstack(TN_TENSORS(x, y)))
F(vstack, tn_vstack(TN_TENSORS(x, y)))
F(dstack, tn_dstack(TN_TENSORS(x, y)))
F(column_stack, tn_column_stack(TN_TENSORS(x, y)))
F(block_diag, tn_block_diag(TN_TENSORS(x, y)))
F(cartesian_prod, tn_cartesian_prod(TN_TENSORS(x, y)))
F(tril, tn_tril(x, 1))
F(triu, tn_triu(x, -1))
F(flip, tn_flip(x, TN_DIMS(0, 1)))
F(roll, tn_mul(tn_roll(x, TN_DIMS(1, -5), .dims = TN_DIMS(1, 0)), tn_roll(x, TN_DIMS(4))))

static const gradient_case gradients[] = {
    {"flip of 0-dim", f_flip_0, 1, {{0}}, false},
    TWO(cat),
    {"cat_blank", f_cat_blank, 2, {M34, {1, {0}}}, false},
    TWO(stack),
    {"hstack", f_hstack, 2, {NINE, NINE}, false},
    {"vstack", f_vstack, 2, {NINE, M34}, false},
    {"dstack", f_dstack, 2, {NINE, {3, {1, 4, 2}}}, false},
    {"column_stack", f_column_stack, 2, {NINE, {2, {4, 2}}}, false},
    {"block_diag", f_block_diag, 2, {M34, NINE}, false},
    {"cartesian_prod", f_cartesian_prod, 2, {NINE, {1, {3}}}, false},
    ONE(tril),
    ONE(triu),
    ONE(flip),
    ONE(roll),
    {NULL, NULL, 0, {{0, {0}}}, false},
};

/* ---- PyTorch's records ---- */

static bool record_cat(record *r, results *out)
{
    tn_tensor *t[32];
    return give(out, tn_cat(tensors_of(&r->input, t), int_of(record_arg(r, 0, "dim"), 0)));
}

static bool record_stack(record *r, results *out)
{
    tn_tensor *t[32];
    return give(out, tn_stack(tensors_of(&r->input, t), int_of(record_arg(r, 0, "dim"), 0)));
}

SHAPED(flip, tn_flip, "dims")

#define TRIANGLE(name) \
    static bool record_##name(record *r, results *out) \
    { \
        return give(out, tn_##name(r->input.t, int_of(record_arg(r, 0, "diagonal"), 0))); \
    }

TRIANGLE(tril)
TRIANGLE(triu)

static bool record_rot90(record *r, results *out)
{
    dims_buffer b;
    const value dims = record_arg(r, 1, "dims");
    return give(out, tn_rot90(r->input.t, DIM(0, "k", 1), dims.kind == V_LIST ? dims_of(dims, &b) : TN_DIMS(0, 1)));
}

ADAPTER(diag_embed, tn_diag_embed(x, DIM(0, "offset", 0), DIM(1, "dim1", -2), DIM(2, "dim2", -1)))
ADAPTER(diag, tn_diag(x, DIM(0, "diagonal", 0)))
ADAPTER(diagflat, tn_diagflat(x, DIM(0, "offset", 0)))
ADAPTER(trace, tn_trace(x))
ADAPTER(fliplr, tn_fliplr(x))
ADAPTER(flipud, tn_flipud(x))
ADAPTER(diff,
        tn_diff(x, DIM(0, "n", 1), DIM(1, "dim", -1), .prepend = TENSOR(2, "prepend"), .append = TENSOR(3, "append")))

#define LISTED(name) \
    static bool record_##name(record *r, results *out) \
    { \
        dims_buffer b; \
        return give(out, tn_##name(r->input.t, dims_of(record_arg(r, 0, "dims"), &b))); \
    }

LISTED(repeat)
LISTED(tile)

static bool record_roll(record *r, results *out)
{
    dims_buffer b, c;
    tn_dims shifts = dims_of(record_arg(r, 0, "shifts"), &b), dim = dims_of(record_arg(r, 1, "dims"), &c);
    return give(out, tn_roll(r->input.t, shifts, .dims = dim));
}

static bool record_repeat_interleave(record *r, results *out)
{
    dims_buffer b;
    tn_dims dim = dims_of(record_arg(r, 1, "dim"), &b);
    const tn_scalar repeats = scalar_of(record_arg(r, 0, "repeats"));
    return give(out, dim.ndim ? tn_repeat_interleave(r->input.t, repeats, .dim = dim.dim[0])
                              : tn_repeat_interleave(r->input.t, repeats));
}

/* x.take(index): of the flattened tensor */
static bool record_take(record *r, results *out)
{
    return give(out, tn_index(tn_reshape(r->input.t, TN_SHAPE(-1)), TN_TENSORS(record_arg(r, 0, "index").t)));
}

static const named_adapter adapters[] = {
    {"cat", record_cat},
    {"stack", record_stack},
    {"flip", record_flip},
    {"tril", record_tril},
    {"triu", record_triu},
    {"rot90", record_rot90},
    {"diag_embed", record_diag_embed},
    {"diag", record_diag},
    {"diagflat", record_diagflat},
    {"trace", record_trace},
    {"fliplr", record_fliplr},
    {"flipud", record_flipud},
    {"diff", record_diff},
    {"repeat", record_repeat},
    {"tile", record_tile},
    {"roll", record_roll},
    {"repeat_interleave", record_repeat_interleave},
    {"take", record_take},
    {NULL, NULL},
};

const family_tests arrange_tests = {cases, gradients, adapters};
