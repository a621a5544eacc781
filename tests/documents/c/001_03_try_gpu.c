/* try_gpu(), try_gpu(10), try_all_gpus(), which C has ready */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_device all[8];
    size_t n = tn_try_all_gpus(all, sizeof all / sizeof *all);
    const char *between = tn_cuda_device_count() ? ",\n " : ", "; /* as a notebook breaks lines: at 80 columns */
    printf("(%s%s%s%s[", device_repr(tn_try_gpu(0)).s, between, device_repr(tn_try_gpu(10)).s, between);
    for (size_t i = 0; i < n; i++)
        printf("%s%s", i ? ", " : "", device_repr(all[i]).s);
    printf("])\n");
    tn_scope_close(scope);
    return 0;
}
