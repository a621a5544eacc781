/* Where tensors live, and how errors are met. Runs the same with and without a GPU, apart from what it finds. */
#include <stdio.h>
#include <string.h>
#include <tenon/tenon.h>

/* The first line of the error, without the file and line that follow; then it is forgotten. */
static void report(const char *what)
{
    const char *message = tn_error_message();
    printf("%s\n  %s: %.*s\n", what, tn_status_name(tn_error_code()), (int)strcspn(message, "\n"), message);
    tn_error_clear();
}

int main(void)
{
    tn_scope *scope = tn_scope_open();

    /* A device is a small value. Every tensor has one; the default is the CPU. */
    tn_tensor *x = tn_tensor_from(TN_LIST(1.0, 2.0, 3.0));
    printf("x is on %s\n", tn_device_text(tn_tensor_device(x)).s);
    tn_device named = tn_device_parse("cuda:1");
    printf("'cuda:1' has the type of TN_CUDA(1): %s\n", tn_device_equal(named, TN_CUDA(1)) ? "yes" : "no");

    /* The first GPU, or the CPU where there is none: a program written so runs everywhere. */
    tn_device device = tn_try_gpu(0);
    tn_tensor *y = tn_mul(tn_to(x, .device = device), 2);
    tn_print(tn_cpu(y));
    printf("nothing to move: %s\n", tn_cpu(x) == x ? "the same tensor" : "a copy");

    /* On 'meta' a tensor has a shape and a dtype and no memory: what would a computation need? */
    tn_tensor *huge = tn_ones(TN_SHAPE(200000, 300000), .device = TN_META);
    tn_tensor *product = tn_mm(huge, tn_t(huge));
    printf("%lld x %lld on %s\n", (long long)tn_tensor_size(product, 0), (long long)tn_tensor_size(product, 1),
           tn_device_text(tn_tensor_device(product)).s);
    if (!tn_data(product))
        report("its elements:");

    /* Operands must be on one device. */
    if (!tn_add(x, tn_ones(TN_SHAPE(3), .device = TN_META)))
        report("cpu + meta:");

    /* A GPU that is not there is an error; asking whether it is there never is one. */
    if (tn_cuda_device_count() < 2 && !tn_ones(TN_SHAPE(3), .device = TN_CUDA(1)))
        report("ones on cuda:1:");

    /* A name that is none. The device that comes back spoils what it is passed to: one check at the end is enough. */
    tn_device typo = tn_device_parse("gpu0");
    if (!tn_sum(tn_add(tn_ones(TN_SHAPE(3), .device = typo), 1)))
        report("a sum on 'gpu0':");

    /* A call that was handed a failed result returns NULL and leaves the first error to be read. */
    tn_tensor *bad = tn_mm(x, x);
    if (!tn_exp(tn_add(tn_relu(bad), 1)))
        report("exp(relu(mm(x, x)) + 1):");

    printf("no error is left: %s\n", tn_error_code() == TN_OK ? "yes" : "no");
    tn_scope_close(scope);
    return 0;
}
