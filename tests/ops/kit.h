/* tests/ops/kit.h: what the programs of this suite share: numbers, arrays of known values in every layout, comparison.
 *
 * Nothing here calls an operation of the library: conversions, rounding, index arithmetic and promotion are stated once
 * more, plainly, so that the library's own statements are checked and not repeated. Values travel as long double, which
 * must hold every int64 and more digits than a double (x86: 64); where it does not, programs say 'skipped'.
 */
#ifndef TENON_TESTS_OPS_KIT_H
#define TENON_TESTS_OPS_KIT_H

#include "op/op.h"
#undef TN_HERE /* tests are users: their calls are noted */
#define TN_HERE __FILE__ ":" TN__STR(__LINE__)
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <tenon/tenon.h>

typedef long double real;
#define KIT_INF ((real)INFINITY)
#define KIT_NAN ((real)NAN)

/* New dtypes are added behind the others: TENON_TEST_DTYPES=10 tests the first ten alone, with the numbers that they were
 * always tested with. */
enum { KIT_ALL_DTYPES = 10 };
extern const tn_dtype kit_dtypes[KIT_ALL_DTYPES];
extern int kit_dtypes_tested; /* all, or TENON_TEST_DTYPES */
#define KIT_DTYPES kit_dtypes_tested

/* ---- random numbers: splitmix64, so that every run is the same ---- */
void kit_seed(uint64_t seed);
/* By name, so that a row that is added changes nothing for the others. */
void kit_seed_by(const char *name, int64_t n);
/* A number that a name always has, in [0, n): rows choose by it, so that their order in the list says nothing. */
int kit_choice(const char *name, int n);
/* Does this run repeat what others try whole, or what takes long: under a sanitizer, on a GPU, whose kernels are compiled as
 * they are wanted, or on another instruction set (suite isa says TENON_TEST_SAMPLE=1; 0 asks for all)? It tries a part of the
 * dtypes then, each of them in another part of the layouts. */
bool kit_samples(void);
/* Is row i tried by this process? TENON_TEST_PART=K/N: by the K-th of N, from 0, which run side by side. */
bool kit_mine(int i);
uint64_t kit_random(void);
/* 0 .. n - 1 */
int64_t kit_below(int64_t n);
/* [lo, hi) */
double kit_uniform(double lo, double hi);

/* ---- dtypes ---- */
static inline bool kit_is_float(tn_dtype d)
{
    return d == TN_F16 || d == TN_BF16 || d == TN_F32 || d == TN_F64;
}
int kit_size(tn_dtype d);
/* PyTorch's promotion of two dtypes: torch.promote_types. */
tn_dtype kit_promote(tn_dtype a, tn_dtype b);
/* 0 bool, 1 integer, 2 floating */
int kit_category(tn_dtype d);
/* Bits of the significand, 53 for float64. */
int kit_digits(tn_dtype d);
/* Smallest and largest integer of an integer dtype. */
int64_t kit_min(tn_dtype d);
int64_t kit_max(tn_dtype d);

/* v as dtype d has it: floats rounded to nearest even; integers wrapped if v is whole, truncated and saturated through
 * int64 (int64) or int32 (others) if not; bool is v != 0. NaN becomes 0. */
real kit_round(real v, tn_dtype d);
/* A value of dtype 'from' converted to 'to', as PyTorch on x86 and Tenon convert: float64 reaches 16-bit floats through
 * float32; floats reach 8- and 16-bit integers through int32. */
real kit_convert(real v, tn_dtype from, tn_dtype to);
/* The exponent of the largest number of a float's dtype; bits of an integer as its dtype shows them, bool as 0 or 1. */
int kit_top_exponent(tn_dtype d);
real kit_wrapped(uint64_t bits, tn_dtype d);
/* One element in memory. */
real kit_load(tn_dtype d, const void *p);
void kit_store(tn_dtype d, void *p, real v);
/* A 16-bit float of these bits, and the bits of the nearest one */
real kit_widened(uint16_t bits, tn_dtype d);
uint16_t kit_narrowed(real v, tn_dtype d);

/* How many representable numbers of dtype d lie between; 0 for equal, +0 and -0 included; INT64_MAX if one is NaN. */
int64_t kit_ulps(tn_dtype d, real a, real b);
/* Distance from |v| to the next larger number of dtype d. */
real kit_ulp(tn_dtype d, real v);

/* ---- arrays: values known to the test, and a tensor that shows them in some layout ---- */
typedef enum kit_layout {
    KIT_DENSE,      /* row-major */
    KIT_UNALIGNED,  /* row-major, one element past an aligned address */
    KIT_TRANSPOSED, /* first dimension fastest */
    KIT_ROTATED,    /* dimensions rotated by one */
    KIT_SLICED,     /* every dimension with step 2 and an offset: a view of a larger tensor */
    KIT_STEPPED,    /* the last dimension with step 3 */
    KIT_EXPANDED,   /* the first dimension larger than 1 has stride 0: its values repeat */
    KIT_LAYOUTS
} kit_layout;
extern const char *const kit_layout_names[KIT_LAYOUTS];

typedef struct kit_array {
    tn_dtype dtype;
    kit_layout layout;
    int32_t ndim;
    int64_t shape[TN_MAX_DIMS], stride[TN_MAX_DIMS], numel;
    real *v;              /* [numel], row-major */
    tn_tensor *t;         /* belongs to the scope that was open */
    unsigned char *bytes; /* the memory t shows, and more; released with t's storage */
    size_t size, offset;  /* of bytes; of element 0 in it */
    tn_tensor *flat;      /* on other devices than the CPU: all of that memory, which t is a view of */
} kit_array;

/* Memory for values; fill .v, then kit_show. */
void kit_array_init(kit_array *a, tn_dtype dtype, int32_t ndim, const int64_t *shape, kit_layout layout);
/* Writes the values (rounded to the dtype) to memory of the layout and makes the tensor. */
void kit_show(kit_array *a);
/* Writes one element to the memory that is shown, wherever it is, behind the library's back: no version goes up. */
void kit_poke(kit_array *a, int64_t i, real v);
/* Frees the values; the tensor and its memory belong to the scope. */
void kit_array_free(kit_array *a);
/* The array's row-major index of the element that broadcasting shows at row-major index i of the larger shape. */
int64_t kit_broadcast(const kit_array *a, int32_t ndim, const int64_t *shape, int64_t i);
/* Under AddressSanitizer, shuts what of the memory is no element of the tensor, and what is behind it, so that reading there
 * is an error (kit_show does); or opens it, for views of more than the tensor shows. Before an element that begins between two
 * eighth bytes nothing can be shut. Real GPUs' memory stays open; that of fakes is shut as the CPU's, but for the rest of a
 * word of four bytes. */
void kit_fence(const kit_array *a, bool shut);
/* Bytes of the memory behind the tensor that are no element of it are as kit_show left them. */
bool kit_surroundings_intact(const kit_array *a);

/* Row-major index to coordinates, and back with strides. */
void kit_unravel(int64_t i, int32_t ndim, const int64_t *shape, int64_t *at);
int64_t kit_ravel(int32_t ndim, const int64_t *stride, const int64_t *at);
int64_t kit_count(int32_t ndim, const int64_t *shape);
/* Element at row-major index i of a tensor, by its strides. */
real kit_item(const tn_tensor *t, int64_t i);

/* A value of dtype d: special ones (NaN, infinities, zeros, subnormals, extremes), whole ones, and of all magnitudes. */
real kit_any_value(tn_dtype d);
/* A tame one: |v| <= 10. */
real kit_tame_value(tn_dtype d);
/* Special values of a dtype; returns how many. */
int kit_specials(tn_dtype d, const real **out);

/* ---- where ---- */

/* The device that arrays are shown on, and the default of factories: TENON_TEST_DEVICE, else the CPU. */
tn_device kit_device(void);
static inline bool kit_on_cpu(void)
{
    return kit_device().type == TN_DEVICE_CPU;
}
/* The tensor's values on the host; borrowed until the next call. NULL, with the error set, where that fails. */
const tn_tensor *kit_host(const tn_tensor *t);
/* "avx512", "cuda:0, Tenon fake GPU": for the counts that programs print. */
const char *kit_where(void);

/* ---- counting ---- */
typedef struct kit_tally {
    int64_t cases, elements, failures;
} kit_tally;
extern kit_tally kit;

/* Notes a failure: prints the first 60. Returns false. */
bool kit_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints the total and gives main's exit status; also asks that no tensor is alive. */
int kit_finish(const char *what);
/* Begins a program: ends it if the device is not there. False, having said so, where long double is no wider than
 * double. */
bool kit_can_run(void);

/* A text of a shape, in a buffer that the 8th next call overwrites. */
const char *kit_shape_text(int32_t ndim, const int64_t *shape);

#endif
