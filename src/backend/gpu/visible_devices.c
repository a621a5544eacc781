/* Which of the driver's devices are cuda:0, cuda:1, ...: TENON_VISIBLE_DEVICES lists ordinals, separated by commas, in any
 * order, each as often as is wanted. Devices that are one GPU share its context, so they are lost and reset together, and its
 * memory; all else is each one's own. */
#include "backend/gpu/device.h"
#include "core/env.h"
#include "core/error.h"
#include <stdio.h>

/* NULL where there is none. */
static const char *the_list(const tn__gpu_driver *driver)
{
    const char *list = tn__env_text(driver->visible_variable);
    return list && *list ? list : NULL;
}

int32_t tn__gpu_visible(const tn__gpu_driver *driver, int32_t n, int32_t ordinal[TN__GPU_EACH])
{
    const char *list = the_list(driver);
    int32_t count = 0;
    for (; !list && count < n && count < TN__GPU_EACH; count++)
        ordinal[count] = count;
    while (list && *list) {
        int32_t next = count < TN__GPU_EACH ? tn__parse_ordinal(&list, n) : -1;
        if (next < 0)
            return -1;
        ordinal[count++] = next;
    }
    return count;
}

tn_status tn__gpu_bad_list(const tn__gpu_driver *driver, int32_t n)
{
    char there[64];
    const char *list = the_list(driver); /* the environment may have changed since */
    snprintf(there, sizeof there, n == 1 ? "there is 1, 0" : "there are %d, 0 to %d", (int)n, (int)n - 1);
    return tn__error(TN_EDEVICE,
                     "No %s GPUs are available\n  %s is '%.200s': it says which of the driver's devices (%s) are %s:0, "
                     "%s:1, ...: at most %d numbers, separated by commas, as in 0 or 0,0 or 1,0,1",
                     driver->label, driver->visible_variable, list ? list : "", there, driver->name, driver->name,
                     TN__GPU_EACH);
}

/* ---- one GPU ---- */

void tn__gpu_join(tn__gpu_device *dev)
{
    dev->first = dev;
    dev->sibling = dev;
    for (int32_t i = dev->device.index - 1; i >= 0 && dev->sibling == dev; i--) {
        tn__gpu_device *last = tn__gpu_slot(tn_device_make(dev->device.type, i));
        if (last->ordinal != dev->ordinal)
            continue;
        dev->first = last->first;
        dev->sibling = last->sibling;
        last->sibling = dev;
    }
}

void tn__gpu_siblings_str(const tn__gpu_device *dev, char *text, size_t size)
{
    int n = 0;
    *text = '\0';
    for (const tn__gpu_device *s = dev->first; s && n >= 0 && n < (int)size; s = tn__gpu_sibling(s))
        if (tn__gpu_is_shared(dev))
            n += snprintf(text + n, size - (size_t)n, "%s%s", n ? ", " : "", tn_device_text(s->device).s);
}
