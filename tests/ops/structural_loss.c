#include "ops/structural.h"

const structural_case cases_loss[] = {{NULL, NULL}};
