"""A site of a hundred quotes on ten pages, in the markup that tutorials use; all quotes and people are made up.

The shape: ``div.quote`` with ``span.text``, ``small.author``, ``div.tags a.tag``; ``li.next a`` leads on; each author
and each tag has a page.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from html import escape
from typing import Any

from tests.sites.server import CONTROL, Asked, Server, TimedReply, control_reply, run_site, site_answer, site_parser

PER_PAGE = 10
AUTHORS = [
    ("Ada Pellworm", "March 3, 1902", "in Nordhaven, Estonia"),
    ("Bruno Catlow", "July 19, 1888", "in Little Wenning, England"),
    ("Chiara d'Ombra", "May 2, 1931", "in Porto Vecchio, Italy"),
    ("Dov Rasmin", "October 30, 1915", "in Tarnow Dolny, Poland"),
    ("Edda Lindqvist", "January 11, 1944", "in Sandvik, Sweden"),
    ("Félix Aubertin", "August 8, 1870", "in Rochebrune, France"),
    ("Grete Hollmann", "December 24, 1899", "in Oberfeld, Austria"),
    ("Hiro Tanemori", "June 6, 1926", "in Mizusawa, Japan"),
    ("Imani Okoro", "April 14, 1951", "in Ubakala, Nigeria"),
    ("Jonas & Petra Weil", "February 27, 1938", "in Grünau, Germany"),
]
SUBJECTS = {
    "patience": "Patience",
    "doubt": "An honest doubt",
    "walking": "A long walk",
    "silence": "Silence",
    "bread": "Warm bread",
    "letters": "A letter never sent",
    "rain": "Rain on a tin roof",
    "maps": "An old map",
    "errors": "A mistake admitted early",
    "clocks": "A stopped clock",
}
PREDICATES = {
    "advice": "teaches more than the loudest teacher.",
    "friendship": "is the cheapest gift between friends, and the dearest.",
    "work": "does half of the day's work before you are awake.",
    "humour": "keeps its best joke for those who stay till the end.",
    "truth": "never lies, it only answers another question.",
    "time": "gives back the hour that hurry took from you.",
    "courage": "asks for no more courage than the next small step.",
    "hope": "leaves a window open where the door was shut.",
    "home": "knows the way home, even when you do not.",
    "change": "changes nothing < except everything >.",
}


@dataclass(frozen=True, slots=True)
class Quote:
    text: str
    author: str
    tags: tuple[str, str]


def all_quotes() -> list[Quote]:
    """The hundred quotes, in the order of the site."""
    quotes = []
    for row, (what, subject) in enumerate(SUBJECTS.items()):
        for column, (about, predicate) in enumerate(PREDICATES.items()):
            author = AUTHORS[(row * 3 + column * 7) % len(AUTHORS)][0]
            quotes.append(Quote(f"\u201c{subject} {predicate}\u201d", author, (what, about)))
    return quotes


class QuotesSite:
    """Serves the quotes at one address; ``url`` is its first page, ``quotes`` what a crawl of it should bring."""

    def __init__(self, port: int = 0, address: str = CONTROL) -> None:
        self._address = address
        self._server = Server(self._answer, [address], port)
        self.quotes = all_quotes()
        self.pages = len(self.quotes) // PER_PAGE
        self.hits: Counter[str] = Counter()
        """Paths and how often they were asked for."""
        self.url = ""

    async def start(self) -> str:
        """Serves, and returns the URL of the first page."""
        await self._server.start()
        self.url = f"http://{self._address}:{self._server.port}/"
        return self.url

    async def stop(self) -> None:
        await self._server.stop()

    def ready(self) -> dict[str, Any]:
        return {"start": self.url, "control": self.url.rstrip("/"), "quotes": len(self.quotes)}

    def _answer(self, asked: Asked) -> TimedReply:
        if asked.path.startswith("/_"):
            return control_reply(asked, {"/_stats": lambda: {"hits": dict(self.hits)}})
        self.hits[asked.path] += 1
        match asked.path.strip("/").split("/"):
            case [""]:
                return self._list_page(1)
            case ["page", number] if number.isdigit() and 1 <= int(number) <= self.pages:
                return self._list_page(int(number))
            case ["tag", tag, *_] if tag in SUBJECTS or tag in PREDICATES:
                found = [q for q in self.quotes if tag in q.tags]
                return _html(f"<h3>Viewing tag: {tag}</h3>" + "".join(map(_quote, found)))
            case ["author", name]:
                for author in AUTHORS:
                    if _slug(author[0]) == name:
                        return _html(_author(*author))
        return TimedReply(site_answer("<h1>Not Found</h1>", 404))

    def _list_page(self, number: int) -> TimedReply:
        shown = self.quotes[(number - 1) * PER_PAGE : number * PER_PAGE]
        pager = ""
        if number > 1:
            pager += f'<li class="previous"><a href="/page/{number - 1}/"><span>&larr;</span> Previous</a></li>'
        if number < self.pages:
            pager += f'<li class="next"><a href="/page/{number + 1}/">Next <span>&rarr;</span></a></li>'
        return _html("".join(map(_quote, shown)) + f'<nav><ul class="pager">{pager}</ul></nav>')


def _html(content: str) -> TimedReply:
    return TimedReply(
        site_answer(
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="UTF-8"><title>Quotes to Crawl</title></head>\n<body>'
            '<div class="container"><div class="row header-box"><h1><a href="/">Quotes to Crawl</a></h1></div>\n'
            f'<div class="row"><div class="col-md-8">{content}</div></div></div></body></html>\n'
        )
    )


def _quote(quote: Quote) -> str:
    tags = "".join(f'<a class="tag" href="/tag/{tag}/page/1/">{tag}</a>\n' for tag in quote.tags)
    return (
        '<div class="quote" itemscope>\n'
        f'<span class="text" itemprop="text">{escape(quote.text)}</span>\n'
        f'<span>by <small class="author" itemprop="author">{escape(quote.author)}</small>\n'
        f'<a href="/author/{_slug(quote.author)}">(about)</a></span>\n'
        f'<div class="tags">Tags: <meta class="keywords" content="{",".join(quote.tags)}">\n{tags}</div></div>\n'
    )


def _author(name: str, born: str, where: str) -> str:
    return (
        f'<div class="author-details"><h3 class="author-title">{escape(name)}</h3>'
        f'<p><strong>Born:</strong> <span class="author-born-date">{born}</span> '
        f'<span class="author-born-location">{escape(where)}</span></p>'
        f'<div class="author-description">{escape(name)} was made up for this page and said nothing else.</div></div>'
    )


def _slug(name: str) -> str:
    plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in name)
    return "-".join(part for part in plain.split("-") if part)


def main() -> None:
    options = site_parser("A site of a hundred quotes on loopback.").parse_args()
    run_site(QuotesSite(options.port), options.until_eof)


if __name__ == "__main__":
    main()
