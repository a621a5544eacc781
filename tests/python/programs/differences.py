"""The differences from PyTorch that are meant. Each names its operation, what differs and how, and why."""

import collections
import re

# operation, kind, wanted, got: regular expressions that match the whole; device: where (None: everywhere); line: a regular
# expression of the program's line; when: asked with the line and what was seen before it and after it, in PyTorch, or "raised":
# where that raises; program: a regular expression that some line up to there has; numbers: asked with the two numbers.
Difference = collections.namedtuple("Difference", "operation kind wanted got reason device line when program numbers", defaults=(None, ".*", None, "", None))

NUMBER = r"(?:^|= )(-?\d[\d.e+-]*|-?inf|nan)"
WHOLE = {"uint8": (0, 255), "int8": (-128, 127), "int16": (-(2**15), 2**15 - 1), "int32": (-(2**31), 2**31 - 1)}
COMPARES = r"(eq|ne|lt|le|gt|ge|equal|not_equal|less|less_equal|greater|greater_equal)_?|operator(==|!=|<|<=|>|>=)"


def named_in(line, seen):
    """The tensors that a line names, as they were seen."""
    return [what for name, what in seen.items() if isinstance(what, list) and re.search(rf"\b{re.escape(name)}(?!\w)", line)]


def beyond(line, before, after):
    """Does a number in the line, or in a tensor of no dimensions, lie beyond the integers of a tensor there?"""
    tensors = named_in(line, before)
    numbers = [float(n) for n in re.findall(r"(?<![\w.])-?\d+\.?\d*", re.sub(r"2\*\*40", str(2**40), line))]
    numbers += [x for what in tensors if what[1] == [] for x in what[-1]]
    limits = [WHOLE[what[0]] for what in tensors if what[0] in WHOLE]
    limits += [WHOLE[d] for d in re.findall(r"dtype=torch\.(\w+)", line) if d in WHOLE]
    return any(n < low or n > high for n in numbers for low, high in limits)


def integers_want(line, before, after):
    """Does an integer or bool tensor require grad?"""
    return any(isinstance(w, list) and w[6] and not w[0].startswith(("float", "bfloat")) for w in {**before, **after}.values())


def into_itself(line, before, after):
    """Is out= memory that an input shows?"""
    names = re.search(r"out=\(?(v\d+)", line)
    group = names and names[1] in before and before[names[1]][4]
    return bool(group) and any(w[4] == group for w in named_in(line.split("out=")[0].partition("=")[2], before))


def had_infinity(line, before, after):
    return any(isinstance(x, float) and x in (float("inf"), float("-inf")) for w in named_in(line, before) for x in w[-1])


def had_nan(line, before, after):
    return any(x != x for w in named_in(line, before) for x in w[-1])


def zeros_differ(line, before, after):
    """Does the line name a tensor with zeros, of which one may be negative?"""
    return any(x == 0 for w in named_in(line, before) for x in w[-1])


def nothing_finite(line, before, after):
    """Has the program an infinity or a NaN?"""
    return any(isinstance(x, float) and not abs(x) < float("inf") for w in before.values() if isinstance(w, list) for x in w[-1])


def no_integer(line, before, after):
    """Has a tensor there, or the line, an infinity or a NaN?"""
    return bool(re.search(r"\b(inf|nan)\b", line)) or any(isinstance(x, float) and not abs(x) < float("inf") for w in named_in(line, before) for x in w[-1])


def wider_number(line, before, after):
    """Is a tensor of no dimensions there of a wider dtype than 16 bits?"""
    return any(w[1] == [] and w[0] in ("float32", "float64") for w in named_in(line, before))


def part_of_itself(line, before, after):
    """Do two tensors that the line names show the same memory?"""
    groups = [w[4] for w in named_in(line, before) if w[4]]
    return len(groups) != len(set(groups))


def equals_there(line, before, after):
    """Has a tensor that the line names equal elements?"""
    return any(len(set(w[-1])) < len(w[-1]) for w in named_in(line, before))


def size_of_one(line, before, after):
    """Has a gradient there a dimension of size 1?"""
    return any(1 in w[1] for name, w in after.items() if isinstance(w, list) and name.endswith(".grad"))


def of_nothing(line, before, after):
    """Has a tensor that the line names no elements?"""
    return any(0 in w[1] for w in named_in(line, before))


def has_size_of_one(line, before, after):
    """Has a tensor that the line names, or what came out, a dimension of size 1, or no elements?"""
    return any(1 in w[1] or 0 in w[1] for w in named_in(line, {**before, **after}))


def integers_beside(line, before, after):
    """Is there an integer that no 16-bit float holds?"""
    return any(w[0] in (*WHOLE, "int64") and any(abs(n) > 256 for n in w[-1]) for w in named_in(line, before)) or any(
        abs(int(n)) > 256 for n in re.findall(r"(?<![\w.])-?\d+(?![\w.])", line))


def overlaps(line, before, after):
    """Does a tensor that the line names show an element of its memory twice?"""
    for w in named_in(line, before):
        count = 1
        for n in w[1]:
            count *= n
        if count > 1 + sum((n - 1) * s for n, s in zip(w[1], w[2])):
            return True
    return False


def no_integer_wants(line, before, after):
    """Is an integer tensor there?"""
    return any(isinstance(w, list) and w[0] in WHOLE for w in before.values())


def into_itself_of_list(line, before, after):
    """Is out= one of the tensors that stand before it?"""
    names = re.search(r"out=(v\d+)", line)
    return bool(names) and re.search(rf"\b{names[1]}\b", line.split("out=")[0].partition("=")[2]) is not None


def no_doubles(line, before, after):
    """Is no float64 among the operands that stand before out=?"""
    return all(w[0] != "float64" for w in named_in(line.split("out=")[0].partition("=")[2], before))


ANY = r"[\s\S]*"
SHARED = r"RuntimeError: unsupported operation: more than one element of the written-to tensor [\s\S]*"
DIFFERENCES = [
    Difference("flag", "version", r"[rv]\d+(\[\d+\])?: \d+", r"\d+",
               "x.data = y counts as a write: a graph that saved x would go on with other numbers, and is told so"),
    Difference("long|int|short|char|byte|to|type|type_as|copy_|setitem|tensor|made", "value", r"[rv]\d+\[\d+\] = .* \((u?int\d+)\)", r"-?\d+",
               "what no integer is, an infinity or NaN, becomes one by the processor's ways", when=no_integer),
    Difference("topk", "value", r"[rv]\d+\[0\]\[\d+\] = .*", ANY, "topk without order gives its elements in any", line=r".*(sorted=False|topk\(.*, (True|False), False\)).*"),
    Difference("backward", "gradient|value", ANY, ANY, "dropout's gradient is of what was drawn, which no two libraries draw alike", program=r"F\.dropout\("),
    Difference("topk", "value", r"[rv]\d+\[1\]\[\d+\] = \d+ \(int64\)", r"\d+", "topk does not say which of equal elements it names"),
    Difference("topk", "value", r"v\d+\[\d+\] = \d+ \(int64\)", r"\d+", "topk does not say which of equal elements it names", line=r".*out=\(v\d+, v\d+\).*"),
    Difference("backward", "strides", r"r\d+\[\d+\]: .*", r"\[\d+(, \d+)*\]", "the gradient of erf lies as what comes to it does", program=r"\berf\("),
    Difference("max|min", "shape", r"v\d+: .*", ANY, "one tensor for both results has the shape of one of them", line=r".*out=\((v\d+), \1\).*"),
    Difference(r"\w[\w.]*", "version", r"v\d+: 1", "2", "out= that takes another shape and is recorded is given its memory, then written", line=r".*out=v\d+.*"),
    Difference("multi_dot|rms_norm|vector_norm|frobenius_norm|instance_norm|special\.spherical_bessel_j0|spherical_bessel_j0", "value", r"v\d+\[\d+\] = .* \(float32\)", ANY,
               "what is added up in double, or in another order, and rounded once", numbers=lambda want, got: abs(want - got) <= 3e-7 * abs(want)),
    Difference("sort|topk|max|min|cummin|cummax", "result", r"[rv]\d+ = \{'(sort|topk|max|min|cummin|cummax)_out': .*", r"\{'(sort|topk|max|min|cummin|cummax)': .*",
               "named tuples of out= forms are of the operation's own class: one class for what has the same fields"),
    Difference("type", "result", r".* = torch\.\w+Tensor", r"torch\.cuda\.\w+Tensor", "the type's name says the device", "cuda"),
    Difference("addmm|addmm_|baddbmm|baddbmm_", "value", r"[rv]\d+\[\d+\] = (nan|inf|-inf) .*", "nan|inf|-inf",
               "alpha, which is infinite or multiplies what is, is applied to the product and not to its terms: infinity or NaN"),
    Difference("addmm_?|addmv_?|addr_?", "value", r"[rv]\d+\[\d+\] = .*", "nan",
               "0 times NaN is NaN, as in PyTorch's own baddbmm; its BLAS leaves out a product whose alpha is 0", line=r".*(alpha=-?0(\.0)?\b|, -?0(\.0)?, ).*"),
    Difference(COMPARES, "value", r"[rv]\d+\[\d+\] = .*", ANY,
               "integers are compared with a number as it is; PyTorch wraps one around that their dtype does not hold", when=beyond),
    Difference("threshold_?", "value", r"[rv]\d+\[\d+\] = .*", r"\d+",
               "a threshold is what it says; PyTorch wraps one around that the dtype does not hold", when=beyond),
    Difference("searchsorted|bucketize", "value", r"[rv]\d+\[\d+\] = .*", r"\d+",
               "a number is looked up as it is; PyTorch wraps one around that the dtype of the sequence does not hold", when=beyond),
    Difference(ANY, "requires_grad|is_leaf", r"[rv]\d+(\[\d+\])*: [01]", "[01]",
               "integers and bools want no gradient; PyTorch lets one require it that a differentiable number was written into", when=integers_want),
    Difference("masked_scatter_", "value", r"v\d+\[\d+\] = .*", ANY, "a source that is written to as it is read counts as it was", line=r".*\b(v\d+)\.masked_scatter_\(.*\b\1\)"),
    Difference(r"fmod|remainder|add|sub|subtract|rsub|mul|multiply|div|divide|true_divide|operator[-+*/%]=?|operator", "value", r"[rv]\d+\[\d+\] = .* \(b?float16\)", ANY,
               "a number beside 16-bit elements is what it is: PyTorch's CPU rounds it first", when=wider_number),
    Difference(r"fmod|remainder|floor_divide|div|divide|true_divide|operator//|operator%|operator/|operator|add|sub|subtract|mul|multiply", "value", r"[rv]\d+\[\d+\] = .* \(b?float16\)", ANY,
               "an integer beside 16-bit floats is what it is: PyTorch's CPU makes one of them of it first", when=integers_beside),
    Difference(COMPARES, "value", r"[rv]\d+\[\d+\] = .*", ANY, "a number beside 16-bit elements is what it is: PyTorch's CPU rounds it first", when=wider_number),
    Difference(r"pow_?|operator\*\*|operator|setitem", "value", r"[rv]\d+\[\d+\] = (nan|-0\.0) .*", r"inf|0\.0", "the powers of -inf and -0 to 0.5 are C's pow, not the square root's", line=r".*\*\*.*|.*pow.*"),
    Difference(r"clamp\w*|clip_?", "value", r"[rv]\d+\[\d+\] = .*", ANY,
               "a bound is what it says; PyTorch wraps one of no dimensions around that the dtype does not hold", when=beyond),
    Difference(r"\w+_|operator", "value", r"[rv]\d+\[\d+\] = .*", ANY,
               "an operand that shows a part of what is written counts as it was; PyTorch reads what it has begun to write", when=part_of_itself),
    Difference("logspace", "value", r"[rv]\d+\[\d+\] = .* \(u?int\d+\)", r"\d+", "logspace in integers is of numbers rounded down; PyTorch has the powers of integers, which wrap around"),
    Difference("addmm_?|baddbmm_?|addmv_?", "value", r"[rv]\d+\[\d+\] = (True|False) \(bool\)", ANY, "of bools a product is 'and', whatever alpha is"),
    Difference("sort", "value", r"[rv]\d+\[1\]\[\d+\] = \d+ \(int64\)", r"\d+", "without stable=True the order of equal elements is not said", line=r"(?!.*stable=True).*"),
    Difference("unique|unique_consecutive", "value", ANY, ANY, "which of several NaN is which is not said", when=had_nan),
    Difference("setitem", "value", r"v\d+\[\d+\] = .*", ANY, "what is left in elements that share memory depends on the order of the writes", when=overlaps),
    Difference("addmm_?|baddbmm_?", "value", ANY, "nan", "alpha multiplies a product of nothing too", line=r".*alpha=(nan|-?inf).*"),
    Difference("histc", "value", r"[rv]\d+\[\d+\] = .* \(b?float16\)", ANY, "which of two bins an element at their edge falls into is a matter of rounding",
               numbers=lambda want, got: abs(want - got) <= 2),
    Difference("softplus|logit", "value", r"[rv]\d+\[\d+\] = .* \(b?float16\)", ANY, "activations of 16 bits are rounded after each of their steps"),
    Difference("gelu|huber_loss", "value", r"[rv]\d+\[\d+\] = nan \(b?float16\)", "inf", "what grows with an infinity is one; PyTorch's loops for 16 bits give NaN", when=nothing_finite),
    Difference("batch_norm", "value", r"[rv]\d+\[\d+\] = (nan|-?inf) .*", ANY, "an infinite factor or mean is applied where it stands in the formula", when=nothing_finite),
    Difference("prod", "value", r"[rv]\d+\[\d+\] = (nan|-?inf) \(float16\)", ANY, "a product of 16 bits is kept in float32 to its end; PyTorch's overflows between"),
    Difference("cov", "value", r"[rv]\d+(\[\d+\])? = .*", ANY, "cov of integers is of these as floats; PyTorch's sums of them wrap around", when=beyond),
    Difference(ANY, "value", r"[rv]\d+\[\d+\] = .* \(float64\)", ANY, "what is computed in float32 stays that in an out= of float64", line=".*out=.*", when=no_doubles),
    Difference("addmm_?|baddbmm_?", "value", r"[rv]\d+\[\d+\] = nan .*", ANY, "a product whose factor is 0 is left out, as cuBLAS does", "cuda", line=r".*\b0(\.0)?\b.*"),
    Difference("kron", "version", r"v\d+: 0", "1", "kron(out=) counts as the write that it is", line=".*out=.*"),
    Difference("nanmean", "version", r"v\d+: 2", "1", "nanmean(out=) is one write", line=".*out=.*"),
    Difference("cov", "version", r"v\d+: \d+", r"\d+", "cov does not write to its input: PyTorch counts a write where weights are given"),
    Difference("amin|amax|prod|sum|min|max|all|any|mean|nansum|logsumexp|norm|linear|matmul|mm|bmm|mv|addmm|searchsorted|bucketize", "value", r"[rv]\d+\[\d+\] = .*", ANY,
               "a reduction into its own input reads it first; PyTorch reads what it has begun to write", line=".*out=.*", when=into_itself),
    Difference("std_mean|var_mean", "value", r"r\d+\[1\]\[\d+\] = nan .*", "-?inf", "the mean of what has an infinity is that", when=had_infinity),
    Difference("unique|unique_consecutive", "value|shape|result", ANY, ANY, "where rows with NaN come, and which of them are one, is not said",
               line=r".*dim=.*", when=had_nan),
    Difference(r"max|min|maximum|minimum|fmax|fmin|amax|amin|aminmax|relu6|hardtanh|clamp\w*|clip_?", "value", r"[rv]\d+(\[[01]\])?\[\d+\] = -?0\.0 .*", r"-?0\.0",
               "which of two zeros is the larger is not said", when=zeros_differ),
    Difference("softshrink", "value", r"[rv]\d+\[\d+\] = -?0\.0 .*", r"-?0\.0",
               "what shrinks to zero keeps its sign, as in PyTorch's loops of less than a vector"),
]
DIFFERENCES += [
    Difference("backward", "version", r"v\d+\.grad: \d+", r"\d+", "how often backward writes to a gradient as it adds to it is its own matter"),
    Difference("backward", "gradient|result", r"no v\d+\.grad|r\d+ = None", ANY, "the gradient of norm(0) is 0, and not none", program=r"(norm|dist)\((.*, )?(p=)?0\b"),
    Difference("backward", "strides", r"r\d+\[\d+\]: .*", r"\[(.*, )?0(, .*)?\]", "the gradient of a mean is one number expanded; PyTorch divides every copy of it",
               program=r"mean"),
    Difference("backward", "gradient|value", r"(v\d+\.grad|r\d+\[\d+\])\[\d+\] = .* \(float64\)", ANY, "PyTorch's hardsigmoid has a slope of float32's sixth in float64 too", program="hardsigmoid"),
    Difference("backward", "gradient|value", r"(v\d+\.grad|r\d+\[\d+\])\[\d+\] = (nan|-?inf) .*", "nan|-?inf", "of what is infinite the one or other of inf and NaN comes first",
               program=r"binary_cross_entropy_with_logits|(norm|dist|distance)\(.*1e300"),
    Difference("backward", "gradient", r"no v\d+\.grad", ANY, "a leaf has its gradient when all of it is there, also where backward fails behind it", when="raised"),
    Difference("backward", "gradient|value", r"(v\d+\.grad|r\d+\[\d+\])\[\d+\] = .*", "nan", "the slope of hardswish at NaN is NaN", program="hardswish", when=nothing_finite),
    Difference("backward", "gradient|value", r"(v\d+\.grad|r\d+\[\d+\])\[\d+\] = nan .*", r"-?0\.0|nan|-?inf", "std and var divided by more than all floats hold have a slope of 0", program=r"(std|var)\w*\(.*1e300"),
    Difference("backward", "requires_grad", r"r\d+\[\d+\]: [01]", "[01]", "a gradient on which nothing more depends requires none", line=".*create_graph=True.*"),
    Difference("backward", "gradient", r"no v\d+\.grad", ANY, "a view of a leaf that is itself a view is the leaf's: PyTorch, after a write under "
               "no_grad or through its bytes, has it belong to the leaf's base", program=r"no_grad\(\): .*_\(|\.view\(torch\.\w+\)"),
    Difference("backward", "error class", r"RuntimeError: one of the variables needed for gradient computation [\s\S]* is output 0 of (Hypot|Cumprod|Dist|Prod), [\s\S]*|"
               r"RuntimeError: Trying to backward through the graph a second time [\s\S]*", "None",
               "these save less than PyTorch's: not their result, nor anything of one element, nor an input that no gradient asks for",
               program=r"hypot|cumprod|dist|prod|layer_norm"),
    Difference("backward", "error class", r"RuntimeError: derivative for aten::\w+ is not implemented", "None", "Tenon has that derivative"),
    Difference("backward", "error class", r"NotImplementedError: Negation, the `-` operator, on a bool tensor [\s\S]*", "None", "a bool beside floats is a number for the derivative too"),
    Difference("backward", "error class", "None", r"RuntimeError: Trying to backward through the graph a second time [\s\S]*", "what is written into a part of a copy is "
               "needed again by a second walk", program=r"(diagonal|select|slice|as_strided)_scatter\("),
    Difference("repeat_interleave", "error class", "None", r"RuntimeError: (Trying to create tensor with negative dimension|allocated size does not match).*", "output_size is what "
               "comes out, also of nothing", line=".*output_size=.*"),
    Difference("setitem", "error class", "None", r"IndexError: index is out of bounds for dimension with size 0", "an index is out of bounds also where a slice beside it is empty"),
    Difference("take_along_dim", "error class", r"RuntimeError: view size is not compatible.*", "None", "take_along_dim is of tensors that lie in memory in any way"),
    Difference("index_copy_?", "error class", r"RuntimeError: index_copy_\(\): Expected a long tensor for index, but got Int", "None", "indices may be int32"),
    Difference("setitem", "error class", SHARED, "None", "one value for all elements that share memory is the same in any order", line=r".*\] = torch\.tensor\([\w.-]+, .*"),
    Difference("backward", "gradient|value", r".*\[\d+\] = .*", ANY, "a factor's gradient in cumprod is of the others, infinities and NaN among them: PyTorch divides "
               "the product by it, or leaves out what is behind a zero", program="cumprod", when=nothing_finite),
    Difference("backward", "offset", r"v\d+\.grad: \d+", r"\d+", "where in its own memory a gradient begins is its own matter"),
    Difference("backward", "gradient", r"v\d+\.grad\[\d+\] = nan .*", r"-?inf", "where a norm's slope is 0, an infinite gradient goes no further: no 0 * inf",
               when=nothing_finite),
    Difference(ANY, "shape|strides|offset|value", r"[vr]\d+(\[\d+\])?(: | = ).*", ANY, "what is refused leaves out= as it was; PyTorch resizes it first, or has begun to write", line=".*out=.*", when="raised"),
    Difference(r"masked_scatter_|setitem|scatter\w*_|index_\w+_|put_|operator.*|\w+_", "value", r"v\d+(\.grad)?\[\d+\] = .*", ANY,
               "what is refused leaves the tensor as it was; PyTorch has written to it before it finds the fault", when="raised"),
    Difference(r"setitem|index_\w+_|scatter\w*_|put_", "version", r"v\d+: \d+", r"\d+",
               "an index out of range is found by the kernel, when the write has been counted", "cuda", when="raised"),
]

DIFFERENCES += [
    Difference(r"\w+_|eye|drawn|threshold|triu|tril|setitem|operator\W+|operator", "error class", "None", SHARED, "a write to elements that share memory is refused wherever what is left would depend on the order "
               "of the writes; PyTorch looks at strides of 0 alone, and not in every operation"),
    Difference(r"\w+", "error class", "None", SHARED, "a write to elements that share memory is refused wherever what is left would depend on the order "
               "of the writes; PyTorch looks at strides of 0 alone, and not in every operation", line=".*out=.*"),
    Difference("detach_|flag", "error line", "Can't detach views in-place.*", r"Can't detach views in-place. Use detach\(\) instead.",
               "the rest of the message is about DistributedDataParallel, which is not there"),
    Difference("to", "error class", "None", r"TypeError: to\(\) received an invalid combination of arguments - got \((bool|float)[\s\S]*",
               "a bool or float is no dtype: PyTorch reads x.to(False) as x.to(torch.bool)"),
    Difference(r"setitem|getitem|index_\w+", "error class", r"RuntimeError: setStorage: [\s\S]*", r"IndexError: index is out of bounds [\s\S]*",
               "an index into a dimension of size 0 is out of bounds; PyTorch finds its own view of no memory first"),
    Difference(r"operator.*|floor_divide_?|remainder_?|fmod_?|div_?|divide_?|floor_divide|setitem", "error class", "RuntimeError: ZeroDivisionError", "None", "CUDA divides integers by zero without a word, in PyTorch too", "cuda"),
    Difference(r"take_along_dim|gather|scatter\w*|index_add_?", "error class", r"(RuntimeError|IndexError): index [\s\S]*", r"IndexError: index [\s\S]*",
               "an index that a kernel finds out of bounds is an IndexError, where PyTorch's kernels end the process's use of the GPU", "cuda"),
    Difference(r"index\w*|gather|scatter\w*|take\w*|embedding|getitem|setitem|put\w*|repeat_interleave|nll_loss|cross_entropy|one_hot|multinomial|searchsorted|bincount|operator.*", "error line", r"(Target|[\s\S]*index) [\s\S]*out of (bounds|range)[\s\S]*", r"index -?\d+ is out of bounds for dimension with size \d+",
               "a GPU's kernel says which index was out of bounds, not which argument or dimension it was for", "cuda"),
    Difference("getitem|setitem", "error class", "None", r"IndexError: Dimension out of range[\s\S]*", "a slice behind the last dimension is out of range, except the "
               "whole of it: PyTorch compares it with what lies behind its list of sizes", line=r".*\.\.\., \.\.\.,.*"),
    Difference("tensor_split", "error class", "None|IndexError.*", r"RuntimeError: tensor_split expected tensor_indices_or_sections to be on cpu[\s\S]*",
               "the indices are asked for on the CPU, and the program makes them where the rest of it is", "cuda"),
    Difference("isin", "value", ANY, ANY, "what is said to be unique and is not is found none the less", line=".*assume_unique=True.*"),
    Difference("index_select", "error class", r"RuntimeError: INDICES element is out of DATA bounds.*", r"IndexError: .*",
               "an index that is out of range is an IndexError, in whichever of PyTorch's loops it would be found"),
    Difference("embedding", "error class", "None", r"NotImplementedError: embedding: sparse gradients.*", "there are no sparse tensors, and no sparse gradients"),
    Difference("conj_physical_", "version", r"[rv]\d+(\[\d+\])?: \d+", r"\d+", "what is not complex is not written to, and no graph that saved it goes on with other numbers"),
    Difference("polygamma_?", "value", r"v\d+\[\d+\] = -?(\d{9,}\..*|\d\.\d+e\+\d\d .*)", "-?inf|nan", "at its poles a polygamma function is infinite"),
    Difference("histogram", "requires_grad", r"r\d+\[0\]: 1", "0", "counts have no derivative, and want none"),
    Difference("kthvalue|median|nanmedian", "value", r"[rv]\d+\[1\]\[\d+\] = \d+ \(int64\)", r"\d+", "which of equal elements is named is each library's own matter", when=equals_there),
    Difference("backward", "strides", r"v\d+\.grad: \[\d+(, \d+)*\]", r"\[\d+(, \d+)*\]", "the step along a dimension of size 1 is no step", when=size_of_one),
    Difference("backward", "gradient|value", r"(v\d+\.grad|r\d+\[\d+\])\[\d+\] = -?(\d|inf).*", "nan", "where acosh is NaN its slope is", program="acosh|arccosh"),
    Difference(r"gammaincc?_?|igammac?_?", "value", r"v\d+\[\d+\] = [01]\.0 .*", "nan", "what is of NaN is NaN", when=had_nan),
    Difference(r"i[01]e?_?|modified_bessel_i[01]", "value", r"v\d+\[\d+\] = nan .*", "-?inf", "Bessel's functions of infinity are infinite", when=had_infinity),
    Difference("ndtr", "value", r"v\d+\[\d+\] = .* \(b?float16\)", ANY, "what is computed in float32 is rounded once; PyTorch composes ndtr of rounded steps"),
    Difference(r"\w\S*", "version", r"[rv]\d+(\[\d+\])?: \d+", r"\d+", "what an unsafe split shows is memory that counts its writes as any view's does", program="unsafe_"),
    Difference(r"unsafe_\w+", "requires_grad", r"[rv]\d+(\[\d+\])?: 0", "1", "a view made without a graph still is a view of what wants a gradient"),
    Difference("backward", "gradient|value", r"(v\d+\.grad|r\d+\[\d+\])(\[\d+\])* = -?(\d{9,}\..*|\d\.\d+e\+\d\d .*)", "-?inf|nan", "at its poles a polygamma function is infinite", program="digamma|polygamma|psi"),
    Difference("backward", "strides", r"r\d+\[\d+\]: .*", r"\[\d+(, \d+)*\]", "a gradient that is not a leaf's lies as what it was computed from does", line=".*create_graph=True.*"),
    Difference("select_scatter|slice_scatter|channel_shuffle", "offset", r"v\d+: \d+", "0", "where in its own memory a copy begins is its own matter"),
    Difference("pad|constant_pad_nd", "offset", r"v\d+: 0", r"\d+", "where in its own memory a copy begins is its own matter"),
    Difference("softsign", "value", r"v\d+\[\d+\] = -.*", r"\d.*", "1 + |x| is a float, where PyTorch's integer has wrapped around"),
    Difference(r"cummin|cummax|median|nanmedian|kthvalue|mode", "result", r"[rv]\d+ = \{'\w+_out'.*", r"\{.*", "named tuples of out= forms are of the operation's own class: one class for what has the same fields"),
    Difference("kron", "error class", r"RuntimeError: view size is not compatible.*", "None", "kron is of operands that lie in memory in any way"),
    Difference("drawn", "error class", r"RuntimeError: Expected p_in [\s\S]*", "None", "a probability in GPU memory is not looked at; PyTorch's kernel asserts", "cuda"),
]


TWO_ZEROS = "-0.0 and 0.0 are equal, and which of them unique gives is not said"
DIFFERENCES += [
    Difference("sigmoid", "value", r"v\d+\[\d+\] = 0\.0 \(float32\)", r"\d\.\d+e-(39|4\d)", "what is below the smallest normal number is kept: PyTorch's vectors divide 1 by what has overflowed"),
    Difference("signbit", "value", r"v\d+\[\d+\] = (True|False) \(bool\)", "True|False", "which sign a NaN has is not said", when=had_nan),
    Difference("view_copy|view", "value", r"v\d+\[\d+\] = -?\d{4,} \(int\d+\)", r"-?\d{4,}", "which sign a NaN has is not said", when=had_nan),
    Difference("unique|unique_consecutive", "value", r"[rv]\d+(\[0\])?\[\d+\] = -?0\.0 .*", r"-?0\.0", TWO_ZEROS),
    Difference("scatter_reduce_|index_reduce_", "version", r"v\d+: \d+", r"\d+", "a mean in place is two writes, of the sum and of its quotient", line=r'.*"mean".*'),
    Difference(r"(scaled_)?modified_bessel_[ik][01]|spherical_bessel_j0", "error class", r"NotImplementedError: \"(scaled_)?(modified|spherical)_bessel_\w+_cpu\" not implemented for '(Half|BFloat16)'", "None",
               "Tenon has Bessel's functions of 16 bits"),
    Difference("pad|constant_pad_nd", "error class", "None", r"RuntimeError: value cannot be converted to type c10::BFloat16 without overflow", "what a dtype does not hold is refused; PyTorch does not look "
               "where one element is filled", line=".*1e300.*"),
    Difference("backward", "error class", "None", r"RuntimeError: derivative for aten::\w+ is not implemented", "an operation without a derivative knows what it is of: PyTorch's out= leads nowhere, "
               "and what is asked for behind it is unused", line=".*allow_unused=True.*", program="out="),
    Difference("backward", "strides", r"r\d+\[\d+\]: .*", r"\[(.*, )?0(, .*)?\]", "the gradient of a nansum in which no NaN is is a sum's, one number expanded", program="nansum"),
    Difference("select_scatter|slice_scatter|diagonal_scatter", "strides", r"v\d+: .*", ANY, "a copy of what shows an element twice shows none twice", when=overlaps),
    Difference("backward", "strides", r"r\d+\[\d+\]: .*", r"\[\d+(, \d+)*\]", "the gradient of what was indexed lies as that does", program=r"= v\d+\[\["),
    Difference("backward", "strides", r"r\d+\[\d+\]: .*", r"\[\d+(, \d+)*\]", "the gradient of a median along a dimension lies with this dimension last", program=r"nanmedian\("),
    Difference("deg2rad|rad2deg|isclose|prelu|put|relu6|hardtanh|nonzero_static|ldexp|slice_scatter|pad|xlogy", "strides", r"v\d+: .*", ANY, "the step along a dimension of size 1, or of nothing, is no step", when=has_size_of_one),
]
DIFFERENCES += [
    Difference("multi_margin_loss|multilabel_margin_loss", "error class|value", r"None|v\d+\[0\] = .*", ANY, "of no rows there is no loss: PyTorch looks at nothing, and gives what lay in memory", when=of_nothing),
    Difference("polygamma_?", "value", r"v\d+\[\d+\] = nan .*", r"-?0\.0", "at infinity a polygamma function is 0", when=had_infinity),
    Difference("histogram", "value", r"r\d+\[0\]\[\d+\] = .*", r"\d.*", "which of two bins an element at their edge falls into is a matter of rounding",
               numbers=lambda want, got: abs(want - got) <= 2),
    Difference("backward", "gradient|value", r".*\[\d+\] = 0\.0 .*", r"-?\d.*", "the gradient of narrow_copy from the end on is there: PyTorch's slice ends at 0 then, before it begins",
               program=r"narrow_copy\([^)]*, -\d"),
    Difference("backward", "aliasing", r"r\d+\[\d+\]: .*", r"r\d+\[\d+\]", "the gradients of a tensor and of what shows all of it are one", line=".*create_graph=True.*", program=r"pixel_(un)?shuffle\(.*, 1\)"),
    Difference("mode", "value", r"[rv]\d+\[0\]\[\d+\] = .*", r"-?\d.*|-?inf", "a NaN equals nothing, and is not the most common: PyTorch's sort leaves it anywhere", when=had_nan),
    Difference("backward", "gradient|value", r".*\[\d+\] = -?\d.* \(float64\)", r"-?\d.*", "PyTorch's trigamma has ten digits", program=r"digamma|psi\(",
               numbers=lambda want, got: abs(want - got) <= 1e-8 * max(abs(want), abs(got), 1)),
    Difference("backward", "error class", "None", r"RuntimeError: one of the variables needed for gradient computation .*", "tanhshrink saves its operand, PyTorch the operand's tanh",
               program="tanhshrink"),
    Difference(r"repr\(\)|str\(\)", "result", r"[\s\S]*grad_fn=<NotImplemented>\)", r"[\s\S]*grad_fn=<\w+Backward0>\)", "an operation without a derivative says which one it is"),
]
DIFFERENCES += [
    Difference(r"\w+", "error line", r"TensorBase\.\w+\(\) takes no .*", r"Tensor\.\w+\(\) takes no .*", "methods are of the class that has them"),
    Difference("mvlgamma_", "error line", r"mvlgamma: result type .*", r"result type .*", "the dtypes are named in their order"),
    Difference("backward", "error line", r"derivative for aten::floor_divide_ is not implemented", r"derivative for aten::floor_divide is not implemented",
               "the derivative does not know whether it is of the form in place"),
    Difference("backward", "error line", r"one of the variables needed .* which is output 0 of LinalgVectorNorm, .*", r"one of the variables needed .* which is output 0 of (Amax|Amin), .*",
               "the infinite norms are the extremes of absolute values", program=r"norm|dist"),
    Difference("backward", "error line", r"Output \d+ of Unbind is a view and its base or another view of its base has been modified inplace\..*", r"one of the variables needed .* which is output 0 of Unbind, .*",
               "what was saved and then written is said as of any tensor"),
    Difference(r"\w+", "error line", r"special_(\w+)\(\).*", r"\w+\(\).*", "what torch.special and torch share says its name in torch", line=r".*torch\.special\..*"),
    Difference(r"\w+", "error line", r"linalg_(\w+)\(\).*", r"\w+\(\).*", "what torch.linalg has says its name there", line=r".*torch\.linalg\..*"),
    Difference("unique|unique_consecutive", "error line", r"Tensor\.unique\w*\(\) got an unexpected keyword argument .*", r"unique\w*\(\) got an unexpected keyword argument .*",
               "the method and the function of torch are one function"),
    Difference("masked_scatter_?", "error line", r"masked_scatter: expected self and source to have same dtypes but got\w+ and \w+", r".* but got \w+ and \w+", "a space that PyTorch leaves out"),
    Difference("permute|permute_copy", "error line", r"permute\(sparse_coo\): number of dimensions .*", r"permute: number of dimensions .*", "nothing is sparse there"),
    Difference("diag", "error line", r"Supports 1D or 2D tensors\. Got \d+D", r"diag\(\): Supports 1D or 2D tensors\. Got \d+D", "out= makes no other message", line=".*out=.*"),
    Difference(r"round_|nonzero", "error line", r'\w+\(\) missing 1 required positional arguments: "(decimals|as_tuple)"', r"\w+\(\) got an unexpected keyword argument .*",
               "what is not known is said, of functions that PyTorch has twice"),
    Difference("is_inference_mode_enabled|is_grad_enabled", "error line", r"torch\.\w+\(\) takes no arguments .*", r"torch\._C\.\w+\(\) takes no arguments .*", "functions say the module that they are in"),
    Difference("index_reduce", "error line", r"index_reduce\(\) missing 4 required positional argument: .*", r"index_reduce\(\).*", "what is missing is said, and not what is there"),
    Difference("round", "error class", r'NotImplementedError: "round_vml_cpu" not implemented for .*', "None", "torch.special.round is torch.round, which leaves integers as they are",
               line=r".*torch\.special\.round.*"),
    Difference("embedding_renorm_", "error line", r"select\(\): index .*", "index out of range in self", "an index is out of range in the words of embedding"),
    Difference("gaussian_nll_loss", "error class", r"TypeError: any\(\) received .*", "None", "an integer variance is one: PyTorch asks any() of a bool"),
    Difference("narrow_copy", "error class", r"RuntimeError: Expected dim < static_cast.*", "IndexError: Dimension out of range .*", "a dimension is out of range in the words of narrow"),
    Difference("instance_norm", "error class", r'TypeError: instance_norm\(\) missing 1 required positional arguments: "cudnn_enabled"', ANY, "whether cuDNN is used need not be said where it is not there"),
    Difference("norm", "error line", r"Tensor\.norm\(\) got .*", r"norm\(\) got .*", "the method and the function of torch are one function"),
    Difference("drawn", "error line", r"(Expected p_in .* but got false\.)  \(Could this error message be improved\?.*", r"Expected p_in .* but got false\.", "no enhancement request to PyTorch is asked for"),
    Difference("gaussian_nll_loss", "error line", r"any\(\) received .*", r"gaussian_nll_loss\(\) received .*", "what the function was called with is refused by it, not by what it calls"),
]

DIFFERENCES += [
    Difference("backward", "gradient|value", r"(v\d+\.grad|r\d+\[\d+\])\[\d+\] = nan .*", r"-?0\.0", "at 0 a norm of a power below 1 has the slope 0, whatever the norm is",
               program=r"(norm|dist)\(.*0\.\d", when=nothing_finite),
    Difference("polygamma_?", "value", r"v\d+\[\d+\] = .* \(float64\)", ANY, "PyTorch's trigamma has ten digits", numbers=lambda want, got: abs(want - got) <= 1e-8 * abs(want)),
    Difference("digamma_?|psi", "value", r"v\d+\[\d+\] = .* \(float64\)", ANY, "beside a pole, where a digit of x is three of the result, the last ones differ",
               numbers=lambda want, got: abs(want) > 100 and abs(want - got) <= 1e-12 * abs(want)),
    Difference("median|nanmedian", "value", r"[rv]\d+\[0\]\[\d+\] = .*", ANY, "the median of what shows an element several times is one of them: PyTorch gives what lay in memory", when=overlaps),
    Difference("matrix_power", "value", r"v\d+\[\d+\] = .* \(float32\)", ANY, "the products of a power are added up in another order", numbers=lambda want, got: abs(want - got) <= 1e-6 * max(abs(want), 1)),
    Difference("matrix_power", "value", r"v\d+\[\d+\] = .* \((float16|bfloat16)\)", ANY, "a product of three is rounded once for each of its two, in another order",
               numbers=lambda want, got: abs(want - got) <= max(abs(want), 1) / 64),
    Difference("logsumexp", "value", r"v\d+\[\d+\] = .* \(float(32|64)\)", ANY, "what out= of a wider dtype takes was rounded to the input's", line=".*out=.*",
               numbers=lambda want, got: abs(want - got) <= max(abs(want), 1) / 128),
    Difference("digamma_?|psi|lgamma_?|log_?|sqrt_?", "value", r"v\d+\[\d+\] = .*", ANY, "the sign of a NaN, which is seen through a view of another dtype",
               program=r".*\.view\(dtype=.*", numbers=lambda want, got: want == -got),
    Difference("index_add|index_copy", "version", r"v\d+: 0", "1", "out= of what is added to is written to once", line=".*out=.*", when=into_itself),
    Difference("backward", "gradient", r".*= nan .*", ANY, "0 times infinity is NaN: a margin loss gives 0 where it has no slope", program=r".*margin_loss.*"),
    Difference("ldexp_?", "value", r"v\d+\[\d+\] = .*", ANY, "2 to a power of 16 bits without dimensions is of 16 bits",
               numbers=lambda want, got: abs(want - got) <= abs(want) / 128),
    Difference("multilabel_margin_loss", "value", r"v\d+\[\d+\] = .* \(float64\)", ANY, "what is added up in another order", numbers=lambda want, got: abs(want - got) <= 1e-14 * abs(want)),
    Difference("triplet_margin_loss", "value", r"v\d+\[\d+\] = .* \(float64\)", ANY, "the distance of two integer tensors is of float32", numbers=lambda want, got: abs(want - got) <= 1e-7 * abs(want)),
    Difference("pixel_unshuffle", "shape", r"v\d+: .*", ANY, "an image of no elements has the shape that it would have with some", when=of_nothing),
    Difference("range", "shape", r"v\d+: .*", ANY, "a range of integers has as many as the numbers say that are given; PyTorch rounds them first, and divides by 0", line=r".*dtype=torch\.u?int.*"),
    Difference("nanquantile|quantile", "requires_grad|is_leaf", r"v\d+: [01]", "[01]", "what out= was written into has no history", line=".*out=.*"),
    Difference("embedding", "value", r"v\d+\[\d+\] = .*", ANY, "what is refused leaves the weight as it was; PyTorch has begun to scale it", line=".*max_norm=.*", when="raised"),
    Difference("backward", "strides", r"r\d+\[\d+\]: .*", r"\[\d+(, \d+)*\]", "the gradient of what was sorted lies with the sorted dimension last", program=r"sort\("),
    Difference("diagonal_scatter|select_scatter|slice_scatter", "offset", r"v\d+: \d+", "0", "a copy begins where its memory does"),
    Difference("mvlgamma", "strides", r"v\d+: .*", ANY, "a sum over the last dimension lies as what is summed does"),
    Difference("margin_ranking_loss|addcdiv|addcmul", "strides", r"v\d+: .*", ANY, "steps between no elements are no steps", when=of_nothing),
    Difference(r"kl_div|binary_cross_entropy\w*", "strides", r"v\d+: .*", ANY, "what is computed of elements that are shown twice lies as rows do", when=overlaps),
    Difference("histogram", "value", r"r\d+\[1\]\[\d+\] = .*", ANY, "an edge of bins is its place between the ends, rounded once", numbers=lambda want, got: abs(want - got) <= 1e-14 * max(abs(want), 1)),
    Difference("erf_?", "value", r"v\d+\[\d+\] = .* \(b?float16\)", ANY, "erf of a tiny number has all of its digits", numbers=lambda want, got: abs(want) < 1e-3 and abs(want - got) <= 0.03 * abs(want)),
    Difference("i0e|i1e|i0_?|i1", "value", r"v\d+\[\d+\] = .* \(b?float16\)", ANY, "what is computed in float32 is rounded once", numbers=lambda want, got: abs(want - got) <= 0.01 * abs(want)),
    Difference("backward", "gradient|value", r".*\[\d+\] = .*", ANY, "addcdiv of integers multiplies by the factor as it is: PyTorch's slope wraps it around in their dtype", program=r"addcdiv\([^)]*, -\d", when=no_integer_wants),
    Difference("backward", "gradient|value", r".*\[\d+\] = nan .*", r"-?\d.*|-?inf", "a factor's gradient in a product is of the others: PyTorch divides, infinity by infinity", program=r"prod\("),
    Difference("multi_dot", "value", r"v\d+\[\d+\] = .*", ANY, "out= that is an operand holds the product; PyTorch clears it before it multiplies", when=into_itself_of_list),
    Difference(r".*", "strides", r"[rv]\d+(\[\d+\])?: .*", ANY, "the step along a dimension of size 1, or of nothing, is no step", when="idle steps"),
    Difference("multigammaln", "strides", r"v\d+: .*", ANY, "a sum over the last dimension lies as what is summed does"),
    Difference("constant_pad_nd|pad", "strides", r"v\d+: .*", ANY, "there is no order of channels last"),
    Difference("backward", "strides", r"r\d+\[\d+\]: .*", r"\[\d+(, \d+)*\]", "the gradient of what shows an element twice lies as rows do", program="as_strided"),
    Difference("backward", "aliasing", r"r\d+\[\d+\]: .*", r"r\d+\[\d+\]", "the gradient of one element that was sorted is that of the result", program=r"sort\("),
    Difference("fill_diagonal_|unbind_copy|embedding_renorm_", "version", r"[rv]\d+(\[\d+\])?: \d+", r"\d+", "a call writes once, however many parts it writes"),
    Difference("backward", "result", r"r\d+ = None", ANY, "norm_except_dim has a derivative in every dtype and at 0", program="norm_except_dim"),
    Difference("ndtr|log_ndtr", "requires_grad|is_leaf", r"v\d+: [01]", "[01]", "what out= was written into has no history", line=".*out=.*"),
    Difference(r"repr\(\)|str\(\)", "result", r"[\s\S]*grad_fn=<IndexBackward0>\)", r"[\s\S]*grad_fn=<ViewBackward0>\)", "the last of an index's steps names it"),
    Difference("backward", "gradient|result", r"no v\d+\.grad|r\d+ = None", ANY, "the gradient of a distance of power 0 is 0, and not none", program="triplet_margin_loss"),
    Difference("triplet_margin_loss", "value", r"v\d+\[\d+\] = .* \(float64\)", ANY, "the distance of two integer tensors is of float32", numbers=lambda want, got: abs(want - got) <= 1e-6 * abs(want)),
    Difference("pdist|cdist", "value", r"v\d+\[\d+\] = .* \(float32\)", ANY, "powers are added up in double", numbers=lambda want, got: abs(want - got) <= 3e-7 * abs(want)),
    Difference("gelu", "value", r"v\d+\[\d+\] = nan .*", "inf", "what grows with an infinity is one", when=nothing_finite),
    Difference("median|nanmedian|kthvalue", "value", r"v\d+\[\d+\] = \d+ \(int64\)", r"\d+", "which of equal elements is named is each library's own matter", line=".*out=.*"),
    Difference("polygamma_?", "value", r"v\d+\[\d+\] = .* \(float32\)", ANY, "beside a pole PyTorch computes in float32",
               numbers=lambda want, got: abs(want) > 1000 and abs(want - got) <= 1e-4 * abs(want)),
    Difference("gammaincc?|igammac?", "value", r"v\d+\[\d+\] = .* \(float64\)", ANY, "where both arguments are alike PyTorch's expansion has nine digits", numbers=lambda want, got: abs(want - got) <= 1e-8 * abs(want)),
    Difference(r"split_copy|split_with_sizes_copy|cummin|cummax", "shape|version", r"v\d+: .*", ANY, "out= tensors are given their shape one after another, and written once", line=".*out=.*"),
    Difference(r"operator\*\*", "strides", r"v\d+: .*", ANY, "what has a number in front lies as the tensor does"),
    Difference("float_power", "strides", r"v\d+: .*", ANY, "what has a number in front lies as the tensor does", line=r".*float_power\(-?[\d.]+, .*"),
    Difference("mvlgamma|multigammaln", "value", r"v\d+\[\d+\] = .* \(b?float16\)", ANY, "beside a pole it is 16 bits of a steep function",
               numbers=lambda want, got: abs(want - got) <= 0.02 * abs(want)),
    Difference("multilabel_soft_margin_loss", "value", r"v\d+\[\d+\] = (-?inf|nan) .*", ANY, "it is the binary cross entropy of logits, in which an infinity is less itself", when=nothing_finite),
    Difference("mode", "value", r"[rv]\d+\[1\]\[\d+\] = \d+ \(int64\)", r"\d+", "which of equal elements is named is each library's own matter"),
    Difference("backward", "gradient|value", r".* = 0\.0 .*", "nan", "the slope at a NaN is NaN; PyTorch's is 0 where the graph is to be walked again",
               line=".*create_graph=True.*", program=r"logit\("),
    Difference("embedding_renorm_", "value", r"v\d+\[\d+\] = .* \(float32\)", ANY, "powers are added up in double",
               numbers=lambda want, got: abs(want - got) <= 3e-7 * abs(want)),
    Difference("group_norm", "value", r"v\d+\[\d+\] = .* \(float32\)", ANY, "x less its mean is multiplied; PyTorch takes two large products from each other",
               numbers=lambda want, got: abs(want - got) <= 0.02 * abs(want)),
    Difference("detach_copy", "requires_grad|is_leaf", r"v\d+: [01]", "[01]", "what out= was written into has no history", line=".*out=.*"),
    Difference("median|nanmedian|kthvalue", "value", r"[rv]\d+(\[0\])?\[\d+\] = -?0\.0 .*", r"-?0\.0", "which of 0 and -0, which are equal, is given is each library's own matter"),
    Difference("index_reduce_?", "value", r"v\d+\[\d+\] = .* \(b?float16\)", ANY, "what 16 bits are added up in is rounded once", line=r'.*"mean".*',
               numbers=lambda want, got: abs(want - got) <= 0.01 * max(abs(want), 1)),
    Difference("rsub", "value", r"v\d+\[\d+\] = .* \(b?float16\)", ANY, "a multiple is rounded once with the difference, as PyTorch's is of many elements: of few it is rounded before",
               numbers=lambda want, got: abs(want - got) <= 0.04 * max(abs(want), 1)),
    Difference(r"(linalg\.)?vector_norm", "value", r"v\d+\[\d+\] = .* \(float64\)", ANY, "powers and roots of doubles are within their last digit",
               numbers=lambda want, got: abs(want - got) <= 4e-16 * abs(want)),
    Difference(r"(special\.)?zeta", "value", r"v\d+\[\d+\] = nan .*", r"0\.0|1\.0|inf", "beyond its first terms the sum of infinite powers is 0: PyTorch multiplies it by infinity", line=r".*\binf\b.*"),
    Difference("renorm", "strides", r"v\d+: .*", ANY, "what is scaled lies as it did", device="cuda"),
    Difference("backward", "strides", r"r\d+\[\d+\]: .*", r"\[\d+(, \d+)*\]", "the gradient of what was chosen along a dimension lies with this dimension last", program=r"topk\("),
    Difference("backward", "strides", r"r\d+\[\d+\]: .*", r"\[\d+(, \d+)*\]", "the gradient of a maximum or minimum lies as what comes to it does", program=r"\b(maximum|minimum|fmax|fmin)\("),
    Difference("channel_shuffle", "aliasing", r"v\d+: v\d+", r"v\d+", "a copy of nothing is memory of its own", when=of_nothing),
    Difference("matmul|mm|mv|dot", "version", r"v\d+: \d+", r"\d+", "into its own input a product is one write", when=into_itself),
    Difference("histogramdd", "requires_grad", r"r\d+\[0\]: 1", "0", "counts have no derivative, and want none"),
    Difference("view_copy", "requires_grad|is_leaf", r"v\d+: [01]", "[01]", "what out= was written into has no history", line=".*out=.*"),
    Difference(r"repr\(\)|str\(\)", "result", r"[\s\S]*grad_fn=<\w+>\)", r"[\s\S]*grad_fn=<\w+>\)", "a composed operation is named by the last of its own steps", program=r"scatter_reduce|trapezoid|frobenius_norm"),
]


def idle_steps(found, after):
    """Do two lists of strides differ only along dimensions of size 1, or in a tensor of nothing?"""
    name, _, want = str(found["want"]).partition(": ")
    what = after.get(name)
    if not isinstance(what, list):
        return False
    pairs = zip(what[1], re.findall(r"-?\d+", want), re.findall(r"-?\d+", str(found["got"])))
    return 0 in what[1] or all(w == g for n, w, g in pairs if n > 1)


def fits(d, found, device, before, after, error, program):
    if d.device not in (None, device) or not re.fullmatch(d.operation, found["op"]) or not re.fullmatch(d.kind, found["kind"]):
        return False
    if not re.fullmatch(d.wanted, str(found["want"])) or not re.fullmatch(d.got, str(found["got"])) or not re.fullmatch(d.line, found["line"]):
        return False
    if not any(re.search(d.program, line) for line in program):
        return False
    if d.numbers:
        numbers = [re.search(NUMBER, str(text)) for text in (found["want"], found["got"])]
        if not all(numbers) or not d.numbers(*(float(n[1]) for n in numbers)):
            return False
    if d.when == "idle steps":
        return idle_steps(found, after)
    return bool(error) if d.when == "raised" else d.when is None or d.when(found["line"], before, after)


def named(found, device, before, after, error, program):
    """The Difference that explains what was found, or None. before, after: what PyTorch showed around the line; error: what it
    raised; program: the lines up to there."""
    return next((d for d in DIFFERENCES if fits(d, found, device, before, after, error, program)), None)
