/* tenon devices: what tensors can live on here, and what nvidia-smi shows. */
#include "gpus.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MAX_DEVICES = 65 };

/* A machine's devices, and the GPUs behind them. */
typedef struct machine {
    tn_device_info device[MAX_DEVICES];
    size_t n;
    gpus gpus;
} machine;

static void read_machine(machine *m)
{
    m->n = tn_devices(m->device, MAX_DEVICES);
    m->n = m->n < MAX_DEVICES ? m->n : MAX_DEVICES;
    gpus_read(&m->gpus);
}

/* ---- JSON ---- */

static void json_text(const char *name, const char *text)
{
    printf("\"%s\": ", name);
    if (!text || !*text) {
        printf("null");
        return;
    }
    putchar('"');
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        int n = cli_utf8(s);
        if (*s == '"' || *s == '\\')
            printf("\\%c", *s);
        else if (*s < 0x20 || n == 0)
            printf("\\u%04x", n ? *s : 0xfffd);
        else
            printf("%.*s", n, (const char *)s);
        s += n ? n : 1;
    }
    putchar('"');
}

/* Negative: not known. */
static void json_number(const char *name, int64_t value)
{
    if (value < 0)
        printf(", \"%s\": null", name);
    else
        printf(", \"%s\": %lld", name, (long long)value);
}

static void json_bool(const char *name, int64_t value)
{
    printf(", \"%s\": %s", name, value < 0 ? "null" : value ? "true" : "false");
}

static void json_device(const tn_device_info *d)
{
    printf("{");
    json_text("device", tn_device_text(d->device).s);
    printf(", ");
    json_text("name", d->name);
    json_number("total_memory", d->total_memory ? d->total_memory : -1);
    json_number("free_memory", d->free_memory ? d->free_memory : -1);
    json_number("units", d->units ? d->units : -1);
    json_number("gpu", d->physical);
    printf(", ");
    json_text("uuid", d->uuid);
    printf(", ");
    json_text("pci_bus_id", d->pci_bus_id);
    printf(", ");
    json_text("detail", d->detail);
    printf("}");
}

static void json_gpu(const tn_cuda_status *d)
{
    printf("{");
    json_text("device", gpu_visible(d) ? tn_device_text(d->device).s : NULL);
    printf(", ");
    json_text("name", d->name);
    printf(", ");
    json_text("pci_bus_id", d->pci_text);
    printf(", ");
    json_text("uuid", d->uuid);
    json_number("index", d->physical);
    json_number("memory_total", d->memory_total);
    json_number("memory_used", d->memory_used);
    json_number("memory_free", d->memory_free);
    json_number("utilization", d->gpu_utilization);
    json_number("memory_utilization", d->memory_utilization);
    json_number("temperature", d->temperature);
    json_number("fan", d->fan);
    json_number("performance_state", d->performance_state);
    json_number("power_milliwatts", d->power);
    json_number("power_limit_milliwatts", d->power_limit);
    json_bool("persistence_mode", d->persistence_mode);
    json_bool("display_active", d->display_active);
    json_number("ecc_errors", d->ecc_errors);
    printf(", ");
    json_text("compute_mode", d->compute_mode < 0 ? NULL : gpu_mode(d->compute_mode));
    printf("}");
}

static void json_processes(const gpus *g)
{
    bool first = true;
    for (size_t i = 0; i < g->n; i++)
        for (size_t k = 0; k < g->n_processes[i]; k++) {
            const tn_cuda_process *p = &g->process[i][k];
            printf("%s\n  {\"gpu\": %d, \"pid\": %lld, \"type\": \"C\", ", first ? "" : ",", (int)g->gpu[i].physical,
                   (long long)p->pid);
            json_text("name", p->name);
            json_number("memory", p->used_memory);
            printf("}");
            first = false;
        }
}

static void print_json(const machine *m)
{
    const gpus *g = &m->gpus;
    const char *visible = tn_setting_value("CUDA_VISIBLE_DEVICES");
    printf("{");
    json_text("tenon", tn_version());
    printf(", ");
    json_text("driver_version", g->driver);
    printf(", ");
    json_text("cuda_version", g->cuda);
    json_bool("simulated", g->simulated);
    printf(", ");
    if (visible && !*visible) /* hides every GPU: not the same as null, which hides none */
        printf("\"cuda_visible_devices\": \"\"");
    else
        json_text("cuda_visible_devices", visible);
    printf(", ");
    json_text("tenon_visible_devices", tn_setting_value(gpus_list));
    printf(",\n \"devices\": [");
    for (size_t i = 0; i < m->n; i++) {
        printf("%s\n  ", i ? "," : "");
        json_device(&m->device[i]);
    }
    printf("],\n \"gpus\": [");
    for (size_t i = 0; i < g->n; i++) {
        printf("%s\n  ", i ? "," : "");
        json_gpu(&g->gpu[i]);
    }
    printf("],\n \"processes\": [");
    json_processes(g);
    printf("]}\n");
}

/* ---- the table ---- */

static void print_why_none(void)
{
    char why[2048];
    cli_message(why, sizeof why, true);
    printf("no GPU: %s\n", why);
}

/* "cuda:0 is GPU 2, cuda:1 is GPU 0; hidden: GPU 1" where the names are not the numbers; nothing where these are not known. */
static void print_map(const machine *m)
{
    const char *visible = tn_setting_value("CUDA_VISIBLE_DEVICES"), *list = tn_setting_value(gpus_list);
    const bool listed = list && *list;
    bool same = true, known = false;
    int shown = 0, hidden = 0;
    for (size_t i = 0; i < m->gpus.n; i++) {
        same = same && m->gpus.gpu[i].device.index == m->gpus.gpu[i].physical;
        known = known || m->gpus.gpu[i].physical >= 0;
    }
    if (!known || (same && !visible && !listed))
        return;
    if (visible)
        printf("CUDA_VISIBLE_DEVICES=%s%s", visible, listed ? ", " : ": ");
    if (listed)
        printf("%s=%s: ", gpus_list, list);
    for (size_t i = 0; i < m->n; i++)
        if (m->device[i].physical >= 0)
            printf("%s%s is GPU %d", shown++ ? ", " : "", tn_device_text(m->device[i].device).s,
                   (int)m->device[i].physical);
    for (size_t i = 0; i < m->gpus.n; i++)
        if (!gpu_visible(&m->gpus.gpu[i]))
            printf("%sGPU %d", hidden++ ? ", " : shown ? "; hidden: " : "hidden: ", (int)m->gpus.gpu[i].physical);
    printf("\n");
}

static void print_size(int64_t bytes)
{
    if (bytes >= 1 << 30)
        printf("  %6.1f GiB", (double)bytes / 1073741824);
    else if (bytes)
        printf("  %6.0f MiB", (double)bytes / 1048576);
    else
        printf("  %10s", "-");
}

static void print_table(const machine *m)
{
    int width = 4; /* of the longest name */
    for (size_t i = 0; i < m->n; i++)
        width = (int)strlen(m->device[i].name) > width ? (int)strlen(m->device[i].name) : width;
    printf("%-7s  %-*s  %10s  %10s  %5s  %s\n", "device", width, "name", "memory", "free", "units", "detail");
    for (size_t i = 0; i < m->n; i++) {
        const tn_device_info *d = &m->device[i];
        printf("%-7s  %-*s", tn_device_text(d->device).s, width, d->name);
        print_size(d->total_memory);
        print_size(d->free_memory);
        printf("  %5d  %s\n", (int)d->units, d->detail);
    }
    printf("\n");
    if (m->gpus.n) {
        print_map(m);
        smi_table(&m->gpus, true);
    }
    if (m->gpus.n ? gpus_bad_list() : tn_synchronize(TN_CUDA(0)) != TN_OK)
        print_why_none();
}

/* ---- the command ---- */

typedef struct asked {
    bool json, smi, list, query;
    const char *display, *fields, *format;
} asked;

/* What nvidia-smi answers; the exit status. Without a GPU it is the reason why there is none. */
static int answer(const asked *a)
{
    static gpus g;
    if (!a->query != !a->display)
        return cli_error(CLI_USAGE, "-q and -d go together: -q -d Memory");
    if (a->query && strcasecmp(a->display, "memory") != 0)
        return cli_error(CLI_USAGE, "-d: there is no '%s'; there is Memory: -q -d Memory", a->display);
    gpus_read(&g);
    if (!g.n && a->fields) { /* what is wrong with the fields is said even so */
        int status = smi_query(&g, a->fields, a->format);
        if (status)
            return status;
    }
    if (!g.n)
        return tn_synchronize(TN_CUDA(0)) ? cli_library_error("") : cli_error(CLI_FAILED, "NVML shows no GPU");
    if (a->fields)
        return smi_query(&g, a->fields, a->format);
    if (a->list)
        smi_list(&g);
    else if (a->query)
        smi_memory(&g);
    else
        smi_table(&g, false);
    return CLI_OK;
}

int cmd_devices(int argc, char **argv)
{
    static machine m;
    asked a = {.format = NULL};
    const option options[] = {
        {"json", OPT_FLAG, &a.json, 0, 0, "", "everything, as JSON; null where a number is not known"},
        {"smi", OPT_FLAG, &a.smi, 0, 0, "", "the NVIDIA GPUs, as nvidia-smi shows them"},
        {"L", OPT_FLAG, &a.list, 0, 0, "", "as nvidia-smi -L: a line a GPU, with its UUID"},
        {"q", OPT_FLAG, &a.query, 0, 0, "", "as nvidia-smi -q; with -d Memory"},
        {"d", OPT_TEXT, &a.display, 0, 0, "Memory", "what -q shows"},
        {"query-gpu", OPT_TEXT, &a.fields, 0, 0, "FIELDS", "as nvidia-smi: index,name,memory.free ..."},
        {"format", OPT_TEXT, &a.format, 0, 0, "csv", "of --query-gpu: csv[,noheader][,nounits]"},
    };
    const command c = {
        "devices",
        "[--json | --smi | -L | -q -d Memory | --query-gpu=FIELDS [--format=csv]]",
        "Lists the devices that tensors can live on, and all NVIDIA GPUs of the machine. Nothing is started\n"
        "on them. -L, -q and --query-gpu answer as nvidia-smi does: they show physical GPUs, whatever\n"
        "CUDA_VISIBLE_DEVICES hides.",
        options,
        (int)(sizeof options / sizeof *options),
        0,
        0};
    int status = cli_parse(&c, argc, argv, NULL, NULL);
    if (status >= 0)
        return status;
    if (a.json + a.smi + a.list + (a.query || a.display) + (a.fields != NULL) > 1)
        return cli_error(CLI_USAGE, "--json, --smi, -L, -q and --query-gpu exclude each other");
    if (a.format && !a.fields)
        return cli_error(CLI_USAGE, "--format goes with --query-gpu=FIELDS");
    a.format = a.format ? a.format : "csv";
    if (a.smi || a.list || a.query || a.display || a.fields)
        return answer(&a);
    read_machine(&m);
    if (a.json)
        print_json(&m);
    else
        print_table(&m);
    return CLI_OK;
}
