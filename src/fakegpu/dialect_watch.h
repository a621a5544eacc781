/* fakegpu/dialect_watch.h: where races are looked for (TENON_FAKE_GPU_RACES), units are compiled with -fsanitize=thread but not
 * linked with its library: what the compiler has them call at each access stands here, and tells the library that runs them
 * (shadow.c). The functions are the unit's own (hidden): a process may have the real ones. */
#ifdef TN_FAKE_RACES
#if !defined(__clang__)
#define TN_UNWATCHED __attribute__((no_sanitize("thread"), visibility("hidden"), used))
#elif __has_attribute(disable_sanitizer_instrumentation) /* clang's no_sanitize leaves atomics and memcpy watched */
#define TN_UNWATCHED __attribute__((disable_sanitizer_instrumentation, visibility("hidden"), used))
#else
#error "TENON_FAKE_GPU_RACES=1 needs gcc, or clang 14 or newer"
#endif

/* The item's own record is no memory of the kernel. */
static TN_UNWATCHED void tn_watch(const volatile void *at, unsigned long bytes, int how)
{
    if ((unsigned long)((const volatile char *)at - (const volatile char *)&tn_item) >= sizeof tn_item &&
        tn_item.access)
        tn_item.access(tn_item.run, (const void *)at, bytes, how);
}

#define TN_WATCH(name, how, n) \
    TN_UNWATCHED void __tsan_##name##n(void *p); \
    TN_UNWATCHED void __tsan_##name##n(void *p) \
    { \
        tn_watch(p, n, how); \
    }
#define TN_WATCH_SIZES(name, how) \
    TN_WATCH(name, how, 1) \
    TN_WATCH(name, how, 2) TN_WATCH(name, how, 4) TN_WATCH(name, how, 8) TN_WATCH(name, how, 16)
TN_WATCH_SIZES(read, TN_READ | TN_ALIGNED)
TN_WATCH_SIZES(write, TN_WRITE | TN_ALIGNED)
TN_WATCH_SIZES(volatile_read, TN_READ | TN_ALIGNED)
TN_WATCH_SIZES(volatile_write, TN_WRITE | TN_ALIGNED)
TN_WATCH_SIZES(unaligned_read, TN_READ)
TN_WATCH_SIZES(unaligned_write, TN_WRITE)

#define TN_WATCH_RANGE(name, how) \
    TN_UNWATCHED void __tsan_##name##_range(void *p, unsigned long n); \
    TN_UNWATCHED void __tsan_##name##_range(void *p, unsigned long n) \
    { \
        tn_watch(p, n, how); \
    }
TN_WATCH_RANGE(read, TN_READ)
TN_WATCH_RANGE(write, TN_WRITE)

/* clang has it called in place of memcpy and the like */
TN_UNWATCHED void *__tsan_memcpy(void *to, const void *from, unsigned long n);
TN_UNWATCHED void *__tsan_memcpy(void *to, const void *from, unsigned long n)
{
    tn_watch(from, n, TN_READ);
    tn_watch(to, n, TN_WRITE);
    return __builtin_memcpy(to, from, n);
}

TN_UNWATCHED void *__tsan_memmove(void *to, const void *from, unsigned long n);
TN_UNWATCHED void *__tsan_memmove(void *to, const void *from, unsigned long n)
{
    tn_watch(from, n, TN_READ);
    tn_watch(to, n, TN_WRITE);
    return __builtin_memmove(to, from, n);
}

TN_UNWATCHED void *__tsan_memset(void *to, int byte, unsigned long n);
TN_UNWATCHED void *__tsan_memset(void *to, int byte, unsigned long n)
{
    tn_watch(to, n, TN_WRITE);
    return __builtin_memset(to, byte, n);
}

/* A store, an exchange or a sum, and a load that others may change: all the same to who looks for races. */
#define TN_WATCH_ATOMIC(type, bits, name, parameters, call) \
    TN_UNWATCHED type __tsan_atomic##bits##_##name parameters; \
    TN_UNWATCHED type __tsan_atomic##bits##_##name parameters \
    { \
        tn_watch(p, bits / 8, TN_ATOMIC | TN_ALIGNED); \
        return call; \
    }
#define TN_WATCH_LOAD(T, bits) \
    TN_WATCH_ATOMIC(T, bits, load, (const volatile T *p, int o), (o = 0, __atomic_load_n(p, __ATOMIC_SEQ_CST)))
#define TN_WATCH_STORE(T, bits) \
    TN_WATCH_ATOMIC(void, bits, store, (volatile T * p, T v, int o), (o = 0, __atomic_store_n(p, v, __ATOMIC_SEQ_CST)))
#define TN_WATCH_FETCH(T, bits, name) \
    TN_WATCH_ATOMIC(T, bits, name, (volatile T * p, T v, int o), (o = 0, __atomic_##name(p, v, __ATOMIC_SEQ_CST)))
#define TN_WATCH_SWAP(T, bits) \
    TN_WATCH_ATOMIC(T, bits, exchange, (volatile T * p, T v, int o), \
                    (o = 0, __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST)))
#define TN_CAS(p, seen, v) __atomic_compare_exchange_n(p, seen, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
#define TN_WATCH_CAS(T, bits, name) \
    TN_WATCH_ATOMIC(int, bits, name, (volatile T * p, T * seen, T v, int o, int q), (o = q = 0, TN_CAS(p, seen, v)))
#define TN_WATCH_CAS_VALUE(T, bits) \
    TN_WATCH_ATOMIC(T, bits, compare_exchange_val, (volatile T * p, T seen, T v, int o, int q), \
                    (o = q = 0, TN_CAS(p, &seen, v), seen))
#define TN_WATCH_EXCHANGES(T, bits) \
    TN_WATCH_LOAD(T, bits) \
    TN_WATCH_STORE(T, bits) \
    TN_WATCH_SWAP(T, bits) \
    TN_WATCH_CAS(T, bits, compare_exchange_strong) \
    TN_WATCH_CAS(T, bits, compare_exchange_weak) TN_WATCH_CAS_VALUE(T, bits)
#define TN_WATCH_ATOMICS(T, bits) \
    TN_WATCH_EXCHANGES(T, bits) \
    TN_WATCH_FETCH(T, bits, fetch_add) \
    TN_WATCH_FETCH(T, bits, fetch_sub) \
    TN_WATCH_FETCH(T, bits, fetch_and) TN_WATCH_FETCH(T, bits, fetch_or) TN_WATCH_FETCH(T, bits, fetch_xor)
TN_WATCH_ATOMICS(unsigned char, 8)
TN_WATCH_ATOMICS(unsigned short, 16)
TN_WATCH_ATOMICS(unsigned, 32)
TN_WATCH_ATOMICS(unsigned long long, 64)

/* Calls of functions, and the beginning: nothing. */
TN_UNWATCHED void __tsan_func_entry(void *from);
TN_UNWATCHED void __tsan_func_entry(void *from)
{
    (void)from;
}
TN_UNWATCHED void __tsan_func_exit(void *from);
TN_UNWATCHED void __tsan_func_exit(void *from)
{
    (void)from;
}
TN_UNWATCHED void __tsan_init(void);
TN_UNWATCHED void __tsan_init(void) {}
#endif
