/* Fake GPUs: how missing synchronisation is told: the calls by name, errors or warnings; and what becomes of checks that have no
 * memory. */
#include "fake/driver/two_streams.h"
#include <stdlib.h>
#include <unistd.h>

/* ---- who called, and mere warnings ---- */

static const char *operation, *site; /* of the call in progress, as a library would know it */

static void where(const char **op, const char **at)
{
    *op = operation;
    *at = site;
}

static tn__cu_result called(const char *op, const char *at, tn__cu_ptr x, tn__cu_stream stream)
{
    operation = op;
    site = at;
    return kit_fill(x, 1, 0,
                    stream); /* of no elements: ThreadSanitizer would see the race that a warning lets through */
}

static void calls_are_named(void)
{
    start();
    CU(cu.fake_call_sites(where));
    CU(called("set", "prog.c:1", p, s));
    OUT_OF_ORDER(called("scale", "prog.c:2", p, t), "kernel 'fill' (scale at prog.c:2) on stream");
    GIVES(TN__CU_ILLEGAL_STATE, called(NULL, "prog.c:3", p, t));
    REPORTS("which kernel 'fill' (set at prog.c:1) on stream");
    OUT_OF_ORDER(called(NULL, "prog.c:3", p, t), "kernel 'fill' (prog.c:3) on stream");
    OUT_OF_ORDER(called("scale", NULL, p, t), "kernel 'fill' (scale) on stream");
    OUT_OF_ORDER(called(NULL, NULL, p, t), "kernel 'fill' on stream");
    float *host = kit_pinned(BYTES);
    site = "prog.c:4";
    CU(cu.memcpy_htod_async(q, host, BYTES, s));
    site = "prog.c:5";
    OUT_OF_ORDER(cu.fake_host_access(host, 4, 1), "the host (prog.c:5) writes 4 bytes");
    GIVES(TN__CU_ILLEGAL_STATE, cu.fake_host_access(host, 4, 1));
    REPORTS("which copy host to device (prog.c:4) on stream");
    CU(cu.fake_call_sites(NULL));
    OUT_OF_ORDER(cu.fake_host_access(host, 4, 1), "the host writes 4 bytes");
    CHECK(kit_count(-1, TN__FAKE_WARNINGS) == 0);
}

static FILE *said; /* by a child */

/* Nothing is refused; each pair of calls is said once, when it happens. */
static void only_warns(void)
{
    CHECK(dup2(fileno(said), STDERR_FILENO) >= 0);
    start();
    CU(cu.fake_call_sites(where));
    float *host = kit_pinned(BYTES);
    for (int i = 0; i < 3; i++) {
        CU(called("set", "prog.c:1", p, s));
        CU(called("scale", "prog.c:2", p, t));
        CU(called("set", "prog.c:3", p, s));
        CU(cu.stream_synchronize(s));
        CU(cu.stream_synchronize(t));
    }
    operation = NULL;
    site = "prog.c:4";
    CU(cu.memcpy_dtoh_async(host, q, BYTES, s));
    site = "prog.c:5";
    CU(cu.fake_host_access(host, 4, 0));
    CHECK(kit_count(-1, TN__FAKE_WARNINGS) == 7 && kit_count(-1, TN__FAKE_FAILED_CHECKS) == 0);
    CHECK(kit_count(-1, TN__FAKE_UNHEARD) == 0 && kit_count(0, TN__FAKE_LAUNCHES) == 9);
    GIVES(TN__CU_ILLEGAL_STATE, cu.fake_block_freed(at(p), 4)); /* other checks are as strict as ever */
}

/* What is in order is not warned of either; the count is said all the same. */
static void has_nothing_to_warn_of(void)
{
    CHECK(dup2(fileno(said), STDERR_FILENO) >= 0);
    start();
    CU(kit_fill(p, 1, N, s));
    CU(cu.event_record(e, s));
    CU(cu.stream_wait_event(t, e, 0));
    CU(kit_fill(p, 1, N, t));
}

static int times(const char *text, const char *part)
{
    int n = 0;
    while ((text = strstr(text, part))) {
        text++;
        n++;
    }
    return n;
}

static const char *what_it_said(void)
{
    static char text[8192];
    rewind(said);
    text[fread(text, 1, sizeof text - 1, said)] = '\0';
    assert_int_equal(ftruncate(fileno(said), 0), 0);
    rewind(said);
    return text;
}

static void warnings(void **state)
{
    (void)state;
    if (kit_real)
        skip();
    said = tmpfile();
    assert_non_null(said);
    IN_CHILD(only_warns, "TENON_FAKE_GPUS=1", "TENON_FAKE_GPU_ORDER=warn");
    const char *text = what_it_said();
    assert_int_equal(times(text, "tenon: fake GPUs: missing synchronisation: "), 3);
    assert_int_equal(times(text, ": kernel 'fill' (scale at prog.c:2) on stream "), 1);
    assert_int_equal(times(text, "which kernel 'fill' (set at prog.c:1) on stream "), 1);
    assert_int_equal(times(text, "which kernel 'fill' (scale at prog.c:2) on stream "), 1);
    assert_int_equal(times(text, "the host (prog.c:5) reads 4 bytes"), 1);
    assert_non_null(strstr(text, "\ntenon: fake GPUs: 7 missing synchronisations, between 3 pairs of calls\n"));
    IN_CHILD(has_nothing_to_warn_of, "TENON_FAKE_GPUS=1", "TENON_FAKE_GPU_ORDER=warn");
    assert_string_equal(what_it_said(), "tenon: fake GPUs: 0 missing synchronisations, between 0 pairs of calls\n");
    IN_CHILD(has_nothing_to_warn_of, "TENON_FAKE_GPUS=1");
    assert_string_equal(what_it_said(), "");
    fclose(said);
    IN_CHILD(calls_are_named, "TENON_FAKE_GPUS=1");
}

/* ---- no memory for what checks need: they find less, say so by a count, and never refuse what is right ---- */

static void uses_everything(void)
{
    tn__cu_ptr big = kit_memory(1 << 20);
    for (int i = 0; i < 3; i++) {
        tn__cu_stream u = kit_stream();
        CU(cu.fake_block_taken(at(big + 8192U * (unsigned)i), BYTES));
        CU(kit_fill(big + 8192U * (unsigned)i, 1, N, u));
        CU(cu.memset_d8_async(p, 0, 512, s));
        CU(cu.memset_d8_async(p + 1024, 0, 512, s));
        CU(cu.event_record(e, s));
        CU(cu.stream_wait_event(u, e, 0));
        CU(kit_add(big + 8192U * (unsigned)i, p, N, u));
        CU(cu.event_record(e, u));
        CU(cu.stream_wait_event(s, e, 0));
        CU(cu.fake_block_freed(at(big + 8192U * (unsigned)i), BYTES));
        CU(cu.fake_block_taken(at(big + 8192U * (unsigned)i), 512));
        CU(kit_add(p, big + 8192U * (unsigned)i, 128, s));
        CU(cu.fake_block_freed(at(big + 8192U * (unsigned)i), 512));
    }
    CU(cu.ctx_synchronize());
    CU(cu.mem_free(big));
}

static uint64_t needs; /* how often memory is asked for; in a child */

static void short_of_memory(void)
{
    start();
    uses_everything();
    CHECK(kit_count(-1, TN__FAKE_GAVE_UP) == 0);
    CU(cu.fake_set_faults("order"));
    uses_everything();
    needs = kit_count(-1, TN__FAKE_GAVE_UP);
    CHECK(needs > 5);
    CU(kit_fill(p, 1, 0, s));
    CU(kit_fill(p, 1, 0, t)); /* which nobody can tell any more */
    CHECK(kit_count(-1, TN__FAKE_FAILED_CHECKS) == 0);
}

static void short_once(void)
{
    char fault[32];
    start();
    snprintf(fault, sizeof fault, "order@%d", atoi(getenv("ONCE")));
    CU(cu.fake_set_faults(fault));
    uses_everything();
    uses_everything();
    CHECK(kit_count(-1, TN__FAKE_GAVE_UP) == 1 && kit_count(-1, TN__FAKE_FAILED_CHECKS) == 0);
}

static void giving_up(void **state)
{
    (void)state;
    IN_CHILD(short_of_memory, "TENON_FAKE_GPUS=1");
    for (int i = 1; i <= 24; i++) {
        char once[32];
        snprintf(once, sizeof once, "ONCE=%d", i);
        IN_CHILD(short_once, "TENON_FAKE_GPUS=1", once);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(warnings), cmocka_unit_test(giving_up)};
    return kit_open(true) || cmocka_run_group_tests(tests, NULL, NULL);
}
