/* tests/ops/golden.h: reading tests/data/golden (made by tests/data/make_golden.py with PyTorch 2.14.1). */
#ifndef TENON_TESTS_OPS_GOLDEN_H
#define TENON_TESTS_OPS_GOLDEN_H

#include "ops/rows.h"
#include <cjson/cJSON.h>

/* A file of tests/data/golden; NULL, having said so, if it cannot be read. Free with cJSON_Delete. */
cJSON *golden_open(const char *name);
/* Bytes written as hex; free() them. */
unsigned char *golden_bytes(const char *hex, size_t *n);
/* A 1-D tensor of such bytes, in the open scope. */
tn_tensor *golden_tensor(const char *hex, tn_dtype dtype);

#endif
