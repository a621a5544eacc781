#!/bin/sh
# Holds src/abi against NVIDIA's headers, where there are any: run.sh SOURCE CC
# Looked for: the compiler's own folders, $TENON_CUDA_INCLUDE (several, with ':'), $CUDA_HOME/include, beside nvcc.
# Exits with 77 if no header is here. Each line is also tried wrong: a check that cannot fail is none.
set -u
source=$1 cc=$2 checked=0 failed=0
nvcc=$(command -v nvcc || true)
folders=$(printf '%s\n' "${TENON_CUDA_INCLUDE:-}" "${CUDA_HOME:+$CUDA_HOME/include}" \
    "${nvcc:+$(dirname "$(dirname "$(readlink -f "$nvcc")")")/include}" /usr/local/cuda/include | tr ':' '\n' |
    while read -r f; do [ ! -d "$f" ] || readlink -f "$f"; done | sort -u)
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

case $("$cc" --version) in *clang*) all=-ferror-limit=0 ;; *) all='' ;; esac # errors, none left out

# try LIBRARY INCLUDE-FLAG [OPTION...]
try() {
    library=$1 include=$2
    shift 2
    "$cc" -std=gnu11 -Werror -Wno-deprecated-declarations ${all:+"$all"} ${include:+"$include"} "$@" -I"$source/src" \
        "$source/tests/twosides/$library.c"
}

# check LIBRARY INCLUDE-FLAG WHERE
check() {
    # older headers lack some: those count that the preprocessor leaves
    lines=$(try "$1" "$2" -E -P | grep -cE 'const check_\w+\)')
    constants=$(try "$1" "$2" -E -P | grep -cE '_Static_assert\(.* (is not |has another size|lies elsewhere)')
    if ! try "$1" "$2" -fsyntax-only; then
        echo "FAILED: $1 is not what $3 says"
        failed=1
        return
    fi
    # all of them wrong at once (twosides.h): the compiler must complain of each
    try "$1" "$2" -fsyntax-only -DTRY_WRONG 2>"$scratch/wrong"
    noticed=$(grep -c ' error: ' "$scratch/wrong")
    if [ "$noticed" -ne $((lines + constants)) ]; then
        echo "FAILED: $1: of $((lines + constants)) lines that are wrong $noticed are noticed"
        failed=1
    fi
    echo "count: two sides: $1: $lines functions, $constants constants and sizes agree with NVIDIA's header"
    checked=$((checked + 1))
}

for library in cuda cuda_beside nvrtc nvrtc_beside cublas nvml; do
    case $library in
    *_beside) header=${library%_beside}.h ;;
    cublas) header=cublas_v2.h ;;
    *) header=$library.h ;;
    esac
    found=''
    for folder in $folders; do
        if [ -f "$folder/$header" ]; then
            check $library "-I$folder" "$folder/$header"
            found=yes
        fi
    done
    if [ -z "$found" ] && echo "#include <$header>" | "$cc" -E -x c - >/dev/null 2>&1; then
        check $library '' "$header"
        found=yes
    fi
    [ -n "$found" ] || echo "skipped: two sides of $library: no $header here"
done
[ $failed = 0 ] || exit 1
[ $checked -gt 0 ] || exit 77
