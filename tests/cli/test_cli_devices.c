/* tenon devices, and nvidia-smi's forms of it: what is listed, under which names, and that listing starts nothing. */
#include "helpers.h"
#include <cjson/cJSON.h>
#include <limits.h>
#include <unistd.h>

/* The shell's command line; the folder of the shim comes first in PATH. */
static run shell(const char *command)
{
    char text[1200];
    snprintf(text, sizeof text, "PATH=\"%.*s:$PATH\"; export PATH; %s",
             (int)(strlen(TENON_SMI) - strlen("/nvidia-smi")), TENON_SMI, command);
    return TENON_HOW((how){.program = "/bin/sh"}, "-c", text);
}

static const cJSON *item(const cJSON *object, const char *name)
{
    const cJSON *i = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!i)
        print_error("no '%s' in the JSON\n", name);
    assert_non_null(i);
    return i;
}

static const char *text_of(const cJSON *object, const char *name)
{
    const cJSON *i = item(object, name);
    return cJSON_IsString(i) ? i->valuestring : "null";
}

static cJSON *json(void)
{
    cJSON *all = cJSON_Parse(GOOD(TENON("devices", "--json")).out);
    assert_true(cJSON_IsObject(all));
    return all;
}

static int size_of(const cJSON *all, const char *name)
{
    const cJSON *list = item(all, name);
    assert_true(cJSON_IsArray(list));
    return cJSON_GetArraySize(list);
}

static void without(void **state)
{
    (void)state;
    kit_gpus(NULL);
    run r = GOOD(TENON("devices"));
    CONTAINS(r.out, "device ");
    CONTAINS(r.out, "\ncpu ");
    CONTAINS(r.out, "GiB");
    CONTAINS(r.out, "no GPU: ");
    CONTAINS(r.out, "try TENON_FAKE_GPUS=1 (simulated: correct results, no speed)\n");
    cJSON *all = json();
    const cJSON *cpu = cJSON_GetArrayItem(item(all, "devices"), 0);
    assert_int_equal(size_of(all, "devices"), 1);
    assert_string_equal(text_of(cpu, "device"), "cpu");
    assert_true(item(cpu, "total_memory")->valuedouble > 1e6);
    assert_true(item(cpu, "units")->valuedouble >= 1);
    assert_true(cJSON_IsNull(item(cpu, "gpu")) && cJSON_IsNull(item(cpu, "uuid")));
    assert_int_equal(size_of(all, "processes"), 0);
    assert_true(cJSON_IsFalse(item(all, "simulated")));
    assert_string_equal(text_of(all, "cuda_visible_devices"), "-1");
    assert_string_equal(text_of(all, "tenon"), TN_VERSION_TEXT);
    cJSON_Delete(all);
}

/* The text with one blank where it has several: columns are as wide as the longest name, which may be this machine's
 * processor's. Valid until the next call. */
static const char *squeezed(const char *text)
{
    static char out[16384];
    size_t n = 0;
    for (const char *p = text; *p && n + 1 < sizeof out; p++)
        if (*p != ' ' || p[1] != ' ')
            out[n++] = *p;
    out[n] = '\0';
    return out;
}

/* Everything of two fake GPUs; no context is made by looking: each would hold memory, and be a process. */
static void two(void **state)
{
    (void)state;
    kit_gpus("2x1GiB");
    cJSON *all = json();
    assert_int_equal(size_of(all, "devices"), 3);
    assert_int_equal(size_of(all, "gpus"), 2);
    assert_int_equal(size_of(all, "processes"), 0);
    assert_true(cJSON_IsTrue(item(all, "simulated")) && cJSON_IsNull(item(all, "cuda_visible_devices")));
    for (int i = 0; i < 2; i++) {
        const cJSON *d = cJSON_GetArrayItem(item(all, "devices"), i + 1), *g = cJSON_GetArrayItem(item(all, "gpus"), i);
        assert_string_equal(text_of(d, "device"), i ? "cuda:1" : "cuda:0");
        assert_string_equal(text_of(g, "device"), text_of(d, "device"));
        assert_string_equal(text_of(g, "uuid"), text_of(d, "uuid"));
        assert_int_equal(item(d, "gpu")->valueint, i);
        assert_int_equal(item(g, "index")->valueint, i);
        CONTAINS(text_of(g, "name"), "Tenon fake GPU");
        assert_int_equal(strncmp(text_of(g, "uuid"), "GPU-", 4), 0);
        assert_true(item(g, "memory_total")->valuedouble == 1073741824 && item(g, "memory_used")->valuedouble == 0);
        assert_true(item(g, "memory_free")->valuedouble == 1073741824 && item(g, "temperature")->valuedouble > 0);
        assert_true(cJSON_IsNull(item(g, "fan")) && cJSON_IsNull(item(g, "ecc_errors"))); /* fakes have neither */
        assert_string_equal(text_of(g, "compute_mode"), "Default");
    }
    cJSON_Delete(all);
    run r = GOOD(TENON("devices"));
    CONTAINS(r.out, "\ncuda:0   Tenon fake GPU  ");
    CONTAINS(r.out, "\ncuda:1   Tenon fake GPU  ");
    CONTAINS(r.out, "|   0  Tenon fake GPU      Off  | 00000000:");
    CONTAINS(r.out, " |      0MiB /  1024MiB |       0%     Default |\n|      cuda:0   GPU-");
    CONTAINS(r.out, "|  No running processes found ");
    CONTAINS_NOT(r.out, "CUDA_VISIBLE_DEVICES");
    CONTAINS_NOT(r.out, "no GPU");
    kit_gpus("1x64MiB");
    CONTAINS(squeezed(GOOD(TENON("devices")).out), "\ncuda:0 Tenon fake GPU 64 MiB 64 MiB 4 ");
}

/* The names of this process are not the numbers of the machine: both are shown. */
static void visible(void **state)
{
    static const struct {
        const char *devices, *map;
        int first, second; /* physical; -1: none */
    } cases[] = {
        {"2,0", "CUDA_VISIBLE_DEVICES=2,0: cuda:0 is GPU 2, cuda:1 is GPU 0; hidden: GPU 1, GPU 3\n", 2, 0},
        {"1", "CUDA_VISIBLE_DEVICES=1: cuda:0 is GPU 1; hidden: GPU 0, GPU 2, GPU 3\n", 1, -1},
        {"3,-1,2", "CUDA_VISIBLE_DEVICES=3,-1,2: cuda:0 is GPU 3; hidden: GPU 0, GPU 1, GPU 2\n", 3, -1},
        {"", "CUDA_VISIBLE_DEVICES=: hidden: GPU 0, GPU 1, GPU 2, GPU 3\n", -1, -1},
        {"0,0", "CUDA_VISIBLE_DEVICES=0,0: hidden: GPU 0, GPU 1, GPU 2, GPU 3\n", -1, -1},
        {"0,1,2,3", "CUDA_VISIBLE_DEVICES=0,1,2,3: cuda:0 is GPU 0, cuda:1 is GPU 1, ", 0, 1},
    };
    (void)state;
    kit_gpus("4x1GiB");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("CUDA_VISIBLE_DEVICES", cases[i].devices, 1);
        CONTAINS(GOOD(TENON("devices")).out, cases[i].map);
        cJSON *all = json();
        const cJSON *g = item(all, "gpus");
        assert_int_equal(size_of(all, "gpus"), 4);
        assert_string_equal(text_of(all, "cuda_visible_devices"), cases[i].devices);
        if (cases[i].first >= 0)
            assert_string_equal(text_of(cJSON_GetArrayItem(g, cases[i].first), "device"), "cuda:0");
        if (cases[i].second >= 0)
            assert_string_equal(text_of(cJSON_GetArrayItem(g, cases[i].second), "device"), "cuda:1");
        cJSON_Delete(all);
        assert_string_equal(GOOD(shell("nvidia-smi -L | grep -c '^GPU [0-3]: Tenon fake GPU (UUID: GPU-'")).out, "4\n");
    }
    kit_gpus("2x1GiB");
    char uuid[64];
    snprintf(uuid, sizeof uuid, "%.40s",
             GOOD(shell("nvidia-smi --query-gpu=uuid --format=csv,noheader | tail -n 1")).out);
    setenv("CUDA_VISIBLE_DEVICES", uuid, 1);
    CONTAINS(GOOD(TENON("devices")).out, ": cuda:0 is GPU 1; hidden: GPU 0\n");
    setenv("CUDA_VISIBLE_DEVICES", "GPU-", 1); /* the beginning of both: of none */
    CONTAINS(GOOD(TENON("devices")).out, "CUDA_VISIBLE_DEVICES=GPU-: hidden: GPU 0, GPU 1\n");
}

/* One GPU that is several devices: one GPU still, with several names. */
static void logical(void **state)
{
    (void)state;
    kit_gpus("3x1GiB");
    setenv("TENON_VISIBLE_DEVICES", "1,0,1", 1);
    run r = GOOD(TENON("devices"));
    CONTAINS(r.out,
             "\nTENON_VISIBLE_DEVICES=1,0,1: cuda:0 is GPU 1, cuda:1 is GPU 0, cuda:2 is GPU 1; hidden: GPU 2\n");
    CONTAINS(r.out, "|      cuda:0, cuda:2 GPU-");
    CONTAINS(r.out, "|      cuda:1   GPU-");
    CONTAINS(r.out, "|      hidden   GPU-");
    setenv("CUDA_VISIBLE_DEVICES", "2,1", 1); /* counted among these */
    CONTAINS(GOOD(TENON("devices")).out,
             "\nCUDA_VISIBLE_DEVICES=2,1, TENON_VISIBLE_DEVICES=1,0,1: cuda:0 is GPU 1, cuda:1 is "
             "GPU 2, cuda:2 is GPU 1; hidden: GPU 0\n");
    cJSON *all = json();
    assert_string_equal(text_of(all, "tenon_visible_devices"), "1,0,1");
    assert_int_equal(size_of(all, "gpus"), 3);
    assert_int_equal(size_of(all, "devices"), 4);                  /* and the cpu */
    static const char *const names[] = {NULL, "cuda:0", "cuda:1"}; /* the first of each */
    static const int gpus[] = {1, 2, 1};
    for (int i = 0; i < 3; i++) {
        const cJSON *d = cJSON_GetArrayItem(item(all, "devices"), i + 1), *g = cJSON_GetArrayItem(item(all, "gpus"), i);
        assert_int_equal(item(d, "gpu")->valueint, gpus[i]);
        if (names[i])
            assert_string_equal(text_of(g, "device"), names[i]);
        else
            assert_true(cJSON_IsNull(item(g, "device")));
    }
    cJSON_Delete(all);
    kit_gpus("1x1GiB");
    setenv("TENON_VISIBLE_DEVICES", "0,1", 1);
    CONTAINS((r = GOOD(TENON("devices"))).out, "\nTENON_VISIBLE_DEVICES=0,1: hidden: GPU 0\n");
    CONTAINS(
        r.out,
        "\nno GPU: No CUDA GPUs are available; TENON_VISIBLE_DEVICES is '0,1': it says which of the driver's devices "
        "(there is 1, 0) are cuda:0, cuda:1, ...");
    unsetenv("TENON_VISIBLE_DEVICES");
    CONTAINS_NOT(GOOD(TENON("devices")).out, "no GPU");
}

/* What the documents run: one line for each physical GPU, whose third word is a whole number of MiB. */
static void free_memory(void **state)
{
    static const char pipeline[] = "nvidia-smi -q -d Memory | grep -A4 GPU | grep Free";
    (void)state;
    kit_gpus("3x768MiB");
    setenv("CUDA_VISIBLE_DEVICES", "1", 1); /* nvidia-smi does not care */
    run r = GOOD(shell(pipeline));
    static const char one[] = "        Free                              : 768 MiB\n";
    char three[3 * sizeof one];
    snprintf(three, sizeof three, "%s%s%s", one, one, one);
    assert_string_equal(r.out, three);
    r = GOOD(TENON("devices", "-q", "-d", "MEMORY"));
    CONTAINS(r.out, "\nAttached GPUs                             : 3\nGPU 00000000:");
    CONTAINS(r.out, "    FB Memory Usage\n        Total                             : 768 MiB\n        Used ");
    CONTAINS(r.out, "\nTimestamp                                 : ");
}

static void query(void **state)
{
    (void)state;
    kit_gpus("2x1GiB");
    run r =
        GOOD(TENON("devices", "--query-gpu=index, name,memory.total,memory.free,utilization.gpu,power.draw,fan.speed"));
    assert_string_equal(r.out,
                        "index, name, memory.total [MiB], memory.free [MiB], utilization.gpu [%], power.draw [W], "
                        "fan.speed [%]\n"
                        "0, Tenon fake GPU, 1024 MiB, 1024 MiB, 0 %, 10.00 W, [N/A]\n"
                        "1, Tenon fake GPU, 1024 MiB, 1024 MiB, 0 %, 10.00 W, [N/A]\n");
    r = GOOD(TENON("devices", "--query-gpu", "gpu_name,memory.used,temperature.gpu,pstate,compute_mode,count",
                   "--format", "csv,noheader,nounits"));
    assert_string_equal(r.out, "Tenon fake GPU, 0, 30, P0, Default, 2\nTenon fake GPU, 0, 30, P0, Default, 2\n");
    CONTAINS(GOOD(TENON("devices", "--query-gpu=gpu_uuid,driver_version,pci.bus_id")).out,
             "gpu_uuid, driver_version, pci.bus_id\nGPU-");
    static const char *const unknown[] = {"--query-gpu=index,clocks.sm", "--query-gpu=", "--query-gpu=index,,name",
                                          "--query-gpu=memory"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        if (i != 1)
            ERROR_LINE(TENON("devices", unknown[i]), 2, "--query-gpu: there is no field '",
                       "; there are index, name, uuid, "
                       "pci.bus_id, driver_version, count, memory.total, memory.used, memory.free, utilization.gpu");
    ERROR_LINE(TENON("devices", unknown[1]), 2, "--query-gpu needs a value");
    ERROR_LINE(TENON("devices", "--query-gpu=index", "--format=xml"), 2, "--format: there is no 'xml'", "csv");
    ERROR_LINE(TENON("devices", "--query-gpu=index", "--format=noheader"), 2, "--format needs csv");
    kit_gpus(NULL);
    ERROR_LINE(TENON("devices", "--query-gpu=nothing"), 2, "there is no field 'nothing'");
    r = TENON("devices", "--query-gpu=index");
    ERROR_LINE(r, 1, "try TENON_FAKE_GPUS=1");
    assert_string_equal(r.out, "");
}

static void slips(void **state)
{
    (void)state;
    ERROR_LINE(TENON("devices", "-q"), 2, "-q and -d go together: -q -d Memory");
    ERROR_LINE(TENON("devices", "-d", "Memory"), 2, "-q and -d go together");
    ERROR_LINE(TENON("devices", "-q", "-d", "CLOCK"), 2, "-d: there is no 'CLOCK'; there is Memory");
    ERROR_LINE(TENON("devices", "-d"), 2, "-d needs a value: -d Memory");
    ERROR_LINE(TENON("devices", "-L", "--json"), 2, "exclude each other");
    ERROR_LINE(TENON("devices", "--format=csv"), 2, "--format goes with --query-gpu=FIELDS");
    ERROR_LINE(TENON("devices", "-L", "--format=csv"), 2, "--format goes with --query-gpu=FIELDS");
    ERROR_LINE(TENON("devices", "-x"), 2, "no option '-x'");
    ERROR_LINE(TENON("devices", "-json"), 2, "no option '-json'", "did you mean --json?");
    ERROR_LINE(TENON("devices", "--L"), 2, "no option '--L'");
    CONTAINS(GOOD(TENON("devices", "--help")).out, "\n  -L  ");
}

static void shim(void **state)
{
    (void)state;
    kit_gpus("2x1GiB");
    run r = GOOD(shell("nvidia-smi"));
    CONTAINS(r.out, "| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |\n");
    CONTAINS(r.out, "|   1  Tenon fake GPU      Off  | 00000000:");
    CONTAINS_NOT(r.out, "cuda:0");
    assert_string_equal(GOOD(shell("nvidia-smi --list-gpus | wc -l | tr -d ' '")).out, "2\n");
    assert_string_equal(GOOD(shell("nvidia-smi --query-gpu memory.total --format csv,noheader")).out,
                        "1024 MiB\n1024 MiB\n");
    assert_string_equal(GOOD(shell("nvidia-smi --query --display=MEMORY | grep -c Total")).out, "4\n");
    CONTAINS(GOOD(shell("nvidia-smi --version")).out, TN_VERSION_TEXT);
    CONTAINS(GOOD(shell("nvidia-smi --help")).out, "nvidia-smi -q -d Memory");
    /* through a link, from another folder, by $TENON */
    GOOD(shell("ln -s \"$(command -v nvidia-smi)\" link && cd / && \"$OLDPWD/link\" -L"));
    GOOD(shell("cp \"$(command -v nvidia-smi)\" copy && TENON=\"$(dirname \"$(command -v nvidia-smi)\")/../tenon\" "
               "./copy -L"));
    GOOD(shell("PATH=$(dirname \"$(command -v nvidia-smi)\")/..:\"$PATH\" ./copy -L"));
    ERROR_LINE(shell("PATH=/usr/bin:/bin; TENON='' ./copy -L"), 1, "the command 'tenon' was not found: set TENON");
    static const char *const wrong[] = {"-x",           "dmon", "-q -d Memory -L",
                                        "-d Memory",    "-i 0", "--query-gpu=index",
                                        "--format=csv", "-q",   "--query-gpu=index --format=xml"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char command[100];
        snprintf(command, sizeof command, "nvidia-smi %s", wrong[i]);
        r = shell(command);
        assert_int_equal(r.status, 2);
        assert_string_equal(r.out, "");
        assert_true(strlen(r.err) > 20);
    }
    kit_gpus(NULL);
    r = shell("nvidia-smi");
    ERROR_LINE(r, 1, "try TENON_FAKE_GPUS=1 (simulated: correct results, no speed)");
    assert_string_equal(r.out, "");
}

/* What is said of the number and size of fake GPUs is understood or refused, never guessed. */
static void malformed(void **state)
{
    static const char *const bad[] = {"two", "2y4GiB", "2x", "2x4", "-1", "65", "1x1MiB", "1x4GB", "2 x 4GiB"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        kit_gpus(bad[i]);
        run r = TENON("devices");
        assert_int_equal(r.status, 0);
        CONTAINS(r.err, "tenon: warning: TENON_FAKE_GPUS=");
        CONTAINS(r.out, "is not understood. Accepted: COUNT or COUNTxSIZE");
        CONTAINS(r.out, "for example 4, 2x4GiB, 1x512MiB");
        ERROR_LINE(TENON("devices", "-L"), 1, "TENON_FAKE_GPUS='", "is not understood");
    }
    kit_gpus("0");
    CONTAINS(GOOD(TENON("devices")).out, "no GPU: No CUDA GPUs are available");
}

/* Without NVML nvidia-smi's numbers are not known, and none is made up. NVML goes with the name of its first function. */
static void without_nvml(void **state)
{
    static const char name[] = "nvmlInit_v2";
    char path[PATH_MAX];
    size_t n;
    (void)state;
    char *library = kit_read(TENON_FAKEGPU, &n);
    for (char *p = library; (p = memmem(p, n - (size_t)(p - library), name, strlen(name))) != NULL;)
        *p = 'x';
    FILE *f = fopen("no-nvml.so", "wb");
    assert_true(f && fwrite(library, 1, n, f) == n && fclose(f) == 0 && realpath("no-nvml.so", path));
    free(library);
    setenv("TENON_FAKEGPU_LIBRARY", path, 1);
    kit_gpus("2x1GiB");
    setenv("CUDA_VISIBLE_DEVICES", "1,0", 1);
    run r = GOOD(TENON("devices"));
    CONTAINS(squeezed(r.out), "\ncuda:0 Tenon fake GPU 1.0 GiB - ");
    CONTAINS(r.out, "| N/A  Tenon fake GPU ");
    CONTAINS_NOT(r.out, " is GPU ");
    cJSON *all = json();
    for (int i = 0; i < 2; i++) {
        assert_true(cJSON_IsNull(item(cJSON_GetArrayItem(item(all, "devices"), i + 1), "gpu")));
        assert_true(cJSON_IsNull(item(cJSON_GetArrayItem(item(all, "gpus"), i), "index")));
    }
    cJSON_Delete(all);
    assert_string_equal(GOOD(TENON("devices", "--query-gpu=index,memory.free", "--format=csv,noheader")).out,
                        "[N/A], [N/A]\n[N/A], [N/A]\n");
    unsetenv("TENON_FAKEGPU_LIBRARY");
    unsetenv("CUDA_VISIBLE_DEVICES");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without),      cmocka_unit_test(two),         cmocka_unit_test(visible),
        cmocka_unit_test(logical),      cmocka_unit_test(free_memory), cmocka_unit_test(query),
        cmocka_unit_test(slips),        cmocka_unit_test(shim),        cmocka_unit_test(malformed),
        cmocka_unit_test(without_nvml),
    };
    return cmocka_run_group_tests_name("cli/devices", tests, kit_setup, kit_teardown);
}
