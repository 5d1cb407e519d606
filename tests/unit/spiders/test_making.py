"""Making components: by from_crawler, from_settings, or a call."""

from __future__ import annotations

from typing import Any, Self

import pytest

from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import NotConfigured
from p2pcrawl.spiders.hooks.crawl_handle import CrawlHandle
from p2pcrawl.spiders.hooks.making import make_component, make_spider
from p2pcrawl.spiders.loading.pipelines import Pipelines
from p2pcrawl.spiders.spider import Spider

HANDLE = CrawlHandle(Settings(), Spider)


class ByCrawler:
    def __init__(self, handle: Any) -> None:
        self.given = handle

    @classmethod
    def from_crawler(cls, crawler: Any) -> Self:
        return cls(crawler)


class BySettings:
    def __init__(self, settings: Any) -> None:
        self.given = settings

    @classmethod
    def from_settings(cls, settings: Any) -> Self:
        return cls(settings)


class ByCall:
    given = None


class Unwilling:
    @classmethod
    def from_crawler(cls, crawler: Any) -> Self:
        raise NotConfigured("no key")


class Silent:
    @classmethod
    def from_crawler(cls, crawler: Any) -> None: ...


@pytest.mark.parametrize(
    ("cls", "given"), [(ByCrawler, HANDLE), (BySettings, HANDLE.settings), (ByCall, None)], ids=lambda v: str(v)[:20]
)
def test_component_is_made_as_it_lets_itself_be_made(cls: type, given: Any) -> None:
    made = make_component(f"{__name__}.{cls.__name__}", HANDLE)

    assert type(made) is cls
    assert made.given is given


def test_component_that_makes_nothing_is_pointed_out() -> None:
    with pytest.raises(TypeError, match="from_crawler returned None"):
        make_component(Silent, HANDLE)


async def test_pipeline_that_is_not_configured_takes_no_part(caplog: pytest.LogCaptureFixture) -> None:
    pipelines = Pipelines.load({Unwilling: 1, ByCrawler: 2}, HANDLE)

    assert len(pipelines) == 1
    assert "Unwilling takes no part: no key" in caplog.text


def test_spider_knows_its_crawl_even_when_its_own_from_crawler_forgets_to_say() -> None:
    class Forgetful(Spider):
        @classmethod
        def from_crawler(cls, crawler: CrawlHandle, *args: Any, **kwargs: Any) -> Self:
            return cls(*args, **kwargs)

    handle = CrawlHandle(Settings(depth_limit=3), Forgetful)

    spider = make_spider(Forgetful, handle, {"tag": "humor"})

    assert (spider.crawler, spider.settings.depth_limit, spider.tag) == (handle, 3, "humor")
    assert handle.spider is spider
