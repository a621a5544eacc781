/* The environment: what each kind of variable takes, what is said of the rest, and that there is one list and one door. */
#include "check.h"
#include "core/env.h"
#include "core/parallel.h"
#include "core/variables.h"
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* Every TENON_ and CUDA_ variable that the process was started with is gone; each test sets its own. */
static int clean(void **state)
{
    (void)state;
    tn_setting set[64];
    for (size_t n = tn_settings(set, TN_COUNT(set)); n-- > 0;)
        unsetenv(set[n].name);
    return tn_settings(NULL, 0) != 0;
}

/* What is said of one variable: "" for nothing. */
static const char *said_of(const char *name, const char *value)
{
    static tn_setting s;
    assert_int_equal(setenv(name, value, 1), 0);
    assert_int_equal(tn_settings(&s, 1), 1);
    assert_string_equal(s.name, name);
    assert_string_equal(s.value, value);
    tn_status status = tn_settings_check();
    assert_int_equal(status, *s.wrong ? TN_EVALUE : TN_OK);
    if (*s.wrong) {
        assert_non_null(strstr(tn_error_message(), s.wrong));
        assert_null(strchr(s.wrong, '\n'));
    }
    tn_error_clear();
    assert_int_equal(unsetenv(name), 0);
    return s.wrong;
}

static void good(const char *name, const char *value)
{
    assert_string_equal(said_of(name, value), "");
}

static void bad(const char *name, const char *value, const char *why)
{
    char how[80];
    const char *text = said_of(name, value);
    snprintf(how, sizeof how, "right is %s=", name);
    if (!strstr(text, why) || !strstr(text, how) || !strstr(text, "; as it is, ")) {
        print_error("%s=%s: '%s' does not contain '%s' and '%s'\n", name, value, text, why, how);
        fail();
    }
}

static void counts(void **state)
{
    (void)state;
    static const char *const wrong[] = {"abc", "0", "-3", "257", "99999999999999999999", "2x", "1.5", "2 threads"};
    good("TENON_NUM_THREADS", "1");
    good("TENON_NUM_THREADS", "256");
    good("TENON_NUM_THREADS", "");
    for (size_t i = 0; i < TN_COUNT(wrong); i++)
        bad("TENON_NUM_THREADS", wrong[i], "it is not a whole number from 1 to 256");
    setenv("TENON_NUM_THREADS", "257", 1);
    assert_int_equal(tn__env_number("TENON_NUM_THREADS", 7), 7); /* as not set: never the nearest that would do */
    setenv("TENON_NUM_THREADS", "4", 1);
    assert_int_equal(tn__env_number("TENON_NUM_THREADS", 7), 4);
    unsetenv("TENON_NUM_THREADS");
}

static void flags(void **state)
{
    (void)state;
    static const char *const yes[] = {"1", "yes", "on", "true", "TRUE"}, *const no[] = {"0", "no", "off", "False"};
    for (size_t i = 0; i < TN_COUNT(yes); i++) {
        good("TENON_NO_CACHE", yes[i]);
        setenv("TENON_GPU_SHUFFLE", yes[i], 1);
        assert_true(tn__env_flag("TENON_GPU_SHUFFLE", false));
        unsetenv("TENON_GPU_SHUFFLE");
    }
    for (size_t i = 0; i < TN_COUNT(no); i++) {
        good("TENON_NO_CACHE", no[i]);
        setenv("TENON_GPU_SHUFFLE", no[i], 1);
        assert_false(tn__env_flag("TENON_GPU_SHUFFLE", true));
        unsetenv("TENON_GPU_SHUFFLE");
    }
    bad("TENON_GPU_SHUFFLE", "maybe", "it is neither 1 (yes, on, true) nor 0 (no, off, false)");
    setenv("TENON_GPU_SHUFFLE", "maybe", 1);
    assert_true(tn__env_flag("TENON_GPU_SHUFFLE", true));
    assert_false(tn__env_flag("TENON_GPU_SHUFFLE", false));
    unsetenv("TENON_GPU_SHUFFLE");
    assert_true(tn__env_flag("TENON_GPU_SHUFFLE", true));
}

/* The same texts wherever there is a size: GB is neither taken for GiB nor for a thousand million. */
static void sizes(void **state)
{
    (void)state;
    static const char *const right[] = {"1073741824", "1024B", "64KiB", "64K", "512MiB", "512mib", "2G", "2GiB"};
    static const char *const wrong[] = {"lots", "1GB", "1gb", "512MB", "64kB",          "1.5GiB",
                                        "-1",   "+1",  " 1",  "1 GiB", "99999999999GiB"};
    static const char *const names[] = {"TENON_CUDA_MEMORY_LIMIT", "TENON_CPU_CACHE_LIMIT"};
    char gpus[64];
    for (size_t k = 0; k < TN_COUNT(names); k++) {
        for (size_t i = 0; i < TN_COUNT(right); i++)
            good(names[k], right[i]);
        for (size_t i = 0; i < TN_COUNT(wrong); i++)
            bad(names[k], wrong[i], "it is not a size: a number of bytes, or one with KiB, MiB or GiB");
    }
    for (size_t i = 0; i < TN_COUNT(wrong); i++) {
        snprintf(gpus, sizeof gpus, "2x%s", wrong[i]);
        bad("TENON_FAKE_GPUS", gpus, "it is neither COUNT nor COUNTxSIZE");
    }
    good("TENON_FAKE_GPUS", "2x1073741824");
    good("TENON_FAKE_GPUS", "2x2G");
    setenv("TENON_CPU_CACHE_LIMIT", "1GB", 1);
    assert_int_equal(tn__env_bytes("TENON_CPU_CACHE_LIMIT", 5), 5);
    unsetenv("TENON_CPU_CACHE_LIMIT");
}

static void choices(void **state)
{
    (void)state;
    good("TENON_CPU", "baseline");
    good("TENON_CPU", "avx512");
    bad("TENON_CPU", "avx9", "it is none of baseline, avx2, avx512");
    bad("TENON_CPU", "avx", "it is none of");
    bad("TENON_CPU", "baseline, avx2", "it is none of");
}

static void lists_of_gpus(void **state)
{
    (void)state;
    static const char *const wrong[] = {"a,b", "0,", ",0", "0;1", "-1", "1.5", "0,,1", "99999999999"};
    good("TENON_VISIBLE_DEVICES", "0");
    good("TENON_VISIBLE_DEVICES", "0, 1,0");
    for (size_t i = 0; i < TN_COUNT(wrong); i++)
        bad("TENON_VISIBLE_DEVICES", wrong[i], "it is no list of numbers");
}

static void files_and_folders(void **state)
{
    (void)state;
    char folder[] = "/tmp/tenon-settings-XXXXXX", file[64], inside[96];
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/text", folder);
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    fputs("no library, no program\n", f);
    fclose(f);
    good("TENON_BLAS", "off");
    good("TENON_BLAS", "libopenblas.so.0"); /* the loader's to find */
    bad("TENON_BLAS", file, "it is no shared library; as it is, own products are used");
    bad("TENON_BLAS", folder, "it is no file");
    bad("TENON_BLAS", "/nowhere/lib.so", "there is no such file");
    bad("TENON_FAKEGPU_LIBRARY", file, "it is no shared library");
    good("TENON_CACHE_DIR", "off");
    good("TENON_CACHE_DIR", folder);
    snprintf(inside, sizeof inside, "%s/new/folder", folder);
    good("TENON_CACHE_DIR", inside); /* it is made */
    bad("TENON_CACHE_DIR", file, "it is no folder");
    snprintf(inside, sizeof inside, "%s/new", file);
    bad("TENON_CACHE_DIR", inside, "it lies in what is no folder");
    snprintf(inside, sizeof inside, "/nowhere:%s", folder);
    good("TENON_CUDA_PATH", inside);
    bad("TENON_CUDA_PATH", "/nowhere:/nowhere/else", "it names no folder that is there");
    good("TENON_FAKE_CC", "sh");
    bad("TENON_FAKE_CC", "no-such-compiler", "there is no such program in PATH");
    bad("TENON_FAKE_CC", file, "it is no program");
    unlink(file);
    rmdir(folder);
}

static void names_that_nothing_reads(void **state)
{
    (void)state;
    static const struct {
        const char *name, *said;
    } cases[] = {{"TENON_NUM_THREAD", "nothing reads it; did you mean TENON_NUM_THREADS?"},
                 {"TENON_THREADS", "nothing reads it; did you mean TENON_NUM_THREADS?"},
                 {"TENON_FAKE_GPU", "nothing reads it; did you mean TENON_FAKE_GPUS?"},
                 {"TENON_CACHE", "nothing reads it; did you mean TENON_CACHE_DIR?"},
                 {"TENON_CUDA_MEMORY", "nothing reads it; did you mean TENON_CUDA_MEMORY_LIMIT?"},
                 {"TENON_FROBNICATE", "nothing reads it; unset it"},
                 {"TENON_", "nothing reads it; unset it"}};
    for (size_t i = 0; i < TN_COUNT(cases); i++)
        assert_string_equal(said_of(cases[i].name, "1"), cases[i].said);
    good("CUDA_SOMETHING_OF_NVIDIA", "1"); /* not Tenon's to judge */
    setenv("TENON_FROBNICATE", "1", 1);
    assert_null(tn__env_text("TENON_FROBNICATE"));
    assert_null(tn_setting_value("TENON_FROBNICATE"));
    unsetenv("TENON_FROBNICATE");
    assert_null(tn_setting_value(NULL));
}

static void all_at_once(void **state)
{
    (void)state;
    tn_setting s[8];
    setenv("TENON_NUM_THREADS", "a\nb\033[31m", 1);
    setenv("TENON_BLAS", "off", 1);
    setenv("TENON_CPU", "avx9", 1);
    memset(s, 0x55, sizeof s);
    assert_int_equal(tn_settings(s, 2), 3); /* how many there are; two are written */
    assert_int_equal(s[2].name[0], 0x55);
    assert_int_equal(tn_settings(s, TN_COUNT(s)), 3);
    assert_string_equal(s[0].name, "TENON_BLAS"); /* sorted */
    assert_string_equal(s[0].wrong, "");
    assert_non_null(strstr(s[0].meaning, "BLAS"));
    assert_string_equal(s[2].name, "TENON_NUM_THREADS");
    assert_string_equal(s[2].value, "a?b?[31m"); /* what would break a line or steer a terminal */
    FAILS_STATUS(tn_settings_check(), TN_EVALUE, "\n  TENON_CPU=avx9: it is none of");
    FAILS_STATUS(tn_settings_check(), TN_EVALUE, "\n  TENON_NUM_THREADS=a?b?[31m: it is not a whole number");
    assert_false(tn_settings_guarded()); /* suite package has a process where it is true */
    clean(NULL);
    assert_int_equal(tn_settings_check(), TN_OK);
}

static const char *shown(const char *value)
{
    static tn_setting s;
    setenv("TENON_CPU", value, 1);
    assert_int_equal(tn_settings(&s, 1), 1);
    unsetenv("TENON_CPU");
    return s.value;
}

/* 0x9b begins what steers a terminal as ESC [ does: alone, or as U+009B in UTF-8. Letters stay, whole ones at the end as well. */
static void controls_of_eight_bits(void **state)
{
    (void)state;
    char many[300];
    assert_string_equal(shown("a\x9b"
                              "31mb"),
                        "a?31mb");
    assert_string_equal(shown("a\xc2\x9b"
                              "31m\xc2\x80\xc2\x9f"),
                        "a?31m??");
    assert_string_equal(shown("\xc2\xa0\xc3\x9b\xe2\x82\x9b\xf0\x9f\x9a\x80"),
                        "\xc2\xa0\xc3\x9b\xe2\x82\x9b\xf0\x9f\x9a\x80");
    assert_string_equal(shown("\xe0\x82\x9b\xc1\x9b\xfc"), "\xe0??\xc1?\xfc"); /* no UTF-8 */
    memset(many, 'x', sizeof many);
    memcpy(many + 254, "\xc3\x9b", 3);
    assert_int_equal(strlen(shown(many)), 254);
    setenv("TENON_CP\x9b", "1", 1);
    FAILS_STATUS(tn_settings_check(), TN_EVALUE, "\n  TENON_CP?=1: nothing reads it");
    unsetenv("TENON_CP\x9b");
}

/* As many as there are, sorted by name; a message of very many is cut between lines, and says so. */
static void very_many(void **state)
{
    (void)state;
    enum { MANY = 1000 };
    static tn_setting s[MANY];
    char name[32], last[64];
    setenv("TENON_X", "1", 1);
    setenv("TENON_X1", "1", 1); /* '1' is less than '=' */
    setenv("TENON_X!", "1", 1);
    assert_int_equal(tn_settings(s, MANY), 3);
    assert_string_equal(s[0].name, "TENON_X");
    assert_string_equal(s[1].name, "TENON_X!");
    assert_string_equal(s[2].name, "TENON_X1");
    for (int i = 3; i < MANY; i++) {
        snprintf(name, sizeof name, "TENON_Z%03d", i);
        setenv(name, "1", 1);
    }
    assert_int_equal(tn_settings(NULL, 0), MANY);
    assert_int_equal(tn_settings(s, MANY), MANY);
    for (int i = 1; i < MANY; i++)
        assert_true(strcmp(s[i - 1].name, s[i].name) < 0);
    assert_int_equal((tn_settings_check)(), TN_EVALUE);
    int lines = 0;
    const char *p = tn_error_message();
    for (const char *q; (q = strchr(p, '\n')) != NULL; lines++)
        p = q + 1;
    snprintf(last, sizeof last, "  ... and %d more", MANY - (lines - 1));
    assert_string_equal(p, last);
    assert_true(lines > 50);
    tn_error_clear();
    for (int i = 0; i < MANY; i++)
        unsetenv(s[i].name);
    assert_int_equal(tn_settings(NULL, 0), 0);
}

/* What a reader alone can find is told as well, and of its own variable. */
static void what_readers_find(void **state)
{
    (void)state;
    good("TENON_BLAS", "libm.so.6");
    tn__variable_refuse("TENON_BLAS", "it is not set: there is nothing to say of it");
    good("TENON_BLAS", "libm.so.6");
    setenv("TENON_BLAS", "libm.so.6", 1);
    tn__variable_refuse("TENON_BLAS", "it is not a %s", "BLAS");
    bad("TENON_BLAS", "libm.so.6", "it is not a BLAS; as it is, own products are used");
    good("TENON_BLAS", "libopenblas.so.0");
    good("TENON_NUM_THREADS", "2");
}

/* The example that each row gives is right by the row's own rule, and every row says what it means. */
static void rows_are_whole(void **state)
{
    (void)state;
    static const char *const names[] = {
#define VARIABLE(name_, ...) #name_,
#include "core/variables.def"
#undef VARIABLE
    };
    char fault[400];
    for (size_t i = 0; i < TN_COUNT(names); i++) {
        const tn__variable *v = tn__variable_named(names[i]);
        assert_string_equal(v->name, names[i]); /* each name once */
        assert_true(v->meaning && *v->meaning && v->readers && strlen(v->name) < 64);
        assert_true(v->kind == TN__VAR_TEXT || (v->example && v->otherwise));
        if (v->example && v->kind != TN__VAR_LIBRARY && v->kind != TN__VAR_FOLDERS && v->kind != TN__VAR_PROGRAM)
            assert_true(tn__variable_judge(v, v->example, fault, sizeof fault));
    }
}

static void numbers_of_threads(void **state)
{
    (void)state;
    int32_t was = tn_get_num_threads();
    FAILS_STATUS(tn_set_num_threads(0), TN_EINVAL, "set_num_threads expects a positive integer");
    FAILS_STATUS(tn_set_num_threads(INT32_MIN), TN_EINVAL, "positive");
    FAILS_STATUS(tn_set_num_threads(257), TN_EINVAL, "set_num_threads expects at most 256 threads, got 257");
    FAILS_STATUS(tn_set_num_threads(INT32_MAX), TN_EINVAL, "got 2147483647");
    assert_int_equal(tn_get_num_threads(), was);
    OK(tn_set_num_threads(256));
    assert_int_equal(tn_get_num_threads(), 256);
    OK(tn_set_num_threads(was));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),
        cmocka_unit_test(flags),
        cmocka_unit_test(sizes),
        cmocka_unit_test(choices),
        cmocka_unit_test(lists_of_gpus),
        cmocka_unit_test(files_and_folders),
        cmocka_unit_test(names_that_nothing_reads),
        cmocka_unit_test(all_at_once),
        cmocka_unit_test(controls_of_eight_bits),
        cmocka_unit_test(very_many),
        cmocka_unit_test(rows_are_whole),
        cmocka_unit_test(numbers_of_threads),
        cmocka_unit_test(what_readers_find),
    };
    return cmocka_run_group_tests_name("unit/settings", tests, clean, NULL);
}
