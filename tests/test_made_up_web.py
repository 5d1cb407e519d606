"""The web that public spiders are run over: made up from what they select, without running them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from parsel import Selector

from benchmarks.public.made_up import page_for, paths_of
from benchmarks.public.wanted import Demands, demands_of

SPIDER = """
import scrapy
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import Rule

class Shop(scrapy.Spider):
    name = "shop"
    rules = [Rule(LinkExtractor(allow=r"/item/\\d+", restrict_css="ul.pages"))]

    def parse(self, response):
        for box in response.css("div.box"):
            yield {"name": box.css("h3 a::text").get(), "stars": box.xpath('./p[@class="rate"]/@data-stars').get()}
        for row in response.xpath("//table[@id='facts']//tr[4]"):
            yield response.follow(row.xpath("td[contains(@class, 'more')]/a/@href").get())
"""


@pytest.fixture
def demands(tmp_path: Path) -> Demands:
    file = tmp_path / "shop.py"
    file.write_text(SPIDER)
    return demands_of(file)


def page(demands: Demands, url: str = "http://shop.example/") -> Selector:
    return Selector(page_for(url, demands, paths_of(demands, [url])))


def test_page_has_what_the_spider_selects_in_the_places_where_it_looks(demands: Demands) -> None:
    made = page(demands)

    assert len(made.css("div.box h3 a::text")) > 1
    assert made.xpath('//div[@class="box"]/p[@class="rate"]/@data-stars')
    assert made.xpath("//table[@id='facts']//tr[4]/td[contains(@class, 'more')]/a/@href")


def test_links_are_such_as_rules_follow(demands: Demands) -> None:
    paths = paths_of(demands, ["http://shop.example/p/0.html"])

    assert [path for path in paths if re.fullmatch(r"/item/\d+", path)]
    assert "/p/0.html" not in paths, "where it starts is not linked"


def test_page_is_the_same_whenever_it_is_asked_for_and_another_at_another_url(demands: Demands) -> None:
    one, again, other = (page(demands, f"http://shop.example/{path}").get() for path in ("a", "a", "b"))

    assert one == again != other


def test_listing_that_counts_its_pages_ends(demands: Demands) -> None:
    assert page(demands, "http://shop.example/list?page=2").css("body *")
    assert not page(demands, "http://shop.example/list?page=99").css("body *")
