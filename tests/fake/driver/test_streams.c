/* Fake GPUs: what runs when: streams, the default stream, events; failures and what they leave. */
#include "fake/driver/helpers.h"
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

/* ---- streams ---- */

static void streams(void)
{
    kit_start();
    tn__cu_stream s, t = kit_stream();
    int least, greatest;
    tn__cu_ptr p = kit_memory(4096), q = kit_memory(4096);
    CU(cu.ctx_get_stream_priority_range(&least, &greatest));
    CHECK(least == 0 && greatest == -5);
    CU(cu.stream_create_with_priority(&s, TN__CU_STREAM_NON_BLOCKING, greatest));
    GIVES(TN__CU_INVALID_VALUE, cu.stream_create_with_priority(&t, 2, 0));
    CHECK(kit_count(0, TN__FAKE_STREAMS) == 2);
    CU(cu.stream_query(s));
    CU(cu.stream_synchronize(s));
    int32_t *gate = kit_hold(s);
    CU(kit_fill(p, 2, 1024, s));
    CU(kit_fill(q, 1, 1024, t)); /* overtakes */
    CU(cu.stream_synchronize(t));
    GIVES(TN__CU_NOT_READY, cu.stream_query(s));
    kit_go(gate);
    CU(kit_add(p, p, 1024, s)); /* in order */
    CU(cu.stream_synchronize(s));
    CU(cu.stream_query(s));
    kit_expect(p, 4, 1024);
    CU(kit_spin(p, 3, 1024, s));
    CU(cu.stream_destroy(s)); /* what is queued still runs */
    GIVES(TN__CU_INVALID_HANDLE, cu.stream_query(s));
    GIVES(TN__CU_INVALID_HANDLE, cu.stream_destroy(s));
    GIVES(TN__CU_INVALID_HANDLE, kit_fill(p, 1, 1024, s));
    kit_expect(p, 3, 1024);
    for (int i = 0; i < 200; i++) { /* many, of which few ever run anything */
        CU(cu.stream_create_with_priority(&s, TN__CU_STREAM_NON_BLOCKING, 0));
        if (i % 10 == 0)
            CU(kit_fill(p, (float)i, 1024, s));
        CU(cu.stream_synchronize(s));
        CU(cu.stream_destroy(s));
    }
    kit_expect(p, 190, 1024);
    CHECK(kit_count(0, TN__FAKE_STREAMS) == 1);
}

static void default_stream(void)
{
    kit_start();
    tn__cu_stream blocking, free_running = kit_stream();
    tn__cu_ptr p = kit_memory(4096), q = kit_memory(4096);
    CU(cu.stream_create_with_priority(&blocking, 0, 0));
    CU(kit_spin(p, 1, 1024, blocking));
    CU(kit_add(p, p, 1024, NULL));     /* after it */
    CU(kit_add(p, p, 1024, blocking)); /* after that */
    kit_expect(p, 4, 1024);
    CU(kit_spin(p, 1, 1024, NULL));
    CU(kit_add(p, p, 1024, blocking));
    CU(cu.stream_synchronize(blocking)); /* waits for the default stream too */
    CU(cu.stream_query(NULL));
    kit_expect(p, 2, 1024);
    int32_t *gate = kit_hold(NULL);
    CU(kit_fill(q, 1, 1024, free_running)); /* does not */
    CU(cu.stream_synchronize(free_running));
    GIVES(TN__CU_NOT_READY, cu.stream_query(NULL));
    kit_go(gate);
    CU(cu.stream_synchronize((tn__cu_stream)(uintptr_t)1)); /* CU_STREAM_LEGACY: the same stream */
    CU(cu.stream_query(NULL));
}

static void streams_run_in_order(void **state)
{
    (void)state;
    IN_CHILD(streams, "TENON_FAKE_GPUS=1");
    EITHER(default_stream, 1);
    IN_CHILD(default_stream, "TENON_FAKE_GPUS=1", "TENON_FAKE_GPU_FAULTS=delay=random:5");
}

/* ---- events ---- */

static void events(void)
{
    kit_start();
    tn__cu_event plain = kit_event(), start, end;
    CU(cu.event_create(&start, 0));
    CU(cu.event_create(&end, TN__CU_EVENT_BLOCKING_SYNC));
    GIVES(TN__CU_INVALID_VALUE, cu.event_create(&end, 64));
    CHECK(kit_count(0, TN__FAKE_EVENTS) == 3);
    tn__cu_stream s = kit_stream(), t = kit_stream();
    tn__cu_ptr p = kit_memory(4096);
    float ms;
    CU(cu.event_query(plain)); /* never recorded: reached */
    CU(cu.event_synchronize(plain));
    CU(cu.stream_wait_event(s, plain, 0));
    GIVES(TN__CU_INVALID_HANDLE, cu.event_elapsed_time(&ms, start, end));
    CU(cu.event_record(start, s));
    CU(kit_spin(p, 1, 1024, s));
    int32_t *gate = kit_hold(s);
    CU(cu.event_record(end, s));
    GIVES(TN__CU_NOT_READY, cu.event_query(end));
    GIVES(TN__CU_NOT_READY, cu.event_elapsed_time(&ms, start, end));
    kit_go(gate);
    CU(cu.stream_wait_event(t, end, 0));
    CU(kit_add(p, p, 1024, t));
    CU(cu.event_synchronize(end));
    CU(cu.event_elapsed_time(&ms, start, end));
    CHECK(ms > 1 && ms < 60000);
    kit_expect(p, 2, 1024);
    CU(cu.event_record(plain, s));
    CU(cu.event_synchronize(plain));
    GIVES(TN__CU_INVALID_HANDLE, cu.event_elapsed_time(&ms, start, plain)); /* without timing */
    gate = kit_hold(s);
    CU(cu.event_record(end, s)); /* recorded anew: its old point is forgotten by those who wait from now on */
    GIVES(TN__CU_NOT_READY, cu.event_query(end));
    CU(cu.event_destroy(end)); /* while it is still to come */
    kit_go(gate);
    GIVES(TN__CU_INVALID_HANDLE, cu.event_query(end));
    GIVES(TN__CU_INVALID_HANDLE, cu.stream_wait_event(t, end, 0));
    GIVES(TN__CU_INVALID_HANDLE, cu.event_destroy(end));
    CU(cu.stream_synchronize(s));
    kit_use(1);
    GIVES(TN__CU_INVALID_HANDLE, cu.event_record(start, NULL)); /* of another device */
    CU(cu.stream_wait_event(NULL, start, 0));
    CU(cu.event_query(start));
    CHECK(kit_count(0, TN__FAKE_EVENTS) == 2);
}

static void across_devices(void)
{
    kit_start();
    tn__cu_ptr p = kit_memory(4096), q;
    tn__cu_stream s = kit_stream();
    tn__cu_event e = kit_event();
    CU(kit_spin(p, 8, 1024, s));
    CU(cu.event_record(e, s));
    kit_use(1);
    q = kit_memory(4096);
    tn__cu_stream t = kit_stream();
    CU(cu.stream_wait_event(t, e, 0));
    CU(cu.memcpy_peer_async(q, kit_context[1], p, kit_context[0], 4096, t));
    kit_expect(q, 8, 1024);
    GIVES(TN__CU_INVALID_HANDLE, kit_fill(q, 1, 1024, s));                   /* a launch into another device's stream */
    CU(cu.memcpy_peer_async(q, kit_context[1], p, kit_context[0], 4096, s)); /* a copy may */
    CU(cu.stream_synchronize(s));
}

/* Bytes of the heap in use: sanitizers have a heap of their own. */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));
static size_t heap_in_use(void)
{
    return __sanitizer_get_current_allocated_bytes ? __sanitizer_get_current_allocated_bytes() : mallinfo2().uordblks;
}

enum { MANY = 100000, HEAP = 1 << 20 };

/* Events recorded and destroyed faster than the stream reaches them wait for it: a queue is finite. */
static void many_events(void)
{
    kit_start();
    tn__cu_ptr p = kit_memory(4096);
    tn__cu_stream s = kit_stream();
    CU(kit_fill(p, 1, 1024, s)); /* its thread is there */
    CU(cu.stream_synchronize(s));
    const size_t before = heap_in_use();
    size_t most = before;
    for (int i = 0; i < MANY; i++) {
        if (i % (MANY / 8) == 0)
            CU(kit_spin(p, (float)i, 1024, s));
        tn__cu_event e = kit_event();
        CU(cu.event_record(e, s));
        CU(cu.event_destroy(e));
        if (i % 16 == 0 && heap_in_use() > most)
            most = heap_in_use();
    }
    if (most - before > HEAP)
        print_error("%d events took %zu bytes\n", (int)MANY, most - before);
    CHECK(most - before <= HEAP);
    CU(cu.stream_synchronize(s));
    CHECK(heap_in_use() <= before + HEAP / 16); /* none is kept */
    CHECK(kit_count(0, TN__FAKE_EVENTS) == 0);
    kit_expect(p, (float)(MANY - MANY / 8), 1024);
}

static void events_order_streams(void **state)
{
    (void)state;
    IN_CHILD(events, "TENON_FAKE_GPUS=2");
    IN_CHILD(many_events, "TENON_FAKE_GPUS=1");
    EITHER(across_devices, 2);
    IN_CHILD(across_devices, "TENON_FAKE_GPUS=2", "TENON_FAKE_GPU_FAULTS=slowstream=5ms:0");
}

/* ---- launches ---- */

static void launches(void)
{
    kit_start();
    tn__cu_ptr p = kit_memory(4096);
    tn__cu_module m;
    tn__cu_function f;
    GIVES(TN__CU_INVALID_IMAGE, cu.module_load_data(&m, "no image of ours: some other text"));
    GIVES(TN__CU_INVALID_HANDLE, cu.module_get_function(&f, (tn__cu_module)(void *)&m, "add"));
    GIVES(TN__CU_INVALID_HANDLE, cu.launch_kernel((tn__cu_function)(void *)&m, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    CHECK(kit_count(0, TN__FAKE_MODULES) == 1);
    CU(kit_fill(p, 1, 1024, NULL));
    tn__cu_ptr none = 0;
    CU(kit_fill(none, 1, 0, NULL)); /* NULL is an address like others, as long as nobody follows it */
    CU(cu.ctx_synchronize());
    CHECK(kit_count(0, TN__FAKE_LAUNCHES) == 2);
}

/* An illegal address is found when the kernel runs; from then on the context is dead, the other one is not. */
static void illegal_address(void)
{
    kit_start();
    tn__cu_ptr p = kit_memory(4096), gone = kit_memory(4096), x;
    CU(cu.mem_free(gone));
    tn__cu_stream s = kit_stream();
    tn__cu_event e = kit_event();
    size_t a, b;
    CU(kit_spin(p, 1, 1024, s));
    CU(kit_fill(gone, 1, 1024, s));
    CU(kit_fill(p, 2, 1024, s));
    CU(cu.event_record(e, s));
    GIVES(TN__CU_ILLEGAL_ADDRESS, cu.stream_synchronize(s));
    REPORTS("kernel 'fill' on stream");
    GIVES(TN__CU_ILLEGAL_ADDRESS, cu.ctx_synchronize());
    GIVES(TN__CU_ILLEGAL_ADDRESS, cu.event_query(e));
    GIVES(TN__CU_ILLEGAL_ADDRESS, cu.mem_alloc(&x, 4));
    GIVES(TN__CU_ILLEGAL_ADDRESS, kit_fill(p, 1, 1024, NULL));
    GIVES(TN__CU_ILLEGAL_ADDRESS, cu.mem_get_info(&a, &b));
    GIVES(TN__CU_ILLEGAL_ADDRESS, cu.memcpy_dtoh_async(&x, p, 4, NULL));
    GIVES(TN__CU_ILLEGAL_ADDRESS, cu.event_destroy(e));
    GIVES(TN__CU_ILLEGAL_ADDRESS, cu.stream_destroy(s));
    GIVES(TN__CU_ILLEGAL_ADDRESS, cu.mem_free(p));
    CHECK(kit_count(0, TN__FAKE_LIVE) == 0 && kit_count(0, TN__FAKE_STREAMS) == 0);
    kit_use(1);
    p = kit_memory(4096);
    CU(kit_fill(p, 2, 1024, NULL));
    kit_expect(p, 2, 1024);
    CU(cu.primary_ctx_reset(0)); /* makes it new */
    kit_start();
    p = kit_memory(4096);
    CU(kit_fill(p, 3, 1024, NULL));
    kit_expect(p, 3, 1024);
}

/* What waits for a device that died goes on. */
static void waiting_for_the_dead(void)
{
    kit_start();
    tn__cu_ptr p = kit_memory(4096), q, gone = kit_memory(512);
    CU(cu.mem_free(gone));
    tn__cu_event e = kit_event();
    CU(kit_spin(p, 1, 1024, NULL));
    CU(kit_fill(gone, 1, 1, NULL));
    CU(cu.event_record(e, NULL));
    kit_use(1);
    q = kit_memory(4096);
    CU(cu.stream_wait_event(NULL, e, 0));
    CU(kit_fill(q, 4, 1024, NULL));
    kit_expect(q, 4, 1024);
    GIVES(TN__CU_ILLEGAL_ADDRESS, cu.stream_wait_event(NULL, e, 0));
}

static void launch_blocking(void)
{
    kit_start();
    tn__cu_ptr p = kit_memory(4096), gone = kit_memory(4096);
    CU(cu.mem_free(gone));
    tn__cu_stream s = kit_stream();
    CU(kit_spin(p, 1, 1024, s));
    CU(cu.stream_query(s)); /* over when the call returns */
    GIVES(TN__CU_ILLEGAL_ADDRESS, kit_fill(gone, 1, 1024, s));
    REPORTS("kernel 'fill'");
}

static void failures_are_sticky(void **state)
{
    (void)state;
    IN_CHILD(launches, "TENON_FAKE_GPUS=1");
    IN_CHILD(illegal_address, "TENON_FAKE_GPUS=2");
    IN_CHILD(waiting_for_the_dead, "TENON_FAKE_GPUS=2");
    IN_CHILD(launch_blocking, "TENON_FAKE_GPUS=1", "CUDA_LAUNCH_BLOCKING=1");
}

/* ---- several host threads ---- */

enum { THREADS = 4, ROUNDS = 60 };

static void *work(void *arg)
{
    int device = (int)(intptr_t)arg % kit_devices;
    float value = (float)(intptr_t)arg;
    kit_use(device);
    for (int i = 0; i < ROUNDS; i++) {
        tn__cu_stream s = kit_stream(), t = kit_stream();
        tn__cu_event e = kit_event();
        tn__cu_ptr p = kit_memory(4096);
        float *host = kit_pinned(4096);
        CU(kit_fill(p, value, 1024, s));
        CU(cu.event_record(e, s));
        CU(cu.stream_wait_event(t, e, 0));
        CU(kit_add(p, p, 1024, t));
        CU(cu.memcpy_dtoh_async(host, p, 4096, t));
        CU(cu.stream_synchronize(t));
        CHECK(host[0] == 2 * value && host[1023] == 2 * value);
        CU(cu.event_destroy(e));
        CU(cu.stream_destroy(s));
        CU(cu.stream_destroy(t));
        CU(cu.mem_free(p));
        CU(cu.mem_free_host(host));
    }
    return NULL;
}

static void threads_together(void)
{
    kit_start();
    pthread_t thread[THREADS];
    for (intptr_t i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&thread[i], NULL, work, (void *)i));
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_join(thread[i], NULL));
    for (int i = 0; i < kit_devices; i++)
        CHECK(kit_count(i, TN__FAKE_LIVE) == 0 && kit_count(i, TN__FAKE_STREAMS) == 0);
    CHECK(kit_count(-1, TN__FAKE_LIVE) == 0);
}

static void threads_do_not_meet(void **state)
{
    (void)state;
    IN_CHILD(threads_together, "TENON_FAKE_GPUS=2x64MiB");
    IN_CHILD(threads_together, "TENON_FAKE_GPUS=2x64MiB", "TENON_FAKE_GPU_FAULTS=delay=random:1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_run_in_order),
        cmocka_unit_test(events_order_streams),
        cmocka_unit_test(failures_are_sticky),
        cmocka_unit_test(threads_do_not_meet),
    };
    return kit_open(true) || cmocka_run_group_tests(tests, NULL, NULL);
}
