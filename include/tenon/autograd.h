/* tenon/autograd.h: gradients, asked for and given.
 *
 * Operations on tensors that require a gradient are recorded; tn_backward walks the record and adds to .grad of the leaves.
 * The rules for views and in-place writes, and the texts of what goes wrong, are PyTorch's.
 */
#ifndef TENON_AUTOGRAD_H
#define TENON_AUTOGRAD_H

#include <tenon/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Asks for a gradient of a leaf, or takes that back. Floating dtypes only. Returns t, or NULL on error. */
TN_API tn_tensor *tn_requires_grad_(tn_tensor *t, bool requires_grad);
/* t without its history: a leaf that asks for no gradient. TN_EGRAD for a view, whose history is its base's. */
TN_API tn_status tn_detach_(tn_tensor *t) TN_MUST_USE;
/* Keeps .grad of a tensor that is no leaf. */
TN_API tn_status tn_retain_grad(tn_tensor *t) TN_MUST_USE;

TN_API bool tn_tensor_requires_grad(const tn_tensor *t);
TN_API bool tn_tensor_is_leaf(const tn_tensor *t);
/* The tensor that t is a view of, which is no view itself; NULL: t is none. t holds it: retain it to keep it longer. What
 * tn_detach gives is no view: nothing that is written to it has a history. */
TN_API tn_tensor *tn_tensor_base(const tn_tensor *t);
/* Did tn_retain_grad ask a tensor that is no leaf to keep its .grad? */
TN_API bool tn_tensor_retains_grad(const tn_tensor *t);
/* The accumulated gradient, borrowed; NULL where there is none (that is no error). */
TN_API tn_tensor *tn_tensor_grad(const tn_tensor *t);
/* Replaces it; TN_NONE removes it. The gradient must have t's shape, dtype and device. */
TN_API tn_status tn_tensor_set_grad(tn_tensor *t, tn_tensor *grad) TN_MUST_USE;
/* How often the memory was written in place. */
TN_API uint32_t tn_tensor_version(const tn_tensor *t);
/* "AddBackward0": what made it; "" for a leaf. */
typedef struct tn_name {
    char s[64];
} tn_name;
TN_API tn_name tn_tensor_grad_fn(const tn_tensor *t);

/* Recording is on at first, per thread. Returns what it was. */
TN_API bool tn_set_grad_enabled(bool enabled);
TN_API bool tn_is_grad_enabled(void);

/* Inference mode, per thread; returns what it was. What is made in it, but for views of what was made outside, is an
 * inference tensor for good: outside it is not written to in place, asks for no gradient, and no operation that is recorded
 * may need its values (TN_EGRAD each). It says nothing about recording: switch that off as well. */
TN_API bool tn_set_inference_mode(bool enabled);
TN_API bool tn_is_inference_mode(void);
TN_API bool tn_tensor_is_inference(const tn_tensor *t);

typedef struct tn_backward_options {
    size_t struct_size;
    const char *site;
    tn_tensor *gradient; /* of t, where t is; 1 where not said and t has one element */
    bool retain_graph;   /* the graph can be walked again */
    bool
        create_graph; /* gradients can be differentiated; implies retain_graph. Leaves then hold a graph that holds them:
                            set their .grad to TN_NONE when done, or use tn_grad */
    tn_tensors inputs; /* add only to the .grad of these */
} tn_backward_options;

/* Adds d(t)/d(leaf) to the .grad of every leaf that t depends on. What the backward pass needs beside: the gradients of
 * tensors still waiting; each node's saved tensors are freed as soon as it is done (unless retain_graph). */
TN_API tn_status tn_backward_opt(tn_tensor *t, const tn_backward_options *options) TN_MUST_USE;

typedef struct tn_backward_all_options {
    size_t struct_size;
    const char *site;
    tn_tensors gradients; /* one for each tensor, or none at all; NULL and TN_NONE: 1, for a tensor of one element */
    bool retain_graph, create_graph;
    tn_tensors inputs;
} tn_backward_all_options;

/* The same for several tensors in one pass, which visits each node once: the gradients of their sum. */
TN_API tn_status tn_backward_all_opt(tn_tensors ts, const tn_backward_all_options *options) TN_MUST_USE;

typedef struct tn_grad_options {
    size_t struct_size;
    const char *site;
    tn_tensors grad_outputs; /* one for each output, or none */
    bool retain_graph, create_graph;
    bool allow_unused; /* grads[i] is NULL where outputs do not depend on inputs[i]; otherwise that is an error */
} tn_grad_options;

/* d(sum of outputs)/d(inputs[i]) into grads[i], for leaves and others; .grad is left alone. The results belong to the
 * innermost scope. */
TN_API tn_status tn_grad_opt(tn_tensors outputs, tn_tensors inputs, tn_tensor **grads,
                             const tn_grad_options *options) TN_MUST_USE;

#ifdef __cplusplus
}
#else
#define tn_backward(...) TN__X_backward(__VA_ARGS__, )
#define TN__X_backward(t_, ...) \
    TN__OPTIONS(TN__NAMED6(__VA_ARGS__), tn_backward_opt, \
                "tn_backward(t, .gradient, .retain_graph, .create_graph, .inputs)", ".retain_graph = true") \
    ((t_), &(tn_backward_options){TN__SITE(tn_backward_options), __VA_ARGS__})
#define tn_backward_all(...) TN__X_backward_all(__VA_ARGS__, )
#define TN__X_backward_all(ts_, ...) \
    TN__OPTIONS(TN__NAMED6(__VA_ARGS__), tn_backward_all_opt, \
                "tn_backward_all(ts, .gradients, .retain_graph, .create_graph, .inputs)", ".retain_graph = true") \
    ((ts_), &(tn_backward_all_options){TN__SITE(tn_backward_all_options), __VA_ARGS__})
#define tn_grad(...) TN__X_grad(__VA_ARGS__, )
#define TN__X_grad(outputs_, inputs_, grads_, ...) \
    TN__OPTIONS(TN__NAMED6(__VA_ARGS__), tn_grad_opt, \
                "tn_grad(outputs, inputs, grads, .grad_outputs, .retain_graph, .create_graph, .allow_unused)", \
                ".create_graph = true") \
    ((outputs_), (inputs_), (grads_), &(tn_grad_options){TN__SITE(tn_grad_options), __VA_ARGS__})
#endif
#endif
