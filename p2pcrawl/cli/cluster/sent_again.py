"""The verb ``retry`` where it is not for a cluster's pages: items that destinations have refused are sent again, and
failed pages of a crawl of this machine are queued anew in its folder.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Any

from p2pcrawl.cli.screen.sinks import near
from p2pcrawl.cli.screen.terminal import Terminal, json_line
from p2pcrawl.cli.screen.words import counted
from p2pcrawl.client.remote import Remote, job_path
from p2pcrawl.crawler import new_event_loop
from p2pcrawl.master.jobs.redelivery import send_again
from p2pcrawl.master.taken_up import take_up_failed
from p2pcrawl.model.printable import on_one_line
from p2pcrawl.model.reason_choice import pages_named


def run_send_again(folder: Path, *, as_json: bool) -> int:
    """Sends the dead letters of a data folder again, tells what came of it, and returns the exit code."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        ends = runner.run(send_again(folder))
    return _tell({"sinks": [asdict(each) for each in ends]}, as_json=as_json)


def run_retry_in_folder(folder: Path, reason: str, *, as_json: bool) -> int:
    """Queues pages of a data folder anew, and tells how many."""
    retried = take_up_failed(folder, pages_named(reason))
    if as_json:
        print(json_line({"retried": retried, "data": str(folder)}))
    goes_on = "; the command of the crawl, given again, goes on with them" if retried else ""
    Terminal().say(f"{counted(retried, 'page')} queued anew{goes_on}")
    return 0


def run_send_again_in_cluster(called: str, peer: str | None, token_file: Path | None, *, as_json: bool) -> int:
    """Lets all masters send the dead letters of a job again, and tells what came of it."""
    remote = Remote.find(peer, token_file)
    answer = remote.post(job_path(remote.job(called), "retry"), {"dead_letters": True})
    code = _tell(answer, as_json=as_json)
    if answer["missing"]:
        names = ", ".join(node[:8] for node in answer["missing"])
        Terminal().say(f"{names} did not answer in time: what only that master has may still be a dead letter")
    return 1 if answer["missing"] else code


def _tell(answer: dict[str, Any], *, as_json: bool) -> int:
    if as_json:
        print(json_line(answer))
    terminal = Terminal()
    for each in answer["sinks"]:
        left = f", {each['left']:,} left ({on_one_line(each['why'])})" if each["left"] else ""
        terminal.say(f"{near(each['sink'])}: {counted(each['delivered'], 'item')} delivered{left}")
    if not answer["sinks"]:
        terminal.say("there are no dead letters")
    return 1 if any(each["left"] for each in answer["sinks"]) else 0
