/* The tensor iterator as GPU kernels get it, and the texts of units: what needs no GPU. */
#include "backend/gpu/dims.h"
#include "backend/gpu/run.h"
#include "check.h"
#include <stdlib.h>

static uint32_t seed = 7;

static uint32_t next(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 4;
}

/* ---- division by multiplication ---- */

static void divides(uint32_t n, uint32_t divisor, uint32_t magic, uint32_t shift)
{
    const uint32_t q = (uint32_t)((((uint64_t)n * magic) >> 32) + n) >> shift;
    if (q != n / divisor) {
        print_error("%u / %u gives %u\n", n, divisor, q);
        fail();
    }
}

static void check_divisor(uint32_t divisor)
{
    uint32_t magic, shift;
    tn__gpu_magic(divisor, &magic, &shift);
    const uint64_t last = (uint64_t)INT32_MAX / divisor * divisor;
    const uint64_t n[] = {0,        1,    divisor - 1, divisor, divisor + 1, 2 * (uint64_t)divisor - 1,
                          last - 1, last, INT32_MAX};
    for (size_t i = 0; i < TN_COUNT(n); i++)
        if (n[i] <= INT32_MAX)
            divides((uint32_t)n[i], divisor, magic, shift);
    for (int i = 0; i < 8; i++)
        divides(next() & INT32_MAX, divisor, magic, shift);
}

static void divisors(void **state)
{
    (void)state;
    for (uint32_t d = 1; d < 70000; d++)
        check_divisor(d);
    for (uint32_t bit = 1; bit < 31; bit++)
        for (int32_t off = -2; off <= 2; off++)
            if ((int32_t)(1U << bit) + off > 0)
                check_divisor((1U << bit) + (uint32_t)off);
    for (int i = 0; i < 100000; i++)
        check_divisor((next() & INT32_MAX) | 1);
    check_divisor(INT32_MAX);
}

/* ---- parts ---- */

enum { ELEMENTS = 4096 };

typedef struct seen {
    const tn__iter *whole;
    int64_t most, parts;
    uint8_t times[ELEMENTS]; /* each element of the result was met */
} seen;

static int64_t reach_of(const tn__iter *it, int32_t k)
{
    int64_t sum = 0;
    for (int32_t d = 0; d < it->ndim; d++)
        sum += (it->shape[d] - 1) * llabs(it->operand[k].stride[d]);
    return sum;
}

/* An element's place in the result decides its place in the input: that is what a part must keep. */
static tn_status note_part(void *ctx, const tn__iter *part)
{
    seen *s = ctx;
    const tn__iter *w = s->whole;
    int64_t n = 1;
    s->parts++;
    for (int32_t d = 0; d < part->ndim; d++)
        n *= part->shape[d];
    assert_int_equal(n, part->numel);
    assert_true(part->numel <= s->most && reach_of(part, 0) <= s->most && reach_of(part, 1) <= s->most);
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, out = (const char *)part->operand[0].data - (const char *)w->operand[0].data;
        int64_t in = ((const char *)part->operand[1].data - (const char *)w->operand[1].data) / 4, expected = 0;
        for (int32_t d = 0; d < part->ndim; d++) {
            out += rest % part->shape[d] * part->operand[0].stride[d];
            in += rest % part->shape[d] * part->operand[1].stride[d];
            rest /= part->shape[d];
        }
        assert_true(out >= 0 && out < ELEMENTS);
        s->times[out]++;
        for (int32_t d = w->ndim - 1, at = (int32_t)out; d >= 0; d--) {
            expected += at / w->operand[0].stride[d] * w->operand[1].stride[d];
            at %= (int32_t)w->operand[0].stride[d];
        }
        assert_int_equal(in, expected);
    }
    return TN_OK;
}

static void parts(void **state)
{
    (void)state;
    static char out[ELEMENTS];
    static float in[1];
    for (int round = 0; round < 400; round++) {
        tn__iter it = {.ndim = 1 + (int32_t)(next() % 4), .n = 2, .numel = 1};
        it.operand[0] = (tn__iter_operand){.data = out, .dtype = TN_U8};
        it.operand[1] = (tn__iter_operand){.data = in, .dtype = TN_F32};
        for (int32_t d = 0; d < it.ndim; d++) {
            it.shape[d] = 1 + (int64_t)(next() % 8);
            it.operand[0].stride[d] = it.numel;
            it.operand[1].stride[d] = (int64_t)(next() % 40) - 10;
            it.numel *= it.shape[d];
        }
        seen s = {.whole = &it, .most = 1 + (int64_t)(next() % 200)};
        OK(tn__gpu_in_parts(&it, s.most, note_part, &s));
        for (int64_t i = 0; i < ELEMENTS; i++)
            assert_int_equal(s.times[i], i < it.numel);
        assert_true(s.most < it.numel ? s.parts > 1 : s.parts > 0);
    }
}

/* ---- vectors ---- */

static void vectors(void **state)
{
    (void)state;
    _Alignas(16) static char memory[64];
    const size_t align[TN__MAX_OPERANDS] = {16, 16, 16, 16};
    tn__iter it = {.ndim = 2, .n = 3, .numel = 32, .shape = {8, 4}};
    for (int k = 0; k < 3; k++)
        it.operand[k] = (tn__iter_operand){.data = memory, .dtype = TN_F32, .stride = {1, 8}};
    assert_true(tn__gpu_in_vectors(&it, 4, align));
    it.operand[1].stride[0] = 0; /* one value along rows */
    it.operand[1].stride[1] = 3;
    assert_true(tn__gpu_in_vectors(&it, 4, align));
    it.operand[0].stride[0] = 0; /* but the result is written */
    assert_false(tn__gpu_in_vectors(&it, 4, align));
    it.operand[0].stride[0] = 1;
    it.operand[2].stride[1] = 6; /* rows that begin between vectors */
    assert_false(tn__gpu_in_vectors(&it, 4, align));
    it.operand[2].stride[1] = 12;
    it.operand[2].data = memory + 4;
    assert_false(tn__gpu_in_vectors(&it, 4, align));
    it.operand[2].data = memory;
    it.shape[0] = 6; /* a rest at the end of rows */
    assert_false(tn__gpu_in_vectors(&it, 4, align));
}

/* Of no elements, with a dimension whose length is 0 in 32 bits: there is nothing to divide by. */
static void nothing(void **state)
{
    (void)state;
    tn__gpu_dims w = {0};
    uint32_t variant = 0;
    tn__gpu_dims_add(&w, 0, 1, 0, 0);
    tn__gpu_dims_add(&w, INT64_C(1) << 32, 1, 0, 0);
    tn__gpu_dims_add(&w, 2, INT64_C(1) << 33, 0, 0);
    assert_int_equal(w.n, 3);
    assert_int_equal(tn__gpu_dims_end(&w, &variant), 0);
    assert_int_equal(variant, 0);
}

/* ---- texts ---- */

static void unit_texts(void **state)
{
    (void)state;
    const tn__gpu_unit u = {TN__FAMILY_elementwise, TN__OP_add, TN_BF16, TN_BF16, TN_F32, 1};
    const int64_t n = tn__gpu_unit_text(&u, NULL, 0);
    assert_true(n > 1000);
    char *whole = malloc((size_t)n + 1), head[20];
    assert_int_equal(tn__gpu_unit_text(&u, whole, (size_t)n + 1), n);
    assert_int_equal(strlen(whole), n);
    assert_int_equal(tn__gpu_unit_text(&u, head, sizeof head), n);
    assert_memory_equal(head, whole, sizeof head - 1);
    assert_int_equal(head[sizeof head - 1], '\0');
    assert_non_null(strstr(whole, "#define TN_DT bf16\n"));
    assert_non_null(strstr(whole, "#define TN_CT_f32 1\n"));
    assert_non_null(strstr(whole, "KERNEL_N(strided, TN_ITEMS)"));
    assert_non_null(strstr(whole, "TN_ADD(a, b)"));
    free(whole);
    assert_string_equal(tn__gpu_unit_str(&u).s, "elementwise_add_bfloat16_bfloat16_f32_1");
}

/* Every row of the list is in the text of all rows of some unit, for each dtype that it takes. */
static void every_row(void **state)
{
    (void)state;
    tn__gpu_unit u;
    bool found[TN__OPS] = {false};
    for (int32_t i = 0; tn__gpu_units_of(TN__FAMILY_elementwise, i, &u); i++) {
        if (u.variant)
            continue;
        const int64_t n = tn__gpu_unit_text(&u, NULL, 0);
        char *text = malloc((size_t)n + 1), name[96];
        tn__gpu_unit_text(&u, text, (size_t)n + 1);
        for (tn__op_id op = 0; op < TN__OPS; op++) {
            snprintf(name, sizeof name, "DEVICE T row_%s(", tn__ops[op].name);
            found[op] = found[op] || strstr(text, name);
        }
        free(text);
    }
    for (tn__op_id op = 0; op < TN__OPS; op++)
        assert_true(found[op] || !tn__is_elementwise(op));
}

/* What compiles every unit would otherwise do it twice, and write one file from two processes. */
static void no_unit_twice(void **state)
{
    (void)state;
    static tn__gpu_unit units[1024];
    for (tn__gpu_family f = 0; f < TN__FAMILIES; f++)
        for (int32_t i = 0; tn__gpu_units_of(f, i, &units[i]); i++) {
            const tn__gpu_unit *u = &units[i];
            assert_true(i + 1 < (int32_t)TN_COUNT(units));
            for (const tn__gpu_unit *v = units; v < u; v++)
                if (u->in == v->in && u->out == v->out && u->compute == v->compute && u->variant == v->variant)
                    fail_msg("%s is in units.def twice", tn__gpu_unit_str(u).s);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(divisors),      cmocka_unit_test(parts),      cmocka_unit_test(vectors),
        cmocka_unit_test(nothing),       cmocka_unit_test(unit_texts), cmocka_unit_test(every_row),
        cmocka_unit_test(no_unit_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
