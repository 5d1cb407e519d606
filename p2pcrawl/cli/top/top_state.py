"""The state of ``top``: what is chosen and looked into, and what each key comes to. It neither draws nor asks."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from p2pcrawl.core.control import ENDS, PAUSE, PAUSED, RESUME


class Panel(StrEnum):
    """The tables of the screen, in their order. The values are the names of the lists in an overview."""

    MEMBERS = "members"
    JOBS = "jobs"
    HOSTS = "hosts"


KEYS_OF: Final = {Panel.MEMBERS: "id", Panel.JOBS: "job", Panel.HOSTS: "host"}
"""By which field a line is known, so that it stays chosen when others come before it."""
ORDER: Final = tuple(Panel)
PAGE: Final = 10


@dataclass(frozen=True, slots=True)
class WishedTurn:
    """A wish that a person has confirmed: ``verb`` is to be done to a job."""

    verb: str
    job: int


@dataclass(slots=True)
class TopState:
    """The choices of a person."""

    panel: Panel = Panel.JOBS
    chosen: dict[Panel, Any] = field(default_factory=dict)
    """Of each panel the line that is chosen, by its key."""
    looking: bool = False
    """Whether the chosen line is looked into."""
    helping: bool = False
    asked: WishedTurn | None = None
    """A turn that waits for a yes."""
    over: bool = False
    interrupted: bool = False
    message: str = ""

    def line(self, overview: dict[str, Any]) -> dict[str, Any] | None:
        """Returns the line of the panel that is chosen: the first one when that which was is gone."""
        lines = overview[self.panel]
        found = next((line for line in lines if line[KEYS_OF[self.panel]] == self.chosen.get(self.panel)), None)
        return found if found is not None or not lines else lines[0]

    def press(self, key: str, overview: dict[str, Any]) -> WishedTurn | None:
        """Takes a key. Returns what is to be done in the cluster, if anything."""
        self.message = ""
        if self.asked is not None:
            turn, self.asked = self.asked, None
            return turn if key in ("y", "Y") else None
        match key:
            case "q":
                self.over = True
            case "ctrl-c":
                self.over = self.interrupted = True
            case "h" | "?":
                self.helping = not self.helping
            case "escape" | "backspace":
                self.looking = self.helping = False
            case "enter":
                self.helping, self.looking = False, self.line(overview) is not None
            case "tab" | "right":
                self._turn_to(1)
            case "shift-tab" | "left":
                self._turn_to(-1)
            case "1" | "2" | "3":
                self.panel, self.looking = ORDER[int(key) - 1], False
            case "up" | "k":
                self._step(-1, overview)
            case "down" | "j":
                self._step(1, overview)
            case "page-up":
                self._step(-PAGE, overview)
            case "page-down" | " ":
                self._step(PAGE, overview)
            case "p":
                self._wish(overview)
        return None

    def _turn_to(self, by: int) -> None:
        self.panel, self.looking = ORDER[(ORDER.index(self.panel) + by) % len(ORDER)], False

    def _step(self, by: int, overview: dict[str, Any]) -> None:
        keys = [line[KEYS_OF[self.panel]] for line in overview[self.panel]]
        line = self.line(overview)
        if line is not None:
            place = keys.index(line[KEYS_OF[self.panel]])
            self.chosen[self.panel] = keys[min(len(keys) - 1, max(0, place + by))]

    def _wish(self, overview: dict[str, Any]) -> None:
        """Asks whether the chosen job is to pause, or to go on."""
        job = self.line(overview) if self.panel is Panel.JOBS else None
        if job is None:
            self.message = "p pauses a job, and lets it go on: choose one in the table of jobs"
        elif job["state"] in ENDS:
            self.message = f"job {job['job']} is {job['state']}"
        else:
            self.asked = WishedTurn(RESUME if job["state"] == PAUSED else PAUSE, job["job"])
