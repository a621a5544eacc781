/* The JSON reader: punctuation, whole numbers, texts with their escapes; UTF-8 is checked. */
#include "data/json.h"

static void skip_space(tn__json *j)
{
    while (j->at < j->n &&
           (j->text[j->at] == ' ' || j->text[j->at] == '\t' || j->text[j->at] == '\n' || j->text[j->at] == '\r'))
        j->at++;
}

static bool take(tn__json *j, char c)
{
    skip_space(j);
    if (j->at == j->n || j->text[j->at] != (unsigned char)c)
        return false;
    j->at++;
    return true;
}

tn_status tn__json_expect(tn__json *j, char c, const char *field)
{
    return take(j, c) ? TN_OK : tn__json_bad(j, field, "'%c' was expected", c);
}

tn_status tn__json_more(tn__json *j, bool first, char closing, const char *field, bool *more)
{
    *more = !take(j, closing);
    if (!*more || first || take(j, ','))
        return TN_OK;
    return tn__json_bad(j, field, "',' or '%c' was expected", closing);
}

tn_status tn__json_end(tn__json *j, const char *field)
{
    skip_space(j);
    return j->at == j->n ? TN_OK : tn__json_bad(j, field, "something follows the closing '}'");
}

/* ---- numbers ---- */

static bool is_digit(const tn__json *j, size_t at)
{
    return at < j->n && j->text[at] >= '0' && j->text[at] <= '9';
}

tn_status tn__json_whole(tn__json *j, const char *field, int64_t *out)
{
    int64_t v = 0;
    skip_space(j);
    size_t start = j->at;
    if (!is_digit(j, j->at) || (j->text[j->at] == '0' && is_digit(j, j->at + 1)))
        return tn__json_bad(j, field, "a whole number, 0 or more, was expected");
    for (; is_digit(j, j->at); j->at++)
        if (__builtin_mul_overflow(v, (int64_t)10, &v) || __builtin_add_overflow(v, j->text[j->at] - '0', &v))
            return tn__json_bad(j, field, "a number is larger than a file can be");
    if (j->at < j->n && strchr(".eE", j->text[j->at]) && j->text[j->at]) {
        j->at = start;
        return tn__json_bad(j, field, "a whole number was expected, without '.' or 'e'");
    }
    *out = v;
    return TN_OK;
}

/* ---- texts ---- */

static void put(tn__json *j, uint32_t byte)
{
    j->arena[j->used++] = (char)(unsigned char)byte;
}

static void put_code(tn__json *j, uint32_t c)
{
    if (c < 0x80) {
        put(j, c);
    } else if (c < 0x800) {
        put(j, 0xc0 | c >> 6);
        put(j, 0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        put(j, 0xe0 | c >> 12);
        put(j, 0x80 | (c >> 6 & 0x3f));
        put(j, 0x80 | (c & 0x3f));
    } else {
        put(j, 0xf0 | c >> 18);
        put(j, 0x80 | (c >> 12 & 0x3f));
        put(j, 0x80 | (c >> 6 & 0x3f));
        put(j, 0x80 | (c & 0x3f));
    }
}

static int hex(unsigned char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Four hexadecimal digits. */
static bool take_unit(tn__json *j, uint32_t *out)
{
    uint32_t v = 0;
    if (j->n - j->at < 4)
        return false;
    for (size_t i = 0; i < 4; i++) {
        int d = hex(j->text[j->at + i]);
        if (d < 0)
            return false;
        v = v << 4 | (uint32_t)d;
    }
    j->at += 4;
    *out = v;
    return true;
}

/* After "\u". Characters beyond U+FFFF are two units, which must both be there. */
static tn_status take_code(tn__json *j, const char *field)
{
    uint32_t c, low;
    if (!take_unit(j, &c))
        return tn__json_bad(j, field, "four hexadecimal digits were expected after \\u");
    if (c == 0)
        return tn__json_bad(j, field, "a text holds the character U+0000");
    if (c >= 0xd800 && c <= 0xdfff) {
        bool pair = c < 0xdc00 && j->n - j->at >= 2 && j->text[j->at] == '\\' && j->text[j->at + 1] == 'u';
        if (pair)
            j->at += 2;
        if (!pair || !take_unit(j, &low) || low < 0xdc00 || low > 0xdfff)
            return tn__json_bad(j, field, "half of a surrogate pair");
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    put_code(j, c);
    return TN_OK;
}

static tn_status take_escape(tn__json *j, const char *field)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (j->at == j->n)
        return tn__json_bad(j, field, "the text does not end");
    unsigned char c = j->text[j->at++];
    if (c == 'u')
        return take_code(j, field);
    const char *found = c ? strchr(from, c) : NULL;
    if (!found)
        return tn__json_bad(j, field, "'\\' is followed by a byte that means nothing there");
    put(j, (unsigned char)to[found - from]);
    return TN_OK;
}

/* One character, as it is or escaped. */
static tn_status take_character(tn__json *j, const char *field)
{
    if (j->text[j->at] == '\\') {
        j->at++;
        return take_escape(j, field);
    }
    if (j->text[j->at] < 0x20)
        return tn__json_bad(j, field, "a control character in a text");
    int k = tn__utf8_length(j->text + j->at, j->n - j->at);
    if (k == 0)
        return tn__json_bad(j, field, "a text that is not UTF-8");
    memcpy(j->arena + j->used, j->text + j->at, (size_t)k);
    j->used += (size_t)k;
    j->at += (size_t)k;
    return TN_OK;
}

tn_status tn__json_text(tn__json *j, const char *field, const char **out)
{
    if (!take(j, '"'))
        return tn__json_bad(j, field, "a text in double quotes was expected");
    *out = j->arena + j->used;
    while (j->at < j->n && j->text[j->at] != '"') {
        tn_status e = take_character(j, field);
        if (e)
            return e;
    }
    if (j->at == j->n)
        return tn__json_bad(j, field, "the text does not end");
    j->at++;
    put(j, '\0');
    return TN_OK;
}
