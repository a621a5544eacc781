/* Text that grows. */
#include "fakegpu/compiler.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(fake_text *t, size_t more)
{
    if (t->failed)
        return false;
    if (more < t->cap - t->n)
        return true;
    size_t cap = t->cap ? t->cap : 1024;
    while (cap <= t->n + more)
        cap *= 2;
    char *s = realloc(t->s, cap);
    if (!s) {
        t->failed = true;
        return false;
    }
    t->s = s;
    t->cap = cap;
    return true;
}

void fake_text_add(fake_text *t, const char *s, size_t n)
{
    if (!reserve(t, n))
        return;
    memcpy(t->s + t->n, s, n);
    t->n += n;
    t->s[t->n] = 0;
}

void fake_text_puts(fake_text *t, const char *s)
{
    fake_text_add(t, s, strlen(s));
}

void fake_text_printf(fake_text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0 || !reserve(t, (size_t)n))
        return;
    va_start(args, format);
    vsnprintf(t->s + t->n, (size_t)n + 1, format, args);
    va_end(args);
    t->n += (size_t)n;
}

void fake_text_free(fake_text *t)
{
    free(t->s);
    *t = (fake_text){0};
}

bool fake_text_read(fake_text *t, const char *path)
{
    char chunk[16384];
    FILE *f = fopen(path, "rbe");
    if (!f)
        return false;
    size_t n;
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0)
        fake_text_add(t, chunk, n);
    const bool ok = !ferror(f) && !t->failed;
    fclose(f);
    return ok;
}
