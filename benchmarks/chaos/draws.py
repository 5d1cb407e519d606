"""A round as it is drawn: everything that is left to chance, from the campaign's seed and the round's number alone.

What a machine cannot do (no root, no ``ip``, no file systems of one's own) is drawn all the same and left out when it
is played, so a round is the same one everywhere as far as it goes.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

KILLS: Final = ("kill", "kill-group", "kill-slave", "stop", "stop-group", "stop-slave", "blackout", "leave", "join")
"""What can be done to processes on any machine."""
DISK_STRIKES: Final = {"folder": (), "tmpfs": ("full",), "ext4": ("full", "power", "power-all", "failing")}
NETWORK_STRIKES: Final = {"loopback": (), "namespaces": ("cut", "cut", "narrow", "lossy")}
SINK_STRIKES: Final = ("sink-away",)
LOSSES: Final = ("wipe", "bury")
"""What takes a disk: R-1 of them in a round, unless it is one of those that lose more."""
CRAWL_S = 55.0
"""The time that a crawl would last if nothing happened."""
FIRST_S, LAST_S = 6.0, 45.0
"""When strikes come, after the job was submitted."""


@dataclass(frozen=True, slots=True)
class Strike:
    """One fault: to whom, when after the submission, and how long till it is undone (0: by whoever heals all)."""

    at_s: float
    what: str
    who: tuple[int, ...]
    for_s: float
    keeps_identity: bool = False
    """Of a lost folder: the one who comes back has its name still."""

    def __str__(self) -> str:
        return f"{self.what} {','.join(map(str, self.who))} at {self.at_s:.0f} s for {self.for_s:.0f} s"


@dataclass(frozen=True, slots=True)
class DrawnRound:
    """The draws of a round."""

    seed: int
    number: int
    masters: int
    copies: int
    hosts: int
    pages: int
    delay_s: float
    disk: str
    network: str
    partition: str
    webhook: bool
    into_sqlite: bool
    loses_more: bool
    """R disks go at one instant: what is gone has to be told."""
    small: bool
    strikes: tuple[Strike, ...]

    def __str__(self) -> str:
        sinks = "file" + (", SQLite" if self.into_sqlite else "") + (", webhook" if self.webhook else "")
        return (
            f"{self.masters} masters, R={self.copies}, {self.disk} disks, {self.network}, {self.partition}, "
            f"{self.pages} pages on {self.hosts} hosts {self.delay_s:g} s apart, items to {sinks}"
        )


def draw_round(seed: int, number: int, *, small: bool = False) -> DrawnRound:
    """Draws a round; a ``small`` one is over in a minute."""
    dice = Random(f"{seed}/{number}/chaos")
    masters, copies = (3, 2) if small else (dice.choice((3, 3, 4, 5)), dice.choice((2, 2, 3)))
    hosts, delay_s = dice.randrange(14, 29), round(dice.uniform(0.8, 2.0), 2)
    crawl_s = 18.0 if small else CRAWL_S
    disk = dice.choice(("folder", "folder", "tmpfs", "ext4", "ext4"))
    network = "loopback" if small else dice.choice(("loopback", "loopback", "namespaces"))
    majority = network == "namespaces" and masters > 3 and dice.random() < 0.3
    loses_more = not small and dice.random() < 0.15
    webhook = dice.random() < 0.5
    kinds = (*KILLS, *DISK_STRIKES[disk] * 2, *NETWORK_STRIKES[network], *LOSSES, *LOSSES, *SINK_STRIKES * webhook)
    return DrawnRound(
        seed=seed,
        number=number,
        masters=masters,
        copies=copies,
        hosts=hosts,
        pages=int(hosts * crawl_s / (delay_s + 0.05)),
        delay_s=delay_s,
        disk=disk,
        network=network,
        partition="majority" if majority else "available",
        webhook=webhook,
        into_sqlite=dice.random() < 0.4,
        loses_more=loses_more,
        small=small,
        strikes=_strikes(dice, masters, copies, kinds, loses_more, small),
    )


def _strikes(
    dice: Random, masters: int, copies: int, kinds: tuple[str, ...], loses_more: bool, small: bool
) -> tuple[Strike, ...]:
    last_s, room = (12.0, copies - 1) if small else (LAST_S, copies - 1)
    drawn = []
    if loses_more:
        who = tuple(sorted(dice.sample(range(masters), copies)))
        room = 0
        drawn.append(Strike(dice.uniform(15.0, last_s), "wipe", who, 0.0, dice.random() < 0.5))
    for _ in range(2 if small else dice.randrange(4, 11)):
        what = dice.choice(kinds)
        at_s, for_s = dice.uniform(FIRST_S, last_s), dice.choice((1.0, 4.0, 8.0, 12.0, 20.0)) * dice.uniform(0.7, 1.3)
        if what in LOSSES:
            if not room:
                continue
            room -= 1
        drawn.append(Strike(at_s, what, _victims(dice, what, masters), for_s, dice.random() < 0.5))
    return tuple(sorted(drawn, key=lambda strike: strike.at_s))


def _victims(dice: Random, what: str, masters: int) -> tuple[int, ...]:
    match what:
        case "blackout" | "power-all":
            return tuple(range(masters))
        case "join" | "sink-away":
            return ()
        case "cut":
            return tuple(sorted(dice.sample(range(masters), dice.randrange(1, masters // 2 + 1))))
        case "kill" | "kill-group" | "stop" | "stop-group":
            return tuple(sorted(dice.sample(range(masters), dice.choice((1, 1, 1, 2)))))
        case _:
            return (dice.randrange(masters),)
