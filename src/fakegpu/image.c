/* Images: what the fake NVRTC makes, as bytes (its cubin) or as text (its PTX, which programs take for a string), and what
 * others have made, which is refused with the reason. */
#include "fakegpu/compiler.h"
#include "fakegpu/fake.h"
#include <stdlib.h>
#include <string.h>

/* Looks like PTX to who reads its head; the rest are the bytes, six bits a character. */
static const char head[] = "//\n// Tenon fake GPU: code for the host, which no other driver takes\n//\n"
                           ".version 8.0\n.target sm_75\n.address_size 64\n\n//tenon ";
static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void fake_image_to_text(const fake_text *image, fake_text *out)
{
    fake_text_puts(out, head);
    for (size_t i = 0; i < image->n; i += 3) {
        unsigned word = 0;
        for (size_t k = 0; k < 3; k++)
            word = word << 8 | (i + k < image->n ? (unsigned char)image->s[i + k] : 0u);
        const char four[4] = {digits[word >> 18], digits[word >> 12 & 63], digits[word >> 6 & 63], digits[word & 63]};
        fake_text_add(out, four, 4);
    }
    fake_text_puts(out, "\n");
}

static int digit(char c)
{
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Zeroes at the end that rounding added are harmless: the image knows its size. NULL: no memory. */
static char *from_text(const char *text, size_t *n)
{
    const char *p = text + sizeof head - 1;
    const size_t length = strlen(p);
    char *out = malloc(length / 4 * 3 + sizeof(fake_image) + 3);
    *n = 0;
    for (unsigned word = 0, k = 0; out && digit(*p) >= 0; p++) {
        word = word << 6 | (unsigned)digit(*p);
        if (++k < 4)
            continue;
        for (int shift = 16; shift >= 0; shift -= 8)
            out[(*n)++] = (char)(word >> shift & 255u);
        word = k = 0;
    }
    return out;
}

static tn__cu_result load_text(const char *text, int capability, fake_module **module)
{
    size_t n;
    char *image = from_text(text, &n);
    if (!image)
        return TN__CU_OUT_OF_MEMORY;
    fake_image start;
    tn__cu_result r = TN__CU_INVALID_PTX;
    if (n >= sizeof start) {
        memcpy(&start, image, sizeof start);
        memcpy(image, FAKE_PTX_MAGIC, sizeof start.magic);
        if (start.bytes <= n - sizeof start)
            r = fake_module_load(image, capability, module);
    }
    free(image);
    return r;
}

/* PTX begins with comments, blanks and .version. */
static bool is_ptx(const char *p)
{
    for (;;) {
        p += strspn(p, " \t\r\n");
        if (strncmp(p, "//", 2) == 0)
            p += strcspn(p, "\n");
        else if (strncmp(p, "/*", 2) == 0 && strstr(p, "*/"))
            p = strstr(p, "*/") + 2;
        else
            return strncmp(p, ".version", 8) == 0;
    }
}

tn__cu_result fake_image_load(const void *image, int capability, fake_module **module, const char **what)
{
    static const struct {
        const char *magic, *what;
    } foreign[] = {{"\x7f"
                    "ELF",
                    "a cubin"},
                   {"\x50\xed\x55\xba", "a fat binary"},
                   {"\xb1\x43\x62\x46", "a fat binary"}};
    *what = NULL;
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (!strncmp(image, foreign[i].magic, 4)) {
            *what = foreign[i].what;
            return TN__CU_NO_BINARY_FOR_GPU;
        }
    if (!strncmp(image, head, sizeof head - 1))
        return load_text(image, capability, module);
    if (!strncmp(image, FAKE_IMAGE_MAGIC, sizeof FAKE_IMAGE_MAGIC - 1) || !is_ptx(image))
        return fake_module_load(image, capability, module);
    *what = "PTX";
    return TN__CU_INVALID_PTX;
}
