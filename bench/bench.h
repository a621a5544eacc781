/* bench/bench.h: a program of benchmarks, one per subject.
 *
 *     bench_memory            runs all, prints a line each
 *     bench_memory --list     names
 *     bench_memory --serve    reads names from stdin, answers each with seconds per call (median of a few short batches) or
 *                             with 'unable' and 'unknown': bench/compare.py alternates so between Tenon and its peer
 */
#ifndef TENON_BENCH_H
#define TENON_BENCH_H

#undef TN_HERE
#define TN_HERE __FILE__ ":" TN__STR(__LINE__)
#include <stdbool.h>
#include <tenon/tenon.h>

typedef struct bench {
    const char *name;
    double work; /* of one call, in 'unit's: bytes moved, floating-point operations, images; 0: only the time counts */
    const char *unit;
    void (*begin)(void);
    void (*run)(void); /* one call */
    void (*end)(void);
} bench;

/* Waits until what run() queued is done; NULL where it is done when run() returns. A program sets it before bench_main. */
extern void (*bench_finish)(void);

/* Whether this machine has what the row of that name measures; NULL where every machine has. A program sets it, too. */
extern bool (*bench_able)(const char *name);

int bench_main(int argc, char **argv, const bench *list, int n);

/* Stops with a message if a call failed. */
void bench_check(const void *result);
#define CHECK(x) bench_check((const void *)(x))

#endif
