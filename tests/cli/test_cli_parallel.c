/* --device with several GPUs (fake ones): the same training as on one, files that know nothing of it, and what is said of
 * names that cannot be meant. */
#include "helpers.h"
#include <signal.h>

#define TRAIN(...) TENON("train", "--data", "digits", "--batch", "50", KIT_MODEL, __VA_ARGS__)

enum { STEPS = 36 }; /* of 3 epochs: 600 images in batches of 50 */

/* Names that no machine can take: errors of usage, before anything is read or trained. */
static void slips(void **state)
{
    static const struct {
        const char *device, *says;
    } slip[] = {
        {"cuda:0,cuda:0", "'cuda:0,cuda:0' names cuda:0 twice"},
        {"cuda:1,cuda:0,cuda:1", "names cuda:1 twice"},
        {"cuda,cuda:0", "'cuda,cuda:0' names cuda:0 twice"},
        {"cuda:0,cpu", "only GPUs can share the work, and 'cpu' is none"},
        {"cpu,cuda:0", "only GPUs can share the work"},
        {"cuda:0,", "'cuda:0,' has an empty name"},
        {",", "has an empty name"},
        {"cuda:0,,cuda:1", "has an empty name"},
        {"all,cuda:0", "all stands alone"},
        {"cuda:0,auto", "auto stands alone"},
        {"cuda:0,gpu1", "'gpu1' is not a device to compute on"},
        {"cuda:0,1", "'1' is not a device to compute on"},
        {"cuda:0,meta", "'meta' is not a device to compute on"},
        {"cuda:0, cuda:1", "' cuda:1' is not a device to compute on"},
        {"al", "'al' is not a device to compute on"},
    };
    (void)state;
    for (int gpus = 0; gpus < 2; gpus++) {
        kit_gpus(gpus ? "2x1GiB" : NULL);
        for (size_t i = 0; i < sizeof slip / sizeof *slip; i++) {
            ERROR_LINE(TRAIN("--device", slip[i].device, "--save", "slip.safetensors"), 2,
                       "tenon train: --device: ", slip[i].says);
            assert_false(kit_exists("slip.safetensors"));
        }
        ERROR_LINE(TENON("eval", "x.safetensors", "--device", "cuda:0,cuda:0"), 2, "tenon eval: ", "twice");
        ERROR_LINE(TENON("predict", "x.safetensors", "x.png", "--device", "cuda:0,cpu"), 2, "tenon predict: ", "'cpu'");
    }
}

/* Names that this machine has not, as with one device. */
static void not_here(void **state)
{
    (void)state;
    kit_gpus("2x1GiB");
    ERROR_LINE(TRAIN("--device", "cuda:0,cuda:2"), 1, "invalid device ordinal", "cuda:2 was asked for", "there are 2",
               "'tenon devices' lists what is there");
    setenv("CUDA_VISIBLE_DEVICES", "1", 1);
    ERROR_LINE(TRAIN("--device", "cuda:0,cuda:1"), 1, "invalid device ordinal", "there is 1", "CUDA_VISIBLE_DEVICES");
    kit_gpus(NULL);
    ERROR_LINE(TRAIN("--device", "cuda:0,cuda:1"), 1, "TENON_FAKE_GPUS=1");
}

/* "all" is what there is. */
static void all_of_none(void **state)
{
    static const char line[] = "--device all: there is no GPU, so on the CPU (TENON_FAKE_GPUS=2 ";
    (void)state;
    kit_gpus(NULL);
    run r = GOOD(TRAIN("--device", "all", "--epochs", "1", "--save", "none.safetensors"));
    assert_int_equal(strncmp(r.out, line, strlen(line)), 0);
    CONTAINS(r.out, " on cpu: ");
    CONTAINS(GOOD(TENON("eval", "none.safetensors", "--data", "digits", "--device", "all")).out, line);
    CONTAINS_NOT(GOOD(TENON("eval", "none.safetensors", "--data", "digits", "--device", "auto")).out, "no GPU");
    kit_gpus("1x1GiB");
    r = GOOD(TRAIN("--device", "all", "--epochs", "1"));
    CONTAINS(r.out, " on cuda:0: ");
    CONTAINS_NOT(r.out, "no GPU");
}

static void same_losses(const char *what, const double *one, const double *several)
{
    for (int i = 0; i < STEPS; i++)
        if (!(one[i] - several[i] < 1e-4 && several[i] - one[i] < 1e-4))
            fail_msg("%s, step %d: loss %.9g on one GPU, %.9g on several", what, i + 1, one[i], several[i]);
}

/* The same seed, the same batches: the same losses, and images named as on one. */
static void training(void **state)
{
    static const struct {
        const char *gpus, *device, *on;
    } several[] = {
        {"2x1GiB", "cuda:0,cuda:1", " on cuda:0, cuda:1: 600 training images"},
        {"2x1GiB", "cuda:1,cuda:0", " on cuda:1, cuda:0: 600 training images"},
        {"2x1GiB", "all", " on cuda:0, cuda:1: 600 training images"},
        {"4x1GiB", "all", " on cuda:0, cuda:1, cuda:2, cuda:3: 600 training images"},
        {"4x1GiB", "cuda:3,cuda:1,cuda:2", " on cuda:3, cuda:1, cuda:2: 600 training images"},
    };
    double one[STEPS], loss[STEPS + 1];
    (void)state;
    kit_gpus("1x1GiB");
    run r = GOOD(TRAIN("--device", "cuda", "--epochs", "3", "--log", "one.csv", "--save", "one.safetensors"));
    CONTAINS(r.out, ": 100.00 % of the test images right");
    assert_int_equal(kit_losses("one.csv", one, STEPS), STEPS);
    assert_true(one[0] > 1 && one[STEPS - 1] < 0.1);
    for (size_t i = 0; i < sizeof several / sizeof *several; i++) {
        kit_gpus(several[i].gpus);
        r = GOOD(TRAIN("--device", several[i].device, "--epochs", "3", "--log", "several.csv", "--save",
                       "several.safetensors"));
        CONTAINS(r.out, several[i].on);
        CONTAINS(r.out, ": 100.00 % of the test images right; saved to several.safetensors\n");
        assert_int_equal(kit_losses("several.csv", loss, STEPS + 1), STEPS);
        same_losses(several[i].device, one, loss);
    }
    /* the comparison tells trainings apart */
    kit_gpus("2x1GiB");
    GOOD(TRAIN("--device", "all", "--epochs", "3", "--log", "several.csv", "--seed", "2"));
    assert_int_equal(kit_losses("several.csv", loss, STEPS + 1), STEPS);
    assert_true(loss[STEPS / 2] - one[STEPS / 2] > 1e-4 || one[STEPS / 2] - loss[STEPS / 2] > 1e-4);
}

static void same_names(const char *a, const char *b)
{
    tn_safetensors *fa = tn_safetensors_open(a), *fb = tn_safetensors_open(b);
    assert_true(fa && fb);
    assert_int_equal(tn_safetensors_count(fa), tn_safetensors_count(fb));
    for (size_t i = 0; i < tn_safetensors_count(fa); i++) {
        assert_string_equal(tn_safetensors_name(fa, i), tn_safetensors_name(fb, i));
        assert_int_not_equal(strncmp(tn_safetensors_name(fa, i), "module.", 7), 0);
    }
    tn_safetensors_close(fa);
    tn_safetensors_close(fb);
}

/* A file from two GPUs is read by everything, and one from anywhere goes on on two. */
static void files(void **state)
{
    (void)state;
    kit_gpus("2x1GiB");
    GOOD(TRAIN("--device", "all", "--epochs", "1", "--constant-lr", "--save", "two.safetensors"));
    kit_gpus(NULL);
    GOOD(TRAIN("--epochs", "1", "--constant-lr", "--save", "cpu.safetensors"));
    same_names("cpu.safetensors", "two.safetensors");
    CONTAINS(GOOD(TENON("eval", "two.safetensors", "--data", "digits")).out, " of 200 test images right");
    run r = GOOD(TRAIN("--resume", "two.safetensors", "--epochs", "2", "--save", "then.safetensors"));
    CONTAINS(r.out, "resumed from two.safetensors after 1 epoch, 12 steps\n");
    CONTAINS(r.out, ": 100.00 % of the test images right");
    kit_gpus("4x1GiB");
    r = GOOD(TRAIN("--resume", "then.safetensors", "--epochs", "3", "--device", "all", "--log", "third_all.csv"));
    CONTAINS(r.out, " on cuda:0, cuda:1, cuda:2, cuda:3: ");
    CONTAINS(r.out, "resumed from then.safetensors after 2 epochs, 24 steps\n");
    /* what went on was what had been saved */
    double one[STEPS], four[STEPS];
    GOOD(TRAIN("--resume", "then.safetensors", "--epochs", "3", "--device", "cuda:2", "--log", "third.csv"));
    assert_int_equal(kit_losses("third.csv", one, STEPS), STEPS / 3);
    assert_int_equal(kit_losses("third_all.csv", four, STEPS), STEPS / 3);
    for (int i = 0; i < STEPS / 3; i++)
        assert_true(one[i] - four[i] < 1e-4 && four[i] - one[i] < 1e-4);
    GOOD(TRAIN("--resume", "cpu.safetensors", "--epochs", "2", "--device", "cuda:1,cuda:0"));
}

/* The scores and the names of digits are those of one device. */
static void eval_and_predict(void **state)
{
    static const char *const devices[] = {"cuda:0,cuda:1", "cuda:3,cuda:0", "all"};
    static const char header[128] = "\x93NUMPY\1\0v\0{'descr': '|u1', 'fortran_order': False, 'shape': (5, 28, 28), }";
    unsigned char npy[128 + 5 * PIXELS];
    (void)state;
    memset(npy, ' ', 128);
    memcpy(npy, header, 10 + strlen(header + 10));
    npy[127] = '\n';
    for (int k = 0; k < 5; k++)
        kit_bar(9 - k, npy + 128 + k * PIXELS);
    kit_write("five.npy", npy, sizeof npy);
    kit_gpus("4x1GiB");
    char *said = strdup(GOOD(TENON("predict", "one.safetensors", "five.npy", "--device", "cuda:0")).out);
    CONTAINS(said, "five.npy[0]: 9 (");
    CONTAINS(said, "five.npy[4]: 5 (");
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        assert_string_equal(GOOD(TENON("predict", "one.safetensors", "five.npy", "--device", devices[i])).out, said);
        CONTAINS(GOOD(TENON("eval", "one.safetensors", "--data", "digits", "--device", devices[i])).out,
                 "one.safetensors: 100.00 % of 200 test images right (0 wrong)");
    }
    free(said);
}

/* At the end, once; of the training, not of the scoring after it. */
static void explained(void **state)
{
    (void)state;
    kit_gpus("2x1GiB");
    run r = GOOD(TRAIN("--device", "cuda:1,cuda:0", "--epochs", "2", "--explain"));
    const char *end = strstr(r.out, "\ntrained 2 epochs in ");
    assert_non_null(end);
    CONTAINS(end, "cuda:0");
    CONTAINS(end, "cuda:1");
    CONTAINS(end, "backward");
    CONTAINS(end, "cuda:1: 25 samples"); /* of the batch of 50 */
    CONTAINS_NOT(GOOD(TRAIN("--device", "all", "--epochs", "1")).out, "backward");
    r = GOOD(TRAIN("--device", "cuda:1", "--epochs", "1", "--explain"));
    CONTAINS(r.out, "--explain: all of it was done on cuda:1; it tells of several devices");
}

/* Interrupted, it says how to go on: on the same GPUs, the main one first. */
static void interrupted(void **state)
{
    (void)state;
    kit_gpus("2x1GiB");
    pid_t pid = START((how){0}, "train", "--data", "digits", "--epochs", "100000", "--device", "cuda:1,cuda:0",
                      "--explain", "--save", "half.safetensors");
    for (int i = 0; i < 600 && !strstr(kit_so_far(), "epoch 1/"); i++)
        kit_sleep(0.1);
    assert_int_equal(kill(pid, SIGINT), 0);
    run r = GOOD(kit_wait(pid));
    CONTAINS(r.out, "saved; go on with:\ntenon train --resume half.safetensors --save half.safetensors --data digits "
                    "--device cuda:1,cuda:0 --explain\n");
    CONTAINS(strstr(r.out, "go on with"), "backward");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slips),     cmocka_unit_test(not_here),    cmocka_unit_test(all_of_none),
        cmocka_unit_test(training),  cmocka_unit_test(files),       cmocka_unit_test(eval_and_predict),
        cmocka_unit_test(explained), cmocka_unit_test(interrupted),
    };
    return cmocka_run_group_tests_name("cli/parallel", tests, kit_setup, kit_teardown);
}
