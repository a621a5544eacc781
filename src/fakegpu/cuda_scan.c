/* CUDA C after preprocessing becomes C++: what only CUDA knows of the language is three words.
 *
 *   __global__ void add(T x) { }      a row of tn_fake_kernels is filled behind it (tn_entry in dialect_cuda.h, which learns the
 *                                     parameters from the type); not for templates, whose instances the program names
 *   __shared__ T x[n];                static thread_local: threads of a block are fibers of one thread of the host
 *   extern __shared__ T x[];          a reference to the launch's dynamic memory; outside of functions a macro
 *
 * All else is left as it stands, on its line. What fake GPUs do not take is found here by its names, and said. */
#include "fakegpu/compiler.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 256 };

/* A kernel whose body is being read. */
typedef struct kernel {
    const char *name, *open, *close; /* the name; its parameters from '(' to behind ')' */
    size_t n;
    bool wanted; /* it has a body, and is no template */
} kernel;

typedef struct scanner {
    const char *p, *done; /* what is read next; up to where all was written */
    fake_text *out, *log;
    char file[512];
    long line;
    unsigned depth;                /* of braces */
    bool transparent[MAX_DEPTH];   /* namespace { and extern "C" {: what is within stands outside of functions */
    bool names_next, template_now; /* after 'namespace', after 'template' */
    kernel kernel;
    unsigned body; /* the depth of the kernel's body; 0: none */
    int n_kernels;
    bool failed;
} scanner;

static const struct {
    const char *word, *what;
} refused[] = {{"asm", "PTX within the text (asm)"},
               {"__asm__", "PTX within the text (asm)"},
               {"__asm", "PTX within the text (asm)"},
               {"cudaTextureObject_t", "textures"},
               {"cudaSurfaceObject_t", "surfaces"},
               {"tex1Dfetch", "textures"},
               {"tex1D", "textures"},
               {"tex2D", "textures"},
               {"tex3D", "textures"},
               {"nvcuda", "tensor cores (wmma)"},
               {"this_grid", "groups of a whole grid: blocks run one after another"},
               {"__cluster_dims__", "clusters"},
               {"__managed__", "managed memory"},
               {"__nv_half_raw", "CUDA's own headers for half: there is no half here"}};

/* ---- reading ---- */

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static bool is(const char *p, size_t n, const char *word)
{
    return strlen(word) == n && !memcmp(p, word, n);
}

static const char *end_of_name(const char *p)
{
    while (is_name(*p))
        p++;
    return p;
}

/* 1'000 is a number, and no character. */
static const char *end_of_number(const char *p)
{
    while (is_name(*p) || (*p == '\'' && is_name(p[1])))
        p++;
    return p;
}

static const char *end_of_quoted(const char *p)
{
    const char quote = *p++;
    while (*p && *p != quote && *p != '\n')
        p += p[0] == '\\' && p[1] ? 2 : 1;
    return *p == quote ? p + 1 : p;
}

/* R"x( ... )x" */
static const char *end_of_raw(const char *p)
{
    char stop[32];
    const char *open = strchr(p, '(');
    if (!open || open - p > 16)
        return p + 1;
    snprintf(stop, sizeof stop, ")%.*s\"", (int)(open - p - 1), p + 1);
    const char *end = strstr(open, stop);
    return end ? end + strlen(stop) : p + strlen(p);
}

/* Blanks and line markers, which may stand between any two words. */
static const char *skip_blank(const char *p)
{
    for (;;) {
        const bool begins = *p == '\n';
        if (begins && p[1 + strspn(p + 1, " \t")] == '#')
            p += 1 + strcspn(p + 1, "\n");
        else if (isspace((unsigned char)*p))
            p++;
        else
            return p;
    }
}

/* p stands at an opening bracket: behind what closes it, or NULL. */
static const char *skip_brackets(const char *p)
{
    int depth = 0;
    while (*p) {
        if (*p == '"' || *p == '\'') {
            p = end_of_quoted(p);
            continue;
        }
        depth += (*p == '(' || *p == '[' || *p == '{') - (*p == ')' || *p == ']' || *p == '}');
        p = skip_blank(p + 1);
        if (depth == 0)
            return p;
    }
    return NULL;
}

/* ---- writing ---- */

static void refuse(scanner *s, const char *what)
{
    fake_text_printf(s->log, "%s:%ld: error: fake GPUs do not take this: %s\n", s->file, s->line, what);
    s->failed = true;
}

/* All up to here as it stands; 'from' is where what is replaced begins. */
static void copy_up_to(scanner *s, const char *from)
{
    fake_text_add(s->out, s->done, (size_t)(from - s->done));
}

static void replace(scanner *s, const char *from, const char *to, const char *by)
{
    copy_up_to(s, from);
    fake_text_puts(s->out, by);
    s->done = to;
}

/* On one line, without line markers. */
static void put_flat(fake_text *out, const char *from, const char *to)
{
    for (const char *p = from; p < to; p++) {
        if (*p != '\n') {
            fake_text_add(out, p, 1);
            continue;
        }
        fake_text_puts(out, " ");
        if (p[1 + strspn(p + 1, " \t")] == '#')
            p += strcspn(p + 1, "\n");
    }
}

/* ---- kernels ---- */

/* After __global__: the name is the first one before a bracket that is no attribute's. */
static void read_kernel(scanner *s, const char *p)
{
    kernel *k = &s->kernel;
    for (p = skip_blank(p); *p && *p != '{' && *p != ';'; p = skip_blank(p)) {
        if (!is_name(*p)) {
            p++;
            continue;
        }
        const char *end = end_of_name(p), *open = skip_blank(end);
        if (*open != '(') {
            p = end;
            continue;
        }
        const char *close = skip_brackets(open);
        if (!close)
            return;
        if (is(p, (size_t)(end - p), "__attribute__") || is(p, (size_t)(end - p), "alignas")) {
            p = close;
            continue;
        }
        *k = (kernel){.name = p, .n = (size_t)(end - p), .open = open, .close = close};
        k->wanted = *skip_blank(close) == '{' && !s->template_now;
        return;
    }
}

static void put_row(scanner *s)
{
    const kernel *k = &s->kernel;
    const char *close = k->close;
    while (close[-1] != ')')
        close--;
    fake_text_printf(s->out, " static const int tn_row_%d __attribute__((unused)) = tn_entry<void (*)", s->n_kernels++);
    put_flat(s->out, k->open, close);
    fake_text_printf(s->out, ", &%.*s>::add(\"%.*s\", 0);", (int)k->n, k->name, (int)k->n, k->name);
}

/* ---- shared memory ---- */

static bool outside_functions(const scanner *s)
{
    for (unsigned i = 0; i < s->depth; i++)
        if (!s->transparent[i])
            return false;
    return true;
}

/* extern __shared__ TYPE NAME[]; 'from' is where it begins, p behind __shared__. */
static void put_dynamic(scanner *s, const char *from, const char *p)
{
    const bool outside = outside_functions(s);
    p = skip_blank(p);
    while (!strncmp(p, "alignas", 7) || !strncmp(p, "__attribute__", 13)) /* the launch's memory is aligned to 64 */
        p = skip_brackets(skip_blank(end_of_name(p)));
    const char *end = strchr(p, ';'), *bracket = strchr(p, '['), *name_end = bracket;
    while (end && bracket && bracket < end && name_end > p && isspace((unsigned char)name_end[-1]))
        name_end--;
    const char *name = name_end;
    while (name && name > p && is_name(name[-1]))
        name--;
    if (!end || !bracket || bracket > end || name == name_end || name == p) {
        refuse(s, "dynamic shared memory that is not declared as 'extern __shared__ TYPE NAME[];'");
        return;
    }
    copy_up_to(s, from);
    const int n = (int)(name_end - name);
    if (outside)
        fake_text_printf(s->out, "\n#undef %.*s\n#define %.*s (*(", n, name, n, name);
    fake_text_puts(s->out, "tn_same<");
    put_flat(s->out, p, name);
    fake_text_puts(s->out, outside ? "> (*)" : "> (&");
    fake_text_add(s->out, name, outside ? 0 : (size_t)n);
    fake_text_puts(s->out, outside ? "" : ")");
    put_flat(s->out, bracket, end);
    if (outside)
        fake_text_printf(s->out, ")tn_now->dynamic)\n# %ld \"%s\"\n", s->line, s->file);
    else
        fake_text_printf(s->out, " = *(decltype(&%.*s))tn_now->dynamic", n, name);
    s->done = s->p = end + outside;
}

/* ---- words ---- */

static const char *next_word(const char *p, const char *word)
{
    p = skip_blank(p);
    const char *end = end_of_name(p);
    return is(p, (size_t)(end - p), word) ? end : NULL;
}

static void read_word(scanner *s, const char *p, const char *end)
{
    const size_t n = (size_t)(end - p);
    const char *shared;
    s->p = end;
    if (is(p, n, "__global__")) {
        replace(s, p, end, "");
        read_kernel(s, end);
    } else if (is(p, n, "__shared__")) {
        replace(s, p, end, "static thread_local");
    } else if (is(p, n, "static") && (shared = next_word(end, "__shared__"))) {
        replace(s, p, shared, "static thread_local");
        s->p = shared;
    } else if (is(p, n, "extern") && (shared = next_word(end, "__shared__"))) {
        put_dynamic(s, p, shared);
    } else if (is(p, n, "extern")) {
        const char *q = skip_blank(end);
        if (*q == '"' && *skip_blank(end_of_quoted(q)) == '{')
            s->names_next = true;
    } else if (is(p, n, "namespace")) {
        s->names_next = true;
    } else if (is(p, n, "template")) {
        s->template_now = true;
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused && !s->failed; i++)
        if (is(p, n, refused[i].word))
            refuse(s, refused[i].what);
}

/* ---- the text ---- */

/* # 12 "file": the next line is that. */
static void read_marker(scanner *s, const char *p)
{
    char file[512];
    long line;
    if (sscanf(p, "# %ld \"%511[^\"]\"", &line, file) == 2) {
        s->line = line - 1;
        memcpy(s->file, file, sizeof file);
    }
}

static void close_brace(scanner *s)
{
    s->depth -= s->depth > 0;
    s->template_now = false;
    if (!s->body || s->depth + 1 != s->body)
        return;
    s->body = 0;
    copy_up_to(s, s->p + 1);
    s->done = s->p + 1;
    put_row(s);
}

static void open_brace(scanner *s)
{
    if (s->depth == MAX_DEPTH) {
        refuse(s, "braces within 256 others");
        return;
    }
    s->transparent[s->depth++] = s->names_next;
    s->names_next = false;
    if (s->kernel.wanted && s->p >= s->kernel.close) {
        s->body = s->depth;
        s->kernel.wanted = false;
    }
}

static void read_sign(scanner *s)
{
    switch (*s->p) {
    case '\n':
        s->line++;
        s->p++;
        if (s->p[strspn(s->p, " \t")] == '#') {
            read_marker(s, s->p);
            s->p += strcspn(s->p, "\n");
        }
        return;
    case '{': open_brace(s); break;
    case '}': close_brace(s); break;
    case ';':
    case '=':
        s->names_next = false;
        s->template_now = s->template_now && *s->p != ';';
        break;
    case '<':
        if (!strncmp(s->p, "<<<", 3))
            refuse(s, "launches from a kernel (<<< >>>)");
        break;
    }
    s->p++;
}

static void put_footer(scanner *s, const fake_cuda_program *program)
{
    fake_text_puts(s->out, "\n# 1 \"nvrtcAddNameExpression\"\n");
    for (int i = 0; i < program->n_expressions; i++) {
        const char *e = program->expression[i], *bare = e + strspn(e, "& \t");
        fake_text_printf(s->out, "static const int tn_named_%d = tn_entry<decltype(&%s), &%s>::add(\"", i, bare, bare);
        for (const char *p = e; *p; p++)
            fake_text_printf(s->out, *p == '"' || *p == '\\' ? "\\%c" : "%c", *p);
        fake_text_puts(s->out, "\", 1);\n");
    }
    fake_text_printf(s->out,
                     "extern \"C\" {\nstruct tn_kernel_info tn_fake_kernels[%d];\n"
                     "struct tn_cuda_variable tn_fake_variables[%d];\n}\n",
                     s->n_kernels + program->n_expressions + 1, program->n_expressions + 1);
}

bool fake_cuda_scan(const char *text, const fake_cuda_program *program, fake_text *out, fake_text *log)
{
    scanner *s = calloc(1, sizeof *s);
    if (!s)
        return false;
    s->p = s->done = text;
    s->out = out;
    s->log = log;
    s->line = 1;
    while (*s->p && !s->failed) {
        if (s->p[0] == 'R' && s->p[1] == '"')
            s->p = end_of_raw(s->p + 1);
        else if (*s->p == '"' || *s->p == '\'')
            s->p = end_of_quoted(s->p);
        else if (isdigit((unsigned char)*s->p))
            s->p = end_of_number(s->p);
        else if (is_name(*s->p))
            read_word(s, s->p, end_of_name(s->p));
        else
            read_sign(s);
    }
    copy_up_to(s, s->p);
    put_footer(s, program);
    const bool ok = !s->failed && !out->failed;
    free(s);
    return ok;
}
