/* tools/gen_cli: manual pages and completions of the command 'tenon', made from the tables that its --help is printed from:
 * each command is called, and hands its table over (cli_describe).
 *
 * gen_cli FOLDER DATE < completion.bash writes FOLDER/man/tenon.1, tenon-train.1 ..., FOLDER/bash/tenon, FOLDER/zsh/_tenon,
 * FOLDER/fish/tenon.fish. */
#ifndef TENON_GEN_CLI_H
#define TENON_GEN_CLI_H

#include "cli.h"
#include <stdio.h>

/* What follows an option, or stands as an argument. */
typedef enum value_kind { VALUE_NONE, VALUE_TEXT, VALUE_FOLDER, VALUE_FILE, VALUE_WORDS } value_kind;
value_kind value_of(const option *o);
/* Of VALUE_WORDS: the words with something between them; ':' as colon says. */
void print_words(FILE *to, const option *o, const char *between, const char *colon);
/* Arguments of a command beside options: calls 'each' for every alternative of each ("IMAGE.png|IMAGE.npy" has two), with
 * its place from 1, its name and what file names end with. */
void each_argument(const command *c, FILE *to, void (*each)(FILE *to, const command *c, int place, const char *ending));
/* c's line in the list of commands. */
const char *about_of(const char *name);
/* "--" or "-" before its name */
const char *dashes_of(const option *o);

void man_overview(FILE *to, const char *date);
void man_page(FILE *to, const char *date, const command *c);
void bash_table(FILE *to, const command *c);
void zsh_head(FILE *to);
void zsh_command(FILE *to, const command *c);
void zsh_tail(FILE *to);
void fish_head(FILE *to);
void fish_command(FILE *to, const command *c);

#endif
