/* backend/cpu/rows.inc.h: one dense loop for each elementwise row, for the compute type bound at present. Rows whose rule
 * makes integers floating have no integer loops, those of bits no floating ones. */
#ifdef __AVX512F__
/* Bits of a and of a mask: where a test chooses between a and 0, the compiler makes a load of a that the test masks, which waits
 * for what is tested (two of 16 MiB: 990 us, with this 780). */
static inline __attribute__((always_inline)) T E(tn_keep)(T a, bool test)
{
    const UT none = (UT)tn__no_bits;
    UT bits;
    memcpy(&bits, &a, sizeof bits);
    bits &= test ? (UT)~none : none;
    memcpy(&a, &bits, sizeof bits);
    return a;
}
static inline __attribute__((always_inline)) T E(tn_pick)(T a, T b, bool test)
{
    const UT none = (UT)tn__no_bits;
    UT of, other;
    memcpy(&of, &a, sizeof of);
    memcpy(&other, &b, sizeof other);
    other ^= (of ^ other) & (test ? (UT)~none : none);
    memcpy(&a, &other, sizeof a);
    return a;
}
#define TN_KEEP(a, test)     E(tn_keep)(a, test)
#define TN_WHERE(test, a, b) E(tn_pick)(a, b, test)
#endif

#include "op/element.h"
#include "op/special.h"

/* In place, out is a: element i is read before it is written, and nothing else of it is. What TN_ONCE reads stays in a
 * register. */
#define ROW(name, R, expr) \
    static void E(row_##name)(void *out, const void *a_, const void *b_, const void *c_, int64_t n) \
    { \
        R *o = out; \
        const T *pa = a_, *pb = b_, *pc = c_; \
        TN_ONCE(void) pa, (void)pb, (void)pc; \
        TN_IVDEP \
        for (int64_t i = 0; i < n; i++) { \
            const T a = TN_A, b = TN_B(pb), c = TN_C(pc); \
            (void)a, (void)b, (void)c; \
            o[i] = (R)(expr); \
        } \
    }

#if TN_IS_FLOAT

/* What takes many instructions an element goes a register at a time, the rest by way of a whole one: there is one loop, not three
 * for what is left by wider ones. */
enum { E(ROW_STEP) = TN_REGISTER / (int)sizeof(T) };

static void E(row_rest)(tn__loop row, T *out, const T *const of[3], int64_t at, int64_t n)
{
    _Alignas(64) T in[3][E(ROW_STEP)], some[E(ROW_STEP)];
    for (int k = 0; k < 3 && of[k]; k++) {
        memset(in[k], 0, sizeof in[k]);
        memcpy(in[k], of[k] + at, (size_t)n * sizeof(T));
    }
    row(some, in[0], of[1] ? in[1] : NULL, of[1] && of[2] ? in[2] : NULL, E(ROW_STEP));
    memcpy(out + at, some, (size_t)n * sizeof(T));
}

#define ROW_REST E(row_rest)
#define STEP_ROW(name, R, expr) \
    static void E(row_##name)(void *out, const void *a_, const void *b_, const void *c_, int64_t n) \
    { \
        T *o = out; \
        const T *pa = a_, *pb = b_, *pc = c_; \
        int64_t begin = 0; \
        (void)pb, (void)pc; \
        for (; begin + E(ROW_STEP) <= n; begin += E(ROW_STEP)) { \
            TN_IVDEP \
            for (int k = 0; k < E(ROW_STEP); k++) { \
                const int64_t i = begin + k; \
                const T a = TN_A, b = TN_B(pb), c = TN_C(pc); \
                (void)a, (void)b, (void)c; \
                o[i] = (T)(expr); \
            } \
        } \
        if (begin < n) \
            ROW_REST(E(row_##name), o, \
                     (const T *const[]){pa, TN_OPERANDS > 1 ? pb : NULL, TN_OPERANDS > 2 ? pc : NULL}, begin, \
                     n - begin); \
    }

#endif

#define ROW_0                           ROW
#define ROW_1                           STEP_ROW
#define TN_R_SAME(name, expr, steps)    ROW(name, T, expr)
#define TN_R_NUMBER(name, expr, steps)  ROW(name, T, expr)
#define TN_R_NEG(name, expr, steps)     ROW(name, T, expr)
#define TN_R_RELU(name, expr, steps)    ROW(name, T, expr)
#define TN_R_LONG(name, expr, steps)    ROW(name, T, expr)
#define TN_R_TEST(name, expr, steps)    ROW(name, uint8_t, expr)
#define TN_R_PROMOTE(name, expr, steps) ROW(name, T, expr)
#define TN_R_SUB(name, expr, steps)     ROW(name, T, expr)
#define TN_R_DIVIDE(name, expr, steps)  ROW(name, T, expr)
#define TN_R_POW(name, expr, steps)     ROW(name, T, expr)
#define TN_R_CLAMP(name, expr, steps)   ROW(name, T, expr)
#define TN_R_WHERE(name, expr, steps)   ROW(name, T, expr)
#define TN_R_FILL(name, expr, steps)    ROW(name, T, expr)
#if TN_IS_FLOAT
#define TN_R_FLOAT(name, expr, steps)    ROW_##steps(name, T, expr)
#define TN_R_FLOATING(name, expr, steps) ROW_##steps(name, T, expr)
#define TN_R_BITS(name, expr, steps)
#define TN_R_INTEGER(name, expr, steps)
#else
#define TN_R_FLOAT(name, expr, steps)
#define TN_R_FLOATING(name, expr, steps)
#define TN_R_BITS(name, expr, steps)    ROW(name, T, expr)
#define TN_R_INTEGER(name, expr, steps) ROW(name, T, expr)
#endif

#define TN_ONCE
#define TN_A                               pa[i]
#define TN_B(p)                            ((T)0)
#define TN_C(p)                            ((T)0)
#define TN_OPERANDS                        1
#define UNARY(name, rule, expr, da, steps) TN_##rule(name, expr, steps)
#include "op/elementwise.def"
#undef TN_OPERANDS
#define TN_OPERANDS 2
#undef TN_B
#define TN_B(p)                                 (p)[i]
#define BINARY(name, rule, expr, da, db, steps) TN_##rule(name, expr, steps)
#include "op/elementwise.def"
#undef TN_OPERANDS
#define TN_OPERANDS 3
#undef TN_C
#define TN_C(p)                                      (p)[i]
#define TERNARY(name, rule, expr, da, db, dc, steps) TN_##rule(name, expr, steps)
#include "op/elementwise.def"
#undef TN_OPERANDS

/* Rows once more where operands are one number throughout, whose address is given: light ones of two operands, floating, and
 * those of three of which a line 'numbers' says so. */
#undef TN_ONCE
#define TN_ONCE const T third = pc[0];
#undef TN_C
#define TN_C(p)                    third
#define NUMBER_C(name, rule, expr) TN_##rule(c_##name, expr, 0)
#include "op/elementwise.def"
#undef TN_ONCE
#define TN_ONCE const T second = pb[0], third = pc[0];
#undef TN_B
#define TN_B(p)                     second
#define NUMBER_BC(name, rule, expr) TN_##rule(bc_##name, expr, 0)
#include "op/elementwise.def"
#undef TN_ONCE
#define TN_ONCE const T second = pb[0];
#undef TN_C
#define TN_C(p)                    (p)[i]
#define NUMBER_B(name, rule, expr) TN_##rule(b_##name, expr, 0)
#include "op/elementwise.def"
#if TN_IS_FLOAT
#undef TN_C
#define TN_C(p)                  ((T)0)
#define LIGHT_BINARY(name, expr) ROW(second_##name, T, expr)
#include "op/elementwise.def"
#undef TN_ONCE
#define TN_ONCE const T first = pa[0];
#undef TN_A
#undef TN_B
#define TN_A                     first
#define TN_B(p)                  (p)[i]
#define LIGHT_BINARY(name, expr) ROW(first_##name, T, expr)
#include "op/elementwise.def"
#undef TN_A
#define TN_A pa[i]
#undef TN_C
#define TN_C(p) (p)[i]
#endif
#undef TN_ONCE
#define TN_ONCE
#undef TN_B
#define TN_B(p) (p)[i]

#if TN_IS_F32

/* Light rows once more, where a and the result are bfloat16: b and c are floats, as they are for the others; of two operands
 * once more where both are bfloat16, and where one is a float throughout; of three where b, and where b and c are bfloat16.
 * Operands become floats and results are rounded in registers (round_bfloats). */

/* Less than two registers, by way of as many as they hold: one loop less in each row. Bytes of an element, 0: one throughout. */
static void bfloat_rest(tn__loop row, uint16_t *out, const void *const of[3], const size_t size[3], int64_t at,
                        int64_t n)
{
    _Alignas(64) char in[3][BFLOATS * sizeof(float)];
    uint16_t some[BFLOATS];
    const void *p[3];
    for (int k = 0; k < 3; k++) {
        p[k] = size[k] && of[k] ? in[k] : of[k];
        if (p[k] != in[k])
            continue;
        memset(in[k], 0, sizeof in[k]);
        memcpy(in[k], (const char *)of[k] + (size_t)at * size[k], (size_t)n * size[k]);
    }
    row(some, p[0], p[1], p[2], BFLOATS);
    memcpy(out + at, some, (size_t)n * sizeof *out);
}

#define BFLOAT_ROW(name, expr, size_a, size_b, size_c) \
    static void bfloat_##name(void *out, const void *a_, const void *b_, const void *c_, int64_t n) \
    { \
        uint16_t *o = out; \
        const uint16_t *pa = a_; \
        const float *pb = b_, *pc = c_; \
        int64_t begin = 0; \
        TN_ONCE(void) pa, (void)pb, (void)pc; \
        for (; begin + BFLOATS <= n; begin += BFLOATS) { \
            float some[BFLOATS]; \
            TN_IVDEP \
            for (int k = 0; k < BFLOATS; k++) { \
                const int64_t i = begin + k; \
                const float a = TN_A, b = TN_B(pb), c = TN_C(pc); \
                (void)a, (void)b, (void)c; \
                some[k] = (expr); \
            } \
            round_bfloats(o + begin, some); \
        } \
        if (begin < n) \
            bfloat_rest(bfloat_##name, out, (const void *const[]){a_, b_, c_}, \
                        (const size_t[]){size_a, size_b, size_c}, begin, n - begin); \
    }
#undef TN_A
#define TN_A                      bf16_f32(pa[i])
#define LIGHT_TERNARY(name, expr) BFLOAT_ROW(name, expr, 2, 4, 4)
#include "op/elementwise.def"
#undef TN_B
#define TN_B(p)                   bf16_f32(((const uint16_t *)b_)[i])
#define LIGHT_TERNARY(name, expr) BFLOAT_ROW(second_##name, expr, 2, 2, 4)
#include "op/elementwise.def"
#undef TN_C
#define TN_C(p)                   bf16_f32(((const uint16_t *)c_)[i])
#define LIGHT_TERNARY(name, expr) BFLOAT_ROW(both_##name, expr, 2, 2, 2)
#include "op/elementwise.def"
#undef TN_B
#define TN_B(p) (p)[i]
#undef TN_C
#define TN_C(p)                  0.0F
#define LIGHT_BINARY(name, expr) BFLOAT_ROW(name, expr, 2, 4, 0)
#include "op/elementwise.def"
#undef TN_B
#define TN_B(p)                  bf16_f32(((const uint16_t *)b_)[i])
#define LIGHT_BINARY(name, expr) BFLOAT_ROW(both_##name, expr, 2, 2, 0)
#include "op/elementwise.def"
#undef TN_A
#undef TN_ONCE
#define TN_ONCE                  const float first = *(const float *)a_;
#define TN_A                     first
#define LIGHT_BINARY(name, expr) BFLOAT_ROW(first_##name, expr, 0, 2, 0)
#include "op/elementwise.def"
#undef TN_A
#undef TN_B
#undef TN_ONCE
#define TN_ONCE                  const float second = pb[0];
#define TN_A                     bf16_f32(pa[i])
#define TN_B(p)                  second
#define LIGHT_BINARY(name, expr) BFLOAT_ROW(second_##name, expr, 2, 0, 0)
#include "op/elementwise.def"
#undef TN_B
#undef TN_ONCE
#define TN_ONCE
#define TN_B(p)                 0.0F
#define LIGHT_UNARY(name, expr) BFLOAT_ROW(name, expr, 2, 0, 0)
#include "op/elementwise.def"
#undef TN_A
#define TN_A pa[i]

/* Rows once more whose results become bfloat16. */
#undef M
#define M(f)                   m_##f##_narrow
#define NARROW_ROW(name, expr) STEP_ROW(narrow_##name, float, expr)
#undef TN_B
#undef TN_C
#define TN_B(p)      0.0F
#define TN_C(p)      0.0F
#define TN_OPERANDS  1
#define NARROW_UNARY NARROW_ROW
#include "op/elementwise.def"
#undef TN_OPERANDS
#define TN_OPERANDS 2
#undef TN_B
#define TN_B(p)       (p)[i]
#define NARROW_BINARY NARROW_ROW
#include "op/elementwise.def"
#undef TN_OPERANDS
#define TN_OPERANDS 3
#undef TN_C
#define TN_C(p)        (p)[i]
#define NARROW_TERNARY NARROW_ROW
#include "op/elementwise.def"
#undef TN_OPERANDS
#undef M
#define M(f) m_##f##_f32
#undef NARROW_ROW

#endif

#undef TN_ONCE
#undef TN_A
#undef TN_B
#undef TN_C
#undef ROW
#undef ROW_REST
#undef STEP_ROW
#undef ROW_0
#undef ROW_1
#undef TN_R_SAME
#undef TN_R_NUMBER
#undef TN_R_NEG
#undef TN_R_RELU
#undef TN_R_LONG
#undef TN_R_TEST
#undef TN_R_PROMOTE
#undef TN_R_SUB
#undef TN_R_DIVIDE
#undef TN_R_POW
#undef TN_R_CLAMP
#undef TN_R_WHERE
#undef TN_R_FILL
#undef TN_R_FLOAT
#undef TN_R_FLOATING
#undef TN_R_BITS
#undef TN_R_INTEGER
