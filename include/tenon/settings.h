/* tenon/settings.h: environment variables, as Tenon reads them.
 *
 * README.md lists them. A value that is no good is never guessed at: what holds instead, and what would be right, is said
 * here. The library does not print it: a program that wants its users to know asks once, at its start:
 *
 *     if (tn_settings_check())
 *         fprintf(stderr, "%s\n", tn_error_message());
 *
 * The command 'tenon' and the Python package do so, each setting once. In a process with more rights than whoever started it
 * (set-user-id, set-group-id, file capabilities) variables that name libraries, programs or places are ignored: TENON_BLAS,
 * TENON_CUDA_PATH, TENON_CACHE_DIR, those of fake GPUs, HOME, PATH and the like.
 */
#ifndef TENON_SETTINGS_H
#define TENON_SETTINGS_H

#include <tenon/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A variable that is set. */
typedef struct tn_setting {
    char name[64];
    char value[256];     /* its first 255 bytes; '?' for what steers terminals */
    char wrong[512];     /* what is wrong, what holds instead, what would be right, in one line; "" where nothing is */
    const char *meaning; /* "" where Tenon does not read it */
} tn_setting;

/* Those that are set and whose names begin with TENON_ or CUDA_, sorted by name. Writes up to cap; returns how many there
 * are; 0 with an error set (and nothing written) when memory is out, which only more than 64 need. The environment is read
 * anew in each call: no other thread may change it meanwhile. */
TN_API size_t tn_settings(tn_setting *out, size_t cap);

/* TN_OK, or TN_EVALUE with a message of a line for each wrong setting; of very many its last line says how many more there
 * are. */
TN_API tn_status tn_settings_check(void);

/* What Tenon reads a variable as: NULL where it is not set, is ignored, or is none of Tenon's. Not copied. */
TN_API const char *tn_setting_value(const char *name);

/* Has this process more rights than whoever started it, so that variables that name libraries, programs or places are ignored? */
TN_API bool tn_settings_guarded(void);

#ifdef __cplusplus
}
#endif
#endif
