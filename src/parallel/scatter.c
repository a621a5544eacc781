/* Scatter and gather: a batch cut over devices, and joined again. Each is the other's derivative. */
#include "parallel/parallel.h"
#include "core/alloc.h"
#include <tenon/autograd.h>

/* What a node of either remembers: the cut. */
typedef struct cut {
    size_t bytes;
    tn_device home;     /* of what is whole */
    tn_team_step *step; /* gather's: retained, or NULL */
    int64_t dim;
    bool scalars; /* the parts had 0 dimensions */
    size_t n;
    tn_device *device; /* [n] of the parts */
    int64_t size[];    /* [n] of the parts along dim; then the devices */
} cut;

static cut *make_cut(size_t n)
{
    const size_t bytes = sizeof(cut) + n * (sizeof(int64_t) + sizeof(tn_device));
    cut *c = tn__block_zero(bytes);
    if (!c) {
        tn__error_memory("recording a cut over devices", bytes);
        return NULL;
    }
    c->bytes = bytes;
    c->n = n;
    c->device = (tn_device *)(void *)(c->size + n);
    return c;
}

static void free_cut(void *ctx)
{
    cut *c = ctx;
    tn_team_step_release(c->step);
    tn__block_put(c, c->bytes);
}

/* dim as an index; -1 with the error set. */
static int32_t wrap_dim(const char *what, int64_t dim, int32_t ndim)
{
    if (dim >= -ndim && dim < ndim)
        return (int32_t)(dim < 0 ? dim + ndim : dim);
    tn__error(TN_EINDEX, "Dimension out of range (expected to be in range of [%d, %d], but got %lld)\n  %s", (int)-ndim,
              (int)(ndim - 1), (long long)dim, what);
    return -1;
}

/* Counts what crossed, at the part's device, and notes how far that device is. */
static void note(tn_team_step *step, const tn_tensor *part, tn_device other, tn__traffic traffic, tn__step_point point)
{
    int64_t i = tn__step_index(step, part->device);
    if (i < 0)
        return;
    if (!tn__same_device(part->device, other))
        tn__step_traffic(step, i, traffic, tn__bytes_of(part));
    tn__step_reach(step, (size_t)i, point, NULL);
}

/* ---- scatter ---- */

/* The chunks' sizes: those given, or equal ones of which the last may be shorter. Returns how many; 0 with the error set. */
static size_t plan_chunks(const tn_tensor *x, int32_t dim, size_t devices, const int64_t *given, int64_t *size)
{
    int64_t whole = x->shape[dim], left = whole, each = tn__div_up(whole, (int64_t)devices);
    size_t n = 0;
    if (!given) {
        for (; n < devices && (left > 0 || !whole); n++, left -= size[n - 1])
            size[n] = TN_MIN(each, left);
        return n;
    }
    for (; n < devices; n++) {
        size[n] = given[n];
        if (given[n] < 0 || (left -= given[n]) < 0)
            break;
    }
    if (n == devices && left == 0)
        return n;
    tn__error(TN_EVALUE, "tn_parallel_scatter: the chunk sizes do not add up to the %lld of dimension %d of %s",
              (long long)whole, (int)dim, tn__tensor_str(x).s);
    return 0;
}

/* The chunks, without history, in the scope that is open. */
static tn_status cut_up(tn_tensor *x, const cut *c, tn_tensor **out)
{
    bool was = tn__set_no_grad(true);
    int64_t at = 0;
    tn_status e = TN_OK;
    for (size_t i = 0; i < c->n && !e; at += c->size[i++]) {
        tn_tensor *part = c->size[i] == x->shape[c->dim] ? tn__tensor_alias(x) : NULL;
        if (part)
            tn__scope_adopt(tn__self(), part);
        else
            part = tn_narrow(x, c->dim, at, c->size[i]);
        out[i] = part ? tn_to(part, .device = c->device[i], .non_blocking = true) : NULL;
        if (!out[i])
            e = tn_error_code();
    }
    tn__set_no_grad(was);
    return e;
}

static tn_status scatter_backward(tn_node *self, void *ctx, tn_tensor *const *g, size_t n_out, tn_tensor **gx,
                                  size_t n_in)
{
    const cut *c = ctx;
    (void)self;
    (void)n_in;
    gx[0] = tn_parallel_gather(((tn_tensors){(tn_tensor **)(uintptr_t)g, n_out}), c->home, .dim = c->dim);
    return gx[0] ? TN_OK : tn_error_code();
}

static const tn_function_class scatter_class = {
    .struct_size = sizeof scatter_class, .name = "Scatter", .backward = scatter_backward, .destroy = free_cut};

/* The tensors are the scope's that is open; record makes them x's parts in the graph. */
static tn_status record_scatter(tn_tensor *x, cut *c, tn_tensor **out)
{
    tn_tensor *plain[64], **part = plain;
    const size_t bytes = c->n * sizeof *part;
    if (c->n > TN_COUNT(plain) && !(part = tn__block_get(bytes))) {
        free_cut(c);
        return tn__error_memory("a list of chunks", bytes);
    }
    memcpy(part, out, bytes);
    tn_status e = tn_function_apply(&scatter_class, c, TN_TENSORS(x), ((tn_tensors){part, c->n}), out);
    if (e)
        free_cut(c);
    if (part != plain)
        tn__block_put(part, bytes);
    return e;
}

/* The results out of a scope that closes. */
tn_status tn__parallel_hand_out(tn__thread *t, tn_scope *scope, tn_tensor **out, size_t n, tn_status e)
{
    for (size_t i = 0; i < n; i++) {
        if (!e && out[i])
            tn__object_retain(out[i]);
        else
            out[i] = NULL;
    }
    tn__scope_pop(t, scope, NULL);
    for (size_t i = 0; i < n; i++)
        if (out[i] && !tn__scope_receive(t, out[i]))
            e = TN_ENOMEM;
    for (size_t i = 0; i < n && e; i++)
        out[i] = NULL;
    return e;
}

static tn_status check_scatter(const tn_tensor *x, tn_device_list devices)
{
    if (!x)
        return tn__poisoned("tn_parallel_scatter");
    if (x == TN_NONE)
        return tn__error(TN_ETYPE, "tn_parallel_scatter: TN_NONE has no chunks");
    if (!devices.n || !devices.d)
        return tn__error(TN_EINVAL, "tn_parallel_scatter: no devices");
    if (!x->ndim)
        return tn__error(TN_EVALUE, "chunk expects at least a 1-dimensional tensor\n  %s cannot be cut over devices",
                         tn__tensor_str(x).s);
    return TN_OK;
}

tn_status tn_parallel_scatter_opt(tn_tensor *x, tn_device_list devices, tn_tensor **out, size_t *n,
                                  const tn_parallel_options *options)
{
    tn_parallel_options o;
    tn_scope scope;
    tn__options_in(&o, sizeof o, options);
    tn__thread *t = tn__enter(o.site);
    *n = 0;
    tn_status e = check_scatter(x, devices);
    int32_t dim = e ? -1 : wrap_dim("tn_parallel_scatter", o.dim, x->ndim);
    cut *c = dim < 0 ? NULL : make_cut(devices.n);
    if (!c)
        return tn_error_code();
    c->dim = dim;
    c->home = x->device;
    size_t parts = c->n = plan_chunks(x, dim, devices.n, o.sizes, c->size);
    for (size_t i = 0; i < parts && !e; i++)
        e = tn__device_resolve(devices.d[i], &c->device[i]);
    if (e || !parts) {
        free_cut(c);
        return tn_error_code();
    }
    bool records = !t->no_grad && tn__dtype_is_float(x->dtype) && tn__wants_grad(x);
    tn__scope_push(t, &scope);
    e = cut_up(x, c, out);
    for (size_t i = 0; i < parts && !e; i++) {
        tn__step_samples(o.step, tn__step_index(o.step, c->device[i]), c->size[i]);
        note(o.step, out[i], x->device, TN__TRAFFIC_SCATTER, TN__POINT_SCATTERED);
    }
    if (!e && records)
        e = record_scatter(x, c, out);
    else
        free_cut(c);
    if (e)
        tn__step_blame_lost(o.step);
    e = tn__parallel_hand_out(t, &scope, out, parts, e);
    *n = e ? 0 : parts;
    return e;
}

/* ---- gather ---- */

static tn_status gather_backward(tn_node *self, void *ctx, tn_tensor *const *g, size_t n_out, tn_tensor **gx, size_t n)
{
    const cut *c = ctx;
    size_t parts;
    (void)self;
    (void)n_out;
    tn_status e =
        tn_parallel_scatter(g[0], ((tn_device_list){c->device, c->n}), gx, &parts, .dim = c->dim, .sizes = c->size);
    for (size_t i = 0; i < n && !e; i++) {
        if (c->scalars && !(gx[i] = tn_reshape(gx[i], TN_SHAPE())))
            return tn_error_code();
        note(c->step, gx[i], c->home, TN__TRAFFIC_GATHER, TN__POINT_BACKWARD);
    }
    return e;
}

static const tn_function_class gather_class = {
    .struct_size = sizeof gather_class, .name = "Gather", .backward = gather_backward, .destroy = free_cut};

static tn_status differs(const tn_tensor *a, const tn_tensor *b, size_t i)
{
    return tn__error(TN_EINVAL,
                     "tn_parallel_gather: part %zu is %s, part 0 is %s: they must agree in all but the "
                     "dimension along which they are joined",
                     i, tn__tensor_str(b).s, tn__tensor_str(a).s);
}

tn_tensor *tn__parallel_make(const tn__spec *s, tn_device device)
{
    int64_t numel;
    if (!tn__shape_numel(s->shape, s->ndim, tn__dtype_size(s->dtype), &numel))
        return tn__fail(TN_EINVAL, "a tensor of shape %s is larger than memory can be",
                        tn__shape_str(s->shape, s->ndim).s);
    return tn__tensor_make(s, device);
}

/* The whole's shape; c's sizes and devices. */
static tn_status plan_whole(tn_tensors parts, int64_t dim, cut *c, tn__spec *whole)
{
    const tn_tensor *first = parts.t[0];
    c->scalars = first->ndim == 0;
    int32_t ndim = c->scalars ? 1 : first->ndim, at = wrap_dim("tn_parallel_gather", dim, ndim);
    if (at < 0)
        return tn_error_code();
    *whole = (tn__spec){.dtype = first->dtype, .ndim = ndim};
    for (int32_t d = 0; d < first->ndim; d++)
        whole->shape[d] = first->shape[d];
    whole->shape[at] = 0;
    for (size_t i = 0; i < parts.n; i++) {
        const tn_tensor *p = parts.t[i];
        bool same = p->dtype == first->dtype && p->ndim == first->ndim;
        for (int32_t d = 0; d < p->ndim && same; d++)
            same = d == at || p->shape[d] == first->shape[d];
        if (!same)
            return differs(first, p, i);
        c->size[i] = c->scalars ? 1 : p->shape[at];
        c->device[i] = p->device;
        if (__builtin_add_overflow(whole->shape[at], c->size[i], &whole->shape[at]))
            return tn__error(TN_EINVAL,
                             "tn_parallel_gather: the sizes along dimension %d add up to more than an index can "
                             "count",
                             (int)at);
    }
    c->dim = at;
    return TN_OK;
}

/* Each part into its place, without history. */
static tn_status join(tn_tensors parts, const cut *c, tn_tensor *whole)
{
    bool was = tn__set_no_grad(true);
    int64_t at = 0;
    tn_status e = TN_OK;
    for (size_t i = 0; i < parts.n && !e; at += c->size[i++]) {
        tn_tensor *place = tn_narrow(whole, c->dim, at, c->size[i]), *part = parts.t[i];
        if (place && c->scalars)
            part = tn_reshape(part, TN_SHAPE(1));
        if (!place || !part || !tn_copy_(place, part))
            e = tn_error_code();
    }
    tn__set_no_grad(was);
    return e;
}

tn_status tn__parallel_check(const char *what, tn_tensors parts)
{
    if (!parts.n || !parts.t)
        return tn__error(TN_EINVAL, "%s: no tensors", what);
    for (size_t i = 0; i < parts.n; i++) {
        if (!parts.t[i])
            return tn__poisoned(what);
        if (parts.t[i] == TN_NONE)
            return tn__error(TN_ETYPE, "%s: tensor %zu is TN_NONE", what, i);
    }
    return TN_OK;
}

/* Takes c. */
static tn_tensor *gather(tn__thread *t, tn_tensors parts, cut *c, const tn_parallel_options *o)
{
    tn__spec spec;
    tn_tensor *whole = plan_whole(parts, o->dim, c, &spec) ? NULL : tn__parallel_make(&spec, c->home), *out = NULL;
    tn_status e = whole ? TN_OK : tn_error_code();
    if (whole)
        tn__scope_adopt(t, whole);
    if (!e)
        e = join(parts, c, whole);
    for (size_t i = 0; i < parts.n && !e; i++)
        note(o->step, parts.t[i], c->home, TN__TRAFFIC_GATHER, TN__POINT_GATHERED);
    if (!e) {
        c->step = tn_team_step_retain(o->step);
        e = tn_function_apply(&gather_class, c, parts, TN_TENSORS(whole), &out);
    }
    if (e) {
        free_cut(c);
        tn__step_blame_lost(o->step);
    }
    return e ? NULL : out;
}

tn_tensor *tn_parallel_gather_opt(tn_tensors parts, tn_device device, const tn_parallel_options *options)
{
    tn_parallel_options o;
    tn_scope scope;
    tn__options_in(&o, sizeof o, options);
    tn__thread *t = tn__enter(o.site);
    if (tn__parallel_check("tn_parallel_gather", parts))
        return NULL;
    cut *c = make_cut(parts.n);
    if (!c)
        return NULL;
    if (tn__device_resolve(device, &c->home)) {
        free_cut(c);
        return NULL;
    }
    tn__scope_push(t, &scope);
    tn_tensor *out = gather(t, parts, c, &o);
    return tn__scope_pop(t, &scope, out);
}
