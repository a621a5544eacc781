/* UTF-8: which bytes are one character, and which of them steer terminals. */
#include "core/utf8.h"

static bool continues(const unsigned char *p, size_t n, int from, int to)
{
    if ((size_t)to > n)
        return false;
    for (int i = from; i < to; i++)
        if ((p[i] & 0xc0) != 0x80)
            return false;
    return true;
}

/* Table 3-7 of the Unicode standard: no overlong forms, no surrogates, nothing above U+10FFFF. */
int tn__utf8_length(const unsigned char *p, size_t n)
{
    if (n == 0)
        return 0;
    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xc2 && p[0] <= 0xdf)
        return continues(p, n, 1, 2) ? 2 : 0;
    if (p[0] >= 0xe0 && p[0] <= 0xef && continues(p, n, 1, 3)) {
        bool bad = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f);
        return bad ? 0 : 3;
    }
    if (p[0] >= 0xf0 && p[0] <= 0xf4 && continues(p, n, 1, 4)) {
        bool bad = (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f);
        return bad ? 0 : 4;
    }
    return 0;
}

bool tn__is_utf8(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t n = strlen(text);
    while (n) {
        int k = tn__utf8_length(p, n);
        if (k == 0)
            return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

size_t tn__copy_plain(char *to, size_t size, const char *from, size_t n)
{
    const unsigned char *p = (const unsigned char *)from;
    size_t at = 0;
    while (n && at + 1 < size) {
        int k = tn__utf8_length(p, n);
        bool c0 = p[0] < 0x20 || p[0] == 0x7f, c1 = k ? p[0] == 0xc2 && p[1] < 0xa0 : p[0] >= 0x80 && p[0] < 0xa0;
        size_t length = k ? (size_t)k : 1;
        if (c0 || c1)
            to[at++] = '?';
        else if (at + length < size)
            memcpy(to + at, p, length), at += length;
        else
            break; /* no part of a character */
        p += length;
        n -= length;
    }
    to[at] = '\0';
    return at;
}
