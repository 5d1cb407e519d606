"""A slave runs the code that travelled, whatever lies on its machine under the same name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from p2pcrawl.fetch.connection.client import HttpClient
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.slave.stored.page_seeking import PageSeeking
from p2pcrawl.slave.work.doors import Doors
from p2pcrawl.slave.work.jobs import Jobs
from p2pcrawl.wire.messages.slave_messages import Bye, WireJob

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
