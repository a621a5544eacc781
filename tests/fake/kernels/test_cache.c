/* Compiled kernels: once in a process whatever the threads do, once on a disk whatever happens to its files. */
#include "fake/kernels/own_kernels.h"
#include "backend/gpu/kernel_cache.h"
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

static char folder[] = "/tmp/tenon-cudart-XXXXXX";

/* ---- a folder of this program's own, inherited by the processes that the tests start ---- */

static int in_own_folder(int (*f)(int, char **), int argc, char **argv)
{
    char command[128];
    if (argc > 1)
        return f(argc, argv);
    if (!mkdtemp(folder))
        return 1;
    setenv("TENON_TEST_FOLDER", folder, 1);
    int status = f(argc, argv);
    snprintf(command, sizeof command, "chmod -R u+rwx %s; rm -rf %s", folder, folder);
    return system(command) || status;
}

static const char *use_folder(const char *name, mode_t mode)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", getenv("TENON_TEST_FOLDER"), name);
    if (mode) {
        assert_int_equal(mkdir(path, 0700), 0);
        assert_int_equal(chmod(path, mode), 0);
    }
    setenv("TENON_CACHE_DIR", path, 1);
    return path;
}

/* Runs one kernel of the library on cuda:0. */
static void compute(void)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = MADE(tn_cuda(MADE(tn_tensor_from(TN_LIST(1.0, 2.0, 3.0))), 0));
    PRINTS(MADE(tn_cpu(MADE(tn_add(x, 1)))), "tensor([2., 3., 4.])");
    tn_scope_close(scope);
}

static void made(int64_t compiled, int64_t from_disk)
{
    tn__gpu_counts c = tn__gpu_counts_now();
    assert_int_equal(c.compiled, compiled);
    assert_int_equal(c.from_disk, from_disk);
}

static void finds_it_on_disk(void **state)
{
    (void)state;
    compute();
    made(0, 1);
    compute();
    made(0, 1);
}

static void compiles_it(void **state)
{
    (void)state;
    compute();
    made(1, 0);
}

static char warning[1024];
static int warnings;

static void take_warning(const char *message)
{
    snprintf(warning, sizeof warning, "%s", message);
    warnings++;
}

/* Two units: what is said of them is in 'warning', once at most. */
static void compile_two(void)
{
    tn_scope *scope = tn_scope_open();
    tn_set_warning_handler(take_warning);
    tn_tensor *x = MADE(tn_cuda(MADE(tn_tensor_from(TN_LIST(1.0, 2.0, 3.0))), 0));
    PRINTS(MADE(tn_cpu(MADE(tn_mul(MADE(tn_add(x, 1)), 2)))), "tensor([4., 6., 8.])");
    tn_scope_close(scope);
    made(2, 0);
}

/* TENON_TEST_FILE: a part of what it says. */
static void warns_once(void **state)
{
    (void)state;
    compile_two();
    assert_int_equal(warnings, 1);
    if (!strstr(warning, getenv("TENON_TEST_FILE")))
        fail_msg("%s", warning);
    assert_non_null(strstr(warning, "every process compiles them anew: TENON_CACHE_DIR can name a folder"));
}

static void warns_of_nothing(void **state)
{
    (void)state;
    compile_two();
    assert_int_equal(warnings, 0);
}

static void says(const char *words)
{
    setenv("TENON_TEST_FILE", words, 1);
    alone_run("warns_once", NULL);
}

/* ---- tests ---- */

/* Files of the folder; the last one's name. */
static int files(const char *path, char *name, size_t size)
{
    int n = 0;
    DIR *d = opendir(path);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.') {
            snprintf(name, size, "%s/%s", path, e->d_name);
            n++;
        }
    closedir(d);
    return n;
}

static void a_second_process_compiles_nothing(void **state)
{
    (void)state;
    char name[1024];
    struct stat s;
    const char *path = use_folder("deep/er", 0);
    compute();
    made(1, 0);
    compute();
    made(1, 0);
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0700);
    assert_int_equal(files(path, name, sizeof name), 1);
    assert_int_equal(stat(name, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0600);
    alone_run("finds_it_on_disk", NULL);
}

static void damage(const char *name, off_t length, off_t at)
{
    int fd = open(name, O_RDWR);
    assert_true(fd >= 0);
    if (length >= 0)
        assert_int_equal(ftruncate(fd, length), 0);
    else {
        char byte;
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        byte ^= 0x40;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    }
    close(fd);
}

static void damaged_files_are_made_anew(void **state)
{
    (void)state;
    char name[1024];
    struct stat s;
    const char *path = use_folder("damaged", 0);
    compute();
    assert_int_equal(files(path, name, sizeof name), 1);
    assert_int_equal(stat(name, &s), 0);
    const off_t places[] = {0, 9, 30, 50, 60, 80, s.st_size / 2, s.st_size - 1};
    for (size_t i = 0; i < TN_COUNT(places); i++) {
        damage(name, -1, places[i]);
        alone_run("compiles_it", NULL);
        alone_run("finds_it_on_disk", NULL);
    }
    const off_t lengths[] = {0, 7, 40, s.st_size - 1, s.st_size + 1};
    for (size_t i = 0; i < TN_COUNT(lengths); i++) {
        damage(name, lengths[i], 0);
        alone_run("compiles_it", NULL);
        alone_run("finds_it_on_disk", NULL);
    }
    assert_int_equal(files(path, name, sizeof name), 1); /* nothing is left beside it */
}

/* A folder that others may write could hold anybody's code. */
static void foreign_folders_are_not_used(void **state)
{
    (void)state;
    char name[1024];
    const char *path = use_folder("open", 0777);
    compute();
    assert_int_equal(files(path, name, sizeof name), 0);
    assert_int_equal(tn_kernel_cache_folder(name, sizeof name), 0);
    snprintf(name, sizeof name, " cannot be kept in %s (it is another user's, or others may write to it), so ", path);
    says(name);
    assert_int_equal(chmod(path, 0755), 0);
    assert_true(tn_kernel_cache_folder(name, sizeof name) > 0);
    assert_string_equal(name, path);
}

static void files_that_others_may_write_are_not_used(void **state)
{
    (void)state;
    char name[1024];
    const char *path = use_folder("file", 0);
    compute();
    assert_int_equal(files(path, name, sizeof name), 1);
    assert_int_equal(chmod(name, 0622), 0);
    alone_run("compiles_it", NULL);
    alone_run("finds_it_on_disk", NULL);
}

/* What stands in an entry's place and is no file is no entry; a FIFO must not hang us. */
static void entries_that_are_no_files(void **state)
{
    (void)state;
    char name[1024], target[1100];
    struct stat s;
    const char *path = use_folder("strange", 0);
    compute();
    assert_int_equal(files(path, name, sizeof name), 1);
    snprintf(target, sizeof target, "%s.kept", name);
    for (int kind = 0; kind < 4; kind++) {
        assert_int_equal(rename(name, target), 0);
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM, 0), folder_fd = open(path, O_RDONLY | O_DIRECTORY);
        snprintf(at.sun_path, sizeof at.sun_path, "/proc/self/fd/%d/%s", folder_fd, strrchr(name, '/') + 1);
        assert_int_equal(kind == 0   ? mkfifo(name, 0600)
                         : kind == 1 ? mkdir(name, 0700)
                         : kind == 2 ? symlink("/dev/zero", name)
                                     : bind(fd, (struct sockaddr *)&at, sizeof at),
                         0);
        alone_run("compiles_it", NULL);
        assert_int_equal(lstat(name, &s), 0);
        assert_int_equal(S_ISREG(s.st_mode), kind != 1); /* replaced, but for the folder */
        alone_run(kind == 1 ? "compiles_it" : "finds_it_on_disk", NULL);
        assert_int_equal(kind == 1 ? rmdir(name) : unlink(name), 0);
        assert_int_equal(rename(target, name), 0);
        close(fd);
        close(folder_fd);
    }
    setenv("TENON_CACHE_DIR", target, 1);
    assert_int_equal(mkfifo(target, 0600), 0); /* in the folder's place */
    alone_run("compiles_it", NULL);
}

static void unwritable_is_no_error(void **state)
{
    (void)state;
    use_folder("sealed", 0500);
    compute();
    made(1, 0);
    use_folder("sealed/inner", 0);
    setenv("TENON_CACHE_DIR", "/proc/nowhere/cache", 1);
    says(" cannot be kept in /proc/nowhere/cache (No such file or directory), so ");
    setenv("TENON_CACHE_DIR", "/dev/full", 1);
    says(" cannot be kept in /dev/full (Not a directory), so ");
    setenv("TENON_CACHE_DIR", "off", 1);
    alone_run("warns_of_nothing", NULL);
    use_folder("writable", 0);
    alone_run("warns_of_nothing", NULL);
}

static void the_default_is_in_the_home_folder(void **state)
{
    (void)state;
    char name[1024], wanted[1024];
    const char *home = use_folder("home", 0700);
    setenv("HOME", home, 1);
    unsetenv("TENON_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    compute();
    snprintf(wanted, sizeof wanted, "%s/.cache/tenon", home);
    assert_true(tn_kernel_cache_folder(name, sizeof name) > 0);
    assert_string_equal(name, wanted);
    alone_run("finds_it_on_disk", NULL);
    snprintf(wanted, sizeof wanted, "%s/xdg", home);
    setenv("XDG_CACHE_HOME", wanted, 1);
    alone_run("compiles_it", NULL);
    alone_run("finds_it_on_disk", NULL);
}

/* As root, too: where the home is missing it is not made, and nothing is in its place. */
static void a_home_that_is_not_there_is_not_made(void **state)
{
    (void)state;
    char home[600], name[64];
    snprintf(home, sizeof home, "%s/nobody", getenv("TENON_TEST_FOLDER"));
    setenv("HOME", home, 1);
    unsetenv("TENON_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    compute();
    made(1, 0);
    assert_int_equal(tn_kernel_cache_folder(name, sizeof name), 0);
    assert_int_equal(access(home, F_OK), -1);
    says("compiled GPU kernels cannot be kept, for there is no home folder, so ");
}

/* Another way to compile is another unit. */
static void options_are_part_of_the_key(void **state)
{
    (void)state;
    use_folder("options", 0);
    compute();
    setenv("TENON_GPU_SHUFFLE", "0", 1);
    alone_run("compiles_it", NULL);
    alone_run("finds_it_on_disk", NULL);
}

static void write_compiler(const char *path, const char *rest)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\nexec cc \"$@\"\n%s", rest);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, 0700), 0);
}

/* Another compiler makes other code, also where it has the name of the one before. */
static void the_compiler_is_part_of_the_key(void **state)
{
    (void)state;
    char path[600];
    snprintf(path, sizeof path, "%s-cc", use_folder("compilers", 0));
    write_compiler(path, "");
    setenv("TENON_FAKE_CC", path, 1);
    compute();
    made(1, 0);
    alone_run("finds_it_on_disk", NULL);
    write_compiler(path, "# of a later version\n");
    alone_run("compiles_it", NULL);
    alone_run("finds_it_on_disk", NULL);
}

static void keys_tell_texts_apart(void **state)
{
    (void)state;
    const char *a[] = {"ab", "c"}, *b[] = {"a", "bc"}, *c[] = {"abc"}, *d[] = {"abc", ""};
    tn__cache_key k[] = {tn__cache_key_of(a, 2), tn__cache_key_of(b, 2), tn__cache_key_of(c, 1),
                         tn__cache_key_of(d, 2), tn__cache_key_of(a, 1), tn__cache_key_of(a, 0)};
    for (size_t i = 0; i < TN_COUNT(k); i++)
        for (size_t j = 0; j < i; j++)
            assert_true(k[i].name[0] != k[j].name[0] && k[i].name[1] != k[j].name[1] && k[i].check != k[j].check);
    tn__cache_key again = tn__cache_key_of(a, 2);
    assert_memory_equal(&again, &k[0], sizeof again);
}

/* ---- threads ---- */

enum { THREADS = 8 };
static pthread_barrier_t start;

static void *compute_too(void *arg)
{
    (void)arg;
    pthread_barrier_wait(&start);
    compute();
    return NULL;
}

static void run_threads(void *(*body)(void *), int n)
{
    pthread_t t[THREADS];
    assert_int_equal(pthread_barrier_init(&start, NULL, (unsigned)n), 0);
    for (int i = 0; i < n; i++)
        assert_int_equal(pthread_create(&t[i], NULL, body, NULL), 0);
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
}

static void threads_compile_once(void **state)
{
    (void)state;
    use_folder("threads", 0);
    run_threads(compute_too, THREADS);
    made(1, 0);
}

/* ---- what NVRTC is asked for ---- */

static tn__nvrtc_functions nvrtc;
static _Atomic int compilations;
static char architecture[64];

static unsigned counted(tn__nvrtc_program program, int n, const char *const *options)
{
    atomic_fetch_add(&compilations, 1);
    for (int i = 0; i < n; i++)
        if (!strncmp(options[i], "--gpu-architecture=", 19))
            snprintf(architecture, sizeof architecture, "%s", options[i] + 19);
    return nvrtc.compile_program(program, n, options);
}

/* From now on it is asked by this function. */
static void ask_by(unsigned (*compile)(tn__nvrtc_program, int, const char *const *))
{
    const tn__nvrtc_functions *f = tn__nvrtc();
    assert_non_null(f);
    nvrtc = *f;
    ((tn__nvrtc_functions *)(uintptr_t)f)->compile_program = compile;
}

/* TENON_TEST_FILE: for which architecture. */
static void compiles_for(void **state)
{
    (void)state;
    assert_int_equal(tn_cuda_device_count(), 1);
    ask_by(counted);
    compute();
    made(1, 0);
    assert_int_equal(compilations, 1);
    assert_string_equal(architecture, getenv("TENON_TEST_FILE"));
}

static void is_too_old(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = MADE(tn_cuda(MADE(tn_ones(TN_SHAPE(3))), 0));
    FAILS(tn_add(x, 1), TN_EDEVICE,
          "NVRTC 13.0 compiles for sm_75 to sm_121, not for this GPU's sm_70: another version");
    tn_scope_close(scope);
}

static void architectures(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"9.0", "sm_90"}, {"9.5", "sm_90"}, {"12.9", "sm_121"}, {"13.0", "compute_121"}, {"9.9,8.0", "sm_90"}};
    use_folder("architectures", 0);
    for (size_t i = 0; i < TN_COUNT(cases); i++) {
        setenv("TENON_FAKE_GPU_CAPABILITY", cases[i][0], 1);
        setenv("TENON_TEST_FILE", cases[i][1], 1);
        alone_run("compiles_for", NULL);
        alone_run("finds_it_on_disk", NULL);
    }
    setenv("TENON_FAKE_GPU_CAPABILITY", "7.0", 1);
    alone_run("is_too_old", NULL);
    setenv("TENON_FAKE_GPU_CAPABILITY", "9", 1);
    FAILS(tn_zeros(TN_SHAPE(2), .device = TN_CUDA(0)), TN_EDEVICE,
          "TENON_FAKE_GPU_CAPABILITY='9' is not understood. Accepted: compute capabilities, separated by commas");
}

/* ---- one compilation for all devices and threads ---- */

static void *compute_everywhere(void *arg)
{
    (void)arg;
    pthread_barrier_wait(&start);
    for (int32_t i = 0; i < tn_cuda_device_count(); i++) {
        tn_scope *scope = tn_scope_open();
        tn_tensor *x = MADE(tn_to(MADE(tn_tensor_from(TN_LIST(1.0, 2.0, 3.0))), .device = TN_CUDA(i)));
        PRINTS(MADE(tn_cpu(MADE(tn_mul(MADE(tn_add(x, 1)), 2)))), "tensor([4., 6., 8.])");
        tn_scope_close(scope);
    }
    return NULL;
}

/* Two units, on four devices, by two threads. */
static void devices_share_binaries(void **state)
{
    (void)state;
    assert_int_equal(tn_cuda_device_count(), 4);
    ask_by(counted);
    const char *capabilities = getenv("TENON_FAKE_GPU_CAPABILITY");
    const int kinds = capabilities ? 2 : 1;
    run_threads(compute_everywhere, 2);
    assert_int_equal(compilations, 2 * kinds);
    assert_int_equal(tn__gpu_counts_now().compiled, 2 * kinds);
    for (int32_t i = 0; i < 4; i++) {
        uint64_t counters[16];
        assert_int_equal(tn__cu.fake_counters(i, counters), 0);
        assert_int_equal(counters[TN__FAKE_MODULES], 2);
    }
}

static void each_unit_is_compiled_once(void **state)
{
    (void)state;
    use_folder("shared", 0);
    alone_run("devices_share_binaries", NULL);
    setenv("TENON_CACHE_DIR", "off", 1);
    alone_run("devices_share_binaries", NULL);
    setenv("TENON_FAKE_GPU_CAPABILITY", "9.0,8.6,9.0,8.6", 1);
    alone_run("devices_share_binaries", NULL);
}

static _Atomic int coming;

/* Fails when all threads are on their way. */
static unsigned fails_late(tn__nvrtc_program program, int n, const char *const *options)
{
    static const char *const bad[] = {"--no-such-option"};
    (void)n, (void)options;
    atomic_fetch_add(&compilations, 1);
    while (coming < THREADS)
        usleep(1000);
    usleep(300000);
    return nvrtc.compile_program(program, 1, bad);
}

static void *compute_in_vain(void *arg)
{
    (void)arg;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = MADE(tn_to(MADE(tn_ones(TN_SHAPE(3))), .device = TN_CUDA(coming % 2)));
    pthread_barrier_wait(&start);
    atomic_fetch_add(&coming, 1);
    FAILS(tn_add(x, 1), TN_EDEVICE,
          "NVRTC could not compile the kernels elementwise_add_float32_float32_f32 (error 5):\n");
    tn_scope_close(scope);
    return NULL;
}

/* Threads that wait for a unit get its error, and do not try again one after the other; the next one tries. */
static void an_error_reaches_all(void **state)
{
    (void)state;
    use_folder("errors", 0);
    ask_by(fails_late);
    run_threads(compute_in_vain, THREADS);
    assert_true(compilations < THREADS);
    ((tn__nvrtc_functions *)(uintptr_t)tn__nvrtc())->compile_program = nvrtc.compile_program;
    compute();
    made(1, 0);
}

static int gate[2];

static unsigned waits_at_the_gate(tn__nvrtc_program program, int n, const char *const *options)
{
    char c;
    coming = 1;
    assert_int_equal(read(gate[0], &c, 1), 1);
    return nvrtc.compile_program(program, n, options);
}

/* The child has none of the threads: it waits for none of them. */
static void a_fork_while_compiling(void **state)
{
    (void)state;
    pthread_t t;
    int status = 0;
    use_folder("fork", 0);
    assert_int_equal(pipe(gate), 0);
    ask_by(waits_at_the_gate);
    assert_int_equal(pthread_barrier_init(&start, NULL, 1), 0);
    assert_int_equal(pthread_create(&t, NULL, compute_too, NULL), 0);
    while (!coming)
        usleep(1000);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        tn_tensor *x = tn_ones(TN_SHAPE(3), .device = TN_CUDA(0));
        const bool refused = !x && strstr(tn_error_message(), "in forked subprocess");
        tn_cuda_library l[4];
        const bool answers = tn_cuda_libraries(l, 4) == 4 && tn__gpu_counts_now().compiled == 0;
        _exit(refused && answers && tn_item(tn_sum(tn_ones(TN_SHAPE(3)))) == 3 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(write(gate[1], "x", 1), 1);
    pthread_join(t, NULL);
    made(1, 0);
}

/* A compiler that is not there: an error that says so, no crash, and the next try finds it if it comes. */
static void no_compiler(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    use_folder("none", 0);
    setenv("TENON_FAKE_CC", "/nowhere/cc", 1);
    tn_tensor *x = MADE(tn_cuda(MADE(tn_ones(TN_SHAPE(3))), 0));
    tn_tensor *y = tn_add(x, 1);
    assert_null(y);
    assert_int_equal(tn_error_code(), TN_EDEVICE);
    print_message("%s\n", tn_error_message());
    tn_error_clear();
    unsetenv("TENON_FAKE_CC");
    compute();
    tn_scope_close(scope);
}

static void reset_loads_again(void **state)
{
    (void)state;
    use_folder("reset", 0);
    compute();
    made(1, 0);
    OK(tn_cuda_reset(TN_CUDA(0)));
    compute();
    made(1, 1);
}

/* A binary that this GPU does not take is compiled again; if that does not help, it is an error. */
static void refused_binaries(void **state)
{
    (void)state;
    use_folder("refused", 0);
    alone_run("compiles_it", NULL);
    setenv("TENON_FAKE_GPU_FAULTS", "nocubin@1", 1);
    compute();
    made(1, 0);
}

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A driver that does nothing. */
static tn__cu_result no_launch(tn__cu_function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                               unsigned by, unsigned bz, unsigned shared, tn__cu_stream stream, void **parameters,
                               void **extra)
{
    (void)function, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz;
    (void)shared, (void)stream, (void)parameters, (void)extra;
    return TN__CU_SUCCESS;
}

static tn__cu_result same_context(tn__cu_context *context)
{
    *context = tn__gpu_slot(TN_CUDA(0))->context;
    return TN__CU_SUCCESS;
}

/* Not asserted: what a launch costs on the host, the driver's own part left out. */
static void time_of_a_launch(void **state)
{
    (void)state;
    enum { ROUNDS = 1000000 };
    tn_scope *scope = tn_scope_open();
    compute();
    tn_tensor *x = MADE(tn_cuda(MADE(tn_ones(TN_SHAPE(4))), 0)), *y = MADE(tn_cuda(MADE(tn_ones(TN_SHAPE(4))), 0));
    MADE(tn_add_(y, x));
    OK(tn_synchronize(TN_CUDA(0)));
    void *none = NULL;
    const tn__gpu_arg args[] = {TN__GPU_MEMORY(none), TN__GPU_MEMORY(none), TN__GPU_MEMORY(none), TN__GPU_MEMORY(none)};
    const tn__gpu_launch l = {.device = TN_CUDA(0),
                              .unit = {TN__FAMILY_elementwise, TN__OP_add, TN_F32, TN_F32, TN_F32, 0},
                              .arg = args,
                              .n_arg = TN_COUNT(args),
                              .label = "add"};
    tn__cu.launch_kernel = no_launch;
    tn__cu.ctx_get_current = same_context;
    OK(tn__gpu_run(&l));
    int64_t begin = now();
    for (int i = 0; i < ROUNDS; i++)
        OK(tn__gpu_run(&l));
    int64_t run = now() - begin;
    begin = now();
    for (int i = 0; i < ROUNDS; i++)
        MADE(tn_add_(y, x));
    int64_t add = now() - begin;
    begin = now();
    for (int i = 0; i < ROUNDS; i++)
        assert_non_null(tn__gpu_use(TN_CUDA(0)));
    int64_t use = now() - begin;
    print_message("tn__gpu_run: %lld ns; tn_add_ of 4 floats: %lld ns; tn__gpu_use: %lld ns\n",
                  (long long)(run / ROUNDS), (long long)(add / ROUNDS), (long long)(use / ROUNDS));
    made(1, 0);
    tn_scope_close(scope);
}

static int run(int argc, char **argv)
{
    static const alone tests[] = {
        ALONE(a_second_process_compiles_nothing, "TENON_FAKE_GPUS=1x64MiB"),
        ALONE(damaged_files_are_made_anew, "TENON_FAKE_GPUS=1x64MiB"),
        ALONE(foreign_folders_are_not_used, "TENON_FAKE_GPUS=1x64MiB"),
        ALONE(files_that_others_may_write_are_not_used, "TENON_FAKE_GPUS=1x64MiB"),
        ALONE(entries_that_are_no_files, "TENON_FAKE_GPUS=1x64MiB"),
        ALONE(unwritable_is_no_error, "TENON_FAKE_GPUS=1x64MiB"),
        ALONE(the_default_is_in_the_home_folder, "TENON_FAKE_GPUS=1x64MiB"),
        ALONE(a_home_that_is_not_there_is_not_made, "TENON_FAKE_GPUS=1x64MiB"),
        ALONE(options_are_part_of_the_key, "TENON_FAKE_GPUS=1x64MiB"),
        ALONE(the_compiler_is_part_of_the_key, "TENON_FAKE_GPUS=1x64MiB"),
        ALONE(keys_tell_texts_apart, "TENON_FAKE_GPUS=1x64MiB"),
        ALONE(threads_compile_once, "TENON_FAKE_GPUS=1x64MiB"),
        ALONE(architectures, "TENON_FAKE_GPUS=1x64MiB", "TENON_FAKE_GPU_OPTIMIZE=0"),
        ALONE(each_unit_is_compiled_once, "TENON_FAKE_GPUS=4x64MiB", "TENON_FAKE_GPU_OPTIMIZE=0"),
        ALONE(an_error_reaches_all, "TENON_FAKE_GPUS=2x64MiB"),
        ALONE(a_fork_while_compiling, "TENON_FAKE_GPUS=1x64MiB"),
        ALONE(no_compiler, "TENON_FAKE_GPUS=1x64MiB"),
        ALONE(reset_loads_again, "TENON_FAKE_GPUS=1x64MiB"),
        ALONE(refused_binaries, "TENON_FAKE_GPUS=1x64MiB"),
        ALONE(time_of_a_launch, "TENON_FAKE_GPUS=1x64MiB", "TENON_CACHE_DIR=off"),
        ALONE(compiles_it, "TENON_FAKE_GPUS=1x64MiB", "TENON_CACHE_DIR=off"),
    };
    static const alone second[] = {ALONE(finds_it_on_disk, NULL), ALONE(warns_once, NULL),
                                   ALONE(warns_of_nothing, NULL), ALONE(compiles_for, NULL),
                                   ALONE(is_too_old, NULL),       ALONE(devices_share_binaries, NULL)};
    int status = alone_main(tests, TN_COUNT(tests), argc, argv);
    return status == 2 && argc > 1 ? alone_main(second, TN_COUNT(second), argc, argv) : status;
}

int main(int argc, char **argv)
{
    return in_own_folder(run, argc, argv);
}
