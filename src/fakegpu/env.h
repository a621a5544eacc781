/* fakegpu/env.h: the environment, as fake GPUs read it: nothing of it in a process that has more rights than whoever set it. The
 * variables stand in core/variables.def. */
#ifndef TENON_FAKEGPU_ENV_H
#define TENON_FAKEGPU_ENV_H

#include <stdbool.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif

static inline bool fake_env_guarded(void)
{
#if defined(__linux__)
    return getauxval(AT_SECURE) != 0;
#else
    return getuid() != geteuid() || getgid() != getegid();
#endif
}

/* NULL where it is not set. */
static inline const char *fake_env(const char *name)
{
    return fake_env_guarded() ? NULL : getenv(name);
}

/* 1, yes, on, true; 0, no, off, false; 'otherwise' for anything else. */
static inline bool fake_env_flag(const char *name, bool otherwise)
{
    static const char *const words[] = {"1", "yes", "on", "true", "0", "no", "off", "false"};
    const char *value = fake_env(name);
    for (size_t i = 0; value && i < 8; i++)
        if (!strcasecmp(value, words[i]))
            return i < 4;
    return otherwise;
}

#endif
