/* Fake GPUs: faults that are ordered: TENON_FAKE_GPU_FAULTS and tenonFakeSetFaults. */
#include "fake/driver/helpers.h"
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static void allocations(void)
{
    kit_start();
    tn__cu_ptr p;
    void *host;
    CU(cu.mem_alloc(&p, 4));
    GIVES(TN__CU_OUT_OF_MEMORY, cu.mem_alloc(&p, 4)); /* oom@2 */
    CU(cu.mem_alloc(&p, 4));
    CU(cu.mem_host_alloc(&host, 4, 0));
    CU(cu.mem_host_alloc(&host, 4, 0));
    GIVES(TN__CU_OUT_OF_MEMORY, cu.mem_host_alloc(&host, 4, 0)); /* host@3 */
    CU(cu.mem_host_alloc(&host, 4, 0));
    CU(cu.fake_set_faults("oom@2+"));
    CU(cu.mem_alloc(&p, 4));
    for (int i = 0; i < 3; i++)
        GIVES(TN__CU_OUT_OF_MEMORY, cu.mem_alloc(&p, 4));
    CU(cu.fake_set_faults("oom:1, host"));
    CU(cu.mem_alloc(&p, 4));
    GIVES(TN__CU_OUT_OF_MEMORY, cu.mem_host_alloc(&host, 4, 0));
    kit_use(1);
    GIVES(TN__CU_OUT_OF_MEMORY, cu.mem_alloc(&p, 4));
    CU(cu.fake_set_faults("oom@2:1"));
    CU(cu.mem_alloc(&p, 4));
    kit_use(0);
    CU(cu.mem_alloc(&p, 4));
    kit_use(1);
    GIVES(TN__CU_OUT_OF_MEMORY, cu.mem_alloc(&p, 4));
    GIVES(TN__CU_INVALID_VALUE, cu.fake_set_faults("oom@2:1,nonsense"));
    REPORTS("not understood at 'nonsense'");
    GIVES(TN__CU_INVALID_VALUE, cu.fake_set_faults("oom@2:1,oom:7"));
    REPORTS("a device that is not there, at 'oom:7': there are 2");
    GIVES(TN__CU_INVALID_VALUE, cu.fake_set_faults("peer=0-2"));
    REPORTS("at 'peer=0-2'");
    CU(cu.fake_set_faults(NULL));
    CU(cu.mem_alloc(&p, 4));
}

static void allocations_fail(void **state)
{
    (void)state;
    IN_CHILD(allocations, "TENON_FAKE_GPUS=2", "TENON_FAKE_GPU_FAULTS=oom@2,host@3");
}

static void launch_fails(void)
{
    kit_start();
    tn__cu_ptr p = kit_memory(4096);
    tn__cu_module m;
    GIVES(TN__CU_NO_BINARY_FOR_GPU, cu.module_load_data(&m, "any"));
    CU(cu.fake_set_faults("launch@2"));
    CU(kit_fill(p, 1, 1024, NULL));
    CU(cu.ctx_synchronize());
    CU(kit_fill(p, 1, 1024, NULL)); /* asynchronous */
    GIVES(TN__CU_ILLEGAL_ADDRESS, cu.ctx_synchronize());
    REPORTS("kernel 'fill'");
}

static void device_is_lost(void)
{
    kit_start();
    kit_use(1);
    tn__cu_ptr p = kit_memory(4096);
    CU(cu.fake_set_faults("lost@3:1"));
    CU(kit_fill(p, 1, 1024, NULL));
    CU(cu.memset_d8_async(p, 0, 4096, NULL));
    CU(kit_fill(p, 1, 1024, NULL));
    GIVES(TN__CU_ECC_UNCORRECTABLE, cu.stream_synchronize(NULL));
    REPORTS("device 1 was lost at kernel 'fill'");
    GIVES(TN__CU_ECC_UNCORRECTABLE, cu.mem_alloc(&p, 4));
    kit_use(0);
    p = kit_memory(4);
    CU(cu.primary_ctx_reset(1));
    kit_start();
    kit_use(1);
    p = kit_memory(4096);
    CU(kit_fill(p, 2, 1024, NULL));
    kit_expect(p, 2, 1024);
}

/* ---- each thread hears of its own failure, and of the context that it used ---- */

static pthread_barrier_t meeting;

static void *fails_on(void *arg)
{
    static const char *const death[] = {"kernel 'fill' on stream", "device 1 was lost at kernel 'fill'"};
    const int device = *(const int *)arg;
    char wrong[64];
    kit_use(device);
    const tn__cu_ptr p = kit_memory(4096);
    tn__cu_stream s = kit_stream(), t = kit_stream();
    for (int i = 0; i < 50; i++) { /* in the call itself */
        snprintf(wrong, sizeof wrong, "past the end of the 4096 bytes at %p", (void *)(uintptr_t)p);
        CU(cu.memset_d8_async(p, 0, 4096, s));
        GIVES(TN__CU_INVALID_VALUE, cu.memset_d8_async(p + 4, 0, 4096, s));
        pthread_barrier_wait(&meeting);
        REPORTS(wrong);
        CU(cu.stream_synchronize(s));
        CU(kit_fill(p, 1, 1024, s));
        GIVES(TN__CU_ILLEGAL_STATE, kit_fill(p, 1, 1024, t));
        snprintf(wrong, sizeof wrong, "of device %d: nothing orders", device);
        pthread_barrier_wait(&meeting);
        REPORTS("nothing orders the two");
        CU(cu.stream_synchronize(s));
    }
    pthread_barrier_wait(&meeting);
    if (device == 0)
        CU(cu.fake_set_faults("launch:0,lost:1"));
    pthread_barrier_wait(&meeting);
    CU(kit_fill(p, 1, 1024, s)); /* behind its back */
    const tn__cu_result died = device ? TN__CU_ECC_UNCORRECTABLE : TN__CU_ILLEGAL_ADDRESS;
    GIVES(died, cu.stream_synchronize(s));
    pthread_barrier_wait(&meeting);
    REPORTS(death[device]);
    kit_use(!device); /* contexts keep theirs, for whoever asks */
    GIVES(device ? TN__CU_ILLEGAL_ADDRESS : TN__CU_ECC_UNCORRECTABLE, cu.ctx_synchronize());
    REPORTS(death[!device]);
    GIVES(TN__CU_INVALID_HANDLE, cu.event_destroy(NULL));
    char report[64] = "?";
    CU(cu.fake_report(report, sizeof report));
    CHECK(!*report); /* a failure without a text does not get an earlier one's */
    return NULL;
}

static void reports_stay_apart(void)
{
    kit_start();
    pthread_t thread[2];
    int device[2] = {0, 1};
    CHECK(!pthread_barrier_init(&meeting, NULL, 2));
    for (int i = 0; i < 2; i++)
        CHECK(!pthread_create(&thread[i], NULL, fails_on, &device[i]));
    for (int i = 0; i < 2; i++)
        CHECK(!pthread_join(thread[i], NULL));
    GIVES(TN__CU_ILLEGAL_ADDRESS, cu.ctx_synchronize()); /* and this one has not heard it yet */
    REPORTS("kernel 'fill' on stream");
}

/* ---- what is made while its context is reset is of neither context ---- */

static _Atomic bool stop;
static _Atomic int ready;

static void *makes_things(void *arg)
{
    (void)arg;
    kit_use(0);
    ready++;
    while (!stop) {
        tn__cu_ptr p;
        void *host;
        const tn__cu_result r[] = {cu.mem_alloc(&p, 3 << 20), cu.mem_host_alloc(&host, 1 << 16, 0), kit_load()};
        for (int i = 0; i < 3; i++)
            CHECK(r[i] == TN__CU_SUCCESS || r[i] == TN__CU_CONTEXT_IS_DESTROYED);
        if (!r[0])
            cu.mem_free(p); /* gone already, maybe */
    }
    return NULL;
}

static void resets_leave_nothing(void)
{
    kit_start();
    size_t before, after, total;
    tn__cu_context c;
    for (int i = 0; i < 20; i++) {
        pthread_t thread[2];
        stop = false;
        ready = 0;
        CU(cu.primary_ctx_reset(0));
        CU(cu.primary_ctx_retain(&c, 0));
        kit_use(0);
        CU(cu.mem_get_info(i ? &after : &before, &total));
        CHECK(!i || after == before);
        for (int k = 0; k < 2; k++)
            CHECK(!pthread_create(&thread[k], NULL, makes_things, NULL));
        while (ready < 2 || kit_count(0, TN__FAKE_ALLOCATIONS) < (uint64_t)(3 * i))
            sched_yield();
        CU(cu.primary_ctx_reset(0));
        stop = true;
        for (int k = 0; k < 2; k++)
            CHECK(!pthread_join(thread[k], NULL));
        CHECK(!kit_count(0, TN__FAKE_LIVE) && !kit_count(-1, TN__FAKE_LIVE) && !kit_count(0, TN__FAKE_MODULES));
    }
    CU(cu.primary_ctx_retain(&c, 0));
    const tn__cu_ptr p = kit_memory(3 << 20);
    kit_expect(p, NAN, 3 << 18);
}

/* fatal: the device that failed makes no context again; others do. */
static void device_is_ruined(void)
{
    kit_start();
    kit_use(0);
    tn__cu_context c;
    tn__cu_ptr p = kit_memory(4096);
    CU(kit_fill(p, 1, 1024, NULL));
    GIVES(TN__CU_ILLEGAL_ADDRESS, cu.ctx_synchronize());
    GIVES(TN__CU_ILLEGAL_ADDRESS, cu.primary_ctx_reset(0));
    GIVES(TN__CU_ILLEGAL_ADDRESS, cu.primary_ctx_retain(&c, 0));
    CU(cu.primary_ctx_reset(1));
    CU(cu.primary_ctx_retain(&c, 1));
}

static void registrations(void)
{
    kit_start();
    static char own[2][8192];
    GIVES(TN__CU_NOT_SUPPORTED, cu.mem_host_register(own[0], sizeof own[0], 0)); /* register@1 */
    CU(cu.mem_host_register(own[1], sizeof own[1], 0));
    CU(cu.mem_host_unregister(own[1]));
}

static void devices_fail(void **state)
{
    (void)state;
    IN_CHILD(resets_leave_nothing, "TENON_FAKE_GPUS=1");
    IN_CHILD(reports_stay_apart, "TENON_FAKE_GPUS=2");
    IN_CHILD(device_is_ruined, "TENON_FAKE_GPUS=2", "TENON_FAKE_GPU_FAULTS=launch@1,fatal:0");
    IN_CHILD(registrations, "TENON_FAKE_GPUS=1", "TENON_FAKE_GPU_FAULTS=register@1");
    IN_CHILD(launch_fails, "TENON_FAKE_GPUS=1", "TENON_FAKE_GPU_FAULTS=nocubin@2");
    IN_CHILD(device_is_lost, "TENON_FAKE_GPUS=2");
}

/* ---- links ---- */

static void links(void)
{
    kit_start();
    int can;
    enum { N = 1024 };
    CU(cu.device_can_access_peer(&can, 0, 1));
    CHECK(!can);
    CU(cu.device_can_access_peer(&can, 1, 0));
    CHECK(!can);
    CU(cu.device_can_access_peer(&can, 0, 2));
    CHECK(can);
    GIVES(TN__CU_PEER_ACCESS_UNSUPPORTED, cu.ctx_enable_peer_access(kit_context[1], 0));
    CU(cu.ctx_enable_peer_access(kit_context[2], 0));
    tn__cu_ptr p = kit_memory(N * 4), q;
    CU(kit_fill(p, 1, N, NULL));
    CU(cu.ctx_synchronize());
    kit_use(1);
    q = kit_memory(N * 4);
    CU(cu.memcpy_peer_async(q, kit_context[1], p, kit_context[0], N * 4, NULL)); /* through the host */
    kit_expect(q, 1, N);
    kit_use(2);
    q = kit_memory(N * 4);
    float got[N];
    int wrong = 0;
    CU(cu.memcpy_peer_async(q, kit_context[2], p, kit_context[0], N * 4, NULL)); /* over the bad link */
    CU(cu.memcpy_dtoh_async(got, q, N * 4, NULL));
    for (int i = 0; i < N; i++)
        wrong += got[i] != 1;
    CHECK(wrong > 0);
    CU(cu.memcpy_dtoh_async(got, q, 4, NULL));
    CHECK(got[0] != 1); /* from the first byte on: a short test sees it */
}

static void links_fail(void **state)
{
    (void)state;
    IN_CHILD(links, "TENON_FAKE_GPUS=3", "TENON_FAKE_GPU_FAULTS=peer=0-1, badpeer=2-0");
}

/* ---- slowness: no more is asserted than that it takes so long at least ---- */

static double milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static void slow(void)
{
    kit_start();
    tn__cu_ptr p = kit_memory(4096);
    double start = milliseconds();
    for (int i = 0; i < 4; i++)
        CU(cu.memset_d8_async(p, 0, 4096, NULL));
    CU(kit_fill(p, 2, 1024, NULL));
    CU(cu.ctx_synchronize());
    CHECK(milliseconds() - start >= 4 * 5 + 5 * 1);
    kit_use(1);
    p = kit_memory(4096);
    start = milliseconds();
    CU(kit_fill(p, 2, 1024, NULL));
    CU(cu.ctx_synchronize());
    CU(cu.fake_set_faults("delay=random:7"));
    for (int i = 0; i < 100; i++)
        CU(kit_add(p, p, 1024, NULL));
    CU(cu.ctx_synchronize());
    CHECK(milliseconds() - start >= 1); /* 100 of up to 0.2 ms */
}

/* Whatever the program's locale puts between 1 and 5. */
static void fractions(void)
{
    setlocale(LC_ALL, "de_DE.UTF-8"); /* where the machine has it */
    kit_start();
    tn__cu_ptr p = kit_memory(4096);
    CU(cu.fake_set_faults("slowcopy=0.015s, slowstream=2.5ms:0"));
    double start = milliseconds();
    for (int i = 0; i < 4; i++)
        CU(cu.memset_d8_async(p, 0, 4096, NULL));
    CU(cu.ctx_synchronize());
    CHECK(milliseconds() - start >= 4 * (15 + 2.5));
}

static void slowness(void **state)
{
    (void)state;
    IN_CHILD(fractions, "TENON_FAKE_GPUS=1");
    IN_CHILD(slow, "TENON_FAKE_GPUS=2", "TENON_FAKE_GPU_FAULTS=slowcopy=5ms,slowstream=1000us:0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_fail),
        cmocka_unit_test(devices_fail),
        cmocka_unit_test(links_fail),
        cmocka_unit_test(slowness),
    };
    return kit_open(true) || cmocka_run_group_tests(tests, NULL, NULL);
}
