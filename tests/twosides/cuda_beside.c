/* src/abi's declarations of what only programs beside Tenon use of the CUDA driver against NVIDIA's header. */
#define __CUDA_API_VERSION_INTERNAL /* older versions of a function, too */
#include <cuda.h>
#include <cudaProfiler.h>

#include "twosides.h"

SAME_SIZE(tn__cu_devprop, CUdevprop);
SAME_PLACE(tn__cu_devprop, texture_align, CUdevprop, textureAlign);
SAME_SIZE(tn__cu_memcpy_2d, CUDA_MEMCPY2D);
SAME_PLACE(tn__cu_memcpy_2d, from_type, CUDA_MEMCPY2D, srcMemoryType);
SAME_PLACE(tn__cu_memcpy_2d, from_host, CUDA_MEMCPY2D, srcHost);
SAME_PLACE(tn__cu_memcpy_2d, from_device, CUDA_MEMCPY2D, srcDevice);
SAME_PLACE(tn__cu_memcpy_2d, from_pitch, CUDA_MEMCPY2D, srcPitch);
SAME_PLACE(tn__cu_memcpy_2d, to_x, CUDA_MEMCPY2D, dstXInBytes);
SAME_PLACE(tn__cu_memcpy_2d, to_type, CUDA_MEMCPY2D, dstMemoryType);
SAME_PLACE(tn__cu_memcpy_2d, to_host, CUDA_MEMCPY2D, dstHost);
SAME_PLACE(tn__cu_memcpy_2d, to_device, CUDA_MEMCPY2D, dstDevice);
SAME_PLACE(tn__cu_memcpy_2d, to_pitch, CUDA_MEMCPY2D, dstPitch);
SAME_PLACE(tn__cu_memcpy_2d, width, CUDA_MEMCPY2D, WidthInBytes);
SAME_SIZE(tn__cu_launch_config, CUlaunchConfig);
SAME_PLACE(tn__cu_launch_config, shared_bytes, CUlaunchConfig, sharedMemBytes);
SAME_PLACE(tn__cu_launch_config, stream, CUlaunchConfig, hStream);
SAME_PLACE(tn__cu_launch_config, n_attributes, CUlaunchConfig, numAttrs);

/* one type each for the pointers' sake; sizes and places were compared */
#define tn__cu_uuid          CUuuid
#define tn__cu_devprop       CUdevprop
#define tn__cu_memcpy_2d     CUDA_MEMCPY2D
#define tn__cu_launch_config CUlaunchConfig
#define tn__cu_callback      CUstreamCallback
#define tn__cu_affinity      CUexecAffinityParam
#if CUDA_VERSION >= 13000 /* older headers have not all of them */
#define NEWER(name, symbol, since, parameters) FN(name, symbol, since, parameters)
#else
#define NEWER(...)
#endif
#include "abi/cuda_beside.def"

SAME(TN__CU_INVALID_PTX, CUDA_ERROR_INVALID_PTX);
SAME(TN__CU_FILE_NOT_FOUND, CUDA_ERROR_FILE_NOT_FOUND);
SAME(TN__CU_PEER_ACCESS_NOT_ENABLED, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
SAME(TN__CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST);
SAME(TN__CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE);
SAME(TN__CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED);
SAME(TN__CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER);
SAME(TN__CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
SAME(TN__CU_FUNC_CONST_SIZE_BYTES, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
SAME(TN__CU_FUNC_LOCAL_SIZE_BYTES, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME(TN__CU_FUNC_PTX_VERSION, CU_FUNC_ATTRIBUTE_PTX_VERSION);
SAME(TN__CU_FUNC_BINARY_VERSION, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
SAME(TN__CU_FUNC_CACHE_MODE_CA, CU_FUNC_ATTRIBUTE_CACHE_MODE_CA);
SAME(TN__CU_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(TN__CU_FUNC_PREFERRED_SHARED_MEMORY_CARVEOUT, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
