#!/bin/sh
# The package as others get it: the ready wheel in an environment without a compiler, and what 'pip install .' builds.
#   tests/python/wheel.sh SOURCE SCRATCH
# One line 'ok WHAT' a check.
set -eu
source=$1 scratch=$2
python=$source/build/venv/bin/python
count=0
ok() {
    count=$((count + 1))
    echo "ok $1"
}
fail() { echo "FAILED $1"; exit 1; }
unset PYTHONPATH TENON_FAKE_GPUS CUDA_VISIBLE_DEVICES

# ---- scripts/wheel: auditwheel's tag, the list of files; refused where one of them is not as it should be ----
"$source/scripts/wheel" --python "$python" --to "$scratch/dist"
wheel=$(echo "$scratch"/dist/*.whl)
bytes=$(wc -c <"$wheel")
echo "count: wheel: $bytes bytes ($(basename "$wheel"))"
[ "$bytes" -lt 3200000 ] || fail "the wheel is larger than 3.2 MB"
case ${wheel##*/} in
tenon_tensor-0.1.0-cp311-abi3-manylinux_2_2[0-8]_x86_64.whl) ok "name and tag of the wheel" ;;
*) fail "the wheel is called ${wheel##*/}" ;;
esac

# ---- what the headers of glibc 2.38 name (Ubuntu 24.04) is not taken from there: the calls of such a program work here, too ----
cat >"$scratch/newer.c" <<'C'
long __isoc23_strtol(const char *text, char **end, int base);
int __isoc23_sscanf(const char *text, const char *format, ...);
int main(void)
{
    int read = 0;
    return __isoc23_strtol("-12x", 0, 10) == -12 && __isoc23_sscanf("a 34", "a %d", &read) == 1 && read == 34 ? 0 : 1;
}
C
older=$(find "$source/build-wheel" -name libtenon_older.a)
cc "$scratch/newer.c" -o "$scratch/newer" -Wl,--wrap=__isoc23_strtol,--wrap=__isoc23_sscanf "$older" && "$scratch/newer" ||
    fail "numbers are read by what glibc 2.38 has"
! nm -D "$scratch/newer" | grep -F GLIBC_2.38 || fail "numbers are read by what glibc 2.38 has"
ok "readers of numbers in older glibcs"

# ---- scripts/setup --python makes an environment beside the scripts, wherever it is called from ----
mkdir -p "$scratch/a copy/scripts" "$scratch/nothing"
cp "$source/scripts/setup" "$scratch/a copy/scripts"
(cd "$scratch/nothing" && sh "../a copy/scripts/setup" --python) >"$scratch/setup.log"
grep -q "to use it: \. '../a copy/.venv'/bin/activate" "$scratch/setup.log" || { cat "$scratch/setup.log"; fail "setup --python says how to use it"; }
venv="$scratch/a copy/.venv"
[ -x "$venv/bin/pip" ] || fail "setup --python makes .venv"
ok "scripts/setup --python makes an environment"

# use ENVIRONMENT: the package in it, from an empty folder
use() (
    cd "$scratch"
    cat >use.py <<'PY'
import importlib.metadata
import sys
import tenon as torch

assert "numpy" not in sys.modules
assert importlib.metadata.version("tenon-tensor") == torch.version.tenon
assert torch.cuda.device_count() == 2, torch.cuda.device_count()
x = torch.tensor([1.0, 2.0], device="cuda:1", requires_grad=True)
(x * x).sum().backward()
assert x.grad.tolist() == [2.0, 4.0]
print(x.grad, torch.__version__)
PY
    TENON_FAKE_GPUS=2 "$1/bin/python" use.py >out
    cat out
    [ "$(cat out)" = "tensor([2., 4.], device='cuda:1') 2.15.0+tenon0.1.0" ]
    echo 'import torch; print(torch.ones(2))' >program.py
    [ "$("$1/bin/python" -m tenon program.py)" = "tensor([1., 1.])" ]
)

# ---- installed without a compiler and without the network ----
start=$(date +%s)
PATH=$scratch/nothing "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-index "$wheel"
echo "note: pip install of the wheel: $(($(date +%s) - start)) s"
use "$venv"
ok "the wheel in the Python of the suite"

# ---- its command is the C program, and reads PNG ----
[ "$("$venv/bin/tenon" --version)" = "tenon 0.1.0" ] || fail "tenon --version"
status=0
"$venv/bin/tenon" nonsense >/dev/null 2>&1 || status=$?
[ $status = 2 ] || fail "the command's status is $status"
"$venv/bin/tenon" train --data "$source/data/mnist" --epochs 1 --save "$scratch/m.safetensors" >/dev/null
"$venv/bin/tenon" predict "$scratch/m.safetensors" "$source/examples/digit.png" >"$scratch/predicted"
grep -q 'digit.png: 7$' "$scratch/predicted" || { cat "$scratch/predicted"; fail "tenon predict of a PNG"; }
! ldd "$venv"/lib*/python3*/site-packages/tenon/bin/tenon | grep -E 'png|not found' || fail "libraries that others lack"
ok "the command of the wheel"

# ---- what python -m tenon recommends is there: in the environment's PATH by name, else by a path that a shell takes ----
recommended() { "$@" -m tenon | sed -n 's/.*(`\(.*\) doctor` tells.*/\1/p'; }
PATH=$venv/bin:$PATH
[ "$(recommended python)" = tenon ] || fail "python -m tenon recommends $(recommended python)"
PATH=${PATH#*:}
named=$(recommended "$venv/bin/python")
sh -c "$named --version" | grep -q '^tenon 0.1.0$' || fail "python -m tenon recommends $named"
! "$venv/bin/python" -m tenon | grep 'build/' || fail "python -m tenon speaks of a build folder"
ok "what python -m tenon recommends"

# ---- the same wheel in the newest Python that is here ----
newest=''
for minor in 20 19 18 17 16 15 14 13 12; do
    for candidate in "$(command -v python3.$minor)" "$HOME"/.pyenv/versions/3.$minor.*/bin/python3.$minor; do
        [ -z "$newest" ] && [ -x "$candidate" ] && "$candidate" -c 'import venv' 2>/dev/null && newest=$candidate
    done
done
if [ -n "$newest" ]; then
    "$newest" -m venv --without-pip "$scratch/newest"
    "$python" -m pip --python "$scratch/newest/bin/python" install -q --disable-pip-version-check --no-index "$wheel"
    use "$scratch/newest"
    [ "$("$scratch/newest/bin/tenon" --version)" = "tenon 0.1.0" ] || fail "tenon --version"
    echo "note: on $("$newest" --version)"
else
    echo "skipped: no newer Python than the suite's"
fi

# ---- 'pip install .' compiles nothing that a build folder has ----
"$python" -m pip wheel -v --disable-pip-version-check --no-deps --no-build-isolation -w "$scratch/again" "$source" \
    --config-settings=cmake.define.TENON_BUILD="$source/build-wheel" >"$scratch/again.log" 2>&1 ||
    { tail -n 30 "$scratch/again.log"; fail "pip wheel"; }
! grep -E '\] (Building|Linking) C' "$scratch/again.log" || fail "pip compiles again what a build folder has"
files_of() { "$python" -m zipfile -l "$1" | sed -n '2,${s/ .*//; /[^/]$/p;}' | sort; }
files_of "$wheel" >"$scratch/files"
files_of "$scratch"/again/*.whl | diff "$scratch/files" - || fail "pip's wheel holds other files"
ok "pip takes what a build folder has"

# ---- which folder that is: the source's build/, but for one that holds another sort of build ----
# taken WANTED WHAT: where a small project in place of Tenon's is built
stub="$scratch/a stub"
taken() {
    cmake -S "$stub/python/wheel" -B "$scratch/outer" -G Ninja -DPython3_EXECUTABLE="$python" \
        >"$scratch/outer.log" 2>&1 || { cat "$scratch/outer.log"; fail "$2"; }
    grep -q "the package is taken out of $1\$" "$scratch/outer.log" || { cat "$scratch/outer.log"; fail "$2"; }
    rm -rf "$scratch/outer"
    ok "pip's build folder: $2"
}
mkdir -p "$stub/python" && cp -r "$source/python/wheel" "$stub/python/"
printf 'cmake_minimum_required(VERSION 3.22)\nproject(Stub LANGUAGES NONE)\n' >"$stub/CMakeLists.txt"
taken "$stub/build" "none is there yet"
taken "$stub/build" "one is there"
cmake -DTENON_SANITIZE=thread "$stub/build" >/dev/null
taken "$scratch/outer/tenon" "one with sanitizers"
cmake -DTENON_SANITIZE= -DCMAKE_BUILD_TYPE=Debug "$stub/build" >/dev/null
taken "$scratch/outer/tenon" "one for debugging"
cmake -DCMAKE_BUILD_TYPE=Release "$stub/build" >/dev/null
sed -i 's|^CMAKE_COMMAND:.*|CMAKE_COMMAND:INTERNAL=/gone/cmake|' "$stub/build/CMakeCache.txt"
taken "$scratch/outer/tenon" "one whose CMake is gone"

# ---- the documents say the same lines ----
for document in README.md README.zh-CN.md docs/python.md; do
    for line in './scripts/setup --python && . .venv/bin/activate' 'pip install \.' 'pip install dist/\*.whl'; do
        grep -q "^    $line\( \|$\)" "$source/$document" || fail "$document does not say: $line"
    done
    ok "$document says how"
done
echo "$count passed"
