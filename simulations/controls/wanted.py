"""Controls of what a job is asked for besides its pages: its boards as people change them, and stored pages."""

from __future__ import annotations

from dataclasses import replace

from p2pcrawl.core import board_versions
from p2pcrawl.master.board_changes.board_keeping import BoardKeeping
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.model.boards.job_board import JobBoard
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.peer.stored.page_search import PageSearch
from p2pcrawl.spiders.boards.joint_spider import JointSpider
from p2pcrawl.wire.messages.slave_messages import PageTold

from ..play.options import Options
from .making.control import LONG_S, Control
from .making.swaps import swap

# -- removed-board-asked: what is queued of a board that was taken away is asked for ------------

_settle = BoardKeeping.settle


async def _settle_those_in_force(self: BoardKeeping, job: Job, name: str, *, anyway: bool = False) -> None:
    if not job.spec.boards[name].closed:
        await _settle(self, job, name, anyway=anyway)


def _never_gone(self: JointSpider, callback: str, url: str, *, seed: bool) -> str:
    return ""


# -- boards-by-text: of two versions of a board the one counts whose text is greater ------------


def _rank_of_text(board: JobBoard) -> tuple[int, str, str, tuple[str, ...]]:
    return 0, board.closed, board.text, board.gone


# -- stored-pages-asked-for: a job that is to read stored pages asks the web --------------------


def _reads_the_web(self: Settings) -> bool:
    return False


# -- stored-pages-given-up: a page whose machine is away is taken for one that nobody has -------


def _nobody_has_it(self: PageSearch, number: int) -> PageTold:
    return PageTold(number)


_BOARDS = Options(scenario="boards", masters=3, pages=60, hosts=8, seed=1, limit_s=LONG_S)
_STORED = Options(scenario="reextraction", masters=3, pages=60, hosts=8, seed=1, limit_s=LONG_S)

CONTROLS = {
    "removed-board-asked": Control(
        "what is queued of a board that was taken away is asked for",
        "boards",
        replace(_BOARDS, pages=120),
        (swap(BoardKeeping.settle, _settle_those_in_force), swap(JointSpider.standing, _never_gone)),
        says="were asked for when all had to know it",
    ),
    "boards-by-text": Control(
        "of two versions of a board the one counts whose text is greater",
        "boards",
        _BOARDS,
        (swap(board_versions._rank, _rank_of_text),),
    ),
    "stored-pages-asked-for": Control(
        "a job that is to read stored pages asks the web",
        "reextraction",
        _STORED,
        (swap(Settings.reads_stored_pages, _reads_the_web),),
        says="the web was asked",
    ),
    "stored-pages-given-up": Control(
        "a page that is stored on a machine that is away is taken for one that nobody has",
        "reextraction",
        replace(_STORED, seed=4),
        (swap(PageSearch._nowhere, _nobody_has_it),),
    ),
}
