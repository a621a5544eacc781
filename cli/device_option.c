/* --device: one device, or several GPUs that share the work. */
#include "cli.h"
#include <stdio.h>
#include <string.h>

const char devices_help[] = "cpu, cuda, cuda:1, auto, all, or several: cuda:0,cuda:1 (cpu)";
const char devices_values[] = "cpu|cuda|cuda:0|cuda:1|auto|all";

static const char choices[] = "there are cpu, cuda, cuda:1 ..., auto, all, and lists of GPUs such as cuda:0,cuda:1";

/* Can it be used? Asking makes its context, which the work needs anyway. */
static int try_device(tn_device device)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *probe = tn_empty(TN_SHAPE(1), .device = device);
    tn_scope_close(s);
    return probe ? 0 : cli_library_error("'tenon devices' lists what is there");
}

/* One name of 'text', which is all of what was said. "cuda" becomes the GPU that it means. */
static int read_name(const char *text, const char *name, bool alone, tn_device *out)
{
    if (!*name)
        return cli_error(CLI_USAGE, "--device: '%s' has an empty name between its commas; %s", text, choices);
    if (!alone && (!strcmp(name, "all") || !strcmp(name, "auto")))
        return cli_error(CLI_USAGE, "--device: '%s': %s stands alone, not in a list", text, name);
    *out = tn_device_parse(name);
    if (out->type == TN_DEVICE_INVALID || out->type == TN_DEVICE_META)
        return cli_error(CLI_USAGE, "--device: '%s' is not a device to compute on; %s", name, choices);
    if (!alone && out->type != TN_DEVICE_CUDA)
        return cli_error(CLI_USAGE,
                         "--device: '%s': only GPUs can share the work, and '%s' is none; name it alone, or "
                         "leave it out",
                         text, name);
    if (!alone && out->index < 0)
        out->index = tn_cuda_current_device();
    return 0;
}

static int add_device(const char *text, const char *name, bool alone, devices *out)
{
    tn_device device;
    int status = read_name(text, name, alone, &device);
    if (status)
        return status;
    for (size_t i = 0; i < out->n; i++)
        if (tn_device_equal(out->d[i], device))
            return cli_error(CLI_USAGE, "--device: '%s' names %s twice; each GPU takes one share of a batch", text,
                             tn_device_text(device).s);
    if (out->n == MAX_CHOSEN)
        return cli_error(CLI_USAGE, "--device: '%s' names more than %d GPUs", text, MAX_CHOSEN);
    out->d[out->n++] = device;
    return 0;
}

static int read_list(const char *text, devices *out)
{
    char name[64];
    int status = 0;
    bool alone = strchr(text, ',') == NULL;
    for (const char *p = text; p && !status; p = strchr(p, ','), p = p ? p + 1 : NULL) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(p, ","), p);
        status = add_device(text, name, alone, out);
    }
    return status;
}

static void read_all(devices *out)
{
    out->n = tn_try_all_gpus(out->d, MAX_CHOSEN);
    out->n = out->n < MAX_CHOSEN ? out->n : MAX_CHOSEN;
    if (out->d[0].type == TN_DEVICE_CPU)
        printf("--device all: there is no GPU, so on the CPU (TENON_FAKE_GPUS=2 simulates two: correct results, no "
               "speed)\n");
}

int devices_read(const char *text, devices *out)
{
    int status = 0;
    out->n = 0;
    if (!strcmp(text, "all"))
        read_all(out);
    else if (!strcmp(text, "auto"))
        out->d[out->n++] = tn_try_gpu(0);
    else
        status = read_list(text, out);
    for (size_t i = 0; i < out->n && !status; i++)
        status = try_device(out->d[i]);
    if (status)
        return status;
    if (out->n == 1 && out->d[0].type == TN_DEVICE_CUDA && out->d[0].index < 0)
        out->d[0].index = tn_cuda_current_device();
    size_t at = 0;
    for (size_t i = 0; i < out->n; i++)
        at +=
            (size_t)snprintf(out->text + at, sizeof out->text - at, "%s%s", i ? ", " : "", tn_device_text(out->d[i]).s);
    return 0;
}

tn_module *devices_parallelize(const devices *on, tn_module *net)
{
    net = tn_module_to(net, on->d[0]);
    return net && on->n > 1 ? tn_nn_data_parallel(net, .device_ids = {on->d, on->n}) : net;
}
