/* Fuzz target: files of IDX (MNIST). */
#include "fuzz.h"
#include "data/readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    judge(tn__parse_with(tn__idx_read, "", data, n, "the source"));
    return 0;
}
