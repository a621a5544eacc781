/* tenon devices, tenon doctor: what there is on this machine. */
#include "cli.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEVICES = 64 };

static void json_text(const char *s)
{
    putchar('"');
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            putchar('\\');
        if ((unsigned char)*s >= 0x20)
            putchar(*s);
    }
    putchar('"');
}

static void print_json(const tn_device_info *d, size_t n)
{
    printf("[");
    for (size_t i = 0; i < n; i++) {
        printf("%s\n  {\"device\": ", i ? "," : "");
        json_text(tn_device_text(d[i].device).s);
        printf(", \"name\": ");
        json_text(d[i].name);
        printf(", \"total_memory\": %lld, \"free_memory\": %lld, \"units\": %d, \"detail\": ",
               (long long)d[i].total_memory, (long long)d[i].free_memory, (int)d[i].units);
        json_text(d[i].detail);
        printf("}");
    }
    printf("\n]\n");
}

static void print_table(const tn_device_info *d, size_t n)
{
    printf("%-8s  %-40s  %10s  %10s  %5s  %s\n", "device", "name", "memory", "free", "units", "detail");
    for (size_t i = 0; i < n; i++)
        printf("%-8s  %-40.40s  %6.1f GiB  %6.1f GiB  %5d  %s\n", tn_device_text(d[i].device).s, d[i].name,
               (double)d[i].total_memory / 1073741824, (double)d[i].free_memory / 1073741824, (int)d[i].units,
               d[i].detail);
}

int cmd_devices(int argc, char **argv)
{
    bool json = false;
    const option options[] = {{"json", OPT_FLAG, &json, 0, 0, "", "as JSON"}};
    const command c = {"devices", "[--json]", "Lists the devices that tensors can live on. Nothing is started on them.",
                       options,   1,          0,
                       0};
    int status = cli_parse(&c, argc, argv, NULL, NULL);
    if (status >= 0)
        return status;
    static tn_device_info d[MAX_DEVICES];
    size_t n = tn_devices(d, MAX_DEVICES);
    n = n < MAX_DEVICES ? n : MAX_DEVICES;
    if (json)
        print_json(d, n);
    else
        print_table(d, n);
    return CLI_OK;
}

/* ---- doctor ---- */

static void line(bool good, const char *what, const char *found, const char *advice)
{
    printf("[%s] %-10s %s%s%s\n", good ? "ok" : "--", what, found, *advice ? "\n                " : "", advice);
}

/* A product small enough to be instant, checked against its value. */
static bool computes(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(100, 100), .requires_grad = true);
    tn_tensor *y = tn_sum(tn_mm(x, x));
    bool ok = y && tn_item(y) == 1e6 && !tn_backward(y) && tn_item(tn_sum(tn_tensor_grad(x))) == 2e6;
    tn_scope_close(s);
    return ok;
}

int cmd_doctor(int argc, char **argv)
{
    const command c = {
        "doctor", "", "Says what was found on this machine, what is missing, and how to get it.", NULL, 0, 0, 0};
    int status = cli_parse(&c, argc, argv, NULL, NULL);
    if (status >= 0)
        return status;
    tn_device_info cpu;
    char text[400];
    tn_devices(&cpu, 1);
    line(true, "tenon", tn_version(), "");
    snprintf(text, sizeof text, "%s, %d thread%s, %.1f GiB of memory", cpu.name, (int)cpu.units,
             cpu.units == 1 ? "" : "s", (double)cpu.total_memory / 1073741824);
    line(true, "cpu", text, "");
    bool blas = strstr(cpu.detail, "BLAS ") != NULL && !strstr(cpu.detail, "no BLAS");
    line(true, "kernels", cpu.detail, blas ? "" : "a BLAS is optional: apt-get install libopenblas0-pthread");
    bool works = computes();
    line(works, "products", works ? "forward and backward give the right numbers" : tn_error_message(), "");
    line(tn_cuda_is_available(), "cuda", tn_cuda_is_available() ? "available" : "this build has no CUDA backend", "");
    const char *env[] = {"TENON_NUM_THREADS", "TENON_CPU", "TENON_BLAS", "TENON_NO_CACHE", "TENON_CPU_CACHE_LIMIT"};
    for (size_t i = 0; i < sizeof env / sizeof *env; i++)
        if (getenv(env[i])) {
            snprintf(text, sizeof text, "%s=%s", env[i], getenv(env[i]));
            line(true, "set", text, "");
        }
    return works ? CLI_OK : CLI_FAILED;
}
