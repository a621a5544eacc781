/* Random numbers: Random123's known answers, the same numbers whatever the threads, the instruction set and the way they
 * are drawn, and moments that fit their distributions. */
#include "check.h"
#include "backend/cpu/cpu.h"
#include "core/philox.h"
#include <math.h>
#include <stdlib.h>

static void philox_known_answers(void **state)
{
    (void)state;
    /* Random123 1.14, tests/kat_vectors: philox4x32 10 */
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } kat[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < TN_COUNT(kat); i++) {
        tn__u32x4 r = tn__philox(kat[i].key, kat[i].counter);
        assert_memory_equal(r.v, kat[i].out, sizeof r.v);
    }
}

/* Uniform numbers are words of the stream, counted from the generator's offset. */
static void uniform_numbers_are_the_stream(void **state)
{
    (void)state;
    tn_manual_seed(42);
    tn_tensor *x = MADE(tn_rand(TN_SHAPE(1003))), *y = MADE(tn_rand(TN_SHAPE(5)));
    tn_tensor *z = MADE(tn_rand(TN_SHAPE(5), .dtype = TN_F64)), *h = MADE(tn_rand(TN_SHAPE(64), .dtype = TN_F16));
    const float *f = tn_data(x), *g = tn_data(y);
    for (int i = 0; i < 1003; i++) {
        tn__u32x4 b = tn__philox_block(42, (uint64_t)(i / 4));
        assert_true(f[i] == (float)(b.v[i % 4] >> 8) * 0x1p-24F);
    }
    assert_true(g[4] == (float)(tn__philox_block(42, 251 + 1).v[0] >> 8) * 0x1p-24F); /* 1003 numbers took 251 blocks */
    tn__u32x4 b = tn__philox_block(42, 253);
    uint64_t w = ((uint64_t)b.v[1] << 32 | b.v[0]) >> 11;
    assert_true(((const double *)tn_data(z))[0] == (double)w * 0x1p-53);
    for (int i = 0; i < 64; i++) { /* 11 bits: exact in float16, never 1 */
        float v = tn__half_to_float(((const uint16_t *)tn_data(h))[i]);
        assert_true(v >= 0 && v < 1 && v * 2048 == floorf(v * 2048));
    }
    tn_rng_state s = tn_get_rng_state(TN_CPU);
    assert_int_equal(s.seed, 42);
    assert_int_equal(s.offset, 251 + 2 + 3 + 16);
    tn_release(x);
    tn_release(y);
    tn_release(z);
    tn_release(h);
}

static uint64_t hash_of(const tn_tensor *t)
{
    const unsigned char *p = tn_data(t);
    uint64_t h = 1469598103934665603U;
    for (size_t i = 0; i < (size_t)tn_tensor_numel(t) * tn_dtype_size(tn_tensor_dtype(t)); i++)
        h = (h ^ p[i]) * 1099511628211U;
    return h;
}

static uint64_t draw_everything(void)
{
    tn_scope *s = tn_scope_open();
    uint64_t h = 0;
    tn_manual_seed(7);
    tn_tensor *all[] = {
        MADE(tn_rand(TN_SHAPE(100003))),
        MADE(tn_randn(TN_SHAPE(100003))),
        MADE(tn_rand(TN_SHAPE(50001), .dtype = TN_F64)),
        MADE(tn_randn(TN_SHAPE(50001), .dtype = TN_F64)),
        MADE(tn_randint(-5, 1000000007, TN_SHAPE(70001))),
        MADE(tn_randperm(12345)),
        MADE(tn_dropout(MADE(tn_ones(TN_SHAPE(99999))), 0.3)),
        MADE(tn_randn(TN_SHAPE(3001), .dtype = TN_BF16)),
    };
    for (size_t i = 0; i < TN_COUNT(all); i++)
        h = h * 31 + hash_of(all[i]);
    tn_scope_close(s);
    return h;
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    int32_t was = tn_get_num_threads();
    uint64_t h = draw_everything();
    for (int32_t n = 1; n <= 5; n += 2) {
        OK(tn_set_num_threads(n));
        assert_true(draw_everything() == h);
    }
    OK(tn_set_num_threads(was));
}

static void vector_width_does_not_matter(void **state)
{
    (void)state;
    const tn__cpu_isa *isas[] = {
        &TN_LEAST_ISA,
#if defined(TN_HAVE_AVX2)
        __builtin_cpu_supports("avx2") ? &tn__isa_avx2 : NULL,
#endif
#if defined(TN_HAVE_AVX512)
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") ? &tn__isa_avx512 : NULL,
#endif
    };
    enum { N = 4099 };
    static float f[4][2][N];
    static double d[4][2][N];
    for (size_t i = 0; i < TN_COUNT(isas); i++) {
        if (!isas[i])
            continue;
        isas[i]->random.normal[TN__F32](f[i][0], 99, 1000, N, 0, 1);
        isas[i]->random.uniform[TN__F32](f[i][1], 99, 1000, N, 24, -1, 3);
        isas[i]->random.normal[TN__F64](d[i][0], 99, 1000, N, 0, 1);
        isas[i]->random.uniform[TN__F64](d[i][1], 99, 1000, N, 53, -1, 3);
        assert_memory_equal(f[i], f[0], sizeof f[0]);
        assert_memory_equal(d[i], d[0], sizeof d[0]);
    }
}

/* Box and Muller in long double, from the same words. */
static void normal_numbers_are_box_mullers(void **state)
{
    (void)state;
    tn_manual_seed(123);
    tn_tensor *x = MADE(tn_randn(TN_SHAPE(40000)));
    const float *f = tn_data(x);
    for (int i = 0; i < 40000; i++) {
        tn__u32x4 b = tn__philox_block(123, (uint64_t)(i / 4));
        int pair = i % 4 & 2;
        float half_open = (float)(b.v[pair] >> 8) * 0x1p-24F + 0x1p-25F; /* rounded to float: that is the definition */
        double u = (double)half_open, t = (double)(b.v[pair + 1] >> 8) * 0x1p-24;
        double r = sqrt(-2 * log(u)), angle = 6.283185307179586 * t, want = i % 2 ? r * sin(angle) : r * cos(angle);
        assert_true(fabs((double)f[i] - want) <= 2e-6 * fmax(1, fabs(want)));
    }
    tn_release(x);
}

static void moments_fit(void **state)
{
    (void)state;
    enum { N = 1 << 20 };
    tn_scope *s = tn_scope_open();
    tn_manual_seed(2026);
    tn_tensor *u = MADE(tn_rand(TN_SHAPE(N))), *z = MADE(tn_randn(TN_SHAPE(N), .dtype = TN_F64));
    /* five standard errors of the mean and of the variance */
    assert_true(fabs(tn_item(tn_mean(u)) - 0.5) < 5 * sqrt(1.0 / 12 / N));
    assert_true(fabs(tn_item(tn_var(u)) - 1.0 / 12) < 5 * sqrt(1.0 / 180 / N));
    assert_true(fabs(tn_item(tn_mean(z))) < 5 * sqrt(1.0 / N));
    assert_true(fabs(tn_item(tn_var(z)) - 1) < 5 * sqrt(2.0 / N));
    assert_true(tn_item(tn_max(u)) < 1);
    assert_true(tn_item(tn_min(u)) >= 0);
    /* chi-squared of 1000 bins of whole numbers: 999 degrees of freedom, mean 999, deviation 44.7 */
    tn_tensor *bins = MADE(tn_zeros(TN_SHAPE(1000)));
    tn_tensor *k = MADE(tn_randint(0, 1000, TN_SHAPE(N)));
    MADE(tn_scatter_add_(bins, 0, k, MADE(tn_ones(TN_SHAPE(N)))));
    tn_tensor *d = MADE(tn_sub(bins, (double)N / 1000));
    double chi = tn_item(tn_sum(tn_mul(d, d))) / ((double)N / 1000);
    assert_true(fabs(chi - 999) < 5 * 44.7);
    tn_scope_close(s);
}

static void permutations_permute(void **state)
{
    (void)state;
    enum { N = 5000 };
    static bool seen[N];
    tn_manual_seed(1);
    tn_tensor *p = MADE(tn_randperm(N)), *q = MADE(tn_randperm(N));
    const int64_t *a = tn_data(p), *b = tn_data(q);
    int fixed = 0, same = 0;
    for (int i = 0; i < N; i++) {
        assert_true(a[i] >= 0 && a[i] < N && !seen[a[i]]);
        seen[a[i]] = true;
        fixed += a[i] == i;
        same += a[i] == b[i];
    }
    assert_true(fixed < 12 && same < 12); /* both are Poisson with mean 1 */
    tn_release(p);
    tn_release(q);
    tn_release(MADE(tn_randperm(0)));
}

static void dropout_keeps_the_mean(void **state)
{
    (void)state;
    enum { N = 1 << 20 };
    tn_scope *s = tn_scope_open();
    tn_manual_seed(5);
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(N), .requires_grad = true)), *y = MADE(tn_dropout(x, 0.25));
    double zeros = tn_item(tn_sum(tn_eq(y, 0)));
    assert_true(fabs(zeros / N - 0.25) < 5 * sqrt(0.25 * 0.75 / N));
    assert_true(tn_item(tn_max(y)) == (double)(float)(1 / 0.75));
    OK(tn_backward(MADE(tn_sum(y))));
    assert_true(tn_equal(tn_tensor_grad(x), MADE(tn_detach(y)))); /* the same mask, scaled, made again from the seed */
    assert_ptr_equal(tn_dropout(x, 0), x);
    assert_true(tn_item(tn_sum(tn_abs(MADE(tn_dropout(x, 1))))) == 0);
    FAILS(tn_dropout(x, 1.5), TN_EVALUE, "dropout probability has to be between 0 and 1, but got 1.5");
    tn_scope_close(s);
}

static void state_is_got_and_set(void **state)
{
    (void)state;
    tn_manual_seed(11);
    tn_release(MADE(tn_rand(TN_SHAPE(10))));
    tn_rng_state saved = tn_get_rng_state(TN_CPU);
    tn_tensor *a = MADE(tn_randn(TN_SHAPE(100)));
    OK(tn_set_rng_state(TN_CPU, saved));
    tn_tensor *b = MADE(tn_randn(TN_SHAPE(100)));
    assert_true(tn_equal(a, b));
    assert_int_equal(tn_initial_seed(), 11);
    uint64_t s1 = tn_seed(), s2 = tn_seed();
    assert_true(s1 != s2);
    assert_true(tn_initial_seed() == s2);
    tn_release(a);
    tn_release(b);
}

/* The first outputs of mt19937ar.c for init_genrand(5489), and its 10000th, which C++'s std::mt19937 names. */
static void mt19937_known_answers(void **state)
{
    (void)state;
    static const uint32_t first[] = {3499211612U, 581869302U, 3890346734U, 3586334585U};
    const int64_t range = (1 << 28) - 1;
    tn_scope *scope = tn_scope_open();
    tn_use_mt19937(true);
    tn_manual_seed(5489);
    assert_int_equal(tn_initial_seed(), 5489);
    tn_tensor *numbers = tn_randint(0, range, TN_SHAPE(10000)), *wide;
    const int64_t *n = tn_data(numbers);
    for (int i = 0; i < 4; i++)
        assert_int_equal(n[i], first[i] % range);
    assert_int_equal(n[9999], 4123659995U % range);
    tn_mt19937 kept;
    tn_get_mt19937(&kept);
    assert_int_equal(kept.left, 625 - 10000 % 624);
    tn_tensor *a = tn_randn(TN_SHAPE(5)); /* the sixth waits */
    tn_set_mt19937(&kept);
    assert_true(tn_equal(a, tn_randn(TN_SHAPE(5))));
    tn_mt19937_seed(&kept, 5489);
    tn_set_mt19937(&kept);
    wide = tn_random_(tn_empty(TN_SHAPE(2), .dtype = TN_I64));
    n = tn_data(wide);
    for (int i = 0; i < 2; i++) /* of two the first is the high half */
        assert_int_equal(n[i], (int64_t)((uint64_t)(first[2 * i] & 0x7fffffffU) << 32 | first[2 * i + 1]));
    tn_use_mt19937(false);
    assert_false(tn_uses_mt19937());
    tn_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_known_answers),           cmocka_unit_test(uniform_numbers_are_the_stream),
        cmocka_unit_test(threads_do_not_matter),          cmocka_unit_test(vector_width_does_not_matter),
        cmocka_unit_test(normal_numbers_are_box_mullers), cmocka_unit_test(moments_fit),
        cmocka_unit_test(permutations_permute),           cmocka_unit_test(dropout_keeps_the_mean),
        cmocka_unit_test(state_is_got_and_set),           cmocka_unit_test(mt19937_known_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
