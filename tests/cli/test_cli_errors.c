/* What bad input gets: one line that says what to do, status 1 or 2, and no file harmed. */
#include "helpers.h"
#include <errno.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static const char images[] = "bad/train-images-idx3-ubyte", labels[] = "bad/train-labels-idx1-ubyte";

static void no_data(void **state)
{
    (void)state;
    ERROR_LINE(TENON("train", "--data", "nowhere"), 1,
               "tenon train: nowhere: No such file or directory; --data names ");
    ERROR_LINE(TENON("train"), 1, "data/mnist: No such file or directory", "--data"); /* none in this folder */
    mkdir("empty", 0755);
    ERROR_LINE(TENON("train", "--data", "empty"), 1, "empty/train-images-idx3-ubyte.gz: No such file", "--data");
    GOOD(TENON("train", "--data", "digits", "--epochs", "1", "--model", "linear", "--save", "linear.safetensors"));
    ERROR_LINE(TENON("eval", "linear.safetensors", "--data", "empty"), 1, "t10k-images-idx3-ubyte.gz: No such",
               "--data");
    ERROR_LINE(TENON("train", "--data", "stderr.txt"), 1, "stderr.txt", "--data");
}

/* Training on 'bad', a copy of 'digits' but for one file. */
static run with(const char *path, const void *data, size_t n)
{
    static const char *const names[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                                        "t10k-labels-idx1-ubyte"};
    char from[64], to[64];
    mkdir("bad", 0755);
    for (int i = 0; i < 4; i++) {
        snprintf(from, sizeof from, "digits/%s", names[i]);
        snprintf(to, sizeof to, "bad/%s", names[i]);
        unlink(to);
        assert_int_equal(link(from, to), 0);
    }
    unlink(path);
    kit_write(path, data, n);
    return TENON("train", "--data", "bad", "--epochs", "1", "--save", "m.safetensors");
}

static run with_idx(const char *path, int n_dims, const uint32_t *dims, const unsigned char *data, size_t n)
{
    size_t size;
    kit_idx("made.idx", n_dims, dims, data, n, false);
    char *bytes = kit_read("made.idx", &size);
    run r = with(path, bytes, size);
    free(bytes);
    return r;
}

static void corrupt_data(void **state)
{
    size_t n;
    (void)state;
    char *good = kit_read("digits/train-images-idx3-ubyte", &n);
    assert_int_equal(n, 16 + TRAINING * PIXELS);
    ERROR_LINE(with(images, "PK\3\4 and more", 13), 1, images, "magic number at byte 0: 0x504b", "--data");
    ERROR_LINE(with(images, "", 0), 1, images, "ends after 0 of 4 bytes", "--data");
    ERROR_LINE(with(images, good, 9), 1, images, "--data");
    ERROR_LINE(with(images, good, n - 1), 1, images, "[600, 28, 28] of uint8 is 470400 bytes, the file has 470399");
    ERROR_LINE(with(images, "\0\0\10\3\377\377\377\377\0\0\0\34\0\0\0\34", 16), 1, images, "the file has 0", "--data");
    ERROR_LINE(with(images, "\0\0\10\3\377\377\377\377\377\377\377\377\377\377\377\377", 16), 1, images, "--data");
    ERROR_LINE(with(images, "\37\213\10\0garbage that is no deflate stream", 36), 1, images, "gzip", "--data");
    assert_false(kit_exists("m.safetensors"));
    free(good);
    /* a gzip file cut in the middle, and one with a bit turned */
    kit_idx("made.idx.gz", 1, (uint32_t[]){TRAINING}, (unsigned char[TRAINING]){3, 1, 4, 1, 5, 9, 2, 6}, TRAINING,
            true);
    char *packed = kit_read("made.idx.gz", &n);
    ERROR_LINE(with(labels, packed, n / 2), 1, labels, "gzip", "--data");
    packed[n - 6] ^= 1; /* in the checksum */
    ERROR_LINE(with(labels, packed, n), 1, labels, "gzip", "--data");
    packed[n - 6] ^= 1;
    GOOD(with(labels, packed, n));
    assert_true(kit_exists("m.safetensors"));
    unlink("m.safetensors");
    free(packed);
}

static void data_that_does_not_fit(void **state)
{
    static unsigned char zeros[TRAINING * PIXELS];
    (void)state;
    ERROR_LINE(with_idx(images, 3, (uint32_t[]){600, 14, 56}, zeros, sizeof zeros), 1, "28 x 28", "--data");
    ERROR_LINE(with_idx(images, 1, (uint32_t[]){600}, zeros, 600), 1, "28 x 28", "--data");
    ERROR_LINE(with_idx(images, 3, (uint32_t[]){0, 28, 28}, zeros, 0), 1, "holds no image", "--data");
    ERROR_LINE(with_idx(labels, 1, (uint32_t[]){599}, zeros, 599), 1, labels, "each of the 600 images", "--data");
    memset(zeros, 10, TRAINING);
    ERROR_LINE(with_idx(labels, 1, (uint32_t[]){600}, zeros, 600), 1, labels, "no digit", "--data");
    assert_false(kit_exists("m.safetensors"));
}

static void other_models(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    const char *names[] = {"0.weight", "0.bias", "2.weight", "2.bias"};
    tn_tensor *t[] = {tn_zeros(TN_SHAPE(300, 784)), tn_zeros(TN_SHAPE(300)), tn_zeros(TN_SHAPE(10, 300)),
                      tn_zeros(TN_SHAPE(10))},
              *one = tn_zeros(TN_SHAPE(10, 784));
    OK(tn_save_safetensors("other.safetensors", names, ((tn_tensors){t, 4})));
    OK(tn_save_safetensors("less.safetensors", names, TN_TENSORS(one),
                           .metadata = TN_PAIRS({"tenon.model", "linear"})));
    OK(tn_save_safetensors("new.safetensors", names, ((tn_tensors){t, 4}),
                           .metadata = TN_PAIRS({"tenon.model", "cnn"})));
    tn_scope_close(s);
    const char *const with_model[] = {"eval", "predict", "train"};
    for (int i = 0; i < 3; i++) {
        const char *c = with_model[i], *resume = i == 2 ? "--resume" : "--device=cpu", *image = i == 1 ? "x.png" : "--";
#define ON(file_) (i == 2 ? TENON(c, resume, file_, "--data", "digits") : TENON(c, resume, file_, image))
        ERROR_LINE(ON("other.safetensors"), 1,
                   "other.safetensors does not hold the network 'mlp': '0.weight' is [300, 784], "
                   "not [500, 784]",
                   "tenon train --save");
        ERROR_LINE(ON("less.safetensors"), 1, "the network 'linear': '0.bias' is missing", "tenon train --save");
        ERROR_LINE(ON("new.safetensors"), 1, "holds a network 'cnn'", "tenon train --save");
        ERROR_LINE(ON("nowhere.safetensors"), 1, "nowhere.safetensors: No such file", "tenon train --save");
        ERROR_LINE(ON("digits/t10k-labels-idx1-ubyte"), 1, "header at byte 0", "tenon train --save");
        ERROR_LINE(ON("digits"), 1, "digits: Is a directory", "tenon train --save");
#undef ON
    }
    ERROR_LINE(TENON("train", "--model", "cnn"), 2, "no model 'cnn'", "mlp", "linear");
}

/* Whatever a path or a file holds, an error is one line, with the reason in it and nothing that steers a terminal. */
static void names_with_control_characters(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    const char *names[] = {"0.weight", "0.bias", "optimizer.7.step"};
    tn_tensor *t[] = {tn_zeros(TN_SHAPE(10, 784)), tn_zeros(TN_SHAPE(10)), tn_ones(TN_SHAPE())};
    OK(tn_save_safetensors("red.safetensors", names, ((tn_tensors){t, 2}),
                           .metadata = TN_PAIRS({"tenon.model", "a\033[31m\nb"})));
    OK(tn_save_safetensors("seven.safetensors", names, ((tn_tensors){t, 3}),
                           .metadata = TN_PAIRS({"tenon.model", "linear"})));
    tn_scope_close(s);
    ERROR_LINE(TENON("eval", "red.safetensors"), 1, "holds a network 'a?[31m?b'");
    ERROR_LINE(TENON("eval", "no\nwhere\033"), 1, "no?where?: No such file or directory", "tenon train --save");
    ERROR_LINE(TENON("eval", "n\xc3\x9b\x9b\xc2\x9b"), 1, "n\xc3\x9b??: No such file or directory",
               "tenon train --save");
    ERROR_LINE(TENON("predict", "red.safetensors", "--x\n"), 2, "there is no option '--x?'");
    ERROR_LINE(TENON("train", "--data", "digits", "--resume", "seven.safetensors"), 1,
               "Unexpected key(s) in state_dict: \"7.step\"; ", "tenon train --save");
}

static void devices(void **state)
{
    (void)state;
    ERROR_LINE(TENON("train", "--device", "gpu"), 2, "--device: 'gpu' is not a device to compute on",
               "cpu, cuda, cuda:1");
    ERROR_LINE(TENON("train", "--device", "cuda:x"), 2, "--device: 'cuda:x'");
    ERROR_LINE(TENON("train", "--device", "meta"), 2, "--device: 'meta'");
    if (tn_cuda_device_count() > 1)
        skip();
    ERROR_LINE(TENON("train", "--device", "cuda:1", "--data", "digits"), 1, "tenon devices");
    ERROR_LINE(TENON("eval", "x.safetensors", "--device", "cuda:1"), 1, "tenon devices");
    GOOD(TENON("train", "--device", "auto", "--data", "digits", "--epochs", "1"));
}

static void places_to_save(void **state)
{
    (void)state;
    ERROR_LINE(TENON("train", "--data", "digits", "--save", "no/m.safetensors"), 1,
               "--save no/m.safetensors: no: No such");
    ERROR_LINE(TENON("train", "--data", "digits", "--save", "digits"), 1, "--save digits: this is a folder", "digits/");
    ERROR_LINE(TENON("train", "--data", "digits", "--epochs", "1", "--log", "no/run.csv"), 1,
               "--log no/run.csv: No such");
    /* what cannot be replaced is noticed before the first epoch */
    run r = TENON("train", "--data", "digits", "--epochs", "1", "--save", "/dev/null");
    ERROR_LINE(r, 1, "--save /dev/null: this is no regular file");
    CONTAINS_NOT(r.out, "epoch 1/1");
    assert_int_equal(mkfifo("pipe", 0644), 0);
    ERROR_LINE(TENON("train", "--data", "digits", "--epochs", "1", "--save", "pipe"), 1, "--save pipe: this is no reg");
    kit_write("kept.safetensors", "kept", 4);
    assert_int_equal(chmod("kept.safetensors", 0444), 0);
    if (geteuid() != 0) {
        r = TENON("train", "--data", "digits", "--epochs", "1", "--save", "kept.safetensors");
        ERROR_LINE(r, 1, "--save kept.safetensors: Permission denied");
        CONTAINS_NOT(r.out, "epoch 1/1");
    }
    if (kit_exists("/dev/full")) {
        r = TENON("train", "--data", "digits", "--epochs", "1", "--log", "/dev/full", "--save", "full.safetensors");
        ERROR_LINE(r, 1, "--log /dev/full: No space");
        GOOD(TENON("eval", "full.safetensors", "--data", "digits")); /* the epoch is not lost with it */
    }
}

/* Started without a standard output: what would be printed there must not end up in a file that we open. */
static void no_standard_output(void **state)
{
    (void)state;
    char command[600];
    size_t n;
    snprintf(command, sizeof command, "\"%s/tenon\" train --data digits --epochs 1 --log closed.csv >&-",
             TENON_PROGRAM_DIR);
    ERROR_LINE(TENON_HOW((how){.program = "/bin/sh"}, "-c", command), 1, "standard output: Bad file descriptor");
    char *log = kit_read("closed.csv", &n);
    assert_non_null(log);
    assert_int_equal(strncmp(log, "step,epoch,", 11), 0);
    CONTAINS_NOT(log, "parameters)");
    free(log);
}

/* The old model stays as it was, byte for byte; nothing else is left. */
static void a_save_that_fails(how h, const char *folder, const char *path, const char *cause)
{
    size_t n = 0, after = 0;
    char *before = kit_read(path, &n);
    int files = kit_count(folder);
    assert_non_null(before);
    run r = TENON_HOW(h, "train", "--data", "digits", "--epochs", "2", "--save", path);
    ERROR_LINE(r, 1, path, cause, "what was there before is as it was", "--save");
    CONTAINS(r.out, "epoch 1/2");
    CONTAINS_NOT(r.out, "epoch 2/2");
    char *now = kit_read(path, &after);
    assert_true(now && n == after && memcmp(before, now, n) == 0);
    assert_int_equal(kit_count(folder), files);
    free(before);
    free(now);
}

static void files_may_not_grow(void **state)
{
    (void)state;
    assert_int_equal(mkdir("kept", 0755), 0);
    GOOD(TENON("train", "--data", "digits", "--epochs", "1", "--save", "kept/m.safetensors"));
    a_save_that_fails((how){.largest_file = 100000}, "kept", "kept/m.safetensors", "File too large");
    GOOD(TENON("eval", "kept/m.safetensors", "--data", "digits"));
}

static void disk_is_full(void **state)
{
    (void)state;
    assert_int_equal(mkdir("disk", 0755), 0);
    if (mount("tenon", "disk", "tmpfs", 0, "size=64k") != 0) {
        print_message("skipped: a full disk: mount: %s\n", strerror(errno));
        skip();
    }
    kit_write("disk/m.safetensors", "an older model", 14);
    a_save_that_fails((how){0}, "disk", "disk/m.safetensors", "No space left on device");
    assert_int_equal(umount("disk"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_data),
        cmocka_unit_test(corrupt_data),
        cmocka_unit_test(data_that_does_not_fit),
        cmocka_unit_test(other_models),
        cmocka_unit_test(names_with_control_characters),
        cmocka_unit_test(devices),
        cmocka_unit_test(places_to_save),
        cmocka_unit_test(no_standard_output),
        cmocka_unit_test(files_may_not_grow),
        cmocka_unit_test(disk_is_full),
    };
    return cmocka_run_group_tests_name("cli/errors", tests, kit_setup, kit_teardown);
}
