/* How the items of a group wait for each other, on one thread. The lanes of a warp run one after another until each waits or
 * has ended. If all wait at one shuffle, the warp goes on at once: no other warp has a part in it, so one that ran ahead shows
 * where a barrier is missing. If not, it rests, and the next warp runs; when all rest, all must wait at one barrier, or have
 * ended. */
#include "fakegpu/kernel.h"
#include <stdio.h>

/* ---- what work items call ---- */

void fake_meeting_barrier(void *run, int site, int all)
{
    fake_meeting *m = run;
    if (!m->allowed) {
        m->stray = true;
        return;
    }
    if (m->barrier_site < 0)
        m->barrier_site = site;
    m->barriers_differ |= m->barrier_site != site;
    m->barrier_all = all;
    fake_fibers_wait(m->fibers);
}

/* The running lane waits for those of its warp. */
static void wait_for_warp(fake_meeting *m, int site, bool orders)
{
    if (m->shuffling++ == 0)
        m->shuffle_site = site;
    m->shuffles_differ |= m->shuffle_site != site;
    m->shuffle_orders = orders;
    fake_fibers_wait(m->fibers);
}

void fake_meeting_sync_warp(void *run, int site)
{
    fake_meeting *m = run;
    if (m->allowed)
        wait_for_warp(m, site, true);
    else
        m->stray = true;
}

_Noreturn void fake_meeting_stop(fake_meeting *m)
{
    m->stopped = true;
    fake_fibers_stop(m->fibers);
}

/* What a warp's round writes is read in its next one, and written over in the one after that at the earliest. A lane that is not
 * there gives poison; one beyond the warp the caller's own value, as on the device. */
unsigned long long fake_meeting_shuffle(void *run, int site, unsigned long long v, int by, int down)
{
    fake_meeting *m = run;
    if (!m->allowed) {
        m->stray = true;
        return v;
    }
    const int i = fake_fibers_current(m->fibers), lane = i % FAKE_WARP, from = down ? lane + by : lane ^ by;
    unsigned long long *slot = m->exchange[m->turn & 1];
    slot[i] = v;
    wait_for_warp(m, site, false);
    if (from < 0 || from >= FAKE_WARP)
        return v;
    return i - lane + from < m->n ? slot[i - lane + from] : ~0ull;
}

/* ---- who diverged ---- */

static bool shuffle_diverged(const fake_meeting *m, int warp, int lanes, char *why, size_t size)
{
    const int *g = m->group;
    if (m->shuffling == lanes)
        snprintf(why, size,
                 "divergent shuffle in kernel '%s': lanes of warp %d of group (%d, %d, %d) wait at different shuffles",
                 m->kernel, warp, g[0], g[1], g[2]);
    else
        snprintf(why, size,
                 "divergent shuffle in kernel '%s': %d of %d lanes of warp %d of group (%d, %d, %d) wait at a shuffle "
                 "that the "
                 "others never reach",
                 m->kernel, m->shuffling, lanes, warp, g[0], g[1], g[2]);
    return false;
}

static bool barrier_diverged(const fake_meeting *m, int waiting, char *why, size_t size)
{
    const int *g = m->group;
    if (waiting == m->n)
        snprintf(why, size,
                 "divergent barrier in kernel '%s': work items of group (%d, %d, %d) wait at different barriers",
                 m->kernel, g[0], g[1], g[2]);
    else
        snprintf(
            why, size,
            "divergent barrier in kernel '%s': %d of %d work items of group (%d, %d, %d) wait at a barrier that the "
            "others never reach",
            m->kernel, waiting, m->n, g[0], g[1], g[2]);
    return false;
}

/* ---- running them ---- */

/* Runs a warp until no lane of it can go on alone. Gives how many wait, at barriers; -1: at shuffles, and not all of them, or an
 * item was stopped. */
static int run_warp(fake_meeting *m, const uint16_t *lane, int lanes)
{
    for (;;) {
        m->shuffling = 0;
        m->shuffles_differ = false;
        m->turn++;
        const int waiting = fake_fibers_run(m->fibers, lane, lanes);
        if (!m->shuffling && !m->stopped)
            return waiting;
        if (m->shuffling != lanes || m->shuffles_differ || m->stopped)
            return -1;
        if (m->shadow && m->shuffle_orders)
            fake_shadow_warp(m->shadow, lane[0] / FAKE_WARP);
    }
}

/* One round of the group: *waiting gets how many items wait at a barrier. False: a shuffle diverged, or an item was stopped. */
static bool run_round(fake_meeting *m, fake_item_order *order, int *waiting, char *why, size_t size)
{
    const int set = fake_item_order_turn(order), warps = (m->n + FAKE_WARP - 1) / FAKE_WARP;
    m->barrier_site = -1;
    m->barriers_differ = false;
    *waiting = 0;
    for (int i = 0; i < warps; i++) {
        const int warp = order->warp[set][i], first = warp * FAKE_WARP;
        const int lanes = m->n - first < FAKE_WARP ? m->n - first : FAKE_WARP;
        const int resting = run_warp(m, order->item[set] + first, lanes);
        if (resting < 0)
            return !m->stopped && shuffle_diverged(m, warp, lanes, why, size);
        *waiting += resting;
    }
    return true;
}

bool fake_meeting_run(fake_meeting *m, fake_item_order *order, char *why, size_t size)
{
    int waiting;
    bool ok;
    m->stopped = false;
    do {
        ok = run_round(m, order, &waiting, why, size);
        if (ok && waiting && (waiting != m->n || m->barriers_differ))
            ok = barrier_diverged(m, waiting, why, size);
        if (ok && waiting && m->shadow)
            fake_shadow_barrier(m->shadow, m->barrier_all);
    } while (ok && waiting);
    if (!ok)
        fake_fibers_abandon(m->fibers, order->item[0], m->n);
    return ok;
}
