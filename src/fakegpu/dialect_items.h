/* fakegpu/dialect_items.h: what a compiled kernel and the library that runs it both know. It is the head of every unit that
 * the fake NVRTC compiles, and part of the library: so it holds plain C types only, and no include. */
#ifndef TENON_FAKEGPU_DIALECT_ITEMS_H
#define TENON_FAKEGPU_DIALECT_ITEMS_H

/* The work item that runs now, and how it reaches the others of its group. */
struct tn_items {
    int local[3]; /* changes from item to item; the rest belongs to the group */
    int group[3], size[3], groups[3];
    char *memory; /* local memory of the group: arrays of LOCAL_MEM, poisoned when the group begins */
    void *run;    /* the library's, for the two below */
    /* Returns when every item of the group has come. 'site' is one number per BARRIER of the text. */
    void (*barrier)(void *run, int site);
    /* Gives v to the lane that asks for it, and returns that of lane ^ by (down 0) or lane + by (down 1). A barrier. */
    unsigned long long (*shuffle)(void *run, int site, unsigned long long v, int by, int down);
};

/* What a unit asks of the library where the compiler lacks it (dialect_tinycc.h): a place of the thread for the item that runs
 * now, and to replace a word that still holds what is expected; both return the word as it was. */
struct tn_host {
    struct tn_items *(*items)(void);
    unsigned (*swap_32)(unsigned *p, unsigned expected, unsigned wanted);
    unsigned long long (*swap_64)(unsigned long long *p, unsigned long long expected, unsigned long long wanted);
};

/* Between two arrays of LOCAL_MEM: nobody may write there. Offsets are multiples of it. */
enum { TN_LOCAL_GAP = 64 };

struct tn_argument {
    unsigned size;
    unsigned char pointer, constant;
};

/* One array of local memory. */
struct tn_local {
    const char *name;
    unsigned offset, size;
};

struct tn_kernel_info {
    const char *name;
    int items; /* of a group, at most (KERNEL_N); 0: as many as a device takes */
    int barrier, n_arguments, n_locals;
    const struct tn_argument *argument;
    const struct tn_local *local;
    unsigned local_bytes; /* of all, with gaps */
    /* Without barrier: runs one row of items (local[1] and local[2] given, local[0] from 0). With one: one item. */
    void (*entry)(const struct tn_items *items, void **arguments);
};

#endif
