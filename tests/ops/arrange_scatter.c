/* What is written where a view would show, shuffles, choices, powers. Values are PyTorch's. */
#include "ops/family.h"

static void run_scatters(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = counted(TN_SHAPE(2, 3), 6), *two = tn_tensor_from(TN_LIST(9.0f, 8.0f));
    HOLDS(tn_select_scatter(x, two, 1, -1), TN_SHAPE(2, 3), 1, 2, 9, 4, 5, 8);
    HOLDS(tn_slice_scatter(x, tn_reshape(two, TN_SHAPE(2, 1)), 1, 0, 1, 1), TN_SHAPE(2, 3), 9, 2, 3, 8, 5, 6);
    HOLDS(tn_diagonal_scatter(x, two, 1, 0, 1), TN_SHAPE(2, 3), 1, 9, 3, 4, 5, 8);
    HOLDS(tn_as_strided_scatter(x, two, TN_SHAPE(2), TN_DIMS(2), 1), TN_SHAPE(2, 3), 1, 9, 3, 8, 5, 6);
    HOLDS(tn_select_scatter(tn_t(x), two, 0, 0), TN_SHAPE(3, 2), 9, 8, 2, 5, 3, 6);
    HOLDS(x, TN_SHAPE(2, 3), 1, 2, 3, 4, 5, 6);
    REFUSED(tn_select_scatter(x, x, 1, 0), TN_EINVAL,
            "expected src to have a size equal to the slice of self. src size = [2, 3], slice size = [2]");
    REFUSED(tn_select_scatter(x, two, 1, 5), TN_EINDEX, "index 5 out of range");
    REFUSED(tn_slice_scatter(x, x, 1, 0, 3, 0), TN_EINVAL, "slice step must be positive");
    REFUSED(tn_as_strided_scatter(x, two, TN_SHAPE(2), TN_DIMS(20), 0), TN_EINVAL, "out of bounds for storage");
    HOLDS(tn_as_strided_scatter(tn_slice(x, 1, 0, 2, 1), two, TN_SHAPE(2), TN_DIMS(2), 1), TN_SHAPE(2, 2), 1, 9, 8, 5);
    tn_scope_close(s);
}

static void run_fill_diagonal_(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = counted(TN_SHAPE(2, 3), 6), *tall = tn_zeros(TN_SHAPE(7, 2));
    TRUTH(tn_fill_diagonal_(x, 9, false) == x && tn_fill_diagonal_(tall, 9, true) == tall);
    HOLDS(x, TN_SHAPE(2, 3), 9, 2, 3, 4, 9, 6);
    HOLDS(tall, TN_SHAPE(7, 2), 9, 0, 0, 9, 0, 0, 9, 0, 0, 9, 0, 0, 9, 0);
    HOLDS(tn_fill_diagonal_(tn_zeros(TN_SHAPE(2, 2, 2)), 1, false), TN_SHAPE(2, 2, 2), 1, 0, 0, 0, 0, 0, 0, 1);
    REFUSED(tn_fill_diagonal_(tn_ones(TN_SHAPE(3)), 1, false), TN_EINVAL, "dimensions must larger than 1");
    REFUSED(tn_fill_diagonal_(tn_ones(TN_SHAPE(2, 3, 2)), 1, false), TN_EINVAL,
            "all dimensions of input must be of equal length");
    tn_scope_close(s);
}

static void run_shuffles(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = counted(TN_SHAPE(4, 1, 2), 8), *y = counted(TN_SHAPE(1, 2, 4), 8),
              *z = counted(TN_SHAPE(1, 4, 2), 8);
    HOLDS(tn_pixel_shuffle(x, 2), TN_SHAPE(1, 2, 4), 1, 3, 2, 4, 5, 7, 6, 8);
    HOLDS(tn_pixel_unshuffle(y, 2), TN_SHAPE(4, 1, 2), 1, 3, 2, 4, 5, 7, 6, 8);
    HOLDS(tn_channel_shuffle(z, 2), TN_SHAPE(1, 4, 2), 1, 2, 5, 6, 3, 4, 7, 8);
    REFUSED(tn_pixel_shuffle(x, 3), TN_EINVAL, "input.size(-3)=4 is not divisible by 9");
    REFUSED(tn_pixel_shuffle(x, 0), TN_EINVAL, "pixel_shuffle expects a positive upscale_factor, but got 0");
    REFUSED(tn_pixel_shuffle(tn_ones(TN_SHAPE(2, 2)), 2), TN_EINVAL, "at least 3 dimensions, but got input with 2");
    REFUSED(tn_pixel_unshuffle(y, 3), TN_EINVAL, "expects height to be divisible by downscale_factor");
    REFUSED(tn_pixel_unshuffle(y, -1), TN_EINVAL, "expects a positive downscale_factor, but got -1");
    REFUSED(tn_channel_shuffle(z, 3), TN_EINVAL, "Got 4 channels and 3 groups.");
    REFUSED(tn_channel_shuffle(z, 0), TN_EINVAL, "must be positive. Value of groups:0");
    tn_scope_close(s);
}

static void run_constant_pad_nd(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = counted(TN_SHAPE(2, 3), 6);
    HOLDS(tn_constant_pad_nd(x, TN_INTS(1, 0), 9), TN_SHAPE(2, 4), 9, 1, 2, 3, 9, 4, 5, 6);
    REFUSED(tn_constant_pad_nd(x, TN_INTS(1), 9), TN_EINVAL, "Length of pad must be even but instead it equals 1");
    REFUSED(tn_constant_pad_nd(x, TN_INTS(1, 1, 1, 1, 1, 1), 9), TN_EINVAL, "Pad length is 6while the input has 2dim");
    tn_scope_close(s);
}

static void run_combinations(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = counted(TN_SHAPE(4), 4), *y = counted(TN_SHAPE(3), 3);
    HOLDS(tn_combinations(x, 3, false), TN_SHAPE(4, 3), 1, 2, 3, 1, 2, 4, 1, 3, 4, 2, 3, 4);
    HOLDS(tn_combinations(y, 2, true), TN_SHAPE(6, 2), 1, 1, 1, 2, 1, 3, 2, 2, 2, 3, 3, 3);
    HOLDS(tn_combinations(y, 5, false), TN_SHAPE(0, 5), 0);
    HOLDS(tn_combinations(y, 0, false), TN_SHAPE(0), 0);
    REFUSED(tn_combinations(y, -1, false), TN_EINVAL, "Expect a non-negative number, but got -1");
    REFUSED(tn_combinations(tn_ones(TN_SHAPE(2, 2)), 2, false), TN_EINVAL, "Expect a 1D vector, but got shape [2, 2]");
    REFUSED(tn_combinations(tn_ones(TN_SHAPE(200)), 100, false), TN_EINVAL, "more than memory can hold");
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"select_scatter", run_scatters},
    {"slice_scatter", run_scatters},
    {"diagonal_scatter", run_scatters},
    {"as_strided_scatter", run_scatters},
    {"fill_diagonal_", run_fill_diagonal_},
    {"pixel_shuffle", run_shuffles},
    {"pixel_unshuffle", run_shuffles},
    {"channel_shuffle", run_shuffles},
    {"constant_pad_nd", run_constant_pad_nd},
    {"combinations", run_combinations},
    {NULL, NULL},
};

/* ---- gradients ---- */

F(select_scatter, tn_select_scatter(x, tn_select(y, 0, 1), 0, 2))
F(slice_scatter, tn_slice_scatter(x, tn_slice(y, 1, 0, 2, 1), 1, 1, 4, 2))
F(diagonal_scatter, tn_diagonal_scatter(x, tn_diagonal(y, 0, 0, 1), 1, 0, 1))
/* Copies what lies between x's elements, too, which arrays of the kit forbid to read. */
F(as_strided_scatter,
  tn_as_strided_scatter(tn_slice(tn_mul(x, y), 1, 1, 4, 1), tn_select(y, 1, 0), TN_SHAPE(3), TN_DIMS(3), 1))
F(fill_diagonal, tn_fill_diagonal_(tn_mul(x, y), 2.5, false))
F(shuffled, tn_pixel_shuffle(tn_reshape(x, TN_SHAPE(4, 3, 1)), 2))
F(chosen, tn_combinations(tn_select(x, 0, 0), 3, false))

static const gradient_case gradients[] = {
    TWO(select_scatter), TWO(slice_scatter), TWO(diagonal_scatter), TWO(as_strided_scatter),
    TWO(fill_diagonal),  ONE(shuffled),      ONE(chosen),           {NULL, NULL, 0, {{0, {0}}}, false},
};

const family_tests arrange_scatter_tests = {cases, gradients, NULL};
