"""Evidence of what jobs are asked for besides the pages of the web: the words of people on the boards of one, and what
has become of them; and the end of one that reads stored pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, Final, NamedTuple

from ..observe.folders import Record

BOARDS: Final = "boards"
"""The label of the job that has boards."""
READING: Final = "reading"
"""The label of the job that reads stored pages."""


class BoardWord(NamedTuple):
    """The word of a person on one board."""

    board: str
    host: str
    editions: frozenset[int]
    """The texts that may be in force by it: several, where several people spoke at once. None: it is taken away."""
    began_s: float
    """From when on it may hold."""
    held_s: float = inf
    """From when on it must, everywhere."""


class BoardListed(NamedTuple):
    """A board as a master tells of it."""

    state: str
    entries: tuple[str, ...]


class BoardsKept(NamedTuple):
    """The state of a job of boards in the end."""

    words: Sequence[BoardWord]
    """In the order in which they were answered, the boards of the beginning first."""
    lists: Mapping[str, Mapping[str, BoardListed]]
    """What each master says, by its name and that of the board."""
    states: Mapping[str, str]
    """Of the job, by the masters."""
    records: Mapping[str, Record]
    """The furthest of each URL."""
    items: Sequence[Mapping[str, Any]]
    unsafe: Sequence[str] = ()
    """The boards of which no disk had the new entry when somebody was told that they are changed."""
    rounds: int = 1
    """How often each page is visited."""


class Rereading(NamedTuple):
    """The end of a job that reads stored pages of the run's own."""

    pages: frozenset[str]
    """The pages of which the other job has items: its callbacks got them."""
    stored: frozenset[str]
    """Those of which the last answer was all along on a disk that nobody has lost."""
    states: Mapping[str, str]
    """By the masters."""
    records: Mapping[str, Record]
    """The furthest of each URL."""
    items: Sequence[Mapping[str, Any]]
    failed: Mapping[str, Mapping[str, int]]
    """How many pages have failed for which reasons, by the word of each master."""


def entry_of(host: str, board: str, edition: int) -> str:
    """Returns the entry that only this edition of a board has."""
    return f"http://{host}/file/{board}-{edition}"


def text_of_board(board: str, host: str, edition: int, period_s: float = 0.0) -> str:
    """Writes a board that reads all pages of one host, and says in each item which edition of it has read the page;
    with a period, after which each page is to be read again.
    """
    again = f"[revisit]\nnavigation = {period_s:g}\narticles = {period_s:g}\n" if period_s else ""
    return f"""\
name = "{board}"
entries = ["http://{host}/", "{entry_of(host, board, edition)}"]
[articles]
allow = ['/p/\\d+$']
follow = true
[follow]
allow = ['^http://{host}/$']
[fields]
title = "title::text"
edition = {{ value = {edition} }}
{again}"""
