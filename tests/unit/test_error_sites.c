/* Every error says where the call that failed stands: wrong calls of the public functions that are no macros with a place of
 * their own (tenon/sites.h). Each stands on a line of its own, and its message must end with that line. */
#include "check.h"
#include <stdlib.h>
#include <tenon/graph.h>

static int calls;

/* The message names this file and that line once. */
static void check_site(const char *what, int line)
{
    char site[200];
    const char *message = tn_error_message();
    snprintf(site, sizeof site, "\n  at %s:%d", __FILE__, line);
    const char *found = strstr(message, site), *at = strstr(message, "\n  at ");
    if (!tn_error_code() || !found || strstr(at + 1, "\n  at ")) {
        print_error("%s, at %s:%d: code %d, message:\n%s\n", what, __FILE__, line, (int)tn_error_code(), message);
        fail();
    }
    tn_error_clear();
    calls++;
}

/* A call that must fail; its result does not matter. */
#define WRONG(call) \
    do { \
        tn_error_clear(); \
        __typeof__(call) result_ = (call); \
        (void)result_; \
        check_site(#call, __LINE__); \
    } while (0)

static void tensors(void **state)
{
    (void)state;
    char text[64];
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(2, 3))), *whole = MADE(tn_zeros(TN_SHAPE(2), .dtype = TN_I64)),
              *one = MADE(tn_ones(TN_SHAPE(1)));
    tn_tensor *ghost = MADE(tn_zeros(TN_SHAPE(1), .device = TN_META)),
              *leaf = MADE(tn_ones(TN_SHAPE(2), .requires_grad = true));
    WRONG(tn_item(x));
    WRONG(tn_item(NULL));
    WRONG(tn_item(ghost));
    WRONG(tn_item_int(x));
    WRONG(tn_item_int(NULL));
    WRONG(tn_tensor_size(x, 2));
    WRONG(tn_tensor_size(NULL, 0));
    WRONG(tn_data(NULL));
    WRONG(tn_data(ghost));
    WRONG(tn_to_string(NULL, text, sizeof text));
    WRONG(tn_requires_grad_(whole, true));
    WRONG(tn_requires_grad_(NULL, true));
    WRONG(tn_detach_(NULL));
    WRONG(tn_op_register(NULL));
    WRONG(tn_retain_grad(NULL));
    WRONG(tn_retain_grad(x));
    WRONG(tn_tensor_set_grad(leaf, x));
    WRONG(tn_tensor_set_grad(NULL, x));
    WRONG(tn_tensor_set_data(NULL, x));
    WRONG(tn_tensor_check_inplace(leaf, true));
    WRONG(tn_watch_anomalies(&(tn_anomaly_watch){0}));
    WRONG(tn_tensor_add_hook(NULL, NULL, NULL, NULL, NULL));
    WRONG(tn_tensor_add_hook(x, NULL, NULL, NULL, NULL));
    WRONG(tn_from_dlpack(NULL));
    WRONG(tn_from_dlpack_legacy(NULL));
    WRONG(tn_to_dlpack(NULL, -1));
    WRONG(tn_to_dlpack(leaf, -1));
    WRONG(tn_to_dlpack_legacy(ghost, -1));
    /* what is called in an argument keeps its own place, and the outer call adds none */
    tn_item(tn_reshape(one, TN_SHAPE(7)));
    assert_non_null(strstr(tn_error_message(), __FILE__));
    assert_null(strstr(strstr(tn_error_message(), "\n  at ") + 1, "\n  at "));
    /* and what succeeds leaves an older message as it was */
    char before[400];
    snprintf(before, sizeof before, "%s", tn_error_message());
    assert_int_equal(tn_item_int(MADE(tn_zeros(TN_SHAPE(1)))), 0);
    assert_string_equal(before, tn_error_message());
    tn_error_clear();
    tn_scope_close(s);
}

static void settings(void **state)
{
    (void)state;
    WRONG(tn_device_parse("gpu"));
    WRONG(tn_device_parse(NULL));
    WRONG(tn_dtype_parse("float31"));
    WRONG(tn_set_default_dtype(TN_I64));
    WRONG(tn_set_default_device((tn_device){77, 0}));
    WRONG(tn_set_num_threads(-1));
    WRONG(tn_set_float32_matmul_precision("some"));
    WRONG(tn_set_rng_state((tn_device){77, 0}, (tn_rng_state){0}));
    setenv("TENON_NO_SUCH_SETTING", "1", 1);
    WRONG(tn_settings_check());
    unsetenv("TENON_NO_SUCH_SETTING");
    OK(tn_settings_check());
}

/* One that was closed before; a success after a failure that names no place adds none to it. */
static void scopes(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open(), *inner = tn_scope_open();
    tn_scope_close(s);
    WRONG((tn_scope_close(inner), 0));
    WRONG(tn_scope_close_keep(inner, NULL));
    assert_true(tn_scope_close_keep(inner, TN_NONE) == TN_NONE && tn_error_code());
    tn_error_clear();
    (void)(tn_data)(NULL);
    tn_scope_close(tn_scope_open());
    assert_true(tn_error_code() && !strstr(tn_error_message(), "\n  at "));
    tn_error_clear();
}

static void modules(void **state)
{
    (void)state;
    tn_tensor *out[4];
    tn_named named[4];
    double in = 0, fan = 0;
    char text[64];
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(3)));
    WRONG(tn_module_train(NULL));
    WRONG(tn_module_eval(NULL));
    WRONG(tn_module_requires_grad_(NULL, true));
    WRONG(tn_module_numel(NULL));
    WRONG(tn_module_parameters(NULL, out, 4));
    WRONG(tn_module_named_parameters(NULL, named, 4));
    WRONG(tn_module_named_buffers(NULL, named, 4));
    WRONG(tn_module_state(NULL, named, 4));
    WRONG(tn_module_to_string(NULL, text, sizeof text));
    WRONG(tn_init_gain(99, 0));
    WRONG(tn_init_fans(x, &in, &fan));
    WRONG(tn_init_xavier_std(x, 1));
    WRONG(tn_init_xavier_bound(x, 1));
    WRONG(tn_init_kaiming_std(x, 1, false));
    WRONG(tn_init_kaiming_bound(x, 1, false));
    WRONG(tn_init_eye_(x));
    WRONG(tn_optimizer_state(NULL, named, 4));
    WRONG((tn_module_zero_grad(NULL), 0));
    WRONG((tn_optimizer_zero_grad(NULL), 0));
    tn_scope_close(s);
}

static void files(void **state)
{
    (void)state;
    tn_safetensors_entry e;
    tn_scope *s = tn_scope_open();
    tn_safetensors *f = tn_safetensors_open(TENON_TEST_DATA "/readers/dtypes.safetensors");
    assert_non_null(f);
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(3)));
    tn_loader *l = tn_loader_new(TN_TENSORS(x), .batch_size = 1);
    assert_non_null(l);
    WRONG(tn_safetensors_name(f, 1000));
    WRONG(tn_safetensors_name(NULL, 0));
    WRONG(tn_safetensors_info(f, "nothing", &e));
    WRONG(tn_safetensors_tensor(f, "nothing"));
    WRONG(tn_safetensors_read(f, "nothing"));
    WRONG(tn_safetensors_open("nowhere"));
    WRONG(tn_load_npy("nowhere"));
    WRONG(tn_load_idx("nowhere"));
    WRONG(tn_save_npy(x, "nowhere/x"));
    WRONG(tn_save_check("nowhere/x"));
    WRONG(tn_loader_set_state(l, (tn_loader_state){.epoch = -1}));
    tn_loader_free(l);
    tn_safetensors_close(f);
    tn_scope_close(s);
}

/* Where there is no GPU each of these is wrong. */
static void gpus(void **state)
{
    (void)state;
    int64_t a, b;
    double ms;
    bool peer;
    char text[64];
    tn_device none = TN_CUDA(60);
    WRONG(tn_cuda_set_device(60));
    WRONG(tn_cuda_reset(none));
    WRONG(tn_synchronize(none));
    WRONG(tn_cuda_stream_new(none, 0));
    WRONG(tn_cuda_default_stream(none));
    WRONG(tn_cuda_current_stream(none));
    WRONG(tn_cuda_can_access_peer(none, none, &peer));
    WRONG(tn_cuda_set_wait("now and then"));
    WRONG(tn_cuda_stream_from_handle(NULL, none));
    WRONG(tn_cuda_memory_snapshot(none));
    WRONG(tn_cuda_set_stream(NULL));
    WRONG(tn_stream_synchronize(NULL));
    WRONG(tn_stream_wait_stream(NULL, NULL));
    WRONG(tn_stream_wait_event(NULL, NULL));
    WRONG(tn_event_record(NULL, NULL));
    WRONG(tn_event_synchronize(NULL));
    WRONG(tn_event_query(NULL));
    WRONG(tn_stream_query(NULL));
    WRONG(tn_event_elapsed_time(NULL, NULL, &ms));
    WRONG(tn_cuda_mem_get_info(none, &a, &b));
    WRONG(tn_memory_summary(none, text, sizeof text));
    WRONG(tn_cuda_set_per_process_memory_fraction(2, none));
    WRONG(tn_team_new((tn_device_list){NULL, 0}));
    WRONG(tn_team_devices(NULL, NULL, 0));
    WRONG(tn_data_parallel_team(NULL));
}

/* A public function that begins at no place is in the list. */
static void the_list_is_whole(void **state)
{
    (void)state;
    static const char command[] =
        "cd \"$TENON_SOURCE_FOLDER\" && find src -name '*.c' | xargs awk '"
        "/^[a-z].*[^;]$/ && /[ *]tn_[a-z0-9][a-z0-9_]*\\(/ { match($0, /tn_[a-z0-9][a-z0-9_]*\\(/); fn = substr($0, "
        "RSTART, RLENGTH - 1) } /^static/ { fn = \"\" } "
        "/^}/ { fn = \"\" } /tn__enter\\(TN__NOWHERE\\)/ && fn { print fn }' | sort -u | while read -r f; do "
        "grep -q \"define $f(\" include/tenon/sites.h || echo \"$f\"; done";
    char name[128];
    int missing = 0;
    setenv("TENON_SOURCE_FOLDER", TENON_SOURCE, 1);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    while (fgets(name, sizeof name, f)) {
        print_error("not in include/tenon/sites.h: %s", name);
        missing++;
    }
    assert_int_equal(pclose(f), 0);
    assert_int_equal(missing, 0);
    print_message("count: %d wrong calls, each at its place\n", calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors),           cmocka_unit_test(settings), cmocka_unit_test(scopes),
        cmocka_unit_test(modules),           cmocka_unit_test(files),    cmocka_unit_test(gpus),
        cmocka_unit_test(the_list_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
