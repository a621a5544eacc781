/* Fuzz target: files in the kernel cache's folder. What was stored comes back; one that is damaged, or anything else in its
 * place, is no entry. The first three bytes say which byte of a stored file is turned how; with 0 for how, the rest is put
 * there as a file of its own. */
#include "fuzz.h"
#include "backend/gpu/kernel_cache.h"
#include "core/alloc.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/tenon-fuzz-XXXXXX", path[80];

static void remove_folder(void)
{
    unlink(path);
    rmdir(folder);
}

static void use_folder(const tn__cache_key *key)
{
    if (*path)
        return;
    MUST(mkdtemp(folder) && setenv("TENON_CACHE_DIR", folder, 1) == 0 && atexit(remove_folder) == 0);
    snprintf(path, sizeof path, "%s/%016llx%016llx", folder, (unsigned long long)key->name[0],
             (unsigned long long)key->name[1]);
}

/* Is there an entry, and is it these bytes? */
static bool comes_back(const tn__cache_key *key, const uint8_t *data, size_t n)
{
    void *got = NULL;
    size_t size = 0;
    if (!tn__cache_load(key, &got, &size))
        return false;
    bool same = size == n && memcmp(got, data, n) == 0;
    tn__block_put(got, size);
    return same;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const texts[] = {"one", "text"};
    const tn__cache_key key = tn__cache_key_of(texts, 2);
    use_folder(&key);
    if (n < 4)
        return 0;
    const size_t at = (size_t)data[0] << 8 | data[1];
    const uint8_t how = data[2], *bytes = data + 3;
    n -= 3;
    tn__cache_store(&key, bytes, n);
    MUST(comes_back(&key, bytes, n));
    struct stat s;
    int fd = open(path, O_RDWR | (how ? 0 : O_TRUNC));
    MUST(fd >= 0 && fstat(fd, &s) == 0);
    if (how) {
        uint8_t byte;
        const off_t where = (off_t)(at % (size_t)s.st_size);
        MUST(pread(fd, &byte, 1, where) == 1);
        byte ^= how;
        MUST(pwrite(fd, &byte, 1, where) == 1);
    } else
        MUST(write(fd, bytes, n) == (ssize_t)n);
    close(fd);
    void *got = NULL;
    size_t size = 0;
    MUST(!tn__cache_load(&key, &got, &size));
    return 0;
}
