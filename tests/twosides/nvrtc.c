/* src/abi's declarations of NVRTC against NVIDIA's header. */
#include <nvrtc.h>

#include "twosides.h"

#define OPTIONAL(name, symbol, older, parameters) FN(name, symbol, older, parameters)
#include "abi/nvrtc.def"

SAME(TN__NVRTC_SUCCESS, NVRTC_SUCCESS);
SAME(TN__NVRTC_COMPILATION, NVRTC_ERROR_COMPILATION);
