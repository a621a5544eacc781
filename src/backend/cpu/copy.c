/* Copies between dtypes and layouts on the CPU: dense runs, strided ones, transposes in tiles. */
#include "backend/cpu/cpu.h"
#include "core/parallel.h"

enum {
    TILE = 64,
    HIGH = 1024,
    TILES = 8,
    SPARSE = 32
}; /* elements of a tile on a side, on the other; what is worth a thread */

static int64_t grain(size_t size)
{
    return TN__COPY_GRAIN / (int64_t)size;
}

/* The loop type through which values of one dtype pass on their way to another without loss that PyTorch does not have. */
static int pass_through(tn_dtype from, tn_dtype to)
{
    if (tn__dtype_is_float(from))
        return from == TN_F64 || to == TN_F64 ? TN__F64 : TN__F32;
    if (tn__dtype_is_float(to))
        return to == TN_F64 ? TN__F64 : TN__F32;
    return tn__dtypes[from].compute == TN_I64 || tn__dtypes[to].compute == TN_I64 ? TN__I64 : TN__I32;
}

typedef struct copy_job {
    const tn__iter *it;
    tn_dtype to, from;
    int type;
    bool stream;
    tn__strided_dims d, s; /* destination, source */
    tn__load direct;
} copy_job;

/* One run, dense on both sides. */
static void copy_run(void *ctx, int64_t begin, int64_t end)
{
    const copy_job *j = ctx;
    const int64_t size = (int64_t)tn__dtype_size(j->to);
    char *to = (char *)j->it->operand[0].data + begin * size;
    const char *from = (const char *)j->it->operand[1].data + begin * size;
    if (j->stream)
        tn__isa()->stream(to, from, (size_t)((end - begin) * size));
    else
        tn__isa()->move(to, 1, from, 1, end - begin, (size_t)size);
}

/* Dense runs of a pair of dtypes that have a loop of their own. */
static void copy_direct(void *ctx, int64_t begin, int64_t end)
{
    const copy_job *j = ctx;
    const tn__iter_operand *to = &j->it->operand[0], *from = &j->it->operand[1];
    j->direct((char *)to->data + begin * (int64_t)tn__dtype_size(j->to),
              (const char *)from->data + begin * (int64_t)tn__dtype_size(j->from), 1, end - begin);
}

/* One dense run of the type that values pass through: it needs no block. */
static bool is_plain(const tn__strided_dims *d, tn_dtype dtype, int type)
{
    return d->n == 1 && d->stride[0] == 1 && tn__dtypes[dtype].compute == dtype && tn__type_of(dtype) == type;
}

static void copy_blocks(void *ctx, int64_t begin, int64_t end)
{
    const copy_job *j = ctx;
    double block[TN__BLOCK], out[TN__BLOCK];
    const bool from_there = is_plain(&j->s, j->from, j->type), into_it = is_plain(&j->d, j->to, j->type) && !j->stream;
    const int64_t size = (int64_t)tn__dtype_size(j->to);
    for (int64_t i = begin; i < end; i += TN__BLOCK) {
        int64_t n = TN_MIN(TN__BLOCK, end - i);
        char *to = (char *)j->it->operand[0].data + i * size;
        const void *values = into_it ? (const void *)to : block;
        if (from_there)
            values = (const char *)j->it->operand[1].data + i * (int64_t)tn__dtype_size(j->from);
        else
            tn__load_strided(into_it ? (void *)to : block, j->type, j->from, j->it->operand[1].data, &j->s, i, n);
        if (into_it && !from_there)
            continue;
        if (j->stream) {
            tn__isa()->store[j->to][j->type](out, 1, values, n);
            tn__isa()->stream(to, out, (size_t)(n * size));
        } else {
            tn__store_strided(j->it->operand[0].data, j->to, &j->d, i, values, j->type, n);
        }
    }
}

/* ---- fills: one value along the destination's runs ---- */

enum { PATTERN = 4096 }; /* bytes: stays in the nearest cache */

typedef struct pattern {
    _Alignas(64) char bytes[PATTERN];
} pattern;

/* The element over and over. */
static void repeat(pattern *p, const char *value, size_t size, size_t bytes)
{
    bytes = TN_MIN(bytes, (size_t)PATTERN);
    memcpy(p->bytes, value, size);
    for (size_t have = size; have < bytes; have *= 2) /* sizes are powers of 2 */
        memcpy(p->bytes + have, p->bytes, TN_MIN(have, bytes - have));
}

static bool is_one_byte(const char *value, size_t size)
{
    return memcmp(value, value + 1, size - 1) == 0;
}

/* What is one byte over and over is the C library's: it knows how this processor fills memory best. */
static void fill_one_run(void *ctx, int64_t begin, int64_t end)
{
    const copy_job *j = ctx;
    const size_t size = tn__dtype_size(j->to), bytes = (size_t)(end - begin) * size;
    const char *value = j->it->operand[1].data;
    char *to = (char *)j->it->operand[0].data + (size_t)begin * size;
    if (!j->stream) {
        if (is_one_byte(value, size))
            memset(to, *value, bytes);
        else
            tn__isa()->move(to, 1, value, 0, end - begin, size);
        return;
    }
    pattern p;
    repeat(&p, value, size, bytes);
    for (size_t done = 0; done < bytes; done += PATTERN)
        tn__isa()->stream(to + done, p.bytes, TN_MIN(bytes - done, (size_t)PATTERN));
}

/* ---- elements that are only moved, whatever their steps: lines along one dimension, several beside each other ---- */

/* Elements: of a line where lines share memory, and of what is done at once; lines beside each other that are few. */
enum { LINE = 1024, PLOT = 16384, FEW = 8 };

typedef struct move_job {
    const tn__iter *it;
    int32_t run, beside; /* the dimension that lines go along, and that of those beside each other */
    int32_t cut;         /* which of both is done in parts of 'part' */
    int64_t part, parts;
    size_t size;
    bool stream; /* lines are dense on both sides, and long: past the caches (read backwards: flip 978 -> 1189 us) */
} move_job;

static void stream_rows(const tn__rows *r)
{
    for (int64_t i = 0; i < r->rows; i++)
        tn__isa()->stream(r->to + i * r->to_row, r->from + i * r->from_row, (size_t)r->n * r->size);
}

static void move_plots(void *ctx, int64_t begin, int64_t end)
{
    const move_job *j = ctx;
    const tn__iter *it = j->it;
    const int64_t *ds = it->operand[0].stride, *ss = it->operand[1].stride;
    for (int64_t t = begin; t < end; t++) {
        int64_t to = 0, from = 0, first = 0, rest = t;
        for (int32_t d = 0; d < it->ndim;
             d++) { /* in the destination's order: threads write lines of memory of their own */
            if ((d == j->run || d == j->beside) && d != j->cut)
                continue;
            int64_t at = rest % (d == j->cut ? j->parts : it->shape[d]);
            rest /= d == j->cut ? j->parts : it->shape[d];
            if (d == j->cut)
                at = first = at * j->part;
            to += at * ds[d];
            from += at * ss[d];
        }
        const int64_t some = TN_MIN(j->part, it->shape[j->cut] - first);
        const int64_t n = j->cut == j->run ? some : it->shape[j->run], lines = j->cut == j->beside ? some
                                                                               : j->beside < 0     ? 1
                                                                                               : it->shape[j->beside];
        const int64_t down = j->beside < 0 ? 0 : ds[j->beside], across = j->beside < 0 ? 0 : ss[j->beside];
        const int64_t size = (int64_t)j->size;
        const tn__rows rows = {.to = (char *)it->operand[0].data + to * size,
                               .from = (const char *)it->operand[1].data + from * size,
                               .to_step = ds[j->run],
                               .from_step = ss[j->run],
                               .to_row = down * size,
                               .from_row = across * size,
                               .n = n,
                               .rows = lines,
                               .size = j->size};
        if (j->stream)
            stream_rows(&rows);
        else
            tn__isa()->move_rows(&rows);
    }
}

/* Short pieces, where elements of one line of the source's memory go to many places of the destination: 'near' is the dimension
 * along which they lie there. A tile has few pieces beside each other, and many places of that dimension. */
enum { TILE_ROWS = 16, TILE_PLACES = 64 };

typedef struct tile_job {
    const tn__iter *it;
    int32_t beside, near;
    size_t size;
} tile_job;

/* How many places of a dimension are done at once. */
static int64_t at_once(const tile_job *j, int32_t d)
{
    return d == 0 ? j->it->shape[0] : d == j->beside ? TILE_ROWS : d == j->near ? TILE_PLACES : 1;
}

static void move_tiles(void *ctx, int64_t begin, int64_t end)
{
    const tile_job *j = ctx;
    const tn__iter *it = j->it;
    const int64_t size = (int64_t)j->size, *ds = it->operand[0].stride, *ss = it->operand[1].stride;
    for (int64_t t = begin; t < end; t++) {
        int64_t to = 0, from = 0, rest = t, some[TN_MAX_DIMS];
        for (int32_t d = 0; d < it->ndim; d++) {
            const int64_t most = at_once(j, d), parts = tn__div_up(it->shape[d], most), at = rest % parts * most;
            rest /= parts;
            some[d] = TN_MIN(most, it->shape[d] - at);
            to += at * ds[d];
            from += at * ss[d];
        }
        tn__rows rows = {.to = (char *)it->operand[0].data + to * size,
                         .from = (const char *)it->operand[1].data + from * size,
                         .to_step = ds[0],
                         .from_step = ss[0],
                         .to_row = ds[j->beside] * size,
                         .from_row = ss[j->beside] * size,
                         .n = it->shape[0],
                         .rows = some[j->beside],
                         .size = j->size};
        for (int64_t k = 0; k < some[j->near]; k++, rows.to += ds[j->near] * size, rows.from += ss[j->near] * size)
            tn__isa()->move_rows(&rows);
    }
}

/* Pieces of less than a line of memory each, of which the source has each in another line, but those of another dimension in the
 * same. */
static bool moved_in_tiles(const tn__iter *it, int32_t beside)
{
    tile_job j = {.it = it, .beside = beside, .size = tn__dtype_size(it->operand[0].dtype)};
    const int64_t size = (int64_t)j.size, *ss = it->operand[1].stride;
    if (beside < 1 || it->shape[0] * size >= 64 || it->shape[beside] < TILE_ROWS || ss[beside] * size < 64)
        return false;
    for (int32_t d = 1; d < it->ndim; d++)
        if (d != beside && it->shape[d] >= 8 && ss[d] > 0 && ss[d] * size <= 16 && ss[d] < ss[beside])
            j.near = d;
    if (!j.near)
        return false;
    int64_t tiles = 1;
    for (int32_t d = 0; d < it->ndim; d++)
        tiles *= tn__div_up(it->shape[d], at_once(&j, d));
    const int64_t plot = it->shape[0] * TILE_ROWS * TN_MIN(TILE_PLACES, it->shape[j.near]);
    tn__parallel_for(tiles, tn__div_up(grain(j.size), plot), move_tiles, &j);
    return true;
}

/* Do lines along dimension 0 go in pieces of several elements, however short they are? */
static bool goes_in_pieces(const tn__iter *it)
{
    const int64_t step = it->operand[1].stride[0], bytes = it->shape[0] * (int64_t)tn__dtype_size(it->operand[0].dtype);
    return it->operand[0].stride[0] == 1 && (step == 1 || ((step == 0 || step == -1) && bytes >= 16));
}

/* Dimensions but the first that the source is read along backwards are turned on both sides: a processor sees what is to be read
 * next where it comes in the order of memory. */
static void read_upwards(tn__iter *it)
{
    for (int32_t d = 1; d < it->ndim; d++) {
        const bool turn = it->operand[1].stride[d] < 0;
        for (int k = 0; k < 2 && turn; k++) {
            const int64_t size = (int64_t)tn__dtype_size(it->operand[k].dtype);
            it->operand[k].data = (char *)it->operand[k].data + (it->shape[d] - 1) * it->operand[k].stride[d] * size;
            it->operand[k].stride[d] = -it->operand[k].stride[d];
        }
    }
}

/* Lines go along the destination's memory, unless they were short and went element by element: then along the longest dimension,
 * in parts that stay in the nearest cache until the lines beside them have been written, too. */
static void move_all(const tn__iter *given, bool stream)
{
    tn__iter upwards = *given;
    const tn__iter *const it = &upwards;
    read_upwards(&upwards);
    move_job j = {.it = it, .beside = it->ndim > 1 ? 1 : -1, .size = tn__dtype_size(it->operand[0].dtype)};
    const bool pieces = goes_in_pieces(it);
    for (int32_t d = 1; d < it->ndim && it->shape[0] < 16 && !pieces; d++)
        if (it->shape[d] > it->shape[j.run] && it->shape[d] > 4)
            j.run = d;
    for (int32_t d = 2;
         d < it->ndim && it->shape[1] < FEW && pieces && it->shape[0] * (int64_t)j.size < TN__STREAM_LINE; d++)
        if (it->shape[d] > it->shape[j.beside])
            j.beside = d;
    if (pieces && moved_in_tiles(it, j.beside))
        return;
    if (j.run)
        j.beside = 0;
    j.stream = stream && it->operand[0].stride[j.run] == 1 && it->operand[1].stride[j.run] == 1 &&
               it->shape[j.run] * (int64_t)j.size >= TN__STREAM_LINE;
    j.cut = j.run || j.beside < 0 ? j.run : j.beside;
    j.part = j.run ? LINE : j.beside < 0 ? PLOT : TN_MAX((j.beside > 1 ? LINE : PLOT) / it->shape[0], 1);
    j.parts = tn__div_up(it->shape[j.cut], j.part);
    const int64_t other = j.cut == j.run ? j.beside : j.run;
    const int64_t plot = TN_MIN(j.part, it->shape[j.cut]) * (other < 0 ? 1 : it->shape[other]);
    tn__parallel_for(tn__div_up(it->numel, it->shape[j.cut] * (other < 0 ? 1 : it->shape[other])) * j.parts,
                     tn__div_up(grain(j.size), plot), move_plots, &j);
}

/* ---- transposition: the source is dense, or nearly, along another dimension than the destination ---- */

typedef struct transpose_job {
    const tn__iter *it;
    int32_t dim; /* where the source is dense, or nearly */
    int64_t size;
    int64_t high;             /* elements of a tile along dimension 0; along dim: TILE */
    int64_t tiles_i, tiles_j; /* along dimension 0, and dim */
    bool stream;
} transpose_job;

/* Offset of everything but dimensions 0 and dim. */
static void plane(const transpose_job *j, int64_t index, int64_t *to, int64_t *from)
{
    *to = *from = 0;
    for (int32_t d = 1; d < j->it->ndim; d++) {
        if (d == j->dim)
            continue;
        int64_t at = index % j->it->shape[d];
        index /= j->it->shape[d];
        *to += at * j->it->operand[0].stride[d];
        *from += at * j->it->operand[1].stride[d];
    }
}

/* The next tile's rows: too short for the hardware to see them coming. */
static void prefetch_rows(const char *s, int64_t rows, int64_t stride, int64_t bytes)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < bytes; k += TN_CACHE_LINE)
            __builtin_prefetch(s + r * stride + k, 0, 2);
}

/* Rows that lie with gaps between their elements become dense ones. */
static const char *gather_rows(const transpose_job *j, const char *s, char *dense, int64_t rows, int64_t cols)
{
    const int64_t *ss = j->it->operand[1].stride;
    const tn__rows r = {.to = dense,
                        .from = s,
                        .to_step = 1,
                        .from_step = ss[j->dim],
                        .to_row = TILE * j->size,
                        .from_row = ss[0] * j->size,
                        .n = cols,
                        .rows = rows,
                        .size = (size_t)j->size};
    tn__isa()->move_rows(&r);
    return dense;
}

/* The part of the destination and of the source that tile t covers, of high x TILE elements at most. */
typedef struct tile_part {
    char *to;
    const char *from;
    int64_t rows, cols; /* along dimension 0, and dim */
    int64_t after;      /* rows of the next */
} tile_part;

static tile_part part_of(const transpose_job *j, int64_t t)
{
    const tn__iter *it = j->it;
    const int64_t *ds = it->operand[0].stride, *ss = it->operand[1].stride;
    const int64_t i = t % j->tiles_i * j->high, k = t / j->tiles_i % j->tiles_j * TILE;
    int64_t to, from;
    plane(j, t / j->tiles_i / j->tiles_j, &to, &from);
    return (tile_part){.to = (char *)it->operand[0].data + (to + i * ds[0] + k * ds[j->dim]) * j->size,
                       .from = (const char *)it->operand[1].data + (from + i * ss[0] + k * ss[j->dim]) * j->size,
                       .rows = TN_MIN(j->high, it->shape[0] - i),
                       .cols = TN_MIN(TILE, it->shape[j->dim] - k),
                       .after = TN_MAX(TN_MIN(j->high, it->shape[0] - i - j->high), 0)};
}

/* Both are dense, each along its dimension: what a line of the source's memory has goes to as many rows of the destination, which
 * are written as far as the tile goes; rows that are less than a line follow each other. */
static void transpose_lines(void *ctx, int64_t begin, int64_t end)
{
    const transpose_job *j = ctx;
    const int64_t down = j->it->operand[0].stride[j->dim], across = j->it->operand[1].stride[0],
                  line = j->it->shape[0] * j->size < TN_CACHE_LINE ? TILE : TN_CACHE_LINE / j->size;
    for (int64_t t = begin; t < end; t++) {
        const tile_part p = part_of(j, t);
        for (int64_t c = 0; c < p.cols; c += line)
            tn__isa()->transpose(p.to + c * down * j->size, down, p.from + c * j->size, across, p.rows,
                                 TN_MIN(line, p.cols - c), (size_t)j->size);
    }
}

/* Whole lines: a cache holds but few rows that lie a power of 2 apart. */
static void transpose_tiles(void *ctx, int64_t begin, int64_t end)
{
    const transpose_job *j = ctx;
    const int64_t *ds = j->it->operand[0].stride, *ss = j->it->operand[1].stride, step = ss[j->dim];
    _Alignas(64) char tile[TILE * TILE * 8], dense[TILE * TILE * 8];
    for (int64_t t = begin; t < end; t++) {
        const tile_part p = part_of(j, t);
        const int64_t row = ss[0] * j->size;
        prefetch_rows(p.from + p.rows * row, p.after, row, p.cols * step * j->size);
        const char *from = step == 1 ? p.from : gather_rows(j, p.from, dense, p.rows, p.cols);
        tn__isa()->transpose(tile, TILE, from, step == 1 ? ss[0] : TILE, p.rows, p.cols, (size_t)j->size);
        for (int64_t c = 0; c < p.cols; c++) {
            char *line = p.to + c * ds[j->dim] * j->size;
            if (j->stream)
                tn__isa()->stream(line, tile + c * TILE * j->size, (size_t)(p.rows * j->size));
            else
                tn__isa()->move(line, ds[0], tile + c * TILE * j->size, 1, p.rows, (size_t)j->size);
        }
    }
}

static bool transpose(const tn__iter *it, int64_t whole)
{
    transpose_job j = {.it = it, .size = (int64_t)tn__dtype_size(it->operand[0].dtype)};
    const int64_t step = it->operand[0].stride[0]; /* a line of memory has some of the destination at least */
    if (it->operand[0].dtype != it->operand[1].dtype || step < 1 || step * j.size > SPARSE ||
        it->operand[1].stride[0] <= 1)
        return false;
    int64_t least = SPARSE / j.size + 1; /* a line of memory has some of the source, too */
    for (int32_t d = 1; d < it->ndim; d++) {
        const int64_t apart = it->operand[1].stride[d];
        if (apart > 0 && apart < least && apart < it->operand[1].stride[0] && it->shape[d] >= 8) {
            least = apart;
            j.dim = d;
        }
    }
    if (!j.dim || it->shape[0] < 8)
        return false;
    j.stream = step == 1 && tn__cpu_streams(whole * j.size, whole * j.size);
    const bool lines = step == 1 && it->operand[1].stride[j.dim] == 1 && !j.stream;
    j.high = lines ? HIGH : TILE;
    j.tiles_i = tn__div_up(it->shape[0], j.high);
    j.tiles_j = tn__div_up(it->shape[j.dim], TILE);
    int64_t planes = it->numel / (it->shape[0] * it->shape[j.dim]);
    tn__parallel_for(planes * j.tiles_i * j.tiles_j, TN_MAX(TILES * TILE / TN_MIN(j.high, it->shape[0]), 1),
                     lines ? transpose_lines : transpose_tiles, &j);
    return true;
}

static void dims_of(tn__strided_dims *d, const tn__iter *it, int k)
{
    d->n = it->ndim;
    for (int32_t i = 0; i < it->ndim; i++) {
        d->shape[i] = it->shape[i];
        d->stride[i] = it->operand[k].stride[i];
    }
}

/* Is so much written past the caches? Of what is read again and again, as of one element, each counts once. */
static bool should_stream(const copy_job *j, int64_t whole)
{
    int64_t read = whole;
    for (int32_t i = 0; i < j->s.n; i++)
        read /= j->s.stride[i] ? 1 : j->s.shape[i];
    return tn__cpu_streams(whole * (int64_t)tn__dtype_size(j->to), read * (int64_t)tn__dtype_size(j->from));
}

/* whole: elements of the result that this is a part of. */
static void copy(const tn__iter *it, int64_t whole)
{
    if (it->numel == 0)
        return;
    if (it->operand[0].dtype == it->operand[1].dtype && it->ndim == 1 && it->operand[0].stride[0] == 1 &&
        it->operand[1].stride[0] == 1 && it->numel <= 16384) {
        tn__isa()->move(it->operand[0].data, 1, it->operand[1].data, 1, it->numel,
                        tn__dtype_size(it->operand[0].dtype));
        return;
    }
    if (transpose(it, whole))
        return;
    copy_job j = {.it = it, .to = it->operand[0].dtype, .from = it->operand[1].dtype};
    if (j.to == j.from)
        j.to = j.from = tn__dtype_word(j.to);
    j.type = pass_through(j.from, j.to);
    dims_of(&j.d, it, 0);
    dims_of(&j.s, it, 1);
    const bool one_run = it->ndim == 1 && j.d.stride[0] == 1;
    j.stream = one_run && should_stream(&j, whole);
    if (j.to == TN_I32 && j.from == TN_BF16 && one_run && j.s.stride[0] == 1 && !j.stream)
        j.direct = tn__isa()->bfloats_to_ints;
    if (j.to != j.from)
        tn__parallel_for(it->numel, grain(TN_MAX(tn__dtype_size(j.to), tn__dtype_size(j.from))),
                         j.direct ? copy_direct : copy_blocks, &j);
    else if (one_run && j.s.stride[0] == 1)
        tn__parallel_for(it->numel, grain(tn__dtype_size(j.to)), copy_run, &j);
    else if (one_run && j.s.stride[0] == 0)
        tn__parallel_for(it->numel, grain(tn__dtype_size(j.to)), fill_one_run, &j);
    else
        move_all(it, should_stream(&j, whole));
}

tn_status tn__cpu_iter_copy(tn_device device, const tn__iter *it)
{
    (void)device;
    copy(it, it->numel);
    return TN_OK;
}

/* ---- structural rows that are copies ---- */

void tn__cpu_copy_part(const tn__view *out, const tn__view *in, int64_t whole)
{
    tn__iter it;
    tn__iter_copy(&it, out, in);
    copy(&it, whole);
}

void tn__cpu_copy_view(const tn__view *out, const tn__view *in)
{
    tn__cpu_copy_part(out, in, out->numel);
}
