/* fakegpu/compiler.h: the parts of the fake NVRTC: text, the dialect to C, the machine's C compiler. */
#ifndef TENON_FAKEGPU_COMPILER_H
#define TENON_FAKEGPU_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- text that grows ---- */

/* Always ends with a zero byte once something was added. 'failed': no memory; what follows is dropped. */
typedef struct fake_text {
    char *s;
    size_t n, cap;
    bool failed;
} fake_text;

void fake_text_add(fake_text *t, const char *s, size_t n);
void fake_text_puts(fake_text *t, const char *s);
__attribute__((format(printf, 2, 3))) void fake_text_printf(fake_text *t, const char *format, ...);
void fake_text_free(fake_text *t);
/* Appends a whole file. */
bool fake_text_read(fake_text *t, const char *path);

/* ---- translate.c: what KERNEL and LOCAL_MEM left in preprocessed text becomes C ---- */

/* Kernels become functions; each gets a thunk and a row in the table 'tn_fake_kernels'. false: the log says why. */
bool fake_translate_kernels(const char *text, fake_text *out, fake_text *log);

/* ---- host_compiler.c: the machine's C compiler ---- */

/* Compiles C text into a shared object, whose bytes are appended to 'object'; messages, which call the text 'name', go to
 * the log. 'define' are arguments like "-DX=1". Needs no state: several threads may compile at once. */
bool fake_cc_compile(const char *text, const char *name, const char *const *define, int n_define, fake_text *object,
                     fake_text *log);

/* A number of the compiler that would be run now: its path, size and time. 0: there is none. */
uint64_t fake_cc_compiler(void);

/* A number that changes with what binaries and this library must agree upon: the dialect, the flags (a build with a
 * sanitizer has others). Binaries of another number are refused: they come from a cache that another build filled. */
uint64_t fake_cc_identity(void);

/* ---- the binary ---- */

/* Stands before the bytes of the shared object. */
typedef struct fake_image {
    char magic[8];
    uint64_t identity, bytes;
    uint32_t architecture, reserved; /* 90 for sm_90 */
} fake_image;

#define FAKE_IMAGE_MAGIC "tenonFK1" /* code of one architecture */
#define FAKE_PTX_MAGIC   "tenonPX1" /* what stands for PTX: it runs on every device that is not below its architecture */

/* An image as text that a program may take for PTX, which fake_image_load reads. Appended. */
void fake_image_to_text(const fake_text *image, fake_text *out);

/* ---- CUDA C: cuda_c.c, cuda_scan.c ---- */

/* A program as nvrtcCreateProgram got it, and what of its options reaches the host's C++ compiler. */
typedef struct fake_cuda_program {
    const char *text, *name;
    int n_headers;
    char **header, **header_name;
    int n_options;
    const char *const *option; /* -DX=1, -UX, -Ifolder, -std=gnu++17 */
    int n_expressions;
    char **expression; /* of nvrtcAddNameExpression */
} fake_cuda_program;

/* Is the text CUDA C, and not Tenon's dialect? */
bool fake_is_cuda(const char *text);
/* As fake_cc_compile, by the machine's C++ compiler. */
bool fake_cuda_compile(const fake_cuda_program *program, fake_text *object, fake_text *log);
uint64_t fake_cuda_identity(void);
/* Preprocessed text, from the line marker of the program on: kernels are registered, shared memory gets its storage. False:
 * the log says what is not taken. */
bool fake_cuda_scan(const char *text, const fake_cuda_program *program, fake_text *out, fake_text *log);

#endif
