/* What the environment says of launches: TENON_FAKE_GPU_SEED, TENON_FAKE_GPU_THREADS. A value that is not understood is as none:
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
}

const fake_kernel_rules *fake_kernel_rules_here(void)
{
    pthread_once(&once, fake_kernel_rules_read);
    return &rules;
}
