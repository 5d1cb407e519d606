"""The way to one other master: a few messages at once, and a rest after a failure that grows with each in a row."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

IN_FLIGHT_MAX = 4
"""Messages to one master at once."""


@dataclass(slots=True)
class Lane:
    """The pace of messages to one master; what waits for it is up to whoever derives from this. ``rest_first_s``,
    ``rest_max_s``: how long it rests after a first failure, and at most.
    """

    rest_first_s: float
    rest_max_s: float
    in_flight: int = 0
    resting: bool = False
    _rest_s: float = field(init=False)

    def __post_init__(self) -> None:
        self._rest_s = self.rest_first_s

    @property
    def open(self) -> bool:
        """True if one more message may be sent."""
        return self.in_flight < IN_FLIGHT_MAX and not self.resting

    def answered(self) -> None:
        """Takes in that the master is there: the next failure is a first one."""
        self._rest_s = self.rest_first_s

    def rest(self, then: Callable[[], None]) -> None:
        """Sends nothing for a while; calls ``then`` when that is over. No longer than that if it rests already."""
        if self.resting:
            return
        self.resting = True
        delay, self._rest_s = self._rest_s, min(self.rest_max_s, 2 * self._rest_s)

        def go_on() -> None:
            self.resting = False
            then()

        asyncio.get_running_loop().call_later(delay, go_on)
