/* Every unit of every family of kernels, compiled by NVIDIA's compiler, and judged (judge.h). No GPU is needed.
 *
 * Each unit is compiled for the oldest architecture, optimised as little as NVRTC can. Some of each family are compiled as the
 * library does it, for one of the architectures by turns, and judged by ptxas where the toolkit is; for the others they are read:
 * the text is the same for all (it asks for no architecture), so that what a younger one alone refuses shows in some unit of the
 * family. Every kernel of a family, and every elementwise row, is judged in some unit.
 *
 *   TENON_NVRTC_ARCHS=80,90  every unit is judged, for each of these architectures
 *   TENON_NVRTC_FAMILY=copy  this family only
 *   TENON_NVRTC_UNIT=float64 units whose name has that in it only
 *   TENON_NVRTC_TABLE=1      prints the table of docs/gpu-kernels.md; those that are judged are judged for each architecture
 *   TENON_NVRTC_KEEP=folder  writes each unit's text and optimised cubin there, to be looked at (cuobjdump -sass) */
#include "compiler.h"
#include "faulty.h"
#include "judge.h"
#include "own_kernels.h"
#include "table.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 4 };

typedef struct count {
    int units, kernels, failed;
    int judged, spilled, on_stack; /* kernels, once for each architecture */
    double seconds;                /* of the processor */
} count;

/* Of one process. */
typedef struct work {
    const nvrtc *n;
    int archs[MAX_ARCHS], n_archs;
    count count;
    table table;
    uint32_t kernels[TN__FAMILIES]; /* judged: bits, by their order in the family */
    uint8_t rows[TN__ROWS];         /* elementwise rows that are */
} work;

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

static int kernels_in(const char *text)
{
    int n = 0;
    for (const char *p = text; (p = strstr(p, "\nKERNEL")) != NULL; p++)
        n++;
    return n;
}

/* ---- judging ---- */

/* Elementwise units have hundreds of kernels: these have each row together. */
static bool has_rows_of_its_own(const tn__gpu_unit *u)
{
    const uint32_t dtypes = TN__BIT(TN_BOOL) | TN__BIT(TN_I32) | TN__BIT(TN_U32) | TN__BIT(TN_F32);
    if (u->in != u->out)
        return u->in == TN_BOOL && u->out == TN_I64;
    return dtypes >> (u->in ? u->in : u->compute) & 1;
}

/* Programs' own kernels are as they like. */
static bool is_judged(const tn__gpu_unit *u, int32_t i)
{
    if (u->family == TN__FAMILY_own)
        return false;
    if (getenv("TENON_NVRTC_ARCHS"))
        return true;
    return u->family == TN__FAMILY_elementwise ? has_rows_of_its_own(u) : i % 9 == 0;
}

static void note_judged(work *w, const tn__gpu_unit *u, const char *kernel)
{
    size_t n;
    const char *const *names = tn__gpu_family_kernels(u->family, &n);
    for (size_t i = 0; i < n; i++) {
        const size_t length = strlen(kernel), own = strlen(names[i]);
        if (length >= own && !strcmp(kernel + length - own, names[i]))
            w->kernels[u->family] |= 1U << i;
        if (u->family == TN__FAMILY_elementwise && length > own && kernel[length - own - 1] == '_')
            for (tn__op_id op = 0; op < TN__OPS; op++)
                if (strlen(tn__ops[op].name) == length - own - 1 &&
                    !strncmp(tn__ops[op].name, kernel, length - own - 1))
                    w->rows[op] = 1;
    }
}

static bool judge_unit(work *w, const tn__gpu_unit *u, const char *name, const char *text, int arch)
{
    facts *f = calloc(MAX_KERNELS, sizeof *f);
    char why[256];
    size_t size;
    char *ptx = f ? nvrtc_compile(w->n, text, name, arch, PTX, &size) : NULL;
    char *report = ptx && *w->n->ptxas ? ptxas_report(w->n, ptx, name, arch) : NULL;
    const int n = ptx ? judge_read_ptx(ptx, f, MAX_KERNELS) : 0;
    bool ok = n > 0 && (report ? judge_read_report(report, f, n) == n : !*w->n->ptxas);
    for (int i = 0; i < n; i++) {
        w->count.judged++;
        w->count.spilled += f[i].spilled > 0;
        w->count.on_stack += f[i].stack > 0;
        note_judged(w, u, f[i].name);
        table_add(&w->table, u->family, arch, &f[i]);
        if (judge(&f[i], text, judge_wide(u, f[i].name), why, sizeof why))
            continue;
        printf("  %s for sm_%d: kernel '%s': %s\n", name, arch, f[i].name, why);
        ok = false;
    }
    free(report);
    free(ptx);
    free(f);
    return ok;
}

static bool read_unit(work *w, const char *name, const char *text, int arch)
{
    size_t size;
    char *ptx = nvrtc_compile(w->n, text, name, arch, READ_ONLY, &size);
    free(ptx);
    return ptx != NULL;
}

static bool keep_unit(work *w, const char *name, const char *text, int arch)
{
    size_t size;
    char *cubin = nvrtc_compile(w->n, text, name, arch, MACHINE, &size);
    if (cubin)
        keep(name, arch, "cubin", cubin, size);
    free(cubin);
    return cubin != NULL;
}

/* ---- units ---- */

/* One of two passes: first the judged architectures of all units, then the others: after NVRTC has compiled something quickly, it
 * compiles otherwise in that process, whatever it is asked for. */
static bool build(work *w, const tn__gpu_unit *u, int32_t i, bool judging)
{
    const tn__gpu_unit_name name = tn__gpu_unit_str(u);
    const int64_t length = tn__gpu_unit_text(u, NULL, 0);
    char *text = length < 0 ? NULL : malloc((size_t)length + 1);
    bool ok = text && tn__gpu_unit_text(u, text, (size_t)length + 1) == length;
    if (!ok)
        printf("  %s has no text\n", name.s);
    const bool judged = is_judged(u, i), each = getenv("TENON_NVRTC_ARCHS") || getenv("TENON_NVRTC_TABLE");
    for (int k = 0; ok && k < (judged ? w->n_archs : 1); k++) {
        if (judging != (judged && (each || k == i % w->n_archs)))
            continue;
        ok = judging ? judge_unit(w, u, name.s, text, w->archs[k]) : read_unit(w, name.s, text, w->archs[k]);
        if (ok && getenv("TENON_NVRTC_KEEP"))
            ok = keep_unit(w, name.s, text, w->archs[k]);
        w->count.kernels += kernels_in(text);
    }
    if (text)
        keep(name.s, 0, "cu", text, (size_t)length);
    free(text);
    return ok;
}

/* Of this process, and of ptxas. */
static double processor_seconds(void)
{
    double seconds = 0;
    for (int who = 0; who < 2; who++) {
        struct rusage used;
        if (getrusage(who ? RUSAGE_CHILDREN : RUSAGE_SELF, &used) == 0)
            seconds += (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    }
    return seconds;
}

/* Is the unit one of those that were asked for? */
static bool is_wanted(const tn__gpu_unit *u)
{
    const char *family = getenv("TENON_NVRTC_FAMILY"), *part = getenv("TENON_NVRTC_UNIT");
    const tn__gpu_unit_name name = tn__gpu_unit_str(u);
    return (!family || !strcmp(family, tn__gpu_family_name(u->family))) && (!part || strstr(name.s, part));
}

/* Takes every PROCESSES-th unit. */
static void work_on(work *w, int share)
{
    tn__gpu_unit u;
    for (int pass = 0; pass < 2; pass++) {
        int32_t taken = 0;
        for (tn__gpu_family f = 0; f < TN__FAMILIES; f++)
            for (int32_t i = 0; tn__gpu_units_of(f, i, &u); i++) {
                if (!is_wanted(&u) || taken++ % PROCESSES != share)
                    continue;
                w->count.units += pass == 0;
                w->count.failed += !build(w, &u, i, pass == 0);
            }
    }
    w->count.seconds = processor_seconds();
    fflush(stdout);
}

static void merge(work *all, const work *one)
{
    all->count.units += one->count.units;
    all->count.kernels += one->count.kernels;
    all->count.failed += one->count.failed;
    all->count.judged += one->count.judged;
    all->count.spilled += one->count.spilled;
    all->count.on_stack += one->count.on_stack;
    all->count.seconds += one->count.seconds;
    table_merge(&all->table, &one->table);
    for (int f = 0; f < TN__FAMILIES; f++)
        all->kernels[f] |= one->kernels[f];
    for (int op = 0; op < TN__ROWS; op++)
        all->rows[op] |= one->rows[op];
}

/* Is there a kernel, or an elementwise row, that no unit was judged of? Says which. */
static int missed(const work *w)
{
    int n = 0;
    for (tn__gpu_family f = 0; f < TN__FAMILIES; f++) {
        size_t kernels;
        const char *const *names = tn__gpu_family_kernels(f, &kernels);
        for (size_t i = 0; i < kernels && f != TN__FAMILY_own; i++)
            if (!(w->kernels[f] >> i & 1)) {
                printf("  no unit is judged that has the kernel '%s' of %s\n", names[i], tn__gpu_family_name(f));
                n++;
            }
    }
    for (tn__op_id op = 0; op < TN__OPS; op++)
        if (tn__is_elementwise(op) && !w->rows[op]) {
            printf("  no unit is judged that has the row '%s'\n", tn__ops[op].name);
            n++;
        }
    return n;
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

/* All shares, side by side; w: what they found. Returns how many processes were lost. */
static int work_on_all(work *w)
{
    FILE *results[PROCESSES];
    pid_t workers[PROCESSES];
    const work empty = *w;
    int lost = 0;
    work *one = malloc(sizeof *one);
    for (int i = 0; i < PROCESSES; i++) {
        results[i] = tmpfile();
        workers[i] = results[i] ? fork() : -1;
        if (workers[i] == 0) {
            work_on(w, i);
            _exit(fwrite(w, sizeof *w, 1, results[i]) == 1 && fflush(results[i]) == 0 ? 0 : 1);
        }
    }
    *w = empty;
    for (int i = 0, status = 0; i < PROCESSES; i++) {
        const bool ok = workers[i] > 0 && waitpid(workers[i], &status, 0) == workers[i] && status == 0;
        if (ok)
            rewind(results[i]);
        if (one && ok && fread(one, sizeof *one, 1, results[i]) == 1)
            merge(w, one);
        else
            lost++;
        if (results[i])
            fclose(results[i]);
    }
    free(one);
    return lost;
}

int main(void)
{
    static nvrtc n;
    static work w;
    int faults = 0;
    if (!nvrtc_open(&n)) {
        printf("skipped: no NVRTC: libnvrtc.so of CUDA 11.8 or later\n");
        return 77;
    }
    w.n = &n;
    w.n_archs = nvrtc_archs(&n, w.archs);
    if (!register_own() || !register_cuda())
        return 1;
    if (!w.n_archs) {
        printf("skipped: NVRTC %d.%d knows none of sm_75, sm_80, sm_90\n", n.major, n.minor);
        return 77;
    }
    if (!*n.ptxas)
        printf("skipped: registers, spills and stacks: no ptxas in TENON_CUDA_PATH, PATH, /usr/local/cuda*/bin\n");
    const int lost = work_on_all(&w), wrong = faulty_kernels(&n, w.archs[0], &faults);
    const bool some = getenv("TENON_NVRTC_FAMILY") || getenv("TENON_NVRTC_UNIT");
    const int unseen = some ? 0 : missed(&w);
    const bool holds = !*n.ptxas || getenv("TENON_NVRTC_TABLE") || table_holds(&w.table, &n);
    if (getenv("TENON_NVRTC_TABLE"))
        table_print(&w.table, &n);
    printf("count: %d kernels of %d units compile with NVRTC %d.%d for %d architectures in %.0f s of the processor, %d "
           "are "
           "judged: %d spill, %d have a stack; %d faults of %d are found; %d units fail%s\n",
           w.count.kernels, w.count.units, n.major, n.minor, w.n_archs, w.count.seconds, w.count.judged,
           w.count.spilled, w.count.on_stack, faults - wrong, faults, w.count.failed,
           lost ? ", a process was lost" : "");
    return w.count.failed || lost || wrong || unseen || !holds || !w.count.units ? 1 : 0;
}
