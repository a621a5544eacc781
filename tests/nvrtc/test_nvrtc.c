/* Every unit of every family of kernels, compiled by NVIDIA's compiler. No GPU is needed. Each is compiled for the oldest
 * architecture, every ninth of a family for the younger ones, too: the text is the same for all (it asks for no
 * architecture), so that what a younger one alone refuses shows in some unit of the family, at half of the time. Every ninth
 * becomes machine code, optimised as the library asks for; the others PTX, optimised as little as NVRTC can: it refuses the same,
 * in a sixth of the time.
 *
 *   TENON_NVRTC_ARCHS=80,90  every unit for these architectures, optimised
 *   TENON_NVRTC_FAMILY=copy  for this family only
 *   TENON_NVRTC_KEEP=folder  writes each unit's text and optimised cubin there, to be looked at (cuobjdump -sass) */
#include "abi/abi.h"
#include "own_kernels.h"
#include "backend/gpu/gpu.h"
#include "core/dynlib.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROCESSES = 4, MAX_ARCHS = 8 };

#define FN(name, symbol, older, parameters)       unsigned(*name) parameters;
#define OPTIONAL(name, symbol, older, parameters) unsigned(*name) parameters;
typedef struct nvrtc {
#include "abi/nvrtc.def"
    bool knows_quick; /* --Ofast-compile */
} nvrtc;

typedef struct count {
    int units, kernels, failed, machine; /* of the units: to machine code */
    double seconds;                      /* of the processor */
} count;

static bool open_nvrtc(nvrtc *n)
{
    static const char *const libraries[] = {"libnvrtc.so.13",
                                            "libnvrtc.so.12",
                                            "libnvrtc.so.11.2",
                                            "libnvrtc.so",
                                            "/usr/local/cuda/lib64/libnvrtc.so",
                                            NULL};
    static const char *const names[] = {
#define FN(name, symbol, older, parameters)       #symbol,
#define OPTIONAL(name, symbol, older, parameters) #symbol,
#include "abi/nvrtc.def"
    };
    void *slots[TN_COUNT(names)];
    void *lib = tn__dynlib_open(libraries, NULL, NULL);
    if (!lib || !tn__dynlib_symbols(lib, names, slots, TN_COUNT(names)))
        return false;
    memcpy(n, slots, sizeof slots);
    return true;
}

/* Those of 75, 80, 90 (or of TENON_NVRTC_ARCHS) that this NVRTC knows. */
static int choose_archs(const nvrtc *n, int *archs)
{
    int wanted[MAX_ARCHS] = {75, 80, 90}, known[64], n_wanted = 3, n_known = 0, chosen = 0;
    const char *only = getenv("TENON_NVRTC_ARCHS");
    if (only) {
        n_wanted = 0;
        for (char *end; *only && n_wanted < MAX_ARCHS; only = *end ? end + 1 : end)
            wanted[n_wanted++] = (int)strtol(only, &end, 10);
    }
    if (n->get_num_supported_archs(&n_known) || n_known > (int)TN_COUNT(known) || n->get_supported_archs(known))
        return 0;
    for (int i = 0; i < n_wanted; i++)
        for (int k = 0; k < n_known; k++)
            if (wanted[i] == known[k])
                archs[chosen++] = wanted[i];
    return chosen;
}

static void keep(const char *name, int arch, const char *what, const void *bytes, size_t size)
{
    char path[512];
    if (!getenv("TENON_NVRTC_KEEP"))
        return;
    snprintf(path, sizeof path, "%s/%s.sm_%d.%s", getenv("TENON_NVRTC_KEEP"), name, arch, what);
    FILE *f = fopen(path, "wb");
    if (f) {
        fwrite(bytes, 1, size, f);
        fclose(f);
    }
}

/* machine: to machine code, not to PTX alone */
static bool compile(const nvrtc *n, const char *text, const char *name, int arch, bool machine, bool optimised)
{
    tn__nvrtc_program program = NULL;
    char option[32];
    size_t size = 0;
    snprintf(option, sizeof option, "--gpu-architecture=%s_%d", machine ? "sm" : "compute", arch);
    const char *options[] = {option, "--fmad=false", "--Ofast-compile=max"};
    const int n_options = (int)TN_COUNT(options) - optimised;
    if (n->create_program(&program, text, name, 0, NULL, NULL))
        return false;
    const bool ok = n->compile_program(program, n_options, options) == 0;
    if (!ok && !n->get_program_log_size(program, &size)) {
        char *log = calloc(1, size + 1);
        n->get_program_log(program, log);
        printf("  %s for sm_%d does not compile:\n%.4000s\n", name, arch, log);
        free(log);
    } else if (machine && !n->get_cubin_size(program, &size)) {
        char *cubin = malloc(size);
        n->get_cubin(program, cubin);
        keep(name, arch, "cubin", cubin, size);
        free(cubin);
    }
    n->destroy_program(&program);
    return ok;
}

static int kernels_in(const char *text)
{
    int n = 0;
    for (const char *p = text; (p = strstr(p, "\nKERNEL")) != NULL; p++)
        n++;
    return n;
}

/* Is unit i of its family compiled for each architecture, and optimised for the first? */
static bool is_thorough(int32_t i)
{
    return i % 9 == 0 || getenv("TENON_NVRTC_ARCHS"); /* 9: so that each process has some */
}

static bool build(const nvrtc *n, const tn__gpu_unit *u, int32_t i, const int *archs, int n_archs, count *c)
{
    const tn__gpu_unit_name name = tn__gpu_unit_str(u);
    const int64_t length = tn__gpu_unit_text(u, NULL, 0);
    char *text = length < 0 ? NULL : malloc((size_t)length + 1);
    bool ok = text && tn__gpu_unit_text(u, text, (size_t)length + 1) == length;
    if (!ok)
        printf("  %s has no text\n", name.s);
    const bool thorough = is_thorough(i), all = getenv("TENON_NVRTC_ARCHS") || getenv("TENON_NVRTC_KEEP");
    c->machine += thorough || all;
    for (int k = 0; ok && k < (thorough ? n_archs : 1); k++) {
        ok = compile(n, text, name.s, archs[k], thorough || all, all || !n->knows_quick || (thorough && k == 0));
        c->kernels += kernels_in(text);
    }
    if (text)
        keep(name.s, 0, "cu", text, (size_t)length);
    free(text);
    return ok;
}

/* Takes every PROCESSES-th unit. */
static count work(const nvrtc *n, const int *archs, int n_archs, int share)
{
    count c = {0};
    tn__gpu_unit u;
    const char *only = getenv("TENON_NVRTC_FAMILY");
    for (tn__gpu_family f = 0; f < TN__FAMILIES; f++)
        for (int32_t i = 0; tn__gpu_units_of(f, i, &u); i++) {
            if (i % PROCESSES != share || (only && strcmp(only, tn__gpu_family_name(f)) != 0))
                continue;
            c.units++;
            c.failed += !build(n, &u, i, archs, n_archs, &c);
        }
    c.seconds = (double)clock() / CLOCKS_PER_SEC;
    fflush(stdout);
    return c;
}

/* CUDA C is taken as it is: what the dialect's words become is in its way nowhere. */
static bool register_cuda(void)
{
    static const tn_op_def doubled = {
        .struct_size = sizeof doubled,
        .name = "test::doubled",
        .inputs = 1,
        .dtypes = TN_OP_DTYPE(TN_F32),
        .kernel =
            "extern \"C\" __global__ void doubled(float *out, const float *x, long long n)\n"
            "{\n"
            "    __shared__ float part[128];\n"
            "    for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {\n"
            "        part[threadIdx.x] = __ldg(x + i);\n"
            "        out[i] = 2 * part[threadIdx.x];\n"
            "    }\n"
            "}\n"};
    return tn_op_register(&doubled);
}

int main(void)
{
    nvrtc n;
    int archs[MAX_ARCHS], pipes[2], major = 0, minor = 0, broken = 0;
    count total = {0}, one;
    if (!open_nvrtc(&n)) {
        printf("skipped: no NVRTC: libnvrtc.so of CUDA 11.8 or later\n");
        return 77;
    }
    n.version(&major, &minor);
    n.knows_quick = major >= 13;
    const int n_archs = choose_archs(&n, archs);
    if (!register_own() || !register_cuda())
        return 1;
    if (!n_archs || pipe(pipes)) {
        printf("skipped: NVRTC %d.%d knows none of sm_75, sm_80, sm_90\n", major, minor);
        return 77;
    }
    pid_t workers[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        workers[i] = fork();
        if (workers[i] == 0) {
            one = work(&n, archs, n_archs, i);
            _exit(write(pipes[1], &one, sizeof one) == sizeof one ? 0 : 1);
        }
    }
    for (int i = 0, status = 0; i < PROCESSES; i++)
        broken += workers[i] < 0 || waitpid(workers[i], &status, 0) < 0 || status != 0;
    for (int i = broken; i < PROCESSES && read(pipes[0], &one, sizeof one) == sizeof one; i++) {
        total.units += one.units;
        total.kernels += one.kernels;
        total.failed += one.failed;
        total.machine += one.machine;
        total.seconds += one.seconds;
    }
    printf("count: %d kernels of %d units compile with NVRTC %d.%d for %d architectures (%d units to machine code) in "
           "%.0f s "
           "of the "
           "processor, %d units fail%s\n",
           total.kernels, total.units, major, minor, n_archs, total.machine, total.seconds, total.failed,
           broken ? ", a process was lost" : "");
    return total.failed || broken || !total.units ? 1 : 0;
}
