/* tenon: the command. */
#include "cli.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name, *about;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"train", "train a digit classifier on MNIST", cmd_train},
    {"eval", "score a saved model on the test images", cmd_eval},
    {"predict", "name the digit in a PNG or npy image", cmd_predict},
    {"devices", "list the devices tensors can live on", cmd_devices},
    {"doctor", "say what was found on this machine and what is missing", cmd_doctor},
};

static void usage(FILE *to)
{
    fprintf(to, "usage: tenon COMMAND [OPTIONS]\n\n");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].about);
    fprintf(to, "\n'tenon COMMAND --help' says more; 'tenon --version' says which this is.\n");
}

static int unknown(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (cli_resembles(name, commands[i].name)) {
            fprintf(stderr, "tenon: there is no command '%s'; did you mean '%s'? (try 'tenon --help')\n", name,
                    commands[i].name);
            return CLI_USAGE;
        }
    fprintf(stderr, "tenon: there is no command '%s' (try 'tenon --help')\n", name);
    return CLI_USAGE;
}

static int run(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(name, commands[i].name)) {
            if (commands[i].run != cmd_doctor) /* which says it in its list */
                cli_warn_of_settings();
            return commands[i].run(argc - 2, argv + 2);
        }
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
        usage(stdout);
        return CLI_OK;
    }
    if (!strcmp(name, "--version")) {
        printf("tenon %s\n", tn_version());
        return CLI_OK;
    }
    if (*name)
        return unknown(name);
    usage(stderr);
    return CLI_USAGE;
}

/* A file that we open must not become the standard output or error that we were started without. What stands in for
 * those cannot be written to, so that this still shows. */
static void occupy_standard_files(void)
{
    for (int fd = 0; fd >= 0 && fd <= STDERR_FILENO;)
        fd = fcntl(fd, F_GETFD) >= 0 || open("/dev/null", O_RDONLY) == fd ? fd + 1 : -1;
}

int main(int argc, char **argv)
{
    occupy_standard_files();
    int status = run(argc, argv);
    errno = 0;
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == CLI_OK) /* a full disk behind '>' */
        status = cli_error(CLI_FAILED, "standard output: %s; what was printed is not complete",
                           errno ? strerror(errno) : "it could not be written to");
    return status;
}
