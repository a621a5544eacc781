/* core/error.h: the one door for errors. A failing function sets the record and returns what the call returns. */
#ifndef TENON_CORE_ERROR_H
#define TENON_CORE_ERROR_H

#include "core/base.h"
#include <tenon/error.h>

/* Sets the thread's record to the text, and the call site after it. Returns code. */
TN_COLD tn_status tn__error(tn_status code, const char *format, ...) TN_PRINTF(2, 3);

/* The same, returning NULL, for functions that return a handle. */
#define tn__fail(...) (tn__error(__VA_ARGS__), NULL)

/* Appends to the record's message (help, or what was being done). Returns the record's code. */
TN_COLD tn_status tn__error_append(const char *format, ...) TN_PRINTF(1, 2);

/* Memory is out: 'what' was being made, of that many bytes. */
TN_COLD tn_status tn__error_memory(const char *what, size_t bytes);

/* "512 bytes", "20.00 MiB", "4.50 GiB", as PyTorch's errors of memory write it; by value. */
typedef struct tn__size_text {
    char s[32];
} tn__size_text;
tn__size_text tn__size_str(int64_t bytes);

/* A NULL operand: keeps the record of the call that failed, or says that nobody failed. Returns its code. */
TN_COLD tn_status tn__poisoned(const char *what);

/* Saves and restores the record around clean-up that may fail by itself. */
typedef struct tn__error_copy {
    tn_status code;
    char text[4096];
} tn__error_copy;
void tn__error_save(tn__error_copy *c);
void tn__error_restore(const tn__error_copy *c);

#endif
