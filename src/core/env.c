/* Environment variables as flags, numbers and sizes; facts about the machine. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "core/env.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>
#if defined(__linux__)
#include <sched.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

bool tn__env_flag(const char *name)
{
    const char *v = getenv(name);
    return v && (!strcmp(v, "1") || !strcasecmp(v, "yes") || !strcasecmp(v, "on") || !strcasecmp(v, "true"));
}

int64_t tn__env_number(const char *name, int64_t otherwise)
{
    const char *v = getenv(name);
    if (!v || !*v)
        return otherwise;
    char *end;
    errno = 0;
    long long n = strtoll(v, &end, 10);
    return *end || errno ? otherwise : n;
}

bool tn__parse_bytes(const char *text, int64_t *bytes)
{
    static const struct {
        const char *suffix;
        int shift;
    } units[] = {{"", 0}, {"B", 0}, {"K", 10}, {"KiB", 10}, {"M", 20}, {"MiB", 20}, {"G", 30}, {"GiB", 30}};
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (end == text || errno || n < 0)
        return false;
    for (size_t i = 0; i < TN_COUNT(units); i++)
        if (!strcasecmp(end, units[i].suffix)) {
            *bytes = n > INT64_MAX >> units[i].shift ? -1 : n << units[i].shift;
            return *bytes >= 0;
        }
    return false;
}

int64_t tn__env_bytes(const char *name, int64_t otherwise)
{
    const char *v = getenv(name);
    int64_t n;
    return v && tn__parse_bytes(v, &n) ? n : otherwise;
}

int64_t tn__env_physical_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (int64_t)pages * size : 0;
}

int tn__env_cpu_count(void)
{
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
#endif
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

int64_t tn__env_last_level_cache(void)
{
    int64_t size = 0;
#if defined(__linux__)
    for (int i = 0; i < 6; i++) { /* index0 .. : the last one that exists is the largest level */
        char path[80], text[32] = "";
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        FILE *f = fopen(path, "r");
        int64_t n;
        if (!f)
            break;
        if (fgets(text, sizeof text, f)) {
            text[strcspn(text, "\n")] = '\0';
            if (tn__parse_bytes(text, &n) && n > size)
                size = n;
        }
        fclose(f);
    }
#elif defined(__APPLE__)
    size_t len = sizeof size;
    if (sysctlbyname("hw.l2cachesize", &size, &len, NULL, 0) != 0)
        size = 0;
#endif
    return size > 0 ? size : 8 << 20;
}
