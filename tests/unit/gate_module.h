/* tests/unit/gate_module.h: a module of two inputs and two results, and what PyTorch says of it:
 *     h = a @ w.T; s = sigmoid(b @ v.T), or 1 where b is TN_NONE; y0 = h * s; y1 = tanh(h) - s
 */
#ifndef TENON_TESTS_GATE_MODULE_H
#define TENON_TESTS_GATE_MODULE_H

#include "nn_check.h"

/* For the inputs of gate_inputs: values and, of mean(y0 * y0) + sum(y1), gradients. From PyTorch 2.15 in float64. */
static const double
    gate_y0[8] = {0, 2.74916998656, 1.10973728427, 0.354343693774, 0.107707971902, 0.354343693774, -0.807070382782, 0},
    gate_y1[8] = {-0.450166002688, 0.45007520695,  0.307239947486, 0.407250462182,
                  -0.389109316904, 0.407250462182, -1.49393994618, -0.130108474363},
    gate_loss = 0.32143421012770423, gate_dw[4] = {2.05950433409, 2.10567917661, -0.0421469187163, 1.41763357426},
    gate_dv[6] = {-0.315165085935, 0.0517170847855, -0.568638362508, 0.299210748152, -0.0953369179845, -1.25538138704};

static inline tn_status gate_forward(tn_module *self, tn_tensor *const *x, size_t n, tn_tensor **y, size_t n_y)
{
    assert_int_equal(n, 2);
    assert_int_equal(n_y, 2);
    assert_null(y[0]);
    tn_tensor *h = tn_linear(x[0], tn_module_parameter(self, "w"), TN_NONE);
    tn_tensor *s =
        x[1] == TN_NONE ? tn_ones_like(h) : tn_sigmoid(tn_linear(x[1], tn_module_parameter(self, "v"), TN_NONE));
    y[0] = tn_mul(h, s);
    y[1] = tn_sub(tn_tanh(h), s);
    return TN_OK; /* a NULL among them speaks for itself */
}

static inline tn_module *gate_module(void)
{
    static const tn_module_class cls = {
        .struct_size = sizeof cls, .name = "Gate", .forward_n = gate_forward, .inputs = 2, .outputs = 2};
    static const double w[] = {0.5, -0.25, 1, 2}, v[] = {0.1, 0.2, 0.3, -0.4, 0.5, -0.6};
    tn_module *m = BUILT(tn_module_new(&cls, NULL));
    MADE(tn_module_add_parameter(m, "w", tn_tensor_from(TN_ARRAY(w), .shape = TN_SHAPE(2, 2))));
    MADE(tn_module_add_parameter(m, "v", tn_tensor_from(TN_ARRAY(v), .shape = TN_SHAPE(2, 3))));
    return m;
}

static inline void gate_inputs(tn_tensor **x)
{
    static const double a[] = {1, 2, 3, -1, 0.5, 0.25, -2, 1}, b[] = {1, 0, -1, 2, 1, 0.5, 0, 0, 1, -1, -1, 3};
    x[0] = MADE(tn_tensor_from(TN_ARRAY(a), .shape = TN_SHAPE(4, 2)));
    x[1] = MADE(tn_tensor_from(TN_ARRAY(b), .shape = TN_SHAPE(4, 3)));
}

static inline void gate_equals(tn_tensor *t, const double *expected)
{
    for (int64_t i = 0; i < tn_tensor_numel(t); i++)
        NEAR(element(t, i), expected[i], 1e-10);
}

/* A step of m, a gate or something around one whose parameters are named with the prefix. */
static inline void gate_step(tn_module *m, const char *prefix)
{
    tn_tensor *x[2], *y[2];
    char name[64];
    gate_inputs(x);
    OK(tn_forward_n(m, ((tn_tensors){x, 2}), y, 2));
    gate_equals(y[0], gate_y0);
    gate_equals(y[1], gate_y1);
    tn_tensor *loss = MADE(tn_add(tn_mean(tn_square(y[0])), tn_sum(y[1])));
    NEAR(tn_item(tn_cpu(loss)), gate_loss, 1e-10);
    OK(tn_backward(loss));
    snprintf(name, sizeof name, "%sw", prefix);
    gate_equals(tn_tensor_grad(tn_module_parameter(m, name)), gate_dw);
    snprintf(name, sizeof name, "%sv", prefix);
    gate_equals(tn_tensor_grad(tn_module_parameter(m, name)), gate_dv);
}

#endif
