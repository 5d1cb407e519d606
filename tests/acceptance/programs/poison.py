"""A spider whose callback does harm on page number ``page``: ``-a how=kill | fork | hang | raise | none``."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from p2pcrawl import Response, Spider


class Poison(Spider):
    how = "none"
    page = "137"
    pids = "."
    """A folder in which a file is named after each child left behind."""

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
                time.sleep(1)
        (Path(self.pids) / str(child)).touch()
        os.kill(os.getpid(), signal.SIGKILL)
