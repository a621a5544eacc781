/* fakegpu/fibers.h: work items that wait for each other on one thread: each has a stack of its own.
 *
 * A set of fibers belongs to one thread, for one launch. Fibers are never ended: they run what their set is given again and
 * again, so a group of work items costs switches, not stacks. In a round each of some fibers runs once, in a given order,
 * until it waits or its function returns.
 *
 * AddressSanitizer is told of every change of stack. ThreadSanitizer takes the fibers of a thread for the thread itself:
 * announced (__tsan_switch_to_fiber) they were ordered one after another all the same, so that no race more is found, and
 * each change would cost a clock as long as the number of fibers (groups of 256: 1100 ns in place of 105). What never
 * happens then is that its record of calls goes below where it was: every return answers a call, be it another fiber's. */
#ifndef TENON_FAKEGPU_FIBERS_H
#define TENON_FAKEGPU_FIBERS_H

#include <stdbool.h>
#include <stdint.h>

enum { FAKE_MAX_FIBERS = 1024 };

typedef struct fake_fibers fake_fibers;

/* A set of n fibers at least; body(arg, i) is what fiber i runs. It is the calling thread's until it is given back, by the same
 * thread, when no fiber waits. Where very many threads have one, waits for another's. NULL: no memory. */
fake_fibers *fake_fibers_take(int n, void (*body)(void *arg, int i), void *arg);
void fake_fibers_give(fake_fibers *f);

/* One round: the fibers order[0], ..., order[n - 1] (n at least 1) run, in this order; each goes on after its fake_fibers_wait,
 * or starts its body if it does not wait. Returns how many wait now; the others' bodies returned. */
int fake_fibers_run(fake_fibers *f, const uint16_t *order, int n);

/* Called by the running fiber: lets the others run. */
void fake_fibers_wait(fake_fibers *f);
int fake_fibers_current(const fake_fibers *f);

/* Called by the running fiber: its body ends where it stands, and those that come after it in this round do not run. To be
 * followed by fake_fibers_abandon of all. */
_Noreturn void fake_fibers_stop(fake_fibers *f);

/* Ends the bodies of those among these fibers that wait, where they stand. */
void fake_fibers_abandon(fake_fibers *f, const uint16_t *order, int n);

#endif
