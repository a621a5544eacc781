/* Datasets and samplers of the user's in a loader: which batches, in which order, whoever calls; their errors; their end. */
#include "test_data.h"
#include "core/alloc.h"
#include <pthread.h>
#include <sys/wait.h>

/* Points: item i is {float32 [2]: i, i / 2} and {int64 []: i % 3}. What may go wrong is said in ctx. */
typedef enum fault {
    NO_FAULT,
    SETS_AN_ERROR,
    SAYS_NOTHING,
    LEAVES_NULL,
    GIVES_NONE,
    GIVES_META,
    NESTED,
    OTHER_SHAPE
} fault;

typedef struct points {
    int64_t length;
    fault fault;
    int64_t at; /* and from there on, every third item */
    _Atomic int closed, calls;
    uint64_t seeds[64];
    pthread_barrier_t *meet;
} points;

static int64_t points_length(void *ctx)
{
    return ((points *)ctx)->length;
}

static bool goes_wrong(const points *p, int64_t i)
{
    return p->fault && i >= p->at && (i - p->at) % 3 == 0;
}

static tn_status points_get(void *ctx, int64_t i, uint64_t seed, tn_tensor **out, size_t n)
{
    points *p = ctx;
    fault f = goes_wrong(p, i) ? p->fault : NO_FAULT;
    assert_int_equal(n, 2);
    assert_null(out[0]);
    p->calls++;
    p->seeds[i % 64] = seed;
    if (p->meet)
        pthread_barrier_wait(p->meet);
    const float x[] = {(float)i, (float)i / 2, 7};
    out[0] = tn_tensor_from(TN_ARRAY(x));
    out[0] = f == OTHER_SHAPE ? out[0] : tn_narrow(out[0], 0, 0, 2);
    out[1] = f == LEAVES_NULL ? NULL : tn_tensor_from(TN_LIST(i % 3), .shape = TN_SHAPE());
    if (f == GIVES_NONE)
        out[0] = TN_NONE;
    if (f == GIVES_META)
        out[0] = tn_zeros(TN_SHAPE(2), .device = TN_META);
    if (f == NESTED)
        out[0] = tn_relu(tn_add(out[0], tn_ones(TN_SHAPE(77))));
    if (f == SETS_AN_ERROR)
        return (void)tn_load_npy("/no/such/file.npy"), tn_error_code();
    return f == SAYS_NOTHING ? TN_EIO : TN_OK;
}

static void points_close(void *ctx)
{
    ((points *)ctx)->closed++;
}

static tn_dataset of(points *p)
{
    return (tn_dataset){.struct_size = sizeof(tn_dataset),
                        .name = "Points",
                        .ctx = p,
                        .length = points_length,
                        .get = points_get,
                        .close = points_close,
                        .fields = 2};
}

#define LOADER(p, ...) made_loader(tn_loader_from(&(tn_dataset[]){of(p)}[0], __VA_ARGS__))

static tn_loader *made_loader(tn_loader *l)
{
    if (!l)
        print_error("%s\n", tn_error_message());
    assert_non_null(l);
    return l;
}

/* The next batch's items, appended to order; how many, or 0 at the end. What a batch holds is checked against the formula. */
static int64_t next(tn_loader *l, int64_t *order)
{
    tn_tensor *b[2];
    tn_scope *s = tn_scope_open();
    int32_t r = tn_loader_next(l, b, 2);
    if (r < 0)
        print_error("%s\n", tn_error_message());
    assert_true(r >= 0);
    int64_t n = r ? tn_tensor_size(b[0], 0) : 0;
    if (r) {
        assert_int_equal(tn_tensor_dtype(b[0]), TN_F32);
        assert_int_equal(tn_tensor_dtype(b[1]), TN_I64);
        assert_int_equal(tn_tensor_ndim(b[1]), 1);
        assert_int_equal(tn_tensor_size(b[0], 1), 2);
        assert_int_equal(tn_tensor_size(b[1], 0), n);
    }
    for (int64_t i = 0; i < n; i++) {
        const float *x = tn_data(b[0]);
        order[i] = (int64_t)x[2 * i];
        assert_true(x[2 * i + 1] == x[2 * i] / 2);
        assert_int_equal(((const int64_t *)tn_data(b[1]))[i], order[i] % 3);
    }
    tn_scope_close(s);
    return n;
}

static int64_t epoch(tn_loader *l, int64_t *order)
{
    int64_t n = 0;
    for (int64_t k; (k = next(l, order + n)) > 0;)
        n += k;
    return n;
}

/* ---- which items ---- */

/* The orders of seed 7 as test_data_loader.c has them: computed by a separate program from the Philox paper. */
static const int64_t golden[2][11] = {{10, 9, 5, 7, 6, 4, 1, 0, 8, 2, 3}, {2, 0, 8, 3, 9, 5, 7, 1, 10, 4, 6}};

static void whoever_calls(void **state)
{
    (void)state;
    int64_t got[11], blocks = 0;
    uint64_t seeds[2][11];
    for (int32_t round = 0; round < 2; round++) /* the second one has what threads keep */
        for (int32_t prefetch = 0; prefetch < 3; prefetch++)
            for (int32_t workers = 0; workers < 5; workers++) {
                points p = {.length = 11};
                tn_loader *l = LOADER(&p, .batch_size = 4, .prefetch = prefetch, .workers = workers);
                assert_int_equal(tn_loader_batches(l), 3);
                for (int e = 0; e < 2; e++) {
                    assert_int_equal(epoch(l, got), 11);
                    for (int64_t i = 0; i < 11; i++)
                        assert_int_equal(got[i], i);
                }
                tn_loader_free(l);
                assert_int_equal(p.closed, 1);
                assert_int_equal(p.calls, 22);
                l = LOADER(&p, .batch_size = 4, .prefetch = prefetch, .workers = workers, .shuffle = true, .seed = 7);
                for (int e = 0; e < 2; e++) {
                    assert_int_equal(epoch(l, got), 11);
                    assert_memory_equal(got, golden[e], sizeof got);
                    if (!round && !prefetch && !workers)
                        memcpy(seeds[e], p.seeds, sizeof seeds[e]);
                    assert_memory_equal(seeds[e], p.seeds, sizeof seeds[e]); /* of items, whoever made them */
                }
                assert_memory_not_equal(seeds[0], seeds[1], sizeof seeds[0]);
                tn_loader_free(l);
                l = LOADER(&p, .batch_size = 4, .drop_last = true, .prefetch = prefetch, .workers = workers);
                assert_int_equal(epoch(l, got), 8);
                tn_loader_free(l);
                blocks = round ? blocks : tn_live_tensors();
                assert_int_equal(tn_live_tensors(), blocks);
            }
    assert_int_equal(tn_live_tensors(), 0);
}

static void at_the_same_time(void **state)
{
    (void)state;
    int64_t got[8];
    pthread_barrier_t two; /* each get waits for another one: one thread alone would not come back */
    pthread_barrier_init(&two, NULL, 2);
    for (int32_t prefetch = 0; prefetch < 2; prefetch++) {
        points p = {.length = 8, .meet = &two};
        tn_loader *l = LOADER(&p, .batch_size = 4, .prefetch = prefetch, .workers = 2);
        assert_int_equal(epoch(l, got), 8);
        tn_loader_free(l);
    }
    pthread_barrier_destroy(&two);
}

static void nothing_to_walk_over(void **state)
{
    (void)state;
    int64_t got[8];
    points p = {.length = 0};
    tn_loader *l = LOADER(&p, .batch_size = 4, .shuffle = true, .prefetch = 1);
    assert_int_equal(tn_loader_batches(l), 0);
    assert_int_equal(next(l, got), 0);
    tn_loader_free(l);
}

static void goes_on_where_another_stopped(void **state)
{
    (void)state;
    int64_t a[22], b[22];
    for (int32_t prefetch = 0; prefetch < 3; prefetch += 2) {
        points p = {.length = 11}, q = {.length = 11};
        tn_loader *l = LOADER(&p, .batch_size = 2, .shuffle = true, .prefetch = prefetch),
                  *m = LOADER(&q, .batch_size = 2, .shuffle = true);
        next(l, a);
        next(l, a);
        OK(tn_loader_set_state(m, tn_loader_get_state(l)));
        assert_int_equal(epoch(l, a), 7);
        assert_int_equal(epoch(m, b), 7);
        assert_int_equal(epoch(l, a + 7), 11);
        assert_int_equal(epoch(m, b + 7), 11);
        assert_memory_equal(a, b, 18 * sizeof *a);
        tn_loader_free(l);
        tn_loader_free(m);
    }
}

/* ---- collating ---- */

/* Item i is i % 4 + 1 ones; a batch: padded with zeros, as torch.nn.utils.rnn.pad_sequence does, and the lengths. */
static tn_tensor *shared_lengths; /* that a batch may show, too */

static tn_status words_get(void *ctx, int64_t i, uint64_t seed, tn_tensor **out, size_t n)
{
    (void)ctx;
    (void)seed;
    assert_int_equal(n, 1);
    out[0] = tn_ones(TN_SHAPE(i % 4 + 1), .dtype = TN_I16);
    return TN_OK;
}

static tn_status words_collate(void *ctx, tn_tensor *const *items, size_t count, tn_tensor **out, size_t n)
{
    int64_t most = 0, *length = tn_data(shared_lengths);
    (void)ctx;
    assert_int_equal(n, 3);
    for (size_t j = 0; j < count; j++) {
        length[j] = tn_tensor_numel(items[j]);
        most = length[j] > most ? length[j] : most;
    }
    out[0] = tn_zeros(TN_SHAPE((int64_t)count, most), .dtype = TN_I16);
    for (size_t j = 0; j < count; j++)
        if (!tn_copy_(tn_narrow(tn_select(out[0], 0, (int64_t)j), 0, 0, length[j]), items[j]))
            return tn_error_code();
    out[1] = shared_lengths;
    out[2] = items[0];
    return TN_OK;
}

static int64_t six(void *ctx)
{
    (void)ctx;
    return 6;
}

static void a_collate_of_ones_own(void **state)
{
    (void)state;
    tn_tensor *b[3];
    const tn_dataset words = {.struct_size = sizeof words,
                              .name = "Words",
                              .length = six,
                              .get = words_get,
                              .collate = words_collate,
                              .tensors = 3};
    for (int32_t prefetch = 0; prefetch < 2; prefetch++) {
        tn_scope *s = tn_scope_open();
        shared_lengths = MADE(tn_zeros(TN_SHAPE(3), .dtype = TN_I64));
        tn_loader *l = made_loader(tn_loader_from(&words, .batch_size = 3, .prefetch = prefetch));
        assert_int_equal(tn_loader_next(l, b, 3), 1);
        PRINTS(b[0], "tensor([[1, 0, 0],\n        [1, 1, 0],\n        [1, 1, 1]], dtype=torch.int16)");
        assert_true(b[1] != shared_lengths);
        PRINTS(b[2], "tensor([1], dtype=torch.int16)");
        assert_int_equal(tn_loader_next(l, b, 3), 1);
        PRINTS(b[0], "tensor([[1, 1, 1, 1],\n        [1, 0, 0, 0],\n        [1, 1, 0, 0]], dtype=torch.int16)");
        PRINTS(b[1], "tensor([4, 1, 2])");
        assert_int_equal(tn_loader_next(l, b, 2), 0 - 1);
        FAILS_STATUS(tn_error_code(), TN_EINVAL, "room for 3 tensors was expected, got 2");
        tn_loader_free(l);
        PRINTS(b[1], "tensor([4, 1, 2])");
        tn_scope_close(s);
    }
    assert_int_equal(tn_live_tensors(), 0);
}

/* The dataset's own tensors, one that asks for a gradient: batches do not. */
static tn_status own_get(void *ctx, int64_t i, uint64_t seed, tn_tensor **out, size_t n)
{
    (void)seed;
    (void)n;
    tn_tensor *w = ctx;
    out[0] = tn_mul(w, i); /* not recorded */
    return TN_OK;
}

static void nothing_is_recorded(void **state)
{
    (void)state;
    tn_tensor *b[1];
    tn_scope *s = tn_scope_open();
    const tn_dataset d = {.struct_size = sizeof d,
                          .name = "Own",
                          .length = six,
                          .get = own_get,
                          .ctx = MADE(tn_ones(TN_SHAPE(1), .requires_grad = true))};
    tn_loader *l = made_loader(tn_loader_from(&d, .batch_size = 3));
    assert_int_equal(tn_loader_next(l, b, 1), 1);
    PRINTS(b[0], "tensor([[0.],\n        [1.],\n        [2.]])");
    tn_loader_free(l);
    tn_scope_close(s);
}

/* ---- samplers ---- */

/* Every other row, those with the largest number first; from the second epoch on the odd ones. */
typedef struct every_other {
    int64_t wrong; /* a row that is not there; 0: none */
    bool says_nothing, forgets;
} every_other;

static tn_status every_other_order(void *ctx, uint64_t seed, int64_t epoch, int64_t *rows, int64_t n)
{
    const every_other *o = ctx;
    assert_int_equal(seed, 3);
    for (int64_t i = 0; i < n - o->forgets; i++)
        rows[i] = 2 * (n - 1 - i) + (epoch > 0);
    if (o->wrong)
        rows[2] = o->wrong;
    return o->says_nothing ? TN_EVALUE : TN_OK;
}

static void samplers(void **state)
{
    (void)state;
    static const int64_t even[] = {8, 6, 4, 2, 0}, odd[] = {9, 7, 5, 3, 1};
    int64_t got[16];
    every_other o = {0};
    const tn_sampler sampler = {.struct_size = sizeof sampler, .ctx = &o, .order = every_other_order, .length = 5};
    for (int32_t prefetch = 0; prefetch < 3; prefetch++) {
        points p = {.length = 11};
        tn_loader *l = LOADER(&p, .batch_size = 2, .sampler = &sampler, .seed = 3, .prefetch = prefetch);
        assert_int_equal(tn_loader_batches(l), 3);
        assert_int_equal(epoch(l, got), 5);
        assert_memory_equal(got, even, sizeof even);
        assert_int_equal(epoch(l, got), 5);
        assert_memory_equal(got, odd, sizeof odd);
        tn_loader_free(l);
        tn_scope *s = tn_scope_open(); /* the rows of tensors */
        tn_tensor *b[1];
        l = made_loader(tn_loader_new(TN_TENSORS(tn_arange(0, 11, 1)), .batch_size = 4, .sampler = &sampler, .seed = 3,
                                      .prefetch = prefetch));
        assert_int_equal(tn_loader_next(l, b, 1), 1);
        PRINTS(b[0], "tensor([8, 6, 4, 2])");
        struct {
            every_other o;
            tn_status code;
            const char *text;
        } wrong[] = {{{.wrong = 11}, TN_EINDEX, "the sampler gave row 11 at place 2 of epoch 4: there are 11 rows"},
                     {{.wrong = -1}, TN_EINDEX, "the sampler gave row -1 at place 2 of epoch 4"},
                     {{.forgets = true}, TN_EINDEX, "the sampler gave row -1 at place 4"},
                     {{.says_nothing = true}, TN_EVALUE, "order of the sampler failed with status"}};
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            OK(tn_loader_set_state(l, (tn_loader_state){3, 4, 0})); /* its thread has ended */
            o = wrong[i].o;
            assert_int_equal(tn_loader_next(l, b, 1), -1);
            FAILS_STATUS(tn_error_code(), wrong[i].code, wrong[i].text);
        }
        OK(tn_loader_set_state(l, tn_loader_get_state(l)));
        o = (every_other){0};
        assert_int_equal(tn_loader_next(l, b, 1), 1); /* the same batch again */
        PRINTS(b[0], "tensor([9, 7, 5, 3])");
        tn_loader_free(l);
        tn_scope_close(s);
    }
}

/* ---- errors ---- */

/* Two batches of four are well, items 8 and 11 are not: the first of them is named, whoever calls. */
static void an_item_that_fails(void **state)
{
    (void)state;
    static const struct {
        fault fault;
        tn_status code;
        const char *text;
    } cases[] = {{SETS_AN_ERROR, TN_EIO, "/no/such/file.npy"},
                 {SAYS_NOTHING, TN_EIO, "get of Points failed with status"},
                 {LEAVES_NULL, TN_EINVAL, "get of Points gave NULL as tensor 1 of 2"},
                 {GIVES_NONE, TN_ETYPE, "get of Points gave TN_NONE as tensor 0 of 2"},
                 {GIVES_META, TN_EDEVICE, "get of Points gave a tensor on meta"},
                 {NESTED, TN_EINVAL, "The size of tensor a (2) must match the size of tensor b (77)"}};
    tn_tensor *b[2] = {NULL, NULL};
    int64_t got[4];
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int32_t prefetch = 0; prefetch < 3; prefetch++)
            for (int32_t workers = 0; workers < 5; workers += 2) {
                points p = {.length = 13, .fault = cases[c].fault, .at = 8};
                tn_loader *l = LOADER(&p, .batch_size = 4, .prefetch = prefetch, .workers = workers);
                assert_int_equal(next(l, got), 4);
                assert_int_equal(next(l, got), 4);
                for (int again = 0; again < 2; again++) {
                    assert_int_equal(tn_loader_next(l, b, 2), -1);
                    assert_null(b[0]);
                    assert_non_null(strstr(tn_error_message(), "\n  in item 8 of Points"));
                    FAILS_STATUS(tn_error_code(), cases[c].code, cases[c].text);
                }
                assert_int_equal(tn_loader_get_state(l).batch, 2);
                tn_loader_free(l);
                assert_int_equal(p.closed, 1);
            }
    assert_int_equal(tn_live_tensors(), 0);
}

static void shapes_that_differ(void **state)
{
    (void)state;
    tn_tensor *b[2];
    for (int32_t prefetch = 0; prefetch < 2; prefetch++) {
        points p = {.length = 6, .fault = OTHER_SHAPE, .at = 1};
        tn_loader *l = LOADER(&p, .batch_size = 3, .prefetch = prefetch);
        assert_int_equal(tn_loader_next(l, b, 2), -1);
        assert_non_null(strstr(tn_error_message(), "\n  in field 0 of the items of Points"));
        FAILS_STATUS(tn_error_code(), TN_EINVAL, /* PyTorch's words */
                     "stack expects each tensor to be equal size, but got [2] at entry 0 and [3] at entry 1");
        OK(tn_loader_set_state(l, tn_loader_get_state(l))); /* its thread has ended */
        p.fault = NO_FAULT;                                 /* what was wrong has been mended */
        int64_t got[6];
        assert_int_equal(epoch(l, got), 6);
        tn_loader_free(l);
    }
    assert_int_equal(tn_live_tensors(), 0);
}

static int64_t length_with_error(void *ctx)
{
    (void)ctx;
    return tn_load_npy("/no/such/file.npy") ? 0 : -1;
}

static void lengths(void **state)
{
    (void)state;
    int64_t got[8];
    tn_tensor *b[2];
    points p = {.length = -3};
    tn_dataset d = of(&p);
    FAILS(tn_loader_from(&d), TN_EVALUE, "__len__() should return >= 0\n  the length of Points is -3");
    d.length = length_with_error;
    FAILS(tn_loader_from(&d), TN_EIO, "/no/such/file.npy");
    assert_int_equal(p.closed, 0); /* ctx is still the caller's */
    for (int32_t prefetch = 0; prefetch < 2; prefetch++) {
        p = (points){.length = 5};
        tn_loader *l = LOADER(&p, .batch_size = 2, .prefetch = prefetch);
        assert_int_equal(next(l, got), 2);
        p.length = 6; /* in the middle of an epoch nobody asks */
        assert_int_equal(next(l, got), 2);
        assert_int_equal(next(l, got), 1);
        assert_int_equal(next(l, got), 0);
        assert_int_equal(tn_loader_next(l, b, 2), -1);
        FAILS_STATUS(tn_error_code(), TN_EINVAL, "the length of a dataset changed from 5 to 6");
        p.length = -1;
        assert_int_equal(tn_loader_next(l, b, 2), -1);
        FAILS_STATUS(tn_error_code(), TN_EVALUE, "__len__() should return >= 0");
        p.length = 5;
        assert_int_equal(epoch(l, got), 5);
        tn_loader_free(l);
    }
}

static void what_is_refused(void **state)
{
    (void)state;
    points p = {.length = 5};
    tn_dataset d = of(&p);
    tn_scope *s = tn_scope_open();
    FAILS(tn_loader_from(NULL), TN_EINVAL, "a dataset with its size and a name is needed");
    d.struct_size = 0;
    FAILS(tn_loader_from(&d), TN_EINVAL, "a dataset with its size and a name is needed");
    d = of(&p);
    d.name = NULL;
    FAILS(tn_loader_from(&d), TN_EINVAL, "a dataset with its size and a name is needed");
    d = of(&p);
    d.length = NULL;
    FAILS(tn_loader_from(&d), TN_EINVAL, "Points has no length");
    d = of(&p);
    d.get = NULL;
    FAILS(tn_loader_from(&d), TN_EINVAL, "Points has no get");
    d = of(&p);
    every_other o = {0};
    tn_sampler sampler = {.struct_size = sizeof sampler, .ctx = &o, .order = every_other_order};
    FAILS(tn_loader_from(&d, .shuffle = true, .sampler = &sampler), TN_EVALUE,
          "sampler option is mutually exclusive with shuffle");
    sampler.order = NULL;
    FAILS(tn_loader_from(&d, .sampler = &sampler), TN_EINVAL, "a loader's sampler has its size, an 'order'");
    sampler = (tn_sampler){.struct_size = sizeof sampler, .order = every_other_order, .length = -1};
    FAILS(tn_loader_from(&d, .sampler = &sampler), TN_EINVAL, "a length of 0 to 2^40");
    FAILS(tn_loader_from(&d, .workers = -1), TN_EVALUE, "workers should be a number of threads");
    FAILS(tn_loader_from(&d, .workers = 257), TN_EVALUE, "but got workers=257");
    FAILS(tn_loader_from(&d, .batch_size = -1), TN_EVALUE, "batch_size should be a positive integer value");
    FAILS(tn_loader_from(&d, .batch_size = -1), TN_EVALUE, "test_data_dataset.c:");
    FAILS(tn_loader_new(TN_TENSORS(tn_zeros(TN_SHAPE(2))), .workers = 2), TN_EVALUE, "tensors have no 'get' to call");
    assert_int_equal(p.closed, 0);
    tn_scope_close(s);
}

/* ---- memory, processes ---- */

static void without_memory(void **state)
{
    (void)state;
    int64_t got[8];
    for (int32_t workers = 0; workers < 3; workers += 2) {
        bool failed = true;
        for (int64_t nth = 1; failed; nth++) {
            points p = {.length = 6};
            tn_dataset d = of(&p);
            tn_tensor *b[2];
            tn_scope *s = tn_scope_open();
            tn__door_fail(nth);
            tn_loader *l = tn_loader_from(&d, .batch_size = 4, .shuffle = true, .workers = workers);
            failed = !l || tn_loader_next(l, b, 2) != 1;
            tn__door_fail(0);
            assert_true(!failed || tn_error_code() == TN_ENOMEM);
            tn_error_clear();
            assert_int_equal(p.closed, 0);
            if (l)
                assert_int_equal(epoch(l, got), failed ? 6 : 2);
            tn_loader_free(l);
            assert_int_equal(p.closed, l != NULL);
            tn_scope_close(s);
            assert_int_equal(tn_live_tensors(), 0);
            assert_true(nth < 1000);
        }
    }
}

static void in_a_child(void **state)
{
    (void)state;
    int64_t got[11];
    points p = {.length = 11};
    tn_loader *l = LOADER(&p, .batch_size = 2, .shuffle = true, .seed = 7, .prefetch = 3, .workers = 2);
    assert_int_equal(next(l, got), 2);
    pid_t child = fork();
    if (!child) {
        bool good = epoch(l, got + 2) == 9 && !memcmp(got, golden[0], sizeof got);
        tn_loader_free(l);
        _exit(good ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(epoch(l, got + 2), 9);
    assert_memory_equal(got, golden[0], sizeof got);
    tn_loader_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_calls),
        cmocka_unit_test(at_the_same_time),
        cmocka_unit_test(nothing_to_walk_over),
        cmocka_unit_test(goes_on_where_another_stopped),
        cmocka_unit_test(a_collate_of_ones_own),
        cmocka_unit_test(nothing_is_recorded),
        cmocka_unit_test(samplers),
        cmocka_unit_test(an_item_that_fails),
        cmocka_unit_test(shapes_that_differ),
        cmocka_unit_test(lengths),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(in_a_child),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
