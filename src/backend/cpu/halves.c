/* Elementwise rows of 16-bit floats that compute nothing: elements are copied, or lose or gain a sign, and stay what they are. */
#include "backend/cpu/cpu.h"
#include "core/parallel.h"

enum { GRAIN = 65536 };

typedef struct half_job {
    const tn__iter *it;
    tn__loop loop;
} half_job;

/* An operand that is one number throughout goes by way of a block of it. */
static void run_half(void *ctx, int64_t begin, int64_t end)
{
    const half_job *j = ctx;
    const tn__iter_operand *out = &j->it->operand[0];
    uint16_t same[3][TN__BLOCK];
    const void *p[3] = {NULL, NULL, NULL};
    int64_t most = end - begin;
    for (int k = 1; k < j->it->n; k++) {
        const tn__iter_operand *o = &j->it->operand[k];
        if (o->stride[0] != 0)
            continue;
        most = TN_MIN(most, TN__BLOCK);
        float number;
        tn__isa()->load[o->dtype][TN__F32](&number, o->data, 1, 1);
        tn__isa()->store[out->dtype][TN__F32](same[k - 1], 1, &number, 1);
        tn__isa()->move(same[k - 1] + 1, 1, same[k - 1], 0, most - 1, sizeof **same);
        p[k - 1] = same[k - 1];
    }
    for (int64_t i = begin, n; i < end; i += n) {
        n = TN_MIN(most, end - i);
        for (int k = 1; k < j->it->n; k++) {
            const tn__iter_operand *o = &j->it->operand[k];
            if (o->stride[0] != 0)
                p[k - 1] = (const char *)o->data + i * (int64_t)tn__dtype_size(o->dtype);
        }
        j->loop((char *)out->data + i * (int64_t)sizeof **same, p[0], p[1], p[2], n);
    }
}

/* Are they of one 16-bit dtype, but for a condition, and dense or one number throughout? */
static bool are_halves(tn__op_id op, const tn__iter *it)
{
    const tn_dtype dtype = it->operand[0].dtype;
    bool are = it->ndim == 1 && (dtype == TN_F16 || dtype == TN_BF16) && it->operand[0].stride[0] == 1;
    for (int k = 1; k < it->n && are; k++) {
        const tn__iter_operand *o = &it->operand[k];
        const bool is_condition = k == 1 && tn__ops[op].rule == R_WHERE;
        are = is_condition ? o->dtype == TN_BOOL && o->stride[0] == 1
                           : o->stride[0] == 0 || (o->dtype == dtype && o->stride[0] == 1);
    }
    return are;
}

bool tn__cpu_halves(tn__op_id op, const tn__iter *it)
{
    half_job j = {.it = it, .loop = tn__isa()->half[op]};
    if (!j.loop || !are_halves(op, it))
        return false;
    tn__parallel_for(it->numel, GRAIN, run_half, &j);
    return true;
}
