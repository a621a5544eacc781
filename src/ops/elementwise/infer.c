/* Dtype rule and broadcast of elementwise rows. */
#include "op/infer.h"
#include <stdio.h>

typedef enum result_kind { SAME, FLOATING, TRUTH, AT_LEAST_LONG, FIRST } result_kind;

/* What each rule accepts as the operands' common dtype, and makes of it. */
static const struct {
    uint32_t dtypes;
    result_kind result;
} rules[] = {
    [R_SAME] = {TN__DT_ALL, SAME},
    [R_NUMBER] = {TN__DT_NUMBER | TN__DT_BARE, SAME},
    [R_NEG] = {TN__DT_NUMBER, SAME},
    [R_RELU] = {TN__DT_NUMBER | TN__DT_BARE, SAME},
    [R_LONG] = {TN__DT_ALL, AT_LEAST_LONG},
    [R_FLOAT] = {TN__DT_ALL | TN__DT_BARE, FLOATING},
    [R_FLOATING] = {TN__DT_FLOAT, SAME},
    [R_TEST] = {TN__DT_ALL | TN__DT_BARE, TRUTH},
    [R_PROMOTE] = {TN__DT_ALL | TN__DT_BARE, SAME},
    [R_SUB] = {TN__DT_NUMBER, SAME},
    [R_DIVIDE] = {TN__DT_NUMBER, SAME},
    [R_POW] = {TN__DT_NUMBER, SAME},
    [R_CLAMP] = {TN__DT_NUMBER | TN__DT_BARE, SAME},
    [R_BITS] = {TN__DT_INT | TN__DT_BARE | TN__DT_BOOL, SAME},
    [R_INTEGER] = {TN__DT_INT, SAME},
    [R_WHERE] = {TN__DT_ALL | TN__DT_BARE, SAME},
    [R_FILL] = {TN__DT_ALL, FIRST},
};

bool tn__elementwise_takes(tn__op_id op, tn_dtype d)
{
    const tn__op *row = &tn__ops[op];
    return rules[row->rule].dtypes & TN__BIT(d) && !(tn__dtype_is_bare(d) && row->flags & F_NOT_BARE);
}

static bool is_bool(const tn_scalar *s)
{
    return s->kind == TN_SCALAR_TENSOR ? s->v.t->dtype == TN_BOOL : s->kind == TN_SCALAR_BOOL;
}

/* The mask of where, which PyTorch still takes in uint8, and of masked_fill. format: of its dtype as PyTorch names it there. */
static tn_status check_mask(const tn__call *c, int32_t i, const char *format)
{
    const tn_tensor *t = tn__operand(&c->in[i]);
    bool fill = tn__ops[c->op].rule == R_FILL;
    if (t ? t->dtype == TN_BOOL || (t->dtype == TN_U8 && !fill) : c->in[i].kind == TN_SCALAR_BOOL)
        return TN_OK;
    return tn__error(TN_EDTYPE, format,
                     !t     ? "a number"
                     : fill ? tn__dtypes[t->dtype].scalar
                            : tn__dtypes[t->dtype].legacy);
}

/* What one rule asks beyond dtypes, with PyTorch's texts. */
static tn_status check_rule(const tn__call *c, tn_dtype common)
{
    switch (tn__ops[c->op].rule) {
    case R_NEG:
        if (common == TN_BOOL)
            return tn__error(TN_EDTYPE, "Negation, the `-` operator, on a bool tensor is not supported. If you are "
                                        "trying to invert a mask, use the `~` or `logical_not()` operator instead.");
        return TN_OK;
    case R_SUB:
        if (is_bool(&c->in[0]) && is_bool(&c->in[1]))
            return tn__error(TN_EDTYPE, "Subtraction, the `-` operator, with two bool tensors is not supported. Use "
                                        "the `^` or `logical_xor()` operator instead.");
        if (is_bool(&c->in[0]) || is_bool(&c->in[1]))
            return tn__error(TN_EDTYPE,
                             "Subtraction, the `-` operator, with a bool tensor is not supported. If you "
                             "are trying to invert a mask, use the `~` or `logical_not()` operator instead.");
        return TN_OK;
    case R_RELU: return common == TN_BOOL ? tn__error(TN_EDTYPE, "Boolean inputs not supported for relu") : TN_OK;
    case R_POW:
        if (!tn__dtype_is_float(common) && c->in[1].kind == TN_SCALAR_INT && c->in[1].v.i < 0)
            return tn__error(TN_EVALUE, "Integers to negative integer powers are not allowed.");
        return TN_OK;
    case R_WHERE:
        return check_mask(c, 0, "where expected condition to be a boolean tensor, but got a tensor with dtype %s");
    case R_FILL: {
        const tn_tensor *value = tn__operand(&c->in[2]);
        if (!tn__operand(&c->in[0]))
            return tn__error(TN_ETYPE, "masked_fill: the first operand must be a tensor");
        if (value && value->ndim > 0)
            return tn__error(TN_EINVAL,
                             "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with %d "
                             "dimension(s).",
                             (int)value->ndim);
        return check_mask(c, 1, "masked_fill_ only supports boolean masks, but got mask with dtype %s");
    }
    default: return TN_OK;
    }
}

tn_scalar tn__operand_value(const tn_tensor *t)
{
    const void *p = tn__tensor_data(t);
    if (tn__dtype_is_float(t->dtype))
        return tn_scalar_f(tn__load_double(t->dtype, p));
    int64_t i = tn__load_int(t->dtype, p);
    return t->dtype == TN_BOOL ? tn_scalar_b(i != 0) : tn_scalar_i(i);
}

/* ---- numbers ---- */

/* < 0: below what integers of dtype d can be; > 0: above. */
static int beyond(const tn_scalar *s, tn_dtype d, int64_t *limit)
{
    const uint64_t most = tn__dtypes[d].digits < 64 ? (UINT64_C(1) << tn__dtypes[d].digits) - 1 : UINT64_MAX;
    const int64_t least = tn__dtypes[d].is_signed ? -(int64_t)most - 1 : 0;
    const bool above = s->kind == TN_SCALAR_UINT ? s->v.u > most : s->v.i > 0 && (uint64_t)s->v.i > most;
    *limit = above ? (int64_t)most : least;
    return above ? 1 : s->kind != TN_SCALAR_UINT && s->v.i < least ? -1 : 0;
}

tn_scalar tn__number_as(tn_scalar number, tn_dtype d)
{
    int64_t limit;
    if (!tn__dtype_is_float(d))
        return beyond(&number, d, &limit) ? tn_scalar_i(limit) : number;
    uint64_t bits = 0;
    tn__store_scalar(d, &bits, &number);
    return tn_scalar_f(tn__load_double(d, &bits));
}

/* PyTorch rounds a number among 16-bit floats to one of them first, but no factor, no divisor and no weight. */
static bool rounds(const tn__call *c, tn_dtype common)
{
    if ((common != TN_F16 && common != TN_BF16) || c->op == TN__OP_mul || c->op == TN__OP_div ||
        c->op == TN__OP__lerp || c->op == TN__OP__round_decimals)
        return false;
    bool divides = c->op == TN__OP_div_floor || c->op == TN__OP_div_trunc || c->op == TN__OP_floor_divide;
    for (int32_t i = 0; i < (divides ? 1 : c->n_in); i++)
        if (!tn__operand(&c->in[i]))
            return true;
    return false;
}

/* A bound that no element of the dtype reaches bounds nothing; one that no element keeps is refused. */
static tn_status check_bound(tn__call *c, int32_t i, bool upper, tn_dtype common)
{
    const tn_scalar *s = &c->in[i];
    const tn_tensor *x = c->inplace ? tn__operand(&c->in[0]) : NULL;
    int64_t limit;
    if (s->kind == TN_SCALAR_TENSOR)
        return TN_OK;
    if (x && !tn__can_cast(common, x->dtype)) /* in place PyTorch says so before it reads the number */
        return tn__error(TN_EDTYPE, "result type %s can't be cast to the desired output type %s",
                         tn__dtypes[common].legacy, tn__dtypes[x->dtype].scalar);
    if (tn__dtype_is_float(common))
        return tn__number_check(s, common);
    if (common == TN_BOOL)
        return c->op == TN__OP__clamp
                   ? TN_OK
                   : tn__no_dtype_on(c->device, upper ? "clamp_max_scalar_*" : "clamp_min_scalar_*", NULL, common);
    const int side = beyond(s, common, &limit);
    if (side == (upper ? -1 : 1))
        return tn__error(TN_EINVAL, "Clamp %s value %g is outside the representable range of %s", upper ? "max" : "min",
                         tn__scalar_double(s), tn__dtypes[common].legacy);
    c->adjusts |= side != 0;
    return TN_OK;
}

/* Numbers that PyTorch converts to the operands' dtype with a check; elsewhere they wrap around. */
static tn_status check_numbers(tn__call *c, tn_dtype common)
{
    const int rule = tn__ops[c->op].rule;
    if (c->op == TN__OP_clamp_min || c->op == TN__OP_clamp_max)
        return check_bound(c, 1, c->op == TN__OP_clamp_max, common);
    if (rule == R_CLAMP) {
        tn_status e = check_bound(c, 1, false, common);
        return e ? e : check_bound(c, 2, true, common);
    }
    bool whole = !tn__dtype_is_float(common);
    bool narrow = common == TN_F16 || common == TN_BF16;
    if (!(rule == R_FILL || (rule == R_WHERE && (whole || common == TN_F32)) || (rule == R_POW && (whole || narrow))))
        return TN_OK;
    for (int32_t i = 1; i < c->n_in; i++) {
        const tn_tensor *t = rule == R_FILL ? tn__operand(&c->in[i]) : NULL;
        const bool read = t && i == 2 && t->dtype != common && t->device.type == TN_DEVICE_CPU;
        const tn_scalar s = read ? tn__operand_value(t) : c->in[i];
        tn_status e = tn__number_check(&s, common);
        if (e)
            return e;
    }
    return TN_OK;
}

/* Integers are compared with numbers as these are: a number that the operands' dtype cannot hold takes a wider loop. */
static tn_dtype compare_in(const tn__call *c, tn_dtype common, tn_dtype compute)
{
    for (int32_t i = 0; i < c->n_in && compute == TN_I32; i++) {
        bool negative = c->in[i].kind == TN_SCALAR_INT && c->in[i].v.i < 0;
        if (!tn__number_fits(&c->in[i], common) || (negative && common == TN_U8))
            compute = TN_I64;
    }
    return compute;
}

/* Operands whose dtypes count: not conditions, not what is converted to the first one's. */
static tn_dtype common_dtype(const tn__call *c)
{
    int rule = tn__ops[c->op].rule;
    int32_t from = rule == R_WHERE ? 1 : 0, to = rule == R_FILL ? 1 : c->n_in;
    const tn_tensor *a = tn__operand(&c->in[from]), *b = to - from == 2 ? tn__operand(&c->in[from + 1]) : NULL;
    if (a && b && a->dtype == b->dtype)
        return a->dtype;
    tn__promotion p = {0};
    for (int32_t i = from; i < to; i++)
        tn__promotion_add(&p, &c->in[i]);
    return tn__promotion_result(&p);
}

static tn_dtype result_dtype(result_kind kind, tn_dtype common, tn_dtype *compute)
{
    if (kind == FLOATING && !tn__dtype_is_float(common))
        common = tn__default_dtype();
    if (kind == AT_LEAST_LONG && common == TN_BOOL)
        common = TN_I64;
    *compute = tn__dtypes[common].compute;
    return kind == TRUTH ? TN_BOOL : common;
}

static tn_status mismatch(const tn__spec *s, int32_t d, int64_t have)
{
    return tn__error(TN_EINVAL,
                     "The size of tensor a (%lld) must match the size of tensor b (%lld) at non-singleton dimension %d",
                     (long long)s->shape[d], (long long)have, (int)d);
}

static tn_status broadcast(tn__spec *s, const tn_tensor *t)
{
    if (t->ndim > s->ndim) {
        int32_t lead = t->ndim - s->ndim;
        memmove(s->shape + lead, s->shape, sizeof(int64_t) * (size_t)s->ndim);
        for (int32_t d = 0; d < lead; d++)
            s->shape[d] = 1;
        s->ndim = t->ndim;
    }
    int32_t lead = s->ndim - t->ndim;
    for (int32_t d = s->ndim - 1; d >= lead; d--) {
        int64_t n = t->shape[d - lead];
        if (n == s->shape[d] || n == 1)
            continue;
        if (s->shape[d] != 1)
            return mismatch(s, d, n);
        s->shape[d] = n;
    }
    return TN_OK;
}

tn_status tn__infer_broadcast(tn__spec *s, const tn_tensor *t)
{
    return broadcast(s, t);
}

tn_scalar tn__number_wrapped(tn_scalar number, tn_dtype d)
{
    uint64_t bits = 0;
    tn__store_scalar(d, &bits, &number);
    return tn_scalar_i(tn__load_int(d, &bits));
}

static uint8_t variant_of(const tn__call *c)
{
    if (c->n_in < 2)
        return 0;
    bool first = tn__operand(&c->in[0]) != NULL, last = tn__operand(&c->in[c->n_in - 1]) != NULL;
    return first ? (last ? 1 : 0) : 2;
}

static bool is_rounding(int32_t op)
{
    return op == TN__OP_floor || op == TN__OP_ceil || op == TN__OP_trunc || op == TN__OP_round;
}

/* Kernels of bits, divisions and bounds have PyTorch's names of theirs. */
static TN_COLD tn_status no_such_dtype(const tn__call *c)
{
    const tn_dtype common = c->common;
    const tn__op *op = &tn__ops[c->op];
    const char *name = op->name + (op->name[0] == '_');
    char kernel[64];
    const bool bits = op->rule == R_BITS || op->rule == R_INTEGER;
    if (tn__dtype_is_bare(common)) {
        const bool sum = op->rule == R_SUB || c->op == TN__OP_add || c->op == TN__OP__add_product;
        if (sum || op->rule == R_POW || op->rule == R_LONG)
            return tn__no_dtype(sum ? "add_stub" : "pow", common);
    } else if (is_rounding(c->op)) {
        snprintf(kernel, sizeof kernel, "%s_vml_*", name);
        return tn__no_dtype_on(c->device, kernel, NULL, common);
    } else if (c->op != TN__OP_abs && !bits && op->rule != R_DIVIDE && op->rule != R_CLAMP && op->rule != R_FLOATING)
        return tn__no_dtype(name, common);
    if (op->rule == R_FILL)
        return tn__no_dtype(name, common);
    if (c->op == TN__OP_bitwise_left_shift || c->op == TN__OP_bitwise_right_shift)
        name = c->op == TN__OP_bitwise_left_shift ? "lshift" : "rshift";
    else if (c->op == TN__OP_floor_divide)
        name = "div_floor";
    else if (c->op == TN__OP__clamp && !tn__operand(&c->in[1]) && !tn__operand(&c->in[2]))
        name = "clamp_scalar";
    snprintf(kernel, sizeof kernel, "%s_*", name);
    return tn__no_dtype_on(c->device, kernel, NULL, common);
}

static bool is_whole(const tn_scalar *s, int64_t least, int64_t most)
{
    return (s->kind == TN_SCALAR_INT || s->kind == TN_SCALAR_BOOL) && s->v.i >= least && s->v.i <= most;
}

/* Powers that PyTorch has of uint16 and its like, too, for they need no kernel there: to 0, to 1, and of 1. */
static bool is_plain_power(const tn__call *c)
{
    return tn__ops[c->op].rule == R_POW && tn__dtype_is_bare(c->common) &&
           (is_whole(&c->in[1], 0, 1) || is_whole(&c->in[0], 1, 1));
}

tn_status tn__check_elementwise_dtype(const tn__call *c)
{
    return tn__elementwise_takes(c->op, c->common) || is_plain_power(c) ? TN_OK : no_such_dtype(c);
}

tn_status tn__infer_elementwise(tn__call *c)
{
    const tn__op *op = &tn__ops[c->op];
    tn__spec *s = &c->spec[0];
    tn_dtype common = common_dtype(c);
    if (!common)
        return tn_error_code();
    tn_status e = check_rule(c, common);
    if (e)
        return e;
    if (c->n_in > 1 && (e = check_numbers(c, common)))
        return e;
    c->common = common;
    c->adjusts |= rounds(c, common);
    s->dtype = result_dtype(rules[op->rule].result, common, &c->compute);
    if (op->rule == R_TEST && tn__dtype_is_bare(common))
        c->adjusts = true; /* a number is what it is in the operands' dtype: -1 equals the largest */
    else if (op->rule == R_TEST)
        c->compute = compare_in(c, common, c->compute);
    if (TN_UNLIKELY(common == TN_BOOL) && op->flags & F_BOOL_IN_DOUBLE)
        c->compute = TN_F64; /* any fraction is true */
    s->ndim = 0;
    s->strided = false;
    for (int32_t i = 0; i < c->n_in; i++) {
        const tn_tensor *t = tn__operand(&c->in[i]);
        if (t && (e = broadcast(s, t)))
            return e;
    }
    c->n_out = 1;
    c->variant = variant_of(c);
    if (!c->inplace)
        tn__layout_of_operands(c, s);
    return TN_OK;
}
