/* tests/cli/helpers.h: runs the command 'tenon' as a process of its own, in a folder that is made for the test. */
#ifndef TENON_TESTS_CLI_HELPERS_H
#define TENON_TESTS_CLI_HELPERS_H

#include "check.h"
#include <stdlib.h>
#include <sys/types.h>

/* What a process printed and how it ended. Valid until the next run. */
typedef struct run {
    int status; /* exit status, or 128 + the signal that ended it */
    const char *out, *err;
} run;

/* How it is started; zero is the usual. */
typedef struct how {
    const char *program;  /* the command under test */
    int out;              /* file descriptor of its stdout; 0: a file that is read when it has ended */
    int64_t largest_file; /* RLIMIT_FSIZE, with SIGXFSZ ignored; 0: no limit */
} how;

/* What is trained where the model does not matter. Under a sanitizer, which watches each access, the one without a hidden
 * layer: the same code in the same threads at a fiftieth of the work. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define KIT_MODEL "--model", "linear", "--lr", "0.03"
#else
#define KIT_MODEL "--model", "mlp"
#endif

/* kit_run("train", "--epochs", "2") */
#define TENON(...)         kit_run((how){0}, (const char *const[]){__VA_ARGS__, NULL})
#define TENON_HOW(h_, ...) kit_run((h_), (const char *const[]){__VA_ARGS__, NULL})
#define START(h_, ...)     kit_start((h_), (const char *const[]){__VA_ARGS__, NULL})
run kit_run(how h, const char *const *arguments);
pid_t kit_start(how h, const char *const *arguments);
run kit_wait(pid_t pid);
/* Which GPUs the processes started from here on see: "2x1GiB" fake ones; NULL: none, real ones neither, as at first. */
void kit_gpus(const char *fakes);
/* What the process that runs has printed so far on stdout. */
const char *kit_so_far(void);
void kit_sleep(double seconds);

/* The status is that, and stderr holds one line that contains each of the texts (which end with NULL), behind what is warned
 * of, if anything: settings in the environment. */
#define ERROR_LINE(r_, status_, ...) \
    kit_error_line((r_), (status_), (const char *const[]){__VA_ARGS__, NULL}, __FILE__, __LINE__)
void kit_error_line(run r, int status, const char *const *texts, const char *file, int line);
/* The status is 0 and nothing is on stderr. */
#define GOOD(r_) kit_good((r_), __FILE__, __LINE__)
run kit_good(run r, const char *file, int line);
#define CONTAINS(text_, part_)     kit_contains((text_), (part_), true, __FILE__, __LINE__)
#define CONTAINS_NOT(text_, part_) kit_contains((text_), (part_), false, __FILE__, __LINE__)
void kit_contains(const char *text, const char *part, bool expected, const char *file, int line);

/* ---- files, in the test's folder ---- */

/* cmocka's group setup and teardown: a fresh folder becomes the current one, with a small data set in "digits". */
int kit_setup(void **state);
int kit_teardown(void **state);

/* The whole of it, with a '\0' behind; the caller frees it. NULL if there is no such file. */
char *kit_read(const char *path, size_t *n);
void kit_write(const char *path, const void *data, size_t n);
bool kit_same_file(const char *a, const char *b);
bool kit_exists(const char *path);
/* How many files and folders are in a folder. */
int kit_count(const char *folder);
/* The losses of a log of 'tenon train', one a step: writes up to cap of them, returns how many it wrote. */
int kit_losses(const char *path, double *loss, int cap);

/* Pictures that a small network learns at once: class k is a bar two pixels wide at column 4 + 2k, on noise. */
enum { SIDE = 28, PIXELS = SIDE * SIDE, TRAINING = 600, TESTING = 200 };
void kit_bar(int k, unsigned char pixel[PIXELS]);
/* The four files in a folder, which is made. gzip: compressed, with .gz after the name. */
void kit_digits(const char *folder, bool gzip);
/* An IDX file of bytes; dims[n_dims]. */
void kit_idx(const char *path, int n_dims, const uint32_t *dims, const unsigned char *data, size_t n, bool gzip);

#endif
