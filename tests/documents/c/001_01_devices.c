/* torch.device('cpu'), torch.device('cuda'), torch.device('cuda:1') */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    printf("(%s, %s, %s)\n", device_repr(tn_device_parse("cpu")).s, device_repr(tn_device_parse("cuda")).s,
           device_repr(tn_device_parse("cuda:1")).s);
    tn_scope_close(scope);
    return 0;
}
