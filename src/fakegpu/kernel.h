/* fakegpu/kernel.h: the inside of what runs kernels. kernel_image.c loads what the fake NVRTC made; groups.c runs the groups of a
 * launch, each on one thread, side by side on the threads of a team where that is asked for (team.c); meeting.c lets the items of
 * a group wait for each other; item_order.c says who comes first. */
#ifndef TENON_FAKEGPU_KERNEL_H
#define TENON_FAKEGPU_KERNEL_H

#include "fakegpu/dialect_items.h"
#include "fakegpu/fake.h"
#include "fakegpu/fibers.h"
#include "fakegpu/shadow.h"

enum { FAKE_WARP = 32, FAKE_MAX_WARPS = FAKE_MAX_ITEMS / FAKE_WARP };

/* ---- what the environment says of launches: kernel_rules.c ---- */

typedef struct fake_kernel_rules {
    bool drawn; /* the order of groups, warps and items is drawn from the seed */
    uint64_t seed;
    int threads; /* that run the groups of a launch */
    bool races;  /* races are looked for, and accesses outside of arguments */
} fake_kernel_rules;

/* Read once; a test that changes the environment has it read again, while no kernel runs. */
const fake_kernel_rules *fake_kernel_rules_here(void);
void fake_kernel_rules_read(void);

/* ---- the order: item_order.c ---- */

/* Numbers from a seed (splitmix64). */
uint64_t fake_draw(uint64_t *state);

/* The order of a launch's groups: the i-th of n that runs. */
typedef struct fake_group_order {
    uint64_t n, factor, offset;
} fake_group_order;

/* As they are numbered, or (drawn) in an order of the seed. n: at least 1. */
fake_group_order fake_group_order_of(uint64_t n, bool drawn, uint64_t seed);
uint64_t fake_group_order_at(const fake_group_order *o, uint64_t i);

/* The order within a group. Where none is drawn, rounds go upwards and downwards by turns, so that a missing barrier meets an
 * item that ran too late in one of them. */
typedef struct fake_item_order {
    int n;
    bool drawn;
    unsigned turn;
    uint64_t state;
    uint16_t warp[2][FAKE_MAX_WARPS];
    uint16_t item[2][FAKE_MAX_ITEMS]; /* the lanes of warp w stand from 32 w on */
} fake_item_order;

void fake_item_order_launch(fake_item_order *o, int n, bool drawn);
/* Before each group; 'number' is its own. */
void fake_item_order_group(fake_item_order *o, uint64_t number, uint64_t seed);
/* For the next round of the group: which of the two sets of orders holds. */
int fake_item_order_turn(fake_item_order *o);
/* All items of the group, which do not wait for each other. */
const uint16_t *fake_item_order_all(fake_item_order *o);

/* ---- items that wait for each other: meeting.c ---- */

typedef struct fake_meeting {
    fake_fibers *fibers;
    const char *kernel;
    const int *group;
    int n;               /* items of the group */
    bool allowed;        /* the kernel was declared KERNEL_B */
    bool stray;          /* it was not, and reached a barrier */
    bool stopped;        /* an item was, and with it the group: fake_meeting_stop */
    fake_shadow *shadow; /* NULL: nobody looks for races */
    /* the round of a warp: how many of its lanes came to a shuffle, and to which; is it one that orders memory? */
    int shuffling, shuffle_site;
    bool shuffle_orders;
    /* the round of the group: to which barrier its items came */
    int barrier_site;
    bool shuffles_differ, barriers_differ, barrier_all;
    unsigned turn;
    unsigned long long exchange[2][FAKE_MAX_ITEMS];
} fake_meeting;

/* What units call; 'run' is the meeting: dialect_items.h. */
void fake_meeting_barrier(void *run, int site, int all);
void fake_meeting_sync_warp(void *run, int site);
unsigned long long fake_meeting_shuffle(void *run, int site, unsigned long long v, int by, int down);

/* Runs the items of a group to their end: a shuffle waits for its warp, a barrier for the group. False: all of them were ended,
 * because they diverged ('why' says where) or were stopped. */
bool fake_meeting_run(fake_meeting *m, fake_item_order *order, char *why, size_t size);

/* Called on the fiber of an item: it runs no further, and no other of its group. Does not return. */
_Noreturn void fake_meeting_stop(fake_meeting *m);

/* ---- threads: team.c ---- */

typedef struct fake_team fake_team;

/* So many threads beside the caller's; fewer where the system gives no more. NULL: no memory. */
fake_team *fake_team_new(int helpers);
/* Calls work(arg) on each of its threads and on the caller's, and returns when all calls have. In a child of fork its threads are
 * started anew first. */
void fake_team_run(fake_team *t, void (*work)(void *arg), void *arg);
/* Ends its threads, which do nothing now. NULL does nothing. */
void fake_team_free(fake_team *t);

#endif
