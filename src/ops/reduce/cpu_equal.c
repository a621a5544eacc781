/* Are two runs of elements equal, each to its own? As == is: NaN to nothing, -0 to 0. In pieces: the first is short, as what
 * differs mostly does so at once; a loop that is left early is no vector. */
#include "backend/cpu/cpu.h"
#include <string.h>

enum { FIRST = 32, PIECE = 4096 };

#define DIFFERS(name, U, test) \
    static bool name(const void *a_, const void *b_, int64_t n) \
    { \
        const U *x = a_, *y = b_; \
        U any = 0; \
        for (int64_t i = 0; i < n; i++) { \
            const U a = x[i], b = y[i]; \
            any |= (U)(test); \
        } \
        return any != 0; \
    }
#define DIFFERS_FLOAT(name, F, U) \
    static bool name(const void *a_, const void *b_, int64_t n) \
    { \
        const F *x = a_, *y = b_; \
        U any = 0; \
        for (int64_t i = 0; i < n; i++) \
            any |= x[i] != y[i]; \
        return any != 0; \
    }
DIFFERS_FLOAT(differs_f32, float, uint32_t)
DIFFERS_FLOAT(differs_f64, double, uint64_t)
DIFFERS(differs_bool, uint8_t, (a != 0) != (b != 0)) /* any byte that is not 0 is true */
DIFFERS(differs_f16, uint16_t, (a != b && ((a | b) & 0x7fff)) || (a & 0x7fff) > 0x7c00)
DIFFERS(differs_bf16, uint16_t, (a != b && ((a | b) & 0x7fff)) || (a & 0x7fff) > 0x7f80)

static bool equal_runs(tn_dtype dtype, const void *a, const void *b, int64_t n)
{
    const size_t size = tn__dtype_size(dtype);
    const char *x = a, *y = b;
    for (int64_t at = 0, m = FIRST; at < n; at += m, m = PIECE) {
        m = TN_MIN(m, n - at);
        const char *p = x + (size_t)at * size, *q = y + (size_t)at * size;
        const bool differs = dtype == TN_F32    ? differs_f32(p, q, m)
                             : dtype == TN_F64  ? differs_f64(p, q, m)
                             : dtype == TN_F16  ? differs_f16(p, q, m)
                             : dtype == TN_BF16 ? differs_bf16(p, q, m)
                             : dtype == TN_BOOL ? differs_bool(p, q, m)
                                                : memcmp(p, q, (size_t)m * size) != 0;
        if (differs)
            return false;
    }
    return true;
}

tn_status tn__cpu_equal_runs(const tn__launch *l)
{
    *(uint8_t *)l->out[0].data = equal_runs(l->in[0].dtype, l->in[0].data, l->in[1].data, l->in[0].numel);
    return TN_OK;
}
