/* core/variables.h: the environment variables that Tenon reads, as core/variables.def lists them, and what is wrong with
 * a value. */
#ifndef TENON_CORE_VARIABLES_H
#define TENON_CORE_VARIABLES_H

#include "core/base.h"

typedef enum tn__variable_kind {
    TN__VAR_TEXT,     /* anything; whoever reads it judges it */
    TN__VAR_FLAG,     /* 1, yes, on, true; 0, no, off, false */
    TN__VAR_COUNT,    /* a whole number, least .. most */
    TN__VAR_BYTES,    /* 512MiB */
    TN__VAR_CHOICE,   /* one of the words */
    TN__VAR_LIBRARY,  /* a shared library: its path, or a name for the loader; or one of the words */
    TN__VAR_FOLDER,   /* one that is there or may be made; or one of the words */
    TN__VAR_FOLDERS,  /* separated by colons; one of them at least is there */
    TN__VAR_PROGRAM,  /* its path, or a name in PATH */
    TN__VAR_ORDINALS, /* 2,0 */
    TN__VAR_GPUS      /* 2x4GiB */
} tn__variable_kind;

typedef struct tn__variable {
    const char *name;
    tn__variable_kind kind;
    bool guarded;
    int64_t least, most;
    const char *words; /* "baseline, avx2, avx512" */
    const char *example, *otherwise, *readers, *meaning;
} tn__variable;

/* NULL: nothing reads a variable of that name. */
const tn__variable *tn__variable_named(const char *name);

/* False where the value is none of its kind: a clause that says so goes to fault. An empty value is as none. */
bool tn__variable_judge(const tn__variable *v, const char *value, char *fault, size_t size);

/* Whoever reads a variable found that its value is of no use, as no look at the value itself tells: a clause for
 * tn_settings(), as long as the variable has that value. */
void tn__variable_refuse(const char *name, const char *format, ...) TN_PRINTF(2, 3);

#endif
