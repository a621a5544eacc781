/* A plugin that uses Tenon, for plugin_host.c: everything that starts threads or keeps memory happens in plugin_work. */
#include <stdio.h>
#include <string.h>
#include <tenon/library.h>
#include <tenon/tenon.h>

/* One training step on 'device', of a size that the pool of threads shares; 0: as it should be. */
static int train(tn_device device)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(256, 128), .device = device);
    tn_tensor *w = tn_full(TN_SHAPE(128, 64), 0.5, .device = device, .requires_grad = true);
    tn_tensor *loss = tn_mean(tn_relu(tn_matmul(x, w))); /* each element is 128 * 0.5 */
    int wrong = tn_backward(loss) != TN_OK || tn_item(loss) != 64 || tn_item(tn_sum(tn_tensor_grad(w))) != 128;
    tn_tensor *large = tn_zeros(TN_SHAPE(1 << 20), .device = device);
    wrong |= tn_item(tn_sum(tn_add(large, 1))) != 1 << 20;
    tn_scope_close(scope);
    return wrong;
}

/* A loader whose thread prepares batches ahead, left in the middle of an epoch. */
static int load(void)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *batch;
    tn_loader *loader = tn_loader_new(TN_TENSORS(tn_arange(0, 4096, 1)), .batch_size = 16, .prefetch = 2);
    int wrong = !loader || tn_loader_next(loader, &batch, 1) != 1 || tn_item(tn_sum(batch)) != 120;
    tn_loader_free(loader);
    tn_scope_close(scope);
    return wrong;
}

static tn_status copy(const tn_op_args *c, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++)
        ((float *)c->out[0].data)[i] = ((const float *)c->in[0].data)[i];
    return TN_OK;
}

/* An operation of the plugin's own, with a long text. The shared library stays, and with it what the plugin before this one
 * registered: that must not be called. */
static int operate(void)
{
    static const tn_op *op;
    static char text[8192];
    if (!op && !tn_op_find("plugin::copy")) {
        memset(text, ' ', sizeof text - 1);
        op = tn_op_register(&(tn_op_def){
            .struct_size = sizeof(tn_op_def), .name = "plugin::copy", .inputs = 1, .cpu = copy, .kernel = text});
        if (!op)
            return 1;
    }
    tn_scope *scope = tn_scope_open();
    int wrong = op && tn_item(tn_sum(tn_op_call(op, TN_TENSORS(tn_ones(TN_SHAPE(100)))))) != 100;
    tn_scope_close(scope);
    return wrong;
}

int plugin_work(void)
{
    int wrong = train(TN_CPU) | load() << 1 | operate() << 3;
    for (int i = 0; i < tn_cuda_device_count(); i++)
        wrong |= train(TN_CUDA(i)) << 2;
    if (wrong && tn_error_message())
        puts(tn_error_message());
    return wrong;
}
