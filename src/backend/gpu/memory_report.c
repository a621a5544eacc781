/* backend/gpu/memory_report.c: what is told about device memory: that there is too little of it, and the summary. */
#include "backend/gpu/allocator_settings.h"
#include "backend/gpu/arena.h"
#include "core/error.h"
#include "core/tensor.h"
#include <stdarg.h>
#include <stdio.h>
#include <tenon/dtype.h>
#include <unistd.h>

/* Text that grows behind its beginning; length is that of the whole, also where it no longer fits. */
typedef struct text {
    char *s;
    size_t size, length;
} text;

static void add(text *t, const char *format, ...) TN_PRINTF(2, 3);

static void add(text *t, const char *format, ...)
{
    size_t at = TN_MIN(t->length, t->size);
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(t->s ? t->s + at : NULL, t->size - at, format, ap);
    va_end(ap);
    t->length += n > 0 ? (size_t)n : 0;
}

#define SIZE(bytes) tn__size_str((int64_t)(bytes)).s

/* ---- too little memory ---- */

static void note_held(tn__gpu_shortage *s, const tn__gpu_block *b)
{
    int i = s->n_held < TN__GPU_LARGEST ? s->n_held++ : TN__GPU_LARGEST;
    for (; i > 0 && s->held[i - 1].bytes < b->requested; i--)
        if (i < TN__GPU_LARGEST)
            s->held[i] = s->held[i - 1];
    if (i < TN__GPU_LARGEST) {
        s->held[i].bytes = b->requested;
        s->held[i].storage = b->storage;
        s->held[i].site = b->site;
    }
}

void tn__gpu_note_shortage(tn__gpu_arena *a, size_t asked, tn__gpu_shortage *s)
{
    a->stats.ooms++;
    s->asked = asked;
    s->allowed = tn__gpu_allowed(a);
    s->allocated = a->stats.allocated_bytes[TN__GPU_ALL].now;
    s->reserved = a->stats.reserved_bytes[TN__GPU_ALL].now;
    s->reserved_by_siblings = tn__gpu_held(a) - s->reserved;
    s->n_held = 0;
    for (const tn__gpu_block *first = a->segments; first; first = first->next_segment)
        for (const tn__gpu_block *b = first; b; b = b->after)
            if (b->state == TN__GPU_TAKEN)
                note_held(s, b);
}

enum { PROCESSES = 64 };

/* "Process 12 has 1.00 GiB memory in use. ", for each that uses the device. */
static void add_processes(text *t, const tn__gpu_device *dev)
{
    tn__gpu_process p[PROCESSES];
    const int32_t n = dev->driver->processes ? dev->driver->processes(dev, p, PROCESSES) : 0;
    for (int32_t i = 0; i < n; i++) {
        if (p[i].used_memory < 0) /* the driver does not know */
            continue;
        if (p[i].pid == getpid())
            add(t, "Including non-Tenon memory, this process has %s memory in use. ", SIZE(p[i].used_memory));
        else
            add(t, "Process %lld has %s memory in use. ", (long long)p[i].pid, SIZE(p[i].used_memory));
    }
}

typedef struct owner {
    const tn__storage *storage;
    tn__tensor_text what;
    const char *site;
    bool found;
} owner;

static void find_owner(const tn_tensor *t, void *ctx)
{
    owner *o = ctx;
    if (t->storage != o->storage || (o->found && t->base))
        return;
    o->found = true;
    o->what = tn__tensor_str(t);
    o->site = t->site;
}

/* The largest blocks: by shape where live tensors are listed (debug builds), else by who asked for them. */
static void add_largest(text *t, const tn__gpu_shortage *s)
{
    for (int i = 0; i < s->n_held; i++) {
        owner o = {.storage = s->held[i].storage, .site = s->held[i].site};
        if (o.storage)
            tn__tensors_each(find_owner, &o);
        add(t, "%s%s", i ? "\n    " : "\n  largest tensors:\n    ", SIZE(s->held[i].bytes));
        if (o.found)
            add(t, "  %s", o.what.s);
        else if (!o.storage)
            add(t, "  scratch");
        if (o.site)
            add(t, "  made at %s", o.site);
    }
}

static void add_help(text *t, const tn__gpu_device *dev, const tn__gpu_shortage *s, size_t left)
{
    if (s->allowed != INT64_MAX && (int64_t)s->asked <= (int64_t)left)
        add(t,
            "\n  the device has room: what is short is this process's share of %s "
            "(%s, tn_cuda_set_per_process_memory_fraction)",
            SIZE(s->allowed), dev->driver->limit_variable);
    if (s->reserved - s->allocated >= (int64_t)s->asked && !tn__gpu_settings_now()->expandable)
        add(t, "\n  what is reserved but unallocated lies in pieces between tensors: tensors released together, then "
               "tn_empty_cache(), would join them; TENON_CUDA_ALLOC_CONF=expandable_segments:True leaves fewer");
    add(t, "\n  nothing has changed: the operation can be tried again with a smaller batch, after releasing tensors, "
           "or on "
           "another device");
}

static void add_siblings(text *t, const tn__gpu_device *dev, const tn__gpu_shortage *s)
{
    char all[128];
    tn__gpu_siblings_str(dev, all, sizeof all);
    if (*all)
        add(t, "\n  %s are one GPU: beside %s these reserve %s", all, tn_device_text(dev->device).s,
            SIZE(s->reserved_by_siblings));
}

void tn__gpu_report_shortage(tn__gpu_device *dev, const tn__gpu_shortage *s)
{
    char buffer[3072] = "";
    text t = {buffer, sizeof buffer, 0};
    size_t left = 0, total = 0;
    dev->driver->memory_info(&left, &total);
    add(&t, "%s out of memory. Tried to allocate %s. GPU %d has a total capacity of %s of which %s is free. ",
        dev->driver->label, SIZE(s->asked), (int)dev->device.index, SIZE(total), SIZE(left));
    add_processes(&t, dev);
    if (s->allowed != INT64_MAX)
        add(&t, "%s allowed; ", SIZE(s->allowed));
    add(&t, "Of the allocated memory %s is allocated by Tenon, and %s is reserved by Tenon but unallocated.",
        SIZE(s->allocated), SIZE(s->reserved - s->allocated));
    add_siblings(&t, dev, s);
    add_largest(&t, s);
    add_help(&t, dev, s, left);
    tn__error(TN_ENOMEM, "%s", buffer);
}

/* ---- the summary: the table of torch.cuda.memory_summary ---- */

/* Numbers of a line are cut to the unit that the group's first line takes. */
static void add_number(text *t, int64_t n, int64_t leader, bool bytes)
{
    static const char *const sizes[] = {"B  ", "KiB", "MiB", "GiB", "TiB", "PiB"}, *const counts[] = {" ", "K", "M"};
    double least = bytes ? 768 * 1024 : 750 * 1000, step = bytes ? 1024 : 1000, l = (double)leader;
    size_t i = 0, last = bytes ? TN_COUNT(sizes) - 1 : TN_COUNT(counts) - 1;
    for (; i < last && l >= least; i++) {
        l /= step;
        n /= bytes ? 1024 : 1000;
    }
    if (bytes)
        add(t, " | %6lld %s", (long long)n, sizes[i]);
    else
        add(t, " | %7lld %s ", (long long)n, counts[i]);
}

static void add_line(text *t, const char *name, const tn__gpu_tally *c, const tn__gpu_tally *leader, bool bytes)
{
    add(t, "| %-21s", name);
    add_number(t, c->now, leader->now, bytes);
    add_number(t, c->peak, leader->peak, bytes);
    add_number(t, c->up, leader->up, bytes);
    add_number(t, c->down, leader->down, bytes);
    add(t, " |\n");
}

static const char double_rule[] = "|===========================================================================|\n",
                  rule[] = "|---------------------------------------------------------------------------|\n";

static void add_group(text *t, const char *name, const tn__gpu_tally *c, bool bytes)
{
    add(t, "%s", rule);
    add_line(t, name, &c[TN__GPU_ALL], &c[TN__GPU_ALL], bytes);
    add_line(t, "      from large pool", &c[TN__GPU_IN_LARGE], &c[TN__GPU_ALL], bytes);
    add_line(t, "      from small pool", &c[TN__GPU_IN_SMALL], &c[TN__GPU_ALL], bytes);
}

int64_t tn__gpu_summary(tn_device device, char *out, size_t size)
{
    const tn__gpu_driver *driver = tn__backend_of(device)->gpu;
    tn__gpu_statistics s;
    text t = {size ? out : NULL, size, 0};
    tn__gpu_statistics_of(device, &s);
    add(&t, "%s|%18sTenon %s memory summary, device ID %-19d |\n%s", double_rule, "", driver->label, (int)device.index,
        rule);
    add(&t, "|%12s%s OOMs: %-12lld | %6s %s retries: %-8lld  |\n%s", "", driver->label, (long long)s.ooms, "",
        driver->allocates, (long long)s.alloc_retries, double_rule);
    add(&t, "|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n");
    add_group(&t, "Allocated memory", s.allocated_bytes, true);
    add_group(&t, "Active memory", s.active_bytes, true);
    add_group(&t, "Requested memory", s.requested_bytes, true);
    add_group(&t, "GPU reserved memory", s.reserved_bytes, true);
    add_group(&t, "Non-releasable memory", s.inactive_split_bytes, true);
    add_group(&t, "Allocations", s.allocation, false);
    add_group(&t, "Active allocs", s.active, false);
    add_group(&t, "GPU reserved segments", s.segment, false);
    add_group(&t, "Non-releasable allocs", s.inactive_split, false);
    add(&t, "%s", rule);
    add_line(&t, "Oversize allocations", &s.oversize_allocation, &s.oversize_allocation, false);
    add(&t, "%s", rule);
    add_line(&t, "Oversize GPU segments", &s.oversize_segment, &s.oversize_segment, false);
    add(&t, "%s", double_rule);
    return (int64_t)t.length;
}
