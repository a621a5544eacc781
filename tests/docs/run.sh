#!/bin/sh
# Every block of the documents is run as its reader would.   tests/docs/run.sh SOURCE BUILD SCRATCH
# - c: compiled and run; a comment behind tn_print(...) must be what it prints. With '<!-- NAME -->' on the line before
#   the block it is written to the file NAME instead, for what follows;
# - python: run; comments behind print(...) must be what it prints, or the text block after it. Named, it is a file, too;
# - sh: run in a folder of the page's own, with the installed command, library and pkg-config; it must succeed;
# - text: what the sh or python block before it prints on both outputs;
# - diff: it applies to the sources.
# Commands and files that the documents name must exist, and every variable that the library reads must be in them. The
# guide, docs/en and docs/zh-CN, has rules of its own: guide.py.
set -eu
source=$(cd "$1" && pwd) build=$2 scratch=$(cd "$3" && pwd)
count=0

ok() {
    count=$((count + 1))
    echo "ok $1"
}

# The machine of a reader who has installed it in ~/.local.
export HOME="$scratch/home"
unset TENON_FAKE_GPUS CUDA_VISIBLE_DEVICES LD_LIBRARY_PATH
mkdir -p "$HOME/.cache" "$build/kernel-cache" && chmod 700 "$build/kernel-cache"
ln -s "$build/kernel-cache" "$HOME/.cache/tenon" # this build's other suites have compiled most of what fake GPUs run
cmake --install "$build" --prefix "$HOME/.local" >"$scratch/install.log" || { cat "$scratch/install.log"; exit 1; }
PKG_CONFIG_PATH=$(dirname "$(find "$HOME/.local" -name tenon.pc)")
PYTHONPATH=$build/python # as pip puts it into an environment
export PATH="$source/build/venv/bin:$HOME/.local/bin:$PATH" PKG_CONFIG_PATH PYTHONPATH

# What differs from run to run: UUIDs, the time of day, the CPU and the width of its name.
steady() {
    sed -E 's/  +/  /g; s/^cpu  .*/cpu/; s/GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/GPU-UUID/g; s/^[A-Z][a-z]{2} [A-Z][a-z]{2} .* 20[0-9]{2}$/DATE/' "$1"
}

run_c() { # FILE
    cc -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$source/include" -I"$build/src/generated/include" "$1" \
        -o "$scratch/program" -L"$build/src" -ltenon -Wl,-rpath,"$build/src"
    "$scratch/program" >"$scratch/printed" 2>/dev/null
    sed -n 's|.*tn_print(.*); */\* \(.*\) \*/.*|\1|p' "$1" >"$scratch/promised"
    diff "$scratch/promised" "$scratch/printed"
}

run_python() { # FILE NUMBER, in the current folder
    python "$1" >"$scratch/printed" 2>&1 || { cat "$1" "$scratch/printed"; return 1; }
    [ ! -e "$scratch/block$(($2 + 1)).text" ] || return 0
    sed -n 's|^ *print(.*)  # \(.*\)$|\1|p' "$1" >"$scratch/promised"
    diff "$scratch/promised" "$scratch/printed"
}

run_sh() { # FILE, in the current folder
    sh -eu "$1" >"$scratch/printed" 2>&1 </dev/null || { cat "$1" "$scratch/printed"; return 1; }
}

run_text() { # FILE
    steady "$1" >"$scratch/promised"
    steady "$scratch/printed" >"$scratch/steady"
    diff "$scratch/promised" "$scratch/steady"
}

# run_block PAGE NUMBER: what kind it is stands in its name: block3.c, block4.sh, block5.text, block6.file=NAME
run_block() {
    for block in "$scratch/block$2."*; do
        name="$1: block $2"
        case $block in
        *.file=*) cp "$block" "$folder/${block##*.file=}" ;;
        *.c) run_c "$block"; ok "$name compiles, runs, prints what it says" ;;
        *.python) (cd "$folder" && run_python "$block" "$2"); ok "$name runs, prints what it says" ;;
        *.sh) (cd "$folder" && run_sh "$block"); ok "$name runs" ;;
        *.text) run_text "$block"; ok "$name is what that printed" ;;
        *.diff) (cd "$source" && git apply --check --recount "$block"); ok "$name applies" ;;
        esac
    done
}

# check_paths FILE: what it links to, and the scripts that it names
check_paths() {
    page=${1#"$source"/}
    for path in $(grep -oE '(\./)?scripts/[a-z-]+' "$1" | sort -u) $(grep -oE '\]\([A-Za-z0-9.][^):#]*[):#]' "$1" |
        grep -v http | sed 's/^](//; s/[):#]$//' | sort -u); do
        [ -e "$source/$path" ] || [ -e "$(dirname "$1")/$path" ] || { echo "$page: $path is not there"; exit 1; }
        ok "$page: $path"
    done
}

for file in "$source"/*.md "$source"/docs/*.md; do
    [ -e "$file" ] || continue
    page=${file#"$source"/}
    rm -rf "$scratch"/block* "$scratch/folder"
    folder=$scratch/folder
    mkdir "$folder"
    blocks=$(awk -v to="$scratch/block" '
        /^<!-- [A-Za-z0-9_.]+ -->$/ {name = $2; next}
        /^```(c|python|sh|text|diff)$/ {n++; out = to n (name ? ".file=" name : "." substr($0, 4)); on = 1; name = ""; next}
        /^```/ {on = 0; name = ""}
        on {print > out}
        END {print n + 0}' "$file")
    number=1
    while [ "$number" -le "$blocks" ]; do
        run_block "$page" "$number"
        number=$((number + 1))
    done
    check_paths "$file"
done

for family in "$source"/src/ops/*/; do
    family=$(basename "$family")
    grep -qwF "$family" "$source/ARCHITECTURE.md" || { echo "ARCHITECTURE.md: the family $family is not there"; exit 1; }
    ok "ARCHITECTURE.md: family $family"
done

# What another driver of GPUs writes is listed, entry by entry.
driver=$source/src/backend/gpu/driver.h
if [ -f "$driver" ]; then
    for entry in $(sed -n '/^typedef struct tn__gpu_driver {/,/^} tn__gpu_driver;/p' "$driver" |
        sed -nE 's/^ *[A-Za-z0-9_ ]+[ *]\(\*([a-z_]+)\)\(.*/\1/p; s/^ *const char \*([a-z_]+);.*/\1/p'); do
        grep -q "\`$entry\`" "$source/ARCHITECTURE.md" || { echo "ARCHITECTURE.md: $entry of tn__gpu_driver is not there"; exit 1; }
        ok "ARCHITECTURE.md: $entry of tn__gpu_driver"
    done
fi

python "$source/tests/docs/guide.py" "$source" "$scratch" docs/en docs/zh-CN
for file in "$source"/docs/en/*.md "$source"/docs/zh-CN/*.md "$source"/docs/decisions/*.md; do
    check_paths "$file"
done

# that the tables of environment variables are those of src/core/variables.def: scripts/check-style
echo "count: $count checks of the documents"
