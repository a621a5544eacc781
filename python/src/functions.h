/* functions.h: what the list of operations names that is written by hand: call_<by> and run_<run> (functions_choices.c, random.c,
 * index.c...). python_hand.h, made from the list, declares them. */
#ifndef TENON_PY_FUNCTIONS_H
#define TENON_PY_FUNCTIONS_H

#include "args.h"

#include "python_hand.h"

/* torch.return_types.max(values=..., indices=...): a named tuple of n tensors, whose references it takes. */
PyObject *py_named_result(const char *name, tn_tensor **t, Py_ssize_t n);

#endif
