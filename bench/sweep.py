"""Every public operation beside PyTorch: three sizes, four dtypes, contiguous, transposed, of short rows, with out=, forward and
backward.

    python bench/sweep.py [--threads 1] [--device cpu] [--sizes 8,65536,4194304] [--columns f32,bf16] [--results FOLDER]
                          --entries FILE [--peer PYTHON] PACKAGE_FOLDER [PATTERN]

The calls come from the list of operations (sweep_calls.py). Both libraries run the same expressions (sweep_worker.py): the first
call at the same time, then by turns short runs of each, three where they are short, while the other is stopped; a figure is the
median, a ratio PyTorch's time by Tenon's; where that is below 1.1, it is the median of three processes', where that is below
0.85, of seven, below 0.8 of fifteen. What reads its operands and writes one result is held against its bytes at the speed of memcpy
and memset, too, and against its arithmetic: what 4,096 elements, which lie in the nearest cache, take beyond what 8 take. All of it
is measured in the same run. Exits with 0 whatever the figures are.
"""
import argparse
import contextlib
import json
import math
import os
import pathlib
import platform
import re
import signal
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

from compare import processor, time_text
from sweep_calls import calls

SIZES = (8, 65536, 4194304)
COLUMNS = [  # title, dtype, layout, backward
    ("f32", "float32", "contiguous", False), ("f32 t", "float32", "transposed", False),
    ("f32 b", "float32", "contiguous", True), ("f32 t b", "float32", "transposed", True),
    ("bf16", "bfloat16", "contiguous", False), ("bf16 t", "bfloat16", "transposed", False),
    ("bf16 b", "bfloat16", "contiguous", True),
    ("i64", "int64", "contiguous", False), ("i64 t", "int64", "transposed", False),
    ("f32 n", "float32", "narrow", False), ("f32 n b", "float32", "narrow", True), ("f32 out", "float32", "out", False),
    ("f64", "float64", "contiguous", False),
]
ONE_SIZE = 65536  # float64 and the layouts "narrow", rows of eight, and "out", contiguous and with out=: of this size alone
TYPED = re.compile(r"\b(x|y|u|z|t|w|b|e|l|l2|s|p3|q3|d)\b")
TURNING = re.compile(r"\b[xuz]\b")
AGAIN = (1.1, 3), (0.85, 7), (0.8, 15)  # figures below the first are the median of so many processes
CACHED = 4096  # so many elements lie in the nearest cache: what they take is arithmetic
TURNS, SHORT, LONG, SLOW = 3, 0.003, 0.12, 1  # seconds of a run, of all runs of a call, of one whose first call is enough


class Figure(NamedTuple):
    name: str
    size: int
    column: str
    ours: float
    theirs: float
    limit: float  # seconds that its bytes take at least; 0: not asked
    cached: float = 0  # seconds that it would take at the speed of CACHED elements; 0: not asked

    @property
    def ratio(self):
        return self.theirs / self.ours if self.theirs else math.inf

    @property
    def beyond_bytes(self):
        return self.size > 8 and 0 < 2 * self.limit < self.ours

    @property
    def beyond_both(self):
        """It takes twice what its bytes take and twice what its arithmetic takes: neither says why."""
        return self.beyond_bytes and self.ours > 2 * max(self.limit, self.cached)

    def cause(self, causes):
        """Why it is slower than PyTorch's: what sweep_causes.txt says; '' where it is not, '?' where nobody says."""
        if self.ratio >= 1:
            return ""
        return next((why for name, columns, sizes, why in causes if re.fullmatch(name, self.name) and
                     re.fullmatch(columns, self.column) and re.fullmatch(sizes, str(self.size))), "?")  # fmt: skip


def read_causes(text):
    """Lines of sweep_causes.txt: regular expressions that a call, a column and a size match whole, and the cause, by tabs."""
    return [tuple(line.split("\t")) for line in text.splitlines() if line and not line.startswith("#")]


class Worker:
    """A process that is begun again where it ended."""

    def __init__(self, command, env=None):
        self.command, self.env, self.inputs = command, env, None
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True, env=self.env)
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"sweep.py: cannot start {' '.join(self.command)}")
        self.hello = json.loads(line)

    def send(self, **request):
        if "inputs" in request:
            self.inputs = request
        with contextlib.suppress(BrokenPipeError):  # the answer says how it ended
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        ended = self.process.wait()
        self.start()
        self.ask(**self.inputs)
        return {"error": "takes too long" if ended == -14 else f"ended with {ended}"}

    def ask(self, **request):
        self.send(**request)
        return self.answer()

    @contextlib.contextmanager
    def stopped(self):
        """It does nothing: threads of a pool spin for a while after their last work, beside whoever has its turn."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def both(tenon, torch, **request):
    """The answers of the two, which work at the same time."""
    for worker in (tenon, torch):
        if worker:
            worker.send(**request)
    return [w.answer() if w else {"t": 0} for w in (tenon, torch)]


def measured(call, backward, out, tenon, torch):
    """(seconds of Tenon, of PyTorch, bytes read and written) or the two answers that say why not."""
    ours, theirs = both(tenon, torch, call=call.code, backward=backward, out=out, bytes=bool(call.limit) and not backward)
    if "error" in ours or "error" in theirs:
        return ours, theirs
    times, together = ([], []), max(ours["t"] + theirs["t"], 2 * SHORT)
    for _ in range(min(TURNS, max(1, int(LONG / together))) if together < SLOW else 0):
        for worker, other, first, into in ((torch, tenon, theirs, times[1]), (tenon, torch, ours, times[0])):
            if worker:
                with other.stopped() if other else contextlib.nullcontext():
                    known = min([first["t"], *into])  # the first call may have imported something
                    into.append(worker.ask(runs=max(1, int(SHORT / max(known, 1e-7)))).get("t", first["t"]))
    median = [statistics.median(t) if t else first["t"] for t, first in zip(times, (ours, theirs))]
    return (*median, ours["bytes"])


def show_inputs(size, dtype, layout, tenon, torch):
    return [w.ask(inputs=[size, dtype, layout.replace("out", "contiguous")]) for w in (tenon, torch) if w][0]


def again(figures, found, tenon, torch):
    """Figures near 1 or below in new processes, those far below in more: of each the one whose ratio is the median stays. Where what is
    read and written is about as large as the last-level cache, the pages of memory that a process got decide by a factor of two, in
    PyTorch as well."""
    known, columns = {c.name: c for c in found}, {c[0]: c[1:] for c in COLUMNS}
    taken = {f: [f] for f in figures}

    def middle(f):
        return sorted(taken[f], key=lambda g: g.ratio)[len(taken[f]) // 2]

    for below, processes in AGAIN:
        behind = [f for f in figures if middle(f).ratio < below]
        while behind and len(taken[behind[0]]) < processes:
            shown = None
            for worker in (tenon, torch):
                worker.end()
                worker.start()
            for f in behind:
                dtype, layout, backward = columns[f.column]
                if shown != (f.size, f.column):
                    shown = (f.size, f.column)
                    show_inputs(f.size, dtype, layout, tenon, torch)
                got = measured(known[f.name], backward, layout == "out", tenon, torch)
                taken[f].append(f._replace(ours=got[0], theirs=got[1]) if len(got) == 3 else f)
            print(f"sweep: {len(behind)} figures again", file=sys.stderr, flush=True)
    return [middle(f) for f in figures]


def in_cache(figures, found, tenon):
    """The figures that have a limit of bytes, with what their arithmetic takes."""
    known, took = {c.name: c for c in found}, {}
    wanted = {(f.column, f.name) for f in figures if f.limit and f.size > 8}
    for title, dtype, layout, _ in COLUMNS:
        for size in (8, CACHED):
            names = sorted(name for column, name in wanted if column == title)
            if names:
                show_inputs(size, dtype, layout, tenon, None)
            for name in names:
                took[title, name, size] = measured(known[name], False, layout == "out", tenon, None)[0]

    def cached(f):
        few, many = (took.get((f.column, f.name, size)) for size in (8, CACHED))
        return few + max(many - few, 0) * f.size / CACHED if isinstance(few, float) and isinstance(many, float) else 0

    return [f._replace(cached=cached(f)) if f.limit else f for f in figures]


def sweep(found, sizes, columns, tenon, torch):
    """(figures, what Tenon alone cannot, what PyTorch alone cannot, calls that neither can)"""
    figures, ours, theirs = [], [], []
    tried, done = set(), set()
    for size in sizes:
        for title, dtype, layout, backward in COLUMNS:
            if (columns and title not in columns) or ((layout in ("narrow", "out") or dtype == "float64") and size != ONE_SIZE):
                continue
            at = show_inputs(size, dtype, layout, tenon, torch)
            for call in found:
                typed, turning = TYPED.search(call.code), TURNING.search(call.code)
                if (dtype != "float32" and not typed) or (layout == "transposed" and not turning) or (layout == "out" and not call.out):
                    continue
                tried.add(call.name)
                got = measured(call, backward, layout == "out", tenon, torch)
                if len(got) == 2:
                    if "error" not in got[1]:
                        ours.append((call.name, size, title, got[0]["error"]))
                    elif "error" not in got[0]:
                        theirs.append((call.name, size, title, got[1]["error"]))
                    continue
                done.add(call.name)
                read, wrote = got[2]
                copy, fill = at["limits"]
                limit = wrote * fill if call.limit == "fill" or not read else (read + wrote) * copy
                figures.append(Figure(call.name, size, title, got[0], got[1], limit if call.limit and not backward else 0))
            print(f"sweep: {size} {title}: {len(figures)} figures", file=sys.stderr, flush=True)
    return figures, ours, theirs, sorted(tried - done - {name for name, *_ in ours + theirs})


# ---- tables ----


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def summary(figures, sizes, causes):
    yield ("| elements | figures | geometric mean | below 1x | without a cause | below 0.8x | below 0.5x | "
           "above 2x their bytes' limit | and 2x their arithmetic |")
    yield "|---|---|---|---|---|---|---|---|---|"
    for size in sizes:
        of = [f for f in figures if f.size == size]
        below = [sum(f.ratio < bar for f in of) for bar in (1, 0.8, 0.5)]
        bound = [f for f in of if f.limit and size > 8]
        beyond = f"{sum(f.beyond_bytes for f in bound)} of {len(bound)} | {sum(f.beyond_both for f in bound)}" if bound else "- | -"
        unknown = sum(f.cause(causes) == "?" for f in of)
        yield (f"| {size:,} | {len(of)} | {mean([f.ratio for f in of]):.2f}x | {below[0]} | {unknown} | {below[1]} | {below[2]} | "
               f"{beyond} |")


def table(figures, causes):
    """A line a call and size, by the worst of its ratios."""
    lines = {}
    for f in figures:
        lines.setdefault((f.name, f.size), {})[f.column] = f
    worst = lambda line: min(line.values(), key=lambda f: f.ratio)
    titles = [c[0] for c in COLUMNS]
    yield f"| call | elements | {' | '.join(titles)} | worst: PyTorch, Tenon | its bytes' limit / Tenon | cause |"
    yield "|---|---|" + "---|" * (len(titles) + 3)
    for (name, size), line in sorted(lines.items(), key=lambda item: worst(item[1]).ratio):
        w = worst(line)
        cells = " | ".join(f"{line[t].ratio:.2f}" if t in line else "" for t in titles)
        bytes_ = min((f.limit / f.ours for f in line.values() if f.limit), default=0)
        why = sorted({f.cause(causes) for f in line.values()} - {""})
        both = [f.column for f in line.values() if f.beyond_both]
        why += [f"above 2x its bytes and arithmetic: {', '.join(both)}"] if both else []
        yield (f"| `{name.replace('|', '&#124;')}` | {size:,} | {cells} | {w.column}: {time_text(w.theirs)}, {time_text(w.ours)} | "
               f"{f'{bytes_:.2f}' if bytes_ and size > 8 else ''} | {'; '.join(why)} |")


def document(figures, missing, alone, failed, o, head):
    yield "# Every operation beside PyTorch\n"
    where = f"--threads {o.threads}" if o.device == "cpu" else f"--device {o.device}"
    yield (f"Made by `scripts/bench sweep {where}`: {head}. PyTorch's time by Tenon's; t: x lies transposed; n: rows of 8; b: forward "
           "and torch.autograd.grad; out: with out=. Of ratios "
           + ", ".join(f"below {b} the median of {n} processes" for b, n in AGAIN)
           + ". The last number is the least of its forward figures: the time that its "
           f"bytes take memcpy or memset. Its arithmetic: the time of {CACHED:,} elements, which lie in the nearest cache.\n")
    causes = read_causes(pathlib.Path(__file__).with_name("sweep_causes.txt").read_text())
    yield from summary(figures, o.sizes, causes)
    yield ""
    yield from table(figures, causes)
    for title, what in (("What Tenon refuses and PyTorch does", missing), ("What PyTorch refuses and Tenon does", alone)):
        names = {}
        for name, _, column, error in what:
            names.setdefault((name, error), {})[column] = True
        if names:
            yield f"\n## {title}\n"
            yield from (f"- `{name}` ({', '.join(columns)}): {error}" for (name, error), columns in sorted(names.items()))
    if failed:
        yield "\nNeither can: " + ", ".join(f"`{name}`" for name in failed)


def write_figures(figures, path):
    with open(path, "w") as f:
        f.write("ratio\tname\tsize\tcolumn\ttenon\ttorch\tlimit\tcached\n")
        for g in sorted(figures, key=lambda g: g.ratio):
            f.write(f"{g.ratio:.3f}\t{g.name}\t{g.size}\t{g.column}\t{g.ours:.9f}\t{g.theirs:.9f}\t{g.limit:.9f}\t{g.cached:.9f}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("package", help="the folder that has tenon/")
    parser.add_argument("pattern", nargs="?", default="", help="a regular expression that rows' names have")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu", help="cpu, or cuda")
    parser.add_argument("--columns", type=lambda s: s.split(","), help="of the table: " + ",".join(c[0] for c in COLUMNS))
    parser.add_argument("--sizes", type=lambda s: [int(n) for n in s.split(",")], default=list(SIZES))
    parser.add_argument("--peer", help="an interpreter that has PyTorch; without: Tenon's times alone")
    parser.add_argument("--entries", required=True, help="python_entries.txt")
    parser.add_argument("--results", help="the folder that the table goes to, if every row was measured")
    parser.add_argument("--figures", help="where every figure goes")
    o = parser.parse_args()

    begin = time.monotonic()
    found, out, unknown = calls(pathlib.Path(o.entries).read_text())
    found = [c for c in found if re.search(o.pattern, c.name)]
    folder = os.path.dirname(os.path.abspath(__file__))
    env = dict(os.environ, PYTHONPATH=os.path.abspath(o.package))
    command = [f"{folder}/sweep_worker.py", str(o.threads), o.device]
    tenon = Worker([sys.executable, "-m", "tenon", *command], env)
    torch = Worker([o.peer, *command]) if o.peer else None
    figures, missing, alone, failed = sweep(found, o.sizes, o.columns, tenon, torch)
    figures = in_cache(again(figures, found, tenon, torch) if torch else figures, found, tenon)
    for worker in (tenon, torch):
        if worker:
            worker.end()
    where = f"{processor()}, {o.threads} threads" if o.device == "cpu" else tenon.hello["device"]
    head = (f"{where}; PyTorch {torch.hello['version'] if torch else '-'}; {len(found)} calls, "
            f"{len(figures)} figures, {time.monotonic() - begin:.0f} s")
    text = "\n".join(document(figures, missing, alone, failed, o, head)) + "\n"
    if o.figures:
        write_figures(figures, o.figures)
    if o.results and not o.pattern and torch and (o.device != "cpu" or (o.sizes == list(SIZES) and not o.columns)):
        name = f"sweep-{platform.machine().replace('_', '-')}-{o.threads}-threads.md"
        if o.device != "cpu":
            name = "sweep-" + re.sub("[^a-z0-9]+", "-", where.lower()) + ".md"
        pathlib.Path(o.results, name).write_text(text)
    print(text)
    if unknown:
        print("nobody says how to call:", ", ".join(unknown))
    if out:
        print("left out:", "; ".join(f"{name} ({why})" for name, why in out.items()))


if __name__ == "__main__":
    main()
