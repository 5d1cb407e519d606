"""The boards of a job that are added, changed and taken away while it runs: which change counts when masters tell
different ones.

Each board has a version of its own, and the greatest one counts, as a whole; of two with the same version, made on both
sides of a partition, the one whose text is greater. So what masters have heard merges per board, in any order, to the
same everywhere. A version is the time of the change, so that of two people who change a board at once the later one
wins; it is greater than the one before it whatever the clocks say.
"""

from __future__ import annotations

from dataclasses import replace

from p2pcrawl.model.boards.job_board import (
    BOARDS_MAX,
    CLOSED_MAX,
    ENTRIES_MAX,
    NAME_MAX,
    TEXT_MAX,
    TEXTS_MAX,
    VERSION_MAX,
    Boards,
    JobBoard,
)
from p2pcrawl.model.errors import ConfigurationError


def merged_boards(one: Boards, other: Boards) -> dict[str, JobBoard]:
    """Returns what counts of two."""
    return {
        name: max((each[name] for each in (one, other) if name in each), key=_rank) for name in sorted({*one, *other})
    }


def with_board(now: Boards, name: str, board: JobBoard, now_ms: int) -> dict[str, JobBoard]:
    """Returns the boards with one of them as it is from now on. Raises ConfigurationError for more than a job has."""
    version = max(now_ms, now[name].version + 1 if name in now else 1)
    after = merged_boards(now, {name: replace(board, version=version, gone=board.gone[:ENTRIES_MAX])})
    check_boards(after)
    return after


def check_boards(boards: Boards) -> None:
    """Raises ConfigurationError for what no job can have."""
    if len(boards) > BOARDS_MAX:
        raise ConfigurationError(f"a job has at most {BOARDS_MAX} boards, those among them that were taken away")
    for name, board in boards.items():
        if not name or len(name) > NAME_MAX or not name.isprintable():
            raise ConfigurationError(
                f"{name!r:.120} is no name of a board: it has 1 to {NAME_MAX} printable characters"
            )
        if (
            len(board.text) > TEXT_MAX
            or len(board.gone) > ENTRIES_MAX
            or len(board.closed) > CLOSED_MAX
            or not 0 < board.version <= VERSION_MAX
        ):
            raise ConfigurationError(f"board {name} is more than can travel with a job")
    if sum(len(board.text.encode(errors="surrogatepass")) for board in boards.values()) > TEXTS_MAX:
        raise ConfigurationError(f"the boards of a job have at most {TEXTS_MAX >> 20} MB of text together")


def _rank(board: JobBoard) -> tuple[int, str, str, tuple[str, ...]]:
    # Of equals, what was taken away is.
    return board.version, board.closed, board.text, board.gone
