/* ops/sort/cpu_select.inc.h: the k-th of keys of type W. They are counted by their first digit; those of the digit that the k-th
 * is among are left, until few are. */
static W SELECT(W *x, int64_t n, int64_t k, int bits)
{
    while (n > TN__FEW_WORDS && bits > 0) {
        const int digit = TN_MIN(n < LONG ? 8 : 11, bits);
        const W mask = (W)(((W)1 << digit) - 1);
        uint32_t count[2][DIGITS]; /* of every other one: what was just counted need not be waited for */
        int64_t m = 0;
        W found = 0;
        bits -= digit;
        memset(count[0], 0, (size_t)(mask + 1) * sizeof **count);
        memset(count[1], 0, (size_t)(mask + 1) * sizeof **count);
        for (int64_t i = 0; i + 1 < n; i += 2) {
            count[0][x[i] >> bits & mask]++;
            count[1][x[i + 1] >> bits & mask]++;
        }
        if (n % 2)
            count[0][x[n - 1] >> bits & mask]++;
        for (; k >= (int64_t)count[0][found] + count[1][found]; found++)
            k -= (int64_t)count[0][found] + count[1][found];
        if ((int64_t)count[0][found] + count[1][found] == n)
            continue;
        for (int64_t i = 0; i < n; i++) {
            x[m] = x[i];
            m += (x[i] >> bits & mask) == found;
        }
        n = m;
    }
    if (bits == 0)
        return x[0];
    for (int64_t i = 1; i < n; i++) {
        const W key = x[i];
        int64_t at = i;
        for (; at > 0 && x[at - 1] > key; at--)
            x[at] = x[at - 1];
        x[at] = key;
    }
    return x[k];
}
#undef W
#undef SELECT
