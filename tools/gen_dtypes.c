/* tools/gen_dtypes.c: what kernels know of dtypes, as macros of their dialect, made of core/dtypes.def at build time. For
 * float32:
 *
 *     #define TN_CODE_f32 9               tn_dtype, where a kernel reads dtypes at run time
 *     #define S_f32 f32                   its storage; N_f32 4: bytes of it
 *     #define L_f32(x) TN_LOAD_FLOAT(x)   to the compute type; W_f32: back (backend/gpu/kernels/prelude.h says how)
 *
 * and TN_EACH_DTYPE(X): X(f32) of each. */
#include <stdint.h>
#include <stdio.h>
#include <tenon/base.h>

typedef struct dtype {
    const char *token, *kind, *compute;
    int code;
    size_t size;
} dtype;

static const dtype dtypes[] = {
#define DTYPE(ID, token, name, storage, kind, has, digits, compute, ...) \
    {#token, #kind, #compute, TN_##ID, sizeof(storage)},
#include "core/dtypes.def"
};

/* The dialect's integers of each size, and its own name of float. */
static void put_storage(const dtype *d)
{
    if (*d->kind == 'F')
        printf("%s\n", d->size == 4 ? "f32" : "double");
    else
        printf("%c%zu\n", *d->kind == 'I' ? 'i' : 'u', 8 * d->size);
}

int main(void)
{
    const size_t n = sizeof dtypes / sizeof *dtypes;
    for (size_t i = 0; i < n; i++) {
        const dtype *d = &dtypes[i];
        const int whole = *d->kind == 'I' || *d->kind == 'U';
        printf("#define TN_CODE_%s %d\n#define N_%s %zu\n#define S_%s ", d->token, d->code, d->token, d->size,
               d->token);
        put_storage(d);
        printf("#define L_%s(x) TN_LOAD_%s(x)\n", d->token, whole ? "INT" : d->kind);
        if (whole)
            printf("#define W_%s(x) TN_STORE_%s(S_%s, x)\n", d->token,
                   *d->kind == 'U' && d->size == 8 ? "U64" : d->compute, d->token);
        else
            printf("#define W_%s(x) TN_STORE_%s(S_%s, x)\n", d->token, d->kind, d->token);
    }
    printf("#define TN_EACH_DTYPE(X)");
    for (size_t i = 0; i < n; i++)
        printf(" X(%s)", dtypes[i].token);
    printf("\n");
    return 0;
}
