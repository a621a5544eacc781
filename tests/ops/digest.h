/* tests/ops/digest.h: what results are, bit by bit, so that two commits can be compared (scripts/digest).
 *
 * Where TENON_TEST_DIGEST names a file, each result that a program of this suite compares is hashed: dtype, shape and the
 * elements in row-major order; NaNs count as one. At its end the program adds a line to the file for each operation, dtype
 * and layout: 'operation dtype layout device results hash'. The hashes of one line are added up, so that their order says
 * nothing.
 */
#ifndef TENON_TESTS_OPS_DIGEST_H
#define TENON_TESTS_OPS_DIGEST_H

#include <tenon/tenon.h>

/* Are digests asked for? */
bool digest_wanted(void);
/* Notes a result, which lies on the host. */
void digest_note(const char *operation, const char *layout, const tn_tensor *host);
/* The same, of words that say what was tried: 'sum of float32 [5, 7] dense, dim 1'. */
void digest_words(const char *words, const tn_tensor *host);
/* Writes the lines. */
void digest_write(void);

#endif
