/* What failed, as text. A check that fails in a call says so to the thread that called; what kills a context, whoever ran
 * it, is said to each thread whose call gives that context's error. So two threads never get each other's. */
#include "fakegpu/compiler.h"
#include "fakegpu/driver.h"
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 4096 };

static _Thread_local struct {
    char *text;                /* from the first failure of the thread to its end */
    bool fresh;                /* of the call in progress */
    bool own;                  /* not read yet, and nobody else's */
    const fake_context *death; /* what is told is how it died; NULL: something else */
    char *warning;             /* to be printed when the call leaves; from malloc */
} mine;

/* What nobody has read: a program that passes over failed checks is found by it. */
static _Atomic uint64_t unheard;

static pthread_key_t key;
static bool has_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_key(void)
{
    has_key = pthread_key_create(&key, free) == 0;
}

/* NULL: no memory. */
static char *text_of_mine(void)
{
    pthread_once(&once, make_key);
    if (!mine.text && has_key && (mine.text = calloc(1, TEXT)) && pthread_setspecific(key, mine.text)) {
        free(mine.text);
        mine.text = NULL;
    }
    return mine.text;
}

static void set_text(const char *format, va_list args)
{
    char *text = text_of_mine();
    if (text)
        vsnprintf(text, TEXT, format, args);
    mine.fresh = true;
    mine.own = false;
    mine.death = NULL;
}

static void set_own(const char *format, va_list args)
{
    set_text(format, args);
    mine.own = true;
    unheard++;
    if (mine.text)
        fake_show(mine.text);
}

void fake_report_begin(void)
{
    mine.fresh = false;
}

static void print_warning(void)
{
    char *text = mine.warning;
    mine.warning = NULL;
    fputs(text, stderr);
    free(text);
}

void fake_report_end(tn__cu_result r)
{
    if (mine.warning)
        print_warning();
    if (!r || r == TN__CU_NOT_READY)
        return;
    if (mine.fresh)
        return;
    mine.own = false;
    mine.death = NULL;
    if (mine.text)
        mine.text[0] = '\0';
}

void fake_report(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_own(format, args);
    va_end(args);
}

tn__cu_result fake_refuse(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_own(format, args);
    va_end(args);
    fake.count[TN__FAKE_FAILED_CHECKS]++;
    return TN__CU_ILLEGAL_STATE;
}

/* ---- warnings: each pair of calls once ---- */

typedef struct pair {
    struct pair *next;
    const char *call, *other;
} pair;

static struct {
    pair *at[512];
    unsigned n;
} pairs;

static bool is_new(const char *call, const char *other)
{
    pair **at = &pairs.at[((uintptr_t)call / 16 * 31 + (uintptr_t)other / 16) % 512];
    for (const pair *p = *at; p; p = p->next)
        if (p->call == call && p->other == other)
            return false;
    pair *p = malloc(sizeof *p);
    if (p) { /* else it is said again */
        *p = (pair){*at, call, other};
        *at = p;
    }
    pairs.n++;
    return true;
}

/* One call may be out of order with several. */
static void add_warning(const char *format, va_list args)
{
    static const char begin[] = "tenon: fake GPUs: missing synchronisation: ";
    const size_t before = mine.warning ? strlen(mine.warning) : 0;
    char *text = realloc(mine.warning, before + sizeof begin + TEXT + 1);
    if (!text)
        return;
    mine.warning = text;
    memcpy(text + before, begin, sizeof begin);
    vsnprintf(text + before + sizeof begin - 1, TEXT, format, args);
    memcpy(text + before + strlen(text + before), "\n", 2);
}

tn__cu_result fake_unordered(const char *call, const char *other, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!fake.warn)
        set_own(format, args);
    else if (is_new(call, other))
        add_warning(format, args);
    va_end(args);
    fake.count[fake.warn ? TN__FAKE_WARNINGS : TN__FAKE_FAILED_CHECKS]++;
    return fake.warn ? TN__CU_SUCCESS : TN__CU_ILLEGAL_STATE;
}

void fake_summary(char *text, size_t size)
{
    const unsigned long long times = fake.count[TN__FAKE_WARNINGS], lost = fake.count[TN__FAKE_GAVE_UP];
    char rest[96] = "";
    *text = '\0';
    if (lost)
        snprintf(rest, sizeof rest, "; %llu times there was no memory to check more", lost);
    if (fake.warn && fake.initialised)
        snprintf(text, size, "tenon: fake GPUs: %llu missing synchronisation%s, between %u pair%s of calls%s\n", times,
                 times == 1 ? "" : "s", pairs.n, pairs.n == 1 ? "" : "s", rest);
}

/* ---- contexts ---- */

static void tell(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_text(format, args);
    va_end(args);
}

tn__cu_result fake_context_error(const fake_context *c)
{
    if (c->error) {
        tell("%s", c->report ? c->report : "");
        mine.death = c;
    }
    return c->error;
}

void fake_report_death(fake_context *c, const char *report)
{
    free(c->report);
    c->report = strdup(report);
    c->heard = false;
    unheard++;
    fake_show(report);
}

/* What the thread has is read now. Lock held. */
static void hear(void)
{
    fake_context *c = mine.death ? &mine.death->device->context : NULL;
    unheard -= mine.own;
    if (c && c->error && !c->heard) {
        c->heard = true;
        unheard--;
    }
    mine.own = false;
    mine.death = NULL;
}

tn__cu_result tenonFakeReport(char *text, size_t size)
{
    if (fake_forked())
        return TN__CU_NOT_INITIALIZED;
    if (!text || !size)
        return TN__CU_INVALID_VALUE;
    pthread_mutex_lock(&fake.lock);
    snprintf(text, size, "%s", mine.text ? mine.text : "");
    if (mine.text)
        mine.text[0] = '\0';
    hear();
    pthread_mutex_unlock(&fake.lock);
    return TN__CU_SUCCESS;
}

tn__cu_result tenonFakeCounters(int device, uint64_t *counters)
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    if (device < -1 || device >= fake.n_visible || !counters)
        return fake_leave(TN__CU_INVALID_VALUE);
    memcpy(counters, device < 0 ? fake.count : fake.visible[device]->count, sizeof fake.count);
    if (device < 0)
        counters[TN__FAKE_UNHEARD] = unheard;
    return fake_leave(TN__CU_SUCCESS);
}

tn__cu_result tenonFakeCompiler(uint64_t *identity)
{
    if (!identity)
        return TN__CU_INVALID_VALUE;
    *identity = fake_cc_compiler();
    return TN__CU_SUCCESS;
}
