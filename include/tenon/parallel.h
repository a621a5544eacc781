/* tenon/parallel.h: one model on several devices. What torch.nn.DataParallel and torch.nn.parallel are to PyTorch.
 *
 *     tn_module *net = tn_nn_data_parallel(tn_module_to(make_net(), TN_CUDA(0)));
 *     tn_tensor *out = tn_forward(net, x);        the batch cut over all GPUs, the outputs on cuda:0
 *
 * The pieces below work between any devices, the CPU too, and are differentiable: gradients go back the way the values
 * came. Functions whose results are a list write to room of the caller's; the tensors belong to the innermost scope.
 */
#ifndef TENON_PARALLEL_H
#define TENON_PARALLEL_H

#include <tenon/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_device_list {
    const tn_device *d;
    size_t n;
} tn_device_list;

/* ---- a team: devices that work on one model, and what they keep from one step to the next ---- */

/* Memory for copies of the model's tensors, streams for the gradients, the record of the last step. Reference counted, in
 * no scope. Several threads may use one. */
typedef struct tn_team tn_team;
/* A forward and its backward: what tn_parallel_* are told it belongs to. Reference counted, in no scope; the graph holds
 * it as long as it can be walked. */
typedef struct tn_team_step tn_team_step;

/* Each device once; the first is the main one. TN_EINVAL for none, or one named twice. */
TN_API tn_team *tn_team_new(tn_device_list devices);
TN_API tn_team *tn_team_retain(tn_team *team);
TN_API void tn_team_release(tn_team *team);
/* Its devices that can be used: those that an asynchronous failure has made useless (tn_cuda_is_lost) are left out, until
 * tn_cuda_reset. Writes up to cap, returns how many there are. */
TN_API size_t tn_team_devices(tn_team *team, tn_device *out, size_t cap);

/* A new step: a reference. It takes the devices that can be used now. NULL with an error set: TN_EDEVICE where the main one
 * is lost. */
TN_API tn_team_step *tn_team_step_new(tn_team *team);
TN_API tn_team_step *tn_team_step_retain(tn_team_step *step);
TN_API void tn_team_step_release(tn_team_step *step);
/* The devices it takes: valid as long as the step. */
TN_API tn_device_list tn_team_step_devices(const tn_team_step *step);

/* Around the forward of replica i, on the thread that runs it: enter makes its device the current one, and that device's
 * current stream the one that it was where the step was made. leave brings back what was; also to be called where enter
 * failed. */
typedef struct tn_replica_guard {
    int32_t device;  /* that was current */
    int32_t replica; /* -1: enter failed */
    void *stream;    /* that was current, of this replica's device */
    double entered_ms;
} tn_replica_guard;
TN_API tn_replica_guard tn_team_step_enter(tn_team_step *step, size_t i);
TN_API void tn_team_step_leave(tn_team_step *step, tn_replica_guard guard);

/* Puts "Caught an error in replica 1 on device 1." before the thread's error, if there is one. */
TN_API void tn_team_step_blame(const tn_team_step *step, size_t i);

/* ---- the pieces ---- */

typedef struct tn_parallel_options {
    size_t struct_size;
    const char *site;
    int64_t dim;          /* scatter, gather: along which to cut and to join; 0 unless said */
    const int64_t *sizes; /* scatter: [devices.n] of the chunks; unless said, as tn_chunk cuts */
    tn_team_step *step;   /* broadcast keeps the copies' memory in its team; all are part of its record */
    size_t n_in, n_out;   /* apply: tensors that a replica takes and gives; 1 unless said */
} tn_parallel_options;

/* Cuts x along dim into a chunk for each device: ceil(size / devices) long, the last one shorter; fewer chunks than devices
 * where x is short. A chunk on the device where x is shows x's memory, others are copies. Writes out[devices.n] and *n, how
 * many chunks there are. x of 0 dimensions: TN_EVALUE. */
TN_API tn_status tn_parallel_scatter_opt(tn_tensor *x, tn_device_list devices, tn_tensor **out, size_t *n,
                                         const tn_parallel_options *options) TN_MUST_USE;

/* Joins the tensors, which agree in all but dim, along dim into a new one on the device, each crossing once. Tensors of 0
 * dimensions become a vector. */
TN_API tn_tensor *tn_parallel_gather_opt(tn_tensors parts, tn_device device, const tn_parallel_options *options);

/* Each tensor on each device: out[i * ts.n + k] is tensor k on device i, in the graph where it wants a gradient (the
 * gradients of its copies are summed on its own device); on its own device another tensor of the same memory. With a step,
 * copies are made into memory that the team keeps, and made anew only when the tensor has been written to since
 * (tn_tensor_version) or the old copy is still in use; devices must be the step's, or the first of them. */
TN_API tn_status tn_parallel_broadcast_opt(tn_tensors ts, tn_device_list devices, tn_tensor **out,
                                           const tn_parallel_options *options) TN_MUST_USE;

/* The sum of the tensors, which agree in shape and dtype, on the device: pairs first, so that links work side by side. */
TN_API tn_tensor *tn_parallel_reduce_add_opt(tn_tensors ts, tn_device device, const tn_parallel_options *options);

/* Copies of m, one for each device, for one forward: modules of the same classes and contexts over copies of its parameters
 * and buffers (in the graph: gradients reach m's). On the device of m's own tensors, replicas share its buffers. They
 * belong to the innermost scope. A context that points to tensors or modules is not replicated: look parts up by name, or
 * by tn_module_nth_child, in forward's self. */
TN_API tn_status tn_parallel_replicate_opt(tn_module *m, tn_device_list devices, tn_module **out,
                                           const tn_parallel_options *options) TN_MUST_USE;

/* outputs[i] = replicas[i](inputs[i]): by the calling thread where all are modules of this library, which only queue work;
 * else on a thread for each, with the caller's gradient mode, streams and devices. All end before it returns; an error is
 * that of the first replica that failed. With .n_in and .n_out it is tn_forward_n that runs: replica i takes inputs[i * n_in]
 * and those that follow, and its results are outputs[i * n_out] and following. */
TN_API tn_status tn_parallel_apply_opt(tn_module *const *replicas, tn_tensors inputs, tn_tensor **outputs,
                                       const tn_parallel_options *options) TN_MUST_USE;

/* ---- DataParallel ---- */

typedef struct tn_nn_data_parallel_options {
    size_t struct_size;
    const char *site;
    tn_device_list device_ids; /* all GPUs, unless said; the first is the main one, where the module must be */
    tn_device output_device;   /* the main one, unless said */
    int64_t dim;               /* of the batch */
} tn_nn_data_parallel_options;

/* A module whose forward cuts its input over the devices (tn_parallel_scatter), runs a replica of 'module' on each, and
 * joins the outputs on output_device. 'module' is its child "module"; what is trained, saved and moved is that one: gradients
 * are summed into its parameters, and what replicas do to their buffers is lost but for the first one's. Without a GPU it
 * runs the module. One device: the module is moved there, and run as it is. Where 'module' takes and gives several
 * (tn_forward_n), each input is cut and each output joined: inputs must come to as many chunks as each other (TN_EINVAL), and
 * TN_NONE goes to every replica. */
TN_API tn_module *tn_nn_data_parallel_opt(tn_module *module, const tn_nn_data_parallel_options *options);
TN_API tn_module *tn_nn_data_parallel(tn_module *module);

/* ---- what a step cost ---- */

/* Times as the device's stream passes them, waiting for other devices and for the host included; -1: not part of the step.
 * reduce_ms: after the device's last gradient, which is what backward does not hide. host_ms: the host's time for queueing
 * the replica's forward. */
typedef struct tn_parallel_report {
    tn_device device;
    int64_t samples;
    double scatter_ms, broadcast_ms, forward_ms, gather_ms, backward_ms, reduce_ms, host_ms;
    int64_t scatter_bytes, broadcast_bytes, gather_bytes, reduce_bytes; /* that crossed between devices */
} tn_parallel_report;

/* Of the step that was begun last, a row for each device; waits until what was queued so far is done. Writes up to cap rows;
 * returns how many there are: 0 before the first step. */
TN_API size_t tn_team_report(tn_team *team, tn_parallel_report *out, size_t cap);
/* The same as text, with bars and what bounds the step, as snprintf writes it. */
TN_API int64_t tn_team_explain(tn_team *team, char *out, size_t n);

/* The team of a DataParallel, borrowed; NULL where it has no devices. NULL with TN_ETYPE set for another module. */
TN_API tn_team *tn_data_parallel_team(tn_module *data_parallel);
/* tn_team_explain of its team. */
TN_API int64_t tn_data_parallel_explain(tn_module *data_parallel, char *out, size_t n);

#ifdef __cplusplus
}
#else
#define TN_DEVICES(...) \
    ((tn_device_list){(const tn_device[]){__VA_ARGS__}, sizeof((const tn_device[]){__VA_ARGS__}) / sizeof(tn_device)})

#define tn_parallel_scatter(...) TN__X_parallel_scatter(__VA_ARGS__, )
#define TN__X_parallel_scatter(x_, devices_, out_, n_, ...) \
    TN__OPTIONS(TN__NAMED4(__VA_ARGS__), tn_parallel_scatter_opt, \
                "tn_parallel_scatter(x, devices, out, n, .dim, .sizes, .step)", ".dim = 1") \
    ((x_), (devices_), (out_), (n_), &(tn_parallel_options){TN__SITE(tn_parallel_options), __VA_ARGS__})
#define tn_parallel_gather(...) TN__X_parallel_gather(__VA_ARGS__, )
#define TN__X_parallel_gather(parts_, device_, ...) \
    TN__OPTIONS(TN__NAMED4(__VA_ARGS__), tn_parallel_gather_opt, "tn_parallel_gather(parts, device, .dim, .step)", \
                ".dim = 1") \
    ((parts_), (device_), &(tn_parallel_options){TN__SITE(tn_parallel_options), __VA_ARGS__})
#define tn_parallel_broadcast(...) TN__X_parallel_broadcast(__VA_ARGS__, )
#define TN__X_parallel_broadcast(ts_, devices_, out_, ...) \
    TN__OPTIONS(TN__NAMED4(__VA_ARGS__), tn_parallel_broadcast_opt, "tn_parallel_broadcast(ts, devices, out, .step)", \
                ".step = step") \
    ((ts_), (devices_), (out_), &(tn_parallel_options){TN__SITE(tn_parallel_options), __VA_ARGS__})
#define tn_parallel_reduce_add(...) TN__X_parallel_reduce_add(__VA_ARGS__, )
#define TN__X_parallel_reduce_add(ts_, device_, ...) \
    TN__OPTIONS(TN__NAMED4(__VA_ARGS__), tn_parallel_reduce_add_opt, "tn_parallel_reduce_add(ts, device, .step)", \
                ".step = step") \
    ((ts_), (device_), &(tn_parallel_options){TN__SITE(tn_parallel_options), __VA_ARGS__})
#define tn_parallel_replicate(...) TN__X_parallel_replicate(__VA_ARGS__, )
#define TN__X_parallel_replicate(m_, devices_, out_, ...) \
    TN__OPTIONS(TN__NAMED4(__VA_ARGS__), tn_parallel_replicate_opt, "tn_parallel_replicate(m, devices, out, .step)", \
                ".step = step") \
    ((m_), (devices_), (out_), &(tn_parallel_options){TN__SITE(tn_parallel_options), __VA_ARGS__})
#define tn_parallel_apply(...) TN__X_parallel_apply(__VA_ARGS__, )
#define TN__X_parallel_apply(replicas_, inputs_, outputs_, ...) \
    TN__OPTIONS(TN__NAMED4(__VA_ARGS__), tn_parallel_apply_opt, "tn_parallel_apply(replicas, inputs, outputs, .step)", \
                ".step = step") \
    ((replicas_), (inputs_), (outputs_), &(tn_parallel_options){TN__SITE(tn_parallel_options), __VA_ARGS__})
#define tn_nn_data_parallel(...) TN__X_nn_data_parallel(__VA_ARGS__, )
#define TN__X_nn_data_parallel(module_, ...) \
    TN__OPTIONS(TN__NAMED4(__VA_ARGS__), tn_nn_data_parallel_opt, \
                "tn_nn_data_parallel(module, .device_ids, .output_device, .dim)", ".dim = 1") \
    ((module_), &(tn_nn_data_parallel_options){TN__SITE(tn_nn_data_parallel_options), __VA_ARGS__})
#endif
#endif
