/* Runs the command with its output in files; folders for tests. */
#include "helpers.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum { MAX_ARGUMENTS = 40 };
static char folder[] = "cli-test-XXXXXX";
static char *out_text, *err_text, *so_far;

/* ---- processes ---- */

static void child(const how *h, char **argv)
{
    int out = h->out ? h->out : open("stdout.txt", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    int err = open("stderr.txt", O_WRONLY | O_CREAT | O_TRUNC, 0644), in = open("/dev/null", O_RDONLY);
    if (out < 0 || err < 0 || in < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
        _exit(126);
    signal(SIGINT, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    if (h->largest_file) {
        struct rlimit limit = {(rlim_t)h->largest_file, (rlim_t)h->largest_file};
        signal(SIGXFSZ, SIG_IGN);
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
            _exit(126);
    }
    execv(argv[0], argv);
    _exit(127);
}

pid_t kit_start(how h, const char *const *arguments)
{
    char *argv[MAX_ARGUMENTS + 2] = {(char *)(uintptr_t)(h.program ? h.program : TENON_PROGRAM)};
    for (int i = 0; arguments[i]; i++) {
        assert_in_range(i, 0, MAX_ARGUMENTS - 1);
        argv[i + 1] = (char *)(uintptr_t)arguments[i];
    }
    unlink("stdout.txt");
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        child(&h, argv);
    return pid;
}

run kit_wait(pid_t pid)
{
    int status;
    run r;
    while (waitpid(pid, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    free(out_text);
    free(err_text);
    out_text = kit_read("stdout.txt", NULL);
    err_text = kit_read("stderr.txt", NULL);
    r.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    r.out = out_text ? out_text : "";
    r.err = err_text ? err_text : "";
    return r;
}

run kit_run(how h, const char *const *arguments)
{
    return kit_wait(kit_start(h, arguments));
}

void kit_gpus(const char *fakes)
{
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("TENON_VISIBLE_DEVICES");
    unsetenv("TENON_FAKE_GPUS");
    assert_int_equal(fakes ? setenv("TENON_FAKE_GPUS", fakes, 1) : setenv("CUDA_VISIBLE_DEVICES", "-1", 1), 0);
}

const char *kit_so_far(void)
{
    free(so_far);
    so_far = kit_read("stdout.txt", NULL);
    return so_far ? so_far : "";
}

void kit_sleep(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

/* ---- what is expected ---- */

void kit_error_line(run r, int status, const char *const *texts, const char *file, int line)
{
    while (!strncmp(r.err, "tenon: warning: ", 16) && strchr(r.err, '\n'))
        r.err = strchr(r.err, '\n') + 1;
    size_t n = strlen(r.err);
    bool good = r.status == status && n > 0 && strchr(r.err, '\n') == r.err + n - 1;
    const char *missing = NULL;
    for (; *texts && !missing; texts++)
        missing = strstr(r.err, *texts) ? NULL : *texts;
    if (!good || missing) {
        print_error("expected status %d and one line%s%s, got status %d and:\n%s\nstdout:\n%s\n", status,
                    missing ? " with: " : "", missing ? missing : "", r.status, r.err, r.out);
        _fail(file, line);
    }
}

run kit_good(run r, const char *file, int line)
{
    if (r.status != 0 || *r.err) {
        print_error("expected success, got status %d\nstderr:\n%s\nstdout:\n%s\n", r.status, r.err, r.out);
        _fail(file, line);
    }
    return r;
}

void kit_contains(const char *text, const char *part, bool expected, const char *file, int line)
{
    if ((strstr(text, part) != NULL) != expected) {
        print_error("%s: '%s'\nin:\n%s\n", expected ? "expected, but not there" : "there, but not expected", part,
                    text);
        _fail(file, line);
    }
}

/* ---- files ---- */

char *kit_read(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    size_t size = 0, room = 4096, got;
    char *data = malloc(room);
    assert_non_null(data);
    while ((got = fread(data + size, 1, room - size - 1, f)) > 0) {
        size += got;
        if (room - size < 2) {
            data = realloc(data, room *= 2);
            assert_non_null(data);
        }
    }
    fclose(f);
    data[size] = '\0';
    if (n)
        *n = size;
    return data;
}

void kit_write(const char *path, const void *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_true(fwrite(data, 1, n, f) == n);
    assert_int_equal(fclose(f), 0);
}

bool kit_same_file(const char *a, const char *b)
{
    size_t na = 0, nb = 0;
    char *da = kit_read(a, &na), *db = kit_read(b, &nb);
    bool same = da && db && na == nb && memcmp(da, db, na) == 0;
    free(da);
    free(db);
    return same;
}

bool kit_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

int kit_count(const char *path)
{
    DIR *d = opendir(path);
    int n = 0;
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return n;
}

int kit_losses(const char *path, double *loss, int cap)
{
    char *text = kit_read(path, NULL), *line = text;
    int n = 0;
    assert_non_null(text);
    for (; (line = strchr(line, '\n')) != NULL && n < cap; line++) {
        long long step, epoch;
        double lr;
        n += sscanf(line + 1, "%lld,%lld,%lf,%lf", &step, &epoch, &loss[n], &lr) == 4;
    }
    free(text);
    return n;
}

int kit_setup(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    kit_digits("digits", false);
    kit_gpus(NULL);
    return 0;
}

int kit_teardown(void **state)
{
    char command[64];
    (void)state;
    free(out_text);
    free(err_text);
    free(so_far);
    snprintf(command, sizeof command, "rm -rf ./%s", folder);
    return chdir("..") || system(command);
}

/* ---- data ---- */

void kit_bar(int k, unsigned char pixel[PIXELS])
{
    memset(pixel, 0, PIXELS);
    for (int y = 4; y < 24; y++)
        pixel[y * SIDE + 4 + 2 * k] = pixel[y * SIDE + 5 + 2 * k] = 255;
}

void kit_idx(const char *path, int n_dims, const uint32_t *dims, const unsigned char *data, size_t n, bool gzip)
{
    size_t at = 4 + 4 * (size_t)n_dims;
    unsigned char *all = malloc(at + n);
    assert_non_null(all);
    memcpy(all, (unsigned char[]){0, 0, 8, (unsigned char)n_dims}, 4);
    for (int i = 0; i < 4 * n_dims; i++)
        all[4 + i] = (unsigned char)(dims[i / 4] >> (24 - 8 * (i % 4)));
    memcpy(all + at, data, n);
    if (gzip) {
        gzFile z = gzopen(path, "wb");
        assert_int_equal(gzwrite(z, all, (unsigned)(at + n)), (int)(at + n));
        assert_int_equal(gzclose(z), Z_OK);
    } else
        kit_write(path, all, at + n);
    free(all);
}

static void write_set(const char *path, const char *name, uint32_t n, bool gzip)
{
    char file[256];
    uint32_t seed = n;
    unsigned char *pixel = malloc((size_t)n * PIXELS), *label = malloc(n);
    assert_true(pixel && label);
    for (uint32_t i = 0; i < n; i++) {
        label[i] = (unsigned char)(i * 7 % 10);
        kit_bar(label[i], pixel + i * PIXELS);
        for (uint32_t p = i * PIXELS; p < (i + 1) * PIXELS; p++) {
            seed = seed * 1664525 + 1013904223; /* Numerical Recipes' generator */
            if (!pixel[p])
                pixel[p] = (unsigned char)(seed >> 26);
        }
    }
    snprintf(file, sizeof file, "%s/%s-images-idx3-ubyte%s", path, name, gzip ? ".gz" : "");
    kit_idx(file, 3, (uint32_t[]){n, SIDE, SIDE}, pixel, (size_t)n * PIXELS, gzip);
    snprintf(file, sizeof file, "%s/%s-labels-idx1-ubyte%s", path, name, gzip ? ".gz" : "");
    kit_idx(file, 1, (uint32_t[]){n}, label, n, gzip);
    free(pixel);
    free(label);
}

void kit_digits(const char *path, bool gzip)
{
    assert_int_equal(mkdir(path, 0755), 0);
    write_set(path, "train", TRAINING, gzip);
    write_set(path, "t10k", TESTING, gzip);
}
