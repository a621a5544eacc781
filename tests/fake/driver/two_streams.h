/* tests/fake/driver/two_streams.h: what tests of order begin with: memory p and q of device 0, two streams that nothing orders,
 * and an event. Each program has its own. */
#ifndef TENON_TESTS_FAKE_DRIVER_TWO_STREAMS_H
#define TENON_TESTS_FAKE_DRIVER_TWO_STREAMS_H

#include "fake/driver/helpers.h"

enum { N = 1024, BYTES = 4 * N };

static tn__cu_ptr p, q;
static tn__cu_stream s, t;
static tn__cu_event e;

static void start(void)
{
    kit_start();
    p = kit_memory(BYTES);
    q = kit_memory(BYTES);
    s = kit_stream();
    t = kit_stream();
    e = kit_event();
}

static const void *at(tn__cu_ptr x)
{
    return (const void *)(uintptr_t)x;
}

#endif
