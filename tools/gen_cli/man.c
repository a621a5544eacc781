/* Manual pages: one for each command, and that of all. */
#include "core/parallel.h"
#include "core/variables.h"
#include "gen_cli.h"
#include <string.h>

static const tn__variable variables[] = {
#define VARIABLE(name_, ...) {.name = #name_, __VA_ARGS__},
#include "core/variables.def"
#undef VARIABLE
};

enum { WIDTH = 48 }; /* of the source's lines: where one is longer it ends at the next blank */

/* Text as roff has it: hyphens are minus signs, and no line begins with what roff would read as a request. A sentence begins a
 * new line. */
static void text(FILE *to, const char *p)
{
    bool start = true;
    const char *line = p;
    for (; *p; p++) {
        bool ends = *p == ' ' && (p[-1] == '.' || p - line > WIDTH);
        if (start && (*p == '.' || *p == '\''))
            fputs("\\&", to);
        start = *p == '\n' || ends;
        if (start) {
            fputc('\n', to);
            line = p + 1;
        } else if (*p == '-')
            fputs("\\-", to);
        else if (*p == '\\')
            fputs("\\e", to);
        else if (*p == '\'')
            fputs("\\(aq", to);
        else
            fputc(*p, to);
    }
}

static void head(FILE *to, const char *date, const char *sub, const char *about)
{
    char upper[64];
    snprintf(upper, sizeof upper, "%s", sub);
    for (char *p = upper; *p; p++)
        if (*p >= 'a' && *p <= 'z')
            *p = (char)(*p - 'a' + 'A');
    fprintf(to, ".TH TENON%s%s 1 %s \"Tenon %s\" \"User Commands\"\n.SH NAME\ntenon%s%s \\- ", *upper ? "\\-" : "",
            upper, date, tn_version(), *sub ? "\\-" : "", sub);
    text(to, about);
    fputc('\n', to);
}

static void see_also(FILE *to, const char *but)
{
    fputs(".SH SEE ALSO\n", to);
    bool first = true;
    if (*but) {
        fputs(".BR tenon (1)", to);
        first = false;
    }
    for (const cli_entry *e = cli_commands; e->name; e++)
        if (strcmp(e->name, but) != 0) {
            fprintf(to, "%s.BR tenon\\-%s (1)", first ? "" : ",\n", e->name);
            first = false;
        }
    fputc('\n', to);
}

static void item(FILE *to, const option *o)
{
    fprintf(to, ".TP\n\\fB%s", o->name[1] ? "\\-\\-" : "\\-");
    text(to, o->name);
    fputs("\\fR", to);
    if (*o->value) {
        fputs(" \\fI", to);
        text(to, o->value);
        fputs("\\fR", to);
    }
    fputc('\n', to);
    text(to, o->help);
    fputc('\n', to);
}

static void exit_status(FILE *to)
{
    fputs(".SH EXIT STATUS\n.TP\n.B 0\nit was done\n.TP\n.B 1\nit failed: a line on standard error says why, and what "
          "to do\n"
          ".TP\n.B 2\nthe command line was wrong\n",
          to);
}

void man_page(FILE *to, const char *date, const command *c)
{
    head(to, date, c->name, about_of(c->name));
    fprintf(to, ".SH SYNOPSIS\n.B tenon %s\n", c->name);
    if (*c->arguments) {
        text(to, c->arguments);
        fputc('\n', to);
    }
    fputs(".SH DESCRIPTION\n", to);
    text(to, c->about);
    fputs("\n.SH OPTIONS\n", to);
    for (int i = 0; i < c->n_options; i++)
        item(to, &c->options[i]);
    item(to, &(option){.name = "help", .value = "", .help = "print a short help"});
    exit_status(to);
    see_also(to, c->name);
}

/* What users may set: of the other variables some are the system's, some the tests'. */
static void environment(FILE *to)
{
    fputs(".SH ENVIRONMENT\n.B tenon doctor\nlists those that are set, and says what is wrong with them.\n", to);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const tn__variable *v = &variables[i];
        if ((strncmp(v->name, "TENON_", 6) != 0 && strncmp(v->name, "CUDA_", 5) != 0) || !strcmp(v->readers, "tests"))
            continue;
        fprintf(to, ".TP\n.B %s\n", v->name);
        text(to, v->meaning);
        fputc('\n', to);
    }
}

void man_overview(FILE *to, const char *date)
{
    head(to, date, "", "train a digit classifier, list devices, say what is missing");
    fputs(".SH SYNOPSIS\n.B tenon\n.I COMMAND\n[OPTIONS]\n.SH DESCRIPTION\n"
          "The command of Tenon, a tensor library for C and Python.\nEach of its commands has a page.\n.SH COMMANDS\n",
          to);
    for (const cli_entry *e = cli_commands; e->name; e++) {
        fprintf(to, ".TP\n.BR tenon\\-%s (1)\n", e->name);
        text(to, e->about);
        fputc('\n', to);
    }
    fputs(".SH OPTIONS\n", to);
    item(to, &(option){.name = "help", .value = "", .help = "list the commands; after a command: its options"});
    item(to, &(option){.name = "version", .value = "", .help = "print the version"});
    environment(to);
    fputs(".SH FILES\n.TP\n.I \\(ti/.cache/tenon\nkernels that were compiled for GPUs\n", to);
    exit_status(to);
    see_also(to, "");
}
