"""Several boards that are typed together, to be crawled in one job."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from p2pcrawl.model.boards.job_board import JobBoard
from p2pcrawl.model.crawl.job import SpiderRef
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.boards.board_file import ENDING, board_text, read_board
from p2pcrawl.spiders.boards.joint_spider import JointSpider, joined_class


def boards_together(targets: Sequence[str]) -> tuple[SpiderRef, type[JointSpider], dict[str, str]]:
    """Returns the spider of several boards' files, where it is called by the first of them, and the boards' texts by
    their names. Raises ConfigurationError, naming file and line, for what cannot be, and where boards contradict each
    other.
    """
    files = list(dict.fromkeys(str(Path(target.strip()).expanduser().absolute()) for target in targets))
    if others := [target for target in targets if not target.strip().endswith(ENDING)]:
        raise ConfigurationError(f"{others[0]} is no board: only boards (.toml files) go into one job together")
    texts = [board_text(file) for file in files]
    read = [read_board(text, file) for text, file in zip(texts, files, strict=True)]
    cls = joined_class(read, {board.name: JobBoard(1, text) for board, text in zip(read, texts, strict=True)})
    return SpiderRef(file=files[0]), cls, {board.name: text for board, text in zip(read, texts, strict=True)}
