/* Vector clocks. When there is no memory for one, it knows less than it should, and what is in order would look as if it were
 * not: from then on nothing is reported. */
#include "fakegpu/driver.h"
#include <stdlib.h>
#include <string.h>

static bool reserve(fake_clock *clock, unsigned n)
{
    if (n > clock->room) {
        unsigned room = n + n / 2 + 8;
        uint64_t *at = fake_analysis_memory(clock->at, room * sizeof *at);
        if (!at) {
            fake.blind = true;
            return false;
        }
        clock->at = at;
        clock->room = room;
    }
    if (n > clock->n) {
        memset(clock->at + clock->n, 0, (n - clock->n) * sizeof *clock->at);
        clock->n = n;
    }
    return true;
}

void fake_clock_join(fake_clock *clock, const fake_clock *other)
{
    if (!reserve(clock, other->n))
        return;
    for (unsigned i = 0; i < other->n; i++)
        if (clock->at[i] < other->at[i])
            clock->at[i] = other->at[i];
}

void fake_clock_copy(fake_clock *clock, const fake_clock *other)
{
    clock->n = 0;
    if (other->n && reserve(clock, other->n))
        memcpy(clock->at, other->at, other->n * sizeof *clock->at);
}

void fake_clock_set(fake_clock *clock, unsigned slot, uint64_t tick)
{
    if (reserve(clock, slot + 1))
        clock->at[slot] = tick;
}

void fake_clock_free(fake_clock *clock)
{
    free(clock->at);
    *clock = (fake_clock){0};
}
