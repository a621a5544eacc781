/* tests/fake/parallel/helpers.h: networks of several kinds, a training step of one, and how two steps are compared. What a step
 * must give comes from the same network on the CPU, which knows nothing of replicas. */
#ifndef TENON_TESTS_FAKE_PARALLEL_HELPERS_H
#define TENON_TESTS_FAKE_PARALLEL_HELPERS_H

#include "unit/nn_check.h"
#include "fake/own_process_gpu.h"
#include <tenon/cuda.h>

enum { KIT_IN = 6, KIT_HIDDEN = 5, KIT_OUT = 4, KIT_MOST = 12, KIT_GPUS = 8 };

/* cuda:0 and the next ones. */
static inline tn_device_list kit_gpus(size_t n)
{
    static const tn_device d[KIT_GPUS] = {{TN_DEVICE_CUDA, 0}, {TN_DEVICE_CUDA, 1}, {TN_DEVICE_CUDA, 2},
                                          {TN_DEVICE_CUDA, 3}, {TN_DEVICE_CUDA, 4}, {TN_DEVICE_CUDA, 5},
                                          {TN_DEVICE_CUDA, 6}, {TN_DEVICE_CUDA, 7}};
    return (tn_device_list){d, n};
}

static inline tn_device_list kit_all(void)
{
    return kit_gpus((size_t)tn_cuda_device_count());
}

/* How many chunks torch.chunk cuts n rows into for that many devices. */
static inline size_t kit_chunks(int64_t rows, size_t devices)
{
    int64_t each = (rows + (int64_t)devices - 1) / (int64_t)devices;
    return (size_t)((rows + each - 1) / each);
}

static inline void kit_on(tn_tensor *t, const char *device)
{
    assert_string_equal(tn_device_text(tn_tensor_device(t)).s, device);
}

/* ---- networks, made on the CPU, the same each time ---- */

static inline tn_module *kit_sequential(void)
{
    tn_manual_seed(7);
    return tn_nn_sequential(tn_nn_linear(KIT_IN, KIT_HIDDEN), tn_nn_tanh(), tn_nn_linear(KIT_HIDDEN, KIT_OUT));
}

/* A user's class whose parts are found by name; ctx is a number. */
static inline tn_tensor *kit_user_forward(tn_module *self, tn_tensor *x)
{
    const double *scale = tn_module_context(self);
    tn_tensor *h = tn_tanh(tn_linear(x, tn_module_parameter(self, "w"), tn_module_parameter(self, "b")));
    return tn_mul(tn_forward(tn_module_child(self, "head"), h), *scale);
}

/* A module of that class, with the parts that kit_user_forward wants. */
static inline tn_module *kit_user_of(const tn_module_class *cls)
{
    static double scale = 1.5;
    tn_manual_seed(7);
    tn_module *m = tn_module_new(cls, &scale);
    tn_module_add_parameter(m, "w", tn_mul(tn_randn(TN_SHAPE(KIT_HIDDEN, KIT_IN)), 0.5));
    tn_module_add_parameter(m, "b", tn_mul(tn_randn(TN_SHAPE(KIT_HIDDEN)), 0.5));
    tn_module_add_child(m, "head", tn_nn_linear(KIT_HIDDEN, KIT_OUT));
    return m;
}

static inline tn_module *kit_user(void)
{
    static const tn_module_class cls = {.struct_size = sizeof cls, .name = "User", .forward = kit_user_forward};
    return kit_user_of(&cls);
}

/* A user's class whose ctx points to its parts, and is made anew for each replica. */
typedef struct kit_parts {
    tn_tensor *w; /* borrowed: the module has them */
    tn_module *head;
} kit_parts;

static _Atomic int kit_parts_made, kit_parts_gone;

static inline kit_parts *kit_parts_of(tn_module *m)
{
    kit_parts *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    *p = (kit_parts){tn_module_parameter(m, "w"), tn_module_child(m, "head")};
    atomic_fetch_add(&kit_parts_made, 1);
    return p;
}

static inline void *kit_parts_replicate(const tn_module *self, tn_module *replica)
{
    return tn_module_context(self) ? kit_parts_of(replica) : NULL;
}

static inline void kit_parts_free(void *ctx)
{
    atomic_fetch_add(&kit_parts_gone, 1);
    free(ctx);
}

static inline tn_tensor *kit_parts_forward(tn_module *self, tn_tensor *x)
{
    const kit_parts *p = tn_module_context(self);
    return tn_forward(p->head, tn_tanh(tn_linear(x, p->w, TN_NONE)));
}

/* It needs its parts before it has them: a class without a ctx builds, then one with it takes over. */
static inline tn_module *kit_held(void)
{
    static const tn_module_class cls = {.struct_size = sizeof cls,
                                        .name = "Held",
                                        .forward = kit_parts_forward,
                                        .destroy = kit_parts_free,
                                        .replicate = kit_parts_replicate};
    tn_manual_seed(7);
    kit_parts *p = calloc(1, sizeof *p);
    atomic_fetch_add(&kit_parts_made, 1);
    tn_module *m = tn_module_new(&cls, p);
    p->w = tn_module_add_parameter(m, "w", tn_mul(tn_randn(TN_SHAPE(KIT_HIDDEN, KIT_IN)), 0.5));
    p->head = tn_module_add_child(m, "head", tn_nn_linear(KIT_HIDDEN, KIT_OUT));
    return m;
}

/* One layer used twice, and one whose weight is another layer's. */
static inline tn_module *kit_shared(void)
{
    tn_manual_seed(7);
    tn_module *twice = tn_nn_linear(KIT_HIDDEN, KIT_HIDDEN), *tied = tn_nn_linear(KIT_HIDDEN, KIT_HIDDEN);
    tn_module_add_parameter(tied, "weight", tn_module_parameter(twice, "weight"));
    return tn_nn_sequential(tn_nn_linear(KIT_IN, KIT_HIDDEN), twice, tn_nn_tanh(), twice, tn_nn_tanh(), tied,
                            tn_nn_linear(KIT_HIDDEN, KIT_OUT));
}

/* A parameter and a child that no forward touches. */
static inline tn_module *kit_unused(void)
{
    tn_module *m = kit_user();
    tn_module_add_parameter(m, "spare", tn_ones(TN_SHAPE(3)));
    tn_module_add_child(m, "idle", tn_nn_linear(2, 2));
    return m;
}

static inline tn_module *kit_frozen(void)
{
    tn_module *m = kit_sequential();
    tn_module_requires_grad_(tn_module_nth_child(m, 0), false);
    return m;
}

/* Buffers that the forward only reads: a float, an integer, a bool, an empty one, one of 0 dimensions. */
static inline tn_tensor *kit_reads_forward(tn_module *self, tn_tensor *x)
{
    tn_tensor *y = tn_linear(x, tn_module_parameter(self, "w"), TN_NONE);
    y = tn_add(tn_mul(y, tn_module_buffer(self, "scale")), tn_module_buffer(self, "shift"));
    return tn_where(tn_module_buffer(self, "keep"), tn_add(y, tn_module_buffer(self, "one")), 0.5);
}

static inline tn_module *kit_reads(void)
{
    static const tn_module_class cls = {.struct_size = sizeof cls, .name = "Reads", .forward = kit_reads_forward};
    tn_manual_seed(7);
    tn_module *m = tn_module_new(&cls, NULL);
    tn_module_add_parameter(m, "w", tn_randn(TN_SHAPE(KIT_OUT, KIT_IN)));
    tn_module_add_buffer(m, "scale", tn_tensor_from(TN_LIST(1.0, 2.0, 0.5, -1.0)));
    tn_module_add_buffer(m, "shift", tn_tensor_from(TN_LIST(3, 1, -2, 0)));
    tn_module_add_buffer(m, "keep", tn_gt(tn_tensor_from(TN_LIST(1, 1, 0, 1)), 0));
    tn_module_add_buffer(m, "none", tn_zeros(TN_SHAPE(0, 3)));
    tn_module_add_buffer(m, "one", tn_ones(TN_SHAPE()));
    return m;
}

typedef tn_module *(*kit_maker)(void);
static const struct kit_model {
    const char *name;
    kit_maker make;
} kit_models[] = {{"sequential", kit_sequential}, {"user", kit_user},     {"held", kit_held},  {"shared", kit_shared},
                  {"unused", kit_unused},         {"frozen", kit_frozen}, {"reads", kit_reads}};
enum { KIT_MODELS = sizeof kit_models / sizeof *kit_models };

/* ---- a step ---- */

/* The loss and the gradients, on the CPU; NULL for a parameter that has none. */
typedef struct kit_outcome {
    tn_tensor *loss, *grad[KIT_MOST];
    size_t n;
} kit_outcome;

static inline tn_tensor *kit_copy(tn_tensor *t)
{
    return t ? MADE(tn_clone(tn_cpu(values(t)))) : NULL;
}

static inline void kit_gradients(tn_module *net, kit_outcome *out)
{
    tn_tensor *p[KIT_MOST];
    out->n = tn_module_parameters(net, p, KIT_MOST);
    assert_true(out->n > 0 && out->n <= KIT_MOST);
    for (size_t i = 0; i < out->n; i++)
        out->grad[i] = kit_copy(tn_tensor_grad(p[i]));
}

static inline tn_tensor *kit_rows(int64_t rows)
{
    tn_manual_seed(100 + (uint64_t)rows);
    return MADE(tn_randn(TN_SHAPE(rows, KIT_IN)));
}

static inline tn_tensor *kit_classes(int64_t rows)
{
    tn_manual_seed(200 + (uint64_t)rows);
    return MADE(tn_randint(0, KIT_OUT, TN_SHAPE(rows)));
}

static inline tn_tensor *kit_loss(tn_module *net, tn_tensor *x, tn_tensor *y)
{
    tn_tensor *out = tn_forward(net, x);
    return out ? tn_cross_entropy(out, tn_to(y, .device = tn_tensor_device(out))) : NULL;
}

/* Forward and backward; gradients are added to what is there. */
static inline kit_outcome kit_step(tn_module *net, tn_tensor *x, tn_tensor *y)
{
    kit_outcome out;
    tn_tensor *loss = MADE(kit_loss(net, x, y));
    OK(tn_backward(loss));
    out.loss = kit_copy(loss);
    kit_gradients(net, &out);
    return out;
}

/* The same step of the network that make makes, on the CPU. */
static inline kit_outcome kit_reference(kit_maker make, tn_tensor *x, tn_tensor *y)
{
    return kit_step(BUILT(make()), x, y);
}

/* ---- comparing: |a - b| <= tolerance * (1 + |b|), element by element ---- */

static inline void kit_near(tn_tensor *a, tn_tensor *b, double tolerance, const char *what, const char *file, int line)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *p = a ? kit_copy(tn_to(values(a), .dtype = TN_F64)) : NULL,
              *q = b ? kit_copy(tn_to(values(b), .dtype = TN_F64)) : NULL;
    p = p ? MADE(tn_contiguous(p)) : NULL;
    q = q ? MADE(tn_contiguous(q)) : NULL;
    if (!p != !q || (p && tn_tensor_numel(p) != tn_tensor_numel(q))) {
        print_error("%s: %s, and should be %s\n", what, p ? "of another size or not absent" : "absent",
                    q ? "there" : "absent");
        _fail(file, line);
    }
    for (int64_t i = 0; p && i < tn_tensor_numel(p); i++) {
        double u = ((const double *)tn_data(p))[i], v = ((const double *)tn_data(q))[i];
        if (!(fabs(u - v) <= tolerance * (1 + fabs(v)))) {
            print_error("%s[%lld]: expected %.9g, got %.9g\n", what, (long long)i, v, u);
            _fail(file, line);
        }
    }
    tn_scope_close(scope);
}
#define CLOSE_TO(a, b, tolerance) kit_near((a), (b), (tolerance), #a, __FILE__, __LINE__)

static inline void kit_same(const kit_outcome *got, const kit_outcome *want, double tolerance, const char *what,
                            const char *file, int line)
{
    char name[160];
    snprintf(name, sizeof name, "%s: loss", what);
    kit_near(got->loss, want->loss, tolerance, name, file, line);
    assert_int_equal(got->n, want->n);
    for (size_t i = 0; i < want->n; i++) {
        snprintf(name, sizeof name, "%s: gradient of parameter %d", what, (int)i);
        kit_near(got->grad[i], want->grad[i], tolerance, name, file, line);
    }
}
#define SAME(got, want, tolerance, what) kit_same(&(got), &(want), (tolerance), (what), __FILE__, __LINE__)

/* A DataParallel of net over n GPUs; net is moved to the first. */
static inline tn_module *kit_over(size_t n, tn_module *net)
{
    return BUILT(tn_nn_data_parallel(BUILT(tn_module_to(net, TN_CUDA(0))), .device_ids = kit_gpus(n)));
}

/* The fakes are silent and no tensor is left, when the test's scope is closed. */
static inline void kit_end(tn_scope *scope)
{
    tn_scope_close(scope);
    for (int32_t i = 0; i < tn_cuda_device_count(); i++)
        OK(tn_synchronize(TN_CUDA(i)));
    assert_int_equal(tn_live_tensors(), 0);
    SILENT();
}

#endif
