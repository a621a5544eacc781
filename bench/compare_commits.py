"""One build of Tenon beside another, the rows of compare.py or compare_python.py: alternating, same threads, same run;
prints a Markdown table. `scripts/bench --against COMMIT` makes the two.

    python bench/compare_commits.py [--rounds 5] [--threads N] [--python] BEFORE AFTER [NAME...]

BEFORE and AFTER are build folders, with --python folders that have the folder tenon. Each round starts new processes, so
that no row is judged by where one process happens to lie, and asks one build after the other, in the other order than the
round before. Figures are medians over the rounds, the ratio is theirs. Exits with 0 whatever the figures are: a benchmark
is not a test.
"""
import argparse
import os
import statistics
import sys

import compare
import compare_python
from compare import Server, processor, time_text

SLOWER = 1.05  # above it a row is marked


class Programs:
    """The programs of one build; each is started when a row of it is asked for first."""

    def __init__(self, build, threads):
        self.build, self.threads, self.servers = os.path.abspath(build), threads, {}

    def start(self, program):
        path = f"{self.build}/bench/bench_{program}"
        return Server([path, "--serve"], dict(os.environ, TENON_NUM_THREADS=self.threads)) if os.path.exists(path) else None

    def seconds(self, row):
        """Of one call; None where this build does not have the row."""
        name, program = row[:2]
        if program not in self.servers:
            self.servers[program] = self.start(program)
        answer = self.servers[program] and self.servers[program].ask(name)
        return answer and answer[0]

    def end(self):
        for server in filter(None, self.servers.values()):
            server.process.stdin.close()
            server.process.wait()


class Package(Programs):
    """The Python package of one build, which runs this commit's rows: 'build' is its folder."""

    def start(self, _):
        peer = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peer_torch.py")
        server = Server([sys.executable, "-m", "tenon", peer, self.threads], dict(os.environ, PYTHONPATH=self.build))
        server.line()
        return server

    def seconds(self, row):
        if row[0] == "import":
            return compare_python.imported(sys.executable, "tenon", dict(os.environ, PYTHONPATH=self.build))[0]
        return super().seconds((row[0], "peer_torch"))


def measure(rows, make, builds, rounds):
    """{name: ([seconds before], [seconds after])}"""
    figures = {row[0]: ([], []) for row in rows}
    for n in range(rounds):
        sides = [make(build) for build in builds]
        for row in rows:
            for side in (0, 1) if n % 2 == 0 else (1, 0):
                figures[row[0]][side].append(sides[side].seconds(row))
        for side in sides:
            side.end()
        print(f"round {n + 1} of {rounds}", file=sys.stderr, flush=True)
    return figures


def print_row(title, before, after):
    """True if it is marked."""
    if None in before or None in after:
        print(f"| {title} | {'-' if None in before else time_text(statistics.median(before))} | "
              f"{'-' if None in after else time_text(statistics.median(after))} | - | |")
        return False
    one, other = statistics.median(before), statistics.median(after)
    ratio = other / one
    print(f"| {title} | {time_text(one)} | {time_text(other)} | {ratio:.3f} |{' SLOWER' * (ratio > SLOWER)} |")
    return ratio > SLOWER


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("names", nargs="*", help="rows to measure; all of them if none is named")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--python", action="store_true", help="the Python package's rows")
    o = parser.parse_args()

    make = Package if o.python else Programs
    rows = compare_python.ROWS + [("import", "import")] if o.python else compare.ROWS
    rows = [row for row in rows if not o.names or any(n in row[0] for n in o.names)]
    if not rows:
        sys.exit(f"compare_commits.py: no row's name contains any of: {' '.join(o.names)}")
    figures = measure(rows, lambda build: make(build, str(o.threads)), (o.before, o.after), o.rounds)
    print(f"{processor()}, {o.threads} threads; {o.rounds} rounds, alternating, medians\n")
    print("| work | before | after | after / before | |\n|---|---|---|---|---|")
    titles = {row[0]: row[1 if o.python else 2] for row in rows}
    marked = [name for name, sides in figures.items() if print_row(titles[name], *sides)]
    print(f"\n{len(marked)} of {len(rows)} rows slower by more than {SLOWER - 1:.0%}{': ' * bool(marked)}{', '.join(marked)}")


if __name__ == "__main__":
    main()
