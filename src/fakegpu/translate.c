/* From the dialect to C. After preprocessing, a kernel reads
 *
 *     __tn_kernel add(const float *a, float *o, i64 n) { ... __tn_local(float, sums, 256); ... }
 *
 * It becomes a function that is always inlined into its thunk; the thunk takes the arguments out of void **, and runs a row
 * of work items (one, if there is a barrier). Arrays of local memory become pointers into the group's memory. Every
 * replacement stays on its line, so that the compiler's messages name lines of the unit. */
#include "fakegpu/compiler.h"
#include "fakegpu/fake.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LOCALS = 32, MAX_NAME = sizeof((fake_kernel *)0)->name };

/* A stretch of the text. */
typedef struct span {
    const char *at;
    size_t n;
} span;

typedef struct parameter {
    span type, name;
    bool pointer, constant;
} parameter;

typedef struct kernel {
    span name, signature, body; /* signature: with its brackets; body: with its braces */
    span items;                 /* of a group, at most: an expression; 0 where the kernel does not say it */
    parameter parameter[FAKE_MAX_ARGS];
    span local[MAX_LOCALS][3]; /* type, name, number */
    int n_parameters, n_locals;
    bool barrier;
} kernel;

typedef struct translator {
    fake_text *out, *log;
    fake_text tables, rows; /* thunks and tables; the rows of tn_fake_kernels */
} translator;

/* ---- reading ---- */

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* A string or character constant: where it ends. */
static const char *skip_quoted(const char *p)
{
    const char quote = *p++;
    while (*p && *p != quote && *p != '\n')
        p += p[0] == '\\' && p[1] ? 2 : 1;
    return *p == quote ? p + 1 : p;
}

/* A line marker (# 12 "file"), if p begins one. */
static const char *skip_marker(const char *text, const char *p)
{
    const char *begin = p;
    while (begin > text && (begin[-1] == ' ' || begin[-1] == '\t'))
        begin--;
    if (*p != '#' || (begin > text && begin[-1] != '\n'))
        return p;
    return p + strcspn(p, "\n");
}

static const char *skip_blank(const char *text, const char *p)
{
    for (;;) {
        const char *q = skip_marker(text, p + strspn(p, " \t\r\n\v\f"));
        if (q == p)
            return p;
        p = q;
    }
}

static const char *skip_name(const char *p)
{
    while (is_name(*p))
        p++;
    return p;
}

static bool span_is(span s, const char *word)
{
    return strlen(word) == s.n && !memcmp(s.at, word, s.n);
}

static span trimmed(const char *from, const char *to)
{
    while (from < to && isspace((unsigned char)*from))
        from++;
    while (to > from && isspace((unsigned char)to[-1]))
        to--;
    return (span){from, (size_t)(to - from)};
}

/* p stands at an opening bracket: where what it opens is closed (past the bracket), NULL if it never is. */
static const char *skip_brackets(const char *text, const char *p)
{
    int depth = 0;
    while (*p) {
        if (*p == '"' || *p == '\'') {
            p = skip_quoted(p);
            continue;
        }
        const char *q = skip_marker(text, p);
        if (q != p) {
            p = q;
            continue;
        }
        depth += (*p == '(' || *p == '{' || *p == '[') - (*p == ')' || *p == '}' || *p == ']');
        p++;
        if (depth == 0)
            return p;
    }
    return NULL;
}

/* Cuts what stands between brackets at its commas. -1: more than 'most'. */
static int split(span inside, span *part, int most)
{
    const char *begin = inside.at, *end = inside.at + inside.n;
    int depth = 0, n = 0;
    for (const char *p = begin;; p++) {
        if (p == end || (*p == ',' && depth == 0)) {
            if (n == most)
                return -1;
            part[n++] = trimmed(begin, p);
            if (p == end)
                return n;
            begin = p + 1;
        } else {
            depth += (*p == '(' || *p == '[' || *p == '{') - (*p == ')' || *p == ']' || *p == '}');
        }
    }
}

/* The next identifier at or after p; an empty one at the end of the text. */
static span next_name(const char *text, const char *p, const char *end)
{
    while (p < end && *p) {
        if (*p == '"' || *p == '\'') {
            p = skip_quoted(p);
        } else if (isdigit((unsigned char)*p)) { /* 0x1p3f is no name */
            p = skip_name(p);
        } else if (is_name(*p)) {
            return (span){p, (size_t)(skip_name(p) - p)};
        } else {
            const char *q = skip_marker(text, p);
            p = q == p ? p + 1 : q;
        }
    }
    return (span){end, 0};
}

/* ---- kernels ---- */

static bool complain(translator *m, const kernel *k, const char *what)
{
    fake_text_printf(m->log, "error: kernel '%.*s': %s\n", (int)k->name.n, k->name.at, what);
    return false;
}

static bool has_word(const char *from, const char *to, const char *word)
{
    for (span s = next_name(from, from, to); s.n; s = next_name(from, s.at + s.n, to))
        if (span_is(s, word))
            return true;
    return false;
}

static bool read_parameter(translator *m, const kernel *k, span text, parameter *p)
{
    const char *end = text.at + text.n, *name = end, *star = NULL;
    int stars = 0;
    while (name > text.at && is_name(name[-1]))
        name--;
    p->type = trimmed(text.at, name);
    p->name = (span){name, (size_t)(end - name)};
    for (const char *c = text.at; c < name; c++)
        if (*c == '*') {
            star = c;
            stars++;
        }
    if (name == end || p->type.n == 0)
        return complain(m, k, "a parameter is a type and a name (no array, no function)");
    if (stars > 1)
        return complain(m, k, "a pointer to a pointer is no kernel parameter");
    p->pointer = star != NULL;
    p->constant = star && has_word(text.at, star, "const");
    return true;
}

static bool read_parameters(translator *m, kernel *k)
{
    span part[FAKE_MAX_ARGS];
    const span inside = trimmed(k->signature.at + 1, k->signature.at + k->signature.n - 1);
    if (inside.n == 0 || span_is(inside, "void"))
        return true;
    k->n_parameters = split(inside, part, FAKE_MAX_ARGS);
    if (k->n_parameters < 0)
        return complain(m, k, "more than 64 parameters");
    for (int i = 0; i < k->n_parameters; i++)
        if (!read_parameter(m, k, part[i], &k->parameter[i]))
            return false;
    return true;
}

/* The three parts of __tn_local(type, name, number) at s; returns its end, NULL if it is not well formed. */
static const char *read_local(const char *text, span s, span part[3])
{
    const char *open = skip_blank(text, s.at + s.n), *end = *open == '(' ? skip_brackets(text, open) : NULL;
    if (!end || split((span){open + 1, (size_t)(end - open) - 2}, part, 3) != 3)
        return NULL;
    return end;
}

static bool read_locals(translator *m, const char *text, kernel *k)
{
    const char *p = k->body.at, *end = p + k->body.n;
    for (span s = next_name(text, p, end); s.n; s = next_name(text, s.at + s.n, end)) {
        if (!span_is(s, "__tn_local"))
            continue;
        if (k->n_locals == MAX_LOCALS)
            return complain(m, k, "more than 32 arrays of local memory");
        if (!read_local(text, s, k->local[k->n_locals++]))
            return complain(m, k, "LOCAL_MEM(type, name, number) is not well formed");
    }
    return true;
}

/* word: __tn_kernel or __tn_kernel_b. Returns where the kernel ends, NULL after a complaint. */
static const char *read_kernel(translator *m, const char *text, span word, kernel *k)
{
    const char *items = skip_blank(text, word.at + word.n), *past = *items == '(' ? skip_brackets(text, items) : items;
    const char *name = skip_blank(text, past ? past : items), *open = skip_blank(text, skip_name(name));
    *k = (kernel){.name = {name, (size_t)(skip_name(name) - name)},
                  .items = past > items ? (span){items, (size_t)(past - items)} : (span){"0", 1},
                  .barrier = span_is(word, "__tn_kernel_b")};
    const char *close = *open == '(' ? skip_brackets(text, open) : NULL;
    const char *brace = close ? skip_blank(text, close) : NULL;
    const char *end = brace && *brace == '{' ? skip_brackets(text, brace) : NULL;
    if (!end || k->name.n == 0 || k->name.n >= MAX_NAME) {
        complain(m, k, "KERNEL(name)(parameters) { ... } is not well formed");
        return NULL;
    }
    k->signature = (span){open, (size_t)(close - open)};
    k->body = (span){brace, (size_t)(end - brace)};
    return read_parameters(m, k) && read_locals(m, text, k) ? end : NULL;
}

/* ---- writing ---- */
#define SPAN(s) (int)(s).n, (s).at

static void put_function(translator *m, const char *text, const kernel *k)
{
    fake_text *out = m->out;
    fake_text_printf(out, "enum { tn_at_%.*s_0 = TN_LOCAL_GAP", SPAN(k->name));
    for (int i = 0; i < k->n_locals; i++)
        fake_text_printf(out,
                         ", tn_at_%.*s_%d = tn_at_%.*s_%d + (int)((sizeof(%.*s[%.*s]) + 2 * TN_LOCAL_GAP - 1) / "
                         "TN_LOCAL_GAP * TN_LOCAL_GAP)",
                         SPAN(k->name), i + 1, SPAN(k->name), i, SPAN(k->local[i][0]), SPAN(k->local[i][2]));
    fake_text_printf(out, " }; static inline __attribute__((always_inline)) void %.*s%.*s", SPAN(k->name),
                     SPAN(k->signature));
    const char *p = k->signature.at + k->signature.n, *end = k->body.at + k->body.n;
    int i = 0;
    for (span s = next_name(text, p, end); s.n; s = next_name(text, s.at + s.n, end)) {
        if (!span_is(s, "__tn_local"))
            continue;
        span part[3];
        fake_text_add(out, p, (size_t)(s.at - p));
        p = read_local(text, s, part);
        fake_text_printf(out, "%.*s *const %.*s = (%.*s *)(tn_item.memory + tn_at_%.*s_%d)", SPAN(part[0]),
                         SPAN(part[1]), SPAN(part[0]), SPAN(k->name), i++);
    }
    fake_text_add(out, p, (size_t)(end - p));
}

/* A kernel may have any name: what stands beside its call begins with tn_. */
static void put_thunk(translator *m, const kernel *k)
{
    fake_text *t = &m->tables;
    fake_text_printf(t,
                     "static void tn_run_%.*s(const struct tn_items *tn_at, void **tn_a)\n{\n    tn_item = *tn_at;\n",
                     SPAN(k->name));
    for (int i = 0; i < k->n_parameters; i++)
        fake_text_printf(t, "    %.*s tn_a%d = *(%.*s *)tn_a[%d];\n", SPAN(k->parameter[i].type), i,
                         SPAN(k->parameter[i].type), i);
    if (!k->barrier)
        fake_text_puts(
            t, "    const int tn_n = tn_at->local[0] + tn_at->row;\n"
               "    for (int tn_x = tn_at->local[0]; tn_x < tn_n; tn_x++) {\n        tn_item.local[0] = tn_x;\n    ");
    fake_text_printf(t, "    %.*s(", SPAN(k->name));
    for (int i = 0; i < k->n_parameters; i++)
        fake_text_printf(t, "%stn_a%d", i ? ", " : "", i);
    fake_text_puts(t, k->barrier ? ");\n}\n" : ");\n    }\n}\n");
}

static void put_tables(translator *m, const kernel *k)
{
    fake_text *t = &m->tables;
    for (int i = 0; i < k->n_parameters; i++)
        if (!k->parameter[i].pointer)
            fake_text_printf(t,
                             "_Static_assert(__builtin_classify_type(*(%.*s *)0) != 5, \"kernel '%.*s': write a "
                             "pointer parameter with its star\");\n",
                             SPAN(k->parameter[i].type), SPAN(k->name));
    fake_text_printf(t, "static const struct tn_argument tn_args_%.*s[] = {", SPAN(k->name));
    for (int i = 0; i < k->n_parameters; i++)
        fake_text_printf(t, "{\"%.*s\", sizeof(%.*s), %d, %d}, ", SPAN(k->parameter[i].name),
                         SPAN(k->parameter[i].type), k->parameter[i].pointer, k->parameter[i].constant);
    fake_text_printf(t, "{0}};\nstatic const struct tn_local tn_locals_%.*s[] = {", SPAN(k->name));
    for (int i = 0; i < k->n_locals; i++)
        fake_text_printf(t, "{\"%.*s\", tn_at_%.*s_%d, sizeof(%.*s[%.*s])}, ", SPAN(k->local[i][1]), SPAN(k->name), i,
                         SPAN(k->local[i][0]), SPAN(k->local[i][2]));
    fake_text_puts(t, "{0}};\n");
    fake_text_printf(&m->rows,
                     "    {\"%.*s\", %.*s, %d, %d, %d, tn_args_%.*s, tn_locals_%.*s, tn_at_%.*s_%d, tn_run_%.*s},\n",
                     SPAN(k->name), SPAN(k->items), k->barrier, k->n_parameters, k->n_locals, SPAN(k->name),
                     SPAN(k->name), SPAN(k->name), k->n_locals, SPAN(k->name));
}

static bool translate(translator *m, const char *text, kernel *k)
{
    const char *p = text, *end = text + strlen(text);
    for (span s = next_name(text, p, end); s.n; s = next_name(text, s.at + s.n, end)) {
        if (span_is(s, "__tn_local")) {
            fake_text_puts(m->log, "error: LOCAL_MEM stands outside of a kernel\n");
            return false;
        }
        if (!span_is(s, "__tn_kernel") && !span_is(s, "__tn_kernel_b"))
            continue;
        const char *after = read_kernel(m, text, s, k);
        if (!after)
            return false;
        fake_text_add(m->out, p, (size_t)(s.at - p));
        put_function(m, text, k);
        put_thunk(m, k);
        put_tables(m, k);
        p = after;
        s = (span){p, 0};
    }
    fake_text_add(m->out, p, (size_t)(end - p));
    return true;
}

bool fake_translate_kernels(const char *text, fake_text *out, fake_text *log)
{
    translator m = {.out = out, .log = log};
    kernel *k = malloc(sizeof *k);
    const bool ok = k && translate(&m, text, k);
    if (ok) {
        fake_text_puts(out, "\n# 1 \"thunks\"\n");
        fake_text_add(out, m.tables.s ? m.tables.s : "", m.tables.n);
        fake_text_puts(out, "const struct tn_kernel_info tn_fake_kernels[] = {\n");
        fake_text_add(out, m.rows.s ? m.rows.s : "", m.rows.n);
        fake_text_puts(out, "    {0}};\n");
    }
    const bool memory = k && !m.tables.failed && !m.rows.failed && !out->failed;
    if (!memory)
        fake_text_puts(log, "error: out of memory\n");
    fake_text_free(&m.tables);
    fake_text_free(&m.rows);
    free(k);
    return ok && memory;
}
