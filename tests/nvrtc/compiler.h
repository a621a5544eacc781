/* tests/nvrtc/compiler.h: NVIDIA's compilers without a GPU: NVRTC, which makes PTX or machine code of a text, and the toolkit's
 * ptxas, which makes machine code of PTX and says what that needs. */
#ifndef TENON_TESTS_NVRTC_COMPILER_H
#define TENON_TESTS_NVRTC_COMPILER_H

#include "abi/abi.h"
#include <stdbool.h>
#include <stddef.h>

enum { MAX_ARCHS = 8 };

#define FN(name, symbol, older, parameters)       unsigned(*name) parameters;
#define OPTIONAL(name, symbol, older, parameters) unsigned(*name) parameters;
typedef struct nvrtc {
#include "abi/nvrtc.def"
    int major, minor;
    char ptxas[512]; /* its path; empty: there is none */
} nvrtc;

/* What becomes of a text. */
typedef enum compiled {
    READ_ONLY, /* PTX, optimised as little as NVRTC can: it refuses the same, in a sixth of the time */
    PTX,       /* as the library asks for it */
    MACHINE    /* a cubin, as the library asks for it */
} compiled;

/* False: there is no NVRTC of CUDA 11.8 or later. */
bool nvrtc_open(nvrtc *n);

/* Those of 75, 80, 90 (or of TENON_NVRTC_ARCHS) that this NVRTC knows. Returns how many. */
int nvrtc_archs(const nvrtc *n, int archs[MAX_ARCHS]);

/* What the text is compiled to, to be freed, and its size; NULL, with the compiler's messages printed, where it is refused. */
char *nvrtc_compile(const nvrtc *n, const char *text, const char *name, int arch, compiled to, size_t *size);

/* What 'ptxas -v' says of PTX: a string to be freed; NULL, with its messages printed, where it refuses it. */
char *ptxas_report(const nvrtc *n, const char *ptx, const char *name, int arch);

#endif
