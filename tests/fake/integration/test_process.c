/* Processes: one, two and four devices; children of fork(); ends with GPUs in use. */
#include "fake/own_process.h"
#include <pthread.h>
#include <tenon/cuda.h>

/* As many devices as were asked for, each usable, memory apart. */
static void as_many_as_asked(void **state)
{
    (void)state;
    int n = alone_with_real_gpus() ? tn_cuda_device_count() : atoi(getenv("TENON_FAKE_GPUS"));
    tn_device all[8], by_memory[8];
    tn_scope *scope = tn_scope_open();
    assert_int_equal(tn_cuda_device_count(), n);
    assert_int_equal(tn_try_all_gpus(all, 8), n);
    assert_int_equal(tn_cuda_devices_by_free_memory(by_memory, 8), n);
    assert_int_equal(tn_cuda_devices_by_free_memory(NULL, 0), n);
    tn_tensor *sum = tn_zeros(TN_SHAPE(3), .device = all[0]);
    for (int i = 0; i < n; i++) {
        assert_true(tn_device_equal(all[i], TN_CUDA(i)));
        assert_true(tn_device_equal(by_memory[i], TN_CUDA(i))); /* none is used yet: by index */
        tn_tensor *x = MADE(tn_full(TN_SHAPE(3), TN_SCALAR(i + 1), .device = all[i], .dtype = TN_F32));
        sum = MADE(tn_add(sum, tn_to(tn_mul(x, 2), .device = all[0])));
        assert_true(tn_memory_stats(all[i]).allocated > 0);
    }
    assert_int_equal((int)tn_item(tn_select(sum, 0, 1)), n * (n + 1));
    for (int i = 0; i < n; i++) /* every pair, both ways */
        for (int k = 0; k < n; k++) {
            tn_tensor *x = tn_to(tn_full(TN_SHAPE(5), TN_SCALAR(10 * i + k), .device = all[i]), .device = all[k]);
            assert_int_equal(tn_item_int(tn_select(MADE(x), 0, 4)), 10 * i + k);
        }
    tn_tensor *large = MADE(tn_zeros(TN_SHAPE(50 << 20), .device = all[0])); /* the fullest one comes last */
    assert_int_equal(tn_cuda_devices_by_free_memory(by_memory, 8), n);
    assert_true(tn_device_equal(by_memory[n - 1], tn_tensor_device(large)));
    assert_true(tn_device_equal(tn_try_gpu(n - 1), all[n - 1]));
    assert_int_equal(tn_try_gpu(n).type, TN_DEVICE_CPU);
    tn_scope_close(scope);
}

static int in_child(void (*f)(void))
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        f();
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

static tn_tensor *far_one, *near_one;
static tn_loader *loader;

#define NEED(n, x) \
    do { \
        if (!(x)) \
            _exit(n); \
    } while (0)

/* LeakSanitizer asks before it looks. fork() may come while the loader's thread makes a batch, which is lost to the child: it
 * does not look there, where it would find that one or not, as chance has it. */
static bool lost_a_batch;
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return lost_a_batch;
}

static void work_in_child(void)
{
    lost_a_batch = true;
    tn_scope *scope = tn_scope_open();
    NEED(1, tn_item(tn_sum(tn_mul(near_one, 2))) == 12);
    tn_tensor *x = tn_ones(TN_SHAPE(4), .requires_grad = true);
    NEED(2, x && tn_backward(tn_sum(tn_exp(x))) == TN_OK);
    NEED(3, !tn_add(far_one, 1) && tn_error_code() == TN_EDEVICE);
    NEED(4, strstr(tn_error_message(), "Cannot re-initialize CUDA in forked subprocess."));
    NEED(5, !tn_ones(TN_SHAPE(2), .device = TN_CUDA(0)));
    NEED(6, !tn_cpu(far_one) && !tn_to(near_one, .device = TN_CUDA(1)));
    tn_release(far_one); /* gives back nothing: it is the parent's */
    tn_tensor *batch;
    NEED(7, tn_loader_next(loader, &batch, 1) == -1 && tn_error_code() == TN_EDEVICE);
    tn_loader_free(loader);
    tn_scope_close(scope);
    exit(0); /* handlers at exit run, in the child too */
}

static void a_childs_cpu_works(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    far_one = tn_keep(MADE(tn_ones(TN_SHAPE(4), .device = TN_CUDA(0))));
    near_one = tn_keep(MADE(tn_tensor_from(TN_LIST(1.0, 2.0, 3.0))));
    loader = tn_loader_new(TN_TENSORS(tn_rand(TN_SHAPE(20, 3))), .batch_size = 2, .prefetch = 3, .device = TN_CUDA(0));
    tn_tensor *batch;
    assert_int_equal(tn_loader_next(loader, &batch, 1), 1);
    assert_int_equal(in_child(work_in_child), 0);
    PRINTS(tn_add(far_one, 1), "tensor([2., 2., 2., 2.], device='cuda:0')"); /* the parent goes on */
    assert_int_equal(tn_loader_next(loader, &batch, 1), 1);
    tn_loader_free(loader);
    tn_release(far_one);
    tn_release(near_one);
    tn_scope_close(scope);
}

static tn_tensor *left[16]; /* still reachable at the end: that is what is tested */

static void *leave_things(void *arg)
{
    tn_tensor **place = arg;
    tn_scope *scope = tn_scope_open();
    tn_stream *s = tn_cuda_stream_new(TN_CUDA(0), 0);
    OK(tn_cuda_set_stream(s));
    tn_stream_release(s);
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(100), .device = TN_CUDA(0), .requires_grad = true));
    *place = tn_keep(MADE(tn_exp(tn_mul(x, 2)))); /* a graph, and memory of a stream, that outlive the thread */
    tn_scope_close(scope);
    return NULL;
}

/* A process may end with tensors, graphs, streams and copies in flight. */
static void end_in_use(void)
{
    pthread_t t;
    pthread_create(&t, NULL, leave_things, &left[0]);
    pthread_join(t, NULL);
    leave_things(&left[1]);
    left[2] = tn_ones(TN_SHAPE(1 << 20), .pin_memory = true);
    for (int i = 3; i < 13; i++)
        left[i] = tn_to(left[2], .device = TN_CUDA(0), .non_blocking = true);
    exit(0);
}

static void ends_in_use(void **state)
{
    (void)state;
    assert_int_equal(in_child(end_in_use), 0); /* nothing was used before: the child is the first */
}

int main(int argc, char **argv)
{
    static const alone tests[] = {
        {"one device", as_many_as_asked, true, {"TENON_FAKE_GPUS=1"}},
        {"two devices", as_many_as_asked, false, {"TENON_FAKE_GPUS=2"}},
        {"four devices", as_many_as_asked, false, {"TENON_FAKE_GPUS=4"}},
        ANYWHERE(a_childs_cpu_works, "TENON_FAKE_GPUS=2"),
        ANYWHERE(ends_in_use, "TENON_FAKE_GPUS=1"),
    };
    return alone_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
