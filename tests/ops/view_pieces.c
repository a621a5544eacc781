/* Views of a part: select, slice, narrow, and the pieces of a tensor (tests/ops/view.h). */
#include "ops/view.h"
#include <string.h>

/* ---- parts ---- */

static void by_part(const int64_t *at, int64_t *from, const mapping *m)
{
    for (int32_t d = 0, k = 0; d < m->n; d++)
        from[d] = d == m->a ? m->b + (m->e ? 0 : at[k++] * m->c) : at[k++];
}

static void select_each(kit_array *x)
{
    for (int32_t d = 0; d < x->ndim; d++)
        for (int64_t i = -x->shape[d]; i < x->shape[d]; i++) {
            int64_t shape[TN_MAX_DIMS];
            const mapping m = {.map = by_part, .n = x->ndim, .a = d, .b = i < 0 ? i + x->shape[d] : i, .e = 1};
            int32_t n = without_dim(x, d, false, shape);
            shows(tn_select(x->t, d, i), x, n, shape, &m, true, "select");
        }
}

static void run_select(void)
{
    each_array(select_each, false);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3));
    REFUSED(tn_select(x, 0, 2), TN_EINDEX, "select(): index 2 out of range for tensor of size [2, 3] at dimension 0");
    REFUSED(tn_select(x, 0, -3), TN_EINDEX, "select(): index -3 out of range for tensor of size [2, 3] at dimension 0");
    REFUSED(tn_select(tn_ones(TN_SHAPE()), 0, 0), TN_EINDEX, "select() cannot be applied to a 0-dim tensor.");
    tn_scope_close(s);
}

/* Python's slice with a positive step. */
static int64_t slice_length(int64_t n, int64_t *start, int64_t end, int64_t step)
{
    *start = *start < 0 ? *start + n : *start;
    end = end < 0 ? end + n : end;
    *start = *start < 0 ? 0 : *start > n ? n : *start;
    end = end > n ? n : end;
    int64_t count = 0;
    for (int64_t i = *start; i < end; i += step)
        count++;
    return count;
}

static void one_slice(kit_array *x, int32_t d, int64_t start, int64_t end, int64_t step)
{
    int64_t shape[TN_MAX_DIMS], first = start, n = slice_length(x->shape[d], &first, end, step);
    const mapping m = {.map = by_part, .n = x->ndim, .a = d, .b = first, .c = step};
    memcpy(shape, x->shape, sizeof shape);
    shape[d] = n;
    shows(tn_slice(x->t, d, start, end, step), x, x->ndim, shape, &m, true, "slice");
}

static void slice_each(kit_array *x)
{
    for (int32_t d = 0; d < x->ndim; d++) {
        for (int k = 0; k < 8; k++)
            one_slice(x, d, kit_below(14) - 7, kit_below(14) - 7, 1 + kit_below(4));
        one_slice(x, d, 0, INT64_MAX, 1);
        one_slice(x, d, INT64_MIN / 2, INT64_MAX, 2);
    }
}

static void run_slice(void)
{
    each_array(slice_each, false);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3));
    REFUSED(tn_slice(x, 0, 0, 2, 0), TN_EINVAL, "slice step must be positive");
    REFUSED(tn_slice(x, 0, 0, 2, -1), TN_EINVAL, "slice step must be positive");
    REFUSED(tn_slice(tn_ones(TN_SHAPE()), 0, 0, 1, 1), TN_EINDEX, "slice() cannot be applied to a 0-dim tensor.");
    tn_scope_close(s);
}

static void narrow_each(kit_array *x)
{
    for (int32_t d = 0; d < x->ndim; d++)
        for (int k = 0; k < 4; k++) {
            int64_t n = x->shape[d], start = kit_below(n + 1), length = kit_below(n - start + 1), shape[TN_MAX_DIMS];
            const mapping m = {.map = by_part, .n = x->ndim, .a = d, .b = start, .c = 1};
            memcpy(shape, x->shape, sizeof shape);
            shape[d] = length;
            shows(tn_narrow(x->t, d, start < n && k & 1 ? start - n : start, length), x, x->ndim, shape, &m, true,
                  "narrow");
        }
}

static void run_narrow(void)
{
    each_array(narrow_each, false);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3));
    REFUSED(tn_narrow(x, 1, 2, 2), TN_EINVAL, "start (2) + length (2) exceeds dimension size (3).");
    REFUSED(tn_narrow(x, 1, 4, 0), TN_EINDEX, "start out of range (expected to be in range of [-3, 3], but got 4)");
    REFUSED(tn_narrow(x, 1, 0, -1), TN_EINVAL, "narrow(): length must be non-negative.");
    REFUSED(tn_narrow(tn_ones(TN_SHAPE()), 0, 0, 1), TN_EINVAL, "narrow() cannot be applied to a 0-dim tensor.");
    tn_scope_close(s);
}

/* ---- pieces ---- */

static void pieces_are(kit_array *x, int32_t d, tn_tensor *const *got, int64_t n, const int64_t *length,
                       const char *name)
{
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t shape[TN_MAX_DIMS];
        const mapping m = {.map = by_part, .n = x->ndim, .a = d, .b = at, .c = 1};
        memcpy(shape, x->shape, sizeof shape);
        shape[d] = length[i];
        shows(got[i], x, x->ndim, shape, &m, true, name);
        at += length[i];
    }
}

static void same_count(int64_t got, int64_t want, const char *name)
{
    kit.cases++;
    if (got != want)
        kit_fail("%s gives %lld pieces, not %lld; %s", name, (long long)got, (long long)want, tn_error_message());
    tn_error_clear();
}

/* Pieces of at most 'each'. */
static int64_t lengths_of(int64_t n, int64_t each, int64_t *length)
{
    int64_t count = 0;
    do {
        length[count++] = n < each ? n : each;
        n -= n < each ? n : each;
    } while (n > 0);
    return count;
}

static void split_each(kit_array *x)
{
    for (int32_t d = 0; d < x->ndim; d++)
        for (int64_t each = 1; each < 5; each++) {
            tn_tensor *out[16];
            int64_t length[16], n = lengths_of(x->shape[d], each, length);
            same_count(tn_split(x->t, each, d, NULL, 0), n, "split (counting)");
            int64_t got = tn_split(x->t, each, d, out, 16);
            same_count(got, n, "split");
            if (got == n)
                pieces_are(x, d, out, n, length, "split");
        }
}

static void split_sizes_each(kit_array *x)
{
    for (int32_t d = 0; d < x->ndim; d++) {
        tn_tensor *out[3];
        int64_t a = kit_below(x->shape[d] + 1), b = kit_below(x->shape[d] - a + 1),
                length[3] = {a, b, x->shape[d] - a - b};
        int64_t got = tn_split_sizes(x->t, TN_INTS(length[0], length[1], length[2]), d, out, 3);
        same_count(got, 3, "split_sizes");
        if (got == 3)
            pieces_are(x, d, out, 3, length, "split_sizes");
    }
}

static void chunk_each(kit_array *x)
{
    for (int32_t d = 0; d < x->ndim; d++)
        for (int64_t chunks = 1; chunks < 6; chunks++) {
            tn_tensor *out[16];
            int64_t length[16] = {0}, n = x->shape[d], each = (n + chunks - 1) / chunks, want = chunks;
            if (n) /* else that many empty ones */
                want = lengths_of(n, each, length);
            int64_t got = tn_chunk(x->t, chunks, d, out, 16);
            same_count(got, want, "chunk");
            if (got == want)
                pieces_are(x, d, out, want, length, "chunk");
        }
}

static void unbind_each(kit_array *x)
{
    for (int32_t d = 0; d < x->ndim; d++) {
        tn_tensor *out[16];
        int64_t got = tn_unbind(x->t, d, out, 16);
        same_count(got, x->shape[d], "unbind");
        for (int64_t i = 0; i < x->shape[d] && got == x->shape[d]; i++) {
            int64_t shape[TN_MAX_DIMS];
            const mapping m = {.map = by_part, .n = x->ndim, .a = d, .b = i, .e = 1};
            int32_t n = without_dim(x, d, false, shape);
            shows(out[i], x, n, shape, &m, true, "unbind");
        }
    }
}

static void no_pieces_for(int64_t got, tn_status code, const char *text, const char *what)
{
    refused(got ? "" : NULL, code, text, what);
}

static void no_pieces(int64_t got, const char *text, const char *what)
{
    no_pieces_for(got, TN_EINVAL, text, what);
}

static void run_split(void)
{
    tn_tensor *out[2];
    each_array(split_each, false);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(5));
    no_pieces(tn_split(x, -1, 0, out, 2), "split expects split_size be non-negative, but got split_size=-1", "split");
    no_pieces(tn_split(x, 0, 0, out, 2), "split_size can only be 0 if dimension size is 0, but got dimension size of ",
              "split");
    no_pieces(tn_split(x, 1, 0, out, 2), "there are 5 pieces, but room for 2", "split");
    no_pieces(tn_split(tn_ones(TN_SHAPE()), 1, 0, out, 2), "split expects at least a 1-dimensional tensor", "split");
    tn_scope_close(s);
}

static void run_split_sizes(void)
{
    tn_tensor *out[2];
    each_array(split_sizes_each, false);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(5));
    no_pieces(tn_split_sizes(x, TN_INTS(2, 2), 0, out, 2),
              "split_with_sizes expects split_sizes to sum exactly to 5 (input tensor's size at dimension 0), but got "
              "split_sizes=[2, 2]",
              "split");
    no_pieces(tn_split_sizes(x, TN_INTS(6, -1), 0, out, 2),
              "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=[6, -1]",
              "split");
    tn_scope_close(s);
}

static void run_chunk(void)
{
    tn_tensor *out[2];
    each_array(chunk_each, false);
    tn_scope *s = tn_scope_open();
    no_pieces(tn_chunk(tn_ones(TN_SHAPE(5)), 0, 0, out, 2), "chunk expects `chunks` to be greater than 0, got: 0",
              "chunk");
    no_pieces(tn_chunk(tn_ones(TN_SHAPE()), 1, 0, out, 2), "chunk expects at least a 1-dimensional tensor", "chunk");
    tn_scope_close(s);
}

static bool is_cut(int64_t n, tn_tensor **out, int64_t want, const int64_t *sizes)
{
    bool same = n == want;
    double next = 0; /* pieces of 0 1 2 ... are in order, unless they overlap */
    for (int64_t i = 0; same && i < n; i++) {
        same = tn_tensor_numel(out[i]) == sizes[i];
        if (same && sizes[i])
            same = tn_item(tn_select(out[i], 0, 0)) == next;
        next += (double)sizes[i];
    }
    return same;
}
#define CUT(call, ...) \
    TRUTH(is_cut((call), out, sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t), (const int64_t[]){__VA_ARGS__}))

/* Sizes are PyTorch's. */
static void run_tensor_split(void)
{
    tn_tensor *out[4];
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_arange(0, 7, 1), *at = tn_cpu(tn_tensor_from(TN_LIST(1, 9, 4, 9))),
              *two = tn_cpu(tn_full(TN_SHAPE(), 2));
    CUT(tn_tensor_split(x, 3, 0, out, 4), 3, 2, 2);
    CUT(tn_tensor_split(tn_slice(x, 0, 0, 2, 1), 4, -1, out, 4), 1, 1, 0, 0);
    CUT(tn_tensor_split_indices(x, TN_INTS(1, -2, 9), 0, out, 4), 1, 4, 2, 0);
    CUT(tn_tensor_split_indices(x, ((tn_ints){NULL, 0}), 0, out, 4), 7);
    CUT(tn_tensor_split_by(x, tn_slice(at, 0, 0, 4, 2), 0, out, 4), 1, 3, 3);
    CUT(tn_tensor_split_by(x, two, 0, out, 4), 4, 3);
    TRUTH(tn_tensor_split_indices(x, TN_INTS(4, 1), 0, out, 4) == 3 && tn_tensor_numel(out[1]) == 0);
    HOLDS(out[2], TN_SHAPE(6), 1, 2, 3, 4, 5, 6);
    TRUTH(tn_tensor_split(x, 3, 0, NULL, 0) == 3);
    no_pieces(tn_tensor_split(x, 0, 0, out, 4), "number of sections must be larger than 0, got 0", "tensor_split");
    no_pieces(tn_tensor_split(x, 5, 0, out, 4), "there are 5 pieces, but room for 4", "tensor_split");
    no_pieces_for(tn_tensor_split(x, 2, 1, out, 4), TN_EINDEX, "Dimension out of range", "tensor_split");
    no_pieces(tn_tensor_split(two, 2, 0, out, 4), "expected at least a 1-dimensional tensor, but got a tensor with 0",
              "tensor_split");
    no_pieces_for(tn_tensor_split_by(x, tn_ones(TN_SHAPE(1), .device = TN_CPU), 0, out, 4), TN_EDTYPE,
                  "have dtype of long, but got Float", "tensor_split_by");
    no_pieces(tn_tensor_split_by(x, tn_reshape(at, TN_SHAPE(2, 2)), 0, out, 4),
              "be a zero-dimensional or one-dimensional tensor, but got a tensor with 2 dims", "tensor_split_by");
    no_pieces_for(tn_tensor_split_by(x, tn_to(two, .device = tn_device_parse("meta")), 0, out, 4), TN_EDEVICE,
                  "be on cpu, but it's on meta", "tensor_split_by");
    tn_scope_close(s);
}

static void run_unbind(void)
{
    tn_tensor *out[2];
    each_array(unbind_each, false);
    tn_scope *s = tn_scope_open();
    no_pieces(tn_unbind(tn_ones(TN_SHAPE(5)), 0, out, 2), "there are 5 pieces, but room for 2", "unbind");
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"select", run_select},
    {"slice", run_slice},
    {"narrow", run_narrow},
    {"split", run_split},
    {"split_sizes", run_split_sizes},
    {"chunk", run_chunk},
    {"unbind", run_unbind},
    {"tensor_split", run_tensor_split},
    {"tensor_split_indices", run_tensor_split},
    {"tensor_split_by", run_tensor_split},
    {NULL, NULL},
};

/* ---- gradients ---- */

F(select, tn_select(x, 1, -1))
F(slice, tn_slice(x, 1, 1, 4, 2))
F(narrow, tn_narrow(x, 1, 1, 2))

static tn_tensor *pieces(int64_t n, tn_tensor **out)
{
    tn_tensor *sum = NULL;
    for (int64_t i = 0; i < n; i++)
        sum = sum ? tn_add(sum, tn_mul(tn_sum(tn_square(out[i])), (double)(i + 1))) : tn_sum(tn_square(out[i]));
    return sum;
}

static tn_tensor *f_split(tn_tensor **in)
{
    tn_tensor *out[3];
    return pieces(tn_split(in[0], 3, 1, out, 3), out);
}

static tn_tensor *f_split_sizes(tn_tensor **in)
{
    tn_tensor *out[3];
    return pieces(tn_split_sizes(in[0], TN_INTS(1, 0, 3), 1, out, 3), out);
}

static tn_tensor *f_chunk(tn_tensor **in)
{
    tn_tensor *out[3];
    return pieces(tn_chunk(in[0], 2, 0, out, 3), out);
}

static tn_tensor *f_unbind(tn_tensor **in)
{
    tn_tensor *out[3];
    return pieces(tn_unbind(in[0], 0, out, 3), out);
}

static const gradient_case gradients[] = {
    ONE(select),      ONE(slice), ONE(narrow), ONE(split),
    ONE(split_sizes), ONE(chunk), ONE(unbind), {NULL, NULL, 0, {{0, {0}}}, false},
};

/* ---- PyTorch's records ---- */

static bool record_select(record *r, results *out)
{
    return give(out, tn_select(r->input.t, int_of(record_arg(r, 0, "dim"), 0), int_of(record_arg(r, 1, "index"), 0)));
}

static bool record_narrow(record *r, results *out)
{
    return give(out, tn_narrow(r->input.t, int_of(record_arg(r, 0, "dim"), 0), int_of(record_arg(r, 1, "start"), 0),
                               int_of(record_arg(r, 2, "length"), 0)));
}

static bool record_slice(record *r, results *out)
{
    return give(out, tn_slice(r->input.t, int_of(record_arg(r, 0, "dim"), 0), int_of(record_arg(r, 1, "start"), 0),
                              int_of(record_arg(r, 2, "end"), INT64_MAX), int_of(record_arg(r, 3, "step"), 1)));
}

static bool record_chunk(record *r, results *out)
{
    out->n = (int)tn_chunk(r->input.t, int_of(record_arg(r, 0, "chunks"), 1), int_of(record_arg(r, 1, "dim"), 0),
                           out->t, 40);
    return true;
}

static bool record_split(record *r, results *out)
{
    int64_t b[64];
    value size = record_arg(r, 0, "split_size_or_sections");
    int64_t dim = int_of(record_arg(r, 1, "dim"), 0);
    if (size.kind == V_LIST)
        out->n = (int)tn_split_sizes(r->input.t, ints_of(size, &b), dim, out->t, 40);
    else
        out->n = (int)tn_split(r->input.t, int_of(size, 1), dim, out->t, 40);
    return true;
}

static bool record_tensor_split(record *r, results *out)
{
    int64_t b[64];
    value by = record_arg(r, 0, "indices_or_sections");
    int64_t dim = int_of(record_arg(r, 1, "dim"), 0);
    out->n = (int)(by.kind == V_LIST     ? tn_tensor_split_indices(r->input.t, ints_of(by, &b), dim, out->t, 40)
                   : by.kind == V_TENSOR ? tn_tensor_split_by(r->input.t, tn_cpu(by.t), dim, out->t, 40)
                                         : tn_tensor_split(r->input.t, int_of(by, 1), dim, out->t, 40));
    return true;
}

static bool record_unbind(record *r, results *out)
{
    out->n = (int)tn_unbind(r->input.t, int_of(record_arg(r, 0, "dim"), 0), out->t, 40);
    return true;
}

static const named_adapter adapters[] = {
    {"select", record_select},
    {"narrow", record_narrow},
    {"slice", record_slice},
    {"chunk", record_chunk},
    {"split", record_split},
    {"split.list_args", record_split},
    {"split_with_sizes", record_split},
    {"unbind", record_unbind},
    {"tensor_split", record_tensor_split},
    {NULL, NULL},
};

const family_tests view_pieces_tests = {cases, gradients, adapters};
