/* tests/nvrtc/table.h: what the kernels of each family need, at most: the table of docs/gpu-kernels.md. */
#ifndef TENON_TESTS_NVRTC_TABLE_H
#define TENON_TESTS_NVRTC_TABLE_H

#include "compiler.h"
#include "judge.h"

enum { TABLE_ARCHS = 3 }; /* 75, 80, 90 */

typedef struct need {
    uint16_t registers, stack;
} need;

typedef struct table {
    need most[TN__FAMILIES][TABLE_ARCHS];
} table;

/* Adds a kernel of the family. */
void table_add(table *t, tn__gpu_family family, int arch, const facts *f);
void table_merge(table *t, const table *other);

/* As it stands in the document. */
void table_print(const table *t, const nvrtc *n);

/* Does the document's table say at least what was found? It is compared where the same CUDA made it, for others give out
 * registers otherwise. Prints each family that needs more. */
bool table_holds(const table *t, const nvrtc *n);

#endif
