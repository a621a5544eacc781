/* tests/twosides/twosides.h: Tenon's own declarations of a foreign library (src/abi) against that library's header. Each
 * .c file here is compiled with the header included; that it compiles is the test. A pointer of our type is initialised
 * with their function, so every parameter and result is compared; constants and struct sizes are compared one by one. */
#ifndef TENON_TESTS_TWOSIDES_H
#define TENON_TESTS_TWOSIDES_H

#include "abi/abi.h"

/* run.sh compiles once more with TRY_WRONG: then every line must be refused. */
#ifndef TRY_WRONG
#define IS ==
#else
#define IS !=
#endif
#define SAME(ours, theirs)      _Static_assert((long long)(ours)IS(long long)(theirs), #ours " is not " #theirs)
#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(ours) IS sizeof(theirs), #ours " has another size")
#define SAME_PLACE(ours, our_member, theirs, their_member) \
    _Static_assert(offsetof(ours, our_member) IS offsetof(theirs, their_member), \
                   #ours "." #our_member " lies elsewhere")
/* older names are checked where the header has them as well: the current one is the one that is called */
#ifndef TRY_WRONG
#define FN(name, symbol, older, parameters) unsigned(*const check_##name) parameters = symbol;
#else
#define FN(name, symbol, older, parameters) unsigned (*const check_##name)(float *, char, float *) = symbol;
#endif

#endif
