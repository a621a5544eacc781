#!/bin/sh
# script_test.sh SOURCE: which suites scripts/test would run, by its options: tried in a small repository of its own, whose
# commits change a kernel, the dtypes and the waits, and whose folder holds a page that is not committed. (--list runs nothing.)
set -u
source=$1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
commit() { git add . && git -c user.name=t -c user.email=t@localhost -c commit.gpgsign=false commit -q -m "$1" || exit 1; }
git init -q -b main . && mkdir -p scripts src/ops/sort docs && cp "$source/scripts/test" scripts/ && commit one
echo x >src/ops/sort/sort.k && commit two
mkdir -p src/core && echo x >src/core/dtypes.def && commit three
echo x >src/ops/sort/waits.def && echo x >.editorconfig && commit four
echo x >docs/page.md

ok=0 wrong=0
# expect SUITES ARGUMENTS...; and refused TEXT ARGUMENTS...: what the message has in it
verdict() {
    if [ "$1" = yes ]; then ok=$((ok + 1)); else wrong=$((wrong + 1)) && echo "error: scripts/test $2: $3"; fi
}
expect() {
    suites=$1 && shift
    got=$(sh scripts/test "$@" 2>&1)
    if [ $? = 0 ] && [ "$got" = "$suites" ]; then verdict yes; else verdict no "$*" "'$got', not '$suites'"; fi
}
refused() {
    text=$1 && shift
    got=$(sh scripts/test "$@" 2>&1)
    code=$?
    case $code:$got in 2:*"$text"*) verdict yes ;; *) verdict no "$*" "$code, '$got', not 2 and '$text'" ;; esac
}
all=$(sh scripts/test --list)
case " $all " in *' unit '*' tsan '*) verdict yes ;; *) verdict no --list "'$all'" ;; esac
expect 'unit ops' unit ops --list
expect 'unit ops' --list unit ops
quick=$(sh scripts/test --quick --list)
case " $quick " in *' tsan '* | *' asan '* | '  ') verdict no --quick "'$quick'" ;; *) verdict yes ;; esac
expect "$quick" --list --quick
# since HEAD only the page differs; since the commit before also a wait, then the dtypes; without these at last the kernel
expect 'style documents docs' --changed HEAD --list
expect 'style unit fake documents docs asan' --changed HEAD~1 --list
expect 'style unit fake documents docs asan' --list --changed HEAD~1
expect 'style unit ops isa kernels nvrtc fake torture cli examples documents python docs asan' --changed HEAD~2 --list
rm -r src/core src/ops/sort/waits.def
expect 'style unit kernels nvrtc fake cli documents python docs' --changed HEAD~3 --list
git checkout -q src
expect 'style documents docs' --changed --list
refused "no commit 'nowhere'" --changed nowhere --list
refused "no commit 'unit'" --changed unit --list
refused 'chooses the suites itself: unit' --changed HEAD unit
refused 'chooses the suites itself: unit ops' --quick unit ops
refused 'one of them' --quick --changed
refused "no option '--quik'" --quik
refused "no suite 'unity'" unity
refused "no suite 'unity'" --list unit unity
echo "count: options of scripts/test: $ok"
[ $wrong = 0 ]
