/* tenon.h: all of Tenon. */
#ifndef TENON_TENON_H
#define TENON_TENON_H

#include <tenon/autograd.h>
#include <tenon/base.h>
#include <tenon/cuda.h>
#include <tenon/data.h>
#include <tenon/device.h>
#include <tenon/dlpack.h>
#include <tenon/dtype.h>
#include <tenon/error.h>
#include <tenon/graph.h>
#include <tenon/memory.h>
#include <tenon/nn.h>
#include <tenon/ops.h>
#include <tenon/optim.h>
#include <tenon/parallel.h>
#include <tenon/random.h>
#include <tenon/scope.h>
#include <tenon/tensor.h>

#endif
