"""Articles, Markdown and facts, as callbacks read them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from p2pcrawl.model.choosing.article_reader import ArticleReader
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.extracting.main_parts import Extract
from p2pcrawl.spiders.loading.plain import Links
from p2pcrawl.spiders.page.answer_kinds import HtmlResponse
from p2pcrawl.spiders.page.response import ASIDE_SIZE, Response

SENTENCE = "The ferry to the northern islands leaves at six, whatever the weather may be. "
PAGE = f"""<!doctype html><html lang="en-GB"><head><title>Ferries | The Gazette</title>
<meta property="og:title" content="Ferries leave early">
<script type="application/ld+json">{{"@type": "NewsArticle", "headline": "Ferries leave early",
 "datePublished": "2026-03-04T08:00:00Z", "author": {{"@type": "Person", "name": "Ada North"}}}}</script></head>
<body><nav><ul><li><a href="/">Home</a></li><li><a href="/sports">Sports</a></li></ul></nav>
<article><h1>Ferries leave early</h1><p>{SENTENCE * 4}</p>
<p>{SENTENCE * 3}See the <a href="/timetable?day=1">timetable</a>.</p><p>{SENTENCE * 4}</p></article>
<div class="comments"><p>I disagree with all of this, as ever.</p></div>
<footer><p>Copyright of the Gazette, all rights reserved</p></footer></body></html>"""
READERS = list(ArticleReader)


def page(body: str | bytes = PAGE, kind: str = "text/html; charset=utf-8", **options: Any) -> HtmlResponse:
    raw = body.encode() if isinstance(body, str) else body
    return HtmlResponse("https://gazette.example/ferries", body=raw, headers={"Content-Type": kind}, **options)


def read_by(reader: ArticleReader) -> HtmlResponse:
    response = page()
    response.article_reader = reader
    return response


@pytest.mark.parametrize("reader", READERS)
def test_article_is_the_main_text_with_its_title_day_author_and_language(reader: ArticleReader) -> None:
    article = read_by(reader).article

    assert article is not None
    assert article.text.count("northern islands") == 11
    assert "Sports" not in article.text and "Copyright" not in article.text
    assert article.title == "Ferries leave early"
    assert (article.date, article.author, article.language) == ("2026-03-04", "Ada North", "en-GB")


@pytest.mark.parametrize("reader", READERS)
def test_links_and_markdown_of_an_article_are_those_of_its_text(reader: ArticleReader) -> None:
    article = read_by(reader).article

    assert article is not None
    assert article.links == ["https://gazette.example/timetable?day=1"]
    assert "[timetable](https://gazette.example/timetable?day=1)" in article.markdown
    assert "# Ferries leave early" in article.markdown


def test_comments_are_no_part_of_an_article() -> None:
    article = page().article

    assert article is not None and "disagree" not in article.text


def test_article_is_read_once() -> None:
    response = page()

    assert response.article is response.article


@pytest.mark.parametrize("body", ["", "<html><body></body></html>"])
def test_page_without_text_has_no_article(body: str) -> None:
    assert page(body).article is None


def test_answer_that_is_no_markup_has_neither_article_nor_markdown() -> None:
    picture = Response("https://gazette.example/a.png", body=b"\x89PNG", headers={"Content-Type": "image/png"})

    assert picture.article is None and picture.markdown == "" and picture.facts.title is None


@pytest.mark.parametrize("charset", ["windows-1251", "shift_jis", "utf-16"])
def test_article_is_decoded_as_the_page_says(charset: str) -> None:
    text = "Паром уходит в шесть. " if charset == "windows-1251" else "船は六時に出る。"
    body = f"<html><body><article><h1>x</h1><p>{text * 30}</p></article></body></html>".encode(charset)

    article = page(body, f"text/html; charset={charset}").article

    assert article is not None and text.strip() in article.text


async def test_large_page_is_read_in_a_thread_with_the_same_result() -> None:
    large = page(PAGE.replace("<footer>", "<!--" + "x" * ASIDE_SIZE + "--><footer>"))

    article = await large.read_article()

    assert article is not None and article == page().article
    assert large.article is article


def test_markdown_has_what_the_page_shows_but_for_its_navigation() -> None:
    table = "<table><tr><th>day</th><th>hour</th></tr><tr><td>Monday</td><td>6</td></tr></table>"
    markdown = page(PAGE.replace("<footer>", f"{table}<form><p>Write to us</p></form><footer>")).markdown

    assert "# Ferries leave early" in markdown and "| Monday |" in markdown and "Write to us" in markdown
    assert "I disagree" in markdown and "Copyright" in markdown
    assert "Sports" not in markdown and "datePublished" not in markdown


def test_page_that_is_all_in_one_form_has_its_words_in_markdown() -> None:
    assert "six o'clock" in page("<html><body><form><div><p>six o'clock</p></div></form></body></html>").markdown


def test_facts_are_there_without_an_article() -> None:
    facts = page("<html><head><title>Index</title><meta name=author content=Bo></head><body></body></html>").facts

    assert (facts.title, facts.author) == ("Index", "Bo")


async def test_plain_urls_make_items_of_articles_and_follow_links() -> None:
    spider = Links(start_urls=["https://gazette.example/"], extract="article")

    links, item = [each async for each in spider.parse(page())]  # type: ignore[union-attr]

    assert "https://gazette.example/sports" in links.urls
    assert list(item) == ["url", "title", "text", "date", "author"]
    assert (item["title"], item["date"], item["author"]) == ("Ferries leave early", "2026-03-04", "Ada North")


async def test_plain_urls_make_items_of_markdown() -> None:
    spider = Links(start_urls=["https://gazette.example/"], extract="markdown")

    _, item = [each async for each in spider.parse(page())]  # type: ignore[union-attr]

    assert list(item) == ["url", "title", "markdown", "date", "author"] and "# Ferries" in item["markdown"]


async def test_page_without_an_article_is_followed_and_makes_no_item() -> None:
    spider = Links(start_urls=["https://gazette.example/"], extract="article")

    found = [each async for each in spider.parse(page('<html><body><a href="/a"></a></body></html>'))]  # type: ignore[union-attr]

    assert [list(each.urls) for each in found] == [["https://gazette.example/a"]]


def test_what_cannot_be_extracted_is_named_with_what_can() -> None:
    with pytest.raises(ConfigurationError, match=f"extract is one of {', '.join(Extract)}, not 'summary'"):
        Links(start_urls=["https://gazette.example/"], extract="summary")


@pytest.fixture
def without_trafilatura(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delitem(sys.modules, "p2pcrawl.spiders.articles.by_trafilatura", raising=False)
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    yield


@pytest.mark.usefixtures("without_trafilatura")
def test_missing_package_is_named_with_the_command_that_installs_it() -> None:
    with pytest.raises(ConfigurationError, match=r"pip install 'p2pcrawl\[articles\]'"):
        Links(start_urls=["https://gazette.example/"], extract="article")
