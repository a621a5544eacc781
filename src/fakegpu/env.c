/* What the environment says about which GPUs there are.
 *
 * TENON_FAKE_GPUS: COUNT or COUNTxSIZE: how many, and how much memory each has: 4, 2x4GiB, 1x512MiB. A size is a number of
 * bytes, or one with KiB, MiB or GiB, of which whole MiB are taken; at least 16MiB, at most 1024GiB; 4GiB where no size is
 * given (memory that is not written costs nothing). Unset or empty: one.
 *
 * TENON_FAKE_GPU_CAPABILITY: the compute capability of each, in nvidia-smi's order; the last one's is that of all that follow:
 * 9.0 (as where it is not set), 13.0,8.6.
 *
 * CUDA_VISIBLE_DEVICES: as the driver reads it: see fake_parse_visible. */
#include "fakegpu/driver.h"
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const size_t mebibyte = (size_t)1 << 20;

/* As of all sizes that Tenon reads: KB, MB and GB are none, being powers of 1000 to some and of 1024 to others. */
static bool parse_size(const char *text, unsigned long long *bytes)
{
    static const char *const units[] = {"", "B", "K", "KiB", "M", "MiB", "G", "GiB"};
    char *end;
    if (!isdigit((unsigned char)*text))
        return false;
    const unsigned long long n = strtoull(text, &end, 10);
    for (unsigned i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcasecmp(end, units[i])) {
            *bytes = n << (i / 2 * 10);
            return n <= ULLONG_MAX >> (i / 2 * 10);
        }
    return false;
}

static bool parse_gpus(const char *text, int *count, size_t *bytes)
{
    char *end;
    if (!isdigit((unsigned char)text[0]))
        return false;
    unsigned long n = strtoul(text, &end, 10);
    if (n > FAKE_MAX_DEVICES)
        return false;
    *count = (int)n;
    if (!*end)
        return true;
    unsigned long long size;
    if (end[0] != 'x' || !parse_size(end + 1, &size))
        return false;
    *bytes = (size_t)size / mebibyte * mebibyte;
    return size >= 16 * mebibyte && size <= 1024 * 1024 * mebibyte;
}

bool fake_parse_gpus(const char *text, int *count, size_t *bytes)
{
    *count = 1;
    *bytes = 4096 * mebibyte;
    if (!text || !*text || parse_gpus(text, count, bytes))
        return true;
    fake_report(
        "TENON_FAKE_GPUS='%s' is not understood. Accepted: COUNT or COUNTxSIZE with COUNT from 0 to %d and SIZE "
        "in MiB or GiB from 16MiB to 1024GiB, for example 4, 2x4GiB, 1x512MiB.",
        text, FAKE_MAX_DEVICES);
    return false;
}

static bool take_digits(const char **p, int most, int *value)
{
    char *end;
    if (!isdigit((unsigned char)**p))
        return false;
    const unsigned long n = strtoul(*p, &end, 10);
    *p = end;
    *value = (int)n;
    return n <= (unsigned long)most;
}

bool fake_parse_capability(const char *text, int n, fake_device *devices)
{
    const char *p = text && *text ? text : "9.0";
    int major = 0, minor = 0;
    bool good = true, more = true;
    for (int i = 0; i < n && good; i++) {
        if (more) {
            good = take_digits(&p, 99, &major) && *p++ == '.' && take_digits(&p, 9, &minor) && (!*p || *p == ',');
            more = good && *p++ == ',';
        }
        devices[i].capability = 10 * major + minor;
    }
    if (!good)
        fake_report("TENON_FAKE_GPU_CAPABILITY='%s' is not understood. Accepted: compute capabilities, separated by "
                    "commas, for "
                    "example 9.0 or 13.0,8.6.",
                    text);
    return good;
}

void fake_uuid_text(const tn__cu_uuid *uuid, char out[41])
{
    char *p = out;
    p += snprintf(p, 5, "GPU-");
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *p++ = '-';
        p += snprintf(p, 3, "%02x", (unsigned char)uuid->bytes[i]);
    }
}

/* The physical number of the one device whose UUID begins so, or -1. */
static int by_uuid(const char *prefix, size_t length, const fake_device *devices, int n)
{
    int found = -1;
    for (int i = 0; i < n; i++) {
        char uuid[41];
        fake_uuid_text(&devices[i].uuid, uuid);
        if (length > 40 || memcmp(uuid, prefix, length) != 0)
            continue;
        if (found >= 0)
            return -1; /* could be either */
        found = i;
    }
    return found;
}

/* The number that an item begins with, as strtoul takes it, or -1. */
static long by_number(const char *item, size_t length)
{
    size_t i = 0;
    while (i < length && isspace((unsigned char)item[i]))
        i++;
    bool minus = i < length && item[i] == '-';
    i += i < length && (item[i] == '-' || item[i] == '+');
    if (i == length || !isdigit((unsigned char)item[i]))
        return -1;
    long value = 0;
    for (; i < length && isdigit((unsigned char)item[i]); i++)
        value = value > 100000 ? value : value * 10 + (item[i] - '0');
    return minus && value ? -1 : value;
}

/* Fills 'physical' with the numbers of the visible devices, in the program's order, and returns how many there are. The
 * driver's rules: the list ends at the first item that is no device; a device named twice leaves none at all; items are
 * ordinals or, all of them, beginnings of UUIDs that fit one device only. */
int fake_parse_visible(const char *text, const fake_device *devices, int n, int *physical)
{
    if (!text) {
        for (int i = 0; i < n; i++)
            physical[i] = i;
        return n;
    }
    bool uuids = strncmp(text, "GPU-", 4) == 0;
    int count = 0, beyond = 0; /* beyond: ordinals that are no device end the list, but count as named */
    long seen[2 * FAKE_MAX_DEVICES];
    for (const char *item = text;; item++) {
        size_t length = strcspn(item, ",");
        if (uuids && strncmp(item, "GPU-", 4) != 0)
            break;
        long number = uuids ? by_uuid(item, length, devices, n) : by_number(item, length);
        if (number < 0 || count + beyond == 2 * FAKE_MAX_DEVICES)
            break;
        for (int i = 0; i < count + beyond; i++)
            if (seen[i] == number)
                return 0;
        seen[count + beyond] = number;
        if (beyond || number >= n)
            beyond++;
        else
            physical[count++] = (int)number;
        item += length;
        if (!*item)
            break;
    }
    return count;
}
