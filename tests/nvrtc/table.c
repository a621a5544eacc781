/* The table: made, printed, compared with what stands in docs/gpu-kernels.md. */
#include "table.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOCUMENT TENON_SOURCE "/docs/gpu-kernels.md"

static const int archs[TABLE_ARCHS] = {75, 80, 90};

static need larger(need a, need b)
{
    return (need){TN_MAX(a.registers, b.registers), TN_MAX(a.stack, b.stack)};
}

void table_add(table *t, tn__gpu_family family, int arch, const facts *f)
{
    for (int i = 0; i < TABLE_ARCHS; i++)
        if (archs[i] == arch) {
            need *n = &t->most[family][i];
            *n = larger(*n, (need){(uint16_t)f->registers, (uint16_t)f->stack});
        }
}

void table_merge(table *t, const table *other)
{
    for (int f = 0; f < TN__FAMILIES; f++)
        for (int i = 0; i < TABLE_ARCHS; i++)
            t->most[f][i] = larger(t->most[f][i], other->most[f][i]);
}

void table_print(const table *t, const nvrtc *n)
{
    printf("| CUDA %d.%d | sm_75 | sm_80 | sm_90 |\n|---|---|---|---|\n", n->major, n->minor);
    for (int f = 0; f < TN__FAMILIES; f++) {
        const need *m = t->most[f];
        if (m[0].registers)
            printf("| %s | %u, %u | %u, %u | %u, %u |\n", tn__gpu_family_name((tn__gpu_family)f), m[0].registers,
                   m[0].stack, m[1].registers, m[1].stack, m[2].registers, m[2].stack);
    }
}

/* The document's row of a family. */
static bool row_of(const char *document, const char *family, need row[TABLE_ARCHS])
{
    char head[64];
    unsigned v[2 * TABLE_ARCHS];
    snprintf(head, sizeof head, "\n| %s |", family);
    const char *p = strstr(document, head);
    if (!p || sscanf(p + strlen(head), " %u, %u | %u, %u | %u, %u |", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5]) != 6)
        return false;
    for (int i = 0; i < TABLE_ARCHS; i++)
        row[i] = (need){(uint16_t)v[2 * i], (uint16_t)v[2 * i + 1]};
    return true;
}

static bool family_holds(const char *document, tn__gpu_family family, const need *found)
{
    const char *name = tn__gpu_family_name(family);
    need row[TABLE_ARCHS];
    bool ok = true;
    if (!row_of(document, name, row)) {
        printf("  docs/gpu-kernels.md has no row of %s\n", name);
        return false;
    }
    for (int i = 0; i < TABLE_ARCHS; i++)
        if (found[i].registers > row[i].registers || found[i].stack > row[i].stack) {
            printf("  %s takes %u registers and %u bytes of stack of sm_%d, docs/gpu-kernels.md says %u and %u\n", name,
                   found[i].registers, found[i].stack, archs[i], row[i].registers, row[i].stack);
            ok = false;
        }
    return ok;
}

static char *read_document(void)
{
    FILE *f = fopen(DOCUMENT, "r");
    char *text = calloc(1, 1 << 20);
    if (f && text)
        text[fread(text, 1, (1 << 20) - 1, f)] = 0;
    if (f)
        fclose(f);
    return text;
}

bool table_holds(const table *t, const nvrtc *n)
{
    int major = 0, minor = 0;
    bool ok = true;
    char *document = read_document();
    const char *head = document ? strstr(document, "\n| CUDA ") : NULL;
    if (!head || sscanf(head, "\n| CUDA %d.%d |", &major, &minor) != 2) {
        printf("  docs/gpu-kernels.md has no table\n");
        ok = false;
    } else if (major != n->major || minor != n->minor) {
        printf("skipped: the table of docs/gpu-kernels.md: it is of CUDA %d.%d, here is %d.%d\n", major, minor,
               n->major, n->minor);
    } else {
        for (int f = 0; f < TN__FAMILIES; f++)
            if (t->most[f][0].registers || t->most[f][1].registers || t->most[f][2].registers)
                ok = family_holds(document, (tn__gpu_family)f, t->most[f]) && ok;
    }
    free(document);
    return ok;
}
