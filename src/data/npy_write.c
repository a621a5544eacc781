/* Writing npy, version 1.0: the header is padded with spaces so that the elements begin at a multiple of 64 bytes. */
#include "autograd/functions.h"
#include "core/error.h"
#include "data/atomic_file.h"
#include "data/bytes.h"
#include <stdio.h>
#include <tenon/data.h>

enum { START = 10, ALIGN = 64, HEADER = 320 };

/* What lies before the elements; returns its length, a multiple of 64. */
static size_t make_header(char *out, const tn_tensor *t)
{
    char shape[TN_MAX_DIMS * 22] = "";
    size_t n = 0;
    for (int32_t d = 0; d < t->ndim; d++)
        n += (size_t)snprintf(shape + n, sizeof shape - n, d ? " %lld," : "%lld,", (long long)t->shape[d]);
    if (t->ndim > 1)
        shape[n - 1] = '\0'; /* (3,) but (3, 4) */
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    int length = snprintf(out + START, HEADER - START, "{'descr': '%c%s', 'fortran_order': False, 'shape': (%s), }",
                          tn__dtype_size(t->dtype) == 1 ? '|' : '<', tn__dtypes[t->dtype].npy, shape);
    size_t used = START + (size_t)length, all = (used + 1 + ALIGN - 1) / ALIGN * ALIGN;
    memset(out + used, ' ', all - used);
    out[all - 1] = '\n';
    out[8] = (char)((all - START) & 0xff);
    out[9] = (char)((all - START) >> 8);
    return all;
}

static tn_status write_rows(const tn_tensor *rows, const char *path)
{
    char header[HEADER + ALIGN];
    tn__atomic_file f;
    tn_status e = tn__atomic_open(&f, path);
    if (e)
        return e;
    if ((e = tn__atomic_write(&f, header, make_header(header, rows))) ||
        (e = tn__atomic_write(&f, tn__tensor_data(rows), (size_t)rows->numel * tn__dtype_size(rows->dtype)))) {
        tn__atomic_abandon(&f);
        return e;
    }
    return tn__atomic_commit(&f);
}

tn_status(tn_save_npy_at)(const char *site, const tn_tensor *t, const char *path)
{
    tn__thread *self = tn__enter(site);
    tn_scope scope;
    if (!t || t == TN_NONE)
        return t ? tn__error(TN_ETYPE, "tn_save_npy: a tensor was expected, got TN_NONE") : tn__poisoned("tn_save_npy");
    if (!*tn__dtypes[t->dtype].npy)
        return tn__error(TN_EDTYPE, "tn_save_npy: npy has no %s: save tn_to(t, .dtype = TN_F32), or use safetensors",
                         tn__dtypes[t->dtype].name);
    tn__scope_push(self, &scope);
    const tn_tensor *rows = tn__host_rows(t);
    tn_status e = rows ? write_rows(rows, path) : tn_error_code();
    tn__scope_pop(self, &scope, NULL);
    return e;
}

tn_status(tn_save_npy)(const tn_tensor *t, const char *path)
{
    return (tn_save_npy_at)(TN__NOWHERE, t, path);
}
