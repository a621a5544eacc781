#!/bin/sh
# What callers are promised (docs/api-stability.md).   tests/package/api.sh SOURCE-FOLDER LIBRARY COMPILER
# The exported functions are those of the list; scripts/symbols finds what is new and what is gone, and writes only what it
# was told to; TN_DEPRECATED warns; the version is one. One line 'ok WHAT' a check, a count at the end; 1 if one failed.
set -u
source=$1 library=$2 cc=$3 checks=0 failed=0
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT || exit 2

check() { # WHAT COMMAND...
    what=$1
    shift
    checks=$((checks + 1))
    if "$@" >"$work/log" 2>&1; then
        echo "ok $what"
    else
        failed=$((failed + 1))
        echo "FAILED $what"
        sed 's/^/    /' "$work/log"
    fi
}
says() { # STATUS TEXT COMMAND...: it exits so, and prints that
    status=$1 text=$2
    shift 2
    "$@" >"$work/said" 2>&1
    got=$?
    cat "$work/said"
    [ $got = "$status" ] && grep -qF -e "$text" "$work/said"
}
number() { sed -nE "s,^#define TN_VERSION_$1 +,,p" "$source/include/tenon/base.h"; }

# ---- the list ----
list=$source/tests/package/symbols.txt
check "the library exports what symbols.txt names" "$source/scripts/symbols" "$library" "$list"
sorted() { LC_ALL=C sort -cu "$list" && ! grep -v '^tn_[a-z0-9_]*$' "$list"; }
check "symbols.txt is sorted, one name a line" sorted

symbols() { "$source/scripts/symbols" "$@" "$library" "$work/list"; }
grep -vx tn_add "$list" >"$work/list"
check "a new function is named" says 1 'new: tn_add' symbols
check "and the command that adds it" says 1 'scripts/symbols --update' symbols
check "which does" says 0 '1 added, 0 removed' symbols --update
check "so that nothing differs" cmp "$list" "$work/list"
{ cat "$list"; echo tn_gone; } | LC_ALL=C sort >"$work/list"
check "a function that is gone is named" says 1 'gone: tn_gone' symbols
check "and what to do" says 1 'docs/api-stability.md says of a removal' symbols
check "--update alone does not drop it" says 1 'gone: tn_gone' symbols --update
check "and has written nothing" grep -qx tn_gone "$work/list"
check "--update --remove does" says 0 '0 added, 1 removed' symbols --update --remove
check "so that nothing differs any more" cmp "$list" "$work/list"

# ---- symbol versions ----
node=TENON_$(number MAJOR).$(number MINOR)
versions=$(nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | sed 's/.*@//' | sort -u)
check "every symbol is of the node $node" says 0 "$node" printf '%s\n' "$versions"
check "and of no other" test "$(echo "$versions" | wc -l)" -eq 1

# ---- TN_DEPRECATED ----
cat >"$work/old.c" <<'END'
#include <tenon/base.h>
TN_API TN_DEPRECATED("use tn_new") int tn_old(void);
int user(void);
int user(void)
{
    return tn_old();
}
END
compile() { "$cc" -I "$source/include" -Wall -Wextra -Wpedantic -fsyntax-only "$@" "$work/old.c"; }
check "a deprecated function still compiles, with a warning that says what to use" says 0 'use tn_new' compile -std=c11
check "where warnings are errors it does not" says 1 'use tn_new' compile -std=c11 -Werror
check "unless this one is let through" compile -std=c11 -Werror -Wno-error=deprecated-declarations
check "in C++ the same" says 0 'use tn_new' compile -x c++ -std=c++11
"$cc" -E -P -U__GNUC__ -I "$source/include" -x c - >"$work/plain" 2>&1 <<'END'
#define _STDBOOL_H /* the system's own headers need the compiler's attributes: this asks Tenon's alone */
#define __bool_true_false_are_defined 1
#include <tenon/base.h>
TN_API TN_DEPRECATED("use tn_new") int tn_old(void);
END
check "elsewhere it is nothing" grep -qE '^ *int tn_old\(void\);' "$work/plain"

# ---- the version ----
text=$(number MAJOR).$(number MINOR).$(number PATCH)
printf '#include <tenon/base.h>\nconst char text[] = TN_VERSION_TEXT;\n' >"$work/version.c"
made_text() {
    "$cc" -E -P -I "$source/include" "$work/version.c" | tail -n 1 | tr -d '" ' | grep -qxF "constchartext[]=$text;"
}
check "TN_VERSION_TEXT is made of its numbers" made_text
others() {
    cd "$source" && ! grep -nF "$text" CMakeLists.txt pyproject.toml src/tenon.map.in python/tenon/version.py
}
check "no other file of the build says it" others

if [ $failed -ne 0 ]; then
    echo "api: $checks checks, $failed failed"
    exit 1
fi
echo "count: api: $checks checks; $(wc -l <"$list") functions are exported"
