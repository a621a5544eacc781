/* backend/gpu/kernels/reduction.h: reductions of any kind: how elements are reached and shared out; what is done with them is the
 * family's. Before it: G; g_none(); g_begin(p), the same for a row that begins at p; g_value(g, v, i), g_vector(g, vec, i),
 * g_four(g, a, b, c, d, i, step); g_combine, g_xor, g_store; REDUCE_WIDTH, how many columns a work item may take where they lie
 * side by side (VW or 1).
 *
 * i is an element's position in its row: positions of one lane grow. Kernels: 'single' a work item for each short row, no
 * barrier; 'rows' lanes for each row, whose pieces may be other groups'; 'columns' where neighbours in memory belong to
 * different results; 'finish' combines the pieces. */

#include "combine.h"

#include "reduction_layout.h"

/* Elements from .. to - 1 of a row that lies in one run: four vectors are asked for before the first is used. */
DEVICE G reduce_run(GLOBAL const ST *p, i64 from, i64 to, int lane, int lanes)
{
    G g = g_begin(p);
    i64 start = from + (i64)((16 - ((u64)(p + from) & 15)) & 15) / ST_SIZE;
    if (start > to)
        start = to;
    const i64 n = (to - start) / VW, step = lanes;
    GLOBAL const VEC *v = (GLOBAL const VEC *)(p + start);
    for (i64 i = from + lane; i < start; i += step)
        g = g_value(g, LD(p[i]), i);
    for (i64 i = lane; i < n; i += 4 * step) {
        const i64 i1 = i + step, i2 = i1 + step, i3 = i2 + step;
        const VEC a = v[i], b = v[i1 < n ? i1 : i], c = v[i2 < n ? i2 : i], d = v[i3 < n ? i3 : i];
        g = g_vector(g, a, start + i * VW);
        if (i1 < n)
            g = g_vector(g, b, start + i1 * VW);
        if (i2 < n)
            g = g_vector(g, c, start + i2 * VW);
        if (i3 < n)
            g = g_vector(g, d, start + i3 * VW);
    }
    for (i64 i = start + n * VW + lane; i < to; i += step)
        g = g_value(g, LD(p[i]), i);
    return g;
}

/* The first n of four values, 'step' positions apart. */
DEVICE G g_some(G g, T a, T b, T c, T d, int n, i64 i, i64 step)
{
    if (n == 4)
        return g_four(g, a, b, c, d, i, step);
    g = g_value(g, a, i);
    if (n > 1)
        g = g_value(g, b, i + step);
    if (n > 2)
        g = g_value(g, c, i + 2 * step);
    return g;
}

/* How many of i, i + step, i + 2 step, i + 3 step are below 'to'. */
DEVICE int reduce_count(i64 i, i64 step, i64 to)
{
    return i + 3 * step < to ? 4 : i + 2 * step < to ? 3 : i + step < to ? 2 : 1;
}

/* The same as reduce_run of a row that lies anyhow. */
DEVICE G reduce_strided(GLOBAL const ST *p, const tn__gpu_dims *w, i64 from, i64 to, int lane, int lanes)
{
    const i64 step = lanes;
    G g = g_begin(p);
    for (i64 i = from + lane; i < to; i += 4 * step) {
        const int n = reduce_count(i, step, to);
        const T a = LD(p[dims_at(w, i).a]), b = LD(p[dims_at(w, n > 1 ? i + step : i).a]);
        const T c = LD(p[dims_at(w, n > 2 ? i + 2 * step : i).a]), d = LD(p[dims_at(w, n > 3 ? i + 3 * step : i).a]);
        g = g_some(g, a, b, c, d, n, i, step);
    }
    return g;
}

DEVICE G reduce_row(GLOBAL const ST *p, const tn__gpu_reduction *f, i64 from, i64 to, int lane, int lanes)
{
    if (from >= to)
        return g_none();
    if (f->reduced.n == 1 && f->reduced.a[0] == 1)
        return reduce_run(p, from, to, lane, lanes);
    return reduce_strided(p, &f->reduced, from, to, lane, lanes);
}

KERNEL_N(single, GROUP_ITEMS / 2)(GLOBAL const ST *x, GLOBAL OT *out, GLOBAL i64 *index, FIXED tn__gpu_reduction f)
{
    const i64 row = GLOBAL_ID(0);
    if (row >= f.n_kept)
        return;
    const Offsets at = dims_at(&f.kept, row);
    g_store(out, index, at.b, reduce_row(x + at.a, &f, 0, f.n, 0, 1), f.n, f.factor);
}

KERNEL_BN(rows, GROUP_ITEMS)
(GLOBAL const ST *x, GLOBAL OT *out, GLOBAL i64 *index, GLOBAL G *partial, FIXED tn__gpu_reduction f)
{
    LOCAL_MEM(G, share, GROUP_ITEMS);
    const i64 row = (i64)GROUP_ID(0) * LOCAL_SIZE(1) + LOCAL_ID(1), from = GROUP_ID(1) * f.piece;
    const i64 to = from + f.piece < f.n ? from + f.piece : f.n;
    const int there = row < f.n_kept;
    const Offsets at = dims_at(&f.kept, there ? row : 0);
    G g = g_none();
    if (there)
        g = reduce_row(x + at.a, &f, from, to, LOCAL_ID(0), LOCAL_SIZE(0));
    g = group_all(g, share);
    if (!there || LOCAL_ID(0) != 0)
        return;
    if (f.pieces > 1)
        partial[row * f.pieces + GROUP_ID(1)] = g;
    else
        g_store(out, index, at.b, g, f.n, f.factor);
}

/* Group: LOCAL_SIZE(0) work items side by side, LOCAL_SIZE(1) rows of x at a time. */
KERNEL_BN(columns, GROUP_ITEMS)
(GLOBAL const ST *x, GLOBAL OT *out, GLOBAL i64 *index, GLOBAL G *partial, FIXED tn__gpu_reduction f)
{
    LOCAL_MEM(G, share, GROUP_ITEMS * REDUCE_WIDTH);
    const int lx = LOCAL_SIZE(0), ly = LOCAL_SIZE(1), item = LOCAL_ID(1) * lx + LOCAL_ID(0), all = lx * f.width;
    const i64 first = (i64)GROUP_ID(0) * all, column = first + LOCAL_ID(0) * f.width;
    const i64 from = GROUP_ID(1) * f.piece, to = from + f.piece < f.n ? from + f.piece : f.n, step = ly;
    const int there = column < f.n_kept;
    GLOBAL const ST *p = x + dims_at(&f.kept, there ? column : 0).a;
    G g[REDUCE_WIDTH];
    UNROLL
    for (int k = 0; k < REDUCE_WIDTH; k++)
        g[k] = there && k < f.width ? g_begin(p + k) : g_none();
    for (i64 i = from + LOCAL_ID(1); there && i < to; i += 4 * step) {
        const int n = reduce_count(i, step, to);
        GLOBAL const ST *pa = p + dims_at(&f.reduced, i).a, *pb = p + dims_at(&f.reduced, n > 1 ? i + step : i).a;
        GLOBAL const ST *pc = p + dims_at(&f.reduced, n > 2 ? i + 2 * step : i).a;
        GLOBAL const ST *pd = p + dims_at(&f.reduced, n > 3 ? i + 3 * step : i).a;
#if REDUCE_WIDTH > 1
        if (f.width > 1) {
            const VEC a = *(GLOBAL const VEC *)pa, b = *(GLOBAL const VEC *)pb;
            const VEC c = *(GLOBAL const VEC *)pc, d = *(GLOBAL const VEC *)pd;
            UNROLL
            for (int k = 0; k < REDUCE_WIDTH; k++)
                g[k] = g_some(g[k], LD(a.v[k]), LD(b.v[k]), LD(c.v[k]), LD(d.v[k]), n, i, step);
            continue;
        }
#endif
        g[0] = g_some(g[0], LD(*pa), LD(*pb), LD(*pc), LD(*pd), n, i, step);
    }
    UNROLL
    for (int k = 0; k < REDUCE_WIDTH; k++)
        if (k < f.width)
            share[LOCAL_ID(1) * all + LOCAL_ID(0) * f.width + k] = g[k];
    BARRIER();
    for (int c = item; c < all && first + c < f.n_kept; c += lx * ly) {
        G sum = share[c];
        for (int y = 1; y < ly; y++)
            sum = g_combine(sum, share[y * all + c]);
        if (f.pieces > 1)
            partial[(first + c) * f.pieces + GROUP_ID(1)] = sum;
        else
            g_store(out, index, dims_at(&f.kept, first + c).b, sum, f.n, f.factor);
    }
}

KERNEL_BN(finish, GROUP_ITEMS)(GLOBAL const G *partial, GLOBAL OT *out, GLOBAL i64 *index, FIXED tn__gpu_reduction f)
{
    LOCAL_MEM(G, share, GROUP_ITEMS);
    const i64 row = (i64)GROUP_ID(0) * LOCAL_SIZE(1) + LOCAL_ID(1);
    G g = g_none();
    for (int i = LOCAL_ID(0); row < f.n_kept && i < f.pieces; i += LOCAL_SIZE(0))
        g = g_combine(g, partial[row * f.pieces + i]);
    g = group_all(g, share);
    if (row < f.n_kept && LOCAL_ID(0) == 0)
        g_store(out, index, dims_at(&f.kept, row).b, g, f.n, f.factor);
}
