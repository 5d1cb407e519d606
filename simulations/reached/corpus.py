"""The corpus: runs that were each the first to come to something; and the lines that none is to come to, with reasons.

Both are text files beside this one. The corpus has a seed of the swarm or a scenario in each line, with what it was the
first to reach; the other a pattern in each line, and behind ``--`` the reason. A pattern is of ``module:function: text
of the line``, with ``*`` for anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, NamedTuple

from .blows import Pair
from .protocol_lines import Line

CORPUS: Final = Path(__file__).with_name("corpus.txt")
NAMED: Final = Path(__file__).with_name("unreached.txt")
SHOWN_MAX: Final = 4
"""Functions, and pairs, of each seed that the corpus names."""


Origin = int | str
"""A seed of the swarm, or the name of a scenario."""


class First(NamedTuple):
    """The lines and pairs that a run was the first to reach."""

    of: Origin
    lines: Sequence[Line]
    pairs: Sequence[Pair]

    def __str__(self) -> str:
        places = list(dict.fromkeys(line.place for line in self.lines))
        pairs = [f"{kind}/{do}" for kind, do in self.pairs]
        told = [f"{len(self.lines)} lines", *_some(places), f"{len(pairs)} pairs", *_some(pairs)]
        return f"{self.of:<7} {', '.join(told)}"


class Named(NamedTuple):
    """Lines that no seed is to come to, and why."""

    pattern: str
    reason: str

    def names(self, line: Line) -> bool:
        """Tells whether a line is one of these."""
        return fnmatchcase(f"{line.place}: {line.text}", self.pattern)


def read_corpus(path: Path = CORPUS) -> list[Origin]:
    """Returns the seeds and scenarios of a corpus, in their order. Raises OSError."""
    firsts = (row.split(maxsplit=1)[0] for row in _rows(path))
    return [int(first) if first.isdecimal() else first for first in firsts]


def write_corpus(firsts: Iterable[First], path: Path = CORPUS) -> None:
    """Writes what was the first to reach something, in place of what was there. Raises OSError."""
    head = "# Seeds of the swarm, and scenarios, each with what it was the first to reach: coverage --keep"
    path.write_text("\n".join([head, *map(str, firsts), ""]), encoding="utf-8")


def read_named(path: Path = NAMED) -> list[Named]:
    """Returns the lines that are not to be reached. Raises ValueError for one without a reason, and OSError."""
    found = []
    for row in _rows(path):
        pattern, _, reason = (part.strip() for part in row.partition(" -- "))
        if not reason:
            raise ValueError(f"{path.name}: {pattern} has no reason")
        found.append(Named(pattern, reason))
    return found


def _rows(path: Path) -> list[str]:
    rows = (row.strip() for row in path.read_text(encoding="utf-8").splitlines())
    return [row for row in rows if row and not row.startswith("#")]


def _some(words: Sequence[str]) -> list[str]:
    shown = list(words[:SHOWN_MAX])
    if not shown:
        return []
    more = f" and {len(words) - len(shown)} more" if len(words) > len(shown) else ""
    return [f"({' '.join(shown)}{more})"]
