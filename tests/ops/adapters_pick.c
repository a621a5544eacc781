/* Records of operations that pick by index or mask, and of some more. */
#include "ops/adapters.h"

static bool run_nonzero(record *r, results *out)
{
    (void)record_arg(r, -1, "as_tuple");
    return give(out, tn_nonzero(r->input.t));
}

static bool run_masked_select(record *r, results *out)
{
    return give(out, tn_masked_select(r->input.t, record_arg(r, 0, "mask").t));
}

static bool run_masked_scatter(record *r, results *out)
{
    return give(out, tn_masked_scatter(r->input.t, record_arg(r, 0, "mask").t, record_arg(r, 1, "source").t));
}

static bool run_index_put(record *r, results *out)
{
    tn_tensor *t[8];
    value indices = record_arg(r, 0, "indices");
    return give(out, tn_index_put(r->input.t, tensors_of(&indices, t), scalar_of(record_arg(r, 1, "values")),
                                  .accumulate = flag_of(record_arg(r, 2, "accumulate"))));
}

static bool run_index_copy(record *r, results *out)
{
    return give(out, tn_index_copy(r->input.t, int_of(record_arg(r, 0, "dim"), 0), record_arg(r, 1, "index").t,
                                   record_arg(r, 2, "source").t));
}

static bool run_take_along_dim(record *r, results *out)
{
    dims_buffer b;
    tn_dims dim = dims_of(record_arg(r, 1, "dim"), &b);
    return give(out, tn_take_along_dim(r->input.t, record_arg(r, 0, "indices").t, .dim = dim));
}

/* x.take(index): of the flattened tensor */
static bool run_take(record *r, results *out)
{
    return give(out, tn_index(tn_reshape(r->input.t, TN_SHAPE(-1)), TN_TENSORS(record_arg(r, 0, "index").t)));
}

/* x.put(index, source, accumulate): the same, written */
static bool run_put(record *r, results *out)
{
    tn_tensor *index = record_arg(r, 0, "index").t, *source = record_arg(r, 1, "source").t;
    tn_tensor *flat = tn_reshape(r->input.t, TN_SHAPE(-1));
    flat = tn_index_put(flat, TN_TENSORS(index), tn_scalar_t(tn_reshape(source, tn_tensor_shape(index))),
                        .accumulate = flag_of(record_arg(r, 2, "accumulate")));
    return give(out, tn_reshape(flat, tn_tensor_shape(r->input.t)));
}

static bool run_bitwise_not(record *r, results *out)
{
    return give(out, tn_bitwise_not(r->input.t));
}

const named_adapter adapters_pick[] = {
    {"nonzero", run_nonzero},
    {"argwhere", run_nonzero},
    {"masked_select", run_masked_select},
    {"masked_scatter", run_masked_scatter},
    {"index_put", run_index_put},
    {"index_copy", run_index_copy},
    {"take_along_dim", run_take_along_dim},
    {"take", run_take},
    {"put", run_put},
    {"bitwise_not", run_bitwise_not},
    {NULL, NULL},
};
