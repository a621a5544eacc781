"""scripts/bench sweep names every public operation: a row that its signature does not say how to call has a line in
bench/sweep_calls.txt, and every call of it runs here. Times are not looked at, and PyTorch is not needed."""

import math
import sys
from pathlib import Path

import pytest
import tenon as torch

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))
import sweep  # noqa: E402
import sweep_calls  # noqa: E402

ENTRIES = (Path(torch.__file__).parents[1] / "generated" / "python_entries.txt").read_text()
LINES = sweep_calls.written((BENCH / "sweep_calls.txt").read_text())
NEW = "brand_new\tfunc\treduce\t\tTM\tbrand_new\tbrand_new\tbrand_new(Tensor input, size shape)\n"


def test_every_public_row_has_a_call():
    found, out, unknown = sweep_calls.calls(ENTRIES)
    assert not unknown, f"bench/sweep_calls.txt does not say how to call {', '.join(unknown)}"
    assert len(found) > 300 and len(out) < 20
    assert len({call.name for call in found}) == len(found), "a call stands there twice"
    stale = sweep_calls.stale(ENTRIES, LINES)
    assert not stale, f"bench/sweep_calls.txt has lines of what is no row: {', '.join(stale)}"


def test_a_row_without_a_call_is_found():
    assert sweep_calls.calls(ENTRIES + NEW)[2] == ["brand_new"]
    by_signature = NEW.replace("size shape", "Tensor other")
    assert ("brand_new(x, y)", "torch.brand_new(x, y)", "", False) in sweep_calls.calls(ENTRIES + by_signature)[0]
    with_line = {**LINES, "brand_new": ["x, (r, c)", "- because"]}
    found, out, unknown = sweep_calls.calls(ENTRIES + NEW, with_line)
    assert ("brand_new(x, (r, c))", "torch.brand_new(x, (r, c))", "", False) in found
    assert out["brand_new"] == "because" and not unknown
    assert sweep_calls.stale(ENTRIES, with_line) == ["brand_new"]


@pytest.fixture(scope="module")
def worker():
    one = sweep.Worker([sys.executable, "-m", "tenon", str(BENCH / "sweep_worker.py"), "1"])
    yield one
    one.end()


def test_every_call_runs(worker, record_property):
    left, ran = {call.code: "" for call in sweep_calls.calls(ENTRIES)[0]}, {}
    for dtype, layout, backward in (("float32", "contiguous", False), ("int64", "contiguous", False), ("float32", "transposed", True)):
        assert "limits" in worker.ask(inputs=[8, dtype, layout])
        for code in left if backward else [c for c in left if c not in ran]:
            answer = worker.ask(call=code, backward=backward)
            if "t" in answer and answer["t"] > 0:
                ran.setdefault(code, []).append(backward)
            elif not backward:
                left[code] = answer["error"]
    failed = {code: error for code, error in left.items() if code not in ran}
    assert not failed
    recorded = sum(True in how for how in ran.values())
    assert recorded > 200
    record_property("count", f"sweep: {len(ran)} calls, {recorded} of them with their gradients")


def test_what_a_worker_answers(worker):
    worker.ask(inputs=[8, "float32", "contiguous"])
    assert worker.ask(call="torch.add(x, y)", backward=False, bytes=True)["bytes"] == [64, 32]
    assert worker.ask(call="torch.zeros(r, c)", backward=False, bytes=True)["bytes"] == [0, 32]
    assert worker.ask(runs=3)["t"] > 0
    assert worker.ask(call="torch.no_such_name(x)", backward=False)["error"].startswith("AttributeError")
    assert worker.ask(call="torch.argmax(x)", backward=True)["error"] == "TypeError: no gradient"
    assert worker.ask(call="__import__('os')._exit(3)", backward=False) == {"error": "ended with 3"}
    assert "t" in worker.ask(call="torch.add(x, y)", backward=False), "begun again, with its inputs"


def test_tables():
    figure = sweep.Figure
    figures = [figure("exp(x)", 65536, "f32", 1.0, 4.0, 0.9), figure("exp(x)", 65536, "bf16", 2.0, 1.0, 0.5, 0.9),
               figure("tanh(x)", 65536, "f32", 1.0, 0.25, 0.0), figure("tanh(x)", 8, "f32", 1.0, 2.0, 0.0)]
    causes = sweep.read_causes("# a remark\nexp.*\tbf16|i64\t65536\tits divisions\n")
    text = list(sweep.summary(figures, [8, 65536], causes))
    assert text[2] == "| 8 | 1 | 2.00x | 0 | 0 | 0 | 0 | - | - |"
    assert text[3] == "| 65,536 | 3 | 0.79x | 2 | 1 | 2 | 1 | 1 of 2 | 1 |"
    assert not figure("exp(x)", 65536, "bf16", 2.0, 1.0, 0.5, 1.5).beyond_both, "its arithmetic says why"
    assert math.isclose(sweep.mean([4.0, 0.5, 0.25]), 0.5 ** (1 / 3))
    lines = [line[2:-2].split(" | ") for line in list(sweep.table(figures, causes))[2:]]
    assert [(line[0], line[-1].strip()) for line in lines] == [("`tanh(x)`", "?"), ("`exp(x)`", "its divisions; above 2x its bytes and arithmetic: bf16"), ("`tanh(x)`", "")], (
        "sorted by the worst ratio of each"
    )
