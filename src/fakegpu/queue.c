/* Queues: what is queued on a stream runs in order on a thread of its own, which is started with the first item. */
#include "fakegpu/driver.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A driver's queues are finite: a program that queues faster than its device works waits, and does not fill the memory
 * with what it has queued. Real ones hold about as many launches. */
enum { QUEUE_ITEMS = 1024 };

static _Thread_local fake_stream *running;
static pthread_cond_t gone = PTHREAD_COND_INITIALIZER; /* a thread has taken its stream off its context's list */

fake_stream *fake_running(void)
{
    return running;
}

double fake_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- life ---- */

fake_stream *fake_stream_new(fake_context *c, unsigned flags)
{
    static unsigned ids;
    fake_stream *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->context = c;
    s->id = ++ids;
    s->flags = flags;
    s->refs = 1;
    s->oldest = UINT64_MAX;
    pthread_cond_init(&s->work, NULL);
    pthread_cond_init(&s->progress, NULL);
    s->next = c->streams;
    c->streams = s;
    return s;
}

void fake_stream_put(fake_stream *s)
{
    if (--s->refs)
        return;
    fake_order_end(s);
    pthread_cond_destroy(&s->work);
    pthread_cond_destroy(&s->progress);
    free(s);
}

void fake_stream_detach(fake_stream *s)
{
    for (fake_stream **at = &s->context->streams; *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            fake_clock_join(&s->context->ended[(s->flags & TN__CU_STREAM_NON_BLOCKING) != 0], &s->clock);
            return;
        }
}

void fake_stream_close(fake_stream *s)
{
    if (s != s->context->fallback)
        s->context->device->count[TN__FAKE_STREAMS]--;
    fake_handle_remove(s);
    s->closing = true;
    if (s->started)
        pthread_cond_signal(&s->work); /* the thread takes it off the list when all is done */
    else
        fake_stream_detach(s);
    fake_stream_put(s);
}

void fake_streams_clear(fake_context *c)
{
    for (fake_stream *s = c->streams, *next; s; s = next) {
        next = s->next;
        if (!s->closing)
            fake_stream_close(s);
    }
    while (c->streams) /* their threads take them off */
        pthread_cond_wait(&gone, &fake.lock);
}

/* ---- waiting ---- */

void fake_wait(fake_stream *s, uint64_t number)
{
    s->refs++;
    s->waiters++;
    while (!fake_stream_reached(s, number))
        pthread_cond_wait(&s->progress, &fake.lock);
    s->waiters--;
    fake_stream_put(s);
}

bool fake_wait_room(fake_stream *s)
{
    if (s->queued < QUEUE_ITEMS || running) /* what runs on a device's thread must not wait for it */
        return false;
    s->refs++;
    s->waiters++;
    while (s->queued >= QUEUE_ITEMS)
        pthread_cond_wait(&s->progress, &fake.lock);
    s->waiters--;
    fake_stream_put(s);
    return true;
}

void fake_wait_context(fake_context *c)
{
    uint64_t until = fake.sequence;
    for (fake_stream *s = c->streams; s;) {
        if (fake_stream_reached(s, until)) {
            s = s->next;
        } else {
            fake_wait(s, until);
            s = c->streams; /* the list may have changed meanwhile */
        }
    }
}

void fake_synchronize(fake_stream *s)
{
    const fake_context *c = s->context;
    fake_clock then = {0}; /* what is queued later is not waited for */
    fake_clock_copy(&then, &s->clock);
    fake_wait(s, s->last);
    if (!c->error) /* else fake_fail has said what is known */
        fake_order_known(&then);
    fake_clock_free(&then);
}

void fake_synchronize_context(fake_context *c)
{
    fake_clock then = {0};
    fake_order_collect(c, &then);
    fake_wait_context(c);
    if (!c->error)
        fake_order_known(&then);
    fake_clock_free(&then);
}

tn__cu_result fake_if_blocking(fake_stream *s)
{
    const fake_context *c = s->context;
    if (fake.blocking)
        fake_wait(s, s->last); /* the host learns nothing: what is wrong without the variable is wrong with it */
    return fake_context_error(c);
}

void fake_discard(fake_context *c)
{
    for (fake_stream *s = c->streams; s; s = s->next)
        s->discard = true;
    fake_wait_context(c);
}

/* ---- running ---- */

void fake_fail(fake_context *c, tn__cu_result error, const char *report)
{
    if (c->error)
        return;
    c->error = error;
    if (fake_fault(FAKE_FAULT_FATAL, c->device->ordinal))
        c->device->ruin = error;
    fake_report_death(c, report);
    fake_order_over(c);
}

static void pause_for(double milliseconds)
{
    struct timespec t = {(time_t)(milliseconds / 1e3),
                         (long)((milliseconds - (double)(long)(milliseconds / 1e3) * 1e3) * 1e6)};
    nanosleep(&t, NULL);
}

static void drop_item(fake_item *item)
{
    for (fake_stretch *next; item->stale; item->stale = next) {
        next = item->stale->next;
        free(item->stale);
    }
    free(item->report);
    free(item);
}

/* What the memory that the item touches becomes first. A piece counts as opened from the moment the item was queued on, so
 * it is opened by an item that is dropped, too: another device may still copy from it. */
static void prepare_memory(const fake_item *item, bool dead)
{
    for (const fake_stretch *p = item->stale; p; p = p->next)
        if (p->becomes == FAKE_OPEN)
            fake_asan_unpoison(p->memory, p->bytes);
        else if (!dead && p->becomes == FAKE_STALE)
            fake_poison_again(p->memory, p->bytes);
        else if (!dead)
            fake_asan_poison(p->memory, p->bytes);
}

double fake_busy(const fake_stream *s, double now)
{
    const double asked = s->context->device->asked;
    return s->begun > 0 ? now - (s->begun > asked ? s->begun : asked) : 0;
}

/* Calls what the item holds, without the lock. */
static void run_work(fake_stream *s, fake_item *item)
{
    bool dead = s->discard || s->context->error;
    if (!dead && item->error) {
        fake_fail(s->context, item->error, item->report ? item->report : "the device failed");
        dead = true;
    }
    s->begun = fake_now();
    pthread_mutex_unlock(&fake.lock);
    if (!dead && item->delay > 0)
        pause_for(item->delay);
    running = s;
    prepare_memory(item, dead);
    if (!dead)
        item->work.run(item->work.arg);
    else if (item->work.drop)
        item->work.drop(item->work.arg);
    running = NULL;
    pthread_mutex_lock(&fake.lock);
    s->context->device->busy += fake_busy(s, fake_now());
    s->begun = 0;
}

static void run_item(fake_stream *s, fake_item *item)
{
    switch (item->kind) {
    case FAKE_RUN: run_work(s, item); break;
    case FAKE_WAIT:
        fake_wait(item->on, item->upto);
        fake_stream_put(item->on);
        break;
    case FAKE_RECORD:
        if (item->event->generation == item->generation)
            item->event->time = fake_now();
        fake_event_put(item->event);
        break;
    }
    drop_item(item);
}

static void *work(void *arg)
{
    fake_stream *s = arg;
    pthread_mutex_lock(&fake.lock);
    for (;;) {
        while (!s->head && !s->closing)
            pthread_cond_wait(&s->work, &fake.lock);
        fake_item *item = s->head;
        if (!item)
            break;
        s->current = item;
        s->head = item->next;
        s->queued--;
        if (!s->head)
            s->tail = NULL;
        run_item(s, item);
        s->current = NULL;
        s->oldest = s->head ? s->head->number : UINT64_MAX;
        if (s->waiters)
            pthread_cond_broadcast(&s->progress);
    }
    if (!fake.over) { /* else somebody waits for this thread */
        pthread_detach(pthread_self());
        fake_stream_detach(s);
        fake_stream_put(s);
        pthread_cond_broadcast(&gone);
    }
    pthread_mutex_unlock(&fake.lock);
    return NULL;
}

/* At the end of the process no thread of this library is to be left, whatever is queued: others take down what it stands
 * on, and leak checkers look at it. A kernel that never ends is left alone after a while. */
__attribute__((destructor)) static void end_threads(void)
{
    if (fake_forked())
        return;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 2;
    pthread_mutex_lock(&fake.lock);
    fake.over = true;
    char summary[256];
    fake_summary(summary, sizeof summary);
    for (int i = 0; i < fake.n_devices; i++)
        for (fake_stream *s = fake.device[i].context.streams; s; s = s->next) {
            s->discard = s->closing = true;
            pthread_cond_signal(&s->work);
        }
    pthread_mutex_unlock(&fake.lock);
    fputs(summary, stderr);
    for (int i = 0; i < fake.n_devices; i++) /* the lists do not change any more */
        for (fake_stream *s = fake.device[i].context.streams; s; s = s->next)
            if (s->started)
                pthread_timedjoin_np(s->thread, NULL, &until);
}

/* ---- queueing ---- */

static bool start(fake_stream *s)
{
    if (s->started)
        return true;
    s->started = pthread_create(&s->thread, NULL, work, s) == 0;
    if (s->started)
        s->refs++;
    return s->started;
}

static void append(fake_stream *s, fake_item *item)
{
    item->next = NULL;
    item->number = s->last = ++fake.sequence;
    if (s->tail) {
        s->tail->next = item;
    } else {
        s->head = item;
        if (s->oldest == UINT64_MAX)
            s->oldest = item->number;
        pthread_cond_signal(&s->work);
    }
    s->tail = item;
    s->queued++;
}

static bool wait_for(fake_stream *s, fake_stream *on)
{
    if (on == s || on->oldest == UINT64_MAX)
        return true;
    fake_item *item = calloc(1, sizeof *item);
    if (!item)
        return false;
    item->kind = FAKE_WAIT;
    item->on = on;
    item->upto = on->last;
    on->refs++;
    append(s, item);
    return true;
}

/* The legacy default stream runs after, and before, all work of the context's streams that are not NON_BLOCKING. */
static bool join_default(fake_stream *s)
{
    fake_context *c = s->context;
    if (s->flags & TN__CU_STREAM_NON_BLOCKING)
        return true;
    if (s != c->fallback)
        return wait_for(s, c->fallback);
    for (fake_stream *other = c->streams; other; other = other->next)
        if (!(other->flags & TN__CU_STREAM_NON_BLOCKING) && !wait_for(s, other))
            return false;
    return true;
}

static void give_up(fake_item *item)
{
    if (item->kind == FAKE_WAIT)
        fake_stream_put(item->on);
    else if (item->kind == FAKE_RECORD)
        fake_event_put(item->event);
    drop_item(item);
}

tn__cu_result fake_queue(fake_stream *s, fake_item *item)
{
    if (!start(s) || !join_default(s)) {
        give_up(item);
        return TN__CU_OUT_OF_MEMORY;
    }
    append(s, item);
    return TN__CU_SUCCESS;
}

/* ---- what compiler, kernels and cuBLAS use ---- */

void fake_device_fail(tn__cu_result error, const char *report)
{
    if (!running)
        return;
    pthread_mutex_lock(&fake.lock);
    fake_fail(running->context, error, report);
    pthread_mutex_unlock(&fake.lock);
}

void *fake_host_address(const void *device_pointer)
{
    const fake_device *d = fake_device_of(device_pointer);
    char *p = (char *)(uintptr_t)device_pointer;
    return d ? p + d->span : p;
}
