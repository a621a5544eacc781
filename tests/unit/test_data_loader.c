/* The loader: which rows, in which order, whoever makes the batches; states; threads; fork. */
#include "test_data.h"
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* Sanitizers need more address space than can be limited. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* Rows that can be told apart: x[i] = {10 i, 10 i + 1}, y[i] = i. */
static tn_tensor *make_x(int64_t rows)
{
    tn_tensor *x = MADE(tn_zeros(TN_SHAPE(rows, 2), .dtype = TN_I32));
    for (int64_t i = 0; i < rows; i++) {
        ((int32_t *)tn_data(x))[2 * i] = (int32_t)(10 * i);
        ((int32_t *)tn_data(x))[2 * i + 1] = (int32_t)(10 * i + 1);
    }
    return x;
}

static tn_tensor *make_y(int64_t rows)
{
    return MADE(tn_arange(0, rows, 1));
}

#define LOADER(x, y, ...) made_loader(tn_loader_new(TN_TENSORS((x), (y)), __VA_ARGS__))

static tn_loader *made_loader(tn_loader *l)
{
    if (!l)
        print_error("%s\n", tn_error_message());
    assert_non_null(l);
    return l;
}

/* The next batch's labels, appended to order; its size, or 0 at the end of an epoch. x's rows must be those of y. */
static int64_t next(tn_loader *l, int64_t *order)
{
    tn_tensor *b[2];
    tn_scope *s = tn_scope_open();
    int32_t r = tn_loader_next(l, b, 2);
    if (r < 0)
        print_error("%s\n", tn_error_message());
    assert_true(r >= 0);
    int64_t n = r ? tn_tensor_size(b[0], 0) : 0;
    for (int64_t i = 0; i < n; i++) {
        const int32_t *x = tn_data(b[0]);
        order[i] = ((const int64_t *)tn_data(b[1]))[i];
        assert_int_equal(x[2 * i], 10 * order[i]);
        assert_int_equal(x[2 * i + 1], 10 * order[i] + 1);
    }
    tn_scope_close(s);
    return n;
}

/* A whole epoch; how many rows it had. */
static int64_t epoch(tn_loader *l, int64_t *order)
{
    int64_t n = 0;
    for (int64_t k; (k = next(l, order + n)) > 0;)
        n += k;
    return n;
}

static void check_order(const int64_t *got, const int64_t *expected, int64_t n)
{
    assert_memory_equal(got, expected, (size_t)n * sizeof *got);
}

/* ---- which rows ---- */

static void in_order(void **state)
{
    (void)state;
    static const int64_t plain[7] = {0, 1, 2, 3, 4, 5, 6};
    int64_t got[7];
    tn_scope *s = tn_scope_open();
    for (int32_t prefetch = 0; prefetch < 3; prefetch++) {
        tn_loader *l = LOADER(make_x(7), make_y(7), .batch_size = 3, .prefetch = prefetch);
        assert_int_equal(tn_loader_batches(l), 3);
        for (int e = 0; e < 3; e++) {
            assert_int_equal(next(l, got), 3);
            assert_int_equal(next(l, got + 3), 3);
            assert_int_equal(next(l, got + 6), 1); /* short */
            assert_int_equal(next(l, got), 0);
            check_order(got, plain, 7);
        }
        tn_loader_free(l);
        l = LOADER(make_x(7), make_y(7), .batch_size = 3, .drop_last = true, .prefetch = prefetch);
        assert_int_equal(tn_loader_batches(l), 2);
        assert_int_equal(epoch(l, got), 6);
        assert_int_equal(epoch(l, got), 6);
        tn_loader_free(l);
        l = LOADER(make_x(7), make_y(7), .prefetch = prefetch); /* batches of one */
        assert_int_equal(tn_loader_batches(l), 7);
        assert_int_equal(next(l, got), 1);
        tn_loader_free(l);
        l = LOADER(make_x(7), make_y(7), .batch_size = INT64_MAX, .prefetch = prefetch);
        assert_int_equal(next(l, got), 7);
        tn_loader_free(l);
    }
    tn_scope_close(s);
}

static void nothing_to_walk_over(void **state)
{
    (void)state;
    int64_t got[1];
    tn_scope *s = tn_scope_open();
    for (int32_t prefetch = 0; prefetch < 3; prefetch++) {
        tn_loader *l = LOADER(make_x(0), make_y(0), .batch_size = 3, .shuffle = true, .prefetch = prefetch);
        assert_int_equal(tn_loader_batches(l), 0);
        assert_int_equal(next(l, got), 0);
        assert_int_equal(next(l, got), 0);
        assert_int_equal(tn_loader_get_state(l).epoch, 2);
        tn_loader_free(l);
        l = LOADER(make_x(2), make_y(2), .batch_size = 3, .drop_last = true, .prefetch = prefetch);
        assert_int_equal(next(l, got), 0);
        tn_loader_free(l);
    }
    tn_scope_close(s);
}

/* ---- shuffling ---- */

/* Computed by a separate program (Python) from the Philox paper and the text of shuffle(): 11 rows. */
static const struct {
    uint64_t seed;
    int64_t epoch, order[11];
} golden[] = {{7, 0, {10, 9, 5, 7, 6, 4, 1, 0, 8, 2, 3}},
              {7, 1, {2, 0, 8, 3, 9, 5, 7, 1, 10, 4, 6}},
              {(UINT64_C(1) << 40) + 7, 5, {8, 3, 4, 9, 0, 5, 1, 10, 2, 7, 6}},
              {7, INT64_C(1) << 33, {9, 3, 6, 7, 10, 2, 0, 1, 4, 8, 5}}};

static void orders_depend_on_seed_and_epoch_alone(void **state)
{
    (void)state;
    int64_t got[11];
    int32_t threads = tn_get_num_threads();
    tn_scope *s = tn_scope_open();
    for (int32_t prefetch = 0; prefetch < 20; prefetch = prefetch * 2 + 1)
        for (int64_t batch = 1; batch < 13; batch += 3)
            for (size_t g = 0; g < 4; g++) {
                OK(tn_set_num_threads(1 + (int32_t)g % 2));
                tn_loader *l = LOADER(make_x(11), make_y(11), .batch_size = batch, .shuffle = true,
                                      .seed = golden[g].seed, .prefetch = prefetch);
                OK(tn_loader_set_state(l, (tn_loader_state){golden[g].seed, golden[g].epoch, 0}));
                assert_int_equal(epoch(l, got), 11);
                check_order(got, golden[g].order, 11);
                if (g == 0) {
                    assert_int_equal(epoch(l, got), 11);
                    check_order(got, golden[1].order, 11);
                }
                tn_loader_free(l);
            }
    OK(tn_set_num_threads(threads));
    tn_scope_close(s);
}

static void every_row_once_in_each_epoch(void **state)
{
    (void)state;
    enum { ROWS = 1000 };
    int64_t got[ROWS], before[ROWS];
    tn_scope *s = tn_scope_open();
    tn_loader *l = LOADER(make_x(ROWS), make_y(ROWS), .batch_size = 64, .shuffle = true, .seed = 1, .prefetch = 2);
    memset(before, 0, sizeof before);
    for (int e = 0; e < 3; e++) {
        bool seen[ROWS] = {false};
        int same = 0;
        assert_int_equal(epoch(l, got), ROWS);
        for (int i = 0; i < ROWS; i++) {
            assert_true(got[i] >= 0 && got[i] < ROWS && !seen[got[i]]);
            seen[got[i]] = true;
            same += got[i] == before[i];
        }
        assert_true(same < 10); /* 1 is expected */
        memcpy(before, got, sizeof got);
    }
    tn_loader_free(l);
    tn_scope_close(s);
}

/* All 24 orders of four rows are equally likely: chi-squared over 24,000 epochs, 23 degrees of freedom. */
static void orders_are_uniform(void **state)
{
    (void)state;
    enum { EPOCHS = 24000 };
    int count[256] = {0};
    int64_t o[4];
    tn_scope *s = tn_scope_open();
    tn_loader *l = LOADER(make_x(4), make_y(4), .batch_size = 4, .shuffle = true, .seed = 99);
    for (int e = 0; e < EPOCHS; e++) {
        assert_int_equal(epoch(l, o), 4);
        count[o[0] << 6 | o[1] << 4 | o[2] << 2 | o[3]]++;
    }
    double chi = 0;
    int orders = 0;
    for (int i = 0; i < 256; i++)
        if (count[i]) {
            orders++;
            chi += (count[i] - 1000.0) * (count[i] - 1000.0) / 1000.0;
        }
    assert_int_equal(orders, 24);
    assert_true(chi < 49.7); /* exceeded with probability 0.001; the seed is fixed */
    tn_loader_free(l);
    tn_scope_close(s);
}

static void seed_from_the_generator(void **state)
{
    (void)state;
    int64_t a[11], b[11], c[11];
    tn_scope *s = tn_scope_open();
    tn_manual_seed(5);
    tn_loader *l = LOADER(make_x(11), make_y(11), .shuffle = true),
              *m = LOADER(make_x(11), make_y(11), .shuffle = true);
    tn_manual_seed(5);
    tn_loader *k = LOADER(make_x(11), make_y(11), .shuffle = true, .prefetch = 2);
    epoch(l, a);
    epoch(m, b);
    epoch(k, c);
    assert_memory_equal(a, c, sizeof a);
    assert_memory_not_equal(a, b, sizeof a);
    tn_loader_free(l);
    tn_loader_free(m);
    tn_loader_free(k);
    tn_scope_close(s);
}

/* ---- the tensors ---- */

static void every_dtype(void **state)
{
    (void)state;
    tn_tensor *t[10], *out[11];
    tn_scope *s = tn_scope_open();
    for (size_t i = 0; i < 10; i++)
        t[i] = tensor_of(&all_values[i]); /* [2, 3] */
    tn_loader *l = made_loader(tn_loader_new(((tn_tensors){t, 10}), .batch_size = 2));
    out[10] = NULL;
    assert_int_equal(tn_loader_next(l, out, 11), 1);
    assert_null(out[10]);
    for (size_t i = 0; i < 10; i++)
        check_tensor(out[i], all_values[i].dtype, TN_SHAPE(2, 3), all_values[i].values);
    tn_loader_free(l);
    tn_scope_close(s);
}

static void any_layout(void **state)
{
    (void)state;
    tn_tensor *out[5];
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_tensor_from(TN_LIST(0, 1, 2, 3, 4, 5), .shape = TN_SHAPE(2, 3)));
    tn_tensor *columns = MADE(tn_transpose(x, 0, 1)); /* rows are not contiguous */
    tn_tensor *part =
        MADE(tn_narrow(MADE(tn_reshape(make_y(12), TN_SHAPE(3, 4))), 1, 1, 2));             /* rows with gaps between */
    tn_tensor *same = MADE(tn_expand(MADE(tn_tensor_from(TN_LIST(7, 8))), TN_SHAPE(3, 2))); /* one row, three times */
    tn_tensor *wide = MADE(tn_zeros(TN_SHAPE(3, 0, 5)));
    tn_tensor *w = MADE(tn_ones(TN_SHAPE(3), .requires_grad = true));
    for (int32_t prefetch = 0; prefetch < 2; prefetch++) {
        tn_loader *l =
            made_loader(tn_loader_new(TN_TENSORS(columns, part, same, wide, w), .batch_size = 2, .prefetch = prefetch));
        assert_int_equal(tn_loader_next(l, out, 5), 1);
        PRINTS(out[0], "tensor([[0, 3],\n        [1, 4]])");
        PRINTS(out[1], "tensor([[1, 2],\n        [5, 6]])");
        PRINTS(out[2], "tensor([[7, 8],\n        [7, 8]])");
        assert_int_equal(tn_tensor_size(out[3], 0), 2);
        assert_int_equal(tn_tensor_size(out[3], 2), 5);
        PRINTS(out[4], "tensor([1., 1.])"); /* without a gradient */
        MADE(tn_fill_(out[2], tn_scalar_i(0)));
        assert_int_equal(tn_loader_next(l, out, 5), 1);
        PRINTS(out[0], "tensor([[2, 5]])");
        PRINTS(out[1], "tensor([[ 9, 10]])");
        PRINTS(out[2], "tensor([[7, 8]])");
        tn_loader_free(l);
    }
    tn_scope_close(s);
}

static void who_owns_the_batches(void **state)
{
    (void)state;
    tn_tensor *out[2];
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_keep(make_x(5)), *y = tn_keep(make_y(5));
    tn_scope_close(s);
    tn_loader *l = LOADER(x, y, .batch_size = 2);
    int64_t live = tn_live_tensors();               /* with the loader's own two */
    assert_int_equal(tn_loader_next(l, out, 2), 1); /* no scope: the caller's */
    assert_int_equal(tn_live_tensors(), live + 2);
    tn_release(out[0]);
    tn_release(out[1]);
    s = tn_scope_open();
    assert_int_equal(tn_loader_next(l, out, 2), 1);
    tn_scope_close(s);
    assert_int_equal(tn_live_tensors(), live);
    tn_release(x); /* the loader has references of its own */
    tn_release(y);
    s = tn_scope_open();
    assert_int_equal(tn_loader_next(l, out, 2), 1);
    PRINTS(out[1], "tensor([4])");
    tn_scope_close(s);
    tn_loader_free(l);
    assert_int_equal(tn_live_tensors(), live - 4);
}

/* A parameter may be walked over; what the module then becomes changes neither memory nor dtype of the batches. */
static void moved_while_it_is_walked_over(void **state)
{
    (void)state;
    for (int32_t prefetch = 0; prefetch < 3; prefetch += 2) {
        tn_scope *s = tn_scope_open();
        tn_module *net = tn_nn_linear(2, 4);
        tn_tensor *w = tn_init_constant_(tn_module_parameter(net, "weight"), 3), *out[1];
        assert_non_null(w);
        tn_loader *l = tn_loader_new(TN_TENSORS(w), .batch_size = 2, .prefetch = prefetch);
        assert_non_null(l);
        assert_non_null(tn_module_to_dtype(net, TN_F16));
        tn_empty_cache(TN_CPU);
        assert_int_equal(tn_loader_next(l, out, 1), 1);
        PRINTS(out[0], "tensor([[3., 3.],\n        [3., 3.]])");
        assert_int_equal(tn_tensor_dtype(w), TN_F16);
        tn_loader_free(l);
        tn_scope_close(s);
    }
}

static void what_is_refused(void **state)
{
    (void)state;
    tn_tensor *out[2];
    tn_scope *s = tn_scope_open();
    tn_tensor *x = make_x(5), *scalar = MADE(tn_ones(TN_SHAPE()));
    FAILS(tn_loader_new(TN_TENSORS(x, make_y(6))), TN_EINVAL,
          "Size mismatch between tensors: tensor 0 has 5 rows, tensor 1 has 6");
    FAILS(tn_loader_new(((tn_tensors){NULL, 0})), TN_EINVAL, "a list of one or more tensors was expected");
    FAILS(tn_loader_new(TN_TENSORS(x, scalar)), TN_EINVAL, "tensor 1 has no dimension to walk over");
    FAILS(tn_loader_new(TN_TENSORS(x, NULL)), TN_EINVAL, "tn_loader_new: an operand is NULL");
    FAILS(tn_loader_new(TN_TENSORS(TN_NONE)), TN_ETYPE, "tensor 0 is TN_NONE");
    FAILS(tn_loader_new(TN_TENSORS(MADE(tn_ones(TN_SHAPE(5), .device = TN_META)))), TN_EDEVICE, "tensor 0 is on meta");
    FAILS(tn_loader_new(TN_TENSORS(x), .batch_size = -1), TN_EVALUE,
          "batch_size should be a positive integer value, but got batch_size=-1");
    FAILS(tn_loader_new(TN_TENSORS(x), .prefetch = -1), TN_EVALUE, "prefetch should be a number of batches");
    tn_tensor *endless = MADE(tn_zeros(TN_SHAPE(INT64_C(1) << 61, 0)));
    FAILS(tn_loader_new(TN_TENSORS(endless), .shuffle = true), TN_EINVAL, "more than can be shuffled");
    tn_loader *l = LOADER(x, x, .batch_size = 2);
    assert_int_equal(tn_loader_next(l, out, 1), -1);
    FAILS_STATUS(tn_error_code(), TN_EINVAL, "room for 2 tensors was expected, got 1");
    assert_int_equal(tn_loader_next(l, NULL, 2), -1);
    tn_error_clear();
    assert_int_equal(tn_loader_next(NULL, out, 2), -1);
    tn_error_clear();
    FAILS_STATUS(tn_loader_set_state(l, (tn_loader_state){0, -1, 0}), TN_EVALUE,
                 "epoch -1, batch 0: an epoch has 3 batches");
    FAILS_STATUS(tn_loader_set_state(l, (tn_loader_state){0, 0, 4}), TN_EVALUE, "batch 4");
    FAILS_STATUS(tn_loader_set_state(l, (tn_loader_state){0, 0, -1}), TN_EVALUE, "batch -1");
    assert_int_equal(tn_loader_get_state(l).batch, 0);
    assert_int_equal(tn_loader_batches(NULL), 0);
    tn_loader_free(l);
    tn_loader_free(NULL);
    tn_scope_close(s);
}

/* ---- states ---- */

static void goes_on_where_another_stopped(void **state)
{
    (void)state;
    int64_t whole[110], rest[110];
    tn_scope *s = tn_scope_open();
    for (int32_t prefetch = 0; prefetch < 4; prefetch += 3)
        for (int stop = 0; stop < 14; stop++) { /* calls before; an epoch is 6 of them */
            tn_loader *l =
                LOADER(make_x(11), make_y(11), .batch_size = 2, .shuffle = true, .seed = 3, .prefetch = prefetch);
            for (int i = 0; i < stop; i++)
                next(l, whole);
            tn_loader_state at = tn_loader_get_state(l);
            assert_int_equal(at.epoch, stop / 7);
            assert_int_equal(at.batch, stop % 7);
            tn_loader *m = LOADER(make_x(11), make_y(11), .batch_size = 2, .shuffle = true, .prefetch = 3 - prefetch);
            OK(tn_loader_set_state(m, at)); /* brings the seed along */
            for (int e = 0; e < 3; e++) {
                int64_t n = epoch(l, whole);
                assert_int_equal(epoch(m, rest), n);
                check_order(rest, whole, n);
            }
            OK(tn_loader_set_state(l, at)); /* back, in the middle of prefetching */
            OK(tn_loader_set_state(m, at));
            assert_int_equal(next(l, whole), next(m, rest));
            check_order(rest, whole, 1);
            tn_loader_free(l);
            tn_loader_free(m);
        }
    tn_scope_close(s);
}

/* ---- the thread ---- */

static void freed_at_any_moment(void **state)
{
    (void)state;
    int64_t got[8];
    tn_scope *s = tn_scope_open();
    tn_tensor *x = make_x(40), *y = make_y(40);
    int64_t live = tn_live_tensors();
    for (int i = 0; i < 300; i++) {
        tn_loader *l =
            LOADER(x, y, .batch_size = 4, .shuffle = i % 2 == 0, .seed = (uint64_t)i + 1, .prefetch = 1 + i % 15);
        for (int k = 0; k < i % 24; k++)
            next(l, got);
        if (i % 3 == 0)
            usleep((useconds_t)(i % 7) * 20);
        tn_loader_free(l);
        assert_int_equal(tn_live_tensors(), live);
    }
    tn_scope_close(s);
}

static void *walk_elsewhere(void *arg)
{
    int64_t got[11];
    epoch(arg, got);
    check_order(got, golden[1].order, 11);
    return NULL;
}

static void any_one_thread_may_use_it(void **state)
{
    (void)state;
    int64_t got[11];
    pthread_t other;
    tn_scope *s = tn_scope_open();
    tn_loader *l = LOADER(make_x(11), make_y(11), .batch_size = 2, .shuffle = true, .seed = 7, .prefetch = 2);
    epoch(l, got);
    check_order(got, golden[0].order, 11);
    assert_int_equal(pthread_create(&other, NULL, walk_elsewhere, l), 0);
    pthread_join(other, NULL);
    assert_int_equal(tn_loader_get_state(l).epoch, 2);
    tn_loader_free(l);
    tn_scope_close(s);
}

static void many_loaders_at_once(void **state)
{
    (void)state;
    tn_loader *l[16];
    int64_t got[11];
    tn_scope *s = tn_scope_open();
    for (int i = 0; i < 16; i++)
        l[i] = LOADER(make_x(11), make_y(11), .batch_size = 1 + i % 5, .shuffle = true, .seed = 7, .prefetch = 4);
    for (int e = 0; e < 2; e++)
        for (int i = 0; i < 16; i++) {
            assert_int_equal(epoch(l[i], got), 11);
            check_order(got, golden[e].order, 11);
        }
    for (int i = 0; i < 16; i++)
        tn_loader_free(l[i]);
    tn_scope_close(s);
}

/* A thread needs 8 MiB of address space for its stack: without them the caller makes the batches. 0, or what is wrong. */
static int without_a_thread(void)
{
    int64_t got[11];
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld", &pages) != 1)
        return 77;
    fclose(f);
    rlim_t bytes = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (1 << 20);
    tn_loader *l = LOADER(make_x(11), make_y(11), .batch_size = 2, .shuffle = true, .seed = 7, .prefetch = 2);
    if (setrlimit(RLIMIT_AS, &(struct rlimit){bytes, RLIM_INFINITY}) != 0)
        return 77;
    if (epoch(l, got) != 11 || memcmp(got, golden[0].order, 88) != 0)
        return 1;
    if (next(l, got) != 2 || next(l, got + 2) != 2)
        return 2;
    if (setrlimit(RLIMIT_AS, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY}) != 0)
        return 77;
    if (epoch(l, got + 4) != 7 || memcmp(got, golden[1].order, 88) != 0) /* a thread takes over */
        return 3;
    tn_loader_free(l);
    return 0;
}

static void a_thread_that_cannot_be_had(void **state)
{
    (void)state;
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(SANITIZED ? 77 : without_a_thread());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("skipped: address space cannot be limited here\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- fork ---- */

/* In the child: the rest of this epoch and the next one are what they would have been. 0, or what is wrong. */
static int child(tn_loader *l, int done, int64_t expected[2][11])
{
    int64_t got[22];
    alarm(20); /* it must not hang */
    if (epoch(l, got) != 11 - done || memcmp(got, expected[0] + done, (size_t)(11 - done) * 8) != 0)
        return 1;
    if (epoch(l, got) != 11 || memcmp(got, expected[1], 88) != 0)
        return 2;
    if (tn_loader_set_state(l, (tn_loader_state){7, 0, 3}) != TN_OK || next(l, got) != 1 || got[0] != expected[0][3])
        return 3;
    tn_loader_free(l);
    return 0;
}

static void a_child_goes_on(void **state)
{
    (void)state;
    int64_t expected[2][11], got[22];
    memcpy(expected[0], golden[0].order, 88);
    memcpy(expected[1], golden[1].order, 88);
    tn_scope *s = tn_scope_open();
    for (int done = 0; done < 12; done++) {
        tn_loader *l = LOADER(make_x(11), make_y(11), .batch_size = 1, .shuffle = true, .seed = 7, .prefetch = 3);
        for (int i = 0; i < done; i++)
            assert_int_equal(next(l, got), 1);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            _exit(child(l, done, expected));
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        assert_int_equal(epoch(l, got), 11 - done); /* the parent's loader is as it was */
        check_order(got, expected[0] + done, 11 - done);
        tn_loader_free(l);
    }
    tn_scope_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_cannot_be_had), /* first: stacks of earlier threads would be used again */
        cmocka_unit_test(in_order),
        cmocka_unit_test(nothing_to_walk_over),
        cmocka_unit_test(orders_depend_on_seed_and_epoch_alone),
        cmocka_unit_test(every_row_once_in_each_epoch),
        cmocka_unit_test(orders_are_uniform),
        cmocka_unit_test(seed_from_the_generator),
        cmocka_unit_test(every_dtype),
        cmocka_unit_test(any_layout),
        cmocka_unit_test(who_owns_the_batches),
        cmocka_unit_test(moved_while_it_is_walked_over),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(goes_on_where_another_stopped),
        cmocka_unit_test(freed_at_any_moment),
        cmocka_unit_test(any_one_thread_may_use_it),
        cmocka_unit_test(many_loaders_at_once),
        cmocka_unit_test(a_child_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
