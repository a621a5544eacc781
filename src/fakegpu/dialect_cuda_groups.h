/* fakegpu/dialect_cuda_groups.h: what #include <cooperative_groups.h> reads: blocks and tiles of a warp. Groups of the grid, and
 * of the threads that happen to be together, are not here. Embedded as text. */
#pragma once

namespace cooperative_groups
{

struct thread_block {
    static void sync() { __syncthreads(); }
    static unsigned thread_rank() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
    static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
    static unsigned num_threads() { return size(); }
    static dim3 group_index() { return blockIdx; }
    static dim3 thread_index() { return threadIdx; }
    static dim3 group_dim() { return blockDim; }
    static dim3 dim_threads() { return blockDim; }
};

static inline thread_block this_thread_block()
{
    return thread_block();
}

template <unsigned N, typename Parent = thread_block> struct thread_block_tile {
    static_assert(N >= 1 && N <= 32 && (N & (N - 1)) == 0, "a tile is a power of two within a warp");
    static unsigned mask() { return (N == 32 ? ~0u : (1u << (N & 31)) - 1) << (tn_lane() & ~(N - 1)); }
    static void sync() { __syncwarp(mask()); }
    static unsigned thread_rank() { return tn_lane() & (N - 1); }
    static constexpr unsigned size() { return N; }
    static constexpr unsigned num_threads() { return N; }
    static unsigned meta_group_rank() { return thread_block::thread_rank() / N; }
    static unsigned meta_group_size() { return (thread_block::size() + N - 1) / N; }
    template <typename T> static T shfl(T v, int from) { return __shfl_sync(mask(), v, from, N); }
    template <typename T> static T shfl_up(T v, unsigned by) { return __shfl_up_sync(mask(), v, by, N); }
    template <typename T> static T shfl_down(T v, unsigned by) { return __shfl_down_sync(mask(), v, by, N); }
    template <typename T> static T shfl_xor(T v, unsigned by) { return __shfl_xor_sync(mask(), v, by, N); }
    static int any(int yes) { return __any_sync(mask(), yes); }
    static int all(int yes) { return __all_sync(mask(), yes); }
    static unsigned ballot(int yes) { return __ballot_sync(mask(), yes) >> (tn_lane() & ~(N - 1)); }
};

template <unsigned N, typename Group> static inline thread_block_tile<N, Group> tiled_partition(const Group &)
{
    return thread_block_tile<N, Group>();
}

template <typename Group> static inline void sync(const Group &group)
{
    group.sync();
}

} // namespace cooperative_groups
