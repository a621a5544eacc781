/* What all readers of one tensor share. */
#include "data/readers.h"
#include "autograd/functions.h"

static tn_tensor *adopted(tn__thread *self, tn_tensor *t)
{
    if (t)
        tn__scope_adopt(self, t);
    return t;
}

tn_tensor *tn__load_with(tn_tensor *(*read)(tn__source *), const char *site, const char *path)
{
    tn__thread *self = tn__enter(site);
    tn__source s;
    if (tn__source_open(&s, path))
        return NULL;
    tn_tensor *t = adopted(self, read(&s));
    tn__source_close(&s);
    return t;
}

tn_tensor *tn__parse_with(tn_tensor *(*read)(tn__source *), const char *site, const void *data, size_t n,
                          const char *name)
{
    tn__thread *self = tn__enter(site);
    tn__source s;
    return tn__source_memory(&s, data, n, name) ? NULL : adopted(self, read(&s));
}
