/* tests/ops/record.h: reference records (tests/data/op-vectors/README.md) as C values. */
#ifndef TENON_TESTS_OPS_RECORD_H
#define TENON_TESTS_OPS_RECORD_H

#include "op/op.h"
#undef TN_HERE
#define TN_HERE __FILE__ ":" TN__STR(__LINE__)
#include <tenon/tenon.h>

typedef enum value_kind { V_ABSENT, V_NULL, V_BOOL, V_INT, V_FLOAT, V_TEXT, V_TENSOR, V_LIST, V_OTHER } value_kind;

typedef struct value value;
struct value {
    value_kind kind;
    int64_t i;
    double f;
    const char *text; /* also a dtype's name, "torch.float64" */
    tn_tensor *t;
    bool requires_grad;
    value *item; /* of a list */
    int n;
};

typedef struct record {
    const char *op; /* the file's name without .npz */
    const char *dtype;
    value input, out, grad;
    value arg[8];
    int n_args;
    struct {
        const char *name;
        value v;
    } kw[12];
    int n_kw;
    bool unknown;  /* an argument that no adapter asked for */
    uint32_t used; /* keywords asked for */
} record;

/* Argument 'i' after the input, or the keyword of that name; V_ABSENT if neither is there. */
value record_arg(record *r, int i, const char *name);

/* Results of one call: tensors, or a number or truth. */
typedef struct results {
    tn_tensor *t[40];
    int n;
    value scalar;
} results;

/* Runs the operation; false if there is no adapter for it. Errors are the library's. */
bool record_run(record *r, results *out);
/* True if there is an adapter of that name. */
bool record_known(const char *op);
/* True if it is an elementwise row. */
bool record_is_row(const char *op);

#endif
