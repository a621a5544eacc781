/* backend/gpu/logical.c: TENON_VISIBLE_DEVICES, which of the driver's devices are cuda:0, cuda:1, ...: ordinals, separated
 * by commas, in any order, each as often as is wanted. Devices that are one GPU share its context, so they are lost and
 * reset together, and its memory; all else is each one's own. */
#include "backend/cuda/cuda.h"
#include "core/error.h"
#include <stdio.h>
#include <stdlib.h>

/* NULL where there is none. */
static const char *the_list(void)
{
    const char *list = getenv("TENON_VISIBLE_DEVICES");
    return list && *list ? list : NULL;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The number at *at, which goes behind it and the comma that follows. -1: there is none below n. */
static int32_t read_ordinal(const char **at, int32_t n)
{
    const char *p = *at;
    int32_t value = 0, digits = 0;
    for (; is_blank(*p); p++)
        ;
    for (; *p >= '0' && *p <= '9' && value < n; p++, digits++)
        value = value * 10 + (*p - '0');
    for (; is_blank(*p); p++)
        ;
    if (!digits || value >= n || (*p && *p != ','))
        return -1;
    *at = *p ? p + 1 : p;
    return *p && !p[1] ? -1 : value; /* nothing behind the last comma */
}

int32_t tn__cuda_logical(int32_t n, int32_t ordinal[TN__CUDA_MAX])
{
    const char *list = the_list();
    int32_t count = 0;
    for (; !list && count < n && count < TN__CUDA_MAX; count++)
        ordinal[count] = count;
    while (list && *list) {
        int32_t next = count < TN__CUDA_MAX ? read_ordinal(&list, n) : -1;
        if (next < 0)
            return -1;
        ordinal[count++] = next;
    }
    return count;
}

tn_status tn__cuda_bad_list(int32_t n)
{
    char there[64];
    const char *list = the_list(); /* the environment may have changed since */
    snprintf(there, sizeof there, n == 1 ? "there is 1, 0" : "there are %d, 0 to %d", (int)n, (int)n - 1);
    return tn__error(TN_EDEVICE,
                     "No CUDA GPUs are available\n  TENON_VISIBLE_DEVICES is '%.200s': it says which of the driver's "
                     "devices (%s) are cuda:0, cuda:1, ...: at most %d numbers, separated by commas, as in 0 or 0,0 or "
                     "1,0,1",
                     list ? list : "", there, TN__CUDA_MAX);
}

/* ---- one GPU ---- */

void tn__cuda_join(tn__cuda_device *dev)
{
    dev->first = dev->index;
    dev->sibling = dev;
    for (int32_t i = dev->index - 1; i >= 0 && dev->sibling == dev; i--) {
        tn__cuda_device *last = tn__cuda_slot(i);
        if (last->ordinal != dev->ordinal)
            continue;
        dev->first = last->first;
        dev->sibling = last->sibling;
        last->sibling = dev;
    }
}

void tn__cuda_siblings_str(const tn__cuda_device *dev, char *text, size_t size)
{
    int n = 0;
    *text = '\0';
    for (const tn__cuda_device *s = tn__cuda_slot(dev->first); s && n >= 0 && n < (int)size; s = tn__cuda_sibling(s))
        if (tn__cuda_is_shared(dev))
            n += snprintf(text + n, size - (size_t)n, "%scuda:%d", n ? ", " : "", (int)s->index);
}
