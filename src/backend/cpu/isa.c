/* backend/cpu/isa.c: every loop of backend/cpu/isa.h, compiled once per instruction set into one const table. Contraction
 * is off: results that must be the same everywhere are. op/cpu_loops.inc.h is what families have of their own
 * (ops/<family>/cpu_loops.inc.h), for each compute type, all in this one unit. */
#include "backend/cpu/isa.h"
#include "backend/cpu/math.inc.h"
#include "backend/cpu/math_power.inc.h"
#include "backend/cpu/math_double.inc.h"
#include "backend/cpu/math_names.h"
#include "backend/cpu/math_narrow.inc.h"
#include "backend/cpu/vector.inc.h"
#include "backend/cpu/half.inc.h"
#include "backend/cpu/memory.inc.h"
#include "backend/cpu/short_rows.inc.h"

#define JOIN2(a, b) a##b
#define JOIN(a, b)  JOIN2(a, b)

#define from_f32_f32(v) (v)
#define from_f32_f64(v) (v)
#define from_f32_i32(v) saturate_f32_i32(v)
#define from_f32_i64(v) saturate_f32_i64(v)
#define from_f64_f32(v) ((float)(v))
#define from_f64_f64(v) (v)
#define from_f64_i32(v) saturate_f64_i32(v)
#define from_f64_i64(v) saturate_f64_i64(v)
#define to_i32_f32(v)   saturate_f32_i32(v)
#define to_i64_f32(v)   saturate_f32_i64(v)
#define to_i32_f64(v)   saturate_f64_i32(v)
#define to_i64_f64(v)   saturate_f64_i64(v)

#include "backend/cpu/type_f32.h"
#include "backend/cpu/rows.inc.h"
#include "backend/cpu/convert.inc.h"
#include "op/cpu_loops.inc.h"
#include "op/element_undef.h"

#include "backend/cpu/type_f64.h"
#include "backend/cpu/rows.inc.h"
#include "backend/cpu/convert.inc.h"
#include "op/cpu_loops.inc.h"
#include "op/element_undef.h"

#include "backend/cpu/type_i32.h"
#include "backend/cpu/rows.inc.h"
#include "backend/cpu/convert.inc.h"
#include "op/cpu_loops.inc.h"
#include "op/element_undef.h"

#include "backend/cpu/type_i64.h"
#include "backend/cpu/rows.inc.h"
#include "backend/cpu/convert.inc.h"
#include "op/cpu_loops.inc.h"
#include "op/element_undef.h"

/* ---- the table ---- */

/* clang-format off */
#define ALL(name)          {row_##name##_f32, row_##name##_f64, row_##name##_i32, row_##name##_i64}
#define FLOATS(name)       {row_##name##_f32, row_##name##_f64}
#define INTEGERS(name)     {NULL, NULL, row_##name##_i32, row_##name##_i64}
#define ENTRY(rule, name)  [TN__OP_##name] = ENTRY_##rule(name),
#define ENTRY_R_SAME       ALL
#define ENTRY_R_NUMBER     ALL
#define ENTRY_R_NEG        ALL
#define ENTRY_R_RELU       ALL
#define ENTRY_R_LONG       ALL
#define ENTRY_R_FLOAT      FLOATS
#define ENTRY_R_FLOATING   FLOATS
#define ENTRY_R_TEST       ALL
#define ENTRY_R_PROMOTE    ALL
#define ENTRY_R_BITS       INTEGERS
#define ENTRY_R_INTEGER    INTEGERS
#define ENTRY_R_SUB        ALL
#define ENTRY_R_DIVIDE     ALL
#define ENTRY_R_POW        ALL
#define ENTRY_R_CLAMP      ALL
#define ENTRY_R_WHERE      ALL
#define ENTRY_R_FILL       ALL
#define FOUR(name)         {name##_f32, name##_f64, name##_i32, name##_i64}
#define TWO(name)          {name##_f32, name##_f64}
#define TEXT2(x)           #x
#define TEXT(x)            TEXT2(x)

static const tn__numbers numbers[] = {
#define NUMBER_B(name, rule, ...)  {1, TN__OP_##name, ENTRY_##rule(b_##name)},
#define NUMBER_C(name, rule, ...)  {2, TN__OP_##name, ENTRY_##rule(c_##name)},
#define NUMBER_BC(name, rule, ...) {3, TN__OP_##name, ENTRY_##rule(bc_##name)},
#include "op/elementwise.def"
    NUMBER_LOOPS
    {0}
};

extern const tn__gemm_isa JOIN(tn__gemm_, TN_ISA)[TN__TYPES];

const tn__cpu_isa JOIN(tn__isa_, TN_ISA) = {
    .name = TEXT(TN_ISA),
    .loops = {
#define UNARY(name, rule, ...)   ENTRY(rule, name)
#define BINARY(name, rule, ...)  ENTRY(rule, name)
#define TERNARY(name, rule, ...) ENTRY(rule, name)
#include "op/elementwise.def"
    },
    .load = {
#define DTYPE(ID, token, ...) [TN_##ID] = FOUR(load_##token),
#include "core/dtypes.def"
    },
    .store = {
#define DTYPE(ID, token, ...) [TN_##ID] = FOUR(store_##token),
#include "core/dtypes.def"
    },
    .half = {HALF_LOOPS},
    .narrow = {
#define NARROW_UNARY(name, ...)   [TN__OP_##name] = row_narrow_##name##_f32,
#define NARROW_BINARY(name, ...)  [TN__OP_##name] = row_narrow_##name##_f32,
#define NARROW_TERNARY(name, ...) [TN__OP_##name] = row_narrow_##name##_f32,
#include "op/elementwise.def"
    },
    .one = {
#define LIGHT_BINARY(name, ...)  [TN__OP_##name] = {FLOATS(first_##name), FLOATS(second_##name)},
#include "op/elementwise.def"
    },
    .bfloat = {
#define LIGHT_UNARY(name, ...)   [TN__OP_##name] = {bfloat_##name},
#define LIGHT_BINARY(name, ...)  [TN__OP_##name] = {bfloat_##name, bfloat_both_##name, bfloat_first_##name, \
                                                     bfloat_second_##name},
#define LIGHT_TERNARY(name, ...) [TN__OP_##name] = {bfloat_##name, bfloat_both_##name, bfloat_second_##name},
#include "op/elementwise.def"
        BFLOAT_LOOPS
    },
    .numbers = numbers,
    .bfloats_to_ints = BFLOATS_TO_INTS,
    .stream = stream,
    .move = move,
    .move_rows = move_rows,
    .has_zero = FOUR(has_zero),
    .transpose = transpose,
    .gemm = JOIN(tn__gemm_, TN_ISA),
#define LOOPS(family) .family = LOOPS_##family,
#include "op/cpu_loops.def"
};
/* clang-format on */
