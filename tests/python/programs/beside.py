"""scripts/fuzz-beside-torch: fresh random programs, run by PyTorch on the CPU and by Tenon; a table of what disagrees."""

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = ["crash", "value", "dtype", "shape", "strides", "offset", "aliasing", "version", "gradient", "requires_grad", "is_leaf", "result",
         "error class", "error line"]  # fmt: skip


def worker(*args):
    env = dict(os.environ, PYTHONPATH=os.pathsep.join([os.path.dirname(HERE), os.environ.get("PYTHONPATH", "")]), PYTHONWARNINGS="ignore")
    env.setdefault("TENON_FAKE_GPUS", "2")
    return subprocess.Popen([sys.executable, "-m", "programs.worker", *map(str, args)], env=env, stdout=subprocess.PIPE, text=True)


def generated(first, count, path, names):
    """Programs of seeds, one a line; a seed whose program ends PyTorch's process is left out."""
    at, last = first, first + count
    open(path, "w").close()
    while at < last:
        process = worker("generate", at, last - at, path, names)
        process.communicate()
        with open(path, encoding="utf-8") as f:
            text = f.read()
        if process.returncode == 0:
            break
        whole, _, broken = text.rpartition("\n")
        with open(path, "w", encoding="utf-8") as f:
            f.write(whole + "\n" if whole else "")
        if not broken:
            sys.exit("fuzz-beside-torch: the generator failed")
        print(f"seed {broken.split(' ')[0]} ends PyTorch's process: left out", file=sys.stderr)
        at = int(broken.split(" ")[0]) + 1
    with open(path, encoding="utf-8") as f:
        return [(int(s), json.loads(p)) for s, _, p in (line.partition(" ") for line in f)]


def replayed(programs, path, device):
    """[what differs or None] of each program."""
    found = []
    while len(found) < len(programs):
        process = worker("replay", device, path, len(found))
        for line in process.stdout:
            number, _, what = json.loads(line)
            assert number == len(found)
            found.append(what)
        process.wait()
        if len(found) < len(programs):
            last = programs[len(found)][1][-1]
            found.append({"step": len(programs[len(found)][1]) - 1, "op": last[0], "line": last[1], "kind": "crash", "want": "",
                          "got": f"exit status {process.returncode}", "reason": None})  # fmt: skip
    return found


def cause(found):
    """What failures of one cause have in common."""
    text = re.sub(r"-?\d+\.?\d*(e[-+]?\d+)?|\bv\d*\b|nan|inf", "#", f"{found['want']} | {found['got']}")
    return found["kind"], found["op"], text[:160] if "error" in found["kind"] else ""


def reduced(cases, device, path):
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(json.dumps([[[op, line] for op, line, _, _ in program], what]) + "\n" for _, program, what in cases)
    process = worker("reduce", device, path)
    text, _ = process.communicate()
    return [json.loads(line) for line in text.splitlines()]


def table(counts, total):
    print("| " + " | ".join(["programs", "agree", "named", *KINDS]) + " |")
    print("|" + "---|" * (len(KINDS) + 3))
    print("| " + " | ".join(str(n) for n in [total, counts["agree"], counts["named"], *[counts[k] for k in KINDS]]) + " |")


def show(groups, device, folder, limit):
    """Each group's most common, reduced."""
    shown = sorted(groups.values(), key=lambda g: (KINDS.index(g[0][2]["kind"]) > 11, -len(g)))[:limit]
    best = [min(group, key=lambda case: len(case[1]) if case[2]["kind"] == "crash" else case[2]["step"]) for group in shown]
    for group, case, (lines, what) in zip(shown, best, reduced(best, device, os.path.join(folder, "reduce"))):
        print(f"\n{len(group)} x {what['kind']} of {what['op']}, seed {case[0]}")
        for _, line in lines:
            print("    " + line)
        print(f"  PyTorch: {what['want']}\n  Tenon:   {what['got']}")


def main():
    parser = argparse.ArgumentParser(prog="fuzz-beside-torch", description=__doc__)
    parser.add_argument("programs", type=int, metavar="N", help="how many programs")
    parser.add_argument("--seed", type=int, default=1, help="the first program's seed; the others follow")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="where Tenon runs them; cuda: fake GPUs, unless TENON_FAKE_GPUS is set and empty")
    parser.add_argument("--limit", type=int, default=60, help="how many groups of failures are reduced and shown")
    parser.add_argument("--of", default="", metavar="NAME,...", help="operations that the programs are about, by turns; without: all")
    args = parser.parse_args()
    counts, groups, steps, errors, agreed, alone = collections.Counter(), collections.defaultdict(list), 0, 0, 0, 0
    reasons = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "programs")
        for first in range(args.seed, args.seed + args.programs, 500):
            programs = generated(first, min(500, args.seed + args.programs - first), path, args.of)
            for (seed, program), what in zip(programs, replayed(programs, path, args.device)):
                seen = program[: what["step"] + 1] if what else program
                steps += len(seen)
                errors += sum(1 for s in seen if s[2])
                other = what is not None and what["kind"] == "error class" and not what["reason"]
                agreed += sum(1 for s in seen if s[2]) - bool(other and what["want"])
                alone += bool(other and not what["want"])
                counts["agree" if what is None else "named" if what["reason"] else what["kind"]] += 1
                if what and what["reason"]:
                    reasons[what["reason"]] += 1
                elif what:
                    groups[cause(what)].append((seed, program, what))
        show(groups, args.device, folder, args.limit)
    print()
    for reason, n in reasons.most_common():
        print(f"{n} x named: {reason}")
    total = sum(counts.values())
    print(f"\nTenon on {args.device} beside PyTorch: {steps} lines; of {errors} that raise in PyTorch the class agrees in {agreed}; {alone} raise in Tenon alone\n")
    table(counts, total)
    return 1 if groups else 0


if __name__ == "__main__":
    sys.exit(main())
