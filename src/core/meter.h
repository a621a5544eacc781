/* core/meter.h: how much memory a thread's work would need: counted where tensors on meta are made and released, so a dry
 * run measures a program before anything is allocated. */
#ifndef TENON_CORE_METER_H
#define TENON_CORE_METER_H

#include "core/base.h"

/* Counted: one reference for who measures, one for each storage that was counted. Storages may outlive the measuring, and
 * may be released by another thread. */
typedef struct tn__meter {
    _Atomic int32_t refs;
    size_t unit; /* sizes are rounded up to a multiple */
    _Atomic int64_t live, peak;
} tn__meter;

/* Counts the calling thread's storages on meta from now on. *before: the meter that did so until now, for tn__meter_end.
 * NULL with TN_ENOMEM set. */
tn__meter *tn__meter_begin(size_t unit, tn__meter **before);
void tn__meter_end(tn__meter *m, tn__meter *before);

/* One storage more, which holds a reference to the meter; or one less. */
void tn__meter_take(tn__meter *m, size_t bytes);
void tn__meter_give(tn__meter *m, size_t bytes);

static inline int64_t tn__meter_rounded(const tn__meter *m, size_t bytes)
{
    return (int64_t)((bytes + m->unit - 1) / m->unit * m->unit);
}

#endif
