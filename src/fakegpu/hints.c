/* Hints from the library. */
#include "fakegpu/driver.h"

tn__cu_result tenonFakeBlockTaken(const void *pointer, size_t bytes)
{
    (void)pointer, (void)bytes;
    return fake_forked() ? TN__CU_NOT_INITIALIZED : TN__CU_SUCCESS;
}

tn__cu_result tenonFakeBlockFreed(const void *pointer, size_t bytes)
{
    (void)pointer, (void)bytes;
    return fake_forked() ? TN__CU_NOT_INITIALIZED : TN__CU_SUCCESS;
}

tn__cu_result tenonFakeHostAccess(const void *pointer, size_t bytes, int write)
{
    (void)pointer, (void)bytes, (void)write;
    return fake_forked() ? TN__CU_NOT_INITIALIZED : TN__CU_SUCCESS;
}
