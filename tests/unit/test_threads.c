/* Threads and fork: the pool, tensors used from several threads, a child process that goes on. */
#include "check.h"
#include "core/parallel.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ITEMS = 100000 };
static _Atomic int visits[ITEMS];

static void visit(void *ctx, int64_t begin, int64_t end)
{
    (void)ctx;
    for (int64_t i = begin; i < end; i++)
        atomic_fetch_add(&visits[i], 1);
}

static void every_item_is_visited_once(void **state)
{
    (void)state;
    int32_t was = tn_get_num_threads();
    for (int32_t n = 1; n <= 7; n++) {
        OK(tn_set_num_threads(n));
        memset((void *)visits, 0, sizeof visits);
        tn__parallel_for(ITEMS, 37, visit, NULL);
        for (int i = 0; i < ITEMS; i++)
            assert_int_equal(visits[i], 1);
    }
    OK(tn_set_num_threads(was));
    FAILS_STATUS(tn_set_num_threads(0), TN_EINVAL, "positive");
}

static void nested_calls_run_serially(void *ctx, int64_t begin, int64_t end)
{
    (void)ctx;
    tn__parallel_for((end - begin) * 10, 3, visit, NULL);
}

static void nesting_works(void **state)
{
    (void)state;
    memset((void *)visits, 0, sizeof visits);
    tn__parallel_for(100, 10, nested_calls_run_serially, NULL);
    for (int i = 0; i < 100; i++)
        assert_int_equal(visits[i], 10);
}

/* Results do not depend on the number of threads, to the bit. */
static void sums_are_the_same_with_any_number_of_threads(void **state)
{
    (void)state;
    int32_t was = tn_get_num_threads();
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_randn(TN_SHAPE(1237, 1001)));
    tn_tensor *w = MADE(tn_randn(TN_SHAPE(1001, 300)));
    tn_tensor *first[5] = {NULL};
    for (int32_t n = 1; n <= 4; n++) {
        OK(tn_set_num_threads(n));
        tn_tensor *now[5] = {MADE(tn_sum(x)), MADE(tn_sum(x, .dim = 0)), MADE(tn_sum(x, .dim = 1)), MADE(tn_mm(x, w)),
                             MADE(tn_softmax(x, 1))};
        for (int i = 0; i < 5; i++) {
            if (n == 1)
                first[i] = now[i];
            assert_true(tn_equal(first[i], now[i]));
        }
    }
    OK(tn_set_num_threads(was));
    tn_scope_close(s);
}

/* ---- several user threads ---- */

static tn_tensor *shared_x, *shared_w;

static void *work(void *arg)
{
    long failures = 0;
    (void)arg;
    for (int i = 0; i < 50; i++) {
        tn_scope *s = tn_scope_open();
        tn_tensor *y = tn_relu(tn_mm(shared_x, shared_w));
        tn_tensor *z = tn_sum(tn_mul(y, 2));
        failures += !z || tn_item(z) <= 0;
        failures += tn_add(z, tn_ones(TN_SHAPE(2, 2))) == NULL; /* own error records */
        for (int k = 0; k < 20; k++) /* the tensor itself, back: references of this thread's scope */
            failures += tn_to(shared_x) != shared_x || tn_contiguous(shared_w) != shared_w;
        failures += tn_keep(shared_x) != shared_x;
        tn_release(shared_x); /* what tn_keep took out of the scope */
        failures += tn_mm(shared_x, shared_x) != NULL;
        failures += tn_error_code() != TN_EINVAL;
        tn_error_clear();
        tn_scope_close(s);
    }
    return (void *)failures;
}

static void tensors_are_shared_between_threads(void **state)
{
    (void)state;
    enum { THREADS = 6 };
    pthread_t t[THREADS];
    int64_t before = tn_live_tensors();
    shared_x = MADE(tn_rand(TN_SHAPE(64, 200)));
    shared_w = MADE(tn_rand(TN_SHAPE(200, 100)));
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, work, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failures;
        assert_int_equal(pthread_join(t[i], &failures), 0);
        assert_null(failures);
    }
    tn_release(shared_x);
    tn_release(shared_w);
    assert_int_equal(tn_live_tensors(), before);
}

static void *make_and_leave(void *arg)
{
    *(tn_tensor **)arg = tn_ones(TN_SHAPE(1000)); /* made here, released elsewhere */
    tn_scope_open();
    tn_zeros(TN_SHAPE(10)); /* a scope left open: its tensors stay, as a thread that forgets them */
    return NULL;
}

static void a_thread_may_end_before_its_tensors(void **state)
{
    (void)state;
    pthread_t t;
    tn_tensor *x = NULL;
    assert_int_equal(pthread_create(&t, NULL, make_and_leave, &x), 0);
    assert_int_equal(pthread_join(t, NULL), 0);
    tn_tensor *sum = MADE(tn_sum(x));
    assert_true(tn_item(sum) == 1000);
    tn_release(sum);
    tn_release(x);
}

/* ---- fork ---- */

static int child_status(pid_t pid)
{
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void a_child_process_goes_on(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_rand(TN_SHAPE(400, 400)));
    MADE(tn_mm(x, x)); /* the pool runs */
    double want = tn_item(tn_sum(x));
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(20); /* a child that hangs is killed, and fails */
        tn_tensor *y = tn_mm(x, x);
        bool ok = y && tn_item(tn_sum(x)) == want && tn_item(tn_sum(y)) > 0;
        ok &= tn_item(tn_sum(tn_ones(TN_SHAPE(3000, 1000)))) == 3000000;
        _exit(ok ? 0 : 1);
    }
    MADE(tn_mm(x, x));
    assert_int_equal(child_status(pid), 0);
    tn_scope_close(s);
}

static void *churn(void *arg)
{
    _Atomic bool *stop = arg;
    while (!atomic_load(stop)) {
        tn_tensor *x = tn_rand(TN_SHAPE(300, 300));
        tn_release(tn_exp(x));
        tn_release(x);
    }
    return NULL;
}

static void fork_while_another_thread_works(void **state)
{
    (void)state;
    pthread_t t;
    _Atomic bool stop = false;
    assert_int_equal(pthread_create(&t, NULL, churn, &stop), 0);
    for (int i = 0; i < 20; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            alarm(20);
            tn_tensor *x = tn_ones(TN_SHAPE(500, 500));
            _exit(tn_item(tn_sum(tn_add(x, 1))) == 500000 ? 0 : 1);
        }
        assert_int_equal(child_status(pid), 0);
    }
    atomic_store(&stop, true);
    pthread_join(t, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_is_visited_once),
        cmocka_unit_test(nesting_works),
        cmocka_unit_test(sums_are_the_same_with_any_number_of_threads),
        cmocka_unit_test(tensors_are_shared_between_threads),
        cmocka_unit_test(a_thread_may_end_before_its_tensors),
        cmocka_unit_test(a_child_process_goes_on),
        cmocka_unit_test(fork_while_another_thread_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
