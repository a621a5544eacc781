/* functions_sets.c: functions of sets of elements, whose results are as many as are asked for. */
#include "functions.h"

/* The results that there are: the first alone, or a tuple. */
static PyObject *those_asked_for(tn_tensor *result, tn_tensor *inverse, tn_tensor *counts)
{
    tn_tensor *all[3] = {result};
    Py_ssize_t n = 1;
    if (!result) {
        py_raise();
        tn_release(inverse);
        tn_release(counts);
        return NULL;
    }
    if (inverse)
        all[n++] = inverse;
    if (counts)
        all[n++] = counts;
    return n == 1 ? py_wrap(result) : py_wrap_tuple(all, n);
}

/* slots: input dim return_inverse return_counts */
PyObject *run_unique_all(PyObject *self, py_value *v, int which)
{
    tn_tensor *inverse = NULL, *counts = NULL, *result;
    tn_unique_options o = {.struct_size = sizeof o, .site = "", .dim = v[1].s.v.i, .dim_given = v[1].given};
    (void)self, (void)which;
    o.inverse = v[2].s.v.i ? &inverse : NULL;
    o.counts = v[3].s.v.i ? &counts : NULL;
    PY_BEGIN_OWNING(v[0].s.v.t)
        result = (tn_unique_opt)(v[0].s.v.t, &o);
    PY_END_OWNING
    return those_asked_for(result, inverse, counts);
}

PyObject *run_unique_runs(PyObject *self, py_value *v, int which)
{
    tn_tensor *inverse = NULL, *counts = NULL, *result;
    tn_unique_consecutive_options o = {.struct_size = sizeof o, .site = "", .dim = v[1].s.v.i, .dim_given = v[1].given};
    (void)self, (void)which;
    o.inverse = v[2].s.v.i ? &inverse : NULL;
    o.counts = v[3].s.v.i ? &counts : NULL;
    PY_BEGIN_OWNING(v[0].s.v.t)
        result = (tn_unique_consecutive_opt)(v[0].s.v.t, &o);
    PY_END_OWNING
    return those_asked_for(result, inverse, counts);
}
