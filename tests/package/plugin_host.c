/* A program that opens a plugin, lets it work, and closes it, CYCLES times, on two threads of its own: one that lives
 * through every cycle, and one that ends after the plugin has gone (what the plugin's library keeps for a thread must not
 * be looked for then).   plugin_host PLUGIN CYCLES   0, if each cycle gave what it should, and neither threads, nor
 * address space (but for a megabyte of malloc's own), nor memory (but for 64 KiB) grew from the end of the fifth cycle to
 * the last. At its end the plugin is closed in exit(). Run it with TENON_NO_CACHE=1: what the cache of free blocks keeps is no
 * loss, and varies. */
#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int count_threads(void)
{
    DIR *folder = opendir("/proc/self/task");
    int n = -2;
    while (readdir(folder))
        n++;
    closedir(folder);
    return n;
}

/* What ends by itself has ended when nothing has changed for a while. */
static void settle(void)
{
    for (int same = 0, before = -1; same < 20; usleep(1000)) {
        int now = count_threads();
        same = now == before ? same + 1 : 0;
        before = now;
    }
}

/* Of address space: a library that stays, or memory that is not given back. */
static long count_pages(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long pages = 0;
    if (!f || fscanf(f, "%ld", &pages) != 1)
        pages = -1;
    if (f)
        fclose(f);
    return pages;
}

static long count_bytes(void)
{
    struct mallinfo2 all = mallinfo2();
    return (long)(all.uordblks + all.hblkhd);
}

/* A plugin that is closed only when the program ends, as programs do that close theirs in a handler of exit(): a thread that used
 * it ends after that. */
static struct {
    void *plugin;
    pthread_t thread;
} late;

typedef struct visitor {
    int (*work)(void);
    int wrong;
    sem_t done, gone;
} visitor;

static void *visit(void *arg)
{
    visitor *v = arg;
    v->wrong = v->work();
    sem_post(&v->done);
    sem_wait(&v->gone); /* the plugin is closed now, and this thread ends */
    return NULL;
}

static int cycle(const char *path)
{
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    visitor v = {0};
    pthread_t thread;
    if (!plugin) {
        puts(dlerror());
        return 1;
    }
    *(void **)&v.work = dlsym(plugin, "plugin_work");
    sem_init(&v.done, 0, 0);
    sem_init(&v.gone, 0, 0);
    pthread_create(&thread, NULL, visit, &v);
    sem_wait(&v.done);
    int wrong = v.wrong | v.work();
    dlclose(plugin);
    sem_post(&v.gone);
    pthread_join(thread, NULL);
    return wrong;
}

static visitor last;

static void close_late(void)
{
    dlclose(late.plugin);
    sem_post(&last.gone);
    pthread_join(late.thread, NULL);
}

static int open_late(const char *path)
{
    atexit(close_late);
    late.plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    *(void **)&last.work = dlsym(late.plugin, "plugin_work");
    sem_init(&last.done, 0, 0);
    sem_init(&last.gone, 0, 0);
    pthread_create(&late.thread, NULL, visit, &last);
    sem_wait(&last.done);
    return last.wrong;
}

int main(int argc, char **argv)
{
    int cycles = argc > 2 ? atoi(argv[2]) : 0, threads = 0;
    long pages = 0, bytes = 0;
    for (int i = 1; i <= cycles; i++) {
        int wrong = cycle(argv[1]);
        if (wrong) {
            printf("cycle %d: %d\n", i, wrong);
            return 1;
        }
        if (i == 5) {
            settle();
            threads = count_threads();
            pages = count_pages();
            bytes = count_bytes();
        }
    }
    settle();
    threads = count_threads() - threads;
    pages = count_pages() - pages;
    bytes = count_bytes() - bytes;
    printf("%d cycles: %+d threads, %+ld pages, %+ld bytes\n", cycles, threads, pages, bytes);
    if (open_late(argv[1]))
        return 1;
    return cycles < 10 || threads || pages > 256 || bytes > 65536;
}
