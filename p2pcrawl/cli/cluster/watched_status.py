"""``status --watch``: the cluster again and again, until Ctrl-C."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, Protocol

from p2pcrawl.cli.cluster.views import status_words
from p2pcrawl.cli.screen.terminal import show, show_json
from p2pcrawl.client.remote import Remote
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.model.printable import on_one_line

_CLEAR = "\x1b[H\x1b[2J"


class AnsweringPeer(Protocol):
    """The interface of whoever answers for a peer."""

    def get(self, path: str) -> Any:
        """Asks a question. Raises P2PCrawlError when there is no answer."""


def run_watch(peer: str | None, token_file: Path | None, every_s: float, *, as_json: bool) -> NoReturn:
    """Prints the status of the cluster for ever; Ctrl-C ends it."""
    watch_status(Remote.find(peer, token_file), every_s, as_json=as_json)


def watch_status(
    peer: AnsweringPeer, every_s: float, *, as_json: bool, pause: Callable[[float], None] = time.sleep
) -> NoReturn:
    """Prints the status for ever: on a terminal in place, in a pipe one below the other, as JSON one on each line. That
    the peer does not answer for a while is said, and is no reason to end, unless it never has.
    """
    in_place, answered = sys.stdout.isatty() and not as_json, False
    while True:
        try:
            status = peer.get("/v1/status")
        except P2PCrawlError as error:
            if not answered:
                raise
            print(f"p2pcrawl: {on_one_line(str(error))}", file=sys.stderr, flush=True)
        else:
            _print_status(status, as_json=as_json, in_place=in_place, again=answered)
            answered = True
        pause(every_s)


def _print_status(status: dict[str, Any], *, as_json: bool, in_place: bool, again: bool) -> None:
    if as_json:
        show_json(status)
    else:
        if in_place:
            # Our own stream lets no such thing through, for what pages say is not to clear anybody's screen.
            sys.__stdout__.write(_CLEAR)  # type: ignore[union-attr]
        elif again:
            print()
        show(time.strftime("%H:%M:%S"))
        for line in status_words(status):
            show(line)
    sys.stdout.flush()
