#include "ops/structural.h"

const structural_case cases_product[] = {{NULL, NULL}};
