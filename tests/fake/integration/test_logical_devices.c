/* Several devices on one GPU, TENON_VISIBLE_DEVICES=0,0: each is a device of its own; the fake GPUs, which know but one,
 * see that nothing is left unordered between them. What a GPU has once they share: memory, and the end of its context.
 * Runs on one real GPU too. */
#include "fake/own_process_gpu.h"
#include <math.h>
#include <pthread.h>
#include <tenon/cuda.h>

enum { MIB = 1 << 20 };

static tn_tensor *filled(int32_t device, int64_t n, double value)
{
    return MADE(tn_full(TN_SHAPE(n), TN_SCALAR(value), .device = TN_CUDA(device), .dtype = TN_F32));
}

static double last_of(tn_tensor *x)
{
    return tn_item(MADE(tn_select(x, 0, tn_tensor_size(x, 0) - 1)));
}

static tn__gpu_device *used(int32_t i)
{
    tn__gpu_device *dev = tn__gpu_use(TN_CUDA(i));
    check_ok_(dev != NULL, "tn__gpu_use", __FILE__, __LINE__);
    return dev;
}

/* ---- what they are ---- */

static void they_are_one_gpu(void **state)
{
    (void)state;
    tn_cuda_properties p[2];
    int64_t left[2], total[2];
    assert_int_equal(tn_cuda_device_count(), 3);
    for (int32_t i = 0; i < 3; i++)
        used(i);
    for (int32_t i = 0; i < 2; i++) {
        OK(tn_cuda_device_properties(TN_CUDA(i), &p[i]));
        assert_int_equal(tn_cuda_ordinal(TN_CUDA(i)), 0);
        OK(tn_cuda_mem_get_info(TN_CUDA(i), &left[i], &total[i]));
    }
    assert_int_equal(tn_cuda_ordinal(TN_CUDA(3)), -1);
    assert_int_equal(tn_error_code(), TN_EDEVICE);
    tn_error_clear();
    assert_memory_equal(&p[0], &p[1], sizeof p[0]);
    assert_true(total[0] == total[1] && (left[0] == left[1] || alone_with_real_gpus())); /* others may use real ones */
    assert_int_equal(tn_cuda_physical(TN_CUDA(0)), tn_cuda_physical(TN_CUDA(2)));
    assert_ptr_equal(used(0)->context, used(1)->context);
    assert_ptr_equal(used(0)->context, used(2)->context);
    assert_ptr_not_equal(used(0), used(1));
    FAILS(tn_zeros(TN_SHAPE(1), .device = TN_CUDA(3)), TN_EDEVICE,
          "cuda:3 was asked for; there are 3: TENON_VISIBLE_DEVICES is '0,0,0'");
    CLEAN();
}

static void default_streams_are_apart(void **state)
{
    (void)state;
    tn_stream *a = tn_cuda_default_stream(TN_CUDA(0)), *b = tn_cuda_default_stream(TN_CUDA(1)),
              *c = tn_cuda_default_stream(TN_CUDA(2));
    assert_null(tn_stream_handle(a)); /* a context has one such stream: the first device's */
    assert_non_null(tn_stream_handle(b));
    assert_non_null(tn_stream_handle(c));
    assert_ptr_not_equal(tn_stream_handle(b), tn_stream_handle(c));
    assert_true(tn_stream_id(a) == 0 && tn_stream_id(b) == 0 && tn_stream_priority(b) == 0);
    assert_true(tn_device_equal(tn_stream_device(b), TN_CUDA(1)));
    tn_stream *own = tn_cuda_stream_new(TN_CUDA(1), 0);
    OK(tn_cuda_set_stream(own));
    tn_stream *now = tn_cuda_current_stream(TN_CUDA(0)), *there = tn_cuda_current_stream(TN_CUDA(1));
    assert_ptr_equal(now, a);
    assert_ptr_equal(there, own);
    assert_int_equal(tn_cuda_current_device(), 1);
    OK(tn_cuda_set_stream(b));
    tn_stream *all[] = {a, b, c, own, now, there};
    for (size_t i = 0; i < TN_COUNT(all); i++)
        tn_stream_release(all[i]);
    CLEAN();
}

/* The memory of one used on the other's default stream: found, since that is another stream; ordered, it is silent. */
static void default_streams_order_nothing(void **state)
{
    (void)state;
    tn__storage *x = tn__gpu_allocate(TN_CUDA(0), 4096);
    tn__cu_ptr p = (tn__cu_ptr)(uintptr_t)x->data;
    tn_stream *a = tn_cuda_default_stream(TN_CUDA(0)), *b = tn_cuda_default_stream(TN_CUDA(1));
    OK(tn__cuda_check(used(0), tn__cu.memset_d8_async(p, 1, 4096, a->handle), "memset"));
    FAILS_STATUS(tn__cuda_check(used(1), tn__cu.memset_d8_async(p, 2, 4096, b->handle), "memset"), TN_EDEVICE,
                 "nothing orders the two");
    OK(tn_stream_wait_stream(b, a));
    OK(tn__cuda_check(used(1), tn__cu.memset_d8_async(p, 2, 4096, b->handle), "memset"));
    OK(tn_stream_wait_stream(a, b)); /* it goes back to where it came from */
    tn__storage_release(x);
    tn_stream_release(a);
    tn_stream_release(b);
}

static void all_is_each_ones_own(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = filled(0, 1000, 1), *y = filled(1, 3 * MIB, 2);
    tn_memory_statistics m[3];
    for (int32_t i = 0; i < 3; i++)
        m[i] = tn_memory_stats(TN_CUDA(i));
    assert_true(m[0].allocated == 4096 && m[1].allocated == 12 * MIB && m[2].allocated == 0);
    assert_true(m[0].blocks == 1 && m[1].blocks == 1 && m[2].segments == 0);
    assert_true(m[0].reserved == 2 * MIB && m[1].reserved == 12 * MIB && m[2].reserved == 0);
    tn_transfer_statistics before[2] = {tn_transfer_stats(TN_CUDA(0)), tn_transfer_stats(TN_CUDA(1))};
    MADE(tn_add(y, 1));
    assert_int_equal(tn_transfer_stats(TN_CUDA(0)).launches, before[0].launches);
    assert_int_equal(tn_transfer_stats(TN_CUDA(1)).launches, before[1].launches + 1);
    FAILS(tn_add(x, y), TN_EDEVICE, "found at least two devices, cuda:0 and cuda:1!");
    tn_cuda_manual_seed_all(5); /* generators: one seed, one sequence; then the first alone goes on */
    tn_tensor *r[3];
    for (int32_t i = 0; i < 3; i++)
        r[i] = MADE(tn_cpu(MADE(tn_rand(TN_SHAPE(64), .device = TN_CUDA(i != 0)))));
    assert_true(tn_equal(r[0], r[1]));
    assert_false(tn_equal(r[1], r[2]));
    tn_scope_close(scope);
    CLEAN();
}

static void products_are_right(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_manual_seed(1);
    tn_tensor *a = MADE(tn_floor(MADE(tn_mul(MADE(tn_rand(TN_SHAPE(40, 50))), 8)))), *want = MADE(tn_mm(a, tn_t(a)));
    for (int round = 0; round < 3; round++)
        for (int32_t i = 0; i < tn_cuda_device_count(); i++) {
            tn_tensor *x = MADE(tn_cuda(a, i));
            assert_true(tn_equal(MADE(tn_cpu(MADE(tn_mm(x, tn_t(x))))), want)); /* whole numbers: exact */
        }
    assert_non_null(used(0)->library);
    assert_non_null(used(1)->library);
    assert_ptr_not_equal(used(0)->library, used(1)->library);
    tn_scope_close(scope);
    SILENT();
}

/* ---- moves ---- */

static void every_pair_both_ways(void **state)
{
    (void)state;
    const int32_t n = tn_cuda_device_count();
    tn_scope *scope = tn_scope_open();
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = 0; k < n; k++) {
            int64_t size = k == i ? 5 : 3 * MIB;
            tn_reset_transfer_stats(TN_CUDA(i));
            tn_reset_transfer_stats(TN_CUDA(k));
            tn_tensor *x = filled(i, size, 10 * i + k);
            tn_tensor *y = MADE(tn_to(x, .device = TN_CUDA(k)));
            assert_true(tn_device_equal(tn_tensor_device(y), TN_CUDA(k)));
            MADE(tn_mul_(x, 0)); /* the copy has seen what was there, whatever happens to it now */
            assert_int_equal((int)last_of(y), i == k ? 0 : 10 * i + k);
            int64_t out = tn_transfer_stats(TN_CUDA(i)).peer_out.bytes,
                    in = tn_transfer_stats(TN_CUDA(k)).peer_in.bytes;
            assert_true(out == (i == k ? 0 : 4 * size) && in == out);
            assert_int_equal(tn_transfer_stats(TN_CUDA(i)).staged, 0);
        }
    tn_scope_close(scope);
    CLEAN();
}

/* Within one GPU no link is asked for and no pattern sent: one copy of the driver's for each of Tenon's. */
static void copies_are_plain(void **state)
{
    (void)state;
    uint64_t before[16] = {0}, after[16] = {0};
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = filled(0, MIB, 3);
    used(1);
    tn__cu.fake_counters(0, before);
    for (int i = 0; i < 3; i++)
        MADE(tn_to(x, .device = TN_CUDA(1)));
    tn__cu.fake_counters(0, after);
    assert_int_equal(after[TN__FAKE_D2D] - before[TN__FAKE_D2D], 3);
    assert_int_equal(after[TN__FAKE_D2D_BYTES] - before[TN__FAKE_D2D_BYTES], 12 * MIB);
    assert_int_equal(after[TN__FAKE_P2P] - before[TN__FAKE_P2P], 0);
    assert_int_equal(after[TN__FAKE_H2D] - before[TN__FAKE_H2D], 0);
    assert_int_equal(after[TN__FAKE_SYNCHRONIZATIONS] - before[TN__FAKE_SYNCHRONIZATIONS], 0);
    tn_scope_close(scope);
    CLEAN();
}

static void streams_and_moves(void **state)
{
    (void)state;
    tn_stream *from = tn_cuda_stream_new(TN_CUDA(0), 0), *to = tn_cuda_stream_new(TN_CUDA(1), 0);
    tn_stream_guard g = tn_stream_enter(from), h = tn_stream_enter(to);
    tn_scope *scope = tn_scope_open();
    for (int i = 0; i < 20; i++) {
        tn_scope *inner = tn_scope_open();
        tn_tensor *x = filled(0, MIB / 2, i), *y = MADE(tn_to(MADE(tn_add(x, 1)), .device = TN_CUDA(1)));
        tn_tensor *back = MADE(tn_to(MADE(tn_mul(y, 2)), .device = TN_CUDA(0)));
        assert_int_equal((int)last_of(MADE(tn_sub(back, x))), i + 2);
        tn_scope_close(inner);
    }
    tn_scope_close(scope);
    tn_stream_leave(h);
    tn_stream_leave(g);
    tn_stream_release(from);
    tn_stream_release(to);
    CLEAN();
}

typedef struct worker {
    pthread_t thread;
    int32_t device;
    double got;
} worker;

static void *work(void *arg)
{
    worker *w = arg;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = filled(w->device, 1000, 1);
    for (int i = 0; i < 50; i++) {
        tn_tensor *there = MADE(tn_to(x, .device = TN_CUDA((w->device + 1) % 3)));
        x = MADE(tn_to(MADE(tn_add(there, w->device)), .device = TN_CUDA(w->device)));
    }
    w->got = last_of(x);
    tn_scope_close(scope);
    return NULL;
}

static void a_thread_each(void **state)
{
    (void)state;
    worker w[3];
    for (int i = 0; i < 3; i++) {
        w[i].device = i;
        assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(w[i].thread, NULL);
        assert_int_equal((int)w[i].got, 1 + 50 * i);
    }
    SILENT();
}

/* ---- a step of training, half of the batch on each ---- */

static tn_tensor *loss_of(tn_tensor *weight, tn_tensor *x, tn_tensor *y)
{
    return MADE(tn_mean(MADE(tn_square(MADE(tn_sub(MADE(tn_mm(x, weight)), y))))));
}

static void a_step_by_halves(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_manual_seed(3);
    tn_tensor *x = MADE(tn_randn(TN_SHAPE(16, 6))), *y = MADE(tn_randn(TN_SHAPE(16, 2))),
              *w = MADE(tn_randn(TN_SHAPE(6, 2)));
    MADE(tn_requires_grad_(w, true));
    tn_tensor *want = loss_of(w, x, y);
    OK(tn_backward(want));
    tn_tensor *w0 = MADE(tn_requires_grad_(MADE(tn_cuda(MADE(tn_detach(w)), 0)), true)), *loss[2];
    for (int32_t i = 0; i < 2; i++) {
        tn_tensor *half_x = MADE(tn_cuda(MADE(tn_slice(x, 0, 8 * i, 8 * i + 8, 1)), i)),
                  *half_y = MADE(tn_cuda(MADE(tn_slice(y, 0, 8 * i, 8 * i + 8, 1)), i));
        loss[i] = loss_of(MADE(tn_to(w0, .device = TN_CUDA(i))), half_x, half_y);
        assert_true(tn_device_equal(tn_tensor_device(loss[i]), TN_CUDA(i)));
    }
    tn_tensor *both = MADE(tn_div(MADE(tn_add(loss[0], MADE(tn_to(loss[1], .device = TN_CUDA(0))))), 2));
    OK(tn_backward(both));
    assert_true(fabs(tn_item(both) - tn_item(want)) <= 1e-5 * fabs(tn_item(want)));
    tn_tensor *grad = MADE(tn_cpu(MADE(tn_tensor_grad(w0))));
    assert_true(tn_allclose(grad, MADE(tn_tensor_grad(w)), .rtol = TN_SCALAR(1e-5), .atol = TN_SCALAR(1e-6)));
    tn_scope_close(scope);
    assert_int_equal(tn_live_tensors(), 0);
    CLEAN();
}

/* ---- memory is the GPU's ---- */

/* What one keeps for later is given up when the other needs it. */
static void caches_make_room(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    filled(0, 10 * MIB, 1);
    filled(2, 5 * MIB, 1);
    tn_scope_close(scope);
    assert_int_equal(tn_memory_stats(TN_CUDA(0)).reserved, 40 * MIB);
    scope = tn_scope_open();
    tn_tensor *kept = filled(0, 100, 7), *x = filled(1, 11 * MIB, 2);
    assert_int_equal(tn_memory_stats(TN_CUDA(0)).reserved, 2 * MIB); /* what holds a tensor stays */
    assert_int_equal(tn_memory_stats(TN_CUDA(2)).reserved, 0);
    assert_int_equal(tn_memory_stats(TN_CUDA(1)).ooms, 0);
    assert_int_equal((int)last_of(x), 2);
    assert_int_equal((int)last_of(kept), 7);
    FAILS(tn_empty(TN_SHAPE(11 * MIB), .device = TN_CUDA(2), .dtype = TN_F32), TN_ENOMEM,
          "\n  cuda:0, cuda:1, cuda:2 are one GPU: beside cuda:2 these reserve 46.00 MiB");
    assert_int_equal(tn_memory_stats(TN_CUDA(2)).ooms, 1);
    assert_int_equal(tn_memory_stats(TN_CUDA(1)).ooms, 0);
    tn_scope_close(scope);
    CLEAN();
}

/* A share of the GPU is one of all its devices together. */
static void limits_are_the_gpus(void **state)
{
    (void)state;
    OK(tn_cuda_set_per_process_memory_fraction(0.5, TN_CUDA(1))); /* 32 of 64 MiB */
    tn_scope *scope = tn_scope_open();
    filled(0, 5 * MIB, 1);
    FAILS(tn_empty(TN_SHAPE(5 * MIB), .device = TN_CUDA(1), .dtype = TN_F32), TN_ENOMEM, "32.00 MiB allowed");
    FAILS(tn_empty(TN_SHAPE(5 * MIB), .device = TN_CUDA(0), .dtype = TN_F32), TN_ENOMEM, "32.00 MiB allowed");
    filled(1, 3 * MIB, 1);
    tn_scope_close(scope);
    scope = tn_scope_open();
    OK(tn_cuda_set_per_process_memory_fraction(1, TN_CUDA(0)));
    filled(0, 5 * MIB, 1);
    filled(1, 5 * MIB, 1);
    tn_scope_close(scope);
    OK(tn_cuda_reset(TN_CUDA(0)));
    OK(tn_cuda_set_per_process_memory_fraction(0.5, TN_CUDA(2))); /* nothing is counted that the reset took */
    scope = tn_scope_open();
    filled(1, 7 * MIB, 1);
    tn_scope_close(scope);
    CLEAN();
}

static void the_limit_of_the_environment(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    filled(0, 5 * MIB, 1);
    FAILS(tn_empty(TN_SHAPE(5 * MIB), .device = TN_CUDA(1), .dtype = TN_F32), TN_ENOMEM, "TENON_CUDA_MEMORY_LIMIT");
    filled(1, 3 * MIB, 1);
    tn_scope_close(scope);
    CLEAN();
}

/* ---- the context ---- */

static int retained; /* of cuda:0's GPU */
static tn__cu_result (*retain)(tn__cu_context *context, tn__cu_device device);
static tn__cu_result (*release)(tn__cu_device device);

static tn__cu_result count_retain(tn__cu_context *context, tn__cu_device device)
{
    tn__cu_result r = retain(context, device);
    retained += r == TN__CU_SUCCESS;
    return r;
}

static tn__cu_result count_release(tn__cu_device device)
{
    tn__cu_result r = release(device);
    retained -= r == TN__CU_SUCCESS;
    return r;
}

static tn__cu_result no_stream(tn__cu_stream *stream, unsigned flags, int priority)
{
    (void)stream, (void)flags, (void)priority;
    return TN__CU_OUT_OF_MEMORY;
}

/* A device that cannot be opened leaves its sibling as it was, and is tried again. */
static void no_default_stream(void **state)
{
    (void)state;
    assert_int_equal(tn__gpu_count(TN_DEVICE_CUDA), 2);
    retain = tn__cu.primary_ctx_retain;
    release = tn__cu.primary_ctx_release;
    tn__cu.primary_ctx_retain = count_retain;
    tn__cu.primary_ctx_release = count_release;
    tn__cu_result (*create)(tn__cu_stream *, unsigned, int) = tn__cu.stream_create_with_priority;
    tn__cu.stream_create_with_priority = no_stream;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = filled(0, 10, 1);
    for (int i = 0; i < 2; i++)
        FAILS(tn_to(x, .device = TN_CUDA(1)), TN_ENOMEM, "in making a default stream on cuda:1");
    assert_int_equal(retained, 1);
    assert_int_equal((int)last_of(x), 1);
    tn__cu.stream_create_with_priority = create;
    assert_int_equal((int)last_of(MADE(tn_to(x, .device = TN_CUDA(1)))), 1);
    assert_int_equal(retained, 2);
    tn_scope_close(scope);
    CLEAN();
}

static void a_reset_is_of_all(void **state)
{
    (void)state;
    assert_int_equal(tn__gpu_count(TN_DEVICE_CUDA), 3);
    retain = tn__cu.primary_ctx_retain;
    release = tn__cu.primary_ctx_release;
    tn__cu.primary_ctx_retain = count_retain;
    tn__cu.primary_ctx_release = count_release;
    for (int32_t asked = 0; asked < 3; asked++) {
        tn_scope *scope = tn_scope_open();
        tn_tensor *x = filled(0, 1000, 1), *y = MADE(tn_to(x, .device = TN_CUDA(1))); /* cuda:2 was never used */
        tn_tensor *host = MADE(tn_to(x, .device = TN_CPU));
        tn_stream *s = tn_cuda_stream_new(TN_CUDA(1), 0), *d = tn_cuda_default_stream(TN_CUDA(1));
        tn_event *e = tn_stream_record_event(d);
        assert_int_equal(retained, 2);
        OK(tn_cuda_reset(TN_CUDA(asked)));
        assert_int_equal(retained, 0);
        FAILS(tn_cpu(x), TN_EDEVICE, "operand 1 is void: tn_cuda_reset took the memory of cuda:0 away");
        FAILS(tn_cpu(y), TN_EDEVICE, "operand 1 is void: tn_cuda_reset took the memory of cuda:1 away");
        FAILS_STATUS(tn_stream_synchronize(s), TN_EDEVICE, "is void");
        FAILS_STATUS(tn_event_synchronize(e), TN_EDEVICE, "an event of cuda:1 is void");
        assert_int_equal((int)last_of(host), 1);
        for (int32_t i = 0; i < 3; i++) {
            assert_false(tn_cuda_is_lost(TN_CUDA(i)));
            assert_int_equal(tn_memory_stats(TN_CUDA(i)).reserved, 0);
        }
        assert_non_null(tn_stream_handle(d)); /* a new one */
        OK(tn_stream_synchronize(d));
        assert_int_equal(retained, 1);
        assert_int_equal((int)last_of(MADE(tn_to(filled(1, 1000, asked), .device = TN_CUDA(0)))), asked);
        tn_event_release(e);
        tn_stream_release(d);
        tn_stream_release(s);
        tn_scope_close(scope);
        OK(tn_cuda_reset(TN_CUDA(2)));
        assert_int_equal(retained, 0);
    }
    CLEAN();
}

/* cuda:0 and cuda:2 are GPU 1; cuda:1 is GPU 0. */
static void lost_together(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = MADE(tn_empty(TN_SHAPE(100), .device = TN_CUDA(2))), *other = filled(1, 100, 5);
    tn_tensor *y = MADE(tn_empty(TN_SHAPE(100), .device = TN_CUDA(0)));
    MADE(tn_zero_(y)); /* a fill, no kernel */
    MADE(tn_exp_(x));  /* the launch that fails */
    FAILS_STATUS(tn_synchronize(TN_CUDA(0)), TN_EDEVICE, "exp on the default stream of cuda:2");
    for (int32_t i = 0; i < 3; i++)
        assert_int_equal(tn_cuda_is_lost(TN_CUDA(i)), i != 1);
    FAILS_STATUS(tn_synchronize(TN_CUDA(2)), TN_EDEVICE,
                 "  cuda:2 is out of use since then: tn_cuda_reset(TN_CUDA(2)) revives it, without its tensors; other "
                 "devices and the cpu go on\n  cuda:0, cuda:2 are one GPU");
    FAILS(tn_add(y, 1), TN_EDEVICE, "cuda:0 is out of use since then");
    assert_int_equal((int)last_of(MADE(tn_add(other, 1))), 6);
    OK(tn_cuda_reset(TN_CUDA(2)));
    for (int32_t i = 0; i < 3; i++)
        assert_false(tn_cuda_is_lost(TN_CUDA(i)));
    assert_int_equal((int)last_of(MADE(tn_to(filled(0, 10, 4), .device = TN_CUDA(2)))), 4);
    assert_int_equal((int)last_of(MADE(tn_to(filled(2, 10, 8), .device = TN_CUDA(1)))), 8); /* the link is found anew */
    assert_int_equal((int)last_of(MADE(tn_add(other, 1))), 6);
    tn_scope_close(scope);
    assert_int_equal(tn_live_tensors(), 0);
}

/* One that was never used is lost with its sibling: it must not open what is dead. */
static void lost_before_it_was_used(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    MADE(tn_exp_(MADE(tn_empty(TN_SHAPE(100), .device = TN_CUDA(0)))));
    FAILS_STATUS(tn_synchronize(TN_CUDA(0)), TN_EDEVICE, "CUDA error");
    assert_true(tn_cuda_is_lost(TN_CUDA(1)));
    FAILS(tn_zeros(TN_SHAPE(1), .device = TN_CUDA(1)), TN_EDEVICE, "cuda:1 is out of use since then");
    tn_scope_close(scope);
    OK(tn_cuda_reset(TN_CUDA(1)));
    scope = tn_scope_open();
    assert_int_equal((int)last_of(filled(0, 10, 4)), 4);
    assert_int_equal((int)last_of(filled(1, 10, 4)), 4);
    tn_scope_close(scope);
    CLEAN();
}

/* A bad index is told by the device that met it, and by no other. */
static void faults_are_each_ones_own(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    for (int32_t i = 0; i < 2; i++) {
        tn_tensor *index = MADE(tn_full(TN_SHAPE(1), 9, .device = TN_CUDA(1), .dtype = TN_I64));
        MADE(tn_index_select(filled(1, 3, 1), 0, index));
        OK(tn_synchronize(TN_CUDA(0)));
        FAILS_STATUS(tn_synchronize(TN_CUDA(1)), TN_EINDEX, "index 9 is out of bounds");
        OK(tn_synchronize(TN_CUDA(1)));
    }
    tn_scope_close(scope);
    CLEAN();
}

/* ---- lists ---- */

static void the_order_of_the_list(void **state)
{
    (void)state;
    static const int32_t list[] = {1, 0, 1};
    tn_device by_memory[3];
    assert_int_equal(tn_cuda_device_count(), 3);
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(tn_cuda_ordinal(TN_CUDA(i)), list[i]);
        assert_int_equal(tn_cuda_physical(TN_CUDA(i)), list[i]);
    }
    tn_scope *scope = tn_scope_open();
    filled(1, 5 * MIB, 1); /* now GPU 1 has more left */
    assert_int_equal(tn_cuda_devices_by_free_memory(by_memory, 3), 3);
    for (int32_t i = 0; i < 3; i++)
        assert_int_equal(by_memory[i].index, i == 0 ? 0 : i == 1 ? 2 : 1);
    tn_cuda_status s[4];
    assert_int_equal(tn_cuda_statuses(s, 4), 2); /* GPUs, not devices */
    assert_true(s[0].device.index == 1 && s[1].device.index == 0);
    tn_scope_close(scope);
    CLEAN();
}

/* Other libraries count as the driver does. */
static void dlpack_speaks_of_ordinals(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    for (int32_t i = 0; i < 3; i++) {
        tn_tensor *x = filled(i, 5, i);
        tn_dl_managed_versioned *m = tn_to_dlpack(x, -1);
        assert_non_null(m);
        assert_int_equal(m->tensor.device.id, i == 1 ? 0 : 1);
        OK(tn_cuda_set_device(i));
        tn_tensor *back = MADE(tn_from_dlpack(m)); /* of those that it may be the current one */
        assert_true(tn_device_equal(tn_tensor_device(back), TN_CUDA(i)));
        assert_int_equal((int)last_of(back), i);
    }
    OK(tn_cuda_set_device(1));
    tn_dl_managed_versioned *m = tn_to_dlpack(filled(2, 5, 6), -1);
    tn_tensor *back = MADE(tn_from_dlpack(m)); /* else the first */
    assert_true(tn_device_equal(tn_tensor_device(back), TN_CUDA(0)));
    tn_scope_close(scope);
    SILENT();
}

static void a_gpu_that_is_left_out(void **state)
{
    (void)state;
    int64_t shape[] = {1};
    float value = 0;
    tn_dl_managed m = {.tensor = {&value, {TN_DL_CUDA, 0}, 1, {TN_DL_FLOAT, 32, 1}, shape, NULL, 0}};
    assert_int_equal(tn_cuda_device_count(), 1);
    assert_int_equal(tn_cuda_ordinal(TN_CUDA(0)), 1);
    FAILS(tn_from_dlpack_legacy(&m), TN_EDEVICE, "there is no device 0 in TENON_VISIBLE_DEVICES");
}

static void after_cudas_own(void **state)
{
    (void)state;
    assert_int_equal(tn_cuda_device_count(), 2); /* CUDA_VISIBLE_DEVICES=2,1 and 1,1 */
    assert_true(tn_cuda_ordinal(TN_CUDA(0)) == 1 && tn_cuda_ordinal(TN_CUDA(1)) == 1);
    assert_true(tn_cuda_physical(TN_CUDA(0)) == 1 && tn_cuda_physical(TN_CUDA(1)) == 1);
}

static void is_refused(const char *there)
{
    char text[512];
    snprintf(text, sizeof text,
             "No CUDA GPUs are available\n  TENON_VISIBLE_DEVICES is '%.200s': it says which of the driver's devices "
             "(%s) are "
             "cuda:0, cuda:1, ...: at most 64 numbers, separated by commas, as in 0 or 0,0 or 1,0,1",
             getenv("TENON_VISIBLE_DEVICES"), there);
    assert_int_equal(tn_cuda_device_count(), 0);
    assert_false(tn_cuda_is_available());
    assert_int_equal(tn_try_gpu(0).type, TN_DEVICE_CPU);
    assert_int_equal(tn_error_code(), TN_OK); /* who only asks is told nothing */
    FAILS(tn_zeros(TN_SHAPE(1), .device = TN_CUDA(0)), TN_EDEVICE, text);
    FAILS_STATUS(tn_synchronize(TN_CUDA(0)), TN_EDEVICE, text);
    tn_scope *scope = tn_scope_open();
    PRINTS(MADE(tn_ones(TN_SHAPE(1))), "tensor([1.])");
    tn_scope_close(scope);
}

static void a_list_that_is_none(void **state)
{
    (void)state;
    is_refused("there are 2, 0 to 1");
}

static void a_list_that_is_none_for_one(void **state)
{
    (void)state;
    is_refused("there is 1, 0");
}

static void no_gpu_at_all(void **state)
{
    (void)state;
    FAILS(tn_zeros(TN_SHAPE(1), .device = TN_CUDA(0)), TN_EDEVICE, "CUDA_VISIBLE_DEVICES is ''");
}

static void an_empty_list_is_none(void **state)
{
    (void)state;
    assert_int_equal(tn_cuda_device_count(), 2);
    assert_int_equal(tn_cuda_ordinal(TN_CUDA(1)), 1);
    assert_null(tn_stream_handle(tn_cuda_default_stream(TN_CUDA(1))));
}

static void as_many_as_there_may_be(void **state)
{
    (void)state;
    assert_int_equal(tn_cuda_device_count(), 64);
    tn_scope *scope = tn_scope_open();
    assert_int_equal((int)last_of(MADE(tn_to(filled(63, 10, 4), .device = TN_CUDA(62)))), 4);
    tn_scope_close(scope);
    CLEAN();
}

#define EIGHT    "0,0,0,0,0,0,0,0,"
#define SIXTY    EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT
#define ONE_GPU  "TENON_FAKE_GPUS=1x256MiB"
#define TWO_GPUS "TENON_FAKE_GPUS=2x256MiB"
#define AS(list) "TENON_VISIBLE_DEVICES=" list
#define REFUSED(name, list) \
    { \
        name, a_list_that_is_none, false, \
        { \
            TWO_GPUS, AS(list) \
        } \
    }

int main(int argc, char **argv)
{
    static const alone tests[] = {
        ANYWHERE(they_are_one_gpu, ONE_GPU, AS("0,0,0")),
        ANYWHERE(default_streams_are_apart, ONE_GPU, AS("0,0,0")),
        ALONE(default_streams_order_nothing, ONE_GPU, AS("0,0")),
        ANYWHERE(all_is_each_ones_own, ONE_GPU, AS("0,0,0")),
        ANYWHERE(products_are_right, ONE_GPU, AS("0,0,0")),
        {"every_pair_of_two", every_pair_both_ways, true, {ONE_GPU, AS("0,0")}},
        {"every_pair_of_three", every_pair_both_ways, true, {ONE_GPU, AS("0,0,0")}},
        {"every_pair_of_two_gpus", every_pair_both_ways, false, {TWO_GPUS, AS("1,0,1")}},
        ALONE(copies_are_plain, ONE_GPU, AS("0,0")),
        ANYWHERE(streams_and_moves, ONE_GPU, AS("0,0")),
        ANYWHERE(a_thread_each, ONE_GPU, AS("0,0,0")),
        ANYWHERE(a_step_by_halves, ONE_GPU, AS("0,0")),
        {"a_step_on_two_gpus", a_step_by_halves, false, {TWO_GPUS, AS("1,0,1")}},
        ALONE(caches_make_room, "TENON_FAKE_GPUS=1x80MiB", AS("0,0,0")),
        ALONE(limits_are_the_gpus, "TENON_FAKE_GPUS=1x64MiB", AS("0,0,0")),
        ALONE(the_limit_of_the_environment, ONE_GPU, AS("0,0"), "TENON_CUDA_MEMORY_LIMIT=32MiB"),
        ALONE(no_default_stream, ONE_GPU, AS("0,0")),
        ANYWHERE(a_reset_is_of_all, ONE_GPU, AS("0,0,0")),
        ALONE(lost_together, TWO_GPUS, AS("1,0,1"), "TENON_FAKE_GPU_FAULTS=launch@1:1"),
        ALONE(lost_before_it_was_used, ONE_GPU, AS("0,0"), "TENON_FAKE_GPU_FAULTS=launch@1"),
        ANYWHERE(faults_are_each_ones_own, ONE_GPU, AS("0,0")),
        ALONE(the_order_of_the_list, TWO_GPUS, AS("1,0,1")),
        ALONE(dlpack_speaks_of_ordinals, TWO_GPUS, AS("1,0,1")),
        ALONE(a_gpu_that_is_left_out, TWO_GPUS, AS("1")),
        ALONE(after_cudas_own, "TENON_FAKE_GPUS=3x64MiB", "CUDA_VISIBLE_DEVICES=2,1", AS("1,1")),
        {"blanks_are_allowed", the_order_of_the_list, false, {TWO_GPUS, AS(" 1, 0 ,1")}},
        REFUSED("a_number_too_large", "0,2"),
        REFUSED("a_negative_number", "-1"),
        REFUSED("no_number", "all"),
        REFUSED("a_comma_too_many", "0,"),
        REFUSED("a_comma_alone", ","),
        REFUSED("nothing_between", "0,,1"),
        REFUSED("nothing_but_blanks", "  "),
        REFUSED("no_comma", "0 1"),
        REFUSED("a_name", "cuda:0"),
        REFUSED("more_than_a_number_holds", "99999999999999999999"),
        REFUSED("sixty_five", SIXTY EIGHT "0"),
        {"as_many_as_there_may_be", as_many_as_there_may_be, false, {ONE_GPU, AS(SIXTY "0,0,0,0,0,0,0,0")}},
        ALONE(a_list_that_is_none_for_one, ONE_GPU, AS("1")),
        ALONE(no_gpu_at_all, ONE_GPU, AS("7"), "CUDA_VISIBLE_DEVICES="),
        ALONE(an_empty_list_is_none, TWO_GPUS, AS("")),
    };
    return alone_main(tests, TN_COUNT(tests), argc, argv);
}
