/* Copies and conversions. */
#include "ops/family.h"

/* A copy lies as x does where x's elements fill a block of memory, else row-major. Strides of 1-sized dimensions are
 * free. */
static void lies_like(const kit_array *x, const tn_tensor *got, const char *name)
{
    bool dense = x->layout == KIT_TRANSPOSED || x->layout == KIT_ROTATED;
    tn_dims s = tn_tensor_stride(got);
    int64_t step = 1;
    bool same = got != NULL && s.ndim == x->ndim;
    for (int32_t d = x->ndim - 1; same && d >= 0; d--) {
        same = x->shape[d] <= 1 || x->numel == 0 || s.dim[d] == (dense ? x->stride[d] : step);
        step *= x->shape[d];
    }
    kit.cases++;
    if (!same)
        kit_fail("%s of %s %s lies otherwise", name, kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout]);
}

static void clone_each(kit_array *x)
{
    tn_tensor *y = tn_clone(x->t), *z = tn_contiguous(x->t);
    equals_values(x, y, "clone");
    lies_like(x, y, "clone");
    TRUTH(y != x->t && (x->numel == 0 || !tn_tensor_shares_memory(x->t, y)));
    equals_values(x, z, "contiguous");
    TRUTH(tn_tensor_is_contiguous(z) && (z == x->t) == tn_tensor_is_contiguous(x->t));
}

/* The transpose of every other or every fifth column. */
static void turn_some_columns(kit_array *x)
{
    const int64_t rows = x->shape[x->ndim - 2], cols = x->shape[x->ndim - 1];
    for (int64_t step = 2; step <= 5 && x->ndim == 2; step += 3) {
        const int64_t some = (cols + step - 1) / step;
        expected e;
        expected_init(&e, x->dtype, 2, (int64_t[]){some, rows});
        e.bits = true;
        for (int64_t i = 0; i < rows; i++)
            for (int64_t k = 0; k < some; k++)
                e.v[k * rows + i] = x->v[i * cols + k * step];
        check(&e, tn_contiguous(tn_t(tn_slice(x->t, 1, 0, cols, step))), "%s, each %lldth column of %s %s turned",
              tn_dtype_name(x->dtype), (long long)step, kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout]);
        expected_free(&e);
    }
}

/* Rows that lie a power of 2 apart, more of them than a tile has, and a rest; rows so short that they are turned as they are. */
static void clone_wide(void)
{
    static const shape_list shapes[] = {{2, {70, 256}}, {3, {2, 33, 512}}, {2, {300, 13}}, {2, {11, 150}}};
    for (int i = 0; i < KIT_DTYPES; i++)
        for (size_t k = 0; k < TN_COUNT(shapes); k++)
            for (kit_layout layout = 0; layout < KIT_EXPANDED; layout++) {
                kit_array x;
                tn_scope *scope = tn_scope_open();
                kit_array_init(&x, kit_dtypes[i], shapes[k].ndim, shapes[k].dim, layout);
                for (int64_t n = 0; n < x.numel; n++)
                    x.v[n] = (real)(x.dtype == TN_BOOL ? n % 2 : n % 97);
                kit_show(&x);
                clone_each(&x);
                turn_some_columns(&x);
                kit_array_free(&x);
                tn_scope_close(scope);
            }
}

static void run_clone(void)
{
    clone_wide();
}

static void run_contiguous(void)
{
    each_array(clone_each, false);
}

/* Into each format that there is of as many dimensions: the elements, how they lie, and whether x itself will do. */
static void turn_into_formats(kit_array *x)
{
    static const tn_memory_format of[] = {TN_CONTIGUOUS_FORMAT, TN_CHANNELS_LAST, TN_CHANNELS_LAST_3D};
    for (int k = 0; k < 3; k++) {
        if (k && x->ndim != 3 + k) {
            const char *what = k == 1 ? "required rank 4 tensor to use channels_last format"
                                      : "required rank 5 tensor to use channels_last_3d format";
            REFUSED(tn_clone_in(x->t, of[k]), TN_EINVAL, what);
            REFUSED(tn_contiguous_in(x->t, of[k]), TN_EINVAL, what);
            continue;
        }
        tn_tensor *y = tn_clone_in(x->t, of[k]), *z = tn_contiguous_in(x->t, of[k]);
        const bool lies = tn_tensor_is_contiguous_in(x->t, of[k]);
        equals_values(x, y, "clone_in");
        equals_values(x, z, "contiguous_in");
        equals_values(x, tn_to(x->t, .memory_format = of[k]), "to, a format");
        TRUTH(y != x->t && tn_tensor_is_contiguous_in(y, of[k]) && tn_tensor_is_contiguous_in(z, of[k]));
        TRUTH((z == x->t) == lies && (!lies || k || tn_tensor_is_contiguous(x->t)));
        tn_dims s = tn_tensor_stride(y);
        TRUTH(!k || (s.dim[1] == 1 && s.dim[x->ndim - 1] == x->shape[1]));
    }
}

static void run_clone_in(void)
{
    static const shape_list shapes[] = {{2, {3, 4}}, {4, {2, 3, 4, 5}}, {4, {1, 1, 3, 2}}, {5, {2, 3, 2, 4, 5}}};
    for (int i = 0; i < KIT_DTYPES; i++)
        for (size_t k = 0; k < TN_COUNT(shapes); k++)
            for (kit_layout layout = 0; layout < KIT_LAYOUTS; layout++) {
                kit_array x;
                tn_scope *scope = tn_scope_open();
                random_array(&x, kit_dtypes[i], shapes[k].ndim, shapes[k].dim, layout, false);
                turn_into_formats(&x);
                kit_array_free(&x);
                tn_scope_close(scope);
            }
    tn_scope *s = tn_scope_open();
    REFUSED(tn_clone_in(tn_ones(TN_SHAPE(2, 3)), 9), TN_EINVAL, "9 is no memory format");
    REFUSED(tn_contiguous_in(tn_t(tn_ones(TN_SHAPE(2, 3))), TN_PRESERVE_FORMAT), TN_EINVAL,
            "preserve memory format is unsupported by the contiguous operator");
    TRUTH(tn_tensor_memory_format(tn_zeros(TN_SHAPE(2, 3, 4, 5), .memory_format = TN_CHANNELS_LAST)) ==
          TN_CHANNELS_LAST);
    REFUSED(tn_zeros(TN_SHAPE(2, 3), .memory_format = TN_PRESERVE_FORMAT), TN_EINVAL,
            "unsupported memory format Preserve");
    tn_scope_close(s);
}

/* x.copy_(src): src of every dtype, converted and broadcast; and the same conversion by tn_to. */
static void copy_into(kit_array *x)
{
    for (int i = 0; i < KIT_DTYPES; i++)
        for (int part = 0; part < 3; part++) {
            kit_array src;
            expected e;
            int32_t n = part == 0 ? x->ndim : part == 1 && x->ndim ? 1 : 0;
            random_array(&src, kit_dtypes[i], n, x->shape + (x->ndim - n), (kit_layout)((i + part) % KIT_LAYOUTS),
                         false);
            expected_init(&e, x->dtype, x->ndim, x->shape);
            e.bits = true;
            for (int64_t k = 0; k < x->numel; k++)
                e.v[k] = kit_convert(src.v[kit_broadcast(&src, x->ndim, x->shape, k)], src.dtype, x->dtype);
            tn_tensor *got = tn_copy_(x->t, src.t);
            if (x->layout == KIT_EXPANDED && x->numel > 1)
                refused(got, TN_EINVAL, "refers to a single memory location", "copy_");
            else if (check(&e, got, "copy_ to %s %s %s from %s", tn_dtype_name(x->dtype),
                           kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout], tn_dtype_name(src.dtype)))
                truth(got == x->t && kit_surroundings_intact(x), "copy_ writes x and nothing else");
            if (part == 0)
                check(&e, tn_to(src.t, .dtype = x->dtype), "%s %s %s to %s", tn_dtype_name(src.dtype),
                      kit_shape_text(n, src.shape), kit_layout_names[src.layout], tn_dtype_name(x->dtype));
            expected_free(&e);
            kit_array_free(&src);
        }
}

static void run_copy_(void)
{
    each_array(copy_into, false);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3));
    REFUSED(tn_copy_(x, tn_ones(TN_SHAPE(2))), TN_EINVAL,
            "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 1");
    REFUSED(tn_copy_(tn_ones(TN_SHAPE(3)), x), TN_EINVAL, "shape");
    TRUTH(tn_to(x, .dtype = TN_F32) == x && tn_to(x, .dtype = TN_F32, .copy = true) != x);
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"clone", run_clone},       {"contiguous", run_contiguous},
    {"clone_in", run_clone_in}, {"contiguous_in", run_clone_in},
    {"copy_", run_copy_},       {NULL, NULL},
};

/* ---- gradients ---- */

F(to, tn_mul(tn_to(tn_to(x, .dtype = TN_F64, .copy = true), .dtype = TN_F64), x))
F(clone, tn_clone(x))
F(contiguous, tn_contiguous(tn_t(x)))
F(clone_in,
  tn_mul(tn_clone_in(tn_reshape(x, TN_SHAPE(1, 3, 4, 1)), TN_CHANNELS_LAST), tn_reshape(y, TN_SHAPE(1, 3, 4, 1))))
F(contiguous_in, tn_contiguous_in(tn_reshape(x, TN_SHAPE(1, 3, 4, 1)), TN_CHANNELS_LAST))
F(copy_, tn_copy_(tn_clone(x), y))

static const gradient_case gradients[] = {
    ONE(to),
    ONE(clone),
    ONE(contiguous),
    TWO(clone_in),
    ONE(contiguous_in),
    TWO(copy_),
    {"copy_, broadcast", f_copy_, 2, {M34, NINE}, false},
    {NULL, NULL, 0, {{0, {0}}}, false},
};

/* ---- PyTorch's records ---- */

static bool record_clone(record *r, results *out)
{
    return give(out, tn_clone(r->input.t));
}

static bool record_contiguous(record *r, results *out)
{
    return give(out, tn_contiguous(r->input.t));
}

#define CAST(name, to) \
    static bool record_##name(record *r, results *out) \
    { \
        return give(out, tn_to(r->input.t, .dtype = to)); \
    }

CAST(bool, TN_BOOL)
CAST(byte, TN_U8)
CAST(char, TN_I8)
CAST(short, TN_I16)
CAST(int, TN_I32)
CAST(long, TN_I64)
CAST(half, TN_F16)
CAST(bfloat16, TN_BF16)
CAST(float, TN_F32)
CAST(double, TN_F64)

static bool record_item(record *r, results *out)
{
    out->scalar = (value){.kind = V_FLOAT, .f = tn_item(r->input.t)};
    return true;
}

static const named_adapter adapters[] = {
    {"clone", record_clone}, {"contiguous", record_contiguous},
    {"bool", record_bool},   {"byte", record_byte},
    {"char", record_char},   {"short", record_short},
    {"int", record_int},     {"long", record_long},
    {"half", record_half},   {"bfloat16", record_bfloat16},
    {"float", record_float}, {"double", record_double},
    {"item", record_item},   {NULL, NULL},
};

const family_tests copy_tests = {cases, gradients, adapters};
