/* backend/gpu/memory.h: what the files that keep memory share: allocator.c, best_fit.c, stream_users.c, pinned.c, host_copies.c,
 * peer_copies.c and memory_report.c.
 *
 * A segment is memory of the driver; a block is a part of a segment. The blocks of a segment are a list in the order of
 * their addresses; two free ones never lie side by side. A block belongs to the stream that its segment was made for: it
 * is reused there at once, in the order of the stream, and nowhere else. What other streams did with it (users) is
 * waited for before it is free. A segment's first block keeps its description as long as the segment lives.
 *
 * Locks: one per device, one for pinned memory; never two at a time. Under them the driver and the streams' and events'
 * functions may be called (these never call back). A forked child takes none of them. */
#ifndef TENON_BACKEND_GPU_MEMORY_H
#define TENON_BACKEND_GPU_MEMORY_H

#include "backend/gpu/device.h"

enum {
    TN__GPU_ROUND = 512,              /* blocks are multiples of this */
    TN__GPU_SMALL = 1 << 20,          /* requests up to this share the small segments */
    TN__GPU_SMALL_SEGMENT = 2 << 20,  /* their size */
    TN__GPU_LARGE = 10 << 20,         /* requests below this share segments of ... */
    TN__GPU_LARGE_SEGMENT = 20 << 20, /* ... this size; others have one of their own, */
    TN__GPU_LARGE_ROUND = 2 << 20     /* a multiple of this */
};

/* ---- slab.c ---- */

/* Descriptions come from slabs, which are given back when the library goes; each owner has its own, under its own lock. */
typedef struct tn__gpu_slab {
    void *free;
    void *pages; /* all of them; each begins with the address of the next */
} tn__gpu_slab;
/* An item of that size, always the same for one slab, zeroed; NULL when memory is out. */
void *tn__gpu_slab_get(tn__gpu_slab *slab, size_t item);
void tn__gpu_slab_put(tn__gpu_slab *slab, void *item);
/* With all items, whoever has them. */
void tn__gpu_slab_end(tn__gpu_slab *slab);

/* ---- stream_users.c ---- */

/* A stream that used a block beside the stream that owns it. */
typedef struct tn__gpu_user {
    struct tn__gpu_user *next;
    tn__stream *stream;  /* a reference */
    void *event;         /* recorded when the block was given back; NULL before */
    uint32_t generation; /* of the stream's device at its last use: after a reset there is nothing to wait for */
} tn__gpu_user;

/* What is on the stream now uses the block: the stream joins the list, once. */
void tn__gpu_users_add(tn__gpu_slab *slab, tn__gpu_user **users, tn__stream *stream);
/* That stream does not use it after all; one whose event is recorded already stays on the list. */
void tn__gpu_users_remove(tn__gpu_slab *slab, tn__gpu_user **users, const tn__stream *stream);
/* The block was given back: records an event on every stream of the list. Where that cannot be, waits for it at once. */
void tn__gpu_users_record(tn__gpu_slab *slab, tn__gpu_user **users);
/* Drops the users whose event has passed; with 'wait', the host waits for each. True if none is left. */
bool tn__gpu_users_passed(tn__gpu_slab *slab, tn__gpu_user **users, bool wait);
/* Drops all. */
void tn__gpu_users_forget(tn__gpu_slab *slab, tn__gpu_user **users);

/* ---- blocks ---- */
typedef struct tn__gpu_pool tn__gpu_pool;
typedef enum tn__gpu_state {
    TN__GPU_FREE,
    TN__GPU_TAKEN,
    TN__GPU_WAITING,
    TN__GPU_UNMAPPED /* addresses of a region, without memory */
} tn__gpu_state;

/* Addresses that memory is mapped behind page by page: a segment that grows, and is given back in parts. */
typedef struct tn__gpu_region {
    struct tn__gpu_block *first;
    size_t page, mapped; /* bytes */
} tn__gpu_region;

typedef struct tn__gpu_block {
    char *p;
    size_t size, requested;
    tn__gpu_pool *pool;
    tn__stream *stream;                                  /* the pool's */
    struct tn__gpu_block *before, *after;                /* neighbours in the segment */
    struct tn__gpu_block *left, *right;                  /* of the tree of free blocks */
    struct tn__gpu_block *link;                          /* of other lists: waiting blocks, scratch */
    struct tn__gpu_block *next_segment, *segment_before; /* of a segment's first block */
    tn__gpu_user *users;
    const tn__storage *storage; /* for comparing alone; NULL: scratch, or not taken */
    const char *site;           /* the user's call that asked for it, or NULL */
    tn__gpu_region *region;     /* NULL: the segment is one piece of the driver's */
    uint64_t since;             /* how many blocks had been taken when it became free */
    uint32_t generation;        /* of its device's allocator when the segment was made */
    tn__gpu_device *device;
    tn__gpu_state state;
    bool large;
} tn__gpu_block;

/* One stream's memory. */
struct tn__gpu_pool {
    struct tn__gpu_pool *next;
    tn__stream *stream;        /* a reference */
    tn__gpu_block *free[2];    /* trees: of small segments, of large ones */
    tn__gpu_region *region[2]; /* likewise; NULL: none yet */
    int64_t held;              /* segments; once the device was reset, blocks that tensors still hold */
};

/* ---- best_fit.c: an ordered set of blocks: by size, then by address ---- */
void tn__best_fit_add(tn__gpu_block **root, tn__gpu_block *b);
void tn__best_fit_remove(tn__gpu_block **root, tn__gpu_block *b);
/* The smallest of at least that size, the lowest of those; NULL if there is none. It stays in the set. */
tn__gpu_block *tn__best_fit_find(tn__gpu_block *root, size_t size);

/* ---- statistics, kept as PyTorch keeps them: names are those of torch.cuda.memory_stats ---- */
typedef struct tn__gpu_tally {
    int64_t now, peak, up, down; /* up, down: all there ever was */
} tn__gpu_tally;

enum { TN__GPU_ALL, TN__GPU_IN_LARGE, TN__GPU_IN_SMALL, TN__GPU_KINDS };

typedef struct tn__gpu_statistics {
    /* bytes */
    tn__gpu_tally allocated_bytes[TN__GPU_KINDS];      /* in blocks that are taken */
    tn__gpu_tally active_bytes[TN__GPU_KINDS];         /* taken, or waiting for other streams */
    tn__gpu_tally requested_bytes[TN__GPU_KINDS];      /* what the active ones were asked for with */
    tn__gpu_tally reserved_bytes[TN__GPU_KINDS];       /* in segments */
    tn__gpu_tally inactive_split_bytes[TN__GPU_KINDS]; /* free in segments that are partly active */
    /* how many */
    tn__gpu_tally allocation[TN__GPU_KINDS];
    tn__gpu_tally active[TN__GPU_KINDS];
    tn__gpu_tally segment[TN__GPU_KINDS];
    tn__gpu_tally inactive_split[TN__GPU_KINDS];
    tn__gpu_tally oversize_allocation, oversize_segment; /* above max_split_size_mb */
    int64_t alloc_retries, ooms, device_allocs, device_frees;
} tn__gpu_statistics;

/* A copy; all zero for a device that was never used. */
void tn__gpu_statistics_of(tn_device device, tn__gpu_statistics *out);

/* ---- too little memory: what the report needs, taken under the lock (allocator.c), told without (memory_report.c) ---- */
enum { TN__GPU_LARGEST = 5 };
typedef struct tn__gpu_shortage {
    size_t asked;    /* of the driver */
    int64_t allowed; /* the cap of the GPU; INT64_MAX if there is none */
    int64_t allocated, reserved, reserved_by_siblings;
    int n_held; /* the largest blocks in tensors */
    struct {
        size_t bytes;
        const tn__storage *storage; /* for comparing alone */
        const char *site;
    } held[TN__GPU_LARGEST];
} tn__gpu_shortage;
/* Sets TN_ENOMEM with the whole report. */
TN_COLD void tn__gpu_report_shortage(tn__gpu_device *dev, const tn__gpu_shortage *s);

/* tn_memory_summary of a device there is. */
int64_t tn__gpu_summary(tn_device device, char *out, size_t size);

/* The share of the GPU that this process may take; 1 at first. */
tn_status tn__gpu_set_memory_fraction(tn__gpu_device *dev, double fraction);

/* ---- pinned.c ---- */
typedef struct tn__gpu_pin {
    struct tn__gpu_pin *link;    /* of a list it is in */
    struct tn__gpu_pin *half[2]; /* what it is cut into; NULL: it is whole */
    struct tn__gpu_pin *sheet;   /* the whole that it was cut out of, or itself */
    char *p;
    size_t size, requested;
    tn__gpu_user *users;
    tn__storage *storage; /* that has it; NULL: staging, or free */
    uint32_t bin;         /* the logarithm of its size */
    bool free;
    bool moved; /* p is memory of the process's own, in place of the driver's that went with its context */
    /* of sheets */
    bool mapped;            /* the process's own memory, registered; else the driver's */
    bool lost;              /* the context that locked it is gone, or going */
    tn__gpu_device *device; /* whose context that is */
    struct tn__gpu_pin *next_sheet;
} tn__gpu_pin;

/* A pinned block; dev, whose context is current, is blamed for failures. NULL with an error set. */
tn__gpu_pin *tn__gpu_pin_get(tn__gpu_device *dev, size_t bytes);
void tn__gpu_pin_used(tn__gpu_pin *b, tn__stream *stream);
/* Given back: reused once what its users had queued is done. */
void tn__gpu_pin_put(tn__gpu_pin *b);
void tn__gpu_pinned_used(tn__storage *s, tn__stream *stream);
tn_status tn__gpu_pinned_touch(const tn__storage *s, const void *p, size_t bytes, bool write);
/* The device's context, which locks sheets, is about to go. */
void tn__gpu_pinned_forget(const tn__gpu_device *device);
void tn__gpu_pinned_end(void);

/* ---- peer_copies.c ---- */
tn_status tn__gpu_peer(tn_device to_device, void *to, tn_device from_device, const void *from, size_t bytes);
/* What is known of the device's links is void: its context went away. */
void tn__gpu_peer_forget(const tn__gpu_device *device);

/* ---- host_copies.c: what peer_copies.c shares ---- */
/* The host is about to read or write pinned memory: fake GPUs know whether it may. */
tn_status tn__gpu_touch(tn__gpu_device *dev, const void *p, size_t bytes, int write);

enum { TN__GPU_CHUNK = 4 << 20, TN__GPU_CHUNKS = 4 }; /* the largest piece; pieces under way at once */
/* In pieces of what size so many bytes go through pinned memory. */
size_t tn__gpu_chunk(size_t bytes);

#endif
