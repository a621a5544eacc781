/* fakegpu/dialect_cuda_items.h: what a unit of CUDA C and the library that runs it both know. It stands before
 * dialect_cuda.h, and is part of the library: plain C types only, and no include. */
#ifndef TENON_FAKEGPU_DIALECT_CUDA_ITEMS_H
#define TENON_FAKEGPU_DIALECT_CUDA_ITEMS_H

/* The thread that runs now, and how it reaches the others of its block. */
struct tn_cuda {
    unsigned thread[3]; /* changes from thread to thread; the rest belongs to the block */
    unsigned block[3], size[3], blocks[3];
    char *dynamic; /* shared memory of the launch's size */
    void *run;     /* the library's, for what follows */
    /* Returns when every thread of the block that has not ended has come: how many of them said 'yes'. 'site' is one number for
     * each __syncthreads of the text. */
    int (*barrier)(void *run, int site, int yes, int *all);
    /* Returns when every thread of the warp that the mask names has come with that mask: the values of its 32 threads. */
    const unsigned long long *(*warp)(void *run, unsigned mask, unsigned long long value);
    void (*pause)(void *run);                                   /* lets the others run */
    void (*fail)(void *run, int assertion, const char *report); /* ends the launch; does not return */
};

/* A variable that the program gave nvrtcAddNameExpression. */
struct tn_cuda_variable {
    const char *name;
    void *address;
    unsigned long bytes;
};

#endif
