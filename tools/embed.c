/* tools/embed.c: writes files as C text, at build time, so that kernels travel inside the library:
 *
 *     embed name=file ... > texts.h
 *
 * makes a table of names and texts, { "name", "its bytes" }, the last entry {NULL, NULL}. Bytes are written as numbers:
 * a string literal of C may be too short for a file. A line '#include "other"' becomes the file of that name in the same
 * folder: device compilers get one text. */
#include <stdio.h>
#include <string.h>

static void put_bytes(const char *bytes)
{
    static unsigned column;
    for (; *bytes; bytes++)
        printf("%s%d,", column++ % 24 == 0 ? "\n    " : "", *bytes);
}

static int put_lines(const char *path, int depth)
{
    char line[1024], name[256], other[1024];
    FILE *f = fopen(path, "rb");
    if (!f) {
        fprintf(stderr, "embed: cannot open %s\n", path);
        return 0;
    }
    int ok = 1;
    while (ok && fgets(line, sizeof line, f)) {
        const char *slash = strrchr(path, '/');
        if (sscanf(line, "#include \"%255[^\"]\"", name) != 1) {
            put_bytes(line);
            continue;
        }
        const int n = snprintf(other, sizeof other, "%.*s%s", slash ? (int)(slash - path + 1) : 0, path, name);
        ok = n > 0 && (size_t)n < sizeof other && depth < 8 && put_lines(other, depth + 1);
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
