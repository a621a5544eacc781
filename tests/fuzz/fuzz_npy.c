/* Fuzz target: files of NumPy. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    judge(tn_npy_parse(data, n, "the source"));
    return 0;
}
