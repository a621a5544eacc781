/* What goes wrong in a step over several GPUs: a forward that fails, memory that runs out, devices that are lost. One error
 * says where and what; parameters, buffers and gradients are as before; the next step works on what is left. */
#include "fake/parallel/helpers.h"

/* ---- what must not change ---- */

typedef struct snapshot {
    size_t n;
    tn_tensor *p[KIT_MOST], *value[KIT_MOST], *grad[KIT_MOST], *grad_value[KIT_MOST];
    uint32_t version[KIT_MOST], grad_version[KIT_MOST];
} snapshot;

static snapshot take(tn_module *net)
{
    snapshot s;
    tn_named b[KIT_MOST];
    s.n = tn_module_parameters(net, s.p, KIT_MOST);
    size_t buffers = tn_module_named_buffers(net, b, KIT_MOST);
    for (size_t i = 0; i < buffers; i++)
        s.p[s.n++] = b[i].tensor;
    assert_true(s.n <= KIT_MOST);
    for (size_t i = 0; i < s.n; i++) {
        s.value[i] = kit_copy(s.p[i]);
        s.version[i] = tn_tensor_version(s.p[i]);
        s.grad[i] = tn_tensor_grad(s.p[i]);
        s.grad_value[i] = kit_copy(s.grad[i]);
        s.grad_version[i] = s.grad[i] ? tn_tensor_version(s.grad[i]) : 0;
    }
    return s;
}

static void check_unchanged(const snapshot *s, bool gradients, const char *file, int line)
{
    for (size_t i = 0; i < s->n; i++) {
        kit_near(s->p[i], s->value[i], 0, "a parameter or buffer after the failure", file, line);
        if (tn_tensor_version(s->p[i]) != s->version[i]) {
            print_error("parameter %d: version %d, was %d\n", (int)i, (int)tn_tensor_version(s->p[i]),
                        (int)s->version[i]);
            _fail(file, line);
        }
        if (!gradients)
            continue;
        tn_tensor *g = tn_tensor_grad(s->p[i]);
        kit_near(g, s->grad_value[i], 0, "a gradient after the failure", file, line);
        if (g != s->grad[i] || (g && tn_tensor_version(g) != s->grad_version[i])) {
            print_error("gradient %d is another tensor, or was written to\n", (int)i);
            _fail(file, line);
        }
    }
}
#define UNCHANGED(s) check_unchanged(&(s), true, __FILE__, __LINE__)

/* The next step, beside the CPU. */
static void check_works(tn_module *dp, kit_maker make, const char *file, int line)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = kit_rows(9), *y = kit_classes(9);
    kit_outcome want = kit_reference(make, x, y);
    tn_module_zero_grad(dp);
    tn_tensor *loss = kit_loss(dp, x, y);
    check_made_(loss, "the next forward", file, line);
    check_ok_(tn_backward(loss) == TN_OK, "the next backward", file, line);
    kit_outcome got = {.loss = kit_copy(loss)};
    kit_gradients(dp, &got);
    kit_same(&got, &want, 1e-5, "the next step", file, line);
    tn_module_zero_grad(dp);
    tn_scope_close(scope);
}
#define WORKS(dp, make) check_works((dp), (make), __FILE__, __LINE__)

/* ---- a forward that fails ---- */

enum { BY_SHAPE = 1, BY_INDEX, BY_NOTHING };
static _Atomic int fails_how, finished;
static _Atomic unsigned fails_where; /* bits: devices */

static tn_tensor *picky_forward(tn_module *self, tn_tensor *x)
{
    tn_tensor *h = kit_user_forward(self, x);
    tn_device here = tn_tensor_device(x);
    if (h && here.type == TN_DEVICE_CUDA && (atomic_load(&fails_where) >> here.index & 1))
        switch (atomic_load(&fails_how)) {
        case BY_SHAPE: return tn_matmul(h, h);
        case BY_INDEX: return tn_select(h, 1, 77);
        default: return NULL;
        }
    atomic_fetch_add(&finished, h != NULL);
    return h;
}

static tn_module *picky(void)
{
    static const tn_module_class cls = {.struct_size = sizeof cls, .name = "Picky", .forward = picky_forward};
    return kit_user_of(&cls);
}

static int lowest(unsigned bits)
{
    int i = 0;
    while (!(bits >> i & 1))
        i++;
    return i;
}

static void one_failure(tn_module *dp, unsigned where, int how)
{
    static const struct {
        tn_status code;
        const char *text;
    } says[] = {{0, ""},
                {TN_EINVAL, "mat1 and mat2 shapes cannot be multiplied"},
                {TN_EINDEX, "out of range"},
                {TN_EINVAL, "gave NULL, but no failed call is on record"}};
    char start[64];
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = kit_rows(9), *y = kit_classes(9);
    (void)kit_step(dp, x, y); /* there are gradients */
    snapshot s = take(dp);
    int64_t tensors = tn_live_tensors();
    atomic_store(&finished, 0);
    atomic_store(&fails_where, where);
    atomic_store(&fails_how, how);
    tn_tensor *out = tn_forward(dp, x);
    atomic_store(&fails_where, 0);
    assert_null(out);
    snprintf(start, sizeof start, "Caught an error in replica %d on device %d.\n", lowest(where), lowest(where));
    if (strncmp(tn_error_message(), start, strlen(start)) != 0 || tn_error_code() != says[how].code ||
        !strstr(tn_error_message(), says[how].text)) {
        print_error("failure %d on %x: %s: %s\n", how, where, tn_status_name(tn_error_code()), tn_error_message());
        fail();
    }
    assert_null(strstr(tn_error_message() + strlen(start), "Caught an error")); /* once */
    tn_error_clear();
    assert_int_equal(atomic_load(&finished),
                     tn_cuda_device_count() - __builtin_popcount(where)); /* others did finish */
    assert_int_equal(tn_live_tensors(), tensors);
    UNCHANGED(s);
    tn_scope_close(scope);
    WORKS(dp, picky);
}

static void a_replica_fails(void **state)
{
    (void)state;
    static const unsigned where[] = {1, 2, 4, 6, 7};
    tn_scope *scope = tn_scope_open();
    tn_module *dp = kit_over((size_t)tn_cuda_device_count(), picky());
    for (size_t i = 0; i < 5; i++)
        for (int how = BY_SHAPE; how <= BY_NOTHING; how++)
            one_failure(dp, where[i], how);
    kit_end(scope);
}

/* Modules of the library: an input that does not fit. */
static void bad_inputs(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *dp = kit_over(2, kit_sequential());
    (void)kit_step(dp, kit_rows(9), kit_classes(9));
    snapshot s = take(dp);
    FAILS(tn_forward(dp, tn_ones(TN_SHAPE(8, KIT_IN + 1))), TN_EINVAL, "Caught an error in replica 0 on device 0.");
    FAILS(tn_forward(dp, tn_ones(TN_SHAPE(8, KIT_IN + 1))), TN_EINVAL, "mat1 and mat2 shapes cannot be multiplied");
    FAILS(tn_forward(dp, tn_ones(TN_SHAPE(8, KIT_IN), .dtype = TN_F64)), TN_EDTYPE, "replica 0 on device 0");
    FAILS(tn_forward(dp, tn_ones(TN_SHAPE())), TN_EVALUE, "");
    FAILS(tn_forward(dp, TN_NONE), TN_ETYPE, "");
    UNCHANGED(s);
    WORKS(dp, kit_sequential);
    kit_end(scope);
}

/* Outputs of two shapes cannot be joined. */
static tn_tensor *uneven_forward(tn_module *self, tn_tensor *x)
{
    (void)self;
    return tn_device_equal(tn_tensor_device(x), TN_CUDA(1)) ? tn_narrow(x, 1, 0, 2) : tn_narrow(x, 1, 0, 3);
}

static void uneven_outputs(void **state)
{
    (void)state;
    static const tn_module_class cls = {.struct_size = sizeof cls, .name = "Uneven", .forward = uneven_forward};
    tn_scope *scope = tn_scope_open();
    tn_module *dp = kit_over(2, tn_module_new(&cls, NULL));
    assert_null(tn_forward(dp, kit_rows(4)));
    assert_int_equal(tn_error_code(), TN_EINVAL);
    tn_error_clear();
    MADE(tn_forward(dp, kit_rows(1)));
    kit_end(scope);
}

/* ---- memory ---- */

/* cuda:1 has room for the parameters (a segment of 20 MiB), not for what the forward makes there: 8 rows of 2 MiB, twice. */
static void no_room_in_a_forward(void **state)
{
    (void)state;
    enum { WIDE = 1 << 19 };
    tn_scope *scope = tn_scope_open();
    tn_manual_seed(1);
    tn_module *dp = kit_over(2, tn_nn_sequential(tn_nn_linear(1, WIDE), tn_nn_relu(), tn_nn_flatten()));
    tn_tensor *x = tn_ones(TN_SHAPE(16, 1)), *small = tn_ones(TN_SHAPE(2, 1));
    snapshot s = take(dp);
    OK(tn_cuda_set_per_process_memory_fraction(26.0 / 256, TN_CUDA(1)));
    for (int i = 0; i < 2; i++) {
        FAILS(tn_forward(dp, x), TN_ENOMEM, "Caught an error in replica 1 on device 1.");
        FAILS(tn_forward(dp, x), TN_ENOMEM, "CUDA out of memory.");
        UNCHANGED(s);
    }
    assert_int_equal(tn_tensor_size(MADE(tn_forward(dp, small)), 0), 2);
    OK(tn_cuda_set_per_process_memory_fraction(1, TN_CUDA(1)));
    MADE(tn_forward(dp, x));
    kit_end(scope);
}

/* Each allocation on a device, and all that follow it, fail: in the forward and in the backward pass. TENON_NO_CACHE=1:
 * each tensor is one. */
static int each_allocation(tn_module *dp, kit_maker make, int device)
{
    int n = 1;
    for (;; n++) {
        char fault[32];
        tn_scope *scope = tn_scope_open();
        tn_tensor *x = kit_rows(9), *y = kit_classes(9);
        snapshot s = take(dp);
        snprintf(fault, sizeof fault, "oom@%d+:%d", n, device);
        tn__cu.fake_set_faults(fault);
        tn_tensor *loss = kit_loss(dp, x, y);
        bool forward = loss != NULL, ok = forward && tn_backward(loss) == TN_OK;
        tn__cu.fake_set_faults("");
        if (!ok && tn_error_code() != TN_ENOMEM) {
            print_error("allocation %d on cuda:%d: %s: %s\n", n, device, tn_status_name(tn_error_code()),
                        tn_error_message());
            fail();
        }
        if (!ok && !strstr(tn_error_message(), tn_device_text(TN_CUDA(device)).s) &&
            !strstr(tn_error_message(), device ? "GPU 1" : "GPU 0")) {
            print_error("allocation %d on cuda:%d: the error names no device: %s\n", n, device, tn_error_message());
            fail();
        }
        tn_error_clear();
        check_unchanged(&s, !forward, __FILE__, __LINE__); /* a pass that is cut short leaves what had arrived */
        tn_module_zero_grad(dp);
        tn_scope_close(scope);
        WORKS(dp, make);
        if (ok)
            return n - 1;
    }
}

static void each_device_allocation(void **state)
{
    (void)state;
    static const kit_maker makers[] = {kit_sequential, kit_user};
    for (int m = 0; m < 2; m++)
        for (int device = 0; device < 2; device++) {
            tn_scope *scope = tn_scope_open();
            tn_module *dp = kit_over(2, makers[m]());
            int n = each_allocation(dp, makers[m], device);
            print_message("count: %d allocations on cuda:%d failed in turn\n", n, device);
            assert_true(n >= 4);
            kit_end(scope);
        }
}

/* ---- lost devices ---- */

/* The n-th thing that the device is told from now on is its last. */
static void lose_at(int device, int n)
{
    char fault[32];
    snprintf(fault, sizeof fault, "lost@%d:%d", n, device);
    tn__cu.fake_set_faults(fault);
}

static void lose(int device)
{
    lose_at(device, 1);
    tn_scope *scope = tn_scope_open();
    tn_tensor *t = tn_ones(TN_SHAPE(4), .device = TN_CUDA(device));
    assert_true(!t || tn_synchronize(TN_CUDA(device)) != TN_OK);
    tn_error_clear();
    tn_scope_close(scope);
    tn__cu.fake_set_faults("");
    assert_true(tn_cuda_is_lost(TN_CUDA(device)));
}

static size_t team_size(tn_module *dp)
{
    tn_device d[KIT_GPUS];
    return tn_team_devices(tn_data_parallel_team(dp), d, KIT_GPUS);
}

/* No device is left out silently for good: after a reset all work again, with copies made anew. */
static void lost_before_the_forward(void **state)
{
    (void)state;
    static const kit_maker makers[] = {kit_sequential, kit_user};
    const size_t n = (size_t)tn_cuda_device_count();
    for (int m = 0; m < 2; m++) {
        tn_scope *scope = tn_scope_open();
        tn_module *dp = kit_over(n, makers[m]());
        WORKS(dp, makers[m]);
        snapshot s = take(dp);
        lose(1);
        assert_int_equal(team_size(dp), n - 1);
        WORKS(dp, makers[m]);
        WORKS(dp, makers[m]);
        tn_parallel_report r[KIT_GPUS];
        size_t rows = tn_team_report(tn_data_parallel_team(dp), r, KIT_GPUS);
        for (size_t i = 0; i < rows; i++)
            assert_true(r[i].device.index != 1 || r[i].samples == 0);
        if (n > 2) {
            lose(2);
            assert_int_equal(team_size(dp), n - 2);
            WORKS(dp, makers[m]);
            OK(tn_cuda_reset(TN_CUDA(2)));
            assert_int_equal(team_size(dp), n - 1);
            WORKS(dp, makers[m]);
        }
        OK(tn_cuda_reset(TN_CUDA(1)));
        assert_int_equal(team_size(dp), n);
        for (int i = 0; i < 3; i++)
            WORKS(dp, makers[m]);
        rows = tn_team_report(tn_data_parallel_team(dp), r, KIT_GPUS);
        assert_int_equal(rows, n);
        assert_true(r[1].samples > 0);
        UNCHANGED(s);
        kit_end(scope);
    }
}

/* A healthy device is reset between two steps: what was kept there is void. */
static void reset_between_steps(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *dp = kit_over((size_t)tn_cuda_device_count(), kit_sequential());
    tn_module_eval(dp);
    for (int i = 0; i < 4; i++) {
        WORKS(dp, kit_sequential);
        OK(tn_cuda_reset(TN_CUDA(1)));
        WORKS(dp, kit_sequential);
        WORKS(dp, kit_sequential);
        bool was = tn_set_grad_enabled(false);
        tn_tensor *x = kit_rows(9), *want = MADE(tn_forward(kit_sequential(), x));
        CLOSE_TO(MADE(tn_forward(dp, x)), want, 1e-5);
        OK(tn_cuda_reset(TN_CUDA(1)));
        CLOSE_TO(MADE(tn_forward(dp, x)), want, 1e-5);
        tn_set_grad_enabled(was);
    }
    kit_end(scope);
}

/* Does the message say which device it was? */
static bool names_device(const char *said, int device)
{
    char text[2][40];
    snprintf(text[0], sizeof text[0], "cuda:%d", device);
    snprintf(text[1], sizeof text[1], "on device %d", device);
    return strstr(said, text[0]) || strstr(said, text[1]);
}

/* cuda:1 dies at the n-th thing that it is told in a step. False: the step was over before. */
static bool dies_at(kit_maker make, int n)
{
    bool died;
    const size_t all = (size_t)tn_cuda_device_count();
    tn_scope *scope = tn_scope_open();
    tn_module *dp = kit_over(all, make());
    WORKS(dp, make);
    tn_tensor *x = kit_rows(9), *y = kit_classes(9);
    snapshot s = take(dp);
    tn_scope *inner = tn_scope_open();
    lose_at(1, n);
    tn_tensor *loss = kit_loss(dp, x, y);
    const bool forward = loss != NULL;
    bool ok = forward && tn_backward(loss) == TN_OK;
    if (!ok) {
        if (tn_error_code() != TN_EDEVICE || !names_device(tn_error_message(), 1)) {
            print_error("lost at %d, %s: %s: %s\n", n, forward ? "backward" : "forward",
                        tn_status_name(tn_error_code()), tn_error_message());
            fail();
        }
        tn_error_clear();
    }
    if (tn_synchronize(TN_CUDA(1)) != TN_OK)
        tn_error_clear();
    tn__cu.fake_set_faults("");
    OK(tn_synchronize(TN_CUDA(0))); /* the others go on */
    died = tn_cuda_is_lost(TN_CUDA(1));
    assert_true(ok || died);
    tn_scope_close(inner);
    check_unchanged(&s, !forward, __FILE__, __LINE__);
    tn_module_zero_grad(dp);
    assert_int_equal(team_size(dp), all - died);
    WORKS(dp, make);
    if (died)
        OK(tn_cuda_reset(TN_CUDA(1)));
    assert_int_equal(team_size(dp), all);
    WORKS(dp, make);
    WORKS(dp, make);
    kit_end(scope);
    return died;
}

static void lost_in_a_step(void **state)
{
    (void)state;
    static const kit_maker makers[] = {kit_sequential, kit_user};
    for (int m = 0; m < 2; m++) {
        int n = 1;
        while (dies_at(makers[m], n))
            n += n < 12 ? 1 : 3;
        print_message("count: cuda:1 lost in a step, at each of %d operations or so\n", n);
        assert_true(n > 8);
    }
}

/* Nobody waits for cuda:1 here: that it is gone is heard of from the steps alone, once, and never passed over in silence. */
static bool heard_of(kit_maker make, int n)
{
    enum { STEPS = 5 };
    int errors = 0, last = -1;
    tn_scope *scope = tn_scope_open();
    tn_module *dp = kit_over(2, make());
    tn_tensor *x = kit_rows(9), *y = kit_classes(9);
    WORKS(dp, make);
    lose_at(1, n);
    for (int i = 0; i < STEPS; i++) {
        tn_scope *inner = tn_scope_open();
        tn_tensor *loss = kit_loss(dp, x, y);
        if (!loss || tn_backward(loss) != TN_OK) {
            if (tn_error_code() != TN_EDEVICE || !names_device(tn_error_message(), 1)) {
                print_error("cuda:1 lost at %d: %s: %s\nlost: cuda:0 %d, cuda:1 %d\n", n,
                            tn_status_name(tn_error_code()), tn_error_message(), tn_cuda_is_lost(TN_CUDA(0)),
                            tn_cuda_is_lost(TN_CUDA(1)));
                fail();
            }
            tn_error_clear();
            errors++;
            last = i;
        }
        tn_module_zero_grad(dp);
        tn_scope_close(inner);
    }
    tn__cu.fake_set_faults("");
    if (!errors && tn_synchronize(TN_CUDA(1)) != TN_OK) { /* it was the last one */
        tn_error_clear();
        errors++;
    }
    bool died = tn_cuda_is_lost(TN_CUDA(1));
    if (errors != died) {
        print_error("cuda:1 lost at %d: %d errors in %d steps, the last in step %d\n", n, errors, STEPS, last);
        fail();
    }
    WORKS(dp, make);
    if (died)
        OK(tn_cuda_reset(TN_CUDA(1)));
    kit_end(scope);
    return died;
}

static void lost_is_heard_of(void **state)
{
    (void)state;
    for (int n = 1; n <= 60; n++)
        assert_true(heard_of(n % 2 ? kit_sequential : kit_user, n));
}

/* The main one: an error that says so, until it is reset; then what was on it is void, and a new network works. */
static void the_main_one_is_lost(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_module *dp = kit_over(2, kit_sequential());
    WORKS(dp, kit_sequential);
    tn_team *team = tn_team_retain(tn_data_parallel_team(dp));
    lose(0);
    FAILS(tn_forward(dp, kit_rows(8)), TN_EDEVICE, "cuda:0");
    FAILS(tn_team_step_new(team), TN_EDEVICE, "cuda:0");
    tn_device d[2];
    assert_int_equal(tn_team_devices(team, d, 2), 1);
    assert_true(tn_device_equal(d[0], TN_CUDA(1)));
    MADE(tn_exp(tn_ones(TN_SHAPE(3), .device = TN_CUDA(1))));
    OK(tn_synchronize(TN_CUDA(1)));
    OK(tn_cuda_reset(TN_CUDA(0)));
    assert_int_equal(tn_team_devices(team, d, 2), 2);
    FAILS(tn_forward(dp, kit_rows(8)), TN_EDEVICE, "void"); /* its parameters are */
    tn_module *next = kit_over(2, kit_sequential());
    WORKS(next, kit_sequential);
    tn_team_release(team);
    kit_end(scope);
}

int main(int argc, char **argv)
{
    static const alone tests[] = {
        ALONE(a_replica_fails, "TENON_FAKE_GPUS=3"),
        ALONE(bad_inputs, "TENON_FAKE_GPUS=2"),
        ALONE(uneven_outputs, "TENON_FAKE_GPUS=2"),
        ALONE(no_room_in_a_forward, "TENON_FAKE_GPUS=2x256MiB"),
        ALONE(each_device_allocation, "TENON_FAKE_GPUS=2x256MiB", "TENON_NO_CACHE=1"),
        ALONE(lost_before_the_forward, "TENON_FAKE_GPUS=4"),
        {"lost_before_the_forward_of_2", lost_before_the_forward, false, {"TENON_FAKE_GPUS=2"}},
        ALONE(reset_between_steps, "TENON_FAKE_GPUS=3"),
        ALONE(lost_in_a_step, "TENON_FAKE_GPUS=2"),
        {"lost_in_a_step_blocking", lost_in_a_step, false, {"TENON_FAKE_GPUS=2", "CUDA_LAUNCH_BLOCKING=1"}},
        {"lost_in_a_step_of_3", lost_in_a_step, false, {"TENON_FAKE_GPUS=3"}},
        ALONE(lost_is_heard_of, "TENON_FAKE_GPUS=2"),
        {"lost_is_heard_of_blocking", lost_is_heard_of, false, {"TENON_FAKE_GPUS=2", "CUDA_LAUNCH_BLOCKING=1"}},
        ALONE(the_main_one_is_lost, "TENON_FAKE_GPUS=2"),
    };
    return alone_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
