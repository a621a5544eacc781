/* core/base.h: what every internal file may rely on. */
#ifndef TENON_CORE_BASE_H
#define TENON_CORE_BASE_H

/* Library code does not note call sites: the user's call, already noted, is the one an error should name. */
#ifndef TN_HERE
#define TN_HERE NULL
#endif

#include <tenon/base.h>
#include <stdatomic.h>
#include <string.h>

#define TN_LIKELY(x)    __builtin_expect(!!(x), 1)
#define TN_UNLIKELY(x)  __builtin_expect(!!(x), 0)
#define TN_COUNT(a)     (sizeof(a) / sizeof *(a))
#define TN_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define TN_COLD         __attribute__((cold, noinline))
#define TN_CACHE_LINE   64

#define TN_MIN(a, b) ((a) < (b) ? (a) : (b))
#define TN_MAX(a, b) ((a) > (b) ? (a) : (b))

#if defined(__SANITIZE_ADDRESS__)
#define TN_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define TN_TSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TN_ASAN 1
#elif __has_feature(thread_sanitizer)
#define TN_TSAN 1
#endif
#endif
#ifndef TN_ASAN
#define TN_ASAN 0
#endif
#ifndef TN_TSAN
#define TN_TSAN 0
#endif

static inline int64_t tn__div_up(int64_t a, int64_t b)
{
    return a / b + (a % b > 0);
}

#endif
