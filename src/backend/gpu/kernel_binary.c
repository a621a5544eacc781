/* Binaries of units. Devices of one architecture share them: the first thread that wants one reads or compiles it, others wait
 * and load what it has got. It is forgotten when all have it, since the disk has it too; where the disk has not, it stays. */
#include "backend/gpu/kernel_binary.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/thread.h"

struct tn__making {
    int32_t refs; /* who makes it, and who waits */
    bool done;
    pthread_cond_t end;
    tn__error_copy why; /* what stopped it */
};

typedef struct binary {
    struct binary *next;
    tn__cache_key key;
    tn__making *making; /* NULL: it is there */
    void *bytes;        /* from tn__block_get */
    size_t size;
    int32_t users;  /* threads that look at it */
    bool from_disk; /* so a driver that refuses it means nothing: it is compiled anew */
    bool kept;      /* on no disk: for the devices that come next */
} binary;

static struct {
    pthread_mutex_t lock;
    binary *first;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Asked at any time, in forked children too. */
static struct {
    _Atomic int64_t compiled, from_disk;
} counts;

tn__gpu_counts tn__gpu_counts_now(void)
{
    return (tn__gpu_counts){atomic_load(&counts.compiled), atomic_load(&counts.from_disk)};
}

/* ---- making ---- */

tn__making *tn__making_begin(void)
{
    tn__making *m = tn__block_zero(sizeof *m);
    if (!m) {
        tn__error_memory("the list of kernels that are being made", sizeof *m);
        return NULL;
    }
    m->refs = 1;
    pthread_cond_init(&m->end, NULL);
    return m;
}

void tn__making_put(tn__making *m)
{
    if (--m->refs)
        return;
    pthread_cond_destroy(&m->end);
    tn__block_put(m, sizeof *m);
}

void tn__making_end(tn__making *m, tn_status e)
{
    m->done = true;
    if (e)
        tn__error_save(&m->why);
    pthread_cond_broadcast(&m->end);
    tn__making_put(m);
}

tn_status tn__making_wait(tn__making *m, pthread_mutex_t *lock)
{
    m->refs++;
    while (!m->done)
        pthread_cond_wait(&m->end, lock);
    const tn_status e = m->why.code;
    if (e) {
        tn__error_restore(&m->why);
        tn__self()->unsited = true;
    }
    tn__making_put(m);
    return e;
}

/* ---- the list, under the lock ---- */

static binary *find(const tn__cache_key *key, bool anew)
{
    binary *b = all.first;
    while (b && (memcmp(&b->key, key, sizeof *key) != 0 || (anew && b->from_disk)))
        b = b->next;
    return b;
}

static void unlist(const binary *b)
{
    for (binary **at = &all.first; *at; at = &(*at)->next)
        if (*at == b) {
            *at = b->next;
            return;
        }
}

static void put(binary *b)
{
    if (--b->users || b->kept)
        return;
    unlist(b);
    tn__block_put(b->bytes, b->size);
    tn__block_put(b, sizeof *b);
}

/* A new one, which the caller makes. NULL with an error set. */
static binary *list(const tn__cache_key *key)
{
    binary *b = tn__block_zero(sizeof *b);
    tn__making *making = b ? tn__making_begin() : NULL;
    if (!making) {
        if (!b)
            tn__error_memory("a unit of kernels", sizeof *b);
        tn__block_put(b, sizeof *b);
        return NULL;
    }
    *b = (binary){.next = all.first, .key = *key, .making = making, .users = 1};
    all.first = b;
    return b;
}

/* ---- getting one ---- */

/* Without the lock: what others read of a binary that is being made, they read under it. */
static tn_status produce(const tn__binary_source *s, bool anew, binary *b, bool *from_disk)
{
    *from_disk = !anew && tn__cache_load(&s->key, &b->bytes, &b->size);
    if (*from_disk)
        return TN_OK;
    tn_status e = tn__backend_of(s->device)->gpu->compile(s->device, s->text, s->name, &b->bytes, &b->size);
    atomic_fetch_add(&counts.compiled, !e);
    return e;
}

/* Under the lock, which is let go while it is made. */
static binary *make(const tn__binary_source *s, bool anew)
{
    binary *b = list(&s->key);
    if (!b)
        return NULL;
    bool from_disk;
    pthread_mutex_unlock(&all.lock);
    tn_status e = produce(s, anew, b, &from_disk);
    pthread_mutex_lock(&all.lock);
    b->from_disk = from_disk;
    tn__making *making = b->making;
    b->making = NULL;
    if (e)
        unlist(b); /* the next that asks tries again */
    tn__making_end(making, e);
    if (e)
        put(b);
    return e ? NULL : b;
}

/* One that is there, to be put back; mine: made by this thread. NULL with an error set. */
static binary *get(const tn__binary_source *s, bool anew, bool *mine)
{
    binary *b;
    pthread_mutex_lock(&all.lock);
    while ((b = find(&s->key, anew)) != NULL) {
        b->users++;
        tn_status e = b->making ? tn__making_wait(b->making, &all.lock) : TN_OK;
        if (!e && !(anew && b->from_disk))
            break;
        put(b);
        if (e) {
            pthread_mutex_unlock(&all.lock);
            return NULL;
        }
    }
    *mine = !b;
    if (!b)
        b = make(s, anew);
    pthread_mutex_unlock(&all.lock);
    return b;
}

static void put_back(binary *b, bool keep)
{
    pthread_mutex_lock(&all.lock);
    b->kept = b->kept || keep;
    put(b);
    pthread_mutex_unlock(&all.lock);
}

tn_status tn__binary_load(const tn__binary_source *s, void **module)
{
    tn_status e;
    bool again, mine, keep = false;
    for (bool anew = false;; anew = true) {
        binary *b = get(s, anew, &mine);
        if (!b)
            return tn_error_code();
        e = tn__backend_of(s->device)->gpu->load(s->device, b->bytes, b->size, module);
        again = e && b->from_disk; /* a file that the driver does not take is as good as none */
        if (!e && mine && b->from_disk)
            atomic_fetch_add(&counts.from_disk, 1);
        else if (!e && mine)
            keep = !tn__cache_store(&s->key, b->bytes, b->size);
        put_back(b, keep);
        if (!again)
            return e;
        tn_error_clear();
    }
}

void tn__binaries_end(void)
{
    for (binary *b = all.first, *next; b; b = next) {
        next = b->next;
        tn__block_put(b->bytes, b->size);
        tn__block_put(b, sizeof *b);
    }
    all.first = NULL;
}
