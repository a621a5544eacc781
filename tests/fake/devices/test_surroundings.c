/* What surrounds a process: no file can be opened any more, a FIFO stands where a library is named. Each says what the matter
 * is; none hangs. */
#include "fake/own_process.h"
#include "backend/cuda/cuda.h"
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <tenon/data.h>

/* Takes every descriptor that is left. */
static void exhaust(void)
{
    struct rlimit few = {64, 64};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    while (open("/dev/null", O_RDONLY) >= 0)
        ;
}

/* So many that leak checkers can look around at the end. */
static void relax(void)
{
    for (int fd = 56; fd < 64; fd++)
        close(fd);
}

static const char cause[] = "too many open files: this process can open no other (ulimit -n)";

static void no_descriptor_for_the_driver(void **state)
{
    (void)state;
    exhaust();
    assert_null(tn_zeros(TN_SHAPE(2), .device = TN_CUDA(0)));
    assert_non_null(strstr(tn_error_message(), cause));
    assert_null(strstr(tn_error_message(), "was not found"));
    assert_null(strstr(tn_error_message(), "no NVIDIA driver"));
    FAILS(tn_load_npy("/etc/hostname"), TN_EIO, "/etc/hostname: Too many open files");
    assert_null(tn__nvrtc());
    assert_non_null(strstr(tn_error_message(), "could not be opened"));
    assert_non_null(strstr(tn_error_message(), cause));
    tn_error_clear();
    tn_cuda_library l[4];
    assert_int_equal(tn_cuda_libraries(l, 4), 4);
    for (int i = 0; i < 4; i++)
        assert_true(!l[i].found && !strcmp(l[i].missing, cause));
    relax();
}

static void no_descriptor_for_a_kernel(void **state)
{
    char folder[] = "/tmp/tenon-few-XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(folder));
    setenv("TMPDIR", folder, 1);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_zeros(TN_SHAPE(2), .device = TN_CUDA(0)));
    exhaust();
    assert_null(tn_erfc(x));
    print_message("%s\n", tn_error_message());
    assert_true(strstr(tn_error_message(), "Too many open files") || strstr(tn_error_message(), cause));
    tn_error_clear();
    tn_scope_close(s);
    assert_int_equal(rmdir(folder), 0); /* nothing was left in it */
    relax();
}

static void no_descriptor_for_a_blas(void **state)
{
    tn_device_info d;
    (void)state;
    setenv("TENON_BLAS", "libblas.so.3", 1); /* named: with ThreadSanitizer none is looked for otherwise */
    exhaust();
    tn_devices(&d, 1);
    assert_non_null(strstr(d.detail, "own products (too many open files: no BLAS could be opened)"));
    relax();
}

static void a_fifo_is_no_library(void **state)
{
    char folder[] = "/tmp/tenon-fifo-XXXXXX", path[64];
    tn_device_info d;
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/fifo", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    setenv("TENON_BLAS", path, 1);
    setenv("TENON_FAKEGPU_LIBRARY", path, 1);
    alarm(60); /* where it hung */
    tn_devices(&d, 1);
    assert_non_null(strstr(d.detail, "is not a BLAS"));
    FAILS(tn_zeros(TN_SHAPE(2), .device = TN_CUDA(0)), TN_EDEVICE, "cannot be opened");
    unlink(path);
    rmdir(folder);
}

int main(int argc, char **argv)
{
    static const alone tests[] = {
        ALONE(no_descriptor_for_the_driver, "TENON_FAKE_GPUS=1x64MiB"),
        {"no_descriptor_for_a_real_driver", no_descriptor_for_the_driver, false, {"TENON_FAKE_GPUS="}},
        ALONE(no_descriptor_for_a_kernel, "TENON_FAKE_GPUS=1x64MiB", "TENON_CACHE_DIR=off"),
        ALONE(no_descriptor_for_a_blas, "TENON_BLAS="),
        ALONE(a_fifo_is_no_library, "TENON_FAKE_GPUS=1x64MiB"),
    };
    return alone_main(tests, TN_COUNT(tests), argc, argv);
}
