/* core/dynlib.h: foreign libraries are opened at run time, by lists of names; none is linked. */
#ifndef TENON_CORE_DYNLIB_H
#define TENON_CORE_DYNLIB_H

#include "core/base.h"

/* Why a library that is there could not be opened, in the loader's words; "" where none was there. */
typedef struct tn__dynlib_fault {
    char s[448];
} tn__dynlib_fault;

/* Opens the first of the NULL-terminated names that the loader finds. Returns its handle and, in *opened, which; NULL if
 * there is none. Never sets an error: an absent library is a fact, not a failure. fault (may be NULL; "" before the first
 * call) tells of the first that is there and does not load. */
void *tn__dynlib_open(const char *const *names, const char **opened, tn__dynlib_fault *fault);

/* Can no file be opened, because too many are open? To be asked when none was found: what is there cannot be seen then. */
bool tn__dynlib_exhausted(void);
#define TN__EXHAUSTED "too many open files: this process can open no other (ulimit -n)"

/* Fills slots[i] with the address of names[i]. False if one is missing; the slots are then all NULL. */
bool tn__dynlib_symbols(void *lib, const char *const *names, void **slots, size_t n);

void tn__dynlib_close(void *lib);

/* The folder that holds this library, or the executable it is part of; no slash at its end. False where unknown. */
bool tn__dynlib_folder(char *path, size_t size);

/* Where the library that holds this address was loaded from, NULL if unknown; valid while it is open. */
const char *tn__dynlib_path(const void *address);

#endif
