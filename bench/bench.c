/* What the programs of benchmarks share: batches on a clock, options, answers to compare.py. */
#include "bench.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCHES = 9 };

void (*bench_finish)(void);
bool (*bench_able)(const char *name);

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void bench_check(const void *result)
{
    if (!result) {
        fprintf(stderr, "bench: %s\n", tn_error_message());
        exit(1);
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double batch(const bench *b, long calls)
{
    double start = now();
    for (long i = 0; i < calls; i++)
        b->run();
    if (bench_finish)
        bench_finish();
    return now() - start;
}

static bool is_able(const bench *b)
{
    return !bench_able || bench_able(b->name);
}

/* Seconds per call: the median of batches that take about 20 ms each. */
static double measure(const bench *b)
{
    double times[BATCHES];
    long calls = 1;
    if (b->begin)
        b->begin();
    if (bench_finish) { /* what the first call compiles and allocates is not the work */
        batch(b, 1);
        batch(b, 1);
    }
    for (;;) {
        double took = batch(b, calls);
        if (took > 0.02 || calls > 100000000)
            break;
        calls = took > 1e-4 ? (long)((double)calls * 0.025 / took) + 1 : calls * 10;
    }
    for (int k = 0; k < BATCHES; k++)
        times[k] = batch(b, calls) / (double)calls;
    if (b->end)
        b->end();
    qsort(times, BATCHES, sizeof *times, by_value);
    return times[BATCHES / 2];
}

static void report(const bench *b, double seconds)
{
    if (seconds < 1e-5)
        printf("%-34s %10.1f ns", b->name, seconds * 1e9);
    else if (seconds < 1e-2)
        printf("%-34s %10.1f us", b->name, seconds * 1e6);
    else
        printf("%-34s %10.1f ms", b->name, seconds * 1e3);
    if (b->work > 0)
        printf("   %8.2f G%s/s", b->work / seconds / 1e9, b->unit);
    printf("\n");
}

static int serve(const bench *list, int n)
{
    char name[128];
    while (fgets(name, sizeof name, stdin)) {
        name[strcspn(name, "\n")] = '\0';
        int i = 0;
        while (i < n && strcmp(list[i].name, name) != 0)
            i++;
        if (i < n && !is_able(&list[i]))
            printf("unable\n");
        else if (i < n)
            printf("%.9g %.9g %s\n", measure(&list[i]), list[i].work, list[i].unit ? list[i].unit : "-");
        else
            printf("unknown\n");
        fflush(stdout);
    }
    return 0;
}

int bench_main(int argc, char **argv, const bench *list, int n)
{
    if (argc > 1 && !strcmp(argv[1], "--serve"))
        return serve(list, n);
    for (int i = 0; i < n; i++) {
        if (argc > 1 && !strcmp(argv[1], "--list"))
            printf("%s\n", list[i].name);
        else if (argc >= 2 && !strstr(list[i].name, argv[1]))
            continue;
        else if (is_able(&list[i]))
            report(&list[i], measure(&list[i]));
        else
            printf("%-34s          - (not on this machine)\n", list[i].name);
        fflush(stdout);
    }
    return 0;
}
