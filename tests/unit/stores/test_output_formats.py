"""How values look in each format."""

from __future__ import annotations

import csv
import io
import json
import re
from contextlib import closing
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.model.errors import StorageError
from p2pcrawl.spiders.items.item_json import encode_item
from p2pcrawl.stores.files.csv_format import Csv
from p2pcrawl.stores.files.formats import JsonArray, JsonLines
from p2pcrawl.stores.files.formulas import raw_cell
from p2pcrawl.stores.files.opening import open_local_sink
from p2pcrawl.stores.files.xml_format import Xml

plain = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text())
values = st.recursive(plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))
objects = st.dictionaries(st.text(), values, min_size=1, max_size=4)


def encoded(item) -> bytes:
    return json.dumps(item, ensure_ascii=False).encode()


def xml_of(*items) -> ElementTree.Element:
    document = Xml()
    return ElementTree.fromstring(document.encode([encoded(item) for item in items]) + document.closing())


def csv_of(*items: bytes, fields=(), safe=True) -> str:
    document = Csv(fields, safe=safe)
    return (document.encode(items) + document.closing()).decode()


@pytest.mark.parametrize("items", [[b'{"a": 1}', b'{"a": 2}'], []])
def test_csv_begins_with_one_byte_order_mark_where_it_is_wanted(items):
    document = Csv(["a"], marked=True)

    text = b"".join(document.encode([item]) for item in items) + document.closing()

    assert text.decode("utf-8-sig").splitlines() == ["a", "1", "2"][: len(items) + 1]
    assert text.count(b"\xef\xbb\xbf") == 1


@given(st.lists(objects, min_size=1, max_size=5))
def test_json_holds_what_was_given(items):
    array, lines = JsonArray(), JsonLines()

    as_array = array.encode([encoded(item) for item in items]) + array.closing()
    as_lines = lines.encode([json.dumps(item, indent=1).encode() for item in items])

    assert json.loads(as_array) == items
    assert [json.loads(line) for line in as_lines.decode().split("\n")[:-1]] == items


@pytest.mark.slow
@given(st.lists(objects, min_size=1, max_size=5))
def test_any_item_makes_well_formed_xml(items):
    root = xml_of(*items)

    assert [len(element) for element in root] == [len(item) for item in items]


@given(st.lists(st.dictionaries(st.sampled_from(("a", "b", "c")), st.text(), min_size=1), min_size=1, max_size=5))
def test_csv_holds_any_text(items):
    text = csv_of(*map(encoded, items), fields=("a", "b", "c"), safe=False)

    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [[row[name] for name in "abc"] for row in rows] == [[item.get(name, "") for name in "abc"] for item in items]


FORMULAS = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\uff1d1",
    "'=1",
    "-",
    "+",
    "-5;=1",
    "--5",
]


@pytest.mark.parametrize("text", FORMULAS)
def test_csv_cell_that_a_spreadsheet_would_run_is_text(text):
    rows = list(csv.reader(io.StringIO(csv_of(encoded({"a": text, text: "b"})), newline="")))

    assert rows == [["a", f"'{text}"], [f"'{text}", "b"]]


@pytest.mark.parametrize("text", ["-5", "+4.2", "-1,000.5", "-1e-9", "+3%", "a=1", "'tis", "", "a\tb", " =1"])
def test_csv_cell_that_is_a_number_or_text_stays_as_it_is(text):
    rows = list(csv.reader(io.StringIO(csv_of(encoded({"a": text, "b": -5})), newline="")))

    assert rows[1] == [text, "-5"]


@given(st.lists(st.dictionaries(st.sampled_from(("a", "=b")), st.text(), min_size=2), min_size=1, max_size=5))
def test_safe_csv_can_be_read_back_but_for_control_characters(items):
    text = csv_of(*map(encoded, items), fields=("a", "=b"))

    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert [[raw_cell(cell) for cell in row] for row in rows[1:]] == [
        [re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufeff]", "", item[name]) for name in ("a", "=b")]
        for item in items
    ]


def test_csv_does_not_begin_with_a_mark_behind_which_a_formula_hides():
    text = csv_of(encoded({"\ufeff=1+1": "\ufeff@x"}))

    assert text == "'=1+1\r\n'@x\r\n"


def test_csv_as_it_is_when_that_is_asked_for():
    assert csv_of(encoded({"a": "=1\x1b"}), safe=False) == "a\r\n=1\x1b\r\n"


def test_csv_goes_on_under_columns_that_were_made_safe(tmp_path):
    path = tmp_path / "out.csv"
    for number in (1, 2):
        with closing(open_local_sink(str(path), replace=False)) as sink:
            sink.resume(None)
            sink.write([encoded({"=a": number})])
            sink.sync()

    assert path.read_text().split() == ["'=a", "1", "2"]


def test_no_format_writes_what_it_cannot_hold():
    item = encode_item({"a": "\ud800\x00\x1b\x9b\ufffe"})

    assert xml_of(json.loads(item))[0][0].text == "\ufffd\x9b"
    assert json.loads(JsonLines().encode([item]))["a"] == "\ufffd\x00\x1b\x9b\ufffe"
    assert csv_of(item) == "a\r\n\ufffd\ufffe\r\n"


def test_xml_looks_as_scrapy_writes_it():
    document = Xml()

    text = document.encode(
        [encoded({"name": "a & b", "tags": ["x", "y"], "more": {"n": 1.50, "ok": True, "no": None}})]
    )

    assert (text + document.closing()).decode() == (
        '<?xml version="1.0" encoding="utf-8"?>\n<items>\n'
        "<item><name>a &amp; b</name><tags><value>x</value><value>y</value></tags>"
        "<more><n>1.5</n><ok>true</ok><no></no></more></item>\n</items>\n"
    )


@pytest.mark.parametrize(
    ("name", "tag"),
    [
        ("two words", "two_words"),
        ("1st", "_1st"),
        ("", "_"),
        ("a:b", "a_b"),
        ("größe", "größe"),
        ("x²", "x_"),
        ("😀", "_"),
    ],
)
def test_xml_names_are_made_safe(name, tag):
    assert xml_of({name: "value"})[0][0].tag == tag


def test_xml_leaves_out_what_it_cannot_hold():
    assert xml_of({"a": "x\x00\x08\ufffe\x1fy\r\n\tz"})[0].findtext("a") == "xy\r\n\tz"


def test_items_nested_as_deep_as_can_be_are_written(tmp_path):
    deep = b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}"

    for extension in ("csv", "xml", "json", "jsonl"):
        with closing(open_local_sink(str(tmp_path / f"out.{extension}"), replace=False)) as sink:
            sink.resume(None)
            sink.write([deep])
            sink.finish()

            assert sink.sync()["count"] == 1


def test_numbers_keep_every_digit():
    item = b'{"a":12345678901234567890123456789,"b":0.10,"c":1e999}'
    document = Xml()

    assert csv_of(item) == "a,b,c\r\n12345678901234567890123456789,0.10,1e999\r\n"
    assert b"<b>0.10</b><c>1e999</c>" in document.encode([item])


def test_csv_writes_nested_values_as_json_and_null_as_nothing():
    text = csv_of(b'{"a":[1,{"b":"x"}],"n":null,"t":true,"s":"x"}')

    assert text == 'a,n,t,s\r\n"[1,{""b"":""x""}]",,true,x\r\n'


def test_csv_columns_are_the_fields_asked_for():
    assert csv_of(b'{"a":1,"b":2}', fields=("b", "c")) == "b,c\r\n2,\r\n"
    assert csv_of(b'{"a":1}', b'{"b":2}') == 'a\r\n1\r\n""\r\n'


def test_csv_counts_the_values_without_a_column(tmp_path):
    with closing(open_local_sink(str(tmp_path / "out.csv"), replace=False)) as sink:
        sink.resume(None)
        sink.write([b'{"a":1}', b'{"a":2,"b":3,"c":4}'])
        first = sink.sync()
        sink.resume(first)
        sink.write([b'{"c":5}'])

        second = sink.sync()

    assert (first["columns"], first["ignored_fields"], second["ignored_fields"]) == (["a"], 2, 3)


def test_csv_tells_once_of_values_without_a_column(tmp_path, caplog):
    path = tmp_path / "out.csv"
    path.write_text('{"a":1}\n')

    with closing(open_local_sink(str(path), replace=False)) as sink:
        sink.resume(None)
        sink.write([b'{"title":"x"}', b'{"title":"y","price":1}'])
        sink.write([b'{"title":"z"}'])

    (told,) = [record.getMessage() for record in caplog.records]
    assert "no column for title, price" in told


def test_csv_of_chosen_fields_leaves_others_out_without_a_word(caplog):
    assert csv_of(b'{"a":1,"b":2}', fields=("b",)) == "b\r\n2\r\n"
    assert not caplog.records


def test_csv_waits_for_an_item_with_fields():
    assert csv_of(b"{}", b'{"a":1}') == 'a\r\n""\r\n1\r\n'
    assert csv_of(b"{}") == ""
    assert csv_of(b"{}", fields=("a",)) == 'a\r\n""\r\n'


@pytest.mark.parametrize("item", [b'{"a":"\\ud800"}', b'{"a":"\xff"}', b'{"a":NaN}'])
def test_odd_items_of_lenient_encoders_do_not_stop_a_crawl(item):
    document = Xml()

    assert csv_of(item).count("\r\n") == 2
    ElementTree.fromstring(document.encode([item]) + document.closing())


@pytest.mark.parametrize("item", [b"[1]", b"", b'{"a"'])
def test_what_is_no_object_is_a_clear_error(item):
    for document in (Csv(), Xml()):
        with pytest.raises(StorageError, match="not a JSON object"):
            document.encode([item])
