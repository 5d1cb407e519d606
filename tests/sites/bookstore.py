"""A bookstore of sixty books in lists of twelve, each with a page of its own; all books and people are made up.

The shape: ``article.book`` with ``h2 a``, ``img`` and ``p.price`` in the lists, ``li.next a`` leads on; a book's own
page has ``p.author`` and ``div.description``, which a few have not.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from html import escape
from typing import Any

from tests.sites.server import CONTROL, Asked, Server, TimedReply, control_reply, run_site, site_answer, site_parser

PER_PAGE = 12
BOOKS = 60
_FIRST = ["A Lamp", "The Slow River", "Notes", "\u201eGrüße\u201c", "Tom & Ada", "L'Été", "The 3rd Chair", "星の本"]
_SECOND = ["in the Attic", "of Nordhaven", "for Nobody", "<Again>", "100% Wool", "and Other Maps", "without Salt"]
_AUTHORS = ["Ada Pellworm", "Félix Aubertin", "Chiara d'Ombra", "Jonas & Petra Weil", "Hiro Tanemori"]


@dataclass(frozen=True, slots=True)
class ShopBook:
    """One book of the store."""

    number: int
    name: str
    price: Decimal
    author: str
    description: str | None

    @property
    def cover(self) -> str:
        """The path of its picture."""
        return f"/covers/{self.number:03}.jpg"


def all_books() -> list[ShopBook]:
    """The books, in the order of the lists."""
    return [
        ShopBook(
            number,
            f"{_FIRST[number % 8]} {_SECOND[number % 7]}, vol. {number}",
            Decimal(499 + number * 737 % 9000) / 100,
            _AUTHORS[number % 5],
            None if number % 10 == 9 else f"Book {number} tells \u2013 slowly \u2013 what the others leave out. 🧀" * 3,
        )
        for number in range(BOOKS)
    ]


class BookstoreSite:
    """Serves the store at one address; ``url`` is its first list."""

    def __init__(self, port: int = 0, address: str = CONTROL) -> None:
        self._address = address
        self._server = Server(self._answer, [address], port)
        self._books = all_books()
        self.url = ""

    async def start(self) -> str:
        """Serves, and returns the URL of the first list."""
        await self._server.start()
        self.url = f"http://{self._address}:{self._server.port}/"
        return self.url

    async def stop(self) -> None:
        await self._server.stop()

    def ready(self) -> dict[str, Any]:
        return {"start": self.url, "control": self.url.rstrip("/")}

    def _answer(self, asked: Asked) -> TimedReply:
        if asked.path.startswith("/_"):
            return control_reply(asked, {"/_stats": lambda: {"books": len(self._books)}})
        match asked.path.strip("/").split("/"):
            case [""]:
                return _html(self._list(1))
            case ["list", number] if number.isdigit() and 1 <= int(number) <= BOOKS // PER_PAGE:
                return _html(self._list(int(number)))
            case ["book", number] if number.isdigit() and int(number) < BOOKS:
                return _html(_page_of(self._books[int(number)]))
            case ["covers", name] if name in {f"{number:03}.jpg" for number in range(BOOKS)}:
                return TimedReply(site_answer(f"cover {name}", 200, "image/jpeg"))
        return TimedReply(site_answer("<h1>Not Found</h1>", 404))

    def _list(self, number: int) -> str:
        shown = self._books[(number - 1) * PER_PAGE : number * PER_PAGE]
        onward = f'<ul><li class="next"><a href="/list/{number + 1}/">next</a></li></ul>'
        return "".join(map(_listed, shown)) + (onward if number < BOOKS // PER_PAGE else "")


def _html(content: str) -> TimedReply:
    return TimedReply(
        site_answer(
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="UTF-8"><title>Books</title></head>\n'
            f"<body>{content}</body></html>\n"
        )
    )


def _listed(book: ShopBook) -> str:
    return (
        f'<article class="book"><img src="{book.cover}" alt="">'
        f'<h2><a href="/book/{book.number}/">{escape(book.name)}</a></h2><p class="price">£{book.price}</p></article>\n'
    )


def _page_of(book: ShopBook) -> str:
    told = f'<div class="description"><h3>About</h3><p>{escape(book.description)}</p></div>' if book.description else ""
    return (
        f'<h1>{escape(book.name)}</h1><p class="author">by <b>{escape(book.author)}</b></p>{told}<p>£{book.price}</p>'
    )


def main() -> None:
    options = site_parser("A bookstore of sixty books on loopback.").parse_args()
    run_site(BookstoreSite(options.port), options.until_eof)


if __name__ == "__main__":
    main()
