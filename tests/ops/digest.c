/* Hashes results, and writes a line for each operation, dtype, layout and device. */
#include "ops/digest.h"
#include "ops/kit.h"
#include <ctype.h>
#include <string.h>

typedef struct line {
    char key[160]; /* "operation dtype layout" */
    int64_t results;
    uint64_t sum;
} line;

static struct {
    line *all;
    size_t n, room;
    int32_t *slot; /* hash table of 2 * room: index + 1 */
} lines;

bool digest_wanted(void)
{
    const char *file = getenv("TENON_TEST_DIGEST");
    return file && *file;
}

static uint64_t hash(uint64_t h, const void *p, size_t n)
{
    for (const unsigned char *c = p; n--; c++)
        h = (h ^ *c) * UINT64_C(0x100000001b3); /* FNV-1a */
    return h;
}

static uint64_t mixed(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static bool is_nan(tn_dtype d, const void *p)
{
    uint16_t small;
    float f;
    double x;
    switch (d) {
    case TN_F16: memcpy(&small, p, 2); return (small & 0x7fff) > 0x7c00;
    case TN_BF16: memcpy(&small, p, 2); return (small & 0x7fff) > 0x7f80;
    case TN_F32: memcpy(&f, p, 4); return isnan(f);
    case TN_F64: memcpy(&x, p, 8); return isnan(x);
    default: return false;
    }
}

/* values: also its elements, which are any in what 'empty' makes. */
static uint64_t hash_of(const tn_tensor *t, bool values)
{
    const tn_dims shape = tn_tensor_shape(t), stride = tn_tensor_stride(t);
    const tn_dtype d = tn_tensor_dtype(t);
    const size_t size = tn_dtype_size(d);
    int64_t at[TN_MAX_DIMS];
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    h = hash(h, tn_dtype_name(d), strlen(tn_dtype_name(d)));
    h = hash(h, shape.dim, (size_t)shape.ndim * sizeof *shape.dim);
    for (int64_t i = 0, n = values ? tn_tensor_numel(t) : 0; i < n; i++) {
        kit_unravel(i, shape.ndim, shape.dim, at);
        const char *p = (const char *)tn_data(t) + kit_ravel(shape.ndim, stride.dim, at) * (int64_t)size;
        h = is_nan(d, p) ? hash(h, "nan", 3) : hash(h, p, size);
    }
    return mixed(h);
}

static void more_room(void)
{
    lines.room = lines.room ? 2 * lines.room : 1024;
    lines.all = realloc(lines.all, lines.room * sizeof *lines.all);
    free(lines.slot);
    lines.slot = calloc(2 * lines.room, sizeof *lines.slot);
    for (size_t i = 0; i < lines.n; i++) {
        size_t s = mixed(hash(1, lines.all[i].key, strlen(lines.all[i].key))) % (2 * lines.room);
        while (lines.slot[s])
            s = (s + 1) % (2 * lines.room);
        lines.slot[s] = (int32_t)i + 1;
    }
}

static line *line_of(const char *key)
{
    if (lines.n == lines.room)
        more_room();
    size_t s = mixed(hash(1, key, strlen(key))) % (2 * lines.room);
    for (; lines.slot[s]; s = (s + 1) % (2 * lines.room))
        if (!strcmp(lines.all[lines.slot[s] - 1].key, key))
            return &lines.all[lines.slot[s] - 1];
    line *l = &lines.all[lines.n];
    *l = (line){.results = 0};
    snprintf(l->key, sizeof l->key, "%s", key);
    lines.slot[s] = (int32_t)++lines.n;
    return l;
}

/* Appends a word: what is no letter, digit or dot between its ends becomes '_'. */
static void add_word(char *key, size_t room, const char *text, size_t n)
{
    size_t at = strlen(key);
    if (at && at + 1 < room)
        key[at++] = ' ';
    const size_t first = at;
    for (size_t i = 0; i < n && at + 1 < room; i++) {
        const bool plain = isalnum((unsigned char)text[i]) || strchr("._:-", text[i]);
        if (plain || (at > first && key[at - 1] != '_'))
            key[at++] = plain ? text[i] : '_';
    }
    if (at == first && at + 1 < room)
        key[at++] = '-';
    key[at] = '\0';
}

static void note(const char *operation, size_t n_operation, const char *layout, size_t n_layout, const tn_tensor *host)
{
    char key[sizeof lines.all->key] = "";
    const char *dtype = host ? tn_dtype_name(tn_tensor_dtype(host)) : "none";
    add_word(key, sizeof key, operation, n_operation);
    add_word(key, sizeof key, dtype, strlen(dtype));
    add_word(key, sizeof key, layout, n_layout);
    line *l = line_of(key);
    l->results++;
    l->sum += host ? hash_of(host, strncmp(key, "empty", 5) != 0) : 1;
}

void digest_note(const char *operation, const char *layout, const tn_tensor *host)
{
    if (digest_wanted())
        note(operation, strlen(operation), layout, strlen(layout), host);
}

static bool is_dtype(const char *word, size_t n)
{
    for (int i = 0; i < KIT_DTYPES; i++)
        if (strlen(tn_dtype_name(kit_dtypes[i])) == n && !strncmp(word, tn_dtype_name(kit_dtypes[i]), n))
            return true;
    return false;
}

/* The operation is what comes before the first dtype, shape or number; the layout the first word that is one's name. */
void digest_words(const char *words, const tn_tensor *host)
{
    size_t n = 0;
    const char *layout = "-";
    if (!digest_wanted())
        return;
    while (words[n]) {
        const size_t word = strcspn(words + n, " ,:");
        if (!word || is_dtype(words + n, word) || strchr("[(-.0123456789", words[n]))
            break;
        const size_t paren = strcspn(words + n, "(");
        n += paren < word ? paren : word;
        if (paren < word || words[n] != ' ')
            break;
        n++;
    }
    while (n && words[n - 1] == ' ')
        n--;
    if (n > 3 && !strncmp(words + n - 3, " of", 3))
        n -= 3;
    for (const char *w = words + n; *w && layout[0] == '-'; w += strcspn(w, " ,"), w += strspn(w, " ,"))
        for (int k = 0; k < KIT_LAYOUTS; k++)
            if (strcspn(w, " ,") == strlen(kit_layout_names[k]) && !strncmp(w, kit_layout_names[k], strcspn(w, " ,")))
                layout = kit_layout_names[k];
    note(words, n, layout, strlen(layout), host);
}

void digest_write(void)
{
    char where[64];
    snprintf(where, sizeof where, "%s%s", kit_on_cpu() ? "cpu-" : "",
             kit_on_cpu() ? kit_where() : tn_device_text(kit_device()).s);
    FILE *f = digest_wanted() ? fopen(getenv("TENON_TEST_DIGEST"), "a") : NULL;
    if (digest_wanted() && !f) {
        printf("FAILED: %s cannot be written to\n", getenv("TENON_TEST_DIGEST"));
        exit(1);
    }
    for (size_t i = 0; f && i < lines.n; i++)
        fprintf(f, "%s %s %lld %016llx\n", lines.all[i].key, where, (long long)lines.all[i].results,
                (unsigned long long)lines.all[i].sum);
    if (f)
        fclose(f);
    free(lines.all);
    free(lines.slot);
    lines.all = NULL;
    lines.slot = NULL;
    lines.n = lines.room = 0;
}
