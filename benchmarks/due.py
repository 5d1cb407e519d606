"""The cost of finding what is due among many known pages: ``python -m benchmarks.due``.

A frontier is filled with pages that are due evenly over a day, so that about as many are due each second whatever their
number is. Then virtual seconds pass: what is due is looked for, begun, and ended as unchanged with the next period, as
a master does it. Told is what a second costs in all, and what alone the look for what is due does.
"""

from __future__ import annotations

import argparse
import shutil
import sqlite3
import tempfile
import time
from pathlib import Path

from benchmarks.kit.measure import Claims
from p2pcrawl.core.bench.candidate import host_key
from p2pcrawl.frontier.database.schema import FILE
from p2pcrawl.frontier.records.batch import Batch, Ending, NewLink
from p2pcrawl.frontier.records.seen import SeenFilter
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.crawl.job import START_URL
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.crawl.record import Order, Phase
from p2pcrawl.model.page_past import PagePast
from p2pcrawl.wire.messages.past_form import packed_past

HOSTS = 5_000
STEP = 200_000
LOOKS = 500
"""As many as a master looks at at once."""
NOW = 1_800_000_000
ORDERS = {1: Order.PRIORITY}
PAST = packed_past(PagePast('"5f2b9323a1c4d7e8"', "Thu, 19 Nov 2026 10:00:00 GMT", bytes(8), asked=NOW, period=86_400))
LOOK_MS_MAX = 10.0


def fill(folder: Path, pages: int, per_s: int) -> None:
    """Makes a data folder with so many pages that are done, of which so many are due each second."""
    store = Store(folder)
    url = f"{START_URL}1"
    start = NewLink(Link(url, fingerprint(url, salt="job 1"), seed=True), 1, host_key(url), 0)
    store.add_job(1, "due", b"", start, Batch(orders=ORDERS))
    store.close()
    db = sqlite3.connect(folder / FILE)
    db.execute("PRAGMA synchronous=OFF")
    keys = [host_key(f"http://host-{number}.example/") for number in range(HOSTS)]
    for first in range(0, pages, STEP):
        rows = (
            (
                *(number * 2_654_435_761 % (1 << 62), number, keys[number % HOSTS], number % 4_096),
                *(NOW + (number * 7_919 % pages) // per_s, NOW + (number * 7_919 % pages) // per_s),
                *(f"http://host-{number % HOSTS}.example/section-{number % 97}/article-{number}.html", PAST),
            )
            for number in range(first, min(pages, first + STEP))
        )
        with db:
            db.executemany(
                "INSERT INTO record (job, hi, lo, host, bucket, due, turn, url, past, kind, priority, depth, seed,"
                " callback, parent, found, phase, attempts, losses, status, reason, size, ended, visit, told) VALUES"
                " (1, ?, ?, ?, ?, ?, ?, ?, ?, 'detail', 0, 1, 0, '', 1, 1, 3, 1, 0, 200, '', 9000, 1, 0, 0)",
                rows,
            )
    with db:
        db.execute("INSERT INTO tally VALUES (1, 'again', ?)", (pages,))
    db.close()


def second(store: Store, now: int) -> tuple[float, float, int]:
    """Passes a second; returns what finding took of the processor, and everything, and how many were due."""
    began_s = time.process_time()
    due = store.due_visits(1, now, LOOKS)
    found_s = time.process_time() - began_s
    visits = store.begin_visits(1, [visit.record for visit in due], [], ORDERS)
    ends = [
        Ending(candidate, Phase.DONE, 1, 0, "unchanged", 304, due=now + 86_400, past=candidate.past, keeps=True)
        for candidate in visits.candidates
    ]
    store.commit(Batch(orders=ORDERS, endings=ends))
    return found_s, time.process_time() - began_s, len(due)


def due(folder: Path, pages: int, per_s: int, seconds: int) -> Claims:
    """Measures so many seconds with so many known pages."""
    claims = Claims(f"due: {pages:,} known pages, {per_s} of them due in each second")
    fill(folder, pages, per_s)
    filter_ = SeenFilter()
    store = Store(folder, filter_=filter_)
    # It is built in the background after a start, which is none of this.
    filter_.complete = True
    second(store, NOW)
    told = [second(store, NOW + number) for number in range(1, seconds + 1)]
    store.close()
    found_ms, whole_ms = (1_000 * sum(each[of] for each in told) / seconds for of in (0, 1))
    visits = sum(each[2] for each in told)
    claims.claim("visits begun and ended", f"{visits:,}", visits == per_s * seconds, "all that were due")
    claims.claim("finding them, CPU ms per second", f"{found_ms:.2f}", found_ms < LOOK_MS_MAX, f"< {LOOK_MS_MAX}")
    claims.note("all of it, CPU ms per second", f"{whole_ms:.2f}")
    return claims


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--per-second", type=int, default=100)
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    code = 0
    for pages in options.pages:
        folder = Path(tempfile.mkdtemp(prefix="p2pcrawl-"))
        try:
            code |= due(folder, pages, options.per_second, options.seconds).print()
        finally:
            shutil.rmtree(folder)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
