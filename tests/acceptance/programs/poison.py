"""A spider whose callback does harm on page number ``page``: ``-a how=kill | fork | hang | raise | none``; or on whose
page a parser does not come back, which is made of Python (``loop``), or of C that holds the interpreter (``spin``)."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

from p2pcrawl import Response, Spider
from p2pcrawl.spiders.page import markup


class Poison(Spider):
    custom_settings = MappingProxyType({"ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8"})
    how = "none"
    page = "137"
    pids = "."
    """A folder in which a file is named after each child left behind."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        if self.how in ("loop", "spin"):
            parsed = markup.parsed

            def parsed_for_ever(body: bytes) -> Any:
                if b"Page %s:" % self.page.encode() in body:
                    _loop() if self.how == "loop" else _spin()
                return parsed(body)

            markup.parsed = parsed_for_ever

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        yield {"url": response.url, "title": response.title}
        if f"Page {self.page}:" in (response.title or ""):
            match self.how:
                case "kill":
                    os.kill(os.getpid(), signal.SIGKILL)
                case "fork":
                    self.leave_a_child_behind()
                case "hang":
                    time.sleep(3600)
                case "raise":
                    raise RuntimeError("this page is poison")
        yield response.follow_all()

    def leave_a_child_behind(self) -> None:
        """The child holds all that its parent had open, and outlives it."""
        child = os.fork()
        if not child:
            while True:
                signal.pause()
        (Path(self.pids) / str(child)).touch()
        os.kill(os.getpid(), signal.SIGKILL)


def _loop() -> None:
    while True:
        pass


def _spin() -> None:
    sum(range(10**15))
