"""Articles by resiliparse, which looks at names and shapes of elements only, and for no facts about the page."""

from __future__ import annotations

from resiliparse.extract.html2text import extract_plain_text
from selectolax.lexbor import LexborHTMLParser

from p2pcrawl.spiders.articles.readers import PageFacts
from p2pcrawl.spiders.articles.whole_page import as_markdown


class ByResiliparse:
    """Reads articles as resiliparse finds them."""

    def text(self, markup: str, url: str) -> tuple[str, PageFacts] | None:
        text = extract_plain_text(markup, main_content=True, alt_texts=False, list_bullets=False)
        return text, PageFacts()

    def facts(self, markup: str, url: str) -> PageFacts:
        return PageFacts()

    def markdown(self, markup: str, url: str) -> str:
        return as_markdown(_main_part(markup), url)

    def links(self, markup: str, url: str) -> list[str]:
        links = LexborHTMLParser(_main_part(markup)).css("a[href]")
        return [href for link in links if (href := link.attributes["href"])]


def _main_part(markup: str) -> str:
    part: str = extract_plain_text(markup, main_content=True, preserve_formatting="minimal_html", links=True)
    return part
