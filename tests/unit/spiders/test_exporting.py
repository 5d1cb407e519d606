"""Exporters, as people's pipelines use them on open files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from io import BytesIO
from typing import Any
from xml.etree import ElementTree

import pytest

from p2pcrawl import Field, Item
from p2pcrawl.exporters import (
    BaseItemExporter,
    CsvItemExporter,
    JsonItemExporter,
    JsonLinesItemExporter,
    PprintItemExporter,
    PythonItemExporter,
    XmlItemExporter,
)


class Person(Item):
    name = Field()
    age = Field(serializer=str)
    extra = Field()


PEOPLE: Sequence[Any] = (
    Person(name="José", age=3),
    {"name": ["a", "b"], "age": None, "x": {"k": 1}},
    Person(extra=1.5, name='q,"z'),
)


def written(kind: type[BaseItemExporter], items: Sequence[Any] = PEOPLE, **options: Any) -> str:
    file = BytesIO()
    exporter = kind(file, **options)  # type: ignore[call-arg]
    exporter.start_exporting()
    for item in items:
        exporter.export_item(item)
    exporter.finish_exporting()
    return file.getvalue().decode(options.get("encoding") or "utf-8")


def test_lines_of_json_have_the_fields_in_their_order_through_their_serializers() -> None:
    lines = written(JsonLinesItemExporter).splitlines()

    assert lines == [
        '{"name": "Jos\\u00e9", "age": "3"}',
        '{"name": ["a", "b"], "age": null, "x": {"k": 1}}',
        '{"name": "q,\\"z", "extra": 1.5}',
    ]


@pytest.mark.parametrize("options", [{"encoding": "utf-8"}, {"ensure_ascii": False}])
def test_text_is_written_as_it_is_where_that_is_asked_for(options: dict[str, Any]) -> None:
    assert "José" in written(JsonLinesItemExporter, **options)


@pytest.mark.parametrize("options", [{}, {"indent": 0}, {"indent": 2}])
@pytest.mark.parametrize("items", [PEOPLE, []], ids=["people", "nobody"])
def test_json_is_one_list(items: Sequence[Any], options: dict[str, Any]) -> None:
    text = written(JsonItemExporter, items, **options)

    assert [each["name"] for each in json.loads(text)] == [each["name"] for each in items]
    assert ("\n" in text) == ("indent" in options)


def test_item_that_fails_leaves_nothing_in_the_file() -> None:
    file = BytesIO()
    exporter = JsonItemExporter(file)
    exporter.start_exporting()

    with pytest.raises(TypeError, match="a object has no JSON form"):
        exporter.export_item({"a": object()})
    exporter.export_item({"a": [date(2026, 1, 2), Decimal("1.5"), {3}, Person(name="n")]})
    exporter.finish_exporting()

    assert file.getvalue() == b'[{"a": ["2026-01-02", "1.5", [3], {"name": "n"}]}]'


def test_columns_of_csv_are_the_declared_fields_of_the_first_item() -> None:
    assert written(CsvItemExporter) == 'name,age,extra\r\nJosé,3,\r\n"a,b",,\r\n"q,""z",,1.5\r\n'
    assert written(CsvItemExporter, []) == ""


def test_values_without_a_column_are_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    written(CsvItemExporter, [*PEOPLE, *PEOPLE])

    assert [record.message for record in caplog.records] == [
        "no column for x: name the fields of a CSV file by fields_to_export"
    ]


def test_fields_may_be_chosen_and_named() -> None:
    fields = {"extra": "Extra", "name": "Name"}

    assert written(CsvItemExporter, PEOPLE[2:], fields_to_export=fields) == 'Extra,Name\r\n1.5,"q,""z"\r\n'
    assert written(JsonLinesItemExporter, PEOPLE[:1], fields_to_export=["name"]) == '{"name": "Jos\\u00e9"}\n'
    assert '"extra": null' in written(JsonLinesItemExporter, PEOPLE[:1], export_empty_fields=True)


def test_csv_takes_the_options_of_its_writer() -> None:
    text = written(CsvItemExporter, include_headers_line=False, delimiter=";", join_multivalued="|", encoding="latin-1")

    assert text.splitlines()[:2] == ["José;3;", "a|b;;"]


@pytest.mark.parametrize("indent", [None, 0, 2])
def test_xml_has_an_element_for_each_field(indent: int | None) -> None:
    text = written(XmlItemExporter, [*PEOPLE, {"odd name<": {"1": True}}], indent=indent, item_element="person")

    people = ElementTree.fromstring(text)
    assert [each.findtext("name", "").strip() for each in people][::2] == ["José", 'q,"z']
    assert [value.text for value in people[1].iter("value")] == ["a", "b"]
    assert people.findtext("person/odd_name_/_") == "True"


def test_pprint_and_python_show_plain_data() -> None:
    assert written(PprintItemExporter, PEOPLE[:1]) == "{'age': '3', 'name': 'José'}\n"
    assert PythonItemExporter().export_item({"a": (1, b"x"), "b": PEOPLE[0]}) == {
        "a": [1, "x"],
        "b": {"name": "José", "age": "3"},
    }


def test_subclass_may_write_fields_as_it_likes() -> None:
    class Priced(CsvItemExporter):
        def serialize_field(self, field: Any, name: str, value: Any) -> Any:
            return f"${value}" if name == "age" else super().serialize_field(field, name, value)

    assert written(Priced, PEOPLE[:1]) == "name,age,extra\r\nJosé,$3,\r\n"


def test_option_that_is_none_is_refused() -> None:
    with pytest.raises(TypeError, match="bogus"):
        XmlItemExporter(BytesIO(), bogus=1)
    with pytest.raises(TypeError, match="bogus"):
        JsonLinesItemExporter(BytesIO(), bogus=1)
