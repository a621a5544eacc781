/* Which commands there are. */
#include "cli.h"

const cli_entry cli_commands[] = {
    {"train", "train a digit classifier on MNIST", cmd_train},
    {"eval", "score a saved model on the test images", cmd_eval},
    {"predict", "name the digit in a PNG or npy image", cmd_predict},
    {"devices", "list the devices tensors can live on", cmd_devices},
    {"fake", "run a program that knows nothing of Tenon on fake GPUs", cmd_fake},
    {"doctor", "say what was found on this machine and what is missing", cmd_doctor},
    {NULL, NULL, NULL},
};
