"""The cost of the dashboard: ``python -m benchmarks.page.looked_at --masters 10 --hosts 5000 --jobs 50``.

A real Chromium has the page of one peer open, and then not, by turns: first while the cluster crawls as fast as its
hosts let it, then while all of them wait, when nothing else stirs. Of the tasks that keep the page from answering a
click the longest is told, over all of its views.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.kit.measure import Claims
from benchmarks.kit.peers import PeerProcess
from benchmarks.masters.onlooker import SHARE_MAX, share_of, waiting_cluster
from benchmarks.page.browser import Browser, Tab, chromium

TURNS = 3
TASK_MS_MAX = 100.0


def looked_at(folder: Path, masters: int, hosts: int, jobs: int, seconds: float) -> Claims:
    """Measures the peer and the page."""
    claims = Claims(f"{masters} masters, {hosts} hosts, {jobs} jobs: the dashboard in a browser")
    program = chromium()
    if program is None:
        claims.note("not measured", "there is no Chromium here")
        return claims
    with (
        waiting_cluster(folder, masters, hosts, jobs) as (asked, rest),
        Browser(program, folder / "chromium") as browser,
    ):
        pages_per_s = asked.ask("overview")["health"]["pages_per_s"]
        shut, seen, tasks = _turns(browser, asked, seconds)
        claims.note("while it crawls, pages/s", f"{pages_per_s:.0f}")
        _tell(claims, "while it crawls", shut, seen)
        rest()
        shut, seen, more = _turns(browser, asked, seconds)
        _tell(claims, "while hosts wait", shut, seen)
        longest = max(tasks + more)
        claims.claim("longest task", f"{longest:.0f} ms", longest < TASK_MS_MAX, f"below {TASK_MS_MAX:g} ms")
    return claims


def _tell(claims: Claims, when: str, shut: list[float], seen: list[float]) -> None:
    cost = statistics.median(seen) - statistics.median(shut)
    told = ", ".join(f"{100 * each:.1f}" for each in [*shut, *seen])
    claims.note(f"{when}, % of a core shut and open", told)
    claims.claim(f"{when}, cost", f"{100 * cost:.2f} %", cost < SHARE_MAX, f"below {100 * SHARE_MAX:g} % of a core")


def _turns(browser: Browser, asked: PeerProcess, seconds: float) -> tuple[list[float], list[float], list[float]]:
    """Returns the shares of a core without and with the page, and how long its tasks took."""
    shut, seen, every = [], [], list[float]()
    for turn in range(TURNS):
        shut.append(share_of(asked, seconds))
        tab = browser.tab()
        with tab.tasks() as tasks:
            tab.go(f"http://{asked.api}/")
            tab.until("document.querySelector('#ring .arc') && document.querySelector('#hosts-now tbody tr')")
            seen.append(share_of(asked, seconds))
            if turn == TURNS - 1:
                _walk(tab)
        every += tasks
        tab.close()
    return shut, seen, every


def _walk(tab: Tab) -> None:
    """Goes through the views with the longest tables."""
    tab.run("location.hash = '#/hosts'")
    for shown in (100, 150, 200):
        tab.until(f"document.querySelectorAll('#hosts-all tbody tr').length >= {shown - 50}")
        tab.click("[data-view=hosts] .more")
    tab.run("location.hash = '#/jobs'")
    tab.until("document.querySelectorAll('#jobs-all tbody tr').length > 0")
    tab.click("#jobs-all tbody a")
    tab.until("document.querySelector('#job-hosts tbody tr')")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--masters", type=int, default=10)
    parser.add_argument("--hosts", type=int, default=5_000)
    parser.add_argument("--jobs", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=15.0, help="of each turn")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return looked_at(Path(folder), asked.masters, asked.hosts, asked.jobs, asked.seconds).print()


if __name__ == "__main__":
    sys.exit(main())
