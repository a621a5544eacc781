/* ops/scan/gpu_lanes.h: what the scans share: lanes that take elements of a row one after another, and what the lanes
 * before each give, combined. Before it: dims.h, group.h, combine.h; the family's type G, g_none(), g_combine(earlier, later),
 * which minds no order where it meets the lanes of a group, and, with TN_SHUFFLE, g_xor. */
#define PER (VW < 4 ? 4 : VW) /* elements that a lane takes at a time, one after another */

#include "gpu_layout.h"

/* What the lanes before this one give, combined; *total becomes that of all. All work items of the group must call. */
DEVICE G group_scan(G mine, LOCAL G *scratch, G *total)
{
    const int lanes = LOCAL_SIZE(0), lane = LOCAL_ID(0), item = LOCAL_ID(1) * lanes + lane;
    G before = g_none();
    UNROLL
    for (int mask = 1; mask < WARP; mask *= 2) {
        G other = g_none();
        if (mask < lanes) {
#if TN_SHUFFLE
            other = g_xor(mine, mask);
#else
            scratch[item] = mine;
            BARRIER();
            other = scratch[item ^ mask];
            BARRIER();
#endif
        }
        if (lane & mask)
            before = g_combine(other, before);
        mine = g_combine(mine, other);
    }
    if (lanes > WARP) {
        const int warps = lanes / WARP, first = LOCAL_ID(1) * warps, warp = lane / WARP;
        if (lane % WARP == 0)
            scratch[item / WARP] = mine;
        BARRIER();
        G all = g_none();
        for (int w = 0; w < warps; w++) {
            if (w == warp)
                before = g_combine(all, before);
            all = g_combine(all, scratch[first + w]);
        }
        mine = all;
        BARRIER();
    }
    *total = mine;
    return before;
}

/* PER elements from i on; what is beyond the end counts as 0. */
DEVICE void load_some(T *v, GLOBAL const ST *p, const scan_rows *f, i64 i, i64 to)
{
    if (f->vector && i < to) {
        UNROLL
        for (int j = 0; j < PER / VW; j++) {
            const VEC w = ((GLOBAL const VEC *)(p + i))[j];
            UNROLL
            for (int k = 0; k < VW; k++)
                v[j * VW + k] = LD(w.v[k]);
        }
        return;
    }
    UNROLL
    for (int k = 0; k < PER; k++)
        v[k] = i + k < to ? LD(p[(i + k) * f->step_a]) : K(0);
}

DEVICE void store_some(const T *v, GLOBAL OT *p, const scan_rows *f, i64 i, i64 to)
{
#if PER % OVW == 0
    if (f->vector && i < to) {
        UNROLL
        for (int j = 0; j < PER / OVW; j++) {
            OVEC w;
            UNROLL
            for (int k = 0; k < OVW; k++)
                w.v[k] = SVO(v[j * OVW + k]);
            ((GLOBAL OVEC *)(p + i))[j] = w;
        }
        return;
    }
#endif
    UNROLL
    for (int k = 0; k < PER; k++)
        if (i + k < to)
            p[(i + k) * f->step_c] = SVO(v[k]);
}
