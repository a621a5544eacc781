/* torch.nn.DataParallel(module, device_ids=None, output_device=None, dim=0) */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_module *module = tn_nn_linear(3, 1);
    tn_module_print(tn_nn_data_parallel(module));
    tn_scope_close(scope);
    return 0;
}
