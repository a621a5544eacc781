/* Structural rows: every public row of the list that is not elementwise has a case in one of the structural_*.c files, or a
 * reason not to. A row that has neither fails this program. */
#include "ops/structural.h"
#include <string.h>
#include <time.h>

static const char *const rows[] = {
#define NAME(name) #name,
#include "op/names.def"
};

static const structural_case *const files[] = {cases_reduce, cases_scan, cases_index,   cases_product,  cases_loss,
                                               cases_view,   cases_copy, cases_factory, cases_optim,    cases_pick,
                                               cases_bits,   cases_more, cases_nuclear, cases_composed, cases_arrange};

/* Public rows without a case, and why. */
static const struct {
    const char *row, *why;
} exempt[] = {
    {"", "none"},
};

static const structural_case *find(const char *row)
{
    for (size_t f = 0; f < TN_COUNT(files); f++)
        for (const structural_case *c = files[f]; c->row; c++)
            if (!strcmp(c->row, row))
                return c;
    return NULL;
}

static const char *reason(const char *row)
{
    for (size_t i = 0; i < TN_COUNT(exempt); i++)
        if (!strcmp(exempt[i].row, row))
            return exempt[i].why;
    return NULL;
}

/* The row whose case is the same function and came before: it served both. */
static const char *served_by(const structural_case *c)
{
    for (size_t i = 0; i < TN_COUNT(rows) && strcmp(rows[i], c->row) != 0; i++) {
        const structural_case *other = find(rows[i]);
        if (other && other->run == c->run)
            return rows[i];
    }
    return NULL;
}

static void run(const structural_case *c)
{
    int64_t cases = kit.cases, elements = kit.elements, failures = kit.failures;
    clock_t start = clock();
    kit_seed(1);
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
    for (size_t f = 0; f < TN_COUNT(files); f++)
        for (const structural_case *c = files[f]; c->row; c++) {
            bool known = false;
            for (size_t i = 0; i < TN_COUNT(rows); i++)
                known |= !strcmp(rows[i], c->row);
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
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        const structural_case *c = find(rows[i]);
        if (rows[i][0] == '_') { /* reached through public ones: gradients, pieces, optimisers */
            internal++;
            continue;
        }
        public_rows++;
        covered += c != NULL;
        if (argc > 1 && strcmp(argv[1], rows[i]) != 0)
            continue;
        if (c && argc < 2 && served_by(c))
            printf("%-34s with %s\n", rows[i], served_by(c));
        else if (c)
            run(c);
        else if (reason(rows[i]))
            printf("%-34s exempt: %s\n", rows[i], reason(rows[i]));
        else
            kit_fail("row '%s' has no case: write one in tests/ops/structural_*.c", rows[i]);
    }
    printf("count: %d public structural rows, %d of them with a case; %d internal ones; on %s\n", public_rows, covered,
           internal, kit_where());
    return kit_finish("structural");
}
