/* safetensors: files of the reference implementation, files that break each rule of the format, and what Tenon writes,
 * byte for byte. */
#include "test_data.h"

#define PATH (in_folder("x.safetensors").s)

static tn_safetensors *opened(const char *name)
{
    tn_safetensors *f = tn_safetensors_open(name);
    if (!f)
        print_error("%s\n", tn_error_message());
    assert_non_null(f);
    return f;
}

/* ---- reading ---- */

static void every_dtype(void **state)
{
    (void)state;
    static const char *const order[] = {"I64",  "F64", "F32", "another f32", "empty", "scalar", "I32",
                                        "BF16", "F16", "I16", "I8",          "U8",    "BOOL"};
    static const float half[] = {2.5F}, counted[] = {0, 1, 2, 3};
    tn_scope *s = tn_scope_open();
    tn_safetensors *f = opened(FIXTURE("dtypes.safetensors"));
    assert_int_equal(tn_safetensors_count(f), 13);
    for (size_t i = 0; i < 13; i++)
        assert_string_equal(tn_safetensors_name(f, i), order[i]);
    for (size_t i = 0; i < 10; i++) {
        const values_row *v = &all_values[i];
        tn_safetensors_entry e;
        OK(tn_safetensors_info(f, v->safetensors, &e));
        assert_int_equal(e.dtype, v->dtype);
        assert_string_equal(e.dtype_name, v->safetensors);
        assert_int_equal(e.nbytes, v->bytes);
        assert_int_equal(e.shape.ndim, 2);
        assert_int_equal(e.shape.dim[1], 3);
        check_tensor(MADE(tn_safetensors_tensor(f, v->safetensors)), v->dtype, TN_SHAPE(2, 3), v->values);
    }
    check_tensor(MADE(tn_safetensors_tensor(f, "scalar")), TN_F32, TN_SHAPE(), half);
    check_tensor(MADE(tn_safetensors_tensor(f, "empty")), TN_F32, TN_SHAPE(0, 4), NULL);
    check_tensor(MADE(tn_safetensors_tensor(f, "another f32")), TN_F32, TN_SHAPE(4), counted);
    assert_string_equal(tn_safetensors_metadata(f, "format"), "pt");
    assert_null(tn_safetensors_metadata(f, "nothing"));
    assert_int_equal(tn_error_code(), TN_OK);
    tn_safetensors_close(f);
    tn_scope_close(s);
}

static void tensors_outlive_the_handle(void **state)
{
    (void)state;
    int64_t live = tn_live_tensors();
    tn_scope *s = tn_scope_open();
    tn_safetensors *f = opened(FIXTURE("dtypes.safetensors"));
    tn_tensor *a = MADE(tn_safetensors_tensor(f, "F32")), *b = MADE(tn_safetensors_tensor(f, "F32"));
    assert_ptr_equal(tn_data(a), tn_data(b)); /* both show the file */
    tn_safetensors_close(f);
    check_tensor(a, TN_F32, TN_SHAPE(2, 3), values_f32);
    FAILS(tn_fill_(a, tn_scalar_i(0)), TN_EINVAL, "read-only memory (a mapped file): clone it first");
    tn_tensor *c = MADE(tn_clone(a));
    MADE(tn_fill_(c, tn_scalar_i(0)));
    check_tensor(b, TN_F32, TN_SHAPE(2, 3), values_f32);
    tn_scope_close(s);
    assert_int_equal(tn_live_tensors(), live);
}

static void a_file_may_be_replaced_while_it_is_mapped(void **state)
{
    (void)state;
    static const char *const names[] = {"x"};
    tn_scope *s = tn_scope_open();
    OK(tn_save_safetensors(PATH, names, TN_TENSORS(MADE(tn_ones(TN_SHAPE(1000))))));
    tn_safetensors *f = opened(PATH);
    tn_tensor *x = MADE(tn_safetensors_tensor(f, "x"));
    OK(tn_save_safetensors(PATH, names, TN_TENSORS(MADE(tn_zeros(TN_SHAPE(3))))));
    assert_true(tn_item(MADE(tn_sum(x))) == 1000);
    unlink(PATH);
    assert_true(tn_item(MADE(tn_sum(x))) == 1000);
    tn_safetensors_close(f);
    tn_scope_close(s);
}

/* A file that is cut while it is open: an error, whatever is asked of it, and no signal. */
static void a_file_that_is_cut(void **state)
{
    (void)state;
    static const char *const names[] = {"x", "y"};
    tn_scope *s = tn_scope_open();
    tn_tensor *ones = MADE(tn_ones(TN_SHAPE(100000)));
    OK(tn_save_safetensors(PATH, names, TN_TENSORS(ones, ones)));
    struct stat st;
    assert_int_equal(stat(PATH, &st), 0);
    tn_safetensors *f = opened(PATH);
    tn_tensor *x = MADE(tn_safetensors_read(f, "x"));
    assert_false(tn_tensor_is_read_only(x));
    const off_t lengths[] = {st.st_size - 1, st.st_size - 4096, 600, 0};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        assert_int_equal(truncate(PATH, lengths[i]), 0);
        FAILS(tn_safetensors_tensor(f, "y"), TN_EIO, "bytes since it was opened");
        FAILS(tn_safetensors_read(f, "y"), TN_EIO, "bytes while it was read");
        assert_int_equal(i < 2, tn_safetensors_read(f, "x") != NULL); /* what is there is there */
        tn_error_clear();
    }
    MADE(tn_fill_(x, tn_scalar_i(2)));
    assert_true(tn_item(MADE(tn_sum(x))) == 200000);
    tn_safetensors_close(f);
    FAILS(tn_safetensors_open(PATH), TN_EFORMAT, "the file is empty");
    tn_scope_close(s);
}

/* The header is read, not looked at where it is mapped; so is what is not aligned. */
static void read_is_what_is_shown(void **state)
{
    (void)state;
    static const char *const files[] = {FIXTURE("dtypes.safetensors"), FIXTURE("misaligned.safetensors")};
    for (int i = 0; i < 2; i++) {
        tn_scope *s = tn_scope_open();
        tn_safetensors *f = opened(files[i]);
        for (size_t k = 0; k < tn_safetensors_count(f); k++) {
            tn_tensor *a = MADE(tn_safetensors_tensor(f, tn_safetensors_name(f, k))),
                      *b = MADE(tn_safetensors_read(f, tn_safetensors_name(f, k)));
            check_tensor(b, tn_tensor_dtype(a), tn_tensor_shape(a), tn_data(a));
            assert_true(!tn_tensor_is_read_only(b) && !tn_tensor_shares_memory(a, b));
        }
        FAILS(tn_safetensors_read(f, "nothing"), TN_EMISSING, "there is no tensor 'nothing'");
        FAILS(tn_safetensors_read(f, NULL), TN_EINVAL, "tn_safetensors_read: the name is NULL");
        tn_safetensors_close(f);
        tn_scope_close(s);
    }
}

static void names_are_utf8(void **state)
{
    (void)state;
    static const char *const text[] = {"",
                                       "a \"quoted\" one",
                                       "back\\slash",
                                       "tab\tnewline\nbell\x07",
                                       "caf\xc3\xa9",
                                       "\xe6\x97\xa5\xe6\x9c\xac",
                                       "\xf0\x9f\x98\x80",
                                       "del\x7f"};
    tn_scope *s = tn_scope_open();
    tn_safetensors *f = opened(FIXTURE("names.safetensors"));
    assert_int_equal(tn_safetensors_count(f), 8);
    for (int32_t i = 0; i < 8; i++) {
        assert_true(tn_safetensors_has(f, text[i]));
        check_tensor(MADE(tn_safetensors_tensor(f, text[i])), TN_I32, TN_SHAPE(1), &i);
    }
    assert_string_equal(tn_safetensors_metadata(f, "key \xc3\xa9 \""), "value\n\\");
    tn_safetensors_close(f);
    tn_scope_close(s);
}

static void foreign_dtypes_only_matter_when_asked_for(void **state)
{
    (void)state;
    static const float ones[] = {1, 1};
    static const struct {
        const char *name, *dtype;
    } rows[] = {{"c64", "C64"}, {"f8_e4m3", "F8_E4M3"}, {"f8_e5m2", "F8_E5M2"}};
    char text[64];
    tn_scope *s = tn_scope_open();
    tn_safetensors *f = opened(FIXTURE("foreign.safetensors"));
    check_tensor(MADE(tn_safetensors_tensor(f, "f32")), TN_F32, TN_SHAPE(2), ones);
    check_tensor(MADE(tn_safetensors_tensor(f, "u32")), TN_U32, TN_SHAPE(2), (const uint32_t[]){1, 1});
    check_tensor(MADE(tn_safetensors_tensor(f, "u16")), TN_U16, TN_SHAPE(2), (const uint16_t[]){1, 1});
    check_tensor(MADE(tn_safetensors_tensor(f, "u64")), TN_U64, TN_SHAPE(2), (const uint64_t[]){1, 1});
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_safetensors_entry e;
        OK(tn_safetensors_info(f, rows[i].name, &e));
        assert_int_equal(e.dtype, 0);
        assert_string_equal(e.dtype_name, rows[i].dtype);
        snprintf(text, sizeof text, "'%s' is of dtype %s, which Tenon has not", rows[i].name, rows[i].dtype);
        FAILS(tn_safetensors_tensor(f, rows[i].name), TN_EDTYPE, text);
    }
    tn_safetensors_close(f);
    f = opened(FIXTURE("subbyte.safetensors"));
    FAILS(tn_safetensors_tensor(f, "f4"), TN_EDTYPE, "subbyte.safetensors: 'f4' is of dtype F4");
    tn_safetensors_close(f);
    tn_scope_close(s);
}

static void unusual_but_right(void **state)
{
    (void)state;
    static const float x[] = {1.5F, -2.0F};
    static const int16_t five[] = {-5};
    tn_scope *s = tn_scope_open();
    tn_safetensors *f = opened(FIXTURE("misaligned.safetensors"));
    tn_tensor *t = MADE(tn_safetensors_tensor(f, "x"));
    check_tensor(t, TN_F32, TN_SHAPE(2), x);
    assert_int_equal((uintptr_t)tn_data(t) % 4, 0);
    MADE(tn_fill_(t, tn_scalar_i(0))); /* a copy: may be written to */
    tn_safetensors_close(f);
    f = opened(FIXTURE("unusual.safetensors"));
    assert_string_equal(tn_safetensors_name(f, 0), "flags");
    check_tensor(MADE(tn_safetensors_tensor(f, "b\xf0\x9f\x98\x80/")), TN_I16, TN_SHAPE(), five);
    check_tensor(MADE(tn_safetensors_tensor(f, "flags")), TN_BOOL, TN_SHAPE(2), (const bool[]){true, false});
    tn_pairs all = tn_safetensors_metadata_all(f);
    assert_int_equal(all.n, 2);
    assert_string_equal(all.pair[0].key, "k");
    assert_string_equal(all.pair[0].value, "v");
    assert_string_equal(all.pair[1].key, "l");
    assert_string_equal(all.pair[1].value, "");
    tn_safetensors_close(f);
    f = opened(FIXTURE("none.safetensors"));
    assert_int_equal(tn_safetensors_count(f), 0);
    FAILS(tn_safetensors_name(f, 0), TN_EINDEX, "there are 0 tensors");
    tn_safetensors_close(f);
    tn_scope_close(s);
}

static void names_that_are_not_there(void **state)
{
    (void)state;
    tn_safetensors_entry e;
    tn_safetensors *f = opened(FIXTURE("dtypes.safetensors"));
    FAILS(tn_safetensors_tensor(f, "weight"), TN_EMISSING, "dtypes.safetensors: there is no tensor 'weight'");
    FAILS(tn_safetensors_tensor(f, "weight"), TN_EMISSING, "there are 'I64', 'F64', 'F32', 'another f32' and 9 more");
    FAILS_STATUS(tn_safetensors_info(f, "weight\x1b[2J", &e), TN_EMISSING, "'weight\\x1b[2J'");
    FAILS(tn_safetensors_tensor(f, NULL), TN_EINVAL, "the name is NULL");
    FAILS(tn_safetensors_tensor(NULL, "x"), TN_EINVAL, "tn_safetensors_tensor");
    FAILS(tn_safetensors_name(f, 13), TN_EINDEX, "13 is not the index of one");
    assert_false(tn_safetensors_has(f, "weight"));
    assert_false(tn_safetensors_has(NULL, "weight"));
    assert_int_equal(tn_safetensors_count(NULL), 0);
    assert_null(tn_safetensors_metadata(NULL, "x"));
    tn_safetensors_close(f);
    tn_safetensors_close(NULL);
    FAILS(tn_safetensors_open("/nowhere/x.safetensors"), TN_EIO, "/nowhere/x.safetensors: No such file or directory");
}

/* The length of the header, the header, data_n zero bytes. */
static size_t with_header(unsigned char *out, const char *header, size_t data_n)
{
    uint64_t n = strlen(header);
    memcpy(out, &n, 8);
    memcpy(out + 8, header, n);
    memset(out + 8 + n, 0, data_n);
    return 8 + (size_t)n + data_n;
}

static void refused(const char *header, size_t data_n, const char *text)
{
    unsigned char b[2048];
    size_t n = with_header(b, header, data_n);
    FAILS(tn_safetensors_parse(b, n, "x"), TN_EFORMAT, text);
}

#define T(dtype, shape, begin, end) "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" begin "," end "]}"

static void rules_of_the_format(void **state)
{
    (void)state;
    refused("{\"a\":" T("F32", "[2]", "0", "8") "}", 7, "x: data at byte 62: the tensors are 8 bytes, the file has 7");
    refused("{\"a\":" T("F32", "[2]", "0", "8") "}", 9, "the tensors are 8 bytes, the file has 9");
    refused("{\"a\":" T("F32", "[2]", "0", "4") "}", 4,
            "data_offsets of 'a' at byte 61: 4 bytes, but [2] of F32 is 64 bits");
    refused("{\"a\":" T("F32", "[2]", "8", "0") "}", 8, "they end at 0, before they begin at 8");
    refused("{\"a\":" T("F32", "[2]", "1", "9") "}", 9,
            "it begins at 1, where 0 is the end of what is before it (a gap)");
    refused("{\"a\":" T("U8", "[4]", "0", "4") ",\"b\":" T("U8", "[4]", "2", "6") "}", 6,
            "of 'b' at byte 8: it begins at 2, where 4 is the end of what is before it (an overlap)");
    refused("{\"a\":" T("U8", "[4]", "0", "4") ",\"b\":" T("U8", "[4]", "0", "4") "}", 4, "(an overlap)");
    refused("{\"a\":" T("U8", "[4]", "0", "4") ",\"b\":" T("U8", "[4]", "5", "9") "}", 9, "(a gap)");
    refused("{\"a\":" T("U8", "[1]", "0", "1") ",\"a\":" T("U8", "[1]", "1", "2") "}", 2,
            "header at byte 8: 'a' is there twice");
    refused("{\"a\":" T("F31", "[1]", "0", "4") "}", 4, "dtype of 'a' at byte 27: 'F31' is none of the format's");
    refused("{\"a\":" T("F4", "[3]", "0", "1") "}", 1, "[3] of F4 is 12 bits");
    refused("{\"a\":" T("U8", "[-1]", "0", "1") "}", 1,
            "shape of 'a' at byte 36: a whole number, 0 or more, was expected");
    refused("{\"a\":" T("U8", "[1.0]", "0", "1") "}", 1, "a whole number was expected, without '.' or 'e'");
    refused("{\"a\":" T("U8", "[1e0]", "0", "1") "}", 1, "a whole number was expected, without '.' or 'e'");
    refused("{\"a\":" T("U8", "[01]", "0", "1") "}", 1, "a whole number, 0 or more, was expected");
    refused("{\"a\":" T("U8", "[true]", "0", "1") "}", 1, "a whole number, 0 or more, was expected");
    refused("{\"a\":" T("U8", "[1,]", "0", "1") "}", 1, "a whole number, 0 or more, was expected");
    refused("{\"a\":" T("U8", "[1 1]", "0", "1") "}", 1, "',' or ']' was expected");
    refused("{\"a\":" T("U8", "1", "0", "1") "}", 1, "'[' was expected");
    refused("{\"a\":" T("U8", "[1,1,1,1,1,1,1,1,1]", "0", "1") "}", 1, "more than 8 dimensions");
    refused("{\"a\":" T("U8", "[9223372036854775808]", "0", "1") "}", 1, "a number is larger than a file can be");
    refused("{\"a\":" T("U8", "[4294967296,4294967296]", "0", "0") "}", 0, "more elements than memory can hold");
    refused("{\"a\":" T("U8", "[0,4294967296,4294967296]", "0", "0") "}", 0, "more elements than memory can hold");
    refused("{\"a\":" T("U8", "[1]", "0", "1") "}", 0, "the tensors are 1 bytes, the file has 0");
    refused("{}", 1, "the tensors are 0 bytes, the file has 1");
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[0]}}", 0,
            "description of 'a' at byte 39: 'dtype', 'shape' and 'data_offsets' must all be there");
    refused("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}", 0, "'dtype' is there twice");
    refused("{\"a\":{\"dtype\":\"U8\",\"strides\":[1]}}", 0, "'strides' is none of 'dtype', 'shape', 'data_offsets'");
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0]}}", 0, "',' was expected");
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0,0]}}", 0, "']' was expected");
    refused("{\"a\":null}", 0, "'{' was expected");
    refused("{\"__metadata__\":{\"a\":1}}", 0, "__metadata__ at byte 29: a text in double quotes was expected");
    refused("{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0, "__metadata__ at byte 8: 'a' is there twice");
    refused("{\"__metadata__\":{},\"__metadata__\":{}}", 0, "__metadata__ at byte 42: it is there twice");
    refused("{\"__metadata__\":null}", 0, "'{' was expected");
}

static void rules_of_json(void **state)
{
    (void)state;
    refused("", 0, "header at byte 8: it must begin with '{'");
    refused(" {}", 0, "header at byte 8: it must begin with '{'");
    refused("[]", 0, "header at byte 8: it must begin with '{'");
    refused("{", 0, "header at byte 9: a text in double quotes was expected");
    refused("{} x", 0, "header at byte 11: something follows the closing '}'");
    refused("{,}", 0, "a text in double quotes was expected");
    refused("{\"a\"}", 0, "':' was expected");
    refused("{\"a", 0, "the text does not end");
    refused("{\"a\\", 0, "the text does not end");
    refused("{\"a\\x\"", 0, "'\\' is followed by a byte that means nothing there");
    refused("{\"a\\u12g4\"", 0, "four hexadecimal digits were expected");
    refused("{\"a\\u12\"", 0, "four hexadecimal digits were expected");
    refused("{\"a\\u0000\"", 0, "a text holds the character U+0000");
    refused("{\"a\\ud800\"", 0, "half of a surrogate pair");
    refused("{\"a\\udc00\"", 0, "half of a surrogate pair");
    refused("{\"a\\ud800\\u0041\"", 0, "half of a surrogate pair");
    refused("{\"a\nb\"", 0, "a control character in a text");
    refused("{\"\x80\"", 0, "a text that is not UTF-8");
    refused("{\"\xc0\xaf\"", 0, "a text that is not UTF-8"); /* overlong '/' */
    refused("{\"\xe0\x80\xaf\"", 0, "a text that is not UTF-8");
    refused("{\"\xed\xa0\x80\"", 0, "a text that is not UTF-8");     /* a surrogate */
    refused("{\"\xf4\x90\x80\x80\"", 0, "a text that is not UTF-8"); /* U+110000 */
    refused("{\"\xe6\x97\"", 0, "a text that is not UTF-8");
    refused("{'a':1}", 0, "a text in double quotes was expected");
}

static void damaged_lengths(void **state)
{
    (void)state;
    FAILS(tn_safetensors_parse("", 0, "x"), TN_EFORMAT, "x: length of the header at byte 0: the file is empty");
    FAILS(tn_safetensors_parse("\2\0\0\0\0\0\0", 7, "x"), TN_EFORMAT, "the file has 7 bytes, too few for it");
    FAILS(tn_safetensors_parse("\3\0\0\0\0\0\0\0{}", 10, "x"), TN_EFORMAT,
          "length of the header at byte 0: 3; at most 100000000 is allowed, and the file has 2 bytes left");
    FAILS(tn_safetensors_parse("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10, "x"), TN_EFORMAT,
          "18446744073709551615; at most");
    FAILS(tn_safetensors_parse(NULL, 9, NULL), TN_EINVAL, "memory: the data is NULL");
}

/* ---- writing ---- */

static void writes_what_the_reference_writes(void **state)
{
    (void)state;
    static const char *const files[] = {FIXTURE("dtypes.safetensors"), FIXTURE("none.safetensors"),
                                        FIXTURE("names.safetensors")};
    tn_scope *s = tn_scope_open();
    for (size_t i = 0; i < 3; i++) {
        const char *names[16];
        tn_tensor *t[16];
        tn_safetensors *f = opened(files[i]);
        size_t n = tn_safetensors_count(f);
        for (size_t k = 0; k < n; k++) { /* given in another order than theirs */
            names[n - 1 - k] = tn_safetensors_name(f, k);
            t[n - 1 - k] = MADE(tn_safetensors_tensor(f, tn_safetensors_name(f, k)));
        }
        OK(tn_save_safetensors(PATH, names, ((tn_tensors){t, n}), .metadata = tn_safetensors_metadata_all(f)));
        check_same_file(PATH, files[i]);
        tn_safetensors_close(f);
    }
    tn_scope_close(s);
}

static void writes_values_not_memory(void **state)
{
    (void)state;
    static const char *const names[] = {"transposed", "weight", "shared"};
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_tensor_from(TN_LIST(0., 1., 2., 3., 4., 5.), .shape = TN_SHAPE(2, 3)));
    tn_tensor *w = MADE(tn_ones(TN_SHAPE(2), .requires_grad = true));
    OK(tn_save_safetensors(PATH, names, TN_TENSORS(MADE(tn_transpose(x, 0, 1)), w, x),
                           .metadata = TN_PAIRS({"epoch", "3"}, {"quote", "\"\x01\""})));
    tn_safetensors *f = opened(PATH);
    PRINTS(MADE(tn_safetensors_tensor(f, "transposed")), "tensor([[0., 3.],\n        [1., 4.],\n        [2., 5.]])");
    PRINTS(MADE(tn_safetensors_tensor(f, "weight")), "tensor([1., 1.])");
    PRINTS(MADE(tn_safetensors_tensor(f, "shared")), "tensor([[0., 1., 2.],\n        [3., 4., 5.]])");
    assert_string_equal(tn_safetensors_metadata(f, "epoch"), "3");
    assert_string_equal(tn_safetensors_metadata(f, "quote"), "\"\x01\"");
    tn_safetensors_close(f);
    tn_scope_close(s);
}

static void cannot_be_written(void **state)
{
    (void)state;
    static const char *const a[] = {"a", "a"}, *const none[] = {NULL}, *const bad[] = {"\xff"},
                             *const reserved[] = {"__metadata__"};
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(2)));
    unlink(PATH);
    FAILS_STATUS(tn_save_safetensors(PATH, a, TN_TENSORS(x, x)), TN_EINVAL, "the name 'a' is there twice");
    FAILS_STATUS(tn_save_safetensors(PATH, none, TN_TENSORS(x)), TN_EINVAL, "name 0 is NULL");
    FAILS_STATUS(tn_save_safetensors(PATH, bad, TN_TENSORS(x)), TN_EINVAL, "name 0, '\\xff', is not UTF-8");
    FAILS_STATUS(tn_save_safetensors(PATH, reserved, TN_TENSORS(x)), TN_EINVAL, "is reserved");
    FAILS_STATUS(tn_save_safetensors(PATH, NULL, TN_TENSORS(x)), TN_EINVAL, "the list of names is NULL");
    FAILS_STATUS(tn_save_safetensors(PATH, a, TN_TENSORS(NULL)), TN_EINVAL, "tn_save_safetensors: an operand is NULL");
    FAILS_STATUS(tn_save_safetensors(PATH, a, TN_TENSORS(TN_NONE)), TN_ETYPE, "is TN_NONE");
    FAILS_STATUS(tn_save_safetensors(PATH, a, TN_TENSORS(MADE(tn_ones(TN_SHAPE(1), .device = TN_META)))), TN_EDEVICE,
                 "no data");
    FAILS_STATUS(tn_save_safetensors(PATH, a, TN_TENSORS(x), .metadata = TN_PAIRS({"k", NULL})), TN_EINVAL,
                 "metadata value 0 is NULL");
    FAILS_STATUS(tn_save_safetensors(PATH, a, TN_TENSORS(x), .metadata = TN_PAIRS({"k", "1"}, {"k", "2"})), TN_EINVAL,
                 "the metadata key 'k' is there twice");
    assert_int_equal(count_files(folder), 0);
    tn_scope_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dtype),
        cmocka_unit_test(tensors_outlive_the_handle),
        cmocka_unit_test(a_file_may_be_replaced_while_it_is_mapped),
        cmocka_unit_test(a_file_that_is_cut),
        cmocka_unit_test(read_is_what_is_shown),
        cmocka_unit_test(names_are_utf8),
        cmocka_unit_test(foreign_dtypes_only_matter_when_asked_for),
        cmocka_unit_test(unusual_but_right),
        cmocka_unit_test(names_that_are_not_there),
        cmocka_unit_test(rules_of_the_format),
        cmocka_unit_test(rules_of_json),
        cmocka_unit_test(damaged_lengths),
        cmocka_unit_test(writes_what_the_reference_writes),
        cmocka_unit_test(writes_values_not_memory),
        cmocka_unit_test(cannot_be_written),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
