/* Random numbers, arrays and comparison, stated once more and plainly. */
#include "ops/kit.h"
#include "backend/backend.h"
#include "backend/cpu/isa.h"
#include "backend/cuda/cuda.h"
#include "ops/digest.h"
#include <stdarg.h>
#include <string.h>
#if TN_ASAN
#include <sanitizer/asan_interface.h>
#endif

const tn_dtype kit_dtypes[KIT_ALL_DTYPES] = {TN_BOOL, TN_U8,  TN_I8,   TN_I16, TN_I32,
                                             TN_I64,  TN_F16, TN_BF16, TN_F32, TN_F64};
int kit_dtypes_tested = KIT_ALL_DTYPES;
const char *const kit_layout_names[KIT_LAYOUTS] = {"dense",  "unaligned", "transposed", "rotated",
                                                   "sliced", "stepped",   "expanded"};
kit_tally kit;

/* ---- random numbers ---- */

static uint64_t state = 1;

void kit_seed(uint64_t seed)
{
    state = seed;
}

static uint64_t hash_of(const char *name)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return h;
}

void kit_seed_by(const char *name, int64_t n)
{
    kit_seed(hash_of(name) + (uint64_t)n);
}

int kit_choice(const char *name, int n)
{
    const uint64_t h = hash_of(name);
    return (int)((h ^ h >> 29) % (uint64_t)n);
}

bool kit_samples(void)
{
    const char *said = getenv("TENON_TEST_SAMPLE");
    return said ? strcmp(said, "0") != 0 : TN_ASAN || !kit_on_cpu();
}

bool kit_mine(int i)
{
    static int part = -1, parts = 1;
    const char *said = part < 0 ? getenv("TENON_TEST_PART") : NULL;
    if (said && sscanf(said, "%d/%d", &part, &parts) == 2 && part >= 0 && part < parts)
        printf("note: part %d of %d\n", part, parts);
    else if (part < 0)
        part = 0, parts = 1;
    return i % parts == part;
}

/* https://prng.di.unimi.it/splitmix64.c */
uint64_t kit_random(void)
{
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

int64_t kit_below(int64_t n)
{
    return (int64_t)(kit_random() % (uint64_t)n);
}

double kit_uniform(double lo, double hi)
{
    return lo + (hi - lo) * (double)(kit_random() >> 11) * 0x1p-53;
}

/* ---- elements ---- */

real kit_load(tn_dtype d, const void *p)
{
    switch (d) {
    case TN_BOOL: return *(const uint8_t *)p != 0;
    case TN_U8: return *(const uint8_t *)p;
    case TN_I8: return *(const int8_t *)p;
    case TN_I16: return *(const int16_t *)p;
    case TN_I32: return *(const int32_t *)p;
    case TN_I64: return (real) * (const int64_t *)p;
    case TN_F16:
    case TN_BF16: return kit_widened(*(const uint16_t *)p, d);
    case TN_F32: return (real) * (const float *)p;
    default: return (real) * (const double *)p;
    }
}

void kit_store(tn_dtype d, void *p, real v)
{
    switch (d) {
    case TN_BOOL: *(uint8_t *)p = v != 0; break;
    case TN_U8: *(uint8_t *)p = (uint8_t)v; break;
    case TN_I8: *(int8_t *)p = (int8_t)v; break;
    case TN_I16: *(int16_t *)p = (int16_t)v; break;
    case TN_I32: *(int32_t *)p = (int32_t)v; break;
    case TN_I64: *(int64_t *)p = (int64_t)v; break;
    case TN_F16:
    case TN_BF16: *(uint16_t *)p = kit_narrowed(v, d); break;
    case TN_F32: *(float *)p = (float)v; break;
    default: *(double *)p = (double)v; break;
    }
}

real kit_item(const tn_tensor *t, int64_t i)
{
    int64_t at[TN_MAX_DIMS];
    if (!(t = kit_host(t)))
        return KIT_NAN;
    tn_dims shape = tn_tensor_shape(t), stride = tn_tensor_stride(t);
    kit_unravel(i, shape.ndim, shape.dim, at);
    tn_dtype d = tn_tensor_dtype(t);
    return kit_load(d, (const char *)tn_data(t) + kit_ravel(shape.ndim, stride.dim, at) * kit_size(d));
}

int64_t kit_broadcast(const kit_array *a, int32_t ndim, const int64_t *shape, int64_t i)
{
    int64_t o = 0, step = 1;
    if (a->numel == 1)
        return 0;
    for (int32_t d = ndim - 1, k = a->ndim - 1; k >= 0; d--, k--) {
        if (a->shape[k] != 1)
            o += i % shape[d] * step;
        i /= shape[d];
        step *= a->shape[k];
    }
    return o;
}

/* ---- arrays ---- */

void kit_array_init(kit_array *a, tn_dtype dtype, int32_t ndim, const int64_t *shape, kit_layout layout)
{
    *a = (kit_array){.dtype = dtype, .layout = layout, .ndim = ndim};
    for (int32_t d = 0; d < ndim; d++)
        a->shape[d] = shape[d];
    a->numel = kit_count(ndim, shape);
    a->v = calloc((size_t)(a->numel ? a->numel : 1), sizeof *a->v);
}

/* So many elements from one to the next; under AddressSanitizer, which shuts memory behind every eighth byte, as many more
 * as let each element begin at one. */
static int64_t apart(tn_dtype d, int64_t steps)
{
    const int64_t whole = TN_ASAN ? TN_MAX(8 / kit_size(d), 1) : 1;
    return (steps + whole - 1) / whole * whole;
}

/* Strides of dimensions of size 1 find nothing: they may be any, in layouts that are views of a larger tensor. */
static void say_nothing(kit_array *a)
{
    static const int64_t any[] = {0, INT64_C(1) << 40, 7, INT64_MAX / 8};
    const bool view = a->layout == KIT_SLICED || a->layout == KIT_STEPPED || a->layout == KIT_EXPANDED;
    for (int32_t d = 0; view && d < a->ndim; d++)
        if (a->shape[d] == 1)
            a->stride[d] = any[(size_t)(d + (int)a->layout + (int)a->dtype) % TN_COUNT(any)];
}

/* Strides in elements, and how many elements of memory the layout takes; *first: where element 0 lies. */
static int64_t lay_out(kit_array *a, int64_t *first)
{
    int64_t step = 1;
    bool expanded = false;
    *first = a->layout == KIT_UNALIGNED;
    for (int32_t i = 0; i < a->ndim; i++) {
        int32_t d = a->ndim - 1 - i;
        if (a->layout == KIT_TRANSPOSED)
            d = i;
        else if (a->layout == KIT_ROTATED)
            d = (a->ndim - i) % a->ndim;
        int64_t n = a->shape[d] > 0 ? a->shape[d] : 1, by = 1;
        if (a->layout == KIT_SLICED)
            by = i == 0 ? apart(a->dtype, 2) : 2;
        else if (a->layout == KIT_STEPPED && i == 0)
            by = apart(a->dtype, 3);
        a->stride[d] = step * by;
        if (a->layout == KIT_SLICED)
            *first += step;
        step *= n * by;
    }
    for (int32_t d = 0; a->layout == KIT_EXPANDED && d < a->ndim && !expanded; d++)
        if (a->shape[d] > 1) {
            a->stride[d] = 0;
            expanded = true;
        }
    say_nothing(a);
    const int64_t room = step + *first;
    if (a->numel == 0 &&
        a->layout == KIT_SLICED) /* an empty view behind the last element; others lie before the first */
        *first = room;
    return room;
}

/* Values along the expanded dimension repeat: element i has that of the element it shares memory with. */
static void repeat_values(kit_array *a)
{
    int64_t at[TN_MAX_DIMS], dense[TN_MAX_DIMS], step = 1;
    for (int32_t d = a->ndim - 1; d >= 0; d--) {
        dense[d] = step;
        step *= a->shape[d];
    }
    for (int64_t i = 0; i < a->numel; i++) {
        kit_unravel(i, a->ndim, a->shape, at);
        for (int32_t d = 0; d < a->ndim; d++)
            if (a->stride[d] == 0)
                at[d] = 0;
        a->v[i] = a->v[kit_ravel(a->ndim, dense, at)];
    }
}

#if TN_ASAN
/* Shuts or opens bytes of the array's memory, at an offset, wherever it is. */
static void shut_bytes(const kit_array *a, size_t at, size_t bytes, bool shut)
{
    if (a->flat && tn__cu.fake_asan_poison)
        tn__cu.fake_asan_poison((char *)a->flat->storage->data + at, bytes, shut);
    else if (!a->flat && shut)
        __asan_poison_memory_region(a->bytes + at, bytes);
    else if (!a->flat)
        __asan_unpoison_memory_region(a->bytes + at, bytes);
}
#endif

void kit_fence(const kit_array *a, bool shut)
{
#if TN_ASAN
    int64_t at[TN_MAX_DIMS], size = kit_size(a->dtype);
    if (a->flat && tn_synchronize(kit_device())) /* the first work on a tensor opens its memory */
        kit_fail("a device is lost: %s", tn_error_message());
    const size_t room = a->flat ? a->size : (a->size + 127) / 64 * 64;
    shut_bytes(a, 0, room, shut);
    for (int64_t i = 0; shut && i < a->numel; i++) {
        kit_unravel(i, a->ndim, a->shape, at);
        const size_t first = a->offset + (size_t)(kit_ravel(a->ndim, a->stride, at) * size);
        size_t end = first + (size_t)size;
        if (a->flat) /* small dtypes are added to by exchanging the word that they lie in */
            end = TN_MIN((end + 3) / 4 * 4, room);
        shut_bytes(a, first / 8 * 8, end - first / 8 * 8, false);
    }
#else
    (void)a, (void)shut;
#endif
}

void kit_show(kit_array *a)
{
    int64_t first, at[TN_MAX_DIMS], size = kit_size(a->dtype), room = lay_out(a, &first);
    a->size = (size_t)(room * size);
    a->offset = (size_t)(first * size);
    a->bytes = aligned_alloc(64, (a->size + 127) / 64 * 64);
    memset(a->bytes, 0x01, a->size); /* also a valid bool */
    if (a->layout == KIT_EXPANDED)
        repeat_values(a);
    for (int64_t i = 0; i < a->numel; i++) {
        kit_unravel(i, a->ndim, a->shape, at);
        a->v[i] = kit_round(a->v[i], a->dtype);
        kit_store(a->dtype, a->bytes + (first + kit_ravel(a->ndim, a->stride, at)) * size, a->v[i]);
    }
    const tn_dims shape = tn_dims_of(a->shape, a->ndim), stride = tn_dims_of(a->stride, a->ndim);
    if (!kit_on_cpu()) {
        tn_tensor *whole = tn_from_data(a->bytes, a->dtype, TN_SHAPE(room), .release = free, .ctx = a->bytes);
        a->flat = tn_to(whole, .device = kit_device());
        a->t = tn_as_strided(a->flat, shape, stride, first);
    } else if (a->layout == KIT_SLICED || a->layout == KIT_STEPPED || a->layout == KIT_EXPANDED) {
        tn_tensor *whole = tn_from_data(a->bytes, a->dtype, TN_SHAPE(room), .release = free, .ctx = a->bytes);
        a->t = tn_as_strided(whole, shape, stride, first);
    } else {
        a->t = tn_from_data(a->bytes + a->offset, a->dtype, shape, .stride = stride, .release = free, .ctx = a->bytes);
    }
    if (!a->t)
        kit_fail("an array could not be made: %s", tn_error_message());
    else
        kit_fence(a, true);
}

void kit_array_free(kit_array *a)
{
    free(a->v);
    a->v = NULL;
}

bool kit_surroundings_intact(const kit_array *a)
{
    int64_t at[TN_MAX_DIMS], size = kit_size(a->dtype);
    unsigned char *mine = calloc(a->size ? a->size : 1, 1);
    kit_fence(a, false);
    const tn_tensor *host = a->flat ? kit_host(a->flat) : NULL;
    const unsigned char *bytes = host ? tn_data(host) : a->bytes;
    bool intact = !a->flat || host;
    for (int64_t i = 0; i < a->numel; i++) {
        kit_unravel(i, a->ndim, a->shape, at);
        memset(mine + (int64_t)a->offset + kit_ravel(a->ndim, a->stride, at) * size, 1, (size_t)size);
    }
    for (size_t i = 0; i < a->size; i++)
        intact &= mine[i] || bytes[i] == 0x01;
    free(mine);
    kit_fence(a, true);
    return intact;
}

/* ---- values ---- */

int kit_specials(tn_dtype d, const real **out)
{
    static real v[32];
    int n = 0;
    *out = v;
    if (d == TN_BOOL) {
        v[n++] = 0;
        v[n++] = 1;
        return n;
    }
    static const real small[] = {0, 1, 2, 3, 7, 10, -1, -2, -3, -7};
    for (size_t i = 0; i < TN_COUNT(small); i++)
        if (small[i] >= 0 || d != TN_U8)
            v[n++] = small[i];
    if (!kit_is_float(d)) {
        v[n++] = (real)kit_min(d);
        v[n++] = (real)kit_max(d);
        v[n++] = (real)(kit_min(d) + 1);
        v[n++] = (real)(kit_max(d) - 1);
        v[n++] = (real)(kit_max(d) / 2 + 1);
        return n;
    }
    int top = kit_top_exponent(d), digits = kit_digits(d);
    const real least = ldexpl(1, 1 - top - (digits - 1)), normal = ldexpl(1, 1 - top);
    const real most = ldexpl(2 - ldexpl(1, 1 - digits), top), eps = ldexpl(1, 1 - digits);
    const real more[] = {
        KIT_NAN, KIT_INF,     -KIT_INF, -0.0L, least, -least, normal - least, -normal,           most, -most,
        1 + eps, 1 - eps / 2, 0.5L,     -0.5L, 1.5L,  2.5L,   -2.5L,          ldexpl(1, digits), 0.1L};
    for (size_t i = 0; i < TN_COUNT(more); i++)
        v[n++] = kit_round(more[i], d);
    return n;
}

real kit_tame_value(tn_dtype d)
{
    if (d == TN_BOOL)
        return (real)kit_below(2);
    if (!kit_is_float(d))
        return (real)(kit_below(d == TN_U8 ? 11 : 21) - (d == TN_U8 ? 0 : 10));
    return kit_round((real)kit_uniform(-10, 10), d);
}

real kit_any_value(tn_dtype d)
{
    const real *special;
    uint64_t how = kit_random() % 8;
    if (how == 0) {
        int n = kit_specials(d, &special);
        return special[kit_below(n)];
    }
    if (how < 5)
        return kit_tame_value(d);
    if (!kit_is_float(d))
        return kit_wrapped(kit_random(), d == TN_BOOL ? TN_BOOL : d);
    if (how == 5)
        return (real)(kit_below(41) - 20);
    int top = kit_top_exponent(d);
    real m = (real)kit_uniform(1, 2) * (kit_random() & 1 ? 1 : -1);
    return kit_round(ldexpl(m, (int)kit_below(2 * top) - top), d);
}

/* ---- where ---- */

tn_device kit_device(void)
{
    static tn_device d;
    const char *name = getenv("TENON_TEST_DEVICE");
    if (!d.type)
        d = name && *name ? tn_device_parse(name) : TN_CPU;
    return d;
}

/* The last tensor that was read: its copy is good while nobody wrote to it. Kept, so that its address stays its own. */
static struct {
    tn_tensor *of, *copy;
    uint32_t version;
} last;

static void forget_last(void)
{
    tn_release(last.of);
    tn_release(last.copy);
    last.of = last.copy = NULL;
}

const tn_tensor *kit_host(const tn_tensor *t)
{
    if (!t || tn_tensor_device(t).type == TN_DEVICE_CPU)
        return t;
    if (t == last.of && tn_tensor_version(t) == last.version)
        return last.copy;
    forget_last();
    bool was = tn_set_grad_enabled(false);
    tn_scope *scope = tn_scope_open();
    tn_tensor *copy = tn_cpu((tn_tensor *)(uintptr_t)t);
    if (copy) {
        last.copy = tn_keep(copy);
        last.of = tn_retain((tn_tensor *)(uintptr_t)t);
        last.version = tn_tensor_version(t);
    }
    tn_scope_close(scope);
    tn_set_grad_enabled(was);
    return last.copy;
}

const char *kit_where(void)
{
    static char text[128];
    tn_device_info all[64];
    if (kit_on_cpu())
        return tn__isa()->name;
    size_t n = tn_devices(all, TN_COUNT(all));
    for (size_t i = 0; i < n && i < TN_COUNT(all); i++)
        if (tn_device_equal(all[i].device, tn_device_make(kit_device().type, TN_MAX(kit_device().index, 0))))
            snprintf(text, sizeof text, "%s, %s", tn_device_text(all[i].device).s, all[i].name);
    return text;
}

void kit_poke(kit_array *a, int64_t i, real v)
{
    int64_t at[TN_MAX_DIMS], size = kit_size(a->dtype);
    kit_unravel(i, a->ndim, a->shape, at);
    const size_t offset = a->offset + (size_t)(kit_ravel(a->ndim, a->stride, at) * size);
    if (!a->flat) {
        kit_store(a->dtype, a->bytes + offset, v);
        return;
    }
    unsigned char element[8];
    const tn_device d = a->flat->device;
    kit_store(a->dtype, element, v);
    forget_last();
    if (tn__backend_of(d)->mover->upload(d, (char *)a->flat->storage->data + offset, element, (size_t)size, false,
                                         false))
        kit_fail("an element could not be written: %s", tn_error_message());
}

/* ---- counting ---- */

bool kit_fail(const char *format, ...)
{
    va_list ap;
    if (kit.failures++ < 60) {
        printf("  FAILED ");
        va_start(ap, format);
        vprintf(format, ap);
        va_end(ap);
        printf("\n");
    }
    return false;
}

int kit_finish(const char *what)
{
    digest_write();
    forget_last();
    if (tn_live_tensors())
        kit_fail("%lld tensors are still alive", (long long)tn_live_tensors());
    printf("count: %s: %lld cases, %lld elements, %lld failures\n", what, (long long)kit.cases, (long long)kit.elements,
           (long long)kit.failures);
    return kit.failures ? 1 : 0;
}

bool kit_can_run(void)
{
    if (!kit_on_cpu() && tn_set_default_device(kit_device())) {
        printf("FAILED: TENON_TEST_DEVICE=%s: %s\n", getenv("TENON_TEST_DEVICE"), tn_error_message());
        exit(1);
    }
    const char *dtypes = getenv("TENON_TEST_DTYPES");
    if (dtypes && atoi(dtypes) > 0 && atoi(dtypes) < KIT_ALL_DTYPES)
        kit_dtypes_tested = atoi(dtypes);
    if (LDBL_MANT_DIG >= 64)
        return true;
    printf("skipped: long double has %d bits here, so it is no reference for float64 and int64\n", LDBL_MANT_DIG);
    return false;
}

const char *kit_shape_text(int32_t ndim, const int64_t *shape)
{
    static char text[8][128];
    static int next;
    char *s = text[next++ & 7];
    size_t n = (size_t)snprintf(s, sizeof text[0], "[");
    for (int32_t d = 0; d < ndim && n < sizeof text[0] - 24; d++)
        n += (size_t)snprintf(s + n, sizeof text[0] - n, d ? ", %lld" : "%lld", (long long)shape[d]);
    snprintf(s + n, sizeof text[0] - n, "]");
    return s;
}
