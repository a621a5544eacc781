/* tenon eval: scores a saved model on the test images. */
#include "cli.h"
#include <stdio.h>

static int run(const char *path, const char *data, const devices *on)
{
    digits test;
    tn_module *net = digits_load(path, NULL, NULL);
    if (!net)
        return CLI_FAILED;
    int status = digits_read(data, false, &test);
    if (status)
        return status;
    net = devices_parallelize(on, net);
    if (!net)
        return cli_library_error("");
    double start = cli_now();
    int64_t right = digits_correct(net, &test), n = tn_tensor_size(test.images, 0);
    if (right < 0)
        return cli_library_error("");
    printf("%s: %.2f %% of %lld test images right (%lld wrong), %.2f s\n", path, 100.0 * (double)right / (double)n,
           (long long)n, (long long)(n - right), cli_now() - start);
    return CLI_OK;
}

int cmd_eval(int argc, char **argv)
{
    const char *data = "data/mnist", *device_text = "cpu", *path = NULL;
    const option options[] = {
        {"data", OPT_TEXT, &data, 0, 0, "DIR", "folder of the MNIST files (data/mnist)"},
        {"device", OPT_TEXT, &device_text, 0, 0, "DEVICE", devices_help},
    };
    const command c = {"eval",
                       "MODEL.safetensors [--data DIR] [--device DEVICE]",
                       "Scores a saved model on the 10,000 test images.",
                       options,
                       2,
                       1,
                       1};
    devices on;
    int status = cli_parse(&c, argc, argv, &path, NULL);
    if (status >= 0 || (status = devices_read(device_text, &on)) != 0)
        return status;
    tn_scope *s = tn_scope_open();
    status = run(path, data, &on);
    tn_scope_close(s);
    return status;
}
