/* Results that are written to memory which the caller offers: out= without a second pass. */
#include "autograd/node.h"
#include "core/thread.h"
#include "dispatch/apply.h"
#include <tenon/tensor.h>

void tn_into(tn_tensor *out)
{
    tn__self()->into = out;
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

bool tn__goes_into(const tn__call *c, const tn_tensor *out)
{
    const tn__spec *s = &c->spec[0];
    if (!tn__is_elementwise(c->op) || c->n_out != 1 || s->dtype != out->dtype || !out->storage ||
        out->storage->read_only || !tn__same_device(c->device, out->device) ||
        !tn__same_shape(s->shape, s->ndim, out->shape, out->ndim) || tn__wants_grad(out) ||
        out->obj.flags & TN__INFERENCE || tn__overlaps_itself(out->shape, out->stride, out->ndim))
        return false;
    for (int32_t i = 0; i < c->n_in; i++) {
        const tn_tensor *t = tn__operand(&c->in[i]);
        if (t && tn_tensor_shares_memory(t, out) && !is_as(t, out))
            return false;
    }
    return true;
}
