/* The one place where the environment is read: variables as texts, flags, numbers and sizes. Facts about the machine. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "core/env.h"
#include "core/variables.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>
#if defined(__linux__)
#include <sched.h>
#include <sys/auxv.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

/* ---- the door ---- */

bool tn__env_guarded(void)
{
#if defined(__linux__)
    return getauxval(AT_SECURE) != 0;
#elif defined(__APPLE__) || defined(__FreeBSD__) || defined(__OpenBSD__) || defined(__NetBSD__)
    return issetugid() != 0;
#else
    return getuid() != geteuid() || getgid() != getegid();
#endif
}

const char *tn__env_text(const char *name)
{
    const tn__variable *v = tn__variable_named(name);
    return v && !(v->guarded && tn__env_guarded()) ? getenv(name) : NULL;
}

/* Its value, where it has one that is good. */
static const char *good_value(const char *name)
{
    char fault[400];
    const char *value = tn__env_text(name);
    return value && *value && tn__variable_judge(tn__variable_named(name), value, fault, sizeof fault) ? value : NULL;
}

bool tn__env_flag(const char *name, bool otherwise)
{
    const char *value = good_value(name);
    bool yes;
    return value && tn__parse_flag(value, &yes) ? yes : otherwise;
}

int64_t tn__env_number(const char *name, int64_t otherwise)
{
    const char *value = good_value(name);
    int64_t n;
    return value && tn__parse_number(value, &n) ? n : otherwise;
}

int64_t tn__env_bytes(const char *name, int64_t otherwise)
{
    const char *value = good_value(name);
    int64_t n;
    return value && tn__parse_bytes(value, &n) ? n : otherwise;
}

const char *tn__env_choice(const char *name)
{
    return good_value(name);
}

/* ---- values ---- */

bool tn__parse_flag(const char *text, bool *yes)
{
    static const char *const words[] = {"1", "yes", "on", "true", "0", "no", "off", "false"};
    for (size_t i = 0; i < TN_COUNT(words); i++)
        if (!strcasecmp(text, words[i])) {
            *yes = i < TN_COUNT(words) / 2;
            return true;
        }
    return false;
}

bool tn__parse_number(const char *text, int64_t *n)
{
    char *end;
    errno = 0;
    *n = strtoll(text, &end, 10);
    return end != text && !*end && !errno;
}

/* KB, MB and GB are none of them: to some they are powers of 1000, to others of 1024. */
bool tn__parse_bytes(const char *text, int64_t *bytes)
{
    static const struct {
        const char *suffix;
        int shift;
    } units[] = {{"", 0}, {"B", 0}, {"K", 10}, {"KiB", 10}, {"M", 20}, {"MiB", 20}, {"G", 30}, {"GiB", 30}};
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (*text < '0' || *text > '9' || errno)
        return false;
    for (size_t i = 0; i < TN_COUNT(units); i++)
        if (!strcasecmp(end, units[i].suffix)) {
            *bytes = n > INT64_MAX >> units[i].shift ? -1 : n << units[i].shift;
            return *bytes >= 0;
        }
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

int32_t tn__parse_ordinal(const char **list, int32_t n)
{
    const char *p = *list;
    int64_t value = 0;
    int digits = 0;
    for (; is_blank(*p); p++)
        ;
    for (; *p >= '0' && *p <= '9' && value < n; p++, digits++)
        value = value * 10 + (*p - '0');
    for (; is_blank(*p); p++)
        ;
    if (!digits || value >= n || (*p && *p != ','))
        return -1;
    *list = *p ? p + 1 : p;
    return *p && !p[1] ? -1 : (int32_t)value; /* nothing behind the last comma */
}

/* ---- the machine ---- */

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
