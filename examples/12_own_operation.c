/* An operation of one's own: swiglu(a, b) = silu(a) * b as one pass over memory, on the CPU and on GPUs, with its derivative. */
#include <math.h>
#include <stdio.h>
#include <tenon/tenon.h>

static tn_status swiglu_cpu(const tn_op_args *c, int64_t begin, int64_t end)
{
    const bool wide = c->out[0].dtype == TN_F64;
    const float *a = c->in[0].data, *b = c->in[1].data;
    const double *wide_a = c->in[0].data, *wide_b = c->in[1].data;
    for (int64_t i = begin; i < end; i++)
        if (wide)
            ((double *)c->out[0].data)[i] = wide_a[i] / (1 + exp(-wide_a[i])) * wide_b[i];
        else
            ((float *)c->out[0].data)[i] = a[i] / (1 + expf(-a[i])) * b[i];
    return TN_OK;
}

/* One text for NVIDIA's compiler, for OpenCL, and for fake GPUs; ST: the tensors' element, T: what is computed in. */
static const char swiglu_gpu[] = "KERNEL(swiglu)(GLOBAL ST *out, GLOBAL const ST *a, GLOBAL const ST *b, i64 n)\n{\n"
                                 "    for (i64 i = GLOBAL_ID(0); i < n; i += GLOBAL_SIZE(0))\n"
                                 "        out[i] = SV(LD(a[i]) / (K(1) + m_exp(-LD(a[i]))) * LD(b[i]));\n"
                                 "}\n";

/* With s = sigmoid(a): d/da = g b (s + a s (1 - s)), d/db = g a s. */
static tn_status swiglu_backward(const tn_op_backward *d)
{
    tn_tensor *a = d->in[0], *b = d->in[1], *s = tn_sigmoid(a), *as = tn_mul(a, s);
    d->grad[0] = tn_mul(tn_mul(d->grad_out[0], b), tn_add(s, tn_mul(as, tn_sub(1, s))));
    d->grad[1] = tn_mul(d->grad_out[0], as);
    return d->grad[0] && d->grad[1] ? TN_OK : tn_error_code();
}

int main(void)
{
    static const tn_op_def def = {.struct_size = sizeof def,
                                  .name = "mylib::swiglu",
                                  .inputs = 2,
                                  .cpu = swiglu_cpu,
                                  .cpu_dtypes = TN_OP_DTYPE(TN_F32) | TN_OP_DTYPE(TN_F64),
                                  .kernel = swiglu_gpu,
                                  .backward = swiglu_backward};
    const tn_op *swiglu = tn_op_register(&def);
    tn_scope *scope = tn_scope_open();
    for (int i = 0; i < 3; i++) {
        tn_device device = i < 2 ? tn_try_gpu(i) : TN_CPU;
        tn_tensor *a = tn_to(tn_tensor_from(TN_LIST(-2., -1., 0., 1., 2.)), .device = device);
        tn_tensor *b = tn_to(tn_tensor_from(TN_LIST(1., 2., 3., 4., 5.)), .device = device);
        tn_tensor *y = tn_op_call(swiglu, TN_TENSORS(tn_requires_grad_(a, true), tn_requires_grad_(b, true)));
        if (tn_backward(tn_sum(y)))
            break;
        tn_print(y);
        tn_print(tn_tensor_grad(a));
        tn_print(tn_tensor_grad(b));
    }
    tn_status e = tn_op_check(swiglu, TN_TENSORS(tn_randn(TN_SHAPE(3, 4)), tn_randn(TN_SHAPE(3, 4))));
    printf("%s\n", e ? tn_error_message() : "checked");
    tn_scope_close(scope);
    return e ? 1 : 0;
}
