/* The complete program of the first document; without a GPU it ends where a GPU is asked for its name. */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    bool is_gpu = tn_cuda_is_available();
    int32_t gpu_nums = tn_cuda_device_count(), gpu_index = tn_cuda_current_device();
    const char *device_name = tn_cuda_device_name(TN_CUDA(gpu_index));
    if (!device_name) {
        print_error();
        tn_scope_close(scope);
        return 0;
    }
    printf("%s %d %d\n", truth(is_gpu), (int)gpu_nums, (int)gpu_index);
    printf("%s\n", device_name);

    tn_tensor *x = tn_tensor_from(TN_LIST(1.0, 2.0, 3.0));
    tn_print(x);

    x = tn_cuda(x, gpu_index);
    tn_print(x);

    printf("%s\n", device_of(x));

    tn_device device = tn_cuda_is_available() ? tn_device_parse("cuda") : TN_CPU;
    x = tn_tensor_from(TN_LIST(1, 2, 3), .device = device);
    x = tn_to(tn_tensor_from(TN_LIST(1, 2, 3)), .device = device);
    tn_print(x);

    tn_tensor *y = tn_pow(x, 2);
    tn_print(y);

    tn_scope_close(scope);
    return 0;
}
