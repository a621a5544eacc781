/* DLPack: memory shared in both directions, who frees it when, and what is refused. Layouts and codes are the
 * specification's (https://dmlc.github.io/dlpack/latest/c_api.html). */
#include "check.h"
#include <stddef.h>
#include <stdlib.h>

static void the_structs_are_the_abi(void **state)
{
    (void)state;
    assert_int_equal(offsetof(tn_dl_tensor, data), 0);
    assert_int_equal(offsetof(tn_dl_tensor, device), 8);
    assert_int_equal(offsetof(tn_dl_tensor, ndim), 16);
    assert_int_equal(offsetof(tn_dl_tensor, dtype), 20);
    assert_int_equal(offsetof(tn_dl_tensor, shape), 24);
    assert_int_equal(offsetof(tn_dl_tensor, strides), 32);
    assert_int_equal(offsetof(tn_dl_tensor, byte_offset), 40);
    assert_int_equal(offsetof(tn_dl_managed, manager_ctx), 48);
    assert_int_equal(offsetof(tn_dl_managed, deleter), 56);
    assert_int_equal(offsetof(tn_dl_managed_versioned, manager_ctx), 8);
    assert_int_equal(offsetof(tn_dl_managed_versioned, deleter), 16);
    assert_int_equal(offsetof(tn_dl_managed_versioned, flags), 24);
    assert_int_equal(offsetof(tn_dl_managed_versioned, tensor), 32);
}

static void every_dtype_goes_out_and_in(void **state)
{
    (void)state;
    static const struct {
        tn_dtype dtype;
        int code, bits;
    } dtypes[] = {{TN_BOOL, 6, 8}, {TN_U8, 1, 8},   {TN_I8, 0, 8},    {TN_I16, 0, 16}, {TN_I32, 0, 32},
                  {TN_I64, 0, 64}, {TN_F16, 2, 16}, {TN_BF16, 4, 16}, {TN_F32, 2, 32}, {TN_F64, 2, 64}};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        int64_t before = tn_live_tensors();
        tn_scope *s = tn_scope_open();
        tn_tensor *x = MADE(tn_to(tn_reshape(tn_arange(0, 6, 1), TN_SHAPE(2, 3)), .dtype = dtypes[i].dtype));
        tn_tensor *view = MADE(tn_slice(tn_t(x), 0, 1, 3, 1)); /* [2, 2], strides 1 and 3, from element 1 */
        tn_dl_managed_versioned *m = tn_to_dlpack(view, -1);
        assert_non_null(m);
        assert_int_equal(m->version.major, 1);
        assert_int_equal(m->flags, 0);
        assert_int_equal(m->tensor.dtype.code, dtypes[i].code);
        assert_int_equal(m->tensor.dtype.bits, dtypes[i].bits);
        assert_int_equal(m->tensor.dtype.lanes, 1);
        assert_int_equal(m->tensor.device.type, TN_DL_CPU);
        assert_int_equal(m->tensor.ndim, 2);
        assert_int_equal(m->tensor.strides[0], 1);
        assert_int_equal(m->tensor.strides[1], 3);
        assert_ptr_equal((char *)m->tensor.data + m->tensor.byte_offset, tn_data(view));
        tn_tensor *back = MADE(tn_from_dlpack(m));
        assert_ptr_equal(tn_data(back), tn_data(view));
        assert_true(tn_equal(back, view));
        tn_fill_(view, 0); /* one memory */
        assert_true(tn_equal(back, view));
        tn_scope_close(s);
        assert_int_equal(tn_live_tensors(), before);
    }
}

/* Memory that came in twice is one memory, though nobody told the library so: two storages of the same bytes. */
static void one_memory_in_two_imports(void **state)
{
    (void)state;
    static float numbers[8];
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_arange(0, 6, 1)), *back = MADE(tn_from_dlpack(tn_to_dlpack(x, -1)));
    tn_tensor *part = MADE(tn_from_dlpack(tn_to_dlpack(MADE(tn_slice(x, 0, 4, 6, 1)), -1)));
    assert_true(tn_tensor_shares_memory(x, back) && tn_tensor_shares_memory(part, x));
    assert_true(tn_tensor_shares_memory(part, back) && !tn_tensor_shares_storage(part, back));
    assert_true(tn_tensor_shares_storage(x, MADE(tn_slice(x, 0, 4, 6, 1))));
    tn_tensor *a = MADE(tn_from_data(numbers, TN_F32, TN_SHAPE(8))),
              *b = MADE(tn_from_data(numbers + 4, TN_F32, TN_SHAPE(4))),
              *c = MADE(tn_from_data(numbers, TN_F32, TN_SHAPE(4))),
              *none = MADE(tn_from_data(numbers, TN_F32, TN_SHAPE(0)));
    assert_true(tn_tensor_shares_memory(a, b) && tn_tensor_shares_memory(c, a) && !tn_tensor_shares_storage(a, b));
    assert_false(tn_tensor_shares_memory(b, c) || tn_tensor_shares_memory(a, x) || tn_tensor_shares_memory(a, none));
    assert_false(tn_tensor_shares_memory(a, NULL) || tn_tensor_shares_storage(NULL, a));
    tn_tensor *copy = MADE(tn_clone(a)), *ghost = MADE(tn_zeros(TN_SHAPE(8), .device = TN_META));
    assert_false(tn_tensor_shares_memory(a, copy) || tn_tensor_shares_memory(ghost, copy));
    tn_scope_close(s);
}

static void memory_outlives_the_tensor(void **state)
{
    (void)state;
    tn_tensor *x = MADE(tn_full(TN_SHAPE(1, 3), 7.5));
    tn_dl_managed *m = tn_to_dlpack_legacy(x, 1); /* the CPU has no streams */
    tn_release(x);
    assert_non_null(m);
    assert_int_equal(m->tensor.strides[0], 1); /* of a dimension of size 1 */
    assert_true(((const float *)m->tensor.data)[2] == 7.5f);
    m->deleter(m);
}

/* ---- another library's memory ---- */

typedef struct foreign {
    tn_dl_managed_versioned m;
    int64_t shape[9], strides[9];
    int deleted;
    _Alignas(64) float data[16];
} foreign;

static void note(tn_dl_managed_versioned *m)
{
    ((foreign *)m->manager_ctx)->deleted++;
}

static void note_legacy(tn_dl_managed *m)
{
    ++*(int *)m->manager_ctx;
}

/* float32 [2, 3] */
static foreign *foreign_new(void)
{
    foreign *f = aligned_alloc(64, (sizeof *f + 63) / 64 * 64);
    assert_non_null(f);
    *f = (foreign){.shape = {2, 3}, .strides = {3, 1}};
    for (int i = 0; i < 16; i++)
        f->data[i] = (float)i;
    f->m = (tn_dl_managed_versioned){.version = {1, 3},
                                     .manager_ctx = f,
                                     .deleter = note,
                                     .tensor = {f->data, {TN_DL_CPU, 0}, 2, {TN_DL_FLOAT, 32, 1}, f->shape, NULL, 0}};
    return f;
}

static void the_deleter_runs_with_the_last_view(void **state)
{
    (void)state;
    foreign *f = foreign_new();
    f->m.tensor.byte_offset = 8;
    tn_tensor *x = MADE(tn_from_dlpack(&f->m));
    PRINTS(x, "tensor([[2., 3., 4.],\n        [5., 6., 7.]])"); /* no strides: row-major */
    tn_tensor *row = MADE(tn_select(x, 0, 1));
    tn_release(x);
    assert_int_equal(f->deleted, 0);
    assert_ptr_equal(tn_add_(row, 1), row);
    assert_true(f->data[5] == 6);
    tn_release(row);
    assert_int_equal(f->deleted, 1);
    int deleted = 0;
    tn_dl_managed old = {f->m.tensor, &deleted, note_legacy};
    tn_release(MADE(tn_from_dlpack_legacy(&old)));
    assert_int_equal(deleted, 1);
    old.deleter = NULL;
    tn_release(MADE(tn_from_dlpack_legacy(&old)));
    free(f);
}

static void strides_are_as_said(void **state)
{
    (void)state;
    foreign *f = foreign_new();
    f->m.tensor.strides = f->strides;
    f->strides[0] = 1, f->strides[1] = 4;
    tn_tensor *x = MADE(tn_from_dlpack(&f->m));
    PRINTS(x, "tensor([[0., 4., 8.],\n        [1., 5., 9.]])");
    tn_release(x);
    f->shape[1] = 1, f->strides[1] = -99; /* of a dimension of size 1: anything */
    x = MADE(tn_from_dlpack(&f->m));
    PRINTS(x, "tensor([[0.],\n        [1.]])");
    tn_release(x);
    f->shape[0] = 0, f->m.tensor.data = NULL; /* nothing needs no memory */
    x = MADE(tn_from_dlpack(&f->m));
    assert_int_equal(tn_tensor_numel(x), 0);
    tn_release(x);
    free(f);
}

static void read_only_memory_is_not_written(void **state)
{
    (void)state;
    foreign *f = foreign_new();
    f->m.flags = TN_DL_READ_ONLY;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_from_dlpack(&f->m));
    FAILS(tn_add_(x, 1), TN_EINVAL, "read-only memory");
    tn_dl_managed_versioned *again = tn_to_dlpack(x, -1);
    assert_non_null(again);
    assert_int_equal(again->flags, TN_DL_READ_ONLY);
    again->deleter(again);
    FAILS(tn_to_dlpack_legacy(x, -1), TN_EINVAL, "read-only memory");
    tn_scope_close(s);
    assert_int_equal(f->deleted, 1);
    free(f);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    foreign *f = foreign_new();
    const tn_dl_managed_versioned good = f->m;
#define REFUSES(change, code, text) \
    do { \
        f->m = good; \
        f->shape[0] = 2, f->shape[1] = 3, f->strides[0] = 3, f->strides[1] = 1; \
        change; \
        FAILS(tn_from_dlpack(&f->m), code, text); \
    } while (0)
    REFUSES(f->m.version.major = 2, TN_EINVAL, "DLPack 2.3 is not known");
    REFUSES(f->m.tensor.dtype.code = 5, TN_EDTYPE, "of code 5 with 32 bits and 1 lanes");
    REFUSES(f->m.tensor.dtype.bits = 4, TN_EDTYPE, "of code 2 with 4 bits");
    REFUSES(f->m.tensor.dtype.lanes = 4, TN_EDTYPE, "and 4 lanes");
    REFUSES(f->m.tensor.device.type = 10, TN_EDEVICE, "memory of the device type 10");
    REFUSES(f->m.tensor.ndim = 9, TN_EINVAL, "9 dimensions; tensors have 0 to 8");
    REFUSES(f->m.tensor.ndim = -1, TN_EINVAL, "-1 dimensions");
    REFUSES(f->m.tensor.shape = NULL, TN_EINVAL, "the shape is NULL");
    REFUSES(f->shape[1] = -3, TN_EINVAL, "negative");
    REFUSES((f->shape[0] = INT64_MAX / 2, f->shape[1] = 3), TN_EINVAL, "larger than memory can be");
    REFUSES((f->m.tensor.strides = f->strides, f->strides[1] = -1), TN_EVALUE, "the stride of dimension 1 is negative");
    REFUSES((f->m.tensor.strides = f->strides, f->strides[0] = INT64_MAX), TN_EINVAL, "beyond what an index can count");
    REFUSES(f->m.tensor.data = NULL, TN_EINVAL, "the data is NULL");
    REFUSES(f->m.tensor.byte_offset = 2, TN_EINVAL, "no multiple of 4");
    assert_int_equal(f->deleted, 0); /* it is the caller's still */
    FAILS(tn_from_dlpack(NULL), TN_EINVAL, "NULL");
    FAILS(tn_from_dlpack_legacy(NULL), TN_EINVAL, "NULL");
    tn_scope *s = tn_scope_open();
    tn_tensor *leaf = MADE(tn_requires_grad_(tn_ones(TN_SHAPE(2)), true));
    FAILS(tn_to_dlpack(leaf, -1), TN_EGRAD, "Can't export tensors that require gradient, use tensor.detach()");
    FAILS(tn_to_dlpack(MADE(tn_ones(TN_SHAPE(2), .device = TN_META)), -1), TN_EDEVICE, "has no memory to share");
    FAILS(tn_to_dlpack(TN_NONE, -1), TN_ETYPE, "TN_NONE");
    tn_scope_close(s);
    free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_structs_are_the_abi),
        cmocka_unit_test(every_dtype_goes_out_and_in),
        cmocka_unit_test(one_memory_in_two_imports),
        cmocka_unit_test(memory_outlives_the_tensor),
        cmocka_unit_test(the_deleter_runs_with_the_last_view),
        cmocka_unit_test(strides_are_as_said),
        cmocka_unit_test(read_only_memory_is_not_written),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
