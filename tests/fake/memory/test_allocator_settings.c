/* How the caching allocator cuts, keeps and gives back memory where TENON_CUDA_ALLOC_CONF says so; and what tells of it. Rules
 * are those of PyTorch's documentation, numbers worked out by hand. */
#include "fake/own_process_gpu.h"
#include "backend/cuda/cuda.h"
#include "backend/gpu/allocator_settings.h"
#include "backend/gpu/memory.h"
#include <tenon/cuda.h>

enum { M = 1 << 20 };

static const tn_device gpu = {TN_DEVICE_CUDA, 0};

static tn__storage *take(size_t bytes)
{
    tn__storage *s = tn__gpu_allocate(gpu, bytes);
    check_ok_(s != NULL, "tn__gpu_allocate", __FILE__, __LINE__);
    return s;
}

static tn_memory_statistics stats(void)
{
    return tn_memory_stats(gpu);
}

/* ---- TENON_CUDA_ALLOC_CONF ---- */

static void settings_are_read(void **state)
{
    static const struct {
        const char *text, *fault;
    } wrong[] = {
        {"max_split:40", "Unrecognized key 'max_split' in CUDA allocator config."},
        {"max_split_size_mb:20", "CachingAllocator option max_split_size_mb too small, must be > 20"},
        {"max_split_size_mb:", "Error, expecting max_split_size_mb value, but got ''"},
        {"max_split_size_mb:-1", "expecting max_split_size_mb value"},
        {"max_split_size_mb:99999999999999999999", "expecting max_split_size_mb value"},
        {"max_split_size_mb:40.5", "expecting max_split_size_mb value"},
        {"garbage_collection_threshold:0.8.1", "expecting garbage_collection_threshold value"},
        {"garbage_collection_threshold:.8", "expecting garbage_collection_threshold value"},
        {"max_split_size_mb 40", "expected : behind max_split_size_mb"},
        {"max_split_size_mb:40 garbage_collection_threshold:0.5",
         "expected , before 'garbage_collection_threshold:0.5'"},
        {"garbage_collection_threshold:1", "garbage_collect_threshold is invalid, set it in (0.0, 1.0)"},
        {"garbage_collection_threshold:0", "set it in (0.0, 1.0)"},
        {"expandable_segments:1", "Expected a single True/False argument for expandable_segments"},
        {"roundup_power2_divisions:3", "the divisions has to be power of 2 or 0 to disable roundup"},
        {"roundup_power2_divisions:[3:2]", "For roundups, the intervals have to be power of 2"},
        {"roundup_power2_divisions:[4:2", "Error parsing roundup_power2_divisions value"},
        {"backend:cudaMallocAsync", "Tenon has its own caching allocator alone, backend:native"},
        {"backend:other", "Unknown allocator backend 'other', options are native"},
    };
    tn__gpu_settings s;
    char fault[256];
    (void)state;
    for (size_t i = 0; i < TN_COUNT(wrong); i++) {
        assert_false(tn__gpu_settings_parse(wrong[i].text, &s, fault, sizeof fault));
        assert_non_null(strstr(fault, wrong[i].fault));
        assert_true(s.max_split == SIZE_MAX && !s.gc_threshold && !s.expandable && !s.rounds);
    }
    assert_true(
        tn__gpu_settings_parse(" max_split_size_mb:40, garbage_collection_threshold:0.8,expandable_segments:True,"
                               "backend:native,pinned_use_cuda_host_register:True,pinned_num_register_threads:8,"
                               "roundup_power2_divisions:[2:1,8:4,>:16]",
                               &s, fault, sizeof fault));
    assert_true(s.max_split == 40 * M && s.gc_threshold == 0.8 && s.expandable && s.rounds);
    const uint32_t divisions[TN__GPU_INTERVALS] = {1, 1, 0, 4, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16};
    assert_memory_equal(s.divisions, divisions, sizeof divisions);
    assert_int_equal(tn__gpu_divisions_of(&s, 1), 1);
    assert_int_equal(tn__gpu_divisions_of(&s, 8 * M), 4);
    assert_int_equal(tn__gpu_divisions_of(&s, (size_t)1 << 45), 16);
    assert_true(tn__gpu_settings_parse("", &s, fault, sizeof fault));
    assert_true(s.max_split == SIZE_MAX);
}

static void settings_not_understood(void **state)
{
    (void)state;
    FAILS(tn__gpu_allocate(gpu, 1), TN_EINVAL,
          "Unrecognized key 'max_size' in CUDA allocator config.\n  in "
          "PYTORCH_CUDA_ALLOC_CONF='max_size:1'");
    FAILS_STATUS(tn_synchronize(gpu), TN_EINVAL, "Unrecognized key");
}

static void requests_are_rounded(void **state)
{
    static const int64_t rows[][2] = {{1200, 1536},       {3000, 3072},       {4 * M, 4 * M},
                                      {4 * M + 1, 5 * M}, {7 * M + 1, 8 * M}, {33 * M, 40 * M}};
    (void)state;
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        tn__storage *s = take((size_t)rows[i][0]);
        assert_int_equal(stats().allocated, rows[i][1]);
        tn__storage_release(s);
        tn_empty_cache(gpu);
    }
    CLEAN();
}

static void large_blocks_stay_whole(void **state)
{
    (void)state;
    tn__storage *a = take(40 * M);
    tn__storage_release(a);
    a = take(3 * M); /* has a segment of its own: that of 40 MiB is kept whole */
    assert_int_equal(stats().reserved, 60 * M);
    tn__storage *b = take(38 * M);
    assert_int_equal(stats().reserved, 60 * M);
    assert_int_equal(stats().allocated, 43 * M); /* it is not cut */
    tn__storage_release(b);
    b = take(150 * M);
    tn__storage_release(b);
    assert_int_equal(stats().reserved, 210 * M);
    b = take(60 * M); /* 150 MiB would be too much for it; the driver has 38 left: that segment goes back, not all */
    assert_int_equal(stats().reserved, 120 * M);
    assert_int_equal(stats().retries, 0);
    tn__storage *c = take(70 * M);
    assert_int_equal(stats().retries, 0);
    tn__storage_release(a);
    tn__storage_release(b);
    tn__storage_release(c);
    CLEAN();
}

/* 0.5 of 256 MiB: what is old goes before the driver is asked for more, and no more than is needed. */
static void old_memory_is_given_back(void **state)
{
    tn__storage *a[4], *small = take(100);
    (void)state;
    for (int i = 0; i < 4; i++)
        a[i] = take(40 * M);
    tn__storage_release(a[2]);
    for (int i = 0; i < 10; i++)
        tn__storage_release(take(100));
    tn__storage_release(a[0]);
    tn__storage_release(a[1]);
    tn__storage_release(a[3]);
    assert_int_equal(stats().reserved, 162 * M);
    tn__storage *b = take(60 * M);
    assert_int_equal(stats().releases, 1);
    assert_int_equal(stats().reserved, 182 * M);
    assert_int_equal(stats().retries, 0);
    tn__storage *c = take(41 * M); /* now all three are as old as each other */
    assert_int_equal(stats().releases, 4);
    tn__storage_release(small);
    tn__storage_release(b);
    tn__storage_release(c);
    CLEAN();
}

/* Memory in pieces: two tensors of 8 MiB share a segment of 20, and one of the two goes. Is there room for one of 24? */
static bool fits_among_pieces(void)
{
    tn__storage *s[24];
    for (size_t i = 0; i < TN_COUNT(s); i++)
        s[i] = take(8 * M);
    for (size_t i = 0; i < TN_COUNT(s); i += 2)
        tn__storage_release(s[i]);
    tn__storage *large = tn__gpu_allocate(gpu, 24 * M);
    const bool fits = large != NULL;
    if (large)
        tn__storage_release(large);
    for (size_t i = 1; i < TN_COUNT(s); i += 2)
        tn__storage_release(s[i]);
    return fits;
}

static void pieces_are_too_small(void **state)
{
    (void)state;
    assert_false(fits_among_pieces());
    assert_int_equal(tn_error_code(), TN_ENOMEM);
    tn_error_clear();
    CLEAN();
}

static void segments_that_grow_have_room(void **state)
{
    (void)state;
    assert_true(fits_among_pieces());
    assert_int_equal(stats().reserved, 220 * M); /* 192 and, behind the last, 24: eleven pages of 20 MiB */
    assert_int_equal(stats().segments, 1);
    assert_int_equal(stats().inactive_split, 0);
    assert_int_equal(stats().retries, 0);
    CLEAN();
}

/* Pages that nobody is on go back one by one, from the middle too, and are taken again for what fits nowhere else. */
static void pages_come_and_go(void **state)
{
    tn__storage *s[5];
    (void)state;
    for (size_t i = 0; i < TN_COUNT(s); i++)
        s[i] = take(40 * M);
    tn__storage *small = take(1000);
    assert_int_equal(stats().reserved, 202 * M);
    char *const at = s[1]->data;
    assert_ptr_equal(s[2]->data, at + 40 * M);
    tn__storage_release(s[1]);
    tn__storage_release(s[2]);
    tn_empty_cache(gpu);
    assert_int_equal(stats().reserved, 122 * M);
    assert_int_equal(stats().segments, 2);
    tn__storage *again = take(70 * M); /* where they were: 80 MiB of addresses, and memory behind them once more */
    assert_ptr_equal(again->data, at);
    assert_int_equal(stats().reserved, 202 * M);
    FAILS(tn__gpu_allocate(gpu, 60 * M), TN_ENOMEM, "CUDA out of memory. Tried to allocate");
    OK(tn_cuda_reset(gpu));
    assert_int_equal(stats().reserved, 0);
    tn__storage *after = take(100 * M);
    tn__storage *all[] = {s[0], s[3], s[4], small, again, after};
    for (size_t i = 0; i < TN_COUNT(all); i++)
        tn__storage_release(all[i]);
    CLEAN();
}

/* The driver fails at any page: what was mapped so far is free memory, and nothing is lost. */
static void pages_that_cannot_be_had(void **state)
{
    (void)state;
    assert_non_null(tn__gpu_use(gpu));
    for (int n = 1; n <= 4; n++) {
        char fault[32];
        snprintf(fault, sizeof fault, "oom@%d+", n);
        assert_int_equal(tn__cu.fake_set_faults(fault), 0);
        FAILS(tn__gpu_allocate(gpu, 70 * M), TN_ENOMEM, "CUDA out of memory");
        assert_int_equal(tn__cu.fake_set_faults(""), 0);
        tn__storage_release(take(70 * M));
        CLEAN();
    }
}

/* ---- what is held, told ---- */

static void snapshot(void **state)
{
    (void)state;
    tn_memory_snapshot *none = tn_cuda_memory_snapshot(gpu);
    assert_non_null(none);
    assert_int_equal(none->n_segments, 0);
    tn_memory_snapshot_free(none);
    tn_memory_snapshot_free(NULL);
    tn__storage *a = take(1000), *b = take(3 * M), *c = take(100);
    tn__storage_release(a);
    tn_memory_snapshot *s = tn_cuda_memory_snapshot(gpu);
    assert_non_null(s);
    assert_int_equal(s->n_segments, 2);
    int64_t total = 0, allocated = 0, requested = 0;
    for (int64_t i = 0; i < s->n_segments; i++) {
        const tn_memory_segment *g = &s->segments[i];
        const char *at = g->address;
        total += g->total_size;
        allocated += g->allocated_size;
        requested += g->requested_size;
        assert_int_equal(g->active_size, g->allocated_size);
        assert_int_equal(g->is_expandable, getenv("TENON_CUDA_ALLOC_CONF") != NULL);
        for (int64_t k = 0; k < g->n_blocks; at += g->blocks[k++].size)
            assert_ptr_equal(g->blocks[k].address, at);
        assert_ptr_equal(at, (char *)g->address + g->total_size);
        assert_int_equal(g->n_blocks, g->is_large ? 2 : 3);
        assert_ptr_equal(g->blocks[g->is_large ? 0 : 1].address, g->is_large ? b->data : c->data);
        assert_int_equal(g->blocks[0].state, g->is_large ? TN_MEMORY_ALLOCATED : TN_MEMORY_INACTIVE);
        assert_int_equal(g->blocks[0].requested_size, g->is_large ? 3 * M : 0);
    }
    assert_int_equal(total, stats().reserved);
    assert_int_equal(allocated, stats().allocated);
    assert_int_equal(requested, stats().requested);
    tn_memory_snapshot_free(s);
    assert_null(tn_cuda_memory_snapshot(TN_CPU));
    tn_error_clear();
    tn__storage_release(b);
    tn__storage_release(c);
    CLEAN();
}

/* What tensors do, in memory of several pages: kernels, copies to the host and to another GPU, several streams. */
static void tensors_cross(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_stream *side = tn_cuda_stream_new(TN_CUDA(0), 0);
    tn_tensor *x = MADE(tn_full(TN_SHAPE(7 * M), 2, .device = TN_CUDA(0), .dtype = TN_F32)); /* 28 MiB: two pages */
    tn_tensor *y = MADE(tn_cuda(MADE(tn_add(x, 1)), 1));
    assert_true(tn_item(MADE(tn_sum(y))) == 3. * 7 * M);
    tn_stream_guard guard = tn_stream_enter(side);
    tn_tensor *z = MADE(tn_ones(TN_SHAPE(7 * M), .device = TN_CUDA(0)));
    assert_true(tn_item(MADE(tn_sum(z))) == 7. * M);
    tn_stream_leave(guard);
    tn_scope_close(scope);
    tn_stream_release(side);
    CLEAN();
}

#define GROWS "TENON_CUDA_ALLOC_CONF=expandable_segments:True"

int main(int argc, char **argv)
{
    static const alone tests[] = {
        ANYWHERE(settings_are_read, "TENON_FAKE_GPUS=1x256MiB"),
        ANYWHERE(settings_not_understood, "TENON_FAKE_GPUS=1x256MiB", "PYTORCH_CUDA_ALLOC_CONF=max_size:1"),
        ANYWHERE(requests_are_rounded, "TENON_FAKE_GPUS=1x256MiB", "PYTORCH_ALLOC_CONF=roundup_power2_divisions:4"),
        ALONE(large_blocks_stay_whole, "TENON_FAKE_GPUS=1x256MiB", "TENON_CUDA_ALLOC_CONF=max_split_size_mb:32"),
        ALONE(old_memory_is_given_back, "TENON_FAKE_GPUS=1x256MiB",
              "TENON_CUDA_ALLOC_CONF=garbage_collection_threshold:0.5"),
        ALONE(pieces_are_too_small, "TENON_FAKE_GPUS=1x256MiB"),
        ALONE(segments_that_grow_have_room, "TENON_FAKE_GPUS=1x256MiB", GROWS),
        ALONE(pages_come_and_go, "TENON_FAKE_GPUS=1x256MiB", GROWS),
        ALONE(pages_that_cannot_be_had, "TENON_FAKE_GPUS=1x256MiB", GROWS),
        ANYWHERE(snapshot, "TENON_FAKE_GPUS=1x256MiB"),
        {"snapshot_of_what_grows", snapshot, true, {"TENON_FAKE_GPUS=1x256MiB", GROWS}},
        {"tensors_cross", tensors_cross, false, {"TENON_FAKE_GPUS=2x256MiB", GROWS}},
    };
    return alone_main(tests, TN_COUNT(tests), argc, argv);
}
