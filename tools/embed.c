/* tools/embed.c: writes files as C text, at build time, so that kernels travel inside the library:
 *
 *     embed [-Ifolder] name=file ... > texts.h
 *
 * makes a table of names and texts, { "name", "its bytes" }, the last entry {NULL, NULL}. Bytes are written as numbers:
 * a string literal of C may be too short for a file. A line '#include "other"' becomes the file of that name in the same
 * folder, or in the folder given: device compilers get one text, without comments and indentation (a quarter of it), line by
 * line. */
#include <stdio.h>
#include <string.h>

static void put_bytes(const char *bytes)
{
    static unsigned column;
    for (; *bytes; bytes++)
        printf("%s%d,", column++ % 24 == 0 ? "\n    " : "", *bytes);
}

/* Of what files include that is not beside them; "" or with a slash at its end. */
static char shared[1024];

/* The file that 'name' in an include of 'path' is. */
static int find_include(const char *path, const char *name, char *out, size_t size)
{
    const char *slash = strrchr(path, '/');
    int n = snprintf(out, size, "%.*s%s", slash ? (int)(slash - path + 1) : 0, path, name);
    FILE *f = n > 0 && (size_t)n < size ? fopen(out, "rb") : NULL;
    if (f)
        fclose(f);
    else
        n = snprintf(out, size, "%s%s", shared, name);
    return n > 0 && (size_t)n < size;
}

/* What a compiler reads of a line; *inside: of a comment that goes on. A comment is as a space, and keeps the backslash that
 * joins lines. */
static void shorten(char *line, int *inside)
{
    char *to = line;
    const char *p = line;
    const int joined = strlen(line) > 1 && !strcmp(line + strlen(line) - 2, "\\\n");
    for (; *p && *p != '\n'; p++) {
        if (*inside ? p[0] == '*' && p[1] == '/' : p[0] == '/' && p[1] == '*') {
            *inside = !*inside;
            p++;
            if (*inside && to > line)
                *to++ = ' ';
        } else if (!*inside && (to > line || (*p != ' ' && *p != '\t'))) {
            *to++ = *p;
        }
    }
    while (to > line && to[-1] == ' ')
        to--;
    if (joined && (to == line || to[-1] != '\\'))
        *to++ = '\\';
    strcpy(to, *p ? "\n" : ""); /* a line longer than its room comes in pieces */
}

static int put_lines(const char *path, int depth)
{
    char line[1024], name[256], other[1024];
    int inside = 0;
    FILE *f = fopen(path, "rb");
    if (!f) {
        fprintf(stderr, "embed: cannot open %s\n", path);
        return 0;
    }
    int ok = 1;
    while (ok && fgets(line, sizeof line, f)) {
        if (sscanf(line, "#include \"%255[^\"]\"", name) != 1) {
            shorten(line, &inside);
            put_bytes(line);
            continue;
        }
        ok = find_include(path, name, other, sizeof other) && depth < 8 && put_lines(other, depth + 1);
    }
    ok = ok && !ferror(f);
    fclose(f);
    return ok;
}

static int put_file(const char *path, size_t index)
{
    printf("static const char text_%zu[] = {", index);
    const int ok = put_lines(path, 0);
    printf("0};\n");
    return ok;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strncmp(argv[1], "-I", 2)) {
        snprintf(shared, sizeof shared, "%s/", argv[1] + 2);
        argv++;
        argc--;
    }
    for (int i = 1; i < argc; i++) {
        const char *path = strchr(argv[i], '=');
        if (!path) {
            fprintf(stderr, "embed: '%s' is not name=file\n", argv[i]);
            return 1;
        }
        if (!put_file(path + 1, (size_t)i))
            return 1;
    }
    printf("static const struct {\n    const char *name, *text;\n} texts[] = {\n");
    for (int i = 1; i < argc; i++)
        printf("    {\"%.*s\", text_%d},\n", (int)strcspn(argv[i], "="), argv[i], i);
    printf("    {0, 0},\n};\n");
    return fflush(stdout) ? 1 : 0;
}
