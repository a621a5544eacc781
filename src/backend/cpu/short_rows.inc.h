/* backend/cpu/short_rows.inc.h: many rows of a few elements each, as they are: no call and no loop for each of them. */

/* What moves at once where rows are shorter: bytes, 2 or 4 of them, 8, 16. The last piece of a row overlaps the one before. */
typedef uint16_t piece_2 __attribute__((aligned(1), may_alias));
typedef uint32_t piece_4 __attribute__((aligned(1), may_alias));
typedef uint64_t piece_8 __attribute__((aligned(1), may_alias));
typedef uint8_t bytes_16 __attribute__((vector_size(16)));
typedef uint8_t piece_16 __attribute__((vector_size(16), aligned(1), may_alias));

enum { MOST_PIECES = 16 }; /* of a short row */

/* Rows of 'pieces' pieces, all of which are read before the first is written. */
#define ROWS_OF(name, P, pieces) \
    static void name(const tn__rows *r, int64_t bytes) \
    { \
        char *d = r->to; \
        const char *s = r->from; \
        const int64_t last = bytes - (int64_t)sizeof(P), down = r->to_row, across = r->from_row; \
        for (int64_t i = 0; i < r->rows; i++, d += down, s += across) { \
            P v[pieces]; \
            for (int k = 0; k < (pieces)-1; k++) \
                v[k] = *(const P *)(const void *)(s + k * (int64_t)sizeof(P)); \
            v[(pieces)-1] = *(const P *)(const void *)(s + last); \
            for (int k = 0; k < (pieces)-1; k++) \
                *(P *)(void *)(d + k * (int64_t)sizeof(P)) = v[k]; \
            *(P *)(void *)(d + last) = v[(pieces)-1]; \
        } \
    }
ROWS_OF(rows_1, uint8_t, 1)
ROWS_OF(rows_2, piece_2, 1)
ROWS_OF(rows_3, piece_2, 2)
ROWS_OF(rows_4, piece_4, 1)
ROWS_OF(rows_7, piece_4, 2)
ROWS_OF(rows_8, piece_8, 1)
ROWS_OF(rows_15, piece_8, 2)
ROWS_OF(rows_16, piece_16, 1)
ROWS_OF(rows_32, piece_16, 2)
ROWS_OF(rows_48, piece_16, 3)
ROWS_OF(rows_64, piece_16, 4)
#undef ROWS_OF

/* Rows that are written from the last one to the first are no stream that a processor sees: each line of them would be read
 * first. The C library's copy of long rows writes without; slow it is only where both sides lie almost alike. */
static void long_rows(const tn__rows *r, size_t bytes)
{
    const bool alike = (((uintptr_t)r->to ^ (uintptr_t)r->from) & 63) == 0 && ((r->to_row | r->from_row) & 63) == 0;
    const bool by_library = r->to_row < 0 && bytes >= 4096 && alike;
    for (int64_t i = 0; i < r->rows; i++) {
        char *to = r->to + i * r->to_row;
        const char *from = r->from + i * r->from_row;
        if (by_library)
            memcpy(to, from, bytes);
        else
            copy_dense(to, from, bytes);
    }
}

/* Rows that are dense on both sides. */
static void dense_rows(const tn__rows *r, int64_t bytes)
{
    typedef void some(const tn__rows *r, int64_t bytes);
    static some *const below_17[] = {NULL,    rows_1,  rows_2,  rows_3,  rows_4,  rows_7,  rows_7,  rows_7, rows_8,
                                     rows_15, rows_15, rows_15, rows_15, rows_15, rows_15, rows_15, rows_16};
    static some *const above_16[] = {rows_32, rows_48, rows_64};
    if (bytes <= 16)
        below_17[bytes](r, bytes);
    else if (bytes <= 64)
        above_16[(bytes - 17) / 16](r, bytes);
    else
        long_rows(r, (size_t)bytes);
}

/* 16 bytes of elements in the other order. */
ALWAYS bytes_16 backwards(bytes_16 v, size_t size)
{
    if (size == 1)
        return __builtin_shufflevector(v, v, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    if (size == 2)
        return __builtin_shufflevector(v, v, 14, 15, 12, 13, 10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1);
    if (size == 4)
        return __builtin_shufflevector(v, v, 12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    return __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
}

/* Rows of 16 bytes at least, each read backwards from the element that 'from' points to. */
ALWAYS void back_rows_of(const tn__rows *r, int64_t bytes, size_t size)
{
    const int64_t last = bytes - 16;
    for (int64_t i = 0; i < r->rows; i++) {
        char *d = r->to + i * r->to_row;
        const char *s = r->from + i * r->from_row + (int64_t)size - bytes;
        for (int64_t k = 0; k < last; k += 16)
            *(piece_16 *)(void *)(d + k) = backwards(*(const piece_16 *)(const void *)(s + last - k), size);
        *(piece_16 *)(void *)(d + last) = backwards(*(const piece_16 *)(const void *)s, size);
    }
}

static void back_rows(const tn__rows *r, int64_t bytes)
{
    switch (r->size) {
    case 1: back_rows_of(r, bytes, 1); break;
    case 2: back_rows_of(r, bytes, 2); break;
    case 4: back_rows_of(r, bytes, 4); break;
    default: back_rows_of(r, bytes, 8);
    }
}

/* Rows of 16 bytes at least, each of one element of U. */
#define SAME_ROWS(U) \
    static void same_rows_##U(const tn__rows *r, int64_t bytes) \
    { \
        typedef U all __attribute__((vector_size(16))); \
        typedef U any_all __attribute__((vector_size(16), aligned(1), may_alias)); \
        for (int64_t i = 0; i < r->rows; i++) { \
            char *d = r->to + i * r->to_row; \
            const all v = *(const U *)(const void *)(r->from + i * r->from_row) - (all){0}; \
            for (int64_t k = 0; k < bytes - 16; k += 16) \
                *(any_all *)(void *)(d + k) = v; \
            *(any_all *)(void *)(d + bytes - 16) = v; \
        } \
    }
SAME_ROWS(uint8_t)
SAME_ROWS(uint16_t)
SAME_ROWS(uint32_t)
SAME_ROWS(uint64_t)
#undef SAME_ROWS

static void same_rows(const tn__rows *r, int64_t bytes)
{
    switch (r->size) {
    case 1: same_rows_uint8_t(r, bytes); break;
    case 2: same_rows_uint16_t(r, bytes); break;
    case 4: same_rows_uint32_t(r, bytes); break;
    default: same_rows_uint64_t(r, bytes);
    }
}

/* Others go along whichever is longer: the rows, or one element of each of them, step by step. */
static void stepped_rows(const tn__rows *r)
{
    const int64_t size = (int64_t)r->size;
    if (r->n < 16 && r->rows > r->n && r->to_row % size == 0 && r->from_row % size == 0)
        for (int64_t k = 0; k < r->n; k++)
            move(r->to + k * r->to_step * size, r->to_row / size, r->from + k * r->from_step * size, r->from_row / size,
                 r->rows, r->size);
    else
        for (int64_t i = 0; i < r->rows; i++)
            move(r->to + i * r->to_row, r->to_step, r->from + i * r->from_row, r->from_step, r->n, r->size);
}

static void move_rows(const tn__rows *r)
{
    const int64_t bytes = r->n * (int64_t)r->size;
    const bool short_ones = r->to_step == 1 && bytes >= 16 && bytes <= 16 * MOST_PIECES;
    if (r->to_step == 1 && r->from_step == 1)
        dense_rows(r, bytes);
    else if (short_ones && r->from_step == -1)
        back_rows(r, bytes);
    else if (short_ones && r->from_step == 0)
        same_rows(r, bytes);
    else
        stepped_rows(r);
}
