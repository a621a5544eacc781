/* Modules, optimisers and loaders on fake GPUs: the same training as on the CPU, and what it costs in copies and waits. */
#include "unit/nn_check.h"
#include "fake/own_process.h"
#include <tenon/cuda.h>

static tn_module *perceptron(int64_t in, int64_t hidden)
{
    tn_manual_seed(7);
    return tn_nn_sequential(tn_nn_linear(in, hidden), tn_nn_relu(), tn_nn_linear(hidden, 10));
}

static tn_transfer_statistics since(tn_device d)
{
    tn_transfer_statistics s = tn_transfer_stats(d);
    tn_reset_transfer_stats(d);
    return s;
}

static void nothing_came_back(tn_device d, const char *what)
{
    tn_transfer_statistics s = since(d);
    if (s.download_pageable.copies + s.download_pinned.copies || s.synchronizations) {
        print_error("%s: %lld copies to the host, %lld waits\n", what,
                    (long long)(s.download_pageable.copies + s.download_pinned.copies), (long long)s.synchronizations);
        fail();
    }
}

/* ---- moving ---- */

static void modules_move(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *net = BUILT(perceptron(6, 5));
    tn_tensor *x = tn_rand(TN_SHAPE(3, 6)), *w = tn_module_parameter(net, "0.weight"), *want = MADE(tn_forward(net, x));
    tn_tensor *steps = MADE(tn_module_add_buffer(net, "steps", tn_ones(TN_SHAPE(2))));
    OK(tn_backward(tn_sum(want)));
    tn_tensor *g = tn_tensor_grad(w), *grad = tn_clone(g);
    assert_ptr_equal(tn_module_to(net, TN_CUDA(1)), net);
    assert_ptr_equal(tn_module_parameter(net, "0.weight"), w);
    assert_ptr_equal(tn_tensor_grad(w), g);
    assert_string_equal(tn_device_text(tn_tensor_device(w)).s, "cuda:1");
    assert_string_equal(tn_device_text(tn_tensor_device(g)).s, "cuda:1");
    assert_ptr_not_equal(tn_module_buffer(net, "steps"), steps);
    assert_string_equal(tn_device_text(tn_tensor_device(tn_module_buffer(net, "steps"))).s, "cuda:1");
    assert_true(tn_tensor_requires_grad(w) && tn_tensor_is_leaf(w));
    assert_true(tn_equal(tn_cpu(g), grad));
    tn_tensor *y = MADE(tn_forward(net, tn_to(x, .device = TN_CUDA(1))));
    assert_true(tn_allclose(tn_cpu(y), want, .rtol = TN_SCALAR(1e-5), .atol = TN_SCALAR(1e-6)));
    FAILS(tn_forward(net, x), TN_EDEVICE,
          "but found at least two devices, cuda:1 and cpu! (when checking argument for "
          "argument mat1 in method wrapper_CUDA_addmm)");
    OK(tn_backward(tn_sum(y)));
    assert_true(tn_allclose(tn_cpu(g), tn_mul(grad, 2), .rtol = TN_SCALAR(1e-4), .atol = TN_SCALAR(1e-5)));
    assert_ptr_equal(tn_module_cuda(net), net); /* the current one: cuda:0 */
    assert_string_equal(tn_device_text(tn_tensor_device(w)).s, "cuda:0");
    assert_ptr_equal(tn_module_cpu(net), net);
    assert_true(tn_allclose(tn_forward(net, x), want));
    FAILS(tn_module_to(net, TN_CUDA(2)), TN_EDEVICE, "invalid device ordinal");
    assert_string_equal(tn_device_text(tn_tensor_device(w)).s, "cpu");
    tn_scope_close(scope);
}

/* A module that does not fit stays where it is, all of it, and works. */
static void too_large_to_move(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *net = BUILT(tn_nn_sequential(tn_nn_linear(8, 8), tn_nn_linear(3000, 3000), tn_nn_linear(3000, 3000),
                                            tn_nn_linear(3000, 3000)));
    tn_tensor *p[8];
    FAILS(tn_module_to(net, TN_CUDA(0)), TN_ENOMEM, "memory");
    assert_int_equal(tn_module_parameters(net, p, 8), 8);
    for (int i = 0; i < 8; i++)
        assert_int_equal(tn_tensor_device(p[i]).type, TN_DEVICE_CPU);
    assert_int_equal(tn_memory_stats(TN_CUDA(0)).allocated, 0);
    MADE(tn_forward(tn_module_nth_child(net, 0), tn_rand(TN_SHAPE(2, 8))));
    BUILT(tn_module_to(tn_module_nth_child(net, 0), TN_CUDA(0)));
    MADE(tn_forward(tn_module_nth_child(net, 0), tn_rand(TN_SHAPE(2, 8), .device = TN_CUDA(0))));
    tn_scope_close(scope);
}

/* ---- training ---- */

typedef tn_optimizer *(*maker)(tn_module *net);

static tn_optimizer *sgd(tn_module *net)
{
    return tn_sgd(net, 0.05, .momentum = 0.9, .weight_decay = 1e-4);
}

static tn_optimizer *adamw(tn_module *net)
{
    return tn_adamw(net, 0.003);
}

enum { STEPS = 20, ROWS = 24, IN = 30 };

static void train(maker make, tn_device d, double *losses)
{
    tn_scope *scope = tn_scope_open();
    tn_module *net = BUILT(tn_module_to(perceptron(IN, 16), d));
    tn_optimizer *opt = make(net);
    tn_manual_seed(3);
    tn_tensor *x = tn_to(tn_randn(TN_SHAPE(ROWS, IN)), .device = d),
              *y = tn_to(tn_randint(0, 10, TN_SHAPE(ROWS)), .device = d);
    for (int i = 0; i < STEPS; i++) {
        tn_scope *inner = tn_scope_open();
        tn_optimizer_zero_grad(opt);
        tn_tensor *loss = MADE(tn_cross_entropy(tn_forward(net, x), y));
        OK(tn_backward(loss));
        OK(tn_clip_grad_norm_(net, 1, NULL));
        OK(tn_optimizer_step(opt));
        if (d.type == TN_DEVICE_CUDA && i > 0)
            nothing_came_back(d, "a training step");
        losses[i] = tn_item(loss);
        if (d.type == TN_DEVICE_CUDA)
            (void)since(d);
        tn_scope_close(inner);
    }
    tn_optimizer_free(opt);
    tn_scope_close(scope);
}

static void trains_as_on_the_cpu(void **state)
{
    (void)state;
    static const maker makers[] = {sgd, adamw};
    double near[STEPS], far[STEPS];
    for (int m = 0; m < 2; m++) {
        train(makers[m], TN_CPU, near);
        train(makers[m], TN_CUDA(0), far);
        for (int i = 0; i < STEPS; i++)
            NEAR(far[i], near[i], 1e-4);
        assert_true(near[STEPS - 1] < 0.8 * near[0]);
    }
}

/* State: made where the parameters are; saved from there, loaded there. */
static void state_goes_through_files(void **state)
{
    (void)state;
    const tn_device d = TN_CUDA(0);
    char path[] = "/tmp/tenon-integ-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    tn_scope *scope = tn_scope_open();
    tn_module *net = BUILT(tn_module_to(perceptron(6, 5), d)), *other = BUILT(tn_module_to(perceptron(6, 5), d));
    tn_tensor *x = tn_rand(TN_SHAPE(4, 6), .device = d);
    tn_optimizer *opt = tn_adamw(net, 0.1), *opt2 = tn_adamw(other, 0.1);
    OK(tn_backward(tn_sum(tn_forward(net, x))));
    OK(tn_optimizer_step(opt));
    tn_named named[32];
    const char *names[32];
    tn_tensor *tensors[32];
    size_t n = tn_module_state(net, named, 32);
    n += tn_optimizer_state(opt, named + n, 32 - n);
    assert_int_equal(n, 4 + 4 * 3);
    for (size_t i = 0; i < n; i++) {
        names[i] = named[i].name;
        tensors[i] = named[i].tensor;
    }
    assert_string_equal(tn_device_text(tn_tensor_device(tensors[5])).s, "cuda:0"); /* exp_avg */
    OK(tn_save_safetensors(path, names, ((tn_tensors){tensors, n})));
    tn_safetensors *file = tn_safetensors_open(path);
    assert_non_null(file);
    for (size_t i = 0; i < n; i++)
        named[i].tensor = MADE(tn_safetensors_tensor(file, names[i]));
    tn_tensor *w = tn_module_parameter(other, "0.weight");
    tn_fill_(tn_detach(w), TN_SCALAR(0));
    OK(tn_module_load_state(other, named, 4));
    OK(tn_optimizer_load_state(opt2, named + 4, n - 4));
    assert_string_equal(tn_device_text(tn_tensor_device(w)).s, "cuda:0");
    assert_true(tn_equal(w, tn_module_parameter(net, "0.weight")));
    for (int i = 0; i < 2; i++) { /* both go on alike */
        tn_module *m = i ? other : net;
        tn_module_zero_grad(m);
        OK(tn_backward(tn_sum(tn_forward(m, x))));
        OK(tn_optimizer_step(i ? opt2 : opt));
    }
    assert_true(tn_equal(w, tn_module_parameter(net, "0.weight")));
    OK(tn_save_npy(w, path));
    assert_true(tn_equal(tn_load_npy(path), tn_cpu(tn_detach(w))));
    BUILT(tn_module_cpu(net)); /* the state stays behind: PyTorch's mistake, and its text */
    tn_module_zero_grad(net);
    OK(tn_backward(tn_sum(tn_forward(net, tn_cpu(x)))));
    FAILS_STATUS(tn_optimizer_step(opt), TN_EDEVICE, "but found at least two devices, cpu and cuda:0!");
    tn_safetensors_close(file);
    tn_optimizer_free(opt);
    tn_optimizer_free(opt2);
    tn_scope_close(scope);
    unlink(path);
}

/* ---- batches ---- */

/* The rows of two tensors, as a dataset of one's own. */
static int64_t rows_length(void *ctx)
{
    return tn_tensor_size(((tn_tensor **)ctx)[0], 0);
}

static tn_status rows_get(void *ctx, int64_t i, uint64_t seed, tn_tensor **out, size_t n)
{
    (void)seed;
    for (size_t k = 0; k < n; k++)
        out[k] = tn_select(((tn_tensor **)ctx)[k], 0, i);
    return TN_OK;
}

static void batches_go_to_the_device(void **state)
{
    (void)state;
    const tn_device d = TN_CUDA(1);
    tn_tensor *x = tn_rand(TN_SHAPE(103, 7)), *y = tn_arange(TN_SCALAR(0), TN_SCALAR(103), TN_SCALAR(1)),
              *xy[] = {x, y};
    const tn_dataset rows = {
        .struct_size = sizeof rows, .name = "Rows", .ctx = xy, .length = rows_length, .get = rows_get, .fields = 2};
    for (int32_t kind = 0; kind < 4; kind++) {
        const int32_t prefetch = kind % 2 * 3;
        tn_loader *far = kind < 2 ? tn_loader_new(TN_TENSORS(x, y), .batch_size = 10, .shuffle = true, .seed = 5,
                                                  .device = d, .prefetch = prefetch)
                                  : tn_loader_from(&rows, .batch_size = 10, .shuffle = true, .seed = 5, .device = d,
                                                   .prefetch = prefetch, .workers = prefetch);
        tn_loader *near =
            tn_loader_new(TN_TENSORS(x, y), .batch_size = 10, .shuffle = true, .seed = 5, .pin_memory = true);
        assert_non_null(far);
        assert_string_equal(tn_loader_warning(far), "");
        assert_string_equal(tn_loader_warning(near), "");
        for (int epoch = 0; epoch < 3; epoch++) {
            tn_tensor *a[11][2], *b[2];
            int n = 0;
            (void)since(d);
            while (tn_loader_next(far, a[n], 2) == 1)
                n++;
            assert_int_equal(n, 11);
            tn_transfer_statistics s = since(d);
            assert_int_equal(s.upload_pinned.copies, 22);
            assert_int_equal(s.synchronizations, 0);
            for (int i = 0; i < n; i++) {
                assert_int_equal(tn_loader_next(near, b, 2), 1);
                for (int k = 0; k < 2; k++) {
                    assert_true(tn_tensor_is_pinned(b[k]));
                    assert_string_equal(tn_device_text(tn_tensor_device(a[i][k])).s, "cuda:1");
                    tn_scope *scope = tn_scope_open();
                    assert_true(tn_equal(tn_cpu(a[i][k]), b[k]));
                    tn_scope_close(scope);
                    tn_release(a[i][k]);
                    tn_release(b[k]);
                }
            }
            assert_int_equal(tn_loader_next(near, b, 2), 0);
        }
        tn_loader_free(far);
        tn_loader_free(near);
    }
    assert_int_equal(tn_memory_stats(TN_CUDA(0)).allocated_peak, 0);
    assert_int_equal(tn_memory_stats(d).allocated, 0);
    assert_int_equal(tn_pinned_memory_stats().allocated, 0);
    tn_release(x);
    tn_release(y);
}

/* The second tensor of a batch finds no memory, and the device is reset before the batch is asked for again: the first
 * one, which had arrived, is sent anew. */
static void a_batch_is_sent_whole(void **state)
{
    (void)state;
    const int64_t row = 3 << 20; /* tensors of 24 MiB: each is an allocation of the driver's */
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(4, row))), *y = MADE(tn_full(TN_SHAPE(4, row), 2.0)), *b[2] = {NULL, NULL};
    tn_loader *l = tn_loader_new(TN_TENSORS(x, y), .batch_size = 2, .device = TN_CUDA(0));
    assert_non_null(l);
    FAILS_STATUS(tn_loader_next(l, b, 2) == -1 ? TN_ENOMEM : TN_OK, TN_ENOMEM, "CUDA out of memory.");
    assert_null(b[0]);
    assert_int_equal(tn_memory_stats(TN_CUDA(0)).allocated, 0);
    OK(tn_cuda_reset(TN_CUDA(0)));
    assert_int_equal(tn_loader_next(l, b, 2), 1);
    assert_true(tn_item(MADE(tn_sum(b[0]))) == 2.0 * (double)row);
    assert_true(tn_item(MADE(tn_sum(b[1]))) == 4.0 * (double)row);
    assert_int_equal(tn_loader_next(l, b, 2), 1);
    assert_int_equal(tn_loader_next(l, b, 2), 0);
    tn_loader_free(l);
    tn_scope_close(scope);
}

/* ---- what functions read ---- */

#define QUIET(call) \
    do { \
        (void)since(d); \
        check_made_((call), #call, __FILE__, __LINE__); /* its text, not what its macros make of it */ \
        nothing_came_back(d, #call); \
    } while (0)

/* No function but those that answer to the host reads from the device. */
static void functions_do_not_look(void **state)
{
    (void)state;
    const tn_device d = TN_CUDA(0);
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_randn(TN_SHAPE(6, 5), .device = d), *t = tn_randint(0, 5, TN_SHAPE(6), .device = d);
    tn_tensor *p = tn_softmax(x, 1), *w = tn_rand(TN_SHAPE(5), .device = d), *zero = tn_zeros(TN_SHAPE(), .device = d);
    for (int64_t how = TN_MEAN; how <= TN_NO_REDUCTION; how++) {
        QUIET(tn_cross_entropy(x, t, .reduction = how));
        QUIET(tn_cross_entropy(x, t, .weight = w, .label_smoothing = 0.1, .reduction = how));
        QUIET(tn_cross_entropy(x, p, .weight = w, .label_smoothing = 0.1, .reduction = how));
        QUIET(tn_mse_loss(x, p, .reduction = how));
        QUIET(tn_l1_loss(x, p, .reduction = how));
        QUIET(tn_binary_cross_entropy_with_logits(x, p, .weight = w, .pos_weight = w, .reduction = how));
    }
    QUIET(tn_embedding(x, t, .padding_idx = TN_SCALAR(1)));
    QUIET(tn_embedding(x, t, .max_norm = TN_SCALAR(0.5)));
    QUIET(tn_dropout(x, 0.5));
    QUIET(tn_one_hot(t, 5));
    QUIET(tn_logsumexp(x, .dim = 1));
    QUIET(tn_where(tn_gt(x, 0), x, zero));
    QUIET(tn_masked_fill(x, tn_gt(x, 0), zero));
    QUIET(tn_fill(x, zero));
    QUIET(tn_clamp(x, zero, 1));
    QUIET(tn_isclose(x, x));
    QUIET(tn_matmul(x, tn_t(x)));
    QUIET(tn_sum_to_size(x, TN_SHAPE(1, 5)));
    QUIET(tn_pow(x, tn_tensor_from(TN_LIST(2.0), .shape = TN_SHAPE())));
    QUIET(tn_linspace(TN_SCALAR(0), TN_SCALAR(1), 7, .device = d));
    QUIET(tn_randperm(7, .device = d));
    QUIET(tn_eye(3, -1, .device = d));
    (void)since(d);
    assert_true(tn_equal(x, x)); /* these answer: one small copy, one wait */
    assert_int_equal(since(d).synchronizations, 1);
    assert_true(tn_allclose(x, x));
    assert_int_equal(since(d).synchronizations, 1);
    MADE(tn_one_hot(t, -1));
    assert_int_equal(since(d).synchronizations, 1);
    double norm;
    tn_tensor *leaf = tn_ones(TN_SHAPE(4), .device = d, .requires_grad = true);
    OK(tn_backward(tn_sum(tn_mul(leaf, 3))));
    (void)since(d);
    OK(tn_clip_grad_norm_(TN_TENSORS(leaf), 3, &norm));
    assert_int_equal(since(d).synchronizations, 1);
    NEAR(norm, 6, 1e-6);
    PRINTS(tn_tensor_grad(leaf), "tensor([1.5000, 1.5000, 1.5000, 1.5000], device='cuda:0')");
    tn_scope_close(scope);
}

/* ---- seeds ---- */

static void seeds(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_manual_seed(11);
    tn_tensor *near = tn_rand(TN_SHAPE(9)), *far = tn_rand(TN_SHAPE(9), .device = TN_CUDA(0)),
              *other = tn_rand(TN_SHAPE(9), .device = TN_CUDA(1));
    assert_true(tn_equal(tn_cpu(far), near) && tn_equal(tn_cpu(other), near));
    tn_cuda_manual_seed(12); /* of the current one */
    assert_int_equal(tn_get_rng_state(TN_CUDA(0)).seed, 12);
    assert_int_equal(tn_get_rng_state(TN_CUDA(-1)).seed, 12);
    assert_int_equal(tn_get_rng_state(TN_CUDA(1)).seed, 11);
    assert_int_equal(tn_get_rng_state(TN_CPU).seed, 11);
    tn_cuda_manual_seed_all(13);
    assert_int_equal(tn_get_rng_state(TN_CUDA(1)).seed, 13);
    assert_int_equal(tn_get_rng_state(TN_CUDA(1)).offset, 0);
    assert_int_equal(tn_get_rng_state(TN_CPU).seed, 11);
    OK(tn_cuda_set_device(1));
    tn_cuda_manual_seed(14);
    assert_int_equal(tn_get_rng_state(TN_CUDA(1)).seed, 14);
    OK(tn_cuda_set_device(0));
    tn_scope_close(scope);
}

/* ---- the memory plan ---- */

/* What a GPU's allocator measures. Kernels borrow scratch memory, and products a workspace: the bound. */
static void plans_what_a_gpu_needs(void **state)
{
    (void)state;
    const tn_device d = TN_CUDA(0);
    enum { BATCH = 500, BORROWED = 1 << 20 };
    tn_scope *scope = tn_scope_open();
    tn_module *net = BUILT(tn_module_to(perceptron(784, 500), d));
    tn_memory_needs n;
    OK(tn_memory_plan(net, TN_SHAPE(BATCH, 784), &n, .optimizer = "adamw", .loss = "cross_entropy"));
    assert_int_equal(n.parameters, 1568256 + 2048 + 20480 + 512); /* each rounded up to 512 */
    tn_tensor *x = tn_rand(TN_SHAPE(BATCH, 784), .device = d), *y = tn_randint(0, 10, TN_SHAPE(BATCH), .device = d);
    tn_optimizer *opt = tn_adamw(net, 1e-3);
    for (int i = 0; i < 2; i++) {
        tn_reset_peak_memory_stats(d);
        tn_scope *inner = tn_scope_open();
        tn_optimizer_zero_grad(opt);
        OK(tn_backward(tn_cross_entropy(tn_forward(net, x), y)));
        OK(tn_optimizer_step(opt));
        tn_scope_close(inner);
    }
    int64_t measured = tn_memory_stats(d).allocated_peak;
    print_message("count: planned %lld bytes, measured %lld\n", (long long)n.training_peak, (long long)measured);
    assert_true(n.training_peak <= measured && measured <= n.training_peak + BORROWED);
    tn_optimizer_free(opt);
    tn_scope_close(scope);
}

int main(int argc, char **argv)
{
    static const alone tests[] = {
        ALONE(modules_move, "TENON_FAKE_GPUS=2"),
        ALONE(too_large_to_move, "TENON_FAKE_GPUS=1x80MiB"),
        ANYWHERE(trains_as_on_the_cpu, "TENON_FAKE_GPUS=1"),
        ANYWHERE(state_goes_through_files, "TENON_FAKE_GPUS=1"),
        ALONE(batches_go_to_the_device, "TENON_FAKE_GPUS=2"),
        ALONE(a_batch_is_sent_whole, "TENON_FAKE_GPUS=1x256MiB", "TENON_FAKE_GPU_FAULTS=oom@2,oom@3"),
        ANYWHERE(functions_do_not_look, "TENON_FAKE_GPUS=1"),
        ALONE(seeds, "TENON_FAKE_GPUS=2"),
        ALONE(plans_what_a_gpu_needs, "TENON_FAKE_GPUS=1"),
    };
    return alone_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
