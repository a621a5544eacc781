/* tests/fake/driver/helpers.h: the driver of the fake GPUs, opened as the library opens it. Every test runs in a process of
 * its own, since the environment is read once: its body uses the checks below, which end that process. */
#ifndef TENON_TESTS_FAKE_DRIVER_HELPERS_H
#define TENON_TESTS_FAKE_DRIVER_HELPERS_H

#include "check.h"
#include "core/base.h"
#include "abi/abi.h"
#include <stdbool.h>

#define FN(name, symbol, older, parameters)       tn__cu_result(*name) parameters;
#define OPTIONAL(name, symbol, older, parameters) tn__cu_result(*name) parameters;
typedef struct kit_driver {
#include "abi/cuda.def"
} kit_driver;
#define FN(name, symbol, older, parameters)       unsigned(*name) parameters;
#define OPTIONAL(name, symbol, older, parameters) unsigned(*name) parameters;
typedef struct kit_management {
#include "abi/nvml.def"
} kit_management;

extern kit_driver cu;
extern kit_management nvml;

/* ---- for a group's main: opens the library, and compiles the kernels where 'compile' says so ---- */
int kit_open(bool compile);

/* A test: runs 'body' in a child process with these variables set ("NAME=value" each), and fails if it fails there. */
#define IN_CHILD(body, ...) kit_in_child((body), (const char *[]){__VA_ARGS__, NULL}, #body, __FILE__, __LINE__)
void kit_in_child(void (*body)(void), const char *const *variables, const char *what, const char *file, int line);

/* ---- for bodies ---- */
#define CHECK(condition)    ((condition) ? (void)0 : kit_failed(#condition, __FILE__, __LINE__))
#define GIVES(result, call) kit_gives((call), (result), #call, __FILE__, __LINE__)
#define CU(call)            GIVES(TN__CU_SUCCESS, call)
/* The last report contains the text; it is cleared. */
#define REPORTS(text) kit_reports((text), __FILE__, __LINE__)
/* The call is refused as out of order, and the report contains the text. */
#define OUT_OF_ORDER(call, text) (GIVES(TN__CU_ILLEGAL_STATE, call), REPORTS(text))
void kit_failed(const char *what, const char *file, int line);
void kit_gives(tn__cu_result got, tn__cu_result wanted, const char *what, const char *file, int line);
void kit_reports(const char *text, const char *file, int line);

/* cuInit; the contexts of all devices, that of device 0 current; the kernels loaded on each. */
enum { KIT_DEVICES = 4 };
extern int kit_devices;
extern tn__cu_context kit_context[KIT_DEVICES];
void kit_start(void);
void kit_use(int device);

tn__cu_result kit_load(void);   /* the kernels once more, as a module that is left */
tn__cu_stream kit_stream(void); /* NON_BLOCKING */
tn__cu_event kit_event(void);
tn__cu_ptr kit_memory(size_t bytes);
float *kit_pinned(size_t bytes);

/* Launches on the current device. add: to[i] += from[i]; fill: to[i] = value; spin: likewise, but takes some tens of
 * milliseconds. */
tn__cu_result kit_add(tn__cu_ptr to, tn__cu_ptr from, int64_t n, tn__cu_stream stream);
tn__cu_result kit_fill(tn__cu_ptr to, float value, int64_t n, tn__cu_stream stream);
tn__cu_result kit_spin(tn__cu_ptr to, float value, int64_t n, tn__cu_stream stream);
/* Holds up what is queued on the stream from now on, until kit_go with what this gave. */
int32_t *kit_hold(tn__cu_stream stream);
void kit_go(int32_t *gate);
uint64_t kit_count(int device, int which);
/* What n floats of the current device hold; waits for the whole device. */
void kit_expect(tn__cu_ptr memory, float value, int64_t n);

#endif
