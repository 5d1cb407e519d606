"""The mail of other masters, and what comes back from them, until the next turn of the cycle takes it in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from p2pcrawl.master.links.dispatch import Parcel
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.wire.messages.peer_messages import Row, Settled


class Arrival(NamedTuple):
    """Links of one job that another master found, and where it waits to hear of them."""

    job: int
    links: list[Link]
    answer: asyncio.Future[Settled]
    known: int
    """The masters that the other one knows of."""


class Mailbox:
    """Lines up what arrives. ``wake`` is called whenever there is something for the next turn."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self.arrivals: list[Arrival] = []
        self.returned: list[tuple[int, list[Parcel]]] = []
        self.adoptions: list[tuple[list[Row], asyncio.Future[None]]] = []

    @property
    def waiting(self) -> bool:
        """Tells whether there is something for the next turn."""
        return bool(self.arrivals or self.returned or self.adoptions)

    def arrive(self, job: int, links: list[Link], known: int = 0) -> asyncio.Future[Settled]:
        """Takes links that another master found, which knows of so many masters; answered when they are durable."""
        self._wake()
        answer: asyncio.Future[Settled] = asyncio.get_running_loop().create_future()
        self.arrivals.append(Arrival(job, links, answer, known))
        return answer

    def take_back(self, job: int, parcels: list[Parcel]) -> None:
        """Takes links on their way elsewhere that turn out to be ours."""
        self._wake()
        self.returned.append((job, parcels))

    def adopt(self, rows: list[Row]) -> asyncio.Future[None]:
        """Takes records of buckets that are ours; done when they are durable. LinkError when they are another's by
        then."""
        self._wake()
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.adoptions.append((rows, done))
        return done
