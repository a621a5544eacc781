/* IDX files: every element type, plain and compressed, against values that Python laid down; and what is refused. */
#include "test_data.h"
#include <unistd.h>

#define PATH (in_folder("x.idx").s)

static const char *const kinds[] = {"u1", "i1", "i2", "i4", "f4", "f8"};

static const values_row *values_of(const char *numpy)
{
    for (size_t i = 0; i < 10; i++)
        if (!strcmp(all_values[i].numpy, numpy))
            return &all_values[i];
    fail();
    return NULL;
}

static void every_type_plain_and_compressed(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    for (size_t form = 0; form < 2; form++)
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            char name[4096];
            const values_row *v = values_of(kinds[i]);
            snprintf(name, sizeof name, form ? FIXTURE("%s.idx.gz") : FIXTURE("%s.idx"), kinds[i]);
            check_tensor(MADE(tn_load_idx(name)), v->dtype, TN_SHAPE(2, 3), v->values);
        }
    tn_scope_close(s);
}

static void shapes(void **state)
{
    (void)state;
    int32_t seven = -7;
    uint8_t counted[16];
    for (int i = 0; i < 16; i++)
        counted[i] = (uint8_t)i;
    tn_scope *s = tn_scope_open();
    check_tensor(MADE(tn_load_idx(FIXTURE("scalar.idx"))), TN_I32, TN_SHAPE(), &seven);
    check_tensor(MADE(tn_load_idx(FIXTURE("empty.idx"))), TN_U8, TN_SHAPE(0, 28, 28), NULL);
    check_tensor(MADE(tn_load_idx(FIXTURE("dims8.idx"))), TN_U8, TN_SHAPE(1, 2, 1, 2, 1, 2, 1, 2), counted);
    FAILS(tn_load_idx(FIXTURE("dims9.idx")), TN_EFORMAT,
          "dims9.idx: number of dimensions at byte 3: 9; a tensor has at most 8");
    tn_scope_close(s);
}

static void several_gzip_members_are_one_file(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    check_tensor(MADE(tn_load_idx(FIXTURE("members.idx.gz"))), TN_U8, TN_SHAPE(2, 3), values_u8);
    tn_scope_close(s);
}

/* Data that shrinks to less than a hundredth: the memory has to grow more than once. */
static void memory_grows_with_what_arrives(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *t = MADE(tn_load_idx(FIXTURE("zeros.idx.gz")));
    assert_int_equal(tn_tensor_numel(t), 100000);
    for (int64_t i = 0; i < 100000; i++)
        assert_int_equal(((const uint8_t *)tn_data(t))[i], 0);
    tn_scope_close(s);
}

static void the_result_can_be_written_to(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *t = MADE(tn_load_idx(FIXTURE("i4.idx")));
    MADE(tn_fill_(t, tn_scalar_i(3)));
    PRINTS(t, "tensor([[3, 3, 3],\n        [3, 3, 3]], dtype=torch.int32)");
    tn_scope_close(s);
}

static void no_such_file(void **state)
{
    (void)state;
    FAILS(tn_load_idx(NULL), TN_EINVAL, "a path was expected, got NULL");
    FAILS(tn_load_idx(""), TN_EINVAL, "a path was expected, got an empty text");
    FAILS(tn_load_idx("/nowhere/x.idx"), TN_EIO, "/nowhere/x.idx: No such file or directory (opening it to read)");
    FAILS(tn_load_idx(folder), TN_EIO, ": Is a directory");
    FAILS(tn_load_idx("/dev/null"), TN_EIO, "/dev/null: not a regular file");
    assert_int_equal(mkfifo(PATH, 0600), 0); /* must not wait for a writer */
    FAILS(tn_load_idx(PATH), TN_EIO, "not a regular file");
    unlink(PATH);
    tn_tensor *(*plain)(const char *) = tn_load_idx; /* the function behind the macro notes no call site */
    assert_null(plain("/nowhere/x.idx"));
    assert_null(strstr(tn_error_message(), "  at "));
    assert_null(tn_load_idx("/nowhere/x.idx"));
    assert_non_null(strstr(tn_error_message(), "  at " __FILE__));
    tn_error_clear();
}

static void refused(const void *bytes, size_t n, const char *text)
{
    make_file(PATH, bytes, n);
    FAILS(tn_load_idx(PATH), TN_EFORMAT, text);
}

static void damaged_files(void **state)
{
    (void)state;
    refused("", 0, "x.idx: magic number at byte 0: the data ends after 0 of 4 bytes");
    refused("\0\0\x08", 3, "magic number at byte 0: the data ends after 3 of 4 bytes");
    refused("\1\0\x08\1\0\0\0\1A", 9, "magic number at byte 0: 0x0100 where an IDX file has 0x0000");
    refused("\0\0\x0a\1\0\0\0\1A", 9, "element type at byte 2: 0x0a is none of 0x08 (uint8)");
    refused("\0\0\x08\2\0\0\0\1A", 9, "sizes of the dimensions at byte 4: the data ends after 5 of 8 bytes");
    refused("\0\0\x08\1\0\0\0\2A", 9, "data at byte 8: [2] of uint8 is 2 bytes, the file has 1");
    refused("\0\0\x08\1\0\0\0\1AB", 10, "data at byte 8: [1] of uint8 is 1 bytes, the file has 2");
    refused("\0\0\x0e\1\xff\xff\xff\xff", 8,
            "data at byte 8: [4294967295] of float64 is 34359738360 bytes, the file has 0");
    refused("\0\0\x0e\3\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 16,
            "sizes of the dimensions at byte 4: [4294967295, 4294967295, 4294967295] has more elements than "
            "memory can hold");
    refused("\0\0\x0e\3\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 16, /* strides would not fit either */
            "[0, 4294967295, 4294967295] has more elements than memory can hold");
}

static void damaged_gzip(void **state)
{
    (void)state;
    size_t n;
    unsigned char *b = file_bytes(FIXTURE("i4.idx.gz"), &n), *more = malloc(n + 8);
    memcpy(more, b, n);
    memcpy(more + n, "garbage", 8);
    refused(b, n - 1, "gzip stream at byte 44: the file ends in the middle of it, after 36 inflated bytes");
    refused(b, 12, "the file ends in the middle of it");
    refused(more, n + 3, "gzip stream at byte 45: 3 bytes that do not belong to it follow its end");
    memcpy(more + n, "\x1f\x8b\x07", 3);
    refused(more, n + 3, "gzip stream at byte");
    b[n - 6] ^= 1; /* the checksum */
    refused(b, n, "incorrect data check");
    b[n - 6] ^= 1;
    b[n - 1] ^= 1; /* the length */
    refused(b, n, "incorrect length check");
    free(b);
    free(more);
}

/* Members of the file left out or added, so that the stream is whole but the data is not. */
static void compressed_sizes_are_checked(void **state)
{
    (void)state;
    size_t n;
    unsigned char *b = file_bytes(FIXTURE("members.idx.gz"), &n);
    unsigned char *twice = malloc(2 * n);
    size_t second = 0;
    for (size_t i = 1; i + 1 < n && !second; i++)
        if (b[i] == 0x1f && b[i + 1] == 0x8b)
            second = i;
    size_t third = second;
    for (size_t i = second + 1; i + 1 < n && third == second; i++)
        if (b[i] == 0x1f && b[i + 1] == 0x8b)
            third = i;
    memcpy(twice, b, n);
    memcpy(twice + n, b + third, n - third);
    refused(twice, 2 * n - third, "end at byte 18: more data follows than the header says");
    refused(b, third, "data at byte 12: the data ends after 2 of 6 inflated bytes");
    free(twice);
    free(b);
    /* gzip.compress(b"\0\0\x08\x01\xff\xff\xff\xff"): 4 GiB cannot come out of 26 bytes, so they are not asked for */
    refused("\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x63\x60\xe0\x60\xfc\x0f\x04\x00\x57\x54\xaa\x6a\x08\x00"
            "\x00\x00",
            26,
            "sizes of the dimensions at byte 4: [4294967295] of uint8 is 4294967295 bytes, more than 26 "
            "compressed bytes can hold");
}

static void mnist_if_it_is_there(void **state)
{
    (void)state;
    if (access(TENON_MNIST "/t10k-labels-idx1-ubyte.gz", R_OK) != 0) {
        print_message("skipped: no MNIST in %s\n", TENON_MNIST);
        skip();
    }
    tn_scope *s = tn_scope_open();
    tn_tensor *labels = MADE(tn_load_idx(TENON_MNIST "/t10k-labels-idx1-ubyte.gz"));
    tn_tensor *images = MADE(tn_load_idx(TENON_MNIST "/t10k-images-idx3-ubyte.gz"));
    assert_int_equal(tn_tensor_dtype(images), TN_U8);
    PRINTS(MADE(tn_narrow(labels, 0, 0, 5)),
           "tensor([7, 2, 1, 0, 4], dtype=torch.uint8)"); /* the first digits, well known */
    const int64_t shape[] = {10000, 28, 28};
    for (int32_t d = 0; d < 3; d++)
        assert_int_equal(tn_tensor_size(images, d), shape[d]);
    tn_scope_close(s);
}

/* A file of holes, as large as a header of 8 * 2^61 bytes at a first guess would overflow for: refused, and at once. */
static void a_file_larger_than_memory(void **state)
{
    (void)state;
    static const uint8_t header[] = {0, 0, 8, 3, 0, 0x12, 0x81, 0xaf, 0, 0x0f, 0xff, 0xfe, 0, 0x1b, 0xaa, 0x78};
    char path[64];
    snprintf(path, sizeof path, "/dev/shm/tenon-test-%ld.idx", (long)getpid());
    FILE *f = fopen(path, "wb"); /* few other file systems have files of that size */
    bool made = f && fwrite(header, 1, sizeof header, f) == sizeof header && fclose(f) == 0 &&
                truncate(path, INT64_C(1) << 61) == 0;
    if (!made) {
        unlink(path);
        print_message("skipped: no file of 2^61 bytes can be made here\n");
        skip();
    }
    alarm(60);
    tn_tensor *t = tn_load_idx(path);
    alarm(0);
    unlink(path);
    assert_null(t);
    assert_int_equal(tn_error_code(), TN_ENOMEM);
    tn_error_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_plain_and_compressed),
        cmocka_unit_test(shapes),
        cmocka_unit_test(several_gzip_members_are_one_file),
        cmocka_unit_test(memory_grows_with_what_arrives),
        cmocka_unit_test(the_result_can_be_written_to),
        cmocka_unit_test(no_such_file),
        cmocka_unit_test(damaged_files),
        cmocka_unit_test(damaged_gzip),
        cmocka_unit_test(compressed_sizes_are_checked),
        cmocka_unit_test(a_file_larger_than_memory),
        cmocka_unit_test(mnist_if_it_is_there),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
