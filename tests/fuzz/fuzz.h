/* What the fuzz targets share: a tensor that was accepted must be readable to its last byte. */
#ifndef TENON_FUZZ_H
#define TENON_FUZZ_H

#include "core/tensor.h"
#include <stdlib.h>
#include <tenon/data.h>
#include <tenon/error.h>
#include <tenon/scope.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define MUST(condition) \
    do { \
        if (!(condition)) \
            abort(); \
    } while (0)

/* Reads and releases t, or checks that the error names the source. */
static inline void judge(tn_tensor *t)
{
    static unsigned char largest;
    if (!t) {
        MUST(tn_error_code() != TN_OK && strstr(tn_error_message(), "the source"));
        tn_error_clear();
        return;
    }
    const unsigned char *p = t->numel ? tn__tensor_data(t) : NULL;
    MUST(tn__numel(t->shape, t->ndim) == t->numel);
    for (size_t i = 0; i < (size_t)t->numel * tn__dtype_size(t->dtype); i++)
        if (p[i] > largest)
            largest = p[i];
    MUST(t->dtype != TN_BOOL || t->numel == 0 || (p[0] <= 1 && p[t->numel - 1] <= 1));
    tn_release(t);
}

#endif
