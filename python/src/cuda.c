/* cuda.c: tenon._C._cuda: devices, memory and NVML's numbers. The words of torch.cuda are in tenon/cuda/. */
#include "cuda.h"

#include <stdio.h>
#include <stdlib.h>

int py_cuda_index(PyObject *o, tn_device *out)
{
    int64_t i;
    int status = py_int(o, &i);
    if (status > 0)
        PyErr_SetString(PyExc_TypeError, "a device's index must be an int");
    if (status)
        return -1;
    *out = TN_CUDA(i < 0 ? -1 : i > INT32_MAX ? INT32_MAX : (int32_t)i);
    return 0;
}

/* A dictionary grows by one entry, whose reference is taken over. */
static bool put(PyObject *dict, const char *key, PyObject *value)
{
    bool ok = value && !PyDict_SetItemString(dict, key, value);
    Py_XDECREF(value);
    return ok;
}

static bool put_int(PyObject *dict, const char *key, int64_t value)
{
    return put(dict, key, PyLong_FromLongLong(value));
}

/* NVML's numbers are None where it says nothing. */
static bool put_known(PyObject *dict, const char *key, int64_t value)
{
    return put(dict, key, value < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(value));
}

static bool put_text(PyObject *dict, const char *key, const char *text)
{
    return put(dict, key, PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace"));
}

/* ---- devices ---- */

/* There is no GPU, where a setting may be why: what was set since the import, or is found wrong only now, is said. */
static int why_none(void)
{
    static bool asked;
    if (asked)
        return 0;
    asked = true;
    return py_warn_of_settings();
}

static PyObject *is_available(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    bool there;
    UNLOCKED(there = tn_cuda_is_available());
    return there || !why_none() ? PyBool_FromLong(there) : NULL;
}

static PyObject *device_count(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    int32_t n;
    UNLOCKED(n = tn_cuda_device_count());
    return n || !why_none() ? PyLong_FromLong(n) : NULL;
}

static PyObject *current_device(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyLong_FromLong(tn_cuda_current_device());
}

static PyObject *set_device(PyObject *self, PyObject *o)
{
    (void)self;
    tn_device d;
    tn_status status;
    if (py_cuda_index(o, &d))
        return NULL;
    UNLOCKED(status = tn_cuda_set_device(d.index));
    return py_done(status);
}

static PyObject *device_name(PyObject *self, PyObject *o)
{
    (void)self;
    tn_device d;
    const char *name;
    if (py_cuda_index(o, &d))
        return NULL;
    UNLOCKED(name = tn_cuda_device_name(d));
    return name ? PyUnicode_FromString(name) : py_raise();
}

static PyObject *capability(PyObject *self, PyObject *o)
{
    (void)self;
    tn_device d;
    tn_status status;
    int32_t major = 0, minor = 0;
    if (py_cuda_index(o, &d))
        return NULL;
    UNLOCKED(status = tn_cuda_device_capability(d, &major, &minor));
    return status ? py_raise() : Py_BuildValue("(ii)", (int)major, (int)minor);
}

/* A number of a device; below 0: none, or an error. */
static PyObject *number_of(PyObject *o, int32_t (*ask)(tn_device))
{
    tn_device d;
    int32_t n;
    if (py_cuda_index(o, &d))
        return NULL;
    tn_error_clear();
    UNLOCKED(n = ask(d));
    return n < 0 && tn_error_code() ? py_raise() : PyLong_FromLong(n);
}

static PyObject *physical(PyObject *self, PyObject *o)
{
    (void)self;
    return number_of(o, tn_cuda_physical);
}

static PyObject *ordinal(PyObject *self, PyObject *o)
{
    (void)self;
    return number_of(o, tn_cuda_ordinal);
}

static PyObject *can_access_peer(PyObject *self, PyObject *args)
{
    (void)self;
    int device, peer;
    bool can = false;
    tn_status status;
    if (!PyArg_ParseTuple(args, "ii", &device, &peer))
        return NULL;
    UNLOCKED(status = tn_cuda_can_access_peer(TN_CUDA(device), TN_CUDA(peer), &can));
    return status ? py_raise() : PyBool_FromLong(can);
}

static PyObject *set_wait(PyObject *self, PyObject *o)
{
    (void)self;
    const char *how = PyUnicode_AsUTF8AndSize(o, NULL);
    return how ? py_done(tn_cuda_set_wait(how)) : NULL;
}

static PyObject *synchronize(PyObject *self, PyObject *o)
{
    (void)self;
    tn_device d;
    tn_status status;
    if (py_cuda_index(o, &d))
        return NULL;
    UNLOCKED(status = tn_synchronize(d));
    return py_done(status);
}

static PyObject *reset(PyObject *self, PyObject *o)
{
    (void)self;
    tn_device d;
    tn_status status;
    if (py_cuda_index(o, &d))
        return NULL;
    UNLOCKED(status = tn_cuda_reset(d));
    return py_done(status);
}

/* ---- properties ---- */

typedef struct py_properties {
    PyObject_HEAD tn_cuda_properties p;
} py_properties;

static PyTypeObject *properties_type;

static PyObject *properties_repr(PyObject *self)
{
    const tn_cuda_properties *p = &((py_properties *)(void *)self)->p;
    enum { MIB = 1 << 20 };
    return PyUnicode_FromFormat("_CudaDeviceProperties(name='%s', major=%d, minor=%d, total_memory=%lldMB, "
                                "multi_processor_count=%d, uuid=%s, L2_cache_size=%lldMB)",
                                p->name, (int)p->major, (int)p->minor, (long long)(p->total_memory / MIB),
                                (int)p->multi_processor_count, p->uuid, (long long)(p->L2_cache_size / MIB));
}

#define AT(field) offsetof(py_properties, p) + offsetof(tn_cuda_properties, field), READONLY, NULL
static PyMemberDef properties_members[] = {
    {"name", T_STRING_INPLACE, AT(name)},
    {"major", T_INT, AT(major)},
    {"minor", T_INT, AT(minor)},
    {"total_memory", T_LONGLONG, AT(total_memory)},
    {"multi_processor_count", T_INT, AT(multi_processor_count)},
    {"warp_size", T_INT, AT(warp_size)},
    {"max_threads_per_block", T_INT, AT(max_threads_per_block)},
    {"max_threads_per_multi_processor", T_INT, AT(max_threads_per_multi_processor)},
    {"regs_per_multiprocessor", T_INT, AT(regs_per_multiprocessor)},
    {"shared_memory_per_block", T_LONGLONG, AT(shared_memory_per_block)},
    {"shared_memory_per_block_optin", T_LONGLONG, AT(shared_memory_per_block_optin)},
    {"shared_memory_per_multiprocessor", T_LONGLONG, AT(shared_memory_per_multiprocessor)},
    {"L2_cache_size", T_LONGLONG, AT(L2_cache_size)},
    {"clock_rate", T_INT, AT(clock_rate)},
    {"memory_clock_rate", T_INT, AT(memory_clock_rate)},
    {"memory_bus_width", T_INT, AT(memory_bus_width)},
    {"pci_domain_id", T_INT, AT(pci_domain_id)},
    {"pci_bus_id", T_INT, AT(pci_bus_id)},
    {"pci_device_id", T_INT, AT(pci_device_id)},
    {"is_integrated", T_BOOL, AT(is_integrated)},
    {"is_multi_gpu_board", T_BOOL, AT(is_multi_gpu_board)},
    {"uuid", T_STRING_INPLACE, AT(uuid)},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot properties_slots[] = {
    {Py_tp_repr, (void *)properties_repr},
    {Py_tp_members, properties_members},
    {Py_tp_doc, (void *)"What a GPU is. Memory in bytes, clocks in kHz (0: unknown), memory_bus_width in bits."},
    {0, NULL},
};

static PyType_Spec properties_spec = {"tenon.cuda._CudaDeviceProperties", sizeof(py_properties), 0,
                                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, properties_slots};

static PyObject *properties(PyObject *self, PyObject *o)
{
    (void)self;
    tn_device d;
    tn_cuda_properties p;
    tn_status status;
    if (py_cuda_index(o, &d))
        return NULL;
    UNLOCKED(status = tn_cuda_device_properties(d, &p));
    if (status)
        return py_raise();
    py_properties *made = PyObject_New(py_properties, properties_type);
    if (made)
        made->p = p;
    return (PyObject *)made;
}

/* ---- memory ---- */

static PyObject *mem_get_info(PyObject *self, PyObject *o)
{
    (void)self;
    tn_device d;
    tn_status status;
    int64_t available = 0, total = 0;
    if (py_cuda_index(o, &d))
        return NULL;
    UNLOCKED(status = tn_cuda_mem_get_info(d, &available, &total));
    return status ? py_raise() : Py_BuildValue("(LL)", (long long)available, (long long)total);
}

/* What PyTorch calls a statistic: "<name>.all.current" and so on; allocated and freed: since the process began. */
static bool put_pair(PyObject *dict, const char *name, int64_t current, int64_t peak)
{
    char key[64];
    snprintf(key, sizeof key, "%s.all.current", name);
    bool ok = put_int(dict, key, current);
    snprintf(key, sizeof key, "%s.all.peak", name);
    return ok && put_int(dict, key, peak);
}

static bool put_history(PyObject *dict, const char *name, int64_t allocated, int64_t freed)
{
    char key[64];
    snprintf(key, sizeof key, "%s.all.allocated", name);
    bool ok = put_int(dict, key, allocated);
    snprintf(key, sizeof key, "%s.all.freed", name);
    return ok && put_int(dict, key, freed);
}

/* The line of a program that asked for a block, as PyTorch's frames are: one, or none. */
static PyObject *frames_of(const char *site)
{
    const char *colon = site ? strrchr(site, ':') : NULL;
    if (!colon)
        return PyList_New(0);
    return Py_BuildValue("[{s:s#,s:l,s:s}]", "filename", site, (Py_ssize_t)(colon - site), "line",
                         strtol(colon + 1, NULL, 10), "name", "");
}

static PyObject *block_of(const tn_memory_block *b)
{
    static const char *const states[] = {[TN_MEMORY_INACTIVE] = "inactive",
                                         [TN_MEMORY_ALLOCATED] = "active_allocated",
                                         [TN_MEMORY_PENDING_FREE] = "active_pending_free"};
    PyObject *dict = PyDict_New();
    if (dict && put(dict, "address", PyLong_FromVoidPtr(b->address)) && put_int(dict, "size", b->size) &&
        put_int(dict, "requested_size", b->requested_size) && put_text(dict, "state", states[b->state]) &&
        put(dict, "frames", frames_of(b->site)))
        return dict;
    Py_XDECREF(dict);
    return NULL;
}

static PyObject *blocks_of(const tn_memory_segment *s)
{
    PyObject *list = PyList_New((Py_ssize_t)s->n_blocks);
    for (int64_t i = 0; list && i < s->n_blocks; i++) {
        PyObject *block = block_of(&s->blocks[i]);
        if (!block || PyList_SetItem(list, (Py_ssize_t)i, block))
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *segment_of(const tn_memory_segment *s)
{
    PyObject *dict = PyDict_New();
    if (dict && put_int(dict, "device", s->device.index) && put(dict, "address", PyLong_FromVoidPtr(s->address)) &&
        put_int(dict, "total_size", s->total_size) && put_int(dict, "allocated_size", s->allocated_size) &&
        put_int(dict, "active_size", s->active_size) && put_int(dict, "requested_size", s->requested_size) &&
        put(dict, "stream", PyLong_FromVoidPtr(s->stream)) &&
        put_text(dict, "segment_type", s->is_large ? "large" : "small") && put(dict, "frames", PyList_New(0)) &&
        put(dict, "segment_pool_id", Py_BuildValue("(ii)", 0, 0)) &&
        put(dict, "is_expandable", PyBool_FromLong(s->is_expandable)) && put(dict, "blocks", blocks_of(s)))
        return dict;
    Py_XDECREF(dict);
    return NULL;
}

/* The segments of one GPU. */
static PyObject *memory_snapshot(PyObject *self, PyObject *o)
{
    (void)self;
    tn_device d;
    if (py_cuda_index(o, &d))
        return NULL;
    tn_memory_snapshot *s = tn_cuda_memory_snapshot(d);
    PyObject *list = s ? PyList_New((Py_ssize_t)s->n_segments) : py_raise();
    for (int64_t i = 0; list && i < s->n_segments; i++) {
        PyObject *segment = segment_of(&s->segments[i]);
        if (!segment || PyList_SetItem(list, (Py_ssize_t)i, segment))
            Py_CLEAR(list);
    }
    tn_memory_snapshot_free(s);
    return list;
}

static PyObject *memory_stats(PyObject *self, PyObject *o)
{
    (void)self;
    tn_device d;
    if (py_cuda_index(o, &d))
        return NULL;
    tn_error_clear();
    tn_memory_statistics s = tn_memory_stats(d);
    PyObject *dict = tn_error_code() ? py_raise() : PyDict_New();
    if (!dict)
        return NULL;
    if (put_pair(dict, "active_bytes", s.active, s.active_peak) &&
        put_history(dict, "allocation", s.total_blocks, s.total_blocks - s.blocks) &&
        put_pair(dict, "allocation", s.blocks, s.blocks_peak) &&
        put_pair(dict, "allocated_bytes", s.allocated, s.allocated_peak) &&
        put_pair(dict, "inactive_split_bytes", s.inactive_split, s.inactive_split_peak) &&
        put_pair(dict, "requested_bytes", s.requested, s.requested_peak) &&
        put_pair(dict, "reserved_bytes", s.reserved, s.reserved_peak) &&
        put_history(dict, "segment", s.allocations, s.releases) &&
        put_pair(dict, "segment", s.segments, s.segments_peak) && put_int(dict, "num_alloc_retries", s.retries) &&
        put_int(dict, "num_device_alloc", s.allocations) && put_int(dict, "num_device_free", s.releases) &&
        put_int(dict, "num_ooms", s.ooms))
        return dict;
    Py_DECREF(dict);
    return NULL;
}

static PyObject *memory_summary(PyObject *self, PyObject *o)
{
    (void)self;
    tn_device d;
    if (py_cuda_index(o, &d))
        return NULL;
    int64_t n = tn_memory_summary(d, NULL, 0);
    char *text = n < 0 ? NULL : malloc((size_t)n + 1);
    if (!text)
        return n < 0 ? py_raise() : PyErr_NoMemory();
    PyObject *r = tn_memory_summary(d, text, (size_t)n + 1) < 0 ? py_raise() : PyUnicode_FromString(text);
    free(text);
    return r;
}

static PyObject *quiet(void)
{
    return tn_error_code() ? py_raise() : Py_NewRef(Py_None);
}

static PyObject *empty_cache(PyObject *self, PyObject *o)
{
    (void)self;
    tn_device d;
    if (py_cuda_index(o, &d))
        return NULL;
    tn_error_clear();
    UNLOCKED(tn_empty_cache(d));
    return quiet();
}

static PyObject *reset_peak_memory_stats(PyObject *self, PyObject *o)
{
    (void)self;
    tn_device d;
    if (py_cuda_index(o, &d))
        return NULL;
    tn_error_clear();
    tn_reset_peak_memory_stats(d);
    return quiet();
}

static PyObject *set_memory_fraction(PyObject *self, PyObject *args)
{
    (void)self;
    double fraction;
    int index;
    tn_status status;
    if (!PyArg_ParseTuple(args, "di", &fraction, &index))
        return NULL;
    UNLOCKED(status = tn_cuda_set_per_process_memory_fraction(fraction, TN_CUDA(index < 0 ? -1 : index)));
    return py_done(status);
}

static PyObject *empty_pinned_cache(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    tn_error_clear();
    UNLOCKED(tn_empty_pinned_cache());
    return quiet();
}

static PyObject *pinned_memory_stats(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    tn_pinned_statistics s = tn_pinned_memory_stats();
    return Py_BuildValue("{sLsLsLsLsL}", "allocated_bytes.current", (long long)s.allocated, "allocated_bytes.peak",
                         (long long)s.allocated_peak, "reserved_bytes.current", (long long)s.reserved,
                         "reserved_bytes.peak", (long long)s.reserved_peak, "num_host_alloc", (long long)s.allocations);
}

static bool put_count(PyObject *dict, const char *name, tn_transfer_count count)
{
    return put(dict, name, Py_BuildValue("(LL)", (long long)count.copies, (long long)count.bytes));
}

static PyObject *transfer_stats(PyObject *self, PyObject *o)
{
    (void)self;
    tn_device d;
    if (py_cuda_index(o, &d))
        return NULL;
    tn_error_clear();
    tn_transfer_statistics s = tn_transfer_stats(d);
    PyObject *dict = tn_error_code() ? py_raise() : PyDict_New();
    if (!dict)
        return NULL;
    if (put_count(dict, "upload_pinned", s.upload_pinned) && put_count(dict, "upload_pageable", s.upload_pageable) &&
        put_count(dict, "download_pinned", s.download_pinned) &&
        put_count(dict, "download_pageable", s.download_pageable) && put_count(dict, "peer_out", s.peer_out) &&
        put_count(dict, "peer_in", s.peer_in) && put_int(dict, "staged", s.staged) &&
        put_int(dict, "synchronizations", s.synchronizations) && put_int(dict, "launches", s.launches) &&
        put_int(dict, "own_products", s.own_products))
        return dict;
    Py_DECREF(dict);
    return NULL;
}

static PyObject *reset_transfer_stats(PyObject *self, PyObject *o)
{
    (void)self;
    tn_device d;
    if (py_cuda_index(o, &d))
        return NULL;
    tn_error_clear();
    tn_reset_transfer_stats(d);
    return quiet();
}

/* ---- the machine's GPUs, and NVIDIA's libraries ---- */

static PyObject *status_of(const tn_cuda_status *s)
{
    PyObject *dict = PyDict_New();
    if (dict && put_int(dict, "physical", s->physical) && put_known(dict, "index", s->device.index) &&
        put_text(dict, "name", s->name) && put_text(dict, "uuid", s->uuid) &&
        put_text(dict, "pci_bus_id", s->pci_text) && put_known(dict, "memory_total", s->memory_total) &&
        put_known(dict, "memory_used", s->memory_used) && put_known(dict, "memory_free", s->memory_free) &&
        put_known(dict, "utilization", s->gpu_utilization) &&
        put_known(dict, "memory_utilization", s->memory_utilization) &&
        put_known(dict, "temperature", s->temperature) && put_known(dict, "fan", s->fan) &&
        put_known(dict, "power_draw", s->power) && put_known(dict, "power_limit", s->power_limit))
        return dict;
    Py_XDECREF(dict);
    return NULL;
}

enum { MOST_GPUS = 64, MOST_PROCESSES = 1024, MOST_LIBRARIES = 16 };

static PyObject *statuses(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    tn_cuda_status *all = malloc(MOST_GPUS * sizeof *all);
    if (!all)
        return PyErr_NoMemory();
    size_t n;
    UNLOCKED(n = tn_cuda_statuses(all, MOST_GPUS));
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < n && i < MOST_GPUS; i++) {
        PyObject *one = status_of(&all[i]);
        if (!one || PyList_Append(list, one))
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    free(all);
    return list;
}

static PyObject *devices_by_free_memory(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    tn_device all[MOST_GPUS];
    size_t n;
    UNLOCKED(n = tn_cuda_devices_by_free_memory(all, MOST_GPUS));
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < n && i < MOST_GPUS; i++) {
        PyObject *one = py_device_object(all[i]);
        if (!one || PyList_Append(list, one))
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

/* (pid, bytes or None, name) of each */
static PyObject *processes(PyObject *self, PyObject *o)
{
    (void)self;
    int64_t gpu;
    if (py_int(o, &gpu))
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "a GPU's number must be an int");
    tn_cuda_process *all = malloc(MOST_PROCESSES * sizeof *all);
    if (!all)
        return PyErr_NoMemory();
    size_t n;
    UNLOCKED(n = tn_cuda_processes((int32_t)gpu, all, MOST_PROCESSES));
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < n && i < MOST_PROCESSES; i++) {
        PyObject *used = all[i].used_memory < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(all[i].used_memory);
        PyObject *one = Py_BuildValue("(LNs)", (long long)all[i].pid, used, all[i].name);
        if (!one || PyList_Append(list, one))
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    free(all);
    return list;
}

static PyObject *libraries(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    tn_cuda_library all[MOST_LIBRARIES];
    size_t n;
    UNLOCKED(n = tn_cuda_libraries(all, MOST_LIBRARIES));
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < n && i < MOST_LIBRARIES; i++) {
        PyObject *one = PyDict_New();
        bool ok = one && put_text(one, "name", all[i].name) && put(one, "found", PyBool_FromLong(all[i].found)) &&
                  put(one, "fake", PyBool_FromLong(all[i].fake)) && put_int(one, "version", all[i].version) &&
                  put_text(one, "path", all[i].path) && put_text(one, "missing", all[i].missing);
        if (!ok || PyList_Append(list, one))
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

static PyObject *driver_version(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    const char *text;
    UNLOCKED(text = tn_cuda_driver_version());
    return PyUnicode_FromString(text);
}

static PyMethodDef functions[] = {
    {"is_available", is_available, METH_NOARGS, "Is there a GPU? Never an error."},
    {"device_count", device_count, METH_NOARGS, "How many GPUs there are; 0 without a driver."},
    {"current_device", current_device, METH_NOARGS, "The current GPU of this thread."},
    {"set_device", set_device, METH_O, "Makes a GPU the current one; a negative index changes nothing."},
    {"device_name", device_name, METH_O, "The name of a GPU. Here and below: an index, -1 for the current one."},
    {"capability", capability, METH_O, "(major, minor)"},
    {"properties", properties, METH_O, "_CudaDeviceProperties"},
    {"physical", physical, METH_O, "The number that nvidia-smi gives it; -1 where NVML is not there."},
    {"ordinal", ordinal, METH_O, "Which of the driver's devices it is: what other libraries call it."},
    {"can_access_peer", can_access_peer, METH_VARARGS, "(index, index of the other)"},
    {"set_wait", set_wait, METH_O, "How threads wait for GPUs, before the first use of one."},
    {"synchronize", synchronize, METH_O, "Waits for a GPU, and raises what went wrong in it."},
    {"reset", reset, METH_O, "Makes it usable again: its tensors, streams and events are void."},
    {"mem_get_info", mem_get_info, METH_O, "(free, total) bytes, all processes counted."},
    {"memory_stats", memory_stats, METH_O, "A flat dictionary of the allocator's numbers."},
    {"memory_snapshot", memory_snapshot, METH_O, "The segments that the allocator holds, with their blocks."},
    {"memory_summary", memory_summary, METH_O, "The same as a table."},
    {"empty_cache", empty_cache, METH_O, "Returns free segments to the driver."},
    {"reset_peak_memory_stats", reset_peak_memory_stats, METH_O, "Sets the peaks to the present values."},
    {"set_memory_fraction", set_memory_fraction, METH_VARARGS, "(fraction, index)"},
    {"empty_pinned_cache", empty_pinned_cache, METH_NOARGS, "Returns free pinned memory to the driver."},
    {"pinned_memory_stats", pinned_memory_stats, METH_NOARGS, "A flat dictionary."},
    {"transfer_stats", transfer_stats, METH_O,
     "What crossed between a GPU and elsewhere: (copies, bytes) each; what the host waited for and queued; products "
     "without cuBLAS."},
    {"reset_transfer_stats", reset_transfer_stats, METH_O, "Counts from 0 again."},
    {"statuses", statuses, METH_NOARGS, "Every GPU of the machine as NVML sees it; power in milliwatts."},
    {"devices_by_free_memory", devices_by_free_memory, METH_NOARGS, "Every GPU, the one with most free memory first."},
    {"processes", processes, METH_O, "Who computes on a GPU, by its physical number."},
    {"libraries", libraries, METH_NOARGS, "NVIDIA's libraries: which were found, and where."},
    {"driver_version", driver_version, METH_NOARGS, "'580.95.05'; '' where NVML is not there."},
    {NULL, NULL, 0, NULL},
};

int py_add_cuda(PyObject *module)
{
    static struct PyModuleDef definition = {
        .m_base = PyModuleDef_HEAD_INIT, .m_name = "tenon._C._cuda", .m_size = -1, .m_methods = functions};
    PyObject *cuda = PyModule_Create(&definition);
    properties_type = cuda ? py_type_new(cuda, &properties_spec, NULL) : NULL;
    int status = !properties_type || py_add_cuda_streams(cuda) || PyModule_AddObjectRef(module, "_cuda", cuda) ? -1 : 0;
    Py_XDECREF(cuda);
    return status;
}
