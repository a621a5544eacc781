/* functions.h: functions of torch.def that ops.def does not make: written by hand in functions_hand.c. */
#ifndef TENON_PY_FUNCTIONS_H
#define TENON_PY_FUNCTIONS_H

#include "args.h"

/* name, slots: operations with an option that the library's own have not; call_<name> is in functions_hand.c */
/* clang-format off */
#define PY_HAND_CALLS(X) \
    X(add_alpha, "input other alpha", "a + alpha * b") X(sub_alpha, "input other alpha", "a - alpha * b") \
    X(rsub_alpha, "input other alpha", "b - alpha * a") \
    X(div_rounded, "input other rounding_mode", "a / b, rounded down ('floor') or toward zero ('trunc') where asked") \
    X(round_decimals, "input decimals", "Nearest whole number, halves to even, or nearest with so many decimals") \
    X(any_of, "input dim keepdim", "True if one element is non-zero") \
    X(all_of, "input dim keepdim", "True if every element is non-zero") \
    X(var_of, "input dim keepdim correction unbiased", "Variance over dimensions, or all") \
    X(std_of, "input dim keepdim correction unbiased", "Standard deviation over dimensions, or all") \
    X(scatter_reduced, "input dim index src reduce", "x with src (tensor or number) written at index along a " \
      "dimension; or, by reduce, added or multiplied") \
    X(repeat_interleave_any, "input repeats dim output_size", "Each index of a dimension so often") \
    X(index_add_alpha, "input dim index src alpha", "x with alpha * source added at the 1-D index") \
    X(dropout_train, "input p train", "Zeroes elements with probability p and scales the rest, in training") \
    X(reshape_as, "input other", "x in the shape of other") X(flatten_all, "input", "x as one dimension") \
    X(as_strided_at, "input size stride storage_offset", "Any view of x's memory, in elements") \
    X(copy_any, "input src non_blocking", "Writes src (a tensor or number), converted and broadcast, into x") \
    X(narrow_any, "input dim start length", "length entries of a dimension, from start on: a view") \
    X(linspace_any, "start end steps device dtype requires_grad pin_memory", "So many numbers from start to end") \
    X(cumsum_own, "input dim dtype", "Running sum along a dimension") \
    X(cumprod_own, "input dim dtype", "Running product along a dimension") \
    X(eye_any, "n m device dtype requires_grad pin_memory", "Ones on the diagonal of an n x m matrix") \
    X(arange_any, "start end step device dtype requires_grad pin_memory", "start, start + step ... below end")
/* clang-format on */
/* clang-format off */
#define PY_HAND_CALLS_INPLACE(X) X(add_alpha) X(sub_alpha) X(div_rounded) X(round_decimals) X(index_add_alpha) \
    X(scatter_reduced)

/* clang-format on */

#define PY_DECLARE(name, slots, doc) tn_tensor *call_##name(const py_value *v);
PY_HAND_CALLS(PY_DECLARE)
#undef PY_DECLARE
#define PY_DECLARE(name) tn_tensor *call_##name##_(const py_value *v);
PY_HAND_CALLS_INPLACE(PY_DECLARE)
PY_DECLARE(addmm_full)
PY_DECLARE(baddbmm_full)
#undef PY_DECLARE

/* Functions that return something else than one tensor. self is the tensor of a method, or NULL. */
/* clang-format off */
#define PY_HAND_RUNS(X) \
    X(where) X(where_method) X(max) X(min) X(sort) X(topk) X(aminmax) X(var_mean) X(std_mean) X(view) X(split) \
    X(chunk) X(tensor_split) X(unbind) X(allclose) X(equal) X(to) X(cuda) X(cpu) X(nonzero) X(tensor) X(as_tensor) \
    X(asarray) X(from_numpy) X(frombuffer)
/* clang-format on */
/* Those that draw random numbers: random.c, distributions.c. */
/* clang-format off */
#define PY_RANDOM_RUNS(X) \
    X(rand) X(randn) X(rand_like) X(randn_like) X(randint) X(randint_like) X(randperm) X(normal) X(uniform_) \
    X(normal_) X(random_) X(bernoulli) X(bernoulli_) X(exponential_) X(log_normal_) X(cauchy_) X(geometric_) \
    X(multinomial)
/* clang-format on */
#define PY_CUDA_RUNS(X)  X(record_stream)                                                        /* cuda_stream.c */
#define PY_INDEX_RUNS(X) X(index_put) X(index_put_) X(index_fill) X(index_fill_) X(masked_fill_) /* index.c */
#define PY_DECLARE(name) PyObject *run_##name(PyObject *self, py_value *v, int which);
PY_HAND_RUNS(PY_DECLARE)
PY_RANDOM_RUNS(PY_DECLARE)
PY_CUDA_RUNS(PY_DECLARE)
PY_INDEX_RUNS(PY_DECLARE)
#undef PY_DECLARE

/* torch.return_types.max(values=..., indices=...): a named tuple of n tensors, whose references it takes. */
PyObject *py_named_result(const char *name, const char *const *fields, tn_tensor **t, Py_ssize_t n);

#endif
