/* Records of functions that are composed of operations, and of sorting. */
#include "ops/adapters.h"

#define SCALAR(name) scalar_of(record_arg(r, -1, name))
#define ADAPTER(name, expression) \
    static bool run_##name(record *r, results *out) \
    { \
        tn_tensor *x = r->input.t; \
        return give(out, expression); \
    }
#define OTHER(i, name) record_arg(r, i, name).t

ADAPTER(addcmul, tn_addcmul(x, OTHER(0, "tensor1"), OTHER(1, "tensor2"), .value = SCALAR("value")))
ADAPTER(addcdiv, tn_addcdiv(x, OTHER(0, "tensor1"), OTHER(1, "tensor2"), .value = SCALAR("value")))
ADAPTER(lerp, tn_lerp(x, OTHER(0, "end"), scalar_of(record_arg(r, 1, "weight"))))
ADAPTER(baddbmm,
        tn_baddbmm(x, OTHER(0, "batch1"), OTHER(1, "batch2"), .beta = SCALAR("beta"), .alpha = SCALAR("alpha")))
ADAPTER(silu, tn_silu(x))
ADAPTER(softplus, tn_softplus(x, .beta = SCALAR("beta"), .threshold = SCALAR("threshold")))
ADAPTER(leaky_relu, tn_leaky_relu(x, .negative_slope = SCALAR("negative_slope")))
ADAPTER(elu, tn_elu(x, .alpha = SCALAR("alpha")))
ADAPTER(hardtanh, tn_hardtanh(x, .min_val = SCALAR("min_val"), .max_val = SCALAR("max_val")))
ADAPTER(huber_loss, tn_huber_loss(x, OTHER(0, "target"), .reduction = reduction_of(r), .delta = SCALAR("delta")))
ADAPTER(smooth_l1_loss, tn_smooth_l1_loss(x, OTHER(0, "target"), .reduction = reduction_of(r), .beta = SCALAR("beta")))
ADAPTER(binary_cross_entropy,
        tn_binary_cross_entropy(x, OTHER(0, "target"), .weight = OTHER(1, "weight"), .reduction = reduction_of(r)))
ADAPTER(argsort,
        tn_argsort(x, int_of(record_arg(r, 0, "dim"), -1), .descending = flag_of(record_arg(r, 1, "descending"))))
ADAPTER(msort, tn_sort(x, 0))
ADAPTER(cumprod, tn_cumprod(x, int_of(record_arg(r, 0, "dim"), 0) DTYPE))

static bool run_gelu(record *r, results *out)
{
    value how = record_arg(r, -1, "approximate");
    return give(out, tn_gelu(r->input.t, .tanh = how.kind == V_TEXT && !strcmp(how.text, "tanh")));
}

/* 'batchmean': the sum divided by the first size */
static bool run_kl_div(record *r, results *out)
{
    value how = record_arg(r, -1, "reduction");
    const bool batch = how.kind == V_TEXT && !strcmp(how.text, "batchmean");
    tn_tensor *loss =
        tn_kl_div(r->input.t, record_arg(r, 0, "target").t, .log_target = flag_of(record_arg(r, -1, "log_target")),
                  .reduction = batch ? TN_SUM : reduction_of(r));
    return give(out, batch && tn_tensor_ndim(r->input.t) ? tn_div(loss, tn_tensor_size(r->input.t, 0)) : loss);
}

#define LISTED(name) \
    static bool run_##name(record *r, results *out) \
    { \
        dims_buffer b; \
        return give(out, tn_##name(r->input.t, dims_of(record_arg(r, 0, "dims"), &b))); \
    }
LISTED(repeat)
LISTED(tile)

static bool run_roll(record *r, results *out)
{
    dims_buffer b, c;
    tn_dims shifts = dims_of(record_arg(r, 0, "shifts"), &b), dim = dims_of(record_arg(r, 1, "dims"), &c);
    return give(out, tn_roll(r->input.t, shifts, .dim = dim));
}

static bool run_repeat_interleave(record *r, results *out)
{
    dims_buffer b;
    tn_dims dim = dims_of(record_arg(r, 1, "dim"), &b);
    return give(out, tn_repeat_interleave(r->input.t, scalar_of(record_arg(r, 0, "repeats")), .dim = dim));
}

static bool run_movedim(record *r, results *out)
{
    dims_buffer b, c;
    tn_dims from = dims_of(record_arg(r, 0, "source"), &b), to = dims_of(record_arg(r, 1, "destination"), &c);
    return give(out, tn_movedim(r->input.t, from, to));
}

static bool run_unflatten(record *r, results *out)
{
    dims_buffer b;
    return give(out,
                tn_unflatten(r->input.t, int_of(record_arg(r, 0, "dim"), 0), dims_of(record_arg(r, 1, "sizes"), &b)));
}

static bool run_norm(record *r, results *out)
{
    dims_buffer b;
    value p = record_arg(r, 0, "p"), order = record_arg(r, 0, "ord");
    tn_dims dim = dims_of(record_arg(r, 1, "dim"), &b);
    return give(out, tn_norm(r->input.t, .p = scalar_of(p.kind ? p : order), .dim = dim,
                             .keepdim = flag_of(record_arg(r, 2, "keepdim")) DTYPE));
}

static bool run_nuclear_norm(record *r, results *out)
{
    dims_buffer b;
    tn_dims dim = dims_of(record_arg(r, 1, "dim"), &b);
    return give(out, tn_nuclear_norm(r->input.t, .dim = dim, .keepdim = flag_of(record_arg(r, 2, "keepdim")) DTYPE));
}

static bool run_sort(record *r, results *out)
{
    out->t[0] = tn_sort(r->input.t, int_of(record_arg(r, 0, "dim"), -1),
                        .descending = flag_of(record_arg(r, 1, "descending")), .indices = &out->t[1]);
    out->n = 2;
    return true;
}

static bool run_topk(record *r, results *out)
{
    value largest = record_arg(r, 2, "largest");
    const int64_t dim = int_of(record_arg(r, 1, "dim"), -1);
    out->t[0] = tn_topk(r->input.t, int_of(record_arg(r, 0, "k"), 1), dim,
                        .smallest = largest.kind == V_BOOL && !largest.i, .indices = &out->t[1]);
    out->n = 2;
    /* which of equals is named is not said: PyTorch's will do, where they name the same values */
    if (r->out.n == 2 && tn_equal(tn_gather(r->input.t, dim, r->out.item[1].t), out->t[0]))
        out->t[1] = r->out.item[1].t;
    return true;
}

const named_adapter adapters_more[] = {
    {"addcmul", run_addcmul},
    {"addcdiv", run_addcdiv},
    {"lerp", run_lerp},
    {"baddbmm", run_baddbmm},
    {"nn.functional.gelu", run_gelu},
    {"nn.functional.silu", run_silu},
    {"nn.functional.softplus", run_softplus},
    {"nn.functional.leaky_relu", run_leaky_relu},
    {"nn.functional.elu", run_elu},
    {"nn.functional.hardtanh", run_hardtanh},
    {"nn.functional.huber_loss", run_huber_loss},
    {"nn.functional.smooth_l1_loss", run_smooth_l1_loss},
    {"nn.functional.binary_cross_entropy", run_binary_cross_entropy},
    {"nn.functional.kl_div", run_kl_div},
    {"argsort", run_argsort},
    {"sort", run_sort},
    {"msort", run_msort},
    {"topk", run_topk},
    {"cumprod", run_cumprod},
    {"repeat", run_repeat},
    {"tile", run_tile},
    {"roll", run_roll},
    {"repeat_interleave", run_repeat_interleave},
    {"movedim", run_movedim},
    {"unflatten", run_unflatten},
    {"norm", run_norm},
    {"norm.inf", run_norm},
    {"norm.nuc", run_nuclear_norm},
    {"linalg.vector_norm", run_norm},
    {NULL, NULL},
};
