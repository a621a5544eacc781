/* data/json.h: a strict JSON reader (RFC 8259) for headers of a known form: the caller says what must come next, so
 * nothing is ever nested deeper than its own code, and nothing is allocated.
 */
#ifndef TENON_DATA_JSON_H
#define TENON_DATA_JSON_H

#include "core/utf8.h"
#include "data/source.h"

/* Invariants: at <= n; used <= n. Decoded texts go to 'arena', which has n bytes: with its '\0' a text is never longer
 * than it is in JSON with its quotes. */
typedef struct tn__json {
    const char *name; /* of the source, for messages */
    const unsigned char *text;
    size_t n, at;
    uint64_t base; /* place of text[0] in the source */
    char *arena;
    size_t used;
} tn__json;

/* Something is wrong here, with what 'field' names. */
#define tn__json_bad(j, field, ...) tn__bad_field(TN_EFORMAT, (j)->name, field, (j)->base + (j)->at, __VA_ARGS__)

/* The character, after white space. */
TN_MUST_USE tn_status tn__json_expect(tn__json *j, char c, const char *field);

/* Inside of [...] or {...}, after the opening: is there another item? Consumes the comma before it, or the closing. */
TN_MUST_USE tn_status tn__json_more(tn__json *j, bool first, char closing, const char *field, bool *more);

/* A text, decoded: valid UTF-8 without '\0'. *out lies in the arena. */
TN_MUST_USE tn_status tn__json_text(tn__json *j, const char *field, const char **out);

/* A whole number that is not negative and fits. */
TN_MUST_USE tn_status tn__json_whole(tn__json *j, const char *field, int64_t *out);

/* Nothing but white space is left. */
TN_MUST_USE tn_status tn__json_end(tn__json *j, const char *field);

#endif
