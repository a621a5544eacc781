/* tenon train: the loop a user would write, with progress, saving and resuming. */
#include "cli.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct settings {
    const char *data, *model, *device, *save, *resume, *log;
    int64_t epochs, batch, seed, threads; /* 0: not said */
    double lr, weight_decay;              /* -1: not said */
    bool constant, explain;
} settings;

static const char default_data[] = "data/mnist";
enum { MODEL_NAME = 32, MAX_EPOCHS = 1000000, MAX_BATCH = 60000, MAX_LR = 1000, MAX_DECAY = 10 };

typedef struct training {
    settings s;
    devices on;
    tn_module *net, *runner; /* what is trained and saved; what runs it, on several devices a DataParallel over it */
    tn_optimizer *opt;
    tn_loader *loader;
    digits train, test;
    bool saved; /* in this run */
    FILE *log;
    int64_t epoch, step, batches, total_steps; /* epochs done; steps done of all */
    double accuracy;                           /* on the test images, in percent; -1: not known */
    double begun;
    int64_t first_step, first_epoch; /* of this run: a resumed one begins later */
    /* of the epoch at work, on the device: summed without waiting for it */
    tn_tensor *loss_sum, *right_sum;
    int64_t seen, epoch_steps;
    double epoch_begun, shown; /* when it began; when the bar was drawn last: at first with the first step */
    /* --explain: what a step on several devices cost, of how many images */
    char *explained;
    int64_t explained_images;
} training;

static volatile sig_atomic_t interrupted;

static void interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

/* The first Ctrl-C (or SIGTERM, or SIGHUP: the terminal was closed) ends after the step at work, a second one kills. What
 * is ignored stays so, as in a script's background or under nohup. A reader of our output that goes away must not take the
 * model with it: that shows as a write error. */
static void catch_signals(void)
{
    struct sigaction act = {.sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND | SA_RESTART},
                     ignore = {.sa_handler = SIG_IGN}, was;
    const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (sigaction(ends[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN)
            sigaction(ends[i], &act, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
}

/* ---- saving and resuming ---- */

enum { MAX_STATE = 64 };

/* The network's tensors under their names, the optimiser's under "optimizer.NAME". Returns how many, 0 on error. */
static size_t collect(training *t, const char **names, tn_tensor **tensors, char (*text)[64])
{
    tn_named state[MAX_STATE], moments[MAX_STATE];
    size_t n = tn_module_state(t->net, state, MAX_STATE), m = tn_optimizer_state(t->opt, moments, MAX_STATE);
    if (n == 0 || n + m > MAX_STATE)
        return 0;
    for (size_t i = 0; i < n; i++) {
        names[i] = state[i].name;
        tensors[i] = state[i].tensor;
    }
    for (size_t i = 0; i < m; i++) {
        snprintf(text[i], sizeof text[i], "optimizer.%s", moments[i].name);
        names[n + i] = text[i];
        tensors[n + i] = moments[i].tensor;
    }
    return n + m;
}

static int save(training *t)
{
    const char *names[MAX_STATE];
    tn_tensor *tensors[MAX_STATE];
    char text[MAX_STATE][64], number[7][96];
    if (!t->s.save)
        return 0;
    tn_loader_state at = tn_loader_get_state(t->loader);
    tn_rng_state rng = tn_get_rng_state(TN_CPU);
    snprintf(number[0], sizeof number[0], "%" PRId64, t->epoch);
    snprintf(number[1], sizeof number[1], "%" PRId64, at.epoch);
    snprintf(number[2], sizeof number[2], "%" PRId64, at.batch);
    snprintf(number[3], sizeof number[3], "%" PRIu64, at.seed);
    snprintf(number[4], sizeof number[4], "%" PRId64 " %" PRId64 " %.17g %.17g %d", t->s.epochs, t->s.batch, t->s.lr,
             t->s.weight_decay, t->s.constant);
    snprintf(number[5], sizeof number[5], "%" PRIu64 " %" PRIu64, rng.seed, rng.offset);
    snprintf(number[6], sizeof number[6], "%.2f", t->accuracy);
    size_t n = collect(t, names, tensors, text);
    kept_model kept = {.accuracy = -1};
    if (!n)
        return cli_library_error("");
    int status = t->saved ? 0 : place_keep_better(t->s.save, t->s.resume, t->accuracy, &kept);
    if (status)
        return status;
    tn_status e = tn_save_safetensors(
        t->s.save, names, ((tn_tensors){tensors, n}),
        .metadata = TN_PAIRS({"format", "pt"}, {"tenon.model", t->s.model}, {"tenon.epochs", number[0]},
                             {"tenon.loader_epoch", number[1]}, {"tenon.loader_batch", number[2]},
                             {"tenon.loader_seed", number[3]}, {"tenon.recipe", number[4]}, {"tenon.rng", number[5]},
                             {"tenon.test_accuracy", number[6]}));
    place_kept(&kept, !e);
    t->saved = true;
    return e ? cli_library_error("--save names where the model goes: give a place that has room") : 0;
}

static uint64_t number_in(const tn_safetensors *f, const char *key)
{
    const char *text = tn_safetensors_metadata(f, key);
    return text ? strtoull(text, NULL, 10) : 0;
}

/* What was not said on the command line is as in the run that is resumed, else the default. Returns the batch size of
 * that run. */
static int64_t complete(settings *s, const tn_safetensors *f)
{
    int64_t epochs, batch;
    double lr, weight_decay;
    int constant;
    const char *recipe = f ? tn_safetensors_metadata(f, "tenon.recipe") : NULL;
    if (!recipe ||
        sscanf(recipe, "%" SCNd64 " %" SCNd64 " %lg %lg %d", &epochs, &batch, &lr, &weight_decay, &constant) != 5 ||
        epochs < 1 || epochs > MAX_EPOCHS || batch < 1 || batch > MAX_BATCH || !(lr >= 0 && lr <= MAX_LR) ||
        !(weight_decay >= 0 && weight_decay <= MAX_DECAY)) {
        epochs = 15;
        batch = 128;
        lr = 3e-3;
        weight_decay = 0.01;
        constant = 0;
    }
    s->epochs = s->epochs ? s->epochs : epochs;
    s->batch = s->batch ? s->batch : batch;
    s->lr = s->lr >= 0 ? s->lr : lr;
    s->weight_decay = s->weight_decay >= 0 ? s->weight_decay : weight_decay;
    s->constant |= constant;
    return batch;
}

/* The optimiser's state and the place in the data, so that the run goes on as if it had not stopped. */
static int restore(training *t, const tn_safetensors *f, int64_t batch)
{
    tn_named state[MAX_STATE];
    size_t n = 0;
    for (size_t i = 0; i < tn_safetensors_count(f) && n < MAX_STATE; i++) {
        const char *name = tn_safetensors_name(f, i);
        if (strncmp(name, "optimizer.", 10) != 0)
            continue;
        state[n].name = name + 10;
        state[n].tensor = tn_safetensors_tensor(f, name);
        if (!state[n++].tensor)
            return cli_library_error("");
    }
    if (n && tn_optimizer_load_state(t->opt, state, n))
        return cli_library_error("--resume takes a file that 'tenon train --save' wrote");
    t->epoch = (int64_t)number_in(f, "tenon.epochs");
    if (t->epoch < 0 || t->epoch > MAX_EPOCHS)
        return cli_error(CLI_FAILED,
                         "%s says that it was trained for %" PRId64 " epochs; give a file that 'tenon train "
                         "--save' wrote",
                         t->s.resume, t->epoch);
    tn_loader_state at = {number_in(f, "tenon.loader_seed"), (int64_t)number_in(f, "tenon.loader_epoch"),
                          (int64_t)number_in(f, "tenon.loader_batch")};
    if (batch != t->s.batch)
        at.batch = 0;                                     /* another batch size: from the epoch's beginning */
    if (!tn_safetensors_metadata(f, "tenon.loader_seed")) /* weights from elsewhere: the order is this run's */
        at.seed = tn_loader_get_state(t->loader).seed;
    if (tn_loader_set_state(t->loader, at))
        return cli_library_error("--resume takes a file that 'tenon train --save' wrote");
    const char *rng = tn_safetensors_metadata(f, "tenon.rng");
    tn_rng_state r;
    if (rng && sscanf(rng, "%" SCNu64 " %" SCNu64, &r.seed, &r.offset) == 2 && tn_set_rng_state(TN_CPU, r))
        return cli_library_error("");
    t->step = t->epoch * t->batches + at.batch;
    if (t->epoch >= t->s.epochs)
        return cli_error(CLI_FAILED, "%s was trained for %" PRId64 " epoch%s already; give more than that to --epochs",
                         t->s.resume, t->epoch, t->epoch == 1 ? "" : "s");
    return 0;
}

/* ---- progress ---- */

typedef struct figures {
    double loss, accuracy, rate, left;
} figures;

/* Asks the device for the sums. */
static figures look(training *t)
{
    figures f = {NAN, NAN, 0, 0};
    if (t->epoch_steps) {
        f.loss = tn_item(t->loss_sum) / (double)t->epoch_steps;
        f.accuracy = 100 * tn_item(t->right_sum) / (double)t->seen;
    }
    double now = cli_now(), seconds = now - t->epoch_begun; /* after a GPU has done what it was given */
    f.rate = seconds > 0 ? (double)t->seen / seconds : 0;
    double done = (double)(t->step - t->first_step);
    f.left = done > 0 ? (now - t->begun) / done * (double)(t->total_steps - t->step) : 0;
    return f;
}

/* One line, never longer than the terminal is wide: the bar shrinks, then the end is cut. */
static void show_bar(training *t)
{
    enum { WIDEST = 24 };
    struct winsize window = {0};
    figures f = look(t);
    char left[32], head[64], tail[160], bar[WIDEST + 1];
    cli_minutes(f.left, left, sizeof left);
    int columns = ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 ? window.ws_col : 80;
    int used = snprintf(head, sizeof head, "epoch %" PRId64 "/%" PRId64 " ", t->epoch + 1, t->s.epochs);
    used += snprintf(tail, sizeof tail, " %.0f images/s  loss %.4f  accuracy %.2f %%  %s left", f.rate, f.loss,
                     f.accuracy, left);
    int room = columns - 1 - used - 2, width = room < WIDEST ? room : WIDEST;
    int full = (int)(width * t->epoch_steps / t->batches);
    for (int i = 0; i < width; i++)
        bar[i] = i < full ? '=' : i == full ? '>' : ' ';
    if (width >= 4)
        printf("\r%s[%.*s]%s\033[K", head, width, bar, tail);
    else
        printf("\r%s%.*s\033[K", head, columns > (int)strlen(head) ? columns - 1 - (int)strlen(head) : 0, tail + 1);
    fflush(stdout);
}

static void show_epoch(training *t, const figures *f)
{
    char left[32];
    cli_minutes(f->left, left, sizeof left);
    printf("%sepoch %" PRId64 "/%" PRId64
           ": loss %.4f, accuracy %.2f %% in training, %.2f %% on test images, %.0f images/s, %s "
           "left%s\n",
           cli_terminal() ? "\r" : "", t->epoch, t->s.epochs, f->loss, f->accuracy, t->accuracy, f->rate, left,
           cli_terminal() ? "\033[K" : "");
    fflush(stdout);
}

/* ---- what a step cost ---- */

/* Is this step's account better than the one we have? The first step compiles and allocates; an epoch's last may be a
 * short batch; what comes after an epoch is no training step. */
static bool worth_explaining(const training *t, int64_t images)
{
    bool early = t->step - t->first_step <= 3,
         late = t->step % t->batches == 0 || t->step % t->batches > t->batches - 3;
    return t->s.explain && images >= t->explained_images && (early || late);
}

static int note_step(training *t, int64_t images)
{
    if (!worth_explaining(t, images) || t->on.n < 2)
        return 0;
    int64_t n = tn_data_parallel_explain(t->runner, NULL, 0);
    char *text = n >= 0 ? malloc((size_t)n + 1) : NULL;
    if (!text)
        return n < 0 ? cli_library_error("") : cli_error(CLI_FAILED, "out of memory");
    tn_data_parallel_explain(t->runner, text, (size_t)n + 1);
    free(t->explained);
    t->explained = text;
    t->explained_images = images;
    return 0;
}

static void explain(const training *t)
{
    if (!t->s.explain)
        return;
    if (t->on.n < 2)
        printf("--explain: all of it was done on %s; it tells of several devices, as in --device cuda:0,cuda:1\n",
               t->on.text);
    else if (t->explained)
        printf("\n%s%s", t->explained, strchr(t->explained, '\0')[-1] == '\n' ? "" : "\n");
}

/* ---- the loop ---- */

static int one_step(training *t, tn_tensor *images, tn_tensor *labels)
{
    double lr = t->s.constant ? t->s.lr : tn_lr_cosine(t->s.lr, t->step, t->total_steps, 0);
    tn_tensor *scores = tn_forward(t->runner, digits_input(images)), *loss = tn_cross_entropy(scores, labels);
    tn_optimizer_zero_grad(t->opt);
    if (!loss || tn_backward(loss) || tn_optimizer_set_lr(t->opt, lr) || tn_optimizer_step(t->opt))
        return cli_library_error("");
    bool was = tn_set_grad_enabled(false);
    tn_tensor *right = tn_sum(tn_eq(tn_argmax(scores, .dim = 1), labels));
    bool added = tn_add_(t->loss_sum, tn_detach(loss)) && tn_add_(t->right_sum, right);
    tn_set_grad_enabled(was);
    if (!added)
        return cli_library_error("");
    t->step++;
    t->epoch_steps++;
    t->seen += tn_tensor_size(labels, 0);
    if (t->log)
        fprintf(t->log, "%" PRId64 ",%" PRId64 ",%.9g,%.9g,,\n", t->step, t->epoch + 1, tn_item(loss), lr);
    return note_step(t, tn_tensor_size(labels, 0));
}

/* The epoch's last batch is done; the loader has yet to say so. */
static bool is_whole(const training *t)
{
    return t->step == (t->epoch + 1) * t->batches;
}

/* What is left of an epoch: one that was interrupted begins in the middle. *ended: no batch is left in it. */
static int one_epoch(training *t, bool *ended)
{
    t->seen = t->epoch_steps = 0;
    t->epoch_begun = cli_now();
    tn_module_train(t->runner);
    if (!tn_zero_(t->loss_sum) || !tn_zero_(t->right_sum))
        return cli_library_error("");
    while (!interrupted || is_whole(t)) {
        tn_scope *s = tn_scope_open();
        tn_tensor *batch[2];
        int32_t got = tn_loader_next(t->loader, batch, 2);
        int status = got > 0 ? one_step(t, batch[0], batch[1]) : got < 0 ? cli_library_error("") : 0;
        tn_scope_close(s);
        if (status)
            return status;
        *ended = got == 0;
        if (*ended)
            return 0;
        if (cli_terminal() && cli_now() - t->shown > 0.1) {
            show_bar(t);
            t->shown = cli_now();
        }
    }
    return 0;
}

static int finish_epoch(training *t)
{
    figures f = look(t);
    int64_t right = digits_correct(t->runner, &t->test);
    if (right < 0)
        return cli_library_error("");
    t->epoch++;
    t->accuracy = 100.0 * (double)right / (double)tn_tensor_size(t->test.labels, 0);
    int full = 0; /* what keeps us from the log keeps nobody from the model */
    if (t->log) {
        fprintf(t->log, "%" PRId64 ",%" PRId64 ",%.9g,,%.4f,%.3f\n", t->step, t->epoch, f.loss, t->accuracy,
                cli_now() - t->begun);
        full = fflush(t->log) != 0 || ferror(t->log) ? (errno ? errno : EIO) : 0;
    }
    show_epoch(t, &f);
    int broken = ferror(stdout) ? errno : 0, status = save(t);
    if (!status && full)
        status = cli_error(CLI_FAILED, "--log %s: %s; name a file on a disk that has room", t->s.log, strerror(full));
    else if (!status && broken)
        status = cli_error(CLI_FAILED, "standard output: %s; ended after epoch %" PRId64 "%s%s", strerror(broken),
                           t->epoch, t->s.save ? ", saved to " : "", t->s.save ? t->s.save : "");
    return status;
}

/* A word for the shell: in quotes where it has to be. */
static void print_word(const char *name, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
    const char *quote = word[strspn(word, plain)] ? "'" : "";
    printf(" %s %s", name, quote);
    for (; *word; word++) {
        if (*word == '\'')
            fputs("'\\'", stdout);
        putchar(*word);
    }
    fputs(quote, stdout);
}

/* The command that goes on with this run. */
static void print_resume(const settings *s)
{
    printf("tenon train");
    print_word("--resume", s->save);
    print_word("--save", s->save);
    if (strcmp(s->data, default_data) != 0)
        print_word("--data", s->data);
    if (strcmp(s->device, "cpu") != 0)
        print_word("--device", s->device);
    if (s->explain)
        printf(" --explain");
    if (s->threads)
        printf(" --threads %" PRId64, s->threads);
    if (s->log)
        print_word("--log", s->log);
    printf("\n");
}

/* After a whole run, or one that was interrupted: what was done, and how to go on. */
static int report(training *t, double seconds)
{
    int64_t here = t->epoch - t->first_epoch;
    if (t->epoch == t->s.epochs) {
        printf("trained %" PRId64 " epoch%s in %.1f s: %.2f %% of the test images right%s%s\n", here,
               here == 1 ? "" : "s", seconds, t->accuracy, t->s.save ? "; saved to " : "", t->s.save ? t->s.save : "");
        explain(t);
        return 0;
    }
    int status = save(t);
    if (status)
        return status;
    printf("%sinterrupted in epoch %" PRId64 " after %.1f s; %s\n", cli_terminal() ? "\n" : "", t->epoch + 1, seconds,
           t->s.save ? "saved; go on with:" : "nothing was saved: --save FILE does that");
    if (t->s.save)
        print_resume(&t->s);
    explain(t);
    return 0;
}

static int loop(training *t)
{
    int status = 0;
    catch_signals();
    t->begun = cli_now();
    t->first_step = t->step;
    t->first_epoch = t->epoch;
    while (!status && t->epoch < t->s.epochs && !interrupted) {
        bool ended = false;
        status = one_epoch(t, &ended);
        if (!status && ended)
            status = finish_epoch(t);
    }
    return status ? status : report(t, cli_now() - t->begun);
}

/* ---- setting up ---- */

static int open_log(training *t)
{
    if (!t->s.log)
        return 0;
    t->log = fopen(t->s.log, t->s.resume ? "a" : "w");
    if (!t->log)
        return cli_error(CLI_FAILED, "--log %s: %s; name a file that can be written", t->s.log, strerror(errno));
    if (fseek(t->log, 0, SEEK_END) != 0 || ftell(t->log) <= 0)
        fprintf(t->log, "step,epoch,loss,lr,test_accuracy,seconds\n");
    return 0;
}

/* The network, new or from a file (which stays open for the optimiser's state). */
static int make_net(training *t, tn_safetensors **file, char *model)
{
    tn_manual_seed((uint64_t)t->s.seed);
    if (!t->s.resume)
        snprintf(model, MODEL_NAME, "%s", t->s.model ? t->s.model : "mlp");
    t->net = t->s.resume ? digits_load(t->s.resume, model, file) : digits_model(model);
    if (!t->net)
        return t->s.resume || tn_error_code() ? CLI_FAILED : CLI_USAGE;
    if (t->s.model && strcmp(t->s.model, model) != 0)
        return cli_error(CLI_FAILED, "%s holds the network '%s', not '%s'; leave --model out", t->s.resume, model,
                         t->s.model);
    t->s.model = model;
    t->runner = devices_parallelize(&t->on, t->net);
    return t->runner ? 0 : cli_library_error("");
}

static int prepare(training *t, tn_safetensors **file, char *model)
{
    int status = devices_read(t->s.device, &t->on);
    if (status || (t->s.save && (status = place_check(t->s.save))) || (status = make_net(t, file, model)) ||
        (status = digits_read(t->s.data, true, &t->train)) || (status = digits_read(t->s.data, false, &t->test)) ||
        (status = open_log(t)))
        return status;
    int64_t batch = complete(&t->s, *file);
    t->accuracy = -1;
    t->opt = tn_adamw(t->net, t->s.lr, .weight_decay = t->s.weight_decay, .no_weight_decay = t->s.weight_decay == 0);
    t->loader = tn_loader_new(TN_TENSORS(t->train.images, t->train.labels), .batch_size = t->s.batch, .shuffle = true,
                              .seed = (uint64_t)t->s.seed, .prefetch = 2, .device = t->on.d[0]);
    t->loss_sum = tn_zeros(TN_SHAPE(), .device = t->on.d[0]);
    t->right_sum = tn_zeros(TN_SHAPE(), .dtype = TN_I64, .device = t->on.d[0]);
    if (!t->opt || !t->loader || !t->loss_sum || !t->right_sum)
        return cli_library_error("");
    t->batches = tn_loader_batches(t->loader);
    t->total_steps = t->batches * t->s.epochs;
    if (*file && (status = restore(t, *file, batch)))
        return status;
    printf("%s (%" PRId64 " parameters) on %s: %" PRId64 " training images, %" PRId64 " test images, batch %" PRId64
           ", AdamW lr %g, seed %" PRIu64 "\n",
           t->s.model, tn_module_numel(t->net), t->on.text, tn_tensor_size(t->train.labels, 0),
           tn_tensor_size(t->test.labels, 0), t->s.batch, t->s.lr, tn_loader_get_state(t->loader).seed);
    if (t->s.resume)
        printf("resumed from %s after %" PRId64 " epoch%s, %" PRId64 " steps\n", t->s.resume, t->epoch,
               t->epoch == 1 ? "" : "s", t->step);
    fflush(stdout);
    return 0;
}

static int run(const settings *s)
{
    training t = {.s = *s};
    tn_safetensors *file = NULL;
    char model[MODEL_NAME];
    tn_scope *scope = tn_scope_open();
    int status = prepare(&t, &file, model);
    if (!status)
        status = loop(&t);
    if (t.log && fclose(t.log) != 0 && !status)
        status = cli_error(CLI_FAILED, "--log %s: %s; name a file on a disk that has room", s->log, strerror(errno));
    tn_safetensors_close(file);
    tn_loader_free(t.loader);
    tn_optimizer_free(t.opt);
    free(t.explained);
    tn_scope_close(scope);
    return status;
}

int cmd_train(int argc, char **argv)
{
    settings s = {.data = default_data, .device = "cpu", .seed = 1, .lr = -1, .weight_decay = -1};
    const option options[] = {
        {"data", OPT_TEXT, &s.data, 0, 0, "DIR", "folder of the MNIST files (data/mnist)"},
        {"model", OPT_TEXT, &s.model, 0, 0, "mlp|linear", "784-500-10 or 784-10 (mlp)"},
        {"epochs", OPT_INT, &s.epochs, 1, MAX_EPOCHS, "N", "times through the training images (15)"},
        {"batch", OPT_INT, &s.batch, 1, MAX_BATCH, "N", "images in a step (128)"},
        {"lr", OPT_REAL, &s.lr, 0, MAX_LR, "X", "learning rate at first; falls to 0 as a cosine (0.003)"},
        {"constant-lr", OPT_FLAG, &s.constant, 0, 0, "", "keep the learning rate"},
        {"weight-decay", OPT_REAL, &s.weight_decay, 0, MAX_DECAY, "X", "AdamW's (0.01)"},
        {"seed", OPT_INT, &s.seed, 0, 9e15, "N", "of initial weights and order (1)"},
        {"device", OPT_TEXT, &s.device, 0, 0, "DEVICE", devices_help},
        {"explain", OPT_FLAG, &s.explain, 0, 0, "", "with several devices: what a step cost on each, at the end"},
        {"threads", OPT_INT, &s.threads, 1, 256, "N", "CPU threads (all cores)"},
        {"save", OPT_TEXT, &s.save, 0, 0, "FILE",
         "write the model there after each epoch; a better one is kept as FILE.previous"},
        {"resume", OPT_TEXT, &s.resume, 0, 0, "FILE",
         "go on from a saved model, with its epochs, batch, lr unless given"},
        {"log", OPT_TEXT, &s.log, 0, 0, "FILE", "a CSV row for every step and epoch"},
    };
    const command c = {
        "train",
        "[OPTIONS]",
        "Trains a digit classifier on MNIST. Ctrl-C saves (with --save), prints the command that goes on, and\n"
        "ends with status 0; a second Ctrl-C ends at once. Failures end with 1, usage errors with 2.",
        options,
        (int)(sizeof options / sizeof *options),
        0,
        0};
    int status = cli_parse(&c, argc, argv, NULL, NULL);
    if (status >= 0)
        return status;
    if (s.threads && tn_set_num_threads((int32_t)s.threads))
        return cli_library_error("");
    return run(&s);
}
