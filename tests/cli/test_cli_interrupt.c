/* Signals during training: what is saved, how it ends, and that the printed command goes on exactly. */
#include "helpers.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE = 3000 }; /* waits of 10 ms: a machine may be slow, a test must end */

static void wait_for(const char *text)
{
    for (int i = 0; i < PATIENCE && !strstr(kit_so_far(), text); i++)
        kit_sleep(0.01);
    CONTAINS(kit_so_far(), text);
}

static void wait_for_file(const char *path, const char *text)
{
    char *got = NULL;
    for (int i = 0; i < PATIENCE && !(got && strstr(got, text)); i++) {
        free(got);
        kit_sleep(0.01);
        got = kit_read(path, NULL);
    }
    assert_true(got && strstr(got, text));
    free(got);
}

/* Folder and file names that a shell would take apart. */
#define DATA   "it's my data"
#define MODEL  "my model.safetensors"
#define RECIPE "--data", DATA, KIT_MODEL, "--batch", "10", "--epochs", "8"

/* Trains until 'signal' comes, somewhere in the second epoch or later. */
static run interrupted(int number)
{
    for (int tries = 0;; tries++) {
        pid_t pid = START((how){0}, "train", RECIPE, "--save", MODEL, "--log", "run.csv");
        wait_for("\nepoch 1/8: ");
        kill(pid, number);
        run r = kit_wait(pid);
        if (strstr(r.out, "interrupted") || tries == 5)
            return r;
    }
}

static void goes_on_exactly(void **state)
{
    (void)state;
    GOOD(TENON("train", RECIPE, "--save", "whole.safetensors"));
    const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (int i = 0; i < 3; i++) {
        char command[600];
        run r = GOOD(interrupted(signals[i]));
        CONTAINS(r.out, "\ninterrupted in epoch ");
        CONTAINS_NOT(r.out, "trained 8 epochs");
        const char *hint = strstr(r.out, "saved; go on with:\n");
        assert_non_null(hint);
        hint = strchr(hint, '\n') + 1;
        assert_ptr_equal(strstr(hint, "tenon train --resume 'my model.safetensors' --save 'my model.safetensors' "
                                      "--data 'it'\\''s my data' --log run.csv\n"),
                         hint);
        assert_false(kit_same_file(MODEL, "whole.safetensors"));
        snprintf(command, sizeof command, "PATH=\"%s:$PATH\"; %s", TENON_PROGRAM_DIR, hint);
        r = GOOD(TENON_HOW((how){.program = "/bin/sh"}, "-c", command));
        CONTAINS(r.out, "resumed from my model.safetensors after ");
        CONTAINS(r.out, "\nepoch 8/8: ");
        assert_true(kit_same_file(MODEL, "whole.safetensors")); /* weights, moments, places, recipe */
    }
}

/* nohup: what is ignored when it starts stays so. */
static void an_ignored_hangup_ends_nothing(void **state)
{
    (void)state;
    char command[600];
    snprintf(command, sizeof command,
             "trap '' HUP; exec \"%s/tenon\" train --data \"" DATA "\" --model linear --batch 10 --epochs 8",
             TENON_PROGRAM_DIR);
    pid_t pid = START((how){.program = "/bin/sh"}, "-c", command);
    wait_for("\nepoch 1/8: ");
    kill(pid, SIGHUP);
    CONTAINS(GOOD(kit_wait(pid)).out, "trained 8 epochs");
}

static void without_save(void **state)
{
    (void)state;
    pid_t pid = START((how){0}, "train", "--data", DATA, KIT_MODEL, "--batch", "10", "--epochs", "1000");
    wait_for("\nepoch 1/1000: ");
    kill(pid, SIGINT);
    run r = GOOD(kit_wait(pid));
    CONTAINS(r.out, "nothing was saved: --save FILE does that\n");
    CONTAINS_NOT(r.out, "go on with");
}

/* The process hangs in writing to a pipe that is full: the first Ctrl-C finds it so, the second ends it. */
static void second_ends_at_once(void **state)
{
    int end[2], status;
    char filler[4096 - 200] = {0};
    (void)state;
    assert_int_equal(pipe2(end, O_CLOEXEC), 0);
    if (fcntl(end[1], F_SETPIPE_SZ, 4096) != 4096)
        skip();
    assert_int_equal(write(end[1], filler, sizeof filler), (int)sizeof filler);
    unlink("second.csv");
    pid_t pid = START((how){.out = end[1]}, "train", "--data", DATA, "--epochs", "2", "--log", "second.csv");
    close(end[1]);
    wait_for_file("second.csv", "5,1,"); /* five steps; the row of the epoch is written before its line is */
    kit_sleep(0.5);
    kill(pid, SIGINT);
    kit_sleep(0.3);
    assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
    kill(pid, SIGINT);
    assert_int_equal(kit_wait(pid).status, 128 + SIGINT);
    close(end[0]);
}

/* 'tenon train | head -1': the reader is gone; the model of the epoch is saved, the run ends with an error. */
static void reader_goes_away(void **state)
{
    int end[2];
    char line[512];
    (void)state;
    assert_int_equal(pipe2(end, O_CLOEXEC), 0);
    pid_t pid = START((how){.out = end[1]}, "train", "--data", DATA, KIT_MODEL, "--batch", "10", "--epochs", "1000",
                      "--save", "pipe.safetensors");
    close(end[1]);
    assert_true(read(end[0], line, sizeof line) > 0);
    close(end[0]);
    run r = kit_wait(pid);
    ERROR_LINE(r, 1, "standard output: Broken pipe", "ended after epoch ", "saved to pipe.safetensors");
    GOOD(TENON("eval", "pipe.safetensors", "--data", DATA));
}

static int setup(void **state)
{
    int status = kit_setup(state);
    return status ? status : rename("digits", DATA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goes_on_exactly),  cmocka_unit_test(an_ignored_hangup_ends_nothing),
        cmocka_unit_test(without_save),     cmocka_unit_test(second_ends_at_once),
        cmocka_unit_test(reader_goes_away),
    };
    return cmocka_run_group_tests_name("cli/interrupt", tests, setup, kit_teardown);
}
