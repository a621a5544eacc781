/* CUDA_VISIBLE_DEVICES=2,3: which GPUs there are, and in what order */
#define _POSIX_C_SOURCE 200112L
#include "documents.h"
#include <stdlib.h>

int main(void)
{
    setenv("CUDA_VISIBLE_DEVICES", "2,3", 0); /* before the first use of a GPU, like os.environ.setdefault */
    printf("%s\n逻辑 GPU", getenv("CUDA_VISIBLE_DEVICES"));
    for (int32_t i = 0; i < tn_cuda_device_count(); i++)
        printf("    gpu%d", (int)i);
    printf("\n物理 GPU");
    for (int32_t i = 0; i < tn_cuda_device_count(); i++)
        printf("    gpu%d", (int)tn_cuda_physical(TN_CUDA(i)));
    printf("\n");
    return 0;
}
