/* How exact rows are whose bfloat16 results have loops of their own (backend/cpu/math_narrow.inc.h): of every bfloat16 number,
 * against libm in double. The bound: half a unit in the last place, which rounding takes, and what the loop adds to it. */
#include "check.h"
#include "backend/cpu/isa.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 65536 };
#define BOUND 0.502

static uint16_t numbers[NUMBERS];

static double wide(uint16_t h)
{
    const uint32_t u = (uint32_t)h << 16;
    float f;
    memcpy(&f, &u, sizeof f);
    return (double)f;
}

/* Distance in units of the last place of the exact result; infinite where the result is wrong in kind. What is beyond the middle
 * of the largest number and the next may be infinite. */
static double error_of(double got, double exact)
{
    const double largest = 0x1.fep127, beyond = 0x1.ffp127;
    int e;
    if (isnan(got) || isnan(exact))
        return isnan(got) && isnan(exact) ? 0 : HUGE_VAL;
    if (isinf(got) || fabs(exact) > largest)
        return (isinf(got) ? fabs(exact) >= beyond * 0.99999
                           : fabs(got) == largest && fabs(exact) <= beyond * 1.00001) &&
                       signbit(got) == signbit(exact)
                   ? 0
                   : HUGE_VAL;
    if (exact == 0)
        return got == 0 && !signbit(got) == !signbit(exact) ? 0 : HUGE_VAL;
    frexp(exact, &e);
    return ldexp(fabs(got - exact), -(e - 8 < -133 ? -133 : e - 8));
}

static double ndtr_(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2);
}
static double gelu_(double x)
{
    return x == -HUGE_VAL ? (double)NAN : x * ndtr_(x);
}
static double logit_(double x)
{
    return log(x / (1 - x));
}

static tn_tensor *logit(tn_tensor *x)
{
    return tn_logit(x);
}
static tn_tensor *gelu(tn_tensor *x)
{
    return tn_gelu(x);
}

static const struct function {
    const char *name;
    tn_tensor *(*f)(tn_tensor *x);
    double (*exact)(double x);
} functions[] = {
    {"exp", (tn_exp), exp},       {"exp2", (tn_exp2), exp2},    {"log", (tn_log), log}, {"log2", (tn_log2), log2},
    {"log10", (tn_log10), log10}, {"log1p", (tn_log1p), log1p}, {"erf", (tn_erf), erf}, {"ndtr", (tn_ndtr), ndtr_},
    {"logit", logit, logit_},     {"gelu", gelu, gelu_},
};

static void every_number(void **state)
{
    bool right = true;
    (void)state;
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = (uint16_t)i;
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
        const struct function *f = &functions[k];
        double worst = 0;
        tn_scope *scope = tn_scope_open();
        tn_tensor *y = MADE(f->f(tn_from_data(numbers, TN_BF16, TN_SHAPE(NUMBERS))));
        const uint16_t *got = tn_data(y);
        for (int i = 0; i < NUMBERS; i++) {
            const double x = wide(numbers[i]), error = error_of(wide(got[i]), f->exact(x));
            if (error > BOUND)
                print_error("%s(%a) is %a, exact %a\n", f->name, x, wide(got[i]), f->exact(x));
            worst = error > worst ? error : worst;
        }
        print_message("%-8s bfloat16: largest error %.4f ulp (bound %g) on %s\n", f->name, worst, BOUND,
                      tn__isa()->name);
        right &= worst <= BOUND;
        tn_scope_close(scope);
    }
    assert_true(right);
}

/* Every 97th base against every 89th exponent, and exponents that are numbers. */
static void powers(void **state)
{
    enum { BASES = NUMBERS / 97, EXPONENTS = NUMBERS / 89 };
    static const double few[] = {2, 3, 1, 0.5, -0.5, -1, -2, 0, 4, 2.5};
    static uint16_t a[BASES], b[EXPONENTS];
    double worst = 0;
    (void)state;
    for (int i = 0; i < BASES; i++)
        a[i] = (uint16_t)(i * 97);
    for (int i = 0; i < EXPONENTS; i++)
        b[i] = (uint16_t)(i * 89);
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = MADE(tn_from_data(a, TN_BF16, TN_SHAPE(BASES, 1)));
    const uint16_t *got = tn_data(MADE(tn_pow(x, tn_from_data(b, TN_BF16, TN_SHAPE(1, EXPONENTS)))));
    for (int i = 0; i < BASES * EXPONENTS; i++) {
        const double base = wide(a[i / EXPONENTS]), power = wide(b[i % EXPONENTS]), exact = pow(base, power);
        const double error = error_of(wide(got[i]), exact);
        if (error > BOUND)
            print_error("pow(%a, %a) is %a, exact %a\n", base, power, wide(got[i]), exact);
        worst = error > worst ? error : worst;
    }
    for (size_t k = 0; k < sizeof few / sizeof *few; k++) {
        got = tn_data(MADE(tn_pow(x, few[k])));
        for (int i = 0; i < BASES; i++) {
            const double error = error_of(wide(got[i]), pow(wide(a[i]), few[k]));
            if (error > BOUND)
                print_error("pow(%a, %g) is %a, exact %a\n", wide(a[i]), few[k], wide(got[i]), pow(wide(a[i]), few[k]));
            worst = error > worst ? error : worst;
        }
    }
    print_message("pow      bfloat16: largest error %.4f ulp (bound %g)\n", worst, BOUND);
    assert_true(worst <= BOUND);
    tn_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_number), cmocka_unit_test(powers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
