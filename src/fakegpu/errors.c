/* Names and texts of results, as the real driver gives them. */
#include "fakegpu/driver.h"

static const struct {
    tn__cu_result code;
    const char *name, *text;
} results[] = {
    {TN__CU_SUCCESS, "CUDA_SUCCESS", "no error"},
    {TN__CU_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {TN__CU_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {TN__CU_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {TN__CU_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {TN__CU_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {TN__CU_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {TN__CU_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {TN__CU_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {TN__CU_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {TN__CU_ECC_UNCORRECTABLE, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {TN__CU_PEER_ACCESS_UNSUPPORTED, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
     "peer access is not supported between these two devices"},
    {TN__CU_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {TN__CU_NVLINK_UNCORRECTABLE, "CUDA_ERROR_NVLINK_UNCORRECTABLE",
     "uncorrectable NVLink error detected during the execution"},
    {TN__CU_FILE_NOT_FOUND, "CUDA_ERROR_FILE_NOT_FOUND", "file not found"},
    {TN__CU_PEER_ACCESS_NOT_ENABLED, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled"},
    {TN__CU_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {TN__CU_ILLEGAL_STATE, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"},
    {TN__CU_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {TN__CU_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {TN__CU_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {TN__CU_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {TN__CU_LAUNCH_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {TN__CU_PEER_ACCESS_ALREADY_ENABLED, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"},
    {TN__CU_CONTEXT_IS_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {TN__CU_ASSERT, "CUDA_ERROR_ASSERT", "device-side assert triggered"},
    {TN__CU_HOST_MEMORY_ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "part or all of the requested memory range is already mapped"},
    {TN__CU_HOST_MEMORY_NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "pointer does not correspond to a registered memory region"},
    {TN__CU_HARDWARE_STACK_ERROR, "CUDA_ERROR_HARDWARE_STACK_ERROR", "hardware stack error"},
    {TN__CU_ILLEGAL_INSTRUCTION, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"},
    {TN__CU_MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {TN__CU_INVALID_ADDRESS_SPACE, "CUDA_ERROR_INVALID_ADDRESS_SPACE",
     "operation not supported on global/shared address space"},
    {TN__CU_INVALID_PC, "CUDA_ERROR_INVALID_PC", "invalid program counter"},
    {TN__CU_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {TN__CU_NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {TN__CU_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {TN__CU_SYSTEM_DRIVER_MISMATCH, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
    {TN__CU_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

tn__cu_result cuGetErrorName(tn__cu_result error, const char **name)
{
    if (!name)
        return TN__CU_INVALID_VALUE;
    *name = NULL;
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        if (results[i].code == error)
            *name = results[i].name;
    return *name ? TN__CU_SUCCESS : TN__CU_INVALID_VALUE;
}

tn__cu_result cuGetErrorString(tn__cu_result error, const char **text)
{
    if (!text)
        return TN__CU_INVALID_VALUE;
    *text = NULL;
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        if (results[i].code == error)
            *text = results[i].text;
    return *text ? TN__CU_SUCCESS : TN__CU_INVALID_VALUE;
}
