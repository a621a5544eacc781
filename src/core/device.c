/* Device values: read from text, written as text, compared. */
#include "core/device.h"
#include "core/error.h"
#include "core/thread.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const type_names[] = {
    [TN_DEVICE_CPU] = "cpu", [TN_DEVICE_CUDA] = "cuda", [TN_DEVICE_OPENCL] = "opencl", [TN_DEVICE_META] = "meta"};

static const char help[] = "\n  write cpu, cuda, cuda:1, opencl:0 or meta";

static tn_device invalid(void)
{
    return tn_device_make(TN_DEVICE_INVALID, -1);
}

/* The grammar: ([a-zA-Z_]+)(:([1-9][0-9]*|0))? */
static bool split(const char *text, size_t *name_len, const char **digits)
{
    size_t n = 0;
    while (isalpha((unsigned char)text[n]) || text[n] == '_')
        n++;
    *name_len = n;
    *digits = NULL;
    if (n == 0)
        return false;
    if (text[n] == '\0')
        return true;
    const char *d = text + n + 1;
    if (text[n] != ':' || !isdigit((unsigned char)*d) || (d[0] == '0' && d[1]))
        return false;
    for (const char *p = d; *p; p++)
        if (!isdigit((unsigned char)*p))
            return false;
    *digits = d;
    return true;
}

tn_device tn_device_parse(const char *text)
{
    size_t n;
    const char *digits;
    tn__enter(TN__NOWHERE);
    if (!text || !*text) {
        tn__error(TN_EINVAL, "Device string must not be empty%s", help);
        return invalid();
    }
    if (!split(text, &n, &digits)) {
        tn__error(TN_EINVAL, "Invalid device string: '%s'%s", text, help);
        return invalid();
    }
    int32_t type = 0;
    for (int32_t i = TN_DEVICE_CPU; i <= TN_DEVICE_META; i++)
        if (strlen(type_names[i]) == n && !strncmp(text, type_names[i], n))
            type = i;
    if (!type) {
        tn__error(TN_EINVAL, "Expected one of cpu, cuda, opencl, meta device type at start of device string: %.*s%s",
                  (int)n, text, help);
        return invalid();
    }
    errno = 0;
    long index = digits ? strtol(digits, NULL, 10) : -1;
    if (errno || index > 127) {
        tn__error(TN_EINVAL, "Could not parse device index '%s' in device string '%s'\n  an index is at most 127",
                  digits, text);
        return invalid();
    }
    return tn_device_make(type, (int32_t)index);
}

tn_text tn_device_text(tn_device d)
{
    tn_text t;
    if (d.type < TN_DEVICE_CPU || d.type > TN_DEVICE_META)
        snprintf(t.s, sizeof t.s, "%s", d.type == TN_DEVICE_DEFAULT ? "default" : "invalid");
    else if (d.index < 0)
        snprintf(t.s, sizeof t.s, "%s", type_names[d.type]);
    else
        snprintf(t.s, sizeof t.s, "%s:%d", type_names[d.type], (int)d.index);
    return t;
}

bool tn_device_equal(tn_device a, tn_device b)
{
    return tn__same_device(a, b);
}

const char *tn_version(void)
{
    return TN_VERSION_TEXT;
}
