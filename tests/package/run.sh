#!/bin/sh
# Is what gets installed usable?   tests/package/run.sh SOURCE-FOLDER SCRATCH-FOLDER
# Builds as README says it, in a copy of the sources in the scratch folder (which is emptied), and uses what that installs as others
# would: README's own blocks, pkg-config (shared and static), find_package, FetchContent, in two places; uninstalls it. One line
# 'ok WHAT' a check, a count at the end; 1 if one failed.
set -u
[ $# -eq 2 ] || { echo "usage: $0 SOURCE-FOLDER SCRATCH-FOLDER" >&2; exit 2; }
source=$(cd "$1" && pwd) || exit 2
[ ! -e "$2/CMakeLists.txt" ] && [ ! -e "$2/.git" ] || { echo "$2 is no scratch folder: it holds sources" >&2; exit 2; }
rm -rf "$2" && mkdir -p "$2" && scratch=$(cd "$2" && pwd) || exit 2
here=$source/tests/package jobs=${TENON_JOBS:-2} checks=0 failed=0
cc=${CC:-cc}
minor=$(sed -nE "s,^#define TN_VERSION_(MAJOR|MINOR) +,,p" "$source/include/tenon/base.h" | paste -sd. -)
unset PKG_CONFIG_PATH LD_LIBRARY_PATH CMAKE_PREFIX_PATH Tenon_DIR CUDA_VISIBLE_DEVICES TENON_FAKE_GPUS TENON_FAKEGPU_LIBRARY TENON

# check WHAT COMMAND...: the command succeeds; what it printed is shown if not
check() {
    what=$1
    shift
    checks=$((checks + 1))
    if "$@" > "$scratch/log" 2>&1; then
        echo "ok $what"
    else
        failed=$((failed + 1))
        echo "FAILED $what"
        tail -n 30 "$scratch/log" | sed 's/^/    /'
        return 1
    fi
}
not() { ! "$@"; }
empty() { [ -z "$1" ] || { echo "$1"; false; }; }
same() { [ "$1" = "$2" ] || { echo "'$1' instead of '$2'"; false; }; }
skip() { echo "skipped: $*"; }

# ---- README's blocks, pasted as they are printed by who has the sources and an empty home folder ----
export CMAKE_BUILD_PARALLEL_LEVEL="$jobs"
copy=$scratch/copy build=$scratch/copy/build
copy_sources() {
    mkdir "$copy" && cd "$source" && if [ -e .git ]; then
        git ls-files -z --cached --others --exclude-standard | xargs -0 sh -c 'ls -d "$@" 2>/dev/null' - > "$scratch/files"
        tar -cf - -T "$scratch/files" | tar -xf - -C "$copy"
    else
        tar -cf - --exclude='./build*' . | tar -xf - -C "$copy"
    fi
}
pasted() { # COMMAND...: the commands in a shell of its own, in the copy
    mkdir -p "$scratch/home" && (cd "$copy" && HOME=$scratch/home "$@") > "$scratch/pasted" 2>&1
    status=$?
    cat "$scratch/pasted"
    return $status
}
readme() {
    copy_sources && sh "$here/pasted.sh" "$source/README.md" '## In C' '## The command' > "$scratch/blocks.sh" &&
        pasted bash -e "$scratch/blocks.sh"
}
printed() { # TIMES TEXT
    same "$(grep -cxF -e "$2" "$scratch/pasted")" "$1"
}
check "README: its way in C, pasted" readme || { echo "package: $checks checks, $failed failed"; exit 1; }
check "README: hello.c ran, by pkg-config and by find_package" printed 2 'tensor(14., grad_fn=<SumBackward0>)'
check "README: apart.c ran" printed 1 "        [3., 3., 3., 3.]], device='cuda:0')"
check "README: tenon devices ran" printed 1 'CUDA_VISIBLE_DEVICES=1,0: cuda:0 is GPU 1, cuda:1 is GPU 0'
runs_hello() { # [NAME=VALUE]: the program, in a shell that has pasted nothing
    for program in ./hello with-cmake/build/hello; do
        pasted env "$@" $program && printed 1 'tensor(14., grad_fn=<SumBackward0>)' || return 1
    done
}
check "README: programs run again, without LD_LIBRARY_PATH" runs_hello -u LD_LIBRARY_PATH
check "README: programs run again, with its folder there" runs_hello LD_LIBRARY_PATH="$scratch/home/.local/lib"
check "README: programs run again, with another folder there" runs_hello LD_LIBRARY_PATH="$scratch"
commands_of() { sed -E '/^cat >.*\.c <</,/^END_OF_FILE$/d; s/ +#.*//' "$1"; }
in_chinese() {
    sh "$here/pasted.sh" "$source/README.zh-CN.md" '## 在 C 里' '## 命令' > "$scratch/blocks.zh.sh"
    same "$(commands_of "$scratch/blocks.zh.sh")" "$(commands_of "$scratch/blocks.sh")"
}
check "README.zh-CN: the same commands" in_chinese
check "tenon.pc: no rpath to the system's own folder" sh -c "cmake -S '$source' -B '$scratch/system' -G Ninja \
    -DCMAKE_INSTALL_PREFIX=/usr && grep '^Libs:' '$scratch/system/src/tenon.pc' && ! grep rpath '$scratch/system/src/tenon.pc'"
check "release installs elsewhere, too" cmake --install "$build" --prefix "$scratch/first" ||
    { echo "package: $checks checks, $failed failed"; exit 1; }

# ---- what is in the folder ----
prefix=$scratch/first
lib=$(dirname "$(find "$prefix" -name libtenon.a)")
for header in "$source"/include/tenon/*.h* "$build"/src/generated/include/tenon/ops.h*; do
    check "installed: include/tenon/${header##*/}" cmp "$header" "$prefix/include/tenon/${header##*/}"
done
for file in libtenon.a libtenon.so libtenon_fakegpu.so pkgconfig/tenon.pc cmake/Tenon/TenonConfig.cmake \
    cmake/Tenon/TenonConfigVersion.cmake; do
    check "installed: $file" test -f "$lib/$file"
done
check "installed: bin/tenon" test -x "$prefix/bin/tenon"
for page in tenon tenon-train tenon-eval tenon-predict tenon-devices tenon-doctor; do
    check "installed: share/man/man1/$page.1" test -s "$prefix/share/man/man1/$page.1"
done
for file in bash-completion/completions/tenon zsh/site-functions/_tenon fish/vendor_completions.d/tenon.fish; do
    check "installed: share/$file" test -s "$prefix/share/$file"
done
check "installed: libexec/tenon/fake-bin/nvidia-smi" test -x "$prefix/libexec/tenon/fake-bin/nvidia-smi"
for licence in "$source"/LICENSE* "$source"/THIRD-PARTY*; do
    [ -f "$licence" ] || continue
    check "installed: ${licence##*/}" test -n "$(find "$prefix/share/doc" -name "${licence##*/}")"
done
check "no data, no tests, no sources are installed" empty \
    "$(find "$prefix" -name '*ubyte*' -o -name '*.c' -o -name '*.def' -o -name '*test*' -o -name 'example*')"
check "no file names the build or source folder" empty "$(grep -rl -e "$source" -e "$copy" "$prefix")"

# ---- symbols ----
soname=$(readelf -d "$lib/libtenon.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
numbered=$(echo "$soname" | grep -x 'libtenon\.so\.[0-9]*\.[0-9]*')
check "soname $soname is libtenon.so.MAJOR.MINOR and is there" test -f "$lib/$numbered"
nm -D --defined-only "$lib/libtenon.so" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort > "$scratch/exported"
check "exports: hundreds of functions" test "$(wc -l < "$scratch/exported")" -gt 300
check "exports: tn_* alone, none of tn__*" empty "$(grep -v '^tn_[a-z]' "$scratch/exported")"
check "exports: all have a version" empty "$(nm -D --defined-only "$lib/libtenon.so" | awk '$2 != "A" && $3 !~ /@/')"
check "libtenon.a: no global name but tn_*" empty \
    "$(nm -g --defined-only "$lib/libtenon.a" 2> /dev/null | awk 'NF == 3 && $3 !~ /^tn_/')"
check "libtenon.so needs no BLAS" empty "$(readelf -d "$lib/libtenon.so" | grep NEEDED | grep -iE 'blas|mkl|lapack')"
nm -D --defined-only "$lib/libtenon_fakegpu.so" | awk '$2 != "A" { print $3 }' > "$scratch/fake"
check "libtenon_fakegpu.so: the names of libcuda, NVRTC, cuBLAS, NVML, and its own, no other" empty \
    "$(grep -vE '^(cu[A-Z]|nvrtc[A-Z]|cublas[A-Z]|nvml[A-Z]|tenonFake[A-Z])' "$scratch/fake")"

# ---- users: of a prefix ----
expected='tensor([ 4, 16, 36])'
runs() { out=$("$@") && same "$out" "$expected"; }
with_pkg_config() { # PREFIX-LIB static|shared
    linking=--silence-errors
    [ "$2" = static ] && linking=--static
    flags=$(PKG_CONFIG_PATH=$1/pkgconfig pkg-config $linking --cflags --libs tenon) || return 1
    # shellcheck disable=SC2086
    "$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror "$here/demo.c" -o "$scratch/demo" $flags || return 1
    runs "$scratch/demo" && LD_LIBRARY_PATH=$1 runs "$scratch/demo"
}
with_find_package() { # PREFIX TARGET
    rm -rf "$scratch/find" && mkdir "$scratch/find" && cp "$here/demo.c" "$scratch/find" || return 1
    cat > "$scratch/find/CMakeLists.txt" << END
cmake_minimum_required(VERSION 3.22)
project(demo C)
find_package(Tenon $minor REQUIRED)
add_executable(demo demo.c)
target_link_libraries(demo PRIVATE $2)
END
    cmake -S "$scratch/find" -B "$scratch/find/build" -G Ninja -DCMAKE_PREFIX_PATH="$1" &&
        cmake --build "$scratch/find/build" && runs "$scratch/find/build/demo"
}
# The same program without a GPU and with two that are not there.
with_fakes() { # PREFIX-LIB
    flags=$(PKG_CONFIG_PATH=$1/pkgconfig pkg-config --cflags --libs tenon) || return 1
    # shellcheck disable=SC2086
    "$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror "$here/two_gpus.c" -o "$scratch/two" $flags || return 1
    if without=$(CUDA_VISIBLE_DEVICES=-1 "$scratch/two" 2>&1); then
        echo "it found a GPU: $without"
        return 1
    fi
    echo "$without" | grep -qE '^(Found no NVIDIA driver on your system|No CUDA GPUs are available)' &&
        echo "$without" | grep -q 'no NVIDIA GPU: try TENON_FAKE_GPUS=1 (simulated: correct results, no speed)' ||
        { echo "$without"; return 1; }
    with=$(TENON_FAKE_GPUS=2 "$scratch/two") || return 1
    same "$(echo "$with" | head -n 2)" "tensor([1, 4, 9], device='cuda:1')
Expected all tensors to be on the same device, but found at least two devices, cuda:1 and cuda:0!"
}
shim_answers() { # PREFIX
    answer=$(cd / && TENON_FAKE_GPUS=2x1GiB "$1/libexec/tenon/fake-bin/nvidia-smi" -q -d Memory |
        grep -A4 GPU | grep Free | awk '{print $3}') || return 1
    same "$answer" "1024
1024"
}
use_prefix() { # NAME PREFIX
    its_lib=$2${lib#"$scratch/first"}
    check "$1: pkg-config" with_pkg_config "$its_lib" shared
    check "$1: it is the shared library that was used" \
        same "$(readlink -f "$(ldd "$scratch/demo" | sed -n 's/^.*libtenon[^ ]* => \([^ ]*\) .*/\1/p')")" \
        "$(readlink -f "$its_lib/libtenon.so")"
    rm -rf "$scratch/static" && cp -R "$2" "$scratch/static"
    find "$scratch/static" -name 'libtenon.so*' -exec rm {} +
    check "$1: pkg-config --static" with_pkg_config "$scratch/static${lib#"$scratch/first"}" static
    check "$1: it is the static library that was used" sh -c "! ldd '$scratch/demo' | grep libtenon"
    rm -rf "$scratch/static"
    check "$1: find_package, Tenon::tenon" with_find_package "$2" Tenon::tenon
    check "$1: find_package, Tenon::tenon_static" with_find_package "$2" Tenon::tenon_static
    check "$1: bin/tenon runs, and is of the version that pkg-config says" same "$("$2/bin/tenon" --version)" \
        "tenon $(PKG_CONFIG_PATH=$its_lib/pkgconfig pkg-config --modversion tenon)"
    check "$1: a program for two GPUs: without, its message; with TENON_FAKE_GPUS=2, its result" with_fakes "$its_lib"
    check "$1: nvidia-smi answers from the command beside it" shim_answers "$2"
    check "$1: bin/tenon uses its own library" sh -c "ldd '$2/bin/tenon' | grep -q '$2/'"
}
use_prefix "prefix" "$scratch/first"
mkdir "$scratch/elsewhere" && mv "$scratch/first" "$scratch/elsewhere/a folder"
prefix="$scratch/elsewhere/moved" && mv "$scratch/elsewhere/a folder" "$prefix"
use_prefix "moved prefix" "$prefix"
wants_version() { # VERSION
    printf 'cmake_minimum_required(VERSION 3.22)\nproject(x C)\nfind_package(Tenon %s REQUIRED)\n' "$1" \
        > "$scratch/find/CMakeLists.txt"
    rm -rf "$scratch/find/other" && cmake -G Ninja -S "$scratch/find" -B "$scratch/find/other" -DCMAKE_PREFIX_PATH="$prefix"
}
check "find_package: this minor version is taken" wants_version "$minor"
check "find_package: another one is refused" not wants_version 0.99

# ---- a plugin that is opened and closed again ----
its_lib=$prefix${lib#"$scratch/first"}
plugin() { # NAME LIBRARY...: plugin_NAME.so, linked with these
    name=$1
    shift
    # shellcheck disable=SC2046
    "$cc" -Wall -Wextra -Werror -fPIC -shared "$here/plugin.c" -o "$scratch/plugin_$name.so" \
        $(PKG_CONFIG_PATH=$its_lib/pkgconfig pkg-config --cflags tenon) "$@"
}
check "a plugin with the shared library in it" plugin shared "$its_lib/libtenon.so" "-Wl,-rpath,$its_lib"
check "a plugin with the static library in it" plugin static "$its_lib/libtenon.a" -lz -lm -lpthread -ldl
check "a program that opens plugins" "$cc" -Wall -Wextra -Werror "$here/plugin_host.c" -o "$scratch/host" -lpthread -ldl
for kind in shared static; do
    for threads in 1 2; do
        check "$kind plugin, $threads threads: 50 times opened and closed: no thread, no memory is left" \
            env TENON_NO_CACHE=1 TENON_NUM_THREADS=$threads "$scratch/host" "$scratch/plugin_$kind.so" 50
    done
    check "$kind plugin, two fake GPUs: the same" env TENON_NO_CACHE=1 TENON_FAKE_GPUS=2 \
        TENON_FAKEGPU_LIBRARY="$its_lib/libtenon_fakegpu.so" "$scratch/host" "$scratch/plugin_$kind.so" 50
done

# ---- a program with its owner's rights ----
checks=$((checks + 1))
sh "$here/privilege.sh" "$source" "$prefix${lib#"$scratch/first"}" "$cc" || failed=$((failed + 1))

# ---- users: of the sources ----
fetch() {
    mkdir "$scratch/fetch" && cp "$here/demo.c" "$scratch/fetch" || return 1
    cat > "$scratch/fetch/CMakeLists.txt" << END
cmake_minimum_required(VERSION 3.22)
project(demo C)
include(FetchContent)
FetchContent_Declare(Tenon SOURCE_DIR "$source")
FetchContent_MakeAvailable(Tenon)
add_executable(demo demo.c)
target_link_libraries(demo PRIVATE Tenon::tenon)
install(TARGETS demo)
END
    cmake -S "$scratch/fetch" -B "$scratch/fetch/build" -G Ninja -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DTENON_BASELINE=ON && # shorter
        cmake --build "$scratch/fetch/build" -j "$jobs" --target demo && runs "$scratch/fetch/build/demo"
}
if check "FetchContent: Tenon::tenon" fetch; then
    demo=$(tr '}' '\n' < "$scratch/fetch/build/compile_commands.json" | grep 'demo\.c')
    check "FetchContent: the program's own flags" empty "$(echo "$demo" | grep -oE -e ' -(W|f|O|g|std|m)[^ "]*')"
    check "FetchContent: no tools, tests, examples" empty "$(cmake --build "$scratch/fetch/build" --target help |
        grep -E '(tenon_cli|test_|example_|bench)')"
    check "FetchContent: no build type is forced" empty \
        "$(sed -n 's/^CMAKE_BUILD_TYPE:[A-Z]*=//p' "$scratch/fetch/build/CMakeCache.txt")"
    DESTDIR=$scratch/fetch/root cmake --install "$scratch/fetch/build" > /dev/null 2>&1
    check "FetchContent: installing the program installs the program" same \
        "$(cd "$scratch/fetch/root" && find . -type f | sed 's,.*/,,')" demo
fi

# ---- uninstall: what was there before stays, and nothing else ----
everything() { (cd "$1" && find . | sort); }
uninstalls() { # DESTDIR PREFIX
    root=$1$2
    mkdir -p "$root/bin" "$root/share/doc" "$root/lib/pkgconfig" "$root/include/tenon" "$scratch/elsewhere" || return 1
    : > "$root/bin/tenon-of-mine" && : > "$root/include/tenon/mine.h" || return 1
    everything "$scratch/removed" > "$scratch/elsewhere/before"
    DESTDIR=$1 cmake --install "$build" --prefix "$2" > /dev/null || return 1
    [ -x "$root/bin/tenon" ] && [ -e "$root/include/tenon/tenon.h" ] || return 1
    DESTDIR=$1 cmake --install "$build" --prefix "$2" > /dev/null && DESTDIR=$1 cmake --build "$build" --target uninstall || return 1
    everything "$scratch/removed" > "$scratch/elsewhere/after"
    diff "$scratch/elsewhere/before" "$scratch/elsewhere/after"
}
check "uninstall: a prefix with blanks" uninstalls "" "$scratch/removed/my [own folder"
check "uninstall: DESTDIR, with blanks as well" uninstalls "$scratch/removed/a root" "/opt/my folder"
check "uninstall: a second time is an error that says why" sh -c "cmake --build '$build' --target uninstall 2>&1 |
    grep 'nothing to uninstall'"

# ---- Debian packages, made from the same build: it becomes one for /usr, so this is the last that asks it ----
debian=$scratch/debian
packages() {
    "$copy/scripts/deb" --build "$build" --to "$debian" || return 1
    for package in "$debian"/*.deb; do
        dpkg-deb -x "$package" "$debian/root" && dpkg-deb -c "$package" | grep -v '/$' | sed 's,.* \./,,; s/ -> .*//' >> "$scratch/files" || return 1
    done
}
field() { dpkg-deb -f "$debian/$1"_*.deb "$2" | sed -E 's/ \([^)]*\)//g; s/t64//g'; } # without versions
from_packages() { # COMMAND...
    LD_LIBRARY_PATH=$folder PATH=$debian/root/usr/bin:$PATH PYTHONPATH=$debian/root/usr/lib/python3/dist-packages "$@"
}
: > "$scratch/files"
if ! command -v lintian > /dev/null || ! command -v dh > /dev/null; then
    skip "Debian packages: no debhelper, no lintian here"
elif check "scripts/deb: builds, and lintian is content" packages; then
    folder=$(dirname "$(find "$debian/root" -name libtenon.a)")
    version=$(sed -nE "s,^#define TN_VERSION_(MAJOR|MINOR|PATCH) +,,p" "$source/include/tenon/base.h" | paste -sd.)
    check "deb: four packages, of the header's version" same "$(cd "$debian" && ls ./*.deb | sed -E 's/_[a-z0-9]+\.deb//' | tr '\n' ' ')" \
        "./libtenon-dev_$version ./libtenon0_$version ./python3-tenon_$version ./tenon_$version "
    check "deb: no file is in two" empty "$(sort "$scratch/files" | uniq -d)"
    check "deb: all lies in usr" empty "$(cd "$debian/root" && find . -mindepth 1 -maxdepth 1 ! -name usr; cd usr && find . -maxdepth 1 -name 'local')"
    check "deb: libtenon0 needs" same "$(field libtenon0 Depends)" "libc6, zlib1g"
    check "deb: tenon needs" same "$(field tenon Depends)" "libtenon0, libc6, libpng16-16"
    check "deb: the library, the command, Python's extension have no rpath" empty "$(for file in "$folder"/libtenon*.so \
        "$debian/root/usr/bin/tenon" "$debian"/root/usr/lib/python3/dist-packages/tenon/*.so; do readelf -d "$file"; done |
        grep -E 'R(UN)?PATH')"
    check "deb: pkg-config" same "$(PKG_CONFIG_PATH=$folder/pkgconfig pkg-config --libs tenon | sed 's/ *$//')" -ltenon
    check "deb: the command" same "$(from_packages tenon --version)" "tenon $version"
    check "deb: Python" same "$(from_packages python3 -c 'import tenon; print(tenon.ones(2) + 1)')" "tensor([2., 2.])"
    check "deb: Python on fake GPUs" same "$(TENON_FAKE_GPUS=2 from_packages python3 -c 'import tenon; print(tenon.cuda.device_count())')" 2
fi

# ---- headers, each on its own, and the macros ----
warnings="-Wall -Wextra -Wpedantic -Werror"
header_alone() { # COMPILER LANGUAGE STANDARD HEADER
    printf '#include <tenon/%s>\n#include <tenon/%s>\n' "$4" "$4" > "$scratch/one.$2"
    # shellcheck disable=SC2086
    "$1" -x "$2" -std="$3" $warnings -fsyntax-only -I "$prefix/include" "$scratch/one.$2"
}
every_header() { # COMPILER LANGUAGE STANDARD
    for header in "$prefix"/include/tenon/*.h; do
        header_alone "$1" "$2" "$3" "${header##*/}" || { echo "in ${header##*/}"; return 1; }
    done
}
can() { echo 'int x;' > "$scratch/can.$2" && "$1" -x "$2" -std="$3" -fsyntax-only "$scratch/can.$2" > /dev/null 2>&1; }
for compiler in gcc clang; do
    for standard in c11 c17 c2x c++11 c++20; do
        case $standard in c++*) language=c++ ;; *) language=c ;; esac
        if ! can $compiler $language $standard; then
            skip "headers with $compiler -std=$standard: no such compiler"
            continue
        fi
        check "every header alone: $compiler -std=$standard" every_header $compiler $language $standard
        [ $language = c ] && check "a program: $compiler -std=$standard" "$compiler" -std=$standard -Wall -Wextra \
            -Wpedantic -Wshadow -Wconversion -Wvla -Werror -fsyntax-only -I "$prefix/include" "$here/demo.c"
    done
done

# ---- C++: one program, with each compiler and standard; on the CPU and on a fake GPU ----
its_lib=$prefix${lib#"$scratch/first"}
user() { # COMPILER STANDARD
    # shellcheck disable=SC2046
    "$1" -x c++ -std="$2" $warnings -Wshadow -Wconversion "$here/user.cpp" -x none -o "$scratch/user" \
        $(PKG_CONFIG_PATH=$its_lib/pkgconfig pkg-config --cflags --libs tenon) -lstdc++ -lm
}
user_runs() { # DEVICE
    out=$(TENON_FAKE_GPUS=2 LD_LIBRARY_PATH=$its_lib "$scratch/user" "$1" "$scratch/user.safetensors") && same "$out" "all is well"
}
for compiler in gcc clang; do
    for standard in c++17 c++20 c++2b; do
        if ! can $compiler c++ $standard; then
            skip "tenon.hpp with $compiler -std=$standard: no such compiler"
            continue
        fi
        # every standard is compiled; one program runs for each compiler
        check "tenon.hpp: $compiler -std=$standard" user $compiler $standard
    done
    [ -x "$scratch/user" ] || continue
    check "tenon.hpp: $compiler's program, cpu" user_runs cpu
    check "tenon.hpp: $compiler's program, cuda:1 of two fakes" user_runs cuda:1
    rm -f "$scratch/user"
done
check "C++ before 17 is told so" sh -c "echo '#include <tenon/tenon.hpp>' | gcc -x c++ -std=c++14 -fsyntax-only \
    -I '$prefix/include' - 2>&1 | grep -q 'tenon.hpp wants C++17 or later'"

if [ $failed -ne 0 ]; then
    echo "package: $checks checks, $failed failed"
    exit 1
fi
rm -rf "$scratch"
echo "count: package: $checks checks"
