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

#endif
