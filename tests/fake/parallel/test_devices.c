/* The pieces between GPUs and the CPU: where results lie, whose memory they show, how often each byte crosses, and the
 * copies that a team keeps. */
#include "fake/parallel/helpers.h"

/* Since the last call: bytes that came to the device from other GPUs and from the host. */
typedef struct crossed {
    int64_t peer, peers, up, down, ups;
} crossed;

static crossed since(int32_t device)
{
    tn_transfer_statistics s = tn_transfer_stats(TN_CUDA(device));
    tn_reset_transfer_stats(TN_CUDA(device));
    return (crossed){s.peer_in.bytes, s.peer_in.copies, s.upload_pageable.bytes + s.upload_pinned.bytes,
                     s.download_pageable.bytes + s.download_pinned.bytes,
                     s.upload_pageable.copies + s.upload_pinned.copies};
}

static void forget(void)
{
    for (int32_t i = 0; i < tn_cuda_device_count(); i++)
        (void)since(i);
}

enum { ROW = KIT_IN * 4 };

/* ---- scatter ---- */

static void chunks_on(int64_t rows, size_t n, size_t want)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = kit_rows(rows), *out[KIT_GPUS];
    size_t k = 99;
    forget();
    OK(tn_parallel_scatter(x, kit_gpus(n), out, &k));
    assert_int_equal(k, want);
    int64_t each = (rows + (int64_t)n - 1) / (int64_t)n, at = 0;
    for (size_t i = 0; i < k; i++) {
        int64_t here = each < rows - at ? each : rows - at;
        crossed c = since((int32_t)i);
        assert_true(tn_device_equal(tn_tensor_device(out[i]), TN_CUDA((int32_t)i)));
        assert_int_equal(c.up, here * ROW); /* straight from the CPU, once */
        assert_int_equal(c.peer, 0);
        assert_int_equal(tn_tensor_size(out[i], 0), here);
        CLOSE_TO(out[i], tn_narrow(x, 0, at, here), 0);
        at += here;
    }
    assert_int_equal(at, rows);
    kit_end(scope);
}

static void chunk_sizes(void **state)
{
    (void)state;
    chunks_on(16, 2, 2);
    chunks_on(5, 2, 2);
    chunks_on(5, 4, 3);
    chunks_on(1, 4, 1);
    chunks_on(4, 4, 4);
    chunks_on(6, 4, 3);
    chunks_on(64, 4, 4);
    chunks_on(7, 1, 1);
}

static void what_is_there_stays(void **state)
{
    (void)state;
    for (int at = 0; at < 3; at++) {
        tn_scope *scope = tn_scope_open();
        tn_tensor *near = kit_rows(9), *x = MADE(tn_to(near, .device = TN_CUDA(at))), *out[3];
        size_t k;
        forget();
        OK(tn_parallel_scatter(x, kit_gpus(3), out, &k));
        assert_int_equal(k, 3);
        for (int i = 0; i < 3; i++) {
            crossed c = since(i);
            assert_int_equal(c.peer, i == at ? 0 : 3 * ROW);
            assert_int_equal(c.up + c.down, 0);
            assert_int_equal(tn_tensor_shares_memory(out[i], x), i == at);
            assert_true(tn_device_equal(tn_tensor_device(out[i]), TN_CUDA(i)));
        }
        for (int i = 0; i < 3; i++)
            CLOSE_TO(out[i], tn_narrow(near, 0, 3 * i, 3), 0);
        kit_end(scope);
    }
}

static void of_other_kinds(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = kit_rows(5), *out[4], *back;
    tn_tensor *forms[] = {tn_t(tn_contiguous(tn_t(tn_to(x, .device = TN_CUDA(1))))),
                          tn_narrow(tn_cat(TN_TENSORS(x, x), 1), 1, 0, KIT_IN), tn_to(tn_mul(x, 100), .dtype = TN_I64),
                          tn_gt(x, 0), tn_to(x, .dtype = TN_F16)};
    size_t k;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        for (int64_t dim = 0; dim < 2; dim++) {
            OK(tn_parallel_scatter(forms[i], kit_gpus(4), out, &k, .dim = dim));
            assert_int_equal(k, 3); /* 2 2 1 rows, 2 2 2 columns */
            assert_int_equal(tn_tensor_dtype(out[2]), tn_tensor_dtype(forms[i]));
            back = MADE(tn_parallel_gather(((tn_tensors){out, k}), TN_CUDA(3), .dim = dim));
            kit_on(back, "cuda:3");
            assert_true(tn_equal(tn_cpu(back), tn_cpu(forms[i])));
        }
    OK(tn_parallel_scatter(x, kit_gpus(4), out, &k, .sizes = (const int64_t[]){1, 1, 2, 1}));
    assert_int_equal(k, 4);
    assert_int_equal(tn_tensor_size(out[2], 0), 2);
    CLOSE_TO(out[3], tn_narrow(x, 0, 4, 1), 0);
    OK(tn_parallel_scatter(tn_zeros(TN_SHAPE(0, 3), .device = TN_CUDA(0)), kit_gpus(2), out, &k));
    assert_int_equal(k, 2);
    kit_on(out[1], "cuda:1");
    assert_int_equal(tn_tensor_numel(out[1]), 0);
    kit_end(scope);
}

/* ---- gather ---- */

static void each_crosses_once(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = kit_rows(10), *out[4];
    size_t k;
    OK(tn_parallel_scatter(x, kit_gpus(4), out, &k));
    for (int32_t to = 0; to < 4; to++) {
        forget();
        tn_tensor *y = MADE(tn_parallel_gather(((tn_tensors){out, 4}), TN_CUDA(to)));
        int64_t rows_there = to == 3 ? 1 : 3;
        for (int32_t i = 0; i < 4; i++) {
            crossed c = since(i);
            assert_int_equal(c.peer, i == to ? (10 - rows_there) * ROW : 0);
            assert_int_equal(c.up + c.down, 0);
        }
        CLOSE_TO(y, x, 0);
    }
    forget();
    tn_tensor *y = MADE(tn_parallel_gather(((tn_tensors){out, 4}), TN_CPU));
    kit_on(y, "cpu");
    int64_t down = 0;
    for (int32_t i = 0; i < 4; i++) {
        crossed c = since(i);
        assert_int_equal(c.peer, 0);
        down += c.down;
    }
    assert_int_equal(down, 10 * ROW);
    CLOSE_TO(y, x, 0);
    kit_end(scope);
}

static void gradients_through_pieces(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = MADE(tn_requires_grad_(tn_to(kit_rows(5), .device = TN_CUDA(1)), true)), *out[3], *copies[3];
    tn_tensor *w = MADE(tn_requires_grad_(tn_full(TN_SHAPE(1), 2.0), true)); /* on the CPU */
    size_t k;
    OK(tn_parallel_scatter(x, kit_gpus(3), out, &k));
    OK(tn_parallel_broadcast(TN_TENSORS(w), kit_gpus(3), copies));
    for (size_t i = 0; i < 3; i++) {
        assert_true(tn_device_equal(tn_tensor_device(copies[i]), TN_CUDA((int32_t)i)));
        out[i] = MADE(tn_mul(tn_mul(out[i], copies[i]), (double)(i + 1)));
    }
    tn_tensor *y = MADE(tn_parallel_gather(((tn_tensors){out, 3}), TN_CUDA(2)));
    OK(tn_backward(tn_sum(y)));
    kit_on(tn_tensor_grad(x), "cuda:1");
    kit_on(tn_tensor_grad(w), "cpu");
    tn_tensor *scale = tn_reshape(tn_tensor_from(TN_LIST(1.0, 1.0, 2.0, 2.0, 3.0)), TN_SHAPE(5, 1)),
              *near = kit_rows(5);
    CLOSE_TO(tn_tensor_grad(x), tn_mul(tn_expand(scale, TN_SHAPE(5, KIT_IN)), 2), 1e-6);
    CLOSE_TO(tn_tensor_grad(w), tn_reshape(tn_sum(tn_mul(near, scale)), TN_SHAPE(1)), 1e-5);
    OK(tn_tensor_set_grad(x, TN_NONE));
    OK(tn_parallel_scatter(x, kit_gpus(3), out, &k));
    y = MADE(tn_parallel_reduce_add(TN_TENSORS(out[0], out[1]), TN_CUDA(2))); /* 2 rows each */
    CLOSE_TO(y, tn_add(tn_narrow(near, 0, 0, 2), tn_narrow(near, 0, 2, 2)), 1e-6);
    OK(tn_backward(tn_sum(tn_mul(y, 3))));
    CLOSE_TO(tn_narrow(tn_tensor_grad(x), 0, 0, 4), tn_full(TN_SHAPE(4, KIT_IN), 3.0), 0);
    CLOSE_TO(tn_narrow(tn_tensor_grad(x), 0, 4, 1), tn_zeros(TN_SHAPE(1, KIT_IN)), 0);
    kit_end(scope);
}

/* ---- sums ---- */

static void sums_between_devices(void **state)
{
    (void)state;
    enum { N = 1 << 16 };
    for (size_t n = 1; n <= 4; n++)
        for (int32_t to = -1; to < 4; to++) {
            tn_scope *scope = tn_scope_open();
            tn_tensor *t[4];
            for (size_t i = 0; i < n; i++)
                t[i] = MADE(tn_full(TN_SHAPE(N), (double)(1 << i), .device = TN_CUDA((int32_t)i)));
            forget();
            tn_tensor *s = MADE(tn_parallel_reduce_add(((tn_tensors){t, n}), to < 0 ? TN_CPU : TN_CUDA(to)));
            int64_t peer = 0, down = 0;
            for (int32_t i = 0; i < 4; i++) {
                crossed c = since(i);
                peer += c.peer;
                down += c.down;
            }
            /* one copy for each tensor that is not where the sum goes */
            const int64_t want = 4 * N * (int64_t)(to >= 0 && (size_t)to < n ? n - 1 : n);
            if (peer + down != want) {
                print_error("%d tensors to %d: %lld bytes crossed, not %lld\n", (int)n, to, (long long)(peer + down),
                            (long long)want);
                fail();
            }
            assert_true(tn_device_equal(tn_tensor_device(s), to < 0 ? TN_CPU : TN_CUDA(to)));
            CLOSE_TO(s, tn_full(TN_SHAPE(N), (double)((1 << n) - 1)), 0);
            for (size_t i = 0; i < n; i++) /* as they were */
                CLOSE_TO(t[i], tn_full(TN_SHAPE(N), (double)(1 << i)), 0);
            kit_end(scope);
        }
}

/* ---- a team's copies ---- */

static int64_t broadcast_bytes(tn_team *team, tn_tensors ts, tn_tensor **out)
{
    tn_team_step *step = tn_team_step_new(team);
    assert_non_null(step);
    forget();
    OK(tn_parallel_broadcast(ts, tn_team_step_devices(step), out, .step = step));
    int64_t bytes = 0;
    for (int32_t i = 0; i < tn_cuda_device_count(); i++)
        bytes += since(i).peer;
    tn_team_step_release(step);
    return bytes;
}

static void copies_are_kept(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_team *team = tn_team_new(kit_gpus(3));
    assert_non_null(team);
    tn_tensor *a = tn_ones(TN_SHAPE(100), .device = TN_CUDA(0)), *b = tn_full(TN_SHAPE(50), 5.0, .device = TN_CUDA(0)),
              *out[6], *held;
    bool was = tn_set_grad_enabled(false);
    tn_scope *inner = tn_scope_open();
    assert_int_equal(broadcast_bytes(team, TN_TENSORS(a, b), out), 2 * (400 + 200));
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++) {
            assert_true(tn_device_equal(tn_tensor_device(out[2 * i + k]), TN_CUDA(i)));
            assert_int_equal(tn_tensor_shares_memory(out[2 * i + k], k ? b : a), i == 0);
        }
    tn_scope_close(inner);
    inner = tn_scope_open();
    assert_int_equal(broadcast_bytes(team, TN_TENSORS(a, b), out), 0); /* nothing was written */
    CLOSE_TO(out[5], tn_full(TN_SHAPE(50), 5.0), 0);
    tn_scope_close(inner);
    MADE(tn_fill_(a, 2.0));
    inner = tn_scope_open();
    assert_int_equal(broadcast_bytes(team, TN_TENSORS(a, b), out), 2 * 400); /* the one that was */
    CLOSE_TO(out[2], tn_full(TN_SHAPE(100), 2.0), 0);
    held = tn_keep(out[2]);
    tn_scope_close(inner);
    MADE(tn_fill_(a, 3.0));
    inner = tn_scope_open();
    assert_int_equal(broadcast_bytes(team, TN_TENSORS(a, b), out), 2 * 400);
    CLOSE_TO(out[2], tn_full(TN_SHAPE(100), 3.0), 0);
    CLOSE_TO(out[4], tn_full(TN_SHAPE(100), 3.0), 0);
    CLOSE_TO(held, tn_full(TN_SHAPE(100), 2.0), 0); /* in use: it stays what it was */
    MADE(tn_fill_(out[4], 9.0));                    /* somebody writes to a copy */
    tn_scope_close(inner);
    inner = tn_scope_open();
    (void)broadcast_bytes(team, TN_TENSORS(a, b), out);
    CLOSE_TO(out[4], tn_full(TN_SHAPE(100), 3.0), 0);
    tn_scope_close(inner);
    tn_set_grad_enabled(was);
    tn_release(held);
    tn_team_release(team);
    kit_end(scope);
}

/* Memory that a team kept goes with it. */
static void a_team_lets_go(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *a = tn_ones(TN_SHAPE(1 << 20), .device = TN_CUDA(0)), *out[2];
    tn_team *team = tn_team_new(kit_gpus(2));
    tn_scope *inner = tn_scope_open();
    assert_int_equal(broadcast_bytes(team, TN_TENSORS(a), out), 4 << 20);
    tn_scope_close(inner);
    assert_true(tn_memory_stats(TN_CUDA(1)).allocated >= 4 << 20);
    assert_ptr_equal(tn_team_retain(team), team);
    tn_team_release(team);
    tn_team_release(team);
    OK(tn_synchronize(TN_CUDA(1)));
    assert_int_equal(tn_memory_stats(TN_CUDA(1)).allocated, 0);
    kit_end(scope);
    CLEAN();
}

static void wrong_devices(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_team *team = tn_team_new(TN_DEVICES(TN_CUDA(0), TN_CUDA(1)));
    tn_team_step *step = tn_team_step_new(team);
    tn_tensor *a = tn_ones(TN_SHAPE(3), .device = TN_CUDA(0)), *out[4];
    tn_device_list d = tn_team_step_devices(step);
    assert_int_equal(d.n, 2);
    assert_true(tn_device_equal(d.d[0], TN_CUDA(0)) && tn_device_equal(d.d[1], TN_CUDA(1)));
    OK(tn_parallel_broadcast(TN_TENSORS(a), kit_gpus(1), out, .step = step)); /* the first of them */
    FAILS_STATUS(tn_parallel_broadcast(TN_TENSORS(a), TN_DEVICES(TN_CUDA(1), TN_CUDA(0)), out, .step = step), TN_EINVAL,
                 "");
    FAILS_STATUS(tn_parallel_broadcast(TN_TENSORS(a), kit_gpus(3), out, .step = step), TN_EINVAL, "");
    FAILS_STATUS(tn_parallel_broadcast(TN_TENSORS(a), TN_DEVICES(TN_CUDA(0), TN_CUDA(9)), out), TN_EDEVICE,
                 "invalid device ordinal");
    FAILS(tn_team_new(TN_DEVICES(TN_CUDA(0), TN_CUDA(9))), TN_EDEVICE, "invalid device ordinal");
    FAILS(tn_team_new(TN_DEVICES(TN_CUDA(1), TN_CUDA(0), TN_CUDA(1))), TN_EINVAL, "cuda:1");
    tn_team_step_release(step);
    tn_team_release(team);
    kit_end(scope);
}

/* ---- the guard around a replica's forward ---- */

static void enter_and_leave(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_team *team = tn_team_new(kit_gpus(2));
    tn_stream *own = tn_cuda_stream_new(TN_CUDA(1), 0), *home = tn_cuda_default_stream(TN_CUDA(1)), *now;
    tn_stream_guard s = tn_stream_enter(own);
    OK(tn_cuda_set_device(0));
    tn_team_step *step = tn_team_step_new(team);
    assert_non_null(step);
    tn_stream_leave(s);
    assert_int_equal(tn_cuda_current_device(), 0);
    tn_replica_guard g = tn_team_step_enter(step, 1);
    assert_int_equal(g.replica, 1);
    assert_int_equal(tn_cuda_current_device(), 1);
    now = tn_cuda_current_stream(TN_CUDA(1));
    assert_ptr_equal(now, own); /* that the thread had that made the step */
    tn_stream_release(now);
    tn_team_step_leave(step, g);
    now = tn_cuda_current_stream(TN_CUDA(1));
    assert_ptr_equal(now, home);
    tn_stream_release(now);
    assert_int_equal(tn_cuda_current_device(), 0);
    g = tn_team_step_enter(step, 7); /* none such */
    assert_int_equal(g.replica, -1);
    tn_team_step_leave(step, g);
    tn_error_clear();
    assert_int_equal(tn_cuda_current_device(), 0);
    tn_team_step_blame(step, 1); /* no error: nothing to do */
    assert_int_equal(tn_error_code(), TN_OK);
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3));
    assert_null(tn_matmul(x, x));
    tn_team_step_blame(step, 1);
    assert_int_equal(tn_error_code(), TN_EINVAL);
    assert_int_equal(strncmp(tn_error_message(), "Caught an error in replica 1 on device 1.\n", 42), 0);
    assert_non_null(strstr(tn_error_message(), "mat1 and mat2 shapes cannot be multiplied"));
    tn_error_clear();
    tn_stream_release(own);
    tn_stream_release(home);
    tn_team_step_release(step);
    tn_team_release(team);
    kit_end(scope);
}

int main(int argc, char **argv)
{
    static const alone tests[] = {
        ALONE(chunk_sizes, "TENON_FAKE_GPUS=4"),
        ALONE(what_is_there_stays, "TENON_FAKE_GPUS=3"),
        ALONE(of_other_kinds, "TENON_FAKE_GPUS=4"),
        ALONE(each_crosses_once, "TENON_FAKE_GPUS=4"),
        ALONE(gradients_through_pieces, "TENON_FAKE_GPUS=3"),
        ALONE(sums_between_devices, "TENON_FAKE_GPUS=4"),
        ALONE(copies_are_kept, "TENON_FAKE_GPUS=3"),
        ALONE(a_team_lets_go, "TENON_FAKE_GPUS=2"),
        ALONE(wrong_devices, "TENON_FAKE_GPUS=4"),
        ALONE(enter_and_leave, "TENON_FAKE_GPUS=2"),
    };
    return alone_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
