/* nn/module.h: the module: slots for parameters, buffers and children, and its class's behaviour.
 *
 * Invariants: every slot has a name that is unique in its module, and a reference to what it holds; no chain of children
 * is longer than TN__NESTING, so an iterator needs no memory and no check; a module is never inside itself.
 */
#ifndef TENON_NN_MODULE_H
#define TENON_NN_MODULE_H

#include "autograd/functions.h"
#include <tenon/autograd.h>
#include <tenon/nn.h>

enum { TN__NESTING = 64 };

typedef enum tn__slot_kind { TN__PARAMETERS, TN__BUFFERS, TN__CHILDREN, TN__SLOT_KINDS } tn__slot_kind;

typedef struct tn__slot {
    char *name;
    tn__object *object;
} tn__slot;

typedef struct tn__slots {
    tn__slot *at;
    int64_t n, cap;
} tn__slots;

/* The dotted names of a module's state, one after the other, each with its '\0': lent out by the enumerations. */
typedef struct tn__names {
    size_t bytes;
    char text[];
} tn__names;

struct tn_module {
    tn__object obj;
    tn_module_class cls; /* its name is owned */
    void *ctx;
    bool training;
    bool user;     /* of a class of the user's: its forward may do anything, waiting for a device included */
    bool sequence; /* takes what its first child takes, gives what its last one gives */
    int32_t depth; /* modules above it on the longest chain it was ever put into */
    tn__slots slots[TN__SLOT_KINDS];
    _Atomic(tn__names *) names;
};

/* Rises whenever a module is given a part: who keeps replicas of one looks again then. */
extern _Atomic uint64_t tn__modules_changed;

/* A module in no scope, owned by the caller. NULL with TN_ENOMEM set. */
tn_module *tn__module_make(const tn_module_class *cls, void *ctx);

static inline tn_tensor *tn__slot_tensor(const tn_module *m, tn__slot_kind kind, int64_t i)
{
    return (tn_tensor *)m->slots[kind].at[i].object;
}

static inline tn_module *tn__slot_child(const tn_module *m, int64_t i)
{
    return (tn_module *)m->slots[TN__CHILDREN].at[i].object;
}

/* ---- an iterator: m and everything inside it, parents before children ---- */

typedef struct tn__module_iter {
    int32_t depth; /* of the stack */
    struct {
        tn_module *m;
        int64_t next; /* child to go to next */
    } at[TN__NESTING];
} tn__module_iter;

static inline void tn__module_iter_begin(tn__module_iter *w, const tn_module *m)
{
    w->depth = -1;
    w->at[0].m = (tn_module *)(uintptr_t)m;
}

/* The next module, NULL at the end. */
tn_module *tn__module_iter_next(tn__module_iter *w);

/* Length of the dotted name of 'leaf' in the module the iterator is at; writes it, with a '\0', where out is not NULL. */
size_t tn__module_iter_name(const tn__module_iter *w, const char *leaf, char *out);

/* ---- lists of tensors, each once ---- */

typedef struct tn__list {
    tn_tensor **at;
    int64_t n, cap;
} tn__list;

/* Appends t unless it is there. TN_ENOMEM if it cannot be. */
TN_MUST_USE tn_status tn__list_add(tn__list *l, tn_tensor *t);
void tn__list_free(tn__list *l);

/* Appends every parameter or buffer in m. */
TN_MUST_USE tn_status tn__module_collect(const tn_module *m, tn__slot_kind kind, tn__list *out);

/* Appends what a tn_params names. A missing operand poisons. */
TN_MUST_USE tn_status tn__params_collect(const char *what, tn_params params, tn__list *out);

/* The names of m's state, in its order; lent by m. NULL with TN_ENOMEM set. */
const char *tn__state_names(tn_module *m);
/* How many there are. */
size_t tn__state_count(const tn_module *m);

/* ---- running ---- */

/* Runs m's forward inside a barrier scope. The result belongs to the innermost scope (or the caller, without one), but
 * where it is x itself, as it was given: *borrowed. */
tn_tensor *tn__forward(tn__thread *t, tn_module *m, tn_tensor *x, bool *borrowed);

/* The same for n tensors, none of them NULL: y[0 .. n_y) belong to the innermost scope, or the caller. All of y is NULL on
 * error. */
TN_MUST_USE tn_status tn__forward_n(tn__thread *t, tn_module *m, tn_tensor *const *x, size_t n, tn_tensor **y,
                                    size_t n_y);

/* ---- text ---- */

/* A float as Python prints it, "0.5", "1.0", "1e-05"; by value. */
typedef struct tn__float_text {
    char s[32];
} tn__float_text;
tn__float_text tn__float_str(double v);

#endif
