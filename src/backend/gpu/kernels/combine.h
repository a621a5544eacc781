/* backend/gpu/kernels/combine.h: one value of all lanes of a row: by shuffles, or where there are none through local memory,
 * in the same order, so that both give the same bits. Before it: group.h; the family's type G, g_combine(mine, other's) and,
 * with TN_SHUFFLE, g_xor(g, mask), the value of the lane whose number differs by the mask. */

/* All g of the lanes of each row, combined; each lane gets it (where g_combine minds the order, each its own). All work
 * items of the group must call. share: one G for each of them. */
DEVICE G group_all(G g, LOCAL G *share)
{
    const int lanes = LOCAL_SIZE(0), lane = LOCAL_ID(0), item = LOCAL_ID(1) * lanes + lane;
#if TN_SHUFFLE
    UNROLL
    for (int mask = WARP / 2; mask; mask /= 2)
        if (mask < lanes)
            g = g_combine(g, g_xor(g, mask));
    if (lanes > WARP) {
        const int warps = lanes / WARP;
        if (lane % WARP == 0)
            share[item / WARP] = g;
        BARRIER();
        g = share[LOCAL_ID(1) * warps + lane % warps];
        for (int mask = warps / 2; mask; mask /= 2)
            g = g_combine(g, g_xor(g, mask));
        BARRIER();
    }
#else
    for (int mask = (lanes < WARP ? lanes : WARP) / 2; mask; mask /= 2) {
        share[item] = g;
        BARRIER();
        g = g_combine(g, share[item ^ mask]);
        BARRIER();
    }
    for (int mask = lanes / 2; mask >= WARP; mask /= 2) {
        share[item] = g;
        BARRIER();
        g = g_combine(g, share[item ^ mask]);
        BARRIER();
    }
#endif
    return g;
}
