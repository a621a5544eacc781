/* Structural rows: every public row of the list that is not elementwise has a case in the file of a family, or a
 * reason not to. A row that has neither fails this program. */
#include "ops/family.h"
#include <string.h>
#include <time.h>

static const char *const names[] = {
#define NAME(name) #name,
#include "op/names.def"
};

/* Public rows without a case, and why. */
static const struct {
    const char *row, *why;
} exempt[] = {
    {"", "none"},
};

/* The row's first case, or the one that follows 'after'. */
static const structural_case *find(const char *row, const structural_case *after)
{
    for (int f = 0; f < n_families; f++)
        for (const structural_case *c = families[f]->cases; c && c->row; c++) {
            if (!strcmp(c->row, row) && !after)
                return c;
            after = c == after ? NULL : after;
        }
    return NULL;
}

static const char *reason(const char *row)
{
    for (size_t i = 0; i < TN_COUNT(exempt); i++)
        if (!strcmp(exempt[i].row, row))
            return exempt[i].why;
    return NULL;
}

/* The row one of whose cases is the same function and came before: it served both. */
static const char *served_by(const structural_case *c)
{
    for (size_t i = 0; i < TN_COUNT(names) && strcmp(names[i], c->row) != 0; i++)
        for (const structural_case *other = find(names[i], NULL); other; other = find(names[i], other))
            if (other->run == c->run && names[i][0] != '_')
                return names[i];
    return NULL;
}

/* Each case draws as if it ran alone, and from the same seed whichever of its rows it runs for, so that the order of the list
 * changes no results (scripts/digest). */
static void run(const structural_case *c)
{
    int64_t cases = kit.cases, elements = kit.elements, failures = kit.failures;
    clock_t start = clock();
    kit_seed(1);
    tn_manual_seed(1);
    c->run();
    if (kit.cases == cases)
        kit_fail("the case of %s tried nothing", c->row);
    printf("%-34s %7lld cases %10lld elements %4lld failures %6.2f s\n", c->row, (long long)(kit.cases - cases),
           (long long)(kit.elements - elements), (long long)(kit.failures - failures),
           (double)(clock() - start) / CLOCKS_PER_SEC);
}

/* A case whose row is gone would never run. */
static void check_names(void)
{
    for (int f = 0; f < n_families; f++)
        for (const structural_case *c = families[f]->cases; c && c->row; c++) {
            bool known = false;
            for (size_t i = 0; i < TN_COUNT(names); i++)
                known |= !strcmp(names[i], c->row);
            if (!known)
                kit_fail("a case for '%s', which is no row of the list", c->row);
        }
}

int main(int argc, char **argv)
{
    int public_rows = 0, internal = 0, covered = 0;
    if (!kit_can_run())
        return 0;
    check_names();
    for (size_t i = 0; i < TN_COUNT(names); i++) {
        const structural_case *c = find(names[i], NULL);
        if (names[i][0] == '_') { /* reached through public ones: gradients, pieces, optimisers */
            internal++;
            continue;
        }
        public_rows++;
        covered += c != NULL;
        if (argc > 1 ? strcmp(argv[1], names[i]) != 0 : !kit_mine((int)i))
            continue;
        if (!c && reason(names[i]))
            printf("%-34s exempt: %s\n", names[i], reason(names[i]));
        else if (!c)
            kit_fail("row '%s' has no case: write one in tests/ops/<its family>.c", names[i]);
        for (; c; c = find(names[i], c))
            if (argc < 2 && served_by(c))
                printf("%-34s with %s\n", names[i], served_by(c));
            else
                run(c);
    }
    printf("count: %d public structural rows, %d of them with a case; %d internal ones; on %s\n", public_rows, covered,
           internal, kit_where());
    return kit_finish("structural");
}
