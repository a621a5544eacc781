/* backend/ledger.c: the counters, and how users read them. */
#include "backend/ledger.h"
#include "backend/backend.h"

/* The device's counters; NULL for one that is not there or keeps none. */
static tn__ledger *ledger_of(tn_device device)
{
    tn_device d;
    if (!tn__device_asked(device, &d) || !tn__backend_of(d)->ledgers || d.index >= TN__LEDGER_DEVICES)
        return NULL;
    return &tn__backend_of(d)->ledgers[d.index];
}

static tn_transfer_count count_of(const tn__ledger *l, tn__crossing what)
{
    return (tn_transfer_count){atomic_load_explicit(&l->copies[what], memory_order_relaxed),
                               atomic_load_explicit(&l->bytes[what], memory_order_relaxed)};
}

tn_transfer_statistics tn_transfer_stats(tn_device device)
{
    const tn__ledger *l = ledger_of(device);
    if (!l)
        return (tn_transfer_statistics){.synchronizations = 0};
    return (tn_transfer_statistics){
        .upload_pinned = count_of(l, TN__UPLOAD_PINNED),
        .upload_pageable = count_of(l, TN__UPLOAD_PAGEABLE),
        .download_pinned = count_of(l, TN__DOWNLOAD_PINNED),
        .download_pageable = count_of(l, TN__DOWNLOAD_PAGEABLE),
        .peer_out = count_of(l, TN__PEER_OUT),
        .peer_in = count_of(l, TN__PEER_IN),
        .staged = atomic_load_explicit(&l->staged, memory_order_relaxed),
        .synchronizations = atomic_load_explicit(&l->synchronizations, memory_order_relaxed),
        .launches = atomic_load_explicit(&l->launches, memory_order_relaxed),
        .own_products = atomic_load_explicit(&l->own_products, memory_order_relaxed),
    };
}

void tn_reset_transfer_stats(tn_device device)
{
    tn__ledger *l = ledger_of(device);
    if (!l)
        return;
    for (int i = 0; i < TN__CROSSINGS; i++) {
        atomic_store_explicit(&l->copies[i], 0, memory_order_relaxed);
        atomic_store_explicit(&l->bytes[i], 0, memory_order_relaxed);
    }
    atomic_store_explicit(&l->staged, 0, memory_order_relaxed);
    atomic_store_explicit(&l->synchronizations, 0, memory_order_relaxed);
    atomic_store_explicit(&l->launches, 0, memory_order_relaxed);
    atomic_store_explicit(&l->own_products, 0, memory_order_relaxed);
}
