/* The list of environment variables; what is wrong with a value; what users are told of those that are set. */
#include "core/variables.h"
#include "core/alloc.h"
#include "core/env.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/thread.h"
#include "core/utf8.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <tenon/settings.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <crt_externs.h>
#define environ (*_NSGetEnviron())
#else
extern char **environ;
#endif

static const tn__variable variables[] = {
#define VARIABLE(name_, ...) {.name = #name_, __VA_ARGS__},
#include "core/variables.def"
#undef VARIABLE
};

const tn__variable *tn__variable_named(const char *name)
{
    for (size_t i = 0; i < TN_COUNT(variables); i++)
        if (!strcmp(variables[i].name, name))
            return &variables[i];
    return NULL;
}

/* ---- values ---- */

static bool is_word(const char *words, const char *value)
{
    for (size_t n; words && *words; words += n + strspn(words + n, ", ")) {
        n = strcspn(words, ",");
        if (n == strlen(value) && !strncmp(words, value, n))
            return true;
    }
    return false;
}

/* What a file is not, as far as its first bytes tell; a name without a slash is the loader's to find. */
static const char *library_fault(const char *path)
{
    static const char elf[4] = {0x7f, 'E', 'L', 'F'};
    char head[4] = "";
    struct stat s;
    if (!strchr(path, '/'))
        return NULL;
    if (stat(path, &s))
        return errno == EACCES ? "it cannot be reached" : "there is no such file";
    int fd = S_ISREG(s.st_mode) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    bool whole = fd >= 0 && read(fd, head, sizeof head) == sizeof head;
    if (fd >= 0)
        close(fd);
    else
        return S_ISREG(s.st_mode) ? "it cannot be read" : "it is no file";
#if defined(__ELF__)
    return whole && !memcmp(head, elf, sizeof elf) ? NULL : "it is no shared library";
#else
    (void)elf;
    return whole ? NULL : "it is no shared library";
#endif
}

static bool is_folder(const char *path, size_t n)
{
    char text[4096];
    struct stat s;
    return n < sizeof text && (memcpy(text, path, n), text[n] = '\0', stat(text, &s) == 0) && S_ISDIR(s.st_mode);
}

static const char *folder_fault(const char *path)
{
    struct stat s;
    if (stat(path, &s) == 0)
        return S_ISDIR(s.st_mode) ? NULL : "it is no folder";
    return errno == ENOTDIR ? "it lies in what is no folder" : NULL;
}

static const char *folders_fault(const char *list)
{
    for (size_t n; *list; list += n + (list[n] == ':')) {
        n = strcspn(list, ":");
        if (n && is_folder(list, n))
            return NULL;
    }
    return "it names no folder that is there";
}

static bool is_program(const char *folder, size_t n, const char *name)
{
    char path[4096];
    struct stat s;
    int length = snprintf(path, sizeof path, "%.*s%s%s", (int)n, folder, n ? "/" : "", name);
    return length < (int)sizeof path && stat(path, &s) == 0 && S_ISREG(s.st_mode) && access(path, X_OK) == 0;
}

static const char *program_fault(const char *name)
{
    const char *p = tn__env_text("PATH");
    if (strchr(name, '/'))
        return is_program("", 0, name) ? NULL : "it is no program";
    for (p = p && *p ? p : "/usr/local/bin:/usr/bin:/bin"; *p;) {
        size_t n = strcspn(p, ":");
        if (n && is_program(p, n, name))
            return NULL;
        p += n + (p[n] == ':');
    }
    return "there is no such program in PATH";
}

static bool is_ordinals(const char *list)
{
    while (*list)
        if (tn__parse_ordinal(&list, INT32_MAX) < 0)
            return false;
    return true;
}

/* COUNT or COUNTxSIZE, within what src/fakegpu/env.c takes. */
static bool is_gpus(const char *text)
{
    char *end;
    int64_t bytes;
    if (*text < '0' || *text > '9' || strtoul(text, &end, 10) > 64)
        return false;
    return !*end ||
           (*end == 'x' && tn__parse_bytes(end + 1, &bytes) && bytes >= INT64_C(16) << 20 && bytes <= INT64_C(1) << 40);
}

static const char *fault_of(const tn__variable *v, const char *value)
{
    int64_t n;
    bool yes;
    switch (v->kind) {
    case TN__VAR_FLAG:
        return tn__parse_flag(value, &yes) ? NULL : "it is neither 1 (yes, on, true) nor 0 (no, off, false)";
    case TN__VAR_BYTES:
        return tn__parse_bytes(value, &n) ? NULL : "it is not a size: a number of bytes, or one with KiB, MiB or GiB";
    case TN__VAR_LIBRARY: return library_fault(value);
    case TN__VAR_FOLDER: return folder_fault(value);
    case TN__VAR_FOLDERS: return folders_fault(value);
    case TN__VAR_PROGRAM: return program_fault(value);
    case TN__VAR_ORDINALS: return is_ordinals(value) ? NULL : "it is no list of numbers with commas between them";
    case TN__VAR_GPUS:
        return is_gpus(value)
                   ? NULL
                   : "it is neither COUNT nor COUNTxSIZE, of 0 to 64 GPUs with 16MiB to 1024GiB (MiB, GiB) each";
    default: return NULL;
    }
}

bool tn__variable_judge(const tn__variable *v, const char *value, char *fault, size_t size)
{
    int64_t n;
    if (!*value || is_word(v->words, value))
        return true;
    if (v->kind == TN__VAR_COUNT) {
        bool good = tn__parse_number(value, &n) && n >= v->least && n <= v->most;
        if (!good)
            snprintf(fault, size, "it is not a whole number from %lld to %lld", (long long)v->least,
                     (long long)v->most);
        return good;
    }
    if (v->kind == TN__VAR_CHOICE) {
        snprintf(fault, size, "it is none of %s", v->words);
        return false;
    }
    const char *text = fault_of(v, value);
    if (text)
        snprintf(fault, size, "%s", text);
    return !text;
}

/* ---- what readers found ---- */

enum { NOTES = 8, BEGINNING = 128 };

typedef struct note {
    const char *name;
    char value[BEGINNING]; /* of the value that it is about */
    char text[320];
} note;

static struct {
    pthread_mutex_t lock;
    note of[NOTES];
} refused = {.lock = PTHREAD_MUTEX_INITIALIZER};

void tn__variable_refuse(const char *name, const char *format, ...)
{
    const tn__variable *v = tn__variable_named(name);
    const char *value = tn__env_text(name);
    va_list args;
    size_t i = 0;
    if (!v || !value)
        return;
    pthread_mutex_lock(&refused.lock);
    while (i < NOTES && refused.of[i].name && refused.of[i].name != v->name)
        i++;
    if (i < NOTES) {
        note *n = &refused.of[i];
        va_start(args, format);
        vsnprintf(n->text, sizeof n->text, format, args);
        va_end(args);
        snprintf(n->value, sizeof n->value, "%s", value);
        n->name = v->name;
    }
    pthread_mutex_unlock(&refused.lock);
}

static bool was_refused(const tn__variable *v, const char *value, char *fault, size_t size)
{
    bool found = false;
    pthread_mutex_lock(&refused.lock);
    for (size_t i = 0; i < NOTES && refused.of[i].name && !found; i++) {
        const note *n = &refused.of[i];
        found = n->name == v->name && !strncmp(n->value, value, BEGINNING - 1);
        if (found)
            snprintf(fault, size, "%s", n->text);
    }
    pthread_mutex_unlock(&refused.lock);
    return found;
}

/* ---- slips ---- */

/* How many letters must be put in, left out or replaced to make one name of the other (Levenshtein 1966). */
static size_t distance(const char *a, const char *b)
{
    size_t n = strlen(b), row[64];
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t best = TN_MIN(diagonal + (a[i - 1] != b[j - 1]), TN_MIN(row[j], row[j - 1]) + 1);
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[n];
}

/* How far a name that nothing reads is from one that is read; 9: too far. */
static size_t far_from(const char *name, const tn__variable *v)
{
    const char *behind = name + strlen("TENON_");
    size_t apart = distance(name, v->name);
    if (strncmp(v->name, "TENON_", strlen("TENON_")) != 0 || !strcmp(v->readers, "tests"))
        return 9;
    if (apart <= 2)
        return apart;
    if (strlen(behind) < 3)
        return 9;
    return !strncmp(v->name, name, strlen(name)) ? 3 : strstr(v->name, behind) ? 4 : 9;
}

/* The name that was meant, of equally near ones the shortest; NULL if none is near. */
static const char *meant_by(const char *name)
{
    size_t least = 9;
    const char *meant = NULL;
    for (size_t i = 0; i < TN_COUNT(variables); i++) {
        size_t far = far_from(name, &variables[i]);
        if (far < least || (meant && far == least && far < 9 && strlen(variables[i].name) < strlen(meant))) {
            least = far;
            meant = variables[i].name;
        }
    }
    return meant;
}

/* ---- public ---- */

static void describe(const char *entry, tn_setting *out)
{
    char fault[400], wrong[sizeof out->wrong] = "";
    size_t n = strcspn(entry, "=");
    const char *value = entry + n + (entry[n] == '=');
    tn__copy_plain(out->name, sizeof out->name, entry, n);
    tn__copy_plain(out->value, sizeof out->value, value, strlen(value));
    const tn__variable *v = tn__variable_named(out->name);
    out->meaning = v ? v->meaning : "";
    if (!v && *entry == 'T') {
        const char *meant = meant_by(out->name);
        snprintf(wrong, sizeof wrong, "nothing reads it%s%s%s", meant ? "; did you mean " : "; unset it",
                 meant ? meant : "", meant ? "?" : "");
    } else if (v && v->guarded && tn__env_guarded()) {
        snprintf(wrong, sizeof wrong, "ignored: this process has more rights than whoever set it (set-user-id)");
    } else if (v &&
               (!tn__variable_judge(v, value, fault, sizeof fault) || was_refused(v, value, fault, sizeof fault))) {
        snprintf(wrong, sizeof wrong, "%s; as it is, %s; right is %s=%s, for example", fault, v->otherwise, v->name,
                 v->example);
    }
    tn__copy_plain(out->wrong, sizeof out->wrong, wrong, strlen(wrong)); /* the loader's words may hold the value */
}

static bool is_listed(const char *entry)
{
    return !strncmp(entry, "TENON_", 6) || !strncmp(entry, "CUDA_", 5);
}

/* By name: some characters of names are less than the '=' behind a shorter one. */
static int by_name(const void *a, const void *b)
{
    const char *p = *(char *const *)a, *q = *(char *const *)b;
    size_t n = strcspn(p, "="), m = strcspn(q, "=");
    int order = memcmp(p, q, TN_MIN(n, m));
    return order ? order : n != m ? (n < m ? -1 : 1) : strcmp(p, q);
}

size_t tn_settings(tn_setting *out, size_t cap)
{
    char *few[64], **set = few;
    size_t n = 0, room = 0;
    tn__enter(TN__NOWHERE);
    for (char **e = environ; e && *e; e++)
        room += is_listed(*e);
    if (!cap || !room)
        return room;
    if (room > TN_COUNT(few) && !(set = tn__block_get(room * sizeof *set))) {
        tn__error_memory("a list of settings", room * sizeof *set);
        return 0;
    }
    for (char **e = environ; *e && n < room; e++)
        if (is_listed(*e))
            set[n++] = *e;
    qsort(set, n, sizeof *set, by_name);
    for (size_t i = 0; i < n && i < cap; i++)
        describe(set[i], &out[i]);
    if (set != few)
        tn__block_put(set, room * sizeof *set);
    return n;
}

enum { FOR_REST = 512 }; /* of a message: how many more there are, and the place of the call */

tn_status tn_settings_check(void)
{
    tn_setting s;
    size_t length = 0, left_out = 0;
    tn_status status = TN_OK;
    tn__enter(TN__NOWHERE);
    for (char **e = environ; e && *e; e++) {
        if (!is_listed(*e))
            continue;
        describe(*e, &s);
        if (!*s.wrong)
            continue;
        if (!status)
            status = tn__error(TN_EVALUE, "settings in the environment are wrong");
        length += strlen(s.name) + strlen(s.value) + strlen(s.wrong) + strlen("\n  =: ");
        if (length < TN__MESSAGE - FOR_REST)
            tn__error_append("\n  %s=%s: %s", s.name, s.value, s.wrong);
        else
            left_out++;
    }
    if (left_out)
        tn__error_append("\n  ... and %zu more", left_out);
    return status;
}

const char *tn_setting_value(const char *name)
{
    return name ? tn__env_text(name) : NULL;
}

bool tn_settings_guarded(void)
{
    return tn__env_guarded();
}
