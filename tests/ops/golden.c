/* Reads the tables of PyTorch's results. */
#include "ops/golden.h"
#include <string.h>

cJSON *golden_open(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/golden/%s", TENON_TEST_DATA, name);
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    long size = 0;
    if (f && fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) > 0 && fseek(f, 0, SEEK_SET) == 0)
        text = malloc((size_t)size + 1);
    if (text && fread(text, 1, (size_t)size, f) == (size_t)size)
        text[size] = '\0';
    cJSON *j = text ? cJSON_Parse(text) : NULL;
    if (!j)
        kit_fail("%s cannot be read", path);
    free(text);
    if (f)
        fclose(f);
    return j;
}

static int digit(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

unsigned char *golden_bytes(const char *hex, size_t *n)
{
    *n = strlen(hex) / 2;
    unsigned char *p = malloc(*n ? *n : 1);
    for (size_t i = 0; i < *n; i++)
        p[i] = (unsigned char)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
    return p;
}

tn_tensor *golden_tensor(const char *hex, tn_dtype dtype)
{
    size_t n;
    unsigned char *p = golden_bytes(hex, &n);
    tn_tensor *t = tn_from_data(p, dtype, TN_SHAPE((int64_t)n / kit_size(dtype)), .release = free, .ctx = p);
    if (!t)
        kit_fail("a tensor of %zu bytes: %s", n, tn_error_message());
    return t;
}
