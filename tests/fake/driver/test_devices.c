/* Fake GPUs: which there are, what they say of themselves, contexts, NVML, fork. The rules of CUDA_VISIBLE_DEVICES are
 * those of the driver and of torch.cuda. */
#include "fake/driver/helpers.h"
#include "core/variables.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- TENON_FAKE_GPUS ---- */

static int expected;
static size_t expected_bytes;

static void there_are_so_many(void)
{
    int n;
    size_t bytes;
    tn__cu_device d;
    if (!expected) {
        GIVES(TN__CU_NO_DEVICE, cu.init(0));
        GIVES(TN__CU_NOT_INITIALIZED, cu.device_get_count(&n));
        return;
    }
    CU(cu.init(0));
    CU(cu.device_get_count(&n));
    CHECK(n == expected);
    for (int i = 0; i < n; i++) {
        CU(cu.device_get(&d, i));
        CU(cu.device_total_mem(&bytes, d));
        CHECK(bytes == expected_bytes);
    }
    GIVES(TN__CU_INVALID_DEVICE, cu.device_get(&d, n));
    GIVES(TN__CU_INVALID_DEVICE, cu.device_get(&d, -1));
}

/* What the library tells its users of a value, by a reader of its own, is what fake GPUs make of it. */
static bool library_takes(const char *variable)
{
    char fault[400];
    return tn__variable_judge(tn__variable_named("TENON_FAKE_GPUS"), strchr(variable, '=') + 1, fault, sizeof fault);
}

static void counts_and_sizes(void **state)
{
    (void)state;
    const size_t mib = 1 << 20;
    static const struct {
        const char *variable;
        int n;
        size_t mib;
    } cases[] = {{"TENON_FAKE_GPUS=", 1, 4096},         {"TENON_FAKE_GPUS=4", 4, 4096},
                 {"TENON_FAKE_GPUS=2x4GiB", 2, 4096},   {"TENON_FAKE_GPUS=1x512MiB", 1, 512},
                 {"TENON_FAKE_GPUS=3x16MiB", 3, 16},    {"TENON_FAKE_GPUS=0", 0, 0},
                 {"TENON_FAKE_GPUS=16x8GiB", 16, 8192}, {"TENON_FAKE_GPUS=1x512m", 1, 512},
                 {"TENON_FAKE_GPUS=1x33554433", 1, 32}, {"TENON_FAKE_GPUS=1x65536KiB", 1, 64}};
    for (size_t i = 0; i < TN_COUNT(cases); i++) {
        expected = cases[i].n;
        expected_bytes = cases[i].mib * mib;
        assert_true(library_takes(cases[i].variable));
        IN_CHILD(there_are_so_many, cases[i].variable);
    }
}

static void is_refused(void)
{
    int n;
    GIVES(TN__CU_INVALID_VALUE, cu.init(0));
    REPORTS("Accepted: COUNT or COUNTxSIZE");
    GIVES(TN__CU_NOT_INITIALIZED, cu.device_get_count(&n));
    CHECK(nvml.init() != 0);
}

static void faults_are_refused(void)
{
    GIVES(TN__CU_INVALID_VALUE, cu.init(0));
    REPORTS("Accepted, separated by commas: oom@N");
}

/* More than a process can address: said, and the process has its address space back. */
static void there_is_no_room(void)
{
    for (int i = 0; i < 2; i++) {
        GIVES(TN__CU_OUT_OF_MEMORY, cu.init(0));
        REPORTS("no room in this process's address space for 64 GPUs of 1048576 MiB");
        void *large = mmap(NULL, (size_t)1 << 42, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        CHECK(large != MAP_FAILED && !munmap(large, (size_t)1 << 42));
    }
}

static void malformed_settings_are_named(void **state)
{
    (void)state;
    static const char *const gpus[] = {"x",
                                       "-1",
                                       "=2",
                                       "2x",
                                       "2x4",
                                       "2x4GB",
                                       "2x4GiBs",
                                       "2 x 4GiB",
                                       "2x1GB",
                                       "2x512MB",
                                       "2x16384kB",
                                       "2x+4GiB",
                                       "2x 4GiB",
                                       "65",
                                       "2x15MiB",
                                       "2x2000GiB",
                                       "2x99999999999999999999GiB"};
    static const char *const faults[] = {
        "oom@",    "oom@0",   "oom@x",     "foo",        "oom@1,",   ",oom@1",      "oom@1;oom@2",
        "peer=0",  "peer=0-", "peer=0-99", "slowcopy=1", "slowcopy", "slowcopy=1h", "delay=random",
        "delay=3", "lost@3:", "lost@3:x",  "lost@3:1:2", "oom@1 x",  "OOM@1",       "slowcopy=-1ms"};
    char variable[128];
#if !defined(__SANITIZE_THREAD__) /* which has no address to spare itself */
    IN_CHILD(there_is_no_room, "TENON_FAKE_GPUS=64x1024GiB");
#else
    (void)there_is_no_room;
#endif
    for (size_t i = 0; i < TN_COUNT(gpus); i++) {
        snprintf(variable, sizeof variable, "TENON_FAKE_GPUS=%s", gpus[i]);
        assert_false(library_takes(variable));
        IN_CHILD(is_refused, variable);
    }
    for (size_t i = 0; i < TN_COUNT(faults); i++) {
        snprintf(variable, sizeof variable, "TENON_FAKE_GPU_FAULTS=%s", faults[i]);
        IN_CHILD(faults_are_refused, variable);
    }
}

/* ---- CUDA_VISIBLE_DEVICES ---- */

static const int *wanted; /* physical numbers, -1 at the end */

static void physical_devices_are(void)
{
    int n = 0, k = 0;
    tn__cu_result r = cu.init(0);
    if (r)
        CHECK(r == TN__CU_NO_DEVICE);
    else
        CU(cu.device_get_count(&n));
    for (; k < n && wanted[k] >= 0; k++) {
        int bus;
        CU(cu.device_get_attribute(&bus, TN__CU_PCI_BUS_ID, k));
        CHECK(bus - 0x10 == wanted[k]);
    }
    CHECK(k == n && wanted[k] < 0);
    CHECK(!nvml.init()); /* which sees all */
    unsigned all;
    CHECK(!nvml.device_get_count(&all) && all == 5);
}

#define LIST(...) ((const int[]){__VA_ARGS__, -1})

static void sees(const char *value, const int *physical)
{
    char variable[256];
    snprintf(variable, sizeof variable, "CUDA_VISIBLE_DEVICES=%s", value);
    wanted = physical;
    IN_CHILD(physical_devices_are, "TENON_FAKE_GPUS=5", variable);
}

static void visible_devices_follow_the_driver(void **state)
{
    (void)state;
    wanted = LIST(0, 1, 2, 3, 4);
    IN_CHILD(physical_devices_are, "TENON_FAKE_GPUS=5");
    sees("0,3,2", LIST(0, 3, 2));
    sees("", (const int[]){-1});
    sees("1gpu2,2ampere", LIST(1, 2));
    sees(" 2, +3, -0, 4", LIST(2, 3, 0, 4));
    sees("0, 1, 2, -1, 3", LIST(0, 1, 2));
    sees("4,3,two,one", LIST(4, 3));
    sees("one,two,3", (const int[]){-1});
    sees("1,2,1", (const int[]){-1});
    sees("1,7,2", LIST(1));
    sees("1,7,7", (const int[]){-1});
    sees("7", (const int[]){-1});
    sees("1,,2", LIST(1));
    sees("99999999999999999999", (const int[]){-1});
    sees("MIG-1234", (const int[]){-1});
}

/* Made up, but the same for ever: users may write them down. */
static const char *const uuids[5] = {
    "GPU-afcd1d7b-39a8-40e2-815c-0289ec2d0a91", "GPU-ce56971c-de35-4897-ad8f-01dbe4140b1d",
    "GPU-ca8a33e2-72e3-436e-9ac3-89a30c3b0363", "GPU-00e0efad-d9a5-44bd-970d-3259e4e1cb63",
    "GPU-363695ef-b051-469e-a460-70befe52afae"};

static void uuids_are_these(void)
{
    CU(cu.init(0));
    CHECK(!nvml.init());
    for (unsigned i = 0; i < 5; i++) {
        tn__nvml_device d;
        tn__cu_uuid u;
        char text[64], *end = text + 4;
        CHECK(!nvml.device_get_handle_by_index(i, &d) && !nvml.device_get_uuid(d, text, sizeof text));
        CHECK(strcmp(text, uuids[i]) == 0);
        CU(cu.device_get_uuid(&u, (int)i)); /* the driver's are the same bytes */
        for (int k = 0; k < 16; k++) {
            end += *end == '-';
            const char digits[3] = {end[0], end[1], 0};
            CHECK((unsigned char)u.bytes[k] == strtoul(digits, NULL, 16));
            end += 2;
        }
        CHECK(nvml.device_get_uuid(d, text, 40) == TN__NVML_INSUFFICIENT_SIZE);
    }
}

static void uuids_select_devices(void **state)
{
    (void)state;
    IN_CHILD(uuids_are_these, "TENON_FAKE_GPUS=5");
    sees("GPU-afcd1d7b-39a8-40e2-815c-0289ec2d0a91", LIST(0));
    sees("GPU-ca,GPU-af", LIST(2, 0));
    sees("GPU-c", (const int[]){-1}); /* could be two */
    sees("GPU-36,GPU-c,GPU-0", LIST(4));
    sees("GPU-36,GPU-3636", (const int[]){-1}); /* named twice */
    sees("GPU-36,1,GPU-0", LIST(4));
    sees("GPU-36, GPU-0", LIST(4)); /* no blanks */
    sees("1,GPU-36", LIST(1));
    sees("GPU-ff", (const int[]){-1});
    sees("GPU-36x", (const int[]){-1});
}

/* ---- what devices say of themselves ---- */

static void facts(void)
{
    char text[64];
    int v, w;
    GIVES(TN__CU_NOT_INITIALIZED, cu.device_get_name(text, sizeof text, 0));
    GIVES(TN__CU_INVALID_VALUE, cu.init(1));
    CU(cu.init(0));
    CU(cu.init(0));
    CU(cu.driver_get_version(&v));
    CHECK(v == 13000);
    CU(cu.device_get_name(text, sizeof text, 1));
    CHECK(strcmp(text, "Tenon fake GPU") == 0);
    CU(cu.device_get_name(text, 6, 1));
    CHECK(strcmp(text, "Tenon") == 0);
    CU(cu.device_get_pci_bus_id(text, sizeof text, 1));
    CHECK(strcmp(text, "0000:11:00.0") == 0);
    static const struct {
        unsigned attribute;
        int value;
    } attributes[] = {{TN__CU_COMPUTE_CAPABILITY_MAJOR, 9},
                      {TN__CU_COMPUTE_CAPABILITY_MINOR, 0},
                      {TN__CU_MULTIPROCESSOR_COUNT, 4},
                      {TN__CU_WARP_SIZE, 32},
                      {TN__CU_MAX_THREADS_PER_BLOCK, 1024},
                      {TN__CU_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
                      {TN__CU_UNIFIED_ADDRESSING, 1},
                      {TN__CU_CAN_MAP_HOST_MEMORY, 1},
                      {TN__CU_INTEGRATED, 0},
                      {TN__CU_PCI_BUS_ID, 0x11}};
    for (size_t i = 0; i < TN_COUNT(attributes); i++) {
        CU(cu.device_get_attribute(&v, attributes[i].attribute, 1));
        CHECK(v == attributes[i].value);
    }
    GIVES(TN__CU_INVALID_VALUE, cu.device_get_attribute(&v, 9999, 1));
    GIVES(TN__CU_INVALID_DEVICE, cu.device_get_attribute(&v, TN__CU_WARP_SIZE, 2));
    CU(cu.device_can_access_peer(&v, 0, 1));
    CU(cu.device_can_access_peer(&w, 1, 1));
    CHECK(v == 1 && w == 0);
    const char *name, *string;
    CU(cu.get_error_name(TN__CU_ILLEGAL_ADDRESS, &name));
    CU(cu.get_error_string(TN__CU_OUT_OF_MEMORY, &string));
    CHECK(strcmp(name, "CUDA_ERROR_ILLEGAL_ADDRESS") == 0 && strcmp(string, "out of memory") == 0);
    GIVES(TN__CU_INVALID_VALUE, cu.get_error_name(12345, &name));
    CHECK(!name);
}

static void devices_describe_themselves(void **state)
{
    (void)state;
    IN_CHILD(facts, "TENON_FAKE_GPUS=2");
}

/* ---- contexts ---- */

static void context_rules(void)
{
    tn__cu_context c, d, current;
    tn__cu_ptr p;
    unsigned flags;
    int active;
    size_t unused, total;
    CU(cu.init(0));
    GIVES(TN__CU_INVALID_CONTEXT, cu.mem_alloc(&p, 4));
    GIVES(TN__CU_INVALID_CONTEXT, cu.ctx_synchronize());
    GIVES(TN__CU_INVALID_CONTEXT, cu.stream_synchronize(NULL));
    GIVES(TN__CU_INVALID_CONTEXT, cu.primary_ctx_release(0));
    CU(cu.primary_ctx_get_state(0, &flags, &active));
    CHECK(!active);
    CU(cu.primary_ctx_retain(&c, 0));
    CU(cu.primary_ctx_retain(&d, 0));
    CHECK(c == d);
    CU(cu.ctx_get_current(&current));
    CHECK(!current); /* retaining makes none current */
    CU(cu.ctx_set_current(c));
    CU(cu.ctx_get_current(&current));
    CHECK(current == c);
    CU(cu.mem_get_info(&unused, &total));
    CHECK(total == (size_t)64 << 20 && unused == (size_t)56 << 20); /* a context takes 8 MiB */
    CU(cu.primary_ctx_release(0));
    CU(cu.primary_ctx_get_state(0, &flags, &active));
    CHECK(active);
    p = kit_memory(4);
    CU(cu.primary_ctx_release(0));
    CU(cu.primary_ctx_get_state(0, &flags, &active));
    CHECK(!active);
    GIVES(TN__CU_CONTEXT_IS_DESTROYED, cu.mem_alloc(&p, 4));
    GIVES(TN__CU_CONTEXT_IS_DESTROYED, cu.ctx_set_current(c));
    GIVES(TN__CU_INVALID_CONTEXT, cu.ctx_set_current((tn__cu_context)(void *)&c));
    CHECK(kit_count(0, TN__FAKE_LIVE) == 0);
    CU(cu.ctx_set_current(NULL));
    GIVES(TN__CU_INVALID_CONTEXT, cu.mem_alloc(&p, 4));
}

static void reset_frees_everything(void)
{
    kit_start();
    size_t before, after, total;
    CU(cu.mem_get_info(&before, &total));
    tn__cu_stream s = kit_stream();
    tn__cu_event e = kit_event();
    tn__cu_ptr p = kit_memory(4096);
    CU(kit_spin(p, 1, 1024, s));
    for (int i = 0; i < 100; i++)
        CU(kit_fill(p, 1, 1024, s));
    CU(cu.event_record(e, s));
    CU(cu.primary_ctx_reset(0));
    for (int what = TN__FAKE_STREAMS; what <= TN__FAKE_MODULES; what++)
        CHECK(kit_count(0, what) == 0);
    CHECK(kit_count(0, TN__FAKE_LIVE) == 0);
    GIVES(TN__CU_CONTEXT_IS_DESTROYED, cu.ctx_synchronize());
    CU(cu.primary_ctx_retain(&kit_context[0], 0));
    GIVES(TN__CU_INVALID_HANDLE, cu.stream_synchronize(s));
    GIVES(TN__CU_INVALID_HANDLE, cu.event_query(e));
    GIVES(TN__CU_INVALID_VALUE, cu.mem_free(p));
    GIVES(TN__CU_INVALID_HANDLE, kit_fill(p, 1, 1024, NULL)); /* its module is gone too */
    CU(cu.mem_get_info(&after, &total));
    CHECK(before == after);
    kit_start();
    p = kit_memory(4096);
    CU(kit_fill(p, 7, 1024, NULL));
    kit_expect(p, 7, 1024);
}

static void *let_go(void *gate)
{
    usleep(50000);
    kit_go(gate);
    return NULL;
}

/* Also a copy through the host, which needs no access to what it reads. */
static void reset_lets_others_end(void)
{
    kit_start();
    pthread_t thread;
    tn__cu_ptr p = kit_memory(4096);
    CU(kit_fill(p, 5, 1024, NULL));
    CU(cu.ctx_synchronize());
    kit_use(1);
    tn__cu_ptr q = kit_memory(4096);
    int32_t *gate = kit_hold(NULL);
    CU(cu.memcpy_peer_async(q, kit_context[1], p, kit_context[0], 4096, NULL));
    CHECK(!pthread_create(&thread, NULL, let_go, gate));
    CU(cu.primary_ctx_reset(0));
    CHECK(!pthread_join(thread, NULL));
    kit_expect(q, 5, 1024);
}

static void *reset_first(void *unused)
{
    (void)unused;
    CU(cu.primary_ctx_reset(0));
    return NULL;
}

/* Once a reset has begun, what it will free is not there for anybody: work queued now could outlive it. */
static void reset_takes_its_memory_away(void)
{
    kit_start();
    pthread_t thread;
    unsigned flags;
    int active = 1;
    tn__cu_ptr p = kit_memory(4096);
    static float own[1024];
    float *host = kit_pinned(4096);
    CU(cu.mem_host_register(own, sizeof own, 0));
    kit_use(1);
    tn__cu_stream s = kit_stream();
    tn__cu_ptr q = kit_memory(4096);
    CU(kit_fill(q, 4, 1024, s));
    int32_t *gate = kit_hold(NULL); /* the reset waits for this */
    CHECK(!pthread_create(&thread, NULL, reset_first, NULL));
    while (active)
        CU(cu.primary_ctx_get_state(0, &flags, &active));
    GIVES(TN__CU_INVALID_VALUE, cu.memcpy_peer_async(q, kit_context[1], p, kit_context[0], 4096, s));
    GIVES(TN__CU_INVALID_VALUE, cu.memcpy_dtoh_async(host, q, 4096, s));
    CU(cu.memcpy_dtoh_async(own, q, sizeof own, s)); /* ours, before and after */
    kit_go(gate);
    CHECK(!pthread_join(thread, NULL));
    CU(cu.ctx_synchronize());
    CHECK(own[0] == 4 && own[1023] == 4);
}

static void contexts_come_and_go(void **state)
{
    (void)state;
    IN_CHILD(context_rules, "TENON_FAKE_GPUS=1x64MiB");
    IN_CHILD(reset_frees_everything, "TENON_FAKE_GPUS=2x64MiB");
    IN_CHILD(reset_lets_others_end, "TENON_FAKE_GPUS=2x64MiB");
    IN_CHILD(reset_takes_its_memory_away, "TENON_FAKE_GPUS=2x64MiB");
}

/* ---- NVML ---- */

static void management(void)
{
    unsigned n, v;
    CHECK(nvml.device_get_count(&n) == 1); /* not initialised */
    CHECK(!nvml.init() && !nvml.device_get_count(&n) && n == 2);
    tn__nvml_device d, bad = (tn__nvml_device)(void *)&n;
    tn__nvml_memory m;
    tn__nvml_pci pci;
    tn__nvml_utilization u;
    tn__nvml_process p[4];
    char text[512];
    CHECK(!nvml.device_get_handle_by_index(1, &d) && nvml.device_get_handle_by_index(2, &d) == 2);
    CHECK(!nvml.device_get_handle_by_index(1, &d));
    CHECK(nvml.device_get_memory_info(bad, &m) == 2);
    CHECK(!nvml.device_get_name(d, text, sizeof text) && strcmp(text, "Tenon fake GPU") == 0);
    CHECK(!nvml.device_get_pci_info(d, &pci) && strcmp(pci.bus_id, "00000000:11:00.0") == 0);
    CHECK(!nvml.device_get_memory_info(d, &m) && m.total == 64 << 20 && m.used == 0);
    n = 4;
    CHECK(!nvml.device_get_processes(d, &n, p) && n == 0);
    kit_start(); /* device 0 of the program is this one */
    kit_memory(1 << 20);
    CHECK(!nvml.device_get_memory_info(d, &m) && m.used == 9 << 20 && m.free == 55 << 20);
    n = 0;
    CHECK(nvml.device_get_processes(d, &n, NULL) == TN__NVML_INSUFFICIENT_SIZE && n == 1);
    n = 4;
    CHECK(!nvml.device_get_processes(d, &n, p) && n == 1 && p[0].pid == (unsigned)getpid() &&
          p[0].used_memory == 9 << 20);
    CHECK(!nvml.system_get_process_name(p[0].pid, text, sizeof text) && strstr(text, "test_driver_devices"));
    CHECK(!nvml.device_get_utilization(d, &u) && u.gpu == 0 && u.memory == 14);
    tn__cu_ptr memory = kit_memory(4096);
    CU(kit_spin(memory, 1, 1024, NULL));
    CU(cu.ctx_synchronize());
    CHECK(!nvml.device_get_utilization(d, &u) && u.gpu > 0 && u.gpu <= 100);
    int32_t *gate = kit_hold(NULL);
    do /* a kernel that runs all the time is all of it, long before it is done */
        CHECK(!nvml.device_get_utilization(d, &u) && u.gpu > 0);
    while (u.gpu < 100);
    kit_go(gate);
    CU(cu.ctx_synchronize());
    CHECK(!nvml.device_get_utilization(d, &u) && !nvml.device_get_utilization(d, &u) && u.gpu == 0);
    CHECK(!nvml.device_get_temperature(d, TN__NVML_TEMPERATURE_GPU, &v) && v > 0 && v < 100);
    CHECK(!nvml.device_get_power_usage(d, &v) && !nvml.device_get_power_limit(d, &n) && v < n);
    CHECK(nvml.device_get_fan_speed(d, &v) == TN__NVML_NOT_SUPPORTED);
    CHECK(!nvml.shutdown() && nvml.shutdown() == 1);
}

static void management_sees_this_process(void **state)
{
    (void)state;
    IN_CHILD(management, "TENON_FAKE_GPUS=2x64MiB", "CUDA_VISIBLE_DEVICES=1");
}

/* ---- fork ---- */

static void child_is_refused(void)
{
    kit_start();
    tn__cu_stream s = kit_stream();
    tn__cu_ptr p = kit_memory(4096);
    CU(kit_spin(p, 1, 1024, s)); /* the lock may be held by the stream's thread just now */
    pid_t child = fork();
    if (child == 0) {
        int n;
        char text[16];
        GIVES(TN__CU_NOT_INITIALIZED, cu.init(0));
        GIVES(TN__CU_NOT_INITIALIZED, cu.device_get_count(&n));
        GIVES(TN__CU_NOT_INITIALIZED, cu.mem_free(p));
        GIVES(TN__CU_NOT_INITIALIZED, cu.stream_synchronize(s));
        GIVES(TN__CU_NOT_INITIALIZED, cu.fake_block_taken(text, 1));
        GIVES(TN__CU_NOT_INITIALIZED, cu.fake_report(text, sizeof text));
        CHECK(nvml.init() == 1);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CU(cu.stream_synchronize(s));
    kit_expect(p, 1, 1024);
}

static void forked_children_are_refused(void **state)
{
    (void)state;
    IN_CHILD(child_is_refused, "TENON_FAKE_GPUS=1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_and_sizes),
        cmocka_unit_test(malformed_settings_are_named),
        cmocka_unit_test(visible_devices_follow_the_driver),
        cmocka_unit_test(uuids_select_devices),
        cmocka_unit_test(devices_describe_themselves),
        cmocka_unit_test(contexts_come_and_go),
        cmocka_unit_test(management_sees_this_process),
        cmocka_unit_test(forked_children_are_refused),
    };
    return kit_open(true) || cmocka_run_group_tests(tests, NULL, NULL);
}
