/* net = nn.Linear(3, 1) */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_module *net = tn_nn_linear(3, 1);
    printf("%s\n", first_device(net));
    tn_scope_close(scope);
    return 0;
}
