/* core/warning.h: what users should know though nothing failed: once each in a process, by the program's handler
 * (tn_set_warning_handler). */
#ifndef TENON_CORE_WARNING_H
#define TENON_CORE_WARNING_H

#include "core/base.h"

/* Warns if *said is false, and sets it: a static of the caller's. No lock is held: the handler is the program's. */
TN_COLD void tn__warn_once(_Atomic bool *said, const char *format, ...) TN_PRINTF(2, 3);

#endif
