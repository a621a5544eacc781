/* Records of functions that compose.c of a family composes: PyTorch's values and gradients. */
#include "ops/adapters.h"

#define SCALAR(name)            scalar_of(record_arg(r, -1, name))
#define AT(i, name)             scalar_of(record_arg(r, i, name))
#define TENSOR(i, name)         record_arg(r, i, name).t
#define DIM(i, name, otherwise) int_of(record_arg(r, i, name), otherwise)
#define ADAPTER(name, expression) \
    static bool run_##name(record *r, results *out) \
    { \
        tn_tensor *x = r->input.t; \
        return give(out, expression); \
    }

ADAPTER(threshold, tn_threshold(x, AT(0, "threshold"), AT(1, "value")))
ADAPTER(relu6, tn_hardtanh(x, .min_val = TN_SCALAR(0), .max_val = TN_SCALAR(6)))
ADAPTER(hardsigmoid, tn_hardsigmoid(x))
ADAPTER(hardswish, tn_hardswish(x))
ADAPTER(prelu, tn_prelu(x, TENSOR(0, "weight")))
ADAPTER(celu, tn_celu(x, .alpha = SCALAR("alpha")))
ADAPTER(selu, tn_selu(x))
ADAPTER(mish, tn_mish(x))
ADAPTER(logsigmoid, tn_logsigmoid(x))
ADAPTER(softsign, tn_softsign(x))
ADAPTER(tanhshrink, tn_tanhshrink(x))
ADAPTER(hardshrink, tn_hardshrink(x, .lambd = AT(0, "lambd")))
ADAPTER(softshrink, tn_softshrink(x, .lambd = AT(0, "lambd")))
ADAPTER(glu, tn_glu(x, DIM(0, "dim", -1)))
ADAPTER(softmin, tn_softmax(tn_neg(x), DIM(0, "dim", -1) DTYPE))
ADAPTER(pairwise_distance, tn_pairwise_distance(x, TENSOR(0, "x2"), .p = AT(1, "p"), .eps = AT(2, "eps"),
                                                .keepdim = flag_of(record_arg(r, 3, "keepdim"))))
ADAPTER(cosine_similarity, tn_cosine_similarity(x, TENSOR(0, "x2"), DIM(1, "dim", 1), .eps = AT(2, "eps")))

static bool run_normalize(record *r, results *out)
{
    dims_buffer b;
    value dim = record_arg(r, 1, "dim");
    return give(out, tn_normalize(r->input.t, dim.kind == V_ABSENT ? TN_DIMS(1) : dims_of(dim, &b), .p = AT(0, "p"),
                                  .eps = AT(2, "eps")));
}

static bool run_layer_norm(record *r, results *out)
{
    dims_buffer b;
    return give(out, tn_layer_norm(r->input.t, dims_of(record_arg(r, 0, "normalized_shape"), &b),
                                   .weight = TENSOR(1, "weight"), .bias = TENSOR(2, "bias"), .eps = AT(3, "eps")));
}

static tn_tensor *or_none(value v)
{
    return v.kind == V_TENSOR ? v.t : TN_NONE;
}

static bool run_batch_norm(record *r, results *out)
{
    return give(out, tn_batch_norm(r->input.t, or_none(record_arg(r, 0, "running_mean")),
                                   or_none(record_arg(r, 1, "running_var")), .weight = TENSOR(2, "weight"),
                                   .bias = TENSOR(3, "bias"), .training = flag_of(record_arg(r, 4, "training")),
                                   .momentum = AT(5, "momentum"), .eps = AT(6, "eps")));
}

static bool run_rot90(record *r, results *out)
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

#define REDUCED .dim = dims_of(record_arg(r, 0, "dim"), &b), .keepdim = flag_of(record_arg(r, 1, "keepdim")) DTYPE

static bool run_nansum(record *r, results *out)
{
    dims_buffer b;
    return give(out, tn_nansum(r->input.t, REDUCED));
}

static bool run_nanmean(record *r, results *out)
{
    dims_buffer b;
    return give(out, tn_nanmean(r->input.t, REDUCED));
}

static bool run_count_nonzero(record *r, results *out)
{
    dims_buffer b;
    return give(out, tn_count_nonzero(r->input.t, .dim = dims_of(record_arg(r, 0, "dim"), &b)));
}

ADAPTER(deg2rad, tn_deg2rad(x))
ADAPTER(rad2deg, tn_rad2deg(x))
ADAPTER(frac, tn_frac(x))
ADAPTER(nan_to_num, tn_nan_to_num(x, .nan = AT(0, "nan"), .posinf = AT(1, "posinf"), .neginf = AT(2, "neginf")))
ADAPTER(dist, tn_dist(x, TENSOR(0, "other"), .p = AT(1, "p")))
ADAPTER(cdist, tn_cdist(x, TENSOR(0, "x2"), .p = AT(1, "p")))
ADAPTER(bucketize, tn_bucketize(x, TENSOR(0, "boundaries"), .out_int32 = flag_of(record_arg(r, -1, "out_int32")),
                                .right = flag_of(record_arg(r, -1, "right"))))
ADAPTER(searchsorted,
        tn_searchsorted(x, scalar_of(record_arg(r, 0, "input")), .out_int32 = flag_of(record_arg(r, -1, "out_int32")),
                        .right = flag_of(record_arg(r, -1, "right")), .sorter = TENSOR(-1, "sorter")))

const named_adapter adapters_composed[] = {
    {"nn.functional.threshold", run_threshold},
    {"nn.functional.relu6", run_relu6},
    {"nn.functional.hardsigmoid", run_hardsigmoid},
    {"nn.functional.hardswish", run_hardswish},
    {"nn.functional.prelu", run_prelu},
    {"nn.functional.celu", run_celu},
    {"nn.functional.selu", run_selu},
    {"nn.functional.mish", run_mish},
    {"nn.functional.logsigmoid", run_logsigmoid},
    {"nn.functional.softsign", run_softsign},
    {"nn.functional.tanhshrink", run_tanhshrink},
    {"nn.functional.hardshrink", run_hardshrink},
    {"nn.functional.softshrink", run_softshrink},
    {"nn.functional.glu", run_glu},
    {"nn.functional.softmin", run_softmin},
    {"nn.functional.pairwise_distance", run_pairwise_distance},
    {"nn.functional.cosine_similarity", run_cosine_similarity},
    {"nn.functional.normalize", run_normalize},
    {"nn.functional.layer_norm", run_layer_norm},
    {"nn.functional.batch_norm", run_batch_norm},
    {"rot90", run_rot90},
    {"diag_embed", run_diag_embed},
    {"diag", run_diag},
    {"diagflat", run_diagflat},
    {"trace", run_trace},
    {"fliplr", run_fliplr},
    {"flipud", run_flipud},
    {"diff", run_diff},
    {"nansum", run_nansum},
    {"nanmean", run_nanmean},
    {"count_nonzero", run_count_nonzero},
    {"deg2rad", run_deg2rad},
    {"rad2deg", run_rad2deg},
    {"frac", run_frac},
    {"nan_to_num", run_nan_to_num},
    {"dist", run_dist},
    {"cdist", run_cdist},
    {"bucketize", run_bucketize},
    {"searchsorted", run_searchsorted},
    {NULL, NULL},
};
