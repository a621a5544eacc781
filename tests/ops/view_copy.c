/* Windows of neighbours, and views as copies: row-major, in memory of their own. */
#include "ops/family.h"

static void run_unfold(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = counted(TN_SHAPE(2, 3), 6), *one = tn_full(TN_SHAPE(), 7);
    HOLDS(tn_unfold(x, 1, 2, 1), TN_SHAPE(2, 2, 2), 1, 2, 2, 3, 4, 5, 5, 6);
    HOLDS(tn_unfold(x, 0, 1, 2), TN_SHAPE(1, 3, 1), 1, 2, 3);
    HOLDS(tn_unfold(x, -1, 0, 2), TN_SHAPE(2, 2, 0), 0);
    HOLDS(tn_unfold(one, 0, 1, 1), TN_SHAPE(1), 7);
    TRUTH(tn_tensor_shares_storage(tn_unfold(x, 1, 2, 1), x));
    REFUSED(tn_unfold(x, 1, 5, 1), TN_EINVAL, "maximum size for tensor at dimension 1 is 3 but size is 5");
    REFUSED(tn_unfold(x, 1, -1, 1), TN_EINVAL, "size is -1 but must be >= 0");
    REFUSED(tn_unfold(x, 1, 2, 0), TN_EINVAL, "step is 0 but must be > 0");
    REFUSED(tn_unfold(x, 2, 1, 1), TN_EINDEX, "expected to be in range of [-2, 1], but got 2");
    REFUSED(tn_unfold(one, 0, 2, 1), TN_EINVAL, "maximum size for tensor at dimension 0 is 1 but size is 2");
    tn_scope_close(s);
}

/* The copy has the view's values, row by row, and nothing of x's memory. */
static void is_copy(const tn_tensor *x, tn_tensor *copy, tn_tensor *view, const char *what)
{
    const bool good =
        copy && view && tn_equal(copy, view) && tn_tensor_is_contiguous(copy) && copy->storage != x->storage;
    truth(good, what);
}
#define COPY(name, ...) is_copy(x, MADE(tn_##name##_copy(__VA_ARGS__)), MADE(tn_##name(__VA_ARGS__)), #name)

static void run_copies(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = counted(TN_SHAPE(2, 1, 3), 6);
    COPY(alias, x);
    COPY(as_strided, x, TN_SHAPE(2, 2), TN_DIMS(1, 2), 1);
    COPY(diagonal, x, 0, 0, 2);
    COPY(expand, x, TN_SHAPE(2, 4, -1));
    COPY(narrow, x, 2, 1, 2);
    COPY(permute, x, TN_DIMS(2, 0, 1));
    COPY(select, x, 2, -1);
    COPY(slice, x, 2, 0, INT64_MAX, 2);
    COPY(squeeze, x, .dim = 1);
    COPY(squeeze, x);
    COPY(t, tn_squeeze(x));
    COPY(transpose, x, 0, 2);
    COPY(unfold, x, 2, 2, 1);
    COPY(unsqueeze, x, 1);
    COPY(view, x, TN_SHAPE(3, -1));
    REFUSED(tn_select_copy(x, 0, 2), TN_EINDEX, "index 2 out of range");
    for (int64_t width = 1; width < 5; width++) { /* windows of what lies along another dimension, by tiles */
        x = tn_t(tn_reshape(tn_arange(130 * 70), TN_SHAPE(130, 70)));
        COPY(unfold, x, 0, width, 1);
        x = tn_to(x, .dtype = TN_F32);
        COPY(unfold, x, 0, width, 2);
        x = tn_to(tn_remainder(x, 251), .dtype = TN_U8);
        COPY(unfold, x, 0, width, 1);
    }
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"unfold", run_unfold},          {"alias_copy", run_copies},
    {"as_strided_copy", run_copies}, {"diagonal_copy", run_copies},
    {"expand_copy", run_copies},     {"narrow_copy", run_copies},
    {"permute_copy", run_copies},    {"select_copy", run_copies},
    {"slice_copy", run_copies},      {"squeeze_copy", run_copies},
    {"t_copy", run_copies},          {"transpose_copy", run_copies},
    {"unfold_copy", run_copies},     {"unsqueeze_copy", run_copies},
    {"view_copy", run_copies},       {NULL, NULL},
};

F(unfold, tn_unfold(x, 1, 3, 1))
F(unfold_apart, tn_unfold(x, 0, 1, 2))
F(permute_copy, tn_permute_copy(x, TN_DIMS(1, 0)))

static const gradient_case gradients[] = {
    ONE(unfold),
    ONE(unfold_apart),
    ONE(permute_copy),
    {NULL, NULL, 0, {{0, {0}}}, false},
};

const family_tests view_copy_tests = {cases, gradients, NULL};
