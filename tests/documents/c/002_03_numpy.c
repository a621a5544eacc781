/* t = torch.ones(5); n = t.numpy(): a tensor and the host's own code share memory */
#include "documents.h"

static void show(const char *when, const tn_tensor *t, const float n[5])
{
    printf("%s %s [", when, tensor_repr(t).s);
    for (int i = 0; i < 5; i++)
        printf("%s%.0f.", i ? " " : "", (double)n[i]);
    printf("]\n");
}

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *t = tn_ones(TN_SHAPE(5));
    float *n = tn_data(t);
    show("改变前：", t, n);
    tn_add_(t, 2);
    show("改变tensor，numpy对象也变：", t, n);
    for (int i = 0; i < 5; i++)
        n[i] += 2;
    show("改变numpy对象后，tensor也变：", t, n);

    if (tn_cuda_is_available())
        t = tn_to(t, .device = tn_device_parse("cuda"));
    tn_print(t);
    tn_scope_close(scope);
    return 0;
}
