"""The books of a store with their covers: items that declare their fields, filled by a loader, and the files they name.

    python -m tests.sites.bookstore                   # a bookstore to try it with: it says its URL
    python examples/covers.py URL covers.jsonl covers

Each cover is fetched as politely as a page, once, and kept in the folder: run it again, and no cover is asked for. An
address of an object store may take the folder's place.
"""

import sys

from p2pcrawl import Crawler, Field, Item, Spider
from p2pcrawl.loader import ItemLoader
from p2pcrawl.loader.processors import MapCompose, TakeFirst


class Book(Item):
    name = Field()
    price = Field(serializer="{:.2f}".format)
    covers = Field()
    files = Field()


class BookLoader(ItemLoader):
    default_item_class = Book
    default_output_processor = TakeFirst()
    price_in = MapCompose(lambda text: text.strip("£"), float)
    covers_in = MapCompose(lambda path, loader_context: loader_context["response"].urljoin(path))
    covers_out = list


class Covers(Spider):
    name = "covers"
    custom_settings = {
        "ITEM_PIPELINES": {"p2pcrawl.pipelines.files.FilesPipeline": 1},
        "FILES_URLS_FIELD": "covers",
    }

    def __init__(self, site="http://127.0.0.1:8000/", **arguments):
        super().__init__(**arguments)
        self.start_urls = [site]

    def parse(self, response):
        for book in response.css("article.book"):
            loader = BookLoader(selector=book, response=response)
            loader.add_css("name", "h2 a::text")
            loader.add_css("price", "p.price::text")
            loader.add_css("covers", "img::attr(src)")
            yield loader.load_item()
        yield response.follow_all(css="li.next a")


if __name__ == "__main__":
    site, output, folder = sys.argv[1:]
    crawler = Crawler(Covers, arguments={"site": site}, output=output, settings={"FILES_STORE": folder})
    print(f"{crawler.run()['items']} books with their covers")
