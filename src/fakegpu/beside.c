/* For programs that know nothing of Tenon: driver functions by name, reports where such a program's user sees them. */
#include "fakegpu/driver.h"
#include "fakegpu/env.h"
#include <ctype.h>
#include <string.h>
#include <unistd.h>

void fake_show(const char *report)
{
    if (!fake_env_flag("TENON_FAKE_GPU_REPORT", false))
        return;
    char line[4352] = "fake GPU: ";
    const size_t head = strlen(line), n = strnlen(report, sizeof line - head - 1);
    memcpy(line + head, report, n);
    line[head + n] = '\n';
    const ssize_t written = write(STDERR_FILENO, line, head + n + 1); /* in one piece; nobody to tell if it fails */
    (void)written;
}

/* ---- functions by name ---- */

typedef void (*function)(void);

typedef struct entry {
    const char *symbol;
    int since; /* the first version of CUDA that has it */
    function call;
} entry;

/* What Tenon calls is there since CUDA 11.8 at the latest: cuda.def. */
static const entry entries[] = {
#define FN(name, symbol, older, parameters)       {#symbol, 0, (function)symbol},
#define OPTIONAL(name, symbol, older, parameters) FN(name, symbol, older, parameters)
#include "abi/cuda.def"
#define FN(name, symbol, since, parameters)    {#symbol, since, (function)symbol},
#define NEWER(name, symbol, since, parameters) FN(name, symbol, since, parameters)
#include "abi/cuda_beside.def"
};

/* The version of a function that the symbol is: cuMemAlloc_v2 is the second 'cuMemAlloc'. 0: it is another function. */
static int version_of(const char *symbol, const char *name)
{
    const size_t n = strlen(name);
    if (strncmp(symbol, name, n) != 0)
        return 0;
    const char *rest = symbol + n;
    if (!*rest)
        return 1;
    return rest[0] == '_' && rest[1] == 'v' && isdigit((unsigned char)rest[2]) && !rest[3] ? rest[2] - '0' : 0;
}

/* As cuda.h of that version would choose. A version that is not sufficient is said to be so. */
static unsigned look_up(const char *name, int version, void **found)
{
    enum { FOUND, NOT_FOUND, TOO_OLD };
    unsigned status = NOT_FOUND;
    int best = 0;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        const int v = version_of(entries[i].symbol, name);
        if (v && entries[i].since > version && status == NOT_FOUND)
            status = TOO_OLD;
        if (v <= best || entries[i].since > version)
            continue;
        best = v;
        memcpy(found, &entries[i].call, sizeof *found);
        status = FOUND;
    }
    return status;
}

tn__cu_result cuGetProcAddress_v2(const char *symbol, void **found, int version, uint64_t flags, unsigned *status)
{
    const uint64_t known = 3; /* the legacy default stream, that of each thread: fake GPUs have the former alone */
    if (!symbol || !found || flags & ~known)
        return TN__CU_INVALID_VALUE;
    *found = NULL;
    const unsigned s = look_up(symbol, version, found);
    if (status)
        *status = s;
    return s && !status ? TN__CU_NOT_FOUND : TN__CU_SUCCESS;
}

tn__cu_result cuGetProcAddress(const char *symbol, void **found, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(symbol, found, version, flags, NULL);
}

/* Tables that NVIDIA's own libraries know, and nobody else. */
tn__cu_result cuGetExportTable(const void **table, const tn__cu_uuid *id)
{
    if (!table || !id)
        return TN__CU_INVALID_VALUE;
    *table = NULL;
    fake_report(
        "a table of the driver is asked for (cuGetExportTable) that NVIDIA's own libraries alone know: fake GPUs "
        "answer the driver API, not what libcudart and others have beside it");
    return TN__CU_NOT_FOUND;
}

tn__cu_result cuProfilerStart(void)
{
    fake_context *c;
    tn__cu_result r = fake_enter_context(&c);
    return r ? r : fake_leave(r);
}

tn__cu_result cuProfilerStop(void)
{
    return cuProfilerStart(); /* there is nothing to start or stop */
}
