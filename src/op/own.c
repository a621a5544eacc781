/* Operations that programs register: how a description becomes a row. There is no lock: the first free place is taken by one
 * exchange, after all names before it were looked at. */
#include "op/own.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/unload.h"
#include "core/utf8.h"
#include <ctype.h>
#include <sched.h>
#include <stdio.h>

_Atomic(tn_op *) tn__own[TN__OWN];

extern tn__op TN__OPS_TO_WRITE(tn__ops_to_write[TN__ROWS]);

/* ---- what is said ---- */

static bool is_word(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] != '_' && !(i ? isalnum((unsigned char)s[i]) : isalpha((unsigned char)s[i])))
            return false;
    return n > 0;
}

typedef struct quote {
    char s[96];
} quote;

/* Whatever it is: its beginning, on one line. */
static quote quoted(const char *name)
{
    quote q = {"\""};
    size_t n = 1 + tn__copy_plain(q.s + 1, sizeof q.s - 5, name, strlen(name));
    snprintf(q.s + n, sizeof q.s - n, "%s\"", strlen(name) > n - 1 && n > 80 ? "..." : "");
    return q;
}

static tn_status check_name(const tn_op_def *d)
{
    const char *colons = d->name ? strstr(d->name, "::") : NULL;
    if (!colons || !is_word(d->name, (size_t)(colons - d->name)) || !is_word(colons + 2, strlen(colons + 2)))
        return tn__error(TN_EINVAL, "tn_op_register: a name as \"mylib::swiglu\" was expected, got %s",
                         d->name ? quoted(d->name).s : "none");
    if (strlen(d->name) > 48)
        return tn__error(TN_EINVAL, "tn_op_register: the name %s is longer than 48 characters", d->name);
    if (d->entry && (!is_word(d->entry, strlen(d->entry)) || strlen(d->entry) > 60))
        return tn__error(TN_EINVAL, "%s: entry \"%s\" is no kernel's name", d->name, d->entry);
    return TN_OK;
}

static tn_status check_numbers(const tn_op_def *d)
{
    const size_t n = d->params ? strlen(d->params) : 0;
    if (d->inputs < 1 || d->inputs > TN_OP_INPUTS)
        return tn__error(TN_EINVAL, "%s: 1 to %d inputs, not %d", d->name, TN_OP_INPUTS, (int)d->inputs);
    if (d->results < 0 || d->results > TN_OP_RESULTS)
        return tn__error(TN_EINVAL, "%s: 1 or %d results, not %d", d->name, TN_OP_RESULTS, (int)d->results);
    if (d->optional & 1 || d->optional >> d->inputs)
        return tn__error(TN_EINVAL, "%s: optional has a bit for each of %d inputs, but for the first: not 0x%x",
                         d->name, (int)d->inputs, (unsigned)d->optional);
    if (n > TN_OP_PARAMS || (n && strspn(d->params, "fib") != n))
        return tn__error(TN_EINVAL, "%s: params is at most %d letters of \"fib\", not \"%s\"", d->name, TN_OP_PARAMS,
                         d->params);
    if (d->rule < TN_OP_LIKE_FIRST || d->rule > TN_OP_ANY)
        return tn__error(TN_EINVAL, "%s: there is no rule %d", d->name, (int)d->rule);
    if (d->items < TN_OP_ELEMENTS || d->items > TN_OP_WHOLE)
        return tn__error(TN_EINVAL, "%s: there is no way %d to share work (items)", d->name, (int)d->items);
    if (d->grain < 0)
        return tn__error(TN_EINVAL, "%s: a grain of %lld items", d->name, (long long)d->grain);
    if (d->local < 0 || d->local > 1024)
        return tn__error(TN_EINVAL, "%s: groups of 1 to 1024 work items, not %d", d->name, (int)d->local);
    if (!d->cpu && !d->kernel)
        return tn__error(TN_EINVAL, "%s: neither a CPU function nor a kernel", d->name);
    if ((d->save_in & ~TN_OP_NOTHING) >> d->inputs || (d->save_out & ~TN_OP_NOTHING) >> TN_MAX(d->results, 1))
        return tn__error(TN_EINVAL, "%s: an input or result that it has not is to be saved", d->name);
    return TN_OK;
}

/* ---- the row ---- */

/* "my_relu" -> "MyRelu0": the label of a node called MyReluBackward0 */
static void make_label(const char *name, char *out)
{
    size_t n = 0;
    bool up = true;
    for (; *name; name++) {
        if (*name != '_')
            out[n++] = (char)(up ? toupper((unsigned char)*name) : *name);
        up = *name == '_';
    }
    memcpy(out + n, "0", 2);
}

static tn_op *make(const tn_op_def *d)
{
    tn_op *op = tn__block_zero(sizeof *op);
    if (!op || (d->kernel && !(op->kernel = tn__text_get(d->kernel)))) {
        if (op)
            tn__block_put(op, sizeof *op);
        tn__error_memory("an operation", sizeof *op);
        return NULL;
    }
    const char *own = strstr(d->name, "::") + 2;
    op->def = *d;
    snprintf(op->name, sizeof op->name, "%s", d->name);
    snprintf(op->entry, sizeof op->entry, "%s", d->entry ? d->entry : own);
    snprintf(op->params, sizeof op->params, "%s", d->params ? d->params : "");
    make_label(own, op->label);
    op->def.name = op->name;
    op->def.entry = op->entry;
    op->def.params = op->params;
    op->def.kernel = op->kernel;
    op->def.results = TN_MAX(d->results, 1);
    op->def.dtypes = d->dtypes ? d->dtypes : TN_OP_FLOATING;
    op->def.local = d->local ? d->local : 128;
    op->def.save_in = (d->save_in ? d->save_in : (UINT32_C(1) << d->inputs) - 1) & ~TN_OP_NOTHING;
    op->def.save_out = d->save_out & ~TN_OP_NOTHING;
    op->words = (tn__op_words){.argument = {"tensors"}, .wrapper = {op->name}};
    return op;
}

static void write_row(tn_op *op)
{
    tn__op *row = &tn__ops_to_write[op->id];
    row->name = op->name;
    row->label = op->label;
    row->infer = tn__infer_own;
    row->saves[0] = op->def.save_in | op->def.save_out << TN__SAVED_IN;
    row->kind = TN__STRUCTURAL;
    row->flags = F_LISTED;
    row->params = (uint16_t)(strlen(op->params) * sizeof(tn_scalar));
    row->words = &op->words;
}

static void throw_away(tn_op *op)
{
    tn__text_put(op->kernel);
    tn__block_put(op, sizeof *op);
}

/* Of a plugin that the static library is part of: nobody calls them any more. */
static void forget(void)
{
    for (int32_t i = 0; i < TN__OWN; i++) {
        tn_op *op = atomic_exchange(&tn__own[i], NULL);
        if (op)
            throw_away(op);
    }
}

const tn_op *tn_op_register(const tn_op_def *def)
{
    tn_op_def d = {0};
    tn__enter(TN__NOWHERE);
    if (!def || !def->struct_size)
        return tn__fail(TN_EINVAL, "tn_op_register: a description with its struct_size was expected");
    memcpy(&d, def, TN_MIN(def->struct_size, sizeof d));
    d.struct_size = sizeof d;
    tn_op *op = check_name(&d) || check_numbers(&d) ? NULL : make(&d);
    for (int32_t i = 0; op && i < TN__OWN; i++) {
        tn_op *there = NULL;
        op->id = TN__OP_own_0 + (tn__op_id)i;
        if (atomic_compare_exchange_strong(&tn__own[i], &there, op)) {
            write_row(op);
            if (i == 0)
                tn__at_unload(forget);
            atomic_store_explicit(&op->ready, true, memory_order_release);
            return op;
        }
        if (!strcmp(there->name, d.name)) {
            throw_away(op);
            return tn__fail(TN_EINVAL, "%s is registered already: an operation is registered once", d.name);
        }
    }
    if (!op)
        return NULL;
    throw_away(op);
    return tn__fail(TN_ENOMEM, "%s: %d operations are registered, and there is no room for more", d.name, TN__OWN);
}

/* ---- asking ---- */

/* Another thread has put it there, and is about to write its row: a few stores. Not for ever: after a fork() between the two the
 * child has no such thread. */
static bool gets_ready(const tn_op *op)
{
    for (int32_t tries = 0; tries < 10000; tries++) {
        if (atomic_load_explicit(&op->ready, memory_order_acquire))
            return true;
        sched_yield();
    }
    return false;
}

const tn_op *tn_op_find(const char *name)
{
    for (int32_t i = 0; name && i < TN__OWN; i++) {
        const tn_op *op = atomic_load_explicit(&tn__own[i], memory_order_acquire);
        if (!op)
            return NULL;
        if (!strcmp(op->name, name))
            return gets_ready(op) ? op : NULL;
    }
    return NULL;
}

const char *tn_op_name(const tn_op *op)
{
    return op ? op->name : "";
}

const tn_op_def *tn_op_definition(const tn_op *op)
{
    return op ? &op->def : NULL;
}

tn_status tn_op_error(tn_status code, const char *message)
{
    return tn__error(code > TN_OK && code <= TN_ECANCELED ? code : TN_EINVAL, "%s", message ? message : "");
}
