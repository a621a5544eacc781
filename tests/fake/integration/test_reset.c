/* Does a context live again after a kernel died in an earlier one? Fake GPUs do both; a real driver is asked here, and what it
 * answers is printed. What tn_cuda_reset says must be true in either case. */
#include "fake/own_process_gpu.h"
#include <tenon/cuda.h>
#include <tenon/dlpack.h>

/* A kernel on memory that is not there. */
static void touch_nothing(void)
{
    int64_t shape[] = {64};
    tn_dl_managed m = {.tensor = {(void *)(uintptr_t)0x10000,
                                  {TN_DL_CUDA, tn_cuda_ordinal(TN_CUDA(0))},
                                  1,
                                  {TN_DL_FLOAT, 32, 1},
                                  shape,
                                  NULL,
                                  0}};
    tn_scope *scope = tn_scope_open();
    MADE(tn_add_(MADE(tn_from_dlpack_legacy(&m)), 1));
    FAILS_STATUS(tn_synchronize(TN_CUDA(0)), TN_EDEVICE, "an illegal memory access was encountered");
    tn_scope_close(scope);
    tn_error_clear();
    assert_true(tn_cuda_is_lost(TN_CUDA(0)));
}

static bool computes(void)
{
    tn_scope *scope = tn_scope_open();
    tn_tensor *x = tn_cpu(tn_add(tn_ones(TN_SHAPE(1000), .device = TN_CUDA(0)), 1));
    const bool yes = x && tn_item(tn_sum(x)) == 2000;
    tn_scope_close(scope);
    return yes;
}

static void after_an_illegal_address(void **state)
{
    (void)state;
    OK(tn_synchronize(TN_CUDA(0)));
    assert_true(computes());
    touch_nothing();
    const bool lives = tn_cuda_reset(TN_CUDA(0)) == TN_OK;
    if (!lives)
        FAILS_STATUS(tn_error_code(), TN_EDEVICE, "this process has to be started again");
    assert_int_equal(computes(), lives);
    tn_error_clear();
    printf("count: after an illegal address and tn_cuda_reset: %s\n",
           lives ? "a new context computes" : "no context computes any more in this process");
    if (getenv("LIVES"))
        assert_int_equal(lives, atoi(getenv("LIVES")));
}

int main(int argc, char **argv)
{
    static const alone tests[] = {
        {"what_the_driver_does", after_an_illegal_address, true, {"TENON_FAKE_GPUS=1x64MiB"}},
        {"it_lives_again", after_an_illegal_address, false, {"TENON_FAKE_GPUS=1x64MiB", "LIVES=1"}},
        {"it_does_not",
         after_an_illegal_address,
         false,
         {"TENON_FAKE_GPUS=1x64MiB", "TENON_FAKE_GPU_FAULTS=fatal", "LIVES=0"}},
    };
    return alone_main(tests, TN_COUNT(tests), argc, argv);
}
