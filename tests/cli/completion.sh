#!/bin/sh
# Manual pages and completions say what --help says, and are what their readers take.
#   tests/cli/completion.sh TENON GENERATED-FOLDER
# bash completes some lines as it does at a terminal but for reading keys: compopt, which only works there, is written down.
set -u
tenon=$1 checks=0 failed=0
made=$(cd "$2" && pwd) || exit 2
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

ok() {
    checks=$((checks + 1))
    if [ "$2" = "$3" ]; then
        echo "ok $1"
    else
        failed=$((failed + 1))
        printf 'FAILED %s: "%s" instead of "%s"\n' "$1" "$2" "$3"
    fi
}

# ---- every command and option of --help, no other, is in each of them ----
commands=$("$tenon" --help | sed -n 's/^  \([a-z]*\) .*/\1/p' | tr '\n' ' ')
ok "there are commands" "$(echo "$commands" | wc -w)" 6
options_of() { "$tenon" "$1" --help | sed -n 's/^  \(--*[a-zA-Z][a-z-]*\).*/\1/p' | sort | tr '\n' ' '; }
of_man() { sed -n 's/\\-/-/g; s/^\\fB\(-[^\\]*\).*/\1/p' "$made/man/tenon-$1.1" | sort | tr '\n' ' '; }
of_fish() {
    {
        sed -n "s/^complete -c tenon -n '__fish_seen_subcommand_from $1' -l \([a-z-]*\).*/--\1/p
            s/^complete -c tenon -n '__fish_seen_subcommand_from $1' -s \([a-zA-Z]\) .*/-\1/p" "$made/fish/tenon.fish"
        sed -n 's/^complete -c tenon -l \([a-z-]*\).*/--\1/p' "$made/fish/tenon.fish"
    } | sort | tr '\n' ' '
}
of_zsh() { sed -n "/^    $1)/,/;;/s/^ *'\(-[a-zA-Z-]*\).*/\1/p" "$made/zsh/_tenon" | sort | tr '\n' ' '; }
for command in $commands; do
    said=$(options_of "$command")
    ok "tenon-$command.1: the options of --help" "$(of_man "$command")" "$said"
    ok "fish: the options of $command --help" "$(of_fish "$command")" "$said"
    ok "zsh: the options of $command --help" "$(of_zsh "$command")" "$said"
    ok "tenon.1 names $command" "$(sed '/^.SH OPTIONS/,$d' "$made/man/tenon.1" | grep -c "^.BR tenon.*-$command (1)$")" 1
done
# shellcheck disable=SC2012 # names without blanks
ok "a page for each command, and that of all" "$(ls "$made/man" | wc -l)" 7

for variable in TENON_NUM_THREADS CUDA_VISIBLE_DEVICES TENON_FAKE_GPUS; do
    ok "tenon.1 says what $variable is" "$(grep -A 1 -x ".B $variable" "$made/man/tenon.1" | wc -l)" 2
done
ok "tenon.1 has no variables of the tests" "$(grep -c 'TENON_TEST' "$made/man/tenon.1")" 0

# ---- bash ----
if command -v bash > /dev/null; then
    # completed LINE: the replies, sorted; then what was asked of readline
    completed() {
        (cd "$scratch/files" && bash -uc '
            set -f
            said=
            compopt() { said="$said $*"; }
            . "$1"
            COMP_LINE=$2 COMP_POINT=${#2}
            _tenon
            printf "%s\n" "${COMPREPLY[@]}" | LC_ALL=C sort | tr "\n" " "
            echo "|$said"
        ' bash "$made/bash/tenon" "$1" 2>&1)
    }
    completes() { ok "bash: '$1'" "$(completed "$1")" "$2"; }
    mkdir -p "$scratch/files/models" && (cd "$scratch/files" && touch a.safetensors b.txt 'my model.safetensors' digit.png two.npy)
    none='+o default +o bashdefault'
    completes 'tenon ' "$(echo "$commands" | tr ' ' '\n' | sort | tr '\n' ' ' | sed 's/^ //')| $none"
    completes 'tenon d' "devices doctor | $none"
    completes 'tenon --' "--help --version | $none"
    completes 'tenon train --re' "--resume | $none"
    completes 'tenon train --epochs 3 --w' "--weight-decay | $none"
    for command in $commands; do
        completes "tenon $command -" "$(options_of "$command" | tr ' ' '\n' | LC_ALL=C sort | tr '\n' ' ' | sed 's/^ //')| $none"
    done
    completes 'tenon train --model ' "linear mlp | $none"
    completes 'tenon train --model=l' "linear | $none"
    completes 'tenon train --device cuda:' "0 1 | $none"
    completes 'tenon train --device=cuda:0,c' "0,cpu 0,cuda 0,cuda:0 0,cuda:1 | $none" # behind the break ':'
    completes 'tenon train --data ' " | -o dirnames $none"
    completes 'tenon train --save ' " | -o filenames"
    completes 'tenon train --epochs ' " | $none"
    completes 'tenon train ' " | $none"
    completes 'tenon eval ' "a.safetensors models my model.safetensors | -o filenames"
    completes 'tenon eval my\ mo' "my model.safetensors | -o filenames"
    completes 'tenon eval --device cpu a' "a.safetensors | -o filenames"
    completes 'tenon predict a.safetensors ' "digit.png models two.npy | -o filenames -o filenames"
    completes 'tenon predict a.safetensors digit.png ' " | $none"
    completes 'tenon devices -d ' "Memory | $none"
    completes 'tenon nothing --x' " | $none"
    ok "bash: complete -p" "$(bash -c '. "$1"; complete -p tenon' bash "$made/bash/tenon")" \
        "complete -o bashdefault -o default -F _tenon tenon"
else
    echo "skipped: completion for bash: it is not installed"
fi

# ---- fish, if it is there ----
if command -v fish > /dev/null; then
    completed_by_fish() {
        (cd "$scratch" && HOME=$scratch XDG_CONFIG_HOME=$scratch fish -c 'source $argv[1]; complete -C $argv[2]' "$made/fish/tenon.fish" "$1" 2>&1) |
            cut -f1 | LC_ALL=C sort | tr '\n' ' '
    }
    ok "fish: 'tenon '" "$(completed_by_fish 'tenon ')" "$(echo "$commands" | tr ' ' '\n' | sort | tr '\n' ' ' | sed 's/^ //')"
    ok "fish: 'tenon train --re'" "$(completed_by_fish 'tenon train --re')" "--resume "
    ok "fish: 'tenon train --model '" "$(completed_by_fish 'tenon train --model ')" "linear mlp "
fi

# ---- readers ----
quiet() { # WHAT PROGRAM FILE COMMAND...
    what=$1 program=$2 file=$3
    shift 3
    command -v "$program" > /dev/null || { echo "skipped: $what: $program is not installed"; return 0; }
    ok "$what: ${file##*/}" "$("$@" "$file" 2>&1 > /dev/null)" ""
}
quiet "zsh reads it" zsh "$made/zsh/_tenon" zsh -n
quiet "fish reads it" fish "$made/fish/tenon.fish" fish --no-execute
for page in "$made"/man/*.1; do
    quiet "groff warns of nothing" groff "$page" groff -ww -b -z -man
    quiet "man warns of nothing" man "$page" env MANROFFSEQ='' man --warnings -E UTF-8 -l -Tutf8 -Z
    command -v mandoc > /dev/null && ok "mandoc: ${page##*/}" "$(mandoc -T lint "$page")" ""
done

echo "count: pages and completions: $checks checks"
[ $failed -eq 0 ]
