/* A network's parameters in a safetensors file, which PyTorch, NumPy and others read too. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <tenon/tenon.h>

enum { MAX_STATE = 8 };

static tn_module *make_net(void)
{
    return tn_nn_sequential(tn_nn_linear(4, 3), tn_nn_tanh(), tn_nn_linear(3, 2));
}

/* The tensors of the state under their names. The old file is replaced when the new one is complete, not before. */
static tn_status save(tn_module *net, const char *path)
{
    tn_named state[MAX_STATE];
    const char *names[MAX_STATE];
    tn_tensor *tensors[MAX_STATE];
    size_t n = tn_module_state(net, state, MAX_STATE);
    for (size_t i = 0; i < n && i < MAX_STATE; i++) {
        names[i] = state[i].name;
        tensors[i] = state[i].tensor;
    }
    return tn_save_safetensors(path, names, ((tn_tensors){tensors, n}), .metadata = TN_PAIRS({"made by", "08"}));
}

static tn_status load(tn_module *net, const char *path)
{
    tn_named state[MAX_STATE];
    tn_safetensors *file = tn_safetensors_open(path); /* mapped, and checked from end to end */
    size_t n = tn_safetensors_count(file);            /* 0 for NULL                         */
    if (!file)
        return tn_error_code();
    printf("made by: %s\n", tn_safetensors_metadata(file, "made by"));
    for (size_t i = 0; i < n && i < MAX_STATE; i++) {
        tn_safetensors_entry entry;
        state[i].name = tn_safetensors_name(file, i);
        state[i].tensor = tn_safetensors_tensor(file, state[i].name); /* shows the file's bytes: no copy */
        if (!tn_safetensors_info(file, state[i].name, &entry))
            printf("  %-9s %s, %" PRIu64 " bytes\n", state[i].name, entry.dtype_name, entry.nbytes);
    }
    tn_status status = tn_module_load_state(net, state, n); /* all or nothing */
    tn_safetensors_close(file);
    return status;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "net.safetensors";
    tn_scope *scope = tn_scope_open();
    tn_manual_seed(3);
    tn_set_grad_enabled(false);
    tn_module *net = make_net(), *copy = make_net(), *other = tn_nn_sequential(tn_nn_linear(4, 5));
    tn_tensor *x = tn_ones(TN_SHAPE(1, 4));
    printf("alike before: %s\n", tn_equal(tn_forward(net, x), tn_forward(copy, x)) ? "yes" : "no");

    if (save(net, path) || load(copy, path)) {
        fprintf(stderr, "%s\n", tn_error_message());
        tn_scope_close(scope);
        return 1;
    }
    printf("alike after: %s\n", tn_equal(tn_forward(net, x), tn_forward(copy, x)) ? "yes" : "no");

    /* A network of another shape refuses the file, says why, and stays as it was. */
    if (load(other, path) != TN_OK) {
        const char *message = tn_error_message(), *site = strstr(message, "\n  at "); /* then file and line */
        printf("%.*s\n", (int)(site ? site - message : 0), message);
        tn_error_clear();
    }
    tn_scope_close(scope);
    return 0;
}
