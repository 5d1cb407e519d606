"""The settings that the boards of one job share, and those that each has for itself.

A board keeps its entries, its patterns, its fields, its depth, its periods and its limits of pages, items and seconds.
All else is one per job: how fast hosts are asked, where items go, what becomes of duplicates, any setting by its name.
Boards may leave that out, or have to agree.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from p2pcrawl.model.boards.job_board import JobBoard
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.boards.board import Board
from p2pcrawl.spiders.boards.board_file import ENDING, PLACES, board_settings, read_board

OWN: Final = frozenset(
    {
        *("DEPTH_LIMIT", "REVISIT_INDEX", "REVISIT_DETAIL"),
        *("CLOSESPIDER_PAGECOUNT", "CLOSESPIDER_ITEMCOUNT", "CLOSESPIDER_TIMEOUT"),
    }
)
"""The settings that each board of a job has for itself."""
_KEYS: Final = {"FEEDS": "output", **{name: ".".join(place) for name, place in PLACES.items()}}
"""What a board calls settings that it shares."""


def own_settings(board: Board) -> dict[str, Any]:
    """Returns what a board says for itself alone, whatever others of its job say."""
    return {name: value for name, value in board_settings(board).items() if name in OWN}


def shared_settings(boards: Collection[Board]) -> dict[str, Any]:
    """Returns what several boards say for their job. Raises ConfigurationError where two contradict each other, naming
    both, and where two have one name.
    """
    said: dict[str, tuple[Any, str]] = {}
    names: set[str] = set()
    for board in boards:
        if board.name in names:
            raise ConfigurationError(f"two boards are called {board.name}: give one of them another `name`")
        names.add(board.name)
        for key, value in board_settings(board).items():
            if key in OWN:
                continue
            theirs, by = said.setdefault(key, (value, board.name))
            if theirs != value:
                raise ConfigurationError(
                    f"boards {by} and {board.name} contradict each other: {_KEYS.get(key, key)} is one per job, and "
                    f"they say {_told(theirs)} and {_told(value)}; let one of them leave it out, or crawl them apart"
                )
    together = {key: value for key, (value, _) in said.items()}
    settings = Settings().updated({key: value for key, value in together.items() if key != "FEEDS"})
    for board in boards:
        _check_own(board, settings)
    return together


def check_joins(board: Board, others: Iterable[Board], settings: Settings) -> None:
    """Raises ConfigurationError where a board says something else than what is in force in a job that it is to join,
    which has these ``others``.
    """
    _check_own(board, settings)
    outputs = [each.output for each in others if each.output]
    for key, value in board_settings(board).items():
        if key in OWN:
            continue
        if key == "FEEDS":
            if board.output not in outputs:
                raise ConfigurationError(
                    f"board {board.name}: output is one per job, and was chosen when it was submitted; leave it out"
                )
        elif (now := settings.get(key)) != Settings().updated({key: value}).get(key):
            raise ConfigurationError(
                f"board {board.name}: {_KEYS.get(key, key)} is one per job, which has {_told(now)} and not "
                f"{_told(value)}; leave it out (`p2pcrawl set` changes some settings of a job that runs)"
            )


def without_own(settings: Mapping[str, Any], name: str, file: str, code: str) -> dict[str, Any]:
    """Returns the settings of a job without those that its first board had for itself: they are not for the others.
    What was typed in their place stays. ``name``, ``file``, ``code``: of the job's spider.
    """
    first = first_board(name, file, code)
    if first is None:
        return dict(settings)
    own = Settings().updated(own_settings(read_board(first.text, file))).differences()
    return {key: value for key, value in settings.items() if key not in own or own[key] != value}


def first_board(name: str, file: str, code: str) -> JobBoard | None:
    """Returns the board that a job's spider is; None where it is none, or a job of several boards from the start."""
    if not file.endswith(ENDING):
        return None
    try:
        text = code or Path(file).read_text(encoding="utf-8-sig")
        if read_board(text, file).name != name:
            return None
    except (OSError, ValueError, ConfigurationError):
        return None
    return JobBoard(0, text)


def _check_own(board: Board, settings: Settings) -> None:
    try:
        settings.updated(own_settings(board))
    except ConfigurationError as error:
        raise ConfigurationError(f"board {board.name}: {error}") from None


def _told(value: Any) -> str:
    return ", ".join(value) if isinstance(value, dict) else str(value)
