/* Parts of one's own: a dataset that makes its items when they are asked for, a module of two inputs and two results, and an
 * optimiser, here Lion (Chen et al. 2023). What is learned: where a wave is, and whether it rises there. */
#include <stdio.h>
#include <tenon/tenon.h>

/* ---- the dataset: item i is a time, the wave's frequency, its height then with some noise, and 1 where it rises ---- */

enum { ITEMS = 1000 };

static int64_t wave_length(void *ctx)
{
    (void)ctx;
    return ITEMS;
}

static tn_status wave_get(void *ctx, int64_t i, uint64_t seed, tn_tensor **out, size_t n)
{
    (void)ctx;
    (void)n;
    double noise = (double)(seed >> 32) / 4294967296.0 - 0.5; /* another one in every epoch, whoever calls */
    out[0] = tn_tensor_from(TN_LIST((double)(i * 7919 % ITEMS) / 250));
    out[1] = tn_tensor_from(TN_LIST(1.0 + (double)(i % 3) / 2));
    tn_tensor *phase = tn_mul(out[0], out[1]);
    out[2] = tn_add(tn_sin(phase), noise / 10);
    out[3] = tn_to(tn_gt(tn_select(tn_cos(phase), 0, 0), 0), .dtype = TN_I64);
    return TN_OK; /* a NULL among them is reported with the item's number */
}

/* ---- the module: time and frequency in, height and whether it rises out ---- */

static tn_status wave_forward(tn_module *self, tn_tensor *const *x, size_t n, tn_tensor **y, size_t n_y)
{
    (void)n;
    (void)n_y;
    tn_tensor *all = tn_cat(TN_TENSORS(x[0], x[1], tn_mul(x[0], x[1])), 1),
              *h = tn_forward(tn_module_child(self, "body"), all);
    y[0] = tn_forward(tn_module_child(self, "height"), h);
    y[1] = tn_forward(tn_module_child(self, "rises"), h);
    return TN_OK;
}

static tn_module *wave_module(void)
{
    static const tn_module_class class = {
        .struct_size = sizeof class, .name = "Wave", .forward_n = wave_forward, .inputs = 2, .outputs = 2};
    tn_module *m = tn_module_new(&class, NULL);
    tn_module *body = tn_nn_sequential(tn_nn_linear(3, 48), tn_nn_tanh(), tn_nn_linear(48, 48), tn_nn_tanh());
    bool good = tn_module_add_child(m, "body", body) && tn_module_add_child(m, "height", tn_nn_linear(48, 1)) &&
                tn_module_add_child(m, "rises", tn_nn_linear(48, 2));
    return good ? m : NULL;
}

/* ---- the optimiser: p *= 1 - lr * decay; p -= lr * sign(b1 m + (1 - b1) g); m = b2 m + (1 - b2) g ---- */

enum { BETA1, BETA2, DECAY }; /* the places of its options */

static tn_status lion_step(tn_optimizer *self, const tn_update *u)
{
    (void)self;
    const double *o = u->option;
    tn_tensor *p = u->parameter, *g = u->gradient, *m = u->state[0];
    tn_tensor *way = tn_sign(tn_add(tn_mul(m, o[BETA1]), tn_mul(g, 1 - o[BETA1])));
    p = tn_sub_(tn_mul_(p, 1 - u->lr * o[DECAY]), tn_mul(way, u->lr));
    return p && tn_add_(tn_mul_(m, o[BETA2]), tn_mul(g, 1 - o[BETA2])) ? TN_OK : tn_error_code();
}

static const tn_optimizer_class lion = {.struct_size = sizeof lion,
                                        .name = "Lion",
                                        .options = {{"beta1", 0.9}, {"beta2", 0.99}, {"weight_decay", 0}},
                                        .states = {"exp_avg"},
                                        .step = lion_step};

/* One batch: 1; 0 at an epoch's end; -1 for an error. With an optimiser the module learns from it, else it is asked. */
static int32_t batch(tn_module *net, tn_loader *loader, tn_optimizer *opt, double *error, double *right)
{
    tn_tensor *b[4], *y[2];
    tn_scope *scope = tn_scope_open();
    int32_t got = tn_loader_next(loader, b, 4);
    if (got == 1 && tn_forward_n(net, TN_TENSORS(b[0], b[1]), y, 2))
        got = -1;
    if (got == 1 && opt) {
        tn_optimizer_zero_grad(opt);
        tn_tensor *loss = tn_add(tn_mse_loss(y[0], b[2]), tn_cross_entropy(y[1], b[3]));
        got = tn_backward(loss) || tn_clip_grad_norm_(net, 5, NULL) || tn_optimizer_step(opt) ? -1 : 1;
    } else if (got == 1) {
        *error = tn_item(tn_mean(tn_abs(tn_sub(y[0], b[2]))));
        *right = tn_item(tn_mean(tn_to(tn_eq(tn_argmax(y[1], .dim = 1), b[3]), .dtype = TN_F32)));
    }
    tn_scope_close(scope);
    return got;
}

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_manual_seed(1);
    const tn_dataset waves = {
        .struct_size = sizeof waves, .name = "Waves", .length = wave_length, .get = wave_get, .fields = 4};
    tn_loader *learn = tn_loader_from(&waves, .batch_size = 50, .shuffle = true, .prefetch = 2, .workers = 2);
    tn_loader *ask = tn_loader_from(&waves, .batch_size = ITEMS);
    tn_module *net = wave_module();
    tn_optimizer *opt = tn_optimizer_new(&lion, tn_module_child(net, "body"), 1e-3);
    double error = 0, right = 0;
    bool good = opt && !tn_optimizer_add_group(opt, tn_module_child(net, "height"), TN_HYPERS({"lr", 5e-4})) &&
                !tn_optimizer_add_group(opt, tn_module_child(net, "rises"), TN_HYPERS({"weight_decay", 0.01}));
    tn_module_print(net);
    for (int epoch = 0, got = 1; epoch < 60 && (good = good && got >= 0); epoch += got == 0)
        got = batch(net, learn, opt, &error, &right);
    good = good && batch(net, ask, NULL, &error, &right) == 1;
    printf("off by less than 0.06: %s; right about rising, 95 %% or more: %s\n", error < 0.06 ? "yes" : "no",
           right >= 0.95 ? "yes" : "no");
    if (!good)
        fprintf(stderr, "%s\n", tn_error_message());
    tn_optimizer_free(opt);
    tn_loader_free(learn);
    tn_loader_free(ask);
    tn_scope_close(scope);
    return good ? 0 : 1;
}
