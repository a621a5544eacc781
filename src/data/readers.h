/* data/readers.h: the readers over any source; tests and fuzzers give them memory. */
#ifndef TENON_DATA_READERS_H
#define TENON_DATA_READERS_H

#include "core/tensor.h"
#include "data/source.h"

/* The whole source as one tensor, in no scope. NULL on error. The source stays the caller's. */
tn_tensor *tn__idx_read(tn__source *s);
tn_tensor *tn__npy_read(tn__source *s);

/* Opens path, reads it, gives the tensor to the innermost scope. */
tn_tensor *tn__load_with(tn_tensor *(*read)(tn__source *), const char *site, const char *path);

/* The same from memory. */
tn_tensor *tn__parse_with(tn_tensor *(*read)(tn__source *), const char *site, const void *data, size_t n,
                          const char *name);

#endif
