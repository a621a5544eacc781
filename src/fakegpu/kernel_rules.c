/* What the environment says of launches: TENON_FAKE_GPU_SEED, _THREADS, _RACES. A value that is not understood is as none:
 * the library says so when it looks at its variables (core/variables.def). */
#include "fakegpu/env.h"
#include "fakegpu/kernel.h"
#include <ctype.h>
#include <errno.h>
#include <pthread.h>

enum { MAX_THREADS = 64 };

static fake_kernel_rules rules;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool read_number(const char *name, unsigned long long *number)
{
    const char *text = fake_env(name);
    char *end;
    if (!text || !isdigit((unsigned char)*text))
        return false;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return !*end && !errno;
}

void fake_kernel_rules_read(void)
{
    unsigned long long n;
    rules = (fake_kernel_rules){.threads = 1};
    rules.drawn = read_number("TENON_FAKE_GPU_SEED", &n);
    if (rules.drawn)
        rules.seed = n;
    if (read_number("TENON_FAKE_GPU_THREADS", &n) && n >= 1 && n <= MAX_THREADS)
        rules.threads = (int)n;
    rules.races = fake_env_flag("TENON_FAKE_GPU_RACES", false);
    if (rules.races) /* what each byte has seen is noted by one thread */
        rules.threads = 1;
}

/* A child of fork reads its own environment. */
static void forget(void)
{
    static const pthread_once_t again = PTHREAD_ONCE_INIT;
    once = again;
}

static void read_first(void)
{
    static bool registered;
    if (!registered)
        registered = pthread_atfork(NULL, NULL, forget) == 0;
    fake_kernel_rules_read();
}

bool fake_kernel_watches(void)
{
    return fake_kernel_rules_here()->races;
}

const fake_kernel_rules *fake_kernel_rules_here(void)
{
    pthread_once(&once, read_first);
    return &rules;
}
