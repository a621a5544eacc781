/* tenon.h: all of Tenon.
 *
 * In a plugin: the shared library stays loaded when the plugin that brought it is closed. The static library, linked into
 * the plugin, goes with it: its threads are joined, what its scopes own is released, and its memory is given back, by a
 * destructor. Before dlclose() the plugin frees its loaders, and no thread is in a call. */
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
#include <tenon/library.h>
#include <tenon/memory.h>
#include <tenon/nn.h>
#include <tenon/ops.h>
#include <tenon/optim.h>
#include <tenon/parallel.h>
#include <tenon/random.h>
#include <tenon/scope.h>
#include <tenon/settings.h>
#include <tenon/tensor.h>

#include <tenon/sites.h> /* last: macros of the names above */

#endif
