#!/bin/sh
# Settings under privilege: may whoever starts a set-user-id program choose what it loads?
#   tests/package/privilege.sh SOURCE-FOLDER PREFIX-LIB COMPILER
# The command 'tenon', linked statically, belongs to root with its set-user-id bit, and 'nobody' starts it with variables that name a
# library, programs and folders which leave a mark where they are used. Beside it the same file without the bit, where each leaves its
# mark. One line 'ok WHAT' a check; 1 if one failed. Skipped, with the reason, where set-user-id has no effect.
set -u
source=$(cd "$1" && pwd) lib=$2 cc=$3 failed=0 checks=0
skip() { echo "skipped: set-user-id: $*"; exit 0; }
[ "$(id -u)" = 0 ] || skip "only root can make a program that is root's"
command -v setpriv >/dev/null || skip "no setpriv (util-linux)"

# not below the folder of the suite, which is root's alone; to be written to by root alone, but for the marks
place=$(mktemp -d /tmp/tenon-privilege-XXXXXX) && trap 'rm -rf "$place"' EXIT || exit 2
chmod 755 "$place" && mkdir -m 1777 "$place/marks" && mkdir -m 755 "$place/toolkit" "$place/bin" || exit 2
nobody() { (cd / && env -i "$@"); }
as_nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"

check() {
    what=$1
    shift
    checks=$((checks + 1))
    if "$@" >"$place/log" 2>&1; then
        echo "ok $what"
    else
        failed=$((failed + 1))
        echo "FAILED $what"
        tail -n 30 "$place/log" | sed 's/^/    /'
    fi
}

# ---- what leaves marks: a library when it is loaded, a compiler when it runs ----
marking_library() { # NAME FILE
    cat >"$place/mark.c" <<END
#include <fcntl.h>
__attribute__((constructor)) static void mark(void)
{
    open("$place/marks/$1", O_CREAT | O_WRONLY, 0666);
}
END
    "$cc" -shared -fPIC -o "$2" "$place/mark.c" && chmod 755 "$2"
}
marking_library TENON_BLAS "$place/blas.so" && marking_library TENON_FAKEGPU_LIBRARY "$place/fakegpu.so" &&
    marking_library TENON_CUDA_PATH "$place/toolkit/libnvrtc.so.12" || exit 2
printf '#!/bin/sh\n: > %s/marks/TENON_FAKE_CC\nexit 1\n' "$place" >"$place/bin/cc" && chmod 755 "$place/bin/cc"

# ---- the program ----
flags=$(PKG_CONFIG_PATH=$lib/pkgconfig pkg-config --static --cflags --libs tenon | sed 's,-ltenon,,') || exit 2
# shellcheck disable=SC2086
"$cc" -std=c11 -D_GNU_SOURCE -O1 "$source"/cli/*.c -o "$place/plain" "$lib/libtenon.a" $flags -lpng -lm || exit 2
cp "$place/plain" "$place/privileged" && cp "$lib/libtenon_fakegpu.so" "$place/" || exit 2
chown 0:0 "$place/privileged" && chmod 4755 "$place/privileged" || exit 2
cp "$(command -v id)" "$place/id" && chown 0:0 "$place/id" && chmod 4755 "$place/id" || exit 2
# shellcheck disable=SC2086
[ "$($as_nobody "$place/id" -u)" = 0 ] || skip "it has no effect here (a file system mounted nosuid, or no_new_privs)"

# what runs with the variables, and which marks it left
run() { # PROGRAM VARIABLE...
    program=$1
    shift
    rm -rf "$place/marks"/* "$place/cache"
    mkdir -m 700 "$place/cache" && chown 65534:65534 "$place/cache"
    # shellcheck disable=SC2086
    nobody PATH="$place/bin:/usr/bin:/bin" HOME="$place/cache" TMPDIR="$place/marks" "$@" $as_nobody "$place/$program" doctor >"$place/said" 2>&1
    cat "$place/said"
    (cd "$place/marks" && for mark in *; do [ -e "$mark" ] && echo "mark: $mark"; done)
    [ -z "$(ls -A "$place/cache")" ] || echo "mark: TENON_CACHE_DIR"
}
leaves() { # MARK PROGRAM VARIABLE...: that one at least; "": none at all
    wanted=$1
    shift
    run "$@" >"$place/ran"
    cat "$place/ran"
    if [ -n "$wanted" ]; then grep -qx "mark: $wanted" "$place/ran"; else ! grep '^mark: ' "$place/ran"; fi
}
blas=TENON_BLAS=$place/blas.so
gpus="TENON_FAKE_GPUS=1x256MiB TENON_CACHE_DIR=$place/cache/kernels"
for setting in "TENON_BLAS=$place/blas.so" "TENON_FAKEGPU_LIBRARY=$place/fakegpu.so TENON_FAKE_GPUS=1" \
    "TENON_CUDA_PATH=$place/toolkit" "TENON_FAKE_CC=$place/bin/cc $gpus" "CC=$place/bin/cc $gpus"; do
    name=${setting%%=*} mark=${setting%%=*}
    [ "$mark" != CC ] || mark=TENON_FAKE_CC
    # shellcheck disable=SC2086
    check "$name: without privilege it is used" leaves "$mark" plain $setting
    # shellcheck disable=SC2086
    check "$name: under set-user-id it is not" leaves "" privileged $setting
done
# shellcheck disable=SC2086
check "TENON_CACHE_DIR: without privilege it is used" leaves TENON_CACHE_DIR plain $gpus
# shellcheck disable=SC2086
check "PATH: without privilege the compiler is looked for there" leaves TENON_FAKE_CC plain $gpus
# shellcheck disable=SC2086
check "PATH, TENON_CACHE_DIR, HOME, TMPDIR: under set-user-id nothing is run or written" leaves "" privileged $gpus

says() { # TEXT
    grep -qF -e "$1" "$place/said" || { cat "$place/said"; false; }
}
# shellcheck disable=SC2086
run privileged "$blas" $gpus TENON_NUM_THREADS=1 >/dev/null
check "doctor says that the process is privileged" says "[ok] privilege  more than whoever started this"
check "doctor says of each such variable that it is ignored" says "[--] set        $blas: ignored: this process has more rights"
check "what is no danger is read" says "[ok] set        TENON_NUM_THREADS=1"
check "and it computes" says "[ok] products   forward and backward give the right numbers"
if [ $failed -ne 0 ]; then exit 1; fi
echo "count: privilege: $checks checks"
