/* fakegpu/crash.h: a kernel that dies (a wrong pointer, no stack left, a trap) is an error of its device, not the end of the
 * process. Signals that it raises are taken on threads that run a kernel at that moment, and there alone: all others go to who
 * had them before. Where the library is built with a sanitizer they are the sanitizer's, which says more. */
#ifndef TENON_FAKEGPU_CRASH_H
#define TENON_FAKEGPU_CRASH_H

#include "fakegpu/fake.h"
#include <signal.h>

typedef struct fake_crash {
    void (*leave)(void *arg); /* goes back to who runs the kernel: does not return */
    void *arg;
    void *stack;                  /* that the handler runs on, if it is ours */
    volatile sig_atomic_t signal; /* 0: none */
    int code;
    const char *address, *top; /* that was touched; of the stack then, NULL: not known */
} fake_crash;

/* For the calling thread; *c stays where it is until fake_crash_end, on the same thread. */
void fake_crash_start(fake_crash *c, void (*leave)(void *arg), void *arg);
void fake_crash_end(fake_crash *c);

/* The thread runs a kernel from here on; no more. */
void fake_crash_begin(fake_crash *c);
void fake_crash_over(fake_crash *c);

/* The driver's error for what happened, and a text. */
tn__cu_result fake_crash_explain(const fake_crash *c, const char *kernel, const int group[3], char *why, size_t size);

#endif
