/* Replicas of a module: modules of the same classes and names over other tensors. */
#include "parallel/parallel.h"
#include "core/alloc.h"
#include "nn/module.h"

struct tn__replicas {
    const tn_module *root; /* for comparing alone */
    uint64_t changed;      /* of tn__modules_changed, when it was made */
    size_t n;
    int64_t n_modules, cap_modules;
    tn_module **module;  /* [n_modules] the original's, each once; borrowed */
    tn_module **replica; /* [n * n_modules] */
    tn__list tensors;    /* of the original, each once; borrowed */
    int64_t n_slots, cap_slots;
    int64_t *slot; /* [n_slots] which tensor; module by module, parameters before buffers */
};

/* ---- what there is ---- */

static int64_t find_module(const tn__replicas *r, const tn_module *m)
{
    for (int64_t i = 0; i < r->n_modules; i++)
        if (r->module[i] == m)
            return i;
    return -1;
}

static tn_status list_modules(tn__replicas *r, tn_module *m)
{
    tn__module_iter w;
    tn__module_iter_begin(&w, m);
    for (tn_module *i; (i = tn__module_iter_next(&w));) {
        if (find_module(r, i) >= 0)
            continue;
        if (!tn__grow(&r->module, sizeof(tn_module *), &r->cap_modules, r->n_modules + 1))
            return tn__error_memory("a list of modules", sizeof(tn_module *) * (size_t)(r->n_modules + 1));
        r->module[r->n_modules++] = i;
    }
    return TN_OK;
}

static int64_t find_tensor(const tn__list *l, const tn_tensor *t)
{
    for (int64_t i = 0; i < l->n; i++)
        if (l->at[i] == t)
            return i;
    return -1;
}

static tn_status list_tensors(tn__replicas *r)
{
    for (int64_t i = 0; i < r->n_modules; i++)
        for (int kind = TN__PARAMETERS; kind <= TN__BUFFERS; kind++)
            for (int64_t k = 0; k < r->module[i]->slots[kind].n; k++) {
                tn_tensor *t = tn__slot_tensor(r->module[i], (tn__slot_kind)kind, k);
                tn_status e = tn__list_add(&r->tensors, t);
                if (e)
                    return e;
                if (!tn__grow(&r->slot, sizeof *r->slot, &r->cap_slots, r->n_slots + 1))
                    return tn__error_memory("a list of parameters", sizeof *r->slot * (size_t)(r->n_slots + 1));
                r->slot[r->n_slots++] = find_tensor(&r->tensors, t);
            }
    return TN_OK;
}

/* ---- making ---- */

/* The same names; for now the same tensors, and the replica's children. */
static tn_status copy_slots(const tn__replicas *r, size_t i, const tn_module *from, tn_module *to)
{
    for (int kind = 0; kind < TN__SLOT_KINDS; kind++) {
        const tn__slots *s = &from->slots[kind];
        tn__slots *mine = &to->slots[kind];
        if (s->n && !tn__grow(&mine->at, sizeof *mine->at, &mine->cap, s->n))
            return tn__error_memory("a replica", sizeof *mine->at * (size_t)s->n);
        for (int64_t k = 0; k < s->n; k++) {
            char *name = tn__text_get(s->at[k].name);
            if (!name)
                return tn__error_memory("a replica", strlen(s->at[k].name) + 1);
            void *object = s->at[k].object;
            if (kind == TN__CHILDREN)
                object = r->replica[(int64_t)i * r->n_modules + find_module(r, object)];
            mine->at[mine->n++] = (tn__slot){name, tn__object_retain(object)};
        }
    }
    return TN_OK;
}

static tn_module *make_replica(const tn_module *m)
{
    tn_module_class cls = m->cls;
    cls.destroy = NULL; /* the ctx is m's */
    tn_module *r = tn__module_make(&cls, m->ctx);
    if (r) {
        r->user = m->user;
        r->sequence = m->sequence;
        r->depth = m->depth;
    }
    return r;
}

static tn_status make_replicas(tn__replicas *r, size_t i)
{
    tn_module **replica = r->replica + (int64_t)i * r->n_modules;
    tn_status e = TN_OK;
    for (int64_t k = 0; k < r->n_modules; k++)
        if (!(replica[k] = make_replica(r->module[k])))
            return TN_ENOMEM;
    for (int64_t k = 0; k < r->n_modules && !e; k++)
        e = copy_slots(r, i, r->module[k], replica[k]);
    return e;
}

void tn__replicas_free(tn__replicas *r)
{
    if (!r)
        return;
    const int64_t n = r->replica ? (int64_t)r->n * r->n_modules : 0;
    for (int64_t i = 0; i < n; i++)
        tn__object_release(r->replica[i]);
    tn__block_put(r->replica, (size_t)n * sizeof(tn_module *));
    tn__block_put(r->module, (size_t)r->cap_modules * sizeof(tn_module *));
    tn__block_put(r->slot, (size_t)r->cap_slots * sizeof *r->slot);
    tn__list_free(&r->tensors);
    tn__block_put(r, sizeof *r);
}

tn__replicas *tn__replicas_new(tn_module *m, size_t n)
{
    tn__replicas *r = tn__block_zero(sizeof *r);
    if (!r)
        return tn__fail(TN_ENOMEM, "out of memory for replicas of a module");
    r->root = m;
    r->n = n;
    r->changed = atomic_load(&tn__modules_changed);
    tn_status e = list_modules(r, m);
    if (!e)
        e = list_tensors(r);
    if (!e && !(r->replica = tn__block_zero(n * (size_t)r->n_modules * sizeof(tn_module *))))
        e = tn__error_memory("replicas of a module", n * (size_t)r->n_modules * sizeof(tn_module *));
    for (size_t i = 0; i < n && !e; i++)
        e = make_replicas(r, i);
    if (!e)
        return r;
    tn__replicas_free(r);
    return NULL;
}

/* ---- using ---- */

bool tn__replicas_fits(const tn__replicas *r, const tn_module *m)
{
    return r->root == m && r->changed == atomic_load(&tn__modules_changed);
}

tn_tensors tn__replicas_tensors(const tn__replicas *r)
{
    return (tn_tensors){r->tensors.at, (size_t)r->tensors.n};
}

tn_module *tn__replicas_replica(const tn__replicas *r, size_t i)
{
    return r->replica[(int64_t)i * r->n_modules];
}

/* A ctx of the replica's own, of the parts that it has now, where the class makes one. */
static tn_status make_context(const tn_module *m, tn_module *replica)
{
    tn_scope scope;
    tn__thread *t = tn__self();
    const char *site = t->site;
    tn__barrier_push(t, &scope);
    void *ctx = m->cls.replicate(m, replica);
    tn__barrier_pop(t, &scope, NULL);
    t->site = site;
    if (!ctx)
        return tn__poisoned(m->cls.name);
    replica->ctx = ctx;
    replica->cls.destroy = m->cls.destroy;
    return TN_OK;
}

/* Of the step before. */
static void drop_context(tn_module *replica)
{
    tn_scope scope;
    tn__thread *t = tn__self();
    if (!replica->cls.destroy)
        return;
    tn__barrier_push(t, &scope);
    replica->cls.destroy(replica->ctx);
    tn__barrier_pop(t, &scope, NULL);
    replica->cls.destroy = NULL;
    replica->ctx = NULL;
}

static void fill_slots(tn_module *to, tn_tensor *const *t, const int64_t **slot)
{
    for (int kind = TN__PARAMETERS; kind <= TN__BUFFERS; kind++)
        for (int64_t k = 0; k < to->slots[kind].n; k++, (*slot)++) {
            tn__object *was = to->slots[kind].at[k].object;
            to->slots[kind].at[k].object = t ? tn__object_retain(t[**slot]) : NULL;
            tn__object_release(was);
        }
}

tn_status tn__replicas_fill(tn__replicas *r, size_t i, tn_tensor *const *t)
{
    tn_module **replica = r->replica + (int64_t)i * r->n_modules;
    const int64_t *slot = r->slot;
    tn_status e = TN_OK;
    for (int64_t m = 0; m < r->n_modules; m++) {
        if (t)
            replica[m]->training = r->module[m]->training;
        drop_context(replica[m]);
        fill_slots(replica[m], t, &slot);
    }
    for (int64_t m = r->n_modules; m-- > 0 && t && !e;) /* children before parents */
        if (r->module[m]->cls.replicate)
            e = make_context(r->module[m], replica[m]);
    return e;
}

/* ---- public ---- */

static tn_status fill_all(tn__replicas *r, tn_device_list devices, const tn_parallel_options *o)
{
    const tn_tensors ts = tn__replicas_tensors(r);
    const size_t bytes = TN_MAX(ts.n * devices.n, 1) * sizeof(tn_tensor *);
    tn_tensor **copies = tn__block_get(bytes);
    if (!copies)
        return tn__error_memory("replicas of a module", bytes);
    tn_status e = tn_parallel_broadcast(ts, devices, copies, .step = o->step);
    for (size_t i = 0; i < devices.n && !e; i++)
        e = tn__replicas_fill(r, i, copies + i * ts.n);
    tn__block_put(copies, bytes);
    return e;
}

tn_status tn_parallel_replicate_opt(tn_module *m, tn_device_list devices, tn_module **out,
                                    const tn_parallel_options *options)
{
    tn_parallel_options o;
    tn_scope scope;
    tn__options_in(&o, sizeof o, options);
    tn__thread *t = tn__enter(o.site);
    if (!m)
        return tn__poisoned("tn_parallel_replicate");
    if (!devices.n || !devices.d)
        return tn__error(TN_EINVAL, "tn_parallel_replicate: no devices");
    tn__replicas *r = tn__replicas_new(m, devices.n);
    if (!r)
        return tn_error_code();
    tn__scope_push(t, &scope);
    tn_status e = fill_all(r, devices, &o);
    tn__scope_pop(t, &scope, NULL);
    for (size_t i = 0; i < devices.n; i++)
        out[i] = e ? NULL : tn__object_retain(tn__replicas_replica(r, i));
    tn__replicas_free(r);
    for (size_t i = 0; i < devices.n && !e; i++)
        tn__scope_adopt(t, out[i]);
    return e;
}
