/* manual_seed, manual_seed_all, set_device */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_device cuda = tn_device_parse("cuda");
    tn_cuda_manual_seed(7);
    tn_cuda_manual_seed_all(7);
    tn_tensor *first = tn_rand(TN_SHAPE(3), .device = cuda);
    tn_cuda_manual_seed(7);
    bool again = tn_equal(first, tn_rand(TN_SHAPE(3), .device = cuda));
    bool next = tn_equal(first, tn_rand(TN_SHAPE(3), .device = cuda));
    printf("%s %s\n", truth(again), truth(next));

    tn_cuda_manual_seed_all(7);
    for (int32_t i = 0; i < tn_cuda_device_count(); i++) {
        bool same = tn_equal(tn_cuda(first, i), tn_rand(TN_SHAPE(3), .device = TN_CUDA(i)));
        printf("%s%s", i ? ", " : "[", truth(same));
    }
    printf("]\n");

    int32_t before = tn_cuda_current_device();
    tn_status status = tn_cuda_set_device(1);
    printf("%d %d\n", (int)before, status == TN_OK ? (int)tn_cuda_current_device() : -1);
    printf("%s\n", device_of(tn_ones(TN_SHAPE(1), .device = cuda)));
    tn_scope_close(scope);
    return 0;
}
