/* src/abi's declarations of what only programs beside Tenon use of NVRTC against NVIDIA's header. */
#include <nvrtc.h>

#include "twosides.h"

#include "abi/nvrtc_beside.def"
