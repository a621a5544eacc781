/* deprecated_overloads.c: overloads that PyTorch deprecated and still takes: torch.add(x, 10, x). They are tried last,
 * and warned of once. */
#include "args_error.h"

enum { FUNCTION = 1, METHOD = 2 };

static const struct {
    const char *name;
    int forms;
    const char *text;
} overloads[] = {
#define SUM(name) \
    {#name, FUNCTION | METHOD, #name "(Tensor input, Number alpha, Operand other, *, Tensor? out=None)"}, \
        {#name "_", METHOD, #name "_(Tensor input, Number alpha, Operand other)"},
#define PRODUCT(name) \
    {#name, FUNCTION | METHOD, \
     #name "(Tensor input, Number value, Tensor tensor1, Tensor tensor2, *, Tensor? out=None)"}, \
        {#name "_", METHOD, #name "_(Tensor input, Number value, Tensor tensor1, Tensor tensor2)"},
#define MATRICES(name, a, b) \
    {#name, FUNCTION, \
     #name "(Number beta, Tensor input, Number alpha, Tensor " a ", Tensor " b ", *, Tensor? out=None)"}, \
        {#name, FUNCTION, #name "(Number beta, Tensor input, Tensor " a ", Tensor " b ", *, Tensor? out=None)"}, \
        {#name, METHOD, #name "(Tensor input, Number beta, Number alpha, Tensor " a ", Tensor " b ")"}, \
        {#name, METHOD, #name "(Tensor input, Number beta, Tensor " a ", Tensor " b ")"}, \
        {#name "_", METHOD, #name "_(Tensor input, Number beta, Number alpha, Tensor " a ", Tensor " b ")"}, \
        {#name "_", METHOD, #name "_(Tensor input, Number beta, Tensor " a ", Tensor " b ")"},
    SUM(add) SUM(sub) PRODUCT(addcmul) PRODUCT(addcdiv) MATRICES(addmm, "mat1", "mat2")
        MATRICES(baddbmm, "batch1", "batch2") MATRICES(addbmm, "batch1", "batch2") MATRICES(addmv, "mat", "vec")
            MATRICES(addr, "vec1", "vec2")
#undef SUM
#undef PRODUCT
#undef MATRICES
};

const char *py_older_overload(const char *name, int i, int8_t *forms)
{
    for (size_t k = 0; k < sizeof overloads / sizeof *overloads; k++)
        if (!strcmp(overloads[k].name, name) && i-- == 0) {
            *forms = (int8_t)overloads[k].forms;
            return overloads[k].text;
        }
    return NULL;
}

bool py_older_fits(const py_signature *s, bool method)
{
    return s->older & (method ? METHOD : FUNCTION);
}
