/* ops/index/compose.h: what compositions of the family share. */
#ifndef TENON_OPS_INDEX_COMPOSE_H
#define TENON_OPS_INDEX_COMPOSE_H

#include "ops/compose.h"

/* The part of src, which may be larger, that the index reads; src where that does not fit, which the operation says. */
tn_tensor *tn__read_by(tn_tensor *src, const tn_tensor *index);

#endif
