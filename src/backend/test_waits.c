/* Builds for tests: one wait at a time is left out, and the fake GPUs must notice. */
#include "backend/stream.h"

#ifdef TENON_TEST_WAITS
static struct {
    _Atomic(const char *) name;
    _Atomic int64_t left_out;
} dropped;

void tn__drop_wait(const char *name)
{
    atomic_store(&dropped.left_out, 0);
    atomic_store(&dropped.name, name);
}

bool tn__wait_dropped(const char *name)
{
    const char *which = atomic_load_explicit(&dropped.name, memory_order_relaxed);
    if (!which || strcmp(which, name) != 0)
        return false;
    atomic_fetch_add(&dropped.left_out, 1);
    return true;
}

int64_t tn__waits_left_out(void)
{
    return atomic_load(&dropped.left_out);
}
#endif
