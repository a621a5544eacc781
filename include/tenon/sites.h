/* tenon/sites.h: where a failing call stands, for the functions that take no place of it themselves.
 *
 * Most functions are macros in C that hand file and line to the function behind them. The plain ones of this list add theirs to
 * the message when they have failed: "\n  at train.c:42", at no cost where they have not. TN_NO_SITES, defined before, leaves
 * all of them plain functions. */
#ifndef TENON_SITES_H
#define TENON_SITES_H

#include <tenon/base.h>
#include <tenon/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Adds the place to this thread's message, if the last call has failed and its message names none. */
TN_API void tn_error_at(const char *site);

#ifdef __cplusplus
}
#elif !defined(TN_NO_SITES)

/* A result that goes through, and is looked at: does it say that the call has failed? */
#define TN__AT(name_, type_, failed_) \
    static inline type_ tn__at_##name_(type_ r, const char *site) \
    { \
        if (failed_) \
            tn_error_at(site); \
        return r; \
    }
static inline tn_status tn__at_status(tn_status r, const char *site) TN_MUST_USE;
TN__AT(status, tn_status, r != TN_OK)
TN__AT(may, tn_status, r != TN_OK)
TN__AT(number, double, __builtin_isnan(r))
TN__AT(whole, int64_t, r < 0)
TN__AT(zero, int64_t, r == 0)
TN__AT(count, size_t, r == 0)
TN__AT(dtype, tn_dtype, r == 0)
TN__AT(device, tn_device, r.type == TN_DEVICE_INVALID)
TN__AT(truth, bool, !r)
TN__AT(done, bool, r)
TN__AT(scope, tn_scope *, !r)
TN__AT(kept, tn_tensor *, true)
TN__AT(tensor, tn_tensor *, !r)
TN__AT(module, tn_module *, !r)
TN__AT(address, void *, !r)
TN__AT(text, const char *, !r)
TN__AT(node, struct tn_node *, !r)
TN__AT(stream, struct tn__stream *, !r)
TN__AT(event, struct tn_event *, !r)
TN__AT(snapshot, struct tn_memory_snapshot *, !r)
TN__AT(team, struct tn_team *, !r)
TN__AT(op, const struct tn_op *, !r)
TN__AT(given, struct tn_dl_managed_versioned *, !r)
TN__AT(given_legacy, struct tn_dl_managed *, !r)
#undef TN__AT

#define tn_retain_grad(...)                tn__at_status((tn_retain_grad)(__VA_ARGS__), TN_HERE)
#define tn_detach_(...)                    tn__at_status((tn_detach_)(__VA_ARGS__), TN_HERE)
#define tn_tensor_set_grad(...)            tn__at_status((tn_tensor_set_grad)(__VA_ARGS__), TN_HERE)
#define tn_tensor_set_data(...)            tn__at_status((tn_tensor_set_data)(__VA_ARGS__), TN_HERE)
#define tn_tensor_check_inplace(...)       tn__at_status((tn_tensor_check_inplace)(__VA_ARGS__), TN_HERE)
#define tn_tensor_set_view(...)            tn__at_status((tn_tensor_set_view)(__VA_ARGS__), TN_HERE)
#define tn_watch_anomalies(...)            tn__at_status((tn_watch_anomalies)(__VA_ARGS__), TN_HERE)
#define tn_tensor_add_hook(...)            tn__at_status((tn_tensor_add_hook)(__VA_ARGS__), TN_HERE)
#define tn_tensor_add_accumulate_hook(...) tn__at_status((tn_tensor_add_accumulate_hook)(__VA_ARGS__), TN_HERE)
#define tn_cuda_set_device(...)            tn__at_status((tn_cuda_set_device)(__VA_ARGS__), TN_HERE)
#define tn_cuda_reset(...)                 tn__at_status((tn_cuda_reset)(__VA_ARGS__), TN_HERE)
#define tn_cuda_device_properties(...)     tn__at_status((tn_cuda_device_properties)(__VA_ARGS__), TN_HERE)
#define tn_cuda_can_access_peer(...)       tn__at_status((tn_cuda_can_access_peer)(__VA_ARGS__), TN_HERE)
#define tn_cuda_set_wait(...)              tn__at_status((tn_cuda_set_wait)(__VA_ARGS__), TN_HERE)
#define tn_cuda_set_stream(...)            tn__at_status((tn_cuda_set_stream)(__VA_ARGS__), TN_HERE)
#define tn_stream_wait_stream(...)         tn__at_status((tn_stream_wait_stream)(__VA_ARGS__), TN_HERE)
#define tn_stream_synchronize(...)         tn__at_status((tn_stream_synchronize)(__VA_ARGS__), TN_HERE)
#define tn_tensor_record_stream(...)       tn__at_status((tn_tensor_record_stream)(__VA_ARGS__), TN_HERE)
#define tn_event_record(...)               tn__at_status((tn_event_record)(__VA_ARGS__), TN_HERE)
#define tn_stream_wait_event(...)          tn__at_status((tn_stream_wait_event)(__VA_ARGS__), TN_HERE)
#define tn_event_synchronize(...)          tn__at_status((tn_event_synchronize)(__VA_ARGS__), TN_HERE)
#define tn_event_elapsed_time(...)         tn__at_status((tn_event_elapsed_time)(__VA_ARGS__), TN_HERE)
#define tn_cuda_mem_get_info(...)          tn__at_status((tn_cuda_mem_get_info)(__VA_ARGS__), TN_HERE)
#define tn_cuda_set_per_process_memory_fraction(...) \
    tn__at_status((tn_cuda_set_per_process_memory_fraction)(__VA_ARGS__), TN_HERE)
#define tn_safetensors_info(...)             tn__at_status((tn_safetensors_info)(__VA_ARGS__), TN_HERE)
#define tn_loader_set_state(...)             tn__at_status((tn_loader_set_state)(__VA_ARGS__), TN_HERE)
#define tn_set_default_device(...)           tn__at_status((tn_set_default_device)(__VA_ARGS__), TN_HERE)
#define tn_set_default_dtype(...)            tn__at_status((tn_set_default_dtype)(__VA_ARGS__), TN_HERE)
#define tn_set_num_threads(...)              tn__at_status((tn_set_num_threads)(__VA_ARGS__), TN_HERE)
#define tn_set_float32_matmul_precision(...) tn__at_status((tn_set_float32_matmul_precision)(__VA_ARGS__), TN_HERE)
#define tn_set_rng_state(...)                tn__at_status((tn_set_rng_state)(__VA_ARGS__), TN_HERE)
#define tn_settings_check(...)               tn__at_status((tn_settings_check)(__VA_ARGS__), TN_HERE)
#define tn_synchronize(...)                  tn__at_may((tn_synchronize)(__VA_ARGS__), TN_HERE)
#define tn_item(...)                         tn__at_number((tn_item)(__VA_ARGS__), TN_HERE)
#define tn_init_gain(...)                    tn__at_number((tn_init_gain)(__VA_ARGS__), TN_HERE)
#define tn_init_xavier_std(...)              tn__at_number((tn_init_xavier_std)(__VA_ARGS__), TN_HERE)
#define tn_init_kaiming_std(...)             tn__at_number((tn_init_kaiming_std)(__VA_ARGS__), TN_HERE)
#define tn_init_xavier_bound(...)            tn__at_number((tn_init_xavier_bound)(__VA_ARGS__), TN_HERE)
#define tn_init_kaiming_bound(...)           tn__at_number((tn_init_kaiming_bound)(__VA_ARGS__), TN_HERE)
#define tn_tensor_size(...)                  tn__at_whole((tn_tensor_size)(__VA_ARGS__), TN_HERE)
#define tn_module_numel(...)                 tn__at_zero((tn_module_numel)(__VA_ARGS__), TN_HERE)
#define tn_memory_summary(...)               tn__at_whole((tn_memory_summary)(__VA_ARGS__), TN_HERE)
#define tn_module_to_string(...)             tn__at_whole((tn_module_to_string)(__VA_ARGS__), TN_HERE)
#define tn_to_string(...)                    tn__at_whole((tn_to_string)(__VA_ARGS__), TN_HERE)
#define tn_team_explain(...)                 tn__at_whole((tn_team_explain)(__VA_ARGS__), TN_HERE)
#define tn_data_parallel_explain(...)        tn__at_whole((tn_data_parallel_explain)(__VA_ARGS__), TN_HERE)
#define tn_item_int(...)                     tn__at_zero((tn_item_int)(__VA_ARGS__), TN_HERE)
#define tn_settings(...)                     tn__at_count((tn_settings)(__VA_ARGS__), TN_HERE)
#define tn_module_parameters(...)            tn__at_count((tn_module_parameters)(__VA_ARGS__), TN_HERE)
#define tn_module_named_parameters(...)      tn__at_count((tn_module_named_parameters)(__VA_ARGS__), TN_HERE)
#define tn_module_named_buffers(...)         tn__at_count((tn_module_named_buffers)(__VA_ARGS__), TN_HERE)
#define tn_module_state(...)                 tn__at_count((tn_module_state)(__VA_ARGS__), TN_HERE)
#define tn_optimizer_state(...)              tn__at_count((tn_optimizer_state)(__VA_ARGS__), TN_HERE)
#define tn_team_devices(...)                 tn__at_count((tn_team_devices)(__VA_ARGS__), TN_HERE)
#define tn_team_report(...)                  tn__at_count((tn_team_report)(__VA_ARGS__), TN_HERE)
#define tn_dtype_parse(...)                  tn__at_dtype((tn_dtype_parse)(__VA_ARGS__), TN_HERE)
#define tn_device_parse(...)                 tn__at_device((tn_device_parse)(__VA_ARGS__), TN_HERE)
#define tn_init_fans(...)                    tn__at_truth((tn_init_fans)(__VA_ARGS__), TN_HERE)
#define tn_event_query(...)                  tn__at_done((tn_event_query)(__VA_ARGS__), TN_HERE)
#define tn_stream_query(...)                 tn__at_done((tn_stream_query)(__VA_ARGS__), TN_HERE)
#define tn_scope_open(...)                   tn__at_scope((tn_scope_open)(__VA_ARGS__), TN_HERE)
#define tn_scope_close_keep(...)             tn__at_kept((tn_scope_close_keep)(__VA_ARGS__), TN_HERE)
#define tn_requires_grad_(...)               tn__at_tensor((tn_requires_grad_)(__VA_ARGS__), TN_HERE)
#define tn_init_eye_(...)                    tn__at_tensor((tn_init_eye_)(__VA_ARGS__), TN_HERE)
#define tn_init_zeros_(...)                  tn__at_tensor((tn_init_zeros_)(__VA_ARGS__), TN_HERE)
#define tn_init_ones_(...)                   tn__at_tensor((tn_init_ones_)(__VA_ARGS__), TN_HERE)
#define tn_from_dlpack(...)                  tn__at_tensor((tn_from_dlpack)(__VA_ARGS__), TN_HERE)
#define tn_from_dlpack_legacy(...)           tn__at_tensor((tn_from_dlpack_legacy)(__VA_ARGS__), TN_HERE)
#define tn_module_train(...)                 tn__at_module((tn_module_train)(__VA_ARGS__), TN_HERE)
#define tn_module_eval(...)                  tn__at_module((tn_module_eval)(__VA_ARGS__), TN_HERE)
#define tn_module_requires_grad_(...)        tn__at_module((tn_module_requires_grad_)(__VA_ARGS__), TN_HERE)
#define tn_data(...)                         tn__at_address((tn_data)(__VA_ARGS__), TN_HERE)
#define tn_safetensors_name(...)             tn__at_text((tn_safetensors_name)(__VA_ARGS__), TN_HERE)
#define tn_cuda_device_name(...)             tn__at_text((tn_cuda_device_name)(__VA_ARGS__), TN_HERE)
#define tn_tensor_gradient_node(...)         tn__at_node((tn_tensor_gradient_node)(__VA_ARGS__), TN_HERE)
#define tn_cuda_stream_new(...)              tn__at_stream((tn_cuda_stream_new)(__VA_ARGS__), TN_HERE)
#define tn_cuda_default_stream(...)          tn__at_stream((tn_cuda_default_stream)(__VA_ARGS__), TN_HERE)
#define tn_cuda_current_stream(...)          tn__at_stream((tn_cuda_current_stream)(__VA_ARGS__), TN_HERE)
#define tn_cuda_stream_from_handle(...)      tn__at_stream((tn_cuda_stream_from_handle)(__VA_ARGS__), TN_HERE)
#define tn_cuda_memory_snapshot(...)         tn__at_snapshot((tn_cuda_memory_snapshot)(__VA_ARGS__), TN_HERE)
#define tn_event_new(...)                    tn__at_event((tn_event_new)(__VA_ARGS__), TN_HERE)
#define tn_stream_record_event(...)          tn__at_event((tn_stream_record_event)(__VA_ARGS__), TN_HERE)
#define tn_team_new(...)                     tn__at_team((tn_team_new)(__VA_ARGS__), TN_HERE)
#define tn_data_parallel_team(...)           tn__at_team((tn_data_parallel_team)(__VA_ARGS__), TN_HERE)
#define tn_op_register(...)                  tn__at_op((tn_op_register)(__VA_ARGS__), TN_HERE)
#define tn_to_dlpack(...)                    tn__at_given((tn_to_dlpack)(__VA_ARGS__), TN_HERE)
#define tn_to_dlpack_legacy(...)             tn__at_given_legacy((tn_to_dlpack_legacy)(__VA_ARGS__), TN_HERE)
#define tn_scope_close(...)                  ((tn_scope_close)(__VA_ARGS__), tn_error_at(TN_HERE))
#define tn_module_zero_grad(...)             ((tn_module_zero_grad)(__VA_ARGS__), tn_error_at(TN_HERE))
#define tn_optimizer_zero_grad(...)          ((tn_optimizer_zero_grad)(__VA_ARGS__), tn_error_at(TN_HERE))
#define tn_print(...)                        ((tn_print)(__VA_ARGS__), tn_error_at(TN_HERE))
#define tn_module_print(...)                 ((tn_module_print)(__VA_ARGS__), tn_error_at(TN_HERE))

#endif
#endif
