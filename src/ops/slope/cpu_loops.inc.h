/* ops/slope/cpu_loops.inc.h: gradients of both operands of an elementwise row, one loop for each row that has a line 'both'. */
#define LOOPS_slope \
    { \
        .both = TWO(boths), .bfloat = boths_of_bfloats \
    }

#if TN_IS_FLOAT

/* What a row does not name is read from g, and the compiler drops it. */
#define BOTH(name, to_a, to_b, ...) \
    static void E(both_##name)(void *of_a, void *of_b, const void *const in[4], int64_t n) \
    { \
        T *first = of_a, *second = of_b; \
        const T *pg = in[0], *pa = in[1], *pb = in[2], *pout = in[3]; \
        TN_IVDEP \
        for (int64_t i = 0; i < n; i++) { \
            const T g = pg[i], a = pa[i], b = pb[i], out = pout[i]; \
            (void)a, (void)b, (void)out; \
            first[i] = (T)(to_a); \
            second[i] = (T)(to_b); \
        } \
    }
#include "op/elementwise.def"

static const tn__both_loop E(boths)[] = {
#define BOTH(name, ...) E(both_##name),
#include "op/elementwise.def"
};

#if TN_IS_F32
/* Results, rounded; or, where they are the same, what came. */
ALWAYS void bfloats_of(uint16_t *to, const uint16_t *g, const float *result, int64_t begin, int64_t end, bool same)
{
    if (same)
        memcpy(to + begin, g + begin, (size_t)(end - begin) * sizeof *to);
    else
        floats_to_bfloats(to + begin, 1, result, end - begin);
}

/* Some results at a time are floats first: rounding each for itself takes longer than both. */
#define BOTH(name, to_a, to_b, same_a, same_b) \
    static void of_bfloats_##name(void *of_a, void *of_b, const void *const in[4], int64_t n) \
    { \
        const uint16_t *pg = in[0], *pa = in[1], *pb = in[2], *pout = in[3]; \
        for (int64_t begin = 0, end; begin < n; begin = end) { \
            float first[BFLOATS], second[BFLOATS]; \
            end = n - begin < BFLOATS ? n : begin + BFLOATS; \
            TN_IVDEP \
            for (int64_t i = begin; i < end; i++) { \
                const float g = bf16_f32(pg[i]), a = bf16_f32(pa[i]), b = bf16_f32(pb[i]), out = bf16_f32(pout[i]); \
                (void)a, (void)b, (void)out; \
                first[i - begin] = (to_a); \
                second[i - begin] = (to_b); \
            } \
            bfloats_of(of_a, pg, first, begin, end, same_a); \
            bfloats_of(of_b, pg, second, begin, end, same_b); \
        } \
    }
#include "op/elementwise.def"

static const tn__both_loop boths_of_bfloats[] = {
#define BOTH(name, ...) of_bfloats_##name,
#include "op/elementwise.def"
};
#endif

#endif
