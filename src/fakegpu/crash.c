/* Signals of kernels: see crash.h. */
#include "fakegpu/crash.h"
#include "fakegpu/sanitizers.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

/* What the kernel that runs on this thread is to leave by. */
static _Thread_local fake_crash *running;

#if !defined(TN_ASAN) && !defined(TN_TSAN)
enum { STACK = 64 << 10 };

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
enum { SIGNALS = sizeof signals / sizeof *signals };

static struct sigaction former[SIGNALS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const char *top_of_stack(const void *context)
{
    const ucontext_t *u = context;
#if defined(__x86_64__)
    return (const char *)u->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    return (const char *)(uintptr_t)u->uc_mcontext.sp;
#else
    (void)u;
    return NULL;
#endif
}

/* Nobody's kernel: as if this handler were not there. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    int i = 0;
    while (i < SIGNALS - 1 && signals[i] != number)
        i++;
    const struct sigaction *f = &former[i];
    if (f->sa_flags & SA_SIGINFO) {
        f->sa_sigaction(number, info, context);
    } else if (f->sa_handler != SIG_DFL && f->sa_handler != SIG_IGN) {
        f->sa_handler(number);
    } else { /* what raised it is done again, and then ends the process */
        sigaction(number, f, NULL);
        if (info->si_code <= 0) /* somebody sent it */
            raise(number);
    }
}

static void handle(int number, siginfo_t *info, void *context)
{
    fake_crash *c = running;
    if (!c) {
        pass_on(number, info, context);
        return;
    }
    running = NULL;
    c->signal = number;
    c->code = info->si_code;
    c->address = info->si_addr;
    c->top = top_of_stack(context);
    c->leave(c->arg);
}

static void install(void)
{
    /* not blocked while it is handled: the handler does not return */
    struct sigaction a = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigemptyset(&a.sa_mask);
    for (int i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &a, &former[i]);
}

void fake_crash_start(fake_crash *c, void (*leave)(void *arg), void *arg)
{
    stack_t now;
    *c = (fake_crash){.leave = leave, .arg = arg};
    pthread_once(&once, install);
    if (sigaltstack(NULL, &now) || !(now.ss_flags & SS_DISABLE) || !(c->stack = malloc(STACK)))
        return;
    now = (stack_t){.ss_sp = c->stack, .ss_size = STACK};
    sigaltstack(&now, NULL);
}

void fake_crash_end(fake_crash *c)
{
    if (!c->stack)
        return;
    sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
    free(c->stack);
}
#else
void fake_crash_start(fake_crash *c, void (*leave)(void *arg), void *arg)
{
    *c = (fake_crash){.leave = leave, .arg = arg};
}

void fake_crash_end(fake_crash *c)
{
    (void)c;
}
#endif

void fake_crash_begin(fake_crash *c)
{
    c->signal = 0;
    running = c;
}

void fake_crash_over(fake_crash *c)
{
    (void)c;
    running = NULL;
}

/* An x86 tells a misaligned access of 16 bytes, and an address that is none at all, without saying where. */
static bool is_misaligned(const fake_crash *c)
{
#if defined(__x86_64__)
    if (c->signal == SIGSEGV && c->code == SI_KERNEL)
        return true;
#endif
    return c->signal == SIGBUS && c->code == BUS_ADRALN;
}

tn__cu_result fake_crash_explain(const fake_crash *c, const char *kernel, const int group[3], char *why, size_t size)
{
    enum { NEAR = 64 << 10 };
    const char *what = "touches an address that has no memory";
    tn__cu_result error = TN__CU_ILLEGAL_ADDRESS;
    if (c->signal == SIGFPE) {
        what = "divides by 0 (a GPU goes on, with any number)";
        error = TN__CU_LAUNCH_FAILED;
    } else if (c->signal == SIGILL) {
        what = "reaches an illegal instruction";
        error = TN__CU_ILLEGAL_INSTRUCTION;
    } else if (is_misaligned(c)) {
        what = "reads or writes more than its address is a multiple of, at once";
        error = TN__CU_MISALIGNED_ADDRESS;
    } else if (c->top && c->address < c->top + NEAR && c->address >= c->top - NEAR) {
        what = "has used up its stack";
        error = TN__CU_LAUNCH_FAILED;
    }
    snprintf(why, size, "kernel '%s' %s: address %p, group (%d, %d, %d)", kernel, what, (const void *)c->address,
             group[0], group[1], group[2]);
    return error;
}
