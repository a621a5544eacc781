/* Printing: random tensors of every dtype, shape, range and print option, to the letter as PyTorch 2.14.1 printed them
 * (tests/data/golden/print.json, made by tests/data/make_golden.py); and what is asked of tn_to_string itself. */
#include "check.h"
#include <cjson/cJSON.h>
#include <stdlib.h>

static char *read_file(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/golden/%s", TENON_TEST_DATA, name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    long size = ftell(f);
    assert_true(size > 0);
    rewind(f);
    char *text = malloc((size_t)size + 1);
    assert_int_equal(fread(text, 1, (size_t)size, f), size);
    text[size] = '\0';
    fclose(f);
    return text;
}

static int digit(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

static tn_tensor *tensor_of(const cJSON *e)
{
    const char *hex = cJSON_GetObjectItem(e, "data")->valuestring;
    const cJSON *shape = cJSON_GetObjectItem(e, "shape");
    int64_t dims[TN_MAX_DIMS];
    int32_t n = 0;
    for (; n < cJSON_GetArraySize(shape); n++)
        dims[n] = (int64_t)cJSON_GetArrayItem(shape, n)->valuedouble;
    size_t bytes = strlen(hex) / 2;
    unsigned char *p = malloc(bytes ? bytes : 1);
    for (size_t i = 0; i < bytes; i++)
        p[i] = (unsigned char)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
    tn_dtype d = tn_dtype_parse(cJSON_GetObjectItem(e, "dtype")->valuestring);
    return MADE(tn_from_data(p, d, tn_dims_of(dims, n), .release = free, .ctx = p));
}

static int32_t option(const cJSON *e, const char *name)
{
    const cJSON *o = cJSON_GetObjectItem(cJSON_GetObjectItem(e, "options"), name);
    return o ? (int32_t)o->valuedouble : 0;
}

static tn_print_options options_of(const cJSON *e)
{
    const cJSON *sci = cJSON_GetObjectItem(cJSON_GetObjectItem(e, "options"), "sci_mode");
    return (tn_print_options){option(e, "precision"), option(e, "threshold"), option(e, "edgeitems"),
                              option(e, "linewidth"),
                              !sci                ? 0
                              : cJSON_IsTrue(sci) ? 1
                                                  : -1};
}

static tn_tensor *with_history(tn_tensor *t, const char *grad)
{
    if (!*grad)
        return t;
    MADE(tn_requires_grad_(t, true));
    if (!strcmp(grad, "mul"))
        return MADE(tn_mul(t, 1));
    if (!strcmp(grad, "clone"))
        return MADE(tn_clone(t));
    return strcmp(grad, "transpose") ? t : MADE(tn_transpose(t, 0, 1));
}

static void prints_as_pytorch(void **state)
{
    (void)state;
    char *text = read_file("print.json");
    cJSON *list = cJSON_Parse(text);
    const cJSON *e;
    int n = 0, wrong = 0;
    static char got[65536];
    assert_non_null(list);
    cJSON_ArrayForEach(e, list)
    {
        tn_scope *scope = tn_scope_open();
        tn_tensor *t = with_history(tensor_of(e), cJSON_GetObjectItem(e, "grad")->valuestring);
        const char *want = cJSON_GetObjectItem(e, "text")->valuestring;
        tn_set_print_options(options_of(e));
        int64_t length = tn_to_string(t, got, sizeof got);
        tn_set_print_options((tn_print_options){0});
        if (length != (int64_t)strlen(want) || strcmp(got, want) != 0) {
            char *options = cJSON_PrintUnformatted(cJSON_GetObjectItem(e, "options"));
            if (wrong++ < 10)
                print_error("tensor %d (%s %s), expected:\n%s\ngot:\n%s\n", n,
                            cJSON_GetObjectItem(e, "dtype")->valuestring, options, want,
                            length < 0 ? tn_error_message() : got);
            free(options);
        }
        n++;
        tn_scope_close(scope);
    }
    cJSON_Delete(list);
    free(text);
    print_message("%d tensors printed, %d wrong\n", n, wrong);
    assert_true(n >= 300);
    assert_int_equal(wrong, 0);
    assert_int_equal(tn_live_tensors(), 0);
}

/* Strides do not show: a transposed, sliced or expanded tensor prints as its copy does. */
static void layouts_print_alike(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_reshape(tn_arange(0, 24, 1), TN_SHAPE(4, 6)));
    PRINTS(tn_slice(tn_transpose(x, 0, 1), 0, 1, 6, 2), "tensor([[ 1,  7, 13, 19],\n"
                                                        "        [ 3,  9, 15, 21],\n"
                                                        "        [ 5, 11, 17, 23]])");
    PRINTS(tn_expand(tn_tensor_from(TN_LIST(1.5)), TN_SHAPE(2, 3)), "tensor([[1.5000, 1.5000, 1.5000],\n"
                                                                    "        [1.5000, 1.5000, 1.5000]])");
    PRINTS(tn_select(tn_select(x, 0, 1), 0, 2), "tensor(8)");
    tn_scope_close(s);
}

/* As snprintf: the whole length whatever the room, always a '\0'. */
static void text_is_cut_to_the_room(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_tensor *x = MADE(tn_tensor_from(TN_LIST(1, 2, 3)));
    const char whole[] = "tensor([1, 2, 3])";
    char out[32];
    memset(out, 'x', sizeof out);
    assert_int_equal(tn_to_string(x, out, 0), sizeof whole - 1);
    assert_int_equal(out[0], 'x');
    for (size_t room = 1; room < sizeof out; room++) {
        memset(out, 'x', sizeof out);
        assert_int_equal(tn_to_string(x, out, room), sizeof whole - 1);
        size_t n = room - 1 < sizeof whole - 1 ? room - 1 : sizeof whole - 1;
        assert_int_equal(strlen(out), n);
        assert_memory_equal(out, whole, n);
        assert_int_equal(out[n + 1], 'x');
    }
    assert_true(tn_to_string(NULL, out, sizeof out) < 0);
    tn_error_clear();
    tn_scope_close(s);
}

/* The suffixes, in PyTorch's order: device, size, dtype, requires_grad or grad_fn. */
static void suffixes(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    PRINTS(tn_empty(TN_SHAPE(2), .device = TN_META), "tensor(..., device='meta', size=(2,))");
    PRINTS(tn_empty(TN_SHAPE(), .device = TN_META), "tensor(..., device='meta', size=())");
    PRINTS(tn_empty(TN_SHAPE(2, 3), .device = TN_META, .dtype = TN_F16),
           "tensor(..., device='meta', size=(2, 3), dtype=torch.float16)");
    PRINTS(tn_empty(TN_SHAPE(2, 0)), "tensor([], size=(2, 0))");
    PRINTS(tn_empty(TN_SHAPE(0)), "tensor([])");
    PRINTS(tn_empty(TN_SHAPE(0), .dtype = TN_I64), "tensor([], dtype=torch.int64)");
    PRINTS(tn_empty(TN_SHAPE(0, 4), .dtype = TN_BOOL), "tensor([], size=(0, 4), dtype=torch.bool)");
    PRINTS(tn_ones(TN_SHAPE(2), .dtype = TN_F64, .requires_grad = true),
           "tensor([1., 1.], dtype=torch.float64, requires_grad=True)");
    PRINTS(tn_full(TN_SHAPE(), 3.5), "tensor(3.5000)");
    OK(tn_set_default_dtype(TN_F64));
    PRINTS(tn_ones(TN_SHAPE(2)), "tensor([1., 1.])");
    PRINTS(tn_ones(TN_SHAPE(2), .dtype = TN_F32), "tensor([1., 1.], dtype=torch.float32)");
    OK(tn_set_default_dtype(TN_F32));
    tn_scope_close(s);
}

/* Where 0 is an option's value: no digits, everything shortened, no edges (torch.set_printoptions(precision=0) and so on,
 * as PyTorch 2.15 prints). */
static void options_of_zero(void **state)
{
    (void)state;
    tn_scope *s = tn_scope_open();
    tn_set_print_options((tn_print_options){.precision = -1});
    PRINTS(tn_tensor_from(TN_LIST(-0.25, 100.0, 2.6)), "tensor([ -0, 100,   3])");
    PRINTS(tn_tensor_from(TN_LIST(4.1e-6, -2e-7)), "tensor([ 4e-06, -2e-07])");
    PRINTS(tn_tensor_from(TN_LIST(1.0, 2.0)), "tensor([1., 2.])");
    tn_set_print_options((tn_print_options){.threshold = -1, .edgeitems = 1});
    PRINTS(tn_arange(0, 5, 1), "tensor([0,  ..., 4])");
    tn_set_print_options((tn_print_options){.threshold = 3, .edgeitems = -1});
    PRINTS(tn_arange(0, 6, 1), "tensor([...], size=(6,))");
    PRINTS(tn_ones(TN_SHAPE(2, 3), .dtype = TN_F64), "tensor([...], size=(2, 3), dtype=torch.float64)");
    PRINTS(tn_arange(0, 3, 1), "tensor([0, 1, 2], size=(3,))");
    PRINTS(tn_full(TN_SHAPE(), 1.5), "tensor(1.5000, size=())");
    PRINTS(tn_empty(TN_SHAPE(0)), "tensor([])");
    PRINTS(tn_empty(TN_SHAPE(2, 0)), "tensor([], size=(2, 0))");
    tn_set_print_options((tn_print_options){0});
    tn_scope_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_as_pytorch),       cmocka_unit_test(layouts_print_alike),
        cmocka_unit_test(text_is_cut_to_the_room), cmocka_unit_test(suffixes),
        cmocka_unit_test(options_of_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
