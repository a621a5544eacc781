/* The digit classifier that train, eval and predict work on: data, networks, files. */
#include "cli.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { SIDE = 28, PIXELS = SIDE * SIDE, HIDDEN = 500, CLASSES = 10 };

/* ---- data ---- */

static bool is_there(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

/* folder/name.gz, or folder/name where only that is there. */
static void find_file(const char *folder, const char *name, char *out, size_t n)
{
    snprintf(out, n, "%s/%s.gz", folder, name);
    if (is_there(out))
        return;
    snprintf(out, n, "%s/%s", folder, name);
    if (!is_there(out))
        snprintf(out, n, "%s/%s.gz", folder, name);
}

static const char advice[] = "--data names the folder with the four MNIST files (data/mnist in Tenon's sources)";

int digits_read(const char *folder, bool train, digits *out)
{
    char path[1024];
    struct stat st;
    if (stat(folder, &st) != 0)
        return cli_error(CLI_FAILED, "%s: %s; %s", folder, strerror(errno), advice);
    find_file(folder, train ? "train-images-idx3-ubyte" : "t10k-images-idx3-ubyte", path, sizeof path);
    out->images = tn_load_idx(path);
    if (!out->images)
        return cli_library_error(advice);
    tn_dims s = tn_tensor_shape(out->images);
    if (s.ndim != 3 || s.dim[1] != SIDE || s.dim[2] != SIDE || tn_tensor_dtype(out->images) != TN_U8)
        return cli_error(CLI_FAILED, "%s does not hold 28 x 28 images of bytes; %s", path, advice);
    find_file(folder, train ? "train-labels-idx1-ubyte" : "t10k-labels-idx1-ubyte", path, sizeof path);
    tn_tensor *labels = tn_load_idx(path);
    if (!labels)
        return cli_library_error(advice);
    if (tn_tensor_ndim(labels) != 1 || tn_tensor_size(labels, 0) != s.dim[0])
        return cli_error(CLI_FAILED, "%s does not hold one label for each of the %lld images; %s", path,
                         (long long)s.dim[0], advice);
    out->labels = tn_to(labels, .dtype = TN_I64);
    if (!out->labels)
        return cli_library_error("");
    if (s.dim[0] && tn_item(tn_max(out->labels)) >= CLASSES)
        return cli_error(CLI_FAILED, "%s has a label that is no digit; %s", path, advice);
    return 0;
}

tn_tensor *digits_input(tn_tensor *images)
{
    tn_tensor *x = tn_reshape(images, TN_SHAPE(-1, PIXELS));
    return tn_tensor_dtype(images) == TN_U8 ? tn_mul_(tn_to(x, .dtype = TN_F32), 1.0 / 255) : tn_to(x, .dtype = TN_F32);
}

int64_t digits_correct(tn_module *net, const digits *d)
{
    int64_t n = tn_tensor_size(d->images, 0), right = 0;
    bool was = tn_set_grad_enabled(false);
    tn_module_eval(net);
    tn_device device = tn_tensor_device(tn_module_parameter(net, "0.weight"));
    for (int64_t i = 0; i < n && right >= 0; i += 1000) {
        tn_scope *s = tn_scope_open();
        tn_tensor *x = tn_to(tn_slice(d->images, 0, i, i + 1000, 1), .device = device);
        tn_tensor *y = tn_to(tn_slice(d->labels, 0, i, i + 1000, 1), .device = device);
        tn_tensor *guess = tn_argmax(tn_forward(net, digits_input(x)), .dim = TN_DIMS(1));
        tn_tensor *hits = tn_sum(tn_eq(guess, y));
        right = hits ? right + tn_item_int(hits) : -1;
        tn_scope_close(s);
    }
    tn_set_grad_enabled(was);
    return right;
}

/* ---- networks ---- */

tn_module *digits_model(const char *name)
{
    tn_module *net = NULL;
    if (!strcmp(name, "mlp"))
        net = tn_nn_sequential(tn_nn_linear(PIXELS, HIDDEN), tn_nn_relu(), tn_nn_linear(HIDDEN, CLASSES));
    else if (!strcmp(name, "linear"))
        net = tn_nn_sequential(tn_nn_linear(PIXELS, CLASSES));
    else
        cli_error(CLI_USAGE, "--model: there is no model '%s': mlp (784-500-10), linear (784-10)", name);
    if (!net && tn_error_code())
        cli_library_error("");
    return net;
}

/* The file's tensors that are the network's (the optimiser's begin with "optimizer."). */
static int load_weights(tn_module *net, const tn_safetensors *file, const char *path)
{
    tn_named state[32];
    size_t n = 0;
    for (size_t i = 0; i < tn_safetensors_count(file) && n < sizeof state / sizeof *state; i++) {
        const char *name = tn_safetensors_name(file, i);
        if (!strncmp(name, "optimizer.", 10))
            continue;
        state[n].name = name;
        state[n].tensor = tn_safetensors_tensor(file, name);
        if (!state[n++].tensor)
            return cli_library_error("");
    }
    if (tn_module_load_state(net, state, n)) {
        char line[1024]; /* the list of what differs, on one line */
        snprintf(line, sizeof line, "%s", tn_error_message());
        char *site = strstr(line, "\n  at ");
        if (site)
            *site = '\0';
        for (char *p = line; *p; p++)
            if (*p == '\n' || *p == '\t')
                *p = ' ';
        return cli_error(CLI_FAILED, "%s holds another network: %s; give a file that 'tenon train --save' wrote", path,
                         line);
    }
    return 0;
}

tn_module *digits_load(const char *path, char *name, tn_safetensors **file)
{
    tn_safetensors *f = tn_safetensors_open(path);
    tn_module *net = NULL;
    if (!f) {
        cli_library_error("give a file that 'tenon train --save' wrote");
        return NULL;
    }
    const char *model = tn_safetensors_metadata(f, "tenon.model");
    if (name)
        snprintf(name, 32, "%s", model ? model : "mlp");
    net = digits_model(model ? model : "mlp");
    if (net && load_weights(net, f, path))
        net = NULL;
    if (net && file)
        *file = f;
    else
        tn_safetensors_close(f);
    return net;
}

int digits_device(const char *text, tn_device *out)
{
    if (!strcmp(text, "auto")) {
        *out = tn_try_gpu(0);
        return 0;
    }
    *out = tn_device_parse(text);
    if (out->type == TN_DEVICE_INVALID || out->type == TN_DEVICE_META) {
        cli_error(CLI_USAGE, "--device: '%s' is not a device to train on: cpu, cuda, cuda:1, auto", text);
        return CLI_USAGE;
    }
    tn_scope *s = tn_scope_open();
    tn_tensor *probe = tn_empty(TN_SHAPE(1), .device = *out);
    tn_scope_close(s);
    return probe ? 0 : cli_library_error("'tenon devices' lists what is there");
}
