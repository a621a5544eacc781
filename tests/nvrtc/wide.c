/* Which kernels load and store 16 bytes at once: where rows are dense, these are what makes memory as fast as it is, and
 * compilers take such an access apart where they do not see that it is aligned. */
#include "judge.h"
#include "core/dtype.h"
#include <string.h>

static int64_t size_of(tn_dtype d)
{
    return d ? (int64_t)tn__dtype_size(d) : 0;
}

/* ---- in which units ---- */
static bool all(const tn__gpu_unit *u)
{
    return u != NULL;
}

/* Rows that ask whole numbers whether they are NaN, and the like, need not read them. */
static bool floating(const tn__gpu_unit *u)
{
    return tn__dtype_is_float(u->in);
}

/* Of vectors of the input's elements the results fill 16 bytes. */
static bool wide_result(const tn__gpu_unit *u)
{
    return size_of(u->out) >= size_of(u->in);
}

/* Dtypes of different sizes go element by element. */
static bool same_size(const tn__gpu_unit *u)
{
    return size_of(u->out) == size_of(u->in);
}

/* Copies that convert take as many elements as fill 16 bytes of the smaller dtype, of single bytes 8. */
static bool copied_in(const tn__gpu_unit *u)
{
    return size_of(u->in) > 1 || same_size(u);
}

static bool copied_out(const tn__gpu_unit *u)
{
    return size_of(u->out) > 1 || same_size(u);
}

/* A block of random numbers is 16 bytes of the compute type. */
static bool whole_block(const tn__gpu_unit *u)
{
    return size_of(u->out) >= size_of(u->compute);
}

/* index.k: elements of 16 bytes, whatever they mean */
static bool element_of_16(const tn__gpu_unit *u)
{
    return u->variant & 2;
}

typedef bool (*where)(const tn__gpu_unit *u);

/* NULL: in none */
static const struct {
    tn__gpu_family family;
    const char *kernel;
    where loads, stores;
} rules[] = {
    {TN__FAMILY_elementwise, "flat", floating, wide_result},
    {TN__FAMILY_elementwise, "strided", floating, wide_result},
    {TN__FAMILY_copy, "flat", copied_in, copied_out},
    {TN__FAMILY_copy, "strided", copied_in, copied_out},
    {TN__FAMILY_fill, "flat", NULL, all},
    {TN__FAMILY_cat, "cat", all, all},
    {TN__FAMILY_index, "gather", element_of_16, element_of_16},
    {TN__FAMILY_both, "both", all, all},
    {TN__FAMILY_optim, "sgd", all, all},
    {TN__FAMILY_optim, "adam", all, all},
    {TN__FAMILY_optim, "rule", all, all},
    {TN__FAMILY_random, "uniform", NULL, whole_block},
    {TN__FAMILY_random, "normal", NULL, whole_block},
    {TN__FAMILY_random, "dropout", whole_block, whole_block},
    {TN__FAMILY_reduce, "single", all, NULL},
    {TN__FAMILY_reduce, "rows", all, NULL},
    {TN__FAMILY_reduce, "columns", all, NULL},
    {TN__FAMILY_argreduce, "single", all, NULL},
    {TN__FAMILY_argreduce, "rows", all, NULL},
    {TN__FAMILY_var, "single", all, NULL},
    {TN__FAMILY_var, "rows", all, NULL},
    {TN__FAMILY_scan, "sums", all, NULL},
    {TN__FAMILY_scan, "rows", all, all},
    {TN__FAMILY_extreme, "ends", all, NULL},
    {TN__FAMILY_extreme, "rows", all, all},
    {TN__FAMILY_softmax, "held", all, same_size},
    {TN__FAMILY_softmax, "rows", all, same_size},
    {TN__FAMILY_softmax, "stats", all, NULL},
    {TN__FAMILY_softmax, "apply", same_size, same_size},
    {TN__FAMILY_norm, "held", all, all},
    {TN__FAMILY_select, "whole", all, NULL},
    {TN__FAMILY_select, "count", all, NULL},
    {TN__FAMILY_select, "gather", all, NULL},
};

/* Kernels of many rows in one text have their row's name before theirs. */
static bool is_named(const char *kernel, const char *name)
{
    const size_t n = strlen(kernel), m = strlen(name);
    return n >= m && !strcmp(kernel + n - m, name) && (n == m || kernel[n - m - 1] == '_');
}

wide judge_wide(const tn__gpu_unit *u, const char *kernel)
{
    for (size_t i = 0; i < TN_COUNT(rules); i++)
        if (rules[i].family == u->family && is_named(kernel, rules[i].kernel))
            return (wide){rules[i].loads && rules[i].loads(u), rules[i].stores && rules[i].stores(u)};
    return (wide){0};
}
