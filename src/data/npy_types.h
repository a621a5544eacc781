/* data/npy_types.h: the element types of npy files that tensors have; one list for reader and writer. */
#ifndef TENON_DATA_NPY_TYPES_H
#define TENON_DATA_NPY_TYPES_H

#include "core/dtype.h"

typedef struct tn__npy_type {
    char text[3]; /* kind and bytes: "f4" */
    tn_dtype dtype;
} tn__npy_type;

static const tn__npy_type tn__npy_types[] = {
    {"b1", TN_BOOL}, {"u1", TN_U8},  {"i1", TN_I8},  {"i2", TN_I16}, {"i4", TN_I32},
    {"i8", TN_I64},  {"f2", TN_F16}, {"f4", TN_F32}, {"f8", TN_F64},
};

#endif
