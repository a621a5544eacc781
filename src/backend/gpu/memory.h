/* backend/gpu/memory.h: what allocator.c, fit.c, users.c, pinned.c, mover.c, peer.c and memory_text.c share.
 *
 * A segment is memory of the driver; a block is a part of a segment. The blocks of a segment are a list in the order of
 * their addresses; two free ones never lie side by side. A block belongs to the stream that its segment was made for: it
 * is reused there at once, in the order of the stream, and nowhere else. What other streams did with it (users) is
 * waited for before it is free. A segment's first block keeps its description as long as the segment lives.
 *
 * Locks: one per device, one for pinned memory; never two at a time. Under them the driver and the streams' and events'
 * functions may be called (these never call back). A forked child takes none of them. */
#ifndef TENON_BACKEND_CUDA_MEMORY_H
#define TENON_BACKEND_CUDA_MEMORY_H

#include "backend/cuda/cuda.h"

enum {
    TN__CUDA_ROUND = 512,              /* blocks are multiples of this */
    TN__CUDA_SMALL = 1 << 20,          /* requests up to this share the small segments */
    TN__CUDA_SMALL_SEGMENT = 2 << 20,  /* their size */
    TN__CUDA_LARGE = 10 << 20,         /* requests below this share segments of ... */
    TN__CUDA_LARGE_SEGMENT = 20 << 20, /* ... this size; others have one of their own, */
    TN__CUDA_LARGE_ROUND = 2 << 20     /* a multiple of this */
};

/* ---- users.c ---- */

/* Descriptions come from slabs, which are never given back; each owner has its own, under its own lock. */
typedef struct tn__cuda_slab {
    void *free;
} tn__cuda_slab;
/* An item of that size, always the same for one slab, zeroed; NULL when memory is out. */
void *tn__cuda_slab_get(tn__cuda_slab *slab, size_t item);
void tn__cuda_slab_put(tn__cuda_slab *slab, void *item);

/* A stream that used a block beside the stream that owns it. */
typedef struct tn__cuda_user {
    struct tn__cuda_user *next;
    tn__stream *stream;  /* a reference */
    tn__cu_event event;  /* recorded when the block was given back; NULL before */
    uint32_t generation; /* of the stream's device at its last use: after a reset there is nothing to wait for */
} tn__cuda_user;

/* What is on the stream now uses the block: the stream joins the list, once. */
void tn__cuda_users_add(tn__cuda_slab *slab, tn__cuda_user **users, tn__stream *stream);
/* The block was given back: records an event on every stream of the list. Where that cannot be, waits for it at once. */
/* That stream is none any more, unless its event is recorded already. */
void tn__cuda_users_remove(tn__cuda_slab *slab, tn__cuda_user **users, const tn__stream *stream);
void tn__cuda_users_record(tn__cuda_slab *slab, tn__cuda_user **users);
/* Drops the users whose event has passed; with 'wait', the host waits for each. True if none is left. */
bool tn__cuda_users_passed(tn__cuda_slab *slab, tn__cuda_user **users, bool wait);
/* Drops all. */
void tn__cuda_users_forget(tn__cuda_slab *slab, tn__cuda_user **users);

/* A device's context made current for a moment on a thread that may have another one, or none. */
typedef struct tn__cuda_visit {
    tn__cu_context before;
    bool changed;
} tn__cuda_visit;
tn__cuda_visit tn__cuda_enter(const tn__cuda_device *dev);
void tn__cuda_leave(tn__cuda_visit v);

/* True in a child of fork(): no driver may be called there, no lock taken. Valid after tn__cuda_watch_fork(). */
bool tn__cuda_in_child(void);
void tn__cuda_watch_fork(void);

/* ---- blocks ---- */
typedef struct tn__cuda_pool tn__cuda_pool;
typedef enum tn__cuda_state { TN__CUDA_FREE, TN__CUDA_TAKEN, TN__CUDA_WAITING } tn__cuda_state;

typedef struct tn__cuda_block {
    char *p;
    size_t size, requested;
    tn__cuda_pool *pool;
    tn__stream *stream;                                   /* the pool's */
    struct tn__cuda_block *before, *after;                /* neighbours in the segment */
    struct tn__cuda_block *left, *right;                  /* of the tree of free blocks */
    struct tn__cuda_block *link;                          /* of other lists: waiting blocks, scratch */
    struct tn__cuda_block *next_segment, *segment_before; /* of a segment's first block */
    tn__cuda_user *users;
    const tn__storage *storage; /* for comparing alone; NULL: scratch, or not taken */
    const char *site;           /* the user's call that asked for it, or NULL */
    uint32_t generation;        /* of its device's allocator when the segment was made */
    int32_t device;
    tn__cuda_state state;
    bool large;
} tn__cuda_block;

/* One stream's memory. */
struct tn__cuda_pool {
    struct tn__cuda_pool *next;
    tn__stream *stream;      /* a reference */
    tn__cuda_block *free[2]; /* trees: of small segments, of large ones */
    int64_t held;            /* segments; once the device was reset, blocks that tensors still hold */
};

/* ---- fit.c: an ordered set of blocks: by size, then by address ---- */
void tn__cuda_fit_add(tn__cuda_block **root, tn__cuda_block *b);
void tn__cuda_fit_remove(tn__cuda_block **root, tn__cuda_block *b);
/* The smallest of at least that size, the lowest of those; NULL if there is none. It stays in the set. */
tn__cuda_block *tn__cuda_fit_find(tn__cuda_block *root, size_t size);

/* ---- statistics, kept as PyTorch keeps them: names are those of torch.cuda.memory_stats ---- */
typedef struct tn__cuda_tally {
    int64_t now, peak, up, down; /* up, down: all there ever was */
} tn__cuda_tally;

enum { TN__CUDA_ALL, TN__CUDA_IN_LARGE, TN__CUDA_IN_SMALL, TN__CUDA_KINDS };

typedef struct tn__cuda_statistics {
    /* bytes */
    tn__cuda_tally allocated_bytes[TN__CUDA_KINDS];      /* in blocks that are taken */
    tn__cuda_tally active_bytes[TN__CUDA_KINDS];         /* taken, or waiting for other streams */
    tn__cuda_tally requested_bytes[TN__CUDA_KINDS];      /* what the active ones were asked for with */
    tn__cuda_tally reserved_bytes[TN__CUDA_KINDS];       /* in segments */
    tn__cuda_tally inactive_split_bytes[TN__CUDA_KINDS]; /* free in segments that are partly active */
    /* how many */
    tn__cuda_tally allocation[TN__CUDA_KINDS];
    tn__cuda_tally active[TN__CUDA_KINDS];
    tn__cuda_tally segment[TN__CUDA_KINDS];
    tn__cuda_tally inactive_split[TN__CUDA_KINDS];
    int64_t alloc_retries, ooms, device_allocs, device_frees;
} tn__cuda_statistics;

/* A copy; all zero for a device that was never used. */
void tn__cuda_statistics_of(int32_t device, tn__cuda_statistics *out);

/* ---- too little memory: what the report needs, taken under the lock (allocator.c), told without (memory_text.c) ---- */
enum { TN__CUDA_LARGEST = 5 };
typedef struct tn__cuda_shortage {
    size_t asked;    /* of the driver */
    int64_t allowed; /* the cap of the GPU; INT64_MAX if there is none */
    int64_t allocated, reserved, reserved_by_siblings;
    int n_held; /* the largest blocks in tensors */
    struct {
        size_t bytes;
        const tn__storage *storage; /* for comparing alone */
        const char *site;
    } held[TN__CUDA_LARGEST];
} tn__cuda_shortage;
/* Sets TN_ENOMEM with the whole report. */
TN_COLD void tn__cuda_report_shortage(tn__cuda_device *dev, const tn__cuda_shortage *s);

/* "20.00 MiB", as PyTorch writes it. */
typedef struct tn__cuda_size_text {
    char s[32];
} tn__cuda_size_text;
tn__cuda_size_text tn__cuda_size_str(int64_t bytes);

/* tn_memory_summary of a device there is. */
int64_t tn__cuda_summary(int32_t device, char *out, size_t size);

/* The share of the GPU that this process may take; 1 at first. */
tn_status tn__cuda_set_memory_fraction(tn__cuda_device *dev, double fraction);

/* ---- pinned.c ---- */
typedef struct tn__cuda_pin {
    struct tn__cuda_pin *link;    /* of a list it is in */
    struct tn__cuda_pin *half[2]; /* what it is cut into; NULL: it is whole */
    struct tn__cuda_pin *sheet;   /* the whole that it was cut out of, or itself */
    char *p;
    size_t size, requested;
    tn__cuda_user *users;
    tn__storage *storage; /* that has it; NULL: staging, or free */
    uint32_t bin;         /* the logarithm of its size */
    bool free;
    bool moved; /* p is memory of the process's own, in place of the driver's that went with its context */
    /* of sheets */
    bool mapped;    /* the process's own memory, registered; else the driver's */
    bool lost;      /* the context that locked it is gone, or going */
    int32_t device; /* whose context that is */
    struct tn__cuda_pin *next_sheet;
} tn__cuda_pin;

/* A pinned block; dev, whose context is current, is blamed for failures. NULL with an error set. */
tn__cuda_pin *tn__cuda_pin_get(tn__cuda_device *dev, size_t bytes);
void tn__cuda_pin_used(tn__cuda_pin *b, tn__stream *stream);
/* Given back: reused once what its users had queued is done. */
void tn__cuda_pin_put(tn__cuda_pin *b);
void tn__cuda_pinned_used(tn__storage *s, tn__stream *stream);
/* The device's context, which locks sheets, is about to go. */
void tn__cuda_pinned_forget(int32_t device);

/* ---- peer.c ---- */
tn_status tn__cuda_peer(tn_device to_device, void *to, tn_device from_device, const void *from, size_t bytes);
/* What is known of the device's links is void: its context went away. */
void tn__cuda_peer_forget(int32_t device);

/* ---- mover.c: what peer.c shares ---- */
/* The host is about to read or write pinned memory: fake GPUs know whether it may. */
tn_status tn__cuda_touch(tn__cuda_device *dev, const void *p, size_t bytes, int write);

enum { TN__CUDA_CHUNK = 4 << 20, TN__CUDA_CHUNKS = 4 }; /* the largest piece; pieces under way at once */
/* In pieces of what size so many bytes go through pinned memory. */
size_t tn__cuda_chunk(size_t bytes);

#endif
