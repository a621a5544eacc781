/* What the command says of itself and of the machine; and slips in its options. */
#include "helpers.h"
#include <fcntl.h>
#include <unistd.h>

static const char *const commands[] = {"train", "eval", "predict", "devices", "fake", "doctor"};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void help(void **state)
{
    char usage[64];
    (void)state;
    run r = GOOD(TENON("--help"));
    for (int i = 0; i < N_COMMANDS; i++) {
        snprintf(usage, sizeof usage, "\n  %s ", commands[i]);
        CONTAINS(r.out, usage);
    }
    for (int i = 0; i < N_COMMANDS; i++) {
        r = GOOD(TENON(commands[i], "--help"));
        snprintf(usage, sizeof usage, "usage: tenon %s", commands[i]);
        assert_ptr_equal(strstr(r.out, usage), r.out);
        CONTAINS(r.out, "--help");
        CONTAINS_NOT(r.out, " \n");
    }
    GOOD(TENON("train", "--epochs", "3", "-h"));
}

static void version(void **state)
{
    (void)state;
    assert_string_equal(GOOD(TENON("--version")).out, "tenon " TN_VERSION_TEXT "\n");
}

static void no_command(void **state)
{
    (void)state;
    how h = {0};
    run r = kit_run(h, (const char *const[]){NULL});
    assert_int_equal(r.status, 2);
    assert_string_equal(r.out, "");
    CONTAINS(r.err, "usage: tenon COMMAND");
}

static void doctor(void **state)
{
    (void)state;
    setenv("TENON_NUM_THREADS", "1", 1);
    run r = GOOD(TENON("doctor"));
    unsetenv("TENON_NUM_THREADS");
    CONTAINS(r.out, "[ok] tenon      " TN_VERSION_TEXT "\n");
    CONTAINS(r.out, ", 1 thread,");
    CONTAINS(r.out, "TENON_NUM_THREADS=1");
    CONTAINS(r.out, "forward and backward give the right numbers");
    CONTAINS(r.out, "] driver ");
    CONTAINS(r.out, "] NVML ");
    CONTAINS(r.out, "[ok] set        CUDA_VISIBLE_DEVICES=-1\n");
    CONTAINS_NOT(r.out, "cuda:0");
    setenv("TENON_FAKE_GPU", "2", 1);
    CONTAINS_NOT((r = GOOD(TENON("doctor"))).out, "TENON_NUM_THREADS");
    CONTAINS(r.out, "[--] set        TENON_FAKE_GPU=2: nothing reads it; did you mean TENON_FAKE_GPUS?\n");
    unsetenv("TENON_FAKE_GPU");
    const char *blas = getenv("TENON_BLAS");
    setenv("TENON_BLAS", "/nowhere", 1);
    CONTAINS(GOOD(TENON("doctor")).out, "own products (TENON_BLAS: /nowhere is not a BLAS)\n");
    setenv("TENON_BLAS", "off", 1);
    CONTAINS(GOOD(TENON("doctor")).out, "own products (TENON_BLAS=off)\n");
    blas ? setenv("TENON_BLAS", blas, 1) : unsetenv("TENON_BLAS");
}

static void doctor_on_a_list(void **state)
{
    (void)state;
    kit_gpus("1x256MiB");
    setenv("TENON_VISIBLE_DEVICES", "0,0", 1);
    run r = GOOD(TENON("doctor"));
    CONTAINS(r.out, "[ok] cuda:0     products are right\n[ok] cuda:1     products are right\n");
    CONTAINS(r.out, "[ok] set        TENON_VISIBLE_DEVICES=0,0\n");
    setenv("TENON_VISIBLE_DEVICES", "0,", 1);
    r = TENON("doctor");
    assert_int_equal(r.status, 1);
    CONTAINS(r.out, "[--] GPUs       No CUDA GPUs are available; TENON_VISIBLE_DEVICES is '0,': it says which");
    kit_gpus(NULL);
}

static void slips(void **state)
{
    (void)state;
    ERROR_LINE(TENON("trian"), 2, "no command 'trian'", "did you mean 'train'?", "--help");
    ERROR_LINE(TENON("predic"), 2, "did you mean 'predict'?");
    run r = TENON("dance");
    ERROR_LINE(r, 2, "no command 'dance'", "--help");
    CONTAINS_NOT(r.err, "did you mean");
    ERROR_LINE(TENON("train", "--epoch", "3"), 2, "no option '--epoch'", "did you mean --epochs?",
               "tenon train --help");
    ERROR_LINE(TENON("train", "--bacth=3"), 2, "did you mean --batch?");
    ERROR_LINE(TENON("eval", "-x"), 2, "no option '-x'");
    ERROR_LINE(TENON("train", "--frobnicate"), 2, "no option '--frobnicate'", "tenon train --help");
    ERROR_LINE(TENON("train", "more"), 2, "'more' is one argument too many");
    ERROR_LINE(TENON("devices", "--json=1"), 2, "--json takes no value");
    ERROR_LINE(TENON("eval"), 2, "an argument is missing", "usage: tenon eval MODEL.safetensors");
    ERROR_LINE(TENON("predict", "one"), 2, "an argument is missing");
    ERROR_LINE(TENON("eval", "--", "--data"), 1, "--data: No such file");
}

static void numbers(void **state)
{
    (void)state;
    ERROR_LINE(TENON("train", "--epochs", "-1"), 2, "--epochs: '-1' is not a whole number from 1 to 1000000");
    ERROR_LINE(TENON("train", "--epochs", "0"), 2, "--epochs");
    ERROR_LINE(TENON("train", "--epochs", "1.5"), 2, "'1.5' is not a whole number");
    ERROR_LINE(TENON("train", "--epochs", "1e400"), 2, "--epochs");
    ERROR_LINE(TENON("train", "--epochs", "three"), 2, "'three'");
    ERROR_LINE(TENON("train", "--epochs", "3x"), 2, "'3x'");
    ERROR_LINE(TENON("train", "--lr", "nan"), 2, "--lr: 'nan' is not a number from 0 to 1000");
    ERROR_LINE(TENON("train", "--lr", "inf"), 2, "--lr");
    ERROR_LINE(TENON("train", "--lr", "-0.1"), 2, "--lr");
    ERROR_LINE(TENON("train", "--lr", ""), 2, "--lr");
    ERROR_LINE(TENON("train", "--weight-decay=nan"), 2, "--weight-decay");
    ERROR_LINE(TENON("train", "--batch", "0"), 2, "--batch: '0' is not a whole number from 1 to 60000");
    ERROR_LINE(TENON("train", "--threads", "0"), 2, "--threads");
    ERROR_LINE(TENON("train", "--seed", "1e16"), 2, "from 0 to 9000000000000000");
    ERROR_LINE(TENON("train", "--epochs"), 2, "--epochs needs a value");
    ERROR_LINE(TENON("train", "--data="), 2, "--data needs a value: --data DIR");
}

static void full_stdout(void **state)
{
    (void)state;
    int full = open("/dev/full", O_WRONLY);
    if (full < 0)
        skip();
    ERROR_LINE(TENON_HOW((how){.out = full}, "devices"), 1, "standard output: No space left on device");
    close(full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help),    cmocka_unit_test(version),          cmocka_unit_test(no_command),
        cmocka_unit_test(doctor),  cmocka_unit_test(doctor_on_a_list), cmocka_unit_test(slips),
        cmocka_unit_test(numbers), cmocka_unit_test(full_stdout),
    };
    return cmocka_run_group_tests_name("cli/help", tests, kit_setup, kit_teardown);
}
