/* Generator states of the CPU and of each GPU, and the functions that seed them. */
#include "core/rng.h"
#include "core/device.h"
#include "core/error.h"
#include "core/thread.h"
#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { MAX_PER_TYPE = 128 };

static struct {
    pthread_mutex_t lock;
    bool seeded[5][MAX_PER_TYPE];
    tn_rng_state state[5][MAX_PER_TYPE]; /* by device type and index */
    uint64_t seed;                       /* of generators not used yet; PyTorch's default seed at first */
} rng = {.lock = PTHREAD_MUTEX_INITIALIZER, .seed = 67280421310721U};

static bool slot(tn_device d, int *type, int *index)
{
    *type = d.type;
    *index = d.index;
    if (d.index < 0) /* cpu and meta have one; of others the current device is meant */
        *index = tn__device_has_index(d.type) ? tn__self()->current_device[d.type] : 0;
    return d.type >= 0 && d.type < 5 && *index < MAX_PER_TYPE;
}

void tn__rng_fork(tn__fork_phase phase)
{
    if (phase == TN__FORK_PREPARE)
        pthread_mutex_lock(&rng.lock);
    else if (phase == TN__FORK_PARENT)
        pthread_mutex_unlock(&rng.lock);
    else
        pthread_mutex_init(&rng.lock, NULL);
}

/* Under the lock. */
static tn_rng_state *state_of(int type, int index)
{
    if (!rng.seeded[type][index]) {
        rng.seeded[type][index] = true;
        rng.state[type][index] = (tn_rng_state){rng.seed, 0};
    }
    return &rng.state[type][index];
}

tn_rng_state tn__rng_take(tn_device device, uint64_t blocks)
{
    int type, index;
    if (!slot(device, &type, &index))
        type = index = 0;
    pthread_mutex_lock(&rng.lock);
    tn_rng_state *s = state_of(type, index), taken = *s;
    s->offset += blocks;
    pthread_mutex_unlock(&rng.lock);
    return taken;
}

void tn_manual_seed(uint64_t seed)
{
    pthread_mutex_lock(&rng.lock);
    rng.seed = seed;
    memset(rng.seeded, 0, sizeof rng.seeded);
    pthread_mutex_unlock(&rng.lock);
}

/* Also where there is no GPU, as in PyTorch: the seed is for those that may come. */
void tn_cuda_manual_seed(uint64_t seed)
{
    int type, index;
    if (!slot(TN_CUDA(-1), &type, &index))
        return;
    pthread_mutex_lock(&rng.lock);
    *state_of(type, index) = (tn_rng_state){seed, 0};
    pthread_mutex_unlock(&rng.lock);
}

void tn_cuda_manual_seed_all(uint64_t seed)
{
    pthread_mutex_lock(&rng.lock);
    for (int i = 0; i < MAX_PER_TYPE; i++)
        *state_of(TN_DEVICE_CUDA, i) = (tn_rng_state){seed, 0};
    pthread_mutex_unlock(&rng.lock);
}

uint64_t tn_seed(void)
{
    uint64_t seed = 0;
    FILE *f = fopen("/dev/urandom", "rb");
    if (!f || fread(&seed, sizeof seed, 1, f) != 1) {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        seed = (uint64_t)t.tv_sec * 1000000007U ^ (uint64_t)t.tv_nsec;
    }
    if (f)
        fclose(f);
    tn_manual_seed(seed);
    return seed;
}

uint64_t tn_initial_seed(void)
{
    return tn_get_rng_state(TN_CPU).seed;
}

tn_rng_state tn_get_rng_state(tn_device device)
{
    return tn__rng_take(device, 0);
}

tn_status tn_set_rng_state(tn_device device, tn_rng_state state)
{
    int type, index;
    tn__enter(TN__NOWHERE);
    if (!slot(device, &type, &index))
        return tn__error(TN_EINVAL, "tn_set_rng_state: no such device: %s", tn_device_text(device).s);
    pthread_mutex_lock(&rng.lock);
    *state_of(type, index) = state;
    pthread_mutex_unlock(&rng.lock);
    return TN_OK;
}
