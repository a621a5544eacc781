/* backend/ledger.h: what crossed between devices, and how often the host waited, per device: counters behind
 * tn_transfer_stats(). Relaxed atomics: they order nothing. */
#ifndef TENON_BACKEND_LEDGER_H
#define TENON_BACKEND_LEDGER_H

#include "core/base.h"

enum { TN__LEDGER_DEVICES = 128 };

typedef enum tn__crossing {
    TN__UPLOAD_PINNED,
    TN__UPLOAD_PAGEABLE,
    TN__DOWNLOAD_PINNED,
    TN__DOWNLOAD_PAGEABLE,
    TN__PEER_OUT, /* counted at the source */
    TN__PEER_IN,  /* and at the destination */
    TN__CROSSINGS
} tn__crossing;

typedef struct tn__ledger {
    _Atomic int64_t copies[TN__CROSSINGS], bytes[TN__CROSSINGS];
    _Atomic int64_t synchronizations; /* the host waited for the device */
    _Atomic int64_t launches;         /* kernels and library products */
    _Atomic int64_t own_products;     /* what a library would compute, if it were there */
    _Atomic int64_t staged;           /* peer copies that went through the host */
} tn__ledger;

static inline void tn__ledger_crossing(tn__ledger *l, tn__crossing what, size_t bytes)
{
    atomic_fetch_add_explicit(&l->copies[what], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&l->bytes[what], (int64_t)bytes, memory_order_relaxed);
}

#endif
