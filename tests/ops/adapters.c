/* Calls of the public API by a record's name and arguments. Elementwise rows are called straight from the list: a new row is
 * tested as soon as records of its name exist. */
#include "ops/adapters.h"

/* ---- arguments ---- */

value record_arg(record *r, int i, const char *name)
{
    if (i >= 0 && i < r->n_args)
        return r->arg[i];
    for (int k = 0; k < r->n_kw; k++)
        if (!strcmp(r->kw[k].name, name)) {
            r->used |= 1U << k;
            return r->kw[k].v;
        }
    return (value){.kind = V_ABSENT};
}

/* ---- reductions ---- */

#define REDUCTION(name, ...) \
    static bool run_##name(record *r, results *out) \
    { \
        dims_buffer b; \
        tn_dims dim = dims_of(record_arg(r, 0, "dim"), &b); \
        bool keepdim = flag_of(record_arg(r, 1, "keepdim")); \
        return give(out, tn_##name(r->input.t, .dim = dim, .keepdim = keepdim __VA_ARGS__)); \
    }
REDUCTION(sum, DTYPE)
REDUCTION(mean, DTYPE)
REDUCTION(prod, DTYPE)
REDUCTION(amax, )
REDUCTION(amin, )
REDUCTION(any, )
REDUCTION(all, )
REDUCTION(argmax, )
REDUCTION(argmin, )
REDUCTION(logsumexp, )

/* torch.var: correction None is 1; unbiased False is 0 */
static tn_scalar correction_of(record *r)
{
    value c = record_arg(r, -1, "correction"), u = record_arg(r, -1, "unbiased");
    if (u.kind == V_BOOL)
        return tn_scalar_i(u.i);
    return scalar_of(c);
}
REDUCTION(var, , .correction = correction_of(r))
REDUCTION(std, , .correction = correction_of(r))

#define EXTREME(name) \
    static bool run_##name##_all(record *r, results *out) \
    { \
        return give(out, tn_##name(r->input.t)); \
    } \
    static bool run_##name##_dim(record *r, results *out) \
    { \
        tn_tensor *indices = NULL; \
        int64_t dim = int_of(record_arg(r, 0, "dim"), 0); \
        bool keepdim = flag_of(record_arg(r, 1, "keepdim")); \
        out->t[0] = tn_##name(r->input.t, .dim = TN_DIMS(dim), .keepdim = keepdim, .indices = &indices); \
        out->t[1] = indices; \
        out->n = 2; \
        return true; \
    }
EXTREME(max)
EXTREME(min)

#define ALONG(name) \
    static bool run_##name(record *r, results *out) \
    { \
        return give(out, tn_##name(r->input.t, int_of(record_arg(r, 0, "dim"), 0) DTYPE)); \
    }
ALONG(cumsum)
ALONG(softmax)
ALONG(log_softmax)

/* ---- joining, indexing ---- */

static bool run_cat(record *r, results *out)
{
    tn_tensor *t[32];
    return give(out, tn_cat(tensors_of(&r->input, t), int_of(record_arg(r, 0, "dim"), 0)));
}

static bool run_stack(record *r, results *out)
{
    tn_tensor *t[32];
    return give(out, tn_stack(tensors_of(&r->input, t), int_of(record_arg(r, 0, "dim"), 0)));
}

static bool run_gather(record *r, results *out)
{
    return give(out, tn_gather(r->input.t, int_of(record_arg(r, 0, "dim"), 0), record_arg(r, 1, "index").t));
}

static bool run_scatter(record *r, results *out)
{
    int64_t dim = int_of(record_arg(r, 0, "dim"), 0);
    return give(out, tn_scatter(r->input.t, dim, record_arg(r, 1, "index").t, scalar_of(record_arg(r, 2, "src"))));
}

static bool run_scatter_add(record *r, results *out)
{
    int64_t dim = int_of(record_arg(r, 0, "dim"), 0);
    return give(out, tn_scatter_add(r->input.t, dim, record_arg(r, 1, "index").t, record_arg(r, 2, "src").t));
}

static bool run_index_select(record *r, results *out)
{
    return give(out, tn_index_select(r->input.t, int_of(record_arg(r, 0, "dim"), 0), record_arg(r, 1, "index").t));
}

static bool run_index_add(record *r, results *out)
{
    value alpha = record_arg(r, -1, "alpha");
    tn_tensor *src = record_arg(r, 2, "source").t;
    if (alpha.kind != V_ABSENT)
        src = tn_to(tn_mul(src, scalar_of(alpha)), .dtype = tn_tensor_dtype(src));
    return give(out, tn_index_add(r->input.t, int_of(record_arg(r, 0, "dim"), 0), record_arg(r, 1, "index").t, src));
}

/* F.embedding(indices, weight): in these records the weight is the input */
static bool run_embedding(record *r, results *out)
{
    return give(out, tn_embedding(r->input.t, record_arg(r, 0, "weight").t,
                                  .padding_idx = scalar_of(record_arg(r, 1, "padding_idx")),
                                  .max_norm = record_arg(r, -1, "max_norm").f,
                                  .norm_type = record_arg(r, -1, "norm_type").f));
}

static bool run_one_hot(record *r, results *out)
{
    return give(out, tn_one_hot(r->input.t, int_of(record_arg(r, 0, "num_classes"), -1)));
}

/* ---- products ---- */

static bool run_addmm(record *r, results *out)
{
    return give(out,
                tn_addmm(r->input.t, record_arg(r, 0, "mat1").t, record_arg(r, 1, "mat2").t,
                         .beta = scalar_of(record_arg(r, -1, "beta")), .alpha = scalar_of(record_arg(r, -1, "alpha"))));
}

static bool run_linear(record *r, results *out)
{
    value bias = record_arg(r, 1, "bias");
    return give(out, tn_linear(r->input.t, record_arg(r, 0, "weight").t, bias.kind == V_TENSOR ? bias.t : TN_NONE));
}

#define TWO_TENSORS(name) \
    static bool run_##name(record *r, results *out) \
    { \
        return give(out, tn_##name(r->input.t, record_arg(r, 0, "other").t)); \
    }
TWO_TENSORS(mm)
TWO_TENSORS(bmm)
TWO_TENSORS(mv)
TWO_TENSORS(dot)
TWO_TENSORS(outer)
TWO_TENSORS(matmul)
TWO_TENSORS(view_as)
TWO_TENSORS(expand_as)

/* ---- losses ---- */

static bool run_nll_loss(record *r, results *out)
{
    return give(out, tn_nll_loss(r->input.t, record_arg(r, 0, "target").t, .weight = record_arg(r, 1, "weight").t,
                                 .ignore_index = scalar_of(record_arg(r, -1, "ignore_index")),
                                 .reduction = reduction_of(r)));
}

static bool run_cross_entropy(record *r, results *out)
{
    value smooth = record_arg(r, -1, "label_smoothing");
    return give(out, tn_cross_entropy(r->input.t, record_arg(r, 0, "target").t, .weight = record_arg(r, 1, "weight").t,
                                      .ignore_index = scalar_of(record_arg(r, -1, "ignore_index")),
                                      .reduction = reduction_of(r), .label_smoothing = smooth.f));
}

static bool run_mse_loss(record *r, results *out)
{
    return give(out, tn_mse_loss(r->input.t, record_arg(r, 0, "target").t, .reduction = reduction_of(r)));
}

static bool run_l1_loss(record *r, results *out)
{
    return give(out, tn_l1_loss(r->input.t, record_arg(r, 0, "target").t, .reduction = reduction_of(r)));
}

static bool run_bce(record *r, results *out)
{
    return give(out, tn_binary_cross_entropy_with_logits(
                         r->input.t, record_arg(r, 0, "target").t, .weight = record_arg(r, -1, "weight").t,
                         .pos_weight = record_arg(r, -1, "pos_weight").t, .reduction = reduction_of(r)));
}

/* ---- shapes ---- */

/* A shape given as one list or as several integers. */
static tn_dims shape_args(record *r, dims_buffer *b, const char *name)
{
    value v = record_arg(r, 0, name);
    if (v.kind != V_INT)
        return dims_of(v, b);
    for (int i = 0; i < r->n_args; i++)
        b->d[i] = r->arg[i].i;
    return (tn_dims){r->n_args, b->d};
}

#define SHAPED(name, function, keyword) \
    static bool run_##name(record *r, results *out) \
    { \
        dims_buffer b; \
        return give(out, function(r->input.t, shape_args(r, &b, keyword))); \
    }
SHAPED(view, tn_view, "size")
SHAPED(reshape, tn_reshape, "shape")
SHAPED(expand, tn_expand, "size")
SHAPED(permute, tn_permute, "dims")
SHAPED(flip, tn_flip, "dims")
SHAPED(sum_to_size, tn_sum_to_size, "size")

static bool run_reshape_as(record *r, results *out)
{
    return give(out, tn_reshape(r->input.t, tn_tensor_shape(record_arg(r, 0, "other").t)));
}

static bool run_transpose(record *r, results *out)
{
    return give(out,
                tn_transpose(r->input.t, int_of(record_arg(r, 0, "dim0"), 0), int_of(record_arg(r, 1, "dim1"), 0)));
}

static bool run_t(record *r, results *out)
{
    return give(out, tn_t(r->input.t));
}

/* x.T: dimensions reversed */
static bool run_T(record *r, results *out)
{
    dims_buffer b;
    int32_t n = tn_tensor_ndim(r->input.t);
    for (int32_t d = 0; d < n; d++)
        b.d[d] = n - 1 - d;
    return give(out, tn_permute(r->input.t, ((tn_dims){n, b.d})));
}

static bool run_squeeze(record *r, results *out)
{
    dims_buffer b;
    tn_dims dim = dims_of(record_arg(r, 0, "dim"), &b);
    return give(out, tn_squeeze(r->input.t, .dim = dim));
}

static bool run_unsqueeze(record *r, results *out)
{
    return give(out, tn_unsqueeze(r->input.t, int_of(record_arg(r, 0, "dim"), 0)));
}

static bool run_select(record *r, results *out)
{
    return give(out, tn_select(r->input.t, int_of(record_arg(r, 0, "dim"), 0), int_of(record_arg(r, 1, "index"), 0)));
}

static bool run_narrow(record *r, results *out)
{
    return give(out, tn_narrow(r->input.t, int_of(record_arg(r, 0, "dim"), 0), int_of(record_arg(r, 1, "start"), 0),
                               int_of(record_arg(r, 2, "length"), 0)));
}

static bool run_slice(record *r, results *out)
{
    return give(out, tn_slice(r->input.t, int_of(record_arg(r, 0, "dim"), 0), int_of(record_arg(r, 1, "start"), 0),
                              int_of(record_arg(r, 2, "end"), INT64_MAX), int_of(record_arg(r, 3, "step"), 1)));
}

static bool run_diagonal(record *r, results *out)
{
    return give(out, tn_diagonal(r->input.t, int_of(record_arg(r, 0, "offset"), 0), int_of(record_arg(r, 1, "dim1"), 0),
                                 int_of(record_arg(r, 2, "dim2"), 1)));
}

static bool run_flatten(record *r, results *out)
{
    return give(
        out, tn_flatten(r->input.t, int_of(record_arg(r, 0, "start_dim"), 0), int_of(record_arg(r, 1, "end_dim"), -1)));
}

static bool run_as_strided(record *r, results *out)
{
    dims_buffer size, stride;
    tn_dims s = dims_of(record_arg(r, 0, "size"), &size), t = dims_of(record_arg(r, 1, "stride"), &stride);
    return give(out, tn_as_strided(r->input.t, s, t, int_of(record_arg(r, 2, "storage_offset"), 0)));
}

static bool run_chunk(record *r, results *out)
{
    out->n = (int)tn_chunk(r->input.t, int_of(record_arg(r, 0, "chunks"), 1), int_of(record_arg(r, 1, "dim"), 0),
                           out->t, 40);
    return true;
}

static bool run_split(record *r, results *out)
{
    dims_buffer b;
    value size = record_arg(r, 0, "split_size_or_sections");
    int64_t dim = int_of(record_arg(r, 1, "dim"), 0);
    if (size.kind == V_LIST)
        out->n = (int)tn_split_sizes(r->input.t, dims_of(size, &b), dim, out->t, 40);
    else
        out->n = (int)tn_split(r->input.t, int_of(size, 1), dim, out->t, 40);
    return true;
}

static bool run_unbind(record *r, results *out)
{
    out->n = (int)tn_unbind(r->input.t, int_of(record_arg(r, 0, "dim"), 0), out->t, 40);
    return true;
}

/* ---- copies, factories ---- */

static bool run_clone(record *r, results *out)
{
    return give(out, tn_clone(r->input.t));
}

static bool run_contiguous(record *r, results *out)
{
    return give(out, tn_contiguous(r->input.t));
}

static bool run_fill(record *r, results *out)
{
    return give(out, tn_fill(r->input.t, scalar_of(record_arg(r, 0, "value"))));
}

static bool run_zero_(record *r, results *out)
{
    return give(out, tn_zero_(tn_clone(r->input.t)));
}

#define CAST(name, to) \
    static bool run_##name(record *r, results *out) \
    { \
        return give(out, tn_to(r->input.t, .dtype = to)); \
    }
CAST(bool, TN_BOOL)
CAST(byte, TN_U8)
CAST(char, TN_I8)
CAST(short, TN_I16)
CAST(int, TN_I32)
CAST(long, TN_I64)
CAST(half, TN_F16)
CAST(bfloat16, TN_BF16)
CAST(float, TN_F32)
CAST(double, TN_F64)

#define TRIANGLE(name) \
    static bool run_##name(record *r, results *out) \
    { \
        return give(out, tn_##name(r->input.t, int_of(record_arg(r, 0, "diagonal"), 0))); \
    }
TRIANGLE(tril)
TRIANGLE(triu)

#define LIKE(name) \
    static bool run_##name##_like(record *r, results *out) \
    { \
        return give(out, tn_##name##_like(r->input.t DTYPE)); \
    } \
    static bool run_##name(record *r, results *out) \
    { \
        dims_buffer b; \
        tn_options o = options_of(r); \
        return give(out, tn_##name##_opt(dims_of(r->input, &b), &o)); \
    }
LIKE(zeros)
LIKE(ones)

static bool run_full(record *r, results *out)
{
    dims_buffer b;
    tn_options o = options_of(r);
    return give(out, tn_full_opt(dims_of(r->input, &b), scalar_of(record_arg(r, 0, "fill_value")), &o));
}

static bool run_full_like(record *r, results *out)
{
    return give(out, tn_full_like(r->input.t, scalar_of(record_arg(r, 0, "fill_value")) DTYPE));
}

static bool run_arange(record *r, results *out)
{
    tn_options o = options_of(r);
    value end = record_arg(r, 0, "end"), step = record_arg(r, 1, "step");
    tn_scalar start = scalar_of(r->input);
    return give(out, tn_arange_opt(start, scalar_of(end), step.kind ? scalar_of(step) : tn_scalar_i(1), &o));
}

static bool run_linspace(record *r, results *out)
{
    tn_options o = options_of(r);
    return give(out, tn_linspace_opt(scalar_of(r->input), scalar_of(record_arg(r, 0, "end")),
                                     int_of(record_arg(r, 1, "steps"), 0), &o));
}

static bool run_eye(record *r, results *out)
{
    tn_options o = options_of(r);
    return give(out, tn_eye_opt(int_of(r->input, 0), int_of(record_arg(r, 0, "m"), -1), &o));
}

/* ---- whole tensors ---- */

static bool run_isclose(record *r, results *out)
{
    return give(out, tn_isclose(r->input.t, record_arg(r, 0, "other").t, .rtol = scalar_of(record_arg(r, 1, "rtol")),
                                .atol = scalar_of(record_arg(r, 2, "atol")),
                                .equal_nan = flag_of(record_arg(r, 3, "equal_nan"))));
}

static bool run_allclose(record *r, results *out)
{
    return give_truth(out,
                      tn_allclose(r->input.t, record_arg(r, 0, "other").t, .rtol = scalar_of(record_arg(r, 1, "rtol")),
                                  .atol = scalar_of(record_arg(r, 2, "atol"))));
}

static bool run_equal(record *r, results *out)
{
    return give_truth(out, tn_equal(r->input.t, record_arg(r, 0, "other").t));
}

static bool run_item(record *r, results *out)
{
    out->scalar = (value){.kind = V_FLOAT, .f = tn_item(r->input.t)};
    return true;
}

/* ---- elementwise with another calling order ---- */

static bool run_clamp(record *r, results *out)
{
    return give(out, tn_clamp(r->input.t, scalar_of(record_arg(r, 0, "min")), scalar_of(record_arg(r, 1, "max"))));
}

/* torch.where(condition, input, other): records put 'input' first */
static bool run_where(record *r, results *out)
{
    return give(out, tn_where(record_arg(r, 0, "condition").t, r->input.t, scalar_of(record_arg(r, 1, "other"))));
}

static bool run_rsub(record *r, results *out)
{
    return give(out, tn_sub(scalar_of(record_arg(r, 0, "other")), r->input.t));
}

static bool run_div(record *r, results *out)
{
    value mode = record_arg(r, -1, "rounding_mode");
    tn_scalar b = scalar_of(record_arg(r, 0, "other"));
    if (mode.kind != V_TEXT)
        return give(out, tn_div(r->input.t, b));
    return give(out, !strcmp(mode.text, "floor") ? tn_div_floor(r->input.t, b) : tn_div_trunc(r->input.t, b));
}

static bool run_floor_divide(record *r, results *out)
{
    return give(out, tn_floor_divide(r->input.t, scalar_of(record_arg(r, 0, "other"))));
}

/* ---- rows of the list by name ---- */

typedef tn_tensor *(*unary_fn)(tn_tensor *);
typedef tn_tensor *(*binary_fn)(const char *, tn_scalar, tn_scalar);
typedef tn_tensor *(*ternary_fn)(const char *, tn_scalar, tn_scalar, tn_scalar);

#include "op/ops_private.h"
static const struct {
    const char *name;
    unary_fn one;
    binary_fn two;
    ternary_fn three;
} rows[] = {
#define UNARY(name, ...)   {#name, (tn_##name), NULL, NULL},
#define BINARY(name, ...)  {#name, NULL, tn_##name##_at, NULL},
#define TERNARY(name, ...) {#name, NULL, NULL, tn_##name##_at},
#include "op/elementwise.def"
};

static const named_adapter adapters[] = {
    {"sum", run_sum},
    {"mean", run_mean},
    {"prod", run_prod},
    {"amax", run_amax},
    {"amin", run_amin},
    {"any", run_any},
    {"all", run_all},
    {"argmax", run_argmax},
    {"argmin", run_argmin},
    {"logsumexp", run_logsumexp},
    {"var", run_var},
    {"std", run_std},
    {"max.reduction_no_dim", run_max_all},
    {"max.reduction_with_dim", run_max_dim},
    {"min.reduction_no_dim", run_min_all},
    {"min.reduction_with_dim", run_min_dim},
    {"cumsum", run_cumsum},
    {"softmax", run_softmax},
    {"log_softmax", run_log_softmax},
    {"softmax.with_dtype", run_softmax},
    {"log_softmax.with_dtype", run_log_softmax},
    {"cat", run_cat},
    {"stack", run_stack},
    {"gather", run_gather},
    {"scatter", run_scatter},
    {"scatter_add", run_scatter_add},
    {"index_select", run_index_select},
    {"index_add", run_index_add},
    {"nn.functional.embedding", run_embedding},
    {"nn.functional.one_hot", run_one_hot},
    {"mm", run_mm},
    {"bmm", run_bmm},
    {"mv", run_mv},
    {"dot", run_dot},
    {"outer", run_outer},
    {"ger", run_outer},
    {"matmul", run_matmul},
    {"__rmatmul__", NULL},
    {"addmm", run_addmm},
    {"nn.functional.linear", run_linear},
    {"nn.functional.nll_loss", run_nll_loss},
    {"nn.functional.cross_entropy", run_cross_entropy},
    {"nn.functional.mse_loss", run_mse_loss},
    {"nn.functional.l1_loss", run_l1_loss},
    {"nn.functional.binary_cross_entropy_with_logits", run_bce},
    {"view", run_view},
    {"reshape", run_reshape},
    {"view_as", run_view_as},
    {"reshape_as", run_reshape_as},
    {"expand", run_expand},
    {"expand_as", run_expand_as},
    {"broadcast_to", run_expand},
    {"permute", run_permute},
    {"flip", run_flip},
    {"sum_to_size", run_sum_to_size},
    {"transpose", run_transpose},
    {"t", run_t},
    {"T", run_T},
    {"squeeze", run_squeeze},
    {"squeeze.multiple", run_squeeze},
    {"unsqueeze", run_unsqueeze},
    {"select", run_select},
    {"narrow", run_narrow},
    {"slice", run_slice},
    {"diagonal", run_diagonal},
    {"flatten", run_flatten},
    {"as_strided", run_as_strided},
    {"chunk", run_chunk},
    {"split", run_split},
    {"split.list_args", run_split},
    {"split_with_sizes", run_split},
    {"unbind", run_unbind},
    {"clone", run_clone},
    {"contiguous", run_contiguous},
    {"fill", run_fill},
    {"zero_", run_zero_},
    {"bool", run_bool},
    {"byte", run_byte},
    {"char", run_char},
    {"short", run_short},
    {"int", run_int},
    {"long", run_long},
    {"half", run_half},
    {"bfloat16", run_bfloat16},
    {"float", run_float},
    {"double", run_double},
    {"tril", run_tril},
    {"triu", run_triu},
    {"zeros", run_zeros},
    {"ones", run_ones},
    {"zeros_like", run_zeros_like},
    {"ones_like", run_ones_like},
    {"full", run_full},
    {"full_like", run_full_like},
    {"arange", run_arange},
    {"linspace", run_linspace},
    {"eye", run_eye},
    {"isclose", run_isclose},
    {"allclose", run_allclose},
    {"equal", run_equal},
    {"item", run_item},
    {"clamp", run_clamp},
    {"where", run_where},
    {"rsub", run_rsub},
    {"__rsub__", run_rsub},
    {"div.floor_rounding", run_div},
    {"div.trunc_rounding", run_div},
    {"div.no_rounding_mode", run_div},
    {"floor_divide", run_floor_divide},
    {"true_divide", run_div},
    {NULL, NULL},
};

/* "nn.functional.relu" and "special.erf" are rows' names with a prefix. */
static const char *bare(const char *op)
{
    static const char *const prefixes[] = {"nn.functional.", "special."};
    for (size_t i = 0; i < TN_COUNT(prefixes); i++)
        if (!strncmp(op, prefixes[i], strlen(prefixes[i])))
            return op + strlen(prefixes[i]);
    return op;
}

static int find_row(const char *op)
{
    for (size_t i = 0; i < TN_COUNT(rows); i++)
        if (!strcmp(rows[i].name, bare(op)))
            return (int)i;
    return -1;
}

static adapter find_adapter(const char *op)
{
    static const named_adapter *const files[] = {adapters, adapters_pick, adapters_more, adapters_composed};
    for (size_t f = 0; f < TN_COUNT(files); f++)
        for (const named_adapter *a = files[f]; a->name; a++)
            if (!strcmp(a->name, op))
                return a->run;
    return NULL;
}

bool record_is_row(const char *op)
{
    return find_row(op) >= 0;
}

bool record_known(const char *op)
{
    return find_adapter(op) || find_row(op) >= 0;
}

bool record_run(record *r, results *out)
{
    adapter a = find_adapter(r->op);
    if (a)
        return a(r, out);
    int i = find_row(r->op);
    if (i < 0)
        return false;
    if (rows[i].one)
        return give(out, rows[i].one(r->input.t));
    tn_scalar first = scalar_of(r->input), second = scalar_of(record_arg(r, 0, "other"));
    if (rows[i].two)
        return give(out, rows[i].two(TN_HERE, first, second));
    return give(out, rows[i].three(TN_HERE, first, second, scalar_of(record_arg(r, 1, "value"))));
}
