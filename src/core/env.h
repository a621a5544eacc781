/* core/env.h: environment variables and facts about the machine. Read when first needed; each has one reader. */
#ifndef TENON_CORE_ENV_H
#define TENON_CORE_ENV_H

#include "core/base.h"

/* True for 1, yes, on, true. */
bool tn__env_flag(const char *name);
/* A whole number; 'otherwise' where the variable is unset or not one. */
int64_t tn__env_number(const char *name, int64_t otherwise);
/* "512MiB", "2GiB", "1048576". */
int64_t tn__env_bytes(const char *name, int64_t otherwise);
/* Parses the same text. False if it is not a size. */
bool tn__parse_bytes(const char *text, int64_t *bytes);
int64_t tn__env_physical_memory(void);
/* CPUs this process may run on. */
int tn__env_cpu_count(void);
/* Size of the last-level cache in bytes; 8 MiB where unknown. */
int64_t tn__env_last_level_cache(void);

#endif
