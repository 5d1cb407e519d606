"""Overhears who asks whom for consent, and who agrees: each question and answer as it is made, and as it is heard.

They travel as datagrams of their own. The masters' code is led past here for the length of a run; nothing of it
changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from p2pcrawl.master.majority import mandate
from p2pcrawl.master.majority.mandate import Mandate
from p2pcrawl.model.cluster.consent import ConsentAnswer, ConsentQuestion
from p2pcrawl.model.errors import LinkError

from ..kernel.life import LIFE
from ..model.members.ballots import Ballots, Version, Voters
from ..model.members.consents import Answer, Consents, Question


class Electorates:
    """Tells by whom a master may count: by those that its disk names, or by what it is about to write there."""

    def __init__(self, ballots: Ballots, on_disk: Callable[[str], tuple[Version, Voters] | None]) -> None:
        self._ballots = ballots
        self._on_disk = on_disk

    def counts_by(self, master: str, version: Version, now_s: float) -> None:
        """Has a version judged by which a master says that it counts."""
        self._ballots.counts_by(master, version, now_s)

    def __call__(self, master: str, version: Version) -> Iterator[Voters]:
        roll = self._on_disk(master)
        if roll is not None:
            yield roll[1]
            yield from self._ballots.next_ones(*roll)
        if (decided := self._ballots.decided(version)) is not None:
            yield decided


@contextmanager
def consents_overheard(consents: Consents, names: Mapping[str, str]) -> Iterator[None]:
    """Lets a model hear of all questions for consent and their answers, for the block. ``names`` has the masters' by
    their ids.
    """
    here: Any = mandate
    real: Any = (here.encode_consent, Mandate._received)
    asked: list[tuple[str, Question]] = []
    """Whose question is being answered."""

    def encode_consent(message: ConsentQuestion | ConsentAnswer) -> bytes:
        life = LIFE.get()
        if life is not None and not life.dead and life.node.name in names.values():
            me = life.node.name
            if isinstance(message, ConsentQuestion):
                consents.asks(me, _question(message))
            elif asked:
                asker, question = asked[-1]
                consents.answers(me, asker, question, _answer(message))
        encoded: bytes = real[0](message)
        return encoded

    def received(self: Mandate, opened: Any, source: tuple[str, int]) -> None:
        life, sender = LIFE.get(), str(opened.sender)
        try:
            message = here.decode_consent(opened.payload)
        except LinkError:
            message = None
        if life is None or sender not in names or message is None:
            return real[1](self, opened, source)  # type: ignore[no-any-return]
        if isinstance(message, ConsentAnswer):
            consents.hears(life.node.name, sender, _answer(message))
            return real[1](self, opened, source)  # type: ignore[no-any-return]
        asked.append((names[sender], _question(message)))
        try:
            real[1](self, opened, source)
        finally:
            asked.pop()

    _put(encode_consent, received)
    try:
        yield
    finally:
        _put(*real)


def _put(encode_consent: Any, received: Any) -> None:
    for home, name, what in ((mandate, "encode_consent", encode_consent), (Mandate, "_received", received)):
        setattr(home, name, what)


def _question(message: ConsentQuestion) -> Question:
    return Question(message.number, message.view, _version(message), message.seat)


def _answer(message: ConsentAnswer) -> Answer:
    return Answer(message.number, message.agrees, _version(message), message.seat)


def _version(message: ConsentQuestion | ConsentAnswer) -> Version:
    founded, number = message.version
    return founded, number
