/* What is written where; what shells and pages ask of a table. */
#include "gen_cli.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *folder, *date;
static FILE *bash, *zsh, *fish;

value_kind value_of(const option *o)
{
    if (o->kind == OPT_FLAG)
        return VALUE_NONE;
    if (!strcmp(o->value, "DIR"))
        return VALUE_FOLDER;
    if (!strcmp(o->value, "FILE"))
        return VALUE_FILE;
    bool word = !strcmp(o->value, "DEVICE");
    for (const char *p = o->value; *p; p++)
        word = word || islower((unsigned char)*p);
    return word ? VALUE_WORDS : VALUE_TEXT;
}

void print_words(FILE *to, const option *o, const char *between, const char *colon)
{
    const char *p = strcmp(o->value, "DEVICE") ? o->value : devices_values;
    for (; *p; p++)
        if (*p == '|' || *p == ':')
            fputs(*p == '|' ? between : colon, to);
        else
            fputc(*p, to);
}

void each_argument(const command *c, FILE *to, void (*each)(FILE *to, const command *c, int place, const char *ending))
{
    int place = 1;
    for (const char *p = c->arguments; *p && *p != '['; p += strspn(p, " "), place++)
        for (bool more = true; more; p += more) {
            size_t n = strcspn(p, " |"), dot = strcspn(p, ".");
            char ending[32];
            snprintf(ending, sizeof ending, "%.*s", dot < n ? (int)(n - dot) : 0, p + dot);
            each(to, c, place, ending);
            more = p[n] == '|';
            p += n;
        }
}

const char *about_of(const char *name)
{
    const cli_entry *e = cli_commands;
    while (strcmp(e->name, name) != 0)
        e++;
    return e->about;
}

const char *dashes_of(const option *o)
{
    return o->name[1] ? "--" : "-";
}

static FILE *create(const char *sub, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, sub);
    mkdir(path, 0777); /* it may be there */
    snprintf(path, sizeof path, "%s/%s/%s", folder, sub, name);
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        exit(1);
    }
    return file;
}

static void finish(FILE *file)
{
    if (ferror(file) || fclose(file) != 0) {
        perror("gen_cli");
        exit(1);
    }
}

static void describe(const command *c)
{
    char name[64];
    snprintf(name, sizeof name, "tenon-%s.1", c->name);
    FILE *page = create("man", name);
    man_page(page, date, c);
    finish(page);
    bash_table(bash, c);
    zsh_command(zsh, c);
    fish_command(fish, c);
}

/* The text on standard input, with the tables in place of a line '@TABLE@'. */
static void bash_file(void)
{
    char line[512];
    while (fgets(line, sizeof line, stdin))
        if (!strcmp(line, "@TABLE@\n"))
            for (const cli_entry *e = cli_commands; e->name; e++)
                e->run(0, NULL);
        else
            fputs(line, bash);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: gen_cli FOLDER DATE < completion.bash\n");
        return 2;
    }
    folder = argv[1];
    date = argv[2];
    bash = create("bash", "tenon");
    zsh = create("zsh", "_tenon");
    fish = create("fish", "tenon.fish");
    zsh_head(zsh);
    fish_head(fish);
    cli_describe = describe;
    bash_file();
    zsh_tail(zsh);
    finish(bash);
    finish(zsh);
    finish(fish);
    FILE *page = create("man", "tenon.1");
    man_overview(page, date);
    finish(page);
    return 0;
}
