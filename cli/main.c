/* tenon: the command. */
#include "cli.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void usage(FILE *to)
{
    fprintf(to, "usage: tenon COMMAND [OPTIONS]\n\n");
    for (size_t i = 0; cli_commands[i].name; i++)
        fprintf(to, "  %-10s %s\n", cli_commands[i].name, cli_commands[i].about);
    fprintf(to, "\n'tenon COMMAND --help' says more; 'tenon --version' says which this is.\n");
}

static int unknown(const char *name)
{
    for (size_t i = 0; cli_commands[i].name; i++)
        if (cli_resembles(name, cli_commands[i].name)) {
            fprintf(stderr, "tenon: there is no command '%s'; did you mean '%s'? (try 'tenon --help')\n", name,
                    cli_commands[i].name);
            return CLI_USAGE;
        }
    fprintf(stderr, "tenon: there is no command '%s' (try 'tenon --help')\n", name);
    return CLI_USAGE;
}

static int run(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    for (size_t i = 0; cli_commands[i].name; i++)
        if (!strcmp(name, cli_commands[i].name)) {
            if (cli_commands[i].run != cmd_doctor) /* which says it in its list */
                cli_warn_of_settings();
            return cli_commands[i].run(argc - 2, argv + 2);
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
