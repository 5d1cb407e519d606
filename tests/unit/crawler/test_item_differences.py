"""Items beside those of before: exactly what was added, removed and changed."""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.crawler.item_differences import Differences, DifferenceSought
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.model.errors import ConfigurationError
from tests.unit.frontier.batches import batch_of, end, grant, link, store_with_job

Pages = dict[str, list[Any]]


def crawled(folder: Path, pages: Pages) -> Path:
    """Makes the data folder of a crawl in which pages gave these items."""
    with closing(store_with_job(folder)) as store:
        _end(store, pages)
    return folder


def _end(store: Store, pages: Pages) -> None:
    candidates = store.commit(batch_of([link(f"http://a.example/{name}") for name in pages])).fresh
    batch = batch_of()
    for candidate in candidates:
        grant(batch, candidate)
        name = candidate.link.url.rpartition("/")[2]
        end(batch, candidate, items=[json.dumps(item).encode() for item in pages[name]])
    store.commit(batch)


def changes_in(path: Path) -> list[tuple[str, Any, Any]]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return sorted(((each["change"], each["old"], each["new"]) for each in lines), key=str)


def test_items_are_compared_page_by_page(tmp_path: Path) -> None:
    old = crawled(tmp_path / "old", {"1": [{"t": 1, "u": 0}, {"t": 2}], "2": [{"t": 3}], "3": [{"t": 4}], "9": [{}]})
    new = crawled(tmp_path / "new", {"1": [{"t": 2}, {"u": 0, "t": 9}], "2": [{"t": 3}], "3": [], "4": [{"t": 5}]})
    output = tmp_path / "diff.jsonl"

    found = DifferenceSought(jobs=((old, 1),), output=output).compare(new, 1)

    assert found == Differences(same=2, added=1, removed=1, changed=1, apart=1, pages=3, fields=found.fields)
    assert found.fields == {"t": 1}
    assert changes_in(output) == [
        ("added", None, {"t": 5}),
        ("changed", {"t": 1, "u": 0}, {"t": 9, "u": 0}),
        ("removed", {"t": 4}, None),
    ]
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["diff.jsonl"]


def test_order_of_fields_and_items_makes_no_difference_but_their_number_does(tmp_path: Path) -> None:
    old = crawled(tmp_path / "old", {"1": [{"a": 1, "b": 2}, {"a": 1, "b": 2}, {"c": 3}]})
    new = crawled(tmp_path / "new", {"1": [{"c": 3}, {"b": 2, "a": 1}]})

    found = DifferenceSought(jobs=((old, 1),)).compare(new, 1)

    assert (found.same, found.removed, found.added, found.changed) == (2, 1, 0, 0)


def lines_file(path: Path, items: list[Any]) -> Path:
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    return path


def test_file_of_items_is_compared_over_all_and_fields_say_which_changed(tmp_path: Path) -> None:
    file = lines_file(tmp_path / "old.jsonl", [{"id": 1, "t": "a"}, {"id": 2, "t": "b"}, {"id": 3, "t": "c"}])
    new = crawled(tmp_path / "new", {"1": [{"id": 1, "t": "a"}, {"id": 2, "t": "B"}], "2": [{"id": 4, "t": "d"}]})

    keyed = DifferenceSought(file=file, keys=("id",)).compare(new, 1)
    unkeyed = DifferenceSought(file=file).compare(new, 1)

    assert (keyed.same, keyed.changed, keyed.added, keyed.removed) == (1, 1, 1, 1)
    assert (unkeyed.same, unkeyed.changed, unkeyed.added, unkeyed.removed) == (1, 0, 2, 2)


def test_file_of_pages_is_compared_page_by_page(tmp_path: Path) -> None:
    new = crawled(tmp_path / "new", {"1": [{"t": 1}]})
    print_ = link("http://a.example/1").link.fingerprint.hex()
    file = lines_file(tmp_path / "pages.jsonl", [{"page": print_, "url": "http://a.example/1", "items": [{"t": 2}]}])

    found = DifferenceSought(file=file).compare(new, 1)

    assert (found.changed, found.pages) == (1, 1)


def test_file_that_is_no_json_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "old.jsonl").write_text('{"a": 1}\nnonsense\n')
    new = crawled(tmp_path / "new", {"1": [{"t": 1}]})

    with pytest.raises(ConfigurationError, match="line 2: it is no JSON"):
        DifferenceSought(file=tmp_path / "old.jsonl").compare(new, 1)
    with pytest.raises(ConfigurationError, match="No such file"):
        DifferenceSought(file=tmp_path / "none.jsonl").check()


def test_file_of_differences_stays_as_it_was_until_all_are_known(tmp_path: Path) -> None:
    output = tmp_path / "diff.jsonl"
    output.write_text("earlier")

    DifferenceSought(output=output).check()

    assert output.read_text() == "earlier" and list(tmp_path.iterdir()) == [output]


@pytest.mark.parametrize("twice", ["compared and differences", "compared and items", "differences and items"])
def test_file_that_is_to_be_two_things_is_a_mistake_and_keeps_what_it_has(twice: str, tmp_path: Path) -> None:
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    one.write_text('{"a": 1}\n')
    sought = DifferenceSought(
        file=one if "compared" in twice else None, output=one if "differences" in twice else other
    )

    with pytest.raises(ConfigurationError, match="name another file"):
        sought.check([tmp_path / "sub" / ".." / "one.jsonl"] if "items" in twice else [])

    assert one.read_text() == '{"a": 1}\n'


def test_differences_are_not_put_in_the_place_of_a_device(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")

    with pytest.raises(ConfigurationError, match="no file that can be replaced"):
        DifferenceSought(output=tmp_path / "fifo").check()


def test_file_that_is_no_file_of_lines_is_told_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text('[\n{"a": 1}\n]\n')

    with pytest.raises(ConfigurationError, match="line 1: it is no JSON"):
        DifferenceSought(file=tmp_path / "old.json").check()


@pytest.mark.parametrize("page", ["home", "12", "zz" * 16, ""])
def test_items_with_fields_called_page_and_items_are_items(page: str, tmp_path: Path) -> None:
    item = {"page": page, "items": [1]}
    new = crawled(tmp_path / "new", {"1": [item], "2": [{"t": 1}]})
    (tmp_path / "old.jsonl").write_text(json.dumps(item) + "\n")

    found = DifferenceSought(file=tmp_path / "old.jsonl").compare(new, 1)

    assert (found.same, found.added, found.removed, found.changed) == (1, 1, 0, 0)


def test_file_with_pages_and_single_items_is_a_mistake(tmp_path: Path) -> None:
    new = crawled(tmp_path / "new", {"1": [{"t": 1}]})
    page = {"page": link("http://a.example/1").link.fingerprint.hex(), "items": [{"t": 1}]}
    (tmp_path / "old.jsonl").write_text(json.dumps(page) + '\n{"t": 2}\n')

    with pytest.raises(ConfigurationError, match="pages and single items"):
        DifferenceSought(file=tmp_path / "old.jsonl").compare(new, 1)
