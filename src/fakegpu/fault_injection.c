/* Faults to order: TENON_FAKE_GPU_FAULTS, read by cuInit, and tenonFakeSetFaults, which replaces them and counts anew.
 *
 * A list, separated by commas. Devices are the program's ordinals (after CUDA_VISIBLE_DEVICES); N counts from 1.
 *
 *   oom@N        the N-th device allocation fails
 *   host@N       the N-th allocation of pinned memory fails
 *   nocubin@N    the N-th module is not for this GPU
 *   launch@N     the N-th launch fails when its turn comes, as if it had touched memory that is not there
 *   order@N      the N-th time that the check of order needs memory, there is none: it finds less from then on
 *   lost@N       the device is lost when the turn of the N-th queued operation (launch, copy, fill) comes
 *   register@N   the N-th registration of the caller's memory is refused (cuMemHostRegister)
 *
 * Of these, 'oom@N+' means the N-th and all after it, 'oom' each; ':D' at the end (oom@5:1, lost:0) counts what happens on
 * device D, without it what happens on all.
 *
 *   fatal        a device that failed fails for good: no context of it can be made again in this process; ':D' likewise
 *   peer=A-B     no link between two devices: neither can have access to the other
 *   badpeer=A-B  a link that claims to work, but what is copied over it arrives damaged
 *   slowcopy=T   each copy takes longer: 0.5ms, 200us, 2s; ':D' at the end: on device D only
 *   slowstream=T each queued operation takes longer, likewise
 *   delay=random:SEED  each queued operation is held up for a random time of up to 0.2 ms */
#include "fakegpu/driver.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RULES = 64, ANY = -1 };

typedef struct rule {
    fake_fault_kind kind;
    int device, other; /* ANY; other: of a pair */
    unsigned long n, count;
    bool after; /* not only the n-th */
    double time;
} rule;

typedef struct rules {
    rule at[MAX_RULES];
    int n;
    uint64_t random;
} rules;

static rules now;

static const struct {
    const char *name;
    fake_fault_kind kind;
    enum { COUNTED, ALWAYS, PAIR, TIME, RANDOM } form;
} kinds[] = {
    {"oom", FAKE_FAULT_OOM, COUNTED},
    {"host", FAKE_FAULT_HOST, COUNTED},
    {"nocubin", FAKE_FAULT_NOCUBIN, COUNTED},
    {"launch", FAKE_FAULT_LAUNCH, COUNTED},
    {"lost", FAKE_FAULT_LOST, COUNTED},
    {"register", FAKE_FAULT_REGISTER, COUNTED},
    {"fatal", FAKE_FAULT_FATAL, ALWAYS},
    {"peer", FAKE_FAULT_PEER, PAIR},
    {"badpeer", FAKE_FAULT_BADPEER, PAIR},
    {"slowcopy", FAKE_FAULT_SLOWCOPY, TIME},
    {"slowstream", FAKE_FAULT_SLOWSTREAM, TIME},
    {"delay", FAKE_FAULT_DELAY, RANDOM},
    {"order", FAKE_FAULT_ORDER, COUNTED},
};

/* ---- reading: each function takes its part off the text, or says that it is not there ---- */

static bool take_char(const char **p, char c)
{
    if (**p != c)
        return false;
    ++*p;
    return true;
}

static bool take_number(const char **p, unsigned long *n)
{
    if (!isdigit((unsigned char)**p))
        return false;
    char *end;
    *n = strtoul(*p, &end, 10);
    *p = end;
    return true;
}

static bool take_device(const char **p, int *device)
{
    unsigned long n;
    if (!take_number(p, &n) || n >= FAKE_MAX_DEVICES)
        return false;
    *device = (int)n;
    return true;
}

/* Not by strtod, which reads what the program's locale writes: 0,5. */
static double take_decimal(const char **p)
{
    double t = 0, place = 1;
    while (isdigit((unsigned char)**p))
        t = t * 10 + (*(*p)++ - '0');
    if (take_char(p, '.'))
        while (isdigit((unsigned char)**p))
            t += (*(*p)++ - '0') * (place /= 10);
    return t;
}

static bool take_time(const char **p, double *milliseconds)
{
    static const struct {
        const char *unit;
        double factor;
    } units[] = {{"us", 1e-3}, {"ms", 1}, {"s", 1e3}};
    if (!isdigit((unsigned char)**p))
        return false;
    double t = take_decimal(p);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t length = strlen(units[i].unit);
        if (strncmp(*p, units[i].unit, length) == 0) {
            *p += length;
            *milliseconds = t * units[i].factor;
            return t * units[i].factor <= 10000;
        }
    }
    return false;
}

static bool take_rest(const char **p, int form, rule *r, uint64_t *seed)
{
    unsigned long n;
    if (form == PAIR)
        return take_char(p, '=') && take_device(p, &r->device) && take_char(p, '-') && take_device(p, &r->other);
    if (form == RANDOM) {
        if (strncmp(*p, "=random:", 8) != 0)
            return false;
        *p += 8;
        if (!take_number(p, &n))
            return false;
        *seed = n + 1;
        return true;
    }
    if (form == TIME && !(take_char(p, '=') && take_time(p, &r->time)))
        return false;
    if (form == COUNTED && take_char(p, '@')) {
        if (!take_number(p, &r->n) || !r->n)
            return false;
        r->after = take_char(p, '+');
    }
    return !take_char(p, ':') || take_device(p, &r->device);
}

static bool take_rule(const char **p, rules *out)
{
    size_t length = 0;
    while (isalpha((unsigned char)(*p)[length]))
        length++;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strlen(kinds[i].name) != length || strncmp(*p, kinds[i].name, length) != 0)
            continue;
        rule *r = &out->at[out->n];
        *r = (rule){.kind = kinds[i].kind, .device = ANY, .other = ANY};
        *p += length;
        if (out->n == MAX_RULES - 1 || !take_rest(p, kinds[i].form, r, &out->random))
            return false;
        out->n++;
        return true;
    }
    return false;
}

static void skip_blanks(const char **p)
{
    while (**p == ' ')
        ++*p;
}

/* A fault of a device that is not there would never come, and say nothing. */
static bool is_there(const rule *r)
{
    return fake.n_visible == 0 || (r->device < fake.n_visible && r->other < fake.n_visible);
}

tn__cu_result fake_set_faults(const char *text)
{
    static rules next; /* large; the lock is held */
    next.n = 0;
    next.random = 0;
    const char *p = text ? text : "", *start = p;
    for (skip_blanks(&p); *p; skip_blanks(&p)) {
        start = p;
        bool good = take_rule(&p, &next);
        skip_blanks(&p);
        if (!good || (*p && !(take_char(&p, ',') && *p))) {
            fake_report(
                "TENON_FAKE_GPU_FAULTS='%s' is not understood at '%s'. Accepted, separated by commas: oom@N, host@N, "
                "nocubin@N, launch@N, lost@N, register@N, order@N (N+ for all from the N-th on, no @N for each; :D for "
                "device D only), fatal (:D), peer=A-B, badpeer=A-B, slowcopy=0.5ms, slowstream=1ms (:D), "
                "delay=random:SEED.",
                text, start);
            return TN__CU_INVALID_VALUE;
        }
        if (!is_there(&next.at[next.n - 1])) {
            fake_report("TENON_FAKE_GPU_FAULTS='%s' is about a device that is not there, at '%s': there %s %d, counted "
                        "from 0 in the order of CUDA_VISIBLE_DEVICES",
                        text, start, fake.n_visible == 1 ? "is" : "are", fake.n_visible);
            return TN__CU_INVALID_VALUE;
        }
    }
    now = next;
    return TN__CU_SUCCESS;
}

tn__cu_result tenonFakeSetFaults(const char *text)
{
    if (fake_forked())
        return TN__CU_NOT_INITIALIZED;
    fake_report_begin();
    pthread_mutex_lock(&fake.lock);
    tn__cu_result r = fake_set_up();
    return fake_leave(r ? r : fake_set_faults(text));
}

/* ---- what is asked ---- */

bool fake_fault(fake_fault_kind kind, int device)
{
    bool fires = false;
    for (rule *r = now.at; r < now.at + now.n; r++) {
        if (r->kind != kind || (r->device != ANY && r->device != device))
            continue;
        r->count++;
        fires = fires || !r->n || r->count == r->n || (r->after && r->count > r->n);
    }
    return fires;
}

bool fake_fault_pair(fake_fault_kind kind, int a, int b)
{
    for (const rule *r = now.at; r < now.at + now.n; r++)
        if (r->kind == kind && ((r->device == a && r->other == b) || (r->device == b && r->other == a)))
            return true;
    return false;
}

double fake_fault_delay(bool copy, int device)
{
    double delay = 0;
    for (const rule *r = now.at; r < now.at + now.n; r++)
        if ((r->device == ANY || r->device == device) &&
            (r->kind == FAKE_FAULT_SLOWSTREAM || (copy && r->kind == FAKE_FAULT_SLOWCOPY)))
            delay += r->time;
    if (now.random) { /* xorshift64* */
        now.random ^= now.random >> 12;
        now.random ^= now.random << 25;
        now.random ^= now.random >> 27;
        delay += (double)((now.random * 0x2545f4914f6cdd1dU) >> 40) * 0x1p-24 * 0.2;
    }
    return delay;
}
