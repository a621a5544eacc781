/* x_cpu.to(device): the same tensor where nothing changes */
#include "documents.h"

static void show(const char *name, const tn_tensor *x)
{
    printf("%s:\ndevice: %s is_cuda: %s id: %llu\n", name, device_of(x), truth(tn_tensor_is_cuda(x)),
           (unsigned long long)(uintptr_t)x);
}

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_device device = tn_try_gpu(0);
    tn_tensor *x_cpu = tn_ones(TN_SHAPE(3, 3));
    show("x_cpu", x_cpu);

    tn_tensor *x_gpu = tn_to(x_cpu, .device = device);
    show("x_gpu", x_gpu);
    tn_scope_close(scope);
    return 0;
}
