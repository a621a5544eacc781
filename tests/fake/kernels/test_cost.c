/* What usual calls cost, counted at the doors that every operation passes: kernels that the CPU's backend runs and what a GPU
 * is asked to launch, copy or fill, and the bytes of their operands. tests/data/cost.txt has the counts, which are exact; whoever
 * makes one less writes it anew: scripts/bench cost list > tests/data/cost.txt. 'list' prints it, 'table' prints Markdown.
 *
 * The linker gives the library this file's list of backends (--wrap), whose functions count and call the real ones. What a
 * kernel does inside, on the CPU, is not seen: it counts as one pass, with each of its operands once, whole; what a structural
 * row writes in place counts as written (copy_, fill_, scatter_). */
#include "backend/cpu/cpu.h"
#include "backend/cuda/cuda.h"
#include "backend/gpu/driver.h"
#include "backend/gpu/gpu.h"
#include "backend/meta/meta.h"
#include "check.h"
#include <stdatomic.h>
#include <stdlib.h>

enum { ROWS = 64, COLUMNS = 128, UNIT = ROWS * COLUMNS * 4 };

/* ---- the doors ---- */

typedef struct counts {
    long long passes, launches, bytes;
} counts;

static _Atomic long long passes, launches, bytes;
static tn__backend cpu, cuda;
static tn__gpu_driver driver;
static tn__kernel cpu_kernels[TN__ROWS], cuda_kernels[TN__ROWS];
extern const tn__backend *__wrap_tn__backends[5];
const tn__backend *__wrap_tn__backends[5] = {
    [TN_DEVICE_CPU] = &tn__cpu_backend,
    [TN_DEVICE_CUDA] = &tn__cuda_backend,
    [TN_DEVICE_META] = &tn__meta_backend,
};

static counts now(void)
{
    return (counts){passes, launches, bytes};
}

static counts since(counts before)
{
    return (counts){passes - before.passes, launches - before.launches, bytes - before.bytes};
}

/* Broadcast elements are read once. */
static long long extent(const int64_t *shape, const int64_t *stride, int32_t ndim, tn_dtype dtype)
{
    long long n = (long long)tn_dtype_size(dtype);
    for (int32_t d = 0; d < ndim; d++)
        n *= stride[d] ? shape[d] : 1;
    return n;
}

static void note_iter(const tn__iter *it)
{
    passes++;
    for (int32_t i = 0; i < it->n; i++)
        if (it->operand[i].data != &it->number[i])
            bytes += extent(it->shape, it->operand[i].stride, it->ndim, it->operand[i].dtype);
}

static void note_view(const tn__view *v)
{
    if (v->data && v->dtype && v->numel)
        bytes += extent(v->shape, v->stride, v->ndim, v->dtype);
}

static void note_launch(const tn__launch *l)
{
    passes++;
    for (int32_t i = 0; i < l->n_in; i++)
        if (!l->n_out || l->in[i].data != l->out[0].data)
            note_view(&l->in[i]);
    for (int32_t i = 0; i < l->n_out; i++)
        note_view(&l->out[i]);
}

static tn_status cpu_elementwise(tn_device device, tn__op_id op, const tn__iter *it, tn_dtype compute)
{
    note_iter(it);
    return tn__cpu_backend.elementwise(device, op, it, compute);
}

static tn_status cpu_copy(tn_device device, const tn__iter *it)
{
    note_iter(it);
    return tn__cpu_backend.copy(device, it);
}

static tn_status cpu_kernel(const tn__launch *l)
{
    note_launch(l);
    return tn__cpu_backend.kernels[l->op](l);
}

static tn_status cuda_elementwise(tn_device device, tn__op_id op, const tn__iter *it, tn_dtype compute)
{
    note_iter(it);
    return tn__cuda_backend.elementwise(device, op, it, compute);
}

static tn_status cuda_copy(tn_device device, const tn__iter *it)
{
    note_iter(it);
    return tn__cuda_backend.copy(device, it);
}

static tn_status cuda_kernel(const tn__launch *l)
{
    note_launch(l);
    return tn__cuda_backend.kernels[l->op](l);
}

static tn__gpu_result launch(const tn__gpu_launch *l, void *function, void *stream)
{
    launches++;
    return tn__cuda_backend.gpu->launch(l, function, stream);
}

static tn_status gemm(tn_device device, const struct tn__gpu_gemm_call *p, const char *label)
{
    tn_status e = tn__cuda_backend.gpu->gemm(device, p, label);
    launches += e == TN_OK;
    return e;
}

static tn__gpu_result fill(void *to, uint8_t value, size_t n, void *stream)
{
    launches++;
    return tn__cuda_backend.gpu->fill(to, value, n, stream);
}

static tn__gpu_result copy_within(void *to, const void *from, size_t n, void *stream)
{
    launches++;
    return tn__cuda_backend.gpu->copy_within(to, from, n, stream);
}

static void open_doors(void)
{
    cpu = tn__cpu_backend;
    cuda = tn__cuda_backend;
    driver = *tn__cuda_backend.gpu;
    for (int i = 0; i < TN__ROWS; i++) {
        cpu_kernels[i] = cpu.kernels[i] ? cpu_kernel : NULL;
        cuda_kernels[i] = cuda.kernels[i] ? cuda_kernel : NULL;
    }
    cpu.elementwise = cpu_elementwise, cpu.copy = cpu_copy, cpu.kernels = cpu_kernels;
    cuda.elementwise = cuda_elementwise, cuda.copy = cuda_copy, cuda.kernels = cuda_kernels;
    driver.launch = launch, driver.gemm = gemm, driver.fill = fill, driver.copy_within = copy_within;
    cuda.gpu = &driver;
    __wrap_tn__backends[TN_DEVICE_CPU] = &cpu;
    __wrap_tn__backends[TN_DEVICE_CUDA] = &cuda;
}

/* ---- the calls ---- */

typedef struct inputs {
    tn_tensor *x, *u, *p, *y, *t, *m, *k, *i, *j, *w, *f, *q, *e, *z;
} inputs;

/* The names that expressions have for them. */
#define INPUTS(v) \
    tn_tensor *x = v->x, *u = v->u, *p = v->p, *y = v->y, *t = v->t, *m = v->m, *k = v->k, *i = v->i, *j = v->j; \
    tn_tensor *w = v->w, *f = v->f, *q = v->q, *e = v->e, *z = v->z; \
    (void)x, (void)u, (void)p, (void)y, (void)t, (void)m, (void)k, (void)i, (void)j; \
    (void)w, (void)f, (void)q, (void)e, (void)z

#define NAMED(line)    NAMED_AT(line)
#define NAMED_AT(line) call_##line
#define COST(call, forward, backward) \
    static tn_tensor *NAMED(__LINE__)(const inputs *v) \
    { \
        INPUTS(v); \
        return call; \
    }
#include "cost_cases.def"
#undef COST

enum { NONE = -1 };

typedef struct row {
    const char *call;
    tn_tensor *(*run)(const inputs *v);
    double least[2]; /* forward and backward, in tensors */
} row;

static const row rows[] = {
#define COST(call, forward, backward) {#call, NAMED(__LINE__), {forward, backward}},
#include "cost_cases.def"
#undef COST
};

static tn_tensor *between(int64_t rows_, int64_t columns, double low, double high, tn_device device, bool wish)
{
    tn_tensor *made = MADE(tn_add(MADE(tn_mul(MADE(tn_rand(TN_SHAPE(rows_, columns))), high - low)), low));
    return MADE(tn_requires_grad_(MADE(tn_to(made, .device = device)), wish));
}

static tn_tensor *below(int64_t n, tn_dims shape, tn_device device)
{
    tn_tensor *made = MADE(tn_floor(MADE(tn_mul(MADE(tn_rand(shape)), n))));
    return MADE(tn_to(MADE(tn_to(made, .dtype = TN_I64)), .device = device));
}

static inputs make_inputs(tn_device at)
{
    tn_manual_seed(15);
    inputs v = {.x = between(ROWS, COLUMNS, -1, 1, at, true), .u = between(ROWS, COLUMNS, 0.1, 0.9, at, true)};
    v.p = between(ROWS, COLUMNS, 0.5, 1.5, at, true);
    v.y = between(ROWS, COLUMNS, 0.5, 1.5, at, false);
    v.t = between(ROWS, COLUMNS, 0.1, 0.9, at, false);
    v.z = between(ROWS, COLUMNS, -1, 1, at, false);
    v.m = MADE(tn_gt(v.t, 0.5));
    v.k = below(COLUMNS, TN_SHAPE(ROWS, COLUMNS), at);
    v.i = below(ROWS, TN_SHAPE(ROWS), at);
    v.j = below(COLUMNS, TN_SHAPE(ROWS), at);
    v.w = between(COLUMNS, 64, -1, 1, at, true);
    v.f = between(32, COLUMNS, -1, 1, at, true);
    v.q = MADE(tn_requires_grad_(MADE(tn_to(MADE(tn_rand(TN_SHAPE(32))), .device = at)), true));
    v.e = MADE(tn_to(MADE(tn_rand(TN_SHAPE(COLUMNS))), .device = at));
    return v;
}

static void clear_gradients(const inputs *v)
{
    tn_tensor *const leaves[] = {v->x, v->u, v->p, v->w, v->f, v->q};
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++)
        OK(tn_tensor_set_grad(leaves[i], TN_NONE));
}

/* One call forward and, where it has a gradient, backward. */
static void count(const row *r, const inputs *v, counts of[2])
{
    tn_scope *scope = tn_scope_open();
    counts before = now();
    tn_tensor *out = MADE(r->run(v));
    of[0] = since(before);
    of[1] = (counts){0};
    if (r->least[1] != NONE) {
        assert_true(tn_tensor_requires_grad(out));
        tn_tensor *g = MADE(tn_requires_grad_(MADE(tn_full_like(out, 0.5)), false));
        before = now();
        OK(tn_backward(out, .gradient = g));
        of[1] = since(before);
        clear_gradients(v);
    }
    tn_scope_close(scope);
}

typedef struct cost {
    counts of[2][2]; /* [0: on the CPU, 1: on a GPU][0: forward, 1: backward] */
} cost;

/* Counted the second time: the first compiles kernels and makes streams. */
static cost cost_of(const row *r, const inputs v[2])
{
    cost c;
    for (int device = 0; device < 2; device++)
        for (int time = 0; time < 2; time++)
            count(r, &v[device], c.of[device]);
    return c;
}

/* ---- as text ---- */

static const char *const directions[] = {"forward", "backward"};

/* One line of cost.txt. */
static void line_of(char *to, size_t size, const row *r, const cost *c, int direction)
{
    const counts *on = &c->of[0][direction], *gpu = &c->of[1][direction];
    snprintf(to, size, "%2lld %2lld %7lld %7lld %7.0f  %-8s  %s\n", on->passes, gpu->launches, on->bytes, gpu->bytes,
             r->least[direction] * UNIT, directions[direction], r->call);
}

static void table_line(const row *r, const cost *c, int direction)
{
    const counts *on = &c->of[0][direction], *gpu = &c->of[1][direction];
    const double least = r->least[direction] * UNIT;
    char ratio[2][16] = {"-", "-"};
    for (int d = 0; d < 2 && least > 0; d++)
        snprintf(ratio[d], sizeof ratio[d], "%.2f", (double)c->of[d][direction].bytes / least);
    printf("| `%s` | %s | %lld | %lld | %lld | %lld | %.0f | %s | %s |\n", r->call, directions[direction], on->passes,
           gpu->launches, on->bytes, gpu->bytes, least, ratio[0], ratio[1]);
}

static const char list_head[] = "# What usual calls cost, of 64 x 128 floats (tests/fake/kernels/cost_cases.def): "
                                "passes on the CPU, launches on a GPU, bytes\n"
                                "# moved on the CPU and on a GPU, the least that could be. Written by: scripts/bench "
                                "cost list > tests/data/cost.txt\n";

static const char table_head[] =
    "| call | | passes, CPU | launches, GPU | bytes, CPU | bytes, GPU | least | CPU / least | GPU / least |\n"
    "|---|---|---|---|---|---|---|---|---|\n";

static void print_all(bool table)
{
    const inputs v[2] = {make_inputs(TN_CPU), make_inputs(TN_CUDA(0))};
    fputs(table ? table_head : list_head, stdout);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const cost c = cost_of(&rows[i], v);
        char line[256];
        for (int direction = 0; direction < 1 + (rows[i].least[1] != NONE); direction++) {
            line_of(line, sizeof line, &rows[i], &c, direction);
            table ? table_line(&rows[i], &c, direction) : (void)fputs(line, stdout);
        }
    }
}

/* ---- tests ---- */

/* Counted by hand: one pass each, and each operand once. */
static void doors_count(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    const inputs v[2] = {make_inputs(TN_CPU), make_inputs(TN_CUDA(0))};
    for (int d = 0; d < 2; d++) {
        counts before = now();
        MADE(tn_mul(v[d].y, v[d].t));
        counts got = since(before);
        assert_int_equal(got.passes, 1);
        assert_int_equal(got.launches, d);
        assert_int_equal(got.bytes, 3 * UNIT);
        before = now();
        MADE(tn_add(MADE(tn_add(v[d].y, v[d].e)), 1));
        got = since(before);
        assert_int_equal(got.passes, 2);
        assert_int_equal(got.launches, 2 * d);
        assert_int_equal(got.bytes, 4 * UNIT + COLUMNS * 4);
        before = now();
        MADE(tn_sum(v[d].y, .dim = 1));
        assert_int_equal(since(before).bytes, UNIT + ROWS * 4);
        before = now();
        MADE(tn_t(v[d].y));
        assert_int_equal(since(before).passes, 0);
    }
    tn_scope_close(scope);
}

/* What the file has stands in the same order; a line that differs is printed with what it should be. */
static void counts_are_those_of_the_list(void **state)
{
    (void)state;
    FILE *file = fopen(TENON_TEST_DATA "/cost.txt", "r");
    assert_non_null(file);
    char want[256], got[256];
    int lines = 0, different = 0;
    tn_scope *scope = tn_scope_open();
    const inputs v[2] = {make_inputs(TN_CPU), make_inputs(TN_CUDA(0))};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const cost c = cost_of(&rows[i], v);
        for (int direction = 0; direction < 1 + (rows[i].least[1] != NONE); direction++, lines++) {
            do
                if (!fgets(want, sizeof want, file))
                    strcpy(want, "nothing\n");
            while (want[0] == '#');
            line_of(got, sizeof got, &rows[i], &c, direction);
            if (strcmp(want, got) != 0 && ++different)
                print_error("cost.txt has  %scounted were  %s", want, got);
        }
    }
    assert_null(fgets(want, sizeof want, file));
    fclose(file);
    tn_scope_close(scope);
    if (different)
        print_error("less, or meant: scripts/bench cost list > tests/data/cost.txt\n");
    assert_int_equal(different, 0);
    assert_true(sizeof rows / sizeof *rows >= 80);
    print_message("count: cost: %d calls, %d counts\n", (int)(sizeof rows / sizeof *rows), lines);
}

int main(int argc, char **argv)
{
    open_doors();
    if (argc > 1) {
        tn_scope *scope = tn_scope_open();
        print_all(!strcmp(argv[1], "table"));
        tn_scope_close(scope);
        return 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(doors_count), cmocka_unit_test(counts_are_those_of_the_list)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
