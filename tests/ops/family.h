/* tests/ops/family.h: what the tests of operations know of a family. tests/ops/<family>.c, and <family>_<part>.c where one file
 * would be long, exports a family_tests of its file's name; the build finds the files (CMakeLists.txt), and the programs
 * find the cases here: test_structural runs 'cases', test_gradients 'gradients', test_vectors calls records by 'adapters'. */
#ifndef TENON_TESTS_OPS_FAMILY_H
#define TENON_TESTS_OPS_FAMILY_H

#include "ops/adapters.h"
#include "ops/gradients.h"
#include "ops/structural.h"
#include "op/ops_private.h"
#undef TN_HERE
#define TN_HERE __FILE__ ":" TN__STR(__LINE__)

/* Each ends with an entry without a name, or is NULL. */
typedef struct family_tests {
    const structural_case *cases;
    const gradient_case *gradients;
    const named_adapter *adapters;
} family_tests;

#define FAMILY(name) extern const family_tests name##_tests;
#include "families.def"
#undef FAMILY

extern const family_tests *const families[];
extern const int n_families;

#endif
