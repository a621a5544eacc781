/* Threads that run the groups of one stream's launches with the stream's own. They belong to that thread and end with it, so
 * nothing is left of them at the end of the process but what a kernel without end holds up. */
#include "fakegpu/kernel.h"
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct fake_team {
    pthread_mutex_t lock;
    pthread_cond_t begin, end;
    pid_t process; /* that has the threads: a child of fork has none of them */
    void (*work)(void *);
    void *arg;
    unsigned long long turn; /* counts runs */
    int busy;                /* threads that are not done with this one */
    bool over;
    int n, wanted;
    pthread_t thread[]; /* n of them; room for those that were wanted */
};

static void *helper(void *arg)
{
    fake_team *t = arg;
    unsigned long long done = 0;
    pthread_mutex_lock(&t->lock);
    for (;;) {
        while (t->turn == done && !t->over)
            pthread_cond_wait(&t->begin, &t->lock);
        if (t->over)
            break;
        done = t->turn;
        pthread_mutex_unlock(&t->lock);
        t->work(t->arg);
        pthread_mutex_lock(&t->lock);
        if (--t->busy == 0)
            pthread_cond_signal(&t->end);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

static void start(fake_team *t)
{
    t->process = getpid();
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->begin, NULL);
    pthread_cond_init(&t->end, NULL);
    t->turn = 0;
    for (t->n = 0; t->n < t->wanted && pthread_create(&t->thread[t->n], NULL, helper, t) == 0;)
        t->n++;
}

fake_team *fake_team_new(int helpers)
{
    fake_team *t = calloc(1, sizeof *t + (size_t)helpers * sizeof *t->thread);
    if (!t)
        return NULL;
    t->wanted = helpers;
    start(t);
    return t;
}

void fake_team_run(fake_team *t, void (*work)(void *arg), void *arg)
{
    if (t->process != getpid())
        start(t);
    pthread_mutex_lock(&t->lock);
    t->work = work;
    t->arg = arg;
    t->busy = t->n;
    t->turn++;
    pthread_cond_broadcast(&t->begin);
    pthread_mutex_unlock(&t->lock);
    work(arg);
    pthread_mutex_lock(&t->lock);
    while (t->busy)
        pthread_cond_wait(&t->end, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

void fake_team_free(fake_team *t)
{
    if (!t)
        return;
    if (t->process == getpid()) {
        pthread_mutex_lock(&t->lock);
        t->over = true;
        pthread_cond_broadcast(&t->begin);
        pthread_mutex_unlock(&t->lock);
        for (int i = 0; i < t->n; i++)
            pthread_join(t->thread[i], NULL);
        pthread_cond_destroy(&t->begin);
        pthread_cond_destroy(&t->end);
        pthread_mutex_destroy(&t->lock);
    }
    free(t);
}
