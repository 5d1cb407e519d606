"""Listens to how masters and slaves reckon how long their sessions last, call by call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from time import monotonic
from typing import Any, Final

from p2pcrawl.core.group.session_states import SessionEvent, SessionTerm
from p2pcrawl.slave.link.fence import Fence

from ...kernel.life import LIFE
from ...model.work.session_terms import MastersTerm, SessionTerms, SlavesTerm

ENDS: Final = frozenset({SessionEvent.OVERDUE, SessionEvent.ENDED, SessionEvent.CUT_OFF, SessionEvent.RUN_OUT})
"""After these nothing is said under a session any more. After a cut its slave may work until its time has run out."""


def here() -> str:
    """Returns the name of the node whose code runs; "" if that is none any more."""
    life = LIFE.get()
    return "" if life is None or life.dead else life.node.name


@contextmanager
def sessions_overheard(terms: SessionTerms) -> Iterator[None]:
    """Has a model told of all sessions, for the block."""
    masters: dict[int, tuple[SessionTerm, MastersTerm]] = {}
    slaves: dict[int, tuple[Fence, SlavesTerm]] = {}
    of_terms: Any = SessionTerm
    of_fences: Any = Fence
    real: dict[str, Callable[..., Any]] = {
        name: vars(SessionTerm)[name] for name in ("take", "greet", "renew", "overdue")
    }
    begun, sent, renewed, close, looks = (
        vars(Fence)[name] for name in ("__init__", "sent", "renewed", "close", "passed")
    )

    def of(term: SessionTerm) -> MastersTerm:
        if id(term) not in masters:
            # The session itself is kept, so that its number is no other's.
            masters[id(term)] = term, MastersTerm(term.void_s or inf)
        return masters[id(term)][1]

    def take(self: SessionTerm, event: SessionEvent) -> Any:
        known = of(self)
        if event is SessionEvent.RUN_OUT and here():
            terms.runs_out(here(), known, monotonic())
        known.is_cut = event is SessionEvent.CUT_OFF or (known.is_cut and event is SessionEvent.STOPPED)
        outputs = real["take"](self, event)
        if event in ENDS or (event is SessionEvent.GREETED and known.since_s >= 0.0):
            known.is_over = True
        return outputs

    def greet(self: SessionTerm, now: float) -> Any:
        outputs = real["greet"](self, now)
        if of(self).since_s < 0.0 and not of(self).is_over:
            of(self).since_s = now
        return outputs

    def renew(self: SessionTerm, now: float) -> bool:
        done: bool = real["renew"](self, now)
        terms.renews(here(), of(self), now, renewed=done)
        return done

    def overdue(self: SessionTerm, now: float) -> bool:
        is_over: bool = real["overdue"](self, now)
        terms.looks(here(), of(self), now, found_over=is_over)
        return is_over

    def begin(self: Fence, length_s: float, begun_at: float, on_passed: Callable[[], None]) -> None:
        begun(self, length_s, begun_at, on_passed)
        slaves[id(self)] = self, SlavesTerm(length_s, begun_at + length_s if length_s else inf)

    def send(self: Fence, beat: int) -> None:
        slaves[id(self)][1].sent[beat] = monotonic()
        sent(self, beat)

    def renew_fence(self: Fence, beat: int) -> None:
        renewed(self, beat)
        slaves[id(self)][1].answered(beat, monotonic())

    def close_fence(self: Fence) -> None:
        close(self)
        slaves[id(self)][1].close()

    def passed(self: Fence) -> bool:
        is_over: bool = looks.fget(self)
        if (name := here()) and id(self) in slaves:
            terms.goes_on(name, slaves[id(self)][1], monotonic(), passed=is_over)
        return is_over

    of_terms.take, of_terms.greet, of_terms.renew, of_terms.overdue = take, greet, renew, overdue
    of_fences.__init__, of_fences.sent, of_fences.renewed, of_fences.close = begin, send, renew_fence, close_fence
    of_fences.passed = property(passed)
    try:
        yield
    finally:
        for name, method in real.items():
            setattr(of_terms, name, method)
        of_fences.__init__, of_fences.sent, of_fences.renewed, of_fences.close = begun, sent, renewed, close
        of_fences.passed = looks
