/* Copies and fills as programs beside Tenon ask for them: synchronous ones, between any two addresses, of rows, of words. A
 * synchronous copy is the asynchronous one on the default stream, for which the host waits then. */
#include "fakegpu/driver.h"
#include <stdlib.h>
#include <string.h>

static const void *address(tn__cu_ptr p)
{
    return (const void *)(uintptr_t)p;
}

static tn__cu_result waited(tn__cu_result r)
{
    return r ? r : cuStreamSynchronize(NULL);
}

tn__cu_result cuMemcpyHtoD_v2(tn__cu_ptr to, const void *from, size_t bytes)
{
    return waited(cuMemcpyHtoDAsync_v2(to, from, bytes, NULL));
}

tn__cu_result cuMemcpyDtoH_v2(void *to, tn__cu_ptr from, size_t bytes)
{
    return waited(cuMemcpyDtoHAsync_v2(to, from, bytes, NULL));
}

/* Within a device the host does not wait, as on a real one. */
tn__cu_result cuMemcpyDtoD_v2(tn__cu_ptr to, tn__cu_ptr from, size_t bytes)
{
    return cuMemcpyDtoDAsync_v2(to, from, bytes, NULL);
}

tn__cu_result cuMemcpyPeer(tn__cu_ptr to, tn__cu_context to_context, tn__cu_ptr from, tn__cu_context from_context,
                           size_t bytes)
{
    return cuMemcpyPeerAsync(to, to_context, from, from_context, bytes, NULL);
}

/* ---- rows ---- */

typedef struct side {
    char *at; /* a device's or the host's address of the first byte */
    size_t pitch;
    bool device, checked; /* checked: device memory or pinned memory, that queued work is ordered by */
} side;

typedef struct rows {
    char *to;
    const char *from; /* NULL: fill */
    size_t to_pitch, from_pitch, width, height;
    uint32_t value, size; /* of a fill: an element, and its bytes */
} rows;

static void fill_row(char *to, const rows *r)
{
    for (size_t i = 0; i < r->width; i += r->size)
        memcpy(to + i, &r->value, r->size);
}

static void run_rows(void *arg)
{
    rows *r = arg;
    for (size_t y = 0; y < r->height; y++)
        if (r->from)
            memmove(r->to + y * r->to_pitch, r->from + y * r->from_pitch, r->width);
        else
            fill_row(r->to + y * r->to_pitch, r);
    free(r);
}

static size_t extent(const rows *r, size_t pitch)
{
    return (r->height - 1) * pitch + r->width;
}

/* Queues it; the addresses are those that the program gave. Lock held. */
static tn__cu_result submit_rows(fake_stream *s, const char *what, const rows *job, bool to_checked, bool from_checked)
{
    fake_access access[2];
    int n = 0;
    rows *r = malloc(sizeof *r);
    if (!r)
        return TN__CU_OUT_OF_MEMORY;
    *r = *job;
    if (to_checked)
        access[n++] = (fake_access){job->to, extent(job, job->to_pitch), true};
    if (from_checked)
        access[n++] = (fake_access){job->from, extent(job, job->from_pitch), false};
    r->to = fake_host_address(job->to);
    r->from = fake_host_address(job->from);
    const fake_work work = {.what = what, .copy = true, .run = run_rows, .drop = free, .arg = r};
    tn__cu_result result = fake_submit(s, &work, access, n);
    if (result)
        free(r);
    return result;
}

/* ---- fills ---- */

static tn__cu_result fill(tn__cu_ptr to, size_t pitch, uint32_t value, uint32_t size, size_t width, size_t height,
                          tn__cu_stream stream)
{
    fake_context *c;
    fake_stream *s;
    tn__cu_result r = fake_enter_queue(stream, &c, &s);
    if (r)
        return r;
    if (!width || !height)
        return fake_leave(TN__CU_SUCCESS);
    if (!to || to % size || width > SIZE_MAX / size || (height > 1 && (pitch < width * size || pitch % size)))
        return fake_leave(TN__CU_INVALID_VALUE);
    const rows job = {.to = (char *)(uintptr_t)to,
                      .to_pitch = pitch,
                      .width = width * size,
                      .height = height,
                      .value = value,
                      .size = size};
    return fake_leave(submit_rows(s, "memset", &job, true, false));
}

tn__cu_result cuMemsetD8_v2(tn__cu_ptr to, unsigned char value, size_t n)
{
    return cuMemsetD8Async(to, value, n, NULL);
}

tn__cu_result cuMemsetD16_v2(tn__cu_ptr to, unsigned short value, size_t n)
{
    return fill(to, 0, value, 2, n, 1, NULL);
}

tn__cu_result cuMemsetD32_v2(tn__cu_ptr to, unsigned value, size_t n)
{
    return fill(to, 0, value, 4, n, 1, NULL);
}

tn__cu_result cuMemsetD16Async(tn__cu_ptr to, unsigned short value, size_t n, tn__cu_stream stream)
{
    return fill(to, 0, value, 2, n, 1, stream);
}

tn__cu_result cuMemsetD32Async(tn__cu_ptr to, unsigned value, size_t n, tn__cu_stream stream)
{
    return fill(to, 0, value, 4, n, 1, stream);
}

tn__cu_result cuMemsetD2D8_v2(tn__cu_ptr to, size_t pitch, unsigned char value, size_t width, size_t height)
{
    return fill(to, pitch, value, 1, width, height, NULL);
}

tn__cu_result cuMemsetD2D16_v2(tn__cu_ptr to, size_t pitch, unsigned short value, size_t width, size_t height)
{
    return fill(to, pitch, value, 2, width, height, NULL);
}

tn__cu_result cuMemsetD2D32_v2(tn__cu_ptr to, size_t pitch, unsigned value, size_t width, size_t height)
{
    return fill(to, pitch, value, 4, width, height, NULL);
}

tn__cu_result cuMemsetD2D8Async(tn__cu_ptr to, size_t pitch, unsigned char value, size_t width, size_t height,
                                tn__cu_stream stream)
{
    return fill(to, pitch, value, 1, width, height, stream);
}

tn__cu_result cuMemsetD2D16Async(tn__cu_ptr to, size_t pitch, unsigned short value, size_t width, size_t height,
                                 tn__cu_stream stream)
{
    return fill(to, pitch, value, 2, width, height, stream);
}

tn__cu_result cuMemsetD2D32Async(tn__cu_ptr to, size_t pitch, unsigned value, size_t width, size_t height,
                                 tn__cu_stream stream)
{
    return fill(to, pitch, value, 4, width, height, stream);
}

/* ---- copies of rows ---- */

static bool take_side(side *s, unsigned type, const void *host, tn__cu_ptr device, size_t x, size_t y, size_t pitch)
{
    const bool from_host = type == TN__CU_MEMORYTYPE_HOST;
    if (!from_host && type != TN__CU_MEMORYTYPE_DEVICE && type != TN__CU_MEMORYTYPE_UNIFIED)
        return false; /* an array: memory of textures */
    char *base = from_host ? (char *)(uintptr_t)host : (char *)(uintptr_t)device;
    if (!base)
        return false;
    *s = (side){.at = base + y * pitch + x, .pitch = pitch, .device = fake_device_of(base) != NULL};
    s->checked = s->device || fake_block_of(base);
    return type == TN__CU_MEMORYTYPE_UNIFIED || s->device != from_host || (!from_host && s->checked);
}

/* Memory of the host that is not pinned is read, or written, before the call returns. */
static tn__cu_result copy_rows(const tn__cu_memcpy_2d *m, tn__cu_stream stream, bool wait)
{
    fake_context *c;
    fake_stream *s;
    tn__cu_result r = fake_enter_queue(stream, &c, &s);
    if (r)
        return r;
    side to, from;
    if (!m || !take_side(&to, m->to_type, m->to_host, m->to_device, m->to_x, m->to_y, m->to_pitch) ||
        !take_side(&from, m->from_type, m->from_host, m->from_device, m->from_x, m->from_y, m->from_pitch))
        return fake_leave(TN__CU_INVALID_VALUE);
    if (!m->width || !m->height)
        return fake_leave(TN__CU_SUCCESS);
    if (m->height > 1 && (m->to_pitch < m->width || m->from_pitch < m->width))
        return fake_leave(TN__CU_INVALID_VALUE);
    const rows job = {to.at, from.at, to.pitch, from.pitch, m->width, m->height, 0, 0};
    r = submit_rows(s, "copy of rows", &job, to.checked, from.checked);
    if (!r && (wait || !to.checked || !from.checked)) {
        fake_synchronize(s);
        r = s->context->error;
    }
    return fake_leave(r);
}

tn__cu_result cuMemcpy2D_v2(const tn__cu_memcpy_2d *copy)
{
    return copy_rows(copy, NULL, true);
}

tn__cu_result cuMemcpy2DUnaligned_v2(const tn__cu_memcpy_2d *copy)
{
    return copy_rows(copy, NULL, true);
}

tn__cu_result cuMemcpy2DAsync_v2(const tn__cu_memcpy_2d *copy, tn__cu_stream stream)
{
    return copy_rows(copy, stream, false);
}

/* ---- between any two addresses ---- */

static bool is_device(tn__cu_ptr p)
{
    return fake_device_of(address(p)) != NULL; /* the devices do not change once they are made */
}

tn__cu_result cuMemcpyAsync(tn__cu_ptr to, tn__cu_ptr from, size_t bytes, tn__cu_stream stream)
{
    if (is_device(to) && is_device(from))
        return cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
    if (is_device(to))
        return cuMemcpyHtoDAsync_v2(to, address(from), bytes, stream);
    if (is_device(from))
        return cuMemcpyDtoHAsync_v2((void *)(uintptr_t)to, from, bytes, stream);
    const tn__cu_memcpy_2d m = {.from_type = TN__CU_MEMORYTYPE_UNIFIED,
                                .from_device = from,
                                .to_type = TN__CU_MEMORYTYPE_UNIFIED,
                                .to_device = to,
                                .width = bytes,
                                .height = 1};
    return cuMemcpy2DAsync_v2(&m, stream);
}

tn__cu_result cuMemcpy(tn__cu_ptr to, tn__cu_ptr from, size_t bytes)
{
    tn__cu_result r = cuMemcpyAsync(to, from, bytes, NULL);
    return is_device(to) && is_device(from) ? r : waited(r);
}
