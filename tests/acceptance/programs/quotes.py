# ruff: noqa: RUF012 - as people write it
from p2pcrawl import Crawler, Spider


class Quotes(Spider):
    name = "quotes"
    start_urls = ["https://quotes.toscrape.com/"]

    def parse(self, response):
        for quote in response.css("div.quote"):
            yield {"text": quote.css(".text::text").get(), "author": quote.css(".author::text").get()}
        yield response.follow_all(css="li.next a")


if __name__ == "__main__":
    Crawler(Quotes, output="quotes.jsonl").run()
