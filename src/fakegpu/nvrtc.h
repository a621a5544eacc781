/* fakegpu/nvrtc.h: a program of the fake NVRTC: nvrtc.c, nvrtc_beside.c. */
#ifndef TENON_FAKEGPU_NVRTC_H
#define TENON_FAKEGPU_NVRTC_H

#include "fakegpu/compiler.h"
#include "fakegpu/fake.h"

#define FN(name, symbol, older, parameters)       FAKE_API unsigned symbol parameters;
#define OPTIONAL(name, symbol, older, parameters) FAKE_API unsigned symbol parameters;
#include "abi/nvrtc.def"
#define FN(name, symbol, since, parameters) FAKE_API unsigned symbol parameters;
#include "abi/nvrtc_beside.def"
FAKE_API const char *nvrtcGetErrorString(unsigned result);

enum {
    FAKE_NVRTC_OUT_OF_MEMORY = 1,
    FAKE_NVRTC_INVALID_INPUT = 3,
    FAKE_NVRTC_INVALID_PROGRAM = 4,
    FAKE_NVRTC_INVALID_OPTION = 5,
    FAKE_NVRTC_NO_NAMES_AFTER_COMPILATION = 8,
    FAKE_NVRTC_NO_LOWERED_NAMES_BEFORE_COMPILATION = 9,
    FAKE_NVRTC_NAME_NOT_VALID = 10
};

/* Strings that are owned. */
typedef struct fake_strings {
    char **at;
    int n;
} fake_strings;

struct _nvrtcProgram {
    char *text, *name;
    fake_strings header, header_name, expression;
    fake_text log, image;
    bool real;     /* a binary was asked for (sm_), not PTX alone */
    bool compiled; /* or tried to */
};

bool fake_strings_add(fake_strings *s, const char *text);
void fake_strings_free(fake_strings *s);

#endif
