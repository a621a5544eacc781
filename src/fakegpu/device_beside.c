/* What programs beside Tenon ask of devices. */
#include "fakegpu/driver.h"
#include <string.h>

tn__cu_result cuDeviceGetUuid(tn__cu_uuid *uuid, tn__cu_device device)
{
    return cuDeviceGetUuid_v2(uuid, device);
}

tn__cu_result cuDeviceComputeCapability(int *major, int *minor, tn__cu_device device)
{
    tn__cu_result r = cuDeviceGetAttribute(major, TN__CU_COMPUTE_CAPABILITY_MAJOR, device);
    return r ? r : cuDeviceGetAttribute(minor, TN__CU_COMPUTE_CAPABILITY_MINOR, device);
}

tn__cu_result cuDeviceGetProperties(tn__cu_devprop *properties, tn__cu_device device)
{
    fake_device *d;
    tn__cu_result r = fake_enter_device(device, &d);
    if (r)
        return r;
    if (!properties)
        return fake_leave(TN__CU_INVALID_VALUE);
    *properties = (tn__cu_devprop){.max_threads_per_block = FAKE_MAX_ITEMS,
                                   .max_threads_dim = {1024, 1024, 64},
                                   .max_grid_size = {0x7fffffff, 65535, 65535},
                                   .shared_per_block = FAKE_MAX_LOCAL_BYTES,
                                   .constant_memory = 64 << 10,
                                   .warp_size = 32,
                                   .pitch = 0x7fffffff,
                                   .registers_per_block = 65536,
                                   .clock_rate = 1000000,
                                   .texture_align = 512};
    return fake_leave(TN__CU_SUCCESS);
}

tn__cu_result cuDeviceGetByPCIBusId(tn__cu_device *device, const char *id)
{
    int count;
    tn__cu_result r = cuDeviceGetCount(&count);
    if (r || !device || !id)
        return r ? r : TN__CU_INVALID_VALUE;
    for (int i = 0; i < count; i++) {
        char own[16];
        if (cuDeviceGetPCIBusId(own, sizeof own, i))
            continue;
        if (!strcmp(own, id) || !strcmp(own + 5, id)) { /* with or without its domain */
            *device = i;
            return TN__CU_SUCCESS;
        }
    }
    return TN__CU_INVALID_DEVICE;
}

tn__cu_result cuDeviceGetP2PAttribute(int *value, unsigned attribute, tn__cu_device device, tn__cu_device peer)
{
    enum { RANK = 1, ACCESS, ATOMICS, ARRAYS };
    int can;
    tn__cu_result r = cuDeviceCanAccessPeer(&can, device, peer);
    if (r)
        return r;
    if (!value || attribute < RANK || attribute > ARRAYS || device == peer)
        return TN__CU_INVALID_VALUE;
    *value = attribute == ACCESS || attribute == ATOMICS ? can : 0;
    return TN__CU_SUCCESS;
}

/* By CUdevice_attribute's numbers; what is not in the list, up to the last that is known, a fake GPU has not: 0. */
int fake_attribute_beside(unsigned attribute)
{
    enum { LAST = 143 };
    static const struct {
        unsigned char attribute;
        int value;
    } known[] = {
        {2, 1024},        {3, 1024},  {4, 64},                   /* of a block, by dimension; of a grid */
        {5, 0x7fffffff},  {6, 65535}, {7, 65535}, {9, 64 << 10}, /* constant memory */
        {11, 0x7fffffff},                                        /* largest pitch */
        {14, 512},        {51, 32},                              /* alignment of textures, of their rows */
        {15, 1},          {31, 1},    {40, 1}, /* copies beside kernels, kernels beside kernels, engines for copies */
        {78, 1},          {79, 1},    {80, 1}, /* priorities of streams, caches */
        {91, 1},          {99, 1},             /* registered memory has one address, and there is such memory */
        {106, 32},                             /* blocks on a multiprocessor */
        {115, 1}};                             /* pools */
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].attribute == attribute)
            return known[i].value;
    return attribute && attribute <= LAST ? 0 : -1;
}
