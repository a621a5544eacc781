/* The GPU with most free memory first. No variable is needed: a handle says which GPU is meant. */
#include "documents.h"

int main(void)
{
    tn_cuda_status gpu[1];
    tn_device by_memory[8];
    size_t n = tn_cuda_statuses(gpu, 1), sorted = tn_cuda_devices_by_free_memory(by_memory, 8);
    printf("\ngpu free memory: [%lld]\n", n ? (long long)(gpu[0].memory_free >> 20) : -1LL);
    for (size_t i = 0; i < sorted; i++)
        printf("%s%d", i ? ", " : "[", (int)by_memory[i].index);
    printf("] %d %s\n", (int)by_memory[0].index, tn_cuda_is_available() ? "cuda" : "cpu");
    return 0;
}
