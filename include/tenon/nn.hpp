// tenon/nn.hpp: modules, optimisers, batches and files for C++; tenon/tenon.hpp says how they are used.
#ifndef TENON_NN_HPP
#define TENON_NN_HPP

#include <tenon/tensor.hpp>

namespace tenon
{

// ---- recording ----

// No history is recorded on this thread for as long as it lives.
class no_grad
{
  public:
    no_grad() : before(tn_set_grad_enabled(false)) {}
    ~no_grad() { tn_set_grad_enabled(before); }
    no_grad(const no_grad &) = delete;
    no_grad &operator=(const no_grad &) = delete;

  private:
    bool before;
};

// d(outputs)/d(inputs), for leaves and others; what .grad holds is left alone.
inline std::vector<tensor> grad(const tensors &outputs, const tensors &inputs, bool create_graph = false,
                                site at = site::here())
{
    std::vector<tn_tensor *> grads(inputs.size());
    tn_grad_options o{};
    o.struct_size = sizeof o;
    o.create_graph = create_graph;
    detail::check(tn_grad_opt(outputs.c(), inputs.c(), grads.data(), &o), at);
    std::vector<tensor> result;
    for (tn_tensor *g : grads)
        result.push_back(tensor::adopt(tn_keep(g)));
    return result;
}

inline void manual_seed(std::uint64_t seed)
{
    tn_manual_seed(seed);
}

// ---- modules ----

using named_tensors = std::vector<std::pair<std::string, tensor>>;

namespace detail
{
// What 'ask', a C function of a list, says of all.
template <class F> named_tensors named(F ask, site at)
{
    tn_error_clear(); // none of nothing is no error
    std::vector<tn_named> all(ask(nullptr, 0));
    const std::size_t n = all.empty() ? 0 : ask(all.data(), all.size());
    if (!n)
        check(tn_error_code(), at);
    named_tensors result;
    for (std::size_t i = 0; i < n && i < all.size(); i++)
        result.emplace_back(all[i].name, tensor::share(all[i].tensor));
    return result;
}
inline std::vector<tn_named> borrowed(const named_tensors &from)
{
    std::vector<tn_named> all;
    for (const auto &one : from)
        all.push_back({one.first.c_str(), one.second.c()});
    return all;
}
} // namespace detail

class module
{
  public:
    module() = default;
    module(const module &other) :handle(tn_module_retain(other.handle)) {}
    module(module &&other) noexcept :handle(std::exchange(other.handle, nullptr)) {}
    module &operator=(module other) noexcept
    {
        std::swap(handle, other.handle);
        return *this;
    }
    ~module() { tn_module_release(handle); }
    // Takes over what a C function of modules gave; one that failed throws.
    static module take(tn_module *made, site at = site::here())
    {
        detail::check(made, at);
        module m;
        m.handle = tn_module_keep(made);
        return m;
    }
    tn_module *c() const noexcept { return handle; }

    tensor operator()(const tensor &x, site at = site::here()) const
    {
        return detail::take(tn_forward_at(TENON_NO_SITE, handle, x.c()), at);
    }
    std::vector<tensor> parameters(site at = site::here()) const
    {
        std::vector<tensor> result;
        for (const auto &one : named_parameters(at))
            result.push_back(one.second);
        return result;
    }
    named_tensors named_parameters(site at = site::here()) const
    {
        tn_module *m = held(at);
        return detail::named([&](tn_named *out, std::size_t cap) { return tn_module_named_parameters(m, out, cap); },
                             at);
    }
    // Parameters and buffers by name.
    named_tensors state(site at = site::here()) const
    {
        tn_module *m = held(at);
        return detail::named([&](tn_named *out, std::size_t cap) { return tn_module_state(m, out, cap); }, at);
    }
    void load_state(const named_tensors &state, site at = site::here()) const
    {
        const std::vector<tn_named> all = detail::borrowed(state);
        detail::check(tn_module_load_state(handle, all.data(), all.size()), at);
    }
    const module &train(site at = site::here()) const
    {
        detail::check(tn_module_train(handle), at);
        return *this;
    }
    const module &eval(site at = site::here()) const
    {
        detail::check(tn_module_eval(handle), at);
        return *this;
    }
    bool is_training(site at = site::here()) const { return tn_module_is_training(held(at)); }
    void zero_grad(site at = site::here()) const { tn_module_zero_grad(held(at)); }
    const module &requires_grad_(bool on = true, site at = site::here()) const
    {
        detail::check(tn_module_requires_grad_(handle, on), at);
        return *this;
    }
    const module &to(device where, site at = site::here()) const
    {
        detail::check(tn_module_to_at(TENON_NO_SITE, handle, where), at);
        return *this;
    }
    const module &to(dtype which, site at = site::here()) const
    {
        detail::check(tn_module_to_dtype_at(TENON_NO_SITE, handle, static_cast<tn_dtype>(which)), at);
        return *this;
    }
    const module &to(memory_format format, site at = site::here()) const
    {
        detail::check(tn_module_to_memory_format_at(TENON_NO_SITE, handle, static_cast<tn_memory_format>(format)), at);
        return *this;
    }
    std::int64_t numel(site at = site::here()) const
    {
        tn_module *m = held(at);
        tn_error_clear();
        const std::int64_t n = tn_module_numel(m);
        if (!n)
            detail::check(tn_error_code(), at);
        return n;
    }
    std::string str(site at = site::here()) const
    {
        return detail::text([&](char *out, std::size_t n) { return tn_module_to_string(handle, out, n); }, at);
    }

  private:
    // An empty one throws, as an empty tensor does.
    tn_module *held(site at) const
    {
        detail::check(handle, at);
        return handle;
    }
    tn_module *handle = nullptr;
};
inline void print(const module &m, site at = site::here())
{
    std::puts(m.str(at).c_str());
}
inline std::ostream &operator<<(std::ostream &out, const located_<module> &m)
{
    return out << m.t.str(m.at);
}

namespace nn
{
class linear_options
{
  public:
    linear_options &bias(bool with)
    {
        o.no_bias = !with;
        return *this;
    }
    linear_options &device(tenon::device where)
    {
        o.device = where;
        return *this;
    }
    linear_options &dtype(tenon::dtype which)
    {
        o.dtype = static_cast<tn_dtype>(which);
        return *this;
    }
    tn_nn_linear_options c() const
    {
        tn_nn_linear_options all = o;
        all.struct_size = sizeof all;
        return all;
    }

  private:
    tn_nn_linear_options o{};
};
inline module linear(std::int64_t in, std::int64_t out, const linear_options &options = {}, site at = site::here())
{
    const auto all = options.c();
    return module::take(tn_nn_linear_opt(in, out, &all), at);
}
inline module relu(site at = site::here())
{
    return module::take(tn_nn_relu(), at);
}
inline module sigmoid(site at = site::here())
{
    return module::take(tn_nn_sigmoid(), at);
}
inline module tanh(site at = site::here())
{
    return module::take(tn_nn_tanh(), at);
}
inline module identity(site at = site::here())
{
    return module::take(tn_nn_identity(), at);
}
inline module dropout(double p = 0.5, site at = site::here())
{
    return module::take(tn_nn_dropout_at(TENON_NO_SITE, p), at);
}
inline module flatten(site at = site::here())
{
    return module::take(tn_nn_flatten(), at);
}
inline module sequential(std::initializer_list<module> modules, site at = site::here())
{
    std::vector<tn_module *> all;
    for (const module &m : modules)
        all.push_back(m.c());
    return module::take(tn_nn_sequential_n_at(TENON_NO_SITE, all.data(), all.size()), at);
}
} // namespace nn

// ---- optimisers ----

namespace detail
{
// A C object that has one owner and a function that frees it.
template <class T, void (*end)(T *)> struct freed {
    void operator()(T *p) const { end(p); }
};
template <class T, void (*end)(T *)> using owned = std::unique_ptr<T, freed<T, end>>;
} // namespace detail

class optimizer
{
  public:
    // Takes over what a C function of optimisers gave; one that failed throws.
    static optimizer take(tn_optimizer *made, site at = site::here())
    {
        detail::check(made, at);
        optimizer o;
        o.handle.reset(made);
        return o;
    }
    tn_optimizer *c() const noexcept { return handle.get(); }
    void step(site at = site::here()) const { detail::check(tn_optimizer_step_at(TENON_NO_SITE, handle.get()), at); }
    void zero_grad(site at = site::here()) const { tn_optimizer_zero_grad(held(at)); }
    double lr(site at = site::here()) const { return tn_optimizer_lr(held(at)); }
    void set_lr(double lr, site at = site::here()) const
    {
        detail::check(tn_optimizer_set_lr_at(TENON_NO_SITE, handle.get(), lr), at);
    }
    named_tensors state(site at = site::here()) const
    {
        tn_optimizer *opt = held(at);
        return detail::named([&](tn_named *out, std::size_t cap) { return tn_optimizer_state(opt, out, cap); }, at);
    }
    void load_state(const named_tensors &state, site at = site::here()) const
    {
        const std::vector<tn_named> all = detail::borrowed(state);
        detail::check(tn_optimizer_load_state_at(TENON_NO_SITE, handle.get(), all.data(), all.size()), at);
    }

  private:
    tn_optimizer *held(site at) const
    {
        detail::check(handle.get(), at); // moved from
        return handle.get();
    }
    detail::owned<tn_optimizer, tn_optimizer_free> handle;
};

namespace optim
{
class sgd_options
{
  public:
    sgd_options &momentum(double v)
    {
        o.momentum = v;
        return *this;
    }
    sgd_options &dampening(double v)
    {
        o.dampening = v;
        return *this;
    }
    sgd_options &weight_decay(double v)
    {
        o.weight_decay = v;
        return *this;
    }
    sgd_options &nesterov(bool on = true)
    {
        o.nesterov = on;
        return *this;
    }
    sgd_options &maximize(bool on = true)
    {
        o.maximize = on;
        return *this;
    }
    tn_sgd_options c() const
    {
        tn_sgd_options all = o;
        all.struct_size = sizeof all;
        return all;
    }

  private:
    tn_sgd_options o{};
};
// Of Adam and AdamW.
class adam_options
{
  public:
    adam_options &betas(double beta1, double beta2)
    {
        o.beta1 = beta1;
        o.beta2 = beta2;
        o.no_beta1 = beta1 == 0;
        o.no_beta2 = beta2 == 0;
        return *this;
    }
    adam_options &eps(double v)
    {
        o.eps = v;
        o.no_eps = v == 0;
        return *this;
    }
    adam_options &weight_decay(double v)
    {
        o.weight_decay = v;
        o.no_weight_decay = v == 0;
        return *this;
    }
    adam_options &maximize(bool on = true)
    {
        o.maximize = on;
        return *this;
    }
    tn_adam_options c() const
    {
        tn_adam_options all = o;
        all.struct_size = sizeof all;
        return all;
    }

  private:
    tn_adam_options o{};
};
inline optimizer sgd(const module &m, double lr, const sgd_options &options = {}, site at = site::here())
{
    const auto all = options.c();
    return optimizer::take(tn_sgd_opt(tn_params_of_module(m.c()), lr, &all), at);
}
inline optimizer sgd(const tensors &list, double lr, const sgd_options &options = {}, site at = site::here())
{
    const auto all = options.c();
    return optimizer::take(tn_sgd_opt(tn_params_of_list(list.c()), lr, &all), at);
}
inline optimizer adam(const module &m, double lr = 1e-3, const adam_options &options = {}, site at = site::here())
{
    const auto all = options.c();
    return optimizer::take(tn_adam_opt(tn_params_of_module(m.c()), lr, &all), at);
}
inline optimizer adam(const tensors &list, double lr = 1e-3, const adam_options &options = {}, site at = site::here())
{
    const auto all = options.c();
    return optimizer::take(tn_adam_opt(tn_params_of_list(list.c()), lr, &all), at);
}
inline optimizer adamw(const module &m, double lr = 1e-3, const adam_options &options = {}, site at = site::here())
{
    const auto all = options.c();
    return optimizer::take(tn_adamw_opt(tn_params_of_module(m.c()), lr, &all), at);
}
inline optimizer adamw(const tensors &list, double lr = 1e-3, const adam_options &options = {}, site at = site::here())
{
    const auto all = options.c();
    return optimizer::take(tn_adamw_opt(tn_params_of_list(list.c()), lr, &all), at);
}
} // namespace optim

// ---- batches and files ----

class loader_options
{
  public:
    loader_options &batch_size(std::int64_t rows)
    {
        o.batch_size = rows;
        return *this;
    }
    loader_options &shuffle(bool on = true)
    {
        o.shuffle = on;
        return *this;
    }
    loader_options &seed(std::uint64_t v)
    {
        o.seed = v;
        return *this;
    }
    loader_options &drop_last(bool on = true)
    {
        o.drop_last = on;
        return *this;
    }
    loader_options &prefetch(std::int32_t batches)
    {
        o.prefetch = batches;
        return *this;
    }
    loader_options &pin_memory(bool on = true)
    {
        o.pin_memory = on;
        return *this;
    }
    loader_options &device(tenon::device where)
    {
        o.device = where;
        return *this;
    }
    tn_loader_options c() const
    {
        tn_loader_options all = o;
        all.struct_size = sizeof all;
        return all;
    }

  private:
    tn_loader_options o{};
};

// for (loader batches({x, y}, loader_options().batch_size(32)); batches.next(batch);) ...
class loader
{
  public:
    loader(const tensors &data, const loader_options &options = {}, site at = site::here()) : width(data.size())
    {
        const auto all = options.c();
        handle.reset(tn_loader_new_opt(data.c(), &all));
        detail::check(handle.get(), at);
    }
    // False: the epoch is over; the next call begins another one.
    bool next(std::vector<tensor> &batch, site at = site::here()) const
    {
        std::vector<tn_tensor *> out(width);
        const std::int32_t got = tn_loader_next_at(TENON_NO_SITE, handle.get(), out.data(), out.size());
        if (got < 0)
            detail::raise(tn_error_code(), tn_error_message(), at);
        if (!got)
            return false;
        batch.clear();
        for (tn_tensor *t : out)
            batch.push_back(tensor::adopt(tn_keep(t)));
        return true;
    }
    // In an epoch.
    std::int64_t batches(site at = site::here()) const
    {
        detail::check(handle.get(), at); // moved from
        return tn_loader_batches(handle.get());
    }

  private:
    std::size_t width;
    detail::owned<tn_loader, tn_loader_free> handle;
};

// Tensors by name, as a safetensors file. What is loaded is copied: the file may change afterwards.
inline void save(const std::string &path, const named_tensors &all, site at = site::here())
{
    std::vector<const char *> names;
    std::vector<tn_tensor *> list;
    for (const auto &one : all) {
        names.push_back(one.first.c_str());
        list.push_back(one.second.c());
    }
    detail::check(tn_save_safetensors_opt(path.c_str(), names.data(), {list.data(), list.size()}, nullptr), at);
}
inline named_tensors load(const std::string &path, site at = site::here())
{
    const detail::owned<tn_safetensors, tn_safetensors_close> file(tn_safetensors_open(path.c_str()));
    detail::check(file.get(), at);
    named_tensors all;
    for (std::size_t i = 0; i < tn_safetensors_count(file.get()); i++) {
        const char *name = tn_safetensors_name(file.get(), i);
        all.emplace_back(name, detail::take(tn_safetensors_read(file.get(), name), at));
    }
    return all;
}

} // namespace tenon

#endif
