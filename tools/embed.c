/* tools/embed.c: writes files as C text, at build time, so that kernels travel inside the library:
 *
 *     embed name=file ... > texts.h
 *
 * makes a table of names and texts, { "name", "its bytes" }, the last entry {NULL, NULL}. Bytes are written as numbers:
 * a string literal of C may be too short for a file. */
#include <stdio.h>
#include <string.h>

static int put_file(const char *path, size_t index)
{
    FILE *f = fopen(path, "rb");
    int c;
    unsigned column = 0;
    if (!f) {
        fprintf(stderr, "embed: cannot open %s\n", path);
        return 0;
    }
    printf("static const char text_%zu[] = {", index);
    while ((c = fgetc(f)) != EOF)
        printf("%s%d,", column++ % 24 == 0 ? "\n    " : "", c);
    printf("0};\n");
    const int ok = !ferror(f);
    fclose(f);
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
