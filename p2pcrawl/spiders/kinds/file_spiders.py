"""The spiders for files of many nodes or rows: XML and CSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import parsel

from p2pcrawl.model.errors import NotSupported
from p2pcrawl.spiders.callbacks import several
from p2pcrawl.spiders.formats.csv_rows import csviter
from p2pcrawl.spiders.formats.xml_nodes import named_nodes
from p2pcrawl.spiders.page.bombs import bearable
from p2pcrawl.spiders.page.limit import limited
from p2pcrawl.spiders.page.response import Response
from p2pcrawl.spiders.spider import Spider


class XMLFeedSpider(Spider):
    """Calls :meth:`parse_node` for each node called ``itertag`` of an XML file.

    With the ``iterator`` "iternodes" the file is read node by node, in bounded memory; "xml" and "html" build a tree of
    the whole. ``namespaces`` are pairs of prefix and address, for queries and for an ``itertag`` with a prefix.
    """

    iterator: str = "iternodes"
    itertag: str = "item"
    namespaces: Sequence[tuple[str, str]] = ()

    def adapt_response(self, response: Response) -> Response:
        """Returns the answer to read, changed if need be: unchanged unless overridden."""
        return response

    def parse_node(self, response: Response, selector: parsel.Selector) -> Any:
        """Makes items and requests of one node. To be overridden."""
        parse_item = getattr(self, "parse_item", None)
        if parse_item is not None:
            return parse_item(response, selector)
        raise NotImplementedError(f"{type(self).__name__}.parse_node is not defined")

    def parse_nodes(self, response: Response, nodes: Iterable[parsel.Selector]) -> Iterator[Any]:
        """Yields what :meth:`parse_node` makes of each node, as :meth:`process_results` leaves it."""
        for node in nodes:
            yield from several(self.process_results(response, several(self.parse_node(response, node))))

    def process_results(self, response: Response, results: Iterable[Any]) -> Iterable[Any]:
        """Returns what was made of a node, changed if need be: unchanged unless overridden."""
        return results

    def _parse(self, response: Response, **cb_kwargs: Any) -> Any:
        response = self.adapt_response(response)
        if self.iterator == "iternodes":
            nodes: Iterable[parsel.Selector] = named_nodes(response, self.itertag, self.namespaces)
        elif self.iterator == "xml":
            nodes = _selected(self, response, "xml")
        elif self.iterator == "html":
            nodes = _selected(self, response, "html")
        else:
            raise NotSupported(f"iterator is iternodes, xml or html, not {self.iterator!r}")
        return self.parse_nodes(response, nodes)


class CSVFeedSpider(Spider):
    """Calls :meth:`parse_row` for each row of a CSV file: a dict by the names of ``headers``, or of the first row."""

    delimiter: str | None = None
    quotechar: str | None = None
    headers: Sequence[str] | None = None

    def adapt_response(self, response: Response) -> Response:
        """Returns the answer to read, changed if need be: unchanged unless overridden."""
        return response

    def parse_row(self, response: Response, row: dict[str, str]) -> Any:
        """Makes items and requests of one row. To be overridden."""
        raise NotImplementedError(f"{type(self).__name__}.parse_row is not defined")

    def parse_rows(self, response: Response) -> Iterator[Any]:
        """Yields what :meth:`parse_row` makes of each row, as :meth:`process_results` leaves it."""
        for row in csviter(response, self.delimiter, self.headers, quotechar=self.quotechar):
            yield from several(self.process_results(response, several(self.parse_row(response, row))))

    def process_results(self, response: Response, results: Iterable[Any]) -> Iterable[Any]:
        """Returns what was made of a row, changed if need be: unchanged unless overridden."""
        return results

    def _parse(self, response: Response, **cb_kwargs: Any) -> Any:
        return self.parse_rows(self.adapt_response(response))


@limited
def _selected(spider: XMLFeedSpider, response: Response, kind: Literal["xml", "html"]) -> Iterable[parsel.Selector]:
    whole = response.text.encode("utf-8", "replace")
    text = whole[: bearable(whole, xml=kind == "xml")].decode("utf-8", "replace")
    selector = parsel.Selector(text, type=kind)
    for prefix, address in spider.namespaces:
        selector.register_namespace(prefix, address)
    return selector.xpath(f"//{spider.itertag}")
