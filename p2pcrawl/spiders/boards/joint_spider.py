"""The spider of a job that has several boards, each of which reads its own pages.

A page is its board's whose entry it is, or on whose page it was found first. The callback of its request says so, and
that is known wherever the page is: in a queue, in a copy, at another master. Where a job began with one board, a page
without such a mark is that one's; else somebody has put it into the job, and it is that board's within whose domains it
is.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final

from p2pcrawl.model.boards.job_board import Boards, is_mark, mark_of
from p2pcrawl.model.crawl.request import Kind, Request
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.boards.board import Board
from p2pcrawl.spiders.boards.board_file import read_board
from p2pcrawl.spiders.boards.board_spider import BoardSpider, class_of_board, tallied
from p2pcrawl.spiders.boards.shared_settings import first_board, shared_settings
from p2pcrawl.spiders.callbacks import iterate
from p2pcrawl.spiders.extracting.wanted import in_domains
from p2pcrawl.spiders.items.item_json import is_item
from p2pcrawl.spiders.page.response import Response
from p2pcrawl.spiders.spider import Spider

FIELD: Final = "board"
"""Of the items: the name of their board."""
NAMES_SHOWN: Final = 3


class JointSpider(Spider):
    """Keeps to several boards at once."""

    boards: ClassVar[Mapping[str, type[BoardSpider]]] = {}
    """Those in force, by the marks of their pages."""
    ended: ClassVar[frozenset[str]] = frozenset()
    """The marks of those that were taken away, or are closed."""
    texts: ClassVar[Boards] = {}
    """As their files have them, where these were typed together."""
    gone: ClassVar[Mapping[str, frozenset[str]]] = {}
    """The entries that each had and has no more, by its mark."""

    def __init__(self, name: str | None = None, **arguments: Any) -> None:
        super().__init__(name, **arguments)
        self._parts = {mark: cls() for mark, cls in self.boards.items()}
        self.allowed_domains = sorted({domain for part in self._parts.values() for domain in part.allowed_domains})

    def __getattr__(self, name: str) -> Any:
        """Returns the callback of a board's pages, by their mark."""
        if is_mark(name) and name in self.__dict__.get("_parts", ()):
            return partial(self._read, name)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def start_requests(self) -> Iterator[Request]:
        for mark, part in self._parts.items():
            for request in part.start_requests():
                yield request.replace(callback=mark)

    def parse(self, response: Response, **cb_kwargs: Any) -> AsyncIterator[Any]:
        return self._read(self.mark_for(response.url), response)

    # -- before a page is asked for -----------------------------------------------------------

    def standing(self, callback: str, url: str, *, seed: bool) -> str:
        """Tells how it stands with the board of a page: ``gone`` where the page is not to be asked any more,
        ``unknown`` for a board of which this slave has not heard yet, else "".
        """
        if callback and not is_mark(callback):
            return ""
        mark = callback or self.mark_for(url)
        if mark in self.ended or (seed and url in self.gone.get(mark, ())):
            return "gone"
        return "" if mark in self._parts else "unknown" if callback else "gone"

    def mark_for(self, url: str) -> str:
        """Returns the mark of the board that a page without one is of."""
        if "" in self._parts or "" in self.ended:
            return ""
        within = (mark for mark, part in self._parts.items() if in_domains(url, part.allowed_domains))
        return next(within, next(iter(self._parts), ""))

    def period(self, callback: str, url: str, kind: str) -> float | str:
        """Returns the period after which a page of this kind is asked again; 0: never."""
        part = self._parts.get(callback or self.mark_for(url))
        if part is None:
            return 0.0
        revisit = part.board.revisit
        return revisit.articles if kind == Kind.DETAIL else revisit.navigation

    # -- pages --------------------------------------------------------------------------------

    def _read(self, mark: str, response: Response) -> AsyncIterator[Any]:
        return tallied(self, response, self._parts[mark].name, self._own(mark, response))

    async def _own(self, mark: str, response: Response) -> AsyncIterator[Any]:
        part = self._parts[mark]
        leads_on = not part.board.depth or response.depth < part.board.depth
        async for each in iterate(part.parse(response)):
            if isinstance(each, Request):
                if leads_on and self._is_its_own(part, each):
                    yield each.replace(callback=mark) if mark else each
            else:
                if is_item(each):
                    each.setdefault(FIELD, part.name)
                yield each

    def _is_its_own(self, part: BoardSpider, request: Request) -> bool:
        """Tells whether a link is the board's to follow. What leads out of all boards is left to be tallied as such."""
        url = request.url
        if request.meta.get("allow_offsite") or in_domains(url, part.allowed_domains):
            return True
        return not in_domains(url, self.allowed_domains)


def joint_class(name: str, boards: Boards, *, file: str = "", code: str = "") -> type[JointSpider]:
    """Makes the spider of the boards of a job. ``name``, ``file``, ``code``: of the job's spider, which may be a board
    that never changed. Raises ConfigurationError for a board that cannot be read.
    """
    first = first_board(name, file, code)
    whole = boards if first is None or name in boards else {name: first, **boards}
    marks = {each: "" if each == name else mark_of(each) for each in whole}
    parts = {
        marks[each]: class_of_board(read_named(each, board.text), each)
        for each, board in whole.items()
        if not board.closed
    }
    body = {
        "name": name,
        "boards": parts,
        "ended": frozenset(marks[each] for each, board in whole.items() if board.closed),
        "gone": {marks[each]: frozenset(board.gone) for each, board in whole.items() if board.gone},
        "start_urls": [url for part in parts.values() for url in part.start_urls],
        "__module__": JointSpider.__module__,
    }
    return type("JointSpiderOfJob", (JointSpider,), body)


def read_named(name: str, text: str) -> Board:
    """Reads a board of a job, which is called so there. Raises ConfigurationError."""
    board = read_board(text, f"{name}.toml")
    if board.name != name:
        raise ConfigurationError(f"the board {name} calls itself {board.name}")
    return board


def joined_class(boards: Sequence[Board], texts: Boards) -> type[JointSpider]:
    """Makes the spider of several boards that are to be crawled in one job, with the settings that they say together.
    Raises ConfigurationError where they contradict each other.
    """
    settings = shared_settings(boards)
    cls = joint_class(joined_name([board.name for board in boards]), texts)
    cls.custom_settings, cls.texts = settings, texts
    return cls


def joined_name(names: Sequence[str]) -> str:
    """Returns what a job of several boards is called."""
    more = f"+{len(names) - NAMES_SHOWN}" if len(names) > NAMES_SHOWN else ""
    return "+".join(names[:NAMES_SHOWN]) + more
