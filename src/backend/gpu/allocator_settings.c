/* TENON_CUDA_ALLOC_CONF: key:value pairs behind each other with commas, as PyTorch's variables of the same meaning have them. */
#include "backend/gpu/allocator_settings.h"
#include "core/env.h"
#include "core/error.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

enum { WORD = 64, SMALLEST_SPLIT = 20 }; /* MiB */

static const tn__gpu_settings plain = {.max_split = SIZE_MAX, .max_rounding = (size_t)20 << 20};

/* What is left of the text, what is being made of it, and what is wrong. */
typedef struct reader {
    const char *at;
    tn__gpu_settings *out;
    char *fault;
    size_t size;
} reader;

TN_PRINTF(2, 3) static bool refuse(const reader *r, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(r->fault, r->size, format, ap);
    va_end(ap);
    return false;
}

static void skip_blanks(reader *r)
{
    while (*r->at == ' ')
        r->at++;
}

/* One of , : [ ] or what stands before the next of them; "" at the end. */
static const char *next(reader *r, char word[WORD])
{
    size_t n = 0;
    skip_blanks(r);
    if (*r->at && strchr(",:[]", *r->at))
        word[n++] = *r->at++;
    else
        for (; *r->at && !strchr(",:[] ", *r->at); r->at++)
            if (n < WORD - 1)
                word[n++] = *r->at;
    word[n] = '\0';
    return word;
}

static bool is_next(reader *r, char c)
{
    skip_blanks(r);
    if (*r->at != c)
        return false;
    r->at++;
    return true;
}

/* Digits, and a point among them. Not by strtod, which reads what the program's locale writes: 0,5. */
static bool number(reader *r, const char *key, const char *word, double *value)
{
    const char *c = word;
    double n = 0, unit = 1;
    for (bool point = false; (*c >= '0' && *c <= '9') || (*c == '.' && c > word && !point); c++)
        if (*c == '.') {
            point = true;
        } else {
            n = n * 10 + (*c - '0');
            unit *= point ? 10 : 1;
        }
    *value = n / unit;
    return (c > word && !*c) || refuse(r, "Error, expecting %s value, but got '%s'", key, word);
}

/* A whole number of MiB, as bytes. */
static bool mebibytes(reader *r, const char *key, size_t *bytes)
{
    char word[WORD];
    double n;
    if (!number(r, key, next(r, word), &n))
        return false;
    if (n > (double)((size_t)PTRDIFF_MAX >> 20) || n != (double)(int64_t)n)
        return refuse(r, "Error, expecting %s value, but got '%s'", key, word);
    *bytes = (size_t)n << 20;
    return true;
}

static bool max_split(reader *r, const char *key)
{
    return mebibytes(r, key, &r->out->max_split) &&
           (r->out->max_split > (size_t)SMALLEST_SPLIT << 20 ||
            refuse(r, "CachingAllocator option max_split_size_mb too small, must be > %d", SMALLEST_SPLIT));
}

static bool max_rounding(reader *r, const char *key)
{
    return mebibytes(r, key, &r->out->max_rounding);
}

static bool threshold(reader *r, const char *key)
{
    char word[WORD];
    return number(r, key, next(r, word), &r->out->gc_threshold) &&
           ((r->out->gc_threshold > 0 && r->out->gc_threshold < 1) ||
            refuse(r, "garbage_collect_threshold is invalid, set it in (0.0, 1.0)"));
}

static bool truth(reader *r, const char *key, bool *value)
{
    char word[WORD];
    *value = !strcmp(next(r, word), "True");
    return *value || !strcmp(word, "False") || refuse(r, "Expected a single True/False argument for %s", key);
}

static bool expandable(reader *r, const char *key)
{
    return truth(r, key, &r->out->expandable);
}

/* What does not change what a program sees here: how PyTorch locks, and how it takes pinned memory. */
static bool without_effect(reader *r, const char *key)
{
    bool value;
    return truth(r, key, &value);
}

static bool count_without_effect(reader *r, const char *key)
{
    char word[WORD];
    double n;
    return number(r, key, next(r, word), &n);
}

static bool backend(reader *r, const char *key)
{
    char word[WORD];
    (void)key;
    if (!strcmp(next(r, word), "native"))
        return true;
    if (!strcmp(word, "cudaMallocAsync"))
        return refuse(r, "backend:cudaMallocAsync: Tenon has its own caching allocator alone, backend:native; what the "
                         "driver's is used for, little loss to fragments, expandable_segments:True does");
    return refuse(r, "Unknown allocator backend '%s', options are native", word);
}

static bool is_power(double n)
{
    return n >= 1 && n <= UINT32_MAX && n == (double)(uint32_t)n && !((uint32_t)n & ((uint32_t)n - 1));
}

static bool divisions(reader *r, const char *key, const char *word, uint32_t *out)
{
    double n;
    if (!number(r, key, word, &n))
        return false;
    if (n != 0 && !is_power(n))
        return refuse(r, "For roundups, the divisions has to be power of 2 or 0 to disable roundup");
    *out = (uint32_t)n;
    r->out->rounds = r->out->rounds || n > 1;
    return true;
}

static void fill(reader *r, int from, int to, uint32_t n)
{
    for (int i = from; i < to; i++)
        r->out->divisions[i] = n;
}

/* [256:1,512:2,>:8]: of requests of 256 MiB and less, of those of 512 MiB, of larger ones. */
static bool listed(reader *r, const char *key)
{
    char from[WORD], word[WORD];
    int last = -1;
    do {
        double size = 0;
        uint32_t n = 0;
        next(r, from);
        if (!is_next(r, ':'))
            return refuse(r, "Error parsing roundup_power2_divisions value");
        if (strcmp(from, ">") != 0 && (!number(r, key, from, &size) || !is_power(size)))
            return refuse(r, "For roundups, the intervals have to be power of 2");
        if (!divisions(r, key, next(r, word), &n))
            return false;
        const int power = size > 0 ? 31 - __builtin_clz((unsigned)size) : TN__GPU_INTERVALS;
        const int i = TN_MIN(power, TN__GPU_INTERVALS - 1);
        fill(r, last < 0 && size > 0 ? 0 : size > 0 ? i : last + 1, i + 1, n);
        last = i;
    } while (is_next(r, ','));
    return is_next(r, ']') || refuse(r, "Error parsing roundup_power2_divisions value");
}

static bool roundup(reader *r, const char *key)
{
    char word[WORD];
    uint32_t n = 0;
    if (is_next(r, '['))
        return listed(r, key);
    if (!divisions(r, key, next(r, word), &n))
        return false;
    fill(r, 0, TN__GPU_INTERVALS, n);
    return true;
}

static const struct {
    const char *name;
    bool (*read)(reader *r, const char *key);
} keys[] = {
    {"max_split_size_mb", max_split},
    {"max_non_split_rounding_mb", max_rounding},
    {"garbage_collection_threshold", threshold},
    {"roundup_power2_divisions", roundup},
    {"expandable_segments", expandable},
    {"backend", backend},
    {"pinned_use_cuda_host_register", without_effect},
    {"pinned_use_background_threads", without_effect},
    {"pinned_num_register_threads", count_without_effect},
    {"release_lock_on_cudamalloc", without_effect},
    {"release_lock_on_hipmalloc", without_effect},
    {"graph_capture_record_stream_reuse", without_effect},
};

static bool read_pair(reader *r)
{
    char key[WORD];
    next(r, key);
    for (size_t i = 0; i < TN_COUNT(keys); i++)
        if (!strcmp(key, keys[i].name))
            return is_next(r, ':') ? keys[i].read(r, key)
                                   : refuse(r, "Error parsing CachingAllocator settings, expected : behind %s", key);
    return refuse(r, "Unrecognized key '%s' in CUDA allocator config.", key);
}

bool tn__gpu_settings_parse(const char *text, tn__gpu_settings *out, char *fault, size_t size)
{
    reader r = {text, out, fault, size};
    *out = plain;
    skip_blanks(&r);
    while (*r.at) {
        if (!read_pair(&r) || (!is_next(&r, ',') && *r.at &&
                               !refuse(&r, "Error parsing CachingAllocator settings, expected , before '%s'", r.at))) {
            *out = plain;
            return false;
        }
        skip_blanks(&r);
    }
    return true;
}

size_t tn__gpu_round_to_division(size_t bytes, size_t divisions)
{
    const size_t floor = (size_t)1 << (63 - __builtin_clzll((unsigned long long)bytes));
    const size_t step = floor / divisions;
    return bytes == floor ? bytes : step ? (bytes + step - 1) / step * step : 2 * floor;
}

/* ---- the environment ---- */

static struct {
    pthread_once_t once;
    const char *variable; /* that said it, if one did */
    tn__gpu_settings settings;
    char fault[256]; /* "" where it is understood */
} now = {.once = PTHREAD_ONCE_INIT};

static void read_environment(void)
{
    static const char *const names[] = {"TENON_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"};
    const char *text = NULL;
    for (size_t i = 0; i < TN_COUNT(names) && !text; i++) {
        now.variable = names[i];
        text = tn__env_text(names[i]);
    }
    tn__gpu_settings_parse(text ? text : "", &now.settings, now.fault, sizeof now.fault);
}

const tn__gpu_settings *tn__gpu_settings_now(void)
{
    pthread_once(&now.once, read_environment);
    return &now.settings;
}

tn_status tn__gpu_settings_check(void)
{
    pthread_once(&now.once, read_environment);
    return *now.fault ? tn__error(TN_EINVAL, "%s\n  in %s='%s'", now.fault, now.variable, tn__env_text(now.variable))
                      : TN_OK;
}
