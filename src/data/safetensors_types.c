/* The dtypes that safetensors files name, and the sort that reader and writer share. */
#include "data/safetensors.h"

const tn__safetensors_type tn__safetensors_types[TN__SAFETENSORS_TYPES] = {
    {"BOOL", 8},    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6},     {"U8", 8},          {"I8", 8},
    {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},
    {"U16", 16},    {"F16", 16},    {"BF16", 16},   {"I32", 32},        {"U32", 32},        {"F32", 32},
    {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64},
};

tn_dtype tn__safetensors_dtype(const char *name)
{
    for (tn_dtype d = 1; d < (tn_dtype)TN__DTYPES; d++)
        if (!strcmp(name, tn__dtypes[d].safetensors))
            return d;
    return TN_DTYPE_DEFAULT;
}

/* Lets item[i] sink to its place in the heap item[0 .. n), largest on top. */
static void sink(void **item, int64_t i, int64_t n, bool (*before)(const void *, const void *))
{
    for (;;) {
        int64_t child = 2 * i + 1;
        if (child >= n)
            return;
        if (child + 1 < n && before(item[child], item[child + 1]))
            child++;
        if (!before(item[i], item[child]))
            return;
        void *t = item[i];
        item[i] = item[child];
        item[child] = t;
        i = child;
    }
}

void tn__safetensors_sort(void **item, int64_t n, bool (*before)(const void *, const void *))
{
    for (int64_t i = n / 2 - 1; i >= 0; i--)
        sink(item, i, n, before);
    for (int64_t i = n - 1; i > 0; i--) {
        void *t = item[0];
        item[0] = item[i];
        item[i] = t;
        sink(item, 0, i, before);
    }
}
