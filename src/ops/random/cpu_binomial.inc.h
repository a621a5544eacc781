/* ops/random/cpu_binomial.inc.h: binomial numbers, computed in T. Included once for float and once for double, with T, NAME(f)
 * (a function of this file) and FN(f) (the C library's of T). */

/* log(k!) less Stirling's formula of it */
static T NAME(stirling_tail)(T k)
{
    static const T tail[] = {(T)0.0810614667953272,  (T)0.0413406959554092, (T)0.0276779256849983,
                             (T)0.02079067210376509, (T)0.0166446911898211, (T)0.0138761288230707,
                             (T)0.0118967099458917,  (T)0.0104112652619720, (T)0.00925546218271273,
                             (T)0.00833056343336287};
    if (k <= 9)
        return tail[(int)k];
    const T square = (k + 1) * (k + 1);
    return ((T)1.0 / 12 - ((T)1.0 / 360 - (T)1.0 / 1260 / square) / square) / (k + 1);
}

/* Transformed rejection: Hoermann, Journal of Statistical Computation and Simulation 46 (1993), BTRS */
static T NAME(binomial_of_many)(T n, T p, source *s)
{
    const T deviation = FN(sqrt)(n * p * (1 - p)), b = (T)(1.15 + 2.53 * deviation);
    const T a = (T)(-0.0873 + 0.0248 * b + 0.01 * p), c = (T)(n * p + 0.5), sure = (T)(0.92 - 4.2 / b), r = p / (1 - p);
    const T alpha = (T)((2.83 + 5.1 / b) * deviation), m = FN(floor)((n + 1) * p);
    for (;;) {
        const T u = (T)(uniform(s) - 0.5);
        T v = (T)uniform(s);
        const T us = (T)(0.5 - FN(fabs)(u)), k = FN(floor)((2 * a / us + b) * u + c);
        if (us >= 0.07 && v <= sure)
            return k;
        if (k < 0 || k > n)
            continue;
        v = FN(log)(v * alpha / (a / (us * us) + b));
        const T most =
            (T)((m + 0.5) * FN(log)((m + 1) / (r * (n - m + 1))) + (n + 1) * FN(log)((n - m + 1) / (n - k + 1)) +
                (k + 0.5) * FN(log)(r * (n - k + 1) / (k + 1)) + NAME(stirling_tail)(m) + NAME(stirling_tail)(n - m) -
                NAME(stirling_tail)(k) - NAME(stirling_tail)(n - k));
        if (v <= most)
            return k;
    }
}

/* How many geometric numbers it takes to pass n: Devroye, Non-Uniform Random Variate Generation (1986), X.4 */
static T NAME(binomial_of_few)(T n, T p, source *s)
{
    const T log_not = FN(log1p)(-p);
    T sum = 0, k = 0;
    for (;; k++) {
        sum += FN(ceil)(FN(log)((T)uniform(s)) / log_not);
        if (sum > n)
            return k;
    }
}

static T NAME(binomial_below_half)(T n, T p, source *s)
{
    return n * p >= 10 ? NAME(binomial_of_many)(n, p, s) : NAME(binomial_of_few)(n, p, s);
}

static T NAME(binomial)(T n, T p, source *s)
{
    if (n <= 0 || p <= 0)
        return 0;
    if (p >= 1)
        return n;
    if (p <= (T)0.5)
        return NAME(binomial_below_half)(n, p, s);
    return p == p ? n - NAME(binomial_below_half)(n, 1 - p, s) : (T)NAN;
}
