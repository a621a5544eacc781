/* tests/check.h: what the tests share. Failures name the expression, and what the library said. */
#ifndef TENON_TESTS_CHECK_H
#define TENON_TESTS_CHECK_H

#undef TN_HERE /* tests are users: their calls are noted */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#define TN_HERE __FILE__ ":" TN__STR(__LINE__)
#include <tenon/tenon.h>

/* A call that must succeed. */
#define OK(call) check_ok_((call) == TN_OK, #call, __FILE__, __LINE__)
/* A result that must be there; gives it back. */
#define MADE(x) check_made_((x), #x, __FILE__, __LINE__)
/* A call that must fail with that code, and a message that contains the text; clears the error. */
#define FAILS(x, code, text)        check_fails_((x) == NULL, code, text, #x, __FILE__, __LINE__)
#define FAILS_STATUS(x, code, text) check_fails_((x) != TN_OK, code, text, #x, __FILE__, __LINE__)

/* The tensor prints as text. */
#define PRINTS(t, text) check_prints_((t), text, __FILE__, __LINE__)

static inline void check_ok_(int ok, const char *what, const char *file, int line)
{
    if (!ok) {
        print_error("%s failed: %s\n", what, tn_error_message());
        _fail(file, line);
    }
}

static inline tn_tensor *check_made_(tn_tensor *t, const char *what, const char *file, int line)
{
    check_ok_(t != NULL, what, file, line);
    return t;
}

static inline void check_fails_(int failed, tn_status code, const char *text, const char *what, const char *file,
                                int line)
{
    if (!failed || tn_error_code() != code || !strstr(tn_error_message(), text)) {
        print_error("%s: expected %s with '%s', got %s '%s'\n", what, tn_status_name(code), text,
                    failed ? tn_status_name(tn_error_code()) : "success", tn_error_message());
        _fail(file, line);
    }
    tn_error_clear();
}

static inline void check_prints_(const tn_tensor *t, const char *text, const char *file, int line)
{
    char got[4096];
    int64_t n = tn_to_string(t, got, sizeof got);
    if (n < 0 || strcmp(got, text) != 0) {
        print_error("expected:\n%s\ngot:\n%s\n", text, n < 0 ? tn_error_message() : got);
        _fail(file, line);
    }
}

#endif
