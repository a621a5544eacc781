/* tests/nvrtc/faulty.h: kernels with one fault each, which the judge must find, and the same without it. */
#ifndef TENON_TESTS_NVRTC_FAULTY_H
#define TENON_TESTS_NVRTC_FAULTY_H

#include "compiler.h"

/* How many of them are judged wrongly: printed. *n: of how many. */
int faulty_kernels(const nvrtc *with, int arch, int *n);

#endif
