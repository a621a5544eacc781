/* fakegpu/dialect_items.h: what a compiled kernel and the library that runs it both know. It is the head of every unit that
 * the fake NVRTC compiles, and part of the library: so it holds plain C types only, and no include. */
#ifndef TENON_FAKEGPU_DIALECT_ITEMS_H
#define TENON_FAKEGPU_DIALECT_ITEMS_H

/* The work item that runs now, and how it reaches the others of its group. */
struct tn_items {
    int local[3]; /* changes from item to item; the rest belongs to the group */
    int row;      /* how many items of a kernel without barrier run, from local[0] on */
    int group[3], size[3], groups[3];
    char *memory; /* local memory of the group: arrays of LOCAL_MEM, poisoned when the group begins */
    void *run;    /* the library's, for those below */
    /* Returns when every item of the group has come. 'site' is one number per place of the text; all: BARRIER_ALL. */
    void (*barrier)(void *run, int site, int all);
    void (*sync_warp)(void *run, int site); /* every lane of the warp */
    /* Gives v to the lane that asks for it, and returns that of lane ^ by (down 0) or lane + by (down 1), when every lane of the
     * warp has come. */
    unsigned long long (*shuffle)(void *run, int site, unsigned long long v, int by, int down);
    /* The item touches memory: TN_READ and so on. Where races are looked for; else NULL. */
    void (*access)(void *run, const void *at, unsigned long bytes, int how);
};

enum {
    TN_READ = 1,
    TN_WRITE = 2,
    TN_ATOMIC = 4,
    TN_ALIGNED = 8 /* at once, so the address must be a multiple of the size */
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
    const char *name;
    unsigned size;
    unsigned char pointer, constant;
    unsigned char align, nested; /* of CUDA C: see fake_kernel_arg */
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
    /* Runs one item; without barrier, 'row' items of one row. */
    void (*entry)(const struct tn_items *items, void **arguments);
    /* Of CUDA C: the function itself, by whose exported name the kernel is found; 'name' is what it is called in the text, or
     * (expression) what the program gave nvrtcAddNameExpression. Its entry runs one item. */
    void (*function)(void);
    int expression;
};

#endif
