/* Moves between the host and GPUs, and between GPUs: every dtype into every other, whatever the strides, against the same
 * conversion on the CPU; what crosses, counted; what a copy that nobody waits for leaves behind. */
#include "fake/own_process_gpu.h"
#include <math.h>
#include <tenon/cuda.h>
#include <tenon/dlpack.h>

static const tn_dtype dtypes[] = {TN_BOOL, TN_U8, TN_I8, TN_I16, TN_I32, TN_I64, TN_F16, TN_BF16, TN_F32, TN_F64};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

/* Numbers that every dtype has. */
static tn_tensor *numbers(tn_dims shape, tn_dtype dtype)
{
    int64_t n = 1;
    for (int32_t d = 0; d < shape.ndim; d++)
        n *= shape.dim[d];
    return tn_to(tn_remainder(tn_reshape(tn_arange(TN_SCALAR(1), TN_SCALAR(n + 1), TN_SCALAR(1)), shape), 7),
                 .dtype = dtype);
}

/* Another device than the first, where there is one: one real GPU moves to itself. */
static tn_device second(void)
{
    return TN_CUDA(tn_cuda_device_count() > 1 ? 1 : 0);
}

/* The same numbers, lying in six ways. */
enum { LAYOUTS = 6 };
static tn_tensor *laid_out(int layout, tn_dtype dtype)
{
    switch (layout) {
    case 0: return numbers(TN_SHAPE(3, 4), dtype);
    case 1: return tn_t(numbers(TN_SHAPE(3, 4), dtype));
    case 2: return tn_slice(numbers(TN_SHAPE(5, 6), dtype), 1, 1, 6, 2);
    case 3: return tn_expand(numbers(TN_SHAPE(4, 1), dtype), TN_SHAPE(2, 4, 3));
    case 4: return tn_select(numbers(TN_SHAPE(3), dtype), 0, 1);
    default: return tn_empty(TN_SHAPE(0, 3), .dtype = dtype);
    }
}

static void same(tn_tensor *got, tn_tensor *want, tn_device device, const char *what, int a, int b, int layout)
{
    tn_tensor *host = tn_cpu(got);
    bool placed =
        got && tn_device_equal(tn_tensor_device(got), device) && tn_tensor_dtype(got) == tn_tensor_dtype(want);
    if (!host || !placed || !tn_equal(host, want)) {
        print_error("%s: %s to %s, layout %d, on %s: %s\n", what, tn_dtype_name(dtypes[a]), tn_dtype_name(dtypes[b]),
                    layout, got ? tn_device_text(tn_tensor_device(got)).s : "nothing", tn_error_message());
        fail();
    }
}

static void check_pair(int a, int b, int layout)
{
    const tn_device zero = TN_CUDA(0), one = second();
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = MADE(laid_out(layout, dtypes[a])), *want = MADE(tn_to(x, .dtype = dtypes[b]));
    tn_tensor *up = tn_to(x, .device = zero, .dtype = dtypes[b]);
    same(up, want, zero, "upload", a, b, layout);
    tn_tensor *there = MADE(tn_to(x, .device = zero));
    same(tn_to(there, .device = TN_CPU, .dtype = dtypes[b]), want, TN_CPU, "download", a, b, layout);
    same(tn_to(there, .device = one, .dtype = dtypes[b]), want, one, "to the other GPU", a, b, layout);
    same(tn_to(there, .dtype = dtypes[b]), want, zero, "on the GPU", a, b, layout);
    tn_dims shape = tn_tensor_shape(want);
    tn_tensor *wide = tn_zeros(shape, .dtype = dtypes[b], .device = one);
    same(tn_copy_(wide, x), want, one, "copy_ from the host", a, b, layout);
    same(tn_copy_(tn_zeros(shape, .dtype = dtypes[b]), there), want, TN_CPU, "copy_ to the host", a, b, layout);
    same(tn_copy_(tn_zeros(shape, .dtype = dtypes[b], .device = one), there), want, one, "copy_ between GPUs", a, b,
         layout);
    if (layout == 0) { /* into what does not lie in rows */
        tn_tensor *base = tn_zeros(TN_SHAPE(4, 6), .dtype = dtypes[b], .device = one);
        same(tn_copy_(tn_slice(tn_t(base), 0, 0, 6, 2), there), want, one, "copy_ into a view", a, b, layout);
        same(tn_copy_(tn_slice(tn_t(base), 0, 1, 6, 2), x), want, one, "copy_ into a view", a, b, layout);
    }
    tn_scope_close(scope);
}

static void every_dtype_and_layout(void **state)
{
    (void)state;
    for (int a = 0; a < DTYPES; a++)
        for (int b = 0; b < DTYPES; b++)
            for (int layout = 0; layout < LAYOUTS; layout++)
                check_pair(a, b, layout);
}

static tn_transfer_statistics since(tn_device d)
{
    tn_transfer_statistics s = tn_transfer_stats(d);
    tn_reset_transfer_stats(d);
    return s;
}

/* One raw move where both sides lie alike; the smaller dtype crosses, and what is repeated crosses once. */
static void what_crosses(void **state)
{
    (void)state;
    const tn_device d = TN_CUDA(0);
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_rand(TN_SHAPE(30, 40));
    (void)since(d);
    tn_tensor *g = MADE(tn_to(x, .device = d));
    tn_transfer_statistics s = since(d);
    assert_int_equal(s.upload_pageable.copies, 1);
    assert_int_equal(s.upload_pageable.bytes, 4800);
    assert_int_equal(s.launches, 0);
    MADE(tn_to(tn_t(x), .device = d)); /* dense, in another order: as it lies */
    s = since(d);
    assert_int_equal(s.upload_pageable.bytes, 4800);
    assert_int_equal(s.launches, 0);
    MADE(tn_to(tn_expand(tn_rand(TN_SHAPE(40)), TN_SHAPE(30, 40)), .device = d));
    s = since(d);
    assert_int_equal(s.upload_pageable.copies, 1);
    assert_int_equal(s.upload_pageable.bytes, 160);
    MADE(tn_to(x, .device = d, .dtype = TN_F64));
    assert_int_equal(since(d).upload_pageable.bytes, 4800);
    MADE(tn_to(x, .device = d, .dtype = TN_F16));
    assert_int_equal(since(d).upload_pageable.bytes, 2400);
    MADE(tn_to(g, .device = TN_CPU, .dtype = TN_I8));
    s = since(d);
    assert_int_equal(s.download_pageable.copies, 1);
    assert_int_equal(s.download_pageable.bytes, 1200);
    assert_int_equal(s.launches, 1);
    MADE(tn_cpu(tn_slice(g, 1, 0, 10, 1)));
    assert_int_equal(since(d).download_pageable.bytes, 1200);
    (void)since(TN_CUDA(1));
    MADE(tn_to(g, .device = TN_CUDA(1), .dtype = TN_F16));
    assert_int_equal(since(d).peer_out.bytes, 2400);
    assert_int_equal(since(TN_CUDA(1)).peer_in.copies, 1);
    tn_item(tn_select(tn_select(g, 0, 3), 0, 4)); /* one small copy, one wait */
    s = since(d);
    assert_int_equal(s.download_pageable.copies + s.download_pinned.copies, 1);
    assert_int_equal(s.download_pageable.bytes + s.download_pinned.bytes, 4);
    assert_int_equal(s.synchronizations, 1);
    tn_scope_close(scope);
}

/* A long tensor prints as on the CPU, and of each dimension only the ends cross: seven at most. */
static void printing_takes_the_ends(void **state)
{
    (void)state;
    static char here[20000], there[20000];
    const int64_t shapes[][3] = {{1, 1, 5000}, {1, 60, 70}, {20, 30, 40}, {7, 8, 100}, {1, 2000, 3}, {9, 9, 9}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes * 4; i++) {
        const int64_t *s = shapes[i / 4];
        const tn_dtype dtype = i % 4 == 0 ? TN_F32 : i % 4 == 1 ? TN_I64 : i % 4 == 2 ? TN_BF16 : TN_BOOL;
        tn_scope *scope = tn_scope_open();
        tn_tensor *x = tn_to(tn_div(tn_reshape(tn_arange(0, s[0] * s[1] * s[2], 1), TN_SHAPE(s[0], s[1], s[2])), 8),
                             .dtype = dtype);
        x = MADE(tn_transpose(x, 0, 1));
        tn_tensor *g = MADE(tn_cuda(x, 0));
        assert_true(tn_to_string(x, here, sizeof here) > 0);
        (void)since(TN_CUDA(0));
        assert_true(tn_to_string(g, there, sizeof there) > 0);
        tn_transfer_statistics t = since(TN_CUDA(0));
        size_t n = (size_t)(strrchr(here, ']') + 1 - here);
        if (strncmp(here, there, n) != 0 || !strstr(there + n, "device='cuda:0'")) {
            print_error("%s\n%s\n", here, there);
            fail();
        }
        if (s[0] * s[1] * s[2] > 1000)
            assert_true(t.download_pageable.bytes + t.download_pinned.bytes <= 7 * 7 * 7 * 8);
        tn_scope_close(scope);
    }
}

/* Copies that nobody waits for, from and to pinned memory. */
static void copies_beside_the_host(void **state)
{
    (void)state;
    const tn_device d = TN_CUDA(0);
    for (int round = 0; round < 20; round++) {
        tn_scope *scope = tn_scope_open();
        tn_tensor *x = MADE(tn_pin_memory(tn_full(TN_SHAPE(1000), TN_SCALAR(round)))), *g;
        assert_true(tn_tensor_is_pinned(x));
        assert_ptr_equal(tn_pin_memory(x), x);
        (void)since(d);
        g = MADE(tn_to(x, .device = d, .non_blocking = true));
        tn_transfer_statistics s = since(d);
        assert_int_equal(s.upload_pinned.copies, 1);
        assert_int_equal(s.synchronizations, 0);
        tn_tensor *back = MADE(tn_to(g, .device = TN_CPU, .non_blocking = true));
        assert_int_equal(since(d).synchronizations, 0);
        assert_true(tn_tensor_is_pinned(back));
        OK(tn_synchronize(d));
        assert_true(tn_equal(back, x));
        tn_tensor *pinned = tn_zeros(TN_SHAPE(1000), .pin_memory = true);
        assert_ptr_equal(tn_copy_(pinned, g, .non_blocking = true), pinned);
        OK(tn_synchronize(d));
        assert_true(tn_equal(pinned, x));
        assert_false(tn_tensor_is_pinned(MADE(tn_to(g, .device = TN_CPU))));
        tn_scope_close(scope); /* pinned memory is used again: by the next round */
    }
    tn_scope *scope = tn_scope_open();
    FAILS(tn_pin_memory(tn_ones(TN_SHAPE(2), .device = d)), TN_EDEVICE,
          "cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned");
    FAILS(tn_tensor_from(TN_LIST(1), .device = d, .pin_memory = true), TN_EDEVICE, "Only dense CPU tensors");
    assert_true(tn_tensor_is_pinned(MADE(tn_tensor_from(TN_LIST(1, 2), .pin_memory = true))));
    tn_scope_close(scope);
}

/* What a copy that nobody has waited for has to do with, the host must leave alone: an error on fake GPUs, whoever touches it;
 * what is in order, and what lies beside, is not. */
static void the_host_waits(void **state)
{
    (void)state;
    char text[64];
    const tn_device d = TN_CUDA(0);
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = MADE(tn_pin_memory(tn_ones(TN_SHAPE(1000)))), *g = MADE(tn_to(x, .device = d, .non_blocking = true));
    assert_non_null(tn_add(x, 1)); /* both read */
    FAILS(tn_fill_(x, 0), TN_EDEVICE, "writes 4000 bytes");
    FAILS(tn_add_(x, 1), TN_EDEVICE, "which copy host to device (");
    FAILS(tn_copy_(x, tn_zeros(TN_SHAPE(1000))), TN_EDEVICE, "in writing pinned memory on cuda:0");
    tn_tensor *back = MADE(tn_to(g, .device = TN_CPU, .non_blocking = true)), *first = MADE(tn_select(back, 0, 0));
    FAILS(tn_add(back, 1), TN_EDEVICE, "reads 4000 bytes");
    FAILS(tn_add(g, first), TN_EDEVICE, "reads 4 bytes");
    FAILS(tn_to(tn_slice(back, 0, 0, 1000, 2), .device = d), TN_EDEVICE, "reads 4 bytes"); /* packed on the host */
    FAILS(tn_data(back), TN_EDEVICE, "which copy device to host (");
    FAILS(tn_to_dlpack(back, -1), TN_EDEVICE, "nothing orders the two");
    assert_true(isnan(tn_item(first)) && tn_error_code() == TN_EDEVICE);
    tn_error_clear();
    assert_int_equal(tn_to_string(back, text, sizeof text), -1);
    assert_int_equal(tn_error_code(), TN_EDEVICE);
    tn_error_clear();
    tn_tensor *again = MADE(tn_to(back, .device = d, .non_blocking = true)); /* on the same stream */
    tn_event *e = tn_stream_record_event(tn_cuda_current_stream(d));
    OK(tn_event_synchronize(e));
    tn_event_release(e);
    assert_true(tn_item(first) == 1 && tn_item(tn_sum(MADE(tn_add(back, tn_cpu(again))))) == 2000);
    OK(tn_add_(x, 1) ? TN_OK : tn_error_code());
    /* rows beside the one that is written */
    tn_tensor *rows = MADE(tn_zeros(TN_SHAPE(10, 100), .pin_memory = true)), *even = tn_slice(rows, 0, 0, 10, 2);
    MADE(tn_copy_(tn_select(rows, 0, 3), tn_ones(TN_SHAPE(100), .device = d), .non_blocking = true));
    assert_true(tn_item(tn_sum(even)) == 0);
    MADE(tn_add_(even, 1));
    FAILS(tn_sum(tn_slice(rows, 0, 1, 10, 2)), TN_EDEVICE, "reads 400 bytes");
    FAILS(tn_sum(tn_select(rows, 1, 5)), TN_EDEVICE, "reads 4 bytes");
    OK(tn_synchronize(d));
    assert_true(tn_item(tn_sum(rows)) == 600);
    tn_scope_close(scope);
    SILENT();
}

/* Streams of their own on both devices, temporaries on both sides, tensors that go as soon as they have been used: the fake
 * GPUs refuse what is not ordered, and memory that was given away too early shows in the values. */
static void moves_on_streams(void **state)
{
    (void)state;
    const tn_device zero = TN_CUDA(0), one = second();
    tn_scope *scope = tn_scope_open();
    tn_stream *s[2] = {tn_cuda_stream_new(zero, 0), tn_cuda_stream_new(one, 0)};
    tn_tensor *x = tn_reshape(tn_arange(0, 4000, 1), TN_SHAPE(40, 100)), *want = MADE(tn_to(tn_t(x), .dtype = TN_F32));
    tn_tensor *pinned = tn_pin_memory(tn_t(x));
    tn_stream_guard g[2] = {tn_stream_enter(s[0]), tn_stream_enter(s[1])};
    for (int i = 0; i < 20; i++) {
        tn_scope *inner = tn_scope_open();
        tn_tensor *a = tn_to(i % 2 ? tn_t(x) : pinned, .device = zero, .dtype = TN_F32, .non_blocking = true);
        tn_tensor *b = tn_to(tn_slice(tn_t(tn_mul(a, 1)), 0, 0, 40, 1), .device = one, .dtype = TN_F64);
        tn_tensor *far = tn_zeros(TN_SHAPE(100, 40), .device = one, .dtype = TN_I32);
        tn_tensor *c = tn_copy_(far, tn_t(b)), *d = tn_to(tn_mul(tn_t(c), 1), .device = zero, .dtype = TN_F32);
        tn_tensor *back = tn_to(tn_t(d), .device = TN_CPU, .non_blocking = true);
        OK(tn_synchronize(zero));
        tn_tensor *kept = tn_keep(MADE(back));
        tn_scope_close(inner);
        assert_true(tn_equal(kept, want));
        tn_release(kept);
    }
    tn_stream_leave(g[1]);
    tn_stream_leave(g[0]);
    tn_stream_release(s[0]);
    tn_stream_release(s[1]);
    tn_scope_close(scope);
}

/* 'cuda' is the current device; what changes nothing is the same tensor. */
static void the_current_device(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = MADE(tn_tensor_from(TN_LIST(1, 2, 3), .device = TN_CUDA(-1)));
    PRINTS(x, "tensor([1, 2, 3], device='cuda:0')");
    assert_ptr_equal(tn_cuda(x), x);
    assert_ptr_equal(tn_cuda(x, 0), x);
    assert_ptr_equal(tn_to(x, .device = tn_device_parse("cuda"), .dtype = TN_I64), x);
    assert_ptr_not_equal(tn_to(x, .device = TN_CUDA(0), .copy = true), x);
    OK(tn_cuda_set_device(1));
    tn_tensor *y = MADE(tn_cuda(x));
    PRINTS(y, "tensor([1, 2, 3], device='cuda:1')");
    PRINTS(x, "tensor([1, 2, 3], device='cuda:0')");
    assert_ptr_equal(tn_cuda(y), y);
    OK(tn_set_default_device(TN_CUDA(-1)));
    PRINTS(MADE(tn_ones(TN_SHAPE(2))), "tensor([1., 1.], device='cuda:1')");
    PRINTS(MADE(tn_tensor_from(TN_LIST(1.5))), "tensor([1.5000], device='cuda:1')");
    OK(tn_cuda_set_device(0));
    PRINTS(MADE(tn_ones(TN_SHAPE(2))), "tensor([1., 1.], device='cuda:0')"); /* the current one, now */
    assert_true(tn_device_equal(tn_get_default_device(), TN_CUDA(0)));
    OK(tn_set_default_device(TN_CPU));
    assert_true(tn_device_equal(tn_get_default_device(), TN_CPU));
    PRINTS(MADE(tn_zeros_like(y)), "tensor([0, 0, 0], device='cuda:1')");
    PRINTS(MADE(tn_empty(TN_SHAPE(0, 2), .device = TN_CUDA(1))), "tensor([], device='cuda:1', size=(0, 2))");
    assert_null(tn_data(x));
    assert_non_null(strstr(tn_error_message(), "can't convert cuda:0 device type tensor to numpy."));
    tn_error_clear();
    FAILS(tn_cuda(x, 2), TN_EDEVICE,
          "CUDA error: invalid device ordinal\nGPU device may be out of range, do you have "
          "enough GPUs?\n  cuda:2 was asked for; there are 2");
    FAILS(tn_cuda(x, -5), TN_EINVAL, "Device index must not be negative");
    tn_scope_close(scope);
}

/* Gradients go back to where they came from, in the dtype they had. */
static void gradients_come_back(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_tensor_from(TN_LIST(1.0, 2.0, 3.0), .requires_grad = true);
    tn_tensor *g = MADE(tn_to(x, .device = TN_CUDA(1), .dtype = TN_F64));
    PRINTS(g, "tensor([1., 2., 3.], device='cuda:1', dtype=torch.float64,\n       grad_fn=<ToCopyBackward0>)");
    OK(tn_backward(tn_sum(tn_mul(g, g))));
    PRINTS(tn_tensor_grad(x), "tensor([2., 4., 6.])");
    tn_tensor *far = tn_ones(TN_SHAPE(3), .device = TN_CUDA(0), .requires_grad = true);
    tn_tensor *y = MADE(tn_copy_(tn_zeros(TN_SHAPE(2, 3)), far));
    OK(tn_backward(tn_sum(tn_mul(y, 2))));
    PRINTS(tn_tensor_grad(far), "tensor([4., 4., 4.], device='cuda:0')");
    tn_tensor *hop = tn_to(tn_to(tn_to(far, .device = TN_CUDA(1)), .device = TN_CPU), .device = TN_CUDA(0));
    OK(tn_backward(tn_sum(hop), .gradient = tn_tensor_from(TN_LIST(3.0), .shape = TN_SHAPE())));
    PRINTS(tn_tensor_grad(far), "tensor([7., 7., 7.], device='cuda:0')");
    FAILS_STATUS(tn_tensor_set_grad(far, tn_ones(TN_SHAPE(3))), TN_EDEVICE, "attempting to assign a gradient");
    tn_scope_close(scope);
}

int main(int argc, char **argv)
{
    static const alone tests[] = {
        ANYWHERE(every_dtype_and_layout, "TENON_FAKE_GPUS=2"),
        ALONE(what_crosses, "TENON_FAKE_GPUS=2"),
        ANYWHERE(copies_beside_the_host, "TENON_FAKE_GPUS=1"),
        ANYWHERE(moves_on_streams, "TENON_FAKE_GPUS=2"),
        ALONE(the_current_device, "TENON_FAKE_GPUS=2"),
        ALONE(gradients_come_back, "TENON_FAKE_GPUS=2"),
        ALONE(the_host_waits, "TENON_FAKE_GPUS=1"),
        ANYWHERE(printing_takes_the_ends, "TENON_FAKE_GPUS=1"),
    };
    return alone_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
