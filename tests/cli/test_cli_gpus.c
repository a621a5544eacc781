/* Training, scoring and naming digits on GPUs (fake ones), and what is said where there is none to use. */
#include "helpers.h"
#include <signal.h>
#include <unistd.h>

static void none(void **state)
{
    static const char *const commands[] = {"train", "eval", "predict"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        const char *c = commands[i], *model = i ? "x.safetensors" : "--data", *image = i == 1 ? "--data" : "digits";
        const char *data = i == 1 ? "digits" : "--device=cuda";
        kit_gpus(NULL);
        ERROR_LINE(TENON(c, model, image, data, "--device", "cuda"), 1, "tenon ",
                   "no NVIDIA GPU: try TENON_FAKE_GPUS=1 (simulated: correct results, no speed)", "tenon devices");
        ERROR_LINE(TENON(c, model, image, data, "--device", "cuda:1"), 1, "try TENON_FAKE_GPUS=1");
        kit_gpus("2x1GiB");
        ERROR_LINE(TENON(c, model, image, data, "--device", "cuda:7"), 1, "CUDA error: invalid device ordinal",
                   "cuda:7 was asked for", "there are 2");
        setenv("CUDA_VISIBLE_DEVICES", "1", 1);
        ERROR_LINE(TENON(c, model, image, data, "--device", "cuda:1"), 1, "CUDA error: invalid device ordinal",
                   "there is 1", "CUDA_VISIBLE_DEVICES");
        setenv("CUDA_VISIBLE_DEVICES", "0,0", 1);
        ERROR_LINE(TENON(c, model, image, data, "--device", "cuda"), 1, "No CUDA GPUs are available",
                   "CUDA_VISIBLE_DEVICES is '0,0'");
        kit_gpus("2 x 4GiB");
        ERROR_LINE(TENON(c, model, image, data, "--device", "cuda"), 1, "TENON_FAKE_GPUS='2 x 4GiB' is not understood",
                   "2x4GiB");
    }
    kit_gpus(NULL); /* not named: not an error */
    CONTAINS(GOOD(TENON("train", "--device", "auto", "--data", "digits", "--epochs", "1")).out, " on cpu: ");
}

static void no_compiler(void **state)
{
    (void)state;
    kit_gpus("1");
    setenv("TENON_CACHE_DIR", "off", 1);
    setenv("TENON_FAKE_CC", "/nowhere/cc", 1);
    ERROR_LINE(TENON("train", "--device", "cuda", "--data", "digits", "--epochs", "1"), 1,
               "fake GPUs need a C compiler at run time", "TENON_FAKE_CC='/nowhere/cc'");
    CONTAINS(TENON("doctor").out, "[--] C compiler /nowhere/cc");
    unsetenv("TENON_FAKE_CC");
#if !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__) /* those builds take the compiler they are made by */
    char *path = strdup(getenv("PATH"));
    setenv("PATH", "/nowhere", 1);
    unsetenv("CC");
    run r = TENON("train", "--device", "cuda", "--data", "digits", "--epochs", "1");
    setenv("PATH", path, 1);
    free(path);
    ERROR_LINE(r, 1, "fake GPUs need a C compiler at run time", "tried $CC, cc, gcc, clang");
#endif
    unsetenv("TENON_CACHE_DIR");
}

/* The same numbers as on the CPU, to rounding (of a CPU that rounds each product, as fake GPUs do); a file written there is
 * read here, and the other way round. */
static void training(void **state)
{
    enum { STEPS = 50 };
    double here[STEPS], there[STEPS];
    (void)state;
    kit_gpus("2x1GiB");
    setenv("TENON_CPU", "baseline", 1);
    setenv("TENON_BLAS", "off", 1); /* its threads are not ThreadSanitizer's */
    run r = GOOD(TENON("train", "--data", "digits", "--epochs", "4", "--batch", "32", "--log", "cpu.csv"));
    unsetenv("TENON_CPU");
    unsetenv("TENON_BLAS");
    CONTAINS(r.out, " on cpu: ");
    r = GOOD(TENON("train", "--data", "digits", "--epochs", "4", "--batch", "32", "--log", "gpu.csv", "--device",
                   "cuda:1", "--save", "gpu.safetensors"));
    CONTAINS(r.out, " on cuda:1: 600 training images");
    CONTAINS(r.out, "100.00 % of the test images right; saved to gpu.safetensors\n");
    int n = kit_losses("cpu.csv", here, STEPS);
    assert_int_equal(n, STEPS);
    assert_int_equal(kit_losses("gpu.csv", there, STEPS), n);
    for (int i = 0; i < n; i++)
        if (!(here[i] - there[i] < 1e-4 && there[i] - here[i] < 1e-4))
            fail_msg("step %d: loss %g on the CPU, %g on the GPU", i + 1, here[i], there[i]);
    CONTAINS(GOOD(TENON("eval", "gpu.safetensors", "--data", "digits", "--device", "cuda:1")).out,
             ": 100.00 % of 200 ");
    kit_gpus(NULL);
    CONTAINS(GOOD(TENON("eval", "gpu.safetensors", "--data", "digits")).out, ": 100.00 % of 200 ");
    r = GOOD(TENON("train", "--data", "digits", "--resume", "gpu.safetensors", "--epochs", "5", "--save",
                   "both.safetensors"));
    CONTAINS(r.out, "resumed from gpu.safetensors after 4 epochs");
    kit_gpus("1x1GiB");
    r = GOOD(TENON("train", "--data", "digits", "--resume", "both.safetensors", "--epochs", "6", "--device", "auto"));
    CONTAINS(r.out, " on cuda:0: ");
    CONTAINS(r.out, "resumed from both.safetensors after 5 epochs");
}

/* Interrupted, it says how to go on: on the same GPU. */
static void interrupted(void **state)
{
    (void)state;
    kit_gpus("2x1GiB");
    pid_t pid = START((how){0}, "train", "--data", "digits", "--epochs", "100000", "--device", "cuda:1", "--save",
                      "half.safetensors");
    for (int i = 0; i < 600 && !strstr(kit_so_far(), "epoch 1/"); i++)
        kit_sleep(0.1);
    assert_int_equal(kill(pid, SIGINT), 0);
    run r = GOOD(kit_wait(pid));
    CONTAINS(r.out, "saved; go on with:\ntenon train --resume half.safetensors --save half.safetensors --data digits "
                    "--device cuda:1\n");
}

static void predicting(void **state)
{
    unsigned char pixel[PIXELS];
    static const char header[128] = "\x93NUMPY\1\0v\0{'descr': '|u1', 'fortran_order': False, 'shape': (28, 28), }";
    char npy[128 + PIXELS];
    (void)state;
    memset(npy, ' ', sizeof header);
    memcpy(npy, header, 10 + strlen(header + 10));
    npy[127] = '\n';
    kit_bar(7, pixel);
    memcpy(npy + 128, pixel, PIXELS);
    kit_write("seven.npy", npy, sizeof npy);
    kit_gpus("2x1GiB");
    run r = GOOD(TENON("predict", "gpu.safetensors", "seven.npy", "--device", "cuda:1"));
    assert_int_equal(strncmp(r.out, "seven.npy: 7\n", 13), 0);
    char *there = strdup(r.out);
    assert_string_equal(GOOD(TENON("predict", "gpu.safetensors", "seven.npy", "--device", "cpu")).out, there);
    free(there);
}

/* Too little memory: one line with who holds what, and no file. */
static void too_little_memory(void **state)
{
    (void)state;
    kit_gpus("1x16MiB");
    run r = TENON("train", "--data", "digits", "--epochs", "1", "--device", "cuda", "--save", "none.safetensors");
    ERROR_LINE(r, 1, "CUDA out of memory. Tried to allocate");
    assert_false(kit_exists("none.safetensors"));
}

static void doctor(void **state)
{
    (void)state;
    kit_gpus("2x1GiB");
    run r = GOOD(TENON("doctor"));
    CONTAINS(r.out, "[ok] driver     simulated, for CUDA 13.0: ");
    CONTAINS(r.out, "[ok] NVRTC      simulated");
    CONTAINS(r.out, "[ok] cuBLAS     simulated");
    CONTAINS(r.out, "[ok] NVML       simulated");
    CONTAINS(r.out, "[ok] C compiler ");
    CONTAINS(r.out, "[ok] cuda:0     products are right\n[ok] cuda:1     products are right\n");
    CONTAINS(r.out, "[ok] set        TENON_FAKE_GPUS=2x1GiB\n");
    CONTAINS_NOT(r.out, "] fake GPUs");
    kit_gpus(NULL); /* it tries whether fake ones would work */
    CONTAINS(GOOD(TENON("doctor")).out, "[ok] fake GPUs  work: TENON_FAKE_GPUS=2 makes two");
    setenv("TENON_CACHE_DIR", "off", 1);
    CONTAINS(GOOD(TENON("doctor")).out, "[ok] cache      off: ");
    setenv("TENON_CACHE_DIR", "kernels", 1);
    CONTAINS(GOOD(TENON("doctor")).out, "[ok] cache      kernels: ");
    unsetenv("TENON_CACHE_DIR");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none),        cmocka_unit_test(no_compiler), cmocka_unit_test(training),
        cmocka_unit_test(interrupted), cmocka_unit_test(predicting),  cmocka_unit_test(too_little_memory),
        cmocka_unit_test(doctor),
    };
    return cmocka_run_group_tests_name("cli/gpus", tests, kit_setup, kit_teardown);
}
