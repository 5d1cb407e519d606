"""The page about events says of each kind what the program notes of it, and the other way round."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from p2pcrawl.model.cluster.notable import FIELDS, Notable

ROOT = Path(__file__).resolve().parents[4]
ADDED = ("unnoted",)
"""By the journal itself."""


def rows() -> Iterator[tuple[str, str]]:
    """Yields each kind of the page's table, with its details."""
    for line in (ROOT / "docs" / "events.md").read_text().splitlines():
        if match := re.match(r"\| `([a-z-]+)` \|.*\|([^|]*)\|$", line):
            yield match[1], match[2]


def notes() -> Iterator[tuple[str, set[str]]]:
    """Yields each kind that is noted anywhere, with the fields that it is noted with."""
    for path in sorted((ROOT / "p2pcrawl").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(ast.Attribute(_, "note"), [ast.Attribute(ast.Name("Notable"), name)], keywords):
                    yield name, {each.arg or "" for each in keywords}


def test_page_tells_each_kind_once() -> None:
    assert [kind for kind, _ in rows()] == [kind.value for kind in Notable]


def test_page_names_all_details_of_a_kind() -> None:
    told = {kind: details for kind, details in rows()}

    assert [(kind, name) for kind in Notable for name in FIELDS[kind] if f"`{name}`" not in told[kind]] == []


def test_kind_is_noted_with_its_fields_and_no_others() -> None:
    wrong = [(name, fields) for name, fields in notes() if fields != set(FIELDS[Notable[name]]).difference(ADDED)]

    assert wrong == []


def test_every_kind_is_noted_somewhere() -> None:
    by_table = {Notable.MEMBER_SUSPECT, Notable.MEMBER_DEAD, Notable.MEMBER_LEFT, Notable.GAP}

    assert {Notable[name] for name, _ in notes()} == set(Notable) - by_table
