/* fakegpu/sanitizers.h: TN_ASAN or TN_TSAN where the library is built with AddressSanitizer or ThreadSanitizer. */
#ifndef TENON_FAKEGPU_SANITIZERS_H
#define TENON_FAKEGPU_SANITIZERS_H

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

#if defined(TN_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#endif
