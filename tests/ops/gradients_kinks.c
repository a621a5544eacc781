/* Where functions have no derivative: PyTorch 2.14.1's choice, from tests/data/golden/kinks.json. An entry: what is
 * called, its operands, and the gradients of the sum of its result. */
#include "ops/golden.h"
#include "ops/digest.h"
#include "ops/gradients.h"
#include "ops/rows.h"
#include <string.h>

static tn_tensor *second_of(const char *name, const char *prefix, tn_scalar *number)
{
    size_t n = strlen(prefix);
    if (strncmp(name, prefix, n) != 0)
        return NULL;
    *number = tn_scalar_f(strtod(name + n, NULL));
    return TN_NONE;
}

/* "pow number 2": the row with a number second; "number pow 2": first; "_clamp number 0 1". */
static tn_tensor *with_numbers(const char *name, tn_tensor *x)
{
    static const char *const known[] = {"pow", "clamp_min", "clamp_max", "remainder"};
    tn_scalar k;
    for (size_t i = 0; i < TN_COUNT(known); i++) {
        char prefix[40];
        snprintf(prefix, sizeof prefix, "%s number ", known[i]);
        if (second_of(name, prefix, &k))
            return row_call(row_find(known[i]), (const tn_scalar[]){tn_scalar_t(x), k, tn_scalar_none()}, false);
    }
    if (second_of(name, "number pow ", &k))
        return row_call(row_find("pow"), (const tn_scalar[]){k, tn_scalar_t(x), tn_scalar_none()}, false);
    if (!strcmp(name, "_clamp number 0 1"))
        return row_call(row_find("_clamp"), (const tn_scalar[]){tn_scalar_t(x), tn_scalar_f(0), tn_scalar_f(1)}, false);
    return NULL;
}

/* Reductions; operands were [5][3] or, the last three, [5][2]. */
static tn_tensor *reduced(const char *name, tn_tensor *flat)
{
    tn_tensor *x = tn_reshape(flat, TN_SHAPE(5, -1));
#define BOTH(op) \
    if (!strcmp(name, #op)) \
        return tn_##op(x); \
    if (!strcmp(name, #op " dim")) \
        return tn_##op(x, .dim = 1);
    BOTH(amax)
    BOTH(amin)
    BOTH(max)
    BOTH(min)
    BOTH(prod)
    BOTH(std)
    BOTH(var)
    BOTH(logsumexp)
    return NULL;
}

static tn_tensor *call(const char *name, tn_tensor *const *t, int n)
{
    const row *r = row_find(name);
    if (r)
        return row_call(r,
                        (const tn_scalar[]){tn_scalar_t(t[0]), tn_scalar_t(n > 1 ? t[1] : TN_NONE),
                                            tn_scalar_t(n > 2 ? t[2] : TN_NONE)},
                        false);
    if (!strcmp(name, "l1_loss"))
        return tn_l1_loss(t[0], t[1]);
    if (!strcmp(name, "mse_loss"))
        return tn_mse_loss(t[0], t[1]);
    if (!strcmp(name, "bce"))
        return tn_binary_cross_entropy_with_logits(t[0], t[1]);
    tn_tensor *y = with_numbers(name, t[0]);
    return y ? y : reduced(name, t[0]);
}

/* PyTorch computes a^-0.5 as 1 / sqrt(a), which is NaN for -inf and -inf for -0; pow gives 0 and inf. A product with
 * two zeros it takes to have no gradient, without a look at the others; here they are multiplied (so that the second
 * order is right), NaN and all. */
static int64_t differences;
static bool known_difference(const char *name, real x, real got, real want)
{
    if (!strcmp(name, "prod"))
        return isnan(got) && want == 0;
    if (strcmp(name, "pow number 0.5") != 0)
        return false;
    return (x == -KIT_INF && got == 0 && isnan(want)) || (x == 0 && signbit(x) && got == KIT_INF && want == -KIT_INF);
}

/* Equal, or a few ulp apart: PyTorch's formulas round in another order. */
static bool agrees(real got, real want)
{
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want);
    return got == want || kit_ulps(TN_F64, got, want) <= 8 || fabsl(got - want) <= 0x1p-50L;
}

static void compare(const char *name, int operand, const tn_tensor *x, const tn_tensor *got, const tn_tensor *want)
{
    kit.cases++;
    digest_note(name, "kinks", kit_host(got));
    for (int64_t i = 0; i < tn_tensor_numel(want); i++) {
        real g = got ? kit_item(got, i) : 0, w = kit_item(want, i);
        kit.elements++;
        if (known_difference(name, kit_item(x, i), g, w))
            differences++;
        else if (!agrees(g, w))
            kit_fail("%s at a kink: operand %d, element %lld (%Lg): %.17Lg, PyTorch %.17Lg", name, operand,
                     (long long)i, kit_item(x, i), g, w);
    }
}

static void entry(const cJSON *e)
{
    tn_tensor *t[3], *want[3];
    const char *name = cJSON_GetArrayItem(e, 0)->valuestring;
    const cJSON *operands = cJSON_GetArrayItem(e, 1), *gradients = cJSON_GetArrayItem(e, 2);
    int n = cJSON_GetArraySize(operands);
    tn_scope *scope = tn_scope_open();
    for (int i = 0; i < n; i++) {
        const char *hex = cJSON_GetArrayItem(gradients, i)->valuestring;
        t[i] = tn_requires_grad_(golden_tensor(cJSON_GetArrayItem(operands, i)->valuestring, TN_F64), true);
        want[i] = *hex ? golden_tensor(hex, TN_F64) : NULL;
    }
    tn_tensor *y = call(name, t, n);
    if (!y || tn_backward(tn_sum(y)))
        kit_fail("%s of kinks.json: %s", name, y ? tn_error_message() : "no such call here");
    for (int i = 0; i < n && y; i++)
        if (want[i])
            compare(name, i, t[i], tn_tensor_grad(t[i]), want[i]);
    tn_error_clear();
    tn_scope_close(scope);
}

void gradients_at_kinks(void)
{
    int64_t before = kit.cases, elements = kit.elements;
    cJSON *j = golden_open("kinks.json");
    const cJSON *e;
    cJSON_ArrayForEach(e, j) entry(e);
    if (kit.cases == before)
        kit_fail("kinks.json has nothing to compare");
    printf("count: kinks: %d functions, %lld elements, %lld that are meant to differ (pow 0.5 of -inf and -0, prod "
           "with NaN and "
           "zeros)\n",
           cJSON_GetArraySize(j), (long long)(kit.elements - elements), (long long)differences);
    cJSON_Delete(j);
}
