/* What memory holds that nobody has written: bytes of ones. They are a NaN as float16, bfloat16, float32 and float64, and
 * -1 as an integer or an index, so that a kernel that reads them shows it. */
#include "fakegpu/driver.h"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { POISON = 0xff, SMALL = 1 << 20, STENCIL = 16 << 20 };

void __asan_poison_memory_region(void const volatile *memory, size_t bytes) __attribute__((weak));
void __asan_unpoison_memory_region(void const volatile *memory, size_t bytes) __attribute__((weak));

void fake_asan_poison(const void *memory, size_t bytes)
{
    if (__asan_poison_memory_region)
        __asan_poison_memory_region(memory, bytes);
}

void fake_asan_unpoison(const void *memory, size_t bytes)
{
    if (__asan_unpoison_memory_region)
        __asan_unpoison_memory_region(memory, bytes);
}

bool fake_has_asan(void)
{
    return __asan_poison_memory_region && __asan_unpoison_memory_region;
}

#ifdef __linux__
/* A file of poison, which is mapped copy-on-write over large stretches. -1 if there is none. */
static int stencil_file;
static pthread_once_t stencil_once = PTHREAD_ONCE_INIT;

static void make_stencil(void)
{
    static char piece[1 << 16];
    memset(piece, POISON, sizeof piece);
    stencil_file = memfd_create("tenon fake gpu", MFD_CLOEXEC);
    for (size_t at = 0; stencil_file >= 0 && at < STENCIL; at += sizeof piece)
        if (write(stencil_file, piece, sizeof piece) != (ssize_t)sizeof piece) {
            close(stencil_file);
            stencil_file = -1;
        }
}

/* Maps poison over whole pages; where that fails, the pages keep what they held. Returns how many bytes it did. */
static size_t map_poison(char *memory, size_t bytes)
{
    pthread_once(&stencil_once, make_stencil);
    size_t done = 0;
    while (stencil_file >= 0 && done < bytes) {
        size_t piece = bytes - done < STENCIL ? bytes - done : STENCIL;
        if (mmap(memory + done, piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, stencil_file,
                 0) == MAP_FAILED)
            break;
        done += piece;
    }
    return done;
}
#else
static size_t map_poison(char *memory, size_t bytes)
{
    (void)memory, (void)bytes;
    return 0;
}
#endif

void fake_poison_again(char *memory, size_t bytes)
{
    if (bytes >= STENCIL)
        fake_poison(memory, bytes);
    else
        memset(memory, POISON, bytes);
}

void fake_poison(char *memory, size_t bytes)
{
    fake_asan_unpoison(memory, bytes);
    if (bytes >= SMALL) {
        size_t page = (size_t)sysconf(_SC_PAGESIZE), edge = (page - (uintptr_t)memory % page) % page;
        memset(memory, POISON, edge);
        memory += edge, bytes -= edge;
        size_t done = map_poison(memory, bytes / page * page);
        memory += done, bytes -= done;
    }
    memset(memory, POISON, bytes);
}
