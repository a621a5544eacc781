/* documents.h: how Python would write what the twins print: devices, sizes, errors. */
#ifndef TENON_TESTS_DOCUMENTS_H
#define TENON_TESTS_DOCUMENTS_H

#include <stdio.h>
#include <string.h>
#include <tenon/tenon.h>

typedef struct python_text {
    char s[200];
} python_text;

/* device(type='cuda', index=0) */
static inline python_text device_repr(tn_device d)
{
    python_text p;
    tn_text name = tn_device_text(d);
    char *colon = strchr(name.s, ':');
    if (colon)
        snprintf(p.s, sizeof p.s, "device(type='%.*s', index=%s)", (int)(colon - name.s), name.s, colon + 1);
    else
        snprintf(p.s, sizeof p.s, "device(type='%s')", name.s);
    return p;
}

/* torch.Size([2, 3]) */
static inline python_text size_repr(const tn_tensor *t)
{
    python_text p;
    tn_dims shape = tn_tensor_shape(t);
    size_t n = (size_t)snprintf(p.s, sizeof p.s, "torch.Size([");
    for (int32_t i = 0; i < shape.ndim && n < sizeof p.s; i++)
        n += (size_t)snprintf(p.s + n, sizeof p.s - n, i ? ", %lld" : "%lld", (long long)shape.dim[i]);
    if (n < sizeof p.s)
        snprintf(p.s + n, sizeof p.s - n, "])");
    return p;
}

static inline python_text tensor_repr(const tn_tensor *t)
{
    python_text p;
    if (tn_to_string(t, p.s, sizeof p.s) < 0)
        snprintf(p.s, sizeof p.s, "%s", tn_error_message());
    return p;
}

static inline const char *truth(bool b)
{
    return b ? "True" : "False";
}

static inline const char *device_of(const tn_tensor *t)
{
    static char text[4][sizeof(tn_text)]; /* up to four of them in one printf */
    static int next;
    next = (next + 1) % 4;
    memcpy(text[next], tn_device_text(tn_tensor_device(t)).s, sizeof text[next]);
    return text[next];
}

/* The device of the first parameter: list(net.parameters())[0].device */
static inline const char *first_device(tn_module *net)
{
    tn_tensor *first = NULL;
    return tn_module_parameters(net, &first, 1) && first ? device_of(first) : tn_error_message();
}

/* The exception that tenon/base.h names beside the status; errors of CUDA itself are PyTorch's AcceleratorError. */
static inline const char *exception_name(void)
{
    switch (tn_error_code()) {
    case TN_OK: return "no error";
    case TN_ENOMEM: return "OutOfMemoryError";
    case TN_EINDEX: return "IndexError";
    case TN_EVALUE:
    case TN_EFORMAT: return "ValueError";
    case TN_ETYPE: return "TypeError";
    case TN_EIO: return "OSError";
    case TN_EMISSING: return "NotImplementedError";
    case TN_EDEVICE: return strncmp(tn_error_message(), "CUDA error", 10) ? "RuntimeError" : "AcceleratorError";
    default: return "RuntimeError";
    }
}

/* The last lines of a traceback. */
static inline void print_error(void)
{
    printf("%s: %s\n", exception_name(), tn_error_message());
    tn_error_clear();
}

#endif
