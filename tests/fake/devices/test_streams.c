/* Streams and events on fake GPUs, whose driver reports every access that no wait orders. */
#include "fake/own_process_gpu.h"
#include "backend/cuda/cuda.h"
#include <pthread.h>

enum { BYTES = 1 << 20 };

static tn__cu_ptr memory_of(tn_device d)
{
    tn__cu_ptr p = 0;
    tn__gpu_device *dev = tn__gpu_use(d);
    assert_non_null(dev);
    OK(tn__cuda_check(dev, tn__cu.mem_alloc(&p, BYTES), "mem_alloc"));
    return p;
}

static void *pinned(void)
{
    void *p = NULL;
    OK(tn__cuda_check(tn__gpu_use(TN_CUDA(0)), tn__cu.mem_host_alloc(&p, BYTES, 0), "mem_host_alloc"));
    return p;
}

/* Sets memory on the current stream. */
static tn_status fill(tn__cu_ptr p, unsigned char value)
{
    tn__gpu_device *dev = tn__gpu_use(TN_CUDA(0));
    tn__cu_result r = tn__cu.memset_d8_async(p, value, BYTES, tn__gpu_current(dev)->handle);
    return tn__gpu_launched(dev, tn__gpu_current(dev), tn__cuda_result(r), "fill");
}

static tn_status fetch(void *to, tn__cu_ptr p)
{
    tn__gpu_device *dev = tn__gpu_use(TN_CUDA(0));
    return tn__cuda_check(dev, tn__cu.memcpy_dtoh_async(to, p, BYTES, tn__gpu_current(dev)->handle), "fetch");
}

static void a_stream_waits_for_another(void **state)
{
    (void)state;
    tn_stream *a = tn_cuda_stream_new(TN_CUDA(0), 0), *b = tn_cuda_stream_new(TN_CUDA(0), 0);
    tn__cu_ptr p = memory_of(TN_CUDA(0));
    unsigned char *host = pinned();
    for (int round = 0; round < 20; round++) {
        OK(tn_cuda_set_stream(a));
        OK(tn_stream_wait_stream(a, b)); /* the copy of the round before */
        OK(fill(p, (unsigned char)round));
        OK(tn_cuda_set_stream(b));
        OK(tn_stream_wait_stream(b, a));
        OK(fetch(host, p));
        OK(tn_stream_synchronize(b));
        assert_int_equal(host[0], round);
        assert_int_equal(host[BYTES - 1], round);
    }
    assert_true(tn_stream_query(a) && tn_stream_query(b));
    tn_stream_release(a);
    tn_stream_release(b);
}

static void events_order_too(void **state)
{
    (void)state;
    tn_stream *a = tn_cuda_stream_new(TN_CUDA(0), 0), *b = tn_cuda_default_stream(TN_CUDA(0));
    tn__cu_ptr p = memory_of(TN_CUDA(0));
    unsigned char *host = pinned();
    OK(tn_cuda_set_stream(a));
    OK(fill(p, 7));
    tn_event *e = tn_stream_record_event(a);
    assert_non_null(e);
    OK(tn_stream_wait_event(b, e));
    OK(tn_cuda_set_stream(b));
    OK(fetch(host, p));
    OK(tn_stream_synchronize(b));
    assert_int_equal(host[BYTES / 2], 7);
    assert_true(tn_event_query(e));
    tn_event_release(e);
    tn_stream_release(a);
    tn_stream_release(b);
}

/* What the waits above are for: without one, the fake GPU reports it, every time. */
static void a_missing_wait_is_found(void **state)
{
    (void)state;
    tn_stream *a = tn_cuda_stream_new(TN_CUDA(0), 0), *b = tn_cuda_stream_new(TN_CUDA(0), 0);
    tn__cu_ptr p = memory_of(TN_CUDA(0));
    void *host = pinned();
    OK(tn_cuda_set_stream(a));
    OK(fill(p, 1));
    OK(tn_cuda_set_stream(b));
    tn_status e = fetch(host, p);
    if (!e)
        e = tn_stream_synchronize(b);
    assert_int_equal(e, TN_EDEVICE);
    print_message("%s\n", tn_error_message());
    tn_error_clear();
    tn_stream_release(a);
    tn_stream_release(b);
}

/* Both calls are named, with their places; where it is only warned of, the program goes on. */
static void both_calls_are_named(void **state)
{
    (void)state;
    char first[128], second[128];
    tn_scope *scope = tn_scope_open();
    tn_stream *a = tn_cuda_stream_new(TN_CUDA(0), 0), *b = tn_cuda_stream_new(TN_CUDA(0), 0);
    OK(tn_cuda_set_stream(a));
    tn_tensor *x = tn_zeros(TN_SHAPE(4), .device = TN_CUDA(0)), *y = tn_add(x, 1);
    snprintf(first, sizeof first, "(add at %s:%d)", __FILE__, __LINE__ - 1);
    OK(tn_cuda_set_stream(b));
    const tn_tensor *z = tn_mul(y, 2);
    snprintf(second, sizeof second, "(mul at %s:%d)", __FILE__, __LINE__ - 1);
    uint64_t n[16];
    OK((tn_status)tn__cu.fake_counters(-1, n));
    const bool warns = !strcmp(getenv("TENON_FAKE_GPU_ORDER"), "warn");
    assert_int_equal(n[TN__FAKE_WARNINGS], warns);
    assert_true(warns ? z != NULL : !z);
    if (!warns) {
        assert_non_null(strstr(tn_error_message(), first));
        assert_non_null(strstr(tn_error_message(), second));
        tn_error_clear();
    }
    tn_stream_release(a);
    tn_stream_release(b);
    tn_scope_close(scope);
    SILENT();
}

#ifdef TENON_TEST_WAITS
static void dropped(const char *name)
{
    tn__drop_wait(name);
    tn_stream *a = tn_cuda_stream_new(TN_CUDA(0), 0), *b = tn_cuda_stream_new(TN_CUDA(0), 0);
    tn__cu_ptr p = memory_of(TN_CUDA(0));
    void *host = pinned();
    OK(tn_cuda_set_stream(a));
    OK(fill(p, 1));
    OK(tn_cuda_set_stream(b));
    OK(tn_stream_wait_stream(b, a));
    assert_int_equal(tn__waits_left_out(), 1);
    tn_status e = fetch(host, p);
    if (!e)
        e = tn_stream_synchronize(b);
    assert_int_equal(e, TN_EDEVICE);
    assert_non_null(strstr(tn_error_message(), "nothing orders"));
    tn_error_clear();
    tn_stream_release(a);
    tn_stream_release(b);
}

static void without_the_record(void **state)
{
    (void)state;
    dropped("stream_wait_record");
}

static void without_the_wait(void **state)
{
    (void)state;
    dropped("stream_wait");
}
#endif

/* ---- which stream is current ---- */

static void *another_thread(void *arg)
{
    tn_stream *s = arg, *now = tn_cuda_current_stream(TN_CUDA(0));
    assert_int_equal(tn_stream_id(now), 0); /* what other threads chose is their business */
    tn_stream_release(now);
    OK(tn_cuda_set_stream(s));
    now = tn_cuda_current_stream(TN_CUDA(0));
    assert_ptr_equal(now, s);
    tn_stream_release(now);
    return NULL; /* the end of the thread gives its reference back */
}

static void current_streams_are_each_threads_own(void **state)
{
    (void)state;
    tn_stream *s = tn_cuda_stream_new(TN_CUDA(0), 0), *t = tn_cuda_stream_new(TN_CUDA(1), 0);
    OK(tn_cuda_set_stream(t));
    assert_int_equal(tn_cuda_current_device(), 1); /* as in PyTorch, the stream's device becomes the current one */
    OK(tn_cuda_set_stream(s));
    assert_int_equal(tn_cuda_current_device(), 0);
    tn_stream *now = tn_cuda_current_stream(TN_CUDA(1));
    assert_ptr_equal(now, t);
    tn_stream_release(now);
    pthread_t thread;
    tn_stream *other = tn_cuda_stream_new(TN_CUDA(0), 0);
    assert_int_equal(pthread_create(&thread, NULL, another_thread, other), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&other->refs), 1);
    tn_stream_release(other);
    now = tn_cuda_current_stream(TN_CUDA(0));
    assert_ptr_equal(now, s);
    tn_stream_release(now);
    assert_int_equal(atomic_load(&s->refs), 2);
    for (int32_t i = 0; i < 2; i++) {
        now = tn_cuda_default_stream(TN_CUDA(i));
        OK(tn_cuda_set_stream(now));
        tn_stream_release(now);
    }
    assert_int_equal(atomic_load(&s->refs), 1);
    tn_stream_release(s);
    tn_stream_release(t);
}

static void guards_bring_back(void **state)
{
    (void)state;
    tn_stream *s = tn_cuda_stream_new(TN_CUDA(1), 0);
    tn_stream_guard outer = tn_stream_enter(s);
    assert_non_null(outer.before);
    assert_int_equal(tn_cuda_current_device(), 1);
    tn_stream *d = tn_cuda_default_stream(TN_CUDA(0));
    tn_stream_guard inner = tn_stream_enter(d);
    assert_int_equal(tn_cuda_current_device(), 0);
    tn_stream_leave(inner);
    assert_int_equal(tn_cuda_current_device(), 1);
    tn_stream_leave(outer);
    assert_int_equal(tn_cuda_current_device(), 0);
    tn_stream *now = tn_cuda_current_stream(TN_CUDA(1));
    assert_int_equal(tn_stream_id(now), 0);
    tn_stream_release(now);
    tn_stream_guard none = tn_stream_enter(NULL);
    assert_null(none.before);
    assert_int_equal(tn_error_code(), TN_EINVAL);
    tn_error_clear();
    tn_stream_leave(none);
    assert_int_equal(atomic_load(&s->refs), 1);
    tn_stream_release(d);
    tn_stream_release(s);
}

static void streams_say_what_they_are(void **state)
{
    (void)state;
    tn_stream *d = tn_cuda_default_stream(TN_CUDA(1)), *s = tn_cuda_stream_new(TN_CUDA(1), -1);
    tn_stream *low = tn_cuda_stream_new(TN_CUDA(1), 100);
    assert_int_equal(tn_stream_id(d), 0);
    assert_null(tn_stream_handle(d));
    assert_int_equal(tn_stream_priority(d), 0);
    assert_true(tn_stream_id(s) > 0 && tn_stream_id(s) != tn_stream_id(low));
    assert_non_null(tn_stream_handle(s));
    assert_int_equal(tn_stream_priority(s), -1);
    assert_int_equal(tn_stream_priority(low), 0);
    assert_true(tn_device_equal(tn_stream_device(s), TN_CUDA(1)));
    tn_stream_release(low);
    tn_stream_release(s);
    tn_stream_release(d);
    FAILS_STATUS(tn_stream_synchronize(NULL), TN_EINVAL, "tn_stream_synchronize: an operand is NULL");
    FAILS_STATUS(tn_cuda_set_stream(NULL), TN_EINVAL, "tn_cuda_set_stream");
    FAILS(tn_cuda_stream_new(TN_CUDA(5), 0), TN_EDEVICE, "invalid device ordinal");
    FAILS(tn_cuda_stream_new(TN_CPU, 0), TN_EVALUE, "Expected a cuda device, but got: cpu");
    tn_stream_release(NULL);
    assert_null(tn_stream_retain(NULL));
}

/* Memory that another stream reads is not given to the next tensor before that is done. */
static void recorded_memory_is_kept(void **state)
{
    (void)state;
    enum { N = BYTES / 4 };
    tn_stream *s = tn_cuda_stream_new(TN_CUDA(0), 0), *d = tn_cuda_default_stream(TN_CUDA(0));
    void *host = pinned();
    for (int i = 0; i < 50; i++) {
        tn_scope *scope = tn_scope_open();
        tn_tensor *x = MADE(tn_cuda(MADE(tn_ones(TN_SHAPE(N))), 0));
        OK(tn_stream_wait_stream(s, d));
        OK(tn_stream_synchronize(s)); /* the copy of the round before */
        OK(tn_cuda_set_stream(s));
        OK(fetch(host, (tn__cu_ptr)(uintptr_t)tn__tensor_data(x)));
        OK(tn_tensor_record_stream(x, s));
        OK(tn_cuda_set_stream(d));
        tn_scope_close(scope); /* x goes while s may still read it */
    }
    OK(tn_stream_synchronize(s));
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(2)));
    FAILS_STATUS(tn_tensor_record_stream(x, s), TN_EDEVICE, "record_stream: only memory of a GPU and pinned memory");
    FAILS_STATUS(tn_tensor_record_stream(NULL, s), TN_EINVAL, "tn_tensor_record_stream");
    tn_scope_close(scope);
    tn_stream_release(s);
    tn_stream_release(d);
}

/* ---- events ---- */

static void events_time(void **state)
{
    (void)state;
    double ms = -1;
    tn_event *a = tn_event_new(TN_EVENT_TIMING), *b = tn_event_new(TN_EVENT_TIMING), *plain = tn_event_new(0);
    tn__cu_ptr p = memory_of(TN_CUDA(0));
    assert_true(tn_event_query(a));
    OK(tn_event_synchronize(a));
    FAILS_STATUS(tn_event_elapsed_time(a, b, &ms), TN_EVALUE,
                 "Both events must be recorded before calculating elapsed time.");
    OK(tn_event_record(a, NULL));
    for (int i = 0; i < 10; i++)
        OK(fill(p, 3));
    OK(tn_event_record(b, NULL));
    OK(tn_event_synchronize(b));
    OK(tn_event_elapsed_time(a, b, &ms));
    assert_true(ms > 0 && ms < 60000);
    FAILS_STATUS(tn_event_elapsed_time(a, plain, &ms), TN_EVALUE,
                 "Both events must be created with argument 'enable_timing=True'.");
    tn_stream *s = tn_cuda_stream_new(TN_CUDA(1), 0);
    FAILS_STATUS(tn_event_record(a, s), TN_EDEVICE, "Event device 0 does not match recording stream's device 1.");
    FAILS_STATUS(tn_event_record(NULL, s), TN_EINVAL, "tn_event_record");
    tn_stream_release(s);
    assert_ptr_equal(tn_event_retain(a), a);
    tn_event_release(a);
    tn_event_release(a);
    tn_event_release(b);
    tn_event_release(plain);
    tn_event_release(NULL);
}

static void waits_of_the_host_are_counted(void **state)
{
    (void)state;
    tn_stream *s = tn_cuda_stream_new(TN_CUDA(0), 0), *t = tn_cuda_stream_new(TN_CUDA(0), 0);
    OK(tn_synchronize(TN_CUDA(0)));
    int64_t before = atomic_load(&tn__cuda_backend.ledgers[0].synchronizations);
    OK(tn_stream_wait_stream(s, t));
    tn_event *e = tn_stream_record_event(t);
    OK(tn_stream_wait_event(s, e));
    assert_int_equal(atomic_load(&tn__cuda_backend.ledgers[0].synchronizations), before);
    OK(tn_stream_synchronize(s));
    OK(tn_event_synchronize(e));
    OK(tn_synchronize(TN_CUDA(0)));
    assert_int_equal(atomic_load(&tn__cuda_backend.ledgers[0].synchronizations), before + 3);
    tn_event_release(e);
    tn_stream_release(s);
    tn_stream_release(t);
}

/* ---- reset ---- */

static void reset_voids_streams_and_events(void **state)
{
    (void)state;
    tn_stream *s = tn_cuda_stream_new(TN_CUDA(0), 0), *kept = tn_cuda_stream_new(TN_CUDA(1), 0);
    tn_stream *d = tn_cuda_default_stream(TN_CUDA(0));
    OK(tn_cuda_set_stream(s));
    tn_event *e = tn_stream_record_event(s), *later = tn_event_new(0);
    OK(tn_cuda_reset(TN_CUDA(0)));
    FAILS_STATUS(tn_stream_synchronize(s), TN_EDEVICE, "is void: tn_cuda_reset took its device's context away");
    FAILS_STATUS(tn_stream_wait_stream(d, s), TN_EDEVICE, "is void");
    FAILS_STATUS(tn_stream_wait_stream(s, d), TN_EDEVICE, "is void");
    FAILS_STATUS(tn_stream_wait_event(d, e), TN_EDEVICE, "an event of cuda:0 is void");
    FAILS_STATUS(tn_event_record(e, d), TN_EDEVICE, "is void");
    FAILS_STATUS(tn_event_record(later, s), TN_EDEVICE, "is void");
    FAILS_STATUS(tn_cuda_set_stream(s), TN_EDEVICE, "is void");
    assert_true(tn_event_query(e));
    tn_error_clear();
    tn_stream *now = tn_cuda_current_stream(TN_CUDA(0)); /* a thread whose stream is void is on the default one */
    assert_ptr_equal(now, d);
    tn_stream_release(now);
    OK(tn_event_record(later, d));
    OK(tn_event_synchronize(later));
    OK(tn_stream_synchronize(kept));
    tn_event_release(e);
    tn_event_release(later);
    tn_stream_release(s);
    tn_stream_release(d);
    tn_stream_release(kept);
    OK(tn_cuda_reset(TN_CUDA(0)));
    OK(tn_cuda_reset(TN_CUDA(0))); /* not used since: nothing to do */
}

static tn__cu_stream foreign_stream(tn_device d)
{
    tn__cu_stream s = NULL;
    assert_non_null(tn__gpu_use(d));
    assert_int_equal(tn__cu.stream_create_with_priority(&s, TN__CU_STREAM_NON_BLOCKING, 0), 0);
    return s;
}

static uint64_t streams_of(int device)
{
    uint64_t n[16] = {0};
    tn__cu.fake_counters(device, n);
    return n[TN__FAKE_STREAMS];
}

/* Another library's stream: one to queue on, to wait for, to be waited for; and it outlives ours. */
static void streams_of_others(void **state)
{
    (void)state;
    tn__cu_stream theirs = foreign_stream(TN_CUDA(1));
    const uint64_t there = streams_of(1);
    tn_stream *s = tn_cuda_stream_from_handle(theirs, TN_CUDA(1)), *own = tn_cuda_stream_new(TN_CUDA(1), 0);
    assert_non_null(s);
    assert_ptr_equal(tn_stream_handle(s), theirs);
    assert_int_equal(tn_stream_device(s).index, 1);
    assert_int_equal(tn_stream_priority(s), 0);
    tn_stream *again = tn_cuda_stream_from_handle(theirs, TN_CUDA(1));
    tn_stream *same = tn_cuda_stream_from_handle(tn_stream_handle(own), TN_CUDA(1));
    tn_stream *standard = tn_cuda_default_stream(TN_CUDA(1)), *null = tn_cuda_stream_from_handle(NULL, TN_CUDA(1));
    assert_ptr_equal(again, s);
    assert_ptr_equal(same, own);
    assert_ptr_equal(null, standard);
    FAILS(tn_cuda_stream_from_handle(theirs, TN_CUDA(2)), TN_EDEVICE, "invalid device ordinal");
    tn_scope *scope = tn_scope_open();
    tn_stream_guard guard = tn_stream_enter(s);
    tn_tensor *x = MADE(tn_add(MADE(tn_ones(TN_SHAPE(3), .device = TN_CUDA(1))), 1));
    tn_stream_leave(guard);
    OK(tn_stream_wait_stream(own, s));
    guard = tn_stream_enter(own);
    PRINTS(MADE(tn_cpu(MADE(tn_add(x, 1)))), "tensor([3., 3., 3.])");
    tn_stream_leave(guard);
    OK(tn_stream_synchronize(s));
    assert_true(tn_stream_query(s));
    tn_scope_close(scope);
    tn_stream *all[] = {s, again, same, standard, null, own};
    for (size_t i = 0; i < TN_COUNT(all); i++)
        tn_stream_release(all[i]);
    tn_empty_cache(TN_CUDA(1));
    assert_int_equal(streams_of(1), there); /* ours went, theirs did not */
    assert_non_null(tn__gpu_use(TN_CUDA(1)));
    assert_int_equal(tn__cu.stream_query(theirs), 0);
    assert_int_equal(tn__cu.stream_destroy(theirs), 0);
    SILENT();
}

/* Its owner destroyed it: memory that was made on it is not asked after by that handle any more. */
static void a_stream_that_its_owner_destroyed(void **state)
{
    (void)state;
    tn__cu_stream theirs = foreign_stream(TN_CUDA(0));
    tn_stream *s = tn_cuda_stream_from_handle(theirs, TN_CUDA(0));
    tn_stream_guard guard = tn_stream_enter(s);
    tn_release(MADE(tn_ones(TN_SHAPE(3), .device = TN_CUDA(0))));
    tn_stream_leave(guard);
    OK(tn_stream_synchronize(s));
    tn_stream_release(s);
    assert_int_equal(tn__cu.stream_destroy(theirs), 0);
    tn_scope *scope = tn_scope_open();
    PRINTS(MADE(tn_cpu(MADE(tn_ones(TN_SHAPE(3), .device = TN_CUDA(0))))), "tensor([1., 1., 1.])");
    OK(tn_synchronize(TN_CUDA(0)));
    tn_scope_close(scope);
    tn_empty_cache(TN_CUDA(0));
    assert_int_equal(tn_memory_stats(TN_CUDA(0)).reserved, 0);
    OK(tn_cuda_reset(TN_CUDA(0)));
    SILENT();
}

/* ---- how the host waits ---- */

static unsigned flags_of(int device)
{
    unsigned flags = 0;
    int active = 0;
    assert_int_equal(tn__cu.primary_ctx_get_state(device, &flags, &active), 0);
    assert_true(active);
    return flags;
}

static unsigned made_with;
static tn__cu_result (*make_event)(tn__cu_event *e, unsigned flags);

static tn__cu_result note_flags(tn__cu_event *e, unsigned flags)
{
    made_with = flags;
    return make_event(e, flags);
}

static void waits_are_chosen(void **state)
{
    (void)state;
    FAILS_STATUS(tn_cuda_set_wait("sleep"), TN_EVALUE, "'sleep' is none of auto, spin, yield and block");
    FAILS_STATUS(tn_cuda_set_wait(NULL), TN_EVALUE, "none of");
    OK(tn_cuda_set_wait("spin"));
    OK(tn_cuda_set_wait("block"));
    OK(tn_synchronize(TN_CUDA(0)));
    assert_int_equal(flags_of(0), TN__CU_CTX_SCHED_BLOCKING_SYNC);
    make_event = tn__cu.event_create;
    tn__cu.event_create = note_flags;
    tn_event *e = tn_event_new(TN_EVENT_TIMING);
    OK(tn_event_record(e, NULL));
    OK(tn_event_synchronize(e));
    assert_int_equal(made_with, TN__CU_EVENT_BLOCKING_SYNC);
    tn_event_release(e);
    FAILS_STATUS(tn_cuda_set_wait("spin"), TN_EINVAL, "cuda:0 is in use");
    OK(tn_synchronize(TN_CUDA(1)));
    assert_int_equal(flags_of(1), TN__CU_CTX_SCHED_BLOCKING_SYNC);
}

/* By the environment; and a context that somebody else made is left as it is. */
static void waits_by_the_environment(void **state)
{
    (void)state;
    tn__cu_context theirs;
    assert_int_equal(tn__gpu_count(TN_DEVICE_CUDA), 2);
    assert_int_equal(tn__cu.primary_ctx_retain(&theirs, 1), 0);
    OK(tn_synchronize(TN_CUDA(0)));
    OK(tn_synchronize(TN_CUDA(1)));
    assert_int_equal(flags_of(0), TN__CU_CTX_SCHED_YIELD);
    assert_int_equal(flags_of(1), TN__CU_CTX_SCHED_AUTO);
    tn__cu.primary_ctx_release(1);
}

static int checks;

static tn_status count_check(void)
{
    checks++;
    return TN_OK;
}

/* Where a program has a check, it is called whatever the way. */
static void every_way_waits(void **state)
{
    (void)state;
    tn_set_wait_check(count_check);
    OK(tn_cuda_set_wait(getenv("WAY")));
    tn_scope *scope = tn_scope_open();
    MADE(tn_ones(TN_SHAPE(3), .device = TN_CUDA(0)));
    OK(tn_synchronize(TN_CUDA(0)));
    assert_true(checks > 0);
    tn_scope_close(scope);
    tn_set_wait_check(NULL);
}

#define EACH_WAY(way) \
    { \
        "waits_" way, every_way_waits, false, \
        { \
            "TENON_FAKE_GPUS=1x64MiB", "TENON_FAKE_GPU_FAULTS=slowstream=300ms", "WAY=" way \
        } \
    }

int main(int argc, char **argv)
{
    static const alone tests[] = {
        ALONE(a_stream_waits_for_another, "TENON_FAKE_GPUS=1x64MiB"),
        ALONE(events_order_too, "TENON_FAKE_GPUS=1x64MiB"),
        ALONE(a_missing_wait_is_found, "TENON_FAKE_GPUS=1x64MiB"),
        ALONE(both_calls_are_named, "TENON_FAKE_GPUS=1x64MiB", "TENON_FAKE_GPU_ORDER=1"),
        /* the two kernels run whenever they will: ThreadSanitizer may see the race that this test makes */
        {"warned",
         both_calls_are_named,
         false,
         {"TENON_FAKE_GPUS=1x64MiB", "TENON_FAKE_GPU_ORDER=warn", "TSAN_OPTIONS=report_bugs=0:die_after_fork=0"}},
#ifdef TENON_TEST_WAITS
        ALONE(without_the_record, "TENON_FAKE_GPUS=1x64MiB"),
        ALONE(without_the_wait, "TENON_FAKE_GPUS=1x64MiB"),
#endif
        ALONE(current_streams_are_each_threads_own, "TENON_FAKE_GPUS=2x64MiB"),
        ALONE(guards_bring_back, "TENON_FAKE_GPUS=2x64MiB"),
        ALONE(streams_say_what_they_are, "TENON_FAKE_GPUS=2x64MiB"),
        ALONE(recorded_memory_is_kept, "TENON_FAKE_GPUS=1x64MiB"),
        ALONE(events_time, "TENON_FAKE_GPUS=2x64MiB"),
        ALONE(waits_of_the_host_are_counted, "TENON_FAKE_GPUS=1x64MiB"),
        ALONE(reset_voids_streams_and_events, "TENON_FAKE_GPUS=2x64MiB"),
        ALONE(streams_of_others, "TENON_FAKE_GPUS=2x64MiB"),
        ALONE(a_stream_that_its_owner_destroyed, "TENON_FAKE_GPUS=1x64MiB"),
        ALONE(waits_are_chosen, "TENON_FAKE_GPUS=2x64MiB"),
        ALONE(waits_by_the_environment, "TENON_FAKE_GPUS=2x64MiB", "TENON_CUDA_WAIT=yield"),
        EACH_WAY("spin"),
        EACH_WAY("yield"),
        EACH_WAY("block"),
        EACH_WAY("auto"),
    };
    return alone_main(tests, TN_COUNT(tests), argc, argv);
}
