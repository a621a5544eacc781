/* Fake GPUs: device memory and pinned memory, copies, peers; what is refused, and with which result. */
#include "fake/driver/helpers.h"
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- allocation ---- */

static void allocation(void)
{
    kit_start();
    size_t unused, total, before;
    tn__cu_ptr p, q;
    CU(cu.mem_get_info(&before, &total));
    GIVES(TN__CU_INVALID_VALUE, cu.mem_alloc(&p, 0));
    GIVES(TN__CU_INVALID_VALUE, cu.mem_alloc(NULL, 4));
    p = kit_memory(1);
    q = kit_memory(513);
    CHECK(p % 512 == 0 && q % 512 == 0 && p != q);
    CU(cu.mem_get_info(&unused, &total));
    CHECK(before - unused == 512 + 1024);
    CHECK(kit_count(0, TN__FAKE_ALLOCATIONS) == 2 && kit_count(0, TN__FAKE_LIVE) == 2);
    GIVES(TN__CU_INVALID_VALUE, cu.mem_free(q + 512)); /* no beginning of a block */
    CU(cu.mem_free(p));
    GIVES(TN__CU_INVALID_VALUE, cu.mem_free(p));
    CU(cu.mem_free(0));
    CU(cu.mem_free(q));
    CHECK(kit_count(0, TN__FAKE_FREES) == 2 && kit_count(0, TN__FAKE_LIVE) == 0);
    p = kit_memory(unused);
    GIVES(TN__CU_OUT_OF_MEMORY, cu.mem_alloc(&q, 8192));
    GIVES(TN__CU_OUT_OF_MEMORY, cu.mem_alloc(&q, SIZE_MAX));
    CU(cu.mem_free(p));
    for (int i = 0; i < 100; i++) { /* all of it, again and again, in changing pieces */
        tn__cu_ptr piece[8];
        for (int k = 0; k < 8; k++)
            piece[k] = kit_memory(before / 8 / 512 * 512 - (size_t)(i * k % 7) * 512);
        for (int k = 0; k < 8; k++)
            CU(cu.mem_free(piece[(k * 3 + i) % 8]));
    }
    CU(cu.mem_get_info(&unused, &total));
    CHECK(unused == before);
}

/* Drivers map pages where they like: half of the memory being free, a large block fits, wherever small ones lie. */
static void pieces_leave_room(void)
{
    kit_start();
    const size_t mib = 1 << 20;
    tn__cu_ptr small[14], large;
    for (int i = 0; i < 14; i++) {
        small[i] = kit_memory(2 * mib);
        large = kit_memory(7 * mib);
        CU(cu.mem_free(large));
    }
    for (int i = 0; i < 100; i++) {
        large = kit_memory((size_t)(1 + i % 27) * mib);
        CU(cu.mem_free(large));
    }
    for (int i = 0; i < 14; i++)
        CU(cu.mem_free(small[i]));
}

static void fresh_memory(void)
{
    kit_start();
    static const size_t sizes[] = {4, 4096, 3 << 20, 40 << 20};
    for (int again = 0; again < 2; again++)
        for (size_t i = 0; i < TN_COUNT(sizes); i++) {
            tn__cu_ptr p = kit_memory(sizes[i]);
            kit_expect(p, NAN, (int64_t)(sizes[i] / 4));
            CU(kit_fill(p, 3, (int64_t)(sizes[i] / 4), NULL));
            kit_expect(p, 3, (int64_t)(sizes[i] / 4));
            CU(cu.mem_free(p));
        }
    tn__cu_ptr huge = kit_memory((size_t)3 << 30); /* costs nothing until it is used */
    CU(kit_fill(huge + ((size_t)2 << 30), 1, 1000, NULL));
    kit_expect(huge + ((size_t)2 << 30), 1, 1000);
    kit_expect(huge + ((size_t)1 << 30), NAN, 1000);
}

static void host_reads_device_memory(void)
{
    kit_start();
    const volatile char *p = (const volatile char *)(uintptr_t)kit_memory(4096);
    signal(SIGSEGV, SIG_DFL); /* sanitizers have their own */
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        _exit(*p == 0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

static void memory_is_allocated(void **state)
{
    (void)state;
    IN_CHILD(allocation, "TENON_FAKE_GPUS=1x64MiB");
    IN_CHILD(pieces_leave_room, "TENON_FAKE_GPUS=1x64MiB");
    IN_CHILD(fresh_memory, "TENON_FAKE_GPUS=1x4GiB");
    IN_CHILD(host_reads_device_memory, "TENON_FAKE_GPUS=1x64MiB");
}

/* Past the end, into the gap between blocks: a GPU may not notice, AddressSanitizer does, at the very access. */
static void past_the_end(void)
{
    kit_start();
    tn__cu_ptr p = kit_memory(1000), q = kit_memory(1000);
    CU(kit_fill(q, 1, 250, NULL));
    CU(kit_fill(p, 1, 251, NULL));
    CU(cu.ctx_synchronize());
}

static void sanitizers_see_the_end(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__)
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(0);
        past_the_end();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_not_equal(status, 0);
#else
    IN_CHILD(past_the_end, "TENON_FAKE_GPUS=1");
#endif
}

/* ---- copies ---- */

static void copies_arrive(void)
{
    kit_start();
    enum { N = 100000, BYTES = N * 4 };
    float *pinned = kit_pinned(BYTES), *pageable = malloc(BYTES), *back = malloc(BYTES);
    tn__cu_ptr p = kit_memory(BYTES), q = kit_memory(BYTES);
    tn__cu_stream s = kit_stream();
    CHECK(isnan(pinned[0]) && isnan(pinned[N - 1]));
    for (int i = 0; i < N; i++)
        pageable[i] = (float)i;
    int32_t *gate = kit_hold(s);
    CU(cu.memcpy_htod_async(p, pageable, 4000, s)); /* small: kept aside, the source may change at once */
    GIVES(TN__CU_NOT_READY, cu.stream_query(s));
    memset(pageable, 0, 4000);
    kit_go(gate);
    CU(cu.memcpy_dtod_async(q, p, 4000, s));
    CU(cu.memcpy_dtoh_async(back, q, 4000, s)); /* pageable: there when the call returns */
    for (int i = 0; i < 1000; i++)
        CHECK(back[i] == (float)i);
    CU(cu.memcpy_htod_async(p, pageable, BYTES, s)); /* large: the source was read as well */
    memset(pageable, 0, BYTES);
    CU(cu.memcpy_dtoh_async(back, p, BYTES, s));
    CHECK(back[0] == 0 && back[1000] == 1000 && back[N - 1] == N - 1);
    for (int i = 0; i < N; i++)
        pinned[i] = (float)-i;
    CU(cu.memcpy_htod_async(p, pinned, BYTES, s));
    CU(cu.memset_d8_async(p + 8, 0, 4, s));
    gate = kit_hold(s);
    CU(cu.memcpy_dtoh_async(pinned, p, BYTES, s)); /* pinned: later */
    GIVES(TN__CU_NOT_READY, cu.stream_query(s));
    kit_go(gate);
    CU(cu.stream_synchronize(s));
    CHECK(pinned[1] == -1 && pinned[2] == 0 && pinned[3] == -3 && pinned[N - 1] == -(N - 1));
    CHECK(kit_count(0, TN__FAKE_H2D) == 3 && kit_count(0, TN__FAKE_H2D_BYTES) == 4000 + 2 * BYTES);
    CHECK(kit_count(0, TN__FAKE_D2H) == 3 && kit_count(0, TN__FAKE_D2D) == 1 && kit_count(0, TN__FAKE_P2P) == 0);
    CHECK(kit_count(-1, TN__FAKE_H2D) == 2 && kit_count(-1, TN__FAKE_D2H) == 2);
    CHECK(kit_count(0, TN__FAKE_SYNCHRONIZATIONS) == 1 && kit_count(0, TN__FAKE_LAUNCHES) == 2);
    CU(cu.mem_free_host(pinned));
    CHECK(kit_count(-1, TN__FAKE_ALLOCATIONS) == 3 && kit_count(-1, TN__FAKE_LIVE) == 2); /* two gates */
    free(pageable);
    free(back);
}

/* Until a copy to pinned memory is done, nothing may be read there: what is read all the same is poison, not a result of
 * before; but what an earlier copy is still to read stays. */
static void pinned_copies_are_not_read_early(void)
{
    kit_start();
    enum { N = 100000, BYTES = N * 4 };
    float *host = kit_pinned(BYTES), *other = kit_pinned(BYTES);
    tn__cu_ptr p = kit_memory(BYTES), q = kit_memory(BYTES);
    tn__cu_stream s = kit_stream();
    for (int i = 0; i < N; i++)
        host[i] = other[i] = (float)i;
    CU(kit_fill(p, 3, N, s));
    CU(cu.stream_synchronize(s));
    int32_t *gate = kit_hold(s);
    CU(cu.memcpy_htod_async(q, other, BYTES, s));
    CU(cu.memcpy_dtoh_async(other, p, BYTES, s));
    CU(cu.memcpy_dtoh_async(host + 1, p, BYTES - 8, s));
    CHECK(isnan(host[1]) && isnan(host[1000]) && isnan(host[N - 2]));
    CHECK(host[0] == 0 && host[N - 1] == N - 1);
    CHECK(other[1] == 1 && other[N - 1] == N - 1);
    kit_go(gate);
    CU(cu.stream_synchronize(s));
    CHECK(host[1] == 3 && host[N - 2] == 3 && host[N - 1] == N - 1);
    CHECK(other[1] == 3 && other[N - 1] == 3);
    CU(cu.memcpy_dtoh_async(host, q, BYTES, s));
    CU(cu.stream_synchronize(s));
    for (int i = 0; i < N; i++)
        CHECK(host[i] == (float)i);
}

static void wrong_copies(void)
{
    kit_start();
    tn__cu_ptr p = kit_memory(1000), gone = kit_memory(1000);
    float host[1000], *pinned = kit_pinned(1000);
    CU(cu.mem_free(gone));
    kit_use(1);
    tn__cu_ptr other = kit_memory(1000);
    kit_use(0);
    GIVES(TN__CU_INVALID_VALUE, cu.memcpy_htod_async(p, host, 1001, NULL));
    REPORTS("past the end of the 1000 bytes");
    GIVES(TN__CU_INVALID_VALUE, cu.memcpy_htod_async(p + 999, host, 2, NULL));
    GIVES(TN__CU_INVALID_VALUE, cu.memcpy_htod_async(p - 4, host, 4, NULL));
    GIVES(TN__CU_INVALID_VALUE, cu.memcpy_dtoh_async(host, gone, 4, NULL));
    REPORTS("no live memory of device 0");
    GIVES(TN__CU_INVALID_VALUE, cu.memcpy_dtoh_async(pinned, p, 1001, NULL));
    GIVES(TN__CU_INVALID_VALUE, cu.memcpy_dtoh_async((char *)pinned + 500, p, 501, NULL));
    GIVES(TN__CU_INVALID_VALUE, cu.memcpy_htod_async((tn__cu_ptr)(uintptr_t)pinned, host, 4, NULL));
    GIVES(TN__CU_INVALID_VALUE, cu.memcpy_dtoh_async((void *)(uintptr_t)other, p, 4, NULL));
    GIVES(TN__CU_INVALID_VALUE, cu.memcpy_dtod_async(p, (tn__cu_ptr)(uintptr_t)host, 4, NULL));
    GIVES(TN__CU_INVALID_VALUE, cu.memcpy_dtod_async(p, other, 4, NULL));
    REPORTS("device 0 has no access to it");
    GIVES(TN__CU_INVALID_VALUE, cu.memset_d8_async(p + 1, 0, 1000, NULL));
    GIVES(TN__CU_INVALID_VALUE, cu.memset_d8_async(other, 0, 4, NULL));
    GIVES(TN__CU_INVALID_VALUE, cu.memcpy_peer_async(p, kit_context[1], other, kit_context[1], 4, NULL));
    GIVES(TN__CU_INVALID_HANDLE, cu.memcpy_htod_async(p, host, 4, (tn__cu_stream)(void *)host));
    CU(cu.memcpy_htod_async(p, host, 0, NULL));
    CU(cu.ctx_synchronize()); /* the device is none the worse */
    CHECK(kit_count(0, TN__FAKE_H2D) == 0 && kit_count(0, TN__FAKE_D2H) == 0);
}

static void copies_are_checked(void **state)
{
    (void)state;
    IN_CHILD(copies_arrive, "TENON_FAKE_GPUS=1");
    IN_CHILD(pinned_copies_are_not_read_early, "TENON_FAKE_GPUS=1");
    IN_CHILD(wrong_copies, "TENON_FAKE_GPUS=2");
}

/* ---- peers ---- */

static void peers_exchange(void)
{
    kit_start();
    enum { N = 1000 };
    tn__cu_ptr p = kit_memory(N * 4), q, r;
    CU(kit_fill(p, 5, N, NULL));
    CU(cu.ctx_synchronize());
    kit_use(1);
    q = kit_memory(N * 4);
    r = kit_memory(N * 4);
    CU(kit_fill(r, 1, N, NULL));
    CU(cu.memcpy_peer_async(q, kit_context[1], p, kit_context[0], N * 4, NULL)); /* needs no access */
    kit_expect(q, 5, N);
    CHECK(kit_count(1, TN__FAKE_P2P) == 1 && kit_count(1, TN__FAKE_P2P_BYTES) == N * 4);
    GIVES(TN__CU_INVALID_CONTEXT, cu.ctx_enable_peer_access(kit_context[1], 0)); /* itself */
    CU(cu.ctx_enable_peer_access(kit_context[0], 0));
    GIVES(TN__CU_PEER_ACCESS_ALREADY_ENABLED, cu.ctx_enable_peer_access(kit_context[0], 0));
    CU(kit_add(r, p, N, NULL)); /* a kernel of device 1 reads memory of device 0 */
    kit_expect(r, 6, N);
    CU(cu.memcpy_dtod_async(q, r, N * 4, NULL));
    CU(cu.memcpy_dtod_async(p, r, N * 4, NULL));
    CU(cu.ctx_synchronize());
    kit_use(0);
    kit_expect(p, 6, N);
    CU(kit_add(p, q, N, NULL)); /* access goes one way */
    GIVES(TN__CU_ILLEGAL_ADDRESS, cu.ctx_synchronize());
    REPORTS("device 0 has no access to it");
}

static void peers_may_exchange(void **state)
{
    (void)state;
    IN_CHILD(peers_exchange, "TENON_FAKE_GPUS=2");
}

/* ---- pinned memory ---- */

static void pinned(void)
{
    kit_start();
    void *m;
    tn__cu_ptr d;
    GIVES(TN__CU_INVALID_VALUE, cu.mem_host_alloc(&m, 0, 0));
    GIVES(TN__CU_INVALID_VALUE, cu.mem_host_alloc(&m, 4, 64));
    float *p = kit_pinned(4096), plain[4];
    CU(cu.mem_host_get_device_pointer(&d, p, 0));
    CHECK(d == (tn__cu_ptr)(uintptr_t)p);
    GIVES(TN__CU_INVALID_VALUE, cu.mem_host_get_device_pointer(&d, plain, 0));
    GIVES(TN__CU_INVALID_VALUE, cu.mem_free_host(plain));
    GIVES(TN__CU_INVALID_VALUE, cu.mem_free_host(p + 1));
    CU(kit_fill(d, 4, 1024, NULL)); /* a kernel writes it */
    CU(cu.ctx_synchronize());
    CHECK(p[0] == 4 && p[1023] == 4);
    kit_use(1);
    CU(kit_fill(d, 5, 1024, NULL)); /* of any device */
    CU(cu.ctx_synchronize());
    CHECK(p[1023] == 5);
    CU(cu.mem_free_host(p));
    GIVES(TN__CU_INVALID_VALUE, cu.mem_free_host(p));
}

/* The program's own memory, locked: until it is said, or until the context goes. */
static void registered(void)
{
    kit_start();
    static float own[3 * 4096];
    char *p = (char *)own;
    tn__cu_ptr d;
    GIVES(TN__CU_INVALID_VALUE, cu.mem_host_register(p, 0, 0));
    GIVES(TN__CU_INVALID_VALUE, cu.mem_host_register(p, 4096, 64));
    GIVES(TN__CU_HOST_MEMORY_NOT_REGISTERED, cu.mem_host_unregister(p));
    CU(cu.mem_host_register(p + 4096, 8192, TN__CU_MEMHOSTALLOC_PORTABLE));
    GIVES(TN__CU_HOST_MEMORY_ALREADY_REGISTERED, cu.mem_host_register(p + 4096, 100, 0));
    GIVES(TN__CU_HOST_MEMORY_ALREADY_REGISTERED, cu.mem_host_register(p, 4097, 0));
    GIVES(TN__CU_HOST_MEMORY_ALREADY_REGISTERED, cu.mem_host_register(p + 12287, 10, 0));
    CU(cu.mem_host_register(p, 4096, 0));
    CU(cu.mem_host_register(p + 12288, 10, 0));
    CU(cu.mem_host_get_device_pointer(&d, p + 4096, 0));
    CU(kit_fill(d, 4, 2048, NULL));
    CU(cu.ctx_synchronize());
    CHECK(own[1023] == 0 && own[1024] == 4 && own[1024 + 2047] == 4);
    GIVES(TN__CU_INVALID_VALUE, cu.mem_free_host(p));
    CU(cu.mem_host_unregister(p));
    GIVES(TN__CU_INVALID_VALUE, cu.mem_host_get_device_pointer(&d, p, 0));
    tn__cu_device device;
    CU(cu.device_get(&device, 0));
    CU(cu.primary_ctx_reset(device));
    kit_use(1);
    GIVES(TN__CU_HOST_MEMORY_NOT_REGISTERED, cu.mem_host_unregister(p + 4096));
    CHECK(own[1024] == 4); /* still ours */
}

/* What was registered is as good as pinned; both kinds end with their context. */
static void pinned_memory_and_contexts(void)
{
    kit_start();
    static float mine[1000];
    float *p = kit_pinned(4096), out[4] = {0};
    tn__cu_ptr memory = kit_memory(4096);
    GIVES(TN__CU_HOST_MEMORY_NOT_REGISTERED, cu.mem_host_unregister(p));
    CU(cu.mem_host_register(mine, sizeof mine, 0));
    int32_t *gate = kit_hold(NULL);
    CU(cu.memset_d8_async(memory, 0, 4096, NULL));
    CU(cu.memcpy_dtoh_async(mine, memory, 4, NULL)); /* pinned now: the call does not wait */
    GIVES(TN__CU_NOT_READY, cu.stream_query(NULL));
    kit_go(gate);
    CU(cu.ctx_synchronize());
    CU(cu.mem_host_unregister(mine));
    CU(cu.mem_host_register(mine, sizeof mine, 0));
    CHECK(kit_count(-1, TN__FAKE_LIVE) == 3);
    CU(cu.primary_ctx_reset(0)); /* both end: the one is freed, the other is ordinary memory again */
    CHECK(kit_count(-1, TN__FAKE_LIVE) == 0);
    kit_start();
    GIVES(TN__CU_INVALID_VALUE, cu.mem_free_host(p));
    GIVES(TN__CU_HOST_MEMORY_NOT_REGISTERED, cu.mem_host_unregister(mine));
    memory = kit_memory(4096);
    CU(kit_fill(memory, 6, 4, NULL));
    CU(cu.memcpy_dtoh_async(out, memory, sizeof out, NULL));
    CHECK(out[3] == 6);
}

static void pinned_memory_is_shared(void **state)
{
    (void)state;
    IN_CHILD(pinned_memory_and_contexts, "TENON_FAKE_GPUS=1");
    IN_CHILD(pinned, "TENON_FAKE_GPUS=2");
    IN_CHILD(registered, "TENON_FAKE_GPUS=2");
}

/* Addresses without memory, and memory behind a part of them. */
static void addresses(void)
{
    enum { PAGE = 2 << 20 };
    kit_start();
    const tn__cu_allocation pages = {.type = TN__CU_MEM_ALLOCATION_PINNED, .location = {TN__CU_MEM_LOCATION_DEVICE, 0}};
    const tn__cu_access access = {{TN__CU_MEM_LOCATION_DEVICE, 0}, TN__CU_MEM_ACCESS_READWRITE};
    unsigned long long m[2];
    tn__cu_ptr p;
    size_t granularity, before, after, total;
    CU(cu.mem_get_allocation_granularity(&granularity, &pages, TN__CU_MEM_GRANULARITY_MINIMUM));
    CHECK(granularity == PAGE);
    CU(cu.mem_address_reserve(&p, (size_t)64 << 30, 0, 0, 0)); /* more than there is */
    CU(cu.mem_get_info(&before, &total));
    for (unsigned i = 0; i < 2; i++) {
        CU(cu.mem_create(&m[i], PAGE, &pages, 0));
        CU(cu.mem_map(p + i * PAGE, PAGE, 0, m[i], 0));
        CU(cu.mem_release(m[i])); /* it lives as long as it is mapped */
        CU(cu.mem_set_access(p + i * PAGE, PAGE, &access, 1));
    }
    CU(cu.mem_get_info(&after, &total));
    CHECK(before - after == 2 * PAGE);
    CU(kit_fill(p + PAGE - 2048, 3, 1024, NULL)); /* over the seam */
    kit_expect(p + PAGE - 2048, 3, 1024);
    OUT_OF_ORDER((kit_spin(p, 1, 1024, kit_stream()), cu.mem_unmap(p, PAGE)), "unmaps");
    CU(cu.ctx_synchronize());
    GIVES(TN__CU_INVALID_VALUE, cu.mem_unmap(p, 2 * PAGE)); /* what was mapped by itself goes by itself */
    GIVES(TN__CU_INVALID_VALUE, cu.mem_address_free(p, (size_t)64 << 30));
    GIVES(TN__CU_INVALID_VALUE, cu.mem_free(p));
    CU(cu.mem_unmap(p, PAGE));
    GIVES(TN__CU_INVALID_VALUE, cu.mem_unmap(p, PAGE));
    CU(cu.mem_unmap(p + PAGE, PAGE));
    CU(cu.mem_get_info(&after, &total));
    CHECK(before == after);
    GIVES(TN__CU_INVALID_VALUE, cu.memset_d8_async(p, 0, 4, NULL));
    REPORTS("there is no memory behind the address");
    CU(cu.mem_address_free(p, (size_t)64 << 30));
    GIVES(TN__CU_INVALID_VALUE, cu.mem_create(&m[0], PAGE + 1, &pages, 0));
    GIVES(TN__CU_OUT_OF_MEMORY, cu.mem_create(&m[0], (size_t)64 << 30, &pages, 0));
}

static void addresses_and_memory(void **state)
{
    (void)state;
    IN_CHILD(addresses, "TENON_FAKE_GPUS=1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_allocated),     cmocka_unit_test(sanitizers_see_the_end),
        cmocka_unit_test(copies_are_checked),      cmocka_unit_test(peers_may_exchange),
        cmocka_unit_test(pinned_memory_is_shared), cmocka_unit_test(addresses_and_memory),
    };
    return kit_open(true) || cmocka_run_group_tests(tests, NULL, NULL);
}
