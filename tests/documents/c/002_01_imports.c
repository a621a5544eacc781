/* import torch */
#include "documents.h"

int main(void)
{
    tn_scope *scope = tn_scope_open();
    tn_scope_close(scope);
    return 0;
}
