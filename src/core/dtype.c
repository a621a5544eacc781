/* What dtypes are: the table of dtypes.def, promotion, numbers in their ranges. */
#include "core/dtype.h"
#include "core/error.h"
#include "core/thread.h"
#include "core/tensor.h"
#include <tenon/dtype.h>
#include <float.h>
#include <math.h>

#define MOST_BOOL(S)   0
#define MOST_INT(S)    0
#define MOST_UINT(S)   0
#define MOST_HALF(S)   65504
#define MOST_BFLOAT(S) 0x1.fep127
#define MOST_FLOAT(S)  (sizeof(S) == sizeof(float) ? (double)FLT_MAX : DBL_MAX)

const tn__dtype_info tn__dtypes[TN__DTYPES] = {
    [TN_DTYPE_DEFAULT] = {.name = "default", .legacy = "Undefined", .scalar = "default", .value = "default"},
#define DTYPE(ID, token, dtype, storage, is, full, bits, computes, legacies, scalars, values, alias, method, code, \
              file) \
    [TN_##ID] = {.name = (dtype), \
                 .legacy = (legacies), \
                 .scalar = (scalars), \
                 .value = (values), \
                 .older = (alias), \
                 .npy = (code), \
                 .safetensors = (file), \
                 .size = sizeof(storage), \
                 .kind = TN__KIND_##is, \
                 .digits = (bits), \
                 .is_float = TN__KIND_##is >= TN__KIND_HALF, \
                 .is_signed = TN__KIND_##is >= TN__KIND_INT && TN__KIND_##is != TN__KIND_UINT, \
                 .compute = TN_##computes, \
                 .most = MOST_##is(storage)},
#include "core/dtypes.def"
};

#define DTYPE(ID, ...) _Static_assert((int)TN__ROW_##ID == (int)TN_##ID, "rows stand in the order of tenon/base.h");
#include "core/dtypes.def"

static _Atomic tn_dtype default_dtype = TN_F32;

tn_dtype tn__default_dtype(void)
{
    return atomic_load_explicit(&default_dtype, memory_order_relaxed);
}

static int kind_of(tn_dtype d)
{
    return tn__dtype_is_float(d) ? 3 : d > TN_BOOL ? 2 : d == TN_BOOL ? 1 : 0;
}

bool tn__can_cast(tn_dtype from, tn_dtype to)
{
    return kind_of(from) <= kind_of(to);
}

/* The signed integers hold unsigned ones of half their size. */
static tn_dtype signed_of(size_t size)
{
    tn_dtype d = TN_I64;
    for (tn_dtype k = 1; k < (tn_dtype)TN__DTYPES; k++)
        if (tn__dtypes[k].kind == TN__KIND_INT && tn__dtypes[k].size == size)
            d = k;
    return d;
}

/* https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc: the higher kind (bool < integer < floating), and of
 * one kind the larger; where neither holds the other, what holds both. */
tn_dtype tn__promote(tn_dtype a, tn_dtype b)
{
    if (a == b || b == TN_DTYPE_DEFAULT)
        return a;
    if (a == TN_DTYPE_DEFAULT)
        return b;
    const tn__dtype_info *x = &tn__dtypes[a], *y = &tn__dtypes[b];
    if ((tn__dtype_is_bare(a) && !y->is_float) || (tn__dtype_is_bare(b) && !x->is_float)) {
        tn__error(TN_EDTYPE,
                  "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote %s and %s",
                  x->legacy, y->legacy);
        return TN_DTYPE_DEFAULT;
    }
    if (kind_of(a) != kind_of(b))
        return kind_of(a) > kind_of(b) ? a : b;
    if (x->is_float)
        return x->size != y->size ? x->size > y->size ? a : b : TN_F32;
    if (x->is_signed == y->is_signed)
        return x->size > y->size ? a : b;
    const tn_dtype whole = x->is_signed ? a : b;
    const size_t unsigned_size = x->is_signed ? y->size : x->size;
    return tn__dtype_size(whole) > unsigned_size ? whole : signed_of(2 * unsigned_size);
}

tn_dtype tn__number_dtype(const tn_scalar *s)
{
    return s->kind == TN_SCALAR_FLOAT ? tn__default_dtype() : s->kind == TN_SCALAR_BOOL ? TN_BOOL : TN_I64;
}

static void join(tn__promotion *p, tn_dtype *with, tn_dtype d)
{
    if (p->refused)
        return;
    *with = tn__promote(*with, d);
    p->refused = *with == TN_DTYPE_DEFAULT;
}

void tn__promotion_add(tn__promotion *p, const tn_scalar *s)
{
    if (s->kind == TN_SCALAR_NONE)
        return;
    if (s->kind != TN_SCALAR_TENSOR)
        join(p, &p->number, tn__number_dtype(s));
    else
        join(p, s->v.t->ndim > 0 ? &p->dim : &p->zero, s->v.t->dtype);
}

static tn_dtype combine(tn_dtype higher, tn_dtype lower)
{
    if (higher == TN_DTYPE_DEFAULT)
        return lower;
    return kind_of(lower) > kind_of(higher) ? tn__promote(higher, lower) : higher;
}

tn_dtype tn__promotion_result(const tn__promotion *p)
{
    return p->refused ? TN_DTYPE_DEFAULT : combine(p->dim, combine(p->zero, p->number));
}

tn_status tn__dtype_check(const char *what, tn_dtype d)
{
    if (TN_LIKELY(d >= TN_DTYPE_DEFAULT && d < (tn_dtype)TN__DTYPES))
        return TN_OK;
    static const char names[] =
#define DTYPE(ID, ...) "TN_" #ID ", "
#include "core/dtypes.def"
        ;
    return tn__error(TN_EINVAL, "%s: %d is not a dtype (%.*s)", what, (int)d, (int)sizeof names - 3, names);
}

/* ---- one element ---- */

float tn__half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = (h >> 10) & 31, m = h & 0x3ff, u;
    if (e == 31)
        u = sign | 0x7f800000 | m << 13;
    else if (e)
        u = sign | (e + 112) << 23 | m << 13;
    else {
        float f = (float)m * 5.9604644775390625e-8F; /* 2^-24: subnormals are exact in float */
        memcpy(&u, &f, 4);
        u |= sign;
    }
    float f;
    memcpy(&f, &u, 4);
    return f;
}

uint16_t tn__float_to_half(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    uint32_t sign = u >> 16 & 0x8000;
    u &= 0x7fffffff;
    if (u > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (u >> 13 & 0x3ff)); /* NaN stays NaN, quiet */
    if (u >= 0x47800000)
        return (uint16_t)(sign | 0x7c00);
    if (u < 0x38800000) { /* subnormal or zero: let float addition round to a multiple of 2^-24 */
        float a;
        memcpy(&a, &u, 4);
        a += 0.5F;
        memcpy(&u, &a, 4);
        return (uint16_t)(sign | (u - 0x3f000000));
    }
    u += 0xc8000fff + (u >> 13 & 1); /* rebias by -112, round half to even */
    return (uint16_t)(sign | u >> 13);
}

float tn__bf16_to_float(uint16_t h)
{
    uint32_t u = (uint32_t)h << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}

uint16_t tn__float_to_bf16(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    if ((u & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

/* Float to integer: truncated, saturated, NaN is 0; stated once here and once for loops (backend/cpu/math.inc.h). */
static int64_t saturate(double v)
{
    if (isnan(v))
        return 0;
    if (v >= 9223372036854775808.0)
        return INT64_MAX;
    return v <= -9223372036854775808.0 ? INT64_MIN : (int64_t)v;
}

/* The same for what int64 does not hold: below 0 it wraps around. */
static uint64_t saturate_unsigned(double v)
{
    if (v >= 18446744073709551616.0)
        return UINT64_MAX;
    return v >= 9223372036854775808.0 ? (uint64_t)v : (uint64_t)saturate(v);
}

/* How an element of each kind is read as an integer or a double, and written. Integers wrap around; a double becomes one of the
 * type that the dtype computes in first. */
#define INT_BOOL(x)                ((x) != 0)
#define INT_INT(x)                 (int64_t)(x)
#define INT_UINT(x)                (int64_t)(x)
#define INT_HALF(x)                saturate((double)tn__half_to_float(x))
#define INT_BFLOAT(x)              saturate((double)tn__bf16_to_float(x))
#define INT_FLOAT(x)               saturate((double)(x))
#define REAL_BOOL(x)               ((x) != 0)
#define REAL_INT(x)                (double)(x)
#define REAL_UINT(x)               (double)(x)
#define REAL_HALF(x)               (double)tn__half_to_float(x)
#define REAL_BFLOAT(x)             (double)tn__bf16_to_float(x)
#define REAL_FLOAT(x)              (double)(x)
#define OF_INT_BOOL(v)             ((v) != 0)
#define OF_INT_INT(v)              (v)
#define OF_INT_UINT(v)             (v)
#define OF_INT_HALF(v)             tn__float_to_half((float)(v))
#define OF_INT_BFLOAT(v)           tn__float_to_bf16((float)(v))
#define OF_INT_FLOAT(v)            (v)
#define OF_REAL_BOOL(S, v, type)   ((v) != 0)
#define OF_REAL_INT(S, v, type)    WHOLE_##type(v)
#define OF_REAL_UINT(S, v, type)   (sizeof(S) == 8 ? saturate_unsigned(v) : (uint64_t)WHOLE_##type(v))
#define OF_REAL_HALF(S, v, type)   tn__float_to_half((float)(v))
#define OF_REAL_BFLOAT(S, v, type) tn__float_to_bf16((float)(v))
#define OF_REAL_FLOAT(S, v, type)  (v)
#define WHOLE_I32(v)               TN_MIN(TN_MAX(saturate(v), INT32_MIN), INT32_MAX)
#define WHOLE_I64(v)               saturate(v)

/* clang-format off */
double tn__load_double(tn_dtype d, const void *p)
{
    switch (d) {
#define DTYPE(ID, token, name, S, kind, ...) case TN_##ID: return REAL_##kind(*(const S *)p);
#include "core/dtypes.def"
    default: return 0;
    }
}

int64_t tn__load_int(tn_dtype d, const void *p)
{
    switch (d) {
#define DTYPE(ID, token, name, S, kind, ...) case TN_##ID: return INT_##kind(*(const S *)p);
#include "core/dtypes.def"
    default: return 0;
    }
}
/* clang-format on */

void tn__store_int(tn_dtype d, void *p, int64_t v)
{
    switch (d) {
#define DTYPE(ID, token, name, S, kind, ...) \
    case TN_##ID: \
        *(S *)p = (S)OF_INT_##kind(v); \
        break;
#include "core/dtypes.def"
    default: break;
    }
}

void tn__store_double(tn_dtype d, void *p, double v)
{
    switch (d) {
#define DTYPE(ID, token, name, S, kind, has, digits, type, ...) \
    case TN_##ID: \
        *(S *)p = (S)OF_REAL_##kind(S, v, type); \
        break;
#include "core/dtypes.def"
    default: break;
    }
}

double tn__scalar_double(const tn_scalar *s)
{
    switch (s->kind) {
    case TN_SCALAR_FLOAT: return s->v.f;
    case TN_SCALAR_UINT: return (double)s->v.u;
    default: return (double)s->v.i;
    }
}

int64_t tn__scalar_int(const tn_scalar *s)
{
    return s->kind == TN_SCALAR_FLOAT ? saturate(s->v.f) : s->v.i;
}

void tn__store_scalar(tn_dtype d, void *p, const tn_scalar *s)
{
    if (s->kind == TN_SCALAR_FLOAT || (s->kind == TN_SCALAR_UINT && tn__dtype_is_float(d)))
        tn__store_double(d, p, tn__scalar_double(s));
    else
        tn__store_int(d, p, s->v.i);
}

bool tn__number_fits(const tn_scalar *s, tn_dtype d)
{
    if (s->kind == TN_SCALAR_NONE || s->kind == TN_SCALAR_TENSOR || d == TN_BOOL || d == TN_F64)
        return true;
    double v = tn__scalar_double(s);
    if (tn__dtype_is_float(d))
        return !isfinite(v) || fabs(v) <= tn__dtypes[d].most;
    int bits = tn__dtypes[d].digits;
    if (s->kind == TN_SCALAR_FLOAT)
        return v >= (tn__dtypes[d].is_signed ? -ldexp(1, bits) : 0) && v < ldexp(1, bits);
    uint64_t most = UINT64_MAX >> (64 - bits);
    if (s->kind == TN_SCALAR_UINT || s->v.i >= 0)
        return s->v.u <= most;
    return bits == 64 || s->v.i >= (tn__dtypes[d].is_signed ? -(int64_t)most - 1 : -(int64_t)most);
}

tn_status tn__number_check(const tn_scalar *s, tn_dtype d)
{
    if (TN_LIKELY(tn__number_fits(s, d)))
        return TN_OK;
    return tn__error(TN_EINVAL, "value cannot be converted to type %s without overflow", tn__dtypes[d].value);
}

/* ---- public ---- */

const char *tn_dtype_name(tn_dtype dtype)
{
    return tn__dtype_exists(dtype) ? tn__dtypes[dtype].name : "invalid";
}

tn_dtype tn_dtype_parse(const char *name)
{
    static const char names[] =
#define DTYPE(ID, token, name, ...) name ", "
#include "core/dtypes.def"
        ;
    tn__enter(TN__NOWHERE);
    for (tn_dtype d = 1; name && d < (tn_dtype)TN__DTYPES; d++)
        if (!strcmp(name, tn__dtypes[d].name) || (tn__dtypes[d].older && !strcmp(name, tn__dtypes[d].older)))
            return d;
    tn__error(TN_EINVAL, "'%s' is not a dtype: %.*s", name ? name : "(null)", (int)sizeof names - 3, names);
    return TN_DTYPE_DEFAULT;
}

size_t tn_dtype_size(tn_dtype dtype)
{
    return tn__dtype_exists(dtype) ? tn__dtype_size(dtype) : 0;
}

bool tn_dtype_is_floating_point(tn_dtype dtype)
{
    return tn__dtype_exists(dtype) && tn__dtype_is_float(dtype);
}

tn_dtype tn_promote_types(tn_dtype a, tn_dtype b)
{
    return tn__dtype_exists(a) && tn__dtype_exists(b) ? tn__promote(a, b) : TN_DTYPE_DEFAULT;
}

bool tn_can_cast(tn_dtype from, tn_dtype to)
{
    return tn__dtype_exists(from) && tn__dtype_exists(to) && tn__can_cast(from, to);
}

tn_status tn_set_default_dtype(tn_dtype dtype)
{
    tn__enter(TN__NOWHERE);
    if (!tn_dtype_is_floating_point(dtype))
        return tn__error(TN_ETYPE, "only floating-point types are supported as the default type");
    atomic_store(&default_dtype, dtype);
    return TN_OK;
}

tn_dtype tn_get_default_dtype(void)
{
    return tn__default_dtype();
}
