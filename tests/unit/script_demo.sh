#!/bin/sh
# The commands that scripts/demo prints: pasted into a shell, they do what it did, whatever blanks and quotes are in the names.
#   tests/unit/script_demo.sh SOURCE-FOLDER
# With what it installs, builds and trains stood in for. One line 'ok WHAT' a check, a count at the end; 1 if one failed.
set -u
source=$1 checks=0 failed=0
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

root="$work/it's a folder" && mkdir -p "$root/scripts" "$root/build" "$work/bin" "$work/elsewhere" || exit 2
cp "$source/scripts/demo" "$root/scripts/demo" && : >"$root/build/build.ninja" && : >"$root/scripts/setup" || exit 2
printf '#!/bin/sh\nexit 0\n' >"$work/bin/cmake"
printf '#!/bin/sh\nfor word; do printf "[%%s]" "$word"; done >>"%s/called"\necho >>"%s/called"\n' "$work" "$work" >"$root/build/tenon"
chmod +x "$work/bin/cmake" "$root/build/tenon"
PATH=$work/bin:$PATH && export PATH

# What ran, and then what the printed lines run, must be the same calls.
demo() { # FOLDER COMMAND...
    folder=$1
    shift
    : >"$work/called"
    (cd "$folder" && "$@") >"$work/printed" 2>&1 || return 1
    mv "$work/called" "$work/ran"
    sed -n 's/^\(train\|eval\|next\): *//p' "$work/printed" >"$work/lines"
    [ "$(wc -l <"$work/lines")" -eq 3 ] || return 1
    : >"$work/called"
    (cd "$folder" && while read -r line; do sh -c "$line" || exit 1; done <"$work/lines") || return 1
    cat "$work/printed" "$work/ran" "$work/called"
    head -n 2 "$work/called" | cmp - "$work/ran"
}
last() { tail -n 1 "$work/called"; }
check "in its folder" demo "$root" sh scripts/demo
check "names the model and the picture" test "$(last)" = "[predict][mnist.safetensors][examples/digit.png]"
check "from elsewhere, with names that a shell would take apart" demo "$work/elsewhere" sh "$root/scripts/demo" \
    --save "my model's \"best\" \$HOME.safetensors" --device=cuda:0 --log "a;b &.csv" --data "the data*"
check "and they arrive whole" test "$(last)" = \
    "[predict][my model's \"best\" \$HOME.safetensors][$root/examples/digit.png][--device][cuda:0]"

echo "count: demo: $checks checks, $failed failed"
[ "$failed" = 0 ]
