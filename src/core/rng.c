/* Generator states of the CPU and of each GPU, and the functions that seed them. */
#include "core/rng.h"
#include <stdatomic.h>
#include "core/device.h"
#include "core/error.h"
#include "core/mt19937.h"
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

/* The CPU's other generator. Its lock is held for as long as an operation draws, so it is another than rng's; who needs both
 * takes this one first. */
static struct {
    pthread_mutex_t lock;
    atomic_bool used;
    bool seeded;
    tn_mt19937 g;
} mt = {.lock = PTHREAD_MUTEX_INITIALIZER};

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
    if (phase == TN__FORK_PREPARE) {
        pthread_mutex_lock(&mt.lock);
        pthread_mutex_lock(&rng.lock);
    } else if (phase == TN__FORK_PARENT) {
        pthread_mutex_unlock(&rng.lock);
        pthread_mutex_unlock(&mt.lock);
    } else {
        pthread_mutex_init(&rng.lock, NULL);
        pthread_mutex_init(&mt.lock, NULL);
    }
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
    pthread_mutex_lock(&mt.lock);
    pthread_mutex_lock(&rng.lock);
    rng.seed = seed;
    memset(rng.seeded, 0, sizeof rng.seeded);
    mt.seeded = false;
    pthread_mutex_unlock(&rng.lock);
    pthread_mutex_unlock(&mt.lock);
}

/* ---- the CPU's MT19937 ---- */

void tn_use_mt19937(bool on)
{
    atomic_store(&mt.used, on);
}

bool tn_uses_mt19937(void)
{
    return atomic_load(&mt.used);
}

bool tn__rng_is_mt(tn_device device)
{
    return device.type == TN_DEVICE_CPU && atomic_load_explicit(&mt.used, memory_order_relaxed);
}

void tn_mt19937_seed(tn_mt19937 *g, uint64_t seed)
{
    *g = (tn_mt19937){.seed = seed, .left = 1};
    g->state[0] = (uint32_t)seed;
    for (uint32_t i = 1; i < TN_COUNT(g->state); i++)
        g->state[i] = 1812433253U * (g->state[i - 1] ^ (g->state[i - 1] >> 30)) + i;
}

tn_mt19937 *tn__mt_lock(void)
{
    pthread_mutex_lock(&mt.lock);
    if (!mt.seeded) {
        pthread_mutex_lock(&rng.lock);
        const uint64_t seed = rng.seed;
        pthread_mutex_unlock(&rng.lock);
        tn_mt19937_seed(&mt.g, seed);
        mt.seeded = true;
    }
    return &mt.g;
}

void tn__mt_unlock(void)
{
    pthread_mutex_unlock(&mt.lock);
}

void tn_get_mt19937(tn_mt19937 *g)
{
    *g = *tn__mt_lock();
    tn__mt_unlock();
}

void tn_set_mt19937(const tn_mt19937 *g)
{
    *tn__mt_lock() = *g;
    tn__mt_unlock();
}

/* The first of c categories whose running sum by the whole, rounded to T, is not below u. It is looked for by sums, which are not
 * divided; then quotients decide, as a few sums around it may round to either side. No branch depends on what is drawn. */
#define FOUND(name, T) \
    static int64_t name(const T *sums, int64_t c, double u) \
    { \
        const T all = sums[c - 1]; \
        const double bound = u * (double)all; \
        int64_t at = 0, n = c - 1; \
        for (int64_t half; n > 1; n -= half) { \
            half = n / 2; \
            at += half & -(int64_t)((double)sums[at + half - 1] < bound); \
        } \
        while (at < c - 1 && (double)(sums[at] / all) < u) \
            at++; \
        while (at > 0 && !((double)(sums[at - 1] / all) < u)) \
            at--; \
        return at; \
    }
FOUND(found_f32, float)
FOUND(found_f64, double)
#undef FOUND

void tn__mt_categories(int64_t *out, int64_t n, const void *sums, int64_t c, bool wide)
{
    tn_mt19937 *g = tn__mt_lock();
    for (int64_t k = 0; k < n; k++) {
        const double u = tn__mt_double(g);
        out[k] = wide ? found_f64(sums, c, u) : found_f32(sums, c, u);
    }
    tn__mt_unlock();
}

/* ---- the others ---- */

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
    if (!tn_uses_mt19937())
        return tn_get_rng_state(TN_CPU).seed;
    const uint64_t seed = tn__mt_lock()->seed;
    tn__mt_unlock();
    return seed;
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
