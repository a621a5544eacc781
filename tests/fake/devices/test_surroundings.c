/* What surrounds a process: no file can be opened any more, a FIFO stands where a library is named. Each says what the matter
 * is; none hangs. And another library, whose context is current: it stays so. */
#include "fake/own_process.h"
#include "backend/cuda/cuda.h"
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <tenon/data.h>

/* Takes every descriptor that is left. */
static void exhaust(void)
{
    struct rlimit few = {64, 64};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    while (open("/dev/null", O_RDONLY) >= 0)
        ;
}

/* So many that leak checkers can look around at the end. */
static void relax(void)
{
    for (int fd = 56; fd < 64; fd++)
        close(fd);
}

static const char cause[] = "too many open files: this process can open no other (ulimit -n)";

static void no_descriptor_for_the_driver(void **state)
{
    (void)state;
    exhaust();
    assert_null(tn_zeros(TN_SHAPE(2), .device = TN_CUDA(0)));
    assert_non_null(strstr(tn_error_message(), cause));
    assert_null(strstr(tn_error_message(), "was not found"));
    assert_null(strstr(tn_error_message(), "no NVIDIA driver"));
    FAILS(tn_load_npy("/etc/hostname"), TN_EIO, "/etc/hostname: Too many open files");
    assert_null(tn__nvrtc());
    assert_non_null(strstr(tn_error_message(), "could not be opened"));
    assert_non_null(strstr(tn_error_message(), cause));
    tn_error_clear();
    tn_cuda_library l[4];
    assert_int_equal(tn_cuda_libraries(l, 4), 4);
    for (int i = 0; i < 4; i++)
        assert_true(!l[i].found && !strcmp(l[i].missing, cause));
    relax();
}

static void no_descriptor_for_a_kernel(void **state)
{
    char folder[] = "/tmp/tenon-few-XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(folder));
    setenv("TMPDIR", folder, 1);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_zeros(TN_SHAPE(2), .device = TN_CUDA(0)));
    exhaust();
    assert_null(tn_erfc(x));
    print_message("%s\n", tn_error_message());
    assert_true(strstr(tn_error_message(), "Too many open files") || strstr(tn_error_message(), cause));
    tn_error_clear();
    tn_scope_close(s);
    assert_int_equal(rmdir(folder), 0); /* nothing was left in it */
    relax();
}

static void no_descriptor_for_a_blas(void **state)
{
    tn_device_info d;
    (void)state;
    setenv("TENON_BLAS", "libblas.so.3", 1); /* named: with ThreadSanitizer none is looked for otherwise */
    exhaust();
    tn_devices(&d, 1);
    assert_non_null(strstr(d.detail, "own products (too many open files: no BLAS could be opened)"));
    relax();
}

static void a_fifo_is_no_library(void **state)
{
    char folder[] = "/tmp/tenon-fifo-XXXXXX", path[64];
    tn_device_info d;
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/fifo", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    setenv("TENON_BLAS", path, 1);
    setenv("TENON_FAKEGPU_LIBRARY", path, 1);
    alarm(60); /* where it hung */
    tn_devices(&d, 1);
    assert_non_null(strstr(d.detail, "is not a BLAS"));
    FAILS(tn_zeros(TN_SHAPE(2), .device = TN_CUDA(0)), TN_EDEVICE, "cannot be opened");
    unlink(path);
    rmdir(folder);
}

/* ---- another library in the process: its context is this thread's before and after each call ---- */

static int sets;
static tn__cu_result (*set_current)(tn__cu_context);

static tn__cu_result counted(tn__cu_context context)
{
    sets++;
    return set_current(context);
}

static tn__cu_context current_context(void)
{
    tn__cu_context now;
    assert_int_equal(tn__cu.ctx_get_current(&now), 0);
    return now;
}

/* The call, after which the context is the one of before. */
#define LEFT(call) \
    do { \
        const tn__cu_context before_ = current_context(); \
        call; \
        if (current_context() != before_) \
            fail_msg("%s: another context is current", #call); \
    } while (0)

static void operations_on(tn_device d)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x, *y, *z, *host = MADE(tn_ones(TN_SHAPE(40, 30)));
    tn_stream *stream, *main;
    tn_event *event;
    int64_t left, total;
    double ms;
    LEFT(x = MADE(tn_ones(TN_SHAPE(40, 30), .device = d, .requires_grad = true)));
    LEFT(y = MADE(tn_to(host, .device = d)));
    LEFT(z = MADE(tn_add(x, y)));
    LEFT(z = MADE(tn_mm(z, MADE(tn_t(y)))));
    LEFT(z = MADE(tn_softmax(z, 1)));
    LEFT(z = MADE(tn_sum(MADE(tn_mul(z, 2)))));
    LEFT(OK(tn_backward(z)));
    LEFT(assert_true(tn_item(z) > 79.9 && tn_item(z) < 80.1));
    LEFT(MADE(tn_cpu(MADE(tn_tensor_grad(x)))));
    LEFT(MADE(tn_randn(TN_SHAPE(50), .device = d)));
    LEFT(MADE(tn_empty(TN_SHAPE(50), .device = d)));
    LEFT(assert_null(tn_add(y, MADE(tn_ones(TN_SHAPE(7), .device = d)))));
    tn_error_clear();
    LEFT(MADE(tn_pin_memory(host)));
    LEFT(stream = tn_cuda_stream_new(d, 0));
    LEFT(main = tn_cuda_current_stream(d));
    LEFT(OK(tn_stream_wait_stream(stream, main)));
    LEFT(event = tn_event_new(TN_EVENT_TIMING));
    LEFT(OK(tn_event_record(event, stream)));
    LEFT(OK(tn_stream_wait_event(main, event)));
    LEFT(OK(tn_event_synchronize(event)));
    LEFT(assert_true(tn_event_query(event) && tn_stream_query(stream)));
    LEFT(OK(tn_event_elapsed_time(event, event, &ms)));
    LEFT(OK(tn_tensor_record_stream(y, stream)));
    LEFT(OK(tn_stream_synchronize(stream)));
    LEFT(OK(tn_cuda_mem_get_info(d, &left, &total)));
    LEFT(OK(tn_synchronize(d)));
    LEFT(tn_event_release(event));
    LEFT(tn_stream_release(stream));
    LEFT(tn_stream_release(main));
    LEFT(tn_scope_close(s));
    LEFT(tn_empty_cache(d));
    LEFT(tn_empty_pinned_cache());
}

static void the_context_of_others_is_left(void **state)
{
    tn__cu_context mine[2];
    (void)state;
    assert_int_equal(tn_cuda_device_count(), 3);
    for (int which = 0; which < 2; which++) { /* a device that only they use, one that both use */
        assert_int_equal(tn__cu.primary_ctx_retain(&mine[which], which ? 0 : 2), 0);
        assert_int_equal(tn__cu.ctx_set_current(mine[which]), 0);
        operations_on(TN_CUDA(0));
        operations_on(TN_CUDA(1));
    }
    LEFT(OK(tn_cuda_reset(TN_CUDA(1))));
    operations_on(TN_CUDA(1));
    assert_ptr_equal(current_context(), mine[1]);
}

/* What that costs: the driver is told of a context twice where another one was found, and not at all where it was Tenon's. */
static void contexts_are_set_where_they_differ(void **state)
{
    enum { CALLS = 20 };
    tn_tensor *x[2];
    tn__cu_context mine;
    (void)state;
    tn_scope *s = tn_scope_open();
    for (int i = 0; i < 2; i++)
        MADE(tn_add_(x[i] = MADE(tn_ones(TN_SHAPE(4), .device = TN_CUDA(i))), 1));
    set_current = tn__cu.ctx_set_current;
    tn__cu.ctx_set_current = counted;
    assert_int_equal(set_current(NULL), 0);
    for (int i = 0; i < CALLS; i++)
        MADE(tn_add_(x[0], 1));
    assert_int_equal(sets, 1); /* a thread that had none keeps it */
    for (int i = 0; i < CALLS; i++)
        MADE(tn_add_(x[1], 1));
    assert_int_equal(sets, 1 + 2 * CALLS);
    assert_int_equal(tn__cu.primary_ctx_retain(&mine, 1), 0);
    assert_int_equal(set_current(mine), 0);
    for (int i = 0; i < CALLS; i++)
        MADE(tn_add_(x[1], 1));
    assert_int_equal(sets, 1 + 2 * CALLS);
    tn_scope_close(s);
}

int main(int argc, char **argv)
{
    static const alone tests[] = {
        ALONE(no_descriptor_for_the_driver, "TENON_FAKE_GPUS=1x64MiB"),
        {"no_descriptor_for_a_real_driver", no_descriptor_for_the_driver, false, {"TENON_FAKE_GPUS="}},
        ALONE(no_descriptor_for_a_kernel, "TENON_FAKE_GPUS=1x64MiB", "TENON_CACHE_DIR=off"),
        ALONE(the_context_of_others_is_left, "TENON_FAKE_GPUS=3x64MiB"),
        ALONE(contexts_are_set_where_they_differ, "TENON_FAKE_GPUS=2x64MiB"),
        ALONE(no_descriptor_for_a_blas, "TENON_BLAS="),
        ALONE(a_fifo_is_no_library, "TENON_FAKE_GPUS=1x64MiB"),
    };
    return alone_main(tests, TN_COUNT(tests), argc, argv);
}
