"""What a column holds, and what it says about what it cannot hold."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from p2pcrawl.stores.sql.item_columns import ColumnKind
from p2pcrawl.stores.sql.stored_columns import NotHeld, StoredColumn, ValueForm, converter

AS_IS = ValueForm(nul_in_text=False)
AS_TEXT = ValueForm(moments_as_text=True, decimals_as_text=True, decimal_digits=15)


def column(kind, **shape):
    return StoredColumn("c", ColumnKind(kind), kind.upper(), **shape)


@pytest.mark.parametrize(
    ("stored", "form", "value", "held"),
    [
        (column("text"), AS_IS, "ä", "ä"),
        (column("text"), AS_IS, 1.5, "1.5"),
        (column("text"), AS_IS, ["a"], '["a"]'),
        (column("text", size=2), AS_IS, "🧀🧀", "🧀🧀"),
        (column("json"), AS_IS, "a", '"a"'),
        (column("integer"), AS_IS, 3.0, 3),
        (column("integer"), AS_IS, True, 1),
        (column("float"), AS_IS, 3, 3.0),
        (column("decimal", size=6, places=2), AS_IS, "1234.50", Decimal("1234.50")),
        (column("decimal", size=6, places=2), AS_IS, "1234.500", Decimal("1234.500")),
        (column("decimal", size=6, places=2), AS_IS, 0.1, Decimal("0.1")),
        (column("decimal"), AS_TEXT, "123456789012.345", "123456789012.345"),
        (column("datetime"), AS_IS, "2026-11-19T08:00:00Z", datetime(2026, 11, 19, 8, tzinfo=UTC)),
        (column("datetime"), AS_IS, "2026-11-19T08:00:00", datetime(2026, 11, 19, 8, tzinfo=UTC)),
        (column("datetime", zoned=False), AS_IS, "2026-11-19T08:00:00+02:00", datetime(2026, 11, 19, 6)),
        (column("datetime"), AS_TEXT, "2026-11-19", "2026-11-19 00:00:00.000000"),
        (column("date"), AS_IS, "2026-11-19", date(2026, 11, 19)),
        (column("date"), AS_TEXT, "2026-11-19", "2026-11-19"),
        (column("bytes"), AS_IS, "AP8=", b"\0\xff"),
    ],
)
def test_value_takes_the_form_of_its_column(stored, form, value, held):
    assert converter(stored, form)(value) == held


@pytest.mark.parametrize(
    ("stored", "value", "words"),
    [
        (column("text", size=2), "abc", "holds 2 characters, and the value has 3"),
        (column("text"), "a\0b", "NUL"),
        (column("json"), {"a": ["\0"]}, "NUL"),
        (column("integer", low=-128, high=127), 128, "out of the range of INTEGER"),
        (column("integer"), 1.5, "is INTEGER, and the value 1.5 is none"),
        (column("integer"), "1", '"1" is none'),
        (column("float"), "1", "is none"),
        (column("float"), 2**53 + 1, "more digits"),
        (column("float"), 10**400, "more digits"),
        (column("boolean"), 1, "is none"),
        (column("decimal", size=6, places=2), "1.999", "more than 2 digits"),
        (column("decimal", size=6, places=2), 10000, "more digits"),
        (column("decimal", size=6, places=2), "1e9999", "more digits"),
        (column("decimal"), "NaN", "is none"),
        (column("decimal"), "£5", "is none"),
        (column("decimal"), True, "is none"),
        (column("datetime"), "yesterday", "is none"),
        (column("datetime"), "0001-01-01T00:00:00+14:00", "is none"),
        (column("datetime", whole_seconds=True), "2026-11-19T08:00:00.5", "fractions"),
        (column("date"), "2026-02-30", "is none"),
        (column("bytes"), "a", "is none"),
        (column("bytes", size=1), "AP8=", "holds 1 bytes"),
        (StoredColumn("c", None, "POINT"), "a" * 100, "POINT"),
    ],
)
def test_value_that_does_not_fit_is_refused_in_words(stored, value, words):
    with pytest.raises(NotHeld) as caught:
        converter(stored, AS_IS)(value)

    assert words in str(caught.value)
    assert len(str(caught.value)) < 200


def test_decimal_of_more_digits_than_a_number_of_sqlite_is_refused():
    with pytest.raises(NotHeld, match="more digits"):
        converter(column("decimal"), AS_TEXT)("1234567890123.4567")
