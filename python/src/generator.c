/* generator.c: torch.Generator, and the functions that seed. */
#include "generator.h"
#include "out.h"

#include <assert.h>
#include <pthread.h>

static PyTypeObject *generator_type;
static PyObject *default_cpu;

static py_generator *of(PyObject *o)
{
    return (py_generator *)(void *)o;
}

static tn_rng_state state_of(const py_generator *g)
{
    return g->shared ? tn_get_rng_state(g->device) : g->state;
}

static int set_state_of(py_generator *g, tn_rng_state state)
{
    g->state = state;
    if (!g->shared || !tn_set_rng_state(g->device, state))
        return 0;
    py_raise();
    return -1;
}

static bool is_mt(const py_generator *g)
{
    return g->device.type == TN_DEVICE_CPU && tn_uses_mt19937();
}

static void mt_of(const py_generator *g, tn_mt19937 *out)
{
    if (g->shared)
        tn_get_mt19937(out);
    else
        *out = g->mt;
}

static void set_mt_of(py_generator *g, const tn_mt19937 *state)
{
    if (g->shared)
        tn_set_mt19937(state);
    else
        g->mt = *state;
}

static uint64_t seed_of(const py_generator *g)
{
    if (!is_mt(g))
        return state_of(g).seed;
    return g->shared ? tn_initial_seed() : g->mt.seed;
}

static int set_seed_of(py_generator *g, uint64_t seed)
{
    if (g->device.type == TN_DEVICE_CPU) {
        tn_mt19937 mt;
        tn_mt19937_seed(&mt, seed);
        set_mt_of(g, &mt);
    }
    return set_state_of(g, (tn_rng_state){seed, 0});
}

/* ---- drawing from one ---- */

static int check_generator(const char *function, PyObject *o, tn_device device)
{
    char name[64];
    if (!PyObject_TypeCheck(o, generator_type)) {
        PyErr_Format(PyExc_TypeError, "%s(): argument 'generator' must be torch.Generator, not %s", function,
                     py_type_name(o, name, sizeof name));
        return -1;
    }
    if (of(o)->device.type == device.type)
        return 0;
    PyErr_Format(PyExc_RuntimeError, "Expected a '%s' device type for generator but found '%s'",
                 tn_device_text(tn_device_make(device.type, -1)).s,
                 tn_device_text(tn_device_make(of(o)->device.type, -1)).s);
    return -1;
}

static bool is_own(const py_generator *g, tn_device device)
{
    int32_t index = device.type == TN_DEVICE_CUDA && device.index < 0 ? tn_cuda_current_device() : device.index;
    return g->shared && (device.type != TN_DEVICE_CUDA || g->device.index == index);
}

/* Held by the one operation that draws. Never waited for with the GIL in hand by somebody who needs the GIL to go on: who
 * holds it has let the GIL go. A child of fork() begins with it free. */
static pthread_mutex_t drawing = PTHREAD_MUTEX_INITIALIZER;

static void before_fork(void)
{
    pthread_mutex_lock(&drawing);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&drawing);
}

int py_draw_begin(py_draw *draw, const char *function, const py_value *v, tn_device device, const py_value *used, int n)
{
    draw->device = device;
    draw->generator = NULL;
    draw->mt = false;
    memset(draw->own, 0, sizeof draw->own);
    if (v && v->given && v->u.object != Py_None) {
        if (check_generator(function, v->u.object, device))
            return -1;
        if (!is_own(of(v->u.object), device))
            draw->generator = of(Py_NewRef(v->u.object));
    }
    for (int i = 0, k = 0; i < n; i++)
        if (py_tensor_in(used[i].s)) {
            assert((size_t)k < sizeof draw->own / sizeof *draw->own);
            draw->own[k++] = py_tensor_in(used[i].s);
        }
    draw->thread = py_unlock_owning(draw->own, sizeof draw->own / sizeof *draw->own);
    pthread_mutex_lock(&drawing);
    if (!draw->generator)
        return 0;
    draw->mt = is_mt(draw->generator);
    if (draw->mt) {
        tn_get_mt19937(&draw->mt_before);
        tn_set_mt19937(&draw->generator->mt);
        return 0;
    }
    draw->before = tn_get_rng_state(device);
    if (!tn_set_rng_state(device, state_of(draw->generator)))
        return 0;
    pthread_mutex_unlock(&drawing);
    py_lock_owning(draw->thread, draw->own, sizeof draw->own / sizeof *draw->own);
    py_raise();
    Py_DECREF((PyObject *)draw->generator);
    return -1;
}

void py_draw_end(py_draw *draw)
{
    if (draw->mt) {
        tn_get_mt19937(&draw->generator->mt);
        tn_set_mt19937(&draw->mt_before);
    } else if (draw->generator) {
        tn_rng_state after = tn_get_rng_state(draw->device);
        /* cannot fail: begin has set both devices' states, or read them */
        (void)!tn_set_rng_state(draw->device, draw->before);
        if (draw->generator->shared)
            (void)!tn_set_rng_state(draw->generator->device, after);
        draw->generator->state = after;
    }
    pthread_mutex_unlock(&drawing);
    py_lock_owning(draw->thread, draw->own, sizeof draw->own / sizeof *draw->own);
    Py_XDECREF((PyObject *)draw->generator);
    draw->generator = NULL;
}

const char *py_scalar_type_name(tn_dtype dtype)
{
    return py_dtypes[dtype > 0 && dtype < (tn_dtype)PY_DTYPES ? dtype : TN_DTYPE_DEFAULT].legacy;
}

PyObject *py_into(const char *function, const py_value *out, tn_tensor *result)
{
    if (!result || !out->given)
        return py_wrap(result);
    bool ok = py_write_out(function, py_out_rule("made", 4), out->s.v.t, result) == 0;
    tn_release(result);
    return ok ? py_borrowed(out->s.v.t) : NULL;
}

/* ---- seeds and states as Python's objects ---- */

/* -2^63 .. 2^64 - 1; negative ones count from 2^64 down, as in PyTorch. */
static int seed_from(PyObject *o, uint64_t *out)
{
    int overflow;
    long long i = PyLong_AsLongLongAndOverflow(o, &overflow);
    *out = (uint64_t)i;
    if (overflow > 0) {
        *out = PyLong_AsUnsignedLongLong(o);
        overflow = PyErr_Occurred() != NULL;
        PyErr_Clear();
    }
    if (overflow) {
        PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long");
        return -1;
    }
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *long_of(uint64_t v)
{
    return PyLong_FromUnsignedLongLong(v);
}

/* A CPU's state is PyTorch's, so that each library goes on where the other was: its struct, as x86 and ARM lay it out. */
typedef struct mt_state {
    uint64_t seed;
    int32_t left, seeded;
    uint64_t next, state[624];
    double unused_x, normal, unused_rho;
    int32_t has_normal, padding;
    float single_normal;
    int32_t has_single_normal;
} mt_state;

enum { STATE_BYTES = 16, MT_STATE_BYTES = sizeof(mt_state) };

static PyObject *tensor_of_bytes(void *bytes, size_t n)
{
    tn_tensor_from_options o = {.struct_size = sizeof o, .site = "", .device = TN_CPU};
    return py_wrap((tn_tensor_from_opt)((tn_array){bytes, (int64_t)n, TN_U8, false}, &o));
}

static PyObject *tensor_of_mt(const tn_mt19937 *g)
{
    mt_state s = {.seed = g->seed,
                  .left = g->left,
                  .seeded = 1,
                  .next = g->next,
                  .normal = g->has_normal ? g->normal : 0,
                  .has_normal = g->has_normal};
    for (int i = 0; i < 624; i++)
        s.state[i] = g->state[i];
    return tensor_of_bytes(&s, sizeof s);
}

static bool mt_from(const void *bytes, tn_mt19937 *out)
{
    mt_state s;
    memcpy(&s, bytes, sizeof s);
    *out = (tn_mt19937){
        .seed = s.seed, .left = s.left, .next = (uint32_t)s.next, .normal = s.normal, .has_normal = s.has_normal != 0};
    for (int i = 0; i < 624; i++)
        out->state[i] = (uint32_t)s.state[i];
    const bool fresh = s.left == 1 && s.next <= 624,
               going = s.left > 1 && s.left <= 624 && s.next == 625U - (uint32_t)s.left;
    if (!(s.seeded == 1 && (fresh || going)))
        PyErr_SetString(PyExc_RuntimeError, "Invalid mt19937 state");
    return s.seeded == 1 && (fresh || going);
}

/* uint8 [16]: seed and offset, the lowest byte first */
static PyObject *tensor_of(tn_rng_state state)
{
    uint8_t bytes[STATE_BYTES];
    for (int i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(state.seed >> 8 * i);
        bytes[8 + i] = (uint8_t)(state.offset >> 8 * i);
    }
    return tensor_of_bytes(bytes, sizeof bytes);
}

/* The bytes of a state of that many, or NULL with an exception. */
static const uint8_t *state_bytes(PyObject *o, int64_t n)
{
    char name[64];
    if (!py_is_tensor(o)) {
        PyErr_Format(PyExc_TypeError, "expected a torch.ByteTensor, but got %s", py_type_name(o, name, sizeof name));
        return NULL;
    }
    tn_tensor *t = py_t(o);
    if (tn_tensor_dtype(t) != TN_U8 || tn_tensor_device(t).type != TN_DEVICE_CPU || !tn_tensor_is_contiguous(t)) {
        PyErr_SetString(PyExc_TypeError, "RNG state must be a torch.ByteTensor");
        return NULL;
    }
    if (tn_tensor_numel(t) != n) {
        PyErr_Format(PyExc_RuntimeError, "RNG state is wrong size: this generator has %lld bytes, but got %lld",
                     (long long)n, (long long)tn_tensor_numel(t));
        return NULL;
    }
    void *data = tn_data(t);
    if (!data)
        py_raise();
    return data;
}

static PyObject *state_tensor(const py_generator *g)
{
    tn_mt19937 mt;
    if (!is_mt(g))
        return tensor_of(state_of(g));
    mt_of(g, &mt);
    return tensor_of_mt(&mt);
}

static int set_state_tensor(py_generator *g, PyObject *o)
{
    tn_mt19937 mt;
    const uint8_t *bytes = state_bytes(o, is_mt(g) ? MT_STATE_BYTES : STATE_BYTES);
    if (!bytes || (is_mt(g) && !mt_from(bytes, &mt)))
        return -1;
    if (is_mt(g)) {
        set_mt_of(g, &mt);
        return 0;
    }
    tn_rng_state state = {0, 0};
    for (int i = 0; i < 8; i++) {
        state.seed |= (uint64_t)bytes[i] << 8 * i;
        state.offset |= (uint64_t)bytes[8 + i] << 8 * i;
    }
    return set_state_of(g, state);
}

/* ---- the type ---- */

static PyObject *make(PyTypeObject *type, tn_device device, bool shared)
{
    py_generator *self = (py_generator *)(void *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self)
        return NULL;
    self->device = device;
    self->shared = shared;
    self->state = (tn_rng_state){67280421310721U, 0}; /* PyTorch's default seed */
    if (device.type == TN_DEVICE_CPU && !shared)
        tn_mt19937_seed(&self->mt, self->state.seed);
    return (PyObject *)self;
}

/* A device that has a generator: cpu, or a GPU that is there. */
static int resolve(tn_device *device)
{
    if (device->type == TN_DEVICE_CPU) {
        device->index = -1;
        return 0;
    }
    if (device->type != TN_DEVICE_CUDA) {
        PyErr_Format(PyExc_RuntimeError, "Device type %s is not supported for torch.Generator() api.",
                     tn_device_text(tn_device_make(device->type, -1)).s);
        return -1;
    }
    if (device->index < 0)
        device->index = tn_cuda_current_device();
    if (tn_cuda_device_name(*device))
        return 0;
    py_raise();
    return -1;
}

static int device_argument(PyObject *o, tn_device *out)
{
    char name[64];
    int status = o && o != Py_None ? py_device_from(o, out) : 0;
    if (status > 0)
        PyErr_Format(PyExc_TypeError, "Generator(): argument 'device' (position 1) must be torch.device, not %s",
                     py_type_name(o, name, sizeof name));
    return status ? -1 : resolve(out);
}

static PyObject *new (PyTypeObject *type, PyObject *args, PyObject *kwds)
{
    static char *names[] = {"device", NULL};
    PyObject *o = NULL;
    tn_device device = TN_CPU;
    if (!PyArg_ParseTupleAndKeywords(args, kwds, "|O:Generator", names, &o) || device_argument(o, &device))
        return NULL;
    return make(type, device, false);
}

static void dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyObject *manual_seed(PyObject *self, PyObject *o)
{
    char name[64];
    uint64_t seed;
    if (!PyLong_Check(o))
        return PyErr_Format(PyExc_RuntimeError, "manual_seed expected a long, but got %s",
                            py_type_name(o, name, sizeof name));
    if (seed_from(o, &seed) || set_seed_of(of(self), seed))
        return NULL;
    return Py_NewRef(self);
}

/* A seed from the system's entropy, without touching the library's generators. */
static int entropy(uint64_t *out)
{
    PyObject *os = PyImport_ImportModule("os"), *bytes = os ? PyObject_CallMethod(os, "urandom", "i", 8) : NULL;
    const char *text = bytes ? PyBytes_AsString(bytes) : NULL;
    if (text)
        memcpy(out, text, sizeof *out);
    Py_XDECREF(bytes);
    Py_XDECREF(os);
    return text ? 0 : -1;
}

static PyObject *seed_method(PyObject *self, PyObject *unused)
{
    (void)unused;
    uint64_t seed;
    if (entropy(&seed) || set_seed_of(of(self), seed))
        return NULL;
    return long_of(seed);
}

static PyObject *initial_seed_method(PyObject *self, PyObject *unused)
{
    (void)unused;
    return long_of(seed_of(of(self)));
}

static PyObject *get_state(PyObject *self, PyObject *unused)
{
    (void)unused;
    return state_tensor(of(self));
}

static PyObject *set_state(PyObject *self, PyObject *o)
{
    return set_state_tensor(of(self), o) ? NULL : Py_NewRef(self);
}

static PyObject *clone_state(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *copy = make(Py_TYPE(self), of(self)->device, false);
    if (copy) {
        of(copy)->state = state_of(of(self));
        if (of(self)->device.type == TN_DEVICE_CPU)
            mt_of(of(self), &of(copy)->mt);
    }
    return copy;
}

/* Pickled with the state of now: two ints, or the tensor of get_state. */
static PyObject *reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (is_mt(of(self)))
        return Py_BuildValue("O(N)(N)", (PyObject *)Py_TYPE(self), py_device_object(of(self)->device),
                             state_tensor(of(self)));
    tn_rng_state state = state_of(of(self));
    return Py_BuildValue("O(N)(KK)", (PyObject *)Py_TYPE(self), py_device_object(of(self)->device),
                         (unsigned long long)state.seed, (unsigned long long)state.offset);
}

static PyObject *setstate(PyObject *self, PyObject *o)
{
    unsigned long long seed, offset;
    if (!PyTuple_Check(o))
        return PyErr_Format(PyExc_TypeError, "a Generator's state is a tuple");
    if (PyTuple_Size(o) == 1) {
        if (set_state_tensor(of(self), PyTuple_GetItem(o, 0)))
            return NULL;
        Py_RETURN_NONE;
    }
    if (!PyArg_ParseTuple(o, "KK", &seed, &offset) || set_state_of(of(self), (tn_rng_state){seed, offset}))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *get_device(PyObject *self, void *unused)
{
    (void)unused;
    return py_device_object(of(self)->device);
}

static PyMethodDef methods[] = {
    {"manual_seed", manual_seed, METH_O, "manual_seed(seed: int) -> Generator\n\nSeeds it; returns it."},
    {"seed", seed_method, METH_NOARGS, "seed() -> int\n\nSeeds it from the system's entropy; returns the seed."},
    {"initial_seed", initial_seed_method, METH_NOARGS, "initial_seed() -> int\n\nThe seed it was given last."},
    {"get_state", get_state, METH_NOARGS,
     "get_state() -> Tensor\n\nAll there is to it: uint8 [5056] on the CPU, as PyTorch's; [16] of Philox."},
    {"set_state", set_state, METH_O, "set_state(state: Tensor) -> None\n\nMakes it go on where get_state was called."},
    {"clone_state", clone_state, METH_NOARGS, "clone_state() -> Generator\n\nAnother Generator in the same state."},
    {"__reduce__", reduce, METH_NOARGS, NULL},
    {"__setstate__", setstate, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"device", get_device, NULL, "Whose random numbers it gives.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, (void *)new},
    {Py_tp_dealloc, (void *)dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {Py_tp_doc,
     (void *)"Generator(device='cpu')\n\nRandom numbers apart from those of the device's own generator. On the CPU "
             "the same seed gives PyTorch's numbers; GPUs have Philox 4x32-10."},
    {0, NULL},
};

static PyType_Spec spec = {"tenon.Generator", sizeof(py_generator), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

/* ---- functions ---- */

/* What int() takes: the seeds of torch.manual_seed. */
static int seed_from_any(PyObject *o, uint64_t *out)
{
    PyObject *n = PyNumber_Long(o);
    int status = n ? seed_from(n, out) : -1;
    Py_XDECREF(n);
    return status;
}

static PyObject *torch_manual_seed(PyObject *self, PyObject *o)
{
    (void)self;
    uint64_t seed;
    if (seed_from_any(o, &seed))
        return NULL;
    tn_manual_seed(seed);
    return Py_NewRef(default_cpu);
}

static PyObject *torch_seed(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return long_of(tn_seed());
}

static PyObject *torch_initial_seed(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return long_of(tn_initial_seed());
}

static PyObject *torch_get_rng_state(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return state_tensor(of(default_cpu));
}

static PyObject *torch_set_rng_state(PyObject *self, PyObject *o)
{
    (void)self;
    if (set_state_tensor(of(default_cpu), o))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *use_torch_numbers(PyObject *self, PyObject *o)
{
    (void)self;
    const int on = PyObject_IsTrue(o);
    if (on < 0)
        return NULL;
    tn_use_mt19937(on);
    Py_RETURN_NONE;
}

static PyObject *uses_torch_numbers(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyBool_FromLong(tn_uses_mt19937());
}

static PyObject *cuda_manual_seed(PyObject *self, PyObject *o)
{
    (void)self;
    uint64_t seed;
    if (seed_from_any(o, &seed))
        return NULL;
    tn_cuda_manual_seed(seed);
    Py_RETURN_NONE;
}

static PyObject *cuda_manual_seed_all(PyObject *self, PyObject *o)
{
    (void)self;
    uint64_t seed;
    if (seed_from_any(o, &seed))
        return NULL;
    tn_cuda_manual_seed_all(seed);
    Py_RETURN_NONE;
}

/* The device's own generator, as an object. */
static PyObject *generator_of(PyObject *self, PyObject *o)
{
    (void)self;
    tn_device device = TN_CPU;
    return device_argument(o, &device) ? NULL : make(generator_type, device, true);
}

static PyMethodDef functions[] = {
    {"manual_seed", torch_manual_seed, METH_O,
     "manual_seed(seed: int) -> Generator\n\nSeeds the generators of every device; returns the CPU's."},
    {"seed", torch_seed, METH_NOARGS,
     "seed() -> int\n\nSeeds the generators of every device from the system's entropy; returns the seed."},
    {"initial_seed", torch_initial_seed, METH_NOARGS, "initial_seed() -> int\n\nThe seed of the CPU's generator."},
    {"get_rng_state", torch_get_rng_state, METH_NOARGS,
     "get_rng_state() -> Tensor\n\nThe state of the CPU's generator: uint8 [5056], as PyTorch's."},
    {"set_rng_state", torch_set_rng_state, METH_O,
     "set_rng_state(new_state: Tensor) -> None\n\nSets the state of the CPU's generator."},
    {"_use_torch_numbers", use_torch_numbers, METH_O, "Is the CPU's generator to give PyTorch's numbers?"},
    {"_uses_torch_numbers", uses_torch_numbers, METH_NOARGS, "Does it?"},
    {"_cuda_manual_seed", cuda_manual_seed, METH_O, "Seeds the generator of the current GPU."},
    {"_cuda_manual_seed_all", cuda_manual_seed_all, METH_O, "Seeds the generators of all GPUs."},
    {"_generator_of", generator_of, METH_O, "The own generator of a device."},
    {NULL, NULL, 0, NULL},
};

int py_add_random(PyObject *module)
{
    tn_use_mt19937(true);
    generator_type = py_type_new(module, &spec, NULL);
    default_cpu = generator_type ? make(generator_type, TN_CPU, true) : NULL;
    if (!default_cpu || PyModule_AddObjectRef(module, "default_generator", default_cpu))
        return -1;
    if (pthread_atfork(before_fork, after_fork, after_fork)) {
        PyErr_NoMemory();
        return -1;
    }
    return PyModule_AddFunctions(module, functions);
}
