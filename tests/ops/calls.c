/* Calls functions of the C API by name, with arguments from a file, and writes what they gave into another:
 *
 *     calls list             every function with its parameters, and what Python calls the rows
 *     calls QUESTIONS ANSWERS
 *
 * tests/python/test_c_and_python.py makes the questions, asks Python's functions the same, and compares. Its class 'Asked'
 * writes what is read here, 'Answers' reads what is written here: numbers as this machine has them, texts with their length.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/tenon.h>

#define SITE ""
enum { RESULTS = 64, VALUES = 24 };

/* kind: 0 not given, T tensor, N TN_NONE, i f b u numbers, D dims, d dtype, m memory format, s text, L tensors, X a result that
 * is wanted. */
typedef struct value {
    char kind;
    int64_t i;
    double f;
    char text[64];
    tn_tensor *t, *leaf, *many[16];
    int64_t dim[16];
    int32_t n;
    tn_tensor **where;
} value;

typedef struct answer {
    tn_tensor *t[RESULTS];
    int n;
    bool failed, is_flag, flag;
} answer;

static FILE *in, *out;

/* ---- the file of questions ---- */

static void take(void *p, size_t n)
{
    if (n && fread(p, 1, n, in) != n)
        exit(3);
}

static int64_t take_int(void)
{
    int64_t i;
    take(&i, sizeof i);
    return i;
}

static void take_text(char *text, size_t room)
{
    const int64_t n = take_int();
    if (n < 0 || (size_t)n >= room)
        exit(3);
    take(text, (size_t)n);
    text[n] = '\0';
}

static int32_t take_dims(int64_t *dim)
{
    const int64_t n = take_int();
    if (n < 0 || n > 16)
        exit(3);
    take(dim, (size_t)n * sizeof *dim);
    return (int32_t)n;
}

/* dtype, shape, strides, offset, the memory; a leaf where it asks for a gradient, whose copy is used where it is written to. */
static tn_tensor *take_tensor(tn_tensor **leaf)
{
    char name[64];
    int64_t shape[16], stride[16];
    take_text(name, sizeof name);
    const tn_dtype dtype = tn_dtype_parse(name);
    const int32_t n = take_dims(shape);
    const int32_t ns = take_dims(stride);
    const int64_t offset = take_int(), wish = take_int(), bytes = take_int();
    void *data = malloc((size_t)bytes + 1);
    take(data, (size_t)bytes);
    const tn_array memory = {data, (size_t)bytes / tn_dtype_size(dtype), dtype, false};
    tn_tensor *t = tn_tensor_from(memory, .dtype = dtype);
    free(data);
    t = (tn_as_strided)(t, tn_dims_of(shape, n), tn_dims_of(stride, ns), offset);
    if (!t) {
        fprintf(stderr, "an argument: %s\n", tn_error_message());
        exit(3);
    }
    t = (tn_detach)(t);
    if (!wish)
        return t;
    *leaf = tn_requires_grad_(t, true);
    return wish == 2 ? (tn_clone)(t) : t;
}

static void take_value(value *v)
{
    memset(v, 0, sizeof *v);
    take(&v->kind, 1);
    switch (v->kind) {
    case 'T': v->t = take_tensor(&v->leaf); break;
    case 'f': take(&v->f, sizeof v->f); break;
    case 'i':
    case 'u':
    case 'b': v->i = take_int(); break;
    case 'D': v->n = take_dims(v->dim); break;
    case 'd':
    case 'm':
    case 's': take_text(v->text, sizeof v->text); break;
    case 'L':
        v->n = (int32_t)take_int();
        for (int k = 0; k < v->n; k++)
            v->many[k] = take_tensor(&v->leaf);
        break;
    default: break;
    }
}

/* ---- values as arguments ---- */

static tn_tensor *tensor_of(const value *v)
{
    return v->kind == 'N' ? TN_NONE : v->t;
}

static tn_scalar number_of(const value *v)
{
    switch (v->kind) {
    case 'T': return tn_scalar_t(v->t);
    case 'i': return tn_scalar_i(v->i);
    case 'u': return tn_scalar_u((uint64_t)v->i);
    case 'f': return tn_scalar_f(v->f);
    case 'b': return tn_scalar_b(v->i != 0);
    default: return tn_scalar_none();
    }
}

static tn_tensors list_of(const value *v)
{
    return (tn_tensors){v->many, (size_t)v->n};
}

static tn_dims dims_of(const value *v)
{
    return v->kind ? tn_dims_of(v->dim, v->n) : (tn_dims){0};
}

static tn_ints ints_of(const value *v)
{
    return v->kind ? (tn_ints){v->dim, (size_t)v->n} : (tn_ints){NULL, 0};
}

static bool one_dim_of(const value *v, int64_t *dim)
{
    *dim = v->kind ? v->dim[0] : 0;
    return v->kind != 0;
}

static tn_device device_of(const value *v)
{
    return v->kind ? tn_device_parse(v->text) : TN_CPU;
}

static int64_t int_of(const value *v)
{
    return v->i;
}

static double float_of(const value *v)
{
    return v->kind == 'f' ? v->f : (double)v->i;
}

static bool flag_of(const value *v)
{
    return v->i != 0;
}

static tn_dtype dtype_of(const value *v)
{
    return v->kind ? tn_dtype_parse(v->text) : 0;
}

static tn_memory_format format_of(const value *v)
{
    static const char *const names[] = {"", "contiguous_format", "preserve_format", "channels_last",
                                        "channels_last_3d"};
    tn_memory_format f = TN_CHANNELS_LAST_3D;
    while (f > 0 && (!v->kind || strcmp(v->text, names[f]) != 0))
        f--;
    return f;
}

static const char *text_of(const value *v)
{
    return v->kind ? v->text : NULL;
}

static tn_tensor **result_of(const value *v)
{
    return v->where;
}

static void give_tensor(answer *a, tn_tensor *t)
{
    a->t[0] = t;
    a->failed = !t;
}

static void give_several(answer *a, int64_t n)
{
    a->failed = tn_error_code() != TN_OK;
    a->n = n > RESULTS ? RESULTS : (int)n;
}

static void give_flag(answer *a, bool flag)
{
    a->is_flag = true;
    a->flag = flag;
    a->failed = tn_error_code() != TN_OK;
}

typedef struct function {
    const char *name;
    void (*call)(const value *v, answer *a);
    const char *parameters;
} function;

#include "calls.def"

/* ---- the file of answers ---- */

static void give_int(int64_t i)
{
    fwrite(&i, sizeof i, 1, out);
}

static void give_text(const char *text)
{
    give_int((int64_t)strlen(text));
    fwrite(text, 1, strlen(text), out);
}

static void write_dims(tn_dims d)
{
    give_int(d.ndim);
    for (int32_t i = 0; i < d.ndim; i++)
        give_int(d.dim[i]);
}

static void write_tensor(tn_tensor *t)
{
    give_int(t ? 1 : 0);
    if (!t)
        return;
    const tn_dtype dtype = tn_tensor_dtype(t);
    tn_tensor *dense = (tn_contiguous)((tn_detach)(t));
    const size_t bytes = (size_t)tn_tensor_numel(t) * tn_dtype_size(dtype);
    give_text(tn_dtype_name(dtype));
    write_dims(tn_tensor_shape(t));
    write_dims(tn_tensor_stride(t));
    give_int(tn_tensor_requires_grad(t));
    give_text(tn_tensor_grad_fn(t).s);
    give_int((int64_t)bytes);
    if (bytes)
        fwrite(tn_data(dense), 1, bytes, out);
}

/* The last tensor of an argument, as it is after the call. */
static void write_operand(const value *v)
{
    write_tensor(v->kind == 'T' ? v->t : v->kind == 'L' && v->n ? v->many[v->n - 1] : NULL);
}

/* 0 and nothing more, or the message. */
static bool write_error(bool failed)
{
    give_int(failed);
    if (failed)
        give_text(tn_error_message());
    return failed;
}

/* What a result's gradient is: -2.5, -1.5 and so on up to 3.5, again and again. */
static tn_tensor *weights_of(tn_tensor *t)
{
    const int64_t n = tn_tensor_numel(t);
    double *w = malloc(sizeof *w * (size_t)n + 1);
    for (int64_t i = 0; i < n; i++)
        w[i] = (double)(i % 7) - 2.5;
    const tn_array memory = {w, (size_t)n, TN_F64, false};
    tn_tensor *made = tn_tensor_from(memory, .dtype = tn_tensor_dtype(t));
    free(w);
    return (tn_reshape)(made, tn_tensor_shape(t));
}

static void write_gradients(const answer *a, value *v, int64_t n_values)
{
    tn_tensor *outputs[RESULTS], *weights[RESULTS], *leaves[VALUES], *grads[VALUES] = {NULL};
    size_t n = 0, n_leaves = 0;
    for (int i = 0; i < a->n; i++)
        if (a->t[i] && tn_tensor_requires_grad(a->t[i])) {
            outputs[n] = a->t[i];
            weights[n] = weights_of(a->t[i]);
            n++;
        }
    for (int64_t i = 0; i < n_values; i++)
        if (v[i].leaf)
            leaves[n_leaves++] = v[i].leaf;
    if (!n || !n_leaves) {
        give_int(2);
        return;
    }
    const tn_status status = tn_grad_opt(
        (tn_tensors){outputs, n}, (tn_tensors){leaves, n_leaves}, grads,
        &(tn_grad_options){
            .struct_size = sizeof(tn_grad_options), .site = SITE, .grad_outputs = {weights, n}, .allow_unused = true});
    if (write_error(status != TN_OK))
        return;
    give_int((int64_t)n_leaves);
    for (size_t i = 0; i < n_leaves; i++)
        write_tensor(grads[i]);
}

static const function *function_of(const char *name)
{
    const function *f = functions;
    while (f->name && strcmp(f->name, name) != 0)
        f++;
    if (!f->name) {
        fprintf(stderr, "there is no function %s\n", name);
        exit(3);
    }
    return f;
}

static void answer_one(void)
{
    char name[64];
    static value v[VALUES];
    answer a = {.n = 1};
    tn_scope *scope = tn_scope_open();
    memset(v, 0, sizeof v);
    take_text(name, sizeof name);
    const int64_t n = take_int();
    if (n < 0 || n > VALUES)
        exit(3);
    tn_error_clear();
    tn_manual_seed(1);
    for (int64_t i = 0; i < n; i++) {
        take_value(&v[i]);
        if (v[i].kind == 'X')
            v[i].where = &a.t[a.n++];
    }
    function_of(name)->call(v, &a);
    if (!write_error(a.failed)) {
        give_int(a.is_flag ? -1 : a.n);
        if (a.is_flag)
            give_int(a.flag);
        for (int i = 0; !a.is_flag && i < a.n; i++)
            write_tensor(a.t[i]);
        give_int(n);
        for (int64_t i = 0; i < n; i++)
            write_operand(&v[i]);
        write_gradients(&a, v, n);
    }
    tn_scope_close(scope);
}

static int list(void)
{
    for (const function *f = functions; f->name; f++)
        printf("C\t%s\t%s\n", f->name, f->parameters);
    for (const char *const *p = python_names; *p; p++)
        printf("Python\t%s\n", *p);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2)
        return list();
    in = argc == 3 ? fopen(argv[1], "rb") : NULL;
    out = in ? fopen(argv[2], "wb") : NULL;
    if (!out) {
        fprintf(stderr, "usage: calls list | QUESTIONS ANSWERS\n");
        return 2;
    }
    for (int64_t n = take_int(); n > 0; n--) {
        answer_one();
        fflush(out);
    }
    return fclose(out) ? 1 : 0;
}
