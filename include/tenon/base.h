/* tenon/base.h: the types every other header uses, and the macros that make C calls read like PyTorch's.
 *
 * Everything here is either a plain value (device, dims, scalar, array) or an opaque handle (tensor, module,
 * scope). Values are passed by copy; handles are reference counted (tenon/scope.h). The macros are C11 with four
 * extensions that gcc and clang have in every mode, -std=c11 -Wpedantic too: statement expressions, __auto_type,
 * __typeof__ and __COUNTER__ (so that an operand's text is written once, however deep calls nest). The functions are
 * plain C; C++ sees only them.
 */
#ifndef TENON_BASE_H
#define TENON_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* THE version: CMake, the library's name, its symbols, pkg-config, pip and Python read it here. */
#define TN_VERSION_MAJOR 0
#define TN_VERSION_MINOR 1
#define TN_VERSION_PATCH 0
#define TN_VERSION_TEXT  TN__STR(TN_VERSION_MAJOR) "." TN__STR(TN_VERSION_MINOR) "." TN__STR(TN_VERSION_PATCH)

#define TN__STR2(x) #x
#define TN__STR(x)  TN__STR2(x)

/* TN_DEPRECATED("use tn_new"), before a declaration: still there, will go. Callers are warned (docs/api-stability.md). */
#if defined(__GNUC__)
#define TN_API                 __attribute__((visibility("default")))
#define TN_MUST_USE            __attribute__((warn_unused_result))
#define TN_DEPRECATED(instead) __attribute__((deprecated(instead)))
#else
#define TN_API
#define TN_MUST_USE
#define TN_DEPRECATED(instead)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- handles ---- */
typedef struct tn_tensor tn_tensor;
typedef struct tn_module tn_module;
typedef struct tn_scope tn_scope;

/* ---- status codes: 0, or what kind of failure the thread's error record holds ---- */
typedef int32_t tn_status; /* fixed width, so not an enum, in the ABI */
enum {
    TN_OK,
    TN_EINVAL,   /* an argument that does not fit: value, shape, string          (RuntimeError)        */
    TN_EDEVICE,  /* operands apart, a device that is not there                   (RuntimeError)        */
    TN_ENOMEM,   /* the device has too little memory; nothing has changed        (OutOfMemoryError)    */
    TN_EINDEX,   /* a dimension or an index out of range                         (IndexError)          */
    TN_EDTYPE,   /* a dtype an operation does not have, or may not convert to    (RuntimeError)        */
    TN_EVALUE,   /* right type, wrong value                                      (ValueError)          */
    TN_ETYPE,    /* wrong kind of argument                                       (TypeError)           */
    TN_EIO,      /* a file that cannot be read or written                        (OSError)             */
    TN_EFORMAT,  /* a file that is not what it says it is                        (ValueError)          */
    TN_EGRAD,    /* autograd: no graph, freed graph, changed saved tensor ...    (RuntimeError)        */
    TN_EMISSING, /* no such operation on that backend, no such name              (NotImplementedError) */
    TN_ECANCELED /* a callback asked to stop                                     (RuntimeError)        */
};

/* ---- element types ---- */
typedef int32_t tn_dtype; /* 0 = not said: inferred, or the default dtype */
enum {
    TN_DTYPE_DEFAULT,
    TN_BOOL,
    TN_U8,
    TN_I8,
    TN_I16,
    TN_I32,
    TN_I64,
    TN_F16,
    TN_BF16,
    TN_F32,
    TN_F64,
    TN_U32, /* these three have few operations, as in PyTorch */
    TN_U64,
    TN_U16
};

/* ---- in which order the dimensions lie in memory ---- */
typedef int32_t tn_memory_format; /* 0 = not said */
enum {
    TN_MEMORY_FORMAT_DEFAULT,
    TN_CONTIGUOUS_FORMAT, /* row-major */
    TN_PRESERVE_FORMAT,   /* as the tensor that it is made from */
    TN_CHANNELS_LAST,     /* [N, C, H, W], the channels of a pixel beside each other */
    TN_CHANNELS_LAST_3D   /* [N, C, D, H, W], the same */
};

/* ---- devices: {0, 0} is 'not said', so zero-filled options mean the default device; index -1: the current one ---- */
enum {
    TN_DEVICE_INVALID = -1, /* what a failed tn_device_parse returns: poisons like a NULL tensor */
    TN_DEVICE_DEFAULT = 0,
    TN_DEVICE_CPU,
    TN_DEVICE_CUDA,
    TN_DEVICE_OPENCL,
    TN_DEVICE_META
};
typedef struct tn_device {
    int32_t type, index;
} tn_device;
static inline tn_device tn_device_make(int32_t type, int32_t index)
{
    tn_device d;
    d.type = type;
    d.index = index;
    return d;
}
#define TN_CPU       tn_device_make(TN_DEVICE_CPU, -1)
#define TN_CUDA(i)   tn_device_make(TN_DEVICE_CUDA, (i))
#define TN_OPENCL(i) tn_device_make(TN_DEVICE_OPENCL, (i))
#define TN_META      tn_device_make(TN_DEVICE_META, -1)

/* ---- what a loss does with its elements ---- */
enum { TN_MEAN, TN_SUM, TN_NO_REDUCTION, TN_BATCH_MEAN };

/* ---- what tn_pad adds: a number, the elements before the edge in reverse, the edge, those of the other end ---- */
enum { TN_PAD_CONSTANT, TN_PAD_REFLECT, TN_PAD_REPLICATE, TN_PAD_CIRCULAR };

/* ---- small values ---- */
#define TN_MAX_DIMS 8

/* A shape, or a list of up to 8 dimensions: it holds them, and may be kept, assigned and returned as any struct. All zero is
 * 'not said' where a list is optional. */
typedef struct tn_dims {
    const struct tn__TN_DIMS *no_number; /* NULL; so that .dims = n does not initialise one without a word */
    int32_t ndim;
    bool said; /* a list, also where it has no dimensions: TN_SHAPE() */
    int64_t dim[TN_MAX_DIMS];
} tn_dims;

/* The n numbers of an array, which are copied. What is no list (more than 8, less than none, no array) is an error of the
 * call that is given it. */
static inline tn_dims tn_dims_of(const int64_t *dim, int32_t n)
{
    tn_dims d = {NULL, 0, true, {0}};
    d.ndim = n > 0 && !dim ? -1 : n;
    for (int32_t i = 0; i < TN_MAX_DIMS; i++) {
        if (i >= d.ndim)
            break;
        d.dim[i] = dim[i];
    }
    return d;
}

/* A list of any length, borrowed: sizes to split into, what to pad with. TN_INTS(1, 2) lives as long as the block it stands in,
 * and is what calls take; what outlives the block needs an array of its own. */
typedef struct tn_ints {
    const int64_t *i;
    size_t n;
} tn_ints;

/* A borrowed C array. literal: written out in the call, so doubles become the default dtype, as torch.tensor([1.5]). */
typedef struct tn_array {
    const void *data;
    size_t n;
    tn_dtype dtype;
    bool literal;
} tn_array;

typedef struct tn_ids {
    const int32_t *id;
    size_t n;
} tn_ids;

typedef struct tn_tensors {
    tn_tensor *const *t;
    size_t n;
} tn_tensors;

/* An operand: a number or a tensor. kind 0 is 'none'. */
enum { TN_SCALAR_NONE, TN_SCALAR_INT, TN_SCALAR_UINT, TN_SCALAR_FLOAT, TN_SCALAR_BOOL, TN_SCALAR_TENSOR };
typedef struct tn_scalar {
    union {
        tn_tensor *t; /* first: .p = s is no pointer, and does not compile: .p = TN_SCALAR(s) */
        int64_t i;
        uint64_t u;
        double f;
    } v;
    int32_t kind;
} tn_scalar;

/* An operand that is absent on purpose: tn_linear(x, w, TN_NONE). NULL always means 'that call failed'. */
#define TN_NONE ((tn_tensor *)(uintptr_t)1)

static inline tn_scalar tn_scalar_none(void)
{
    tn_scalar s;
    s.kind = TN_SCALAR_NONE;
    s.v.i = 0;
    return s;
}
static inline tn_scalar tn_scalar_i(int64_t v)
{
    tn_scalar s;
    s.kind = TN_SCALAR_INT;
    s.v.i = v;
    return s;
}
static inline tn_scalar tn_scalar_u(uint64_t v)
{
    tn_scalar s;
    s.kind = TN_SCALAR_UINT;
    s.v.u = v;
    return s;
}
static inline tn_scalar tn_scalar_f(double v)
{
    tn_scalar s;
    s.kind = TN_SCALAR_FLOAT;
    s.v.f = v;
    return s;
}
static inline tn_scalar tn_scalar_b(bool v)
{
    tn_scalar s;
    s.kind = TN_SCALAR_BOOL;
    s.v.i = v;
    return s;
}
static inline tn_scalar tn_scalar_t(const tn_tensor *t)
{
    tn_scalar s;
    s.kind = t == TN_NONE ? TN_SCALAR_NONE : TN_SCALAR_TENSOR;
    s.v.t = (tn_tensor *)(uintptr_t)t;
    return s;
}
static inline tn_scalar tn_scalar_s(tn_scalar s)
{
    return s;
}
/* What a macro calls with anything else: nothing converts to its argument, so the call does not compile. */
typedef struct tn__number_or_tensor {
    tn_scalar is_wanted;
} tn__number_or_tensor;
static inline tn_scalar tn__a_number_or_a_tensor_is_wanted(tn__number_or_tensor here)
{
    return here.is_wanted;
}

/* ---- call sites: "file.c:42", noted by the macros, quoted by error messages; never NULL from user code ---- */
#ifndef TN_HERE
#define TN_HERE __FILE__ ":" TN__STR(__LINE__)
#endif

/* ---- options: every options struct begins with its own size, which the macro fills in, so that fields may be
 * added at the end without breaking callers; zero always means 'not said' ---- */
typedef struct tn_options {
    size_t struct_size;
    const char *site;
    tn_device device;
    tn_dtype dtype;
    bool requires_grad, pin_memory;
    tn_memory_format memory_format;
} tn_options;

#ifdef __cplusplus
}
#else

/* 0 where that holds; else the text is the error. */
#define TN__MUST(holds, text) \
    (0 * __extension__ sizeof(struct { \
         _Static_assert(__builtin_choose_expr((holds), 1, 0), text); \
         char c; \
     }))

/* The same of what the user wrote, whose elements need not be constant: in a struct clang takes them for a global's. */
#define TN__MUST_HERE(holds, text) \
    __extension__({ \
        _Static_assert(holds, text); \
        (size_t)0; \
    })

#define TN__CAT(a, b)  a##b
#define TN__CAT2(a, b) TN__CAT(a, b)

/* number or tensor -> tn_scalar. 'true' is an int before C23 and a bool from C23 on. */
#define TN__SCALAR(u, v) \
    __extension__({ \
        __auto_type u = (v); \
        _Generic(u, tn_scalar: tn_scalar_s, tn_tensor *: tn_scalar_t, const tn_tensor *: tn_scalar_t, \
            bool: tn_scalar_b, float: tn_scalar_f, double: tn_scalar_f, char: tn_scalar_i, \
            signed char: tn_scalar_i, unsigned char: tn_scalar_i, short: tn_scalar_i, \
            unsigned short: tn_scalar_i, int: tn_scalar_i, unsigned: tn_scalar_u, long: tn_scalar_i, \
            unsigned long: tn_scalar_u, long long: tn_scalar_i, unsigned long long: tn_scalar_u, \
            default: tn__a_number_or_a_tensor_is_wanted)(u); \
    })
#define TN_SCALAR(v) TN__SCALAR(TN__CAT2(tn__v, __COUNTER__), v)

/* 0 to 8 dimensions, by value; TN_SHAPE() is the shape of a 0-dim tensor */
#define TN_SHAPE(...) \
    (__extension__(const tn_dims){.no_number = \
                                      __builtin_choose_expr(TN__INTS(__VA_ARGS__) <= TN_MAX_DIMS, NULL, \
                                                            (tn__up_to_8_dimensions__longer_lists_are_TN_INTS){0}), \
                                  .ndim = (int32_t)TN__INTS(__VA_ARGS__), \
                                  .said = true, \
                                  .dim = {__VA_ARGS__}})
#define TN_DIMS(...)  TN_SHAPE(__VA_ARGS__)
#define TN__INTS(...) (sizeof((int64_t[]){0, __VA_ARGS__}) / sizeof(int64_t) - 1)
typedef struct tn__up_to_8_dimensions__longer_lists_are_TN_INTS {
    char only_named;
} tn__up_to_8_dimensions__longer_lists_are_TN_INTS;

/* Lists that are borrowed: what they name lives as long as the block they stand in, so they are for arguments, and for
 * variables of that block; what outlives it needs an array of its own. Calls copy what they keep. */
#define TN_INTS(...)  ((tn_ints){(const int64_t[]){0, __VA_ARGS__} + 1, TN__INTS(__VA_ARGS__)})
#define TN_IDS(...)   ((tn_ids){(int32_t[]){__VA_ARGS__}, sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t)})
#define TN_TENSORS(...) \
    ((tn_tensors){(tn_tensor *[]){__VA_ARGS__}, sizeof((tn_tensor *[]){__VA_ARGS__}) / sizeof(tn_tensor *)})

/* 1 to 32 numbers; any floating one -> the default dtype, else int64. A C array keeps its dtype: TN_ARRAY(a).
 * The array literal gets the numbers' common C type, so int64 stays exact; more than 32 does not compile. */
/* clang-format off */
#define TN_LIST(...) \
    TN__LIST(TN__COMMON(__VA_ARGS__, 0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0), __VA_ARGS__)
#define TN__COMMON(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,A,B,C,D,E,F,...) \
    ((a)*0+(b)*0+(c)*0+(d)*0+(e)*0+(f)*0+(g)*0+(h)*0+(i)*0+(j)*0+(k)*0+(l)*0+(m)*0+(n)*0+(o)*0+(p)*0+ \
     (q)*0+(r)*0+(s)*0+(t)*0+(u)*0+(v)*0+(w)*0+(x)*0+(y)*0+(z)*0+(A)*0+(B)*0+(C)*0+(D)*0+(E)*0+(F)*0)
/* clang-format on */
#define TN__LIST(common, ...) \
    ((tn_array){(const __typeof__(common)[]){__VA_ARGS__}, TN__COUNT(__typeof__(common), __VA_ARGS__), \
                TN_DTYPE_OF(common), true})
#define TN__COUNT(type, ...) \
    (sizeof((type[]){__VA_ARGS__}) / sizeof(type) + \
     TN__MUST_HERE(sizeof((type[]){__VA_ARGS__}) / sizeof(type) <= 32, \
                   "TN_LIST takes up to 32 numbers; an array of any length: TN_ARRAY(array)"))
/* clang-format off */
#define TN_DTYPE_OF(v) \
    _Generic((v), bool: TN_BOOL, unsigned char: TN_U8, signed char: TN_I8, short: TN_I16, unsigned short: TN_U16, int: TN_I32, \
        unsigned: TN_U32, unsigned long: TN_U64, unsigned long long: TN_U64, \
        long: sizeof(long) == 8 ? TN_I64 : TN_I32, long long: TN_I64, float: TN_F32, double: TN_F64)
/* clang-format on */
#define TN_ARRAY(a) \
    ((tn_array){(a), \
                sizeof(a) / sizeof *(a) + \
                    TN__MUST_HERE(!__builtin_types_compatible_p(__typeof__(a), __typeof__(&(a)[0])), \
                                  "TN_ARRAY takes an array, whose length the compiler knows; for a " \
                                  "pointer, write (tn_array){pointer, n, TN_F32}"), \
                TN_DTYPE_OF(*(a)), false})

/* ---- tn_f(positional..., .option = value, ...) is tn_f_opt(positional..., &(type){...}) ----
 *
 * The options become the members of a struct, where a number without a name would land in some member without a word: so each
 * of them must begin with '.' and a letter, or the call does not compile. To the compiler it is a constant: no code is made.
 * What is in braces may have commas: .device_ids = {devices, n}. */
#define TN__SITE(type)      .struct_size = sizeof(type), .site = TN_HERE

/* Does an argument's text begin as an option's does, or is it empty? Beside "", ".5" is a number. */
#define TN__DOT(s)          (__builtin_memcmp(s "._", ".:", 2) >= 0 && __builtin_memcmp(s "._", "/", 1) < 0)
/* Is there an argument, and none with a name? Asked of numbers and lists alone: calls nest in operands, and each level's text
 * would be quoted in the next one's. */
#define TN__BARE(s)         (!TN__DOT(s))
/* The same of an option that is not the first, beside the next one; or it goes on with what the one before began, and that
 * ends at "n}". */
#define TN__NEXT(s, next)   (TN__SAME(s ".", ".") || TN__SAME((" " s) + sizeof s - 1, "}") || !TN__SAME(next ".", "."))
#define TN__SAME(s, c)      (!__builtin_memcmp(s, c, 1))
/* Of all options: up to 3, 5 or 12. */
/* clang-format off */
#define TN__NAMED4(...) TN__NAMED4_(__VA_ARGS__, , , , , ,)
#define TN__NAMED4_(a, b, c, d, e, ...) \
    (TN__DOT(#a) && TN__NEXT(#b, #c) && TN__NEXT(#c, #d) && TN__NEXT(#d, #e))
#define TN__NAMED6(...) TN__NAMED6_(__VA_ARGS__, , , , , , , ,)
#define TN__NAMED6_(a, b, c, d, e, f, g, ...) \
    (TN__DOT(#a) && TN__NEXT(#b, #c) && TN__NEXT(#c, #d) && TN__NEXT(#d, #e) && TN__NEXT(#e, #f) && TN__NEXT(#f, #g))
#define TN__NAMED13(...) TN__NAMED13_(__VA_ARGS__, , , , , , , , , , , , , , ,)
#define TN__NAMED13_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, ...) \
    (TN__DOT(#a) && TN__NEXT(#b, #c) && TN__NEXT(#c, #d) && TN__NEXT(#d, #e) && TN__NEXT(#e, #f) && TN__NEXT(#f, #g) && \
     TN__NEXT(#g, #h) && TN__NEXT(#h, #i) && TN__NEXT(#i, #j) && TN__NEXT(#j, #k) && TN__NEXT(#k, #l) && \
     TN__NEXT(#l, #m) && TN__NEXT(#m, #n))
/* clang-format on */

/* Is one of the first six options that one? Zero would not tell .dim = 0 from what is not said. */
#define TN__SAYS(name, ...) TN__SAYS_(name, __VA_ARGS__, , , , , , )
#define TN__SAYS_(name, a, b, c, d, e, f, ...) \
    (TN__SETS(#a, name) || TN__SETS(#b, name) || TN__SETS(#c, name) || TN__SETS(#d, name) || TN__SETS(#e, name) || \
     TN__SETS(#f, name))
#define TN__SETS(s, name) \
    (!__builtin_strncmp(s, name "=", sizeof name) || !__builtin_strncmp(s, name " =", sizeof name + 1))

/* A list of dimensions goes to functions by its address: that of a copy in the calling block, which a list written out in the
 * call is made in. */
#define TN__DIMS(d) \
    ((const tn_dims[]){_Generic((d), tn_dims : (d), default : (tn__a_list_is_wanted__as_TN_SHAPE_or_TN_DIMS){0})})
typedef struct tn__a_list_is_wanted__as_TN_SHAPE_or_TN_DIMS {
    char only_named;
} tn__a_list_is_wanted__as_TN_SHAPE_or_TN_DIMS;

/* Is one of the first four options that one, and a plain number, where a list or a TN_SCALAR is wanted? 0 would be 'not said',
 * another number a member of the struct. */
#define TN__PLAIN(name, ...) TN__PLAIN_(name, __VA_ARGS__, , , , , )
#define TN__PLAIN_(name, a, b, c, d, ...) \
    (TN__DIGIT(#a, name) || TN__DIGIT(#b, name) || TN__DIGIT(#c, name) || TN__DIGIT(#d, name))
#define TN__DIGIT(s, name)        (TN__BEGINS(s, name "=") || TN__BEGINS(s, name " = "))
#define TN__BEGINS(s, p)          (__builtin_strncmp(s, p "+", sizeof p) >= 0 && __builtin_strncmp(s, p ":", sizeof p) < 0)

/* The function f, where that holds; the text is the error. */
#define TN__WHERE(holds, f, text) __builtin_choose_expr(TN__MUST(holds, text) == 0, f, 0)
/* call: how it is written; example: how an option is. */
#define TN__OPTIONS(holds, f, call, example) \
    TN__WHERE(holds, f, call ": options are named, as " example ", and only they are")

#endif /* !__cplusplus */
#endif
