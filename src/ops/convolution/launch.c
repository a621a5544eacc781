/* The convolution of a launch. */
#include "ops/convolution/launch.h"

tn__conv tn__conv_of(const tn__launch *l)
{
    const tn__convolution_params *p = l->params;
    const bool forward = l->op == TN__OP__convolution, of_input = l->op == TN__OP__convolution_input;
    const tn__view *x = of_input ? &l->out[0] : &l->in[forward ? 0 : 1], *y = forward ? &l->out[0] : &l->in[0],
                   *w = forward || of_input ? &l->in[1] : &l->out[0];
    tn__conv c = {.images = x->shape[0],
                  .groups = p->groups,
                  .in = w->shape[1],
                  .out = w->shape[0] / p->groups,
                  .d = {{1, 1, 1, 1, 0, 1}, {1, 1, 1, 1, 0, 1}, {1, 1, 1, 1, 0, 1}}};
    const int32_t n = x->ndim - 2;
    for (int32_t i = 0; i < n; i++)
        c.d[TN__SPATIAL - n + i] = (tn__conv_dim){x->shape[2 + i], y->shape[2 + i], w->shape[2 + i],
                                                  p->stride.d[i],  p->padding.d[i], p->dilation.d[i]};
    return c;
}
