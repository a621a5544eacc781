/* ops/sort/cpu_bin.inc.h: bins of elements of type T. The formula is PyTorch's, in T, so that what is near an edge is where
 * PyTorch has it. */
static void BINS(const bin_job *j, int64_t begin, int64_t end)
{
    const T *x = j->l->in[0].data, *edges = j->l->in[1].data;
    int64_t *out = j->l->out[0].data;
    const int64_t bins = j->l->in[1].numel - 1;
    const bool searched = j->how == TN__BIN_EDGES;
    const T low = searched ? edges[0] : (T)j->low, high = searched ? edges[bins] : (T)j->high;
    if (searched) {
        const int way = tn__isa()->sort.ascends[BEHIND(j)](edges, bins + 1) ? 3 : 1;
        for (int64_t i = begin; i < end; i += TN__BLOCK)
            tn__isa()->sort.places[BEHIND(j)](out + i, edges, bins + 1, x + i, TN_MIN(end - i, TN__BLOCK), way);
        for (int64_t i = begin; i < end; i++)
            out[i] = x[i] >= low && x[i] <= high ? TN_MIN(out[i] - 1, bins - 1) : -1;
        return;
    }
    const T width = high - low;
    const bool near = j->how == TN__BIN_NEAR;
    for (int64_t i = begin; i < end; i++) {
        if (!(x[i] >= low && x[i] <= high)) {
            out[i] = -1;
            continue;
        }
        int64_t at = (int64_t)((x[i] - low) * (T)bins / width);
        if (near) {
            const int64_t from = at > 1 ? at - 1 : 0, to = TN_MIN(at + 2, bins + 1);
            at = from;
            while (at < to && !(edges[at] > x[i]))
                at++;
            at--;
        }
        out[i] = TN_MIN(at, bins - 1);
    }
}
#undef T
#undef BINS
#undef BEHIND
