/* Derivatives of the family linalg, from public operations. */
#include "autograd/functions.h"

/* For x = U S V^T and a change dx, the singular values change by the diagonal of U^T dx V (Giles, Collected matrix
 * derivative results for forward and reverse mode algorithmic differentiation, 2008), so the gradient of their sum is
 * U V^T. Where some are zero, the columns of U and V that belong to them are a choice, and U V^T one of many
 * subgradients: as in PyTorch, whose svd_backward multiplies whatever U and V its library found. */
tn_status tn__d_nuclear_norm(tn__backward *b)
{
    tn_tensor *x = tn__saved_tensor(b, 0);
    return x ? tn__give(b, 0, tn_mul(tn_unsqueeze(tn_unsqueeze(b->g[0], -1), -1), tn__polar(x))) : tn_error_code();
}
