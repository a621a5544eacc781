/* Results that are written to memory which the caller offers: out= without a second pass. */
#include "autograd/node.h"
#include "core/thread.h"
#include "dispatch/apply.h"
#include <tenon/tensor.h>

void tn_into(tn_tensor *out, bool apart)
{
    tn__thread *t = tn__self();
    t->into = apart ? NULL : out;
    t->apart = apart ? out : NULL;
}

/* Does the operand show the very elements of t, each at the same place? Then each is read before it is written. */
static bool is_as(const tn_tensor *operand, const tn_tensor *t)
{
    if (operand->dtype != t->dtype || tn__tensor_data(operand) != tn__tensor_data(t) ||
        !tn__same_shape(operand->shape, operand->ndim, t->shape, t->ndim))
        return false;
    for (int32_t d = 0; d < t->ndim; d++)
        if (operand->stride[d] != t->stride[d])
            return false;
    return true;
}

bool tn_into_taken(tn_tensor *out, const tn_tensor *result)
{
    const bool taken = tn_tensor_shares_storage(out, result) && is_as(result, out);
    if (taken)
        tn__tensor_written(out);
    return taken;
}

static bool fits(const tn__spec *s, tn_device device, const tn_tensor *out)
{
    return s->dtype == out->dtype && tn__same_device(device, out->device) &&
           tn__same_shape(s->shape, s->ndim, out->shape, out->ndim) && out->storage && !out->storage->read_only &&
           !(out->obj.flags & TN__INFERENCE) && !tn__wants_grad(out) &&
           !tn__overlaps_itself(out->shape, out->stride, out->ndim);
}

/* Kernels of structural rows count on the layout that the rule gives; where one fails (an index may be out of range), nothing is
 * to be lost: so their inputs are of the result's dtype, or they say when they fail. */
bool tn__goes_into(const tn__call *c, const tn_tensor *out)
{
    const bool elementwise = tn__is_elementwise(c->op),
               fails_first = tn__ops[c->op].flags & F_FAILS_FIRST && c->device.type == TN_DEVICE_CPU;
    if (c->inplace || c->n_out != 1 || tn__ops[c->op].kind == TN__VIEW || tn__ops[c->op].flags & F_CROSSES ||
        !fits(&c->spec[0], c->device, out))
        return false;
    const tn__spec *s = &c->spec[0];
    if (!elementwise &&
        !(tn_tensor_is_contiguous(out) && (!s->strided || tn__is_contiguous(s->shape, s->stride, s->ndim))))
        return false;
    for (int32_t i = 0; i < c->n_in; i++) {
        const tn_tensor *t = tn__operand(&c->in[i]);
        if (t && tn_tensor_shares_memory(t, out) && !(elementwise && is_as(t, out)))
            return false;
        if (t && !elementwise && t->dtype != out->dtype && !fails_first)
            return false;
    }
    return true;
}

tn_tensor *tn__made_into(const tn__spec *s, tn_device device)
{
    tn__thread *self = tn__self();
    const tn_tensor *out = self->apart;
    if (TN_LIKELY(!out) || s->strided || !fits(s, device, out) || !tn_tensor_is_contiguous(out))
        return NULL;
    self->apart = NULL;
    return tn__tensor_alias(out);
}
