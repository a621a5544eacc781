#!/bin/sh
# Every C block of the documents is compiled as a user would and run; a comment behind tn_print(...) must be what it
# prints. Commands that the documents name must exist.   tests/docs/run.sh SOURCE BUILD SCRATCH
set -eu
source=$1 build=$2 scratch=$3
count=0

ok() {
    count=$((count + 1))
    echo "ok $1"
}

for page in "$source"/*.md "$source"/docs/*.md; do
    [ -e "$page" ] || continue
    rm -f "$scratch"/block*
    awk -v to="$scratch/block" '/^```c$/ {n++; on = 1; next} /^```/ {on = 0} on {print > (to n ".c")}' "$page"
    for block in "$scratch"/block*.c; do
        [ -e "$block" ] || continue
        name="${page#"$source"/}: $(basename "$block" .c)"
        cc -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$source/include" -I"$build/src/generated/include" "$block" \
            -o "$scratch/program" -L"$build/src" -ltenon -Wl,-rpath,"$build/src"
        "$scratch/program" >"$scratch/printed" 2>/dev/null
        sed -n 's|.*tn_print(.*); */\* \(.*\) \*/.*|\1|p' "$block" >"$scratch/promised"
        diff "$scratch/promised" "$scratch/printed"
        ok "$name compiles, runs, prints what it says"
    done
    awk '/^```diff$/ {on = 1; next} /^```/ {on = 0} on' "$page" >"$scratch/diff"
    if [ -s "$scratch/diff" ]; then
        (cd "$source" && git apply --check --recount "$scratch/diff")
        ok "${page#"$source"/}: its diff applies"
    fi
    for path in $(grep -oE '(\./)?scripts/[a-z-]+' "$page" | sort -u) $(grep -oE '\]\([A-Za-z][^):#]*\)' "$page" |
        grep -v http | sed 's/^](//; s/)$//' | sort -u); do
        [ -e "$source/$path" ] || { echo "${page#"$source"/}: $path is not there"; exit 1; }
        ok "${page#"$source"/}: $path"
    done
done
echo "count: $count checks of the documents"
