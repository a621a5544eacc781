/* tenon/nn.h: modules: layers with parameters, and networks made of them. What torch.nn is to PyTorch.
 *
 * A module is reference counted and belongs to the innermost scope, as a tensor does (tenon/scope.h); what it holds
 * (parameters, buffers, children) it keeps alive by references of its own. Functions that return a module or a tensor
 * return NULL after setting the thread's error, and pass a NULL argument on, so calls nest:
 *
 *     tn_module *net = tn_nn_sequential(tn_nn_linear(784, 500), tn_nn_relu(), tn_nn_linear(500, 10));
 *     tn_tensor *y = tn_forward(net, x);
 *
 * Modules of several inputs or results (tn_module_class.forward_n) are called by tn_forward_n.
 *
 * "0.weight" names the parameter 'weight' of the child '0'. Several threads may run tn_forward on one module that is in
 * eval mode at the same time; whatever changes a module must have it to itself. tn_x_at notes a call site, tn_x_opt takes
 * options; the macro tn_x does it.
 */
#ifndef TENON_NN_H
#define TENON_NN_H

#include <tenon/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- own modules ---- */

enum { TN_FORWARD_MAX = 32 }; /* tensors that a module takes, or gives, at most */

/* How modules of one kind behave. The library copies it and its name. */
typedef struct tn_module_class {
    size_t struct_size; /* sizeof(tn_module_class) */
    const char *name;   /* "MLP": what printing and errors say */
    /* The result for x, or NULL with an error set. It may be made by any operations, be x itself, or be a tensor that
     * the module holds. What is made inside belongs to a scope that closes when forward returns; only the result goes
     * outside. NULL: the module cannot be called, its children can. */
    tn_tensor *(*forward)(tn_module *self, tn_tensor *x);
    /* Frees ctx, once, when the last reference goes. NULL: nothing to free. */
    void (*destroy)(void *ctx);
    /* What is printed between the brackets ("p=0.5"): writes at most n bytes as snprintf does, returns the whole length.
     * NULL: nothing. */
    int64_t (*describe)(const tn_module *self, char *out, size_t n);
    /* The ctx of a replica of self on another device (tenon/parallel.h): a module of this class whose parts have the names
     * of self's and are there already. destroy frees it; NULL with an error set where it cannot be made. NULL: replicas
     * use self's own, which then must not point to tensors or modules. */
    void *(*replicate)(const tn_module *self, tn_module *replica);
    /* The forward of a module of several tensors: y[0 .. n_y), which are NULL before, for x[0 .. n). TN_OK, or a status
     * with an error set; a NULL left in y fails as the call did that gave it. Each result is what a result of 'forward' may
     * be. An input may be TN_NONE: absent on purpose. n and n_y have been checked. 'forward' is NULL then. */
    tn_status (*forward_n)(tn_module *self, tn_tensor *const *x, size_t n, tn_tensor **y, size_t n_y);
    int32_t inputs;  /* that forward_n takes; not said: any number, 1 .. TN_FORWARD_MAX */
    int32_t outputs; /* that it gives; 1 unless said */
} tn_module_class;

/* A module without parameters, in training mode. ctx is the class's own; on error it is not destroyed. */
TN_API tn_module *tn_module_new_at(const char *site, const tn_module_class *cls, void *ctx);
TN_API tn_module *tn_module_new(const tn_module_class *cls, void *ctx);
/* The ctx it was made with; NULL for NULL. */
TN_API void *tn_module_context(const tn_module *m);
/* "Linear"; "" for NULL. Valid as long as m. */
TN_API const char *tn_module_class_name(const tn_module *m);
/* How many tensors its forward takes and gives: 1 and 1 for most, those of its first and its last module for a sequence. 0:
 * any number (as many as it is given); or m is NULL, or has no forward. */
TN_API int32_t tn_module_inputs(const tn_module *m);
TN_API int32_t tn_module_outputs(const tn_module *m);

/* Gives m a parameter: a leaf of a floating dtype. From here on it asks for a gradient (freeze it afterwards, with
 * tn_requires_grad_). m takes a reference; returns t. A name that m has already is given the new tensor; names are not
 * empty and contain no '.'. */
TN_API tn_tensor *tn_module_add_parameter_at(const char *site, tn_module *m, const char *name, tn_tensor *t);
TN_API tn_tensor *tn_module_add_parameter(tn_module *m, const char *name, tn_tensor *t);
/* The same for a tensor that is saved and moved with the module, but not trained: any dtype. */
TN_API tn_tensor *tn_module_add_buffer_at(const char *site, tn_module *m, const char *name, tn_tensor *t);
TN_API tn_tensor *tn_module_add_buffer(tn_module *m, const char *name, tn_tensor *t);
/* The same for a module inside this one. Modules nest at most 64 deep and never in a circle. */
TN_API tn_module *tn_module_add_child_at(const char *site, tn_module *m, const char *name, tn_module *child);
TN_API tn_module *tn_module_add_child(tn_module *m, const char *name, tn_module *child);

/* ---- what is in a module; everything found is borrowed: valid as long as the module has it ---- */

/* By dotted name. NULL, with TN_EMISSING set, if there is none such. */
TN_API tn_tensor *tn_module_parameter_at(const char *site, tn_module *m, const char *name);
TN_API tn_tensor *tn_module_parameter(tn_module *m, const char *name);
TN_API tn_tensor *tn_module_buffer_at(const char *site, tn_module *m, const char *name);
TN_API tn_tensor *tn_module_buffer(tn_module *m, const char *name);
TN_API tn_module *tn_module_child_at(const char *site, tn_module *m, const char *name);
TN_API tn_module *tn_module_child(tn_module *m, const char *name);

/* Direct children, in the order in which they were added: net[i], negative i from the end. NULL, with TN_EINDEX set, if
 * there is no such one. */
TN_API tn_module *tn_module_nth_child_at(const char *site, tn_module *m, int64_t i);
TN_API tn_module *tn_module_nth_child(tn_module *m, int64_t i);
TN_API int64_t tn_module_child_count(const tn_module *m);
/* Its name, "" if there is no such one. */
TN_API const char *tn_module_child_name(const tn_module *m, int64_t i);

/* A tensor and its name. */
typedef struct tn_named {
    const char *name;
    tn_tensor *tensor;
} tn_named;

/* The parameters of m and of everything inside it, parents before children; one that several modules share comes once,
 * under its first name. Each function writes up to cap of them to out and returns how many there are; out may be NULL
 * where cap is 0. 0 with an error set (and nothing written) when memory is out or m is NULL. The names are valid until
 * something is added to m or to what is inside it. */
TN_API size_t tn_module_parameters(tn_module *m, tn_tensor **out, size_t cap);
TN_API size_t tn_module_named_parameters(tn_module *m, tn_named *out, size_t cap);
TN_API size_t tn_module_named_buffers(tn_module *m, tn_named *out, size_t cap);
/* Elements in all parameters. */
TN_API int64_t tn_module_numel(tn_module *m);

/* ---- state ---- */

/* What a checkpoint holds: parameters and buffers of each module, parents before children; what is shared comes under
 * each of its names. The tensors are the module's own, not copies. Otherwise as tn_module_named_parameters. */
TN_API size_t tn_module_state(tn_module *m, tn_named *out, size_t cap);

typedef struct tn_load_state_options {
    size_t struct_size;
    const char *site;
    bool not_strict; /* names that only one side has are passed over */
} tn_load_state_options;
/* Copies the n tensors into the parameters and buffers of those names, converting dtype and device; shapes must agree.
 * All or nothing: on error (TN_EINVAL; the text lists missing and unexpected names and differing shapes, as PyTorch's
 * load_state_dict does) m is as before. */
TN_API tn_status tn_module_load_state_opt(tn_module *m, const tn_named *state, size_t n,
                                          const tn_load_state_options *options) TN_MUST_USE;
TN_API tn_status tn_module_load_state(tn_module *m, const tn_named *state, size_t n) TN_MUST_USE;

/* ---- modes ---- */

/* Training mode (at first) or eval mode, for m and everything inside it: dropout asks. Returns m. */
TN_API tn_module *tn_module_train(tn_module *m);
TN_API tn_module *tn_module_eval(tn_module *m);
TN_API bool tn_module_is_training(const tn_module *m);
/* Whether its parameters ask for gradients. Returns m, or NULL on error. */
TN_API tn_module *tn_module_requires_grad_(tn_module *m, bool requires_grad);
/* Removes the gradients of its parameters. */
TN_API void tn_module_zero_grad(tn_module *m);

/* ---- moving: in place; returns m, or NULL with nothing moved ---- */

/* Parameters stay the same tensors (optimisers and other holders see them move), with their gradients; a buffer is
 * replaced by its copy on the device. What was recorded before cannot be walked back: that is an error of tn_backward. */
TN_API tn_module *tn_module_to_at(const char *site, tn_module *m, tn_device device);
TN_API tn_module *tn_module_to(tn_module *m, tn_device device);
/* Floating parameters and buffers become dtype, which must be floating; others keep theirs. */
TN_API tn_module *tn_module_to_dtype_at(const char *site, tn_module *m, tn_dtype dtype);
TN_API tn_module *tn_module_to_dtype(tn_module *m, tn_dtype dtype);
/* Parameters and buffers of 4 and 5 dimensions lie in that memory format: TN_CHANNELS_LAST makes convolutions run in it. */
TN_API tn_module *tn_module_to_memory_format_at(const char *site, tn_module *m, tn_memory_format format);
TN_API tn_module *tn_module_to_memory_format(tn_module *m, tn_memory_format format);
/* tn_module_cuda(m), tn_module_cuda(m, i); index -1 is the current GPU. */
TN_API tn_module *tn_module_to_cuda_at(const char *site, tn_module *m, int32_t index);
TN_API tn_module *tn_module_to_cuda(tn_module *m, int32_t index);
TN_API tn_module *tn_module_cpu_at(const char *site, tn_module *m);
TN_API tn_module *tn_module_cpu(tn_module *m);

/* ---- printing, as PyTorch prints modules ---- */

/* Writes the text, cut to n - 1 characters, and a '\0'. Returns the length of the whole text; negative, with an error
 * set, for NULL. */
TN_API int64_t tn_module_to_string(const tn_module *m, char *out, size_t n);
/* The text and a newline on stdout; NULL: the thread's error, on stderr. */
TN_API void tn_module_print(const tn_module *m);

/* ---- running ---- */

/* The module's result for x. What its layers make on the way is released as soon as the next one has used it, whether
 * or not a scope is open (what backward will need is kept by the graph). TN_EMISSING if the class has no forward. */
TN_API tn_tensor *tn_forward_at(const char *site, tn_module *m, tn_tensor *x);
TN_API tn_tensor *tn_forward(tn_module *m, tn_tensor *x);

/* The same for any number: tn_forward_n(net, TN_TENSORS(a, b), out, 2) puts its results into out[0 .. n_out), each the
 * innermost scope's, or the caller's. On error all of out is NULL. TN_EINVAL where m takes or gives another number. TN_NONE
 * among the inputs is for forward_n; modules of one tensor refuse it. */
TN_API tn_status tn_forward_n_at(const char *site, tn_module *m, tn_tensors inputs, tn_tensor **out,
                                 size_t n_out) TN_MUST_USE;
TN_API tn_status tn_forward_n(tn_module *m, tn_tensors inputs, tn_tensor **out, size_t n_out) TN_MUST_USE;

/* ---- layers ---- */

/* Modules one after the other; children "0", "1" ... Takes references. What one gives, one tensor or several, the next one
 * takes. */
TN_API tn_module *tn_nn_sequential_n_at(const char *site, tn_module *const *modules, size_t n);
TN_API tn_module *tn_nn_sequential_n(tn_module *const *modules, size_t n);

typedef struct tn_nn_linear_options {
    size_t struct_size;
    const char *site;
    tn_device device;
    tn_dtype dtype; /* floating */
    bool no_bias;
} tn_nn_linear_options;
/* x [..., in] to x @ weight.T + bias [..., out]. weight [out, in] and bias [out] begin uniform in
 * +-1 / sqrt(in), as torch.nn.Linear's. */
TN_API tn_module *tn_nn_linear_opt(int64_t in, int64_t out, const tn_nn_linear_options *options);
TN_API tn_module *tn_nn_linear(int64_t in, int64_t out);

typedef struct tn_nn_flatten_options {
    size_t struct_size;
    const char *site;
    tn_scalar start_dim, end_dim; /* 1 and -1 unless said: .start_dim = TN_SCALAR(0) */
} tn_nn_flatten_options;
/* Dimensions start_dim .. end_dim as one: tn_flatten. */
TN_API tn_module *tn_nn_flatten_opt(const tn_nn_flatten_options *options);
TN_API tn_module *tn_nn_flatten(void);

/* In training mode zeroes elements with probability p, 0 <= p <= 1, and scales the rest by 1 / (1 - p); in eval mode
 * returns its input. */
TN_API tn_module *tn_nn_dropout_at(const char *site, double p);
TN_API tn_module *tn_nn_dropout(double p);

/* The functions of these names, as modules; identity returns its input. */
TN_API tn_module *tn_nn_relu(void);
TN_API tn_module *tn_nn_sigmoid(void);
TN_API tn_module *tn_nn_tanh(void);
TN_API tn_module *tn_nn_identity(void);

/* ---- initial values: written into t with recording off; t is returned ---- */

/* torch.nn.init's nonlinearities, whose recommended gain kaiming takes. */
enum { TN_GAIN_LEAKY_RELU, TN_GAIN_LINEAR, TN_GAIN_SIGMOID, TN_GAIN_TANH, TN_GAIN_RELU, TN_GAIN_SELU };
/* sqrt(2 / (1 + a^2)), 1, 1, 5/3, sqrt(2), 3/4 in that order; NaN, with TN_EVALUE set, for a number that is none. */
TN_API double tn_init_gain(int32_t nonlinearity, double a);

TN_API tn_tensor *tn_init_uniform__at(const char *site, tn_tensor *t, double from, double to);
TN_API tn_tensor *tn_init_uniform_(tn_tensor *t, double from, double to);
TN_API tn_tensor *tn_init_normal__at(const char *site, tn_tensor *t, double mean, double std);
TN_API tn_tensor *tn_init_normal_(tn_tensor *t, double mean, double std);
TN_API tn_tensor *tn_init_constant__at(const char *site, tn_tensor *t, tn_scalar value);
TN_API tn_tensor *tn_init_constant_(tn_tensor *t, double value);
/* Normal, drawn again where outside low .. high. */
TN_API tn_tensor *tn_init_trunc_normal__at(const char *site, tn_tensor *t, double mean, double std, double low,
                                           double high);
TN_API tn_tensor *tn_init_trunc_normal_(tn_tensor *t, double mean, double std, double low, double high);
TN_API tn_tensor *tn_init_zeros_(tn_tensor *t);
TN_API tn_tensor *tn_init_ones_(tn_tensor *t);
/* 1 where row and column are the same, else 0; of a tensor of two dimensions (TN_EVALUE). */
TN_API tn_tensor *tn_init_eye_(tn_tensor *t);

typedef struct tn_init_options {
    size_t struct_size;
    const char *site;
    double gain;          /* xavier: 1 unless said */
    double a;             /* kaiming: the slope of leaky relu; 0 */
    int32_t nonlinearity; /* kaiming: TN_GAIN_... */
    bool fan_out;         /* kaiming: counts outputs, not inputs */
} tn_init_options;
/* For t of 2 or more dimensions, [out, in, rest...]: fan_in = in * rest, fan_out = out * rest (TN_EVALUE for fewer).
 *   xavier (Glorot and Bengio 2010):  uniform in +-gain * sqrt(6 / (fan_in + fan_out)), or normal of
 *                                     std gain * sqrt(2 / (fan_in + fan_out))
 *   kaiming (He et al. 2015):         uniform in +-gain * sqrt(3 / fan), or normal of std gain / sqrt(fan)
 * Tensors without elements stay as they are. */
TN_API tn_tensor *tn_init_xavier_uniform__opt(tn_tensor *t, const tn_init_options *options);
TN_API tn_tensor *tn_init_xavier_normal__opt(tn_tensor *t, const tn_init_options *options);
TN_API tn_tensor *tn_init_kaiming_uniform__opt(tn_tensor *t, const tn_init_options *options);
TN_API tn_tensor *tn_init_kaiming_normal__opt(tn_tensor *t, const tn_init_options *options);
/* Those numbers of inputs and outputs; false with the error set. */
TN_API bool tn_init_fans(const tn_tensor *t, double *fan_in, double *fan_out);
/* The standard deviations of those two, and the bounds between which the uniform numbers lie; NaN with the error set. */
TN_API double tn_init_xavier_std(const tn_tensor *t, double gain);
TN_API double tn_init_kaiming_std(const tn_tensor *t, double gain, bool fan_out);
TN_API double tn_init_xavier_bound(const tn_tensor *t, double gain);
TN_API double tn_init_kaiming_bound(const tn_tensor *t, double gain, bool fan_out);

/* ---- what an optimiser or a clipping function works on: all parameters of a module, or a list of tensors ---- */
typedef struct tn_params {
    tn_module *module; /* or NULL: */
    tn_tensors list;
    bool is_list;
} tn_params;
static inline tn_params tn_params_of_module(tn_module *m)
{
    tn_params p;
    p.module = m;
    p.list.t = NULL;
    p.list.n = 0;
    p.is_list = false;
    return p;
}
static inline tn_params tn_params_of_list(tn_tensors list)
{
    tn_params p;
    p.module = NULL;
    p.list = list;
    p.is_list = true;
    return p;
}
static inline tn_params tn_params_of_params(tn_params p)
{
    return p;
}

#ifdef __cplusplus
}
#else
/* tn_module * or tn_tensors to tn_params */
#define TN_PARAMS(p) \
    _Generic((p), tn_module * : tn_params_of_module, tn_tensors : tn_params_of_list, tn_params : tn_params_of_params)(p)

#define tn_module_new(c_, x_)               tn_module_new_at(TN_HERE, (c_), (x_))
#define tn_module_add_parameter(m_, n_, t_) tn_module_add_parameter_at(TN_HERE, (m_), (n_), (t_))
#define tn_module_add_buffer(m_, n_, t_)    tn_module_add_buffer_at(TN_HERE, (m_), (n_), (t_))
#define tn_module_add_child(m_, n_, c_)     tn_module_add_child_at(TN_HERE, (m_), (n_), (c_))
#define tn_module_parameter(m_, n_)         tn_module_parameter_at(TN_HERE, (m_), (n_))
#define tn_module_buffer(m_, n_)            tn_module_buffer_at(TN_HERE, (m_), (n_))
#define tn_module_child(m_, n_)             tn_module_child_at(TN_HERE, (m_), (n_))
#define tn_module_nth_child(m_, i_)         tn_module_nth_child_at(TN_HERE, (m_), (i_))
#define tn_module_load_state(...)           TN__X_module_load_state(__VA_ARGS__, )
#define TN__X_module_load_state(m_, state_, n_, ...) \
    TN__OPTIONS(TN__NAMED4(__VA_ARGS__), tn_module_load_state_opt, "tn_module_load_state(m, state, n, .not_strict)", \
                ".not_strict = true") \
    ((m_), (state_), (n_), &(tn_load_state_options){TN__SITE(tn_load_state_options), __VA_ARGS__})
#define tn_module_to(m_, d_)               tn_module_to_at(TN_HERE, (m_), (d_))
#define tn_module_to_dtype(m_, d_)         tn_module_to_dtype_at(TN_HERE, (m_), (d_))
#define tn_module_to_memory_format(m_, f_) tn_module_to_memory_format_at(TN_HERE, (m_), (f_))
#define tn_module_cuda(...)                TN__X_module_cuda(__VA_ARGS__, -1, 0)
#define TN__X_module_cuda(m_, i_, ...) \
    TN__WHERE(sizeof #__VA_ARGS__ <= sizeof "-1, 0", tn_module_to_cuda_at, \
              "tn_module_cuda(m) or tn_module_cuda(m, index)") \
    (TN_HERE, (m_), (i_))
#define tn_module_cpu(m_)            tn_module_cpu_at(TN_HERE, (m_))
#define tn_forward(m_, x_)           tn_forward_at(TN_HERE, (m_), (x_))
#define tn_forward_n(m_, x_, o_, n_) tn_forward_n_at(TN_HERE, (m_), (x_), (o_), (n_))

#define tn_nn_sequential(...) \
    tn_nn_sequential_n_at(TN_HERE, (tn_module *[]){NULL, __VA_ARGS__} + 1, \
                          sizeof((tn_module *[]){NULL, __VA_ARGS__}) / sizeof(tn_module *) - 1)
#define tn_nn_sequential_n(m_, n_) tn_nn_sequential_n_at(TN_HERE, (m_), (n_))
#define tn_nn_linear(...)          TN__X_nn_linear(__VA_ARGS__, )
#define TN__X_nn_linear(in_, out_, ...) \
    TN__OPTIONS(TN__BARE(#in_) && TN__BARE(#out_) && TN__NAMED4(__VA_ARGS__), tn_nn_linear_opt, \
                "tn_nn_linear(in, out, .device, .dtype, .no_bias)", ".no_bias = true") \
    ((in_), (out_), &(tn_nn_linear_options){TN__SITE(tn_nn_linear_options), __VA_ARGS__})
#define tn_nn_flatten(...) \
    TN__OPTIONS(TN__NAMED4(__VA_ARGS__) && !TN__PLAIN(".start_dim", __VA_ARGS__) && \
                    !TN__PLAIN(".end_dim", __VA_ARGS__), \
                tn_nn_flatten_opt, "tn_nn_flatten(.start_dim, .end_dim)", ".end_dim = TN_SCALAR(2)") \
    (&(tn_nn_flatten_options){TN__SITE(tn_nn_flatten_options), __VA_ARGS__})
#define tn_nn_dropout(p_) tn_nn_dropout_at(TN_HERE, (p_))

#define tn_init_uniform_(t_, from_, to_) tn_init_uniform__at(TN_HERE, (t_), (from_), (to_))
#define tn_init_normal_(t_, mean_, std_) tn_init_normal__at(TN_HERE, (t_), (mean_), (std_))
#define tn_init_constant_(t_, value_)    tn_init_constant__at(TN_HERE, (t_), TN_SCALAR(value_))
#define tn_init_trunc_normal_(t_, mean_, std_, low_, high_) \
    tn_init_trunc_normal__at(TN_HERE, (t_), (mean_), (std_), (low_), (high_))
#define tn_init_xavier_uniform_(...) TN__X_init_xavier_uniform_(__VA_ARGS__, )
#define TN__X_init_xavier_uniform_(t_, ...) \
    TN__OPTIONS(TN__NAMED4(__VA_ARGS__), tn_init_xavier_uniform__opt, "tn_init_xavier_uniform_(t, .gain)", \
                ".gain = 2") \
    ((t_), &(tn_init_options){TN__SITE(tn_init_options), __VA_ARGS__})
#define tn_init_xavier_normal_(...) TN__X_init_xavier_normal_(__VA_ARGS__, )
#define TN__X_init_xavier_normal_(t_, ...) \
    TN__OPTIONS(TN__NAMED4(__VA_ARGS__), tn_init_xavier_normal__opt, "tn_init_xavier_normal_(t, .gain)", ".gain = 2") \
    ((t_), &(tn_init_options){TN__SITE(tn_init_options), __VA_ARGS__})
#define tn_init_kaiming_uniform_(...) TN__X_init_kaiming_uniform_(__VA_ARGS__, )
#define TN__X_init_kaiming_uniform_(t_, ...) \
    TN__OPTIONS(TN__NAMED4(__VA_ARGS__), tn_init_kaiming_uniform__opt, \
                "tn_init_kaiming_uniform_(t, .a, .nonlinearity, .fan_out)", ".a = 0.2") \
    ((t_), &(tn_init_options){TN__SITE(tn_init_options), __VA_ARGS__})
#define tn_init_kaiming_normal_(...) TN__X_init_kaiming_normal_(__VA_ARGS__, )
#define TN__X_init_kaiming_normal_(t_, ...) \
    TN__OPTIONS(TN__NAMED4(__VA_ARGS__), tn_init_kaiming_normal__opt, \
                "tn_init_kaiming_normal_(t, .a, .nonlinearity, .fan_out)", ".a = 0.2") \
    ((t_), &(tn_init_options){TN__SITE(tn_init_options), __VA_ARGS__})
#endif
#endif
