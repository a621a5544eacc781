/* Sums of products over named dimensions, as products of matrices: two operands at a time, from the left. */
#include "core/alloc.h"
#include "ops/compose.h"
#include <stdio.h>
#include <string.h>

/* A dimension's name: 0 .. 25 are A .. Z, 26 .. 51 a .. z, as they are ordered; from DOTS on, the dimensions under '...', counted
 * from the right of all of them. Sets of names are bits. ELLIPSIS stands for '...' until the operands are looked at. */
enum { LETTERS = 52, DOTS = LETTERS, ELLIPSIS = 255, TERM = 64 };

#define BIT(name) (UINT64_C(1) << (name))

typedef struct term {
    int32_t n;          /* how many were said; beyond TERM none is kept, for no tensor has so many dimensions */
    uint8_t name[TERM]; /* of an operand at hand: by dimension */
} term;

typedef struct operand {
    tn_tensor *t;
    term of;
} operand;

static int name_of(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

static char letter_of(int name)
{
    return (char)(name < 26 ? 'A' + name : 'a' + name - 26);
}

static int place_of(const term *t, int name)
{
    for (int32_t i = 0; i < t->n && i < TERM; i++)
        if (t->name[i] == name)
            return i;
    return -1;
}

static uint64_t names_of(const term *t)
{
    uint64_t set = 0;
    for (int32_t i = 0; i < t->n; i++)
        set |= BIT(t->name[i]);
    return set;
}

static void take_away(term *t, int32_t at)
{
    memmove(t->name + at, t->name + at + 1, (size_t)(--t->n - at));
}

/* ---- the equation ---- */

/* One term, text[0 .. n), at that index of the equation. number: of which operand; -1: of the result. */
static bool read_term(const char *text, size_t n, size_t at, int number, term *t)
{
    char whose[32] = "output";
    if (number >= 0)
        snprintf(whose, sizeof whose, "operand %d", number);
    t->n = 0;
    for (size_t i = 0; i < n; i++) {
        int name = name_of(text[i]);
        if (text[i] == ' ')
            continue;
        if (text[i] == '.') {
            if (place_of(t, ELLIPSIS) >= 0)
                return tn__error(TN_EINVAL, "einsum(): found '.' for %s %s an ellipsis%s was already found", whose,
                                 number < 0 ? "but" : "for which", number < 0 ? " (...)" : ""),
                       false;
            if (i + 2 >= n || text[i + 1] != '.' || text[i + 2] != '.')
                return tn__error(TN_EINVAL, "einsum(): found '.' for %s that is not part of any ellipsis%s", whose,
                                 number < 0 ? " (...)" : ""),
                       false;
            i += 2;
            name = ELLIPSIS;
        }
        if (name < 0)
            return tn__error(TN_EINVAL,
                             "einsum(): invalid subscript given at index %zu in the equation string, subscripts must "
                             "be in [a-zA-Z]",
                             at + i),
                   false;
        if (t->n < TERM)
            t->name[t->n] = (uint8_t)name;
        t->n++;
    }
    return true;
}

/* The terms of the operands, before the arrow. */
static bool read_operands(const char *text, size_t length, operand *x, int n)
{
    size_t at = 0;
    for (int i = 0;; i++) {
        const char *comma = memchr(text + at, ',', length - at);
        const size_t end = comma ? (size_t)(comma - text) : length;
        if (i == n)
            return tn__error(TN_EINVAL, "einsum(): fewer operands were provided than specified in the equation"), false;
        if (!read_term(text + at, end - at, at, i, &x[i].of))
            return false;
        at = end + 1;
        if (comma)
            continue;
        return i == n - 1 ||
               (tn__error(TN_EINVAL, "einsum(): more operands were provided than specified in the equation"), false);
    }
}

/* A name for each dimension of an operand: '...' covers those that no letter has. */
static bool name_dims(operand *x, int i, int32_t covered)
{
    const term said = x->of;
    const int32_t dots = place_of(&said, ELLIPSIS), ndim = x->t->ndim, letters = said.n - (dots >= 0);
    const int32_t under = ndim - letters;
    if (under < 0 || (dots < 0 && under > 0))
        return tn__error(TN_EINVAL,
                         "einsum(): the number of subscripts in the equation (%d) %s the number of dimensions (%d) for "
                         "operand %d%s",
                         (int)letters, dots < 0 ? "does not match" : "is more than", (int)ndim, i,
                         dots < 0 ? " and no ellipsis was given" : ""),
               false;
    x->of.n = 0;
    for (int32_t k = 0; k < said.n; k++)
        if (k != dots)
            x->of.name[x->of.n++] = said.name[k];
        else
            for (int32_t d = 0; d < under; d++)
                x->of.name[x->of.n++] = (uint8_t)(DOTS + covered - under + d);
    return true;
}

/* What the result has where nothing is said: what '...' covers, then the letters that stand once, in their order. */
static void usual_result(const operand *x, int n, int32_t covered, term *result)
{
    int seen[LETTERS] = {0};
    for (int i = 0; i < n; i++)
        for (int32_t k = 0; k < x[i].of.n; k++)
            if (x[i].of.name[k] < LETTERS)
                seen[x[i].of.name[k]]++;
    result->n = 0;
    for (int32_t d = 0; d < covered; d++)
        result->name[result->n++] = (uint8_t)(DOTS + d);
    for (int k = 0; k < LETTERS; k++)
        if (seen[k] == 1)
            result->name[result->n++] = (uint8_t)k;
}

static bool said_result(const char *text, size_t at, const operand *x, int n, int32_t covered, term *result)
{
    term said;
    uint64_t every = 0, seen = 0;
    if (!read_term(text, strlen(text), at, -1, &said))
        return false;
    for (int i = 0; i < n; i++)
        every |= names_of(&x[i].of);
    result->n = 0;
    for (int32_t k = 0; k < said.n && k < TERM; k++) {
        const int name = said.name[k];
        const bool twice = name != ELLIPSIS && seen & BIT(name);
        if (name != ELLIPSIS && (twice || !(every & BIT(name))))
            return tn__error(TN_EINVAL, "einsum(): output subscript %c %s", letter_of(name),
                             twice ? "appears more than once in the output"
                                   : "does not appear in the equation for any input operand"),
                   false;
        if (name != ELLIPSIS)
            seen |= BIT(name);
        for (int32_t d = 0; d < (name == ELLIPSIS ? covered : 1); d++)
            result->name[result->n++] = (uint8_t)(name == ELLIPSIS ? DOTS + d : name);
    }
    return true;
}

/* ---- operands ---- */

/* Each name once: of repeated ones the diagonal, which is the last dimension. */
static bool once(operand *x, int i)
{
    const term names = x->of;
    for (int32_t k = 0; k < names.n; k++)
        for (;;) {
            const int name = names.name[k], a = place_of(&x->of, name);
            int32_t b = a + 1;
            while (b < x->of.n && x->of.name[b] != name)
                b++;
            if (b == x->of.n)
                break;
            if (x->t->shape[a] != x->t->shape[b])
                return tn__error(TN_EINVAL,
                                 "einsum(): subscript %c is repeated for operand %d but the sizes don't match, %lld != "
                                 "%lld",
                                 letter_of(name), i, (long long)x->t->shape[b], (long long)x->t->shape[a]),
                       false;
            if (!(x->t = tn_diagonal(x->t, 0, a, b)))
                return false;
            take_away(&x->of, b);
            take_away(&x->of, a);
            x->of.name[x->of.n++] = (uint8_t)name;
        }
    return true;
}

static bool sizes_agree(const operand *x, int n)
{
    int64_t size[LETTERS + TN_MAX_DIMS];
    uint64_t known = 0;
    for (int i = 0; i < n; i++)
        for (int32_t d = 0; d < x[i].of.n; d++) {
            const int name = x[i].of.name[d];
            const int64_t have = x[i].t->shape[d];
            if (!(known & BIT(name)))
                size[name] = have;
            known |= BIT(name);
            if (size[name] != have && size[name] != 1 && have != 1) {
                const char letter[] = {letter_of(name), '\0'};
                return tn__error(TN_EINVAL,
                                 "einsum(): subscript %s has size %lld for operand %d which does not broadcast with "
                                 "previously seen size %lld",
                                 name < LETTERS ? letter : "...", (long long)have, i, (long long)size[name]),
                       false;
            }
            if (size[name] == 1)
                size[name] = have;
        }
    return true;
}

/* ---- products ---- */

/* x, summed over what is not kept. */
static bool sum_others(operand *x, uint64_t keep)
{
    int64_t dims[TN_MAX_DIMS];
    int32_t n = 0, left = 0;
    for (int32_t d = 0; d < x->of.n; d++)
        if (keep & BIT(x->of.name[d]))
            x->of.name[left++] = x->of.name[d];
        else
            dims[n++] = d;
    x->of.n = left;
    if (n)
        x->t = tn_sum(x->t, .dims = tn_dims_of(dims, n));
    return x->t != NULL;
}

/* x without the dimensions of size 1 that broadcast to the other's. */
static bool drop_ones(operand *x, const operand *other)
{
    for (int32_t d = 0; d < x->of.n && x->t; d++) {
        const int there = place_of(&other->of, x->of.name[d]);
        if (there < 0 || x->t->shape[d] != 1 || other->t->shape[there] == 1)
            continue;
        x->t = tn_squeeze(x->t, .dim = d);
        take_away(&x->of, d--);
    }
    return x->t != NULL;
}

/* Appends the names among x's that are in the set: where they lie, their sizes; returns how many elements those are. */
static int64_t collect(const operand *x, uint64_t set, term *names, int64_t *order, int64_t *shape)
{
    int64_t all = 1;
    for (int32_t d = 0; d < x->of.n; d++)
        if (set & BIT(x->of.name[d])) {
            order[names->n] = d;
            shape[names->n] = x->t->shape[d];
            names->name[names->n++] = x->of.name[d];
            all *= x->t->shape[d];
        }
    return all;
}

/* The same of names that another operand put in order. */
static void follow(const operand *x, const uint8_t *name, int32_t n, int64_t *order)
{
    for (int32_t i = 0; i < n; i++)
        order[i] = place_of(&x->of, name[i]);
}

/* x becomes its product with y, summed over what is not kept: batch x rows x inner by batch x inner x columns. */
static bool multiply(operand *x, operand *y, uint64_t keep)
{
    int64_t order[2 * TN_MAX_DIMS], other[2 * TN_MAX_DIMS], shape[2 * TN_MAX_DIMS], unused[2 * TN_MAX_DIMS];
    term left = {.n = 0}, right = {.n = 0};
    if (!drop_ones(x, y) || !drop_ones(y, x) || !sum_others(x, keep | names_of(&y->of)) ||
        !sum_others(y, keep | names_of(&x->of)))
        return false;
    const uint64_t both = names_of(&x->of) & names_of(&y->of);
    const int64_t n = collect(x, both & keep, &left, order, shape);
    const int32_t batch = left.n;
    const int64_t r = collect(x, ~both, &left, order, shape);
    const int32_t rows = left.n;
    const int64_t k = collect(x, both & ~keep, &left, order, unused);
    const int32_t inner = left.n - rows;
    follow(y, left.name, batch, other);
    follow(y, left.name + rows, inner, other + batch);
    right.n = batch + inner;
    const int64_t c = collect(y, ~both, &right, other, unused);
    const int32_t columns = right.n - batch - inner;
    if (rows + columns > TN_MAX_DIMS)
        return tn__error(TN_EINVAL, "einsum(): a product would have %d dimensions, more than %d", (int)(rows + columns),
                         TN_MAX_DIMS),
               false;
    memcpy(shape + rows, unused + batch + inner, (size_t)columns * sizeof *shape);
    tn_tensor *a = tn_reshape(tn_permute(x->t, tn_dims_of(order, left.n)), TN_SHAPE(n, r, k));
    tn_tensor *b = tn_reshape(tn_permute(y->t, tn_dims_of(other, right.n)), TN_SHAPE(n, k, c));
    x->t = tn_reshape(inner ? tn_bmm(a, b) : tn_mul(a, b), tn_dims_of(shape, rows + columns));
    memcpy(left.name + rows, right.name + batch + inner, (size_t)columns);
    left.n = rows + columns;
    x->of = left;
    return x->t != NULL;
}

static tn_tensor *multiply_all(operand *x, int n, const term *result)
{
    int64_t order[TN_MAX_DIMS];
    for (int i = 1; i < n; i++) {
        uint64_t keep = names_of(result);
        for (int k = i + 1; k < n; k++)
            keep |= names_of(&x[k].of);
        if (!multiply(x, &x[i], keep))
            return NULL;
    }
    if (!sum_others(x, names_of(result)))
        return NULL;
    follow(x, result->name, result->n, order);
    return tn_permute(x->t, tn_dims_of(order, result->n));
}

static tn_tensor *einsum(const char *equation, operand *x, int n)
{
    const char *arrow = strstr(equation, "->");
    const size_t length = arrow ? (size_t)(arrow - equation) : strlen(equation);
    int32_t covered = 0;
    term result;
    if (!read_operands(equation, length, x, n))
        return NULL;
    for (int i = 0; i < n; i++)
        if (place_of(&x[i].of, ELLIPSIS) >= 0)
            covered = TN_MAX(covered, x[i].t->ndim - x[i].of.n + 1);
    for (int i = 0; i < n; i++)
        if (!name_dims(&x[i], i, covered))
            return NULL;
    if (!arrow)
        usual_result(x, n, covered, &result);
    else if (!said_result(arrow + 2, length + 2, x, n, covered, &result))
        return NULL;
    for (int i = 0; i < n; i++)
        if (!once(&x[i], i))
            return NULL;
    return sizes_agree(x, n) ? multiply_all(x, n, &result) : NULL;
}

tn_tensor *tn__fn_einsum(const char *equation, tn_tensors operands)
{
    if (!equation)
        return tn__fail(TN_EINVAL, "einsum(): the equation is NULL");
    if (operands.n == 0)
        return tn__fail(TN_EINVAL, "einsum(): must provide at least one operand");
    if (!operands.t || operands.n > INT32_MAX)
        return tn__fail(TN_EINVAL, "einsum: not a list of tensors");
    for (size_t i = 0; i < operands.n; i++)
        if (!tn__usable("einsum", operands.t[i]))
            return NULL;
    const size_t bytes = operands.n * sizeof(operand);
    operand few[4], *x = operands.n <= TN_COUNT(few) ? few : tn__block_get(bytes);
    if (!x)
        return tn__error_memory("the operands of einsum", bytes), NULL;
    for (size_t i = 0; i < operands.n; i++)
        x[i].t = operands.t[i];
    tn_tensor *r = einsum(equation, x, (int)operands.n);
    if (x != few)
        tn__block_put(x, bytes);
    return r;
}
