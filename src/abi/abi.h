/* abi/abi.h: what other companies' libraries look like from outside: Tenon's own declarations of the CUDA driver, NVRTC,
 * cuBLAS and NVML, from NVIDIA's published references (docs.nvidia.com/cuda: cuda-driver-api, nvrtc, cublas; NVML API
 * reference). The CUDA backend calls these functions, the fake GPUs answer them; both read the same lists
 * (abi/<library>.def), and tests/twosides holds every line against NVIDIA's headers where these are installed.
 *
 * A list line: FN(name, symbol, older, (parameters)), all tokens: 'name' inside Tenon; 'symbol' the exported name asked
 * for first, 'older' the one asked for if there is none (empty where every version since CUDA 11.8 has 'symbol').
 * Functions marked OPTIONAL(...) may be missing. Every function returns an unsigned status, 0 for success.
 *
 * It stands below every floor: it includes nothing of Tenon. */
#ifndef TENON_ABI_ABI_H
#define TENON_ABI_ABI_H

#include <stddef.h>
#include <stdint.h>

/* ---- CUDA driver API ---- */
typedef unsigned tn__cu_result;
typedef int tn__cu_device;
typedef unsigned long long tn__cu_ptr;
typedef struct CUctx_st *tn__cu_context;
typedef struct CUstream_st *tn__cu_stream;
typedef struct CUevent_st *tn__cu_event;
typedef struct CUmod_st *tn__cu_module;
typedef struct CUfunc_st *tn__cu_function;
typedef struct tn__cu_uuid {
    char bytes[16];
} tn__cu_uuid;

typedef struct tn__cu_location { /* CUmemLocation */
    unsigned type;
    int id;
} tn__cu_location;
typedef struct tn__cu_allocation { /* CUmemAllocationProp */
    unsigned type, handle_types;
    tn__cu_location location;
    void *win32_metadata;
    unsigned char compression, rdma;
    unsigned short usage;
    unsigned char reserved[4];
} tn__cu_allocation;
typedef struct tn__cu_access { /* CUmemAccessDesc */
    tn__cu_location location;
    unsigned flags;
} tn__cu_access;

/* What only programs beside Tenon use (cuda_beside.def) */
typedef struct CUmemPoolHandle_st *tn__cu_pool;
typedef struct CUlib_st *tn__cu_library;
typedef struct CUkern_st *tn__cu_kernel;
typedef struct CUexecAffinityParam_st tn__cu_affinity;
typedef struct tn__cu_ctx_parameters {
    void *affinity;
    int n_affinity;
    void *graphics;
} tn__cu_ctx_parameters;
typedef void (*tn__cu_host_function)(void *data);
typedef void (*tn__cu_callback)(tn__cu_stream stream, tn__cu_result status, void *data);
typedef size_t (*tn__cu_block_to_shared)(int block_size);
typedef struct tn__cu_devprop {
    int max_threads_per_block, max_threads_dim[3], max_grid_size[3], shared_per_block, constant_memory, warp_size,
        pitch, registers_per_block, clock_rate, texture_align;
} tn__cu_devprop;
typedef struct tn__cu_memcpy_2d {
    size_t from_x, from_y; /* x: bytes */
    unsigned from_type;    /* TN__CU_MEMORYTYPE_... */
    const void *from_host;
    tn__cu_ptr from_device;
    void *from_array;
    size_t from_pitch, to_x, to_y;
    unsigned to_type;
    void *to_host;
    tn__cu_ptr to_device;
    void *to_array;
    size_t to_pitch, width, height; /* width: bytes */
} tn__cu_memcpy_2d;
typedef struct tn__cu_launch_config {
    unsigned grid[3], block[3], shared_bytes;
    tn__cu_stream stream;
    void *attributes;
    unsigned n_attributes;
} tn__cu_launch_config;

enum {
    TN__CU_SUCCESS = 0,
    TN__CU_INVALID_VALUE = 1,
    TN__CU_OUT_OF_MEMORY = 2,
    TN__CU_NOT_INITIALIZED = 3,
    TN__CU_DEINITIALIZED = 4,
    TN__CU_NO_DEVICE = 100,
    TN__CU_INVALID_DEVICE = 101,
    TN__CU_INVALID_IMAGE = 200,
    TN__CU_INVALID_CONTEXT = 201,
    TN__CU_NO_BINARY_FOR_GPU = 209,
    TN__CU_ECC_UNCORRECTABLE = 214,
    TN__CU_PEER_ACCESS_UNSUPPORTED = 217,
    TN__CU_INVALID_PTX = 218,
    TN__CU_NVLINK_UNCORRECTABLE = 220,
    TN__CU_CONTAINED = 226,
    TN__CU_FILE_NOT_FOUND = 301,
    TN__CU_INVALID_HANDLE = 400,
    TN__CU_ILLEGAL_STATE = 401,
    TN__CU_NOT_FOUND = 500,
    TN__CU_NOT_READY = 600,
    TN__CU_ILLEGAL_ADDRESS = 700,
    TN__CU_LAUNCH_OUT_OF_RESOURCES = 701,
    TN__CU_LAUNCH_TIMEOUT = 702,
    TN__CU_PEER_ACCESS_ALREADY_ENABLED = 704,
    TN__CU_PEER_ACCESS_NOT_ENABLED = 705,
    TN__CU_CONTEXT_IS_DESTROYED = 709,
    TN__CU_ASSERT = 710,
    TN__CU_HOST_MEMORY_ALREADY_REGISTERED = 712,
    TN__CU_HOST_MEMORY_NOT_REGISTERED = 713,
    TN__CU_HARDWARE_STACK_ERROR = 714,
    TN__CU_ILLEGAL_INSTRUCTION = 715,
    TN__CU_MISALIGNED_ADDRESS = 716,
    TN__CU_INVALID_ADDRESS_SPACE = 717,
    TN__CU_INVALID_PC = 718,
    TN__CU_LAUNCH_FAILED = 719,
    TN__CU_TENSOR_MEMORY_LEAK = 721,
    TN__CU_NOT_PERMITTED = 800,
    TN__CU_NOT_SUPPORTED = 801,
    TN__CU_SYSTEM_DRIVER_MISMATCH = 803,
    TN__CU_MPS_CLIENT_TERMINATED = 810,
    TN__CU_EXTERNAL_DEVICE = 911,
    TN__CU_UNKNOWN = 999
};

/* Device attributes (CUdevice_attribute) */
enum {
    TN__CU_MAX_THREADS_PER_BLOCK = 1,
    TN__CU_MAX_SHARED_MEMORY_PER_BLOCK = 8,
    TN__CU_WARP_SIZE = 10,
    TN__CU_MAX_REGISTERS_PER_BLOCK = 12,
    TN__CU_CLOCK_RATE = 13, /* kHz */
    TN__CU_MULTIPROCESSOR_COUNT = 16,
    TN__CU_INTEGRATED = 18,
    TN__CU_CAN_MAP_HOST_MEMORY = 19,
    TN__CU_PCI_BUS_ID = 33,
    TN__CU_PCI_DEVICE_ID = 34,
    TN__CU_MEMORY_CLOCK_RATE = 36, /* kHz */
    TN__CU_GLOBAL_MEMORY_BUS_WIDTH = 37,
    TN__CU_L2_CACHE_SIZE = 38,
    TN__CU_MAX_THREADS_PER_MULTIPROCESSOR = 39,
    TN__CU_UNIFIED_ADDRESSING = 41,
    TN__CU_PCI_DOMAIN_ID = 50,
    TN__CU_COMPUTE_CAPABILITY_MAJOR = 75,
    TN__CU_COMPUTE_CAPABILITY_MINOR = 76,
    TN__CU_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
    TN__CU_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
    TN__CU_MULTI_GPU_BOARD = 84,
    TN__CU_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97
};

enum {
    TN__CU_MEM_ALLOCATION_PINNED = 1,
    TN__CU_MEM_LOCATION_DEVICE = 1,
    TN__CU_MEM_GRANULARITY_MINIMUM = 0,
    TN__CU_MEM_ACCESS_READWRITE = 3,
    TN__CU_CTX_SCHED_AUTO = 0, /* how the host waits */
    TN__CU_CTX_SCHED_SPIN = 1,
    TN__CU_CTX_SCHED_YIELD = 2,
    TN__CU_CTX_SCHED_BLOCKING_SYNC = 4,
    TN__CU_CTX_SCHED_MASK = 7,
    TN__CU_CTX_FLAGS_MASK = 0xff,
    TN__CU_MEMORYTYPE_HOST = 1,
    TN__CU_MEMORYTYPE_DEVICE = 2,
    TN__CU_MEMORYTYPE_UNIFIED = 4,
    TN__CU_JIT_ERROR_LOG_BUFFER = 5,
    TN__CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
    TN__CU_STREAM_NON_BLOCKING = 1,
    TN__CU_EVENT_BLOCKING_SYNC = 1,
    TN__CU_EVENT_DISABLE_TIMING = 2,
    TN__CU_MEMHOSTALLOC_PORTABLE = 1,
    TN__CU_MEMHOSTALLOC_DEVICEMAP = 2,
    TN__CU_FUNC_MAX_THREADS_PER_BLOCK = 0,
    TN__CU_FUNC_SHARED_SIZE_BYTES = 1,
    TN__CU_FUNC_CONST_SIZE_BYTES = 2,
    TN__CU_FUNC_LOCAL_SIZE_BYTES = 3,
    TN__CU_FUNC_NUM_REGS = 4,
    TN__CU_FUNC_PTX_VERSION = 5,
    TN__CU_FUNC_BINARY_VERSION = 6,
    TN__CU_FUNC_CACHE_MODE_CA = 7,
    TN__CU_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
    TN__CU_FUNC_PREFERRED_SHARED_MEMORY_CARVEOUT = 9
};

/* What tenonFakeCounters counts, of one device; of device -1 (the host): pinned memory under ALLOCATIONS, FREES, LIVE,
 * copies from and to pageable memory under H2D and D2H, under FAILED_CHECKS how often a check of the fake GPUs failed that
 * real ones do not make (order, blocks of the allocator), under WARNINGS how often one that only warned, under UNHEARD how many
 * reports nobody has read, and under GAVE_UP how often there was no memory to keep what checks of order need. */
enum {
    TN__FAKE_ALLOCATIONS,
    TN__FAKE_FREES,
    TN__FAKE_LIVE, /* allocations not freed */
    TN__FAKE_LAUNCHES,
    TN__FAKE_FAILED_CHECKS = TN__FAKE_LAUNCHES,
    TN__FAKE_H2D, /* copies, on the device whose stream runs them; D2D within it, P2P between two */
    TN__FAKE_D2H,
    TN__FAKE_D2D,
    TN__FAKE_P2P,
    TN__FAKE_H2D_BYTES,
    TN__FAKE_D2H_BYTES,
    TN__FAKE_D2D_BYTES,
    TN__FAKE_P2P_BYTES,
    TN__FAKE_SYNCHRONIZATIONS, /* the host waited: for a stream, a context, an event */
    TN__FAKE_STREAMS,          /* that are alive, as are events and modules */
    TN__FAKE_EVENTS,
    TN__FAKE_MODULES,
    TN__FAKE_UNHEARD = TN__FAKE_MODULES,
    TN__FAKE_GAVE_UP = TN__FAKE_EVENTS,
    TN__FAKE_WARNINGS = TN__FAKE_STREAMS
};

/* ---- NVRTC ---- */
typedef struct _nvrtcProgram *tn__nvrtc_program;
enum { TN__NVRTC_SUCCESS = 0, TN__NVRTC_COMPILATION = 6 };

/* ---- cuBLAS ---- */
typedef struct cublasContext *tn__cublas_handle;
enum {
    TN__CUBLAS_OP_N = 0,
    TN__CUBLAS_OP_T = 1,
    TN__CUBLAS_HOST_POINTERS = 0,
    TN__CUBLAS_DEFAULT_MATH = 0,
    TN__CUBLAS_PEDANTIC_MATH = 2,
    TN__CUBLAS_TF32_MATH = 3,
    TN__CUBLAS_DISALLOW_REDUCED_PRECISION = 16, /* or'ed: no float16 partial sums */
    TN__CUBLAS_R_32F = 0,                       /* cudaDataType */
    TN__CUBLAS_R_64F = 1,
    TN__CUBLAS_R_16F = 2,
    TN__CUBLAS_R_16BF = 14,
    TN__CUBLAS_COMPUTE_32F = 68,
    TN__CUBLAS_COMPUTE_64F = 70,
    TN__CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
    TN__CUBLAS_GEMM_DEFAULT = -1
};

/* ---- NVML ---- */
typedef struct nvmlDevice_st *tn__nvml_device;
typedef struct tn__nvml_memory {
    unsigned long long total, free, used; /* bytes */
} tn__nvml_memory;
typedef struct tn__nvml_utilization {
    unsigned gpu, memory; /* per cent */
} tn__nvml_utilization;
typedef struct tn__nvml_pci {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
} tn__nvml_pci;
typedef struct tn__nvml_process { /* nvmlProcessInfo_v2_t */
    unsigned pid;
    unsigned long long used_memory;
    unsigned gpu_instance, compute_instance;
} tn__nvml_process;
enum { TN__NVML_SUCCESS = 0, TN__NVML_NOT_SUPPORTED = 3, TN__NVML_INSUFFICIENT_SIZE = 7, TN__NVML_TEMPERATURE_GPU = 0 };

#endif
