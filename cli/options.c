/* Options, errors, time: what every subcommand needs. */
#include "cli.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *cli_command = "";

int cli_utf8(const unsigned char *s)
{
    int n = s[0] < 0x80                   ? 1
            : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
            : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
            : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                          : 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    bool outside = (s[0] == 0xed && s[1] >= 0xa0) || (s[0] == 0xf4 && s[1] >= 0x90);
    return overlong || outside ? 0 : n;
}

void cli_plain(char *text)
{
    unsigned char *to = (unsigned char *)text;
    for (const unsigned char *s = to; *s;) {
        int k = cli_utf8(s), n = k ? k : 1;
        bool c1 = k ? s[0] == 0xc2 && s[1] < 0xa0 : s[0] >= 0x80 && s[0] < 0xa0;
        if (*s < 0x20 || *s == 0x7f || c1) {
            *to++ = '?';
            s += n;
        } else {
            for (; n; n--)
                *to++ = *s++;
        }
    }
    *to = '\0';
}

int cli_error(int status, const char *format, ...)
{
    char text[8192]; /* names may hold line ends and what steers terminals: one line, '?' for each of those */
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    cli_plain(text);
    fprintf(stderr, "tenon%s%s: %s\n", *cli_command ? " " : "", cli_command, text);
    return status;
}

tn_setting *cli_settings(size_t *n)
{
    *n = tn_settings(NULL, 0);
    tn_setting *set = calloc(*n + 1, sizeof *set);
    *n = set ? tn_settings(set, *n) : 0;
    return set;
}

void cli_warn_of_settings(void)
{
    size_t n;
    tn_setting *set = cli_settings(&n);
    for (size_t i = 0; i < n; i++)
        if (*set[i].wrong)
            fprintf(stderr, "tenon: warning: %s=%s: %s\n", set[i].name, set[i].value, set[i].wrong);
    free(set);
}

/* A message's lines, one behind the other: what happened, then explanations (two blanks before them), of which lists
 * (four) and the place of the call are left out. */
static void join_lines(const char *message, char *line, size_t size)
{
    size_t at = 0;
    line[0] = '\0';
    for (const char *p = message; *p && at < size;) {
        size_t n = strcspn(p, "\n"), blanks = strspn(p, " "), length = n;
        bool list = blanks >= 4 || (blanks && p[n - 1] == ':') || !strncmp(p, "  at ", 5);
        while (length > blanks && strchr(" .", p[length - 1]))
            length--;
        if (!list && length > blanks)
            at += (size_t)snprintf(line + at, size - at, "%s%.*s",
                                   !at                   ? ""
                                   : line[at - 1] == ':' ? " "
                                                         : "; ",
                                   (int)(length - blanks), p + blanks);
        p += n + (p[n] == '\n');
    }
}

void cli_message(char *line, size_t size, bool explained)
{
    char *p;
    if (explained) {
        join_lines(tn_error_message(), line, size);
        return;
    }
    snprintf(line, size, "%s", tn_error_message());
    if ((p = strstr(line, "\n  ")) != NULL) /* where it was called, and what developers want to know */
        *p = '\0';
    while ((p = strstr(line, "\n\t")) != NULL) { /* a list of what is wrong */
        *p = ' ';
        memmove(p + 1, p + 2, strlen(p + 2) + 1);
    }
    for (size_t n = strlen(line); n > 0 && strchr(" .", line[n - 1]); n--)
        line[n - 1] = '\0';
}

int cli_library_error(const char *advice)
{
    char line[4096];
    tn_status code = tn_error_code();
    cli_message(line, sizeof line, code == TN_EDEVICE || code == TN_ENOMEM);
    return cli_error(CLI_FAILED, *advice ? "%s; %s" : "%s%s", line, advice);
}

static const char *dashes(const option *o)
{
    return o->name[1] ? "--" : "-";
}

static void print_help(const command *c)
{
    printf("usage: tenon %s%s%s\n\n%s\n", c->name, *c->arguments ? " " : "", c->arguments, c->about);
    if (c->n_options)
        printf("\n");
    for (int i = 0; i < c->n_options; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s%s%s%s", dashes(&c->options[i]), c->options[i].name,
                 *c->options[i].value ? " " : "", c->options[i].value);
        printf("  %-20s %s\n", left, c->options[i].help);
    }
    printf("%s  %-20s %s\n", c->n_options ? "" : "\n", "--help", "this text");
}

/* How many letters must be put in, left out or replaced to make one word of the other (Levenshtein 1966). */
static size_t distance(const char *a, const char *b)
{
    size_t n = strlen(b), row[64];
    if (n >= sizeof row / sizeof *row)
        return SIZE_MAX;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            best = best < row[j] + 1 ? best : row[j] + 1;
            row[j] = best < row[j - 1] + 1 ? best : row[j - 1] + 1;
        }
    }
    return row[n];
}

bool cli_resembles(const char *word, const char *name)
{
    size_t n = strlen(word);
    return (n >= 3 && !strncmp(word, name, n)) || distance(word, name) <= (n > 4 ? 2 : 1);
}

static const option *find_option(const command *c, const char *name, size_t n)
{
    for (int i = 0; i < c->n_options; i++)
        if (strlen(c->options[i].name) == n && !strncmp(c->options[i].name, name, n))
            return &c->options[i];
    return NULL;
}

static int set_number(const option *o, const char *text)
{
    char *end;
    errno = 0;
    double v = strtod(text, &end);
    bool whole = o->kind == OPT_INT, inside = v >= o->least && v <= o->most; /* NaN is not */
    if (end == text || *end || errno || !inside || (whole && v != (double)(int64_t)v))
        return cli_error(CLI_USAGE, "%s%s: '%s' is not a %s from %.16g to %.16g (try 'tenon %s --help')", dashes(o),
                         o->name, text, whole ? "whole number" : "number", o->least, o->most, cli_command);
    if (whole)
        *(int64_t *)o->to = (int64_t)v;
    else
        *(double *)o->to = v;
    return -1;
}

static int unknown_option(const command *c, const char *text, const char *name, size_t n)
{
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), name);
    for (int i = 0; i < c->n_options; i++)
        if (c->options[i].name[1] && cli_resembles(word, c->options[i].name))
            return cli_error(CLI_USAGE, "there is no option '%s'; did you mean --%s? (try 'tenon %s --help')", text,
                             c->options[i].name, c->name);
    return cli_error(CLI_USAGE, "there is no option '%s' (try 'tenon %s --help')", text, c->name);
}

/* argv[*i] is "--name", "--name=value", or "--name" followed by the value; one dash before a name of one letter. */
static int set_option(const command *c, int argc, char **argv, int *i)
{
    bool two_dashes = argv[*i][1] == '-';
    const char *name = argv[*i] + 1 + two_dashes, *equals = strchr(name, '=');
    size_t n = equals ? (size_t)(equals - name) : strlen(name);
    const option *o = find_option(c, name, n);
    if (!o || two_dashes != (n > 1))
        return unknown_option(c, argv[*i], name, n);
    if (o->kind == OPT_FLAG) {
        if (equals)
            return cli_error(CLI_USAGE, "%s%s takes no value", dashes(o), o->name);
        *(bool *)o->to = true;
        return -1;
    }
    const char *value = equals ? equals + 1 : *i + 1 < argc ? argv[++*i] : NULL;
    if (!value || (!*value && o->kind == OPT_TEXT))
        return cli_error(CLI_USAGE, "%s%s needs a value: %s%s %s", dashes(o), o->name, dashes(o), o->name, o->value);
    if (o->kind != OPT_TEXT)
        return set_number(o, value);
    *(const char **)o->to = value;
    return -1;
}

void (*cli_describe)(const command *c);

int cli_parse(const command *c, int argc, char **argv, const char **arguments, int *n_arguments)
{
    int n = 0;
    bool options_end = false; /* after "--" everything is an argument */
    cli_command = c->name;
    if (cli_describe) {
        cli_describe(c);
        return CLI_OK;
    }
    for (int i = 0; i < argc; i++) {
        if (!options_end && !strcmp(argv[i], "--")) {
            options_end = true;
            continue;
        }
        if (!options_end && (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))) {
            print_help(c);
            return CLI_OK;
        }
        if (!options_end && argv[i][0] == '-' && argv[i][1]) {
            int status = set_option(c, argc, argv, &i);
            if (status >= 0)
                return status;
            continue;
        }
        if (n == c->max_arguments)
            return cli_error(CLI_USAGE, "'%s' is one argument too many (usage: tenon %s %s)", argv[i], c->name,
                             c->arguments);
        arguments[n++] = argv[i];
    }
    if (n < c->min_arguments)
        return cli_error(CLI_USAGE, "an argument is missing (usage: tenon %s %s)", c->name, c->arguments);
    if (n_arguments)
        *n_arguments = n;
    return -1;
}

double cli_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

bool cli_terminal(void)
{
    const char *term = tn_setting_value("TERM");
    return isatty(STDOUT_FILENO) && (!term || strcmp(term, "dumb") != 0);
}

void cli_minutes(double seconds, char *out, size_t n)
{
    long s = (long)(seconds + 0.5);
    snprintf(out, n, "%ld:%02ld", s / 60, s % 60);
}
