/* torch.cuda.is_available() */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    printf("%s\n", truth(tn_cuda_is_available()));
    tn_scope_close(scope);
    return 0;
}
