/* Readers, writers and the loader under torture: every fixture cut at every byte; 100,000 mutations for each reader;
 * each allocation made to fail in turn. Nothing crashes, nothing leaks, every failure says which source it was, every
 * success is a tensor that may be read to its last byte.
 *
 * Everything is in exact-size heap blocks, so that AddressSanitizer sees a read beyond the end. TENON_MUTATIONS sets
 * another number. */
#include "check.h"
#include "core/alloc.h"
#include "core/tensor.h"
#include "data/readers.h"
#include <dirent.h>
#include <stdlib.h>
#include <tenon/data.h>
#include <unistd.h>
#include <zlib.h>

#define FOLDER TENON_TEST_DATA "/readers"

enum { FILES = 40, LARGEST = 4096, INFLATED = 1 << 17 };

/* ---- fixtures ---- */

typedef struct fixture {
    char name[64];
    unsigned char *bytes;
    size_t n;
} fixture;

/* A reader: over memory, and what it accepts put to the test. */
typedef struct reader {
    const char *ending;
    bool (*read)(const void *data, size_t n); /* true: accepted */
    bool (*load)(const char *path);
    tn_tensor *(*raw)(tn__source *); /* of one tensor */
    fixture file[FILES];
    size_t n;
} reader;

static bool ends_in(const char *name, const char *ending)
{
    size_t n = strlen(name), k = strlen(ending);
    return n > k && strcmp(name + n - k, ending) == 0;
}

static void add_fixture(reader *r, const char *name)
{
    char path[4096];
    fixture *x = &r->file[r->n++];
    assert_true(r->n <= FILES);
    snprintf(x->name, sizeof x->name, "%s", name);
    snprintf(path, sizeof path, FOLDER "/%s", name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    x->bytes = malloc(LARGEST);
    x->n = fread(x->bytes, 1, LARGEST, f);
    assert_true(x->n > 0 && feof(f)); /* at most 4 KiB */
    fclose(f);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const fixture *)a)->name, ((const fixture *)b)->name);
}

static void find_fixtures(reader *r)
{
    DIR *d = opendir(FOLDER);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        if (ends_in(e->d_name, r->ending) || (!strcmp(r->ending, ".idx") && ends_in(e->d_name, ".idx.gz")))
            add_fixture(r, e->d_name);
    closedir(d);
    assert_true(r->n > 0);
    qsort(r->file, r->n, sizeof *r->file, by_name); /* the same mutations wherever the test runs */
}

/* ---- what must hold of every answer ---- */

static unsigned touched; /* what was read, so that the reading is not optimised away */

static void check_valid(const tn_tensor *t)
{
    int64_t reach = 0, numel = 1;
    assert_true(tn__dtype_exists(t->dtype));
    assert_true(t->ndim >= 0 && t->ndim <= TN_MAX_DIMS);
    for (int32_t d = 0; d < t->ndim; d++) {
        assert_true(t->shape[d] >= 0 && t->stride[d] >= 0);
        numel *= t->shape[d];
        reach += t->shape[d] ? (t->shape[d] - 1) * t->stride[d] : 0;
    }
    assert_int_equal(t->numel, numel);
    size_t item = tn__dtype_size(t->dtype);
    if (numel == 0)
        return;
    assert_true((size_t)(reach + 1) * item <= t->storage->nbytes && t->offset == 0);
    assert_int_equal((uintptr_t)tn__tensor_data(t) % item, 0);
    const unsigned char *p = tn__tensor_data(t);
    for (size_t i = 0; i < t->storage->nbytes; i++) {
        touched += p[i];
        if (t->dtype == TN_BOOL)
            assert_true(p[i] <= 1);
    }
}

/* The source's name is "the source" throughout. */
static void check_refusal(tn_status code, const char *source)
{
    tn_status got = tn_error_code();
    bool known = got == TN_EFORMAT || got == TN_EDTYPE || got == code;
    if (!known || !strstr(tn_error_message(), source)) {
        print_error("%s: '%s'\n", tn_status_name(got), tn_error_message());
        fail();
    }
    tn_error_clear();
}

static bool judge(tn_tensor *t, tn_status code, const char *source)
{
    if (!t) {
        check_refusal(code, source);
        return false;
    }
    check_valid(t);
    tn_release(t);
    return true;
}

static bool read_idx(const void *data, size_t n)
{
    return judge(tn__parse_with(tn__idx_read, "", data, n, "the source"), TN_OK, "the source");
}

static bool read_npy(const void *data, size_t n)
{
    return judge(tn_npy_parse(data, n, "the source"), TN_OK, "the source");
}

static bool judge_safetensors(tn_safetensors *f, const char *source)
{
    if (!f) {
        check_refusal(TN_OK, source);
        return false;
    }
    for (size_t i = 0; i < tn_safetensors_count(f); i++) {
        const char *name = tn_safetensors_name(f, i);
        tn_safetensors_entry e;
        OK(tn_safetensors_info(f, name, &e));
        judge(tn_safetensors_tensor(f, name), TN_OK, source);
        judge(tn_safetensors_read(f, name), TN_OK, source);
    }
    tn_pairs all = tn_safetensors_metadata_all(f);
    for (size_t i = 0; i < all.n; i++)
        assert_non_null(tn_safetensors_metadata(f, all.pair[i].key));
    tn_safetensors_close(f);
    return true;
}

static bool read_safetensors(const void *data, size_t n)
{
    return judge_safetensors(tn_safetensors_parse(data, n, "the source"), "the source");
}

static bool load_idx(const char *path)
{
    return judge(tn_load_idx(path), TN_OK, path);
}

static bool load_npy(const char *path)
{
    return judge(tn_load_npy(path), TN_OK, path);
}

static bool load_safetensors(const char *path)
{
    return judge_safetensors(tn_safetensors_open(path), path);
}

static reader readers[] = {{.ending = ".idx", .read = read_idx, .load = load_idx, .raw = tn__idx_read},
                           {.ending = ".npy", .read = read_npy, .load = load_npy, .raw = tn__npy_read},
                           {.ending = ".safetensors", .read = read_safetensors, .load = load_safetensors}};

#define EACH_READER(r) for (reader *r = readers; r < readers + TN_COUNT(readers); r++)

/* ---- leaks ---- */

typedef struct balance {
    int64_t tensors, blocks;
} balance;

static balance now(void)
{
    return (balance){tn_live_tensors(), tn__door_live()};
}

static void check_balance(balance before)
{
    balance after = now();
    assert_int_equal(after.tensors, before.tensors);
    assert_int_equal(after.blocks, before.blocks);
}

/* ---- cut at every byte ---- */

static bool read_exact(const reader *r, const unsigned char *bytes, size_t n)
{
    unsigned char *exact = malloc(n ? n : 1);
    memcpy(exact, bytes, n);
    bool accepted = r->read(exact, n);
    free(exact);
    return accepted;
}

static void cut_at_every_byte(void **state)
{
    (void)state;
    int cuts = 0, whole = 0;
    EACH_READER(r)
    for (size_t i = 0; i < r->n; i++) {
        balance before = now();
        for (size_t n = 0; n < r->file[i].n; n++, cuts++)
            assert_false(read_exact(r, r->file[i].bytes, n));
        whole += read_exact(r, r->file[i].bytes, r->file[i].n);
        check_balance(before);
    }
    print_message("count: %d cuts refused, %d whole files read\n", cuts, whole);
}

/* The same through the file system: another way into each reader. */
static void cut_files(void **state)
{
    (void)state;
    char folder[] = "/tmp/tenon-torture-XXXXXX", path[4096];
    int cuts = 0;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/x", folder);
    EACH_READER(r)
    for (size_t i = 0; i < r->n; i++) {
        balance before = now();
        FILE *f = fopen(path, "wb");
        assert_int_equal(fwrite(r->file[i].bytes, 1, r->file[i].n, f), r->file[i].n);
        fclose(f);
        bool good = r->load(path);
        for (size_t n = r->file[i].n; n-- > 0; cuts += good) {
            assert_int_equal(truncate(path, (off_t)n), 0);
            assert_false(r->load(path));
        }
        check_balance(before);
    }
    unlink(path);
    rmdir(folder);
    print_message("count: %d cuts of good files refused\n", cuts);
}

/* ---- mutations ---- */

static uint64_t seed;

/* splitmix64 */
static uint64_t random_bits(void)
{
    uint64_t z = (seed += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static size_t below(size_t n)
{
    return n ? (size_t)(random_bits() % n) : 0;
}

typedef struct buffer {
    unsigned char b[INFLATED];
    size_t n;
} buffer;

static void insert(buffer *x, size_t at, const unsigned char *from, size_t n)
{
    if (x->n + n > sizeof x->b)
        return;
    memmove(x->b + at + n, x->b + at, x->n - at);
    memcpy(x->b + at, from, n);
    x->n += n;
}

static void cut_out(buffer *x, size_t at, size_t n)
{
    memmove(x->b + at, x->b + at + n, x->n - at - n);
    x->n -= n;
}

/* Changes one thing. Places near the beginning, where the headers are, are likelier. */
static void mutate_once(buffer *x, const fixture *other)
{
    static const unsigned char telling[] = "\0\1\x08\x7f\x80\xff\"'{}[](),:\\-0123456789LUFIB_ \n";
    static const char *const words[] = {"\\u0000", "\\ud83d",      "18446744073709551615", "9223372036854775807",
                                        "null",    "__metadata__", "\"dtype\":\"F64\"",    "[0,0]",
                                        "(0, 0)",  "True",         "4294967296",           ",",
                                        "{}"};
    unsigned char scratch[64];
    size_t n = x->n, at = below(below(4) ? n < 256 ? n : 256 : n), most = n - at < 16 ? n - at : 16;
    const char *word = words[below(TN_COUNT(words))];
    uint64_t bits = random_bits();
    if (n == 0)
        return;
    switch (below(10)) {
    case 0: x->b[at] ^= (unsigned char)(1U << below(8)); break;
    case 1: x->b[at] = (unsigned char)bits; break;
    case 2: x->b[at] = telling[below(sizeof telling - 1)]; break;
    case 3: x->b[at] = (unsigned char)('0' + below(10)); break;
    case 4: cut_out(x, at, 1 + below(most)); break;
    case 5: insert(x, at, telling + below(sizeof telling - 1), 1); break;
    case 6: /* a stretch again, elsewhere */
        memcpy(scratch, x->b + at, most);
        insert(x, below(x->n), scratch, most);
        break;
    case 7: insert(x, at, (const unsigned char *)word, strlen(word)); break;
    case 8: memcpy(x->b + at, &bits, most < 8 ? most : below(8)); break;
    default: /* a stretch of another file */
        most = other->n < 64 ? other->n : 64;
        at = at < other->n ? at : 0;
        most = below(other->n - at < most ? other->n - at : most);
        insert(x, below(x->n), other->bytes + at, most);
        break;
    }
}

/* The number before a header follows its length, so that what is behind it is looked at. */
static void mend_length(const reader *r, buffer *x)
{
    if (!strcmp(r->ending, ".safetensors") && x->n > 8) {
        size_t end = x->n;
        for (size_t i = 8; i + 1 < x->n && end == x->n; i++)
            if (x->b[i] == '}' && x->b[i + 1] == '}')
                end = i + 2;
        while (end < x->n && x->b[end] == ' ')
            end++;
        uint64_t n = end - 8;
        memcpy(x->b, &n, 8);
    } else if (!strcmp(r->ending, ".npy") && x->n > 10) {
        const unsigned char *end = memchr(x->b + 10, '\n', x->n - 10);
        size_t n = end ? (size_t)(end - x->b) + 1 - 10 : 0;
        x->b[8] = (unsigned char)n;
        x->b[9] = (unsigned char)(n >> 8);
    }
}

static bool inflate_all(const fixture *f, buffer *x)
{
    z_stream z = {.next_in = f->bytes, .avail_in = (unsigned)f->n, .next_out = x->b, .avail_out = sizeof x->b};
    if (inflateInit2(&z, 16 + MAX_WBITS) != Z_OK)
        return false;
    bool good = inflate(&z, Z_FINISH) == Z_STREAM_END;
    x->n = z.total_out;
    inflateEnd(&z);
    return good;
}

static void deflate_all(buffer *x)
{
    static unsigned char out[2 * INFLATED];
    z_stream z = {.next_in = x->b, .avail_in = (unsigned)x->n, .next_out = out, .avail_out = sizeof out};
    assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t n = z.total_out;
    deflateEnd(&z);
    memcpy(x->b, out, n < sizeof x->b ? n : sizeof x->b);
    x->n = n < sizeof x->b ? n : sizeof x->b;
}

static bool mutated(const reader *r, buffer *x)
{
    const fixture *f = &r->file[below(r->n)], *other = &r->file[below(r->n)];
    bool inside =
        ends_in(f->name, ".gz") && below(2) && inflate_all(f, x); /* what is compressed, not the compression */
    if (!inside) {
        memcpy(x->b, f->bytes, f->n);
        x->n = f->n;
    }
    for (size_t changes = 1 + below(4); changes > 0; changes--)
        mutate_once(x, other);
    if (inside)
        deflate_all(x);
    else if (below(2))
        mend_length(r, x);
    return read_exact(r, x->b, x->n);
}

/* A file that is cut while it is open: what is asked for then is there, or an error; nobody touches what is gone. */
static void cut_while_open(void **state)
{
    (void)state;
    char folder[] = "/tmp/tenon-torture-XXXXXX", path[4096];
    const reader *r = &readers[2];
    int refused = 0, there = 0;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/x", folder);
    balance before = now();
    for (size_t i = 0; i < r->n; i++)
        for (size_t n = 0; n < r->file[i].n; n += 61) {
            FILE *out = fopen(path, "wb");
            assert_int_equal(fwrite(r->file[i].bytes, 1, r->file[i].n, out), r->file[i].n);
            fclose(out);
            tn_safetensors *f = tn_safetensors_open(path);
            if (!f) { /* a fixture that is to be refused */
                tn_error_clear();
                break;
            }
            assert_int_equal(truncate(path, (off_t)n), 0);
            for (size_t k = 0; k < tn_safetensors_count(f); k++) {
                const char *name = tn_safetensors_name(f, k);
                refused += !judge(tn_safetensors_tensor(f, name), TN_EIO, path);
                there += judge(tn_safetensors_read(f, name), TN_EIO, path);
            }
            tn_safetensors_close(f);
        }
    check_balance(before);
    unlink(path);
    rmdir(folder);
    assert_true(refused > 100 && there > 10);
    print_message("count: %d tensors of files that were cut while open refused, %d read\n", refused, there);
}

static void mutations(void **state)
{
    (void)state;
    static buffer x;
    const char *asked = getenv("TENON_MUTATIONS");
    int n = asked ? atoi(asked) : 100000;
    EACH_READER(r)
    {
        balance before = now();
        int accepted = 0;
        seed = 20260;
        for (int i = 0; i < n; i++) {
            accepted += mutated(r, &x);
            check_balance(before);
        }
        print_message("count: %s: %d mutations, %d of them accepted\n", r->ending, n, accepted);
        assert_true(n < 1000 || (accepted > 0 && accepted < n)); /* both answers were put to the test */
    }
}

/* ---- memory that is not to be had ---- */

/* Runs step with each of its allocations failing in turn: it must fail with TN_ENOMEM, leave nothing, and work again. */
static int each_allocation_fails(tn_status (*step)(const void *), const void *arg)
{
    balance before = now();
    int64_t start = tn__door_count();
    OK(step(arg));
    int64_t passes = tn__door_count() - start;
    check_balance(before);
    for (int64_t i = 1; i <= passes; i++) {
        tn__door_fail(i);
        tn_status e = step(arg);
        tn__door_fail(0);
        if (e != TN_ENOMEM || tn_error_code() != TN_ENOMEM)
            print_error("allocation %lld of %lld: %s '%s'\n", (long long)i, (long long)passes, tn_status_name(e),
                        tn_error_message());
        assert_int_equal(e, TN_ENOMEM);
        tn_error_clear();
        check_balance(before);
        OK(step(arg));
        check_balance(before);
    }
    return (int)passes;
}

typedef struct reading {
    const reader *r;
    const fixture *f;
} reading;

static tn_status outcome(tn_tensor *t, const char *source)
{
    if (t) {
        check_valid(t);
        tn_release(t);
        return TN_OK;
    }
    assert_non_null(strstr(tn_error_message(), source));
    return tn_error_code();
}

static tn_status step_read(const void *arg)
{
    const reading *g = arg;
    if (g->r->raw)
        return outcome(tn__parse_with(g->r->raw, "", g->f->bytes, g->f->n, "the source"), "the source");
    tn_status e = TN_OK;
    tn_safetensors *f = tn_safetensors_parse(g->f->bytes, g->f->n, "the source");
    if (!f)
        assert_non_null(strstr(tn_error_message(), "the source"));
    for (size_t i = 0; f && !e && i < tn_safetensors_count(f); i++) {
        tn_safetensors_entry x;
        OK(tn_safetensors_info(f, tn_safetensors_name(f, i), &x));
        if (x.dtype)
            e = outcome(tn_safetensors_tensor(f, tn_safetensors_name(f, i)), "the source");
    }
    tn_safetensors_close(f);
    return f ? e : tn_error_code();
}

static tn_status step_map(const void *arg)
{
    tn_safetensors *f = tn_safetensors_open(arg);
    tn_status e = f ? outcome(tn_safetensors_tensor(f, "F32"), arg) : tn_error_code();
    tn_safetensors_close(f);
    return e;
}

static void reading_without_memory(void **state)
{
    (void)state;
    int allocations = 0;
    EACH_READER(r)
    for (size_t i = 0; i < r->n; i++)
        if (read_exact(r, r->file[i].bytes, r->file[i].n))
            allocations += each_allocation_fails(step_read, &(reading){r, &r->file[i]});
    allocations += each_allocation_fails(step_map, FOLDER "/dtypes.safetensors");
    print_message("count: %d allocations of readers made to fail\n", allocations);
}

typedef struct writing {
    tn_tensor *t[2];
    const char *path;
} writing;

static tn_status step_save_npy(const void *arg)
{
    const writing *w = arg;
    return tn_save_npy(w->t[0], w->path);
}

static tn_status step_save_safetensors(const void *arg)
{
    static const char *const names[] = {"first", "second"};
    const writing *w = arg;
    return tn_save_safetensors(w->path, names, ((tn_tensors){w->t, 2}), .metadata = TN_PAIRS({"k", "v"}));
}

static int files_in(const char *folder)
{
    DIR *d = opendir(folder);
    int n = 0;
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.' || strlen(e->d_name) > 2;
    closedir(d);
    return n;
}

static void writing_without_memory(void **state)
{
    (void)state;
    char folder[] = "/tmp/tenon-torture-XXXXXX", path[4096];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/x", folder);
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(5, 7))), *view = MADE(tn_transpose(x, 0, 1)); /* a copy is made of it */
    writing w = {{view, x}, path};
    int allocations = each_allocation_fails(step_save_npy, &w) + each_allocation_fails(step_save_safetensors, &w);
    assert_int_equal(files_in(folder), 1);
    unlink(path);
    rmdir(folder);
    tn_release(view);
    tn_release(x);
    assert_true(allocations > 0);
    print_message("count: %d allocations of writers made to fail\n", allocations);
}

/* Two epochs of a loader; each failed call is repeated, and every row must come in its place. */
static tn_status walk(tn_loader *l, int64_t rows)
{
    tn_status failed = TN_OK;
    tn_tensor *b[2];
    for (int e = 0; e < 2; e++) {
        int64_t seen = 0;
        for (int32_t r; (r = tn_loader_next(l, b, 2)) != 0;) {
            if (r < 0) {
                assert_int_equal(failed, TN_OK); /* one failure was ordered */
                failed = tn_error_code();
                continue;
            }
            int64_t n = tn_tensor_size(b[1], 0);
            for (int64_t i = 0; i < n; i++)
                assert_int_equal(((const int64_t *)tn_data(b[1]))[i], seen + i);
            seen += n;
            tn_release(b[0]);
            tn_release(b[1]);
        }
        assert_int_equal(seen, rows);
    }
    return failed;
}

typedef struct loading {
    tn_tensor *x, *y;
    int32_t prefetch;
} loading;

static tn_status step_load(const void *arg)
{
    const loading *g = arg;
    tn_loader *l = tn_loader_new(TN_TENSORS(g->x, g->y), .batch_size = 6, .prefetch = g->prefetch);
    if (!l)
        return tn_error_code();
    tn_status e = walk(l, 20);
    tn_loader_free(l);
    return e;
}

/* Made, and freed with batches still in it. */
static tn_status step_drop(const void *arg)
{
    const loading *g = arg;
    tn_tensor *b[2];
    tn_loader *l =
        tn_loader_new(TN_TENSORS(g->x, g->y), .batch_size = 6, .shuffle = true, .seed = 1, .prefetch = g->prefetch);
    if (!l)
        return tn_error_code();
    tn_status e = tn_loader_next(l, b, 2) == 1 ? TN_OK : tn_error_code();
    if (!e) {
        tn_release(b[0]);
        tn_release(b[1]);
    }
    tn_loader_free(l);
    return e;
}

static void loading_without_memory(void **state)
{
    (void)state;
    tn_tensor *x = MADE(tn_zeros(TN_SHAPE(3, 20))), *view = MADE(tn_transpose(x, 0, 1)); /* copied by the loader */
    tn_tensor *y = MADE(tn_arange(0, 20, 1));
    int allocations = 0;
    for (int32_t prefetch = 0; prefetch < 5; prefetch += 2)
        allocations += each_allocation_fails(step_load, &(loading){view, y, prefetch});
    allocations += each_allocation_fails(step_drop, &(loading){view, y, 0});
    for (int i = 1; i < 40; i++) { /* with a thread it depends on the moment which call learns of it, or none */
        balance before = now();
        tn__door_fail(i);
        tn_status e = step_drop(&(loading){view, y, 3});
        tn__door_fail(0);
        assert_true(e == TN_OK || e == TN_ENOMEM);
        tn_error_clear();
        check_balance(before);
    }
    tn_release(view);
    tn_release(x);
    tn_release(y);
    print_message("count: %d allocations of loaders made to fail\n", allocations);
}

int main(void)
{
    setenv("TENON_NO_CACHE", "1", 1); /* every request passes the door, so that a leak shows */
    EACH_READER(r)
    find_fixtures(r);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_at_every_byte),
        cmocka_unit_test(cut_while_open),
        cmocka_unit_test(cut_files),
        cmocka_unit_test(mutations),
        cmocka_unit_test(reading_without_memory),
        cmocka_unit_test(writing_without_memory),
        cmocka_unit_test(loading_without_memory),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    EACH_READER(r)
    for (size_t i = 0; i < r->n; i++)
        free(r->file[i].bytes);
    return failed;
}
