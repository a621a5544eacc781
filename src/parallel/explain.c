/* What a step cost: times between its points, bytes that crossed, and what bounds it. */
#include "parallel/parallel.h"
#include <stdarg.h>
#include <stdio.h>

/* ---- the report ---- */

/* Milliseconds between two events; -1 where either was not part of the step. */
static double between(tn_event *from, tn_event *to)
{
    double ms = 0;
    if (!from || !to || tn_event_synchronize(from) || tn_event_synchronize(to) || tn_event_elapsed_time(from, to, &ms))
        return -1;
    return ms > 0 ? ms : 0;
}

/* From the last point before it that the device passed. */
static double phase(const tn__step_events *c, tn__step_point what)
{
    tn__step_point before = what;
    while (before > TN__POINT_BEGIN && !c->record.reached[--before])
        continue;
    return between(c->event[before], c->event[what]);
}

static tn_parallel_report report_of(tn_team_step *s, size_t i)
{
    tn__step_events c = tn__step_read(s, i);
    const tn__record *r = &c.record;
    const tn_parallel_report out = {
        .device = s->device[i],
        .samples = r->samples,
        .scatter_ms = phase(&c, TN__POINT_SCATTERED),
        .broadcast_ms = phase(&c, TN__POINT_BROADCAST),
        .forward_ms = phase(&c, TN__POINT_FORWARD),
        .gather_ms = phase(&c, TN__POINT_GATHERED),
        .backward_ms = between(c.event[TN__POINT_BACKWARD], r->last),
        .reduce_ms = between(r->last, c.event[TN__POINT_REDUCED]),
        .host_ms = r->host_ms,
        .scatter_bytes = r->bytes[TN__TRAFFIC_SCATTER],
        .broadcast_bytes = r->bytes[TN__TRAFFIC_BROADCAST],
        .gather_bytes = r->bytes[TN__TRAFFIC_GATHER],
        .reduce_bytes = r->bytes[TN__TRAFFIC_REDUCE],
    };
    for (int k = 0; k < TN__POINTS; k++)
        tn_event_release(c.event[k]);
    tn_event_release(c.record.last);
    return out;
}

/* The last step, with a reference; NULL: there was none. */
static tn_team_step *last_step(tn_team *t)
{
    pthread_mutex_lock(&t->lock);
    tn_team_step *s = t->resets == atomic_load(&tn__resets) ? t->last : NULL;
    if (s && s->refs++ == 0)
        tn_team_retain(t);
    pthread_mutex_unlock(&t->lock);
    return s;
}

size_t tn_team_report(tn_team *t, tn_parallel_report *out, size_t cap)
{
    tn__enter(TN__NOWHERE);
    tn_team_step *s = t ? last_step(t) : NULL;
    if (!t)
        tn__poisoned("tn_team_report");
    if (!s)
        return 0;
    size_t n = s->n;
    tn_status had = tn_error_code();
    for (size_t i = 0; i < n && i < cap; i++)
        out[i] = report_of(s, i);
    if (!had && tn_error_code() != TN_ECANCELED) /* times of a device that is lost are just not there */
        tn_error_clear();
    tn_team_step_release(s);
    return n;
}

/* ---- as text ---- */

typedef struct text {
    char *out;
    size_t size;
    int64_t n;
} text;

static void TN_PRINTF(2, 3) add(text *t, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    size_t left = (size_t)t->n < t->size ? t->size - (size_t)t->n : 0;
    int n = vsnprintf(left ? t->out + t->n : NULL, left, format, ap);
    va_end(ap);
    t->n += n > 0 ? n : 0;
}

enum { SCATTER, BROADCAST, FORWARD, GATHER, BACKWARD, REDUCE, PHASES };
enum { BAR = 24 };
static const char *const phase_names[PHASES] = {"scatter", "broadcast", "forward", "gather", "backward", "reduce"};

static double phase_ms(const tn_parallel_report *r, int p)
{
    const double ms[PHASES] = {r->scatter_ms, r->broadcast_ms, r->forward_ms,
                               r->gather_ms,  r->backward_ms,  r->reduce_ms};
    return ms[p];
}

static int64_t phase_bytes(const tn_parallel_report *r, int p)
{
    const int64_t bytes[PHASES] = {r->scatter_bytes, r->broadcast_bytes, 0, r->gather_bytes, 0, r->reduce_bytes};
    return bytes[p];
}

/* "1.5 MiB" */
static void add_bytes(text *t, int64_t n)
{
    if (n >= INT64_C(1) << 30)
        add(t, "  %.1f GiB", (double)n / (double)(INT64_C(1) << 30));
    else if (n >= INT64_C(1) << 20)
        add(t, "  %.1f MiB", (double)n / (double)(INT64_C(1) << 20));
    else if (n >= 1024)
        add(t, "  %.1f KiB", (double)n / 1024);
    else if (n)
        add(t, "  %lld B", (long long)n);
}

static void add_row(text *t, const tn_parallel_report *r, int p, double longest)
{
    double ms = phase_ms(r, p);
    if (ms < 0 && !phase_bytes(r, p))
        return;
    int length = ms > 0 && longest > 0 ? (int)(ms / longest * BAR + 0.5) : 0;
    add(t, "    %-9s %9.3f ms", phase_names[p], ms < 0 ? 0 : ms);
    if (length || phase_bytes(r, p))
        add(t, "  ");
    for (int i = 0; i < length; i++)
        add(t, "#");
    if (phase_bytes(r, p))
        add(t, "%*s", BAR - length, "");
    add_bytes(t, phase_bytes(r, p));
    add(t, "\n");
}

/* A phase without what it waited for the slowest device: outputs are joined, and gradients added, when all are there. */
static double own_ms(const tn_parallel_report *r, size_t n, size_t i, int phase)
{
    int other = phase == GATHER ? FORWARD : phase == REDUCE ? BACKWARD : -1;
    double slowest = 0, ms = phase_ms(&r[i], phase);
    if (other < 0 || ms < 0)
        return ms;
    for (size_t k = 0; k < n; k++)
        slowest = TN_MAX(slowest, phase_ms(&r[k], other));
    return TN_MAX(ms - (slowest - TN_MAX(phase_ms(&r[i], other), 0)), 0);
}

/* The longest phase of all devices: what to make shorter first. */
static void add_bound(text *t, const tn_parallel_report *r, size_t n)
{
    double most = -1, total = 0;
    size_t who = 0;
    int what = 0;
    for (size_t i = 0; i < n; i++)
        for (int p = 0; p < PHASES; p++)
            if (own_ms(r, n, i, p) > most) {
                most = own_ms(r, n, i, p);
                who = i;
                what = p;
            }
    for (int p = 0; p < PHASES; p++)
        total += TN_MAX(phase_ms(&r[who], p), 0);
    if (most < 0 || total <= 0)
        return;
    add(t, "  bound by %s on %s: %.0f %% of that device's step", phase_names[what], tn_device_text(r[who].device).s,
        100 * most / total);
    bool computes = what == FORWARD || what == BACKWARD, host = what == FORWARD && r[who].host_ms > 0.8 * most;
    add(t, "%s\n",
        host       ? "; the host: queueing it takes as long, so larger batches cost little more"
        : computes ? ""
                   : "; larger batches move less for the same work");
}

static void add_rows(text *t, const tn_parallel_report *r, size_t n)
{
    double longest = 0;
    for (size_t i = 0; i < n; i++)
        for (int p = 0; p < PHASES; p++)
            longest = TN_MAX(longest, phase_ms(&r[i], p));
    for (size_t i = 0; i < n; i++) {
        add(t, "  %s: %lld sample%s\n", tn_device_text(r[i].device).s, (long long)r[i].samples,
            r[i].samples == 1 ? "" : "s");
        for (int p = 0; p < PHASES; p++)
            add_row(t, &r[i], p, longest);
    }
}

int64_t tn_team_explain(tn_team *team, char *out, size_t size)
{
    tn_parallel_report r[64];
    text t = {out, size, 0};
    tn__enter(TN__NOWHERE);
    if (size)
        *out = '\0';
    size_t n = team ? tn_team_report(team, r, TN_COUNT(r)) : 0;
    n = TN_MIN(n, TN_COUNT(r));
    if (!n) {
        add(&t, "DataParallel: %s\n", team ? "no step yet" : "no GPU: the module runs as it is");
        return t.n;
    }
    add(&t, "DataParallel: the last step on %zu device%s\n", n, n == 1 ? "" : "s");
    add_rows(&t, r, n);
    add_bound(&t, r, n);
    return t.n;
}
