"""The verb ``retry --data``: failed pages of a crawl of this machine, queued anew in its folder."""

from __future__ import annotations

from pathlib import Path

from p2pcrawl.cli.screen.terminal import Terminal, json_line
from p2pcrawl.cli.screen.words import counted
from p2pcrawl.master.jobs.taken_up import take_up_failed
from p2pcrawl.model.reason_choice import pages_named


def run_retry_in_folder(folder: Path, reason: str, *, as_json: bool) -> int:
    """Queues pages of a data folder anew, and tells how many."""
    retried = take_up_failed(folder, pages_named(reason))
    if as_json:
        print(json_line({"retried": retried, "data": str(folder)}))
    goes_on = "; the command of the crawl, given again, goes on with them" if retried else ""
    Terminal().say(f"{counted(retried, 'page')} queued anew{goes_on}")
    return 0
