/* tenon fake: a program that knows nothing of Tenon (driver_program.c) runs on fake GPUs, and what it does wrong is said. */
#include "helpers.h"
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART(name) TENON("fake", "--", DRIVER_PROGRAM, name)

static void right_programs_run(void **state)
{
    (void)state;
    run r = GOOD(PART("ordered"));
    CONTAINS(r.out, "2 * (a + b) of 1000\n");
    CONTAINS(GOOD(PART("language")).out, "language\n");
    GOOD(PART("early")); /* threads that have ended are not waited for */
    GOOD(PART("fine"));
    r = PART("driver"); /* which does forbidden things, too, and finds them refused */
    assert_int_equal(r.status, 0);
    CONTAINS(r.out, "driver\n");
    CONTAINS(r.err, "copy device to host on stream 3 of device 0 reads 4 bytes");
    CONTAINS(r.err, "which allocation (cuMemAllocAsync) on stream 2 of device 0 writes: nothing orders the two");
}

/* The report names both launches; the program gets CUDA_ERROR_ILLEGAL_STATE from the second. */
static void forgotten_event_is_reported(void **state)
{
    (void)state;
    run r = PART("forgotten");
    assert_int_equal(r.status, 3);
    CONTAINS(r.err, "fake GPU: kernel 'twice' on stream 3 of device 0 writes 4000 bytes");
    CONTAINS(r.err, "which kernel 'add' on stream 2 of device 0 writes: nothing orders the two");
    CONTAINS(r.err, "gives 401");
}

static void wrong_kernels_fail(void **state)
{
    (void)state;
    static const struct {
        const char *name, *out, *err;
    } wrong[] = {
        {"divergent", "launch 0, then 719", "threads of the block wait at different __syncthreads"},
        {"lonely", "launch 0, then 719", "59 of 64 threads of block (0, 0, 0) wait at a __syncthreads"},
        {"overrun", "launch 0, then 719", "writes beside the 252 bytes of dynamic shared memory"},
        {"assertion", "launch 0, then 710",
         "thread (0, 0, 0) of block (0, 0, 0): assertion failed: x[1] == 2 (kernels.cu:3)"},
        {"nested", "launch 801", "parameter 0 is a pointer to pointers"},
        {"ptx", "218: fake GPUs run what their own NVRTC compiled", "a module is a cubin from elsewhere"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        run r = PART(wrong[i].name);
        assert_int_equal(r.status, 3);
        CONTAINS(r.out, wrong[i].out);
        CONTAINS(r.err, wrong[i].err);
    }
}

/* The log has the program's own lines. */
static void what_is_not_taken_is_said(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"syntax", "kernels.cu:4:"},
        {"syntax", "nobody"},
        {"asm", "kernels.cu:3: error: fake GPUs do not take this: PTX within the text (asm)"},
        {"texture", "kernels.cu:1: error: fake GPUs do not take this: textures"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        run r = PART(texts[i][0]);
        assert_int_equal(r.status, 4);
        CONTAINS(r.out, texts[i][1]);
    }
    setenv("TENON_FAKE_CXX", "/nowhere", 1);
    run r = PART("ordered");
    unsetenv("TENON_FAKE_CXX");
    assert_int_equal(r.status, 1);
}

static void command_is_a_shell_s_word(void **state)
{
    (void)state;
    assert_int_equal(TENON("fake", "sh", "-c", "exit 7").status, 7);
    assert_int_equal(TENON("fake", "--gpus", "2", "--", "sh", "-c", "kill -9 $$").status, 128 + SIGKILL);
    CONTAINS(GOOD(TENON("fake", "--gpus=3x64MiB", "sh", "-c", "echo $TENON_FAKE_GPUS")).out, "3x64MiB\n");
    kit_gpus("2");
    CONTAINS(GOOD(TENON("fake", "sh", "-c", "echo $TENON_FAKE_GPUS")).out, "2\n");
    unsetenv("TENON_FAKE_GPUS");
    CONTAINS(GOOD(TENON("fake", "sh", "-c", "echo $TENON_FAKE_GPUS")).out, "1\n");
    ERROR_LINE(TENON("fake", "no-such-program"), 127, "no-such-program", "No such file");
    ERROR_LINE(TENON("fake", "--gpus", "2x64MB", "true"), 2, "--gpus '2x64MB'", "COUNTxSIZE");
    ERROR_LINE(TENON("fake"), 2, "which program?");
    ERROR_LINE(TENON("fake", "--gpu", "2", "true"), 2, "did you mean --gpus");
}

/* Who made the folder of links before must not choose what is loaded. */
static void folder_is_nobody_else_s(void **state)
{
    (void)state;
    setenv("TMPDIR", "/proc", 1);
    ERROR_LINE(TENON("fake", "true"), 1, "/proc/tenon-fake-", "TMPDIR");
    char here[4096], path[8192];
    assert_true(getcwd(here, sizeof here) != NULL);
    setenv("TMPDIR", here, 1);
    GOOD(TENON("fake", "true"));
    run r = GOOD(TENON("fake", "sh", "-c", "echo ${LD_LIBRARY_PATH%%:*}"));
    snprintf(path, sizeof path, "%.*s", (int)strcspn(r.out, "\n"), r.out);
    assert_int_equal(strncmp(path, here, strlen(here)), 0);
    assert_int_equal(chmod(path, 0777), 0);
    ERROR_LINE(TENON("fake", "true"), 1, "you alone can write to");
    unsetenv("TMPDIR");
}

static int setup(void **state)
{
    const int failed = kit_setup(state);
    kit_gpus("1x1GiB");
    return failed;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_programs_run),        cmocka_unit_test(forgotten_event_is_reported),
        cmocka_unit_test(wrong_kernels_fail),        cmocka_unit_test(what_is_not_taken_is_said),
        cmocka_unit_test(command_is_a_shell_s_word), cmocka_unit_test(folder_is_nobody_else_s),
    };
    return cmocka_run_group_tests(tests, setup, kit_teardown);
}
