/* Fake GPUs are as strict as hardware in how a kernel's items run: for each claim of docs/fake-gpus.md a kernel that breaks the
 * rule and is caught, and one that keeps it and is not. */
#include "fake/compiler/helpers.h"
#include "fakegpu/kernel.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Kernels run by what the environment says now. */
static void set_rules(const char *seed, const char *threads)
{
    setenv("TENON_FAKE_GPU_RACES", "0", 1);
    setenv("TENON_FAKE_GPU_SEED", seed, 1);
    setenv("TENON_FAKE_GPU_THREADS", threads, 1);
    fake_kernel_rules_read();
}

static fake_module *module;

static const char text[] =
    /* shuffles and barriers */
    "KERNEL_B(some_warps)(GLOBAL i32 *o, i32 warps)\n"
    "{\n"
    "    LOCAL_MEM(i32, s, 8);\n"
    "    i32 v = LOCAL_ID(0);\n"
    "    if (v < warps * WARP) {\n"
    "        for (int k = WARP / 2; k; k /= 2)\n"
    "            v += (i32)SHUFFLE_XOR_U32((u32)v, k);\n"
    "        if (LOCAL_ID(0) % WARP == 0)\n"
    "            s[LOCAL_ID(0) / WARP] = v;\n"
    "    }\n"
    "    BARRIER();\n"
    "    if (LOCAL_ID(0) < warps)\n"
    "        o[LOCAL_ID(0)] = s[LOCAL_ID(0)];\n"
    "}\n"
    "KERNEL_B(some_lanes)(GLOBAL i32 *o, i32 n)\n"
    "{\n"
    "    u32 v = 0;\n"
    "    if (LOCAL_ID(0) >= WARP && LOCAL_ID(0) < WARP + n)\n"
    "        v = SHUFFLE_XOR_U32(1, 1);\n"
    "    ATOMIC_ADD_I32(o, (i32)v);\n"
    "}\n"
    "KERNEL_B(two_shuffles)(GLOBAL i32 *o, i32 n)\n"
    "{\n"
    "    ATOMIC_ADD_I32(o, (i32)(LOCAL_ID(0) < n ? SHUFFLE_XOR_U32(1, 1) : SHUFFLE_XOR_U32(1, 2)));\n"
    "}\n"
    "KERNEL_B(shuffle_or_barrier)(GLOBAL i32 *o, i32 n)\n"
    "{\n"
    "    if (LOCAL_ID(0) < n)\n"
    "        ATOMIC_ADD_I32(o, (i32)SHUFFLE_XOR_U32(1, 1));\n"
    "    BARRIER();\n"
    "}\n"
    "KERNEL_B(reverse)(GLOBAL i32 *o, i32 barrier)\n"
    "{\n"
    "    LOCAL_MEM(i32, s, 128);\n"
    "    const int t = LOCAL_ID(0);\n"
    "    s[t] = t;\n"
    "    if (barrier)\n"
    "        BARRIER();\n"
    "    u32 v = SHUFFLE_XOR_U32(0, 1);\n" /* no other warp waits here */
    "    if (s[127 - t] != 127 - t)\n"
    "        ATOMIC_ADD_I32(o, (i32)(v + 1));\n"
    "}\n"
    /* order */
    "KERNEL(come)(GLOBAL i32 *next, GLOBAL i32 *turn) { turn[GLOBAL_ID(0)] = ATOMIC_ADD_I32(next, 1); }\n"
    "KERNEL_B(come_by_warps)(GLOBAL i32 *next, GLOBAL i32 *turn) { turn[GLOBAL_ID(0)] = ATOMIC_ADD_I32(next, 1); }\n"
    "KERNEL_B(count_1024)(GLOBAL i32 *next) { BARRIER(); ATOMIC_ADD_I32(next, 1); }\n"
    /* groups side by side */
    "KERNEL(meet)(GLOBAL i32 *here)\n"
    "{\n"
    "    ATOMIC_ADD_I32(here, 1);\n"
    "    while (ATOMIC_ADD_I32(here, 0) < NUM_GROUPS(0))\n"
    "        ;\n"
    "}\n"
    "KERNEL_B(sum)(GLOBAL const i32 *x, GLOBAL i32 *o)\n"
    "{\n"
    "    LOCAL_MEM(i32, s, 64);\n"
    "    s[LOCAL_ID(0)] = x[GLOBAL_ID(0)];\n"
    "    BARRIER();\n"
    "    for (int k = 32; k; k /= 2) {\n"
    "        if (LOCAL_ID(0) < k)\n"
    "            s[LOCAL_ID(0)] += s[LOCAL_ID(0) + k];\n"
    "        BARRIER();\n"
    "    }\n"
    "    if (LOCAL_ID(0) == 0)\n"
    "        o[GROUP_ID(0)] = s[0];\n"
    "}\n"
    "KERNEL_B(uneven)(GLOBAL i32 *o)\n"
    "{\n"
    "    if (GROUP_ID(0) % 16 == 7 && LOCAL_ID(0) == 3)\n"
    "        return;\n"
    "    BARRIER();\n"
    "}\n"
    "KERNEL(same_word)(GLOBAL i32 *here)\n"
    "{\n"
    "    ATOMIC_ADD_I32(here, 1);\n"
    "    while (ATOMIC_ADD_I32(here, 0) < NUM_GROUPS(0))\n"
    "        ;\n"
    "    here[1] = GROUP_ID(0);\n"
    "}\n";

static void ran_well(void)
{
    assert_string_equal(kit_report(), "");
    assert_int_equal(kit_error, TN__CU_SUCCESS);
}

static void failed_with(const char *why)
{
    assert_int_equal(kit_error, TN__CU_LAUNCH_FAILED);
    if (!strstr(kit_report(), why))
        fail_msg("'%s' is not in '%s'", why, kit_report());
}

/* ---- shuffles meet by warps, barriers by groups ---- */

static void shuffles_of_some_warps(void **state)
{
    (void)state;
    int32_t o[4] = {0}, *po = o, n = 3;
    KIT_RUN(module, "some_warps", 3, 128, &po, &n);
    ran_well();
    for (int w = 0; w < 3; w++)
        assert_int_equal(o[w], w * 32 * 32 + 31 * 16);
    assert_int_equal(o[3], 0);
}

static void shuffles_of_some_lanes(void **state)
{
    (void)state;
    int32_t o = 0, *po = &o, n = 17;
    KIT_RUN(module, "some_lanes", 2, 100, &po, &n);
    failed_with(
        "divergent shuffle in kernel 'some_lanes': 17 of 32 lanes of warp 1 of group (0, 0, 0) wait at a shuffle that "
        "the others never reach");
    KIT_RUN(module, "two_shuffles", 1, 64, &po, &n);
    failed_with(
        "divergent shuffle in kernel 'two_shuffles': lanes of warp 0 of group (0, 0, 0) wait at different shuffles");
    KIT_RUN(module, "shuffle_or_barrier", 1, 64, &po, &n);
    failed_with("divergent shuffle in kernel 'shuffle_or_barrier': 17 of 32 lanes of warp 0 of group (0, 0, 0)");
    n = 32; /* a whole warp may */
    o = 0;
    KIT_RUN(module, "some_lanes", 2, 100, &po, &n);
    KIT_RUN(module, "two_shuffles", 2, 100, &po, &n);
    KIT_RUN(module, "shuffle_or_barrier", 2, 100, &po, &n);
    ran_well();
    assert_int_equal(o, 2 * 32 + 2 * 100 + 2 * 32);
}

/* A shuffle lets no other warp come up: the missing barrier shows. */
static void shuffles_hide_no_missing_barrier(void **state)
{
    (void)state;
    int32_t wrong = 0, *po = &wrong, barrier = 0;
    KIT_RUN(module, "reverse", 2, 128, &po, &barrier);
    assert_true(wrong > 0);
    wrong = 0;
    barrier = 1;
    KIT_RUN(module, "reverse", 2, 128, &po, &barrier);
    ran_well();
    assert_int_equal(wrong, 0);
}

/* ---- the order ---- */

enum { GROUPS = 6, LOCAL = 96, ITEMS = GROUPS * LOCAL };

static const char *coming; /* a kernel that notes when its items run */
static int32_t turn[ITEMS];

/* On a thread that has launched nothing yet. */
static void *note_order(void *arg)
{
    int32_t next = 0, *pn = &next, *pt = turn;
    KIT_RUN(module, coming, GROUPS, LOCAL, &pn, &pt);
    ran_well();
    assert_int_equal(next, ITEMS);
    return arg;
}

static void note_order_of(const char *kernel, const char *seed, int32_t *to)
{
    pthread_t thread;
    set_rules(seed, "1");
    coming = kernel;
    assert_int_equal(pthread_create(&thread, NULL, note_order, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    memcpy(to, turn, sizeof turn);
    set_rules("", "1");
}

/* Each item has its turn once, and groups are one after another. */
static void is_an_order(const int32_t *order)
{
    bool seen[ITEMS] = {false};
    for (int i = 0; i < ITEMS; i++) {
        assert_in_range(order[i], 0, ITEMS - 1);
        assert_false(seen[order[i]]);
        seen[order[i]] = true;
        assert_int_equal(order[i] / LOCAL, order[i / LOCAL * LOCAL] / LOCAL);
    }
}

static void an_order_is_drawn(void **state)
{
    (void)state;
    static const char *const kernels[] = {"come", "come_by_warps"};
    static int32_t usual[ITEMS], one[ITEMS], again[ITEMS], other[ITEMS];
    for (int k = 0; k < 2; k++) {
        note_order_of(kernels[k], "", usual);
        note_order_of(kernels[k], "1", one);
        note_order_of(kernels[k], "1", again);
        note_order_of(kernels[k], "2", other);
        is_an_order(usual);
        is_an_order(one);
        is_an_order(other);
        for (int i = 0; i < ITEMS;
             i += k ? 2 * LOCAL : 1) /* of a kernel with barriers every other group runs backwards */
            assert_int_equal(usual[i], i);
        assert_memory_equal(one, again, sizeof one);
        assert_memory_not_equal(one, other, sizeof one);
        int kept = 0;
        for (int i = 1; i < ITEMS; i++)
            kept += one[i] == one[i - 1] + 1;
        assert_true(kept < ITEMS / 8); /* neighbours do not run one after another */
        if (k == 1)                    /* but lanes of one warp do */
            for (int i = 0; i < ITEMS; i++)
                assert_int_equal(one[i] / 32, one[i / 32 * 32] / 32);
    }
}

/* ---- stacks ---- */

enum { THREADS = 40 };

static void *run_large_groups(void *arg)
{
    int32_t *next = arg;
    for (int i = 0; i < 3; i++)
        KIT_RUN(module, "count_1024", 1, 1024, &next);
    return kit_error ? arg : NULL;
}

/* Each stack takes two of the 65,530 mappings that a process may have: 40 threads with 1024 stacks each would be too many. */
static void stacks_are_shared(void **state)
{
    (void)state;
    static int32_t next;
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, run_large_groups, &next), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        assert_int_equal(pthread_join(thread[i], &failed), 0);
        assert_null(failed);
    }
    assert_int_equal(next, THREADS * 3 * 1024);
    int lines = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    for (int c; maps && (c = getc(maps)) != EOF;)
        lines += c == '\n';
    if (maps)
        fclose(maps);
    assert_true(lines < 55000);
}

/* ---- groups side by side ---- */

static void groups_run_side_by_side(void **state)
{
    (void)state;
    enum { MANY = 200 };
    static int32_t x[MANY * 64], o[MANY];
    int32_t here = 0, *ph = &here, *po = o;
    const int32_t *px = x;
    set_rules("", "4");
    alarm(60);
    KIT_RUN(module, "meet", 4, 1, &ph); /* each waits for the others */
    ran_well();
    alarm(0);
    for (int i = 0; i < MANY * 64; i++)
        x[i] = i % 1000;
    KIT_RUN(module, "sum", MANY, 64, &px, &po);
    ran_well();
    for (int g = 0; g < MANY; g++) {
        int32_t want = 0;
        for (int i = 0; i < 64; i++)
            want += x[g * 64 + i];
        assert_int_equal(o[g], want);
    }
    KIT_RUN(module, "uneven", MANY, 64, &po);
    failed_with("divergent barrier in kernel 'uneven': 63 of 64 work items of group (");
    set_rules("", "1");
}

#if !defined(__SANITIZE_THREAD__) /* which forbids that */
/* A child of fork has none of the threads: it gets its own. */
static void threads_are_made_anew_in_a_child(void **state)
{
    (void)state;
    int32_t here = 0, *ph = &here;
    set_rules("", "3");
    KIT_RUN(module, "meet", 3, 1, &ph);
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        here = 0;
        KIT_RUN(module, "meet", 3, 1, &ph);
        _exit(kit_error || here != 3);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    here = 0;
    KIT_RUN(module, "meet", 3, 1, &ph);
    ran_well();
    set_rules("", "1");
}

#endif

#if defined(__SANITIZE_THREAD__)
/* ThreadSanitizer sees a race between groups, for which it ends the process: it runs this program again, for one kernel. */
static void races_between_groups_are_seen(void **state)
{
    (void)state;
    for (int racing = 0; racing < 2; racing++) {
        const pid_t child = fork();
        if (child == 0) {
            execl("/proc/self/exe", "test_compiler_strict", racing ? "same_word" : "meet", NULL);
            _exit(3);
        }
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 3);
        assert_int_equal(WEXITSTATUS(status) != 0, racing);
    }
}

static int run_one(const char *kernel)
{
    int32_t o[64] = {0}, *po = o;
    set_rules("", "4");
    module = kit_module(text);
    KIT_RUN(module, kernel, 4, 64, &po);
    return 0;
}
#endif

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* which watch kernels themselves */
/* ---- races between items, and what no argument holds ---- */

static const char watched[] =
    /* n: 1 breaks the rule, 0 keeps it */
    "KERNEL(same_place)(GLOBAL i32 *o, i32 n) { o[n ? 0 : LOCAL_ID(0)] = (i32)GLOBAL_ID(0); }\n"
    "KERNEL(neighbour)(GLOBAL i32 *o, i32 n)\n"
    "{\n"
    "    if (LOCAL_ID(0) + n < 64)\n"
    "        o[LOCAL_ID(0)] = o[LOCAL_ID(0) + n] + 1;\n"
    "}\n"
    "KERNEL(bytes)(GLOBAL u8 *o, i32 n) { o[LOCAL_ID(0) / (n + 1)] = (u8)LOCAL_ID(0); }\n"
    "KERNEL(groups)(GLOBAL i32 *o, i32 n) { if (LOCAL_ID(0) == 0) o[n ? 5 : GROUP_ID(0)] = 1; }\n"
    "KERNEL(sums)(GLOBAL i32 *o, i32 n)\n"
    "{\n"
    "    if (n && LOCAL_ID(0) == 3)\n"
    "        o[0] = 1;\n"
    "    else\n"
    "        ATOMIC_ADD_I32(o, 1);\n"
    "}\n"
    "KERNEL(sums_read)(GLOBAL i32 *o, i32 n)\n"
    "{\n"
    "    ATOMIC_ADD_I32(o, 1);\n"
    "    if (n && LOCAL_ID(0) == 7)\n"
    "        o[1] = o[0];\n"
    "}\n"
    "KERNEL(readers)(GLOBAL i32 *o, i32 n)\n" /* many read what one of another group writes */
    "{\n"
    "    if (GROUP_ID(0) < 3 || !n)\n"
    "        ATOMIC_ADD_I32(o + 1, o[0]);\n"
    "    else if (LOCAL_ID(0) == 0)\n"
    "        o[0] = 1;\n"
    "}\n"
    "KERNEL_B(local)(GLOBAL i32 *o, i32 n)\n"
    "{\n"
    "    LOCAL_MEM(i32, unused, 3);\n"
    "    LOCAL_MEM(i32, s, 64);\n"
    "    s[LOCAL_ID(0)] = 1;\n"
    "    if (!n)\n"
    "        BARRIER();\n"
    "    const i32 v = s[LOCAL_ID(0) ^ 32];\n"
    "    BARRIER();\n"
    "    ATOMIC_ADD_I32(o, v);\n"
    "}\n"
    "KERNEL_B(local_again)(GLOBAL i32 *o, i32 n)\n" /* what is read may not be written over at once */
    "{\n"
    "    LOCAL_MEM(i32, s, 64);\n"
    "    s[LOCAL_ID(0)] = 1;\n"
    "    BARRIER();\n"
    "    const i32 v = s[63 - LOCAL_ID(0)];\n"
    "    if (!n)\n"
    "        BARRIER();\n"
    "    s[LOCAL_ID(0)] = v;\n"
    "}\n"
    "KERNEL_B(global)(GLOBAL i32 *o, i32 n)\n"
    "{\n"
    "    if (GROUP_ID(0))\n"
    "        return;\n"
    "    o[LOCAL_ID(0)] = 1;\n"
    "    if (n)\n"
    "        BARRIER();\n"
    "    else\n"
    "        BARRIER_ALL();\n"
    "    ATOMIC_ADD_I32(o + 64, o[63 - LOCAL_ID(0)]);\n"
    "}\n"
    "KERNEL_B(warp)(GLOBAL i32 *o, i32 n)\n"
    "{\n"
    "    LOCAL_MEM(i32, s, 64);\n"
    "    s[LOCAL_ID(0)] = 1;\n"
    "    SYNC_WARP();\n"
    "    ATOMIC_ADD_I32(o, s[LOCAL_ID(0) ^ (n ? 32 : 1)]);\n"
    "}\n"
    "KERNEL_B(shuffled)(GLOBAL i32 *o, i32 n)\n" /* a shuffle orders no memory */
    "{\n"
    "    LOCAL_MEM(i32, s, 64);\n"
    "    s[LOCAL_ID(0)] = (i32)SHUFFLE_XOR_U32(1, 1);\n"
    "    const i32 more = (i32)SHUFFLE_XOR_U32(1, 1);\n"
    "    ATOMIC_ADD_I32(o, s[LOCAL_ID(0) ^ n] + more);\n"
    "}\n"
    "KERNEL(behind)(GLOBAL f32 *o, i32 n) { if (GLOBAL_ID(0) == 99) o[99 + n] = 1; }\n"
    "KERNEL(before)(GLOBAL f32 *o, i32 n) { if (GLOBAL_ID(0) == 99) o[1] = (o - n)[0]; }\n"
    "KERNEL(partly)(GLOBAL u8 *o, i32 n)\n"
    "{\n"
    "    if (GLOBAL_ID(0) == 0)\n"
    "        *(GLOBAL u64 *)(o + (n ? 400 : 392)) = 0;\n"
    "}\n"
    "typedef f32 four __attribute__((vector_size(16)));\n"
    "KERNEL(wide)(GLOBAL f32 *o, i32 n)\n"
    "{\n"
    "    four w = *(GLOBAL const four *)(o + (n ? 2 : 4));\n"
    "    if (GLOBAL_ID(0) == 0)\n"
    "        *(GLOBAL four *)(o + 20) = w;\n"
    "}\n"
    "KERNEL_B(behind_local)(GLOBAL f32 *o, i32 n)\n"
    "{\n"
    "    LOCAL_MEM(f32, s, 3);\n"
    "    if (LOCAL_ID(0) == 0) {\n"
    "        s[2] = 1;\n"
    "        o[GROUP_ID(0)] = s[2 + n];\n"
    "    }\n"
    "}\n";

enum { BYTES = 403 }; /* of the argument */
static _Alignas(16) char window[1024];

/* Groups of 64 items, on a tensor of 403 bytes in the middle of a device's memory. */
static void watch(fake_module *m, const char *kernel, unsigned n_groups, int32_t n)
{
    char *at = window + 256;
    const unsigned groups[3] = {n_groups, 1, 1}, local[3] = {64, 1, 1};
    const fake_extent extent[2] = {{at, at + BYTES}, {NULL, NULL}};
    kit_clear();
    memset(window, 0, sizeof window);
    kit_device_memory[0] = window;
    kit_device_memory[1] = window + sizeof window;
    fake_kernel_run(kit_kernel(m, kernel), groups, local, (void *[]){&at, &n}, extent);
}

static void watched_kernels(void **state)
{
    (void)state;
    static const struct {
        const char *kernel;
        unsigned groups;
        const char *why;
        tn__cu_result error;
    } all[] = {
        {"same_place", 1,
         "race in kernel 'same_place': work item (0, 0, 0) of group (0, 0, 0) writes byte 0 of argument 'o', and work "
         "item (1, 0, 0) of group (0, 0, 0) writes 4 bytes there: nothing orders them",
         TN__CU_LAUNCH_FAILED},
        {"neighbour", 1, "work item (0, 0, 0) of group (0, 0, 0) reads byte 4 of argument 'o', and work item (1, 0, 0)",
         TN__CU_LAUNCH_FAILED},
        {"bytes", 1, "race in kernel 'bytes': work item (0, 0, 0) of group (0, 0, 0) writes byte 0 of",
         TN__CU_LAUNCH_FAILED},
        {"groups", 4,
         "work item (0, 0, 0) of group (0, 0, 0) writes byte 20 of argument 'o', and work item (0, 0, 0) of group (1, "
         "0, 0)",
         TN__CU_LAUNCH_FAILED},
        {"sums", 4,
         "changes (atomically) byte 0 of argument 'o', and work item (3, 0, 0) of group (0, 0, 0) writes 4 bytes there",
         TN__CU_LAUNCH_FAILED},
        {"sums_read", 1,
         "changes (atomically) byte 0 of argument 'o', and work item (7, 0, 0) of group (0, 0, 0) reads 4 bytes there",
         TN__CU_LAUNCH_FAILED},
        {"readers", 4, "reads byte 0 of argument 'o', and work item (0, 0, 0) of group (3, 0, 0) writes 4 bytes there",
         TN__CU_LAUNCH_FAILED},
        {"local", 1, "of its local array 's', and work item", TN__CU_LAUNCH_FAILED},
        {"local_again", 1, "of its local array 's', and work item", TN__CU_LAUNCH_FAILED},
        {"global", 4, "of argument 'o', and work item", TN__CU_LAUNCH_FAILED},
        {"warp", 1, "of its local array 's', and work item", TN__CU_LAUNCH_FAILED},
        {"shuffled", 1, "of its local array 's', and work item", TN__CU_LAUNCH_FAILED},
        {"behind", 4,
         "kernel 'behind': work item (35, 0, 0) of group (1, 0, 0) writes 4 bytes at byte 400 of argument 'o', which "
         "has 403",
         TN__CU_ILLEGAL_ADDRESS},
        {"before", 4, "work item (35, 0, 0) of group (1, 0, 0) reads 4 bytes at byte -4 of argument 'o', which has 403",
         TN__CU_ILLEGAL_ADDRESS},
        {"partly", 1, "writes 8 bytes at byte 400 of argument 'o', which has 403", TN__CU_ILLEGAL_ADDRESS},
        {"wide", 1, "reads 16 bytes at once at byte 8 of argument 'o': the address is no multiple of 16",
         TN__CU_MISALIGNED_ADDRESS},
        {"behind_local", 1, "reads 4 bytes at byte 12 of its local array 's', which has 12", TN__CU_ILLEGAL_ADDRESS},
    };
    set_rules("", "1");
    setenv("TENON_FAKE_GPU_RACES", "1", 1);
    fake_kernel_rules_read();
    fake_module *m = kit_module(watched);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        watch(m, all[i].kernel, all[i].groups, 0);
        if (kit_error)
            fail_msg("%s keeps the rules, but: %s", all[i].kernel, kit_report());
        watch(m, all[i].kernel, all[i].groups, 1);
        if (kit_error != all[i].error || !strstr(kit_report(), all[i].why))
            fail_msg("%s gives %u: '%s'", all[i].kernel, kit_error, kit_report());
        for (size_t k = 0; k < 256; k++) /* nothing was written there */
            assert_int_equal(window[k] | window[256 + BYTES + k], 0);
    }
    fake_module_unload(m);
    set_rules("", "1");
}

/* A compiler that cannot tell of accesses is refused. */
static void tinycc_cannot_watch(void **state)
{
    (void)state;
    char log[1024];
    void *image;
    const char *usual = getenv("TENON_FAKE_CC");
    char *kept = strdup(usual ? usual : "");
    setenv("TENON_FAKE_CC", "tcc", 1);
    setenv("TENON_FAKE_GPU_RACES", "1", 1);
    fake_kernel_rules_read();
    assert_int_equal(kit_compile(watched, NULL, log, sizeof log, &image), TN__NVRTC_COMPILATION);
    assert_true(strstr(log, "TENON_FAKE_GPU_RACES=1 needs gcc or clang") || strstr(log, "'tcc' is no program"));
    assert_null(image);
    setenv("TENON_FAKE_CC", kept, 1);
    free(kept);
    set_rules("", "1");
}
#endif

static int set_up(void **state)
{
    (void)state;
    set_rules("", "1");
    module = kit_module(text);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fake_module_unload(module);
    return 0;
}

int main(int argc, char **argv)
{
#if defined(__SANITIZE_THREAD__)
    if (argc == 2)
        return run_one(argv[1]);
#endif
    (void)argc, (void)argv;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shuffles_of_some_warps),
        cmocka_unit_test(shuffles_of_some_lanes),
        cmocka_unit_test(shuffles_hide_no_missing_barrier),
        cmocka_unit_test(an_order_is_drawn),
        cmocka_unit_test(stacks_are_shared),
        cmocka_unit_test(groups_run_side_by_side),
#if defined(__SANITIZE_THREAD__)
        cmocka_unit_test(races_between_groups_are_seen),
#else
        cmocka_unit_test(threads_are_made_anew_in_a_child),
#endif
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        cmocka_unit_test(watched_kernels),
        cmocka_unit_test(tinycc_cannot_watch),
#endif
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
