/* backend/gpu/kernels/held.h: rows that their lanes keep in registers, so that memory is read once. Before it: HELD, how many
 * elements a lane keeps, and BEYOND, what stands for those past the end. Register k of vectors is element
 * (k / VW * lanes + lane) * VW + k % VW of the row, of single elements k * lanes + lane. An int counts them, and of single ones
 * the address goes on from one to the next, so that not all addresses take registers at once. */
DEVICE void hold(T *v, GLOBAL const ST *p, i64 step, int vector, int n, int lane, int lanes)
{
    if (vector) {
        UNROLL
        for (int j = 0; j < HELD / VW; j++) {
            const int at = j * lanes + lane, i = at * VW;
            const VEC w = ((GLOBAL const VEC *)p)[i < n ? at : 0];
            UNROLL
            for (int k = 0; k < VW; k++)
                v[j * VW + k] = i < n ? LD(w.v[k]) : BEYOND;
        }
        return;
    }
    p += lane * step;
    UNROLL
    for (int j = 0; j < HELD; j++, p += lanes * step)
        v[j] = j * lanes + lane < n ? LD(*p) : BEYOND;
}

DEVICE void let_go(const T *v, GLOBAL OT *p, i64 step, int vector, int n, int lane, int lanes)
{
#if ST_SIZE == OT_SIZE
    if (vector) {
        UNROLL
        for (int j = 0; j < HELD / VW; j++) {
            const int i = (j * lanes + lane) * VW;
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
    p += lane * step;
    UNROLL
    for (int j = 0; j < HELD; j++, p += lanes * step)
        if (j * lanes + lane < n)
            *p = SVO(v[j]);
}
