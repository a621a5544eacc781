/* What composed functions share. */
#include "autograd/functions.h"
#include "op/infer.h"
#include <stdio.h>

void tn__options_in(void *to, size_t size, const void *from)
{
    memset(to, 0, size);
    if (!from) {
        const char *nowhere = TN__NOWHERE; /* every options struct begins with its size and the call site */
        memcpy((char *)to + sizeof(size_t), &nowhere, sizeof nowhere);
        return;
    }
    size_t have;
    memcpy(&have, from, sizeof have);
    memcpy(to, from, TN_MIN(have, size));
}

tn_tensor *tn__scope_return(tn__thread *t, tn_scope *scope, tn_tensor *r)
{
    if (r && !tn__scope_owns(scope, r))
        r = tn__scope_hold(t, r);
    return tn__scope_pop(t, scope, r);
}

bool tn__scope_give(tn_tensor *t, tn_tensor **out)
{
    tn__thread *self = tn__self();
    tn_scope *mine = self->scope;
    if (!t || !out)
        return t;
    self->scope = mine->outer;
    *out = tn__scope_hold(self, t);
    self->scope = mine;
    return *out != NULL;
}

bool tn__usable(const char *what, const tn_tensor *t)
{
    if (t && t != TN_NONE)
        return true;
    if (t)
        tn__error(TN_ETYPE, "%s: an operand that must be a tensor is TN_NONE", what);
    else
        tn__poisoned(what);
    return false;
}

bool tn__usable_ints(const char *what, tn_ints list)
{
    if (list.n < INT32_MAX && (list.n == 0 || list.i))
        return true;
    tn__error(TN_EINVAL, "%s: a list of %zu numbers%s", what, list.n, list.i ? "" : " is NULL");
    return false;
}

bool tn__dims_fit(const char *what, const tn_dims *dims)
{
    if (dims && !dims->no_number && dims->ndim >= 0 && dims->ndim <= TN_MAX_DIMS)
        return true;
    tn__error(TN_EINVAL, "%s: a list of 0 to %d numbers was expected", what, TN_MAX_DIMS);
    return false;
}

void tn__no_kernel(const char *kernel, const tn_tensor *x)
{
    tn__no_dtype_on(x->device, kernel, NULL, x->dtype);
}

tn_tensor *tn__floating(const char *kernel, tn_tensor *x)
{
    if (TN_LIKELY(x && x != TN_NONE && tn__dtype_is_float(x->dtype)))
        return x;
    char what[64];
    snprintf(what, sizeof what, "%.*s", (int)(strcspn(kernel, "*") - (strchr(kernel, '*') != NULL)), kernel);
    if (tn__usable(what, x))
        tn__no_kernel(kernel, x);
    return NULL;
}

/* A sum that is asked for in integers has no gradient, which PyTorch says at once. */
tn_status tn__check_derived(const tn_tensor *x, tn_dtype asked)
{
    if (tn__dtype_is_float(asked) || asked == TN_BOOL || tn__self()->no_grad || !tn__wants_grad(x))
        return TN_OK;
    return tn__error(TN_EGRAD, "Autograd not support dtype: %s", tn__dtypes[asked].legacy);
}
