/* What the tests of readers, writers and the loader share: the fixtures' values, files, folders. */
#ifndef TENON_TEST_DATA_H
#define TENON_TEST_DATA_H

#include "check.h"
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIXTURE(name) TENON_TEST_DATA "/readers/" name

/* The six values of each dtype in the fixtures (tests/data/readers/make_fixtures.py); 16-bit floats as IEEE 754 and
 * bfloat16 lay them down (0xffff is the NaN that PyTorch makes of a float NaN). */
static const bool values_bool[6] = {true, false, false, true, true, false};
static const uint8_t values_u8[6] = {0, 1, 2, 127, 128, 255};
static const int8_t values_i8[6] = {-128, -2, -1, 0, 1, 127};
static const int16_t values_i16[6] = {-32768, -2, -1, 0, 1, 32767};
static const int32_t values_i32[6] = {INT32_MIN, -2, -1, 0, 1, INT32_MAX};
static const int64_t values_i64[6] = {INT64_MIN, -2, -1, 0, 1, INT64_MAX};
static const uint16_t values_f16[6] = {0xbe00, 0x2e66, 0x8000, 0x7c00, 0x7e00, 0x0002};
static const uint16_t values_bf16[6] = {0xbfc0, 0x3dcd, 0x8000, 0x7f80, 0xffff, 0x33d7};
static const float values_f32[6] = {-1.5F, 0.1F, -0.0F, INFINITY, NAN, 1e-7F};
static const double values_f64[6] = {-1.5, 0.1, -0.0, INFINITY, NAN, 1e-7};

typedef struct values_row {
    const char *numpy;       /* "f4"; "" where NumPy has none */
    const char *safetensors; /* "F32" */
    tn_dtype dtype;
    const void *values;
    size_t bytes;
} values_row;

static const values_row all_values[10] = {
    {"b1", "BOOL", TN_BOOL, values_bool, 6}, {"u1", "U8", TN_U8, values_u8, 6},
    {"i1", "I8", TN_I8, values_i8, 6},       {"i2", "I16", TN_I16, values_i16, 12},
    {"i4", "I32", TN_I32, values_i32, 24},   {"i8", "I64", TN_I64, values_i64, 48},
    {"f2", "F16", TN_F16, values_f16, 12},   {"", "BF16", TN_BF16, values_bf16, 12},
    {"f4", "F32", TN_F32, values_f32, 24},   {"f8", "F64", TN_F64, values_f64, 48},
};

/* t has that dtype and shape, is row-major, and its bytes are these. */
static inline void check_tensor(const tn_tensor *t, tn_dtype dtype, tn_dims shape, const void *bytes)
{
    assert_non_null(t);
    assert_int_equal(tn_tensor_dtype(t), dtype);
    assert_int_equal(tn_tensor_ndim(t), shape.ndim);
    for (int32_t d = 0; d < shape.ndim; d++)
        assert_int_equal(tn_tensor_size(t, d), shape.dim[d]);
    assert_true(tn_tensor_is_contiguous(t));
    size_t n = (size_t)tn_tensor_numel(t) * tn_dtype_size(dtype);
    if (n)
        assert_memory_equal(tn_data(t), bytes, n);
}

/* A tensor of a row of all_values, shape [2, 3]; a view of the static memory. */
static inline tn_tensor *tensor_of(const values_row *v)
{
    return MADE(tn_from_data((void *)(uintptr_t)v->values, v->dtype, TN_SHAPE(2, 3), .read_only = true));
}

/* A whole file; the caller frees it. */
static inline unsigned char *file_bytes(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    *n = (size_t)ftell(f);
    rewind(f);
    unsigned char *p = malloc(*n + 1);
    assert_non_null(p);
    assert_int_equal(fread(p, 1, *n, f), *n);
    fclose(f);
    return p;
}

static inline void make_file(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static inline void check_same_file(const char *a, const char *b)
{
    size_t na, nb;
    unsigned char *pa = file_bytes(a, &na), *pb = file_bytes(b, &nb);
    assert_int_equal(na, nb);
    assert_memory_equal(pa, pb, na);
    free(pa);
    free(pb);
}

/* A fresh folder. */
static inline void make_folder(char *out, size_t n)
{
    const char *base = getenv("TMPDIR");
    snprintf(out, n, "%s/tenon-test-XXXXXX", base && *base ? base : "/tmp");
    assert_non_null(mkdtemp(out));
}

/* The test program's own folder, for groups of tests that want one. */
static char folder[4096];

static inline int folder_setup(void **state)
{
    (void)state;
    make_folder(folder, sizeof folder);
    return 0;
}

/* A path in it, by value. */
typedef struct path_text {
    char s[8192];
} path_text;

static inline path_text in_folder(const char *name)
{
    path_text p;
    snprintf(p.s, sizeof p.s, "%s/%s", folder, name);
    return p;
}

/* Files in a folder, hidden ones included. */
static inline int count_files(const char *where)
{
    DIR *d = opendir(where);
    int n = 0;
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return n;
}

static inline int folder_teardown(void **state)
{
    (void)state;
    DIR *d = opendir(folder);
    char path[8192];
    if (!d)
        return 0;
    for (struct dirent *e; (e = readdir(d));) {
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            (void)unlink(path);
    }
    closedir(d);
    (void)rmdir(folder);
    return 0;
}

#endif
