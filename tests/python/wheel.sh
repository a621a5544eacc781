#!/bin/sh
# Builds the wheel, installs it into an environment of its own, and uses it from an empty folder.
#   tests/python/wheel.sh SOURCE SCRATCH
set -eu
source=$1 scratch=$2
python=$source/build/venv/bin/python

"$python" -m pip wheel -q --disable-pip-version-check --no-deps --no-build-isolation -w "$scratch/wheels" "$source" \
    --config-settings=build-dir="$scratch/build"
wheel=$(ls "$scratch"/wheels/tenon-*.whl)
bytes=$(wc -c <"$wheel")
echo "count: wheel: $bytes bytes ($(basename "$wheel"))"
[ "$bytes" -lt 5000000 ] || { echo "the wheel is larger than 5 MB"; exit 1; }
python3 -m zipfile -l "$wheel" >"$scratch/list"
for file in py.typed _C.pyi __init__.pyi nn/functional.pyi; do
    grep -q "^tenon/$file " "$scratch/list" || { echo "the wheel lacks tenon/$file"; exit 1; }
done

python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q --disable-pip-version-check "$wheel"
cd "$scratch"
cat >use.py <<'PY'
import sys
import tenon as torch

assert "numpy" not in sys.modules
assert torch.cuda.device_count() == 2, torch.cuda.device_count()
x = torch.tensor([1.0, 2.0], device="cuda:1", requires_grad=True)
(x * x).sum().backward()
assert x.grad.tolist() == [2.0, 4.0]
print(x.grad, torch.__version__)
PY
env -u PYTHONPATH TENON_FAKE_GPUS=2 "$scratch/venv/bin/python" use.py >out
cat out
[ "$(cat out)" = "tensor([2., 4.], device='cuda:1') 0.1.0" ]
echo 'import torch; print(torch.ones(2))' >program.py
[ "$(env -u PYTHONPATH "$scratch/venv/bin/python" -m tenon program.py)" = "tensor([1., 1.])" ]
echo "1 passed"
