/* op/own.h: operations that programs register: a row of the table that tn__own_0 and following stand for, and its description. */
#ifndef TENON_OP_OWN_H
#define TENON_OP_OWN_H

#include "op/op.h"
#include <tenon/library.h>

enum { TN__OWN = TN__ROWS - TN__OP_own_0 };

/* As long as the library: freed where it is unloaded (a static library in a plugin), when nobody calls any more. Its name may be
 * read as soon as it is in tn__own; the row tn__ops[id] is written behind that, and before 'ready' says so (release, acquire):
 * whoever has it from tn_op_register or tn_op_find sees the row. */
struct tn_op {
    tn_op_def def; /* what was not said is filled in */
    tn__op_id id;
    _Atomic bool ready;
    tn__op_words words;
    char name[64], label[64], entry[64], params[TN_OP_PARAMS + 1];
    char *kernel; /* or NULL */
};

/* By row, without gaps. */
extern _Atomic(tn_op *) tn__own[TN__OWN];

static inline bool tn__is_own(tn__op_id id)
{
    return id > TN__OPS;
}

static inline const tn_op *tn__own_of(tn__op_id id)
{
    return atomic_load_explicit(&tn__own[id - TN__OP_own_0], memory_order_acquire);
}

/* The struct of parameters of every such row: as many as its description has are copied. */
typedef struct tn__own_params {
    tn_scalar p[TN_OP_PARAMS];
} tn__own_params;

/* What the ready rule 'broadcast' gives: common dtype and shape of the operands. ops/own/infer.c */
TN_MUST_USE tn_status tn__own_broadcast(const tn_scalar *in, int32_t n, tn__spec *s);

/* The shape rule of all of them. ops/own/infer.c */
TN_MUST_USE tn_status tn__infer_own(tn__call *c);

#endif
