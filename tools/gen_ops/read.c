/* tools/gen_ops/read.c: rows.def into rows. */
#include "rows.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

row rows[MAX_ROWS];
int n_rows;
const char *kernel_lines[MAX_LINES], *unit_lines[MAX_LINES];
int n_kernel_lines, n_unit_lines;

static struct {
    const char *file;
    int line;
} at;

static struct {
    const char *word, *text;
} defined[16];
static int n_defined;

_Noreturn void fail(const row *r, const char *what, const char *which)
{
    fprintf(stderr, "%s:%d: %s%s%s: %s\n", r ? r->file : at.file, r ? r->line : at.line, r ? r->name : "",
            r ? ": " : "", what, which);
    exit(1);
}

char *text_copy(const char *from, size_t n)
{
    char *p = malloc(n + 1);
    if (!p)
        exit(1);
    memcpy(p, from, n);
    p[n] = '\0';
    return p;
}

char *text_format(const char *format, ...)
{
    char text[2048];
    va_list list;
    va_start(list, format);
    const int n = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (n < 0 || (size_t)n >= sizeof text)
        fail(NULL, "a text is too long", format);
    return text_copy(text, (size_t)n);
}

bool has_word(const char *words, const char *word)
{
    const size_t n = strlen(word);
    for (const char *p = words ? strstr(words, word) : NULL; p; p = strstr(p + 1, word))
        if ((p == words || p[-1] == ' ') && (p[n] == '\0' || p[n] == ' '))
            return true;
    return false;
}

/* ---- parameters ---- */

static const struct {
    const char *word;
    char type;
} types[] = {
    {"Tensor", 'T'}, {"Tensor?", 'Q'}, {"Operand", 'N'}, {"Tensors", 'L'},       {"dims", 'D'},   {"dim", 'E'},
    {"ints", 'J'},   {"int", 'i'},     {"float", 'f'},   {"bool", 'b'},          {"Number", 'S'}, {"dtype", 'd'},
    {"device", 'v'}, {"Result", 'X'},  {"text", 's'},    {"memory_format", 'm'},
};

static char type_of(const char *word)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].word, word))
            return types[i].type;
    fail(NULL, "no type of a parameter", word);
}

/* "int dim, Number value" up to the end or one of 'stop'; returns where it ended. */
static const char *read_params(const char *p, const char *stop, row *r, param *to, int *n)
{
    while (*p && !strchr(stop, *p)) {
        char type[32], name[48];
        int used = 0;
        if (!strncmp(p, "factory", 7)) {
            r->shared_options = true;
            p += 7;
        } else if (sscanf(p, "%31[A-Za-z_?] %47[A-Za-z0-9_]%n", type, name, &used) == 2 && *n < MAX_PARAMS) {
            to[(*n)++] = (param){type_of(type), text_copy(name, strlen(name))};
            p += used;
        } else {
            fail(NULL, "a parameter 'type name' was expected", p);
        }
        p += strspn(p, ", ");
    }
    return p;
}

static void read_head(row *r, const char *p)
{
    static const char *const usual[] = {"Tensor x)", "Operand a, Operand b)", "Operand a, Operand b, Operand c)"};
    char name[64];
    int used = 0;
    if (sscanf(p, "%63[A-Za-z0-9_]%n", name, &used) != 1)
        fail(NULL, "a name was expected", p);
    r->name = text_copy(name, strlen(name));
    r->returns = "T";
    p = is_elementwise(r) ? usual[r->kind] : p + used;
    if (r->kind == PYTHON_ROW)
        return;
    if (*p == '(')
        p++;
    p = read_params(p, "|)", r, r->param, &r->total);
    r->positional = r->total;
    if (*p == '|')
        p = read_params(p + 1 + strspn(p + 1, " "), ")", r, r->param, &r->total);
    if (*p++ != ')')
        fail(r, "no end of the parameters", "')'");
    p += strspn(p, " ");
    if (!strncmp(p, "-> ", 3))
        r->returns = text_copy(p + 3, strlen(p + 3));
}

int inputs(const row *r)
{
    int n = 0;
    for (int i = 0; i < r->total; i++)
        n += is_input(r->param[i].type);
    return n;
}

int results(const row *r)
{
    int n = 1;
    for (int i = 0; i < r->total; i++)
        n += r->param[i].type == 'X';
    return n;
}

const param *input(const row *r, int i)
{
    for (int k = 0; k < r->total; k++)
        if (is_input(r->param[k].type) && i-- == 0)
            return &r->param[k];
    return NULL;
}

/* ---- what is saved ---- */

/* The bit of a name: an input, 'out', or a further result. */
static uint32_t save_bit(const row *r, const char *name, size_t n)
{
    int result = 0;
    for (int i = 0; input(r, i); i++)
        if (strlen(input(r, i)->name) == n && !strncmp(input(r, i)->name, name, n))
            return SAVE_IN(i);
    if (n == 3 && !strncmp(name, "out", 3))
        return SAVE_OUT(0);
    for (int i = 0; i < r->total; i++)
        if (r->param[i].type == 'X') {
            result++;
            if (strlen(r->param[i].name) == n && !strncmp(r->param[i].name, name, n))
                return SAVE_OUT(result);
        }
    if (n == 4 && !strncmp(name, "out2", 4)) /* a second result that only the derivative sees */
        return SAVE_OUT(1);
    fail(r, "no input or result", name);
}

/* "x index for src" */
static void read_save(row *r, const char *text)
{
    const char *to = strstr(text, " for ");
    uint32_t bits = 0;
    if (!to)
        fail(r, "'save what for input' was expected", text);
    for (const char *p = text; p < to; p += strspn(p, " ")) {
        const size_t n = strcspn(p, " ");
        bits |= save_bit(r, p, n);
        p += n;
    }
    for (int i = 0; input(r, i); i++)
        if (!strcmp(input(r, i)->name, to + 5)) {
            r->saves[i] |= bits;
            return;
        }
    fail(r, "no input", to + 5);
}

static void read_constants(row *r, const char *text, bool refused)
{
    uint32_t bits = 0;
    for (const char *p = text; *p; p += strspn(p, " ")) {
        const size_t n = strcspn(p, " ");
        bits |= save_bit(r, p, n);
        p += n;
    }
    for (int i = 0; input(r, i); i++)
        if (bits & SAVE_IN(i)) {
            r->constants |= refused ? SAVE_IN(i) : 0;
            r->saves[i] |= SAVE_NODIFF;
        }
    if (refused && bits >> 16)
        fail(r, "a result that is refused where it wants a gradient", text);
    r->nograd_results |= bits >> 16;
    if (r->nograd_results && results(r) == 1 && !(r->nograd_results >> 1))
        fail(r, "the only result has no gradient: leave out 'grad'", text);
}

/* Does the formula name it, as a whole word? */
static bool names(const char *formula, const char *word)
{
    const size_t n = strlen(word);
    for (const char *p = strstr(formula, word); p; p = strstr(p + 1, word)) {
        const bool begins = p == formula || (!isalnum((unsigned char)p[-1]) && !strchr("_.>\"", p[-1]));
        if (begins && !isalnum((unsigned char)p[n]) && p[n] != '_')
            return true;
    }
    return false;
}

/* An elementwise row saves what its gradients name. */
static void save_named(row *r)
{
    static const char *const operand[] = {"a", "b", "c"};
    for (int i = 0; i <= (int)r->kind; i++) {
        if (!r->grad[i] || !strcmp(r->grad[i], "unheard")) {
            r->saves[i] = SAVE_NODIFF | (r->grad[i] ? SAVE_UNHEARD : 0);
            r->grad[i] = NULL;
            continue;
        }
        for (int k = 0; k <= (int)r->kind; k++)
            r->saves[i] |= names(r->grad[i], operand[k]) ? SAVE_IN(k) : 0;
        r->saves[i] |= names(r->grad[i], "out") ? SAVE_OUT(0) : 0;
    }
}

/* "expression; expression": of a and of b. They name nothing that is not saved for the gradients anyway. */
static void read_both(row *r, const char *text)
{
    static const char *const operand[] = {"a", "b", "out"};
    const char *semicolon = strchr(text, ';');
    if (!semicolon || r->kind != BINARY_ROW)
        fail(r, "'both' has an expression for each of two operands", text);
    r->both[0] = text_copy(text, (size_t)(semicolon - text));
    r->both[1] = semicolon + 1 + strspn(semicolon + 1, " ");
    for (int k = 0; k < 3; k++)
        if (names(text, operand[k]) && !(r->grad[0] && names(r->grad[0], operand[k])) &&
            !(r->grad[1] && names(r->grad[1], operand[k])))
            fail(r, "'both' names what neither 'grad a' nor 'grad b' does:", operand[k]);
}

/* ---- Python's entries ---- */

/* The signature with $WORD replaced. */
static const char *expanded(const char *text)
{
    const char *dollar = strchr(text, '$');
    if (!dollar)
        return text;
    const size_t n = strspn(dollar + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
    for (int i = 0; i < n_defined; i++)
        if (strlen(defined[i].word) == n && !strncmp(defined[i].word, dollar + 1, n))
            return text_format("%.*s%s%s", (int)(dollar - text), text, defined[i].text, dollar + 1 + n);
    fail(NULL, "not defined", dollar);
}

static void add_signature(row *r, const char *text)
{
    entry *e = &r->entry[r->entries - 1];
    if (!r->entries || e->signatures == MAX_SIGNATURES)
        fail(r, "too many signatures, or none to be another of", text);
    e->signature[e->signatures++] = expanded(text);
}

static bool begins_entry(row *r, const char *key, const char *text)
{
    static const char *const words[] = {"torch", "method", "functional", "inplace", "self", "into", "special"};
    char where[8] = "";
    size_t n = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (has_word(key, words[i]))
            where[n++] = "TMFISBP"[i];
    if (!n)
        return false;
    if (r->entries == MAX_ENTRIES || n > 3)
        fail(r, "too many entries", key);
    memcpy(r->entry[r->entries++].where, where, n + 1);
    add_signature(r, text);
    return true;
}

/* "name(slots)" or "name" */
static const char *called(entry *e, const char *text)
{
    const size_t n = strcspn(text, "(");
    if (text[n])
        e->slots = text_copy(text + n + 1, strlen(text + n) - 2);
    return text_copy(text, n);
}

static bool read_entry(row *r, const char *key, const char *text)
{
    if (begins_entry(r, key, text))
        return true;
    entry *e = &r->entry[r->entries ? r->entries - 1 : 0];
    if (!strcmp(key, "or"))
        add_signature(r, text);
    else if (!strcmp(key, "by"))
        e->by = called(e, text);
    else if (!strcmp(key, "run"))
        e->run = called(e, text);
    else if (!strcmp(key, "says"))
        e->says = text;
    else if (!strcmp(key, "as"))
        e->as = text;
    else
        return false;
    return true;
}

/* ---- lines ---- */

static void read_kernel(row *r, const char *text)
{
    r->cpu_only = !strncmp(text, "cpu ", 4);
    r->kernel = r->cpu_only ? text + 4 : text;
}

static void read_key(row *r, const char *key, const char *text)
{
    const struct {
        const char *key, **to;
    } texts[] = {
        {"doc", &r->doc},         {"rule", &r->rule},
        {"value", &r->value},     {"narrow", &r->narrow},
        {"grad", &r->grad[0]},    {"grad a", &r->grad[0]},
        {"grad b", &r->grad[1]},  {"grad c", &r->grad[2]},
        {"infer", &r->infer},     {"params", &r->params},
        {"does", &r->does},       {"piece", &r->piece},
        {"label", &r->label},     {"alias", &r->alias},
        {"wrapper", &r->wrapper}, {"arguments", &r->arguments},
        {"results", &r->results}, {"unsigned", &r->unsigned_row},
        {"mask", &r->mask},       {"later", &r->later},
        {"torch_", &r->torch_},   {"numbers", &r->numbers},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strcmp(texts[i].key, key)) {
            *texts[i].to = text;
            return;
        }
    if (!strcmp(key, "kernel"))
        read_kernel(r, text);
    else if (!strcmp(key, "also"))
        read_params(text, "", r, r->also, &r->n_also);
    else if (!strcmp(key, "both"))
        r->both[0] = text;
    else if (!strcmp(key, "save"))
        read_save(r, text);
    else if (!strcmp(key, "constant"))
        read_constants(r, text, true);
    else if (!strcmp(key, "nograd"))
        read_constants(r, text, false);
    else if (!strcmp(key, "python"))
        r->no_python = true;
    else if (!read_entry(r, key, text))
        fail(r, "no key of a row", key);
}

static void finish(row *r)
{
    for (const row *other = rows; other < r; other++)
        if (!strcmp(other->name, r->name) && (other->kind == PYTHON_ROW) == (r->kind == PYTHON_ROW))
            fail(r, "is a row already, of", other->file);
    if (strcmp(r->returns, "T") != 0 && strcmp(r->returns, "flag") != 0 && !counts(r))
        fail(r, "returns neither flag nor count", r->returns);
    if (is_elementwise(r)) {
        if (!r->rule || !r->value)
            fail(r, "an elementwise row has a rule and a value", "");
        if (r->mask && (strlen(r->mask) != 1 || *r->mask < 'a' || *r->mask > 'a' + (int)r->kind))
            fail(r, "no operand", r->mask);
        if (r->numbers && (r->kind != TERNARY_ROW || r->numbers[strspn(r->numbers, "bc ")]))
            fail(r, "numbers are b and c of three operands", r->numbers);
        if (r->both[0])
            read_both(r, r->both[0]);
        save_named(r);
    }
    if (!r->doc)
        fail(r, "a row has a doc", "");
    if ((r->kind == OP_ROW && (!r->infer || !r->kernel)) || (r->kind == VIEW_ROW && !r->infer))
        fail(r, "a structural row has a shape rule and a kernel", "");
}

static void begin_row(const char *text)
{
    static const char *const kinds[] = {"unary", "binary", "ternary", "op", "view", "comp", "func", "python"};
    char word[16];
    int used = 0;
    if (sscanf(text, "%15[a-z] %n", word, &used) != 1 || n_rows == MAX_ROWS)
        fail(NULL, "a row was expected", text);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i], word)) {
            row *r = &rows[n_rows++];
            r->kind = (kind)i;
            r->file = at.file;
            r->line = at.line;
            read_head(r, text + used);
            return;
        }
    fail(NULL, "no kind of row", word);
}

static void define(const char *text)
{
    const size_t n = strcspn(text, " ");
    if (n_defined == (int)(sizeof defined / sizeof *defined))
        fail(NULL, "too many definitions", text);
    defined[n_defined].word = text_copy(text, n);
    text += n + strspn(text + n, " ");
    defined[n_defined++].text = text_copy(text, strlen(text));
}

static void add_line(const char **lines, int *n, const char *text)
{
    if (*n == MAX_LINES)
        fail(NULL, "too many lines", text);
    lines[(*n)++] = text_copy(text, strlen(text));
}

/* A line with all that goes on with it. indent: of its first. */
static void use(const char *text, size_t indent)
{
    if (indent == 0) {
        if (!strncmp(text, "define ", 7))
            define(text + 7);
        else if (!strncmp(text, "kernels ", 8))
            add_line(kernel_lines, &n_kernel_lines, text + 8);
        else if (!strncmp(text, "units ", 6))
            add_line(unit_lines, &n_unit_lines, text + 6);
        else
            begin_row(text);
        return;
    }
    size_t n = 0; /* the key ends at two blanks, or at one where it is a single short word */
    while (text[n] && !(text[n] == ' ' && text[n + 1] == ' '))
        n++;
    if (!text[n])
        n = strcspn(text, " ");
    const char *key = text_copy(text, n), *value = text + n + strspn(text + n, " ");
    if (!n_rows)
        fail(NULL, "a key before the first row", key);
    read_key(&rows[n_rows - 1], key, text_copy(value, strlen(value)));
}

/* Cuts comments; true while one is open. */
static bool without_comment(char *line, bool open)
{
    char *to = line;
    for (char *p = line; *p;) {
        if (open && !strncmp(p, "*/", 2)) {
            open = false;
            p += 2;
        } else if (open) {
            p++;
        } else if (!strncmp(p, "/*", 2)) {
            open = true;
            p += 2;
        } else {
            *to++ = *p++;
        }
    }
    while (to > line && isspace((unsigned char)to[-1]))
        to--;
    *to = '\0';
    return open;
}

static void read_file(FILE *in)
{
    char line[512], whole[2048] = "";
    size_t indent = 0;
    int number = 0, begun = 0;
    bool comment = false;
    while (fgets(line, sizeof line, in)) {
        number++;
        if (!strchr(line, '\n') && !feof(in))
            fail(NULL, "a line is too long", line);
        comment = without_comment(line, comment);
        const size_t blanks = strspn(line, " ");
        if (!line[blanks])
            continue;
        const size_t length = strlen(whole);
        if (*whole && blanks > indent && blanks > 4) {
            if ((size_t)snprintf(whole + length, sizeof whole - length, " %s", line + blanks) >= sizeof whole - length)
                fail(NULL, "a text is too long", line + blanks);
            continue;
        }
        at.line = begun;
        if (*whole)
            use(whole, indent);
        snprintf(whole, sizeof whole, "%s", line + blanks);
        indent = blanks;
        begun = number;
    }
    at.line = begun;
    if (*whole)
        use(whole, indent);
}

void rows_read(char **files, int n)
{
    for (int i = 0; i < n; i++) {
        FILE *in = fopen(files[i], "r");
        at.file = files[i];
        if (!in)
            fail(NULL, "cannot be read", files[i]);
        read_file(in);
        fclose(in);
    }
    for (int i = 0; i < n_rows; i++)
        finish(&rows[i]);
}

/* ---- what rows are ---- */

bool counts(const row *r)
{
    return !strcmp(r->returns, "count");
}

bool writes_first(const row *r)
{
    return r->kind == FUNC_ROW && r->name[strlen(r->name) - 1] == '_';
}

static bool has_fields(const row *r)
{
    for (int i = 0; i < r->total; i++)
        if (!is_input(r->param[i].type) && r->param[i].type != 'X')
            return true;
    return r->n_also > 0;
}

const char *params_of(const row *r)
{
    if (!is_operation(r))
        return NULL;
    return r->params ? r->params : has_fields(r) ? r->name + is_private(r) : NULL;
}

const char *c_type(char type)
{
    switch (type) {
    case 'T':
    case 'Q': return "tn_tensor *";
    case 'N':
    case 'S': return "tn_scalar ";
    case 'L': return "tn_tensors ";
    case 'D': return "tn_dims ";
    case 'E': return "int64_t ";
    case 'J': return "tn_ints ";
    case 'i': return "int64_t ";
    case 'f': return "double ";
    case 'b': return "bool ";
    case 'd': return "tn_dtype ";
    case 'm': return "tn_memory_format ";
    case 'v': return "tn_device ";
    case 's': return "const char *";
    default: return "tn_tensor **";
    }
}

const char *result_type(const row *r)
{
    return !strcmp(r->returns, "T") ? "tn_tensor *" : !strcmp(r->returns, "flag") ? "bool " : "int64_t ";
}

void options_type(const row *r, char *out, size_t n)
{
    if (r->shared_options)
        snprintf(out, n, "tn_options");
    else
        snprintf(out, n, "tn_%s_options", r->name);
}
