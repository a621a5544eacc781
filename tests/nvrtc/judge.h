/* tests/nvrtc/judge.h: what a kernel must be like, read from its PTX, from what ptxas says of it, and from the unit's text.
 *
 *   - it says how many items a group has at most (KERNEL_N, KERNEL_BN): .maxntid in PTX;
 *   - their registers, in the steps in which they are given out, are at most the 65,536 of a multiprocessor;
 *   - no register is spilled, and it has no stack, but as much as STACK(kernel, bytes) in the text allows it;
 *   - its struct arguments are FIXED;
 *   - it loads and stores 16 bytes at once where its family does (wide.c). */
#ifndef TENON_TESTS_NVRTC_JUDGE_H
#define TENON_TESTS_NVRTC_JUDGE_H

#include "backend/gpu/gpu.h"

enum { MAX_KERNELS = 1024 }; /* of a unit */

typedef struct facts {
    char name[96];
    int items, structs, loads, stores; /* of PTX: 0 items: not said; arguments that are structs; accesses of 16 bytes */
    int registers, stack, spilled, reported; /* of ptxas: bytes; 0 reported: it was not asked */
} facts;

/* The kernels of PTX; how many. */
int judge_read_ptx(const char *ptx, facts *f, int cap);

/* Adds what 'ptxas -v' reports. Returns how many of the n kernels it reports. */
int judge_read_report(const char *report, facts *f, int n);

/* What a unit's kernels of a name are to do 16 bytes at once. */
typedef struct wide {
    bool loads, stores;
} wide;
wide judge_wide(const tn__gpu_unit *u, const char *kernel);

/* Is the kernel as it must be? If not, 'why' says what is wrong. */
bool judge(const facts *f, const char *text, wide asked, char *why, size_t size);

/* The declaration "KERNEL...(name" in the text that a kernel of PTX comes from (add_flat: flat); NULL: none. */
const char *judge_declaration(const char *text, const char *kernel);

#endif
