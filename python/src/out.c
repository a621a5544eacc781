/* out.c: out=, what a call's result is written to: which tensors may be, PyTorch's refusals, its warning of another shape. */
#include "out.h"
#include "functions.h"
#include "generator.h"

#include <stdio.h>

/* ---- dtypes ---- */

typedef enum demand { CAST, SAME, TRUTH, FLOATING, ANY } demand;

/* What 'out' may show of an input's memory. FREE: anything, for the result is made beside it (where PyTorch writes while it
 * reads, it looks no more than here: its sums and products are wrong then, Tenon's are not). EQUAL: the same elements, but not
 * a part of them elsewhere. NOTHING. */
typedef enum sharing { FREE, EQUAL, NOTHING } sharing;

/* What a rule is asked for beside dtypes and sharing. ITERATOR: PyTorch writes it by one tensor iterator over all operands,
 * and looks at 'out' first of all; FOUND: that too, and the dtype before it is computed; CAT's error is a TypeError; EXTREME:
 * nothing is compared along a dimension of one element; EARLY: the dtype is asked before dimensions are; what factories make:
 * RANGE and SPACED fill an 'out' of any shape that has as many elements. */
typedef enum role { PLAIN, ITERATOR, FOUND, CAT, EXTREME, EARLY, MADE, RANGE, SPACED } role;

#define EXACT "Expected out tensor to have dtype %r, but got %o instead"

/* In texts: %O out's dtype as PyTorch's classes are called, %o as C++'s types are; %R and %r the result's; %b is that int32;
 * %f the function. */
static const struct {
    const char *word;
    role role;
    demand want;
    sharing first, others; /* with the first tensor of the signature, with the others */
    bool operand;          /* another device is refused as an operand's is */
    const char *text;
} rules[] = {
    {"", ITERATOR, CAST, EQUAL, EQUAL, true, "result type %R can't be cast to the desired output type %O"},
    {"cast", PLAIN, CAST, EQUAL, EQUAL, true, "result type %R can't be cast to the desired output type %O"},
    {"ldexp", ITERATOR, CAST, EQUAL, EQUAL, true, "%f can't be cast to the desired output type %O"},
    {"castable", PLAIN, CAST, EQUAL, EQUAL, true,
     "%f: Expected result to be safely castable from %R dtype, but got result with dtype %O"},
    {"multi_dot", PLAIN, SAME, FREE, FREE, false, "multi_dot(): expected out tensor to have dtype %r but got %o"},
    {"tensordot", PLAIN, SAME, FREE, FREE, false,
     "tensordot: Expected the output tensor to have dtype %R, but got an output tensor with dtype %O"},
    {"found", FOUND, SAME, EQUAL, EQUAL, true, "Found dtype %O but expected %R"},
    {"bounded", ITERATOR, SAME, EQUAL, EQUAL, true, "Found dtype %O but expected %R"},
    {"where", ITERATOR, SAME, EQUAL, EQUAL, true, "Expected out type to be %R but got %O"},
    {"exact", PLAIN, SAME, FREE, FREE, false, EXACT},
    {"gather", PLAIN, SAME, NOTHING, EQUAL, false, EXACT},
    {"scatter", PLAIN, SAME, EQUAL, NOTHING, false, EXACT},
    {"ordered", PLAIN, SAME, EQUAL, EQUAL, false, EXACT},
    {"extreme", EXTREME, SAME, NOTHING, NOTHING, false, EXACT},
    {"added", PLAIN, SAME, EQUAL, FREE, false, EXACT},
    {"match", EARLY, SAME, FREE, FREE, false,
     "Expected the dtype for input and out to match, but got %R for input's dtype and %O for out's dtype."},
    {"scalar", PLAIN, SAME, NOTHING, NOTHING, true, "%f(): self and result must have the same scalar type"},
    {"nonzero", PLAIN, SAME, NOTHING, NOTHING, true,
     "%f: Expected out tensor to have scalar type %R but got scalar type%O"},
    {"histogram", PLAIN, SAME, EQUAL, EQUAL, true,
     "torch.histogram: input tensor and hist tensor should have the same dtype, but got input %r and hist %o"},
    {"bins", PLAIN, SAME, EQUAL, EQUAL, true,
     "torch.histogramdd: input tensor and hist tensor should have the same dtype, but got input %r and hist %o"},
    {"quantile", PLAIN, SAME, FREE, FREE, false, "%f() out tensor must be same dtype as the input tensor"},
    {"own", PLAIN, SAME, FREE, FREE, false, "expected scalar_type %R but found %O"},
    {"dot", PLAIN, SAME, FREE, FREE, false, "result dtype %O does not match input dtype %R"},
    {"mv", PLAIN, SAME, FREE, FREE, false, "addmv input tensors must have the same dtype, but got %O, %R, and %R"},
    {"like", ITERATOR, SAME, EQUAL, EQUAL, true, "%f: dtype of out: %O should be same as input: %R"},
    {"taken", PLAIN, SAME, FREE, FREE, false,
     "take(): self and out expected to have the same dtype, but got self.dtype = %R and out.dtype = %O"},
    {"searched", PLAIN, SAME, EQUAL, EQUAL, true,
     "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on "
     "whether out_int32 flag is True, but we got output tensor's dtype %O and out_int32 flag is %b"},
    {"cat", CAT, CAST, NOTHING, NOTHING, true, "torch.cat(): input types can't be cast to the desired output type %O"},
    {"truth", EARLY, TRUTH, FREE, FREE, false, "%f only supports bool tensor for result, got: %O"},
    {"floating", EARLY, FLOATING, FREE, FREE, false,
     "%f(): Expected floating point type for result tensor, but got: %O"},
    {"reduced", PLAIN, CAST, FREE, FREE, false, "result type %R can't be cast to the desired output type %O"},
    {"follow", PLAIN, ANY, FREE, FREE, false, EXACT},
    {"scan", PLAIN, ANY, EQUAL, EQUAL, false, EXACT},
    {"made", MADE, ANY, FREE, FREE, false, "dtype %R does not match dtype of out parameter (%O)"},
    {"range", RANGE, ANY, FREE, FREE, false, "dtype %R does not match dtype of out parameter (%O)"},
    {"spaced", SPACED, ANY, FREE, FREE, false, "dtype %R does not match dtype of out parameter (%O)"},
};

enum { N_RULES = sizeof rules / sizeof *rules };

int py_out_rule(const char *word, size_t n)
{
    for (int i = 0; i < N_RULES; i++)
        if (strlen(rules[i].word) == n && !strncmp(rules[i].word, word, n))
            return i;
    return -1;
}

static bool fills(int rule)
{
    return rules[rule].role == RANGE || rules[rule].role == SPACED;
}

static bool is_factory(int rule)
{
    return rules[rule].role >= MADE;
}

const char *py_c_type_name(tn_dtype d)
{
    return py_dtypes[d > 0 && d < (tn_dtype)PY_DTYPES ? d : TN_DTYPE_DEFAULT].scalar;
}

static const char *word_of(char letter, const char *function, tn_dtype out, tn_dtype result)
{
    switch (letter) {
    case 'O': return py_scalar_type_name(out);
    case 'o': return py_c_type_name(out);
    case 'R': return py_scalar_type_name(result);
    case 'r': return py_c_type_name(result);
    case 'b': return result == TN_I32 ? "True" : "False";
    default: return function;
    }
}

/* The rule's refusal. */
static int wrong_dtype(const char *function, int rule, tn_dtype out, tn_dtype result)
{
    char text[256];
    size_t n = 0;
    for (const char *s = rules[rule].text; *s && n < sizeof text - 1; s++)
        if (*s != '%')
            text[n++] = *s;
        else
            n += (size_t)snprintf(text + n, sizeof text - n, "%s", word_of(*++s, function, out, result));
    text[n < sizeof text ? n : sizeof text - 1] = '\0';
    PyErr_SetString(rules[rule].role == CAT ? PyExc_TypeError : PyExc_RuntimeError, text);
    return -1;
}

static bool dtype_fits(int rule, tn_dtype out, tn_dtype result)
{
    switch (rules[rule].want) {
    case CAST: return tn_can_cast(result, out);
    case SAME: return result == out;
    case TRUTH: return out == TN_BOOL || out == TN_U8;
    case FLOATING: return tn_dtype_is_floating_point(out);
    case ANY: break;
    }
    return true;
}

/* ---- writing ---- */

/* Functions whose out= autograd sees otherwise than by their own name: PyTorch writes it by another function, which is what
 * it names; or it has no derivative ("-"), so that inputs may require grad; or that is said of its inputs alone ("~"); or what is
 * written is recorded ("+"). */
/* clang-format off */
static const struct {
    const char *function, *by;
} writers[] = {
    {"absolute", "abs"}, {"arccos", "acos"}, {"arcsin", "asin"}, {"arctan", "atan"}, {"arctan2", "atan2"},
    {"clip", "clamp"}, {"column_stack", "cat"}, {"concat", "cat"}, {"concatenate", "cat"}, {"diff", "sub"},
    {"divide", "div"}, {"dstack", "cat"}, {"fix", "trunc"}, {"ger", "mul"}, {"hstack", "cat"}, {"kron", "mul"},
    {"multiply", "mul"}, {"nanmean", "nansum"}, {"negative", "neg"}, {"normalize", "div"}, {"outer", "mul"},
    {"row_stack", "cat"}, {"square", "pow"}, {"subtract", "sub"}, {"true_divide", "div"}, {"vstack", "cat"},
    {"cross", "linalg_cross"}, {"take_along_dim", "gather"}, {"all", "-"}, {"any", "-"}, {"argmax", "-"},
    {"argmin", "-"}, {"argsort", "sort"}, {"bitwise_and", "-"}, {"bitwise_not", "-"}, {"bitwise_or", "-"},
    {"bitwise_xor", "-"}, {"bucketize", "-"}, {"eq", "-"}, {"ge", "-"}, {"greater", "-"},
    {"greater_equal", "-"}, {"gt", "-"}, {"histc", "-"}, {"isin", "-"}, {"le", "-"}, {"less", "-"},
    {"less_equal", "-"}, {"logical_and", "-"}, {"logical_not", "-"}, {"logical_or", "-"}, {"logical_xor", "-"},
    {"lt", "-"}, {"multinomial", "-"}, {"ne", "-"}, {"nonzero", "-"}, {"not_equal", "-"}, {"searchsorted", "-"},
    {"bitwise_left_shift", "-"}, {"bitwise_right_shift", "-"}, {"diag", "+"}, {"floor_divide", "+"},
    {"log_softmax", "+"}, {"softmax", "+"}, {"tensordot", "+"}, {"arccosh", "acosh"}, {"arcsinh", "asinh"},
    {"arctanh", "atanh"}, {"float_power", "pow"}, {"frobenius_norm", "norm"}, {"msort", "sort"},
    {"linalg_multi_dot", "mm"}, {"linalg_vecdot", "sum"}, {"matrix_power", "matmul"}, {"isneginf", "-"},
    {"isposinf", "-"}, {"signbit", "-"}, {"special_scaled_modified_bessel_k0", "-"},
    {"special_scaled_modified_bessel_k1", "-"}, {"special_spherical_bessel_j0", "-"}, {"split_copy", "~"},
    {"split_with_sizes_copy", "~"}, {"unbind_copy", "~"}, {"inner", "+"}, {"quantile", "+"}, {"nanquantile", "+"},
    {"special_ndtr", "+"}, {"heaviside", "+"}, {"conj_physical", "+"}, {"slice_scatter", "+"}, {"alias_copy", "+"},
    {"as_strided_copy", "+"}, {"detach_copy", "+"}, {"diagonal_copy", "+"}, {"expand_copy", "+"},
    {"permute_copy", "+"}, {"select_copy", "+"}, {"slice_copy", "+"}, {"squeeze_copy", "+"},
    {"t_copy", "+"}, {"transpose_copy", "+"}, {"unfold_copy", "+"}, {"unsqueeze_copy", "+"}, {"view_copy", "+"},
};
/* clang-format on */

/* What has no derivative, or records what is written: is a leaf as out= refused that requires grad, first of all? */
static const char *refuses_grad(const char *function)
{
    static const char *const names[] = {"bitwise_and",  "bitwise_not", "bitwise_or",         "bitwise_xor",
                                        "softmax",      "log_softmax", "bitwise_left_shift", "bitwise_right_shift",
                                        "floor_divide", "heaviside",   "conj_physical",      "slice_scatter"};
    const size_t n = strlen(function);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], function))
            return function;
    if (n > 5 && !strcmp(function + n - 5, "_copy") && strcmp(function, "narrow_copy"))
        return function;
    return strcmp(function, "diag") ? NULL : "diag_embed";
}

/* What PyTorch calls the function that writes this one's out=; "-", "+": above. */
static const char *writer_of(const char *function)
{
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++)
        if (!strcmp(writers[i].function, function))
            return writers[i].by;
    return function;
}

static int has_grad(const char *function, bool fallback)
{
    PyErr_Format(PyExc_RuntimeError,
                 "%s%s(): functions with out=... arguments don't support automatic differentiation, but one of the "
                 "arguments requires grad.",
                 fallback ? "aten::" : "", function);
    return -1;
}

static int wrong_device(int rule, tn_device out, tn_device result)
{
    const char *a = tn_device_text(result).s, *b = tn_device_text(out).s;
    if (rules[rule].operand)
        PyErr_Format(PyExc_RuntimeError,
                     "Expected all tensors to be on the same device, but found at least two devices, %s and %s!",
                     result.type == TN_DEVICE_CPU ? b : a, result.type == TN_DEVICE_CPU ? a : b);
    else
        PyErr_Format(PyExc_RuntimeError, "Expected out tensor to have device %s, but got %s instead", a, b);
    return -1;
}

/* PyTorch's warnings of an out= that has elements and takes another shape. */
static int warn_resized(int rule, tn_dims have, tn_dims want, int64_t had)
{
    PyObject *a = py_size(have), *b = py_size(want), *old = a ? PySequence_List(a) : NULL,
             *new = b ? PySequence_List(b) : NULL;
    int status = -1;
    if (old && new &&rules[rule].role == RANGE)
        status = PyErr_WarnFormat(
            PyExc_UserWarning, 1,
            "The number of elements in the out tensor of shape %S is %lld which does not match the computed number of "
            "elements %lld. Note that this may occur as a result of rounding error. The out tensor will be resized to "
            "a tensor of shape (%lld,).",
            old, (long long)had, (long long)want.dim[0], (long long)want.dim[0]);
    else if (old && new)
        status = PyErr_WarnFormat(
            PyExc_UserWarning, 1,
            "An output with one or more elements was resized since it had shape %S, which does not match the required "
            "output shape %S. This behavior is deprecated, and in a future PyTorch release outputs will not be resized "
            "unless they have zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero "
            "elements with t.resize_(0).",
            old, new);
    Py_XDECREF(a);
    Py_XDECREF(b);
    Py_XDECREF(old);
    Py_XDECREF(new);
    return status;
}

/* Memory of out's dtype for a tensor that lies as the result does, as far behind its beginning as out lies in its own: what
 * is resized keeps its place. */
static tn_tensor *new_place(tn_tensor *out, tn_tensor *result)
{
    const tn_dims shape = tn_tensor_shape(result), stride = tn_tensor_stride(result);
    int64_t span = tn_tensor_storage_offset(out) + (tn_tensor_numel(result) != 0);
    for (int32_t d = 0; d < shape.ndim && tn_tensor_numel(result); d++)
        span += (shape.dim[d] - 1) * stride.dim[d];
    tn_options like = {
        .struct_size = sizeof like, .site = "", .dtype = tn_tensor_dtype(out), .device = tn_tensor_device(out)};
    tn_tensor *memory = (tn_empty_opt)(TN__DIMS(tn_dims_of(&span, 1)), &like);
    tn_tensor *view =
        memory ? (tn_as_strided_at)("", memory, TN__DIMS(shape), TN__DIMS(stride), tn_tensor_storage_offset(out))
               : NULL;
    tn_tensor *alone = view ? tn_detach_at("", view) : NULL;
    tn_release(view);
    tn_release(memory);
    return alone;
}

/* Gives out the result's shape, strides and numbers: in its own memory where there is room, else in new memory. One write:
 * what goes there before out shows it is not counted; what is recorded goes there afterwards. */
static tn_status reshape_out(tn_tensor *out, tn_tensor *result, bool recorded)
{
    tn_error_clear();
    const tn_copy__options o = {.struct_size = sizeof o, .site = ""};
    tn_tensor *bare = tn_tensor_data(out);
    tn_tensor *view = bare ? (tn_as_strided_at)("", bare, TN__DIMS(tn_tensor_shape(result)),
                                                TN__DIMS(tn_tensor_stride(result)), tn_tensor_storage_offset(out))
                           : NULL;
    if (!view)
        view = new_place(out, result);
    bool ready = view && (recorded || (tn_copy__opt)(view, result, &o));
    tn_status status = ready ? tn_tensor_set_data(out, view) : tn_error_code();
    tn_release(view);
    tn_release(bare);
    return status;
}

/* The dtype, the device and the gradients of both: 0, or -1 with an exception. */
static int check_out(const char *function, int rule, tn_tensor *out, tn_tensor *result)
{
    tn_device there = tn_tensor_device(out), here = tn_tensor_device(result);
    bool history = tn_tensor_requires_grad(result) && !is_factory(rule);
    if (tn_is_grad_enabled() &&
        (history || (tn_tensor_requires_grad(out) && tn_dtype_is_floating_point(tn_tensor_dtype(result))))) {
        const char *by = writer_of(function);
        if (*by == '~' && tn_tensor_requires_grad(out))
            return has_grad(function, false);
        if (!strchr("+-~", *by))
            return has_grad(by, is_factory(rule));
    }
    if (there.type != here.type || there.index != here.index)
        return wrong_device(rule, there, here);
    if (!dtype_fits(rule, tn_tensor_dtype(out), tn_tensor_dtype(result)))
        return wrong_dtype(function, rule, tn_tensor_dtype(out), tn_tensor_dtype(result));
    return 0;
}

static tn_status copy_into(int rule, tn_tensor *out, tn_tensor *result)
{
    const tn_copy__options o = {.struct_size = sizeof o, .site = ""};
    bool refill = fills(rule) && tn_tensor_numel(out) == tn_tensor_numel(result);
    if (!refill && !py_same_dims(tn_tensor_shape(out), tn_tensor_shape(result))) {
        bool was = tn_set_grad_enabled(false), recorded = was && tn_tensor_requires_grad(result);
        tn_status status = reshape_out(out, result, recorded);
        tn_set_grad_enabled(was);
        return status || !recorded ? status : (tn_copy__opt)(out, result, &o) ? TN_OK : tn_error_code();
    }
    /* a step on the way may have been in out's memory (tn_into), and the result be a view of that */
    tn_tensor *apart = tn_tensor_shares_storage(out, result) ? (tn_clone_at)("", result) : tn_retain(result);
    tn_tensor *shown = !apart   ? NULL
                       : refill ? (tn_reshape_at)("", apart, TN__DIMS(tn_tensor_shape(out)))
                                : tn_retain(apart);
    tn_release(apart);
    tn_status status = shown && (tn_copy__opt)(out, shown, &o) ? TN_OK : tn_error_code();
    tn_release(shown);
    return status;
}

int py_write_out(const char *function, int rule, tn_tensor *out, tn_tensor *result)
{
    tn_dims have = tn_tensor_shape(out), want = tn_tensor_shape(result);
    int64_t had = tn_tensor_numel(out);
    if (check_out(function, rule, out, result))
        return -1;
    bool fits = py_same_dims(have, want) || !had || (fills(rule) && had == tn_tensor_numel(result));
    if (!fits && rules[rule].role != MADE && rules[rule].role != SPACED && warn_resized(rule, have, want, had))
        return -1;
    const bool silent = (tn_tensor_requires_grad(out) || tn_tensor_requires_grad(result)) && tn_is_grad_enabled() &&
                        *writer_of(function) != '+';
    if (silent)
        tn_set_grad_enabled(false);
    tn_status status = tn_into_taken(out, result) ? TN_OK : copy_into(rule, out, result);
    if (silent)
        tn_set_grad_enabled(true);
    if (!status && is_factory(rule) && tn_tensor_requires_grad(result) && !tn_requires_grad_(out, true))
        status = tn_error_code();
    return status ? (py_raise(), -1) : 0;
}

/* ---- a call ---- */

static const py_param *out_param(const py_function *f, int which)
{
    const py_signature *s = &f->parsed[which];
    for (int i = s->params - 1; i >= 0; i--)
        if (s->param[i].slot == f->out)
            return &s->param[i];
    return NULL;
}

int py_out_rule_of(const py_function *f, int which)
{
    return out_param(f, which)->rule;
}

/* dtype= or device=, where the signature has it. */
static py_value *slot_of_kind(const py_function *f, int which, py_kind kind, py_value *v)
{
    const py_signature *s = &f->parsed[which];
    for (int i = 0; i < s->params; i++)
        if (s->param[i].kind == kind)
            return &v[s->param[i].slot];
    return NULL;
}

static bool any_requires_grad(const py_signature *s, const py_value *v)
{
    for (int i = 0; i < s->params; i++) {
        const py_value *at = &v[s->param[i].slot];
        if (s->param[i].kind == PY_TENSORS && at->given)
            for (size_t k = 0; k < at->u.list.n; k++)
                if (tn_tensor_requires_grad(at->u.list.item[k]))
                    return true;
        if (at->s.kind == TN_SCALAR_TENSOR && tn_tensor_requires_grad(at->s.v.t))
            return true;
    }
    return false;
}

/* What autograd would have to know of a written out= is refused before anything is computed, as in PyTorch. */
static bool may_write(const py_function *f, int which, const py_value *v)
{
    if (!tn_is_grad_enabled() || !any_requires_grad(&f->parsed[which], v))
        return true;
    const char *by = writer_of(f->name);
    const bool asks_first = !strcmp(f->name, "take_along_dim"); /* whether its operands go together */
    if (!strchr("+-~", *by))
        return asks_first || !has_grad(by, is_factory(out_param(f, which)->rule));
    const tn_scalar out = v[f->out].s;
    const bool leaf = out.kind == TN_SCALAR_TENSOR && tn_tensor_requires_grad(out.v.t) && tn_tensor_is_leaf(out.v.t);
    return !leaf || !refuses_grad(f->name) || !has_grad(refuses_grad(f->name), true);
}

/* Functions of one tensor whose result has its dtype judge out= before they compute, and refuse a dtype, afterwards. */
static bool fits_before(const py_function *f, int which, const py_value *v)
{
    const py_signature *s = &f->parsed[which];
    const int rule = out_param(f, which)->rule;
    int tensors = 0;
    for (int i = 0; i < s->params; i++)
        tensors += s->param[i].kind == PY_TENSOR || s->param[i].kind == PY_OPERAND;
    if (tensors != 2 || rules[rule].role != FOUND ||
        (!strcmp(f->name, "softshrink") && !tn_dtype_is_floating_point(tn_tensor_dtype(v[s->param[0].slot].s.v.t))))
        return true;
    const tn_dtype in = tn_tensor_dtype(v[s->param[0].slot].s.v.t), out = tn_tensor_dtype(v[f->out].s.v.t);
    return in == out || !wrong_dtype(f->name, rule, out, in);
}

/* Reductions whose 'out' PyTorch judges before it looks at dimensions; and a softmax of integers. */
static bool reduced_fits(const char *function, int rule, tn_dtype out, tn_dtype in)
{
    const bool whole = !tn_dtype_is_floating_point(in);
    if (rules[rule].role != EARLY && !(whole && rules[rule].want == SAME && strstr(function, "softmax")))
        return true;
    return dtype_fits(rule, out, in) || !wrong_dtype(function, rule, out, in);
}

/* Kernels that lack dtypes are asked when it is known that 'out' can take what they give. */
static bool can_take(const py_function *f, int which, const py_value *v)
{
    const int rule = out_param(f, which)->rule;
    const tn_dtype out = tn_tensor_dtype(v[f->out].s.v.t);
    if (rules[rule].role != ITERATOR || tn_dtype_is_floating_point(out) || !f->parsed[which].param[1].required ||
        (strncmp(f->name, "bitwise_", 8) && strcmp(f->name, "hypot")))
        return true;
    const tn_dtype common = py_result_type(v[0].s, v[1].s);
    return !common || tn_can_cast(common, out) || !wrong_dtype(f->name, rule, out, common);
}

bool py_out_begin(const py_function *f, int which, py_value *v)
{
    const int rule = out_param(f, which)->rule;
    if (!may_write(f, which, v))
        return false;
    if (v[f->out].s.kind == TN_SCALAR_TENSOR && (rules[rule].role == ITERATOR || rules[rule].role == FOUND) &&
        (!f->run || rules[rule].want == SAME) && py_is_expanded(v[f->out].s.v.t)) {
        PyErr_SetString(PyExc_RuntimeError,
                        "unsupported operation: more than one element of the written-to tensor refers to a single "
                        "memory location. Please clone() the tensor before performing the operation.");
        return false;
    }
    if (!fits_before(f, which, v))
        return false;
    if (f->run || v[f->out].s.kind != TN_SCALAR_TENSOR) /* which sees to the rest; several */
        return true;
    if (!can_take(f, which, v))
        return false;
    tn_tensor *out = v[f->out].s.v.t;
    py_value *dtype = slot_of_kind(f, which, PY_DTYPE, v), *device = slot_of_kind(f, which, PY_DEVICE, v);
    if (v[0].s.kind == TN_SCALAR_TENSOR && !(dtype && dtype->given) &&
        !reduced_fits(f->name, rule, tn_tensor_dtype(out), tn_tensor_dtype(v[0].s.v.t)))
        return false;
    if (dtype && dtype->given && is_factory(rule) && dtype->dtype != tn_tensor_dtype(out))
        return !wrong_dtype(f->name, rule, tn_tensor_dtype(out), dtype->dtype);
    if (dtype && !dtype->given && rules[rule].want == ANY) {
        dtype->dtype = tn_tensor_dtype(out);
        dtype->given = true;
    }
    if (device && !device->given)
        device->device = tn_tensor_device(out);
    else if (device && device->device.type != tn_tensor_device(out).type) {
        char type[2][32];
        snprintf(type[0], sizeof type[0], "%s", tn_device_text(device->device).s);
        snprintf(type[1], sizeof type[1], "%s", tn_device_text(tn_tensor_device(out)).s);
        type[0][strcspn(type[0], ":")] = type[1][strcspn(type[1], ":")] = '\0';
        PyErr_Format(PyExc_RuntimeError, "device type %s does not match device type of out parameter (%s)", type[0],
                     type[1]);
        return false;
    }
    return true;
}

/* Where a tensor's elements begin and end in its storage, in bytes; of one whose elements lie without gaps or overlaps. */
static bool range_of(tn_tensor *t, int64_t *from, int64_t *to)
{
    tn_dims shape = tn_tensor_shape(t), stride = tn_tensor_stride(t);
    int64_t last = 0, size = (int64_t)tn_dtype_size(tn_tensor_dtype(t));
    for (int32_t d = 0; d < shape.ndim; d++)
        last += (shape.dim[d] - 1) * stride.dim[d];
    *from = tn_tensor_storage_offset(t) * size;
    *to = *from + (last + 1) * size;
    return last + 1 == tn_tensor_numel(t);
}

/* Do both show some of the same memory, as far as PyTorch looks: EQUAL, the same elements; NOTHING; FREE, a part of them. */
static sharing shared_by(tn_tensor *out, tn_tensor *in)
{
    int64_t a0, a1, b0, b1;
    if (out == in)
        return tn_tensor_numel(out) ? EQUAL : NOTHING;
    if (!tn_tensor_numel(out) || !tn_tensor_numel(in) || !tn_tensor_shares_storage(out, in))
        return NOTHING;
    if (!range_of(out, &a0, &a1) || !range_of(in, &b0, &b1) || a1 <= b0 || b1 <= a0)
        return NOTHING;
    return a0 == b0 && a1 == b1 && py_same_dims(tn_tensor_stride(out), tn_tensor_stride(in)) ? EQUAL : FREE;
}

bool py_out_is_apart(int rule, bool first, tn_tensor *out, tn_tensor *in)
{
    sharing least = first ? rules[rule].first : rules[rule].others;
    if (least <= shared_by(out, in) || py_is_expanded(out))
        return true;
    PyErr_SetString(PyExc_RuntimeError,
                    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
                    "single memory location. Please clone() the tensor before performing the operation.");
    return false;
}

bool py_out_apart(const py_function *f, int which, const py_value *v, tn_tensor *out)
{
    const int rule = out_param(f, which)->rule;
    const py_signature *s = &f->parsed[which];
    const py_value *dim = rules[rule].role == EXTREME ? &v[s->param[1].slot] : NULL;
    bool apart = true, first = true;
    if (dim && (!tn_tensor_ndim(v[0].s.v.t) || tn_tensor_size(v[0].s.v.t, dim->s.v.i) == 1)) /* nothing is compared */
        return true;
    for (int i = 0; i < s->params && apart && rules[rule].first + rules[rule].others; i++) {
        const py_value *at = &v[s->param[i].slot];
        if (s->param[i].slot == f->out)
            continue;
        if (s->param[i].kind == PY_TENSORS && at->given)
            for (size_t k = 0; k < at->u.list.n && apart; k++)
                apart = py_out_is_apart(rule, first, out, at->u.list.item[k]);
        else if (at->s.kind == TN_SCALAR_TENSOR && at->s.v.t) {
            apart = py_out_is_apart(rule, first, out, at->s.v.t);
            first = false;
        }
    }
    return apart;
}

bool py_out_is_alone(const py_function *f, int which, const py_value *v)
{
    const py_signature *s = &f->parsed[which];
    tn_tensor *out = v[f->out].s.v.t;
    bool alone = true;
    for (int i = 0; i < s->params && alone; i++) {
        const py_value *at = &v[s->param[i].slot];
        if (s->param[i].slot == f->out)
            continue;
        if (s->param[i].kind == PY_TENSORS && at->given)
            for (size_t k = 0; k < at->u.list.n && alone; k++)
                alone = !tn_tensor_shares_memory(out, at->u.list.item[k]);
        else if (at->s.kind == TN_SCALAR_TENSOR && at->s.v.t)
            alone = !tn_tensor_shares_memory(out, at->s.v.t);
    }
    return alone;
}

PyObject *py_out_end(const py_function *f, int which, const py_value *v, tn_tensor *result)
{
    const int rule = out_param(f, which)->rule;
    tn_tensor *out = v[f->out].s.v.t;
    const py_value *dtype = slot_of_kind(f, which, PY_DTYPE, (py_value *)v);
    bool ok = !dtype || !dtype->given || dtype->dtype == tn_tensor_dtype(out) || is_factory(rule) ||
              !wrong_dtype(f->name, py_out_rule("exact", 5), tn_tensor_dtype(out), dtype->dtype);
    ok = ok && (!py_same_dims(tn_tensor_shape(out), tn_tensor_shape(result)) || py_out_apart(f, which, v, out));
    ok = ok && py_write_out(f->name, rule, out, result) == 0;
    tn_release(result);
    return ok ? py_borrowed(out) : NULL;
}
