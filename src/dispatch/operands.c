/* Where an operation's operands are: all on one device, which is where its results will be; and what is said where not. */
#include "dispatch/apply.h"
#include "backend/backend.h"
#include "backend/gpu/driver.h"
#include "core/error.h"
#include "op/infer.h"
#include <ctype.h>
#include <stdio.h>

/* ---- operands apart ---- */

/* Is the last input, which may be absent, there? */
static bool has_last(const tn__call *c)
{
    return c->n_in > 1 && tn__operand(&c->in[c->n_in - 1]);
}

const char *tn__torch_name(const tn__call *c)
{
    const tn__op *op = &tn__ops[c->op];
    return op->words->wrapper[1] && !has_last(c) ? op->words->wrapper[1] : op->words->wrapper[0];
}

static bool last_comes_first(const tn__call *c)
{
    return tn__ops[c->op].flags & F_LAST_FIRST && has_last(c);
}

/* What PyTorch calls input i. */
static const char *argument_name(const tn__call *c, int32_t i)
{
    return i == 0 && !last_comes_first(c) ? "self"
                                          : tn__ops[c->op].words->argument[tn__ops[c->op].flags & F_LISTED ? 0 : i];
}

/* The first operand as PyTorch counts them, and the first that is elsewhere. */
static bool find_pair(const tn__call *c, int32_t *first, int32_t *other)
{
    *first = last_comes_first(c) ? c->n_in - 1 : 0;
    while (*first < c->n_in && !tn__operand(&c->in[*first]))
        ++*first;
    if (*first == c->n_in)
        return false;
    for (*other = 0; *other < c->n_in; ++*other) {
        const tn_tensor *t = tn__operand(&c->in[*other]);
        if (t && !tn__same_device(t->device, c->in[*first].v.t->device))
            return true;
    }
    return false;
}

/* "tn_cuda(x, 1)", "tn_cpu(x)" */
static void moving_call(tn_device d, char *out, size_t size)
{
    if (tn__is_gpu(d))
        snprintf(out, size, "tn_%s(x, %d)", tn__backend_of(d)->name, (int)d.index);
    else if (d.type == TN_DEVICE_CPU)
        snprintf(out, size, "tn_cpu(x)");
    else
        snprintf(out, size, "tn_to(x, .device = tn_device_parse(\"%s\"))", tn_device_text(d).s);
}

/* "operand 2, 3": those that are not on d. */
static void list_elsewhere(const tn__call *c, tn_device d, char *out, size_t size)
{
    size_t n = (size_t)snprintf(out, size, "operand"), found = 0;
    for (int32_t i = 0; i < c->n_in && n < size; i++) {
        const tn_tensor *t = tn__operand(&c->in[i]);
        if (!t || tn__same_device(t->device, d))
            continue;
        n += (size_t)snprintf(out + n, size - n, found++ ? ", %d" : " %d", (int)i + 1);
    }
}

/* PyTorch's sentence, then which operand is where, and what brings them together. a and b are on different devices. */
static tn_status apart(const tn__call *c, int32_t a, int32_t b)
{
    char call[64], which[64], argument[160] = "";
    bool structural = tn__ops[c->op].kind == TN__STRUCTURAL && !c->inplace;
    if (structural && find_pair(c, &a, &b)) {
        const tn_device at = c->in[a].v.t->device, bt = c->in[b].v.t->device;
        const tn_device gpu = tn__is_gpu(at) ? at : bt;
        if (tn__is_gpu(gpu))
            snprintf(argument, sizeof argument, " (when checking argument for argument %s in method wrapper_%s_%s)",
                     argument_name(c, b), tn__backend_of(gpu)->gpu->label, tn__torch_name(c));
    } else if (c->in[a].v.t->device.type == TN_DEVICE_CPU) { /* elementwise: what is not on the cpu is named first */
        int32_t t = a;
        a = b;
        b = t;
    }
    tn_device first = c->in[a].v.t->device, other = c->in[b].v.t->device;
    tn_device target = first.type == TN_DEVICE_CPU ? other : first;
    moving_call(target, call, sizeof call);
    list_elsewhere(c, target, which, sizeof which);
    return tn__error(TN_EDEVICE,
                     "Expected all tensors to be on the same device, but found at least two devices, %s and %s!%s\n  "
                     "%s(%s): move %s, for example with %s",
                     tn_device_text(first).s, tn_device_text(other).s, argument, tn__op_name(c->op),
                     tn__operands_str(c->in, c->n_in).s, which, call);
}

/* ---- the check ---- */

/* A 0-dim CPU tensor goes anywhere where a number could stand; it is written to only at home. */
static bool wanders(const tn__call *c, int32_t i)
{
    const tn_tensor *t = c->in[i].v.t;
    const tn__op *op = &tn__ops[c->op];
    if (t->ndim != 0 || t->device.type != TN_DEVICE_CPU || (c->inplace && i == 0))
        return false;
    return op->kind <= TN__TERNARY || op->kind == TN__COMPOSITE || (op->flags & F_NUMBER && i == c->n_in - 1);
}

static TN_COLD tn_status missing(const tn__call *c, int32_t i)
{
    bool elementwise = tn__is_elementwise(c->op);
    return tn__error(TN_ETYPE, "%s: operand %d must be a tensor%s", tn__op_name(c->op), (int)i + 1,
                     elementwise ? " or a number, not TN_NONE" : "");
}

/* After a reset: is the memory of every operand still there? */
static TN_COLD tn_status check_void(const tn__call *c)
{
    for (int32_t i = 0; i < c->n_in; i++) {
        const tn_tensor *t = tn__operand(&c->in[i]);
        const tn__queue *q = t ? tn__backend_of(t->device)->queue : NULL;
        if (q && t->storage && q->gone(t->storage))
            return tn__error(TN_EDEVICE, "%s(%s): operand %d is void: tn_cuda_reset took the memory of %s away",
                             tn__op_name(c->op), tn__operands_str(c->in, c->n_in).s, (int)i + 1,
                             tn_device_text(t->device).s);
    }
    return TN_OK;
}

tn_status tn__operands_check(tn__call *c, uint32_t required, bool *mixed)
{
    int32_t lead = -1;
    bool crosses = tn__ops[c->op].flags & F_CROSSES;
    *mixed = false;
    for (int32_t i = 0; i < c->n_in; i++) {
        if (c->in[i].kind != TN_SCALAR_TENSOR) {
            if (required >> TN_MIN(i, 31) & 1 || (c->in[i].kind == TN_SCALAR_NONE && tn__is_elementwise(c->op)))
                return missing(c, i);
            continue;
        }
        const tn_tensor *t = c->in[i].v.t;
        if (TN_UNLIKELY(!t))
            return tn__poisoned(tn__op_name(c->op));
        if (lead < 0) {
            lead = i;
        } else if (TN_UNLIKELY(!tn__same_device(t->device, c->in[lead].v.t->device)) && !crosses) {
            *mixed = true;
            if (wanders(c, lead))
                lead = i;
            else if (!wanders(c, i))
                return apart(c, lead, i);
        }
    }
    if (TN_UNLIKELY(lead < 0 && c->n_in))
        return tn__error(TN_ETYPE, "%s: at least one operand must be a tensor, got %s", tn__op_name(c->op),
                         tn__operands_str(c->in, c->n_in).s);
    if (lead >= 0)
        c->device = c->in[lead].v.t->device;
    if (crosses && tn__asked_device(c->op, c->params).type)
        c->device = tn__asked_device(c->op, c->params);
    return TN_LIKELY(!atomic_load_explicit(&tn__resets, memory_order_relaxed)) ? TN_OK : check_void(c);
}

/* ---- numbers ---- */

void tn__operands_local(const tn__call *c, tn_scalar *out)
{
    for (int32_t i = 0; i < c->n_in; i++) {
        const tn_tensor *t = tn__operand(&c->in[i]);
        if (t && t->device.type == TN_DEVICE_CPU && c->device.type != TN_DEVICE_CPU)
            out[i] = tn__operand_value(t);
        else
            out[i] = t || !c->adjusts ? c->in[i]
                     : tn__ops[c->op].rule == R_TEST && tn__dtype_is_bare(c->common)
                         ? tn__number_wrapped(c->in[i], c->common)
                         : tn__number_as(c->in[i], c->common);
    }
}
