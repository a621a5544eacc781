/* backend/cuda/cuda.h: what the files of the CUDA backend share: a driver (backend/gpu/driver.h) by NVIDIA's libraries.
 *
 * libcuda, NVRTC, cuBLAS and NVML are opened at run time (TENON_FAKE_GPUS: libtenon_fakegpu.so in place of all four). */
#ifndef TENON_BACKEND_CUDA_CUDA_H
#define TENON_BACKEND_CUDA_CUDA_H

#include "abi/abi.h"
#include "backend/gpu/device.h"
#include "core/dynlib.h"

extern const tn__backend tn__cuda_backend;
extern const tn__gpu_driver tn__cuda_driver; /* driver.c */

/* ---- library.c: the functions of the four libraries ---- */
#define FN(name, symbol, older, parameters)       tn__cu_result(*name) parameters;
#define OPTIONAL(name, symbol, older, parameters) tn__cu_result(*name) parameters;
typedef struct tn__cu_functions {
#include "abi/cuda.def"
} tn__cu_functions;
#define FN(name, symbol, older, parameters)       unsigned(*name) parameters;
#define OPTIONAL(name, symbol, older, parameters) unsigned(*name) parameters;
typedef struct tn__nvrtc_functions {
#include "abi/nvrtc.def"
} tn__nvrtc_functions;
#define FN(name, symbol, older, parameters) unsigned(*name) parameters;
typedef struct tn__cublas_functions {
#include "abi/cublas.def"
} tn__cublas_functions;
#define FN(name, symbol, older, parameters)       unsigned(*name) parameters;
#define OPTIONAL(name, symbol, older, parameters) unsigned(*name) parameters;
typedef struct tn__nvml_functions {
#include "abi/nvml.def"
} tn__nvml_functions;

/* The driver's functions. Valid once tn__gpu_count(TN_DEVICE_CUDA) > 0. */
extern tn__cu_functions tn__cu;
/* Each opens its library at first use; NULL with an error that says what was not found and how to get it. */
const tn__nvrtc_functions *tn__nvrtc(void);
const tn__cublas_functions *tn__cublas(void);
const tn__nvml_functions *tn__nvml(void); /* NULL without an error */
/* TENON_FAKE_GPUS is set: one library stands in for the four. */
bool tn__cuda_is_fake(void);
typedef enum tn__cuda_library_id { TN__LIB_CUDA, TN__LIB_NVRTC, TN__LIB_CUBLAS, TN__LIB_NVML } tn__cuda_library_id;
/* Opens it. NULL if it is there, else what was looked for and how to get it. */
const char *tn__cuda_library(tn__cuda_library_id which);
/* It is not there only because this process may open no more files. */
bool tn__cuda_exhausted(tn__cuda_library_id which);
/* Where it was found; NULL if it is not there. */
const char *tn__cuda_library_path(tn__cuda_library_id which);

/* ---- search.c: where the toolkit's libraries lie ---- */
enum { TN__LIBRARY_NAMES = 6 }; /* of one library, with the NULL at their end */
/* Variables that list folders, in the order in which these are looked through; ends with NULL. */
extern const char *const tn__cuda_search_variables[];
/* Folders that NVIDIA's installer puts its own into; tests have others. */
extern const char *tn__cuda_installed;
/* Opens the first of the names that is found; those for a newer CUDA than the driver's (12: major version; 0: any will do)
 * last. NULL where none is, with fault telling of one that is there and does not load. */
void *tn__cuda_search(const char *const *names, int driver, tn__dynlib_fault *fault);
/* The one of that name in a folder of 'length' bytes. */
void *tn__cuda_open_at(const char *folder, size_t length, const char *name, tn__dynlib_fault *fault);

/* ---- find.c: which devices there are, or why there are none ---- */
int32_t tn__cuda_find(void);
tn_status tn__cuda_why_none(void);
bool tn__cuda_describe(int32_t ordinal, tn__gpu_device *dev);

/* ---- results ---- */
/* What libcuda says, in the words of all drivers. */
static inline tn__gpu_result tn__cuda_result(tn__cu_result r)
{
    if (TN_LIKELY(r == TN__CU_SUCCESS))
        return TN__GPU_OK;
    return r == TN__CU_NOT_READY       ? TN__GPU_NOT_READY
           : r == TN__CU_OUT_OF_MEMORY ? TN__GPU_OUT_OF_MEMORY
           : r == TN__CU_INVALID_VALUE ? TN__GPU_INVALID_VALUE
                                       : (tn__gpu_result)r;
}
static inline tn_status tn__cuda_check(tn__gpu_device *dev, tn__cu_result result, const char *what)
{
    return TN_LIKELY(result == TN__CU_SUCCESS) ? TN_OK : tn__gpu_failed(dev, tn__cuda_result(result), what);
}
/* "an illegal memory access was encountered" */
const char *tn__cuda_text(tn__gpu_result r);
/* What a fake GPU says about the failed call; "" on real ones. */
void tn__cuda_report(char *text, size_t size);
/* Lets fake GPUs name the library's calls in what they report. */
void tn__cuda_name_calls(void);

/* ---- properties.c, nvml.c: what needs no context ---- */
typedef struct tn__cuda_uuid_text {
    char s[48];
} tn__cuda_uuid_text;
/* "GPU-d49a2b4e-..."; "" if the driver does not know it. */
tn__cuda_uuid_text tn__cuda_uuid_str(const tn__gpu_device *dev);
/* nvidia-smi's number; -1 where NVML is not there or does not know the device. */
int32_t tn__cuda_physical_of(const tn__gpu_device *dev);
/* Is it a slice of a GPU (MIG)? NVML then tells of the whole one. False where NVML is not there. */
bool tn__cuda_is_slice(const tn__gpu_device *dev);
/* Bytes that no process holds; 0 where NVML is not there, and for slices. */
int64_t tn__cuda_free_memory(const tn__gpu_device *dev);
int32_t tn__cuda_processes_of(const tn__gpu_device *dev, tn__gpu_process *out, int32_t cap);
void tn__cuda_info(int32_t index, tn_device_info *out);

/* ---- nvrtc.c; cublas.c ---- */
tn_status tn__cuda_target(tn_device device, char *text, size_t size);
tn_status tn__cuda_compile(tn_device device, const char *text, const char *name, void **binary, size_t *size);
tn_status tn__cuda_gemm(tn_device device, const tn__gpu_gemm_call *p, const char *label);
void tn__cublas_forget(tn__gpu_device *dev);

#endif
