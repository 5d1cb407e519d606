"""A path: one direction between two machines, and the law by which it is late or loses things."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from math import inf, log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .node import Node

_MASK = 0xFFFF_FFFF_FFFF_FFFF


@dataclass(frozen=True, slots=True)
class Law:
    """The behaviour of one direction between two machines. Fractions are of datagrams (or TCP segments)."""

    latency_s: float = 0.02
    """The least time from one to the other."""
    jitter_s: float = 0.005
    """The mean of the exponential time on top; it reorders datagrams that were sent within it."""
    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    """Fraction of datagrams that are held back for up to ``reorder_s``."""
    reorder_s: float = 0.5
    bytes_per_s: float | None = None
    """None: as wide as needed."""
    queue_s: float = 2.0
    """A datagram that would wait longer than this for a narrow path is dropped."""

    def __post_init__(self) -> None:
        for name in ("loss", "duplicate", "reorder"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be between 0 and 1")
        for name in ("latency_s", "jitter_s", "reorder_s", "queue_s"):
            if not 0 <= getattr(self, name) < inf:
                raise ValueError(f"{name} must be from 0, and finite")
        if self.bytes_per_s is not None and not 0 < self.bytes_per_s < inf:
            raise ValueError("bytes_per_s must be above 0, and finite")


LOOPBACK = Law(latency_s=0.00002, jitter_s=0.0)


class Dice:
    """Random numbers from 0 to 1 in a hundred bytes (splitmix64): every path has its own."""

    __slots__ = ("_state",)

    def __init__(self, *names: object) -> None:
        text = "/".join(map(str, names)).encode()
        self._state = int.from_bytes(blake2b(text, digest_size=8).digest(), "big")

    def roll(self) -> float:
        self._state = mixed = (self._state + 0x9E37_79B9_7F4A_7C15) & _MASK
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58_476D_1CE4_E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D0_49BB_1331_11EB) & _MASK
        return ((mixed ^ (mixed >> 31)) >> 11) * 1.1102230246251565e-16


class Hesitation:
    """The hesitation of one machine: of its calls to the disk, and of what it sends over connections, a few take long,
    and what is behind them waits. Datagrams go on. Its dice are its own.
    """

    __slots__ = ("_calls", "_segments", "_took", "longest_s", "share")

    def __init__(self, seed: object, name: str, share: float, longest_s: float) -> None:
        self.share = share
        """Of calls and of segments that take longer."""
        self.longest_s = longest_s
        """How much longer at most; half of them less than a seventh of it, and none less than a fiftieth."""
        self._calls = Dice(seed, name, "hesitates at its disk")
        self._segments = Dice(seed, name, "hesitates in sending")
        self._took: list[tuple[float, float]] = []
        """How much longer calls took, and when that was over, at the earliest."""

    def of_call_s(self, now: float) -> float:
        """Draws how much longer a call to the disk takes."""
        drawn_s = self._drawn_s(self._calls)
        if drawn_s:
            self._took.append((now + drawn_s, drawn_s))
        return drawn_s

    def lately_s(self, since: float) -> float:
        """Returns how much longer calls to the disk have taken in all that were not over at this moment."""
        return sum(took_s for until, took_s in reversed(self._took[-100:]) if until >= since)

    def of_segment_s(self) -> float:
        """Draws how much longer something takes that is sent."""
        return self._drawn_s(self._segments)

    def _drawn_s(self, dice: Dice) -> float:
        return self.longest_s * 0.02 ** dice.roll() if dice.roll() < self.share else 0.0


class Path:
    """One direction between two machines. Its dice are its own: traffic elsewhere changes nothing here."""

    __slots__ = ("_dice", "busy_until", "cut", "law", "source", "target")

    def __init__(self, seed: object, source: Node, target: Node, law: Law, cut: bool) -> None:
        self.source = source
        self.target = target
        self.law = law
        self.cut = cut
        self.busy_until = 0.0
        self._dice = Dice(seed, source.name, target.name)

    @property
    def closed(self) -> bool:
        """True if nothing gets through now: cut, or nobody there."""
        return self.cut or self.target.off

    def loses(self) -> bool:
        loss = self.law.loss
        return loss > 0 and self._dice.roll() < loss

    def delay(self) -> float:
        """Draws how long something takes that is small or has its turn."""
        law = self.law
        if law.jitter_s > 0:
            return law.latency_s - log(1.0 - self._dice.roll()) * law.jitter_s
        return law.latency_s

    def turn(self, now: float, size: int) -> float:
        """Returns when the last of ``size`` bytes has left, behind all that was sent before."""
        width = self.law.bytes_per_s
        if width is None:
            return now
        self.busy_until = max(now, self.busy_until) + size / width
        return self.busy_until

    def arrivals(self, now: float, size: int) -> tuple[float, ...]:
        """Draws when copies of a datagram sent now arrive: none, one or two."""
        law = self.law
        if self.cut or self.loses():
            return ()
        if law.bytes_per_s is not None and self.busy_until - now > law.queue_s:
            return ()
        left = self.turn(now, size)
        when = left + self.delay()
        if law.reorder > 0 and self._dice.roll() < law.reorder:
            when += self._dice.roll() * law.reorder_s
        if law.duplicate > 0 and self._dice.roll() < law.duplicate:
            return (when, left + self.delay())
        return (when,)
