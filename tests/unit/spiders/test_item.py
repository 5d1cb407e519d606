"""Items that declare their fields, and what loaders and outputs make of them."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

import pytest
from itemadapter import ItemAdapter, is_item

from p2pcrawl import Field, Item
from p2pcrawl.http import Response
from p2pcrawl.loader import ItemLoader
from p2pcrawl.loader.processors import Join, MapCompose, TakeFirst
from p2pcrawl.spiders.items.item_json import encode_item
from tests.unit.spiders.pages import page


class Book(Item):
    title = Field(output_processor=TakeFirst())
    price = Field(serializer=lambda value: f"{value} EUR", input_processor=MapCompose(float), output_processor=max)
    keys = Field()


class Novel(Book):
    author = Field(output_processor=Join())


def test_item_takes_the_fields_that_were_declared() -> None:
    book = Book({"title": "Ulysses"}, price=3.5)

    book["keys"] = ["k"]

    assert dict(book) == {"title": "Ulysses", "price": 3.5, "keys": ["k"]}
    assert book == {"title": "Ulysses", "price": 3.5, "keys": ["k"]}
    assert "title" in book and len(book) == 3 and book.get("author") is None


def test_item_refuses_a_field_that_was_not_declared() -> None:
    with pytest.raises(KeyError, match="Book does not support field: author"):
        Book(author="Joyce")
    with pytest.raises(KeyError, match="author"):
        Book()["author"] = "Joyce"
    with pytest.raises(KeyError, match="title"):
        Book()["title"]


def test_field_is_no_attribute() -> None:
    book = Book(title="Ulysses")

    with pytest.raises(AttributeError, match=r"item\['title'\]"):
        _ = book.title
    with pytest.raises(AttributeError, match=r"item\['title'\] = 'Dubliners'"):
        book.title = "Dubliners"


def test_fields_are_those_of_the_bases_and_the_class_in_their_order() -> None:
    class Translated(Novel):
        title = Field(serializer=str.upper)

    class Rare(Book):
        title = Field(rare=True)

    class Both(Novel, Rare):
        pass

    assert list(Novel.fields) == list(Translated.fields) == list(Both.fields) == ["title", "price", "keys", "author"]
    assert Both.fields["title"] == {"rare": True}
    assert list(Book.fields) == ["title", "price", "keys"]
    assert Translated.fields["title"] == {"serializer": str.upper}


def test_fields_may_be_added_while_running() -> None:
    class Loose(Item):
        pass

    loose = Loose()
    loose.fields["any"] = Field()
    loose["any"] = 1

    class Looser(Loose):
        more = Field()

    assert dict(loose) == {"any": 1} and "any" not in Item.fields
    assert list(Looser.fields) == ["any", "more"]


def test_copies_are_items_of_their_own() -> None:
    book = Book(title="Ulysses", keys=["k"])

    shallow, other, deep = book.copy(), copy.copy(book), book.deepcopy()
    shallow["title"] = other["title"] = "Dubliners"
    deep["keys"].append("l")

    assert type(shallow) is type(other) is type(deep) is Book
    assert dict(book) == {"title": "Ulysses", "keys": ["k"]}


def test_itemadapter_knows_items() -> None:
    adapter = ItemAdapter(Book(title="Ulysses"))

    adapter["keys"] = 1

    assert is_item(adapter.item)
    assert list(adapter.field_names()) == ["title", "price", "keys"]
    assert adapter.asdict() == {"title": "Ulysses", "keys": 1}
    assert "serializer" in adapter.get_field_meta("price")
    assert ItemAdapter.get_field_names_from_class(Book) == ["title", "price", "keys"]
    with pytest.raises(KeyError):
        adapter["author"] = "Joyce"


def test_crawl_of_dicts_loads_no_library_of_items() -> None:
    code = "import sys, p2pcrawl.slave.slave, p2pcrawl.item; print([m for m in sys.modules if m.startswith('item')])"

    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


def test_outputs_get_what_serializers_make() -> None:
    @dataclass
    class Price:
        amount: float = field(metadata={"serializer": str})

    class Shelf(Item):
        first = Field()

    assert json.loads(encode_item(Book(title="Ulysses", price=3))) == {"title": "Ulysses", "price": "3 EUR"}
    assert json.loads(encode_item(Book(title="\ud800", price=3)))["price"] == "3 EUR"
    assert json.loads(encode_item(Price(3.5))) == {"amount": "3.5"}
    assert json.loads(encode_item(Shelf(first=Book(price=3)))) == {"first": {"price": "3 EUR"}}


def test_item_that_has_no_json_form_is_told_of_by_its_field() -> None:
    with pytest.raises(TypeError, match="'keys' holds a object"):
        encode_item(Book(keys=object()))


HTML = """<h1>Ulysses</h1><b class="price">3.50</b><b class="price">4.50</b>
<div id="by"><i>James</i> <i>Joyce</i></div>"""


class BookLoader(ItemLoader):
    default_item_class = Novel
    title_in = MapCompose(str.strip, str.upper)


def test_loader_fills_an_item_from_a_page() -> None:
    loader = BookLoader(response=page(HTML))

    loader.add_css("title", "h1::text")
    loader.add_xpath("price", "//b[@class='price']/text()")
    loader.nested_css("#by").add_css("author", "i::text")
    loader.add_value("keys", "k")

    assert loader.load_item() == {"title": "ULYSSES", "price": 4.5, "author": "James Joyce", "keys": ["k"]}
    assert type(loader.item) is Novel


def test_loader_fills_what_it_is_given_from_a_selector() -> None:
    def absolute(value: str, loader_context: dict[str, Any]) -> str:
        return loader_context["response"].urljoin(value)

    response = page('<a href="/x">')
    loader = ItemLoader({"a": 1}, response.css("a")[0], response)

    loader.add_xpath("url", "@href", MapCompose(absolute))

    assert loader.load_item() == {"a": [1], "url": [response.urljoin("/x")]}


def test_loader_without_a_page_says_what_it_lacks() -> None:
    with pytest.raises(RuntimeError, match="selector"):
        ItemLoader().add_css("title", "h1")


def test_loader_of_an_answer_without_text_takes_values() -> None:
    loader = ItemLoader({}, response=Response("http://a.example/picture.png", body=b"\0"))

    loader.add_value("kind", "picture")

    assert loader.load_item() == {"kind": ["picture"]}
