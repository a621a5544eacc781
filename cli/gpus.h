/* cli/gpus.h: the NVIDIA GPUs of this machine: all of them, in nvidia-smi's order, whatever CUDA_VISIBLE_DEVICES hides.
 * Reading them starts nothing on them. */
#ifndef TENON_CLI_GPUS_H
#define TENON_CLI_GPUS_H

#include "cli.h"

enum { MAX_GPUS = 64, MAX_PROCESSES = 64 };

typedef struct gpus {
    tn_cuda_status gpu[MAX_GPUS];
    size_t n;
    tn_cuda_process process[MAX_GPUS][MAX_PROCESSES];
    size_t n_processes[MAX_GPUS];
    const char *driver; /* "580.65.06"; "" where unknown */
    char cuda[16];      /* "13.0" */
    bool simulated;
} gpus;

void gpus_read(gpus *g);
/* Has it a name here, or does CUDA_VISIBLE_DEVICES hide it? */
static inline bool gpu_visible(const tn_cuda_status *d)
{
    return d->device.index >= 0;
}
/* The variable that says which of the driver's devices cuda:0, cuda:1, ... are. */
extern const char gpus_list[];
/* Is it no such list, so that there is no GPU? The library's error says so then. */
bool gpus_bad_list(void);
/* "Default", "Prohibited" ...; "N/A" for -1 */
const char *gpu_mode(int64_t compute_mode);

/* ---- nvidia-smi's forms: nvidia_smi.c, nvidia_smi_query.c ---- */

/* The table, with the processes below it. names: a third line for each GPU, with its name here and its UUID. */
void smi_table(const gpus *g, bool names);
/* nvidia-smi -L */
void smi_list(const gpus *g);
/* nvidia-smi -q -d Memory */
void smi_memory(const gpus *g);
/* nvidia-smi --query-gpu=FIELDS --format=csv[,noheader][,nounits]; the exit status. */
int smi_query(const gpus *g, const char *fields, const char *format);

#endif
