/* Modules: made, given their parts, asked for them. */
#include "nn/module.h"
#include "core/alloc.h"

/* ---- life ---- */

static void slots_free(tn__slots *s)
{
    for (int64_t i = 0; i < s->n; i++) {
        tn__text_put(s->at[i].name);
        tn__object_release(s->at[i].object);
    }
    tn__block_put(s->at, (size_t)s->cap * sizeof *s->at);
}

static void destroy_module(tn__object *o)
{
    tn_module *m = (tn_module *)o;
    if (m->cls.destroy) {
        tn__thread *t = tn__self();
        tn_scope scope;
        tn__barrier_push(t, &scope);
        m->cls.destroy(m->ctx);
        tn__barrier_pop(t, &scope, NULL);
    }
    for (int k = 0; k < TN__SLOT_KINDS; k++)
        slots_free(&m->slots[k]);
    tn__names *names = atomic_load(&m->names);
    if (names)
        tn__block_put(names, names->bytes);
    tn__text_put((char *)(uintptr_t)m->cls.name);
    tn__block_put(m, sizeof *m);
}

static const tn__class module_class = {.name = "module", .destroy = destroy_module};

tn_module *tn__module_make(const tn_module_class *cls, void *ctx)
{
    tn_module *m = tn__block_zero(sizeof *m);
    char *name = m ? tn__text_get(cls->name) : NULL;
    if (!name) {
        tn__block_put(m, sizeof *m);
        tn__error_memory("a module", sizeof *m);
        return NULL;
    }
    tn__object_init(&m->obj, &module_class);
    m->cls = *cls;
    m->cls.name = name;
    m->ctx = ctx;
    m->training = true;
    return m;
}

static tn_status check_counts(const tn_module_class *c)
{
    if ((c->inputs || c->outputs) && !c->forward_n)
        return tn__error(TN_EINVAL, "tn_module_new: %s has no forward_n, but a number of inputs or outputs", c->name);
    if (c->forward && c->forward_n)
        return tn__error(TN_EINVAL, "tn_module_new: %s has a forward and a forward_n: which one is it?", c->name);
    if (c->inputs < 0 || c->inputs > TN_FORWARD_MAX || c->outputs < 0 || c->outputs > TN_FORWARD_MAX)
        return tn__error(TN_EVALUE, "tn_module_new: %s has %d inputs and %d outputs: 0 (not said) to %d can be",
                         c->name, (int)c->inputs, (int)c->outputs, (int)TN_FORWARD_MAX);
    return TN_OK;
}

tn_module *tn_module_new_at(const char *site, const tn_module_class *cls, void *ctx)
{
    tn_module_class c = {0};
    tn__thread *t = tn__enter(site);
    if (!cls || cls->struct_size < offsetof(tn_module_class, destroy) || !cls->name || !*cls->name)
        return tn__fail(TN_EINVAL, "tn_module_new: a class with its size and a name is needed: "
                                   "{.struct_size = sizeof(tn_module_class), .name = \"MLP\", .forward = ...}");
    memcpy(&c, cls, TN_MIN(cls->struct_size, sizeof c));
    if (check_counts(&c))
        return NULL;
    tn_module *m = tn__module_make(&c, ctx);
    if (m) {
        m->user = true;
        tn__scope_adopt(t, m);
    }
    return m;
}

void *tn_module_context(const tn_module *m)
{
    return m ? m->ctx : NULL;
}

const char *tn_module_class_name(const tn_module *m)
{
    return m ? m->cls.name : "";
}

/* ---- slots ---- */

static const char *const kind_names[TN__SLOT_KINDS] = {"parameter", "buffer", "module"};

static tn__slot *find_slot(const tn_module *m, tn__slot_kind kind, const char *name, size_t n)
{
    const tn__slots *s = &m->slots[kind];
    for (int64_t i = 0; i < s->n; i++)
        if (!strncmp(s->at[i].name, name, n) && !s->at[i].name[n])
            return &s->at[i];
    return NULL;
}

static tn_status check_name(const tn_module *m, tn__slot_kind kind, const char *name)
{
    const char *what = kind_names[kind];
    if (!name || !*name)
        return tn__error(TN_EINVAL, "%s name can't be empty string \"\"", what);
    if (strchr(name, '.'))
        return tn__error(TN_EINVAL, "%s name can't contain \".\", got: %s", what, name);
    for (int k = 0; k < TN__SLOT_KINDS; k++)
        if (k != (int)kind && find_slot(m, (tn__slot_kind)k, name, strlen(name)))
            return tn__error(TN_EINVAL, "attribute '%s' already exists\n  %s has a %s of that name", name, m->cls.name,
                             kind_names[k]);
    return TN_OK;
}

_Atomic uint64_t tn__modules_changed;

/* Puts a reference to object into the slot of that name. */
static tn_status put(tn_module *m, tn__slot_kind kind, const char *name, void *object)
{
    tn__slots *s = &m->slots[kind];
    tn__slot *old = find_slot(m, kind, name, strlen(name));
    atomic_fetch_add_explicit(&tn__modules_changed, 1, memory_order_relaxed);
    if (old) {
        tn__object *was = old->object;
        old->object = tn__object_retain(object);
        tn__object_release(was);
        return TN_OK;
    }
    char *copy = tn__grow(&s->at, sizeof *s->at, &s->cap, s->n + 1) ? tn__text_get(name) : NULL;
    if (!copy)
        return tn__error_memory("a module's slot", sizeof *s->at);
    s->at[s->n++] = (tn__slot){copy, tn__object_retain(object)};
    return TN_OK;
}

/* Both operands of an add are there. */
static bool usable(const char *what, const tn_module *m, const void *part)
{
    if (part == (const void *)TN_NONE) {
        tn__error(TN_ETYPE, "%s: TN_NONE cannot be a part of a module: leave the slot out", what);
        return false;
    }
    if (!m || !part)
        tn__poisoned(what);
    return m && part;
}

tn_tensor *tn_module_add_parameter_at(const char *site, tn_module *m, const char *name, tn_tensor *t)
{
    tn__enter(site);
    if (!usable("tn_module_add_parameter", m, t) || check_name(m, TN__PARAMETERS, name))
        return NULL;
    if (!tn_tensor_is_leaf(t))
        return tn__fail(TN_EGRAD,
                        "Cannot assign non-leaf Tensor to parameter '%s'. Model parameters must be created "
                        "explicitly. To express '%s' as a function of another Tensor, compute the value in the "
                        "forward() method.",
                        name, name);
    if (!tn__dtype_is_float(t->dtype))
        return tn__fail(TN_EDTYPE,
                        "only Tensors of floating point dtype can require gradients\n  parameter '%s' is %s; "
                        "what is not trained is a buffer: tn_module_add_buffer",
                        name, tn__tensor_str(t).s);
    if (put(m, TN__PARAMETERS, name, t))
        return NULL;
    return tn_requires_grad_(t, true);
}

tn_tensor *tn_module_add_buffer_at(const char *site, tn_module *m, const char *name, tn_tensor *t)
{
    tn__enter(site);
    if (!usable("tn_module_add_buffer", m, t) || check_name(m, TN__BUFFERS, name) || put(m, TN__BUFFERS, name, t))
        return NULL;
    return t;
}

/* Everything in child may go one below m: no circle, no chain that is too long. */
static tn_status check_nesting(const tn_module *m, const tn_module *child)
{
    tn__module_iter w;
    tn__module_iter_begin(&w, child);
    for (const tn_module *i; (i = tn__module_iter_next(&w));) {
        if (i == m)
            return tn__error(TN_EINVAL, "tn_module_add_child: a module cannot be inside itself");
        if (m->depth + 1 + w.depth >= TN__NESTING)
            return tn__error(TN_EINVAL, "tn_module_add_child: modules nest at most %d deep", (int)TN__NESTING);
    }
    return TN_OK;
}

tn_module *tn_module_add_child_at(const char *site, tn_module *m, const char *name, tn_module *child)
{
    tn__enter(site);
    if (!usable("tn_module_add_child", m, child) || check_name(m, TN__CHILDREN, name) || check_nesting(m, child) ||
        put(m, TN__CHILDREN, name, child))
        return NULL;
    tn__module_iter w;
    tn__module_iter_begin(&w, child);
    for (tn_module *i; (i = tn__module_iter_next(&w));)
        i->depth = TN_MAX(i->depth, m->depth + 1 + w.depth);
    return child;
}

/* ---- looking up ---- */

/* "it has weight, bias", as far as it fits. */
static void append_choices(const tn_module *m, tn__slot_kind kind)
{
    const tn__slots *s = &m->slots[kind];
    tn__error_append("\n  its %s are:%s",
                     kind == TN__CHILDREN  ? "children"
                     : kind == TN__BUFFERS ? "buffers"
                                           : "parameters",
                     s->n ? "" : " none");
    for (int64_t i = 0; i < s->n && i < 16; i++)
        tn__error_append("%s %s", i ? "," : "", s->at[i].name);
    if (s->n > 16)
        tn__error_append(" ... (%lld in all)", (long long)s->n);
}

/* Follows a dotted name; the part after the last dot is of that kind. */
static tn__object *look_up(const char *what, const tn_module *m, tn__slot_kind kind, const char *name)
{
    if (!m) {
        tn__poisoned(what);
        return NULL;
    }
    if (!name)
        return tn__fail(TN_EINVAL, "%s: the name is NULL", what);
    for (;;) {
        size_t n = strcspn(name, ".");
        tn__slot_kind want = name[n] ? TN__CHILDREN : kind;
        const tn__slot *s = find_slot(m, want, name, n);
        if (!s) {
            tn__error(TN_EMISSING, "%s has no attribute `%.*s`", m->cls.name, (int)TN_MIN(n, 200), name);
            append_choices(m, want);
            return NULL;
        }
        if (!name[n])
            return s->object;
        m = (const tn_module *)s->object;
        name += n + 1;
    }
}

tn_tensor *tn_module_parameter_at(const char *site, tn_module *m, const char *name)
{
    tn__enter(site);
    return (tn_tensor *)look_up("tn_module_parameter", m, TN__PARAMETERS, name);
}

tn_tensor *tn_module_buffer_at(const char *site, tn_module *m, const char *name)
{
    tn__enter(site);
    return (tn_tensor *)look_up("tn_module_buffer", m, TN__BUFFERS, name);
}

tn_module *tn_module_child_at(const char *site, tn_module *m, const char *name)
{
    tn__enter(site);
    return (tn_module *)look_up("tn_module_child", m, TN__CHILDREN, name);
}

tn_module *tn_module_nth_child_at(const char *site, tn_module *m, int64_t i)
{
    tn__enter(site);
    if (!m) {
        tn__poisoned("tn_module_nth_child");
        return NULL;
    }
    int64_t n = m->slots[TN__CHILDREN].n, at = i < 0 ? i + n : i;
    if (at < 0 || at >= n)
        return tn__fail(TN_EINDEX, "index %lld is out of range\n  %s has %lld children", (long long)i, m->cls.name,
                        (long long)n);
    return tn__slot_child(m, at);
}

int64_t tn_module_child_count(const tn_module *m)
{
    return m ? m->slots[TN__CHILDREN].n : 0;
}

const char *tn_module_child_name(const tn_module *m, int64_t i)
{
    return m && i >= 0 && i < m->slots[TN__CHILDREN].n ? m->slots[TN__CHILDREN].at[i].name : "";
}

/* ---- modes ---- */

static tn_module *set_training(const char *what, tn_module *m, bool training)
{
    tn__module_iter w;
    tn__enter(TN__NOWHERE);
    if (!m) {
        tn__poisoned(what);
        return NULL;
    }
    tn__module_iter_begin(&w, m);
    for (tn_module *i; (i = tn__module_iter_next(&w));)
        i->training = training;
    return m;
}

tn_module *tn_module_train(tn_module *m)
{
    return set_training("tn_module_train", m, true);
}

tn_module *tn_module_eval(tn_module *m)
{
    return set_training("tn_module_eval", m, false);
}

bool tn_module_is_training(const tn_module *m)
{
    return m && m->training;
}

/* ---- plain forms: for bindings, function pointers and C++ ---- */

tn_module *(tn_module_new)(const tn_module_class *cls, void *ctx)
{
    return tn_module_new_at(TN__NOWHERE, cls, ctx);
}

tn_tensor *(tn_module_add_parameter)(tn_module *m, const char *name, tn_tensor *t)
{
    return tn_module_add_parameter_at(TN__NOWHERE, m, name, t);
}

tn_tensor *(tn_module_add_buffer)(tn_module *m, const char *name, tn_tensor *t)
{
    return tn_module_add_buffer_at(TN__NOWHERE, m, name, t);
}

tn_module *(tn_module_add_child)(tn_module *m, const char *name, tn_module *child)
{
    return tn_module_add_child_at(TN__NOWHERE, m, name, child);
}

tn_tensor *(tn_module_parameter)(tn_module *m, const char *name)
{
    return tn_module_parameter_at(TN__NOWHERE, m, name);
}

tn_tensor *(tn_module_buffer)(tn_module *m, const char *name)
{
    return tn_module_buffer_at(TN__NOWHERE, m, name);
}

tn_module *(tn_module_child)(tn_module *m, const char *name)
{
    return tn_module_child_at(TN__NOWHERE, m, name);
}

tn_module *(tn_module_nth_child)(tn_module *m, int64_t i)
{
    return tn_module_nth_child_at(TN__NOWHERE, m, i);
}
