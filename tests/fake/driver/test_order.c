/* Fake GPUs: missing synchronisation is found every time, and what is ordered is let through. */
#include "fake/driver/two_streams.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

/* ---- two streams ---- */

static void unordered(void)
{
    start();
    CU(kit_fill(p, 1, N, s));
    CU(kit_fill(q, 1, N, t));
    OUT_OF_ORDER(kit_add(q, p, N, t), "kernel 'add' on stream");        /* reads what s writes */
    OUT_OF_ORDER(kit_add(p, q, N, t), "which kernel 'fill' on stream"); /* writes what s writes */
    OUT_OF_ORDER(kit_fill(p, 2, N, t), "writes 4096 bytes at");
    OUT_OF_ORDER(kit_fill(p, 2, N, NULL), "on the default stream of device 0 writes"); /* s does not wait for it */
    OUT_OF_ORDER(cu.memcpy_dtod_async(q, p, 4, t), "copy device to device on stream");
    OUT_OF_ORDER(cu.memset_d8_async(p, 0, 1, t), "memset on stream");
    OUT_OF_ORDER(kit_add(p, q, N, s), "Record an event on");
    CU(kit_add(p, p, N, s));                     /* its own */
    CHECK(kit_count(0, TN__FAKE_LAUNCHES) == 3); /* what is refused is not run */
    CHECK(kit_count(-1, TN__FAKE_FAILED_CHECKS) == 7);
    kit_expect(p, 2, N);
    CU(kit_add(q, p, N, t)); /* the host waited in between */
}

static void reads_do_not_meet(void)
{
    start();
    tn__cu_ptr r = kit_memory(BYTES);
    CU(kit_fill(p, 1, N, s));
    CU(cu.stream_synchronize(s));
    CU(kit_add(q, p, N, s));
    CU(kit_add(r, p, N, t));                                      /* both read p */
    OUT_OF_ORDER(kit_fill(p, 2, N, s), "kernel 'add' on stream"); /* t may still be reading */
    OUT_OF_ORDER(kit_fill(p, 2, N, t), "reads");                  /* and s */
    CU(cu.event_record(e, t));
    CU(cu.stream_wait_event(s, e, 0));
    CU(kit_fill(p, 2, N, s));
    OUT_OF_ORDER(kit_add(r, p, N, t), "writes"); /* the event orders one way */
}

static void events_order(void)
{
    start();
    tn__cu_stream u = kit_stream();
    tn__cu_event f = kit_event();
    tn__cu_ptr r = kit_memory(BYTES);
    CU(cu.event_record(e, s)); /* too early */
    CU(kit_fill(p, 1, N, s));
    CU(cu.stream_wait_event(t, e, 0));
    OUT_OF_ORDER(kit_add(q, p, N, t), "nothing orders the two");
    CU(cu.stream_wait_event(t, f, 0)); /* never recorded */
    OUT_OF_ORDER(kit_add(q, p, N, t), "nothing orders the two");
    CU(cu.event_record(e, s));
    OUT_OF_ORDER(kit_add(q, p, N, t), "nothing orders the two"); /* recorded, but not waited for */
    CU(cu.stream_wait_event(t, e, 0));
    CU(kit_fill(q, 0, N, t));
    CU(kit_add(q, p, N, t));
    CU(cu.event_record(f, t)); /* knows what e knew */
    CU(cu.stream_wait_event(u, f, 0));
    CU(kit_fill(r, 0, N, u));
    CU(kit_add(r, p, N, u));
    CU(kit_add(r, q, N, u));
}

static void late_writer(void)
{
    start();
    CU(kit_fill(p, 1, N, s));
    CU(cu.event_record(e, s));
    CU(cu.stream_wait_event(t, e, 0));
    CU(kit_fill(q, 0, N, t));
    CU(kit_add(q, p, N, t));
    OUT_OF_ORDER(kit_fill(p, 9, N, s), "which kernel 'add' on stream"); /* s knows nothing of the reader */
    CU(cu.event_record(e, t));
    CU(cu.event_synchronize(e)); /* now the host does, and what it queues comes after */
    CU(kit_fill(p, 9, N, s));
}

/* What the host has seen to be over is over, whichever way it looked. */
static void the_host_orders(void)
{
    start();
    tn__cu_event timed;
    CU(cu.event_create(&timed, 0));
    for (int way = 0; way < 6; way++) {
        CU(kit_fill(p, 1, N, s));
        CU(cu.event_record(e, s));
        CU(cu.event_record(timed, s));
        OUT_OF_ORDER(kit_fill(p, 1, N, t), "nothing orders the two");
        float one;
        switch (way) {
        case 0: CU(cu.stream_synchronize(s)); break;
        case 1: CU(cu.event_synchronize(e)); break;
        case 2: CU(cu.ctx_synchronize()); break;
        case 5: /* how long it took is known once it is over */
            while (cu.event_elapsed_time(&one, timed, timed))
                sched_yield();
            break;
        case 3:
            while (cu.event_query(e))
                sched_yield();
            break;
        case 4: CU(cu.memcpy_dtoh_async(&one, q, 4, s)); break; /* to pageable memory: waits */
        }
        CU(kit_fill(p, 1, N, t));
        CU(cu.stream_synchronize(t));
    }
    CU(kit_fill(p, 1, N, s));
    while (cu.stream_query(s))
        sched_yield();
    CU(kit_fill(p, 1, N, t));
    CU(cu.stream_synchronize(s)); /* of another stream: no help */
    OUT_OF_ORDER(kit_fill(p, 1, N, s), "nothing orders the two");
}

/* Where drivers wait and do not promise to. */
static void waiting_by_the_way_orders_nothing(void)
{
    start();
    static char pageable[1 << 18];
    tn__cu_ptr big = kit_memory(sizeof pageable);
    tn__cu_module m;
    CU(kit_module(&m));
    CU(cu.memcpy_htod_async(big, pageable, sizeof pageable,
                            s)); /* too much to be kept aside: returns when it was read */
    OUT_OF_ORDER(cu.memset_d8_async(big, 0, 4, t), "copy host to device");
    CU(kit_fill(p, 1, N, s));
    CU(cu.module_unload(m));
    OUT_OF_ORDER(kit_fill(p, 1, N, t), "nothing orders the two");
    CU(cu.stream_destroy(s));
    OUT_OF_ORDER(kit_fill(p, 1, N, t), "nothing orders the two");
    CU(cu.ctx_synchronize()); /* this one promises */
    CU(kit_fill(p, 1, N, t));
    CU(cu.memset_d8_async(big, 0, 4, t));
}

static void the_default_stream_orders(void)
{
    start();
    tn__cu_stream blocking;
    CU(cu.stream_create_with_priority(&blocking, 0, 0));
    CU(kit_fill(p, 1, N, blocking));
    CU(kit_fill(p, 2, N, NULL));
    CU(kit_fill(p, 3, N, blocking));
    CU(kit_fill(p, 4, N, NULL));
    OUT_OF_ORDER(kit_fill(p, 5, N, s), "which kernel 'fill' on the default stream of device 0 writes");
    CU(kit_fill(p, 3, N, blocking));
    CU(cu.stream_destroy(blocking));
    CU(kit_fill(p, 4, N, NULL)); /* waits for streams that are no more, too */
    kit_expect(p, 4, N);
}

/* A stream waits for the default one when something is queued on it, no earlier: then the host must not take it for done. */
static void the_default_stream_is_not_waited_for(void)
{
    start();
    tn__cu_stream blocking;
    float *host = kit_pinned(BYTES);
    CU(cu.stream_create_with_priority(&blocking, 0, 0));
    int32_t *gate = kit_hold(NULL);
    CU(cu.memcpy_dtoh_async(host, p, BYTES, NULL));
    CU(cu.stream_wait_event(blocking, e, 0)); /* never recorded: nothing is queued */
    CU(cu.stream_query(blocking));
    OUT_OF_ORDER(cu.fake_host_access(host, 4, 0), "on the default stream of device 0 writes");
    CU(cu.stream_synchronize(blocking));
    OUT_OF_ORDER(cu.fake_host_access(host, 4, 0), "on the default stream of device 0 writes");
    CU(cu.event_record(e, s));
    CU(cu.event_synchronize(e));
    CU(cu.stream_wait_event(blocking, e, 0)); /* over already: likewise */
    CU(cu.stream_query(blocking));
    OUT_OF_ORDER(cu.fake_host_access(host, 4, 0), "on the default stream of device 0 writes");
    CU(kit_fill(q, 1, N, t));
    OUT_OF_ORDER(kit_fill(q, 1, N, blocking), "nothing orders the two"); /* refused: not queued either */
    CU(cu.stream_synchronize(blocking));
    OUT_OF_ORDER(cu.fake_host_access(host, 4, 0), "on the default stream of device 0 writes");
    CU(cu.stream_synchronize(t));
    kit_go(gate);
    CU(kit_fill(q, 1, N, blocking));
    CU(cu.stream_synchronize(blocking)); /* now it is */
    CU(cu.fake_host_access(host, 4, 0));
}

static void two_streams(void **state)
{
    (void)state;
    IN_CHILD(unordered, "TENON_FAKE_GPUS=1");
    IN_CHILD(events_order, "TENON_FAKE_GPUS=1");
    IN_CHILD(reads_do_not_meet, "TENON_FAKE_GPUS=1");
    IN_CHILD(late_writer, "TENON_FAKE_GPUS=1");
    IN_CHILD(the_host_orders, "TENON_FAKE_GPUS=1");
    IN_CHILD(waiting_by_the_way_orders_nothing, "TENON_FAKE_GPUS=1");
    IN_CHILD(the_default_stream_orders, "TENON_FAKE_GPUS=1");
    IN_CHILD(the_default_stream_is_not_waited_for, "TENON_FAKE_GPUS=1");
}

/* ---- ranges, blocks, reuse ---- */

static void ranges(void)
{
    start();
    float *host = kit_pinned(BYTES);
    CU(cu.memcpy_htod_async(p, host, 1000, s)); /* copies have exact bytes */
    CU(cu.memcpy_htod_async(p + 1000, host + 250, 1000, t));
    OUT_OF_ORDER(cu.memcpy_htod_async(p + 999, host, 1, t), "copy host to device");
    OUT_OF_ORDER(cu.memcpy_dtod_async(q, p + 996, 8, s), "reads 8 bytes at");
    CU(cu.memcpy_dtod_async(q, p + 996, 4, s));
    CU(cu.memcpy_dtod_async(q + 512, p + 1000, 4, t));
    OUT_OF_ORDER(kit_fill(p, 1, N, s), "writes 4096 bytes"); /* a kernel: the whole block */
    CU(cu.event_record(e, t));
    CU(cu.stream_wait_event(s, e, 0));
    CU(kit_fill(p, 1, N, s));
    OUT_OF_ORDER(cu.memcpy_dtoh_async(host + 512, p + 3000, 4, t), "reads 4 bytes");
}

static void reuse(void)
{
    start();
    tn__cu_ptr big = kit_memory(1 << 20), a = big, b = big + 4096;
    CU(cu.fake_block_taken(at(a), BYTES));
    CU(cu.fake_block_taken(at(b), BYTES));
    CU(kit_fill(a, 1, N, s));
    CU(kit_fill(b, 1, N, t)); /* another tensor of the same block */
    OUT_OF_ORDER(cu.fake_block_taken(at(a + 512), 512), "still in use");
    OUT_OF_ORDER(cu.fake_block_freed(at(a + 512), 512), "did not hand out");
    OUT_OF_ORDER(kit_fill(b + 8192, 1, N, s), "handed out to nobody");
    OUT_OF_ORDER(cu.memcpy_dtod_async(a, b, BYTES + 4, t), "past the end of the tensor's 4096 bytes");
    CU(kit_fill(a + 128, 1, 64, s)); /* into a tensor: all of it */
    CU(cu.fake_block_freed(at(a), BYTES));
    OUT_OF_ORDER(kit_fill(a, 1, N, s), "was freed");
    OUT_OF_ORDER(kit_add(b, a + 4, 1, t), "in a block of 4096 bytes");
    OUT_OF_ORDER(cu.memset_d8_async(a, 0, 4, s), "was freed");
    OUT_OF_ORDER(cu.fake_block_freed(at(a), BYTES), "did not hand out");
    CU(cu.fake_block_taken(at(a), 2048)); /* on another stream, without an event */
    OUT_OF_ORDER(kit_fill(a, 1, 512, t), "which kernel 'fill' on stream");
    CU(kit_fill(a, 1, 512, s)); /* on its own it is in order */
    CU(cu.fake_block_freed(at(a), 2048));
    CU(cu.event_record(e, s));
    CU(cu.stream_wait_event(t, e, 0));
    CU(cu.fake_block_taken(at(a), BYTES));
    CU(kit_fill(a, 2, N, t));
    kit_expect(a, 2, N);
}

/* What an earlier tensor left in a block is no more to be read than fresh memory, however early the block comes again. */
static void blocks_come_again_as_poison(void)
{
    start();
    tn__cu_ptr big = kit_memory(2 << 20);
    float *host = kit_pinned(BYTES);
    for (int i = 0; i < 4; i++)
        host[i] = 5;
    CU(cu.fake_block_taken(at(big), BYTES));
    CU(kit_fill(big, 1, N, s));
    int32_t *gate = kit_hold(s);
    CU(kit_add(q, big, N, s)); /* of the earlier tensor: still to be run */
    CU(cu.fake_block_freed(at(big), BYTES));
    CU(cu.fake_block_taken(at(big), BYTES));
    CU(cu.memcpy_htod_async(big + 64, host, 16, s)); /* its own bytes are as they should */
    CU(kit_fill(big, 2, 16, s));
    CU(kit_add(big + 128, big, 4, s)); /* once is enough */
    kit_go(gate);
    CU(cu.ctx_synchronize());
    kit_expect(big, 2, 16);
    kit_expect(big + 64, 5, 4);
    kit_expect(big + 80, NAN, N - 20);
    kit_expect(q, NAN, N); /* which was fresh itself */
    CU(cu.fake_block_freed(at(big), BYTES));
    CU(cu.fake_block_taken(at(big), 2 << 20)); /* with much that was never used */
    CU(cu.memcpy_dtoh_async(host, big, 16, s));
    CU(cu.stream_synchronize(s));
    CHECK(isnan(host[0]) && isnan(host[3]));
    kit_expect(big, NAN, (2 << 20) / 4);
}

static void blocks(void **state)
{
    (void)state;
    IN_CHILD(blocks_come_again_as_poison, "TENON_FAKE_GPUS=1");
    IN_CHILD(ranges, "TENON_FAKE_GPUS=1");
    IN_CHILD(reuse, "TENON_FAKE_GPUS=1");
}

/* ---- freeing ---- */

static void freeing(void)
{
    start();
    float *host = kit_pinned(BYTES);
    CU(kit_fill(p, 1, N, s));
    CU(cu.memcpy_dtoh_async(host, q, BYTES, t));
    CU(cu.mem_free(p));                                                   /* waits for what the device does with it */
    OUT_OF_ORDER(cu.fake_host_access(host, 4, 0), "copy device to host"); /* whatever else it waited for: no promise */
    OUT_OF_ORDER(kit_fill(q, 1, N, s), "nothing orders the two");
    CU(cu.stream_synchronize(t));
    CU(cu.fake_host_access(host, 4, 0));
    kit_use(1);
    CU(cu.ctx_enable_peer_access(kit_context[0], 0));
    tn__cu_ptr mine = kit_memory(BYTES);
    CU(cu.memcpy_dtod_async(mine, q, BYTES, NULL)); /* device 1 reads memory of device 0 */
    OUT_OF_ORDER(cu.mem_free(q), "the host frees 4096 bytes");
    CU(cu.stream_synchronize(NULL));
    CU(cu.mem_free(q));
    kit_use(0);
    host = kit_pinned(BYTES);
    q = kit_memory(BYTES);
    CU(cu.memcpy_htod_async(q, host, BYTES, s));
    OUT_OF_ORDER(cu.mem_free_host(host), "the host frees 4096 bytes");
    CU(cu.stream_synchronize(s));
    CU(cu.mem_free_host(host));
}

/* A variable that helps to find a fault must not hide another. */
static void blocking_orders_nothing(void)
{
    start();
    CU(kit_fill(p, 1, N, s));
    CU(cu.stream_query(s)); /* it is over */
    CU(kit_fill(p, 1, N, s));
    OUT_OF_ORDER(kit_fill(p, 1, N, t), "nothing orders the two");
    CU(cu.stream_synchronize(s));
    CU(kit_fill(p, 1, N, t));
}

/* ---- pinned memory ---- */

static void pinned(void)
{
    start();
    float *host = kit_pinned(BYTES);
    CU(cu.fake_host_access(host, BYTES, 1));
    CU(cu.memcpy_htod_async(p, host, BYTES, s));
    CU(cu.fake_host_access(host, BYTES, 0)); /* both read */
    OUT_OF_ORDER(cu.fake_host_access(host, BYTES, 1), "the host writes 4096 bytes");
    OUT_OF_ORDER(cu.fake_host_access(host + N - 1, 4, 1), "which copy host to device on stream");
    OUT_OF_ORDER(cu.fake_block_taken(host, BYTES), "the host takes for writing"); /* its copy may still be read */
    CU(cu.fake_block_freed(host, BYTES));
    CU(cu.stream_synchronize(s));
    CU(cu.fake_block_taken(host, BYTES));
    CU(cu.fake_host_access(host, BYTES, 1));
    CU(cu.memcpy_dtoh_async(host, p, 1000, s));
    CU(cu.fake_host_access(host + 250, 3096, 1)); /* other bytes */
    OUT_OF_ORDER(cu.fake_host_access(host, 4, 0), "which copy device to host on stream");
    OUT_OF_ORDER(cu.memcpy_htod_async(q, host, 4, t), "reads 4 bytes at"); /* what s is still writing */
    CU(cu.event_record(e, s));
    CU(cu.stream_wait_event(t, e, 0));
    CU(cu.memcpy_htod_async(q, host, 4, t));
    OUT_OF_ORDER(cu.fake_host_access(host, 4, 0), "nothing orders the two"); /* the streams know, not the host */
    CU(cu.event_synchronize(e));
    CU(cu.fake_host_access(host, 4, 0));
    OUT_OF_ORDER(cu.fake_host_access(host, 4, 1), "Let the host wait first");
    CU(cu.stream_synchronize(t));
    CU(cu.fake_host_access(host, 4, 1));
    CU(cu.fake_block_freed(host, BYTES));
    OUT_OF_ORDER(cu.fake_host_access(host, 4, 0), "taken back");
    OUT_OF_ORDER(cu.memcpy_htod_async(p, host, 4, s), "was freed");
    OUT_OF_ORDER(cu.fake_host_access(at(p), 4, 0), "memory of device 0");
    CU(cu.fake_host_access(&host, 8, 1)); /* nothing of ours */
    GIVES(TN__CU_INVALID_VALUE, cu.fake_block_taken(host, BYTES + 1));
    float *words = kit_pinned(64); /* mapped: kernels may touch it when they like */
    CU(kit_fill((tn__cu_ptr)(uintptr_t)words, 1, 1, s));
    CU(kit_fill((tn__cu_ptr)(uintptr_t)(words + 8), 1, 1, t));
    CU(cu.fake_host_access(words, 64, 0));
}

static void host_memory(void **state)
{
    (void)state;
    IN_CHILD(freeing, "TENON_FAKE_GPUS=2");
    IN_CHILD(blocking_orders_nothing, "TENON_FAKE_GPUS=1", "CUDA_LAUNCH_BLOCKING=1");
    IN_CHILD(pinned, "TENON_FAKE_GPUS=1");
}

/* ---- several devices ---- */

static void devices_apart(void)
{
    start();
    CU(kit_fill(p, 3, N, s));
    CU(cu.event_record(e, s));
    kit_use(1);
    tn__cu_stream u = kit_stream();
    tn__cu_event f = kit_event();
    tn__cu_ptr mine = kit_memory(BYTES);
    OUT_OF_ORDER(cu.memcpy_peer_async(mine, kit_context[1], p, kit_context[0], BYTES, u), "of device 1 reads");
    CU(cu.stream_wait_event(u, e, 0));
    CU(cu.memcpy_peer_async(mine, kit_context[1], p, kit_context[0], BYTES, u));
    kit_use(0);
    OUT_OF_ORDER(kit_fill(p, 4, N, s), "copy peer to peer on stream"); /* device 1 may still be reading */
    kit_use(1);
    CU(cu.event_record(f, u));
    kit_use(0);
    CU(cu.stream_wait_event(s, f, 0));
    CU(kit_fill(p, 4, N, s));
    kit_use(1);
    kit_expect(mine, 3, N);
}

/* A device that died, or was reset, uses no memory any more. */
static void the_dead_use_nothing(void)
{
    start();
    tn__cu_ptr gone = kit_memory(512);
    static float other[N]; /* pinned memory of context 0 goes with it; this stays */
    float *host = kit_pinned(BYTES);
    CU(cu.mem_free(gone));
    CU(cu.memcpy_htod_async(p, host, BYTES, t));
    CU(kit_fill(gone, 1, 1, s));
    GIVES(TN__CU_ILLEGAL_ADDRESS, cu.stream_synchronize(s));
    CU(cu.fake_host_access(host, BYTES, 1));
    CU(cu.mem_free_host(host));
    CU(cu.primary_ctx_reset(0));
    start();
    kit_use(1);
    CU(cu.mem_host_register(other, sizeof other, 0));
    kit_use(0);
    CU(cu.memcpy_htod_async(p, other, BYTES, t));
    OUT_OF_ORDER(cu.fake_host_access(other, BYTES, 1), "the host writes");
    OUT_OF_ORDER(cu.mem_host_unregister(other), "the host frees");
    CU(cu.primary_ctx_reset(0));
    CU(cu.fake_host_access(other, BYTES, 1));
    CU(cu.mem_host_unregister(other));
}

/* What the death of one device tells is about its own work: what it waited for on another one may go on. */
static void the_dead_say_nothing_of_others(void)
{
    start();
    tn__cu_ptr gone = kit_memory(512);
    CU(cu.mem_free(gone));
    kit_use(1);
    float *host = kit_pinned(BYTES), *own = kit_pinned(BYTES);
    tn__cu_stream u = kit_stream();
    tn__cu_event f = kit_event();
    tn__cu_ptr mine = kit_memory(BYTES);
    int32_t *gate = kit_hold(u);
    CU(cu.memcpy_dtoh_async(host, mine, BYTES, u));
    CU(cu.event_record(f, u));
    kit_use(0);
    CU(cu.memcpy_dtoh_async(own, p, BYTES, s));
    CU(cu.stream_wait_event(s, f, 0));
    CU(kit_fill(p, 1, N, s));
    CU(kit_fill(gone, 1, 1, t));
    GIVES(TN__CU_ILLEGAL_ADDRESS, cu.stream_synchronize(t));
    CU(cu.fake_host_access(own, BYTES, 1)); /* its own copy is over, done or not */
    OUT_OF_ORDER(cu.fake_host_access(host, BYTES, 1), "of device 1 writes");
    kit_go(gate);
    GIVES(TN__CU_ILLEGAL_ADDRESS, cu.stream_synchronize(s)); /* failed: the host has waited for nothing */
    OUT_OF_ORDER(cu.fake_host_access(host, BYTES, 1), "of device 1 writes");
    CU(cu.primary_ctx_reset(0));
    OUT_OF_ORDER(cu.fake_host_access(host, BYTES, 1), "of device 1 writes");
    kit_use(1);
    CU(cu.stream_synchronize(u));
    CU(cu.fake_host_access(host, BYTES, 1));
}

static void devices(void **state)
{
    (void)state;
    IN_CHILD(the_dead_say_nothing_of_others, "TENON_FAKE_GPUS=2");
    IN_CHILD(devices_apart, "TENON_FAKE_GPUS=2");
    IN_CHILD(the_dead_use_nothing, "TENON_FAKE_GPUS=2");
}

/* ---- streams that come and go keep their histories apart ---- */

static void many_streams(void)
{
    start();
    for (int i = 0; i < 300; i++) {
        tn__cu_stream u = kit_stream();
        CU(kit_fill(p, 1, N, u));
        CU(cu.stream_destroy(u));
        u = kit_stream(); /* may well have the address, or the place, of the one before */
        OUT_OF_ORDER(kit_fill(p, 1, N, u), "nothing orders the two");
        CU(cu.ctx_synchronize());
        CU(kit_fill(p, 1, N, u));
        CU(cu.stream_synchronize(u));
        CU(cu.stream_destroy(u));
    }
}

/* One thread waits, another queues. */
static void *waits(void *arg)
{
    (void)arg;
    kit_use(0);
    CU(cu.stream_synchronize(s));
    return NULL;
}

static void threads_tell_each_other(void)
{
    start();
    pthread_t thread;
    float *host = kit_pinned(BYTES);
    const uint64_t waited = kit_count(0, TN__FAKE_SYNCHRONIZATIONS);
    CU(kit_fill(p, 1, N, s));
    CU(cu.stream_synchronize(s));
    int32_t *gate = kit_hold(s);
    CU(cu.memcpy_dtoh_async(host, p, BYTES, s));
    CHECK(!pthread_create(&thread, NULL, waits, NULL));
    while (kit_count(0, TN__FAKE_SYNCHRONIZATIONS) < waited + 2)
        sched_yield();
    OUT_OF_ORDER(cu.fake_host_access(host, 4, 0), "copy device to host"); /* it waits, and nobody knows anything yet */
    OUT_OF_ORDER(kit_fill(p, 2, N, t), "copy device to host");
    kit_go(gate);
    CHECK(!pthread_join(thread, NULL));
    CU(cu.fake_host_access(host, 4, 0));
    CU(kit_fill(p, 2, N, t));
    kit_expect(p, 2, N);
}

static void off(void)
{
    start();
    CU(kit_fill(p, 1, 0, s)); /* of no elements: ThreadSanitizer would see the race that is let through */
    CU(kit_fill(p, 1, 0, t));
    CU(cu.fake_block_freed(at(p), 4));
    CU(cu.ctx_synchronize());
}

static void others(void **state)
{
    (void)state;
    IN_CHILD(many_streams, "TENON_FAKE_GPUS=1");
    IN_CHILD(threads_tell_each_other, "TENON_FAKE_GPUS=1");
    IN_CHILD(off, "TENON_FAKE_GPUS=1", "TENON_FAKE_GPU_ORDER=0");
}

/* ---- at random: against a checker that knows everything ---- */

enum { STREAMS = 4, BUFFERS = 3, STEPS = 10000 };

/* Which operations each party has seen to be over; operations are numbered. */
static unsigned char seen[STREAMS + STREAMS + 1][STEPS]; /* streams, their events, the host */
static struct operation {
    bool write;
    int buffer, from, to;
} done[STEPS];

static void learn(int who, int from)
{
    for (int i = 0; i < STEPS; i++)
        seen[who][i] |= seen[from][i];
}

/* Is all that conflicts with the operation over for this stream? */
static bool is_ordered(const struct operation *o, int stream, int n)
{
    for (int i = 0; i < n; i++)
        if (done[i].buffer == o->buffer && (o->write || done[i].write) && done[i].from < o->to &&
            o->from < done[i].to && !seen[stream][i])
            return false;
    return true;
}

static uint32_t random_number(uint32_t below)
{
    static uint32_t state = 12345;
    state = state * 1664525U + 1013904223U;
    return (state >> 12) % below;
}

/* Kernels touch all of a buffer, copies and fills some of its bytes. */
static tn__cu_result queue(const struct operation *o, tn__cu_ptr buffer, tn__cu_ptr scratch, tn__cu_stream stream)
{
    size_t bytes = (size_t)(o->to - o->from);
    if (bytes == BYTES)
        return o->write ? kit_fill(buffer, 1, 4, stream) : kit_add(scratch, buffer, 4, stream);
    return o->write ? cu.memset_d8_async(buffer + (tn__cu_ptr)o->from, 1, bytes, stream)
                    : cu.memcpy_dtod_async(scratch, buffer + (tn__cu_ptr)o->from, bytes, stream);
}

static void at_random(void)
{
    start();
    enum { HOST = 2 * STREAMS };
    tn__cu_stream stream[STREAMS];
    tn__cu_event event[STREAMS];
    tn__cu_ptr buffer[BUFFERS], scratch[STREAMS];
    int refused = 0, n = 0;
    for (int i = 0; i < STREAMS; i++) {
        stream[i] = kit_stream();
        event[i] = kit_event();
        scratch[i] = kit_memory(BYTES);
    }
    for (int i = 0; i < BUFFERS; i++)
        buffer[i] = kit_memory(BYTES);
    for (int step = 0; step < STEPS; step++) {
        int a = (int)random_number(STREAMS), b = (int)random_number(STREAMS);
        switch (random_number(8)) {
        case 0:
            CU(cu.event_record(event[a], stream[a]));
            learn(a, HOST);
            memcpy(seen[STREAMS + a], seen[a], STEPS);
            continue;
        case 1:
            CU(cu.stream_wait_event(stream[b], event[a], 0));
            learn(b, STREAMS + a);
            continue;
        case 2:
            if (random_number(8))
                continue;
            CU(cu.stream_synchronize(stream[a]));
            learn(HOST, a);
            continue;
        default: break;
        }
        struct operation o = {random_number(4) == 0, (int)random_number(BUFFERS), 0, BYTES};
        if (random_number(4)) {
            o.from = (int)random_number(64);
            o.to = o.from + 1 + (int)random_number(20);
        }
        learn(a, HOST);
        bool ordered = is_ordered(&o, a, n);
        GIVES(ordered ? TN__CU_SUCCESS : TN__CU_ILLEGAL_STATE, queue(&o, buffer[o.buffer], scratch[a], stream[a]));
        refused += !ordered;
        if (ordered) {
            done[n] = o;
            seen[a][n++] = 1;
        }
    }
    CHECK(refused > STEPS / 20 && n > STEPS / 20); /* it was a test of both */
}

static void agrees_with_a_plain_checker(void **state)
{
    (void)state;
    IN_CHILD(at_random, "TENON_FAKE_GPUS=1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_streams), cmocka_unit_test(blocks), cmocka_unit_test(host_memory),
        cmocka_unit_test(devices),     cmocka_unit_test(others), cmocka_unit_test(agrees_with_a_plain_checker),
    };
    return kit_open(true) || cmocka_run_group_tests(tests, NULL, NULL);
}
