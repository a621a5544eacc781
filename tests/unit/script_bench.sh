#!/bin/sh
# script_bench.sh SOURCE: what scripts/bench --against refuses, and the table that bench/compare_commits.py makes of two builds whose
# programs are stand-ins: they answer with figures of their own and write down who was asked.
set -u
source=$1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
git init -q -b main . && mkdir scripts && cp "$source/scripts/bench" scripts/ && git add . &&
    git -c user.name=t -c user.email=t@localhost -c commit.gpgsign=false commit -q -m one || exit 1

ok=0 wrong=0
verdict() {
    if [ "$1" = yes ]; then ok=$((ok + 1)); else wrong=$((wrong + 1)) && echo "error: $2"; fi
}
# refused TEXT ARGUMENTS...: the code is 2 and the message has the text in it
refused() {
    text=$1 && shift
    got=$(sh scripts/bench "$@" 2>&1)
    code=$?
    case $code:$got in 2:*"$text"*) verdict yes ;; *) verdict no "scripts/bench $*: $code, '$got', not 2 and '$text'" ;; esac
}
refused "no commit 'nowhere'" --against nowhere
refused "no commit 'add_4'" --against add_4 sgemm
refused 'needs a commit' --against
refused "not 'parallel'" --against HEAD parallel
refused "not '--rounds'" --against HEAD --rounds 3

# stand_in BUILD CASES: bench/bench_small, which answers each row by them
stand_in() {
    mkdir -p "$1/bench"
    # shellcheck disable=SC2016 # the stand-ins expand it
    printf '#!/bin/sh\nwhile read -r row; do\n    echo "%s $row" >>asked\n    case $row in\n%s\n    esac\ndone\n' \
        "$1" "$2" >"$1/bench/bench_small"
    chmod +x "$1/bench/bench_small"
}
# add_4 takes 1, 2, 4 ns before and 1, 2.08, 9 after: the medians are 4 % apart; zeros_4 2 and 2.12: 6 %; the first build has no view_4
# shellcheck disable=SC2016 # the stand-ins expand it
{
    stand_in before 'add_4) n=$(grep -cx "before add_4" asked); echo "$(echo 1e-9 2e-9 4e-9 | cut -d" " -f"$n") 0 -" ;;
    zeros_4) echo 2e-9 0 - ;;
    *) echo unknown ;;'
    stand_in after 'add_4) n=$(grep -cx "after add_4" asked); echo "$(echo 1e-9 2.08e-9 9e-9 | cut -d" " -f"$n") 0 -" ;;
    zeros_4) echo 2.12e-9 0 - ;;
    *) echo 3e-9 0 - ;;'
}
table() {
    PYTHONDONTWRITEBYTECODE=1 python3 "$source/bench/compare_commits.py" "$@" 2>/dev/null
}
# line TEXT: the table has this line
line() {
    if printf '%s\n' "$got" | grep -qxF "$1"; then verdict yes; else verdict no "compare_commits.py: no line '$1' in: $got"; fi
}
if command -v python3 >/dev/null; then
    got=$(table --rounds 3 --threads 1 before after add_4 zeros_4 view_4 sgemm_256)
    line '| add of 4 floats, new result | 2 ns | 2.08 ns | 1.040 | |'
    line '| zeros of 4 floats | 2 ns | 2.12 ns | 1.060 | SLOWER |'
    line '| view of 4 floats | - | 3 ns | - | |'
    line '| sgemm 256 | - | - | - | |'
    line '1 of 5 rows slower by more than 5%: zeros_4'
    got=$(grep ' zeros_4' asked | tr '\n' ' ')
    line 'before zeros_4 after zeros_4 after zeros_4 before zeros_4 before zeros_4 after zeros_4 '
    if got=$(table before after add_5); then verdict no "compare_commits.py takes a name that no row has: $got"; else verdict yes; fi
fi
echo "count: what scripts/bench --against refuses and prints: $ok"
[ $wrong = 0 ]
