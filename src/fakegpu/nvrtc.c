/* NVRTC as the fake GPUs answer it: programs, their options, logs and binaries. The compiling itself is
 * host_compiler.c's. Behaviour and result codes: NVIDIA's NVRTC documentation. */
#include "fakegpu/nvrtc.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OUT_OF_MEMORY = FAKE_NVRTC_OUT_OF_MEMORY,
    INVALID_INPUT = FAKE_NVRTC_INVALID_INPUT,
    INVALID_PROGRAM = FAKE_NVRTC_INVALID_PROGRAM,
    INVALID_OPTION = FAKE_NVRTC_INVALID_OPTION,
    MAX_DEFINES = 64
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
    if (!program || !text || n_headers < 0 || (n_headers && (!headers || !header_names)))
        return INVALID_INPUT;
    struct _nvrtcProgram *p = calloc(1, sizeof *p);
    if (!p)
        return OUT_OF_MEMORY;
    p->text = strdup(text);
    p->name = strdup(name ? name : "default_program");
    bool ok = p->text && p->name;
    for (int i = 0; ok && i < n_headers; i++)
        ok = fake_strings_add(&p->header, headers[i]) && fake_strings_add(&p->header_name, header_names[i]);
    if (!ok) {
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
    fake_strings_free(&p->header);
    fake_strings_free(&p->header_name);
    fake_strings_free(&p->expression);
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
               {"--optimization-info=", "-opt-info="},
               {"--ptxas-options=", "-Xptxas="},
               {"--relocatable-device-code=", "-rdc="},
               {"--device-c", "-dc"},
               {"--device-w", "-dw"},
               {"--diag-error=", "-diag-error="},
               {"--diag-warn=", "-diag-warn="},
               {"--display-error-number", "-err-no"},
               {"--no-display-error-number", "-no-err-no"},
               {"--device-int128", "-device-int128"},
               {"--modify-stack-limit=", "-modify-stack-limit="},
               {"--builtin-move-forward=", "-builtin-move-forward="},
               {"--builtin-initializer-list=", "-builtin-initializer-list="},
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
    char *define[MAX_DEFINES]; /* "-DX=1"; for CUDA C "-Ifolder", "-std=..."; owned */
    int n_define, architecture;
    bool cuda, real; /* real: sm_: a binary was asked for, not PTX */
} options;

static unsigned add_define(options *o, const char *kind, const char *macro)
{
    const size_t size = strlen(kind) + strlen(macro) + 1;
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

/* The host's compiler gets at least C++14. */
static unsigned add_standard(options *o, const char *value)
{
    static const char *const known[][2] = {
        {"c++03", "14"}, {"c++11", "14"}, {"c++14", "14"}, {"c++17", "17"}, {"c++20", "20"}};
    for (size_t i = 0; o->cuda && i < sizeof known / sizeof *known; i++)
        if (!strcmp(value, known[i][0]))
            return add_define(o, "-std=gnu++", known[i][1]);
    return o->cuda ? (unsigned)INVALID_OPTION : TN__NVRTC_SUCCESS;
}

/* Options with a value; that of a macro or a folder may be the next string ("-D", "X=1"). Tenon's own text includes nothing. */
static const struct {
    const char *name, *kind; /* kind: what stands before the value for the host's compiler */
    enum { MACRO, FOLDER, ARCHITECTURE, STANDARD } what;
} valued[] = {{"--define-macro=", "-D", MACRO},
              {"--undefine-macro=", "-U", MACRO},
              {"-D", "-D", MACRO},
              {"-U", "-U", MACRO},
              {"--include-path=", "-I", FOLDER},
              {"-I", "-I", FOLDER},
              {"--gpu-architecture=", "", ARCHITECTURE},
              {"-arch=", "", ARCHITECTURE},
              {"--std=", "", STANDARD},
              {"-std=", "", STANDARD}};
enum { VALUED = sizeof valued / sizeof *valued };

static unsigned read_option(options *o, size_t k, const char *value, fake_text *log)
{
    switch (valued[k].what) {
    case ARCHITECTURE: return set_architecture(o, value, log);
    case STANDARD: return add_standard(o, value);
    default: return add_define(o, valued[k].kind, value);
    }
}

static unsigned read_options(options *o, int n, const char *const *option, fake_text *log)
{
    for (int i = 0; i < n; i++) {
        const char *s = option[i];
        unsigned result = INVALID_OPTION;
        size_t k = 0;
        while (k < VALUED && !(begins(s, valued[k].name) && (o->cuda || valued[k].what != FOLDER)))
            k++;
        const size_t before = log->n;
        if (k < VALUED) {
            const char *value = s + strlen(valued[k].name);
            if (!*value && i + 1 < n && valued[k].what <= FOLDER)
                value = option[++i];
            result = read_option(o, k, value, log);
        } else if (is_ignored(s)) {
            result = TN__NVRTC_SUCCESS;
        }
        if (result == INVALID_OPTION && log->n == before)
            fake_text_printf(log, "nvrtc: error: unrecognized option %s found\n", s);
        if (result)
            return result;
    }
    return TN__NVRTC_SUCCESS;
}

/* ---- compiling ---- */

static bool compile_text(struct _nvrtcProgram *p, const options *o, fake_text *object)
{
    const char *const *option = (const char *const *)o->define;
    if (!o->cuda && p->header.n) {
        fake_text_puts(&p->log, "error: a text in Tenon's dialect has no headers\n");
        return false;
    }
    if (!o->cuda)
        return fake_cc_compile(p->text, p->name, option, o->n_define, object, &p->log);
    const fake_cuda_program cuda = {.text = p->text,
                                    .name = p->name,
                                    .n_headers = p->header.n,
                                    .header = p->header.at,
                                    .header_name = p->header_name.at,
                                    .n_options = o->n_define,
                                    .option = option,
                                    .n_expressions = p->expression.n,
                                    .expression = p->expression.at};
    return fake_cuda_compile(&cuda, object, &p->log);
}

static unsigned compile(struct _nvrtcProgram *p, const options *o)
{
    fake_text object = {0};
    const bool ok = compile_text(p, o, &object);
    if (ok) {
        fake_image head = {.identity = o->cuda ? fake_cuda_identity() : fake_cc_identity(),
                           .bytes = object.n,
                           .architecture = (uint32_t)o->architecture};
        memcpy(head.magic, FAKE_IMAGE_MAGIC, sizeof head.magic);
        fake_text_add(&p->image, (const char *)&head, sizeof head);
        fake_text_add(&p->image, object.s, object.n);
    }
    p->real = o->real;
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
    options o = {.architecture = 75, .cuda = fake_is_cuda(program->text)};
    fake_text_free(&program->log);
    fake_text_free(&program->image);
    program->compiled = true;
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
