/* backend/cpu/vector.inc.h: 64-byte vectors in GCC's and clang's vector extension: one register with AVX-512, two with
 * AVX2, four with SSE2 or NEON. Reductions written with them add in the same order whatever the instruction set. */
typedef float vf32 __attribute__((vector_size(64)));
typedef double vf64 __attribute__((vector_size(64)));
typedef int32_t vi32 __attribute__((vector_size(64)));
typedef int64_t vi64 __attribute__((vector_size(64)));
/* the same, anywhere in memory */
typedef float uf32 __attribute__((vector_size(64), aligned(4), may_alias));
typedef double uf64 __attribute__((vector_size(64), aligned(8), may_alias));
