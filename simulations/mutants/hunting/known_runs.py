"""Known runs: what is kept on disk of runs of the product as it is, so that the next hunt need not make them again.

A run is the same as long as the code is, so it is kept under a digest of that. Of other code it is a hint: a seed that
came to a mutant's place before a small change mostly does after it, and is the one to try first. What checkers say of a
run they say anew when they, or the catalogue, have changed.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from hashlib import blake2b
from math import log2
from pathlib import Path
from typing import Any, Final

import p2pcrawl

from .hunt import Amiss

KEPT_MAX: Final = 8
"""States of the code whose runs are kept."""
_SIMULATIONS: Final = Path(__file__).parents[2]
_NO_SAY: Final = ("controls", "mutants", "verbs", "report", "shrink", "journey", "news", "reached", "parallel")
"""Rooms of the simulation that have no part in a run."""
_JUDGES: Final = ("checkers", "model")
_EDITS: Final = Path("mutants", "catalogue")


class KnownRuns:
    """The runs that are kept in a folder. What cannot be read or written there is made again, and that is all."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or _usual_folder()
        self._hints: dict[int, Amiss | None] = {}
        self._reached_in: Counter[str] = Counter()
        """How many of these come to each mutant's place."""

    def read(self, seed: int) -> Amiss | None:
        """Returns what came of a seed with this code, these checkers and this catalogue; None where that is unknown."""
        plain = _read(self._here / f"{seed}.json")
        return None if plain is None or plain["judged"] != self._judged else _amiss(plain)

    def keep(self, seed: int, amiss: Amiss) -> None:
        """Keeps what came of a seed."""
        if amiss.reached is None or not amiss.trace:
            return
        plain = {**amiss._asdict(), "judged": self._judged}
        try:
            if not self._here.exists():
                self._here.mkdir(parents=True)
                for old in self._states[KEPT_MAX:]:
                    shutil.rmtree(old, ignore_errors=True)
            draft = self._here / f"{seed}.{os.getpid()}"
            draft.write_text(json.dumps(plain), encoding="utf-8")
            draft.replace(self._here / f"{seed}.json")
        except OSError:
            return

    @property
    def seeds(self) -> list[int]:
        """The seeds of which is known what comes of them with this code."""
        numbers = [int(path.stem) for path in self._here.glob("*.json")]
        return sorted(seed for seed in numbers if self.read(seed) is not None)

    def best_first(self, seeds: Sequence[int], mutant: str) -> list[int]:
        """Returns seeds, those first that are known to come to a mutant's place, often and for little, and in which
        most happens that does not happen in others; and those last that are known not to.
        """
        known = {seed: self._hint(seed) for seed in seeds}
        return sorted(seeds, key=lambda seed: -self._worth(known[seed], mutant))

    def _worth(self, known: Amiss | None, mutant: str) -> float:
        if known is None or known.reached is None:
            return 0.0
        times = known.reached.get(mutant, 0)
        if not times:
            return -1.0
        # Where only what always happens comes to a place, a mutant of what is rare there changes nothing.
        rarity = sum(1.0 / self._reached_in[name] for name in known.reached)
        return rarity * (1.0 + log2(times)) / (1.0 + known.cpu_s)

    def _hint(self, seed: int) -> Amiss | None:
        """Returns what the newest code that is known of made of a seed."""
        if seed not in self._hints:
            plain = next(filter(None, (_read(state / f"{seed}.json") for state in self._states)), None)
            self._hints[seed] = known = None if plain is None else _amiss(plain)
            self._reached_in.update(known.reached or () if known is not None else ())
        return self._hints[seed]

    @cached_property
    def _here(self) -> Path:
        rooms = [each for each in _SIMULATIONS.iterdir() if each.name not in (*_NO_SAY, *_JUDGES)]
        return self._folder / _digest_of([Path(p2pcrawl.__file__).parent, *rooms])

    @cached_property
    def _judged(self) -> str:
        return _digest_of([_SIMULATIONS / each for each in (*_JUDGES, _EDITS)])

    @cached_property
    def _states(self) -> list[Path]:
        """The folders of all states of the code, this one first, then the newest."""
        found = [(path.stat().st_mtime, path) for path in self._folder.glob("*")]
        return [path for _, path in sorted(found, key=lambda each: (each[1] != self._here, -each[0]))]


def _usual_folder() -> Path:
    """Returns the place for what may be thrown away at any time."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "p2pcrawl" / "runs"


def _digest_of(places: Sequence[Path]) -> str:
    """Returns a digest of all modules in these folders."""
    digest = blake2b(digest_size=8)
    for path in sorted(path for place in places for path in (place.rglob("*.py") if place.is_dir() else [place])):
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()


def _read(path: Path) -> dict[str, Any] | None:
    try:
        plain: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return plain


def _amiss(plain: dict[str, Any]) -> Amiss:
    return Amiss(*(plain[name] for name in Amiss._fields))
