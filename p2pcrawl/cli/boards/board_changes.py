"""The verbs ``board add``, ``change``, ``remove`` and ``list``: boards of a job that is in the cluster."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from p2pcrawl.cli.screen.terminal import show, show_json
from p2pcrawl.cli.screen.words import counted
from p2pcrawl.client.remote import Remote, job_path
from p2pcrawl.model.printable import on_one_line
from p2pcrawl.spiders.boards.board_file import board_text, read_board


def run_board_put(
    method: str, called: str, file: str, peer: str | None, token_file: Path | None, *, as_json: bool
) -> int:
    """Adds a board to a job (``POST``), or changes it (``PUT``), and tells what it came to."""
    text = board_text(file)
    # Its mistakes are told with the file as it was typed.
    read_board(text, file)
    remote = Remote.find(peer, token_file)
    body = {"file": Path(file).name, "text": text}
    return _told(remote.change(method, job_path(remote.job(called), "boards"), body), as_json=as_json)


def run_board_remove(called: str, name: str, peer: str | None, token_file: Path | None, *, as_json: bool) -> int:
    """Takes a board away from a job, and tells what it was."""
    remote = Remote.find(peer, token_file)
    return _told(remote.change("DELETE", job_path(remote.job(called), "boards", name)), as_json=as_json)


def run_board_list(called: str, peer: str | None, token_file: Path | None, *, as_json: bool) -> int:
    """Lists the boards of a job."""
    remote = Remote.find(peer, token_file)
    answer = remote.get(job_path(remote.job(called), "boards"))
    if as_json:
        show_json(answer)
        return 0
    if not answer["boards"]:
        show(f"job {answer['job']} ({answer['name']}) has no boards: it crawls by code, or follows links")
    for board in answer["boards"]:
        show(on_one_line(_line(board)))
    return 0


def _line(board: dict[str, Any]) -> str:
    since = ""
    if board["changed"] is not None:
        since = time.strftime(" since %Y-%m-%d %H:%M:%S", time.localtime(board["changed"]))
    brought = f"{counted(board['pages'], 'page')}, {counted(board['items'], 'item')}"
    entries = counted(len(board["entries"]), "entry", "entries")
    return f"{board['name']}: {board['state']}{since}; {entries}; {brought}"


def _told(answer: dict[str, Any], *, as_json: bool) -> int:
    if as_json:
        show_json(answer)
    else:
        was = f"; it was {answer['was']}" if answer["was"] and answer["was"] != answer["state"] else ""
        entries = f", {counted(answer['entries'], 'entry', 'entries')} put in" if answer["entries"] else ""
        gone = f", {counted(answer['gone'], 'entry', 'entries')} not asked again" if answer["gone"] else ""
        job = f"job {answer['job']} ({answer['name']})"
        show(on_one_line(f"board {answer['board']} of {job} is {answer['state']}{entries}{gone}{was}"))
        if answer["was"] not in ("", answer["state"]) and answer["entries"]:
            again = f"p2pcrawl retry {answer['job']} --reason board-gone"
            print(f"p2pcrawl: what was dropped meanwhile is queued again by `{again}`", file=sys.stderr, flush=True)
    if answer["missing"]:
        names = ", ".join(node[:8] for node in answer["missing"])
        print(f"p2pcrawl: {names} will learn of it when back", file=sys.stderr, flush=True)
    return 0
