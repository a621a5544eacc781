/* tenon/data.h: tensors from files and into files, and batches for training.
 *
 * Readers check a file against its real size before they use what it says: a truncated, damaged or hostile file is an
 * error that names file, byte and field, never a crash or an allocation from a number that the file made up (what a tensor
 * that shows a mapped file asks of that file: tn_safetensors_tensor). Writers
 * write a new file beside the old one and rename it when all of it has reached the disk: a save that fails leaves the
 * old file as it was and nothing else behind. Paths are those of the C library. Every tensor read or handed out belongs
 * to the innermost scope, or to the caller where there is none; all of them are on the CPU, but batches of a loader that
 * was told another device.
 *
 * Errors of readers: TN_EINVAL (no path), TN_EIO (the system refuses; the text is the system's), TN_EFORMAT (not such a
 * file, or damaged), TN_EDTYPE (element type that Tenon has not), TN_ENOMEM. Of writers: TN_EINVAL, TN_EIO, TN_EDTYPE,
 * TN_EDEVICE (a meta tensor has no bytes), TN_ENOMEM.
 */
#ifndef TENON_DATA_H
#define TENON_DATA_H

#include <tenon/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- IDX: the format of MNIST (http://yann.lecun.com/exdb/mnist) ---- */

/* The array of an IDX file, plain or gzip-compressed (its first bytes tell, not its name): uint8, int8, int16, int32,
 * float32 or float64, of up to 8 dimensions. */
TN_API tn_tensor *tn_load_idx_at(const char *site, const char *path);
TN_API tn_tensor *tn_load_idx(const char *path);

/* ---- npy: NumPy's format, versions 1.0, 2.0, 3.0 (numpy.lib.format) ---- */

/* The array of an npy file: bool, integers of every size, float16, float32, float64, of either byte order and up to 8 dimensions.
 * An array in Fortran order comes with column-major strides, as torch.from_numpy shows it. Others (complex, object, text,
 * structured) are TN_EDTYPE; pickles are never loaded. */
TN_API tn_tensor *tn_load_npy_at(const char *site, const char *path);
TN_API tn_tensor *tn_load_npy(const char *path);

/* The same from n bytes of memory, which are copied. name stands for the path in messages; NULL: "memory". */
TN_API tn_tensor *tn_npy_parse_at(const char *site, const void *data, size_t n, const char *name);
TN_API tn_tensor *tn_npy_parse(const void *data, size_t n, const char *name);

/* Writes t, whatever its strides and device, in C order, version 1.0. bfloat16 is refused (TN_EDTYPE): npy has none. */
TN_API tn_status tn_save_npy_at(const char *site, const tn_tensor *t, const char *path) TN_MUST_USE;
TN_API tn_status tn_save_npy(const tn_tensor *t, const char *path) TN_MUST_USE;

/* ---- safetensors: tensors by name (https://github.com/huggingface/safetensors, "Format") ---- */

/* An open file (one descriptor). The caller closes it; tensors taken from it stay valid. Any thread may ask it. */
typedef struct tn_safetensors tn_safetensors;

/* Maps a file into memory and checks all of its header: sizes, dtypes, shapes, names, and that the tensors cover the
 * file's bytes exactly, without a gap or an overlap. The file may be replaced or removed while it is open. Where it may be
 * cut or written to in place, take its tensors with tn_safetensors_read. */
TN_API tn_safetensors *tn_safetensors_open_at(const char *site, const char *path);
TN_API tn_safetensors *tn_safetensors_open(const char *path);

/* The same from n bytes of memory, which are copied. name stands for the path in messages; NULL: "memory". */
TN_API tn_safetensors *tn_safetensors_parse_at(const char *site, const void *data, size_t n, const char *name);
TN_API tn_safetensors *tn_safetensors_parse(const void *data, size_t n, const char *name);

/* How many tensors there are; 0 for NULL. */
TN_API size_t tn_safetensors_count(const tn_safetensors *file);

/* The i-th name, in the order in which the tensors lie in the file; NULL, with TN_EINDEX set, if there is none. All text
 * is UTF-8, borrowed, valid until the file is closed. */
TN_API const char *tn_safetensors_name(const tn_safetensors *file, size_t i);

/* Is there a tensor of that name? Never an error. */
TN_API bool tn_safetensors_has(const tn_safetensors *file, const char *name);

/* What the header says of a tensor. Borrowed: valid until the file is closed. */
typedef struct tn_safetensors_entry {
    tn_dtype dtype;         /* 0: one that Tenon has not, such as F8_E4M3 */
    const char *dtype_name; /* as the file spells it: "BF16" */
    tn_dims shape;
    uint64_t nbytes;
} tn_safetensors_entry;
/* TN_EMISSING if there is no tensor of that name. */
TN_API tn_status tn_safetensors_info(const tn_safetensors *file, const char *name,
                                     tn_safetensors_entry *out) TN_MUST_USE;

/* The tensor of that name, showing the mapped file without a copy: read-only (in-place operations on it are refused,
 * and tn_data must not be written through: clone it first), and it keeps the mapping, not the handle. Data that the
 * file does not align is copied. TN_EMISSING if there is no such name; TN_EDTYPE if Tenon has not its dtype (C64, F4, F6_*,
 * F8_*); TN_EIO if the file is shorter than it was when it was opened. As long as the tensor shows it, nobody may cut the
 * file: the system ends a program that touches what is no longer there (SIGBUS). What is written into it shows. */
TN_API tn_tensor *tn_safetensors_tensor_at(const char *site, const tn_safetensors *file, const char *name);
TN_API tn_tensor *tn_safetensors_tensor(const tn_safetensors *file, const char *name);

/* The same, read into memory of its own, which may be written to. A file that was cut is TN_EIO, at whatever moment that
 * happened; later nothing that is done to the file matters. */
TN_API tn_tensor *tn_safetensors_read_at(const char *site, const tn_safetensors *file, const char *name);
TN_API tn_tensor *tn_safetensors_read(const tn_safetensors *file, const char *name);

/* The file's "__metadata__": the text of a key; NULL, which is no error, where it has no such key. */
TN_API const char *tn_safetensors_metadata(const tn_safetensors *file, const char *key);

/* Two texts. A list of them: TN_PAIRS({"format", "pt"}, {"epoch", "3"}). */
typedef struct tn_pair {
    const char *key, *value;
} tn_pair;
typedef struct tn_pairs {
    const tn_pair *pair;
    size_t n;
} tn_pairs;
/* All of the metadata, in the file's order. Borrowed: valid until the file is closed. */
TN_API tn_pairs tn_safetensors_metadata_all(const tn_safetensors *file);

/* Closes it. NULL is fine. */
TN_API void tn_safetensors_close(tn_safetensors *file);

typedef struct tn_save_safetensors_options {
    size_t struct_size;
    const char *site;
    tn_pairs metadata;
} tn_save_safetensors_options;
/* Writes tensors.n tensors under names[0 .. n): valid UTF-8, all different, none "__metadata__". Byte for byte what the
 * reference implementation writes: larger dtypes first, then by name. Strides and device do not matter; tensors that
 * share memory are each written in full. */
TN_API tn_status tn_save_safetensors_opt(const char *path, const char *const *names, tn_tensors tensors,
                                         const tn_save_safetensors_options *options) TN_MUST_USE;

/* Could a save to that path begin now? For long work, before it: a missing folder, one that cannot be written to, a name that
 * is too long, a folder or a device in the file's place are the error that the save would be. Nothing is changed: a file is made
 * in the folder and taken away again. That the disk has room when the save comes, nobody can say. */
TN_API tn_status tn_save_check_at(const char *site, const char *path) TN_MUST_USE;
TN_API tn_status tn_save_check(const char *path) TN_MUST_USE;

/* ---- batches ---- */

/* Goes through the rows (dimension 0) of a list of tensors, or through the items of a dataset of one's own, in batches,
 * epoch after epoch, as torch.utils.data.DataLoader does. One thread at a time may use it. */
typedef struct tn_loader tn_loader;

/* Which rows an epoch has, in which order: a sampler of one's own. The loader copies the struct. */
typedef struct tn_sampler {
    size_t struct_size;
    void *ctx;
    /* Writes the n rows of an epoch (from 0), each 0 .. rows - 1, as often as it likes. TN_OK, or a status with an error
     * set. What it writes should depend on ctx, seed (the loader's) and epoch alone: then states (tn_loader_set_state) hold.
     * Called by the thread that makes batches, one call at a time. */
    tn_status (*order)(void *ctx, uint64_t seed, int64_t epoch, int64_t *rows, int64_t n);
    int64_t length; /* rows in an epoch; as many as there are, unless said */
} tn_sampler;

typedef struct tn_loader_options {
    size_t struct_size;
    const char *site;
    int64_t batch_size; /* rows in a batch; 1 */
    bool shuffle;       /* another order in every epoch; it depends on seed and epoch alone */
    uint64_t seed;      /* of the orders, and of a dataset's items; where not said it is drawn from the CPU generator
                           (tn_manual_seed) */
    bool drop_last;     /* leave out the last batch of an epoch where it is short */
    int32_t prefetch;   /* batches that a background thread makes ahead, within an epoch; 0: none, and no thread */
    bool pin_memory;    /* batches in pinned memory, for copies that nobody waits for (tn_to's .non_blocking) */
    tn_device device; /* where batches go: a GPU gets them from pinned memory, on the current stream of the thread that
                           asks, which does not wait; the CPU where not said */
    const tn_sampler *sampler; /* instead of shuffle */
    int32_t workers;           /* of a dataset: threads that call 'get' at the same time; 1 */
} tn_loader_options;

/* A loader over one or more CPU tensors of equal size in dimension 0 ('Size mismatch between tensors', TN_EINVAL). It
 * holds a reference to each; one whose rows are not contiguous is copied once. The tensors must not be written to while
 * an epoch is under way. The caller frees the loader. NULL on error. */
TN_API tn_loader *tn_loader_new_opt(tn_tensors tensors, const tn_loader_options *options);

/* A dataset of one's own: items by number. The loader copies the struct and its name, not what ctx points to.
 *
 * Threads: 'get' is called by the thread that asks for a batch, or, with .prefetch, by the loader's; with .workers by that
 * many at once, and then what it changes through ctx needs a lock. 'collate' is called by one thread at a time, 'length' and
 * 'close' by the thread that calls tn_loader_*, never while a 'get' runs. None of them may use the loader. Meanwhile nothing
 * is recorded for backward, and the default device is the CPU. After fork(), a child's loader calls them in the child. */
typedef struct tn_dataset {
    size_t struct_size;
    const char *name; /* "Points": what errors say */
    void *ctx;
    /* How many items there are. Asked when the loader is made and as each epoch begins: it must not change (TN_EINVAL).
     * Negative: an error (the one that was set, if there is one). */
    int64_t (*length)(void *ctx);
    /* Item i: out[0 .. n), which are NULL before, n being 'fields'; CPU tensors of any dtype and shape, new ones or the
     * dataset's own. TN_OK, or a status with an error set: tn_loader_next reports it and names i; a NULL left in out fails
     * as the call did that gave it. What is made inside belongs to a scope that closes when it returns. seed is for what is
     * random in an item: it depends on the loader's seed, the epoch and i alone, whichever thread calls. */
    tn_status (*get)(void *ctx, int64_t i, uint64_t seed, tn_tensor **out, size_t n);
    /* A batch out[0 .. n) of 'count' items: field k of item j is items[j * fields + k]. CPU tensors again, which nobody
     * writes to later. NULL: each field is stacked (tn_stack), which needs equal shapes. */
    tn_status (*collate)(void *ctx, tn_tensor *const *items, size_t count, tn_tensor **out, size_t n);
    /* Frees ctx: called once, by tn_loader_free. NULL: nothing to free. */
    void (*close)(void *ctx);
    size_t fields;  /* tensors in an item; 1 unless said */
    size_t tensors; /* in a batch, where there is a collate; as many as fields unless said */
} tn_dataset;

/* A loader over a dataset. NULL on error, and then 'close' is not called. */
TN_API tn_loader *tn_loader_from_opt(const tn_dataset *dataset, const tn_loader_options *options);

/* The next batch. 1: out[i] is a new tensor with rows of the i-th tensor, of its dtype, or with the items' i-th field; it
 * belongs to the innermost scope, or to the caller. 0: the epoch is over, out is as it was; the next call begins another
 * one. -1: an error is set (TN_EINVAL if cap is less than the number of tensors, TN_ENOMEM, what a callback said), out is as
 * it was; the next call tries the same batch again. A child of fork() goes on without prefetching, with the same batches. */
TN_API int32_t tn_loader_next_at(const char *site, tn_loader *loader, tn_tensor **out, size_t cap) TN_MUST_USE;
TN_API int32_t tn_loader_next(tn_loader *loader, tn_tensor **out, size_t cap) TN_MUST_USE;

/* What was asked for and is not done: pin_memory where there is no GPU (PyTorch's text). "" otherwise. */
TN_API const char *tn_loader_warning(const tn_loader *loader);

/* Batches in an epoch; 0 for NULL. */
TN_API int64_t tn_loader_batches(const tn_loader *loader);

/* Where a loader stands: a loader over the same data, with the same options, set to it goes on with the same batches. */
typedef struct tn_loader_state {
    uint64_t seed;
    int64_t epoch; /* from 0 */
    int64_t batch; /* of that epoch, the next one; tn_loader_batches(): only its end has not been told yet */
} tn_loader_state;
TN_API tn_loader_state tn_loader_get_state(const tn_loader *loader);
/* TN_EVALUE if there is no such epoch or batch. */
TN_API tn_status tn_loader_set_state(tn_loader *loader, tn_loader_state state) TN_MUST_USE;

/* Ends the thread, frees the batches made ahead, lets go of the tensors. At any moment; NULL is fine. */
TN_API void tn_loader_free(tn_loader *loader);

#ifdef __cplusplus
}
#else
#define TN_PAIRS(...) \
    ((tn_pairs){(const tn_pair[]){__VA_ARGS__}, sizeof((const tn_pair[]){__VA_ARGS__}) / sizeof(tn_pair)})
#define tn_load_idx(path_)                     tn_load_idx_at(TN_HERE, (path_))
#define tn_load_npy(path_)                     tn_load_npy_at(TN_HERE, (path_))
#define tn_npy_parse(data_, n_, name_)         tn_npy_parse_at(TN_HERE, (data_), (n_), (name_))
#define tn_save_npy(t_, path_)                 tn_save_npy_at(TN_HERE, (t_), (path_))
#define tn_save_check(path_)                   tn_save_check_at(TN_HERE, (path_))
#define tn_safetensors_open(path_)             tn_safetensors_open_at(TN_HERE, (path_))
#define tn_safetensors_parse(data_, n_, name_) tn_safetensors_parse_at(TN_HERE, (data_), (n_), (name_))
#define tn_safetensors_tensor(file_, name_)    tn_safetensors_tensor_at(TN_HERE, (file_), (name_))
#define tn_safetensors_read(file_, name_)      tn_safetensors_read_at(TN_HERE, (file_), (name_))
#define tn_save_safetensors(...)               TN__X_save_safetensors(__VA_ARGS__, )
#define TN__X_save_safetensors(path_, names_, tensors_, ...) \
    TN__OPTIONS(TN__NAMED4(__VA_ARGS__), tn_save_safetensors_opt, \
                "tn_save_safetensors(path, names, tensors, .metadata)", ".metadata = TN_PAIRS({\"format\", \"pt\"})") \
    ((path_), (names_), (tensors_), &(tn_save_safetensors_options){TN__SITE(tn_save_safetensors_options), __VA_ARGS__})
#define tn_loader_new(...) TN__X_loader_new(__VA_ARGS__, )
#define TN__X_loader_new(tensors_, ...) \
    TN__OPTIONS(TN__NAMED13(__VA_ARGS__), tn_loader_new_opt, \
                "tn_loader_new(tensors, .batch_size, .shuffle, .seed, .drop_last, .prefetch, .pin_memory, .device)", \
                ".batch_size = 64") \
    ((tensors_), &(tn_loader_options){TN__SITE(tn_loader_options), __VA_ARGS__})
#define tn_loader_from(...) TN__X_loader_from(__VA_ARGS__, )
#define TN__X_loader_from(dataset_, ...) \
    TN__OPTIONS(TN__NAMED13(__VA_ARGS__), tn_loader_from_opt, \
                "tn_loader_from(dataset, .batch_size, .shuffle, .seed, .drop_last, .prefetch, .pin_memory, .device)", \
                ".batch_size = 64") \
    ((dataset_), &(tn_loader_options){TN__SITE(tn_loader_options), __VA_ARGS__})
#define tn_loader_next(loader_, out_, cap_) tn_loader_next_at(TN_HERE, (loader_), (out_), (cap_))
#endif
#endif
