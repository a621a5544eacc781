/* Saving that fails: the old file stays as it was, nothing is left beside it, and the error says why. Each test that
 * changes the process (limits, file systems, rights) runs in a child. */
#include "test_data.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define NPY (in_folder("x.npy").s)
#define ST  (in_folder("x.safetensors").s)

static const char *const names[] = {"a", "b"};

/* 0 .. n - 1, so that old and new files differ in size. */
static tn_tensor *counted(int64_t n)
{
    return tn_arange(0, n, 1, .dtype = TN_F32);
}

static tn_status save_npy(const char *path, int64_t n)
{
    return tn_save_npy(counted(n), path);
}

static tn_status save_st(const char *path, int64_t n)
{
    return tn_save_safetensors(path, names, TN_TENSORS(counted(n), counted(n)));
}

typedef tn_status (*saver)(const char *, int64_t);

/* What a child found: 0 as it should be, 77 could not be tried, else the line that was wrong. */
#define CHILD_EXPECTS(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "line %d: %s\n  %s\n", __LINE__, #condition, tn_error_message()); \
            _exit(1); \
        } \
    } while (0)

static int run_child(void (*child)(void))
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        child();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static bool same_as(const char *path, const unsigned char *bytes, size_t n)
{
    unsigned char now[65536];
    FILE *f = fopen(path, "rb");
    size_t got = f ? fread(now, 1, sizeof now, f) : 0;
    if (f)
        fclose(f);
    return got == n && memcmp(now, bytes, n) == 0;
}

/* ---- a file that may not grow: what a full disk looks like to write() ---- */

static void limited(saver save, const char *path, const char *text)
{
    size_t n;
    unsigned char *old = file_bytes(path, &n);
    int files = count_files(folder);
    struct rlimit limit;
    CHILD_EXPECTS(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    for (rlim_t at = 0; at < 8000; at = at < 8 ? at + 1 : at * 2) { /* fails in the header, and in the data */
        CHILD_EXPECTS(setrlimit(RLIMIT_FSIZE, &(struct rlimit){at, limit.rlim_max}) == 0);
        tn_status e = save(path, 3000);
        CHILD_EXPECTS(setrlimit(RLIMIT_FSIZE, &limit) == 0);
        CHILD_EXPECTS(e == TN_EIO && tn_error_code() == TN_EIO);
        CHILD_EXPECTS(strstr(tn_error_message(), path) &&
                      strstr(tn_error_message(), "File too large (writing at byte "));
        CHILD_EXPECTS(strstr(tn_error_message(), text));
        CHILD_EXPECTS(same_as(path, old, n) && count_files(folder) == files);
    }
    CHILD_EXPECTS(save(path, 3000) == TN_OK);
    free(old);
}

static void limits_child(void)
{
    signal(SIGXFSZ, SIG_IGN);
    tn_scope *s = tn_scope_open();
    CHILD_EXPECTS(save_npy(NPY, 10) == TN_OK && save_st(ST, 10) == TN_OK);
    limited(save_npy, NPY, "nothing was saved, what was there before is as it was");
    limited(save_st, ST, "nothing was saved, what was there before is as it was");
    tn_scope_close(s);
}

static void a_file_that_may_not_grow(void **state)
{
    (void)state;
    assert_int_equal(run_child(limits_child), 0);
}

/* ---- a full disk, where the test may mount one ---- */

static void full_disk_child(void)
{
    char disk[8192], path[8300];
    snprintf(disk, sizeof disk, "%s/disk", folder);
    if (mkdir(disk, 0700) != 0 || unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || mount("tenon", disk, "tmpfs", 0, "size=64k") != 0) {
        rmdir(disk);
        _exit(77);
    }
    tn_scope *s = tn_scope_open();
    for (int i = 0; i < 2; i++) {
        saver save = i ? save_st : save_npy;
        size_t n;
        snprintf(path, sizeof path, "%s/model", disk);
        CHILD_EXPECTS(save(path, 10) == TN_OK);
        unsigned char *old = file_bytes(path, &n);
        CHILD_EXPECTS(save(path, 30000) == TN_EIO);
        CHILD_EXPECTS(strstr(tn_error_message(), "/disk/model: No space left on device (writing at byte "));
        CHILD_EXPECTS(same_as(path, old, n) && count_files(disk) == 1);
        CHILD_EXPECTS(save(path, 1000) == TN_OK);
        free(old);
    }
    tn_scope_close(s);
    umount(disk);
    rmdir(disk);
}

static void a_full_disk(void **state)
{
    (void)state;
    int found = run_child(full_disk_child);
    if (found == 77) {
        print_message("skipped: this user may not mount a file system\n");
        skip();
    }
    assert_int_equal(found, 0);
}

/* ---- what may not be replaced ---- */

static void paths_that_cannot_be_written(void **state)
{
    (void)state;
    char path[9000];
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(counted(3));
    snprintf(path, sizeof path, "%s/none/x.npy", folder);
    FAILS_STATUS(tn_save_npy(x, path), TN_EIO, "none/x.npy: No such file or directory (opening its folder)");
    FAILS_STATUS(tn_save_npy(x, folder), TN_EIO, ": Is a directory");
    snprintf(path, sizeof path, "%s/none/", folder);
    FAILS_STATUS(tn_save_npy(x, path), TN_EIO, ": Is a directory");
    FAILS_STATUS(tn_save_npy(x, "/dev/null"), TN_EIO, "/dev/null: not a regular file; nothing was saved");
    struct stat info;
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode)); /* still there */
    FAILS_STATUS(tn_save_npy(x, ""), TN_EINVAL, "a path was expected, got an empty text");
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    FAILS_STATUS(tn_save_npy(x, path), TN_EIO, "File name too long");
    path[300] = '\0';
    FAILS_STATUS(tn_save_npy(x, path), TN_EIO, "File name too long");
    tn_scope_close(s);
}

/* Without root's rights. */
static void rights_child(void)
{
    char path[9000];
    snprintf(path, sizeof path, "%s/kept", folder);
    if (chmod(folder, 0777) != 0 || (geteuid() == 0 && seteuid(65534) != 0))
        _exit(77);
    tn_scope *s = tn_scope_open();
    make_file(path, "old", 3);
    CHILD_EXPECTS(chmod(path, 0444) == 0);
    CHILD_EXPECTS(save_npy(path, 3) == TN_EIO &&
                  strstr(tn_error_message(), "kept: Permission denied (opening it to write)"));
    CHILD_EXPECTS(same_as(path, (const unsigned char *)"old", 3));
    CHILD_EXPECTS(save_npy("/tenon-test.npy", 3) == TN_EIO);
    CHILD_EXPECTS(strstr(tn_error_message(), "/tenon-test.npy: Permission denied (making a file in its folder)"));
    CHILD_EXPECTS(chmod(path, 0644) == 0 && save_npy(path, 3) == TN_OK && unlink(path) == 0);
    tn_scope_close(s);
}

static void rights(void **state)
{
    (void)state;
    int found = run_child(rights_child);
    if (found == 77) {
        print_message("skipped: rights cannot be given up\n");
        skip();
    }
    assert_int_equal(found, 0);
}

static mode_t mode_of(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return info.st_mode & 0777;
}

static void modes_and_links(void **state)
{
    (void)state;
    char link[9000], path[9000];
    struct stat info;
    tn_scope *s = tn_scope_open();
    snprintf(path, sizeof path, "%s/target.npy", folder);
    snprintf(link, sizeof link, "%s/link.npy", folder);
    mode_t mask = umask(022);
    OK(save_npy(path, 3));
    umask(mask);
    assert_int_equal(mode_of(path), 0644); /* what the umask leaves of 0666 */
    assert_int_equal(chmod(path, 0640), 0);
    OK(save_npy(path, 4));
    assert_int_equal(mode_of(path), 0640); /* that of the file that was replaced */
    assert_int_equal(symlink("target.npy", link), 0);
    OK(save_npy(link, 5));
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(tn_tensor_numel(MADE(tn_load_npy(path))), 5);
    tn_scope_close(s);
}

/* A link to a file that is not there yet stays a link: the file is made where it points. */
static void links_that_lead_nowhere_yet(void **state)
{
    (void)state;
    struct stat info;
    char inner[4200], outer[4200], real[4200], far[4200];
    snprintf(inner, sizeof inner, "%s/inner.npy", folder);
    snprintf(outer, sizeof outer, "%s/outer.npy", folder);
    snprintf(real, sizeof real, "%s/real.npy", folder);
    snprintf(far, sizeof far, "%s/far.npy", folder);
    tn_scope *s = tn_scope_open();
    assert_int_equal(symlink("real.npy", inner), 0);
    assert_int_equal(symlink(inner, outer), 0); /* absolute, then relative */
    OK(save_npy(outer, 3));
    assert_int_equal(lstat(outer, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(lstat(inner, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(lstat(real, &info), 0);
    assert_true(S_ISREG(info.st_mode));
    assert_int_equal(tn_tensor_numel(MADE(tn_load_npy(real))), 3);
    assert_int_equal(symlink("nowhere/x.npy", far), 0);
    FAILS_STATUS(save_npy(far, 3), TN_EIO, "No such file or directory");
    assert_int_equal(lstat(far, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(unlink(far) | unlink(outer) | unlink(inner) | unlink(real), 0);
    tn_scope_close(s);
}

/* A path without a folder, and one in the root folder's style. */
static void relative_paths(void **state)
{
    (void)state;
    int here = open(".", O_RDONLY | O_DIRECTORY);
    tn_scope *s = tn_scope_open();
    assert_int_equal(chdir(folder), 0);
    OK(save_npy("plain.npy", 7));
    OK(save_npy("./plain.npy", 8));
    assert_int_equal(tn_tensor_numel(MADE(tn_load_npy("plain.npy"))), 8);
    assert_int_equal(fchdir(here), 0);
    close(here);
    tn_scope_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_may_not_grow),
        cmocka_unit_test(a_full_disk),
        cmocka_unit_test(paths_that_cannot_be_written),
        cmocka_unit_test(rights),
        cmocka_unit_test(modes_and_links),
        cmocka_unit_test(links_that_lead_nowhere_yet),
        cmocka_unit_test(relative_paths),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
