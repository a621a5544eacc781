/* Text to cubin, with NVRTC.
 *
 * Cached kernels are found by the compiler's version, but finding them must not open the compiler: loading NVRTC takes
 * longer than everything else at a program's start. So the version is kept in the cache too, beside where the library was
 * and its size and time; while that file is unchanged, its version is known without opening it. */
#include "backend/cuda/cuda.h"
#include "backend/gpu/kernel_cache.h"
#include "core/alloc.h"
#include "core/dynlib.h"
#include "core/env.h"
#include "core/error.h"
#include <stdio.h>
#include <sys/stat.h>

/* What follows from a kernel's text also follows from these. Contraction is off, so that families which promise the same
 * bits everywhere keep it, and rows of the list mean what they say; gemm promises neither. */
#define COMMON "-default-device", "--std=c++14"
static const char *const options[2][4] = {{COMMON, "--fmad=false"}, {COMMON, "--fmad=true"}};

static bool contracts(const char *name)
{
    return !strncmp(name, "gemm", strlen("gemm"));
}

/* ---- the compiler's version ---- */

typedef struct compiler {
    int32_t major, minor;
    int64_t size, time; /* of the library's file */
    char path[1024];
} compiler;

static struct {
    pthread_mutex_t lock;
    bool known;
    compiler now;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool stat_compiler(compiler *c)
{
    struct stat s;
    if (stat(c->path, &s))
        return false;
    c->size = (int64_t)s.st_size;
    c->time = (int64_t)s.st_mtime;
    return true;
}

/* Where the loader looks, and what the driver runs, decides which library is meant. */
static tn__cache_key record_key(void)
{
    enum { MOST = 8 };
    char driver[16];
    const char *const loader = tn__env_text("LD_LIBRARY_PATH");
    int version = 0;
    const char *parts[3 + MOST] = {"nvrtc", driver, loader ? loader : ""};
    size_t n = 3;
    tn__cu.driver_get_version(&version);
    snprintf(driver, sizeof driver, "%d", version);
    for (const char *const *name = tn__cuda_search_variables; *name && n < TN_COUNT(parts); name++) {
        const char *v = tn__env_text(*name);
        parts[n++] = v ? v : "";
    }
    return tn__cache_key_of(parts, n);
}

static bool read_record(compiler *c)
{
    const tn__cache_key key = record_key();
    void *data;
    size_t size;
    if (!tn__cache_load(&key, &data, &size))
        return false;
    bool ok = size == sizeof *c;
    if (ok)
        memcpy(c, data, sizeof *c);
    tn__block_put(data, size);
    return ok && memchr(c->path, '\0', sizeof c->path);
}

static tn_status ask_compiler(compiler *c)
{
    const tn__nvrtc_functions *nvrtc = tn__nvrtc();
    void *address;
    int major, minor;
    if (!nvrtc)
        return tn_error_code();
    unsigned r = nvrtc->version(&major, &minor);
    if (r)
        return tn__error(TN_EDEVICE, "nvrtcVersion failed with %u", r);
    *c = (compiler){.major = major, .minor = minor};
    memcpy(&address, &nvrtc->version, sizeof address);
    const char *path = tn__dynlib_path(address);
    snprintf(c->path, sizeof c->path, "%s", path ? path : "");
    stat_compiler(c);
    return TN_OK;
}

static tn_status find_compiler(compiler *c)
{
    compiler old = {0};
    const tn__cache_key key = record_key();
    bool recorded = !tn__cuda_is_fake() && read_record(&old);
    compiler there = old;
    if (recorded && stat_compiler(&there) && there.size == old.size && there.time == old.time) {
        *c = old;
        return TN_OK;
    }
    tn_status e = ask_compiler(c);
    if (!e && !tn__cuda_is_fake())
        tn__cache_store(&key, c, sizeof *c);
    if (e && recorded) { /* gone, but what it made is still good */
        tn_error_clear();
        *c = old;
        e = TN_OK;
    }
    return e;
}

static tn_status compiler_now(compiler *c)
{
    tn_status e = TN_OK;
    pthread_mutex_lock(&state.lock);
    if (!state.known) {
        e = find_compiler(&state.now);
        state.known = !e;
    }
    *c = state.now;
    pthread_mutex_unlock(&state.lock);
    return e;
}

static tn_status capability(tn__gpu_device *dev, int *sm)
{
    int major = 0, minor = 0;
    tn__cu_result r = tn__cu.device_get_attribute(&major, TN__CU_COMPUTE_CAPABILITY_MAJOR, (tn__cu_device)dev->handle);
    if (!r)
        r = tn__cu.device_get_attribute(&minor, TN__CU_COMPUTE_CAPABILITY_MINOR, (tn__cu_device)dev->handle);
    *sm = major * 10 + minor;
    return tn__cuda_check(dev, r, "asking for the compute capability");
}

/* A fake compiler's output depends on its library (its file is named by size and time) and on the C compiler that it
 * finds (likewise: a newer one at the same path is another). */
tn_status tn__cuda_target(tn_device device, char *text, size_t size)
{
    int sm;
    compiler c;
    tn__gpu_device *dev = tn__gpu_use(device);
    if (!dev || capability(dev, &sm) || compiler_now(&c))
        return tn_error_code();
    if (!tn__cuda_is_fake()) {
        snprintf(text, size, "cuda %d.%d sm_%d %s %s %s", (int)c.major, (int)c.minor, sm, options[0][0], options[0][1],
                 options[0][2]);
        return TN_OK;
    }
    uint64_t cc = 0;
    if (tn__cu.fake_compiler)
        tn__cu.fake_compiler(&cc);
    snprintf(text, size, "fake %d.%d %lld.%lld sm_%d %llx", (int)c.major, (int)c.minor, (long long)c.size,
             (long long)c.time, sm, (unsigned long long)cc);
    return TN_OK;
}

/* ---- compiling ---- */

/* What is compiled for: code of an architecture, or PTX, which the driver compiles for a device that this NVRTC is too old
 * to know. */
typedef struct aim {
    int architecture; /* 90; 0 with an error set: there is none */
    bool ptx;
} aim;

/* The device's own architecture, or the nearest lower one of the same major number, whose code runs on the device too; where
 * there is none of these, PTX for the highest that is lower. */
static aim choose_aim(const tn__nvrtc_functions *nvrtc, int sm)
{
    int n = 0, known[128], best = 0, major = 0, minor = 0;
    if (!nvrtc->get_num_supported_archs || !nvrtc->get_supported_archs || nvrtc->get_num_supported_archs(&n) || n < 1 ||
        n > (int)TN_COUNT(known) || nvrtc->get_supported_archs(known))
        return (aim){sm, false};
    for (int i = 0; i < n; i++)
        if (known[i] <= sm && known[i] > best)
            best = known[i];
    nvrtc->version(&major, &minor);
    if (!best)
        tn__error(TN_EDEVICE,
                  "NVRTC %d.%d compiles for sm_%d to sm_%d, not for this GPU's sm_%d: another version of it is needed",
                  major, minor, known[0], known[n - 1], sm);
    return (aim){best, best / 10 != sm / 10};
}

static tn_status compile_error(const tn__nvrtc_functions *nvrtc, tn__nvrtc_program program, const char *name,
                               unsigned r)
{
    size_t n = 0;
    char *log = NULL;
    if (!nvrtc->get_program_log_size(program, &n) && n && (log = tn__block_zero(n + 1)))
        nvrtc->get_program_log(program, log);
    tn_status e = tn__error(TN_EDEVICE, "NVRTC could not compile the kernels %s (error %u):\n%.3000s", name, r,
                            log ? log : "no log");
    tn__block_put(log, n + 1);
    return e;
}

static tn_status take_binary(const tn__nvrtc_functions *nvrtc, tn__nvrtc_program program, bool ptx, void **binary,
                             size_t *size)
{
    unsigned r = (ptx ? nvrtc->get_ptx_size : nvrtc->get_cubin_size)(program, size);
    if (r || !*size)
        return tn__error(TN_EDEVICE, "NVRTC gave no binary (error %u)", r);
    *binary = tn__block_get(*size);
    if (!*binary)
        return tn__error_memory("compiled kernels", *size);
    r = (ptx ? nvrtc->get_ptx : nvrtc->get_cubin)(program, *binary);
    if (!r)
        return TN_OK;
    tn__block_put(*binary, *size);
    return tn__error(TN_EDEVICE, "NVRTC gave no binary (error %u)", r);
}

tn_status tn__cuda_compile(tn_device device, const char *text, const char *name, void **binary, size_t *size)
{
    int sm = 0;
    char architecture[40], file[128];
    tn__nvrtc_program program;
    tn__gpu_device *dev = tn__gpu_use(device);
    const tn__nvrtc_functions *nvrtc = dev && !capability(dev, &sm) ? tn__nvrtc() : NULL;
    const aim to = nvrtc ? choose_aim(nvrtc, sm) : (aim){0, false};
    if (!to.architecture)
        return tn_error_code();
    const char *const *common = options[contracts(name)];
    const char *const all[] = {architecture, common[0], common[1], common[2]};
    snprintf(architecture, sizeof architecture, "--gpu-architecture=%s_%d", to.ptx ? "compute" : "sm", to.architecture);
    snprintf(file, sizeof file, "%s.cu", name);
    unsigned r = nvrtc->create_program(&program, text, file, 0, NULL, NULL);
    if (r)
        return tn__error(TN_EDEVICE, "nvrtcCreateProgram failed with %u for %s", r, name);
    r = nvrtc->compile_program(program, (int)TN_COUNT(all), all);
    tn_status e = r ? compile_error(nvrtc, program, name, r) : take_binary(nvrtc, program, to.ptx, binary, size);
    nvrtc->destroy_program(&program);
    return e;
}
