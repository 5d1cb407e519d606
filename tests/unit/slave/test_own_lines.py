"""LOG_FORMATTER: lines in the words of a project."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from p2pcrawl.exceptions import DropItem
from p2pcrawl.http import Request, Response
from p2pcrawl.logformatter import LogFormatter
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.utils.log import logformatter_adapter
from tests.unit.slave.test_run import Plain, answer_of, pages_of

OWN = "p2pcrawl.slave.hooks.own_lines"


class Polite(LogFormatter):
    def crawled(self, request: Any, response: Any, spider: Any) -> Any:
        return {
            "level": logging.INFO,
            "msg": "%(name)s had %(url)s",
            "args": {"name": spider.name, "url": response.url},
        }

    def dropped(self, item: Any, exception: BaseException, response: Any, spider: Any) -> Any:
        return {"level": logging.INFO, "msg": "no: %(why)s", "args": {"why": exception}}

    def scraped(self, item: Any, response: Any, spider: Any) -> Any:
        return None


class Broken(LogFormatter):
    def dropped(self, item: Any, exception: BaseException, response: Any, spider: Any) -> Any:
        raise KeyError("oh")


class Picky:
    def process_item(self, item: Any, spider: Any) -> Any:
        raise DropItem("dull")


async def told(formatter: str, caplog: pytest.LogCaptureFixture, **settings: Any) -> list[tuple[str, int, str]]:
    with caplog.at_level(logging.DEBUG):
        (page,) = await pages_of(Plain, answer_of(), own={"LOG_FORMATTER": formatter}, **settings)

    assert page.outcome.phase == Phase.DONE
    return caplog.record_tuples


async def test_pages_and_items_are_told_in_the_words_of_the_project(caplog: pytest.LogCaptureFixture) -> None:
    lines = await told(f"{__name__}.Polite", caplog, item_pipelines={f"{__name__}.Picky": 1})

    assert [line for line in lines if line[0] == OWN] == [
        (OWN, logging.INFO, "plain had http://a.example/"),
        (OWN, logging.INFO, "no: dull"),
    ]
    assert not [text for _, _, text in lines if "was dropped" in text or "Crawled" in text]


async def test_none_says_nothing_and_scrapys_own_class_leaves_the_lines_to_us(caplog: pytest.LogCaptureFixture) -> None:
    assert "Scraped" not in str(await told(f"{__name__}.Polite", caplog))
    assert not [line for line in await told("scrapy.logformatter.LogFormatter", caplog) if line[2].startswith("Scr")]


async def test_formatter_that_fails_costs_no_line(caplog: pytest.LogCaptureFixture) -> None:
    lines = [text for _, _, text in await told(f"{__name__}.Broken", caplog, item_pipelines={f"{__name__}.Picky": 1})]

    assert "LOG_FORMATTER failed at dropped" in lines
    assert any("was dropped: dull" in line for line in lines)


def test_line_of_a_page_has_the_flags_of_request_and_answer() -> None:
    request = Request("http://a.example/", flags=["mine"])

    said = LogFormatter().crawled(request, Response(request.url, flags=["cached"]), None)

    assert said is not None
    assert said["msg"] % said["args"] == "Crawled (200) <GET http://a.example/> ['mine'] (referer: None) ['cached']"


@pytest.mark.parametrize(
    ("wanted", "level"), [(None, logging.WARNING), ("info", logging.INFO), (10, logging.DEBUG), ("?", logging.WARNING)]
)
def test_item_is_dropped_at_the_level_that_its_exception_wants(wanted: Any, level: int) -> None:
    said = LogFormatter().dropped({}, DropItem("dull", log_level=wanted), None, None)

    assert said is not None and said["level"] == level


class Quietly:
    def process_item(self, item: Any, spider: Any) -> Any:
        raise DropItem("dull", item, log_level="INFO")


async def test_dropped_item_is_told_at_that_level_without_a_formatter_too(caplog: pytest.LogCaptureFixture) -> None:
    lines = await told("scrapy.logformatter.LogFormatter", caplog, item_pipelines={f"{__name__}.Quietly": 1})

    assert [level for _, level, text in lines if "was dropped" in text] == [logging.INFO]


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ({"msg": "90% done"}, "90% done"),
        ({"msg": "%(pct)d%% done", "args": {"pct": 90}}, "90% done"),
        ({"msg": "%d%% done", "args": (90,)}, "90% done"),
        ({"msg": "%(pct)d%% done", "pct": 90}, "90% done"),
        ({}, ""),
    ],
)
def test_line_is_filled_by_what_it_brings_and_left_alone_without(
    said: dict[str, Any], line: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        logging.getLogger("theirs").log(*logformatter_adapter(said))

    assert caplog.messages == [line]
