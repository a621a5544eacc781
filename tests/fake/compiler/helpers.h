/* tests/fake/compiler/helpers.h: the compiler side of the fake GPUs without their driver: what queued work is run at once, an
 * address is its own host address, and a failed device leaves its report here. */
#ifndef TENON_TESTS_FAKE_COMPILER_HELPERS_H
#define TENON_TESTS_FAKE_COMPILER_HELPERS_H

#include "check.h"
#include "fakegpu/fake.h"

#define FN(name, symbol, older, parameters)       unsigned symbol parameters;
#define OPTIONAL(name, symbol, older, parameters) unsigned symbol parameters;
#include "abi/nvrtc.def"
#define FN(name, symbol, older, parameters)       unsigned symbol parameters;
#define OPTIONAL(name, symbol, older, parameters) unsigned symbol parameters;
#include "abi/cublas.def"

/* The calling thread's last report of fake_device_fail, and its code; kit_clear forgets them. (A function: GCC 12 with UBSan
 * takes the address of a thread's own array for NULL.) */
const char *kit_report(void);
extern _Thread_local tn__cu_result kit_error;
void kit_clear(void);

/* What the last queued work said that it touches. */
extern _Thread_local fake_access kit_access[256];
extern _Thread_local int kit_accesses;
/* The current context: any address. */
extern _Thread_local tn__cu_context kit_context;

/* From where to where memory is taken for a device's; none at first. */
extern const char *kit_device_memory[2];

/* Compiles text for sm_90 with these options (up to NULL). Returns nvrtcCompileProgram's result; the log goes to 'log'
 * (of 'size' bytes), the binary to *image (to be freed; NULL if there is none). */
unsigned kit_compile(const char *text, const char *const *options, char *log, size_t size, void **image);

/* Compiles and loads; fails the test, with the log, if that does not work. */
fake_module *kit_module(const char *text);
const fake_kernel *kit_kernel(fake_module *m, const char *name);

/* Runs kernel 'name' over n groups of 'local' items, one dimension; what follows are addresses of the arguments' values. */
#define KIT_RUN(m, name, n, local, ...) kit_run(kit_kernel(m, name), n, local, (void *[]){__VA_ARGS__})
void kit_run(const fake_kernel *k, unsigned groups, unsigned local, void **args);

/* Processor time of the calling thread. */
double kit_seconds(void);

#endif
