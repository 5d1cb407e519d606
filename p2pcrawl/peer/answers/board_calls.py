"""The calls about the boards of a job: which there are, and their changes while it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, TypedDict

from p2pcrawl.core.control import CANCELLED, FINISHED, INCOMPLETE, RUNNING
from p2pcrawl.master.board_changes.board_keeping import BoardKeeping
from p2pcrawl.master.boards.job_boards import KnownBoard, boards_of, counts_in
from p2pcrawl.master.cluster import Cluster
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.model.boards.job_board import FROM_START, NAME_MAX, REMOVED, TEXT_MAX, JobBoard
from p2pcrawl.model.errors import ConfigurationError, NotNow, NotThere
from p2pcrawl.peer.answers.counts import Counts
from p2pcrawl.spiders.boards.board import Board
from p2pcrawl.spiders.boards.board_file import ENDING, read_board
from p2pcrawl.spiders.boards.shared_settings import check_joins

IN_FORCE: Final = "in force"


class BoardTold(TypedDict):
    """A board of a job. ``state``: ``in force``, ``removed``, or the limit that it has reached."""

    name: str
    state: str
    entries: list[str]
    changed: float | None
    pages: int
    items: int


class BoardsAnswer(TypedDict):
    """The boards of a job, with what each has brought over all masters."""

    job: int
    name: str
    boards: list[BoardTold]


class BoardChanged(TypedDict):
    """A board of a job as it is from now on. ``was``: its state before; "" where there was none."""

    job: int
    name: str
    board: str
    state: str
    was: str
    entries: int
    gone: int
    missing: list[str]


class BoardCalls:
    """Answers them. ``counts``: of jobs, over all masters."""

    TOLD: Final = frozenset({"board-add", "board-change", "board-remove"})

    def __init__(self, cluster: Cluster, counts: Counts, keeping: BoardKeeping) -> None:
        self._cluster = cluster
        self._keeping = keeping
        self._counts = counts

    async def ask(self, job: Job) -> BoardsAnswer:
        """Lists the boards of a job."""
        counts = await self.brought(job)
        boards = [_board_told(known, counts.get(name, Counter())) for name, known in boards_of(job).items()]
        return BoardsAnswer(job=job.id, name=job.spec.name, boards=boards)

    async def brought(self, job: Job) -> dict[str, Counter[str]]:
        """Counts what each board of a job has brought, over all masters."""
        (told,) = await self._counts.of_jobs([job])
        return counts_in(told.get("stats", {}))

    async def tell(self, what: str, job: Job, arguments: Mapping[str, Any]) -> BoardChanged:
        """Adds, changes or takes away a board in the whole cluster. Raises ConfigurationError for one that cannot be,
        NotThere for one that there is not, NotNow where the job takes none.
        """
        _check_takes_boards(job)
        known = boards_of(job)
        if not known:
            raise ConfigurationError(f"job {job.id} has no boards: it crawls by code; boards go into a job of boards")
        if what == "board-remove":
            name = str(arguments.get("board", ""))
            there = _there(job, known, name)
            return await self._put(job, known, there.name, _closed(there), there.board)
        board, text = _read(arguments)
        other = known.get(board.name)
        if what == "board-add" and other is not None and not other.version.closed and other.version.text != text:
            raise NotNow(
                f"job {job.id} has a board {board.name} already: `p2pcrawl board change` puts this in its place"
            )
        if what == "board-change":
            _there(job, known, board.name)
        if other is not None and other.version.text == text and not other.version.closed:
            # Typed again, perhaps since the call was not answered.
            return await self._put(job, known, board.name, other.version, board)
        others = [each.board for each in known.values()]
        check_joins(board, others, job.settings)
        had = {*other.board.entries, *other.version.gone} if other is not None else set[str]()
        gone = tuple(sorted(had.difference(board.entries)))
        return await self._put(job, known, board.name, JobBoard(1, text, gone), board)

    async def _put(
        self, job: Job, known: Mapping[str, KnownBoard], name: str, version: JobBoard, board: Board
    ) -> BoardChanged:
        before = known.get(name)
        gone = set(version.gone).difference(before.version.gone if before is not None else ())
        await self._keeping.put(job, name, version)
        if not version.closed and job.state in (FINISHED, INCOMPLETE):
            # It has something to do again.
            self._cluster.master.lifecycle.steer(job, job.control.then(RUNNING))
            await self._cluster.master.handover.stored()
            await self._cluster.spread(job)
        return BoardChanged(
            job=job.id,
            name=job.spec.name,
            board=name,
            state=version.closed or IN_FORCE,
            was=_state(before) if before is not None else "",
            entries=0 if version.closed else len(board.entries),
            gone=len(gone),
            missing=sorted(member.id for member in self._cluster.peers.missing()),
        )


def _read(arguments: Mapping[str, Any]) -> tuple[Board, str]:
    file, text = arguments.get("file"), arguments.get("text")
    if not isinstance(file, str) or not isinstance(text, str) or len(text) > TEXT_MAX:
        raise ConfigurationError("name the board's file and give its text, of at most 1 MB: file, text")
    board = read_board(text, file if file.endswith(ENDING) else f"{file}{ENDING}")
    if len(board.name) > NAME_MAX or not board.name.isprintable():
        raise ConfigurationError(
            f"{board.name!r:.120} is no name of a board: it has 1 to {NAME_MAX} printable characters"
        )
    return board, text


def _there(job: Job, known: Mapping[str, KnownBoard], name: str) -> KnownBoard:
    if name not in known:
        raise NotThere(f"job {job.id} has no board {name!r:.120}; it has {', '.join(known)}")
    return known[name]


def _closed(known: KnownBoard) -> JobBoard:
    return JobBoard(1, known.version.text, known.version.gone, REMOVED)


def _state(known: KnownBoard) -> str:
    return known.version.closed or IN_FORCE


def _board_told(known: KnownBoard, counts: Counter[str]) -> BoardTold:
    version = known.version.version
    return BoardTold(
        name=known.name,
        state=_state(known),
        entries=list(known.board.entries),
        changed=version / 1_000 if version > FROM_START else None,
        pages=counts["pages"],
        items=counts["items"],
    )


def _check_takes_boards(job: Job) -> None:
    if job.state == CANCELLED:
        raise NotNow(f"cannot change a board of job {job.id}: it is cancelled, which is final")
    if job.closing or (job.state in (FINISHED, INCOMPLETE) and job.reason):
        why = job.closing or job.reason
        raise NotNow(f"cannot change a board of job {job.id}: it was closed by a limit of the whole job ({why})")
