/* The text of the last failed check. It has a lock of its own, so that queued work may report too. */
#include "fakegpu/driver.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char last[4096];

static void set_text(const char *format, va_list args)
{
    pthread_mutex_lock(&lock);
    vsnprintf(last, sizeof last, format, args);
    fake_show(last);
    pthread_mutex_unlock(&lock);
}

void fake_report(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_text(format, args);
    va_end(args);
}

tn__cu_result fake_refuse(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_text(format, args);
    va_end(args);
    fake.count[TN__FAKE_FAILED_CHECKS]++;
    return TN__CU_ILLEGAL_STATE;
}

tn__cu_result tenonFakeReport(char *text, size_t size)
{
    if (fake_forked())
        return TN__CU_NOT_INITIALIZED;
    if (!text || !size)
        return TN__CU_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    snprintf(text, size, "%s", last);
    last[0] = '\0';
    pthread_mutex_unlock(&lock);
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
    return fake_leave(TN__CU_SUCCESS);
}
