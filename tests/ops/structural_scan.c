#include "ops/structural.h"

const structural_case cases_scan[] = {{NULL, NULL}};
