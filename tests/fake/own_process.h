/* tests/fake/own_process.h: tests that need an environment of their own. Variables are read once in a process, so each test runs
 * in a fresh one: the program starts itself with the test's name.
 *
 * Where TENON_FAKE_GPUS is set to nothing, those tests that need no fake GPUs run on real ones. */
#ifndef TENON_TESTS_FAKE_OWN_PROCESS_H
#define TENON_TESTS_FAKE_OWN_PROCESS_H

#include "check.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct alone {
    const char *name;
    void (*body)(void **state);
    bool anywhere;              /* also on real GPUs */
    const char *environment[6]; /* "NAME=value" */
} alone;
#define ALONE(body, ...) \
    { \
#body, body, false, \
        { \
            __VA_ARGS__ \
        } \
    }
#define ANYWHERE(body, ...) \
    { \
#body, body, true, \
        { \
            __VA_ARGS__ \
        } \
    }

static inline bool alone_with_real_gpus(void)
{
    const char *fake = getenv("TENON_FAKE_GPUS");
    return fake && !*fake;
}

/* TENON_TEST_LOGICAL: a test that asks for n fake GPUs gets one, which is n devices (TENON_VISIBLE_DEVICES=0,0) and has the
 * memory of n; or one real GPU. */
static inline void alone_logical(const char *variable)
{
    static char gpus[64], list[256];
    int n = 0, size = 0, at = 0;
    char unit[8] = "";
    if (sscanf(variable, "TENON_FAKE_GPUS=%dx%d%7s", &n, &size, unit) < 1 || n < 2 || n > 64)
        return;
    if (size)
        snprintf(gpus, sizeof gpus, "TENON_FAKE_GPUS=1x%d%s", n * size, unit);
    else
        snprintf(gpus, sizeof gpus, "TENON_FAKE_GPUS=1");
    for (int i = 0; i < n; i++)
        at += snprintf(list + at, sizeof list - (size_t)at, "%s", i ? ",0" : "TENON_VISIBLE_DEVICES=0");
    if (!alone_with_real_gpus())
        putenv(gpus);
    putenv(list);
}

/* Such a GPU has no links: tests of these are left out. */
static inline bool alone_needs_links(const alone *t)
{
    for (const char *const *e = t->environment; *e; e++)
        if (!strncmp(*e, "TENON_FAKE_GPU_FAULTS=", 22) && strstr(*e, "peer="))
            return true;
    return false;
}

/* What a test does that this machine cannot run: its process says so, and it counts as skipped, not as passed. */
enum { ALONE_SKIPPED = 77 };
#define ALONE_SKIP(why) \
    do { \
        printf("skipped: %s: %s\n", __func__, why); \
        fflush(NULL); \
        _exit(ALONE_SKIPPED); \
    } while (0)

/* The named test in a fresh process, with more variables (a list that ends with NULL), or none (NULL). It must pass. */
static inline void alone_run(const char *name, const char *const *environment)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        for (const char *const *e = environment; e && *e; e++) {
            if (!alone_with_real_gpus() || strncmp(*e, "TENON_FAKE_", 11) != 0)
                putenv((char *)(uintptr_t)*e);
            if (getenv("TENON_TEST_LOGICAL"))
                alone_logical(*e);
        }
        execl("/proc/self/exe", "alone", name, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == ALONE_SKIPPED)
        skip();
    assert_int_equal(status, 0);
}

static inline void alone_start(void **state)
{
    const alone *t = *state;
    alone_run(t->name, t->environment);
}

/* main()'s body: without arguments all tests, each in a process; with a name that one, here. */
static inline int alone_main(const alone *tests, int n, int argc, char **argv)
{
    struct CMUnitTest t[256];
    int count = 0;
    if (n > (int)(sizeof t / sizeof *t)) {
        fprintf(stderr, "%d tests: alone_main has room for %d\n", n, (int)(sizeof t / sizeof *t));
        return 2;
    }
    for (int i = 0; i < n; i++)
        if (argc < 2 && alone_with_real_gpus() && !tests[i].anywhere)
            continue;
        else if (argc < 2 && getenv("TENON_TEST_LOGICAL") && alone_needs_links(&tests[i]))
            continue;
        else if (argc < 2)
            t[count++] = (struct CMUnitTest){tests[i].name, alone_start, NULL, NULL, (void *)(uintptr_t)&tests[i]};
        else if (!strcmp(argv[1], tests[i].name))
            t[count++] = (struct CMUnitTest){tests[i].name, tests[i].body, NULL, NULL, NULL};
    if (!count)
        return 2;
    return _cmocka_run_group_tests("alone", t, (size_t)count, NULL, NULL);
}

#endif
