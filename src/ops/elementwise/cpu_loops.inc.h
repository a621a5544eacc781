/* ops/elementwise/cpu_loops.inc.h: what stands in the table in place of rows' own loops. */

#if TN_IS_F32

/* Angles too large for the vectorised reduction go to libm. */
#define CHECKED_TRIG(name, libm) \
    static void row_checked_##name(void *out, const void *a, const void *b, const void *c, int64_t n) \
    { \
        float *o = out, in[256]; \
        const float *x = a; \
        for (int64_t i = 0; i < n; i += 256) { \
            int64_t m = n - i < 256 ? n - i : 256; \
            memcpy(in, x + i, (size_t)m * sizeof *in); /* in place, the row would overwrite its operand */ \
            row_##name##_f32(o + i, in, b, c, m); \
            for (int64_t j = 0; j < m; j++) \
                if (!(fabsf(in[j]) < TRIG_LIMIT)) \
                    o[i + j] = libm(in[j]); \
        } \
    }
CHECKED_TRIG(sin, sinf)
CHECKED_TRIG(cos, cosf)
CHECKED_TRIG(tan, tanf)
#define row_sin_f32 row_checked_sin
#define row_cos_f32 row_checked_cos
#define row_tan_f32 row_checked_tan

#endif
