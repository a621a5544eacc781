/* The digit classifier that train, eval and predict work on: data, networks, files. */
#include "cli.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { SIDE = 28, PIXELS = SIDE * SIDE, HIDDEN = 500, CLASSES = 10, MAX_STATE = 32 };

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
    char path[4352];
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
    if (s.dim[0] == 0)
        return cli_error(CLI_FAILED, "%s holds no image; %s", path, advice);
    find_file(folder, train ? "train-labels-idx1-ubyte" : "t10k-labels-idx1-ubyte", path, sizeof path);
    tn_tensor *labels = tn_load_idx(path);
    if (!labels)
        return cli_library_error(advice);
    if (tn_tensor_ndim(labels) != 1 || tn_tensor_size(labels, 0) != s.dim[0] || tn_tensor_dtype(labels) != TN_U8)
        return cli_error(CLI_FAILED, "%s does not hold one byte for each of the %lld images; %s", path,
                         (long long)s.dim[0], advice);
    out->labels = tn_to(labels, .dtype = TN_I64);
    if (!out->labels)
        return cli_library_error("");
    if (tn_item(tn_max(out->labels)) >= CLASSES)
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
    tn_tensor *first = NULL;
    tn_device device = tn_module_parameters(net, &first, 1) ? tn_tensor_device(first) : TN_CPU;
    for (int64_t i = 0; i < n && right >= 0; i += 1000) {
        tn_scope *s = tn_scope_open();
        tn_tensor *x = tn_to(tn_slice(d->images, 0, i, i + 1000, 1), .device = device);
        tn_tensor *y = tn_to(tn_slice(d->labels, 0, i, i + 1000, 1), .device = device);
        tn_tensor *guess = tn_argmax(tn_forward(net, digits_input(x)), .dim = 1);
        tn_tensor *hits = tn_sum(tn_eq(guess, y));
        right = hits ? right + tn_item_int(hits) : -1;
        tn_scope_close(s);
    }
    tn_set_grad_enabled(was);
    return right;
}

/* ---- networks ---- */

static const char file_advice[] = "give a file that 'tenon train --save' wrote";

static bool is_model(const char *name)
{
    return !strcmp(name, "mlp") || !strcmp(name, "linear");
}

tn_module *digits_model(const char *name)
{
    tn_module *net = NULL;
    if (!strcmp(name, "mlp"))
        net = tn_nn_sequential(tn_nn_linear(PIXELS, HIDDEN), tn_nn_relu(), tn_nn_linear(HIDDEN, CLASSES));
    else if (!strcmp(name, "linear"))
        net = tn_nn_sequential(tn_nn_linear(PIXELS, CLASSES));
    else
        cli_error(CLI_USAGE, "--model: there is no model '%s'; there are mlp (784-500-10) and linear (784-10)", name);
    if (!net && tn_error_code())
        cli_library_error("");
    return net;
}

static void shape_text(const tn_tensor *t, char *out, size_t n)
{
    tn_dims s = tn_tensor_shape(t);
    int at = snprintf(out, n, "[");
    for (int32_t i = 0; i < s.ndim; i++)
        at += snprintf(out + at, n - (size_t)at, "%s%lld", i ? ", " : "", (long long)s.dim[i]);
    snprintf(out + at, n - (size_t)at, "]");
}

/* Is each tensor of the network there, in its shape, and no other? 0, or the exit status with a message of one line. */
static int check_weights(tn_module *net, const tn_named *state, size_t n, const char *path, const char *model)
{
    tn_named own[MAX_STATE];
    size_t wanted = tn_module_state(net, own, MAX_STATE);
    char is[200], should[200];
    for (size_t i = 0; i < wanted; i++) {
        const tn_tensor *t = NULL;
        for (size_t j = 0; j < n && !t; j++)
            t = strcmp(state[j].name, own[i].name) == 0 ? state[j].tensor : NULL;
        if (!t)
            return cli_error(CLI_FAILED, "%s does not hold the network '%s': '%s' is missing; %s", path, model,
                             own[i].name, file_advice);
        shape_text(t, is, sizeof is);
        shape_text(own[i].tensor, should, sizeof should);
        if (strcmp(is, should) != 0)
            return cli_error(CLI_FAILED, "%s does not hold the network '%s': '%s' is %s, not %s; %s", path, model,
                             own[i].name, is, should, file_advice);
    }
    if (n != wanted)
        return cli_error(CLI_FAILED, "%s does not hold the network '%s': it has %zu tensors, not %zu; %s", path, model,
                         n, wanted, file_advice);
    return 0;
}

/* The file's tensors that are the network's (the optimiser's begin with "optimizer."). */
static int load_weights(tn_module *net, const tn_safetensors *file, const char *path, const char *model)
{
    tn_named state[MAX_STATE];
    size_t n = 0;
    for (size_t i = 0; i < tn_safetensors_count(file) && n < MAX_STATE; i++) {
        const char *name = tn_safetensors_name(file, i);
        if (!strncmp(name, "optimizer.", 10))
            continue;
        state[n].name = name;
        state[n].tensor = tn_safetensors_tensor(file, name);
        if (!state[n++].tensor)
            return cli_library_error(file_advice);
    }
    int status = check_weights(net, state, n, path, model);
    return status ? status : tn_module_load_state(net, state, n) ? cli_library_error("") : 0;
}

tn_module *digits_load(const char *path, char *name, tn_safetensors **file)
{
    tn_safetensors *f = tn_safetensors_open(path);
    tn_module *net = NULL;
    if (!f) {
        cli_library_error(file_advice);
        return NULL;
    }
    const char *model = tn_safetensors_metadata(f, "tenon.model");
    model = model ? model : "mlp";
    if (name)
        snprintf(name, 32, "%s", model);
    if (is_model(model))
        net = digits_model(model);
    else
        cli_error(CLI_FAILED, "%s holds a network '%.40s', which this tenon has not; %s", path, model, file_advice);
    if (net && load_weights(net, f, path, model))
        net = NULL;
    if (net && file)
        *file = f;
    else
        tn_safetensors_close(f);
    return net;
}
