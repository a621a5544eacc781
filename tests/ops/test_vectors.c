/* Reference records of PyTorch operations (tests/data/op-vectors): values and gradients of every record whose operation
 * exists. The operations of ground-floor.txt must all exist and agree; how many of all records agree is printed. */
#include "ops/digest.h"
#include "ops/kit.h"
#include "ops/record.h"
#include <cjson/cJSON.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <zip.h>

/* ---- npz ---- */

static void *read_entry(zip_t *z, const char *name, size_t *size)
{
    zip_stat_t st;
    if (zip_stat(z, name, 0, &st) != 0)
        return NULL;
    char *data = malloc(st.size + 1);
    zip_file_t *f = zip_fopen(z, name, 0);
    if (!f || !data || zip_fread(f, data, st.size) != (zip_int64_t)st.size) {
        free(data);
        data = NULL;
    } else {
        data[st.size] = '\0';
    }
    if (f)
        zip_fclose(f);
    *size = st.size;
    return data;
}

static tn_tensor *array_of(zip_t *z, const char *name)
{
    char entry[128];
    size_t size;
    snprintf(entry, sizeof entry, "%s.npy", name);
    void *data = read_entry(z, entry, &size);
    tn_tensor *t = data ? tn_npy_parse(data, size, entry) : NULL;
    free(data);
    return t ? tn_to(t, .device = tn_get_default_device()) : NULL;
}

/* ---- JSON to values ---- */

static value value_of(const cJSON *j, zip_t *z);

static value list_of(const cJSON *list, zip_t *z)
{
    value v = {.kind = V_LIST, .n = cJSON_GetArraySize(list)};
    v.item = calloc((size_t)(v.n ? v.n : 1), sizeof *v.item);
    for (int i = 0; i < v.n; i++)
        v.item[i] = value_of(cJSON_GetArrayItem(list, i), z);
    return v;
}

static value object_of(const cJSON *j, zip_t *z)
{
    const cJSON *t = cJSON_GetObjectItem(j, "t"), *seq = cJSON_GetObjectItem(j, "seq"),
                *dtype = cJSON_GetObjectItem(j, "dtype");
    if (t) {
        value v = {.kind = V_TENSOR, .t = array_of(z, t->valuestring)};
        v.requires_grad = cJSON_IsTrue(cJSON_GetObjectItem(j, "rg"));
        if (!v.t) {
            tn_error_clear(); /* complex, uint16 ...: not ours */
            v.kind = V_OTHER;
        }
        return v;
    }
    if (seq)
        return list_of(seq, z);
    if (dtype)
        return (value){.kind = V_TEXT, .text = dtype->valuestring};
    return (value){.kind = V_OTHER};
}

/* Numbers: cJSON keeps doubles only; integers in these files are exact in them, and written without a point. */
static value value_of(const cJSON *j, zip_t *z)
{
    if (!j)
        return (value){.kind = V_ABSENT};
    if (cJSON_IsNull(j))
        return (value){.kind = V_NULL};
    if (cJSON_IsBool(j))
        return (value){.kind = V_BOOL, .i = cJSON_IsTrue(j)};
    if (cJSON_IsNumber(j)) {
        double d = j->valuedouble;
        if (d == floor(d) && fabs(d) < 9e15)
            return (value){.kind = V_INT, .i = (int64_t)d, .f = d};
        return (value){.kind = V_FLOAT, .f = d};
    }
    if (cJSON_IsString(j))
        return (value){.kind = V_TEXT, .text = j->valuestring};
    if (cJSON_IsArray(j))
        return list_of(j, z);
    return object_of(j, z);
}

static void free_value(value *v)
{
    for (int i = 0; i < v->n; i++)
        free_value(&v->item[i]);
    free(v->item);
}

static bool has_other(const value *v)
{
    if (v->kind == V_OTHER)
        return true;
    for (int i = 0; i < v->n; i++)
        if (has_other(&v->item[i]))
            return true;
    return false;
}

static record record_of(const cJSON *j, const char *op, zip_t *z)
{
    record r = {.op = op};
    r.dtype = cJSON_GetObjectItem(j, "dtype")->valuestring;
    r.input = value_of(cJSON_GetObjectItem(j, "input"), z);
    r.out = value_of(cJSON_GetObjectItem(j, "out"), z);
    r.grad = value_of(cJSON_GetObjectItem(j, "grad_sum_input"), z);
    bool other = has_other(&r.input) || has_other(&r.out) || has_other(&r.grad);
    const cJSON *a;
    cJSON_ArrayForEach(a, cJSON_GetObjectItem(j, "args"))
    {
        if (r.n_args == (int)TN_COUNT(r.arg))
            break;
        r.arg[r.n_args] = value_of(a, z);
        other |= has_other(&r.arg[r.n_args++]);
    }
    cJSON_ArrayForEach(a, cJSON_GetObjectItem(j, "kw"))
    {
        if (r.n_kw == (int)TN_COUNT(r.kw))
            break;
        r.kw[r.n_kw].name = a->string;
        r.kw[r.n_kw].v = value_of(a, z);
        other |= has_other(&r.kw[r.n_kw++].v);
    }
    r.unknown = other;
    return r;
}

/* ---- comparison ---- */

/* Tolerances: a few roundings of the dtype, relative to the element for elementwise rows, and to the largest element for
 * what adds many terms (a sum that cancels is as exact as its terms). */
static double relative(tn_dtype d)
{
    return d == TN_F64 ? 1e-12 : d == TN_F32 ? 3e-6 : d == TN_F16 ? 1e-3 : d == TN_BF16 ? 8e-3 : 0;
}

static double at(const tn_tensor *t, int64_t i)
{
    return tn_item(tn_select(tn_reshape((tn_tensor *)(uintptr_t)t, TN_SHAPE(-1)), 0, i));
}

/* PyTorch's own float32 errors: 2e-5 in the derivative of digamma near poles, 3e-6 in erfcx, which log_ndtr's is made of. */
static double looser(const char *op, tn_dtype d)
{
    return d == TN_F32 && (!strcmp(op, "digamma") || strstr(op, "polygamma") || !strcmp(op, "special.log_ndtr")) ? 10
                                                                                                                 : 1;
}

static bool near(double got, double want, tn_dtype d, double scale)
{
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got);
    if (want == got)
        return true;
    return fabs(got - want) <= relative(d) * fmax(scale, fabs(want));
}

static double largest(tn_tensor *t)
{
    if (tn_tensor_numel(t) == 0)
        return 0;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_to(tn_detach(t), .dtype = TN_F64);
    double m = tn_item(tn_max(tn_where(tn_isfinite(x), tn_abs(x), 0)));
    tn_scope_close(s);
    return m;
}

static bool agrees(const record *r, const char *what, tn_tensor *got, tn_tensor *want)
{
    if (got && !tn_device_equal(tn_tensor_device(got), tn_tensor_device(want)) && tn_tensor_ndim(got)) {
        printf("  %s %s: %s: is on %s\n", r->op, r->dtype, what, tn_device_text(tn_tensor_device(got)).s);
        return false;
    }
    got = tn_cpu(got);
    if (digest_wanted()) {
        char name[100];
        snprintf(name, sizeof name, "record:%s", r->op);
        digest_note(name, what, got);
    }
    want = tn_cpu(want);
    tn_dims a = tn_tensor_shape(got), b = tn_tensor_shape(want);
    tn_dtype d = tn_tensor_dtype(got);
    bool same = got && a.ndim == b.ndim && d == tn_tensor_dtype(want);
    for (int32_t i = 0; same && i < a.ndim; i++)
        same = a.dim[i] == b.dim[i];
    if (!same) {
        char text[512] = "";
        if (got)
            tn_to_string(got, text, sizeof text);
        printf("  %s %s: %s: got %s %dD %s; %s\n", r->op, r->dtype, what, got ? tn_dtype_name(d) : "nothing",
               (int)a.ndim, text, tn_error_message());
        return false;
    }
    double scale = record_is_row(r->op) ? 1.0 : fmax(1.0, largest(want));
    const double factor = looser(r->op, d);
    for (int64_t i = 0; i < tn_tensor_numel(want); i++) {
        tn_scope *s = tn_scope_open();
        double x = at(got, i), y = at(want, i);
        tn_scope_close(s);
        if (!near(x, y, d, factor * fmax(scale, fabs(y)))) {
            printf("  %s %s: %s: element %lld is %.17g, not %.17g\n", r->op, r->dtype, what, (long long)i, x, y);
            return false;
        }
    }
    return true;
}

static bool out_agrees(const record *r, const results *got)
{
    if (r->out.kind == V_TENSOR)
        return agrees(r, "result", got->n ? got->t[0] : NULL, r->out.t);
    if (r->out.kind == V_LIST) {
        if (got->n != r->out.n) {
            printf("  %s: %d results, not %d; %s\n", r->op, got->n, r->out.n, tn_error_message());
            return false;
        }
        for (int i = 0; i < got->n; i++)
            if (!agrees(r, "result", got->t[i], r->out.item[i].t))
                return false;
        return true;
    }
    double want = r->out.kind == V_FLOAT ? r->out.f : (double)r->out.i,
           have = got->scalar.kind == V_FLOAT ? got->scalar.f : (double)got->scalar.i;
    if (want == have)
        return true;
    printf("  %s %s: result %g, not %g; %s\n", r->op, r->dtype, have, want, tn_error_message());
    return false;
}

/* d(sum of the first result)/d(input) */
static bool gradient_agrees(const record *r, const results *got)
{
    if (r->grad.kind != V_TENSOR)
        return true;
    tn_tensor *grad = NULL;
    if (tn_grad(TN_TENSORS(tn_sum(got->t[0])), TN_TENSORS(r->input.t), &grad)) {
        printf("  %s %s: gradient: %s\n", r->op, r->dtype, tn_error_message());
        return false;
    }
    return agrees(r, "gradient", grad, r->grad.t);
}

/* ---- files ---- */

typedef struct tally {
    int records, gradients, passed, known, unsupported, left_out;
} tally;

/* A fake GPU's kernels take a second each to compile for AddressSanitizer: there an operation's records are of a third of the
 * dtypes, other ones for each operation, but for the named operations'. */
static bool samples(void)
{
    return TN_ASAN && kit_samples() && getenv("TENON_TEST_DEVICE");
}

static void run_record(const cJSON *j, const char *op, zip_t *z, bool required, tally *t)
{
    tn_scope *scope = tn_scope_open();
    tn_error_clear();
    record r = record_of(j, op, z);
    results got = {{NULL}, 0, {.kind = V_ABSENT}};
    const bool left_out =
        samples() && !required && !r.unknown && ((int)tn_dtype_parse(r.dtype) + kit_choice(op, 3)) % 3;
    t->records++;
    t->gradients += r.grad.kind == V_TENSOR;
    if (left_out) {
        t->left_out++;
    } else if (r.unknown && !required) {
        t->unsupported++;
    } else {
        if (r.input.kind == V_TENSOR && r.grad.kind == V_TENSOR)
            tn_requires_grad_(r.input.t, true);
        t->known++;
        record_run(&r, &got);
        t->passed += out_agrees(&r, &got) && gradient_agrees(&r, &got);
    }
    free_value(&r.input);
    free_value(&r.out);
    for (int i = 0; i < r.n_args; i++)
        free_value(&r.arg[i]);
    for (int i = 0; i < r.n_kw; i++)
        free_value(&r.kw[i].v);
    tn_scope_close(scope);
}

static bool run_file(const char *op, bool required, tally *t)
{
    char path[512];
    int error;
    size_t size;
    snprintf(path, sizeof path, "%s/op-vectors/%s.npz", TENON_TEST_DATA, op);
    zip_t *z = zip_open(path, ZIP_RDONLY, &error);
    if (!z) {
        printf("  %s cannot be opened\n", path);
        return false;
    }
    /* __rec is an array of bytes: a npy header, then JSON */
    char *raw = read_entry(z, "__rec.npy", &size);
    const char *text = raw ? memchr(raw, '[', size) : NULL;
    for (; text && text < raw + size && strncmp(text, "[{", 2) != 0; text++)
        ;
    cJSON *list = text ? cJSON_Parse(text) : NULL;
    const cJSON *j;
    cJSON_ArrayForEach(j, list) run_record(j, op, z, required, t);
    bool ok = list != NULL;
    cJSON_Delete(list);
    free(raw);
    zip_close(z);
    return ok;
}

static bool run_required(tally *t)
{
    char path[512], op[128];
    bool ok = true;
    snprintf(path, sizeof path, "%s/op-vectors/ground-floor.txt", TENON_TEST_DATA);
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    while (fscanf(f, "%127s", op) == 1) {
        if (!record_known(op))
            printf("  %s: no such operation\n", op);
        ok &= record_known(op) && run_file(op, true, t);
    }
    fclose(f);
    return ok;
}

static void run_all(tally *t, int *files)
{
    char path[512];
    snprintf(path, sizeof path, "%s/op-vectors", TENON_TEST_DATA);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        char op[256];
        size_t n = strlen(e->d_name);
        if (n < 5 || n >= sizeof op || strcmp(e->d_name + n - 4, ".npz") != 0)
            continue;
        memcpy(op, e->d_name, n - 4);
        op[n - 4] = '\0';
        if (record_known(op) && ++*files)
            run_file(op, false, t);
    }
    if (d)
        closedir(d);
}

/* An operation that is new in C adds its records. */
enum { AGREE = 3280 };

int main(void)
{
    tally required = {0}, all = {0};
    int files = 0;
    const char *device = getenv("TENON_TEST_DEVICE");
    if (device && tn_set_default_device(tn_device_parse(device))) {
        printf("FAILED: TENON_TEST_DEVICE=%s: %s\n", device, tn_error_message());
        return 1;
    }
    bool ok = run_required(&required);
    if (device)
        printf("note: on %s\n", tn_device_text(tn_get_default_device()).s);
    printf("count: records of the named operations: %d of %d agree, %d of them with a gradient\n", required.passed,
           required.records, required.gradients);
    run_all(&all, &files);
    printf("count: records of all 5507: %d agree (%d operations; %d fail, %d need dtypes that are not there)\n",
           all.passed, files, all.known - all.passed, all.unsupported);
    ok &= all.passed == all.known && all.passed + all.left_out == AGREE;
    ok &= required.passed == required.records && required.records == 1248 && required.gradients == 246;
    digest_write();
    ok &= tn_live_tensors() == 0;
    if (tn_live_tensors())
        printf("%lld tensors are still alive\n", (long long)tn_live_tensors());
    return ok ? 0 : 1;
}
