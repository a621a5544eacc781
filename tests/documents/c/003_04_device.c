/* torch.device('cuda:0' if torch.cuda.is_available() else 'cpu') */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_device device = tn_try_gpu(0);
    printf("%s\n", tn_device_text(device).s);
    tn_scope_close(scope);
    return 0;
}
