"""What tests counted is printed at the end, whichever process of pytest-xdist they ran in: record_property("count", text)."""


def pytest_terminal_summary(terminalreporter):
    reports = [r for several in terminalreporter.stats.values() for r in several if getattr(r, "when", "") == "call"]
    for report in reports:
        for name, value in getattr(report, "user_properties", ()):
            if name == "count":
                terminalreporter.write_line(f"count: {value}")
