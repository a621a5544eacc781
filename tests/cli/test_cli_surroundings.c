/* What surrounds the command: outputs that cannot be written, files that are none, no home, places to save, a better model
 * that is there. */
#include "helpers.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINEAR "train", "--data", "digits", "--model", "linear", "--epochs", "1"

static void a_full_output(void **state)
{
    (void)state;
    GOOD(TENON(LINEAR, "--save", "m.safetensors"));
    unsigned char pixel[PIXELS];
    kit_bar(3, pixel);
    tn_scope *s = tn_scope_open();
    OK(tn_save_npy(tn_tensor_from(TN_ARRAY(pixel), .shape = TN_SHAPE(SIDE, SIDE)), "three.npy"));
    tn_scope_close(s);
    static const char *const calls[][6] = {
        {"--help"},
        {"-h"},
        {"help"},
        {"--version"},
        {"train", "--help"},
        {"eval", "--help"},
        {"predict", "--help"},
        {"devices", "--help"},
        {"doctor", "--help"},
        {"devices"},
        {"devices", "--json"},
        {"doctor"},
        {"train", "--data", "digits", "--epochs=1", "--model=linear"},
        {"eval", "m.safetensors", "--data", "digits"},
        {"predict", "m.safetensors", "three.npy"},
    };
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (full < 0)
        skip();
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        run r = kit_run((how){.out = full}, calls[i]);
        ERROR_LINE(r, 1, "standard output: No space left on device");
        CONTAINS_NOT(r.err, "tenon tenon");
    }
    setenv("TENON_FAKE_GPUS", "2x1GiB", 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    static const char *const gpus[][6] = {{"devices", "--smi"},
                                          {"devices", "-L"},
                                          {"devices", "-q", "-d", "Memory"},
                                          {"devices", "--query-gpu=name", "--format=csv"}};
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++)
        ERROR_LINE(kit_run((how){.out = full}, gpus[i]), 1, "standard output: No space left on device");
    kit_gpus(NULL);
    close(full);
}

/* Nothing hangs, whatever stands where a file is meant; a device of endless zeros is not read to its end. */
static void what_is_no_file(void **state)
{
    (void)state;
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(mkfifo("pipe.npy", 0600), 0);
    GOOD(TENON(LINEAR, "--save", "m.safetensors"));
    ERROR_LINE(TENON("eval", "pipe"), 1, "pipe: not a regular file");
    ERROR_LINE(TENON("eval", "/dev/zero"), 1, "/dev/zero: not a regular file");
    ERROR_LINE(TENON("eval", "digits"), 1, "digits: Is a directory");
    ERROR_LINE(TENON("train", "--data", "digits", "--resume", "pipe"), 1, "pipe: not a regular file");
    ERROR_LINE(TENON("predict", "m.safetensors", "pipe.npy"), 1, "pipe.npy: not a regular file");
    ERROR_LINE(TENON("predict", "m.safetensors", "pipe"), 1, "pipe: ", "give a PNG or npy image");
    ERROR_LINE(TENON("predict", "m.safetensors", "/dev/zero"), 1, "/dev/zero: ", "give a PNG or npy image");
    ERROR_LINE(TENON("predict", "m.safetensors", "digits"), 1, "digits: Is a directory");
    ERROR_LINE(TENON("predict", "m.safetensors", "none.png"), 1, "none.png: No such file or directory");
    mkdir("odd", 0755);
    assert_int_equal(mkfifo("odd/train-images-idx3-ubyte", 0600), 0);
    ERROR_LINE(TENON("train", "--data", "odd"), 1, "odd/train-images-idx3-ubyte: not a regular file");
}

static void no_home(void **state)
{
    (void)state;
    char home[] = "nobody-is-here", *was = getenv("HOME");
    was = was ? strdup(was) : NULL;
    unsetenv("TENON_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", home, 1);
    kit_gpus("1x64MiB");
    run r = GOOD(TENON("doctor"));
    CONTAINS(r.out,
             "[--] cache      off, for there is no home folder (HOME): every process compiles its GPU kernels anew\n");
    CONTAINS(r.out, "TENON_CACHE_DIR names one");
    CONTAINS(r.out, "[ok] cuda:0     products are right");
    assert_false(kit_exists(home));
    if (was)
        setenv("HOME", was, 1);
    free(was);
    kit_gpus(NULL);
}

/* ---- saving ---- */

/* Refused before the first epoch, and nothing is changed. */
static void refused(const char *place, const char *why)
{
    int files = kit_count(".") + (kit_exists("stdout.txt") ? 0 : 1);
    run r = TENON(LINEAR, "--save", place);
    ERROR_LINE(r, 1, why, "--save");
    assert_string_equal(r.out, "");
    assert_int_equal(kit_count("."), files);
}

static void places_that_only_a_try_shows(void **state)
{
    (void)state;
    char name[301];
    memset(name, 'a', 300);
    name[300] = '\0';
    GOOD(TENON("--version"));
    refused("/proc/m.safetensors", "/proc/m.safetensors: No such file or directory");
    refused(name, "File name too long");
    assert_int_equal(symlink("missing/m.safetensors", "link.safetensors"), 0);
    refused("link.safetensors", "link.safetensors: No such file or directory");
    assert_int_equal(symlink("round.safetensors", "round.safetensors"), 0);
    refused("round.safetensors", "Too many levels of symbolic links");
    /* what is there is as it was, where the save is begun and where it is not */
    kit_write("kept.safetensors", "kept", 4);
    ERROR_LINE(TENON("train", "--data", "nowhere", "--save", "kept.safetensors"), 1, "nowhere");
    char *kept = kit_read("kept.safetensors", NULL);
    assert_string_equal(kept, "kept");
    free(kept);
    OK(tn_save_check("kept.safetensors"));
    OK(tn_save_check("new.safetensors"));
    assert_false(kit_exists("new.safetensors"));
    FAILS_STATUS(tn_save_check("missing/new.safetensors"), TN_EIO, "No such file or directory (opening its folder)");
}

/* lr 0 learns nothing: what one epoch with it gives is worse than what one with 0.03 gives. */
static run trained(const char *lr, const char *to)
{
    return GOOD(TENON(LINEAR, "--lr", lr, "--save", to));
}

static void a_better_model_is_kept(void **state)
{
    (void)state;
    assert_int_equal(mkdir("my models", 0755), 0);
#define HERE(name) "my models/" name
    trained("0.03", HERE("good"));
    CONTAINS_NOT(trained("0", HERE("bad")).out, "kept as");
    rename("my models/good", HERE("m"));
    char *good = kit_read(HERE("m"), NULL);
    run r = trained("0", HERE("m"));
    CONTAINS(r.out, "my models/m held a model with ");
    CONTAINS(r.out, " % of the test images right: kept as my models/m.previous\n");
    assert_int_equal(kit_count("my models"), 3); /* bad, m, m.previous */
    GOOD(TENON("eval", HERE("m.previous"), "--data", "digits"));
    /* a worse one is not kept, and does not take the better one's place; nor does the same */
    CONTAINS_NOT(trained("0.03", HERE("m")).out, "kept as");
    r = trained("0", HERE("m"));
    CONTAINS_NOT(r.out, "kept as");
    assert_int_equal(kit_count("my models"), 3);
    char *kept = kit_read(HERE("m.previous"), NULL);
    assert_true(good && kept && !strcmp(good, kept));
    free(good);
    free(kept);
    /* a run that goes on from its own file keeps nothing; from another one it does */
    trained("0.03", HERE("m"));
    unlink(HERE("m.previous"));
    GOOD(TENON("train", "--data", "digits", "--resume", HERE("m"), "--save", HERE("m"), "--epochs", "2", "--lr",
               "1000"));
    assert_false(kit_exists(HERE("m.previous")));
    trained("0.03", HERE("m"));
    r = GOOD(
        TENON("train", "--data", "digits", "--resume", HERE("bad"), "--save", HERE("m"), "--epochs", "2", "--lr", "0"));
    CONTAINS(r.out, "kept as my models/m.previous\n");
    /* by a link: the file that it leads to is replaced, so that one is kept */
    trained("0.03", HERE("m"));
    unlink(HERE("m.previous"));
    assert_int_equal(symlink("my models/m", "m.safetensors.link"), 0);
    trained("0", "m.safetensors.link");
    assert_true(kit_exists(HERE("m.previous")));
    assert_false(kit_exists("m.safetensors.link.previous"));
}

/* A save that fails leaves both as they were. */
static void a_save_that_fails_keeps_nothing(void **state)
{
    (void)state;
    assert_int_equal(mkdir("full", 0755), 0);
    trained("0.03", "full/m");
    run r = TENON_HOW((how){.largest_file = 10000}, LINEAR, "--lr", "0", "--save", "full/m");
    ERROR_LINE(r, 1, "File too large", "what was there before is as it was");
    assert_int_equal(kit_count("full"), 1);
    GOOD(TENON("eval", "full/m", "--data", "digits"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_output),
        cmocka_unit_test(what_is_no_file),
        cmocka_unit_test(no_home),
        cmocka_unit_test(places_that_only_a_try_shows),
        cmocka_unit_test(a_better_model_is_kept),
        cmocka_unit_test(a_save_that_fails_keeps_nothing),
    };
    return cmocka_run_group_tests_name("cli/surroundings", tests, kit_setup, kit_teardown);
}
