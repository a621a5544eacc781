/* The dtypes that safetensors files name, and the sort that reader and writer share. */
#include "data/safetensors.h"

const tn__safetensors_type tn__safetensors_types[TN__SAFETENSORS_TYPES] = {
    {"BOOL", TN_BOOL, 8},  {"F4", 0, 4},        {"F6_E2M3", 0, 6},   {"F6_E3M2", 0, 6},   {"U8", TN_U8, 8},
    {"I8", TN_I8, 8},      {"F8_E5M2", 0, 8},   {"F8_E4M3", 0, 8},   {"F8_E8M0", 0, 8},   {"F8_E4M3FNUZ", 0, 8},
    {"F8_E5M2FNUZ", 0, 8}, {"I16", TN_I16, 16}, {"U16", 0, 16},      {"F16", TN_F16, 16}, {"BF16", TN_BF16, 16},
    {"I32", TN_I32, 32},   {"U32", 0, 32},      {"F32", TN_F32, 32}, {"C64", 0, 64},      {"F64", TN_F64, 64},
    {"I64", TN_I64, 64},   {"U64", 0, 64},
};

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

void tn__sort(void **item, int64_t n, bool (*before)(const void *, const void *))
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
