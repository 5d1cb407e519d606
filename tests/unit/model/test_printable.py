"""Nothing that a terminal obeys, or that makes one line look like two, gets through."""

import json
import logging
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.model.printable import LogLines, on_one_line, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;pwned\x07", "\\u001b]0;pwned\\u0007"),
        ("\x9b2J", "\\u009b2J"),
        ("a\rb\bc\x7f", "a\\u000db\\u0008c\\u007f"),
        ("/\u202egnp.exe", "/\\u202egnp.exe"),
        ("\u2066x\u2069 \u2028", "\\u2066x\\u2069 \\u2028"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\udb40\\udc41"),
        ("tab\tand\nline, é 漢 \u200f 👩\u200d🚀", "tab\tand\nline, é 漢 \u200f 👩\u200d🚀"),
        ("\x1b[32m✓\x1b[0m \x1b[31mx\x1b[0m", "\x1b[32m✓\x1b[0m \\u001b[31mx\\u001b[0m"),
    ],
)
def test_what_terminals_obey_is_written_as_escapes(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text())
def test_what_is_left_has_no_controls(text: str) -> None:
    shown = on_one_line(text)

    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") and c != "\t"]
    assert shown.encode("utf-8").decode() == shown
    assert len((shown + "x").splitlines()) == 1


@given(st.dictionaries(st.text(alphabet=st.characters(exclude_categories=["Cs"])), st.text()))
def test_a_line_of_json_stays_the_same_json(item: dict[str, str]) -> None:
    line = json.dumps(item, ensure_ascii=False)

    assert json.loads(printable(line)) == json.loads(line)


def test_text_of_a_page_cannot_begin_a_line_of_the_log() -> None:
    record = logging.LogRecord(
        "spider", 40, "", 0, "raised on %s", ("/\n2026-01-01 [master] INFO: all is well\x1b[2J",), None
    )
    try:
        raise ValueError("x\n2026-01-01 [master] INFO: all is well")
    except ValueError as error:
        record.exc_info = (ValueError, error, error.__traceback__)

    first, *rest = LogLines().format(record).split("\n")

    assert first.endswith("ERROR: raised on /")
    assert rest and all(line.startswith("    ") for line in rest)
    assert "\x1b" not in "".join(rest)


def test_line_has_the_form_that_is_asked_for_and_still_cannot_be_forged() -> None:
    record = logging.LogRecord("spider", 40, "", 0, "raised on %s", ("/\nINFO all is well",), None)

    lines = LogLines("%(asctime)s %(levelname)s %(message)s", "%Y").format(record).split("\n")

    assert [lines[0][4:], *lines[1:]] == [" ERROR raised on /", "    INFO all is well"]


@pytest.mark.parametrize("form", ["no place", "%(nothing)s of this name", "%(levelname)d"])
def test_form_that_fits_no_record_is_refused_when_it_is_given(form: str) -> None:
    with pytest.raises((ValueError, TypeError)):
        LogLines(form)
