/* Fibers: see fibers.h. The switch is in assembly for x86-64 and AArch64, ucontext elsewhere (TN_FAKE_UCONTEXT chooses it by
 * hand). */
#include "fakegpu/fibers.h"
#include "fakegpu/sanitizers.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Checked code has larger frames. */
#if defined(TN_ASAN) || defined(TN_TSAN)
enum { STACK = 256 << 10 };
#else
enum { STACK = 64 << 10 };
#endif

/* ---- the switch: saves where it is in *save, goes on at 'to'; a context is a stack pointer ---- */
#if defined(__x86_64__) && !defined(TN_FAKE_UCONTEXT)
typedef void *context;
void fake_switch(context *save, context to) __attribute__((visibility("hidden")));
__asm__(".text\n.globl fake_switch\n.hidden fake_switch\n.type fake_switch, @function\nfake_switch:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    movq %rsp, (%rdi)\n    movq %rsi, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    ret\n.size fake_switch, .-fake_switch\n");

/* Six registers of no meaning and the function; above them a return address that nobody uses, where a call leaves it. */
static context fresh_context(char *stack, size_t size, void (*start)(void))
{
    uintptr_t *p = (uintptr_t *)(void *)(stack + size) - 8;
    for (int i = 0; i < 8; i++)
        p[i] = 0;
    p[6] = (uintptr_t)start;
    return p;
}
#elif defined(__aarch64__) && !defined(TN_FAKE_UCONTEXT)
/* It ends with ret, not with br x30: where branch targets are guarded (BTI), br may only go to a landing pad, and behind a call
 * there is none; ret may go anywhere, and is predicted by the stack of returns: see 'change'. */
typedef void *context;
void fake_switch(context *save, context to) __attribute__((visibility("hidden")));
__asm__(".text\n.globl fake_switch\n.hidden fake_switch\n.type fake_switch, %function\nfake_switch:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp]\n    stp x21, x22, [sp, #16]\n    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n    stp x27, x28, [sp, #64]\n    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n    stp d10, d11, [sp, #112]\n    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n    mov x9, sp\n    str x9, [x0]\n    mov sp, x1\n"
        "    ldp x19, x20, [sp]\n    ldp x21, x22, [sp, #16]\n    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n    ldp x27, x28, [sp, #64]\n    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n    ldp d10, d11, [sp, #112]\n    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n    add sp, sp, #160\n    ret\n.size fake_switch, .-fake_switch\n");

static context fresh_context(char *stack, size_t size, void (*start)(void))
{
    uintptr_t *p = (uintptr_t *)(void *)(stack + size) - 20;
    for (int i = 0; i < 20; i++)
        p[i] = 0;
    p[11] = (uintptr_t)start;
    return p;
}
#else
#include <ucontext.h>
typedef ucontext_t *context;

static void fake_switch(context *save, context to)
{
    swapcontext(*save, to);
}

static context fresh_context(char *stack, size_t size, void (*start)(void))
{
    context c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    getcontext(c);
    if (!start)
        return c;
    c->uc_stack.ss_sp = stack;
    c->uc_stack.ss_size = size;
    makecontext(c, start, 0);
    return c;
}
#define TN_OWNS_CONTEXT 1
#endif

/* ---- fibers ---- */

/* How a body that waits is ended. ThreadSanitizer is told nothing of fibers, as they are one thread, and must not see this
 * jump between them: so there the compiler's own jump takes the place of libc's, which it watches. */
#if defined(TN_TSAN)
typedef void *jump_point[5];
#define SET_JUMP(point) __builtin_setjmp(point)
#define JUMP(point)     __builtin_longjmp(point, 1)
#else
typedef jmp_buf jump_point;
#define SET_JUMP(point) setjmp(point)
#define JUMP(point)     longjmp(point, 1)
#endif

typedef struct fiber {
    context at;
    char *stack; /* its lowest byte in use; below it lies a page that nobody may touch */
    size_t size;
    jump_point base;
#if defined(TN_ASAN)
    void *fake_stack;
#endif
} fiber;

struct fake_fibers {
    fake_fibers *next; /* in the pool */
    void (*body)(void *, int);
    void *arg;
    char *memory;
    int made, n, at, waiting;
    const uint16_t *order; /* who runs in this round: order[at] now, n of them */
    bool abandon;
    fiber outside; /* the thread itself */
    fiber fiber[FAKE_MAX_FIBERS];
};

/* The set that starts a fiber for the first time: its function gets no argument. */
static _Thread_local fake_fibers *starting;

/* Stacks of one size apart would lie in the same cache lines; so their tops are moved by some lines each. */
static size_t colour(int i)
{
    return (size_t)(i % 32) * 128;
}

/* Never inlined, so that all fibers stand at one call of fake_switch: then its return, though it goes to another stack, goes
 * where the processor predicts it. */
__attribute__((noinline)) static void change(fiber *from, fiber *to)
{
#if defined(TN_ASAN)
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->size);
#endif
    fake_switch(&from->at, to->at);
#if defined(TN_ASAN)
    __sanitizer_finish_switch_fiber(from->fake_stack, NULL, NULL);
#endif
}

/* The running fiber is done for this round: the next one goes on, after the last one the thread. */
static void pass_on(fake_fibers *f)
{
    fiber *self = &f->fiber[f->order[f->at]];
    f->at++;
    change(self, f->at == f->n ? &f->outside : &f->fiber[f->order[f->at]]);
}

static void fiber_main(void)
{
    fake_fibers *const f = starting;
    const int i = f->order[f->at];
    fiber *const self = &f->fiber[i];
#if defined(TN_ASAN)
    const void *stack;
    size_t size;
    __sanitizer_finish_switch_fiber(NULL, &stack, &size);
    if (f->at == 0) { /* the others come from their neighbour */
        f->outside.stack = (char *)(uintptr_t)stack;
        f->outside.size = size;
    }
#endif
    if (SET_JUMP(self->base) != 0) /* abandoned */
        pass_on(f);
    for (;;) {
        if (!f->abandon)
            f->body(f->arg, i);
        pass_on(f);
    }
}

void fake_fibers_wait(fake_fibers *f)
{
    fiber *self = &f->fiber[f->order[f->at]];
    f->waiting++;
    pass_on(f);
    if (f->abandon)
        JUMP(self->base);
}

int fake_fibers_current(const fake_fibers *f)
{
    return f->order[f->at];
}

_Noreturn void fake_fibers_stop(fake_fibers *f)
{
    f->abandon = true;
    JUMP(f->fiber[f->order[f->at]].base);
}

int fake_fibers_run(fake_fibers *f, const uint16_t *order, int n)
{
    f->waiting = f->at = 0;
    f->order = order;
    f->n = n;
    starting = f;
    change(&f->outside, &f->fiber[order[0]]);
    return f->waiting;
}

void fake_fibers_abandon(fake_fibers *f, const uint16_t *order, int n)
{
    f->abandon = true;
    fake_fibers_run(f, order, n);
    f->abandon = false;
}

/* ---- making them ---- */

static fake_fibers *new_set(void)
{
    fake_fibers *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = FAKE_MAX_FIBERS * (STACK + page);
    f->memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (f->memory == MAP_FAILED) {
        free(f);
        return NULL;
    }
#if defined(TN_OWNS_CONTEXT)
    f->outside.at = fresh_context(NULL, 0, NULL);
    if (!f->outside.at) {
        munmap(f->memory, bytes);
        free(f);
        return NULL;
    }
#endif
    return f;
}

static bool reserve(fake_fibers *f, int n)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (; f->made < n; f->made++) {
        fiber *b = &f->fiber[f->made];
        b->stack = f->memory + (size_t)f->made * (STACK + page) + page;
        b->size = STACK - colour(f->made);
        if (mprotect(b->stack, STACK, PROT_READ | PROT_WRITE) != 0)
            return false;
        b->at = fresh_context(b->stack, b->size, fiber_main);
        if (!b->at)
            return false;
    }
    return true;
}

/* ---- the pool: each stack and the page below it are two mappings, of which a process has 65,530 ---- */

enum { MOST_SETS = 24 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t given;
    fake_fibers *free;
    int taken;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .given = PTHREAD_COND_INITIALIZER};
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* In a child of fork no other thread has a set. */
static void begin_anew(void)
{
    static const pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static const pthread_cond_t given = PTHREAD_COND_INITIALIZER;
    pool.lock = lock;
    pool.given = given;
    pool.taken = 0;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, begin_anew);
}

fake_fibers *fake_fibers_take(int n, void (*body)(void *, int), void *arg)
{
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&pool.lock);
    while (pool.taken == MOST_SETS)
        pthread_cond_wait(&pool.given, &pool.lock);
    pool.taken++;
    fake_fibers *f = pool.free;
    if (f)
        pool.free = f->next;
    pthread_mutex_unlock(&pool.lock);
    if (!f && !(f = new_set())) {
        fake_fibers_give(NULL);
        return NULL;
    }
    f->body = body;
    f->arg = arg;
    if (reserve(f, n))
        return f;
    fake_fibers_give(f);
    return NULL;
}

void fake_fibers_give(fake_fibers *f)
{
    pthread_mutex_lock(&pool.lock);
    if (f) {
        f->next = pool.free;
        pool.free = f;
    }
    pool.taken--;
    pthread_cond_signal(&pool.given);
    pthread_mutex_unlock(&pool.lock);
}
