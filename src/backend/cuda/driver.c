/* The driver struct, by libcuda: nearly each function is one call of it. */
#include "backend/cuda/cuda.h"
#include "core/dynlib.h"
#include "core/error.h"
#include "core/thread.h"
#include "core/unload.h"
#include <tenon/cuda.h>

static tn__gpu_result result(tn__cu_result r)
{
    return tn__cuda_result(r);
}

static tn__cu_ptr address(const void *p)
{
    return (tn__cu_ptr)(uintptr_t)p;
}

static tn__cu_device handle(const tn__gpu_device *dev)
{
    return (tn__cu_device)dev->handle;
}

/* ---- devices and contexts ---- */

static tn__gpu_result limits(const tn__gpu_device *dev, tn__gpu_limits *out)
{
    int processors = 0, local = 0, memory = 0;
    tn__cu_result r = tn__cu.device_get_attribute(&processors, TN__CU_MULTIPROCESSOR_COUNT, handle(dev));
    if (!r)
        r = tn__cu.device_get_attribute(&local, TN__CU_MAX_THREADS_PER_BLOCK, handle(dev));
    if (!r)
        r = tn__cu.device_get_attribute(&memory, TN__CU_MAX_SHARED_MEMORY_PER_BLOCK, handle(dev));
    *out = (tn__gpu_limits){.multiprocessors = processors, .max_local = local, .local_memory = memory};
    return result(r);
}

static tn__gpu_result total_memory(const tn__gpu_device *dev, size_t *bytes)
{
    return result(tn__cu.device_total_mem(bytes, handle(dev)));
}

static void context_way(const tn__gpu_device *dev, tn__gpu_way way)
{
    static const unsigned sched[] = {[TN__GPU_WAY_AUTO] = TN__CU_CTX_SCHED_AUTO,
                                     [TN__GPU_WAY_SPIN] = TN__CU_CTX_SCHED_SPIN,
                                     [TN__GPU_WAY_YIELD] = TN__CU_CTX_SCHED_YIELD,
                                     [TN__GPU_WAY_BLOCK] = TN__CU_CTX_SCHED_BLOCKING_SYNC};
    unsigned flags = 0;
    int active = 0;
    if (!tn__cu.primary_ctx_get_state(handle(dev), &flags, &active) && !active)
        tn__cu.primary_ctx_set_flags(handle(dev), (flags & ~(unsigned)TN__CU_CTX_SCHED_MASK) | sched[way]);
}

static tn__gpu_result context_retain(const tn__gpu_device *dev, void **context)
{
    tn__cu_context c;
    const tn__cu_result r = tn__cu.primary_ctx_retain(&c, handle(dev));
    if (!r)
        *context = c;
    return result(r);
}

static void context_release(const tn__gpu_device *dev)
{
    tn__cu.primary_ctx_release(handle(dev));
}

static tn__gpu_result context_reset(const tn__gpu_device *dev)
{
    return result(tn__cu.primary_ctx_reset(handle(dev)));
}

static tn__gpu_result context_get(void **context)
{
    tn__cu_context c;
    const tn__cu_result r = tn__cu.ctx_get_current(&c);
    *context = r ? NULL : c;
    return result(r);
}

static tn__gpu_result context_set(void *context)
{
    return result(tn__cu.ctx_set_current(context));
}

static tn__gpu_result context_synchronize(void)
{
    return result(tn__cu.ctx_synchronize());
}

/* ---- streams and events ---- */

static tn__gpu_result stream_new(int32_t *priority, void **stream)
{
    tn__cu_stream s;
    int least = 0, greatest = 0;
    tn__cu_result r = tn__cu.ctx_get_stream_priority_range(&least, &greatest);
    *priority = (int32_t)TN_MIN(TN_MAX(*priority, greatest), least);
    if (!r)
        r = tn__cu.stream_create_with_priority(&s, TN__CU_STREAM_NON_BLOCKING, *priority);
    if (!r)
        *stream = s;
    return result(r);
}

static void stream_destroy(void *stream)
{
    tn__cu.stream_destroy(stream);
}

static tn__gpu_result stream_query(void *stream)
{
    return result(tn__cu.stream_query(stream));
}

static tn__gpu_result stream_synchronize(void *stream)
{
    return result(tn__cu.stream_synchronize(stream));
}

static tn__gpu_result stream_wait_event(void *stream, void *event)
{
    return result(tn__cu.stream_wait_event(stream, event, 0));
}

static tn__gpu_result event_new(uint32_t flags, void **event)
{
    tn__cu_event e;
    const unsigned timing = flags & TN_EVENT_TIMING ? 0 : TN__CU_EVENT_DISABLE_TIMING;
    const tn__cu_result r =
        tn__cu.event_create(&e, timing | (flags & TN_EVENT_BLOCKING ? TN__CU_EVENT_BLOCKING_SYNC : 0));
    if (!r)
        *event = e;
    return result(r);
}

static void event_destroy(void *event)
{
    tn__cu.event_destroy(event);
}

static tn__gpu_result event_record(void *event, void *stream)
{
    return result(tn__cu.event_record(event, stream));
}

static tn__gpu_result event_query(void *event)
{
    return result(tn__cu.event_query(event));
}

static tn__gpu_result event_synchronize(void *event)
{
    return result(tn__cu.event_synchronize(event));
}

static tn__gpu_result event_elapsed_time(void *start, void *end, float *milliseconds)
{
    return result(tn__cu.event_elapsed_time(milliseconds, start, end));
}

/* ---- memory ---- */

static tn__gpu_result memory_get(size_t bytes, void **memory)
{
    tn__cu_ptr p;
    const tn__cu_result r = tn__cu.mem_alloc(&p, bytes);
    if (!r)
        *memory = (void *)(uintptr_t)p;
    return result(r);
}

static void memory_put(void *memory)
{
    tn__cu.mem_free(address(memory));
}

/* ---- addresses, and memory behind them ---- */

static bool peer_reaches(const tn__gpu_device *from, const tn__gpu_device *to)
{
    int can = 0;
    return tn__cu.device_can_access_peer(&can, handle(from), handle(to)) == TN__CU_SUCCESS && can;
}

static tn__cu_location place_of(const tn__gpu_device *dev)
{
    return (tn__cu_location){.type = TN__CU_MEM_LOCATION_DEVICE, .id = handle(dev)};
}

static tn__cu_allocation pages_of(const tn__gpu_device *dev)
{
    return (tn__cu_allocation){.type = TN__CU_MEM_ALLOCATION_PINNED, .location = place_of(dev)};
}

static tn__gpu_result reserve(const tn__gpu_device *dev, size_t bytes, void **addresses, size_t *page)
{
    const tn__cu_allocation pages = pages_of(dev);
    tn__cu_ptr p = 0;
    tn__cu_result r = tn__cu.mem_get_allocation_granularity(page, &pages, TN__CU_MEM_GRANULARITY_MINIMUM);
    if (!r)
        r = tn__cu.mem_address_reserve(&p, bytes, 0, 0, 0);
    *addresses = (void *)(uintptr_t)p;
    return result(r);
}

static void unreserve(void *addresses, size_t bytes)
{
    tn__cu.mem_address_free(address(addresses), bytes);
}

/* Peers have no access to such memory by having it to the context, so each with a link gets it. */
static tn__cu_result open_pages(const tn__gpu_device *dev, tn__cu_ptr at, size_t bytes)
{
    tn__cu_access access[TN__GPU_EACH] = {{.location = place_of(dev), .flags = TN__CU_MEM_ACCESS_READWRITE}};
    size_t n = 1;
    for (int32_t i = 0; i < tn__gpu_count(TN_DEVICE_CUDA); i++) {
        const tn__gpu_device *other = tn__gpu_slot(TN_CUDA(i));
        if (other->first == other && other->first != dev->first && peer_reaches(other, dev))
            access[n++] = (tn__cu_access){.location = place_of(other), .flags = TN__CU_MEM_ACCESS_READWRITE};
    }
    const tn__cu_result r = tn__cu.mem_set_access(at, bytes, access, n);
    return r && n > 1 ? tn__cu.mem_set_access(at, bytes, access, 1) : r; /* a GPU that others have for themselves */
}

static tn__gpu_result map(const tn__gpu_device *dev, void *at, size_t bytes)
{
    const tn__cu_allocation pages = pages_of(dev);
    unsigned long long memory = 0;
    tn__cu_result r = tn__cu.mem_create(&memory, bytes, &pages, 0);
    if (r)
        return result(r);
    r = tn__cu.mem_map(address(at), bytes, 0, memory, 0);
    tn__cu.mem_release(memory); /* it lives as long as it is mapped */
    if (r)
        return result(r);
    r = open_pages(dev, address(at), bytes);
    if (r)
        tn__cu.mem_unmap(address(at), bytes);
    return result(r);
}

static void unmap(void *at, size_t bytes)
{
    tn__cu.mem_unmap(address(at), bytes);
}

static tn__gpu_result memory_info(size_t *free_bytes, size_t *total_bytes)
{
    return result(tn__cu.mem_get_info(free_bytes, total_bytes));
}

static tn__gpu_result host_get(size_t bytes, void **memory, void **device_address)
{
    tn__cu_ptr p = 0;
    tn__cu_result r = tn__cu.mem_host_alloc(
        memory, bytes, TN__CU_MEMHOSTALLOC_PORTABLE | (device_address ? TN__CU_MEMHOSTALLOC_DEVICEMAP : 0));
    if (r || !device_address)
        return result(r);
    r = tn__cu.mem_host_get_device_pointer(&p, *memory, 0);
    if (r)
        tn__cu.mem_free_host(*memory);
    else
        *device_address = (void *)(uintptr_t)p;
    return result(r);
}

static void host_put(void *memory)
{
    tn__cu.mem_free_host(memory);
}

static tn__gpu_result host_lock(void *memory, size_t bytes)
{
    return result(tn__cu.mem_host_register(memory, bytes, TN__CU_MEMHOSTALLOC_PORTABLE));
}

static void host_unlock(void *memory)
{
    tn__cu.mem_host_unregister(memory);
}

/* ---- copies ---- */

static tn__gpu_result copy_in(void *to, const void *from_host, size_t bytes, void *stream)
{
    return result(tn__cu.memcpy_htod_async(address(to), from_host, bytes, stream));
}

static tn__gpu_result copy_out(void *to_host, const void *from, size_t bytes, void *stream)
{
    return result(tn__cu.memcpy_dtoh_async(to_host, address(from), bytes, stream));
}

static tn__gpu_result copy_within(void *to, const void *from, size_t bytes, void *stream)
{
    return result(tn__cu.memcpy_dtod_async(address(to), address(from), bytes, stream));
}

static tn__gpu_result copy_peer(const tn__gpu_device *to_device, void *to, const tn__gpu_device *from_device,
                                const void *from, size_t bytes, void *stream)
{
    return result(
        tn__cu.memcpy_peer_async(address(to), to_device->context, address(from), from_device->context, bytes, stream));
}

static tn__gpu_result fill(void *to, uint8_t value, size_t bytes, void *stream)
{
    return result(tn__cu.memset_d8_async(address(to), value, bytes, stream));
}

static bool peer_enable(const tn__gpu_device *from, const tn__gpu_device *to)
{
    if (!peer_reaches(from, to))
        return false;
    const tn__cu_result r = tn__cu.ctx_enable_peer_access(to->context, 0);
    return r == TN__CU_SUCCESS || r == TN__CU_PEER_ACCESS_ALREADY_ENABLED;
}

/* ---- kernels ---- */

static tn_status load(tn_device device, const void *binary, size_t size, void **module)
{
    tn__cu_module m = NULL;
    (void)size; /* a cubin says itself how long it is, PTX ends with a NUL */
    tn__gpu_device *dev = tn__gpu_use(device);
    if (!dev)
        return tn_error_code();
    tn_status e = tn__cuda_check(dev, tn__cu.module_load_data(&m, binary), "loading kernels");
    *module = m;
    return e && tn__dynlib_exhausted() ? tn__error_append("\n  " TN__EXHAUSTED) : e;
}

static tn_status function(tn_device device, void *module, const char *name, void **out)
{
    tn__cu_function f = NULL;
    tn__gpu_device *dev = tn__gpu_use(device);
    if (!dev)
        return tn_error_code();
    tn_status e = tn__cuda_check(dev, tn__cu.module_get_function(&f, module, name), name);
    *out = f;
    return e;
}

/* For fake GPUs, which name calls in what they report. */
static _Thread_local const char *launching;

static void where(const char **operation, const char **site)
{
    const tn__thread *t = tn__tls;
    *operation = launching;
    *site = t ? t->site : NULL;
}

static void forget_where(void)
{
    tn__cu.fake_call_sites(NULL);
}

void tn__cuda_name_calls(void)
{
    if (tn__cu.fake_call_sites && tn__cu.fake_call_sites(where) == TN__CU_SUCCESS)
        tn__at_unload(forget_where);
}

static tn__gpu_result launch(const tn__gpu_launch *l, void *fn, void *stream)
{
    void *args[TN__GPU_MAX_ARGS];
    const uint32_t *g = l->groups, *n = l->local;
    for (int32_t i = 0; i < l->n_arg; i++)
        args[i] = (void *)(uintptr_t)l->arg[i].value;
    if (TN_UNLIKELY(tn__cu.fake_call_sites))
        launching = l->label;
    const tn__cu_result r =
        tn__cu.launch_kernel(fn, TN_MAX(g[0], 1U), TN_MAX(g[1], 1U), TN_MAX(g[2], 1U), TN_MAX(n[0], 1U),
                             TN_MAX(n[1], 1U), TN_MAX(n[2], 1U), 0, stream, args, NULL);
    if (TN_UNLIKELY(tn__cu.fake_call_sites))
        launching = NULL;
    return result(r);
}

/* ---- failures ---- */

/* libcuda's own number. */
static tn__cu_result number(tn__gpu_result r)
{
    return r == TN__GPU_NOT_READY       ? TN__CU_NOT_READY
           : r == TN__GPU_OUT_OF_MEMORY ? TN__CU_OUT_OF_MEMORY
           : r == TN__GPU_INVALID_VALUE ? TN__CU_INVALID_VALUE
                                        : (tn__cu_result)r;
}

const char *tn__cuda_text(tn__gpu_result r)
{
    const char *text = NULL;
    if (!tn__cu.get_error_string || tn__cu.get_error_string(number(r), &text) != TN__CU_SUCCESS || !text)
        return "unknown error";
    return text;
}

static bool is_fatal(tn__gpu_result r)
{
    switch (r) {
    case TN__CU_ECC_UNCORRECTABLE:
    case TN__CU_NVLINK_UNCORRECTABLE:
    case TN__CU_CONTAINED:
    case TN__CU_ILLEGAL_ADDRESS:
    case TN__CU_LAUNCH_TIMEOUT:
    case TN__CU_CONTEXT_IS_DESTROYED:
    case TN__CU_ASSERT:
    case TN__CU_HARDWARE_STACK_ERROR:
    case TN__CU_ILLEGAL_INSTRUCTION:
    case TN__CU_MISALIGNED_ADDRESS:
    case TN__CU_INVALID_ADDRESS_SPACE:
    case TN__CU_INVALID_PC:
    case TN__CU_LAUNCH_FAILED:
    case TN__CU_TENSOR_MEMORY_LEAK:
    case TN__CU_MPS_CLIENT_TERMINATED:
    case TN__CU_EXTERNAL_DEVICE:
    case TN__CU_UNKNOWN: return true;
    default: return false;
    }
}

/* ---- what only fake GPUs answer ---- */

void tn__cuda_report(char *text, size_t size)
{
    *text = '\0';
    if (tn__cu.fake_report)
        tn__cu.fake_report(text, size);
}

static tn__gpu_result block_taken(const void *block, size_t bytes)
{
    return tn__cu.fake_block_taken ? result(tn__cu.fake_block_taken(block, bytes)) : TN__GPU_OK;
}

static void block_freed(const void *block, size_t bytes)
{
    if (tn__cu.fake_block_freed)
        tn__cu.fake_block_freed(block, bytes);
}

static bool simulated(void)
{
    return tn__cu.fake_host_access;
}

static tn__gpu_result host_access(const void *memory, size_t bytes, int write)
{
    return tn__cu.fake_host_access ? result(tn__cu.fake_host_access(memory, bytes, write)) : TN__GPU_OK;
}

const tn__gpu_driver tn__cuda_driver = {
    .name = "cuda",
    .label = "CUDA",
    .allocates = "cudaMalloc",
    .visible_variable = "TENON_VISIBLE_DEVICES",
    .limit_variable = "TENON_CUDA_MEMORY_LIMIT",
    .blocking_variable = "CUDA_LAUNCH_BLOCKING",
    .find = tn__cuda_find,
    .why_none = tn__cuda_why_none,
    .describe = tn__cuda_describe,
    .limits = limits,
    .total_memory = total_memory,
    .processes = tn__cuda_processes_of,
    .context_way = context_way,
    .context_retain = context_retain,
    .context_release = context_release,
    .context_reset = context_reset,
    .context_get = context_get,
    .context_set = context_set,
    .context_synchronize = context_synchronize,
    .stream_new = stream_new,
    .stream_destroy = stream_destroy,
    .stream_query = stream_query,
    .stream_synchronize = stream_synchronize,
    .stream_wait_event = stream_wait_event,
    .event_new = event_new,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_query = event_query,
    .event_synchronize = event_synchronize,
    .event_elapsed_time = event_elapsed_time,
    .memory_get = memory_get,
    .memory_put = memory_put,
    .reserve = reserve,
    .unreserve = unreserve,
    .map = map,
    .unmap = unmap,
    .memory_info = memory_info,
    .host_get = host_get,
    .host_put = host_put,
    .host_lock = host_lock,
    .host_unlock = host_unlock,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .copy_within = copy_within,
    .copy_peer = copy_peer,
    .fill = fill,
    .peer_reaches = peer_reaches,
    .peer_enable = peer_enable,
    .target = tn__cuda_target,
    .compile = tn__cuda_compile,
    .load = load,
    .function = function,
    .launch = launch,
    .gemm = tn__cuda_gemm,
    .forget = tn__cublas_forget,
    .text = tn__cuda_text,
    .is_fatal = is_fatal,
    .simulated = simulated,
    .report = tn__cuda_report,
    .block_taken = block_taken,
    .block_freed = block_freed,
    .host_access = host_access,
};
