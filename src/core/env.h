/* core/env.h: environment variables and facts about the machine. Read when first needed. */
#ifndef TENON_CORE_ENV_H
#define TENON_CORE_ENV_H

#include "core/base.h"

/* The door: variables that core/variables.def lists. NULL where one is not set, is not listed, or is ignored because this
 * process has more rights than whoever set it. */
const char *tn__env_text(const char *name);
bool tn__env_guarded(void);

/* A value that is none, or none of its kind, is as not set: 'otherwise'. tn_settings() tells users. */
bool tn__env_flag(const char *name, bool otherwise);
int64_t tn__env_number(const char *name, int64_t otherwise);
int64_t tn__env_bytes(const char *name, int64_t otherwise);
const char *tn__env_choice(const char *name); /* NULL: none */

/* The texts of these kinds. False, and nothing that may be used, where it is none. */
bool tn__parse_flag(const char *text, bool *yes);
bool tn__parse_number(const char *text, int64_t *n);
bool tn__parse_bytes(const char *text, int64_t *bytes); /* "512MiB", "2GiB", "1048576" */
/* The number at *list, which goes behind it and the comma that follows. -1: there is none below n. */
int32_t tn__parse_ordinal(const char **list, int32_t n);

int64_t tn__env_physical_memory(void);
/* CPUs this process may run on. */
int tn__env_cpu_count(void);
/* Size of the last-level cache in bytes; 8 MiB where unknown. */
int64_t tn__env_last_level_cache(void);

#endif
