"""Text of others as it may go to a terminal or into a log: visible, and in its place.

Pages, headers and URLs can hold what terminals obey (ESC, CSI, OSC: titles, colours, answers typed in the user's name),
what hides or turns round the text beside it, and ends of lines that make one record look like two. All of it is written
as an escape, ``\\u001b``, which is also what JSON has for it: a line of JSON stays the same JSON.
"""

from __future__ import annotations

import logging
import re
from typing import Final

from p2pcrawl.model.redaction import redacted

_OWN_MARKS = "\x1b\\[3[12]m[\u2713\u2717]\x1b\\[0m"
"""Our ticks and crosses in colour; whoever forges one has forged a tick."""
_controls = re.compile(
    f"({_OWN_MARKS})"
    "|[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def printable(text: str) -> str:
    """Writes a text with what is not to be seen as escapes; tabs and ends of lines stay."""
    if text.isprintable():
        return text
    return _controls.sub(_escape, text)


def is_text(value: str) -> bool:
    """Tells whether ``value`` can be written in UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def on_one_line(text: str) -> str:
    """Makes text of others printable as :func:`printable` does, but on one line whatever it holds, and without
    passwords.
    """
    text = redacted(text)
    return text if text.isprintable() else printable(text).replace("\n", "\\n")


def _escape(found: re.Match[str]) -> str:
    if found[1]:
        return found[1]
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join([f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2)])


LINE_FORM: Final = "%(asctime)s [%(name)s] %(levelname)s: %(message)s"


class LogLines(logging.Formatter):
    """Lines of a log: each record begins one, no text in it can begin another, and passwords are left out."""

    def __init__(self, form: str = "", date_form: str = "") -> None:
        """``form``, ``date_form``: of LOG_FORMAT and LOG_DATEFORMAT; "" is ours. Raises ValueError for a form that fits
        no record.
        """
        super().__init__(form or LINE_FORM, date_form or None)
        super().format(logging.makeLogRecord({}))

    def format(self, record: logging.LogRecord) -> str:
        return printable(redacted(super().format(record))).replace("\n", "\n    ")
