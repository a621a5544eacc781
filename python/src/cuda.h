/* cuda.h: what the files of the namespace tenon._C._cuda share. */
#ifndef TENON_PY_CUDA_H
#define TENON_PY_CUDA_H

#include "py.h"

/* What may wait for a GPU or a driver lets other threads run. */
#define UNLOCKED(statement) \
    do { \
        Py_BEGIN_ALLOW_THREADS \
            statement; \
        Py_END_ALLOW_THREADS \
    } while (0)

/* cuda:index from an int; below 0: the current one. 0, or -1 with an exception. */
int py_cuda_index(PyObject *o, tn_device *out);

/* The types Stream, StreamContext and Event, and the functions on them. */
int py_add_cuda_streams(PyObject *cuda);

#endif
