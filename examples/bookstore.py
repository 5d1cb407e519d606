"""A bookstore into a database: what the lists say of a book, and what its own page says, in one row or document.

    export P2PCRAWL_SINK_PASSWORD=...
    python examples/bookstore.py URL 'mysql://ada@localhost/shop?table=books&item=examples/bookstore.py:Book'
    python examples/bookstore.py URL mongodb://ada@localhost/shop.books

A bookstore to try it with: python -m tests.sites.bookstore, which says its URL. The same spider runs in a cluster
(p2pcrawl submit examples/bookstore.py -a site=URL -o ADDRESS). The type of a book makes the table: of `price`, a
DECIMAL(10, 2).
"""

import sys
from decimal import Decimal

from pydantic import BaseModel, Field

from p2pcrawl import Crawler, Spider


class Book(BaseModel):
    name: str = Field(max_length=300)
    cover: str
    price: Decimal = Field(max_digits=10, decimal_places=2)
    author: str | None = Field(max_length=200)
    description: str | None


class Bookstore(Spider):
    name = "bookstore"

    def __init__(self, site="http://127.0.0.1:8000/", **arguments):
        super().__init__(**arguments)
        self.start_urls = [site]

    def parse(self, response):
        """Follows each book with what the list says of it, and the link to the next list."""
        for book in response.xpath("//article[@class='book']"):
            listed = {
                "name": book.xpath("normalize-space(h2)").get(),
                "cover": response.urljoin(book.xpath("img/@src").get()),
                "price": book.xpath("p[@class='price']/text()").re_first(r"[\d.]+"),
            }
            yield response.follow(
                book.xpath("h2/a/@href").get(), self.book, cb_kwargs={"listed": listed}, kind="detail"
            )
        yield response.follow_all(xpath="//li[@class='next']/a")

    def book(self, response, listed):
        yield Book(
            **listed,
            author=response.xpath("//p[@class='author']/b/text()").get(),
            description=response.xpath("//div[@class='description']/p/text()").get(),
        )


if __name__ == "__main__":
    site, output = sys.argv[1:]
    certificate = Crawler(Bookstore, arguments={"site": site}, output=output).run()
    print(f"{certificate['items']} books from {certificate['pages']} pages")
