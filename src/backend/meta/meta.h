/* backend/meta/meta.h: shapes without bytes. Every operation runs; none computes. */
#ifndef TENON_BACKEND_META_H
#define TENON_BACKEND_META_H

#include "backend/backend.h"

extern const tn__backend tn__meta_backend;

#endif
