/* The forms in which nvidia-smi shows GPUs, so that what reads its output can read ours. */
#include "gpus.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

static const int64_t mebibyte = 1 << 20;

typedef struct word {
    char s[128];
} word;

typedef struct figure {
    char s[32];
} figure;

/* "42" and the unit; "N/A" for a negative number: it is not known. */
static figure number(int64_t value, const char *unit)
{
    figure f;
    if (value < 0)
        snprintf(f.s, sizeof f.s, "N/A");
    else
        snprintf(f.s, sizeof f.s, "%lld%s", (long long)value, unit);
    return f;
}

static int64_t scaled(int64_t value, int64_t by)
{
    return value < 0 ? -1 : value / by;
}

static const char *on_off(int64_t value)
{
    return value < 0 ? "N/A" : value ? "On" : "Off";
}

/* ---- the table ---- */

/* The text, its end replaced by dots (front: its beginning) where it is longer than 'room'. */
static word shortened(const char *text, size_t room, bool front)
{
    word w;
    size_t n = strlen(text);
    if (n <= room)
        snprintf(w.s, sizeof w.s, "%s", text);
    else if (front)
        snprintf(w.s, sizeof w.s, "...%s", text + n - (room - 3));
    else
        snprintf(w.s, sizeof w.s, "%.*s...", (int)(room - 3), text);
    return w;
}

static const char line[] = "+-----------------------------------------------------------------------------+\n";

/* Its names here: "cuda:0", or of one GPU that is several devices "cuda:0, cuda:2". */
static word names_of(const tn_cuda_status *d)
{
    char all[512] = "hidden";
    const int32_t n = gpu_visible(d) ? tn_cuda_device_count() : 0;
    for (int32_t i = 0, at = 0; i < n && at < (int)sizeof all; i++)
        if (tn_cuda_ordinal(TN_CUDA(i)) == tn_cuda_ordinal(d->device))
            at += snprintf(all + at, sizeof all - (size_t)at, "%scuda:%d", at ? ", " : "", (int)i);
    return shortened(all, 26, false);
}

static void table_row(const tn_cuda_status *d, bool names)
{
    char state[16], power[80], memory[80];
    snprintf(state, sizeof state, d->performance_state < 0 ? "N/A" : "P%d", (int)d->performance_state);
    snprintf(power, sizeof power, "%5s / %5s", number(scaled(d->power, 1000), "W").s,
             number(scaled(d->power_limit, 1000), "W").s);
    snprintf(memory, sizeof memory, "%s / %8s", number(scaled(d->memory_used, mebibyte), "MiB").s,
             number(scaled(d->memory_total, mebibyte), "MiB").s);
    printf("| %3s  %-18s  %-3s  | %-16.16s %-3s |%21s |\n", number(d->physical, "").s, shortened(d->name, 18, false).s,
           on_off(d->persistence_mode), d->pci_text, on_off(d->display_active), number(d->ecc_errors, "").s);
    printf("| %3s  %4s  %4s %13s |%21s |%9s %11s |\n", number(d->fan, "%").s, number(d->temperature, "C").s, state,
           power, memory, number(d->gpu_utilization, "%").s, gpu_mode(d->compute_mode));
    if (names) {
        const word who = names_of(d);
        const int width = strlen(who.s) > 8 ? (int)strlen(who.s) : 8;
        printf("|      %-*s %-*s|\n", width, who.s, 70 - width, d->uuid);
    }
    printf("+-------------------------------+----------------------+----------------------+\n");
}

static void process_rows(const gpus *g)
{
    printf("%s| Processes:                                                       GPU Memory |\n"
           "|  GPU       PID   Type   Process name                             Usage      |\n"
           "|=============================================================================|\n",
           line);
    size_t all = 0;
    for (size_t i = 0; i < g->n; i++)
        for (size_t k = 0; k < g->n_processes[i]; k++, all++) {
            const tn_cuda_process *p = &g->process[i][k];
            printf("|  %3d  %8lld      C   %-38s %9s |\n", (int)g->gpu[i].physical, (long long)p->pid,
                   shortened(p->name, 38, true).s, number(scaled(p->used_memory, mebibyte), "MiB").s);
        }
    if (!all)
        printf("|  No running processes found                                                 |\n");
    fputs(line, stdout);
}

void smi_table(const gpus *g, bool names)
{
    word by, driver, cuda;
    snprintf(by.s, sizeof by.s, "Tenon %s", tn_version());
    snprintf(driver.s, sizeof driver.s, "Driver Version: %s", *g->driver ? g->driver : "N/A");
    snprintf(cuda.s, sizeof cuda.s, "CUDA Version: %s", *g->cuda ? g->cuda : "N/A");
    printf("%s| %-22s %-28s %-23s |\n", line, by.s, driver.s, cuda.s);
    printf("|-------------------------------+----------------------+----------------------+\n"
           "| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |\n"
           "| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |\n"
           "|===============================+======================+======================|\n");
    for (size_t i = 0; i < g->n; i++)
        table_row(&g->gpu[i], names);
    printf("\n");
    process_rows(g);
}

/* ---- -L, -q -d Memory ---- */

void smi_list(const gpus *g)
{
    for (size_t i = 0; i < g->n; i++)
        printf("GPU %s: %s (UUID: %s)\n", number(g->gpu[i].physical, "").s, g->gpu[i].name, g->gpu[i].uuid);
}

static void memory_line(const char *what, int64_t bytes)
{
    printf("        %-34s: %s\n", what, number(scaled(bytes, mebibyte), " MiB").s);
}

void smi_memory(const gpus *g)
{
    char when[64];
    time_t now = time(NULL);
    struct tm broken;
    strftime(when, sizeof when, "%a %b %e %H:%M:%S %Y", localtime_r(&now, &broken));
    printf("\n==============NVSMI LOG==============\n\n%-42s: %s\n%-42s: %s\n%-42s: %s\n\n%-42s: %zu\n", "Timestamp",
           when, "Driver Version", *g->driver ? g->driver : "N/A", "CUDA Version", *g->cuda ? g->cuda : "N/A",
           "Attached GPUs", g->n);
    for (size_t i = 0; i < g->n; i++) { /* the four lines that scripts look for come first */
        const tn_cuda_status *d = &g->gpu[i];
        printf("GPU %s\n    FB Memory Usage\n", d->pci_text);
        memory_line("Total", d->memory_total);
        memory_line("Used", d->memory_used);
        memory_line("Free", d->memory_free);
        printf("    BAR1 Memory Usage\n");
        memory_line("Total", -1);
        memory_line("Used", -1);
        memory_line("Free", -1);
        printf("\n");
    }
}
