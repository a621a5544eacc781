/* tools/gen_ops/rows.h: the rows of src/ops/<family>/rows.def as data.
 *
 * A row is a block of lines: its kind, name and parameters, then one key a line, in any order. A line that is indented deeper
 * than its key goes on with the key's text. What stands between slash and star is a comment.
 *
 *   unary NAME, binary NAME, ternary NAME      elementwise: of operands a, b, c, tensors or numbers
 *   op NAME(parameters)                        structural: a kernel of its own
 *   view NAME(parameters)                      shows the memory of its first input
 *   comp NAME(parameters)                      one graph node, computed by tn__fn_NAME from public operations
 *   func NAME(parameters) -> flag | count      tn__fn_NAME, composed of public operations; no node of its own
 *   python NAME                                of Python alone
 *
 * Parameters: 'type name, ...', after '|' those that are options. Types: Tensor; Tensor? (or TN_NONE); Operand (tensor or
 * number); Tensors (a list); dims (a shape, or up to 8 dimensions; the option 'dims dim' is in C .dim = 1 or
 * .dims = TN_DIMS(0, 1)); dim (an option: one dimension); ints (of any length; of 'func' alone); int; float; bool; Number (or
 * none); dtype; device; memory_format; text (of 'func' alone); Result (where a further result goes); factory (dtype, device,
 * requires_grad, pin_memory and memory_format of a new tensor). A name that begins with '_' is internal: tn__name.
 *
 *   doc       one sentence: the header's comment, the table of operations, Python's docstring
 *   rule      elementwise: which dtypes, and those of result and computation: R_* of op/op.h, in small letters
 *   value     elementwise: the expression in the compute type; valid C, CUDA C and OpenCL C; vocabulary: op/element.h
 *   narrow    elementwise: the expression of floats whose result becomes bfloat16, on the CPU: M(f) there has but the digits that
 *             such results need (math_narrow.inc.h)
 *   numbers   elementwise, of three operands: which of b and c are often one number throughout, or along a row: 'b', 'c',
 *             'bc', or several of these. The CPU has loops that read it but once
 *   grad      elementwise: the gradient (of operand: 'grad a') as public operations of g, a, b, c, out; what it names is what
 *             is saved. Broadcasting and promotion are undone by the engine, so write the plain formula. None: no gradient.
 *             'unheard': none, and what is recorded does not hear of a write in place.
 *             structural: the derivative tn__d_<grad>; none: not recorded; once: an error when it is asked for
 *   both      elementwise, of two operands: the gradients of a and b as expressions of g, a, b, out, with ';' between: where both
 *             are wanted of tensors that lie alike, one pass gives them. g alone is what came, handed on where nobody copies it
 *   unsigned  elementwise: the row that computes it of uint64, whose bits the loops of int64 compute: for rows that ask which
 *             of two is larger
 *   mask      elementwise: the operand that is a mask, whose dtype does not decide about the others'
 *   infer     the shape rule tn__infer_<infer>
 *   kernel    tn__cpu_<kernel> and tn__gpu_<kernel>; 'cpu <kernel>': on the CPU alone
 *   params    the struct of its parameters, tn__<params>_params, where rows share one (they share a rule or a kernel): it has
 *             the parameters of all of them. Without: tn__<name>_params
 *   also      further fields of that struct, which the shape rule fills
 *   save      'x out for x': what is saved if input x wants a gradient; out, or the name of a Result
 *   constant  inputs that get no gradient; PyTorch refuses them where they want one
 *   nograd    inputs that get no gradient; results that have none: they are recorded nowhere
 *   does      row flags, F_* of op/op.h in small letters
 *   piece     of views: the parameter that says which one of several it is
 *   later     of rows that cross devices: the parameter by which nobody waits for the copy
 *   wrapper   what PyTorch's errors call the function; a second word: where its last, optional input is absent
 *   arguments what they call its inputs, where not as the row does
 *   label     what grad_fn is called, by variant; without: the name
 *
 * Python: without any of these an elementwise row has the usual forms (python.c); 'python none' has none.
 *   torch, method, functional, special (together: 'torch method')     PyTorch's signature, read by python/src/args.c
 *   inplace   Tensor.name_: the operation's in-place form
 *   self      Tensor.name_, of an operation that has no other form than in place
 *   into      Tensor.name_: computed beside the tensor, then written into it
 *   torch_    which of those three ('abs_ absolute_') are functions of torch, too
 *   or        another signature of the entry before
 *   by        the entry calls call_<by> of python/src; 'by name(slots)' where it is first named: names of its values
 *   run       the entry calls run_<run>(slots), which returns a Python object
 *   says      the entry's own docstring
 *   as        where it is found, if its signature has another name
 *   alias     further names, with all forms of the row
 *   results   names of what the tuple of several results has, where they are not 'values' and the names of Results: its
 *             class is torch.return_types.NAME; '-': what 'run' gives is a plain tuple
 * $WORD in a signature is the text of the line 'define WORD text' before it.
 *
 * 'kernels NAME: a b c' is a family of device kernels, whose text is NAME.k beside rows.def; 'units MACRO(...)' says for which
 * dtypes it is compiled: backend/gpu/kernels/units.def.
 */
#ifndef TENON_GEN_OPS_ROWS_H
#define TENON_GEN_OPS_ROWS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MAX_PARAMS = 20, MAX_GRADS = 3, MAX_ENTRIES = 12, MAX_SIGNATURES = 4, MAX_ROWS = 1024, MAX_LINES = 256 };

typedef enum kind { UNARY_ROW, BINARY_ROW, TERNARY_ROW, OP_ROW, VIEW_ROW, COMP_ROW, FUNC_ROW, PYTHON_ROW } kind;

/* One letter a type: T tensor, Q tensor or none, N operand, S number or none, L tensors, D dims, E dim, J ints, i int, f float,
 * b bool, d dtype, v device, m memory format, s text, X result. */
typedef struct param {
    char type;
    const char *name;
} param;

/* What Python calls the row by. */
typedef struct entry {
    char where[4]; /* of T torch, M method, F functional, P special; or I inplace, S self, B into */
    const char *signature[MAX_SIGNATURES];
    int signatures;
    const char *by, *run, *slots, *says, *as;
} entry;

typedef struct row {
    kind kind;
    const char *name, *file;
    int line;
    const char *returns; /* "T", "flag" or "count" */
    param param[MAX_PARAMS], also[MAX_PARAMS];
    int positional, total, n_also;
    bool shared_options; /* factory */
    const char *doc, *rule, *value, *narrow, *numbers, *both[2], *grad[MAX_GRADS], *infer, *kernel, *params, *does,
        *piece, *label, *alias, *wrapper;
    const char *arguments, *results, *unsigned_row, *mask, *later, *torch_;
    bool cpu_only, no_python;
    uint32_t saves[MAX_PARAMS]; /* by input */
    uint32_t constants;         /* bit i: input i */
    uint32_t nograd_results;    /* bit i: result i */
    entry entry[MAX_ENTRIES];
    int entries;
} row;

extern row rows[MAX_ROWS];
extern int n_rows;

/* Lines 'kernels' and 'units', without that word. */
extern const char *kernel_lines[MAX_LINES], *unit_lines[MAX_LINES];
extern int n_kernel_lines, n_unit_lines;

/* Bits of 'saves': as op/op.h has them. */
#define SAVE_IN(i)   (UINT32_C(1) << (i))
#define SAVE_OUT(i)  (UINT32_C(1) << (16 + (i)))
#define SAVE_NODIFF  (UINT32_C(1) << 30)
#define SAVE_UNHEARD (UINT32_C(1) << 31)

/* Reads the files, in their order; a line that is no row's ends the program, with file and line. */
void rows_read(char **files, int n);

/* Ends the program. */
_Noreturn void fail(const row *r, const char *what, const char *which);

/* Memory for as long as the program runs. */
char *text_copy(const char *from, size_t n);
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

static inline bool is_elementwise(const row *r)
{
    return r->kind <= TERNARY_ROW;
}

/* An operation that passes the door: what has a place in the table. */
static inline bool is_operation(const row *r)
{
    return r->kind < FUNC_ROW;
}

static inline bool is_private(const row *r)
{
    return r->name[0] == '_';
}

/* Is the word among the blank-separated ones? */
bool has_word(const char *words, const char *word);
static inline bool does(const row *r, const char *flag)
{
    return has_word(r->does, flag);
}
static inline bool has_inplace(const row *r)
{
    return is_elementwise(r) || does(r, "inplace");
}

static inline bool has_options(const row *r)
{
    return r->shared_options || r->total > r->positional;
}

/* Does it count results (chunk), or write its first operand (clamp_)? */
bool counts(const row *r);
bool writes_first(const row *r);

/* Parameters that are inputs (tensors, or numbers in their place), in order. */
/* Of options: is it one dimension, .dim = 1, or (type D) several, .dims? */
static inline bool is_dim(const param *p)
{
    return p->type == 'E' || (p->type == 'D' && !strcmp(p->name, "dim"));
}

static inline bool is_input(char type)
{
    return type == 'T' || type == 'Q' || type == 'N' || type == 'L';
}
int inputs(const row *r);
int results(const row *r);
/* The i-th input's parameter. */
const param *input(const row *r, int i);

/* The struct of a row's parameters; NULL where it has none. */
const char *params_of(const row *r);

const char *c_type(char type);
const char *result_type(const row *r);
void options_type(const row *r, char *out, size_t n);

/* Rows that programs register (op/own.h): tables have room for so many. */
enum { OWN_ROWS = 256 };

/* What each layer includes. */
void write_header(void);      /* tenon/ops.h */
void write_cplusplus(void);   /* tenon/ops.hpp */
void write_private(void);     /* op/ops_private.h */
void write_source(void);      /* ops.c */
void write_list(void);        /* op/list.h */
void write_table(void);       /* op/table.c */
void write_elementwise(void); /* op/elementwise.def */
void write_kernels(void);     /* op/kernels.def */
void write_families(void);    /* op/gpu_families.def */
void write_units(void);       /* op/gpu_units.def */
void write_derivatives(void); /* op/derivatives.c */
void write_names(void);       /* op/names.def */
void write_document(void);    /* operations.md */
void write_python(void);      /* python_calls.h */
void write_hand(void);        /* python_hand.h */
void write_stubs(void);       /* python_signatures.txt */
void write_entries(void);     /* python_entries.txt */
void write_calls(void);       /* calls.def */

/* Adds the usual forms and the aliases to the rows' entries. */
void python_complete(void);

#endif
