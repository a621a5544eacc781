/* The free memory of every GPU, in MiB, without asking another program; nothing of it makes a context. */
#include "documents.h"
#include <stdlib.h>

int main(void)
{
    tn_cuda_status gpu[8];
    size_t n = tn_cuda_statuses(gpu, sizeof gpu / sizeof *gpu);
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    for (size_t i = 0; i < n && i < sizeof gpu / sizeof *gpu; i++)
        printf("%s%lld", i ? ", " : "[", (long long)(gpu[i].memory_free >> 20));
    printf("] %s False\n", visible ? visible : "None");
    return 0;
}
