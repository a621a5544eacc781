/* All families that the build found. */
#include "ops/family.h"

const family_tests *const families[] = {
#define FAMILY(name) &name##_tests,
#include "families.def"
};
const int n_families = (int)TN_COUNT(families);
