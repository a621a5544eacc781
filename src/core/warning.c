/* The door for warnings. */
#include "core/warning.h"
#include <stdarg.h>
#include <stdio.h>
#include <tenon/error.h>

static void print(const char *message)
{
    fprintf(stderr, "tenon: %s\n", message);
}

static _Atomic(tn_warning_handler) handler = print;

tn_warning_handler tn_set_warning_handler(tn_warning_handler h)
{
    return atomic_exchange(&handler, h);
}

void tn__warn_once(_Atomic bool *said, const char *format, ...)
{
    char text[2048];
    const tn_warning_handler h = atomic_load(&handler);
    if (atomic_exchange(said, true) || !h)
        return;
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    h(text);
}
