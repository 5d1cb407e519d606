"""The spider that keeps to a board."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.model.crawl.request import Kind, Request
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.boards.board_spider import BoardSpider, board_class
from p2pcrawl.spiders.callbacks import iterate
from p2pcrawl.spiders.loading.plain import Links
from p2pcrawl.spiders.page.answer_kinds import HtmlResponse, JsonResponse, XmlResponse

SENTENCE = "The ferry to the northern islands leaves at six, whatever the weather may be. "
FRONT = """<a href="/2026/one">1</a><a href="/section/a">a</a><a href="/login">in</a>
<a href="//else.example/2026/x">x</a>
<a href="https://out.example/go?u=https%3A%2F%2Fpress.example%2F2026%2Ftwo">2</a><a href="https://t.co/abc">?</a>"""
ARTICLE = f"""<html><head><script type="application/ld+json">{{"@type": "NewsArticle", "wordCount": 9}}</script></head>
<body><article><h1> Ferries  leave </h1><b>1.234,50</b><i class="tag">a</i><i class="tag">b</i><p>{SENTENCE * 9}</p>
<a href="/2026/three">3</a></article></body></html>"""


def spider_of(tmp_path: Path, text: str) -> BoardSpider:
    path = tmp_path / "press.toml"
    path.write_text('entries = ["https://press.example/"]\n' + text)
    return board_class(str(path))()


def page(body: str, url: str = "https://press.example/") -> HtmlResponse:
    return HtmlResponse(url, body=body.encode(), headers={"Content-Type": "text/html; charset=utf-8"})


async def parsed(spider: BoardSpider | Links, response: Any) -> tuple[list[Request], list[dict[str, Any]]]:
    found = [each async for each in iterate(spider.parse(response))]
    return [each for each in found if isinstance(each, Request)], [each for each in found if isinstance(each, dict)]


async def test_navigation_page_leads_to_articles_and_to_what_is_followed(tmp_path: Path) -> None:
    spider = spider_of(tmp_path, "[articles]\nallow = ['/2026/']\n[follow]\nallow = ['/section/']")

    requests, items = await parsed(spider, page(FRONT))

    assert [(each.url, each.kind) for each in requests if "press" in each.url] == [
        ("https://press.example/2026/one", Kind.DETAIL),
        ("https://press.example/section/a", Kind.INDEX),
    ]
    assert items == []


def test_domains_are_hosts_as_urls_have_them(tmp_path: Path) -> None:
    spider = spider_of(tmp_path, 'domains = ["Press.example", "münchen.example"]\n')

    assert spider.allowed_domains == ["press.example", "xn--mnchen-3ya.example"]
    assert spider.taken_for("https://xn--mnchen-3ya.example/").by != "domain"


async def test_jump_links_are_resolved_before_they_are_chosen(tmp_path: Path) -> None:
    spider = spider_of(tmp_path, 'jumps = ["out.example/go?u", "t.co"]\n[articles]\nallow = ["press.example/2026/"]')

    requests, _ = await parsed(spider, page(FRONT))

    assert "https://press.example/2026/two" in [each.url for each in requests if each.kind is Kind.DETAIL]
    (hidden,) = [each for each in requests if each.url == "https://t.co/abc"]
    assert hidden.meta["allow_offsite"] is True


async def test_page_that_a_jump_led_elsewhere_is_left_alone(tmp_path: Path) -> None:
    spider = spider_of(tmp_path, 'extract = "article"\njumps = ["t.co"]')

    assert await parsed(spider, page(ARTICLE, "https://else.example/2026/x")) == ([], [])


async def test_article_makes_an_item_of_its_fields_and_is_not_followed(tmp_path: Path) -> None:
    spider = spider_of(
        tmp_path,
        """extract = "article"
[articles]
allow = ['/2026/']
[fields]
headline = "h1::text"
price = { xpath = "//b/text()", process = ["float"] }
tags = { css = ".tag::text", many = true, process = ["upper"] }
all = { css = ".tag::text", join = "+" }
words = { jmespath = "[0].wordCount", of = "json-ld" }
first = { css = "p::text", re = "^The (\\\\w+)" }
none = { css = ".none", default = "-" }
source = { value = "press" }
""",
    )

    requests, (item,) = await parsed(spider, page(ARTICLE, "https://press.example/2026/one"))

    assert requests == []
    assert item.pop("text").count("northern") == 9
    assert item == {
        "url": "https://press.example/2026/one",
        "title": "Ferries leave",
        "date": "2026-01-01",
        "author": None,
        "headline": "Ferries leave",
        "price": 1234.5,
        "tags": ["A", "B"],
        "all": "a+b",
        "words": 9,
        "first": "ferry",
        "none": "-",
        "source": "press",
    }


async def test_article_without_a_field_that_is_required_makes_no_item(tmp_path: Path) -> None:
    spider = spider_of(tmp_path, "[articles]\nallow = ['/2026/']\n[fields]\na = { css = '.none', required = true }")

    assert await parsed(spider, page(ARTICLE, "https://press.example/2026/one")) == ([], [])


async def test_links_of_articles_are_followed_where_the_board_says_so(tmp_path: Path) -> None:
    spider = spider_of(tmp_path, "[articles]\nallow = ['/2026/']\nfollow = true\n[fields]\na = 'h1'")

    requests, items = await parsed(spider, page(ARTICLE, "https://press.example/2026/one"))

    assert [each.url for each in requests] == ["https://press.example/2026/three"] and len(items) == 1


async def test_without_patterns_of_articles_each_page_that_is_followed_makes_an_item(tmp_path: Path) -> None:
    spider = spider_of(tmp_path, "[fields]\na = 'h1'")

    requests, items = await parsed(spider, page(ARTICLE, "https://press.example/2026/one"))

    assert [each.url for each in requests] == ["https://press.example/2026/three"] and len(items) == 1


async def test_values_of_json_are_those_of_a_query(tmp_path: Path) -> None:
    spider = spider_of(tmp_path, "[articles]\nallow = ['/api']\n[fields]\nids = { jmespath = 'all[].id', many = true }")
    answer = JsonResponse(
        "https://press.example/api",
        body=b'{"all": [{"id": 1}, {"id": 2}]}',
        headers={"Content-Type": "application/json"},
    )

    _, items = await parsed(spider, answer)

    assert items == [{"url": "https://press.example/api", "ids": [1, 2]}]


@pytest.mark.parametrize(
    ("url", "type", "rule"),
    [
        ("https://press.example/", "navigation", "entries"),
        ("https://press.example/2026/one", "article", "articles.allow = '/2026/'"),
        ("https://press.example/section/b", "navigation", "follow.allow = '/section/'"),
        ("https://press.example/about", "other", "no pattern wants it"),
        ("https://else.example/2026/", "other", "it is outside of the domains"),
    ],
)
def test_type_of_a_page_is_told_with_its_rule(tmp_path: Path, url: str, type: str, rule: str) -> None:
    spider = spider_of(tmp_path, "[articles]\nallow = ['/2026/']\n[follow]\nallow = ['/section/']")

    taken = spider.taken_for(url)

    assert (taken.type, taken.rule) == (type, rule)


def text_page(url: str, paragraphs: int = 8) -> HtmlResponse:
    return page(f"<h1>Ferries</h1>{f'<p>{SENTENCE * 3}</p>' * paragraphs}<a href='/2026/other-story-1'>1</a>", url)


def list_page(url: str) -> HtmlResponse:
    teasers = "".join(f"<h2><a href='/story/{n}'>{SENTENCE[:50]} {n}</a></h2>" for n in range(20))
    return page(f"<main>{teasers}<p>{SENTENCE * 2}</p></main><a href='/more'>more</a>", url)


async def test_page_that_no_pattern_names_is_taken_for_what_it_is(tmp_path: Path) -> None:
    spider = spider_of(tmp_path, 'extract = "article"')
    article, listing = text_page("https://press.example/a"), list_page("https://press.example/b")

    from_article, items = await parsed(spider, article)
    from_listing, none = await parsed(spider, listing)

    assert [each["url"] for each in items] == ["https://press.example/a"] and none == []
    assert from_article and len(from_listing) == 21
    assert article.taken_for is not None and article.taken_for.told.startswith("article:content ")
    assert listing.taken_for is not None and listing.taken_for.told.startswith("navigation:content ")


async def test_patterns_go_before_what_a_page_is(tmp_path: Path) -> None:
    board = """types = "content"
extract = "article"
[articles]
allow = ['/lists/']"""
    spider = spider_of(tmp_path, board)
    named, other = list_page("https://press.example/lists/1"), text_page("https://press.example/x")

    await parsed(spider, named)
    _, items = await parsed(spider, other)

    assert named.taken_for is not None and named.taken_for.told == "article:pattern articles.allow = '/lists/'"
    assert other.taken_for is not None and other.taken_for.by == "content"
    assert [each["url"] for each in items] == ["https://press.example/x"]


async def test_board_of_patterns_alone_makes_an_item_of_each_page(tmp_path: Path) -> None:
    spider = spider_of(tmp_path, 'types = "pattern"\n[fields]\nfirst = "h2::text"')
    listing = list_page("https://press.example/b")

    _, items = await parsed(spider, listing)

    assert len(items) == 1
    assert listing.taken_for is not None and listing.taken_for.by == "pattern"


async def test_links_wait_in_the_queue_of_what_pages_like_them_were(tmp_path: Path) -> None:
    spider = spider_of(tmp_path, 'extract = "article"')

    before, _ = await parsed(spider, list_page("https://press.example/b"))
    for number in range(2):
        await parsed(spider, text_page(f"https://press.example/story/{number}"))
    after, _ = await parsed(spider, list_page("https://press.example/c"))

    assert {each.kind for each in before} == {Kind.INDEX}
    assert {each.kind for each in after if "/story/" in each.url} == {Kind.DETAIL}


async def test_page_that_seems_to_be_neither_leads_on(tmp_path: Path) -> None:
    spider = spider_of(tmp_path, 'extract = "article"')
    bare = page("<a href='/a'>a</a><a href='/b'>b</a>", "https://press.example/bare")

    requests, items = await parsed(spider, bare)

    assert len(requests) == 2 and items == []
    assert bare.taken_for is not None and bare.taken_for.type == "other"


async def test_article_is_extracted_of_plain_urls_where_a_page_may_be_one() -> None:
    def spider(extract: str) -> Links:
        return Links(extract=extract, start_urls=["https://press.example/"])

    listing = "https://press.example/news/all"
    by_extract = {
        extract: [
            [each["url"] for each in (await parsed(spider(extract), made(url)))[1]]
            for made, url in ((text_page, "https://press.example/a"), (list_page, listing))
        ]
        for extract in ("article", "text")
    }

    assert by_extract["article"] == [["https://press.example/a"], []]
    assert by_extract["text"] == [["https://press.example/a"], [listing]]


FEED = """<?xml version="1.0"?><rss version="2.0"><channel><title>Press</title>
<item><title>One</title><link>https://press.example/2026/one</link></item>
<item><title>Else</title><link>https://else.example/2026/two</link></item></channel></rss>"""
SITEMAP = """<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>https://press.example/2026/one</loc><lastmod>2026-11-19T10:00:00Z</lastmod></url>
<url><loc>https://press.example/section/a</loc><lastmod>nonsense</lastmod></url>
<url><loc>https://press.example/imprint</loc></url></urlset>"""
INDEX = """<?xml version="1.0"?><sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<sitemap><loc>https://press.example/sitemap-2.xml</loc></sitemap>
<sitemap><loc>https://else.example/sitemap.xml</loc></sitemap></sitemapindex>"""
LISTED = "[articles]\nallow = ['/2026/']\n[follow]\nallow = ['/section/']"


@pytest.mark.parametrize(
    "text, wanted",
    [
        (FEED, [("https://press.example/2026/one", Kind.DETAIL, 0.0)]),
        (
            SITEMAP,
            [
                ("https://press.example/2026/one", Kind.DETAIL, 1_795_082_400.0),
                ("https://press.example/section/a", Kind.INDEX, 0.0),
            ],
        ),
        (INDEX, [("https://press.example/sitemap-2.xml", Kind.INDEX, 0.0)]),
        ("<nothing/>", []),
    ],
)
async def test_entry_that_is_a_feed_or_a_sitemap_leads_to_what_it_lists(
    tmp_path: Path, text: str, wanted: list[tuple[str, Kind, float]]
) -> None:
    spider = spider_of(tmp_path, LISTED)
    answer = XmlResponse("https://press.example/", body=text.encode(), headers={"Content-Type": "application/xml"})

    requests, items = await parsed(spider, answer)

    assert [(each.url, each.kind, each.changed_at) for each in requests] == wanted
    assert items == []


def test_periods_of_a_board_are_settings(tmp_path: Path) -> None:
    spider = spider_of(tmp_path, '[revisit]\nnavigation = "adaptive"\narticles = 86400\nmin = 60\nhost_budget = 120')

    said = {name: value for name, value in spider.custom_settings.items() if name.startswith("REVISIT_")}

    assert said == {
        "REVISIT_INDEX": "adaptive", "REVISIT_DETAIL": 86_400, "REVISIT_MIN": 60, "REVISIT_HOST_BUDGET": 120,
    }  # fmt: skip


@pytest.mark.parametrize(
    "text, told",
    [
        ('[revisit]\nnavigation = "seldom"', "revisit"),
        ("[revisit]\narticles = 100\nmax = 50", "REVISIT_MAX"),
        ("[revisit]\nnavigaton = 5", "did you mean navigation"),
    ],
)
def test_periods_that_cannot_be_are_refused_with_their_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=f"line [234].*{told}"):
        spider_of(tmp_path, text)
