/* NVRTC as the fake GPUs answer it: programs, their options, logs and binaries. The compiling itself is
 * host_compiler.c's. Behaviour and result codes: NVIDIA's NVRTC documentation. */
#include "fakegpu/compiler.h"
#include "fakegpu/fake.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FN(name, symbol, older, parameters)       FAKE_API unsigned symbol parameters;
#define OPTIONAL(name, symbol, older, parameters) FAKE_API unsigned symbol parameters;
#include "abi/nvrtc.def"

enum { OUT_OF_MEMORY = 1, INVALID_INPUT = 3, INVALID_PROGRAM = 4, INVALID_OPTION = 5, MAX_DEFINES = 64 };

struct _nvrtcProgram {
    char *text, *name;
    fake_text log, image;
    bool real; /* there is code, not only PTX */
};

static const int architectures[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};
enum { ARCHITECTURES = sizeof architectures / sizeof *architectures };

/* ---- facts ---- */

unsigned nvrtcVersion(int *major, int *minor)
{
    if (!major || !minor)
        return INVALID_INPUT;
    *major = 13;
    *minor = 0;
    return TN__NVRTC_SUCCESS;
}

unsigned nvrtcGetNumSupportedArchs(int *n)
{
    if (!n)
        return INVALID_INPUT;
    *n = ARCHITECTURES;
    return TN__NVRTC_SUCCESS;
}

unsigned nvrtcGetSupportedArchs(int *archs)
{
    if (!archs)
        return INVALID_INPUT;
    memcpy(archs, architectures, sizeof architectures);
    return TN__NVRTC_SUCCESS;
}

/* ---- programs ---- */

unsigned nvrtcCreateProgram(tn__nvrtc_program *program, const char *text, const char *name, int n_headers,
                            const char *const *headers, const char *const *header_names)
{
    (void)headers;
    (void)header_names;
    if (!program || !text || n_headers != 0)
        return INVALID_INPUT;
    struct _nvrtcProgram *p = calloc(1, sizeof *p);
    if (!p)
        return OUT_OF_MEMORY;
    p->text = strdup(text);
    p->name = strdup(name ? name : "default_program");
    if (!p->text || !p->name) {
        nvrtcDestroyProgram(&p);
        return OUT_OF_MEMORY;
    }
    *program = p;
    return TN__NVRTC_SUCCESS;
}

unsigned nvrtcDestroyProgram(tn__nvrtc_program *program)
{
    if (!program || !*program)
        return INVALID_PROGRAM;
    struct _nvrtcProgram *p = *program;
    fake_text_free(&p->log);
    fake_text_free(&p->image);
    free(p->text);
    free(p->name);
    free(p);
    *program = NULL;
    return TN__NVRTC_SUCCESS;
}

/* ---- options ---- */

/* Options that say nothing to a host compiler. A name that ends in '=' takes any value; 'short' is the other spelling. */
static const struct {
    const char *name, *short_name;
} ignored[] = {{"--fmad=", "-fmad="},
               {"--std=", "-std="},
               {"--ftz=", "-ftz="},
               {"--prec-sqrt=", "-prec-sqrt="},
               {"--prec-div=", "-prec-div="},
               {"--maxrregcount=", "-maxrregcount="},
               {"--dopt=", "-dopt="},
               {"--diag-suppress=", "-diag-suppress="},
               {"--use_fast_math", "-use_fast_math"},
               {"--extra-device-vectorization", "-extra-device-vectorization"},
               {"--device-as-default-execution-space", "-default-device"},
               {"--device-debug", "-G"},
               {"--generate-line-info", "-lineinfo"},
               {"--restrict", "-restrict"},
               {"--disable-warnings", "-w"},
               {"--no-source-include", "-no-source-include"},
               {"--split-compile=", "-split-compile="},
               {"--minimal", "-minimal"}};

static bool begins(const char *s, const char *head)
{
    return !strncmp(s, head, strlen(head));
}

static bool is_option(const char *option, const char *name)
{
    const size_t n = strlen(name);
    return name[n - 1] == '=' ? begins(option, name) && option[n] : !strcmp(option, name);
}

static bool is_ignored(const char *option)
{
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        if (is_option(option, ignored[i].name) || is_option(option, ignored[i].short_name))
            return true;
    return false;
}

typedef struct options {
    char *define[MAX_DEFINES]; /* "-DX=1", owned */
    int n_define, architecture;
    bool real; /* sm_: a binary was asked for, not PTX */
} options;

static unsigned add_define(options *o, const char *kind, const char *macro)
{
    const size_t size = strlen(macro) + 3;
    if (o->n_define == MAX_DEFINES)
        return OUT_OF_MEMORY;
    char *s = malloc(size);
    if (!s)
        return OUT_OF_MEMORY;
    snprintf(s, size, "%s%s", kind, macro);
    o->define[o->n_define++] = s;
    return TN__NVRTC_SUCCESS;
}

static unsigned set_architecture(options *o, const char *value, fake_text *log)
{
    int number = 0, used = 0;
    o->real = begins(value, "sm_");
    if (sscanf(value, o->real ? "sm_%d%n" : "compute_%d%n", &number, &used) == 1 && used > 0)
        for (int i = 0; i < ARCHITECTURES; i++)
            if (architectures[i] == number) {
                o->architecture = number;
                return TN__NVRTC_SUCCESS;
            }
    fake_text_puts(log, "nvrtc: error: invalid value for --gpu-architecture (-arch)\n");
    return INVALID_OPTION;
}

/* A macro's option may stand alone, its value in the next string ("-D", "X=1"). */
static unsigned read_options(options *o, int n, const char *const *option, fake_text *log)
{
    static const struct {
        const char *name, *kind;
    } macros[] = {{"--define-macro=", "-D"}, {"--undefine-macro=", "-U"}, {"-D", "-D"}, {"-U", "-U"}};
    for (int i = 0; i < n; i++) {
        const char *s = option[i];
        unsigned result = TN__NVRTC_SUCCESS;
        size_t k = 0;
        while (k < 4 && !begins(s, macros[k].name))
            k++;
        if (k < 4) {
            const char *value = s + strlen(macros[k].name);
            if (!*value && i + 1 < n)
                value = option[++i];
            result = add_define(o, macros[k].kind, value);
        } else if (begins(s, "--gpu-architecture=")) {
            result = set_architecture(o, s + strlen("--gpu-architecture="), log);
        } else if (begins(s, "-arch=")) {
            result = set_architecture(o, s + strlen("-arch="), log);
        } else if (!is_ignored(s)) {
            fake_text_printf(log, "nvrtc: error: unrecognized option %s found\n", s);
            result = INVALID_OPTION;
        }
        if (result)
            return result;
    }
    return TN__NVRTC_SUCCESS;
}

/* ---- compiling ---- */

static unsigned compile(struct _nvrtcProgram *p, const options *o)
{
    fake_text object = {0};
    const bool ok = fake_cc_compile(p->text, p->name, (const char *const *)o->define, o->n_define, &object, &p->log);
    p->real = o->real;
    if (ok) {
        fake_image head = {
            .identity = fake_cc_identity(), .bytes = object.n, .architecture = (uint32_t)o->architecture};
        memcpy(head.magic, FAKE_IMAGE_MAGIC, sizeof head.magic);
        fake_text_add(&p->image, (const char *)&head, sizeof head);
        fake_text_add(&p->image, object.s, object.n);
    }
    const bool memory = !object.failed && !p->image.failed && !p->log.failed;
    fake_text_free(&object);
    return !memory ? OUT_OF_MEMORY : ok ? TN__NVRTC_SUCCESS : TN__NVRTC_COMPILATION;
}

unsigned nvrtcCompileProgram(tn__nvrtc_program program, int n_options, const char *const *option)
{
    if (!program)
        return INVALID_PROGRAM;
    if (n_options < 0 || (n_options > 0 && !option))
        return INVALID_INPUT;
    options o = {.architecture = 75};
    fake_text_free(&program->log);
    fake_text_free(&program->image);
    unsigned result = read_options(&o, n_options, option, &program->log);
    if (result == TN__NVRTC_SUCCESS)
        result = compile(program, &o);
    for (int i = 0; i < o.n_define; i++)
        free(o.define[i]);
    return result;
}

unsigned nvrtcGetCUBINSize(tn__nvrtc_program program, size_t *size)
{
    if (!program)
        return INVALID_PROGRAM;
    if (!size)
        return INVALID_INPUT;
    *size = program->real ? program->image.n : 0;
    return TN__NVRTC_SUCCESS;
}

unsigned nvrtcGetCUBIN(tn__nvrtc_program program, char *cubin)
{
    if (!program)
        return INVALID_PROGRAM;
    if (!cubin)
        return INVALID_INPUT;
    if (program->real && program->image.n)
        memcpy(cubin, program->image.s, program->image.n);
    return TN__NVRTC_SUCCESS;
}

/* With its NUL. */
unsigned nvrtcGetPTXSize(tn__nvrtc_program program, size_t *size)
{
    if (!program)
        return INVALID_PROGRAM;
    if (!size)
        return INVALID_INPUT;
    *size = program->image.n ? program->image.n + 1 : 0;
    return TN__NVRTC_SUCCESS;
}

unsigned nvrtcGetPTX(tn__nvrtc_program program, char *ptx)
{
    if (!program)
        return INVALID_PROGRAM;
    if (!ptx)
        return INVALID_INPUT;
    if (!program->image.n)
        return TN__NVRTC_SUCCESS;
    memcpy(ptx, program->image.s, program->image.n + 1);
    memcpy(ptx, FAKE_PTX_MAGIC, sizeof((fake_image *)0)->magic);
    return TN__NVRTC_SUCCESS;
}

unsigned nvrtcGetProgramLogSize(tn__nvrtc_program program, size_t *size)
{
    if (!program)
        return INVALID_PROGRAM;
    if (!size)
        return INVALID_INPUT;
    *size = program->log.n + 1;
    return TN__NVRTC_SUCCESS;
}

unsigned nvrtcGetProgramLog(tn__nvrtc_program program, char *log)
{
    if (!program)
        return INVALID_PROGRAM;
    if (!log)
        return INVALID_INPUT;
    if (program->log.n)
        memcpy(log, program->log.s, program->log.n);
    log[program->log.n] = 0;
    return TN__NVRTC_SUCCESS;
}
