/* Calls of the public API by a record's name and arguments. Elementwise rows are called straight from the list: a new row is
 * tested as soon as records of its name exist. */
#include "ops/family.h"

/* ---- arguments ---- */

value record_arg(record *r, int i, const char *name)
{
    if (i >= 0 && i < r->n_args)
        return r->arg[i];
    for (int k = 0; k < r->n_kw; k++)
        if (!strcmp(r->kw[k].name, name)) {
            r->used |= 1U << k;
            return r->kw[k].v;
        }
    return (value){.kind = V_ABSENT};
}

/* ---- rows of the list by name ---- */

typedef tn_tensor *(*unary_fn)(tn_tensor *);
typedef tn_tensor *(*binary_fn)(const char *, tn_scalar, tn_scalar);
typedef tn_tensor *(*ternary_fn)(const char *, tn_scalar, tn_scalar, tn_scalar);

#include "op/ops_private.h"
static const struct {
    const char *name;
    unary_fn one;
    binary_fn two;
    ternary_fn three;
} elementwise[] = {
#define UNARY(name, ...)   {#name, (tn_##name), NULL, NULL},
#define BINARY(name, ...)  {#name, NULL, tn_##name##_at, NULL},
#define TERNARY(name, ...) {#name, NULL, NULL, tn_##name##_at},
#include "op/elementwise.def"
};

/* "nn.functional.relu" and "special.erf" are rows' names with a prefix. */
static const char *bare(const char *op)
{
    static const char *const prefixes[] = {"nn.functional.", "special."};
    for (size_t i = 0; i < TN_COUNT(prefixes); i++)
        if (!strncmp(op, prefixes[i], strlen(prefixes[i])))
            return op + strlen(prefixes[i]);
    return op;
}

static int find_row(const char *op)
{
    for (size_t i = 0; i < TN_COUNT(elementwise); i++)
        if (!strcmp(elementwise[i].name, bare(op)))
            return (int)i;
    return -1;
}

static adapter find_adapter(const char *op)
{
    for (int f = 0; f < n_families; f++)
        for (const named_adapter *a = families[f]->adapters; a && a->name; a++)
            if (!strcmp(a->name, op))
                return a->run;
    return NULL;
}

bool record_is_row(const char *op)
{
    return find_row(op) >= 0;
}

bool record_known(const char *op)
{
    return find_adapter(op) || find_row(op) >= 0;
}

bool record_run(record *r, results *out)
{
    adapter a = find_adapter(r->op);
    if (a)
        return a(r, out);
    int i = find_row(r->op);
    if (i < 0)
        return false;
    if (elementwise[i].one)
        return give(out, elementwise[i].one(r->input.t));
    tn_scalar first = scalar_of(r->input), second = scalar_of(record_arg(r, 0, "other"));
    if (elementwise[i].two)
        return give(out, elementwise[i].two(TN_HERE, first, second));
    return give(out, elementwise[i].three(TN_HERE, first, second, scalar_of(record_arg(r, 1, "value"))));
}
