/* out.h: out=, what a call's result is written to.
 *
 * A signature says how the dtype of out= is judged, by a word where others name a slot: "Tensor? out@exact=None". Without one
 * the result is converted where it may be (tn_can_cast), as elementwise functions and most reductions do. 'follow': the
 * result is made in out's dtype. The others: rules[] in out.c.
 */
#ifndef TENON_PY_OUT_H
#define TENON_PY_OUT_H

#include "args.h"

/* The rule of that word of n letters (none: 0); -1: there is no such word. */
int py_out_rule(const char *word, size_t n);

/* Before the call: refuses what requires grad; what follows out=, dtype and device, is put into its slots. False with an
 * exception. */
bool py_out_begin(const py_function *f, int which, py_value *v);

/* After it: writes the result, which it takes, into out=, which takes its shape where it has another. Returns the wrapper
 * of out, or NULL with an exception. */
PyObject *py_out_end(const py_function *f, int which, const py_value *v, tn_tensor *result);

/* Is out apart from every tensor among the arguments, as the rule demands? Else false with PyTorch's RuntimeError. Asked where
 * out has the result's shape already. */
bool py_out_apart(const py_function *f, int which, const py_value *v, tn_tensor *out);
/* The same of one input; first: it is the call's first tensor. */
bool py_out_is_apart(int rule, bool first, tn_tensor *out, tn_tensor *in);

/* Shares out no memory with any tensor among the arguments? */
bool py_out_is_alone(const py_function *f, int which, const py_value *v);

/* The rule of the out= of that signature. */
int py_out_rule_of(const py_function *f, int which);

/* The dtype of arithmetic between both; 0 with the library's error. settings.c */
tn_dtype py_result_type(tn_scalar a, tn_scalar b);

/* A dtype as C++ calls its type, which some of PyTorch's errors name. */
const char *py_c_type_name(tn_dtype d);

/* Writes result into out. function: for errors; rule: py_out_rule's. 0, or -1 with an exception. */
int py_write_out(const char *function, int rule, tn_tensor *out, tn_tensor *result);

#endif
