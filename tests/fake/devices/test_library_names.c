/* Libraries as they are found on real machines: under NVIDIA's names, of several versions, where pip, conda, NVIDIA's installer
 * and the system put them. Copies of the fake library stand
 * under these names, so the paths that TENON_FAKE_GPUS leaves out are walked: the loader's names, NVRTC's version kept
 * beside the cache so that NVRTC is opened only to compile. */
#include "fake/own_process.h"
#include "backend/cuda/cuda.h"

static char folder[] = "/tmp/tenon-names-XXXXXX";

static void shell(const char *format, const char *name)
{
    char command[1024], part[512];
    const char *f = getenv("TENON_TEST_FOLDER");
    snprintf(part, sizeof part, format, name);
    snprintf(command, sizeof command, "cd %s && %s", f ? f : folder, part);
    if (system(command))
        fail_msg("%s", command);
}

static bool is_open(const char *name)
{
    char line[1024];
    bool found = false;
    FILE *f = fopen("/proc/self/maps", "r");
    while (f && fgets(line, sizeof line, f))
        found = found || strstr(line, name);
    if (f)
        fclose(f);
    return found;
}

static void compute(void)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = MADE(tn_cuda(MADE(tn_tensor_from(TN_LIST(1.0, 2.0, 3.0))), 0));
    PRINTS(MADE(tn_cpu(MADE(tn_add(x, 1)))), "tensor([2., 3., 4.])");
    tn_scope_close(scope);
}

static void compiles(void **state)
{
    (void)state;
    assert_false(tn__cuda_is_fake());
    assert_int_equal(tn_cuda_device_count(), 1);
    assert_false(is_open("libnvrtc"));
    compute();
    assert_int_equal(tn__gpu_counts_now().compiled, 1);
    assert_true(is_open("libnvrtc"));
}

static void compiles_nothing(void **state)
{
    (void)state;
    compute();
    assert_int_equal(tn__gpu_counts_now().compiled, 0);
    assert_int_equal(tn__gpu_counts_now().from_disk, 1);
    assert_false(is_open("libnvrtc"));
}

/* The version is asked again, and is the same. */
static void asks_the_compiler(void **state)
{
    (void)state;
    compute();
    assert_int_equal(tn__gpu_counts_now().from_disk, 1);
    assert_true(is_open("libnvrtc"));
}

static void cannot_compile(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = MADE(tn_cuda(MADE(tn_ones(TN_SHAPE(3))), 0));
    FAILS(tn_mul(x, 3), TN_EDEVICE,
          "NVRTC, which compiles kernels, could not be loaded\n"
          "  libnvrtc.so.13 is there, but cannot be loaded: ");
    tn_scope_close(scope);
    tn_cuda_library l[4];
    assert_int_equal(tn_cuda_libraries(l, 4), 4);
    assert_false(l[TN__LIB_NVRTC].found);
    assert_non_null(strstr(l[TN__LIB_NVRTC].missing, "/libnvrtc.so.13: file too short; no other was found: it comes "));
    assert_null(strstr(l[TN__LIB_NVML].missing, "cannot be loaded"));
    assert_non_null(strstr(l[TN__LIB_NVML].missing, "no libnvidia-ml.so.1, libnvidia-ml.so was found: it comes with "));
}

/* What a library needs is missing: that, not the library itself. */
static void needs_another(void **state)
{
    (void)state;
    tn_cuda_library l[4];
    assert_int_equal(tn_cuda_libraries(l, 4), 4);
    assert_false(l[TN__LIB_CUBLAS].found);
    assert_non_null(
        strstr(l[TN__LIB_CUBLAS].missing, "libcublas.so.13 is there, but cannot be loaded: libcublasLt.so.99"));
}

static char warning[1024];
static int warnings;

static void take_warning(const char *message)
{
    snprintf(warning, sizeof warning, "%s", message);
    warnings++;
}

static void multiply(void)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = MADE(tn_cuda(MADE(tn_reshape(MADE(tn_arange(0, 6, 1, .dtype = TN_F32)), TN_SHAPE(2, 3))), 0));
    PRINTS(MADE(tn_cpu(MADE(tn_mm(x, MADE(tn_t(x)))))), "tensor([[ 5., 14.],\n        [14., 50.]])");
    tn_scope_close(scope);
}

static void own_products(void **state)
{
    (void)state;
    tn_set_warning_handler(take_warning);
    multiply();
    multiply();
    assert_int_equal(tn_transfer_stats(TN_CUDA(0)).own_products, 2);
    assert_int_equal(warnings, 1);
    assert_non_null(
        strstr(warning, "products of matrices on GPUs are Tenon's own, which are slower than cuBLAS's: libcublas"));
    assert_non_null(strstr(warning, "file too short; no other was found: it comes with the CUDA toolkit"));
    tn_reset_transfer_stats(TN_CUDA(0));
    assert_int_equal(tn_transfer_stats(TN_CUDA(0)).own_products, 0);
}

static void products_of_cublas(void **state)
{
    (void)state;
    tn_set_warning_handler(take_warning);
    multiply();
    assert_int_equal(tn_transfer_stats(TN_CUDA(0)).own_products, 0);
    assert_int_equal(warnings, 0);
}

static void without_cublas(void **state)
{
    (void)state;
    shell("cp libfake libcuda.so.1 && cp libfake libnvrtc.so.13 && ln -s libcuda.so.1 libcublas.so.%s", "13");
    alone_run("products_of_cublas", NULL);
    shell("for v in .13 .12 .11 ''; do rm -f libcublas.so$v; : >libcublas.so$v; done%s", "");
    alone_run("own_products", NULL);
    shell("rm libcublas*%s", "");
}

/* NVRTC lies in this folder, and nowhere else. */
static void lies_here(const char *place)
{
    char path[600];
    shell("rm -rf kit && mkdir -p %s", place);
    snprintf(path, sizeof path, "%.500s/libnvrtc.so.12", place);
    shell("cp libfake %s", path);
    setenv("TENON_TEST_FILE", path, 1);
    alone_run("is_found_there", NULL);
}

static const char *folder_at(const char *place)
{
    static char path[600];
    snprintf(path, sizeof path, "%s/%s", getenv("TENON_TEST_FOLDER"), place);
    return path;
}

static void is_found_there(void **state)
{
    (void)state;
    assert_string_equal(tn__cuda_library_path(TN__LIB_NVRTC), folder_at(getenv("TENON_TEST_FILE")));
}

/* An empty file ends the loader's search for its name, so that what the machine itself has is not found. */
static void close_names(void)
{
    shell("for v in .13 .12 .11.2 ''; do rm -f libnvrtc.so$v; : >libnvrtc.so$v; done%s", "");
}

static void the_compiler_is_opened_to_compile_alone(void **state)
{
    (void)state;
    shell("cp libfake libcuda.so.1 && cp libfake libnvrtc.so.%s", "13");
    alone_run("compiles", NULL);
    alone_run("compiles_nothing", NULL);
    shell("touch -d '2001-01-01' libnvrtc.so.%s", "13"); /* another file: perhaps another version */
    alone_run("asks_the_compiler", NULL);
    alone_run("compiles_nothing", NULL);
    close_names();
    alone_run("compiles_nothing", NULL);
    alone_run("cannot_compile", NULL);
}

static void names_of_older_versions(void **state)
{
    (void)state;
    static const char *const names[] = {"libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"};
    shell("cp libfake libcuda.so.1%s", "");
    for (size_t i = 0; i < TN_COUNT(names); i++) {
        close_names();
        shell("rm -rf cache && cp libfake %s", names[i]);
        alone_run("compiles", NULL);
    }
    close_names();
    shell("rm -rf cache && mkdir -p kit/lib64 && cp libfake kit/lib64/libnvrtc.so.%s", "12");
    char path[600];
    snprintf(path, sizeof path, "/nowhere:%s/kit", getenv("TENON_TEST_FOLDER"));
    setenv("TENON_CUDA_PATH", path, 1);
    alone_run("compiles", NULL);
    alone_run("compiles_nothing", NULL);
}

/* Each variable takes each form of a place: a toolkit, what pip installs to, an environment with that in it. */
static void places(void **state)
{
    (void)state;
    shell("cp libfake libcuda.so.1%s", "");
    close_names();
    static const char *const variables[] = {"TENON_CUDA_PATH", "CUDA_HOME", "TENON_SITE_PACKAGES", "VIRTUAL_ENV",
                                            "CONDA_PREFIX"};
    static const char *const forms[] = {"/lib64",
                                        "/lib",
                                        "",
                                        "/nvidia/cuda_nvrtc/lib",
                                        "/nvidia/cu13/lib",
                                        "/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib"};
    for (size_t i = 0; i < TN_COUNT(variables) || i < TN_COUNT(forms); i++) {
        const char *name = variables[i % TN_COUNT(variables)];
        char place[200];
        snprintf(place, sizeof place, "kit%s", forms[i % TN_COUNT(forms)]);
        setenv(name, folder_at("kit"), 1);
        lies_here(place);
        unsetenv(name);
    }
    lies_here("kit/cuda-12.9/lib64"); /* tests look for what is installed in kit */
    shell("mkdir -p kit/cuda-9.9/lib64 kit/cuda-12.10/lib%s", "");
    shell("cp libfake kit/cuda-9.9/lib64/libnvrtc.so.12 && cp libfake kit/cuda-12.10/lib/libnvrtc.so.12%s", "");
    setenv("TENON_TEST_FILE", "kit/cuda-12.10/lib/libnvrtc.so.12", 1); /* ten is after nine */
    alone_run("is_found_there", NULL);
    setenv("CUDA_HOME", "/nowhere", 1);
    setenv("TENON_CUDA_PATH", folder_at("kit/cuda-9.9"), 1); /* the user's word */
    setenv("TENON_TEST_FILE", "kit/cuda-9.9/lib64/libnvrtc.so.12", 1);
    alone_run("is_found_there", NULL);
    unsetenv("TENON_CUDA_PATH");
    unsetenv("CUDA_HOME");
    shell("rm -rf kit%s", "");
}

/* A library that needs another, which is not there, says so by the loader's words. */
static void a_library_that_does_not_load(void **state)
{
    (void)state;
    if (system("cc --version >/dev/null 2>&1"))
        ALONE_SKIP("no cc here");
    shell("echo 'int x;' >x.c && cc -shared -fPIC x.c -o libcublasLt.so.99 -Wl,-soname,libcublasLt.so.99%s", "");
    shell("cc -shared -fPIC x.c -o libcublas.so.13 -Wl,--no-as-needed libcublasLt.so.99 && rm libcublasLt.so.99%s", "");
    shell("for v in .12 .11 ''; do : >libcublas.so$v; done%s", "");
    alone_run("needs_another", NULL);
    shell("rm libcublas*%s", "");
}

static tn__cu_result driver_12(int *version)
{
    *version = 12040;
    return TN__CU_SUCCESS;
}

/* A driver for CUDA 12 does not run what CUDA 13 makes: NVIDIA's table of versions asks for one of 580 or newer there. */
static void older_driver(void **state)
{
    (void)state;
    assert_int_equal(tn_cuda_device_count(), 1);
    tn__cu.driver_get_version = driver_12;
    compute(); /* with kernels of its own compiler: those in the cache may be of the newer one */
    assert_true(is_open("libnvrtc.so.12"));
    assert_non_null(strstr(tn__cuda_library_path(TN__LIB_NVRTC), "libnvrtc.so.12"));
    assert_non_null(strstr(tn__cuda_library_path(TN__LIB_CUBLAS), "libcublas.so.13")); /* there is no other */
}

static void an_older_driver_takes_its_own_toolkit(void **state)
{
    (void)state;
    close_names();
    shell("cp libfake libcuda.so.1 && cp libfake libnvrtc.so.13 && cp libfake libnvrtc.so.12 && cp libfake %s",
          "libcublas.so.13");
    shell("rm -rf cache; for v in .12 .11 ''; do : >libcublas.so$v; done%s", "");
    alone_run("compiles", NULL);
    alone_run("older_driver", NULL);
    shell("rm libcublas*%s", "");
}

static void a_library_without_the_functions(void **state)
{
    (void)state;
    tn_cuda_library l[4];
    shell("cp $(ldconfig -p | sed -n 's/.*libz.so.1 .*=> //p' | head -n 1) libcuda.so.1%s", "");
    alone_run("no_functions", NULL);
    shell("rm libcuda.so.1%s", "");
    assert_int_equal(tn_cuda_libraries(l, 4), 4);
}

static void no_functions(void **state)
{
    (void)state;
    assert_int_equal(tn_cuda_device_count(), 0);
    FAILS(tn_zeros(TN_SHAPE(2), .device = TN_CUDA(0)), TN_EDEVICE,
          "the NVIDIA driver has no cuInit: Tenon needs CUDA 11.8 or newer");
}

static int run(int argc, char **argv)
{
    static const alone tests[] = {
        ALONE(the_compiler_is_opened_to_compile_alone, NULL),
        ALONE(names_of_older_versions, NULL),
        ALONE(places, NULL),
        ALONE(a_library_that_does_not_load, NULL),
        ALONE(without_cublas, "TENON_FAKE_GPU_OPTIMIZE=0"),
        ALONE(an_older_driver_takes_its_own_toolkit, NULL),
        ALONE(a_library_without_the_functions, NULL),
    };
    static const alone parts[] = {
        ALONE(compiles, NULL),       ALONE(compiles_nothing, NULL),   ALONE(asks_the_compiler, NULL),
        ALONE(cannot_compile, NULL), ALONE(no_functions, NULL),       ALONE(older_driver, NULL),
        ALONE(own_products, NULL),   ALONE(products_of_cublas, NULL), ALONE(needs_another, NULL),
        ALONE(is_found_there, NULL),
    };
    static char installed[600];
    snprintf(installed, sizeof installed, "%s/kit", getenv("TENON_TEST_FOLDER"));
    tn__cuda_installed = installed; /* not what this machine has */
    int status = alone_main(tests, TN_COUNT(tests), argc, argv);
    return status == 2 && argc > 1 ? alone_main(parts, TN_COUNT(parts), argc, argv) : status;
}

/* The folder is the loader's first place in every process that the tests start. */
static int prepare(void)
{
    char path[600];
    const char *given = getenv("TENON_FAKEGPU_LIBRARY");
    if (!mkdtemp(folder))
        return 1;
    setenv("TENON_TEST_FOLDER", folder, 1);
    setenv("LD_LIBRARY_PATH", folder, 1);
    snprintf(path, sizeof path, "%s/cache", folder);
    setenv("TENON_CACHE_DIR", path, 1);
    const char *const none[] = {"TENON_FAKE_GPUS", "TENON_CUDA_PATH",      "CUDA_HOME",   "TENON_SITE_PACKAGES",
                                "VIRTUAL_ENV",     "CUDA_VISIBLE_DEVICES", "CONDA_PREFIX"};
    for (size_t i = 0; i < TN_COUNT(none); i++)
        unsetenv(none[i]);
    snprintf(path, sizeof path, "cp \"%s\" %s/libfake",
             given ? given : "$(dirname $(readlink /proc/$PPID/exe))/../../src/libtenon_fakegpu.so", folder);
    return system(path);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return run(argc, argv);
    int status = prepare() || run(argc, argv);
    shell("rm -rf ../$(basename $PWD)%s", "");
    return status;
}
