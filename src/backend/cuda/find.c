/* Which GPUs libcuda shows, or why there are none. */
#include "backend/cuda/cuda.h"
#include "core/env.h"
#include "core/error.h"
#include "core/variables.h"

static struct {
    tn_status (*none)(void);
    tn__cu_result init;
    char why[512]; /* what fake GPUs say of a cuInit that failed: it is asked once, and wanted with every error */
    int version;
} found;

/* ---- why there is none ---- */

static const char try_fake[] = "no NVIDIA GPU: try TENON_FAKE_GPUS=1 (simulated: correct results, no speed)";

static tn_status no_driver(void)
{
    const char *missing = tn__cuda_library(TN__LIB_CUDA);
    if (tn__cuda_is_fake() || tn__cuda_exhausted(TN__LIB_CUDA)) /* whether there is a driver, nobody knows then */
        return tn__error(TN_EDEVICE, "No CUDA GPUs are available\n  %s", missing);
    return tn__error(TN_EDEVICE,
                     "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a "
                     "driver from http://www.nvidia.com/Download/index.aspx\n  %s\n  %s",
                     missing, try_fake);
}

static tn_status no_device(void)
{
    const char *visible = tn__env_text("CUDA_VISIBLE_DEVICES");
    return tn__error(TN_EDEVICE, "No CUDA GPUs are available\n  %s%s%s\n  %s",
                     visible ? "CUDA_VISIBLE_DEVICES is '" : "the driver is there, but it sees no GPU",
                     visible ? visible : "", visible ? "': it hides every GPU that it does not list" : "",
                     tn__cuda_is_fake() ? "TENON_FAKE_GPUS is set: these are simulated" : try_fake);
}

static tn_status driver_fails(void)
{
    return tn__error(TN_EDEVICE, "CUDA error: %s\n  cuInit failed with %u: the driver is there, but not usable%s%s",
                     tn__cuda_text(tn__cuda_result(found.init)), found.init, *found.why ? "\n  " : "", found.why);
}

static tn_status driver_too_old(void)
{
    return tn__error(TN_EDEVICE,
                     "The NVIDIA driver on your system is too old (found version %d). Please update your GPU driver by "
                     "downloading and installing a new version from the URL: "
                     "http://www.nvidia.com/Download/index.aspx\n  Tenon needs one for CUDA 11.8 or newer",
                     found.version);
}

tn_status tn__cuda_why_none(void)
{
    return found.none();
}

/* ---- finding ---- */

/* Fake GPUs read some variables that nobody else reads: what they say of a value is told with it, too. */
static void note_refusal(const char *why)
{
    static const char *const names[] = {"TENON_FAKE_GPU_FAULTS", "TENON_FAKE_GPU_CAPABILITY"};
    const char *at = strstr(why, " is ");
    for (size_t i = 0; at && i < TN_COUNT(names); i++)
        if (!strncmp(why, names[i], strlen(names[i])))
            tn__variable_refuse(names[i], "it%.*s", (int)strcspn(at, "."), at);
}

int32_t tn__cuda_find(void)
{
    int n = 0;
    found.none = no_driver;
    if (tn__cuda_library(TN__LIB_CUDA))
        return 0;
    found.init = tn__cu.init(0);
    if (found.init == TN__CU_SUCCESS)
        found.init = tn__cu.device_get_count(&n);
    found.none = found.init == TN__CU_SUCCESS || found.init == TN__CU_NO_DEVICE ? no_device : driver_fails;
    if (found.init != TN__CU_SUCCESS) {
        tn__cuda_report(found.why, sizeof found.why);
        note_refusal(found.why);
        return 0;
    }
    if (tn__cu.driver_get_version(&found.version) == TN__CU_SUCCESS && found.version < 11080) {
        found.none = driver_too_old;
        return 0;
    }
    tn__cuda_name_calls();
    return (int32_t)n;
}

bool tn__cuda_describe(int32_t ordinal, tn__gpu_device *dev)
{
    tn__cu_device handle;
    if (tn__cu.device_get(&handle, ordinal) != TN__CU_SUCCESS)
        return false;
    dev->handle = handle;
    tn__cu.device_get_name(dev->name, (int)sizeof dev->name, handle);
    tn__cu.device_get_pci_bus_id(dev->pci, (int)sizeof dev->pci, handle);
    return true;
}
