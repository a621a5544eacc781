/* What calls of the driver give, right and wrong ones: a table that the fake driver and NVIDIA's are both held against (suite
 * cuda). No row asks for what a driver may do as it likes (handles that are no more), and none breaks the context but the last
 * body. */
#include "fake/driver/helpers.h"
#include <stdlib.h>

typedef struct row {
    const char *call;
    tn__cu_result got, wanted;
} row;

static int wrong;

static void judge(const row *rows, int n)
{
    for (const row *r = rows; r < rows + n; r++)
        if (r->got != r->wanted) {
            fprintf(stderr, "%s gives %u, not %u\n", r->call, r->got, r->wanted);
            wrong++;
        }
}

/* The calls are made in the order of the rows. */
#define ROW(wanted, call) judge(&(const row){#call, (call), (wanted)}, 1)

enum { N = 1024, BYTES = 4 * N, NO_DEVICE = 1000 };

static void before_and_after_init(void)
{
    int n;
    tn__cu_device d;
    tn__cu_ptr p;
    tn__cu_context c = NULL;
    unsigned flags;
    const char *text;
    ROW(TN__CU_NOT_INITIALIZED, cu.device_get_count(&n));
    ROW(TN__CU_NOT_INITIALIZED, cu.mem_alloc(&p, 4));
    ROW(TN__CU_NOT_INITIALIZED, cu.ctx_synchronize());
    ROW(TN__CU_INVALID_VALUE, cu.init(1));
    kit_start();
    ROW(TN__CU_SUCCESS, cu.init(0)); /* again */
    ROW(TN__CU_INVALID_VALUE, cu.device_get_count(NULL));
    ROW(TN__CU_INVALID_DEVICE, cu.device_get(&d, -1));
    ROW(TN__CU_INVALID_DEVICE, cu.device_get(&d, NO_DEVICE));
    ROW(TN__CU_INVALID_DEVICE, cu.primary_ctx_retain(&c, NO_DEVICE));
    ROW(TN__CU_SUCCESS, cu.primary_ctx_get_state(0, &flags, &n));
    CHECK(n == 1);
    ROW(TN__CU_SUCCESS, cu.ctx_set_current(NULL));
    ROW(TN__CU_SUCCESS, cu.ctx_get_current(&c));
    CHECK(!c);
    ROW(TN__CU_INVALID_CONTEXT, cu.mem_alloc(&p, 4));
    ROW(TN__CU_INVALID_CONTEXT, cu.ctx_synchronize());
    ROW(TN__CU_SUCCESS, cu.get_error_name(TN__CU_NOT_READY, &text));
    CHECK(!strcmp(text, "CUDA_ERROR_NOT_READY"));
    ROW(TN__CU_INVALID_VALUE, cu.get_error_name((tn__cu_result)123456, &text));
    CHECK(!wrong);
}

static void memory(void)
{
    kit_start();
    tn__cu_ptr p, d;
    void *host;
    static char own[3 * 4096];
    size_t unused, total;
    ROW(TN__CU_INVALID_VALUE, cu.mem_alloc(&p, 0));
    ROW(TN__CU_INVALID_VALUE, cu.mem_alloc(NULL, 4));
    ROW(TN__CU_OUT_OF_MEMORY, cu.mem_alloc(&p, (size_t)1 << 50));
    ROW(TN__CU_SUCCESS, cu.mem_free(0));
    ROW(TN__CU_SUCCESS, cu.mem_get_info(&unused, &total));
    CHECK(unused <= total);
    p = kit_memory(BYTES);
    CHECK(p % 256 == 0);
    ROW(TN__CU_SUCCESS, cu.memcpy_htod_async(p, own, 0, NULL));
    ROW(TN__CU_SUCCESS, cu.memset_d8_async(p, 1, BYTES, NULL));
    ROW(TN__CU_SUCCESS, cu.memcpy_dtoh_async(own, p, BYTES, NULL));
    CHECK(own[0] == 1 && own[BYTES - 1] == 1); /* pageable: there when the call returns */
    ROW(TN__CU_SUCCESS, cu.mem_free(p));
    ROW(TN__CU_INVALID_VALUE, cu.mem_free(p));
    ROW(TN__CU_INVALID_VALUE, cu.mem_host_alloc(&host, 4, 64));
    ROW(TN__CU_SUCCESS, cu.mem_host_alloc(&host, 4, TN__CU_MEMHOSTALLOC_PORTABLE));
    ROW(TN__CU_SUCCESS, cu.mem_host_get_device_pointer(&d, host, 0));
    CHECK(d == (tn__cu_ptr)(uintptr_t)host);
    ROW(TN__CU_SUCCESS, cu.mem_free_host(host));
    ROW(TN__CU_HOST_MEMORY_NOT_REGISTERED, cu.mem_host_unregister(own));
    char *page = own + (4096 - (uintptr_t)own % 4096) % 4096;
    ROW(TN__CU_SUCCESS, cu.mem_host_register(page, 4096, 0));
    ROW(TN__CU_HOST_MEMORY_ALREADY_REGISTERED, cu.mem_host_register(page, 4096, 0));
    ROW(TN__CU_SUCCESS, cu.mem_host_unregister(page));
    CHECK(!wrong);
}

static void streams_and_events(void)
{
    kit_start();
    int least, greatest;
    tn__cu_stream s = kit_stream(), t;
    tn__cu_event plain = kit_event(), start, end;
    float ms;
    const tn__cu_ptr p = kit_memory(BYTES);
    ROW(TN__CU_SUCCESS, cu.ctx_get_stream_priority_range(&least, &greatest));
    CHECK(greatest <= least);
    ROW(TN__CU_INVALID_VALUE, cu.stream_create_with_priority(&t, 2, 0));
    ROW(TN__CU_SUCCESS, cu.stream_create_with_priority(&t, 0, greatest - 100)); /* clamped */
    ROW(TN__CU_SUCCESS, cu.stream_query(s));
    ROW(TN__CU_INVALID_VALUE, cu.event_create(&start, 64));
    CU(cu.event_create(&start, 0));
    CU(cu.event_create(&end, TN__CU_EVENT_BLOCKING_SYNC));
    ROW(TN__CU_SUCCESS, cu.event_query(plain)); /* never recorded */
    ROW(TN__CU_SUCCESS, cu.event_synchronize(plain));
    ROW(TN__CU_SUCCESS, cu.stream_wait_event(s, plain, 0));
    ROW(TN__CU_INVALID_HANDLE, cu.event_elapsed_time(&ms, start, end));
    CU(cu.event_record(start, s));
    int32_t *gate = kit_hold(s);
    CU(cu.event_record(end, s));
    CU(cu.event_record(plain, s));
    ROW(TN__CU_NOT_READY, cu.stream_query(s));
    ROW(TN__CU_NOT_READY, cu.event_query(end));
    ROW(TN__CU_NOT_READY, cu.event_elapsed_time(&ms, start, end));
    kit_go(gate);
    ROW(TN__CU_SUCCESS, cu.event_synchronize(plain));
    ROW(TN__CU_SUCCESS, cu.event_elapsed_time(&ms, start, end));
    ROW(TN__CU_INVALID_HANDLE, cu.event_elapsed_time(&ms, start, plain)); /* no timing */
    CU(kit_fill(p, 3, N, s));
    ROW(TN__CU_SUCCESS, cu.stream_destroy(s)); /* what is queued still runs */
    ROW(TN__CU_SUCCESS, cu.event_destroy(end));
    kit_expect(p, 3, N);
    CHECK(!wrong);
}

static void launches(void)
{
    kit_start();
    tn__cu_module m;
    tn__cu_function f;
    const tn__cu_ptr p = kit_memory(BYTES);
    CU(kit_module(&m));
    ROW(TN__CU_NOT_FOUND, cu.module_get_function(&f, m, "nobody"));
    ROW(TN__CU_SUCCESS, cu.module_get_function(&f, m, "fill"));
    float value = 2;
    int64_t n = N;
    void *args[] = {(void *)(uintptr_t)&p, &value, &n};
    ROW(TN__CU_INVALID_VALUE, cu.launch_kernel(f, 0, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
    ROW(TN__CU_INVALID_VALUE, cu.launch_kernel(f, 1, 1, 1, 0, 1, 1, 0, NULL, args, NULL));
    ROW(TN__CU_INVALID_VALUE, cu.launch_kernel(f, 1, 1, 1, 1025, 1, 1, 0, NULL, args, NULL));
    ROW(TN__CU_INVALID_VALUE, cu.launch_kernel(f, 1, 65536, 1, 1, 1, 1, 0, NULL, args, NULL));
    ROW(TN__CU_SUCCESS, cu.launch_kernel(f, 1, 1, 1, 1024, 1, 1, 0, NULL, args, NULL));
    kit_expect(p, 2, N);
    ROW(TN__CU_SUCCESS, cu.module_unload(m));
    CHECK(!wrong);
}

/* An address that is nobody's: the launch is taken, the device is lost when its turn comes, and each call says so. */
static void illegal_address(void)
{
    kit_start();
    tn__cu_ptr p;
    ROW(TN__CU_SUCCESS, kit_fill((tn__cu_ptr)64, 1, N, NULL));
    ROW(TN__CU_ILLEGAL_ADDRESS, cu.ctx_synchronize());
    ROW(TN__CU_ILLEGAL_ADDRESS, cu.ctx_synchronize());
    ROW(TN__CU_ILLEGAL_ADDRESS, cu.mem_alloc(&p, 4));
    ROW(TN__CU_ILLEGAL_ADDRESS, cu.stream_synchronize(NULL));
    CHECK(!wrong);
}

static void codes(void **state)
{
    (void)state;
    EITHER(before_and_after_init, 1);
    EITHER(memory, 1);
    EITHER(streams_and_events, 1);
    EITHER(launches, 1);
    EITHER(illegal_address, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(codes)};
    return kit_open(true) || cmocka_run_group_tests(tests, NULL, NULL);
}
