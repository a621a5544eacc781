/* The modules inside a module, parents before children, and the lists that are made of them: parameters, buffers, state. */
#include "nn/module.h"
#include "core/alloc.h"

tn_module *tn__module_iter_next(tn__module_iter *w)
{
    if (w->depth < 0) {
        w->depth = 0;
        w->at[0].next = 0;
        return w->at[0].m;
    }
    for (; w->depth >= 0; w->depth--) {
        tn_module *m = w->at[w->depth].m;
        int64_t i = w->at[w->depth].next++;
        if (i >= m->slots[TN__CHILDREN].n)
            continue;
        tn_module *child = tn__slot_child(m, i);
        w->depth++;
        w->at[w->depth].m = child;
        w->at[w->depth].next = 0;
        return child;
    }
    return NULL;
}

size_t tn__module_iter_name(const tn__module_iter *w, const char *leaf, char *out)
{
    size_t n = 0;
    for (int32_t d = 0; d <= w->depth; d++) {
        const char *part = d < w->depth ? w->at[d].m->slots[TN__CHILDREN].at[w->at[d].next - 1].name : leaf;
        size_t len = strlen(part);
        if (out) {
            memcpy(out + n, part, len);
            out[n + len] = d < w->depth ? '.' : '\0';
        }
        n += len + 1;
    }
    return n - 1;
}

/* ---- lists ---- */

tn_status tn__list_add(tn__list *l, tn_tensor *t)
{
    for (int64_t i = 0; i < l->n; i++)
        if (l->at[i] == t)
            return TN_OK;
    if (!tn__grow(&l->at, sizeof *l->at, &l->cap, l->n + 1))
        return tn__error_memory("a list of parameters", sizeof *l->at * (size_t)(l->n + 1));
    l->at[l->n++] = t;
    return TN_OK;
}

void tn__list_free(tn__list *l)
{
    tn__block_put(l->at, sizeof *l->at * (size_t)l->cap);
    *l = (tn__list){NULL, 0, 0};
}

tn_status tn__module_collect(const tn_module *m, tn__slot_kind kind, tn__list *out)
{
    tn__module_iter w;
    tn__module_iter_begin(&w, m);
    for (const tn_module *i; (i = tn__module_iter_next(&w));)
        for (int64_t k = 0; k < i->slots[kind].n; k++) {
            tn_status e = tn__list_add(out, tn__slot_tensor(i, kind, k));
            if (e)
                return e;
        }
    return TN_OK;
}

tn_status tn__params_collect(const char *what, tn_params p, tn__list *out)
{
    if (!p.is_list)
        return p.module ? tn__module_collect(p.module, TN__PARAMETERS, out) : tn__poisoned(what);
    if (p.list.n && !p.list.t)
        return tn__error(TN_EINVAL, "%s: not a list of tensors", what);
    for (size_t i = 0; i < p.list.n; i++) {
        if (!p.list.t[i])
            return tn__poisoned(what);
        if (p.list.t[i] == TN_NONE)
            return tn__error(TN_ETYPE, "%s: parameter %zu is TN_NONE", what, i);
        tn_status e = tn__list_add(out, p.list.t[i]);
        if (e)
            return e;
    }
    return TN_OK;
}

/* ---- names ---- */

size_t tn__state_count(const tn_module *m)
{
    size_t n = 0;
    tn__module_iter w;
    tn__module_iter_begin(&w, m);
    for (const tn_module *i; (i = tn__module_iter_next(&w));)
        n += (size_t)(i->slots[TN__PARAMETERS].n + i->slots[TN__BUFFERS].n);
    return n;
}

static size_t write_names(const tn_module *m, char *out)
{
    size_t n = 0;
    tn__module_iter w;
    tn__module_iter_begin(&w, m);
    for (const tn_module *i; (i = tn__module_iter_next(&w));)
        for (int kind = TN__PARAMETERS; kind <= TN__BUFFERS; kind++)
            for (int64_t k = 0; k < i->slots[kind].n; k++)
                n += tn__module_iter_name(&w, i->slots[kind].at[k].name, out ? out + n : NULL) + 1;
    return n;
}

/* Two threads may ask at once; names that were lent out stay as long as they are right. */
const char *tn__state_names(tn_module *m)
{
    size_t n = write_names(m, NULL), bytes = sizeof(tn__names) + n;
    tn__names *fresh = tn__block_get(bytes), *known = atomic_load(&m->names);
    if (!fresh) {
        tn__error_memory("names of a module's state", bytes);
        return NULL;
    }
    fresh->bytes = bytes;
    write_names(m, fresh->text);
    for (;;) {
        if (known && known->bytes == bytes && !memcmp(known->text, fresh->text, n)) {
            tn__block_put(fresh, bytes);
            return known->text;
        }
        tn__names *old = known;
        if (!atomic_compare_exchange_strong(&m->names, &known, fresh))
            continue;
        if (old)
            tn__block_put(old, old->bytes);
        return fresh->text;
    }
}

/* ---- enumerations ---- */

/* Parameters or buffers or both, in the order of the state; each tensor once, unless 'all'. */
static size_t enumerate(const char *what, tn_module *m, int first, int last, bool all, tn_named *out, size_t cap)
{
    tn__list seen = {NULL, 0, 0};
    tn__enter(TN__NOWHERE);
    const char *name = m ? tn__state_names(m) : NULL;
    size_t n = 0;
    if (!m)
        tn__poisoned(what);
    if (!name)
        return 0;
    if (!all && !tn__grow(&seen.at, sizeof *seen.at, &seen.cap, (int64_t)tn__state_count(m))) {
        tn__error_memory("a list of parameters", sizeof *seen.at * tn__state_count(m));
        return 0; /* before out is written to */
    }
    tn__module_iter w;
    tn__module_iter_begin(&w, m);
    for (const tn_module *i; (i = tn__module_iter_next(&w));)
        for (int kind = TN__PARAMETERS; kind <= TN__BUFFERS; kind++)
            for (int64_t k = 0; k < i->slots[kind].n; k++, name += strlen(name) + 1) {
                tn_tensor *t = tn__slot_tensor(i, (tn__slot_kind)kind, k);
                int64_t had = seen.n;
                if (kind < first || kind > last)
                    continue;
                if (!all && tn__list_add(&seen, t)) {
                    tn__list_free(&seen);
                    return 0;
                }
                if (!all && seen.n == had)
                    continue;
                if (n < cap)
                    out[n] = (tn_named){name, t};
                n++;
            }
    tn__list_free(&seen);
    return n;
}

size_t tn_module_named_parameters(tn_module *m, tn_named *out, size_t cap)
{
    return enumerate("tn_module_named_parameters", m, TN__PARAMETERS, TN__PARAMETERS, false, out, cap);
}

size_t tn_module_named_buffers(tn_module *m, tn_named *out, size_t cap)
{
    return enumerate("tn_module_named_buffers", m, TN__BUFFERS, TN__BUFFERS, false, out, cap);
}

size_t tn_module_state(tn_module *m, tn_named *out, size_t cap)
{
    return enumerate("tn_module_state", m, TN__PARAMETERS, TN__BUFFERS, true, out, cap);
}

size_t tn_module_parameters(tn_module *m, tn_tensor **out, size_t cap)
{
    tn__list l = {NULL, 0, 0};
    size_t n = 0;
    tn__enter(TN__NOWHERE);
    if (!tn__params_collect("tn_module_parameters", tn_params_of_module(m), &l))
        n = (size_t)l.n;
    for (size_t i = 0; i < n && i < cap; i++)
        out[i] = l.at[i];
    tn__list_free(&l);
    return n;
}

int64_t tn_module_numel(tn_module *m)
{
    tn__list l = {NULL, 0, 0};
    int64_t n = 0;
    tn__enter(TN__NOWHERE);
    if (!tn__params_collect("tn_module_numel", tn_params_of_module(m), &l))
        for (int64_t i = 0; i < l.n; i++)
            n += l.at[i]->numel;
    tn__list_free(&l);
    return n;
}

/* ---- gradients of all parameters ---- */

tn_module *tn_module_requires_grad_(tn_module *m, bool requires_grad)
{
    tn__list l = {NULL, 0, 0};
    tn__enter(TN__NOWHERE);
    tn_status e = tn__params_collect("tn_module_requires_grad_", tn_params_of_module(m), &l);
    for (int64_t i = 0; i < l.n && !e; i++)
        if (!tn_requires_grad_(l.at[i], requires_grad))
            e = tn_error_code();
    tn__list_free(&l);
    return e ? NULL : m;
}

void tn_module_zero_grad(tn_module *m)
{
    tn__module_iter w;
    tn__enter(TN__NOWHERE);
    if (!m) {
        tn__poisoned("tn_module_zero_grad");
        return;
    }
    tn__module_iter_begin(&w, m);
    for (const tn_module *i; (i = tn__module_iter_next(&w));)
        for (int64_t k = 0; k < i->slots[TN__PARAMETERS].n; k++) {
            tn_tensor *t = tn__slot_tensor(i, TN__PARAMETERS, k), *g = t->grad;
            t->grad = NULL;
            tn__object_release(g);
        }
}
