/* core/utf8.h: texts that others made: file headers, names, environment variables. */
#ifndef TENON_CORE_UTF8_H
#define TENON_CORE_UTF8_H

#include "core/base.h"

/* Bytes of the UTF-8 character at p[0 .. n); 0 if there is no valid one. */
int tn__utf8_length(const unsigned char *p, size_t n);
bool tn__is_utf8(const char *text);

/* from[0 .. n) for a line of a terminal, as far as there is room for whole characters, and a '\0': '?' for each control
 * character, those of 8 bits (0x80 .. 0x9f, alone or as U+0080 .. U+009F in UTF-8) as well. What else is no UTF-8 stays. Returns
 * the length. */
size_t tn__copy_plain(char *to, size_t size, const char *from, size_t n);

#endif
