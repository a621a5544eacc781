/* The ground: dtypes, devices, shapes, environment, the allocation door, dynamic libraries. Texts and promotion values:
 * PyTorch 2.14.1. */
#include "check.h"
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/dynlib.h"
#include "core/warning.h"
#include "core/env.h"
#include "core/shape.h"
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- dtypes ---- */

static void half_conversion_is_exact(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 65536; h++) { /* every float16 goes to float and back unchanged; NaN stays NaN */
        float f = tn__half_to_float((uint16_t)h);
        uint16_t back = tn__float_to_half(f);
        if (isnan(f))
            assert_true((back & 0x7c00) == 0x7c00 && (back & 0x3ff));
        else
            assert_int_equal(back, h);
        float b = tn__bf16_to_float((uint16_t)h);
        if (!isnan(b))
            assert_int_equal(tn__float_to_bf16(b), h);
    }
    static const struct {
        float f;
        uint16_t h;
    } cases[] = {{1.0F, 0x3c00},       {65504.0F, 0x7bff}, {65519.996F, 0x7bff}, {65520.0F, 0x7c00},
                 {5.9604645e-8F, 1},   {2.9802322e-8F, 0}, {2.9802326e-8F, 1},   {1.00048828125F, 0x3c00},
                 {1.0014648F, 0x3c02}, {-0.0F, 0x8000}};
    for (size_t i = 0; i < TN_COUNT(cases); i++) /* halves to even, from IEEE 754 by hand */
        assert_int_equal(tn__float_to_half(cases[i].f), cases[i].h);
}

static void promotion_is_pytorchs(void **state)
{
    (void)state;
    assert_int_equal(tn_promote_types(TN_U8, TN_I8), TN_I16);
    assert_int_equal(tn_promote_types(TN_F16, TN_BF16), TN_F32);
    assert_int_equal(tn_promote_types(TN_I64, TN_F16), TN_F16);
    assert_int_equal(tn_promote_types(TN_BOOL, TN_BOOL), TN_BOOL);
    assert_true(tn_can_cast(TN_I64, TN_F16));
    assert_false(tn_can_cast(TN_F16, TN_I64));
    assert_false(tn_can_cast(TN_I32, TN_BOOL));
    tn_scope *s = tn_scope_open();
    tn_tensor *i = MADE(tn_ones(TN_SHAPE(2), .dtype = TN_I32)), *zero = MADE(tn_ones(TN_SHAPE(), .dtype = TN_F64));
    assert_int_equal(tn_tensor_dtype(MADE(tn_add(i, 2.5))), TN_F32);  /* a number brings the default dtype */
    assert_int_equal(tn_tensor_dtype(MADE(tn_add(i, zero))), TN_F64); /* a 0-dim tensor of a higher kind its own */
    assert_int_equal(tn_tensor_dtype(MADE(tn_add(MADE(tn_to(i, .dtype = TN_F16)), zero))), TN_F16);
    assert_int_equal(tn_tensor_dtype(MADE(tn_add(i, true))), TN_I32);
    assert_int_equal(tn_tensor_dtype(MADE(tn_div(i, 2))), TN_F32);
    OK(tn_set_default_dtype(TN_F64));
    assert_int_equal(tn_tensor_dtype(MADE(tn_add(i, 2.5))), TN_F64);
    assert_int_equal(tn_tensor_dtype(MADE(tn_tensor_from(TN_LIST(1.5)))), TN_F64);
    OK(tn_set_default_dtype(TN_F32));
    FAILS_STATUS(tn_set_default_dtype(TN_I64), TN_ETYPE, "only floating-point types are supported as the default type");
    tn_scope_close(s);
}

static void lists_and_arrays_have_their_dtypes(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    float w[] = {1, 2, 3};
    uint32_t u[] = {1, 2};
    int64_t big = INT64_C(9007199254740993); /* 2^53 + 1: no double holds it */
    PRINTS(tn_tensor_from(TN_LIST(1, 2, 3)), "tensor([1, 2, 3])");
    PRINTS(tn_tensor_from(TN_LIST(1, 2.5)), "tensor([1.0000, 2.5000])");
    PRINTS(tn_tensor_from(TN_LIST(big, 1)), "tensor([9007199254740993,                1])");
    PRINTS(tn_tensor_from(TN_ARRAY(w)), "tensor([1., 2., 3.])");
    PRINTS(tn_tensor_from(TN_LIST(1, 2, 3, 4), .shape = TN_SHAPE(2, -1)), "tensor([[1, 2],\n        [3, 4]])");
    PRINTS(tn_tensor_from(TN_LIST(1, 0, 2), .dtype = TN_BOOL), "tensor([ True, False,  True])");
    PRINTS(tn_tensor_from(TN_LIST(7u, 8u)), "tensor([7, 8])");
    PRINTS(tn_tensor_from(TN_ARRAY(u)), "tensor([1, 2], dtype=torch.uint32)");
    FAILS(tn_tensor_from(TN_LIST(1, 2, 3), .shape = TN_SHAPE(2, 2)), TN_EINVAL,
          "shape '[2, 2]' is invalid for input of size 3");
    FAILS(tn_tensor_from(TN_LIST(1), .dtype = 77), TN_EINVAL, "77 is not a dtype");
    FAILS(tn_tensor_from(TN_LIST(1, 2), .requires_grad = true), TN_EDTYPE,
          "Only Tensors of floating point and complex dtype");
    tn_scope_close(s);
}

/* ---- devices ---- */

static void device_strings(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } bad[] = {
        {"", "Device string must not be empty"},
        {"cuda:-1", "Invalid device string: 'cuda:-1'"},
        {"cuda:", "Invalid device string: 'cuda:'"},
        {"cuda:01", "Invalid device string: 'cuda:01'"},
        {"cuda:0x", "Invalid device string: 'cuda:0x'"},
        {"cuda:1:2", "Invalid device string: 'cuda:1:2'"},
        {" cuda", "Invalid device string: ' cuda'"},
        {"cuda ", "Invalid device string: 'cuda '"},
        {"gpu", "device type at start of device string: gpu"},
        {"CUDA", "device type at start of device string: CUDA"},
        {"cuda:99999999999", "Could not parse device index '99999999999' in device string 'cuda:99999999999'"},
    };
    for (size_t i = 0; i < TN_COUNT(bad); i++) {
        tn_device d = tn_device_parse(bad[i].text);
        assert_int_equal(d.type, TN_DEVICE_INVALID);
        assert_non_null(strstr(tn_error_message(), bad[i].error));
        assert_int_equal(tn_error_code(), TN_EINVAL);
        assert_null(tn_zeros(TN_SHAPE(1), .device = d)); /* poisons, and leaves the record alone */
        assert_non_null(strstr(tn_error_message(), bad[i].error));
        tn_error_clear();
    }
    assert_string_equal(tn_device_text(tn_device_parse("cuda:1")).s, "cuda:1");
    assert_string_equal(tn_device_text(tn_device_parse("cpu")).s, "cpu");
    assert_false(tn_device_equal(tn_device_parse("cuda"), TN_CUDA(0)));
    assert_true(tn_device_equal(tn_device_parse("cuda:0"), TN_CUDA(0)));
}

static void devices_that_are_not_there(void **state)
{
    (void)state;
    if (tn_cuda_is_available())
        skip();
    assert_int_equal(tn_cuda_device_count(), 0);
    assert_string_equal(tn_device_text(tn_try_gpu(0)).s, "cpu");
    tn_device all[2];
    assert_int_equal(tn_try_all_gpus(all, 2), 1);
    assert_string_equal(tn_device_text(all[0]).s, "cpu");
    FAILS(tn_zeros(TN_SHAPE(2), .device = TN_CUDA(1)), TN_EDEVICE, "no NVIDIA GPU: try TENON_FAKE_GPUS=1");
    assert_int_equal(tn_error_code(), TN_OK);
}

static void meta_tensors_have_shapes_and_no_bytes(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_zeros(TN_SHAPE(1000000, 1000000), .device = TN_META)); /* 4 TB, of nothing */
    tn_tensor *y = MADE(tn_sum(MADE(tn_mul(x, 2)), .dim = 1));
    PRINTS(y, "tensor(..., device='meta', size=(1000000,))");
    FAILS(tn_add(y, MADE(tn_ones(TN_SHAPE(1)))), TN_EDEVICE,
          "Expected all tensors to be on the same device, but found at "
          "least two devices, meta and cpu!");
    assert_null(tn_data(y));
    tn_error_clear();
    assert_true(isnan(tn_item(MADE(tn_sum(y)))));
    assert_int_equal(tn_error_code(), TN_EDEVICE);
    tn_error_clear();
    tn_scope_close(s);
}

/* ---- shapes ---- */

static void sizes_that_overflow(void **state)
{
    (void)state;
    FAILS(tn_zeros(TN_SHAPE(INT64_MAX, 2)), TN_EINVAL, "more elements than memory can hold");
    FAILS(tn_zeros(TN_SHAPE(INT64_C(1) << 62)), TN_EINVAL, "more elements than memory can hold");
    FAILS(tn_zeros(TN_SHAPE(2, -3)), TN_EINVAL, "Trying to create tensor with negative dimension -3: [2, -3]");
    const int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    FAILS(tn_zeros(tn_dims_of(nine, 9)), TN_EINVAL, "at most 8 dimensions, got 9");
    FAILS(tn_zeros(tn_dims_of(nine, -3)), TN_EINVAL, "a shape cannot have -3 dimensions");
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(1, 1)));
    FAILS(tn_sum(x, .dims = tn_dims_of(nine, -3)), TN_EINVAL, "its count is negative");
    FAILS(tn_expand(x, TN_SHAPE(INT64_C(1) << 40, INT64_C(1) << 40)), TN_EINVAL,
          "more elements than an index can count");
    tn_tensor *wide = MADE(tn_expand(x, TN_SHAPE(INT64_C(1) << 31, INT64_C(1) << 30)));
    FAILS(tn_clone(wide), TN_EINVAL, "larger than memory can be");
    MADE(tn_zeros(TN_SHAPE(0, INT64_MAX))); /* empty is empty */
    FAILS(tn_zeros(TN_SHAPE(0, INT64_C(1) << 40, INT64_C(1) << 23)), TN_EINVAL, "more elements than memory can hold");
    tn_scope_close(s);
}

static tn_dims made_elsewhere(int64_t rows)
{
    const tn_dims local = TN_SHAPE(rows, rows + 1);
    return local;
}

/* What other calls leave on the stack where a list stood that its block has left. */
static void write_over(void)
{
    volatile int64_t other[64];
    for (int i = 0; i < 64; i++)
        other[i] = -77;
    (void)other[0];
}

static void lists_outlive_their_block(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_dims shape, dims;
    {
        shape = TN_SHAPE(3, 2);
        dims = TN_DIMS(0, 1);
    }
    const tn_dims far = made_elsewhere(2);
    write_over();
    tn_tensor *x = MADE(tn_ones(shape)), *y = MADE(tn_zeros(far));
    assert_int_equal(tn_tensor_size(x, 0), 3);
    assert_int_equal(tn_tensor_size(x, 1), 2);
    assert_int_equal(tn_tensor_size(y, 1), 3);
    assert_true(tn_item(MADE(tn_sum(x, .dims = dims))) == 6);
    tn_tensor *t = tn_keep(MADE(tn_ones(TN_SHAPE(4, 5))));
    const tn_dims of_t = tn_tensor_shape(t), steps = tn_tensor_stride(t);
    tn_release(t);
    assert_int_equal(of_t.ndim, 2);
    assert_int_equal(of_t.dim[1], 5);
    assert_int_equal(steps.dim[0], 5);
    tn_scope_close(s);
}

/* A number is one dimension, 0 in a variable, too; a list may have several, or none. */
static void dimensions_as_numbers_and_lists(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_tensor_from(TN_LIST(1., 2., 3., 4., 5., 6.), .shape = TN_SHAPE(2, 3)));
    int64_t none = 0;
    PRINTS(MADE(tn_sum(x, .dim = none)), "tensor([5., 7., 9.])");
    PRINTS(MADE(tn_sum(x, .keepdim = true, .dim = none - 1)), "tensor([[ 6.],\n        [15.]])");
    PRINTS(MADE(tn_sum(x, .dims = TN_DIMS(1, 0))), "tensor(21.)");
    PRINTS(MADE(tn_sum(x)), "tensor(21.)");
    PRINTS(MADE(tn_argmax(x, .dim = none)), "tensor([1, 1, 1])");
    PRINTS(MADE(tn_argmax(x)), "tensor(5)");
    PRINTS(MADE(tn_norm(x, .p = TN_SCALAR(1), .dim = none)), "tensor([5., 7., 9.])");
    PRINTS(MADE(tn_all(tn_gt(x, 2), .dims = TN_DIMS())),
           "tensor([[False, False,  True],\n        [ True,  True,  True]])");
    PRINTS(MADE(tn_all(tn_gt(x, 2))), "tensor(False)");
    FAILS(tn_sum(x, .dim = 1, .dims = TN_DIMS(0)), TN_EINVAL, "dim and dims are both given");
    FAILS(tn_norm(x, .dim = 0, .dims = TN_DIMS()), TN_EINVAL, "dim and dims are both given");
    FAILS(tn_roll(x, TN_DIMS(1), .dim = 0, .dims = TN_DIMS(1)), TN_EINVAL, "at " __FILE__);
    FAILS(tn_view(x, tn_dims_of(NULL, 2)), TN_EINVAL, "at " __FILE__);
    FAILS((tn_zeros_opt)(NULL, NULL), TN_EINVAL, "the shape is NULL");
    FAILS((tn_permute_at)("", x, NULL), TN_EINVAL, "a list of 0 to 8 dimensions was expected, got NULL");
    tn_scope_close(s);
}

/* What C lets through: an options struct that was filled by hand, the shape of what a failed call gave. */
static void dimensions_that_nobody_said(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(2, 3)));
    const tn_sum_options sum = {.struct_size = sizeof sum, .dim = 1};
    const tn_norm_options norm = {.struct_size = sizeof norm, .dim = -1};
    const tn_aminmax_options ends = {.struct_size = sizeof ends, .dim = 1};
    const tn_unique_options unique = {.struct_size = sizeof unique, .dim = 1};
    FAILS((tn_sum_opt)(x, &sum), TN_EINVAL, "dim is 1, but dim_given is false");
    FAILS((tn_norm_opt)(x, &norm), TN_EINVAL, "dim is -1, but dim_given is false");
    FAILS((tn_aminmax_opt)(x, &ends), TN_EINVAL, "dim is 1, but dim_given is false");
    FAILS((tn_unique_opt)(x, &unique), TN_EINVAL, "dim is 1, but dim_given is false");
    FAILS(tn_zeros(tn_tensor_shape(NULL)), TN_EINVAL, "cannot have -1 dimensions");
    FAILS(tn_reshape(x, tn_tensor_shape(NULL)), TN_EINVAL, "cannot have -1 dimensions");
    FAILS(tn_sum(x, .dims = tn_tensor_stride(NULL)), TN_EINVAL, "its array or its tensor NULL");
    FAILS(tn_tensor_from(TN_LIST(1.), .shape = tn_tensor_shape(NULL)), TN_EINVAL, "cannot have -1 dimensions");
    FAILS(tn_normal(x, 1, .shape = tn_tensor_shape(NULL)), TN_EINVAL, "normal: a list of 0 to 8 numbers was expected");
    tn_scope_close(s);
}

static void view_strides_match_a_copy(void **state)
{
    (void)state;
    /* [4, 6] seen transposed; splitting a dimension works, joining two does not */
    const int64_t shape[] = {6, 4}, stride[] = {1, 6}, split[] = {2, 3, 4}, joined[] = {24};
    int64_t out[TN_MAX_DIMS];
    assert_true(tn__view_strides(shape, stride, 2, split, 3, out));
    assert_int_equal(out[0], 3);
    assert_int_equal(out[1], 1);
    assert_int_equal(out[2], 6);
    assert_false(tn__view_strides(shape, stride, 2, joined, 1, out));
}

static void wrap_dim_texts(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(2, 3)));
    FAILS(tn_sum(x, .dim = 2), TN_EINDEX, "Dimension out of range (expected to be in range of [-2, 1], but got 2)");
    FAILS(tn_sum(x, .dims = TN_DIMS(0, -2)), TN_EINVAL, "dim 0 appears multiple times in the list of dims");
    FAILS(tn_softmax(MADE(tn_ones(TN_SHAPE())), 1), TN_EINDEX, "expected to be in range of [-1, 0], but got 1");
    assert_int_equal(tn_tensor_size(x, -1), 3);
    assert_int_equal(tn_tensor_size(x, 5), -1);
    assert_int_equal(tn_error_code(), TN_EINDEX);
    tn_error_clear();
    tn_scope_close(s);
}

/* ---- environment, libraries, door ---- */

static void byte_sizes_parse(void **state)
{
    (void)state;
    int64_t n;
    assert_true(tn__parse_bytes("2GiB", &n));
    assert_int_equal(n, INT64_C(2) << 30);
    assert_true(tn__parse_bytes("512MiB", &n));
    assert_int_equal(n, 512 << 20);
    assert_true(tn__parse_bytes("1048576", &n));
    assert_int_equal(n, 1048576);
    assert_false(tn__parse_bytes("-1", &n));
    assert_false(tn__parse_bytes("12 apples", &n));
    assert_false(tn__parse_bytes("99999999999999GiB", &n));
    assert_false(tn__parse_bytes("", &n));
}

static void absent_libraries_are_facts(void **state)
{
    (void)state;
    static const char *const names[] = {"libtenon-no-such-thing.so.7", NULL};
    static const char *const broken[] = {"libtenon-no-such-thing.so.7", "/etc/passwd", "/etc/group", NULL};
    tn__dynlib_fault fault = {""};
    assert_null(tn__dynlib_open(names, NULL, &fault));
    assert_string_equal(fault.s, "");
    assert_null(tn__dynlib_open(broken, NULL, &fault)); /* the first that is there */
    assert_non_null(strstr(fault.s, "/etc/passwd is there, but cannot be loaded: "));
    assert_int_equal(tn_error_code(), TN_OK);
}

static char warning[64];
static int warnings;

static void take_warning(const char *message)
{
    snprintf(warning, sizeof warning, "%s", message);
    warnings++;
}

static void warnings_come_once(void **state)
{
    (void)state;
    static _Atomic bool said, other, silent;
    const tn_warning_handler first = tn_set_warning_handler(take_warning);
    assert_non_null(first);
    for (int i = 0; i < 3; i++)
        tn__warn_once(&said, "%d of %s", i, "three");
    assert_int_equal(warnings, 1);
    assert_string_equal(warning, "0 of three");
    tn__warn_once(&other, "another");
    assert_int_equal(warnings, 2);
    assert_string_equal(warning, "another");
    assert_ptr_equal(tn_set_warning_handler(NULL), take_warning);
    tn__warn_once(&silent, "silence");
    assert_null(tn_set_warning_handler(first));
    assert_int_equal(warnings, 2);
    assert_int_equal(tn_error_code(), TN_OK);
}

static void blocks_are_aligned_and_counted(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 63, 64, 65, 1024, 1025, 65536, 65537, 1 << 20, (2 << 20) + 1, 5 << 20};
    int64_t live = tn__door_live();
    for (size_t i = 0; i < TN_COUNT(sizes); i++) {
        char *p = tn__block_get(sizes[i]);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 64, 0);
        p[0] = p[sizes[i] - 1] = 1;
        tn__block_put(p, sizes[i]);
    }
    tn_empty_cache(TN_CPU);
    assert_true(tn__door_live() <= live + (int64_t)TN_COUNT(sizes));
    volatile size_t absurd = (size_t)PTRDIFF_MAX; /* volatile: compilers warn of sizes they can see */
    assert_null(tn__block_get(absurd));
    assert_null(tn__block_get(absurd * 2));
}

static void memory_statistics_follow_tensors(void **state)
{
    (void)state;
    tn_empty_cache(TN_CPU);
    int64_t before = tn_memory_stats(TN_CPU).allocated;
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(1 << 20)));
    assert_int_equal(tn_memory_stats(TN_CPU).allocated - before, 4 << 20);
    tn_reset_peak_memory_stats(TN_CPU);
    tn_tensor *y = MADE(tn_add(x, 1));
    tn_release(y);
    assert_int_equal(tn_memory_stats(TN_CPU).allocated_peak - before, 8 << 20);
    tn_release(x);
    assert_int_equal(tn_memory_stats(TN_CPU).allocated, before);
    int64_t reserved = tn_memory_stats(TN_CPU).reserved;
    tn_empty_cache(TN_CPU);
    assert_true(tn_memory_stats(TN_CPU).reserved <= reserved);
}

static void too_much_memory_is_an_error(void **state)
{
    (void)state;
    FAILS(tn_zeros(TN_SHAPE(INT64_C(1) << 46)), TN_ENOMEM,
          "CPU out of memory. Tried to allocate 262144.00 GiB; this process");
    tn_release(MADE(tn_zeros(TN_SHAPE(16)))); /* and life goes on */
}

static void user_memory_is_shown_and_given_back(void **state)
{
    (void)state;
    int32_t data[6] = {1, 2, 3, 4, 5, 6};
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_from_data(data, TN_I32, TN_SHAPE(2, 3)));
    tn_tensor *t = MADE(tn_from_data(data, TN_I32, TN_SHAPE(3, 2), .stride = TN_DIMS(1, 3), .read_only = true));
    PRINTS(t, "tensor([[1, 4],\n        [2, 5],\n        [3, 6]], dtype=torch.int32)");
    MADE(tn_add_(x, 10));
    assert_int_equal(data[5], 16);
    FAILS(tn_add_(t, 1), TN_EINVAL, "read-only memory");
    FAILS(tn_from_data(data, TN_I32, TN_SHAPE(2), .stride = TN_DIMS(-1)), TN_EVALUE, "negative");
    FAILS(tn_from_data(NULL, TN_I32, TN_SHAPE(2)), TN_EINVAL, "the data is NULL");
    tn_scope_close(s);
}

static int released_count;

static void count_release(void *ctx)
{
    released_count += *(int *)ctx;
}

static void release_runs_once_when_nothing_shows_the_memory(void **state)
{
    (void)state;
    float data[4] = {1, 2, 3, 4};
    int one = 1;
    released_count = 0;
    tn_tensor *x = MADE(tn_from_data(data, TN_F32, TN_SHAPE(4), .release = count_release, .ctx = &one));
    tn_tensor *v = MADE(tn_slice(x, 0, 1, 3, 1));
    tn_release(x);
    assert_int_equal(released_count, 0);
    tn_release(v);
    assert_int_equal(released_count, 1);
}

static void options_of_an_older_caller(void **state)
{
    (void)state;
    /* a struct that ends before 'requires_grad': what it lacks is not said */
    struct {
        size_t struct_size;
        const char *site;
        tn_device device;
        tn_dtype dtype;
        char garbage[64];
    } old = {offsetof(tn_options, requires_grad), "old.c:1", TN_CPU, TN_F64, {1, 1, 1, 1, 1, 1, 1, 1}};
    memset(old.garbage, 0xff, sizeof old.garbage);
    tn_tensor *x = MADE(tn_zeros_opt(TN__DIMS(TN_SHAPE(2)), (const tn_options *)(const void *)&old));
    PRINTS(x, "tensor([0., 0.], dtype=torch.float64)");
    assert_false(tn_tensor_requires_grad(x));
    tn_release(x);
}

static void plain_functions_note_no_call_site(void **state)
{
    (void)state;
    tn_tensor *(*add)(tn_tensor *, tn_tensor *) = tn_add;
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(2))), *y = MADE(tn_ones(TN_SHAPE(3)));
    assert_null(add(x, y));
    assert_null(strstr(tn_error_message(), "test_core.c"));
    tn_error_clear();
    assert_null(tn_add(x, y));
    assert_non_null(strstr(tn_error_message(), "test_core.c:"));
    tn_error_clear();
    tn_release(x);
    tn_release(y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_conversion_is_exact),
        cmocka_unit_test(promotion_is_pytorchs),
        cmocka_unit_test(lists_and_arrays_have_their_dtypes),
        cmocka_unit_test(device_strings),
        cmocka_unit_test(devices_that_are_not_there),
        cmocka_unit_test(meta_tensors_have_shapes_and_no_bytes),
        cmocka_unit_test(sizes_that_overflow),
        cmocka_unit_test(lists_outlive_their_block),
        cmocka_unit_test(dimensions_as_numbers_and_lists),
        cmocka_unit_test(dimensions_that_nobody_said),
        cmocka_unit_test(view_strides_match_a_copy),
        cmocka_unit_test(wrap_dim_texts),
        cmocka_unit_test(byte_sizes_parse),
        cmocka_unit_test(absent_libraries_are_facts),
        cmocka_unit_test(warnings_come_once),
        cmocka_unit_test(blocks_are_aligned_and_counted),
        cmocka_unit_test(memory_statistics_follow_tensors),
        cmocka_unit_test(too_much_memory_is_an_error),
        cmocka_unit_test(user_memory_is_shown_and_given_back),
        cmocka_unit_test(release_runs_once_when_nothing_shows_the_memory),
        cmocka_unit_test(options_of_an_older_caller),
        cmocka_unit_test(plain_functions_note_no_call_site),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
