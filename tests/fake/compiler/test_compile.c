/* The fake NVRTC: logs, options, the machine's compiler and its private folder, several threads at once. */
#include "fake/compiler/helpers.h"
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char good[] = "KERNEL(one)(GLOBAL i32 *o) { o[0] = 1; }\n";

typedef struct result {
    unsigned code;
    char log[8192];
    bool image;
} result;

static result compile(const char *text, const char *const *options)
{
    result r;
    void *image;
    r.code = kit_compile(text, options, r.log, sizeof r.log, &image);
    r.image = image != NULL;
    free(image);
    return r;
}

#define OPTIONS(...) \
    (const char *const[]) \
    { \
        __VA_ARGS__, NULL \
    }

static void check_log(const char *text, const char *want, int line)
{
    const result r = compile(text, NULL);
    if (r.code != TN__NVRTC_COMPILATION || r.image || !strstr(r.log, want)) {
        print_error("line %d: expected '%s', got code %u: %s\n", line, want, r.code, r.log);
        fail();
    }
}

static void errors_are_in_the_log(void **state)
{
    (void)state;
    check_log("KERNEL(f)(GLOBAL i32 *o)\n{\n    o[0] = nothing;\n}\n", "unit:3:", __LINE__);
    check_log("KERNEL(f)(GLOBAL i32 *o)\n{\n    o[0] = nothing;\n}\n", "nothing", __LINE__);
    check_log("\n#error 'seen'\n", "seen", __LINE__);
    check_log("KERNEL(f)(i32 *o\n", "kernel 'f': KERNEL(name)(parameters) { ... } is not well formed", __LINE__);
    check_log("KERNEL(f)(i32 *o);\n", "is not well formed", __LINE__);
    check_log("KERNEL(f)(i32 **o) {}\n", "a pointer to a pointer", __LINE__);
    check_log("KERNEL(f)(i32 o[3]) {}\n", "a parameter is a type and a name", __LINE__);
    check_log("KERNEL(f)(i32) {}\n", "a parameter is a type and a name", __LINE__);
    check_log("typedef i32 *hidden;\nKERNEL(f)(hidden o) {}\n", "write a pointer parameter with its star", __LINE__);
    check_log("LOCAL_MEM(f32, s, 3);\n", "LOCAL_MEM stands outside of a kernel", __LINE__);
    check_log("KERNEL(f)(i32 x) { LOCAL_MEM(f32, s); }\n", "", __LINE__);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* there it is not loaded */
    check_log("KERNEL(f)(i32 x) { no_such_function(x); }\n", "no_such_function", __LINE__);
#endif
    const result r = compile("", NULL);
    assert_int_equal(r.code, TN__NVRTC_SUCCESS);
    assert_string_equal(r.log, "");
    tn__nvrtc_program p; /* a hostile name */
    char log[4096];
    size_t size;
    assert_int_equal(nvrtcCreateProgram(&p, "\n#error x\n", "a\"b\\c\nd e.cu", 0, NULL, NULL), 0);
    assert_int_equal(nvrtcCompileProgram(p, 0, NULL), TN__NVRTC_COMPILATION);
    assert_int_equal(nvrtcGetProgramLogSize(p, &size), 0);
    assert_in_range(size, 10, sizeof log);
    assert_int_equal(nvrtcGetProgramLog(p, log), 0);
    assert_non_null(strstr(log, "a_b_c_d e.cu:2:"));
    assert_int_equal(nvrtcDestroyProgram(&p), 0);
}

static void options_are_nvrtcs(void **state)
{
    (void)state;
    static const char macros[] = "#if A != 3 || B != 4 || C != 1 || defined(D)\n#error macros\n#endif\n";
    result r = compile(macros, OPTIONS("--define-macro=A=3", "-DB=4", "-D", "C", "-DD=1", "-UD"));
    assert_string_equal(r.log, "");
    r = compile(good, OPTIONS("--fmad=false", "--std=c++17", "-default-device", "--extra-device-vectorization",
                              "--device-as-default-execution-space", "-arch=sm_80", "--use_fast_math", "-w"));
    assert_int_equal(r.code, TN__NVRTC_SUCCESS);
    assert_true(r.image);
    r = compile(good, OPTIONS("--gpu-architecture=compute_90")); /* PTX, no binary */
    assert_int_equal(r.code, TN__NVRTC_SUCCESS);
    assert_false(r.image);
    static const char *const wrong[] = {"--fast", "-O3",   "--gpu-architecture=sm_12", "-arch=sm_900", "-arch=sm_",
                                        "--fmad", "-fPIC", "--gpu-architecture=90"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        r = compile(good, OPTIONS(wrong[i]));
        assert_int_equal(r.code, 5);
        assert_false(r.image);
        assert_non_null(strstr(r.log, "nvrtc: error: "));
    }
}

static void facts_and_misuse(void **state)
{
    (void)state;
    int a = 0, b = 0, archs[64];
    size_t size;
    tn__nvrtc_program p = NULL;
    assert_int_equal(nvrtcVersion(&a, &b), 0);
    assert_true(a >= 12);
    assert_int_equal(nvrtcGetNumSupportedArchs(&a), 0);
    assert_in_range(a, 1, 64);
    assert_int_equal(nvrtcGetSupportedArchs(archs), 0);
    assert_int_equal(nvrtcCreateProgram(&p, NULL, "x", 0, NULL, NULL), 3);
    assert_int_equal(nvrtcCompileProgram(NULL, 0, NULL), 4);
    assert_int_equal(nvrtcGetCUBINSize(NULL, &size), 4);
    assert_int_equal(nvrtcDestroyProgram(&p), 4);
    assert_int_equal(nvrtcCreateProgram(&p, good, NULL, 0, NULL, NULL), 0);
    assert_int_equal(nvrtcGetCUBINSize(p, &size), 0);
    assert_int_equal(size, 0);
    assert_int_equal(nvrtcGetProgramLogSize(p, &size), 0);
    assert_int_equal(size, 1);
    assert_int_equal(nvrtcDestroyProgram(&p), 0);
    assert_null(p);
}

static void only_own_images_are_loaded(void **state)
{
    (void)state;
    char log[256];
    void *image;
    fake_module *m = NULL;
    assert_int_equal(fake_module_load("not an image", 90, &m), TN__CU_INVALID_IMAGE);
    assert_int_equal(kit_compile(good, NULL, log, sizeof log, &image), 0);
    unsigned char *bytes = image;
    bytes[8] ^= 1; /* another build's */
    assert_int_equal(fake_module_load(image, 90, &m), TN__CU_NO_BINARY_FOR_GPU);
    bytes[8] ^= 1;
    bytes[64] ^= 1; /* the shared object's own head */
    for (int i = 32; i < 64; i++)
        bytes[i] = 0;
    assert_int_equal(fake_module_load(image, 90, &m), TN__CU_INVALID_IMAGE);
    assert_null(m);
    free(image);
}

/* ---- the machine's compiler ---- */

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static void a_missing_compiler_is_explained(void **state)
{
    (void)state;
    char *path = strdup(getenv("PATH")), *own = getenv("TENON_FAKE_CC") ? strdup(getenv("TENON_FAKE_CC")) : NULL;
    set("TENON_FAKE_CC", "/nowhere/cc");
    result r = compile(good, NULL);
    assert_int_equal(r.code, TN__NVRTC_COMPILATION);
    assert_non_null(strstr(r.log, "need a C compiler at run time, and TENON_FAKE_CC='/nowhere/cc' is no program"));
    set("TENON_FAKE_CC", "/"); /* a folder is no program */
    assert_int_equal(compile(good, NULL).code, TN__NVRTC_COMPILATION);
    set("TENON_FAKE_CC", "true"); /* a program, but no compiler */
    r = compile(good, NULL);
    assert_int_equal(r.code, TN__NVRTC_COMPILATION);
    assert_non_null(strstr(r.log, "said nothing"));
    set("TENON_FAKE_CC", NULL);
    set("CC", NULL);
    set("PATH", "/nowhere");
    r = compile(good, NULL);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* which know their compiler */
    assert_int_equal(r.code, TN__NVRTC_COMPILATION);
    assert_non_null(strstr(r.log, "apt install gcc"));
    assert_non_null(strstr(r.log, "TENON_FAKE_CC"));
#endif
    set("PATH", path);
    set("CC", "/nowhere/ccache gcc"); /* not one program: the usual names are tried */
    assert_int_equal(compile(good, NULL).code, TN__NVRTC_SUCCESS);
    set("CC", NULL);
    set("TENON_FAKE_CC", own);
    free(path);
    free(own);
}

/* How many entries a folder has. */
static int entries(const char *folder)
{
    int n = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

static void hostile_folders(void **state)
{
    (void)state;
    char folder[] = "/tmp/tenon test's \"$(x)\"-XXXXXX";
    assert_non_null(mkdtemp(folder));
    set("TMPDIR", folder);
    assert_int_equal(compile(good, NULL).code, TN__NVRTC_SUCCESS);
    assert_int_equal(entries(folder), 0); /* nothing is left, neither after success nor after errors */
    assert_int_equal(compile("#error x", NULL).code, TN__NVRTC_COMPILATION);
    assert_int_equal(compile("KERNEL(f)(i32 **x) {}", NULL).code, TN__NVRTC_COMPILATION);
    assert_int_equal(compile("KERNEL(f)(i32 x) { y; }", NULL).code, TN__NVRTC_COMPILATION);
    assert_int_equal(entries(folder), 0);
    static const char *const others[] = {"/nowhere", "", "/proc", "./here", "/dev/null", NULL};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        set("TMPDIR", others[i]);
        assert_int_equal(compile(good, NULL).code, TN__NVRTC_SUCCESS);
    }
    char long_path[6000];
    memset(long_path, 'x', sizeof long_path - 1);
    long_path[0] = '/';
    long_path[sizeof long_path - 1] = 0;
    set("TMPDIR", long_path);
    assert_int_equal(compile(good, NULL).code, TN__NVRTC_SUCCESS);
    set("TMPDIR", NULL);
    rmdir(folder);
}

static void the_process_may_ignore_its_children(void **state)
{
    (void)state;
    signal(SIGCHLD, SIG_IGN);
    assert_int_equal(compile(good, NULL).code, TN__NVRTC_SUCCESS);
    const result r = compile("#error seen", NULL);
    assert_int_equal(r.code, TN__NVRTC_COMPILATION);
    assert_non_null(strstr(r.log, "seen"));
    signal(SIGCHLD, SIG_DFL);
}

/* Suite fake runs its kernels; here is what it refuses. */
static void tinycc_will_do(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* these know their compiler */
#endif
    char *own = getenv("TENON_FAKE_CC") ? strdup(getenv("TENON_FAKE_CC")) : NULL;
    set("TENON_FAKE_CC", "tcc");
    for (int ignored = 0; ignored < 2; ignored++) {
        signal(SIGCHLD, ignored ? SIG_IGN : SIG_DFL);
        assert_int_equal(compile(good, NULL).code, TN__NVRTC_SUCCESS);
        const result directive = compile("int before;\n#error seen\n", NULL),
                     word = compile("int x = unheard_of;", NULL);
        assert_int_equal(directive.code, TN__NVRTC_COMPILATION);
        assert_non_null(strstr(directive.log, "seen"));
        assert_int_equal(word.code, TN__NVRTC_COMPILATION);
        assert_non_null(strstr(word.log, "unheard_of"));
    }
    signal(SIGCHLD, SIG_DFL);
    set("TENON_FAKE_CC", own);
    free(own);
}

static void *compile_some(void *arg)
{
    const int me = *(const int *)arg;
    char text[256], log[1024];
    for (int i = 0; i < 4; i++) {
        const int want = me * 100 + i;
        void *image;
        fake_module *m = NULL;
        int32_t o = 0, *po = &o;
        snprintf(text, sizeof text, "KERNEL_B(me)(GLOBAL i32 *o) { BARRIER(); ATOMIC_ADD_I32(o, %d); BARRIER(); }\n",
                 want);
        if (kit_compile(text, NULL, log, sizeof log, &image) || fake_module_load(image, 90, &m))
            return "compiles or loads";
        kit_run(kit_kernel(m, "me"), 3, 64, (void *[]){&po});
        if (o != 192 * want)
            return "runs";
        fake_module_unload(m);
        free(image);
        if (kit_compile("#error no\n", NULL, log, sizeof log, &image) != TN__NVRTC_COMPILATION || !strstr(log, "no"))
            return "fails";
    }
    return NULL;
}

static void threads_compile_and_run_at_once(void **state)
{
    (void)state;
    enum { N = 6 };
    pthread_t thread[N];
    int id[N];
    for (int i = 0; i < N; i++) {
        id[i] = i + 1;
        assert_int_equal(pthread_create(&thread[i], NULL, compile_some, &id[i]), 0);
    }
    for (int i = 0; i < N; i++) {
        void *wrong;
        pthread_join(thread[i], &wrong);
        if (wrong)
            fail_msg("thread %d: not what it %s", i, (const char *)wrong);
    }
}

int main(void)
{
    unsetenv("TMPDIR");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_in_the_log),
        cmocka_unit_test(options_are_nvrtcs),
        cmocka_unit_test(facts_and_misuse),
        cmocka_unit_test(only_own_images_are_loaded),
        cmocka_unit_test(a_missing_compiler_is_explained),
        cmocka_unit_test(hostile_folders),
        cmocka_unit_test(the_process_may_ignore_its_children),
        cmocka_unit_test(tinycc_will_do),
        cmocka_unit_test(threads_compile_and_run_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
