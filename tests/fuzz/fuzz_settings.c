/* Fuzz target: the texts of settings: sizes, and lists of devices. What is accepted is in its range, and means the same when it
 * is written anew. */
#include "fuzz.h"
#include "backend/gpu/device.h"
#include "core/env.h"
#include <stdio.h>

static void sizes(const char *text)
{
    int64_t bytes = -1, again = -1;
    char written[40];
    if (!tn__parse_bytes(text, &bytes))
        return;
    MUST(bytes >= 0);
    snprintf(written, sizeof written, "%lld", (long long)bytes);
    MUST(tn__parse_bytes(written, &again) && again == bytes);
}

static void lists(const char *text)
{
    enum { DEVICES = 3 };
    static const tn__gpu_driver driver = {.visible_variable = "TENON_VISIBLE_DEVICES", .name = "cuda", .label = "CUDA"};
    int32_t ordinal[TN__GPU_EACH], again[TN__GPU_EACH];
    char written[TN__GPU_EACH * 2 + 1];
    MUST(setenv(driver.visible_variable, text, 1) == 0);
    const int32_t n = tn__gpu_visible(&driver, DEVICES, ordinal);
    MUST(n >= -1 && n <= TN__GPU_EACH);
    if (n <= 0) {
        MUST(tn__gpu_bad_list(&driver, DEVICES) == TN_EDEVICE && strlen(tn_error_message()) < 1000);
        tn_error_clear();
        return;
    }
    for (int32_t i = 0; i < n; i++) {
        MUST(ordinal[i] >= 0 && ordinal[i] < DEVICES);
        snprintf(written + 2 * i, 3, "%d,", (int)ordinal[i]);
    }
    written[2 * n - 1] = '\0';
    MUST(setenv(driver.visible_variable, written, 1) == 0);
    MUST(tn__gpu_visible(&driver, DEVICES, again) == n && !memcmp(ordinal, again, (size_t)n * sizeof *again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char text[300];
    n = n < sizeof text - 1 ? n : sizeof text - 1;
    memcpy(text, data, n);
    text[n] = '\0';
    sizes(text);
    lists(text);
    return 0;
}
