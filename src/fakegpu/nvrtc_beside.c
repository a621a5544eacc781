/* What programs beside Tenon ask of NVRTC. Kernels of C++ keep the names that programs give them: the lowered name of an
 * expression is the expression. */
#include "fakegpu/nvrtc.h"
#include <stdlib.h>
#include <string.h>

bool fake_strings_add(fake_strings *s, const char *text)
{
    char **at = realloc(s->at, ((size_t)s->n + 1) * sizeof *at);
    if (!at)
        return false;
    s->at = at;
    at[s->n] = strdup(text);
    if (!at[s->n])
        return false;
    s->n++;
    return true;
}

void fake_strings_free(fake_strings *s)
{
    for (int i = 0; i < s->n; i++)
        free(s->at[i]);
    free(s->at);
    *s = (fake_strings){0};
}

const char *nvrtcGetErrorString(unsigned result)
{
    static const char *const names[] = {"NVRTC_SUCCESS",
                                        "NVRTC_ERROR_OUT_OF_MEMORY",
                                        "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
                                        "NVRTC_ERROR_INVALID_INPUT",
                                        "NVRTC_ERROR_INVALID_PROGRAM",
                                        "NVRTC_ERROR_INVALID_OPTION",
                                        "NVRTC_ERROR_COMPILATION",
                                        "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
                                        "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
                                        "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
                                        "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
                                        "NVRTC_ERROR_INTERNAL_ERROR"};
    return result < sizeof names / sizeof *names ? names[result] : "NVRTC_ERROR unknown";
}

/* ---- PTX: the image as text ---- */

static bool as_text(const struct _nvrtcProgram *p, fake_text *out)
{
    if (p->image.n)
        fake_image_to_text(&p->image, out);
    return !out->failed;
}

unsigned nvrtcGetPTXSize(tn__nvrtc_program program, size_t *size)
{
    fake_text text = {0};
    if (!program)
        return FAKE_NVRTC_INVALID_PROGRAM;
    if (!size)
        return FAKE_NVRTC_INVALID_INPUT;
    const bool ok = as_text(program, &text);
    *size = text.n + 1;
    fake_text_free(&text);
    return ok ? TN__NVRTC_SUCCESS : FAKE_NVRTC_OUT_OF_MEMORY;
}

unsigned nvrtcGetPTX(tn__nvrtc_program program, char *ptx)
{
    fake_text text = {0};
    if (!program)
        return FAKE_NVRTC_INVALID_PROGRAM;
    if (!ptx)
        return FAKE_NVRTC_INVALID_INPUT;
    const bool ok = as_text(program, &text);
    if (ok && text.n)
        memcpy(ptx, text.s, text.n);
    ptx[ok ? text.n : 0] = '\0';
    fake_text_free(&text);
    return ok ? TN__NVRTC_SUCCESS : FAKE_NVRTC_OUT_OF_MEMORY;
}

/* ---- names ---- */

static int find_expression(const struct _nvrtcProgram *p, const char *expression)
{
    int i = 0;
    while (i < p->expression.n && strcmp(p->expression.at[i], expression) != 0)
        i++;
    return i;
}

unsigned nvrtcAddNameExpression(tn__nvrtc_program program, const char *expression)
{
    if (!program)
        return FAKE_NVRTC_INVALID_PROGRAM;
    if (!expression)
        return FAKE_NVRTC_INVALID_INPUT;
    if (program->compiled)
        return FAKE_NVRTC_NO_NAMES_AFTER_COMPILATION;
    if (find_expression(program, expression) < program->expression.n)
        return TN__NVRTC_SUCCESS;
    return fake_strings_add(&program->expression, expression) ? TN__NVRTC_SUCCESS : FAKE_NVRTC_OUT_OF_MEMORY;
}

unsigned nvrtcGetLoweredName(tn__nvrtc_program program, const char *expression, const char **name)
{
    if (!program)
        return FAKE_NVRTC_INVALID_PROGRAM;
    if (!expression || !name)
        return FAKE_NVRTC_INVALID_INPUT;
    if (!program->image.n)
        return FAKE_NVRTC_NO_LOWERED_NAMES_BEFORE_COMPILATION;
    const int i = find_expression(program, expression);
    if (i == program->expression.n)
        return FAKE_NVRTC_NAME_NOT_VALID;
    *name = program->expression.at[i];
    return TN__NVRTC_SUCCESS;
}
