/* Fuzz target: safetensors files. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    tn_safetensors *f = tn_safetensors_parse(data, n, "the source");
    if (!f)
        judge(NULL);
    for (size_t i = 0; i < tn_safetensors_count(f); i++) {
        MUST(tn_safetensors_has(f, tn_safetensors_name(f, i)));
        judge(tn_safetensors_tensor(f, tn_safetensors_name(f, i)));
        judge(tn_safetensors_read(f, tn_safetensors_name(f, i)));
    }
    tn_safetensors_close(f);
    return 0;
}
