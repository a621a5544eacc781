/* backend/transfer.h: the one door for bytes that cross devices. */
#ifndef TENON_BACKEND_TRANSFER_H
#define TENON_BACKEND_TRANSFER_H

#include "core/tensor.h"

/* Writes 'from' into 'to', which is on another device: converted to its dtype and broadcast to its shape, whatever the
 * strides. In the order of the current streams of both devices. It returns when 'from' may be changed and, where 'to' is
 * on the CPU, when it may be read; not so with non_blocking where the CPU's side is pinned memory that is moved as it
 * lies: that must be left alone until the streams are done. To meta nothing is moved; out of it nothing can be. */
TN_MUST_USE tn_status tn__transfer(const tn_tensor *to, const tn_tensor *from, bool non_blocking);

#endif
