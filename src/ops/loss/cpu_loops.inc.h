/* ops/loss/cpu_loops.inc.h: the share that each of a row has in its sum of powers. */
#define LOOPS_loss \
    { \
        .shares = TWO(shares) \
    }

#if TN_IS_FLOAT

static void E(shares)(void *out, const void *x_, double most, double shift, double scale, int64_t n)
{
    const T *x = x_, m = (T)most, s = (T)shift, by = (T)scale;
    T *o = out;
    TN_IVDEP
    for (int64_t i = 0; i < n; i++)
        o[i] = by * M(exp_down)(x[i] - m - s);
}

#endif
