/* Operations of a program's own, on the CPU: registered, called, recorded, refused, checked. Values are PyTorch 2.15's, or of a
 * formula written here once more. */
#include "check.h"
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

/* ---- swiglu: silu(a) * b ---- */

static tn_status swiglu_cpu(const tn_op_args *c, int64_t begin, int64_t end)
{
    if (c->out[0].dtype == TN_F64) {
        const double *a = c->in[0].data, *b = c->in[1].data;
        for (int64_t i = begin; i < end; i++)
            ((double *)c->out[0].data)[i] = a[i] / (1 + exp(-a[i])) * b[i];
        return TN_OK;
    }
    const float *a = c->in[0].data, *b = c->in[1].data;
    for (int64_t i = begin; i < end; i++)
        ((float *)c->out[0].data)[i] = a[i] / (1 + expf(-a[i])) * b[i];
    return TN_OK;
}

static tn_status swiglu_backward(const tn_op_backward *d)
{
    tn_tensor *a = d->in[0], *b = d->in[1], *s = tn_sigmoid(a), *as = tn_mul(a, s);
    assert_int_equal(d->n_in, 2);
    if (d->need[0])
        d->grad[0] = tn_mul(tn_mul(d->grad_out[0], b), tn_add(s, tn_mul(as, tn_sub(1, s))));
    if (d->need[1])
        d->grad[1] = tn_mul(d->grad_out[0], as);
    return tn_error_code();
}

static tn_status wrong_backward(const tn_op_backward *d)
{
    d->grad[0] = tn_mul(d->grad_out[0], d->in[1]);
    d->grad[1] = tn_mul(d->grad_out[0], d->in[0]);
    return d->grad[1] ? TN_OK : tn_error_code();
}

enum { WIDE = TN_OP_DTYPE(TN_F32) | TN_OP_DTYPE(TN_F64) };

static const tn_op_def swiglu_def = {.struct_size = sizeof swiglu_def,
                                     .name = "test::swiglu",
                                     .inputs = 2,
                                     .rule = TN_OP_BROADCAST,
                                     .cpu = swiglu_cpu,
                                     .cpu_dtypes = WIDE,
                                     .backward = swiglu_backward};

static const tn_op *swiglu(void)
{
    const tn_op *op = tn_op_find("test::swiglu");
    return op ? op : tn_op_register(&swiglu_def);
}

static tn_tensor *call(tn_tensor *a, tn_tensor *b)
{
    return tn_op_call(swiglu(), TN_TENSORS(a, b));
}

static tn_tensor *five(bool second)
{
    return second ? MADE(tn_tensor_from(TN_LIST(1., 2., 3., 4., 5.), .requires_grad = true))
                  : MADE(tn_tensor_from(TN_LIST(-2., -1., 0., 1., 2.), .requires_grad = true));
}

static void values_and_gradients(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *a = five(false), *b = five(true), *y = MADE(call(a, b));
    PRINTS(y, "tensor([-0.2384, -0.5379,  0.0000,  2.9242,  8.8080],\n       grad_fn=<SwigluBackward0>)");
    OK(tn_backward(tn_sum(y)));
    PRINTS(tn_tensor_grad(a), "tensor([-0.0908,  0.1447,  1.5000,  3.7107,  5.4539])");
    PRINTS(tn_tensor_grad(b), "tensor([-0.2384, -0.2689,  0.0000,  0.7311,  1.7616])");
    FAILS_STATUS(tn_backward(tn_sum(y)), TN_EGRAD, "a second time");
    bool was = tn_set_grad_enabled(false);
    PRINTS(call(a, b), "tensor([-0.2384, -0.5379,  0.0000,  2.9242,  8.8080])");
    tn_set_grad_enabled(was);
    tn_scope_close(scope);
}

/* Against the same made of built-in operations: first and second derivatives, of operands that are repeated. */
static void second_derivatives(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_manual_seed(3);
    tn_tensor *a = MADE(tn_randn(TN_SHAPE(4, 3), .dtype = TN_F64, .requires_grad = true));
    tn_tensor *b = MADE(tn_randn(TN_SHAPE(3), .dtype = TN_F64, .requires_grad = true));
    tn_tensor *g[2][2], *h[2][2];
    for (int built = 0; built < 2; built++) {
        tn_tensor *y = MADE(built ? tn_mul(tn_silu(a), b) : call(a, b));
        OK(tn_grad(TN_TENSORS(tn_sum(tn_square(y))), TN_TENSORS(a, b), g[built], .create_graph = true));
        tn_tensor *z = MADE(tn_add(tn_sum(tn_square(g[built][0])), tn_sum(tn_square(g[built][1]))));
        OK(tn_grad(TN_TENSORS(z), TN_TENSORS(a, b), h[built]));
    }
    for (int i = 0; i < 2; i++) {
        assert_true(tn_allclose(g[0][i], g[1][i], .rtol = TN_SCALAR(1e-12)));
        assert_true(tn_allclose(h[0][i], h[1][i], .rtol = TN_SCALAR(1e-10)));
    }
    assert_int_equal(tn_tensor_ndim(g[0][1]), 1);
    tn_scope_close(scope);
}

static void layouts_and_dtypes(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *a = MADE(tn_randn(TN_SHAPE(70, 300)));
    tn_tensor *want = MADE(tn_mul(tn_silu(tn_t(a)), tn_t(a)));
    assert_true(tn_allclose(MADE(call(tn_t(a), tn_t(a))), want, .rtol = TN_SCALAR(1e-5)));
    /* 16 bits: computed in float32 and rounded once */
    tn_tensor *half =
        MADE(call(tn_tensor_from(TN_LIST(1., -2.), .dtype = TN_F16), tn_tensor_from(TN_LIST(3., 4.), .dtype = TN_F16)));
    PRINTS(half, "tensor([ 2.1934, -0.9536], dtype=torch.float16)");
    /* dtypes are promoted as those of built-in operations */
    tn_tensor *mixed = MADE(call(half, tn_ones(TN_SHAPE(2))));
    assert_int_equal(tn_tensor_dtype(mixed), TN_F32);
    assert_int_equal(tn_tensor_numel(MADE(call(tn_zeros(TN_SHAPE(0, 3)), tn_ones(TN_SHAPE(3))))), 0);
    FAILS(call(tn_ones(TN_SHAPE(2), .dtype = TN_I64), tn_ones(TN_SHAPE(2), .dtype = TN_I64)), TN_EDTYPE,
          "\"test::swiglu\" not implemented for 'Long'");
    tn_tensor *meta = MADE(tn_ones(TN_SHAPE(2, 1), .device = TN_META));
    assert_int_equal(tn_tensor_numel(MADE(call(meta, tn_ones(TN_SHAPE(3), .device = TN_META)))), 6);
    tn_scope_close(scope);
}

/* ---- two results, parameters, absent inputs, a shape rule, rows ---- */

/* Rows of x times a scale: their sum, and their sum times k plus bias; by begin to end of the rows. */
static tn_status rows_cpu(const tn_op_args *c, int64_t begin, int64_t end)
{
    const float *x = c->in[0].data, *bias = c->in[1].data;
    const int64_t width = c->in[0].shape[c->in[0].ndim - 1];
    assert_int_equal(c->n_params, 3);
    for (int64_t r = begin; r < end; r++) {
        double sum = 0;
        for (int64_t i = 0; i < width; i++)
            sum += (double)x[r * width + i] * c->param[0].v.f;
        ((float *)c->out[0].data)[r] = (float)sum;
        ((float *)c->out[1].data)[r] = (float)sum * (float)c->param[1].v.i + (bias ? bias[0] : 0);
    }
    return c->param[2].v.i ? tn_op_error(TN_EVALUE, "asked to fail") : TN_OK;
}

static tn_status rows_shape(const tn_op_args *c)
{
    if (!c->in[0].ndim)
        return tn_op_error(TN_EINVAL, "rows: a tensor of one dimension or more");
    for (int i = 0; i < 2; i++)
        c->out[i].ndim = c->in[0].ndim - 1;
    return TN_OK;
}

static tn_status rows_backward(const tn_op_backward *d)
{
    tn_tensor *g = tn_mul(tn_add(d->grad_out[0], tn_mul(d->grad_out[1], d->param[1].v.i)), d->param[0].v.f);
    d->grad[0] = tn_expand_as(tn_unsqueeze(g, -1), d->in[0]);
    assert_true(d->need[0]);
    return d->grad[0] ? TN_OK : tn_error_code();
}

static const tn_op *rows(void)
{
    static const tn_op_def def = {.struct_size = sizeof def,
                                  .name = "test::rows",
                                  .inputs = 2,
                                  .results = 2,
                                  .optional = 2,
                                  .params = "fib",
                                  .rule = TN_OP_ANY,
                                  .dtypes = TN_OP_DTYPE(TN_F32),
                                  .shape = rows_shape,
                                  .grain = 3,
                                  .cpu = rows_cpu,
                                  .backward = rows_backward};
    const tn_op *op = tn_op_find("test::rows");
    return op ? op : tn_op_register(&def);
}

static void several_of_each(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = MADE(tn_reshape(tn_arange(0, 24, 1, .dtype = TN_F32), TN_SHAPE(8, 3)));
    MADE(tn_requires_grad_(x, true));
    tn_tensor *second, *y = MADE(tn_op_call(rows(), TN_TENSORS(x, tn_ones(TN_SHAPE(1))), .second = &second,
                                            .params = TN_NUMBERS(TN_SCALAR(2), TN_SCALAR(3), TN_SCALAR(0))));
    PRINTS(y, "tensor([  6.,  24.,  42.,  60.,  78.,  96., 114., 132.],\n       grad_fn=<RowsBackward0>)");
    PRINTS(second, "tensor([ 19.,  73., 127., 181., 235., 289., 343., 397.],\n       grad_fn=<RowsBackward0>)");
    OK(tn_backward(tn_sum(second)));
    PRINTS(tn_narrow(tn_tensor_grad(x), 0, 0, 2), "tensor([[6., 6., 6.],\n        [6., 6., 6.]])");
    tn_tensor *bare = MADE(tn_op_call(rows(), TN_TENSORS(tn_detach(x), TN_NONE), .second = &second,
                                      .params = TN_NUMBERS(TN_SCALAR(0.5), TN_SCALAR(2), TN_SCALAR(false))));
    PRINTS(tn_narrow(bare, 0, 0, 2), "tensor([1.5000, 6.0000])");
    PRINTS(tn_narrow(second, 0, 0, 2), "tensor([ 3., 12.])");
    tn_scope_close(scope);
}

#define ROWS(x, bias, ...) tn_op_call(rows(), TN_TENSORS(x, bias), .params = TN_NUMBERS(__VA_ARGS__))
#define GOOD               TN_SCALAR(2), TN_SCALAR(3), TN_SCALAR(0)

static void wrong_calls(void **state)
{
    (void)state;
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = MADE(tn_ones(TN_SHAPE(9, 2)));
    FAILS(ROWS(x, TN_NONE, TN_SCALAR(2)), TN_EINVAL, "test::rows takes 3 parameters (fib), got 1");
    FAILS(ROWS(x, TN_NONE, TN_SCALAR(2), TN_SCALAR(1.5), TN_SCALAR(0)), TN_ETYPE,
          "test::rows: parameter 2 is to be an integer");
    FAILS(ROWS(TN_NONE, x, GOOD), TN_ETYPE, "test::rows: operand 1 must be a tensor");
    FAILS(tn_op_call(rows(), TN_TENSORS(x)), TN_EINVAL, "test::rows takes 2 tensors, got 1");
    const tn_tensors nowhere = {NULL, 2};
    const tn_op_params no_numbers = {NULL, 3};
    FAILS(tn_op_call(rows(), nowhere), TN_EINVAL, "test::rows: the list of its 2 tensors is NULL");
    FAILS(tn_op_call(rows(), TN_TENSORS(x, TN_NONE), .params = no_numbers), TN_EINVAL,
          "test::rows: the list of its 3 parameters (fib) is NULL");
    FAILS(ROWS(tn_ones(TN_SHAPE()), TN_NONE, GOOD), TN_EINVAL, "rows: a tensor of one dimension or more");
    FAILS(ROWS(tn_ones(TN_SHAPE(2), .dtype = TN_F64), TN_NONE, GOOD), TN_EDTYPE, "not implemented for 'Double'");
    /* a failure in one of several ranges, on whichever thread: its error, the call's site, the operands */
    FAILS(ROWS(x, TN_NONE, TN_SCALAR(2), TN_SCALAR(3), TN_SCALAR(true)), TN_EVALUE, "asked to fail");
    assert_null(ROWS(x, TN_NONE, TN_SCALAR(2), TN_SCALAR(3), TN_SCALAR(true)));
    assert_non_null(strstr(tn_error_message(), "test_library.c:"));
    assert_non_null(strstr(tn_error_message(), "in test::rows(float32 [9, 2] on cpu"));
    assert_null(ROWS(NULL, TN_NONE, GOOD)); /* a failed operand keeps the record */
    assert_int_equal(tn_error_code(), TN_EVALUE);
    tn_error_clear();
    FAILS(tn_op_call(NULL, TN_TENSORS(x)), TN_EINVAL, "tn_op_call");
    FAILS(call(tn_ones(TN_SHAPE(3)), tn_ones(TN_SHAPE(4))), TN_EINVAL, "The size of tensor a (3) must match");
    tn_scope_close(scope);
}

static void wrong_descriptions(void **state)
{
    (void)state;
#define WRONG(text, ...) \
    do { \
        tn_op_def d_ = {.struct_size = sizeof d_, .name = "test::wrong", .inputs = 1, .cpu = swiglu_cpu}; \
        __VA_ARGS__; \
        FAILS(tn_op_register(&d_), TN_EINVAL, text); \
    } while (0)
    assert_non_null(swiglu());
    FAILS(tn_op_register(&swiglu_def), TN_EINVAL, "test::swiglu is registered already");
    FAILS(tn_op_register(NULL), TN_EINVAL, "struct_size");
    WRONG("a name as \"mylib::swiglu\" was expected, got \"swiglu\"", d_.name = "swiglu");
    WRONG("got \"a::b::c\"", d_.name = "a::b::c");
    WRONG("got none", d_.name = NULL);
    WRONG("got \"a::b?[31m\"", d_.name = "a::b\033[31m");
    char longest[300] = "";
    memset(longest, 'x', sizeof longest - 1);
    WRONG("xx...\"", d_.name = longest);
    WRONG("1 to 12 inputs, not 13", d_.inputs = 13);
    WRONG("1 or 2 results, not 3", d_.results = 3);
    WRONG("letters of \"fib\", not \"fx\"", d_.params = "fx");
    WRONG("neither a CPU function nor a kernel", d_.cpu = NULL);
    WRONG("test::wrong: optional has a bit for each of 1 inputs, but for the first: not 0x1", d_.optional = 1);
    WRONG("for each of 2 inputs, but for the first: not 0x6", d_.inputs = 2, d_.optional = 6);
    WRONG("test::wrong: a grain of -1 items", d_.grain = -1);
    WRONG("test::wrong: groups of 1 to 1024 work items, not 1025", d_.local = 1025);
    WRONG("is to be saved", d_.save_in = 2);
    WRONG("there is no rule 9", d_.rule = 9);
    WRONG("there is no way 7 to share work", d_.items = 7);
    assert_null(tn_op_find("test::wrong"));
    assert_int_equal(tn_error_code(), TN_OK);
    assert_string_equal(tn_op_name(swiglu()), "test::swiglu");
    assert_int_equal(tn_op_definition(swiglu())->inputs, 2);
}

/* ---- no derivative, or a wrong one ---- */

static void without_a_derivative(void **state)
{
    (void)state;
    tn_op_def d = swiglu_def;
    d.name = "test::underived";
    d.backward = NULL;
    const tn_op *op = tn_op_register(&d);
    tn_scope *scope = tn_scope_open();
    tn_tensor *y = MADE(tn_op_call(op, TN_TENSORS(five(false), five(true))));
    FAILS_STATUS(tn_backward(tn_sum(y)), TN_EGRAD,
                 "Trying to backward through test::underived but no autograd formula was registered.");
    tn_scope_close(scope);
}

static tn_status failing_backward(const tn_op_backward *d)
{
    (void)d;
    return tn_op_error(TN_EVALUE, "no derivative today");
}

static tn_status misshapen_backward(const tn_op_backward *d)
{
    d->grad[0] = tn_ones(TN_SHAPE(7));
    return TN_OK;
}

/* A call in it fails, and nobody looks. */
static tn_status careless_backward(const tn_op_backward *d)
{
    d->grad[0] = tn_add(d->grad_out[0], tn_ones(TN_SHAPE(2, 7)));
    d->grad[1] = tn_clone(d->grad_out[0]);
    return TN_OK;
}

static void callbacks_that_fail(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
        tn_status (*backward)(const tn_op_backward *d);
        tn_status code;
    } cases[] = {{"test::failing", "no derivative today", failing_backward, TN_EVALUE},
                 {"test::misshapen", "test::misshapen returned an invalid gradient at index 0 - got [7]",
                  misshapen_backward, TN_EGRAD},
                 {"test::careless", "The size of tensor a", careless_backward, TN_EINVAL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tn_op_def d = swiglu_def;
        d.name = cases[i].name;
        d.backward = cases[i].backward;
        const tn_op *op = tn_op_register(&d);
        tn_scope *scope = tn_scope_open();
        tn_tensor *y = MADE(tn_op_call(op, TN_TENSORS(five(false), five(true))));
        FAILS_STATUS(tn_backward(tn_sum(y)), cases[i].code, cases[i].text);
        tn_scope_close(scope);
    }
}

/* ---- an error that was on record is nobody's ---- */

static tn_status bare_cpu(const tn_op_args *c, int64_t begin, int64_t end)
{
    (void)c, (void)begin, (void)end;
    return TN_EVALUE;
}

static tn_status negative(const tn_op_args *c)
{
    (void)c;
    return (tn_status)-7;
}

static tn_status bare_backward(const tn_op_backward *d)
{
    (void)d;
    return TN_EVALUE;
}

static tn_status bare_hook(void *ctx, tn_tensor *g, tn_tensor **replace)
{
    (void)ctx, (void)g, (void)replace;
    return (tn_status)-7;
}

static tn_tensor *bare_forward(tn_module *self, tn_tensor *x)
{
    (void)self, (void)x;
    return NULL;
}

/* It makes an error, and forgets it. */
static tn_tensor *careless_forward(tn_module *self, tn_tensor *x)
{
    (void)self;
    assert_int_equal(tn_error_code(), TN_OK);
    assert_null(tn_reshape(x, TN_SHAPE(77)));
    tn_error_clear();
    return tn_relu(x);
}

static void leave_an_error(void)
{
    assert_null(tn_reshape(tn_ones(TN_SHAPE(3)), TN_SHAPE(99)));
}

static tn_tensor *called(const char *name, tn_op_def d)
{
    d.name = name;
    const tn_op *op = tn_op_register(&d);
    assert_non_null(op);
    leave_an_error();
    return tn_op_call(op, TN_TENSORS(five(false), five(true)));
}

static void errors_of_before(void **state)
{
    (void)state;
    static const tn_module_class bare = {.struct_size = sizeof bare, .name = "Bare", .forward = bare_forward},
                                 careless = {
                                     .struct_size = sizeof careless, .name = "Careless", .forward = careless_forward};
    tn_scope *scope = tn_scope_open();
    tn_op_def d = swiglu_def;
    d.cpu = bare_cpu;
    FAILS(called("test::bare_cpu", d), TN_EVALUE, "test::bare_cpu failed, but no failed call is on record");
    d = swiglu_def;
    d.shape = negative;
    FAILS(called("test::negative", d), TN_EINVAL, "test::negative: its shape rule refuses the inputs");
    d = swiglu_def;
    d.backward = bare_backward;
    tn_tensor *loss = tn_sum(called("test::bare_backward", d));
    FAILS_STATUS(tn_backward(loss), TN_EVALUE, "test::bare_backward failed, but no failed call is on record");
    tn_tensor *x = five(false);
    OK(tn_tensor_add_hook(x, bare_hook, NULL, NULL, NULL));
    loss = tn_sum(x);
    leave_an_error();
    FAILS_STATUS(tn_backward(loss), TN_EINVAL, "a hook failed, but no failed call is on record");
    tn_module *m = tn_module_new(&bare, NULL), *other = tn_module_new(&careless, NULL);
    leave_an_error();
    FAILS(tn_forward(m, x), TN_EINVAL, "the forward of Bare gave NULL, but no failed call is on record");
    leave_an_error();
    assert_non_null(tn_forward(other, x));
    assert_non_null(strstr(tn_error_message(), "[99]")); /* what was on record is again */
    tn_error_clear();
    tn_scope_close(scope);
}

static struct {
    pthread_t caller;
    atomic_bool failed;
} elsewhere;

/* Fails on threads that are not the caller's; that one waits for it. */
static tn_status fails_elsewhere(const tn_op_args *c, int64_t begin, int64_t end)
{
    (void)c, (void)begin, (void)end;
    if (!pthread_equal(pthread_self(), elsewhere.caller)) {
        atomic_store(&elsewhere.failed, true);
        return tn_op_error(TN_EVALUE, "not on this thread");
    }
    for (int i = 0; i < 5000 && !atomic_load(&elsewhere.failed); i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return TN_OK;
}

static void *call_elsewhere(void *op)
{
    elsewhere.caller = pthread_self();
    tn_scope *scope = tn_scope_open();
    FAILS(tn_op_call(op, TN_TENSORS(tn_ones(TN_SHAPE(4000)))), TN_EVALUE, "not on this thread");
    tn_scope_close(scope);
    return NULL;
}

/* The caller had no error before: its record has no memory yet. */
static void errors_of_other_threads(void **state)
{
    (void)state;
    pthread_t thread;
    static const tn_op_def d = {
        .struct_size = sizeof d, .name = "test::elsewhere", .inputs = 1, .cpu = fails_elsewhere, .grain = 10};
    const int32_t before = tn_get_num_threads();
    OK(tn_set_num_threads(4));
    assert_int_equal(pthread_create(&thread, NULL, call_elsewhere, (void *)(uintptr_t)tn_op_register(&d)), 0);
    pthread_join(thread, NULL);
    OK(tn_set_num_threads(before));
}

/* ---- the checker finds what is wrong ---- */

static tn_status keeps_count(const tn_op_args *c, int64_t begin, int64_t end)
{
    static float calls;
    for (int64_t i = begin; i < end; i++)
        ((float *)c->out[0].data)[i] = calls;
    calls++;
    return TN_OK;
}

static tn_status writes_input(const tn_op_args *c, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) {
        ((float *)c->out[0].data)[i] = 1;
        ((float *)c->in[0].data)[i] += 1;
    }
    return TN_OK;
}

static tn_status rough_in_float(const tn_op_args *c, int64_t begin, int64_t end)
{
    if (c->out[0].dtype == TN_F64)
        return swiglu_cpu(c, begin, end);
    for (int64_t i = begin; i < end; i++)
        ((float *)c->out[0].data)[i] = 0.5F;
    return TN_OK;
}

static tn_status refuses_nothing(const tn_op_args *c, int64_t begin, int64_t end)
{
    (void)begin, (void)end;
    return c->in[0].shape[0] == 0 ? TN_EINVAL : swiglu_cpu(c, begin, end);
}

static void checked(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
        tn_status (*cpu)(const tn_op_args *c, int64_t begin, int64_t end);
        tn_status (*backward)(const tn_op_backward *d);
        uint32_t dtypes;
        tn_status code;
    } cases[] = {
        {"test::counts", "the same call again: result 0 differs", keeps_count, NULL, TN_OP_DTYPE(TN_F32), TN_EINVAL},
        {"test::writes", "writes to its input 0", writes_input, NULL, TN_OP_DTYPE(TN_F32), TN_EINVAL},
        {"test::rough", "float16 beside float64: result 0 differs", rough_in_float, NULL, 0, TN_EINVAL},
        {"test::slanted", "the gradient of input 0 is wrong at element 0", swiglu_cpu, wrong_backward, 0, TN_EGRAD},
        {"test::full", NULL, refuses_nothing, swiglu_backward, 0, TN_OK}, /* is not asked about what has no elements */
    };
    tn_scope *scope = tn_scope_open();
    tn_manual_seed(5);
    tn_tensor *a = MADE(tn_randn(TN_SHAPE(3, 4))), *b = MADE(tn_randn(TN_SHAPE(3, 4)));
    OK(tn_op_check(swiglu(), TN_TENSORS(a, b)));
    OK(tn_op_check(swiglu(), TN_TENSORS(a, tn_randn(TN_SHAPE(4)))));
    OK(tn_op_check(rows(), TN_TENSORS(a, TN_NONE), .params = TN_NUMBERS(GOOD)));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tn_op_def d = swiglu_def;
        d.name = cases[i].name;
        d.cpu = cases[i].cpu;
        d.backward = cases[i].backward;
        d.dtypes = cases[i].dtypes;
        const tn_op *op = tn_op_register(&d);
        if (cases[i].text)
            FAILS_STATUS(tn_op_check(op, TN_TENSORS(tn_clone(a), b)), cases[i].code, cases[i].text);
        else
            OK(tn_op_check(op, TN_TENSORS(a, b)));
    }
    tn_scope_close(scope);
}

/* ---- threads ---- */

enum { THREADS = 8, ONCE = 20 };

static struct {
    pthread_barrier_t together;
    _Atomic int made, lost, wrong;
} race;

/* Whoever is told that a name is taken finds the operation, and may call it at once. */
static void *register_and_call(void *unused)
{
    char name[32];
    tn_op_def d = swiglu_def;
    (void)unused;
    d.name = name;
    for (int i = 0; i < ONCE; i++) {
        snprintf(name, sizeof name, "test::once_%d", i);
        pthread_barrier_wait(&race.together);
        const tn_op *op = tn_op_register(&d), *found = tn_op_find(name);
        race.made += op != NULL;
        race.lost += !found || (op && op != found);
        tn_scope *scope = tn_scope_open();
        for (int k = 0; k < 20; k++)
            race.wrong += !tn_op_call(found, TN_TENSORS(tn_ones(TN_SHAPE(3)), tn_ones(TN_SHAPE(3))));
        tn_scope_close(scope);
    }
    return NULL;
}

/* Of threads that register one name, one succeeds; all can call it. */
static void from_threads(void **state)
{
    (void)state;
    pthread_t thread[THREADS];
    assert_int_equal(pthread_barrier_init(&race.together, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, register_and_call, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&race.together);
    assert_int_equal(race.made, ONCE);
    assert_int_equal(race.lost, 0);
    assert_int_equal(race.wrong, 0);
}

/* The last test: the table has an end. */
static void many(void **state)
{
    (void)state;
    char name[32];
    int made = 0;
    tn_op_def d = swiglu_def;
    d.name = name;
    for (int i = 0; i < 257; i++) {
        snprintf(name, sizeof name, "test::many_%d", i);
        made += tn_op_register(&d) != NULL;
    }
    assert_true(made > 200 && made < 257);
    assert_int_equal(tn_error_code(), TN_ENOMEM);
    assert_non_null(strstr(tn_error_message(), "256 operations are registered"));
    tn_error_clear();
    tn_scope *scope = tn_scope_open();
    MADE(tn_op_call(tn_op_find("test::many_100"), TN_TENSORS(tn_ones(TN_SHAPE(2)), tn_ones(TN_SHAPE(2)))));
    tn_scope_close(scope);
}

static int nothing_is_left(void **state)
{
    (void)state;
    return tn_live_tensors() != 0;
}

int main(void)
{
#define TEST(f) cmocka_unit_test_teardown(f, nothing_is_left)
    const struct CMUnitTest tests[] = {
        TEST(values_and_gradients),
        TEST(second_derivatives),
        TEST(layouts_and_dtypes),
        TEST(several_of_each),
        TEST(wrong_calls),
        TEST(wrong_descriptions),
        TEST(without_a_derivative),
        TEST(callbacks_that_fail),
        TEST(errors_of_before),
        TEST(errors_of_other_threads),
        TEST(checked),
        TEST(from_threads),
        TEST(many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
