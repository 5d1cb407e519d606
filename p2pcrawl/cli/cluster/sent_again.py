"""The verb ``retry --dead-letters``: sends again what destinations have refused."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path

from p2pcrawl.cli.screen.sinks import near
from p2pcrawl.cli.screen.terminal import Terminal, json_line
from p2pcrawl.cli.screen.words import counted
from p2pcrawl.crawler import new_event_loop
from p2pcrawl.master.jobs.redelivery import send_again
from p2pcrawl.model.printable import on_one_line


def run_send_again(folder: Path, *, as_json: bool) -> int:
    """Sends the dead letters of a data folder again, tells what came of it, and returns the exit code."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        ends = runner.run(send_again(folder))
    if as_json:
        print(json_line({"sinks": [asdict(each) for each in ends]}))
    terminal = Terminal()
    for each in ends:
        left = f", {each.left:,} left ({on_one_line(each.why)})" if each.left else ""
        terminal.say(f"{near(each.sink)}: {counted(each.delivered, 'item')} delivered{left}")
    return 1 if any(each.left for each in ends) else 0
