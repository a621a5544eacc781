/* A module of one's own: a struct and a function, trained on batches from a loader. */
#include <stdio.h>
#include <stdlib.h>
#include <tenon/tenon.h>

/* out(h + relu(inner(h))) with h = relu(in(x)) */
typedef struct residual {
    tn_module *in, *inner, *out; /* borrowed from the module, which keeps its children alive */
} residual;

static tn_tensor *residual_forward(tn_module *self, tn_tensor *x)
{
    residual *r = tn_module_context(self);
    tn_tensor *h = tn_relu(tn_forward(r->in, x));
    return tn_forward(r->out, tn_add(h, tn_relu(tn_forward(r->inner, h))));
}

static tn_module *residual_new(int64_t in, int64_t hidden, int64_t out)
{
    static const tn_module_class class = {
        .struct_size = sizeof class, .name = "Residual", .forward = residual_forward, .destroy = free};
    residual *r = malloc(sizeof *r);
    tn_module *m = r ? tn_module_new(&class, r) : NULL; /* from here on r is freed with m */
    if (!m) {
        free(r);
        return NULL;
    }
    r->in = tn_module_add_child(m, "in", tn_nn_linear(in, hidden));
    r->inner = tn_module_add_child(m, "inner", tn_nn_linear(hidden, hidden));
    r->out = tn_module_add_child(m, "out", tn_nn_linear(hidden, out));
    return r->in && r->inner && r->out ? m : NULL;
}

static bool train(tn_module *net, tn_loader *loader, tn_optimizer *opt, int epochs)
{
    tn_tensor *batch[2];
    int32_t got = 1;
    for (int done = 0; done < epochs && got >= 0; done += got == 0) {
        tn_scope *scope = tn_scope_open();      /* what a step makes is gone after it              */
        got = tn_loader_next(loader, batch, 2); /* 1: a batch, 0: the epoch is over, -1: an error */
        if (got == 1) {
            tn_tensor *loss = tn_cross_entropy(tn_forward(net, batch[0]), batch[1]);
            tn_optimizer_zero_grad(opt);
            got = tn_backward(loss) || tn_optimizer_step(opt) ? -1 : 1;
        }
        tn_scope_close(scope);
    }
    return got == 0;
}

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_manual_seed(1);

    /* Points of a plane: is one outside the circle of radius 1.2? 2000 to learn from, 500 to ask about. */
    tn_tensor *x = tn_randn(TN_SHAPE(2500, 2));
    tn_tensor *y = tn_to(tn_gt(tn_sum(tn_square(x), .dim = 1), 1.44), .dtype = TN_I64);
    tn_tensor *asked = tn_narrow(x, 0, 2000, 500), *answers = tn_narrow(y, 0, 2000, 500);

    tn_module *net = residual_new(2, 32, 2);
    tn_loader *loader = tn_loader_new(TN_TENSORS(tn_narrow(x, 0, 0, 2000), tn_narrow(y, 0, 0, 2000)), .batch_size = 50,
                                      .shuffle = true, .prefetch = 2);
    tn_optimizer *opt = tn_adamw(net, 0.01);
    tn_module_print(net);
    bool good = train(net, loader, opt, 10);

    tn_set_grad_enabled(false);
    tn_tensor *scores = tn_forward(tn_module_eval(net), asked);
    double right = tn_item(tn_mean(tn_to(tn_eq(tn_argmax(scores, .dim = 1), answers), .dtype = TN_F32)));
    printf("right about new points: %s\n", right >= 0.97 ? "97 % or more" : "less than 97 %");

    if (!good)
        fprintf(stderr, "%s\n", tn_error_message());

    tn_loader_free(loader);
    tn_optimizer_free(opt);
    tn_scope_close(scope);
    return good ? 0 : 1;
}
