#!/bin/sh
# scripts/setup in the middle of pasted lines: what it runs leaves the terminal's input alone, so the lines after it arrive.
#   tests/unit/script_setup.sh SOURCE-FOLDER
# With an apt-get that reads all that it can get, as the real one does where it writes to a terminal of its own, and that
# has to fetch its lists first. One line 'ok WHAT' a check, a count at the end; 1 if one failed.
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
        sed 's/^/    /' "$work/log" "$work/said"
    fi
}

# A machine that lacks everything but these, and whose user is root.
mkdir "$work/bin" || exit 2
for program in sh env cat dirname grep head ls mktemp rm sed tail; do
    ln -s "$(command -v $program)" "$work/bin/$program" || exit 2
done
printf '#!/bin/sh\necho 0\n' >"$work/bin/id"
cat >"$work/bin/apt-get" <<END
#!/bin/sh
cat >/dev/null
echo "\$1" >>"$work/called"
case \$1 in
update) : >"$work/updated" ;;
install) [ -e "$work/updated" ] ;;
esac
END
chmod +x "$work/bin/id" "$work/bin/apt-get"

echo "the next line" | (
    PATH=$work/bin
    sh "$source/scripts/setup" >"$work/said" 2>&1
    echo "status $?" >>"$work/said"
    cat >"$work/left"
)
check "installs what is missing" grep -q '^setup: installed$' "$work/said"
check "after fetching the lists" test "$(tr '\n' ' ' <"$work/called")" = "install update install "
check "and succeeds" grep -q '^status 0$' "$work/said"
check "the line pasted after it arrives" grep -q '^the next line$' "$work/left"

echo "count: setup: $checks checks, $failed failed"
[ "$failed" = 0 ]
