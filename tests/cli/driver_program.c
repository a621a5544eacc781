/* A program that knows nothing of Tenon: it asks CUDA's driver and NVRTC by the names that NVIDIA gave them, through dlopen, as
 * programs do that are to start where there is no driver. What it declares is from NVIDIA's published references.
 *
 *     driver_program NAME   runs the part of that name: prints what came out, and ends with 0 if that was right */
#include <dlfcn.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long pointer;
typedef struct stream *stream;
typedef void *handle;

/* clang-format off */
#define DRIVER(F) \
    F(Init, (unsigned)) F(DeviceGet, (int *, int)) F(CtxCreate, (handle *, void *, unsigned, int)) F(CtxDestroy, (handle)) \
    F(CtxSynchronize, (void)) F(CtxGetCurrent, (handle *)) F(CtxPushCurrent, (handle)) F(CtxPopCurrent, (handle *)) \
    F(CtxGetDevice, (int *)) F(MemAlloc, (pointer *, size_t)) F(MemFree, (pointer)) \
    F(MemcpyHtoD, (pointer, const void *, size_t)) F(MemcpyDtoH, (void *, pointer, size_t)) \
    F(MemcpyDtoHAsync, (void *, pointer, size_t, stream)) F(Memcpy, (pointer, pointer, size_t)) F(Memcpy2D, (const void *)) \
    F(MemsetD32, (pointer, unsigned, size_t)) F(MemsetD16, (pointer, unsigned short, size_t)) \
    F(MemsetD2D8, (pointer, size_t, unsigned char, size_t, size_t)) F(MemAllocHost, (void **, size_t)) \
    F(MemFreeHost, (void *)) F(MemAllocPitch, (pointer *, size_t *, size_t, size_t, unsigned)) \
    F(MemGetAddressRange, (pointer *, size_t *, pointer)) F(PointerGetAttribute, (void *, unsigned, pointer)) \
    F(PointerGetAttributes, (unsigned, unsigned *, void **, pointer)) F(MemAllocAsync, (pointer *, size_t, stream)) \
    F(MemFreeAsync, (pointer, stream)) F(StreamCreate, (stream *, unsigned)) F(StreamSynchronize, (stream)) \
    F(StreamDestroy, (stream)) F(StreamWaitEvent, (stream, handle, unsigned)) F(StreamGetFlags, (stream, unsigned *)) \
    F(EventCreate, (handle *, unsigned)) F(EventRecord, (handle, stream)) \
    F(LaunchHostFunc, (stream, void (*)(void *), void *)) F(ModuleLoadData, (handle *, const void *)) \
    F(ModuleLoadDataEx, (handle *, const void *, unsigned, unsigned *, void **)) F(ModuleUnload, (handle)) \
    F(ModuleGetFunction, (handle *, handle, const char *)) F(ModuleGetGlobal, (pointer *, size_t *, handle, const char *)) \
    F(FuncGetAttribute, (int *, unsigned, handle)) \
    F(OccupancyMaxPotentialBlockSize, (int *, int *, handle, size_t (*)(int), size_t, int)) \
    F(LaunchKernel, (handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, stream, void **, void **))

#define NVRTC(F) \
    F(CreateProgram, (handle *, const char *, const char *, int, const char *const *, const char *const *)) \
    F(AddNameExpression, (handle, const char *)) F(CompileProgram, (handle, int, const char *const *)) \
    F(GetProgramLogSize, (handle, size_t *)) F(GetProgramLog, (handle, char *)) F(GetPTXSize, (handle, size_t *)) \
    F(GetPTX, (handle, char *)) F(GetLoweredName, (handle, const char *, const char **)) F(DestroyProgram, (handle *))
/* clang-format on */

#define DECLARE(name, parameters) unsigned(*name) parameters;
static struct {
    DRIVER(DECLARE)
} cu;
static struct {
    NVRTC(DECLARE)
} rtc;

static const char *at = "";

/* Ends the program with what failed; the status is the driver's result. */
static void check(unsigned r, const char *call)
{
    if (!r)
        return;
    fprintf(stderr, "%s: %s gives %u\n", at, call, r);
    exit(r < 100 ? 1 : 3);
}
#define OK(call)        check((call), #call)
#define GIVES(r_, call) check((call) == (r_) ? 0 : 99, #call " is not " #r_)
#define IS(condition)   check(!(condition), #condition)

static void open_libraries(void)
{
    unsigned (*get)(const char *, void **, int, uint64_t, unsigned *);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *nvrtc = dlopen("libnvrtc.so.12", RTLD_NOW);
    IS(driver && nvrtc);
    *(void **)&get = dlsym(driver, "cuGetProcAddress_v2");
    IS(get);
#define GET(name, parameters) \
    OK(get("cu" #name, (void **)&cu.name, 13000, 0, NULL)); \
    IS(cu.name);
    DRIVER(GET)
#define LOOK(name, parameters) \
    *(void **)&rtc.name = dlsym(nvrtc, "nvrtc" #name); \
    IS(rtc.name);
    NVRTC(LOOK)
    void *none;
    unsigned status;
    OK(get("cuNobodyKnowsThis", &none, 13000, 0, &status));
    IS(!none && status == 1);
    OK(get("cuCtxCreate", &none, 2000, 0, &status)); /* an age in which there was none yet */
    IS(!none && status == 2);
}

/* ---- compiling ---- */

static char log_text[8192];

/* The module, or NULL with the log. 'name': an expression whose lowered name is asked for. */
static handle compile(const char *text, const char *expression, const char **lowered)
{
    static const char *const options[] = {"--gpu-architecture=compute_90", "-std=c++17", "--use_fast_math", "-DTWO=2"};
    static handle p; /* a lowered name lives as long */
    handle module;
    size_t n;
    OK(rtc.CreateProgram(&p, text, "kernels.cu", 0, NULL, NULL));
    if (expression)
        OK(rtc.AddNameExpression(p, expression));
    const unsigned r = rtc.CompileProgram(p, 4, options);
    OK(rtc.GetProgramLogSize(p, &n));
    IS(n <= sizeof log_text);
    OK(rtc.GetProgramLog(p, log_text));
    if (r)
        return NULL;
    OK(rtc.GetPTXSize(p, &n));
    char *ptx = malloc(n);
    IS(ptx);
    OK(rtc.GetPTX(p, ptx));
    IS(strlen(ptx) + 1 == n && strstr(ptx, ".version"));
    if (lowered)
        OK(rtc.GetLoweredName(p, expression, lowered));
    OK(cu.ModuleLoadData(&module, ptx));
    free(ptx);
    return module;
}

static handle function(handle module, const char *name)
{
    handle f;
    OK(cu.ModuleGetFunction(&f, module, name));
    return f;
}

static pointer device_floats(const float *values, size_t n)
{
    pointer p;
    OK(cu.MemAlloc(&p, n * sizeof(float)));
    if (values)
        OK(cu.MemcpyHtoD(p, values, n * sizeof(float)));
    else
        OK(cu.MemsetD32(p, 0, n));
    return p;
}

static handle begin(void)
{
    handle context;
    int device;
    OK(cu.Init(0));
    OK(cu.DeviceGet(&device, 0));
    OK(cu.CtxCreate(&context, NULL, 0, device));
    return context;
}

/* ---- parts ---- */

enum { N = 1000 };
static float a[N], b[N], c[N];

static void fill(void)
{
    for (int i = 0; i < N; i++) {
        a[i] = (float)i;
        b[i] = (float)(2 * i + 1);
    }
}

static const char adding[] = "extern \"C\" __global__ void add(const float *a, const float *b, float *c, int n)\n"
                             "{\n"
                             "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "    if (i < n)\n"
                             "        c[i] = a[i] + b[i];\n"
                             "}\n"
                             "extern \"C\" __global__ void twice(float *c, int n)\n"
                             "{\n"
                             "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "    if (i < n)\n"
                             "        c[i] *= TWO;\n"
                             "}\n";

/* One stream adds, the other doubles: an event has to lie between them. */
static int vector_add(int ordered)
{
    stream first, second;
    handle event, context = begin(), module = compile(adding, NULL, NULL);
    IS(module);
    const handle add = function(module, "add"), twice = function(module, "twice");
    pointer da = device_floats(a, N), db = device_floats(b, N), dc = device_floats(NULL, N);
    int n = N;
    void *adds[] = {&da, &db, &dc, &n}, *doubles[] = {&dc, &n};
    OK(cu.CtxSynchronize());
    OK(cu.StreamCreate(&first, 1));
    OK(cu.StreamCreate(&second, 1));
    OK(cu.EventCreate(&event, 0));
    at = "add";
    OK(cu.LaunchKernel(add, (N + 127) / 128, 1, 1, 128, 1, 1, 0, first, adds, NULL));
    if (ordered) {
        OK(cu.EventRecord(event, first));
        OK(cu.StreamWaitEvent(second, event, 0));
    }
    at = "twice";
    OK(cu.LaunchKernel(twice, (N + 127) / 128, 1, 1, 128, 1, 1, 0, second, doubles, NULL));
    OK(cu.MemcpyDtoHAsync(c, dc, sizeof c, second));
    OK(cu.StreamSynchronize(second));
    for (int i = 0; i < N; i++)
        IS(c[i] == 2 * (a[i] + b[i]));
    OK(cu.ModuleUnload(module));
    OK(cu.CtxDestroy(context));
    printf("2 * (a + b) of %d\n", N);
    return 0;
}

static int run_ordered(void)
{
    return vector_add(1);
}

static int run_forgotten(void)
{
    return vector_add(0);
}

/* What is asked of the language: templates, classes, shared memory of both kinds, barriers, shuffles, votes, atomics,
 * constants. */
static const char language[] =
    "namespace mine { template <typename T, int BY> __global__ void scale(T *x, int n) {\n"
    "    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] = x[i] * BY; } "
    "}\n"
    "template <class T> struct sum { T v = 0; __device__ void operator()(T x) { v += x; } };\n"
    "__constant__ float weight[2];\n"
    "__device__ int calls;\n"
    "extern __shared__ float parts[];\n"
    "extern \"C\" __global__ void __launch_bounds__(128) reduce(const float *x, float *out, int n) {\n"
    "    __shared__ int most[1];\n"
    "    sum<float> s;\n"
    "    if (threadIdx.x == 0) most[0] = -1;\n"
    "    __syncthreads();\n"
    "    for (int i = threadIdx.x; i < n; i += blockDim.x) { s(x[i] * weight[i & 1]); atomicMax(&most[0], i); }\n"
    "    float v = s.v;\n"
    "    for (int d = 16; d; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);\n"
    "    if ((threadIdx.x & 31) == 0) parts[threadIdx.x / 32] = v;\n"
    "    const unsigned odd = __ballot_sync(0xffffffffu, threadIdx.x & 1);\n"
    "    if (__syncthreads_count(odd == 0xaaaaaaaau) == blockDim.x && threadIdx.x < 4) {\n"
    "        v = parts[threadIdx.x];\n"
    "        v += __shfl_xor_sync(0xfu, v, 1, 4);\n"
    "        v += __shfl_xor_sync(0xfu, v, 2, 4);\n"
    "        if (threadIdx.x == 0) { out[0] = v; out[1] = most[0]; atomicAdd(&out[2], sqrtf(4.0f)); atomicAdd(&calls, "
    "1); }\n"
    "    }\n"
    "}\n"
    "struct pair { float *to; float by; };\n"
    "extern \"C\" __global__ void through(pair p, int n) { if (threadIdx.x < n) p.to[threadIdx.x] = p.by; }\n";

static int run_language(void)
{
    const char *name;
    const float weights[2] = {1, -1};
    handle context = begin(), module = compile(language, "mine::scale<float, 3>", &name);
    if (!module)
        fprintf(stderr, "%s", log_text);
    IS(module);
    pointer x = device_floats(a, N), out = device_floats(NULL, 3), weight, calls;
    size_t bytes;
    int n = N, count = 0;
    void *scales[] = {&x, &n}, *reduces[] = {&x, &out, &n};
    OK(cu.ModuleGetGlobal(&weight, &bytes, module, "weight"));
    IS(bytes == sizeof weights);
    OK(cu.MemcpyHtoD(weight, weights, sizeof weights));
    OK(cu.LaunchKernel(function(module, name), 4, 1, 1, 64, 1, 1, 0, NULL, scales, NULL));
    OK(cu.LaunchKernel(function(module, "reduce"), 1, 1, 1, 128, 1, 1, 4 * sizeof(float), NULL, reduces, NULL));
    float got[3];
    OK(cu.MemcpyDtoH(got, out, sizeof got));
    IS(got[0] == -3.0f * N / 2 && got[1] == N - 1 && got[2] == 2); /* 3 * (0 - 1 + 2 - 3 ...) */
    OK(cu.ModuleGetGlobal(&calls, NULL, module, "calls"));
    OK(cu.MemcpyDtoH(&count, calls, sizeof count));
    IS(count == 1);
    struct {
        pointer to;
        float by;
    } p = {x, 7};
    struct {
        char pair[16];
        int n;
    } packed = {.n = 3};
    memcpy(packed.pair, &p, sizeof p);
    size_t size = sizeof packed;
    void *extra[] = {(void *)1, &packed, (void *)2, &size, NULL}; /* as one buffer: pointer, size, end */
    OK(cu.LaunchKernel(function(module, "through"), 1, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
    OK(cu.MemcpyDtoH(got, x + sizeof(float), sizeof got));
    IS(got[0] == 7 && got[1] == 7 && got[2] == 9);
    handle none; /* C++ has other names for its functions */
    GIVES(500, cu.ModuleGetFunction(&none, module, "scale"));
    OK(cu.CtxDestroy(context));
    printf("language\n");
    return 0;
}

/* A kernel that runs, or a text that is refused: what is said of it is the caller's to read. */
static int launch_one(const char *text, unsigned threads, unsigned shared)
{
    begin();
    handle module = compile(text, NULL, NULL);
    if (!module) {
        printf("%s", log_text);
        return 4;
    }
    pointer x = device_floats(a, N);
    void *arguments[] = {&x};
    const unsigned r = cu.LaunchKernel(function(module, "k"), 1, 1, 1, threads, 1, 1, shared, NULL, arguments, NULL);
    const unsigned then = cu.CtxSynchronize();
    printf("launch %u, then %u\n", r, then);
    return r || then ? 3 : 0;
}

#define KERNEL_OF(parameters, body) "extern \"C\" __global__ void k(" parameters ")\n{\n" body "\n}\n"
#define ONE(name, parameters, body, threads, shared) \
    static int run_##name(void) \
    { \
        return launch_one(KERNEL_OF(parameters, body), threads, shared); \
    }
ONE(syntax, "float *x", "    x[0] = 1;\n    x[1] = nobody;", 1, 0)
ONE(asm, "float *x", "    asm volatile(\"membar.gl;\");", 1, 0)
ONE(texture, "float *x, cudaTextureObject_t t", "    x[0] = 1;", 1, 0)
ONE(nested, "float **x", "    x[0][0] = 1;", 1, 0)
ONE(divergent, "float *x", "    if (threadIdx.x < 5) __syncthreads();\n    x[threadIdx.x] = 1;\n    __syncthreads();",
    64, 0)
ONE(lonely, "float *x", "    if (threadIdx.x < 5) x[0] = __shfl_sync(0xffffffffu, x[1], 0);\n    __syncthreads();", 64,
    0)
ONE(early, "float *x",
    "    if (threadIdx.x >= 40) return;\n    __syncthreads();\n    __syncwarp();\n    x[threadIdx.x] = 1;", 64, 0)
ONE(overrun, "float *x", "    extern __shared__ float s[];\n    s[threadIdx.x] = x[0];", 64, 63 * 4)
ONE(fine, "float *x", "    extern __shared__ float s[];\n    s[threadIdx.x] = x[0];", 64, 64 * 4)
ONE(assertion, "float *x", "    assert(x[1] == 2);", 1, 0)

static int run_ptx(void)
{
    static const char ptx[] =
        "// by hand\n.version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n";
    char log[256] = "";
    unsigned options[] = {5, 6};
    void *values[] = {log, (void *)sizeof log};
    handle module;
    begin();
    const unsigned r = cu.ModuleLoadDataEx(&module, ptx, 2, options, values);
    printf("%u: %s\n", r, log);
    GIVES(209, cu.ModuleLoadData(&module, "\x7f"
                                          "ELF\x02\x01\x01 and so on, which is enough to know a cubin by"));
    return r ? 3 : 0;
}

/* ---- the driver's own functions ---- */

static void copies(void)
{
    at = "copies";
    pointer p, q;
    size_t pitch;
    unsigned char rows[3][8], back[3][8];
    OK(cu.MemAllocPitch(&p, &pitch, 8, 3, 4));
    IS(pitch >= 8);
    OK(cu.MemsetD2D8(p, pitch, 5, 8, 3));
    memset(rows, 9, sizeof rows);
    struct {
        size_t from_x, from_y;
        unsigned from_type;
        const void *from_host;
        pointer from_device;
        void *from_array;
        size_t from_pitch, to_x, to_y;
        unsigned to_type;
        void *to_host;
        pointer to_device;
        void *to_array;
        size_t to_pitch, width, height;
    } m = {.from_type = 1,
           .from_host = rows,
           .from_pitch = 8,
           .to_x = 2,
           .to_y = 1,
           .to_type = 2,
           .to_device = p,
           .to_pitch = pitch,
           .width = 3,
           .height = 2};
    OK(cu.Memcpy2D(&m)); /* into the middle */
    for (int y = 0; y < 3; y++)
        OK(cu.Memcpy((pointer)(uintptr_t)back[y], p + (size_t)y * pitch, 8));
    for (int y = 0; y < 3; y++)
        for (int x = 0; x < 8; x++)
            IS(back[y][x] == (y >= 1 && x >= 2 && x < 5 ? 9 : 5));
    m.to_pitch = 1;
    GIVES(1, cu.Memcpy2D(&m));
    OK(cu.MemAlloc(&q, 100));
    OK(cu.MemsetD16(q, 0x1234, 50));
    unsigned short words[50];
    OK(cu.MemcpyDtoH(words, q, 100));
    IS(words[0] == 0x1234 && words[49] == 0x1234);
    GIVES(1, cu.MemsetD16(q + 1, 0, 1));
    GIVES(1, cu.MemsetD32(q, 0, 26));
    OK(cu.MemFree(q));
    OK(cu.MemFree(p));
}

static void addresses(void)
{
    at = "addresses";
    pointer q, base;
    size_t bytes;
    char words[8];
    OK(cu.MemAlloc(&q, 100));
    OK(cu.MemGetAddressRange(&base, &bytes, q + 50));
    IS(base == q && bytes == 100);
    unsigned type = 0, what[] = {2, 9, 4};
    int ordinal = -1;
    void *host = &ordinal, *values[] = {&type, &ordinal, &host};
    OK(cu.PointerGetAttributes(3, what, values, q));
    IS(type == 2 && ordinal == 0 && !host);
    OK(cu.PointerGetAttributes(3, what, values, (pointer)(uintptr_t)words)); /* nobody's */
    IS(type == 0 && ordinal == -2);
    GIVES(1, cu.PointerGetAttribute(&type, 2, (pointer)(uintptr_t)words));
    OK(cu.MemAllocHost(&host, 64));
    OK(cu.PointerGetAttribute(&type, 2, (pointer)(uintptr_t)host));
    IS(type == 1);
    OK(cu.MemFreeHost(host));
    OK(cu.MemFree(q));
}

static void contexts(handle own)
{
    at = "contexts";
    handle now, popped;
    int device = -1;
    OK(cu.CtxGetDevice(&device));
    IS(device == 0);
    OK(cu.CtxPushCurrent(own));
    OK(cu.CtxPopCurrent(&popped));
    IS(popped == own);
    OK(cu.CtxPopCurrent(&popped));
    OK(cu.CtxGetCurrent(&now));
    IS(!now);
    GIVES(201, cu.CtxPopCurrent(&popped));
    GIVES(201, cu.CtxSynchronize());
    OK(cu.CtxPushCurrent(own));
}

static unsigned within; /* what the driver gave to a function that a stream called */

static void call_back(void *arg)
{
    *(int *)arg += 1;
    within = cu.CtxSynchronize();
}

static void streams(void)
{
    at = "streams";
    stream one, two;
    handle event;
    pointer p;
    unsigned flags;
    int calls = 0;
    OK(cu.StreamCreate(&one, 1));
    OK(cu.StreamCreate(&two, 1));
    OK(cu.EventCreate(&event, 0));
    OK(cu.StreamGetFlags(one, &flags));
    IS(flags == 1);
    OK(cu.LaunchHostFunc(one, call_back, &calls));
    OK(cu.LaunchHostFunc(one, call_back, &calls));
    OK(cu.StreamSynchronize(one));
    IS(calls == 2 && within == 800); /* not permitted there */
    at = "memory in a stream's order";
    float x;
    OK(cu.MemAllocAsync(&p, 4096, one));
    GIVES(401, cu.MemcpyDtoHAsync(&x, p, sizeof x, two)); /* nothing says that it is there yet */
    OK(cu.EventRecord(event, one));
    OK(cu.StreamWaitEvent(two, event, 0));
    OK(cu.MemcpyDtoHAsync(&x, p, sizeof x, two));
    IS(x != x); /* nobody wrote it */
    OK(cu.MemFreeAsync(p, two));
    GIVES(1, cu.MemcpyDtoHAsync(&x, p, sizeof x, two)); /* and now it is gone */
    OK(cu.StreamSynchronize(two));
    OK(cu.StreamDestroy(one));
    OK(cu.StreamDestroy(two));
}

static int run_driver(void)
{
    handle context = begin(), module;
    copies();
    addresses();
    contexts(context);
    streams();
    at = "functions";
    module = compile(adding, NULL, NULL);
    const handle add = function(module, "add");
    int most, blocks, size;
    OK(cu.FuncGetAttribute(&most, 0, add));
    OK(cu.OccupancyMaxPotentialBlockSize(&blocks, &size, add, NULL, 0, 100));
    IS(most == 1024 && size >= 1 && size <= 100 && blocks > 0);
    OK(cu.CtxDestroy(context));
    GIVES(201, cu.CtxDestroy(context));
    printf("driver\n");
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } parts[] = {{"ordered", run_ordered},
                 {"forgotten", run_forgotten},
                 {"language", run_language},
                 {"driver", run_driver},
                 {"ptx", run_ptx},
                 {"syntax", run_syntax},
                 {"asm", run_asm},
                 {"texture", run_texture},
                 {"nested", run_nested},
                 {"divergent", run_divergent},
                 {"lonely", run_lonely},
                 {"early", run_early},
                 {"overrun", run_overrun},
                 {"fine", run_fine},
                 {"assertion", run_assertion}};
    fill();
    open_libraries();
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (argc > 1 && !strcmp(argv[1], parts[i].name))
            return parts[i].run();
    return 2;
}
