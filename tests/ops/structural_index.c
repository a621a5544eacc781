#include "ops/structural.h"

const structural_case cases_index[] = {{NULL, NULL}};
