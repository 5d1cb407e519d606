"""The dead letters of a job, sent again by all masters: each has those that it was refused."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Any, TypedDict

from msgspec.json import Decoder

from p2pcrawl.master.carrying import Carrying
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.overlay.peers import Peers

PATIENCE_S = 45.0
"""How long a master may take; one that takes longer goes on, and is told as one that did not answer."""


class _SinkSent(TypedDict):
    sink: str
    delivered: int
    left: int
    why: str
    away: bool


class _Sent(TypedDict):
    sinks: list[_SinkSent]


_SENT = Decoder(_Sent)


class Letters:
    """Sends dead letters again, here and everywhere."""

    def __init__(self, peers: Peers, carrying: Carrying) -> None:
        self._peers = peers
        self._carrying = carrying

    async def here(self, job: Job) -> dict[str, Any]:
        """Sends those of this master."""
        return {"sinks": [asdict(each) for each in await self._carrying.send_letters(job)]}

    async def everywhere(self, job: Job) -> dict[str, Any]:
        """Sends those of all masters; what came of it, by sink, and who did not answer."""
        others = [member.id for member in self._peers.others()]
        calls = (self._peers.query(n, "tell:letters-here", {"job": job.id}, _SENT, PATIENCE_S) for n in others)
        here, *answers = await asyncio.gather(self.here(job), *calls, return_exceptions=True)
        if isinstance(here, BaseException):
            raise here
        told = [here, *(each for each in answers if not isinstance(each, BaseException))]
        silent = [n for n, each in zip(others, answers, strict=True) if isinstance(each, BaseException)]
        return {"job": job.id, "name": job.spec.name, "sinks": _by_sink(told), "missing": silent}


def _by_sink(told: list[Any]) -> list[dict[str, Any]]:
    sums: dict[str, dict[str, Any]] = {}
    for each in (sink for answer in told for sink in answer["sinks"]):
        known = sums.setdefault(each["sink"], {**each, "delivered": 0, "left": 0})
        known["delivered"] += each["delivered"]
        known["left"] += each["left"]
        known["away"] = known["away"] or each["away"]
        known["why"] = known["why"] or each["why"]
    return list(sums.values())
