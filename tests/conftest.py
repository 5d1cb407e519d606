"""What all tests share."""

from __future__ import annotations

import os

import pytest

# No test trusts a public authority. Every process that imports aiohttp reads their list, which takes some 30 ms, and
# the tests start more than a thousand.
os.environ["SSL_CERT_FILE"] = os.devnull


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says aloud which real servers were not there, for without them a part of the promises goes untested."""
    skipped = [each for each in terminalreporter.stats.get("skipped", []) if "tests/servers/" in each.nodeid]
    for reason in sorted({str(each.longrepr[2]) for each in skipped if isinstance(each.longrepr, tuple)}):
        terminalreporter.write_line(f"NOT TESTED against a real server: {reason}", yellow=True)
