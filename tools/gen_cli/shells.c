/* Completions: a table for bash, whose text reads it (completion.bash), and the languages of zsh and fish. */
#include "gen_cli.h"
#include <string.h>

/* ---- bash: a line 'COMMAND WHAT KIND WORDS' for each option and argument ---- */

static void bash_argument(FILE *to, const command *c, int place, const char *ending)
{
    fprintf(to, "%s %d file %s\n", c->name, place, ending);
}

void bash_table(FILE *to, const command *c)
{
    static const char *const kinds[] = {"none", "text", "folder", "file", "words"};
    for (int i = 0; i < c->n_options; i++) {
        const option *o = &c->options[i];
        fprintf(to, "%s %s%s %s", c->name, dashes_of(o), o->name, kinds[value_of(o)]);
        if (value_of(o) == VALUE_WORDS) {
            fputc(' ', to);
            print_words(to, o, " ", ":");
        }
        fputc('\n', to);
    }
    fprintf(to, "%s --help none\n", c->name);
    each_argument(c, to, bash_argument);
}

/* ---- zsh ---- */

/* Between single quotes, where ':', '[' and ']' would end what is described. */
static void zsh_text(FILE *to, const char *p)
{
    for (; *p; p++)
        if (*p == '\'')
            fputs("'\\''", to);
        else if (strchr(":[]\\", *p))
            fprintf(to, "\\%c", *p);
        else
            fputc(*p, to);
}

void zsh_head(FILE *to)
{
    fputs(
        "#compdef tenon\n# Made from the tables that 'tenon COMMAND --help' is printed from.\n\n_tenon() {\n"
        "    local -a commands\n    local curcontext=$curcontext state line\n    typeset -A opt_args\n    commands=(\n",
        to);
    for (const cli_entry *e = cli_commands; e->name; e++) {
        fprintf(to, "        '%s:", e->name);
        zsh_text(to, e->about);
        fputs("'\n", to);
    }
    fputs(
        "    )\n    _arguments -C '(- *)--help[list the commands]' '(- *)--version[print the version]' \\\n"
        "        '1: :->command' '*:: :->rest' && return\n"
        "    if [[ $state == command ]]; then\n        _describe -t commands command commands\n        return\n    fi\n"
        "    case $words[1] in\n",
        to);
}

static void zsh_option(FILE *to, const option *o)
{
    fprintf(to, "            '%s%s%s[", dashes_of(o), o->name, o->name[1] && o->kind != OPT_FLAG ? "=" : "");
    zsh_text(to, o->help);
    fputc(']', to);
    if (o->kind != OPT_FLAG) {
        fputc(':', to);
        zsh_text(to, o->value);
        fputc(':', to);
    }
    switch (value_of(o)) {
    case VALUE_FOLDER: fputs("_files -/", to); break;
    case VALUE_FILE: fputs("_files", to); break;
    case VALUE_WORDS:
        fputc('(', to);
        print_words(to, o, " ", "\\:");
        fputc(')', to);
        break;
    default: break;
    }
    fputs("' \\\n", to);
}

/* One pattern for a place: of "IMAGE.png|IMAGE.npy" it is '*(.png|.npy)'. */
static void zsh_argument(FILE *to, const command *c, int place, const char *ending)
{
    static int before; /* the place whose pattern is open */
    (void)c;
    if (before && before != place)
        fputs(")\"' \\\n", to);
    if (place && before == place)
        fprintf(to, "|%s", ending);
    else if (place)
        fprintf(to, "            '%d:file:_files -g \"*(%s", place, ending);
    before = place;
}

void zsh_command(FILE *to, const command *c)
{
    fprintf(to, "    %s)\n        _arguments \\\n", c->name);
    for (int i = 0; i < c->n_options; i++)
        zsh_option(to, &c->options[i]);
    each_argument(c, to, zsh_argument);
    zsh_argument(to, c, 0, "");
    fputs("            '--help[print a short help]'\n        ;;\n", to);
}

void zsh_tail(FILE *to)
{
    fputs("    esac\n}\n\n_tenon \"$@\"\n", to);
}

/* ---- fish ---- */

static void fish_text(FILE *to, const char *p)
{
    fputc('\'', to);
    for (; *p; p++) {
        if (*p == '\'' || *p == '\\')
            fputc('\\', to);
        fputc(*p, to);
    }
    fputc('\'', to);
}

void fish_head(FILE *to)
{
    fputs("# Made from the tables that 'tenon COMMAND --help' is printed from.\ncomplete -c tenon -f\n"
          "complete -c tenon -n __fish_use_subcommand -l version -d 'print the version'\n"
          "complete -c tenon -l help -d 'print a short help'\n",
          to);
    for (const cli_entry *e = cli_commands; e->name; e++) {
        fprintf(to, "complete -c tenon -n __fish_use_subcommand -a %s -d ", e->name);
        fish_text(to, e->about);
        fputc('\n', to);
    }
}

static void fish_argument(FILE *to, const command *c, int place, const char *ending)
{
    (void)place;
    fprintf(to, "complete -c tenon -n '__fish_seen_subcommand_from %s' -a '(__fish_complete_suffix %s)'\n", c->name,
            ending);
}

void fish_command(FILE *to, const command *c)
{
    for (int i = 0; i < c->n_options; i++) {
        const option *o = &c->options[i];
        fprintf(to, "complete -c tenon -n '__fish_seen_subcommand_from %s' -%c %s -d ", c->name, o->name[1] ? 'l' : 's',
                o->name);
        fish_text(to, o->help);
        switch (value_of(o)) {
        case VALUE_NONE: break;
        case VALUE_TEXT: fputs(" -x", to); break;
        case VALUE_FOLDER: fputs(" -x -a '(__fish_complete_directories)'", to); break;
        case VALUE_FILE: fputs(" -r -F", to); break;
        case VALUE_WORDS:
            fputs(" -x -a '", to);
            print_words(to, o, " ", ":");
            fputc('\'', to);
            break;
        }
        fputc('\n', to);
    }
    each_argument(c, to, fish_argument);
}
