"""The fewest lines of a program that still disagree."""

import json
import os

from .generate import recorded
from .replay import replay


def trial(module, lines, device):
    """What replay says of the lines, or {"kind": "crash"}: in a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            answer = json.dumps(replay(module, recorded(lines), device))
        except BaseException as error:  # noqa: BLE001
            answer = json.dumps({"kind": "broken", "op": "", "want": repr(error), "got": ""})
        os.write(write, answer.encode())
        os._exit(0)
    os.close(write)
    text = b""
    while True:
        part = os.read(read, 65536)
        if not part:
            break
        text += part
    os.close(read)
    os.waitpid(child, 0)
    return json.loads(text) if text else {"kind": "crash", "op": lines[-1][0], "line": lines[-1][1], "want": "", "got": "crash"}


def same(a, b):
    return b is not None and a["kind"] == b["kind"] and (a["kind"] == "crash" or a["op"] == b["op"]) and not b.get("reason")


def reduced(module, lines, found, device):
    """(lines, what is found there)."""
    if found["kind"] != "crash":
        lines = lines[: found["step"] + 1]
    changed = True
    while changed:
        changed = False
        for i in reversed(range(len(lines))):
            fewer = lines[:i] + lines[i + 1 :]
            if not fewer or i == len(lines) - 1 and found["kind"] != "crash":
                continue
            again = trial(module, fewer, device)
            if same(found, again):
                lines, found, changed = fewer, again, True
    for i, (op, line) in enumerate(lines):
        for old, new in [(".requires_grad_()", ""), ("with torch.no_grad(): ", "")]:
            simpler = [*lines[:i], [op, line.replace(old, new)], *lines[i + 1 :]]
            if old in line and same(found, again := trial(module, simpler, device)):
                lines, found = simpler, again
    return lines, found
