/* Settings in the environment that are wrong: what the commands say of them on stderr, what doctor says. */
#include "helpers.h"
#include <unistd.h>

static const struct {
    const char *name, *value, *what, *how;
} wrong[] = {
    {"TENON_FAKE_GPUS", "2x1GB", "neither COUNT nor COUNTxSIZE", "TENON_FAKE_GPUS=2x4GiB"},
    {"TENON_NUM_THREADS", "abc", "not a whole number from 1 to 256", "TENON_NUM_THREADS=4"},
    {"TENON_BLAS", "/etc/passwd", "no shared library", "TENON_BLAS=off"},
    {"TENON_CPU", "avx9", "none of baseline, avx2, avx512", "TENON_CPU=avx2"},
    {"TENON_CACHE_DIR", "/etc/passwd", "no folder", "TENON_CACHE_DIR=off"},
    {"TENON_CUDA_MEMORY_LIMIT", "lots", "not a size", "TENON_CUDA_MEMORY_LIMIT=2GiB"},
    {"TENON_GPU_SHUFFLE", "maybe", "neither 1 (yes, on, true) nor 0", "TENON_GPU_SHUFFLE=0"},
    {"TENON_VISIBLE_DEVICES", "a,b", "no list of numbers", "TENON_VISIBLE_DEVICES=0"},
    {"TENON_CPU_CACHE_LIMIT", "1GB", "not a size", "TENON_CPU_CACHE_LIMIT=512MiB"},
    {"TENON_NUM_THREAD", "2", "nothing reads it", "did you mean TENON_NUM_THREADS?"},
};
enum { WRONG = sizeof wrong / sizeof *wrong };
static char *blas;

static int before(void **state)
{
    blas = getenv("TENON_BLAS") ? strdup(getenv("TENON_BLAS")) : NULL;
    return kit_setup(state);
}

static int after(void **state)
{
    for (int i = 0; i < WRONG; i++)
        unsetenv(wrong[i].name);
    if (blas)
        setenv("TENON_BLAS", blas, 1);
    return kit_teardown(state);
}

static void set_all(void)
{
    kit_gpus(NULL);
    unsetenv("CUDA_VISIBLE_DEVICES");
    for (int i = 0; i < WRONG; i++)
        assert_int_equal(setenv(wrong[i].name, wrong[i].value, 1), 0);
}

/* The line of a text that begins so, as a text of its own; NULL if there is none. */
static char *line_of(const char *text, const char *beginning)
{
    static char line[1200];
    for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n')
        if (!strncmp(p, beginning, strlen(beginning))) {
            snprintf(line, sizeof line, "%.*s", (int)strcspn(p, "\n"), p);
            return line;
        }
    return NULL;
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (const char *p = text; (p = strstr(p, part)) != NULL; p++)
        n++;
    return n;
}

/* Each in one line: what is wrong, and how to set it right. */
static void doctor_has_a_line_for_each(void **state)
{
    (void)state;
    char beginning[128];
    set_all();
    run r = TENON("doctor");
    assert_string_equal(r.err, "");
    assert_int_equal(count(r.out, "\n[--] set "), WRONG);
    for (int i = 0; i < WRONG; i++) {
        snprintf(beginning, sizeof beginning, "[--] set        %s=%s: ", wrong[i].name, wrong[i].value);
        const char *line = line_of(r.out, beginning);
        assert_non_null(line);
        CONTAINS(line, wrong[i].what);
        CONTAINS(line, wrong[i].how);
    }
}

/* The others say it once, on stderr, and do their work with what holds instead. */
static void commands_warn_once(void **state)
{
    (void)state;
    char beginning[128];
    set_all();
    run r = TENON("devices");
    assert_int_equal(r.status, 0);
    assert_int_equal(count(r.err, "\n"), WRONG);
    for (int i = 0; i < WRONG; i++) {
        snprintf(beginning, sizeof beginning, "tenon: warning: %s=%s: ", wrong[i].name, wrong[i].value);
        const char *line = line_of(r.err, beginning);
        assert_non_null(line);
        CONTAINS(line, wrong[i].what);
        CONTAINS(line, wrong[i].how);
    }
    CONTAINS(r.out, "no GPU: ");
    CONTAINS(r.out, "TENON_FAKE_GPUS='2x1GB' is not understood");
    GOOD(TENON("--version"));
    GOOD(TENON("--help"));
}

static void what_is_right_is_quiet(void **state)
{
    (void)state;
    for (int i = 0; i < WRONG; i++)
        unsetenv(wrong[i].name);
    kit_gpus("2x256MiB");
    setenv("TENON_NUM_THREADS", "2", 1);
    setenv("TENON_CPU", "baseline", 1);
    setenv("TENON_VISIBLE_DEVICES", "0,0", 1);
    CONTAINS(GOOD(TENON("devices")).out, "cuda:1");
    run r = GOOD(TENON("doctor"));
    assert_int_equal(count(r.out, "[--] set "), 0);
    CONTAINS(r.out, "[ok] set        TENON_NUM_THREADS=2\n");
    unsetenv("TENON_CPU");
    kit_gpus(NULL);
}

/* What the look at a value does not tell, those who read it tell doctor. */
static void what_readers_find(void **state)
{
    (void)state;
    setenv("TENON_BLAS", "libm.so.6", 1);
    CONTAINS(TENON("doctor").out, "[--] set        TENON_BLAS=libm.so.6: it is not a BLAS; as it is, own products");
    setenv("TENON_BLAS", "off", 1);
    kit_gpus("2x256MiB");
    setenv("TENON_VISIBLE_DEVICES", "0,5", 1);
    CONTAINS(TENON("doctor").out, "[--] set        TENON_VISIBLE_DEVICES=0,5: it names what is none of the driver's "
                                  "devices, of which there are 2; ");
    kit_gpus("2x256MiB");
    setenv("TENON_FAKE_GPU_FAULTS", "oops@1", 1);
    CONTAINS(TENON("doctor").out,
             "[--] set        TENON_FAKE_GPU_FAULTS=oops@1: it is not understood at 'oops@1'; as it is, there");
    unsetenv("TENON_FAKE_GPU_FAULTS");
    kit_gpus(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doctor_has_a_line_for_each),
        cmocka_unit_test(commands_warn_once),
        cmocka_unit_test(what_is_right_is_quiet),
        cmocka_unit_test(what_readers_find),
    };
    return cmocka_run_group_tests_name("cli/settings", tests, before, after);
}
