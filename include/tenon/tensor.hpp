// tenon/tensor.hpp: tensors and operations for C++; tenon/tenon.hpp says how they are used.
#ifndef TENON_TENSOR_HPP
#define TENON_TENSOR_HPP

#include <tenon/tenon.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if __cplusplus < 201703L
#error "tenon/tenon.hpp wants C++17 or later"
#endif

#define TENON_NO_SITE "" // the C functions note no line: errors name that of the C++ call

namespace tenon
{

// ---- where a call stands ----

struct site {
    const char *file;
    int line;
    static constexpr site here(const char *file = __builtin_FILE(), int line = __builtin_LINE())
    {
        return {file, line};
    }
};

// ---- errors ----

// What failed: code() is TN_EINVAL, TN_ENOMEM ...; what() the message and the line of the call.
class error : public std::runtime_error
{
  public:
    error(tn_status status, const std::string &message) : std::runtime_error(message), code_(status) {}
    tn_status code() const noexcept { return code_; }

  private:
    tn_status code_;
};

namespace detail
{
[[noreturn]] inline void raise(tn_status code, const char *message, site at)
{
    const std::string text = std::string(message && *message ? message : "an empty tensor or module was passed") +
                             "\n  at " + at.file + ":" + std::to_string(at.line);
    tn_error_clear();
    throw error(code ? code : TN_EINVAL, text);
}
inline void check(tn_status status, site at)
{
    if (status)
        raise(status, tn_error_message(), at);
}
inline void check(const void *result, site at)
{
    if (!result)
        raise(tn_error_code(), tn_error_message(), at);
}
} // namespace detail

// ---- dtypes and devices ----

enum class memory_format : tn_memory_format {
    unsaid = TN_MEMORY_FORMAT_DEFAULT,
    contiguous = TN_CONTIGUOUS_FORMAT,
    preserve = TN_PRESERVE_FORMAT,
    channels_last = TN_CHANNELS_LAST,
    channels_last_3d = TN_CHANNELS_LAST_3D
};

enum class dtype : tn_dtype {
    unsaid = TN_DTYPE_DEFAULT,
    boolean = TN_BOOL,
    uint8 = TN_U8,
    int8 = TN_I8,
    int16 = TN_I16,
    int32 = TN_I32,
    int64 = TN_I64,
    float16 = TN_F16,
    bfloat16 = TN_BF16,
    float32 = TN_F32,
    float64 = TN_F64,
    uint16 = TN_U16,
    uint32 = TN_U32,
    uint64 = TN_U64
};

// The dtype of a C++ type.
template <class T> constexpr dtype dtype_of()
{
    using U = std::remove_cv_t<T>;
    if constexpr (std::is_same_v<U, bool>)
        return dtype::boolean;
    else if constexpr (std::is_same_v<U, float>)
        return dtype::float32;
    else if constexpr (std::is_same_v<U, double>)
        return dtype::float64;
    else {
        static_assert(std::is_integral_v<U>, "no dtype for this type");
        constexpr dtype with_sign[] = {dtype::int8, dtype::int16, dtype::int32, dtype::int64};
        constexpr dtype without[] = {dtype::uint8, dtype::uint16, dtype::uint32, dtype::uint64};
        constexpr int log = sizeof(U) == 1 ? 0 : sizeof(U) == 2 ? 1 : sizeof(U) == 4 ? 2 : 3;
        return std::is_signed_v<U> ? with_sign[log] : without[log];
    }
}

class device
{
  public:
    device() : d{TN_DEVICE_DEFAULT, 0} {}
    device(tn_device which) : d(which) {}
    // "cpu", "cuda", "cuda:1", "meta"
    device(const char *name, site at = site::here()) : d(tn_device_parse(name))
    {
        if (d.type == TN_DEVICE_INVALID)
            detail::raise(tn_error_code(), tn_error_message(), at);
    }
    device(const std::string &name, site at = site::here()) : device(name.c_str(), at) {}
    operator tn_device() const noexcept { return d; }
    std::string str() const { return tn_device_text(d).s; }
    friend bool operator==(device a, device b) { return tn_device_equal(a.d, b.d); }
    friend bool operator!=(device a, device b) { return !(a == b); }

  private:
    tn_device d;
};
inline device cpu()
{
    return TN_CPU;
}
inline device cuda(std::int32_t index = -1)
{
    return TN_CUDA(index);
}

// ---- lists ----

// A shape, or a list of dimensions: {2, 3}, or one number.
class dims
{
  public:
    dims() = default;
    dims(std::initializer_list<std::int64_t> sizes)
        : list(tn_dims_of(sizes.begin(), static_cast<std::int32_t>(sizes.size())))
    {
    }
    dims(const std::vector<std::int64_t> &sizes)
        : list(tn_dims_of(sizes.data(), static_cast<std::int32_t>(sizes.size())))
    {
    }
    template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
    dims(T one) : dims({static_cast<std::int64_t>(one)})
    {
    }
    // Valid as long as this.
    const tn_dims *c() const { return &list; }
    std::size_t size() const noexcept { return static_cast<std::size_t>(list.ndim); }

  private:
    tn_dims list{};
};

// Numbers, as many as are meant: {2, 3}, or one.
class ints
{
  public:
    ints() = default;
    ints(std::initializer_list<std::int64_t> numbers) : list(numbers) {}
    ints(std::vector<std::int64_t> numbers) : list(std::move(numbers)) {}
    template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
    ints(T one) : ints({static_cast<std::int64_t>(one)})
    {
    }
    // Valid as long as this.
    tn_ints c() const { return {list.data(), list.size()}; }

  private:
    std::vector<std::int64_t> list;
};

class tensor;
class operand;
class tensors;
class tensor_options;
#define TENON_OPS_NAMES
#include <tenon/ops.hpp>
#undef TENON_OPS_NAMES

// ---- tensors ----

class tensor
{
  public:
    tensor() = default;
    tensor(const tensor &other) : handle(tn_retain(other.handle)) {}
    tensor(tensor &&other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
    tensor &operator=(tensor other) noexcept
    {
        std::swap(handle, other.handle);
        return *this;
    }
    ~tensor() { tn_release(handle); }

    // Takes over a reference that the caller owns.
    static tensor adopt(tn_tensor *owned)
    {
        tensor t;
        t.handle = owned;
        return t;
    }
    // A further reference to what somebody else owns.
    static tensor share(tn_tensor *borrowed) { return adopt(tn_retain(borrowed)); }
    // The C handle, borrowed; NULL of an empty one.
    tn_tensor *c() const noexcept { return handle; }
    // The same for inputs that may be absent.
    tn_tensor *or_none() const noexcept { return handle ? handle : TN_NONE; }
    explicit operator bool() const noexcept { return handle != nullptr; }

    // ---- what it is; an empty one is nothing: it throws ----
    std::int64_t ndim(site at = site::here()) const { return tn_tensor_ndim(held(at)); }
    std::int64_t size(std::int64_t dim, site at = site::here()) const
    {
        const std::int64_t n = tn_tensor_size(held(at), dim);
        if (n < 0)
            detail::raise(tn_error_code(), tn_error_message(), at);
        return n;
    }
    std::vector<std::int64_t> shape(site at = site::here()) const
    {
        const tn_dims d = tn_tensor_shape(held(at));
        return std::vector<std::int64_t>(d.dim, d.dim + d.ndim);
    }
    std::vector<std::int64_t> stride(site at = site::here()) const
    {
        const tn_dims d = tn_tensor_stride(held(at));
        return std::vector<std::int64_t>(d.dim, d.dim + d.ndim);
    }
    std::int64_t numel(site at = site::here()) const { return tn_tensor_numel(held(at)); }
    tenon::dtype dtype(site at = site::here()) const { return static_cast<tenon::dtype>(tn_tensor_dtype(held(at))); }
    tenon::device device(site at = site::here()) const { return tn_tensor_device(held(at)); }
    bool is_contiguous(memory_format format, site at = site::here()) const
    {
        return tn_tensor_is_contiguous_in(held(at), static_cast<tn_memory_format>(format));
    }
    bool is_contiguous(site at = site::here()) const { return tn_tensor_is_contiguous(held(at)); }
    bool is_cuda(site at = site::here()) const { return tn_tensor_is_cuda(held(at)); }
    bool shares_memory(const tensor &other, site at = site::here()) const
    {
        return tn_tensor_shares_memory(held(at), other.held(at));
    }
    // Address of the first element, of a tensor of the CPU whose elements are of that type.
    template <class T> T *data(site at = site::here()) const
    {
        if (dtype(at) != dtype_of<T>())
            detail::raise(TN_EDTYPE,
                          (std::string("its elements are ") + tn_dtype_name(tn_tensor_dtype(handle))).c_str(), at);
        tn_error_clear();
        void *p = tn_data(handle);
        if (!p && tn_error_code())
            detail::raise(tn_error_code(), tn_error_message(), at);
        return static_cast<T *>(p);
    }
    // A copy of all elements, in row-major order, from whichever device.
    template <class T> std::vector<T> to_vector(site at = site::here()) const;
    // The one element.
    template <class T = double> T item(site at = site::here()) const
    {
        detail::check(handle, at);
        tn_error_clear();
        const double exact = tn_item(handle);
        const std::int64_t whole = std::is_integral_v<T> && !std::is_same_v<T, bool> ? tn_item_int(handle) : 0;
        detail::check(tn_error_code(), at);
        if constexpr (std::is_same_v<T, bool>)
            return exact != 0;
        const T value = std::is_integral_v<T> ? static_cast<T>(whole) : static_cast<T>(exact);
        if (std::is_integral_v<T> && static_cast<std::int64_t>(value) != whole)
            detail::raise(TN_EVALUE, ("item: " + std::to_string(whole) + " does not fit").c_str(), at);
        return value;
    }
    std::string str(site at = site::here()) const;

    // ---- where it is ----
    tensor to(tenon::device device, site at = site::here()) const;
    tensor to(tenon::dtype dtype, site at = site::here()) const;
    tensor to(memory_format format, site at = site::here()) const;
    tensor cpu(site at = site::here()) const;
    tensor cuda(std::int32_t index = -1, site at = site::here()) const;
    tensor pin_memory(site at = site::here()) const;

    // ---- gradients ----
    const tensor &requires_grad_(bool on = true, site at = site::here()) const
    {
        detail::check(tn_requires_grad_(held(at), on), at);
        return *this;
    }
    bool requires_grad(site at = site::here()) const { return tn_tensor_requires_grad(held(at)); }
    bool is_leaf(site at = site::here()) const { return tn_tensor_is_leaf(held(at)); }
    // Empty where there is none.
    tensor grad(site at = site::here()) const { return share(tn_tensor_grad(held(at))); }
    // An empty one takes it away.
    void set_grad(const tensor &grad, site at = site::here()) const
    {
        detail::check(tn_tensor_set_grad(held(at), grad.or_none()), at);
    }
    std::string grad_fn(site at = site::here()) const { return tn_tensor_grad_fn(held(at)).s; }
    void backward(site at = site::here()) const { detail::check(tn_backward_opt(held(at), nullptr), at); }
    // An empty gradient: 1, of one element.
    void backward(const tensor &gradient, bool retain_graph = false, bool create_graph = false,
                  site at = site::here()) const
    {
        tn_backward_options o{};
        o.struct_size = sizeof o;
        o.gradient = gradient.c();
        o.retain_graph = retain_graph;
        o.create_graph = create_graph;
        detail::check(tn_backward_opt(held(at), &o), at);
    }

#define TENON_OPS_DECLARATIONS
#include <tenon/ops.hpp>
#undef TENON_OPS_DECLARATIONS

  private:
    // An empty one throws: with the text of the C call that gave none, where there was one.
    tn_tensor *held(site at) const
    {
        detail::check(handle, at);
        return handle;
    }
    tn_tensor *handle = nullptr;
};

// Several tensors: {a, b}, or a vector.
class tensors
{
  public:
    tensors(std::initializer_list<tensor> all) : tensors(std::vector<tensor>(all)) {}
    tensors(std::vector<tensor> all) : list(std::move(all))
    {
        for (const tensor &t : list)
            handles.push_back(t.c());
    }
    // Valid as long as this.
    tn_tensors c() const { return {handles.data(), handles.size()}; }
    std::size_t size() const noexcept { return list.size(); }

  private:
    std::vector<tensor> list;
    std::vector<tn_tensor *> handles;
};

// A number or a tensor. It is made of either without a word.
class operand
{
  public:
    operand() : s(tn_scalar_none()) {}
    operand(const tenon::tensor &one) : s(tn_scalar_t(one.c())), t(one) {}
    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>> operand(T number) : s(of(number)) {}
    tn_scalar c() const noexcept { return s; }

  private:
    template <class T> static tn_scalar of(T number)
    {
        if constexpr (std::is_same_v<T, bool>)
            return tn_scalar_b(number);
        else if constexpr (std::is_floating_point_v<T>)
            return tn_scalar_f(static_cast<double>(number));
        else if constexpr (std::is_unsigned_v<T>)
            return tn_scalar_u(number);
        else
            return tn_scalar_i(number);
    }
    tn_scalar s;
    tenon::tensor t; // kept for as long as this
};

// Of a new tensor: tensor_options().dtype(dtype::float64).device("cuda:1").requires_grad()
class tensor_options
{
  public:
    tensor_options &dtype(tenon::dtype dtype)
    {
        o.dtype = static_cast<tn_dtype>(dtype);
        return *this;
    }
    tensor_options &device(tenon::device device)
    {
        o.device = device;
        return *this;
    }
    tensor_options &requires_grad(bool on = true)
    {
        o.requires_grad = on;
        return *this;
    }
    tensor_options &pin_memory(bool on = true)
    {
        o.pin_memory = on;
        return *this;
    }
    tensor_options &memory_format(tenon::memory_format format)
    {
        o.memory_format = static_cast<tn_memory_format>(format);
        return *this;
    }
    tn_options c() const
    {
        tn_options all = o;
        all.struct_size = sizeof all;
        return all;
    }
    // The same of what is made from data.
    tn_tensor_from_options c_from(const dims &shape) const
    {
        tn_tensor_from_options all{};
        all.struct_size = sizeof all;
        all.device = o.device;
        all.dtype = o.dtype;
        all.requires_grad = o.requires_grad;
        all.pin_memory = o.pin_memory;
        all.shape = *shape.c();
        return all;
    }

  private:
    tn_options o{};
};

namespace detail
{
// A C result becomes the caller's, whatever scope is open.
inline tensor take(tn_tensor *result, site at)
{
    check(result, at);
    return tensor::adopt(tn_keep(result));
}
// What a C function writes as snprintf does.
template <class F> std::string text(F write, site at)
{
    const std::int64_t n = write(nullptr, 0);
    std::string all(n > 0 ? static_cast<std::size_t>(n) : 0, '\0');
    if (n < 0 || (n > 0 && write(&all[0], all.size() + 1) < 0))
        raise(tn_error_code(), tn_error_message(), at);
    return all;
}
// The results of a C function that writes several, and only counts them where there is no room at all.
template <class F> std::vector<tensor> list(F call, site at)
{
    tn_error_clear();
    const std::int64_t count = call(nullptr, 0);
    std::vector<tn_tensor *> out(count > 0 ? static_cast<std::size_t>(count) : 0);
    const std::int64_t n = out.empty() ? 0 : call(out.data(), out.size());
    if (n <= 0)
        check(tn_error_code(), at);
    std::vector<tensor> result;
    for (std::int64_t i = 0; i < n; i++)
        result.push_back(tensor::adopt(tn_keep(out[static_cast<std::size_t>(i)])));
    return result;
}
} // namespace detail

// ---- operations ----

#define TENON_OPS_FUNCTIONS
#include <tenon/ops.hpp>
#undef TENON_OPS_FUNCTIONS

// A copy of numbers: {1.5, 2}, a vector, an array; 1-D unless a shape is given.
template <class T>
tensor from(const T *data, std::size_t n, const dims &shape = {}, const tensor_options &options = {},
            site at = site::here())
{
    tn_tensor_from_options all = options.c_from(shape);
    const tn_array array{data, n, static_cast<tn_dtype>(dtype_of<T>()), false};
    return detail::take(tn_tensor_from_opt(array, &all), at);
}
template <class T>
tensor from(const std::vector<T> &data, const dims &shape = {}, const tensor_options &options = {},
            site at = site::here())
{
    return from(data.data(), data.size(), shape, options, at);
}
namespace detail
{
struct number {
    std::int64_t i;
    double f;
    bool is_floating, is_bool;
    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
    number(T v)
        : i(static_cast<std::int64_t>(v)), f(static_cast<double>(v)), is_floating(std::is_floating_point_v<T>),
          is_bool(std::is_same_v<T, bool>)
    {
    }
};
} // namespace detail
// As torch.tensor([1.5, 2]): where one has a point all are of the default dtype; else they are int64, or bool if all are.
inline tensor from(std::initializer_list<detail::number> data, const dims &shape = {},
                   const tensor_options &options = {}, site at = site::here())
{
    std::vector<std::int64_t> whole;
    std::vector<double> floating;
    bool is_floating = false, is_bool = data.size() > 0;
    for (const detail::number &v : data) {
        whole.push_back(v.i);
        floating.push_back(v.f);
        is_floating = is_floating || v.is_floating;
        is_bool = is_bool && v.is_bool;
    }
    tn_tensor_from_options all = options.c_from(shape);
    if (is_bool && !all.dtype)
        all.dtype = TN_BOOL;
    const tn_array array = is_floating ? tn_array{floating.data(), floating.size(), TN_F64, true}
                                       : tn_array{whole.data(), whole.size(), TN_I64, true};
    return detail::take(tn_tensor_from_opt(array, &all), at);
}

inline tensor tensor::to(tenon::device device, site at) const
{
    tn_to_options o{};
    o.struct_size = sizeof o;
    o.device = device;
    return detail::take(tn_to_opt(handle, &o), at);
}
inline tensor tensor::to(tenon::dtype dtype, site at) const
{
    tn_to_options o{};
    o.struct_size = sizeof o;
    o.dtype = static_cast<tn_dtype>(dtype);
    return detail::take(tn_to_opt(handle, &o), at);
}
inline tensor tensor::to(memory_format format, site at) const
{
    tn_to_options o{};
    o.struct_size = sizeof o;
    o.memory_format = static_cast<tn_memory_format>(format);
    return detail::take(tn_to_opt(handle, &o), at);
}
inline tensor tensor::cpu(site at) const
{
    return detail::take(tn_cpu_at(TENON_NO_SITE, handle), at);
}
inline tensor tensor::cuda(std::int32_t index, site at) const
{
    return detail::take(tn_to_cuda_at(TENON_NO_SITE, handle, index), at);
}
inline tensor tensor::pin_memory(site at) const
{
    return detail::take(tn_pin_memory_at(TENON_NO_SITE, handle), at);
}
template <class T> std::vector<T> tensor::to_vector(site at) const
{
    const tensor here = tenon::contiguous(cpu(at), at);
    const T *p = here.data<T>(at);
    return std::vector<T>(p, p + here.numel(at));
}
inline std::string tensor::str(site at) const
{
    return detail::text([&](char *out, std::size_t n) { return tn_to_string(handle, out, n); }, at);
}
// The text and a newline on C's stdout, as tn_print.
inline void print(const tensor &t, site at = site::here())
{
    std::puts(t.str(at).c_str());
}
// What stands beside an operator, with its line.
template <class T> struct located_ {
    const T &t;
    site at;
    located_(const T &one, site where = site::here()) : t(one), at(where) {}
};
using located = located_<tensor>;
inline std::ostream &operator<<(std::ostream &out, const located &x)
{
    return out << x.t.str(x.at);
}

// ---- operators: one side is a tensor, the other a tensor or a number; elementwise, as in PyTorch ----

#define TENON_OPERATOR(symbol, function) \
    inline tensor operator symbol(const located &a, const operand &b) \
    { \
        return function(a.t, b, a.at); \
    } \
    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>> \
    tensor operator symbol(const located &a, T b) \
    { \
        return function(a.t, operand(b), a.at); /* of its own: C++20 would turn == around, and want a bool */ \
    } \
    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>> \
    tensor operator symbol(T a, const located &b) \
    { \
        return function(operand(a), b.t, b.at); \
    }
TENON_OPERATOR(+, add)
TENON_OPERATOR(-, sub)
TENON_OPERATOR(*, mul)
TENON_OPERATOR(/, div)
TENON_OPERATOR(%, remainder)
TENON_OPERATOR(<, lt)
TENON_OPERATOR(<=, le)
TENON_OPERATOR(>, gt)
TENON_OPERATOR(>=, ge)
TENON_OPERATOR(==, eq)
TENON_OPERATOR(!=, ne)
TENON_OPERATOR(&, bitwise_and)
TENON_OPERATOR(|, bitwise_or)
TENON_OPERATOR(^, bitwise_xor)
#undef TENON_OPERATOR
inline tensor operator-(const located &a)
{
    return neg(a.t, a.at);
}
inline tensor operator~(const located &a)
{
    return bitwise_not(a.t, a.at);
}
#define TENON_ASSIGNMENT(symbol, function) \
    inline const tensor &operator symbol(const located &a, const operand &b) \
    { \
        return function(a.t, b, a.at); \
    }
TENON_ASSIGNMENT(+=, add_)
TENON_ASSIGNMENT(-=, sub_)
TENON_ASSIGNMENT(*=, mul_)
TENON_ASSIGNMENT(/=, div_)
#undef TENON_ASSIGNMENT

} // namespace tenon

#endif
