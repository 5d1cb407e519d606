"""A slave runs the code that travelled, whatever lies on its machine under the same name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from msgspec import structs

from p2pcrawl.fetch.connection.client import HttpClient
from p2pcrawl.model.boards.job_board import REMOVED, JobBoard, mark_of
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.slave.boards.board_pages import unasked_end
from p2pcrawl.slave.stored.page_seeking import PageSeeking
from p2pcrawl.slave.work.doors import Doors
from p2pcrawl.slave.work.jobs import Jobs
from p2pcrawl.spiders.boards.board_spider import BoardSpider
from p2pcrawl.spiders.boards.joint_spider import JointSpider, joint_class
from p2pcrawl.wire.messages.slave_messages import Bye, Task, WireBoard, WireJob

CODE = """
from p2pcrawl import Spider

class Shop(Spider):
    name = "shop"
    whose = {whose!r}
"""


@pytest.fixture(autouse=True)
def same_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))


async def whose(specs: list[WireJob]) -> list[str]:
    failures: list[Bye] = []
    jobs = Jobs({}, HttpClient, failures.append, Doors(), seeking=PageSeeking(lambda question: None))
    try:
        for spec in specs:
            jobs.open(spec)
        return [(await jobs.run_of(spec.id)).spider.whose for spec in specs]  # type: ignore[attr-defined]
    finally:
        await jobs.close()


def spec_of(number: int, file: str, whose: str) -> WireJob:
    code = CODE.format(whose=whose)
    return WireJob(number, "shop", file, "", "Shop", [], {}, {}, [], code)


async def test_code_that_travelled_wins_over_a_file_at_the_masters_path(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(CODE.format(whose="planted"))

    found = await whose([spec_of(1, str(tmp_path / "shop.py"), "travelled, ü")])

    assert found == ["travelled, ü"]


async def test_code_that_travelled_wins_over_a_file_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop.py").write_text(CODE.format(whose="planted"))
    monkeypatch.chdir(tmp_path)

    found = await whose([spec_of(1, "shop.py", "travelled")])

    assert found == ["travelled"]


async def test_two_jobs_of_one_name_have_each_its_own_code(tmp_path: Path) -> None:
    file = str(tmp_path / "shop.py")

    found = await whose([spec_of(1, file, "first"), spec_of(2, file, "second"), spec_of(3, file, "first")])

    assert found == ["first", "second", "first"]


@pytest.mark.parametrize("error", ["SystemExit(3)", "asyncio.CancelledError()", "OSError('no database')"])
async def test_pipeline_that_cannot_be_opened_is_told_whatever_it_raises(tmp_path: Path, error: str) -> None:
    (tmp_path / "pipe.py").write_text(
        f"import asyncio\nclass Pipe:\n    def open_spider(self, spider):\n        raise {error}\n"
    )
    failures: list[Bye] = []
    jobs = Jobs({}, HttpClient, failures.append, Doors(), seeking=PageSeeking(lambda question: None))
    settings = {"item_pipelines": {f"{tmp_path / 'pipe.py'}:Pipe": 1}}

    try:
        jobs.open(WireJob(1, "shop", "shop.py", "", "Shop", [], {}, settings, [], CODE.format(whose="")))
        with pytest.raises(P2PCrawlError):
            await jobs.run_of(1)
    finally:
        await jobs.close()

    (bye,) = failures
    assert error.partition("(")[0].removeprefix("asyncio.") in bye.reason


# -- boards ---------------------------------------------------------------------------------------

BOARD = 'entries = ["https://press.example/"]\n[articles]\nallow = ["{allow}"]\n'


async def test_job_whose_boards_have_changed_is_read_by_the_new_ones_from_then_on() -> None:
    jobs = Jobs({}, HttpClient, [].append, Doors(), seeking=PageSeeking(lambda question: None))
    code, wine = BOARD.format(allow="/2026"), BOARD.replace("press", "wine").format(allow="/bottle")
    spec = WireJob(1, "press", "press.toml", "", "", [], {}, {}, [], code)
    try:
        jobs.open(spec)
        before = await jobs.run_of(1)
        # What a slave has already does not travel again.
        jobs.open(structs.replace(spec, code="", boards={"wine": WireBoard(5, wine)}))
        joined = await jobs.run_of(1)
        jobs.open(structs.replace(spec, code="", boards={"wine": WireBoard(5, wine)}, opened=["10.0.0.1"]))
        same = await jobs.run_of(1)
    finally:
        await jobs.close()

    assert isinstance(before.spider, BoardSpider)
    assert isinstance(joined.spider, JointSpider)
    assert [request.url for request in joined.spider.start_requests()] == [
        "https://press.example/",
        "https://wine.example/",
    ]
    assert same is joined


async def test_page_of_a_board_of_which_a_slave_has_not_heard_waits_and_one_of_a_board_that_is_gone_is_dropped() -> (
    None
):
    alone = BoardSpider.__new__(BoardSpider)
    joint = joint_class("press", {"wine": JobBoard(5, BOARD.format(allow="/"), closed=REMOVED)})()
    link = Link("https://wine.example/", bytes(16), callback=mark_of("wine"))
    task = Task(1, 1, 1, link, 1)

    waiting, dropped = unasked_end(alone, task), unasked_end(joint, task)

    assert waiting is not None
    assert dropped is not None
    assert (waiting.phase, waiting.reason, waiting.retry_in_s) == (Phase.QUEUED, "board-unknown", 2.0)
    assert (dropped.phase, dropped.reason) == (Phase.DROPPED, "board-gone")
    assert unasked_end(alone, Task(1, 1, 1, link._replace(callback="parse_item"), 1)) is None
