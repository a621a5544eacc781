/* cuda.h: what the files of the namespace tenon._C._cuda share. */
#ifndef TENON_PY_CUDA_H
#define TENON_PY_CUDA_H

#include "py.h"

/* What may wait for a GPU or a driver lets other threads run. Tensors that the statement uses are owned by its caller. */
#define UNLOCKED(statement) \
    do { \
        PY_BEGIN_OWNING(NULL) \
            statement; \
        PY_END_OWNING \
    } while (0)

/* cuda:index from an int; below 0: the current one. 0, or -1 with an exception. */
int py_cuda_index(PyObject *o, tn_device *out);

/* The types Stream, StreamContext and Event, and the functions on them. */
int py_add_cuda_streams(PyObject *cuda);

#endif
