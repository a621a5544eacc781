/* bitwise_not, and what operations on bits refuse; their values are test_walk's. */
#include "ops/structural.h"
#include <string.h>

static void bitwise_not_each(kit_array *x)
{
    if (kit_is_float(x->dtype)) {
        REFUSED(tn_bitwise_not(x->t), TN_EDTYPE,
                kit_on_cpu() ? "\"bitwise_not_cpu\" not implemented for '"
                             : "\"bitwise_not_cuda\" not implemented for '");
        return;
    }
    for (int inplace = 0; inplace < 2; inplace++) {
        expected e;
        expected_init(&e, x->dtype, x->ndim, x->shape);
        for (int64_t i = 0; i < x->numel; i++) /* two's complement: -1 - v */
            e.v[i] = x->dtype == TN_BOOL ? x->v[i] == 0 : x->dtype == TN_U8 ? 255 - x->v[i] : -1 - x->v[i];
        tn_tensor *got = inplace ? tn_bitwise_not_(x->t) : tn_bitwise_not(x->t);
        if (inplace && x->layout == KIT_EXPANDED && x->numel > 1)
            refused(got, TN_EINVAL, "refers to a single memory location", "bitwise_not_");
        else
            check(&e, got, "bitwise_not%s of %s %s %s", inplace ? "_" : "", tn_dtype_name(x->dtype),
                  kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout]);
        expected_free(&e);
    }
}

static void run_bitwise_not(void)
{
    each_array(bitwise_not_each, true);
    tn_scope *s = tn_scope_open();
    const char *where = kit_on_cpu() ? "cpu" : "cuda";
    tn_tensor *x = tn_ones(TN_SHAPE(2)), *b = tn_eq(x, x), *i = tn_full(TN_SHAPE(2), 3);
    static const struct {
        const char *kernel, *dtype;
    } refusals[] = {
        {"bitwise_and", "Float"}, {"bitwise_or", "Float"}, {"bitwise_xor", "Float"},
        {"lshift", "Bool"},       {"rshift", "Float"},
    };
    for (size_t k = 0; k < TN_COUNT(refusals); k++) {
        char text[80];
        snprintf(text, sizeof text, "\"%s_%s\" not implemented for '%s'", refusals[k].kernel, where, refusals[k].dtype);
        tn_tensor *got = k == 0   ? tn_bitwise_and(x, x)
                         : k == 1 ? tn_bitwise_or(i, x)
                         : k == 2 ? tn_bitwise_xor(i, 1.5)
                         : k == 3 ? tn_bitwise_left_shift(b, b)
                                  : tn_bitwise_right_shift(x, i);
        refused(got, TN_EDTYPE, text, refusals[k].kernel);
    }
    REFUSED(tn_bitwise_and_(b, i), TN_EDTYPE, "result type Long can't be cast to the desired output type Bool");
    /* PyTorch's values, of int64 3 and uint8 200 */
    tn_tensor *u = tn_full(TN_SHAPE(2), 200, .dtype = TN_U8);
    TRUTH(tn_equal(tn_bitwise_left_shift(i, 64), tn_full(TN_SHAPE(2), 0)));
    TRUTH(tn_equal(tn_bitwise_left_shift(i, 62), tn_full(TN_SHAPE(2), -((int64_t)1 << 62))));
    TRUTH(tn_equal(tn_bitwise_right_shift(tn_neg(i), -1), tn_full(TN_SHAPE(2), -1)));
    TRUTH(tn_equal(tn_bitwise_right_shift(u, 9), tn_full(TN_SHAPE(2), 0, .dtype = TN_U8)));
    TRUTH(tn_equal(tn_bitwise_and(u, 300), tn_full(TN_SHAPE(2), 8, .dtype = TN_U8)));
    TRUTH(tn_equal(tn_bitwise_left_shift(b, 1), tn_full(TN_SHAPE(2), 2)));
    tn_scope_close(s);
}

const structural_case cases_bits[] = {
    {"bitwise_not", run_bitwise_not},
    {"bitwise_not_", run_bitwise_not},
    {NULL, NULL},
};
