/* tenon/tensor.h: making tensors from data, asking them, moving them, printing them.
 *
 * A tensor is a strided view of memory on one device. Functions that ask take a const pointer, never fail on a valid
 * tensor, and answer zero (false, "", 0 dimensions) for NULL.
 */
#ifndef TENON_TENSOR_H
#define TENON_TENSOR_H

#include <tenon/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- from data ---- */

/* A copy of a C array, 1-D, or of .shape: tn_tensor_from(TN_LIST(1, 2, 3, 4), .shape = TN_SHAPE(2, 2)). Lists of numbers
 * are int64, or the default dtype if one has a point; arrays (TN_ARRAY) keep their dtype. */
typedef struct tn_tensor_from_options {
    size_t struct_size;
    const char *site;
    tn_device device;
    tn_dtype dtype;
    bool requires_grad, pin_memory;
    tn_dims shape;
} tn_tensor_from_options;
TN_API tn_tensor *tn_tensor_from_opt(tn_array data, const tn_tensor_from_options *options);

/* A tensor that shows the caller's memory, without a copy. Strides not said: row-major. release(ctx) is called, from whichever
 * thread lets go last, once nothing shows the memory any more; release may be NULL. On error it is not called. */
typedef struct tn_from_data_options {
    size_t struct_size;
    const char *site;
    tn_dims stride; /* elements */
    void (*release)(void *ctx);
    void *ctx;
    bool read_only; /* in-place operations on it are refused */
} tn_from_data_options;
TN_API tn_tensor *tn_from_data_opt(void *data, tn_dtype dtype, const tn_dims *shape,
                                   const tn_from_data_options *options);

/* ---- asking ---- */
TN_API tn_device tn_tensor_device(const tn_tensor *t);
TN_API tn_dtype tn_tensor_dtype(const tn_tensor *t);
TN_API int32_t tn_tensor_ndim(const tn_tensor *t);
/* By value: it stays as it is whatever becomes of t. What is to point into it needs it in a variable of its own. Of NULL, as
 * a failed call gives, a list with ndim -1, which every function that takes a shape refuses. */
TN_API tn_dims tn_tensor_shape(const tn_tensor *t);
TN_API tn_dims tn_tensor_stride(const tn_tensor *t);
/* Size of one dimension, negative ones from the end; -1, with TN_EINDEX set, if there is none such. */
TN_API int64_t tn_tensor_size(const tn_tensor *t, int64_t dim);
TN_API int64_t tn_tensor_numel(const tn_tensor *t);
TN_API int64_t tn_tensor_storage_offset(const tn_tensor *t);
TN_API bool tn_tensor_is_contiguous(const tn_tensor *t);
/* Does it lie in that memory format, without gaps? TN_CHANNELS_LAST is of 4 dimensions, TN_CHANNELS_LAST_3D of 5. */
TN_API bool tn_tensor_is_contiguous_in(const tn_tensor *t, tn_memory_format format);
/* The format that its strides show, with gaps or without, and that the results of convolution, pooling and normalisation have:
 * TN_CHANNELS_LAST, TN_CHANNELS_LAST_3D, else TN_CONTIGUOUS_FORMAT. */
TN_API tn_memory_format tn_tensor_memory_format(const tn_tensor *t);
TN_API bool tn_tensor_is_cuda(const tn_tensor *t);
/* Is its memory such that in-place operations are refused: a read-only array's, or a mapped file's? */
TN_API bool tn_tensor_is_read_only(const tn_tensor *t);
/* Do both show (parts of) one memory? Also where it came in twice, by DLPack or from an array. */
TN_API bool tn_tensor_shares_memory(const tn_tensor *a, const tn_tensor *b);
/* Is one a view of the other, or of what the other is a view of? What was imported twice is not. */
TN_API bool tn_tensor_shares_storage(const tn_tensor *a, const tn_tensor *b);

/* Offers out's memory to this thread's next call. If its result has out's shape, dtype, device and layout and needs no gradient,
 * it may be a tensor that shows out's memory: tn_into_taken tells, and no copy is needed then. Otherwise it has memory of its
 * own, as always. What an elementwise function reads may be out itself. apart: nothing that the call reads shows out's memory, so
 * that functions of several steps may use it, too; where one fails, it is not known what out shows. The offer ends with the call,
 * with apart only when it was taken: end it by tn_into(NULL, false). out is borrowed. */
TN_API void tn_into(tn_tensor *out, bool apart);
/* Is that call's result in out's memory, element for element? That counts as a write to out, which graphs that saved it
 * notice. */
TN_API bool tn_into_taken(tn_tensor *out, const tn_tensor *result);

/* Address of the first element; NULL, with TN_EDEVICE set, for a tensor the host cannot read. Elements lie as
 * tn_tensor_stride says. Writing through it is not noticed by autograd. */
TN_API void *tn_data(const tn_tensor *t);

/* The same address on whatever device: of a GPU's tensor it is the device's, for kernels and libraries that know what to do with
 * it. NULL where there is no memory (meta, no elements) and for NULL; never an error. */
TN_API void *tn_tensor_address(const tn_tensor *t);
/* The address and the bytes of all of the memory that t shows a part of; tensors that share it have the same. */
TN_API void *tn_tensor_storage(const tn_tensor *t, int64_t *nbytes);

/* The one element, as a double (an int64 beyond 2^53 is rounded: tn_item_int). NaN, with an error set, if there is not one. */
TN_API double tn_item(const tn_tensor *t);
/* The one element, truncated; 0, with an error set, if there is not one. */
TN_API int64_t tn_item_int(const tn_tensor *t);

/* One slot for a language binding's object that stands for t, so that it is found again: x.grad is x.grad. NULL at first.
 * Tenon stores it and nothing more: the object's owner clears it before the object goes. Atomic. */
TN_API void *tn_tensor_binding(const tn_tensor *t);
TN_API void tn_tensor_bind(tn_tensor *t, void *object);

/* ---- moving and converting ---- */
typedef struct tn_to_options {
    size_t struct_size;
    const char *site;
    tn_device device;
    tn_dtype dtype;
    bool copy, non_blocking;
    tn_memory_format memory_format;
} tn_to_options;
/* On another device, in another dtype or memory format. Returns t itself (a new reference) where nothing changes and .copy is
 * not set. non_blocking: the copy runs beside the host where the CPU's side is pinned memory. From there t must be left alone
 * until the device has it; a result on the CPU is pinned, and may be read after tn_synchronize(t's device). */
TN_API tn_tensor *tn_to_opt(tn_tensor *t, const tn_to_options *options);
TN_API tn_tensor *tn_cpu_at(const char *site, tn_tensor *t);
TN_API tn_tensor *tn_cpu(tn_tensor *t);
/* cuda:index; -1 is the current one. */
TN_API tn_tensor *tn_to_cuda_at(const char *site, tn_tensor *t, int32_t index);
TN_API tn_tensor *tn_to_cuda(tn_tensor *t, int32_t index);

/* t's memory without its history, as tn_detach gives it; but what is written through it, or a view of it, is no change of t
 * to autograd: a backward that needs t's old values computes with the new ones, and says nothing. */
TN_API tn_tensor *tn_tensor_data(tn_tensor *t);

/* t shows what 'data' shows, from here on: its memory (shared, not copied), shape, dtype and device. t stays the tensor it
 * is, with its history, its wish for a gradient and its .grad as they are. What was recorded before and needs t's old values
 * says so in its backward; views of t keep the old memory. TN_EDTYPE if t asks for a gradient and data's dtype has none;
 * TN_EINVAL where one of both is on meta and the other is not; TN_EGRAD if t was computed (is no leaf) and data has
 * another shape, dtype or device, for its gradient would fit no more. Nobody else may use t meanwhile. */
TN_API tn_status tn_tensor_set_data(tn_tensor *t, tn_tensor *data) TN_MUST_USE;

/* May t be written to in place? TN_OK, or TN_EGRAD as the write would say it: of a leaf that requires a gradient, of views that
 * may not be written to. recorded: what is written has a history. What computes first and writes then asks this before. */
TN_API tn_status tn_tensor_check_inplace(const tn_tensor *t, bool recorded) TN_MUST_USE;

/* In place, what a view does: t shows from here on what 'view', a view of t, shows, and has its history: with
 * view = tn_transpose(t, 0, 1) this is PyTorch's t.transpose_(0, 1). t stays the tensor it is; of a view, its base does too.
 * TN_EINVAL if view is none of t; TN_EGRAD where t may not be written to (a leaf that requires a gradient). */
TN_API tn_status tn_tensor_set_view(tn_tensor *t, tn_tensor *view) TN_MUST_USE;

/* A CPU tensor's copy in page-locked memory, from which a GPU copies by itself; t itself where it is pinned already. TN_EDEVICE
 * where there is no GPU. Factories take .pin_memory = true. */
TN_API tn_tensor *tn_pin_memory_at(const char *site, tn_tensor *t);
TN_API tn_tensor *tn_pin_memory(tn_tensor *t);
TN_API bool tn_tensor_is_pinned(const tn_tensor *t);

/* The same bytes as elements of another dtype, on any device, without history. Where the sizes of the elements differ, the
 * last dimension grows or shrinks: its stride must be 1, and for larger elements its size, the other strides and the storage
 * offset must be multiples of as many as become one (TN_EINVAL). */
TN_API tn_tensor *tn_view_dtype_at(const char *site, tn_tensor *t, tn_dtype dtype);
TN_API tn_tensor *tn_view_dtype(tn_tensor *t, tn_dtype dtype);

/* ---- printing, as PyTorch prints ---- */

/* Zero fields keep the default: precision 4, threshold 1000, edgeitems 3, linewidth 80; a negative one is 0. sci_mode: 0
 * decides by the values, 1 always, -1 never. */
typedef struct tn_print_options {
    int32_t precision, threshold, edgeitems, linewidth, sci_mode;
} tn_print_options;
/* For the whole process. */
TN_API void tn_set_print_options(tn_print_options options);

/* The text and a newline on stdout; NULL: the thread's error, on stderr. */
TN_API void tn_print(const tn_tensor *t);

/* Writes the text, cut to n - 1 characters, and a '\0'. Returns the length of the whole text, as snprintf does; negative,
 * with an error set, when it could not be made. */
TN_API int64_t tn_to_string(const tn_tensor *t, char *out, size_t n);

#ifdef __cplusplus
}
#else
#define tn_tensor_from(...) TN__X_tensor_from(__VA_ARGS__, )
#define TN__X_tensor_from(data_, ...) \
    TN__OPTIONS(TN__NAMED6(__VA_ARGS__), tn_tensor_from_opt, \
                "tn_tensor_from(data, .shape, .dtype, .device, .requires_grad, .pin_memory)", ".dtype = TN_F64") \
    ((data_), &(tn_tensor_from_options){TN__SITE(tn_tensor_from_options), __VA_ARGS__})
#define tn_from_data(...) TN__X_from_data(__VA_ARGS__, )
#define TN__X_from_data(data_, dtype_, shape_, ...) \
    TN__OPTIONS(TN__BARE(#dtype_) && TN__BARE(#shape_) && TN__NAMED6(__VA_ARGS__), tn_from_data_opt, \
                "tn_from_data(data, dtype, shape, .stride, .release, .ctx, .read_only)", ".read_only = true") \
    ((data_), (dtype_), TN__DIMS(shape_), &(tn_from_data_options){TN__SITE(tn_from_data_options), __VA_ARGS__})
#define tn_to(...) TN__X_to(__VA_ARGS__, )
#define TN__X_to(t_, ...) \
    TN__OPTIONS(TN__NAMED6(__VA_ARGS__), tn_to_opt, "tn_to(t, .device, .dtype, .copy, .non_blocking, .memory_format)", \
                ".dtype = TN_F64") \
    ((t_), &(tn_to_options){TN__SITE(tn_to_options), __VA_ARGS__})
#define tn_cpu(t_)            tn_cpu_at(TN_HERE, (t_))
#define tn_pin_memory(t_)     tn_pin_memory_at(TN_HERE, (t_))
#define tn_view_dtype(t_, d_) tn_view_dtype_at(TN_HERE, (t_), (d_))
#define tn_cuda(...)          TN__X_cuda(__VA_ARGS__, -1, 0)
#define TN__X_cuda(t_, i_, ...) \
    TN__WHERE(sizeof #__VA_ARGS__ <= sizeof "-1, 0", tn_to_cuda_at, "tn_cuda(t) or tn_cuda(t, index)") \
    (TN_HERE, (t_), (i_))
#endif
#endif
