/* backend/gpu/kernels/held.h: rows that their lanes keep in registers, so that memory is read once. Before it: HELD, how many
 * elements a lane keeps, and BEYOND, what stands for those past the end. Register k of vectors is element
 * (k / VW * lanes + lane) * VW + k % VW of the row, of single elements k * lanes + lane. */
DEVICE void hold(T *v, GLOBAL const ST *p, i64 step, int vector, i64 n, int lane, int lanes)
{
    if (vector) {
        UNROLL
        for (int j = 0; j < HELD / VW; j++) {
            const i64 i = ((i64)j * lanes + lane) * VW;
            const VEC w = *(GLOBAL const VEC *)(p + (i < n ? i : 0));
            UNROLL
            for (int k = 0; k < VW; k++)
                v[j * VW + k] = i < n ? LD(w.v[k]) : BEYOND;
        }
        return;
    }
    UNROLL
    for (int j = 0; j < HELD; j++) {
        const i64 i = (i64)j * lanes + lane;
        v[j] = i < n ? LD(p[i * step]) : BEYOND;
    }
}

DEVICE void let_go(const T *v, GLOBAL OT *p, i64 step, int vector, i64 n, int lane, int lanes)
{
#if ST_SIZE == OT_SIZE
    if (vector) {
        UNROLL
        for (int j = 0; j < HELD / VW; j++) {
            const i64 i = ((i64)j * lanes + lane) * VW;
            OVEC o;
            UNROLL
            for (int k = 0; k < VW; k++)
                o.v[k] = SVO(v[j * VW + k]);
            if (i < n)
                ((GLOBAL OVEC *)p)[i / VW] = o; /* by p + i nvcc stores each element for itself */
        }
        return;
    }
#endif
    UNROLL
    for (int j = 0; j < HELD; j++) {
        const i64 i = (i64)j * lanes + lane;
        if (i < n)
            p[i * step] = SVO(v[j]);
    }
}
