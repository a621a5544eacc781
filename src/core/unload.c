/* The end of the library before the end of the process.
 *
 * A destructor runs in both cases. In which of the two it is, the order tells: exit() calls what atexit() was given before
 * any destructor; dlclose calls a library's destructors first, and what it gave to atexit() from the last of them, which
 * is the C compiler's. So a destructor that finds 'exiting' unset runs in dlclose. (At exit other threads may still be
 * in the library, and a GPU's driver may be gone: nothing is touched then.) */
#include "core/unload.h"
#include "core/alloc.h"
#include "core/parallel.h"
#include "core/thread.h"
#include <stdlib.h>

enum { MAX_ENDS = 8 };

static struct {
    _Atomic bool watching, exiting;
    _Atomic int n;
    void (*end[MAX_ENDS])(void);
} unload;

static void note_exit(void)
{
    atomic_store(&unload.exiting, true);
}

void tn__unload_watch(void)
{
    atomic_store(&unload.watching, atexit(note_exit) == 0);
}

void tn__at_unload(void (*f)(void))
{
    int i = atomic_fetch_add(&unload.n, 1);
    if (i < MAX_ENDS)
        unload.end[i] = f;
}

__attribute__((destructor)) static void go(void)
{
    if (!atomic_load(&unload.watching))
        return;
    if (atomic_load(&unload.exiting)) {
        tn__threads_forget(); /* dlclose may be called in exit(), too, and threads may end after it */
        return;
    }
    tn__parallel_end();
    tn__threads_end();
    for (int i = TN_MIN(atomic_load(&unload.n), MAX_ENDS); i-- > 0;)
        unload.end[i]();
    tn__threads_end(); /* the record that these made for this thread */
    tn__heap_end();
}
