/* Padding: elements added before and behind along dimensions, the last one first. */
#include "op/infer.h"
#include "ops/compose.h"
#include <stdio.h>

/* Which element of a line of n stands at each place of the line that is padded by reflection or with its ends. */
static tn_tensor *places(int64_t mode, int64_t n, int64_t before, int64_t after, tn_device device)
{
    tn_tensor *at = tn_arange(-before, n + after, 1, .device = device);
    if (mode == TN_PAD_REPLICATE)
        return tn_clamp(at, 0, n - 1);
    return tn_sub(n - 1, tn_abs(tn_sub(n - 1, tn_abs(at))));
}

/* A constant before and behind the elements along a dimension; where negative, elements are cut off. */
static tn_tensor *pad_line(tn_tensor *x, int32_t dim, int64_t before, int64_t after, tn_scalar value)
{
    const int64_t n = x->shape[dim], start = before < 0 ? -before : 0, end = after < 0 ? n + after : n;
    tn_tensor *part[3];
    size_t parts = 0;
    int64_t shape[TN_MAX_DIMS];
    if (n + before + after < 0)
        return tn__fail(TN_EINVAL, "narrow(): length must be non-negative.");
    memcpy(shape, x->shape, (size_t)x->ndim * sizeof *shape);
    for (int k = 0; k < 3; k++) {
        shape[dim] = k == 0 ? before : after;
        if (k == 1)
            part[parts++] = tn_narrow(x, dim, start, end - start);
        else if (shape[dim] > 0)
            part[parts++] = tn_full(tn_dims_of(shape, x->ndim), value, .dtype = x->dtype, .device = x->device,
                                    .memory_format = tn__suggest_format(x->shape, x->stride, x->ndim));
        if (parts && !part[parts - 1])
            return NULL;
    }
    return parts > 1 ? tn_cat(((tn_tensors){part, parts}), dim) : part[0];
}

static const char *const modes[] = {"constant", "reflect", "replicate", "circular"};

/* The error of a sample that is too small: "input (W: 3) is too small. Calculated output W: 0" for each padded dimension. */
static void too_small(const tn_tensor *x, tn_ints pad)
{
    static const char *const sides[3][3] = {{"W: ", NULL, NULL}, {"H: ", "W: ", NULL}, {"D: ", "H: ", "W: "}};
    char in[96] = "", out[96] = "";
    const int n = (int32_t)pad.n / 2;
    for (int i = 0; i < n; i++) {
        const int k = n - 1 - i;
        const int64_t have = x->shape[x->ndim - 1 - k], more = pad.i[2L * k] + pad.i[2L * k + 1];
        snprintf(in + strlen(in), sizeof in - strlen(in), "%s%s%lld", i ? " " : "", sides[n - 1][i], (long long)have);
        snprintf(out + strlen(out), sizeof out - strlen(out), "%s%s%lld", i ? " " : "", sides[n - 1][i],
                 (long long)(have + more));
    }
    tn__error(TN_EINVAL, "input (%s) is too small. Calculated output %s", in, out);
}

static bool line_fits(const tn_tensor *x, tn_ints pad, int64_t mode, int i)
{
    const int32_t dim = x->ndim - 1 - i;
    const int64_t before = pad.i[2L * i], after = pad.i[2L * i + 1], n = x->shape[dim];
    if (mode == TN_PAD_REFLECT && (before >= n || after >= n))
        tn__error(TN_EINVAL,
                  "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                  "(%lld, %lld) at dimension %d of input %s",
                  (long long)before, (long long)after, (int)dim, tn__shape_str(x->shape, x->ndim).s);
    else if (n + before + after < 1)
        too_small(x, pad);
    else
        return true;
    return false;
}

/* PyTorch pads the last one, two or three of a batch's or a sample's dimensions otherwise than by a constant. */
static bool pads(const tn_tensor *x, tn_ints pad, int64_t mode, const tn_scalar *value)
{
    const int32_t n = (int32_t)pad.n / 2, dims = x->ndim;
    if (value->kind && tn__scalar_double(value) != 0)
        return tn__error(TN_EINVAL, "Padding mode \"%s\" doesn't take in value argument", modes[mode]), false;
    if (n < 1 || n > 3 || dims - n < 1 || dims - n > 2)
        return tn__error(TN_EMISSING, "Padding size %d is not supported for %dD input tensor.", (int)pad.n, (int)dims),
               false;
    if (mode == TN_PAD_CIRCULAR)
        return true;
    for (int32_t d = dims == n + 2; d < dims; d++)
        if (x->shape[d] == 0)
            return tn__error(TN_EINVAL,
                             "Expected %dD or %dD (batch mode) tensor with possibly 0 batch size and other non-zero "
                             "dimensions for input, but got: %s",
                             (int)n + 1, (int)n + 2, tn__shape_str(x->shape, x->ndim).s),
                   false;
    for (int i = 0; i < n; i++)
        if (!line_fits(x, pad, mode, i))
            return false;
    if (x->dtype == TN_BOOL) {
        char kernel[32];
        snprintf(kernel, sizeof kernel, "%s_pad%dd", mode == TN_PAD_REFLECT ? "reflection" : "replication", (int)n);
        return tn__no_kernel(kernel, x), false;
    }
    return true;
}

/* Can they be added to sizes? */
static bool counts_fit(tn_ints pad)
{
    for (int32_t i = 0; i < (int32_t)pad.n; i++)
        if (pad.i[i] > INT64_MAX / 4 || pad.i[i] < -(INT64_MAX / 4))
            return tn__error(TN_EINVAL, "pad: %lld elements are more than memory can hold", (long long)pad.i[i]), false;
    return true;
}

static bool pad_sizes(const tn_tensor *x, tn_ints pad)
{
    if ((int32_t)pad.n % 2)
        tn__error(TN_EINVAL, "Padding length must be divisible by 2");
    else if ((int32_t)pad.n / 2 > x->ndim)
        tn__error(TN_EINVAL,
                  "Padding length should be less than or equal to two times the input dimension but got padding length "
                  "%d and input of dimension %d",
                  (int)pad.n, (int)x->ndim);
    else
        return counts_fit(pad);
    return false;
}

/* The line with its other end before and behind; what negative counts cut off is not there to come round. */
static tn_tensor *pad_by_ends(tn_tensor *x, int32_t dim, int64_t before, int64_t after)
{
    const int64_t start = before < 0 ? -before : 0, kept = x->shape[dim] - start - (after < 0 ? -after : 0);
    tn_tensor *line = tn_narrow(x, dim, start, kept), *part[3];
    size_t n = 0;
    if (!line || (before <= 0 && after <= 0))
        return line ? tn_clone(line) : NULL;
    if (kept < before || kept < after) { /* it goes round several times */
        tn_tensor *at = tn_arange(before > 0 ? -before : 0, kept + (after > 0 ? after : 0), 1, .device = x->device);
        return tn_index_select(line, dim, tn_remainder(at, kept > 1 ? kept : 1));
    }
    if (before > 0)
        part[n++] = tn_narrow(line, dim, kept - before, before);
    part[n++] = line;
    if (after > 0)
        part[n++] = tn_narrow(line, dim, 0, after);
    return tn_cat(((tn_tensors){part, n}), dim);
}

/* The line, and beside its ends what is behind them in the other order: copies, which go through the memory as it lies. */
static tn_tensor *pad_by_mirrors(tn_tensor *x, int32_t dim, int64_t before, int64_t after)
{
    const int64_t n = x->shape[dim];
    tn_tensor *part[3];
    size_t parts = 0;
    if (before)
        part[parts++] = tn_flip(tn_narrow(x, dim, 1, before), TN_DIMS(dim));
    part[parts++] = x;
    if (after)
        part[parts++] = tn_flip(tn_narrow(x, dim, n - 1 - after, after), TN_DIMS(dim));
    for (size_t k = 0; k < parts; k++)
        if (!part[k])
            return NULL;
    return tn_cat(((tn_tensors){part, parts}), dim);
}

static tn_tensor *pad_around(tn_tensor *x, tn_tensor *result, int32_t dim, int64_t mode, const int64_t *pad)
{
    const int64_t n = x->shape[dim], least = (pad[0] < 0 ? pad[0] : 0) + (pad[1] < 0 ? pad[1] : 0);
    if (mode == TN_PAD_CIRCULAR && (pad[0] > n || pad[1] > n))
        return tn__fail(TN_EINVAL, "Padding value causes wrapping around more than once.");
    if (mode == TN_PAD_CIRCULAR && n + least < 0)
        return tn__fail(TN_EINVAL, "Negative padding value is resulting in an empty dimension");
    if (mode == TN_PAD_CIRCULAR)
        return pad_by_ends(result, dim, pad[0], pad[1]);
    if (mode == TN_PAD_REFLECT && least == 0 && !tn__contiguous(result) && !tn__words_of(x->device).gpu &&
        (tn__self()->no_grad || !tn__wants_grad(result)))
        return pad_by_mirrors(result, dim, pad[0], pad[1]);
    return tn_index_select(result, dim, places(mode, n, pad[0], pad[1], x->device));
}

/* Along several dimensions at once: x written into the number, where no gradient is wanted. */
static tn_tensor *pad_at_once(tn_tensor *x, tn_ints pad, tn_scalar value)
{
    int64_t shape[TN_MAX_DIMS], at[TN_MAX_DIMS] = {0};
    tn_tensor *part = x;
    memcpy(shape, x->shape, sizeof shape);
    for (int i = 0; i < (int32_t)pad.n / 2 && part; i++) {
        const int32_t d = x->ndim - 1 - i;
        const int64_t before = pad.i[2L * i], after = pad.i[2L * i + 1], cut = before < 0 ? -before : 0;
        shape[d] += before + after;
        at[d] = before > 0 ? before : 0;
        part = tn_narrow(part, d, cut, x->shape[d] - cut - (after < 0 ? -after : 0));
    }
    if (!part)
        return NULL;
    tn_tensor *whole = tn_full(tn_dims_of(shape, x->ndim), value, .dtype = x->dtype, .device = x->device,
                               .memory_format = tn__suggest_format(x->shape, x->stride, x->ndim)),
              *place = whole;
    for (int32_t d = 0; d < x->ndim && place; d++)
        place = part->shape[d] == shape[d] ? place : tn_narrow(place, d, at[d], part->shape[d]);
    return place && tn_copy_(place, part) ? whole : NULL;
}

static bool pads_several(const tn_tensor *x, tn_ints pad)
{
    int several = 0;
    bool sound = tn__self()->no_grad || !tn__wants_grad(x);
    for (int i = 0; i < (int32_t)pad.n / 2; i++) {
        const int64_t n = x->shape[x->ndim - 1 - i], before = pad.i[2L * i], after = pad.i[2L * i + 1];
        several += before > 0 || after > 0;
        sound &= (before < 0 ? -before : 0) + (after < 0 ? -after : 0) <= n;
    }
    return sound && several > 1;
}

tn_tensor *tn__fn_pad(tn_tensor *x, tn_ints pad, const tn_pad_options *o)
{
    bool grows = false;
    if (!tn__usable("pad", x) || !tn__usable_ints("pad", pad) || !pad_sizes(x, pad))
        return NULL;
    if (o->mode < TN_PAD_CONSTANT || o->mode > TN_PAD_CIRCULAR)
        return tn__fail(TN_EMISSING, "Unrecognised padding mode %lld", (long long)o->mode);
    if (o->mode != TN_PAD_CONSTANT && !pads(x, pad, o->mode, &o->value))
        return NULL;
    const tn_scalar value = o->value.kind ? o->value : tn_scalar_i(0);
    if (o->mode == TN_PAD_CONSTANT && pads_several(x, pad))
        return pad_at_once(x, pad, value);
    tn_tensor *result = x;
    for (int i = 0; i < (int32_t)pad.n / 2 && result; i++) {
        const int32_t dim = x->ndim - 1 - i;
        const int64_t *by = &pad.i[2L * i];
        grows |= by[0] > 0 || by[1] > 0;
        result = o->mode == TN_PAD_CONSTANT ? pad_line(result, dim, by[0], by[1], value)
                                            : pad_around(x, result, dim, o->mode, by);
    }
    return o->mode == TN_PAD_CONSTANT && !grows ? tn_clone(result) : result;
}
