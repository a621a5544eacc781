/* The free memory of every GPU as a list of numbers. */
#include "documents.h"

int main(void)
{
    tn_cuda_status gpu[8];
    size_t n = tn_cuda_statuses(gpu, sizeof gpu / sizeof *gpu);
    for (size_t i = 0; i < n && i < sizeof gpu / sizeof *gpu; i++)
        printf("%s%lld", i ? ", " : "[", (long long)(gpu[i].memory_free >> 20));
    printf("]\n");
    return 0;
}
