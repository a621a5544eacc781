"""What tests counted is printed at the end, whichever process of pytest-xdist they ran in: record_property("count", text). Under
AddressSanitizer a fork waits until no other thread is in its allocator."""

import os
import time


def others_sleep():
    """GCC 12's AddressSanitizer does not hold its allocator's locks over a fork: a child that was made while another thread had
    one waits for it for ever. pytest's faulthandler_timeout ends such a thread with each test, and a thread that ends gives back what it
    kept. Asleep, a thread has none of these locks."""
    end = time.monotonic() + 1  # a thread that never sleeps is not waited for
    while time.monotonic() < end:
        states = set()
        for task in set(os.listdir("/proc/self/task")) - {str(os.getpid())}:
            try:
                with open(f"/proc/self/task/{task}/stat", encoding="utf-8") as f:
                    states.add(f.read().rpartition(")")[2].split()[0])
            except OSError:  # it has ended
                pass
        if states <= {"S"}:
            return


if "libasan" in os.environ.get("LD_PRELOAD", ""):
    os.register_at_fork(before=others_sleep)


def pytest_terminal_summary(terminalreporter):
    reports = [r for several in terminalreporter.stats.values() for r in several if getattr(r, "when", "") == "call"]
    for report in reports:
        for name, value in getattr(report, "user_properties", ()):
            if name == "count":
                terminalreporter.write_line(f"count: {value}")
