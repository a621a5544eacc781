/* tenon train and tenon eval: output, files, going on. */
#include "helpers.h"
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define TRAIN(...) TENON("train", "--data", "digits", __VA_ARGS__)

/* The number behind the n-th 'before' (from 0) in text. */
static double number_after(const char *text, const char *before, int n)
{
    for (; text && n >= 0; n--) {
        text = strstr(text, before);
        text = text ? text + strlen(before) : NULL;
    }
    assert_non_null(text);
    return strtod(text, NULL);
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (; (text = strstr(text, part)) != NULL; text += strlen(part))
        n++;
    return n;
}

static void lines_in_a_pipe(void **state)
{
    (void)state;
    run r = GOOD(TRAIN("--epochs", "3", "--batch", "50", "--seed", "7"));
    CONTAINS(
        r.out,
        "mlp (397510 parameters) on cpu: 600 training images, 200 test images, batch 50, AdamW lr 0.003, seed 7\n");
    assert_int_equal(count(r.out, "\n"), 5); /* what it is, three epochs, the end */
    for (const char *p = r.out; *p; p++)
        assert_true(*p == '\n' || (*p >= ' ' && *p <= '~'));
    char line[40];
    for (int e = 1; e <= 3; e++) {
        snprintf(line, sizeof line, "\nepoch %d/3: loss ", e);
        CONTAINS(r.out, line);
    }
    assert_int_equal(count(r.out, " % on test images, "), 3);
    assert_true(number_after(r.out, ": loss ", 0) > number_after(r.out, ": loss ", 2));
    CONTAINS(r.out, "\ntrained 3 epochs in ");
    CONTAINS_NOT(r.out, "saved");
}

static void learns_and_is_scored(void **state)
{
    (void)state;
    run r = GOOD(TRAIN("--epochs", "2", "--batch", "20", "--save", "m.safetensors"));
    double test = number_after(r.out, "in training, ", 1);
    assert_true(test >= 95);
    CONTAINS(r.out, "; saved to m.safetensors\n");
    r = GOOD(TENON("eval", "m.safetensors", "--data", "digits"));
    assert_true(number_after(r.out, "m.safetensors: ", 0) == test);
    CONTAINS(r.out, "of 200 test images right");
    /* one that has learned next to nothing: the figure follows the model */
    r = GOOD(TRAIN("--epochs", "1", "--lr", "1e-9", "--save", "raw.safetensors", "--model", "linear"));
    double raw = number_after(r.out, "in training, ", 0);
    assert_true(raw < 60);
    assert_true(number_after(GOOD(TENON("eval", "raw.safetensors", "--data", "digits")).out, "raw.safetensors: ", 0) ==
                raw);
}

static void gzip_is_the_same(void **state)
{
    (void)state;
    kit_digits("packed", true);
    GOOD(TRAIN("--epochs", "1", "--save", "plain.safetensors"));
    GOOD(TENON("train", "--data", "packed", "--epochs", "1", "--save", "gzip.safetensors"));
    assert_true(kit_same_file("plain.safetensors", "gzip.safetensors"));
}

static void seeds_and_threads(void **state)
{
    (void)state;
    GOOD(TRAIN("--epochs", "1", "--save", "a.safetensors", "--threads", "1"));
    GOOD(TRAIN("--epochs", "1", "--save", "b.safetensors", "--threads", "3"));
    assert_true(kit_same_file("a.safetensors", "b.safetensors"));
    GOOD(TRAIN("--epochs", "1", "--save", "b.safetensors", "--seed", "2"));
    assert_false(kit_same_file("a.safetensors", "b.safetensors"));
}

/* Files hold the recipe, which differs in 'epochs': tensors and places are what must agree. */
static void assert_same_tensors(const char *a, const char *b)
{
    tn_scope *s = tn_scope_open();
    tn_safetensors *fa = tn_safetensors_open(a), *fb = tn_safetensors_open(b);
    assert_true(fa && fb && tn_safetensors_count(fa) == 16 && tn_safetensors_count(fb) == 16);
    for (size_t i = 0; i < 16; i++) {
        const char *name = tn_safetensors_name(fa, i);
        assert_true(tn_equal(tn_safetensors_tensor(fa, name), tn_safetensors_tensor(fb, name)));
    }
    const char *keys[] = {"tenon.epochs", "tenon.loader_epoch", "tenon.loader_batch", "tenon.loader_seed"};
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(tn_safetensors_metadata(fa, keys[i]), tn_safetensors_metadata(fb, keys[i]));
    tn_safetensors_close(fa);
    tn_safetensors_close(fb);
    tn_scope_close(s);
}

/* Two epochs in one go are one and one more, bit for bit: with a learning rate that does not depend on the whole. */
static void resume_is_exact(void **state)
{
    (void)state;
    GOOD(TRAIN("--epochs", "2", "--constant-lr", "--batch", "32", "--save", "two.safetensors"));
    GOOD(TRAIN("--epochs", "1", "--constant-lr", "--batch", "32", "--save", "one.safetensors"));
    assert_false(kit_same_file("one.safetensors", "two.safetensors"));
    run r = GOOD(TRAIN("--resume", "one.safetensors", "--epochs", "2", "--save", "more.safetensors"));
    CONTAINS(r.out, "batch 32,");
    CONTAINS(r.out, "resumed from one.safetensors after 1 epoch, 19 steps\n");
    CONTAINS(r.out, "\nepoch 2/2: ");
    CONTAINS_NOT(r.out, "\nepoch 1/2: ");
    CONTAINS(r.out, "\ntrained 1 epoch in ");
    assert_same_tensors("two.safetensors", "more.safetensors");
    /* beside itself: the file that is resumed may be the one that is written */
    GOOD(TRAIN("--resume", "one.safetensors", "--epochs", "2", "--save", "one.safetensors"));
    assert_true(kit_same_file("one.safetensors", "more.safetensors"));
    ERROR_LINE(TRAIN("--resume", "one.safetensors"), 1, "was trained for 2 epochs already", "--epochs");
    ERROR_LINE(TRAIN("--resume", "one.safetensors", "--epochs", "3", "--model", "linear"), 1, "holds the network 'mlp'",
               "leave --model out");
}

/* Weights without a run's history, as other programs write them: the run begins anew from them, with its own seed. */
static void resume_from_bare_weights(void **state)
{
    (void)state;
    const char *names[] = {"0.weight", "0.bias"};
    tn_scope *s = tn_scope_open();
    tn_tensor *w = tn_zeros(TN_SHAPE(10, 784)), *b = tn_zeros(TN_SHAPE(10));
    OK(tn_save_safetensors("bare.safetensors", names, TN_TENSORS(w, b),
                           .metadata = TN_PAIRS({"tenon.model", "linear"})));
    OK(tn_save_safetensors("inf.safetensors", names, TN_TENSORS(w, b),
                           .metadata = TN_PAIRS({"tenon.model", "linear"}, {"tenon.recipe", "3 64 inf 0.01 0"})));
    tn_scope_close(s);
    run r = GOOD(TRAIN("--resume", "bare.safetensors", "--epochs", "1", "--seed", "7", "--save", "b7.safetensors"));
    CONTAINS(r.out, ", seed 7\n");
    CONTAINS(r.out, " after 0 epochs, 0 steps\n");
    GOOD(TRAIN("--resume", "bare.safetensors", "--epochs", "1", "--seed", "8", "--save", "b8.safetensors"));
    assert_false(kit_same_file("b7.safetensors", "b8.safetensors"));
    r = GOOD(TRAIN("--resume", "b7.safetensors", "--epochs", "2", "--seed", "8")); /* the file's own seed goes on */
    CONTAINS(r.out, ", seed 7\n");
    r = GOOD(TRAIN("--resume", "inf.safetensors", "--epochs", "1")); /* a recipe that no option allows */
    CONTAINS(r.out, "batch 128, AdamW lr 0.003,");
}

static void log_is_csv(void **state)
{
    (void)state;
    static const char header[] = "step,epoch,loss,lr,test_accuracy,seconds\n";
    GOOD(TRAIN("--epochs", "2", "--batch", "100", "--log", "run.csv", "--save", "l.safetensors", "--constant-lr"));
    char *csv = kit_read("run.csv", NULL);
    assert_ptr_equal(strstr(csv, header), csv);
    int steps = 0, epochs = 0;
    for (char *row = strchr(csv, '\n') + 1; *row; row = strchr(row, '\n') + 1) {
        int step, epoch, used = 0, commas = 0;
        double loss, lr, accuracy, seconds;
        for (const char *p = row; *p != '\n'; p++)
            commas += *p == ',';
        assert_int_equal(commas, 5);
        if (sscanf(row, "%d,%d,%lf,%lf,,%n", &step, &epoch, &loss, &lr, &used) == 4 && used && row[used] == '\n') {
            assert_true(step == ++steps && epoch == (step + 5) / 6 && loss > 0 && lr > 0.002999 && lr < 0.003001);
        } else {
            assert_int_equal(sscanf(row, "%d,%d,%lf,,%lf,%lf%n", &step, &epoch, &loss, &accuracy, &seconds, &used), 5);
            assert_true(row[used] == '\n' && epoch == ++epochs && step == 6 * epoch && accuracy <= 100 && seconds > 0);
        }
    }
    assert_true(steps == 12 && epochs == 2);
    free(csv);
    /* a run that goes on adds to the log; a log that begins with it has its header, too */
    GOOD(TRAIN("--resume", "l.safetensors", "--epochs", "3", "--log", "run.csv"));
    csv = kit_read("run.csv", NULL);
    assert_int_equal(count(csv, header), 1);
    assert_int_equal(count(csv, "\n"), 1 + 3 * 7);
    free(csv);
    GOOD(TRAIN("--resume", "l.safetensors", "--epochs", "3", "--log", "new.csv"));
    csv = kit_read("new.csv", NULL);
    assert_ptr_equal(strstr(csv, header), csv);
    assert_int_equal(count(csv, "\n"), 1 + 7);
    free(csv);
}

/* What a terminal of so many columns shows; the caller frees it. NULL if there are no terminals here. */
static char *on_a_terminal(int columns)
{
    struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns};
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) || unlockpt(master))
        return NULL;
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    if (slave < 0 || ioctl(slave, TIOCSWINSZ, &size) != 0)
        return NULL;
    setenv("TERM", "xterm", 1);
    pid_t pid = START((how){.out = slave}, "train", "--data", "digits", "--epochs", "1");
    close(slave);
    char *text = calloc(1, 1 << 20);
    size_t n = 0;
    for (ssize_t got; n < (1 << 20) - 4096 && (got = read(master, text + n, 4096)) > 0;)
        n += (size_t)got;
    GOOD(kit_wait(pid));
    close(master);
    return text;
}

static void bar_fits_the_terminal(void **state)
{
    (void)state;
    const int columns[] = {100, 80, 30};
    for (int i = 0; i < 3; i++) {
        char *text = on_a_terminal(columns[i]);
        if (!text)
            skip();
        int bars = 0;
        for (char *p = text; (p = strstr(p, "\repoch ")) != NULL; p++) {
            size_t n = strcspn(p + 1, "\r\n\033");
            if (p[1 + n] == '\033' && strstr(p, "left") && !memchr(p, ':', 14)) {
                assert_true((int)n < columns[i]);
                bars += columns[i] < 80 || strchr(p, '[') != NULL;
            }
        }
        assert_true(bars > 0);
        CONTAINS(text, "epoch 1/1: loss ");
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_in_a_pipe),          cmocka_unit_test(learns_and_is_scored),
        cmocka_unit_test(gzip_is_the_same),         cmocka_unit_test(seeds_and_threads),
        cmocka_unit_test(resume_is_exact),          cmocka_unit_test(log_is_csv),
        cmocka_unit_test(resume_from_bare_weights), cmocka_unit_test(bar_fits_the_terminal),
    };
    return cmocka_run_group_tests_name("cli/train", tests, kit_setup, kit_teardown);
}
