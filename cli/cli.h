/* cli/cli.h: what the subcommands of 'tenon' share. They use the public headers alone.
 *
 * Exit status: 0, 1 (failed), 2 (usage). Errors are one line on stderr that says what to do. */
#ifndef TENON_CLI_H
#define TENON_CLI_H

#include <tenon/tenon.h>

enum { CLI_OK, CLI_FAILED, CLI_USAGE };

int cmd_train(int argc, char **argv);
int cmd_eval(int argc, char **argv);
int cmd_predict(int argc, char **argv);
int cmd_devices(int argc, char **argv);
int cmd_fake(int argc, char **argv);
int cmd_doctor(int argc, char **argv);

typedef struct cli_entry {
    const char *name, *about;
    int (*run)(int argc, char **argv);
} cli_entry;
extern const cli_entry cli_commands[]; /* ends with a name that is NULL */

/* ---- options ---- */

typedef enum option_kind { OPT_TEXT, OPT_INT, OPT_REAL, OPT_FLAG } option_kind;

typedef struct option {
    const char *name; /* without "--", or without "-" if it is one letter */
    option_kind kind;
    void *to; /* const char **, int64_t *, double *, bool * */
    double least, most;
    const char
        *value; /* DIR, FILE, DEVICE; another word in capitals; or what may be said, "mlp|linear"; "" for a flag */
    const char *help;
} option;

typedef struct command {
    const char *name;      /* "train" */
    const char *arguments; /* "[--data DIR] ..." after the name, in the usage line */
    const char *about;
    const option *options;
    int n_options;
    int min_arguments, max_arguments; /* beside options */
} command;

/* Reads options into their targets and collects other arguments. Returns -1 to go on, else the exit status (help was
 * printed, or an error). */
int cli_parse(const command *c, int argc, char **argv, const char **arguments, int *n_arguments);
/* If set, cli_parse hands it the command and does nothing else: tools/gen_cli makes manual pages and completions so. */
extern void (*cli_describe)(const command *c);

/* "tenon train: TEXT" on stderr, one line whatever the text holds. Returns status. */
int cli_error(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same with the library's message before the advice (which may be ""); its explanations only where a device or memory
 * is missing. Returns CLI_FAILED. */
int cli_library_error(const char *advice);
/* The library's message as one line, with or without its explanations. */
void cli_message(char *line, size_t size, bool explained);
/* Is 'word' likely to be a slip for 'name'? */
bool cli_resembles(const char *word, const char *name);
/* The settings in the environment, to be freed. */
tn_setting *cli_settings(size_t *n);
/* The bytes of the UTF-8 character that begins there; 0 if there is none. */
int cli_utf8(const unsigned char *s);
/* '?' for each control character, those of 8 bits as well: nothing in the text ends a line or steers a terminal. */
void cli_plain(char *text);
/* A line on stderr for each setting in the environment that is wrong. */
void cli_warn_of_settings(void);
/* Set by cli_parse, for messages; "" before. */
extern const char *cli_command;

/* ---- the digit classifier ---- */

/* A network by name ("mlp": 784-500-10, "linear": 784-10), NULL with a message printed. Belongs to the open scope. */
tn_module *digits_model(const char *name);
/* The network in a file written by train; its name goes to name[32], and the open file to *file, if those are not NULL.
 * NULL with a message printed. */
tn_module *digits_load(const char *path, char *name, tn_safetensors **file);

typedef struct digits {
    tn_tensor *images, *labels; /* uint8 [n, 28, 28], int64 [n] */
} digits;
/* The training or test set in a folder, gzip-compressed or plain. 0, or the exit status with a message printed. */
int digits_read(const char *folder, bool train, digits *out);

/* uint8 or float pixels [n, 28, 28] on any device to the network's input [n, 784] in 0 .. 1. */
tn_tensor *digits_input(tn_tensor *images);

/* How many of the images the network names rightly; -1 with the library's error set. */
int64_t digits_correct(tn_module *net, const digits *d);

/* ---- where a model is saved ---- */

/* A save that cannot work is noticed before the work: 0, or the exit status with a message printed. */
int place_check(const char *path);

/* A model that is about to be replaced, by the accuracy in its file (in percent; -1: nothing is kept). */
typedef struct kept_model {
    double accuracy;
    bool moved; /* the file system has no links: it stands under its new name already */
    char path[4096], other[4128],
        aside[4192]; /* what is replaced; where it is kept; where it waits until that is done */
} kept_model;
/* If the file says that it holds a better model than one of this accuracy (-1: not known, so that any is better), it is put
 * aside before it is replaced; 'resumed' is the file whose training goes on, or NULL: that one is not kept. 0, or the exit
 * status with a message printed: it could not be kept, and must not be replaced. */
int place_keep_better(const char *path, const char *resumed, double accuracy, kept_model *kept);
/* After the save: the one put aside is now FILE.previous, which a line says (unless a better one has that name); or it goes
 * back, if nothing was saved. */
void place_kept(kept_model *kept, bool saved);

/* ---- where the work is done ---- */

enum { MAX_CHOSEN = 64 };

/* One device, or several GPUs of which the first is the main one: the network is there. */
typedef struct devices {
    tn_device d[MAX_CHOSEN];
    size_t n;
    char text[MAX_CHOSEN * 10]; /* "cuda:0, cuda:1" */
} devices;
/* "cpu", "cuda:1", "auto" (a GPU if there is one), "cuda:0,cuda:1", "all" (every GPU; the CPU, with a line that says so,
 * where there is none). 0, or the exit status with a message printed. */
int devices_read(const char *text, devices *out);
/* The network on the main device, and what runs it on all of them: a DataParallel over it, or itself. NULL with the
 * library's error set. */
tn_module *devices_parallelize(const devices *on, tn_module *net);
/* What --device can be, for the help. */
extern const char devices_help[];
/* The same for completion, as an option's value is written: "cpu|cuda". */
extern const char devices_values[];

/* ---- progress ---- */

double cli_now(void);
bool cli_terminal(void);
/* "1:05" */
void cli_minutes(double seconds, char *out, size_t n);

#endif
