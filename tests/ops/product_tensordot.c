/* Products over pairs of dimensions, and over named ones: tensordot, einsum. Values are PyTorch's. */
#include "ops/family.h"
#include <string.h>

static void run_tensordot(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *a = counted(TN_SHAPE(2, 3), 6), *b = counted(TN_SHAPE(3, 2), 6), *one = tn_ones(TN_SHAPE(1, 2));
    HOLDS(tn_tensordot(a, b, TN_DIMS(1), TN_DIMS(0)), TN_SHAPE(2, 2), 22, 28, 49, 64);
    HOLDS(tn_tensordot(a, b, TN_DIMS(0, -1), TN_DIMS(1, 0)), TN_SHAPE(), 86);
    HOLDS(tn_tensordot(a, one, TN_DIMS(1), TN_DIMS(0)), TN_SHAPE(2, 2), 6, 6, 15, 15);
    HOLDS(tn_tensordot(tn_t(one), b, TN_DIMS(1), TN_DIMS(0)), TN_SHAPE(2, 2), 9, 12, 9, 12);
    HOLDS(tn_tensordot(tn_select(a, 0, 0), tn_select(b, 0, 1), ((tn_dims){0}), ((tn_dims){0})), TN_SHAPE(3, 2), 3, 4, 6,
          8, 9, 12);
    REFUSED(tn_tensordot(a, b, TN_DIMS(0), TN_DIMS(0)), TN_EINVAL,
            "contracted dimensions need to match, but first has size 2 in dim 0 and second has size 3 in dim 0");
    REFUSED(tn_tensordot(a, b, TN_DIMS(0, 1), TN_DIMS(0)), TN_EINVAL, "both dimension lists should have same length");
    REFUSED(tn_tensordot(a, b, TN_DIMS(1, 1), TN_DIMS(0, 0)), TN_EINVAL,
            "dim 1 appears multiple times in the list of dims");
    REFUSED(tn_tensordot(a, tn_to(b, .dtype = TN_F64), TN_DIMS(1), TN_DIMS(0)), TN_EINVAL,
            "both inputs should have same dtype");
    REFUSED(tn_tensordot(a, b, TN_DIMS(2), TN_DIMS(0)), TN_EINDEX, "Dimension out of range");
    REFUSED(tn_tensordot(tn_gt(one, 0), tn_gt(one, 0), TN_DIMS(0, 1), TN_DIMS(0, 1)), TN_EDTYPE,
            "\"dot\" not implemented for 'Bool'");
    REFUSED(tn_tensordot(tn_ones(TN_SHAPE(1, 1, 1, 1, 1)), tn_ones(TN_SHAPE(1, 1, 1, 1, 1)), TN_DIMS(0),
                         tn_dims_of(NULL, 1)),
            TN_EINVAL, "a list of 0 to 8 numbers was expected");
    tn_scope_close(s);
}

static void einsum_refuses(tn_tensor *a)
{
    REFUSED(tn_einsum(NULL, TN_TENSORS(a)), TN_EINVAL, "einsum(): the equation is NULL");
    REFUSED(tn_einsum("", ((tn_tensors){NULL, 0})), TN_EINVAL, "einsum(): must provide at least one operand");
    REFUSED(tn_einsum("ij,", TN_TENSORS(a)), TN_EINVAL,
            "einsum(): fewer operands were provided than specified in the equation");
    REFUSED(tn_einsum("ij", TN_TENSORS(a, a)), TN_EINVAL,
            "einsum(): more operands were provided than specified in the equation");
    REFUSED(tn_einsum("ij,j1", TN_TENSORS(a, a)), TN_EINVAL,
            "einsum(): invalid subscript given at index 4 in the equation string, subscripts must be in [a-zA-Z]");
    REFUSED(tn_einsum("ij->i-", TN_TENSORS(a)), TN_EINVAL, "einsum(): invalid subscript given at index 5");
    REFUSED(tn_einsum("ij,.j", TN_TENSORS(a, a)), TN_EINVAL,
            "einsum(): found '.' for operand 1 that is not part of any ellipsis");
    REFUSED(tn_einsum("...i...", TN_TENSORS(a)), TN_EINVAL,
            "einsum(): found '.' for operand 0 for which an ellipsis was already found");
    REFUSED(tn_einsum("ij->..", TN_TENSORS(a)), TN_EINVAL,
            "einsum(): found '.' for output that is not part of any ellipsis (...)");
    REFUSED(tn_einsum("ij->......", TN_TENSORS(a)), TN_EINVAL,
            "einsum(): found '.' for output but an ellipsis (...) was already found");
    REFUSED(tn_einsum("ijk->i", TN_TENSORS(a)), TN_EINVAL,
            "einsum(): the number of subscripts in the equation (3) does not match the number of dimensions (2) for "
            "operand 0 and no ellipsis was given");
    REFUSED(
        tn_einsum("ijk...->i", TN_TENSORS(a)), TN_EINVAL,
        "einsum(): the number of subscripts in the equation (3) is more than the number of dimensions (2) for operand "
        "0");
    REFUSED(tn_einsum("ij->ii", TN_TENSORS(a)), TN_EINVAL,
            "einsum(): output subscript i appears more than once in the output");
    REFUSED(tn_einsum("ij->k", TN_TENSORS(a)), TN_EINVAL,
            "einsum(): output subscript k does not appear in the equation for any input operand");
    REFUSED(tn_einsum("ii", TN_TENSORS(a)), TN_EINVAL,
            "einsum(): subscript i is repeated for operand 0 but the sizes don't match, 3 != 2");
    REFUSED(tn_einsum("ij,jk", TN_TENSORS(a, a)), TN_EINVAL,
            "einsum(): subscript j has size 2 for operand 1 which does not broadcast with previously seen size 3");
}

/* Terms longer than any tensor has dimensions, and products of more than there may be. */
static void einsum_is_large(tn_tensor *a)
{
    char text[200];
    memset(text, 'i', sizeof text);
    memcpy(text + 100, "->", 3);
    REFUSED(tn_einsum(text, TN_TENSORS(a)), TN_EINVAL, "the number of subscripts in the equation (100) does not match");
    memset(text, 'i', 150);
    memcpy(text, "ij->", 4);
    text[150] = '\0';
    REFUSED(tn_einsum(text, TN_TENSORS(a)), TN_EINVAL, "output subscript i appears more than once in the output");
    REFUSED(tn_einsum("ab,cd,ef,gh,ij", TN_TENSORS(a, a, a, a, a)), TN_EINVAL,
            "einsum(): a product would have 10 dimensions, more than 8");
    HOLDS(tn_einsum("ab,cd,ef,gh,ij->", TN_TENSORS(a, a, a, a, a)), TN_SHAPE(), 21.0 * 21 * 21 * 21 * 21);
}

static void run_einsum(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *a = counted(TN_SHAPE(2, 3), 6), *b = counted(TN_SHAPE(3, 2), 6), *x = counted(TN_SHAPE(2, 2), 4);
    HOLDS(tn_einsum("ij,jk->ik", TN_TENSORS(a, b)), TN_SHAPE(2, 2), 22, 28, 49, 64);
    HOLDS(tn_einsum(" i j , j k ", TN_TENSORS(a, b)), TN_SHAPE(2, 2), 22, 28, 49, 64);
    HOLDS(tn_einsum("ij,ji", TN_TENSORS(a, b)), TN_SHAPE(), 86);
    HOLDS(tn_einsum("ii->i", TN_TENSORS(x)), TN_SHAPE(2), 1, 4);
    HOLDS(tn_einsum("...i->...", TN_TENSORS(a)), TN_SHAPE(2), 6, 15);
    HOLDS(tn_einsum("bA", TN_TENSORS(a)), TN_SHAPE(3, 2), 1, 4, 2, 5, 3, 6);
    HOLDS(tn_einsum("i...,i...->...", TN_TENSORS(a, a)), TN_SHAPE(3), 17, 29, 45);
    HOLDS(tn_einsum("ij,kj->ik", TN_TENSORS(a, tn_ones(TN_SHAPE(2, 1)))), TN_SHAPE(2, 2), 6, 6, 15, 15);
    einsum_refuses(a);
    einsum_is_large(a);
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"tensordot", run_tensordot},
    {"einsum", run_einsum},
    {NULL, NULL},
};

/* ---- gradients ---- */

F(tensordot, tn_tensordot(x, y, TN_DIMS(1), TN_DIMS(1)))
F(tensordot_ones, tn_tensordot(x, tn_sum(y, .dim = 0, .keepdim = true), TN_DIMS(0, 1), TN_DIMS(0, 1)))
F(einsum, tn_einsum("ij,kj->ik", TN_TENSORS(x, y)))
F(einsum_three, tn_einsum("ii,ij,...j->i...", TN_TENSORS(tn_narrow(x, 1, 0, 3), x, y)))

static const gradient_case gradients[] = {
    TWO(tensordot), TWO(tensordot_ones), TWO(einsum), TWO(einsum_three), {NULL, NULL, 0, {{0, {0}}}, false}};

/* ---- PyTorch's records ---- */

/* A number of dimensions: the last of one, the first of the other. */
static bool record_tensordot(record *r, results *out)
{
    tn_tensor *a = r->input.t, *b = record_arg(r, 0, "other").t;
    value dims = record_arg(r, 1, "dims");
    dims_buffer left, right;
    if (dims.kind == V_LIST)
        return give(out, tn_tensordot(a, b, dims_of(dims.item[0], &left), dims_of(dims.item[1], &right)));
    for (int32_t i = 0; i < dims.i; i++) {
        left.d[i] = tn_tensor_ndim(a) - dims.i + i;
        right.d[i] = i;
    }
    const int32_t n = (int32_t)dims.i;
    return give(out, tn_tensordot(a, b, tn_dims_of(left.d, n), tn_dims_of(right.d, n)));
}

static bool record_einsum(record *r, results *out)
{
    tn_tensor *t[8];
    return give(out, tn_einsum(record_arg(r, 0, "equation").text, tensors_of(&r->input, t)));
}

static const named_adapter adapters[] = {
    {"tensordot", record_tensordot},
    {"einsum", record_einsum},
    {NULL, NULL},
};

const family_tests product_tensordot_tests = {cases, gradients, adapters};
