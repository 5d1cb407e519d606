"""The sight of the demo's cluster: what one of its masters says of all, looked at again and again, and shown."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from p2pcrawl.cli.screen.terminal import Terminal
from p2pcrawl.cli.screen.words import counted
from p2pcrawl.client.remote import Remote, job_path
from p2pcrawl.model.errors import P2PCrawlError

LOOK_S = 0.4
LINE_S = 3.0
"""Between two lines of progress where there is no terminal to draw on."""
PACE_S = 5.0
PATIENCE_S = 120.0
_ALIVE = "alive"


class Sight:
    """Looks at the cluster while ``run`` runs."""

    def __init__(self, remote: Remote, job: int, terminal: Terminal) -> None:
        self._remote = remote
        self._job = job
        self._terminal = terminal
        self._begun = time.monotonic()
        self._paces: list[tuple[float, int]] = []
        self.status: dict[str, Any] = {}
        self.job: dict[str, Any] = {}

    async def run(self) -> None:
        """Looks and shows, for ever."""
        if self._terminal.live:
            self._terminal.begin("")
        looks = [self._look("status", "/v1/status"), self._look("job", job_path(self._job)), self._show()]
        try:
            await asyncio.gather(*looks)
        finally:
            self._terminal.end()

    async def until(self, seen: Callable[[], bool], what: str) -> float:
        """Waits until something is seen, and returns the seconds that it took. Raises P2PCrawlError when it is not seen
        at all.
        """
        begun = time.monotonic()
        while not seen():
            if time.monotonic() - begun > PATIENCE_S:
                raise P2PCrawlError(f"the demo waited {PATIENCE_S:.0f} s, in vain, until {what}")
            await asyncio.sleep(LOOK_S / 4)
        return time.monotonic() - begun

    def masters(self) -> list[dict[str, Any]]:
        """Returns the masters that live, as far as the asked one knows."""
        return [member for member in self.status.get("members", ()) if member["state"] == _ALIVE]

    def state_of(self, node: str) -> str:
        return next((str(m["state"]) for m in self.status.get("members", ()) if m["id"] == node), "unknown")

    def settled(self, masters: int) -> bool:
        """Tells whether so many masters live, agree who they are, and serve all buckets."""
        living = self.masters()
        moving = bool(self.status) and (self.status["copies"]["moving"] or self.status["here"]["syncing"])
        return len(living) == masters and len({member["view"] for member in living}) == 1 and not moving

    async def _look(self, name: str, path: str) -> None:
        while True:
            try:
                setattr(self, name, await asyncio.to_thread(self._remote.get, path))
            except P2PCrawlError as error:
                self._terminal.say(f"{error}")
                await asyncio.sleep(LINE_S)
            await asyncio.sleep(LOOK_S)

    async def _show(self) -> None:
        told_at = 0.0
        while True:
            await asyncio.sleep(LOOK_S)
            if not self.status or not self.job:
                continue
            if self._terminal.live:
                self._terminal.show(self._table())
            elif time.monotonic() - told_at >= LINE_S:
                told_at = time.monotonic()
                self._terminal.say(self._line())

    def _line(self) -> str:
        job = self.job
        silent = f", without what {counted(len(job['missing']), 'other')} had" if job["missing"] else ""
        return (
            f"{time.monotonic() - self._begun:.0f} s  {counted(job['pages'], 'page')} ({self._pace():,.0f}/s)"
            f"  queued {job['queued']:,}  leased {job['leased']:,}  of {counted(len(job['masters']), 'master')}{silent}"
        )

    def _table(self) -> Any:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        masters = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for column in ("master", "state", "share", "leased", "pages"):
            masters.add_column(column, justify="left" if column in ("master", "state") else "right")
        for member in self.status["members"]:
            load, alive = member["load"], member["state"] == _ALIVE
            figures = f"{member['share']:.0%}", f"{load.get('leased', 0):,}", f"{load.get('pages', 0):,}"
            style = "" if alive else "red"
            masters.add_row(member["id"][:8], member["state"], *(figures if alive else ("",) * 3), style=style)
        return Group(Text(self._line(), style="bold"), masters)

    def _pace(self) -> float:
        """Returns the pages of each of the last seconds."""
        now = time.monotonic()
        self._paces = [(at, count) for at, count in self._paces if now - at <= PACE_S] + [(now, self.job["pages"])]
        (since, before), (_, count) = self._paces[0], self._paces[-1]
        return max(0, count - before) / (now - since) if now > since else 0.0
