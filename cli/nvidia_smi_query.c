/* nvidia-smi --query-gpu: any fields, as comma-separated values. */
#include "gpus.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef enum field_kind { TEXT, WHOLE, MIB, WATTS, PERCENT, SWITCH, STATE, MODE, DRIVER, COUNT } field_kind;

#define AT(member) offsetof(tn_cuda_status, member)
static const struct field {
    const char *name, *also; /* another name of the same */
    field_kind kind;
    size_t at; /* in a tn_cuda_status; an int64_t if it is in bytes, else an int32_t */
} fields[] = {
    {"index", "", WHOLE, AT(physical)},
    {"name", "gpu_name", TEXT, AT(name)},
    {"uuid", "gpu_uuid", TEXT, AT(uuid)},
    {"pci.bus_id", "gpu_bus_id", TEXT, AT(pci_text)},
    {"driver_version", "", DRIVER, 0},
    {"count", "", COUNT, 0},
    {"memory.total", "", MIB, AT(memory_total)},
    {"memory.used", "", MIB, AT(memory_used)},
    {"memory.free", "", MIB, AT(memory_free)},
    {"utilization.gpu", "", PERCENT, AT(gpu_utilization)},
    {"utilization.memory", "", PERCENT, AT(memory_utilization)},
    {"temperature.gpu", "", WHOLE, AT(temperature)},
    {"power.draw", "", WATTS, AT(power)},
    {"power.limit", "enforced.power.limit", WATTS, AT(power_limit)},
    {"fan.speed", "", PERCENT, AT(fan)},
    {"pstate", "", STATE, AT(performance_state)},
    {"persistence_mode", "", SWITCH, AT(persistence_mode)},
    {"display_active", "", SWITCH, AT(display_active)},
    {"compute_mode", "", MODE, AT(compute_mode)},
};
enum { N_FIELDS = sizeof fields / sizeof *fields, MAX_ASKED = 64 };

typedef struct query {
    const struct field *asked[MAX_ASKED];
    const char *word[MAX_ASKED]; /* as it was asked for */
    size_t length[MAX_ASKED], n;
    bool header, units;
} query;

static const char *unit_of(const struct field *f)
{
    return f->kind == MIB ? "MiB" : f->kind == WATTS ? "W" : f->kind == PERCENT ? "%" : "";
}

static void print_number(int64_t value, field_kind kind, const char *unit)
{
    if (value < 0)
        printf("[N/A]");
    else if (kind == SWITCH)
        printf("%s", value ? "Enabled" : "Disabled");
    else if (kind == MODE)
        printf("%s", gpu_mode(value));
    else if (kind == WATTS)
        printf("%.2f%s%s", (double)value / 1000, *unit ? " " : "", unit);
    else
        printf("%s%lld%s%s", kind == STATE ? "P" : "", (long long)(kind == MIB ? value >> 20 : value), *unit ? " " : "",
               unit);
}

static void print_value(const gpus *g, const tn_cuda_status *d, const struct field *f, bool units)
{
    const char *at = (const char *)d + f->at;
    int64_t wide;
    int32_t narrow;
    switch (f->kind) {
    case TEXT: printf("%s", at); break;
    case DRIVER: printf("%s", *g->driver ? g->driver : "[N/A]"); break;
    case COUNT: printf("%zu", g->n); break;
    case MIB:
        memcpy(&wide, at, sizeof wide);
        print_number(wide, f->kind, units ? unit_of(f) : "");
        break;
    default: memcpy(&narrow, at, sizeof narrow); print_number(narrow, f->kind, units ? unit_of(f) : "");
    }
}

static int unknown_field(const char *name, size_t n)
{
    char list[1024] = "";
    size_t used = 0;
    for (size_t i = 0; i < N_FIELDS; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", fields[i].name);
    return cli_error(CLI_USAGE, "--query-gpu: there is no field '%.*s'; there are %s", (int)n, name, list);
}

/* Takes a comma-separated list apart. -1, or the exit status. */
static int parse_fields(query *q, const char *text)
{
    for (const char *p = text;; p++) {
        p += strspn(p, " ");
        size_t length = strcspn(p, ","), n = length, i = 0;
        while (n && p[n - 1] == ' ')
            n--;
        for (; i < N_FIELDS; i++)
            if ((strlen(fields[i].name) == n && !strncmp(fields[i].name, p, n)) ||
                (n && strlen(fields[i].also) == n && !strncmp(fields[i].also, p, n)))
                break;
        if (i == N_FIELDS)
            return unknown_field(p, n);
        if (q->n == MAX_ASKED)
            return cli_error(CLI_USAGE, "--query-gpu: more than %d fields", MAX_ASKED);
        q->word[q->n] = p;
        q->length[q->n] = n;
        q->asked[q->n++] = &fields[i];
        p += length;
        if (!*p)
            return -1;
    }
}

static int parse_format(query *q, const char *text)
{
    bool csv = false;
    q->header = q->units = true;
    for (const char *p = text;; p++) {
        size_t n = strcspn(p, ",");
        if (n == 3 && !strncmp(p, "csv", n))
            csv = true;
        else if (n == 8 && !strncmp(p, "noheader", n))
            q->header = false;
        else if (n == 7 && !strncmp(p, "nounits", n))
            q->units = false;
        else
            return cli_error(CLI_USAGE, "--format: there is no '%.*s'; there are csv, noheader, nounits", (int)n, p);
        p += n;
        if (!*p)
            break;
    }
    return csv ? -1 : cli_error(CLI_USAGE, "--format needs csv: --format=csv[,noheader][,nounits]");
}

int smi_query(const gpus *g, const char *fields_text, const char *format)
{
    query q = {.n = 0};
    int status = parse_fields(&q, fields_text);
    if (status >= 0 || (status = parse_format(&q, format)) >= 0)
        return status;
    if (!g->n) /* no header for nothing */
        return CLI_OK;
    for (size_t k = 0; q.header && k < q.n; k++) {
        const char *unit = unit_of(q.asked[k]);
        printf("%s%.*s%s%s%s", k ? ", " : "", (int)q.length[k], q.word[k], *unit ? " [" : "", unit, *unit ? "]" : "");
    }
    if (q.header)
        printf("\n");
    for (size_t i = 0; i < g->n; i++) {
        for (size_t k = 0; k < q.n; k++) {
            printf("%s", k ? ", " : "");
            print_value(g, &g->gpu[i], q.asked[k], q.units);
        }
        printf("\n");
    }
    return CLI_OK;
}
