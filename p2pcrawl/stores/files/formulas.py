"""Cells that a spreadsheet would run: written so that it shows them instead.

What comes from pages may begin with ``=``, ``+``, ``-`` or ``@`` (also in their full-width forms), a tab or a carriage
return, and a spreadsheet that opens the file takes it for a formula, which can fetch what it likes and start programs.
An apostrophe in front says that it is text. Numbers are none: ``-5`` and ``+4.2`` stay as they are.

It can be undone: one apostrophe goes from each cell that begins with some of them and then with such a character.
"""

from __future__ import annotations

import re

_STARTS = frozenset("=+-@\t\r'\uff0b\uff0d\uff1d\uff20")
_runs = re.compile("'*[=+\\-@\t\r\uff0b\uff0d\uff1d\uff20]").match
_number = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)*(?:[eE][+-]?[0-9]+)?%?\Z").match
_controls = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufeff]")
"""And the byte-order mark: in front of a file's first cell it would be taken for the file's own."""


def safe_cell(text: str) -> str:
    """Returns the text as no spreadsheet runs it, without control characters (tab and line ends are none)."""
    if not text:
        return text
    if not text.isprintable():
        text = _controls.sub("", text)
    return f"'{text}" if text[:1] in _STARTS and _runs(text) and not _number(text) else text


def raw_cell(cell: str) -> str:
    """Returns the text that :func:`safe_cell` made the cell of."""
    return cell[1:] if cell[:1] == "'" and _runs(cell) else cell
