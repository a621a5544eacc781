/* npy files: every dtype, order and version that NumPy wrote; what is refused; and what Tenon writes, byte for byte. */
#include "test_data.h"

#define PATH (in_folder("x.npy").s)

/* ---- reading ---- */

static void every_dtype(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    for (size_t i = 0; i < 10; i++) {
        const values_row *v = &all_values[i];
        char name[4096];
        if (!*v->numpy)
            continue;
        snprintf(name, sizeof name, FIXTURE("%s.npy"), v->numpy);
        check_tensor(MADE(tn_load_npy(name)), v->dtype, TN_SHAPE(2, 3), v->values);
        if (v->numpy[1] == '1')
            continue;
        snprintf(name, sizeof name, FIXTURE("big_%s.npy"), v->numpy);
        check_tensor(MADE(tn_load_npy(name)), v->dtype, TN_SHAPE(2, 3), v->values);
    }
    tn_scope_close(s);
}

static void versions_and_shapes(void **state)
{
    (void)state;
    static const int16_t five[] = {0, 1, 2, 3, 4};
    static const float half[] = {2.5F};
    uint8_t counted[16];
    for (int i = 0; i < 16; i++)
        counted[i] = (uint8_t)i;
    tn_scope *s = tn_scope_open();
    check_tensor(MADE(tn_load_npy(FIXTURE("v2.npy"))), TN_I16, TN_SHAPE(5), five);
    check_tensor(MADE(tn_load_npy(FIXTURE("v3.npy"))), TN_I16, TN_SHAPE(5), five);
    check_tensor(MADE(tn_load_npy(FIXTURE("scalar.npy"))), TN_F32, TN_SHAPE(), half);
    check_tensor(MADE(tn_load_npy(FIXTURE("empty.npy"))), TN_F32, TN_SHAPE(0, 3), NULL);
    check_tensor(MADE(tn_load_npy(FIXTURE("dims8.npy"))), TN_U8, TN_SHAPE(1, 2, 1, 2, 1, 2, 1, 2), counted);
    tn_scope_close(s);
}

/* Element [i, j, ...] is its place in C order; the strides are column-major. */
static void fortran_order(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *t = MADE(tn_load_npy(FIXTURE("fortran_2d.npy")));
    assert_false(tn_tensor_is_contiguous(t));
    assert_int_equal(tn_tensor_stride(t).dim[0], 1);
    assert_int_equal(tn_tensor_stride(t).dim[1], 3);
    PRINTS(t, "tensor([[ 0,  1,  2,  3],\n        [ 4,  5,  6,  7],\n        [ 8,  9, 10, 11]], "
              "dtype=torch.int32)");
    t = MADE(tn_load_npy(FIXTURE("big_fortran.npy")));
    PRINTS(t, "tensor([[0., 1., 2.],\n        [3., 4., 5.]])");
    double counted[24];
    for (int i = 0; i < 24; i++)
        counted[i] = i;
    t = MADE(tn_load_npy(FIXTURE("fortran_3d.npy")));
    assert_int_equal(tn_tensor_stride(t).dim[2], 6);
    check_tensor(MADE(tn_contiguous(t)), TN_F64, TN_SHAPE(2, 3, 4), counted);
    tn_scope_close(s);
}

static void from_memory(void **state)
{
    (void)state;
    size_t n;
    unsigned char *b = file_bytes(FIXTURE("i4.npy"), &n);
    tn_scope *s = tn_scope_open();
    tn_tensor *t = MADE(tn_npy_parse(b, n, NULL));
    memset(b, 0, n); /* it was copied */
    check_tensor(t, TN_I32, TN_SHAPE(2, 3), values_i32);
    FAILS(tn_npy_parse(b, n, "my bytes"), TN_EFORMAT, "my bytes: magic number at byte 0");
    FAILS(tn_npy_parse(b, n, NULL), TN_EFORMAT, "memory: magic number at byte 0");
    FAILS(tn_npy_parse(NULL, 0, "none"), TN_EFORMAT, "none: magic number at byte 0: the file has 0 bytes");
    FAILS(tn_npy_parse(NULL, 5, "none"), TN_EINVAL, "none: the data is NULL");
    tn_scope_close(s);
    free(b);
}

/* As numpy.save writes them, and any bits to a file and back. */
static void unsigned_types(void **state)
{
    (void)state;
    static const uint64_t zeros[2], bits[] = {UINT64_C(0xfffffffeffffffff), UINT64_C(0x8000000000000001)};
    static const struct {
        tn_dtype dtype;
        const char *file;
    } types[] = {{TN_U16, FIXTURE("no_u2.npy")}, {TN_U32, FIXTURE("no_u4.npy")}, {TN_U64, FIXTURE("no_u8.npy")}};
    tn_scope *s = tn_scope_open();
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        tn_tensor *t = MADE(tn_load_npy(types[i].file));
        check_tensor(t, types[i].dtype, TN_SHAPE(2), zeros);
        OK(tn_save_npy(t, PATH));
        check_same_file(PATH, types[i].file);
        OK(tn_save_npy(MADE(tn_from_data((void *)(uintptr_t)bits, types[i].dtype, TN_SHAPE(2))), PATH));
        check_tensor(MADE(tn_load_npy(PATH)), types[i].dtype, TN_SHAPE(2), bits);
    }
    tn_scope_close(s);
}

static void types_that_tenon_has_not(void **state)
{
    (void)state;
    FAILS(tn_load_npy(FIXTURE("no_c8.npy")), TN_EDTYPE,
          "no_c8.npy: descr at byte 21: '<c8': Tenon has no tensors of complex numbers");
    FAILS(tn_load_npy(FIXTURE("no_S5.npy")), TN_EDTYPE, "'|S5': Tenon has no tensors of text");
    FAILS(tn_load_npy(FIXTURE("no_U3.npy")), TN_EDTYPE, "'<U3'");
    FAILS(tn_load_npy(FIXTURE("no_M8.npy")), TN_EDTYPE, "'<M8[D]': Tenon has no tensors of dates");
    FAILS(tn_load_npy(FIXTURE("no_f16.npy")), TN_EDTYPE, "'<f16': Tenon has no tensors of long double");
    FAILS(tn_load_npy(FIXTURE("no_object.npy")), TN_EDTYPE, "'|O': Tenon has no tensors of Python objects");
    FAILS(tn_load_npy(FIXTURE("no_structured.npy")), TN_EDTYPE, "[('x', '<f4'), ('y', '<i4')]': a structured array");
    FAILS(tn_load_npy(FIXTURE("dims9.npy")), TN_EFORMAT, "dims9.npy: shape at byte");
}

/* A version 1.0 file with this header and data_n bytes of data. */
static size_t with_header(unsigned char *out, const char *header, size_t data_n)
{
    size_t n = strlen(header);
    memcpy(out, "\x93NUMPY\1\0", 8);
    out[8] = (unsigned char)n;
    out[9] = (unsigned char)(n >> 8);
    memcpy(out + 10, header, n);
    memset(out + 10 + n, 1, data_n);
    return 10 + n + data_n;
}

static void refused(const char *header, size_t data_n, const char *text)
{
    unsigned char b[1024];
    size_t n = with_header(b, header, data_n);
    FAILS(tn_npy_parse(b, n, "x"), TN_EFORMAT, text);
}

static void headers_that_are_read(void **state)
{
    (void)state;
    static const char *const headers[] = {
        "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3)}",
        "{\"descr\":\"<i2\",\"fortran_order\":False,\"shape\":(2,3,),}\n",
        " { 'shape' : ( 2L , 3L ) , 'fortran_order' : False , 'descr' : '=i2' } ",
        "{'fortran_order': False, 'descr': 'i2', 'shape': (2, 3), }          \n",
    };
    unsigned char b[1024];
    tn_scope *s = tn_scope_open();
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        static const int16_t ones[] = {0x0101, 0x0101, 0x0101, 0x0101, 0x0101, 0x0101};
        size_t n = with_header(b, headers[i], 12);
        check_tensor(MADE(tn_npy_parse(b, n, headers[i])), TN_I16, TN_SHAPE(2, 3), ones);
    }
    size_t n = with_header(b, "{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}", 3);
    b[n - 1] = 7; /* any byte but 0 is true */
    b[n - 2] = 0;
    check_tensor(MADE(tn_npy_parse(b, n, "b1")), TN_BOOL, TN_SHAPE(3), (const bool[]){true, false, true});
    tn_scope_close(s);
}

static void damaged_headers(void **state)
{
    (void)state;
    refused("", 0, "x: header at byte 10: '{' was expected");
    refused("{", 0, "x: header at byte 11: a text in quotes was expected");
    refused("{}", 0, "'descr' is missing");
    refused("{'descr': '<f4', 'fortran_order': False, }", 0, "'shape' is missing");
    refused("{'descr': '<f4', 'shape': (1,), }", 4, "'fortran_order' is missing");
    refused("{'descr': '<f4', 'descr': '<f4'}", 0, "header at byte 35: 'descr' is there twice");
    refused("{'descr': '<f4', 'colour': 1}", 0, "'colour' is none of 'descr', 'fortran_order', 'shape'");
    refused("{'descr': '<f4' 'shape': ()}", 0, "',' or '}' was expected");
    refused("{'descr' '<f4'}", 0, "':' was expected");
    refused("{'descr': '<f4", 0, "descr at byte 24: the text does not end");
    refused("{'descr': '<f\\x34'}", 0, "the text does not end");
    refused("{'descr': 4}", 0, "descr at byte 20: a text in quotes was expected");
    refused("{'descr': '<f3', 'fortran_order': False, 'shape': ()}", 4, "'<f3' is no element type");
    refused("{'descr': '', 'fortran_order': False, 'shape': ()}", 4, "'' is no element type");
    refused("{'descr': '<', 'fortran_order': False, 'shape': ()}", 4, "'<' is no element type");
    refused("{'descr': '<f4', 'fortran_order': 1, 'shape': ()}", 4,
            "fortran_order at byte 44: True or False was expected");
    refused("{'descr': '<f4', 'fortran_order': False, 'shape': 3}", 4, "a tuple was expected");
    refused("{'descr': '<f4', 'fortran_order': False, 'shape': (3)}", 12, "a tuple was expected: '(3,)'");
    refused("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", 4, "a whole number, 0 or more, was expected");
    refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}", 4, "',' or ')' was expected");
    refused("{'descr': '<f4', 'fortran_order': False, 'shape': (01,)}", 4, "a number begins with 0");
    refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1.0,)}", 4, "',' or ')' was expected");
    refused("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}", 4,
            "larger than memory can be");
    refused("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", 4,
            "more elements than memory can hold");
    refused("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296)}", 0,
            "more elements than memory");
    refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } x", 4, "something follows the dictionary");
    refused("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 7,
            "x: data at byte 67: [2] of float32 is 8 bytes, the file has 7");
    refused("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 9,
            "[2] of float32 is 8 bytes, the file has 9");
}

static void damaged_starts(void **state)
{
    (void)state;
    FAILS(tn_npy_parse("PK\3\4aaaaaaaa", 12, "x"), TN_EFORMAT, "it may be an npz archive");
    FAILS(tn_npy_parse("\x93NUMPY\4\0\0\0\0\0", 12, "x"), TN_EFORMAT,
          "version at byte 6: 4.0 is none of 1.0, 2.0, 3.0");
    FAILS(tn_npy_parse("\x93NUMPY\1\1\0\0\0\0", 12, "x"), TN_EFORMAT, "1.1 is none of");
    FAILS(tn_npy_parse("\x93NUMPY\1\0\xff\xff{}", 12, "x"), TN_EFORMAT, "length of the header at byte 8: 65535;");
    FAILS(tn_npy_parse("\x93NUMPY\2\0\xff\xff\xff\xff{}", 14, "x"), TN_EFORMAT,
          "length of the header at byte 8: 4294967295;");
    FAILS(tn_npy_parse("\x93NUMPY\2\0\1\0", 10, "x"), TN_EFORMAT, "length of the header at byte 8: the file ends");
    FAILS(tn_npy_parse("\x93NUMPY\1\0\1", 9, "x"), TN_EFORMAT, "the file has 9 bytes, too few");
    FAILS(tn_load_npy("/nowhere/x.npy"), TN_EIO, "/nowhere/x.npy: No such file or directory");
}

/* ---- writing ---- */

/* What NumPy writes for the same array, to the byte. */
static void writes_what_numpy_writes(void **state)
{
    (void)state;
    char name[4096];
    tn_scope *s = tn_scope_open();
    for (size_t i = 0; i < 10; i++) {
        if (!*all_values[i].numpy)
            continue;
        OK(tn_save_npy(tensor_of(&all_values[i]), PATH));
        snprintf(name, sizeof name, FIXTURE("%s.npy"), all_values[i].numpy);
        check_same_file(PATH, name);
    }
    static const char *const others[] = {FIXTURE("scalar.npy"), FIXTURE("empty.npy"), FIXTURE("dims8.npy")};
    for (size_t i = 0; i < 3; i++) {
        OK(tn_save_npy(MADE(tn_load_npy(others[i])), PATH));
        check_same_file(PATH, others[i]);
    }
    assert_int_equal(count_files(folder), 1);
    tn_scope_close(s);
}

static void writes_views_in_row_major_order(void **state)
{
    (void)state;
    int32_t counted[12];
    for (int i = 0; i < 12; i++)
        counted[i] = i;
    tn_scope *s = tn_scope_open();
    OK(tn_save_npy(MADE(tn_load_npy(FIXTURE("fortran_2d.npy"))), PATH));
    check_tensor(MADE(tn_load_npy(PATH)), TN_I32, TN_SHAPE(3, 4), counted);
    tn_tensor *t = MADE(tn_load_npy(PATH));
    OK(tn_save_npy(MADE(tn_transpose(t, 0, 1)), PATH));
    PRINTS(MADE(tn_load_npy(PATH)), "tensor([[ 0,  4,  8],\n        [ 1,  5,  9],\n        [ 2,  6, 10],\n"
                                    "        [ 3,  7, 11]], dtype=torch.int32)");
    OK(tn_save_npy(MADE(tn_expand(MADE(tn_tensor_from(TN_LIST(1.5))), TN_SHAPE(3))), PATH));
    PRINTS(MADE(tn_load_npy(PATH)), "tensor([1.5000, 1.5000, 1.5000])");
    OK(tn_save_npy(MADE(tn_narrow(t, 1, 1, 2)), PATH)); /* an offset and a gap */
    PRINTS(MADE(tn_load_npy(PATH)), "tensor([[ 1,  2],\n        [ 5,  6],\n        [ 9, 10]], dtype=torch.int32)");
    tn_tensor *w = MADE(tn_ones(TN_SHAPE(2), .requires_grad = true));
    OK(tn_save_npy(w, PATH));
    PRINTS(MADE(tn_load_npy(PATH)), "tensor([1., 1.])");
    tn_scope_close(s);
}

static void cannot_be_written(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    unlink(PATH);
    FAILS_STATUS(tn_save_npy(MADE(tn_ones(TN_SHAPE(2), .dtype = TN_BF16)), PATH), TN_EDTYPE, "npy has no bfloat16");
    FAILS_STATUS(tn_save_npy(MADE(tn_ones(TN_SHAPE(2), .device = TN_META)), PATH), TN_EDEVICE, "no data");
    FAILS_STATUS(tn_save_npy(NULL, PATH), TN_EINVAL, "tn_save_npy: an operand is NULL");
    FAILS_STATUS(tn_save_npy(TN_NONE, PATH), TN_ETYPE, "TN_NONE");
    FAILS_STATUS(tn_save_npy(MADE(tn_ones(TN_SHAPE(2))), NULL), TN_EINVAL, "a path was expected, got NULL");
    assert_int_equal(count_files(folder), 0);
    tn_scope_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dtype),
        cmocka_unit_test(versions_and_shapes),
        cmocka_unit_test(fortran_order),
        cmocka_unit_test(from_memory),
        cmocka_unit_test(unsigned_types),
        cmocka_unit_test(types_that_tenon_has_not),
        cmocka_unit_test(headers_that_are_read),
        cmocka_unit_test(damaged_headers),
        cmocka_unit_test(damaged_starts),
        cmocka_unit_test(writes_what_numpy_writes),
        cmocka_unit_test(writes_views_in_row_major_order),
        cmocka_unit_test(cannot_be_written),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
