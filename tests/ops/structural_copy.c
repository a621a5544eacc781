#include "ops/structural.h"

const structural_case cases_copy[] = {{NULL, NULL}};
