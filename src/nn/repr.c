/* Modules as text, as PyTorch's Module.__repr__ writes them. */
#include "nn/module.h"
#include "core/alloc.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

tn__float_text tn__float_str(double v)
{
    tn__float_text t;
    int digits = 1;
    char *e;
    if (!isfinite(v)) {
        snprintf(t.s, sizeof t.s, "%s", isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
        return t;
    }
    do /* the fewest digits that read back as v */
        snprintf(t.s, sizeof t.s, "%.*e", digits - 1, v);
    while (strtod(t.s, NULL) != v && digits++ < 17);
    e = strchr(t.s, 'e');
    long exponent = e ? strtol(e + 1, NULL, 10) : 0;
    if (exponent >= -4 && exponent < 16)
        snprintf(t.s, sizeof t.s, "%.*f", (int)TN_MAX(digits - 1 - exponent, 1), v);
    return t;
}

/* Text on its way into a buffer that may be too short, or NULL. */
typedef struct writer {
    char *out;
    size_t room;
    int64_t length; /* of the whole text */
} writer;

static void put(writer *w, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++, w->length++)
        if ((size_t)w->length + 1 < w->room)
            w->out[w->length] = text[i];
}

static void put_text(writer *w, const char *text)
{
    put(w, text, strlen(text));
}

static void new_line(writer *w, int32_t indent)
{
    put_text(w, "\n");
    for (int32_t i = 0; i < indent; i++)
        put_text(w, "  ");
}

/* The class's own line or lines. 'few' is used where they fit; otherwise *bytes of memory, to be put back. NULL: none is
 * left. */
static char *describe(const tn_module *m, char *few, size_t room, size_t *bytes)
{
    tn__thread *t = tn__self();
    const char *site = t->site;
    tn_scope scope;
    char *text = few;
    *bytes = 0;
    few[0] = '\0';
    if (!m->cls.describe)
        return few;
    tn__barrier_push(t, &scope);
    int64_t n = m->cls.describe(m, few, room);
    if (n >= (int64_t)room) {
        *bytes = (size_t)n + 1;
        text = tn__block_zero(*bytes);
        if (text)
            m->cls.describe(m, text, *bytes);
    }
    tn__barrier_pop(t, &scope, NULL);
    t->site = site;
    return text;
}

/* Opens a module's brackets and writes its own lines. False, with an error set, when memory is out. */
static bool begin(writer *w, const tn_module *m, int32_t indent)
{
    char few[256];
    size_t bytes;
    char *text = describe(m, few, sizeof few, &bytes);
    if (!text) {
        tn__error_memory("a module's description", bytes);
        return false;
    }
    bool inline_text = !m->slots[TN__CHILDREN].n && !strchr(text, '\n');
    put_text(w, m->cls.name);
    put_text(w, "(");
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\n");
        if (!inline_text)
            new_line(w, indent + 1);
        put(w, p, n);
        p += n + (p[n] == '\n');
    }
    if (!inline_text && *text && !m->slots[TN__CHILDREN].n)
        new_line(w, indent);
    if (text != few)
        tn__block_put(text, bytes);
    return true;
}

/* Recursion is as deep as modules nest: TN__NESTING at most. */
static bool write_module(writer *w, const tn_module *m, int32_t indent)
{
    const tn__slots *children = &m->slots[TN__CHILDREN];
    if (!begin(w, m, indent))
        return false;
    for (int64_t i = 0; i < children->n; i++) {
        new_line(w, indent + 1);
        put_text(w, "(");
        put_text(w, children->at[i].name);
        put_text(w, "): ");
        if (!write_module(w, tn__slot_child(m, i), indent + 1))
            return false;
    }
    if (children->n)
        new_line(w, indent);
    put_text(w, ")");
    return true;
}

int64_t tn_module_to_string(const tn_module *m, char *out, size_t n)
{
    writer w = {out, n, 0};
    if (!m) {
        tn__enter(TN__NOWHERE);
        tn__poisoned("tn_module_to_string");
        return -1;
    }
    if (n)
        out[0] = '\0';
    if (!write_module(&w, m, 0))
        return -1;
    if (n)
        out[TN_MIN((size_t)w.length, n - 1)] = '\0';
    return w.length;
}

void tn_module_print(const tn_module *m)
{
    char few[1024], *text = few;
    int64_t n = tn_module_to_string(m, few, sizeof few);
    if (n < 0) {
        fprintf(stderr, "%s\n", tn_error_message());
        return;
    }
    if (n >= (int64_t)sizeof few && (text = tn__block_get((size_t)n + 1)))
        tn_module_to_string(m, text, (size_t)n + 1);
    fprintf(stdout, "%s\n", text ? text : few); /* without memory for all of it, as much as there is room for */
    if (text && text != few)
        tn__block_put(text, (size_t)n + 1);
}
