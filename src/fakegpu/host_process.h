/* fakegpu/host_process.h: running a compiler of the machine in a private folder (host_compiler.c): for C and for C++. */
#ifndef TENON_FAKEGPU_HOST_PROCESS_H
#define TENON_FAKEGPU_HOST_PROCESS_H

#include "fakegpu/compiler.h"

enum { FAKE_PATH = 4096 };

typedef struct fake_workplace {
    char folder[FAKE_PATH], path[FAKE_PATH + 32];
} fake_workplace;

/* The program's path by its name, or the path itself: into 'path' of FAKE_PATH bytes. */
bool fake_find_program(const char *name, char *path);
bool fake_make_folder(fake_workplace *w, fake_text *log);
/* With the files that lie in it; folders in it are to be empty and gone. */
void fake_remove_folder(fake_workplace *w);
const char *fake_file_in(fake_workplace *w, const char *name); /* valid until the next call */
bool fake_write_file(const char *path, const fake_text *t);
/* Runs argv[0] to its end; whether it made the file. What it said goes to the log if it did not. */
bool fake_run_program(fake_workplace *w, const char **argv, const char *made, fake_text *log);
uint64_t fake_mixed(uint64_t h, const void *bytes, size_t n); /* FNV-1a */

#endif
