/* CUDA C by the machine's C++ compiler: the words of dialect_cuda.h before the program, its headers in a private folder, the
 * preprocessed text through cuda_scan.c, and that compiled to a shared object. */
#include "fakegpu/env.h"
#include "fakegpu/host_process.h"
#include "fakegpu_cuda_dialect.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* No headers of the host, as with NVRTC; names bind within the unit, whatever the program has of the same. */
static const char *const flags[] = {
    "-fPIC",           "-w",        "-fwrapv",    "-fno-strict-aliasing", "-ffp-contract=off",
    "-fno-math-errno", "-nostdinc", "-nostdinc++"};
enum { FLAGS = sizeof flags / sizeof *flags, MAX_ARGUMENTS = 256 };

/* Templates' variables are each module's own: gcc alone has them shared otherwise. */
#define GCC_MARK "#pragma tenon gcc"

/* ---- what is CUDA C ---- */

static bool has_word(const char *text, const char *word)
{
    const size_t n = strlen(word);
    for (const char *p = strstr(text, word); p; p = strstr(p + n, word))
        if ((p == text || !(isalnum((unsigned char)p[-1]) || p[-1] == '_')) &&
            !(isalnum((unsigned char)p[n]) || p[n] == '_'))
            return true;
    return false;
}

/* Tenon's own units say TN_HOST_DIALECT, or (alone) KERNEL; CUDA C says __global__, or reads it from elsewhere. */
bool fake_is_cuda(const char *text)
{
    if (has_word(text, "TN_HOST_DIALECT"))
        return false;
    if (has_word(text, "__global__"))
        return true;
    return !has_word(text, "KERNEL") && !has_word(text, "KERNEL_B") &&
           (has_word(text, "__device__") || has_word(text, "include"));
}

uint64_t fake_cuda_identity(void)
{
    uint64_t h = fake_cc_identity();
    for (size_t i = 0; texts[i].name; i++)
        h = fake_mixed(h, texts[i].text, strlen(texts[i].text));
    return h;
}

/* ---- the compiler ---- */

static bool find_compiler(char *path, fake_text *log)
{
    const char *only = fake_env("TENON_FAKE_CXX"), *cxx = fake_env("CXX");
    const char *const candidates[] = {cxx ? cxx : "", "c++", "g++", "clang++"};
    const bool given = only && *only;
    if (given && fake_find_program(only, path))
        return true;
    for (size_t i = 0; !given && i < sizeof candidates / sizeof *candidates; i++)
        if (*candidates[i] && fake_find_program(candidates[i], path))
            return true;
    if (given)
        fake_text_printf(
            log, "error: CUDA C on fake GPUs needs a C++ compiler, and TENON_FAKE_CXX='%s' is no program\n", only);
    else
        fake_text_puts(log,
                       "error: CUDA C on fake GPUs needs a C++ compiler at run time. None was found (tried $CXX, c++, "
                       "g++, clang++). Install one (Debian, Ubuntu: apt install g++; Fedora: dnf install gcc-c++; "
                       "Alpine: apk add g++), or name one by TENON_FAKE_CXX\n");
    return false;
}

/* ---- files ---- */

/* The one of the texts that is a header. */
static const char groups_text[] = "dialect_cuda_groups.h";

/* A name of a header is a path within the folder of headers. */
static bool is_inside(const char *name)
{
    for (const char *p = name; *p; p += strcspn(p, "/"), p += *p == '/')
        if (!strncmp(p, "..", 2) && (p[2] == '/' || !p[2]))
            return false;
    return *name && *name != '/';
}

/* Makes the folders on the way. With 'remove': takes the file and them away again. */
static void walk(char *path, size_t from, bool remove)
{
    if (remove)
        unlink(path);
    for (char *p = path + from; !remove && (p = strchr(p, '/')); *p++ = '/') {
        *p = '\0';
        mkdir(path, 0700);
    }
    for (char *p; remove && (p = strrchr(path, '/')) >= path + from;) {
        *p = '\0';
        rmdir(path);
    }
}

static bool put_header(fake_workplace *w, const char *name, const char *text, bool remove, fake_text *log)
{
    char path[2 * FAKE_PATH];
    const int from = snprintf(path, sizeof path, "%s/include/", w->folder);
    if (!is_inside(name) || snprintf(path + from, sizeof path - (size_t)from, "%s", name) >= FAKE_PATH) {
        fake_text_printf(log, "error: a header cannot be named '%s'\n", name);
        return false;
    }
    walk(path, strlen(w->folder) + 1, remove);
    if (remove)
        return true;
    fake_text t = {0};
    fake_text_puts(&t, text);
    fake_text_puts(&t, "\n");
    const bool ok = !t.failed && fake_write_file(path, &t);
    if (!ok)
        fake_text_printf(log, "error: cannot write the header '%s'\n", name);
    fake_text_free(&t);
    return ok;
}

/* Ours stands in for NVIDIA's, whatever folders the program names; a program's own in its stead. */
static bool put_headers(fake_workplace *w, const fake_cuda_program *p, bool remove, fake_text *log)
{
    size_t k = 0;
    while (strcmp(texts[k].name, groups_text) != 0)
        k++;
    bool ok = put_header(w, "cooperative_groups.h", texts[k].text, remove, log);
    for (int i = 0; i < p->n_headers && (ok || remove); i++)
        ok = put_header(w, p->header_name[i], p->header[i], remove, log);
    return ok;
}

static bool write_unit(fake_workplace *w, const fake_cuda_program *program, fake_text *log)
{
    fake_text unit = {0};
    fake_text_puts(&unit, "#if defined __GNUC__ && !defined __clang__\n" GCC_MARK "\n#endif\n");
    for (size_t i = 0; texts[i].name; i++)
        if (strcmp(texts[i].name, groups_text) != 0)
            fake_text_printf(&unit, "#line 1 \"%s\"\n%s\n", texts[i].name, texts[i].text);
    fake_text_puts(&unit, "#line 1 \"");
    for (const char *p = program->name; *p; p++)
        fake_text_add(&unit, *p < ' ' || *p == '"' || *p == '\\' ? "_" : p, 1);
    fake_text_printf(&unit, "\"\n%s\n", program->text);
    const bool ok = !unit.failed && fake_write_file(fake_file_in(w, "unit.cpp"), &unit);
    if (!ok)
        fake_text_printf(log, "error: cannot write %s\n", w->path);
    fake_text_free(&unit);
    return ok;
}

/* ---- the two runs of the compiler ---- */

typedef struct command {
    const char *argv[MAX_ARGUMENTS];
    int n;
} command;

static void add(command *c, const char *argument)
{
    if (c->n < MAX_ARGUMENTS - 1)
        c->argv[c->n++] = argument;
}

/* 'folders' are looked in before the program's; NULL ends them. */
static void begin(command *c, const char *compiler, const char *const *folders, const fake_cuda_program *program)
{
    *c = (command){.n = 0};
    add(c, compiler);
    add(c, "-std=gnu++17");
    for (size_t i = 0; i < FLAGS; i++)
        add(c, flags[i]);
    for (; *folders; folders++)
        add(c, *folders);
    for (int i = 0; i < program->n_options; i++)
        add(c, program->option[i]);
}

/* Where the program says that its text lies, other texts may: "./kernels/add.cu". */
static void source_folder(const fake_cuda_program *program, char *option, size_t size)
{
    const char *slash = strrchr(program->name, '/');
    snprintf(option, size, "-I%.*s", slash ? (int)(slash - program->name) + 1 : 1, slash ? program->name : ".");
}

static bool preprocess(fake_workplace *w, const char *compiler, const fake_cuda_program *program, fake_text *log)
{
    command c;
    char in[FAKE_PATH + 32], out[FAKE_PATH + 32], headers[FAKE_PATH + 32], beside[FAKE_PATH];
    snprintf(in, sizeof in, "%s/unit.cpp", w->folder);
    snprintf(out, sizeof out, "%s/unit.ii", w->folder);
    snprintf(headers, sizeof headers, "-I%s/include", w->folder);
    source_folder(program, beside, sizeof beside);
    begin(&c, compiler, (const char *const[]){headers, beside, NULL}, program);
    add(&c, "-E");
    add(&c, in);
    add(&c, "-o");
    add(&c, out);
    return fake_run_program(w, c.argv, out, log);
}

static bool make_object(fake_workplace *w, const char *compiler, bool gcc, const fake_cuda_program *program,
                        fake_text *log)
{
    command c;
    char in[FAKE_PATH + 32], out[FAKE_PATH + 32];
    snprintf(in, sizeof in, "%s/kernels.cpp", w->folder);
    snprintf(out, sizeof out, "%s/kernels.so", w->folder);
    begin(&c, compiler, (const char *const[]){NULL}, program);
    add(&c, fake_env_flag("TENON_FAKE_GPU_OPTIMIZE", true) ? "-O1" : "-O0");
    if (gcc)
        add(&c, "-fno-gnu-unique");
#if defined(__x86_64__) && defined(__GLIBC__)
    if (gcc) /* no __tls_get_addr: faster, and out of sight of LeakSanitizer, which mistakes where threads' memory begins */
        add(&c, "-mtls-dialect=gnu2");
#endif
    add(&c, "-shared");
    add(&c, in);
    add(&c, "-o");
    add(&c, out);
    add(&c, "-Wl,-Bsymbolic");
    add(&c, "-lm");
    return fake_run_program(w, c.argv, out, log);
}

static bool translate(fake_workplace *w, const fake_cuda_program *program, bool *gcc, fake_text *log)
{
    fake_text in = {0}, out = {0};
    bool ok = fake_text_read(&in, fake_file_in(w, "unit.ii")) && in.s;
    if (!ok)
        fake_text_printf(log, "error: cannot read %s\n", w->path);
    *gcc = ok && strstr(in.s, GCC_MARK);
    ok = ok && fake_cuda_scan(in.s, program, &out, log);
    if (ok && !fake_write_file(fake_file_in(w, "kernels.cpp"), &out)) {
        fake_text_printf(log, "error: cannot write %s\n", w->path);
        ok = false;
    }
    fake_text_free(&in);
    fake_text_free(&out);
    return ok;
}

bool fake_cuda_compile(const fake_cuda_program *program, fake_text *object, fake_text *log)
{
    char compiler[FAKE_PATH];
    fake_workplace w;
    bool gcc = false;
    if (!find_compiler(compiler, log) || !fake_make_folder(&w, log))
        return false;
    bool ok = put_headers(&w, program, false, log) && write_unit(&w, program, log) &&
              preprocess(&w, compiler, program, log) && translate(&w, program, &gcc, log) &&
              make_object(&w, compiler, gcc, program, log);
    if (ok && !fake_text_read(object, fake_file_in(&w, "kernels.so"))) {
        fake_text_printf(log, "error: cannot read %s\n", w.path);
        ok = false;
    }
    put_headers(&w, program, true, log);
    fake_remove_folder(&w);
    return ok;
}
